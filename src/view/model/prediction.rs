//! Predictions: against what was measured, of what was not, of programs; as text for people, as JSON for programs.

use std::io::{self, Write};

use serde::Serialize;

use crate::{
    analysis::model::{
        accuracy::{Accuracy, ChainChoice, Errors, Regret, Row},
        bsp::Relation,
    },
    units::{Bytes, Seconds, shown},
    view::Table,
};

/// A program and what both models say of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramTimes {
    /// Its file, or its skeleton.
    pub name: String,
    /// P.
    pub procs: usize,
    /// BSPWB, seconds.
    pub bspwb: f64,
    /// MPM, seconds.
    pub mpm: f64,
    /// Median of the slowest process, seconds.
    pub measured: Option<f64>,
    /// Whether a step would take less than no time, and counts as none.
    pub clamped: bool,
}

/// Everything that was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// What predicts: `parameters` or `matrix`.
    pub from: &'static str,
    /// Against what was measured.
    pub accuracy: Option<Accuracy>,
    /// Of what was not.
    pub rows: Vec<Row>,
    /// Numbers of chains of what was not.
    pub chains: Vec<ChainChoice>,
    /// Of programs.
    pub programs: Vec<ProgramTimes>,
    /// g and L of BSPWB and MPM, per byte.
    pub relation: Option<Relation>,
    /// What could not be predicted, and why.
    pub missing: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    from: &'a str,
    accuracy: &'a Option<Accuracy>,
    rows: &'a [Row],
    chains: &'a [ChainChoice],
    programs: &'a [ProgramTimes],
    relation: Option<RelationPart>,
    missing: &'a [String],
}

#[derive(Serialize)]
struct RelationPart {
    seconds_per_byte: f64,
    seconds_per_step: f64,
}

/// A logarithm of a ratio, or a share, with three digits behind the point.
fn plain(value: f64) -> String {
    if value.is_finite() { format!("{value:.3}") } else { "-".to_owned() }
}

fn time(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| Seconds(value).to_string())
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1} %"))
}

impl Prediction {
    /// For programs: the document that `--format json` prints. Times are in seconds, lengths in bytes; null is "not known".
    pub fn document(&self) -> impl Serialize {
        Document {
            schema: "network_test.prediction/1",
            from: self.from,
            accuracy: &self.accuracy,
            rows: &self.rows,
            chains: &self.chains,
            programs: &self.programs,
            relation: self.relation.map(|relation| RelationPart {
                seconds_per_byte: relation.per_packet,
                seconds_per_step: relation.per_step,
            }),
            missing: &self.missing,
        }
    }

    /// For people; `details`: every cell, too.
    pub fn write(&self, details: bool, out: &mut dyn Write) -> io::Result<()> {
        if let Some(accuracy) = &self.accuracy {
            write_errors(self.from, &accuracy.errors, out)?;
            write_regrets(&accuracy.regrets, out)?;
            write_chains(&accuracy.chains, out)?;
            if details {
                write_rows(&accuracy.rows, out)?;
            }
        }
        if !self.rows.is_empty() {
            write_rows(&self.rows, out)?;
            write_chains(&self.chains, out)?;
        }
        if !self.programs.is_empty() {
            write_programs(&self.programs, out)?;
        }
        self.missing.iter().try_for_each(|text| writeln!(out, "not predicted: {}", shown(text)))
    }
}

fn write_errors(from: &str, errors: &[Errors], out: &mut dyn Write) -> io::Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    writeln!(out, "predicted from {from} against measured, on lengths and processes that the fit has not seen")?;
    writeln!(out, "off = |ln(predicted / measured)|; typical = median of 100 (measured - predicted) / measured")?;
    let mut table =
        Table::new(["operation", "model", "cells", "off: median", "90 %", "largest", "typical", "within skew"])
            .left(0)
            .left(1);
    for error in errors {
        table.push([
            error.operation.clone(),
            error.model.to_owned(),
            error.rows.to_string(),
            plain(error.median),
            plain(error.ninety),
            plain(error.largest),
            percent(Some(error.percent)),
            format!("{} of {}", error.within_skew, error.rows),
        ]);
    }
    table.write("  ", out)?;
    writeln!(out)
}

fn write_regrets(regrets: &[Regret], out: &mut dyn Write) -> io::Result<()> {
    if regrets.is_empty() {
        return Ok(());
    }
    writeln!(out, "regret: time of the algorithm that the model chooses over the fastest one, less 1")?;
    let headings = ["task", "cells", "right", "mean", "largest", "at P", "bytes", "chosen", "fastest", "over library"];
    let mut table = Table::new(headings).left(0).left(7).left(8);
    let mut tasks: Vec<&str> = regrets.iter().map(|regret| regret.task).collect();
    tasks.dedup();
    for task in tasks {
        let of: Vec<&Regret> = regrets.iter().filter(|regret| regret.task == task).collect();
        let Some(worst) = of.iter().max_by(|a, b| a.regret.total_cmp(&b.regret)) else { continue };
        let mean = of.iter().map(|regret| regret.regret).sum::<f64>() / of.len() as f64;
        let mut library: Vec<f64> = of.iter().filter_map(|regret| regret.against_library).collect();
        library.sort_unstable_by(f64::total_cmp);
        let library = library.get(library.len() / 2).map(|share| 100.0 * share);
        table.push([
            task.to_owned(),
            of.len().to_string(),
            of.iter().filter(|regret| regret.chosen == regret.best).count().to_string(),
            plain(mean),
            plain(worst.regret),
            worst.procs.to_string(),
            Bytes(worst.length).to_string(),
            worst.chosen.clone(),
            worst.best.clone(),
            percent(library),
        ]);
    }
    table.write("  ", out)?;
    writeln!(out)
}

fn write_chains(chains: &[ChainChoice], out: &mut dyn Write) -> io::Result<()> {
    if chains.is_empty() {
        return Ok(());
    }
    writeln!(out, "number of chains of a reduction: Open MPI's 4, k* = ceil(sqrt(P-1)), predicted best k_opt")?;
    let headings =
        ["P", "bytes", "k*", "k_opt", "t(4)", "t(k*)", "t(k_opt)", "measured best", "t(4)/least", "t(k*)/least"];
    let mut table = Table::new(headings);
    for choice in chains {
        let over = |number: usize| choice.measured_over_best[number].map_or_else(|| "-".to_owned(), plain);
        let [four, star, best] = choice.predicted.map(|seconds| Seconds(seconds).to_string());
        table.push([
            choice.procs.to_string(),
            Bytes(choice.length).to_string(),
            choice.square_root.to_string(),
            choice.best.to_string(),
            four,
            star,
            best,
            choice.measured_best.map_or_else(|| "-".to_owned(), |k| k.to_string()),
            over(0),
            over(1),
        ]);
    }
    table.write("  ", out)?;
    writeln!(out)
}

fn write_rows(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "every cell; ring, mesh, hypercube: Barnat's costs without shared links, - where the lecture gives none"
    )?;
    let headings = [
        "operation",
        "P",
        "bytes",
        "model",
        "predicted",
        "measured",
        "off",
        "error",
        "printed",
        "ring",
        "mesh",
        "hypercube",
    ];
    let mut table = Table::new(headings).left(0).left(3);
    for row in rows {
        let [ring, mesh, hypercube] = row.references.map(time);
        table.push([
            row.operation.clone(),
            row.procs.to_string(),
            Bytes(row.length).to_string(),
            row.model.to_owned(),
            time(row.predicted),
            time(row.measured),
            row.error().map_or_else(|| "-".to_owned(), |error| plain(error.abs())),
            percent(row.percent()),
            time(row.printed),
            ring,
            mesh,
            hypercube,
        ]);
    }
    table.write("  ", out)?;
    writeln!(out)
}

fn write_programs(programs: &[ProgramTimes], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "programs; error = 100 (measured - model) / measured")?;
    let mut table = Table::new(["program", "P", "BSPWB", "MPM", "measured", "error BSPWB", "error MPM"]).left(0);
    for program in programs {
        let error = |model: f64| percent(program.measured.map(|measured| 100.0 * (1.0 - model / measured)));
        table.push([
            shown(&program.name).into_owned(),
            program.procs.to_string(),
            Seconds(program.bspwb).to_string(),
            Seconds(program.mpm).to_string(),
            time(program.measured),
            error(program.bspwb),
            error(program.mpm),
        ]);
    }
    table.write("  ", out)?;
    if programs.iter().any(|program| program.clamped) {
        writeln!(out, "  steps whose g h + L is below 0 count as 0")?;
    }
    Ok(())
}

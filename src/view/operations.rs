//! What a run of operations is: as text for people, as JSON for programs.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use serde::Serialize;

use super::Table;
use crate::{
    analysis::operations::{ChainSweep, Comparison, chain_sweeps, comparisons},
    record::operations::{Measured, Operations},
    units::{Seconds, counted, hostlist, shown},
};

/// Writes the description for people.
pub fn write(run: &Operations, out: &mut dyn Write) -> io::Result<()> {
    for (name, text) in lines(run) {
        writeln!(out, "{name:<10} {}", shown(&text))?;
    }
    let mut table =
        Table::new(["operation", "P", "bytes", "median", "skew", "bytes", "median", "skew", "lengths"]).left(0);
    for (number, operation) in run.operations.iter().enumerate() {
        let lengths =
            |procs: usize| (0..run.lengths.len()).filter(move |length| run.measured(number, procs, *length).is_there());
        let Some(procs) = (0..run.procs.len()).rfind(|procs| lengths(*procs).next().is_some()) else { continue };
        let mut row = vec![operation.to_string(), run.procs[procs].to_string()];
        for length in [lengths(procs).next(), lengths(procs).next_back()].into_iter().flatten() {
            row.push(run.lengths[length].to_string());
            let measured = run.measured(number, procs, length);
            row.extend([measured.summary.median, measured.skew].map(|seconds| Seconds(seconds).to_string()));
        }
        row.push(lengths(procs).count().to_string());
        table.push(row);
    }
    if run.cells() > 0 {
        let skew = "skew: how far off the common start may be";
        writeln!(
            out,
            "\nthe slowest process, with the most processes, at the shortest and at the longest length; {skew}"
        )?;
        table.write("  ", out)?;
        write_choices(run, out)?;
    }
    if !run.probes.is_empty() {
        writeln!(out, "\nprobes, at the shortest and at the longest length")?;
        let mut table = Table::new(["probe", "from", "to", "bytes", "median", "bytes", "median"]).left(0);
        for probe in &run.probes {
            let there = || (0..run.lengths.len()).filter(|length| probe.measured[*length].is_there());
            let mut row = vec![probe.kind.to_string(), probe.source.to_string(), probe.destination.to_string()];
            for length in [there().next(), there().next_back()].into_iter().flatten() {
                row.push(run.lengths[length].to_string());
                row.push(Seconds(probe.measured[length].summary.median).to_string());
            }
            table.push(row);
        }
        table.write("  ", out)?;
    }
    for program in &run.programs {
        let time = Seconds(program.measured.summary.median);
        writeln!(out, "\nprogram {}: {time} with {}", shown(&program.name), counted(program.procs, "process"))?;
    }
    Ok(())
}

/// What the measured operations say about choices, with the most processes.
fn write_choices(run: &Operations, out: &mut dyn Write) -> io::Result<()> {
    let sweeps = chain_sweeps(run).into_iter().filter(|sweep| sweep.procs == run.largest());
    let mut table = Table::new(["chains", "P", "bytes", "k measured", "k* = ceil(sqrt(P-1))", "best k", "t(k*) / min"]);
    let mut empty = true;
    for sweep in sweeps {
        let numbers = [sweep.procs.to_string(), sweep.length.to_string()];
        let chains = [sweep.measured, sweep.square_root, sweep.best].map(|number| number.to_string());
        let row = [sweep.algorithm.name().to_owned()].into_iter().chain(numbers).chain(chains);
        table.push(row.chain([format!("{:.3}", sweep.ratio)]));
        empty = false;
    }
    if !empty {
        writeln!(out)?;
        table.left(0).write("  ", out)?;
    }
    let comparisons = comparisons(run);
    if comparisons.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Table::new(["operation", "P", "bytes", "speed-up", "time saved", "over"]).left(0).left(5);
    for Comparison { operation, baseline, procs, length, speed_up } in comparisons {
        // Of what is slower nothing is saved, and how much slower it is stands next to it.
        let saved = if speed_up < 1.0 { "-".to_owned() } else { format!("{:.0} %", 100.0 * (1.0 - 1.0 / speed_up)) };
        let numbers = [procs.to_string(), length.to_string(), format!("{speed_up:.2}"), saved];
        table.push([operation.to_string()].into_iter().chain(numbers).chain([baseline.to_string()]));
    }
    table.write("  ", out)
}

/// Name and text of what is known but the tables.
fn lines(run: &Operations) -> Vec<(&'static str, String)> {
    let state = if run.complete { "complete" } else { "unfinished" };
    let procs: Vec<String> = run.procs.iter().map(usize::to_string).collect();
    let mut lines = vec![
        ("operations", format!("{}: {state}", run.operations.len())),
        ("cell", "time of the slowest process from the common start on".to_owned()),
        ("hosts", format!("{}: {}", run.hosts.count(), hostlist::compress(run.hosts.names()))),
        ("ranks", run.hosts.ranks().to_string()),
        ("processes", procs.join(", ")),
        ("lengths", run.lengths.len().to_string()),
        ("cells", format!("{} measured", run.cells())),
    ];
    if run.damaged() > 0 {
        lines.push(("damaged", format!("{} had a wrong result", counted(run.damaged() as usize, "sample"))));
    }
    let provenance = &run.provenance;
    let known = [
        ("created", &provenance.created),
        ("command", &provenance.command),
        ("program", &provenance.program_version),
        ("mpi", &provenance.mpi_library),
        ("slurm job", &provenance.slurm_job_id),
        ("slurm list", &provenance.slurm_job_nodelist),
    ];
    lines.extend(known.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.clone())));
    lines
}

/// For programs: the document that `--format json` prints. Times are in seconds, lengths in bytes; null is "not known".
pub fn document(run: &Operations) -> impl Serialize {
    let places = (0..run.operations.len())
        .flat_map(|operation| (0..run.procs.len()).map(move |procs| (operation, procs)))
        .flat_map(|(operation, procs)| (0..run.lengths.len()).map(move |length| (operation, procs, length)));
    let cells = places.filter_map(|(operation, procs, length)| {
        let measured = run.measured(operation, procs, length);
        let name = run.operations[operation].to_string();
        measured.is_there().then(|| Cell::new(name, run.procs[procs], Some(run.lengths[length].0), measured))
    });
    let probes = run.probes.iter().flat_map(|probe| {
        let there = (0..run.lengths.len()).filter(|length| probe.measured[*length].is_there());
        there.map(|length| ProbeCell {
            kind: probe.kind.name(),
            source: probe.source,
            destination: probe.destination,
            messages: probe.messages,
            length: run.lengths[length].0,
            delay: probe.delays[length],
            median: probe.measured[length].summary.median,
            min: probe.measured[length].summary.min,
        })
    });
    let provenance = run.provenance.entries().into_iter();
    Document {
        schema: "network_test.operations/1",
        complete: run.complete,
        hosts: run.hosts.name_of_every_rank().map(str::to_owned).collect(),
        operations: run.operations.iter().map(ToString::to_string).collect(),
        procs: run.procs.clone(),
        members: run.members.clone(),
        lengths: run.lengths.iter().map(|length| length.0).collect(),
        plan: run.plan.clone(),
        provenance: provenance
            .filter(|entry| !entry.1.is_empty())
            .map(|(name, text)| (name, text.to_owned()))
            .collect(),
        cells: cells.collect(),
        probes: probes.collect(),
        chain_sweeps: chain_sweeps(run).iter().map(SweepDocument::of).collect(),
        comparisons: comparisons(run).iter().map(ComparisonDocument::of).collect(),
        programs: run
            .programs
            .iter()
            .map(|program| Cell::new(program.name.clone(), program.procs, None, &program.measured))
            .collect(),
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    complete: bool,
    /// `[rank]`.
    hosts: Vec<String>,
    operations: Vec<String>,
    procs: Vec<usize>,
    /// `[procs][process]`: a rank.
    members: Vec<Vec<usize>>,
    lengths: Vec<u64>,
    plan: BTreeMap<String, String>,
    provenance: BTreeMap<&'static str, String>,
    cells: Vec<Cell>,
    probes: Vec<ProbeCell>,
    chain_sweeps: Vec<SweepDocument>,
    comparisons: Vec<ComparisonDocument>,
    programs: Vec<Cell>,
}

/// The slowest process's time.
#[derive(Serialize)]
struct Cell {
    operation: String,
    procs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    min: f64,
    average: f64,
    median: f64,
    max: f64,
    deviation: f64,
    samples: u32,
    damaged: u32,
    skew: f64,
}

impl Cell {
    fn new(operation: String, procs: usize, length: Option<u64>, measured: &Measured) -> Self {
        let Measured { summary, samples, damaged, skew } = *measured;
        Self {
            operation,
            procs,
            length,
            min: summary.min,
            average: summary.average,
            median: summary.median,
            max: summary.max,
            deviation: summary.deviation,
            samples,
            damaged,
            skew,
        }
    }
}

#[derive(Serialize)]
struct ProbeCell {
    kind: &'static str,
    source: usize,
    destination: usize,
    messages: u32,
    length: u64,
    delay: f64,
    median: f64,
    min: f64,
}

#[derive(Serialize)]
struct SweepDocument {
    algorithm: &'static str,
    procs: usize,
    length: u64,
    measured: usize,
    square_root: usize,
    best: usize,
    ratio: f64,
}

impl SweepDocument {
    fn of(sweep: &ChainSweep) -> Self {
        let ChainSweep { algorithm, procs, length, measured, square_root, best, ratio } = *sweep;
        Self { algorithm: algorithm.name(), procs, length: length.0, measured, square_root, best, ratio }
    }
}

#[derive(Serialize)]
struct ComparisonDocument {
    operation: String,
    baseline: String,
    procs: usize,
    length: u64,
    speed_up: f64,
}

impl ComparisonDocument {
    fn of(comparison: &Comparison) -> Self {
        let Comparison { operation, baseline, procs, length, speed_up } = *comparison;
        Self { operation: operation.to_string(), baseline: baseline.to_string(), procs, length: length.0, speed_up }
    }
}

//! What a run is: as text for people, as JSON for programs.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use serde::Serialize;

use super::{Table, amount};
use crate::{
    analysis::{
        distribution::{Distribution, LEVELS},
        tally::Tally,
    },
    record::{Header, MERGED, MIXED, Moments, State, Statistic},
    units::{Bytes, Hosts, Seconds, counted, hostlist, shown, utc},
};

/// What is said about a run.
#[derive(Clone, Copy, Debug)]
pub struct Info<'a> {
    /// The run's own description.
    pub header: &'a Header,
    /// The lengths that are finished.
    pub lengths: &'a [Bytes],
    /// The statistics that are there.
    pub statistics: &'a [Statistic],
    /// What is unusual about its files.
    pub notices: &'a [String],
    /// When the first and the last of them were measured.
    pub moments: Option<Moments>,
    /// The time of the shortest length at the end over that at the beginning.
    pub drift: Option<f64>,
    /// What became of the cells of all lengths.
    pub tally: &'a Tally,
    /// The statistic of `table`.
    pub statistic: Statistic,
    /// Some or all of the lengths, ascending.
    pub table: &'a [Distribution],
}

impl Info<'_> {
    /// For people.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (name, text) in self.lines() {
            writeln!(out, "{name:<10} {text}")?;
        }
        for notice in self.notices {
            writeln!(out, "{:<10} {}", "notice", shown(notice))?;
        }
        if !self.table.is_empty() {
            writeln!(out)?;
            self.write_table(out)?;
        }
        Ok(())
    }

    /// Name and text of everything that is known but the table.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let Header { mode, hosts, provenance, .. } = self.header;
        let mut lines = vec![("mode", format!("{mode}: {}", mode.meaning())), ("cell", cell(self.header))];
        let items = ["timing", "schedule"].map(|name| (name, self.header.item(name)));
        lines.extend(items.into_iter().filter_map(|(name, item)| Some((name, item?.to_owned()))));
        lines.push(("samples", samples(self.header)));
        if mode.has_noise() {
            let noise = self.header.noise;
            let text = format!(
                "{}, {} x {} each",
                counted(noise.processes, "rank"),
                noise.messages,
                counted(noise.length.0 as usize, "byte")
            );
            lines.push(("noise", text));
        }
        lines.push(("hosts", format!("{}: {}", hosts.count(), hostlist::compress(hosts.names()))));
        lines.push(("ranks", format!("{}, {} per host", hosts.ranks(), ranks_per_host(hosts))));
        lines.push(("lengths", self.progress()));
        lines.push(("cells", cells(self.tally)));
        let names = self.statistics.iter().map(|statistic| statistic.name()).collect::<Vec<_>>();
        lines.push(("statistics", names.join(", ")));
        let known = |name, text: &str| (!text.is_empty()).then(|| (name, text.to_owned()));
        if let Some(times) = self.header.item(MERGED) {
            let count = times.split(' ').count();
            lines.push(("merged", format!("of {}, created {}", counted(count, "run"), times.replace(' ', ", "))));
        }
        lines.extend(known("created", &provenance.created));
        if let Some(Moments { begin, end }) = self.moments {
            lines.push(("measured", format!("{} to {}, {} in all", utc(begin), utc(end), Seconds(end - begin))));
        }
        if let Some(drift) = self.drift {
            lines.push((
                "drift",
                format!("at the end the shortest length took {drift:.3} times as long as at the beginning"),
            ));
        }
        lines.extend(known("command", &provenance.command));
        lines.extend(known("program", &provenance.program_version));
        lines.extend(known("mpi", &provenance.mpi_library));
        lines.extend(known("slurm job", &provenance.slurm_job_id));
        lines.extend(known("slurm list", &provenance.slurm_job_nodelist));
        // Some of it came from outside, and every item has one line.
        lines.into_iter().map(|(name, text)| (name, shown(&text).into_owned())).collect()
    }

    /// `41 of 100 lengths: unfinished`.
    fn progress(&self) -> String {
        let (finished, planned) = (self.lengths.len(), self.header.planned.len());
        let state = if finished == planned { "complete" } else { "unfinished" };
        let span = match self.lengths {
            [] => String::new(),
            [only] => format!(" ({})", only.counted()),
            [first, .., last] => format!(" ({first} to {last} bytes)"),
        };
        format!("{finished} of {}: {state}{span}", counted(planned, "length"))
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let ranks = self.header.hosts.ranks();
        let pairs = ranks * ranks.saturating_sub(1);
        writeln!(out, "{} over {pairs} ordered pairs of ranks, the diagonal left out", self.statistic)?;
        let levels = ["min", "5 %", "25 %", "median", "75 %", "95 %", "max"];
        let losses = ["missing", "failed", "damaged"];
        let losses = losses.into_iter().take(if self.tally.failed() + self.tally.damaged() > 0 { 3 } else { 1 });
        let mut table = Table::new(["length"].into_iter().chain(levels).chain(losses.clone()));
        for distribution in self.table {
            let quantiles = distribution.quantiles.iter().map(|value| amount(self.statistic, *value));
            let counts = [distribution.missing as u64, distribution.tally.failed(), distribution.tally.damaged()];
            let counts = losses.clone().zip(counts).map(|(_, count)| count.to_string());
            table.push([distribution.length.to_string()].into_iter().chain(quantiles).chain(counts));
        }
        table.write("  ", out)?;
        if self.table.len() < self.lengths.len() {
            writeln!(out, "{} of {} lengths are shown; --all shows all", self.table.len(), self.lengths.len())?;
        }
        Ok(())
    }

    /// For programs: the document that `--format json` prints. Times are in seconds; null is "not known" or "missing".
    pub fn document(&self) -> impl Serialize {
        let Header { mode, hosts, planned, iterations, noise, plan, provenance, .. } = self.header;
        let item = |name: &str| self.header.item(name).map(str::to_owned);
        Document {
            schema: "network_test.info/1",
            mode: mode.name(),
            mode_meaning: mode.meaning(),
            timing: item("timing"),
            schedule: item("schedule"),
            iterations: *iterations,
            noise: mode.has_noise().then_some(NoiseDocument {
                length: noise.length.0,
                messages: noise.messages,
                processes: noise.processes,
            }),
            hosts: HostsDocument {
                count: hosts.count(),
                list: hostlist::compress(hosts.names()),
                of_rank: hosts.name_of_every_rank().map(str::to_owned).collect(),
            },
            ranks: hosts.ranks(),
            complete: self.lengths.len() == planned.len(),
            lengths: self.lengths.iter().map(|length| length.0).collect(),
            lengths_planned: planned.iter().map(|length| length.0).collect(),
            statistics: self.statistics.iter().map(|statistic| statistic.name()).collect(),
            begin: self.moments.map(|moments| moments.begin),
            end: self.moments.map(|moments| moments.end),
            drift: self.drift,
            cells: CellsDocument::of(self.tally),
            plan: plan
                .iter()
                .map(|(name, text)| {
                    let item = match (self.header.number(name), text.parse()) {
                        (Some(number), _) => PlanItem::Number(number),
                        (None, Ok(flag)) => PlanItem::Flag(flag),
                        _ => PlanItem::Text(text.clone()),
                    };
                    (name.clone(), item)
                })
                .collect(),
            provenance: provenance.entries().into_iter().map(|(name, text)| (name, known(text))).collect(),
            notices: self.notices.to_vec(),
            table: TableDocument {
                statistic: self.statistic.name(),
                unit: self.statistic.unit(),
                quantile_levels: LEVELS,
                rows: self.table.iter().map(RowDocument::of).collect(),
            },
        }
    }
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// What the indices of a cell are.
fn cell(header: &Header) -> String {
    let diagonal = if header.mode.is_collective() { "measured" } else { "0 by definition" };
    format!("row = source, column = destination; the diagonal is {diagonal}")
}

/// Samples per cell, and what else is known of them.
fn samples(header: &Header) -> String {
    let told = |name: &str| header.item(name).filter(|value| !matches!(*value, "none" | "all" | "0" | MIXED));
    let mut text = match told("precision") {
        Some(precision) => format!("at most {} per cell, until its median is known to {precision}", header.iterations),
        None if header.item(MERGED).is_some() => format!("at most {} per cell in all runs together", header.iterations),
        None => format!("{} per cell", header.iterations),
    };
    if let Some(warmup) = told("warmup") {
        text += &format!(", after {warmup} that are not counted");
    }
    if let Some(rounds) = told("sample_rounds") {
        let what = if rounds == "1" { "round" } else { "rounds" };
        text += &format!("; only {rounds} random {what}, the other pairs are missing");
    }
    text
}

/// `4`, or `1 to 4`.
fn ranks_per_host(hosts: &Hosts) -> String {
    let counts = || (0..hosts.count()).map(|host| hosts.ranks_of(host).len());
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (least, _) => least.unwrap_or(0).to_string(),
    }
}

/// What became of cells: `480 measured, 30 timed out, 2 exchange failed; 12 left out by the schedule`.
fn cells(tally: &Tally) -> String {
    let lost = [State::TimedOut, State::Failed, State::Damaged].map(|state| (state, tally.of_state(state)));
    let lost = lost.into_iter().filter(|(_, count)| *count > 0);
    let lost: String = lost.map(|(state, count)| format!(", {count} {}", state.name().replace('_', " "))).collect();
    let left_out = match tally.left_out() {
        0 => String::new(),
        count => format!("; {count} left out by the schedule"),
    };
    format!("{} measured{lost}{left_out}", tally.measured())
}

/// Numbers of cells of all lengths, without the diagonal.
#[derive(Serialize)]
pub(super) struct CellsDocument {
    measured: u64,
    exchange_failed: u64,
    timed_out: u64,
    payload_damaged: u64,
    not_scheduled: u64,
}

impl CellsDocument {
    pub(super) fn of(tally: &Tally) -> Self {
        Self {
            measured: tally.measured(),
            exchange_failed: tally.of_state(State::Failed),
            timed_out: tally.of_state(State::TimedOut),
            payload_damaged: tally.damaged(),
            not_scheduled: tally.left_out(),
        }
    }
}

/// An item of the plan.
#[derive(Serialize)]
#[serde(untagged)]
enum PlanItem {
    Flag(bool),
    Number(u64),
    Text(String),
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    mode: &'static str,
    mode_meaning: &'static str,
    timing: Option<String>,
    schedule: Option<String>,
    iterations: u32,
    noise: Option<NoiseDocument>,
    hosts: HostsDocument,
    ranks: usize,
    complete: bool,
    /// Finished, bytes.
    lengths: Vec<u64>,
    /// Bytes.
    lengths_planned: Vec<u64>,
    statistics: Vec<&'static str>,
    /// Seconds since 1970-01-01 00:00:00 UTC.
    begin: Option<f64>,
    end: Option<f64>,
    /// The time of the shortest length at the end over that at the beginning.
    drift: Option<f64>,
    cells: CellsDocument,
    plan: BTreeMap<String, PlanItem>,
    provenance: BTreeMap<&'static str, Option<String>>,
    notices: Vec<String>,
    table: TableDocument,
}

#[derive(Serialize)]
struct NoiseDocument {
    /// Bytes.
    length: u64,
    messages: u32,
    processes: usize,
}

#[derive(Serialize)]
struct HostsDocument {
    count: usize,
    list: String,
    of_rank: Vec<String>,
}

#[derive(Serialize)]
struct TableDocument {
    statistic: &'static str,
    unit: &'static str,
    quantile_levels: [f64; 7],
    rows: Vec<RowDocument>,
}

#[derive(Serialize)]
struct RowDocument {
    /// Bytes.
    length: u64,
    pairs: usize,
    missing: usize,
    failed: u64,
    damaged: u64,
    /// `[level]`; NaN becomes null.
    quantiles: [f64; 7],
}

impl RowDocument {
    fn of(distribution: &Distribution) -> Self {
        let Distribution { length, quantiles, present, missing, ref tally } = *distribution;
        Self { length: length.0, pairs: present, missing, failed: tally.failed(), damaged: tally.damaged(), quantiles }
    }
}

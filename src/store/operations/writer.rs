//! Writes a file of operations: the inverse of [`super::reader`].

use std::{borrow::Cow, path::Path};

use super::layout::*;
use crate::{
    plan::operation::Operation,
    record::{
        BoxError, Statistic,
        operations::{Measured, Operations},
    },
    store::{
        classic::{Kind, NewFile},
        error::StoreError,
        field::Field,
        output::{FileIds, Output},
        schema::{CONVENTIONS, CONVENTIONS_FOLLOWED, FORMAT, HOST, LENGTH, N, PLAN_ITEMS, STRINGS, TITLE, X},
    },
};

/// Writes the file anew, replacing an older one. Returns its bytes.
pub fn write_operations(path: &Path, run: &Operations) -> Result<u64, BoxError> {
    let no_inputs: [FileIds; 0] = [];
    let output = Output::new(path, true, &no_inputs)?;
    let bytes = bytes_of(run)?;
    output.write(|out| Ok(out.write_all(&bytes)?))
}

/// A file in the making: what is announced, and the values in the same order.
struct Making {
    file: NewFile,
    values: Vec<u8>,
}

impl Making {
    fn variable(&mut self, name: &str, kind: Kind, dimensions: &[usize], texts: [&str; 3], values: Vec<u8>) {
        let [long_name, unit, description] = texts.map(|text| Cow::from(text.to_owned()));
        let field = Field::new(name.to_owned(), kind, unit, [long_name, description]);
        let field = if kind == Kind::Double { field.filled() } else { field };
        field.announce(&mut self.file, dimensions);
        self.values.extend(values);
        self.values.resize(self.values.len().next_multiple_of(4), 0);
    }

    fn doubles(&mut self, name: &str, dimensions: &[usize], texts: [&str; 3], values: impl Iterator<Item = f64>) {
        self.variable(name, Kind::Double, dimensions, texts, values.flat_map(f64::to_be_bytes).collect());
    }

    fn numbers(&mut self, name: &str, dimensions: &[usize], texts: [&str; 3], values: impl Iterator<Item = u64>) {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX).to_be_bytes();
        self.variable(name, Kind::Int64, dimensions, texts, values.flat_map(number).collect());
    }

    /// Texts of `strings` bytes each.
    fn texts<'a>(
        &mut self,
        name: &str,
        [dimension, strings]: [usize; 2],
        width: usize,
        texts: [&str; 3],
        values: impl Iterator<Item = &'a str>,
    ) {
        let padded = |text: &'a str| text.bytes().chain(std::iter::repeat_n(0, width.saturating_sub(text.len())));
        self.variable(name, Kind::Char, &[dimension, strings], texts, values.flat_map(padded).collect());
    }
}

/// `[statistic]` of one thing.
fn statistics(measured: &Measured) -> impl Iterator<Item = f64> {
    let samples = if measured.is_there() { f64::from(measured.samples) } else { f64::NAN };
    STATISTICS.map(|statistic| statistic.of(&measured.summary).unwrap_or(samples)).into_iter()
}

/// The file as bytes.
fn bytes_of(run: &Operations) -> Result<Vec<u8>, StoreError> {
    check(run).map_err(StoreError::Header)?;
    let mut making = Making { file: NewFile::default(), values: Vec::new() };
    let names: Vec<String> = run.operations.iter().map(Operation::to_string).collect();
    let labels = names.iter().map(String::as_str);
    let meanings: Vec<String> = run.operations.iter().map(|operation| meaning(*operation)).collect();
    let probes = run.probes.iter().map(|probe| probe.kind.name());
    let hosts = run.hosts.name_of_every_rank();
    let programs = run.programs.iter().flat_map(|program| [&*program.name, &*program.text]);
    let all = labels.clone().chain(meanings.iter().map(String::as_str)).chain(probes.clone()).chain(hosts);
    let all = all.chain(run.programs.iter().map(|program| &*program.name)).chain(STATISTICS.map(Statistic::name));
    let width = all.map(str::len).max().unwrap_or(1).max(1);
    let mut dimension = |name: &str, length: usize| (length > 0).then(|| making.file.dimension(name, length));
    let operation = dimension(OPERATION, run.operations.len());
    let procs = dimension(PROCS, run.procs.len());
    let n = dimension(N, run.lengths.len());
    let [statistic, strings] =
        [(STATISTIC, STATISTICS.len()), (STRINGS, width)].map(|(name, count)| making.file.dimension(name, count));
    let mut dimension = |name: &str, length: usize| (length > 0).then(|| making.file.dimension(name, length));
    let process = dimension(PROCESS, run.largest());
    let rank = dimension(X, run.hosts.ranks());
    let probe = dimension(PROBE, run.probes.len());
    let program = dimension(PROGRAM, run.programs.len());
    let longest = run.programs.iter().map(|program| program.text.len()).max().unwrap_or(0).max(1);
    let text = dimension("text", if run.programs.is_empty() { 0 } else { longest });
    attributes(&mut making.file, run);
    let text_of = |long_name, description| [long_name, "", description];
    making.texts(
        STATISTIC,
        [statistic, strings],
        width,
        text_of("statistic", "what stands where along this dimension; times in seconds, measurements_amount a number"),
        STATISTICS.into_iter().map(Statistic::name),
    );
    if let Some(rank) = rank {
        let names = run.hosts.name_of_every_rank();
        making.texts(HOST, [rank, strings], width, text_of("host of every rank", "host[rank]"), names);
    }
    if let Some(n) = n {
        let texts = ["length", "byte", "length[n]: what it counts is said by operation_meaning"];
        making.numbers(LENGTH, &[n], texts, run.lengths.iter().map(|length| length.0));
    }
    if let (Some(procs), Some(process)) = (procs, process) {
        let texts = ["number of processes", "1", "procs[procs]"];
        making.numbers(PROCS, &[procs], texts, run.procs.iter().map(|procs| *procs as u64));
        let largest = run.largest();
        let ranks = run.members.iter().flat_map(|members| {
            let ranks = members.iter().map(|rank| i32::try_from(*rank).unwrap_or(i32::MAX));
            ranks.chain(std::iter::repeat_n(NO_RANK, largest - members.len())).flat_map(i32::to_be_bytes)
        });
        let texts = ["rank of every process", "1", "member[procs][process]: a rank; -1: there are not so many"];
        making.variable("member", Kind::Int, &[procs, process], texts, ranks.collect());
    }
    if let Some(operation) = operation {
        making.texts(
            OPERATION,
            [operation, strings],
            width,
            text_of("operation", "name of an operation, with its parameter"),
            labels,
        );
        making.texts(
            "operation_meaning",
            [operation, strings],
            width,
            text_of("meaning of the operation", "what is carried out; what the length counts"),
            meanings.iter().map(String::as_str),
        );
    }
    if let (Some(operation), Some(procs), Some(n), Some(process)) = (operation, procs, n, process) {
        let cells = (0..run.operations.len())
            .flat_map(|operation| (0..run.procs.len()).map(move |procs| (operation, procs)))
            .flat_map(|(operation, procs)| (0..run.lengths.len()).map(move |n| (operation, procs, n)))
            .map(|(operation, procs, n)| run.measured(operation, procs, n));
        let place = [operation, procs, n];
        let texts = [
            "time of the slowest process from the common start on",
            "s",
            "time[operation][procs][n][statistic]; measurements_amount is a number; NaN: not measured",
        ];
        let all = [operation, procs, n, statistic];
        making.doubles("time", &all, texts, cells.clone().flat_map(statistics));
        let texts = ["how far off the common start may be", "s", "skew[operation][procs][n]: time in a barrier"];
        making.doubles("skew", &place, texts, cells.clone().map(|measured| measured.skew));
        let texts = ["number of samples with a wrong result", "1", "damaged[operation][procs][n]"];
        making.numbers("damaged", &place, texts, cells.map(|measured| u64::from(measured.damaged)));
        let own = (0..run.operations.len())
            .flat_map(|operation| (0..run.lengths.len()).map(move |n| (operation, n)))
            .flat_map(|(operation, n)| run.own(operation, n).iter().copied());
        let texts = [
            "median time of every process, with the largest number of processes",
            "s",
            "own[operation][n][process]: from the common start to the process's own end; NaN: not measured",
        ];
        making.doubles("own", &[operation, n, process], texts, own);
    }
    if let (Some(probe), Some(n)) = (probe, n) {
        let text = text_of("kind of probe", "what was measured for fits of models, see probe_source and probe_time");
        making.texts(PROBE, [probe, strings], width, text, probes);
        let texts = ["who sends, or works", "1", "probe_source[probe]: a rank"];
        making.numbers("probe_source", &[probe], texts, run.probes.iter().map(|probe| probe.source as u64));
        let texts = ["who receives", "1", "probe_destination[probe]: a rank; the source where one rank works alone"];
        making.numbers("probe_destination", &[probe], texts, run.probes.iter().map(|probe| probe.destination as u64));
        let texts = ["messages of a train", "1", "probe_messages[probe]"];
        making.numbers("probe_messages", &[probe], texts, run.probes.iter().map(|probe| u64::from(probe.messages)));
        let texts = ["pause behind each message of a train", "s", "probe_delay[probe][n]; 0: none"];
        making.doubles("probe_delay", &[probe, n], texts, run.probes.iter().flat_map(|probe| probe.delays.clone()));
        let texts = ["time of the probe", "s", "probe_time[probe][n][statistic]; NaN: not measured"];
        let times = run.probes.iter().flat_map(|probe| probe.measured.iter().flat_map(statistics));
        making.doubles("probe_time", &[probe, n, statistic], texts, times);
    }
    if let (Some(program), Some(text), Some(rank)) = (program, text, rank) {
        let names = run.programs.iter().map(|program| &*program.name);
        let about = text_of("name of the program", "program[program]: name of its file");
        making.texts(PROGRAM, [program, strings], width, about, names);
        let about = text_of("text of the program", "steps of work and messages, as they were read");
        making.texts("program_text", [program, text], longest, about, programs.skip(1).step_by(2));
        let texts = ["number of processes", "1", "program_procs[program]"];
        making.numbers("program_procs", &[program], texts, run.programs.iter().map(|program| program.procs as u64));
        let texts = ["time of the slowest process", "s", "program_time[program][statistic]; NaN: not measured"];
        let times = run.programs.iter().flat_map(|program| statistics(&program.measured));
        making.doubles("program_time", &[program, statistic], texts, times);
        let texts = ["how far off the common start may be", "s", "program_skew[program]"];
        making.doubles("program_skew", &[program], texts, run.programs.iter().map(|program| program.measured.skew));
        let texts = ["number of samples with a wrong result", "1", "program_damaged[program]"];
        let damaged = run.programs.iter().map(|program| u64::from(program.measured.damaged));
        making.numbers("program_damaged", &[program], texts, damaged);
        let ranks = run.hosts.ranks();
        let own = run.programs.iter().flat_map(|program| {
            program.own.iter().copied().chain(std::iter::repeat_n(f64::NAN, ranks - program.own.len()))
        });
        let texts = ["median time of every process", "s", "program_own[program][process]"];
        making.doubles("program_own", &[program, rank], texts, own);
    }
    let mut bytes = making.file.header();
    bytes.extend(making.values);
    Ok(bytes)
}

/// What an operation is, as files say it.
fn meaning(operation: Operation) -> String {
    let algorithm = operation.algorithm;
    format!("{}; length: {}", algorithm.meaning(), algorithm.counts().meaning())
}

fn attributes(file: &mut NewFile, run: &Operations) {
    file.attribute(FORMAT, format!("{FORMAT_NAME}{FORMAT_VERSION}"));
    file.attribute(CONVENTIONS, CONVENTIONS_FOLLOWED);
    let largest = run.largest();
    file.attribute(TITLE, format!("collective operations and patterns on up to {largest} MPI processes"));
    file.attribute(COMPLETE, if run.complete { "true" } else { "false" });
    file.attribute(PLAN_ITEMS, run.plan.keys().map(String::as_str).collect::<Vec<_>>().join(" "));
    for (name, value) in &run.plan {
        file.attribute(name, value.clone());
    }
    for (name, value) in run.provenance.entries().into_iter().filter(|entry| !entry.1.is_empty()) {
        file.attribute(name, value);
    }
}

/// Checks that a file can carry the run. The answer says what it cannot.
fn check(run: &Operations) -> Result<(), String> {
    let taken = [FORMAT, CONVENTIONS, TITLE, COMPLETE, PLAN_ITEMS];
    let entries = run.provenance.entries();
    let is_taken = |name: &str| taken.contains(&name) || entries.iter().any(|entry| entry.0 == name);
    let word = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if let Some(name) = run.plan.keys().find(|name| !word(name) || is_taken(name)) {
        return Err(format!("`{name}` cannot be the name of a plan item in files"));
    }
    let texts = run.plan.values().map(String::as_str).chain(entries.map(|entry| entry.1));
    let texts = texts.chain(run.programs.iter().flat_map(|program| [&*program.name, &*program.text]));
    if let Some(text) = texts.into_iter().find(|text| text.contains('\0')) {
        return Err(format!("it has a text with a NUL character: `{}`", text.escape_debug()));
    }
    if !run.lengths.is_sorted_by(|a, b| a < b) || !run.procs.is_sorted_by(|a, b| a < b) {
        return Err("its lengths, or its numbers of processes, do not ascend".to_owned());
    }
    let ranks = run.hosts.ranks();
    if run.members.iter().flatten().any(|rank| *rank >= ranks)
        || run.programs.iter().any(|program| program.own.len() > ranks || program.procs > ranks)
    {
        return Err(format!("it has processes beyond its {ranks} ranks"));
    }
    Ok(())
}

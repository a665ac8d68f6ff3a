//! What the module promises as a whole.

mod bad_input;
mod copies;
mod durability;
mod network_tests2;
mod retests;
mod round_trip;
mod sampled;
mod texts;

use std::path::Path;

use crate::{
    plan::{Mode, Noise},
    record::{Cell, Header, MemoryRun, Provenance, Run, State, Statistic},
    stats::Summary,
    units::{Bytes, Hosts},
};

/// A header of `ranks` ranks on two hosts, over the given lengths.
fn header(ranks: usize, lengths: &[u64]) -> Header {
    let planned: Vec<_> = lengths.iter().copied().map(Bytes).collect();
    Header {
        mode: Mode::OneToOne,
        hosts: Hosts::new((0..ranks).map(|rank| format!("node{}", rank % 2))),
        begin_end_step: (Bytes(0), planned.last().map_or(Bytes(0), |last| Bytes(last.0 + 1)), Bytes(0)),
        planned,
        iterations: 7,
        noise: Noise { length: Bytes(0), messages: 1, processes: 0 },
        plan: [("seed", "1"), ("timing", "transfer")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        provenance: Provenance { command: "network_test -n 7".to_owned(), ..Provenance::default() },
    }
}

/// A cell whose values tell where it stands.
fn cell(length_index: usize, place: usize) -> Cell {
    let base = (length_index * 1000 + place) as f64 * 1e-6;
    let summary =
        Summary { min: base, average: base + 2e-9, median: base + 1e-9, max: base + 5e-9, deviation: 1.25e-9 };
    Cell::measured(summary, 7, State::Measured)
}

/// A run of the first `count` lengths of `header`.
fn run(header: Header, count: usize) -> MemoryRun {
    let cells = header.hosts.ranks().pow(2);
    let mut run = MemoryRun::new(header);
    for index in 0..count {
        let length = run.header().planned[index];
        run.push(length, (0..cells).map(|place| cell(index, place)).collect());
    }
    run
}

/// Writes a run of 3 ranks and 2 lengths.
pub(super) fn small_set(prefix: &Path) -> MemoryRun {
    let run = run(header(3, &[0, 64]), 2);
    super::write_run(&run, prefix, false).unwrap();
    run
}

/// Everything of a run, with values as bits, so that NaN equals NaN.
#[expect(clippy::type_complexity, reason = "compared, and never named")]
fn everything(run: &dyn Run) -> (Header, Vec<Bytes>, Vec<Statistic>, Vec<(Vec<u64>, Vec<State>)>, Vec<String>) {
    let mut statistics = run.statistics().to_vec();
    statistics.sort_unstable();
    let mut parts = Vec::new();
    for index in 0..run.lengths().len() {
        let mut states = vec![State::Failed; run.ranks().pow(2)];
        run.read_states(index, 0..run.ranks(), &mut states).unwrap();
        for &statistic in &statistics {
            let matrix = run.matrix(statistic, index).unwrap();
            let bits = matrix.values().iter().map(|value| value.to_bits()).collect();
            parts.push((bits, states.clone()));
        }
    }
    let retests = (0..run.lengths().len()).map(|index| format!("{:?}", run.retests(index).unwrap())).collect();
    (run.header().clone(), run.lengths().to_vec(), statistics, parts, retests)
}

//! Cells of a run as JSON for programs: what `view --format json` prints, and the numbers of what `plot` draws.
//!
//! In: values along lengths, sources and destinations. Out: the document `network_test.cells/1`, the same for a matrix, a
//! row, a column and a pair: they differ in how long its axes are.

use serde::Serialize;

use crate::{
    record::{Header, Statistic},
    units::{Bytes, Rank},
};

/// Some cells.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    /// What was measured.
    pub header: &'a Header,
    /// Axis of lengths.
    pub lengths: Vec<Bytes>,
    /// Axis of sources.
    pub sources: Vec<Rank>,
    /// Axis of destinations.
    pub destinations: Vec<Rank>,
    /// Values of statistics, `[length][source][destination]`; NaN: missing.
    pub statistics: Vec<(Statistic, Vec<Vec<Vec<f64>>>)>,
}

impl Cells<'_> {
    /// The document. Null is "missing".
    pub fn document(&self) -> impl Serialize {
        let ends = |ranks: &[Rank]| -> Vec<End> {
            let hosts = &self.header.hosts;
            let end = |&rank| End { rank, host: hosts.name_of(rank).to_owned(), label: hosts.label_of(rank) };
            ranks.iter().map(end).collect()
        };
        Document {
            schema: "network_test.cells/1",
            mode: self.header.mode.name(),
            lengths: self.lengths.iter().map(|length| length.0).collect(),
            sources: ends(&self.sources),
            destinations: ends(&self.destinations),
            statistics: self
                .statistics
                .iter()
                .map(|(statistic, values)| Values { name: statistic.name(), unit: statistic.unit(), values })
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    mode: &'static str,
    /// Bytes.
    lengths: Vec<u64>,
    sources: Vec<End>,
    destinations: Vec<End>,
    statistics: Vec<Values<'a>>,
}

#[derive(Serialize)]
struct End {
    rank: Rank,
    host: String,
    /// What tells it from all others.
    label: String,
}

#[derive(Serialize)]
struct Values<'a> {
    name: &'static str,
    unit: &'static str,
    /// `[length][source][destination]`
    values: &'a [Vec<Vec<f64>>],
}

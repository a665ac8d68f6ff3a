//! What came of joining runs, as JSON for programs: what `merge --format json` prints.

use serde::Serialize;

use super::info::CellsDocument;
use crate::{
    analysis::tally::Tally,
    record::{Header, Run},
};

/// What is said about a merged run.
#[derive(Clone, Copy)]
pub struct Joined<'a> {
    /// Prefix of the new set.
    pub output: &'a str,
    /// Names of the runs that were joined, and the runs.
    pub parts: &'a [(&'a str, &'a dyn Run)],
    /// The merged run.
    pub run: &'a dyn Run,
    /// What became of its cells.
    pub tally: &'a Tally,
    /// What of the parts is not in it, and what is unusual about them.
    pub notices: &'a [String],
}

impl Joined<'_> {
    /// The document `network_test.merge/1`.
    pub fn document(&self) -> impl Serialize {
        let Header { mode, hosts, planned, .. } = self.run.header();
        Document {
            schema: "network_test.merge/1",
            output: self.output.to_owned(),
            mode: mode.name(),
            parts: self.parts.iter().map(|(name, run)| PartDocument::of(name, *run)).collect(),
            hosts: hosts.count(),
            ranks: hosts.ranks(),
            lengths: self.run.lengths().iter().map(|length| length.0).collect(),
            lengths_planned: planned.iter().map(|length| length.0).collect(),
            statistics: self.run.statistics().iter().map(|statistic| statistic.name()).collect(),
            cells: CellsDocument::of(self.tally),
            notices: self.notices.to_vec(),
        }
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    output: String,
    mode: &'static str,
    parts: Vec<PartDocument>,
    hosts: usize,
    ranks: usize,
    /// Bytes.
    lengths: Vec<u64>,
    /// Bytes.
    lengths_planned: Vec<u64>,
    statistics: Vec<&'static str>,
    cells: CellsDocument,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct PartDocument {
    run: String,
    created: Option<String>,
    hosts: usize,
    ranks: usize,
    /// How many are finished.
    lengths: usize,
}

impl PartDocument {
    fn of(name: &str, run: &dyn Run) -> Self {
        let Header { hosts, provenance, .. } = run.header();
        let created = (!provenance.created.is_empty()).then(|| provenance.created.clone());
        let (hosts, ranks) = (hosts.count(), hosts.ranks());
        Self { run: name.to_owned(), created, hosts, ranks, lengths: run.lengths().len() }
    }
}

//! What the page's script knows about the data: one JSON document.

use serde::Serialize;
use serde_json::Value;

use super::codes::Code;
use crate::{analysis::topology::Group, record::Statistic};

/// A report.
#[derive(Serialize)]
pub struct Description<'a> {
    /// Name and version of this form.
    pub schema: &'static str,
    /// Heading.
    pub title: String,
    /// Who wrote it.
    pub program: String,
    /// What is wrong with the runs, each as `network_analyze diagnose --format json` says it.
    pub diagnoses: &'a [Value],
    /// The runs, in the order in which they are offered.
    pub runs: Vec<RunDescription>,
    /// Names of the states of cells, by number.
    pub states: Vec<&'static str>,
    /// 256 colours from dark to bright, `[place][red, green, blue]`.
    pub perceptual: Vec<[u8; 3]>,
}

/// A run and where its data are.
#[derive(Serialize)]
pub struct RunDescription {
    /// For the choice of runs.
    pub name: String,
    /// Mode.
    pub mode: &'static str,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The same where there is little room.
    pub brief: Vec<String>,
    /// `[rank]`.
    pub host_of_rank: Vec<usize>,
    /// Finished message lengths, bytes.
    pub lengths: Vec<u64>,
    /// Number of lengths that were planned.
    pub planned: usize,
    /// What is unusual.
    pub notices: Vec<String>,
    /// Where the run comes from, name and text.
    pub facts: Vec<(String, String)>,
    /// The statistics that the page has.
    pub statistics: Vec<Codes>,
    /// Numbers of the pieces with the states, `[length]`.
    pub state_chunks: Vec<Option<usize>>,
    /// Ranks in the order of the archive.
    pub order: Option<Vec<usize>>,
    /// The archive's ranges.
    pub parts: Vec<PartDescription>,
    /// Hosts that are near each other, `[level][group]`, innermost level first.
    pub groups: Vec<Vec<Group>>,
    /// Whether the groups were found in the data.
    pub is_inferred: bool,
    /// Number of what is wrong in [`Description::diagnoses`].
    pub diagnosis: Option<usize>,
    /// Number of the run that this one is compared with.
    pub base: Option<usize>,
    /// Whether it is only there to be compared with.
    pub is_base: bool,
}

/// A range of lengths of an archive.
#[derive(Serialize)]
pub struct PartDescription {
    /// Numbers of its first length and of the one behind its last.
    pub lengths: [usize; 2],
    /// Number of the piece with the sets.
    pub sets: usize,
}

/// One statistic of a run.
#[derive(Serialize)]
pub struct Codes {
    /// Name.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Natural logarithm of the ratio of neighbouring codes.
    pub step: f64,
    /// No value lies further from the original than this share of it.
    pub error: f64,
    /// Number of the piece with what is typical of each pair.
    pub base: usize,
    /// Numbers of the pieces with the matrices, `[length]`.
    pub chunks: Vec<usize>,
    /// Middle codes, `[length]`.
    pub middles: Vec<Code>,
    /// Smallest and largest codes off the diagonal, `[length]`.
    pub spans: Vec<Option<(Code, Code)>>,
}

impl Codes {
    /// Without matrices yet.
    pub fn new(statistic: Statistic, step: f64, error: f64) -> Self {
        Self {
            name: statistic.name(),
            unit: statistic.unit(),
            meaning: statistic.meaning(),
            step,
            error,
            base: 0,
            chunks: Vec::new(),
            middles: Vec::new(),
            spans: Vec::new(),
        }
    }
}

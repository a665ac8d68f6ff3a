//! The document `network_test.comparison/1`: what `compare --format json` prints.
//!
//! In: a [`View`]. Out: a value that serialises itself. Times are in seconds, lengths in bytes; null is "not known" or
//! "no end". Findings have the fields of `network_test.diagnosis/1` where they mean the same.

use serde::Serialize;

use super::{Side, View, headline, next_check, support};
use crate::{
    analysis::{
        compare::{Change, ClassChange, FabricChange, LEVELS, Moved, Pairs, Subject},
        diagnose::Symptom,
    },
    view::diagnosis::{self, Cells, CurveDocument},
};

/// Name of the document's form.
pub const SCHEMA: &str = "network_test.comparison/1";

/// The document.
#[derive(Serialize)]
pub struct Document {
    schema: &'static str,
    verdict: &'static str,
    failed_pairs: usize,
    damaged_pairs: usize,
    base: SideDocument,
    new: SideDocument,
    mode: String,
    statistic: &'static str,
    /// Share: 0.05 is 5 %.
    threshold: f64,
    confidence: f64,
    /// Bytes, in the base run.
    lengths: Vec<u64>,
    fabric: Vec<FabricDocument>,
    findings: Vec<FindingDocument>,
    hosts: HostsDocument,
    classes: ClassesDocument,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct SideDocument {
    run: String,
    created: Option<String>,
    hosts: usize,
    ranks: usize,
}

#[derive(Serialize)]
struct FabricDocument {
    /// Bytes, in the base run.
    length: u64,
    /// Bytes, in the new run.
    new_length: u64,
    base_seconds: f64,
    new_seconds: f64,
    ratio: f64,
    inside_groups_ratio: Option<f64>,
    between_groups_ratio: Option<f64>,
    inside_hosts_ratio: Option<f64>,
    significant: bool,
}

#[derive(Serialize)]
struct FindingDocument {
    id: String,
    kind: &'static str,
    change: &'static str,
    hosts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    toward: Vec<String>,
    /// Of kind `fabric`: which pairs.
    pairs: Option<&'static str>,
    direction: &'static str,
    symptom: Option<&'static str>,
    /// First and last, bytes.
    lengths: [u64; 2],
    ratio: f64,
    extra_seconds: f64,
    confidence: f64,
    cells: Cells,
    explanation: String,
    next_check: &'static str,
    curve: Vec<CurveDocument>,
}

#[derive(Serialize)]
struct HostsDocument {
    shared: usize,
    new: Vec<String>,
    lost: Vec<String>,
    moved: Vec<MovedDocument>,
}

#[derive(Serialize)]
struct MovedDocument {
    host: String,
    /// Hosts near it in the base run.
    from: Vec<String>,
    /// Hosts near it in the new run.
    to: Vec<String>,
}

#[derive(Serialize)]
struct ClassesDocument {
    quantile_levels: [f64; 3],
    rows: Vec<ClassDocument>,
}

#[derive(Serialize)]
struct ClassDocument {
    pairs: &'static str,
    /// Bytes.
    length: u64,
    /// Seconds, `[level]`.
    base: [f64; 3],
    /// Seconds, `[level]`.
    new: [f64; 3],
}

impl View<'_> {
    /// For programs.
    pub fn document(&self) -> Document {
        let comparison = self.comparison;
        let findings = comparison.findings.iter().enumerate();
        Document {
            schema: SCHEMA,
            verdict: comparison.verdict.name(),
            failed_pairs: comparison.failed_pairs,
            damaged_pairs: comparison.damaged_pairs,
            base: self.base.into(),
            new: self.new.into(),
            mode: comparison.mode.to_string(),
            statistic: comparison.settings.statistic.name(),
            threshold: comparison.settings.threshold,
            confidence: comparison.settings.confidence,
            lengths: comparison.lengths.iter().map(|length| length.base.0).collect(),
            fabric: comparison.fabric.iter().map(FabricDocument::from).collect(),
            findings: findings.map(|(number, change)| FindingDocument::of(number, change)).collect(),
            hosts: HostsDocument {
                shared: comparison.shared.len(),
                new: comparison.new_hosts.clone(),
                lost: comparison.lost_hosts.clone(),
                moved: comparison.moved.iter().map(MovedDocument::from).collect(),
            },
            classes: ClassesDocument {
                quantile_levels: LEVELS,
                rows: comparison.classes.iter().map(ClassDocument::from).collect(),
            },
            notices: comparison.notices.clone(),
        }
    }
}

impl From<Side<'_>> for SideDocument {
    fn from(Side { name, header }: Side) -> Self {
        let created = &header.provenance.created;
        Self {
            run: name.to_owned(),
            created: (!created.is_empty()).then(|| created.clone()),
            hosts: header.hosts.count(),
            ranks: header.hosts.ranks(),
        }
    }
}

impl From<&FabricChange> for FabricDocument {
    fn from(change: &FabricChange) -> Self {
        let part = |wanted| change.parts.iter().find(|(pairs, _)| *pairs == wanted).map(|(_, ratio)| *ratio);
        Self {
            length: change.length.base.0,
            new_length: change.length.new.0,
            base_seconds: change.base_seconds,
            new_seconds: change.new_seconds,
            ratio: change.ratio,
            inside_groups_ratio: part(Pairs::InsideGroups),
            between_groups_ratio: part(Pairs::BetweenGroups),
            inside_hosts_ratio: part(Pairs::InsideHosts),
            significant: change.is_significant,
        }
    }
}

impl FindingDocument {
    fn of(number: usize, change: &Change) -> Self {
        Self {
            id: diagnosis::id(number),
            kind: change.subject.kind().name(),
            change: if change.is_slower { "slower" } else { "faster" },
            hosts: change.hosts.clone(),
            toward: change.toward.clone(),
            pairs: match change.subject {
                Subject::Pairs(pairs) => Some(pairs.name()),
                _ => None,
            },
            direction: change.direction.name(),
            symptom: change.symptom.map(Symptom::name),
            lengths: [change.lengths.0.0, change.lengths.1.0],
            ratio: change.ratio,
            extra_seconds: change.extra_seconds,
            confidence: change.confidence,
            cells: change.cells.into(),
            explanation: format!("{}; {}", headline(change), support(change)),
            next_check: next_check(change),
            curve: change.curve.iter().map(CurveDocument::from).collect(),
        }
    }
}

impl From<&Moved> for MovedDocument {
    fn from(Moved { host, from, to }: &Moved) -> Self {
        Self { host: host.clone(), from: from.clone(), to: to.clone() }
    }
}

impl From<&ClassChange> for ClassDocument {
    fn from(change: &ClassChange) -> Self {
        Self {
            pairs: if change.is_inside_hosts { "inside_hosts" } else { "between_hosts" },
            length: change.length.0,
            base: change.base,
            new: change.new,
        }
    }
}

//! The document `network_test.diagnosis/1`: a [`Diagnosis`] for programs.
//!
//! In: a diagnosis. Out: what serde writes as JSON, sentences of the text included. Its schema is
//! `network_analyze generate schemas`.

use serde::Serialize;

use super::{id, next_check, reasons, remark_text, sentence, support};
use crate::analysis::diagnose::{Agreement, AtLength, Diagnosis, Finding, Judged, Remark, RetestVerdict, Waited};

/// Name of the document's form.
pub const SCHEMA: &str = "network_test.diagnosis/1";

/// The document `network_test.diagnosis/1`.
#[derive(Serialize)]
pub struct Document {
    schema: &'static str,
    verdict: &'static str,
    confidence: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    invalid: Vec<String>,
    run: Option<RunDocument>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further_runs: Vec<RunDocument>,
    groups: Vec<Vec<String>>,
    findings: Vec<FindingDocument>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<RemarkDocument>,
}

#[derive(Serialize)]
struct RemarkDocument {
    kind: &'static str,
    hosts: Vec<String>,
    explanation: String,
}

#[derive(Serialize)]
struct RunDocument {
    mode: String,
    hosts: usize,
    ranks: usize,
    lengths: usize,
    statistic: &'static str,
    noise: f64,
    measured: f64,
}

/// A finding.
#[derive(Serialize)]
pub(in crate::view) struct FindingDocument {
    id: String,
    kind: &'static str,
    hosts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    toward: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    direction: &'static str,
    symptom: &'static str,
    modes: Vec<String>,
    lengths: [u64; 2],
    ratio: f64,
    extra_seconds: f64,
    confidence: f64,
    cells: Cells,
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retest: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waited: Option<WaitedDocument>,
    explanation: String,
    next_check: &'static str,
    curve: Vec<CurveDocument>,
}

#[derive(Serialize)]
struct WaitedDocument {
    ranks: usize,
    file: String,
}

#[derive(Serialize)]
pub(in crate::view) struct Cells {
    slow: usize,
    of: usize,
}

impl From<Agreement> for Cells {
    fn from(Agreement { slow, of }: Agreement) -> Self {
        Self { slow, of }
    }
}

#[derive(Serialize)]
pub(in crate::view) struct CurveDocument {
    length: u64,
    ratio: f64,
    usual_seconds: f64,
    extra_seconds: f64,
}

/// A number as precise as any measurement: curves are long.
fn six_digits(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

impl From<&AtLength> for CurveDocument {
    fn from(at: &AtLength) -> Self {
        let AtLength { length, ratio, usual_seconds, extra_seconds, .. } = *at;
        let [ratio, usual_seconds, extra_seconds] = [ratio, usual_seconds, extra_seconds].map(six_digits);
        Self { length: length.0, ratio, usual_seconds, extra_seconds }
    }
}

impl From<&Judged> for RunDocument {
    fn from(run: &Judged) -> Self {
        Self {
            mode: run.mode.to_string(),
            hosts: run.hosts,
            ranks: run.ranks,
            lengths: run.lengths.len(),
            statistic: "median",
            noise: run.noise,
            measured: run.measured,
        }
    }
}

/// The findings, by weight.
pub(in crate::view) fn finding_documents(diagnosis: &Diagnosis) -> Vec<FindingDocument> {
    let document = |(number, finding): (usize, &Finding)| FindingDocument {
        id: id(number),
        kind: finding.kind.name(),
        hosts: finding.hosts.clone(),
        toward: finding.toward.clone(),
        rank: finding.rank,
        direction: finding.direction.name(),
        symptom: finding.symptom.name(),
        modes: finding.modes.iter().map(ToString::to_string).collect(),
        lengths: [finding.lengths.0.0, finding.lengths.1.0],
        ratio: finding.ratio,
        extra_seconds: finding.extra_seconds,
        confidence: finding.confidence,
        cells: finding.cells.into(),
        elsewhere: finding.elsewhere,
        share: finding.share,
        share_of_time: finding.share_of_time,
        retest: finding.retest.map(RetestVerdict::name),
        waited: finding
            .waited
            .as_ref()
            .map(|Waited { ranks, file }| WaitedDocument { ranks: *ranks, file: file.clone() }),
        explanation: format!("{}; {}", sentence(finding), support(finding)),
        next_check: next_check(finding),
        curve: finding.curve.iter().map(CurveDocument::from).collect(),
    };
    diagnosis.findings.iter().enumerate().map(document).collect()
}

/// For programs.
pub fn document(diagnosis: &Diagnosis) -> Document {
    let groups = diagnosis.group.iter().max().map_or(0, |last| last + 1);
    let members = |group| {
        let hosts = diagnosis.hosts.iter().zip(&diagnosis.group);
        hosts.filter(|(_, own)| **own == group).map(|(name, _)| name.clone()).collect()
    };
    let remark = |remark: &Remark| {
        let (kind, hosts) = match remark {
            Remark::Load(finding) => ("load", finding.hosts.clone()),
            Remark::Again(found) => ("again", found[0].hosts.clone()),
            Remark::Busy { .. } => ("busy", Vec::new()),
            Remark::Halves { hosts, .. } => ("halves", hosts.concat()),
            Remark::Kinds { hosts, .. } => ("kinds", hosts.clone()),
        };
        RemarkDocument { kind, hosts, explanation: remark_text(remark) }
    };
    let mut runs = diagnosis.runs.iter().map(RunDocument::from);
    Document {
        schema: SCHEMA,
        verdict: diagnosis.verdict(),
        confidence: diagnosis.confidence,
        invalid: reasons(&diagnosis.invalid),
        run: runs.next(),
        further_runs: runs.collect(),
        groups: (0..groups).map(members).collect(),
        findings: finding_documents(diagnosis),
        remarks: diagnosis.remarks.iter().map(remark).collect(),
    }
}

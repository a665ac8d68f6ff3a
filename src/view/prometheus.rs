//! A verdict as metrics, for the text-file collector of Prometheus' node exporter.
//!
//! In: a [`Diagnosis`] and where its runs come from. Out: the text exposition format, with one series for each host and
//! direction and none for a pair: a run of 1,000 hosts is 4,000 series, not a million. Times stay in the result sets.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    io::{self, Write},
};

use crate::{
    analysis::diagnose::{Diagnosis, Direction, Finding, Judged, Kind, Symptom},
    units::{hostlist, shown},
};

/// Where a run comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of its mode.
    pub mode: &'static str,
    /// Version of the program that measured it; empty: not known.
    pub version: String,
    /// When it was measured, in seconds since 1970; `None`: not known.
    pub created: Option<f64>,
}

/// Verdicts, as [`Diagnosis::verdict`] names them.
const VERDICTS: [&str; 3] = ["healthy", "findings", "invalid"];

/// Kinds of findings.
const KINDS: [Kind; 9] =
    [Kind::Fabric, Kind::Group, Kind::Node, Kind::Rank, Kind::Link, Kind::Routes, Kind::Gate, Kind::Cable, Kind::Rail];

/// Writes all metrics. `run`: the name that every series has as its label, the same for each measurement of one machine.
pub fn write(diagnosis: &Diagnosis, run: &str, sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { run, out };
    page.family("run_info", "What was measured last; always 1.")?;
    // A mode that was measured twice is one series: no series may come twice.
    let modes: BTreeSet<_> = sources.iter().map(|source| (source.mode, source.version.as_str())).collect();
    for (mode, version) in modes {
        page.series("run_info", &[("mode", mode), ("version", version)], 1)?;
    }
    if let Some(newest) = sources.iter().filter_map(|source| source.created).reduce(f64::max) {
        page.family(
            "run_timestamp_seconds",
            "When the newest measurement began, in seconds since 1970; its age is time() less this.",
        )?;
        page.series("run_timestamp_seconds", &[], newest)?;
    }
    page.family("verdict", "1 for the verdict that holds, 0 for the others.")?;
    for verdict in VERDICTS {
        page.series("verdict", &[("verdict", verdict)], u8::from(verdict == diagnosis.verdict()))?;
    }
    page.family("findings", "Findings by kind.")?;
    for kind in KINDS {
        let count = diagnosis.findings.iter().filter(|finding| finding.kind == kind).count();
        page.series("findings", &[("kind", kind.name())], count)?;
    }
    page.family("hosts", "Hosts that were judged.")?;
    page.series("hosts", &[], diagnosis.hosts.len())?;
    page.family("noise_ratio", "Scatter of pairs about what their hosts and groups explain, as a share of the time.")?;
    for (mode, noise) in by_mode(diagnosis, |run| run.noise, f64::max) {
        page.series("noise_ratio", &[("mode", mode)], noise)?;
    }
    page.family("measured_ratio", "Share of the pairs of hosts that were measured.")?;
    for (mode, measured) in by_mode(diagnosis, |run| run.measured, f64::min) {
        page.series("measured_ratio", &[("mode", mode)], measured)?;
    }
    hosts(diagnosis, &mut page)
}

/// A value of the runs by mode, the worse of two.
fn by_mode(
    diagnosis: &Diagnosis,
    value: impl Fn(&Judged) -> f64,
    worse: impl Fn(f64, f64) -> f64,
) -> BTreeMap<&'static str, f64> {
    let mut values = BTreeMap::new();
    for run in diagnosis.runs.iter().filter(|run| value(run).is_finite()) {
        values.entry(run.mode.name()).and_modify(|other| *other = worse(*other, value(run))).or_insert(value(run));
    }
    values
}

/// What findings say about every host.
fn hosts(diagnosis: &Diagnosis, page: &mut Page<'_>) -> io::Result<()> {
    let mut names: Vec<&str> = diagnosis.hosts.iter().map(String::as_str).collect();
    hostlist::sort(&mut names);
    names.dedup();
    let named = |name: &str| {
        let findings = diagnosis.findings.iter();
        findings.filter(|finding| finding.hosts.iter().any(|host| host == name)).collect::<Vec<_>>()
    };
    let named: Vec<(&str, Vec<&Finding>)> = names.iter().map(|name| (*name, named(name))).collect();
    page.family(
        "host_slowdown_ratio",
        "How many times as long a host takes as its peers; 1 without a finding about it.",
    )?;
    // Of times that could not be judged nobody knows that they are usual.
    for (host, findings) in named.iter().filter(|_| !diagnosis.runs.is_empty()) {
        for direction in [Direction::Send, Direction::Receive] {
            let slow = findings.iter().filter(|finding| is_slow(finding, direction)).map(|finding| finding.ratio);
            let labels = [("host", *host), ("direction", direction.name())];
            page.series("host_slowdown_ratio", &labels, slow.fold(1.0, f64::max))?;
        }
    }
    page.family("host_failing", "1 if exchanges with the host fail or payloads arrive damaged, else 0.")?;
    for (host, findings) in &named {
        let fails = findings.iter().any(|finding| is_own(finding) && is_failure(finding));
        page.series("host_failing", &[("host", host)], u8::from(fails))?;
    }
    page.family("host_findings", "Findings of any kind that name the host, also with others.")?;
    for (host, findings) in &named {
        page.series("host_findings", &[("host", host)], findings.len())?;
    }
    Ok(())
}

/// Whether it is about a host and nothing beyond it.
fn is_own(finding: &Finding) -> bool {
    matches!(finding.kind, Kind::Node | Kind::Rank)
}

fn is_failure(finding: &Finding) -> bool {
    matches!(finding.symptom, Symptom::Silent | Symptom::Lossy | Symptom::Damaged)
}

/// Whether it says that a host is slow this way. The ratio of jitter is one of scatters, not of times.
fn is_slow(finding: &Finding, direction: Direction) -> bool {
    is_own(finding)
        && !is_failure(finding)
        && finding.symptom != Symptom::Jitter
        && finding.ratio.is_finite()
        && [direction, Direction::Both].contains(&finding.direction)
}

/// Metrics on their way out.
struct Page<'a> {
    run: &'a str,
    out: &'a mut dyn Write,
}

impl Page<'_> {
    /// Opens a metric: all its series come next.
    fn family(&mut self, name: &str, help: &str) -> io::Result<()> {
        writeln!(self.out, "# HELP network_test_{name} {help}\n# TYPE network_test_{name} gauge")
    }

    fn series(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) -> io::Result<()> {
        write!(self.out, "network_test_{name}{{run=\"{}\"", escaped(self.run))?;
        for (label, text) in labels {
            write!(self.out, ",{label}=\"{}\"", escaped(text))?;
        }
        writeln!(self.out, "}} {value}")
    }
}

/// A label's value: all of it can be seen, backslash and quote are written as the format demands.
fn escaped(text: &str) -> String {
    shown(text).replace('\\', r"\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\\b\"c\nd\u{1b}\u{202e}"), r#"a\\b\"c\\nd\\u{1b}\\u{202e}"#);
    }
}

//! Counts what of a case's faults a diagnosis names, and what it makes up.
//!
//! In: a [`Case`] and a JSON diagnosis. Out: a [`Tally`], which prints itself as a table.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::case::{Case, Planted};

/// Faults of one kind and size.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    planted: usize,
    named: usize,
    directed: usize,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            planted: self.planted + other.planted,
            named: self.named + other.named,
            directed: self.directed + other.directed,
        }
    }
}

/// What came out of some cases.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By kind of fault, and by how many times as long it makes things take, in hundredths.
    faults: BTreeMap<(&'static str, u32), Counts>,
    /// Findings by kind: all, and those that were planted.
    findings: BTreeMap<String, (usize, usize)>,
    /// Runs without a fault, those of them without a finding, and findings in the others.
    healthy: (usize, usize, usize),
}

impl Tally {
    /// Both together.
    pub fn plus(mut self, other: Self) -> Self {
        for (key, counts) in other.faults {
            let entry = self.faults.entry(key).or_default();
            *entry = entry.plus(counts);
        }
        for (kind, (all, right)) in other.findings {
            let entry = self.findings.entry(kind).or_default();
            *entry = (entry.0 + all, entry.1 + right);
        }
        let (a, b) = (self.healthy, other.healthy);
        self.healthy = (a.0 + b.0, a.1 + b.1, a.2 + b.2);
        self
    }

    fn all(&self) -> Counts {
        self.faults.values().copied().fold(Counts::default(), Counts::plus)
    }

    /// Percentages: recall, precision, healthy runs without a finding, direction.
    pub fn shares(&self) -> [f64; 4] {
        let all = self.all();
        let (findings, right) = self.findings.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        [
            percent(all.named, all.planted),
            percent(right, findings),
            percent(self.healthy.1, self.healthy.0),
            percent(all.directed, all.named),
        ]
    }
}

/// Of nothing, everything is right.
fn percent(part: usize, of: usize) -> f64 {
    if of == 0 { 100.0 } else { 100.0 * part as f64 / of as f64 }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [recall, precision, healthy, direction] = self.shares();
        let all = self.all();
        let (findings, right) = self.findings.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        writeln!(f, "  faults named       {recall:5.1} %  {} of {}", all.named, all.planted)?;
        writeln!(f, "  findings right     {precision:5.1} %  {right} of {findings}")?;
        let (runs, quiet, alarms) = self.healthy;
        writeln!(f, "  healthy and quiet  {healthy:5.1} %  {quiet} of {runs} runs, {alarms} findings in the others")?;
        writeln!(f, "  direction right    {direction:5.1} %  {} of {}\n", all.directed, all.named)?;
        writeln!(f, "  kind   size  planted  named  direction   findings  right")?;
        let mut last = "";
        for (&(kind, size), counts) in &self.faults {
            let findings = self.findings.get(kind).copied().unwrap_or_default();
            let of_kind = if kind == last { String::new() } else { format!("{:>8}  {:>5}", findings.0, findings.1) };
            let line = format!(
                "  {:<6} {:>4.2} {:>8} {:>6} {:>10}   {of_kind}",
                if kind == last { "" } else { kind },
                f64::from(size) / 100.0,
                counts.planted,
                counts.named,
                counts.directed
            );
            writeln!(f, "{}", line.trim_end())?;
            last = kind;
        }
        Ok(())
    }
}

fn names(finding: &Value) -> Vec<String> {
    let hosts = finding["hosts"].as_array().map(Vec::as_slice).unwrap_or_default();
    hosts.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_same(planted: &Planted, finding: &Value) -> bool {
    let (mut a, mut b) = (planted.hosts.clone(), names(finding));
    a.sort();
    b.sort();
    finding["kind"] == planted.kind && a == b
}

fn is_directed(planted: &Planted, finding: &Value) -> bool {
    finding["direction"] == planted.direction
        && (planted.kind != "link" || planted.direction == "both" || planted.hosts == names(finding))
}

/// Counts, and what is to be said about what was missed and what was made up.
pub fn score(case: &Case, document: &Value) -> (Tally, Vec<String>) {
    let none = Vec::new();
    let findings = document["findings"].as_array().unwrap_or(&none);
    let (mut tally, mut remarks) = (Tally::default(), Vec::new());
    for planted in &case.planted {
        let found = findings.iter().find(|finding| is_same(planted, finding));
        let is_right = found.is_some_and(|finding| is_directed(planted, finding));
        let counts = Counts { planted: 1, named: usize::from(found.is_some()), directed: usize::from(is_right) };
        let entry = tally.faults.entry((planted.kind, (100.0 * planted.factor).round() as u32)).or_default();
        *entry = entry.plus(counts);
        if found.is_none() {
            remarks.push(format!("missed: {planted} ({case})"));
        } else if !is_right {
            remarks.push(format!("wrong direction: {planted} ({case})"));
        }
    }
    for finding in findings {
        let is_right = case.planted.iter().any(|planted| is_same(planted, finding));
        let kind = finding["kind"].as_str().unwrap_or_default();
        let entry = tally.findings.entry(kind.to_owned()).or_default();
        *entry = (entry.0 + 1, entry.1 + usize::from(is_right));
        if !is_right {
            remarks.push(format!("made up: {} ({case})", finding["explanation"].as_str().unwrap_or_default()));
        }
    }
    if case.planted.is_empty() {
        tally.healthy = (1, usize::from(findings.is_empty()), findings.len());
    }
    (tally, remarks)
}

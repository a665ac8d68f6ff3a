//! What changed between two runs: as text for people, as JSON for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::Table;
use crate::{
    analysis::{
        compare::{Change, Comparison, FabricChange, LEVELS, Pairs, Subject, Symptom, Verdict},
        diagnose::Direction,
        distribution,
    },
    record::Header,
    units::{Seconds, hostlist},
};

/// Lengths in the tables of a long sweep.
const MOST_LENGTHS: usize = 12;

/// Findings of a text.
const MOST_FINDINGS: usize = 20;

/// One of the two runs.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its name on the command line.
    pub name: &'a str,
    /// Its own description.
    pub header: &'a Header,
}

/// What is said about two runs.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What changed.
    pub comparison: &'a Comparison,
    /// The run that is compared with.
    pub base: Side<'a>,
    /// The run that is looked at.
    pub new: Side<'a>,
}

impl View<'_> {
    /// For people: the first line is the verdict.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let comparison = self.comparison;
        writeln!(out, "{}", self.verdict())?;
        writeln!(out)?;
        for (name, side) in [("base", self.base), ("new", self.new)] {
            writeln!(out, "{name:<9} {}", described(side))?;
        }
        let settings = comparison.settings;
        let lengths = match &comparison.lengths[..] {
            [] => String::new(),
            [only] => format!("1 length ({} bytes)", only.base),
            [first, .., last] => {
                format!("{} lengths ({} to {} bytes)", comparison.lengths.len(), first.base, last.base)
            }
        };
        writeln!(
            out,
            "compared  {} of {} hosts, {lengths}, {} of {}; changes from {} on, confidence {}",
            comparison.shared.len(),
            self.base.header.hosts.count(),
            settings.statistic,
            comparison.mode,
            percent(settings.threshold),
            settings.confidence,
        )?;
        for (name, hosts) in [("new hosts", &comparison.new_hosts), ("lost", &comparison.lost_hosts)] {
            if !hosts.is_empty() {
                writeln!(out, "{name:<9} {}: {}", hosts.len(), list(hosts))?;
            }
        }
        for moved in &comparison.moved {
            let (from, to) = (list(&moved.from), list(&moved.to));
            writeln!(out, "moved     {} was near {from} and is near {to}: another switch?", moved.host)?;
        }
        for notice in &comparison.notices {
            writeln!(out, "notice    {notice}")?;
        }
        self.write_findings(out)?;
        self.write_fabric(out)?;
        self.write_classes(out)
    }

    /// One line.
    fn verdict(&self) -> String {
        let comparison = self.comparison;
        let among = |is_slower: bool| comparison.findings.iter().filter(move |change| change.is_slower == is_slower);
        let told = |is_slower: bool| {
            let first = among(is_slower).next().map(headline).unwrap_or_default();
            match among(is_slower).count() {
                0 | 1 => first,
                count => format!("{first}, and {} more", count - 1),
            }
        };
        match comparison.verdict {
            Verdict::Unchanged => {
                format!("UNCHANGED: nothing differs by more than {} and noise", percent(comparison.settings.threshold))
            }
            Verdict::Regression => format!("REGRESSION: {}", told(true)),
            Verdict::Improvement => format!("IMPROVEMENT: {}", told(false)),
            Verdict::Incomparable => format!(
                "INCOMPARABLE: {} in both runs; only classes of pairs are compared",
                match comparison.shared.len() {
                    0 => "no host is".to_owned(),
                    1 => "1 host is".to_owned(),
                    count => format!("{count} hosts are"),
                }
            ),
        }
    }

    fn write_findings(&self, out: &mut dyn Write) -> io::Result<()> {
        let findings = &self.comparison.findings;
        if !findings.is_empty() {
            writeln!(out)?;
        }
        for (number, change) in findings.iter().take(MOST_FINDINGS).enumerate() {
            writeln!(out, "{:>2}. {}", number + 1, headline(change))?;
            if change.subject != Subject::Silent {
                writeln!(out, "    {}", evidence(change))?;
            }
            writeln!(out, "    next: {}", advice(change))?;
        }
        if findings.len() > MOST_FINDINGS {
            writeln!(out, "{} more; --format json has all", findings.len() - MOST_FINDINGS)?;
        }
        Ok(())
    }

    fn write_fabric(&self, out: &mut dyn Write) -> io::Result<()> {
        let fabric = &self.comparison.fabric;
        let Some(first) = fabric.first() else { return Ok(()) };
        writeln!(out)?;
        writeln!(out, "all pairs of hosts together (* beyond threshold and noise)")?;
        let parts: Vec<Pairs> = first.parts.iter().map(|(pairs, _)| *pairs).collect();
        let headings = ["length", "base", "new", "change", ""].map(str::to_owned).into_iter();
        let mut table = Table::new(headings.chain(parts.iter().map(|pairs| short_name(*pairs).to_owned()))).left(4);
        for row in distribution::spread(fabric.len(), MOST_LENGTHS).into_iter().map(|index| &fabric[index]) {
            let mark = if row.is_significant { "*" } else { "" };
            let cells = [
                length(row),
                Seconds(row.base_seconds).to_string(),
                Seconds(row.new_seconds).to_string(),
                signed(row.ratio),
                mark.to_owned(),
            ];
            table.push(cells.into_iter().chain(row.parts.iter().map(|(_, ratio)| signed(*ratio))));
        }
        table.write("  ", out)?;
        if fabric.len() > MOST_LENGTHS {
            writeln!(out, "{MOST_LENGTHS} of {} lengths are shown; --format json has all", fabric.len())?;
        }
        Ok(())
    }

    fn write_classes(&self, out: &mut dyn Write) -> io::Result<()> {
        for (is_inside, title) in [(false, "pairs between hosts"), (true, "pairs inside hosts")] {
            let rows: Vec<_> =
                self.comparison.classes.iter().filter(|class| class.is_inside_hosts == is_inside).collect();
            if rows.is_empty() {
                continue;
            }
            writeln!(out)?;
            writeln!(out, "{title}")?;
            let headings = ["base 5 %", "median", "95 %", "new 5 %", "median", "95 %"];
            let mut table = Table::new(["length"].into_iter().chain(headings));
            for row in distribution::spread(rows.len(), MOST_LENGTHS).into_iter().map(|index| rows[index]) {
                let times = row.base.iter().chain(&row.new).map(|seconds| Seconds(*seconds).to_string());
                table.push([row.length.to_string()].into_iter().chain(times));
            }
            table.write("  ", out)?;
        }
        Ok(())
    }

    /// For programs: the document that `--format json` prints. Times are in seconds; null is "not known" or "no end".
    pub fn document(&self) -> impl Serialize {
        let comparison = self.comparison;
        let side = |side: Side| SideDocument {
            run: side.name.to_owned(),
            created: (!side.header.provenance.created.is_empty()).then(|| side.header.provenance.created.clone()),
            hosts: side.header.hosts.count(),
            ranks: side.header.hosts.ranks(),
        };
        Document {
            schema: "network_test.comparison/1",
            verdict: match comparison.verdict {
                Verdict::Unchanged => "unchanged",
                Verdict::Regression => "regression",
                Verdict::Improvement => "improvement",
                Verdict::Incomparable => "incomparable",
            },
            base: side(self.base),
            new: side(self.new),
            mode: comparison.mode.name(),
            statistic: comparison.settings.statistic.name(),
            threshold: comparison.settings.threshold,
            confidence: comparison.settings.confidence,
            lengths: comparison.lengths.iter().map(|length| length.base.0).collect(),
            fabric: comparison.fabric.iter().map(FabricDocument::of).collect(),
            findings: comparison.findings.iter().map(FindingDocument::of).collect(),
            hosts: HostsDocument {
                shared: comparison.shared.len(),
                new: comparison.new_hosts.clone(),
                lost: comparison.lost_hosts.clone(),
                moved: comparison
                    .moved
                    .iter()
                    .map(|moved| MovedDocument {
                        host: moved.host.clone(),
                        from: moved.from.clone(),
                        to: moved.to.clone(),
                    })
                    .collect(),
            },
            classes: ClassesDocument {
                quantile_levels: LEVELS,
                rows: comparison
                    .classes
                    .iter()
                    .map(|class| ClassDocument {
                        pairs: if class.is_inside_hosts { "inside_hosts" } else { "between_hosts" },
                        length: class.length.0,
                        base: class.base,
                        new: class.new,
                    })
                    .collect(),
            },
            notices: comparison.notices.clone(),
        }
    }
}

/// `night (2026-01-02T03:04:05Z, 16 hosts: node[001-016])`.
fn described(side: Side) -> String {
    let hosts = &side.header.hosts;
    let created = &side.header.provenance.created;
    let created = if created.is_empty() { String::new() } else { format!("{created}, ") };
    format!("{} ({created}{} hosts: {})", side.name, hosts.count(), list(hosts.names()))
}

/// Names in order: the order of ranks says nothing here.
fn list(names: &[String]) -> String {
    let mut names = names.to_vec();
    names.sort();
    hostlist::compress(&names)
}

/// `12 %`, with a digit where that matters.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value.abs() < 9.95 && (value - value.round()).abs() > 0.05 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// `+8.1 %`, or `x 2.4`.
fn signed(ratio: f64) -> String {
    match ratio {
        ratio if ratio.is_nan() => "-".to_owned(),
        ratio if ratio >= 2.0 => format!("x {ratio:.2}"),
        ratio => format!("{:+.1} %", 100.0 * (ratio - 1.0)),
    }
}

fn length(row: &FabricChange) -> String {
    if row.length.is_same() { row.length.base.to_string() } else { format!("{}/{}", row.length.base, row.length.new) }
}

fn name(pairs: Pairs) -> &'static str {
    match pairs {
        Pairs::All => "all pairs of hosts",
        Pairs::InsideGroups => "pairs inside groups of hosts",
        Pairs::BetweenGroups => "pairs between groups of hosts",
        Pairs::InsideHosts => "pairs of ranks inside hosts",
    }
}

fn short_name(pairs: Pairs) -> &'static str {
    match pairs {
        Pairs::All => "all",
        Pairs::InsideGroups => "inside groups",
        Pairs::BetweenGroups => "between groups",
        Pairs::InsideHosts => "inside hosts",
    }
}

/// `node017 receives 8.1 % slower`.
fn headline(change: &Change) -> String {
    let amount = match (change.is_slower, change.ratio) {
        (true, ratio) if ratio >= 2.0 => format!("{ratio:.1} times as slow"),
        (true, ratio) => format!("{} slower", percent(ratio - 1.0)),
        (false, ratio) => format!("{} faster", percent(1.0 - ratio)),
    };
    let does = match change.direction {
        Direction::Both => "is",
        Direction::Send => "sends",
        Direction::Receive => "receives",
    };
    match (change.subject, &change.hosts[..]) {
        (Subject::Silent, hosts) => format!("{} no longer exchanges anything with anybody", hosts.join(", ")),
        (Subject::Link, [a, b]) if change.direction == Direction::Both => format!("{a} <-> {b} is {amount}"),
        (Subject::Link, [a, b]) => format!("{a} -> {b} is {amount}"),
        (Subject::Group, hosts) => {
            let toward = match change.direction {
                Direction::Both => "the way between",
                Direction::Send => "the way out of",
                Direction::Receive => "the way into",
            };
            let others = if change.direction == Direction::Both { " and all others" } else { "" };
            format!("{toward} {}{others} is {amount}", list(hosts))
        }
        (Subject::Pairs(pairs), _) => format!("{} are {amount}", name(pairs)),
        (_, hosts) => format!("{} {does} {amount}", hosts.join(", ")),
    }
}

/// `from 4K to 1M bytes, +41.0 us at 1M (bandwidth); 30 of 31 pairs changed by more than noise; confidence 0.9999`.
fn evidence(change: &Change) -> String {
    let (first, last) = change.lengths;
    let range = if first == last { format!("at {first} bytes") } else { format!("from {first} to {last} bytes") };
    let sign = if change.extra_seconds > 0.0 { "+" } else { "" };
    let symptom = change.symptom.map(|symptom| format!(" ({})", symptom_name(symptom))).unwrap_or_default();
    let (slow, of) = change.cells;
    let pairs = if change.subject == Subject::Pairs(Pairs::InsideHosts) { "hosts" } else { "pairs" };
    // More digits than these nobody should believe.
    let confidence = format!("{:.4}", change.confidence.min(0.9999));
    format!(
        "{range}, {sign}{} at {last}{symptom}; {slow} of {of} {pairs} changed by more than noise; confidence {confidence}",
        Seconds(change.extra_seconds)
    )
}

fn symptom_name(symptom: Symptom) -> &'static str {
    match symptom {
        Symptom::Latency => "latency",
        Symptom::Bandwidth => "bandwidth",
        Symptom::Jitter => "jitter",
    }
}

/// What to look at next.
fn advice(change: &Change) -> &'static str {
    match (change.subject, change.is_slower) {
        (_, false) => "nothing to be done; a repaired part or an update shows like this",
        (Subject::Silent, _) => "is the host up? Its cable, its switch port, its MPI daemon",
        (Subject::Host, _) => match change.symptom {
            Some(Symptom::Latency) => "the host's processor frequency, interrupts and other jobs, then its adapter",
            Some(Symptom::Jitter) => "other processes on the host, its interrupts, its power management",
            _ => "the host's adapter, cable and switch port: link width and speed, error counters, PCIe width",
        },
        (Subject::Link, _) => {
            "the route between the two: a switch-to-switch cable on it, adaptive routing, error counters"
        }
        (Subject::Group, _) => "the uplinks of the switch that these hosts share: links that are down, error counters",
        (Subject::Pairs(Pairs::InsideHosts), _) => {
            "MPI's shared-memory transport, process binding, kernel and firmware updates"
        }
        (Subject::Pairs(Pairs::BetweenGroups), _) => {
            "the switches above the leaves: links that are down, routing, other jobs"
        }
        (Subject::Pairs(_), _) => "what all hosts share: MPI library and its settings, drivers, firmware, other jobs",
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    verdict: &'static str,
    base: SideDocument,
    new: SideDocument,
    mode: &'static str,
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

impl FabricDocument {
    fn of(change: &FabricChange) -> Self {
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

#[derive(Serialize)]
struct FindingDocument {
    kind: &'static str,
    change: &'static str,
    hosts: Vec<String>,
    /// Of kind `fabric`: which pairs.
    pairs: Option<&'static str>,
    direction: &'static str,
    symptom: Option<&'static str>,
    /// First and last, bytes.
    lengths: [u64; 2],
    /// Null: no end.
    ratio: Option<f64>,
    extra_seconds: Option<f64>,
    confidence: f64,
    cells: CellsDocument,
    explanation: String,
}

#[derive(Serialize)]
struct CellsDocument {
    slow: usize,
    of: usize,
}

impl FindingDocument {
    fn of(change: &Change) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        Self {
            kind: match change.subject {
                Subject::Host | Subject::Silent => "node",
                Subject::Link => "link",
                Subject::Group => "group",
                Subject::Pairs(_) => "fabric",
            },
            change: if change.is_slower { "slower" } else { "faster" },
            hosts: change.hosts.clone(),
            pairs: match change.subject {
                Subject::Pairs(Pairs::All) => Some("all"),
                Subject::Pairs(Pairs::InsideGroups) => Some("inside_groups"),
                Subject::Pairs(Pairs::BetweenGroups) => Some("between_groups"),
                Subject::Pairs(Pairs::InsideHosts) => Some("inside_hosts"),
                _ => None,
            },
            direction: match change.direction {
                Direction::Both => "both",
                Direction::Send => "send",
                Direction::Receive => "receive",
            },
            symptom: change.symptom.map(symptom_name),
            lengths: [change.lengths.0.0, change.lengths.1.0],
            ratio: finite(change.ratio),
            extra_seconds: finite(change.extra_seconds),
            confidence: change.confidence,
            cells: CellsDocument { slow: change.cells.0, of: change.cells.1 },
            explanation: headline(change),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn change(subject: Subject, hosts: &[&str], direction: Direction, ratio: f64) -> Change {
        Change {
            subject,
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            direction,
            is_slower: ratio > 1.0,
            symptom: Some(Symptom::Bandwidth),
            lengths: (Bytes(4096), Bytes(1 << 20)),
            ratio,
            extra_seconds: 4.1e-5 * (ratio - 1.0).signum(),
            confidence: 1.0 - 1e-9,
            cells: (30, 31),
        }
    }

    #[test]
    fn a_finding_is_one_sentence() {
        for (subject, hosts, direction, ratio, sentence) in [
            (Subject::Host, &["n1"][..], Direction::Receive, 1.081, "n1 receives 8.1 % slower"),
            (Subject::Host, &["n1"], Direction::Both, 1.5, "n1 is 50 % slower"),
            (Subject::Host, &["n1"], Direction::Send, 0.9, "n1 sends 10 % faster"),
            (Subject::Link, &["n1", "n2"], Direction::Send, 1.3, "n1 -> n2 is 30 % slower"),
            (Subject::Link, &["n1", "n2"], Direction::Both, 2.5, "n1 <-> n2 is 2.5 times as slow"),
            (
                Subject::Group,
                &["n1", "n2", "n3"],
                Direction::Both,
                1.15,
                "the way between n[1-3] and all others is 15 % slower",
            ),
            (Subject::Group, &["n1", "n2", "n3"], Direction::Send, 1.15, "the way out of n[1-3] is 15 % slower"),
            (Subject::Pairs(Pairs::All), &[], Direction::Both, 1.1, "all pairs of hosts are 10 % slower"),
            (Subject::Silent, &["n1"], Direction::Both, f64::INFINITY, "n1 no longer exchanges anything with anybody"),
        ] {
            assert_eq!(headline(&change(subject, hosts, direction, ratio)), sentence);
        }
    }

    #[test]
    fn evidence_has_sizes_and_counts() {
        let told = evidence(&change(Subject::Host, &["n1"], Direction::Both, 1.5));
        let expected = "from 4K to 1M bytes, +41.0 us at 1M (bandwidth); 30 of 31 pairs changed by more than noise; \
                        confidence 0.9999";
        assert_eq!(told, expected);
        assert!(evidence(&change(Subject::Host, &["n1"], Direction::Both, 0.9)).contains("bytes, -41.0 us"));
    }

    #[test]
    fn shares_have_a_digit_where_it_matters() {
        assert_eq!([percent(0.05), percent(0.081), percent(0.126), percent(0.075)], ["5 %", "8.1 %", "13 %", "7.5 %"]);
        assert_eq!([signed(1.05), signed(0.9), signed(3.0), signed(f64::NAN)], ["+5.0 %", "-10.0 %", "x 3.00", "-"]);
    }
}

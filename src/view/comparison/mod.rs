//! What changed between two runs: text that fits an e-mail, and JSON for programs ([`Document`]).
//!
//! In: a [`Comparison`] and what both runs say about themselves. Out: text or the document. Nothing is judged here.

mod document;

use std::io::{self, Write};

pub use document::{Document, SCHEMA};

use super::{
    Table,
    diagnosis::{OF_BROADCAST, between, confidence, id, members, paragraph, result_line, usual_check},
};
use crate::{
    analysis::{
        compare::{Change, Comparison, FabricChange, Pairs, Subject, Verdict},
        diagnose::{Direction, Kind, Symptom},
        distribution,
    },
    record::Header,
    units::{Seconds, counted, hostlist, shown},
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
        for (name, side) in [("base", self.base), ("new", self.new)] {
            paragraph(out, &format!("  {name}: "), &described(side))?;
        }
        let settings = comparison.settings;
        let lengths = match &comparison.lengths[..] {
            [] => String::new(),
            [only] => only.base.counted(),
            [first, .., last] => {
                format!("{} from {} to {}", counted(comparison.lengths.len(), "length"), first.base, last.base)
            }
        };
        let compared = format!(
            "{} of {}, {lengths}, {} of {}; changes from {} on, {} % confidence",
            comparison.shared.len(),
            counted(self.base.header.hosts.count(), "host"),
            settings.statistic,
            comparison.mode,
            percent(settings.threshold),
            100.0 * settings.confidence,
        );
        paragraph(out, "  compared: ", &compared)?;
        for (name, hosts) in [("new hosts", &comparison.new_hosts), ("lost hosts", &comparison.lost_hosts)] {
            if !hosts.is_empty() {
                paragraph(out, &format!("  {name}: "), &members(&in_order(hosts)))?;
            }
        }
        for moved in &comparison.moved {
            let (from, to) = (list(&moved.from), list(&moved.to));
            let text = format!("{} was near {from} and is near {to}: another switch?", moved.host);
            paragraph(out, "  moved: ", &text)?;
        }
        for notice in &comparison.notices {
            paragraph(out, "  note: ", notice)?;
        }
        self.write_findings(out)?;
        self.write_fabric(out)?;
        self.write_classes(out)?;
        writeln!(out)?;
        writeln!(out, "{}", self.result_line())
    }

    /// The last line, for grep: what a script needs to know.
    fn result_line(&self) -> String {
        let comparison = self.comparison;
        let slower: Vec<_> = comparison.findings.iter().filter(|change| change.is_slower).collect();
        let worst = slower.first().map(|change| (&change.hosts[..], change.ratio));
        let (verdict, hosts) = (comparison.verdict.name(), comparison.shared.len());
        let (failed, damaged, lost) = (comparison.failed_pairs, comparison.damaged_pairs, comparison.lost_hosts.len());
        let line = result_line(verdict, slower.len(), hosts, worst);
        format!("{line} failed_pairs={failed} damaged_pairs={damaged} lost_hosts={lost}")
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
        let lost = |what: &str, count: usize, how: &str| {
            (count > 0).then(|| format!("{what} of {} of hosts {how}", counted(count, "pair")))
        };
        let worse = || {
            let all = [
                among(true).next().map(|_| told(true)),
                lost("exchanges", comparison.failed_pairs, "fail that worked before"),
                lost("payloads", comparison.damaged_pairs, "arrive damaged that did not before"),
            ];
            all.into_iter().flatten().collect::<Vec<_>>().join("; ")
        };
        match comparison.verdict {
            Verdict::Unchanged => {
                let whole = comparison.lost_hosts.is_empty();
                let (shared, of) = (comparison.shared.len(), counted(self.base.header.hosts.count(), "host"));
                let among = if whole { String::new() } else { format!(" on the {shared} of {of} that both runs have") };
                let least = percent(comparison.settings.threshold);
                format!("UNCHANGED: nothing differs by more than {least} and noise{among}")
            }
            Verdict::Regression => format!("REGRESSION: {}", worse()),
            Verdict::Improvement => format!("IMPROVEMENT: {}", told(false)),
            Verdict::Incomparable => format!(
                "INCOMPARABLE: {} in both runs; {}",
                match comparison.shared.len() {
                    0 => "no host is".to_owned(),
                    1 => "1 host is".to_owned(),
                    count => format!("{count} hosts are"),
                },
                match comparison.fabric.is_empty() {
                    true => "only classes of pairs are compared".to_owned(),
                    false =>
                        format!("{} are lost, and these became no slower", counted(comparison.lost_hosts.len(), "host")),
                }
            ),
        }
    }

    fn write_findings(&self, out: &mut dyn Write) -> io::Result<()> {
        let findings = &self.comparison.findings;
        for (number, change) in findings.iter().take(MOST_FINDINGS).enumerate() {
            writeln!(out)?;
            paragraph(out, &format!("{:<4}", id(number)), &headline(change))?;
            paragraph(out, "    ", &support(change))?;
            paragraph(out, "    check: ", next_check(change))?;
        }
        if findings.len() > MOST_FINDINGS {
            writeln!(out)?;
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
}

/// `night, 2026-01-02T03:04:05Z, node[001-016] (16 hosts)`.
fn described(side: Side) -> String {
    let created = &side.header.provenance.created;
    let created = if created.is_empty() { String::new() } else { format!("{}, ", shown(created)) };
    format!("{}, {created}{}", side.name, members(&in_order(side.header.hosts.names())))
}

/// Names in order: that of ranks says nothing here.
fn in_order(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    hostlist::sort(&mut names);
    names
}

fn list(names: &[String]) -> String {
    hostlist::compress(&in_order(names))
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
        Pairs::InsideGroups => "in groups",
        Pairs::BetweenGroups => "between",
        Pairs::InsideHosts => "in hosts",
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
    let kind = match change.subject {
        Subject::Silent => return format!("{} no longer exchanges anything with anybody", change.hosts.join(", ")),
        Subject::Pairs(pairs) => return format!("{} are {amount}", name(pairs)),
        Subject::Place(kind) => kind,
    };
    // The way between some hosts and all others, or out of these, or into them.
    let way = |hosts: &[String]| match change.direction {
        Direction::Both => format!("between {} and all others", list(hosts)),
        Direction::Send => format!("out of {}", list(hosts)),
        Direction::Receive => format!("into {}", list(hosts)),
    };
    match (kind, &change.hosts[..]) {
        (Kind::Link, [a, b]) if change.direction == Direction::Both => format!("{a} <-> {b} is {amount}"),
        (Kind::Link, [a, b]) => format!("{a} -> {b} is {amount}"),
        (Kind::Group, hosts) => format!("the way {} is {amount}", way(hosts)),
        (Kind::Routes, hosts) => format!("some of the routes {} are {amount}", way(hosts)),
        (Kind::Cable, [a, b]) if change.direction == Direction::Both => {
            format!("the cable between {a} and {b}, which other pairs' routes take too, is {amount}")
        }
        (Kind::Cable, [a, b]) => format!("the cable from {a} to {b}, which other pairs' routes take too, is {amount}"),
        // Hosts of a broadcast that make each other late.
        (Kind::Fabric, hosts) => format!("one of {} is {amount}", list(hosts)),
        (Kind::Gate, hosts) => format!("the way {} is {amount}", between(hosts, &change.toward, change.direction)),
        (_, hosts) => {
            let with = change.share.map(|share| format!(" with {} of the others", percent(share))).unwrap_or_default();
            format!("{} {does} {amount}{with}", hosts.join(", "))
        }
    }
}

/// `from 4K to 1M bytes, up to 41.0 us more; 30 of 31 pairs agree; confidence over 99.99 %`.
fn support(change: &Change) -> String {
    let unit = if change.subject == Subject::Pairs(Pairs::InsideHosts) { "hosts" } else { "pairs" };
    let agree = format!("{} of {} {unit} agree; {}", change.cells.slow, change.cells.of, confidence(change.confidence));
    let (first, last) = change.lengths;
    let range = if first == last { format!("at {}", first.counted()) } else { format!("from {first} to {last} bytes") };
    match change.extra_seconds {
        extra if extra.is_infinite() => format!("{range}; {agree}"),
        extra => {
            let word = if extra < 0.0 { "less" } else { "more" };
            format!("{range}, up to {} {word}; {agree}", Seconds(extra.abs()))
        }
    }
}

/// What to look at next.
fn next_check(change: &Change) -> &'static str {
    match (change.subject, change.symptom) {
        _ if !change.is_slower => "nothing; a repaired part or an update shows like this",
        (Subject::Silent, _) => usual_check(Kind::Node, Symptom::Silent, Direction::Both),
        (Subject::Pairs(Pairs::InsideHosts), _) => {
            "MPI's shared-memory transport, process binding, kernel and firmware updates"
        }
        (Subject::Pairs(Pairs::BetweenGroups), _) => {
            "the switches above the leaves: links that are down, routing, other jobs"
        }
        (Subject::Pairs(_), _) | (_, None) => {
            "what all hosts share: MPI library and its settings, drivers, firmware, other jobs"
        }
        (Subject::Place(Kind::Fabric), _) => OF_BROADCAST,
        (subject, Some(symptom)) => usual_check(subject.kind(), symptom, change.direction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::diagnose::{Agreement, Kind, Symptom},
        units::Bytes,
    };

    fn change(subject: Subject, hosts: &[&str], direction: Direction, ratio: f64) -> Change {
        Change {
            subject,
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            toward: Vec::new(),
            direction,
            is_slower: ratio > 1.0,
            symptom: Some(Symptom::Bandwidth),
            lengths: (Bytes(4096), Bytes(1 << 20)),
            ratio,
            extra_seconds: 4.1e-5 * (ratio - 1.0).signum(),
            confidence: 1.0 - 1e-9,
            cells: Agreement { slow: 30, of: 31 },
            share: None,
            curve: Vec::new(),
        }
    }

    #[test]
    fn a_finding_is_one_sentence() {
        for (subject, hosts, direction, ratio, sentence) in [
            (Subject::Place(Kind::Node), &["n1"][..], Direction::Receive, 1.081, "n1 receives 8.1 % slower"),
            (Subject::Place(Kind::Node), &["n1"], Direction::Both, 1.5, "n1 is 50 % slower"),
            (Subject::Place(Kind::Node), &["n1"], Direction::Send, 0.9, "n1 sends 10 % faster"),
            (Subject::Place(Kind::Link), &["n1", "n2"], Direction::Send, 1.3, "n1 -> n2 is 30 % slower"),
            (Subject::Place(Kind::Link), &["n1", "n2"], Direction::Both, 2.5, "n1 <-> n2 is 2.5 times as slow"),
            (
                Subject::Place(Kind::Group),
                &["n1", "n2", "n3"],
                Direction::Both,
                1.15,
                "the way between n[1-3] and all others is 15 % slower",
            ),
            (
                Subject::Place(Kind::Group),
                &["n1", "n2", "n3"],
                Direction::Send,
                1.15,
                "the way out of n[1-3] is 15 % slower",
            ),
            (
                Subject::Place(Kind::Routes),
                &["n1", "n2", "n3"],
                Direction::Both,
                1.15,
                "some of the routes between n[1-3] and all others are 15 % slower",
            ),
            (Subject::Place(Kind::Fabric), &["n1", "n2"], Direction::Receive, 1.5, "one of n[1-2] is 50 % slower"),
            (Subject::Pairs(Pairs::All), &[], Direction::Both, 1.1, "all pairs of hosts are 10 % slower"),
            (Subject::Silent, &["n1"], Direction::Both, f64::INFINITY, "n1 no longer exchanges anything with anybody"),
        ] {
            assert_eq!(headline(&change(subject, hosts, direction, ratio)), sentence);
        }
        let toward = ["n3", "n4"].map(str::to_owned).to_vec();
        let all = &["n1", "n2", "n3", "n4"];
        let gate = Change { toward, ..change(Subject::Place(Kind::Gate), all, Direction::Send, 0.8) };
        assert_eq!(headline(&gate), "the way from n[1-2] (2 hosts) to n[3-4] (2 hosts) is 20 % faster");
        let some = Change { share: Some(0.4), ..change(Subject::Place(Kind::Node), &["n1"], Direction::Both, 1.5) };
        assert_eq!(headline(&some), "n1 is 50 % slower with 40 % of the others");
    }

    #[test]
    fn support_has_sizes_and_counts() {
        let told = |ratio| support(&change(Subject::Place(Kind::Node), &["n1"], Direction::Both, ratio));
        let expected = "from 4K to 1M bytes, up to 41.0 us more; 30 of 31 pairs agree; confidence over 99.99 %";
        assert_eq!(told(1.5), expected);
        assert!(told(0.9).contains("up to 41.0 us less"));
    }

    #[test]
    fn advice_follows_what_is_slow_and_how() {
        let of = |subject, ratio| next_check(&change(subject, &["n1"], Direction::Both, ratio));
        assert_eq!(of(Subject::Place(Kind::Node), 1.5), usual_check(Kind::Node, Symptom::Bandwidth, Direction::Both));
        assert!(of(Subject::Silent, f64::INFINITY).contains("is up"));
        assert!(of(Subject::Place(Kind::Fabric), 1.5).starts_with("one_to_one"));
        assert!(of(Subject::Pairs(Pairs::All), 1.1).contains("MPI library"));
        assert!(of(Subject::Place(Kind::Node), 0.9).starts_with("nothing"));
    }

    #[test]
    fn shares_have_a_digit_where_it_matters() {
        assert_eq!([percent(0.05), percent(0.081), percent(0.126), percent(0.075)], ["5 %", "8.1 %", "13 %", "7.5 %"]);
        assert_eq!([signed(1.05), signed(0.9), signed(3.0), signed(f64::NAN)], ["+5.0 %", "-10.0 %", "x 3.00", "-"]);
    }
}

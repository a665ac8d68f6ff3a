//! What is wrong with a cluster: a verdict that fits into an e-mail, and JSON for programs.
//!
//! In: a [`Diagnosis`]. Out: text; the evidence for one finding (`evidence`), what to look at next (`check`), and the
//! document `network_test.diagnosis/1` (`document`) are made next to it.

mod check;
mod document;
mod evidence;

use std::io::{self, Write};

pub use check::next_check;
pub(super) use check::{OF_BROADCAST, usual_check};
pub(super) use document::{Cells, CurveDocument, FindingDocument, finding_documents};
pub use document::{Document, SCHEMA, document};
pub use evidence::write_evidence;

use crate::{
    analysis::diagnose::{Diagnosis, Direction, Finding, Judged, Kind, Remark, RetestVerdict, Symptom},
    units::{Seconds, counted, hostlist},
};

/// Characters of a line of text.
const WIDTH: usize = 78;

/// Confidence beyond which more digits say nothing.
const MOST_CONFIDENCE: f64 = 0.9999;

/// What a finding is called in text and JSON: `F1` is the weightiest.
pub fn id(number: usize) -> String {
    format!("F{}", number + 1)
}

/// For people: the verdict, what was judged, the findings by weight.
pub fn write(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    paragraph(out, "", &headline(diagnosis))?;
    for run in &diagnosis.runs {
        paragraph(out, "  ", &judged(run))?;
    }
    for reason in reasons(&diagnosis.invalid) {
        paragraph(out, "  cannot be judged: ", &reason)?;
    }
    for (number, finding) in diagnosis.findings.iter().enumerate() {
        writeln!(out)?;
        paragraph(out, &format!("{:<4}", id(number)), &sentence(finding))?;
        paragraph(out, "    ", &support(finding))?;
        paragraph(out, "    check: ", next_check(finding))?;
    }
    if !diagnosis.remarks.is_empty() {
        writeln!(out)?;
    }
    for remark in &diagnosis.remarks {
        paragraph(out, "no fault: ", &remark_text(remark))?;
    }
    if !diagnosis.findings.is_empty() {
        writeln!(out)?;
        writeln!(out, "The evidence for one of them: --explain {}", id(0))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", last_line(diagnosis))
}

/// A line for grep. `worst`: hosts and ratio of the first finding.
pub(super) fn result_line(verdict: &str, findings: usize, hosts: usize, worst: Option<(&[String], f64)>) -> String {
    let mut line = format!("RESULT verdict={verdict} findings={findings} hosts={hosts}");
    if let Some((names, ratio)) = worst {
        // What concerns all pairs has no hosts of its own; one called `n1 verdict=healthy` is one word here.
        let worst = if names.is_empty() { "fabric".to_owned() } else { hostlist::compress(names) };
        line += &format!(" worst={}", worst.replace(char::is_whitespace, "\\u{20}"));
        if ratio.is_finite() {
            line += &format!(" ratio={ratio:.2}");
        }
    }
    line
}

/// The last line: what a script needs to know.
fn last_line(diagnosis: &Diagnosis) -> String {
    let worst = diagnosis.findings.first().map(|worst| (&worst.hosts[..], worst.ratio));
    let mut line = result_line(diagnosis.verdict(), diagnosis.findings.len(), diagnosis.hosts.len(), worst);
    let noise = diagnosis.runs.iter().map(|run| run.noise).fold(f64::NAN, f64::max);
    let measured = diagnosis.runs.iter().map(|run| run.measured).fold(f64::NAN, f64::min);
    for (name, value, digits) in [("noise", noise, 3), ("measured", measured, 2)] {
        if value.is_finite() {
            line += &format!(" {name}={value:.digits$}");
        }
    }
    line
}

/// Reasons, `mode: why`, with those that several modes share said once: `put, get: why`.
fn reasons(invalid: &[String]) -> Vec<String> {
    let mut told: Vec<(Vec<&str>, &str)> = Vec::new();
    for reason in invalid {
        let Some((mode, why)) = reason.split_once(": ") else {
            told.push((Vec::new(), reason));
            continue;
        };
        match told.iter_mut().find(|(_, other)| *other == why) {
            Some((modes, _)) if modes.contains(&mode) => {}
            Some((modes, _)) => modes.push(mode),
            None => told.push((vec![mode], why)),
        }
    }
    let whole = |(modes, why): (Vec<&str>, &str)| match &modes[..] {
        [] => why.to_owned(),
        modes => format!("{}: {why}", modes.join(", ")),
    };
    told.into_iter().map(whole).collect()
}

fn headline(diagnosis: &Diagnosis) -> String {
    let hosts = counted(diagnosis.hosts.len(), "host");
    match diagnosis.verdict() {
        "findings" => format!("FINDINGS: {} on {hosts}", counted(diagnosis.findings.len(), "finding")),
        "healthy" => {
            // Not more digits than somebody wrote: 57 is 56.99999999999999 to a computer.
            let percent = (1e8 * diagnosis.confidence).round() / 1e6;
            format!(
                "HEALTHY: nothing among {hosts} is slower than its peers by more than noise ({percent} % confidence)"
            )
        }
        _ => format!("INVALID: this measurement of {hosts} cannot be judged"),
    }
}

/// What a run is, in one line.
fn judged(run: &Judged) -> String {
    let lengths = match &run.lengths[..] {
        [only] => only.counted(),
        [first, .., last] => format!("{} from {first} to {last}", counted(run.lengths.len(), "length")),
        [] => "no length".to_owned(),
    };
    let ranks = if run.ranks == run.hosts { String::new() } else { format!(", {}", counted(run.ranks, "rank")) };
    let measured = match (100.0 * run.measured).round() {
        100.0 => String::new(),
        percent => format!(", {percent} % of the pairs measured"),
    };
    let none = match &run.unmeasured[..] {
        [] => String::new(),
        hosts => format!(", none of {}", members(hosts)),
    };
    let (mode, hosts, noise) = (run.mode, counted(run.hosts, "host"), 100.0 * run.noise);
    format!("{mode}: {hosts}{ranks}, {lengths}{measured}{none}; pairs scatter by {noise:.1} %")
}

/// Who, how much, from where on.
pub fn sentence(finding: &Finding) -> String {
    let who = who(finding);
    let when = finding.share_of_time.map(|share| format!(", for {} of the time", percent(share))).unwrap_or_default();
    let with = finding.share.filter(|_| finding.kind == Kind::Node);
    let with = with.map(|share| format!(", with {} of the others", percent(share))).unwrap_or_default();
    let lengths = lengths(finding) + &when + &with;
    let (ratio, extra) = (ratio(finding.ratio), Seconds(finding.extra_seconds));
    let own = percent(finding.cells.slow as f64 / finding.cells.of.max(1) as f64);
    let elsewhere = percent(finding.elsewhere.unwrap_or(0.0));
    match finding.symptom {
        Symptom::Jitter => format!("{who}: medians are usual, but samples scatter {ratio} times as far, {lengths}"),
        Symptom::Duplex => {
            format!(
                "{who}: takes {ratio} times as long when it sends and receives at once (up to {extra} more), {lengths}"
            )
        }
        Symptom::Silent
            if finding.kind == Kind::Node
                && finding.direction == Direction::Both
                && finding.cells.slow == finding.cells.of =>
        {
            format!("{who} exchanges nothing with any other host, {lengths}")
        }
        Symptom::Silent if finding.cells.of == 0 && finding.kind == Kind::Rank => format!("{who} answers nobody"),
        Symptom::Silent if finding.cells.slow == finding.cells.of => format!("{who}: no exchange succeeds, {lengths}"),
        Symptom::Silent => {
            let (failed, all) = (finding.cells.slow, finding.cells.of);
            format!("{who}: hardly any exchange succeeds ({failed} of {all} cells fail), {lengths}")
        }
        Symptom::Lossy if finding.kind == Kind::Fabric => {
            format!("{who}: {} of {} cells fail or time out, {lengths}", finding.cells.slow, finding.cells.of)
        }
        Symptom::Damaged if finding.kind == Kind::Fabric => {
            format!("{who}: payloads arrive damaged in {} of {} cells, {lengths}", finding.cells.slow, finding.cells.of)
        }
        Symptom::Lossy => format!("{who}: {} of its cells fail or time out, elsewhere {}, {lengths}", own, elsewhere),
        Symptom::Damaged => {
            format!("{who}: payloads arrive damaged in {} of its cells, elsewhere in {}, {lengths}", own, elsewhere)
        }
        Symptom::Noise => {
            format!("{who}: takes {ratio} times as long while others communicate (up to {extra} more), {lengths}")
        }
        Symptom::Bandwidth if finding.ratio >= 1.5 => {
            let share = 1.0 / finding.ratio;
            format!("{who} at {share:.2} of the usual bandwidth ({ratio} times as long, up to {extra} more), {lengths}")
        }
        _ => format!("{who} {ratio} times as slowly as its peers (up to {extra} more), {lengths}"),
    }
}

/// Places that one remark names.
const NAMED: usize = 8;

/// What is worth knowing and no fault, in a sentence.
pub fn remark_text(remark: &Remark) -> String {
    match remark {
        Remark::Load(finding) => format!(
            "{}; measured alone it is as fast as its peers: several messages share the way, or fewer cables are left than \
             there should be",
            sentence(finding)
        ),
        Remark::Again(found) => {
            let mut text = format!(
                "{} not measured again alone: it may have passed, or other messages may have been on the way: ",
                match found.len() {
                    1 => "1 place is slow and was".to_owned(),
                    count => format!("{count} places are slow and were"),
                }
            );
            let named: Vec<String> = found.iter().take(NAMED).map(sentence).collect();
            text += &named.join("; ");
            if found.len() > NAMED {
                text += &format!("; and {} more", found.len() - NAMED);
            }
            text + "; measure again with a larger --retest"
        }
        Remark::Busy { mode, lengths: (first, last), ratio: times, share } => {
            let lengths =
                if first == last { format!("at {}", first.counted()) } else { format!("from {first} to {last} bytes") };
            format!(
                "{mode}: for {} of the time {lengths}, most pairs took {} times as long, as while another job uses \
                 the network; what was measured meanwhile is left out",
                percent(*share),
                ratio(*times)
            )
        }
        Remark::Halves { mode, hosts: [one, other], length, ratio: times } => format!(
            "{mode}: the hosts are two groups, {} and {}; between them a message of {} takes {} times as long \
             as inside: with two groups alone, nobody can say whether the way between them is slow or built so",
            members(one),
            members(other),
            length.counted(),
            ratio(*times)
        ),
        Remark::Kinds { mode, hosts, ratio: times } => {
            format!(
                "{mode}: {} are of another kind: they take {} times as long as the others",
                members(hosts),
                ratio(*times)
            )
        }
    }
}

/// A share in percent, with a digit where it is small.
fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// Whether a finding is about exchanges that fail, not about slow ones.
fn is_failure(symptom: Symptom) -> bool {
    matches!(symptom, Symptom::Silent | Symptom::Lossy | Symptom::Damaged)
}

fn who(finding: &Finding) -> String {
    let is_plain =
        !is_failure(finding.symptom) && !matches!(finding.symptom, Symptom::Jitter | Symptom::Duplex | Symptom::Noise);
    let verb = match finding.direction {
        Direction::Both if is_plain => " sends and receives",
        Direction::Send if is_plain => " sends",
        Direction::Receive if is_plain => " receives",
        Direction::Both => "",
        Direction::Send => " (sending)",
        Direction::Receive => " (receiving)",
    };
    // What a way does, and in which direction.
    let carries = match finding.kind {
        _ if !is_plain => "",
        Kind::Routes => " carry messages",
        _ => " carries messages",
    };
    let way = match finding.direction {
        Direction::Send if is_plain => " outward",
        Direction::Receive if is_plain => " inward",
        _ => "",
    };
    match (finding.kind, &finding.hosts[..], finding.rank) {
        (Kind::Rank, [host], Some(rank)) => format!("rank {rank} on {host}{verb}"),
        (Kind::Link, [from, to], _) if finding.direction == Direction::Both => {
            format!("the link between {from} and {to}{carries}")
        }
        (Kind::Link, [from, to], _) => format!("the link from {from} to {to}{carries}"),
        (Kind::Cable, [from, to], _) => {
            let ends = match finding.direction {
                Direction::Both => format!("between {from} and {to}"),
                _ => format!("from {from} to {to}"),
            };
            format!("the cable {ends} on the torus{carries}")
        }
        (Kind::Group, hosts, _) => format!("the way between {} and all others{carries}{way}", members(hosts)),
        (Kind::Routes, hosts, _) => {
            format!("some of the routes between {} and all others{carries}{way}", members(hosts))
        }
        (Kind::Rail, hosts, _) => format!("one rail of {}{carries}{way}", members(hosts)),
        (Kind::Gate, hosts, _) => {
            format!("the way {}{carries}", between(hosts, &finding.toward, finding.direction))
        }
        (Kind::Fabric, [], _) => "no place that can be named".to_owned(),
        (Kind::Fabric, hosts, _) if finding.is_of_broadcast() => {
            format!("one of {}, and a broadcast does not show which, carries messages", members(hosts))
        }
        (Kind::Fabric, hosts, _) => {
            format!("a way that some pairs of {} share, and that cannot be named, carries messages", members(hosts))
        }
        (_, hosts, _) => format!("{}{verb}", hosts.join(", ")),
    }
}

/// The ends of a way between two sets of hosts, of all of them and those of the second one.
pub(super) fn between(hosts: &[String], toward: &[String], direction: Direction) -> String {
    let own: Vec<String> = hosts.iter().filter(|host| !toward.contains(host)).cloned().collect();
    let (own, other) = (members(&own), members(toward));
    match direction {
        Direction::Both => format!("between {own} and {other}"),
        Direction::Send => format!("from {own} to {other}"),
        Direction::Receive => format!("from {other} to {own}"),
    }
}

/// Hosts, folded: `node[001-016] (16 hosts)`.
pub(super) fn members(hosts: &[String]) -> String {
    format!("{} ({})", hostlist::compress(hosts), counted(hosts.len(), "host"))
}

fn ratio(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

fn lengths(finding: &Finding) -> String {
    let (first, last) = finding.lengths;
    let is_first = finding.curve.first().is_none_or(|at| at.is_meant);
    let is_last = finding.curve.last().is_none_or(|at| at.is_meant);
    if finding.curve.is_empty() && first != last {
        return format!("from {first} to {last} bytes");
    }
    match (is_first, is_last) {
        _ if first == last => format!("at {}", first.counted()),
        (true, true) => "at all lengths".to_owned(),
        (false, true) => format!("from {first} on"),
        (true, false) => format!("up to {last}"),
        (false, false) => format!("from {first} to {last}"),
    }
}

/// How many agree, how sure it is, what re-tests say.
pub fn support(finding: &Finding) -> String {
    let waited = finding
        .waited
        .as_ref()
        .map(|waited| format!("{} waited for it; see {}", counted(waited.ranks, "rank"), waited.file));
    if let (Some(waited), 0) = (&waited, finding.cells.of) {
        return waited.clone();
    }
    let unit = match finding.kind {
        Kind::Link => "cells",
        Kind::Rank => "lengths",
        Kind::Rail => "hosts",
        _ => "pairs",
    };
    let unit = if is_failure(finding.symptom) { "cells" } else { unit };
    let agreement = if finding.share_of_time.is_some() { "were measured in that time" } else { "agree" };
    let mut text = format!("{} of {} {unit} {agreement}; ", finding.cells.slow, finding.cells.of);
    text += &confidence(finding.confidence);
    text += match finding.retest {
        None => "",
        Some(RetestVerdict::Confirmed) => "; re-measured alone: confirmed",
        Some(RetestVerdict::Contention) => "; re-measured alone: usual, slow only among others: contention or routing",
        Some(RetestVerdict::Transient) => "; re-measured: usual, it may have passed",
    };
    if finding.modes.len() > 1 {
        let modes: Vec<_> = finding.modes.iter().map(ToString::to_string).collect();
        text += &format!("; seen in {}", modes.join(", "));
    }
    text + &waited.map(|waited| format!("; {waited}")).unwrap_or_default()
}

/// A probability, with no more digits than anybody should believe.
pub(super) fn confidence(confidence: f64) -> String {
    match confidence {
        c if c > MOST_CONFIDENCE => format!("confidence over {} %", 100.0 * MOST_CONFIDENCE),
        c => format!("confidence {:.2} %", 100.0 * c),
    }
}

/// Writes text after `lead`, broken into lines; further lines are indented as far.
pub(super) fn paragraph(out: &mut dyn Write, lead: &str, text: &str) -> io::Result<()> {
    let indent = if lead.trim_end().len() <= 3 { lead.len() } else { 4 + 2 };
    let mut line = lead.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests;

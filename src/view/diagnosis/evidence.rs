//! The evidence for one finding.
//!
//! In: a [`Diagnosis`] and the number of a finding. Out: its sizes at every length, and what else it could be but is not.
//! Whoever adds a kind says here what rules the others out.

use std::io::{self, Write};

use super::{id, paragraph, ratio, sentence, support};
use crate::{
    analysis::diagnose::{Diagnosis, Direction, Finding, Kind, Symptom},
    units::Seconds,
    view::Table,
};

/// The evidence for one finding, for people.
pub fn write_evidence(diagnosis: &Diagnosis, number: usize, out: &mut dyn Write) -> io::Result<()> {
    let finding = &diagnosis.findings[number];
    paragraph(out, &format!("{:<4}", id(number)), &sentence(finding))?;
    paragraph(out, "    ", &support(finding))?;
    if finding.curve.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Table::new(["length", "usual", "here", "ratio", "more", ""]).left(5);
    for at in &finding.curve {
        table.push([
            at.length.to_string(),
            Seconds(at.usual_seconds).to_string(),
            Seconds(at.usual_seconds + at.extra_seconds).to_string(),
            ratio(at.ratio),
            Seconds(at.extra_seconds).to_string(),
            (if at.is_meant { "<-" } else { "" }).to_owned(),
        ]);
    }
    table.write("  ", out)?;
    writeln!(out)?;
    writeln!(out, "  usual: median over all pairs of hosts; here: what the finding makes of it;")?;
    writeln!(out, "  <-: lengths that the finding is about.")?;
    for line in ruled_out(finding) {
        paragraph(out, "  - ", line)?;
    }
    Ok(())
}

/// Why it is this and nothing else.
pub(super) fn ruled_out(finding: &Finding) -> Vec<&'static str> {
    let mut lines = match finding.kind {
        Kind::Node if finding.share_of_time.is_some() => vec![
            "Not some of its partners: their order is another one at every length, and slow are those that it met one \
             after the other.",
            "Not its switch: other hosts of its group were not slow in that time.",
        ],
        Kind::Node => vec![
            "Not one link: most of the host's pairs are slow by the same ratio.",
            "Not its switch: other hosts of its group are not slow.",
        ],
        Kind::Group => vec!["Not single hosts: they are slow toward other groups only, and all of them alike."],
        Kind::Link => vec![
            "Not its ends: the other pairs of both hosts are as fast as those of their peers.",
            "Not chance: several lengths or both directions agree on a size that one cause would have.",
        ],
        Kind::Rank => vec!["Not the host or its network: the other ranks on the host are faster to the same partners."],
        Kind::Routes => vec![
            "Not single hosts: inside their own switch they are as fast as others.",
            "Not the whole uplink: the other routes of the same hosts are fast, as where the destination chooses the cable.",
        ],
        Kind::Rail => {
            vec!["Not single ranks: the same local rank of nearly all these hosts is slow, the others are not."]
        }
        Kind::Gate => vec!["Not either group: toward all others both are as fast as their peers."],
        Kind::Cable => vec![
            "Not its ends: their other pairs, whose routes take other cables, are fast.",
            "Not this pair alone: others are slow that it brings nearer to each other, and so cross it on a shortest route.",
        ],
        Kind::Fabric if finding.hosts.is_empty() => vec![],
        Kind::Fabric if finding.is_of_broadcast() => {
            vec!["Hosts pass on what they received: what one of them does late is late at all that come after it."]
        }
        Kind::Fabric => vec!["Not these pairs, each for itself: all of them take as much more."],
    };
    if finding.direction != Direction::Both && finding.symptom == Symptom::Latency {
        lines.push(
            "Which way a message is late is seen only with --timing clock, or where the other direction is fast: with other \
             timings the announcement travels the other way.",
        );
    }
    lines
}

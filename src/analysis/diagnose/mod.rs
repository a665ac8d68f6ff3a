//! Names what is slow: hosts, ranks, links and groups, with direction, symptom, size and confidence.

pub mod accuse;
pub mod evidence;
pub mod folded;
mod links;
pub mod model;
mod ranks;
pub(super) mod robust;
mod uplinks;

use crate::{
    record::{BoxError, Run, Statistic},
    units::Bytes,
};
use accuse::Floors;
use folded::Folded;

/// Which way something is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both ways.
    Both,
    /// What it sends.
    Send,
    /// What it receives.
    Receive,
}

/// What is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A host.
    Node,
    /// One of several ranks of a host.
    Rank,
    /// The path between two hosts.
    Link,
    /// Several hosts' common way to all others.
    Group,
}

/// A diagnosed fault.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is slow.
    pub kind: Kind,
    /// Which hosts.
    pub hosts: Vec<usize>,
    /// Which way.
    pub direction: Direction,
    /// ln ratio
    pub effect: f64,
    /// Lengths.
    pub range: (Bytes, Bytes),
    /// Doubt.
    pub doubt: f64,
    /// Score.
    pub score: f64,
}

/// Result.
pub struct Diagnosis {
    /// Host names.
    pub names: Vec<String>,
    /// Groups.
    pub group: Vec<usize>,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// Diagnoses a run.
pub fn diagnose(run: &dyn Run, confidence: f64) -> Result<Diagnosis, BoxError> {
    let mut findings = Vec::new();
    let mut is_left_out = vec![false; run.ranks()];
    let count = run.lengths().len();
    let each = 1.0 - (1.0 - confidence) / 2.0;
    if let Some(effects) = ranks::effects(run, Statistic::Median)? {
        let threshold = evidence::threshold(each, run.ranks(), count);
        for (rank, evidence) in evidence::weigh(&effects).iter().enumerate() {
            if evidence.effect > Floors::OF_TIMES.node && evidence.score > threshold {
                is_left_out[rank] = true;
                let hosts = &run.header().hosts;
                findings.push(Finding {
                    kind: Kind::Rank,
                    hosts: vec![hosts.host_of(rank)],
                    direction: evidence.direction,
                    effect: evidence.effect,
                    range: (run.lengths()[evidence.range.0], run.lengths()[evidence.range.1]),
                    doubt: evidence::doubt(evidence.score, run.ranks(), count),
                    score: evidence.score,
                });
            }
        }
    }
    let folded = Folded::read(run, Statistic::Median, &is_left_out)?;
    let names = folded.names.clone();
    let lengths = folded.lengths.clone();
    let judgement = accuse::judge(folded, None, each, Floors::OF_TIMES);
    let mut is_slow = vec![false; names.len()];
    for found in judgement.suspicions {
        if found.kind == Kind::Node {
            is_slow[found.hosts[0]] = true;
        }
        findings.push(Finding {
            kind: found.kind,
            hosts: found.hosts,
            direction: found.direction,
            effect: found.effect,
            range: (lengths[found.range.0], lengths[found.range.1]),
            doubt: found.doubt,
            score: 0.0,
        });
    }
    if let Some(scatter) = Folded::read_scatter(run, &is_left_out)? {
        let jitter =
            accuse::judge(scatter, Some(&judgement.fit.group), each, Floors { node: 0.35, group: 9.0, link: 9.0 });
        for found in jitter.suspicions.into_iter().filter(|found| found.kind == Kind::Node && !is_slow[found.hosts[0]])
        {
            findings.push(Finding {
                kind: found.kind,
                hosts: found.hosts,
                direction: found.direction,
                effect: found.effect,
                range: (lengths[found.range.0], lengths[found.range.1]),
                doubt: found.doubt,
                score: -1.0,
            });
        }
    }
    Ok(Diagnosis { names, group: judgement.fit.group, findings })
}

//! Names what is slow: hosts, ranks, links and groups, with direction, symptom, size and confidence.

pub mod evidence;
pub mod folded;
mod links;
pub mod model;
mod ranks;
mod robust;
mod uplinks;

use crate::{
    record::{BoxError, Run, Statistic},
    units::Bytes,
};
use evidence::{Effects, Evidence};
use folded::Folded;
use model::{Fit, members};

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

const NODE_FLOOR: f64 = 0.03;
const GROUP_FLOOR: f64 = 0.05;

/// Diagnoses a run.
pub fn diagnose(run: &dyn Run, confidence: f64) -> Result<Diagnosis, BoxError> {
    let mut findings = Vec::new();
    let mut is_left_out = vec![false; run.ranks()];
    let count = run.lengths().len();
    if let Some(effects) = ranks::effects(run, Statistic::Median)? {
        let threshold = evidence::threshold(confidence, run.ranks(), count);
        for (rank, evidence) in evidence::weigh(&effects).iter().enumerate() {
            if evidence.effect > NODE_FLOOR && evidence.score > threshold {
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
    let level = folded.level.clone();
    let bytes: Vec<f64> = lengths.iter().map(|length| length.0 as f64).collect();
    let fit = Fit::of(folded, None);
    let hosts = fit.hosts();
    let range = |range: (usize, usize)| (lengths[range.0], lengths[range.1]);
    let mut slow_group = vec![None; fit.groups];
    let members = members(&fit.group, fit.groups);
    if let Some(effects) = uplinks::effects(&fit) {
        let evidence = evidence::weigh(&effects);
        let threshold = evidence::threshold(confidence, fit.groups, lengths.len());
        for (group, evidence) in evidence.iter().enumerate() {
            if evidence.effect > GROUP_FLOOR && evidence.score > threshold.min(6.0) {
                slow_group[group] = Some(*evidence);
                if members[group].len() >= 3 {
                    findings.push(Finding {
                        kind: Kind::Group,
                        hosts: members[group].clone(),
                        direction: evidence.direction,
                        effect: evidence.effect,
                        range: range(evidence.range),
                        doubt: evidence::doubt(evidence.score, fit.groups, lengths.len()),
                        score: evidence.score,
                    });
                }
            }
        }
    }
    let effects = host_effects(&fit, &slow_group, &members);
    let evidence: Vec<Evidence> = evidence::weigh(&effects);
    let threshold = evidence::threshold(confidence, hosts, lengths.len());
    let mut is_known = vec![false; hosts];
    for (host, evidence) in evidence.iter().enumerate() {
        if evidence.effect > NODE_FLOOR && evidence.score > threshold {
            is_known[host] = true;
            findings.push(Finding {
                kind: Kind::Node,
                hosts: vec![host],
                direction: evidence.direction,
                effect: evidence.effect,
                range: range(evidence.range),
                doubt: evidence::doubt(evidence.score, hosts, lengths.len()),
                score: evidence.score,
            });
        }
    }
    for suspect in links::find(&fit, &level, &bytes, &is_known) {
        if suspect.by_chance < 1.0 - confidence {
            findings.push(Finding {
                kind: Kind::Link,
                hosts: vec![suspect.pair.0, suspect.pair.1],
                direction: suspect.direction,
                effect: suspect.effect,
                range: range(suspect.range),
                doubt: suspect.by_chance,
                score: 0.0,
            });
        }
    }
    Ok(Diagnosis { names, group: fit.group, findings })
}

/// Effects of hosts, without what their groups explain.
fn host_effects(fit: &Fit, slow_group: &[Option<Evidence>], members: &[Vec<usize>]) -> Vec<Effects> {
    let groups = uplinks::effects(fit);
    (0..fit.lengths.len())
        .map(|length| {
            let of = &fit.lengths[length];
            let error = |noise: f64, host: usize| {
                let cells = fit.cells[length][host];
                let own = members[fit.group[host]].len() as f64;
                // The middle of few hosts is itself uncertain.
                if cells < 3 {
                    f64::INFINITY
                } else {
                    1.2533 * noise / (cells as f64).sqrt() * (1.0 + 1.57 / own).sqrt()
                }
            };
            let mut common = of.common.clone();
            let mut side = of.side.clone();
            if let Some(groups) = &groups {
                for (group, hosts) in members.iter().enumerate() {
                    if hosts.len() < 3 {
                        hosts.iter().for_each(|host| common[*host] += groups[length].common[group]);
                    } else if slow_group[group].is_some() {
                        hosts.iter().for_each(|host| side[*host] -= groups[length].side[group]);
                    }
                }
            }
            Effects {
                common,
                side,
                common_error: (0..fit.hosts()).map(|host| error(of.noise, host)).collect(),
                side_error: (0..fit.hosts()).map(|host| error(of.side_noise, host)).collect(),
            }
        })
        .collect()
}

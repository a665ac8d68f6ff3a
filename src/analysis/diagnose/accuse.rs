//! From what every pair shows to who is to blame.
//!
//! In: a [`Folded`] run, or the difference of two. Out: [`Suspicion`]s. What explains more comes first and takes what it
//! explains away: a group's way to the others before its hosts, hosts before links.

use super::{
    Direction, Kind,
    evidence::{self, Effects, Evidence},
    folded::Folded,
    links,
    model::{Fit, members},
    uplinks,
};

/// What the detector believes at least, beside the confidence that it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Floors {
    /// Least `ln(ratio)` of a host.
    pub node: f64,
    /// Least `ln(ratio)` of a group's way to others.
    pub group: f64,
    /// Least `ln(ratio)` of a pair.
    pub link: f64,
}

impl Floors {
    /// Of times: 3 % for a host, 5 % for a group, 15 % for a pair.
    pub const OF_TIMES: Self = Self { node: 0.03, group: 0.05, link: 0.14 };
}

/// Somebody who is to blame.
#[derive(Clone, Debug)]
pub struct Suspicion {
    /// What it is.
    pub kind: Kind,
    /// Hosts by number: one; source and destination; or members.
    pub hosts: Vec<usize>,
    /// Which way.
    pub direction: Direction,
    /// By how much, `ln(ratio)`, over the range.
    pub effect: f64,
    /// First and last length of the range, by number.
    pub range: (usize, usize),
    /// The probability that a healthy run has something like this somewhere.
    pub doubt: f64,
}

/// What a run looks like, and who is to blame.
pub struct Judgement {
    /// The run taken apart.
    pub fit: Fit,
    /// By weight: groups, hosts, links.
    pub suspicions: Vec<Suspicion>,
}

/// Pairs that may be as slow as half of a slow pair, both ways, before they are taken for structure that is not
/// understood.
const MOST_ALIKE: usize = 4;

/// Judges a run. `known`: the group of every host, if somebody knows them; else they are found in the data.
pub fn judge(folded: Folded, known: Option<&[usize]>, confidence: f64, floors: Floors) -> Judgement {
    let level = folded.level.clone();
    let bytes: Vec<f64> = folded.lengths.iter().map(|length| length.0 as f64).collect();
    let fit = Fit::of(folded, known);
    let members = members(&fit.group, fit.groups);
    let mut suspicions = Vec::new();
    let group_effects = uplinks::effects(&fit);
    let slow_groups = slow_groups(&fit, group_effects.as_deref(), &members, confidence, floors);
    suspicions.extend(slow_groups.iter().flatten().cloned());
    let effects = host_effects(&fit, group_effects.as_deref(), &slow_groups, &members);
    let evidence = evidence::weigh(&effects);
    let threshold = evidence::threshold(confidence, fit.hosts(), fit.lengths.len());
    let is_slow = |evidence: &Evidence| evidence.effect > floors.node && evidence.score > threshold;
    let nodes: Vec<Suspicion> = evidence
        .iter()
        .enumerate()
        .filter(|(_, evidence)| is_slow(evidence))
        .map(|(host, evidence)| of_evidence(Kind::Node, vec![host], evidence, fit.hosts(), fit.lengths.len()))
        .collect();
    suspicions.extend(together(&fit, nodes));
    let mut is_known = vec![false; fit.hosts()];
    let known_hosts = suspicions.iter().filter(|found| found.kind == Kind::Node).flat_map(|found| &found.hosts);
    known_hosts.for_each(|host| is_known[*host] = true);
    let candidates = links::find(&fit, &level, &bytes, &is_known);
    let candidates: Vec<_> = candidates
        .into_iter()
        .filter(|found| found.by_chance < 1.0 - confidence && found.effect > floors.link)
        .collect();
    suspicions.extend(candidates.iter().filter(|found| is_single(&fit, found)).map(|found| Suspicion {
        kind: Kind::Link,
        hosts: vec![found.pair.0, found.pair.1],
        direction: found.direction,
        effect: found.effect,
        range: found.range,
        doubt: found.by_chance,
    }));
    Judgement { fit, suspicions }
}

fn of_evidence(kind: Kind, hosts: Vec<usize>, evidence: &Evidence, among: usize, lengths: usize) -> Suspicion {
    Suspicion {
        kind,
        hosts,
        direction: evidence.direction,
        effect: evidence.effect,
        range: evidence.range,
        doubt: evidence::doubt(evidence.score, among, lengths),
    }
}

/// Groups of three hosts or more whose way to the others is slow, `[group]`.
fn slow_groups(
    fit: &Fit,
    effects: Option<&[Effects]>,
    members: &[Vec<usize>],
    confidence: f64,
    floors: Floors,
) -> Vec<Option<Suspicion>> {
    let Some(effects) = effects else { return vec![None; fit.groups] };
    let lengths = fit.lengths.len();
    let threshold = evidence::threshold(confidence, fit.groups, lengths).min(MOST_SCORE_OF_GROUPS);
    let evidence = evidence::weigh(effects);
    let judge = |(members, evidence): (&Vec<usize>, &Evidence)| {
        let is_slow = members.len() >= 3 && evidence.effect > floors.group && evidence.score > threshold;
        is_slow.then(|| of_evidence(Kind::Group, members.clone(), evidence, fit.groups, lengths))
    };
    members.iter().zip(&evidence).map(judge).collect()
}

/// The correction for few groups would ask for more than their blocks can show; they are many cells each.
const MOST_SCORE_OF_GROUPS: f64 = 6.0;

/// Effects of hosts, without what their groups explain, `[length]`.
fn host_effects(
    fit: &Fit,
    groups: Option<&[Effects]>,
    slow_groups: &[Option<Suspicion>],
    members: &[Vec<usize>],
) -> Vec<Effects> {
    let of_length = |length: usize| {
        let of = &fit.lengths[length];
        let error = |noise: f64, host: usize| match fit.cells[length][host] {
            0..=2 => f64::INFINITY,
            // The variance of a median; that of the group's middle, from which an effect counts, comes to it.
            cells => {
                1.2533 * noise / (cells as f64).sqrt() * (1.0 + 1.57 / members[fit.group[host]].len() as f64).sqrt()
            }
        };
        let (mut common, mut side) = (of.common.clone(), of.side.clone());
        for (group, hosts) in members.iter().enumerate() {
            let Some(groups) = groups else { break };
            if hosts.len() < 3 {
                // Too few to be a group that is at fault: then its hosts are.
                hosts.iter().for_each(|host| common[*host] += groups[length].common[group]);
            } else if slow_groups[group].is_some() {
                hosts.iter().for_each(|host| side[*host] -= groups[length].side[group]);
            }
        }
        Effects {
            common,
            side,
            common_error: (0..fit.hosts()).map(|host| error(of.noise, host)).collect(),
            side_error: (0..fit.hosts()).map(|host| error(of.side_noise, host)).collect(),
        }
    };
    (0..fit.lengths.len()).map(of_length).collect()
}

/// Slow hosts that are not slow among each other are no slow hosts: their common way to the others is.
fn together(fit: &Fit, nodes: Vec<Suspicion>) -> Vec<Suspicion> {
    let is_near = |a: &Suspicion, b: &Suspicion| {
        let (first, last) = (a.range.0.max(b.range.0), a.range.1.min(b.range.1));
        let alike = (a.effect - b.effect).abs() < 0.3 * a.effect.max(b.effect);
        let rests = (first..=last).map(|length| fit.rest[length].at(a.hosts[0], b.hosts[0]));
        let rest = super::robust::median_of(rests, &mut Vec::new());
        let both = a.direction == Direction::Both && b.direction == Direction::Both;
        // If each of them were slow by itself, their pair would be slow by both effects and have no rest.
        both && alike && rest < -0.7 * (a.effect + b.effect)
    };
    let mut taken = vec![false; nodes.len()];
    let mut found = Vec::new();
    for (n, node) in nodes.iter().enumerate() {
        if taken[n] {
            continue;
        }
        let mut set = vec![n];
        for other in n + 1..nodes.len() {
            if !taken[other] && set.iter().all(|member| is_near(&nodes[*member], &nodes[other])) {
                set.push(other);
            }
        }
        if set.len() < 3 {
            found.push(node.clone());
            continue;
        }
        set.iter().for_each(|member| taken[*member] = true);
        let hosts = set.iter().map(|member| nodes[*member].hosts[0]).collect();
        let doubt = set.iter().map(|member| nodes[*member].doubt).fold(0.0, f64::max);
        found.insert(0, Suspicion { kind: Kind::Group, hosts, doubt, ..node.clone() });
    }
    found
}

/// Whether hardly any other pair departs as much, both ways, over the same lengths: structure that is not understood makes
/// many pairs slow, and both directions alike.
fn is_single(fit: &Fit, suspect: &links::Suspect) -> bool {
    if suspect.direction != Direction::Both {
        return true;
    }
    let (first, last) = suspect.range;
    let mut scratch = Vec::new();
    let mut alike = 0;
    for (i, j, _) in fit.rest[first].upper_pairs() {
        let mut middle = |from, to| {
            // Cheap first: most pairs show nothing at the first length.
            let rests = (first..=last).map(|length| fit.rest_from_to(length, from, to));
            super::robust::median_of(rests, &mut scratch)
        };
        if fit.rest[first].at(i, j) > 0.2 * suspect.effect && middle(i, j).min(middle(j, i)) > 0.5 * suspect.effect {
            alike += 1;
        }
    }
    alike <= MOST_ALIKE
}

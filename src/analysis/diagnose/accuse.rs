//! From what every pair shows to who is to blame.
//!
//! In: a [`Folded`] run, or the difference of two. Out: [`Suspicion`]s. What explains more comes first and takes what
//! it explains away: a group's way to the others before its hosts, hosts before links.

use super::{
    Direction, Kind,
    evidence::{self, Evidence},
    folded::Folded,
    judgement::{Judgement, Suspicion},
    links,
    model::{Fit, members},
    pods, uplinks,
    ways::{self, Way},
};
use crate::stats::median_of;

/// What the detector believes at least, beside the confidence that it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Floors {
    /// Least `ln(ratio)` of a host.
    pub node: f64,
    /// Least `ln(ratio)` of a group's way to others.
    pub group: f64,
    /// Least `ln(ratio)` of a pair.
    pub link: f64,
    /// Least partners of a host that say something about it; all where there are fewer.
    pub partners: usize,
}

impl Floors {
    /// Of times: 2 % for a host, 5 % for a group, 15 % for a pair.
    ///
    /// With fewer than seven partners, a host's own effect explains nearly all that they show.
    pub const OF_TIMES: Self = Self { node: 0.02, group: 0.05, link: 0.14, partners: 7 };

    /// Of the scatter of samples: hosts that scatter 1.4 times as much; groups and pairs are not judged by it.
    pub const OF_SCATTER: Self = Self { node: 0.35, group: f64::INFINITY, link: f64::INFINITY, partners: 2 };
}

/// Share of pairs measured one way only, from which on directions tell nothing of structure.
const MOST_ONE_WAY: f64 = 0.2;

/// How many times as much it takes to be believed where structure is not understood.
const CAUTION: f64 = 2.0;

/// Least `ln(ratio)` of a host where there are too few cells to tell structure: few structures make as much of one
/// host.
const BEYOND_STRUCTURE: f64 = 0.45;

/// Effect of a host, `ln(ratio)`, below which it is small.
const SMALL: f64 = 0.03;

/// How many times as much evidence a small effect takes: structure is never known exactly.
const BEYOND_SMALL: f64 = 1.4;

/// What other findings count for when a link is believed: how often chance brings one is known from few cells.
const OF_LINKS: f64 = 0.5;

/// Share of the pairs of a host or group of which more must be slow.
const MOST_CELLS: f64 = 0.5;

/// The same where structure is not understood: what is far is far from some.
const MOST_CELLS_BY_CAUTION: f64 = 0.6;

/// Pairs that may be as slow as half of a slow pair, both ways, before they are taken for structure that is not
/// understood.
const MOST_ALIKE: usize = 4;

/// The same where structure is not understood: the pair itself and another one.
const MOST_ALIKE_BY_CAUTION: usize = 2;

/// Judges a run. `known`: the group of every host, if somebody knows them; else they are found in the data.
pub fn judge(folded: Folded, known: Option<&[usize]>, confidence: f64, floors: Floors) -> Judgement {
    let level = folded.level.clone();
    let bytes: Vec<f64> = folded.lengths.iter().map(|length| length.0 as f64).collect();
    let fit = Fit::of(folded, known);
    let members = members(&fit.group, fit.groups);
    let mut suspicions = Vec::new();
    let blocks = uplinks::blocks(&fit);
    let groups = uplinks::groups(&fit, &members, &blocks);
    let mut ways = match &groups {
        Some(groups) if fit.is_understood => ways::ways(&fit, groups, confidence, floors),
        _ => vec![Way::Usual; fit.groups],
    };
    let pods = if fit.is_understood && floors.group.is_finite() { pods::find(&fit, &members, &blocks) } else { None };
    suspicions.extend(pods.iter().flat_map(|pods| ways::of_pods(&fit, pods, confidence, floors)));
    // What slows a pod slows its groups.
    for (way, members) in ways.iter_mut().zip(&members) {
        if suspicions.iter().any(|pod| members.iter().all(|host| pod.hosts.contains(host))) {
            *way = Way::Usual;
        }
    }
    suspicions
        .extend(ways.iter().filter_map(|way| if let Way::Slow(found) = way { Some(found.clone()) } else { None }));
    let effects = ways::host_effects(&fit, groups.as_ref(), &ways, &members, floors);
    let evidence = evidence::weigh(&effects);
    // What structure does, it does to both directions alike, where both were measured.
    let pairs = fit.cells.iter().map(|cells| cells.iter().sum::<usize>() / 2).max().unwrap_or(0);
    let is_two_way = (fit.one_way.len() as f64) < MOST_ONE_WAY * pairs as f64;
    let is_understood = fit.is_understood;
    let is_clear = |direction| is_understood || direction != Direction::Both && is_two_way;
    let is_slow = |evidence: &Evidence, threshold: f64| {
        let caution = if is_clear(evidence.direction) { 1.0 } else { CAUTION };
        let floor = if fit.is_determined { caution * floors.node } else { BEYOND_STRUCTURE };
        let beyond = if evidence.effect < SMALL { BEYOND_SMALL } else { 1.0 };
        evidence.effect > floor && evidence.score > caution * beyond * threshold
    };
    let threshold = least_score(
        suspicions.len(),
        |found| {
            let confidence = 1.0 - allowed_doubt(confidence, found as f64);
            evidence::threshold(confidence, fit.hosts(), fit.lengths.len())
        },
        |threshold| evidence.iter().filter(|evidence| is_slow(evidence, threshold)).count(),
    );
    let nodes: Vec<Suspicion> = evidence
        .iter()
        .enumerate()
        .filter(|(_, evidence)| is_slow(evidence, threshold))
        .map(|(host, evidence)| of_evidence(Kind::Node, vec![host], evidence, fit.hosts(), fit.lengths.len()))
        .collect();
    // Hosts that are far from all others, which are alike, are one of two groups: that is nobody's fault.
    let is_two_groups = |found: &Suspicion| found.kind == Kind::Group && fit.groups == 1 && known.is_none();
    suspicions.extend(together(&fit, nodes).into_iter().filter(|found| !is_two_groups(found)));
    let mut is_known = vec![false; fit.hosts()];
    let known_hosts = suspicions.iter().filter(|found| found.kind == Kind::Node).flat_map(|found| &found.hosts);
    known_hosts.for_each(|host| is_known[*host] = true);
    let candidates = match floors.link.is_finite() {
        true => links::find(&fit, &level, &bytes, &is_known, floors.partners),
        false => Vec::new(),
    };
    for found in candidates {
        let caution = if fit.is_understood || found.is_lopsided { 1.0 } else { CAUTION };
        let allowed = allowed_doubt(confidence, suspicions.len() as f64 * OF_LINKS);
        if found.by_chance < allowed && found.effect > caution * floors.link && is_single(&fit, &found, &is_known) {
            suspicions.push(Suspicion {
                kind: Kind::Link,
                hosts: vec![found.pair.0, found.pair.1],
                direction: found.direction,
                effect: found.effect,
                range: found.range,
                doubt: found.by_chance,
            });
        }
    }
    let levels = pods.into_iter().chain(groups).collect();
    let mut judgement = Judgement { fit, levels, hosts: effects, suspicions: Vec::new() };
    suspicions.retain(|found| {
        let share = match found.kind {
            // A cause need not show at every length, but somewhere.
            Kind::Link => 0.0,
            _ if is_clear(found.direction) => MOST_CELLS,
            _ => MOST_CELLS_BY_CAUTION,
        };
        judgement.agreement(found).is_most(share)
    });
    judgement.suspicions = suspicions;
    judgement
}

/// Doubt that the next finding may leave behind so many others. What is kept is the false discovery rate (Benjamini and
/// Hochberg, 1995): where nothing is found, it is the chance of a false alarm.
fn allowed_doubt(confidence: f64, found: f64) -> f64 {
    (1.0 - confidence) * (1.0 + found)
}

/// The least score that is believed. `found`: what was found before; `threshold`: the least score behind so many;
/// `count`: how many hosts exceed it.
fn least_score(found: usize, threshold: impl Fn(usize) -> f64, count: impl Fn(f64) -> usize) -> f64 {
    let mut all = found;
    loop {
        let least = threshold(all);
        let more = found + count(least);
        if more <= all {
            return least;
        }
        all = more;
    }
}

pub(super) fn of_evidence(
    kind: Kind,
    hosts: Vec<usize>,
    evidence: &Evidence,
    among: usize,
    lengths: usize,
) -> Suspicion {
    Suspicion {
        kind,
        hosts,
        direction: evidence.direction,
        effect: evidence.effect,
        range: evidence.range,
        doubt: evidence::doubt(evidence.score, among, lengths),
    }
}

/// Slow hosts that are not slow among each other are no slow hosts: their common way to the others is.
fn together(fit: &Fit, nodes: Vec<Suspicion>) -> Vec<Suspicion> {
    let near = |length: usize| {
        let inside = (0..fit.groups).map(|group| fit.lengths[length].block[group * fit.groups + group]);
        median_of(inside, &mut Vec::new())
    };
    let is_near = |a: &Suspicion, b: &Suspicion| {
        let (first, last) = (a.range.0.max(b.range.0), a.range.1.min(b.range.1));
        let alike = (a.effect - b.effect).abs() < 0.3 * a.effect.max(b.effect);
        // If each of them were slow by itself, their pair would be slow by both effects.
        let excess = |length: usize| {
            let pair = fit.usual(length, a.hosts[0], b.hosts[0]) + fit.rest[length].at(a.hosts[0], b.hosts[0]);
            pair - near(length)
        };
        let excess = median_of((first..=last).map(excess), &mut Vec::new());
        let both = a.direction == Direction::Both && b.direction == Direction::Both;
        // A pair that was not measured says neither yes nor no.
        if !(both && alike) {
            Some(false)
        } else if excess.is_nan() {
            None
        } else {
            Some(excess < 0.5 * (a.effect + b.effect))
        }
    };
    let mut taken = vec![false; nodes.len()];
    let mut found = Vec::new();
    for (n, node) in nodes.iter().enumerate() {
        if taken[n] {
            continue;
        }
        let mut set = vec![n];
        for other in n + 1..nodes.len() {
            let near: Vec<_> = set.iter().map(|member| is_near(&nodes[*member], &nodes[other])).collect();
            if !taken[other] && near.contains(&Some(true)) && !near.contains(&Some(false)) {
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

/// Whether hardly any other pair departs as much, both ways, over the same lengths: structure that is not understood
/// makes many pairs slow, and both directions alike. `is_known[host]`: the host is slow by itself, and its pairs by
/// more or less.
fn is_single(fit: &Fit, suspect: &links::Suspect, is_known: &[bool]) -> bool {
    if suspect.is_lopsided {
        return true;
    }
    let (first, last) = suspect.range;
    let mut scratch = Vec::new();
    let mut alike = 0;
    for (i, j, _) in fit.rest[first].upper_pairs().filter(|(i, j, _)| !is_known[*i] && !is_known[*j]) {
        let mut middle = |from, to| {
            // Cheap first: most pairs show nothing at the first length.
            let rests = (first..=last).map(|length| fit.rest_from_to(length, from, to));
            median_of(rests, &mut scratch)
        };
        if fit.rest[first].at(i, j) > 0.2 * suspect.effect && middle(i, j).min(middle(j, i)) > 0.5 * suspect.effect {
            alike += 1;
        }
    }
    alike <= if fit.is_understood { MOST_ALIKE } else { MOST_ALIKE_BY_CAUTION }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, leaves, normal, square, symmetric};

    /// Share of healthy runs on which a suspicion falls, of hosts on one switch or on leaves of equal size.
    fn false_alarms(hosts: usize, leaf_count: usize, confidence: f64, draws: u64) -> f64 {
        let mut rng = generator(hosts as u64);
        let mut alarms = 0;
        for _ in 0..draws {
            let leaf = leaves(&vec![hosts / leaf_count; leaf_count], &mut rng);
            let way = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { 0.3 };
            let times = (0..4).map(|_| square(hosts, |i, j| way(i, j) + 0.04 * normal(&mut rng))).collect();
            let folded = Folded::of_logarithms(&[0, 1 << 10, 1 << 16, 1 << 20], times);
            let found = judge(folded, None, confidence, Floors::OF_TIMES).suspicions;
            alarms += u64::from(!found.is_empty());
        }
        alarms as f64 / draws as f64
    }

    #[test]
    fn healthy_runs_are_hardly_ever_suspected() {
        // Of four hosts, chance brings more of them than was asked for.
        for (hosts, leaves, draws, most) in [(4, 1, 300, 0.07), (8, 1, 100, 0.05), (16, 2, 30, 0.05)] {
            let alarms = false_alarms(hosts, leaves, 0.99, draws);
            assert!(alarms <= most, "{hosts} hosts: {alarms}");
        }
    }

    /// Kind and hosts of what is suspected, with noise of 2 % at four lengths.
    fn suspected(hosts: usize, group: Option<&[usize]>, way: impl Fn(usize, usize) -> f64) -> Vec<(Kind, Vec<usize>)> {
        suspected_in_noise(0.02, hosts, group, way)
    }

    fn suspected_in_noise(
        noise: f64,
        hosts: usize,
        group: Option<&[usize]>,
        way: impl Fn(usize, usize) -> f64,
    ) -> Vec<(Kind, Vec<usize>)> {
        let mut rng = generator(hosts as u64);
        let times = (0..4).map(|_| square(hosts, |i, j| way(i, j) + noise * normal(&mut rng))).collect();
        let folded = Folded::of_logarithms(&[0, 1 << 10, 1 << 16, 1 << 20], times);
        judge(folded, group, 0.99, Floors::OF_TIMES)
            .suspicions
            .into_iter()
            .map(|found| (found.kind, found.hosts))
            .collect()
    }

    #[test]
    fn a_leaf_of_which_some_hosts_are_slow_is_not_at_fault() {
        // The middle one of three hosts is slow, and so is another.
        let slow = |host: usize| [0.15, 0.4, 0.0].get(host).copied().unwrap_or_default();
        let way = |i: usize, j: usize| if i / 3 == j / 3 { 0.0 } else { 0.4 } + slow(i) + slow(j);
        let mut found = suspected(12, None, way);
        found.sort_by_key(|(_, hosts)| hosts.clone());
        assert_eq!(found, [(Kind::Node, vec![0]), (Kind::Node, vec![1])]);
    }

    #[test]
    fn a_pod_behind_a_bad_uplink_is_one_finding() {
        // Pods of two and of four leaves of three hosts each.
        for leaves in [2, 4] {
            let pod = |host: usize| host / 3 / leaves;
            let way = |i: usize, j: usize| match (pod(i), pod(j)) {
                _ if i / 3 == j / 3 => 0.0,
                (a, b) if a == b => 0.3,
                (1, _) | (_, 1) => 1.0,
                _ => 0.6,
            };
            let members: Vec<usize> = (0..12 * leaves).filter(|host| pod(*host) == 1).collect();
            assert_eq!(suspected(12 * leaves, None, way), [(Kind::Group, members)], "{leaves} leaves");
        }
    }

    #[test]
    fn a_small_effect_takes_more_evidence() {
        let is_named = |noise: f64, effect: f64| {
            let slow = |host: usize| if host == 3 { effect } else { 0.0 };
            let found = suspected_in_noise(noise, 32, None, |i, j| slow(i) + slow(j));
            assert!(found.is_empty() || found == [(Kind::Node, vec![3])], "{found:?}");
            !found.is_empty()
        };
        assert!(is_named(0.01, 0.026) && is_named(0.01, 0.04));
        // The same evidence, six standard errors, for a small effect and a larger one.
        assert!(!is_named(0.054, 0.026) && is_named(0.083, 0.04));
        assert!(!is_named(0.001, 0.015));
    }

    #[test]
    fn a_slow_pair_is_seen_beside_a_host_whose_pairs_are_slow_by_more_and_less() {
        let slow = |host: usize, partner: usize| if host == 3 { 0.5 + 0.06 * (partner % 20) as f64 } else { 0.0 };
        let link = |i: usize, j: usize| if (i.min(j), i.max(j)) == (8, 17) { 0.4 } else { 0.0 };
        let found = suspected(24, None, |i, j| slow(i, j) + slow(j, i) + link(i, j));
        assert_eq!(found, [(Kind::Node, vec![3]), (Kind::Link, vec![8, 17])]);
    }

    #[test]
    fn where_no_structure_is_understood_two_slow_pairs_are_believed_and_more_are_structure() {
        let mut rng = generator(5);
        let far = symmetric(24, |_, _| 0.2 * normal(&mut rng));
        let links = [(3, 8), (11, 20), (5, 15)];
        let found = |count: usize| {
            let slow = |i: usize, j: usize| links[..count].contains(&(i.min(j), i.max(j)));
            suspected(24, None, |i, j| far.at(i, j) + if slow(i, j) { 2.0 } else { 0.0 })
        };
        let is_link = |found: &(Kind, Vec<usize>)| found.0 == Kind::Link;
        for count in [1, 2] {
            let found = found(count);
            assert!(found.len() == count && found.iter().all(is_link), "{found:?}");
        }
        assert!(!found(3).iter().any(is_link), "{:?}", found(3));
    }

    #[test]
    fn a_link_of_which_no_cell_is_slow_is_no_finding() {
        // Distances scatter, directions hardly do: what one direction takes longer than the other one stands out. Yet of
        // a pair that is near it is no slower than others are.
        let found = |mean: f64| {
            let mut rng = generator(9);
            let far = symmetric(16, |_, _| 0.1 * normal(&mut rng));
            let sides = |i: usize, j: usize| match (i, j) {
                (2, 9) => mean + 0.2,
                (9, 2) => mean - 0.2,
                _ => far.at(i, j),
            };
            let times = (0..4).map(|_| square(16, |i, j| sides(i, j) + 0.005 * normal(&mut rng))).collect();
            let folded = Folded::of_logarithms(&[0, 1 << 10, 1 << 16, 1 << 20], times);
            let found = judge(folded, Some(&[0; 16]), 0.99, Floors::OF_TIMES).suspicions;
            found.into_iter().map(|found| (found.kind, found.hosts)).collect::<Vec<_>>()
        };
        assert_eq!(found(-0.18), []);
        assert_eq!(found(0.18), [(Kind::Link, vec![2, 9])]);
    }

    #[test]
    fn what_is_found_lets_the_next_one_leave_more_doubt() {
        assert!((allowed_doubt(0.99, 0.0) - 0.01).abs() < 1e-12 && (allowed_doubt(0.99, 2.0) - 0.03).abs() < 1e-12);
        let scores = [9.0, 5.5, 4.6, 3.0];
        let least = |found: usize| {
            let threshold = |found: usize| 6.0 - found as f64 * 0.6;
            least_score(found, threshold, |least| scores.iter().filter(|score| **score > least).count())
        };
        // The first makes 5.4 of 6, the second 4.8, which leaves the third; had another been found before, 4.2.
        assert!((least(0) - 4.8).abs() < 1e-12 && (least(1) - 3.6).abs() < 1e-12, "{} {}", least(0), least(1));
    }

    #[test]
    fn what_is_found_lets_a_link_leave_half_as_much_more_doubt() {
        let doubts = |others: usize, effect: f64| {
            let mut rng = generator(3);
            let slow = |i: usize, j: usize| match (i.min(j), i.max(j)) {
                (1, 2) => effect,
                (i, j) if i >= 4 && j == i + 1 && i % 2 == 0 && i < 4 + 2 * others => 1.0,
                _ => 0.0,
            };
            let times = (0..4).map(|_| square(16, |i, j| slow(i, j) + 0.05 * normal(&mut rng))).collect();
            let folded = Folded::of_logarithms(&[0, 1 << 10, 1 << 16, 1 << 20], times);
            let found = judge(folded, Some(&[0; 16]), 0.99, Floors::OF_TIMES).suspicions;
            assert!(found.len() <= others + 1 && found.iter().all(|found| found.kind == Kind::Link), "{found:?}");
            found.into_iter().find(|found| found.hosts == [1, 2]).map(|found| found.doubt)
        };
        for others in 0..3 {
            let most = (0..60).filter_map(|step| doubts(others, 0.14 + 0.002 * f64::from(step))).fold(0.0, f64::max);
            let allowed = 0.01 * (1.0 + 0.5 * others as f64);
            assert!((0.75 * allowed..allowed).contains(&most), "{others} others: {most}");
        }
    }

    #[test]
    fn of_two_small_leaves_neither_is_at_fault() {
        // What is far is as far at all lengths, or it is latency: then the leaves are too small to be found, often.
        for shares in [[1.0, 1.0, 1.0], [1.0, 0.8, 0.07]] {
            let suspected = |seed: u64| {
                let mut rng = generator(seed);
                let leaf = leaves(&[3, 5], &mut rng);
                let way = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { 0.3 };
                let of_length = |share: f64| square(8, |i, j| share * way(i, j) + 0.02 * normal(&mut rng));
                let folded = Folded::of_logarithms(&[64, 1 << 12, 1 << 18], shares.map(of_length).into());
                judge(folded, None, 0.99, Floors::OF_TIMES).suspicions
            };
            let found: Vec<Suspicion> = (0..150).flat_map(suspected).collect();
            assert!(found.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn scatter_is_judged_from_two_partners_on() {
        let mut rng = generator(6);
        // Everybody has been measured with four others.
        let is_measured = |i: usize, j: usize| [1, 2, 14, 15].contains(&((i + 16 - j) % 16));
        let mut scatter = |i: usize, j: usize| match is_measured(i, j) {
            true => 0.05 * normal(&mut rng) + if [i, j].contains(&5) { 1.0 } else { 0.0 },
            false => f64::NAN,
        };
        let times = (0..4).map(|_| square(16, &mut scatter)).collect();
        let folded = Folded::of_logarithms(&[0, 1 << 10, 1 << 16, 1 << 20], times);
        let found = judge(folded, None, 0.99, Floors::OF_SCATTER).suspicions;
        assert!(matches!(&found[..], [found] if found.kind == Kind::Node && found.hosts == [5]), "{found:?}");
    }

    #[test]
    fn a_group_whose_way_is_slow_to_some_of_the_others_is_not_at_fault() {
        let group: Vec<usize> = (0..20).map(|host| host / 4).collect();
        let toward = |slow: usize| {
            suspected(20, Some(&group), |i, j| match (group[i].min(group[j]), group[i].max(group[j])) {
                (g, h) if g == h => 0.0,
                (0, h) if h <= slow => 0.8,
                _ => 0.5,
            })
        };
        let at_fault = [(Kind::Group, (0..4).collect::<Vec<_>>())];
        assert!((0..3).all(|slow| toward(slow).is_empty()) && (3..5).all(|slow| toward(slow) == at_fault));
    }

    #[test]
    fn pairs_of_hosts_that_share_a_switch_may_be_far_from_all_others() {
        let router: Vec<usize> = (0..32).map(|host| host / 2).collect();
        // Every fourth router has no link to other groups.
        let far = |host: usize| if host / 2 % 4 == 3 { 0.08 } else { 0.0 };
        let way = |i: usize, j: usize| if i / 2 == j / 2 { 0.0 } else { 0.5 + far(i) + far(j) };
        assert_eq!(suspected(32, Some(&router), way), []);
        // One of them that is slow besides is named.
        let slow = |host: usize| if host == 6 { 0.2 } else { 0.0 };
        assert_eq!(suspected(32, Some(&router), |i, j| way(i, j) + slow(i) + slow(j)), [(Kind::Node, vec![6])]);
    }
}

//! Leaves that are some steps apart: networks of switches that are neither trees nor tori, as dragonflies are.
//!
//! In: [`Pairs`] and leaves of which most are right. Out: [`Explained`]: leaves once more, their groups, and how many steps
//! there are between every two hosts. Each step, from one switch to the next, takes as long as any other one. Inside a
//! group every leaf is one step from every other one, and two groups have one way in common, their gate: so few numbers
//! say how far leaves are apart, and what is slow cannot be a distance of its own. Where groups do not follow from the
//! steps, nothing is said.

use std::f64::consts::FRAC_2_PI;

use rayon::prelude::*;

use super::{
    distance::LEAST_STEP,
    fit::{EFFICIENCY, most_error_of_median},
    tree::{Pairs, surprise},
};
use crate::{
    analysis::{groups::by_size, model::line::Sums},
    stats::{median, scatter_about_zero, weighted_quantile},
};

/// What a structure of equal steps may leave of a pair besides noise, in steps: its time then says how many steps it has,
/// as two standard deviations are half a step.
const UNDERSTOOD: f64 = 0.25;

/// Most steps between two leaves: to the gate of their groups, across, and from it. What seems farther away is late.
const MOST_STEPS: u8 = 3;

/// Leaves and the steps between them, and the times that go with them.
struct Steps {
    /// `[host]`.
    leaf: Vec<usize>,
    leaves: usize,
    /// `[leaf * leaves + leaf]`.
    between: Vec<u8>,
    /// What it takes inside a leaf, and what a step adds.
    inside: f64,
    step: f64,
    /// What every host adds.
    own: Vec<f64>,
}

impl Steps {
    fn of(pairs: &Pairs, leaf: Vec<usize>) -> Option<Self> {
        let leaves = leaf.iter().max().map_or(0, |last| last + 1);
        let of_way = |a: usize, b: usize| if a == b { 0 } else { a.min(b) * leaves + a.max(b) };
        let way = |i: usize, j: usize| of_way(leaf[i], leaf[j]);
        let (_, level, own) = pairs.cost(way, leaves * leaves);
        let mut weight = vec![0.0; leaves * leaves];
        pairs.known.iter().for_each(|(i, j, _)| weight[way(*i, *j)] += 1.0);
        // What is nearer than a switch makes it is no step, and steps that become ever smaller describe noise.
        let (mut inside, least) = (level[0], LEAST_STEP * level[0]);
        let steps = |a: usize| (0..leaves).map(move |b| of_way(a, b)).map(|way| level[way] - inside);
        let nearest = |a: usize| steps(a).filter(|step| *step >= least).fold(f64::NAN, f64::min);
        let mut step = median(&mut (0..leaves).map(nearest).filter(|step| !step.is_nan()).collect::<Vec<_>>());
        let mut left = f64::INFINITY;
        // By turns, as long as less is left of the levels.
        let of_level = loop {
            if step.is_nan() || step < least {
                return None;
            }
            // Of a way that nothing is known of, one step.
            let steps =
                |level: &f64| if level.is_nan() { 1.0 } else { ((level - inside) / step).round().clamp(0.0, 255.0) };
            let of_level: Vec<f64> = level.iter().map(steps).collect();
            let mut sums = Sums::default();
            (0..level.len()).for_each(|way| sums.weigh(of_level[way], level[way], weight[way]));
            let (start, slope, rest) = sums.solve()?;
            if rest >= left {
                break of_level;
            }
            (inside, step, left) = (start, slope, rest);
        };
        let between = (0..leaves * leaves).map(|cell| of_level[of_way(cell / leaves, cell % leaves)] as u8).collect();
        Some(Self { leaf, leaves, between, inside, step, own })
    }

    fn between(&self, i: usize, j: usize) -> u8 {
        self.between[self.leaf[i] * self.leaves + self.leaf[j]]
    }

    fn level(&self, steps: u8) -> f64 {
        self.inside + self.step * f64::from(steps)
    }

    /// How long a description of the times is by these ([`Pairs::cost`]), with that of leaves and steps.
    fn cost(&self, pairs: &Pairs) -> f64 {
        let classes = self.between.iter().max().map_or(1, |most| usize::from(*most) + 1);
        let ways = (self.leaves * (self.leaves - 1) / 2) as f64;
        let labels = pairs.hosts as f64 * (self.leaves as f64).ln() + ways * ((classes - 1).max(1) as f64).ln();
        pairs.cost(|i, j| self.between(i, j).into(), classes).0 + labels
    }

    /// Every host that is a leaf by itself because it is late in the leaf that it is of: steps of its own would take longer to
    /// say, and would put it where it is not. `misfit`: standard deviation of what is left of a pair.
    fn with_late_hosts(mut self, pairs: &Pairs, misfit: f64) -> Self {
        let mut of_host = vec![Vec::new(); pairs.hosts];
        for (i, j, time) in &pairs.known {
            of_host[*i].push((*j, time - self.own[*j]));
            of_host[*j].push((*i, time - self.own[*i]));
        }
        for (host, times) in of_host.iter().enumerate() {
            let own = self.leaf[host];
            if self.leaf.iter().filter(|leaf| **leaf == own).count() == 1 {
                let others = (0..self.leaves).filter(|leaf| *leaf != own && self.leaf.contains(leaf));
                let saved = others.map(|leaf| (self.saved(host, leaf, times, misfit), leaf));
                let best = saved.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(saved, _)| *saved > 0.0);
                self.leaf[host] = best.map_or(own, |(_, leaf)| leaf);
            }
        }
        let left: Vec<usize> = (0..self.leaves).filter(|leaf| self.leaf.contains(leaf)).collect();
        let between = |a: usize| left.iter().map(move |b| (a, *b)).map(|(a, b)| self.between[a * self.leaves + b]);
        self.between = left.iter().flat_map(|a| between(*a)).collect();
        self.leaf.iter_mut().for_each(|own| *own = left.partition_point(|leaf| leaf < own));
        Self { leaves: left.len(), ..self }
    }

    /// By how much shorter it is to say that a host which is a leaf by itself is of another leaf and late: that it adds to the
    /// leaf's times to all others, or multiplies them. `times`: to other hosts, without what these add.
    fn saved(&self, host: usize, leaf: usize, times: &[(usize, f64)], misfit: f64) -> f64 {
        let level = |from: usize, other: usize| self.level(self.between[from * self.leaves + self.leaf[other]]);
        let own = self.leaf[host];
        // What is farther than any leaf may be is late, whatever it is.
        let is_far = self.between[own * self.leaves + leaf] > MOST_STEPS;
        let times = || times.iter().filter(|(other, _)| !is_far || self.leaf[*other] != leaf);
        let more = median(&mut times().map(|(other, time)| time - level(leaf, *other)).collect::<Vec<_>>());
        let factor = median(&mut times().map(|(other, time)| time / level(leaf, *other)).collect::<Vec<_>>());
        if !is_far && more < most_error_of_median(misfit, times().count()) {
            return 0.0;
        }
        let length = |rest: &dyn Fn(usize, f64) -> f64| -> f64 {
            times().map(|(other, time)| surprise(rest(*other, *time) / (misfit * FRAC_2_PI.sqrt()))).sum()
        };
        let adds = length(&|other, time| time - more.max(0.0) - level(leaf, other));
        let multiplies = length(&|other, time| time / factor.max(1.0) - level(leaf, other));
        let alone = length(&|other, time| time - self.own[host] - level(own, other));
        let classes = self.between.iter().max().map_or(1.0, |most| f64::from(*most) + 1.0);
        let of_steps = (self.leaves - 1) as f64 * classes.ln();
        alone + of_steps - adds.min(multiplies) - (self.leaves as f64).ln()
    }

    /// Every host in the leaf that explains its times best, whatever it adds, by the medians of what it takes to every leaf;
    /// leaves that no step is between, joined.
    fn settled(&self, pairs: &Pairs) -> Vec<usize> {
        let mut of_host = vec![Vec::new(); pairs.hosts];
        for (i, j, time) in &pairs.known {
            of_host[*i].push((self.leaf[*j], time - self.own[*j]));
            of_host[*j].push((self.leaf[*i], time - self.own[*i]));
        }
        let nearest = |(host, times): (usize, &mut Vec<(usize, f64)>)| {
            times.sort_unstable_by_key(|(leaf, _)| *leaf);
            let of_leaf = |times: &[(usize, f64)]| {
                let middle = median(&mut times.iter().map(|(_, time)| *time).collect::<Vec<_>>());
                (times[0].0, middle, times.len() as f64)
            };
            let known: Vec<(usize, f64, f64)> = times.chunk_by(|a, b| a.0 == b.0).map(of_leaf).collect();
            let misfit = |leaf: &usize| {
                let level = |other: usize| self.level(self.between[leaf * self.leaves + other]);
                let mut rests: Vec<(f64, f64)> =
                    known.iter().map(|(other, time, weight)| (time - level(*other), *weight)).collect();
                let own = weighted_quantile(&mut rests, 0.5);
                rests.iter().map(|(rest, weight)| (rest - own).abs() * weight).sum::<f64>()
            };
            let leaves = (0..self.leaves).map(|leaf| (misfit(&leaf), leaf));
            leaves.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(self.leaf[host], |(_, leaf)| leaf)
        };
        let leaf: Vec<usize> = of_host.par_iter_mut().enumerate().map(nearest).collect();
        let first = |own: usize| (0..own).find(|other| self.between[own * self.leaves + other] == 0).unwrap_or(own);
        by_size(&leaf.iter().map(|own| first(*own)).collect::<Vec<_>>())
    }
}

/// Whether equal steps leave no more of the pairs than noise and what single pairs differ by. `misfit` and `noise`:
/// standard deviations of what is left of a pair, and of its time.
pub fn is_understood(pairs: &Pairs, misfit: f64, noise: f64, step: f64) -> bool {
    // Two scatters that are compared: the logarithm of each errs by 1 / sqrt(2 n).
    let free = EFFICIENCY * pairs.known.len().saturating_sub(pairs.hosts) as f64;
    misfit <= noise.hypot(UNDERSTOOD * step) * (1.0 + 2.0 / free.sqrt())
}

/// The least that a description of the times may take, without that of the structure ([`Pairs::cost`]): not even the right
/// one has a mean misfit ([`Pairs::mean_misfit`]) below that of normal noise, less what hosts' own numbers take off. Less two
/// errors, for the scatter knows the noise as well as the standard deviation of [`EFFICIENCY`] times as many pairs would.
pub fn least_cost(pairs: &Pairs, noise: f64) -> f64 {
    let count = pairs.known.len() as f64;
    let free = 1.0 - pairs.hosts as f64 / count;
    let error = (1.0 / (2.0 * EFFICIENCY * count)).sqrt();
    if free > 0.0 { pairs.cost_of(noise * FRAC_2_PI.sqrt() * free.sqrt() * (1.0 - 2.0 * error)) } else { f64::INFINITY }
}

/// What [`explain`] finds.
pub struct Explained {
    /// The leaf of every host, `[host]`.
    pub leaf: Vec<usize>,
    /// The group of every leaf, `[leaf]`.
    pub group: Vec<usize>,
    /// Steps between hosts, `[host * hosts + host]`.
    pub between: Vec<u8>,
}

/// Leaves, their groups and the steps between them, where these describe the times better than `most` ([`Pairs::cost`],
/// with labels), and leave no more than single pairs differ by. `starts`: leaves from which the search begins,
/// `[start][host]`. `noise`: standard deviation of a pair.
pub fn explain(pairs: &Pairs, starts: impl FnOnce() -> Vec<Vec<usize>>, noise: f64, most: f64) -> Option<Explained> {
    let hosts = pairs.hosts;
    let left = most - least_cost(pairs, noise);
    if left <= 0.0 {
        return None;
    }
    // What takes more to say which host is of which leaf than may be left for it is no start.
    let labels = |leaf: &[usize]| hosts as f64 * leaf.iter().max().map_or(0.0, |last| (*last as f64 + 1.0).ln());
    let starts = starts().into_par_iter().filter(|leaf| labels(leaf) < left);
    let found: Vec<_> = starts.filter_map(|leaf| settled(pairs, leaf)).collect();
    let (cost, found) = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    // Of a tree without pods all leaves are as far apart.
    if found.between.iter().all(|steps| *steps <= 1) {
        return None;
    }
    let rest =
        |(i, j, time): &(usize, usize, f64)| time - found.level(found.between(*i, *j)) - found.own[*i] - found.own[*j];
    let misfit = scatter_about_zero(&mut pairs.known.iter().map(rest).collect::<Vec<_>>());
    if cost >= most || !is_understood(pairs, misfit, noise, found.step) {
        return None;
    }
    let found = found.with_late_hosts(pairs, misfit);
    let (group, between) = Groups::of(&found)?;
    let found = Steps { between, ..found };
    let between = (0..hosts * hosts).map(|cell| found.between(cell / hosts, cell % hosts)).collect();
    Some(Explained { leaf: found.leaf, group, between })
}

/// What a search comes to that begins with these leaves, and its cost.
fn settled(pairs: &Pairs, leaf: Vec<usize>) -> Option<(f64, Steps)> {
    let mut found = Steps::of(pairs, leaf)?;
    let mut cost = found.cost(pairs);
    loop {
        let leaf = found.settled(pairs);
        if leaf == found.leaf {
            return Some((cost, found));
        }
        let next = Steps::of(pairs, leaf)?;
        let of_next = next.cost(pairs);
        if of_next >= cost {
            return Some((cost, found));
        }
        (found, cost) = (next, of_next);
    }
}

/// How many partial groupings are looked at, which decides how long a search may take: the leaf with the least choice comes
/// first, so that right steps need about as many as there are groups; of 256 leaves with steps by chance, so many take a
/// second.
const MOST_LOOKED_AT: usize = 10_000;

/// Leaves put into groups inside which every leaf is one step from every other one, and between two of which there is one
/// such way at most: their gate.
struct Groups<'a> {
    steps: &'a Steps,
    group: Vec<Option<usize>>,
    looked_at: usize,
    /// Whether several groupings explain as many steps as the best one.
    are_several: bool,
    /// How many steps the best grouping does not explain, and the grouping.
    best: Option<(usize, Vec<usize>)>,
}

impl<'a> Groups<'a> {
    /// The group of every leaf, and the steps between leaves by these; `None` where leaves are in no groups, every leaf by
    /// itself where they may be in several.
    fn of(steps: &'a Steps) -> Option<(Vec<usize>, Vec<u8>)> {
        let leaves = steps.leaves;
        let mut search = Self { steps, group: vec![None; leaves], looked_at: 0, are_several: false, best: None };
        search.add(0);
        let (unexplained, group) = search.best.take()?;
        let (unexplained, group) = search.with_single_ones(unexplained, group);
        let groups = group.iter().max().map_or(0, |last| last + 1);
        let gates: Vec<Gate> = pairs(groups).filter_map(|(one, other)| search.gate(one, other)).collect();
        let usual = gates.iter().filter(|gate| gate.more == 0).count();
        let is_alone = |own: &usize| group.iter().filter(|other| *other == own).count() == 1;
        // Pods of a tree have no gates, for most of them are not one step apart at any two leaves.
        let are_found = groups > 1 && 2 * usual > gates.len() && !group.iter().any(is_alone);
        // What is understood is half a step off in one of twenty cases at most: two standard deviations.
        if !are_found || 20 * unexplained > pairs(leaves).count() {
            return None;
        }
        // Steps may say the same of several groupings: of five groups of two leaves, which form Petersen's graph. Which leaves
        // are a group is not known then.
        if search.are_several {
            let between = steps.between.iter().map(|steps| MOST_STEPS.min(*steps)).collect();
            return Some(((0..leaves).collect(), between));
        }
        let between = |(a, b): (usize, usize)| {
            let is_between = |gate: &&Gate| gate.groups == (group[a], group[b]) || gate.groups == (group[b], group[a]);
            gates.iter().find(is_between).map_or(u8::from(a != b), |gate| gate.steps(a, b))
        };
        let between = (0..leaves * leaves).map(|cell| between((cell / leaves, cell % leaves))).collect();
        Some((group, between))
    }

    /// Puts every leaf that is a group by itself into the group where it leaves the fewest steps unexplained: one way that seems
    /// longer, or a slow host that seems a leaf, says nothing of the other leaves. `group`: of every leaf. Returns how many
    /// steps of the other leaves are not explained, and the group of every leaf.
    fn with_single_ones(&mut self, unexplained: usize, group: Vec<usize>) -> (usize, Vec<usize>) {
        self.group = group.iter().copied().map(Some).collect();
        let groups = group.iter().max().map_or(0, |last| last + 1);
        let size = |own: usize| group.iter().filter(|other| **other == own).count();
        let (single, several): (Vec<usize>, Vec<usize>) = (0..groups).partition(|own| size(*own) == 1);
        if single.is_empty() || several.len() < single.len() {
            return (unexplained, group);
        }
        let alone: Vec<usize> = (0..group.len()).filter(|leaf| single.contains(&group[*leaf])).collect();
        alone.iter().for_each(|leaf| self.group[*leaf] = None);
        let of_others = self.unexplained(groups);
        for leaf in alone {
            let mut with = |own: usize| {
                self.group[leaf] = Some(own);
                self.unexplained(groups)
            };
            let best = several.iter().map(|own| (with(*own), *own)).min();
            self.group[leaf] = best.map(|(_, own)| own);
        }
        let number = |own: &Option<usize>| several.iter().position(|other| Some(*other) == *own).unwrap_or(0);
        let group: Vec<usize> = self.group.iter().map(number).collect();
        self.group = group.iter().copied().map(Some).collect();
        (of_others, group)
    }

    fn are_near(&self, a: usize, b: usize) -> bool {
        self.steps.between[a * self.steps.leaves + b] == 1
    }

    fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.steps.leaves).filter(|leaf| self.group[*leaf].is_none())
    }

    fn members(&self, group: usize) -> impl Iterator<Item = usize> {
        (0..self.steps.leaves).filter(move |leaf| self.group[*leaf] == Some(group))
    }

    fn add(&mut self, group: usize) {
        self.looked_at += 1;
        let is_all_explained = self.best.as_ref().is_some_and(|best| best.0 == 0);
        if self.looked_at > MOST_LOOKED_AT || is_all_explained && self.are_several {
            return;
        }
        // The leaf that leaves the least choice.
        let near = |leaf: &usize| self.open().filter(|other| self.are_near(*leaf, *other)).count();
        let Some(first) = self.open().min_by_key(near) else {
            let unexplained = self.unexplained(group);
            let least = self.best.as_ref().map_or(usize::MAX, |best| best.0);
            self.are_several = unexplained == least || unexplained > least && self.are_several;
            if unexplained < least {
                self.best = Some((unexplained, self.group.iter().map(|own| own.unwrap_or(0)).collect()));
            }
            return;
        };
        let near: Vec<usize> = self.open().filter(|other| self.are_near(first, *other)).collect();
        let mut cliques = Vec::new();
        self.cliques(vec![first], &near, &[], &mut cliques);
        cliques.sort_by_key(|clique| std::cmp::Reverse(clique.len()));
        let may_be = |own: &Self, clique: &[usize]| {
            let ways = |other: usize| {
                let all = clique.iter().flat_map(|a| own.members(other).map(move |b| (*a, b)));
                all.filter(|(a, b)| own.are_near(*a, *b)).count()
            };
            (0..group).all(|other| ways(other) <= 1)
        };
        cliques.retain(|clique| may_be(self, clique));
        // One that is in no group because a way of its own seems longer than it is.
        if cliques.is_empty() {
            cliques.push(vec![first]);
        }
        for clique in cliques {
            clique.iter().for_each(|leaf| self.group[*leaf] = Some(group));
            self.add(group + 1);
            clique.iter().for_each(|leaf| self.group[*leaf] = None);
        }
    }

    /// All sets of leaves near each other to which none can be added (Bron and Kerbosch 1973). `own`: of the set; `may` be
    /// in it besides; `not`: near all of the set, and of sets that are known already.
    fn cliques(&self, own: Vec<usize>, may: &[usize], not: &[usize], cliques: &mut Vec<Vec<usize>>) {
        if may.is_empty() {
            if not.is_empty() {
                cliques.push(own);
            }
            return;
        }
        let near = |leaf: usize, leaves: &[usize]| -> Vec<usize> {
            leaves.iter().copied().filter(|other| self.are_near(leaf, *other)).collect()
        };
        // A set without this leaf has one that is not near it, or it could be added (Tomita, Tanaka and Takahashi 2006).
        let pivot = may.iter().chain(not).copied().max_by_key(|leaf| near(*leaf, may).len());
        let (mut may, mut not) = (may.to_vec(), not.to_vec());
        for leaf in may.clone() {
            if pivot.is_some_and(|pivot| self.are_near(pivot, leaf)) {
                continue;
            }
            self.cliques([&own[..], &[leaf]].concat(), &near(leaf, &may), &near(leaf, &not), cliques);
            may.retain(|other| *other != leaf);
            not.push(leaf);
        }
    }

    /// The gate between two groups: between the leaves that explain best how many steps all others have.
    fn gate(&self, one: usize, other: usize) -> Option<Gate> {
        let ways = || self.members(one).flat_map(|a| self.members(other).map(move |b| (a, b)));
        let gate = |ends: (usize, usize)| {
            let gate = Gate { groups: (one, other), ends, more: 0, unexplained: 0 };
            let more = |(a, b): (usize, usize)| {
                i32::from(self.steps.between[a * self.steps.leaves + b]) - i32::from(gate.steps(a, b))
            };
            let mut all: Vec<i32> = ways().map(more).collect();
            all.sort_unstable();
            let middle = all[all.len() / 2];
            Gate { more: middle, unexplained: all.iter().filter(|more| **more != middle).count(), ..gate }
        };
        ways().map(gate).min_by_key(|gate| (gate.unexplained, gate.more))
    }

    /// Ways between leaves of which their groups, and the gates of these, do not explain how many steps they have, and gates that
    /// seem to have more than one.
    fn unexplained(&self, groups: usize) -> usize {
        let of_gate = |gate: Gate| gate.unexplained + usize::from(gate.more != 0);
        let inside = |own: usize| {
            let members: Vec<usize> = self.members(own).collect();
            pairs(members.len()).filter(|(a, b)| !self.are_near(members[*a], members[*b])).count()
        };
        let of_gates: usize = pairs(groups).filter_map(|(one, other)| self.gate(one, other)).map(of_gate).sum();
        of_gates + (0..groups).map(inside).sum::<usize>()
    }
}

/// Every two of so many.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
}

/// The only way between two groups.
struct Gate {
    groups: (usize, usize),
    /// A leaf of each.
    ends: (usize, usize),
    /// By how many steps more than it has it seems to have: a slow gate makes the groups seem farther apart.
    more: i32,
    /// Ways between the groups that this does not explain.
    unexplained: usize,
}

impl Gate {
    /// Steps between a leaf of one group and a leaf of the other, either way: to the gate, across, from the gate.
    fn steps(&self, a: usize, b: usize) -> u8 {
        let is_end = |leaf: usize| leaf == self.ends.0 || leaf == self.ends.1;
        1 + u8::from(!is_end(a)) + u8::from(!is_end(b))
    }
}

#[cfg(test)]
mod tests;

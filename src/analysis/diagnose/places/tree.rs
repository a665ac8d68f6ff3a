//! The leaves of a network, found in short messages.
//!
//! In: what pairs take at short lengths. Out: the leaf of every host ([`leaves`]), and how well a structure describes
//! the times ([`Pairs::cost`]). Hosts of one leaf are nearer to each other than to others, whatever each of them adds:
//! hosts are joined by what is left of their times without the hosts' own parts, by how alike their times to the same
//! others are (average linkage), and by their nearest pairs ([`near`]), and of all partitions on the way the one is
//! taken that describes the times with the fewest bits (minimum description length, Rissanen 1978): the logarithm of
//! the mean misfit for every pair, and the label of every host. Then every part is looked at by itself, where it is known
//! how far pairs are from fitting ([`surprise`]). Which leaves are one after all is [`joined`]'s.

mod joined;

use std::f64::consts::{FRAC_2_PI, LN_2};

pub use joined::{apart, rejoined};
use kodama::{Dendrogram, Method, linkage};
use rayon::prelude::*;
use statrs::statistics::Statistics;

use super::{distance::LEAST_STEP, fit::HUBER};
use crate::{
    analysis::{groups::by_size, square::Square},
    stats::{error_of_median, median, scatter_about_zero},
};

/// Times that labels, levels and hosts' parts are found by turns.
const TURNS: usize = 3;

/// Turns with means where nothing is known of what hosts add. Where every pair is known, each leaves of what is wrong one
/// over the number of hosts less one, whatever kinds of hosts there are: of four hosts, three leave a 27th. Medians, which
/// slow pairs cannot move, take very many turns from one kind to the other.
const MEANS: usize = 3;

/// Others from which two hosts are compared. The mean of n absolute differences of normal numbers errs by
/// `sqrt((pi / 2 - 1) / n)` of itself: 8 % for 100. Two hosts of different leaves differ by the step toward both
/// leaves, which is at least two misfits (see [`Pairs::fit`]), so that these differences are larger by 58 %, and the
/// mean by 8 % as soon as a seventh of the others is of these leaves. Average linkage takes the mean over all pairs of
/// two parts besides.
const MOST_OTHERS: usize = 100;

/// Gaps at which [`near`] divides hosts: between the four levels of a dragonfly, of no to three steps, there are three, a tree
/// has fewer levels, and one more is before slow hosts.
const GAPS: usize = 4;

/// By how many mean misfits it takes longer between leaves than inside them, at least. Half way between both is then one
/// mean misfit off, beyond which a double exponential distribution ([`Pairs::cost_of`]) has `exp(-1) / 2` on one side:
/// four of five single pairs show which they are.
const APART: f64 = 2.0;

/// What a metre of cable adds to a short message, as a share of its time: 5 ns of 4 us, of which 16 are [`LEAST_STEP`]. Cables
/// are not cut more alike, so that structures that fit better than that are equally good: what is simulated has no noise, and
/// the last digits of times would decide.
const METRE: f64 = LEAST_STEP / 16.0;

/// Times of pairs, both directions together; those that are known.
pub struct Pairs {
    pub hosts: usize,
    /// Two hosts and their time.
    pub known: Vec<(usize, usize, f64)>,
    /// Misfit below which times say nothing of who is near whom.
    least: f64,
    /// Mean misfit, where it need not be found from the same pairs; then hosts add nothing.
    noise: Option<f64>,
    /// By how many misfits it takes longer between parts than inside them, at least.
    apart: f64,
}

/// A partition and what it says about the times.
struct Fitted {
    label: Vec<usize>,
    /// What every host adds.
    own: Vec<f64>,
    /// By how much more it takes between parts.
    step: f64,
    cost: f64,
}

/// The leaf of every host, `[host]`, the largest first; all the same where that describes the times as well.
fn leaves(times: &Square) -> Vec<usize> {
    split(times, None)
}

/// The same of very many hosts: of `most`, from all over the run, the leaves are found, and every other host joins the one
/// that it is nearest to. Those that are near none are of leaves of which no host was chosen: these are looked for
/// among them.
pub fn leaves_of_many(times: &Square, most: usize) -> Vec<usize> {
    let hosts = times.side();
    if hosts < 4 {
        return (0..hosts).collect();
    }
    if hosts <= most {
        return leaves(times);
    }
    // Neighbours are often of one leaf: one host of each few, at a place that follows no rule.
    let first = |number: usize| number * hosts / most;
    let chosen: Vec<usize> = (0..most)
        .map(|number| first(number) + (number.wrapping_mul(0x9e37_79b9) >> 8) % (first(number + 1) - first(number)))
        .collect();
    let label = leaves(&times.of(&chosen));
    let known = Pairs::of(&times.of(&chosen));
    let count = label.iter().max().map_or(0, |last| last + 1);
    let (_, level, own) = known.cost(|i, j| usize::from(label[i] != label[j]), 2);
    // What a host takes to every leaf; what it adds itself is in all of them. `known`: hosts, with their leaf and what they
    // add. None where it has met none of these, no leaf where it is near none.
    let nearest = |host: usize, known: &[(usize, usize, f64)]| {
        let mut of_leaf = vec![Vec::new(); count];
        for (other, leaf, own) in known.iter().filter(|(other, ..)| *other != host) {
            of_leaf[*leaf].push((times.at(host, *other) + times.at(*other, host)) / 2.0 - own);
        }
        let middles: Vec<f64> = of_leaf
            .iter_mut()
            .map(|times| {
                times.retain(|time| !time.is_nan());
                median(times)
            })
            .collect();
        let known = (0..count).filter(|leaf| !middles[*leaf].is_nan());
        let best = known.min_by(|a, b| middles[*a].total_cmp(&middles[*b]))?;
        let usual = median(&mut middles.iter().copied().filter(|time| !time.is_nan()).collect::<Vec<_>>());
        Some((count == 1 || usual - middles[best] > (level[1] - level[0]) / 2.0).then_some(best))
    };
    let of_chosen: Vec<(usize, usize, f64)> =
        (0..most).map(|place| (chosen[place], label[place], own[place])).collect();
    let mut found: Vec<Option<Option<usize>>> =
        (0..hosts).into_par_iter().map(|host| nearest(host, &of_chosen)).collect();
    of_chosen.iter().for_each(|(host, leaf, _)| found[*host] = Some(Some(*leaf)));
    // Where few pairs were measured some have met none of the chosen, but others.
    let of_found = found.iter().enumerate().filter_map(|(host, leaf)| Some((host, (*leaf)??, 0.0)));
    let of_found: Vec<(usize, usize, f64)> = of_found.collect();
    let found: Vec<Option<usize>> =
        (0..hosts).map(|host| found[host].or_else(|| nearest(host, &of_found)).flatten()).collect();
    let others: Vec<usize> = (0..hosts).filter(|host| found[*host].is_none()).collect();
    let of_others = leaves_of_many(&times.of(&others), most);
    let mut label: Vec<usize> = found.into_iter().map(|own| own.unwrap_or(0)).collect();
    others.iter().zip(of_others).for_each(|(host, own)| label[*host] = count + own);
    label
}

/// What a rest counts as at most, of pairs of so many hosts: what none is slower than by chance, if they are normal; but of
/// no more pairs than every host may have one of: where it has two it is no single cable's, and no moment's.
fn most_of_one(mut rests: Vec<f64>, hosts: usize) -> f64 {
    if rests.len() <= hosts / 2 {
        return f64::INFINITY;
    }
    let of_others = *rests.select_nth_unstable_by(hosts / 2, |a, b| b.total_cmp(a)).1;
    of_others.max((2.0 * (rests.len() as f64).ln()).sqrt() * scatter_about_zero(&mut rests))
}

/// How long a description of a rest is, in units of the mean misfit that is known: of a normal distribution whose tails are
/// exponential (Huber 1964). That small rests get smaller says little: of many partitions one makes them so by chance.
pub fn surprise(rest: f64) -> f64 {
    let deviations = rest.abs() * FRAC_2_PI.sqrt();
    let near = deviations.min(HUBER);
    near * (deviations - near / 2.0)
}

/// The way between two parts of so many, by number; inside all of them the same.
fn way(label: &[usize], parts: usize, i: usize, j: usize) -> usize {
    let (low, high) = (label[i].min(label[j]), label[i].max(label[j]));
    if low == high { 0 } else { low * parts + high }
}

/// Times without what both ends add, `[end]`.
pub fn without(times: &Square, own: &[f64]) -> Square {
    let mut beyond = times.clone();
    beyond.rows_mut().enumerate().for_each(|(i, row)| {
        row.iter_mut().zip(own).for_each(|(time, other)| *time -= (own[i] + other) as f32);
    });
    beyond
}

/// Splits hosts, or leaves, into parts and these again: where one way is slow, its part is apart first. `noise`: of leaves,
/// mean misfit of pairs, as that is known from their hosts; then leaves add nothing.
pub fn split(times: &Square, noise: Option<f64>) -> Vec<usize> {
    let known = times.values().iter().copied().map(f64::from).filter(|time| !time.is_nan());
    let least = LEAST_STEP * median(&mut known.collect::<Vec<_>>());
    // A leaf has two hosts; a pod may have one leaf.
    split_by(times, noise, least, if noise.is_some() { 1 } else { 2 })
}

/// `least`: what it has to take longer between parts; `size`: how many a part has at least, in the mean.
fn split_by(times: &Square, noise: Option<f64>, least: f64, size: usize) -> Vec<usize> {
    let (whole, step) = parts(times, noise, size);
    let count = whole.iter().max().map_or(0, |last| last + 1);
    if count < 2 || step < least {
        return vec![0; whole.len()];
    }
    // What hosts add is known best from their pairs with other parts, as in their own there may be parts again.
    let (of_pairs, own) = match noise {
        Some(noise) => (noise, vec![0.0; whole.len()]),
        None => Pairs::of(times).between(&whole),
    };
    let beyond = without(times, &own);
    let mut label = whole.clone();
    let mut next = count;
    for part in 0..count {
        let members: Vec<usize> = (0..whole.len()).filter(|host| whole[*host] == part).collect();
        if members.len() < 4 {
            continue;
        }
        // Unless a part is nearly all: four times as many pairs say it twice as exactly.
        let inner = if noise.is_none() && members.len() > 4 * (whole.len() - members.len()) {
            split_by(&times.of(&members), None, least, size)
        } else {
            split_by(&beyond.of(&members), Some(of_pairs), least, size)
        };
        for (host, own) in members.iter().zip(&inner).filter(|(_, own)| **own > 0) {
            label[*host] = next + own - 1;
        }
        next += inner.iter().max().copied().unwrap_or(0);
    }
    by_size(&label)
}

/// The best partition on one level, and by how much more it takes between its parts. `noise`: mean misfit of pairs
/// where it is known, and hosts add nothing.
fn parts(times: &Square, noise: Option<f64>, size: usize) -> (Vec<usize>, f64) {
    let found = shortest(times, &Pairs::of(times).with_noise(noise), size);
    (by_size(&found.label), found.step)
}

/// How long the shortest description by leaves is, with labels ([`Pairs::cost`]), whether single pairs show these or not.
pub fn cost_of_leaves(times: &Square) -> f64 {
    shortest(times, &Pairs { apart: 0.0, ..Pairs::of(times) }, 2).cost
}

/// The partition on one level with the shortest description. `pairs`: of these times.
fn shortest(times: &Square, pairs: &Pairs, size: usize) -> Fitted {
    let hosts = pairs.hosts;
    let mut best = pairs.fit(vec![0; hosts], None);
    for _ in 0..TURNS {
        let mut square = Square::missing(hosts);
        for (i, j, time) in &pairs.known {
            square.set(*i, *j, time - best.own[*i] - best.own[*j]);
        }
        let trees = [
            tree(Method::Average, hosts, |i, j| square.at(i, j)),
            tree(Method::Average, hosts, |i, j| unlike(times, i, j)),
        ];
        // Of very many parts not every number is tried: a few labels more or less cost little.
        let most = (hosts / size).max(2);
        let counts: Vec<usize> =
            (2..=most.min(64)).chain((1..).map(|step| 64 + 8 * step).take_while(|count| *count <= most)).collect();
        let mut labels: Vec<Vec<usize>> =
            trees.iter().flat_map(|tree| counts.iter().map(|count| cut(tree, hosts, *count))).collect();
        let mut starts = near(hosts, |i, j| square.at(i, j));
        // What hosts add as long as all are in one part may be that they are far from most others.
        let is_one = best.label.iter().all(|own| *own == 0);
        if is_one {
            starts.extend(near(hosts, |i, j| (times.at(i, j) + times.at(j, i)) / 2.0));
        }
        labels.extend(starts.into_iter().filter(|label| label.iter().max() < Some(&most)));
        let start = if is_one { None } else { Some(&best.own[..]) };
        let fits = labels.into_par_iter().map(|label| pairs.fit(label, start));
        let found = fits.min_by(|a, b| a.cost.total_cmp(&b.cost)).map(|found| pairs.settle(found));
        match found {
            Some(found) if found.cost < best.cost => best = found,
            _ => break,
        }
    }
    best
}

/// Joins what is least apart first. Of a pair that is not known, as far as the usual one.
fn tree(method: Method, hosts: usize, apart: impl Fn(usize, usize) -> f64 + Sync) -> Dendrogram<f64> {
    let of_host = |i: usize| (i + 1..hosts).map(|j| apart(i, j)).collect::<Vec<_>>();
    let mut apart: Vec<f64> = (0..hosts).into_par_iter().flat_map_iter(of_host).collect();
    let known = median(&mut apart.clone());
    // Where nothing is known of any pair, all are alike.
    let known = if known.is_nan() { 0.0 } else { known };
    let lowest = apart.iter().copied().fold(known, f64::min);
    apart.iter_mut().for_each(|value| *value = if value.is_nan() { known } else { *value } - lowest);
    linkage(&mut apart, hosts, method)
}

/// Hosts that are near each other, whatever else they are near to, `[start][host]`: joined by their nearest pairs up to one
/// of the [`GAPS`] widest gaps between such pairs (single linkage). A fault makes no pair nearer, so that it joins nothing.
pub fn near(hosts: usize, apart: impl Fn(usize, usize) -> f64 + Sync) -> Vec<Vec<usize>> {
    let tree = tree(Method::Single, hosts, apart);
    let gap = |joined: &usize| tree.steps()[*joined].dissimilarity - tree.steps()[joined - 1].dissimilarity;
    let mut joined: Vec<usize> = (1..hosts.saturating_sub(1)).collect();
    joined.sort_by(|a, b| gap(b).total_cmp(&gap(a)));
    joined.iter().take(GAPS).map(|joined| cut(&tree, hosts, hosts - joined)).collect()
}

/// How far two hosts' times to the same others are from differing by one number: whatever each of them adds. Where most
/// hosts are of one leaf, being near is the usual thing, and only this shows them.
fn unlike(times: &Square, i: usize, j: usize) -> f64 {
    let hosts = times.side();
    let others = (0..hosts).step_by(hosts.div_ceil(MOST_OTHERS)).filter(|other| *other != i && *other != j);
    let differences = others.map(|other| times.at(i, other) - times.at(j, other));
    let mut differences: Vec<f64> = differences.filter(|difference| !difference.is_nan()).collect();
    let centre = median(&mut differences);
    differences.iter().map(|difference| (difference - centre).abs()).sum::<f64>() / differences.len() as f64
}

/// The part of every host once so many are left.
fn cut(tree: &Dendrogram<f64>, hosts: usize, count: usize) -> Vec<usize> {
    let mut cluster: Vec<usize> = (0..hosts).collect();
    let mut joined_to: Vec<usize> = (0..2 * hosts).collect();
    for (number, step) in tree.steps().iter().take(hosts - count).enumerate() {
        joined_to[step.cluster1] = hosts + number;
        joined_to[step.cluster2] = hosts + number;
    }
    for own in &mut cluster {
        while joined_to[*own] != *own {
            *own = joined_to[*own];
        }
    }
    let mut names = cluster.clone();
    names.sort_unstable();
    names.dedup();
    cluster.iter().map(|own| names.binary_search(own).unwrap_or(0)).collect()
}

impl Pairs {
    /// Of a square of both directions.
    pub fn of(times: &Square) -> Self {
        let hosts = times.side();
        let all = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j)));
        let mean = |(i, j)| (i, j, (times.at(i, j) + times.at(j, i)) / 2.0);
        let known: Vec<(usize, usize, f64)> = all.map(mean).filter(|pair| !pair.2.is_nan()).collect();
        let usual = median(&mut known.iter().map(|pair| pair.2.abs()).collect::<Vec<_>>());
        Self { hosts, known, least: (METRE * usual).max(f64::MIN_POSITIVE), noise: None, apart: APART }
    }

    /// The same whose mean misfit is known, and of which hosts add nothing.
    pub fn with_noise(self, noise: Option<f64>) -> Self {
        Self { noise, ..self }
    }

    /// How long a description of the times is by distance classes, `[class]`, of which there are so many, without that
    /// of the classes; and the level of each, and what every host adds.
    pub fn cost(&self, class: impl Fn(usize, usize) -> usize, classes: usize) -> (f64, Vec<f64>, Vec<f64>) {
        let ((cost, _), level, own) = self.cost_from(class, classes, None);
        (cost, level, own)
    }

    /// The same and the mean misfit. `start`: what hosts add, where that is nearly known.
    pub fn cost_from(
        &self,
        class: impl Fn(usize, usize) -> usize,
        classes: usize,
        start: Option<&[f64]>,
    ) -> ((f64, f64), Vec<f64>, Vec<f64>) {
        let mut level = vec![0.0; classes];
        let mut own = start.map_or_else(|| vec![0.0; self.hosts], <[f64]>::to_vec);
        let means = if start.is_some() { 0 } else { MEANS };
        let (mut rests, mut of_host) = (vec![Vec::new(); classes], vec![Vec::new(); self.hosts]);
        for turn in 0..means + TURNS * if start.is_some() { 1 } else { 2 } {
            rests.iter_mut().chain(&mut of_host).for_each(Vec::clear);
            for (i, j, time) in &self.known {
                rests[class(*i, *j)].push(time - own[*i] - own[*j]);
            }
            level = rests.iter_mut().map(|rests| median(rests)).collect();
            if self.noise.is_some() {
                break;
            }
            let rest = |(i, j, time): &(usize, usize, f64)| time - level[class(*i, *j)] - own[*i] - own[*j];
            let all = || self.known.iter().map(rest).collect();
            let most = if turn < means { most_of_one(all(), self.hosts) } else { f64::INFINITY };
            for pair @ (i, j, _) in &self.known {
                let rest = rest(pair).min(most);
                of_host[*i].push(rest + own[*i]);
                of_host[*j].push(rest + own[*j]);
            }
            if turn < means {
                own = of_host.iter().map(|rests| if rests.is_empty() { 0.0 } else { rests.iter().mean() }).collect();
                let all = own.iter().mean();
                own.iter_mut().for_each(|own| *own -= all);
                continue;
            }
            // Not the whole way: both ends of a pair move.
            for (own, rests) in own.iter_mut().zip(&mut of_host).filter(|(_, rests)| !rests.is_empty()) {
                *own += (median(rests) - *own) * 0.75;
            }
        }
        let rest = |(i, j, time): &(usize, usize, f64)| time - level[class(*i, *j)] - own[*i] - own[*j];
        let misfit = self.mean_misfit(rest);
        let cost = match self.noise {
            Some(noise) => self.known.iter().map(|pair| surprise(rest(pair) / noise)).sum(),
            None => self.cost_of(misfit),
        };
        ((cost, misfit), level, own)
    }

    /// Mean of what is left of pairs, either way.
    pub fn mean_misfit(&self, rest: impl Fn(&(usize, usize, f64)) -> f64) -> f64 {
        self.known.iter().map(|pair| rest(pair).abs()).sum::<f64>() / self.known.len() as f64
    }

    /// How long a description of pairs with this mean misfit is: of a double exponential distribution whose width is what
    /// describes the misfits best. What hosts add was found from the same pairs.
    pub fn cost_of(&self, misfit: f64) -> f64 {
        (self.known.len() as f64 - self.hosts as f64).max(1.0) * misfit.max(self.least).ln()
    }

    /// Mean misfit of pairs between parts, and what every host adds. Every way between two parts has a level of its
    /// own: of three parts the slow way of one is that of half of the others' pairs, and no host's.
    fn misfit_between(&self, label: &[usize]) -> (f64, Vec<f64>) {
        let parts = label.iter().max().map_or(1, |last| last + 1);
        let class = |i: usize, j: usize| way(label, parts, i, j);
        let (_, level, own) = self.cost(class, parts * parts);
        let between = self.known.iter().filter(|(i, j, _)| label[*i] != label[*j]);
        let misfits: Vec<f64> =
            between.map(|(i, j, time)| (time - level[class(*i, *j)] - own[*i] - own[*j]).abs()).collect();
        let (count, ways) = (misfits.len() as f64, (parts * (parts - 1) / 2) as f64);
        let free = (count - ways - self.hosts as f64).max(count / 4.0).max(1.0);
        ((misfits.iter().sum::<f64>() / free).max(self.least), own)
    }

    /// The same from pairs between parts alone, as inside these there may be parts again; the misfit is that of a pair inside,
    /// of which what its hosts add was taken off.
    fn between(mut self, label: &[usize]) -> (f64, Vec<f64>) {
        self.known.retain(|(i, j, _)| label[*i] != label[*j]);
        let mut met = vec![0; self.hosts];
        self.known.iter().flat_map(|(i, j, _)| [i, j]).for_each(|host| met[*host] += 1);
        let (misfit, own) = self.misfit_between(label);
        // A pair has two hosts.
        let usual = median(&mut met.into_iter().map(f64::from).collect::<Vec<_>>());
        (misfit * (1.0 + 2.0 * error_of_median(usual.max(1.0)).powi(2)).sqrt(), own)
    }

    fn fit(&self, label: Vec<usize>, start: Option<&[f64]>) -> Fitted {
        let parts = label.iter().max().map_or(1, |last| last + 1) as f64;
        let class = |i: usize, j: usize| usize::from(label[i] != label[j]);
        let ((cost, misfit), level, own) = self.cost_from(class, 2, start);
        // Between parts it takes longer, and by more than single pairs differ: else these are no leaves. Half of the pairs
        // say how much that is, if it is less: those of one bad host may be most of the mean.
        let step = level[1] - level[0];
        let rest = |(i, j, time): &(usize, usize, f64)| (time - level[class(*i, *j)] - own[*i] - own[*j]).abs();
        let usual = || median(&mut self.known.iter().map(rest).collect::<Vec<_>>()) / LN_2;
        let is_tree = parts == 1.0 || step > self.apart * misfit || step > self.apart * usual();
        let cost = if is_tree { cost + self.hosts as f64 * parts.ln() } else { f64::INFINITY };
        Fitted { label, own, step, cost }
    }

    /// Moves hosts to the part whose members they are nearest to, as long as that helps.
    fn settle(&self, mut found: Fitted) -> Fitted {
        for _ in 0..TURNS {
            let hosts = self.hosts;
            let parts = found.label.iter().max().map_or(1, |last| last + 1);
            let (mut sum, mut count) = (vec![0.0; hosts * parts], vec![0.0; hosts * parts]);
            for (i, j, time) in &self.known {
                let rest = time - found.own[*i] - found.own[*j];
                for (host, other) in [(*i, *j), (*j, *i)] {
                    let cell = host * parts + found.label[other];
                    (sum[cell], count[cell]) = (sum[cell] + rest, count[cell] + 1.0);
                }
            }
            let nearest = |host: usize| {
                let mean = |part: &usize| sum[host * parts + part] / count[host * parts + part];
                let known = (0..parts).filter(|part| count[host * parts + part] > 0.0);
                known.min_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(found.label[host])
            };
            let moved = self.fit(by_size(&(0..hosts).map(nearest).collect::<Vec<_>>()), Some(&found.own));
            if moved.cost >= found.cost {
                break;
            }
            found = moved;
        }
        found
    }
}

#[cfg(test)]
mod tests;

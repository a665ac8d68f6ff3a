//! Hosts on a torus, whose ways take as long as they have hops.
//!
//! In: [`Pairs`]. Out: how many hops there are between every two hosts, and how well that describes the times. A torus
//! has few levels, one for each number of hops, and every host has a place that no other one has.
//!
//! The sides are not known: all that give as many places as there are hosts are tried. From a first host on, places are
//! filled with the host that fits best, the clearest first; then hosts change places as long as that is better.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{
    steps::{is_understood, least_cost},
    tree::Pairs,
};
use crate::{
    analysis::model::line::Sums,
    stats::{median, scatter_about_zero},
};

/// How much is tried, which decides how long the search takes, and how seldom it ends where no two hosts would do better
/// in each other's place although the torus is another one: for every torus, all hosts are placed as often as this many
/// hosts are; of all these beginnings, so many are followed to their end.
const PLACED: usize = 64 * 64;
const STARTS: usize = 24;

/// How much is tried once these have ended: so many times, a share of the hosts around any of them keep their places, and
/// those of all others are filled anew. Where parts fit in themselves and not each other, one of them is kept so: the
/// smaller the share, the more often it is within a part, and the less it says of where the others are.
const KEPT: [f64; 6] = [0.25, 0.1, 0.25, 0.1, 0.25, 0.1];

/// Least gain for which hosts change places, in units of the usual time: sums of some hundred differences in double
/// precision err by 1e-13, and 1e-6 is less than any clock shows.
const LEAST_GAIN: f64 = 1e-6;

/// A torus with a host at every place.
#[derive(Clone)]
struct Torus {
    /// Number of hops between places, `[place * places + place]`.
    hops: Arc<[u8]>,
    /// The place of every host, `[host]`.
    place: Vec<usize>,
}

impl Torus {
    fn places(&self) -> usize {
        self.place.len()
    }

    /// Hops from one place to all others, `[place]`.
    fn from(&self, place: usize) -> &[u8] {
        &self.hops[place * self.places()..][..self.places()]
    }

    fn hops(&self, place: usize, other: usize) -> usize {
        usize::from(self.hops[place * self.places() + other])
    }

    /// Hops between two hosts.
    fn between(&self, host: usize, other: usize) -> usize {
        self.hops(self.place[host], self.place[other])
    }
}

/// Sides of which the product is `hosts`, each at least 2, descending. A ring of four is two of two.
fn all_sides(hosts: usize) -> Vec<Vec<usize>> {
    fn with(rest: usize, most: usize, sides: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if rest == 1 {
            all.push(sides.clone());
        }
        for side in (2..=rest.min(most)).rev().filter(|side| rest.is_multiple_of(*side) && *side != 4) {
            sides.push(side);
            with(rest / side, side, sides, all);
            sides.pop();
        }
    }
    let mut all = Vec::new();
    with(hosts, hosts, &mut Vec::new(), &mut all);
    all
}

/// Hops between the places of a torus, `[place * places + place]`.
fn hops(sides: &[usize]) -> Arc<[u8]> {
    let places: usize = sides.iter().product();
    let between = |mut a: usize, mut b: usize| {
        let mut hops = 0;
        for side in sides {
            let apart = (a % side).abs_diff(b % side);
            hops += apart.min(side - apart);
            (a, b) = (a / side, b / side);
        }
        hops.min(255) as u8
    };
    (0..places).flat_map(|a| (0..places).map(move |b| between(a, b))).collect()
}

/// Share of the ordered pairs of places, those with so many hops, `[hops]`.
fn shares(hops: &[u8]) -> Vec<f64> {
    let most = usize::from(hops.iter().copied().max().unwrap_or(0));
    let mut share = vec![0.0; most + 1];
    hops.iter().for_each(|hops| share[usize::from(*hops)] += 1.0);
    share[0] = 0.0;
    let all: f64 = share.iter().sum();
    share.into_iter().map(|share| share / all).collect()
}

/// What explains the times: what it takes at every number of hops, and what every host adds.
#[derive(Clone)]
struct Numbers {
    /// `[hops]`.
    level: Vec<f64>,
    /// `[host]`.
    own: Vec<f64>,
}

impl Numbers {
    /// Levels by which as many pairs have each number of hops as there are.
    fn first(pairs: &Pairs, share: &[f64]) -> Self {
        let (_, _, own) = pairs.cost(|_, _| 0, 1);
        let mut rests: Vec<f64> = pairs.known.iter().map(|(i, j, time)| time - own[*i] - own[*j]).collect();
        rests.sort_unstable_by(f64::total_cmp);
        let mut from = 0.0;
        let of_share = |share: &f64| {
            let first = from * rests.len() as f64;
            from += share;
            let last = (from * rests.len() as f64).ceil() as usize;
            median(&mut rests[(first as usize).min(rests.len() - 1)..last.clamp(1, rests.len())].to_vec())
        };
        let level = line(&share.iter().map(of_share).collect::<Vec<_>>(), share);
        Self { level, own }
    }
}

/// What every pair costs at every number of hops: what is left of it, either way. Pairs that were not measured cost 0 wherever they are.
struct Costs {
    hosts: usize,
    kinds: usize,
    /// `[host * hosts * kinds + host * kinds + hops]`.
    of_pair: Vec<f32>,
}

impl Costs {
    fn of(pairs: &Pairs, numbers: &Numbers) -> Self {
        let (hosts, kinds) = (pairs.hosts, numbers.level.len());
        let mut of_pair = vec![0.0; hosts * hosts * kinds];
        for (i, j, time) in &pairs.known {
            let rest = time - numbers.own[*i] - numbers.own[*j];
            for (hops, level) in numbers.level.iter().enumerate() {
                let cost = (rest - level).abs() as f32;
                of_pair[(i * hosts + j) * kinds + hops] = cost;
                of_pair[(j * hosts + i) * kinds + hops] = cost;
            }
        }
        Self { hosts, kinds, of_pair }
    }

    /// Of one pair, `[hops]`.
    fn of_pair(&self, host: usize, other: usize) -> &[f32] {
        &self.of_pair[(host * self.hosts + other) * self.kinds..][..self.kinds]
    }
}

/// A torus with the numbers that go with it.
#[derive(Clone)]
struct State {
    torus: Torus,
    numbers: Numbers,
    /// As of [`Pairs::cost`].
    cost: f64,
}

impl State {
    fn of(pairs: &Pairs, torus: Torus, own: &[f64]) -> Self {
        let share = shares(&torus.hops);
        let (_, level, own) = pairs.cost_from(|i, j| torus.between(i, j), share.len(), Some(own));
        let level = line(&level, &share);
        let mut state = Self { torus, numbers: Numbers { level, own }, cost: 0.0 };
        state.cost = pairs.cost_of(pairs.mean_misfit(|pair| state.rest(pair)));
        state
    }

    /// Whether it is more probable by a factor of e at least: less says nothing, and numbers that are found by turns become
    /// a little better without end.
    fn is_better_than(&self, other: &Self) -> bool {
        self.cost < other.cost - 1.0
    }

    /// What is left of two hosts' time.
    fn rest(&self, (i, j, time): &(usize, usize, f64)) -> f64 {
        let Numbers { level, own } = &self.numbers;
        time - level[self.torus.between(*i, *j)] - own[*i] - own[*j]
    }

    /// Hosts change places as long as that is better, and numbers with them.
    fn settled(mut self, pairs: &Pairs) -> Self {
        loop {
            let mut torus = self.torus.clone();
            exchange(&mut torus, &Costs::of(pairs, &self.numbers));
            let next = Self::of(pairs, torus, &self.numbers.own);
            if !next.is_better_than(&self) {
                return self;
            }
            self = next;
        }
    }

    /// Standard deviation of what is left of most pairs.
    fn usual_misfit(&self, pairs: &Pairs) -> f64 {
        scatter_about_zero(&mut pairs.known.iter().map(|pair| self.rest(pair)).collect::<Vec<_>>())
    }

    /// With these numbers: places filled anew from every of some hosts, all or a part of them.
    fn again(&self, pairs: &Pairs, rng: &mut ChaCha8Rng) -> Option<Self> {
        let costs = Costs::of(pairs, &self.numbers);
        let hosts = pairs.hosts;
        let mut starts: Vec<Vec<(usize, usize)>> = seeds(hosts).map(|host| vec![(host, 0)]).collect();
        let mut order: Vec<usize> = (0..hosts).collect();
        for share in KEPT {
            let centre = rng.random_range(0..hosts);
            order.sort_by_key(|host| self.torus.between(centre, *host));
            let kept = ((share * hosts as f64) as usize).max(1);
            starts.push(order[..kept].iter().map(|host| (*host, self.torus.place[*host])).collect());
        }
        best(starts.into_par_iter().map(|some| {
            let mut torus = filled(&self.torus.hops, &some, &costs);
            exchange(&mut torus, &costs);
            Self::of(pairs, torus, &self.numbers.own).settled(pairs)
        }))
    }
}

/// Hosts that are begun with.
fn seeds(hosts: usize) -> impl Iterator<Item = usize> {
    let count = (PLACED / hosts).clamp(1, hosts);
    (0..count).map(move |seed| seed * hosts / count)
}

/// Levels as a torus has them: every hop takes as long as any other one. `share`: of the pairs, `[hops]`.
fn line(level: &[f64], share: &[f64]) -> Vec<f64> {
    let mut sums = Sums::default();
    level.iter().zip(share).enumerate().for_each(|(hops, (level, share))| sums.weigh(hops as f64, *level, *share));
    let (hops, usual) = sums.means();
    let step = sums.solve().map_or(0.0, |(_, step, _)| step.max(0.0));
    (0..level.len()).map(|own| usual + step * (own as f64 - hops)).collect()
}

fn best(states: impl ParallelIterator<Item = State>) -> Option<State> {
    states.min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// What a host would cost at every place, `[host * hosts + place]`.
fn scores(torus: &Torus, costs: &Costs) -> Vec<f64> {
    let hosts = torus.places();
    let mut scores = vec![0.0; hosts * hosts];
    for (host, row) in scores.chunks_mut(hosts).enumerate() {
        for (other, &at) in torus.place.iter().enumerate().filter(|(other, _)| *other != host) {
            let of_pair = costs.of_pair(host, other);
            row.iter_mut()
                .zip(torus.from(at))
                .for_each(|(score, hops)| *score += f64::from(of_pair[usize::from(*hops)]));
        }
    }
    scores
}

/// Lets two hosts change places as long as that is better.
fn exchange(torus: &mut Torus, costs: &Costs) {
    let hosts = torus.places();
    let mut scores = scores(torus, costs);
    let mut is_better = true;
    while is_better {
        is_better = false;
        for (a, b) in (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b))) {
            let (of_a, of_b) = (torus.place[a], torus.place[b]);
            let score = |host: usize, place: usize| scores[host * hosts + place];
            // Their own pair stays as long as it is: neither comes to be where the other one was.
            let of_pair = costs.of_pair(a, b);
            let more = score(a, of_b) + score(b, of_a) - score(a, of_a) - score(b, of_b)
                + 2.0 * (f64::from(of_pair[torus.hops(of_a, of_b)]) - f64::from(of_pair[0]));
            if more.is_nan() || more >= -LEAST_GAIN {
                continue;
            }
            torus.place.swap(a, b);
            is_better = true;
            for (host, row) in scores.chunks_mut(hosts).enumerate() {
                for (moved, from, to) in [(a, of_a, of_b), (b, of_b, of_a)] {
                    if host != moved {
                        let of_pair = costs.of_pair(host, moved);
                        let hops = torus.from(from).iter().zip(torus.from(to));
                        row.iter_mut().zip(hops).for_each(|(score, (before, after))| {
                            *score +=
                                f64::from(of_pair[usize::from(*after)]) - f64::from(of_pair[usize::from(*before)]);
                        });
                    }
                }
            }
        }
    }
}

/// Fills places next to those of `some` hosts, each with its place; the clearest first.
fn filled(hops: &Arc<[u8]>, some: &[(usize, usize)], costs: &Costs) -> Torus {
    let hosts = costs.hosts;
    let mut torus = Torus { hops: hops.clone(), place: vec![NOWHERE; hosts] };
    let mut is_open = vec![false; hosts];
    let mut is_taken = vec![false; hosts];
    let mut scores = vec![0.0; hosts * hosts];
    let mut next = some.to_vec();
    some.iter().for_each(|(host, at)| torus.place[*host] = *at);
    while let Some((host, at)) = next.pop() {
        torus.place[host] = at;
        is_taken[at] = true;
        for other in (0..hosts).filter(|other| torus.place[*other] == NOWHERE) {
            let of_pair = costs.of_pair(other, host);
            let row = &mut scores[other * hosts..][..hosts];
            row.iter_mut()
                .zip(torus.from(at))
                .for_each(|(score, hops)| *score += f64::from(of_pair[usize::from(*hops)]));
        }
        is_open.iter_mut().zip(torus.from(at)).filter(|(_, hops)| **hops == 1).for_each(|(is_open, _)| *is_open = true);
        if next.is_empty() {
            let places = (0..hosts).filter(|to| is_open[*to] && !is_taken[*to]);
            let clearest = places.map(|to| (who_fits(to, &torus, &scores), to));
            let clearest =
                clearest.max_by(|(a, _), (b, _)| a.margin.total_cmp(&b.margin).then(b.score.total_cmp(&a.score)));
            next.extend(clearest.map(|(fits, to)| (fits.host, to)));
        }
    }
    torus
}

/// A host that has no place yet.
const NOWHERE: usize = usize::MAX;

/// The host that fits best to a place.
struct Fits {
    host: usize,
    score: f64,
    /// By how much the next one costs more.
    margin: f64,
}

fn who_fits(to: usize, torus: &Torus, scores: &[f64]) -> Fits {
    let hosts = torus.places();
    let mut fits = Fits { host: NOWHERE, score: f64::INFINITY, margin: f64::INFINITY };
    let mut second = f64::INFINITY;
    for host in (0..hosts).filter(|host| torus.place[*host] == NOWHERE) {
        let score = scores[host * hosts + to];
        if score < fits.score {
            second = fits.score;
            fits = Fits { host, score, ..fits };
        } else {
            second = second.min(score);
        }
    }
    Fits { margin: second - fits.score, ..fits }
}

/// Number of hops between hosts, `[host * hosts + host]`, of the torus that describes the times best; `None` where that
/// description is not shorter than `most` ([`Pairs::cost`]), or leaves too much. `noise`: standard deviation of a
/// pair.
pub fn explain(pairs: &Pairs, noise: f64, most: f64) -> Option<Vec<u8>> {
    let hosts = pairs.hosts;
    if least_cost(pairs, noise) >= most {
        return None;
    }
    let mut states: Vec<State> = Vec::new();
    for sides in all_sides(hosts) {
        let hops = hops(&sides);
        let numbers = Numbers::first(pairs, &shares(&hops));
        let costs = Costs::of(pairs, &numbers);
        let from = |host: usize| State::of(pairs, filled(&hops, &[(host, 0)], &costs), &numbers.own);
        states.par_extend(seeds(hosts).collect::<Vec<_>>().into_par_iter().map(from));
    }
    states.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    states.truncate(STARTS);
    let mut found = best(states.into_par_iter().map(|state| state.settled(pairs)))?;
    if found.cost >= most {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    while let Some(next) = found.again(pairs, &mut rng).filter(|next| next.is_better_than(&found)) {
        found = next;
    }
    let hop = found.numbers.level[1] - found.numbers.level[0];
    is_understood(pairs, found.usual_misfit(pairs), noise, hop).then_some(())?;
    Some((0..hosts * hosts).map(|cell| found.torus.between(cell / hosts, cell % hosts) as u8).collect())
}

#[cfg(test)]
mod tests;

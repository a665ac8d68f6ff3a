//! Hosts on a torus, whose ways take as long as they have hops.
//!
//! In: [`Band`]s. Out: how many hops there are between every two hosts, and how well that explains what there is. A
//! torus has few numbers, one for each number of hops, and every host has a place that no other one has. Where each
//! host has its own neighbourhood, that is told from far fewer cells than patterns are.
//!
//! The sides are not known: all that give as many places as there are hosts are tried. From a first host on, places are
//! filled with the host that fits best, the clearest first; then hosts change places as long as that is better.

use std::sync::Arc;

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use statrs::function::factorial::ln_factorial;

use super::{
    Band,
    numbers::{Groups, Known, Numbers, Places, of_rest},
};
use crate::stats::median;

/// Hosts that are begun with, for every torus.
const SEEDS: usize = 8;

/// The same once numbers are known.
const SEEDS_AGAIN: usize = 16;

/// States that are followed to their end.
const STARTS: usize = 6;

/// How often all is begun again.
const GENERATIONS: usize = 4;

/// How often numbers are told and hosts change places anew.
const ROUNDS: usize = 6;

/// How often hosts are taken away and their places filled anew, in a round.
const REPLACED: usize = 15;

/// Most hosts of which some are taken away.
const MOST_TO_REPLACE: usize = 128;

/// Most sweeps over all pairs of hosts.
const SWEEPS: usize = 20;

/// Least gain for which hosts change places.
const LEAST_GAIN: f32 = 0.01;

/// What is added to noise while places are looked for, in steps from one number of hops to the next: what is placed
/// nearly right should cost less than what is not.
const SOFTNESS: [f64; 2] = [0.5, 0.0];

/// Misfit up to which nothing better is looked for.
const GOOD: f64 = 1.0;

/// Share of what cells cost anywhere that is left where hosts are on no torus, at least.
const HOPELESS: f64 = 0.5;

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

    fn most_hops(&self) -> usize {
        usize::from(self.hops.iter().copied().max().unwrap_or(0))
    }
}

impl Places for Torus {
    const HAVE_UPLINKS: bool = false;

    fn of_hosts(&self) -> &[usize] {
        &self.place
    }

    fn kinds(&self) -> usize {
        self.most_hops() + 1
    }

    fn kind(&self, place: usize, other: usize) -> usize {
        self.hops(place, other)
    }

    /// What is farther takes no less.
    fn repair(&self, middles: &mut [f64]) {
        let mut least = f64::NEG_INFINITY;
        for middle in &mut middles[1..] {
            least = if *middle > least { *middle } else { least };
            *middle = least;
        }
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

/// What every pair costs at every number of hops, less what is usual for it: the mean over all numbers of hops, as
/// often as they are. Pairs that were not measured cost 0 wherever they are.
struct Costs {
    hosts: usize,
    kinds: usize,
    /// `[host * hosts * kinds + host * kinds + hops]`.
    of_pair: Vec<f32>,
    /// What is usual for all pairs together.
    usual: f64,
}

impl Costs {
    fn of_numbers(known: &[Known], numbers: &[Numbers], hops: &[u8], softness: f64) -> Self {
        let share = shares(hops);
        let (hosts, kinds) = (known[0].rows.len(), share.len());
        let mut costs = Self { hosts, kinds, of_pair: vec![0.0; hosts * hosts * kinds], usual: 0.0 };
        for (known, numbers) in known.iter().zip(numbers) {
            let step = (numbers.level[kinds - 1] - numbers.level[1]) / (kinds - 1) as f64;
            let more = if step.is_nan() { 0.0 } else { (softness * step).powi(2) };
            for (i, cell) in known.pairs() {
                let rest = cell.value - numbers.host[i] - numbers.host[cell.other];
                let weight = 1.0 / (1.0 / cell.weight + more);
                let of_kind: Vec<f64> = numbers.level.iter().map(|level| of_rest(rest - level, weight)).collect();
                let usual: f64 = of_kind.iter().zip(&share).map(|(cost, share)| cost * share).sum();
                costs.usual += usual;
                for (from, to) in [(i, cell.other), (cell.other, i)] {
                    let of_pair = &mut costs.of_pair[(from * hosts + to) * kinds..][..kinds];
                    of_pair.iter_mut().zip(&of_kind).for_each(|(all, cost)| *all += (cost - usual) as f32);
                }
            }
        }
        costs
    }

    /// Of one pair, `[hops]`.
    fn of(&self, host: usize, other: usize) -> &[f32] {
        &self.of_pair[(host * self.hosts + other) * self.kinds..][..self.kinds]
    }
}

/// A torus with the numbers that go with it, `[band]`.
#[derive(Clone)]
struct State {
    torus: Torus,
    numbers: Vec<Numbers>,
    cost: f64,
}

/// Share of the ordered pairs of places, those with so many hops, `[kind]`.
fn shares(hops: &[u8]) -> Vec<f64> {
    let most = usize::from(hops.iter().copied().max().unwrap_or(0));
    let mut share = vec![0.0; most + 1];
    hops.iter().for_each(|hops| share[usize::from(*hops)] += 1.0);
    share[0] = 0.0;
    let all: f64 = share.iter().sum();
    share.into_iter().map(|share| share / all).collect()
}

/// Levels by which as many pairs have each number of hops as there are.
fn first_numbers(known: &Known, share: &[f64]) -> Numbers {
    let hosts = known.rows.len();
    let mut numbers = Numbers::of(known, &Groups::of(&vec![0; hosts]));
    let mut values: Vec<f64> =
        known.pairs().map(|(i, cell)| cell.value - numbers.host[i] - numbers.host[cell.other]).collect();
    values.sort_unstable_by(f64::total_cmp);
    let mut from = 0.0;
    numbers.level = share
        .iter()
        .map(|share| {
            let first = from * values.len() as f64;
            from += share;
            let last = (from * values.len() as f64).ceil() as usize;
            let some = &values[(first as usize).min(values.len() - 1)..last.clamp(1, values.len())];
            median(&mut some.to_vec())
        })
        .collect();
    numbers
}

impl State {
    fn of(known: &[Known], torus: Torus, mut numbers: Vec<Numbers>) -> Self {
        numbers.iter_mut().zip(known).for_each(|(numbers, known)| numbers.find(known, &torus));
        let of_bands: f64 = numbers.iter().zip(known).map(|(numbers, known)| numbers.cost(known, &torus)).sum();
        let cost = of_bands + 2.0 * ln_factorial(torus.places() as u64);
        Self { torus, numbers, cost }
    }

    /// As in [`Explained`].
    fn misfit(&self, known: &[Known]) -> f64 {
        let cells: usize = known.iter().map(|known| known.pairs().count()).sum();
        let taken = known.len() * (self.torus.places() + self.torus.kinds() - 1);
        let of_band = |(numbers, known): (&Numbers, &Known)| numbers.cost_of_cells(known, &self.torus);
        self.numbers.iter().zip(known).map(of_band).sum::<f64>() / cells.saturating_sub(taken) as f64
    }

    /// What cells cost, as a share of what they would cost anywhere.
    fn left(&self, known: &[Known]) -> f64 {
        let costs = Costs::of_numbers(known, &self.numbers, &self.torus.hops, SOFTNESS[0]);
        1.0 + f64::from(total(&self.torus, &costs)) / costs.usual
    }

    /// Tori with these numbers, with what cells cost; the best first. Each of so many begins with another host, from
    /// the `first` on.
    fn begun(
        known: &[Known],
        hops: &Arc<[u8]>,
        numbers: &[Numbers],
        (seeds, first): (usize, usize),
        softness: f64,
    ) -> Vec<(f64, Torus)> {
        let costs = Costs::of_numbers(known, numbers, hops, softness);
        let hosts = costs.hosts;
        let seeds = seeds.min(hosts);
        let from = |seed: usize| {
            let mut torus = filled(hops, &[((seed * hosts / seeds + first) % hosts, 0)], &costs);
            exchange(&mut torus, &costs);
            (costs.usual + f64::from(total(&torus, &costs)), torus)
        };
        let mut found: Vec<(f64, Torus)> = (0..seeds).into_par_iter().map(from).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }

    /// Hosts change places as long as that is better, and numbers with them. With a `generation`, some are taken away
    /// besides, others in every generation.
    fn settled(mut self, known: &[Known], generation: Option<usize>) -> Self {
        let mut rng = generation.map(|generation| ChaCha8Rng::seed_from_u64(generation as u64));
        for round in 0..ROUNDS {
            let softness = SOFTNESS[round.min(SOFTNESS.len() - 1)];
            let costs = Costs::of_numbers(known, &self.numbers, &self.torus.hops, softness);
            let mut torus = self.torus.clone();
            let mut is_changed = exchange(&mut torus, &costs);
            is_changed |= rng.as_mut().is_some_and(|rng| replace(&mut torus, &costs, rng));
            if is_changed {
                let next = Self::of(known, torus, self.numbers.clone());
                if next.cost < self.cost {
                    self = next;
                }
            } else if round >= SOFTNESS.len() {
                break;
            }
        }
        self
    }

    /// The best of other tori with these numbers, others in every generation.
    fn again(&self, known: &[Known], generation: usize) -> Option<Self> {
        let begun = |softness: &f64| {
            let seeds = (SEEDS_AGAIN, generation);
            let found = Self::begun(known, &self.torus.hops, &self.numbers, seeds, *softness);
            found.into_iter().take(STARTS / 2).map(|(_, torus)| Self::of(known, torus, self.numbers.clone()))
        };
        let begun: Vec<Self> = SOFTNESS.iter().flat_map(begun).collect();
        best(begun.into_par_iter().map(|start| start.settled(known, Some(generation))))
    }
}

fn best(states: impl ParallelIterator<Item = State>) -> Option<State> {
    states.min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// What a host would cost at every place, `[host * hosts + place]`.
fn scores(torus: &Torus, costs: &Costs) -> Vec<f32> {
    let hosts = torus.places();
    let mut scores = vec![0.0; hosts * hosts];
    for (host, row) in scores.chunks_mut(hosts).enumerate() {
        for (other, &at) in torus.place.iter().enumerate().filter(|(other, _)| *other != host) {
            let of_pair = costs.of(host, other);
            row.iter_mut().zip(torus.from(at)).for_each(|(score, hops)| *score += of_pair[usize::from(*hops)]);
        }
    }
    scores
}

/// Lets two hosts change places as long as that is better; whether any did.
fn exchange(torus: &mut Torus, costs: &Costs) -> bool {
    let hosts = torus.places();
    let mut scores = scores(torus, costs);
    let mut is_changed = false;
    for _ in 0..SWEEPS {
        let mut is_better = false;
        for (a, b) in (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b))) {
            let (of_a, of_b) = (torus.place[a], torus.place[b]);
            let score = |host: usize, place: usize| scores[host * hosts + place];
            // Their own pair stays as long as it is: neither comes to be where the other one was.
            let of_pair = costs.of(a, b);
            let more = score(a, of_b) + score(b, of_a) - score(a, of_a) - score(b, of_b)
                + 2.0 * (of_pair[torus.hops(of_a, of_b)] - of_pair[0]);
            if more >= -LEAST_GAIN {
                continue;
            }
            torus.place.swap(a, b);
            is_better = true;
            for (host, row) in scores.chunks_mut(hosts).enumerate() {
                for (moved, from, to) in [(a, of_a, of_b), (b, of_b, of_a)] {
                    if host != moved {
                        let of_pair = costs.of(host, moved);
                        let hops = torus.from(from).iter().zip(torus.from(to));
                        row.iter_mut().zip(hops).for_each(|(score, (before, after))| {
                            *score += of_pair[usize::from(*after)] - of_pair[usize::from(*before)];
                        });
                    }
                }
            }
        }
        is_changed |= is_better;
        if !is_better {
            break;
        }
    }
    is_changed
}

/// Fills places next to those of `some` hosts, each with its place; the clearest first.
fn filled(hops: &Arc<[u8]>, some: &[(usize, usize)], costs: &Costs) -> Torus {
    let hosts = costs.hosts;
    let mut torus = Torus { hops: hops.clone(), place: vec![NOWHERE; hosts] };
    let mut is_open = vec![false; hosts];
    let mut is_taken = vec![false; hosts];
    let mut scores = vec![0.0f32; hosts * hosts];
    let mut next = some.to_vec();
    some.iter().for_each(|(host, at)| torus.place[*host] = *at);
    while let Some((host, at)) = next.pop() {
        torus.place[host] = at;
        is_taken[at] = true;
        for other in (0..hosts).filter(|other| torus.place[*other] == NOWHERE) {
            let of_pair = costs.of(other, host);
            let row = &mut scores[other * hosts..][..hosts];
            row.iter_mut().zip(torus.from(at)).for_each(|(score, hops)| *score += of_pair[usize::from(*hops)]);
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
    score: f32,
    /// By how much the next one costs more.
    margin: f32,
}

fn who_fits(to: usize, torus: &Torus, scores: &[f32]) -> Fits {
    let hosts = torus.places();
    let mut fits = Fits { host: NOWHERE, score: f32::INFINITY, margin: f32::INFINITY };
    let mut second = f32::INFINITY;
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

/// What all pairs cost, less what is usual.
fn total(torus: &Torus, costs: &Costs) -> f32 {
    let hosts = torus.places();
    let pairs = (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b)));
    pairs.map(|(a, b)| costs.of(a, b)[torus.hops(torus.place[a], torus.place[b])]).sum()
}

/// Takes some hosts away and fills their places anew, where that is better; whether it was.
fn replace(torus: &mut Torus, costs: &Costs, rng: &mut ChaCha8Rng) -> bool {
    let hosts = torus.places();
    let mut least = total(torus, costs);
    let mut is_better = false;
    let mut order: Vec<usize> = (0..hosts).collect();
    for share in [0.75, 0.5, 0.25].into_iter().cycle().take(REPLACED) {
        order.shuffle(rng);
        let kept = ((share * hosts as f64) as usize).max(1);
        let some: Vec<(usize, usize)> = order[..kept].iter().map(|host| (*host, torus.place[*host])).collect();
        let mut next = filled(&torus.hops, &some, costs);
        exchange(&mut next, costs);
        let cost = total(&next, costs);
        if cost < least - LEAST_GAIN {
            (least, *torus, is_better) = (cost, next, true);
        }
    }
    is_better
}

/// How well a torus explains what there is.
pub struct Explained {
    /// Number of hops between hosts, `[host * hosts + host]`.
    pub hops: Vec<u8>,
    /// As a sum of squares in units of noise, with what the torus itself costs.
    pub cost: f64,
    /// Mean square of what is left of a cell, in units of noise, outliers taken back; less for every number that was
    /// taken from the cells.
    pub misfit: f64,
}

/// The torus that explains most. `None` where nothing is known, or where hosts are on no torus.
pub fn explain(bands: &[Band]) -> Option<Explained> {
    let known: Vec<Known> = bands.iter().map(Known::of).collect();
    let hosts = bands[0].first.side();
    if known.iter().any(|known| known.pairs().next().is_none()) {
        return None;
    }
    let mut begun: Vec<(f64, Torus, Vec<Numbers>)> = Vec::new();
    for sides in all_sides(hosts) {
        let hops = hops(&sides);
        let share = shares(&hops);
        let numbers: Vec<Numbers> = known.iter().map(|known| first_numbers(known, &share)).collect();
        let found = State::begun(&known, &hops, &numbers, (SEEDS, 0), SOFTNESS[0]);
        begun.extend(found.into_iter().map(|(cost, torus)| (cost, torus, numbers.clone())));
    }
    begun.sort_by(|a, b| a.0.total_cmp(&b.0));
    begun.truncate(STARTS);
    let started = begun.into_par_iter().map(|(_, torus, numbers)| State::of(&known, torus, numbers));
    let states: Vec<State> = started.map(|state| state.settled(&known, None)).collect();
    let mut found = best(states.par_iter().cloned())?;
    if found.misfit(&known) > GOOD && found.left(&known) > HOPELESS {
        return None;
    }
    if found.misfit(&known) > GOOD && hosts <= MOST_TO_REPLACE {
        found = best(states.into_par_iter().map(|state| state.settled(&known, Some(0))))?;
        for generation in 1..=GENERATIONS {
            if found.misfit(&known) <= GOOD {
                break;
            }
            let next = found.again(&known, generation);
            found = next.filter(|next| next.cost < found.cost).unwrap_or(found);
        }
    }
    let torus = &found.torus;
    let pairs = (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j)));
    let hops = pairs.map(|(i, j)| torus.hops[torus.place[i] * hosts + torus.place[j]]).collect();
    Some(Explained { hops, cost: found.cost, misfit: found.misfit(&known) })
}

#[cfg(test)]
mod tests;

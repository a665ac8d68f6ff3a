//! Hosts on a torus, whose ways take as long as they have hops.
//!
//! In: [`Pairs`]. Out: how many hops there are between every two hosts, and how well that describes the times. A torus
//! has few levels, one for each number of hops, and every host has a place that no other one has.
//!
//! The sides are not known: all that give as many places as there are hosts are tried. From a first host on, places are
//! filled with the host that fits best, the clearest first; then hosts change places as long as that is better.

use std::sync::Arc;

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{fit::EFFICIENCY, tree::Pairs};
use crate::{
    analysis::diagnose::ranks::LEAST_NOISE,
    stats::{median, scatter_about_zero},
};

/// Hosts that are placed for every torus, all beginnings together: from every host of 64, from fewer of more.
const PLACED: usize = 64 * 64;

/// States that are followed to their end.
const STARTS: usize = 24;

/// How often numbers are told and hosts change places anew.
const ROUNDS: usize = 6;

/// Shares of the hosts that keep their places while those of the others are filled anew.
const KEPT: [f64; 6] = [0.75, 0.5, 0.25, 0.75, 0.5, 0.25];

/// Most sweeps over all pairs of hosts.
const SWEEPS: usize = 20;

/// Least gain for which hosts change places: more than what sums err by.
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

/// What explains the times: what it takes at every number of hops, what every host adds, and the mean misfit.
#[derive(Clone)]
struct Numbers {
    /// `[hops]`.
    level: Vec<f64>,
    /// `[host]`.
    own: Vec<f64>,
    misfit: f64,
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
        // As wide as from one level to the next: nobody knows yet who is where.
        let steps = (share.len() - 1).max(1) as f64;
        let misfit = ((rests[rests.len() - 1] - rests[0]) / steps).max(f64::MIN_POSITIVE);
        Self { level, own, misfit }
    }
}

/// What every pair costs at every number of hops. Pairs that were not measured cost 0 wherever they are.
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
                let cost = ((rest - level).abs() / numbers.misfit) as f32;
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
        let rest = |(i, j, time): &(usize, usize, f64)| time - level[torus.between(*i, *j)] - own[*i] - own[*j];
        let misfit = pairs.mean_misfit(rest).max(f64::MIN_POSITIVE);
        let cost = pairs.cost_of(misfit);
        Self { torus, numbers: Numbers { level, own, misfit }, cost }
    }

    /// Hosts change places as long as that is better, and numbers with them.
    fn settled(mut self, pairs: &Pairs) -> Self {
        for _ in 0..ROUNDS {
            let mut torus = self.torus.clone();
            let is_changed = exchange(&mut torus, &Costs::of(pairs, &self.numbers));
            let next = Self::of(pairs, torus, &self.numbers.own);
            if !is_changed || next.cost >= self.cost {
                break;
            }
            self = next;
        }
        self
    }

    /// Standard deviation of what is left of most pairs.
    fn usual_misfit(&self, pairs: &Pairs) -> f64 {
        let Numbers { level, own, .. } = &self.numbers;
        let misfit = |(i, j, time): &(usize, usize, f64)| time - level[self.torus.between(*i, *j)] - own[*i] - own[*j];
        scatter_about_zero(&mut pairs.known.iter().map(misfit).collect::<Vec<_>>())
    }

    /// With these numbers: places filled anew from every of some hosts, all or a part of them.
    fn again(&self, pairs: &Pairs, rng: &mut ChaCha8Rng) -> Option<Self> {
        let costs = Costs::of(pairs, &self.numbers);
        let hosts = pairs.hosts;
        let mut starts: Vec<Vec<(usize, usize)>> = seeds(hosts).map(|host| vec![(host, 0)]).collect();
        let mut order: Vec<usize> = (0..hosts).collect();
        for share in KEPT {
            order.shuffle(rng);
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
    let known = || level.iter().zip(share).enumerate().filter(|(_, (level, _))| !level.is_nan());
    let weight: f64 = known().map(|(_, (_, share))| share).sum();
    let mean = |value: &dyn Fn(f64, f64) -> f64| {
        known().map(|(hops, (level, share))| share * value(hops as f64, *level)).sum::<f64>() / weight
    };
    let (hops, usual) = (mean(&|hops, _| hops), mean(&|_, level| level));
    let spread = mean(&|own, _| (own - hops).powi(2));
    let step = if spread > 0.0 { mean(&|own, level| (own - hops) * (level - usual)) / spread } else { 0.0 };
    (0..level.len()).map(|own| usual + step.max(0.0) * (own as f64 - hops)).collect()
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
            let of_pair = costs.of_pair(a, b);
            let more = score(a, of_b) + score(b, of_a) - score(a, of_a) - score(b, of_b)
                + 2.0 * f64::from(of_pair[torus.hops(of_a, of_b)] - of_pair[0]);
            if more >= -LEAST_GAIN {
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

/// What a torus may leave of a pair, as a share of the noise: what is not understood is at most as much again.
const UNDERSTOOD: f64 = std::f64::consts::SQRT_2;

/// Number of hops between hosts, `[host * hosts + host]`, of the torus that describes the times best; `None` where that
/// description is not shorter than `most` ([`Pairs::cost`]), or leaves more than noise. `noise`: standard deviation of a
/// pair.
pub fn explain(pairs: &Pairs, noise: f64, most: f64) -> Option<Vec<u8>> {
    let hosts = pairs.hosts;
    if pairs.known.len() <= hosts {
        return None;
    }
    let mut states: Vec<State> = Vec::new();
    for sides in all_sides(hosts) {
        let hops = hops(&sides);
        let numbers = Numbers::first(pairs, &shares(&hops));
        let costs = Costs::of(pairs, &numbers);
        let from = |host: usize| {
            let mut torus = filled(&hops, &[(host, 0)], &costs);
            exchange(&mut torus, &costs);
            State::of(pairs, torus, &numbers.own)
        };
        states.par_extend(seeds(hosts).collect::<Vec<_>>().into_par_iter().map(from));
    }
    states.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    states.truncate(STARTS);
    let mut found = best(states.into_par_iter().map(|state| state.settled(pairs)))?;
    if found.cost >= most {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..ROUNDS {
        match found.again(pairs, &mut rng) {
            Some(next) if next.cost < found.cost => found = next,
            _ => break,
        }
    }
    // Two scatters that are compared: the logarithm of each errs by 1 / sqrt(2 n).
    let free = EFFICIENCY * (pairs.known.len() - hosts) as f64;
    let usual = median(&mut pairs.known.iter().map(|pair| pair.2).collect::<Vec<_>>());
    let noise = noise.max(LEAST_NOISE * usual);
    (found.usual_misfit(pairs) <= UNDERSTOOD * noise * (1.0 + 2.0 / free.sqrt())).then_some(())?;
    Some((0..hosts * hosts).map(|cell| found.torus.between(cell / hosts, cell % hosts) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{
        drawn::{self, generator, leaves, lose_pairs, normal, symmetric},
        square::Square,
    };

    /// Times on a torus with noise of 2 % and every hop a tenth more, of which a share of the pairs is missing; and the
    /// hops. `more(i, j)`: what a pair takes besides.
    fn drawn(sides: [usize; 3], missing: f64, seed: u64, more: impl Fn(usize, usize) -> f64) -> (Pairs, Vec<u8>) {
        let mut rng = generator(seed);
        let hops = drawn::torus(sides, &mut rng);
        let mut times = symmetric(hops.len(), |i, j| 1.0 + 0.1 * hops[i][j] + more(i, j) + 0.02 * normal(&mut rng));
        lose_pairs(&mut [&mut times], missing, &mut rng);
        (Pairs::of(&times), hops.into_iter().flatten().map(|hops| hops as u8).collect())
    }

    /// What all pairs cost.
    fn total(torus: &Torus, costs: &Costs) -> f64 {
        let hosts = torus.places();
        let pairs = (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b)));
        pairs.map(|(a, b)| f64::from(costs.of_pair(a, b)[torus.between(a, b)])).sum()
    }

    /// How long a description is without any structure.
    fn flat(pairs: &Pairs) -> f64 {
        pairs.cost(|_, _| 0, 1).0
    }

    #[test]
    fn places_are_found_from_two_thirds_of_the_pairs() {
        for (seed, sides) in [[4, 4, 4], [5, 3, 2], [3, 3, 3], [8, 4, 1], [5, 4, 3]].into_iter().enumerate() {
            for missing in [0.0, 0.33] {
                let (pairs, hops) = drawn(sides, missing, seed as u64, |_, _| 0.0);
                assert!(explain(&pairs, 0.02, flat(&pairs)) == Some(hops), "{sides:?} {missing}");
            }
        }
    }

    #[test]
    fn slow_hosts_and_slow_pairs_move_nobody() {
        let slow = |host: usize| if host == 3 { 0.4 } else { 0.0 };
        let pair = |i: usize, j: usize| if i + j == 9 { 1.0 } else { 0.0 };
        for missing in [0.0, 0.33] {
            let (pairs, hops) = drawn([4, 4, 2], missing, 1, |i, j| slow(i) + slow(j) + pair(i, j));
            assert!(explain(&pairs, 0.02, flat(&pairs)) == Some(hops), "{missing}");
        }
    }

    #[test]
    fn what_is_no_torus_is_described_better_by_what_it_is() {
        let mut rng = generator(3);
        let leaf = leaves(&[11, 7, 14], &mut rng);
        let far = |i: usize, j: usize| usize::from(leaf[i] != leaf[j]);
        let pairs = Pairs::of(&symmetric(32, |i, j| 1.0 + 0.5 * far(i, j) as f64 + 0.03 * normal(&mut rng)));
        assert!(explain(&pairs, 0.03, pairs.cost(far, 2).0).is_none());
        let way = symmetric(32, |_, _| normal(&mut rng));
        assert!(explain(&Pairs::of(&way), 0.02, f64::INFINITY).is_none());
        let pairs = Pairs::of(&Square::missing(12));
        assert!(explain(&pairs, 0.02, f64::INFINITY).is_none());
    }

    #[test]
    fn sides_are_all_that_give_as_many_places() {
        assert_eq!(all_sides(12), [vec![12], vec![6, 2], vec![3, 2, 2]]);
        assert_eq!(all_sides(16), [vec![16], vec![8, 2], vec![2, 2, 2, 2]]);
        assert_eq!(all_sides(13), [[13]]);
        assert!((2..200).all(|hosts| all_sides(hosts).iter().all(|sides| sides.iter().product::<usize>() == hosts)));
    }

    #[test]
    fn hops_go_the_shorter_way_round_every_ring() {
        let hops = hops(&[5, 2]);
        assert_eq!(hops[..10], [0, 1, 2, 2, 1, 1, 2, 3, 3, 2]);
        assert!((0..100).all(|place| hops[place] == hops[place % 10 * 10 + place / 10]));
        assert_eq!(shares(&hops), [0.0, 30.0 / 90.0, 40.0 / 90.0, 20.0 / 90.0]);
    }

    #[test]
    fn after_hosts_have_changed_places_no_two_would_do_better() {
        let (pairs, _) = drawn([3, 3, 2], 0.4, 6, |_, _| 0.0);
        let hops = hops(&[3, 3, 2]);
        let costs = Costs::of(&pairs, &Numbers::first(&pairs, &shares(&hops)));
        let mut torus = Torus { hops, place: (0..18).collect() };
        let before = total(&torus, &costs);
        assert!(exchange(&mut torus, &costs));
        let after = total(&torus, &costs);
        assert!(after < before, "{after} {before}");
        for (a, b) in (0..18).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let mut next = torus.clone();
            next.place.swap(a, b);
            assert!(total(&next, &costs) > after - 2.0 * LEAST_GAIN, "{a} {b}");
        }
    }

    #[test]
    fn every_place_is_filled_and_hosts_that_have_one_keep_it() {
        let (pairs, _) = drawn([4, 2, 2], 0.5, 7, |_, _| 0.0);
        let hops = hops(&[2, 2, 2, 2]);
        let costs = Costs::of(&pairs, &Numbers::first(&pairs, &shares(&hops)));
        for some in [vec![(5, 0)], vec![(0, 15), (9, 3), (12, 8)]] {
            let torus = filled(&hops, &some, &costs);
            assert!(some.iter().all(|(host, place)| torus.place[*host] == *place));
            let mut places = torus.place.clone();
            places.sort_unstable();
            assert_eq!(places, (0..16).collect::<Vec<_>>());
        }
    }
}

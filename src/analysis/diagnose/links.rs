//! Pairs that are slower than their ends and their groups explain.
//!
//! In: the rest of a [`Fit`]. Out: [`Suspect`] pairs. A single cell is often disturbed by chance; what tells a fault is
//! that several lengths, or both directions, agree on a size that one cause would have. How often chance brings such an
//! agreement is counted in the run itself: the share of cells at each length that depart as much.

use rayon::prelude::*;
use statrs::function::factorial::binomial;

use super::{Direction, model::Fit};
use crate::stats::median_of;

/// A slow pair.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// Source and destination; where both directions are slow, the lower number first.
    pub pair: (usize, usize),
    /// `Send`: from the first to the second only.
    pub direction: Direction,
    /// By how much, `ln(ratio)`, over the range.
    pub effect: f64,
    /// First and last length of the range.
    pub range: (usize, usize),
    /// How many such pairs chance would bring into a healthy run.
    pub by_chance: f64,
    /// Whether its two directions tell that it is no matter of structure: only one of them is slow.
    pub is_lopsided: bool,
}

impl Suspect {
    /// Both directions, if the other one is slow as well, although not in a way that one cause would explain.
    /// `other`: rests of the other direction, `[length]`.
    fn with_other_way(self, other: &[f64]) -> Self {
        let (first, last) = self.range;
        let other = median_of(other[first..=last].iter().copied(), &mut Vec::new());
        if self.direction == Direction::Both || other.is_nan() || other < BOTH_WAYS * self.effect {
            return self;
        }
        let pair = (self.pair.0.min(self.pair.1), self.pair.0.max(self.pair.1));
        Self { pair, direction: Direction::Both, effect: (self.effect + other) / 2.0, is_lopsided: false, ..self }
    }
}

/// Share of one direction's effect that makes the other one slow as well.
const BOTH_WAYS: f64 = 0.3;

/// Least `ln(ratio)` of a pair that is reported.
const LEAST_EFFECT: f64 = 0.14;

/// Least tolerance of a cell's departure from what one cause would make of it, `ln(ratio)`.
const LEAST_TOLERANCE: f64 = 0.03;

/// Share of what a cause predicts from which on a length that departs from it does not contradict it.
const STILL_SLOW: f64 = 0.4;

/// Least departure of a cell that counts, in standard deviations of the noise.
const LEAST_SCORE: f64 = 4.0;

/// What the rest of one direction says about it, at one length.
#[derive(Clone, Copy)]
struct Reading {
    /// Weight of the rest of the mean; the difference has the other part of 2.
    of_mean: f64,
    /// Standard deviation of what is read.
    noise: f64,
}

impl Reading {
    /// As both directions are independent: their rests, added.
    fn of_each(fit: &Fit, length: usize) -> Self {
        let of = &fit.lengths[length];
        Self { of_mean: 1.0, noise: of.noise.hypot(of.side_noise) }
    }

    /// If only one direction is slow, by `e`, the mean and the difference are `e / 2` each: they are weighted by their
    /// precision, which is the better one for the difference where structure is not known exactly.
    fn of_one_way(fit: &Fit, length: usize) -> Self {
        let of = &fit.lengths[length];
        let (mean, side) = (of.noise.powi(-2), of.side_noise.powi(-2));
        Self { of_mean: 2.0 * mean / (mean + side), noise: 2.0 / (mean + side).sqrt() }
    }

    fn at(self, fit: &Fit, length: usize, from: usize, to: usize) -> f64 {
        let side = fit.side_rest[length].at(from, to);
        let mean = fit.rest[length].at(from, to);
        if side.is_nan() { mean } else { self.of_mean * mean + (2.0 - self.of_mean) * side }
    }

    /// The readings of all that a host sends.
    fn of_row(self, fit: &Fit, length: usize, from: usize) -> impl Iterator<Item = f32> {
        let (of_mean, of_side) = (self.of_mean as f32, (2.0 - self.of_mean) as f32);
        let rests = fit.rest[length].row(from).iter().zip(fit.side_rest[length].row(from));
        rests.map(move |(mean, side)| if side.is_nan() { *mean } else { of_mean * mean + of_side * side })
    }

    /// Least reading that departs by more than noise.
    fn limit(self) -> f64 {
        (LEAST_SCORE * self.noise).max(LEAST_EFFECT / 2.0)
    }
}

/// How the rests of all cells of a length are distributed: what chance brings.
struct Chance {
    /// Cells that depart by at least so many steps, `[step]`.
    at_least: Vec<u32>,
    cells: f64,
}

/// Width of a step, `ln(ratio)`, and the number of steps: all that depart by more are in the last one.
const STEP: f64 = 0.001;
const STEPS: usize = 4096;

impl Chance {
    fn of(fit: &Fit, length: usize, reading: Reading) -> Self {
        let count = |mut counts: Vec<u32>, i: usize| {
            let departures = reading.of_row(fit, length, i).filter(|rest| *rest > 0.0);
            departures.for_each(|rest| counts[((rest / STEP as f32) as usize).min(STEPS - 1)] += 1);
            counts
        };
        let none = || vec![0u32; STEPS];
        let add = |mut a: Vec<u32>, b: Vec<u32>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let mut at_least = (0..fit.hosts()).into_par_iter().with_min_len(ROWS).fold(none, count).reduce(none, add);
        (0..STEPS - 1).rev().for_each(|step| at_least[step] += at_least[step + 1]);
        let cells = fit.cells[length].iter().sum::<usize>() as f64;
        Self { at_least, cells }
    }

    /// The share of cells that depart by `low..high` beside the one that is asked about, never nothing (half a cell:
    /// Jeffreys' estimate).
    fn between(&self, low: f64, high: f64) -> f64 {
        let above = |limit: f64| f64::from(self.at_least[((limit.max(0.0) / STEP) as usize).min(STEPS - 1)]);
        ((above(low) - above(high) - 1.0).max(0.0) + 0.5) / self.cells.max(1.0)
    }
}

/// How rests are read at every length, and how often chance brings them.
struct Readings {
    reading: Vec<Reading>,
    chance: Vec<Chance>,
}

impl Readings {
    fn of(fit: &Fit, reading: fn(&Fit, usize) -> Reading) -> Self {
        let reading: Vec<Reading> = (0..fit.lengths.len()).map(|length| reading(fit, length)).collect();
        let chance = reading.iter().enumerate().map(|(length, reading)| Chance::of(fit, length, *reading)).collect();
        Self { reading, chance }
    }

    fn series(&self, fit: &Fit, from: usize, to: usize) -> Vec<f64> {
        self.reading.iter().enumerate().map(|(length, reading)| reading.at(fit, length, from, to)).collect()
    }
}

/// Rows that are worth a task of their own.
const ROWS: usize = 32;

/// At how many lengths each ordered pair departs by more than noise, read in either way,
/// `[source * hosts + destination]`; more than 255 count as so many.
fn count_high(fit: &Fit, readings: [fn(&Fit, usize) -> Reading; 2]) -> Vec<[u8; 2]> {
    let hosts = fit.hosts();
    let lengths = 0..fit.lengths.len();
    let readings: Vec<[Reading; 2]> = lengths.map(|length| readings.map(|reading| reading(fit, length))).collect();
    let mut high = vec![[0; 2]; hosts * hosts];
    high.par_chunks_mut(hosts).with_min_len(ROWS).enumerate().for_each(|(from, high)| {
        let mut counts = [vec![0u32; hosts], vec![0u32; hosts]];
        for (length, readings) in readings.iter().enumerate() {
            for (counts, reading) in counts.iter_mut().zip(readings) {
                let limit = reading.limit() as f32;
                let row = reading.of_row(fit, length, from);
                counts.iter_mut().zip(row).for_each(|(count, value)| *count += u32::from(value > limit));
            }
        }
        for (to, high) in high.iter_mut().enumerate() {
            *high = counts.each_ref().map(|counts| counts[to].min(255) as u8);
        }
    });
    high
}

/// Pairs of judged hosts that depart by more than noise at two lengths, or both ways at one: most do not, and of the
/// others all is looked at.
fn candidates(fit: &Fit, judged: &[usize]) -> Vec<(usize, usize)> {
    let hosts = fit.hosts();
    let high = count_high(fit, [Reading::of_each, Reading::of_one_way]);
    let is_high = |&(i, j): &(usize, usize)| {
        let ([each, one_way], [each_back, one_way_back]) = (high[i * hosts + j], high[j * hosts + i]);
        each.saturating_add(each_back).max(one_way).max(one_way_back) >= 2
    };
    let pairs = judged.iter().enumerate().flat_map(|(n, &i)| judged[n + 1..].iter().map(move |&j| (i, j)));
    pairs.filter(is_high).collect()
}

/// All slow pairs, those that are least likely by chance first. `is_known[host]`: the host is slow by itself.
/// `level`: median time, seconds, `[length]`; `bytes`: `[length]`; `partners`: least partners of each end.
pub fn find(fit: &Fit, level: &[f64], bytes: &[f64], is_known: &[bool], partners: usize) -> Vec<Suspect> {
    let hosts = fit.hosts();
    let lengths = fit.lengths.len();
    // With few partners, a host's own effect is not known well enough to be told from a pair's.
    let partners = partners.min(hosts - 1);
    let is_judged = |host: &usize| !is_known[*host] && fit.cells.iter().any(|cells| cells[*host] >= partners);
    let candidates = candidates(fit, &(0..hosts).filter(is_judged).collect::<Vec<_>>());
    if candidates.is_empty() {
        return Vec::new();
    }
    let (each, one_way) = (Readings::of(fit, Reading::of_each), Readings::of(fit, Reading::of_one_way));
    let pairs: f64 = each.chance.iter().map(|chance| chance.cells).fold(0.0, f64::max);
    let of_pair = |&(i, j): &(usize, usize)| {
        let seconds = |from, to| (0..lengths).map(|l| level[l] * fit.usual(l, from, to).exp()).collect::<Vec<f64>>();
        let judge = |from, to| (each.series(fit, from, to), one_way.series(fit, from, to));
        let (there, back) = (judge(i, j), judge(j, i));
        let of_each = |series: &[f64], from, to| explain(series, &seconds(from, to), bytes, &each);
        let alone = |series: &[f64], from, to| explain(series, &seconds(from, to), bytes, &one_way);
        // A direction that was not measured says nothing.
        let measured = (!fit.one_way.contains(&(j, i)), !fit.one_way.contains(&(i, j)));
        let both = (of_each(&there.0, i, j).filter(|_| measured.0), of_each(&back.0, j, i).filter(|_| measured.1));
        let one = (alone(&there.1, i, j).filter(|_| measured.0), alone(&back.1, j, i).filter(|_| measured.1));
        let found = combine((i, j), both, one, pairs)?;
        if !(measured.0 && measured.1) {
            return Some(Suspect { is_lopsided: false, ..found });
        }
        let other = if found.pair == (i, j) { &back.0 } else { &there.0 };
        Some(found.with_other_way(other))
    };
    let mut suspects: Vec<Suspect> = candidates.par_iter().filter_map(of_pair).collect();
    suspects.sort_by(|a, b| a.by_chance.total_cmp(&b.by_chance));
    suspects
}

/// One direction: what explains it best, and the probability that chance brings it to one given cell.
#[derive(Clone, Copy, Debug)]
struct Judged {
    effect: f64,
    range: (usize, usize),
    chance: f64,
}

/// What makes a pair slow, and with it how its ratio depends on the length.
#[derive(Clone, Copy, Debug)]
enum Cause {
    /// The same ratio at every length.
    Everything,
    /// The same number of seconds at every length.
    Latency,
    /// Seconds in proportion to the length.
    Bandwidth,
    /// Both, by amounts that have nothing to do with each other.
    LatencyAndBandwidth,
}

const CAUSES: [Cause; 4] = [Cause::Everything, Cause::Latency, Cause::Bandwidth, Cause::LatencyAndBandwidth];

impl Cause {
    /// What a cause makes of every length, `ln(ratio)`, with the amount that explains a series of rests best; `None` if
    /// that is not slower. `seconds`: what the pair should take; `bytes`: the lengths.
    fn predict(self, series: &[f64], seconds: &[f64], bytes: &[f64]) -> Option<Vec<f64>> {
        let all = 0..series.len();
        // The amount in a unit in which it is the same at every length, from the lengths at which it would show most.
        let amount = |unit: &dyn Fn(usize) -> f64, without: &dyn Fn(usize) -> f64| {
            let is_there = |length: &usize| !series[*length].is_nan() && unit(*length) > 0.0;
            let largest = all.clone().filter(is_there).map(unit).fold(0.0, f64::max);
            let telling = all.clone().filter(is_there).filter(|length| unit(*length) > 0.5 * largest);
            let amount = median_of(
                telling.map(|length| (series[length].exp_m1() - without(length)) / unit(length)),
                &mut Vec::new(),
            );
            (amount > 0.0).then_some(amount)
        };
        let curve = |ratio: &dyn Fn(usize) -> f64| Some(all.clone().map(|length| ratio(length).ln_1p()).collect());
        let (constant, by_length) =
            (|length: usize| 1.0 / seconds[length], |length: usize| bytes[length] / seconds[length]);
        match self {
            Self::Everything => {
                let amount = amount(&|_| 1.0, &|_| 0.0)?;
                curve(&|_| amount)
            }
            Self::Latency => {
                let amount = amount(&constant, &|_| 0.0)?;
                curve(&|length| amount * constant(length))
            }
            Self::Bandwidth => {
                let amount = amount(&by_length, &|_| 0.0)?;
                curve(&|length| amount * by_length(length))
            }
            Self::LatencyAndBandwidth => {
                let latency = amount(&constant, &|_| 0.0)?;
                let per_byte = amount(&by_length, &|length| latency * constant(length))?;
                curve(&|length| latency * constant(length) + per_byte * by_length(length))
            }
        }
    }

    /// How many numbers it takes from the series that it explains.
    fn parameters(self) -> usize {
        if matches!(self, Self::LatencyAndBandwidth) { 2 } else { 1 }
    }
}

/// Best explanation of a series of rests, `[length]`, by one cause. `seconds`: what the pair should take.
fn explain(series: &[f64], seconds: &[f64], bytes: &[f64], readings: &Readings) -> Option<Judged> {
    let mut best: Option<(f64, Judged)> = None;
    for cause in CAUSES {
        let Some(curve) = cause.predict(series, seconds, bytes) else { continue };
        let (mut chance, mut of_others, mut least_chance, mut effect) = (1.0, 1.0, 1.0f64, 0.0f64);
        let (mut first, mut last) = (None, 0);
        let (mut agreeing, mut disagreeing) = (0, 0);
        for (length, &predicted) in curve.iter().enumerate().filter(|(length, _)| !series[*length].is_nan()) {
            let noise = readings.reading[length].noise;
            let tolerance = 3.0 * noise + 0.1 * predicted + LEAST_TOLERANCE;
            let departure = series[length] - predicted;
            if predicted < LEAST_SCORE * noise {
                // Nothing to be seen here, and nothing should be seen.
                disagreeing += usize::from(departure > tolerance.max(LEAST_SCORE * noise));
            } else if departure.abs() <= tolerance {
                agreeing += 1;
                let of_length = readings.chance[length].between(predicted - tolerance, predicted + tolerance);
                chance *= of_length;
                least_chance = least_chance.min(of_length);
                effect = effect.max(predicted);
                first = first.or(Some(length));
                last = length;
            } else if series[length] < STILL_SLOW * predicted {
                disagreeing += 1;
            } else {
                // It is slow here as well, by another amount: what its neighbours take is not known that well.
                of_others *= readings.chance[length].between(STILL_SLOW * predicted, f64::INFINITY);
                first = first.or(Some(length));
                last = length;
            }
        }
        // A length for every further number says nothing: it agrees by construction.
        if cause.parameters() > 1 {
            chance /= least_chance;
            agreeing -= agreeing.min(1);
        }
        let Some(first) = first.filter(|_| effect >= LEAST_EFFECT) else { continue };
        // Any of the lengths may be those that say otherwise.
        chance *= binomial((agreeing + disagreeing) as u64, disagreeing as u64);
        // Every length that says otherwise must have been disturbed itself.
        if disagreeing * 3 > agreeing || agreeing == 0 {
            continue;
        }
        // The cause is the one that the lengths agree on best, whatever else they show.
        if best.is_none_or(|(least, _)| chance < least) {
            best = Some((chance, Judged { effect, range: (first, last), chance: chance * of_others }));
        }
    }
    best.map(|(_, judged)| judged)
}

/// What two directions say together. `each`: taken as independent of each other; `alone`: supposing that the other one
/// is not slow.
fn combine(
    pair: (usize, usize),
    each: (Option<Judged>, Option<Judged>),
    alone: (Option<Judged>, Option<Judged>),
    pairs: f64,
) -> Option<Suspect> {
    // Causes that were tried.
    let trials = CAUSES.len() as f64;
    if let (Some(x), Some(y)) = each {
        let (slower, other) = if x.effect > y.effect { (x, y) } else { (y, x) };
        if other.effect > BOTH_WAYS * slower.effect {
            let range = if x.chance < y.chance { x.range } else { y.range };
            let effect = (x.effect + y.effect) / 2.0;
            // Given one direction, the other one departs by chance alone.
            let by_chance = trials * pairs / 2.0 * x.chance * y.chance;
            return Some(Suspect { pair, direction: Direction::Both, effect, range, by_chance, is_lopsided: false });
        }
    }
    let one = |judged: Judged, pair| Suspect {
        pair,
        direction: Direction::Send,
        effect: judged.effect,
        range: judged.range,
        by_chance: trials * pairs * judged.chance,
        is_lopsided: true,
    };
    let (there, back) = (alone.0.or(each.0), alone.1.or(each.1));
    match (there, back) {
        (Some(x), Some(y)) if x.effect < y.effect => Some(one(y, (pair.1, pair.0))),
        (Some(x), _) => Some(one(x, pair)),
        (None, Some(y)) => Some(one(y, (pair.1, pair.0))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;

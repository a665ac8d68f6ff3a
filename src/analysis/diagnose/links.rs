//! Pairs that are slower than their ends and their groups explain.
//!
//! In: the rest of a [`Fit`]. Out: [`Suspect`] pairs. A single cell is often disturbed by chance; what tells a fault is
//! that several lengths, or both directions, agree on a size that one cause would have. How often chance brings such an
//! agreement is counted in the run itself: the share of cells at each length that depart as much.

use rayon::prelude::*;

use super::{Direction, model::Fit, robust::median_of};

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
}

/// Least `ln(ratio)` of a pair that is reported.
const LEAST_EFFECT: f64 = 0.14;

/// Least tolerance of a cell's departure from what one cause would make of it, `ln(ratio)`.
const LEAST_TOLERANCE: f64 = 0.03;

/// Least departure of a cell that counts, in standard deviations of the noise.
const LEAST_SCORE: f64 = 4.0;

/// Sorted rests of all cells of a length: what chance brings.
struct Chance {
    /// Descending.
    largest: Vec<f64>,
    cells: f64,
}

impl Chance {
    fn of(fit: &Fit, length: usize) -> Self {
        let hosts = fit.hosts();
        let mut largest: Vec<f64> = (0..hosts)
            .into_par_iter()
            .flat_map_iter(|i| (0..hosts).map(move |j| fit.rest_from_to(length, i, j)).filter(|rest| *rest > 0.0))
            .collect();
        let cells = (0..hosts).map(|host| fit.cells[length][host]).sum::<usize>() as f64;
        largest.par_sort_unstable_by(|a, b| b.total_cmp(a));
        Self { largest, cells }
    }

    /// The share of cells that depart by `low..high`, never nothing (half a cell: Jeffreys' estimate).
    fn between(&self, low: f64, high: f64) -> f64 {
        let above = |limit: f64| self.largest.partition_point(|rest| *rest > limit) as f64;
        ((above(low) - above(high)).max(0.0) + 0.5) / self.cells.max(1.0)
    }
}

/// All slow pairs, those that are least likely by chance first. `is_known[host]`: the host is slow by itself.
/// `level`: median time, seconds, `[length]`; `bytes`: `[length]`.
pub fn find(fit: &Fit, level: &[f64], bytes: &[f64], is_known: &[bool]) -> Vec<Suspect> {
    let hosts = fit.hosts();
    let lengths = fit.lengths.len();
    let noise: Vec<f64> =
        fit.lengths.iter().map(|length| (length.noise.powi(2) + length.side_noise.powi(2)).sqrt()).collect();
    let chances: Vec<Chance> = (0..lengths).map(|length| Chance::of(fit, length)).collect();
    let pairs: f64 = chances.iter().map(|chance| chance.cells).fold(0.0, f64::max);
    let limit: Vec<f64> = noise.iter().map(|noise| (LEAST_SCORE * noise).max(LEAST_EFFECT / 2.0)).collect();
    let mut suspects: Vec<Suspect> = (0..hosts)
        .into_par_iter()
        .filter(|i| !is_known[*i])
        .flat_map_iter(|i| {
            let (noise, chances, limit) = (&noise, &chances, &limit);
            (i + 1..hosts).filter(|j| !is_known[*j]).filter_map(move |j| {
                let series = |from, to| (0..lengths).map(|l| fit.rest_from_to(l, from, to)).collect::<Vec<_>>();
                let high = |from, to| (0..lengths).filter(|l| fit.rest_from_to(*l, from, to) > limit[*l]).count();
                let (there, back) = (high(i, j), high(j, i));
                if there + back < 2 {
                    return None;
                }
                let seconds =
                    |from, to| (0..lengths).map(|l| level[l] * fit.usual(l, from, to).exp()).collect::<Vec<f64>>();
                let judge = |from, to| judge(&series(from, to), &seconds(from, to), bytes, noise, chances);
                combine((i, j), judge(i, j), judge(j, i), pairs)
            })
        })
        .collect();
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
}

const CAUSES: [Cause; 3] = [Cause::Everything, Cause::Latency, Cause::Bandwidth];

/// Best explanation of a series of rests, `[length]`, by one cause. `seconds`: what the pair should take.
fn judge(series: &[f64], seconds: &[f64], lengths: &[f64], noise: &[f64], chances: &[Chance]) -> Option<Judged> {
    let mut scratch = Vec::new();
    let mut best: Option<Judged> = None;
    for cause in CAUSES {
        // In the cause's own unit: the ratio, seconds, seconds per byte.
        let unit = |length: usize| match cause {
            Cause::Everything => 1.0,
            Cause::Latency => 1.0 / seconds[length],
            Cause::Bandwidth => lengths[length] / seconds[length],
        };
        let is_there = |length: &usize| !series[*length].is_nan() && unit(*length) > 0.0;
        // From the lengths at which the cause would show most.
        let largest = (0..series.len()).filter(is_there).map(unit).fold(0.0, f64::max);
        let telling = (0..series.len()).filter(is_there).filter(|length| unit(*length) > 0.5 * largest);
        let amount = median_of(telling.map(|length| series[length].exp_m1() / unit(length)), &mut scratch);
        if amount.is_nan() || amount <= 0.0 {
            continue;
        }
        let predicted = |length: usize| (amount * unit(length)).ln_1p();
        let (mut chance, mut first, mut last, mut effect) = (1.0, None, 0, 0.0f64);
        let mut disagreeing = 0;
        let mut agreeing = 0;
        for length in (0..series.len()).filter(|length| !series[*length].is_nan()) {
            let predicted = predicted(length);
            let tolerance = 3.0 * noise[length] + 0.1 * predicted + LEAST_TOLERANCE;
            let departure = series[length] - predicted;
            if predicted < LEAST_SCORE * noise[length] {
                // Nothing to be seen here, and nothing should be seen.
                disagreeing += usize::from(departure > tolerance.max(LEAST_SCORE * noise[length]));
            } else if departure.abs() <= tolerance {
                agreeing += 1;
                chance *= chances[length].between(predicted - tolerance, predicted + tolerance);
                effect = effect.max(predicted);
                first = first.or(Some(length));
                last = length;
            } else {
                disagreeing += 1;
            }
        }
        let Some(first) = first.filter(|_| effect >= LEAST_EFFECT) else { continue };
        // Every length that says otherwise must have been disturbed itself.
        if disagreeing * 3 > agreeing {
            continue;
        }
        if best.is_none_or(|best| chance < best.chance) {
            best = Some(Judged { effect, range: (first, last), chance });
        }
    }
    best
}

fn combine(pair: (usize, usize), there: Option<Judged>, back: Option<Judged>, pairs: f64) -> Option<Suspect> {
    // Ranges and directions that were tried.
    let trials = 3.0;
    let one = |judged: Judged, pair| Suspect {
        pair,
        direction: Direction::Send,
        effect: judged.effect,
        range: judged.range,
        by_chance: trials * pairs * judged.chance,
    };
    match (there, back) {
        (Some(x), Some(y)) => {
            let alike = (x.effect - y.effect).abs() < 0.5 * x.effect.max(y.effect);
            let (slower, other) = if x.effect > y.effect { (x, y) } else { (y, x) };
            if alike || other.effect > 0.3 * slower.effect {
                let range = if x.chance < y.chance { x.range } else { y.range };
                let effect = (x.effect + y.effect) / 2.0;
                // Given one direction, the other one departs by chance alone.
                let by_chance = trials * pairs / 2.0 * x.chance * y.chance;
                Some(Suspect { pair, direction: Direction::Both, effect, range, by_chance })
            } else if x.effect > y.effect {
                Some(one(x, pair))
            } else {
                Some(one(y, (pair.1, pair.0)))
            }
        }
        (Some(x), None) => Some(one(x, pair)),
        (None, Some(y)) => Some(one(y, (pair.1, pair.0))),
        (None, None) => None,
    }
}

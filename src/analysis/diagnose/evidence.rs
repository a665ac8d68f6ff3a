//! What several message lengths say together about one host: over which range of lengths it is slow, in which direction,
//! and how sure that is.
//!
//! In: effects by length with their standard errors. Out: [`Evidence`] for every host. A fault of latency shows at short
//! lengths only and one of bandwidth at long ones, so every range that begins with the first or ends with the last length is
//! tried, and the number of trials is paid for in the threshold.

use statrs::distribution::{ContinuousCDF, Normal};

use super::Direction;
use crate::stats::scatter;

/// Effects of all hosts at one length, as in [`super::model::LengthFit`], with what is known of their precision.
pub struct Effects {
    /// By how much a host is slower both ways, `[host]`.
    pub common: Vec<f64>,
    /// Half of what it sends slower than it receives, `[host]`.
    pub side: Vec<f64>,
    /// Standard error of `common`, `[host]`; infinite where nothing is known.
    pub common_error: Vec<f64>,
    /// Standard error of `side`, `[host]`.
    pub side_error: Vec<f64>,
}

/// What is known about one host.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// Which way it is slow.
    pub direction: Direction,
    /// By how much, `ln(ratio)`, on the slow sides.
    pub effect: f64,
    /// In standard errors.
    pub score: f64,
    /// First and last length of the range.
    pub range: (usize, usize),
}

/// Difference of two misfits, in standard errors, that says nothing.
const EQUALLY_WELL: f64 = 1.0;

/// Share of a range's effect from which on a length beside it belongs to it.
const AS_SLOW: f64 = 0.8;

/// Ranges of lengths that begin at the first or end at the last.
fn ranges(lengths: usize) -> Vec<(usize, usize)> {
    let last = lengths - 1;
    let step = lengths.div_ceil(24);
    let inner = (0..last).step_by(step);
    std::iter::once((0, last)).chain(inner.clone().map(|end| (0, end))).chain(inner.map(|n| (n + 1, last))).collect()
}

/// Number of trials that a number of ranges amounts to: neighbouring ranges say nearly the same.
fn trials(lengths: usize) -> f64 {
    1.0 + 2.0 * (lengths as f64).ln()
}

/// The least score that is believed: a healthy run of this many hosts has one that is higher with a probability of at most
/// `1 - confidence` (Bonferroni over hosts, directions and ranges).
pub fn threshold(confidence: f64, hosts: usize, lengths: usize) -> f64 {
    let trials = 3.0 * hosts as f64 * trials(lengths);
    let normal = Normal::standard();
    let z = -normal.inverse_cdf((1.0 - confidence) / trials);
    // The scatter itself is estimated from as many hosts: Student's quantile instead of the normal one, to first order.
    let degrees = (0.6 * hosts as f64).max(3.0);
    z * (1.0 + (z * z + 1.0) / (4.0 * degrees))
}

/// The probability that a healthy run has a score this high somewhere.
pub fn doubt(score: f64, hosts: usize, lengths: usize) -> f64 {
    let trials = 3.0 * hosts as f64 * trials(lengths);
    (trials * Normal::standard().sf(score)).min(1.0)
}

/// Weighted mean of effects and its standard error; weights are inverse variances.
fn combine(values: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (value, error) in values.filter(|(value, error)| value.is_finite() && error.is_finite() && *error > 0.0) {
        sum += value / (error * error);
        weights += 1.0 / (error * error);
    }
    if weights > 0.0 { (sum / weights, weights.sqrt().recip()) } else { (0.0, f64::INFINITY) }
}

/// Weighs the lengths of every range for every host, `[host]`.
pub fn weigh(effects: &[Effects]) -> Vec<Evidence> {
    let hosts = effects[0].common.len();
    let nothing = Evidence { direction: Direction::Both, effect: 0.0, score: 0.0, range: (0, effects.len() - 1) };
    let mut best = vec![nothing; hosts];
    for range in ranges(effects.len()) {
        let lengths = &effects[range.0..=range.1];
        let of = |host: usize| {
            let common = combine(lengths.iter().map(|l| (l.common[host], l.common_error[host])));
            let side = combine(lengths.iter().map(|l| (l.side[host], l.side_error[host])));
            (common, side)
        };
        let combined: Vec<_> = (0..hosts).map(of).collect();
        // Hosts of a real machine differ by more than noise, and structure is never known exactly.
        let spread = |scores: &mut dyn Iterator<Item = f64>| {
            let mut scores: Vec<f64> = scores.filter(|score| score.is_finite()).collect();
            scatter(&mut scores).max(1.0)
        };
        let common_spread = spread(&mut combined.iter().map(|((value, error), _)| value / error));
        let side_spread = spread(&mut combined.iter().map(|(_, (value, error))| value / error));
        for (host, &((common, common_error), (side, side_error))) in combined.iter().enumerate() {
            let evidence = judge((common, common_error * common_spread), (side, side_error * side_spread), range);
            if evidence.score > best[host].score {
                best[host] = evidence;
            }
        }
    }
    best.into_iter().enumerate().map(|(host, evidence)| widened(evidence, effects, host)).collect()
}

/// The range with the lengths beside it that are as slow: the best score often misses one of them by chance.
fn widened(evidence: Evidence, effects: &[Effects], host: usize) -> Evidence {
    let is_as_slow = |length: &usize| {
        let Effects { common, side, .. } = &effects[*length];
        let effect = match evidence.direction {
            Direction::Both => common[host],
            Direction::Send => common[host] + side[host],
            Direction::Receive => common[host] - side[host],
        };
        effect > AS_SLOW * evidence.effect
    };
    let (first, last) = evidence.range;
    let before = (0..first).rev().take_while(is_as_slow).count();
    let after = (last + 1..effects.len()).take_while(is_as_slow).count();
    Evidence { range: (first - before, last + after), ..evidence }
}

/// Which way a host is slow: both alike, what it sends alone, or what it receives alone, whatever fits best.
fn judge((common, common_error): (f64, f64), (side, side_error): (f64, f64), range: (usize, usize)) -> Evidence {
    let (common_weight, side_weight) = (common_error.powi(-2), side_error.powi(-2));
    let of_one = |sign: f64| {
        // By how much the other side departs from being healthy, and what the slow one is then most likely to be.
        let misfit = (common - sign * side).abs() / common_error.hypot(side_error);
        let effect = 2.0 * (common * common_weight + sign * side * side_weight) / (common_weight + side_weight);
        (misfit, effect, effect / 2.0 * (common_weight + side_weight).sqrt())
    };
    let mut choices = vec![(Direction::Both, (side.abs() / side_error, common, common / common_error))];
    if side_error.is_finite() {
        choices.extend([(Direction::Send, of_one(1.0)), (Direction::Receive, of_one(-1.0))]);
    }
    // Of those that fit about equally well, the one that is slowest beyond doubt.
    let least = choices.iter().map(|choice| choice.1.0).fold(f64::INFINITY, f64::min);
    let fitting = choices.iter().filter(|choice| choice.1.0 <= least + EQUALLY_WELL);
    let best = fitting.max_by(|x, y| x.1.2.total_cmp(&y.1.2));
    let &(mut direction, (_, mut effect, score)) = best.unwrap_or(&choices[0]);
    // One side is worse, but the other one is slow as well.
    let other = match direction {
        Direction::Both => 0.0,
        Direction::Send => common - side,
        Direction::Receive => common + side,
    };
    if direction != Direction::Both && other > 0.4 * effect && other > 3.0 * common_error.hypot(side_error) {
        direction = Direction::Both;
        effect = common;
    }
    Evidence { direction, effect, score, range }
}

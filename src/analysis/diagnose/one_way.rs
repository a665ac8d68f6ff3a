//! What hosts send slower than they receive, where some pairs were measured in one direction only.
//!
//! In: means and half differences of one length, and which pairs are there one way. Out: both taken apart. Where both
//! directions of a pair are there, structure cancels out of their difference. Of the others, what a host sends is set
//! against what it receives: given what pairs have in common, the two tell its side, and neither does alone.

use super::polish::{Common, LEAST_NOISE, Side, fit_sides, less_differences, noise_of};
use crate::{
    analysis::square::Square,
    stats::{median, scatter_about_zero},
};

/// How often sides and what pairs have in common are told apart anew.
const STEPS: usize = 3;

/// Pairs from which on their middle is more than what chance makes of one of them.
const LEAST_PAIRS: usize = 3;

/// Pairs from which on their scatter is known.
const LEAST_FOR_NOISE: usize = 8;

/// What hosts send slower than they receive, from the pairs that were measured both ways, `[host]`; 0 where these are
/// too few.
pub(super) fn sides_of_both_ways(half: &Square) -> Vec<f64> {
    let mut effect = fit_sides(half.clone()).effect;
    let few = half.cells().into_iter().map(|cells| cells < LEAST_PAIRS);
    effect.iter_mut().zip(few).filter(|(_, are_few)| *are_few).for_each(|(effect, _)| *effect = 0.0);
    effect
}

/// Means without what a host sends slower than it receives, which cancels out where both directions are there.
pub(super) fn less_sides(mean: &Square, effect: &[f64], one_way: &[(usize, usize)]) -> Square {
    let mut mean = mean.clone();
    for &(from, to) in one_way {
        let value = mean.at(from, to) - (effect[from] - effect[to]);
        mean.set(from, to, value);
        mean.set(to, from, value);
    }
    mean
}

/// Takes a length apart. `one_way`: source and destination of pairs that were measured in this direction only.
pub(super) fn fit(
    mean: &Square,
    half: &Square,
    one_way: &[(usize, usize)],
    fit_mean: impl Fn(Square) -> Common,
) -> (Common, Side) {
    let mut effect = sides_of_both_ways(half);
    let mut common = fit_mean(less_sides(mean, &effect, one_way));
    let mut known = Vec::new();
    for _ in 0..STEPS {
        known = known_of(&less_differences(half.clone(), &effect), &common.rest, one_way);
        effect.iter_mut().zip(&known).for_each(|(effect, known)| *effect += known.more);
        let middle = median(&mut effect.clone());
        effect.iter_mut().for_each(|effect| *effect -= middle);
        common = fit_mean(less_sides(mean, &effect, one_way));
    }
    let rest = less_differences(half.clone(), &effect);
    let (of_both, of_one) = noises(&rest, &common.rest, one_way);
    let cells: Vec<usize> = known.iter().map(|known| (known.precision * of_both * of_both).ceil() as usize).collect();
    // What is there one way says of noise what it says of sides.
    let mut all = rest.clone();
    for &(from, to) in one_way {
        let value = common.rest.at(from, to) * of_both / of_one;
        all.set(from, to, value);
        all.set(to, from, -value);
    }
    let noise = noise_of(&all, &all.cells(), effect.len());
    (common, Side { effect, noise, cells, rest })
}

/// What is known of a host's side.
struct Known {
    /// By how much it is more than was thought.
    more: f64,
    /// How precisely, in cells over the square of their noise.
    precision: f64,
}

/// By how much sides are more than what was taken from `half`, the rest of half differences, and from `mean`, that of
/// means, `[host]`.
fn known_of(half: &Square, mean: &Square, one_way: &[(usize, usize)]) -> Vec<Known> {
    let (of_both, of_one) = noises(half, mean, one_way);
    let (mut sent, mut received) = (vec![Vec::new(); half.side()], vec![Vec::new(); half.side()]);
    for &(from, to) in one_way {
        sent[from].push(mean.at(from, to));
        received[to].push(mean.at(from, to));
    }
    let of_host = |(host, (sent, received)): (usize, (&mut Vec<f64>, &mut Vec<f64>))| {
        let mut both: Vec<f64> =
            half.row(host).iter().filter(|value| !value.is_nan()).map(|value| f64::from(*value)).collect();
        let of_pairs = |pairs: f64, noise: f64| pairs / (noise * noise);
        let [there, back] = [&sent, &received].map(|pairs| pairs.len().saturating_sub(1) as f64);
        // Of no pairs at all, the middle is not known, and of one it may be wild.
        let of_ways = of_pairs(4.0 / (1.0 / there + 1.0 / back), of_one);
        // So may that of two be: they count where nothing else is known.
        let counted = if both.len() < LEAST_PAIRS && of_ways > 0.0 { 0 } else { both.len().saturating_sub(1) };
        let precision = of_pairs(counted as f64, of_both);
        let mut more = 0.0;
        if precision > 0.0 {
            more += precision * median(&mut both);
        }
        if of_ways > 0.0 {
            more += of_ways * (median(sent) - median(received)) / 2.0;
        }
        let precision = precision + of_ways;
        Known { more: if precision > 0.0 { more / precision } else { 0.0 }, precision }
    };
    sent.iter_mut().zip(&mut received).enumerate().map(of_host).collect()
}

/// Scatter of half differences of pairs that are there both ways, and of the others' rests.
fn noises(half: &Square, mean: &Square, one_way: &[(usize, usize)]) -> (f64, f64) {
    let mut both: Vec<f64> = half.upper().collect();
    let mut one: Vec<f64> = one_way.iter().map(|&(from, to)| mean.at(from, to)).collect();
    // The noise of a mean of two is that of half their difference.
    let (few_both, few_one) = (both.len() < LEAST_FOR_NOISE, one.len() < LEAST_FOR_NOISE);
    let (of_both, of_one) = (scatter_about_zero(&mut both), scatter_about_zero(&mut one));
    let (of_both, of_one) = match (few_both, few_one) {
        (true, _) => (of_one / 2.0f64.sqrt(), of_one),
        (_, true) => (of_both, of_both * 2.0f64.sqrt()),
        _ => (of_both, of_one),
    };
    (of_both.max(LEAST_NOISE), of_one.max(LEAST_NOISE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{
        diagnose::{polish::fit_groups, split::split},
        drawn::{generator, normal, square},
    };

    /// What a host sends slower than it receives, halved.
    fn side(host: usize) -> f64 {
        if host == 4 { 0.2 } else { 0.0 }
    }

    /// Logarithms of hosts on one switch with noise of 1 %, of which host 4 has a side and is slow by 0.3 besides.
    /// `is_there(source, destination)`.
    fn fitted(hosts: usize, is_there: impl Fn(usize, usize) -> bool, wild: &[(usize, usize)]) -> (Common, Side) {
        let mut rng = generator(hosts as u64);
        let slow = |host: usize| if host == 4 { 0.3 } else { 0.0 };
        let logarithms = square(hosts, |i, j| match is_there(i, j) {
            true if wild.contains(&(i, j)) => 1.2,
            true => slow(i) + slow(j) + side(i) - side(j) + 0.01 * normal(&mut rng),
            false => f64::NAN,
        });
        let halves = split(&logarithms, 0.0);
        assert!(!halves.one_way.is_empty());
        fit(&halves.mean, &halves.half, &halves.one_way, |mean| fit_groups(mean, &vec![0; hosts], 1))
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 0.02
    }

    #[test]
    fn sides_are_told_where_hardly_any_pair_was_measured_both_ways() {
        // A coin for every ordered pair.
        let coin = |i: usize, j: usize| (i * 48 + j).wrapping_mul(0x9e37_79b9) >> 13 & 3 == 0;
        let (common, sides) = fitted(48, coin, &[]);
        assert!(is_near(sides.effect[4], 0.2) && is_near(common.effect[4], 0.3), "{}", sides.effect[4]);
        assert!((0..48).filter(|host| *host != 4).all(|host| is_near(sides.effect[host], 0.0)));
        assert!(sides.noise < 0.02 && common.noise < 0.02, "{} {}", sides.noise, common.noise);
    }

    #[test]
    fn one_wild_value_of_the_only_pairs_both_ways_says_nothing() {
        // Host 7 sends to the even ones and receives from the odd ones; two pairs are there both ways.
        let is_there = |i: usize, j: usize| match (i, j) {
            (7, 1 | 2) | (1 | 2, 7) => true,
            (7, other) => other % 2 == 0,
            (other, 7) => other % 2 == 1,
            _ => true,
        };
        let (common, sides) = fitted(16, is_there, &[(1, 7)]);
        assert!(is_near(sides.effect[7], 0.0) && is_near(common.effect[7], 0.0), "{}", sides.effect[7]);
    }

    #[test]
    fn who_only_sends_has_no_side_that_is_known() {
        let (_, sides) = fitted(16, |_, j| j != 7, &[]);
        assert_eq!((sides.cells[7], sides.effect[7].abs() < 0.01), (0, true));
        // All others have about as many cells as partners.
        assert!(
            (0..16).filter(|host| *host != 7).all(|host| (10..=16).contains(&sides.cells[host])),
            "{:?}",
            sides.cells
        );
    }
}

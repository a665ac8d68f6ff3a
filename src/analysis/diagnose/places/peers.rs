//! Ranks that are slower than the others on their hosts, and rails that are slower than those of other leaves.
//!
//! In: what each of them takes more than is usual next to it, both ways, at every length. Out: [`Slow`]. They are judged as
//! hosts are ([`super::hosts`]), at the same lengths: how far healthy ones are apart is seen in the run itself, and even the
//! fastest pairs of what is slow are slow.

use super::{
    Budget, Least,
    fit::EFFICIENCY,
    hosts::way,
    place::slow_range,
    spread::Spread,
    view::{bands, independent, is_long_over, together},
};
use crate::{
    analysis::diagnose::{Agreement, Direction, Kind},
    stats::{QUARTILE_DEVIATE, error_of_median, median_of},
};

/// What one of several takes more than is usual, one way and at one length, `ln(ratio)`; NaN where that is not known.
#[derive(Clone, Copy)]
pub struct More {
    /// The median over its pairs.
    pub level: f64,
    /// The same of its fastest pairs, the quantile at [`super::USUAL`].
    pub fastest: f64,
    /// By how much its pairs differ, as a standard deviation, and how many they are.
    pub noise: f64,
    pub pairs: f64,
}

/// One that is slow.
pub struct Slow {
    pub number: usize,
    pub direction: Direction,
    /// By how much, `ln(ratio)`, over its range.
    pub effect: f64,
    /// Logarithm of the probability that a healthy run has any.
    pub log: f64,
    /// First and last length of its range, by number.
    pub range: (usize, usize),
    /// By how much at every length, `[length]`; NaN where that is not known.
    pub effects: Vec<f64>,
}

impl Slow {
    /// Lengths of its range at which it is slow.
    pub fn lengths(&self) -> Agreement {
        let known = || self.effects[self.range.0..=self.range.1].iter().filter(|effect| !effect.is_nan());
        Agreement { slow: known().filter(|effect| **effect >= self.effect / 2.0).count(), of: known().count() }
    }
}

/// Those that are slow by what is worth a word of their `kind`. `more`: `[length][number][way]`, what is sent first; `level`: the usual time,
/// seconds, `[length]`; `tick`: by how much equal ones may be apart because clocks tick, seconds; `error`: probability that
/// a healthy run has any.
pub fn slow(more: &[Vec<[More; 2]>], level: &[f64], (kind, tick): (Kind, f64), error: f64) -> Vec<Slow> {
    let bands = bands(level);
    let Some(shortest) = bands.first().map(|band| level[band[0]]) else { return Vec::new() };
    let all = 0..more[0].len();
    let over = |lengths: &[Vec<usize>], number: usize, of: fn(&More) -> f64| {
        let of_band = |way: usize, band: &Vec<usize>| {
            median_of(band.iter().map(|length| of(&more[*length][number][way])), &mut Vec::new())
        };
        [0, 1].map(|way| median_of(lengths.iter().map(|band| of_band(way, band)), &mut Vec::new()))
    };
    let views = together(&bands);
    let column = |lengths: &Vec<Vec<usize>>| {
        all.clone().map(|number| common(over(lengths, number, |more| more.level))).collect()
    };
    let budget =
        Budget { views: independent(views.iter().map(column).collect()), error: error.ln(), least: Least::OF_TIMES };
    let of_view = |lengths: &Vec<Vec<usize>>| {
        let levels: Vec<[f64; 2]> = all.clone().map(|number| over(lengths, number, |more| more.level)).collect();
        let usual =
            |of: fn(&More) -> f64| median_of(all.clone().flat_map(|number| over(lengths, number, of)), &mut Vec::new());
        let (noise, pairs) = (usual(|more| more.noise), usual(|more| more.pairs));
        // The median of both ways, and over lengths that of these.
        let of_lengths = if lengths.concat().len() > 1 { error_of_median(lengths.concat().len() as f64) } else { 1.0 };
        let error = of_lengths * noise * error_of_median(2.0 * pairs);
        // The noise is the scatter of the pairs of all of them, both ways.
        let freedom = EFFICIENCY * 2.0 * pairs * all.len() as f64;
        let alike = budget.least.alike_at(shortest / level[lengths[0][0]]);
        let spreads =
            |of: fn([f64; 2]) -> f64| Spread::of_places(levels.iter().copied().map(of), error, alike, freedom);
        let spreads: Vec<(Spread, Spread)> = spreads(common).into_iter().zip(spreads(side)).collect();
        let least = budget.least.of(kind, lengths.iter().all(|band| is_long_over(level[band[0]], shortest)));
        let least = lengths.iter().flatten().map(|length| tick / level[*length]).fold(least, f64::max);
        let found = |number: usize| {
            let own = levels[number];
            let ways = spreads.iter().map(|(a, b)| way(common(own) - a.centre, side(own) - b.centre, a, b));
            let (direction, effect, log) = ways.min_by(|a, b| a.2.total_cmp(&b.2))?;
            let log = log + budget.price(3 * spreads.len() * all.len());
            let [out, into] = over(lengths, number, |more| more.fastest);
            // Of pairs that are alike noise alone makes a quarter faster by so much.
            let are_slow = direction.of(out, into) + QUARTILE_DEVIATE * noise >= effect / 2.0;
            (effect >= least && budget.allows(log) && are_slow).then_some((log, number, direction))
        };
        all.clone().filter_map(found).collect::<Vec<_>>()
    };
    let mut found: Vec<(f64, usize, Direction)> = views.iter().flat_map(of_view).collect();
    found.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
    found.dedup_by_key(|found| found.1);
    let with_size = |(log, number, direction): (f64, usize, Direction)| {
        let at = |more: &Vec<[More; 2]>| direction.of(more[number][0].level, more[number][1].level);
        let effects: Vec<f64> = more.iter().map(at).collect();
        let range = slow_range(&effects)?;
        let effect = median_of(effects[range.0..=range.1].iter().copied(), &mut Vec::new());
        Some(Slow { number, direction, effect, log, range, effects })
    };
    found.into_iter().filter_map(with_size).collect()
}

/// What both ways have in common.
fn common([out, into]: [f64; 2]) -> f64 {
    (out + into) / 2.0
}

/// What sending has more than that.
fn side([out, into]: [f64; 2]) -> f64 {
    (out - into) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::drawn::{generator, normal},
        stats::most_by_chance,
    };

    /// Usual times, seconds: two bands of two lengths, and two of one.
    const LEVEL: [f64; 6] = [1e-6, 1.1e-6, 3e-6, 4e-6, 20e-6, 90e-6];

    /// Of so many ranks with 16 pairs each way that scatter by 2 %, those that are slow; `more(length, number, way)`.
    fn found(count: usize, seed: u64, more: impl Fn(usize, usize, usize) -> f64) -> Vec<Slow> {
        found_of(Kind::Rank, count, seed, more)
    }

    fn found_of(kind: Kind, count: usize, seed: u64, more: impl Fn(usize, usize, usize) -> f64) -> Vec<Slow> {
        let mut rng = generator(seed);
        let mut one = |length: usize, number: usize, way: usize| {
            let level = more(length, number, way) + 1.25 * 0.02 / 4.0 * normal(&mut rng);
            More { level, fastest: level - QUARTILE_DEVIATE * 0.02, noise: 0.02, pairs: 16.0 }
        };
        let mut of_length =
            |length: usize| (0..count).map(|number| [one(length, number, 0), one(length, number, 1)]).collect();
        let more: Vec<Vec<[More; 2]>> = (0..LEVEL.len()).map(&mut of_length).collect();
        slow(&more, &LEVEL, (kind, 0.0), 0.01)
    }

    #[test]
    fn what_is_slow_is_found_with_its_way_and_the_lengths_at_which_it_is_wherever_these_lie() {
        for (ways, direction) in
            [([1.0, 1.0], Direction::Both), ([1.0, 0.0], Direction::Send), ([0.0, 1.0], Direction::Receive)]
        {
            for range in [(0, 1), (2, 3), (4, 4), (3, 5), (0, 5)] {
                let is_slow = |length: usize, number: usize| number == 5 && (range.0..=range.1).contains(&length);
                let found =
                    found(16, 1, |length, number, way| if is_slow(length, number) { 0.2 * ways[way] } else { 0.0 });
                let [found] = &found[..] else { panic!("{direction:?} {range:?}: {} are slow", found.len()) };
                assert_eq!((found.number, found.direction, found.range), (5, direction, range));
                assert!((found.effect - 0.2).abs() < 0.02, "{}", found.effect);
                assert_eq!(found.lengths().slow, range.1 - range.0 + 1);
            }
        }
    }

    #[test]
    fn those_that_are_alike_are_hardly_ever_slow() {
        for (count, apart) in [(8, 0.0), (16, 0.0), (16, 0.02), (64, 0.01)] {
            let is_found = |seed: &u64| {
                let mut rng = generator(1000 + seed);
                let own: Vec<f64> = (0..count).map(|_| apart * normal(&mut rng)).collect();
                !found(count, *seed, |_, number, _| own[number]).is_empty()
            };
            let alarms = (0..300).filter(is_found).count() as u64;
            assert!(alarms <= most_by_chance(300, 0.01, 0.001), "{count} {apart}: {alarms}");
        }
    }

    #[test]
    fn what_is_slow_with_half_of_its_partners_is_not() {
        let mut more = vec![vec![[More { level: 0.0, fastest: 0.0, noise: 0.01, pairs: 16.0 }; 2]; 12]; 2];
        let of_rank = |fastest: f64| [More { level: 0.3, fastest, noise: 0.01, pairs: 16.0 }; 2];
        let count = |more: &[Vec<[More; 2]>]| slow(more, &[1e-6, 1e-3], (Kind::Rank, 0.0), 0.01).len();
        more.iter_mut().for_each(|more| more[3] = of_rank(0.29));
        assert_eq!(count(&more), 1);
        more.iter_mut().for_each(|more| more[3] = of_rank(0.01));
        assert_eq!(count(&more), 0);
    }

    #[test]
    fn a_rail_is_slow_from_two_percent_on_in_long_messages_alone() {
        let slow_at = |lengths: std::ops::Range<usize>| {
            move |length: usize, number: usize, _: usize| {
                if number == 7 && lengths.contains(&length) { 0.04 } else { 0.0 }
            }
        };
        let found = |lengths| found_of(Kind::Rail, 24, 3, slow_at(lengths)).iter().map(|slow| slow.number).collect();
        let both: [Vec<usize>; 2] = [found(4..6), found(0..2)];
        assert_eq!(both, [vec![7], vec![]]);
    }
}

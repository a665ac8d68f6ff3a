//! Pairs of hosts that are slow although both hosts are not.
//!
//! In: what is left of every pair in a [`View`], or at a length. Out: [`Suspect`]s. A pair counts as improbable as both the
//! scatter of all pairs and the length of their tail say: the largest of many are fitted by an exponential (peaks over
//! threshold, Pickands 1975), which is longer than the tail of a normal distribution.

use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{Budget, Place, Suspect, View};
use crate::{
    analysis::{
        diagnose::{Direction, Kind},
        square::Square,
    },
    stats::{median, scatter},
};

/// The pairs that are slow, without those of hosts for which `is_named`. `bands`: the views of one band each of which
/// `view` is what they have in common. A link is slow in all of them, and a disturbed cell in one: what counts is the
/// least.
pub fn slow(bands: &[View], view: &View, is_named: &[bool], budget: Budget) -> Vec<Suspect> {
    let bands: Vec<&Square> = bands.iter().map(|band| &band.fit.rest).collect();
    let found = stand_out(&bands, &view.fit.rest, |least, _| least, is_named, budget);
    found.into_iter().map(|(place, effect, log)| Suspect::new(place, effect, log, view)).collect()
}

/// The pairs that stand out of what all pairs have in common in `bands`: the least of these. `view`: by how much a pair is
/// slow; `own`: what counts of a pair, of that least and of this. Returns each with this and its logarithmic probability.
pub(super) fn stand_out(
    bands: &[&Square],
    view: &Square,
    own: fn(f64, f64) -> f64,
    is_named: &[bool],
    budget: Budget,
) -> Vec<(Place, f64, f64)> {
    let hosts = is_named.len();
    let mean = |rest: &Square, i: usize, j: usize| (rest.at(i, j) + rest.at(j, i)) / 2.0;
    let of_direction = |direction: Direction| {
        let is_both = direction == Direction::Both;
        let value = |rest: &Square, i: usize, j: usize| if is_both { mean(rest, i, j) } else { rest.at(i, j) };
        let others = |i: usize| (if is_both { i + 1 } else { 0 }..hosts).filter(move |j| *j != i && !is_named[*j]);
        let rows = (0..hosts).into_par_iter().filter(|i| !is_named[*i]);
        let pairs = || rows.clone().flat_map_iter(|i| others(i).map(move |j| (i, j)));
        let least = |(i, j): (usize, usize)| bands.iter().map(|band| value(band, i, j)).fold(f64::NAN, f64::min);
        let is_this_way = |(i, j): (usize, usize)| {
            let (out, back) = (view.at(i, j), view.at(j, i));
            match is_both {
                true => 2.0 * (out - back).abs() < out + back,
                false => back.is_nan() || back < out / 2.0,
            }
        };
        let worth_a_word = |(i, j): (usize, usize)| {
            let effect = value(view, i, j);
            let is_worth = effect >= budget.least.link && is_this_way((i, j));
            let least = if is_worth { least((i, j)) } else { f64::NAN };
            (!least.is_nan()).then(|| (own(least, effect), effect, [i, j]))
        };
        let worth_a_word: Vec<(f64, f64, [usize; 2])> = pairs().filter_map(worth_a_word).collect();
        let mut all: Vec<f64> = pairs().map(least).filter(|least| !least.is_nan()).collect();
        let price = budget.price(3 * all.len());
        let Some(tail) = Tail::of(&mut all, hosts) else { return Vec::new() };
        let suspect = |(own, effect, pair): (f64, f64, [usize; 2])| {
            let log = tail.log(own) + price;
            let place = Place::of(Kind::Link, pair.to_vec(), direction);
            budget.allows(log).then_some((place, effect, log))
        };
        worth_a_word.into_iter().filter_map(suspect).collect()
    };
    [Direction::Both, Direction::Send].map(of_direction).concat()
}

/// How improbable large values are.
struct Tail {
    centre: f64,
    deviation: f64,
    /// From here on values are far out: so many of so many.
    from: f64,
    share: f64,
    excess: f64,
}

impl Tail {
    /// `values` are changed.
    fn of(values: &mut [f64], hosts: usize) -> Option<Self> {
        let count = values.len();
        if count < 6 {
            return None;
        }
        let centre = median(values);
        let far = (count as f64).sqrt().ceil() as usize;
        let (largest, &mut from, _) = values.select_nth_unstable_by(far, |a, b| b.total_cmp(a));
        let excess = median(&mut largest.iter().map(|value| value - from).collect::<Vec<_>>());
        // Each host's two numbers were taken from the values.
        let free =
            count as f64 - 2.0 * hosts as f64 / (count * 2 / (hosts * hosts.saturating_sub(1)).max(1)).max(1) as f64;
        let deviation = scatter(values) * (count as f64 / free.max(count as f64 / 4.0)).sqrt();
        // The median of an exponential distribution is ln 2 of its mean.
        Some(Self { centre, deviation, from, share: far as f64 / count as f64, excess: excess / 2f64.ln() })
    }

    /// Logarithm of the probability of such a value.
    fn log(&self, value: f64) -> f64 {
        let score = (value - self.centre) / self.deviation.max(1e-9);
        let normal = Normal::standard().sf(score).max(f64::MIN_POSITIVE).ln();
        let far = self.share.ln() - (value - self.from).max(0.0) / self.excess.max(1e-9);
        normal.max(far)
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::{
        super::{Distances, Least},
        *,
    };
    use crate::analysis::{
        drawn::{generator, normal},
        square::Square,
    };

    #[test]
    fn a_link_that_is_slow_in_all_bands_stands_out_of_cells_that_were_disturbed_in_one() {
        let (hosts, mut rng) = (48, generator(1));
        let mut cell = |i: usize, j: usize| match (i, j) {
            (2, 19) => 3f64.ln(),
            _ if rng.random_bool(0.04) => rng.random_range(1.3f64..3.0).ln(),
            _ => 0.01 * normal(&mut rng),
        };
        let mut squares = [Square::missing(hosts), Square::missing(hosts), Square::missing(hosts)];
        for (i, j) in (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            let (a, b) = (cell(i, j), cell(i, j));
            squares.iter_mut().zip([a, b, (a + b) / 2.0]).for_each(|(square, value)| square.set(i, j, value));
        }
        let [a, b, both] = squares.map(|values| View::of_square(values, &Distances::flat(hosts), 0.01));
        let budget = Budget { views: 1.0, error: 1e-3f64.ln(), least: Least::OF_TIMES };
        let found = |bands: &[View]| {
            let found = slow(bands, &both, &vec![false; hosts], budget);
            found.iter().any(|suspect| suspect.place.hosts == [2, 19])
        };
        assert!(found(&[a, b]));
        assert!(!found(std::slice::from_ref(&both)));
    }
}

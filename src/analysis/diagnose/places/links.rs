//! Pairs of hosts that are slow although both hosts are not.
//!
//! In: what is left of every pair in a [`View`]. Out: [`Suspect`]s. A pair counts as improbable as both the scatter of all
//! pairs and the length of their tail say: the largest of many are fitted by an exponential (peaks over threshold, Pickands
//! 1975), which is longer than the tail of a normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Budget, Place, Suspect, View};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::{median, scatter},
};

/// The pairs that are slow, without those of hosts for which `is_named`. `bands`: the views of one band each of which
/// `view` is what they have in common. A link is slow in all of them, and a disturbed cell in one: what counts is the
/// least.
pub fn slow(bands: &[View], view: &View, is_named: &[bool], budget: Budget) -> Vec<Suspect> {
    let hosts = view.fit.rest.side();
    let least = |of: &dyn Fn(&View) -> f64| bands.iter().map(of).fold(f64::NAN, f64::min);
    let there = |view: &View, i: usize, j: usize| view.fit.rest.at(i, j);
    let mean = |view: &View, i: usize, j: usize| (there(view, i, j) + there(view, j, i)) / 2.0;
    let (mut both, mut single) = (Vec::new(), Vec::new());
    for (i, j) in (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j))) {
        if is_named[i] || is_named[j] {
            continue;
        }
        let (out, back) = (there(view, i, j), there(view, j, i));
        let is_one_way = (out - back).abs() / 2.0 >= (out + back) / 4.0;
        both.push((least(&|band| mean(band, i, j)), mean(view, i, j), i, j, !is_one_way));
        for (i, j, own, other) in [(i, j, out, back), (j, i, back, out)] {
            let is_own = other.is_nan() || other < own / 2.0;
            single.push((least(&|band| there(band, i, j)), own, i, j, is_own));
        }
    }
    let mut found = Vec::new();
    for (mut cells, direction) in [(both, Direction::Both), (single, Direction::Send)] {
        cells.retain(|cell| !cell.0.is_nan());
        let Some(tail) = Tail::of(cells.iter().map(|cell| cell.0).collect(), hosts) else { continue };
        for &(least, value, i, j, is_own) in cells.iter().filter(|cell| cell.1 >= budget.least.link) {
            let log = tail.log(least) + budget.price(3 * cells.len());
            if is_own && budget.allows(log) {
                found.push(Suspect::new(Place::of(Kind::Link, vec![i, j], direction), value, log, view));
            }
        }
    }
    found
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
    fn of(mut values: Vec<f64>, hosts: usize) -> Option<Self> {
        let count = values.len();
        if count < 6 {
            return None;
        }
        let centre = median(&mut values.clone());
        let far = (count as f64).sqrt().ceil() as usize;
        values.sort_by(|a, b| b.total_cmp(a));
        let from = values[far.min(count - 1)];
        let excess = median(&mut values[..far].iter().map(|value| value - from).collect::<Vec<_>>());
        // Each host's two numbers were taken from the values.
        let free =
            count as f64 - 2.0 * hosts as f64 / (count * 2 / (hosts * hosts.saturating_sub(1)).max(1)).max(1) as f64;
        let deviation = scatter(&mut values) * (count as f64 / free.max(count as f64 / 4.0)).sqrt();
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

//! Where along the message lengths the behaviour changes.
//!
//! In: smoothed curves over all lengths, one per group of pairs on the same level. Within a range every curve is close
//! to a straight line in the message length (latency plus length by bandwidth); a switch of protocol is a jump or a
//! kink in many curves at once. The cheapest way to cut the sweep into ranges is found exactly, by dynamic programming:
//! each range costs what its lines leave unexplained, and a fixed price that keeps noise from being a range.

use std::ops::Range;

/// A range has to explain this much (squared distances in units of the scale, averaged over the curves).
const PRICE: f64 = 4.0;

/// Most places at which a range may begin: the search takes the square of it.
const PLACES: usize = 512;

/// Sums up to a length from which a weighted straight line and what it leaves follow at once.
#[derive(Clone, Copy, Default)]
struct Sums {
    weight: f64,
    x: f64,
    xx: f64,
    y: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn plus(self, weight: f64, x: f64, y: f64) -> Self {
        Self {
            weight: self.weight + weight,
            x: self.x + weight * x,
            xx: self.xx + weight * x * x,
            y: self.y + weight * y,
            xy: self.xy + weight * x * y,
            yy: self.yy + weight * y * y,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            weight: self.weight - other.weight,
            x: self.x - other.x,
            xx: self.xx - other.xx,
            y: self.y - other.y,
            xy: self.xy - other.xy,
            yy: self.yy - other.yy,
        }
    }

    /// Weighted squared distances from the best line.
    fn unexplained(self) -> f64 {
        if self.weight <= 0.0 {
            return 0.0;
        }
        let spread_x = self.xx - self.x * self.x / self.weight;
        let spread_y = self.yy - self.y * self.y / self.weight;
        let together = self.xy - self.x * self.y / self.weight;
        let explained = if spread_x > 1e-12 * self.xx { together * together / spread_x } else { 0.0 };
        (spread_y - explained).max(0.0)
    }
}

/// Cuts `x.len()` lengths into ranges of at least `min_range` lengths (all of them, if there are fewer).
///
/// `x` are the message lengths, `curves` the values, `[curve][length]`, NaN where there is none. Distances are relative
/// to the value: `unit` is the share that counts as one. At most `max_ranges` ranges are made.
pub(super) fn find(
    x: &[f64],
    curves: &[Vec<f64>],
    unit: f64,
    min_range: usize,
    max_ranges: usize,
) -> Vec<Range<usize>> {
    let count = x.len();
    let min_range = min_range.max(1);
    if count < 2 * min_range || max_ranges < 2 || curves.is_empty() {
        return std::iter::once(0..count).collect();
    }
    let step = count.div_ceil(PLACES).max(1);
    let places: Vec<usize> = (0..count).step_by(step).chain([count]).collect();
    let sums: Vec<Vec<Sums>> = curves.iter().map(|curve| prefix_sums(x, curve, unit, &places)).collect();
    let cost = |from: usize, to: usize| {
        sums.iter().map(|sums| sums[to].minus(sums[from]).unexplained()).sum::<f64>() / curves.len() as f64
    };
    let mut price = PRICE;
    loop {
        let ranges = cheapest(&places, &cost, min_range, price);
        if ranges.len() <= max_ranges {
            return ranges;
        }
        price *= 2.0;
    }
}

/// Sums up to every place. Weights make distances relative; dividing by the largest length keeps the sums small.
fn prefix_sums(x: &[f64], curve: &[f64], unit: f64, places: &[usize]) -> Vec<Sums> {
    let largest = x.iter().copied().fold(1.0, f64::max);
    let level =
        curve.iter().copied().filter(|y| y.is_finite()).map(f64::abs).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut sums = vec![Sums::default()];
    let mut sum = Sums::default();
    for window in places.windows(2) {
        for length in window[0]..window[1] {
            let y = curve[length] / level;
            if y.is_finite() && y.abs() > 1e-9 {
                sum = sum.plus(1.0 / (unit * y).powi(2), x[length] / largest, y);
            }
        }
        sums.push(sum);
    }
    sums
}

/// The cheapest cut: for every place the best last range that ends there.
fn cheapest(places: &[usize], cost: &impl Fn(usize, usize) -> f64, min_range: usize, price: f64) -> Vec<Range<usize>> {
    let mut best = vec![(f64::INFINITY, 0); places.len()];
    best[0].0 = 0.0;
    for to in 1..places.len() {
        for from in 0..to {
            if places[to] - places[from] < min_range || best[from].0.is_infinite() {
                continue;
            }
            let total = best[from].0 + cost(from, to) + price;
            if total < best[to].0 {
                best[to] = (total, from);
            }
        }
    }
    let mut ranges = Vec::new();
    let mut to = places.len() - 1;
    while to > 0 {
        let from = best[to].1;
        ranges.push(places[from]..places[to]);
        to = from;
    }
    ranges.reverse();
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(count: usize) -> Vec<f64> {
        (0..count).map(|k| 100.0 * k as f64).collect()
    }

    fn line(x: &[f64], latency: f64, per_byte: f64, step_at: f64, step: f64) -> Vec<f64> {
        x.iter().map(|x| latency + per_byte * x + if *x >= step_at { step } else { 0.0 }).collect()
    }

    /// Where the ranges end.
    fn ends(x: &[f64], curves: &[Vec<f64>], unit: f64, min_range: usize, max_ranges: usize) -> Vec<usize> {
        find(x, curves, unit, min_range, max_ranges).into_iter().map(|range| range.end).collect()
    }

    #[test]
    fn one_line_is_one_range() {
        let x = lengths(100);
        assert_eq!(ends(&x, &[line(&x, 2e-6, 1e-10, 1e9, 0.0)], 0.05, 4, 9), [100]);
    }

    #[test]
    fn a_protocol_switch_is_a_boundary() {
        let x = lengths(100);
        let curves = [line(&x, 2e-6, 1e-10, 4100.0, 1e-6), line(&x, 3e-6, 1e-10, 4100.0, 1e-6)];
        assert_eq!(ends(&x, &curves, 0.05, 4, 9), [41, 100]);
        assert_eq!(ends(&x, &curves, 0.05, 60, 9), [100], "no room for two ranges of 60");
        assert_eq!(ends(&x, &curves, 0.05, 4, 1), [100]);
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!(ends(&[0.0], &[vec![1.0]], 0.05, 1, 9), [1]);
        assert_eq!(ends(&lengths(8), &[], 0.05, 2, 9), [8]);
        assert_eq!(ends(&lengths(8), &[vec![f64::NAN; 8]], 0.05, 2, 9), [8]);
        assert_eq!(ends(&lengths(8), &[vec![0.0; 8]], 0.05, 2, 9), [8]);
        let long = lengths(5000);
        let ranges = find(&long, &[line(&long, 2e-6, 1e-10, 2e5, 4e-5)], 0.05, 4, 9);
        assert_eq!((ranges.first().unwrap().start, ranges.last().unwrap().end), (0, 5000));
        assert!(ranges.iter().any(|range| range.start.abs_diff(2000) < 20), "{ranges:?}");
    }
}

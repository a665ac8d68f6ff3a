//! Splits what was measured into what both directions of every pair have in common and what they differ in.
//!
//! In: a square of logarithms. Out: [`Halves`].

use rayon::prelude::*;

use crate::analysis::square::Square;

/// One length, split.
pub(super) struct Halves {
    /// What both directions of a pair have in common; of one alone where the other one is missing; symmetric.
    pub mean: Square,
    /// Half of what they differ in, row minus column; antisymmetric.
    pub half: Square,
    /// Source and destination of pairs that were measured in this direction only.
    pub one_way: Vec<(usize, usize)>,
}

/// Splits logarithms less their `middle`.
pub(super) fn split(logarithms: &Square, middle: f32) -> Halves {
    let count = logarithms.side();
    let (mut mean, mut half) = (Square::zero(count), Square::zero(count));
    let rows = mean.rows_mut().zip(half.rows_mut()).enumerate();
    let one_way = rows.flat_map_iter(|(row, (mean, half))| {
        let mut one_way = Vec::new();
        let values = mean.iter_mut().zip(half).zip(logarithms.row(row)).enumerate();
        for (column, ((mean, half), there)) in values {
            let (there, back) = (there - middle, logarithms.row(column)[row] - middle);
            *half = (there - back) / 2.0;
            *mean = match (there.is_nan(), back.is_nan()) {
                (true, _) => back,
                (_, true) => there,
                _ => (there + back) / 2.0,
            };
            if !there.is_nan() && back.is_nan() {
                one_way.push((row, column));
            }
        }
        one_way
    });
    let one_way = one_way.collect();
    Halves { mean, half, one_way }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::square;

    #[test]
    fn every_cell_meets_the_one_across_the_diagonal() {
        for count in [1, 5, 33] {
            let logarithms = square(count, |i, j| (i * 1000 + j) as f64);
            let halves = split(&logarithms, 7.0);
            for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|(i, j)| i != j) {
                let (there, back) = (logarithms.at(i, j), logarithms.at(j, i));
                let expected = ((there + back) / 2.0 - 7.0, (there - back) / 2.0);
                assert_eq!((halves.mean.at(i, j), halves.half.at(i, j)), expected);
            }
            assert!((0..count).all(|host| halves.mean.at(host, host).is_nan()) && halves.one_way.is_empty());
        }
    }

    #[test]
    fn pairs_that_were_measured_one_way_are_told() {
        let mut logarithms = square(40, |_, _| 1.0);
        logarithms.set(3, 35, f64::NAN);
        logarithms.set(38, 2, f64::NAN);
        logarithms.set(7, 8, f64::NAN);
        logarithms.set(8, 7, f64::NAN);
        let halves = split(&logarithms, 0.0);
        assert_eq!(halves.one_way, [(2, 38), (35, 3)]);
        assert!(halves.mean.at(3, 35) == 1.0 && halves.half.at(3, 35).is_nan() && halves.mean.at(7, 8).is_nan());
    }
}

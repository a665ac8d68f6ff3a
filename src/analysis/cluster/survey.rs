//! First look at a run: its noise, and curves that show where behaviour changes.
//!
//! One pass over all matrices. Of each, a fixed sample of cells is kept, so that memory does not grow with the matrix,
//! and the scatter between cells that should agree is measured in three ways: there and back of a pair, neighbours in
//! the matrix, pairs that are on the same level over all lengths. Each is too large on some machines, none too small.
//! Differences are taken of logarithms, or of values for an absolute tolerance.

use crate::{
    analysis::cluster::Error,
    record::{Matrix, Run, Statistic},
    stats::{QUARTILE_DEVIATE, median, quantile},
};

/// Numbers that the sampled curves take at most in memory.
const SAMPLE: usize = 1 << 22;

/// Differences per length from which a scatter is estimated.
const DIFFERENCES: usize = 1 << 14;

/// Groups into which the sampled curves are averaged.
const GROUPS: usize = 16;

/// What one pass over the run tells.
#[derive(Debug)]
pub(super) struct Survey {
    /// Scatter between the two directions of pairs; 9 of 10 lengths have no more. NaN where there are no two.
    pub(super) reverse: f64,
    /// Scatter between neighbours in a row or a column, whichever is less.
    pub(super) neighbours: f64,
    /// Scatter between pairs on the same level over all lengths; NaN where there is one length only.
    pub(super) same_level: f64,
    /// Median over everything of the values off the diagonal.
    pub(super) level: f64,
    /// Largest difference between lengths in the share of cells that are missing.
    pub(super) missing_now_and_then: f64,
    /// Smoothed curves, `[group][length]`.
    pub(super) curves: Vec<Vec<f64>>,
}

impl Survey {
    /// The least of the scatters: noise of single cells.
    pub(super) fn noise(&self) -> f64 {
        self.reverse.min(self.neighbours).min(self.same_level)
    }
}

/// Reads every matrix once.
pub(super) fn survey(run: &dyn Run, statistic: Statistic, relative: bool) -> Result<Survey, Error> {
    let (ranks, lengths) = (run.ranks(), run.lengths().len());
    let cells = sample(ranks, (SAMPLE / lengths).clamp(64, 4096));
    let mut curves = vec![Vec::with_capacity(lengths); cells.len()];
    let (mut reverse, mut neighbours, mut levels) = (Vec::new(), Vec::new(), Vec::new());
    let (mut least, mut most) = (1.0f64, 0.0f64);
    let mut matrix = Matrix::missing(ranks);
    for length in 0..lengths {
        run.read_rows(statistic, length, 0..ranks, matrix.values_mut())?;
        for (curve, cell) in curves.iter_mut().zip(&cells) {
            curve.push(matrix.values()[*cell] as f32);
        }
        let axis = |value: f64| place(value, relative);
        reverse.push(scatter(ranks, |i, j| axis(matrix[(i, j)]) - axis(matrix[(j, i)])));
        let next = |i: usize, j: usize| (j + 1..j + 3).map(|k| k % ranks).find(|k| *k != i).unwrap_or(j);
        let row = scatter(ranks, |i, j| axis(matrix[(i, j)]) - axis(matrix[(i, next(i, j))]));
        let column = scatter(ranks, |i, j| axis(matrix[(i, j)]) - axis(matrix[(next(j, i), j)]));
        neighbours.push(row.min(column));
        levels.push(median(&mut cells.iter().map(|cell| matrix.values()[*cell]).collect::<Vec<_>>()));
        let missing = matrix.values().iter().filter(|value| value.is_nan()).count() as f64;
        let share = missing / matrix.values().len() as f64;
        (least, most) = (least.min(share), most.max(share));
    }
    by_level(&mut curves);
    Ok(Survey {
        same_level: same_level(&curves, relative),
        reverse: quantile(&mut reverse, 0.9),
        neighbours: quantile(&mut neighbours, 0.9),
        level: median(&mut levels),
        missing_now_and_then: (most - least).max(0.0),
        curves: smooth(&curves),
    })
}

/// Places of about `count` cells off the diagonal, spread over all rows and columns.
fn sample(ranks: usize, count: usize) -> Vec<usize> {
    let off_diagonal = ranks * (ranks - 1);
    if off_diagonal == 0 {
        return vec![0];
    }
    // A stride that shares no factor with the row length visits every column.
    let mut stride = (off_diagonal / count).max(1);
    while stride > 1 && (gcd(stride, ranks) > 1 || gcd(stride, ranks - 1) > 1) {
        stride += 1;
    }
    let off = |k: usize| k / (ranks - 1) * ranks + (k % (ranks - 1) + k / (ranks - 1) + 1) % ranks;
    (0..off_diagonal).step_by(stride).map(off).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Standard deviation of single cells, from differences of two that should agree; single faults do not move it.
/// NaN where there is nothing to compare.
fn scatter(ranks: usize, difference: impl Fn(usize, usize) -> f64) -> f64 {
    let mut differences: Vec<f64> = sample(ranks, DIFFERENCES)
        .into_iter()
        .map(|cell| (cell / ranks, cell % ranks))
        .filter(|(i, j)| i != j)
        .map(|(i, j)| difference(i, j).abs())
        .collect();
    median(&mut differences) / QUARTILE_DEVIATE / std::f64::consts::SQRT_2
}

/// A logarithm or a value; NaN where there is none.
fn place(value: f64, relative: bool) -> f64 {
    match relative {
        true if value > 0.0 && value.is_finite() => value.ln(),
        false if value.is_finite() => value,
        _ => f64::NAN,
    }
}

/// Sorts curves by their mean.
fn by_level(curves: &mut [Vec<f32>]) {
    let level = |curve: &[f32]| {
        let present = curve.iter().filter(|value| value.is_finite());
        present.clone().map(|value| f64::from(*value)).sum::<f64>() / present.count().max(1) as f64
    };
    curves.sort_by_cached_key(|curve| ordered_float_bits(level(curve)));
}

/// Standard deviation of single cells, from differences of curves that are neighbours by level; 9 of 10 lengths have
/// no more. Curves that have the same mean differ less than any two: hence the factor.
fn same_level(curves: &[Vec<f32>], relative: bool) -> f64 {
    let lengths = curves.first().map_or(0, Vec::len);
    if lengths < 2 {
        return f64::NAN;
    }
    let at = |curve: &[f32], length: usize| place(f64::from(curve[length]), relative);
    let scatter = |length: usize| {
        let difference = |pair: &[Vec<f32>]| (at(&pair[0], length) - at(&pair[1], length)).abs();
        median(&mut curves.windows(2).map(difference).collect::<Vec<_>>()) / QUARTILE_DEVIATE / std::f64::consts::SQRT_2
    };
    let mut scatters: Vec<f64> = (0..lengths).map(scatter).collect();
    quantile(&mut scatters, 0.9) / (1.0 - 1.0 / lengths as f64).sqrt()
}

/// Medians of groups of curves on the same level: noise goes, and what many curves do together stays.
fn smooth(curves: &[Vec<f32>]) -> Vec<Vec<f64>> {
    let size = curves.len().div_ceil(GROUPS).max(1);
    let lengths = curves.first().map_or(0, Vec::len);
    let middle = |group: &[Vec<f32>], length: usize| {
        median(&mut group.iter().map(|curve| f64::from(curve[length])).collect::<Vec<_>>())
    };
    curves.chunks(size).map(|group| (0..lengths).map(|length| middle(group, length)).collect()).collect()
}

/// Bits that sort as the numbers do.
fn ordered_float_bits(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_leaves_the_diagonal_out_and_meets_every_row_and_column() {
        for ranks in [2, 3, 5, 64, 78, 300] {
            let cells = sample(ranks, 4096);
            assert!(cells.iter().all(|cell| cell / ranks != cell % ranks), "{ranks}");
            for rank in 0..ranks {
                assert!(cells.iter().any(|cell| cell / ranks == rank), "row {rank} of {ranks}");
                assert!(cells.iter().any(|cell| cell % ranks == rank), "column {rank} of {ranks}");
            }
        }
        assert_eq!(sample(1, 4096), [0]);
    }

    #[test]
    fn bits_sort_as_numbers_do() {
        let mut values = [3.0, -1.0, 0.0, 1e-9, -2e5, f64::INFINITY];
        values.sort_by_key(|value| ordered_float_bits(*value));
        assert_eq!(values, [-2e5, -1.0, 0.0, 1e-9, 3.0, f64::INFINITY]);
    }
}

//! Structure that is no groups: rings, tori, anything in which every host has its own neighbourhood.
//!
//! In: what both directions of every pair have in common, of one band of lengths. Out: a few patterns, each a number per
//! host: a pair's value contains the product of its hosts' numbers. The distance of two hosts in a torus is a sum of few
//! such patterns, as most smooth structures are; noise and single slow pairs are not.

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use super::Band;
use crate::{analysis::square::Square, stats::median};

/// Most patterns of a band.
const MOST_PATTERNS: usize = 24;

/// Least share by which further patterns must lessen the error of a prediction.
const LEAST_GAIN: f64 = 0.01;

/// How often missing cells, the diagonal among them, are filled in with what the patterns say about them.
const FILLINGS: usize = 4;

/// Steps of the subspace iteration.
const STEPS: usize = 6;

/// What a band's first square says about its second one.
pub struct Patterns {
    /// Unit vectors in columns, orthogonal to each other and to the same number for all hosts, `[host, pattern]`.
    pub vectors: DMatrix<f64>,
    /// What the product of two hosts' numbers is multiplied by, `[pattern]`.
    pub strengths: Vec<f64>,
    /// Middle error of the prediction of the second square.
    pub error: f64,
}

impl Patterns {
    /// Where every host is, `[host, pattern]`: hosts are as far apart as the predicted rows of the square are.
    pub fn places(&self) -> DMatrix<f64> {
        let mut places = self.vectors.clone();
        for (mut column, strength) in places.column_iter_mut().zip(&self.strengths) {
            column *= *strength;
        }
        places
    }
}

/// Finds as many patterns in the first square as lessen the error in predicting the second one.
pub fn patterns(band: &Band) -> Patterns {
    let hosts = band.first.side();
    let (first, second) = (without_hosts(&band.first), without_hosts(&band.second));
    let mut matrix = DMatrix::from_fn(hosts, hosts, |i, j| first.at(i, j));
    let missing: Vec<(usize, usize)> =
        (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|place| matrix[*place].is_nan()).collect();
    missing.iter().for_each(|place| matrix[*place] = 0.0);
    let most = MOST_PATTERNS.min(hosts / 3);
    let mut best = (0, error(&second, &DMatrix::zeros(hosts, hosts)));
    let mut vectors = DMatrix::zeros(hosts, 0);
    let mut strengths = Vec::new();
    for _ in 0..FILLINGS {
        (vectors, strengths) = strongest(&matrix, most, vectors);
        let mut predicted = DMatrix::zeros(hosts, hosts);
        let mut filling = predicted.clone();
        let none = error(&second, &predicted);
        best = (0, none);
        for (number, strength) in strengths.iter().enumerate() {
            let vector = vectors.column(number);
            predicted.ger(*strength, &vector, &vector, 1.0);
            let error = error(&second, &predicted);
            if error < best.1 * (1.0 - LEAST_GAIN) {
                best = (number + 1, error);
                filling.copy_from(&predicted);
            }
        }
        missing.iter().for_each(|place| matrix[*place] = filling[*place]);
    }
    strengths.truncate(best.0);
    Patterns { vectors: vectors.columns(0, best.0).into_owned(), strengths, error: best.1 }
}

/// A square without the effects of single hosts, as far as the middles of rows show them.
fn without_hosts(square: &Square) -> Square {
    let hosts = square.side();
    let mut values = square.clone();
    for _ in 0..3 {
        let effect: Vec<f64> = (0..hosts)
            .map(|i| median(&mut values.row(i).iter().map(|value| f64::from(*value)).collect::<Vec<_>>()))
            .map(|effect| if effect.is_nan() { 0.0 } else { effect })
            .collect();
        let middle = median(&mut effect.clone());
        values.rows_mut().enumerate().for_each(|(i, row)| {
            for (value, other) in row.iter_mut().zip(&effect) {
                *value -= (effect[i] + other - middle) as f32;
            }
        });
    }
    values
}

/// Middle distance of a square from its prediction.
fn error(values: &Square, predicted: &DMatrix<f64>) -> f64 {
    let mut errors: Vec<f64> = values.upper_pairs().map(|(i, j, value)| (value - predicted[(i, j)]).abs()).collect();
    1.4826 * median(&mut errors)
}

/// The strongest eigenvectors of a symmetric matrix that are orthogonal to the constant, as columns, and their
/// eigenvalues, by descending magnitude: subspace iteration with a Rayleigh-Ritz step, from `start` where it has columns.
fn strongest(matrix: &DMatrix<f64>, count: usize, start: DMatrix<f64>) -> (DMatrix<f64>, Vec<f64>) {
    let hosts = matrix.nrows();
    // Any start will do that is no pattern itself: the multiples of irrational numbers are spread evenly.
    let fresh = |i: usize, k: usize| ((i + 1) as f64 * ((k + 2) as f64).sqrt() * 0.618_033_988_749_895).fract() - 0.5;
    let mut basis = if start.ncols() == count { start } else { DMatrix::from_fn(hosts, count, fresh) };
    let centre = |basis: &mut DMatrix<f64>| {
        for mut column in basis.column_iter_mut() {
            let mean = column.mean();
            column.add_scalar_mut(-mean);
        }
    };
    for _ in 0..STEPS {
        centre(&mut basis);
        basis = (matrix * basis.qr().q()).columns(0, count).into_owned();
    }
    centre(&mut basis);
    let basis = basis.qr().q();
    let small = basis.transpose() * matrix * &basis;
    let eigen = SymmetricEigen::new((&small + small.transpose()) / 2.0);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| eigen.eigenvalues[*b].abs().total_cmp(&eigen.eigenvalues[*a].abs()));
    let rotated = basis * eigen.eigenvectors;
    let columns: Vec<_> = order.iter().map(|k| rotated.column(*k).into_owned()).collect();
    let values = order.iter().map(|k| eigen.eigenvalues[*k]).collect();
    if columns.is_empty() { (DMatrix::zeros(hosts, 0), values) } else { (DMatrix::from_columns(&columns), values) }
}

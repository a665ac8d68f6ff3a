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
    if count == 0 {
        return (DMatrix::zeros(hosts, 0), Vec::new());
    }
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
    (DMatrix::from_columns(&columns), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::drawn::{band, generator, lose_pairs, normal, symmetric, torus},
        stats::scatter,
    };

    /// Scatter of what is left of the second square.
    fn left(band: &Band, found: &Patterns) -> f64 {
        let vectors = &found.vectors;
        let strengths = DMatrix::from_diagonal(&nalgebra::DVector::from_vec(found.strengths.clone()));
        let predicted = vectors * strengths * vectors.transpose();
        let pairs = without_hosts(&band.second);
        scatter(&mut pairs.upper_pairs().map(|(i, j, value)| value - predicted[(i, j)]).collect::<Vec<_>>())
    }

    #[test]
    fn a_torus_is_predicted_about_as_well_as_noise_allows() {
        let mut rng = generator(1);
        let hops = torus([3, 3, 3], &mut rng);
        let band = band(27, 0.02, &mut rng, |i, j| 0.2 * hops[i][j]);
        let found = patterns(&band);
        assert!(left(&band, &found) < 0.02 * 1.6, "{}", left(&band, &found));
        assert!(found.strengths.len() >= 5, "{:?}", found.strengths);
    }

    #[test]
    fn a_torus_of_which_pairs_are_missing_is_predicted_still() {
        let mut rng = generator(2);
        let hops = torus([4, 4, 3], &mut rng);
        let mut band = band(48, 0.02, &mut rng, |i, j| 0.2 * hops[i][j]);
        lose_pairs(&mut [&mut band.first, &mut band.second], 0.2, &mut rng);
        let found = patterns(&band);
        assert!(left(&band, &found) < 0.02 * 2.5, "{}", left(&band, &found));
    }

    #[test]
    fn vectors_are_orthogonal_to_each_other_and_to_the_constant() {
        let mut rng = generator(3);
        let hops = torus([3, 3, 3], &mut rng);
        let found = patterns(&band(27, 0.02, &mut rng, |i, j| 0.2 * hops[i][j]));
        assert!(found.vectors.ncols() >= 4 && found.vectors.ncols() == found.strengths.len());
        let product = found.vectors.transpose() * &found.vectors;
        assert!((product - DMatrix::identity(found.strengths.len(), found.strengths.len())).amax() < 1e-6);
        assert!(found.vectors.column_iter().all(|column| column.mean().abs() < 1e-6));
        assert!(found.strengths.windows(2).all(|pair| pair[0].abs() + 1e-6 >= pair[1].abs()));
    }

    #[test]
    fn noise_slow_hosts_and_single_slow_pairs_are_no_patterns() {
        let mut rng = generator(4);
        let slow = |host: usize| if host == 7 { 0.8 } else { 0.0 };
        let pair = |i: usize, j: usize| if (i, j) == (2, 19) { 0.5 } else { 0.0 };
        let found = patterns(&band(30, 0.05, &mut rng, |i, j| slow(i) + slow(j) + pair(i, j)));
        assert!(found.strengths.len() <= 1, "{:?}", found.strengths);
        assert!((0.04..0.07).contains(&found.error), "{}", found.error);
    }

    #[test]
    fn neighbours_in_a_torus_are_in_places_near_each_other() {
        let mut rng = generator(5);
        let hops = torus([4, 4, 2], &mut rng);
        let places = patterns(&band(32, 0.02, &mut rng, |i, j| 0.2 * hops[i][j])).places();
        let pairs = || (0..32).flat_map(|i| (i + 1..32).map(move |k| (i, k)));
        let apart = |(i, k): (usize, usize)| (places.row(i) - places.row(k)).norm();
        let neighbours = pairs().filter(|(i, k)| hops[*i][*k] == 1.0).map(apart).fold(0.0, f64::max);
        let far = pairs().filter(|(i, k)| hops[*i][*k] >= 4.0).map(apart).fold(f64::INFINITY, f64::min);
        assert!(neighbours < far, "{neighbours} {far}");
    }

    #[test]
    fn few_hosts_and_missing_squares_have_no_patterns() {
        let mut rng = generator(6);
        let few = patterns(&band(2, 0.02, &mut rng, |_, _| 0.0));
        assert_eq!((few.vectors.ncols(), few.places().nrows()), (0, 2));
        let missing = || Square::missing(12);
        let nothing = patterns(&Band { first: missing(), second: missing(), noise: 0.1 });
        assert_eq!(nothing.vectors.ncols(), 0);
    }

    #[test]
    fn effects_of_hosts_are_taken_away() {
        let mut rng = generator(7);
        let effect: Vec<f64> = (0..20).map(|_| normal(&mut rng)).collect();
        let square = without_hosts(&symmetric(20, |i, j| 3.0 + effect[i] + effect[j]));
        assert!(square.upper().all(|value| value.abs() < 0.1));
    }
}

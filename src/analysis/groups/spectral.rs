//! Structure that is no groups: rings, tori, anything in which every host has its own neighbourhood.
//!
//! In: what both directions of every pair have in common, of one band of lengths. Out: a few patterns, each a number
//! per host: a pair's value contains the product of its hosts' numbers. The distance of two hosts in a torus is a sum
//! of few such patterns, as most smooth structures are; noise and single slow pairs are not.

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use super::Band;
use crate::{
    analysis::square::Square,
    stats::{median, scatter},
};

/// Most patterns of a band.
const MOST_PATTERNS: usize = 24;

/// Least share by which further patterns must lessen the error of a prediction.
const LEAST_GAIN: f64 = 0.01;

/// Departure from what patterns say, in units of the usual one, from which on a value is an outlier.
const OUTLIER: f64 = 4.0;

/// Share of the hosts that a pattern is about, at least: the inverse of the sum of fourth powers of a unit vector.
const LEAST_SPREAD: f64 = 0.2;

/// The same as a number of hosts.
const LEAST_HOSTS: f64 = 4.0;

/// Share of known pairs below which many are missing.
const MANY_MISSING: f64 = 0.8;

/// Of every 97 pairs, those by which patterns are judged where many are missing.
const HELD: usize = 16;

/// How often cells are filled in where many are missing: every time brings them nearer by the share that is known.
const FILLINGS_OF_MANY: usize = 24;

/// How often cells that are missing, the diagonal among them, or outlying are filled in with what the patterns say
/// about them.
const FILLINGS: usize = 4;

/// Steps of the subspace iteration.
const STEPS: usize = 6;

/// What a band's first square says about its second one; in times rather than logarithms.
pub struct Patterns {
    /// Unit vectors in columns, orthogonal to each other and to the same number for all hosts, `[host, pattern]`.
    pub vectors: DMatrix<f64>,
    /// What the product of two hosts' numbers is multiplied by, `[pattern]`.
    pub strengths: Vec<f64>,
    /// Middle error of the prediction of the second square.
    pub error: f64,
}

/// By what it is judged how many patterns there are, where many pairs are missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The other direction of the pairs that they were found in.
    KnownPairs,
    /// Pairs that they were not found in: patterns of what is missing predict the others.
    HeldOutPairs,
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

/// Finds patterns in the first square, as many as lessen the error in predicting the second one.
pub fn patterns(band: &Band, judge: Judge) -> Patterns {
    let hosts = band.first.side();
    let (mut first, mut second) = (factors(&band.first), factors(&band.second));
    let known = first.upper().count() as f64 / (hosts * hosts.saturating_sub(1)).max(1) as f64 * 2.0;
    let fillings =
        if judge == Judge::HeldOutPairs && known < MANY_MISSING { hold_out(&mut first, &mut second) } else { FILLINGS };
    let mut matrix = DMatrix::from_fn(hosts, hosts, |i, j| if first.at(i, j).is_nan() { 0.0 } else { first.at(i, j) });
    let most = MOST_PATTERNS.min(hosts / 3);
    let mut found = Patterns { vectors: DMatrix::zeros(hosts, 0), strengths: Vec::new(), error: f64::NAN };
    let mut start = DMatrix::zeros(hosts, 0);
    for _ in 0..fillings {
        let (vectors, strengths) = strongest(&matrix, most, start);
        let predicted;
        (found, predicted) = fewest(&vectors, &strengths, &second);
        start = vectors;
        // What is missing and what is an outlier is filled in with what the patterns say: a slow pair is no pattern.
        let mut departures: Vec<f64> = first.upper_pairs().map(|(i, j, value)| value - predicted[(i, j)]).collect();
        let limit = OUTLIER * scatter(&mut departures);
        matrix = DMatrix::from_fn(hosts, hosts, |i, j| {
            let value = first.at(i, j);
            if (value - predicted[(i, j)]).abs() <= limit { value } else { predicted[(i, j)] }
        });
    }
    found
}

/// Takes some pairs from the first square and leaves only these in the second one: where many are missing, patterns of
/// what is missing predict all others. Returns how often to fill in.
fn hold_out(first: &mut Square, second: &mut Square) -> usize {
    let is_held = |i: usize, j: usize| (i.min(j) * 7919 + i.max(j) * 104_729) % 97 < HELD;
    let hosts = first.side();
    for (i, j) in (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))) {
        let square = if is_held(i, j) { &mut *first } else { &mut *second };
        square.set(i, j, f64::NAN);
    }
    FILLINGS_OF_MANY
}

/// The strongest patterns, as many as lessen the error in predicting a square, and the prediction. Patterns of a few
/// hosts are none: slow pairs have such.
fn fewest(vectors: &DMatrix<f64>, strengths: &[f64], second: &Square) -> (Patterns, DMatrix<f64>) {
    let hosts = vectors.nrows();
    let spread = |number: usize| 1.0 / vectors.column(number).iter().map(|part| part.powi(4)).sum::<f64>();
    let least = (LEAST_SPREAD * hosts as f64).max(LEAST_HOSTS);
    let all: Vec<usize> = (0..strengths.len()).filter(|number| spread(*number) >= least).collect();
    let mut predicted: DMatrix<f64> = DMatrix::zeros(hosts, hosts);
    let mut best = (0, error(second, &predicted), predicted.clone());
    for (count, &number) in all.iter().enumerate() {
        let vector = vectors.column(number);
        predicted.ger(strengths[number], &vector, &vector, 1.0);
        let error = error(second, &predicted);
        if error < best.1 * (1.0 - LEAST_GAIN) {
            best = (count + 1, error, predicted.clone());
        }
    }
    let (count, error, predicted) = best;
    let kept = &all[..count];
    let columns: Vec<_> = kept.iter().map(|number| vectors.column(*number).into_owned()).collect();
    let vectors = if count == 0 { DMatrix::zeros(hosts, 0) } else { DMatrix::from_columns(&columns) };
    (Patterns { vectors, strengths: kept.iter().map(|number| strengths[*number]).collect(), error }, predicted)
}

/// What the times themselves are like, without the effects of single hosts, about 0: hops add up in times, not in their
/// logarithms.
fn factors(square: &Square) -> Square {
    let mut factors = without_hosts(square);
    factors.rows_mut().for_each(|row| row.iter_mut().for_each(|value| *value = value.exp()));
    let (count, sum) = factors.upper().fold((0, 0.0), |(count, sum), factor| (count + 1, sum + factor));
    let mean = (sum / f64::from(count.max(1))) as f32;
    factors.rows_mut().for_each(|row| row.iter_mut().for_each(|value| *value -= mean));
    factors
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

/// Scatter of a square about its prediction, up to a number that is the same for all pairs.
fn error(values: &Square, predicted: &DMatrix<f64>) -> f64 {
    scatter(&mut values.upper_pairs().map(|(i, j, value)| value - predicted[(i, j)]).collect::<Vec<_>>())
}

/// The strongest eigenvectors of a symmetric matrix that are orthogonal to the constant, as columns, and their
/// eigenvalues, by descending magnitude: subspace iteration with a Rayleigh-Ritz step, from `start` where it has
/// columns.
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
    use crate::analysis::drawn::{band, generator, lose_pairs, normal, symmetric, torus};

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
        let found = patterns(&band, Judge::HeldOutPairs);
        assert!(left(&band, &found) < 0.02 * 1.6, "{}", left(&band, &found));
        assert!(found.strengths.len() >= 5, "{:?}", found.strengths);
    }

    #[test]
    fn a_torus_of_which_pairs_are_missing_is_predicted_still() {
        let mut rng = generator(2);
        let hops = torus([4, 4, 3], &mut rng);
        let mut band = band(48, 0.02, &mut rng, |i, j| 0.2 * hops[i][j]);
        lose_pairs(&mut [&mut band.first, &mut band.second], 0.2, &mut rng);
        let found = patterns(&band, Judge::HeldOutPairs);
        assert!(left(&band, &found) < 0.02 * 2.5, "{}", left(&band, &found));
    }

    #[test]
    fn vectors_are_orthogonal_to_each_other_and_to_the_constant() {
        let mut rng = generator(3);
        let hops = torus([3, 3, 3], &mut rng);
        let found = patterns(&band(27, 0.02, &mut rng, |i, j| 0.2 * hops[i][j]), Judge::HeldOutPairs);
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
        let found = patterns(&band(30, 0.05, &mut rng, |i, j| slow(i) + slow(j) + pair(i, j)), Judge::HeldOutPairs);
        assert!(found.strengths.len() <= 1, "{:?}", found.strengths);
        assert!((0.04..0.07).contains(&found.error), "{}", found.error);
    }

    #[test]
    fn neighbours_in_a_torus_are_in_places_near_each_other() {
        let mut rng = generator(5);
        let hops = torus([4, 4, 2], &mut rng);
        let places = patterns(&band(32, 0.02, &mut rng, |i, j| 0.2 * hops[i][j]), Judge::HeldOutPairs).places();
        let pairs = || (0..32).flat_map(|i| (i + 1..32).map(move |k| (i, k)));
        let apart = |(i, k): (usize, usize)| (places.row(i) - places.row(k)).norm();
        let neighbours = pairs().filter(|(i, k)| hops[*i][*k] == 1.0).map(apart).fold(0.0, f64::max);
        let far = pairs().filter(|(i, k)| hops[*i][*k] >= 4.0).map(apart).fold(f64::INFINITY, f64::min);
        assert!(neighbours < far, "{neighbours} {far}");
    }

    #[test]
    fn few_hosts_and_missing_squares_have_no_patterns() {
        let mut rng = generator(6);
        let few = patterns(&band(2, 0.02, &mut rng, |_, _| 0.0), Judge::HeldOutPairs);
        assert_eq!((few.vectors.ncols(), few.places().nrows()), (0, 2));
        let missing = || Square::missing(12);
        let nothing = patterns(&Band { first: missing(), second: missing(), noise: 0.1 }, Judge::HeldOutPairs);
        assert_eq!(nothing.vectors.ncols(), 0);
    }

    #[test]
    fn effects_of_hosts_are_taken_away() {
        let mut rng = generator(7);
        let effect: Vec<f64> = (0..20).map(|_| normal(&mut rng)).collect();
        let square = without_hosts(&symmetric(20, |i, j| 3.0 + effect[i] + effect[j]));
        assert!(square.upper().all(|value| value.abs() < 0.1));
    }

    #[test]
    fn slow_pairs_of_a_torus_are_no_patterns() {
        let mut rng = generator(8);
        let hops = torus([4, 4, 2], &mut rng);
        let slow =
            |i: usize, j: usize| if [(3, 17), (5, 9), (20, 28)].contains(&(i.min(j), i.max(j))) { 1.0 } else { 0.0 };
        let found =
            patterns(&band(32, 0.03, &mut rng, |i, j| (1.0 + 0.3 * hops[i][j]).ln() + slow(i, j)), Judge::HeldOutPairs);
        assert_eq!(found.strengths.len(), 5, "{:?}", found.strengths);
        let of_host = |host: usize| found.vectors.row(host).norm_squared();
        let most = (0..32).map(of_host).fold(0.0, f64::max);
        assert!(most < 0.3, "{most} of a host's own vector");
    }
}

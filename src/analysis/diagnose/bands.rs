//! What the search for structure looks at: few bands of neighbouring lengths, without outliers, twice.
//!
//! In: the means and half differences of both directions at every length. Out: [`Band`]s.

use std::ops::Range;

use rayon::prelude::*;

use super::polish::LEAST_NOISE;
use crate::{
    analysis::{groups::Band, square::Square},
    stats::{scatter, scatter_about_zero},
};

/// Bands of neighbouring lengths that structure is looked for in.
const BANDS: usize = 3;

/// The lengths of every band.
pub(super) fn ranges(lengths: usize) -> Vec<Range<usize>> {
    let count = lengths.min(BANDS);
    (0..count).map(|band| band * lengths / count..(band + 1) * lengths / count).collect()
}

/// Neighbouring lengths together, without outliers.
pub(super) fn bands(mean: &[Square], half: &[Square]) -> Vec<Band> {
    let lengths = ranges(mean.len());
    lengths.into_par_iter().map(|lengths| band(&mean[lengths.clone()], &half[lengths])).collect()
}

fn band(mean: &[Square], half: &[Square]) -> Band {
    let (mut first, mut second) = both_directions(mean, half);
    clip(&mut first);
    clip(&mut second);
    let differences = first.upper_pairs().map(|(i, j, value)| value - second.at(i, j));
    let mut differences: Vec<f64> = differences.filter(|difference| !difference.is_nan()).collect();
    let noise = if differences.len() < LEAST_DIFFERENCES {
        scatter(&mut first.upper().collect::<Vec<_>>())
    } else {
        clipped_scatter(&mut differences) / 2.0f64.sqrt()
    };
    Band { first, second, noise: noise.max(LEAST_NOISE) }
}

/// Of each pair, one direction, the same at all lengths; and the other one. A pair of which only one was measured has
/// it here or there.
fn both_directions(mean: &[Square], half: &[Square]) -> (Square, Square) {
    let hosts = mean[0].side();
    let (mut first, mut second) = (Square::missing(hosts), Square::missing(hosts));
    first.rows_mut().zip(second.rows_mut()).enumerate().for_each(|(i, (first, second))| {
        let (mut cells, mut scratch) = (Vec::new(), Vec::new());
        for j in i + 1..hosts {
            cells.clear();
            cells.extend(mean.iter().zip(half).map(|(mean, half)| (mean.at(i, j), half.at(i, j))));
            let sign = coin(i, j);
            let is_one_way = cells.iter().all(|(_, half)| half.is_nan());
            let mut middle = |sign: f64| {
                let cells = cells.iter().map(|(mean, half)| mean + if half.is_nan() { 0.0 } else { sign * half });
                middle_of_few(cells, &mut scratch) as f32
            };
            if !is_one_way || sign > 0.0 {
                first[j] = middle(sign);
            }
            if !is_one_way || sign < 0.0 {
                second[j] = middle(-sign);
            }
        }
    });
    first.mirror();
    second.mirror();
    (first, second)
}

/// What both directions of every pair have in common, over all lengths.
pub(super) fn middle_square(mean: &[Square]) -> Square {
    let mut square = Square::missing(mean[0].side());
    square.rows_mut().enumerate().for_each(|(i, row)| {
        let mut scratch = Vec::new();
        for (j, value) in row.iter_mut().enumerate() {
            *value = middle_of_few(mean.iter().map(|mean| mean.at(i, j)), &mut scratch) as f32;
        }
    });
    square
}

/// Pairs that were measured in both directions from which on their differences say how large the noise is.
const LEAST_DIFFERENCES: usize = 8;

/// 1 or -1 by a hash of a pair, with opposite signs for `(i, j)` and `(j, i)`.
fn coin(i: usize, j: usize) -> f64 {
    let (low, high) = (i.min(j) as u64, i.max(j) as u64);
    // SplitMix64's mixing (Steele, Lea and Flood, 2014).
    let mut z = low.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(high).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^= z >> 29;
    z = z.wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 32;
    if (z & 1 == 0) == (i < j) { 1.0 } else { -1.0 }
}

/// Standard deviation about zero after outliers were taken back to four times the usual scatter.
fn clipped_scatter(values: &mut [f64]) -> f64 {
    let usual = scatter_about_zero(&mut values.to_vec());
    let squares: f64 = values.iter().map(|value| value.abs().min(4.0 * usual).powi(2)).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

/// The mean of one to three values, else of those nearer to the middle, without a quarter at either end.
pub(super) fn middle_of_few(values: impl Iterator<Item = f64>, scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend(values.filter(|value| !value.is_nan()));
    let count = scratch.len();
    let sum: f64 = scratch.iter().sum();
    match count {
        0..4 => sum / count as f64,
        // A quarter is one value: nothing needs to be sorted for that.
        4..8 => {
            let least = scratch.iter().copied().fold(f64::INFINITY, f64::min);
            let largest = scratch.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (sum - least - largest) / (count - 2) as f64
        }
        _ => {
            scratch.sort_unstable_by(f64::total_cmp);
            let cut = count / 4;
            scratch[cut..count - cut].iter().sum::<f64>() / (count - 2 * cut) as f64
        }
    }
}

/// Share of a row's cells that may be outliers.
const OUTLYING: f64 = 0.03;

/// Takes outliers back to the largest usual one of their row or of their column, whichever is larger: what is slow
/// as a whole stays slow.
fn clip(values: &mut Square) {
    let hosts = values.side();
    let largest: Vec<f32> = (0..hosts)
        .into_par_iter()
        .map(|i| {
            let mut row: Vec<f32> = values.row(i).iter().copied().filter(|value| !value.is_nan()).collect();
            let outliers = (row.len() as f64 * OUTLYING).ceil() as usize;
            if row.len() <= outliers {
                return f32::INFINITY;
            }
            let place = row.len() - 1 - outliers;
            *row.select_nth_unstable_by(place, f32::total_cmp).1
        })
        .collect();
    values.rows_mut().enumerate().for_each(|(i, row)| {
        for (value, limit) in row.iter_mut().zip(&largest).filter(|(value, _)| !value.is_nan()) {
            *value = value.min(limit.max(largest[i]));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal, square, symmetric};

    #[test]
    fn lengths_are_shared_among_at_most_three_bands() {
        let mean = |count: usize| (0..count).map(|length| symmetric(5, |_, _| length as f64)).collect::<Vec<_>>();
        for (count, expected) in
            [(1, vec![0.0]), (2, vec![0.0, 1.0]), (3, vec![0.0, 1.0, 2.0]), (6, vec![0.5, 2.5, 4.5])]
        {
            let bands = bands(&mean(count), &vec![square(5, |_, _| 0.0); count]);
            let values: Vec<f64> = bands.iter().map(|band| band.first.at(1, 3)).collect();
            assert_eq!(values, expected);
            assert!(bands.iter().all(|band| band.noise == LEAST_NOISE));
        }
    }

    #[test]
    fn each_square_has_one_direction_of_every_pair() {
        let half = |i: usize, j: usize| if i < j { 0.1 } else { -0.1 };
        let bands = bands(&[symmetric(12, |_, _| 1.0)], &[square(12, half)]);
        let (first, second) = (&bands[0].first, &bands[0].second);
        let mut ahead = 0;
        for (i, j, value) in first.upper_pairs() {
            assert!((value - 1.0).abs() > 0.09 && (value + second.at(i, j) - 2.0).abs() < 1e-6);
            assert_eq!(value, first.at(j, i));
            ahead += i32::from(value > 1.0);
        }
        assert!((20..47).contains(&ahead), "{ahead} of 66");
    }

    #[test]
    fn a_pair_that_was_measured_one_way_is_in_one_square() {
        let mut half = square(10, |_, _| 0.0);
        for (i, j) in [(0, 1), (2, 5), (3, 8), (4, 9)] {
            half.set(i, j, f64::NAN);
            half.set(j, i, f64::NAN);
        }
        let bands = bands(&[symmetric(10, |_, _| 1.0)], &[half]);
        let is_there = |square: &Square| !square.at(0, 1).is_nan();
        assert!(is_there(&bands[0].first) != is_there(&bands[0].second));
        assert_eq!(bands[0].first.upper().count() + bands[0].second.upper().count(), 2 * 45 - 4);
    }

    #[test]
    fn noise_is_that_of_one_direction() {
        let mut rng = generator(1);
        let times = square(30, |_, _| 0.05 * normal(&mut rng));
        let mean = symmetric(30, |i, j| (times.at(i, j) + times.at(j, i)) / 2.0);
        let half = square(30, |i, j| (times.at(i, j) - times.at(j, i)) / 2.0);
        let noise = bands(std::slice::from_ref(&mean), &[half])[0].noise;
        assert!((noise / 0.05 - 1.0).abs() < 0.15, "{noise}");
        // Where hardly any pair was measured both ways: the scatter of what there is.
        let noise = bands(std::slice::from_ref(&mean), &[Square::missing(30)])[0].noise;
        assert!((0.02..0.06).contains(&noise), "{noise}");
    }

    #[test]
    fn wild_values_are_taken_back_but_slow_hosts_stay_slow() {
        let slow = |host: usize| if host == 4 { 0.5 } else { 0.0 };
        let mut values = symmetric(20, |i, j| slow(i) + slow(j));
        values.set(2, 9, 8.0);
        values.set(9, 2, 8.0);
        clip(&mut values);
        // The largest usual one of their rows is that toward the slow host.
        assert_eq!((values.at(2, 9), values.at(9, 2)), (0.5, 0.5));
        assert!((0..20).filter(|host| *host != 4).all(|host| values.at(4, host) == 0.5 && values.at(host, 4) == 0.5));
    }

    #[test]
    fn the_middle_of_few_is_a_mean_of_the_inner_ones() {
        let middle = |values: &[f64]| middle_of_few(values.iter().copied(), &mut vec![9.0]);
        assert_eq!((middle(&[1.0]), middle(&[1.0, 4.0]), middle(&[1.0, 2.0, 6.0])), (1.0, 2.5, 3.0));
        assert_eq!(middle(&[100.0, 1.0, -100.0, 3.0]), 2.0);
        assert_eq!(middle(&[f64::NAN, 2.0]), 2.0);
        assert!(middle(&[]).is_nan());
    }

    #[test]
    fn a_coin_is_antisymmetric_and_fair() {
        let pairs = (0..60).flat_map(|i| (i + 1..60).map(move |j| (i, j)));
        assert!(pairs.clone().all(|(i, j)| coin(i, j) == -coin(j, i)));
        let sum: f64 = pairs.map(|(i, j)| coin(i, j)).sum();
        assert!(sum.abs() < 150.0, "{sum} of 1770");
    }

    #[test]
    fn a_clipped_scatter_takes_wild_values_back() {
        let mut values = [1.0, -1.0, 1.0, -1.0, 1000.0];
        let limit = 4.0 * 1.482_602f64;
        assert!((clipped_scatter(&mut values) - ((4.0 + limit * limit) / 5.0).sqrt()).abs() < 1e-9);
        assert_eq!(clipped_scatter(&mut []), 0.0);
    }
}

//! What the search for structure looks at: few bands of neighbouring lengths, without wild values, twice.
//!
//! In: the means and half differences of both directions at every length. Out: [`Band`]s.

use rayon::prelude::*;

use super::polish::LEAST_NOISE;
use crate::{
    analysis::{groups::Band, square::Square},
    stats::{scatter, scatter_about_zero},
};

/// Bands of neighbouring lengths that structure is looked for in.
const BANDS: usize = 3;

/// Neighbouring lengths together, without wild values.
pub(super) fn bands(mean: &[Square], half: &[Square]) -> Vec<Band> {
    let count = mean.len().min(BANDS);
    let hosts = mean[0].side();
    (0..count)
        .into_par_iter()
        .map(|band| {
            let lengths = band * mean.len() / count..(band + 1) * mean.len() / count;
            // Of each pair, one direction: the same at all lengths. A pair of which only one was measured has it here or there.
            let pick = |sign: f64| {
                let mut values = Square::missing(hosts);
                values.rows_mut().enumerate().for_each(|(i, row)| {
                    let mut scratch = Vec::new();
                    for (j, value) in row.iter_mut().enumerate().filter(|(j, _)| *j != i) {
                        let is_one_way = lengths.clone().all(|length| half[length].at(i, j).is_nan());
                        if is_one_way && sign * coin(i.min(j), i.max(j)) < 0.0 {
                            continue;
                        }
                        let sign = sign * coin(i, j);
                        let cells = lengths.clone().map(|length| {
                            let half = half[length].at(i, j);
                            mean[length].at(i, j) + if half.is_nan() { 0.0 } else { sign * half }
                        });
                        *value = middle_of_few(cells, &mut scratch) as f32;
                    }
                });
                tame(&mut values);
                values
            };
            let (first, second) = (pick(1.0), pick(-1.0));
            let differences = first.upper_pairs().map(|(i, j, value)| value - second.at(i, j));
            let mut differences: Vec<f64> = differences.filter(|difference| !difference.is_nan()).collect();
            let noise = if differences.len() < LEAST_DIFFERENCES {
                scatter(&mut first.upper().collect::<Vec<_>>())
            } else {
                clipped_scatter(&mut differences) / 2.0f64.sqrt()
            };
            Band { first, second, noise: noise.max(LEAST_NOISE) }
        })
        .collect()
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

/// Standard deviation about zero after wild values were taken back to four times the usual scatter.
fn clipped_scatter(values: &mut [f64]) -> f64 {
    let usual = scatter_about_zero(&mut values.to_vec());
    let squares: f64 = values.iter().map(|value| value.abs().min(4.0 * usual).powi(2)).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

/// The mean of one or two values, else of those nearer to the middle.
fn middle_of_few(values: impl Iterator<Item = f64>, scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend(values.filter(|value| !value.is_nan()));
    scratch.sort_unstable_by(f64::total_cmp);
    let cut = scratch.len() / 4;
    let kept = &scratch[cut..scratch.len() - cut];
    if kept.is_empty() { f64::NAN } else { kept.iter().sum::<f64>() / kept.len() as f64 }
}

/// Share of a row's cells that may be wild.
const WILD: f64 = 0.03;

/// Takes wild values back to the largest usual one of their row or of their column, whichever is larger: what is slow as
/// a whole stays slow.
fn tame(values: &mut Square) {
    let hosts = values.side();
    let largest: Vec<f32> = (0..hosts)
        .into_par_iter()
        .map(|i| {
            let mut row: Vec<f32> = values.row(i).iter().copied().filter(|value| !value.is_nan()).collect();
            let wild = (row.len() as f64 * WILD).ceil() as usize;
            if row.len() <= wild {
                return f32::INFINITY;
            }
            let place = row.len() - 1 - wild;
            *row.select_nth_unstable_by(place, f32::total_cmp).1
        })
        .collect();
    values.rows_mut().enumerate().for_each(|(i, row)| {
        for (value, limit) in row.iter_mut().zip(&largest).filter(|(value, _)| !value.is_nan()) {
            *value = value.min(limit.max(largest[i]));
        }
    });
}

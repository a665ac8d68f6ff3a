//! Sorts the hosts of two groups that are mixed up, and splits groups that are two.
//!
//! In: [`Band`]s and the group of every host. Out: a better group of every host. What is found in the first squares counts
//! as far as the second ones say the same.

use nalgebra::{DMatrix, SymmetricEigen};

use super::{
    Band,
    blocks::{LEAST_DIFFERENCE, middle},
    by_size,
};
use crate::stats::scatter_about_zero;

/// Splits groups that are two, and sorts the hosts of two groups anew where they are mixed up. Hosts of one leaf are near
/// each other; how far they are from others says nothing about which of two neighbouring leaves they belong to.
pub fn sorted(bands: &[Band], mut label: Vec<usize>) -> Vec<usize> {
    let mut count = label.iter().max().map_or(0, |last| last + 1);
    let mut is_changed = vec![true; count];
    for _ in 0..3 {
        let mut next = vec![false; count];
        let known = count;
        for g in 0..known {
            for h in g..known {
                if !(is_changed[g] || is_changed[h]) {
                    continue;
                }
                let pool: Vec<usize> = (0..label.len()).filter(|host| [g, h].contains(&label[*host])).collect();
                let sides: Vec<bool> = pool.iter().map(|host| label[*host] == g).collect();
                let Some((split, contrast)) = bisect(bands, &pool) else { continue };
                let needed = if g == h { SPLIT } else { contrast_of(bands, &pool, &sides).max(0.0) + BETTER };
                if contrast < needed {
                    continue;
                }
                let other = if g == h { count } else { h };
                pool.iter().zip(split).for_each(|(host, is_first)| label[*host] = if is_first { g } else { other });
                if g == h {
                    count += 1;
                    next.push(true);
                    is_changed.push(true);
                }
                next[g] = true;
                next[h] = true;
            }
        }
        if !next.contains(&true) {
            break;
        }
        is_changed = next;
    }
    by_size(&label)
}

/// Contrast, in standard errors, from which on a group is two.
const SPLIT: f64 = 5.0;

/// By how much more contrast a new division of two groups must have.
const BETTER: f64 = 2.0;

/// The division of some hosts into two halves that are near each other, as the first squares show it; and how much nearer
/// they are in the second ones, in standard errors. `None` if there are too few hosts.
fn bisect(bands: &[Band], pool: &[usize]) -> Option<(Vec<bool>, f64)> {
    if pool.len() < 4 {
        return None;
    }
    let count = pool.len();
    let mut nearness: DMatrix<f64> = DMatrix::zeros(count, count);
    for band in bands {
        let at = |n: usize, m: usize| band.first.at(pool[n], pool[m]);
        let pairs = || (0..count).flat_map(|n| (0..count).map(move |m| (n, m)));
        let known: Vec<f64> = pairs().map(|(n, m)| at(n, m)).filter(|value| !value.is_nan()).collect();
        let middle = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let limit =
            3.0 * scatter_about_zero(&mut known.iter().map(|value| value - middle).collect::<Vec<_>>()).max(band.noise);
        for (n, m) in pairs().filter(|(n, m)| !at(*n, *m).is_nan()) {
            nearness[(n, m)] += (middle - at(n, m)).clamp(-limit, limit) / (band.noise * band.noise);
        }
    }
    let eigen = SymmetricEigen::new(nearness);
    let largest = eigen.eigenvalues.imax();
    let split: Vec<bool> = eigen.eigenvectors.column(largest).iter().map(|part| *part > 0.0).collect();
    let contrast = contrast_of(bands, pool, &split);
    Some((split, contrast))
}

/// By how much hosts of the same side are nearer to each other than those of different sides, in the second squares, in
/// standard errors.
fn contrast_of(bands: &[Band], pool: &[usize], sides: &[bool]) -> f64 {
    let mut total = 0.0;
    for band in bands {
        let (mut within, mut between) = (Vec::new(), Vec::new());
        for n in 0..pool.len() {
            for m in n + 1..pool.len() {
                let value = band.second.at(pool[n], pool[m]);
                if !value.is_nan() {
                    if sides[n] == sides[m] { within.push(value as f32) } else { between.push(value as f32) }
                }
            }
        }
        if within.is_empty() || between.is_empty() {
            continue;
        }
        let error = band.noise * (1.0 / within.len() as f64 + 1.0 / between.len() as f64).sqrt();
        total += (middle(&between, band.noise) - middle(&within, band.noise)) / error.hypot(LEAST_DIFFERENCE);
    }
    total / (bands.len() as f64).sqrt()
}

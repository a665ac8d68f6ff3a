//! Sorts the hosts of two groups that are mixed up, and splits groups that are two.
//!
//! In: [`Band`]s and the group of every host. Out: a better group of every host. What is found in the first squares
//! counts as far as the second ones say the same.

use nalgebra::{DMatrix, SymmetricEigen};

use super::{
    Band,
    blocks::{LEAST_DIFFERENCE, middle},
    by_size,
};
use crate::stats::scatter_about_zero;

/// Splits groups that are two, and sorts the hosts of two groups anew where they are mixed up. Hosts of one leaf are
/// near each other; how far they are from others says nothing about which of two neighbouring leaves they belong to.
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

/// The division of some hosts into two halves that are near each other, as the first squares show it; and how much
/// nearer they are in the second ones, in standard errors. `None` if there are too few hosts.
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
        total += (middle(&mut between, band.noise) - middle(&mut within, band.noise)) / error.hypot(LEAST_DIFFERENCE);
    }
    total / (bands.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{band, generator, is_same_partition, leaves, lose_pairs};

    /// Bands of leaves with a step between them, of which pairs are missing.
    fn bands(leaf: &[usize], step: f64, noise: f64, missing: f64, seed: u64) -> Vec<Band> {
        let mut rng = generator(seed);
        let far = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { step };
        let mut bands: Vec<Band> = (0..2).map(|_| band(leaf.len(), noise, &mut rng, far)).collect();
        lose_pairs(
            &mut bands.iter_mut().flat_map(|band| [&mut band.first, &mut band.second]).collect::<Vec<_>>(),
            missing,
            &mut rng,
        );
        bands
    }

    #[test]
    fn a_group_that_is_two_is_split() {
        let leaf = leaves(&[10, 8], &mut generator(1));
        assert!(is_same_partition(&sorted(&bands(&leaf, 0.2, 0.05, 0.4, 2), vec![0; 18]), &leaf));
    }

    #[test]
    fn hosts_that_were_exchanged_are_sorted() {
        // Too little is known for two hosts in twelve to be a reason for splitting their group.
        let leaf = leaves(&[12, 12, 12], &mut generator(3));
        let place = |wanted: usize, nth: usize| (0..36).filter(|host| leaf[*host] == wanted).nth(nth).unwrap();
        let mut mixed = leaf.clone();
        mixed.swap(place(0, 0), place(1, 5));
        mixed.swap(place(0, 8), place(1, 2));
        let found = sorted(&bands(&leaf, 0.06, 0.05, 0.3, 4), mixed);
        assert!(is_same_partition(&found, &leaf), "{leaf:?} {found:?}");
    }

    #[test]
    fn groups_that_are_mixed_up_are_taken_apart() {
        let leaf = leaves(&[8, 8, 8], &mut generator(3));
        let mixed: Vec<usize> =
            leaf.iter().enumerate().map(|(host, leaf)| if *leaf == 2 { 2 } else { host % 2 }).collect();
        let found = sorted(&bands(&leaf, 0.3, 0.05, 0.3, 4), mixed);
        // No group has hosts of two leaves any more.
        assert!((0..24).all(|i| (0..24).all(|k| found[i] != found[k] || leaf[i] == leaf[k])), "{found:?}");
    }

    #[test]
    fn noise_splits_nothing() {
        for seed in 0..20 {
            let found = sorted(&bands(&[0; 16], 0.0, 0.05, 0.4, seed), vec![0; 16]);
            assert_eq!(found, [0; 16], "seed {seed}");
            let (three, _) = bisect(&bands(&[0; 16], 0.0, 0.05, 0.4, seed), &[1, 2, 3]).unzip();
            assert!(three.is_none());
        }
    }

    #[test]
    fn what_is_right_stays() {
        let leaf = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1];
        assert_eq!(sorted(&bands(&leaf, 0.3, 0.05, 0.3, 9), leaf.to_vec()), leaf);
    }

    #[test]
    fn a_contrast_counts_standard_errors_of_the_second_squares() {
        let leaf = [0, 0, 0, 0, 1, 1, 1, 1];
        let pool: Vec<usize> = (0..8).collect();
        let sides = leaf.map(|leaf| leaf == 0);
        let mut bands = bands(&leaf, 0.1, 0.05, 0.0, 5);
        for band in &mut bands {
            band.second = crate::analysis::drawn::symmetric(8, |i, j| if leaf[i] == leaf[j] { 0.0 } else { 0.1 });
        }
        // Of each band, 12 cells within and 16 between.
        let error = (0.05f64.powi(2) * (1.0 / 12.0 + 1.0 / 16.0)).sqrt().hypot(LEAST_DIFFERENCE);
        let expected = 0.1 / error * 2f64.sqrt();
        assert!((contrast_of(&bands, &pool, &sides) - expected).abs() < 1e-4);
        bands.iter_mut().for_each(|band| band.first = crate::analysis::square::Square::missing(8));
        assert!((contrast_of(&bands, &pool, &sides) - expected).abs() < 1e-4);
    }
}

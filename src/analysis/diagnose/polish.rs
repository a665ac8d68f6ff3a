//! The arithmetic of taking a square apart: Tukey's median polish, with blocks of groups beside rows and columns, and with
//! patterns where structure is no groups.
//!
//! In: one length's means or half differences of both directions, and a structure. Out: effects, noise, rests.

use nalgebra::DMatrix;
use rayon::prelude::*;

use crate::{
    analysis::square::Square,
    stats::{median, median_of, scatter_about_zero},
};

/// Least standard deviation of noise that is believed, as a share of a time: clocks and medians are no finer.
pub(super) const LEAST_NOISE: f64 = 0.004;

/// The antisymmetric part of one length.
pub(super) struct Side {
    /// Half of what a host sends slower than it receives, `[host]`.
    pub effect: Vec<f64>,
    /// Standard deviation of the rest.
    pub noise: f64,
    /// Row minus column.
    pub rest: Square,
}

/// Takes apart half the differences of both directions.
pub(super) fn fit_sides(mut half: Square) -> Side {
    let hosts = half.side();
    let mut effect = vec![0.0; hosts];
    for _ in 0..4 {
        let next: Vec<f64> = (0..hosts)
            .into_par_iter()
            .map_init(Vec::new, |scratch, i| {
                let row = half.row(i).iter().zip(&effect).filter(|(value, _)| !value.is_nan());
                median_of(row.map(|(value, effect)| f64::from(*value) + effect), scratch)
            })
            .map(|value| if value.is_nan() { 0.0 } else { value })
            .collect();
        let middle = median(&mut next.clone());
        effect = next.into_iter().map(|value| value - middle).collect();
    }
    half.rows_mut().enumerate().for_each(|(i, row)| {
        row.iter_mut().zip(&effect).for_each(|(value, other)| *value -= (effect[i] - other) as f32);
    });
    let noise = noise_of(&half, hosts);
    Side { effect, noise, rest: half }
}

/// The symmetric part of one length.
pub(super) struct Common {
    /// Middle of every pair of groups, `[group * groups + group]`; NaN where there is no cell.
    pub block: Vec<f64>,
    /// By how much a host is slower, `[host]`.
    pub effect: Vec<f64>,
    /// Standard deviation of the rest.
    pub noise: f64,
    /// Symmetric.
    pub rest: Square,
}

/// Members of every group.
pub fn members(group: &[usize], groups: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); groups];
    group.iter().enumerate().for_each(|(host, group)| members[*group].push(host));
    members
}

/// Takes apart the means of both directions: groups, hosts, and patterns where there are any.
pub(super) fn fit_blocks(mean: Square, group: &[usize], groups: usize, patterns: &DMatrix<f64>) -> Common {
    let mut fitted = fit_groups(mean, group, groups);
    if patterns.ncols() > 0 {
        for _ in 0..3 {
            take_patterns(&mut fitted, patterns);
            let Common { block, effect, rest, .. } = fitted;
            let more = fit_groups(rest, group, groups);
            fitted = Common {
                block: block.iter().zip(&more.block).map(|(a, b)| a + b).collect(),
                effect: effect.iter().zip(&more.effect).map(|(a, b)| a + b).collect(),
                ..more
            };
        }
    }
    fitted
}

/// Takes from the rest what the patterns explain of it.
fn take_patterns(fitted: &mut Common, patterns: &DMatrix<f64>) {
    let hosts = patterns.nrows();
    let mut explained: DMatrix<f64> = DMatrix::zeros(hosts, hosts);
    // What is missing, the diagonal among it, and what is wild is filled in with what has been explained so far.
    for _ in 0..FILLINGS {
        let mut departures: Vec<f64> =
            fitted.rest.upper_pairs().map(|(i, j, value)| value - explained[(i, j)]).collect();
        let limit = WILD_DEPARTURE * scatter_about_zero(&mut departures);
        let filled = DMatrix::from_fn(hosts, hosts, |i, j| {
            let value = fitted.rest.at(i, j);
            let is_usual = (value - explained[(i, j)]).abs() <= limit;
            if is_usual { value } else { explained[(i, j)] }
        });
        explained = patterns * (patterns.transpose() * filled * patterns) * patterns.transpose();
    }
    fitted.rest.rows_mut().enumerate().for_each(|(i, row)| {
        row.iter_mut().enumerate().for_each(|(j, value)| *value -= explained[(i, j)] as f32);
    });
}

/// Standard deviation of the noise, from a rest that was left by taking so many numbers from it.
fn noise_of(rest: &Square, taken: usize) -> f64 {
    let mut values: Vec<f64> = rest.upper().collect();
    let count = values.len() as f64;
    let free = (count - taken as f64).max(LEAST_FREE * count).max(1.0);
    (scatter_about_zero(&mut values) * (count / free).sqrt()).max(LEAST_NOISE)
}

/// Share of the values that say something about noise at least, however many numbers were taken from them.
const LEAST_FREE: f64 = 0.2;

/// Groups from which on most of them are healthy and alike.
pub(super) const MANY_GROUPS: usize = 8;

/// How often missing and wild values are filled in before patterns are believed.
const FILLINGS: usize = 8;

/// Departure from what patterns explain, in units of the usual one, from which on a value is wild.
const WILD_DEPARTURE: f64 = 4.0;

/// Takes apart the means of both directions: groups and hosts.
pub(super) fn fit_groups(mut mean: Square, group: &[usize], groups: usize) -> Common {
    let hosts = group.len();
    let members = members(group, groups);
    let mut effect = vec![0.0; hosts];
    let mut block = vec![f64::NAN; groups * groups];
    let places: Vec<(usize, usize)> = (0..groups).flat_map(|g| (g..groups).map(move |h| (g, h))).collect();
    for _ in 0..3 {
        let middles: Vec<f64> = places
            .par_iter()
            .map_init(Vec::new, |scratch, &(g, h)| {
                let (mean, effect) = (&mean, &effect);
                let cells = members[g].iter().flat_map(|&i| {
                    let others = members[h].iter().filter(move |j| g != h || **j > i);
                    others.map(move |&j| mean.at(i, j) - effect[i] - effect[j])
                });
                median_of(cells, scratch)
            })
            .collect();
        for (&(g, h), &middle) in places.iter().zip(&middles) {
            block[g * groups + h] = middle;
            block[h * groups + g] = middle;
        }
        for _ in 0..2 {
            effect = (0..hosts)
                .into_par_iter()
                .map_init(Vec::new, |scratch, i| {
                    let row = mean.row(i).iter().enumerate().filter(|(_, value)| !value.is_nan());
                    let rest =
                        row.map(|(j, value)| f64::from(*value) - block[group[i] * groups + group[j]] - effect[j]);
                    median_of(rest, scratch)
                })
                .map(|value| if value.is_nan() { 0.0 } else { value })
                .collect();
            // What all hosts of a group share belongs to its blocks.
            for members in &members {
                let mut own: Vec<f64> = members.iter().map(|&host| effect[host]).collect();
                let middle = match own[..] {
                    // The middle of two is half way to the slow one, unless there are enough groups to tell that the
                    // whole group is that much slower.
                    [a, b] if groups < MANY_GROUPS => a.min(b),
                    _ => median(&mut own),
                };
                members.iter().for_each(|&host| effect[host] -= middle);
            }
        }
    }
    mean.rows_mut().enumerate().for_each(|(i, row)| {
        for (j, value) in row.iter_mut().enumerate() {
            *value -= (block[group[i] * groups + group[j]] + effect[i] + effect[j]) as f32;
        }
    });
    let noise = noise_of(&mean, hosts + block.iter().filter(|block| !block.is_nan()).count() / 2);
    Common { block, effect, noise, rest: mean }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::drawn::{generator, leaves, lose_pairs, normal, square, symmetric, torus};

    const TOLERANCE: f64 = 1e-5;

    /// Effects of hosts whose middle is 0 in each of two groups of five, `[host]`.
    const EFFECT: [f64; 10] = [0.0, -0.1, 0.3, 0.0, -0.02, 0.5, 0.0, 0.1, -0.2, -0.3];
    const GROUP: [usize; 10] = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1];

    fn block(i: usize, j: usize) -> f64 {
        [[-0.4, 0.9], [0.9, -0.1]][GROUP[i]][GROUP[j]]
    }

    fn exact() -> Square {
        symmetric(10, |i, j| block(i, j) + EFFECT[i] + EFFECT[j])
    }

    fn are_near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < tolerance)
    }

    #[test]
    fn blocks_and_effects_without_noise_are_found_exactly() {
        let fitted = fit_groups(exact(), &GROUP, 2);
        assert!(are_near(&fitted.effect, &EFFECT, TOLERANCE), "{:?}", fitted.effect);
        assert!(are_near(&fitted.block, &[-0.4, 0.9, 0.9, -0.1], TOLERANCE), "{:?}", fitted.block);
        assert!(fitted.rest.upper().all(|rest| rest.abs() < TOLERANCE));
        assert_eq!(fitted.noise, LEAST_NOISE);
    }

    #[test]
    fn a_slow_pair_stays_in_the_rest_and_moves_nothing() {
        let mut mean = exact();
        mean.set(2, 7, mean.at(2, 7) + 5.0);
        mean.set(7, 2, mean.at(7, 2) + 5.0);
        let fitted = fit_groups(mean, &GROUP, 2);
        assert!(are_near(&fitted.effect, &EFFECT, TOLERANCE), "{:?}", fitted.effect);
        assert!((fitted.rest.at(2, 7) - 5.0).abs() < TOLERANCE && (fitted.rest.at(7, 2) - 5.0).abs() < TOLERANCE);
        assert_eq!(fitted.noise, LEAST_NOISE);
    }

    #[test]
    fn groups_between_which_nothing_was_measured_have_no_block() {
        let mut mean = exact();
        for (i, j) in (0..5).flat_map(|i| (5..10).map(move |j| (i, j))) {
            mean.set(i, j, f64::NAN);
            mean.set(j, i, f64::NAN);
        }
        let fitted = fit_groups(mean, &GROUP, 2);
        assert!(fitted.block[1].is_nan() && fitted.block[2].is_nan());
        // Of four partners each, the alternating medians are not at their end yet.
        assert!((fitted.block[0] + 0.4).abs() < 0.01 && are_near(&fitted.effect, &EFFECT, 0.01));
        assert!(fitted.rest.at(0, 9).is_nan());
    }

    #[test]
    fn nothing_measured_is_no_effect() {
        let fitted = fit_groups(Square::missing(4), &[0, 0, 1, 1], 2);
        assert_eq!((fitted.effect, fitted.noise), (vec![0.0; 4], LEAST_NOISE));
        let sides = fit_sides(Square::missing(4));
        assert_eq!((sides.effect, sides.noise), (vec![0.0; 4], LEAST_NOISE));
    }

    #[test]
    fn sides_without_noise_are_found_exactly() {
        let mut half = square(10, |i, j| EFFECT[i] - EFFECT[j]);
        half.set(1, 4, half.at(1, 4) + 2.0);
        half.set(4, 1, half.at(4, 1) - 2.0);
        let sides = fit_sides(half);
        assert!(are_near(&sides.effect, &EFFECT, TOLERANCE), "{:?}", sides.effect);
        assert!((sides.rest.at(1, 4) - 2.0).abs() < TOLERANCE && (sides.rest.at(4, 1) + 2.0).abs() < TOLERANCE);
        assert!(sides.rest.at(1, 5).abs() < TOLERANCE && sides.noise == LEAST_NOISE);
    }

    /// Mean over draws of the noise that is found, where the true one is 1.
    fn noise_found(draws: u32, mut of: impl FnMut(&mut ChaCha8Rng) -> f64) -> f64 {
        let mut rng = generator(11);
        (0..draws).map(|_| of(&mut rng)).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn noise_is_found_although_few_hosts_have_many_effects() {
        // Alternating medians leave many rests next to 0: with few hosts they say too little noise still.
        for (hosts, draws, least) in [(5, 100, 0.55), (8, 100, 0.7), (16, 40, 0.85), (40, 10, 0.93)] {
            let common = noise_found(draws, |rng| {
                let mean = symmetric(hosts, |_, _| normal(rng));
                fit_groups(mean, &vec![0; hosts], 1).noise
            });
            assert!((least..1.1).contains(&common), "{hosts} hosts: {common}");
            let side = noise_found(draws, |rng| {
                let drawn = symmetric(hosts, |_, _| normal(rng));
                fit_sides(square(hosts, |i, j| if i < j { drawn.at(i, j) } else { -drawn.at(i, j) })).noise
            });
            assert!((0.8..1.1).contains(&side), "{hosts} hosts: {side}");
        }
    }

    #[test]
    fn noise_in_leaves_is_about_what_was_drawn() {
        let mut rng = generator(3);
        let leaf = leaves(&[6, 6, 6, 6], &mut rng);
        let found = noise_found(20, |rng| fit_groups(symmetric(24, |_, _| normal(rng)), &leaf, 4).noise);
        assert!((0.85..1.15).contains(&found), "{found}");
    }

    /// Eigenvectors of a torus: what a host sees of it does not depend on which host it is.
    fn patterns_of_torus(hops: &[Vec<f64>], count: usize) -> DMatrix<f64> {
        let hosts = hops.len();
        let mean = hops[0].iter().sum::<f64>() / hosts as f64;
        let matrix = DMatrix::from_fn(hosts, hosts, |i, j| hops[i][j] - mean);
        let eigen = nalgebra::SymmetricEigen::new(matrix);
        let mut order: Vec<usize> = (0..hosts).collect();
        order.sort_by(|a, b| eigen.eigenvalues[*b].abs().total_cmp(&eigen.eigenvalues[*a].abs()));
        DMatrix::from_columns(&order[..count].iter().map(|k| eigen.eigenvectors.column(*k)).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_explain_a_torus_and_leave_a_slow_pair() {
        let mut rng = generator(5);
        let hops = torus([4, 4, 2], &mut rng);
        let patterns = patterns_of_torus(&hops, 6);
        let slow = |i: usize, j: usize| if (i, j) == (3, 17) { 0.8 } else { 0.0 };
        let host = |i: usize| if i == 9 { 0.5 } else { 0.0 };
        let mean = symmetric(32, |i, j| 0.2 * hops[i][j] + slow(i, j) + host(i) + host(j) + 0.01 * normal(&mut rng));
        let group = vec![0; 32];
        let without = fit_groups(mean.clone(), &group, 1);
        let fitted = fit_blocks(mean.clone(), &group, 1, &patterns);
        assert!(without.noise > 0.1 && fitted.noise < 0.015, "{} {}", without.noise, fitted.noise);
        assert!((fitted.rest.at(3, 17) - 0.8).abs() < 0.06, "{}", fitted.rest.at(3, 17));
        assert!((fitted.effect[9] - 0.5).abs() < 0.03, "{}", fitted.effect[9]);
        let largest = fitted.rest.upper_pairs().filter(|(i, j, _)| (*i, *j) != (3, 17)).map(|(_, _, rest)| rest.abs());
        assert!(largest.fold(0.0, f64::max) < 0.1);
        // The same with a third of the pairs missing.
        let mut few = mean;
        lose_pairs(&mut [&mut few], 0.3, &mut rng);
        few.set(3, 17, 0.2 * hops[3][17] + 0.8);
        few.set(17, 3, 0.2 * hops[3][17] + 0.8);
        let fitted = fit_blocks(few, &group, 1, &patterns);
        assert!(fitted.noise < 0.025 && (fitted.rest.at(3, 17) - 0.8).abs() < 0.1, "{}", fitted.noise);
    }

    #[test]
    fn members_are_the_hosts_of_every_group() {
        assert_eq!(members(&[1, 0, 1, 3], 4), [vec![1], vec![0, 2], vec![], vec![3]]);
    }
}

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
                // The middle of two is half way to the slow one.
                let middle = if let [a, b] = own[..] { a.min(b) } else { median(&mut own) };
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

//! Groups whose way to all others is slow.
//!
//! In: the blocks of a [`Fit`]. Out: the effect of every group at every length, in the form of hosts' effects: what
//! groups do to each other is taken apart as what hosts do to each other is, by differences of rows of blocks.

use super::{
    evidence::Effects,
    model::{Fit, members},
};
use crate::stats::median;

/// Least share of a time by which healthy groups are believed to differ.
const USUAL_DIFFERENCE: f64 = 0.01;

/// Groups from which on one other group may be at fault as well.
const MANY_GROUPS: usize = 6;

/// Groups from which on most of them are healthy and alike.
const MANY_SMALL: usize = 8;

/// Least difference of a way between groups from those inside them.
const LEAST_STEP: f64 = 0.02;

/// Of every so many lengths, one must show that there is a way between two groups: latencies differ more than bandwidths.
const SHOWING: usize = 3;

/// Effects of groups, `[length]`; `None` where there are too few groups to tell: with two, a slow way of one is a slow
/// way of the other.
pub fn effects(fit: &Fit) -> Option<Vec<Effects>> {
    if fit.groups < 3 {
        return None;
    }
    let members = members(&fit.group, fit.groups);
    let is_way = ways(fit);
    Some(
        (0..fit.lengths.len())
            .map(|length| {
                let of = &fit.lengths[length];
                let common = two_way(&of.block, fit.groups, &is_way);
                let side: Vec<f64> = members
                    .iter()
                    .map(|hosts| median(&mut hosts.iter().map(|host| of.side[*host]).collect::<Vec<_>>()))
                    .collect();
                let middle = median(&mut side.clone());
                let error = |noise: f64, cells: &[usize], hosts: &[usize]| {
                    let cells: usize = hosts.iter().map(|host| cells[*host]).sum();
                    (1.57 * noise * noise / cells.max(1) as f64 + USUAL_DIFFERENCE * USUAL_DIFFERENCE).sqrt()
                };
                Effects {
                    common_error: members.iter().map(|hosts| error(of.noise, &fit.cells[length], hosts)).collect(),
                    side_error: members
                        .iter()
                        .map(|hosts| error(of.side_noise, &fit.side_cells[length], hosts))
                        .collect(),
                    common,
                    side: side.into_iter().map(|value| value - middle).collect(),
                }
            })
            .collect(),
    )
}

/// By how much each of many small groups is slower, `[length][group]`; `None` where there are too few of them for their
/// middle to be that of healthy ones. With many groups, nearness is nothing that one of them has alone.
pub fn polished(fit: &Fit) -> Option<Vec<Vec<f64>>> {
    let groups = fit.groups;
    let of_length = |block: &[f64]| {
        let mut effect = vec![0.0; groups];
        for _ in 0..4 {
            let next = (0..groups).map(|g| {
                let others = (0..groups).filter(|h| *h != g).map(|h| block[g * groups + h] - effect[h]);
                median(&mut others.filter(|value| !value.is_nan()).collect::<Vec<_>>())
            });
            let next: Vec<f64> = next.collect();
            let middle = median(&mut next.iter().copied().filter(|value| !value.is_nan()).collect::<Vec<_>>());
            effect = next.into_iter().map(|value| if value.is_nan() { 0.0 } else { value - middle }).collect();
        }
        effect
    };
    (groups >= MANY_SMALL).then(|| fit.lengths.iter().map(|of| of_length(&of.block)).collect())
}

/// Whether there is a way between two groups, `[group * groups + group]`, with which others can be compared: two parts of
/// what is one group in truth have none.
fn ways(fit: &Fit) -> Vec<bool> {
    let groups = fit.groups;
    let shows = |block: &[f64], h: usize, k: usize| {
        let inside = median(&mut [block[h * groups + h], block[k * groups + k]]);
        inside.is_nan() || block[h * groups + k] > inside + LEAST_STEP
    };
    let pairs = (0..groups * groups).map(|pair| (pair / groups, pair % groups));
    let showing = pairs.map(|(h, k)| fit.lengths.iter().filter(|of| shows(&of.block, h, k)).count());
    showing.map(|count| SHOWING * count >= fit.lengths.len()).collect()
}

/// By how much the way from each group to others is slower than those of other groups, `[group]`.
///
/// Toward each other group, the group is compared with the slowest of the rest (the second slowest where there are
/// many, because another one may be at fault as well): what is no farther than others are from each other is not at fault,
/// however near its neighbours are. The middle over those other groups counts.
fn two_way(block: &[f64], groups: usize, is_way: &[bool]) -> Vec<f64> {
    let skipped = usize::from(groups >= MANY_GROUPS);
    let beyond = |g: usize, k: usize| {
        let others = (0..groups).filter(|h| *h != g && *h != k && is_way[*h * groups + k]);
        let mut ways: Vec<f64> = others.map(|h| block[h * groups + k]).filter(|way| !way.is_nan()).collect();
        ways.sort_unstable_by(|a, b| b.total_cmp(a));
        ways.get(skipped.min(ways.len().saturating_sub(1))).map_or(f64::NAN, |way| block[g * groups + k] - way)
    };
    let of = |g: usize| median(&mut (0..groups).filter(|k| *k != g).map(|k| beyond(g, k)).collect::<Vec<_>>());
    (0..groups).map(of).map(|value| if value.is_nan() { 0.0 } else { value }).collect()
}

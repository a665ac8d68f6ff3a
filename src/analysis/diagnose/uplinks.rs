//! Groups whose way to all others is slow.
//!
//! In: the blocks of a [`Fit`]. Out: the effect of every group at every length, in the form of hosts' effects: what
//! groups do to each other is taken apart as what hosts do to each other is, by differences of rows of blocks.
//! [`super::pods`] does the same with sets of groups.

use rayon::prelude::*;

use super::{
    evidence::Effects,
    middles::looked_at,
    model::{Fit, LengthFit, members},
};
use crate::stats::median;

/// Least share of a time by which healthy groups are believed to differ.
const USUAL_DIFFERENCE: f64 = 0.01;

/// Groups from which on one other group may be at fault as well.
const MANY_GROUPS: usize = 6;

/// Groups from which on most of them are healthy and alike.
const ENOUGH_GROUPS: usize = 8;

/// Least difference of a way between groups from those inside them.
pub const LEAST_STEP: f64 = 0.02;

/// The same, in standard errors.
const BEYOND_NOISE: f64 = 3.0;

/// Of every so many lengths, one must show that there is a way between two groups: latencies differ more than
/// bandwidths.
const SHOWING: usize = 3;

/// Sets of hosts that share what joins them to the rest, at one level of a network: groups, or pods of groups.
pub struct Level {
    /// Hosts of every set, by number, `[set]`.
    pub members: Vec<Vec<usize>>,
    /// The set of every host, `[host]`; `None` of those in none.
    set: Vec<Option<usize>>,
    /// By how much the way from each set to each other one is slower than those of the rest,
    /// `[length][set * sets + set]`.
    beyond: Vec<Vec<f64>>,
    /// Effects of sets, `[length]`.
    pub effects: Vec<Effects>,
}

impl Level {
    /// By how much the way of a set to that of a host is slower than the ways of other sets are, both ways alike,
    /// `ln(ratio)`; the set's effect where there is nothing to compare with.
    pub fn beyond(&self, length: usize, set: usize, partner: usize) -> f64 {
        let beyond = self.set[partner].map(|other| self.beyond[length][set * self.members.len() + other]);
        beyond.filter(|beyond| !beyond.is_nan()).unwrap_or(self.effects[length].common[set])
    }
}

/// Middles of the cells between sets of hosts at one length, and how many cells there are; `[set * sets + set]`.
pub struct Blocks {
    /// `ln(time / level)`, symmetric; NaN where there is no cell.
    pub middle: Vec<f64>,
    /// Number of pairs of hosts.
    pub cells: Vec<f64>,
}

/// Groups, of which these are the `members`; `None` where there are too few to tell: with two, a slow way of one is a
/// slow way of the other. `blocks`: `[length]`.
pub fn groups(fit: &Fit, members: &[Vec<usize>], blocks: &[Blocks]) -> Option<Level> {
    (fit.groups >= 3).then(|| level(fit, members.to_vec(), blocks))
}

/// The blocks of groups, `[length]`.
pub fn blocks(fit: &Fit) -> Vec<Blocks> {
    let of_length =
        |(length, of): (usize, &LengthFit)| Blocks { middle: of.block.clone(), cells: cells_of_blocks(fit, length) };
    fit.lengths.iter().enumerate().map(of_length).collect()
}

/// Sets of hosts with what their ways to each other come to. `blocks`: `[length]`.
pub fn level(fit: &Fit, members: Vec<Vec<usize>>, blocks: &[Blocks]) -> Level {
    let sets = members.len();
    let is_way = ways(fit, sets, blocks);
    let mut set = vec![None; fit.hosts()];
    members.iter().enumerate().for_each(|(number, hosts)| hosts.iter().for_each(|host| set[*host] = Some(number)));
    let beyond: Vec<_> = blocks.par_iter().map(|blocks| beyond(&blocks.middle, sets, &is_way)).collect();
    let of_length = |(length, beyond): (usize, &Vec<f64>)| {
        let of = &fit.lengths[length];
        let side = members.iter().map(|hosts| median(&mut hosts.iter().map(|host| of.side[*host]).collect::<Vec<_>>()));
        let side: Vec<f64> = side.collect();
        let middle = median(&mut side.clone());
        let error = |noise: f64, cells: &[usize], hosts: &[usize]| {
            let cells: usize = hosts.iter().map(|host| looked_at(cells[*host])).sum();
            (1.57 * noise * noise / cells.max(1) as f64 + USUAL_DIFFERENCE * USUAL_DIFFERENCE).sqrt()
        };
        Effects {
            common_error: members.iter().map(|hosts| error(of.noise, &fit.cells[length], hosts)).collect(),
            side_error: members.iter().map(|hosts| error(of.side_noise, &fit.side_cells[length], hosts)).collect(),
            common: beyond.chunks(sets).map(of_set).collect(),
            side: side.into_iter().map(|value| value - middle).collect(),
        }
    };
    let effects = beyond.iter().enumerate().map(of_length).collect();
    Level { members, set, beyond, effects }
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
    (groups >= ENOUGH_GROUPS).then(|| fit.lengths.iter().map(|of| of_length(&of.block)).collect())
}

/// Whether there is a way between two sets, `[set * sets + set]`, with which others can be compared: two parts of what
/// is one in truth have none. It must take longer than what is nearer inside either of them, by more than noise.
fn ways(fit: &Fit, sets: usize, blocks: &[Blocks]) -> Vec<bool> {
    let shows = |(length, Blocks { middle, cells }): (usize, &Blocks), h: usize, k: usize| {
        let (own, other, between) = (h * sets + h, k * sets + k, h * sets + k);
        let inside = if middle[own] > middle[other] || middle[other].is_nan() { own } else { other };
        let error = error_of_difference(fit.lengths[length].noise, cells[inside], cells[between]);
        middle[inside].is_nan() || middle[between] > middle[inside] + LEAST_STEP.max(BEYOND_NOISE * error)
    };
    let showing = |h, k| blocks.iter().enumerate().filter(|blocks| shows(*blocks, h, k)).count();
    let pairs = (0..sets).flat_map(|h| (0..sets).map(move |k| (h, k)));
    pairs.map(|(h, k)| SHOWING * showing(h, k) >= blocks.len()).collect()
}

/// Standard error of the difference of the medians of so many cells.
pub fn error_of_difference(noise: f64, cells: f64, others: f64) -> f64 {
    1.2533 * noise * (1.0 / cells.max(1.0) + 1.0 / others.max(1.0)).sqrt()
}

/// Number of pairs of hosts of every pair of groups that their middle was taken of, `[group * groups + group]`: of all
/// but those that are missing, which are few, the share that is looked at.
fn cells_of_blocks(fit: &Fit, length: usize) -> Vec<f64> {
    let (hosts, groups) = (fit.hosts(), fit.groups);
    let sizes: Vec<f64> = members(&fit.group, groups).iter().map(|members| members.len() as f64).collect();
    let mut cells: Vec<f64> = sizes.iter().flat_map(|own| sizes.iter().map(move |other| own * other)).collect();
    for (host, own) in fit.group.iter().enumerate().filter(|(host, _)| fit.cells[length][*host] < hosts - 1) {
        let cells = &mut cells[own * groups..][..groups];
        let partners = fit.rest[length].row(host).iter().zip(&fit.group).enumerate();
        let missing = partners.filter(|(partner, (rest, _))| rest.is_nan() && *partner != host);
        missing.for_each(|(_, (_, group))| cells[*group] -= 1.0);
    }
    // Inside a group, a host has no pair with itself, and both hosts of a pair have counted it.
    sizes.iter().enumerate().for_each(|(group, size)| {
        let own = &mut cells[group * groups + group];
        *own = (*own - size) / 2.0;
    });
    let partners = hosts.max(2) - 1;
    let share = looked_at(partners) as f64 / partners as f64;
    cells.into_iter().map(|cells| share * cells).collect()
}

/// By how much the way from each set to each other one is slower than those of the rest, `[set * sets + set]`; NaN
/// where there is nothing to compare with.
///
/// It is compared with the slowest of the rest (the second slowest where there are many, because another one may be at
/// fault as well): what is no farther than others are from each other is not at fault, however near its neighbours are.
fn beyond(block: &[f64], sets: usize, is_way: &[bool]) -> Vec<f64> {
    let skipped = usize::from(sets >= MANY_GROUPS);
    let of = |(g, k): (usize, usize)| {
        let others = (0..sets).filter(|h| g != k && *h != g && *h != k && is_way[*h * sets + k]);
        let mut ways: Vec<f64> = others.map(|h| block[h * sets + k]).filter(|way| !way.is_nan()).collect();
        ways.sort_unstable_by(|a, b| b.total_cmp(a));
        ways.get(skipped.min(ways.len().saturating_sub(1))).map_or(f64::NAN, |way| block[g * sets + k] - way)
    };
    (0..sets).flat_map(|g| (0..sets).map(move |k| (g, k))).map(of).collect()
}

/// The effect of a set: the middle of what its ways to the others are slower.
fn of_set(beyond: &[f64]) -> f64 {
    let effect = median(&mut beyond.to_vec());
    if effect.is_nan() { 0.0 } else { effect }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(fit: &Fit) -> Option<Vec<Effects>> {
        groups(fit, &members(&fit.group, fit.groups), &blocks(fit)).map(|level| level.effects)
    }

    #[test]
    fn a_bad_uplink_is_that_of_one_group() {
        for groups in [3, 4, 8] {
            for bad in 0..groups {
                let fit = Fit::of_ways(groups, |g, h| if g == bad || h == bad { 0.8 } else { 0.5 });
                let effects = &effects(&fit).unwrap()[0];
                assert!((effects.common[bad] - 0.3).abs() < 1e-5, "{groups} groups: {:?}", effects.common);
                let others = (0..groups).filter(|group| *group != bad);
                assert!(others.clone().all(|group| effects.common[group] < 1e-5), "{groups}: {:?}", effects.common);
                assert!((0..groups).all(|group| effects.side[group].abs() < 1e-5));
            }
        }
    }

    #[test]
    fn of_many_groups_another_one_may_be_bad_as_well() {
        let is_bad = |group: usize| group == 1 || group == 4;
        let fit = Fit::of_ways(8, |g, h| if is_bad(g) || is_bad(h) { 0.8 } else { 0.5 });
        let effects = &effects(&fit).unwrap()[0];
        assert!((0..8).all(|group| (effects.common[group] > 0.29) == is_bad(group)), "{:?}", effects.common);
    }

    #[test]
    fn an_uplink_that_is_bad_one_way_has_a_side() {
        let fit = Fit::of_ways(4, |g, _| if g == 2 { 0.8 } else { 0.5 });
        let effects = &effects(&fit).unwrap()[0];
        assert!((effects.common[2] - 0.15).abs() < 1e-5 && (effects.side[2] - 0.15).abs() < 1e-5);
        assert!([0, 1, 3].iter().all(|group| effects.side[*group].abs() < 1e-5 && effects.common[*group] < 1e-5));
    }

    #[test]
    fn groups_that_are_equally_far_are_not_at_fault() {
        for groups in [3, 4, 8] {
            let effects = &effects(&Fit::of_ways(groups, |_, _| 0.5)).unwrap()[0];
            assert!(effects.common.iter().all(|effect| effect.abs() < 1e-5), "{:?}", effects.common);
        }
    }

    #[test]
    fn a_near_neighbour_does_not_make_the_others_far() {
        // Two pods of two groups each.
        let effects = &effects(&Fit::of_ways(4, |g, h| if g / 2 == h / 2 { 0.2 } else { 0.5 })).unwrap()[0];
        assert!(effects.common.iter().all(|effect| *effect < 1e-5), "{:?}", effects.common);
    }

    #[test]
    fn of_two_groups_nobody_can_tell() {
        assert!(effects(&Fit::of_ways(2, |_, _| 0.5)).is_none());
        assert!(effects(&Fit::of_ways(1, |_, _| 0.5)).is_none());
    }

    #[test]
    fn two_parts_of_one_group_are_no_way_to_compare_with() {
        // Groups 1 and 2 are one in truth: group 0 is only as far from them as it is.
        let effects = &effects(&Fit::of_ways(3, |g, h| if g.min(h) == 0 { 0.5 } else { 0.0 })).unwrap()[0];
        assert!(effects.common.iter().all(|effect| *effect < 1e-5), "{:?}", effects.common);
    }

    #[test]
    fn of_many_groups_several_may_be_slow() {
        let slow = |group: usize| [0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.6, 0.0][group];
        let fit_of_many = Fit::of_ways(8, |g, h| 0.5 + slow(g) + slow(h));
        let polished = polished(&fit_of_many).unwrap();
        assert_eq!(polished.len(), 1);
        assert!((0..8).all(|group| (polished[0][group] - slow(group)).abs() < 1e-3), "{polished:?}");
        assert!(super::polished(&Fit::of_ways(7, |_, _| 0.5)).is_none());
    }

    #[test]
    fn errors_are_smaller_the_more_cells_there_are_but_groups_differ() {
        let (few, many) = (Fit::of_ways(3, |_, _| 0.5), Fit::of_ways(8, |_, _| 0.5));
        let error = |fit: &Fit| effects(fit).unwrap()[0].common_error[0];
        assert!(error(&many) < error(&few) && error(&many) >= USUAL_DIFFERENCE);
    }
}

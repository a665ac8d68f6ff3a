//! Pods: groups of hosts that share what joins them to the rest, such as leaf switches under one switch of the next
//! level.
//!
//! In: the blocks of a [`Fit`]. Out: the [`Level`] above that of groups. A bad uplink of a pod slows all of its groups
//! alike, so that none of them is farther than its neighbours: it shows only when they are taken together.

use super::{
    bands,
    model::Fit,
    structure::MOST_MISSING,
    uplinks::{self, Blocks, LEAST_STEP, Level, error_of_difference},
};
use crate::stats::median_of;

/// Difference of two ways, in standard errors, from which on they are not alike: many are compared.
const NOT_ALIKE: f64 = 4.5;

/// Finds pods; `None` where many pairs are missing, or where fewer than three have several groups. Parts of a pod whose
/// groups are not alike, because one is slow, are near each other, and all others are far from them. `members` and
/// `blocks`: of groups.
pub fn find(fit: &Fit, members: &[Vec<usize>], blocks: &[Blocks]) -> Option<Level> {
    if fit.measured < MOST_MISSING {
        return None;
    }
    let mut pods = alike(fit, blocks);
    pods.retain(|groups| groups.len() > 1);
    let hosts_of = |groups: &Vec<usize>| {
        let mut hosts: Vec<usize> = groups.iter().flat_map(|group| members[*group].iter().copied()).collect();
        hosts.sort_unstable();
        hosts
    };
    let hosts = pods.iter().map(hosts_of).collect();
    let between: Vec<Blocks> = blocks.iter().map(|blocks| between(blocks, fit.groups, &pods)).collect();
    (pods.len() >= 3).then(|| uplinks::level(fit, hosts, &between))
}

/// Sets of groups that are equally far from every other group. `blocks`: `[length]`.
fn alike(fit: &Fit, blocks: &[Blocks]) -> Vec<Vec<usize>> {
    let groups = fit.groups;
    let bands = bands::ranges(blocks.len());
    let mut scratch = Vec::new();
    let mut are_alike = |g: usize, h: usize| {
        let others = (0..groups).filter(|k| *k != g && *k != h);
        let mut is_any_known = false;
        for (k, band) in others.flat_map(|k| bands.iter().map(move |band| (k, band))) {
            let (own, other) = (g * groups + k, h * groups + k);
            let apart = blocks[band.clone()].iter().map(|blocks| blocks.middle[own] - blocks.middle[other]);
            let apart = median_of(apart.filter(|apart| !apart.is_nan()), &mut scratch);
            let cells = &blocks[band.start].cells;
            let error = error_of_difference(fit.lengths[band.start].noise, cells[own], cells[other]);
            if apart.abs() > LEAST_STEP.max(NOT_ALIKE * error) {
                return false;
            }
            is_any_known |= !apart.is_nan();
        }
        is_any_known
    };
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for group in 0..groups {
        match sets.iter_mut().find(|set| set.iter().all(|member| are_alike(*member, group))) {
            Some(set) => set.push(group),
            None => sets.push(vec![group]),
        }
    }
    sets
}

/// What is between sets of groups at one length: the middle of the blocks of their groups, and all their cells.
fn between(blocks: &Blocks, groups: usize, sets: &[Vec<usize>]) -> Blocks {
    let mut scratch = Vec::new();
    let mut found = Blocks { middle: Vec::new(), cells: Vec::new() };
    for (a, b) in sets.iter().flat_map(|a| sets.iter().map(move |b| (a, b))) {
        let pairs = || a.iter().flat_map(|g| b.iter().map(move |h| (g, h))).filter(|(g, h)| g != h);
        let places = || pairs().map(|(g, h)| g * groups + h);
        let middles = places().map(|place| blocks.middle[place]).filter(|middle| !middle.is_nan());
        found.middle.push(median_of(middles, &mut scratch));
        found.cells.push(places().map(|place| blocks.cells[place]).sum());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{
        super::{folded::Folded, model::members},
        *,
    };
    use crate::analysis::drawn::{generator, lose_pairs, square};

    fn pods_of(fit: &Fit) -> Option<Level> {
        find(fit, &members(&fit.group, fit.groups), &uplinks::blocks(fit))
    }

    #[test]
    fn a_bad_uplink_of_a_pod_is_that_of_its_groups_together() {
        // Pods of two groups each; `bad` is that of groups 2 and 3.
        let way = |bad: f64| {
            move |g: usize, h: usize| match (g / 2, h / 2) {
                (a, b) if a == b => 0.2,
                (1, _) | (_, 1) => 0.5 + bad,
                _ => 0.5,
            }
        };
        let with = |bad: f64| pods_of(&Fit::of_ways(8, way(bad))).unwrap();
        let slow = with(0.3);
        assert_eq!(slow.members.len(), 4);
        assert_eq!(slow.members[1], (0..32).filter(|host| [2, 3].contains(&(host % 8))).collect::<Vec<_>>());
        let common = &slow.effects[0].common;
        assert!((common[1] - 0.3).abs() < 1e-5 && [0, 2, 3].iter().all(|pod| common[*pod] < 1e-5), "{common:?}");
        assert!(with(0.0).effects[0].common.iter().all(|effect| *effect < 1e-5));
    }

    #[test]
    fn no_pods_are_found_where_many_pairs_are_missing() {
        let group: Vec<usize> = (0..32).map(|host| host % 8).collect();
        let with = |missing: f64| {
            let way = |i: usize, j: usize| match (group[i], group[j]) {
                (g, h) if g == h => 0.0,
                (g, h) if g / 2 == h / 2 => 0.2,
                _ => 0.5,
            };
            let mut logarithms = square(32, way);
            lose_pairs(&mut [&mut logarithms], missing, &mut generator(1));
            pods_of(&Fit::of(Folded::of_logarithms(&[8], vec![logarithms]), Some(&group)))
        };
        assert!(with(0.1).is_some_and(|pods| pods.members.len() == 4) && with(0.3).is_none());
    }

    #[test]
    fn groups_that_are_all_equally_far_are_in_no_pods() {
        assert!(pods_of(&Fit::of_ways(8, |_, _| 0.5)).is_none());
        assert!(pods_of(&Fit::of_ways(4, |g, h| if g.min(h) == 0 { 0.8 } else { 0.5 })).is_none());
        // Of two pods nobody can tell, and of two and the parts of a third.
        assert!(
            pods_of(&Fit::of_ways(6, |g, h| if g / 2 == h / 2 { 0.2 } else { 0.5 }
                + if g == 4 || h == 4 { 0.1 } else { 0.0 }))
            .is_none()
        );
        assert!(pods_of(&Fit::of_ways(4, |g, h| if g / 2 == h / 2 { 0.2 } else { 0.5 })).is_none());
    }
}

//! Groups whose way to all others is slow.
//!
//! In: the blocks of a [`Fit`]. Out: the effect of every group at every length, in the form of hosts' effects: what
//! groups do to each other is taken apart as what hosts do to each other is, by differences of rows of blocks. The same for
//! pods, which are groups that are equally far from every other one.

use super::{
    bands,
    evidence::Effects,
    model::{Fit, LengthFit, members},
    structure::MOST_MISSING,
};
use crate::stats::{median, median_of};

/// Least share of a time by which healthy groups are believed to differ.
const USUAL_DIFFERENCE: f64 = 0.01;

/// Groups from which on one other group may be at fault as well.
const MANY_GROUPS: usize = 6;

/// Groups from which on most of them are healthy and alike.
const ENOUGH_GROUPS: usize = 8;

/// Least difference of a way between groups from those inside them.
const LEAST_STEP: f64 = 0.02;

/// The same, in standard errors.
const BEYOND_NOISE: f64 = 3.0;

/// Difference of two ways, in standard errors, from which on they are not alike: many are compared.
const NOT_ALIKE: f64 = 4.5;

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
    let of_length = |length: usize| effects_of(fit, length, &members, &fit.lengths[length].block, &is_way);
    Some((0..fit.lengths.len()).map(of_length).collect())
}

/// The effects of sets of hosts at one length. `block`, `is_way`: as in [`two_way`].
fn effects_of(fit: &Fit, length: usize, members: &[Vec<usize>], block: &[f64], is_way: &[bool]) -> Effects {
    let of = &fit.lengths[length];
    let side: Vec<f64> =
        members.iter().map(|hosts| median(&mut hosts.iter().map(|host| of.side[*host]).collect::<Vec<_>>())).collect();
    let middle = median(&mut side.clone());
    let error = |noise: f64, cells: &[usize], hosts: &[usize]| {
        let cells: usize = hosts.iter().map(|host| cells[*host]).sum();
        (1.57 * noise * noise / cells.max(1) as f64 + USUAL_DIFFERENCE * USUAL_DIFFERENCE).sqrt()
    };
    Effects {
        common_error: members.iter().map(|hosts| error(of.noise, &fit.cells[length], hosts)).collect(),
        side_error: members.iter().map(|hosts| error(of.side_noise, &fit.side_cells[length], hosts)).collect(),
        common: two_way(block, members.len(), is_way),
        side: side.into_iter().map(|value| value - middle).collect(),
    }
}

/// Groups that share what joins them to the rest: leaf switches under one switch of the next level.
pub struct Pods {
    /// Hosts of every pod.
    pub members: Vec<Vec<usize>>,
    /// `[length]`.
    pub effects: Vec<Effects>,
}

/// Finds pods and their effects; `None` where many pairs are missing or there are fewer than three pods of several groups: parts of a pod whose groups are
/// not alike, because one is slow, are near each other, and all others are far from them.
pub fn pods(fit: &Fit) -> Option<Pods> {
    let measured = fit.cells[0].iter().sum::<usize>() as f64 / (fit.hosts() * (fit.hosts() - 1)) as f64;
    if measured < MOST_MISSING {
        return None;
    }
    let mut of_pod = alike(fit);
    of_pod.retain(|groups| groups.len() > 1);
    if of_pod.len() < 3 {
        return None;
    }
    let of_group = members(&fit.group, fit.groups);
    let hosts_of = |groups: &Vec<usize>| {
        let mut hosts: Vec<usize> = groups.iter().flat_map(|group| of_group[*group].iter().copied()).collect();
        hosts.sort_unstable();
        hosts
    };
    let members: Vec<Vec<usize>> = of_pod.iter().map(hosts_of).collect();
    let blocks: Vec<Vec<f64>> = fit.lengths.iter().map(|of| between(&of.block, fit.groups, &of_pod)).collect();
    let count = of_pod.len();
    let shows = |block: &[f64], a: usize, b: usize| {
        let inside = block[a * count + a].max(block[b * count + b]);
        inside.is_nan() || block[a * count + b] > inside + LEAST_STEP
    };
    let is_way: Vec<bool> = (0..count * count)
        .map(|pair| SHOWING * blocks.iter().filter(|block| shows(block, pair / count, pair % count)).count())
        .map(|showing| showing >= blocks.len())
        .collect();
    let effects =
        blocks.iter().enumerate().map(|(length, block)| effects_of(fit, length, &members, block, &is_way)).collect();
    Some(Pods { members, effects })
}

/// Sets of groups that are equally far from every other group.
fn alike(fit: &Fit) -> Vec<Vec<usize>> {
    let groups = fit.groups;
    let bands = bands::ranges(fit.lengths.len());
    let cells: Vec<Vec<f64>> = (0..fit.lengths.len()).map(|length| cells_of_blocks(fit, length)).collect();
    let mut scratch = Vec::new();
    let mut are_alike = |g: usize, h: usize| {
        let mut known = 0;
        for (k, band) in
            (0..groups).filter(|k| *k != g && *k != h).flat_map(|k| bands.iter().map(move |band| (k, band)))
        {
            let (own, other) = (g * groups + k, h * groups + k);
            let apart = |length: usize| fit.lengths[length].block[own] - fit.lengths[length].block[other];
            let apart = median_of(band.clone().map(apart).filter(|apart| !apart.is_nan()), &mut scratch);
            if apart.is_nan() {
                continue;
            }
            let (noise, cells) = (fit.lengths[band.start].noise, &cells[band.start]);
            let error = 1.2533 * noise * (1.0 / cells[own].max(1.0) + 1.0 / cells[other].max(1.0)).sqrt();
            if apart.abs() > LEAST_STEP.max(NOT_ALIKE * error) {
                return false;
            }
            known += 1;
        }
        known > 0
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

/// Blocks of sets of groups, `[set * sets + set]`: the middle ones between their groups; NaN inside a set of one.
fn between(block: &[f64], groups: usize, sets: &[Vec<usize>]) -> Vec<f64> {
    let mut scratch = Vec::new();
    let mut blocks = Vec::with_capacity(sets.len() * sets.len());
    for (a, b) in sets.iter().flat_map(|a| sets.iter().map(move |b| (a, b))) {
        let pairs = a.iter().flat_map(|g| b.iter().map(move |h| (g, h))).filter(|(g, h)| g != h);
        blocks.push(median_of(pairs.map(|(g, h)| block[g * groups + h]).filter(|way| !way.is_nan()), &mut scratch));
    }
    blocks
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

/// Whether there is a way between two groups, `[group * groups + group]`, with which others can be compared: two parts of
/// what is one group in truth have none. It must take longer than what is nearer inside either of them, by more than noise.
fn ways(fit: &Fit) -> Vec<bool> {
    let groups = fit.groups;
    let shows = |length: usize, cells: &[f64], h: usize, k: usize| {
        let LengthFit { block, noise, .. } = &fit.lengths[length];
        let (own, other, between) = (h * groups + h, k * groups + k, h * groups + k);
        let inside = if block[own] > block[other] || block[other].is_nan() { own } else { other };
        let error = 1.2533 * noise * (1.0 / cells[inside].max(1.0) + 1.0 / cells[between].max(1.0)).sqrt();
        block[inside].is_nan() || block[between] > block[inside] + LEAST_STEP.max(BEYOND_NOISE * error)
    };
    let mut showing = vec![0; groups * groups];
    for length in 0..fit.lengths.len() {
        let cells = cells_of_blocks(fit, length);
        for (pair, showing) in showing.iter_mut().enumerate() {
            *showing += usize::from(shows(length, &cells, pair / groups, pair % groups));
        }
    }
    showing.into_iter().map(|count| SHOWING * count >= fit.lengths.len()).collect()
}

/// Number of pairs of hosts of every pair of groups that were measured, `[group * groups + group]`.
fn cells_of_blocks(fit: &Fit, length: usize) -> Vec<f64> {
    let mut cells = vec![0.0; fit.groups * fit.groups];
    for (i, j, _) in fit.rest[length].upper_pairs() {
        let (g, h) = (fit.group[i], fit.group[j]);
        cells[g * fit.groups + h] += 1.0;
        if g != h {
            cells[h * fit.groups + g] += 1.0;
        }
    }
    cells
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

#[cfg(test)]
mod tests {
    use super::{super::folded::Folded, *};
    use crate::analysis::drawn::square;

    /// Of `groups` groups of four hosts without noise: what goes from one group to another takes `way`.
    fn fit(groups: usize, way: impl Fn(usize, usize) -> f64) -> Fit {
        let group: Vec<usize> = (0..4 * groups).map(|host| host % groups).collect();
        let logarithms = square(4 * groups, |i, j| if group[i] == group[j] { 0.0 } else { way(group[i], group[j]) });
        Fit::of(Folded::of_logarithms(&[8], vec![logarithms]), Some(&group))
    }

    #[test]
    fn a_bad_uplink_is_that_of_one_group() {
        for groups in [3, 4, 8] {
            for bad in 0..groups {
                let fit = fit(groups, |g, h| if g == bad || h == bad { 0.8 } else { 0.5 });
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
        let fit = fit(8, |g, h| if is_bad(g) || is_bad(h) { 0.8 } else { 0.5 });
        let effects = &effects(&fit).unwrap()[0];
        assert!((0..8).all(|group| (effects.common[group] > 0.29) == is_bad(group)), "{:?}", effects.common);
    }

    #[test]
    fn an_uplink_that_is_bad_one_way_has_a_side() {
        let fit = fit(4, |g, _| if g == 2 { 0.8 } else { 0.5 });
        let effects = &effects(&fit).unwrap()[0];
        assert!((effects.common[2] - 0.15).abs() < 1e-5 && (effects.side[2] - 0.15).abs() < 1e-5);
        assert!([0, 1, 3].iter().all(|group| effects.side[*group].abs() < 1e-5 && effects.common[*group] < 1e-5));
    }

    #[test]
    fn groups_that_are_equally_far_are_not_at_fault() {
        for groups in [3, 4, 8] {
            let effects = &effects(&fit(groups, |_, _| 0.5)).unwrap()[0];
            assert!(effects.common.iter().all(|effect| effect.abs() < 1e-5), "{:?}", effects.common);
        }
    }

    #[test]
    fn a_near_neighbour_does_not_make_the_others_far() {
        // Two pods of two groups each.
        let effects = &effects(&fit(4, |g, h| if g / 2 == h / 2 { 0.2 } else { 0.5 })).unwrap()[0];
        assert!(effects.common.iter().all(|effect| *effect < 1e-5), "{:?}", effects.common);
    }

    #[test]
    fn of_two_groups_nobody_can_tell() {
        assert!(effects(&fit(2, |_, _| 0.5)).is_none());
        assert!(effects(&fit(1, |_, _| 0.5)).is_none());
    }

    #[test]
    fn two_parts_of_one_group_are_no_way_to_compare_with() {
        // Groups 1 and 2 are one in truth: group 0 is only as far from them as it is.
        let effects = &effects(&fit(3, |g, h| if g.min(h) == 0 { 0.5 } else { 0.0 })).unwrap()[0];
        assert!(effects.common.iter().all(|effect| *effect < 1e-5), "{:?}", effects.common);
    }

    #[test]
    fn of_many_groups_several_may_be_slow() {
        let slow = |group: usize| [0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.6, 0.0][group];
        let fit_of_many = fit(8, |g, h| 0.5 + slow(g) + slow(h));
        let polished = polished(&fit_of_many).unwrap();
        assert_eq!(polished.len(), 1);
        assert!((0..8).all(|group| (polished[0][group] - slow(group)).abs() < 1e-3), "{polished:?}");
        assert!(super::polished(&fit(7, |_, _| 0.5)).is_none());
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
        let pods_of = |bad: f64| pods(&fit(8, way(bad))).unwrap();
        let slow = pods_of(0.3);
        assert_eq!(slow.members.len(), 4);
        assert_eq!(slow.members[1], (0..32).filter(|host| [2, 3].contains(&(host % 8))).collect::<Vec<_>>());
        let common = &slow.effects[0].common;
        assert!((common[1] - 0.3).abs() < 1e-5 && [0, 2, 3].iter().all(|pod| common[*pod] < 1e-5), "{common:?}");
        assert!(pods_of(0.0).effects[0].common.iter().all(|effect| *effect < 1e-5));
    }

    #[test]
    fn groups_that_are_all_equally_far_are_in_no_pods() {
        assert!(pods(&fit(8, |_, _| 0.5)).is_none());
        assert!(pods(&fit(4, |g, h| if g.min(h) == 0 { 0.8 } else { 0.5 })).is_none());
        // Of two pods nobody can tell, and of two and the parts of a third.
        assert!(
            pods(&fit(6, |g, h| if g / 2 == h / 2 { 0.2 } else { 0.5 } + if g == 4 || h == 4 { 0.1 } else { 0.0 }))
                .is_none()
        );
        assert!(pods(&fit(4, |g, h| if g / 2 == h / 2 { 0.2 } else { 0.5 })).is_none());
    }

    #[test]
    fn errors_are_smaller_the_more_cells_there_are_but_groups_differ() {
        let (few, many) = (fit(3, |_, _| 0.5), fit(8, |_, _| 0.5));
        let error = |fit: &Fit| effects(fit).unwrap()[0].common_error[0];
        assert!(error(&many) < error(&few) && error(&many) >= USUAL_DIFFERENCE);
    }
}

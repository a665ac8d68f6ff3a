//! The structure of very many hosts, found from some of them.
//!
//! In: [`Folded`]. Out: [`Structure`]. The search looks at all pairs of hosts again and again. A group is known from
//! some of its members: its blocks are then known to less than groups have to differ by. So of many hosts some are
//! chosen, structure is looked for among them, and every other host goes where its row fits. Hosts that fit nowhere may
//! be of groups that nobody was chosen of: they join the chosen ones for a second search.
//!
//! Where some hosts do not show the structure, because few pairs were measured or because it is no groups, all are
//! looked at.

use rayon::prelude::*;

use super::{
    bands,
    folded::Folded,
    polish::{fit_groups, fit_sides},
    structure::{self, Neighbourhoods, Structure},
};
use crate::analysis::{
    groups::{self, Toward},
    square::Square,
};

/// Most hosts that are all looked at.
const MOST_HOSTS: usize = 256;

/// Hosts that are chosen of more.
const CHOSEN: usize = 192;

/// Hosts that fit nowhere, from which on they may be a group.
const FEWEST_UNPLACED: usize = 2;

/// Most hosts that join a second search.
const MOST_UNPLACED: usize = 128;

/// Share of pairs that must have been measured for some hosts to say enough.
const LEAST_PAIRS: f64 = 0.9;

/// Finds groups of hosts, or patterns where groups do not explain what there is.
pub fn infer(folded: &Folded) -> Structure {
    let hosts = folded.hosts();
    if hosts <= MOST_HOSTS || folded.measured() < LEAST_PAIRS {
        return infer_of_all(folded);
    }
    let mut chosen = choose(hosts);
    for _ in 0..2 {
        let some = folded.of_hosts(&chosen);
        let structure = infer_of_all(&some);
        let is_groups = matches!(structure.neighbourhoods, Neighbourhoods::None);
        if !(is_groups && structure.is_understood) {
            break;
        }
        let placed = groups::place(&toward(folded, &some, &chosen, &structure.group), &structure.group);
        let unplaced: Vec<usize> =
            (0..hosts).filter(|host| !placed[*host].1 && chosen.binary_search(host).is_err()).collect();
        if unplaced.len() < FEWEST_UNPLACED || chosen.len() > CHOSEN {
            let mut group: Vec<usize> = placed.into_iter().map(|(group, _)| group).collect();
            chosen.iter().zip(&structure.group).for_each(|(host, own)| group[*host] = *own);
            return Structure::of_groups(groups::by_size(&group), true);
        }
        chosen.extend(unplaced.iter().step_by(unplaced.len().div_ceil(MOST_UNPLACED)));
        chosen.sort_unstable();
    }
    infer_of_all(folded)
}

/// The search among all hosts. A mean of one direction alone has what its hosts send slower than they receive in it.
fn infer_of_all(folded: &Folded) -> Structure {
    if folded.one_way.iter().all(Vec::is_empty) {
        return structure::infer(folded);
    }
    let of_length = |length: usize| {
        less_sides(&folded.mean[length], &sides_of_both_ways(&folded.half[length]), &folded.one_way[length])
    };
    let mean = (0..folded.mean.len()).into_par_iter().map(of_length).collect();
    structure::infer(&Folded { mean, ..folded.clone() })
}

/// Pairs from which on their median is more than what chance makes of one of them.
const LEAST_BOTH_WAYS: usize = 3;

/// What hosts send slower than they receive, from the pairs that were measured both ways, `[host]`; 0 where these are
/// too few.
fn sides_of_both_ways(half: &Square) -> Vec<f64> {
    let cells = half.cells().into_iter();
    fit_sides(half)
        .into_iter()
        .zip(cells)
        .map(|(side, cells)| if cells < LEAST_BOTH_WAYS { 0.0 } else { side })
        .collect()
}

/// Means without what a host sends slower than it receives, which cancels out where both directions are there.
fn less_sides(mean: &Square, effect: &[f64], one_way: &[(usize, usize)]) -> Square {
    let mut mean = mean.clone();
    for &(from, to) in one_way {
        let value = mean.at(from, to) - (effect[from] - effect[to]);
        mean.set(from, to, value);
        mean.set(to, from, value);
    }
    mean
}

/// Hosts from all over the run, ascending. Neighbours are often of one leaf: one host is chosen of each few of them, at
/// a place that follows no rule.
fn choose(hosts: usize) -> Vec<usize> {
    let first = |n: usize| n * hosts / CHOSEN;
    let place = |n: usize| first(n) + (n.wrapping_mul(0x9e37_79b9) >> 8) % (first(n + 1) - first(n));
    (0..CHOSEN).map(place).collect()
}

/// What every host takes to the chosen ones. `group`: of the chosen ones.
fn toward(folded: &Folded, some: &Folded, chosen: &[usize], group: &[usize]) -> Vec<Toward> {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let of_band = |lengths: &std::ops::Range<usize>| {
        let known = bands::middle_square(&some.mean[lengths.clone()]);
        let noise = fit_groups(known.clone(), group, groups).noise;
        let of_host = |(host, row): (usize, &mut [f32])| {
            let mut cells = Vec::new();
            for (value, &column) in row.iter_mut().zip(chosen) {
                let means = folded.mean[lengths.clone()].iter().map(|mean| mean.at(host, column));
                *value = bands::middle_of_few(means, &mut cells) as f32;
            }
        };
        let mut rows = vec![f32::NAN; folded.hosts() * chosen.len()];
        rows.par_chunks_mut(chosen.len()).enumerate().for_each(of_host);
        Toward { known, rows, noise }
    };
    bands::ranges(folded.mean.len()).iter().map(of_band).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, is_same_partition, leaves, normal, square};

    /// Leaves of these sizes with noise, at two lengths, and the leaf of every host. `lost`: pairs that were not
    /// measured.
    fn drawn(sizes: &[usize], lost: impl Fn(usize, usize) -> bool) -> (Folded, Vec<usize>) {
        let mut rng = generator(2);
        let leaf = leaves(sizes, &mut rng);
        let value = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { 0.3 };
        let mut draw =
            || square(leaf.len(), |i, j| if lost(i, j) { f64::NAN } else { value(i, j) + 0.03 * normal(&mut rng) });
        (Folded::of_logarithms(&[8, 4096], vec![draw(), draw()]), leaf)
    }

    #[test]
    fn leaves_are_found_from_some_of_their_hosts() {
        let (folded, leaf) = drawn(&[60; 6], |_, _| false);
        let structure = infer(&folded);
        assert!(structure.is_understood && is_same_partition(&structure.group, &leaf));
        assert!(matches!(structure.neighbourhoods, Neighbourhoods::None) && structure.group.len() == 360);
    }

    #[test]
    fn groups_are_numbered_by_their_size_in_the_whole_run() {
        let (folded, leaf) = drawn(&[40, 130, 60, 70], |_, _| false);
        let structure = infer(&folded);
        let size = |group: usize| structure.group.iter().filter(|other| **other == group).count();
        assert!(is_same_partition(&structure.group, &leaf));
        assert_eq!([size(0), size(1), size(2), size(3)], [130, 70, 60, 40]);
    }

    #[test]
    fn few_pairs_are_looked_at_whole() {
        let (folded, _) = drawn(&[130, 130], |i, j| (i + j) % 5 == 0);
        let (nearly_all, _) = drawn(&[130, 130], |i, j| i + j == 9);
        assert!(folded.measured() < LEAST_PAIRS && nearly_all.measured() > LEAST_PAIRS);
    }

    #[test]
    fn chosen_hosts_are_from_all_over_the_run() {
        for hosts in [257, 300, 512, 1000, 5000] {
            let chosen = choose(hosts);
            assert!(chosen.len() == CHOSEN && chosen.is_sorted_by(|a, b| a < b) && chosen[CHOSEN - 1] < hosts);
            let widest = chosen.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest <= 2 * hosts.div_ceil(CHOSEN), "{hosts}: {widest}");
        }
    }

    #[test]
    fn what_directions_say_alone_does_not_tell_groups() {
        // Between the halves one direction alone was measured, and host 0 sends slowly.
        let slow = |i: usize| if i == 0 { 0.5 } else { 0.0 };
        let mut rng = generator(4);
        let times = square(12, |i, j| match i % 2 < j % 2 {
            true => f64::NAN,
            false => slow(i) + 0.01 * normal(&mut rng),
        });
        assert_eq!(infer(&Folded::of_logarithms(&[8], vec![times])).group, vec![0; 12]);
    }
}

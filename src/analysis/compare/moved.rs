//! Hosts that are near others than they were.
//!
//! In: the groups found in both runs, and their difference. Out: hosts that went to another group. Groups found in two
//! runs never agree to the last host, so a host is named only if its own pairs say so: toward its old neighbours it
//! became slower than toward its new ones.

use crate::{
    analysis::{
        diagnose::{
            folded::Folded,
            places::{ALL, COINCIDENCE, EFFICIENCY, Least, tail},
        },
        square::Square,
    },
    stats::{error_of_median, median_of, scatter},
};

use super::shifts::LEAST_PAIRS;

/// A host that is near others than it was; hosts by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub host: usize,
    /// Its group in the base run, without itself.
    pub from: Vec<usize>,
    /// Its group in the new run, without itself.
    pub to: Vec<usize>,
}

/// `old`, `new`: the group of every host; groups are numbered separately in both.
pub(super) fn find(old: &[usize], new: &[usize], change: &Folded) -> Vec<Move> {
    let hosts = old.len();
    let count = |label: &[usize]| label.iter().max().map_or(0, |last| last + 1);
    // The old group that most hosts of a new one come from.
    let origin = |group: usize| {
        let from = |of: &usize| (0..hosts).filter(|host| new[*host] == group && old[*host] == *of).count();
        (0..count(old)).max_by_key(from)
    };
    let origins: Vec<Option<usize>> = (0..count(new)).map(origin).collect();
    let has_left = |host: usize| origins[new[host]] != Some(old[host]);
    let candidates: Vec<usize> = (0..hosts).filter(|host| has_left(*host)).collect();
    // Where many have, it is the grouping that is not clear.
    if candidates.is_empty() || candidates.len() as f64 > (1.0 - ALL) * hosts as f64 {
        return Vec::new();
    }
    let stayed = |label: &[usize], group: usize| -> Vec<usize> {
        (0..hosts).filter(|host| label[*host] == group && !has_left(*host)).collect()
    };
    let moves = candidates.iter().map(|&host| Move { host, from: stayed(old, old[host]), to: stayed(new, new[host]) });
    let means: Vec<Square> = change.times.iter().map(Square::both_ways).collect();
    moves.filter(|change_of_place| is_clear(change_of_place, &means)).collect()
}

/// `change`: of pairs both ways, `[length]`.
fn is_clear(Move { host, from, to }: &Move, change: &[Square]) -> bool {
    if from.len().min(to.len()) < LEAST_PAIRS {
        return false;
    }
    change.iter().any(|mean| {
        let toward = |others: &[usize]| median_of(others.iter().map(|other| mean.at(*host, *other)), &mut Vec::new());
        let mut pairs: Vec<f64> = mean.upper().collect();
        let [of_from, of_to] = [from, to].map(|others| error_of_median(others.len() as f64));
        let apart = scatter(&mut pairs) * of_from.hypot(of_to);
        let effect = toward(from) - toward(to);
        let looked_at = (mean.side() * change.len()) as f64;
        let chance = looked_at * tail(effect / apart, EFFICIENCY * pairs.len() as f64);
        effect > Least::OF_TIMES.way && chance < COINCIDENCE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn change(of: impl Fn(usize, usize) -> f64) -> Folded {
        let mut mean = Square::missing(8);
        for (i, j) in (0..8).flat_map(|i| (0..8).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            mean.set(i, j, of(i, j) + 0.001 * ((i * j) % 3) as f64);
        }
        let names = (0..8).map(|host| format!("n{host}")).collect();
        Folded { lengths: vec![Bytes(8)], level: vec![1e-6], times: vec![mean], ..Folded::empty(names) }
    }

    #[test]
    fn a_host_that_was_plugged_in_elsewhere_is_named() {
        let old = [0, 0, 0, 0, 1, 1, 1, 1];
        let new = [1, 1, 1, 0, 0, 0, 0, 0];
        let of = |i: usize, j: usize| match (i.min(j), i.max(j)) {
            (0..=2, 3) => 0.3,
            (3, 4..) => -0.3,
            _ => 0.0,
        };
        let moves = find(&old, &new, &change(of));
        assert_eq!(moves, [Move { host: 3, from: vec![0, 1, 2], to: vec![4, 5, 6, 7] }]);
        // What may come of noise does not prove it, nor do the groups alone.
        let noisy = |i: usize, j: usize| of(i, j) / 4.0 + 0.1 * ((i * j % 7) as f64 - 3.0);
        assert!(find(&old, &new, &change(noisy)).is_empty());
        assert!(find(&old, &new, &change(|_, _| 0.0)).is_empty());
        assert!(find(&old, &old, &change(of)).is_empty());
    }
}

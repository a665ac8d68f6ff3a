//! An order of ranks in which those that behave alike are neighbours.
//!
//! In: the parts of an archive as they are made. Out: the order of ranks as it was, unless another shows regions with
//! clearly fewer borders: then the leaves of a hierarchical clustering of ranks, by how many of their pairs are in
//! different sets.

use std::collections::HashMap;

use kodama::{Method, linkage};
use rayon::prelude::*;

use crate::{record::Part, units::Rank};

/// Partners by which two ranks are compared.
const PARTNERS: usize = 512;

/// Another order must leave less than this share of the borders.
const CLEARLY_FEWER: f64 = 0.8;

/// What every pair was in so far.
pub(super) struct Alike {
    ranks: usize,
    /// Hash of the sets that a pair was in, `[source][destination]`.
    sets: Vec<u64>,
}

impl Alike {
    pub(super) fn new(ranks: usize) -> Self {
        Self { ranks, sets: vec![0; ranks * ranks] }
    }

    /// Takes one more range.
    pub(super) fn add(&mut self, part: &Part) {
        for (hash, set) in self.sets.iter_mut().zip(&part.sets) {
            *hash = (hash.rotate_left(5) ^ u64::from(*set)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    /// The order of ranks.
    pub(super) fn order(self) -> Vec<Rank> {
        let identity: Vec<Rank> = (0..self.ranks).collect();
        if self.ranks < 3 {
            return identity;
        }
        let profiles = self.profiles();
        let distances = distances(&profiles);
        let borders =
            |order: &[Rank]| -> f64 { order.windows(2).map(|pair| unlike(&profiles, pair[0], pair[1])).sum() };
        let before = borders(&identity);
        if before == 0.0 {
            return identity;
        }
        let steps = linkage(&mut { distances }, self.ranks, Method::Average);
        let steps: Vec<(usize, usize)> = steps.steps().iter().map(|step| (step.cluster1, step.cluster2)).collect();
        let order = leaves(self.ranks, &steps);
        if borders(&order) < CLEARLY_FEWER * before { order } else { identity }
    }

    /// For every rank what it does with some partners: as source, then as destination; its own place is left out.
    fn profiles(&self) -> Vec<Vec<u32>> {
        let mut numbers = HashMap::new();
        let mut number = |hash: u64| {
            let next = numbers.len() as u32;
            *numbers.entry(hash).or_insert(next)
        };
        let partners: Vec<Rank> = (0..self.ranks).step_by(self.ranks.div_ceil(PARTNERS)).collect();
        let mut profile = |rank: Rank| {
            let out: Vec<u64> = partners.iter().map(|partner| self.sets[rank * self.ranks + partner]).collect();
            let back = partners.iter().map(|partner| self.sets[partner * self.ranks + rank]);
            let hashes = out.into_iter().chain(back);
            let own = |place: usize| partners[place % partners.len()] == rank;
            hashes.enumerate().map(|(place, hash)| if own(place) { u32::MAX } else { number(hash) }).collect()
        };
        (0..self.ranks).map(&mut profile).collect()
    }
}

/// How many of their pairs two ranks have in different sets, leaving out those with each other.
fn unlike(profiles: &[Vec<u32>], a: Rank, b: Rank) -> f64 {
    let differ = |(a, b): (&u32, &u32)| u32::from(a != b) & u32::from(*a != u32::MAX) & u32::from(*b != u32::MAX);
    f64::from(profiles[a].iter().zip(&profiles[b]).map(differ).sum::<u32>())
}

/// The upper triangle of distances, row by row.
fn distances(profiles: &[Vec<u32>]) -> Vec<f32> {
    let row = |a: Rank| -> Vec<f32> { (a + 1..profiles.len()).map(|b| unlike(profiles, a, b) as f32).collect() };
    (0..profiles.len()).into_par_iter().flat_map_iter(row).collect()
}

/// The leaves of a dendrogram; of two branches that with the lowest rank comes first.
fn leaves(ranks: usize, steps: &[(usize, usize)]) -> Vec<Rank> {
    let mut members: Vec<Vec<Rank>> = (0..ranks).map(|rank| vec![rank]).collect();
    for &(a, b) in steps {
        let (mut a, mut b) = (std::mem::take(&mut members[a]), std::mem::take(&mut members[b]));
        if a.iter().min() > b.iter().min() {
            std::mem::swap(&mut a, &mut b);
        }
        a.append(&mut b);
        members.push(a);
    }
    members.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One set within groups, another across them.
    fn part(group_of: &[usize]) -> Part {
        let set = |i: usize, j: usize| u32::from(group_of[i] != group_of[j]);
        let ranks = group_of.len();
        let sets = (0..ranks * ranks).map(|cell| set(cell / ranks, cell % ranks)).collect();
        Part { lengths: 0..1, sets, values: vec![1.0, 2.0], exceptions: Vec::new() }
    }

    fn order(group_of: &[usize]) -> Vec<Rank> {
        let mut alike = Alike::new(group_of.len());
        alike.add(&part(group_of));
        alike.order()
    }

    #[test]
    fn neighbours_that_are_alike_stay_where_they_are() {
        assert_eq!(order(&[0, 0, 0, 1, 1, 1, 2, 2]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(&[0]), [0]);
        assert_eq!(order(&[0; 5]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn shuffled_groups_are_brought_together() {
        let group_of: Vec<usize> = (0..60).map(|rank| (rank * 7 + rank / 3) % 4).collect();
        let order = order(&group_of);
        let changes = order.windows(2).filter(|pair| group_of[pair[0]] != group_of[pair[1]]).count();
        assert_eq!(changes, 3, "{order:?}");
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..60).collect::<Vec<_>>());
    }
}

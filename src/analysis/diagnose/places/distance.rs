//! How far hosts are from each other, found in short messages alone.
//!
//! In: the short messages of a run, or groups that somebody knows. Out: [`Distances`]: the leaf and the pod of every
//! host, and the distance class of every pair. Short messages show where hosts are, long ones how good they are: a slow
//! cable is never a distance. A class is needed by many places: what only one leaf is far by, is that leaf's.

use rayon::prelude::*;

use super::{
    fit::{self, Fit},
    shows_distances, steps, torus,
    tree::{Pairs, apart, cost_of_leaves, leaves_of_many, near, rejoined, split, without},
    view::medians,
};
use crate::{
    analysis::{diagnose::folded::Folded, groups::by_size, square::Square},
    stats::{error_of_median, median, scatter_about_zero},
};

/// Least difference between two levels of a tree, a share of the time: more than what the cables of a room make of a
/// short message, less than what switches do. A metre takes 5 ns: 16 metres more are 2 % of 4 us. The two switches that
/// a next level adds take about 100 ns each, of which the quickest InfiniBand switches make 90 to 150: 4 % and more.
pub const LEAST_STEP: f64 = 0.02;

/// Hosts of which a torus is looked for.
const LEAST_OF_TORI: usize = 12;
const MOST_OF_TORI: usize = 256;

/// Most hosts of which pods are looked for, and hosts that are leaves by themselves only because of what they add.
const MOST_HOSTS: usize = 1024;

/// Third hosts with which the noise of a pair is looked at. Of so many hosts all: 2,016 pairs, whose scatter is known to
/// `1 / sqrt(2 * 0.37 * 2016)`, 3 % ([`super::fit::EFFICIENCY`]), which more rounds of the same pairs do not improve; of more hosts as many.
const MOST_THIRDS: usize = 64;

/// Hosts from which the leaves are found, as the search takes as long as the cube of their number. Of so many of 1,024, a
/// leaf of 16 hosts has none with a probability of `(3 / 4)^16`, one in a hundred, and is then found among the others.
const ENOUGH_HOSTS: usize = 256;

/// Which pairs are alike as long as nothing is wrong.
#[derive(Clone, Debug)]
pub struct Distances {
    /// The leaf of every host, `[host]`, numbered from 0; the largest first.
    pub leaf: Vec<usize>,
    /// The pod of every leaf, `[leaf]`; all the same where there are no pods.
    pub pod: Vec<usize>,
    /// The kind of every host, `[host]`.
    pub kind: Vec<usize>,
    /// Number of kinds.
    kinds: usize,
    /// Number of classes.
    pub classes: usize,
    shape: Shape,
}

/// What a network is like.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Leaves, and pods of these.
    Tree,
    /// Hops between hosts, `[host * hosts + host]`; all are in one leaf.
    Torus(Vec<u8>),
    /// Steps between hosts, `[host * hosts + host]`; pods are groups.
    Dragonfly(Vec<u8>),
    /// Places behind the root of a broadcast: who comes after it by as many numbers is as far from it.
    Around,
}

impl Distances {
    /// All hosts on one switch.
    pub fn flat(hosts: usize) -> Self {
        Self::of(vec![0; hosts], Shape::Tree)
    }

    /// Hosts on a torus, `[host * hosts + host]`: each has a place of its own.
    pub fn of_hops(hosts: usize, hops: Vec<u8>) -> Self {
        Self::of(vec![0; hosts], Shape::Torus(hops))
    }

    /// Of a broadcast whose times depend on how many numbers a host comes after the root: libraries number hosts from it.
    pub fn around(hosts: usize) -> Self {
        Self::of(vec![0; hosts], Shape::Around)
    }

    /// For tests: hosts of leaves that are known.
    #[cfg(test)]
    pub fn of_leaves(leaf: Vec<usize>) -> Self {
        Self::of(leaf, Shape::Tree)
    }

    pub(super) fn of(leaf: Vec<usize>, shape: Shape) -> Self {
        let (leaves, hosts) = (leaf.iter().max().map_or(0, |last| last + 1), leaf.len());
        let mut distances = Self { leaf, pod: vec![0; leaves], kind: vec![0; hosts], kinds: 1, classes: 0, shape };
        distances.count();
        distances
    }

    pub(super) fn count(&mut self) {
        let kinds = self.kind.iter().max().map_or(1, |last| last + 1);
        self.kinds = kinds;
        let steps = match &self.shape {
            Shape::Tree => 3,
            Shape::Around => self.leaf.len(),
            Shape::Torus(steps) | Shape::Dragonfly(steps) => {
                steps.iter().max().map_or(1, |most| usize::from(*most) + 1)
            }
        };
        self.classes = steps * kinds * kinds;
    }

    /// Hops between two hosts; none where hosts are on no torus.
    pub fn hops(&self, i: usize, j: usize) -> Option<u8> {
        Some(self.hops_from(i)?[j])
    }

    /// The same from a host to every host, `[host]`.
    pub fn hops_from(&self, host: usize) -> Option<&[u8]> {
        let (Shape::Torus(hops), hosts) = (&self.shape, self.leaf.len()) else { return None };
        Some(&hops[host * hosts..][..hosts])
    }

    /// Whether hosts are on a torus.
    pub fn is_torus(&self) -> bool {
        matches!(self.shape, Shape::Torus(_))
    }

    /// Whether the leaves of two hosts are of two groups, and the gate of these is the way between them.
    pub fn has_gate(&self, i: usize, j: usize) -> bool {
        matches!(self.shape, Shape::Dragonfly(_)) && self.pod[self.leaf[i]] != self.pod[self.leaf[j]]
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.pod.len()
    }

    /// Whether it is known who is near whom: leaves were found, or so many pairs were measured that there are none.
    pub fn are_known(&self, folded: &Folded) -> bool {
        self.leaves() > 1 || shows_distances(folded)
    }

    /// The hosts of a leaf, ascending.
    pub fn members(&self, leaf: usize) -> Vec<usize> {
        (0..self.leaf.len()).filter(|host| self.leaf[*host] == leaf).collect()
    }

    /// The class of a pair, the same both ways but in a broadcast.
    pub fn class(&self, i: usize, j: usize) -> usize {
        self.class_from(i)(j)
    }

    /// The class of a host's pairs with others.
    pub fn class_from(&self, i: usize) -> impl Fn(usize) -> usize {
        let (leaf, pod, kind, kinds) = (self.leaf[i], self.pod[self.leaf[i]], self.kind[i], self.kinds);
        let steps = match &self.shape {
            Shape::Torus(steps) | Shape::Dragonfly(steps) => Some(&steps[i * self.leaf.len()..][..self.leaf.len()]),
            Shape::Tree | Shape::Around => None,
        };
        let hosts = matches!(self.shape, Shape::Around).then_some(self.leaf.len());
        move |j| {
            let step = match (steps, hosts) {
                (Some(steps), _) => steps[j].into(),
                (_, Some(hosts)) => (j + hosts - i) % hosts,
                _ if self.leaf[j] == leaf => 0,
                _ if self.pod[self.leaf[j]] == pod => 1,
                _ => 2,
            };
            let (low, high) = (kind.min(self.kind[j]), kind.max(self.kind[j]));
            (step * kinds + low) * kinds + high
        }
    }

    /// The way between the leaves of two hosts, by number; inside all leaves the same.
    pub fn way(&self, i: usize, j: usize) -> usize {
        if self.leaf[i] == self.leaf[j] { 0 } else { 1 + self.leaf[i] * self.leaves() + self.leaf[j] }
    }

    /// From the short lengths of a run, or from groups that somebody knows. `values`: mean over these lengths.
    pub fn find(short: &Folded, values: &Square, known: Option<&[usize]>) -> Self {
        let hosts = short.hosts();
        // In seconds, as parts of short messages add.
        let in_seconds = |mut times: Square| {
            times.rows_mut().for_each(|row| row.iter_mut().for_each(|time| *time = time.exp()));
            times
        };
        let one_way = in_seconds(values.clone());
        let values = &one_way.both_ways();
        if let Some(known) = known {
            let mut distances = Self::of(known.to_vec(), Shape::Tree);
            distances.find_pods(values);
            return distances;
        }
        let are_pairs_few = !shows_distances(short);
        if are_pairs_few && hosts > MOST_HOSTS {
            return Self::flat(hosts);
        }
        let leaf = leaves_of_many(values, ENOUGH_HOSTS);
        if hosts > MOST_HOSTS {
            return Self::of(by_size(&leaf), Shape::Tree);
        }
        let shortest = in_seconds(medians(short, &[vec![0]]));
        let mut tree = Self::of(rejoined(&apart(&leaf, &shortest), values), Shape::Tree);
        tree.find_pods(values);
        let pairs = Pairs::of(values);
        if are_pairs_few {
            // With as many pairs inside leaves as there are hosts, every host has met two of its own in the mean, and of a large
            // leaf four of five are joined by such pairs (Erdos and Renyi 1960); of fewer, what is found are parts of leaves. On a
            // torus every host has a place of its own, of which few pairs say little.
            let near = pairs.known.iter().filter(|(i, j, _)| tree.leaf[*i] == tree.leaf[*j]).count();
            return if near >= hosts { tree } else { Self::flat(hosts) };
        }
        let labels = |count: usize| hosts as f64 * (count as f64).ln();
        let of_tree = pairs.cost(|i, j| tree.class(i, j), tree.classes).0 + labels(tree.leaves());
        let noise = noise_of_pairs(&one_way);
        // Groups of a dragonfly may seem to be leaves.
        let starts = || [vec![tree.leaf.clone()], near(hosts, |i, j| values.at(i, j))].concat();
        if let Some(found) = steps::explain(&pairs, starts, noise, of_tree) {
            return Self { pod: found.group, ..Self::of(found.leaf, Shape::Dragonfly(found.between)) };
        }
        let may_be_torus = (LEAST_OF_TORI..=MOST_OF_TORI).contains(&hosts);
        if !may_be_torus || steps::least_cost(&pairs, noise) >= of_tree - labels(hosts) {
            return tree;
        }
        // Places explain leaves, too, that no single pair shows.
        let of_tree = of_tree.min(cost_of_leaves(values));
        match torus::explain(&pairs, noise, of_tree - labels(hosts)) {
            Some(hops) => Self::of_hops(hosts, hops),
            None => tree,
        }
    }

    /// Joins leaves to pods: two pods at least have two leaves at least. `values`: of both directions together.
    fn find_pods(&mut self, values: &Square) {
        let leaves = self.leaves();
        if leaves < 4 {
            return;
        }
        let noise = Fit::of(values, self).noise;
        let members: Vec<Vec<usize>> = (0..leaves).map(|leaf| self.members(leaf)).collect();
        let (mut apart, mut errors) = (Square::missing(leaves), Vec::new());
        for (a, b) in (0..leaves).flat_map(|a| (a + 1..leaves).map(move |b| (a, b))) {
            let pairs = members[a].iter().flat_map(|i| members[b].iter().map(|j| (*i, *j)));
            let mut times: Vec<f64> = pairs.map(|(i, j)| values.at(i, j)).filter(|time| !time.is_nan()).collect();
            errors.push(noise * error_of_median(times.len().max(1) as f64));
            let middle = median(&mut times);
            apart.set(a, b, middle);
            apart.set(b, a, middle);
        }
        let noise = median(&mut errors).max(LEAST_STEP / 2.0);
        let own = what_leaves_add(&apart);
        let mut order: Vec<usize> = (0..leaves).filter(|leaf| own[*leaf] > 0.0).collect();
        order.sort_by(|a, b| own[*b].total_cmp(&own[*a]));
        // As long as it helps that one way more is slow.
        let mut best = pods(&apart, &own, &[], noise);
        for late in 1..=order.len() {
            let found = pods(&apart, &own, &order[..late], noise);
            if found.0 >= best.0 {
                break;
            }
            best = found;
        }
        let pod = best.1;
        // Leaves of which none have met are no pod: each of them may be far from all others by itself.
        let is_known = |(a, b): (usize, usize)| pod[a] == pod[b] && !apart.at(a, b).is_nan();
        let known = (0..leaves).flat_map(|a| (a + 1..leaves).map(move |b| (a, b))).filter(|ways| is_known(*ways));
        let mut known: Vec<usize> = known.map(|(a, _)| pod[a]).collect();
        known.sort_unstable();
        known.dedup();
        if known.len() > 1 {
            self.pod = pod;
        }
    }
}

/// How long a description of the times between leaves is where the ways out of some are `late`, and the pod of every
/// leaf. `own`: about what the ways out of leaves add, `[leaf]`. A way takes the name of its leaf and a number: half of the
/// logarithm of how many times it is found from (Rissanen 1978). Both are found by turns, as long as that helps.
fn pods(apart: &Square, own: &[f64], late: &[usize], noise: f64) -> (f64, Vec<usize>) {
    let leaves = apart.side();
    let mut added: Vec<f64> = (0..leaves).map(|leaf| if late.contains(&leaf) { own[leaf] } else { 0.0 }).collect();
    let mut best = (f64::INFINITY, vec![0; leaves]);
    loop {
        let times = without(apart, &added);
        let pod = split(&times, Some(noise));
        let class = |a: usize, b: usize| usize::from(pod[a] != pod[b]);
        let (cost, level, _) = Pairs::of(&times).with_noise(Some(noise)).cost(class, 2);
        for &leaf in late {
            let others = (0..leaves).filter(|other| *other != leaf);
            let more = |other: usize| apart.at(leaf, other) - level[class(leaf, other)] - added[other];
            added[leaf] = median(&mut others.map(more).collect::<Vec<_>>()).max(0.0);
        }
        let count = pod.iter().max().map_or(1, |last| last + 1) as f64;
        let leaves = leaves as f64;
        let cost = cost + leaves * count.ln() + late.len() as f64 * 1.5 * leaves.ln();
        if cost >= best.0 || cost.is_nan() {
            return best;
        }
        best = (cost, pod);
    }
}

/// About what the way out of a leaf adds to its times to all other leaves, `[leaf]`. `apart`: times between leaves. That of
/// most leaves is about nothing.
fn what_leaves_add(apart: &Square) -> Vec<f64> {
    let leaves = apart.side();
    let usual = |of: usize, but: usize| {
        let others = (0..leaves).filter(|leaf| ![of, but].contains(leaf));
        median(&mut others.map(|leaf| apart.at(of, leaf)).collect::<Vec<_>>())
    };
    let of_leaf = |leaf: usize| {
        let others = (0..leaves).filter(|other| *other != leaf);
        median(&mut others.map(|other| apart.at(leaf, other) - usual(other, leaf)).collect::<Vec<_>>())
    };
    // A way that several leaves share adds nothing between these, and a leaf that is alone in its pod is only far.
    let nearest = |leaf: usize| {
        let others = (0..leaves).filter(|other| *other != leaf);
        others.map(|other| apart.at(leaf, other)).fold(f64::INFINITY, f64::min)
    };
    let usual_nearest = median(&mut (0..leaves).map(nearest).collect::<Vec<_>>());
    (0..leaves).map(|leaf| of_leaf(leaf).min(nearest(leaf) - usual_nearest)).collect()
}

/// Standard deviation of the mean of both directions of a pair, from what these differ in. Round three hosts, in one turn and
/// in the other, each sends once and receives once: what hosts send slower than they receive is in both, and nothing has
/// to be estimated from few pairs.
fn noise_of_pairs(values: &Square) -> f64 {
    let hosts = values.side();
    let half = |i: usize, j: usize| (values.at(i, j) - values.at(j, i)) / 2.0;
    let thirds = |i: usize, j: usize| (j + 1..hosts).step_by(hosts.div_ceil(MOST_THIRDS)).map(move |k| (i, j, k));
    let pairs = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j)));
    // Of very many pairs so many, from all over the run.
    let known = pairs.step_by((hosts * hosts / 2 / fit::ENOUGH).max(1)).filter(|(i, j)| !half(*i, *j).is_nan());
    let round = known.flat_map(|(i, j)| thirds(i, j)).map(|(i, j, k)| half(i, j) + half(j, k) + half(k, i));
    scatter_about_zero(&mut round.filter(|rest| !rest.is_nan()).collect::<Vec<_>>()) / 3.0_f64.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, is_same_partition, normal, square};

    /// Microseconds between two leaves, so many of which are a pod.
    fn way(a: usize, b: usize, of_pod: usize) -> f64 {
        match () {
            () if a == b => 0.85,
            () if a / of_pod == b / of_pod => 1.08,
            () => 1.33,
        }
    }

    #[test]
    fn a_leaf_whose_way_out_is_late_stays_in_its_pod() {
        // By more than pods are apart: it is farther from those of its pod than these are from others.
        for late in [0.0, 0.31] {
            let mut rng = generator(9);
            let leaf: Vec<usize> = (0..54).map(|host| host / 6).collect();
            let of_leaf = |a: usize, b: usize| if (a == 6) != (b == 6) { late } else { 0.0 };
            let times = square(54, |i, j| {
                let (a, b) = (leaf[i], leaf[j]);
                way(a, b, 3) + of_leaf(a, b) + 0.01 * normal(&mut rng)
            });
            let mut distances = Distances::of(leaf.clone(), Shape::Tree);
            distances.find_pods(&times);
            assert!(is_same_partition(&distances.pod, &[0, 0, 0, 1, 1, 1, 2, 2, 2]), "{late}: {:?}", distances.pod);
        }
    }

    #[test]
    fn two_pods_of_two_leaves_are_found_where_the_way_of_one_leaf_is_late() {
        let mut rng = generator(9);
        let leaf: Vec<usize> = (0..12).map(|host| host / 3).collect();
        let late = |a: usize, b: usize| if (a == 3) != (b == 3) { 0.25 } else { 0.0 };
        let times = square(12, |i, j| way(leaf[i], leaf[j], 2) + late(leaf[i], leaf[j]) + 0.01 * normal(&mut rng));
        let mut distances = Distances::of(leaf, Shape::Tree);
        distances.find_pods(&times);
        assert!(is_same_partition(&distances.pod, &[0, 0, 1, 1]), "{:?}", distances.pod);
    }

    #[test]
    fn late_leaves_that_have_not_met_are_no_pod() {
        let mut rng = generator(9);
        let leaf: Vec<usize> = (0..20).map(|host| host / 4).collect();
        let times = square(20, |i, j| match (leaf[i], leaf[j]) {
            (3, 4) | (4, 3) => f64::NAN,
            (a, b) if a != b && a.max(b) > 2 => 1.5 + 0.01 * normal(&mut rng),
            (a, b) => way(a, b, 3) + 0.01 * normal(&mut rng),
        });
        let mut distances = Distances::of(leaf, Shape::Tree);
        distances.find_pods(&times);
        assert_eq!(distances.pod, [0; 5]);
    }

    #[test]
    fn leaves_that_no_single_pair_shows_are_no_torus() {
        for (leaves, more) in [(2, 0.066), (2, 0.1), (4, 0.11)] {
            let mut rng = generator(1);
            let far = |i: usize, j: usize| i % leaves != j % leaves;
            let times = square(64, |i, j| if far(i, j) { more } else { 0.0 } + 0.085 * normal(&mut rng));
            let short = Folded::of_logarithms(&[8], vec![times.clone()]);
            assert!(!Distances::find(&short, &times, None).is_torus(), "{leaves} {more}");
        }
    }

    #[test]
    fn a_leaf_may_be_alone_in_its_pod() {
        let mut rng = generator(11);
        let leaf: Vec<usize> = (0..42).map(|host| host / 6).collect();
        let times = square(42, |i, j| way(leaf[i], leaf[j], 2) + 0.01 * normal(&mut rng));
        let mut distances = Distances::of(leaf.clone(), Shape::Tree);
        distances.find_pods(&times);
        assert!(is_same_partition(&distances.pod, &[0, 0, 1, 1, 2, 2, 3]), "{:?}", distances.pod);
    }

    #[test]
    fn the_noise_of_a_pair_is_seen_where_half_of_the_cells_are_missing() {
        let mut rng = generator(13);
        let lost: Vec<bool> = (0..16 * 16).map(|_| normal(&mut rng) < 0.0).collect();
        let noises = (0..20).map(|_| {
            let own: Vec<f64> = (0..16).map(|_| 0.2 * normal(&mut rng)).collect();
            noise_of_pairs(&square(16, |i, j| {
                if lost[i * 16 + j] { f64::NAN } else { 1.0 + own[i] + 0.02 * normal(&mut rng) }
            }))
        });
        // The mean of two directions scatters by 0.014; about ten rounds of three hosts are known.
        let noise = median(&mut noises.collect::<Vec<_>>());
        assert!((0.010..0.018).contains(&noise), "{noise}");
    }
}

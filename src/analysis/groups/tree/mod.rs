//! Leaves under pods, for runs of which many pairs are missing.
//!
//! In: [`Band`]s and partitions to start from. Out: the leaf and the pod of every host, and how well they explain what
//! there is. Where few pairs are known, a middle for every two groups is more numbers than cells can tell. A tree of
//! switches has three: how far hosts of a leaf are, of a pod, and all others; besides them what hosts add, and bad
//! uplinks of leaves. So few numbers are known from few cells, and a host's place from one or two.
//!
//! The search goes downhill: hosts move to other leaves, leaves join and split, pods are cut anew. What is least is the
//! length of a description (Rissanen, 1978), as twice a logarithm: squares of what is left of the cells, in units of
//! noise, and what it takes to name the leaf of every host and the numbers. What numbers cost was set on drawn runs.

mod search;

use rayon::prelude::*;

use self::search::{MOST_LEAVES, State, chains};
use super::{
    Band, by_size, count,
    numbers::{Known, Numbers, Places},
    sizes,
};

/// Hosts in leaves, leaves in pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The leaf of every host, `[host]`; numbered from 0.
    pub leaf: Vec<usize>,
    /// The pod of every leaf, `[leaf]`.
    pub pod: Vec<usize>,
}

/// How near two hosts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// On one leaf.
    Leaf,
    /// On leaves of one pod.
    Pod,
    /// Neither.
    Core,
}

impl Tree {
    /// How near hosts of these leaves are.
    pub fn near(&self, leaf: usize, other: usize) -> Near {
        match (leaf == other, self.pod[leaf] == self.pod[other]) {
            (true, _) => Near::Leaf,
            (_, true) => Near::Pod,
            _ => Near::Core,
        }
    }

    /// The numbers of the pods, ascending.
    fn pods(&self) -> Vec<usize> {
        let mut pods = self.pod.clone();
        pods.sort_unstable();
        pods.dedup();
        pods
    }

    /// Number of hosts of every leaf.
    fn sizes(&self) -> Vec<usize> {
        sizes(&self.leaf, self.pod.len())
    }

    /// Leaves are numbered by size.
    fn sorted(self) -> Self {
        let leaf = by_size(&self.leaf);
        let mut pod = vec![0; count(&leaf)];
        leaf.iter().zip(&self.leaf).for_each(|(new, old)| pod[*new] = self.pod[*old]);
        Self { leaf, pod }
    }
}

impl Places for Tree {
    const HAVE_UPLINKS: bool = true;

    fn of_hosts(&self) -> &[usize] {
        &self.leaf
    }

    fn kinds(&self) -> usize {
        Near::Core as usize + 1
    }

    fn kind(&self, leaf: usize, other: usize) -> usize {
        self.near(leaf, other) as usize
    }

    /// Nobody is nearer to another leaf than to the own one, nor to another pod.
    fn repair(&self, middles: &mut [f64]) {
        for near in 1..middles.len() {
            let inner = middles[..near].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            middles[near] = if middles[near] < inner { inner } else { middles[near] };
        }
    }
}

/// Starts that are followed to their end.
const STARTS: usize = 10;

/// How well a tree explains what there is.
pub struct Explained {
    /// Leaves are numbered by size.
    pub tree: Tree,
    /// As a sum of squares in units of noise, with what the tree itself costs.
    pub cost: f64,
    /// Mean square of what is left of a cell, in units of noise, outliers taken back.
    pub misfit: f64,
}

/// The tree that explains most; `starts`: partitions of the hosts to begin with, besides those of hosts that are near
/// each other. `None` where nothing is known.
pub fn explain(bands: &[Band], starts: &[Vec<usize>]) -> Option<Explained> {
    let known: Vec<Known> = bands.iter().map(Known::of).collect();
    let hosts = bands[0].first.side();
    let cells: usize = known.iter().map(|known| known.pairs().count()).sum();
    if cells == 0 {
        return None;
    }
    let begun = |leaf: &Vec<usize>| {
        let leaf = by_size(leaf);
        let leaves = count(&leaf);
        let tree = Tree { leaf, pod: vec![0; leaves] };
        State::of(&known, tree, vec![Numbers::none(hosts); known.len()]).with_best_pods(&known)
    };
    let few = |leaf: &&Vec<usize>| leaf.iter().max().is_some_and(|last| *last < MOST_LEAVES);
    let chains = chains(&known, hosts);
    let mut begun: Vec<State> = starts.par_iter().chain(&chains).filter(few).map(begun).collect();
    begun.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    begun.dedup_by(|a, b| a.tree.leaf == b.tree.leaf);
    begun.truncate(STARTS);
    let ended = begun.into_par_iter().map(|start| start.settled(&known));
    let best = ended.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    let of_cells: f64 = best.numbers.iter().zip(&known).map(|(n, k)| n.cost_of_cells(k, &best.tree)).sum();
    Some(Explained { tree: best.tree.sorted(), cost: best.cost, misfit: of_cells / cells as f64 })
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::drawn::{band, generator, is_same_partition, leaves, lose_pairs};
    use crate::analysis::groups::cost_of_groups;

    /// Two bands of hosts on leaves, two leaves to a pod, with noise of 3 %, of which a share of the pairs is missing.
    /// `more(i, j)`: what a pair takes besides its place.
    fn bands(leaf: &[usize], missing: f64, rng: &mut ChaCha8Rng, more: impl Fn(usize, usize) -> f64) -> Vec<Band> {
        let way = |i: usize, j: usize| match (leaf[i], leaf[j]) {
            (own, other) if own == other => 0.0,
            (own, other) if own / 2 == other / 2 => 0.3,
            _ => 0.5,
        };
        let mut bands: Vec<Band> = (0..2).map(|_| band(leaf.len(), 0.03, rng, |i, j| way(i, j) + more(i, j))).collect();
        let mut squares: Vec<_> = bands.iter_mut().flat_map(|band| [&mut band.first, &mut band.second]).collect();
        lose_pairs(&mut squares, missing, rng);
        bands
    }

    fn everybody(hosts: usize) -> Vec<Vec<usize>> {
        vec![vec![0; hosts]]
    }

    #[test]
    fn leaves_and_pods_are_found_from_a_third_of_the_pairs() {
        let mut rng = generator(1);
        let leaf = leaves(&[6; 6], &mut rng);
        let bands = bands(&leaf, 0.66, &mut rng, |_, _| 0.0);
        let found = explain(&bands, &everybody(36)).unwrap();
        assert!(is_same_partition(&found.tree.leaf, &leaf), "{leaf:?} {:?}", found.tree.leaf);
        let pod: Vec<usize> = found.tree.leaf.iter().map(|leaf| found.tree.pod[*leaf]).collect();
        assert!(is_same_partition(&pod, &leaf.iter().map(|leaf| leaf / 2).collect::<Vec<_>>()));
        assert!(found.misfit < 1.3, "{}", found.misfit);
        assert!(found.cost < cost_of_groups(&bands, &leaf) && found.cost < cost_of_groups(&bands, &[0; 36]));
    }

    #[test]
    fn slow_hosts_bad_uplinks_and_slow_pairs_move_nobody() {
        let mut rng = generator(2);
        let leaf = leaves(&[6; 6], &mut rng);
        let slow = |host: usize| if host == 3 { 0.4 } else { 0.0 };
        let uplink = |i: usize, j: usize| if (leaf[i] == 5) == (leaf[j] == 5) { 0.0 } else { 0.4 };
        let pair = |i: usize, j: usize| if i + j == 9 { 1.0 } else { 0.0 };
        let bands = bands(&leaf, 0.5, &mut rng, |i, j| slow(i) + slow(j) + uplink(i, j) + pair(i, j));
        let found = explain(&bands, &everybody(36)).unwrap().tree;
        assert!(is_same_partition(&found.leaf, &leaf), "{leaf:?} {:?}", found.leaf);
    }

    #[test]
    fn noise_is_one_leaf() {
        for seed in 0..5 {
            let mut rng = generator(seed);
            let bands = bands(&[0; 24], 0.6, &mut rng, |_, _| 0.0);
            assert_eq!(explain(&bands, &everybody(24)).unwrap().tree, Tree { leaf: vec![0; 24], pod: vec![0] });
        }
    }

    #[test]
    fn what_is_no_tree_is_not_explained() {
        // Hosts on a ring.
        let mut rng = generator(3);
        let hops = |i: usize, j: usize| 0.1 * (i.abs_diff(j).min(32 - i.abs_diff(j))) as f64;
        let found = explain(&bands(&[0; 32], 0.5, &mut rng, hops), &everybody(32)).unwrap();
        assert!(found.misfit > 2.5, "{}", found.misfit);
    }

    #[test]
    fn nothing_known_is_not_explained() {
        let missing = || crate::analysis::square::Square::missing(6);
        let bands = [Band { first: missing(), second: missing(), noise: 0.05 }];
        assert!(explain(&bands, &everybody(6)).is_none());
    }

    #[test]
    fn how_near_leaves_are_is_said_by_their_pods() {
        let tree = Tree { leaf: vec![0, 1, 2], pod: vec![4, 4, 1] };
        assert_eq!([tree.near(1, 1), tree.near(0, 1), tree.near(1, 2)], [Near::Leaf, Near::Pod, Near::Core]);
        assert_eq!(tree.pods(), [1, 4]);
        let sorted = Tree { leaf: vec![2, 2, 0], pod: vec![7, 0, 5] }.sorted();
        assert_eq!(sorted, Tree { leaf: vec![0, 0, 1], pod: vec![5, 7] });
    }
}

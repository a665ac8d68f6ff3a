//! The way downhill to the tree that explains most.
//!
//! In: what is known of every band, and trees to begin with. Out: [`State`]s that neither moving a host nor joining,
//! splitting or cutting anew makes cheaper.

use kodama::{Dendrogram, Method, linkage};

use super::{Near, Tree};
use crate::{
    analysis::groups::{
        infer::cut,
        numbers::{Known, LEAF, Numbers, of_label, of_places, of_rest},
    },
    stats::median,
};

/// What a pod costs.
const POD: f64 = 6.0;

/// How often hosts are moved and pods are cut.
const ROUNDS: usize = 4;

/// Most leaves.
pub const MOST_LEAVES: usize = 48;

/// Least members of a leaf that may be two.
const LEAST_TO_SPLIT: usize = 4;

/// Least gain for which a host moves.
const LEAST_GAIN: f64 = 1.0;

/// A tree with the numbers that go with it, `[band]`.
#[derive(Clone)]
pub struct State {
    pub tree: Tree,
    pub numbers: Vec<Numbers>,
    pub cost: f64,
}

impl State {
    pub fn of(known: &[Known], tree: Tree, mut numbers: Vec<Numbers>) -> Self {
        numbers.iter_mut().zip(known).for_each(|(numbers, known)| numbers.find(known, &tree));
        let cost = cost(known, &tree, &numbers);
        Self { tree, numbers, cost }
    }

    /// Cuts the leaves into the pods that explain most.
    pub fn with_best_pods(self, known: &[Known]) -> Self {
        let leaves = self.tree.pod.len();
        if leaves < 3 {
            return self;
        }
        let mut blocks = vec![vec![Vec::new(); leaves * leaves]; known.len()];
        for ((blocks, known), numbers) in blocks.iter_mut().zip(known).zip(&self.numbers) {
            for (i, cell) in known.pairs() {
                let (own, other) = (self.tree.leaf[i], self.tree.leaf[cell.other]);
                let rest = cell.value
                    - numbers.host[i]
                    - numbers.host[cell.other]
                    - numbers.uplink[own]
                    - numbers.uplink[other];
                blocks[own.min(other) * leaves + own.max(other)].push(rest / known.noise);
            }
        }
        let pairs = || (0..leaves).flat_map(|g| (g + 1..leaves).map(move |h| (g, h)));
        let mut distances: Vec<f64> = pairs()
            .map(|(g, h)| {
                let middles = blocks.iter_mut().map(|blocks| median(&mut blocks[g * leaves + h]));
                let known: Vec<f64> = middles.filter(|middle| !middle.is_nan()).collect();
                known.iter().sum::<f64>() / known.len() as f64
            })
            .collect();
        let joins = linkage_of_known(&mut distances, leaves, Method::Average);
        let with = |count: usize| {
            let tree = Tree { leaf: self.tree.leaf.clone(), pod: cut(&joins, leaves, count) };
            let mut numbers = self.numbers.clone();
            numbers.iter_mut().zip(known).for_each(|(numbers, known)| numbers.find_levels(known, &tree));
            let cost = cost(known, &tree, &numbers);
            Self { tree, numbers, cost }
        };
        let best = (1..=leaves).map(with).min_by(|a, b| a.cost.total_cmp(&b.cost));
        best.filter(|best| best.cost < self.cost).unwrap_or(self)
    }

    /// Moves hosts to the leaves where they cost least, one after the other; whether any was moved.
    fn move_hosts(&mut self, known: &[Known]) -> bool {
        let mut is_moved = false;
        let mut rests = Vec::new();
        for host in 0..self.tree.leaf.len() {
            let size = self.tree.sizes();
            let own = self.tree.leaf[host];
            let pods = self.tree.pods();
            // Besides the leaves that there are, a new one in every pod, and in a pod of its own.
            let of_own = pods.last().map_or(0, |last| last + 1);
            let leaves = self.tree.pod.len();
            self.tree.pod.extend(pods.iter().copied().chain([of_own]));
            let all = self.tree.pod.len();
            let mut cost_in = |leaf: usize| {
                let cells = self
                    .numbers
                    .iter()
                    .zip(known)
                    .map(|(numbers, known)| numbers.cost_at(known, &self.tree, (host, leaf), &mut rests).0);
                let cells: f64 = cells.sum();
                let others = size.get(leaf).copied().unwrap_or(0) - usize::from(leaf == own);
                let of_pod = if leaf + 1 == all { POD } else { 0.0 };
                let hosts = self.tree.leaf.len();
                let of_labels = of_label(others + 1, hosts) - of_label(others, hosts);
                cells + of_pod + of_labels + if others == 0 { LEAF } else { 0.0 }
            };
            let stays = cost_in(own);
            let best =
                (0..all).filter(|leaf| *leaf != own && size.get(*leaf) != Some(&0)).map(|leaf| (cost_in(leaf), leaf));
            let best = best.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 < stays - LEAST_GAIN);
            let Some((_, leaf)) = best else {
                self.tree.pod.truncate(leaves);
                continue;
            };
            is_moved = true;
            for (numbers, known) in self.numbers.iter_mut().zip(known) {
                numbers.host[host] = numbers.cost_at(known, &self.tree, (host, leaf), &mut rests).1;
            }
            let pod = self.tree.pod[leaf];
            self.tree.pod.truncate(leaves);
            self.tree.leaf[host] = leaf.min(leaves);
            if leaf >= leaves {
                self.tree.pod.push(pod);
                self.numbers.iter_mut().for_each(|numbers| numbers.uplink.push(0.0));
            }
        }
        is_moved
    }

    /// Joins leaves of a pod where that costs less; whether any were joined.
    fn join_leaves(&mut self, known: &[Known]) -> bool {
        let leaves = self.tree.pod.len();
        let mut more = vec![-LEAF; leaves * leaves];
        let size = self.tree.sizes();
        let hosts = self.tree.leaf.len();
        for (g, h) in (0..leaves).flat_map(|g| (0..leaves).map(move |h| (g, h))) {
            more[g * leaves + h] +=
                of_label(size[g] + size[h], hosts) - of_label(size[g], hosts) - of_label(size[h], hosts);
        }
        let mut cells = vec![0; leaves * leaves];
        for (numbers, known) in self.numbers.iter().zip(known) {
            for (i, cell) in known.pairs() {
                let (own, other) = (self.tree.leaf[i], self.tree.leaf[cell.other]);
                if own == other {
                    continue;
                }
                let rest = cell.value - numbers.host[i] - numbers.host[cell.other];
                let apart = of_rest(rest - numbers.way(&self.tree, own, other), cell.weight);
                let place = own.min(other) * leaves + own.max(other);
                more[place] += of_rest(rest - numbers.level[Near::Leaf as usize], cell.weight) - apart;
                cells[place] += 1;
            }
        }
        let all = (0..leaves).flat_map(|g| (g + 1..leaves).map(move |h| (g, h)));
        // Nothing that is known is against it where no cell is, if both are as far from all others.
        let is_same_pod = |g: usize, h: usize| self.tree.pod[g] == self.tree.pod[h] && size[g] > 0 && size[h] > 0;
        let joined = all.filter(|&(g, h)| cells[g * leaves + h] > 0 || is_same_pod(g, h));
        let best = joined.min_by(|a, b| more[a.0 * leaves + a.1].total_cmp(&more[b.0 * leaves + b.1]));
        match best.filter(|(g, h)| more[g * leaves + h] < 0.0) {
            Some((g, h)) => self.tree.leaf.iter_mut().filter(|leaf| **leaf == h).for_each(|leaf| *leaf = g),
            None => return false,
        }
        true
    }

    /// Splits leaves in two where that costs less; whether any was split.
    fn split_leaves(&mut self, known: &[Known]) -> bool {
        let mut is_split = false;
        for leaf in 0..self.tree.pod.len() {
            let members: Vec<usize> = (0..self.tree.leaf.len()).filter(|host| self.tree.leaf[*host] == leaf).collect();
            if members.len() < LEAST_TO_SPLIT {
                continue;
            }
            let mut distances = self.distances(known, &members);
            let halves = cut(&linkage_of_known(&mut distances, members.len(), Method::Average), members.len(), 2);
            let mut tree = self.tree.clone();
            members
                .iter()
                .zip(halves)
                .filter(|(_, half)| *half == 1)
                .for_each(|(host, _)| tree.leaf[*host] = tree.pod.len());
            tree.pod.push(tree.pod[leaf]);
            let numbers = self.numbers.iter().map(|n| Numbers { uplink: vec![], ..n.clone() }).collect();
            let next = Self::of(known, tree, numbers);
            if next.cost < self.cost {
                *self = next;
                is_split = true;
            }
        }
        is_split
    }

    /// How far hosts are from each other, in units of noise, of every pair; NaN where it is not known.
    fn distances(&self, known: &[Known], hosts: &[usize]) -> Vec<f64> {
        let count = hosts.len();
        let mut place = vec![None; self.tree.leaf.len()];
        hosts.iter().enumerate().for_each(|(n, host)| place[*host] = Some(n));
        let mut apart = vec![Vec::new(); count * count];
        for (numbers, known) in self.numbers.iter().zip(known) {
            for (i, cell) in known.pairs() {
                if let (Some(n), Some(m)) = (place[i], place[cell.other]) {
                    let rest = cell.value - numbers.host[i] - numbers.host[cell.other];
                    apart[n.min(m) * count + n.max(m)].push(rest / known.noise);
                }
            }
        }
        let pairs = (0..count).flat_map(|n| (n + 1..count).map(move |m| n * count + m));
        pairs.map(|pair| apart[pair].iter().sum::<f64>() / apart[pair].len() as f64).collect()
    }

    /// Downhill, to the end.
    pub fn settled(mut self, known: &[Known]) -> Self {
        for _ in 0..ROUNDS {
            let before = self.clone();
            self = self.with_best_pods(known);
            let is_split = self.split_leaves(known);
            let is_moved = self.move_hosts(known) || is_split;
            let mut is_joined = false;
            while self.join_leaves(known) {
                is_joined = true;
            }
            let Self { tree, numbers, .. } = self;
            self =
                Self::of(known, tree.sorted(), numbers.into_iter().map(|n| Numbers { uplink: vec![], ..n }).collect());
            if self.cost > before.cost {
                return before;
            }
            if !is_moved && !is_joined {
                break;
            }
        }
        self
    }
}

/// Joins by distances; where nothing is known, hosts are as far from each other as others are.
fn linkage_of_known(distances: &mut [f64], count: usize, method: Method) -> Dendrogram<f64> {
    let mut known: Vec<f64> = distances.iter().copied().filter(|distance| !distance.is_nan()).collect();
    known.sort_unstable_by(f64::total_cmp);
    let (Some(&least), Some(&largest)) = (known.first(), known.last()) else {
        distances.fill(1.0);
        return linkage(distances, count, method);
    };
    let unknown = if method == Method::Single { largest } else { median(&mut known) };
    for distance in distances.iter_mut() {
        *distance = if distance.is_nan() { unknown } else { *distance } - least;
    }
    linkage(distances, count, method)
}

/// Partitions in which hosts are together that are near each other by themselves or by others.
pub fn chains(known: &[Known], hosts: usize) -> Vec<Vec<usize>> {
    let everybody = Tree { leaf: vec![0; hosts], pod: vec![0] };
    let start = State { tree: everybody, numbers: vec![Numbers::none(hosts); known.len()], cost: 0.0 };
    let mut distances = start.distances(known, &(0..hosts).collect::<Vec<_>>());
    let joins = linkage_of_known(&mut distances, hosts, Method::Single);
    (2..=(2 * hosts / 3).min(MOST_LEAVES)).map(|count| cut(&joins, hosts, count)).collect()
}

fn cost(known: &[Known], tree: &Tree, numbers: &[Numbers]) -> f64 {
    let of_bands: f64 = numbers.iter().zip(known).map(|(numbers, known)| numbers.cost(known, tree)).sum();
    of_bands + POD * tree.pods().len() as f64 + of_places(&tree.leaf)
}

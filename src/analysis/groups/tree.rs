//! Leaves under pods, for runs of which many pairs are missing.
//!
//! In: [`Band`]s and partitions to start from. Out: the leaf and the pod of every host, and how well they explain what
//! there is. Where few pairs are known, a middle for every two groups is more numbers than cells can tell. A tree of
//! switches has three: how far hosts of a leaf are, of a pod, and all others; beside them what hosts add, and bad
//! uplinks of leaves. So few numbers are known from few cells, and a host's place from one or two.
//!
//! The search goes downhill: hosts move to other leaves, leaves join and split, pods are cut anew. What is least is the
//! length of a description (Rissanen, 1978), as twice a logarithm: squares of what is left of the cells, in units of
//! noise, and what it takes to name the leaf of every host and the numbers. What numbers cost was set on drawn runs.

use kodama::{Dendrogram, Method, linkage};
use rayon::prelude::*;

use super::{Band, blocks::LEAST_DIFFERENCE, by_size, count, infer::cut, sizes};
use crate::stats::median;

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

/// Largest part of a cell in a cost, as a square in units of noise: one wild cell must not decide.
const MOST_OF_CELL: f64 = 9.0;

/// What a host adds that costs 1, `ln(ratio)`: most hosts add little.
const USUAL_HOST: f64 = 0.05;

/// Largest part of what a host adds in a cost: whoever is slow may be so by any amount.
const MOST_OF_HOST: f64 = 8.0;

/// What a leaf costs, and a pod, and a bad uplink.
const LEAF: f64 = 10.0;
const POD: f64 = 6.0;
const UPLINK: f64 = 8.0;

/// What each middle costs, of a block or of all pairs that are equally near.
const MIDDLE: f64 = 3.0;

/// Least of an uplink that is bad, `ln(ratio)`, and in standard errors.
const LEAST_UPLINK: f64 = 0.05;
const UPLINK_ERRORS: f64 = 5.0;

/// How often numbers are told apart anew.
const STEPS: usize = 4;

/// How often hosts are moved and pods are cut.
const ROUNDS: usize = 4;

/// Starts that are followed to their end.
const STARTS: usize = 10;

/// Most leaves.
const MOST_LEAVES: usize = 48;

/// A known pair, from the row of one of its hosts.
struct Cell {
    other: usize,
    value: f64,
    /// One over its variance.
    weight: f64,
}

/// What is known of one band.
struct Known {
    /// `[host]`.
    rows: Vec<Vec<Cell>>,
    noise: f64,
}

impl Known {
    fn of(band: &Band) -> Self {
        let hosts = band.first.side();
        let variance = |cells: f64| band.noise * band.noise / cells + LEAST_DIFFERENCE * LEAST_DIFFERENCE;
        let of_pair = |i: usize, other: usize| {
            let (first, second) = (band.first.at(i, other), band.second.at(i, other));
            let (value, cells) = match (first.is_nan(), second.is_nan()) {
                (true, true) => return None,
                (true, _) => (second, 1.0),
                (_, true) => (first, 1.0),
                _ => ((first + second) / 2.0, 2.0),
            };
            Some(Cell { other, value, weight: 1.0 / variance(cells) })
        };
        let row = |i: usize| (0..hosts).filter(|j| *j != i).filter_map(|j| of_pair(i, j)).collect();
        Self { rows: (0..hosts).map(row).collect(), noise: band.noise }
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, &Cell)> {
        let of_row = |i: usize| self.rows[i].iter().filter(move |cell| cell.other > i).map(move |cell| (i, cell));
        (0..self.rows.len()).flat_map(of_row)
    }
}

/// What explains one band.
#[derive(Clone)]
struct Numbers {
    /// By [`Near`]; NaN where there is no cell.
    level: [f64; 3],
    /// What hosts add, `[host]`.
    host: Vec<f64>,
    /// What leaves add to whatever leaves them, `[leaf]`.
    uplink: Vec<f64>,
}

impl Numbers {
    fn none(hosts: usize) -> Self {
        Self { level: [f64::NAN; 3], host: vec![0.0; hosts], uplink: Vec::new() }
    }

    /// What two hosts of these leaves should take but for what they add.
    fn way(&self, tree: &Tree, leaf: usize, other: usize) -> f64 {
        let of = |leaf: usize| self.uplink.get(leaf).copied().unwrap_or(0.0);
        let uplinks = if leaf == other { 0.0 } else { of(leaf) + of(other) };
        self.level[tree.near(leaf, other) as usize] + uplinks
    }

    fn find_levels(&mut self, known: &Known, tree: &Tree) {
        let mut rests: [Vec<f64>; 3] = Default::default();
        self.level = [0.0; 3];
        for (i, cell) in known.pairs() {
            let (own, other) = (tree.leaf[i], tree.leaf[cell.other]);
            let rest = cell.value - self.way(tree, own, other) - self.host[i] - self.host[cell.other];
            rests[tree.near(own, other) as usize].push(rest);
        }
        self.level = rests.each_mut().map(|rests| median(rests));
        // Nobody is nearer to another leaf than to the own one.
        for near in 1..3 {
            let inner = self.level[..near].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            self.level[near] = if self.level[near] < inner { inner } else { self.level[near] };
        }
    }

    fn find_hosts(&mut self, known: &Known, tree: &Tree) {
        let mut rests = Vec::new();
        let of_host =
            |(i, row): (usize, &Vec<Cell>)| {
                rests.clear();
                rests.extend(row.iter().map(|cell| {
                    cell.value - self.way(tree, tree.leaf[i], tree.leaf[cell.other]) - self.host[cell.other]
                }));
                let middle = median(&mut rests);
                if middle.is_nan() { 0.0 } else { middle }
            };
        let next: Vec<f64> = known.rows.iter().enumerate().map(of_host).collect();
        let middle = median(&mut next.clone());
        self.host = next.into_iter().map(|value| value - middle).collect();
    }

    fn find_uplinks(&mut self, known: &Known, tree: &Tree) {
        let leaves = tree.pod.len();
        self.uplink.resize(leaves, 0.0);
        let mut rests = vec![Vec::new(); leaves];
        let size = tree.sizes();
        for (i, cell) in known.pairs() {
            let (own, other) = (tree.leaf[i], tree.leaf[cell.other]);
            if own != other {
                let rest = cell.value - self.way(tree, own, other) - self.host[i] - self.host[cell.other];
                rests[own].push(rest + self.uplink[own]);
                rests[other].push(rest + self.uplink[other]);
            }
        }
        for (leaf, rests) in rests.iter_mut().enumerate() {
            let error = 1.2533 * known.noise / (rests.len() as f64).sqrt();
            let middle = if size[leaf] < 3 || leaves < 3 { 0.0 } else { median(rests) };
            self.uplink[leaf] = if middle > LEAST_UPLINK.max(UPLINK_ERRORS * error) { middle } else { 0.0 };
        }
    }

    fn find(&mut self, known: &Known, tree: &Tree) {
        for _ in 0..STEPS {
            self.find_levels(known, tree);
            self.find_uplinks(known, tree);
            self.find_hosts(known, tree);
        }
        self.find_levels(known, tree);
    }

    fn of_numbers(&self) -> f64 {
        let uplinks = self.uplink.iter().filter(|uplink| **uplink > 0.0).count() as f64;
        let levels = self.level.iter().filter(|level| !level.is_nan()).count() as f64;
        self.host.iter().map(|host| of_host(*host)).sum::<f64>() + UPLINK * uplinks + MIDDLE * levels
    }

    fn cost(&self, known: &Known, tree: &Tree) -> f64 {
        self.cost_of_cells(known, tree) + self.of_numbers()
    }

    fn cost_of_cells(&self, known: &Known, tree: &Tree) -> f64 {
        let of_cell = |(i, cell): (usize, &Cell)| {
            let way = self.way(tree, tree.leaf[i], tree.leaf[cell.other]);
            of_rest(cell.value - way - self.host[i] - self.host[cell.other], cell.weight)
        };
        known.pairs().map(of_cell).sum()
    }

    /// What the cells of a host cost in a leaf, and what it adds there.
    fn cost_in(&self, known: &Known, tree: &Tree, host: usize, leaf: usize, rests: &mut Vec<(f64, f64)>) -> (f64, f64) {
        rests.clear();
        rests.extend(known.rows[host].iter().map(|cell| {
            let way = self.way(tree, leaf, tree.leaf[cell.other]);
            (cell.value - way - self.host[cell.other], cell.weight)
        }));
        let middle = median(&mut rests.iter().map(|(rest, _)| *rest).collect::<Vec<_>>());
        let middle = if middle.is_nan() { 0.0 } else { middle };
        let cells: f64 = rests.iter().map(|(rest, weight)| of_rest(rest - middle, *weight)).sum();
        (cells + of_host(middle), middle)
    }
}

fn of_rest(rest: f64, weight: f64) -> f64 {
    // Also where nothing is known of such cells.
    if rest.is_nan() { MOST_OF_CELL } else { (rest * rest * weight).min(MOST_OF_CELL) }
}

fn of_host(host: f64) -> f64 {
    (host / USUAL_HOST).powi(2).min(MOST_OF_HOST)
}

/// A tree with the numbers that go with it, `[band]`.
#[derive(Clone)]
struct State {
    tree: Tree,
    numbers: Vec<Numbers>,
    cost: f64,
}

impl State {
    fn of(known: &[Known], tree: Tree, mut numbers: Vec<Numbers>) -> Self {
        numbers.iter_mut().zip(known).for_each(|(numbers, known)| numbers.find(known, &tree));
        let cost = cost(known, &tree, &numbers);
        Self { tree, numbers, cost }
    }

    /// Cuts the leaves into the pods that explain most.
    fn with_best_pods(self, known: &[Known]) -> Self {
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
            // Beside the leaves that there are, a new one in every pod, and in a pod of its own.
            let of_own = pods.last().map_or(0, |last| last + 1);
            let leaves = self.tree.pod.len();
            self.tree.pod.extend(pods.iter().copied().chain([of_own]));
            let all = self.tree.pod.len();
            let mut cost_in = |leaf: usize| {
                let cells = self
                    .numbers
                    .iter()
                    .zip(known)
                    .map(|(numbers, known)| numbers.cost_in(known, &self.tree, host, leaf, &mut rests).0);
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
                numbers.host[host] = numbers.cost_in(known, &self.tree, host, leaf, &mut rests).1;
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
                more[place] += of_rest(rest - numbers.level[0], cell.weight) - apart;
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
    fn settled(mut self, known: &[Known]) -> Self {
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
fn chains(known: &[Known], hosts: usize) -> Vec<Vec<usize>> {
    let everybody = Tree { leaf: vec![0; hosts], pod: vec![0] };
    let start = State { tree: everybody, numbers: vec![Numbers::none(hosts); known.len()], cost: 0.0 };
    let mut distances = start.distances(known, &(0..hosts).collect::<Vec<_>>());
    let joins = linkage_of_known(&mut distances, hosts, Method::Single);
    (2..=(2 * hosts / 3).min(MOST_LEAVES)).map(|count| cut(&joins, hosts, count)).collect()
}

/// What it costs to say that so many of all hosts are together: twice the logarithm of how likely that would be.
fn of_label(members: usize, all: usize) -> f64 {
    if members == 0 { 0.0 } else { 2.0 * members as f64 * (all as f64 / members as f64).ln() }
}

/// The same of all groups.
fn of_labels(group: &[usize]) -> f64 {
    sizes(group, count(group)).into_iter().map(|members| of_label(members, group.len())).sum()
}

/// Least members of a leaf that may be two.
const LEAST_TO_SPLIT: usize = 4;

/// Least gain for which a host moves.
const LEAST_GAIN: f64 = 1.0;

fn cost(known: &[Known], tree: &Tree, numbers: &[Numbers]) -> f64 {
    let of_bands: f64 = numbers.iter().zip(known).map(|(numbers, known)| numbers.cost(known, tree)).sum();
    of_bands + LEAF * tree.pod.len() as f64 + POD * tree.pods().len() as f64 + of_labels(&tree.leaf)
}

/// How well a tree explains what there is.
pub struct Explained {
    /// Leaves are numbered by size.
    pub tree: Tree,
    /// As a sum of squares in units of noise, with what the tree itself costs.
    pub cost: f64,
    /// Mean square of what is left of a cell, in units of noise, wild ones taken back.
    pub misfit: f64,
}

/// The tree that explains most; `starts`: partitions of the hosts to begin with, beside those of hosts that are near
/// each other. `None` where nothing is known.
pub fn explain(bands: &[Band], starts: &[Vec<usize>]) -> Option<Explained> {
    let known: Vec<Known> = bands.iter().map(Known::of).collect();
    let hosts = bands[0].first.side();
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
    let cells: usize = known.iter().map(|known| known.pairs().count()).sum();
    let best = ended.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    let of_cells: f64 = best.numbers.iter().zip(&known).map(|(n, k)| n.cost_of_cells(k, &best.tree)).sum();
    Some(Explained { tree: best.tree.sorted(), cost: best.cost, misfit: of_cells / cells as f64 })
}

/// The cost of groups with a middle of its own for every two of them.
pub fn cost_of_groups(bands: &[Band], group: &[usize]) -> f64 {
    let groups = count(group);
    let of_band = |known: &Known| {
        let mut numbers = vec![0.0; group.len()];
        let mut middle = vec![0.0; groups * groups];
        for _ in 0..STEPS {
            let mut blocks = vec![Vec::new(); groups * groups];
            for (i, cell) in known.pairs() {
                let (g, h) = (group[i].min(group[cell.other]), group[i].max(group[cell.other]));
                blocks[g * groups + h].push(cell.value - numbers[i] - numbers[cell.other]);
            }
            middle = blocks.iter_mut().map(|block| median(block)).collect();
            (0..groups)
                .flat_map(|g| (g..groups).map(move |h| (g, h)))
                .for_each(|(g, h)| middle[h * groups + g] = middle[g * groups + h]);
            let next: Vec<f64> = known
                .rows
                .iter()
                .enumerate()
                .map(|(i, row)| {
                    let rests = row
                        .iter()
                        .map(|cell| cell.value - middle[group[i] * groups + group[cell.other]] - numbers[cell.other]);
                    let middle = median(&mut rests.collect::<Vec<_>>());
                    if middle.is_nan() { 0.0 } else { middle }
                })
                .collect();
            let all = median(&mut next.clone());
            numbers = next.into_iter().map(|value| value - all).collect();
        }
        let cells = known.pairs().map(|(i, cell)| {
            let way = middle[group[i] * groups + group[cell.other]];
            of_rest(cell.value - way - numbers[i] - numbers[cell.other], cell.weight)
        });
        let blocks = middle.iter().filter(|middle| !middle.is_nan()).count() as f64 / 2.0;
        cells.sum::<f64>() + numbers.iter().map(|host| of_host(*host)).sum::<f64>() + MIDDLE * blocks
    };
    bands.iter().map(|band| of_band(&Known::of(band))).sum::<f64>() + LEAF * groups as f64 + of_labels(group)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::drawn::{band, generator, is_same_partition, leaves, lose_pairs};

    /// Two bands of hosts on leaves, two leaves to a pod, with noise of 3 %, of which a share of the pairs is missing.
    /// `more(i, j)`: what a pair takes beside its place.
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
    fn nothing_known_is_explained_by_anything() {
        let missing = || crate::analysis::square::Square::missing(6);
        let bands = [Band { first: missing(), second: missing(), noise: 0.05 }];
        let found = explain(&bands, &everybody(6));
        assert!(found.is_some_and(|found| found.tree.leaf.len() == 6));
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

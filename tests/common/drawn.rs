//! Drawn machines and their days, made by a generator of its own: a detector should not be judged by the model it was
//! made with.

use std::collections::BTreeMap;

use netmatrix::{
    analysis::diagnose::Direction,
    plan::{Mode, Noise},
    record::{Cell, Header, MemoryRun, Provenance, State, Statistic},
    stats::Summary,
    units::{Bytes, Hosts},
};
use rand::{
    RngExt,
    seq::{IndexedRandom, SliceRandom},
};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// A machine: how far its hosts are from each other is the same on both days.
#[derive(Clone)]
pub struct Machine {
    pub names: Vec<String>,
    /// Leaf switch, `[host]`.
    pub leaf: Vec<usize>,
    /// Factor of what a host takes longer than others, on both days: no change.
    pub own: Vec<f64>,
    pub lengths: Vec<u64>,
    /// Standard deviation of a cell's noise, as a share of its time.
    pub noise: f64,
    /// Share of cells that are disturbed for a while.
    pub disturbed: f64,
    pub is_heavy: bool,
    pub ranks_per_host: usize,
    /// What an additional switch costs, as a share of latency and of transfer.
    pub step: (f64, f64),
    /// By how much pairs, and hosts, differ from day to day at all lengths alike, because of routes and other jobs:
    /// standard deviations, as shares.
    pub of_day: (f64, f64),
}

/// A planted change; hosts by number in the machine.
#[derive(Clone, Debug)]
pub enum Planted {
    Node(usize, Direction, f64),
    Link(usize, usize, f64),
    Uplink(usize, f64),
    Fabric(f64),
}

impl Machine {
    /// One of the numbers of hosts on one of the numbers of leaf switches.
    pub fn draw(rng: &mut ChaCha8Rng, hosts: &[usize], leaves: &[usize]) -> Self {
        let hosts = *hosts.choose(rng).unwrap();
        let leaves = *leaves.choose(rng).unwrap();
        let mut leaf: Vec<usize> = (0..hosts).map(|host| host % leaves).collect();
        if rng.random_bool(0.5) {
            // Unbalanced: some hosts go to the first leaf, but every leaf keeps four.
            for leaf in leaf.iter_mut().skip(4 * leaves) {
                if rng.random_bool(0.4) {
                    *leaf = 0;
                }
            }
        }
        leaf.shuffle(rng);
        let lengths: &[&[u64]] = &[
            &[0, 1 << 10, 1 << 14, 1 << 18, 1 << 20],
            &[64, 4096, 1 << 18],
            &[0, 64, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22],
            &[0, 256, 4096, 1 << 16, 1 << 20, 1 << 22],
        ];
        Self {
            names: (1..=hosts).map(|host| format!("node{host:03}")).collect(),
            leaf,
            own: (0..hosts).map(|_| if rng.random_bool(0.03) { rng.random_range(1.1..1.8) } else { 1.0 }).collect(),
            lengths: lengths.choose(rng).unwrap().to_vec(),
            noise: rng.random_range(0.01..0.05),
            disturbed: *[0.0, 0.003, 0.01].choose(rng).unwrap(),
            is_heavy: rng.random_bool(0.4),
            ranks_per_host: if hosts <= 32 && rng.random_bool(0.2) { 2 } else { 1 },
            step: (rng.random_range(0.1..0.8), rng.random_range(0.0..0.4)),
            of_day: *[(0.0, 0.0), (0.01, 0.0), (0.02, 0.005)].choose(rng).unwrap(),
        }
    }

    /// A day's run: ranks in another order, a level of its own at every length (two days are up to 4 % apart),
    /// switches that are more or less busy (up to 2 %), routes and hosts of the day, noise.
    pub fn measure(&self, rng: &mut ChaCha8Rng, planted: Option<&Planted>) -> MemoryRun {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.shuffle(rng);
        let order: Vec<usize> = order.into_iter().flat_map(|host| vec![host; self.ranks_per_host]).collect();
        let hosts = Hosts::new(order.iter().map(|host| self.names[*host].clone()));
        let mut run = MemoryRun::with_statistics(header(hosts, &self.lengths), vec![Statistic::Median]);
        let of_day = rng.random_range(-0.01..0.01f64);
        let across = rng.random_range(-0.01..0.01f64);
        let count = self.names.len();
        let usual = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let of_host: Vec<f64> = (0..count).map(|_| self.of_day.1 * usual(rng)).collect();
        let of_pair: Vec<f64> = (0..count * count).map(|_| self.of_day.0 * usual(rng)).collect();
        for &length in &self.lengths {
            let level = (of_day + rng.random_range(-0.01..0.01f64)).exp();
            let cells = order.iter().enumerate().flat_map(|(n, &from)| {
                order.iter().enumerate().map(move |(m, &to)| (n == m, from, to)).collect::<Vec<_>>()
            });
            let cells = cells.map(|(is_self, from, to)| match is_self {
                true => Cell::zero(),
                false => {
                    let mut time = level * self.usual(length, from, to) * slowdown(planted, &self.leaf, from, to);
                    time *= (of_host[from] + of_host[to] + of_pair[from * count + to]).exp();
                    time *= if self.leaf[from] == self.leaf[to] { 1.0 } else { across.exp() };
                    time *= (self.noise * self.normal(rng)).exp();
                    if rng.random_bool(self.disturbed) {
                        time *= rng.random_range(1.3..3.0);
                    }
                    Cell::measured(Summary::of(&mut [time]), 100, State::Measured)
                }
            });
            let cells = cells.collect();
            run.push(Bytes(length), cells);
        }
        run
    }

    fn usual(&self, length: u64, from: usize, to: usize) -> f64 {
        if from == to {
            return 0.4e-6 + length as f64 / 20e9;
        }
        let steps = f64::from(u8::from(self.leaf[from] != self.leaf[to]));
        let latency = 1.5e-6 * (1.0 + self.step.0 * steps);
        let transfer = length as f64 / 10e9 * (1.0 + self.step.1 * steps);
        (latency + transfer) * self.own[from] * self.own[to]
    }

    fn normal(&self, rng: &mut ChaCha8Rng) -> f64 {
        if self.is_heavy {
            // Student's distribution with 5 degrees of freedom has the variance 5/3.
            StudentT::new(5.0).unwrap().sample(rng) / (5.0f64 / 3.0).sqrt()
        } else {
            StandardNormal.sample(rng)
        }
    }
}

fn slowdown(planted: Option<&Planted>, leaf: &[usize], from: usize, to: usize) -> f64 {
    if from == to {
        return 1.0;
    }
    let (is_hit, factor) = match *planted.unwrap_or(&Planted::Fabric(1.0)) {
        Planted::Node(host, direction, factor) => {
            (from == host && direction != Direction::Receive || to == host && direction != Direction::Send, factor)
        }
        Planted::Link(a, b, factor) => ((from, to) == (a, b) || (from, to) == (b, a), factor),
        Planted::Uplink(of, factor) => ((leaf[from] == of) != (leaf[to] == of), factor),
        Planted::Fabric(factor) => (true, factor),
    };
    if is_hit { factor } else { 1.0 }
}

fn header(hosts: Hosts, lengths: &[u64]) -> Header {
    Header {
        mode: Mode::OneToOne,
        hosts,
        planned: lengths.iter().map(|length| Bytes(*length)).collect(),
        begin_end_step: (Bytes(lengths[0]), Bytes(lengths[lengths.len() - 1] + 1), Bytes(0)),
        iterations: 100,
        noise: Noise { length: Bytes(0), messages: 0, processes: 0 },
        plan: BTreeMap::from([("timing".to_owned(), "transfer".to_owned())]),
        provenance: Provenance { created: "2026-01-02T03:04:05Z".into(), ..Provenance::default() },
    }
}

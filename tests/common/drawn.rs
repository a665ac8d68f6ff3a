//! Drawn machines and their days, made by a generator of its own: a detector should not be judged by the model it was
//! made with. What the two ends of a message take adds up, and of the parts that carry its bytes the slowest counts, once.

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
    /// How slow the core and the card of a host are, as factors of usual ones, on both days: no change.
    pub own: Vec<f64>,
    pub lengths: Vec<u64>,
    /// Standard deviation of a cell's noise, as a share of its time.
    pub noise: f64,
    /// Share of cells that are disturbed for a while.
    pub disturbed: f64,
    pub is_heavy: bool,
    pub ranks_per_host: usize,
    /// What an additional switch costs, as a share of the latency.
    pub step: f64,
    /// By how much pairs, and hosts, differ from day to day at all lengths alike, because of routes and other jobs:
    /// standard deviations, as shares.
    pub of_day: (f64, f64),
}

/// Seconds of an empty message between two usual hosts on one leaf.
const LATENCY: f64 = 1.5e-6;

/// Bytes per second of a usual card, and of a usual cable.
const BANDWIDTH: f64 = 10e9;

/// A planted change and its factor; hosts by number in the machine. Between usual hosts of one leaf a message takes so many
/// times as long; where another part of its way is slow as well, less, unless it is the fabric: then all parts are slower.
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
            step: rng.random_range(0.1..0.8),
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
        let of_host: Vec<f64> = (0..count).map(|_| (self.of_day.1 * usual(rng)).exp()).collect();
        let of_pair: Vec<f64> = (0..count * count).map(|_| (self.of_day.0 * usual(rng)).exp()).collect();
        for &length in &self.lengths {
            let level = (of_day + rng.random_range(-0.01..0.01f64)).exp();
            let cells = order.iter().enumerate().flat_map(|(n, &from)| {
                order.iter().enumerate().map(move |(m, &to)| (n == m, from, to)).collect::<Vec<_>>()
            });
            let cells = cells.map(|(is_self, from, to)| match is_self {
                true => Cell::zero(),
                false => {
                    let [sends, receives] = [(from, Direction::Receive), (to, Direction::Send)]
                        .map(|(host, other)| self.own[host] * of_host[host] * of_end(planted, host, other));
                    let busy = if self.leaf[from] == self.leaf[to] { 1.0 } else { across.exp() };
                    let route = busy * of_pair[from * count + to] * self.of_route(planted, from, to);
                    let all = match planted {
                        Some(&Planted::Fabric(factor)) if from != to => factor,
                        _ => 1.0,
                    };
                    let mut time = level * all * self.time(length, (from, to), [sends, receives, route]);
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

    /// Of a message whose sender, receiver and route are so many times as slow as usual ones.
    fn time(&self, length: u64, (from, to): (usize, usize), factors: [f64; 3]) -> f64 {
        if from == to {
            return 0.4e-6 + length as f64 / 20e9;
        }
        let [sends, receives, route] = factors;
        let hops = self.step * f64::from(u8::from(self.leaf[from] != self.leaf[to]));
        let latency = 1.0 + hops + (sends - 1.0) + (receives - 1.0) + (route - 1.0) * (1.0 + hops);
        LATENCY * latency + length as f64 / BANDWIDTH * sends.max(receives).max(route)
    }

    /// How slow the way between two hosts is because of what was planted.
    fn of_route(&self, planted: Option<&Planted>, from: usize, to: usize) -> f64 {
        match planted {
            Some(&Planted::Link(a, b, factor)) if (from, to) == (a, b) || (from, to) == (b, a) => factor,
            Some(&Planted::Uplink(of, factor)) if (self.leaf[from] == of) != (self.leaf[to] == of) => factor,
            _ => 1.0,
        }
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

/// How slow an end of a message is because of what was planted; not if that is slow in the `other` direction alone.
fn of_end(planted: Option<&Planted>, host: usize, other: Direction) -> f64 {
    match planted {
        Some(&Planted::Node(slow, direction, factor)) if slow == host && direction != other => factor,
        _ => 1.0,
    }
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

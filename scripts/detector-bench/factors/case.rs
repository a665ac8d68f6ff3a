//! A run of a cluster with planted faults, drawn from a seed.
//!
//! In: a seed, and whether it is to be a hard one. Out: a [`Case`]: what was planted, and the run, measured by the
//! program's own driver, which measures suspicious pairs again. The draw does not use the project's own synthetic machine:
//! a detector should not be judged by the model it was made with.

use std::fmt;

use netmatrix::{
    measure::Cells,
    plan::{Config, Mode, Pair, Plan, Schedule, Sweep},
    record::{Cell, MemoryRun, Run, State},
    stats::Summary,
    units::{Bytes, Hosts},
};
use rand::{
    RngExt, SeedableRng,
    seq::{IndexedRandom, SliceRandom},
};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};

use super::fabric::{Fabric, Shape};
use crate::machine::walk::{Machine, Moment, walk};

/// What was planted, in the words of a diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Planted {
    /// `node`, `rank`, `link` or `group`.
    pub kind: &'static str,
    /// Names; of a link that is slow one way: source, destination.
    pub hosts: Vec<String>,
    /// `both`, `send` or `receive`.
    pub direction: &'static str,
    /// `jitter`, or what becomes slower: `all`, `latency` or `bandwidth`.
    pub part: &'static str,
    /// How many times as long it takes.
    pub factor: f64,
}

/// A drawn run.
pub struct Case {
    /// Its faults; none in a third of all cases.
    pub planted: Vec<Planted>,
    /// What joins the hosts.
    pub shape: Shape,
    /// Number of hosts.
    pub hosts: usize,
    /// Standard deviation of the noise of a cell, as a share of its time.
    pub noise: f64,
    /// Share of pairs of hosts that were not measured.
    pub missing: f64,
    /// What was measured.
    pub run: MemoryRun,
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, hosts, direction, part, factor } = self;
        write!(f, "{kind} {} {direction} {part} x{factor:.2}", hosts.join(" "))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| (100.0 * share).round();
        let (noise, missing, lengths) = (percent(self.noise), percent(self.missing), self.run.lengths().len());
        let shape = format!("{:?}", self.shape).to_lowercase();
        write!(f, "{shape}, {} hosts, noise {noise} %, {missing} % missing, {lengths} lengths", self.hosts)
    }
}

/// What slows the cells of some pairs of hosts or ranks.
struct Fault {
    planted: Planted,
    /// Factor of a cell from one rank to another; 1 where it is not affected.
    hits: Box<dyn Fn(usize, usize) -> bool>,
    /// The time is extended by a share of the usual one rather than multiplied.
    is_additive: bool,
}

struct Draw {
    rng: ChaCha8Rng,
    is_hard: bool,
    fabric: Fabric,
    plan: Plan,
    noise: f64,
}

/// Draws a case.
pub fn draw(seed: u64, is_hard: bool) -> Case {
    let mut rng = ChaCha8Rng::seed_from_u64(seed * 2 + u64::from(is_hard));
    let sizes: &[usize] = if is_hard {
        &[12, 16, 24, 32, 48, 64, 96, 128]
    } else {
        &[8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256]
    };
    let shapes: &[Shape] = if is_hard {
        &[Shape::Leaves, Shape::ThreeLevels, Shape::ThreeLevels, Shape::Torus, Shape::Dragonfly]
    } else {
        &[Shape::Flat, Shape::Leaves, Shape::Leaves]
    };
    let hosts = *sizes.choose(&mut rng).unwrap();
    let shape = *shapes.choose(&mut rng).unwrap();
    let fabric = Fabric::draw(shape, hosts, &mut rng);
    let ranks_per_host = if fabric.hosts() <= 64 && rng.random_bool(0.3) { 2 } else { 1 };
    let hosts = place(fabric.hosts(), ranks_per_host, &mut rng);
    let lengths: Vec<Bytes> = lengths(is_hard, &mut rng).into_iter().map(Bytes).collect();
    let noise = rng.random_range(0.01..if is_hard { 0.10 } else { 0.05 });
    let config = Config {
        sweep: Sweep::list(&lengths).expect("ascending lengths"),
        iterations: 100,
        schedule: Schedule::Isolated,
        seed: seed + 1,
        ..Config::default()
    };
    let plan = Plan { mode: Mode::OneToOne, config, hosts };
    Draw { rng, is_hard, fabric, plan, noise }.case()
}

/// Names and ranks: shuffled, by host or round robin.
fn place(count: usize, ranks_per_host: usize, rng: &mut ChaCha8Rng) -> Hosts {
    let mut names: Vec<String> = (1..=count).map(|host| format!("node{host:03}")).collect();
    names.shuffle(rng);
    if rng.random_bool(0.5) {
        Hosts::new(names.iter().flat_map(|name| vec![name.clone(); ranks_per_host]))
    } else {
        Hosts::new(vec![names; ranks_per_host].concat())
    }
}

fn lengths(is_hard: bool, rng: &mut ChaCha8Rng) -> Vec<u64> {
    if is_hard && rng.random_bool(0.2) {
        return vec![*[1 << 10, 1 << 16, 1 << 20].choose(rng).unwrap()];
    }
    match rng.random_range(0..4) {
        0 => vec![0, 1 << 10, 1 << 14, 1 << 18, 1 << 20],
        1 => vec![64, 4096, 1 << 18],
        2 => (0..rng.random_range(8..14)).map(|step| 1 << (step * 2)).filter(|length| *length <= 1 << 22).collect(),
        _ => vec![0, 256, 4096, 1 << 16, 1 << 20, 1 << 22],
    }
}

/// What cells take, drawn one by one.
struct Times {
    draw: Draw,
    missing: Vec<Vec<bool>>,
    faults: Vec<Fault>,
    step_latency: f64,
    step_bandwidth: f64,
    /// What a pair of ranks takes more at all lengths, as a logarithm: `[from][to]`.
    offset: Vec<f64>,
    /// Standard deviation of what a cell takes more.
    transient: f64,
    is_heavy: bool,
    /// Share of the cells that are disturbed.
    disturbed: f64,
    /// Standard deviation of the samples of a cell, as a share of its time.
    scatter: f64,
}

impl Machine for Times {
    fn pairs(&mut self, pairs: &[Pair], length: Bytes, _now: Moment, cells: &mut Cells) {
        for pair in pairs {
            for (from, to) in [(pair.leader, pair.partner), (pair.partner, pair.leader)] {
                let cell = self.cell(from, to, length.0);
                cells.set(from, to, cell);
            }
        }
    }
}

impl Times {
    fn cell(&mut self, from: usize, to: usize, length: u64) -> Cell {
        let hosts = &self.draw.plan.hosts;
        let (a, b, ranks) = (hosts.host_of(from), hosts.host_of(to), hosts.ranks());
        if self.missing[a][b] {
            return Cell::missing(State::NotScheduled);
        }
        let distance = self.draw.fabric.distance[a][b];
        let (mut latency, mut transfer) = if a == b {
            (0.4e-6, length as f64 / 20e9)
        } else {
            (
                1.5e-6 * (1.0 + self.step_latency * distance),
                length as f64 / 10e9 * (1.0 + self.step_bandwidth * distance.min(1.0)),
            )
        };
        let mut spread = self.scatter * self.draw.rng.random_range(0.7..1.4);
        for fault in self.faults.iter().filter(|fault| (fault.hits)(from, to)) {
            let factor = fault.planted.factor;
            let (usual_latency, usual_transfer) = (1.5e-6, length as f64 / 10e9);
            let slowed = |part: &mut f64, usual: f64| {
                *part = if fault.is_additive { *part + (factor - 1.0) * usual } else { *part * factor };
            };
            match fault.planted.part {
                "latency" => slowed(&mut latency, usual_latency),
                "bandwidth" => slowed(&mut transfer, usual_transfer),
                "jitter" => spread *= factor,
                _ => {
                    slowed(&mut latency, usual_latency);
                    slowed(&mut transfer, usual_transfer);
                }
            }
        }
        let noise = self.offset[from * ranks + to] + self.transient * self.draw.normal(self.is_heavy);
        let mut time = (latency + transfer) * noise.exp();
        if self.draw.rng.random_bool(self.disturbed) {
            time *= self.draw.rng.random_range(1.3..3.0);
        }
        let iterations = self.draw.plan.config.iterations;
        Cell::measured(self.draw.summary(time, spread), iterations, State::Measured)
    }
}

impl Draw {
    fn case(mut self) -> Case {
        let step_latency = self.rng.random_range(0.05..1.0);
        let step_bandwidth = self.rng.random_range(0.0..0.5);
        let missing = self.missing();
        let faults = self.faults(&missing);
        let persistent = if self.rng.random_bool(0.2) { 0.4 * self.noise } else { 0.0 };
        let is_heavy = self.rng.random_bool(0.5);
        let disturbed = *[0.0, 0.005, 0.01].choose(&mut self.rng).unwrap();
        let ranks = self.plan.ranks();
        let offset = (0..ranks * ranks).map(|_| persistent * self.normal(false)).collect();
        let transient = (self.noise * self.noise - persistent * persistent).sqrt();
        let scatter = self.rng.random_range(0.02..0.1);
        let plan = self.plan.clone();
        let mut times = Times {
            draw: self,
            missing,
            faults,
            step_latency,
            step_bandwidth,
            offset,
            transient,
            is_heavy,
            disturbed,
            scatter,
        };
        let run = walk(&plan, &mut times, 0.0).expect("nothing fails in memory");
        let Times { draw, missing, faults, .. } = times;
        Case {
            planted: faults.into_iter().map(|fault| fault.planted).collect(),
            shape: draw.fabric.shape,
            hosts: draw.fabric.hosts(),
            noise: draw.noise,
            missing: missing.iter().flatten().filter(|is_missing| **is_missing).count() as f64
                / (draw.fabric.hosts() * (draw.fabric.hosts() - 1)) as f64,
            run,
        }
    }

    /// Of unit variance.
    fn normal(&mut self, is_heavy: bool) -> f64 {
        if is_heavy {
            // Student's distribution with 5 degrees of freedom has the variance 5/3.
            StudentT::new(5.0).unwrap().sample(&mut self.rng) / (5.0f64 / 3.0).sqrt()
        } else {
            StandardNormal.sample(&mut self.rng)
        }
    }

    /// Statistics of 100 samples that scatter by a share of their median.
    fn summary(&mut self, median: f64, spread: f64) -> Summary {
        let mut wobble = |by: f64| 1.0 + by * self.rng.random_range(-1.0..1.0);
        Summary {
            min: median / (1.0 + 2.0 * spread * wobble(0.2)),
            average: median * (1.0 + 0.1 * spread * wobble(0.5)),
            median,
            max: median * (1.0 + 4.0 * spread * wobble(0.4)),
            deviation: median * spread * wobble(0.1),
        }
    }

    /// Pairs of hosts that were not measured: none, or as after a few rounds of a round robin.
    fn missing(&mut self) -> Vec<Vec<bool>> {
        let hosts = self.fabric.hosts();
        let mut missing = vec![vec![false; hosts]; hosts];
        if self.is_hard && self.rng.random_bool(0.25) {
            let share = *[0.5, 0.75].choose(&mut self.rng).unwrap();
            // Whole pairs are left out by --sample-rounds; a run that was cut short misses single directions as well.
            let by_pair = self.rng.random_bool(0.5);
            for (a, b) in (0..hosts).flat_map(|a| (0..a).map(move |b| (a, b))) {
                missing[a][b] = self.rng.random_bool(share);
                missing[b][a] = if by_pair { missing[a][b] } else { self.rng.random_bool(share) };
            }
        }
        missing
    }

    fn faults(&mut self, missing: &[Vec<bool>]) -> Vec<Fault> {
        let count = match (self.rng.random_bool(1.0 / 3.0), self.is_hard) {
            (true, _) => 0,
            (_, false) => *[1, 1, 2].choose(&mut self.rng).unwrap(),
            (_, true) => self.rng.random_range(1..4),
        };
        let uplinks = self.fabric.uplinks();
        let mut free: Vec<usize> = (0..self.fabric.hosts()).collect();
        free.shuffle(&mut self.rng);
        let mut kinds = vec!["node", "node", "node", "link", "link"];
        if !uplinks.is_empty() {
            kinds.push("group");
        }
        if self.plan.hosts.ranks() > self.plan.hosts.count() {
            kinds.push("rank");
        }
        let mut faults = Vec::new();
        let mut tries = 0;
        while faults.len() < count && free.len() >= 4 && tries < 40 {
            tries += 1;
            let kind = *kinds.choose(&mut self.rng).unwrap();
            let fault = match kind {
                "group" => {
                    let members = uplinks.choose(&mut self.rng).unwrap().clone();
                    if !members.iter().all(|host| free.contains(host)) {
                        continue;
                    }
                    self.fault(kind, members, None)
                }
                "link" => {
                    // Nobody can name a link that was not measured.
                    let is_there = |other: &&usize| !missing[free[0]][**other] && !missing[**other][free[0]];
                    let Some(&other) = free[1..].iter().find(is_there) else { break };
                    let pair = vec![free[0], other];
                    self.fault(kind, pair, None)
                }
                "rank" => {
                    let rank = *self.plan.hosts.ranks_of(free[0]).choose(&mut self.rng).unwrap();
                    self.fault(kind, vec![free[0]], Some(rank))
                }
                _ => self.fault(kind, vec![free[0]], None),
            };
            if !self.can_be_told(&fault.planted, missing) {
                continue;
            }
            let used: Vec<String> = fault.planted.hosts.clone();
            free.retain(|host| !used.contains(&self.plan.hosts.names()[*host]));
            // One group at a time: with two out of three nobody could say which is the healthy one.
            if kind == "group" {
                kinds.retain(|kind| *kind != "group");
            }
            faults.push(fault);
        }
        faults
    }

    /// Whether somebody who knows the network's structure exactly could tell the fault from noise and from single
    /// disturbed cells: others are not planted, because nobody could name them.
    fn can_be_told(&self, planted: &Planted, missing: &[Vec<bool>]) -> bool {
        if planted.part == "jitter" {
            return true;
        }
        // Of a usual pair; what a fault of one part does to the sum.
        let effects: Vec<f64> = self
            .plan
            .lengths()
            .iter()
            .map(|length| {
                let (latency, transfer) = (2e-6, length.0 as f64 / 9e9);
                let share = match planted.part {
                    "latency" => latency / (latency + transfer),
                    "bandwidth" => transfer / (latency + transfer),
                    _ => 1.0,
                };
                (1.0 + 0.75 * (planted.factor - 1.0) * share).ln()
            })
            .collect();
        let number = |name: &String| self.plan.hosts.names().iter().position(|host| host == name).unwrap();
        let first = number(&planted.hosts[0]);
        let partners = |host: usize| missing[host].iter().filter(|is_missing| !**is_missing).count() - 1;
        let least = planted.hosts.iter().map(|host| partners(number(host))).min().unwrap();
        let partners = partners(first);
        let sides = if planted.direction == "both" { 2.0 } else { 1.0 };
        match planted.kind {
            "link" => {
                let seen = effects.iter().filter(|effect| **effect > 5.0 * self.noise).count();
                least >= 7 && seen >= if planted.direction == "both" { 2 } else { 3 }
            }
            "group" => effects.iter().any(|effect| *effect > 0.08_f64.max(2.0 * self.noise)) && partners > 8,
            _ => {
                let squares: f64 = effects.iter().map(|effect| effect * effect).sum();
                partners >= 7 && (squares * sides * partners as f64).sqrt() > 8.0 * 1.2533 * self.noise
            }
        }
    }

    /// A fault of these hosts.
    fn fault(&mut self, kind: &'static str, hosts: Vec<usize>, rank: Option<usize>) -> Fault {
        let rng = &mut self.rng;
        let is_one_way = rng.random_bool(0.5);
        let mut part = if self.plan.lengths().len() > 2 {
            *["all", "all", "latency", "bandwidth"].choose(rng).unwrap()
        } else {
            "all"
        };
        let small: &[f64] =
            if self.is_hard { &[1.05, 1.07, 1.10, 1.2, 1.5, 3.0] } else { &[1.05, 1.08, 1.15, 1.3, 1.5, 2.0, 4.0] };
        let mut factor = *match kind {
            "link" => [1.5, 2.0, 3.0].choose(rng).unwrap(),
            "group" => [1.15, 1.25, 1.5, 2.0].choose(rng).unwrap(),
            _ => small.choose(rng).unwrap(),
        };
        if kind == "node" && rng.random_bool(0.12) {
            part = "jitter";
            factor = *[3.0, 6.0].choose(rng).unwrap();
        }
        let direction = match (kind, is_one_way, rng.random_bool(0.5)) {
            (_, false, _) | ("group", ..) => "both",
            ("link", true, _) | (_, true, true) => "send",
            (_, true, false) => "receive",
        };
        let names = hosts.iter().map(|host| self.plan.hosts.names()[*host].clone()).collect();
        let of_rank = self.plan.hosts.clone();
        let hits: Box<dyn Fn(usize, usize) -> bool> = match (kind, rank) {
            ("rank", Some(rank)) => Box::new(move |from, to| {
                of_rank.host_of(from) != of_rank.host_of(to)
                    && (from == rank && direction != "receive" || to == rank && direction != "send")
            }),
            ("link", _) => Box::new(move |from, to| {
                let (a, b) = (of_rank.host_of(from), of_rank.host_of(to));
                (a, b) == (hosts[0], hosts[1]) || direction == "both" && (b, a) == (hosts[0], hosts[1])
            }),
            _ => Box::new(move |from, to| {
                let (a, b) = (hosts.contains(&of_rank.host_of(from)), hosts.contains(&of_rank.host_of(to)));
                a != b && (a && direction != "receive" || b && direction != "send")
            }),
        };
        let is_additive = self.rng.random_bool(0.3);
        Fault { planted: Planted { kind, hosts: names, direction, part, factor }, hits, is_additive }
    }
}

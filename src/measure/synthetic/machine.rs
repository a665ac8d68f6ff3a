//! The synthetic machine's model of time.
//!
//! A message of `l` bytes takes `latency + l / bandwidth` seconds, both by the distance of the hosts: inside a host, on
//! one leaf switch, or across the spine. Each fault on the way changes one of them. Each sample is scattered by a
//! log-normal factor (median 1), is hit by a heavy tail at times, and a disturbance may last for a whole cell.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use super::{Fault, Symptom};
use crate::{
    plan::{Mode, Pair},
    units::{Bytes, Hosts, Rank},
};

/// How a healthy machine's samples scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// Standard deviation of the logarithm of the scatter of single samples.
    pub sigma: f64,
    /// How often a sample is hit by the tail.
    pub tail_probability: f64,
    /// A sample in the tail takes up to this many times as long (at least twice).
    pub tail_factor: f64,
    /// How often a disturbance lasts for a cell's whole measurement.
    pub disturbed_cells: f64,
    /// A disturbed cell takes up to this many times as long (at least 1.3 times).
    pub disturbance_factor: f64,
}

/// Hosts on leaf switches under one spine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Who runs where.
    pub hosts: Hosts,
    /// Leaf switch of every host, `[host]`.
    pub leaf_of_host: Vec<usize>,
    /// Seconds for an empty message: inside a host, on one leaf, across the spine.
    pub latency: [f64; 3],
    /// Bytes per second: inside a host, on one leaf, across the spine.
    pub bandwidth: [f64; 3],
    /// How many hosts of a leaf can use its uplink at full speed; more at a time share it.
    pub uplink_hosts: f64,
    /// Messages from here on take `rendezvous.1` seconds more: the switch of protocol that every MPI has.
    pub rendezvous: (Bytes, f64),
    /// Standard deviation of what synchronised clocks are off by, in seconds; drawn for every rank and length.
    pub clock_error: f64,
    /// How many times as long everything takes at the end of a run as at its beginning.
    pub drift: f64,
    /// Scatter.
    pub noise: NoiseModel,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

impl Machine {
    /// A healthy machine: `hosts` named node001 and so on, dealt out evenly and in order to `leaves`, with
    /// `ranks_per_host` neighbouring ranks each; 100 Gbit/s, 1.2 and 1.8 us, 2 % noise, a light tail.
    pub fn leaf_spine(hosts: usize, leaves: usize, ranks_per_host: usize) -> Self {
        let names = (0..hosts * ranks_per_host).map(|rank| format!("node{:03}", rank / ranks_per_host + 1));
        let per_leaf = hosts.div_ceil(leaves.max(1)).max(1);
        Self {
            hosts: Hosts::new(names),
            leaf_of_host: (0..hosts).map(|host| host / per_leaf).collect(),
            latency: [0.4e-6, 1.2e-6, 1.8e-6],
            bandwidth: [20e9, 12e9, 12e9],
            uplink_hosts: per_leaf as f64,
            rendezvous: (Bytes(16 * 1024), 1.5e-6),
            clock_error: 0.0,
            drift: 1.0,
            noise: NoiseModel {
                sigma: 0.02,
                tail_probability: 0.005,
                tail_factor: 10.0,
                disturbed_cells: 0.0,
                disturbance_factor: 3.0,
            },
            faults: Vec::new(),
        }
    }

    /// The same machine with one more fault.
    pub fn with(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// 0 inside a host, 1 on one leaf, 2 across the spine.
    fn distance(&self, from: Rank, to: Rank) -> usize {
        let (a, b) = (self.hosts.host_of(from), self.hosts.host_of(to));
        if a == b { 0 } else { 1 + usize::from(self.leaf_of_host[a] != self.leaf_of_host[b]) }
    }

    /// What is wrong on the way of a message.
    fn faults_between(&self, from: Rank, to: Rank) -> impl Iterator<Item = Symptom> {
        let (a, b) = (self.hosts.host_of(from), self.hosts.host_of(to));
        let (leaf_a, leaf_b) = (self.leaf_of_host[a], self.leaf_of_host[b]);
        self.faults.iter().filter_map(move |fault| {
            let (hit, symptom) = match *fault {
                Fault::Host { host, direction, symptom } => {
                    (a != b && ((host == a && direction.sends()) || (host == b && direction.receives())), symptom)
                }
                Fault::Rank { rank, direction, symptom } => {
                    ((rank == from && direction.sends()) || (rank == to && direction.receives()), symptom)
                }
                Fault::Link { hosts, direction, symptom } => {
                    ((hosts == (a, b) && direction.sends()) || (hosts == (b, a) && direction.receives()), symptom)
                }
                Fault::Leaf { leaf, direction, symptom } => (
                    leaf_a != leaf_b
                        && ((leaf == leaf_a && direction.sends()) || (leaf == leaf_b && direction.receives())),
                    symptom,
                ),
            };
            hit.then_some(symptom)
        })
    }

    /// Seconds that a message takes without any scatter, with this share of the uplinks' bandwidth.
    pub fn seconds(&self, from: Rank, to: Rank, length: Bytes, share: f64) -> f64 {
        let distance = self.distance(from, to);
        let mut latency = self.latency[distance];
        let mut bandwidth = self.bandwidth[distance] * if distance == 2 { share } else { 1.0 };
        let mut factor = 1.0;
        if length >= self.rendezvous.0 {
            latency += self.rendezvous.1;
        }
        for symptom in self.faults_between(from, to) {
            match symptom {
                Symptom::Slower(times) => factor *= times,
                Symptom::Latency(extra) => latency += extra,
                Symptom::Bandwidth(fraction) => bandwidth *= fraction,
                Symptom::StepAt { length: first, factor: times } if length >= first => factor *= times,
                Symptom::StepAt { .. } | Symptom::Jitter(_) | Symptom::Dead => {}
            }
        }
        factor * (latency + length.0 as f64 / bandwidth)
    }

    /// Whether nothing arrives.
    pub(super) fn is_dead(&self, from: Rank, to: Rank) -> bool {
        self.faults_between(from, to).any(|symptom| symptom == Symptom::Dead)
    }

    /// Scatter of a pair's samples.
    pub(super) fn sigma_between(&self, from: Rank, to: Rank) -> f64 {
        let jitter = self.faults_between(from, to).map(|symptom| match symptom {
            Symptom::Jitter(times) => times,
            _ => 1.0,
        });
        self.noise.sigma * jitter.product::<f64>()
    }

    /// By how much a rank's clock is ahead of common time at a length, in seconds.
    pub(super) fn clock_ahead(&self, seed: u64, length_index: usize, rank: Rank) -> f64 {
        let mut rng = crate::plan::rng(seed, 5, length_index * self.hosts.ranks() + rank);
        let normal = Normal::new(0.0, self.clock_error).expect("a standard deviation is finite and not negative");
        normal.sample(&mut rng)
    }

    /// How far off the clocks of two ranks may be together, as far as synchronisation knows, in seconds: half of a
    /// round trip for each teacher between a rank and the root, and as many on the other side.
    pub(super) fn clock_bound(&self) -> f64 {
        2.0 * self.latency[2] * f64::from(self.hosts.ranks().ilog2().max(1))
    }

    /// Random numbers of one cell: the same whatever the order in which cells are measured, others at each attempt.
    pub(super) fn rng(
        &self,
        seed: u64,
        mode: Mode,
        length_index: usize,
        attempt: usize,
        (from, to): (Rank, Rank),
    ) -> ChaCha8Rng {
        let cell = (length_index * self.hosts.ranks() + from) * self.hosts.ranks() + to;
        crate::plan::rng(seed, (16 + mode.id() as u64) | ((attempt as u64) << 5), cell)
    }

    /// Factor of the tail for one sample.
    pub(super) fn tail(&self, rng: &mut ChaCha8Rng) -> f64 {
        let NoiseModel { tail_probability, tail_factor, .. } = self.noise;
        if rng.random_bool(tail_probability) { rng.random_range(2.0..tail_factor.max(2.1)) } else { 1.0 }
    }

    /// Factor of a disturbance for all samples of a cell.
    pub(super) fn disturbance(&self, rng: &mut ChaCha8Rng) -> f64 {
        let NoiseModel { disturbed_cells, disturbance_factor, .. } = self.noise;
        if rng.random_bool(disturbed_cells) { rng.random_range(1.3..disturbance_factor.max(1.4)) } else { 1.0 }
    }

    /// What the mode itself costs: opposing streams share a little, and noise takes its part.
    pub(super) fn mode_factor(&self, mode: Mode, noise_ranks: usize) -> f64 {
        let opposing = if mode.is_symmetric() { 1.05 } else { 1.0 };
        let noisy = if mode.has_noise() { 1.0 + 0.1 * noise_ranks as f64 / self.hosts.ranks() as f64 } else { 1.0 };
        opposing * noisy
    }

    /// For each of the pairs that run at the same time, its share of the uplinks' bandwidth.
    pub(super) fn uplink_shares(&self, pairs: &[Pair]) -> Vec<f64> {
        let leaf = |rank| self.leaf_of_host[self.hosts.host_of(rank)];
        let mut crossing = vec![0.0; self.leaf_of_host.iter().max().map_or(0, |last| last + 1)];
        let ends = |pair: &Pair| (leaf(pair.leader), leaf(pair.partner));
        for (a, b) in pairs.iter().map(ends).filter(|(a, b)| a != b) {
            crossing[a] += 1.0;
            crossing[b] += 1.0;
        }
        let share = |leaf: usize| (self.uplink_hosts / f64::max(crossing[leaf], 1.0)).min(1.0);
        pairs.iter().map(ends).map(|(a, b)| share(a).min(share(b))).collect()
    }
}

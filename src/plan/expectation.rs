//! How long a plan will take on a network that is assumed, before anything is measured.
//!
//! In: a plan, a latency, a bandwidth. Out: seconds. It is a sum of what is sent one after the other, for planning on
//! a login node; while a run goes on, its own progress is the better guide.

use super::{Mode, Plan, Timing};
use crate::units::Bytes;

/// What an empty message and a byte are assumed to cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Seconds of an empty message.
    pub latency: f64,
    /// Bytes per second of a long one.
    pub bandwidth: f64,
}

impl Default for Network {
    /// A link of 100 Gbit/s (InfiniBand EDR, Omni-Path, RoCE): some 2 us and 12 GB/s between two processes.
    fn default() -> Self {
        Self { latency: 2e-6, bandwidth: 12e9 }
    }
}

/// Bytes of a cell on its way to the root.
const TRAVELLING: f64 = 80.0;

/// Bytes per second that one process writes into a parallel file system, roughly.
const WRITING: f64 = 1e9;

/// Small messages of a turn besides its exchanges: the token, and the three of the handshake.
const OF_TURN: f64 = 4.0;

impl Network {
    /// Seconds of a message.
    fn message(&self, length: Bytes) -> f64 {
        self.latency + length.0 as f64 / self.bandwidth
    }

    /// Seconds of an exchange of `mode` among `ranks`, of which a host has as many as `on_host`.
    fn exchange(&self, mode: Mode, ranks: usize, on_host: usize, length: Bytes) -> f64 {
        let empty = self.message(Bytes(0));
        let deep = (ranks as f64).log2().ceil();
        match mode {
            Mode::SendRecvAndRecvSend => 2.0 * self.message(length),
            // Two barriers, then down a tree.
            Mode::Bcast => deep * (2.0 * empty + self.message(length)),
            // The ranks of a host share its link.
            Mode::AllToAll => deep * empty + (ranks * on_host) as f64 * length.0 as f64 / self.bandwidth + empty,
            // An announcement, or an answer, and the message.
            _ => empty + self.message(length),
        }
    }

    /// Seconds of all lengths of a plan: exchanges, handshakes, gathering and writing.
    pub fn seconds(&self, plan: &Plan) -> f64 {
        let config = &plan.config;
        let (ranks, rounds) = (plan.ranks(), plan.rounds(plan.shortest()));
        let on_host = (0..plan.hosts.count()).map(|host| plan.hosts.ranks_of(host).len()).max().unwrap_or(1);
        let directions = if plan.mode.is_collective() || plan.mode.is_symmetric() { 1.0 } else { 2.0 };
        let baseline = match plan.timing() {
            Some(Timing::Transfer) => f64::from(config.baseline_exchanges()) * 2.0 * self.latency,
            _ => 0.0,
        };
        let samples = f64::from(config.warmup) + f64::from(config.iterations);
        let turns = (rounds.len() + 2 * plan.retests()) as f64;
        let cells = (rounds.lines().unwrap_or(ranks) * ranks) as f64;
        let of_length = |length: &Bytes| {
            let exchanges = samples * self.exchange(plan.mode, ranks, on_host, *length) + baseline;
            turns * (directions * exchanges + OF_TURN * self.latency)
        };
        let kept = cells * TRAVELLING / self.bandwidth + cells * 41.0 / WRITING;
        plan.lengths().iter().map(of_length).sum::<f64>() + plan.lengths().len() as f64 * kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Schedule, Sweep},
        units::Hosts,
    };

    #[test]
    fn a_small_plan_by_hand() {
        let config = Config {
            sweep: Sweep::list(&[Bytes(0), Bytes(1000)]).unwrap(),
            iterations: 10,
            warmup: 0,
            retest: 0,
            timing: Timing::Receive,
            ..Config::default()
        };
        let plan = Plan { mode: Mode::OneToOne, config, hosts: Hosts::new(["a", "b", "c", "d"]) };
        let network = Network { latency: 1e-3, bandwidth: 1e6 };
        // 6 pairs, 4 small messages each; both ways 10 exchanges of 2 ms, then of 3 ms; gathering takes 2.6 ms.
        let seconds = network.seconds(&plan);
        assert!(
            (seconds - (6.0 * (2.0 * 0.004 + 2.0 * 10.0 * 0.005) + 2.0 * 16.0 * 80.0 / 1e6)).abs() < 1e-4,
            "{seconds}"
        );
    }

    #[test]
    fn disjoint_rounds_are_as_much_faster_as_there_are_pairs_in_a_round() {
        let hosts = Hosts::new((0..64).map(|host| format!("n{host}")));
        let of = |schedule| {
            let config = Config { schedule, retest: 0, ..Config::default() };
            Network::default().seconds(&Plan { mode: Mode::OneToOne, config, hosts: hosts.clone() })
        };
        let ratio = of(Schedule::Isolated) / of(Schedule::Disjoint);
        assert!((25.0..=32.0).contains(&ratio), "{ratio}");
    }
}

//! What a plan will cost, before anything runs.

use super::{Mode, Plan, Timing};
use crate::units::Bytes;

/// Bytes that a rank keeps for every rank: a cell, the name of its host, places in tables.
const CELL_AND_HOST: u64 = 300;

/// What one run will take. Times are not in it: they depend on the machine and are told while measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Unordered pairs, or roots of a broadcast, or 1 for all_to_all, per length.
    pub pairs: u64,
    /// Rounds per length.
    pub rounds: u64,
    /// Exchanges of the whole run, warm-up and zero-byte exchanges included. An upper limit with `--precision`.
    pub exchanges: u64,
    /// Size of all result files together.
    pub disk: Bytes,
    /// What one rank will hold: message buffers, samples and its cells of one length.
    pub memory: Bytes,
}

impl Estimate {
    /// Of `plan`.
    pub fn of(plan: &Plan) -> Self {
        let ranks = plan.ranks() as u64;
        let lengths = plan.lengths().len() as u64;
        let config = &plan.config;
        let rounds = plan.rounds(0);
        let pairs = match plan.mode {
            Mode::AllToAll => 1,
            Mode::Bcast => ranks,
            _ => rounds.pairs() as u64,
        };
        let directions = if plan.mode.is_collective() || plan.mode.is_symmetric() { 1 } else { 2 };
        let baseline = match plan.timing() {
            Some(Timing::Transfer) => u64::from(config.baseline_exchanges()),
            _ => 0,
        };
        let per_cell = u64::from(config.warmup) + u64::from(config.iterations) + baseline;
        let retests = 2 * plan.retests() as u64;
        // Five statistics and a state; more where the run has more to tell of a cell.
        let amount = if config.precision.is_some() { 8 } else { 0 };
        let clock_bound = if plan.timing() == Some(Timing::Clock) { 8 } else { 0 };
        let damaged = if config.verify { 4 } else { 0 };
        let of_cell = 5 * 8 + 1 + amount + clock_bound + damaged;
        let header = ranks * 101 + 4096 + 4 * lengths;
        let disk = ranks * ranks * lengths * of_cell + 5 * (8 * lengths + header);
        let message = config.longest().0;
        let samples = 8 * u64::from(config.iterations);
        let traffic = match plan.mode {
            Mode::AllToAll => (ranks + 1) * message + ranks * samples,
            Mode::Bcast => message + ranks * samples,
            _ => 2 * message + samples,
        };
        Self {
            pairs,
            rounds: rounds.len() as u64,
            exchanges: (pairs + retests) * directions * per_cell * lengths,
            disk: Bytes(disk),
            memory: Bytes(traffic + ranks * CELL_AND_HOST),
        }
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
    fn pairs_are_counted_without_walking_all_rounds() {
        let hosts = Hosts::new((0..13).map(|rank| format!("n{}", rank % 5)));
        for (schedule, sample_rounds) in
            Schedule::ALL.into_iter().flat_map(|schedule| [None, Some(3), Some(500)].map(|sample| (schedule, sample)))
        {
            let config = Config { schedule, sample_rounds, ..Config::default() };
            let plan = Plan { mode: Mode::OneToOne, config, hosts: hosts.clone() };
            let walked: usize = plan.rounds(0).iter().map(|round| round.pairs().len()).sum();
            assert_eq!(Estimate::of(&plan).pairs, walked as u64, "{schedule} {sample_rounds:?}");
        }
    }

    #[test]
    fn a_small_run_by_hand() {
        let config = Config {
            sweep: Sweep::list(&[Bytes(0), Bytes(1024)]).unwrap(),
            iterations: 10,
            warmup: 2,
            timing: Timing::Receive,
            ..Config::default()
        };
        let hosts = Hosts::new(["a", "b", "c", "d"]);
        let plan = Plan { mode: Mode::OneToOne, config, hosts };
        let estimate = Estimate::of(&plan);
        assert_eq!((estimate.pairs, estimate.rounds), (6, 6));
        assert_eq!(estimate.exchanges, 6 * 2 * 12 * 2);
        let bcast = Estimate::of(&Plan { mode: Mode::Bcast, ..plan });
        assert_eq!((bcast.pairs, bcast.exchanges), (4, 4 * 12 * 2));
    }
}

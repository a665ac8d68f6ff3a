//! What a plan will cost, before anything runs.

use super::{Mode, Plan};
use crate::units::Bytes;

/// Number of result files of a run: one per statistic.
const RESULT_FILES: u64 = 5;

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
            _ => rounds.iter().map(|round| round.pairs().len() as u64).sum(),
        };
        let directions = if plan.mode.is_collective() || plan.mode.is_symmetric() { 1 } else { 2 };
        let baseline = match plan.timing() {
            Some(super::Timing::Transfer) => u64::from(config.baseline_exchanges()),
            _ => 0,
        };
        let per_cell = u64::from(config.warmup) + u64::from(config.iterations) + baseline;
        let cells = ranks * ranks * lengths;
        let header = ranks * 101 + 4096;
        let message = plan.config.longest().0;
        let buffers = if plan.mode == Mode::AllToAll { 2 * ranks * message } else { 2 * message };
        let samples = 8 * u64::from(config.iterations) * if plan.mode == Mode::AllToAll { ranks } else { 1 };
        Self {
            pairs,
            rounds: rounds.len() as u64,
            exchanges: pairs * directions * per_cell * lengths,
            disk: Bytes(RESULT_FILES * (8 * cells + 8 * lengths + header)),
            memory: Bytes(buffers + samples + 56 * ranks + ranks * 120),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Sweep, Timing},
        units::Hosts,
    };

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

//! What a plan will cost, before anything runs.

use super::{Mode, Plan, Timing};
use crate::units::Bytes;

/// Bytes of a cell in memory, [`crate::record::Cell`], rounded up.
const CELL: u64 = 104;

/// Bytes of a suspicious cell: 32 in the list of these, and 25 in each of two maps, that of the length before and the next
/// one, of which at least 7/16 are full.
const SUSPECT: u64 = 32 + 2 * 25 * 16 / 7;

/// Bytes that a rank keeps for every rank besides cells: the name of its host in several copies, places in tables.
const HOST: u64 = 250;

/// What one run will take. Times are not in it: they depend on the machine and are printed while measuring.
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
    /// What the ranks of the host with most ranks will hold together.
    pub memory_of_host: Bytes,
}

impl Estimate {
    /// Of `plan`.
    pub fn of(plan: &Plan) -> Self {
        let ranks = plan.ranks() as u64;
        let lengths = plan.lengths().len() as u64;
        let config = &plan.config;
        let rounds = plan.rounds(plan.shortest());
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
        let lines = rounds.lines().map_or(ranks, |lines| lines as u64);
        // Of the pairs that are measured again the cells, three times; of all ranks that meet a few, what these take.
        let met = if rounds.lines().is_some() { 8 * ranks } else { 0 };
        let again = if retests > 0 { (SUSPECT + met) * lines + 3 * CELL * retests } else { 0 };
        let memory = traffic(plan) + CELL * lines + again + ranks * HOST;
        let widest = plan.hosts.names().iter().enumerate().map(|(host, _)| plan.hosts.ranks_of(host).len()).max();
        Self {
            pairs,
            rounds: rounds.len() as u64,
            exchanges: (pairs + retests) * directions * per_cell * lengths,
            disk: Bytes(disk(plan, rounds.lines())),
            memory: Bytes(memory),
            memory_of_host: Bytes(memory.saturating_mul(widest.unwrap_or(1) as u64)),
        }
    }
}

/// Bytes of all result files; with `lines` most pairs are left out.
fn disk(plan: &Plan, lines: Option<usize>) -> u64 {
    let ranks = plan.ranks() as u64;
    let lengths = plan.lengths().len() as u64;
    let config = &plan.config;
    // Five statistics and a state; more where the run has more to tell of a cell.
    let amount = if config.precision.is_some() { 8 } else { 0 };
    let optional = 8 * config.optional.iter().filter(|one| one.is_statistic()).count() as u64;
    let samples = 8 * 2 * plan.retests() as u64 * plan.retest_samples() as u64;
    let clock_bound = if plan.timing() == Some(Timing::Clock) { 8 } else { 0 };
    let damaged = if config.verify { 4 } else { 0 };
    let of_cell = 5 * 8 + 1 + amount + optional + clock_bound + damaged;
    // A file has its header, the lengths and a host per rank; and who meets whom, where that is not everybody.
    let longest_name = plan.hosts.names().iter().map(|name| name.len() as u64).max().unwrap_or(0);
    let (cells, of_rank) = match lines {
        Some(lines) => (ranks * lines as u64, longest_name + 4 * lines as u64),
        None => (ranks * ranks, 101),
    };
    let files = 5 + (amount + optional) / 8;
    let hosts_as_text = ranks * (longest_name + 1);
    cells * lengths * of_cell + lengths * samples + files * (4096 + 12 * lengths + ranks * of_rank) + hosts_as_text
}

/// Bytes of messages and samples that one rank holds.
fn traffic(plan: &Plan) -> u64 {
    let ranks = plan.ranks() as u64;
    let config = &plan.config;
    let message = config.longest().0;
    let samples = 8 * u64::from(config.iterations.max(config.warmup));
    // The samples are sorted in a copy where their precision is looked at.
    let samples = if config.precision.is_some() { 2 * samples } else { samples };
    match plan.mode {
        Mode::AllToAll => (ranks + 1) * message + ranks * (samples + 16),
        Mode::Bcast => message + samples + 16 * ranks,
        mode => {
            let window = if matches!(mode, Mode::Put | Mode::Get) { message } else { 0 };
            // On synchronised clocks also the starts, and both sides' starts as they travel.
            let stamps = if plan.timing() == Some(Timing::Clock) { 3 * samples } else { 0 };
            2 * message + window + 2 * config.noise.length.0 + samples + stamps
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
            let walked: usize = plan.rounds(plan.shortest()).iter().map(|round| round.pairs().len()).sum();
            assert_eq!(Estimate::of(&plan).pairs, walked as u64, "{schedule} {sample_rounds:?}");
        }
    }

    #[test]
    fn a_small_run_by_hand() {
        let config = Config {
            sweep: Sweep::list(&[Bytes(0), Bytes(1024)]).unwrap(),
            iterations: 10,
            warmup: 2,
            retest: 0,
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

    #[test]
    fn eight_partners_of_twenty_thousand_hosts_are_little() {
        let hosts = Hosts::new((0..20_000).map(|host| format!("node{host:05}")));
        let sweep = Sweep::list(&[Bytes(1024)]).unwrap();
        let config =
            Config { sweep, schedule: Schedule::Disjoint, sample_rounds: Some(8), iterations: 10, ..Config::default() };
        let plan = Plan { mode: Mode::OneToOne, config: config.clone(), hosts: hosts.clone() };
        let sampled = Estimate::of(&plan);
        assert_eq!(sampled.pairs, 80_000);
        assert!(sampled.disk.0 < 20_000_000, "{}", sampled.disk);
        let whole = Estimate::of(&Plan { config: Config { sample_rounds: None, ..config }, ..plan });
        assert!(whole.disk.0 > 16_000_000_000 && sampled.memory < whole.memory);
    }

    #[test]
    fn memory_counts_what_a_mode_really_holds_and_adds_it_up_on_a_host() {
        let sweep = Sweep::list(&[Bytes(4 << 20)]).unwrap();
        let config = Config { sweep, iterations: 2000, retest: 0, ..Config::default() };
        let hosts = Hosts::new((0..1024).map(|rank| format!("n{}", rank / 32)));
        let of = |mode, noise| {
            let noise = crate::plan::Noise { length: noise, ..config.noise };
            Estimate::of(&Plan { mode, config: Config { noise, ..config.clone() }, hosts: hosts.clone() })
        };
        let message = 4 << 20;
        let pair = of(Mode::OneToOne, Bytes(0)).memory.0;
        assert!((2 * message..3 * message).contains(&pair), "{pair}");
        assert_eq!(of(Mode::Put, Bytes(0)).memory.0, pair + message, "a window is a third message");
        assert_eq!(of(Mode::Noise, Bytes(1000)).memory.0, pair + 2000);
        // Review D6: 4.3 GB a rank, 137 GB a host.
        let all = of(Mode::AllToAll, Bytes(0));
        assert!((4_290_000_000..4_330_000_000).contains(&all.memory.0), "{}", all.memory.0);
        assert_eq!(all.memory_of_host.0, 32 * all.memory.0);
        // Review D10: one vector of samples, not one for every root.
        assert!(of(Mode::Bcast, Bytes(0)).memory.0 < 2 * message);
    }
}

//! Everything that is decided before anything runs: configuration, modes, the sweep of message lengths, the schedule;
//! and the programs of supersteps that can be run and predicted ([`program`]).
//!
//! In: typed values from a command line, and the hosts of the ranks. Out: a [`Plan`], the same on every rank that was
//! given the same input. Nothing in here touches a file, a clock or a source of randomness other than the plan's seed.

mod circle;
mod config;
mod estimate;
mod expectation;
mod mode;
mod noise;
mod notes;
pub mod operation;
mod optional;
mod pairing;
mod partners;
pub mod program;
mod schedule;
mod sweep;

pub use circle::Circle;
pub use config::{Config, ConfigError, MAX_RANKS, Noise, NoisePattern, Precision, Timing};
pub use estimate::Estimate;
pub use expectation::Network;
pub use mode::{Mode, Side};
pub use optional::Optional;
pub use partners::Partners;
pub(crate) use schedule::rng;
pub use schedule::{Pair, Round, RoundKind, Rounds, Schedule};
pub use sweep::{MAX_LENGTH, MAX_LENGTHS, Sweep, SweepError};

use std::path::PathBuf;

use crate::units::{Bytes, Hosts, Seconds};

/// Version of the way in which a plan follows from a configuration. It changes when the same command line would lead
/// to another order of exchanges, so that a run is never resumed under another plan.
pub const PLAN_VERSION: u32 = 2;

/// The item of the plan that only runs with optional statistics have: their names, separated by spaces.
pub const OPTIONAL_STATISTICS: &str = "optional_statistics";

/// The item of the plan that only runs have which keep samples: how many at most of a pair that is measured again alone.
pub const RETEST_SAMPLES: &str = "retest_samples";

/// The items of a plan that are whole numbers, where they are not a word instead, such as `all`.
pub const NUMBERS: [&str; 10] = [
    "plan_version",
    "iterations",
    "warmup",
    "sample_rounds",
    "retest",
    "seed",
    "noise_length",
    "noise_messages",
    "noise_processes",
    RETEST_SAMPLES,
];

/// One run: one mode over one sweep, on known hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is exchanged.
    pub mode: Mode,
    /// How it is measured. `config.modes` names every mode of the launch; this plan is for `mode` alone.
    pub config: Config,
    /// Who takes part.
    pub hosts: Hosts,
}

impl Plan {
    /// Checks the configuration against the hosts and makes one plan per mode of the launch.
    pub fn all(config: &Config, hosts: &Hosts) -> Result<Vec<Self>, ConfigError> {
        config.validate()?;
        config.validate_for(hosts)?;
        Ok(config.modes.iter().map(|&mode| Self { mode, config: config.clone(), hosts: hosts.clone() }).collect())
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.hosts.ranks()
    }

    /// The message lengths, ascending.
    pub fn lengths(&self) -> &[Bytes] {
        self.config.sweep.lengths()
    }

    /// Where this run's files go: the launch's prefix, with the mode where it measures several.
    pub fn prefix(&self) -> PathBuf {
        let mut prefix = self.config.prefix.clone().into_os_string();
        if self.config.modes.len() > 1 {
            prefix.push("_");
            prefix.push(self.mode.name());
        }
        prefix.into()
    }

    /// How cells of this plan's mode are timed; `None` where the mode needs no choice (a round trip, a collective). A
    /// broadcast begins at a common time on synchronised clocks, or when each rank does.
    pub fn timing(&self) -> Option<Timing> {
        let timing = self.config.timing;
        (self.mode.is_one_way() || (self.mode == Mode::Bcast && timing == Timing::Clock)).then_some(timing)
    }

    /// Whether anything travels at a length: if not, it has no rounds and its cells are not scheduled.
    pub fn travels(&self, length_index: usize) -> bool {
        self.lengths().get(length_index).is_some_and(|length| length.0 > 0) || self.mode.empty_messages_travel()
    }

    /// Number of the shortest length at which anything travels.
    pub fn shortest(&self) -> usize {
        (0..self.lengths().len()).find(|index| self.travels(*index)).unwrap_or(0)
    }

    /// The schedule that this plan's mode really uses: under noise one pair at a time is the point.
    pub fn schedule(&self) -> Schedule {
        if self.mode.has_noise() { Schedule::Isolated } else { self.config.schedule }
    }

    /// How many suspicious pairs of a length are measured again. Noise belongs to its pair's turn, and a collective mode
    /// has no pairs.
    pub fn retests(&self) -> usize {
        let again = !self.mode.has_noise() && !self.mode.is_collective();
        if again { self.config.retest.min(self.ranks() * (self.ranks() - 1) / 2) } else { 0 }
    }

    /// How many samples are kept at most of a pair that is measured again alone; 0: none are.
    pub fn retest_samples(&self) -> usize {
        let asked = self.config.optional.contains(&Optional::Samples) && self.retests() > 0;
        if asked { self.config.iterations as usize } else { 0 }
    }

    /// The rounds of one message length.
    pub fn rounds(&self, length_index: usize) -> Rounds<'_> {
        Rounds::new(self, length_index)
    }

    /// Whom every rank meets, where most pairs are left out (`--sample-rounds`): only these cells are held and stored.
    pub fn partners(&self) -> Option<Partners> {
        // The same at every length.
        let rounds = self.rounds(self.shortest());
        let lines = rounds.lines()?;
        Some(Partners::new(self.ranks(), lines, |line, rank| rounds.partner(line, rank)))
    }

    /// What the plan consists of, item by item, as text. Two ranks, or a run and its resumption, follow the same plan
    /// exactly when these agree; where they do not, the item that differs can be named.
    pub fn items(&self) -> Vec<(&'static str, String)> {
        let config = &self.config;
        let mut items = vec![
            ("plan_version", PLAN_VERSION.to_string()),
            ("mode", self.mode.name().to_owned()),
            ("sweep", config.sweep.to_string()),
            ("iterations", config.iterations.to_string()),
            ("precision", config.precision.map_or_else(|| "none".to_owned(), |p| p.to_string())),
            ("warmup", config.warmup.to_string()),
            ("warmup_time", Seconds(config.warmup_time.as_secs_f64()).to_string()),
            ("timing", self.timing().map_or("local", Timing::name).to_owned()),
            ("schedule", self.schedule().name().to_owned()),
            ("sample_rounds", config.sample_rounds.map_or_else(|| "all".to_owned(), |k| k.to_string())),
            ("retest", self.retests().to_string()),
            ("seed", config.seed.to_string()),
            ("noise_length", config.noise.length.0.to_string()),
            ("noise_messages", config.noise.messages.to_string()),
            ("noise_processes", config.noise.processes.to_string()),
            ("noise_pattern", config.noise_pattern.name().to_owned()),
            ("verify", config.verify.to_string()),
            ("hosts", self.hosts.name_of_every_rank().collect::<Vec<_>>().join(",")),
        ];
        // Only where it is asked for: older files have no such item.
        let names: Vec<_> = config.optional.iter().filter(|one| one.is_statistic()).map(|one| one.name()).collect();
        if !names.is_empty() {
            items.push((OPTIONAL_STATISTICS, names.join(" ")));
        }
        if self.retest_samples() > 0 {
            items.push((RETEST_SAMPLES, self.retest_samples().to_string()));
        }
        items
    }

    /// Checksum over [`Plan::items`], for comparing plans of different ranks.
    pub fn digest(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for (name, value) in self.items() {
            hasher.update(name.as_bytes());
            hasher.update(b"=");
            hasher.update(value.as_bytes());
            hasher.update(b"\n");
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(config: Config) -> Plan {
        Plan::all(&config, &Hosts::new(["a", "b", "c"])).unwrap().remove(0)
    }

    #[test]
    fn plans_of_equal_input_have_equal_digests() {
        assert_eq!(plan(Config::default()).digest(), plan(Config::default()).digest());
    }

    #[test]
    fn items_that_are_numbers_are_known() {
        let optional = vec![Optional::Samples];
        let config = Config { sample_rounds: Some(2), schedule: Schedule::Disjoint, optional, ..Config::default() };
        let items = plan(config).items();
        let is_number = |text: &str| text.parse::<u64>().is_ok();
        let found: Vec<_> = items.iter().filter(|(_, text)| is_number(text)).map(|(name, _)| *name).collect();
        assert_eq!(found, NUMBERS);
    }

    #[test]
    fn each_item_changes_the_digest() {
        let base = plan(Config::default());
        let changed = [
            Config { iterations: 7, ..Config::default() },
            Config { seed: 7, ..Config::default() },
            Config { timing: Timing::Receive, ..Config::default() },
            Config { schedule: Schedule::Disjoint, ..Config::default() },
            Config { warmup: 7, ..Config::default() },
            Config { modes: vec![Mode::Put], ..Config::default() },
            Config { sweep: Sweep::list(&[Bytes(1)]).unwrap(), ..Config::default() },
        ];
        for config in changed {
            assert_ne!(base.digest(), plan(config.clone()).digest(), "{config:?}");
        }
        let other_hosts = Plan { hosts: Hosts::new(["a", "b", "d"]), ..base.clone() };
        assert_ne!(base.digest(), other_hosts.digest());
    }
}

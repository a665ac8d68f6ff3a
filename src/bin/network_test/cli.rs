//! The command line of `network_test`, as typed, and its one conversion to a [`Config`].
//!
//! This file defines flags and nothing else: it starts nothing and knows no MPI.

mod operations;

use std::{ffi::OsString, path::PathBuf, str::FromStr, time::Duration};

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser};
use netmatrix::{
    plan::{
        Config, ConfigError, MAX_RANKS, Mode, Network, Noise, NoisePattern, Optional, Precision, Schedule, Sweep,
        SweepError, Timing, operation::OperationConfig,
    },
    store,
    units::{Bytes, Hosts, ParseSecondsError, Seconds, whole},
};

use self::operations::{OperationArgs, OperationUsageError};
use crate::about;

/// Measures every pair of MPI processes over a sweep of message lengths and writes matrices of statistics to NetCDF.
///
/// Start it with mpirun or srun: mpirun -n 64 network_test -t one_to_one -f results/night
#[derive(Clone, Debug, Parser)]
#[command(
    name = "network_test",
    version = netmatrix::VERSION,
    disable_version_flag = true,
    disable_help_flag = true,
    allow_negative_numbers = true,
    max_term_width = 100,
    after_help = "Lengths and sizes take K, M and G as powers of 1024.\n\
                  Exit codes: 0 done; 1 payloads arrived damaged (--verify); 2 wrong command line; 3 files cannot be \
                  read, written or resumed; 4 internal fault; 75 stopped early and resumable."
)]
pub struct Args {
    /// The whole command line, as results quote it.
    #[arg(skip)]
    pub command: String,

    /// What to measure: one mode, several with commas between, or all
    #[arg(
        help_heading = "What is measured",
        short = 't',
        long = "type",
        value_name = "MODE[,MODE...]|all",
        default_value = "one_to_one"
    )]
    modes: Modes,

    /// How one-way messages are timed: transfer (the message's way alone), receive (with the receiver's announcement,
    /// as network_tests2 did) or clock (from start to end on synchronised clocks)
    #[arg(help_heading = "What is measured", long, value_name = "TIMING", default_value = "transfer")]
    timing: Timing,

    /// Check every payload; damaged ones are counted in the files and make the exit code 1
    #[arg(help_heading = "What is measured", long)]
    verify: bool,

    /// Where the results go: PREFIX_median.nc and so on (PREFIX_MODE_median.nc with several modes)
    #[arg(
        help_heading = "What is measured",
        short = 'f',
        long = "file",
        value_name = "PREFIX",
        default_value = "network"
    )]
    prefix: PathBuf,

    #[command(flatten, next_help_heading = "Operations instead of pairs")]
    operations: OperationArgs,

    /// First message length in bytes
    #[arg(
        help_heading = "Lengths",
        short,
        long,
        value_name = "LENGTH",
        default_value = "0",
        conflicts_with_all = ["lengths", "geometric"]
    )]
    begin: Bytes,

    /// Message length before which the sweep ends (exclusive)
    #[arg(
        help_heading = "Lengths",
        short,
        long,
        value_name = "LENGTH",
        default_value = "10000",
        conflicts_with_all = ["lengths", "geometric"]
    )]
    end: Bytes,

    /// Distance between message lengths
    #[arg(
        help_heading = "Lengths",
        short,
        long,
        value_name = "BYTES",
        default_value = "100",
        conflicts_with_all = ["lengths", "geometric"]
    )]
    step: Bytes,

    /// Exactly these message lengths, for example 0,64,4K,1M
    #[arg(
        help_heading = "Lengths",
        long,
        value_name = "LIST",
        value_parser = Sweep::parse_list,
        conflicts_with = "geometric"
    )]
    lengths: Option<Sweep>,

    /// Message lengths that grow by a factor, for example 1:4M:2 (the end is inclusive)
    #[arg(help_heading = "Lengths", long, value_name = "BEGIN:END:FACTOR", value_parser = Sweep::parse_geometric)]
    geometric: Option<Sweep>,

    /// Samples per pair and length
    #[arg(
        help_heading = "Sampling",
        short = 'n',
        long,
        alias = "num_iterations",
        value_name = "N",
        default_value_t = 100,
        value_parser = whole::<u32>(0..=u64::MAX)
    )]
    num_iterations: u32,

    /// Exchanges per pair and length before the first that counts
    #[arg(help_heading = "Sampling", long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(0..=u64::MAX))]
    warmup: u32,

    /// How long those exchanges last at least, for both directions of a pair together
    #[arg(help_heading = "Sampling", long, value_name = "TIME", default_value = "1ms")]
    warmup_time: humantime::Duration,

    /// Stop a pair as soon as its median is known to this many percent; -n is then the most samples
    #[arg(help_heading = "Sampling", long, value_name = "PERCENT", value_parser = parse_percent)]
    precision: Option<f64>,

    /// Keep these too: p90, p99 (quantiles of the samples) and first (the pair's handshake and first exchange: making
    /// its connection), each in a file of its own; samples (all samples of pairs that are measured again alone), in the
    /// file of medians
    #[arg(help_heading = "Sampling", long, value_name = "LIST")]
    statistics: Option<OptionalStatistics>,

    /// Which pairs run at the same time: isolated (one at a time) or disjoint (every host in one pair)
    #[arg(help_heading = "Schedule", long, value_name = "SCHEDULE", default_value = "isolated")]
    schedule: Schedule,

    /// Measure every rank with this many random partners only; the other cells are missing
    #[arg(help_heading = "Schedule", long, value_name = "K", value_parser = whole::<usize>(0..=u64::MAX))]
    sample_rounds: Option<usize>,

    /// How many suspicious pairs of each length are measured again, among others and alone: those that failed, then those
    /// that are slower than their hosts are to others, or than those of other hosts, by most. Half of the
    /// places are for pairs that were suspicious at the length before, too; with --sample-rounds a third for pairs of
    /// slow hosts that do not meet otherwise
    #[arg(help_heading = "Schedule", long, value_name = "K", default_value_t = 10, value_parser = whole::<usize>(0..=u64::MAX))]
    retest: usize,

    /// Root of everything that is drawn at random
    #[arg(help_heading = "Schedule", long, value_name = "SEED", default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Bytes of a noise message
    #[arg(
        help_heading = "Noise",
        short = 'l',
        long,
        alias = "length_noise_message",
        value_name = "LENGTH",
        default_value = "0"
    )]
    length_noise_message: Bytes,

    /// Noise messages per exchange
    #[arg(
        help_heading = "Noise",
        short = 'm',
        long,
        alias = "num_noise_message",
        value_name = "N",
        default_value_t = 1,
        value_parser = whole::<u32>(0..=u64::MAX)
    )]
    num_noise_message: u32,

    /// Ranks that make noise while a pair is measured, drawn anew for every pair
    #[arg(help_heading = "Noise", short = 'p', long, alias = "procs_noise", value_name = "N", default_value_t = 0, value_parser = whole::<usize>(0..=u64::MAX))]
    procs_noise: usize,

    /// Who exchanges noise with whom: all (every noise rank with all others at once) or ring (each with the next)
    #[arg(help_heading = "Noise", long, value_name = "PATTERN", default_value = "all")]
    noise_pattern: NoisePattern,

    /// How long a rank may wait for another one: a pair that does not answer is left out, a job that is stuck ends
    /// with 75 and says in PREFIX_stuck.txt who waits for whom
    #[arg(help_heading = "Control", long, value_name = "TIME", default_value = "60s")]
    timeout: humantime::Duration,

    /// End after this time, resumable: 90m, 2h30m, 1day or Slurm's HH:MM:SS and D-HH:MM:SS
    #[arg(help_heading = "Control", long, value_name = "TIME", value_parser = parse_time)]
    time_limit: Option<Duration>,

    /// Continue an unfinished run with the same command line: behind the last length that is safe in its files
    #[arg(help_heading = "Control", long)]
    resume: bool,

    /// With --resume: try again what PREFIX_stuck.txt says was stuck, instead of leaving it out
    #[arg(help_heading = "Control", long, requires = "resume")]
    pub retry_stuck: bool,

    /// Replace existing results
    #[arg(help_heading = "Control", long)]
    force: bool,

    /// No progress, no summary: only errors
    #[arg(help_heading = "Control", short, long)]
    pub quiet: bool,

    /// Say what would be measured, and send nothing; with --ranks also without mpirun
    #[arg(help_heading = "Without measuring", long)]
    pub dry_run: bool,

    /// With --dry-run: plan for this many ranks, without starting MPI
    #[arg(
        help_heading = "Without measuring",
        long,
        value_name = "N",
        requires = "dry_run",
        value_parser = whole::<u32>(1..=MAX_RANKS as u64)
    )]
    ranks: Option<u32>,

    /// With --ranks: on this many hosts, each with as many ranks (default: one rank per host)
    #[arg(
        help_heading = "Without measuring",
        long,
        value_name = "N",
        requires = "ranks",
        value_parser = whole::<u32>(1..=MAX_RANKS as u64)
    )]
    hosts: Option<u32>,

    /// With --dry-run: the time of an empty message on the network that is assumed (default: 2us)
    #[arg(
        help_heading = "Without measuring",
        long,
        value_name = "TIME",
        requires = "dry_run",
        value_parser = parse_latency
    )]
    assume_latency: Option<Seconds>,

    /// With --dry-run: bytes per second of long messages on the network that is assumed (default: 12 GB/s)
    #[arg(help_heading = "Without measuring", long, value_name = "BYTES", requires = "dry_run")]
    assume_bandwidth: Option<Bytes>,

    /// Synchronise the ranks' clocks, print how far off they are after 0, 5 and 10 s, and end
    #[arg(help_heading = "Without measuring", long)]
    pub check_clocks: bool,

    /// Print the version; --version names MPI, NetCDF and HDF5 as well
    #[arg(help_heading = "Without measuring", short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,

    /// Make this rank panic after the first length: for testing that the job ends
    #[arg(long, hide = true, value_name = "RANK", value_parser = whole::<usize>(0..=u64::MAX))]
    pub inject_panic: Option<usize>,

    /// Damage a payload that this rank has received, before it is checked: for testing that --verify sees it
    #[arg(long, hide = true, value_name = "RANK", value_parser = whole::<usize>(0..=u64::MAX))]
    pub inject_damage: Option<usize>,

    /// Make this rank answer too late when another one asks it to begin: for testing --timeout
    #[arg(long, hide = true, value_name = "RANK", value_parser = whole::<usize>(0..=u64::MAX))]
    pub inject_silence: Option<usize>,

    /// Write manual pages or completions into a folder: for packages
    #[arg(long, hide = true, num_args = 2, value_names = ["man|completions", "DIR"])]
    pub generate: Vec<String>,

    /// Print help
    #[arg(help_heading = "Without measuring", short, long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// A list of optional statistics as typed.
#[derive(Clone, Debug)]
struct OptionalStatistics(Vec<Optional>);

impl FromStr for OptionalStatistics {
    type Err = <Optional as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Optional::parse_list(text).map(Self)
    }
}

/// A list of modes as typed, `all` spelled out.
#[derive(Clone, Debug)]
struct Modes(Vec<Mode>);

impl FromStr for Modes {
    type Err = <Mode as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self(Mode::all().collect()));
        }
        text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// A number of per cent, with its sign or without.
fn parse_percent(text: &str) -> Result<f64, String> {
    text.trim().trim_end_matches('%').trim_end().parse().map_err(|_| "give a number of per cent, such as 2".to_owned())
}

/// A time with its unit: who writes 5 means microseconds, hardly 5 s.
fn parse_latency(text: &str) -> Result<Seconds, String> {
    match text.trim().parse::<f64>() {
        Ok(_) => Err(format!("write the unit, such as {}us", text.trim())),
        Err(_) => text.parse().map_err(|error: ParseSecondsError| error.to_string()),
    }
}

/// Reads a time as people write it (`2h30m`) and as Slurm does (`HH:MM:SS`, `D-HH:MM:SS`).
fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time: write 90m, 2h30m, HH:MM:SS or D-HH:MM:SS");
    if !text.contains(':') {
        return humantime::parse_duration(text).map_err(|_| wrong());
    }
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let parts: Vec<u64> =
        [days].into_iter().chain(clock.split(':')).map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    match parts[..] {
        [days, hours, minutes, seconds] => {
            let hours = days.checked_mul(24).and_then(|days| days.checked_add(hours)).ok_or_else(wrong)?;
            let seconds = hours
                .checked_mul(3600)
                .and_then(|time| time.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds));
            seconds.map(Duration::from_secs).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// A command line that makes no valid configuration.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    #[error(transparent)]
    Sweep(#[from] SweepError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Operation(#[from] OperationUsageError),
    #[error("--hosts {hosts} with --ranks {ranks}: a host without a rank takes no part; give at most as many hosts")]
    EmptyHosts { hosts: u32, ranks: u32 },
}

impl Args {
    /// Reads what was typed, the program's name first.
    pub fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        let mut program = Self::command();
        // The libraries are asked only if somebody wants to know.
        if words.iter().any(|word| word == "--version") {
            program = program.long_version(&*about::versions().leak());
        }
        let args = Self::from_arg_matches(&program.try_get_matches_from(arguments)?)?;
        Ok(Self { command: words.join(" "), ..args })
    }

    /// The hosts to plan for, if they are not those of a job: neighbouring ranks are on one host.
    pub fn planned_hosts(&self) -> Option<Hosts> {
        let ranks = self.ranks? as usize;
        let hosts = self.hosts.map_or(ranks, |hosts| hosts as usize);
        let width = (hosts - 1).to_string().len();
        Some(Hosts::new((0..ranks).map(|rank| format!("host{:0width$}", rank * hosts / ranks))))
    }

    /// The network that `--dry-run` assumes.
    pub fn network(&self) -> Network {
        let usual = Network::default();
        Network {
            latency: self.assume_latency.map_or(usual.latency, |time| time.0.max(0.0)),
            bandwidth: self.assume_bandwidth.map_or(usual.bandwidth, |bytes| bytes.0.max(1) as f64),
        }
    }

    /// What was typed about operations; `None`: pairs are measured.
    pub fn operations(&self) -> Result<Option<OperationConfig>, UsageError> {
        let usual = Config::default().sweep;
        let linear = Sweep::linear(self.begin, self.end, self.step)?;
        let sweep = self.lengths.as_ref().or(self.geometric.as_ref()).or((linear != usual).then_some(&linear));
        Ok(self.operations.config(sweep)?)
    }

    /// Makes the configuration and checks all of it that does not depend on the ranks.
    pub fn config(&self) -> Result<Config, UsageError> {
        let sweep = match self.lengths.as_ref().or(self.geometric.as_ref()) {
            Some(sweep) => sweep.clone(),
            None => Sweep::linear(self.begin, self.end, self.step)?,
        };
        let config = Config {
            modes: self.modes.0.clone(),
            // The name of a set's file stands for the set, as it does for network_analyze.
            prefix: store::prefix_of(&self.prefix).unwrap_or_else(|| self.prefix.clone()),
            sweep,
            iterations: self.num_iterations,
            precision: self.precision.map(|percent| Precision { percent }),
            warmup: self.warmup,
            warmup_time: self.warmup_time.into(),
            noise: Noise {
                length: self.length_noise_message,
                messages: self.num_noise_message,
                processes: self.procs_noise,
            },
            noise_pattern: self.noise_pattern,
            timing: self.timing,
            schedule: self.schedule,
            sample_rounds: self.sample_rounds,
            retest: self.retest,
            optional: self.statistics.clone().map(|list| list.0).unwrap_or_default(),
            seed: self.seed,
            verify: self.verify,
            time_limit: self.time_limit,
            timeout: self.timeout.into(),
            force: self.force,
            resume: self.resume,
        };
        config.validate()?;
        if let (Some(hosts), Some(ranks)) = (self.hosts, self.ranks)
            && hosts > ranks
        {
            return Err(UsageError::EmptyHosts { hosts, ranks });
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests;

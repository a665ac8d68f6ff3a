//! The command line of `network_test`, as typed, and its one conversion to a [`Config`].
//!
//! This file defines flags and nothing else: it starts nothing and knows no MPI.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{ArgAction, Parser};
use netmatrix::{
    plan::{Config, ConfigError, Mode, Noise, ParseModeError, Precision, Schedule, Sweep, SweepError, Timing},
    units::Bytes,
};

/// Measures every pair of MPI processes over a sweep of message lengths and writes matrices of statistics to NetCDF.
///
/// Start it with mpirun or srun: mpirun -n 64 network_test -t one_to_one -f results/night
#[derive(Clone, Debug, Parser)]
#[command(
    name = "network_test",
    version,
    disable_version_flag = true,
    allow_negative_numbers = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 payloads arrived damaged (--verify), 2 usage, 3 cannot read, write or resume \
                  files, 4 internal, 75 stopped early and resumable.\n\
                  Lengths and sizes take K, M and G as powers of 1024."
)]
pub struct Args {
    /// What to measure: one mode, several with commas between, or all
    #[arg(short = 't', long = "type", value_name = "MODE[,MODE...]|all", default_value = "one_to_one")]
    modes: Modes,

    /// Where the results go: PREFIX_median.nc and so on (PREFIX_MODE_median.nc with several modes)
    #[arg(short = 'f', long = "file", value_name = "PREFIX", default_value = "network")]
    prefix: PathBuf,

    /// First message length in bytes
    #[arg(short, long, value_name = "LENGTH", default_value = "0", conflicts_with_all = ["lengths", "geometric"])]
    begin: Bytes,

    /// Message length before which the sweep ends (exclusive)
    #[arg(short, long, value_name = "LENGTH", default_value = "10000", conflicts_with_all = ["lengths", "geometric"])]
    end: Bytes,

    /// Distance between message lengths
    #[arg(short, long, value_name = "BYTES", default_value = "100", conflicts_with_all = ["lengths", "geometric"])]
    step: Bytes,

    /// Exactly these message lengths, for example 0,64,4K,1M
    #[arg(long, value_name = "LIST", value_parser = Sweep::parse_list, conflicts_with = "geometric")]
    lengths: Option<Sweep>,

    /// Message lengths that grow by a factor, for example 1:4M:2 (the end is inclusive)
    #[arg(long, value_name = "BEGIN:END:FACTOR", value_parser = Sweep::parse_geometric)]
    geometric: Option<Sweep>,

    /// Samples per pair and length
    #[arg(short = 'n', long, alias = "num_iterations", value_name = "N", default_value_t = 100)]
    num_iterations: u32,

    /// Exchanges per pair and length before the first that counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    warmup: u32,

    /// Bytes of a noise message
    #[arg(short = 'l', long, alias = "length_noise_message", value_name = "LENGTH", default_value = "0")]
    length_noise_message: Bytes,

    /// Noise messages per exchange
    #[arg(short = 'm', long, alias = "num_noise_message", value_name = "N", default_value_t = 1)]
    num_noise_message: u32,

    /// Ranks that make noise while a pair is measured, drawn anew for every pair
    #[arg(short = 'p', long, alias = "procs_noise", value_name = "N", default_value_t = 0)]
    procs_noise: usize,

    /// How one-way messages are timed: transfer (the message's way alone), receive (with the receiver's announcement,
    /// as network_tests2 did) or clock (from start to end on synchronised clocks)
    #[arg(long, value_name = "TIMING", default_value = "transfer")]
    timing: Timing,

    /// Stop a pair as soon as its median is known to this many percent; -n is then the most samples
    #[arg(long, value_name = "PERCENT")]
    precision: Option<f64>,

    /// Which pairs run at the same time: isolated (one at a time) or disjoint (every host in one pair)
    #[arg(long, value_name = "SCHEDULE", default_value = "isolated")]
    schedule: Schedule,

    /// Measure every rank with this many random partners only; the other cells are missing
    #[arg(long, value_name = "K")]
    sample_rounds: Option<usize>,

    /// Check every payload; damaged ones are counted in the files and make the exit code 1
    #[arg(long)]
    verify: bool,

    /// Root of everything that is drawn at random
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,

    /// How long a partner may take to answer before a pair is given up as missing
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: humantime::Duration,

    /// Replace existing results
    #[arg(long)]
    force: bool,

    /// Say what would be measured, and send nothing
    #[arg(long)]
    pub dry_run: bool,

    /// No progress, no summary: only errors
    #[arg(short, long)]
    pub quiet: bool,

    /// Make this rank panic after the first length: for testing that the job ends
    #[arg(long, hide = true, value_name = "RANK")]
    pub inject_panic: Option<usize>,

    /// Print version
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
}

/// A list of modes as typed, `all` spelled out.
#[derive(Clone, Debug)]
struct Modes(Vec<Mode>);

impl FromStr for Modes {
    type Err = ParseModeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self(Mode::all().collect()));
        }
        text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// A command line that makes no valid configuration.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    #[error(transparent)]
    Sweep(#[from] SweepError),
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Args {
    /// Makes the configuration and checks all of it that does not depend on the ranks.
    pub fn config(&self) -> Result<Config, UsageError> {
        let sweep = match self.lengths.as_ref().or(self.geometric.as_ref()) {
            Some(sweep) => sweep.clone(),
            None => Sweep::linear(self.begin, self.end, self.step)?,
        };
        let config = Config {
            modes: self.modes.0.clone(),
            prefix: self.prefix.clone(),
            sweep,
            iterations: self.num_iterations,
            precision: self.precision.map(|percent| Precision { percent }),
            warmup: self.warmup,
            noise: Noise {
                length: self.length_noise_message,
                messages: self.num_noise_message,
                processes: self.procs_noise,
            },
            timing: self.timing,
            schedule: self.schedule,
            sample_rounds: self.sample_rounds,
            seed: self.seed,
            verify: self.verify,
            time_limit: None::<Duration>,
            patience: self.timeout.into(),
            force: self.force,
            resume: false,
        };
        config.validate()?;
        Ok(config)
    }
}

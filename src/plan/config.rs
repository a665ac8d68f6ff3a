//! The validated configuration of a launch, with the documented defaults.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use super::{Mode, Optional, Schedule, Sweep};
use crate::units::{Bytes, Hosts, ParseNameError, by_name};

/// Most ranks of a run: network_tests2's files number them with a C int, and matrices beyond this are of no use.
pub const MAX_RANKS: usize = 1 << 20;

/// Fewest samples from which a confidence interval of their median is made ([`crate::stats::MedianInterval::FEWEST`]).
pub const FEWEST_FOR_PRECISION: u32 = 20;

/// How the time of a one-way message is measured, see the section on timing in the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// [`Timing::Receive`] less half of the same pair's zero-byte exchange: the message's way alone.
    Transfer,
    /// From the receiver's announcement that it is ready to the complete message: network_tests2's number.
    Receive,
    /// From the sender's start to the receiver's end on synchronised clocks.
    Clock,
}

impl Timing {
    /// All timings.
    pub const ALL: [Self; 3] = [Self::Transfer, Self::Receive, Self::Clock];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Receive => "receive",
            Self::Clock => "clock",
        }
    }
}

impl FromStr for Timing {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        by_name("timing", text, Self::ALL, Self::name, &[])
    }
}

/// What the noise ranks do while a pair is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Bytes of one noise message.
    pub length: Bytes,
    /// Noise messages per exchange.
    pub messages: u32,
    /// Number of ranks that make noise, drawn anew for every pair.
    pub processes: usize,
}

/// Which of the noise ranks exchange messages with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoisePattern {
    /// Each with all others at once, as in network_tests2: k (k - 1) messages under way.
    All,
    /// Each with the next one: k messages under way.
    Ring,
}

impl NoisePattern {
    /// All patterns.
    pub const ALL: [Self; 2] = [Self::All, Self::Ring];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Ring => "ring",
        }
    }
}

impl FromStr for NoisePattern {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        by_name("noise pattern", text, Self::ALL, Self::name, &[])
    }
}

/// Adaptive stopping: a cell is measured until the confidence interval of its median is this narrow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half-width of the interval in percent of the median.
    pub percent: f64,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.percent)
    }
}

/// Everything that a command line of `network_test` says. [`Config::default`] is the empty command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Modes to measure, one run each. Default: one_to_one.
    pub modes: Vec<Mode>,
    /// Where the result files go: a path, to which `_median.nc` and the like are appended. Default: `network`.
    pub prefix: PathBuf,
    /// Message lengths. Default: 0, 100, ... 9900 bytes.
    pub sweep: Sweep,
    /// Samples per cell; the most, where `precision` may stop earlier. Default: 100.
    pub iterations: u32,
    /// Stop a cell once it is known this precisely. Default: never, all samples are taken.
    pub precision: Option<Precision>,
    /// Exchanges per pair and length that are not counted. Default: 3.
    pub warmup: u32,
    /// How long they last at least, for both directions of a pair together. Default: 1 ms.
    pub warmup_time: Duration,
    /// Noise of the modes that have it. Default: 1 message of 0 bytes, 0 processes.
    pub noise: Noise,
    /// Who exchanges noise with whom. Default: all noise ranks with each other.
    pub noise_pattern: NoisePattern,
    /// How one-way messages are timed. Default: transfer.
    pub timing: Timing,
    /// Which pairs are measured at the same time. Default: one pair at a time.
    pub schedule: Schedule,
    /// Only this many random partners for every rank; the other cells are missing. Default: all.
    pub sample_rounds: Option<usize>,
    /// How many of a length's suspicious pairs are measured again. Default: 10.
    pub retest: usize,
    /// What is kept besides the usual statistics, in the order of [`Optional::ALL`]. Default: none.
    pub optional: Vec<Optional>,
    /// Root of everything that is drawn at random. Default: 1.
    pub seed: u64,
    /// Check every payload. Default: no.
    pub verify: bool,
    /// End, resumable, after this time. Default: none.
    pub time_limit: Option<Duration>,
    /// How long a partner may take to answer before a pair's cells are given up. Default: 60 s.
    pub timeout: Duration,
    /// Replace existing results. Default: no.
    pub force: bool,
    /// Continue an unfinished run. Default: no.
    pub resume: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            modes: vec![Mode::OneToOne],
            prefix: PathBuf::from("network"),
            sweep: Sweep::linear(Bytes(0), Bytes(10_000), Bytes(100)).expect("the default sweep is valid"),
            iterations: 100,
            precision: None,
            warmup: 3,
            warmup_time: Duration::from_millis(1),
            noise: Noise { length: Bytes(0), messages: 1, processes: 0 },
            noise_pattern: NoisePattern::All,
            timing: Timing::Transfer,
            schedule: Schedule::Isolated,
            sample_rounds: None,
            retest: 10,
            optional: Vec::new(),
            seed: 1,
            verify: false,
            time_limit: None,
            timeout: Duration::from_secs(60),
            force: false,
            resume: false,
        }
    }
}

/// A configuration that cannot be carried out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum ConfigError {
    #[error("no mode to measure")]
    NoMode,
    #[error("mode {0} is named twice")]
    RepeatedMode(Mode),
    #[error("0 iterations measure nothing: give -n 1 or more")]
    NoIterations,
    #[error("a precision of {0} % cannot be reached: give a number above 0 and below 100, for example 2")]
    Precision(f64),
    #[error("noise messages of {0} bytes are beyond what MPI can count (at most {max} bytes)", max = super::MAX_LENGTH.0)]
    NoiseTooLong(Bytes),
    #[error("--resume continues the existing files and --force replaces them: give one of the two")]
    ResumeAndForce,
    #[error("{ranks} rank: pairs need at least 2; start the program with mpirun -n 2 or more, or with srun")]
    TooFewRanks { ranks: usize },
    #[error("{ranks} ranks are more than the {MAX_RANKS} that a run may have")]
    TooManyRanks { ranks: usize },
    #[error(
        "-p {asked} for {mode}: with {ranks} ranks at most {} are not in the pair and can make noise",
        ranks - 2
    )]
    TooMuchNoise { mode: Mode, asked: usize, ranks: usize },
    #[error("--sample-rounds 0 measures nothing: give 1 or more")]
    NoRounds,
    #[error(
        "--precision cannot be reached with -n {0}: fewer than {FEWEST_FOR_PRECISION} samples tell nothing about their scatter"
    )]
    TooFewForPrecision(u32),
    #[error("--timeout 0 would give up every pair: give the time that a partner may take to answer, for example 60s")]
    NoTimeout,
    #[error("{0} of 0 bytes sends nothing, and the sweep has no other length")]
    NothingTravels(Mode),
}

impl Config {
    /// What can be checked without knowing the ranks.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.modes.is_empty() {
            return Err(ConfigError::NoMode);
        }
        if let Some((_, mode)) = self.modes.iter().enumerate().find(|(k, mode)| self.modes[..*k].contains(mode)) {
            return Err(ConfigError::RepeatedMode(*mode));
        }
        if self.iterations == 0 {
            return Err(ConfigError::NoIterations);
        }
        if let Some(Precision { percent }) = self.precision
            && !(percent > 0.0 && percent < 100.0)
        {
            return Err(ConfigError::Precision(percent));
        }
        if self.noise.length > super::MAX_LENGTH {
            return Err(ConfigError::NoiseTooLong(self.noise.length));
        }
        if self.resume && self.force {
            return Err(ConfigError::ResumeAndForce);
        }
        if self.sample_rounds == Some(0) {
            return Err(ConfigError::NoRounds);
        }
        if self.precision.is_some() && self.iterations < FEWEST_FOR_PRECISION {
            return Err(ConfigError::TooFewForPrecision(self.iterations));
        }
        if self.timeout.is_zero() {
            return Err(ConfigError::NoTimeout);
        }
        if self.longest() == Bytes(0)
            && let Some(mode) = self.modes.iter().find(|mode| !mode.empty_messages_travel())
        {
            return Err(ConfigError::NothingTravels(*mode));
        }
        Ok(())
    }

    /// What depends on the ranks.
    pub fn validate_for(&self, hosts: &Hosts) -> Result<(), ConfigError> {
        let ranks = hosts.ranks();
        if ranks < 2 {
            return Err(ConfigError::TooFewRanks { ranks });
        }
        if ranks > MAX_RANKS {
            return Err(ConfigError::TooManyRanks { ranks });
        }
        if let Some(&mode) = self.modes.iter().find(|mode| mode.has_noise())
            && self.noise.processes > ranks - 2
        {
            return Err(ConfigError::TooMuchNoise { mode, asked: self.noise.processes, ranks });
        }
        Ok(())
    }

    /// Bytes of the longest message of the launch.
    pub fn longest(&self) -> Bytes {
        self.sweep.longest()
    }

    /// How many zero-byte exchanges tell a pair's announcement time at a length, for `--timing transfer` without
    /// `--precision`: enough for a median, few enough not to double the run.
    pub fn baseline_exchanges(&self) -> u32 {
        (self.iterations / 4).clamp(5, 25).min(self.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(config: Config) -> ConfigError {
        let ranks = Hosts::new(["a", "b", "c"]);
        config.validate().and_then(|()| config.validate_for(&ranks)).unwrap_err()
    }

    #[test]
    fn the_default_is_valid_and_network_tests2s() {
        let config = Config::default();
        assert_eq!(config.validate().and_then(|()| config.validate_for(&Hosts::new(["a", "b"]))), Ok(()));
        assert_eq!(config.sweep.begin_end_step(), (Bytes(0), Bytes(10_000), Bytes(100)));
        assert_eq!((config.iterations, config.noise.messages, config.noise.processes), (100, 1, 0));
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused() {
        let base = Config::default;
        assert_eq!(error(Config { modes: vec![], ..base() }), ConfigError::NoMode);
        assert_eq!(error(Config { modes: vec![Mode::Put; 2], ..base() }), ConfigError::RepeatedMode(Mode::Put));
        assert_eq!(error(Config { iterations: 0, ..base() }), ConfigError::NoIterations);
        assert_eq!(error(Config { sample_rounds: Some(0), ..base() }), ConfigError::NoRounds);
        let precision = Some(Precision { percent: 2.0 });
        assert_eq!(error(Config { precision, iterations: 5, ..base() }), ConfigError::TooFewForPrecision(5));
        assert_eq!(error(Config { timeout: Duration::ZERO, ..base() }), ConfigError::NoTimeout);
        let empty = Sweep::list(&[Bytes(0)]).unwrap();
        let modes = vec![Mode::OneToOne, Mode::Put];
        assert_eq!(error(Config { sweep: empty, modes, ..base() }), ConfigError::NothingTravels(Mode::Put));
        assert_eq!(error(Config { resume: true, force: true, ..base() }), ConfigError::ResumeAndForce);
        for percent in [0.0, -1.0, 100.0, f64::INFINITY] {
            let config = Config { precision: Some(Precision { percent }), ..base() };
            assert_eq!(error(config), ConfigError::Precision(percent));
        }
        let noise = Noise { processes: 2, ..base().noise };
        let too_much = Config { modes: vec![Mode::Noise], noise, ..base() };
        assert_eq!(error(too_much), ConfigError::TooMuchNoise { mode: Mode::Noise, asked: 2, ranks: 3 });
        let one_rank = base().validate_for(&Hosts::new(["a"]));
        assert_eq!(one_rank, Err(ConfigError::TooFewRanks { ranks: 1 }));
    }

    #[test]
    fn a_noise_error_says_the_maximum() {
        let error = ConfigError::TooMuchNoise { mode: Mode::Noise, asked: 9, ranks: 6 }.to_string();
        assert!(error.contains("at most 4"), "{error}");
    }

    #[test]
    fn timings_are_known_by_name() {
        assert_eq!("receive".parse(), Ok(Timing::Receive));
        let error = "recieve".parse::<Timing>().unwrap_err().to_string();
        assert_eq!(error, "unknown timing `recieve`; did you mean `receive`?; it is one of transfer, receive, clock");
    }
}

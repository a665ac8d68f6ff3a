//! The command line of `network_test`, as typed, and its one conversion to a [`Config`].
//!
//! This file defines flags and nothing else: it starts nothing and knows no MPI.

mod operations;

use std::{ffi::OsString, path::PathBuf, str::FromStr, time::Duration};

use clap::{ArgAction, Parser};
use netmatrix::{
    plan::{
        Config, ConfigError, Mode, Network, Noise, NoisePattern, ParseModeError, Precision, Schedule, Sweep,
        SweepError, Timing, operation::OperationConfig,
    },
    store,
    units::{Bytes, Hosts, Seconds},
};

use self::operations::{OperationArgs, OperationUsageError};

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
    /// The whole command line, as results quote it.
    #[arg(skip)]
    pub command: String,

    /// What to measure: one mode, several with commas between, or all
    #[arg(short = 't', long = "type", value_name = "MODE[,MODE...]|all", default_value = "one_to_one")]
    modes: Modes,

    #[command(flatten)]
    operations: OperationArgs,

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

    /// How long those exchanges last at least, for both directions of a pair together
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    warmup_time: humantime::Duration,

    /// Bytes of a noise message
    #[arg(short = 'l', long, alias = "length_noise_message", value_name = "LENGTH", default_value = "0")]
    length_noise_message: Bytes,

    /// Noise messages per exchange
    #[arg(short = 'm', long, alias = "num_noise_message", value_name = "N", default_value_t = 1)]
    num_noise_message: u32,

    /// Ranks that make noise while a pair is measured, drawn anew for every pair
    #[arg(short = 'p', long, alias = "procs_noise", value_name = "N", default_value_t = 0)]
    procs_noise: usize,

    /// Who exchanges noise with whom: all (every noise rank with all others at once) or ring (each with the next)
    #[arg(long, value_name = "PATTERN", default_value = "all")]
    noise_pattern: NoisePattern,

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

    /// How many suspicious pairs of each length are measured again, among others and alone: those that failed, then those
    /// that are slower than their hosts are to others
    #[arg(long, value_name = "K", default_value_t = 10)]
    retest: usize,

    /// Check every payload; damaged ones are counted in the files and make the exit code 1
    #[arg(long)]
    verify: bool,

    /// Root of everything that is drawn at random
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,

    /// How long a rank may wait for another one: a pair that does not answer is left out, a job that is stuck ends
    /// with 75 and says in PREFIX_stuck.txt who waits for whom
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: humantime::Duration,

    /// End after this time, resumable: 90m, 2h30m, 1day or Slurm's HH:MM:SS and D-HH:MM:SS
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time_limit: Option<Duration>,

    /// Continue an unfinished run with the same command line: behind the last length that is safe in its files
    #[arg(long)]
    resume: bool,

    /// With --resume: try again what PREFIX_stuck.txt says was stuck, instead of leaving it out
    #[arg(long, requires = "resume")]
    pub retry_stuck: bool,

    /// Replace existing results
    #[arg(long)]
    force: bool,

    /// Synchronise the ranks' clocks, print how far off they are after 0, 5 and 10 s, and end
    #[arg(long)]
    pub check_clocks: bool,

    /// Say what would be measured, and send nothing; with --ranks also without mpirun
    #[arg(long)]
    pub dry_run: bool,

    /// With --dry-run: plan for this many ranks, without starting MPI
    #[arg(long, value_name = "N", requires = "dry_run", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    ranks: Option<u32>,

    /// With --ranks: on this many hosts, each with as many ranks (default: one rank per host)
    #[arg(long, value_name = "N", requires = "ranks", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    hosts: Option<u32>,

    /// With --dry-run: the time of an empty message on the network that is assumed (default: 2us)
    #[arg(long, value_name = "TIME", requires = "dry_run")]
    assume_latency: Option<Seconds>,

    /// With --dry-run: bytes per second of long messages on the network that is assumed (default: 12 GB/s)
    #[arg(long, value_name = "BYTES", requires = "dry_run")]
    assume_bandwidth: Option<Bytes>,

    /// No progress, no summary: only errors
    #[arg(short, long)]
    pub quiet: bool,

    /// Make this rank panic after the first length: for testing that the job ends
    #[arg(long, hide = true, value_name = "RANK")]
    pub inject_panic: Option<usize>,

    /// Damage a payload that this rank has received, before it is checked: for testing that --verify sees it
    #[arg(long, hide = true, value_name = "RANK")]
    pub inject_damage: Option<usize>,

    /// Make this rank answer too late when another one asks it to begin: for testing --timeout
    #[arg(long, hide = true, value_name = "RANK")]
    pub inject_silence: Option<usize>,

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
}

impl Args {
    /// Reads what was typed, the program's name first.
    pub fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        Ok(Self { command: words.join(" "), ..Self::try_parse_from(arguments)? })
    }

    /// The hosts to plan for, if they are not those of a job: neighbouring ranks are on one host.
    pub fn planned_hosts(&self) -> Option<Hosts> {
        let ranks = self.ranks? as usize;
        let hosts = self.hosts.map_or(ranks, |hosts| hosts as usize).min(ranks);
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
            seed: self.seed,
            verify: self.verify,
            time_limit: self.time_limit,
            timeout: self.timeout.into(),
            force: self.force,
            resume: self.resume,
        };
        config.validate()?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use netmatrix::plan::operation::ProgramSource;

    use super::*;

    fn parse(arguments: &str) -> Args {
        Args::try_parse_from(arguments.split_whitespace()).unwrap()
    }

    fn refusal(arguments: &str) -> String {
        match Args::try_parse_from(arguments.split_whitespace()) {
            Ok(args) => args.config().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_flags_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn an_empty_command_line_is_the_default_configuration() {
        assert_eq!(parse("network_test").config().unwrap(), Config::default());
    }

    #[test]
    fn every_flag_arrives() {
        let config = parse(
            "network_test -t put,get -f out/x --lengths 1,64K -n 70 --warmup 2 --warmup-time 5ms -l 1K -m 3 -p 4 --noise-pattern ring --timing clock \
             --precision 2.5 --schedule disjoint --sample-rounds 5 --retest 6 --verify --seed 9 --time-limit 1h \
             --timeout 5s --force",
        )
        .config()
        .unwrap();
        let expected = Config {
            modes: vec![Mode::Put, Mode::Get],
            prefix: "out/x".into(),
            sweep: Sweep::list(&[Bytes(1), Bytes(65_536)]).unwrap(),
            iterations: 70,
            precision: Some(Precision { percent: 2.5 }),
            warmup: 2,
            warmup_time: Duration::from_millis(5),
            noise: Noise { length: Bytes(1024), messages: 3, processes: 4 },
            noise_pattern: NoisePattern::Ring,
            timing: Timing::Clock,
            schedule: Schedule::Disjoint,
            sample_rounds: Some(5),
            retest: 6,
            seed: 9,
            verify: true,
            time_limit: Some(Duration::from_secs(3600)),
            timeout: Duration::from_secs(5),
            force: true,
            resume: false,
        };
        assert_eq!(config, expected);
        assert!(parse("network_test --resume").config().unwrap().resume);
    }

    #[test]
    fn the_flags_of_operations_arrive() {
        assert_eq!(parse("network_test").operations().unwrap(), None);
        let typed = parse(
            "network_test --operations bcast,probes --procs 2,8 --procs-per-host 4 --chains 1,sqrt --accesses 8,32 \
             --cell-time 5ms --program fft:N=64 --lengths 8,64",
        );
        let expected = OperationConfig {
            selection: "bcast,probes".parse().unwrap(),
            procs: vec![2, 8],
            procs_per_host: Some(4),
            chains: "1,sqrt".parse().unwrap(),
            iterations: vec![8, 32],
            cell_time: Duration::from_millis(5),
            lengths: Some(vec![Bytes(8), Bytes(64)]),
            programs: vec![ProgramSource::Skeleton("fft:N=64".parse().unwrap())],
            compute: 0.0,
        };
        assert_eq!(typed.operations().unwrap(), Some(expected));
        let usual = parse("network_test --operations all").operations().unwrap().unwrap();
        assert_eq!(usual, OperationConfig { selection: "all".parse().unwrap(), ..OperationConfig::default() });
        for (arguments, named) in
            [("--chains 3", "--chains"), ("--program x.steps", "`x.steps`"), ("--procs 2", "--procs")]
        {
            let error = parse(&format!("network_test {arguments}")).operations().unwrap_err().to_string();
            assert!(error.contains(named), "{arguments}: {error}");
        }
    }

    #[test]
    fn network_tests2s_spellings_still_work() {
        let old = "network_test --num_iterations 5 --length_noise_message 1 --num_noise_message 2 --procs_noise 3";
        let new = "network_test --num-iterations 5 --length-noise-message 1 --num-noise-message 2 --procs-noise 3";
        assert_eq!(parse(old).config().unwrap(), parse(new).config().unwrap());
    }

    #[test]
    fn a_file_of_a_set_stands_for_its_prefix() {
        assert_eq!(parse("network_test -f out/x_median.nc").config().unwrap().prefix, PathBuf::from("out/x"));
        assert_eq!(parse("network_test -f out/x.nc").config().unwrap().prefix, PathBuf::from("out/x.nc"));
    }

    #[test]
    fn all_means_all_modes() {
        assert_eq!(parse("network_test -t all").config().unwrap().modes.len(), 9);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (arguments, named) in [
            ("network_test -t one_to_two", "`one_to_two`"),
            ("network_test -n -5", "-5"),
            ("network_test -n 99999999999", "99999999999"),
            ("network_test -n 0", "0 iterations"),
            ("network_test -b 10 -e 10", "begin 10"),
            ("network_test -s 0", "step 0"),
            ("network_test -e 4G -s 1G", "message length 3G"),
            ("network_test --lengths 1,1", "listed twice"),
            ("network_test -b 1 --lengths 1", "--lengths"),
            ("network_test --geometric 1:8", "BEGIN:END:FACTOR"),
            ("network_test --time-limit 5", "`5` is not a time"),
            ("network_test --time-limit 1:2:x", "`1:2:x` is not a time"),
            ("network_test --precision 0", "precision of 0 %"),
            ("network_test --resume --force", "--resume"),
            ("network_test --precision 2 -n 5", "-n 5"),
            ("network_test --timeout 0s", "--timeout 0"),
            ("network_test --noise-pattern star", "`star`"),
            ("network_test -t bcast --lengths 0", "bcast of 0 bytes"),
        ] {
            let refusal = refusal(arguments);
            assert!(refusal.contains(named), "{arguments}: {refusal}");
        }
    }

    #[test]
    fn times_are_read_as_people_and_as_slurm_write_them() {
        for (text, seconds) in [("90m", 5400), ("2h30m", 9000), ("01:00:05", 3605), ("1-00:00:00", 86_400)] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert!(parse_time("99999999999999999-00:00:00").is_err());
    }
}

//! The flags of operations and programs, as typed.

use std::{io::Read, path::Path, time::Duration};

use netmatrix::{
    plan::{
        Sweep,
        operation::{Chains, OperationConfig, ProgramSource, Selection},
        program::{Program, ProgramError, Skeleton, SkeletonError},
    },
    store::{self, StoreError},
    units::whole,
};

/// What is measured instead of pairs.
#[derive(Clone, Debug, clap::Args)]
pub struct OperationArgs {
    /// Measure operations on several processes instead of pairs, into PREFIX_operations.nc: all, groups (primitives,
    /// reductions, relations, blocks, accesses, probes) or single names, with commas between; --dry-run lists them
    #[arg(long, value_name = "LIST|all", conflicts_with_all = ["modes", "sample_rounds", "check_clocks"])]
    operations: Option<Selection>,

    /// Carry out a program of supersteps, work and messages: a file, or a skeleton such as fft:N=4096 or psrs; may be
    /// given several times, with or without --operations
    #[arg(long, value_name = "FILE", conflicts_with_all = ["modes", "sample_rounds", "check_clocks"])]
    program: Vec<String>,

    /// Numbers of processes of operations, for example 2,4,6,8 (default: powers of two, one number between, and all)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = whole::<usize>(0..=u64::MAX))]
    procs: Vec<usize>,

    /// Processes of an operation per host (default: as few as can be, on all hosts)
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=u64::MAX))]
    procs_per_host: Option<usize>,

    /// Numbers of chains of reduce_chains_*: a list, sqrt for the root of P - 1, or all
    #[arg(long, value_name = "LIST|all", default_value = "4,sqrt")]
    chains: Chains,

    /// Iterations of the loops of access_*, over all hosts
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16",
          value_parser = whole::<u32>(1..=1 << 20))]
    accesses: Vec<u32>,

    /// How long the samples of an operation at one length last at most, once there are 5 of them
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    cell_time: humantime::Duration,

    /// Make each copy and each sum of operations this many seconds per byte longer: for testing what is fitted to them
    #[arg(long, hide = true, value_name = "SECONDS", default_value_t = 0.0)]
    inject_compute: f64,
}

/// Most bytes of the text of a program.
const MOST_PROGRAM: u64 = 1 << 26;

/// Operations that were typed and cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum OperationUsageError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    #[error("--program: {0}")]
    ProgramFile(StoreError),
    #[error("--program: cannot read `{path}`: {reason}")]
    ProgramText { path: String, reason: String },
    #[error(
        "{0} says nothing without --operations or --program: name what is to be measured, for example --operations all"
    )]
    OperationsOnly(&'static str),
    #[error("--inject-compute {0}: give seconds per byte, 0 or more")]
    Compute(f64),
}

impl OperationArgs {
    /// The configuration, with the sweep that was typed, if any; `None`: pairs are measured.
    pub fn config(&self, sweep: Option<&Sweep>) -> Result<Option<OperationConfig>, OperationUsageError> {
        if self.operations.is_none() && self.program.is_empty() {
            let usual = OperationConfig::default();
            let flag = [
                (!self.procs.is_empty(), "--procs"),
                (self.procs_per_host.is_some(), "--procs-per-host"),
                (self.chains != usual.chains, "--chains"),
                (self.accesses != usual.iterations, "--accesses"),
                (Duration::from(self.cell_time) != usual.cell_time, "--cell-time"),
            ];
            return match flag.into_iter().find(|(given, _)| *given) {
                Some((_, name)) => Err(OperationUsageError::OperationsOnly(name)),
                None => Ok(None),
            };
        }
        if !(self.inject_compute.is_finite() && self.inject_compute >= 0.0) {
            return Err(OperationUsageError::Compute(self.inject_compute));
        }
        Ok(Some(OperationConfig {
            selection: self.operations.clone().unwrap_or_default(),
            procs: self.procs.clone(),
            chains: self.chains.clone(),
            iterations: self.accesses.clone(),
            procs_per_host: self.procs_per_host,
            cell_time: self.cell_time.into(),
            lengths: sweep.map(|sweep| sweep.lengths().to_vec()),
            programs: self.program.iter().map(|name| program_text(name)).collect::<Result<_, _>>()?,
            compute: self.inject_compute,
        }))
    }
}

/// A program: a file's, or a skeleton that is named and there is no file of this name.
fn program_text(name: &str) -> Result<ProgramSource, OperationUsageError> {
    if !Path::new(name).exists()
        && let Ok(skeleton) = name.parse::<Skeleton>()
    {
        return Ok(ProgramSource::Skeleton(skeleton));
    }
    let file = store::open_file(Path::new(name)).map_err(|error| match (error, name.parse::<Skeleton>()) {
        // `fft:n=4` is a skeleton that somebody has mistyped.
        (_, Err(error)) if name.starts_with("fft:") || name.starts_with("psrs:") => error.into(),
        (StoreError::NotFound { .. }, _) => OperationUsageError::ProgramText {
            path: name.to_owned(),
            reason: "there is no such file; the skeletons are fft and psrs".to_owned(),
        },
        (error, _) => OperationUsageError::ProgramFile(error),
    })?;
    let unreadable = |reason: String| OperationUsageError::ProgramText { path: name.to_owned(), reason };
    let mut bytes = Vec::new();
    file.take(MOST_PROGRAM + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MOST_PROGRAM {
        return Err(unreadable(format!("it has more than {MOST_PROGRAM} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is no text (UTF-8)".to_owned()))?;
    let program = Program::parse(name, &text)?;
    let short = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(ProgramSource::File { name: short, text, program })
}

//! How good is the detector? Draws clusters with planted faults, runs `network_analyze diagnose` on each, counts.
//!
//! In: a number of seeded cases and the program. Out: tables of recall, precision, direction and false alarms, by kind
//! and by size of the fault. Plain cases are what a usual cluster looks like; hard ones have other networks, more
//! noise, smaller faults, missing cells or a single length ([`case`] says how they are drawn).
//!
//! A fault counts as named if a finding has its kind and exactly its hosts, whatever its order of hosts. Faults that
//! somebody who knows the structure of the network could not tell from noise either are not planted.

mod case;
mod fabric;
mod score;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, anyhow, ensure};
use case::Case;
use clap::{Parser, ValueEnum};
use netmatrix::store;
use rayon::prelude::*;
use score::Tally;
use serde_json::Value;

/// Measure how well `network_analyze diagnose` names planted faults
#[derive(Parser)]
#[command(after_help = "Exit codes: 0 done, 1 worse than --require asks for, 3 a case could not be judged.")]
struct Args {
    /// The program
    #[arg(long, default_value = "target/release/network_analyze")]
    program: PathBuf,

    /// Number of plain cases, and of hard ones
    #[arg(long, default_value_t = 300)]
    cases: u64,

    /// First seed
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Only these cases
    #[arg(long)]
    only: Option<Class>,

    /// Say what was missed and what was made up, case by case
    #[arg(long)]
    verbose: bool,

    /// Folder to keep the cases in [default: they are removed]
    #[arg(long)]
    keep: Option<PathBuf>,

    /// Percentages of recall, precision, healthy runs without finding, and direction to reach, such as 97,98,98,98
    #[arg(long, value_delimiter = ',', value_name = "R,P,H,D")]
    require: Vec<f64>,
}

/// How difficult cases are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Class {
    /// One switch or a few leaves, noise of 1 to 5 %.
    Plain,
    /// Trees of three levels, tori, dragonflies, noise to 10 %, missing cells, a single length.
    Hard,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Hard => "hard",
        }
    }
}

/// What the program says about a case.
fn diagnose(program: &Path, prefix: &Path) -> Result<Value> {
    let output = Command::new(program).arg("diagnose").arg(prefix).args(["--format", "json"]).output();
    let output =
        output.with_context(|| format!("{} cannot be run: build it first, or give --program", program.display()))?;
    // 0 healthy, 1 findings, 3 cannot be judged: all of them with a document.
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: {}", prefix.display(), String::from_utf8_lossy(&output.stderr).trim()))
}

fn judge(args: &Args, folder: &Path, class: Class, seed: u64) -> Result<Tally> {
    let case: Case = case::draw(seed, class == Class::Hard);
    let prefix = folder.join(format!("{}{seed}", class.name()));
    store::write_run(&case.run, &prefix, true).map_err(|error| anyhow!("{}: {error}", prefix.display()))?;
    let document = diagnose(&args.program, &prefix)?;
    if args.keep.is_none() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(&format!("{}{seed}_", class.name())) {
                std::fs::remove_file(path)?;
            }
        }
    }
    let (tally, remarks) = score::score(&case, &document);
    if args.verbose {
        remarks.iter().for_each(|remark| println!("{} {seed}: {remark}", class.name()));
    }
    Ok(tally)
}

fn run(args: &Args) -> Result<ExitCode> {
    let temporary = tempfile::tempdir()?;
    let folder = args.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut is_reached = true;
    for class in [Class::Plain, Class::Hard] {
        if args.only.is_some_and(|only| only != class) {
            continue;
        }
        let seeds: Vec<u64> = (args.seed..args.seed + args.cases).collect();
        let tallies: Result<Vec<Tally>> = seeds.par_iter().map(|seed| judge(args, folder, class, *seed)).collect();
        let tally = tallies?.into_iter().fold(Tally::default(), Tally::plus);
        println!("{} {} cases, seeds from {}\n{tally}", args.cases, class.name(), args.seed);
        let below = tally.shares().iter().zip(&args.require).any(|(share, least)| share < least);
        is_reached &= !below;
    }
    if !is_reached {
        println!("worse than required: {:?}", args.require);
    }
    Ok(if is_reached { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = (|| {
        ensure!(matches!(args.require.len(), 0 | 4), "--require takes four percentages, such as 97,98,98,98");
        ensure!(args.cases > 0, "--cases 0: there is nothing to count");
        run(&args)
    })();
    result.unwrap_or_else(|error| {
        eprintln!("detector_bench: {error:#}");
        ExitCode::from(3)
    })
}

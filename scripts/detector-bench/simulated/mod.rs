//! The detector on simulated platforms: real program, real routes, real sharing.
//!
//! In: a number of platforms of each kind. Out: a table for each schedule. `scripts/simgrid/run` builds what is simulated;
//! its program is then started once for every platform and schedule.

mod platforms;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;

use crate::{
    Args, found,
    planted::Truth,
    program::Program,
    say,
    score::{self, Score},
    table::Table,
};
use platforms::{KINDS, Kind, Platform};

/// Few: what is simulated takes the same time whenever it is repeated.
const SAMPLES: &str = "3";
const LENGTHS: [u64; 3] = [0, 1 << 16, 1 << 20];
const SCHEDULES: [&str; 2] = ["isolated", "disjoint"];

/// Measures platforms and counts.
pub fn run(args: &Args, program: &Program, count: u64) -> Result<Vec<(String, Table)>> {
    let mut kinds: Vec<&Kind> = KINDS.iter().collect();
    if !args.family.is_empty() {
        kinds.retain(|kind| args.family.iter().any(|name| name == kind.name));
    }
    ensure!(!kinds.is_empty(), "--family: there are {}", KINDS.map(|kind| kind.name).join(", "));
    let simulator = simulator()?;
    let tasks: Vec<(usize, usize, u64)> = (0..SCHEDULES.len())
        .flat_map(|schedule| (0..kinds.len()).map(move |kind| (schedule, kind)))
        .flat_map(|(schedule, kind)| (args.seed..args.seed + count).map(move |seed| (schedule, kind, seed)))
        .collect();
    let scores: Result<Vec<Score>> = tasks
        .par_iter()
        .map(|&(schedule, kind, seed)| judge(args, program, &simulator, SCHEDULES[schedule], kinds[kind], seed))
        .collect();
    let empty = || Table(kinds.iter().map(|kind| (kind.name, Score::default())).collect());
    let title = |schedule| format!("SimGrid, {schedule}: {count} platforms of each kind, seeds from {}", args.seed);
    let mut tables: Vec<(String, Table)> = SCHEDULES.iter().map(|schedule| (title(schedule), empty())).collect();
    for (&(schedule, kind, _), score) in tasks.iter().zip(scores?) {
        let entry = &mut tables[schedule].1.0[kind].1;
        *entry = std::mem::take(entry).plus(&score);
    }
    Ok(tables)
}

/// Builds what is simulated, and says where it is.
fn simulator() -> Result<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let status =
        Command::new(project.join("scripts/simgrid/run")).arg("--help").output().context("scripts/simgrid/run")?;
    ensure!(status.status.success(), "scripts/simgrid/run: {}", String::from_utf8_lossy(&status.stderr));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| project.join("target"), PathBuf::from);
    Ok(target.join("simgrid/debug/examples"))
}

fn judge(args: &Args, program: &Program, simulator: &Path, schedule: &str, kind: &Kind, seed: u64) -> Result<Score> {
    let Platform { cluster, planted } = kind.platform(seed);
    let name = format!("{}{seed}{schedule}", kind.name);
    let folder = program.folder.join(&name);
    let lengths = LENGTHS.map(|length| length.to_string()).join(",");
    let output = Command::new(simulator.join("simulated_cluster"))
        .arg("--library")
        .arg(simulator.join("network_test_simulated.so"))
        .args(&cluster)
        .arg("--output")
        .arg(&folder)
        .args([
            "--",
            "--quiet",
            "--force",
            "--schedule",
            schedule,
            "--lengths",
            &lengths,
            "-n",
            SAMPLES,
            "--warmup",
            "1",
        ])
        .output()
        .context("simulated_cluster")?;
    if !output.status.success() {
        bail!("{name}: {}: {}", cluster.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    let start = Instant::now();
    let said = found::Said::of(&program.diagnose(&folder.join("network"), &[])?);
    let seconds = start.elapsed().as_secs_f64();
    let context = format!("{} {schedule}", cluster.join(" "));
    let truth = Truth { planted, context, lengths: LENGTHS.to_vec(), may_be_invalid: false };
    let (mut score, remarks) = score::score(&truth, &said);
    score.seconds = seconds;
    let is_kept = program.is_keeping && !remarks.is_empty();
    if !is_kept {
        std::fs::remove_dir_all(&folder)?;
    }
    if args.verbose && !remarks.is_empty() {
        say(&name, &truth.context, &remarks, is_kept.then_some(&folder))?;
    }
    Ok(score)
}

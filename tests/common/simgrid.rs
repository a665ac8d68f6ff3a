//! Starts simulations: `scripts/simgrid/run` with a time limit.

use std::{path::Path, process::Command};

use tempfile::TempDir;

/// Seconds that a simulation may take, the first build of what is simulated included.
const LIMIT: &str = "900";

/// What came of a simulation.
#[derive(Debug)]
pub struct Simulation {
    /// Where the result sets are.
    pub folder: TempDir,
    pub code: Option<i32>,
    pub stderr: String,
    /// Simulated time.
    pub seconds: Option<f64>,
}

/// Runs network_test with `arguments` on the simulated `cluster`, both as they are typed.
pub fn simulate(cluster: &str, arguments: &str) -> Simulation {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/simgrid/run");
    let output = Command::new("timeout")
        .args(["--kill-after=10", LIMIT])
        .arg(run)
        .args(cluster.split_whitespace())
        .arg("--output")
        .arg(folder.path())
        .arg("--")
        .args(arguments.split_whitespace())
        .output()
        .expect("timeout, which comes with coreutils, can be started");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds =
        stderr.lines().find_map(|line| line.strip_prefix("Simulated time: ")?.split(' ').next()?.parse().ok());
    Simulation { folder, code: output.status.code(), stderr, seconds }
}

//! Starts simulations: `scripts/simgrid/run` with a time limit.

use std::{path::Path, process::Command, sync::OnceLock};

use tempfile::TempDir;

/// Seconds that a simulation may take, and the first build of what is simulated.
const LIMIT: &str = "900";
const LIMIT_OF_BUILD: &str = "1800";

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
    // Simulations that begin together wait for one build: it counts for none of them.
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let built = run(LIMIT_OF_BUILD).arg("--help").output().expect(STARTED);
        assert!(built.status.success(), "scripts/simgrid/run --help: {built:?}");
    });
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let output = run(LIMIT)
        .args(cluster.split_whitespace())
        .arg("--output")
        .arg(folder.path())
        .arg("--")
        .args(arguments.split_whitespace())
        .output()
        .expect(STARTED);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds =
        stderr.lines().find_map(|line| line.strip_prefix("Simulated time: ")?.split(' ').next()?.parse().ok());
    Simulation { folder, code: output.status.code(), stderr, seconds }
}

const STARTED: &str = "timeout, which comes with coreutils, can be started";

/// The script, which ends after so many seconds.
fn run(limit: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", limit]).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/simgrid/run"));
    command
}

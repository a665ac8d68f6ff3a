//! Starts simulations: what `scripts/simgrid/run` builds and starts, with a time limit.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

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
    let programs = programs();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let output = limited(LIMIT, programs.join("simulated_cluster"))
        .arg("--library")
        .arg(programs.join("network_test_simulated.so"))
        .args(cluster.split_whitespace())
        .arg("--output")
        .arg(folder.path())
        .arg("--")
        .args(arguments.split_whitespace())
        // Simulated links do not sleep.
        .args(["--warmup-time", "0s"])
        .output()
        .expect(STARTED);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds =
        stderr.lines().find_map(|line| line.strip_prefix("Simulated time: ")?.split(' ').next()?.parse().ok());
    Simulation { folder, code: output.status.code(), stderr, seconds }
}

const STARTED: &str = "timeout, which comes with coreutils, can be started";

/// Where the script leaves what it builds. It is asked once: simulations that begin together wait for one build, which
/// counts for none of them.
pub fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/simgrid/run");
        let built = limited(LIMIT_OF_BUILD, script).arg("--help").output().expect(STARTED);
        assert!(built.status.success(), "scripts/simgrid/run --help: {built:?}");
        let target = Path::new(env!("CARGO_BIN_EXE_network_analyze")).parent().and_then(Path::parent);
        target.expect("programs are in a folder of the target folder").join("simgrid/debug/examples")
    })
}

/// The program, which ends after so many seconds.
fn limited(limit: &str, program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", limit]).arg(program.as_ref());
    command
}

/// Runs network_test on a platform, host file and options that stand in `folder`, where its results go, too; what it said.
pub fn simulate_in(folder: &Path, ranks: usize, options: &[String], arguments: &str) -> String {
    let mut command = limited(LIMIT, "smpirun");
    command.current_dir(folder).args([
        "-np",
        &ranks.to_string(),
        "-platform",
        "platform.xml",
        "-hostfile",
        "hosts.txt",
    ]);
    let usual = ["smpi/coll-selector:ompi", "smpi/simulate-computation:no", "contexts/stack-size:512"];
    command.args(usual.into_iter().map(str::to_owned).chain(options.iter().cloned()).map(|o| format!("--cfg={o}")));
    let output = command
        .arg("--log=root.thres:warning")
        .arg(programs().join("network_test_simulated.so"))
        .args(arguments.split_whitespace())
        .args(["--warmup-time", "0s"])
        .output()
        .expect(STARTED);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

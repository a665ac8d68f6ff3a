//! A real Slurm on virtual hosts: `scripts/slurm/lab`, one at a time, taken down when the test ends.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Time that a job has, waiting in the queue included.
pub const LIMIT: Duration = Duration::from_secs(400);

static ONE_LAB_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A Slurm that is up.
pub struct Lab {
    folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Lab {
    /// With nodes n0, n1, and so on.
    pub fn up(nodes: usize) -> Self {
        let lab = Self::new();
        let output = lab.lab().args(["up", "-n", &nodes.to_string()]).output().expect("timeout can be started");
        assert!(output.status.success(), "{output:?}");
        lab
    }

    /// One that is not up yet.
    pub fn new() -> Self {
        let turn = ONE_LAB_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let lab = Self { folder: tempfile::tempdir().expect("a temporary folder can be made"), _turn: turn };
        // Others than the owner have to reach the sockets in it.
        fs::set_permissions(lab.folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        lab
    }

    /// Where its scripts look for it.
    pub fn environment(&self) -> [(&'static str, OsString); 3] {
        let hosts = self.folder.path().join("hosts");
        [("SLURM_LAB_RUN", self.state().into()), ("VC_NAME", "labtest".into()), ("VC_RUN", hosts.into())]
    }

    /// Where its state is.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("lab")
    }

    fn lab(&self) -> Command {
        self.script("slurm/lab")
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", "120"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name));
        command.envs(self.environment());
        command
    }

    /// Makes every message late by `delay` on each of the two cables that it passes.
    pub fn slow_down(&self, delay: &str) {
        let mut command = self.script("vcluster/vcluster");
        let output =
            command.args(["fault", "base", &format!("delay={delay}")]).output().expect("timeout can be started");
        assert!(output.status.success(), "{output:?}");
    }

    /// Runs a command on the head node, in `folder`.
    pub fn output(&self, folder: &Path, command: &[&str]) -> Output {
        self.lab().arg("exec").args(command).current_dir(folder).output().expect("timeout can be started")
    }

    /// What a command that must succeed prints.
    pub fn run(&self, folder: &Path, command: &[&str]) -> String {
        let output = self.output(folder, command);
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A field of `scontrol show job`.
    pub fn field(&self, job: &str, name: &str) -> String {
        let shown = self.run(Path::new("/"), &["scontrol", "--oneliner", "show", "job", job]);
        let value = shown.split_whitespace().find_map(|word| word.strip_prefix(&format!("{name}=")));
        value.unwrap_or_else(|| panic!("no {name} in {shown}")).to_owned()
    }

    /// What Slurm knows of a job, for failures.
    pub fn story(&self, job: &str) -> String {
        let log = text(&self.state().join("slurmctld.log"));
        let about = log.lines().filter(|line| line.contains(&format!("JobId={job}")) || line.contains("error"));
        let shown = self.output(Path::new("/"), &["scontrol", "show", "job", job]);
        String::from_utf8_lossy(&shown.stdout).into_owned() + &about.collect::<Vec<_>>().join("\n")
    }

    /// Waits until a job runs.
    pub fn wait_until_running(&self, job: &str) {
        let started = Instant::now();
        while self.field(job, "JobState") != "RUNNING" {
            assert!(started.elapsed() < LIMIT, "job {job} does not start");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits for the end of a job and says how it ended. A job that was queued again rests for two minutes, so that its
    /// nodes forget the credentials of before: some seconds do.
    pub fn end_of(&self, job: &str) -> String {
        let started = Instant::now();
        loop {
            let state = self.field(job, "JobState");
            match state.as_str() {
                "PENDING" if self.field(job, "Restarts") != "0" => {
                    thread::sleep(Duration::from_secs(4));
                    // It may have started meanwhile.
                    let _ =
                        self.output(Path::new("/"), &["scontrol", "update", &format!("JobId={job}"), "StartTime=now"]);
                }
                "COMPLETED" | "FAILED" | "CANCELLED" | "TIMEOUT" | "DEADLINE" | "NODE_FAIL" | "OUT_OF_MEMORY" => {
                    return state;
                }
                // Others pass: RUNNING, COMPLETING, SIGNALING and more.
                _ => {}
            }
            assert!(started.elapsed() < LIMIT, "job {job} is {state} after {LIMIT:?}");
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let output = self.lab().arg("down").output().expect("timeout can be started");
        // A test that fails already is not to be aborted.
        assert!(output.status.success() || thread::panicking(), "{output:?}");
    }
}

/// A file's text, for assertions and their messages.
pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

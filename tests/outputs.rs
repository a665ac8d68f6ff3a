//! What becomes of outputs where the disk is full or a signal ends the program: nothing is left behind, nothing is lost.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_analyze");

fn example() -> String {
    format!("{}/tests/data/example/tuesday", env!("CARGO_MANIFEST_DIR"))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Every command that writes, by what it writes in the folder in which it runs.
const COMMANDS: [(&str, &str); 6] = [
    ("convert RUN -o out", "out_"),
    ("convert RUN -o out.csv", "out.csv"),
    ("report RUN -o out.html", "out.html"),
    ("plot RUN --length 64K -o out.svg", "out.svg"),
    ("cluster RUN --tolerance 5% -o out.nc", "out.nc"),
    ("diagnose RUN --json out.json", "out.json"),
];

fn command(arguments: &str, folder: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments.split(' ').map(|word| if word == "RUN" { example() } else { word.to_owned() }));
    command.current_dir(folder).stdout(Stdio::null());
    command
}

#[test]
fn signals_leave_all_of_an_output_or_nothing() {
    // From the very beginning to behind the end of the shortest of them, wherever that is on this machine.
    let mut stopped = 0;
    for (arguments, _) in COMMANDS {
        let whole = tempfile::tempdir().unwrap();
        assert!(command(arguments, whole.path()).stderr(Stdio::null()).status().unwrap().code() < Some(2));
        let whole = names(whole.path());
        for (number, signal) in [Signal::TERM, Signal::INT, Signal::HUP].into_iter().cycle().take(30).enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let mut child = command(arguments, folder.path()).stderr(Stdio::null()).spawn().unwrap();
            thread::sleep(Duration::from_micros(700 * number as u64));
            let _ = kill_process(Pid::from_child(&child), signal);
            stopped += usize::from(child.wait().unwrap().code().is_none());
            let found = names(folder.path());
            assert!(found.is_empty() || found == whole, "`{arguments}`, {signal:?}, number {number}: {found:?}");
        }
    }
    assert!(stopped > 0, "no signal has come in time");
}

/// A disk of its own, which is unmounted at the end.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new(bytes: usize) -> Self {
        let disk = Self(tempfile::tempdir().unwrap());
        let size = format!("size={bytes}");
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(disk.0.path()).status();
        assert!(status.unwrap().success(), "mount needs root");
        disk
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_leaves_the_old_output_and_names_the_file() {
    for (arguments, name) in COMMANDS {
        // Two pages: one for the old file, one that is too small for the new one.
        let disk = Disk::new(8192);
        let folder = disk.0.path();
        fs::write(folder.join("fill"), [0; 4096]).unwrap();
        let is_set = name.ends_with('_');
        let old = folder.join(if is_set { "out_median.nc" } else { name });
        fs::write(&old, "old").unwrap();
        let output = command(&format!("{arguments} --force"), folder).stderr(Stdio::piped()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "`{arguments}`: {message}");
        assert!(message.contains("out") && message.contains("No space left on device"), "`{arguments}`: {message}");
        assert!(!message.contains(".part"), "`{arguments}`: {message}");
        assert_eq!(fs::read(&old).unwrap(), b"old", "`{arguments}`");
        assert_eq!(names(folder).len(), 2, "`{arguments}`: {:?}", names(folder));
    }
}

#[test]
fn without_memory_the_program_ends_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let plot = format!("plot {} --length 64K -o out.png", example());
    let ended = |arguments: &str, mib: u64| {
        let script = format!("ulimit -v {}; exec \"$0\" {arguments}", mib << 10);
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, PROGRAM]).current_dir(folder.path()).env_remove("RUST_BACKTRACE").output().unwrap()
    };
    // Below this nothing of it begins: its libraries have no room.
    let least = (32..).find(|mib| ended("--version", *mib).status.success()).unwrap() + 4;
    let mut refused = 0;
    for mib in (least..).step_by(2) {
        let output = ended(&plot, mib);
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.code(), Some(4), "{mib} MiB: {}: {said}", output.status);
        let words = ["memory allocation of", "no thread can be started", "of memory, and there are", "out of memory"];
        assert!(words.iter().any(|word| said.contains(word)) && !said.contains("panicked"), "{mib} MiB: {said}");
        refused += 1;
    }
    assert!(refused > 0);
}

//! Runs the commands of a README as somebody would who types them.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The lines of all `sh` blocks of a README, named by its place in the project.
pub fn commands(readme: &str) -> Vec<String> {
    commands_below(readme, "")
}

/// The lines of the `sh` blocks below a heading.
pub fn commands_below(readme: &str, heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(readme);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{readme}: {error}"));
    let mut inside = false;
    let mut commands = Vec::new();
    let mut is_below = heading.is_empty();
    for line in text.lines() {
        if !inside && line.starts_with('#') && !heading.is_empty() {
            is_below = line == heading;
        }
        match line {
            _ if !is_below => {}
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside && !line.trim().is_empty() => commands.push(line.to_owned()),
            _ => {}
        }
    }
    commands
}

/// Runs them one after the other in one shell, in a folder that has what a clone has, with the programs on PATH. Each has
/// to end with the code that `expected` says.
pub fn run_in_order(commands: &[String], expected: impl Fn(&str) -> i32) {
    run_in_order_with(commands, &[], expected);
}

/// The same with variables of the environment.
pub fn run_in_order_with(commands: &[String], environment: &[(&str, OsString)], expected: impl Fn(&str) -> i32) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    for name in ["scripts", "slurm", "tests"] {
        std::os::unix::fs::symlink(project.join(name), folder.path().join(name)).unwrap();
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_network_analyze")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let script: String = commands
        .iter()
        .map(|command| {
            let code = expected(command);
            format!("{command}\ncode=$?; [ $code -eq {code} ] || {{ echo \"ended with $code, not {code}:\" {}; exit 99; }}\n", quoted(command))
        })
        .collect();
    let output = Command::new("timeout")
        .args(["--kill-after=10", "300", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .envs(environment.iter().cloned())
        .stdin(Stdio::null())
        .output()
        .expect("timeout, which comes with coreutils, can be started");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
}

/// A command as one word of the shell.
fn quoted(command: &str) -> String {
    format!("'{}'", command.replace('\'', r"'\''"))
}

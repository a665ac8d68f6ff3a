//! Asks git what is built, for `--version` and for the files that the program writes: NETWORK_TEST_VERSION, `0.1.0` or
//! `0.1.0 (1a2b3c4d5e6f-dirty)`.
//!
//! It runs for the library, in src. Only of release builds: others would be compiled again after each commit. Sources
//! without a repository bring a file COMMIT.

use std::{env, fs, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=../scripts/build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release { commit() } else { Some("debug build".to_owned()) };
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=NETWORK_TEST_VERSION={version}");
}

fn commit() -> Option<String> {
    if let Ok(commit) = fs::read_to_string("../COMMIT") {
        println!("cargo::rerun-if-changed=../COMMIT");
        return Some(commit.trim().to_owned());
    }
    // A repository around a package that is none of it says nothing about it.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let moves = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    // A file that is not there would count as changed, always.
    for path in [".", "../Cargo.toml", "../Cargo.lock", &moves].into_iter().filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12"])
}

/// What git says, in a line; `None`: there is no git, or it knows nothing.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

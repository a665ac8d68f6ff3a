//! The commands of the READMEs run as written, in the order given, on the recorded example: their `sh` blocks. Those of
//! scripts/README.md need a machine that is made first: tests/simgrid.rs, tests/vcluster and tests/slurm.rs run them.
//! Blocks of other kinds are for machines that a test has not got.

mod common;

use std::path::Path;

use common::readme::{commands, run_in_order};

#[test]
fn the_readme_is_short_and_its_commands_run() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let lines = std::fs::read_to_string(&readme).unwrap().lines().count();
    assert!(lines <= 200, "README.md has {lines} lines");
    let commands = commands("README.md");
    assert!(commands.len() >= 10, "{commands:?}");
    // The verdict on the example is findings, and the change since the day before a regression.
    run_in_order(&commands, |command| if command.contains("diagnose") || command.contains("compare") { 1 } else { 0 });
}

#[test]
fn the_commands_of_the_job_files_manual_run() {
    let commands = commands("slurm/README.md");
    assert!(commands.len() >= 3, "{commands:?}");
    run_in_order(&commands, |command| if command.contains("diagnose ") { 1 } else { 0 });
}

//! `network_test`: measures every pair of MPI processes and writes matrices of statistics to NetCDF.
//!
//! The program itself is in `program`; the simulated cluster starts the same one from `simulated.rs`.

mod about;
mod cli;
mod dry_run;
mod memory;
mod mpi;
mod operations;
#[path = "../network_analyze/pages.rs"]
mod pages;
mod program;
mod progress;
#[path = "../network_analyze/refusal.rs"]
mod refusal;
mod watchdog;

use std::process::ExitCode;

/// Whether all ranks are in one process, whose time is not theirs.
const SIMULATED: bool = false;

/// What a rank that waits so many seconds for a reading of its clock does meanwhile: it stays awake, and reads again.
fn pass(_seconds: f64) {}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    ExitCode::from(program::run(&arguments))
}

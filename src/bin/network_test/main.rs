//! `network_test`: measures every pair of MPI processes and writes matrices of statistics to NetCDF.
//!
//! The program itself is in `program`; the simulated cluster starts the same one from `simulated.rs`.

mod cli;
mod mpi;
mod program;
mod progress;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    ExitCode::from(program::run(&arguments))
}

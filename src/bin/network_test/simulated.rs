//! `network_test` as a library that a simulated cluster loads: SimGrid's `smpirun` calls its `main` once for each rank.
//!
//! The same modules as the program; clocks, and how their time passes, are a matter of the cluster.
//! `scripts/simgrid/run` builds this against SimGrid's MPI and starts it; built against another MPI it is of no use.

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

/// Whether all ranks are in one process, whose time is not theirs.
const SIMULATED: bool = true;

mpi::export_main!(program::run);
mpi::export_clock!("SIMULATED_CLOCK_DRIFT");

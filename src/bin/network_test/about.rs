//! What the program says of itself: versions, the MPI library, where a run comes from.
//!
//! In: the command line and the environment. Out: texts and [`Provenance`]. Nothing is measured here.

use std::{env, time::SystemTime};

use netmatrix::{VERSION, record::Provenance, store, units::Seconds};

use crate::cli::Args;

/// Name and version of the MPI library, which says them before it is initialised, too.
fn mpi_library() -> String {
    let library = ::mpi::environment::library_version().unwrap_or_default();
    library.trim_end_matches('\0').lines().next().unwrap_or_default().trim().to_owned()
}

/// Why a program that was started with many ranks may see one only.
pub fn other_launcher() -> String {
    let library = mpi_library();
    let library = if library.is_empty() { "an unknown MPI library".to_owned() } else { library };
    format!(
        "if you did, the launcher may belong to another MPI than the program, which is built for {library}: compare with \
         `network_test --version`"
    )
}

/// What `--version` says besides the name.
pub fn versions() -> String {
    format!("{VERSION}\nMPI: {}\nfiles: {}", mpi_library(), store::libraries())
}

/// What a run says of the program that measured it. `clock_step`: seconds.
pub fn provenance(args: &Args, clock_step: f64) -> Provenance {
    let environment = |name: &str| env::var(name).unwrap_or_default();
    Provenance {
        command: args.command.clone(),
        program_version: format!("network_test {VERSION}"),
        mpi_library: mpi_library(),
        created: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        slurm_job_id: environment("SLURM_JOB_ID"),
        slurm_job_nodelist: environment("SLURM_JOB_NODELIST"),
        clock_step: Seconds(clock_step).to_string(),
    }
}

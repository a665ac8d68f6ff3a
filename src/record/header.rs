//! What was measured, where, when and how.

use std::collections::BTreeMap;

use crate::{
    plan::{Mode, Noise, Plan},
    units::{Bytes, Hosts},
};

/// What an item of the plan says in a merged run whose parts differ in it.
pub const MIXED: &str = "mixed";

/// The item of the plan that only merged runs have: when their parts were created, RFC 3339, separated by spaces.
pub const MERGED: &str = "merged_created";

/// Describes a run; the same for every one of its matrices.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// What was exchanged.
    pub mode: Mode,
    /// Who took part.
    pub hosts: Hosts,
    /// The lengths that were to be measured, ascending.
    pub planned: Vec<Bytes>,
    /// network_tests2's begin, end (exclusive) and step in bytes; the step is 0 where the sweep is not linear.
    pub begin_end_step: (Bytes, Bytes, Bytes),
    /// Samples per cell, or the most of them.
    pub iterations: u32,
    /// Noise of the modes that have it.
    pub noise: Noise,
    /// The items of the plan ([`Plan::items`]) by name; empty for runs of network_tests2, which did not tell.
    pub plan: BTreeMap<String, String>,
    /// Where the run comes from.
    pub provenance: Provenance,
}

/// Where a run comes from. Empty texts: not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Command line.
    pub command: String,
    /// Name and version of the program that measured.
    pub program_version: String,
    /// Name and version of the MPI library.
    pub mpi_library: String,
    /// Start of the measurement, UTC, RFC 3339.
    pub created: String,
    /// Slurm's number of the job.
    pub slurm_job_id: String,
    /// Slurm's list of the job's nodes.
    pub slurm_job_nodelist: String,
    /// Smallest step of `MPI_Wtime` at the start, on the rank where it was largest, with its unit.
    pub clock_step: String,
}

impl Provenance {
    /// All entries by the name that they have in files.
    pub fn entries(&self) -> [(&'static str, &str); 7] {
        [
            ("command", &self.command),
            ("program_version", &self.program_version),
            ("mpi_library", &self.mpi_library),
            ("created", &self.created),
            ("slurm_job_id", &self.slurm_job_id),
            ("slurm_job_nodelist", &self.slurm_job_nodelist),
            ("clock_step", &self.clock_step),
        ]
    }

    /// The inverse of [`Provenance::entries`].
    pub fn from_entries(mut value: impl FnMut(&str) -> Option<String>) -> Self {
        let mut take = |name| value(name).unwrap_or_default();
        Self {
            command: take("command"),
            program_version: take("program_version"),
            mpi_library: take("mpi_library"),
            created: take("created"),
            slurm_job_id: take("slurm_job_id"),
            slurm_job_nodelist: take("slurm_job_nodelist"),
            clock_step: take("clock_step"),
        }
    }
}

impl Header {
    /// Of the run that carries out `plan`.
    pub fn of(plan: &Plan, provenance: Provenance) -> Self {
        Self {
            mode: plan.mode,
            hosts: plan.hosts.clone(),
            planned: plan.lengths().to_vec(),
            begin_end_step: plan.config.sweep.begin_end_step(),
            iterations: plan.config.iterations,
            noise: plan.config.noise,
            plan: plan.items().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            provenance,
        }
    }

    /// An item of the plan, such as `timing`; `None` where the run does not tell.
    pub fn item(&self, name: &str) -> Option<&str> {
        self.plan.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provenance_survives_its_entries() {
        let provenance = Provenance {
            command: "a".into(),
            program_version: "b".into(),
            mpi_library: "c".into(),
            created: "d".into(),
            slurm_job_id: "e".into(),
            slurm_job_nodelist: "f".into(),
            clock_step: "g".into(),
        };
        let entries = provenance.entries();
        let find = |name: &str| entries.iter().find(|entry| entry.0 == name).map(|entry| entry.1.to_owned());
        assert_eq!(Provenance::from_entries(find), provenance);
    }
}

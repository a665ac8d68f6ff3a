//! What was measured, where, when and how.

use std::collections::BTreeMap;

use super::Statistic;
use crate::{
    plan::{Mode, NUMBERS, Noise, OPTIONAL_STATISTICS, PLAN_VERSION, Plan, Rounds, Schedule},
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

/// Reads and writes fields by their names, which are those in files.
macro_rules! named_fields {
    ($($name:ident),*) => {
        /// All entries by the name that they have in files.
        pub fn entries(&self) -> [(&'static str, &str); [$(stringify!($name)),*].len()] {
            [$((stringify!($name), self.$name.as_str())),*]
        }

        /// The inverse of [`Provenance::entries`].
        pub fn from_entries(mut value: impl FnMut(&str) -> Option<String>) -> Self {
            Self { $($name: value(stringify!($name)).unwrap_or_default()),* }
        }
    };
}

impl Provenance {
    named_fields!(command, program_version, mpi_library, created, slurm_job_id, slurm_job_nodelist, clock_step);
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

    /// Whether this is the description of the very same run, in whatever form it is stored. A run that tells when and
    /// where it was made is made there and then once; others are never known to be the same.
    pub fn is_of_same_run(&self, other: &Self) -> bool {
        !self.provenance.created.is_empty()
            && self.provenance == other.provenance
            && self.hosts == other.hosts
            && self.plan == other.plan
    }

    /// The optional statistics that the run was asked for.
    pub fn optional_statistics(&self) -> Vec<Statistic> {
        let asked = self.item(OPTIONAL_STATISTICS).unwrap_or_default();
        Statistic::OPTIONAL.into_iter().filter(|one| asked.split(' ').any(|name| name == one.name())).collect()
    }

    /// An item of the plan, such as `timing`; `None` where the run does not tell.
    pub fn item(&self, name: &str) -> Option<&str> {
        self.plan.get(name).map(String::as_str)
    }

    /// An item of the plan that is a whole number; `None` where it is a word instead, such as `all`.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.item(name).filter(|_| NUMBERS.contains(&name))?.parse().ok()
    }

    /// Whether payloads were checked, if only in some of the runs that were merged.
    pub fn is_verified(&self) -> bool {
        matches!(self.item("verify"), Some("true" | MIXED))
    }

    /// Which pairs were measured at the same time; one at a time where the run does not say.
    pub fn schedule(&self) -> Schedule {
        self.item("schedule").and_then(|name| name.parse().ok()).unwrap_or(Schedule::Isolated)
    }

    /// The rounds in which a length was measured; `None` where the run does not say, or was merged from several.
    pub fn rounds(&self, length: Bytes) -> Option<Rounds<'_>> {
        let schedule = self.item("schedule")?.parse().ok()?;
        let sample_rounds = match self.item("sample_rounds")? {
            "all" => None,
            number => Some(number.parse().ok()?),
        };
        let index = self.planned.iter().position(|planned| *planned == length)?;
        let is_known = self.number("plan_version") == Some(PLAN_VERSION.into()) && self.item(MERGED).is_none();
        is_known.then_some(Rounds::drawn(
            &self.hosts,
            (self.mode, schedule),
            (self.number("seed")?, sample_rounds),
            index,
        ))
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

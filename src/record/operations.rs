//! Measured operations: collective algorithms and patterns on P processes, what fits of their models need, and
//! programs.
//!
//! One [`Measured`] is the time of the slowest process from the common start on, summarised over the samples. Times are
//! in seconds, lengths in bytes; a cell that was not, or not yet, measured has no samples and is NaN.

use std::collections::BTreeMap;

pub use crate::plan::operation::ProbeKind;

use super::Provenance;
use crate::{
    plan::operation::Operation,
    stats::Summary,
    units::{Bytes, Hosts, Rank},
};

/// All samples of one thing, summarised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Seconds.
    pub summary: Summary,
    /// Number of samples; 0: not measured.
    pub samples: u32,
    /// Number of samples whose result was wrong.
    pub damaged: u32,
    /// How far off the common start may be, in seconds: the median time in the second of two barriers, of the process
    /// where it is largest. NaN where there is no common start.
    pub skew: f64,
}

impl Measured {
    /// Nothing.
    pub const NOTHING: Self = Self { summary: Summary::MISSING, samples: 0, damaged: 0, skew: f64::NAN };

    /// Whether there are samples.
    pub fn is_there(&self) -> bool {
        self.samples > 0
    }
}

/// One kind of probe between two ranks, or on one, over all lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// What was measured.
    pub kind: ProbeKind,
    /// Who sends, or works.
    pub source: Rank,
    /// Who receives; the same rank where `kind` is local.
    pub destination: Rank,
    /// Messages of a train, n; else 1.
    pub messages: u32,
    /// `[length]`: the pause d behind each message, in seconds; 0 where there is none.
    pub delays: Vec<f64>,
    /// `[length]`.
    pub measured: Vec<Measured>,
}

/// A program of steps (work, then messages) that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramRun {
    /// Name of its file, without folders.
    pub name: String,
    /// Its text, as it was read.
    pub text: String,
    /// Number of processes.
    pub procs: usize,
    /// The slowest process.
    pub measured: Measured,
    /// `[process]`: median time of each.
    pub own: Vec<f64>,
}

/// A run of operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations {
    /// All ranks of the run, whether or not they take part in an operation.
    pub hosts: Hosts,
    /// What was to be measured, none twice.
    pub operations: Vec<Operation>,
    /// Numbers of processes, ascending.
    pub procs: Vec<usize>,
    /// `[procs][process]`: the rank that each process is.
    pub members: Vec<Vec<Rank>>,
    /// All lengths of all operations, ascending; what they count is said by [`crate::plan::operation::Counts`].
    pub lengths: Vec<Bytes>,
    /// The items of the plan by name.
    pub plan: BTreeMap<String, String>,
    /// Where the run comes from.
    pub provenance: Provenance,
    /// Whether all that was planned was measured.
    pub complete: bool,
    /// What fits need besides.
    pub probes: Vec<Probe>,
    /// Programs, in the order of the command line.
    pub programs: Vec<ProgramRun>,
    /// `[operation][procs][length]`.
    measured: Vec<Measured>,
    /// `[operation][length][process of the largest P]`: median time of each, in seconds.
    own: Vec<f64>,
}

impl Operations {
    /// Nothing measured yet. `members` is `[procs][process]`; its lengths are the numbers of processes.
    pub fn new(
        hosts: Hosts,
        operations: Vec<Operation>,
        members: Vec<Vec<Rank>>,
        lengths: Vec<Bytes>,
        plan: BTreeMap<String, String>,
        provenance: Provenance,
    ) -> Self {
        let procs: Vec<usize> = members.iter().map(Vec::len).collect();
        let largest = procs.last().copied().unwrap_or(0);
        let measured = vec![Measured::NOTHING; operations.len() * procs.len() * lengths.len()];
        let own = vec![f64::NAN; operations.len() * lengths.len() * largest];
        Self {
            hosts,
            operations,
            procs,
            members,
            lengths,
            plan,
            provenance,
            complete: false,
            probes: Vec::new(),
            programs: Vec::new(),
            measured,
            own,
        }
    }

    /// Largest number of processes; 0 where there is none.
    pub fn largest(&self) -> usize {
        self.procs.last().copied().unwrap_or(0)
    }

    /// The slowest process's time of an operation, by numbers in `operations`, `procs` and `lengths`.
    pub fn measured(&self, operation: usize, procs: usize, length: usize) -> &Measured {
        &self.measured[self.place(operation, procs, length)]
    }

    /// The same, to be set.
    pub fn measured_mut(&mut self, operation: usize, procs: usize, length: usize) -> &mut Measured {
        let place = self.place(operation, procs, length);
        &mut self.measured[place]
    }

    fn place(&self, operation: usize, procs: usize, length: usize) -> usize {
        (operation * self.procs.len() + procs) * self.lengths.len() + length
    }

    /// `[process]`: median completion time of each process with the largest number of processes.
    pub fn own(&self, operation: usize, length: usize) -> &[f64] {
        let place = (operation * self.lengths.len() + length) * self.largest();
        &self.own[place..][..self.largest()]
    }

    /// The same, to be set.
    pub fn own_mut(&mut self, operation: usize, length: usize) -> &mut [f64] {
        let (place, largest) = ((operation * self.lengths.len() + length) * self.largest(), self.largest());
        &mut self.own[place..][..largest]
    }

    /// Number of an operation, if the run has it.
    pub fn find(&self, operation: Operation) -> Option<usize> {
        self.operations.iter().position(|found| *found == operation)
    }

    /// How many cells of operations have samples.
    pub fn cells(&self) -> usize {
        self.measured.iter().filter(|measured| measured.is_there()).count()
    }

    /// How many samples had a wrong result, in all.
    pub fn damaged(&self) -> u64 {
        let programs = self.programs.iter().map(|program| &program.measured);
        self.measured.iter().chain(programs).map(|measured| u64::from(measured.damaged)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_a_place_of_its_own() {
        let operations: Vec<Operation> = ["bcast", "shift:q=1"].map(|name| name.parse().unwrap()).into();
        let members = vec![vec![0, 1], vec![0, 1, 2]];
        let lengths = vec![Bytes(8), Bytes(64)];
        let hosts = Hosts::new(["a", "b", "c"]);
        let mut run = Operations::new(hosts, operations, members, lengths, BTreeMap::new(), Provenance::default());
        for (number, (operation, procs, length)) in
            (0..8).map(|number| (number / 4, number / 2 % 2, number % 2)).enumerate()
        {
            assert!(!run.measured(operation, procs, length).is_there());
            run.measured_mut(operation, procs, length).samples = number as u32 + 1;
            run.own_mut(operation, length)[2] = number as f64;
        }
        assert_eq!((run.cells(), run.measured(1, 0, 1).samples, run.own(1, 1)[2]), (8, 6, 7.0));
        assert_eq!(run.find("shift:q=1".parse().unwrap()), Some(1));
    }
}

//! Operations on P processes: what every process does, and how it is timed.
//!
//! In: an `OperationPlan`. Out: the times of the slowest process and of every process, at
//! the root. An operation is one small file ([`make`] is the list of them) behind the trait [`Carried`]; [`sampler`]
//! takes its samples, `probes` those of what fits need besides, [`tour`] goes through the plan. Each number of
//! processes has a communicator of its own, in which process 0 is rank 0 of the job.

mod access;
mod blocks;
mod broadcast;
mod library;
mod local;
mod pairwise;
mod probes;
mod reduction;
mod relation;
mod sampler;
mod shift;
mod supersteps;
mod tour;

use mpi::topology::SimpleCommunicator;
use netmatrix::{
    plan::operation::{Algorithm, Operation},
    units::{Hosts, Rank},
};

use super::{
    TrafficError,
    buffer::Buffer,
    clock::wait_until,
    ffi::{MpiError, Window, Wire},
    tree::Tree,
};

pub use tour::{Keeper, Tour, TourEnd, TourEvent};

/// Memory that is not there, or a call that failed, while an operation is made.
type NewError = TrafficError;

/// Where an operation is carried out.
struct Stage<'a> {
    /// Over the processes; errors return.
    wire: &'a Wire,
    /// Over the processes, for the library's collective calls; errors end the job.
    comm: &'a SimpleCommunicator,
    /// This process.
    me: usize,
    /// Number of processes.
    procs: usize,
    /// `[place]`: the processes of a host, ascending; each by itself where all are on one host.
    places: &'a [Vec<usize>],
    /// Seconds per byte by which copies and sums are made longer, for tests.
    compute: f64,
}

impl Stage<'_> {
    /// All processes, for what they do together between measurements.
    fn tree(&self) -> Tree<'_> {
        Tree { wire: self.wire, me: self.me, ranks: self.procs }
    }

    /// Place of this process, and the processes there.
    fn place(&self) -> (usize, &[usize]) {
        let place = self.places.iter().position(|ranks| ranks.contains(&self.me)).unwrap_or(0);
        (place, &self.places[place])
    }

    /// Stands behind each copy and each sum of so many bytes: takes as long as a test asks for.
    #[inline]
    fn compute(&self, bytes: usize) {
        if self.compute > 0.0 {
            wait_until(mpi::time() + bytes as f64 * self.compute);
        }
    }

    /// A window of so many bytes. Collective.
    fn window(&self, bytes: usize) -> Result<Window, NewError> {
        Ok(Window::over(self.wire, Buffer::touched(bytes.max(1), 0)?)?)
    }
}

/// An operation with the buffers of one length.
trait Carried {
    /// What has to be done before all come together: makes an old result unrecognisable.
    fn before(&mut self, _stage: &Stage<'_>) -> Result<(), MpiError> {
        Ok(())
    }

    /// This process's part, which is timed.
    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError>;

    /// Whether this process has what it should have.
    fn is_right(&mut self, stage: &Stage<'_>) -> bool;

    /// Gives back what needs all processes. Collective.
    fn close(self: Box<Self>) -> Result<(), MpiError> {
        Ok(())
    }
}

/// The list of operations: what each carries out. Collective.
fn make(operation: Operation, stage: &Stage<'_>, length: usize) -> Result<Box<dyn Carried>, NewError> {
    use Algorithm as A;
    let Operation { algorithm, parameter } = operation;
    Ok(match algorithm {
        A::Bcast
        | A::Reduce
        | A::Allgather
        | A::ReduceScatter
        | A::Alltoall
        | A::Allreduce
        | A::Scan
        | A::Scatter
        | A::Gather
        | A::Barrier => Box::new(library::Library::new(algorithm, stage, length)?),
        // Of the h bytes each of the others receives as much.
        A::OneToAllBroadcast => Box::new(library::Library::new(algorithm, stage, length / 4 / (stage.procs - 1) * 4)?),
        A::Shift => Box::new(shift::Shift::new(parameter as usize, stage, length)?),
        A::AlltoallPairwise => Box::new(pairwise::Pairwise::new(stage, length)?),
        A::BcastNaive => Box::new(broadcast::Broadcast::new(true, stage, length)?),
        A::BcastHypercube => Box::new(broadcast::Broadcast::new(false, stage, length)?),
        A::ReduceBinomial
        | A::ReduceOrderedFirst
        | A::ReduceOrderedLast
        | A::ReduceBinaryLast
        | A::ReduceBinaryFirst
        | A::ReduceChainsShortFirst
        | A::ReduceChainsLongFirst => Box::new(reduction::Reduction::new(operation, stage, length)?),
        A::Exchange | A::PingPong | A::OneToAll | A::AllToOne | A::AllToAll => {
            Box::new(relation::Relation::new(algorithm, stage, length)?)
        }
        A::BlockReduceCentral | A::BlockReduceDissemination | A::LinearReduce => {
            Box::new(blocks::Blocks::new(algorithm, stage, length)?)
        }
        A::AccessWhole | A::AccessElement | A::AccessPreload => {
            Box::new(access::Access::new(algorithm, parameter as usize, stage, length)?)
        }
    })
}

/// The processes by host, in their order; each by itself where all are on one host. `members` are their ranks.
fn places(hosts: &Hosts, members: &[Rank]) -> Vec<Vec<usize>> {
    let mut places: Vec<(usize, Vec<usize>)> = Vec::new();
    for (process, rank) in members.iter().enumerate() {
        let host = hosts.host_of(*rank);
        match places.iter_mut().find(|(known, _)| *known == host) {
            Some((_, processes)) => processes.push(process),
            None => places.push((host, vec![process])),
        }
    }
    match &places[..] {
        [(_, processes)] => processes.iter().map(|process| vec![*process]).collect(),
        _ => places.into_iter().map(|(_, processes)| processes).collect(),
    }
}

/// The byte of which a block consists that goes from one process to another; never 0.
fn mark(from: usize, to: usize) -> u8 {
    (1 + (31 * from + 7 * to) % 251) as u8
}

/// An operand of a sum: element `place` of a process, a whole number, of which sums are exact in any order.
fn summand(process: usize, place: usize) -> f64 {
    ((process + 1) * (1 + place % 97)) as f64
}

/// The sum of element `place` over the first `processes` processes.
fn sum(processes: usize, place: usize) -> f64 {
    (processes * (processes + 1) / 2 * (1 + place % 97)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_host_are_hosts_of_their_own() {
        let hosts = Hosts::new(["a", "a", "b", "a"]);
        assert_eq!(places(&hosts, &[0, 1, 3, 2]), [vec![0, 1, 2], vec![3]]);
        assert_eq!(places(&hosts, &[0, 3]), [vec![0], vec![1]]);
    }

    #[test]
    fn sums_are_those_of_the_operands() {
        for place in [0, 5, 96, 97, 1000] {
            assert_eq!((0..9).map(|process| summand(process, place)).sum::<f64>(), sum(9, place));
        }
    }
}

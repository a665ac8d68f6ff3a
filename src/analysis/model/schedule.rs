//! What every process of an operation does, action by action, as `network_test` carries it out.
//!
//! In: an operation that is built from messages of one length. Out: lists of [`Action`]s for [`super::logp`]. Collective
//! calls of a library have none: what it sends is not known.

use super::logp::Action;
use crate::plan::operation::{
    Algorithm, Group, Operation,
    steps::{self, Combine, ReduceStep},
};

/// Messages of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// `[process]`.
    pub actions: Vec<Vec<Action>>,
    /// Bytes of each message.
    pub bytes: u64,
    /// Whether receives are posted before and sends completed later, so that messages are under way together.
    pub together: bool,
}

impl Schedule {
    /// Of an operation at one of its lengths; `None` where it is not made of messages of one length.
    pub fn of(operation: Operation, procs: usize, length: u64) -> Option<Self> {
        let algorithm = operation.algorithm;
        let others = procs.saturating_sub(1).max(1) as u64;
        let bytes = match algorithm {
            _ if algorithm.group() == Group::Reductions => length,
            Algorithm::BcastNaive | Algorithm::BcastHypercube | Algorithm::AlltoallPairwise | Algorithm::Shift => {
                length
            }
            Algorithm::Exchange => length / 2,
            Algorithm::PingPong => length,
            Algorithm::OneToAll | Algorithm::AllToOne => length / others,
            Algorithm::AllToAll => length / (2 * others),
            _ => return None,
        };
        let actions = (0..procs).map(|me| actions(operation, procs, me)).collect();
        // Patterns count in words.
        let bytes = if algorithm.group() == Group::Relations { bytes / 4 * 4 } else { bytes };
        let together = matches!(algorithm.group(), Group::Relations)
            || matches!(algorithm, Algorithm::Shift | Algorithm::AlltoallPairwise);
        Some(Self { actions, bytes, together })
    }
}

fn actions(operation: Operation, procs: usize, me: usize) -> Vec<Action> {
    let others = || (1..procs).map(|step| (me + step) % procs);
    let both = |other: usize| [Action::Send(other), Action::Receive(other)];
    let half = procs / 2;
    match operation.algorithm {
        Algorithm::BcastNaive | Algorithm::BcastHypercube => {
            let (from, to) = steps::broadcast(procs, me, operation.algorithm == Algorithm::BcastNaive);
            from.map(Action::Receive).into_iter().chain(to.into_iter().map(Action::Send)).collect()
        }
        Algorithm::AlltoallPairwise => steps::pairwise(procs, me).flat_map(both).collect(),
        Algorithm::Shift => {
            let by = operation.parameter as usize % procs;
            vec![Action::Send((me + by) % procs), Action::Receive((me + procs - by) % procs)]
        }
        Algorithm::Exchange => both((me + half) % procs).into(),
        Algorithm::PingPong if me < half => vec![Action::Send(me + half)],
        Algorithm::PingPong => vec![Action::Receive(me - half)],
        Algorithm::OneToAll if me == 0 => others().map(Action::Send).collect(),
        Algorithm::OneToAll => vec![Action::Receive(0)],
        Algorithm::AllToOne if me == 0 => others().map(Action::Receive).collect(),
        Algorithm::AllToOne => vec![Action::Send(0)],
        Algorithm::AllToAll => others().map(Action::Send).chain(others().map(Action::Receive)).collect(),
        _ => reduction(operation, procs, me),
    }
}

/// Of Kurnosov's algorithms.
pub fn reduction(operation: Operation, procs: usize, me: usize) -> Vec<Action> {
    let of = |step: ReduceStep| match step {
        ReduceStep::Copy => vec![Action::Copy],
        ReduceStep::SendOwn { to } | ReduceStep::Send { to } => vec![Action::Send(to)],
        ReduceStep::Receive { from, combine } => match combine {
            Combine::Right | Combine::Left | Combine::WithOwn => vec![Action::Receive(from), Action::Reduce],
            Combine::RightCopied => vec![Action::Receive(from), Action::Reduce, Action::Copy],
            Combine::Replace => vec![Action::Receive(from)],
        },
    };
    steps::reduce(operation, procs, me).into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::model::logp::{Costs, GapRule, simulate, slowest};

    #[test]
    fn every_operation_of_messages_ends_and_its_busiest_process_has_h_bytes() {
        for algorithm in Algorithm::all() {
            for procs in [2, 4, 5, 6, 8, 24].into_iter().filter(|procs| algorithm.suits(*procs)) {
                let operation = Operation { algorithm, parameter: 1 };
                let Some(schedule) = Schedule::of(operation, procs, 4 * 4830) else { continue };
                let times =
                    simulate(&schedule.actions, &Costs::logp(2.0, 4.0, 3.0, 1.0), |_, _| 6.0, GapRule::Separate);
                assert!(slowest(&times).is_finite(), "{operation} on {procs}");
                if algorithm.group() == Group::Relations {
                    let moves = |list: &Vec<Action>| list.iter().filter(|a| !matches!(a, Action::Copy)).count() as u64;
                    let busiest = schedule.actions.iter().map(moves).max().unwrap_or(0) * schedule.bytes;
                    assert!(busiest <= 4 * 4830 && busiest + 4 * 48 > 4 * 4830, "{operation} on {procs}: {busiest}");
                }
            }
        }
        assert_eq!(Schedule::of(Operation::plain(Algorithm::Bcast), 4, 8), None);
    }

    #[test]
    fn broadcasts_take_their_closed_forms() {
        // o = 2, L = 6, g = 4: 2o + L a level; P-1 messages one after the other.
        let time = |algorithm, procs| {
            let schedule = Schedule::of(Operation::plain(algorithm), procs, 1).unwrap();
            slowest(&simulate(&schedule.actions, &Costs::logp(2.0, 4.0, 0.0, 0.0), |_, _| 6.0, GapRule::Separate))
        };
        assert_eq!(time(Algorithm::BcastHypercube, 8), 30.0);
        assert_eq!(time(Algorithm::BcastNaive, 8), 6.0 * 4.0 + 10.0);
        assert_eq!(time(Algorithm::Shift, 8), 10.0);
    }
}

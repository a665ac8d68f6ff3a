//! Who sends what to whom, in which order: reductions after Kurnosov, broadcasts and all-to-all after Barnat.
//!
//! In: an algorithm, a number of processes. Out: the steps of one process, in order. Nothing is sent here; what the
//! steps of all processes come to is checked by carrying them out in memory (the tests of this module).

use super::{Algorithm, Operation};

/// How a received block is combined with what a process has. Blocks stand for ranges of processes, and `*` is the
/// operation that reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// result = result * received.
    Right,
    /// result = result * received, by reducing into the received block and copying it to the result: what a reduction
    /// in place does whose left operand is given and whose right operand is replaced (`MPI_User_function`).
    RightCopied,
    /// result = received * result.
    Left,
    /// result = received * own data: the process has copied nothing.
    WithOwn,
    /// result = received.
    Replace,
}

/// One step of a process in a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceStep {
    /// Copies its own data to the result.
    Copy,
    /// Receives a block.
    Receive {
        /// The process that sends it.
        from: usize,
        /// What is done with it.
        combine: Combine,
    },
    /// Sends its own data.
    SendOwn {
        /// To this process.
        to: usize,
    },
    /// Sends the result.
    Send {
        /// To this process.
        to: usize,
    },
}

/// The process that has the result.
pub fn root(algorithm: Algorithm, procs: usize) -> usize {
    match algorithm {
        Algorithm::ReduceOrderedLast | Algorithm::ReduceBinaryLast => procs.saturating_sub(1),
        _ => 0,
    }
}

/// Whether the operands are combined in the order of the processes, so that the operation need not commute.
pub fn keeps_order(algorithm: Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::ReduceOrderedFirst
            | Algorithm::ReduceOrderedLast
            | Algorithm::ReduceBinaryFirst
            | Algorithm::ReduceBinaryLast
    )
}

/// The steps of process `me` in a reduction of the group [`super::Group::Reductions`]; none for other algorithms.
///
/// Source: Kurnosov, "Dynamic optimization of algorithms of all-to-one communication" (models.md 2).
pub fn reduce(operation: Operation, procs: usize, me: usize) -> Vec<ReduceStep> {
    let root = root(operation.algorithm, procs);
    let mut steps = match operation.algorithm {
        Algorithm::ReduceBinomial => binomial(procs, me, Combine::Right),
        Algorithm::ReduceOrderedFirst | Algorithm::ReduceOrderedLast => binomial(procs, me, Combine::RightCopied),
        Algorithm::ReduceBinaryFirst | Algorithm::ReduceBinaryLast => binary(procs, me),
        Algorithm::ReduceChainsShortFirst => chains(operation.chains(procs), procs, me, true),
        Algorithm::ReduceChainsLongFirst => chains(operation.chains(procs), procs, me, false),
        _ => return Vec::new(),
    };
    // The tree's root is where its order leads; the result goes on from there.
    let top = match operation.algorithm {
        Algorithm::ReduceBinaryFirst | Algorithm::ReduceBinaryLast => procs.saturating_sub(1),
        _ => 0,
    };
    if top != root && me == top {
        steps.push(ReduceStep::Send { to: root });
    }
    if top != root && me == root {
        steps.push(ReduceStep::Receive { from: top, combine: Combine::Replace });
    }
    steps
}

/// Round i: who has bit i set sends to me - 2^i and is done, the others receive from me + 2^i.
fn binomial(procs: usize, me: usize, combine: Combine) -> Vec<ReduceStep> {
    let mut steps = vec![ReduceStep::Copy];
    let mut bit = 1;
    while bit < procs {
        if me & bit != 0 {
            steps.push(ReduceStep::Send { to: me - bit });
            break;
        }
        if me + bit < procs {
            steps.push(ReduceStep::Receive { from: me + bit, combine });
        }
        bit *= 2;
    }
    steps
}

/// The node of a block of n processes is its last one; its right subtree is the first half, its left one lies between.
/// Leaves copy nothing, the others while they wait.
fn binary(procs: usize, me: usize) -> Vec<ReduceStep> {
    let (mut first, mut n) = (0, procs);
    let mut parent = None;
    // Down to the block of which `me` is the last.
    while first + n - 1 != me {
        let (node, right) = (first + n - 1, n / 2);
        parent = Some(node);
        if me < first + right {
            n = right;
        } else {
            (first, n) = (first + right, n - right - 1);
        }
    }
    let (right, left) = (n / 2, n - n / 2 - 1);
    let mut steps = Vec::new();
    if n > 1 || parent.is_none() {
        steps.push(ReduceStep::Copy);
    }
    // A single child is a left one: it is the block below.
    let children = [(left > 0).then(|| me.wrapping_sub(1)), (right > 0).then(|| first + right.wrapping_sub(1))];
    for from in children.into_iter().flatten() {
        steps.push(ReduceStep::Receive { from, combine: Combine::Left });
    }
    steps.extend(parent.map(|to| if n > 1 { ReduceStep::Send { to } } else { ReduceStep::SendOwn { to } }));
    steps
}

/// The processes of the chains: `[chain]`, first process (which sends to the root) and length, the long ones first.
fn chain_lengths(chains: usize, procs: usize) -> Vec<(usize, usize)> {
    let others = procs.saturating_sub(1);
    let (short, long) = (others / chains.max(1), others % chains.max(1));
    let mut first = 1;
    let lengths = (0..chains).map(|chain| short + usize::from(chain < long)).filter(|length| *length > 0);
    let chain = |length| {
        first += length;
        (first - length, length)
    };
    lengths.map(chain).collect()
}

fn chains(chains: usize, procs: usize, me: usize, short_first: bool) -> Vec<ReduceStep> {
    let mut list = chain_lengths(chains, procs);
    if me == 0 {
        if short_first {
            // Stable: chains of one length stay in their order.
            list.sort_by_key(|(_, length)| *length);
        }
        let heads = list.into_iter().map(|(from, _)| ReduceStep::Receive { from, combine: Combine::Right });
        return std::iter::once(ReduceStep::Copy).chain(heads).collect();
    }
    let Some((first, length)) = list.into_iter().find(|(first, length)| (*first..first + length).contains(&me)) else {
        return Vec::new();
    };
    let to = if me == first { 0 } else { me - 1 };
    if me + 1 == first + length {
        return vec![ReduceStep::SendOwn { to }];
    }
    vec![ReduceStep::Receive { from: me + 1, combine: Combine::WithOwn }, ReduceStep::Send { to }]
}

/// From whom process `me` receives a broadcast of process 0 (`None`: it is process 0), and to whom it sends it then, in
/// order. Along the dimensions of a hypercube, the highest first, where P need not be a power of two; or, `naive`, from
/// process 0 to one after the other.
pub fn broadcast(procs: usize, me: usize, naive: bool) -> (Option<usize>, Vec<usize>) {
    if naive {
        return if me == 0 { (None, (1..procs).collect()) } else { (Some(0), Vec::new()) };
    }
    let dimensions = procs.next_power_of_two().trailing_zeros();
    // Whoever's lowest set bit is i has it from the end of the phase of i on.
    let lowest = if me == 0 { dimensions } else { me.trailing_zeros() };
    let from = (me > 0).then(|| me & (me - 1));
    (from, (0..lowest).rev().map(|bit| me | 1 << bit).filter(|to| *to < procs).collect())
}

/// With whom process `me` exchanges blocks, round by round: `me` xor round, where there is such a process.
pub fn pairwise(procs: usize, me: usize) -> impl Iterator<Item = usize> {
    (1..procs.next_power_of_two()).map(move |round| me ^ round).filter(move |other| *other < procs)
}

/// Levels of a tree over hosts: in each, neighbours of the list of those that are left are combined on the first, which
/// fetches from the second; an odd last one is carried over. `[level][pair]`: (who fetches, from whom).
///
/// Source: Kulagin, Paznikov, Kurnosov (models.md 5).
pub fn levels(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    let mut left: Vec<usize> = (0..hosts).collect();
    let mut levels = Vec::new();
    while left.len() > 1 {
        levels.push(left.as_chunks::<2>().0.iter().map(|pair| (pair[0], pair[1])).collect());
        left = left.into_iter().step_by(2).collect();
    }
    levels
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;

    /// Carries out the steps of all processes: messages between two processes keep their order. Texts stand for blocks,
    /// so that the order of operands can be seen. What every process has at the end, and how many messages there were.
    fn carried_out(operation: Operation, procs: usize) -> (Vec<Option<String>>, usize) {
        let mut programs: Vec<VecDeque<ReduceStep>> =
            (0..procs).map(|me| reduce(operation, procs, me).into()).collect();
        let own = |me: usize| format!("{me},");
        let mut results: Vec<Option<String>> = vec![None; procs];
        let mut ways: HashMap<(usize, usize), VecDeque<String>> = HashMap::new();
        let mut messages = 0;
        loop {
            let mut moved = false;
            for me in 0..procs {
                while let Some(step) = programs[me].front().copied() {
                    match step {
                        ReduceStep::Copy => results[me] = Some(own(me)),
                        ReduceStep::SendOwn { to } => {
                            messages += 1;
                            ways.entry((me, to)).or_default().push_back(own(me));
                        }
                        ReduceStep::Send { to } => {
                            messages += 1;
                            ways.entry((me, to)).or_default().push_back(results[me].clone().unwrap());
                        }
                        ReduceStep::Receive { from, combine } => {
                            let Some(got) = ways.get_mut(&(from, me)).and_then(VecDeque::pop_front) else { break };
                            let had = results[me].clone();
                            results[me] = Some(match combine {
                                Combine::Right | Combine::RightCopied => had.unwrap() + &got,
                                Combine::Left => got + &had.unwrap(),
                                Combine::WithOwn => got + &own(me),
                                Combine::Replace => got,
                            });
                        }
                    }
                    programs[me].pop_front();
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert!(programs.iter().all(VecDeque::is_empty), "{operation} on {procs}: {programs:?}");
        assert!(ways.values().all(VecDeque::is_empty), "{operation} on {procs}: nobody takes {ways:?}");
        (results, messages)
    }

    fn operations() -> Vec<Operation> {
        let reductions = Algorithm::all().filter(|algorithm| algorithm.group() == super::super::Group::Reductions);
        reductions
            .flat_map(|algorithm| {
                let parameters = if algorithm.parameter().is_some() { 0..66 } else { 0..1 };
                parameters.map(move |parameter| Operation { algorithm, parameter })
            })
            .collect()
    }

    #[test]
    fn every_reduction_brings_everybody_to_the_root_once() {
        for operation in operations() {
            for procs in 1..=64 {
                let (results, messages) = carried_out(operation, procs);
                let root = root(operation.algorithm, procs);
                let result = results[root].as_ref().unwrap_or_else(|| panic!("{operation} on {procs}"));
                let mut parts: Vec<usize> = result.split_terminator(',').map(|part| part.parse().unwrap()).collect();
                if !keeps_order(operation.algorithm) {
                    parts.sort_unstable();
                }
                assert!(parts.into_iter().eq(0..procs), "{operation} on {procs}: {result}");
                let further = match operation.algorithm {
                    Algorithm::ReduceOrderedLast | Algorithm::ReduceBinaryFirst => usize::from(procs > 1),
                    _ => 0,
                };
                assert_eq!(messages, procs - 1 + further, "{operation} on {procs}");
            }
        }
    }

    #[test]
    fn twelve_processes_in_a_binary_tree() {
        // ((a0(a1a2))((a3a4)a5)) (((a6a7)((a8a9)a10)) a11): root 11, left child 10, right child 5.
        let last = Operation::plain(Algorithm::ReduceBinaryLast);
        let from = |me: usize| -> Vec<usize> {
            let steps = reduce(last, 12, me).into_iter();
            steps
                .filter_map(|step| if let ReduceStep::Receive { from, .. } = step { Some(from) } else { None })
                .collect()
        };
        assert_eq!((from(11), from(5), from(10), from(0)), (vec![10, 5], vec![4, 2], vec![9, 7], vec![]));
        assert_eq!(reduce(last, 12, 0), [ReduceStep::SendOwn { to: 2 }]);
    }

    #[test]
    fn short_chains_come_first_where_they_are_asked_for() {
        // 10 others in 4 chains: 3, 3, 2, 2.
        let heads = |algorithm| -> Vec<usize> {
            let steps = reduce(Operation { algorithm, parameter: 4 }, 11, 0).into_iter();
            steps
                .filter_map(|step| if let ReduceStep::Receive { from, .. } = step { Some(from) } else { None })
                .collect()
        };
        assert_eq!(heads(Algorithm::ReduceChainsLongFirst), [1, 4, 7, 9]);
        assert_eq!(heads(Algorithm::ReduceChainsShortFirst), [7, 9, 1, 4]);
        let pipeline = Operation { algorithm: Algorithm::ReduceChainsLongFirst, parameter: 1 };
        assert_eq!(reduce(pipeline, 4, 3), [ReduceStep::SendOwn { to: 2 }]);
        assert_eq!(reduce(pipeline, 4, 2).len(), 2);
    }

    #[test]
    fn every_broadcast_reaches_everybody_in_time() {
        for naive in [false, true] {
            for procs in 1..=64 {
                // Round by round: who has it sends to the next of its list.
                let plans: Vec<_> = (0..procs).map(|me| broadcast(procs, me, naive)).collect();
                let mut has: Vec<Option<usize>> = vec![None; procs];
                has[0] = Some(0);
                let mut rounds = 0;
                while has.iter().any(Option::is_none) {
                    let before = has.clone();
                    for (me, (_, to)) in plans.iter().enumerate() {
                        if let Some(next) = before[me].and_then(|sent| to.get(sent)) {
                            assert_eq!(plans[*next].0, Some(me));
                            assert_eq!(has[*next].replace(0), None, "{procs}: {next} has it twice");
                            *has[me].as_mut().unwrap() += 1;
                        }
                    }
                    assert_ne!(before, has, "{procs}");
                    rounds += 1;
                }
                let expected = if naive { procs - 1 } else { procs.next_power_of_two().trailing_zeros() as usize };
                assert_eq!(rounds, expected, "{procs}");
                assert_eq!(plans.iter().map(|(_, to)| to.len()).sum::<usize>(), procs - 1);
            }
        }
    }

    #[test]
    fn pairwise_rounds_meet_everybody_once() {
        for procs in 1..=64 {
            for me in 0..procs {
                let mut others: Vec<usize> = pairwise(procs, me).collect();
                others.push(me);
                others.sort_unstable();
                assert!(others.into_iter().eq(0..procs));
            }
        }
    }

    #[test]
    fn trees_over_hosts_are_those_of_the_paper() {
        let from_1 = |hosts| -> Vec<Vec<(usize, usize)>> {
            let one = |pair: &(usize, usize)| (pair.0 + 1, pair.1 + 1);
            levels(hosts).iter().map(|level| level.iter().map(one).collect()).collect()
        };
        assert_eq!(from_1(5), [vec![(1, 2), (3, 4)], vec![(1, 3)], vec![(1, 5)]]);
        assert_eq!(from_1(6), [vec![(1, 2), (3, 4), (5, 6)], vec![(1, 3)], vec![(1, 5)]]);
        assert_eq!(from_1(7), [vec![(1, 2), (3, 4), (5, 6)], vec![(1, 3), (5, 7)], vec![(1, 5)]]);
        for hosts in 1..=64_usize {
            assert_eq!(levels(hosts).len() as u32, hosts.next_power_of_two().trailing_zeros());
            assert_eq!(levels(hosts).iter().map(Vec::len).sum::<usize>(), hosts - 1);
        }
    }
}

//! Kurnosov's algorithms of a reduction: what every process does, action by action.
//!
//! In: an algorithm, its root, the number of processes. Out: `[process]` lists of [`Action`]s, which a program can carry
//! out over blocking sends and receives and `analysis::model` can time. Source: M. G. Kurnosov, "Algorithms of MPI_Reduce
//! in the LogP model"; corrections and readings in the manual page network_test-models(7).

use crate::units::Rank;

/// Which operand of the operation the received block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// received * own.
    Left,
    /// own * received.
    Right,
}

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Copies a block.
    Copy,
    /// Sends what it has.
    Send(Rank),
    /// Receives a block.
    Receive(Rank),
    /// Combines what it has with what it has received.
    Reduce(Operand),
}

/// In which order the root takes the chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainOrder {
    /// Those with one process less come first.
    ShortFirst,
    /// Those with one process more come first.
    LongFirst,
}

/// How a reduction is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Binomial tree for commutative operations: ranks are shifted by the root.
    Binomial,
    /// The same over the true ranks, with a copy behind each reduction; process 0 sends the result to another root.
    Ordered,
    /// Balanced binary tree over consecutive ranks, whose root is P-1; it sends the result to another root.
    Binary,
    /// So many chains (at most P-1), for commutative operations: ranks are shifted by the root. 1: a pipeline, P-1: a
    /// flat tree.
    Chains(usize, ChainOrder),
}

impl Reduction {
    /// The actions of every process, `[process]`, with a root below `procs`. Empty lists where one process is alone but
    /// for its copy.
    pub fn actions(self, procs: usize, root: Rank) -> Vec<Vec<Action>> {
        match self {
            Self::Binomial => shifted(binomial(procs, false), root),
            Self::Ordered => moved(binomial(procs, true), 0, root),
            Self::Binary => moved(binary(procs), procs.saturating_sub(1), root),
            Self::Chains(count, order) => shifted(chains(procs, count, order), root),
        }
    }
}

/// The actions of a tree with root 0, with ranks counted from `root` on.
fn shifted(actions: Vec<Vec<Action>>, root: Rank) -> Vec<Vec<Action>> {
    let procs = actions.len().max(1);
    let place = |rank: Rank| (rank + root) % procs;
    let mut moved = vec![Vec::new(); actions.len()];
    for (rank, list) in actions.into_iter().enumerate() {
        let renamed = list.into_iter().map(|action| match action {
            Action::Send(to) => Action::Send(place(to)),
            Action::Receive(from) => Action::Receive(place(from)),
            other => other,
        });
        moved[place(rank)] = renamed.collect();
    }
    moved
}

/// The result travels from the root of a tree to another one.
fn moved(mut actions: Vec<Vec<Action>>, from: Rank, to: Rank) -> Vec<Vec<Action>> {
    if from != to {
        actions[from].push(Action::Send(to));
        actions[to].push(Action::Receive(from));
    }
    actions
}

/// In round i a process with bit i set sends to the one without it and is done.
fn binomial(procs: usize, ordered: bool) -> Vec<Vec<Action>> {
    let of = |rank: Rank| {
        let mut list = vec![Action::Copy];
        for bit in (0..usize::BITS).map(|bit| 1usize << bit).take_while(|bit| *bit < procs) {
            if rank & bit != 0 {
                list.push(Action::Send(rank - bit));
                break;
            }
            if rank + bit < procs {
                list.extend([Action::Receive(rank + bit), Action::Reduce(Operand::Right)]);
                list.extend(ordered.then_some(Action::Copy));
            }
        }
        list
    };
    (0..procs).map(of).collect()
}

/// The node of a block of consecutive ranks is its highest; the first half of the block is its right child's, the rest
/// its left child's, which it receives first.
fn binary(procs: usize) -> Vec<Vec<Action>> {
    let mut actions = vec![Vec::new(); procs];
    let mut blocks = vec![(0, procs)];
    while let Some((first, count)) = blocks.pop() {
        if count < 2 {
            continue;
        }
        let node = first + count - 1;
        let half = count / 2;
        // A single child is a left one.
        let children =
            if count == 2 { vec![(first, 1)] } else { vec![(first + half, count - half - 1), (first, half)] };
        let mut list = vec![Action::Copy];
        for &(begin, size) in &children {
            list.extend([Action::Receive(begin + size - 1), Action::Reduce(Operand::Left)]);
            actions[begin + size - 1].push(Action::Send(node));
        }
        // What a node does for its own children comes before what it sends.
        list.append(&mut actions[node]);
        actions[node] = list;
        blocks.extend(children);
    }
    actions
}

/// Chains of consecutive ranks, the longer ones first; the head of a chain is its lowest rank.
fn chains(procs: usize, count: usize, order: ChainOrder) -> Vec<Vec<Action>> {
    let others = procs.saturating_sub(1);
    let count = count.clamp(1, others.max(1));
    let (short, longer) = (others / count, others % count);
    let mut actions = vec![Vec::new(); procs];
    let mut heads = Vec::new();
    let mut head = 1;
    for chain in 0..count {
        let end = head + short + usize::from(chain < longer);
        for (rank, list) in (head..end).zip(&mut actions[head..end]) {
            if rank + 1 < end {
                list.extend([Action::Receive(rank + 1), Action::Reduce(Operand::Right)]);
            }
            list.push(Action::Send(if rank == head { 0 } else { rank - 1 }));
        }
        heads.extend((head < end).then_some(head));
        head = end;
    }
    if order == ChainOrder::ShortFirst {
        heads.rotate_left(longer);
    }
    if let Some(root) = actions.first_mut() {
        root.push(Action::Copy);
        heads.into_iter().for_each(|head| root.extend([Action::Receive(head), Action::Reduce(Operand::Right)]));
    }
    actions
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;

    /// Carries the actions out on texts: what the root has in the end.
    fn result(reduction: Reduction, procs: usize, root: Rank) -> String {
        let actions = reduction.actions(procs, root);
        let mut own: Vec<String> = (0..procs).map(|rank| format!("{rank:02}")).collect();
        let mut received = vec![String::new(); procs];
        let mut next = vec![0; procs];
        let mut ways: HashMap<(Rank, Rank), VecDeque<String>> = HashMap::new();
        loop {
            let before = next.clone();
            for rank in 0..procs {
                while let Some(action) = actions[rank].get(next[rank]) {
                    match *action {
                        Action::Copy => {}
                        Action::Send(to) => ways.entry((rank, to)).or_default().push_back(own[rank].clone()),
                        Action::Receive(from) => match ways.get_mut(&(from, rank)).and_then(VecDeque::pop_front) {
                            Some(block) => received[rank] = block,
                            None => break,
                        },
                        Action::Reduce(Operand::Left) => own[rank] = received[rank].clone() + &own[rank],
                        Action::Reduce(Operand::Right) => own[rank] += &received[rank],
                    }
                    next[rank] += 1;
                }
            }
            if next == before {
                break;
            }
        }
        assert!((0..procs).all(|rank| next[rank] == actions[rank].len()), "{reduction:?} on {procs} never ends");
        // A result that came from another root has not been combined.
        if received[root].len() > own[root].len() { received[root].clone() } else { own[root].clone() }
    }

    #[test]
    fn every_algorithm_brings_every_block_to_the_root_once() {
        let sorted = |text: &str| {
            let mut parts: Vec<_> = text.as_bytes().chunks(2).map(<[u8]>::to_vec).collect();
            parts.sort();
            parts.concat()
        };
        for procs in 1..40 {
            let all: String = (0..procs).map(|rank| format!("{rank:02}")).collect();
            for root in [0, procs / 2, procs - 1] {
                for reduction in [Reduction::Ordered, Reduction::Binary] {
                    assert_eq!(result(reduction, procs, root), all, "{reduction:?} {procs} {root}");
                }
                let chains = [1, 2, 4, 7, 99].map(|count| Reduction::Chains(count, ChainOrder::ShortFirst));
                let long = Reduction::Chains(3, ChainOrder::LongFirst);
                for reduction in chains.into_iter().chain([Reduction::Binomial, long]) {
                    let found = result(reduction, procs, root);
                    assert_eq!(sorted(&found), all.as_bytes(), "{reduction:?} {procs} {root}: {found}");
                }
            }
        }
    }

    #[test]
    fn the_binary_tree_of_twelve_is_the_papers() {
        let senders = |rank: Rank| {
            let actions = Reduction::Binary.actions(12, 11);
            let from = actions[rank].iter().filter_map(|action| match action {
                Action::Receive(from) => Some(*from),
                _ => None,
            });
            from.collect::<Vec<_>>()
        };
        assert_eq!((senders(11), senders(10), senders(5)), (vec![10, 5], vec![9, 7], vec![4, 2]));
        assert_eq!((senders(9), senders(7), senders(2)), (vec![8], vec![6], vec![1, 0]));
    }
}

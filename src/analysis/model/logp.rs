//! LogP as a simulation: when does every process end what it does?
//!
//! Max-plus over the messages. A send starts when the process is free and at least g after the start of its previous send;
//! the process is free o_s later, and the message is there o_s + L after the start. A receive starts when the process is
//! free, the message is there, and at least g after the start of the previous receive; it takes o_r. Copies and reductions
//! keep the process busy. Where a library sends long messages only when they are received, a send lasts until its receive
//! has ended ([`Costs::held`]). Source: Culler and others, "LogP: Towards a realistic model of parallel computation" (1993);
//! LogGP's terms for long messages enter through the costs.

use std::collections::{HashMap, VecDeque};

use crate::units::Rank;

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Copies a block.
    Copy,
    /// Combines a block with what it has.
    Reduce,
    /// Sends a message.
    Send(Rank),
    /// Receives one.
    Receive(Rank),
}

/// What the gap g lies between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GapRule {
    /// Sends, and receives: each kind by itself.
    #[default]
    Separate,
    /// Any two of them. Under this rule Kurnosov's formulas of the binomial tree are exact.
    Joint,
}

/// Costs of messages of one length, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// o_s: a send keeps its process busy.
    pub send: f64,
    /// o_r: so does a receive.
    pub receive: f64,
    /// g + (s-1) G between the starts of two sends of one process.
    pub send_gap: f64,
    /// The same between two receives.
    pub gap: f64,
    /// m lambda: copy of a block.
    pub copy: f64,
    /// m gamma: combination of two blocks.
    pub reduce: f64,
    /// Whether a message travels only while both its processes are in their calls (rendezvous).
    pub held: bool,
    /// Whether messages that a process sends one right after the other are under way together and share its cable evenly, so
    /// that all arrive with the last one; else they leave one after the other.
    pub shared: bool,
}

impl Costs {
    /// With o_s = o_r = o.
    pub fn logp(o: f64, gap: f64, reduce: f64, copy: f64) -> Self {
        Self { send: o, receive: o, send_gap: gap, gap, copy, reduce, held: false, shared: false }
    }
}

/// When every process ends, `[process]`; infinite where a message never comes. `latency(i, j)` is the time in the network,
/// L + (s-1) G, or what a measured matrix leaves when o_s and o_r are taken off.
pub fn simulate(
    actions: &[Vec<Action>],
    costs: &Costs,
    latency: impl Fn(Rank, Rank) -> f64,
    rule: GapRule,
) -> Vec<f64> {
    simulate_ways(actions, costs, |from, to| Way { latency: latency(from, to), receive: costs.receive }, rule)
}

/// What differs from pair to pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    /// L: seconds in the network.
    pub latency: f64,
    /// o_r: seconds that the receive keeps its process busy.
    pub receive: f64,
}

/// As [`simulate`], with an o_r of each pair's own.
pub fn simulate_ways(
    actions: &[Vec<Action>],
    costs: &Costs,
    way: impl Fn(Rank, Rank) -> Way,
    rule: GapRule,
) -> Vec<f64> {
    let mut processes = vec![Process::new(); actions.len()];
    // When the messages of a way arrive that nobody has received.
    let mut ways: HashMap<(Rank, Rank), VecDeque<f64>> = HashMap::new();
    let mut ready: Vec<Rank> = (0..actions.len()).collect();
    while let Some(rank) = ready.pop() {
        while let Some(action) = actions[rank].get(processes[rank].next) {
            let own = &mut processes[rank];
            match *action {
                Action::Copy => own.free += costs.copy,
                Action::Reduce => own.free += costs.reduce,
                Action::Send(to) => {
                    let start = own.free.max(own.last_send + costs.send_gap);
                    own.last_send = start;
                    if rule == GapRule::Joint {
                        own.last_receive = start;
                    }
                    ready.push(to);
                    if costs.held {
                        // The receive that takes it goes on with this process.
                        ways.entry((rank, to)).or_default().push_back(start);
                        break;
                    }
                    own.free = start + costs.send;
                    let further = if costs.shared { sends_behind(&actions[rank], own.next) } else { 0 };
                    let left = own.free + further as f64 * costs.send_gap;
                    ways.entry((rank, to)).or_default().push_back(left + way(rank, to).latency);
                }
                Action::Receive(from) => {
                    let Some(there) = ways.get_mut(&(from, rank)).and_then(VecDeque::pop_front) else { break };
                    let start = own.free.max(there).max(own.last_receive + costs.gap);
                    own.last_receive = start;
                    if rule == GapRule::Joint {
                        own.last_send = start;
                    }
                    let Way { latency, receive } = way(from, rank);
                    if costs.held {
                        own.free = start + costs.send + latency + receive;
                        processes[from].free = processes[rank].free;
                        processes[from].next += 1;
                        ready.push(from);
                    } else {
                        own.free = start + receive;
                    }
                }
            }
            processes[rank].next += 1;
        }
    }
    let end = |(process, actions): (&Process, &Vec<Action>)| {
        if process.next == actions.len() { process.free } else { f64::INFINITY }
    };
    processes.iter().zip(actions).map(end).collect()
}

/// How many sends stand right behind the one with this number.
fn sends_behind(actions: &[Action], number: usize) -> usize {
    actions[number + 1..].iter().take_while(|action| matches!(action, Action::Send(_))).count()
}

/// The slowest process's time; 0 where there is none.
pub fn slowest(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

#[derive(Clone)]
struct Process {
    /// Number of the next action.
    next: usize,
    free: f64,
    last_send: f64,
    last_receive: f64,
}

impl Process {
    fn new() -> Self {
        Self { next: 0, free: 0.0, last_send: f64::NEG_INFINITY, last_receive: f64::NEG_INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(actions: &[Vec<Action>], (o, latency, gap): (f64, f64, f64)) -> Vec<f64> {
        simulate(actions, &Costs::logp(o, gap, 0.0, 0.0), |_, _| latency, GapRule::Separate)
    }

    #[test]
    fn messages_from_one_process_to_another() {
        let one = [vec![Action::Send(1)], vec![Action::Receive(0)]];
        assert_eq!(times(&one, (2.0, 6.0, 4.0)), [2.0, 10.0]);
        let three = [vec![Action::Send(1); 3], vec![Action::Receive(0); 3]];
        assert_eq!(times(&three, (2.0, 6.0, 4.0)), [10.0, 18.0]);
        assert_eq!(times(&three, (5.0, 6.0, 4.0)), [15.0, 26.0]);
    }

    #[test]
    fn a_dissemination_barrier_takes_its_closed_form() {
        for (procs, expected) in [(2usize, 10.0), (3, 20.0), (5, 30.0), (64, 60.0)] {
            let rounds = procs.next_power_of_two().trailing_zeros();
            let of = |rank: usize| {
                let round = |j: u32| {
                    let far = 1 << j;
                    [Action::Send((rank + far) % procs), Action::Receive((rank + procs - far % procs) % procs)]
                };
                (0..rounds).flat_map(round).collect::<Vec<_>>()
            };
            let actions: Vec<_> = (0..procs).map(of).collect();
            assert_eq!(slowest(&times(&actions, (2.0, 6.0, 4.0))), expected, "{procs}");
        }
    }

    #[test]
    fn a_send_that_is_held_lasts_until_its_receive_has_ended() {
        let costs = Costs { held: true, ..Costs::logp(2.0, 0.0, 3.0, 1.0) };
        let times = |actions: &[Vec<Action>]| simulate(actions, &costs, |_, _| 6.0, GapRule::Separate);
        // 2 o + L each, one after the other.
        let to_two = [vec![Action::Send(1), Action::Send(2)], vec![Action::Receive(0)], vec![Action::Receive(0)]];
        assert_eq!(times(&to_two), [20.0, 10.0, 20.0]);
        let late = [vec![Action::Send(1), Action::Copy], vec![Action::Reduce, Action::Receive(0)]];
        assert_eq!(times(&late), [14.0, 13.0]);
        assert_eq!(times(&[vec![Action::Send(1)], vec![]]), [f64::INFINITY, 0.0]);
    }

    #[test]
    fn messages_that_share_a_cable_arrive_with_the_last_one() {
        let actions = [vec![Action::Send(1), Action::Send(2)], vec![Action::Receive(0)], vec![Action::Receive(0)]];
        let costs = Costs::logp(2.0, 4.0, 0.0, 0.0);
        let times = |shared| simulate(&actions, &Costs { shared, ..costs }, |_, _| 6.0, GapRule::Separate);
        assert_eq!(times(false), [6.0, 10.0, 14.0]);
        assert_eq!(times(true), [6.0, 14.0, 14.0]);
    }

    #[test]
    fn who_waits_for_nothing_never_ends() {
        let actions = [vec![Action::Receive(1)], vec![]];
        assert_eq!(times(&actions, (2.0, 6.0, 4.0)), [f64::INFINITY, 0.0]);
    }
}

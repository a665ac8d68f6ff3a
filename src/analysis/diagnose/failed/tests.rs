//! What a run with exchanges that fail comes to: states in, findings out.

use super::*;
use crate::{
    analysis::diagnose::{Options, diagnose},
    plan::{Config, Mode, Plan, Sweep},
    record::{Cell, Header, MemoryRun, Provenance, State, Statistic},
    stats::Summary,
    units::{Bytes, Hosts},
};

/// Six hosts; `of_pair` says what came of every ordered pair at a length.
fn run(of_pair: impl Fn(usize, usize, u64) -> State) -> MemoryRun {
    run_on(&["n0", "n1", "n2", "n3", "n4", "n5"], of_pair)
}

/// The same of ranks on these hosts.
fn run_on(names: &[&str], of_pair: impl Fn(usize, usize, u64) -> State) -> MemoryRun {
    let ranks = names.len();
    let sweep = Sweep::list(&[Bytes(0), Bytes(1024)]).unwrap();
    let config = Config { modes: vec![Mode::OneToOne], sweep, ..Config::default() };
    let hosts = Hosts::new(names.iter().copied());
    let plan = Plan::all(&config, &hosts).unwrap().remove(0);
    let header = Header::of(&plan, Provenance::default());
    let mut run = MemoryRun::with_statistics(header, vec![Statistic::Median]);
    let time = |a: usize, b: usize| {
        let time = 1e-6 * (1.0 + 0.01 * ((7 * a + 3 * b) % 5) as f64);
        let summary = Summary { min: time, average: time, median: time, max: time, deviation: 0.0 };
        Cell::measured(summary, 10, State::Measured)
    };
    for length in [0, 1024] {
        let cell = |place: usize| match (place / ranks, place % ranks) {
            (a, b) if a == b => Cell::zero(),
            (a, b) if of_pair(a, b, length) == State::Damaged => {
                Cell { state: State::Damaged, damaged: 1, ..time(a, b) }
            }
            (a, b) if of_pair(a, b, length) != State::Measured => Cell::missing(of_pair(a, b, length)),
            (a, b) => time(a, b),
        };
        run.push(Bytes(length), (0..ranks * ranks).map(cell).collect());
    }
    run
}

/// Kind, hosts, direction, symptom and first length of what is found.
fn found(run: &MemoryRun) -> Vec<(Kind, String, Direction, Symptom, u64)> {
    let diagnosis = diagnose(&[run], &Options { confidence: 0.99, ..Options::default() }).unwrap();
    assert_ne!(diagnosis.verdict(), "healthy", "a pair that was tried has failed");
    let of = |found: Finding| (found.kind, found.hosts.join(" "), found.direction, found.symptom, found.lengths.0.0);
    diagnosis.findings.into_iter().map(of).collect()
}

fn failing(is_bad: impl Fn(usize, usize, u64) -> bool, state: State) -> MemoryRun {
    run(|a, b, length| if is_bad(a, b, length) { state } else { State::Measured })
}

fn node(direction: Direction, symptom: Symptom, from: u64) -> Vec<(Kind, String, Direction, Symptom, u64)> {
    vec![(Kind::Node, "n2".to_owned(), direction, symptom, from)]
}

#[test]
fn a_host_that_answers_nobody_is_named_with_its_direction() {
    let dead = failing(|a, b, _| a == 2 || b == 2, State::TimedOut);
    assert_eq!(found(&dead), node(Direction::Both, Symptom::Silent, 0));
    let mute = failing(|a, _, _| a == 2, State::Failed);
    assert_eq!(found(&mute), node(Direction::Send, Symptom::Silent, 0));
    let deaf = failing(|_, b, _| b == 2, State::TimedOut);
    assert_eq!(found(&deaf), node(Direction::Receive, Symptom::Silent, 0));
}

#[test]
fn a_host_that_is_dead_for_long_messages_is_named_from_there_on() {
    let jumbo = failing(|a, b, length| (a == 2 || b == 2) && length > 0, State::TimedOut);
    assert_eq!(found(&jumbo), node(Direction::Both, Symptom::Silent, 1024));
}

#[test]
fn a_host_that_loses_some_of_its_exchanges_is_lossy() {
    let flaps = failing(|a, b, _| (a == 2 || b == 2) && (a + b) % 2 == 1, State::Failed);
    assert_eq!(found(&flaps), node(Direction::Both, Symptom::Lossy, 0));
}

#[test]
fn a_pair_that_is_cut_off_is_a_link_and_two_halves_are_a_group() {
    let cut = failing(|a, b, _| (a, b) == (2, 5) || (a, b) == (5, 2), State::TimedOut);
    let [(Kind::Link, hosts, Direction::Both, Symptom::Silent, 0)] = &found(&cut)[..] else {
        panic!("{:?}", found(&cut))
    };
    assert!(hosts == "n2 n5" || hosts == "n5 n2", "{hosts}");
    let halves = failing(|a, b, _| (a < 3) != (b < 3), State::TimedOut);
    let all = found(&halves);
    assert!(all.iter().any(|one| one.0 == Kind::Group && one.3 == Symptom::Silent), "{all:?}");
}

#[test]
fn damage_is_a_finding_of_its_own() {
    let damaged = run(|a, _, _| if a == 2 { State::Damaged } else { State::Measured });
    assert_eq!(found(&damaged), node(Direction::Send, Symptom::Damaged, 0));
    let both = run(|a, b, _| match (a, b) {
        (2, 0..2) => State::Failed,
        (2, _) | (_, 2) => State::Damaged,
        _ => State::Measured,
    });
    let symptoms: Vec<_> = found(&both).iter().filter(|one| one.1 == "n2").map(|one| one.3).collect();
    assert!(symptoms.contains(&Symptom::Damaged) && symptoms.contains(&Symptom::Lossy), "{symptoms:?}");
}

#[test]
fn few_hosts_are_judged_by_what_fails() {
    let bad = |is_bad: bool, state| if is_bad { state } else { State::Measured };
    let two = run_on(&["n0", "n1"], |a, _, _| bad(a == 0, State::TimedOut));
    assert_eq!(found(&two), [(Kind::Link, "n0 n1".to_owned(), Direction::Send, Symptom::Silent, 0)]);
    let three = run_on(&["n0", "n1", "n2"], |a, b, _| bad(a == 2 || b == 2, State::Damaged));
    assert_eq!(found(&three), node(Direction::Both, Symptom::Damaged, 0));
    let few = run_on(&["n0", "n1", "n2"], |_, _, _| State::Measured);
    let diagnosis = diagnose(&[&few], &Options { confidence: 0.99, ..Options::default() }).unwrap();
    assert_eq!(diagnosis.verdict(), "invalid");
}

#[test]
fn what_fails_between_ranks_of_a_host_is_that_hosts() {
    let names: Vec<_> = ["n0", "n1", "n2", "n3", "n4"].into_iter().flat_map(|name| [name, name]).collect();
    let bad = |a: usize, b: usize, _| if (a, b) == (4, 5) { State::Damaged } else { State::Measured };
    assert_eq!(found(&run_on(&names, bad)), node(Direction::Both, Symptom::Damaged, 0));
    let alone = run_on(&["n2", "n2"], |_, _, length| if length > 0 { State::Damaged } else { State::Measured });
    assert_eq!(found(&alone), node(Direction::Both, Symptom::Damaged, 1024));
}

#[test]
fn what_was_not_asked_for_is_no_finding() {
    let absent = run(|a, b, _| if a == 2 || b == 2 { State::NotScheduled } else { State::Measured });
    let diagnosis = diagnose(&[&absent], &Options { confidence: 0.99, ..Options::default() }).unwrap();
    assert!(diagnosis.findings.is_empty(), "{:?}", diagnosis.findings);
}

//! Names as a reader sees them, in the order of their numbers whatever that of the ranks; and both ends of a way.

use super::*;
use crate::analysis::compare::{Settings, compare};

/// Number of a host in its name, `n0` to `n47`: neither in the order of ranks nor, as texts, in that of numbers.
fn number(host: usize) -> usize {
    host * 5 % 48
}

/// The names of some hosts in the order of their numbers.
fn names(hosts: impl Iterator<Item = usize>) -> Vec<String> {
    let mut numbers: Vec<usize> = hosts.map(number).collect();
    numbers.sort_unstable();
    numbers.iter().map(|number| format!("n{number}")).collect()
}

/// 48 hosts in leaves of eight, which have these names.
fn run(schedule: Schedule, more: impl Fn(usize) -> f64, slower: impl Fn(usize, usize) -> f64) -> MemoryRun {
    let named = measured((48, schedule), |_, from, to| more(from) + more(to), slower);
    let hosts = Hosts::new((0..48).map(|host| format!("n{}", number(host))));
    let header = Header { hosts, ..named.header().clone() };
    let mut run = MemoryRun::with_statistics(header, vec![Statistic::Median]);
    LENGTHS.iter().enumerate().for_each(|(index, length)| run.push(Bytes(*length), named.cells(index).to_vec()));
    run
}

/// What is found there.
fn diagnosed(schedule: Schedule, more: impl Fn(usize) -> f64, slower: impl Fn(usize, usize) -> f64) -> Diagnosis {
    judged(&run(schedule, more, slower))
}

#[test]
fn hosts_are_in_the_order_of_their_numbers() {
    let of_leaf = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1);
    let way = diagnosed(Schedule::Isolated, |_| 0.0, |from, to| if of_leaf(from, to) { 2.0 } else { 1.0 });
    assert_eq!(found(&way), [format!("group {} both bandwidth", names(8..16).join(","))]);
    let link = |from: usize, to: usize| if (from, to) == (7, 21) { 3.0 } else { 1.0 };
    let link = diagnosed(Schedule::Isolated, |_| 0.0, link);
    let link = link.findings.iter().chain(link.remarks.iter().flat_map(|remark| match remark {
        Remark::Again(links) => &links[..],
        _ => &[],
    }));
    assert_eq!(link.map(|link| link.hosts.join(" ")).collect::<Vec<_>>(), ["n35 n9"], "from the first to the second");
    let kinds = diagnosed(Schedule::Isolated, |host| if host % 8 < 4 { 0.4e-6 } else { 0.0 }, |_, _| 1.0);
    let [Remark::Kinds { hosts, .. }] = &kinds.remarks[..] else { panic!("{:?}", kinds.remarks) };
    assert_eq!(*hosts, names((0..48).filter(|host| host % 8 < 4)));
    // Toward every fourth host over one cable, which some of these share with another message.
    let slower = |from: usize, to: usize| match (from / 8 == 1 && to / 8 != 1, to % 4, to / 4 % 3) {
        (true, 2, 0) => 2.2,
        (true, 2, _) => 1.2,
        _ => 1.0,
    };
    let again = diagnosed(Schedule::Disjoint, |_| 0.0, slower);
    let [Remark::Again(routes)] = &again.remarks[..] else { panic!("{:?}", again.remarks) };
    assert_eq!(routes[0].hosts, names(8..16));
}

#[test]
fn of_a_way_between_two_sets_it_is_known_which_end_is_which() {
    let slower = |from: usize, to: usize| if (from / 8, to / 8) == (4, 0) { 3.0 } else { 1.0 };
    let diagnosis = diagnosed(Schedule::Isolated, |_| 0.0, slower);
    let [gate] = &diagnosis.findings[..] else { panic!("{:?}", found(&diagnosis)) };
    assert_eq!((gate.kind, gate.direction, &gate.toward), (Kind::Gate, Direction::Send, &names(0..8)));
    assert!(names(0..8).iter().chain(&names(32..40)).all(|host| gate.hosts.contains(host)) && gate.hosts.len() == 16);
}

#[test]
fn changes_of_two_runs_name_hosts_in_the_same_order() {
    let base = run(Schedule::Isolated, |_| 0.0, |_, _| 1.0);
    let changed = |slower: &dyn Fn(usize, usize) -> f64| {
        let new = run(Schedule::Isolated, |_| 0.0, slower);
        let comparison =
            compare(&base, &new, Settings { statistic: Statistic::Median, threshold: 0.05, confidence: 0.99 }).unwrap();
        let [change] = &comparison.findings[..] else { panic!("{:?}", comparison.findings) };
        (change.hosts.clone(), change.toward.clone())
    };
    let way = |from: usize, to: usize| if (from / 8 == 1) != (to / 8 == 1) { 2.0 } else { 1.0 };
    assert_eq!(changed(&way), (names(8..16), Vec::new()));
    let gate = |from: usize, to: usize| if (from / 8, to / 8) == (4, 0) { 3.0 } else { 1.0 };
    assert_eq!(changed(&gate), (names((0..8).chain(32..40)), names(0..8)));
}

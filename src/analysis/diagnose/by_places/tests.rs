//! What a run with a fault of one kind comes to: a matrix in, findings out.

mod again;
mod few;
mod load;
mod moments;
mod names;
mod rails;
mod torus;

use super::*;
use crate::{
    analysis::{
        diagnose::{Diagnosis, Options, diagnose},
        drawn::{generator, is_same_partition, normal, square},
    },
    plan::{Config, Plan, Schedule, Sweep},
    record::{Cell, Header, MemoryRun, Provenance, Retest, Sink, State, Statistic},
    stats::Summary,
    units::Bytes,
};

const LENGTHS: [u64; 5] = [0, 64, 4096, 1 << 18, 1 << 20];

/// One microsecond between hosts of a leaf of eight, half of one more to others; 12.5 GB/s, of which a pair gets what
/// the slowest of `slower` leaves it; `more` seconds; noise of half a percent.
fn measured(
    (hosts, schedule): (usize, Schedule),
    more: impl Fn(u64, usize, usize) -> f64,
    slower: impl Fn(usize, usize) -> f64,
) -> MemoryRun {
    measured_by_ranks((hosts, 1, schedule), more, slower)
}

/// The same with so many ranks on every host, side by side; the functions are of ranks.
fn measured_by_ranks(
    (hosts, per_host, schedule): (usize, usize, Schedule),
    more: impl Fn(u64, usize, usize) -> f64,
    slower: impl Fn(usize, usize) -> f64,
) -> MemoryRun {
    let mut rng = generator(hosts as u64);
    let sweep = Sweep::list(&LENGTHS.map(Bytes)).unwrap();
    let ranks = hosts * per_host;
    let names = Hosts::new((0..ranks).map(|rank| format!("n{:02}", rank / per_host)));
    let config = Config { modes: vec![Mode::OneToOne], sweep, schedule, ..Config::default() };
    let plan = Plan::all(&config, &names).unwrap().remove(0);
    let mut run = MemoryRun::with_statistics(Header::of(&plan, Provenance::default()), vec![Statistic::Median]);
    let own: Vec<f64> = (0..hosts).map(|_| 5e-9 * normal(&mut rng)).collect();
    for length in LENGTHS {
        let mut cell = |from: usize, to: usize| {
            let [host, other] = [from, to].map(|rank| rank / per_host);
            let far = if host / 8 == other / 8 { 0.0 } else { 0.5e-6 };
            let latency = 1e-6 + far + own[host] + own[other] + more(length, from, to);
            let time = (latency + length as f64 / 12.5e9 * slower(from, to)) * (1.0 + 0.005 * normal(&mut rng));
            let summary = Summary { min: time, average: time, median: time, max: time, deviation: 0.0 };
            Cell::measured(summary, 10, State::Measured)
        };
        let pairs = (0..ranks * ranks).map(|pair| (pair / ranks, pair % ranks));
        let cells = pairs.map(|(from, to)| if from == to { Cell::zero() } else { cell(from, to) }).collect();
        run.push(Bytes(length), cells);
    }
    run
}

fn judged(run: &MemoryRun) -> Diagnosis {
    diagnose(&[run], &Options { confidence: 0.99, groups: None }).unwrap()
}

/// The same where hosts are `late`, measured pair after pair.
fn diagnosed(hosts: usize, late: impl Fn(usize) -> f64, slower: impl Fn(usize, usize) -> f64) -> Diagnosis {
    judged(&measured((hosts, Schedule::Isolated), |_, from, to| late(from) + late(to), slower))
}

/// Kind, hosts, direction and symptom of what is found.
fn found(diagnosis: &Diagnosis) -> Vec<String> {
    let words = |found: &Finding| {
        format!("{} {} {} {}", found.kind.name(), found.hosts.join(","), found.direction.name(), found.symptom.name())
    };
    let mut all: Vec<String> = diagnosis.findings.iter().map(words).collect();
    all.sort();
    all
}

#[test]
fn slow_cards_on_one_switch_are_named_and_not_a_group() {
    let card = |host: usize| if [1, 4, 6].contains(&host) { 2.0 } else { 1.0 };
    let named = found(&diagnosed(8 * 2, |_| 0.0, |from, to| f64::max(card(from), card(to))));
    assert_eq!(named, ["node n01 both bandwidth", "node n04 both bandwidth", "node n06 both bandwidth"]);
}

#[test]
fn most_hosts_of_a_leaf_are_hosts_and_its_way_is_a_group() {
    let card = |host: usize| if (8..13).contains(&host) { 2.0 } else { 1.0 };
    let named = found(&diagnosed(24, |_| 0.0, |from, to| f64::max(card(from), card(to))));
    assert_eq!(named.len(), 5, "{named:?}");
    assert!(named.iter().all(|words| words.starts_with("node")), "{named:?}");
    let way = |from: usize, to: usize| if (from / 8 == 1) != (to / 8 == 1) { 2.0 } else { 1.0 };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&diagnosed(32, |_| 0.0, way)), [format!("group {} both bandwidth", members.join(","))]);
}

#[test]
fn hosts_of_a_larger_group_that_are_slow_with_all_but_each_other_share_their_way() {
    // Pods are known, and no leaves inside these.
    let is_in = |host: usize| (9..12).contains(&host);
    let way = |from: usize, to: usize| if is_in(from) != is_in(to) { 2.0 } else { 1.0 };
    let run = measured((32, Schedule::Isolated), |_, _, _| 0.0, way);
    let groups = Some((0..32).map(|host| host / 8).collect());
    let diagnosis = diagnose(&[&run], &Options { confidence: 0.99, groups }).unwrap();
    assert_eq!(found(&diagnosis), ["group n09,n10,n11 both bandwidth"]);
}

#[test]
fn all_hosts_of_a_leaf_but_one_are_hosts_and_no_kind_that_stands_on_a_leaf_of_its_own() {
    // Cards of a twentieth: they cost as much as a switch, and more, at the third of the short lengths.
    let card = |host: usize| if (8..15).contains(&host) { 20.0 } else { 1.0 };
    let diagnosis = diagnosed(24, |_| 0.0, |from, to| f64::max(card(from), card(to)));
    assert_eq!((found(&diagnosis).len(), diagnosis.remarks.len()), (7, 0), "{:?}", diagnosis.remarks);
}

#[test]
fn a_third_of_the_hosts_with_a_slow_way_out_are_a_leaf_and_no_kind() {
    let way = |from: usize, to: usize| if (from / 8 == 1) != (to / 8 == 1) { 2.0 } else { 1.0 };
    let diagnosis = diagnosed(24, |_| 0.0, way);
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&diagnosis), [format!("group {} both bandwidth", members.join(","))]);
    assert!(diagnosis.remarks.is_empty(), "{:?}", diagnosis.remarks);
}

#[test]
fn one_cable_of_four_under_static_routes_is_some_routes_of_its_leaf() {
    // Outward: the destination chooses the cable.
    let way = |from: usize, to: usize| if from / 8 == 1 && to / 8 != 1 && to % 4 == 2 { 3.0 } else { 1.0 };
    let diagnosis = diagnosed(32, |_| 0.0, way);
    let named = found(&diagnosis);
    assert_eq!(named.len(), 1, "{named:?} {:?}", diagnosis.remarks);
    assert!(named[0].starts_with("routes n08,") && named[0].ends_with("send bandwidth"), "{named:?}");
}

#[test]
fn routes_that_are_slower_than_those_whose_messages_meet_are_named() {
    // From every leaf, what goes to some hosts meets as many others; over a slow cable messages meet more or fewer.
    let is_met = |from: usize, to: usize| (5 * (from / 8) + 3 * to) % 7 < 2;
    let slower = |from: usize, to: usize| match (from / 8, to / 8, to % 4) {
        (one, other, _) if one == other => 1.0,
        (1, _, 2) => 4.0 * (1 + (3 * from + 5 * to) % 7 % 3) as f64,
        _ if is_met(from, to) => 1.4,
        _ => 1.0,
    };
    let diagnosis = judged(&measured((48, Schedule::Disjoint), |_, _, _| 0.0, slower));
    let [Remark::Again(again)] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
    let [routes] = &again[..] else { panic!("{again:?}") };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!((routes.kind, &routes.hosts, routes.direction), (Kind::Routes, &members, Direction::Send));
}

#[test]
fn a_cable_whose_messages_meet_others_is_some_routes_both_ways() {
    // What comes in shares the cable with more messages from some leaves than from others, and seems to be these leaves' way
    // to some until it is left out.
    let slower = |from: usize, to: usize| {
        let is_on = (from / 8 == 1) != (to / 8 == 1) && to % 4 == 2;
        if is_on { 4.0 * (1 + (3 * from + 5 * to + from / 8 * to) % 7 % 3) as f64 } else { 1.0 }
    };
    let diagnosis = judged(&measured((32, Schedule::Disjoint), |_, _, _| 0.0, slower));
    let [Remark::Again(again)] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
    let [routes] = &again[..] else { panic!("{again:?}") };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!((routes.kind, &routes.hosts, routes.direction), (Kind::Routes, &members, Direction::Both));
}

#[test]
fn a_cable_that_is_slow_both_ways_is_that_of_its_leaf_and_of_no_host_of_others() {
    // Of three leaves, the one half of those outside of another one is slow toward some of its hosts.
    let is_bad = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1) && to % 4 == 2;
    let diagnosis = diagnosed(24, |_| 0.0, |from, to| if is_bad(from, to) { 6.0 } else { 1.0 });
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&diagnosis), [format!("routes {} both bandwidth", members.join(","))]);
}

#[test]
fn the_way_between_two_leaves_of_different_pods_is_named() {
    let leaves = |from: usize, to: usize| (usize::min(from, to) / 8, usize::max(from, to) / 8);
    let far = |_, from: usize, to: usize| if from / 24 == to / 24 { 0.0 } else { 0.5e-6 };
    let slower = |from: usize, to: usize| if leaves(from, to) == (0, 4) { 3.0 } else { 1.0 };
    let diagnosis = judged(&measured((48, Schedule::Isolated), far, slower));
    let members: Vec<String> = (0..8).chain(32..40).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&diagnosis), [format!("gate {} both bandwidth", members.join(","))]);
}

#[test]
fn that_nobody_can_say_whether_two_halves_are_too_far_apart_is_said_with_their_names() {
    let way = |from: usize, to: usize| if from / 8 == to / 8 { 1.0 } else { 4.0 };
    let diagnosis = diagnosed(16, |_| 0.0, way);
    assert_eq!((found(&diagnosis), diagnosis.verdict()), (Vec::new(), "healthy"));
    let [Remark::Halves { hosts, length, ratio, .. }] = &diagnosis.remarks[..] else {
        panic!("{:?}", diagnosis.remarks)
    };
    let halves = [0..8, 8..16].map(|half| half.map(|host| format!("n{host:02}")).collect::<Vec<_>>());
    assert_eq!((hosts, *length), (&halves, Bytes(1 << 20)));
    assert!((3.8..4.2).contains(ratio), "{ratio}");
    // Slow one way alone, it is a finding and needs no such remark.
    let one_way = diagnosed(16, |_| 0.0, |from, to| if from < 8 && to >= 8 { 4.0 } else { 1.0 });
    assert_eq!((one_way.findings.len(), one_way.remarks.len()), (1, 0), "{:?}", found(&one_way));
}

#[test]
fn a_host_that_is_slow_at_a_single_length_is_named_with_it() {
    // It asks first from 1 KiB on, all others only from 256 KiB on.
    let more = |length: u64, from: usize, _: usize| if from == 6 && length == 4096 { 3e-6 } else { 0.0 };
    let diagnosis = judged(&measured((32, Schedule::Isolated), more, |_, _| 1.0));
    assert_eq!(found(&diagnosis), ["node n06 send latency"]);
    assert_eq!(diagnosis.findings[0].lengths, (Bytes(4096), Bytes(4096)));
}

#[test]
fn what_is_slow_out_of_a_leaf_alone_is_none_of_its_hosts_and_in_short_messages_too_little_for_a_word() {
    let is_way = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1);
    let late = |_: u64, from: usize, to: usize| if is_way(from, to) { 0.06e-6 } else { 0.0 };
    assert_eq!(found(&judged(&measured((64, Schedule::Isolated), late, |_, _| 1.0))), Vec::<String>::new());
    // Long messages take as long over all healthy ways.
    let way = |from: usize, to: usize| if is_way(from, to) { 1.045 } else { 1.0 };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&diagnosed(64, |_| 0.0, way)), [format!("group {} both bandwidth", members.join(","))]);
}

#[test]
fn links_of_one_host_are_its_own_and_those_of_several_hosts_of_a_leaf_are_some_of_its_routes() {
    let names: Vec<String> = (0..32).map(|host| format!("n{host:02}")).collect();
    let leaf: Vec<usize> = (0..32).map(|host| host / 4).collect();
    let slow = diagnosed(16, |host| if host == 3 { 0.5e-6 } else { 0.0 }, |_, _| 1.0).findings.remove(0);
    let links = |ends: &[(usize, usize)]| -> Vec<Finding> {
        let one = |(from, to): &(usize, usize)| Finding {
            kind: Kind::Link,
            hosts: vec![names[*from].clone(), names[*to].clone()],
            direction: Direction::Send,
            ..slow.clone()
        };
        let mut findings = ends.iter().map(one).collect();
        join_links(&names, &leaf, &mut findings);
        findings
    };
    let [routes] = &links(&[(4, 0), (5, 9), (6, 15), (5, 1)])[..] else { panic!("one finding") };
    assert_eq!((routes.kind, routes.direction, &routes.hosts[..]), (Kind::Routes, Direction::Send, &names[4..8]));
    assert_eq!(routes.share, Some(4.0 / 112.0));
    let [inward] = &links(&[(0, 4), (9, 5), (15, 6), (20, 6)])[..] else { panic!("one finding") };
    assert_eq!((inward.kind, inward.direction), (Kind::Routes, Direction::Receive));
    // Of one host with some others, unless these are of one leaf that is not its own.
    let [node] = &links(&[(4, 0), (4, 9), (15, 4)])[..] else { panic!("one finding") };
    assert_eq!((node.kind, node.direction, &node.hosts[..]), (Kind::Node, Direction::Both, &names[4..5]));
    assert_eq!(node.share, Some(3.0 / 31.0));
    let [routes] = &links(&[(4, 9), (5, 9), (6, 9), (7, 9)])[..] else { panic!("one finding") };
    assert_eq!((routes.kind, &routes.hosts[..]), (Kind::Routes, &names[4..8]));
    // Of different leaves, or two that may meet by chance: what they are.
    for apart in [&[(0, 4), (5, 9), (10, 15)][..], &[(4, 0), (5, 9)]] {
        assert!(links(apart).iter().all(|found| found.kind == Kind::Link), "{apart:?}");
    }
}

#[test]
fn the_way_that_several_leaves_share_is_one_finding_and_ways_of_their_own_are_several() {
    // Six leaves of eight hosts each; the first two share a way that nothing else shows.
    let leaf = |host: usize| host / 8;
    let is_in = |host: usize| leaf(host) < 2;
    let share = |from: usize, to: usize| if is_in(from) != is_in(to) { 1.8 } else { 1.0 };
    let own = |from: usize, to: usize| if leaf(from) != leaf(to) && (is_in(from) || is_in(to)) { 1.8 } else { 1.0 };
    let groups = |way: &dyn Fn(usize, usize) -> f64| {
        let diagnosis = judged(&measured((48, Schedule::Isolated), |_, _, _| 0.0, way));
        let mut hosts: Vec<Vec<String>> = diagnosis.findings.iter().map(|finding| finding.hosts.clone()).collect();
        assert!(diagnosis.findings.iter().all(|finding| finding.kind == Kind::Group), "{:?}", found(&diagnosis));
        hosts.sort();
        hosts
    };
    let names = |hosts: std::ops::Range<usize>| hosts.map(|host| format!("n{host:02}")).collect::<Vec<_>>();
    assert_eq!(groups(&share), [names(0..16)]);
    assert_eq!(groups(&own), [names(0..8), names(8..16)]);
}

#[test]
fn late_hosts_are_named_and_kinds_of_hosts_are_a_remark() {
    let named = found(&diagnosed(16, |host| if host == 3 { 0.5e-6 } else { 0.0 }, |_, _| 1.0));
    assert_eq!(named, ["node n03 both latency"]);
    let diagnosis = diagnosed(24, |host| if host % 2 == 1 { 0.4e-6 } else { 0.0 }, |_, _| 1.0);
    assert_eq!((found(&diagnosis), diagnosis.verdict()), (Vec::new(), "healthy"));
    let [Remark::Kinds { hosts, .. }] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
    assert_eq!(hosts.len(), 12);
}

#[test]
fn a_kind_of_hosts_that_is_on_most_ways_between_leaves_is_a_remark() {
    // Two leaves less three hosts have cards of half the speed: a message that leaves its leaf mostly meets one.
    let diagnosis = diagnosed(24, |_| 0.0, |from, to| if from < 13 || to < 13 { 2.0 } else { 1.0 });
    assert_eq!((found(&diagnosis), diagnosis.verdict()), (Vec::new(), "healthy"));
    let [Remark::Kinds { hosts, .. }] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
    assert_eq!(hosts.len(), 13);
}

#[test]
fn leaves_of_a_network_of_rails_are_seen_on_each_of_them() {
    // From rail to rail a message takes the spine, whatever leaf its hosts are on.
    let across = |_, from: usize, to: usize| {
        let is_near = from / 4 / 8 == to / 4 / 8;
        if is_near && from % 4 != to % 4 { 0.5e-6 } else { 0.0 }
    };
    let diagnosis = judged(&measured_by_ranks((24, 4, Schedule::Isolated), across, |_, _| 1.0));
    assert_eq!(found(&diagnosis), Vec::<String>::new());
    let leaves: Vec<usize> = (0..24).map(|host| host / 8).collect();
    assert!(is_same_partition(&diagnosis.group, &leaves), "{:?}", diagnosis.group);
}

#[test]
fn a_rank_with_little_bandwidth_among_others_is_measured_again_and_a_late_one_need_not_be() {
    let is_of = |rank: usize, from: usize, to: usize| from == rank || to == rank;
    let slower = |from: usize, to: usize| if is_of(5, from, to) { 1.5 } else { 1.0 };
    let judge = |schedule| judged(&measured_by_ranks((12, 2, schedule), |_, _, _| 0.0, slower));
    assert_eq!(found(&judge(Schedule::Isolated)), ["rank n02 both bandwidth"]);
    let among = judge(Schedule::Disjoint);
    assert_eq!((found(&among), among.verdict()), (Vec::new(), "healthy"));
    let [Remark::Again(again), ..] = &among.remarks[..] else { panic!("{:?}", among.remarks) };
    assert_eq!(again.iter().map(|finding| finding.rank).collect::<Vec<_>>(), [Some(5)]);
    // What one run shows is no matter of another run's re-tests.
    let run = |schedule| measured_by_ranks((12, 2, schedule), |_, _, _| 0.0, slower);
    let both: [&dyn Run; 2] = [&run(Schedule::Isolated), &run(Schedule::Disjoint)];
    let of_both = diagnose(&both, &Options { confidence: 0.99, groups: None }).unwrap();
    assert_eq!(found(&of_both), ["rank n02 both bandwidth"]);
    let late = |_, from: usize, to: usize| if is_of(5, from, to) { 0.4e-6 } else { 0.0 };
    let late = judged(&measured_by_ranks((12, 2, Schedule::Disjoint), late, |_, _| 1.0));
    assert_eq!(found(&late), ["rank n02 both latency"]);
}

#[test]
fn the_slow_way_of_one_rail_out_of_a_leaf_is_named_and_no_rank_or_kind_of_hosts_is() {
    // Of 24 hosts with two or four ranks on two rails. A message takes the sender's rail out and the receiver's rail
    // in.
    for per_host in [2, 4] {
        let is_bad = |rank: usize| rank / per_host / 8 == 2 && rank.is_multiple_of(2);
        let is_far = |from: usize, to: usize| from / per_host / 8 != to / per_host / 8;
        for (out, into, direction) in [(true, true, "both"), (true, false, "send"), (false, true, "receive")] {
            let slower = |from: usize, to: usize| {
                if is_far(from, to) && (out && is_bad(from) || into && is_bad(to)) { 2.0 } else { 1.0 }
            };
            let diagnosis = judged(&measured_by_ranks((24, per_host, Schedule::Isolated), |_, _, _| 0.0, slower));
            let hosts: Vec<String> = (16..24).map(|host| format!("n{host}")).collect();
            assert_eq!(found(&diagnosis), [format!("rail {} {direction} bandwidth", hosts.join(","))], "{per_host}");
            assert!(diagnosis.remarks.is_empty(), "{:?}", diagnosis.remarks);
        }
    }
    // Ranks far from the card on every host are no rail's fault.
    let far = |_, from: usize, to: usize| 0.2e-6 * (from % 2 + to % 2) as f64;
    assert_eq!(found(&judged(&measured_by_ranks((24, 2, Schedule::Isolated), far, |_, _| 1.0))), Vec::<String>::new());
}

#[test]
fn a_slow_rail_is_named_among_others_and_no_rail_that_is_only_shared_with_most_partners() {
    // Of 24 hosts with two ranks. What leaves one rail of the first leaf meets others toward eight of ten partners, and shares
    // cables with them; that of other rails, toward two. One of the third leaf is slow toward all.
    let is_far = |from: usize, to: usize| from / 2 / 8 != to / 2 / 8;
    let shared = |from: usize, to: usize| {
        let share = if from / 2 / 8 == 0 && from.is_multiple_of(2) { 8 } else { 2 };
        if (7 * from + 3 * (to / 2)) % 10 < share { 3.0 } else { 1.0 }
    };
    let is_bad = |rank: usize| rank / 2 / 8 == 2 && rank.is_multiple_of(2);
    let slower = |from: usize, to: usize| {
        let of_cable = if is_bad(from) { 1.5 } else { 1.0 };
        if is_far(from, to) { of_cable * shared(from, to) } else { 1.0 }
    };
    let rail = format!("rail {} send bandwidth", (16..24).map(|host| format!("n{host}")).collect::<Vec<_>>().join(","));
    let judge = |alone: f64| {
        let mut run = measured_by_ranks((24, 2, Schedule::Disjoint), |_, _, _| 0.0, slower);
        let times = run.matrix(Statistic::Median, LENGTHS.len() - 1).unwrap();
        let again = |(source, destination): (usize, usize)| {
            let first = times[(source, destination)];
            let usual = first / slower(source, destination);
            let alone = usual * if is_bad(source) { alone } else { 1.0 };
            Retest { source, destination, first, second: first, alone }
        };
        let pairs = [(32, 3), (36, 20), (44, 7), (46, 25), (33, 4), (2, 21), (16, 40), (19, 6)];
        run.write_retests(LENGTHS.len() - 1, &pairs.map(again)).unwrap();
        judged(&run)
    };
    assert_eq!(found(&judge(1.5)), [rail]);
    // What takes longer only while others are on the way is no fault.
    let load = judge(1.0);
    assert_eq!(found(&load), Vec::<String>::new());
    let is_rail = |remark: &Remark| matches!(remark, Remark::Load(finding) if finding.kind == Kind::Rail);
    assert!(load.remarks.iter().any(is_rail), "{:?}", load.remarks);
}

#[test]
fn a_host_that_is_slow_for_a_part_of_the_time_is_named_and_nothing_that_comes_in_random_order_is() {
    for schedule in [Schedule::Disjoint, Schedule::Isolated] {
        let plain = measured((24, schedule), |_, _, _| 0.0, |_, _| 1.0);
        let moment = |length: u64, from: usize, to: usize| {
            plain.header().rounds(Bytes(length)).and_then(|rounds| rounds.meeting(from, to)).expect("all pairs meet")
        };
        // Of 23 rounds at every length.
        let burst = |length: u64, from: usize, to: usize| {
            let first = 5 + length.count_ones() as usize;
            if (first..first + 8).contains(&moment(length, from, to)) { 1e-6 } else { 0.0 }
        };
        let of_host = |length: u64, from: usize, to: usize| {
            if from == 5 || to == 5 { burst(length, from, to) } else { 0.0 }
        };
        let diagnosis = judged(&measured((24, schedule), of_host, |_, _| 1.0));
        assert_eq!(found(&diagnosis), ["node n05 both latency"], "{schedule}");
        assert_eq!(diagnosis.findings[0].share_of_time, Some(8.0 / 23.0));
        assert!(diagnosis.remarks.is_empty(), "{:?}", diagnosis.remarks);
        // The same number of partners, whenever it meets them.
        let partners = |_, from: usize, to: usize| {
            if (from == 5 && to.is_multiple_of(3)) || (to == 5 && from.is_multiple_of(3)) { 1e-6 } else { 0.0 }
        };
        let findings = judged(&measured((24, schedule), partners, |_, _| 1.0)).findings;
        assert!(findings.iter().all(|found| found.share_of_time.is_none()), "{schedule}: {findings:?}");
        // All hosts in the same rounds.
        let busy = judged(&measured((24, schedule), burst, |_, _| 1.0));
        assert_eq!(found(&busy), Vec::<String>::new(), "{schedule}");
        let [Remark::Busy { lengths, share, .. }] = busy.remarks[..] else { panic!("{:?}", busy.remarks) };
        assert_eq!((lengths, share), ((Bytes(0), Bytes(1 << 18)), 8.0 / 23.0));
        // Most of the time of the shortest length is little of all the time.
        let at_first = |length: u64, from: usize, to: usize| {
            if length == 0 && moment(length, from, to) < 17 { 1e-6 } else { 0.0 }
        };
        let busy = judged(&measured((24, schedule), at_first, |_, _| 1.0));
        assert_eq!(found(&busy), Vec::<String>::new(), "{schedule}");
        let [Remark::Busy { lengths, share, .. }] = busy.remarks[..] else { panic!("{:?}", busy.remarks) };
        assert_eq!((lengths, share), ((Bytes(0), Bytes(0)), 17.0 / 23.0));
    }
}

#[test]
fn links_that_stand_together_in_time_are_one_busy_moment() {
    let plain = measured((24, Schedule::Isolated), |_, _, _| 0.0, |_, _| 1.0);
    let rounds = plain.header().rounds(Bytes(1 << 20)).expect("a plan");
    // Of 276 turns, less than a round.
    let judge = |is_slow: &dyn Fn(usize) -> bool| {
        let slower = |from: usize, to: usize| if rounds.turn(from, to).is_some_and(is_slow) { 1.7 } else { 1.0 };
        let late = |length: u64, from: usize, to: usize| {
            if length == 1 << 20 { (slower(from, to) - 1.0) * length as f64 / 12.5e9 } else { 0.0 }
        };
        let mut run = measured((24, Schedule::Isolated), late, |_, _| 1.0);
        let times = run.matrix(Statistic::Median, 4).unwrap();
        let pairs = (0..24 * 24).map(|pair| (pair / 24, pair % 24)).filter(|(from, to)| slower(*from, *to) > 1.0);
        let again = |(source, destination): (usize, usize)| {
            let first = times[(source, destination)];
            Retest { source, destination, first, second: first, alone: first }
        };
        let again: Vec<Retest> = pairs.map(again).collect();
        run.write_retests(4, &again).unwrap();
        judged(&run)
    };
    let busy = judge(&|turn| (150..157).contains(&turn));
    assert_eq!(found(&busy), Vec::<String>::new());
    assert!(matches!(busy.remarks[..], [Remark::Busy { .. }]), "{:?}", busy.remarks);
    let links = judge(&|turn| [20, 77, 150, 240].contains(&turn));
    assert!(
        links.findings.iter().all(|found| found.kind == Kind::Link) && links.findings.len() == 4,
        "{:?}",
        found(&links)
    );
}

#[test]
fn nearly_all_cards_of_a_leaf_are_named_however_many_of_them_meet_each_other() {
    let card = |host: usize| if (8..15).contains(&host) { 2.5 } else { 1.0 };
    // Of messages out of a leaf some meet others.
    let load = |from: usize, to: usize| if from / 8 != to / 8 && (from + 3 * to).is_multiple_of(5) { 1.4 } else { 1.0 };
    let slower = |from: usize, to: usize| f64::max(card(from), card(to)) * load(from, to);
    let named = found(&judged(&measured((24, Schedule::Disjoint), |_, _, _| 0.0, slower)));
    let all: Vec<String> = (8..15).map(|host| format!("node n{host:02} both bandwidth")).collect();
    assert_eq!(named, all);
}

//! What is slow while others communicate: which place it is, and that it is said once.

use super::*;

#[test]
fn a_way_that_re_tests_refute_and_that_is_slow_under_load_is_one_remark() {
    let run = measured((32, Schedule::Disjoint), |_, _, _| 0.0, |_, _| 1.0);
    let folded = Folded::of_logarithms(&LENGTHS, vec![square(32, |_, _| 0.0); LENGTHS.len()]);
    let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
    let verdict = places::judge_with(&folded, places::Distances::flat(32), asked, &[]);
    let way = |leaf: usize| {
        let place = Place::of(Kind::Group, (8 * leaf..8 * leaf + 8).collect(), Direction::Both);
        Suspect { effects: vec![0.0, 0.0, 0.0, 0.3, 0.3], ..Suspect::at(place, 0.3, -20.0, (3, 4)) }
    };
    let mut met = vec![finding(Mode::OneToOne, &folded, &way(0)), finding(Mode::OneToOne, &folded, &way(1))];
    under_load(&run, &[false; 32], (&folded, &verdict), &[way(1)], &mut met).unwrap();
    let said: Vec<&str> = met.iter().map(|found| &*found.hosts[0]).collect();
    assert_eq!(said, ["node0", "node8"]);
}

#[test]
fn a_link_that_crosses_what_is_slow_alone_is_left_out() {
    let folded = Folded::of_logarithms(&LENGTHS, vec![square(32, |_, _| 0.0); LENGTHS.len()]);
    let of = |kind, hosts| {
        let place = Place::of(kind, hosts, Direction::Send);
        finding(Mode::OneToOne, &folded, &Suspect { effects: vec![0.3; 5], ..Suspect::at(place, 0.3, -20.0, (0, 4)) })
    };
    let mut all = vec![of(Kind::Node, vec![9]), of(Kind::Link, vec![9, 18]), of(Kind::Link, vec![18, 9])];
    let routes = Place { toward: vec![18, 26], ..Place::of(Kind::Routes, (8..16).collect(), Direction::Send) };
    leave_out_links(&mut all, &routes, &folded.names);
    let left: Vec<_> = all.iter().map(|found| (found.kind, &*found.hosts[0])).collect();
    assert_eq!(left, [(Kind::Node, "node9"), (Kind::Link, "node18")]);
}

#[test]
fn a_pod_that_is_slow_under_load_is_one_remark_and_none_of_its_leaves_is() {
    // Three pods of two leaves. Of one, messages take longer where fewer than three pairs of it meet inside.
    let pod = |host: usize| host / 16;
    let plain = measured((48, Schedule::Disjoint), |_, _, _| 0.0, |_, _| 1.0);
    let rounds: HashMap<u64, _> = LENGTHS
        .iter()
        .map(|length| (*length, plain.header().rounds(Bytes(*length)).expect("all pairs meet")))
        .collect();
    let is_full = |length: u64, round: Option<usize>| {
        let inside = (16..32).flat_map(|a| (16..a).map(move |b| (a, b)));
        inside.filter(|(a, b)| rounds[&length].meeting(*a, *b) == round).count() < 3
    };
    let more = |length: u64, from: usize, to: usize| {
        let is_way = (pod(from) == 1) != (pod(to) == 1);
        let is_late = is_way && is_full(length, rounds[&length].meeting(from, to));
        let load = if is_late { 0.3 * length as f64 / 12.5e9 } else { 0.0 };
        load + if pod(from) == pod(to) { 0.0 } else { 0.3e-6 }
    };
    let diagnosis = judged(&measured((48, Schedule::Disjoint), more, |_, _| 1.0));
    assert_eq!(found(&diagnosis), Vec::<String>::new());
    let [Remark::Again(one)] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
    let members: Vec<String> = (16..32).map(|host| format!("n{host:02}")).collect();
    assert_eq!(one.iter().map(|found| (found.kind, &found.hosts)).collect::<Vec<_>>(), [(Kind::Group, &members)]);
}

#[test]
fn a_way_of_which_alone_pairs_were_measured_again_is_compared_with_pairs_that_meet_no_others() {
    // Between other leaves one pair of ten meets none, and the others take twice as long.
    let is_bad = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1);
    let way = |from: usize, to: usize| {
        let met = if (from * 7 + to * 3).is_multiple_of(10) { 1.0 } else { 2.0 };
        match (from / 8 == to / 8, is_bad(from, to)) {
            (true, _) => 1.0,
            (_, true) => 1.9 * met,
            _ => met,
        }
    };
    let pairs = [(8, 2), (9, 18), (30, 15), (20, 11)];
    let again = |alone: f64| {
        let run = measured((48, Schedule::Disjoint), |_, _, _| 0.0, way);
        let alone = pairs.map(|(from, to)| ((from, to), alone / way(from, to)));
        again::measured_again(run, (&[], 1.0, 1.0), &alone)
    };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&again(1.9)), [format!("group {} both bandwidth", members.join(","))]);
    let loaded = again(1.0);
    assert!(loaded.findings.is_empty() && !loaded.remarks.is_empty(), "{:?}", found(&loaded));
}

#[test]
fn a_host_that_is_late_at_short_lengths_says_nothing_of_what_is_usual_alone_at_long_ones() {
    // Ten microseconds are a tenth of the longest messages, and a hundredth of what they add to short ones.
    let late = |_, from: usize, to: usize| if from == 3 || to == 3 { 10e-6 } else { 0.0 };
    let card = |from: usize, to: usize| if from == 20 || to == 20 { 1.12 } else { 1.0 };
    let run = measured((32, Schedule::Disjoint), late, card);
    let of_card = [(20, 7), (9, 20), (20, 28)];
    let of_late = [((3, 9), 1.0), ((12, 3), 1.0), ((3, 28), 1.0), ((30, 3), 1.0)];
    let found = found(&again::measured_again(run, (&of_card, 1.0, 1.0), &of_late));
    assert_eq!(found, ["node n03 both latency", "node n20 both bandwidth"]);
}

#[test]
fn routes_are_those_whose_messages_meet_no_others_too() {
    // Toward every fourth host over one cable, which is a little slower alone; three of these share it with another message.
    let slower = |from: usize, to: usize| match (from / 8 == 1 && to / 8 != 1, to % 4, to / 4 % 3) {
        (true, 2, 0) => 2.2,
        (true, 2, _) => 1.2,
        _ => 1.0,
    };
    let diagnosis = judged(&measured((48, Schedule::Disjoint), |_, _, _| 0.0, slower));
    let [Remark::Again(again)] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
    let [routes] = &again[..] else { panic!("{again:?}") };
    assert_eq!((routes.kind, routes.direction), (Kind::Routes, Direction::Send));
    assert_eq!((routes.cells.slow, routes.cells.of), (80, 80));
}

#[test]
fn a_leaf_that_is_slower_than_others_with_as_many_messages_on_the_way_is_slow_under_load() {
    let plain = measured((32, Schedule::Disjoint), |_, _, _| 0.0, |_, _| 1.0);
    let moment = |length: u64, from: usize, to: usize| {
        plain.header().rounds(Bytes(length)).and_then(|rounds| rounds.meeting(from, to)).expect("all pairs meet")
    };
    // Messages take longer where no two hosts of the leaf meet, so that all of them send theirs out of it.
    let are_inside = |length: u64, leaf: usize, round: usize| {
        let mut hosts = 8 * leaf..8 * leaf + 8;
        hosts.any(|a| (8 * leaf..a).any(|b| moment(length, a, b) == round))
    };
    let late = |is_bad: &dyn Fn(usize) -> bool, length: u64, from: usize, to: usize| {
        let is_full = |leaf: usize| is_bad(leaf) && !are_inside(length, leaf, moment(length, from, to));
        let is_way = from / 8 != to / 8 && (is_full(from / 8) || is_full(to / 8));
        if is_way { 0.3 * length as f64 / 12.5e9 } else { 0.0 }
    };
    let judge = |is_bad: &dyn Fn(usize) -> bool| {
        let more = |length: u64, from: usize, to: usize| late(is_bad, length, from, to);
        let diagnosis = judged(&measured((32, Schedule::Disjoint), more, |_, _| 1.0));
        assert_eq!(found(&diagnosis), Vec::<String>::new());
        diagnosis.remarks
    };
    let [Remark::Again(one)] = &judge(&|leaf| leaf == 1)[..] else { panic!("one remark") };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(one.iter().map(|found| (found.kind, &found.hosts)).collect::<Vec<_>>(), [(Kind::Group, &members)]);
    let all = judge(&|_| true);
    let is_way =
        |remark: &Remark| matches!(remark, Remark::Again(found) if found.iter().any(|one| one.kind == Kind::Group));
    assert!(!all.iter().any(is_way), "{all:?}");
}

#[test]
fn one_pair_that_is_slow_alone_both_ways_is_none_of_what_it_crosses() {
    // No other pair of its two leaves was measured again.
    let is_link = |from: usize, to: usize| [(9, 18), (18, 9)].contains(&(from, to));
    let again = [(9, 18), (18, 9), (3, 25), (30, 5), (0, 27), (26, 4)];
    let load = |from: usize, to: usize| 2.0 + ((37 * from + 101 * to + 13 * from * to) % 11) as f64;
    assert_eq!(found(&again::hidden(1.0, &load, is_link, &again)), Vec::<String>::new());
}

#[test]
fn one_pair_that_is_slow_alone_shows_what_it_crosses_where_all_others_of_that_are_slow_among_others() {
    // Eight of eleven meet others.
    let load = |from: usize, to: usize| if (5 * from + 7 * to) % 11 < 8 { 2.5 } else { 1.0 };
    let named = |is_bad: &dyn Fn(usize, usize) -> bool, pair: (usize, usize)| {
        let again = [pair, (3, 25), (30, 5), (0, 27), (26, 4), (20, 1), (2, 19)];
        found(&again::hidden(1.0, &load, is_bad, &again))
    };
    assert_eq!(named(&|_, to| to == 12, (20, 12)), ["node n12 receive bandwidth"]);
    let members: Vec<String> = (8..24).map(|host| format!("n{host:02}")).collect();
    let is_between = |from: usize, to: usize| from / 8 == 1 && to / 8 == 2;
    assert_eq!(named(&is_between, (9, 18)), [format!("gate {} send bandwidth", members.join(","))]);
}

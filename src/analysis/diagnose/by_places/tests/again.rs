//! What re-tests make of places that are slow.

use super::*;

/// Measures pairs of the longest messages again, among others and alone, with so many times the times; and others, each with
/// that alone.
pub(super) fn measured_again(
    mut run: MemoryRun,
    (pairs, second, alone): (&[(usize, usize)], f64, f64),
    others: &[((usize, usize), f64)],
) -> Diagnosis {
    let index = LENGTHS.len() - 1;
    let times = run.matrix(Statistic::Median, index).unwrap();
    let retest = |&(source, destination): &(usize, usize), second: f64, alone: f64| {
        let first = times[(source, destination)];
        Retest { source, destination, first, second: second * first, alone: alone * first }
    };
    let pairs = pairs.iter().map(|pair| retest(pair, second, alone));
    let others = others.iter().map(|(pair, alone)| retest(pair, 1.0, *alone));
    run.write_retests(index, &pairs.chain(others).collect::<Vec<_>>()).unwrap();
    judged(&run)
}

#[test]
fn routes_that_are_slow_alone_are_at_fault_however_much_slower_they_are_among_others() {
    let way = |from: usize, to: usize| if from / 8 == 1 && to / 8 != 1 && to % 4 == 2 { 6.0 } else { 1.0 };
    let pairs = [(8, 2), (9, 18), (12, 26), (15, 30)];
    let again = |alone: f64| {
        let run = measured((32, Schedule::Disjoint), |_, _, _| 0.0, way);
        measured_again(run, (&pairs, 0.9, alone / 6.0), &[])
    };
    let at_fault = again(2.0);
    assert_eq!(at_fault.findings[0].retest, Some(RetestVerdict::Confirmed));
    assert_eq!((found(&at_fault).len(), at_fault.findings[0].kind), (1, Kind::Routes));
    let loaded = again(1.0);
    assert!(loaded.findings.is_empty() && !loaded.remarks.is_empty(), "{:?}", found(&loaded));
    // As fast alone as others among others, and others are twice as fast alone.
    let run = measured((32, Schedule::Disjoint), |_, _, _| 0.0, way);
    // Most of these others are slow alone as well, which is a place that was not found.
    let others = [((3, 17), 0.5), ((0, 25), 0.5), ((9, 3), 1.0), ((1, 20), 1.0), ((2, 21), 1.0)];
    let at_fault = measured_again(run, (&pairs, 0.9, 1.0 / 6.0), &others);
    assert_eq!(at_fault.findings[0].retest, Some(RetestVerdict::Confirmed));
}

#[test]
fn a_way_that_some_of_its_pairs_share_is_at_fault_by_what_it_takes_alone() {
    // Twice the time, and three times as much again for those that meet others.
    let meets = |from: usize, to: usize| (from + to) % 5 < 3;
    let way = |from: usize, to: usize| match (from / 8 == 1) != (to / 8 == 1) {
        true if meets(from, to) => 8.0,
        true => 2.0,
        false => 1.0,
    };
    let run = measured((32, Schedule::Disjoint), |_, _, _| 0.0, way);
    let at_fault = measured_again(run, (&[(8, 2), (9, 18), (30, 15)], 1.0, 0.25), &[]);
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&at_fault), [format!("group {} both bandwidth", members.join(","))]);
    assert_eq!(at_fault.findings[0].cells, Agreement { slow: 384, of: 384 });
}

#[test]
fn a_whole_way_is_at_fault_where_most_pairs_of_other_leaves_meet_others() {
    // Of ten pairs of other leaves, three meet no others.
    let meets = |from: usize, to: usize| (from * 7 + to * 3) % 10;
    let is_bad = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1);
    let way = |from: usize, to: usize| match (from / 8 == to / 8, is_bad(from, to), meets(from, to)) {
        (true, ..) => 1.0,
        (_, false, ..3) => 1.0,
        (_, false, ..9) => 2.0,
        (_, true, ..6) => 2.7,
        _ => 4.0,
    };
    let run = measured((48, Schedule::Disjoint), |_, _, _| 0.0, way);
    let ends = |is_bad: bool, least: usize, alone: f64| {
        let pairs = (0..8).flat_map(move |i| (8..32).map(move |j| (i, j)));
        let is_of = move |pair: &(usize, usize)| (pair.1 < 16) == is_bad && meets(pair.0, pair.1) == least;
        pairs.filter(is_of).map(|pair| (pair, alone)).take(4).collect::<Vec<_>>()
    };
    let again: Vec<(usize, usize)> = ends(true, 0, 1.0).into_iter().map(|(pair, _)| pair).collect();
    let at_fault = measured_again(run, (&again, 1.0, 1.0), &ends(false, 4, 0.5));
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&at_fault), [format!("group {} both bandwidth", members.join(","))]);
}

#[test]
fn some_routes_are_at_fault_by_what_they_take_alone_however_few_meet_others() {
    let is_bad = |from: usize, to: usize| from / 8 != 1 && to / 8 == 1 && to % 4 == 2;
    let way = |from: usize, to: usize| match is_bad(from, to) {
        true if (from + to) % 5 < 3 => 6.0,
        true => 2.0,
        false => 1.0,
    };
    let run = measured((32, Schedule::Disjoint), |_, _, _| 0.0, way);
    let at_fault = measured_again(run, (&[(3, 10), (18, 14), (1, 10), (22, 10)], 1.0, 1.0 / 3.0), &[]);
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&at_fault), [format!("routes {} receive bandwidth", members.join(","))]);
}

#[test]
fn samples_that_scatter_behind_a_slow_cable_are_no_host_s_though_its_pairs_were_not_measured_again() {
    // Toward three hosts of the leaf messages meet on a cable that is three times as slow alone. So do all that leave a
    // leaf, which hides it among others.
    let is_bad = |from: usize, to: usize| from / 8 != 1 && to / 8 == 1 && to % 3 == 2;
    let mut rng = generator(4);
    let met: Vec<f64> = (0..32 * 32).map(|_| 2.0 * normal(&mut rng).exp2().max(0.5)).collect();
    let alone = |from: usize, to: usize| if is_bad(from, to) { 3.0 } else { 1.0 };
    let way =
        |from: usize, to: usize| if from / 8 == to / 8 { 1.0 } else { f64::max(alone(from, to), met[32 * from + to]) };
    let whole = measured((32, Schedule::Disjoint), |_, _, _| 0.0, way);
    let mut run = MemoryRun::with_statistics(whole.header().clone(), vec![Statistic::Median, Statistic::Deviation]);
    let mut cells = Vec::new();
    for (index, length) in LENGTHS.iter().enumerate() {
        whole.read_cells(index, 0..32, &mut cells).unwrap();
        for (pair, cell) in cells.iter_mut().enumerate() {
            let share = if is_bad(pair / 32, pair % 32) { 0.3 } else { 0.05 } * (1.0 + 0.2 * normal(&mut rng)).abs();
            cell.summary.deviation = share * cell.summary.median;
        }
        run.push(Bytes(*length), cells.clone());
    }
    // Toward two of the three.
    let again = [(3, 11), (18, 8), (1, 11), (22, 8), (1, 4), (2, 17), (20, 30), (25, 5), (9, 20), (28, 12)];
    let again = again.map(|(from, to)| ((from, to), alone(from, to) / way(from, to)));
    let at_fault = measured_again(run, (&[], 1.0, 1.0), &again);
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&at_fault), [format!("routes {} receive bandwidth", members.join(","))]);
}

#[test]
fn where_pairs_are_measured_one_after_another_no_load_excuses_a_host() {
    let card = |host: usize| if host == 5 { 2.0 } else { 1.0 };
    let run = measured((16, Schedule::Isolated), |_, _, _| 0.0, |from, to| f64::max(card(from), card(to)));
    let passed = measured_again(run, (&[(5, 1), (9, 5)], 1.0, 0.5), &[]);
    assert_eq!(found(&passed), ["node n05 both bandwidth"]);
    assert_ne!(passed.findings[0].retest, Some(RetestVerdict::Contention));
}

#[test]
fn what_is_refuted_by_its_re_tests_hides_no_late_host() {
    // Long messages of three hosts meet others, by which they seem slow; their cores are late besides.
    let is_late = |host: usize| [3, 5, 7].contains(&host);
    let slower = |from: usize, to: usize| if is_late(from) || is_late(to) { 2.0 } else { 1.0 };
    let late = |_, from: usize, to: usize| [from, to].map(|host| if is_late(host) { 0.1e-6 } else { 0.0 }).iter().sum();
    let mut run = measured((32, Schedule::Disjoint), late, slower);
    for (index, length) in LENGTHS.into_iter().enumerate() {
        let times = run.matrix(Statistic::Median, index).unwrap();
        let again = |(source, destination): (usize, usize)| {
            let first = times[(source, destination)];
            let alone = first * if length > 4096 { 0.5 } else { 1.0 };
            Retest { source, destination, first, second: first, alone }
        };
        run.write_retests(index, &[(3, 1), (9, 3), (5, 20), (17, 5), (7, 12), (30, 7)].map(again)).unwrap();
    }
    let named = found(&judged(&run));
    assert_eq!(named, ["node n03 both latency", "node n05 both latency", "node n07 both latency"]);
}

#[test]
fn a_rank_that_is_late_alone_is_named_where_all_that_leave_a_leaf_meet_others() {
    let busy = 0.3e-6;
    let is_busy = |length: u64, from: usize, to: usize| length == 4096 && from / 16 != to / 16;
    let late = |length: u64, from: usize, to: usize| {
        let core = if from == 5 || to == 5 { 0.1e-6 } else { 0.0 };
        core + if is_busy(length, from, to) { busy } else { 0.0 }
    };
    let mut run = measured_by_ranks((32, 2, Schedule::Disjoint), late, |_, _| 1.0);
    let times = run.matrix(Statistic::Median, 2).unwrap();
    let again = |(source, destination): (usize, usize)| {
        let first = times[(source, destination)];
        Retest { source, destination, first, second: first, alone: first - busy }
    };
    let healthy = [(0, 20), (21, 3), (40, 7), (8, 51), (33, 60), (17, 62)];
    run.write_retests(2, &[&[(5, 24), (41, 5)][..], &healthy].concat().into_iter().map(again).collect::<Vec<_>>())
        .unwrap();
    let diagnosis = judged(&run);
    assert_eq!(found(&diagnosis), ["rank n02 both latency"], "{:?}", diagnosis.remarks);
    assert_eq!(diagnosis.findings[0].retest, Some(RetestVerdict::Confirmed));
}

/// Of 32 hosts on four leaves those that leave the second one by one of its two cables take half as long again; whatever
/// leaves a leaf meets others, and takes two to twelve times as long for it. So many pairs are measured again.
fn hidden_by_load(is_bad: impl Fn(usize, usize) -> bool, again: &[(usize, usize)]) -> Diagnosis {
    hidden_by_load_and_distance(1.0, is_bad, again)
}

/// The same where pairs of different leaves take so many times as long alone.
fn hidden_by_load_and_distance(far: f64, is_bad: impl Fn(usize, usize) -> bool, again: &[(usize, usize)]) -> Diagnosis {
    hidden(far, &|from, to| 2.0 + ((37 * from + 101 * to + 13 * from * to) % 11) as f64, is_bad, again)
}

/// The same where pairs of different leaves take so many times as long among others.
pub(super) fn hidden(
    far: f64,
    load: &dyn Fn(usize, usize) -> f64,
    is_bad: impl Fn(usize, usize) -> bool,
    again: &[(usize, usize)],
) -> Diagnosis {
    let bad = |from: usize, to: usize| if is_bad(from, to) { 1.5 } else { 1.0 };
    let load = |from: usize, to: usize| if from / 8 != to / 8 { load(from, to) } else { 1.0 };
    let mut run = measured((32, Schedule::Disjoint), |_, _, _| 0.0, |from, to| bad(from, to) * load(from, to));
    for (index, length) in LENGTHS.into_iter().enumerate().skip(3) {
        let times = run.matrix(Statistic::Median, index).unwrap();
        let retest = |&(source, destination): &(usize, usize)| {
            let first = times[(source, destination)];
            let far = if source / 8 == destination / 8 { 1.0 } else { far };
            let alone = 2e-6 + length as f64 / 12.5e9 * far * bad(source, destination);
            Retest { source, destination, first, second: first, alone }
        };
        run.write_retests(index, &again.iter().map(retest).collect::<Vec<_>>()).unwrap();
    }
    judged(&run)
}

const HEALTHY: [(usize, usize); 8] = [(0, 12), (3, 25), (17, 8), (20, 1), (26, 14), (30, 5), (2, 19), (10, 5)];

#[test]
fn routes_that_are_slow_alone_are_named_where_load_hides_them() {
    let is_bad = |from: usize, to: usize| from / 8 == 1 && to / 8 != 1 && to.is_multiple_of(2);
    let slow = [(8, 2), (9, 18), (12, 26), (15, 2), (11, 26)];
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    let diagnosis = hidden_by_load(is_bad, &[&slow[..], &HEALTHY].concat());
    assert_eq!(found(&diagnosis), [format!("routes {} send bandwidth", members.join(","))]);
    assert_eq!(diagnosis.findings[0].retest, Some(RetestVerdict::Confirmed));
    // A single pair may be anything, one that is slow both ways too.
    assert_eq!(found(&hidden_by_load(is_bad, &[&slow[..1], &HEALTHY].concat())), Vec::<String>::new());
    let is_link = |from: usize, to: usize| [(9, 18), (18, 9)].contains(&(from, to));
    assert_eq!(
        found(&hidden_by_load(is_link, &[&[(9, 18), (18, 9)][..], &HEALTHY[..2], &HEALTHY[3..]].concat())),
        Vec::<String>::new()
    );
}

#[test]
fn routes_that_are_slow_alone_are_named_where_pairs_inside_leaves_were_measured_again_too() {
    let is_bad = |from: usize, to: usize| from / 8 == 1 && to / 8 != 1 && to.is_multiple_of(2);
    let (slow, near) = ([(8, 2), (9, 18), (12, 26), (15, 2), (11, 26)], [(0, 3), (12, 9), (17, 20)]);
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    let diagnosis = hidden_by_load_and_distance(1.1, is_bad, &[&slow[..], &HEALTHY, &near].concat());
    assert_eq!(found(&diagnosis), [format!("routes {} send bandwidth", members.join(","))]);
}

#[test]
fn routes_of_which_two_pairs_were_measured_again_are_named_where_all_others_of_them_are_slow_among_others() {
    let is_bad = |from: usize, to: usize| from / 8 == 1 && [2, 18].contains(&to);
    let again = [&[(8, 2), (9, 18)][..], &HEALTHY].concat();
    let of_load = |share: usize| {
        let load = move |from: usize, to: usize| if (5 * from + 7 * to) % 11 < share { 2.5 } else { 1.0 };
        hidden(1.0, &load, is_bad, &again)
    };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&of_load(4)), [format!("routes {} send bandwidth", members.join(","))]);
    // Where most others are slow as well, that they are says little.
    assert_eq!(found(&of_load(10)), Vec::<String>::new());
}

#[test]
fn a_way_is_slow_alone_though_none_but_its_pairs_were_measured_again() {
    // Outward its messages meet others, inward they meet none.
    let is_bad = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1);
    let load = |from: usize, to: usize| match (from / 8, (5 * from + 7 * to) % 11) {
        (1, met) => 1.5 + met as f64 / 5.0,
        (_, 0..3) => 2.0,
        _ => 1.0,
    };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    let few = [(8, 2), (9, 18), (12, 26), (15, 5), (11, 30)].to_vec();
    // No pair of one of its hosts.
    let many = (0..17).map(|pair| (9 + pair % 7, (16 + 5 * pair % 24) % 32)).collect();
    for pairs in [few, many] {
        let again: Vec<(usize, usize)> = pairs.into_iter().flat_map(|(from, to)| [(from, to), (to, from)]).collect();
        assert_eq!(found(&hidden(1.0, &load, is_bad, &again)), [format!("group {} both bandwidth", members.join(","))]);
    }
}

#[test]
fn routes_that_are_slow_alone_both_ways_are_named_though_most_pairs_that_show_them_are_between_two_leaves() {
    let is_bad = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1) && to.is_multiple_of(2);
    let slow = [(8, 4), (8, 6), (9, 18), (10, 18), (7, 10), (4, 8), (6, 8), (7, 14), (18, 10)];
    let others = [(10, 7), (14, 7), (18, 9), (23, 9), (9, 23), (19, 13), (17, 13), (23, 15), (15, 23), (3, 20)];
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    let diagnosis = hidden_by_load(is_bad, &[&slow[..], &others].concat());
    assert_eq!(found(&diagnosis), [format!("routes {} both bandwidth", members.join(","))]);
}

#[test]
fn a_card_that_is_slow_alone_is_a_host_where_load_hides_it() {
    let is_bad = |_: usize, to: usize| to == 12;
    let slow = [(3, 12), (20, 12), (29, 12), (9, 12)];
    let diagnosis = hidden_by_load(is_bad, &[&slow[..], &HEALTHY[1..4], &HEALTHY[5..]].concat());
    assert_eq!(found(&diagnosis), ["node n12 receive bandwidth"]);
    // Where pairs of different leaves take a tenth longer alone, and one of its own leaf was measured again.
    let again = [&slow[..], &HEALTHY[1..4], &HEALTHY[5..]].concat();
    assert_eq!(found(&hidden_by_load_and_distance(1.1, is_bad, &again)), ["node n12 receive bandwidth"]);
}

#[test]
fn links_of_one_host_are_one_host_where_one_of_them_is_confirmed_and_nothing_is_on_the_way() {
    let is_slow = |from: usize, to: usize| [(3, 9), (3, 12), (3, 20)].contains(&(from.min(to), from.max(to)));
    let run = measured((24, Schedule::Isolated), |_, _, _| 0.0, |from, to| if is_slow(from, to) { 2.0 } else { 1.0 });
    let diagnosis = measured_again(run, (&[(3, 12), (12, 3)], 1.0, 1.0), &[]);
    assert_eq!(found(&diagnosis), ["node n03 both bandwidth"]);
    assert!(diagnosis.remarks.is_empty(), "{:?}", diagnosis.remarks);
}

#[test]
fn links_of_one_host_stay_apart_where_most_that_were_measured_again_had_passed() {
    let links = [(3, 9), (3, 12), (3, 20), (5, 14), (7, 22), (1, 17)];
    let run = measured(
        (24, Schedule::Isolated),
        |_, _, _| 0.0,
        |from, to| {
            if links.contains(&(from, to)) { 2.0 } else { 1.0 }
        },
    );
    let diagnosis = measured_again(run, (&[(3, 12)], 1.0, 1.0), &[((5, 14), 0.5), ((7, 22), 0.5), ((1, 17), 0.5)]);
    assert_eq!(found(&diagnosis), ["link n03,n12 send bandwidth"]);
    assert!(!diagnosis.remarks.is_empty());
}

#[test]
fn the_other_way_of_a_pair_that_is_slow_both_ways_is_no_healthy_pair() {
    let link = |from: usize, to: usize| if (from.min(to), from.max(to)) == (0, 9) { 2.0 } else { 1.0 };
    let mut run = measured((24, Schedule::Isolated), |_, _, _| 0.0, link);
    let index = LENGTHS.len() - 1;
    let times = run.matrix(Statistic::Median, index).unwrap();
    let again = |(source, destination): (usize, usize)| {
        let first = times[(source, destination)];
        Retest { source, destination, first, second: first, alone: first }
    };
    run.write_retests(index, &[(0, 9), (9, 0)].map(again)).unwrap();
    let folded = Folded::read(&run, Statistic::Median, &[false; 24]).unwrap();
    let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
    let verdict = places::judge(&folded, places::distances(&folded, Mode::OneToOne, None), asked);
    // Of the other way another place may be the one that is found.
    let mut suspects = verdict.suspects.clone();
    assert_eq!((suspects.len(), suspects[0].place.kind), (1, Kind::Link));
    suspects[0].place = places::Place::of(Kind::Link, vec![0, 9], Direction::Send);
    let found = tested(&run, &[false; 24], (&folded, &verdict), (&suspects, &[])).unwrap();
    assert_eq!(found[0].retest, Some(RetestVerdict::Confirmed));
}

#[test]
fn the_other_way_of_a_host_that_sends_late_is_no_healthy_pair_where_its_announcements_are_late_too() {
    let late = |length: u64, from: usize, to: usize| match length {
        0..=64 if from == 5 || to == 5 => 1e-6,
        65.. if from == 5 => 2e-6,
        _ => 0.0,
    };
    let mut run = measured((16, Schedule::Isolated), late, |_, _| 1.0);
    for index in 0..LENGTHS.len() {
        let times = run.matrix(Statistic::Median, index).unwrap();
        let again = |(source, destination): (usize, usize)| {
            let first = times[(source, destination)];
            Retest { source, destination, first, second: first, alone: first }
        };
        run.write_retests(index, &[(5, 1), (1, 5), (5, 9), (9, 5)].map(again)).unwrap();
    }
    let found = judged(&run).findings;
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&found.hosts[0][..], found.direction), ("n05", Direction::Send));
    assert_eq!(found.retest, Some(RetestVerdict::Confirmed));
}

#[test]
fn a_link_that_is_slow_at_one_length_is_named_if_it_is_whenever_it_is_measured() {
    const LONGEST: u64 = 1 << 20;
    let link = [(3, 17), (17, 3)];
    let number = |length: u64, from: usize, to: usize| from * 7 + to * 13 + length as usize % 31;
    let is_disturbed = |length, from, to| number(length, from, to) % 32 == 5;
    let times = |from: usize| 1.5 + (from % 5) as f64;
    let more = |length: u64, from: usize, to: usize| match length {
        LONGEST if link.contains(&(from, to)) => 60e-6,
        _ if is_disturbed(length, from, to) => (times(from) - 1.0) * (1e-6 + length as f64 / 12.5e9),
        _ => 0.0,
    };
    let pairs = || (0..32).flat_map(|from| (0..32).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let disturbed = || pairs().filter(|(from, to)| from / 8 != to / 8 && is_disturbed(LONGEST, *from, *to));
    let passed: Vec<_> = disturbed().take(8).map(|pair| (pair, 1.0 / times(pair.0))).collect();
    let judge = |again: &[(usize, usize)], alone: f64, others: &[((usize, usize), f64)]| {
        let run = measured((32, Schedule::Isolated), more, |_, _| 1.0);
        measured_again(run, (again, alone, alone), others)
    };
    let named = judge(&link, 1.0, &passed);
    assert_eq!(found(&named), ["link n03,n17 both bandwidth"]);
    assert_eq!(named.findings[0].lengths, (Bytes(LONGEST), Bytes(LONGEST)));
    assert_eq!(named.findings[0].retest, Some(RetestVerdict::Confirmed));
    let nothing = Vec::<String>::new();
    // Not measured again; slow the first time alone; slow again alone.
    assert_eq!(found(&judge(&[], 1.0, &passed)), nothing);
    assert_eq!(found(&judge(&link, 0.6, &passed)), nothing);
    assert_eq!(found(&judge(&[(1, 18), (18, 1)], 1.7, &passed)), nothing);
    // One cell of many that are disturbed, each time.
    let one = disturbed().find(|(from, _)| from % 5 == 3).unwrap();
    assert_eq!(found(&judge(&[one], 1.0, &passed[..2])), nothing);
    // At a moment at which all are slow that are measured again.
    let near: Vec<_> = pairs().filter(|(from, to)| from / 8 == to / 8).take(8).collect();
    assert_eq!(found(&judge(&near, 1.7, &link.map(|pair| (pair, 1.0)))), nothing);
}

#[test]
fn what_healthy_pairs_keep_from_one_time_to_the_next_is_no_link() {
    let mut rng = generator(8);
    // More at all long messages, by ways of their own, both ways.
    let own: Vec<f64> = (0..32 * 32).map(|_| 2e-6 * normal(&mut rng)).collect();
    let of = |from: usize, to: usize| own[from.min(to) * 32 + from.max(to)];
    let more = |length: u64, from: usize, to: usize| if length >= 1 << 18 { of(from, to) } else { 0.0 };
    let mut run = measured((32, Schedule::Isolated), more, |_, _| 1.0);
    let index = LENGTHS.iter().position(|length| *length == 1 << 18).unwrap();
    let times = run.matrix(Statistic::Median, index).unwrap();
    let mut pairs: Vec<(usize, usize)> = (0..32).flat_map(|i| (i + 1..32).map(move |j| (i, j))).collect();
    pairs.sort_by(|a, b| of(b.0, b.1).total_cmp(&of(a.0, a.1)));
    let again = |(source, destination): (usize, usize)| {
        let first = times[(source, destination)];
        Retest { source, destination, first, second: first, alone: first }
    };
    let again: Vec<Retest> =
        pairs.iter().take(2).chain(&pairs[200..216]).flat_map(|(i, j)| [(*i, *j), (*j, *i)]).map(again).collect();
    run.write_retests(index, &again).unwrap();
    assert_eq!(found(&judged(&run)), Vec::<String>::new());
}

#[test]
fn pairs_are_slow_again_by_what_clocks_do_not_explain_both_times() {
    let usual = measured((16, Schedule::Isolated), |_, _, _| 0.0, |_, _| 1.0);
    let provenance = Provenance { clock_step: "100 ns".to_owned(), ..Provenance::default() };
    let header = Header { provenance, ..usual.header().clone() };
    let mut run = MemoryRun::with_statistics(header, vec![Statistic::Median]);
    let times = usual.matrix(Statistic::Median, 0).unwrap();
    let cell = |time: &f64| Cell::measured(Summary::of(&mut [*time]), 9, State::Measured);
    run.push(Bytes(0), times.values().iter().map(cell).collect());
    let again = |(destination, more): (usize, f64)| {
        let first = times[(3, destination)];
        Retest { source: 3, destination, first, second: first + more, alone: first + more }
    };
    let failed = Retest { second: f64::NAN, ..again((11, 1e-6)) };
    let others = [(9, 0.1e-6), (12, 1e-6), (10, 0.0), (14, 0.0)].map(again);
    run.write_retests(0, &[&others[..], &[failed]].concat()).unwrap();
    let folded = Folded::read(&run, Statistic::Median, &[false; 16]).unwrap();
    let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
    let verdict = places::judge(&folded, places::distances(&folded, Mode::OneToOne, None), asked);
    let slow = retests::slow_again(&run, &[false; 16], (&folded, &verdict)).unwrap();
    // A step more is none; of ten steps one and a half are not certain.
    let expected = ((1.5e-6 + 0.85e-6) / 1.5e-6f64).ln();
    assert!(!slow[0].contains_key(&(3, 11)), "measured again once");
    assert!(slow[0][&(3, 9)] < 0.0 && (slow[0][&(3, 12)] - expected).abs() < 0.03, "{slow:?} {expected}");
}

#[test]
fn a_late_leaf_of_a_busy_tree_is_named_though_its_way_is_as_fast_as_others_at_long_lengths_alone() {
    let is_way = |from: usize, to: usize| (from / 8 == 1) != (to / 8 == 1);
    let late = |_: u64, from: usize, to: usize| if is_way(from, to) { 0.2e-6 } else { 0.0 };
    let mut run = measured((32, Schedule::Disjoint), late, |from, to| if is_way(from, to) { 1.5 } else { 1.0 });
    for (index, length) in LENGTHS.into_iter().enumerate() {
        let times = run.matrix(Statistic::Median, index).unwrap();
        let again = |(source, destination): (usize, usize)| {
            let first = times[(source, destination)];
            let of_others = if is_way(source, destination) { 0.5 * length as f64 / 12.5e9 } else { 0.0 };
            Retest { source, destination, first, second: first, alone: first - of_others }
        };
        let pairs = [(9, 2), (10, 20), (12, 30), (4, 13), (27, 14), (3, 20), (5, 28), (18, 1)];
        run.write_retests(index, &pairs.map(again)).unwrap();
    }
    let diagnosis = judged(&run);
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    assert_eq!(found(&diagnosis), [format!("group {} both latency", members.join(","))]);
    let late = &diagnosis.findings[0];
    assert_eq!((late.lengths, late.retest), ((Bytes(0), Bytes(4096)), Some(RetestVerdict::Confirmed)));
    assert!(matches!(&diagnosis.remarks[..], [Remark::Load(way)] if way.hosts == members), "{:?}", diagnosis.remarks);
}

#[test]
fn a_host_that_was_slow_with_some_others_and_is_not_any_more_is_slow_for_a_part_of_the_time() {
    let is_slow = |from: usize, to: usize| [(2, 5), (3, 5), (5, 9), (5, 10)].contains(&(from.min(to), from.max(to)));
    let late = |length: u64, from: usize, to: usize| if length <= 4096 && is_slow(from, to) { 2e-6 } else { 0.0 };
    // All on one switch.
    let far = |from: usize, to: usize| if from / 8 == to / 8 { 0.0 } else { 0.5e-6 };
    for schedule in [Schedule::Isolated, Schedule::Disjoint] {
        let judge = |is_slow_again: bool| {
            let mut run =
                measured((12, schedule), |length, from, to| late(length, from, to) - far(from, to), |_, _| 1.0);
            for (index, length) in LENGTHS.into_iter().enumerate() {
                let times = run.matrix(Statistic::Median, index).unwrap();
                let again = |(source, destination): (usize, usize)| {
                    let first = times[(source, destination)];
                    let passed = if is_slow_again { 0.0 } else { late(length, source, destination) };
                    Retest { source, destination, first, second: first - passed, alone: first - passed }
                };
                let slow = (0..144).map(|pair| (pair / 12, pair % 12)).filter(|(from, to)| is_slow(*from, *to));
                run.write_retests(index, &slow.map(again).collect::<Vec<_>>()).unwrap();
            }
            judged(&run)
        };
        let diagnosis = judge(false);
        assert_eq!(found(&diagnosis), ["node n05 both latency"], "{schedule}");
        let is_of_time = |host: &Finding| host.share.is_none() && host.share_of_time.is_some();
        assert!(diagnosis.findings.iter().all(is_of_time), "{schedule}");
        assert!(!judge(true).findings.iter().any(is_of_time), "{schedule}");
    }
}

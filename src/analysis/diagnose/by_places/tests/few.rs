//! Runs in which every host meets a few others, so that often no leaves are known.

use super::*;

/// A run of 32 hosts, leaves of eight, in which each meets those that are so far from it by number, either way round.
fn of_few(apart: &[usize], slower: impl Fn(usize, usize) -> f64) -> Diagnosis {
    of_few_late(apart, |_, _| 0.0, slower)
}

/// The same where pairs take so many seconds more.
fn of_few_late(apart: &[usize], late: impl Fn(usize, usize) -> f64, slower: impl Fn(usize, usize) -> f64) -> Diagnosis {
    let whole = measured((32, Schedule::Isolated), |_, from, to| late(from, to), slower);
    let mut run = MemoryRun::with_statistics(whole.header().clone(), vec![Statistic::Median]);
    let have_met = |i: usize, j: usize| apart.contains(&i.abs_diff(j).min(32 - i.abs_diff(j))) || i == j;
    let mut cells = Vec::new();
    for (index, length) in LENGTHS.iter().enumerate() {
        whole.read_cells(index, 0..32, &mut cells).unwrap();
        let left_out = cells.iter_mut().enumerate().filter(|(pair, _)| !have_met(pair / 32, pair % 32));
        left_out.for_each(|(_, cell)| *cell = Cell::missing(State::NotScheduled));
        run.push(Bytes(*length), cells.clone());
    }
    judged(&run)
}

#[test]
fn the_way_of_a_leaf_is_named_and_not_its_hosts() {
    let is_in = |host: usize| host / 8 == 1;
    let inward = |from: usize, to: usize| if !is_in(from) && is_in(to) { 3.0 } else { 1.0 };
    let names: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    let expected = [format!("group {} receive bandwidth", names.join(","))];
    // With one apart all have met each other by way of others; with three, in three parts that have not.
    for apart in [[1, 5, 9, 14], [3, 9, 13, 15]] {
        assert_eq!(found(&of_few(&apart, inward)), expected, "{apart:?}");
    }
    // Slow cards of some of them: a pair of two is slow as well.
    let cards = of_few(&[1, 5, 9, 14], |_, to| if (8..14).contains(&to) { 3.0 } else { 1.0 });
    let each: Vec<String> = names[..6].iter().map(|name| format!("node {name} receive bandwidth")).collect();
    assert_eq!(found(&cards), each);
}

#[test]
fn hosts_that_are_slow_with_some_by_as_much_share_a_way_that_cannot_be_named() {
    // One alone is named: it is slow with four of those that it meets.
    let some = |from: usize, to: usize| from.min(to) == 2 && [3, 7, 11, 16].contains(&from.max(to));
    let mut one = of_few(&[1, 5, 9, 14], |from, to| if some(from, to) { 3.0 } else { 1.0 });
    assert_eq!((found(&one), one.findings[0].share), (vec!["node n02 both bandwidth".to_owned()], Some(0.5)));
    let alone = one.findings[0].clone();
    let other = |kind, hosts: &[&str], times| {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Finding { kind, hosts, ratio: times * alone.ratio, ..alone.clone() }
    };
    let link = other(Kind::Link, &["n09", "n20"], 1.002);
    let another = other(Kind::Link, &["n05", "n19"], 1.1);
    one.findings.extend([another, link]);
    join_unnamed(0.005, &mut one.findings);
    assert_eq!(found(&one), ["fabric n02,n09,n20 both bandwidth", "link n05,n19 both bandwidth"]);
}

#[test]
fn leaves_are_known_where_hosts_have_met_enough_of_the_same_others() {
    let way = |from: usize, to: usize| if from / 8 == 1 && to / 8 != 1 && to % 2 == 1 { 3.0 } else { 1.0 };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    // 14 of 31 others: two hosts share six.
    assert_eq!(
        found(&of_few(&[1, 2, 5, 9, 12, 13, 14], way)),
        [format!("routes {} send bandwidth", members.join(","))]
    );
}

#[test]
fn leaves_are_known_of_few_pairs_where_every_host_has_met_two_of_its_own_in_the_mean() {
    let late = |from: usize, to: usize| if (from / 8 == 1) != (to / 8 == 1) { 0.3e-6 } else { 0.0 };
    let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
    // Eight of 31 others: two hosts share two. 52 pairs of 32 hosts are inside leaves.
    let found = found(&of_few_late(&[1, 2, 9, 14], late, |_, _| 1.0));
    assert_eq!(found, [format!("group {} both latency", members.join(","))]);
}

#[test]
fn two_links_of_a_host_among_many_are_no_host_that_is_slow_for_a_part_of_the_time() {
    let names: Vec<String> = (0..64).map(|host| format!("n{host:02}")).collect();
    let slow = diagnosed(16, |host| if host == 3 { 0.5e-6 } else { 0.0 }, |_, _| 1.0).findings.remove(0);
    let once = |others: &[usize]| {
        let hosts = |other: &usize| vec![names[5].clone(), names[*other].clone()];
        let link = |other| Finding { kind: Kind::Link, hosts: hosts(other), ..slow.clone() };
        slow_once(&names, &[0; 64], others.iter().map(link).collect(), 0.01)
    };
    assert_eq!(once(&[9, 20]).len(), 0);
    let [host] = &once(&[9, 20, 31])[..] else { panic!("one host") };
    assert_eq!((host.kind, &host.hosts, host.share_of_time), (Kind::Node, &vec![names[5].clone()], Some(3.0 / 63.0)));
}

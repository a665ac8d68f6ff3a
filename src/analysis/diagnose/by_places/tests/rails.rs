//! Rails of leaves, by the ranks that are slow there.

use super::*;
use crate::analysis::diagnose::rails::judge;

#[test]
fn most_ranks_of_a_place_that_are_slow_in_a_leaf_share_its_rail_though_no_partner_shows_what_the_rail_takes() {
    // Of 24 hosts with two ranks: the second ones of so many hosts of the second leaf are late.
    let leaf: Vec<usize> = (0..24).map(|host| host / 8).collect();
    let run = |last: usize| {
        let late = move |_, from: usize, _| if from % 2 == 1 && (8..last).contains(&(from / 2)) { 1e-6 } else { 0.0 };
        measured_by_ranks((24, 2, Schedule::Isolated), late, |_, _| 1.0)
    };
    let rails = |last: usize| {
        let slow = ranks::judge(&run(last), 0.99).unwrap();
        assert_eq!(slow.len(), last - 8);
        judge(&run(0), &leaf, 0.99, &slow).unwrap()
    };
    let [rail] = &rails(15)[..] else { panic!("one rail") };
    assert_eq!((rail.finding.kind, rail.finding.direction), (Kind::Rail, Direction::Send));
    assert_eq!((rail.finding.hosts.len(), rail.finding.cells), (8, Agreement { slow: 7, of: 8 }));
    assert_eq!(rail.ranks, (8..16).map(|host| 2 * host + 1).collect::<Vec<_>>());
    assert!(rails(12).is_empty());
}

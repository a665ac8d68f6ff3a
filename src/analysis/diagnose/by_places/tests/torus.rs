//! What a run on a torus comes to.

use super::{again::measured_again, *};
use crate::analysis::drawn::{route, torus};

const SIDES: [usize; 3] = [5, 4, 3];

#[test]
fn kinds_of_hosts_on_a_torus_are_a_remark() {
    let hops = torus([3, 3, 3], &mut generator(9));
    let late = |host: usize| if host < 12 { 0.25e-6 } else { 0.0 };
    let more = |_, from: usize, to: usize| {
        let of_leaves = if from / 8 == to / 8 { 0.0 } else { 0.5e-6 };
        0.18e-6 * hops[from][to] - of_leaves + late(from) + late(to)
    };
    let diagnosis = judged(&measured((27, Schedule::Isolated), more, |_, _| 1.0));
    assert_eq!((found(&diagnosis), diagnosis.verdict()), (Vec::new(), "healthy"));
    let [Remark::Kinds { hosts, .. }] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
    assert_eq!(hosts.len(), 12);
}

/// Whether the route of a pair takes a cable.
fn crosses((from, to): (usize, usize), cable: [usize; 2]) -> bool {
    route(SIDES, from, to).windows(2).any(|step| step == cable)
}

/// Seconds that the hops of a route take, instead of those between leaves.
fn of_hops(from: usize, to: usize) -> f64 {
    let of_leaves = if from / 8 == to / 8 { 0.0 } else { 0.5e-6 };
    0.18e-6 * (route(SIDES, from, to).len() - 1) as f64 - of_leaves
}

/// A run among others on which some pairs are twice as slow.
fn among_others(is_slow: impl Fn((usize, usize)) -> bool) -> MemoryRun {
    let slower = |from, to| if is_slow((from, to)) { 2.0 } else { 1.0 };
    measured((60, Schedule::Disjoint), |_, from, to| of_hops(from, to), slower)
}

#[test]
fn a_slow_cable_is_named_though_the_host_at_its_end_sends_late() {
    let is_slow = |pair| crosses(pair, [7, 8]) || crosses(pair, [8, 7]);
    let late = |_, from: usize, to: usize| of_hops(from, to) + if from == 7 { 0.05e-6 } else { 0.0 };
    let slower = |from, to| if is_slow((from, to)) { 1.5 } else { 1.0 };
    let named = found(&judged(&measured((60, Schedule::Isolated), late, slower)));
    assert_eq!(named, ["cable n07,n08 both bandwidth", "node n07 send latency"]);
}

#[test]
fn a_cable_is_at_fault_where_its_own_pair_is_slow_alone_or_two_that_may_take_it_are() {
    // As the way back may take the cable, its messages meet others there.
    let takes = |pair| crosses(pair, [7, 8]) || crosses(pair, [8, 7]);
    let run = || among_others(|(from, to)| takes((from, to)) || takes((to, from)));
    let again = [((7, 13), 1.0), ((13, 7), 0.5), ((8, 12), 1.0), ((12, 8), 0.5), ((18, 7), 0.5)];
    let at_fault = measured_again(run(), (&[], 1.0, 1.0), &again);
    assert_eq!(found(&at_fault), ["cable n07,n08 both bandwidth"]);
    assert_eq!(at_fault.findings[0].retest, Some(RetestVerdict::Confirmed));
    let with_own = [&again[..], &[((7, 8), 0.5), ((8, 7), 0.5)]].concat();
    for again in [&with_own[..], &again[1..2]] {
        let loaded = measured_again(run(), (&[], 1.0, 1.0), again);
        let cables = |remark: &Remark| matches!(remark, Remark::Load(finding) if finding.kind == Kind::Cable);
        let remarks = loaded.remarks.iter().filter(|remark| cables(remark)).count();
        assert_eq!((found(&loaded), remarks), (Vec::new(), 1), "{again:?}");
    }
}

#[test]
fn what_is_slow_for_one_cable_is_no_evidence_of_another_one() {
    let (bad, busy) = ([7, 8], [8, 13]);
    let run = among_others(|pair| crosses(pair, bad) || crosses(pair, busy));
    // Of both, of the one, of the other.
    let again = [((7, 13), 1.0), ((6, 13), 1.0), ((7, 3), 1.0), ((6, 8), 1.0), ((8, 18), 0.5), ((3, 13), 0.5)];
    let judged = measured_again(run, (&[], 1.0, 1.0), &again);
    assert_eq!(found(&judged), ["cable n07,n08 send bandwidth"]);
}

use netmatrix::units::Rank;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    fault::{Fault, Harm, Scope},
    parts::{Message, View},
};
use crate::families::{
    Family,
    bed::{Bed, Needs, Shape},
};

const LENGTH: u64 = 1 << 22;

fn bed(shapes: &'static [Shape]) -> Bed {
    let needs = Needs { shapes, hosts: &[24], ranks: &[1], capacity: &[1.0], spines: &[2], ..Needs::default() };
    Bed::draw(ChaCha8Rng::seed_from_u64(7), &needs)
}

/// Seconds of an empty message and of a long payload.
fn seconds(bed: &Bed, from: Rank, to: Rank) -> (f64, f64) {
    let routes = bed.parts.routes(from, to);
    let message = Message { from, to, length: LENGTH, moment: 0.0, routes: &routes, load: None };
    let view = View { faults: &bed.faults, without: None, is_varied: false };
    let latency = bed.parts.latency(&message, &view);
    let mut transfers = Vec::new();
    bed.parts.transfers(&message, 0.0, &view, &mut transfers);
    (latency, transfers[0])
}

#[test]
fn cores_add_and_of_cards_the_slowest_counts_once() {
    let mut bed = bed(&[Shape::Flat]);
    let (late, long) = seconds(&bed, 0, 1);
    for host in [0, 1] {
        let scope = bed.ends(&[host], true, true);
        bed.plant(Fault::always(scope.clone(), Harm::Latency(1e-6)));
        bed.plant(Fault::always(scope, Harm::Slow(2.0)));
    }
    let (both_late, both_long) = seconds(&bed, 0, 1);
    assert!((both_late - late - 2e-6).abs() < 1e-12, "{both_late} {late}");
    assert!((both_long / long - 2.0).abs() < 1e-9, "{both_long} {long}");
    let (one_late, one_long) = seconds(&bed, 0, 2);
    assert!((one_late - late - 1e-6).abs() < 1e-12 && (one_long / long - 2.0).abs() < 1e-9);
}

#[test]
fn a_bad_cable_slows_a_leaf_towards_the_hosts_that_it_leads_to_and_nobody_else() {
    let mut bed = bed(&[Shape::Leaves]);
    let before: Vec<f64> = (0..24)
        .flat_map(|from| (0..24).map(move |to| (from, to)))
        .map(|(from, to)| if from == to { 1.0 } else { seconds(&bed, from, to).1 })
        .collect();
    let tree = bed.tree().clone();
    let mut bad = vec![false; tree.cables()];
    bad[tree.leaf_cable(1, 0)[0]] = true;
    bed.plant(Fault::always(Scope::Cables(bad), Harm::Slow(3.0)));
    let leaf = bed.leaf(1);
    for (cell, before) in before.iter().enumerate().filter(|(cell, _)| cell / 24 != cell % 24) {
        let (from, to) = (cell / 24, cell % 24);
        let is_slow = leaf.contains(&from) && !leaf.contains(&to) && tree.table(bed.parts.place[to]) == 0;
        let ratio = seconds(&bed, from, to).1 / before;
        assert!((ratio - if is_slow { 3.0 } else { 1.0 }).abs() < 1e-9, "{from} {to}: {ratio}");
    }
}

#[test]
fn what_stands_out_is_known_of_every_fault_and_a_seed_is_always_the_same_case() {
    for family in ["cards", "lossy", "jitter"] {
        let family = Family::of(family).unwrap();
        let [a, b] = [11, 11].map(|seed| family.case(seed));
        // Missing times are not equal to themselves.
        assert_eq!(format!("{:?}", a.run), format!("{:?}", b.run));
        assert!(a.truth.planted.iter().all(|planted| planted.sigma > 5.0), "{:?}", a.truth.planted);
    }
    let healthy = Family::of("plain").unwrap().case(11);
    assert!(healthy.truth.planted.is_empty());
}

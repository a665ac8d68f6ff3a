//! Tori with noise and lost pairs, of which the hops are known.

use super::*;
use crate::analysis::{
    drawn::{self, generator, leaves, lose_pairs, normal, symmetric},
    square::Square,
};

/// Times on a torus with noise of 2 % and every hop a tenth more, of which a share of the pairs is missing; and the
/// hops. `more(i, j)`: what a pair takes besides.
fn drawn(sides: [usize; 3], missing: f64, seed: u64, more: impl Fn(usize, usize) -> f64) -> (Pairs, Vec<u8>) {
    let mut rng = generator(seed);
    let hops = drawn::torus(sides, &mut rng);
    let mut times = symmetric(hops.len(), |i, j| 1.0 + 0.1 * hops[i][j] + more(i, j) + 0.02 * normal(&mut rng));
    lose_pairs(&mut [&mut times], missing, &mut rng);
    (Pairs::of(&times), hops.into_iter().flatten().map(|hops| hops as u8).collect())
}

/// What all pairs cost.
fn total(torus: &Torus, costs: &Costs) -> f64 {
    let hosts = torus.places();
    let pairs = (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b)));
    pairs.map(|(a, b)| f64::from(costs.of_pair(a, b)[torus.between(a, b)])).sum()
}

/// How long a description is without any structure.
fn flat(pairs: &Pairs) -> f64 {
    pairs.cost(|_, _| 0, 1).0
}

#[test]
fn places_are_found_from_two_thirds_of_the_pairs() {
    for (seed, sides) in [[4, 4, 4], [5, 3, 2], [3, 3, 3], [8, 4, 1]].into_iter().enumerate() {
        for missing in [0.0, 0.33] {
            let (pairs, hops) = drawn(sides, missing, seed as u64, |_, _| 0.0);
            assert!(explain(&pairs, 0.02, flat(&pairs)) == Some(hops), "{sides:?} {missing}");
        }
    }
}

#[test]
fn cables_may_differ_by_more_than_the_noise_of_many_lengths() {
    // 2 % of scatter, which is a fifth of a hop, and a noise that is much smaller.
    let (pairs, hops) = drawn([4, 4, 3], 0.0, 5, |_, _| 0.0);
    assert!(explain(&pairs, 0.005, flat(&pairs)) == Some(hops));
}

#[test]
fn slow_hosts_and_slow_pairs_move_no_host() {
    let slow = |host: usize| if host == 3 { 0.4 } else { 0.0 };
    let pair = |i: usize, j: usize| if i + j == 9 { 1.0 } else { 0.0 };
    for missing in [0.0, 0.33] {
        let (pairs, hops) = drawn([4, 4, 2], missing, 1, |i, j| slow(i) + slow(j) + pair(i, j));
        assert!(explain(&pairs, 0.02, flat(&pairs)) == Some(hops), "{missing}");
    }
}

#[test]
fn what_is_no_torus_is_described_better_by_what_it_is() {
    let mut rng = generator(3);
    let leaf = leaves(&[11, 7, 14], &mut rng);
    let far = |i: usize, j: usize| usize::from(leaf[i] != leaf[j]);
    let pairs = Pairs::of(&symmetric(32, |i, j| 1.0 + 0.5 * far(i, j) as f64 + 0.03 * normal(&mut rng)));
    assert!(explain(&pairs, 0.03, pairs.cost(far, 2).0).is_none());
    let way = symmetric(32, |_, _| normal(&mut rng));
    assert!(explain(&Pairs::of(&way), 0.02, f64::INFINITY).is_none());
    let pairs = Pairs::of(&Square::missing(12));
    assert!(explain(&pairs, 0.02, f64::INFINITY).is_none());
}

#[test]
fn sides_are_all_that_give_as_many_places() {
    assert_eq!(all_sides(12), [vec![12], vec![6, 2], vec![3, 2, 2]]);
    assert_eq!(all_sides(16), [vec![16], vec![8, 2], vec![2, 2, 2, 2]]);
    assert_eq!(all_sides(13), [[13]]);
    assert!((2..200).all(|hosts| all_sides(hosts).iter().all(|sides| sides.iter().product::<usize>() == hosts)));
}

#[test]
fn hops_go_the_shorter_way_round_every_ring() {
    let hops = hops(&[5, 2]);
    assert_eq!(hops[..10], [0, 1, 2, 2, 1, 1, 2, 3, 3, 2]);
    assert!((0..100).all(|place| hops[place] == hops[place % 10 * 10 + place / 10]));
    assert_eq!(shares(&hops), [0.0, 30.0 / 90.0, 40.0 / 90.0, 20.0 / 90.0]);
}

#[test]
fn after_hosts_have_changed_places_no_two_would_do_better() {
    let (pairs, _) = drawn([3, 3, 2], 0.4, 6, |_, _| 0.0);
    let hops = hops(&[3, 3, 2]);
    let costs = Costs::of(&pairs, &Numbers::first(&pairs, &shares(&hops)));
    let mut torus = Torus { hops, place: (0..18).collect() };
    let before = total(&torus, &costs);
    exchange(&mut torus, &costs);
    let after = total(&torus, &costs);
    assert!(after < before, "{after} {before}");
    for (a, b) in (0..18).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let mut next = torus.clone();
        next.place.swap(a, b);
        assert!(total(&next, &costs) > after - 2.0 * LEAST_GAIN, "{a} {b}");
    }
}

#[test]
fn every_place_is_filled_and_hosts_that_have_one_keep_it() {
    let (pairs, _) = drawn([4, 2, 2], 0.5, 7, |_, _| 0.0);
    let hops = hops(&[2, 2, 2, 2]);
    let costs = Costs::of(&pairs, &Numbers::first(&pairs, &shares(&hops)));
    for some in [vec![(5, 0)], vec![(0, 15), (9, 3), (12, 8)]] {
        let torus = filled(&hops, &some, &costs);
        assert!(some.iter().all(|(host, place)| torus.place[*host] == *place));
        let mut places = torus.place.clone();
        places.sort_unstable();
        assert_eq!(places, (0..16).collect::<Vec<_>>());
    }
}

#[test]
fn a_search_where_nothing_is_a_torus_ends() {
    for seed in 0..8 {
        let mut rng = generator(seed);
        let own: Vec<f64> = (0..24).map(|_| 0.02 * normal(&mut rng)).collect();
        let pairs = Pairs::of(&symmetric(24, |i, j| 1.0 + own[i] + own[j] + 0.005 * normal(&mut rng)));
        assert!(explain(&pairs, 0.005, flat(&pairs) - 24.0 * 24f64.ln()).is_none(), "{seed}");
        explain(&pairs, 0.005, f64::INFINITY);
    }
}

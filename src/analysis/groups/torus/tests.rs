//! Tori with noise and lost pairs, of which the hops are known.

use super::*;
use crate::analysis::{
    drawn::{band, generator, leaves, lose_pairs, normal, symmetric, torus},
    square::Square,
};

/// Two bands of hosts on a torus with noise of 3 %, every hop a tenth more, of which a share of the pairs is
/// missing; and the hops. `more(i, j)`: what a pair takes besides its hops.
fn drawn(sides: [usize; 3], missing: f64, seed: u64, more: impl Fn(usize, usize) -> f64) -> (Vec<Band>, Vec<Vec<f64>>) {
    let mut rng = generator(seed);
    let hops = torus(sides, &mut rng);
    let way = |i: usize, j: usize| (1.0 + 0.1 * hops[i][j]).ln() + more(i, j);
    let mut bands: Vec<Band> = (0..2).map(|_| band(hops.len(), 0.03, &mut rng, way)).collect();
    let mut squares: Vec<_> = bands.iter_mut().flat_map(|band| [&mut band.first, &mut band.second]).collect();
    lose_pairs(&mut squares, missing, &mut rng);
    (bands, hops)
}

/// Share of the pairs with as many hops as there are.
fn right(found: &Explained, hops: &[Vec<f64>]) -> f64 {
    let all = hops.iter().flatten().zip(&found.hops);
    all.filter(|(hops, found)| **hops == f64::from(**found)).count() as f64 / found.hops.len() as f64
}

#[test]
fn places_are_found_from_a_third_of_the_pairs() {
    for (seed, sides) in [[4, 4, 4], [5, 3, 2], [3, 3, 3], [8, 4, 1]].into_iter().enumerate() {
        let (bands, hops) = drawn(sides, 0.6, seed as u64, |_, _| 0.0);
        let found = explain(&bands).unwrap();
        assert_eq!(right(&found, &hops), 1.0, "{sides:?}");
        assert!((0.6..1.2).contains(&found.misfit), "{sides:?}: {}", found.misfit);
    }
}

#[test]
fn slow_hosts_and_slow_pairs_move_nobody() {
    let slow = |host: usize| if host == 3 { 0.4 } else { 0.0 };
    let pair = |i: usize, j: usize| if i + j == 9 { 1.0 } else { 0.0 };
    for missing in [0.0, 0.5] {
        let (bands, hops) = drawn([4, 4, 2], missing, 1, |i, j| slow(i) + slow(j) + pair(i, j));
        assert_eq!(right(&explain(&bands).unwrap(), &hops), 1.0, "{missing}");
    }
}

#[test]
fn what_is_no_torus_is_not_explained() {
    let mut rng = generator(3);
    let leaf = leaves(&[11, 7, 14], &mut rng);
    let way = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { 0.5 };
    let bands = [band(32, 0.03, &mut rng, way)];
    assert!(explain(&bands).is_none_or(|found| found.misfit > 2.5));
    let way = symmetric(32, |_, _| normal(&mut rng));
    assert!(explain(&[band(32, 0.03, &mut rng, |i, j| way.at(i, j))]).is_none());
}

#[test]
fn nothing_known_is_not_explained() {
    let missing = || Square::missing(12);
    assert!(explain(&[Band { first: missing(), second: missing(), noise: 0.05 }]).is_none());
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
fn what_is_farther_takes_no_less() {
    let torus = Torus { hops: hops(&[3]), place: vec![0, 1, 2] };
    let mut middles = [f64::NAN, 0.2, 0.1, f64::NAN, 0.5];
    torus.repair(&mut middles);
    assert!(middles[0].is_nan() && middles[1..] == [0.2, 0.2, 0.2, 0.5]);
}

#[test]
fn after_hosts_have_changed_places_no_two_would_do_better() {
    let (bands, _) = drawn([3, 3, 2], 0.4, 6, |_, _| 0.0);
    let known: Vec<Known> = bands.iter().map(Known::of).collect();
    let hops = hops(&[3, 3, 2]);
    let numbers: Vec<Numbers> = known.iter().map(|known| first_numbers(known, &shares(&hops))).collect();
    let costs = Costs::of_numbers(&known, &numbers, &hops, 0.0);
    let mut torus = Torus { hops, place: (0..18).collect() };
    let before = total(&torus, &costs);
    assert!(exchange(&mut torus, &costs));
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
    let (bands, _) = drawn([4, 2, 2], 0.5, 7, |_, _| 0.0);
    let known: Vec<Known> = bands.iter().map(Known::of).collect();
    let hops = hops(&[2, 2, 2, 2]);
    let numbers: Vec<Numbers> = known.iter().map(|known| first_numbers(known, &shares(&hops))).collect();
    let costs = Costs::of_numbers(&known, &numbers, &hops, 0.5);
    for some in [vec![(5, 0)], vec![(0, 15), (9, 3), (12, 8)]] {
        let torus = filled(&hops, &some, &costs);
        assert!(some.iter().all(|(host, place)| torus.place[*host] == *place));
        let mut places = torus.place.clone();
        places.sort_unstable();
        assert_eq!(places, (0..16).collect::<Vec<_>>());
    }
}

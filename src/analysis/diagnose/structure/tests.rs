//! Drawn networks whose structure is to be found.

use proptest::prelude::*;
use rand::{RngExt, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::analysis::drawn::{generator, is_same_partition, leaves, lose_pairs, normal, square, symmetric, torus};

const NOISE: f64 = 0.03;

/// At four lengths, with less of the way in the time the longer the message.
fn folded(hosts: usize, rng: &mut ChaCha8Rng, way: impl Fn(usize, usize) -> f64) -> Folded {
    losing(hosts, 0.0, rng, way)
}

/// The same, of which pairs were not measured.
fn losing(hosts: usize, missing: f64, rng: &mut ChaCha8Rng, way: impl Fn(usize, usize) -> f64) -> Folded {
    let of_length = |share: f64| square(hosts, |i, j| share * way(i, j) + NOISE * normal(rng));
    let mut times = [1.0, 0.9, 0.6, 0.4].map(of_length);
    if missing > 0.0 {
        lose_pairs(&mut times.iter_mut().collect::<Vec<_>>(), missing, rng);
    }
    Folded::of_logarithms(&[0, 1 << 10, 1 << 16, 1 << 20], times.into())
}

fn between(leaf: &[usize], i: usize, j: usize) -> f64 {
    if leaf[i] == leaf[j] { 0.0 } else { 0.4 }
}

#[test]
fn leaves_are_found_exactly() {
    for sizes in [&[8, 8][..], &[16, 6], &[6, 6, 6], &[12, 8, 5], &[6, 6, 6, 6], &[16, 8, 8, 5]] {
        for seed in 0..3 {
            let mut rng = generator(seed);
            let leaf = leaves(sizes, &mut rng);
            let found = infer(&folded(leaf.len(), &mut rng, |i, j| between(&leaf, i, j)));
            assert!(is_same_partition(&found.group, &leaf), "{leaf:?} {:?}", found.group);
            assert!(found.is_understood && matches!(found.neighbourhoods, Neighbourhoods::None));
        }
    }
}

#[test]
fn a_slow_host_does_not_leave_its_leaf() {
    for sizes in [&[8, 8][..], &[8, 8, 8], &[8, 8, 8, 8], &[4, 4, 4], &[4, 4, 4, 4]] {
        for seed in [0, 2, 3] {
            let mut rng = generator(seed);
            let leaf = leaves(sizes, &mut rng);
            let slow = |host: usize| if host == 3 { 1.5f64.ln() } else { 0.0 };
            let found = infer(&folded(leaf.len(), &mut rng, |i, j| between(&leaf, i, j) + slow(i) + slow(j)));
            assert!(is_same_partition(&found.group, &leaf), "{seed} {leaf:?} {:?}", found.group);
        }
    }
}

#[test]
fn hosts_that_are_alike_are_one_group() {
    for hosts in [4, 5, 8, 16, 40] {
        for seed in 0..5 {
            let found = infer(&folded(hosts, &mut generator(seed), |_, _| 0.0));
            assert!(found.is_understood && found.group == vec![0; hosts], "{hosts} {seed} {:?}", found.group);
        }
    }
}

#[test]
fn leaves_are_found_although_half_of_the_pairs_are_missing() {
    for sizes in [&[16, 16][..], &[14, 12, 10], &[12, 12, 12, 12]] {
        for seed in 0..2 {
            let mut rng = generator(seed);
            let leaf = leaves(sizes, &mut rng);
            let found = infer(&losing(leaf.len(), 0.5, &mut rng, |i, j| between(&leaf, i, j)));
            // A leaf may be found in two parts, but none of them has hosts of two leaves.
            let pairs = || (0..leaf.len()).flat_map(|i| (0..leaf.len()).map(move |k| (i, k)));
            let is_pure = pairs().all(|(i, k)| found.group[i] != found.group[k] || leaf[i] == leaf[k]);
            assert!(is_pure && found.is_understood, "{seed} {leaf:?} {:?}", found.group);
            assert!(*found.group.iter().max().unwrap() < 2 * sizes.len(), "{seed} {leaf:?} {:?}", found.group);
        }
    }
}

#[test]
fn a_torus_is_known_by_its_hops_although_half_of_the_pairs_are_missing() {
    for missing in [0.0, 0.5] {
        let mut rng = generator(2);
        let hops = torus([3, 3, 3], &mut rng);
        let found = infer(&losing(27, missing, &mut rng, |i, j| 0.15 * hops[i][j]));
        assert!(found.is_understood && found.group == [0; 27], "{missing}");
        let Neighbourhoods::Hops(found) = found.neighbourhoods else { panic!("{missing}: no torus") };
        assert!(hops.iter().flatten().zip(found).all(|(hops, found)| *hops == f64::from(found)), "{missing}");
    }
}

#[test]
fn what_is_neither_groups_nor_a_torus_may_be_patterns() {
    let mut rng = generator(2);
    // On a mesh: no ring is closed.
    let place = |host: usize| [host % 4, host / 4 % 4, host / 16];
    let hops = |i: usize, j: usize| (0..3).map(|axis| place(i)[axis].abs_diff(place(j)[axis])).sum::<usize>();
    let found = infer(&folded(32, &mut rng, |i, j| (1.0 + 0.2 * hops(i, j) as f64).ln()));
    assert!(found.is_understood && found.group == [0; 32]);
    assert!(matches!(found.neighbourhoods, Neighbourhoods::Patterns));
}

#[test]
fn neighbourhoods_are_looked_for_from_twelve_hosts_on() {
    for (hosts, are_found) in [(12, true), (11, false)] {
        let mut rng = generator(7);
        // On a ring.
        let far = |i: usize, j: usize| (i.abs_diff(j).min(hosts - i.abs_diff(j))) as f64;
        let found = infer(&folded(hosts, &mut rng, |i, j| 0.15 * far(i, j)));
        assert_eq!(!matches!(found.neighbourhoods, Neighbourhoods::None), are_found, "{hosts}");
    }
}

#[test]
fn a_model_may_err_by_the_noise_in_its_own_numbers_the_more_the_fewer_cells_there_are() {
    let is_understood = |seed: &u64| {
        let mut rng = generator(*seed);
        let leaf = leaves(&[10, 10], &mut rng);
        infer(&losing(20, 0.75, &mut rng, |i, j| between(&leaf, i, j))).is_understood
    };
    // Where all pairs are taken for known, as if numbers were better than they are, six.
    let understood = (0..20).filter(is_understood).count();
    assert!(understood >= 10, "{understood} of 20");
}

#[test]
fn what_nothing_explains_is_not_understood() {
    let mut rng = generator(3);
    for hosts in [12, 24] {
        // Every pair is as far as it likes.
        let way = symmetric(hosts, |_, _| normal(&mut rng));
        let found = infer(&folded(hosts, &mut rng, |i, j| way.at(i, j)));
        assert!(!found.is_understood, "{hosts}");
    }
}

#[test]
fn pairs_that_are_nearer_than_their_groups_explain_are_shortcuts_and_slow_ones_are_not() {
    let mut rng = generator(4);
    let mut with = |near: f64| {
        let folded =
            folded(20, &mut rng, |i, j| if i.min(j) % 5 == 0 && i.max(j) == i.min(j) + 1 { near } else { 0.0 });
        has_shortcuts(&bands(&folded.mean, &folded.half), &[0; 20])
    };
    assert!(with(-1.0) && !with(1.0) && !with(0.0));
}

#[test]
fn the_cost_of_the_true_groups_is_the_least() {
    let mut rng = generator(5);
    let leaf = leaves(&[8, 8, 8], &mut rng);
    let folded = folded(24, &mut rng, |i, j| between(&leaf, i, j));
    let bands = bands(&folded.mean, &folded.half);
    let mut wrong = leaf.clone();
    wrong[7] = (wrong[7] + 1) % 3;
    let finer: Vec<usize> = leaf.iter().enumerate().map(|(host, leaf)| 2 * leaf + host % 2).collect();
    for other in [vec![0; 24], wrong, finer] {
        assert!(cost(&bands, &leaf) < cost(&bands, &other), "{other:?}");
    }
}

#[test]
fn what_a_host_sends_slower_is_taken_away_toward_each_group() {
    let group = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1];
    // Host 2 sends slower to its neighbours than to the others.
    let toward = |i: usize, j: usize| if i == 2 { [0.2, 0.1][group[j]] } else { 0.0 };
    let half = square(10, |i, j| (toward(i, j) - toward(j, i)) / 2.0);
    let rest = without_sides(half, &group);
    assert!(rest.upper().all(|value| value.abs() < 1e-6), "{:?}", rest.row(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn the_order_of_the_hosts_does_not_matter(seed in 0u64..1 << 32, kind in 0usize..3) {
        let mut rng = generator(seed);
        let sizes: &[usize] = [&[20][..], &[10, 10], &[9, 7, 6]][kind];
        let leaf = leaves(sizes, &mut rng);
        let hosts = leaf.len();
        let slow = rng.random_range(0..hosts);
        let host = |i: usize| if i == slow { 0.3 } else { 0.0 };
        let times: Vec<Square> =
            (0..2).map(|_| square(hosts, |i, j| between(&leaf, i, j) + host(i) + host(j) + NOISE * normal(&mut rng))).collect();
        let mut order: Vec<usize> = (0..hosts).collect();
        order.shuffle(&mut rng);
        let other = times.iter().map(|times| square(hosts, |i, j| times.at(order[i], order[j]))).collect();
        let found = infer(&Folded::of_logarithms(&[1, 2], times)).group;
        let permuted = infer(&Folded::of_logarithms(&[1, 2], other)).group;
        let found: Vec<usize> = order.iter().map(|host| found[*host]).collect();
        prop_assert!(is_same_partition(&found, &permuted), "{found:?} {permuted:?}");
    }
}

//! Leaves that are known, in times with noise.

use rand::RngExt;

use super::*;
use crate::analysis::drawn::{self, generator, is_same_partition, normal, square, symmetric};

#[test]
fn leaves_of_any_size_are_found() {
    for (seed, sizes) in [
        (1, &[4, 4, 4][..]),
        (2, &[8, 8, 4]),
        (3, &[16; 6]),
        (4, &[3, 3]),
        (5, &[2; 6]),
        (6, &[16, 8]),
        (7, &[19, 9, 4]),
    ] {
        let mut rng = generator(seed);
        let leaf = drawn::leaves(sizes, &mut rng);
        let hosts = leaf.len();
        let own: Vec<f64> = (0..hosts).map(|_| 0.02 * rng.random::<f64>()).collect();
        let times = square(hosts, |i, j| {
            1.0 + own[i] + own[j] + if leaf[i] == leaf[j] { 0.0 } else { 0.12 } + 0.01 * normal(&mut rng)
        });
        assert!(is_same_partition(&leaves(&times), &leaf), "{sizes:?}: {:?} {leaf:?}", leaves(&times));
    }
}

#[test]
fn leaves_are_found_where_what_hosts_add_explains_nearly_all_or_one_way_or_cable_is_slow() {
    // The sizes of leaves, what the way of the first adds, and what a cable in the last adds.
    for (sizes, way, cable) in [
        // Pairs of both others are nearer than those of the slow one.
        (&[9, 6, 17][..], 1.8, 0.0),
        // What hosts add explains all but the pairs of the small leaf, one of which is slow.
        (&[7, 3], 0.0, 1.5),
    ] {
        let mut rng = generator(6);
        let leaf: Vec<usize> = sizes.iter().enumerate().flat_map(|(leaf, size)| vec![leaf; *size]).collect();
        let last = leaf.len() - 2;
        let times = square(leaf.len(), |i, j| {
            let is_cable = i.min(j) == last && i.max(j) == last + 1;
            let far = if leaf[i] == leaf[j] { 0.0 } else { 0.3 };
            let of_way = if (leaf[i] == 0) != (leaf[j] == 0) { way } else { 0.0 };
            1.0 + far + of_way + if is_cable { cable } else { 0.0 } + 0.01 * normal(&mut rng)
        });
        assert!(is_same_partition(&leaves(&times), &leaf), "{sizes:?}: {:?}", leaves(&times));
    }
}

#[test]
fn leaves_of_a_pod_are_found_where_one_host_is_much_slower_with_those_that_are_far() {
    // What a host multiplies is more of far pairs than of near ones, and no number of it is right.
    let mut rng = generator(12);
    let leaf: Vec<usize> = (0..16).map(|host| if host < 4 { 0 } else { 1 + (host - 4) / 3 }).collect();
    let slow = |host: usize| if host == 5 { 4.0 } else { 1.0 };
    let far = |i: usize, j: usize| match () {
        () if leaf[i] == leaf[j] => 1.0,
        () if (leaf[i] < 2) == (leaf[j] < 2) => 1.45,
        () => 2.0,
    };
    let times = square(16, |i, j| far(i, j) * slow(i) * slow(j) * (1.0 + 0.04 * normal(&mut rng)));
    assert!(is_same_partition(&leaves(&times), &leaf), "{:?}", leaves(&times));
}

#[test]
fn a_few_hosts_that_only_scatter_are_not_divided() {
    for hosts in [4, 5, 6, 8, 12] {
        let divided = (0..200).filter(|seed| {
            let mut rng = generator(*seed);
            let times = symmetric(hosts, |_, _| 1.0 + 0.05 * normal(&mut rng));
            // The mean misfit of what is normal.
            split(&times, Some(0.05 * FRAC_2_PI.sqrt())).iter().any(|part| *part > 0)
        });
        let divided = divided.count();
        assert!(divided < 10, "{hosts}: {divided}");
    }
}

#[test]
fn leaves_are_found_where_the_way_of_a_small_one_is_very_slow() {
    // What hosts add is hardly known from their pairs with its four hosts.
    let found = (0..20).filter(|seed| {
        let mut rng = generator(*seed);
        let far = |i: usize, j: usize| match () {
            () if i / 4 == j / 4 => 0.7,
            () if i.min(j) < 4 => 2.0,
            () => 1.0,
        };
        let times = square(32, |i, j| far(i, j) * (1.0 + 0.13 * normal(&mut rng)));
        is_same_partition(&leaves(&times), &(0..32).map(|host| host / 4).collect::<Vec<_>>())
    });
    assert_eq!(found.count(), 20);
}

#[test]
fn leaves_of_very_many_hosts_are_found_from_some() {
    let mut rng = generator(8);
    let leaf = drawn::leaves(&[40, 110, 40, 43, 10], &mut rng);
    let slow = |host: usize| if host % 50 == 7 { 0.3 } else { 0.0 };
    let far = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { 0.12 };
    let times = square(243, |i, j| 1.0 + slow(i) + slow(j) + far(i, j) + 0.01 * normal(&mut rng));
    assert!(is_same_partition(&leaves_of_many(&times, 100), &leaf));
    let one = square(243, |i, j| 1.0 + slow(i) + slow(j) + 0.01 * normal(&mut rng));
    assert_eq!(leaves_of_many(&one, 100), [0; 243]);
    // Nor are hosts a leaf that have met none of those from which the leaves are found.
    let have_met = |i: usize, j: usize| matches!(i.abs_diff(j).min(243 - i.abs_diff(j)), 1 | 37);
    let few = square(243, |i, j| if have_met(i, j) { one.at(i, j) } else { f64::NAN });
    assert_eq!(leaves_of_many(&few, 100), [0; 243]);
}

#[test]
fn one_switch_has_one_leaf() {
    for seed in 0..20 {
        let mut rng = generator(seed);
        let hosts = 6 + seed as usize * 2;
        let slow = |host: usize| if host == 1 { 0.5 } else { 0.0 };
        let times = square(hosts, |i, j| slow(i) + slow(j) + 0.02 * normal(&mut rng));
        assert_eq!(leaves(&times), vec![0; hosts], "{seed}");
    }
}

#[test]
fn two_hosts_of_a_leaf_that_differ_from_it_as_healthy_ones_do_are_no_leaves_by_themselves() {
    let mut rng = generator(11);
    let own = |host: usize| if host == 3 || host == 5 { 0.02 } else { 0.0 };
    let times = symmetric_times(&mut rng, own);
    let alone = |host: usize| match host {
        3 => 3,
        5 => 4,
        _ => host / 8,
    };
    let split: Vec<usize> = (0..24).map(alone).collect();
    let whole: Vec<usize> = (0..24).map(|host| host / 8).collect();
    assert!(is_same_partition(&apart(&split, &times), &whole), "{:?}", apart(&split, &times));
}

#[test]
fn a_host_that_only_adds_something_is_no_leaf_by_itself() {
    let mut rng = generator(7);
    let own = |host: usize| if host == 3 { 0.015 } else { 0.0 };
    let times = symmetric_times(&mut rng, own);
    let split: Vec<usize> = (0..24).map(|host| if host == 3 { 3 } else { host / 8 }).collect();
    let whole: Vec<usize> = (0..24).map(|host| host / 8).collect();
    assert!(is_same_partition(&apart(&split, &times), &whole));
    assert!(is_same_partition(&apart(&whole, &times), &whole));
}

#[test]
fn a_leaf_that_is_parted_into_single_hosts_is_put_together() {
    let mut rng = generator(10);
    let far = |i: usize, j: usize| if i / 12 == j / 12 { 0.75 } else { 1.0 };
    let times = square(96, |i, j| far(i, j) + 0.005 * normal(&mut rng));
    let whole: Vec<usize> = (0..96).map(|host| host / 12).collect();
    let parted: Vec<usize> = (0..96).map(|host| if host >= 84 && host % 3 > 0 { host } else { host / 12 }).collect();
    assert!(is_same_partition(&apart(&by_size(&parted), &times), &whole));
}

#[test]
fn a_host_that_is_slow_with_most_of_its_leaf_is_of_that_leaf() {
    let mut rng = generator(9);
    let is_slow = |i: usize, j: usize| i == 0 && [1, 2, 5, 9].contains(&j);
    let far = |i: usize, j: usize| if i / 4 == j / 4 { 0.8 } else { 1.0 };
    let slow = |i: usize, j: usize| if is_slow(i, j) || is_slow(j, i) { 0.5 } else { 0.0 };
    let times = square(12, |i, j| far(i, j) + slow(i, j) + 0.01 * normal(&mut rng));
    let whole: Vec<usize> = (0..12).map(|host| host / 4).collect();
    let alone: Vec<usize> = (0..12).map(|host| if host == 0 { 3 } else { host / 4 }).collect();
    let two: Vec<usize> = (0..12).map(|host| if [0, 3].contains(&host) { 3 } else { host / 4 }).collect();
    for split in [&whole, &alone, &two] {
        assert!(is_same_partition(&rejoined(split, &times), &whole), "{split:?}");
    }
}

#[test]
fn a_host_that_is_near_some_of_another_leaf_and_none_of_its_own_is_of_that_one() {
    let mut rng = generator(9);
    // Slow with five of the seven others of its leaf, and with hardly any elsewhere: farther from them than from others.
    let is_slow = |i: usize, j: usize| i == 0 && [1, 2, 3, 4, 5, 17].contains(&j);
    let slow = |i: usize, j: usize| if is_slow(i, j) || is_slow(j, i) { 0.7 } else { 0.0 };
    let times = square(24, |i, j| if i / 8 == j / 8 { 0.8 } else { 1.0 } + slow(i, j) + 0.01 * normal(&mut rng));
    let whole: Vec<usize> = (0..24).map(|host| host / 8).collect();
    let wrong: Vec<usize> = (0..24).map(|host| if host == 0 { 1 } else { host / 8 }).collect();
    for split in [&whole, &wrong] {
        assert!(is_same_partition(&rejoined(split, &times), &whole), "{split:?}");
    }
}

#[test]
fn a_host_that_met_its_leaf_alone_and_is_as_far_from_it_as_others_is_a_leaf_by_itself() {
    let mut rng = generator(11);
    let whole: Vec<usize> = (0..24).map(|host| host / 8).collect();
    // Host 0 did not meet its own leaf, nor the third one.
    let mut lone = symmetric_times(&mut rng, |_| 0.0);
    (0..24).filter(|other| other / 8 != 1).for_each(|other| {
        lone.set(0, other, f64::NAN);
        lone.set(other, 0, f64::NAN);
    });
    let label = |own: usize| (0..24).map(|host| if host == 0 { own } else { host / 8 }).collect::<Vec<_>>();
    assert!(is_same_partition(&rejoined(&label(1), &lone), &label(3)));
    // Another one that is as far from its leaf met others too, and is far from these as well.
    let late = symmetric_times(&mut rng, |host| if host == 0 { 0.2 } else { 0.0 });
    assert!(is_same_partition(&rejoined(&whole, &late), &whole));
    // Two leaves that are joined leave no other one.
    let is_near = |i: usize, j: usize| i / 12 != j / 12 && (i + j).is_multiple_of(2);
    let near = square(24, |i, j| if is_near(i, j) { 0.7 } else { 1.0 } + 0.01 * normal(&mut rng));
    let halves: Vec<usize> = (0..24).map(|host| host / 12).collect();
    assert!(is_same_partition(&rejoined(&halves, &near), &[0; 24]));
}

#[test]
fn hosts_that_have_met_none_of_their_leaves_are_leaves_by_themselves() {
    let mut rng = generator(12);
    let mut times = symmetric_times(&mut rng, |_| 0.0);
    let lone = |i: usize| [0, 8].contains(&i);
    for (i, j) in (0..24).flat_map(|i| (0..24).map(move |j| (i, j))) {
        if i / 8 == j / 8 && (lone(i) || lone(j)) {
            times.set(i, j, f64::NAN);
        }
    }
    let alone: Vec<usize> = (0..24).map(|i| if lone(i) { 3 + i } else { i / 8 }).collect();
    // Said to be of their own leaves, or one of two hosts that are far from each other.
    let two: Vec<usize> = (0..24).map(|i| if lone(i) { 3 } else { i / 8 }).collect();
    for split in [(0..24).map(|i| i / 8).collect(), two] {
        assert!(is_same_partition(&rejoined(&split, &times), &alone), "{split:?}");
    }
}

/// Three leaves of eight hosts.
fn symmetric_times(rng: &mut rand_chacha::ChaCha8Rng, own: impl Fn(usize) -> f64) -> Square {
    let far = |i: usize, j: usize| if i / 8 == j / 8 { 0.8 } else { 1.0 };
    square(24, |i, j| far(i, j) + own(i) + own(j) + 0.002 * normal(rng))
}

#[test]
fn groups_of_a_dragonfly_are_not_joined_though_two_switches_of_each_two_are_next_to_each_other() {
    // Three groups of four switches with two hosts each; the first two switches of a group lead to the others. Hardly any
    // noise, as a simulator has it.
    let mut rng = generator(1);
    let gate = |own: usize, other: usize| 4 * own + (other + 2 - own) % 3;
    let steps = |a: usize, b: usize| match (a / 4, b / 4) {
        (one, other) if one == other => u8::from(a != b),
        (one, other) => 1 + u8::from(a != gate(one, other)) + u8::from(b != gate(other, one)),
    };
    let times = square(24, |i, j| 1.6 + 0.8 * f64::from(steps(i / 2, j / 2)) + 1e-6 * normal(&mut rng));
    let groups: Vec<usize> = (0..24).map(|host| host / 8).collect();
    assert!(is_same_partition(&rejoined(&groups, &times), &groups));
}

#[test]
fn two_leaves_are_not_joined_for_others_that_are_several() {
    let mut rng = generator(3);
    // Three pods, of which the leaves of the last one alone were found.
    let leaf = |i: usize| if i < 24 { i / 2 } else { i / 4 + 6 };
    let far = |i: usize, j: usize| match () {
        () if leaf(i) == leaf(j) => 0.8,
        () if i / 12 == j / 12 => 1.2,
        () => 1.6,
    };
    let times = square(32, |i, j| far(i, j) + 0.01 * normal(&mut rng));
    let found: Vec<usize> = (0..32).map(|i| if i < 24 { i / 12 } else { i / 4 - 4 }).collect();
    assert!(is_same_partition(&rejoined(&found, &times), &found));
}

#[test]
fn where_nothing_is_known_all_are_one() {
    assert_eq!(leaves(&Square::missing(6)), [0; 6]);
    assert_eq!(split(&Square::missing(6), Some(0.01)), [0; 6]);
}

#[test]
fn slow_pairs_inside_a_small_leaf_and_out_of_it_part_it_not() {
    let is_found = |seed: &u64| {
        let mut rng = generator(*seed);
        let leaf = drawn::leaves(&[3; 4], &mut rng);
        let [a, b] = [2, 3].map(|own| (0..12).filter(|host| leaf[*host] == own).collect::<Vec<_>>());
        let is_slow =
            |i: usize, j: usize| [[a[0], a[1]], [a[0], b[0]]].iter().any(|ends| ends.contains(&i) && ends.contains(&j));
        let times = symmetric(12, |i, j| {
            let far = if leaf[i] == leaf[j] { 1.0 } else { 1.25 };
            far + if is_slow(i, j) { 0.65 } else { 0.0 } + 0.015 * normal(&mut rng)
        });
        is_same_partition(&leaves(&times), &leaf)
    };
    let found = (0..20).filter(is_found).count();
    assert!(found >= 18, "{found}");
}

#[test]
fn a_slow_host_is_no_leaf_where_times_have_no_noise_but_their_precision() {
    for hosts in [4, 8, 16, 32] {
        let slow = |host: usize| if host == 1 { 1.85554575920105 } else { 0.0 };
        let times = square(hosts, |i, j| 1.0 + slow(i) + slow(j));
        assert_eq!(leaves(&times), vec![0; hosts]);
        let far = |i: usize, j: usize| if i % 2 == j % 2 { 0.0 } else { 1.0 };
        let times = square(hosts, |i, j| 1.0 + slow(i) + slow(j) + far(i, j));
        assert_eq!(leaves(&times), (0..hosts).map(|host| host % 2).collect::<Vec<_>>());
    }
}

#[test]
fn a_leaf_most_of_whose_hosts_are_slow_is_one() {
    let mut rng = generator(12);
    let leaf: Vec<usize> = (0..24).map(|host| host / 3).collect();
    // What the way of their leaf would add to all pairs but these.
    let slow = |host: usize| if host < 2 { 0.08 } else { 0.0 };
    let far = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { 0.2 };
    let times = square(24, |i, j| 1.0 + far(i, j) + slow(i) + slow(j) + 0.005 * normal(&mut rng));
    assert!(is_same_partition(&rejoined(&leaf, &times), &leaf), "{:?}", rejoined(&leaf, &times));
}

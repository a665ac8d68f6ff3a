//! That slow hosts are found, and healthy ones are not.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{
    super::{Asked, Least, collective::late, distance::Distances, judge, judge_with},
    *,
};
use crate::{
    analysis::{
        diagnose::folded::Folded,
        drawn::{generator, lose_pairs, normal, square},
        square::Square,
    },
    plan::Mode,
};

/// So many hosts that differ by `apart`, and cells that scatter by `noise`; host 2 takes longer to send and to receive.
fn view(rng: &mut ChaCha8Rng, hosts: usize, (apart, noise): (f64, f64), [send, receive]: [f64; 2]) -> View {
    let own: Vec<f64> = (0..hosts).map(|_| apart * normal(rng)).collect();
    let fault = |i, j| if i == 2 { send } else { 0.0 } + if j == 2 { receive } else { 0.0 };
    let values = square(hosts, |i, j| own[i] + own[j] + noise * normal(rng) + fault(i, j));
    of(values, noise)
}

fn of(values: Square, noise: f64) -> View {
    let distances = Distances::flat(values.side());
    View::of_square(values, &distances, noise)
}

const BUDGET: Budget = Budget { views: 1.0, error: -4.605, least: Least::OF_TIMES };

#[test]
fn of_six_hosts_with_scattering_pairs_the_slow_one_is_named_with_its_way() {
    for (fault, direction) in
        [([1.5, 0.0], Direction::Send), ([0.0, 1.5], Direction::Receive), ([1.2, 1.2], Direction::Both)]
    {
        let mut rng = generator(1);
        let is_named = |_: &u32| {
            let found = whole(&view(&mut rng, 6, (0.02, 0.15), fault), &Distances::flat(6), BUDGET);
            assert!(found.iter().all(|found| found.place.hosts == [2]), "{found:?}");
            found.iter().any(|found| found.place.direction == direction)
        };
        let named = (0..100).filter(is_named).count();
        assert!(named >= 95, "{direction:?}: {named}");
    }
}

#[test]
fn how_certain_a_host_is_counts_that_its_pairs_may_meet_others() {
    let mut rng = generator(6);
    let mut met = |j: usize| j == 2 || rng.random_bool(0.2);
    let values = square(16, |_, j| if met(j) { 0.3 } else { 0.0 });
    let [found] = &whole(&of(values, 0.01), &Distances::flat(16), BUDGET)[..] else { panic!("not one host") };
    assert_eq!((&found.place.hosts, found.place.direction), (&vec![2], Direction::Receive));
    // One of five meets others; of 15 all, three ways of 16 hosts.
    let expected = 15.0 * 0.2f64.ln() + 48f64.ln();
    assert!((found.log - expected).abs() < 3.0, "{} {expected}", found.log);
}

#[test]
fn a_host_that_met_few_others_is_named_if_it_is_slow() {
    let mut rng = generator(5);
    let mut is_named = |slower: f64| {
        let met = |i: usize, j: usize| (i != 2 && j != 2) || i.abs_diff(j) == 1;
        let time = |i: usize, j: usize| 0.1 * normal(&mut rng) + if i == 2 || j == 2 { slower } else { 0.0 };
        let mut values = square(24, time);
        let pairs = (0..24 * 24).map(|pair| (pair / 24, pair % 24));
        pairs.filter(|(i, j)| !met(*i, *j)).for_each(|(i, j)| values.set(i, j, f64::NAN));
        let found = whole(&of(values, 0.1), &Distances::flat(24), BUDGET);
        assert!(found.iter().all(|found| found.place.hosts == [2]), "{found:?}");
        !found.is_empty()
    };
    // Two others: its mean has a deviation of 5 %, that of the others has one of 1.5 %.
    let [healthy, slow] = [0.0, 0.5].map(|slower| (0..200).filter(|_| is_named(slower)).count());
    assert!(healthy == 0 && slow >= 190, "{healthy} {slow}");
}

#[test]
fn a_host_of_which_one_pair_is_known_is_that_pair() {
    // Every host has met one other; two pairs are slow one way.
    let mut rng = generator(7);
    let slow = |i: usize| if i == 4 || i == 9 { 0.65 } else { 0.0 };
    let values = square(32, |i, j| if i ^ 1 == j { slow(i) + 0.01 * normal(&mut rng) } else { f64::NAN });
    let found = whole(&of(values, 0.01), &Distances::flat(32), BUDGET);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_host_that_is_late_by_less_than_pairs_scatter_is_slow_with_all_and_one_that_is_with_half_is_not() {
    let mut rng = generator(7);
    let mut named = |more: f64, is_with: fn(usize) -> bool| {
        let is_slow = |i: usize, j: usize| i == 2 && is_with(j) || j == 2 && is_with(i);
        let time = |i: usize, j: usize| 0.08 * normal(&mut rng) + if is_slow(i, j) { more } else { 0.0 };
        let found = whole(&of(square(96, time), 0.08 / 2f64.sqrt()), &Distances::flat(96), BUDGET);
        assert!(found.iter().all(|found| found.place.hosts == [2]), "{found:?}");
        found.len()
    };
    assert!((0..50).map(|_| named(0.05, |_| true)).sum::<usize>() > 45);
    assert_eq!((0..50).map(|_| named(0.4, |other| other % 2 == 0)).sum::<usize>(), 0);
}

#[test]
fn a_host_that_takes_longer_in_the_mean_is_not_slow_with_all_where_routes_differ() {
    let mut rng = generator(11);
    let mut named = || {
        // The same both ways, whatever is measured.
        let routes = square(96, |_, _| 0.08 * normal(&mut rng));
        let time = |i: usize, j: usize| routes.at(i.min(j), i.max(j)) + if i == 2 || j == 2 { 0.05 } else { 0.0 };
        let values = square(96, |i, j| time(i, j) + 0.01 * normal(&mut rng));
        whole(&of(values, 0.08), &Distances::flat(96), BUDGET).len()
    };
    assert_eq!((0..20).map(|_| named()).sum::<usize>(), 0);
}

#[test]
fn a_step_of_the_clock_makes_no_host_slow() {
    // Times of one step or the next: most of host 2's pairs are beyond half way between both, few of the others'.
    let mut rng = generator(6);
    let mut ticking = |late: f64| {
        let exact = square(16, |i, j| 0.01 * normal(&mut rng) + if i == 2 || j == 2 { late } else { 0.0 });
        let values = square(16, |i, j| 0.04 * (exact.at(i, j) / 0.04).round());
        View { tick: 1.5 * 0.04, ..of(values, 0.01) }
    };
    let all = Distances::flat(16);
    assert!(whole(&View { tick: 0.0, ..ticking(0.03) }, &all, BUDGET).iter().any(|found| found.place.hosts == [2]));
    assert!(whole(&ticking(0.03), &all, BUDGET).is_empty());
    assert!(whole(&ticking(0.12), &all, BUDGET).iter().all(|found| found.place.hosts == [2]));
    assert_eq!(whole(&ticking(0.12), &all, BUDGET).len(), 1);
}

#[test]
fn hosts_that_have_met_a_near_one_are_no_kind_where_it_is_not_known_who_is_near_whom() {
    let mut rng = generator(7);
    // Two leaves of which each host has met four of the other, and half of them two of their own.
    let have_met = |i: usize, j: usize| match (i / 24 == j / 24, i.min(j) % 24, i.max(j) % 24) {
        (true, low, high) => high < 12 && matches!(high - low, 1 | 11),
        (false, low, high) => (low + 24 - high) % 6 == 1,
    };
    let far = |i: usize, j: usize| if i / 24 == j / 24 { 0.0 } else { 0.3 };
    let time = |i: usize, j: usize| if have_met(i, j) { far(i, j) + 0.002 * normal(&mut rng) } else { f64::NAN };
    let folded = Folded::of_logarithms(&[8], vec![square(48, time)]);
    let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
    assert_eq!(judge(&folded, Distances::flat(48), asked).kinds, None);
}

#[test]
fn of_four_hosts_all_lengths_together_name_the_slow_one() {
    let mut rng = generator(5);
    let mut found = |fault: f64| {
        let lengths = [10, 12, 14, 16, 18, 20].map(|bits| 1 << bits);
        let values = lengths.map(|_| view(&mut rng, 4, (0.01, 0.03), [fault / 2.0, fault / 2.0]).values);
        let folded = Folded::of_logarithms(&lengths, values.to_vec());
        let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
        judge_with(&folded, Distances::flat(4), asked, &[]).suspects
    };
    let slow: Vec<Suspect> = (0..100).flat_map(|_| found(0.8)).collect();
    let named = slow.iter().filter(|found| found.place.hosts == [2]).count();
    assert!(named >= 90 && slow.len() == named, "{named} of {}", slow.len());
    let alarms = (0..1000).filter(|_| !found(0.0).is_empty()).count();
    assert!(alarms <= 10, "{alarms}");
}

#[test]
fn a_host_that_is_slow_with_some_is_named_with_these_and_its_partners_are_not() {
    for slow in [3, 5, 7] {
        let mut rng = generator(3);
        let is_slow = |i, j| i == 2 && j > 2 && j <= 2 + slow;
        let fault = |i, j| if is_slow(i, j) || is_slow(j, i) { 1.2 } else { 0.0 };
        let values = square(15, |i, j| 0.01 * normal(&mut rng) + fault(i, j));
        let found = in_part(&of(values, 0.01), &Distances::flat(15), &[false; 15], BUDGET);
        let [found] = &found[..] else { panic!("{slow}: {found:?}") };
        assert_eq!((&found.place.hosts[..], &found.place.toward), (&[2][..], &(3..3 + slow).collect()));
    }
}

#[test]
fn hosts_that_are_slow_with_all_that_they_have_met_of_other_leaves_are_no_hosts_with_some() {
    let mut rng = generator(3);
    let is_in = |host: usize| host / 8 == 1;
    let mut values = square(32, |i, j| 0.01 * normal(&mut rng) + if is_in(i) != is_in(j) { 1.2 } else { 0.0 });
    lose_pairs(&mut [&mut values], 0.5, &mut rng);
    let distances = Distances::of_leaves((0..32).map(|host| host / 8).collect());
    let found = in_part(&View::of_square(values, &distances, 0.01), &distances, &[false; 32], BUDGET);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn some_pairs_of_a_host_that_differ_by_less_than_healthy_ways_do_are_no_fault() {
    let found = |more: f64| {
        let mut rng = generator(3);
        let is_slow = |i, j| i == 2 && (3..7).contains(&j);
        let values =
            square(30, |i, j| 0.002 * normal(&mut rng) + if is_slow(i, j) || is_slow(j, i) { more } else { 0.0 });
        in_part(&of(values, 0.002), &Distances::flat(30), &[false; 30], BUDGET).len()
    };
    assert_eq!([0.04, 0.06].map(found), [0, 1]);
}

#[test]
fn a_host_of_few_pairs_is_not_blamed_for_what_slows_pairs_everywhere() {
    // 16 hosts that met six others each, of which other messages slowed two in five.
    let mut rng = generator(7);
    let mut is_alarm = |_: &u32| {
        let met = |i: usize, j: usize| matches!((16 + j - i) % 16, 1 | 4 | 6 | 10 | 12 | 15);
        let slow: Vec<bool> = (0..256).map(|_| rng.random_bool(0.4)).collect();
        let load = |i: usize, j: usize| if slow[16 * i.min(j) + i.max(j)] { 1.0 } else { 0.0 };
        let values = square(16, |i, j| if met(i, j) { load(i, j) + 0.02 * normal(&mut rng) } else { f64::NAN });
        !whole(&of(values, 0.02), &Distances::flat(16), BUDGET).is_empty()
    };
    let alarms = (0..1000).filter(&mut is_alarm).count();
    assert!(alarms < 20, "{alarms}");
}

#[test]
fn healthy_hosts_are_hardly_ever_named_however_few_they_are() {
    let mut rng = generator(2);
    for hosts in [3, 4, 6, 12] {
        for noise in [0.001, 0.03, 0.3] {
            let mut is_alarm = |_: &u32| {
                let view = view(&mut rng, hosts, (Least::OF_TIMES.alike, noise), [0.0; 2]);
                !whole(&view, &Distances::flat(view.fit.send.len()), BUDGET).is_empty()
                    || !late(&[view], Mode::Bcast, BUDGET, &[]).is_empty()
            };
            let alarms = (0..300).filter(&mut is_alarm).count();
            // 1 % of each search, and what 300 draws add to that once in a thousand times.
            assert!(alarms <= 15, "{hosts} hosts, {noise}: {alarms}");
        }
    }
}

#[test]
fn how_little_is_known_of_sides_does_not_matter_to_what_is_slow_both_ways() {
    let spread = |freedom: f64| Spread { centre: 0.0, deviation: 0.01, uncorrected: 0.01, count: 3, freedom };
    let (common, side) = (spread(1000.0), spread(2.0));
    let (direction, effect, log) = way(0.1, 0.0, &common, &side);
    assert_eq!((direction, effect), (Direction::Both, 0.1));
    assert!((log - common.log(0.1, 1.0)).abs() < 1e-9, "{log}");
    // One way, both count: more is known than of the one, and less than of the other.
    let one_way = |of_side: f64| way(0.05, 0.05, &common, &spread(of_side)).2;
    assert!(one_way(1000.0) < one_way(2.0) && one_way(2.0) < tail(0.1 / 0.01, 2.0).ln());
}

#[test]
fn a_host_of_which_fewer_ranks_are_known_is_not_judged_by_some_of_its_pairs() {
    let named = |ranks: usize| {
        let mut rng = generator(9);
        let is_slow = |i: usize, j: usize| i.min(j) == 2 && i.max(j) >= 44;
        let values = square(48, |i, j| if is_slow(i, j) { 0.4 } else { 0.01 * normal(&mut rng) });
        let mut folded = Folded::of_logarithms(&[8], vec![values]);
        folded.ranks = vec![2; 48];
        folded.ranks[2] = ranks;
        let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
        let verdict = judge_with(&folded, Distances::flat(48), asked, &[]);
        let is_part = |own: &&Suspect| own.place.kind == Kind::Node && own.place.toward == [44, 45, 46, 47];
        verdict.suspects.iter().filter(is_part).count()
    };
    assert_eq!([named(2), named(1)], [1, 0]);
}

//! Single slow pairs among drawn hosts.

use super::{super::folded::Folded, *};
use crate::analysis::drawn::{generator, normal, square};

const HOSTS: usize = 12;
const BYTES: [u64; 5] = [0, 256, 1 << 12, 1 << 16, 1 << 20];

/// Time of a pair that nothing ails.
fn seconds(latency: f64, per_byte: f64, length: usize) -> f64 {
    latency * 1.5e-6 + per_byte * BYTES[length] as f64 / 10e9
}

/// What is slow by no more than chance brings in one of a thousand healthy runs; `time(length, from, to)`, with noise.
fn found(time: impl Fn(usize, usize, usize) -> f64) -> Vec<Suspect> {
    let mut rng = generator(7);
    let of_length = |length| square(HOSTS, |from, to| time(length, from, to).ln() + 0.02 * normal(&mut rng));
    let folded = Folded::of_logarithms(&BYTES, (0..BYTES.len()).map(of_length).collect());
    let level = folded.level.clone();
    let fit = Fit::of(folded, Some(&[0; HOSTS]));
    let suspects = find(&fit, &level, &BYTES.map(|bytes| bytes as f64), &[false; HOSTS], 7);
    suspects.into_iter().filter(|suspect| suspect.by_chance < 1e-3).collect()
}

/// The only suspect there is.
fn only(time: impl Fn(usize, usize, usize) -> f64) -> Suspect {
    let mut found = found(time);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Between hosts 2 and 7 latency and time per byte are multiplied, both ways.
fn slow_both_ways(latency: f64, per_byte: f64) -> impl Fn(usize, usize, usize) -> f64 {
    move |length, from, to| match (from.min(to), from.max(to)) {
        (2, 7) => seconds(latency, per_byte, length),
        _ => seconds(1.0, 1.0, length),
    }
}

fn is_near(effect: f64, ratio: f64) -> bool {
    (effect - ratio.ln()).abs() < 0.06
}

#[test]
fn healthy_pairs_are_none() {
    assert!(found(slow_both_ways(1.0, 1.0)).is_empty());
}

#[test]
fn a_pair_that_is_slow_both_ways() {
    let link = only(slow_both_ways(1.5, 1.5));
    assert_eq!((link.pair, link.direction, link.range), ((2, 7), Direction::Both, (0, 4)));
    assert!(is_near(link.effect, 1.5) && !link.is_lopsided, "{link:?}");
}

#[test]
fn a_pair_that_is_slow_one_way() {
    for (from, to) in [(2, 7), (7, 2)] {
        let slower = |there: bool| if there { 1.5 } else { 1.0 };
        let link = only(|length, a, b| slower((a, b) == (from, to)) * seconds(1.0, 1.0, length));
        assert_eq!((link.pair, link.direction, link.range), ((from, to), Direction::Send, (0, 4)));
        assert!(is_near(link.effect, 1.5) && link.is_lopsided, "{link:?}");
    }
}

#[test]
fn a_pair_of_more_latency_is_slow_at_short_lengths() {
    let link = only(slow_both_ways(2.0, 1.0));
    assert_eq!((link.pair, link.direction, link.range.0), ((2, 7), Direction::Both, 0));
    assert!(link.range.1 < 4 && is_near(link.effect, 2.0), "{link:?}");
}

#[test]
fn a_pair_of_less_bandwidth_is_slow_at_long_lengths() {
    let link = only(slow_both_ways(1.0, 2.0));
    assert_eq!((link.pair, link.direction, link.range.1), ((2, 7), Direction::Both, 4));
    assert!(link.range.0 >= 2 && is_near(link.effect, 2.0), "{link:?}");
}

#[test]
fn a_pair_that_is_slow_by_different_amounts() {
    for (latency, per_byte) in [(1.4, 2.5), (2.5, 1.4)] {
        let link = only(slow_both_ways(latency, per_byte));
        assert_eq!((link.pair, link.direction, link.range), ((2, 7), Direction::Both, (0, 4)));
        assert!(is_near(link.effect, 2.5), "{link:?}");
    }
}

#[test]
fn disturbed_cells_are_no_link() {
    // At one length only: one direction, or both.
    for disturbed in 0..BYTES.len() {
        for is_both in [false, true] {
            let hits = |from, to| (from, to) == (2, 7) || is_both && (from, to) == (7, 2);
            let factor = |length, from, to| if length == disturbed && hits(from, to) { 1.5 } else { 1.0 };
            let found = found(|length, from, to| factor(length, from, to) * seconds(1.0, 1.0, length));
            assert!(found.is_empty(), "length {disturbed}: {found:?}");
        }
    }
}

#[test]
fn one_disturbed_length_does_not_hide_a_slow_pair() {
    let slow = slow_both_ways(1.5, 1.5);
    let back = |length, from: usize, to: usize| length == 2 && from.min(to) == 2 && from.max(to) == 7;
    let link = only(
        |length, from, to| if back(length, from, to) { seconds(1.0, 1.0, length) } else { slow(length, from, to) },
    );
    assert_eq!((link.pair, link.direction), ((2, 7), Direction::Both));
    assert!(is_near(link.effect, 1.5), "{link:?}");
}

#[test]
fn a_pair_that_was_measured_one_way_is_slow_that_way() {
    for (from, to) in [(2, 7), (7, 2)] {
        let link = only(|length, a, b| match (a, b) {
            (a, b) if (a, b) == (from, to) => 2.0 * seconds(1.0, 1.0, length),
            (a, b) if (a, b) == (to, from) => f64::NAN,
            _ => seconds(1.0, 1.0, length),
        });
        assert_eq!((link.pair, link.direction), ((from, to), Direction::Send));
        // Nothing is known of the other direction that could tell it from structure.
        assert!(is_near(link.effect, 2.0) && !link.is_lopsided, "{link:?}");
    }
}

#[test]
fn hosts_that_are_known_to_be_slow_or_have_few_partners_are_not_judged() {
    let slow = slow_both_ways(1.5, 1.5);
    let logarithms = (0..BYTES.len()).map(|length| square(HOSTS, |from, to| slow(length, from, to).ln())).collect();
    let folded = Folded::of_logarithms(&BYTES, logarithms);
    let level = folded.level.clone();
    let fit = Fit::of(folded, Some(&[0; HOSTS]));
    let bytes = BYTES.map(|bytes| bytes as f64);
    let mut is_known = [false; HOSTS];
    assert_eq!(find(&fit, &level, &bytes, &is_known, 7).len(), 1);
    is_known[7] = true;
    assert!(find(&fit, &level, &bytes, &is_known, 7).is_empty());
}

#[test]
fn a_suspect_is_slow_both_ways_if_the_other_way_is() {
    let suspect = Suspect {
        pair: (7, 2),
        direction: Direction::Send,
        effect: 0.8,
        range: (1, 3),
        by_chance: 1e-9,
        is_lopsided: true,
    };
    let both = suspect.clone().with_other_way(&[0.0, 0.4, 0.4, 0.4, 9.0]);
    assert_eq!((both.pair, both.direction, both.is_lopsided), ((2, 7), Direction::Both, false));
    assert!((both.effect - 0.6).abs() < 1e-12);
    let one = suspect.clone().with_other_way(&[9.0, 0.1, 0.1, 0.1, 9.0]);
    assert_eq!((one.pair, one.direction, one.is_lopsided), ((7, 2), Direction::Send, true));
    assert_eq!(suspect.with_other_way(&[f64::NAN; 5]).direction, Direction::Send);
}

/// Of cells of which these depart, `ln(ratio)`.
fn chance(departures: &[f64], cells: f64) -> Chance {
    let at_least = (0..STEPS).map(|step| {
        let limit = step as f64 * STEP;
        departures.iter().filter(|departure| **departure >= limit).count() as u32
    });
    Chance { at_least: at_least.collect(), cells }
}

#[test]
fn chance_counts_the_cells_that_depart_as_much() {
    let chance = chance(&[0.9, 0.5, 0.4, 0.1], 100.0);
    // The one that is asked about is not counted, and nothing is never.
    assert!((chance.between(0.3, 0.6) - 1.5 / 100.0).abs() < 1e-12);
    assert!((chance.between(0.8, 1.0) - 0.5 / 100.0).abs() < 1e-12);
    assert!((chance.between(2.0, 3.0) - 0.5 / 100.0).abs() < 1e-12);
}

#[test]
fn a_cause_that_most_lengths_contradict_explains_nothing() {
    let readings = Readings {
        reading: vec![Reading { of_mean: 1.0, noise: 0.02 }; 5],
        chance: (0..5).map(|_| chance(&[], 132.0)).collect(),
    };
    let seconds: Vec<f64> = (0..5).map(|length| seconds(1.0, 1.0, length)).collect();
    let explain = |series: [f64; 5]| explain(&series, &seconds, &BYTES.map(|bytes| bytes as f64), &readings);
    assert!(explain([0.4; 5]).is_some());
    // One length of five was disturbed itself, but not two.
    assert!(explain([0.4, 0.4, 0.4, 0.0, 0.4]).is_some());
    assert!(explain([0.4, 0.0, 0.4, 0.0, 0.4]).is_none());
    assert!(explain([0.0, 0.0, 0.4, 0.0, 0.0]).is_none() && explain([0.0; 5]).is_none());
}

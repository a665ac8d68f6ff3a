//! Properties of whole clusterings: the bound, the shape; planted faults; edges.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{
    plan::{Config, Plan, Sweep},
    record::{Cell, Clustered, Header, MemoryRun, NO_SET, Provenance, State},
    stats::Summary,
    units::{Bytes, Hosts},
};

/// A run whose median is `value(length, source, destination)`.
fn run(ranks: usize, lengths: usize, value: impl Fn(usize, usize, usize) -> f64) -> MemoryRun {
    let lengths: Vec<Bytes> = (0..lengths as u64).map(|k| Bytes(k * 1024)).collect();
    let config = Config { sweep: Sweep::list(&lengths).unwrap(), ..Config::default() };
    let hosts = Hosts::new((0..ranks).map(|rank| format!("node{rank:03}")));
    let plan = Plan { mode: config.modes[0], config, hosts };
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    for (k, length) in lengths.iter().enumerate() {
        let cell = |place: usize| {
            let median = value(k, place / ranks, place % ranks);
            Cell::measured(Summary { median, ..Summary::MISSING }, 1, State::Measured)
        };
        run.push(*length, (0..ranks * ranks).map(cell).collect());
    }
    run
}

fn archive(run: &dyn Run, options: &Options) -> Clustered {
    let (mut clustered, order) = cluster(run, Statistic::Median, options, |about| Ok(Clustered::new(about))).unwrap();
    clustered.set_order(order);
    clustered
}

fn assert_bound(run: &MemoryRun, archive: &Clustered) {
    for length in 0..run.lengths().len() {
        let original = run.matrix(Statistic::Median, length).unwrap();
        let decoded = archive.matrix(Statistic::Median, length).unwrap();
        for (place, (a, b)) in original.values().iter().zip(decoded.values()).enumerate() {
            let (i, j) = (place / run.ranks(), place % run.ranks());
            let accepted = archive.about().tolerance.accepts(*a, *b);
            assert!(accepted, "{a} became {b} at {length} ({i}, {j})");
            assert_eq!(archive.value(length, i, j).to_bits(), b.to_bits());
        }
    }
}

fn with(tolerance: &str) -> Options {
    Options { tolerance: Some(tolerance.parse().unwrap()), ..Options::default() }
}

/// Two leaves, 2 % noise, a switch of protocol at length 12 of 24.
fn leaf_spine(ranks: usize, seed: u64) -> impl Fn(usize, usize, usize) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let noise: Vec<f64> = (0..24 * ranks * ranks)
        .map(|_| (0.02 * (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>()).exp())
        .collect();
    move |length, i, j| {
        let half = |rank: usize| rank / (ranks / 2);
        let latency = if half(i) == half(j) { 1.2e-6 } else { 1.8e-6 };
        let switch = if length >= 12 { 1.5e-6 } else { 0.0 };
        let clean = latency + switch + length as f64 * 8.5e-8;
        if i == j { 0.0 } else { clean * noise[(length * ranks + i) * ranks + j] }
    }
}

#[test]
fn a_leaf_spine_is_three_sets_and_its_protocol_switch_a_boundary() {
    let run = run(32, 24, leaf_spine(32, 1));
    let archive = archive(&run, &with("10%"));
    assert_bound(&run, &archive);
    let ranges: Vec<_> = archive.parts().iter().map(|part| part.lengths.clone()).collect();
    assert_eq!(ranges, [0..12, 12..24]);
    for part in archive.parts() {
        let mut pairs: Vec<usize> =
            (0..part.set_count() as u32).map(|set| part.sets.iter().filter(|other| **other == set).count()).collect();
        pairs.truncate(3);
        assert_eq!(pairs, [512, 480, 32]);
    }
}

#[test]
fn the_automatic_tolerance_is_five_times_the_noise() {
    let run = run(32, 24, leaf_spine(32, 2));
    let archive = archive(&run, &Options::default());
    let Tolerance::Relative(share) = archive.about().tolerance else { panic!("it is relative") };
    assert!((0.08..0.13).contains(&share), "{share}");
    assert!(archive.about().reason.contains("scatter of 2."), "{}", archive.about().reason);
    assert_bound(&run, &archive);
    assert_eq!(archive.parts().len(), 2);
}

#[test]
fn planted_faults_come_out_unharmed() {
    let healthy = leaf_spine(32, 3);
    let faulty = |length: usize, i: usize, j: usize| {
        let factor = match (length, i, j) {
            (7, 4, 20) => 3.0,
            (_, 2, 9) => 4.0,
            (_, 5, _) => 1.5,
            _ => 1.0,
        };
        healthy(length, i, j) * factor
    };
    let run = run(32, 24, faulty);
    for options in [with("10%"), Options::default()] {
        let archive = archive(&run, &options);
        assert_bound(&run, &archive);
        let close = |length: usize, i: usize, j: usize| {
            let (decoded, planted) = (archive.value(length, i, j), faulty(length, i, j));
            assert!((decoded / planted - 1.0).abs() <= archive.about().tolerance.size(), "{decoded} {planted}");
        };
        close(7, 4, 20);
        let part = &archive.parts()[0];
        let pair_set = part.sets[2 * 32 + 9];
        assert_eq!(part.sets.iter().filter(|set| **set == pair_set).count(), 1, "a slow pair is a set");
        let row_sets: Vec<u32> = (16..32).map(|j| part.sets[5 * 32 + j]).collect();
        assert!(row_sets.iter().filter(|set| **set == row_sets[0]).count() >= 14, "a slow host is a set: {row_sets:?}");
        (0..24).for_each(|length| (6..32).for_each(|j| close(length, 5, j)));
    }
}

#[test]
fn a_shuffle_of_ranks_is_brought_back_into_order() {
    let healthy = leaf_spine(32, 4);
    let shuffled = |rank: usize| (rank * 13 + 5) % 32;
    let run = run(32, 24, |length, i, j| healthy(length, shuffled(i), shuffled(j)));
    let archive = archive(&run, &with("10%"));
    let halves: Vec<usize> = archive.about().order.iter().map(|rank| shuffled(*rank) / 16).collect();
    assert_eq!(halves.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1, "{halves:?}");
    let regions = regions::regions(&archive, Some(&run)).unwrap();
    let largest = &regions[0].regions[0];
    assert_eq!(largest.rectangles.len(), 2, "one leaf to the other, and back");
    assert!(largest.rectangles.iter().all(|rectangle| rectangle.sources.len() == 16));
    assert!((0.01..0.04).contains(&largest.spread.unwrap()), "{:?}", largest.spread);
}

#[test]
fn a_tolerance_finer_than_the_noise_still_pays() {
    let run = run(32, 24, leaf_spine(32, 5));
    let archive = archive(&run, &with("1%"));
    assert_bound(&run, &archive);
    let exceptions: usize = archive.parts().iter().map(|part| part.exceptions.len()).sum();
    assert_eq!(archive.parts().len(), 24, "no set lasts");
    assert!(exceptions * 10 < 24 * 1024, "{exceptions}");
    let lasting = archive_of_ranges(&run);
    assert!(lasting.parts().len() < 24, "unless ranges are asked for");
    assert_bound(&run, &lasting);
}

fn archive_of_ranges(run: &MemoryRun) -> Clustered {
    archive(run, &Options { min_range: Some(8), ..with("1%") })
}

#[test]
fn the_edges_are_defined() {
    for (ranks, lengths) in [(1, 1), (2, 1), (3, 2), (1, 30)] {
        for value in [0.0, 1e-6, -1e-6, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let run = run(ranks, lengths, |_, _, _| value);
            for options in [
                Options::default(),
                with("0"),
                with("1us"),
                with("1e300%"),
                Options { min_range: Some(1000), min_cluster: 1000, max_exceptions: Some(0), ..with("5%") },
            ] {
                let archive = archive(&run, &options);
                assert_bound(&run, &archive);
                assert_eq!(archive.lengths(), run.lengths());
            }
        }
    }
}

#[test]
fn what_cannot_be_clustered_is_refused() {
    let attempt = |run: &MemoryRun, statistic, tolerance| {
        let options = Options { tolerance, ..Options::default() };
        cluster(run, statistic, &options, |about| Ok(Clustered::new(about))).unwrap_err().to_string()
    };
    let some = run(2, 1, |_, _, _| 1.0);
    let none = MemoryRun::new(some.header().clone());
    assert!(attempt(&none, Statistic::Median, None).contains("no message length"));
    for size in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(attempt(&some, Statistic::Median, Some(Tolerance::Relative(size))).contains("cannot be held"));
    }
}

#[test]
fn missing_pairs_are_in_no_set_and_cost_no_exception() {
    let run = run(16, 8, |_, i, j| if i == 3 || j == 3 { f64::NAN } else { 1e-6 });
    let archive = archive(&run, &with("5%"));
    assert_bound(&run, &archive);
    let part = &archive.parts()[0];
    assert_eq!(part.sets.iter().filter(|set| **set == NO_SET).count(), 31);
    assert!(part.exceptions.is_empty());
}

/// Values as they come and as they should not come.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        12 => (0u32..4, 0.95f64..1.05).prop_map(|(class, noise)| (1.0 + f64::from(class)) * 1e-6 * noise),
        2 => 1e-7f64..1e-4,
        1 => Just(0.0),
        1 => Just(f64::NAN),
        1 => Just(-1e-6),
        1 => Just(f64::INFINITY),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_bound_holds(
        (ranks, lengths, values) in (1usize..7, 1usize..11).prop_flat_map(|(ranks, lengths)| {
            (Just(ranks), Just(lengths), proptest::collection::vec(value(), ranks * ranks * lengths))
        }),
        tolerance in proptest::option::of(prop_oneof![
            Just(Tolerance::Relative(0.0)),
            (1e-6f64..3.0).prop_map(Tolerance::Relative),
            (1e-12f64..1e-3).prop_map(Tolerance::Absolute),
        ]),
        max_exceptions in proptest::option::of(0usize..5),
        min_range in proptest::option::of(1usize..6),
        min_cluster in 1usize..4,
    ) {
        let run = run(ranks, lengths, |k, i, j| values[(k * ranks + i) * ranks + j]);
        let options = Options { tolerance, max_exceptions, min_range, min_cluster };
        let archive = archive(&run, &options);
        assert_bound(&run, &archive);
        let sizes = |part: &Part| -> Vec<usize> {
            (0..part.set_count() as u32).map(|set| part.sets.iter().filter(|other| **other == set).count()).collect()
        };
        prop_assert!(archive.parts().iter().all(|part| sizes(part).iter().all(|size| *size >= min_cluster)));
    }
}

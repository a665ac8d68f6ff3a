//! The detector measured: how long it takes next to reading a run's files and taking the median of every length.
//!
//! `cargo bench --no-default-features --bench diagnose` writes runs of leaf switches of 32 hosts with a slow receiver
//! into a temporary folder and measures in turn, five times each, reading the two statistics that the detector looks
//! at, reading all five, and the detector; it prints medians and the ratios of the detector to both. With `-- HOSTS
//! LENGTHS` behind it measures a run of that size, once: 10,000 hosts and 4 lengths take 20 GB of the folder and 13 GB of
//! memory. `cargo test` runs it once, with a small run.

use std::{hint::black_box, path::Path, time::Instant};

use netmatrix::{
    analysis::diagnose::{self, Options},
    plan::{Config, Mode, Plan, Sweep},
    record::{BoxError, Cell, Header, Provenance, Run, Sink, State, Statistic},
    stats::{Summary, median},
    store,
    units::{Bytes, Hosts},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const HOSTS_OF_A_LEAF: usize = 32;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let given: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (sizes, times) = match (&given[..], is_bench) {
        (&[hosts, lengths], _) => (vec![(hosts, lengths)], 1),
        (_, true) => (vec![(128, 16), (256, 16), (512, 16), (1024, 16)], 5),
        (_, false) => (vec![(64, 16)], 1),
    };
    println!(
        "{:>6} {:>8} {:>12} {:>7} {:>13} {:>7} {:>10}",
        "hosts", "lengths", "its files", "ratio", "all files", "ratio", "diagnose"
    );
    for (hosts, lengths) in sizes {
        let prefix = folder.path().join(format!("run{hosts}"));
        write_leaf_spine(hosts, lengths, &prefix).expect("files can be made");
        let (mut some, mut all, mut judging) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..times {
            some.push(seconds(|| black_box(medians(&prefix, &[Statistic::Median, Statistic::Deviation])).len()));
            all.push(seconds(|| black_box(medians(&prefix, &Statistic::OF_TIMES)).len()));
            judging.push(seconds(|| black_box(findings(&prefix))));
        }
        let [some, all, judging] = [some, all, judging].map(|mut seconds| median(&mut seconds));
        let (of_some, of_all) = (judging / some, judging / all);
        println!("{hosts:>6} {lengths:>8} {some:>10.2} s {of_some:>7.2} {all:>11.2} s {of_all:>7.2} {judging:>8.2} s");
    }
}

fn seconds(work: impl FnOnce() -> usize) -> f64 {
    let begin = Instant::now();
    black_box(work());
    begin.elapsed().as_secs_f64()
}

/// Median of every length of these statistics, seconds.
fn medians(prefix: &Path, statistics: &[Statistic]) -> Vec<f64> {
    let run = store::open(prefix).expect("the files are there");
    let mut values = vec![f64::NAN; run.ranks() * run.ranks()];
    let mut medians = Vec::new();
    for &statistic in statistics {
        for length in 0..run.lengths().len() {
            run.read_rows(statistic, length, 0..run.ranks(), &mut values).expect("the files can be read");
            medians.push(median(&mut values));
        }
    }
    medians
}

fn findings(prefix: &Path) -> usize {
    let run = store::open(prefix).expect("the files are there");
    let diagnosis =
        diagnose::diagnose(&[&run], &Options { confidence: 0.99, ..Options::default() }).expect("it can be judged");
    assert_eq!(diagnosis.findings.len(), 1, "one host is slow");
    diagnosis.findings.len()
}

/// Leaf switches, 2 % noise, and a host that receives 1.5 times as slowly. Nothing is held but a row.
fn write_leaf_spine(hosts: usize, lengths: usize, prefix: &Path) -> Result<(), BoxError> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let lengths: Vec<Bytes> = (0..lengths as u64).map(|k| Bytes(k * 4096)).collect();
    let config = Config { modes: vec![Mode::OneToOne], sweep: Sweep::list(&lengths)?, ..Config::default() };
    let names = Hosts::new((1..=hosts).map(|host| format!("node{host:05}")));
    let plan = Plan::all(&config, &names)?.remove(0);
    let mut writer = store::create(prefix, &Header::of(&plan, Provenance::default()), true, true)?;
    for (index, length) in lengths.iter().enumerate() {
        let mut cell = |source: usize, destination: usize| {
            if source == destination {
                return Cell::zero();
            }
            let is_near = source / HOSTS_OF_A_LEAF == destination / HOSTS_OF_A_LEAF;
            let usual = if is_near { 1.2e-6 } else { 1.8e-6 } + length.0 as f64 / 12e9;
            let slow = if destination == hosts / 3 { 1.5 } else { 1.0 };
            // The sum of three uniform numbers is near enough to a bell.
            let bell = (0..3).map(|_| rng.random_range(-1.0..1.0)).sum::<f64>();
            let time = usual * slow * (1.0 + 0.02 * bell);
            let deviation = 0.05 * time * rng.random_range(0.8..1.25);
            let summary = Summary { min: 0.9 * time, average: time, median: time, max: 1.3 * time, deviation };
            Cell::measured(summary, 100, State::Measured)
        };
        for source in 0..hosts {
            let row: Vec<Cell> = (0..hosts).map(|destination| cell(source, destination)).collect();
            writer.write_rows(index, source, &row)?;
        }
        writer.finish_length(index)?;
    }
    writer.close()
}

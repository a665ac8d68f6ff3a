//! The detector measured: how long it takes next to reading a run's files and taking the median of every length.
//!
//! `cargo bench --no-default-features --bench diagnose` writes runs of leaf switches of 32 hosts with a slow receiver
//! into a temporary folder and measures in turn, five times each, reading the two statistics that the detector looks
//! at, reading all five, and the detector; it prints medians and the ratios of the detector to both. `cargo test` runs
//! it once, with a small run.

use std::{hint::black_box, path::Path, time::Instant};

use netmatrix::{
    analysis::diagnose::{self, Options},
    plan::{Config, Mode, Plan, Sweep},
    record::{Cell, Header, MemoryRun, Provenance, Run, State, Statistic},
    stats::{Summary, median},
    store,
    units::{Bytes, Hosts},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const HOSTS_OF_A_LEAF: usize = 32;
const TIMES: usize = 5;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    println!(
        "{:>6} {:>8} {:>12} {:>7} {:>13} {:>7} {:>10}",
        "hosts", "lengths", "its files", "ratio", "all files", "ratio", "diagnose"
    );
    let sizes: &[(usize, usize)] = if is_bench { &[(128, 16), (256, 16), (512, 16), (1024, 16)] } else { &[(64, 16)] };
    for &(hosts, lengths) in sizes {
        let prefix = folder.path().join(format!("run{hosts}"));
        store::write_run(&leaf_spine(hosts, lengths), &prefix, true).expect("files can be made");
        let (mut some, mut all, mut judging) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..if is_bench { TIMES } else { 1 } {
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

/// Leaf switches, 2 % noise, and a host that receives 1.5 times as slowly.
fn leaf_spine(hosts: usize, lengths: usize) -> MemoryRun {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let lengths: Vec<Bytes> = (0..lengths as u64).map(|k| Bytes(k * 4096)).collect();
    let sweep = Sweep::list(&lengths).expect("lengths ascend");
    let config = Config { modes: vec![Mode::OneToOne], sweep, ..Config::default() };
    let names = Hosts::new((1..=hosts).map(|host| format!("node{host:04}")));
    let plan = Plan::all(&config, &names).expect("the plan can be carried out").remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    for length in lengths {
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
        let pairs = (0..hosts).flat_map(|source| (0..hosts).map(move |destination| (source, destination)));
        let cells = pairs.map(|(source, destination)| cell(source, destination)).collect();
        run.push(length, cells);
    }
    run
}

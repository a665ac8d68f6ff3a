//! The Lomonosov supercomputer's data of `tests/data/lomonosov78.txt` as a run, with noise from a seed.

use std::{fs, path::Path};

use netmatrix::{
    plan::{Config, Mode, Noise},
    record::{Cell, Header, MemoryRun, Provenance, State},
    stats::Summary,
    units::{Bytes, Hosts},
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};

/// Message lengths: 0, 100, ... 9,900 bytes.
pub const LENGTHS: usize = 100;
/// Processes.
pub const RANKS: usize = 78;

/// Bytes of the matrices, which is what a result set's file of one statistic has besides a short header.
pub const MATRICES: f64 = (8 * RANKS * RANKS * LENGTHS) as f64;

/// The Lomonosov data with log-normal noise.
pub fn lomonosov(sigma: f64) -> MemoryRun {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lomonosov78.txt")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let curve = |line: &str| line[2..].split(' ').map(|value| value.parse::<f64>().unwrap() * 1e-9).collect::<Vec<_>>();
    let curves: Vec<Vec<f64>> = lines[RANKS..].iter().map(|line| curve(line)).collect();
    let lengths: Vec<Bytes> = (0..LENGTHS as u64).map(|k| Bytes(100 * k)).collect();
    let mut run = MemoryRun::new(Header {
        mode: Mode::OneToOne,
        hosts: Hosts::new((0..RANKS).map(|rank| format!("rank{rank}"))),
        planned: lengths.clone(),
        begin_end_step: (Bytes(0), Bytes(10_000), Bytes(100)),
        iterations: 100,
        noise: Noise { messages: 0, ..Config::default().noise },
        plan: Default::default(),
        provenance: Provenance { program_version: "network_tests2".into(), ..Provenance::default() },
    });
    let noise = LogNormal::new(0.0, sigma).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(78);
    for (k, length) in lengths.into_iter().enumerate() {
        let groups = lines[..RANKS].iter().flat_map(|line| line.bytes());
        let median = groups.map(|group| curves[usize::from(group - b'a')][k] * noise.sample(&mut rng));
        let summary = |median| Summary { min: median, average: median, median, max: median, deviation: 0.0 };
        run.push(length, median.map(|median| Cell::measured(summary(median), 100, State::Measured)).collect());
    }
    run
}

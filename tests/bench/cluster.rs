//! Clustering measured: how much smaller, how fast, in how much memory; and how fast single values are found.
//!
//! `cargo bench --no-default-features --bench cluster` makes synthetic runs in a temporary folder (3 GiB of it), lets
//! `network_analyze cluster` and `nccopy -d 5 -s` work on the same files in turn, and prints ratios. Where there is no
//! `nccopy`, its column stays empty. `-- lookup` measures single values alone, and `cargo test`
//! looks one up.

#[path = "../common/lomonosov.rs"]
mod lomonosov;

use std::{
    fs,
    hint::black_box,
    ops::Range,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use criterion::Criterion;
use netmatrix::{
    plan::{Config, Mode, Plan, Sweep},
    record::{BoxError, Header, Provenance, Run, Statistic},
    store,
    units::{Bytes, Hosts},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};

const HOSTS_OF_A_LEAF: usize = 32;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let arguments: Vec<String> = std::env::args().collect();
    let lookup_only =
        arguments.iter().any(|argument| argument == "lookup") || !arguments.iter().any(|it| it == "--bench");
    if !lookup_only {
        println!(
            "{:<28} {:>14} {:>10} {:>12} {:>8}   nccopy: time, times smaller",
            "run", "times smaller", "time", "memory", "bound"
        );
        for (sigma, tolerance) in [(0.0, Some("1%")), (0.02, Some("10%")), (0.02, None)] {
            let prefix = folder.path().join("run");
            store::write_run(&lomonosov::lomonosov(sigma), &prefix, true).expect("files can be made");
            only_median(&prefix);
            let name = format!("Lomonosov, {} % noise", 100.0 * sigma);
            measure(folder.path(), &name, lomonosov::MATRICES, tolerance);
        }
        for (ranks, lengths) in [(512, 64), (512, 32), (1024, 32), (2048, 32)] {
            make(&folder.path().join("run"), ranks, lengths);
            let name = format!("leaf-spine {ranks} x {lengths}, 2 %");
            measure(folder.path(), &name, (8 * ranks * ranks * lengths) as f64, None);
        }
    }
    lookup(folder.path());
}

/// Medians on leaf switches of 32 hosts each: 1.2 and 1.8 us, 100 Gbit/s, a switch of protocol at 16 KiB, 2 % noise.
struct LeafSpine {
    header: Header,
    noise: LogNormal<f64>,
}

impl LeafSpine {
    fn new(ranks: usize, lengths: usize) -> Self {
        let lengths: Vec<Bytes> = (0..lengths as u64).map(|k| Bytes(k * 1024)).collect();
        let sweep = Sweep::list(&lengths).expect("lengths ascend");
        let config = Config { modes: vec![Mode::OneToOne], sweep, ..Config::default() };
        let hosts = Hosts::new((1..=ranks).map(|host| format!("node{host:04}")));
        let plan = Plan::all(&config, &hosts).expect("the plan can be carried out").remove(0);
        let noise = LogNormal::new(0.0, 0.02).expect("a standard deviation is not negative");
        Self { header: Header::of(&plan, Provenance::default()), noise }
    }

    /// What a pair takes without noise.
    fn seconds(length: Bytes, source: usize, destination: usize) -> f64 {
        let same_leaf = source / HOSTS_OF_A_LEAF == destination / HOSTS_OF_A_LEAF;
        let latency = if same_leaf { 1.2e-6 } else { 1.8e-6 };
        let switch = if length.0 >= 16384 { 1.5e-6 } else { 0.0 };
        if source == destination { 0.0 } else { latency + switch + length.0 as f64 / 12e9 }
    }
}

impl Run for LeafSpine {
    fn header(&self) -> &Header {
        &self.header
    }

    fn lengths(&self) -> &[Bytes] {
        &self.header.planned
    }

    fn statistics(&self) -> &[Statistic] {
        &[Statistic::Median]
    }

    fn read_rows(
        &self,
        _statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        let (ranks, length) = (self.ranks(), self.header.planned[length_index]);
        for (source, row) in rows.zip(values.chunks_mut(ranks)) {
            let mut rng = ChaCha8Rng::seed_from_u64((length_index * ranks + source) as u64);
            for (destination, value) in row.iter_mut().enumerate() {
                *value = Self::seconds(length, source, destination) * self.noise.sample(&mut rng);
            }
        }
        Ok(())
    }
}

/// Writes the medians of a leaf-spine to files.
fn make(prefix: &Path, ranks: usize, lengths: usize) {
    store::write_run(&LeafSpine::new(ranks, lengths), prefix, true).expect("files can be made");
}

/// Removes the other statistics, which would only fill the disk.
fn only_median(prefix: &Path) {
    for statistic in Statistic::all().filter(|statistic| *statistic != Statistic::Median) {
        let _ = fs::remove_file(prefix.with_file_name(format!("run_{statistic}.nc")));
    }
}

/// Clusters the run in the folder, of which the matrices have so many bytes, and copies it with nccopy.
fn measure(folder: &Path, name: &str, matrices: f64, tolerance: Option<&str>) {
    let input = folder.join("run_median.nc");
    let archive = folder.join("run.cluster.nc");
    let copy = folder.join("copy.nc");
    // Both find the file in the page cache.
    fs::read(&input).map(drop).expect("the run can be read");
    let mut cluster = Command::new(env!("CARGO_BIN_EXE_network_analyze"));
    cluster.arg("cluster").arg(&input).arg("--force").arg("-o").arg(&archive);
    cluster.args(tolerance.into_iter().flat_map(|tolerance| ["--tolerance", tolerance]));
    let (seconds, kib) = run(&mut cluster).expect("network_analyze can be started");
    let mut nccopy = Command::new("nccopy");
    nccopy.args(["-d", "5", "-s"]).arg(&input).arg(&copy);
    let size = |path: &Path| fs::metadata(path).map_or(f64::NAN, |file| file.len() as f64);
    let other = match run(&mut nccopy) {
        Some((seconds, _)) => format!("{seconds:.2} s, {:.2}", matrices / size(&copy)),
        None => String::new(),
    };
    let bound = store::open_archive(&archive).expect("the archive can be opened").about().tolerance.describe();
    let (ratio, mib) = (matrices / size(&archive), kib / 1024.0);
    println!("{name:<28} {ratio:>14.0} {seconds:>8.2} s {mib:>8.0} MiB {bound:>8}   {other}");
    let _ = fs::remove_file(copy);
}

/// Runs a program; wall time in seconds, and the most memory that it had, in KiB. `None` where it cannot be started.
fn run(command: &mut Command) -> Option<(f64, f64)> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let mut kib = 0.0;
    loop {
        kib = f64::max(kib, high_water(&child));
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Ok(Some(status)) => {
                assert!(status.success(), "{command:?} failed");
                return Some((start.elapsed().as_secs_f64(), kib));
            }
            Err(error) => panic!("{command:?}: {error}"),
        }
    }
}

/// The kernel's own record of the most memory that a process had.
fn high_water(child: &Child) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

fn lookup(folder: &Path) {
    let (ranks, lengths) = (256, 32);
    let prefix = folder.join("run");
    make(&prefix, ranks, lengths);
    let path = folder.join("run.cluster.nc");
    let program = env!("CARGO_BIN_EXE_network_analyze");
    let mut command = Command::new(program);
    // A tight tolerance: many exceptions to search among.
    command.arg("cluster").arg(&prefix).args(["--force", "--tolerance", "5%", "--min-range", "4", "-o"]).arg(&path);
    run(&mut command).expect("network_analyze can be started");
    let archive = store::open_archive(&path).expect("the archive can be opened");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut place = || (rng.random_range(0..lengths), rng.random_range(0..ranks), rng.random_range(0..ranks));
    let places: Vec<_> = (0..4096).map(|_| place()).collect();
    let mut next = 0;
    Criterion::default().configure_from_args().bench_function("lookup of one value of an archive", |bencher| {
        bencher.iter(|| {
            let (length, source, destination) = places[next];
            next = (next + 1) % places.len();
            black_box(archive.value(length, source, destination))
        });
    });
}

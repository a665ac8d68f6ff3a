//! How long storing and reloading a run takes, next to `cp` of the same bytes: 256 ranks, 100 lengths, 5 statistics.
//!
//! All three take turns in one run, so that the ratio does not depend on what else the machine does. The target is
//! storing and reloading in at most twice the time of `cp`. Bytes go to the page cache, as those of `cp` do; set
//! `BENCH_FOLDER` to choose the disk.

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use criterion::Criterion;
use netmatrix::{
    plan::{Config, Plan, Sweep},
    record::{Cell, Header, Provenance, Run, Sink, State, Statistic},
    stats::Summary,
    store,
    units::{Bytes, Hosts},
};

const RANKS: usize = 256;
const LENGTHS: u64 = 100;

/// Rows that the driver hands over at a time: about 1 MiB of cells.
const ROWS: usize = 56;

fn header() -> Header {
    let sweep = Sweep::linear(Bytes(0), Bytes(LENGTHS * 100), Bytes(100)).expect("the sweep is valid");
    let config = Config { sweep, ..Config::default() };
    let hosts = Hosts::new((0..RANKS).map(|rank| format!("node{rank:03}")));
    let plan = Plan::all(&config, &hosts).expect("the plan is valid").remove(0);
    Header::of(&plan, Provenance::default())
}

fn rows() -> Vec<Cell> {
    let cell = |place: usize| {
        let base = 1e-6 + place as f64 * 1e-12;
        let summary = Summary { min: base, average: base * 1.1, median: base, max: base * 2.0, deviation: base * 0.1 };
        Cell::measured(summary, 100, State::Measured)
    };
    (0..ROWS * RANKS).map(cell).collect()
}

fn set_files(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    Statistic::OF_TIMES.iter().map(move |statistic| PathBuf::from(format!("{}_{statistic}.nc", prefix.display())))
}

fn store_run(prefix: &Path, header: &Header, rows: &[Cell]) -> Duration {
    for file in set_files(prefix).chain([PathBuf::from(format!("{}_hosts.txt", prefix.display()))]) {
        let _ = fs::remove_file(file);
    }
    let start = Instant::now();
    let mut writer = store::create(prefix, header, false, false).expect("the set can be made");
    for index in 0..header.planned.len() {
        for first in (0..RANKS).step_by(ROWS) {
            let count = ROWS.min(RANKS - first);
            writer.write_rows(index, first, &rows[..count * RANKS]).expect("rows can be written");
        }
        writer.finish_length(index).expect("the length can be finished");
    }
    // Without close(): it waits for the disk, for which cp does not.
    drop(writer);
    start.elapsed()
}

fn reload(prefix: &Path) -> Duration {
    let start = Instant::now();
    let run = store::open(prefix).expect("the set can be opened");
    let mut values = vec![0.0; RANKS * RANKS];
    for statistic in Statistic::OF_TIMES {
        for index in 0..run.lengths().len() {
            run.read_rows(statistic, index, 0..RANKS, &mut values).expect("the matrix can be read");
            black_box(&values);
        }
    }
    start.elapsed()
}

fn copy(prefix: &Path, target: &Path) -> Duration {
    fs::create_dir_all(target).expect("a folder can be made");
    let start = Instant::now();
    let status = Command::new("cp").args(set_files(prefix)).arg(target).status().expect("cp can be started");
    let elapsed = start.elapsed();
    assert!(status.success(), "cp failed");
    fs::remove_dir_all(target).expect("the copy can be removed");
    elapsed
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn main() {
    let folder = match std::env::var_os("BENCH_FOLDER") {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let folder = folder.expect("a folder can be made");
    let (prefix, target) = (folder.path().join("run"), folder.path().join("copy"));
    let (header, rows) = (header(), rows());
    let (mut stored, mut reloaded, mut copied) = (Vec::new(), Vec::new(), Vec::new());
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    criterion.bench_function("store and reload 256 x 256 x 100", |bencher| {
        bencher.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for _ in 0..times {
                stored.push(store_run(&prefix, &header, &rows));
                reloaded.push(reload(&prefix));
                copied.push(copy(&prefix, &target));
                total += stored[stored.len() - 1] + reloaded[reloaded.len() - 1];
            }
            total
        });
    });
    criterion.final_summary();
    if copied.is_empty() {
        return;
    }
    let (stored, reloaded, copied) = (median(&mut stored), median(&mut reloaded), median(&mut copied));
    println!("medians: store {stored:.3} s, reload {reloaded:.3} s, cp {copied:.3} s");
    println!("(store + reload) / cp = {:.2}; at most 2 is asked for", (stored + reloaded) / copied);
}

//! Nothing is allocated while pairs are measured: an allocation between two clock readings would be in the time.
//!
//! This test starts itself as an MPI program that shares the modules of network_test and counts what they allocate.

#![allow(dead_code, reason = "the modules of network_test have parts that this program does not use")]
#![allow(unused_imports, reason = "their unit tests are not compiled into a program without the test harness")]

mod common;
#[path = "../src/bin/network_test/mpi/mod.rs"]
mod mpi;
#[path = "../src/bin/network_test/watchdog/mod.rs"]
mod watchdog;

use std::alloc::System;

use ::mpi::traits::Communicator;
use common::launcher::Job;
use netmatrix::{
    measure::{Cells, Fabric, StopRequest},
    plan::{Config, Mode, Noise, Plan, Sweep},
    units::Bytes,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

const RANKS: usize = 3;

/// As in the program: ranks that wait stay awake.
fn pass(_seconds: f64) {}

/// What says to the program that it is one of the ranks.
const AS_RANK: &str = "--as-rank";

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One rank's part: after a first length, in which anything may be allocated, a line per mode: `MODE RANK ALLOCATIONS`.
fn measure_and_count() {
    let universe = ::mpi::initialize().expect("MPI is not running yet");
    let world = universe.world();
    let hosts = mpi::hosts(&world);
    let me = world.rank() as usize;
    let config = Config {
        modes: Mode::all().collect(),
        sweep: Sweep::list(&[Bytes(64), Bytes(100_000)]).expect("two lengths are a sweep"),
        iterations: 20,
        noise: Noise { length: Bytes(100), messages: 1, processes: 1 },
        ..Config::default()
    };
    for plan in Plan::all(&config, &hosts).expect("the configuration is valid") {
        let host = hosts.name_of(me);
        let (me, ranks) = (world.rank() as usize, world.size() as usize);
        let limit = std::time::Duration::from_secs(60);
        let watchdog = watchdog::Watchdog::new(me, ranks, limit, std::path::Path::new("none"), StopRequest::default());
        let mut fabric =
            mpi::MpiFabric::new(&world, host, StopRequest::default(), &watchdog).expect("the fabric is made");
        fabric.prepare(&plan).expect("the run is prepared");
        let mut cells = Cells::new(plan.mode, plan.ranks(), fabric.view());
        for (index, &length) in plan.lengths().iter().enumerate() {
            fabric.begin_length(&plan, index).expect("the length begins");
            let rounds = plan.rounds(index);
            fabric.begin_part(0..rounds.len());
            let region = Region::new(ALLOCATOR);
            for round in rounds.iter() {
                fabric.run(&round, length, &mut cells).expect("the round is measured");
            }
            let allocations = region.change().allocations;
            if index > 0 {
                println!("{} {me} {allocations}", plan.mode);
            }
        }
        assert!(cells.all().iter().any(|cell| cell.samples == 20), "something was measured");
        fabric.finish().expect("the run is finished");
    }
}

fn main() {
    if std::env::args().any(|argument| argument == AS_RANK) {
        return measure_and_count();
    }
    let program = std::env::current_exe().expect("a program knows where it is");
    let outcome = Job::new(program, RANKS).args([AS_RANK]).run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for mode in Mode::all() {
        for rank in 0..RANKS {
            let start = format!("{mode} {rank} ");
            let line = outcome.stdout.lines().find(|line| line.starts_with(&start));
            let allocations: usize =
                line.expect("every rank reports every mode")[start.len()..].parse().expect("a number");
            // With noise every turn draws its noise ranks, before the pair begins.
            let allowed = if mode.has_noise() { 3 * 8 } else { 0 };
            assert!(allocations <= allowed, "{mode}, rank {rank}: {allocations} allocations");
        }
    }
    println!("test result: ok. 1 passed; 0 failed");
}

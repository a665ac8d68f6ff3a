//! The helper that starts MPI programs keeps its promises: the right launcher, exit codes, and the time limit.

mod common;

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use common::launcher::{Job, Launcher, Signal};

fn launcher() -> Launcher {
    Launcher::of(Path::new(env!("CARGO_BIN_EXE_network_test")))
}

fn shell(ranks: usize, script: &str) -> Job {
    Job::under(launcher(), "sh", ranks).args(["-c", script])
}

/// Number of processes whose command line is exactly `sleep seconds`.
fn sleepers(seconds: &str) -> usize {
    let ps = Command::new("ps").args(["-eo", "args="]).output().expect("ps can be started");
    String::from_utf8_lossy(&ps.stdout).lines().filter(|line| *line == format!("sleep {seconds}")).count()
}

#[test]
fn every_rank_is_started_and_heard() {
    let outcome = shell(3, "echo out; echo err >&2; echo $VALUE").env("VALUE", "a b").directory("/").run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stdout.matches("out").count(), 3, "{outcome:?}");
    assert_eq!(outcome.stdout.matches("a b").count(), 3, "{outcome:?}");
    assert_eq!(outcome.stderr.matches("err").count(), 3, "{outcome:?}");
    assert!(!outcome.timed_out);
}

#[test]
fn the_exit_code_is_the_programs() {
    for code in [1, 3, 75] {
        let outcome = shell(2, &format!("exit {code}")).run();
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
    }
}

#[test]
fn a_job_that_hangs_is_ended_with_all_its_ranks() {
    let limit = Duration::from_secs(2);
    let outcome = Job::under(launcher(), "sleep", 3).args(["86021"]).limit(limit).run();
    assert_eq!((outcome.timed_out, outcome.code), (true, None), "{outcome:?}");
    assert!(outcome.duration >= limit && outcome.duration < limit + Duration::from_secs(60), "{outcome:?}");
    assert_eq!(sleepers("86021"), 0);
}

#[test]
fn ranks_that_do_not_heed_signals_are_ended_too() {
    let stubborn = shell(2, "trap '' TERM; sleep 86022; sleep 86023").limit(Duration::from_secs(1));
    assert!(stubborn.run().timed_out);
    assert_eq!((sleepers("86022"), sleepers("86023")), (0, 0));
}

#[test]
fn a_job_that_is_dropped_is_ended() {
    let start = Instant::now();
    let job = Job::under(launcher(), "sleep", 2).args(["86024"]).start();
    while sleepers("86024") < 2 {
        assert!(start.elapsed() < Duration::from_secs(240), "the ranks did not start");
    }
    drop(job);
    assert_eq!(sleepers("86024"), 0);
}

#[test]
fn signals_reach_the_ranks() {
    let job = shell(2, "trap 'echo caught; exit 75' USR1; echo ready; while :; do sleep 0.05; done").start();
    let start = Instant::now();
    while job.stdout().matches("ready").count() < 2 {
        assert!(start.elapsed() < Duration::from_secs(240), "the ranks did not start");
    }
    job.signal(Signal::USR1);
    let outcome = job.wait();
    // Not by the exit code: MPICH's launcher forgets that of the ranks at times when it was signalled itself.
    assert!(outcome.stdout.matches("caught").count() == 2 && !outcome.timed_out, "{outcome:?}");
}

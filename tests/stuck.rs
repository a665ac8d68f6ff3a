//! Where something is broken: nobody waits for ever, whoever is waited for is named, and nothing that is finished is lost.
//!
//! Ranks on one machine; `vcluster/stuck.rs` has the same on several hosts, with cables that lose long messages.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use common::launcher::{Job, Outcome, Running, Signal};
use netmatrix::{
    record::{Phase, Run, Statistic, Stuck, Wait, WaitOutcome},
    store,
};

const ANALYZE: &str = env!("CARGO_BIN_EXE_network_analyze");
const PROGRAM: &str = env!("CARGO_BIN_EXE_network_test");

/// What the contract allows beyond the timeout.
const BEYOND: Duration = Duration::from_secs(10);
/// What a machine may take that is busy with other things.
const BUSY: Duration = Duration::from_secs(240);

fn job(folder: &Path, ranks: usize, arguments: &str) -> Job {
    Job::new(PROGRAM, ranks).directory(folder).args(arguments.split_whitespace())
}

fn wait_until(running: &Running, what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < BUSY, "no {what}: {}", running.stderr());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a job measures.
fn wait_for_begin(running: &Running) {
    wait_until(running, "begin", || running.stderr().contains("expected"));
}

/// How many lengths are in the files.
fn finished(prefix: &Path) -> usize {
    store::open(prefix).map_or(0, |run| run.lengths().len())
}

/// Rounds that are kept grow the file.
fn kept(prefix: &Path) -> u64 {
    fs::metadata(format!("{}_part.bin", prefix.display())).map_or(0, |found| found.len())
}

/// Freezes the rank with this place for good once the job measures; what came of it.
#[track_caller]
fn freeze(folder: &Path, arguments: &str, place: usize) -> (Outcome, Stuck) {
    let running = job(folder, 4, &format!("{arguments} --timeout 2s -f w")).start();
    wait_for_begin(&running);
    thread::sleep(Duration::from_millis(300));
    running.signal_one(Path::new(PROGRAM), place, Signal::STOP);
    let outcome = running.wait();
    let stuck = store::read_stuck(&folder.join("w")).unwrap();
    // By the ranks' own count, which other work on the machine does not lengthen.
    let longest = stuck.waits.iter().map(|wait| wait.seconds).fold(0.0, f64::max);
    assert!(longest < (Duration::from_secs(2) + BEYOND).as_secs_f64(), "{arguments}: {longest} s: {outcome:?}");
    (outcome, stuck)
}

#[test]
fn a_frozen_rank_is_named_and_ends_the_job_in_every_mode() {
    for arguments in [
        "-t one_to_one",
        "-t async_one_to_one --schedule disjoint",
        "-t all_to_all",
        "-t bcast",
        "-t put",
        "-t noise -p 2",
    ] {
        let folder = tempfile::tempdir().unwrap();
        // Long pairs: the freeze meets one, or a rank that waits for its turn.
        let (outcome, stuck) = freeze(folder.path(), &format!("{arguments} --lengths 1K -n 3000000"), 2);
        assert_eq!(outcome.code, Some(75), "{arguments}: {outcome:?}");
        assert!(outcome.stderr.contains("has waited"), "{arguments}: {outcome:?}");
        let ended: Vec<_> = stuck.waits.iter().filter(|wait| wait.outcome == WaitOutcome::Ended).collect();
        assert!(!ended.is_empty(), "{arguments}: {stuck:?}");
        let named = |rank| ended.iter().all(|wait| wait.silent.iter().all(|(silent, _)| *silent == rank));
        let silent: Vec<_> = ended.iter().flat_map(|wait| &wait.silent).collect();
        // In an exchange the timeout may be over just before the frozen rank counts as silent.
        let waited_for = ended.iter().flat_map(|wait| &wait.waits_for).next();
        assert!(silent.first().is_some_and(|(rank, _)| named(*rank)) || waited_for.is_some(), "{arguments}: {stuck:?}");
        assert!(ended.iter().all(|wait| wait.mode.is_some() && wait.seconds < 60.0), "{arguments}: {stuck:?}");
        // No length is finished: the verdict is that of the waits alone.
        let verdict = Command::new(ANALYZE).args(["diagnose", "w"]).current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&verdict.stdout).into_owned();
        if !silent.is_empty() {
            assert_eq!(verdict.status.code(), Some(1), "{arguments}: {verdict:?}");
            assert!(text.contains("answers nobody") && text.contains("see w_stuck.txt"), "{arguments}: {text}");
        }
    }
}

#[test]
fn what_was_finished_before_a_rank_froze_is_kept_and_a_run_goes_on_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("w");
    let arguments = "-t one_to_one -n 100 -b 1K -e 60K -s 1K";
    let running = job(folder.path(), 4, &format!("{arguments} --timeout 2s -f w")).start();
    wait_until(&running, "length", || finished(&prefix) > 1);
    running.signal_one(Path::new(PROGRAM), 1, Signal::STOP);
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(75), "{outcome:?}");
    assert!(!store::read_stuck(&prefix).unwrap().is_empty());
    let before = finished(&prefix);
    assert!(before > 1);
    let outcome = job(folder.path(), 4, &format!("{arguments} --timeout 20s -f w --resume")).run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let run = store::open(&prefix).unwrap();
    assert!(run.is_complete());
    let last = run.matrix(Statistic::Median, run.lengths().len() - 1).unwrap();
    // Whoever was waited for in an exchange without being known to be frozen is left out; that is one pair at most.
    assert!(last.off_diagonal().filter(|value| value.is_nan()).count() <= 2, "{last:?}");
    // What an earlier try waited for is said, and no verdict about the run that is finished now.
    let info = Command::new(ANALYZE).args(["info", "w"]).current_dir(folder.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&info.stdout).contains("an earlier try was stuck: "), "{info:?}");
}

#[test]
fn a_healthy_run_whose_ranks_wait_longer_than_the_timeout_for_their_turn_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    // Each of 28 pairs takes a moment, and each rank waits for most of the run; all wait for the slowest of a round.
    for schedule in ["isolated", "disjoint"] {
        let arguments =
            format!("--schedule {schedule} --retest 0 --lengths 16K -n 1500 --timeout 1500ms -f {schedule}");
        let outcome = job(folder.path(), 8, &arguments).run();
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(!folder.path().join(format!("{schedule}_stuck.txt")).exists());
    }
    assert!(start.elapsed() > Duration::from_millis(1500), "nobody has waited for long enough");
}

#[test]
fn signals_end_a_run_inside_a_pair_or_a_collective_round_before_the_watchdog_does() {
    for mode in ["--schedule isolated", "--schedule disjoint", "-t all_to_all", "-t bcast"] {
        let folder = tempfile::tempdir().unwrap();
        // A pair or a round of hours.
        let arguments = format!("{mode} --lengths 1K -n 10000000 -f w");
        let running = job(folder.path(), 4, &arguments).start();
        wait_for_begin(&running);
        thread::sleep(Duration::from_millis(500));
        (0..4).for_each(|place| running.signal_one(Path::new(PROGRAM), place, Signal::USR1));
        let outcome = running.wait();
        assert_eq!(outcome.code, Some(75), "{outcome:?}");
        assert!(outcome.stderr.contains("asked to stop"), "{outcome:?}");
        // The ranks have ended by themselves, before the watchdog's own limit.
        assert!(!folder.path().join("w_stuck.txt").exists());
    }
}

#[test]
fn runs_with_a_time_limit_advance_inside_a_length() {
    for arguments in ["--lengths 1M", "--lengths 1M --schedule disjoint", "-t bcast --lengths 256K"] {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("p");
        let mut runs = 0;
        let mut before = 0;
        loop {
            // The first runs have little time, the last one enough on any machine.
            let limit = if runs < 2 { "2s" } else { "5min" };
            let line = format!("{arguments} -n 500 --retest 0 --time-limit {limit} --resume -f p");
            let outcome = job(folder.path(), 4, &line).run();
            runs += 1;
            if outcome.code == Some(0) {
                break;
            }
            assert_eq!(outcome.code, Some(75), "{outcome:?}");
            let now = kept(&prefix);
            // A machine so busy that no pair is done in time does not advance, but loses nothing.
            assert!(
                now >= before,
                "run {runs} of {arguments}: {before} bytes of finished rounds became {now}: {outcome:?}"
            );
            before = now;
            assert!(runs < 3, "{outcome:?}");
        }
        assert_eq!(kept(&prefix), 0, "a finished length needs no rounds");
        let run = store::open(&prefix).unwrap();
        let median = run.matrix(Statistic::Median, 0).unwrap();
        assert!(run.is_complete() && median.off_diagonal().all(|value| value > 0.0), "{arguments}: {median:?}");
    }
}

#[test]
fn a_kill_inside_a_length_loses_no_more_than_a_few_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("k");
    let line = "--lengths 256K -n 5000 -f k --resume";
    let running = job(folder.path(), 4, line).start();
    let path = PathBuf::from(format!("{}_part.bin", prefix.display()));
    let start = Instant::now();
    // On a fast machine the length may be done before any of it is kept.
    while finished(&prefix) == 0 && kept(&prefix) == 0 {
        assert!(start.elapsed() < BUSY, "{}", running.stderr());
        thread::sleep(Duration::from_millis(10));
    }
    running.kill();
    assert!(finished(&prefix) == 1 || path.exists());
    let outcome = job(folder.path(), 4, line).run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!path.exists() && finished(&prefix) == 1);
}

#[test]
fn a_prefix_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let line = "--lengths 1K -n 100000000 -f one --resume";
    let running = job(folder.path(), 2, line).start();
    wait_for_begin(&running);
    let second = job(folder.path(), 2, line).beside_others().run();
    assert_eq!(second.code, Some(3), "{second:?}");
    assert!(second.stderr.contains("being written by network_test on "), "{second:?}");
    assert!(second.stderr.contains("process "), "{second:?}");
    running.kill();
    // The lock has died with its process.
    let outcome = job(folder.path(), 2, "--lengths 1K -n 10 -f one --force").run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!folder.path().join("one.lock").exists());
}

#[test]
fn what_was_prepared_and_never_filled_does_not_block_the_next_try() {
    let folder = tempfile::tempdir().unwrap();
    let running = job(folder.path(), 2, "--lengths 1K -n 100000000 -f x").start();
    wait_for_begin(&running);
    running.kill();
    assert!(folder.path().join("x_median.nc").exists());
    let outcome = job(folder.path(), 2, "--lengths 2K -n 10 -f x").run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(finished(&folder.path().join("x")), 1);
    let outcome = job(folder.path(), 2, "--lengths 2K -n 10 -f x").run();
    assert_eq!(outcome.code, Some(3), "what is filled is kept: {outcome:?}");
}

#[test]
fn a_pair_that_does_not_answer_is_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 3, "--lengths 1K -n 10 --timeout 1s --inject-silence 1 -f s").run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("the pair is left out"), "{outcome:?}");
    let stuck = store::read_stuck(&folder.path().join("s")).unwrap();
    let skipped = |wait: &Wait| (wait.phase, wait.outcome) == (Phase::Handshake, WaitOutcome::Skipped);
    assert!(!stuck.is_empty() && stuck.waits.iter().all(skipped), "{stuck:?}");
}

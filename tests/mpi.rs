//! The real program under a real launcher: every mode, every invariant of its files, and how it refuses.

mod common;

use std::{path::Path, time::Duration};

use common::launcher::{Job, Launcher, Outcome};
use netmatrix::{
    plan::Mode,
    record::{Run, State, Statistic},
    store,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_test");

/// A job of `ranks` in `folder`; few samples and lengths, because some MPI libraries do not yield a busy core.
fn job(folder: &Path, ranks: usize, arguments: &str) -> Job {
    Job::new(PROGRAM, ranks).directory(folder).args(arguments.split_whitespace())
}

fn done(outcome: &Outcome) {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

/// What holds for every complete result set of a healthy machine.
fn check_set(prefix: &Path, mode: Mode, ranks: usize, lengths: &[u64]) {
    let run = store::open(prefix).unwrap_or_else(|error| panic!("{error}"));
    assert!(run.is_complete() && run.notices().is_empty(), "{prefix:?}: {:?}", run.notices());
    assert_eq!((run.header().mode, run.ranks()), (mode, ranks));
    assert_eq!(run.lengths().iter().map(|length| length.0).collect::<Vec<_>>(), lengths);
    let names = std::fs::read_to_string(format!("{}_hosts.txt", prefix.display())).unwrap();
    assert_eq!(names.lines().count(), ranks);
    assert!(run.header().hosts.name_of_every_rank().eq(names.lines()), "hosts.txt and the files agree");
    for (index, length) in lengths.iter().enumerate() {
        let [min, average, median, max, deviation] =
            Statistic::OF_TIMES.map(|statistic| run.matrix(statistic, index).unwrap_or_else(|error| panic!("{error}")));
        for cell in (0..ranks).flat_map(|i| (0..ranks).map(move |j| (i, j))) {
            let values = [min[cell], average[cell], median[cell], max[cell], deviation[cell]];
            let what = format!("{mode} at {length} bytes, cell {cell:?}: {values:?}");
            if cell.0 == cell.1 && !mode.is_collective() {
                assert_eq!(values, [0.0; 5], "{what}");
                continue;
            }
            let [min, average, median, max, deviation] = values;
            assert!(min > 0.0 && max < 10.0, "{what}");
            assert!(min <= median && median <= max && min <= average && average <= max, "{what}");
            assert!((0.0..=max - min).contains(&deviation), "{what}");
        }
    }
}

#[test]
fn one_rank_is_told_how_to_start_more() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 1, "").run();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("pairs need at least 2"), "{outcome:?}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn one_to_one_fills_its_files_on_any_number_of_ranks() {
    for ranks in [2, 3, 4, 8] {
        let folder = tempfile::tempdir().unwrap();
        let iterations = if ranks == 8 { 3 } else { 10 };
        for timing in ["transfer", "receive"] {
            let arguments = format!("-n {iterations} --warmup 1 --lengths 0,1K --timing {timing} -f {timing}");
            done(&job(folder.path(), ranks, &arguments).run());
            check_set(&folder.path().join(timing), Mode::OneToOne, ranks, &[0, 1024]);
        }
    }
}

#[test]
fn every_mode_fills_its_files() {
    for ranks in [2, 4, 6] {
        let folder = tempfile::tempdir().unwrap();
        let noise = if ranks == 2 { 0 } else { 2 };
        let arguments = format!("-t all -p {noise} -l 64 -m 2 -n 4 --warmup 1 --lengths 0,100,20000 --verify");
        done(&job(folder.path(), ranks, &arguments).run());
        for mode in Mode::all() {
            check_set(&folder.path().join(format!("network_{mode}")), mode, ranks, &[0, 100, 20_000]);
        }
    }
}

#[test]
fn disjoint_and_sampled_schedules_measure_what_they_promise() {
    let folder = tempfile::tempdir().unwrap();
    done(&job(folder.path(), 5, "-t one_to_one,put --schedule disjoint -n 4 --lengths 8,4K -f all").run());
    check_set(&folder.path().join("all_one_to_one"), Mode::OneToOne, 5, &[8, 4096]);
    check_set(&folder.path().join("all_put"), Mode::Put, 5, &[8, 4096]);
    done(&job(folder.path(), 6, "--schedule disjoint --sample-rounds 2 -n 4 --lengths 8,4K -f some").run());
    let run = store::open(&folder.path().join("some")).unwrap();
    for index in 0..2 {
        let median = run.matrix(Statistic::Median, index).unwrap();
        for rank in 0..6 {
            let partners = (0..6).filter(|other| *other != rank && !median[(rank, *other)].is_nan()).count();
            assert_eq!(partners, 2, "rank {rank} at length {index}");
        }
    }
}

#[test]
fn synchronised_clocks_tell_one_way_times() {
    let folder = tempfile::tempdir().unwrap();
    let modes = "one_to_one,async_one_to_one,noise";
    done(&job(folder.path(), 4, &format!("-t {modes} -p 1 --timing clock -n 5 --lengths 1K,256K")).run());
    for mode in [Mode::OneToOne, Mode::AsyncOneToOne, Mode::Noise] {
        let run = store::open(&folder.path().join(format!("network_{mode}"))).unwrap();
        assert_eq!(run.header().item("timing"), Some("clock"));
        let median = run.matrix(Statistic::Median, 1).unwrap();
        assert!(median.off_diagonal().all(|value| value.abs() < 1.0), "{median:?}");
    }
    let outcome = job(folder.path(), 3, "--check-clocks").limit(Duration::from_secs(120)).run();
    done(&outcome);
    assert_eq!(outcome.stdout.lines().filter(|line| line.contains(" of 2")).count(), 3, "{outcome:?}");
}

#[test]
fn nobody_measures_while_others_probe() {
    let folder = tempfile::tempdir().unwrap();
    // With this seed ranks 1 and 2 are the first pair, and ranks 0 and 1 probe: 10 messages of 256 MiB take longer than
    // rank 2 would have patience.
    let arguments = "-n 1 --warmup 0 --lengths 0,256M --timing receive --timeout 400ms --seed 6";
    done(&job(folder.path(), 3, arguments).run());
    let run = store::open(&folder.path().join("network")).unwrap();
    let first = run.matrix(Statistic::Median, 0).unwrap();
    assert!(first.values().iter().all(|value| !value.is_nan()), "{first:?}");
}

#[test]
fn a_time_limit_may_be_longer_than_any_clock() {
    let folder = tempfile::tempdir().unwrap();
    done(&job(folder.path(), 2, "-n 1 --lengths 1 --time-limit 500000000000years").run());
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 4, "--dry-run -t one_to_one,bcast --lengths 0,1M -n 50").run();
    done(&outcome);
    for part in ["ranks     4", "lengths   2", "one_to_one", "bcast", "exchanges", "on disk", "memory"] {
        assert!(outcome.stdout.contains(part), "{part}: {outcome:?}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_panic_ends_the_whole_job_and_says_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 4, "-n 5 --inject-panic 2").limit(Duration::from_secs(60)).run();
    assert!(!outcome.timed_out, "{outcome:?}");
    assert_ne!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("network_test: rank 2 on "), "{outcome:?}");
}

#[test]
fn existing_results_are_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    done(&job(folder.path(), 2, "-n 3 --lengths 1").run());
    let before = std::fs::read(folder.path().join("network_median.nc")).unwrap();
    let outcome = job(folder.path(), 2, "-n 3 --lengths 1").run();
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.stderr.contains("network_") && outcome.stderr.contains("--force"), "{outcome:?}");
    assert!(!outcome.stderr.contains("expected"), "measuring has begun: {outcome:?}");
    assert_eq!(std::fs::read(folder.path().join("network_median.nc")).unwrap(), before);
    done(&job(folder.path(), 2, "-n 3 --lengths 1,2 --force").run());
    check_set(&folder.path().join("network"), Mode::OneToOne, 2, &[1, 2]);
}

#[test]
fn a_bad_place_for_results_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("there")).unwrap();
    for (prefix, named) in [("nowhere/x", "nowhere"), ("there/", "there")] {
        let outcome = job(folder.path(), 2, &format!("-n 3 -f {prefix}")).run();
        assert_eq!(outcome.code, Some(3), "{outcome:?}");
        assert!(outcome.stderr.contains(named), "{outcome:?}");
    }
}

#[test]
fn wrong_usage_is_told_once_and_before_mpi() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, named) in [
        ("-t one_to_two", "unknown mode `one_to_two`"),
        ("-t noise -p 9", "at most 1"),
        ("--lengths 4G", "beyond what MPI can count"),
    ] {
        let outcome = job(folder.path(), 3, arguments).run();
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert_eq!(outcome.stderr.matches(named).count(), 1, "{named}: {outcome:?}");
    }
}

#[test]
fn ranks_with_different_command_lines_do_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let launcher = Launcher::of(Path::new(PROGRAM));
    // Each launcher tells a rank its number in a variable of its own.
    let script = format!("exec {PROGRAM} -n 3 --lengths 1 --seed $OMPI_COMM_WORLD_RANK$PMI_RANK");
    let outcome = Job::under(launcher, "sh", 2).directory(folder.path()).args(["-c", &script]).run();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("do not follow the same plan"), "{outcome:?}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn damaged_payloads_are_seen_counted_and_told() {
    for mode in Mode::all() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = format!("-t {mode} -n 4 --lengths 1,1K --verify --inject-damage 1 -f x");
        let outcome = job(folder.path(), 3, &arguments).run();
        assert_eq!(outcome.code, Some(1), "{mode}: {outcome:?}");
        assert!(outcome.stderr.contains("payloads arrived damaged"), "{outcome:?}");
        let run = store::open(&folder.path().join("x")).unwrap();
        let mut states = [State::Measured; 9];
        run.read_states(1, 0..3, &mut states).unwrap();
        let damaged: Vec<_> = (0..9).filter(|cell| states[*cell] == State::Damaged).collect();
        assert!(!damaged.is_empty(), "{mode}");
        let timed_by_1 = |cell: &usize| cell / 3 == 1 || cell % 3 == 1;
        assert!(damaged.iter().all(timed_by_1), "{mode}: {damaged:?}");
    }
}

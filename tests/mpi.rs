//! The real program under a real launcher: what depends on the MPI library, so under each of them. What does not is in
//! `usage.rs`, `durability.rs` and the unit tests.

mod common;

use std::{path::Path, process::Command, time::Duration};

use common::launcher::{Job, Outcome};
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
        let optional = (run.statistics().contains(&Statistic::First))
            .then(|| Statistic::OPTIONAL.map(|statistic| run.matrix(statistic, index).unwrap()));
        for cell in (0..ranks).flat_map(|i| (0..ranks).map(move |j| (i, j))) {
            let values = [min[cell], average[cell], median[cell], max[cell], deviation[cell]];
            let what = format!("{mode} at {length} bytes, cell {cell:?}: {values:?}");
            if cell.0 == cell.1 && !mode.is_collective() {
                assert_eq!(values, [0.0; 5], "{what}");
                continue;
            }
            if *length == 0 && !mode.empty_messages_travel() {
                assert!(values.iter().all(|value| value.is_nan()), "{what}");
                continue;
            }
            let [min, average, median, max, deviation] = values;
            assert!(min > 0.0 && max < 10.0, "{what}");
            assert!(min <= median && median <= max && min <= average && average <= max, "{what}");
            assert!((0.0..=max - min).contains(&deviation), "{what}");
            if let Some([p90, p99, first]) = &optional {
                let (p90, p99, first) = (p90[cell], p99[cell], first[cell]);
                assert!(median <= p90 && p90 <= p99 && p99 <= max, "{what} {p90} {p99}");
                assert!(first > 0.0 && first < 10.0, "{what} {first}");
            }
        }
    }
}

#[test]
fn one_to_one_fills_its_files_on_any_number_of_ranks() {
    for (ranks, timing) in [(2, "receive"), (3, "transfer"), (5, "receive")] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = format!("-n 5 --warmup 1 --lengths 0,1K --timing {timing} -f {timing}");
        done(&job(folder.path(), ranks, &arguments).run());
        check_set(&folder.path().join(timing), Mode::OneToOne, ranks, &[0, 1024]);
    }
}

#[test]
fn every_mode_fills_its_files() {
    let (ranks, folder) = (3, tempfile::tempdir().unwrap());
    let arguments = "-t all -p 1 -l 64 -m 2 -n 4 --warmup 1 --lengths 0,100,20000 --verify --statistics p90,p99,first";
    done(&job(folder.path(), ranks, arguments).run());
    for mode in Mode::all() {
        check_set(&folder.path().join(format!("network_{mode}")), mode, ranks, &[0, 100, 20_000]);
    }
}

/// Counts the requests that completion calls look at; each rank's clock is ahead by three seconds more than the one
/// before, and those of odd ranks are 20 ppm fast.
const WATCHER: &str = r#"
#include <mpi.h>
#include <stdio.h>
static long visits, batches;
int MPI_Waitsome(int n, MPI_Request r[], int *o, int i[], MPI_Status s[])
{ visits += n; batches++; return PMPI_Waitsome(n, r, o, i, s); }
int MPI_Waitany(int n, MPI_Request r[], int *i, MPI_Status *s)
{ visits += n; batches++; return PMPI_Waitany(n, r, i, s); }
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[])
{ visits += n; return PMPI_Waitall(n, r, s); }
int MPI_Finalize(void) { printf("visits %ld of %ld batches\n", visits, batches); return PMPI_Finalize(); }
double MPI_Wtime(void)
{
    static int me = -1;
    if (me < 0) PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    return PMPI_Wtime() * (me % 2 ? 1.00002 : 1.0) + 3.0 * me;
}
"#;

/// Messages from rank 0 to rank 1 leave a millisecond late.
const LATE_PAIR: &str = r#"
#include <mpi.h>
#include <unistd.h>
static void late(int to)
{
    static int me = -1;
    if (me < 0) PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me == 0 && to == 1) usleep(1000);
}
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{ late(to); return PMPI_Send(b, n, t, to, tag, c); }
int MPI_Put(const void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int m, MPI_Datatype u, MPI_Win w)
{ late(to); return PMPI_Put(b, n, t, to, at, m, u, w); }
"#;

/// Writes down every message of 7,777 bytes (of a pair) and of 54,321 bytes (of noise): when it was sent, by whom, to
/// whom, how long it is.
const LISTENER: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static FILE *list;
static int me;
static void note(int n, int to)
{
    if (n != 7777 && n != 54321) return;
    if (!list) {
        char name[32];
        PMPI_Comm_rank(MPI_COMM_WORLD, &me);
        snprintf(name, sizeof name, "sent.%d", me);
        list = fopen(name, "w");
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(list, "%lld %d %d %d\n", now.tv_sec * 1000000000LL + now.tv_nsec, me, to, n);
}
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{ note(n, to); return PMPI_Send(b, n, t, to, tag, c); }
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{ note(n, to); return PMPI_Isend(b, n, t, to, tag, c, r); }
int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *d, int m, MPI_Datatype u, int from, int g,
    MPI_Comm c, MPI_Status *s)
{ note(n, to); return PMPI_Sendrecv(b, n, t, to, tag, d, m, u, from, g, c, s); }
int MPI_Finalize(void) { if (list) fclose(list); return PMPI_Finalize(); }
"#;

/// A job between which and MPI the watcher stands.
fn watched(folder: &Path, ranks: usize, arguments: &str) -> Outcome {
    between(WATCHER, folder, ranks, arguments)
}

/// A job between which and MPI a library stands.
fn between(library_source: &str, folder: &Path, ranks: usize, arguments: &str) -> Outcome {
    let (source, library) = (folder.join("between.c"), folder.join("between.so"));
    std::fs::write(&source, library_source).unwrap();
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let compiled =
        Command::new(compiler).args(["-O2", "-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(compiled.success());
    // The launcher gets it as well, which does no harm: it calls no MPI.
    job(folder, ranks, arguments).env("LD_PRELOAD", library).run()
}

#[test]
fn all_to_all_looks_at_few_requests() {
    let (ranks, folder) = (6, tempfile::tempdir().unwrap());
    let outcome = watched(folder.path(), ranks, "-t all_to_all --lengths 8 -n 20 --warmup 0 -q");
    done(&outcome);
    let counted: Vec<Vec<u64>> = outcome
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("visits "))
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    assert_eq!(counted.len(), ranks, "{outcome:?}");
    // Samples, and two probes of 3 exchanges for each of two lengths, which are the same.
    let exchanges = 20 + 12;
    // All receives for every batch of arrivals, at most one of each rank, and all sends once.
    let ranks = ranks as u64;
    for counts in counted {
        assert!(counts[0] > 0 && counts[0] <= exchanges * ranks * (ranks + 1), "{counts:?}");
    }
}

#[test]
fn noise_travels_while_its_pair_is_measured_and_never_from_the_pair() {
    /// A message: when it was sent, by whom and to whom.
    type Sent = (u64, u64, u64);
    for arguments in ["-t noise", "-t noise_blocking", "-t noise --noise-pattern ring"] {
        let folder = tempfile::tempdir().unwrap();
        // Two noise ranks of four: those that are not in the pair.
        let options = "-p 2 -l 54321 --lengths 7777 -n 1000 --warmup 0 --warmup-time 0s --retest 0 -q";
        done(&between(LISTENER, folder.path(), 4, &format!("{arguments} {options}")));
        let (mut measured, mut noise): (Vec<Sent>, Vec<Sent>) = Default::default();
        for rank in 0..4 {
            for line in std::fs::read_to_string(folder.path().join(format!("sent.{rank}"))).unwrap().lines() {
                let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
                let [when, from, to, bytes] = numbers[..] else { panic!("{line}") };
                if bytes == 7777 { &mut measured } else { &mut noise }.push((when, from, to));
            }
        }
        // Before noise first comes, what the run will take is forecast.
        let first = noise.iter().min().unwrap().0;
        measured.retain(|sent| sent.0 > first);
        measured.sort_unstable();
        // One pair after the other, so that its messages follow each other.
        let pair = |sent: &Sent| (sent.1.min(sent.2), sent.1.max(sent.2));
        let pairs: Vec<&[Sent]> = measured.chunk_by(|one, next| pair(one) == pair(next)).collect();
        assert_eq!(pairs.len(), 6, "{arguments}");
        let mut end_of_last = 0;
        let mut during = 0;
        for (place, messages) in pairs.iter().enumerate() {
            let (a, b) = pair(&messages[0]);
            let (start, end) = (messages[0].0, messages[messages.len() - 1].0);
            let start_of_next = pairs.get(place + 1).map_or(u64::MAX, |next| next[0].0);
            for rank in (0..4).filter(|rank| ![a, b].contains(rank)) {
                let sends =
                    |from: u64, to: u64| noise.iter().any(|sent| sent.1 == rank && from < sent.0 && sent.0 < to);
                assert!(sends(end_of_last, start) && sends(end, start_of_next), "{arguments}: {rank}, pair {a} {b}");
            }
            for (_, from, to) in noise.iter().filter(|sent| (start..=end).contains(&sent.0)) {
                assert!(![from, to].iter().any(|rank| [a, b].contains(rank)), "{arguments}: {from} to {to}: {a} {b}");
                during += 1;
            }
            end_of_last = end;
        }
        // Who shares a core with a pair may have to wait until it is through.
        assert!(during > 0, "{arguments}: pairs were measured in silence");
    }
}

#[test]
fn a_fast_clock_stays_within_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = watched(folder.path(), 4, "--check-clocks");
    done(&outcome);
    let within = outcome.stdout.lines().filter(|line| line.trim_end().ends_with("3 of 3")).count();
    assert_eq!(within, 3, "{}", outcome.stdout);
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
    done(&watched(folder.path(), 4, &format!("-t {modes} -p 1 --timing clock -n 5 --lengths 1K,256K")));
    for mode in [Mode::OneToOne, Mode::AsyncOneToOne, Mode::Noise] {
        let run = store::open(&folder.path().join(format!("network_{mode}"))).unwrap();
        assert_eq!(run.header().item("timing"), Some("clock"));
        let median = run.matrix(Statistic::Median, 1).unwrap();
        // Clocks as they are would be 3 s off.
        assert!(median.off_diagonal().all(|value| value.abs() < 1.0), "{median:?}");
        // What is left of their offset cancels in both ways of a pair.
        let both = |a: usize, b: usize| median[(a, b)] + median[(b, a)];
        assert!((0..4).all(|a| (0..a).all(|b| both(a, b) > 0.0)), "{median:?}");
    }
}

#[test]
fn samples_of_pairs_that_are_measured_again_are_kept_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "-t one_to_one,put --schedule disjoint --lengths 8 -n 5 --warmup 0 --statistics samples";
    done(&between(LATE_PAIR, folder.path(), 6, arguments));
    for mode in [Mode::OneToOne, Mode::Put] {
        let run = store::open(&folder.path().join(format!("network_{mode}"))).unwrap();
        let (retests, samples) = (run.retests(0).unwrap(), run.retest_samples(0).unwrap());
        assert!(!retests.is_empty(), "{mode}");
        assert_eq!(samples.len(), retests.len());
        for (retest, mut samples) in retests.iter().zip(samples) {
            assert_eq!(samples.len(), 5, "{mode} {retest:?}");
            samples.sort_unstable_by(f64::total_cmp);
            assert_eq!(samples[2].to_bits(), retest.alone.to_bits(), "{mode} {retest:?} {samples:?}");
        }
    }
}

#[test]
fn precision_ends_a_pair_early_and_never_beyond_its_cap() {
    let folder = tempfile::tempdir().unwrap();
    done(&job(folder.path(), 2, "--precision 90 -n 500 --lengths 8,4K").run());
    let run = store::open(&folder.path().join("network")).unwrap();
    let counts: Vec<f64> = (0..2)
        .flat_map(|index| {
            let matrix = run.matrix(Statistic::MeasurementsAmount, index).unwrap();
            matrix.off_diagonal().collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(counts.len(), 4);
    assert!(counts.iter().all(|count| (1.0..=500.0).contains(count)), "{counts:?}");
    assert!(counts.iter().any(|count| *count < 500.0), "{counts:?}");
}

#[test]
fn a_panic_ends_the_whole_job_and_says_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 4, "-n 5 --inject-panic 2").limit(Duration::from_secs(60)).run();
    assert!(!outcome.timed_out, "{outcome:?}");
    // Hydra forgets at times what the rank has said, and says that it has killed the others.
    assert!(matches!(outcome.code, Some(4 | 9)), "{outcome:?}");
    assert!(outcome.stderr.contains("network_test: rank 2 on "), "{outcome:?}");
}

#[test]
fn damaged_payloads_are_seen_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 3, "-t all -p 1 -n 4 --lengths 1,1K --verify --inject-damage 1 -f x").run();
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("payloads arrived damaged"), "{outcome:?}");
    for mode in Mode::all() {
        let run = store::open(&folder.path().join(format!("x_{mode}"))).unwrap();
        let mut states = [State::Measured; 9];
        run.read_states(1, 0..3, &mut states).unwrap();
        let damaged: Vec<_> = (0..9).filter(|cell| states[*cell] == State::Damaged).collect();
        assert!(!damaged.is_empty(), "{mode}");
        let timed_by_1 = |cell: &usize| cell / 3 == 1 || cell % 3 == 1;
        assert!(damaged.iter().all(timed_by_1), "{mode}: {damaged:?}");
    }
    // A run that goes on has the finding of the lengths before.
    let again = job(folder.path(), 3, "-t all -p 1 -n 4 --lengths 1,1K --verify --resume -f x").run();
    assert_eq!(again.code, Some(1), "{again:?}");
}

#[test]
fn operations_come_out_right() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "--operations all --procs 4 --lengths 20000 -n 2 --warmup 0 -f x";
    done(&job(folder.path(), 4, arguments).run());
    let run = store::read_operations(&store::operations_path(&folder.path().join("x"))).unwrap();
    assert!(run.complete && run.damaged() == 0, "{} wrong results", run.damaged());
    for (number, operation) in run.operations.iter().enumerate() {
        let there = |length: usize| run.measured(number, 0, length).is_there();
        assert!((0..run.lengths.len()).any(there), "{operation}");
    }
}

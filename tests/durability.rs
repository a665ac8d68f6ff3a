//! A run that is killed, stopped, out of time or out of disk keeps what it has, and can be continued.

mod common;

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use common::{
    launcher::{Job, Outcome, Running, Signal},
    mutation::mutate,
};
use netmatrix::{
    record::{Run, State, Statistic},
    store,
    units::is_hidden,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_test");

fn job(folder: &Path, ranks: usize, arguments: &str) -> Job {
    Job::new(PROGRAM, ranks).directory(folder).args(arguments.split_whitespace())
}

/// A run that takes a second or two and finishes a length every few milliseconds.
const LONG: &str = "-n 400 -e 400000 -s 10000 -f run";
const LENGTHS: usize = 40;

/// How many lengths are in the files of a set; each of them whole.
fn finished(prefix: &Path) -> usize {
    if !store::exists(prefix) {
        return 0;
    }
    let run = store::open(prefix).unwrap_or_else(|error| panic!("the files do not open: {error}"));
    for index in 0..run.lengths().len() {
        for statistic in Statistic::OF_TIMES {
            let matrix = run.matrix(statistic, index).unwrap_or_else(|error| panic!("{error}"));
            assert!(matrix.values().iter().all(|value| (0.0..10.0).contains(value)), "{statistic} {index}: {matrix:?}");
        }
    }
    run.lengths().len()
}

/// Everything of `ncdump -h` that a resumed run has in common with one that was not interrupted.
fn schema(prefix: &Path) -> String {
    let file = format!("{}_median.nc", prefix.display());
    let dump = Command::new("ncdump").args(["-h", &file]).output().expect("ncdump can be started");
    let text = String::from_utf8(dump.stdout).unwrap();
    let changes = |line: &&str| !line.contains(":created") && !line.contains(":command");
    text.lines().filter(changes).collect::<Vec<_>>().join("\n")
}

/// Waits until a set has so many lengths, so that there is something to lose.
fn wait_for_lengths(running: &Running, prefix: &Path, count: usize) {
    let start = Instant::now();
    // Files that are just being made do not open yet.
    while store::open(prefix).map_or(0, |run| run.lengths().len()) < count {
        assert!(start.elapsed() < Duration::from_secs(240), "{}", running.stderr());
        thread::sleep(Duration::from_millis(5));
    }
}

fn assert_code(outcome: &Outcome, code: i32) {
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
}

#[test]
fn twenty_kills_lose_nothing_that_was_finished() {
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = folder.path().join("undisturbed");
    fs::create_dir(&undisturbed).unwrap();
    assert_code(&job(&undisturbed, 2, LONG).run(), 0);
    let prefix = folder.path().join("run");
    let mut before = 0;
    for kill in 0..20u64 {
        let running = job(folder.path(), 2, &format!("{LONG} --resume")).start();
        // Moments that have nothing to do with what the program does: from its start to well inside the measurement.
        if kill % 4 != 0 && before < LENGTHS {
            wait_for_lengths(&running, &prefix, (before + 1).min(LENGTHS));
        }
        thread::sleep(Duration::from_millis(kill * 7919 % 83));
        running.kill();
        let now = finished(&prefix);
        assert!(now >= before, "kill {kill}: {before} finished lengths became {now}");
        before = now;
    }
    assert!(before > 0, "no run got far enough to lose anything");
    assert_code(&job(folder.path(), 2, &format!("{LONG} --resume")).run(), 0);
    let whole = undisturbed.join("run");
    assert_eq!(finished(&prefix), LENGTHS);
    assert_eq!(schema(&prefix), schema(&whole));
    let [resumed, whole] = [prefix, whole].map(|prefix| store::open(&prefix).unwrap());
    assert!(resumed.is_complete() && resumed.notices().is_empty());
    assert_eq!(resumed.lengths(), whole.lengths());
    assert_eq!(resumed.header().plan, whole.header().plan);
}

#[test]
fn signals_and_time_limits_end_a_run_resumably() {
    for signal in [Some(Signal::TERM), Some(Signal::INT), Some(Signal::USR1), None] {
        let folder = tempfile::tempdir().unwrap();
        // A time that is up before the first pair has made all of its exchanges, on any machine.
        let limit = if signal.is_none() { "--time-limit 1ms" } else { "" };
        let running = job(folder.path(), 2, &format!("{LONG} {limit}")).start();
        if let Some(signal) = signal {
            wait_for_lengths(&running, &folder.path().join("run"), 3);
            // To one rank, as when a batch system signals every process.
            running.signal_one(Path::new(PROGRAM), 1, signal);
        }
        let outcome = running.wait();
        assert_code(&outcome, 75);
        assert!(outcome.stderr.contains("stopped early"), "{outcome:?}");
        let prefix = folder.path().join("run");
        let safe = finished(&prefix);
        assert!(safe < LENGTHS, "{safe} lengths");
        assert_code(&job(folder.path(), 2, &format!("{LONG} --resume")).run(), 0);
        assert_eq!(finished(&prefix), LENGTHS);
        let again = job(folder.path(), 2, &format!("{LONG} --resume")).run();
        assert_code(&again, 0);
        assert!(again.stderr.contains("already"), "{again:?}");
    }
}

#[test]
fn a_launcher_that_is_terminated_ends_its_ranks_and_the_run_goes_on_behind_what_was_finished() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    let mut kept = 0;
    for _ in 0..2 {
        // Far too many lengths for the run to end by itself.
        let running = job(folder.path(), 2, "-n 400 -e 400000 -s 10 -f run --resume").start();
        wait_for_lengths(&running, &prefix, kept + 3);
        running.signal(Signal::TERM);
        let outcome = running.wait();
        // Open MPI's own code, as slurm/README.md says: the ranks have no time for one.
        assert_code(&outcome, 1);
        let safe = finished(&prefix);
        assert!(safe >= kept + 3, "{kept} lengths, and three more, became {safe}");
        kept = safe;
    }
}

#[test]
fn another_run_is_not_resumed_and_the_difference_is_named() {
    let folder = tempfile::tempdir().unwrap();
    assert_code(&job(folder.path(), 2, "-n 3 --lengths 1,2 -f run").run(), 0);
    let before = fs::read(folder.path().join("run_median.nc")).unwrap();
    // What can differ is a matter of store/tests; here it is a matter of the program that asks.
    let outcome = job(folder.path(), 3, "-n 4 --lengths 1,2 -f run --resume").run();
    assert_code(&outcome, 3);
    assert!(outcome.stderr.contains("ranks"), "{outcome:?}");
    assert_eq!(fs::read(folder.path().join("run_median.nc")).unwrap(), before, "nothing has been touched");
}

/// Sets that somebody spoilt, of which a real run is to go on. `fuzz` tries many more on the function behind it.
const SPOILT: u64 = 36;

/// Bytes of a NetCDF file that say how many lengths it has.
const LENGTHS_OF_FILE: std::ops::Range<usize> = 4..8;

#[test]
fn a_spoilt_set_is_refused_or_continued_and_nothing_worse() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "-n 2 --lengths 0,1K,4K -f run --schedule disjoint --resume --timeout 20s";
    assert_code(&job(folder.path(), 2, arguments).run(), 0);
    let entries = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<_> = entries.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    files.retain(|(name, _)| !name.ends_with(".lock"));
    files.sort();
    // As if it had ended behind the first length.
    for (_, bytes) in files.iter_mut().filter(|(name, _)| name.ends_with(".nc")) {
        bytes[LENGTHS_OF_FILE].copy_from_slice(&1u32.to_be_bytes());
    }
    let (mut went_on, mut refused) = (0, 0);
    for number in 0..=SPOILT {
        let folder = tempfile::tempdir().unwrap();
        let spoilt = number as usize % files.len();
        for (place, (name, bytes)) in files.iter().enumerate() {
            let mut bytes = bytes.clone();
            match number {
                // As it was, and with as many lengths as can be said: once, memory was taken for them.
                0 => {}
                _ if place != spoilt => {}
                1..=6 if name.ends_with(".nc") => bytes[LENGTHS_OF_FILE].fill(0xff),
                _ => bytes = mutate(&bytes, &mut ChaCha8Rng::seed_from_u64(number | 1 << 60)),
            }
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let outcome = job(folder.path(), 2, arguments).run();
        let what = format!("number {number}, {}: {outcome:?}", files[spoilt].0);
        assert!(!outcome.timed_out && !outcome.stderr.contains("panicked"), "{what}");
        let said = [outcome.stdout, outcome.stderr].concat();
        assert!(!said.contains(|char| is_hidden(char) && char != '\n'), "{what}");
        match outcome.code {
            Some(0) => {
                assert!(store::open(&folder.path().join("run")).unwrap().is_complete(), "{what}");
                went_on += 1;
            }
            Some(3) if number > 0 => refused += 1,
            _ => panic!("{what}"),
        }
    }
    println!("{went_on} went on, {refused} were refused");
    assert!(went_on > 1 && refused > 1);
}

#[test]
fn a_full_disk_ends_the_run_with_its_name_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mount = |arguments: &[&str]| {
        let status = Command::new(arguments[0]).args(&arguments[1..]).arg(folder.path()).status();
        assert!(status.expect("it can be started").success(), "{arguments:?} needs root");
    };
    mount(&["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs"]);
    let outcome = job(folder.path(), 2, "-n 2 -e 20000 -s 10 -f run").run();
    let finished = finished(&folder.path().join("run"));
    // Lazily: a daemon of the launcher may still be about to leave.
    mount(&["umount", "--lazy"]);
    assert_code(&outcome, 3);
    assert!(outcome.stderr.contains("run_") && outcome.stderr.contains("No space left"), "{outcome:?}");
    assert!(finished > 0, "what was finished stays readable");
}

#[test]
fn a_partner_that_does_not_answer_costs_its_cells_and_not_the_run() {
    let folder = tempfile::tempdir().unwrap();
    // Who asks whom is drawn for every pair: rank 1 does not answer where it is asked.
    let mut given_up = 0;
    let arguments = "-n 3 --lengths 1,100,200,300 -f run --timeout 300ms --inject-silence 1";
    assert_code(&job(folder.path(), 3, arguments).run(), 0);
    let run = store::open(&folder.path().join("run")).unwrap();
    assert!(run.is_complete());
    for index in 0..4 {
        let mut states = [State::Measured; 9];
        run.read_states(index, 0..3, &mut states).unwrap();
        let median = run.matrix(Statistic::Median, index).unwrap();
        let timed_out = |i: usize, j: usize| states[3 * i + j] == State::TimedOut;
        for cell in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let silent = timed_out(cell.0, cell.1);
            assert_eq!(median[cell].is_nan(), silent, "length {index}, cell {cell:?}");
            assert_eq!(silent, timed_out(cell.1, cell.0), "length {index}, cell {cell:?}");
            assert!(!silent || cell.0 == 1 || cell.1 == 1, "length {index}, cell {cell:?}");
            given_up += usize::from(silent);
        }
    }
    assert!(given_up > 0, "somebody has asked rank 1 and got no answer");
}

#[test]
fn a_noise_rank_that_does_not_answer_costs_the_cells_of_its_pairs_and_not_the_run() {
    let folder = tempfile::tempdir().unwrap();
    // With two noise ranks among four, rank 3 is either in the pair or makes noise.
    let arguments = "-t noise -n 3 --lengths 1 -p 2 -f run --timeout 300ms --inject-silence 3";
    assert_code(&job(folder.path(), 4, arguments).run(), 0);
    let run = store::open(&folder.path().join("run")).unwrap();
    assert!(run.is_complete());
    let mut states = [State::Measured; 16];
    run.read_states(0, 0..4, &mut states).unwrap();
    let timed_out = |source: usize, destination: usize| states[4 * source + destination] == State::TimedOut;
    // It makes noise for these pairs. Of its own pairs those are late in which it is asked, both ways.
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        assert!(timed_out(a, b) && timed_out(b, a), "{a} {b}: {states:?}");
    }
    for other in 0..3 {
        assert_eq!(timed_out(3, other), timed_out(other, 3), "{other}: {states:?}");
    }
}

//! How the program under its launcher takes what it is asked for: refusals, dry runs, existing results, other command
//! lines. None of it depends on the MPI library.

mod common;

use std::{path::Path, process::Command};

use common::launcher::{Job, Launcher, Outcome};
use netmatrix::{record::Run, store};

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_test");

fn job(folder: &Path, ranks: usize, arguments: &str) -> Job {
    Job::new(PROGRAM, ranks).directory(folder).args(arguments.split_whitespace())
}

fn done(outcome: &Outcome) {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

#[test]
fn one_rank_is_told_how_to_start_more() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 1, "").run();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("pairs need at least 2"), "{outcome:?}");
    assert!(outcome.stderr.contains("may belong to another MPI"), "{outcome:?}");
    let version = Command::new(PROGRAM).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let library = version.lines().find_map(|line| line.strip_prefix("MPI: ")).unwrap();
    assert!(outcome.stderr.contains(&format!("built for {library}: compare with")), "{outcome:?}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_time_limit_may_be_longer_than_any_clock() {
    let folder = tempfile::tempdir().unwrap();
    done(&job(folder.path(), 2, "-n 1 --lengths 1,4K --time-limit 500000000000years").run());
    let run = store::open(&folder.path().join("network")).unwrap();
    assert!(run.is_complete() && run.lengths().len() == 2, "{:?}", run.lengths());
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 4, "--dry-run -t one_to_one,bcast --lengths 0,1M -n 50").run();
    done(&outcome);
    for part in ["ranks     4", "lengths   2", "one_to_one", "bcast", "on disk", "per host"] {
        assert!(outcome.stdout.contains(part), "{part}: {outcome:?}");
    }
    // Every two of four, one pair at a time; in bcast every rank is root once.
    let numbers = |what: &str| -> Vec<u64> {
        let lines = outcome.stdout.lines().filter_map(|line| line.trim().strip_prefix(what));
        lines.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
    };
    assert_eq!([numbers("rounds "), numbers("pairs ")], [[6, 4], [6, 4]], "{outcome:?}");
    // At least 50 samples of each pair in both directions at both lengths, and of each root at 1M.
    let exchanges = numbers("exchanges ");
    assert!(exchanges[0] >= 6 * 2 * 2 * 50 && exchanges[1] >= 4 * 50, "{outcome:?}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
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
    let run = store::open(&folder.path().join("network")).unwrap();
    assert!(run.is_complete() && run.lengths().len() == 2, "{:?}", run.lengths());
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
    let outcome = job(folder.path(), 3, "-t one_to_two").run();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("unknown mode `one_to_two`").count(), 1, "{outcome:?}");
    assert!(outcome.stderr.starts_with("network_test: invalid value 'one_to_two' for '--type"), "{outcome:?}");
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
fn a_dry_run_plans_without_a_launcher() {
    let program = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_network_test"));
        // No MPI is started: it would fail without its files.
        let command = command.args(arguments.split_whitespace()).env("OPAL_PREFIX", "/nowhere");
        command.output().expect("network_test can be started")
    };
    let planned = program("--dry-run --ranks 4096 --hosts 512 -t one_to_one --schedule disjoint --lengths 0,1M -n 100");
    let text = String::from_utf8_lossy(&planned.stdout).into_owned();
    assert_eq!(planned.status.code(), Some(0), "{planned:?}");
    for part in
        ["hosts     512 (host[000-511])", "ranks     4096", "8386560 per length", "per host", "assuming 2.00 us"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let nowhere = program("--dry-run --ranks 2 --lengths 1 -f /nonexist/x");
    assert_eq!(nowhere.status.code(), Some(0), "{nowhere:?}");
    let text = String::from_utf8_lossy(&nowhere.stdout).into_owned();
    assert!(text.contains("refused    here, the run would be: the folder `/nonexist` of the result files"), "{text}");
    let operations = program("--dry-run --ranks 2 --operations bcast -f /nonexist/x");
    let text = String::from_utf8_lossy(&operations.stdout).into_owned();
    assert!(text.contains("the folder `/nonexist` of the result files does not exist"), "{text}");
    let alone = program("--dry-run --ranks 1");
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
    assert!(!String::from_utf8_lossy(&alone.stderr).contains("another MPI"), "{alone:?}");
    let noted = program("--dry-run --ranks 4 --schedule disjoint -t bcast --lengths 1");
    assert_eq!(noted.status.code(), Some(0), "{noted:?}");
    let note = "network_test: note: --schedule disjoint does not apply to bcast";
    assert!(String::from_utf8_lossy(&noted.stderr).contains(note), "{noted:?}");
    let quiet = program("--dry-run --ranks 4 --schedule disjoint -t bcast --lengths 1 --quiet");
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{quiet:?}");
}

#[test]
fn manual_page_and_completions_are_valid_and_know_the_headings() {
    let folder = tempfile::tempdir().unwrap();
    for what in ["man", "completions"] {
        let output = Command::new(PROGRAM).args(["--generate", what]).arg(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let file = |name: &str| folder.path().join(name);
    let checks = [("mandoc -T lint -W error", "network_test.1"), ("bash -n", "network_test.bash")];
    for (checker, name) in checks {
        let words: Vec<_> = checker.split(' ').collect();
        let output = Command::new(words[0]).args(&words[1..]).arg(file(name)).output();
        let output = output.unwrap_or_else(|error| panic!("{checker}: {error}; scripts/test.sh installs it"));
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{name}: {output:?}");
    }
    let page = std::fs::read_to_string(file("network_test.1")).unwrap();
    let help = Command::new(PROGRAM).arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    for heading in ["What is measured", "Lengths", "Sampling", "Schedule", "Noise", "Control"] {
        assert!(help.contains(&format!("\n{heading}:\n")), "{heading}: {help}");
        assert!(page.contains(&heading.to_uppercase()), "{heading}: {page}");
    }
    assert!(!help.contains("--generate") && !help.contains("\nOptions:"), "{help}");
    for name in ["network_test.fish", "network_test.zsh"] {
        assert!(std::fs::read_to_string(file(name)).unwrap().contains("sample-rounds"), "{name}");
    }
}

#[test]
fn the_version_names_the_libraries() {
    let said = |flag: &str| String::from_utf8(Command::new(PROGRAM).arg(flag).output().unwrap().stdout).unwrap();
    assert!(said("-V").starts_with("network_test 0.") && said("-V").lines().count() == 1, "{}", said("-V"));
    let long = said("--version");
    assert!(long.lines().any(|line| line.starts_with("MPI: ") && line.contains('.')), "{long}");
    assert!(long.contains("NetCDF 4.") && long.contains("HDF5 1."), "{long}");
}

#[test]
fn the_benchmark_of_the_timing_path_has_a_ratio_for_every_length() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/timing.sh");
    let job = Job::alone(script).args(["1", "1"]).env("PROGRAMS", Path::new(PROGRAM).parent().unwrap());
    let outcome = job.run();
    // What is built for tests may be slow, and the machine busy: the ratios are not judged.
    assert!(matches!(outcome.code, Some(0 | 1 | 75)), "{outcome:?}");
    let is_above_0 = |word: &str| word.parse::<f64>().is_ok_and(|number| number > 0.0);
    let table = outcome.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let compared = table.filter(|row| row.len() == 5 && row[1..].iter().all(|word| is_above_0(word))).count();
    assert!(compared == 18 && outcome.stdout.contains("overall: network_test / C = "), "{outcome:?}");
}

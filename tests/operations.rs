//! Operations on real ranks: what `network_test --operations` writes, refuses and goes on with. That they work under
//! every MPI library is in `mpi.rs`, that they do at scale in `simgrid.rs`.

mod common;

use std::{
    path::Path,
    process::{Command, Output},
};

use common::launcher::{Job, Outcome};
use netmatrix::{
    plan::operation::{Algorithm, ProbeKind},
    record::operations::Operations,
    store,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_test");

fn job(folder: &Path, ranks: usize, arguments: &str) -> Job {
    Job::new(PROGRAM, ranks).directory(folder).args(arguments.split_whitespace())
}

fn read(folder: &Path, prefix: &str) -> Operations {
    let path = store::operations_path(&folder.join(prefix));
    store::read_operations(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything that is measured is right and finite.
fn check(run: &Operations) {
    assert!(run.complete && run.damaged() == 0 && run.cells() > 0);
    for (number, operation) in run.operations.iter().enumerate() {
        for procs in 0..run.procs.len() {
            for length in 0..run.lengths.len() {
                let measured = run.measured(number, procs, length);
                let what = format!("{operation} on {} at {}: {measured:?}", run.procs[procs], run.lengths[length]);
                assert_eq!(measured.is_there(), measured.summary.median.is_finite(), "{what}");
                assert!(!measured.is_there() || (0.0..10.0).contains(&measured.summary.median), "{what}");
                if measured.is_there() && procs + 1 == run.procs.len() {
                    let own = run.own(number, length);
                    assert!(own.iter().all(|own| own.is_finite() && *own <= measured.summary.max), "{what}: {own:?}");
                }
            }
        }
    }
}

#[test]
fn all_operations_are_measured_on_four_ranks_with_right_results() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.steps"), "processes 3\nstep\nwork 0 1ms\nmessage 0 <-> 2 100\n").unwrap();
    let arguments = "--operations all --program a.steps --program psrs:N=4096 --procs 2,3,4 -n 3 --warmup-time 0s -f x";
    let outcome: Outcome = job(folder.path(), 4, arguments).run();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let run = read(folder.path(), "x");
    check(&run);
    assert_eq!((&run.procs[..], run.members[2].len()), (&[2, 3, 4][..], 4));
    for algorithm in Algorithm::all() {
        let number = run.operations.iter().position(|operation| operation.algorithm == algorithm);
        let number = number.unwrap_or_else(|| panic!("{algorithm:?}"));
        let cells = (0..run.lengths.len()).filter(|length| run.measured(number, 2, *length).is_there()).count();
        assert!(cells > 0, "{algorithm:?}");
        assert_eq!(run.measured(number, 1, 0).is_there(), run.measured(number, 1, 0).samples > 0);
    }
    let kinds: Vec<ProbeKind> = run.probes.iter().map(|probe| probe.kind).collect();
    assert_eq!(kinds, ProbeKind::ALL, "one host, so one pair");
    for probe in &run.probes {
        assert!(probe.measured.iter().any(|measured| measured.summary.median > 0.0), "{probe:?}");
    }
    let names: Vec<(&str, usize)> = run.programs.iter().map(|program| (&*program.name, program.procs)).collect();
    assert_eq!((names[0], names[3].1), (("a.steps", 3), 4));
    assert!(run.programs[0].measured.summary.min > 1e-3, "the work is in it: {:?}", run.programs[0]);
    let outcome = job(folder.path(), 4, arguments).run();
    assert!(outcome.code == Some(3) && outcome.stderr.contains("--force"), "{outcome:?}");
}

#[test]
fn a_stopped_run_is_resumed_behind_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "--operations primitives --lengths 8,64 --cell-time 100ms -n 100000 --warmup-time 0s -f x";
    let stopped = job(folder.path(), 2, &format!("{arguments} --time-limit 2s")).run();
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    let part = read(folder.path(), "x");
    assert!(!part.complete && part.cells() > 0);
    let other = job(folder.path(), 2, "--operations bcast --resume -f x").run();
    assert!(other.code == Some(3) && other.stderr.contains("belongs to another run"), "{other:?}");
    let rest = job(folder.path(), 2, &format!("{arguments} --resume")).run();
    assert_eq!(rest.code, Some(0), "{rest:?}");
    let whole = read(folder.path(), "x");
    check(&whole);
    assert!(whole.cells() > part.cells());
    for (operation, length) in (0..part.operations.len()).flat_map(|operation| [(operation, 0), (operation, 1)]) {
        let before = part.measured(operation, 0, length);
        assert!(!before.is_there() || before == whole.measured(operation, 0, length), "it is measured once");
    }
    let again = job(folder.path(), 2, &format!("{arguments} --resume")).run();
    assert!(again.code == Some(0) && again.stderr.contains("already"), "{again:?}");
}

#[test]
fn wrong_results_are_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = job(folder.path(), 2, "--operations bcast --lengths 8 -n 3 --inject-damage 1 -f x").run();
    assert!(outcome.code == Some(1) && outcome.stderr.contains("3 samples of operations"), "{outcome:?}");
    assert_eq!(read(folder.path(), "x").damaged(), 3);
}

/// Without a launcher.
fn dry_run(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments.split_whitespace()).arg("--dry-run").current_dir(folder).output().unwrap()
}

#[test]
fn what_cannot_be_measured_is_refused_and_dry_runs_list_what_can() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, named) in [
        ("--operations bcst", "did you mean `bcast`?"),
        ("--operations all --procs 9", "the run has 2 ranks"),
        ("--operations bcast -t put", "--type"),
        ("--procs 2", "--operations"),
        ("--program nothing.steps", "no such file"),
        ("--program fft:n=3", "N=NUMBER"),
        ("--operations all_to_all", "at least 4"),
        ("--operations all --procs-per-host 0", "--procs-per-host 0"),
    ] {
        let output = dry_run(folder.path(), &format!("{arguments} --ranks 2"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(named), "{arguments}: {output:?}");
    }
    let output = dry_run(folder.path(), "--operations all --ranks 48 --hosts 6 --chains all");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["reduce_chains_short_first:k=47", "probe", "processes  2, 4, 6, 8, 12, 16, 24, 32, 48", "allgather"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left behind");
}

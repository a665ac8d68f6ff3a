//! Operations to files and back, and files of them that are not what they should be.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;

use super::*;
use crate::{
    record::{
        Provenance, Statistic,
        operations::{Measured, Operations, Probe, ProbeKind, ProgramRun},
    },
    stats::Summary,
    store::{paths::file_of, tests::small_set},
    units::{Bytes, Hosts},
};

/// Some numbers, of which few are alike; every fifth cell is not measured.
fn filled(mut run: Operations, seed: u32) -> Operations {
    let mut number = seed;
    let mut next = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(number >> 8) * 1e-12
    };
    let mut measured = || {
        let skew = next();
        let summary = Summary { min: skew, average: next(), median: next(), max: next(), deviation: next() };
        match (skew * 1e12) as u32 % 5 {
            0 => Measured { skew, ..Measured::NOTHING },
            damaged => Measured { summary, samples: 7, damaged: damaged - 1, skew },
        }
    };
    let (procs, lengths) = (run.procs.len(), run.lengths.len());
    for operation in 0..run.operations.len() {
        for length in 0..lengths {
            (0..procs).for_each(|procs| *run.measured_mut(operation, procs, length) = measured());
            run.own_mut(operation, length).iter_mut().for_each(|own| *own = measured().skew);
        }
    }
    for kind in ProbeKind::ALL {
        let destination = usize::from(!kind.is_local());
        let (delays, measured) = (
            vec![0.25; lengths],
            (0..lengths).map(|_| Measured { skew: f64::NAN, damaged: 0, ..measured() }).collect(),
        );
        run.probes.push(Probe { kind, source: 0, destination, messages: 3, delays, measured });
    }
    for (name, text) in [("a.steps", "work 1\n"), ("b", "")] {
        let measured = measured();
        run.programs.push(ProgramRun { name: name.into(), text: text.into(), procs: 2, measured, own: vec![0.5, 1.5] });
    }
    run
}

fn run(operations: &[&str], procs: &[usize], lengths: &[u64]) -> Operations {
    let hosts = Hosts::new(["node1", "node1", "knöten2", "node3"]);
    let operations = operations.iter().map(|name| name.parse().unwrap()).collect();
    let members = procs.iter().map(|procs| (0..*procs).collect()).collect();
    let plan: BTreeMap<String, String> =
        [("seed", "1"), ("iterations", "20")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let provenance = Provenance { command: "network_test --operations all".into(), ..Provenance::default() };
    Operations::new(hosts, operations, members, lengths.iter().copied().map(Bytes).collect(), plan, provenance)
}

/// Everything, NaN like NaN.
fn told(run: &Operations) -> String {
    format!("{run:?}")
}

fn written(run: &Operations) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = operations_path(&folder.path().join("run"));
    write_operations(&path, run).unwrap();
    (folder, path)
}

const SOME: [&str; 3] = ["bcast", "reduce_chains_short_first:k=sqrt", "access_whole:iterations=16"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read(
        operations in 0..=SOME.len(), procs in 0..3_usize, lengths in 0..4_usize, seed: u32, complete: bool,
    ) {
        let mut run = filled(run(&SOME[..operations], &[2, 3, 4][..procs], &[0, 8, 1 << 40, 1 << 41][..lengths]), seed);
        if lengths == 0 {
            // Without a length nothing can be probed.
            run.probes.clear();
        }
        run.complete = complete;
        let (_folder, path) = written(&run);
        prop_assert!(is_operations(&path));
        prop_assert_eq!(told(&read_operations(&path).unwrap()), told(&run));
    }
}

#[test]
fn the_c_library_finds_every_value_at_its_place() {
    let run = filled(run(&SOME, &[2, 4], &[8, 64]), 5);
    let (_folder, path) = written(&run);
    let file = netcdf::open(&path).unwrap();
    for variable in file.variables() {
        assert!(variable.attribute("long_name").is_some(), "{}", variable.name());
        assert!(variable.attribute("description").is_some(), "{}", variable.name());
    }
    let time = file.variable("time").unwrap();
    let names: Vec<_> = time.dimensions().iter().map(|dimension| dimension.name()).collect();
    assert_eq!(names, ["operation", "procs", "n", "statistic"]);
    let measured = run.measured(1, 1, 1);
    assert!(measured.is_there());
    assert_eq!(time.get_value::<f64, _>([1, 1, 1, 2]).unwrap(), measured.summary.median);
    assert_eq!(file.variable("procs").unwrap().get_values::<i64, _>(..).unwrap(), [2, 4]);
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let (_folder, path) = written(&filled(run(&SOME, &[2, 4], &[8, 64]), 1));
    let whole = fs::read(&path).unwrap();
    for end in (0..whole.len()).step_by(61).chain([whole.len() - 4]) {
        fs::write(&path, &whole[..end]).unwrap();
        let error = read_operations(&path).unwrap_err().to_string();
        assert!(error.contains("_operations.nc`"), "{end} of {} bytes: {error}", whole.len());
    }
}

#[test]
fn damage_is_no_panic_and_takes_no_memory() {
    let (_folder, path) = written(&filled(run(&SOME, &[2, 4], &[8, 64]), 1));
    let whole = fs::read(&path).unwrap();
    for place in (4..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= if place % 2 == 0 { 0xff } else { 0x81 };
        fs::write(&path, damaged).unwrap();
        // Some damage is in texts and values and goes unnoticed; what counts is an answer.
        let _ = read_operations(&path);
    }
}

#[test]
fn other_files_and_newer_ones_are_named() {
    let (folder, path) = written(&run(&SOME, &[2], &[8]));
    let whole = fs::read(&path).unwrap();
    let changed = |from: &[u8], to: &[u8]| {
        let place = whole.windows(from.len()).position(|bytes| bytes == from).unwrap();
        let mut bytes = whole.clone();
        bytes[place..place + to.len()].copy_from_slice(to);
        fs::write(&path, bytes).unwrap();
        read_operations(&path).unwrap_err().to_string()
    };
    assert!(changed(b"operations/1", b"operations/2").contains("newer"));
    assert!(changed(b"bcast\0", b"bzast\0").contains("unknown operation `bzast`"));
    assert!(changed(b"deviation\0", b"deviatiox\0").contains("other statistics"));
    let set = folder.path().join("set");
    small_set(&set);
    let median = file_of(&set, Statistic::Median);
    assert!(!is_operations(&median));
    assert!(read_operations(&median).unwrap_err().to_string().contains("no operations"));
}

//! `network_analyze cluster` and `expand` as they are called: on a real machine's data, with noise, and on bad input.
//!
//! The data are those of `common/lomonosov.rs`.

#[path = "common/lomonosov.rs"]
mod lomonosov;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use lomonosov::{LENGTHS, MATRICES, RANKS, lomonosov};
use netmatrix::{
    record::{MemoryRun, Run, Statistic},
    store,
};
use tempfile::TempDir;

/// A result set in a folder of its own.
struct Case {
    folder: TempDir,
    run: MemoryRun,
}

impl Case {
    fn new(sigma: f64) -> Self {
        let case = Self { folder: tempfile::tempdir().unwrap(), run: lomonosov(sigma) };
        store::write_run(&case.run, &case.path("run"), false).unwrap();
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs network_analyze in the folder.
    fn call(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_network_analyze"))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    /// As [`Case::call`], which must succeed; standard output.
    #[track_caller]
    fn fine(&self, arguments: &[&str]) -> String {
        let output = self.call(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// How many times smaller an archive is than the matrices.
    fn ratio(&self, archive: &str) -> f64 {
        MATRICES / fs::metadata(self.path(archive)).unwrap().len() as f64
    }

    /// Largest difference of a result set to the run, as a share of the run's value.
    fn largest_error(&self, prefix: &str) -> f64 {
        let expanded = store::open(&self.path(prefix)).unwrap();
        assert_eq!(expanded.lengths(), self.run.lengths());
        assert_eq!(expanded.header().hosts, self.run.header().hosts);
        let error = |length: usize| {
            let read = |run: &dyn Run| run.matrix(Statistic::Median, length).unwrap();
            let (original, decoded) = (read(&self.run), read(&expanded));
            let pairs = original.values().iter().zip(decoded.values());
            pairs.map(|(a, b)| (b / a - 1.0).abs()).fold(0.0, f64::max)
        };
        (0..LENGTHS).map(error).fold(0.0, f64::max)
    }
}

#[test]
fn a_machine_without_noise_is_150_times_smaller_within_1_percent() {
    let case = Case::new(0.0);
    case.fine(&["cluster", "run", "--tolerance", "1%", "-o", "run.cluster.nc"]);
    case.fine(&["expand", "run.cluster.nc", "-o", "expanded"]);
    assert!(case.ratio("run.cluster.nc") >= 150.0, "{}", case.ratio("run.cluster.nc"));
    assert!(case.largest_error("expanded") <= 0.01, "{}", case.largest_error("expanded"));
    let list = case.fine(&["cluster", "run.cluster.nc", "--list"]);
    assert!(list.contains("17 sets of 6084 pairs"), "{list}");
}

#[test]
fn with_2_percent_noise_it_is_120_times_smaller_within_10_percent() {
    let case = Case::new(0.02);
    case.fine(&["cluster", "run", "--tolerance", "10%", "-o", "run.cluster.nc"]);
    case.fine(&["expand", "run.cluster.nc", "-o", "expanded"]);
    assert!(case.ratio("run.cluster.nc") >= 120.0, "{}", case.ratio("run.cluster.nc"));
    assert!(case.largest_error("expanded") <= 0.10, "{}", case.largest_error("expanded"));
}

#[test]
fn an_automatic_tolerance_is_explained_held_and_60_times_smaller() {
    let case = Case::new(0.02);
    let output = case.call(&["cluster", "run", "-o", "run.cluster.nc"]);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty() && messages.contains("automatic: 5 times the scatter"), "{messages}");
    case.fine(&["expand", "run.cluster.nc", "-o", "expanded"]);
    let archive = store::open_archive(&case.path("run.cluster.nc")).unwrap();
    let tolerance = archive.about().tolerance.size();
    assert!((0.08..0.15).contains(&tolerance), "{tolerance}");
    assert!(case.ratio("run.cluster.nc") >= 60.0, "{}", case.ratio("run.cluster.nc"));
    assert!(case.largest_error("expanded") <= tolerance, "{}", case.largest_error("expanded"));
}

#[test]
fn a_tolerance_of_0_loses_nothing_and_an_expansion_is_no_original() {
    let case = Case::new(0.02);
    case.fine(&["cluster", "run", "--tolerance", "0%", "-o", "a.nc"]);
    case.fine(&["expand", "a.nc", "-o", "expanded"]);
    assert_eq!(case.largest_error("expanded"), 0.0);
    let output = case.call(&["cluster", "expanded", "-o", "b.nc"]);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && messages.contains("expanded from an archive"), "{messages}");
}

#[test]
fn archives_are_read_like_runs() {
    let case = Case::new(0.0);
    case.fine(&["cluster", "run", "--tolerance", "1%", "-o", "run.cluster.nc"]);
    let info = case.fine(&["info", "run.cluster.nc", "--format", "json"]);
    assert!(info.contains("within 1 %") && info.contains("\"median\""), "{info}");
    assert!(!case.fine(&["view", "run.cluster.nc"]).is_empty());
}

#[test]
fn the_list_is_json_for_programs_and_nothing_else() {
    let case = Case::new(0.0);
    let list = case.fine(&["cluster", "run", "--tolerance", "1%", "--list", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["schema"], "network_test.regions/1");
    let regions = list["ranges"][0]["regions"].as_array().unwrap();
    assert_eq!(regions.len(), 17);
    let pairs: u64 = regions.iter().map(|region| region["pairs"].as_u64().unwrap()).sum();
    assert_eq!(pairs, (RANKS * RANKS) as u64);
    assert!(regions.iter().all(|region| region["spread"].as_f64().unwrap() < 0.01));
    assert_eq!(regions[0]["levels"].as_array().unwrap().len(), LENGTHS);
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let case = Case::new(0.0);
    case.fine(&["cluster", "run", "-o", "run.cluster.nc"]);
    let whole = fs::read(case.path("run.cluster.nc")).unwrap();
    fs::write(case.path("cut.nc"), &whole[..whole.len() - 64]).unwrap();
    fs::remove_file(case.path("run_max.nc")).unwrap();
    for (code, arguments, reason) in [
        (2, &["cluster", "run"][..], "--output"),
        (2, &["cluster", "run", "-o", "x.nc", "--tolerance", "-1%"], "tolerance"),
        (2, &["cluster", "run", "-o", "x.nc", "--tolerance", "much"], "no tolerance"),
        (2, &["cluster", "run", "-o", "x.nc", "--min-range", "0"], "--min-range"),
        (2, &["cluster", "run.cluster.nc", "-o", "x.nc"], "archive already"),
        (3, &["cluster", "run", "-o", "run.cluster.nc"], "--force"),
        (3, &["cluster", "run", "-o", "no/x.nc"], "does not exist"),
        (3, &["cluster", "run", "-o", "x.nc", "--statistic", "max"], "no max"),
        (3, &["cluster", "nothing", "-o", "x.nc"], "`nothing`"),
        (3, &["expand", "cut.nc", "-o", "y"], "cut off"),
        (3, &["cluster", "cut.nc", "--list"], "cut off"),
        (3, &["info", "cut.nc"], "cut off"),
        (3, &["expand", "run_median.nc", "-o", "y"], "no archive"),
        (3, &["expand", "run", "-o", "y"], "is no file"),
        (3, &["expand", "run.cluster.nc", "-o", "run"], "--force"),
    ] {
        let output = case.call(arguments);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {messages}");
        assert!(messages.contains(reason) && output.stdout.is_empty(), "{arguments:?}: {messages}");
    }
    assert!(!case.path("x.nc").exists() && !case.path("y_median.nc").exists());
}

#[test]
fn parameters_beyond_the_run_are_no_error() {
    let case = Case::new(0.02);
    let beyond = ["--min-range", "1000", "--min-cluster", "100000", "--max-exceptions", "1000"];
    let start = ["cluster", "run", "-o", "run.cluster.nc", "--tolerance", "10%"];
    case.fine(&[&start[..], &beyond].concat());
    case.fine(&["expand", "run.cluster.nc", "-o", "expanded"]);
    assert_eq!(case.largest_error("expanded"), 0.0, "no set is that large: every pair is kept exactly");
}

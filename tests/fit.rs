//! `network_analyze fit` as it is called: what it prints, writes and refuses.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn analyze(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_network_analyze")).args(arguments).output().unwrap()
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn example(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/example").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_recorded_run_is_fitted_in_two_pieces() {
    let output = analyze(&["fit", &example("monday")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for part in ["between hosts", "0 to 16K", "64K to 1M", "changes between 16K and 64K", "--operations all"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let json = analyze(&["fit", &example("monday_median.nc"), "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["schema"], &json["run"]["hosts"]), (&"network_test.fit/1".into(), &16.into()));
    let pieces = json["hockney"]["classes"][0]["fit"]["pieces"].as_array().unwrap();
    assert_eq!(pieces.len(), 2);
    let bandwidth = 1.0 / pieces[1]["per_byte"]["value"].as_f64().unwrap();
    assert!((11e9..13e9).contains(&bandwidth), "{bandwidth}");
    assert!(json["loggp"].as_array().unwrap().is_empty() && json["relation"].is_null());
}

#[test]
fn pairs_and_a_picture_are_written_and_nothing_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, picture) = (file("pairs.csv"), file("fit.png"));
    let arguments = ["fit", &example("monday"), "--pairs", &table, "--plot", &picture];
    let output = analyze(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = std::fs::read_to_string(&table).unwrap();
    // 240 pairs on two pieces each.
    assert_eq!(lines.lines().count(), 1 + 2 * 240);
    assert!(lines.lines().nth(1).unwrap().starts_with("0,1,\"node000\",\"node001\",between hosts,1,"), "{lines}");
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(analyze(&arguments).status.code(), Some(3));
}

#[test]
fn what_cannot_be_fitted_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none");
    for (arguments, code, part) in [
        (vec!["fit", missing.to_str().unwrap()], 3, "there is no run"),
        (vec!["fit", &example("monday"), "--packet", "0"], 2, "at least one byte"),
        (vec!["fit", &example("monday"), "--plot", "fit.jpg"], 2, ".png or .svg"),
    ] {
        let output = analyze(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
    // All ranks at once are no pairs.
    let csv = folder.path().join("bcast.csv");
    let set = analyze(&["convert", &example("monday"), "--output", csv.to_str().unwrap()]);
    assert!(set.status.success(), "{}", text(&set.stderr));
    let own = std::fs::read_to_string(&csv).unwrap().replace("one_to_one", "bcast");
    std::fs::write(&csv, own).unwrap();
    let output = analyze(&["fit", csv.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("mode of pairs"), "{}", text(&output.stderr));
}

//! Options, and the document for programs.

use std::fs;

use netmatrix::{
    exit,
    measure::synthetic::{
        Direction::{Both, Receive, Send},
        Fault, Machine,
        Symptom::{Bandwidth, Slower},
    },
    record::MemoryRun,
};
use serde_json::{Value, json};

use crate::bed::{Place, findings, named, number, only, run, run_with_retests, shuffled};

/// Sixteen hosts on two leaves; node010 receives slowly, and so does a link.
fn two_faults() -> MemoryRun {
    let machine = shuffled(16, 2);
    let slow = Fault::Host { host: number(&machine, "node010"), direction: Receive, symptom: Bandwidth(0.4) };
    let hosts = (number(&machine, "node002"), number(&machine, "node014"));
    run_with_retests(&machine.with(slow).with(Fault::Link { hosts, direction: Send, symptom: Slower(2.0) }))
}

#[test]
fn evidence_is_shown_for_a_finding_by_its_name() {
    let place = Place::with(&[("network", &two_faults())]);
    let first = place.diagnose("network --explain F1").ends(exit::FINDINGS);
    assert!(first.starts_with("F1  node010 receives "), "{first}");
    assert!(first.contains("Not one link") && first.contains("<-"), "{first}");
    // A line for every length, with the usual time.
    for line in ["  0 ", "  256 ", "  4K ", "  64K ", "  1M "] {
        assert_eq!(first.lines().filter(|text| format!("{text} ").contains(line)).count(), 1, "{line}: {first}");
    }
    assert_eq!(place.diagnose("network --explain f1").ends(exit::FINDINGS), first);
    let second = place.diagnose("network --explain F2").ends(exit::FINDINGS);
    assert!(second.starts_with("F2  the link from node002 to node014 "), "{second}");
    assert!(second.contains("Not its ends"), "{second}");
    place.diagnose("network --explain F3").fails(exit::USAGE, &["--explain F3", "there are F1, F2"]);
    place.diagnose("network --explain F0").fails(exit::USAGE, &["--explain F0", "F1, F2"]);
    place.diagnose("network --explain node010").fails(exit::USAGE, &["node010", "F1, F2"]);
    let healthy = Place::with(&[("network", &run(&shuffled(16, 2)))]);
    healthy.diagnose("network --explain F1").fails(exit::USAGE, &["there are no findings"]);
}

#[test]
fn a_run_and_its_copy_in_another_form_are_one_run() {
    let place = Place::with(&[]);
    let original = format!("{}/tests/data/example/tuesday", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(place.call(&format!("convert {original} -o copy.csv")).ends(exit::SUCCESS), "");
    place.diagnose(&format!("{original} copy.csv")).fails(exit::USAGE, &["`copy.csv` and `", "are the same run"]);
}

#[test]
fn a_confidence_is_a_probability() {
    let place = Place::with(&[("network", &two_faults())]);
    for value in ["0.49", "1", "1.5", "-0.9", "NaN", "99"] {
        place.diagnose(&format!("network --confidence={value}")).fails(exit::USAGE, &["--confidence", "0.5"]);
    }
    place.diagnose("network --confidence high").fails(exit::USAGE, &["--confidence", "high"]);
    for value in [0.5, 0.9999] {
        let document = place.diagnose(&format!("network --format json --confidence {value}")).document(exit::FINDINGS);
        assert_eq!(document["confidence"], value);
        assert!(named(&findings(&document)[0]).starts_with("node node010 receive"), "{document:#}");
    }
    place.call("diagnose").fails(exit::USAGE, &["<RUNS>"]);
    place.diagnose("network --format xml").fails(exit::USAGE, &["xml", "json"]);
}

/// The fields of an object with their types, in alphabetical order.
fn fields(value: &Value) -> String {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    let mut fields: Vec<_> =
        value.as_object().unwrap().iter().map(|(name, value)| format!("{name}:{}", kind(value))).collect();
    fields.sort_unstable();
    fields.join(" ")
}

#[test]
fn the_document_has_everything() {
    let place = Place::with(&[("network", &two_faults())]);
    let document = place.diagnose("network --format json").document(exit::FINDINGS);
    assert_eq!(document["schema"], "network_test.diagnosis/1");
    assert_eq!(
        fields(&document),
        "confidence:float findings:list groups:list judged:list remarks:list run:object schema:text verdict:text"
    );
    let run = &document["run"];
    let expected = "hosts:integer lengths:integer measured:float mode:text noise:float ranks:integer statistic:text";
    assert_eq!(fields(run), expected);
    assert_eq!((&run["mode"], &run["statistic"]), (&json!("one_to_one"), &json!("median")));
    assert_eq!((&run["hosts"], &run["ranks"], &run["lengths"]), (&json!(16), &json!(16), &json!(5)));
    assert_eq!(run["measured"], 1.0);
    let noise = run["noise"].as_f64().unwrap();
    assert!((0.001..0.02).contains(&noise), "{noise}");
    assert_eq!(findings(&document).len(), 2, "{document:#}");
    for (finding, id) in findings(&document).iter().zip(["F1", "F2"]) {
        let expected = "cells:object confidence:float curve:list direction:text explanation:text extra_seconds:float \
                        hosts:list id:text kind:text lengths:list modes:list next_check:text ratio:float retest:text symptom:text";
        assert_eq!(fields(finding), expected);
        assert_eq!(fields(&finding["cells"]), "of:integer slow:integer");
        assert_eq!(finding["id"], id);
        let lengths: Vec<u64> = serde_json::from_value(finding["lengths"].clone()).unwrap();
        assert!(lengths.len() == 2 && lengths[0] < lengths[1] && lengths[1] == 1 << 20, "{lengths:?}");
        let curve = finding["curve"].as_array().unwrap();
        assert_eq!(curve.len(), 5);
        for at in curve {
            assert_eq!(fields(at), "extra_seconds:float length:integer ratio:float usual_seconds:float");
            let [ratio, usual, extra] =
                ["ratio", "usual_seconds", "extra_seconds"].map(|name| at[name].as_f64().unwrap());
            // Curves have six digits.
            assert!(usual > 0.0 && ((ratio - 1.0) * usual - extra).abs() <= 1e-5 * usual * ratio, "{at}");
        }
        let most = curve.iter().map(|at| at["extra_seconds"].as_f64().unwrap()).fold(0.0, f64::max);
        assert!((finding["extra_seconds"].as_f64().unwrap() / most - 1.0).abs() < 1e-5, "{finding}");
        assert!(finding["explanation"].as_str().unwrap().contains(finding["hosts"][0].as_str().unwrap()));
    }
    // A link: source and destination.
    assert_eq!(findings(&document)[1]["hosts"], json!(["node002", "node014"]));
}

#[test]
fn the_document_goes_into_a_file_as_well() {
    let place = Place::with(&[("network", &two_faults())]);
    let shown = place.diagnose("network --json found.json").ends(exit::FINDINGS);
    assert_eq!(place.diagnose("network").ends(exit::FINDINGS), shown);
    let file = place.path().join("found.json");
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(place.diagnose("network --format json").ends(exit::FINDINGS), written);
    fs::write(&file, "kept").unwrap();
    place.diagnose("network --json found.json").fails(exit::FILES, &["found.json` exists", "--force"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    place.diagnose("network --json found.json --force").ends(exit::FINDINGS);
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
    place.diagnose("network --force").fails(exit::USAGE, &["--json"]);
    place.diagnose("network --json no/found.json").fails(exit::FILES, &["folder `no` does not exist"]);
    // A finding that is not there: nothing is written.
    place.diagnose("network --json new.json --explain F9").fails(exit::USAGE, &["F9"]);
    assert!(!place.path().join("new.json").exists());
}

#[test]
fn groups_are_those_of_the_file() {
    // Two leaves in the data, four in the file.
    let run = run(&Machine::leaf_spine(24, 2, 1).with(Fault::Host { host: 8, direction: Both, symptom: Slower(1.4) }));
    let place = Place::with(&[("network", &run)]);
    let file = |ranges: &[(usize, usize)]| -> String {
        let line = |(number, (first, last)): (usize, &(usize, usize))| {
            format!("SwitchName=leaf{number} Nodes=node[{first:03}-{last:03}]\n")
        };
        ranges.iter().enumerate().map(line).collect()
    };
    let groups = |document: &Value| -> Vec<Vec<String>> { serde_json::from_value(document["groups"].clone()).unwrap() };
    let sizes = |document: &Value| groups(document).iter().map(Vec::len).collect::<Vec<_>>();
    let found = place.diagnose("network --format json").document(exit::FINDINGS);
    assert_eq!(sizes(&found), [12, 12]);
    fs::write(place.path().join("all.conf"), file(&[(1, 6), (7, 12), (13, 18), (19, 24)])).unwrap();
    let document = place.diagnose("network --topology all.conf --format json").document(exit::FINDINGS);
    assert_eq!(sizes(&document), [6; 4]);
    let members: Vec<String> = (7..=12).map(|host| format!("node{host:03}")).collect();
    assert!(groups(&document).contains(&members), "{document:#}");
    assert_eq!(named(only(&document)), "node node009 both bandwidth");
    // Hosts that the file does not place are told, and judged all the same.
    fs::write(place.path().join("part.conf"), file(&[(1, 6), (13, 24)])).unwrap();
    let ended = place.diagnose("network --topology part.conf --format json");
    assert_eq!(ended.code, i32::from(exit::FINDINGS), "{}", ended.stderr);
    assert!(ended.stderr.contains("part.conf` does not place 6 hosts of the run: node[007-012]"), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(sizes(&document), [6, 12, 1, 1, 1, 1, 1, 1]);
    assert_eq!(named(only(&document)), "node node009 both bandwidth");
    place.diagnose("network --topology none.conf").fails(exit::FILES, &["none.conf"]);
}

#[test]
fn archives_and_tables_are_judged_like_the_run() {
    let place = Place::with(&[("network", &two_faults())]);
    let whole = place.diagnose("network --format json").document(exit::FINDINGS);
    // What was measured again stands in the run alone: without it, a link is only to be measured again.
    let name = |document: &Value| findings(document).iter().map(named).collect::<Vec<_>>();
    place.call("cluster network -o network.cluster.nc --tolerance 2%");
    let ended = place.diagnose("network.cluster.nc --format json");
    assert_eq!(ended.code, i32::from(exit::FINDINGS), "{}", ended.stderr);
    assert!(ended.stderr.contains("archive"), "{}", ended.stderr);
    let archive: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(name(&archive), name(&whole)[..1]);
    assert_eq!(archive["remarks"][0]["kind"], "again");
    place.call("convert network -o network.csv").ends(exit::SUCCESS);
    let ended = place.diagnose("network.csv --format json");
    let table: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((name(&table), &table["remarks"][0]["kind"]), (name(&archive), &json!("again")), "{}", ended.stderr);
    let mut file = place.diagnose("network_median.nc --format json").document(exit::FINDINGS);
    file["judged"] = whole["judged"].clone();
    assert_eq!(file, whole);
}

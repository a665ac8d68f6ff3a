//! What a page says is wrong with its runs, and where it leads.

use std::{fs, path::Path};

use netmatrix::{
    measure::synthetic::{Direction, Fault, Machine, Symptom},
    plan::Mode,
};
use serde_json::{Value, json};

use crate::{
    pages::{Folder, LENGTHS, measured, measured_as},
    reader::Reader,
};

/// Sixteen hosts, dealt out to four leaves in turn.
fn machine() -> Machine {
    let mut machine = Machine::leaf_spine(16, 4, 1);
    machine.leaf_of_host = (0..16).map(|host| host % 4).collect();
    machine
}

/// node007 receives at a third of the bandwidth.
fn slow_receiver() -> Machine {
    machine().with(Fault::Host { host: 6, direction: Direction::Receive, symptom: Symptom::Bandwidth(0.3) })
}

/// Presses a button of the verdict.
fn click(reader: &Reader, button: usize) {
    reader.browser.run(&format!("document.querySelectorAll('.finding')[{button}].click();"));
}

#[test]
fn a_slow_receiver_opens_the_page_and_a_click_leads_to_its_column() {
    let folder = Folder::new();
    let run = folder.store("night", &measured(&slow_receiver(), &LENGTHS, 20));
    let reader = Reader::open(&folder.report("night", &[&run], &[]));
    reader.screenshot("findings");
    let verdict = reader.text("#verdict");
    assert!(verdict.starts_with("1 finding"), "{verdict}");
    for words in
        ["host node007, receiving: bandwidth", "node007 receives at 0.3", "15 of 15 pairs agree", "Next: cable"]
    {
        assert!(verdict.contains(words), "`{words}` is not in: {verdict}");
    }
    reader.browser.run("document.querySelector('#verdict details').open = true;");
    let evidence = reader.text("#verdict details");
    assert!(evidence.contains("bytes on") && evidence.contains("seen in one_to_one"), "{evidence}");
    let rows = reader.browser.run("return document.querySelectorAll('#verdict tr').length");
    assert_eq!(rows, 1 + LENGTHS.len());
    reader.screenshot("evidence");
    assert!(reader.text("#tree").contains("1: node007"), "{}", reader.text("#tree"));
    reader.show(&json!({"length": 0}));
    click(&reader, 0);
    reader.browser.wait_for("networkReport.view.destination === 6 && networkReport.view.line === 'column'");
    assert_eq!(reader.browser.run("return networkReport.view.length"), LENGTHS.len() - 1);
    reader.expect_no_complaints();
}

#[test]
fn groups_that_the_detector_found_are_an_order_and_a_picture() {
    let folder = Folder::new();
    let run = folder.store("night", &measured(&machine(), &LENGTHS, 20));
    let reader = Reader::open(&folder.report("night", &[&run], &[]));
    let order = "document.querySelector('#order [value=group]')";
    assert_eq!(
        reader.browser.run(&format!("return [{order}.textContent, {order}.disabled]")),
        json!(["by inferred group", false])
    );
    reader.show(&json!({"order": "group"}));
    let labels = reader.browser.run("return networkReport.axisLabels()");
    let leaves: Vec<usize> = labels.as_array().unwrap().iter().map(|label| leaf(label) % 4).collect();
    assert!(leaves.chunks(4).all(|leaf| leaf.iter().all(|other| other == &leaf[0])), "{labels}");
    let tree = reader.text("#tree");
    assert!(tree.contains("group 4, 4 hosts"), "{tree}");
    reader.screenshot("groups");
    // A file knows better, and without a diagnosis there are no groups.
    let topology = folder.path("topology.conf");
    fs::write(&topology, "SwitchName=left Nodes=node[001-008]\nSwitchName=right Nodes=node[009-016]\n").unwrap();
    let told = Reader::open(&folder.report("told", &[&run], &["--topology", topology.to_str().unwrap()]));
    assert!(told.text("#tree").starts_with("left, 8 hosts"), "{}", told.text("#tree"));
    assert_eq!(told.browser.run(&format!("return {order}.textContent")), "by group");
    let plain = Reader::open(&folder.report("plain", &[&run], &["--no-diagnosis"]));
    assert!(plain.text("#verdict").starts_with("Not diagnosed"), "{}", plain.text("#verdict"));
    assert_eq!(plain.browser.run(&format!("return {order}.disabled")), true);
    plain.expect_no_complaints();
}

/// The number of a host in its name.
fn leaf(label: &Value) -> usize {
    label.as_str().unwrap().trim_start_matches("node").parse().unwrap()
}

#[test]
fn a_healthy_run_says_so() {
    let folder = Folder::new();
    let run = folder.store("night", &measured(&machine(), &LENGTHS, 20));
    let reader = Reader::open(&folder.report("night", &[&run], &[]));
    let verdict = reader.text("#verdict");
    assert!(verdict.starts_with("Healthy") && verdict.contains("16 ranks on 16 hosts"), "{verdict}");
    reader.screenshot("healthy");
    reader.expect_no_complaints();
}

#[test]
fn a_measurement_that_cannot_be_judged_says_why_in_light_and_dark() {
    let folder = Folder::new();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/laptop4/network");
    let reader = Reader::open(&folder.report("laptop4", &[&run], &[]));
    let verdict = reader.text("#verdict");
    assert!(verdict.starts_with("No verdict") && verdict.contains("1 host; it takes 4"), "{verdict}");
    reader.screenshot("invalid");
    reader.browser.run("document.getElementById('theme').click();");
    reader.screenshot("invalid-dark");
    reader.expect_no_complaints();
}

#[test]
fn modes_are_judged_together_and_other_hosts_by_themselves() {
    let folder = Folder::new();
    let quiet = folder.store("quiet", &measured(&machine(), &LENGTHS, 20));
    let put = folder.store("put", &measured_as(Mode::Put, &slow_receiver(), &LENGTHS, 20));
    let mut others = Machine::leaf_spine(12, 1, 1).with(Fault::Host {
        host: 2,
        direction: Direction::Both,
        symptom: Symptom::Latency(5e-6),
    });
    others.hosts = netmatrix::units::Hosts::new((0..12).map(|host| format!("gpu{host:02}")));
    let others = folder.store("others", &measured(&others, &LENGTHS, 20));
    let reader = Reader::open(&folder.report("modes", &[&quiet, &put, &others], &[]));
    let verdict = reader.text("#verdict");
    assert!(verdict.starts_with("1 finding") && verdict.contains("median of one_to_one, put"), "{verdict}");
    assert!(verdict.contains("Not in one_to_one: seen in put"), "{verdict}");
    assert!(verdict.contains("others (one_to_one): 1 finding"), "{verdict}");
    reader.screenshot("modes");
    // It is seen in the other run only: no mark here, and the click goes there.
    assert!(reader.browser.run("return document.getElementById('marks-choice').hidden").as_bool().unwrap());
    click(&reader, 0);
    reader.browser.wait_for("networkReport.view.run === 1 && networkReport.view.destination === 6");
    reader.browser.wait_for("!document.getElementById('marks-choice').hidden");
    click(&reader, 1);
    reader.browser.wait_for("networkReport.view.run === 2");
    let verdict = reader.text("#verdict");
    assert!(verdict.contains("host gpu02: latency") && verdict.contains("quiet (one_to_one): 1 finding"), "{verdict}");
    reader.expect_no_complaints();
}

#[test]
fn many_findings_leave_room_for_the_matrix() {
    let folder = Folder::new();
    let run = folder.store("night", &measured(&machine(), &LENGTHS, 20));
    let finding = |host: usize| {
        json!({"kind": "node", "hosts": [format!("node{host:03}")], "direction": "both", "symptom": "jitter",
            "modes": ["one_to_one"], "lengths": [0, 1 << 20], "ratio": 3.0, "explanation": "it scatters"})
    };
    let diagnosis = folder.diagnosis(16, &(1..=16).map(finding).collect());
    let page = folder.report("night", &[&run], &["--diagnosis", diagnosis.to_str().unwrap()]);
    let reader = Reader::open(&page);
    assert!(reader.text("#verdict .more").starts_with("11 more"), "{}", reader.text("#verdict .more"));
    reader.browser.run("document.getElementById('theme').click();");
    reader.screenshot("many-dark");
    click(&reader, 15);
    reader.browser.wait_for("networkReport.view.source === 15 && networkReport.view.statistic === 'deviation'");
    reader.expect_no_complaints();
}

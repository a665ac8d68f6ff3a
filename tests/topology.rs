//! `network_analyze topology` as its users meet it: the real binary, on runs of the synthetic machine.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use netmatrix::{
    analysis::topology,
    exit,
    measure::{
        StopRequest, measure,
        synthetic::{Machine, Synthetic},
    },
    plan::{Config, Plan, Sweep},
    record::{Header, MemoryRun, Provenance, Run},
    store,
    units::{Bytes, Hosts},
};
use serde_json::Value;
use tempfile::TempDir;

/// Twelve hosts on three leaves, the ranks in another order.
fn machine() -> Machine {
    let mut machine = Machine::leaf_spine(12, 3, 1);
    let order = [7, 2, 11, 0, 5, 9, 1, 4, 10, 3, 8, 6];
    machine.hosts = Hosts::new(order.map(|host| format!("node{:03}", host + 1)));
    machine.leaf_of_host = order.map(|host| host / 4).to_vec();
    machine
}

/// A folder with a run `network` of this machine.
fn measured(machine: Machine) -> TempDir {
    let sweep = Sweep::list(&[0, 4096, 1 << 20].map(Bytes)).unwrap();
    let config = Config { iterations: 20, sweep, ..Config::default() };
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    measure(&plan, &mut Synthetic::new(machine), Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    store::write_run(&run, &folder.path().join("network"), false).unwrap();
    folder
}

/// Exit code, standard output, standard error of the program in this folder.
fn analyze(folder: &Path, arguments: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_network_analyze"));
    let output = command.args(arguments.split(' ')).current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().expect("the program ended by itself"), stdout, stderr)
}

#[track_caller]
fn silently(folder: &Path, arguments: &str) -> String {
    let (code, stdout, stderr) = analyze(folder, arguments);
    assert_eq!((code, &*stderr), (0, ""), "{stdout}");
    stdout
}

#[track_caller]
fn fails(folder: &Path, arguments: &str, code: u8, words: &[&str]) {
    let (found, stdout, stderr) = analyze(folder, arguments);
    assert_eq!((found, &*stdout), (i32::from(code), ""), "{stderr}");
    assert!(words.iter().all(|word| stderr.contains(word)), "{words:?}: {stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("internal fault"), "{stderr}");
}

const LEAVES: &str = "SwitchName=leaf1 Nodes=node[001-004]\nSwitchName=leaf2 Nodes=node[005-008]\n\
                      SwitchName=leaf3 Nodes=node[009-012]\nSwitchName=spine Switches=leaf[1-3]\n";

#[test]
fn groups_are_shown_with_their_times() {
    let folder = measured(machine());
    let shown = silently(folder.path(), "topology network");
    assert!(shown.starts_with("one_to_one, 12 hosts, 3 lengths: 3 groups in the data\n"), "{shown}");
    for part in ["at 0 bytes", "at 1M bytes", "1.2", "1.8"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for hosts in ["node[001-004]", "node[005-008]", "node[009-012]"] {
        assert!(shown.contains(hosts), "{hosts}: {shown}");
    }
    let json: Value = serde_json::from_str(&silently(folder.path(), "topology network --format json")).unwrap();
    assert_eq!((&json["schema"], &json["run"]["hosts"]), (&"network_test.topology/1".into(), &12.into()));
    assert_eq!((json["groups"].as_array().unwrap().len(), json["between"].as_array().unwrap().len()), (3, 3));
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() / expected - 1.0).abs() < 0.05;
    assert!(near(&json["groups"][0]["inside"]["shortest"], 1.2e-6), "{json}");
    assert!(near(&json["between"][2]["seconds"]["shortest"], 1.8e-6), "{json}");
    assert_eq!((&json["fit_nowhere"], &json["file"]), (&Value::Array(Vec::new()), &Value::Null));
}

#[test]
fn a_file_that_is_right_is_confirmed() {
    let folder = measured(machine());
    fs::write(folder.path().join("topology.conf"), LEAVES).unwrap();
    let shown = silently(folder.path(), "topology network --topology topology.conf");
    assert!(shown.contains("the data agree with topology.conf") && shown.contains("above: spine (12)"), "{shown}");
    let scontrol = "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[001-004]\n\
                    SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=node[005-008]\n\
                    SwitchName=leaf3 Level=0 LinkSpeed=1 Nodes=node[009-012]\n\
                    SwitchName=spine Level=1 LinkSpeed=1 Nodes=node[001-012] Switches=leaf[1-3]\n";
    fs::write(folder.path().join("topology.conf"), scontrol).unwrap();
    assert_eq!(silently(folder.path(), "topology network --topology topology.conf"), shown);
}

#[test]
fn a_host_that_was_moved_is_named() {
    let folder = measured(machine());
    // node004 and node005 have changed places since somebody wrote this; leaf3 was taken for two.
    let graph = "graph fabric {\n  \"leaf1\" -- { node001 node002 node003 node005 }\n\
                 leaf2 -- { node004; node006; node007; node008 }\n\
                 leaf3 -- { node009; node010 } leaf4 -- { node011 node012 }\n spine -- {leaf1 leaf2 leaf3 leaf4}\n}\n";
    fs::write(folder.path().join("fabric.dot"), graph).unwrap();
    let shown = silently(folder.path(), "topology network --topology fabric.dot");
    for part in [
        "node005 seems to be on leaf2, not on leaf1",
        "node004 seems to be on leaf1, not on leaf2",
        "leaf3 and leaf4 cannot be distinguished",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json = silently(folder.path(), "topology network --topology fabric.dot --format json");
    let json: Value = serde_json::from_str(&json).unwrap();
    let first = &json["file"]["contradictions"][0];
    assert_eq!(
        (&first["kind"], &first["hosts"][0], &first["data"][0]),
        (&"elsewhere".into(), &"node005".into(), &"leaf2".into())
    );
    let dot = silently(folder.path(), "topology network --topology fabric.dot --format dot");
    assert_eq!(dot.matches("fillcolor=orange").count(), 2, "{dot}");
}

#[test]
fn a_leaf_that_the_file_does_not_know_is_named() {
    let folder = measured(machine());
    let text = "SwitchName=a Nodes=node[001-008]\nSwitchName=b Nodes=node[009-012]\n";
    fs::write(folder.path().join("t.conf"), text).unwrap();
    let shown = silently(folder.path(), "topology network --topology t.conf");
    assert!(shown.contains("stands apart, and the file does not know it: its hosts are on a"), "{shown}");
}

#[test]
fn hosts_that_fit_nowhere_and_hosts_that_are_missing_are_told() {
    let mut machine = Machine::leaf_spine(13, 2, 1);
    machine.leaf_of_host[12] = 2;
    let folder = measured(machine);
    let text = "SwitchName=a Nodes=node[001-007]\nSwitchName=b Nodes=node[008-010,012]\n";
    fs::write(folder.path().join("t.conf"), text).unwrap();
    let (code, shown, notes) = analyze(folder.path(), "topology network --topology t.conf");
    assert_eq!(code, 0, "{notes}");
    assert!(notes.contains("does not place 2 hosts of the run: node[011,013]"), "{notes}");
    assert!(shown.contains("fits nowhere: node013"), "{shown}");
    assert!(shown.contains("node011, not placed by the file, seems to be on b"), "{shown}");
}

#[test]
fn what_is_drawn_is_read_back() {
    let folder = measured(machine());
    silently(folder.path(), "topology network -o groups.dot");
    let dot = fs::read_to_string(folder.path().join("groups.dot")).unwrap();
    assert_eq!(dot, silently(folder.path(), "topology network --format dot"));
    let read = topology::Topology::read(&dot, &machine().hosts).unwrap();
    let json: Value = serde_json::from_str(&silently(folder.path(), "topology network --format json")).unwrap();
    for (group, found) in read.leaves().iter().zip(json["groups"].as_array().unwrap()) {
        let names: Vec<_> = group.hosts.iter().map(|host| machine().hosts.names()[*host].clone()).collect();
        assert_eq!((&found["name"], &found["hosts"]), (&Value::from(group.name.clone()), &Value::from(names)));
    }
    let shown = silently(folder.path(), "topology network --topology groups.dot");
    assert!(shown.contains("the data agree with groups.dot"), "{shown}");
}

#[test]
fn reports_take_both_kinds_of_file() {
    let folder = measured(machine());
    fs::write(folder.path().join("topology.conf"), LEAVES).unwrap();
    silently(folder.path(), "topology network -o groups.gv");
    for (file, name) in [("topology.conf", "leaf2"), ("groups.gv", "group 2")] {
        let (code, _, notes) = analyze(folder.path(), &format!("report network --topology {file} -o x.html --force"));
        assert_eq!(code, 0, "{notes}");
        let page = fs::read_to_string(folder.path().join("x.html")).unwrap();
        assert!(page.contains(&format!("{{\"name\":\"{name}\",\"hosts\":")), "{file}");
    }
}

#[test]
fn the_detector_goes_by_a_file_that_names_the_groups() {
    let folder = measured(machine());
    fs::write(folder.path().join("topology.conf"), "SwitchName=only Nodes=node[001-010]\n").unwrap();
    let (code, stdout, notes) = analyze(folder.path(), "diagnose network --topology topology.conf --format json");
    assert!(notes.contains("does not place 2 hosts of the run: node[012,011]"), "{notes}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &document["verdict"]), (0, &"healthy".into()), "wrong groups are no fault: {document:#}");
    let groups = document["groups"].as_array().unwrap().iter();
    let sizes: Vec<_> = groups.map(|group| group.as_array().unwrap().len()).collect();
    assert_eq!(sizes, [10, 1, 1]);
    let (code, found, _) = analyze(folder.path(), "diagnose network --format json");
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((code, &found["verdict"]), (0, &"healthy".into()), "{found:#}");
    assert_eq!(found["groups"].as_array().unwrap().len(), 3);
    fails(folder.path(), "diagnose network --topology none.conf", exit::FILES, &["none.conf"]);
    fs::remove_file(folder.path().join("network_median.nc")).unwrap();
    fails(folder.path(), "diagnose network", exit::FILES, &["network", "no median"]);
}

#[test]
fn a_diagnosis_in_a_file_is_about_the_runs_that_it_judged() {
    let folder = measured(machine());
    let run = store::open(&folder.path().join("network")).unwrap();
    store::write_run(&run, &folder.path().join("again"), false).unwrap();
    fails(folder.path(), "diagnose network network_min.nc", exit::USAGE, &["are the same run"]);
    let (_, joint, _) = analyze(folder.path(), "diagnose network again --format json");
    fs::write(folder.path().join("joint.json"), &joint).unwrap();
    let pages = ["network again --diagnosis joint.json", "network again", "network --no-diagnosis"];
    let description = |arguments: &str| {
        let (code, _, notes) = analyze(folder.path(), &format!("report {arguments} -o x.html --force"));
        assert_eq!(code, 0, "{notes}");
        let page = fs::read_to_string(folder.path().join("x.html")).unwrap();
        let text = page.split_once("id=\"description\">").unwrap().1.split_once("</script>").unwrap().0;
        serde_json::from_str::<Value>(text).unwrap()
    };
    let [told, found, none] = pages.map(&description);
    assert_eq!(told["diagnoses"], found["diagnoses"]);
    assert_eq!(found["diagnoses"][0], serde_json::from_str::<Value>(&joint).unwrap());
    for page in [&told, &found] {
        let of_run = [0, 1].map(|run| &page["runs"][run]["diagnosis"]);
        assert_eq!(of_run, [0, 0]);
        assert_eq!(page["runs"][1]["groups"][0].as_array().unwrap().len(), 3);
    }
    // Nothing can be judged: that is about all runs.
    let small = MemoryRun::new(store::open(&folder.path().join("network")).unwrap().header().clone());
    for name in ["empty", "also_empty"] {
        store::write_run(&small, &folder.path().join(name), false).unwrap();
    }
    let (code, text, _) = analyze(folder.path(), "diagnose empty also_empty --json empty.json");
    assert!(code == i32::from(exit::UNJUDGED) && text.contains("no message length is finished"), "{text}");
    let empty = description("empty also_empty --diagnosis empty.json");
    assert_eq!(
        (&empty["diagnoses"][0]["verdict"], &empty["runs"][1]["diagnosis"]),
        (&Value::from("invalid"), &Value::from(0))
    );
    fails(folder.path(), "diagnose empty --json empty.json", exit::FILES, &["empty.json` exists", "--force"]);
    fails(folder.path(), "diagnose empty --force", exit::USAGE, &["--json"]);
    assert_eq!((&none["diagnoses"], &none["runs"][0]["diagnosis"]), (&Value::Array(vec![]), &Value::Null));
}

#[test]
fn files_that_are_no_topology_are_told_with_their_line() {
    let folder = measured(machine());
    let path = folder.path().join("t.conf");
    for (content, words) in [
        ("SwitchName=a Nodes=node001\ninclude more.conf\n", &["t.conf", "line 2", "scontrol show topology"][..]),
        ("SwitchName=DEFAULT LinkSpeed=4\n", &["line 1", "DEFAULT"]),
        ("graph {\n a -- node001\n b -- node-002 }", &["line 3", "\"node-002\""]),
        ("digraph {\n a -> node001\n", &["line 1", "never closed"]),
        ("SwitchName=a Nodes=other[1-9]\n", &["no host of the run", "node["]),
        ("Switch leaf1\n", &["line 1", "SwitchName=", "DOT graph"]),
        ("Switch\t36 \"S-0002\"\t# \"leaf\"\n", &["no host of the run"]),
        ("- topology: a\n  tree:\n    switches: [{switch: s, nodes: 'n[1-'}]\n", &["line 3", "`n[1-`"]),
        ("", &["no host of the run"]),
    ] {
        fs::write(&path, content).unwrap();
        fails(folder.path(), "topology network --topology t.conf", exit::FILES, words);
        fails(folder.path(), "report network --topology t.conf -o x.html", exit::FILES, words);
    }
    fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    fails(folder.path(), "topology network --topology t.conf", exit::FILES, &["t.conf"]);
    fails(folder.path(), "topology network --topology none.conf", exit::FILES, &["none.conf"]);
}

#[test]
fn outputs_and_command_lines_are_checked() {
    let folder = measured(Machine::leaf_spine(2, 1, 2));
    let shown = silently(folder.path(), "topology network");
    assert!(shown.contains("fewer than 4 hosts"), "{shown}");
    silently(folder.path(), "topology network -o x.json");
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("x.json")).unwrap()).unwrap();
    assert_eq!(json["groups"][0]["hosts"].as_array().unwrap().len(), 2);
    fails(folder.path(), "topology network -o x.json", exit::FILES, &["x.json` exists", "--force"]);
    silently(folder.path(), "topology network -o x.json --force");
    assert_eq!(silently(folder.path(), "topology network -o -"), shown);
    fails(folder.path(), "topology network --force", exit::USAGE, &["--output"]);
    fails(folder.path(), "topology network --format svg", exit::USAGE, &["dot"]);
    fails(folder.path(), "topology nothing", exit::FILES, &["nothing"]);
    fs::remove_file(folder.path().join("network_median.nc")).unwrap();
    fails(folder.path(), "topology network", exit::FILES, &["median"]);
}

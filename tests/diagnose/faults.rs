//! Planted faults are named: kind, hosts, direction, symptom, size, lengths, cells.

use netmatrix::{
    exit,
    measure::synthetic::{
        Direction::{Both, Receive, Send},
        Fault, Machine,
        Symptom::{self, Bandwidth, Jitter, Latency, Slower},
    },
    plan::{Mode, Timing},
};
use serde_json::{Value, json};

use crate::bed::{
    LENGTHS, config, diagnosed, findings, is_near, named, number, only, run, run_of, run_with_retests, shuffled, single,
};

/// Seconds of a healthy message of 1 MiB on [`Machine::leaf_spine`], the middle of both distances.
const USUAL: f64 = 90.4e-6;

/// Of these seconds, what the cable takes.
const CABLE: f64 = 87.4e-6;

fn host(machine: &Machine, name: &str, direction: netmatrix::measure::synthetic::Direction, symptom: Symptom) -> Fault {
    Fault::Host { host: number(machine, name), direction, symptom }
}

/// The first and the last length, and the cells that agree.
#[track_caller]
fn shows(finding: &Value, lengths: [u64; 2], of: u64) {
    assert_eq!(finding["lengths"], json!(lengths), "{finding:#}");
    let cells = [&finding["cells"]["slow"], &finding["cells"]["of"]].map(|cells| cells.as_u64().unwrap());
    assert!(cells[1] == of && cells[0] <= of && 10 * cells[0] >= 9 * of, "{cells:?} instead of {of}");
    assert!(finding["confidence"].as_f64().unwrap() > 0.99, "{finding:#}");
}

#[test]
fn a_healthy_machine_is_healthy() {
    let document = diagnosed(&run(&shuffled(16, 2)), exit::SUCCESS);
    assert_eq!((&document["verdict"], &document["findings"]), (&json!("healthy"), &json!([])));
    assert_eq!(document["groups"].as_array().unwrap().len(), 2, "{document:#}");
}

#[test]
fn a_slow_host_is_named_with_its_direction() {
    for (direction, word, cells) in [(Both, "both", 30), (Send, "send", 15), (Receive, "receive", 15)] {
        let machine = shuffled(16, 2);
        let fault = host(&machine, "node006", direction, Slower(1.3));
        let document = diagnosed(&run(&machine.with(fault)), exit::FINDINGS);
        assert_eq!(document["verdict"], "findings");
        let finding = only(&document);
        assert_eq!(named(finding), format!("node node006 {word} bandwidth"));
        shows(finding, [0, 1 << 20], cells);
        is_near(&finding["ratio"], 1.3);
        is_near(&finding["extra_seconds"], 0.3 * USUAL);
    }
}

#[test]
fn a_host_of_which_the_announcements_are_timed_as_well_is_named() {
    for timing in [Timing::Transfer, Timing::Receive] {
        let machine = shuffled(16, 2);
        let fault = host(&machine, "node011", Receive, Bandwidth(0.5));
        let config = netmatrix::plan::Config { timing, ..config() };
        let document = diagnosed(&run_of(&machine.with(fault), &config, Mode::OneToOne), exit::FINDINGS);
        assert_eq!(named(only(&document)), "node node011 receive bandwidth", "{timing:?}");
    }
}

#[test]
fn half_the_bandwidth_shows_at_long_messages() {
    let machine = shuffled(16, 2);
    let fault = host(&machine, "node002", Send, Bandwidth(0.5));
    let document = diagnosed(&run(&machine.with(fault)), exit::FINDINGS);
    let finding = only(&document);
    assert_eq!(named(finding), "node node002 send bandwidth");
    let first = finding["lengths"][0].as_u64().unwrap();
    assert!([4096, 1 << 16].contains(&first), "{first}");
    shows(finding, [first, 1 << 20], 15);
    is_near(&finding["extra_seconds"], CABLE);
    let curve = finding["curve"].as_array().unwrap();
    is_near(&curve[4]["ratio"], 1.0 + CABLE / USUAL);
    is_near(&curve[3]["ratio"], 1.0 + 5.46 / 8.46);
    is_near(&curve[0]["ratio"], 1.0);
}

#[test]
fn a_late_host_shows_at_short_messages() {
    let machine = shuffled(16, 1);
    let fault = host(&machine, "node009", Both, Latency(3e-6));
    let document = diagnosed(&run(&machine.with(fault)), exit::FINDINGS);
    let finding = only(&document);
    assert_eq!(named(finding), "node node009 both latency");
    assert_eq!(finding["lengths"][0], 0, "{finding:#}");
    is_near(&finding["extra_seconds"], 3e-6);
    is_near(&finding["curve"][0]["ratio"], 3.5);
    let meant = finding["lengths"][1].as_u64().unwrap();
    let last = finding["curve"].as_array().unwrap().iter().find(|at| at["length"] == meant).unwrap();
    let ratio = finding["ratio"].as_f64().unwrap();
    assert!(last["ratio"].as_f64().unwrap() < ratio && ratio < 3.6, "{finding:#}");
}

#[test]
fn a_slow_rank_is_told_from_its_host() {
    for (direction, word) in [(Both, "both"), (Send, "send"), (Receive, "receive")] {
        let fault = Fault::Rank { rank: 5, direction, symptom: Slower(1.4) };
        let document = diagnosed(&run(&Machine::leaf_spine(8, 1, 2).with(fault)), exit::FINDINGS);
        let finding = only(&document);
        assert_eq!(named(finding), format!("rank node003 {word} bandwidth"));
        assert_eq!(finding["rank"], 5);
        shows(finding, [0, 1 << 20], LENGTHS.len() as u64);
        is_near(&finding["ratio"], 1.4);
    }
}

#[test]
fn a_host_with_two_slow_ranks_is_a_slow_host() {
    let fault = Fault::Host { host: 2, direction: Both, symptom: Slower(1.4) };
    let document = diagnosed(&run(&Machine::leaf_spine(8, 1, 2).with(fault)), exit::FINDINGS);
    let finding = only(&document);
    assert_eq!(named(finding), "node node003 both bandwidth");
    assert!(finding["rank"].is_null(), "{finding:#}");
    is_near(&finding["ratio"], 1.4);
}

#[test]
fn a_slow_link_is_named_with_its_direction() {
    for (direction, words, cells) in [(Both, "node003 node010 both", 2), (Send, "node003 node010 send", 1)] {
        let machine = shuffled(16, 2);
        let hosts = (number(&machine, "node003"), number(&machine, "node010"));
        let fault = Fault::Link { hosts, direction, symptom: Slower(1.6) };
        let document = diagnosed(&run_with_retests(&machine.with(fault)), exit::FINDINGS);
        let finding = only(&document);
        let mut found = named(finding);
        if direction == Both {
            // Either end may come first.
            found = found.replace("node010 node003", "node003 node010");
        }
        assert_eq!(found, format!("link {words} bandwidth"));
        shows(finding, [0, 1 << 20], cells);
        is_near(&finding["ratio"], 1.6);
        is_near(&finding["extra_seconds"], 0.6 * USUAL);
    }
}

#[test]
fn a_detour_is_a_late_link() {
    let machine = shuffled(16, 1);
    let hosts = (number(&machine, "node012"), number(&machine, "node004"));
    let fault = Fault::Link { hosts, direction: Send, symptom: Latency(2e-6) };
    let document = diagnosed(&run_with_retests(&machine.with(fault)), exit::FINDINGS);
    let finding = only(&document);
    assert_eq!(named(finding), "link node012 node004 send latency");
    assert_eq!(finding["lengths"][0], 0);
    is_near(&finding["extra_seconds"], 2e-6);
}

#[test]
fn a_bad_uplink_is_one_finding() {
    let members: Vec<String> = (7..=12).map(|host| format!("node{host:03}")).collect();
    for (direction, word, cells) in [(Both, "both", 2 * 6 * 18), (Receive, "receive", 6 * 18)] {
        let machine = shuffled(24, 4);
        let leaf = machine.leaf_of_host[number(&machine, "node007")];
        let fault = Fault::Leaf { leaf, direction, symptom: Bandwidth(0.5) };
        let document = diagnosed(&run(&machine.with(fault)), exit::FINDINGS);
        let finding = only(&document);
        assert_eq!(named(finding), format!("group {} {word} bandwidth", members.join(" ")));
        let first = finding["lengths"][0].as_u64().unwrap();
        shows(finding, [first, 1 << 20], cells);
        is_near(&finding["extra_seconds"], CABLE);
        assert_eq!(document["groups"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn jitter_is_told_from_slowness() {
    let machine = shuffled(16, 1);
    let fault = host(&machine, "node013", Both, Jitter(6.0));
    let run = run(&machine.with(fault));
    let finding = diagnosed(&run, exit::FINDINGS);
    let finding = only(&finding);
    assert_eq!(named(finding), "node node013 both jitter");
    shows(finding, [0, 1 << 20], 30);
    // Without the samples in the tail, which hit all hosts: 2 % of the time and 12 %.
    let ratio = finding["ratio"].as_f64().unwrap();
    assert!((3.5..7.0).contains(&ratio), "{ratio}");
    let extra = finding["extra_seconds"].as_f64().unwrap();
    assert!((0.06 * USUAL..0.14 * USUAL).contains(&extra), "{extra}");
}

#[test]
fn a_host_that_scatters_is_told_although_its_switch_is_slow() {
    let machine = shuffled(24, 4);
    let leaf = machine.leaf_of_host[number(&machine, "node007")];
    let uplink = Fault::Leaf { leaf, direction: Both, symptom: Bandwidth(0.5) };
    let scatter = host(&machine, "node009", Both, Jitter(6.0));
    let document = diagnosed(&run(&machine.with(uplink).with(scatter)), exit::FINDINGS);
    let names: Vec<String> = findings(&document).iter().map(named).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].starts_with("group node007 ") && names[1] == "node node009 both jitter", "{names:?}");
}

#[test]
fn two_faults_at_once_are_two_findings() {
    let machine = shuffled(24, 2);
    let hosts = (number(&machine, "node017"), number(&machine, "node004"));
    let link = Fault::Link { hosts, direction: Send, symptom: Slower(2.0) };
    let slow = host(&machine, "node008", Receive, Slower(1.4));
    let late = host(&machine, "node020", Both, Latency(3e-6));
    let document = diagnosed(&run_with_retests(&machine.clone().with(link).with(slow)), exit::FINDINGS);
    let names: Vec<String> = findings(&document).iter().map(named).collect();
    assert_eq!(names, ["node node008 receive bandwidth", "link node017 node004 send bandwidth"]);
    let document = diagnosed(&run(&machine.with(slow).with(late)), exit::FINDINGS);
    let mut names: Vec<String> = findings(&document).iter().map(named).collect();
    names.sort_unstable();
    assert_eq!(names, ["node node008 receive bandwidth", "node node020 both latency"]);
    let ids: Vec<_> = findings(&document).iter().map(|finding| &finding["id"]).collect();
    assert_eq!(ids, ["F1", "F2"]);
}

#[test]
fn from_four_hosts_on_the_slow_one_is_named_at_a_single_length() {
    for hosts in [4, 5, 6, 8] {
        for length in [0, 1 << 20] {
            let fault = Fault::Host { host: 2, direction: Both, symptom: Slower(2.0) };
            let run = run_of(&Machine::leaf_spine(hosts, 1, 1).with(fault), &single(length), Mode::OneToOne);
            let document = diagnosed(&run, exit::FINDINGS);
            let symptom = if length == 0 { "latency" } else { "bandwidth" };
            assert_eq!(named(only(&document)), format!("node node003 both {symptom}"), "{hosts} hosts");
            is_near(&only(&document)["ratio"], 2.0);
        }
    }
}

#[test]
fn the_size_does_not_depend_on_how_many_hosts_there_are() {
    // With 8, 12 and 24 hosts, noise pairs the slow one with another in a group of two.
    for hosts in [5, 8, 12, 24] {
        for times in [1.2, 4.0] {
            let fault = Fault::Host { host: 2, direction: Both, symptom: Slower(times) };
            let document = diagnosed(&run(&Machine::leaf_spine(hosts, 1, 1).with(fault)), exit::FINDINGS);
            assert_eq!(named(only(&document)), "node node003 both bandwidth", "{hosts} hosts");
            is_near(&only(&document)["ratio"], times);
            assert_eq!(document["groups"].as_array().unwrap().len(), 1, "{hosts} hosts: {document:#}");
        }
    }
}

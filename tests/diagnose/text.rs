//! What is printed for people.

use netmatrix::{
    exit,
    measure::synthetic::{
        Direction::{Both, Receive, Send},
        Fault, Machine,
        Symptom::{Bandwidth, Jitter, Latency, Slower},
    },
    record::MemoryRun,
};

use crate::{
    bed::{Place, number, run, run_with_retests, shuffled},
    golden,
};

/// Characters of a line.
const WIDTH: usize = 78;

#[track_caller]
fn fits(text: &str) {
    // The last line is for programs, which do not read it in two parts.
    for line in text.lines().filter(|line| !line.starts_with("RESULT ")) {
        assert!(line.chars().count() <= WIDTH, "{} characters: {line}\n{text}", line.chars().count());
        assert_eq!(line, line.trim_end());
    }
}

/// The diagnosis as text, and the evidence for its first finding; both fit.
#[track_caller]
fn text(run: &MemoryRun) -> (String, String) {
    let place = Place::with(&[("network", run)]);
    let text = place.diagnose("network").ends(exit::FINDINGS);
    let evidence = place.diagnose("network --explain F1").ends(exit::FINDINGS);
    fits(&text);
    fits(&evidence);
    (text, evidence)
}

#[test]
fn a_slow_receiver_is_told() {
    let machine = shuffled(16, 2);
    let fault = Fault::Host { host: number(&machine, "node010"), direction: Receive, symptom: Bandwidth(0.4) };
    let (text, evidence) = text(&run(&machine.with(fault)));
    golden::check("diagnose-receiver.txt", &text);
    golden::check("diagnose-receiver-evidence.txt", &evidence);
    assert!(text.starts_with("FINDINGS: 1 finding on 16 hosts\n"), "{text}");
    for part in ["node010 receives", "of the usual bandwidth", "15 of 15 pairs agree", "confidence", "check: cable"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_bad_uplink_is_told() {
    let machine = shuffled(24, 4);
    let leaf = machine.leaf_of_host[number(&machine, "node007")];
    let (text, _) = text(&run(&machine.with(Fault::Leaf { leaf, direction: Both, symptom: Bandwidth(0.5) })));
    golden::check("diagnose-uplink.txt", &text);
    assert!(text.contains("node[007-012] (6 hosts)") && text.contains("uplinks"), "{text}");
}

#[test]
fn everything_fits_into_an_e_mail() {
    let names = "a-rather-long-name-of-a-host-in-a-cluster-";
    let long = |mut machine: Machine| {
        let all = machine.hosts.name_of_every_rank().map(|name| format!("{names}{name}"));
        machine.hosts = netmatrix::units::Hosts::new(all);
        machine
    };
    let faults = [
        Fault::Host { host: 4, direction: Both, symptom: Latency(4e-6) },
        Fault::Host { host: 4, direction: Send, symptom: Slower(1.5) },
        Fault::Host { host: 4, direction: Both, symptom: Jitter(6.0) },
        Fault::Link { hosts: (3, 9), direction: Both, symptom: Slower(2.0) },
        Fault::Link { hosts: (3, 9), direction: Send, symptom: Slower(20.0) },
        Fault::Leaf { leaf: 1, direction: Receive, symptom: Slower(2.0) },
        Fault::Rank { rank: 4, direction: Send, symptom: Slower(2.0) },
    ];
    for fault in faults {
        let ranks = if matches!(fault, Fault::Rank { .. }) { 2 } else { 1 };
        let leaves = if matches!(fault, Fault::Leaf { .. }) { 4 } else { 1 };
        let (text, _) = text(&run_with_retests(&long(Machine::leaf_spine(16, leaves, ranks).with(fault))));
        assert!(text.contains("check: "), "{text}");
    }
}

#[test]
fn a_healthy_machine_gets_one_sentence() {
    let place = Place::with(&[("network", &run(&shuffled(16, 2)))]);
    let text = place.diagnose("network").ends(exit::SUCCESS);
    fits(&text);
    assert!(text.starts_with("HEALTHY: nothing among 16 hosts is slower than its peers"), "{text}");
    assert!(text.contains("  one_to_one: 16 hosts, 5 lengths from 0 to 1M; pairs scatter by "), "{text}");
    assert!(!text.contains("--explain"), "{text}");
    let result = text.lines().last().unwrap();
    assert!(result.starts_with("RESULT verdict=healthy findings=0 hosts=16 noise=0.0"), "{result}");
    assert!(result.ends_with(" measured=1.00"), "{result}");
    for (asked, told) in [("0.999", "(99.9 % confidence)"), ("0.57", "(57 % confidence)"), ("0.9999", "(99.99 %")] {
        let text = place.diagnose(&format!("network --confidence {asked}")).ends(exit::SUCCESS);
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(told), "{told}: {text}");
    }
}

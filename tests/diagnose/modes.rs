//! Several modes of the same hosts, judged together.

use netmatrix::{
    exit,
    measure::synthetic::{
        Direction::{Both, Receive},
        Fault, Machine,
        Symptom::Slower,
    },
    plan::Mode,
    record::MemoryRun,
};
use serde_json::{Value, json};

use crate::bed::{Place, config, is_near, named, number, only, run_of, shuffled};

fn slow(machine: &Machine, name: &str) -> Machine {
    machine.clone().with(Fault::Host { host: number(machine, name), direction: Both, symptom: Slower(1.3) })
}

/// The document about these runs together, in the order given.
#[track_caller]
fn judged(runs: &[(Mode, &Machine)]) -> Value {
    let runs: Vec<(String, MemoryRun)> =
        runs.iter().map(|(mode, machine)| (mode.to_string(), run_of(machine, &config(), *mode))).collect();
    let named: Vec<(&str, &MemoryRun)> = runs.iter().map(|(name, run)| (&**name, run)).collect();
    let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    let ended = Place::with(&named).diagnose(&format!("{} --format json", names.join(" ")));
    let code = if ended.code == 0 { exit::SUCCESS } else { exit::FINDINGS };
    ended.document(code)
}

#[test]
fn what_all_modes_show_is_one_finding_with_all_modes() {
    let healthy = shuffled(16, 2);
    let machine = slow(&healthy, "node005");
    let modes = [Mode::OneToOne, Mode::SendRecvAndRecvSend, Mode::Put];
    let document = judged(&modes.map(|mode| (mode, &machine)));
    let finding = only(&document);
    assert!(named(finding).starts_with("node node005 "), "{finding:#}");
    assert_eq!(finding["modes"], json!(["one_to_one", "send_recv_and_recv_send", "put"]));
    assert!(finding["explanation"].as_str().unwrap().ends_with("seen in one_to_one, send_recv_and_recv_send, put"));
    assert_eq!(document["run"]["mode"], "one_to_one");
    let further: Vec<_> = document["further_runs"].as_array().unwrap().iter().map(|run| &run["mode"]).collect();
    assert_eq!(further, ["send_recv_and_recv_send", "put"]);
}

#[test]
fn healthy_modes_are_healthy_together() {
    let machine = shuffled(16, 2);
    let modes = [Mode::OneToOne, Mode::AsyncOneToOne, Mode::Noise, Mode::NoiseBlocking, Mode::Put, Mode::Get];
    assert_eq!(judged(&modes.map(|mode| (mode, &machine)))["verdict"], "healthy");
}

#[test]
fn who_is_slow_while_it_sends_and_receives_at_once_has_a_duplex_problem() {
    let healthy = shuffled(16, 2);
    let machine = slow(&healthy, "node005");
    // In whatever order the runs are named.
    for runs in [
        [(Mode::OneToOne, &healthy), (Mode::AsyncOneToOne, &machine)],
        [(Mode::AsyncOneToOne, &machine), (Mode::OneToOne, &healthy)],
    ] {
        let document = judged(&runs);
        let finding = only(&document);
        assert_eq!(named(finding), "node node005 both duplex");
        assert_eq!(finding["modes"], json!(["async_one_to_one"]));
        is_near(&finding["ratio"], 1.3);
        is_near(&finding["extra_seconds"], 0.3 * 1.05 * 90.4e-6);
    }
    // Slow in both: no matter of duplex.
    let document = judged(&[(Mode::OneToOne, &machine), (Mode::AsyncOneToOne, &machine)]);
    assert_eq!(named(only(&document)), "node node005 both bandwidth");
}

#[test]
fn who_is_slow_while_others_communicate_minds_noise() {
    let healthy = shuffled(16, 2);
    let machine = slow(&healthy, "node012");
    for (quiet, noisy) in [(Mode::AsyncOneToOne, Mode::Noise), (Mode::OneToOne, Mode::NoiseBlocking)] {
        let document = judged(&[(quiet, &healthy), (noisy, &machine)]);
        let finding = only(&document);
        assert_eq!(named(finding), "node node012 both noise");
        assert_eq!(finding["modes"], json!([noisy.to_string()]));
        is_near(&finding["ratio"], 1.3);
    }
    // Without the quiet run nobody knows.
    let document = judged(&[(Mode::Put, &healthy), (Mode::Noise, &machine)]);
    assert_eq!(named(only(&document)), "node node012 both bandwidth");
}

#[test]
fn what_two_modes_say_together_is_not_lost_in_a_third() {
    let healthy = shuffled(16, 2);
    let duplex = slow(&healthy, "node005");
    // A little slower among others than alone.
    let worse = slow(&duplex, "node005");
    for noisy in [&duplex, &worse] {
        let document = judged(&[(Mode::OneToOne, &healthy), (Mode::AsyncOneToOne, &duplex), (Mode::Noise, noisy)]);
        let finding = only(&document);
        assert_eq!(named(finding), "node node005 both duplex");
        assert_eq!(finding["modes"], json!(["async_one_to_one", "noise"]));
    }
}

#[test]
fn runs_of_different_hosts_are_refused() {
    let machine = shuffled(16, 2);
    let mut other = machine.clone();
    let renamed = machine.hosts.names().iter().map(|name| name.replace("node016", "spare1"));
    other.hosts = netmatrix::units::Hosts::new(renamed);
    let smaller = Machine::leaf_spine(8, 1, 1);
    let (one, two) = (run_of(&machine, &config(), Mode::OneToOne), run_of(&other, &config(), Mode::OneToOne));
    let three = run_of(&smaller, &config(), Mode::Put);
    let place = Place::with(&[("monday", &one), ("tuesday", &two), ("small", &three), ("again", &three)]);
    place.diagnose("monday tuesday").fails(exit::USAGE, &["same hosts", "node[001-016]", "spare1", "compare"]);
    place
        .diagnose("monday small_median.nc")
        .fails(exit::USAGE, &["one_to_one on node[001-016] (16 hosts)", "put on node[001-008] (8 hosts)"]);
    place.diagnose("small again tuesday").fails(exit::USAGE, &["put on node[001-008]", "spare1"]);
}

#[test]
fn one_way_faults_of_two_modes_are_one_finding() {
    let machine = shuffled(16, 2);
    let fault = Fault::Host { host: number(&machine, "node003"), direction: Receive, symptom: Slower(1.5) };
    let machine = machine.with(fault);
    let document = judged(&[(Mode::OneToOne, &machine), (Mode::NoiseBlocking, &machine)]);
    let finding = only(&document);
    assert_eq!(named(finding), "node node003 receive bandwidth");
    assert_eq!(finding["modes"], json!(["one_to_one", "noise_blocking"]));
}

//! Measurements that cannot be judged, in full or at all, and files that cannot be read.

use std::fs;

use netmatrix::{
    exit,
    measure::synthetic::{
        Direction::{Both, Receive},
        Fault, Machine,
        Symptom::Slower,
    },
    plan::{Config, Mode},
    record::{Cell, MemoryRun, Run, State},
};
use serde_json::{Value, json};

use crate::{
    bed::{Place, changed, config, diagnosed, findings, is_near, named, only, run, run_of, shuffled},
    lomonosov,
};

/// The run must be invalid for a reason with these words, in text and in JSON.
#[track_caller]
fn is_invalid(run: &MemoryRun, words: &[&str]) {
    let place = Place::with(&[("network", run)]);
    let document = place.diagnose("network --format json");
    assert_eq!(document.code, i32::from(exit::UNJUDGED), "{}{}", document.stdout, document.stderr);
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!((&document["verdict"], &document["findings"]), (&json!("invalid"), &json!([])));
    let [reason] = &document["invalid"].as_array().unwrap()[..] else { panic!("{document:#}") };
    let reason = reason.as_str().unwrap();
    let text = place.diagnose("network");
    assert_eq!(text.code, i32::from(exit::UNJUDGED));
    let text = text.stdout;
    assert!(text.starts_with("INVALID: this measurement of "), "{text}");
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(reason.contains(word) && joined.contains(word), "`{word}` is not in: {reason}\n{text}");
    }
}

#[test]
fn of_fewer_than_four_hosts_nobody_can_say_which_one_is_different() {
    let fault = Fault::Host { host: 0, direction: Both, symptom: Slower(2.0) };
    is_invalid(&run(&Machine::leaf_spine(3, 1, 1).with(fault)), &["one_to_one: 3 hosts", "4"]);
    is_invalid(&run(&Machine::leaf_spine(1, 1, 4)), &["one_to_one: 1 host;"]);
}

#[test]
fn without_a_finished_length_there_is_nothing_to_judge() {
    let empty = MemoryRun::new(run(&shuffled(8, 1)).header().clone());
    is_invalid(&empty, &["one_to_one: no message length is finished yet"]);
}

#[test]
fn a_real_machine_whose_routes_differ_is_not_accused_pair_by_pair() {
    // The Lomonosov supercomputer's pairs take routes of different length, whatever hosts they join.
    for noise in [0.0, 0.02] {
        let ended = Place::with(&[("network", &lomonosov::lomonosov(noise))]).diagnose("network --format json");
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let found: Vec<String> = document["findings"].as_array().unwrap().iter().map(named).collect();
        assert!(found.len() <= 1 && found.iter().all(|words| words.starts_with("node ")), "{found:?}");
        // Of single pairs it is said that they are to be measured again.
        let remarks = document["remarks"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(remarks.iter().all(|remark| remark["kind"] == "again"), "{document:#}");
    }
}

#[test]
fn an_unfinished_run_is_judged_by_what_is_there() {
    let fault = Fault::Host { host: 3, direction: Both, symptom: Slower(1.5) };
    let whole = run(&Machine::leaf_spine(16, 1, 1).with(fault));
    let mut part = MemoryRun::new(whole.header().clone());
    (0..2).for_each(|index| part.push(whole.lengths()[index], whole.cells(index).to_vec()));
    let ended = Place::with(&[("network", &part)]).diagnose("network");
    assert_eq!(ended.code, i32::from(exit::FINDINGS));
    assert!(ended.stderr.contains("unfinished") || ended.stderr.contains("2 of 5"), "{}", ended.stderr);
    assert!(ended.stdout.contains("2 lengths from 0 to 256") && ended.stdout.contains("node004"), "{}", ended.stdout);
}

#[test]
fn what_scatters_too_much_is_not_judged() {
    let mut machine = shuffled(16, 1);
    machine.noise.sigma = 2.0;
    is_invalid(&run(&machine), &["one_to_one: pairs scatter by ", "too noisy"]);
}

/// The bound of two clocks is at least the latency between them: short messages are always below it.
#[test]
fn a_bound_above_the_value_is_no_disease() {
    let healthy = run(&shuffled(16, 1));
    let loose = changed(&healthy, |_, from, to, cell| {
        if from != to {
            *cell = Cell { state: State::ClockBound, clock_bound: Some(1e-3), ..*cell };
        }
    });
    assert_eq!(diagnosed(&loose, exit::SUCCESS)["verdict"], "healthy");
}

#[test]
fn most_hosts_without_a_measurement_are_no_healthy_machine() {
    let without = |missing: usize| {
        changed(&run(&shuffled(16, 1)), move |_, from, to, cell| {
            if from != to && (from < missing || to < missing) {
                *cell = Cell::missing(State::NotScheduled);
            }
        })
    };
    is_invalid(&without(9), &["one_to_one: nothing is measured of 9 of 16 hosts"]);
    let place = Place::with(&[("network", &without(1))]);
    let text = place.diagnose("network");
    assert_eq!(text.code, i32::from(exit::SUCCESS));
    assert!(text.stdout.contains("none of ") && text.stdout.contains("(1 host)"), "{}", text.stdout);
}

#[test]
fn findings_count_although_a_mode_cannot_be_judged() {
    let fault = Fault::Host { host: 3, direction: Both, symptom: Slower(1.5) };
    let machine = Machine::leaf_spine(16, 1, 1).with(fault);
    let slow = run(&machine);
    let empty = MemoryRun::new(run_of(&machine, &config(), Mode::Put).header().clone());
    let ended = Place::with(&[("network", &slow), ("put", &empty)]).diagnose("network put --format json");
    assert_eq!(ended.code, i32::from(exit::FINDINGS));
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["verdict"], "findings");
    assert_eq!(document["invalid"], json!(["put: no message length is finished yet"]));
    assert_eq!(named(only(&document)), "node node004 both bandwidth");
}

#[test]
fn half_of_the_pairs_are_enough() {
    let config = Config { sample_rounds: Some(15), ..config() };
    for (direction, word) in [(Both, "both"), (Receive, "receive")] {
        let fault = Fault::Host { host: 11, direction, symptom: Slower(1.5) };
        let run = run_of(&Machine::leaf_spine(32, 1, 1).with(fault), &config, Mode::OneToOne);
        let ended = Place::with(&[("network", &run)]).diagnose("network --format json");
        assert_eq!(ended.code, i32::from(exit::FINDINGS), "{}{}", ended.stdout, ended.stderr);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let measured = document["run"]["measured"].as_f64().unwrap();
        assert!((0.4..0.55).contains(&measured), "{measured}");
        let finding = only(&document);
        assert_eq!(named(finding), format!("node node012 {word} bandwidth"));
        is_near(&finding["ratio"], 1.5);
    }
}

#[test]
fn cells_that_failed_do_not_hide_a_slow_host() {
    let fault = Fault::Host { host: 3, direction: Both, symptom: Slower(1.5) };
    let slow = run(&Machine::leaf_spine(16, 1, 1).with(fault));
    let holes = changed(&slow, |index, from, to, cell| {
        if from != to && (from * 7 + to * 3 + index) % 5 == 0 {
            *cell = Cell::missing(State::TimedOut);
        }
    });
    // What fails everywhere alike is at no place that can be named, and said.
    let document = diagnosed(&holes, exit::FINDINGS);
    let mut all: Vec<_> = findings(&document).iter().map(named).collect();
    all.sort_unstable();
    assert_eq!(all, ["fabric  both lossy", "node node004 both bandwidth"]);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let run = run(&shuffled(8, 1));
    let place = Place::with(&[("network", &run), ("other", &run)]);
    place.diagnose("netwrok").fails(exit::FILES, &["netwrok", "network` meant?"]);
    place.diagnose("network other missing").fails(exit::FILES, &["missing"]);
    let median = place.path().join("network_median.nc");
    let whole = fs::read(&median).unwrap();
    for damaged in [&whole[..whole.len() / 2], &whole[..40], b"hello".as_slice()] {
        fs::write(&median, damaged).unwrap();
        let ended = place.diagnose("network");
        assert_eq!(ended.code, i32::from(exit::FILES), "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("network_median.nc"), "{}", ended.stderr);
        assert!(ended.stdout.is_empty() && !ended.stderr.contains("panicked"), "{}{}", ended.stdout, ended.stderr);
    }
    fs::remove_file(&median).unwrap();
    place.diagnose("network").fails(exit::FILES, &["`network` has no median", "average"]);
    place.diagnose("other network").fails(exit::FILES, &["`network` has no median"]);
}

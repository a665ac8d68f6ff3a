//! Pairs that were measured again.

use netmatrix::{
    exit,
    measure::synthetic::{
        Direction::{Both, Send},
        Fault, Machine,
        Symptom::Slower,
    },
    plan::{Config, Mode, Schedule},
    record::{MemoryRun, Retest, Run, Sink},
};
use serde_json::Value;

use crate::bed::{Place, changed, config, diagnosed, findings, named, only, run_of};

/// What the machine gives with room for re-tests, but without any.
fn run(machine: &Machine) -> MemoryRun {
    let config = Config { schedule: Schedule::Disjoint, retest: 1, ..config() };
    changed(&run_of(machine, &config, Mode::OneToOne), |_, _, _, _| {})
}

/// A link that is twice as slow as others.
fn slow_link() -> MemoryRun {
    run(&Machine::leaf_spine(16, 1, 1).with(Fault::Link { hosts: (2, 9), direction: Send, symptom: Slower(2.0) }))
}

/// The run with re-tests of this pair at every length: so many times the first value.
fn retested(run: &MemoryRun, (source, destination): (usize, usize), second: f64, alone: f64) -> MemoryRun {
    let mut run = run.clone();
    for index in 0..run.lengths().len() {
        let first = run.cells(index)[source * run.ranks() + destination].summary.median;
        let retest = Retest { source, destination, first, second: second * first, alone: alone * first };
        run.write_retests(index, &[retest]).unwrap();
    }
    run
}

fn only_remark(document: &Value) -> &str {
    let [remark] = &document["remarks"].as_array().unwrap()[..] else { panic!("{document:#}") };
    remark["explanation"].as_str().unwrap()
}

fn verdict(document: &Value) -> &Value {
    &only(document)["retest"]
}

#[test]
fn without_retests_a_link_is_to_be_measured_again() {
    // Of other pairs, or of the other direction, they say nothing of it.
    for run in [slow_link(), retested(&slow_link(), (3, 4), 0.5, 0.5), retested(&slow_link(), (9, 2), 0.5, 0.5)] {
        let document = diagnosed(&run, exit::SUCCESS);
        assert_eq!(document["verdict"], "healthy");
        let remark = only_remark(&document);
        assert!(remark.contains("the link from node003 to node010") && remark.contains("again"), "{remark}");
    }
}

#[test]
fn a_link_that_is_slow_alone_is_confirmed() {
    let document = diagnosed(&retested(&slow_link(), (2, 9), 1.0, 1.0), exit::FINDINGS);
    assert_eq!(verdict(&document), "confirmed");
    let explanation = only(&document)["explanation"].as_str().unwrap();
    assert!(explanation.contains("re-measured alone: confirmed"), "{explanation}");
    // Slow alone, though by chance not among others.
    assert_eq!(verdict(&diagnosed(&retested(&slow_link(), (2, 9), 0.5, 1.0), exit::FINDINGS)), "confirmed");
}

#[test]
fn a_link_that_is_slow_among_others_only_is_no_fault() {
    let run = retested(&slow_link(), (2, 9), 1.0, 0.5);
    let document = diagnosed(&run, exit::SUCCESS);
    assert_eq!(document["verdict"], "healthy");
    let remark = only_remark(&document);
    assert!(
        remark.contains("node003 to node010") && remark.contains("measured alone it is as fast as its peers"),
        "{remark}"
    );
    let text = Place::with(&[("network", &run)]).diagnose("network").ends(exit::SUCCESS);
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(remark), "{text}");
}

#[test]
fn a_link_that_was_slow_once_is_not_reported() {
    let document = diagnosed(&retested(&slow_link(), (2, 9), 0.5, 0.5), exit::SUCCESS);
    assert_eq!(document["verdict"], "healthy");
}

#[test]
fn a_host_that_was_slow_for_a_while_is_reported() {
    let fault = Fault::Host { host: 2, direction: Both, symptom: Slower(1.5) };
    let slow = run(&Machine::leaf_spine(16, 1, 1).with(fault));
    let document = diagnosed(&retested(&slow, (2, 9), 1.0 / 1.5, 1.0 / 1.5), exit::FINDINGS);
    assert_eq!((&*named(only(&document)), verdict(&document)), ("node node003 both bandwidth", &"transient".into()));
}

#[test]
fn links_that_are_far_less_slow_than_a_confirmed_one_of_their_host_are_none_of_it() {
    let config = Config { retest: 1, ..config() };
    let link = |hosts, times| Fault::Link { hosts, direction: Send, symptom: Slower(times) };
    // By a fifth and by a half of its logarithm.
    for (times, found) in [(1.25, "link node003 node010 send bandwidth"), (1.8, "node node010 receive bandwidth")] {
        let links = [link((2, 9), 3.0), link((4, 9), times), link((6, 9), times)];
        let machine = links.into_iter().fold(Machine::leaf_spine(16, 1, 1), Machine::with);
        let run = changed(&run_of(&machine, &config, Mode::OneToOne), |_, _, _, _| {});
        assert_eq!(named(only(&diagnosed(&retested(&run, (2, 9), 1.0, 1.0), exit::FINDINGS))), found, "{times}");
    }
}

#[test]
fn a_measurement_of_disjoint_pairs_confirms_what_it_finds() {
    let config = Config { schedule: Schedule::Disjoint, retest: 10, ..config() };
    let link = Fault::Link { hosts: (2, 9), direction: Both, symptom: Slower(2.0) };
    let host = Fault::Host { host: 5, direction: Both, symptom: Slower(1.5) };
    for (fault, name) in [(link, "link node003 node010"), (host, "node node006")] {
        let run = run_of(&Machine::leaf_spine(16, 1, 1).with(fault), &config, Mode::OneToOne);
        assert!(!run.retests(0).unwrap().is_empty());
        let document = diagnosed(&run, exit::FINDINGS);
        assert_eq!(named(only(&document)), format!("{name} both bandwidth"));
        assert_eq!(verdict(&document), "confirmed");
    }
}

/// What a machine of 24 hosts gives, three on a leaf, of which each meets four others; and whether any two of leaf 1 meet.
fn sampled(machine: &Machine, (seed, retest): (u64, usize)) -> (MemoryRun, bool) {
    let config = Config { sample_rounds: Some(4), seed, retest, ..config() };
    let run = run_of(machine, &config, Mode::OneToOne);
    let partners = run.partners().unwrap();
    let have_met = [(3, 4), (4, 5), (3, 5)].iter().any(|(a, b)| partners.line_of(*a, *b).is_some());
    (run, have_met)
}

#[test]
fn hosts_that_are_slow_and_have_not_met_share_their_way_if_they_are_fast_with_each_other() {
    let healthy = Machine::leaf_spine(24, 8, 1);
    let way = healthy.clone().with(Fault::Leaf { leaf: 1, direction: Send, symptom: Slower(3.0) });
    let host = |host| Fault::Host { host, direction: Send, symptom: Slower(3.0) };
    let hosts = [3, 4, 5].into_iter().fold(healthy, |machine, number| machine.with(host(number)));
    let found = |machine: &Machine, seed, retest| {
        let (run, have_met) = sampled(machine, (seed, retest));
        assert!(!have_met);
        let document = diagnosed(&run, exit::FINDINGS);
        let mut all: Vec<String> = findings(&document).iter().map(named).collect();
        all.sort_unstable();
        all
    };
    let seeds = (1..).filter(|seed| !sampled(&way, (*seed, 0)).1).take(3);
    let one_by_one = ["node004", "node005", "node006"].map(|host| format!("node {host} send bandwidth"));
    for seed in seeds {
        assert_eq!(found(&way, seed, 10), ["group node004 node005 node006 send bandwidth"], "seed {seed}");
        assert_eq!(found(&hosts, seed, 10), one_by_one, "seed {seed}");
        // What was not measured says nothing.
        assert_eq!(found(&way, seed, 0), one_by_one, "seed {seed}");
    }
}

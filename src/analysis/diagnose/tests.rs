//! The detector's stages, on synthetic runs.

use super::*;
use crate::{
    measure::{
        StopRequest, measure,
        synthetic::{self, Fault, Machine, Synthetic},
    },
    plan::{Config, Plan, Schedule, Sweep, Timing},
    record::{Header, MemoryRun, Provenance, Retest, Sink},
};

/// Three lengths on this machine, on synchronised clocks.
fn run(machine: Machine, mode: Mode) -> MemoryRun {
    let sweep = Sweep::list(&[0, 4096, 1 << 20].map(Bytes)).unwrap();
    let schedule = Schedule::Disjoint;
    let config =
        Config { iterations: 15, timing: Timing::Clock, modes: vec![mode], sweep, schedule, ..Config::default() };
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let mut measured = MemoryRun::new(Header::of(&plan, Provenance::default()));
    measure(&plan, &mut Synthetic::new(machine), Some(&mut measured), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    // Without its re-tests.
    let mut run = MemoryRun::new(measured.header().clone());
    (0..3).for_each(|index| run.push(measured.lengths()[index], measured.cells(index).to_vec()));
    run
}

fn slower(host: usize, direction: synthetic::Direction, times: f64) -> Fault {
    Fault::Host { host, direction, symptom: synthetic::Symptom::Slower(times) }
}

fn machine() -> Machine {
    Machine::leaf_spine(10, 1, 1)
}

fn diagnosed(runs: &[&MemoryRun]) -> Diagnosis {
    let runs: Vec<&dyn Run> = runs.iter().map(|run| *run as &dyn Run).collect();
    diagnose(&runs, &Options { confidence: 0.99, ..Options::default() }).unwrap()
}

#[test]
fn three_numbers_tell_faults_from_contention() {
    let link =
        Fault::Link { hosts: (2, 7), direction: synthetic::Direction::Send, symptom: synthetic::Symptom::Slower(2.0) };
    let slow = run(machine().with(link), Mode::OneToOne);
    // What re-tests of this pair make of the link: a finding with a verdict, or a remark, or nothing.
    let verdict = |(source, destination): (usize, usize), second: f64, alone: f64| {
        let mut run = slow.clone();
        for index in 0..3 {
            let first = run.cells(index)[source * 10 + destination].summary.median;
            let retest = Retest { source, destination, first, second: second * first, alone: alone * first };
            run.write_retests(index, &[retest]).unwrap();
        }
        let Diagnosis { findings, remarks, .. } = diagnosed(&[&run]);
        let remark = match &remarks[..] {
            [] => "none",
            [Remark::Load(_)] => "load",
            [Remark::Again(_)] => "again",
            others => panic!("{others:?}"),
        };
        (findings.iter().map(|found| found.retest).collect::<Vec<_>>(), remark)
    };
    let confirmed = (vec![Some(RetestVerdict::Confirmed)], "none");
    assert_eq!(verdict((2, 7), 1.0, 1.0), confirmed);
    assert_eq!(verdict((2, 7), 0.5, 0.9), confirmed);
    assert_eq!(verdict((2, 7), 1.0, 0.5), (vec![], "load"));
    assert_eq!(verdict((2, 7), 0.5, 0.5), (vec![], "none"));
    assert_eq!(verdict((7, 2), 1.0, 1.0), (vec![], "again"));
    assert_eq!(verdict((2, 7), f64::NAN, f64::NAN), (vec![], "again"));
}

#[test]
fn twins_are_modes_that_differ_in_one_thing() {
    let runs = [Mode::Noise, Mode::Put, Mode::OneToOne, Mode::AsyncOneToOne].map(|mode| run(machine(), mode));
    let contrasts = |numbers: &[usize]| {
        let runs: Vec<&dyn Run> = numbers.iter().map(|number| &runs[*number] as &dyn Run).collect();
        contrast::contrasts(&runs).collect::<Vec<_>>()
    };
    assert_eq!(contrasts(&[0, 1, 2, 3]), [(2, 3, Symptom::Duplex), (3, 0, Symptom::Noise)]);
    assert_eq!(contrasts(&[2, 3]), [(0, 1, Symptom::Duplex)]);
    assert_eq!(contrasts(&[0, 1, 2]), []);
}

#[test]
fn who_is_named_by_the_quiet_mode_is_not_named_again() {
    let [healthy, slow] = [machine(), machine().with(slower(4, synthetic::Direction::Both, 1.4))];
    let worse = machine().with(slower(4, synthetic::Direction::Both, 2.0));
    let symptoms = |runs: &[&MemoryRun]| {
        let found = diagnosed(runs).findings;
        found.iter().map(|found| (found.hosts[0].clone(), found.symptom, found.modes.clone())).collect::<Vec<_>>()
    };
    let quiet = [&healthy, &slow].map(|machine| run(machine.clone(), Mode::OneToOne));
    let other = run(worse, Mode::AsyncOneToOne);
    let both = vec![Mode::OneToOne, Mode::AsyncOneToOne];
    assert_eq!(symptoms(&[&quiet[1], &other]), [("node005".to_owned(), Symptom::Bandwidth, both)]);
    assert_eq!(symptoms(&[&quiet[0], &other]), [("node005".to_owned(), Symptom::Duplex, vec![Mode::AsyncOneToOne])]);
}

#[test]
fn ranks_are_compared_with_those_beside_them() {
    let fault =
        Fault::Rank { rank: 7, direction: synthetic::Direction::Send, symptom: synthetic::Symptom::Slower(1.3) };
    let of_host = slower(1, synthetic::Direction::Both, 2.0);
    let run = run(Machine::leaf_spine(5, 1, 2).with(fault).with(of_host), Mode::OneToOne);
    let found = ranks::judge(&run, 0.99).unwrap();
    // The ranks of the slow host are alike.
    assert_eq!(found.iter().map(|own| &own.ranks[..]).collect::<Vec<_>>(), [[7]]);
    let found = &found[0].finding;
    assert_eq!((found.kind, found.rank, found.direction), (Kind::Rank, Some(7), Direction::Send));
    assert_eq!((&*found.hosts[0], found.cells), ("node004", Agreement { slow: 3, of: 3 }));
    assert!((found.ratio - 1.3).abs() < 0.03, "{}", found.ratio);
    // One rank on every host: nobody next to it.
    let alone = self::run(machine(), Mode::OneToOne);
    assert!(ranks::judge(&alone, 0.99).unwrap().is_empty());
}

#[test]
fn verdicts_follow_findings_first() {
    let mut diagnosis = diagnosed(&[&run(machine(), Mode::OneToOne)]);
    assert_eq!(diagnosis.verdict(), "healthy");
    diagnosis.invalid.push("put: why".to_owned());
    assert_eq!(diagnosis.verdict(), "invalid");
    let slow = diagnosed(&[&run(machine().with(slower(4, synthetic::Direction::Send, 2.0)), Mode::OneToOne)]);
    diagnosis.findings = slow.findings;
    assert_eq!(diagnosis.verdict(), "findings");
}

#[test]
fn reasons_say_what_is_the_matter() {
    let [small, empty] = [Machine::leaf_spine(3, 1, 1), machine()].map(|machine| run(machine, Mode::Get));
    let empty = MemoryRun::new(empty.header().clone());
    assert_eq!(unusable(&small).unwrap().unwrap(), "get: 3 hosts; it takes 4 to say which one is different");
    assert_eq!(unusable(&empty).unwrap().unwrap(), "get: no message length is finished yet");
    assert_eq!(unusable(&run(machine(), Mode::Get)).unwrap(), None);
    assert_eq!(diagnosed(&[&small, &empty][..1]).invalid.len(), 1);
}

#[test]
fn runs_without_a_median_and_of_other_hosts_are_refused() {
    let one = run(machine(), Mode::OneToOne);
    let min = MemoryRun::with_statistics(one.header().clone(), vec![Statistic::Min]);
    let other = run(Machine::leaf_spine(8, 1, 1), Mode::Put);
    let error = |runs: &[&dyn Run]| {
        let error = diagnose(runs, &Options { confidence: 0.99, ..Options::default() }).unwrap_err();
        error.downcast::<DiagnoseError>().map(|error| *error).unwrap()
    };
    assert_eq!(error(&[&min]), DiagnoseError::NoMedian);
    let named = DiagnoseError::DifferentHosts(
        "one_to_one on node[001-010] (10 hosts)".to_owned(),
        "put on node[001-008] (8 hosts)".to_owned(),
    );
    assert_eq!(error(&[&one, &one, &other]), named);
}

#[test]
fn what_is_found_is_not_to_be_measured_again() {
    let mut diagnosis = diagnosed(&[&run(machine().with(slower(4, synthetic::Direction::Send, 2.0)), Mode::OneToOne)]);
    let [found] = &diagnosis.findings[..] else { panic!("{:?}", diagnosis.findings) };
    let (found, other) = (found.clone(), vec![diagnosis.hosts[7].clone()]);
    let elsewhere = Finding { hosts: other, ..found.clone() };
    let the_other_way = Finding { direction: Direction::Receive, ..found.clone() };
    let at_other_lengths = Finding { lengths: (Bytes(0), Bytes(0)), ..found };
    let left = |places: Vec<Finding>, diagnosis: &mut Diagnosis| {
        diagnosis.remarks = vec![Remark::Again(places)];
        leave_out_found(diagnosis);
        diagnosis
            .remarks
            .iter()
            .map(|remark| matches!(remark, Remark::Again(left) if left.len() == 2))
            .collect::<Vec<_>>()
    };
    assert!(left(vec![at_other_lengths.clone()], &mut diagnosis).is_empty());
    assert_eq!(left(vec![elsewhere, at_other_lengths.clone(), the_other_way], &mut diagnosis), [true]);
    // A way that is slow both ways is slow each way.
    diagnosis.findings[0].direction = Direction::Both;
    assert!(left(vec![at_other_lengths], &mut diagnosis).is_empty());
}

//! Hosts that a run waited for in vain: evidence that stands in no matrix, because the job ended.
//!
//! In: the waits of an unfinished run, and the diagnosis of what it has measured. Out: a finding for each place that
//! others wait for ([`crate::record::Stuck::places`]), unless failed cells name it already. A run without a finished
//! length has no other findings.

use super::{Agreement, Diagnosis, Direction, Finding, Kind, Symptom, Waited, findings};
use crate::{
    plan::Mode,
    record::{Header, Stuck, StuckKind, StuckPlace},
    units::Bytes,
};

/// Adds what `stuck`, read from `file`, says about the run with this header; nothing where it is not among the runs.
pub fn add(diagnosis: &mut Diagnosis, header: &Header, stuck: &Stuck, file: &str) {
    for place in stuck.places() {
        let known = place.hosts.iter().all(|host| diagnosis.hosts.contains(host));
        match diagnosis.findings.iter_mut().find(|finding| is_about(finding, &place)) {
            Some(finding) => finding.waited = Some(waited(&place, file)),
            None if known => diagnosis.findings.push(finding(header, &place, file)),
            None => {}
        }
    }
    let mut modes: Vec<Mode> = diagnosis.runs.iter().map(|run| run.mode).collect();
    if !modes.contains(&header.mode) {
        modes.push(header.mode);
    }
    findings::order(&mut diagnosis.findings, &modes);
}

fn waited(place: &StuckPlace, file: &str) -> Waited {
    Waited { ranks: place.ranks.len(), file: file.to_owned() }
}

/// Whether failed cells say the same already.
fn is_about(finding: &Finding, place: &StuckPlace) -> bool {
    let same = finding.hosts.len() == place.hosts.len() && place.hosts.iter().all(|host| finding.hosts.contains(host));
    same && matches!(finding.symptom, Symptom::Silent | Symptom::Lossy)
}

fn finding(header: &Header, place: &StuckPlace, file: &str) -> Finding {
    let ends = (header.planned.first(), header.planned.last());
    let whole = (ends.0.copied().unwrap_or(Bytes(0)), ends.1.copied().unwrap_or(Bytes(0)));
    let kind = match (place.kind, place.hosts.len()) {
        (StuckKind::Pair, _) => Kind::Link,
        (StuckKind::Dead(Some(_)), _) => Kind::Rank,
        (_, 1) => Kind::Node,
        _ => Kind::Group,
    };
    Finding {
        kind,
        hosts: place.hosts.clone(),
        toward: Vec::new(),
        rank: if let StuckKind::Dead(rank) = place.kind { rank } else { None },
        direction: if place.kind == StuckKind::Unreached { Direction::Receive } else { Direction::Both },
        symptom: Symptom::Silent,
        modes: vec![place.mode.unwrap_or(header.mode)],
        // A process that is gone answers at no length; else what was sent when it happened.
        lengths: place.lengths.filter(|_| !matches!(place.kind, StuckKind::Dead(_))).unwrap_or(whole),
        ratio: f64::INFINITY,
        extra_seconds: f64::INFINITY,
        confidence: 1.0,
        cells: Agreement { slow: 0, of: 0 },
        share: None,
        share_of_time: None,
        elsewhere: None,
        waited: Some(waited(place, file)),
        retest: None,
        curve: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::diagnose::{Options, diagnose},
        plan::{Config, Plan, Sweep},
        record::{Cell, MemoryRun, Phase, Provenance, Run, State, Statistic, Wait, WaitOutcome},
        stats::Summary,
        units::Hosts,
    };

    /// Six hosts at `lengths` finished lengths, of which n2 fails where `fails`.
    fn run(lengths: usize, fails: bool) -> MemoryRun {
        let sweep = Sweep::list(&[Bytes(0), Bytes(1024)]).unwrap();
        let config = Config { modes: vec![Mode::OneToOne], sweep, ..Config::default() };
        let plan = Plan::all(&config, &Hosts::new((0..6).map(|host| format!("n{host}")))).unwrap().remove(0);
        let mut run = MemoryRun::with_statistics(Header::of(&plan, Provenance::default()), vec![Statistic::Median]);
        for length in [0, 1024].into_iter().take(lengths) {
            let cell = |place: usize| match (place / 6, place % 6) {
                (a, b) if a == b => Cell::zero(),
                (a, b) if fails && (a == 2 || b == 2) => Cell::missing(State::TimedOut),
                (a, b) => {
                    let time = 1e-6 * (1.0 + 0.01 * ((7 * a + 3 * b) % 5) as f64);
                    let summary = Summary { min: time, average: time, median: time, max: time, deviation: 0.0 };
                    Cell::measured(summary, 10, State::Measured)
                }
            };
            run.push(Bytes(length), (0..36).map(cell).collect());
        }
        run
    }

    fn judged(run: &MemoryRun, waits: Vec<Wait>) -> Diagnosis {
        let mut diagnosis = diagnose(&[run], &Options { confidence: 0.99, ..Options::default() }).unwrap();
        add(&mut diagnosis, run.header(), &Stuck { waits }, "w_stuck.txt");
        diagnosis
    }

    fn wait(rank: usize, other: usize) -> Wait {
        Wait {
            time: "2023-11-14T22:13:20Z".to_owned(),
            rank,
            host: format!("n{rank}"),
            phase: Phase::Exchange,
            waits_for: vec![(other, format!("n{other}"))],
            silent: vec![],
            mode: Some(Mode::OneToOne),
            operation: None,
            length: Some(Bytes(1024)),
            round: Some(0),
            sample: None,
            step: None,
            seconds: 10.0,
            outcome: WaitOutcome::Ended,
        }
    }

    #[test]
    fn a_host_that_answers_nobody_is_a_finding_without_a_finished_length() {
        let silent = |rank| Wait { silent: vec![(2, "n2".to_owned())], ..wait(rank, 2) };
        for lengths in [0, 1] {
            let diagnosis = judged(&run(lengths, false), vec![silent(0), silent(4), silent(5)]);
            assert_eq!(diagnosis.verdict(), "findings", "{lengths}");
            let [found] = &diagnosis.findings[..] else { panic!("{:?}", diagnosis.findings) };
            assert_eq!((found.kind, &found.hosts[..]), (Kind::Node, &["n2".to_owned()][..]));
            assert_eq!((found.symptom, found.lengths), (Symptom::Silent, (Bytes(0), Bytes(1024))));
            assert_eq!(found.waited, Some(Waited { ranks: 3, file: "w_stuck.txt".to_owned() }));
        }
    }

    #[test]
    fn two_that_wait_for_each_other_are_a_link() {
        let diagnosis = judged(&run(1, false), vec![wait(1, 4), wait(4, 1)]);
        let [found] = &diagnosis.findings[..] else { panic!("{:?}", diagnosis.findings) };
        assert_eq!((found.kind, found.lengths), (Kind::Link, (Bytes(1024), Bytes(1024))));
    }

    #[test]
    fn what_failed_cells_name_is_named_once() {
        let diagnosis = judged(&run(1, true), vec![wait(0, 2), wait(4, 2)]);
        let [found] = &diagnosis.findings[..] else { panic!("{:?}", diagnosis.findings) };
        assert_eq!((found.symptom, found.cells.slow, found.waited.as_ref().unwrap().ranks), (Symptom::Silent, 10, 2));
    }

    #[test]
    fn hosts_of_another_machine_are_no_evidence() {
        let elsewhere = Wait { waits_for: vec![(2, "m2".to_owned())], ..wait(0, 2) };
        assert!(judged(&run(1, false), vec![elsewhere]).findings.is_empty());
    }
}

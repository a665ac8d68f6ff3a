//! Hosts that answer nobody.
//!
//! In: a run and its times by hosts. Out: findings. A host is silent if nothing was measured from it or to it although
//! somebody tried; hosts that were only not asked are no finding.

use super::{Agreement, Direction, Kind, Symptom, findings::Finding, folded::Folded};
use crate::record::{BoxError, Run, State};

/// One finding for every host that is silent at all finished lengths.
pub(super) fn find(run: &dyn Run, folded: &Folded) -> Result<Vec<Finding>, BoxError> {
    let has_no_time = |host: &usize| folded.mean.iter().all(|mean| mean.row(*host).iter().all(|value| value.is_nan()));
    let mut candidates: Vec<usize> = (0..folded.hosts()).filter(has_no_time).collect();
    if candidates.is_empty() || candidates.len() == folded.hosts() {
        return Ok(Vec::new());
    }
    let (hosts, ranks) = (&run.header().hosts, run.ranks());
    let mut failed = vec![0usize; folded.hosts()];
    let mut states = vec![State::Measured; ranks * ranks];
    for length in 0..run.lengths().len() {
        run.read_states(length, 0..ranks, &mut states)?;
        for (place, state) in states.iter().enumerate() {
            if matches!(state, State::Failed | State::TimedOut) {
                let (from, to) = (hosts.host_of(place / ranks), hosts.host_of(place % ranks));
                failed[from] += 1;
                failed[to] += usize::from(from != to);
            }
        }
    }
    candidates.retain(|host| failed[*host] > 0);
    let lengths = (folded.lengths[0], folded.lengths[folded.lengths.len() - 1]);
    let finding = |host: usize| Finding {
        kind: Kind::Node,
        hosts: vec![folded.names[host].clone()],
        rank: None,
        direction: Direction::Both,
        symptom: Symptom::Silent,
        modes: vec![run.header().mode],
        lengths,
        ratio: f64::INFINITY,
        extra_seconds: f64::INFINITY,
        confidence: 1.0,
        cells: Agreement { slow: failed[host], of: failed[host] },
        retest: None,
        curve: Vec::new(),
    };
    Ok(candidates.into_iter().map(finding).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::diagnose::{Options, diagnose},
        plan::{Config, Mode, Plan, Sweep},
        record::{Cell, Header, MemoryRun, Provenance, Statistic},
        stats::Summary,
        units::{Bytes, Hosts},
    };

    /// Six hosts; `of_pair` says what came of every ordered pair.
    fn run(of_pair: impl Fn(usize, usize) -> State) -> MemoryRun {
        let sweep = Sweep::list(&[Bytes(0), Bytes(1024)]).unwrap();
        let config = Config { modes: vec![Mode::OneToOne], sweep, ..Config::default() };
        let hosts = Hosts::new((0..6).map(|host| format!("n{host}")));
        let plan = Plan::all(&config, &hosts).unwrap().remove(0);
        let header = Header::of(&plan, Provenance::default());
        let mut run = MemoryRun::with_statistics(header, vec![Statistic::Median]);
        for length in [0, 1024] {
            let cell = |place: usize| match (place / 6, place % 6) {
                (a, b) if a == b => Cell::zero(),
                (a, b) if of_pair(a, b) != State::Measured => Cell::missing(of_pair(a, b)),
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

    fn silent(run: &MemoryRun) -> Vec<Vec<String>> {
        let diagnosis = diagnose(&[run], &Options { confidence: 0.99, groups: None }).unwrap();
        let findings = diagnosis.findings.into_iter().filter(|finding| finding.symptom == Symptom::Silent);
        findings.map(|finding| finding.hosts).collect()
    }

    #[test]
    fn a_host_that_answers_nobody_is_named() {
        let dead = run(|a, b| if a == 2 || b == 2 { State::TimedOut } else { State::Measured });
        let name = dead.header().hosts.names()[2].clone();
        assert_eq!(silent(&dead), [[name]]);
    }

    #[test]
    fn hosts_that_nobody_asked_or_that_answered_once_are_not() {
        assert!(silent(&run(|a, b| if a == 2 || b == 2 { State::NotScheduled } else { State::Measured })).is_empty());
        assert!(
            silent(&run(|a, b| if (a == 2 || b == 2) && a + b != 3 { State::Failed } else { State::Measured }))
                .is_empty()
        );
        assert!(silent(&run(|_, _| State::Measured)).is_empty());
    }
}

//! What two modes of the same hosts say together: who is slow only while it sends and receives at once, or only while
//! others communicate.
//!
//! In: times by hosts of several runs. Out: findings. The difference of two runs goes through the same judgement as
//! times do.

use super::{
    Diagnosis, Kind, Symptom,
    accuse::{self, Floors},
    findings::{self, Finding},
    folded::Folded,
};
use crate::{plan::Mode, record::Run};

/// Modes that differ in one thing: the one without, the one with it, and the symptom of a host that minds.
const TWINS: [(Mode, Mode, Symptom); 3] = [
    (Mode::OneToOne, Mode::AsyncOneToOne, Symptom::Duplex),
    (Mode::AsyncOneToOne, Mode::Noise, Symptom::Noise),
    (Mode::OneToOne, Mode::NoiseBlocking, Symptom::Noise),
];

/// The twins that are there: number of the run without, of the run with it, and the symptom.
pub(super) fn twins(runs: &[&dyn Run]) -> impl Iterator<Item = (usize, usize, Symptom)> {
    let of_mode = |mode| runs.iter().position(|run| run.header().mode == mode);
    TWINS.into_iter().filter_map(move |(without, with, symptom)| Some((of_mode(without)?, of_mode(with)?, symptom)))
}

/// Judges all twins among the runs. `times`: of every run, unless it cannot be judged; `group`: of every host.
pub(super) fn judge(
    runs: &[&dyn Run],
    times: &[Option<Folded>],
    group: &[usize],
    confidence: f64,
    diagnosis: &mut Diagnosis,
) {
    for (without, with, symptom) in twins(runs) {
        let (Some(quiet), Some(other)) = (&times[without], &times[with]) else { continue };
        let (without, with) = (runs[without].header().mode, runs[with].header().mode);
        let Some(difference) = other.relative_to(quiet) else { continue };
        let judgement = accuse::judge(difference.clone(), Some(group), confidence, Floors::OF_TIMES);
        for suspicion in judgement.suspicions.iter().filter(|suspicion| suspicion.kind != Kind::Group) {
            let names: Vec<_> = suspicion.hosts.iter().map(|host| &difference.names[*host]).collect();
            // Who is slow in the quiet mode already has been named.
            let is_named = |finding: &Finding| {
                finding.modes.contains(&without) && names.iter().any(|name| finding.hosts.contains(name))
            };
            if diagnosis.findings.iter().any(is_named) {
                continue;
            }
            // The same host in the other mode alone is this finding, seen with less reason.
            let is_same = |finding: &Finding| {
                finding.kind == suspicion.kind
                    && finding.modes == [with]
                    && names.iter().all(|name| finding.hosts.contains(name))
            };
            diagnosis.findings.retain(|finding| !is_same(finding));
            let finding = findings::finding(with, &difference, &judgement, suspicion);
            diagnosis.findings.push(Finding { symptom, ..finding });
        }
    }
}

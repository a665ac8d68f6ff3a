//! What two modes of the same hosts say together: who is slow only while it sends and receives at once, or only while
//! others communicate.
//!
//! In: times by hosts of several runs. Out: findings. The difference of two runs is judged by [`places`], with the
//! distances of the quiet one.

use super::{
    Diagnosis, Kind, Symptom, by_places,
    findings::Finding,
    folded::Folded,
    places::{self, Asked, Least, Suspect},
};
use crate::{plan::Mode, record::Run};

/// Modes that differ in one thing: the one without, the one with it, and the symptom of a host that minds.
const TWINS: [(Mode, Mode, Symptom); 3] = [
    (Mode::OneToOne, Mode::AsyncOneToOne, Symptom::Duplex),
    (Mode::AsyncOneToOne, Mode::Noise, Symptom::Noise),
    (Mode::OneToOne, Mode::NoiseBlocking, Symptom::Noise),
];

/// The pairs of runs to contrast: number of the run without, of the run with it, and the symptom.
pub(super) fn contrasts(runs: &[&dyn Run]) -> impl Iterator<Item = (usize, usize, Symptom)> {
    let of_mode = |mode| runs.iter().position(|run| run.header().mode == mode);
    TWINS.into_iter().filter_map(move |(without, with, symptom)| Some((of_mode(without)?, of_mode(with)?, symptom)))
}

/// Judges all such pairs among the runs. `times`: of every run, unless it cannot be judged; `group`: of every host.
pub(super) fn judge(
    runs: &[&dyn Run],
    times: &[Option<Folded>],
    group: &[usize],
    confidence: f64,
    diagnosis: &mut Diagnosis,
) {
    for (without, with, symptom) in contrasts(runs) {
        let (Some(quiet), Some(other)) = (&times[without], &times[with]) else { continue };
        let (without, with) = (runs[without].header().mode, runs[with].header().mode);
        let Some(difference) = other.relative_to(quiet) else { continue };
        let distances = places::distances(quiet, without, Some(group));
        let asked = Asked { mode: with, confidence, least: Least::OF_TIMES };
        // Ways are shared, and some of a host's pairs meet others on them: of what is slow only in company, whole hosts
        // are at fault.
        let is_whole = |suspect: &&Suspect| suspect.place.kind == Kind::Node && !suspect.place.is_of_some();
        let verdict = places::judge_with(&difference, distances, asked, &[]);
        for suspect in verdict.suspects.iter().filter(is_whole) {
            let finding = Finding { symptom, ..by_places::finding(with, &difference, suspect) };
            let name = &finding.hosts[0];
            // Who is slow in the quiet mode already has been named.
            if diagnosis.findings.iter().any(|other| other.modes.contains(&without) && other.hosts.contains(name)) {
                continue;
            }
            // The same host in the other mode alone is this finding, seen with less reason.
            let is_same =
                |other: &Finding| other.kind == Kind::Node && other.modes == [with] && other.hosts.contains(name);
            diagnosis.findings.retain(|other| !is_same(other));
            diagnosis.findings.push(finding);
        }
    }
}

//! A run judged by places ([`places`]): the way in which the detector is going to judge all of them.
//!
//! In: a run. Out: findings and remarks of a [`Diagnosis`]. Here suspects become findings: symptom, size in seconds, what
//! re-tests say, what is a remark only.

use rayon::prelude::*;

use super::{
    Agreement, AtLength, Diagnosis, Finding, Judged, Kind, MOST_NOISE, Remark, RetestVerdict, Symptom, failed,
    findings::{fades, symptom},
    folded::Folded,
    places::{self, Asked, Scatterer, Suspect, Verdict},
    ranks,
    scatter::{self, Panel},
};
use crate::{
    analysis::groups,
    plan::{Mode, Schedule},
    record::{BoxError, Run},
    stats::{median, median_of},
    units::Hosts,
};

/// Judges ranks, times and scatter of one run; returns its times by hosts, with pairs if that `is_twin`, and the group
/// of every host.
pub(super) fn judge_run(
    run: &dyn Run,
    (known, is_twin): (Option<&[usize]>, bool),
    confidence: f64,
    diagnosis: &mut Diagnosis,
) -> Result<(Folded, Vec<usize>), BoxError> {
    let mode = run.header().mode;
    let is_left_out = ranks::judge(run, confidence, diagnosis)?;
    let (folded, scatter) = scatter::read_with_times(run, &is_left_out)?;
    let (hosts, measured) = (folded.hosts(), folded.measured());
    let schedule = run.header().item("schedule").and_then(|name| name.parse().ok()).unwrap_or(Schedule::Isolated);
    let verdict = places::judge(&folded, Asked { mode, groups: known, confidence });
    let times = if is_twin { folded } else { folded.without_pairs() };
    let (noise, ranks) = (verdict.noise, run.ranks());
    diagnosis.runs.push(Judged { mode, hosts, ranks, lengths: times.lengths.clone(), noise, measured });
    if noise > MOST_NOISE {
        let percent = (100.0 * noise).round();
        diagnosis.invalid.push(format!("{mode}: pairs scatter by {percent} %: too noisy to be judged"));
    } else {
        let found = of_places(run, &times, &verdict)?;
        let mut again = Vec::new();
        for finding in found {
            match fate(&finding, schedule) {
                Fate::Finding => diagnosis.findings.push(finding),
                Fate::Load => diagnosis.remarks.push(Remark::Load(finding)),
                Fate::Again => again.push(finding),
                Fate::Gone => {}
            }
        }
        if !again.is_empty() {
            diagnosis.remarks.push(Remark::Again(again));
        }
        diagnosis.remarks.extend(verdict.kinds.as_ref().map(|(hosts, ratio)| Remark::Kinds {
            mode,
            hosts: hosts.iter().map(|host| times.names[*host].clone()).collect(),
            ratio: *ratio,
        }));
    }
    join_rails(&run.header().hosts, &verdict.distances.leaf, &mut diagnosis.findings);
    let group = groups::by_size(&verdict.distances.leaf);
    diagnosis.findings.extend(failed::find(run, &group, 1.0 - confidence)?);
    let confidence = 1.0 - (1.0 - confidence) / scatter.len().max(1) as f64;
    let judge = |Panel { folded, .. }: Panel| (places::jitter(&folded, confidence), folded.without_pairs());
    let judged: Vec<_> = scatter.into_par_iter().map(judge).collect();
    judged.iter().for_each(|(found, levels)| add_scatterers(mode, levels, found, diagnosis));
    Ok((times, group))
}

/// The findings about a run's times.
fn of_places(run: &dyn Run, folded: &Folded, verdict: &Verdict) -> Result<Vec<Finding>, BoxError> {
    let mut found = Vec::new();
    for suspect in &verdict.suspects {
        let retest = retest(run, folded, verdict, suspect)?;
        let (first, last) = suspect.range;
        let curve = curve(folded, &suspect.effects, suspect.range);
        let meant = &curve[first..=last];
        let of_both = suspect.place.kind == Kind::Gate;
        let members = suspect.place.hosts.iter().chain(suspect.place.toward.iter().filter(|_| of_both));
        let mut hosts: Vec<String> = members.map(|host| folded.names[*host].clone()).collect();
        if suspect.place.kind != Kind::Link {
            hosts.sort_unstable();
        }
        found.push(Finding {
            kind: suspect.place.kind,
            hosts,
            rank: None,
            direction: suspect.place.direction,
            symptom: if fades(&curve, first, last) { Symptom::Latency } else { symptom(meant) },
            modes: vec![run.header().mode],
            lengths: (folded.lengths[first], folded.lengths[last]),
            ratio: suspect.effect.exp(),
            extra_seconds: meant.iter().map(|at| at.extra_seconds).fold(f64::NAN, f64::max),
            confidence: 1.0 - suspect.log.exp(),
            cells: suspect.cells,
            share: suspect.place.share(folded.names.len()),
            elsewhere: None,
            retest,
            waited: None,
            curve,
        });
    }
    Ok(found)
}

/// What the re-tests of the pairs that cross a place say; `None` where there are none.
fn retest(
    run: &dyn Run,
    folded: &Folded,
    places: &Verdict,
    suspect: &Suspect,
) -> Result<Option<RetestVerdict>, BoxError> {
    let hosts = &run.header().hosts;
    let (mut second, mut alone) = (Vec::new(), Vec::new());
    let is_crossing = suspect.place.crossing(hosts.count());
    for length in suspect.range.0..=suspect.range.1 {
        for retest in run.retests(length)? {
            let (from, to) = (hosts.host_of(retest.source), hosts.host_of(retest.destination));
            if from == to || !is_crossing[from * hosts.count() + to] {
                continue;
            }
            let usual = folded.level[length] * places.usual(length, from, to).exp();
            second.push((retest.second / usual).ln());
            alone.push((retest.alone / usual).ln());
        }
    }
    let mut scratch = Vec::new();
    let half = suspect.effect / 2.0;
    let (second, alone) = (median_of(second.into_iter(), &mut scratch), median_of(alone.into_iter(), &mut scratch));
    Ok(match (alone.is_nan(), alone > half, second > half) {
        (true, ..) => None,
        (_, true, _) => Some(RetestVerdict::Confirmed),
        (_, false, true) => Some(RetestVerdict::Contention),
        (_, false, false) => Some(RetestVerdict::Transient),
    })
}

/// Puts the findings about one rank of nearly every host of a leaf together: what these share is the leaf's switch of their
/// rail. `leaf`: `[host]`.
fn join_rails(hosts: &Hosts, leaf: &[usize], findings: &mut Vec<Finding>) {
    let leaves = leaf.iter().max().map_or(0, |last| last + 1);
    let places = (0..hosts.ranks()).map(|rank| hosts.place_of(rank)).max().map_or(0, |last| last + 1);
    for (own, place) in (0..leaves).flat_map(|own| (0..places).map(move |place| (own, place))) {
        let is_of = |finding: &Finding| {
            finding.rank.is_some_and(|rank| leaf[hosts.host_of(rank)] == own && hosts.place_of(rank) == place)
        };
        let members: Vec<usize> = (0..leaf.len()).filter(|host| leaf[*host] == own).collect();
        let count = findings.iter().filter(|finding| is_of(finding)).count();
        if leaves < 2 || members.len() < 2 || (count as f64) <= places::ALL * members.len() as f64 {
            continue;
        }
        let (of_rail, others): (Vec<Finding>, Vec<Finding>) = findings.drain(..).partition(|finding| is_of(finding));
        *findings = others;
        let Some(most) = of_rail.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio)) else { continue };
        let mut names: Vec<String> = members.iter().map(|host| hosts.names()[*host].clone()).collect();
        names.sort_unstable();
        let mut ratios: Vec<f64> = of_rail.iter().map(|finding| finding.ratio).collect();
        let cells = Agreement { slow: of_rail.len(), of: members.len() };
        findings.push(Finding {
            kind: Kind::Rail,
            hosts: names,
            rank: None,
            ratio: median(&mut ratios),
            cells,
            ..most.clone()
        });
    }
}

/// What becomes of something slow.
enum Fate {
    /// It is a finding.
    Finding,
    /// Slow only while others communicate: a remark.
    Load,
    /// It has to be measured again before it is a finding: a remark.
    Again,
    /// It was slow once.
    Gone,
}

/// What becomes of something slow in a run of this schedule: single pairs, and among others also what some pairs of a host
/// or leaf show, may have met others on their way.
fn fate(finding: &Finding, schedule: Schedule) -> Fate {
    let is_of_some = finding.share.is_some() || finding.kind == Kind::Gate;
    let is_doubtful = finding.kind == Kind::Link || is_of_some && schedule == Schedule::Disjoint;
    match (finding.retest, is_doubtful) {
        (Some(RetestVerdict::Contention), _) => Fate::Load,
        (Some(RetestVerdict::Confirmed), _) | (_, false) => Fate::Finding,
        (Some(RetestVerdict::Transient), true) => Fate::Gone,
        (None, true) => Fate::Again,
    }
}

/// What a finding is at every length, by its `ln(ratio)`.
fn curve(folded: &Folded, effects: &[f64], (first, last): (usize, usize)) -> Vec<AtLength> {
    let at = |index: usize| {
        let (ratio, usual_seconds) = (effects[index].exp(), folded.level[index]);
        AtLength {
            length: folded.lengths[index],
            ratio,
            usual_seconds,
            extra_seconds: (ratio - 1.0) * usual_seconds,
            is_meant: (first..=last).contains(&index),
        }
    };
    (0..effects.len()).map(at).collect()
}

/// Adds hosts whose samples scatter although their medians are usual. `scatter`: of a [`Panel`].
fn add_scatterers(mode: Mode, scatter: &Folded, found: &[Scatterer], diagnosis: &mut Diagnosis) {
    for Scatterer { host, direction, log, effects } in found {
        let name = &scatter.names[*host];
        let is_named =
            |finding: &Finding| matches!(finding.kind, Kind::Node | Kind::Rank) && finding.hosts.contains(name);
        if diagnosis.findings.iter().any(is_named) {
            continue;
        }
        let most = effects.iter().copied().fold(f64::MIN, f64::max);
        let is_meant = |index: &usize| effects[*index] >= most / 2.0;
        let first = (0..effects.len()).find(is_meant).unwrap_or(0);
        let last = (0..effects.len()).rev().find(is_meant).unwrap_or(0);
        let curve = curve(scatter, effects, (first, last));
        let meant = &curve[first..=last];
        let mut ratios: Vec<f64> = meant.iter().map(|at| at.ratio).collect();
        diagnosis.findings.push(Finding {
            kind: Kind::Node,
            hosts: vec![name.clone()],
            rank: None,
            direction: *direction,
            symptom: Symptom::Jitter,
            modes: vec![mode],
            lengths: (scatter.lengths[first], scatter.lengths[last]),
            ratio: median(&mut ratios),
            extra_seconds: meant.iter().map(|at| at.extra_seconds).fold(f64::NAN, f64::max),
            confidence: 1.0 - log.exp(),
            cells: Agreement { slow: meant.len(), of: curve.len() },
            share: None,
            elsewhere: None,
            retest: None,
            waited: None,
            curve,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::{
            diagnose::{Diagnosis, Model, Options, diagnose},
            drawn::{generator, normal},
        },
        plan::{Config, Plan, Sweep},
        record::{Cell, Header, MemoryRun, Provenance, State, Statistic},
        stats::Summary,
        units::Bytes,
    };

    const LENGTHS: [u64; 5] = [0, 64, 4096, 1 << 18, 1 << 20];

    /// One microsecond between hosts of a leaf of eight, half of one more to others; 12.5 GB/s, of which a pair gets what
    /// the slowest of `slower` leaves it; noise of half a percent.
    fn diagnosed(hosts: usize, late: impl Fn(usize) -> f64, slower: impl Fn(usize, usize) -> f64) -> Diagnosis {
        let mut rng = generator(hosts as u64);
        let sweep = Sweep::list(&LENGTHS.map(Bytes)).unwrap();
        let names = Hosts::new((0..hosts).map(|host| format!("n{host:02}")));
        let config = Config { modes: vec![Mode::OneToOne], sweep, ..Config::default() };
        let plan = Plan::all(&config, &names).unwrap().remove(0);
        let mut run = MemoryRun::with_statistics(Header::of(&plan, Provenance::default()), vec![Statistic::Median]);
        let own: Vec<f64> = (0..hosts).map(|_| 5e-9 * normal(&mut rng)).collect();
        for length in LENGTHS {
            let mut cell = |from: usize, to: usize| {
                let far = if from / 8 == to / 8 { 0.0 } else { 0.5e-6 };
                let latency = 1e-6 + far + own[from] + own[to] + late(from) + late(to);
                let time = (latency + length as f64 / 12.5e9 * slower(from, to)) * (1.0 + 0.005 * normal(&mut rng));
                let summary = Summary { min: time, average: time, median: time, max: time, deviation: 0.0 };
                Cell::measured(summary, 10, State::Measured)
            };
            let pairs = (0..hosts * hosts).map(|pair| (pair / hosts, pair % hosts));
            let cells = pairs.map(|(from, to)| if from == to { Cell::zero() } else { cell(from, to) }).collect();
            run.push(Bytes(length), cells);
        }
        diagnose(&[&run], &Options { model: Model::Places, confidence: 0.99, groups: None }).unwrap()
    }

    /// Kind, hosts, direction and symptom of what is found.
    fn found(diagnosis: &Diagnosis) -> Vec<String> {
        let words = |found: &Finding| {
            format!(
                "{} {} {} {}",
                found.kind.name(),
                found.hosts.join(","),
                found.direction.name(),
                found.symptom.name()
            )
        };
        let mut all: Vec<String> = diagnosis.findings.iter().map(words).collect();
        all.sort();
        all
    }

    #[test]
    fn slow_cards_on_one_switch_are_named_and_not_a_group() {
        let card = |host: usize| if [1, 4, 6].contains(&host) { 2.0 } else { 1.0 };
        let named = found(&diagnosed(8 * 2, |_| 0.0, |from, to| f64::max(card(from), card(to))));
        assert_eq!(named, ["node n01 both bandwidth", "node n04 both bandwidth", "node n06 both bandwidth"]);
    }

    #[test]
    fn most_hosts_of_a_leaf_are_hosts_and_its_way_is_a_group() {
        let card = |host: usize| if (8..13).contains(&host) { 2.0 } else { 1.0 };
        let named = found(&diagnosed(24, |_| 0.0, |from, to| f64::max(card(from), card(to))));
        assert_eq!(named.len(), 5, "{named:?}");
        assert!(named.iter().all(|words| words.starts_with("node")), "{named:?}");
        let way = |from: usize, to: usize| if (from / 8 == 1) != (to / 8 == 1) { 2.0 } else { 1.0 };
        let members: Vec<String> = (8..16).map(|host| format!("n{host:02}")).collect();
        assert_eq!(found(&diagnosed(32, |_| 0.0, way)), [format!("group {} both bandwidth", members.join(","))]);
    }

    #[test]
    fn one_cable_of_four_under_static_routes_is_some_routes_of_its_leaf() {
        // Outward: the destination chooses the cable.
        let way = |from: usize, to: usize| if from / 8 == 1 && to / 8 != 1 && to % 4 == 2 { 3.0 } else { 1.0 };
        let diagnosis = diagnosed(32, |_| 0.0, way);
        let named = found(&diagnosis);
        assert_eq!(named.len(), 1, "{named:?} {:?}", diagnosis.remarks);
        assert!(named[0].starts_with("routes n08,") && named[0].ends_with("send bandwidth"), "{named:?}");
    }

    #[test]
    fn late_hosts_are_named_and_kinds_of_hosts_are_a_remark() {
        let named = found(&diagnosed(16, |host| if host == 3 { 0.5e-6 } else { 0.0 }, |_, _| 1.0));
        assert_eq!(named, ["node n03 both latency"]);
        let diagnosis = diagnosed(24, |host| if host % 2 == 1 { 0.4e-6 } else { 0.0 }, |_, _| 1.0);
        assert_eq!((found(&diagnosis), diagnosis.verdict()), (Vec::new(), "healthy"));
        let [Remark::Kinds { hosts, .. }] = &diagnosis.remarks[..] else { panic!("{:?}", diagnosis.remarks) };
        assert_eq!(hosts.len(), 12);
    }
}

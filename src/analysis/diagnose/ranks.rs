//! Ranks that are slower than the others on their host.
//!
//! In: the median of every cell. Out: effects of ranks, in the form of hosts' effects. A rank is compared with the
//! ranks next to it, toward the same partner: whatever the network does, it does to all of them.

use rayon::prelude::*;

use super::{
    Agreement, Diagnosis, Kind,
    evidence::{self, Effects, Evidence},
    findings::{self, AtLength, Finding},
    places::Least,
};
use crate::{
    analysis::ticks::Unticked,
    record::{BoxError, Run, Statistic},
    stats::{median, median_of, scatter_about_zero},
    units::{Hosts, Rank},
};

/// Least standard deviation of noise that is believed, as a share of a time.
pub(super) const LEAST_NOISE: f64 = 0.004;

/// Adds slow ranks to the findings; returns which ranks are slow, `[rank]`: what their hosts show is judged without
/// them.
pub(super) fn judge(run: &dyn Run, confidence: f64, diagnosis: &mut Diagnosis) -> Result<Vec<bool>, BoxError> {
    let mut is_slow = vec![false; run.ranks()];
    let threshold = evidence::threshold(confidence, run.ranks(), run.lengths().len());
    let Some((effects, level)) = effects(run, threshold)? else { return Ok(is_slow) };
    for (rank, evidence) in evidence::weigh(&effects).iter().enumerate() {
        if evidence.effect <= Least::OF_TIMES.host || evidence.score <= threshold {
            continue;
        }
        is_slow[rank] = true;
        let (first, last) = evidence.range;
        diagnosis.findings.push(Finding {
            hosts: vec![run.header().hosts.name_of(rank).to_owned()],
            rank: Some(rank),
            cells: agreement(&effects[first..=last], rank, evidence.effect),
            ..finding(run, (&effects, &level), rank, evidence)
        });
    }
    Ok(is_slow)
}

/// What evidence about one of several ranks, or places of ranks, comes to; of no host as yet. `effects` and `level`:
/// `[length]`.
pub(super) fn finding(
    run: &dyn Run,
    (effects, level): (&[Effects], &[f64]),
    number: usize,
    evidence: &Evidence,
) -> Finding {
    let (first, last) = evidence.range;
    let at = |(index, of): (usize, &Effects)| {
        let ratio = evidence.direction.effect(of.common[number], of.side[number]).exp();
        AtLength {
            length: run.lengths()[index],
            ratio,
            usual_seconds: level[index],
            extra_seconds: (ratio - 1.0) * level[index],
            is_meant: (first..=last).contains(&index),
        }
    };
    let curve: Vec<AtLength> = effects.iter().enumerate().map(at).collect();
    let meant = &curve[first..=last];
    Finding {
        kind: Kind::Rank,
        hosts: Vec::new(),
        rank: None,
        direction: evidence.direction,
        symptom: findings::symptom_of(&curve, (first, last)),
        modes: vec![run.header().mode],
        lengths: (run.lengths()[first], run.lengths()[last]),
        ratio: evidence.effect.exp(),
        extra_seconds: meant.iter().map(|at| at.extra_seconds).fold(f64::NAN, f64::max),
        confidence: 1.0 - evidence::p_value(evidence.score, effects[0].common.len(), effects.len()),
        cells: Agreement { slow: 0, of: 0 },
        share: None,
        share_of_time: None,
        elsewhere: None,
        waited: None,
        retest: None,
        curve,
    }
}

/// Lengths and sides at which the rank is slow by at least half of the finding's size.
fn agreement(effects: &[Effects], rank: Rank, effect: f64) -> Agreement {
    let is_slow = |of: &&Effects| of.common[rank] + of.side[rank].abs() > effect / 2.0;
    Agreement { slow: effects.iter().filter(is_slow).count(), of: effects.len() }
}

/// Effects of ranks and the median time, `[length]`; `None` where no host has more than one.
type Effect = (Vec<Effects>, Vec<f64>);

fn effects(run: &dyn Run, threshold: f64) -> Result<Option<Effect>, BoxError> {
    let hosts = &run.header().hosts;
    if hosts.ranks() == hosts.count() || hosts.count() < 2 {
        return Ok(None);
    }
    let mut effects = Vec::new();
    let level = read(run, |time| {
        let send = contrasts(hosts, threshold, time);
        let receive = contrasts(hosts, threshold, |rank, partner| time(partner, rank));
        effects.push(combine(&send, &receive));
    })?;
    Ok(Some((effects, level)))
}

/// Gives `take` the median times of a source and a destination, length by length; returns their median, `[length]`.
pub(super) fn read(
    run: &dyn Run,
    mut take: impl FnMut(&(dyn Fn(Rank, Rank) -> f64 + Sync)),
) -> Result<Vec<f64>, BoxError> {
    let run = &Unticked::of(run)?;
    let ranks = run.ranks();
    let mut values = vec![f64::NAN; ranks * ranks];
    let mut level = Vec::new();
    for index in 0..run.lengths().len() {
        run.read_rows(Statistic::Median, index, 0..ranks, &mut values)?;
        take(&|source, destination| values[source * ranks + destination]);
        level.push(median(&mut values.iter().copied().filter(|time| *time > 0.0).collect::<Vec<_>>()));
    }
    Ok(level)
}

/// Differences of a rank from the middle of its host, over partners.
struct Contrast {
    effect: f64,
    /// Standard error of the effect by its own differences, however these are distributed: where they are apart by
    /// whole steps, as times are where messages meet on their way or clocks tick, the median of the deviations says
    /// little.
    own_error: f64,
    noise: f64,
    cells: usize,
}

/// `threshold`: standard errors by which an effect is beyond chance.
fn contrasts(hosts: &Hosts, threshold: f64, time: impl Fn(usize, usize) -> f64 + Sync) -> Vec<Contrast> {
    let ranks = hosts.ranks();
    let of_host = |host: usize| -> Vec<(usize, Contrast)> {
        let own = hosts.ranks_of(host);
        // The middle of two is half way to the slow one.
        let scale = if own.len() == 2 { 2.0 } else { 1.0 };
        let mut differences = vec![Vec::with_capacity(ranks); own.len()];
        let mut scratch = Vec::new();
        for partner in (0..ranks).filter(|partner| own.len() > 1 && hosts.host_of(*partner) != host) {
            let logarithm = |rank: usize| {
                let time = time(rank, partner);
                if time > 0.0 && time.is_finite() { time.ln() } else { f64::NAN }
            };
            let middle = median_of(own.iter().map(|rank| logarithm(*rank)), &mut scratch);
            if scratch.iter().any(|value| value.is_nan()) {
                continue;
            }
            for (differences, rank) in differences.iter_mut().zip(own) {
                differences.push(scale * (logarithm(*rank) - middle));
            }
        }
        let contrast = |mut differences: Vec<f64>| {
            let effect = median(&mut differences);
            let cells = differences.len();
            let own_error = (effect.abs() - bound(&mut differences, threshold)).max(0.0) / threshold;
            differences.iter_mut().for_each(|value| *value -= effect);
            Contrast { effect, own_error, noise: scatter_about_zero(&mut differences), cells }
        };
        own.iter().copied().zip(differences.into_iter().map(contrast)).collect()
    };
    let mut all: Vec<(usize, Contrast)> = (0..hosts.count()).into_par_iter().flat_map_iter(of_host).collect();
    all.sort_unstable_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, contrast)| contrast).collect()
}

/// How far the median of these values is from zero at least, so many standard errors of the sign test away from the
/// values' own median: below zero where it may be on the other side.
fn bound(values: &mut [f64], errors: f64) -> f64 {
    let count = values.len();
    let Some(last) = count.checked_sub(1) else { return f64::NAN };
    values.sort_unstable_by(f64::total_cmp);
    let off = errors * (count as f64).sqrt() / 2.0;
    let at = |place: f64| values[place.clamp(0.0, last as f64) as usize];
    let middle = last as f64 / 2.0;
    if at(middle) < 0.0 { -at((middle + off).ceil()) } else { at((middle - off).floor()) }
}

fn combine(send: &[Contrast], receive: &[Contrast]) -> Effects {
    let noise = |contrasts: &[Contrast]| {
        let usable = contrasts.iter().filter(|contrast| contrast.cells > 2).map(|contrast| contrast.noise);
        median(&mut usable.collect::<Vec<_>>()).max(LEAST_NOISE)
    };
    let (send_noise, receive_noise) = (noise(send), noise(receive));
    let error = |contrast: &Contrast, noise: f64| match contrast.cells {
        0..=2 => f64::INFINITY,
        cells => (1.2533 * noise / (cells as f64).sqrt()).max(contrast.own_error),
    };
    let number = |value: f64| if value.is_nan() { 0.0 } else { value };
    let pairs = || send.iter().zip(receive);
    let errors: Vec<f64> = pairs().map(|(s, r)| error(s, send_noise).hypot(error(r, receive_noise)) / 2.0).collect();
    Effects {
        common: pairs().map(|(s, r)| (number(s.effect) + number(r.effect)) / 2.0).collect(),
        side: pairs().map(|(s, r)| (number(s.effect) - number(r.effect)) / 2.0).collect(),
        common_error: errors.clone(),
        side_error: errors,
    }
}

//! Ranks that are slower than the others on their host.
//!
//! In: the median of every cell. Out: findings. A rank is compared with the ranks next to it, toward the same partner:
//! whatever the network does, it does to all of them. What is beyond chance is [`peers`]'s.

use rayon::prelude::*;

use super::{
    Kind,
    findings::{Finding, Shown},
    places::{
        PRECISION, USUAL,
        peers::{self, More, Slow},
    },
};
use crate::{
    analysis::ticks::Unticked,
    record::{BoxError, Run, Statistic},
    stats::{median, median_of, quantile, scatter_about_zero},
    units::{Hosts, Rank},
};

/// What is said of some ranks.
pub(super) struct OfRanks {
    pub finding: Finding,
    pub ranks: Vec<Rank>,
}

/// The ranks that are slow.
pub(super) fn judge(run: &dyn Run, confidence: f64) -> Result<Vec<OfRanks>, BoxError> {
    let hosts = &run.header().hosts;
    if hosts.ranks() == hosts.count() || hosts.count() < 2 {
        return Ok(Vec::new());
    }
    let mut more = Vec::new();
    let (level, tick) = read(run, |time| {
        let receive = over_middle(hosts, |rank, partner| time(partner, rank));
        more.push(both(over_middle(hosts, time), receive));
    })?;
    let finding = |slow: Slow| {
        let host = vec![hosts.name_of(slow.number).to_owned()];
        let finding = shown(run, &level, &slow).finding(Kind::Rank, host, slow.lengths());
        OfRanks { finding: Finding { rank: Some(slow.number), ..finding }, ranks: vec![slow.number] }
    };
    let slow = peers::slow(&more, &level, (Kind::Rank, tick), 1.0 - confidence);
    Ok(slow.into_iter().map(finding).collect())
}

/// What is seen of one of several ranks, or places of ranks. `level`: seconds, `[length]`.
pub(super) fn shown<'a>(run: &'a dyn Run, level: &'a [f64], slow: &'a Slow) -> Shown<'a> {
    let Slow { direction, effect, log, range, effects, .. } = slow;
    let (mode, lengths) = (run.header().mode, run.lengths());
    Shown { mode, lengths, level, effects, effect: *effect, range: *range, direction: *direction, log: *log }
}

/// Gives `take` the median times of a source and a destination, length by length; returns their median, `[length]`, and by
/// how much equal pairs may be apart because clocks tick, both in seconds.
pub(super) fn read(
    run: &dyn Run,
    mut take: impl FnMut(&(dyn Fn(Rank, Rank) -> f64 + Sync)),
) -> Result<(Vec<f64>, f64), BoxError> {
    let run = &Unticked::of(run)?;
    let ranks = run.ranks();
    let mut values = vec![f64::NAN; ranks * ranks];
    let mut level = Vec::new();
    for index in 0..run.lengths().len() {
        run.read_rows(Statistic::Median, index, 0..ranks, &mut values)?;
        take(&|source, destination| values[source * ranks + destination]);
        level.push(median(&mut values.iter().copied().filter(|time| *time > 0.0).collect::<Vec<_>>()));
    }
    Ok((level, run.apart()))
}

/// What is sent and what is received, of each.
pub(super) fn both(send: Vec<More>, receive: Vec<More>) -> Vec<[More; 2]> {
    send.into_iter().zip(receive).map(|(send, receive)| [send, receive]).collect()
}

/// By how much every rank takes more than the median rank of its host toward the same partner, over partners, `[rank]`.
/// `time`: of a rank, with a partner.
fn over_middle(hosts: &Hosts, time: impl Fn(usize, usize) -> f64 + Sync) -> Vec<More> {
    let ranks = hosts.ranks();
    let of_host = |host: usize| -> Vec<(Rank, Vec<f64>)> {
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
        own.iter().copied().zip(differences).collect()
    };
    let mut of_ranks: Vec<(Rank, Vec<f64>)> = (0..hosts.count()).into_par_iter().flat_map_iter(of_host).collect();
    of_ranks.sort_unstable_by_key(|(rank, _)| *rank);
    let of_rank = |(_, mut differences): (Rank, Vec<f64>)| {
        let (level, fastest) = (median(&mut differences), quantile(&mut differences, USUAL));
        differences.iter_mut().for_each(|value| *value -= level);
        let noise = scatter_about_zero(&mut differences).max(PRECISION);
        More { level, fastest, noise, pairs: differences.len() as f64 }
    };
    of_ranks.into_par_iter().map(of_rank).collect()
}

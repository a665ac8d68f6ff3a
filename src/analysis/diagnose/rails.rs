//! Rails of leaves: ranks of one place that are slow toward other leaves, on nearly all hosts of a leaf.
//!
//! In: the median of every cell, and the leaf of every host. Out: one finding for each such leaf, and the ranks behind
//! it. A rank is compared with the fastest one on its host, toward the same partner in another leaf: whatever the
//! network does to the host, it does to both. Among others, ranks of a host meet more or fewer messages on their way: what
//! the rail itself takes is seen with the partners that show the least. What is usual for ranks of a place is seen in the
//! other leaves.

use rayon::prelude::*;

use super::{
    Agreement, Diagnosis, Kind,
    evidence::{self, Effects},
    findings::Finding,
    places::{ALL, Least, USUAL},
    ranks::{self, LEAST_NOISE},
};
use crate::{
    record::{BoxError, Run},
    stats::{median, quantile, scatter_about_zero},
    units::Hosts,
};

/// Adds slow rails to the findings, in the place of those about their ranks; returns which ranks are of one, `[rank]`.
/// `leaf`: `[host]`.
pub(super) fn judge(
    run: &dyn Run,
    leaf: &[usize],
    confidence: f64,
    diagnosis: &mut Diagnosis,
) -> Result<Vec<bool>, BoxError> {
    let hosts = &run.header().hosts;
    let mut is_slow = vec![false; hosts.ranks()];
    let rails = Rails::of(hosts, leaf);
    if rails.leaves < 2 || rails.places < 2 {
        return Ok(is_slow);
    }
    let mut sides: Vec<[Side; 2]> = Vec::new();
    let level = ranks::read(run, |time| {
        let send = over_fastest(hosts, leaf, time);
        let receive = over_fastest(hosts, leaf, |rank, partner| time(partner, rank));
        sides.push([send, receive].map(|over| rails.side(over)));
    })?;
    let effects: Vec<Effects> = sides.iter().map(both).collect();
    let found = evidence::weigh(&effects);
    let threshold = evidence::threshold(confidence, found.len(), level.len());
    for own in 0..rails.leaves {
        let mut worst: Option<(f64, Finding)> = None;
        for place in 0..rails.places {
            let number = own * rails.places + place;
            let evidence = &found[number];
            if evidence.effect <= Least::OF_TIMES.way || evidence.score <= threshold {
                continue;
            }
            let (first, last) = evidence.range;
            let effect = |rank: usize| {
                let at = |sides: &[Side; 2]| evidence.direction.of(sides[0].of_ranks[rank], sides[1].of_ranks[rank]);
                median(&mut sides[first..=last].iter().map(at).collect::<Vec<_>>())
            };
            let members: Vec<usize> = rails.members(own, place).collect();
            // Those whose messages meet no others are slow by less than most.
            let cells = Agreement {
                slow: members.iter().filter(|rank| effect(**rank) > Least::OF_TIMES.way / 2.0).count(),
                of: members.len(),
            };
            if cells.slow as f64 <= ALL * cells.of as f64 {
                continue;
            }
            members.iter().for_each(|rank| is_slow[*rank] = true);
            if worst.as_ref().is_none_or(|worst| evidence.score > worst.0) {
                let mut names: Vec<String> = members.iter().map(|rank| hosts.name_of(*rank).to_owned()).collect();
                names.sort_unstable();
                let finding = ranks::finding(run, (&effects, &level), number, evidence);
                worst = Some((evidence.score, Finding { kind: Kind::Rail, hosts: names, cells, ..finding }));
            }
        }
        diagnosis.findings.extend(worst.map(|worst| worst.1));
    }
    diagnosis.findings.retain(|finding| !finding.rank.is_some_and(|rank| is_slow[rank]));
    Ok(is_slow)
}

/// By how much every rank is slower than the fastest one on its host, toward the same partner in another leaf and with
/// the quarter of partners that show the least, `ln(ratio)`, `[rank]`; NaN where that is not known. `time`: of a rank, with
/// a partner.
fn over_fastest(hosts: &Hosts, leaf: &[usize], time: impl Fn(usize, usize) -> f64 + Sync) -> Vec<f64> {
    let of_rank = |rank: usize| {
        let host = hosts.host_of(rank);
        let own = hosts.ranks_of(host);
        let far = (0..hosts.ranks()).filter(|other| own.len() > 1 && leaf[hosts.host_of(*other)] != leaf[host]);
        let over = far.map(|partner| {
            let times = || own.iter().map(|rank| time(*rank, partner));
            // One that was not measured may be the fastest.
            let is_known = times().all(|time| time > 0.0);
            if is_known { (time(rank, partner) / times().fold(f64::INFINITY, f64::min)).ln() } else { f64::NAN }
        });
        quantile(&mut over.collect::<Vec<_>>(), USUAL)
    };
    (0..hosts.ranks()).into_par_iter().map(of_rank).collect()
}

/// What ranks send, or what they receive, slower than is usual for ranks of their place.
struct Side {
    /// `[rank]`.
    of_ranks: Vec<f64>,
    /// The median of the ranks of every rail, and its standard error, `[rail]`.
    of_rails: Vec<(f64, f64)>,
}

/// Leaves and places on a host; rails are numbered by leaf, then by place.
struct Rails<'a> {
    hosts: &'a Hosts,
    leaf: &'a [usize],
    leaves: usize,
    places: usize,
}

impl<'a> Rails<'a> {
    fn of(hosts: &'a Hosts, leaf: &'a [usize]) -> Self {
        let leaves = leaf.iter().max().map_or(0, |last| last + 1);
        let places = (0..hosts.count()).map(|host| hosts.ranks_of(host).len()).max().unwrap_or(0);
        Self { hosts, leaf, leaves, places }
    }

    fn members(&self, leaf: usize, place: usize) -> impl Iterator<Item = usize> {
        let own = (0..self.leaf.len()).filter(move |host| self.leaf[*host] == leaf);
        own.filter_map(move |host| self.hosts.ranks_of(host).get(place).copied())
    }

    /// `over`: by how much ranks are slower than the fastest on their hosts, `[rank]`.
    fn side(&self, mut over: Vec<f64>) -> Side {
        let mut of_rails = vec![(0.0, f64::INFINITY); self.leaves * self.places];
        for place in 0..self.places {
            let known = |over: &[f64], leaf: usize| -> Vec<f64> {
                self.members(leaf, place).map(|rank| over[rank]).filter(|value| !value.is_nan()).collect()
            };
            let middles: Vec<f64> = (0..self.leaves).map(|leaf| median(&mut known(&over, leaf))).collect();
            let usual = quantile(&mut middles.clone(), USUAL);
            for (leaf, middle) in middles.iter().enumerate() {
                self.members(leaf, place).for_each(|rank| over[rank] -= middle);
            }
            let mut apart: Vec<f64> = (0..self.leaves).flat_map(|leaf| known(&over, leaf)).collect();
            let noise = scatter_about_zero(&mut apart).max(LEAST_NOISE);
            for (leaf, middle) in middles.iter().enumerate() {
                let count = known(&over, leaf).len();
                if count > 1 {
                    // A median errs by 1.25 standard deviations over the root of the number.
                    of_rails[leaf * self.places + place] = (middle - usual, 1.2533 * noise / (count as f64).sqrt());
                }
                self.members(leaf, place).for_each(|rank| over[rank] += middle - usual);
            }
        }
        Side { of_ranks: over, of_rails }
    }
}

/// Both ways, and what is sent slower than it is received, of every rail.
fn both([send, receive]: &[Side; 2]) -> Effects {
    let both = || send.of_rails.iter().zip(&receive.of_rails);
    let error: Vec<f64> = both().map(|(send, receive)| send.1.hypot(receive.1) / 2.0).collect();
    Effects {
        common: both().map(|(send, receive)| (send.0 + receive.0) / 2.0).collect(),
        side: both().map(|(send, receive)| (send.0 - receive.0) / 2.0).collect(),
        common_error: error.clone(),
        side_error: error,
    }
}

//! Rails of leaves: ranks of one place that are slow toward other leaves, on nearly all hosts of a leaf.
//!
//! In: the median of every cell, and the leaf of every host. Out: one finding for each such leaf, and the ranks behind
//! it. A rank is compared with the fastest one on its host, toward the same partner in another leaf: whatever the
//! network does to the host, it does to both. Among others, ranks of a host meet more or fewer messages on their way: what
//! the rail itself takes is seen with the partners that show the least. What is usual for ranks of a place is seen in the
//! other leaves. Where none show it, a rail is found by its ranks: most of a place in a leaf are slow.

use rayon::prelude::*;

use super::{
    Agreement, Finding, Kind,
    findings::joined,
    places::{
        ALL, COINCIDENCE, Least, PRECISION, USUAL,
        peers::{self, More},
    },
    ranks::{self, OfRanks},
};
use crate::{
    record::{BoxError, Run},
    stats::{median, quantile, scatter_about_zero},
    units::Hosts,
};

/// The rails that are slow, one of a leaf, with the ranks of all of them. `leaf`: `[host]`; `slow`: ranks that are.
pub(super) fn judge(
    run: &dyn Run,
    leaf: &[usize],
    confidence: f64,
    slow: &[OfRanks],
) -> Result<Vec<OfRanks>, BoxError> {
    let hosts = &run.header().hosts;
    let rails = Rails::of(hosts, leaf);
    if rails.leaves < 2 || rails.places < 2 {
        return Ok(Vec::new());
    }
    // What every rank takes more than is usual for ranks of its place, both ways, and what rails do, by length.
    let (mut of_ranks, mut of_rails) = (Vec::new(), Vec::new());
    let (level, tick) = ranks::read(run, |time| {
        let send = rails.side(over_fastest(hosts, leaf, time));
        let receive = rails.side(over_fastest(hosts, leaf, |rank, partner| time(partner, rank)));
        of_ranks.push([send.0, receive.0]);
        of_rails.push(ranks::both(send.1, receive.1));
    })?;
    let mut found = peers::slow(&of_rails, &level, (Kind::Rail, tick), 1.0 - confidence);
    found.sort_by(|a, b| a.log.total_cmp(&b.log));
    let mut of_leaf: Vec<Option<OfRanks>> = (0..rails.leaves).map(|_| None).collect();
    for slow in found {
        let (first, last) = slow.range;
        let effect = |rank: usize| {
            let at = |[send, receive]: &[Vec<f64>; 2]| slow.direction.of(send[rank], receive[rank]);
            median(&mut of_ranks[first..=last].iter().map(at).collect::<Vec<_>>())
        };
        let own = slow.number / rails.places;
        let members: Vec<usize> = rails.members(own, slow.number % rails.places).collect();
        // Those whose messages meet no others are slow by less than most.
        let cells = Agreement {
            slow: members.iter().filter(|rank| effect(**rank) > slow.effect.min(Least::OF_TIMES.way) / 2.0).count(),
            of: members.len(),
        };
        if cells.slow as f64 <= ALL * cells.of as f64 {
            continue;
        }
        match &mut of_leaf[own] {
            // The one that is the least likely by chance is named.
            Some(rail) => rail.ranks.extend(members),
            unnamed => {
                let names = members.iter().map(|rank| hosts.name_of(*rank).to_owned()).collect();
                let finding = ranks::shown(run, &level, &slow).finding(Kind::Rail, names, cells);
                *unnamed = Some(OfRanks { finding, ranks: members });
            }
        }
    }
    for (own, unnamed) in of_leaf.iter_mut().enumerate().filter(|(_, rail)| rail.is_none()) {
        *unnamed = rails.of_slow_ranks(own, slow);
    }
    Ok(of_leaf.into_iter().flatten().collect())
}

/// Whether so many slow ranks are of one of so many rails because that is slow: with faults of their own they would hardly all
/// be there.
pub(super) fn is_one(slow: usize, rails: usize) -> bool {
    (rails as f64).powi(1 - slow as i32) < COINCIDENCE
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

    /// The rail that most ranks of a place share that are slow in a leaf. Where each meets others on its way, no partners show
    /// what the rail itself takes.
    fn of_slow_ranks(&self, leaf: usize, slow: &[OfRanks]) -> Option<OfRanks> {
        let of_place = |place: usize| {
            let members: Vec<usize> = self.members(leaf, place).collect();
            let own = slow.iter().filter(|own| own.ranks.iter().all(|rank| members.contains(rank)));
            let own: Vec<Finding> = own.map(|own| own.finding.clone()).collect();
            let mut is_one_way = own.iter().all(|finding| finding.direction == own[0].direction);
            is_one_way &= 2 * own.len() > members.len();
            (is_one_way && is_one(own.len(), self.leaves * self.places)).then_some((own, members))
        };
        let mut places: Vec<(Vec<Finding>, Vec<usize>)> = (0..self.places).filter_map(of_place).collect();
        places.sort_by_key(|(own, _)| std::cmp::Reverse(own.len()));
        let (own, ranks) = places.first()?;
        let names = ranks.iter().map(|rank| self.hosts.name_of(*rank).to_owned()).collect();
        let cells = Agreement { slow: own.len(), of: ranks.len() };
        let finding = Finding { kind: Kind::Rail, hosts: names, cells, ..joined(own)? };
        // Several places may share a rail: other ranks of the leaf that are as slow are of it.
        let is_of = |own: &&OfRanks| {
            let is_alike = (own.finding.ratio / finding.ratio).ln().abs() < Least::OF_TIMES.way;
            let is_in = self.leaf[self.hosts.host_of(own.ranks[0])] == leaf;
            is_in && is_alike && own.finding.direction == finding.direction
        };
        let others = slow.iter().filter(is_of).flat_map(|own| own.ranks.iter().copied());
        let mut ranks: Vec<usize> = places.iter().flat_map(|(_, ranks)| ranks.iter().copied()).chain(others).collect();
        ranks.sort_unstable();
        ranks.dedup();
        Some(OfRanks { finding, ranks })
    }

    /// What ranks take more than is usual for ranks of their place, `[rank]`, and what the ranks of every rail do, `[rail]`.
    /// `over`: by how much ranks are slower than the fastest on their hosts, `[rank]`.
    fn side(&self, mut over: Vec<f64>) -> (Vec<f64>, Vec<More>) {
        let nothing = More { level: f64::NAN, fastest: f64::NAN, noise: f64::NAN, pairs: f64::NAN };
        let mut of_rails = vec![nothing; self.leaves * self.places];
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
            let noise = scatter_about_zero(&mut apart).max(PRECISION);
            for (leaf, middle) in middles.iter().enumerate() {
                let count = known(&over, leaf).len();
                if count > 1 {
                    let level = middle - usual;
                    of_rails[leaf * self.places + place] = More { level, fastest: level, noise, pairs: count as f64 };
                }
                self.members(leaf, place).for_each(|rank| over[rank] += middle - usual);
            }
        }
        (over, of_rails)
    }
}

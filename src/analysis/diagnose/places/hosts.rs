//! Hosts that are slow: with all others, or with some of them.
//!
//! In: what hosts add to the times of a [`View`]. Out: [`Suspect`]s. Hosts are compared with hosts: how far healthy ones
//! are apart is seen in the run itself.

use super::{
    Budget, LEAST_HOST, Place, Suspect, View,
    mixture::{Gains, Mixture, two_levels},
    spread::{Spread, tail},
};
use crate::analysis::diagnose::{Direction, Kind};

use super::leaves::ALL;
use rayon::prelude::*;

/// The way in which something is slow, and the logarithm of how improbable that is. `common` and `side`: what both ways
/// have in common and what sending has more than that, each over peers.
pub fn way(common: f64, side: f64, of_common: &Spread, of_side: &Spread) -> (Direction, f64, f64) {
    let (send, receive) = (common + side, common - side);
    // Twice as slow one way as the other, or more: that way.
    let direction = match (receive < send / 2.0, send < receive / 2.0) {
        (true, _) => Direction::Send,
        (_, true) => Direction::Receive,
        _ => Direction::Both,
    };
    let effect = match direction {
        Direction::Both => common,
        Direction::Send => send,
        Direction::Receive => receive,
    };
    let sign = match direction {
        Direction::Both => 0.0,
        Direction::Send => 1.0,
        Direction::Receive => -1.0,
    };
    // A matched filter: the sum of both, weighted by what each says about it.
    let widen = |spread: &Spread| spread.deviation.powi(2) * (1.0 + 1.0 / spread.count as f64);
    let (a, b) = (1.0 / widen(of_common).max(1e-18), sign * sign / widen(of_side).max(1e-18));
    let score = (common * a + sign * side * b) / (a + b).sqrt();
    let freedom = of_common.count.min(of_side.count).saturating_sub(1) as f64;
    (direction, effect, tail(score, freedom).max(f64::MIN_POSITIVE).ln())
}

/// The hosts that are slow as a whole, at this view. Even their fastest pairs are slow then: among many that are
/// measured at the same time, some of a healthy host's pairs meet others on their way.
pub fn whole(view: &View, budget: Budget, only_receive: bool) -> Vec<Suspect> {
    let fit = &view.fit;
    let hosts = fit.send.len();
    // Of hosts most of whose pairs cross a place that was found, too little is left.
    let most = fit.partners.iter().copied().max().unwrap_or(0);
    let pairs = || (0..hosts).filter(|host| 2 * fit.partners[*host] > most);
    let common = |host: usize| (fit.send[host] + fit.receive[host]) / 2.0;
    let side = |host: usize| (fit.send[host] - fit.receive[host]) / 2.0;
    let partners = pairs().map(|host| fit.partners[host]).min().unwrap_or(1) as f64;
    // Of a host's mean over its partners, both ways.
    let least = fit.noise / (2.0 * partners).sqrt();
    let of = |value: &dyn Fn(usize) -> f64| Spread::of(pairs().map(value)).map(|spread| spread.at_least(least));
    if only_receive {
        let Some(spread) = of(&|host| fit.receive[host]) else { return Vec::new() };
        let suspect = |host: usize| {
            let effect = fit.receive[host] - spread.centre;
            let log = spread.tail(effect).max(f64::MIN_POSITIVE).ln() + budget.price(hosts);
            let place = Place::of(Kind::Node, vec![host], Direction::Receive);
            (effect >= LEAST_HOST && budget.allows(log)).then(|| Suspect::new(place, effect, log, view))
        };
        return pairs().filter_map(suspect).collect();
    }
    let (Some(of_common), Some(of_side)) = (of(&common), of(&side)) else { return Vec::new() };
    let suspect = |host: usize| {
        let (direction, effect, log) =
            way(common(host) - of_common.centre, side(host) - of_side.centre, &of_common, &of_side);
        let log = log + budget.price(3 * hosts);
        let place = Place::of(Kind::Node, vec![host], direction);
        let is_slow = effect >= LEAST_HOST && budget.allows(log) && share_of_slow(view, &place, effect) > ALL;
        is_slow.then(|| Suspect::new(place, effect, log, view))
    };
    pairs().filter_map(suspect).collect()
}

/// Share of a host's pairs that are slow by half of the effect at least.
fn share_of_slow(view: &View, place: &Place, effect: f64) -> f64 {
    let fit = &view.fit;
    let host = place.hosts[0];
    let (mut slow, mut all) = (0.0, 0.0f64);
    for other in (0..fit.send.len()).filter(|other| *other != host) {
        let out = fit.beyond_class(host, other) - fit.receive[other];
        let into = fit.beyond_class(other, host) - fit.send[other];
        let value = match place.direction {
            Direction::Both => (out + into) / 2.0,
            Direction::Send => out,
            Direction::Receive => into,
        };
        if !value.is_nan() {
            slow += f64::from(u8::from(value > effect / 2.0));
            all += 1.0;
        }
    }
    slow / all.max(1.0)
}

/// Logarithm of the likelihood ratio of a host's share of pairs that are slow by so much, against that of all other pairs.
fn more_than_elsewhere(view: &View, host: usize, least: f64) -> f64 {
    let rest = &view.fit.rest;
    let hosts = rest.side();
    let (mut own, mut others) = ((0.0, 0.0), (0.0, 0.0));
    for (i, j) in (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j))) {
        let mean = (rest.at(i, j) + rest.at(j, i)) / 2.0;
        if !mean.is_nan() {
            let count: &mut (f64, f64) = if i == host || j == host { &mut own } else { &mut others };
            *count = (count.0 + f64::from(u8::from(mean > least)), count.1 + 1.0);
        }
    }
    // Half a pair more: a rate that was never seen is not known to be zero (Jeffreys).
    let (share, usual) = (own.0 / own.1.max(1.0), (others.0 + 0.5) / (others.1 + 1.0));
    if own.0 == 0.0 || share <= usual {
        return 0.0;
    }
    let fast = own.1 - own.0;
    own.0 * (share / usual).ln() + if fast > 0.0 { fast * ((1.0 - share) / (1.0 - usual)).ln() } else { 0.0 }
}

/// The hosts that are slow with some of the others, but not as a whole; not those for which `is_named`.
pub fn in_part(view: &View, is_named: &[bool], budget: Budget) -> Vec<Suspect> {
    let fit = &view.fit;
    let hosts = fit.send.len();
    let levels = |host: usize| {
        let others: Vec<usize> = (0..hosts).filter(|other| *other != host && !is_named[*other]).collect();
        let of_pair = |other: &usize| (fit.rest.at(host, *other) + fit.rest.at(*other, host)) / 2.0;
        let rests: Vec<f64> = others.iter().map(of_pair).collect();
        Some((host, others, two_levels(&rests, view.pair_noise)?))
    };
    let all: Vec<_> = (0..hosts).into_par_iter().filter(|host| !is_named[*host]).filter_map(levels).collect();
    let peers = Gains::of(all.iter().map(|(_, _, found)| found.gain), hosts - all.len());
    let suspect = |(host, others, found): &(usize, Vec<usize>, Mixture)| {
        let slow: Vec<usize> =
            others.iter().zip(&found.is_upper).filter(|(_, slow)| **slow).map(|(other, _)| *other).collect();
        let log = peers.log(found.gain) + budget.price(hosts);
        // As many pairs as slow elsewhere may meet at a host by chance.
        let log = log.max(budget.price(hosts) - more_than_elsewhere(view, *host, found.effect / 2.0));
        let is_one = slow.len() > 1
            && slow.len() < others.len()
            && found.effect >= LEAST_HOST.max(2.0 * view.tick)
            && budget.allows(log);
        is_one.then(|| {
            let place = Place { toward: slow, ..Place::of(Kind::Node, vec![*host], Direction::Both) };
            Suspect::new(place, found.effect, log, view)
        })
    };
    all.iter().filter_map(suspect).collect()
}

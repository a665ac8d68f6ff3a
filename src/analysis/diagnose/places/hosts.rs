//! Hosts that are slow: with all others, or with some of them.
//!
//! In: what hosts add to the times of a [`View`]. Out: [`Suspect`]s. Hosts are compared with hosts: how far healthy
//! ones are apart is seen in the run itself.

use std::cell::LazyCell;

use rayon::prelude::*;
use statrs::{
    distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal},
    function::factorial::ln_binomial,
};

use super::{
    Budget, Place, Suspect, View,
    distance::Distances,
    fit::{PRECISION, centre},
    leaves::ALL,
    mixture::{Gains, Mixture, two_levels},
    spread::{Spread, tail},
};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::{error_of_median, gain_over_rest, median},
};

/// Twice as slow one way as the other, or more: that way.
pub fn slow_way(common: f64, side: f64) -> Direction {
    let (send, receive) = (common + side, common - side);
    match (receive < send / 2.0, send < receive / 2.0) {
        (true, _) => Direction::Send,
        (_, true) => Direction::Receive,
        _ => Direction::Both,
    }
}

/// The way in which something is slow, and the logarithm of how improbable that is. `common` and `side`: what both ways
/// have in common and what sending has more than that, each over peers.
pub fn way(common: f64, side: f64, of_common: &Spread, of_side: &Spread) -> (Direction, f64, f64) {
    let direction = slow_way(common, side);
    let effect = direction.effect(common, side);
    let sign = match direction {
        Direction::Both => 0.0,
        Direction::Send => 1.0,
        Direction::Receive => -1.0,
    };
    // A matched filter: the sum of both, weighted by what each says about it.
    let widen = |spread: &Spread| spread.deviation.powi(2) * (1.0 + 1.0 / spread.count as f64);
    let (a, b) = (1.0 / widen(of_common).max(1e-18), sign * sign / widen(of_side).max(1e-18));
    let score = (common * a + sign * side * b) / (a + b).sqrt();
    // Of a sum of two variances (Welch and Satterthwaite).
    let freedom = (a + b).powi(2) / (a * a / of_common.freedom + b * b / of_side.freedom);
    (direction, effect, tail(score, freedom).max(f64::MIN_POSITIVE).ln())
}

/// What hosts add at a view. How improbable a host is follows from what is known best: how far hosts are apart; that,
/// where it is no more than is expected of healthy hosts, pooled with how far cells are apart; or, where hosts are few
/// but their pairs are not, from its pairs being the slowest of all.
pub struct Parts<'a> {
    view: &'a View,
    budget: Budget,
    /// Those that are compared.
    pub hosts: Vec<usize>,
    /// Standard deviation of the mean over a host's pairs, both ways, with as many others as is usual.
    of_cells: f64,
}

impl<'a> Parts<'a> {
    pub fn of(view: &'a View, budget: Budget) -> Self {
        let fit = &view.fit;
        // A host of which one pair is known cannot be distinguished from that pair.
        let is_host = |host: &usize| view.is_left(*host) && fit.partners[*host] > 1;
        let hosts: Vec<usize> = (0..fit.send.len()).filter(is_host).collect();
        let usual = median(&mut hosts.iter().map(|host| fit.partners[*host] as f64).collect::<Vec<_>>());
        Self { view, budget, hosts, of_cells: fit.noise / (2.0 * usual).sqrt() }
    }

    /// What both ways of a host have in common.
    fn common(&self, host: usize) -> f64 {
        (self.view.fit.send[host] + self.view.fit.receive[host]) / 2.0
    }

    /// What sending has more than that.
    fn side(&self, host: usize) -> f64 {
        (self.view.fit.send[host] - self.view.fit.receive[host]) / 2.0
    }

    pub fn spreads(&self, value: impl Fn(usize) -> f64) -> Vec<Spread> {
        let alike = self.view.alike(self.budget.least);
        Spread::of_places(self.hosts.iter().map(|host| value(*host)), self.of_cells, alike, self.view.fit.freedom)
    }

    /// Logarithm of the probability that the pairs of a host are the slowest by chance, where hosts differ as the
    /// others do in each of these values, and at least as healthy ones may.
    pub fn log_by_ranks(
        &self,
        host: usize,
        direction: Direction,
        values: &[&dyn Fn(usize) -> f64],
        tests: usize,
    ) -> f64 {
        let alike = self.view.alike(self.budget.least);
        // By so many deviations the slowest of healthy hosts may differ.
        let most = Normal::standard().inverse_cdf(1.0 - self.budget.error.exp() / self.hosts.len() as f64);
        let log = self.log_of_ranks(host, direction, most * alike);
        // How far the others are apart takes time to find, and makes nothing less probable.
        if !self.budget.allows(log + self.price(tests)) {
            return log;
        }
        let of_others = |value: &&dyn Fn(usize) -> f64| {
            let others = self.hosts.iter().filter(|other| **other != host);
            let spread = Spread::of(others.map(|other| value(*other))).map_or(f64::INFINITY, |spread| spread.deviation);
            (spread.powi(2) - self.of_cells.powi(2)).max(0.0).sqrt()
        };
        self.log_of_ranks(host, direction, most * values.iter().map(of_others).fold(alike, f64::max))
    }

    /// Logarithm of the probability that by chance all cells of a host this way are among so many of the slowest, in
    /// whatever order cells come: `C(n + j, n) / C(N, n)` for n cells of N, among which j others are. `less`: what the
    /// host may take more than others without a fault. So much that routes may differ is left aside, for it persists
    /// both ways.
    fn log_of_ranks(&self, host: usize, direction: Direction, less: f64) -> f64 {
        let fit = &self.view.fit;
        let others = (0..fit.send.len()).filter(|other| *other != host);
        let (mut own, mut back) = (Vec::new(), Vec::new());
        for other in others {
            let (out, into) = (fit.beyond_class(host, other), fit.beyond_class(other, host));
            match direction {
                Direction::Both => own.extend([out, into]),
                Direction::Send => (own.push(out), back.push(into)).0,
                Direction::Receive => (own.push(into), back.push(out)).0,
            }
        }
        own.retain(|value| !value.is_nan());
        back.retain(|value| !value.is_nan());
        let Some(least) = own.iter().copied().min_by(f64::total_cmp) else { return 0.0 };
        let least = least - less - self.budget.least.link;
        let slower = |values: &[f64]| values.iter().filter(|value| **value >= least).count();
        let of_row = |i: usize| {
            let row = (0..fit.send.len()).filter(|j| *j != i).map(|j| fit.beyond_class(i, j));
            row.filter(|value| !value.is_nan())
                .fold((0, 0), |(all, slow), value| (all + 1, slow + usize::from(value >= least)))
        };
        let rows = (0..fit.send.len()).into_par_iter().map(of_row);
        let (cells, slow) = rows.reduce(|| (0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let (all, slowest) = (cells - back.len(), slow - slower(&back));
        ln_binomial(slowest as u64, own.len() as u64) - ln_binomial(all as u64, own.len() as u64)
    }

    /// Logarithm of the probability that chance makes as many of a host's pairs slow where pairs of hosts that are not are slow
    /// as well, its price included: those that are measured at the same time meet others on their way, and of a few all may.
    /// Where none is, sizes speak for themselves.
    fn log_of_chance(&self, suspect: &Suspect) -> f64 {
        let (host, direction, least) = (suspect.place.hosts[0], suspect.place.direction, suspect.effect / 2.0);
        let hosts = 0..self.view.fit.send.len();
        let is_as_slow: Vec<bool> =
            hosts.clone().map(|other| direction.effect(self.common(other), self.side(other)) >= least).collect();
        let others = || hosts.clone().filter(|other| *other != host && !is_as_slow[*other]);
        let (slow, all) = slow_of(self.view, &suspect.place, others().map(|other| (host, other)), least);
        let elsewhere = others().flat_map(|i| others().filter(move |j| *j != i).map(move |j| (i, j)));
        let (slow_elsewhere, all_elsewhere) = slow_of(self.view, &suspect.place, elsewhere, least);
        let share = slow_elsewhere as f64 / all_elsewhere.max(1) as f64;
        let chance =
            Binomial::new(share, all).map_or(1.0, |pairs| slow.checked_sub(1).map_or(1.0, |fewer| pairs.sf(fewer)));
        if share > 0.0 { chance.max(f64::MIN_POSITIVE).ln() + self.price(3) } else { f64::NEG_INFINITY }
    }

    /// Of so many tests of every host.
    fn price(&self, tests: usize) -> f64 {
        self.budget.price(tests * self.hosts.len())
    }

    /// A host that is slow by so much, if that is beyond chance of so many tests of every host.
    pub fn suspect(&self, host: usize, direction: Direction, effect: f64, log: f64, tests: usize) -> Option<Suspect> {
        let log = log + self.price(tests);
        let place = Place::of(Kind::Node, vec![host], direction);
        let least = self.budget.least.host.max(self.view.tick);
        (effect >= least && self.budget.allows(log)).then(|| Suspect::new(place, effect, log, self.view))
    }
}

/// The hosts that are slow as a whole, at this view. Even their fastest pairs are slow then: among many that are
/// measured at the same time, some of a healthy host's pairs meet others on their way.
pub fn whole(view: &View, distances: &Distances, budget: Budget) -> Vec<Suspect> {
    let parts = Parts::of(view, budget);
    let common = |host: usize| parts.common(host);
    let side = |host: usize| parts.side(host);
    let spreads: Vec<_> = parts.spreads(common).into_iter().zip(parts.spreads(side)).collect();
    let suspect = |host: usize| {
        let ways = spreads.iter().map(|(a, b)| way(common(host) - a.centre, side(host) - b.centre, a, b));
        let (direction, effect, log) = ways.min_by(|a, b| a.2.total_cmp(&b.2))?;
        if effect < budget.least.host {
            return None;
        }
        let tests = 3 * (spreads.len() + 1);
        let log = log.min(parts.log_by_ranks(host, direction, &[&common, &side], tests));
        let mut found = parts.suspect(host, direction, effect, log, tests)?;
        // Nearly all of its pairs are slow, those inside its leaf too.
        let is_of_host =
            share_of_slow(view, &found.place, effect) > ALL && is_slow_near(view, distances, &found.place, effect);
        found.log = found.log.max(parts.log_of_chance(&found));
        (is_of_host && budget.allows(found.log)).then_some(found)
    };
    parts.hosts.iter().filter_map(|host| suspect(*host)).collect()
}

/// Share of a host's pairs that are slow: by half of the effect at least, but for those that only noise makes so, or
/// hides. What a pair takes more both ways is no noise, but its route.
fn share_of_slow(view: &View, place: &Place, effect: f64) -> f64 {
    let (host, fit) = (place.hosts[0], &view.fit);
    // Of two cards the slower counts once: a pair of two slow hosts is no slower. What cores take adds.
    let is_as_slow =
        |other: usize| view.is_long && place.direction.of(fit.send[other], fit.receive[other]) >= effect / 2.0;
    let others = (0..fit.send.len()).filter(|other| *other != host && !is_as_slow(*other));
    let pairs = others.map(|other| (host, other));
    let (slow, all) = slow_of(view, place, pairs, effect / 2.0);
    // The noise of a mean of both ways: such a mean has half of the variance of noise, and all of that of routes.
    let of_mean = (fit.noise.powi(2) - view.pair_noise.powi(2)).max(PRECISION.powi(2)).sqrt();
    let noise = if place.direction == Direction::Both { of_mean } else { 2f64.sqrt() * of_mean };
    // So many of the slow ones seem usual, and as many of the usual ones slow: if few, that decides nothing.
    let hidden = Normal::standard().sf(effect / 2.0 / noise);
    let seen = slow as f64 / all.max(1) as f64;
    if 2.0 * hidden < 1.0 - ALL { seen } else { (seen - hidden) / (1.0 - 2.0 * hidden) }
}

/// How many of the pairs of a host and another one are slow by more than `least` in the direction of a place, and how
/// many are known; without what the other one adds.
fn slow_of(view: &View, place: &Place, pairs: impl Iterator<Item = (usize, usize)>, least: f64) -> (u64, u64) {
    let fit = &view.fit;
    let values = pairs.map(|(host, other)| {
        let out = fit.beyond_class(host, other) - fit.receive[other];
        let into = fit.beyond_class(other, host) - fit.send[other];
        place.direction.of(out, into)
    });
    values.filter(|value| !value.is_nan()).fold((0, 0), |(slow, all), value| (slow + u64::from(value > least), all + 1))
}

/// Whether a host is slow with those of its leaf too, as far as its pairs with them say: what is slow toward all others
/// alone is the way out of the leaf. What is usual inside a leaf is seen in the other leaves.
fn is_slow_near(view: &View, distances: &Distances, place: &Place, effect: f64) -> bool {
    let fit = &view.fit;
    let hosts = || 0..fit.send.len();
    let value = |i: usize, j: usize| place.direction.of(fit.beyond_class(i, j), fit.beyond_class(j, i));
    let inside = |i: usize| {
        let near = hosts().filter(move |j| *j != i && distances.leaf[*j] == distances.leaf[i]);
        near.map(move |j| value(i, j)).filter(|value| !value.is_nan())
    };
    let host = place.hosts[0];
    let mut near: Vec<f64> = inside(host).collect();
    let elsewhere = hosts().filter(|other| distances.leaf[*other] != distances.leaf[host]);
    let Some(usual) = Spread::of(elsewhere.flat_map(inside)) else { return true };
    let level = centre(&mut near, usual.deviation) - usual.centre;
    let neighbours = hosts().filter(|other| *other != host && distances.leaf[*other] == distances.leaf[host]);
    let is_as_slow = |other: &usize| place.direction.of(fit.send[*other], fit.receive[*other]) >= effect / 2.0;
    // Where its neighbours are as slow, that the way is slow is as likely as that the host is. Else only clear evidence
    // counts: a median errs by twice its standard error in one of twenty cases.
    let count = near.len() as f64;
    let are_as_slow = 2 * neighbours.filter(is_as_slow).count() > near.len();
    let error = if are_as_slow { 0.0 } else { 2.0 * usual.deviation * error_of_median(count) };
    level.is_nan() || level + error >= effect / 2.0
}

/// Logarithm of the likelihood ratio of a place's share of pairs that are slow by so much, against that of all other
/// pairs. `own`: of its pairs; `seen`: of the same pairs, where they are seen from their other ends too; `all`: of all pairs,
/// ascending.
pub fn more_than_elsewhere(own: &[f64], seen: &[f64], all: &[f64], least: f64) -> f64 {
    let beyond = |values: &[f64]| values.iter().filter(|value| **value > least).count() as f64;
    let count = |values: &[f64]| values.iter().filter(|value| !value.is_nan()).count() as f64;
    let (slow, known) = (beyond(own), count(own));
    let slow_of_others = (all.len() - all.partition_point(|value| *value <= least)) as f64 - slow - beyond(seen);
    gain_over_rest([slow, known], [slow_of_others, all.len() as f64 - known - count(seen)])
}

/// The hosts that are slow with some of the others, but not as a whole; without those for which `is_left_out`.
pub fn in_part(view: &View, distances: &Distances, is_left_out: &[bool], budget: Budget) -> Vec<Suspect> {
    let fit = &view.fit;
    let hosts = fit.send.len();
    let of_pair = |i: usize, j: usize| Direction::Both.of(fit.rest.at(i, j), fit.rest.at(j, i));
    // With what the host adds to them: where many are slow, a part of that.
    let beyond = |i: usize, j: usize| of_pair(i, j) + (fit.send[i] + fit.receive[i]) / 2.0;
    let everywhere = LazyCell::new(|| {
        let pairs = (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j);
        let mut all: Vec<f64> = pairs.map(|(i, j)| beyond(i, j)).filter(|value| !value.is_nan()).collect();
        all.par_sort_unstable_by(f64::total_cmp);
        all
    });
    // Slow with none of its leaf and nearly all others: that is the way out of the leaf.
    let is_way_out = |host: usize, others: &[usize], found: &Mixture| {
        let slow_of = |is_near: bool| {
            let own = others.iter().zip(&found.is_upper);
            let own = own.filter(|(other, _)| (distances.leaf[**other] == distances.leaf[host]) == is_near);
            own.fold((0, 0), |(slow, all), (_, is_slow)| (slow + usize::from(*is_slow), all + 1))
        };
        let ((near, known), (far, all)) = (slow_of(true), slow_of(false));
        near == 0 && known > 0 && far as f64 > ALL * all as f64
    };
    let levels = |host: usize| {
        let is_known = |other: &usize| *other != host && !is_left_out[*other] && !of_pair(host, *other).is_nan();
        let others: Vec<usize> = (0..hosts).filter(is_known).collect();
        let rests: Vec<f64> = others.iter().map(|other| of_pair(host, *other)).collect();
        let found = two_levels(&rests, view.pair_noise)?;
        // A host that differs with one other only shows that other, or the way between them.
        let slow = found.is_upper.iter().filter(|slow| **slow).count();
        (slow > 1 && slow + 1 < rests.len() && !is_way_out(host, &others, &found)).then_some((host, others, found))
    };
    let all: Vec<_> = (0..hosts).into_par_iter().filter(|host| !is_left_out[*host]).filter_map(levels).collect();
    let peers = Gains::of(all.iter().map(|(.., found)| found.gain), hosts - all.len());
    let suspect = |(host, others, found): &(usize, Vec<usize>, Mixture)| {
        let slow: Vec<usize> =
            others.iter().zip(&found.is_upper).filter(|(_, slow)| **slow).map(|(other, _)| *other).collect();
        let log = peers.log(found.gain) + budget.price(hosts);
        // What some pairs of a host share may be a way, and healthy ones differ by more than hosts do.
        if found.effect < budget.least.way.max(view.tick) || !budget.allows(log) {
            return None;
        }
        // As many pairs as slow elsewhere may meet at a host by chance.
        let own: Vec<f64> = others.iter().map(|other| beyond(*host, *other)).collect();
        let seen: Vec<f64> = others.iter().map(|other| beyond(*other, *host)).collect();
        let log = log.max(budget.price(hosts) - more_than_elsewhere(&own, &seen, &everywhere, found.effect / 2.0));
        budget.allows(log).then(|| {
            let place = Place { toward: slow, ..Place::of(Kind::Node, vec![*host], Direction::Both) };
            Suspect::new(place, found.effect, log, view)
        })
    };
    all.iter().filter_map(suspect).collect()
}

#[cfg(test)]
mod tests;

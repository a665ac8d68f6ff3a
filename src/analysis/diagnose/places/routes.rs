//! Leaves of which some routes are slow: one of several cables, which destinations choose (static routes).
//!
//! In: a [`View`] of long messages, or hosts that are slow with some others; leaves ([`Set`]). Out: [`Suspect`]s, one way
//! each; those of one leaf are joined where suspects are taken. A whole way is found before ([`super::leaves`]).

use rayon::prelude::*;
use statrs::{
    distribution::{ContinuousCDF, Normal},
    function::factorial::ln_binomial,
};

use super::{
    Budget, Place, Suspect, View,
    fit::{PRECISION, USUAL},
    hosts::more_than_elsewhere,
    leaves::ALL,
    mixture::{Gains, Mixture, two_levels},
    place::Set,
    spread::Spread,
};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::{error_of_median, error_of_quantile, median, median_of, quantile},
};

/// Standard deviation of the upper or the lower half of normal numbers about its own mean, in units of that of all:
/// `sqrt(1 - 2 / pi)`. By it, what is left about two levels is as wide as what is left about one.
const OF_HALVES: f64 = 0.603;

/// Leaves of which some routes are slow: outward, all their hosts toward some others; inward, some of their hosts from
/// everywhere outside (static routes: the destination chooses the cable).
pub fn slow(view: &View, sets: &[Set], budget: Budget) -> Vec<Suspect> {
    if sets.len() < 2 || !view.is_long {
        return Vec::new();
    }
    let pairs = AllPairs::of(view, sets);
    let mut found = outward(view, sets, &pairs, budget);
    found.extend(inward(view, sets, &pairs, budget));
    found
}

/// What pairs of different leaves take beyond their class.
struct AllPairs {
    /// Ascending.
    times: Vec<f64>,
    /// Level and standard deviation of those that meet no others on their way, which are the fastest: as far as their fastest
    /// eighth and their fastest quarter show.
    level: f64,
    noise: f64,
}

impl AllPairs {
    fn of(view: &View, sets: &[Set]) -> Self {
        let pairs = sets
            .iter()
            .flat_map(|set| set.others().flat_map(|other| set.members.iter().map(move |member| (*member, other))));
        let mut times: Vec<f64> =
            pairs.map(|(i, j)| view.fit.beyond_class(i, j)).filter(|time| !time.is_nan()).collect();
        times.par_sort_unstable_by(f64::total_cmp);
        let [eighth, quarter] = [USUAL / 2.0, USUAL].map(|share| {
            let time = times.get((share * times.len() as f64) as usize).copied().unwrap_or(f64::NAN);
            (time, Normal::standard().inverse_cdf(share))
        });
        let noise = ((quarter.0 - eighth.0) / (quarter.1 - eighth.1)).max(PRECISION);
        Self { times, level: eighth.0 - eighth.1 * noise, noise }
    }

    /// Logarithm of how likely it is that as many of some pairs meet others by chance as are slow by half of an `effect`, where
    /// pairs do so elsewhere. `some`: so many `of` so many hosts are chosen.
    fn by_chance(&self, pairs: impl Iterator<Item = f64>, effect: f64, (some, of): (usize, usize)) -> f64 {
        let own: Vec<f64> = pairs.filter(|time| !time.is_nan()).collect();
        ln_binomial(of as u64, some as u64) - more_than_elsewhere(&own, &[], &self.times, self.level + effect / 2.0)
    }
}

/// What the fastest eighth of the pairs from some hosts toward another one takes beyond its class, and how many they are. It is
/// of hosts that add nothing: of two slow cards the slower one counts, and says nothing of the way. And among many that are
/// measured at the same time it meets no others, so that it shows what the way itself takes.
fn toward(view: &View, destination: usize, from: impl Iterator<Item = usize>) -> (f64, usize) {
    let from = from.filter(|source| *source != destination);
    let mut times: Vec<f64> = from.map(|source| view.fit.beyond_class(source, destination)).collect();
    times.retain(|time| !time.is_nan());
    (quantile(&mut times, USUAL / 2.0), times.len())
}

/// Leaves that are slow toward some of the others: destinations have two levels.
fn outward(view: &View, sets: &[Set], pairs: &AllPairs, budget: Budget) -> Vec<Suspect> {
    struct Table<'a> {
        set: &'a Set,
        ends: Vec<usize>,
        values: Vec<f64>,
    }
    struct Found<'a> {
        set: &'a Set,
        slow: Vec<usize>,
        effect: f64,
        /// Of two levels against one.
        gain: f64,
        more_than_chance: f64,
    }
    let fit = &view.fit;
    let mut tables = Vec::new();
    for set in sets.iter().filter(|set| set.members.len() > 1) {
        let ends: Vec<usize> = set.others().collect();
        let value = |&j: &usize| {
            let (own, count) = toward(view, j, set.members.iter().copied());
            let (usual, _) = toward(view, j, set.others());
            // One host alone says nothing of a way that it shares.
            if count < 2 { f64::NAN } else { own - usual }
        };
        tables.push(Table { set, values: ends.iter().map(value).collect(), ends });
    }
    let error = |table: &Table| pairs.noise * error_of_quantile(USUAL / 2.0, table.set.members.len() as f64);
    // How far destinations are apart that take the same cable. A leaf with slow routes has two levels, and is taken about
    // these: of few leaves it would widen what it is judged by.
    let rests = tables.iter().flat_map(|table| {
        let levels = two_levels(&table.values, error(table));
        let level = median(&mut table.values.clone());
        let rest = move |(number, value): (usize, &f64)| match &levels {
            Some(levels) if levels.is_upper[number] => (value - levels.lower - levels.effect) / OF_HALVES,
            Some(levels) => (value - levels.lower) / OF_HALVES,
            None => value - level,
        };
        table.values.iter().enumerate().map(rest)
    });
    let Some(spread) = Spread::of(rests) else { return Vec::new() };
    let levels = |table: &Table| two_levels(&table.values, spread.deviation.max(error(table)));
    let slow_routes = |table| {
        let Mixture { is_upper, effect, gain, .. } = levels(table)?;
        let upper = table.ends.iter().zip(&is_upper).filter(|(_, slow)| **slow);
        let slow: Vec<usize> = upper.map(|(end, _)| *end).collect();
        // Where most ends are slow toward, other leaves are slow toward the rest.
        if slow.len() < 2 || slow.len() as f64 >= ALL * table.ends.len() as f64 {
            return None;
        }
        let own = slow.iter().flat_map(|end| table.set.members.iter().map(|i| fit.beyond_class(*i, *end)));
        let more_than_chance = -pairs.by_chance(own, effect, (slow.len(), table.ends.len()));
        Some(Found { set: table.set, slow, effect, gain, more_than_chance })
    };
    let all: Vec<_> = tables.iter().filter_map(slow_routes).collect();
    // Where messages meet, healthy leaves have two levels too.
    let peers = Gains::of(all.iter().map(|own| own.more_than_chance), tables.len() - all.len());
    let suspect = |own: Found| {
        let log = peers.log(own.more_than_chance).max(-own.gain) + budget.price(2 * sets.len());
        // Toward whole leaves only, or toward one of several: that is the way to these, no matter of routes.
        let members = |set: &Set| set.members.iter().filter(|member| own.slow.contains(member)).count();
        let are_whole = sets.iter().all(|set| [0, set.members.len()].contains(&members(set)));
        let is_one = sets.len() > 2 && sets.iter().any(|set| members(set) == own.slow.len());
        let is_found = own.effect >= budget.least.host && budget.allows(log) && !are_whole && !is_one;
        let place = Place { toward: own.slow, ..Place::of(Kind::Routes, own.set.members.clone(), Direction::Send) };
        is_found.then(|| Suspect::new(place, own.effect, log, view))
    };
    all.into_iter().filter_map(suspect).collect()
}

/// Hosts that are slow with some others, where these are most of a leaf and the others are the same: that leaf's routes, whose
/// messages meet so many others that destinations have no two levels.
pub fn of_parts(mut parts: Vec<Suspect>, sets: &[Set]) -> Vec<Suspect> {
    for Set { members, is_in } in sets {
        let is_own = |part: &Suspect| is_in[part.place.hosts[0]] && part.place.direction != Direction::Receive;
        let own: Vec<&Suspect> = parts.iter().filter(|part| is_own(part)).collect();
        if own.len() < 2 || own.len() as f64 <= ALL * members.len() as f64 {
            continue;
        }
        let is_common = |end: &usize| 2 * own.iter().filter(|part| part.place.toward.contains(end)).count() > own.len();
        let toward: Vec<usize> = (0..is_in.len()).filter(|end| !is_in[*end] && is_common(end)).collect();
        let slowest = own.iter().min_by(|a, b| a.log.total_cmp(&b.log)).map(|part| Suspect::clone(part));
        let Some(slowest) = slowest.filter(|_| !toward.is_empty()) else { continue };
        parts.retain(|part| !is_own(part));
        let place = Place { toward, ..Place::of(Kind::Routes, members.clone(), Direction::Send) };
        parts.push(Suspect { place, ..slowest });
    }
    parts
}

/// Leaves some of whose hosts are reached slowly from outside, and not from inside as one with a slow card is.
fn inward(view: &View, sets: &[Set], pairs: &AllPairs, budget: Budget) -> Vec<Suspect> {
    let fit = &view.fit;
    let hosts = fit.send.len();
    let (mut outside, mut more, mut errors) = (vec![f64::NAN; hosts], vec![f64::NAN; hosts], vec![f64::NAN; hosts]);
    for set in sets {
        for &j in &set.members {
            let (far, of_far) = toward(view, j, set.others());
            // Inside a leaf none meet, and half of the pairs show what is usual there.
            let near = set.members.iter().filter(|i| **i != j).map(|i| fit.beyond_class(*i, j));
            let mut near: Vec<f64> = near.filter(|time| !time.is_nan()).collect();
            let of_far = error_of_quantile(USUAL / 2.0, of_far as f64);
            errors[j] = pairs.noise * of_far.hypot(error_of_median(near.len() as f64));
            (outside[j], more[j]) = (far, far - median(&mut near));
        }
    }
    let usual = median_of(outside.iter().copied().filter(|value| !value.is_nan()), &mut Vec::new());
    let Some(peers) = Spread::of(more.iter().copied()) else { return Vec::new() };
    let log_of = |host: usize| {
        let peers = peers.at_least(errors[host]);
        peers.log(more[host] - peers.centre, 1.0) + budget.price(2 * hosts)
    };
    let is_slow = |host: &usize| {
        let effect = more[*host] - peers.centre;
        // Hosts that are fast inside only show that others are slow there; and those that are slow from some other sets
        // alone that the ways out of these are.
        let is_slow_from = |set: &&Set| {
            let (from, _) = toward(view, *host, set.members.iter().copied());
            from.is_nan() || from - usual > effect / 2.0
        };
        let others = || sets.iter().filter(|set| !set.is_in[*host]);
        effect >= budget.least.host
            && budget.allows(log_of(*host))
            && outside[*host] - usual > effect / 2.0
            && others().filter(is_slow_from).count() as f64 > ALL * others().count() as f64
    };
    let suspect = |set: &Set| {
        let slow: Vec<usize> = set.members.iter().copied().filter(is_slow).collect();
        let effect = median(&mut slow.iter().map(|host| more[*host] - peers.centre).collect::<Vec<_>>());
        // Where all of its hosts are, though some of them by too little to be found, it is no matter of routes.
        let as_slow = set.members.iter().filter(|host| more[**host] - peers.centre > effect / 2.0).count();
        if slow.is_empty() || as_slow as f64 >= ALL * set.members.len() as f64 {
            return None;
        }
        let by_level = slow.iter().map(|host| log_of(*host)).fold(0.0, f64::min);
        let own = slow.iter().flat_map(|host| set.others().map(|i| fit.beyond_class(i, *host)));
        let by_chance = pairs.by_chance(own, effect, (slow.len(), set.members.len()));
        let log = by_level.max(by_chance + budget.price(2 * sets.len()));
        let place = Place { toward: slow, ..Place::of(Kind::Routes, set.members.clone(), Direction::Receive) };
        budget.allows(log).then(|| Suspect::new(place, effect, log, view))
    };
    sets.iter().filter_map(suspect).collect()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::{super::best, *};
    use crate::analysis::{
        diagnose::places::{Distances, Least},
        drawn::{generator, square},
    };

    const BUDGET: Budget = Budget { views: 1.0, error: -4.605, least: Least::OF_TIMES };

    /// Leaves of so many hosts each, without noise.
    fn view(leaves: usize, members: usize, rest: impl Fn(usize, usize) -> f64) -> (View, Vec<Set>) {
        let hosts = leaves * members;
        let sets = (0..leaves).map(|leaf| Set::of((leaf * members..(leaf + 1) * members).collect(), hosts)).collect();
        (View::of_square(square(hosts, rest), &Distances::flat(hosts), 0.0), sets)
    }

    #[test]
    fn routes_are_found_where_nothing_else_differs_at_all() {
        // As a simulator has it: every second host outside is reached over a cable that is slow.
        let far = |i: usize, j: usize| if i < 8 && j >= 8 && j % 2 == 1 { 0.43 } else { 0.0 };
        let (view, sets) = view(4, 8, far);
        let found = best(slow(&view, &sets, BUDGET));
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found.place.direction, &found.place.hosts), (Direction::Send, &sets[0].members));
        assert!(found.place.toward.iter().all(|host| *host >= 8 && host % 2 == 1), "{:?}", found.place.toward);
    }

    #[test]
    fn one_of_two_cables_of_one_leaf_of_three_is_found() {
        // Every second destination is reached over it, out of the leaf and in it. Every second host sends more slowly, by next
        // to nothing.
        let way = |i: usize, j: usize| match (i / 8 == j / 8, i / 8 == 1 || j / 8 == 1, j % 2) {
            (true, ..) => 0.0,
            (_, true, 0) => 0.61,
            _ => 0.09,
        };
        let times = square(24, |i, j| way(i, j) + if i.is_multiple_of(2) { 1e-4 } else { 0.0 });
        let sets: Vec<Set> = (0..3).map(|leaf| Set::of((leaf * 8..(leaf + 1) * 8).collect(), 24)).collect();
        let view = View::of_square(times, &Distances::of_leaves((0..24).map(|host| host / 8).collect()), 0.0);
        let found = outward(&view, &sets, &AllPairs::of(&view, &sets), BUDGET);
        let [found] = &found[..] else { panic!("{found:?}") };
        let toward: Vec<usize> = (0..24).filter(|j| j / 8 != 1 && j % 2 == 0).collect();
        assert_eq!((&found.place.hosts, &found.place.toward), (&sets[1].members, &toward));
    }

    #[test]
    fn a_slow_cable_is_seen_by_the_pairs_that_meet_no_others() {
        // Between leaves every second message meets others, and all that the last leaf sends to three hosts.
        for (direction, toward) in
            [(Direction::Receive, &[12, 15][..]), (Direction::Send, &[0, 3, 6, 9, 18, 21, 24, 27])]
        {
            let is_slow = |i: usize, j: usize| {
                j.is_multiple_of(3) && if direction == Direction::Send { i / 6 == 2 } else { j / 6 == 2 }
            };
            let mut rng = generator(7);
            let mut met = |i: usize, j: usize| {
                let is_met = rng.random_bool(0.5) || i / 6 == 4 && [1, 7, 10].contains(&j);
                if is_met { rng.random_range(0.4..1.0) } else { 0.0 }
            };
            let mut between = |i: usize, j: usize| met(i, j) + if is_slow(i, j) { 0.4 } else { 0.0 };
            let times = square(30, |i, j| if i / 6 == j / 6 { 0.0 } else { between(i, j) });
            let sets: Vec<Set> = (0..5).map(|leaf| Set::of((leaf * 6..(leaf + 1) * 6).collect(), 30)).collect();
            let view = View::of_square(times, &Distances::of_leaves((0..30).map(|host| host / 6).collect()), 0.0);
            let found = best(slow(&view, &sets, BUDGET));
            let [Suspect { place, .. }] = &found[..] else { panic!("{found:?}") };
            assert_eq!((&place.hosts, place.direction, &place.toward[..]), (&sets[2].members, direction, toward));
        }
    }

    #[test]
    fn that_all_that_comes_to_one_host_meets_others_is_chance_and_to_two_of_a_leaf_it_is_a_cable() {
        // As every second message does.
        let found = |slow: &[usize]| {
            let is_met = |i: usize, j: usize| i / 4 != j / 4 && (slow.contains(&j) || (i + j) % 2 == 1);
            let (view, sets) = view(3, 4, |i, j| if is_met(i, j) { 0.5 } else { 0.0 });
            let found = best(super::slow(&view, &sets, BUDGET));
            found.into_iter().map(|suspect| suspect.place.toward).collect::<Vec<_>>()
        };
        assert!(found(&[9]).is_empty(), "{:?}", found(&[9]));
        assert_eq!(found(&[9, 10]), [[9, 10]]);
    }

    #[test]
    fn what_one_host_of_two_has_toward_some_is_no_matter_of_routes_and_what_both_have_is() {
        let toward = [5, 8, 11];
        let of = |slow: &[usize]| {
            // It is the faster one of its leaf otherwise.
            let (view, sets) = view(8, 2, |i, j| match (slow.contains(&i), toward.contains(&j)) {
                (true, true) => 0.9,
                (true, false) => -0.02,
                _ => 0.0,
            });
            best(super::slow(&view, &sets, BUDGET)).into_iter().map(|suspect| suspect.place.toward).collect::<Vec<_>>()
        };
        assert!(of(&[0]).is_empty(), "{:?}", of(&[0]));
        assert_eq!(of(&[0, 1]), [toward]);
    }

    #[test]
    fn routes_are_slow_both_ways_unless_one_is_twice_as_slow_as_the_other() {
        let (view, sets) = view(3, 4, |_, _| 0.0);
        let suspect = |direction: Direction, effect: f64| {
            let toward = if direction == Direction::Send { vec![5] } else { vec![1] };
            let place = Place { toward, ..Place::of(Kind::Routes, sets[0].members.clone(), direction) };
            Suspect::new(place, effect, -20.0 * effect, &view)
        };
        for (out, into, direction, toward) in [
            (1.0, 0.6, Direction::Both, vec![5, 1]),
            (1.0, 0.4, Direction::Send, vec![5]),
            (0.4, 1.0, Direction::Receive, vec![1]),
        ] {
            let found = best(vec![suspect(Direction::Send, out), suspect(Direction::Receive, into)]);
            let [found] = &found[..] else { panic!("{found:?}") };
            assert_eq!((found.place.direction, &found.place.toward), (direction, &toward), "{out} {into}");
        }
    }

    #[test]
    fn most_hosts_of_a_leaf_that_are_slow_with_the_same_others_are_its_routes_and_fewer_are_hosts() {
        let (_, sets) = view(4, 8, |_, _| 0.0);
        // Each with two others that all are slow with, and with one more.
        let part = |(host, direction): (usize, Direction)| {
            let place = Place { toward: vec![10, 14, 20 + host], ..Place::of(Kind::Node, vec![host], direction) };
            Suspect::at(place, 0.4, -20.0 - host as f64, (1, 3))
        };
        let parts = |hosts: std::ops::Range<usize>, direction| {
            of_parts(hosts.map(|host| part((host, direction))).collect(), &sets)
        };
        let [routes] = &parts(0..7, Direction::Both)[..] else { panic!("one leaf") };
        assert_eq!((routes.place.kind, &routes.place.hosts), (Kind::Routes, &sets[0].members));
        assert_eq!((&routes.place.toward[..], routes.place.direction), (&[10, 14][..], Direction::Send));
        assert_eq!((routes.log, routes.range), (-26.0, (1, 3)));
        // Six of eight may be hosts; and which cable a message takes to its host is the destination's choice.
        for (hosts, direction) in [(0..6, Direction::Both), (0..8, Direction::Receive), (2..3, Direction::Send)] {
            let found = parts(hosts.clone(), direction);
            assert_eq!(found.iter().filter(|found| found.place.kind == Kind::Node).count(), hosts.len());
        }
    }
}

//! Hosts that share their way: slow toward all others, and not with each other.
//!
//! In: hosts that are slow, and the [`View`]s. Out: the same, of which those that share a way are one [`Suspect`]: of a leaf
//! that is not known, as of few partners none is, or that is taken for a part of another one. A pair of two hosts with slow
//! cards or cores is slow as well; one that is fast crosses neither's fault, which is then the way that both have in
//! common. Of a leaf of which every host has met a few others only, not all have met each other: where no leaves are known,
//! those that are as slow and have met none of the others are of the same way, as that takes fewer faults.
//!
//! What it cannot see: whether hosts share their way of which no two have met. Pairs of such hosts are measured again, and
//! put together in the end ([`super::Verdict::joined`]).

use super::{Place, Suspect, View};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::median,
};

/// Of hosts that are slow, those that share a way put together.
pub fn ways(found: Vec<Suspect>, views: &[View], are_leaves_known: bool) -> Vec<Suspect> {
    let mut ways: Vec<Way> = found.iter().filter_map(|suspect| Way::of(suspect, views)).collect();
    // First those of which any pair is fast.
    join(&mut ways, |a, b| a.is_one(b));
    let hosts: Vec<usize> = ways.iter().flat_map(|way| way.members.clone()).collect();
    ways.iter_mut().for_each(|way| way.take_in(&hosts));
    // Where there are such, those that are as slow and have not met. What is found only once these are left out is joined
    // in the end ([`super::Verdict::joined`]), when sizes are those of other lengths too.
    if !are_leaves_known && ways.iter().any(|way| way.members.len() > 1) {
        join(&mut ways, |a, b| a.members.len().max(b.members.len()) > 1 && a.may_be_one(b));
    }
    let is_of_way = |suspect: &Suspect| {
        let is_in = |way: &Way| way.members.len() > 1 && way.members.contains(&suspect.place.hosts[0]);
        suspect.place.kind == Kind::Node && ways.iter().any(is_in)
    };
    let others: Vec<Suspect> = found.iter().filter(|suspect| !is_of_way(suspect)).cloned().collect();
    let shared = ways.iter().filter(|way| way.members.len() > 1).map(Way::suspect);
    shared.chain(others).collect()
}

/// Hosts that share a way, or one that is slow.
struct Way<'a> {
    /// Ascending.
    members: Vec<usize>,
    direction: Direction,
    /// Of every host that was found slow.
    effects: Vec<f64>,
    log: f64,
    /// Where that of its hosts shows that is the most improbable.
    view: &'a View,
}

impl<'a> Way<'a> {
    /// A host that is slow with all others.
    fn of(suspect: &Suspect, views: &'a [View]) -> Option<Self> {
        let (first, last) = suspect.range;
        let view =
            views.iter().find(|view| view.lengths[0] == first && view.lengths[view.lengths.len() - 1] == last)?;
        let Place { kind: Kind::Node, hosts, direction, .. } = &suspect.place else { return None };
        let (effects, log) = (vec![suspect.effect], suspect.log);
        Some(Self { members: hosts.clone(), direction: *direction, effects, log, view })
    }

    fn effect(&self) -> f64 {
        median(&mut self.effects.clone())
    }

    /// What the pairs of a host with others take that cross its way out if they are not of the same way.
    fn crossing(&self, host: usize, others: impl Iterator<Item = usize>) -> Vec<f64> {
        let fit = &self.view.fit;
        let ways = |other: usize| {
            let out = (self.direction != Direction::Receive).then(|| fit.beyond_class(host, other));
            let into = (self.direction != Direction::Send).then(|| fit.beyond_class(other, host));
            [out, into].into_iter().flatten()
        };
        others.filter(|other| *other != host).flat_map(ways).filter(|value| !value.is_nan()).collect()
    }

    /// How many of the pairs of its hosts with a host are fast and how many are slow, by half of the effect.
    fn met(&self, host: usize, effect: f64) -> (usize, usize) {
        let beyond = self.crossing(host, self.members.iter().copied());
        let fast = beyond.iter().filter(|value| **value < effect / 2.0).count();
        (fast, beyond.len() - fast)
    }

    /// What a host takes with most others at the lengths that show the way.
    fn level(&self, host: usize) -> f64 {
        let outside = (0..self.view.fit.send.len()).filter(|other| !self.members.contains(other));
        median(&mut self.crossing(host, outside))
    }

    /// Whether they are as slow, and the same way.
    fn is_like(&self, other: &Self) -> bool {
        let (own, of_other) = (self.effect(), other.effect());
        self.direction == other.direction && (own - of_other).abs() < own.max(of_other) / 2.0
    }

    /// Whether hosts of both are fast with each other at the lengths that show one of them.
    fn is_one(&self, other: &Self) -> bool {
        self.is_like(other) && (self.shows(other) || other.shows(self))
    }

    /// The same at its own lengths, by the median of what the pairs between both take and by half of what each takes there: a
    /// pair that is fast where one of both is usual says nothing.
    fn shows(&self, other: &Self) -> bool {
        let pairs = |some: &Self, others: &Self| -> Vec<f64> {
            some.members.iter().flat_map(|host| self.crossing(*host, others.members.iter().copied())).collect()
        };
        let mut between = [pairs(self, other), pairs(other, self)].concat();
        let effect = self.effect().min(other.effect());
        let hosts = || self.members.iter().chain(&other.members);
        let least = hosts().map(|host| self.level(*host)).fold(effect, f64::min);
        median(&mut between) < least / 2.0 && hosts().all(|host| self.level(*host) >= effect / 2.0)
    }

    /// Whether they may be one as far as is known: none of their pairs is slow.
    fn may_be_one(&self, other: &Self) -> bool {
        let effect = self.effect().min(other.effect());
        self.is_like(other) && other.members.iter().all(|host| self.met(*host, effect).1 == 0)
    }

    /// Hosts that are fast with its own and slow with others, though not enough to be `found`: those that have met many of
    /// their leaf are slow with few.
    fn take_in(&mut self, found: &[usize]) {
        let hosts = self.view.fit.send.len();
        let effect = self.effect();
        let is_inside = |way: &Self, host: &usize| {
            let (fast, slow) = way.met(*host, effect);
            let is_new = !found.contains(host) && !way.members.contains(host);
            is_new && fast > slow && way.level(*host) >= effect / 2.0
        };
        while let Some(host) = (0..hosts).find(|host| self.members.len() > 1 && is_inside(self, host)) {
            self.members.push(host);
        }
        self.members.sort_unstable();
    }

    fn suspect(&self) -> Suspect {
        let place = Place::of(Kind::Group, self.members.clone(), self.direction);
        Suspect::new(place, self.effect(), self.log, self.view)
    }
}

/// Joins ways of which that may be said, two by two.
fn join(ways: &mut Vec<Way>, may_be: impl Fn(&Way, &Way) -> bool) {
    let pair = |ways: &[Way]| {
        let mut pairs = (0..ways.len()).flat_map(|a| (a + 1..ways.len()).map(move |b| (a, b)));
        pairs.find(|(a, b)| may_be(&ways[*a], &ways[*b]))
    };
    while let Some((a, b)) = pair(ways) {
        let other = ways.remove(b);
        let way = &mut ways[a];
        (way.view, way.log) = if other.log < way.log { (other.view, other.log) } else { (way.view, way.log) };
        way.members.extend(other.members);
        way.members.sort_unstable();
        // Both may have taken in the same one.
        way.members.dedup();
        way.effects.extend(other.effects);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Budget, Distances, Least, best, hosts::whole},
        *,
    };
    use crate::analysis::drawn::{generator, normal, square};

    /// Six leaves of six.
    const HOSTS: usize = 36;

    /// What is named of hosts of which each has met ten others, where pairs take so much longer.
    fn named(is_long: bool, more: impl Fn(usize, usize) -> f64) -> Vec<(Kind, Vec<usize>)> {
        let mut rng = generator(3);
        let have_met = |i: usize, j: usize| matches!(i.abs_diff(j).min(HOSTS - i.abs_diff(j)), 1 | 3 | 7 | 11 | 16);
        let values = square(HOSTS, |i, j| match have_met(i, j) {
            true => 0.01 * normal(&mut rng) + more(i, j),
            false => f64::NAN,
        });
        let distances = Distances::flat(HOSTS);
        let views = [View { is_long, ..View::of_square(values, &distances, 0.01) }];
        let budget = Budget { views: 1.0, error: -4.605, least: Least::OF_TIMES };
        let found = ways(best(whole(&views[0], &distances, budget)), &views, false);
        let mut places: Vec<_> = found.into_iter().map(|suspect| (suspect.place.kind, suspect.place.hosts)).collect();
        places.sort_by(|a, b| a.1.cmp(&b.1));
        places
    }

    #[test]
    fn hosts_that_are_slow_with_all_but_each_other_share_their_way() {
        let is_in = |host: usize| host < 6;
        let way: Vec<usize> = (0..6).collect();
        assert_eq!(named(true, |i, j| if !is_in(i) && is_in(j) { 0.7 } else { 0.0 }), [(Kind::Group, way)]);
        // Not all have met, and one has met most of its leaf.
        for (is_long, way) in [(true, vec![0, 1, 5, 6, 10]), (false, vec![0, 1, 2, 3, 7])] {
            let of_way = |i: usize, j: usize| if !way.contains(&i) && way.contains(&j) { 0.7 } else { 0.0 };
            assert_eq!(named(is_long, of_way), [(Kind::Group, way.clone())]);
        }
        // Of two ways each has its own, and a host that is slower has neither.
        let of = |host: usize| host / 6;
        let two = |i: usize, j: usize| if of(i) < 2 && of(i) != of(j) { 0.7 } else { 0.0 };
        let expected = [(Kind::Group, (0..6).collect()), (Kind::Group, (6..12).collect()), (Kind::Node, vec![30])];
        assert_eq!(named(true, |i, j| if i == 30 { 1.6 } else { two(i, j) }), expected);
    }

    #[test]
    fn hosts_with_slow_cards_are_hosts_however_many_they_are() {
        let card = |host: usize| if host < 6 { 0.7 } else { 0.0 };
        let found = named(true, |i, j| f64::max(card(i), card(j)));
        assert_eq!(found, (0..6).map(|host| (Kind::Node, vec![host])).collect::<Vec<_>>());
        // A pair of two that are slow by more and by less is slow by the more.
        let receive = |_: usize, host: usize| [0.1, 0.8].get(host).copied().unwrap_or(0.0);
        assert_eq!(named(true, receive), [(Kind::Node, vec![0]), (Kind::Node, vec![1])]);
        // Nor is it their way where one is much slower than the other, whatever their pair takes.
        let apart = |from: usize, to: usize| if from < 2 { 0.0 } else { receive(from, to) };
        assert_eq!(named(true, apart), [(Kind::Node, vec![0]), (Kind::Node, vec![1])]);
    }

    #[test]
    fn hosts_that_send_slowly_at_other_lengths_share_no_way_though_their_pair_is_fast_at_those_of_one() {
        let mut rng = generator(9);
        let distances = Distances::flat(HOSTS);
        let views = [0, 1].map(|length| {
            let is_slow = |host: usize| host == 0 || host == 1 && length == 1;
            let values = square(HOSTS, |i, _| 0.01 * normal(&mut rng) + if is_slow(i) { 1.0 } else { 0.0 });
            View { lengths: vec![length], ..View::of_square(values, &distances, 0.01) }
        });
        let found = [0, 1].map(|host| {
            let place = Place::of(Kind::Node, vec![host], Direction::Send);
            Suspect::new(place, 1.0, -100.0, &views[host])
        });
        let kinds: Vec<_> = ways(found.to_vec(), &views, true).iter().map(|suspect| suspect.place.kind).collect();
        assert_eq!(kinds, [Kind::Node; 2]);
    }

    #[test]
    fn hosts_that_receive_slowly_share_no_way_as_one_way_between_them_seems_fast() {
        let mut rng = generator(11);
        let is_slow = |host: usize| host < 2;
        let mut values = square(HOSTS, |_, host| 0.01 * normal(&mut rng) + if is_slow(host) { 0.18 } else { 0.0 });
        values.set(0, 1, 0.08);
        values.set(1, 0, 0.15);
        let distances = Distances::flat(HOSTS);
        let views = [View::of_square(values, &distances, 0.01)];
        let budget = Budget { views: 1.0, error: -4.605, least: Least::OF_TIMES };
        let found = ways(best(whole(&views[0], &distances, budget)), &views, true);
        let named: Vec<_> = found.iter().map(|own| (own.place.kind, &own.place.hosts[..])).collect();
        assert_eq!(named, [(Kind::Node, &[0][..]), (Kind::Node, &[1])]);
    }
}

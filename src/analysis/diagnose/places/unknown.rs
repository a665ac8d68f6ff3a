//! Ways of leaves that are not known: hosts that are slow toward all others, and fast with each other.
//!
//! In: a [`View`] in which distances hardly matter, of a run of so few pairs that not all leaves are known. Out: [`Suspect`]s.
//! Every pair is slow or fast, and a set of hosts explains those that cross its way: hosts are taken in and put out one by
//! one as long as what that explains is worth more than it costs to name a host. As many hosts that are slow each by itself
//! explain as much, but for their pairs with each other: these decide.
//!
//! What it cannot see: which of two halves has the slow way.

use statrs::function::factorial::ln_binomial;

use super::{
    Budget, LEAST_MEASURED, Place, Suspect, View, distance::Distances, fit::USUAL, hosts::more_than_elsewhere,
};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::{median, quantile},
};

/// Ways in which hosts may be slow.
const WAYS: [Direction; 3] = [Direction::Both, Direction::Send, Direction::Receive];

/// The ways that are slow.
pub fn ways(view: &View, distances: &Distances, budget: Budget) -> Vec<Suspect> {
    let hosts = view.fit.send.len();
    let measured = view.met.iter().sum::<usize>() as f64 / (hosts * hosts) as f64;
    if distances.is_torus() || measured >= LEAST_MEASURED || !view.is_long {
        return Vec::new();
    }
    let of_direction = |direction: Direction| {
        let level = |host: usize| (direction.of(view.fit.send[host], view.fit.receive[host]), host);
        let least = budget.least.of(Kind::Group, true);
        let mut starts: Vec<(f64, usize)> = (0..hosts).map(level).filter(|(level, _)| *level >= least).collect();
        starts.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        // A single host shares its way with no other.
        (starts.len() > 1).then_some((direction, starts))
    };
    let starts = WAYS.into_iter().filter_map(of_direction);
    starts.flat_map(|(direction, starts)| Pairs::of(view, direction).ways(&starts, budget)).collect()
}

/// Pairs one way, or both ways as one: what slows a pair for a moment slows it both ways.
struct Pairs<'a> {
    view: &'a View,
    direction: Direction,
    /// What the pairs of a host take that leave it this way, each with the other host, `[host]`.
    leaving: Vec<Vec<(usize, f64)>>,
    /// The same of those that come to it.
    coming: Vec<Vec<(usize, f64)>>,
    /// What the slowest quarter of those that leave a host takes at least, `[host]`.
    slowest: Vec<f64>,
    /// What all pairs take, ascending.
    all: Vec<f64>,
}

/// Hosts that may share a way.
struct Members {
    /// `[host]`.
    is_in: Vec<bool>,
    /// What pairs that cross it take more.
    effect: f64,
}

impl Members {
    fn hosts(&self) -> impl Iterator<Item = usize> {
        (0..self.is_in.len()).filter(|host| self.is_in[*host])
    }

    fn is_slow(&self, value: f64) -> bool {
        value > self.effect / 2.0
    }
}

impl<'a> Pairs<'a> {
    fn of(view: &'a View, direction: Direction) -> Self {
        let (fit, hosts) = (&view.fit, view.fit.send.len());
        let value = |i: usize, j: usize| direction.of(fit.beyond_class(i, j), fit.beyond_class(j, i));
        let [mut leaving, mut coming] = [(); 2].map(|()| vec![Vec::new(); hosts]);
        let mut all = Vec::new();
        for (i, j) in (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            let value = value(i, j);
            if !value.is_nan() {
                leaving[i].push((j, value));
                coming[j].push((i, value));
                if direction != Direction::Both || i < j {
                    all.push(value);
                }
            }
        }
        all.sort_unstable_by(f64::total_cmp);
        let values = |pairs: &Vec<(usize, f64)>| pairs.iter().map(|(_, value)| *value).collect::<Vec<_>>();
        let slowest = leaving.iter().map(|pairs| quantile(&mut values(pairs), 1.0 - USUAL)).collect();
        Self { view, direction, leaving, coming, slowest, all }
    }

    fn hosts(&self) -> usize {
        self.leaving.len()
    }

    /// What the pairs of a host take that leave it toward hosts that are in a set, or are not.
    fn toward(&self, host: usize, set: &Members, is_in: bool) -> Vec<f64> {
        self.leaving[host].iter().filter(|(other, _)| set.is_in[*other] == is_in).map(|(_, value)| *value).collect()
    }

    /// What pairs take that cross the way of a set.
    fn crossing(&self, set: &Members) -> Vec<f64> {
        set.hosts().flat_map(|host| self.toward(host, set, false)).collect()
    }

    /// `starts`: what hosts take more, and these, descending.
    fn ways(&self, starts: &[(f64, usize)], budget: Budget) -> Vec<Suspect> {
        let mut found = Vec::new();
        // From each host that a set has had the same set grows.
        let mut is_known = vec![false; self.hosts()];
        for (effect, host) in starts {
            if !is_known[*host] {
                let is_in = (0..self.hosts()).map(|other| other == *host).collect();
                found.extend(self.way(Members { is_in, effect: *effect }, &mut is_known, budget));
            }
        }
        found
    }

    /// The way of a set that grows from one host.
    fn way(&self, mut set: Members, is_known: &mut [bool], budget: Budget) -> Option<Suspect> {
        let hosts = self.hosts();
        let price = (hosts as f64).ln();
        // First those of which a quarter of the pairs are slow: few members have met more of their own way.
        let is_slow = |host: &usize| set.is_slow(self.slowest[*host]);
        let (slow, all): (Vec<usize>, Vec<usize>) = ((0..hosts).filter(is_slow).collect(), (0..hosts).collect());
        // What is slow, and how much that says, follows from the set, and the set from that. Of few pairs a single host says
        // less than it costs, as long as it is alone.
        for (candidates, price) in [(&slow, 0.0), (&slow, price), (&all, price)] {
            self.change(&mut set, candidates, price)?;
            set.hosts().for_each(|host| is_known[host] = true);
            set.effect = median(&mut self.crossing(&set));
        }
        let members: Vec<usize> = set.hosts().collect();
        if 2 * members.len() > hosts || members.iter().all(|host| self.toward(*host, &set, true).is_empty()) {
            return None;
        }
        let sets = ln_binomial(hosts as u64, members.len() as u64) + budget.price(WAYS.len() * hosts);
        let log = sets - more_than_elsewhere(&self.crossing(&set), &[], &self.all, set.effect / 2.0);
        let is_found = set.effect >= budget.least.of(Kind::Group, true) && budget.allows(log);
        is_found.then(|| Suspect::new(Place::of(Kind::Group, members, self.direction), set.effect, log, self.view))
    }

    /// Takes hosts in and puts hosts out, each for the most that it is worth; `None` if no way is left.
    fn change(&self, set: &mut Members, candidates: &[usize], price: f64) -> Option<()> {
        let [slow, fast] = self.weights(set)?;
        let half = set.effect / 2.0;
        let weight = |value: f64| if value > half { slow } else { fast };
        // Its pairs with others cross the way then, and its pairs with those of the set do not.
        let gain = |set: &Members, host: usize| {
            let [mut inside, mut slow, mut outside, mut alike] = [0; 4];
            let mut gain = -price;
            for &(other, value) in &self.leaving[host] {
                if set.is_in[other] {
                    (inside, slow) = (inside + 1, slow + usize::from(set.is_slow(value)));
                } else {
                    (outside, alike) = (outside + 1, alike + usize::from(value < 2.0 * set.effect));
                    gain += weight(value);
                }
            }
            let coming = self.coming[host].iter().filter(|(other, _)| set.is_in[*other]);
            gain -= coming.map(|(_, value)| weight(*value)).sum::<f64>();
            // Among others some meet others on their way: what takes more than twice as much by itself does so with all.
            let is_of_way = 2 * slow <= inside && alike as f64 > USUAL * outside as f64;
            if is_of_way { gain } else { f64::NEG_INFINITY }
        };
        // Enough for each to come in and to go out.
        for _ in 0..2 * candidates.len() {
            let worth = |host: &usize| (if set.is_in[*host] { -gain(set, *host) } else { gain(set, *host) }, *host);
            let (most, host) = candidates.iter().map(worth).max_by(|a, b| a.0.total_cmp(&b.0))?;
            if most <= 0.0 {
                break;
            }
            set.is_in[host] = !set.is_in[host];
        }
        set.is_in.contains(&true).then_some(())
    }

    /// What it says for a set that a pair which crosses its way is slow, and that it is fast: logarithms of likelihood ratios.
    fn weights(&self, set: &Members) -> Option<[f64; 2]> {
        let own = self.crossing(set);
        let slow = own.iter().filter(|value| set.is_slow(**value)).count();
        let all = self.all.len() - self.all.partition_point(|value| !set.is_slow(*value));
        // Half a pair more: a rate that was never seen is not known to be zero (Jeffreys).
        let share = |slow: usize, of: usize| (slow as f64 + 0.5) / (of as f64 + 1.0);
        let (own, usual) = (share(slow, own.len()), share(all - slow, self.all.len() - own.len()));
        (own > usual).then(|| [(own / usual).ln(), ((1.0 - own) / (1.0 - usual)).ln()])
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Least, best},
        *,
    };
    use crate::analysis::drawn::{generator, normal, square};

    /// Four leaves of twelve.
    const HOSTS: usize = 48;

    /// Each has met six others.
    fn have_met(i: usize, j: usize) -> bool {
        matches!(i.abs_diff(j).min(HOSTS - i.abs_diff(j)), 4 | 11 | 17)
    }

    /// The ways of hosts that have met, where messages take so much longer.
    fn found_of(
        have_met: impl Fn(usize, usize) -> bool,
        is_long: bool,
        more: impl Fn(usize, usize) -> f64,
    ) -> Vec<(Vec<usize>, Direction)> {
        found_among(Distances::flat(HOSTS), have_met, is_long, more)
    }

    fn found_among(
        distances: Distances,
        have_met: impl Fn(usize, usize) -> bool,
        is_long: bool,
        more: impl Fn(usize, usize) -> f64,
    ) -> Vec<(Vec<usize>, Direction)> {
        let mut rng = generator(5);
        let values = square(HOSTS, |i, j| match have_met(i, j) {
            true => 0.02 * normal(&mut rng) + more(i, j),
            false => f64::NAN,
        });
        let view = View { is_long, ..View::of_square(values, &distances, 0.02) };
        let budget = Budget { views: 1.0, error: -5.3, least: Least::OF_TIMES };
        let mut found = ways(&view, &distances, budget);
        found.sort_by(|a, b| a.log.total_cmp(&b.log));
        found.into_iter().map(|own| (own.place.hosts, own.place.direction)).collect()
    }

    fn found(is_long: bool, more: impl Fn(usize, usize) -> f64) -> Vec<(Vec<usize>, Direction)> {
        found_of(have_met, is_long, more)
    }

    /// Of leaf 1.
    fn is_in(host: usize) -> bool {
        host / 12 == 1
    }

    fn leaf() -> Vec<usize> {
        (12..24).collect()
    }

    #[test]
    fn a_leaf_that_is_not_known_is_found_by_its_way_whichever_way_is_slow() {
        let both = |i: usize, j: usize| if is_in(i) != is_in(j) { 1.2 } else { 0.0 };
        assert_eq!(found(true, both).first(), Some(&(leaf(), Direction::Both)));
        let out = |i: usize, j: usize| if is_in(i) && !is_in(j) { 1.2 } else { 0.0 };
        assert_eq!(found(true, out).first(), Some(&(leaf(), Direction::Send)));
        let into = |i: usize, j: usize| out(j, i);
        assert_eq!(found(true, into).first(), Some(&(leaf(), Direction::Receive)));
        // Short messages take longer out of every leaf.
        assert_eq!(found(false, both), []);
    }

    #[test]
    fn a_leaf_is_found_in_what_few_pairs_show_as_one_with_another() {
        let distances = Distances::of_leaves((0..HOSTS).map(|host| host / 24).collect());
        let both = |i: usize, j: usize| if is_in(i) != is_in(j) { 1.2 } else { 0.0 };
        assert!(found_among(distances, have_met, true, both).contains(&(leaf(), Direction::Both)));
    }

    #[test]
    fn a_way_is_found_that_no_single_host_shows() {
        // Under load pairs differ by as much as the way makes them slow.
        let mut rng = generator(7);
        let load: Vec<f64> = (0..HOSTS * HOSTS).map(|_| 0.4 * normal(&mut rng)).collect();
        let both = |i: usize, j: usize| load[i * HOSTS + j] + if is_in(i) != is_in(j) { 0.7 } else { 0.0 };
        assert_eq!(found_of(|i, j| (i + j) % 3 == 0, true, both).first(), Some(&(leaf(), Direction::Both)));
    }

    #[test]
    fn ways_of_the_same_hosts_that_are_seen_in_several_views_are_one() {
        let way = |hosts: std::ops::Range<usize>, direction, log: f64| {
            Suspect::at(Place::of(Kind::Group, hosts.collect(), direction), 1.0, log, (0, 0))
        };
        let (part, whole) = (way(12..20, Direction::Receive, -30.0), way(12..24, Direction::Receive, -80.0));
        let other = way(24..36, Direction::Both, -20.0);
        let best = best(vec![part, other, whole]);
        assert_eq!(best.iter().map(|own| own.place.hosts.len() * own.place.hosts[0]).collect::<Vec<_>>(), [144, 288]);
    }

    #[test]
    fn a_host_that_has_met_nearly_its_leaf_alone_is_of_it() {
        // Host 18: its leaf, and one other.
        let of_18 = |other: usize| is_in(other) || other == 40;
        let have_met = |i: usize, j: usize| match (i, j) {
            (18, other) | (other, 18) => of_18(other),
            _ => have_met(i, j),
        };
        let both = |i: usize, j: usize| if is_in(i) != is_in(j) { 1.2 } else { 0.0 };
        assert_eq!(found_of(have_met, true, both).first(), Some(&(leaf(), Direction::Both)));
    }

    #[test]
    fn a_host_that_is_slower_by_itself_is_none_of_the_way() {
        // Host 23 is of the leaf, host 42 has met none of it, and host 30 two: it is as slow.
        let own = |host: usize| match host {
            23 | 42 => 3.0,
            30 => 1.2,
            _ => 0.0,
        };
        let both = |i: usize, j: usize| f64::max(own(i), own(j)).max(if is_in(i) != is_in(j) { 1.2 } else { 0.0 });
        let of_leaf: Vec<usize> = (12..23).collect();
        assert!(found(true, both).contains(&(of_leaf, Direction::Both)), "{:?}", found(true, both));
    }

    #[test]
    fn hosts_that_are_slow_by_themselves_share_no_way() {
        let card = |host: usize| if is_in(host) { 1.2 } else { 0.0 };
        assert_eq!(found(true, |i, j| f64::max(card(i), card(j))), []);
        // Nor do two that have not met.
        let two = |host: usize| if host == 3 || host == 30 { 1.2 } else { 0.0 };
        assert_eq!(found(true, |i, j| f64::max(two(i), two(j))), []);
    }

    #[test]
    fn pairs_that_are_slow_anywhere_are_no_way() {
        // As under load: three of ten pairs take twice as long.
        for seed in 0..10 {
            let mut rng = generator(100 + seed);
            let slow: Vec<bool> = (0..HOSTS * HOSTS).map(|_| normal(&mut rng) > 0.52).collect();
            assert_eq!(found(true, |i, j| if slow[i.min(j) * HOSTS + i.max(j)] { 0.7 } else { 0.0 }), []);
        }
    }
}

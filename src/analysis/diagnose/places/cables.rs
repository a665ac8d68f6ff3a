//! Cables between neighbours on a torus: all pairs are slow whose route takes one, and no host is.
//!
//! In: a [`View`], and how many hops hosts are apart. Out: [`Suspect`]s. Which shortest route a pair takes is not known, for
//! axes may be gone along in any order. But the route between neighbours is their cable, and no other pair crosses it but
//! those that it brings nearer: `hops(i, u) + 1 + hops(v, j) = hops(i, j)`. So a cable is slow where its own pair is, and
//! where of the pairs that may cross it more are slow than of others with the same ends.

use super::{
    Budget, Place, Suspect, View,
    distance::Distances,
    fit::{Fit, centre},
    spread::tail,
};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::gain_of_own_rate,
};

/// Pairs that may cross a cable and those that cannot, each with how many of them are slow.
#[derive(Clone, Copy, Default)]
struct Counts {
    may: f64,
    slow: f64,
    others: f64,
    slow_others: f64,
}

impl Counts {
    /// Logarithm of the likelihood ratio of more being slow of those that may cross, against one rate of both.
    fn gain(self) -> f64 {
        let Self { may, slow, others, slow_others } = self;
        let usual = (slow + slow_others) / (may + others);
        let gain = |slow: f64, all: f64| gain_of_own_rate(slow, all, usual);
        if slow > usual * may { gain(slow, may) + gain(slow_others, others) } else { 0.0 }
    }
}

/// A cable one way.
struct OneWay {
    from: usize,
    to: usize,
    effect: f64,
    log: f64,
    /// Logarithm of the probability that its own pair is slow by chance.
    own_log: f64,
    /// The pairs that cross it, `source * hosts + destination`.
    cells: Vec<u32>,
}

/// Of cables in this order those of which no pair crosses one before: what is left of the others is seen without these.
pub fn apart(cables: Vec<Suspect>, hosts: usize) -> Vec<Suspect> {
    let mut is_crossed = vec![false; hosts * hosts];
    let mut is_apart = |cable: &Suspect| {
        let cells = || cable.place.cells.iter().map(|cell| *cell as usize);
        let is_apart = cells().all(|cell| !is_crossed[cell]);
        cells().filter(|_| is_apart).for_each(|cell| is_crossed[cell] = true);
        is_apart
    };
    cables.into_iter().filter(|cable| is_apart(cable)).collect()
}

/// Puts both ways of a cable together where each was found by itself.
pub fn join(suspects: &mut Vec<Suspect>) {
    let mut joined: Vec<Suspect> = Vec::new();
    for suspect in suspects.drain(..) {
        let is_back = |other: &&mut Suspect| {
            other.place.kind == Kind::Cable && other.place.hosts.iter().rev().eq(&suspect.place.hosts)
        };
        match joined.iter_mut().find(is_back).filter(|_| suspect.place.kind == Kind::Cable) {
            Some(other) => {
                other.place.cells.extend(&suspect.place.cells);
                other.place.direction = Direction::Both;
            }
            None => joined.push(suspect),
        }
    }
    *suspects = joined;
}

/// The cables that are slow at this view; none where hosts are on no torus.
pub fn slow(view: &View, distances: &Distances, budget: Budget) -> Vec<Suspect> {
    let hosts = view.fit.send.len();
    let pairs = (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j)));
    let cables: Vec<(usize, usize)> = pairs.filter(|(i, j)| i != j && distances.hops(*i, *j) == Some(1)).collect();
    // Two that are not neighbours take a hop more than those that are: less than half way to two hops more is no fault.
    let Some(hop) = hop(view, distances) else { return Vec::new() };
    let least = budget.least.way.max(1.5 * hop);
    let one_way = |&(from, to): &(usize, usize)| one_way(view, distances, (from, to), least);
    let mut ways: Vec<OneWay> = cables.iter().filter_map(one_way).collect();
    // One of all cables by how many pairs are slow; or one whose own pair is slow beyond chance, and not alone.
    let price = budget.price(cables.len());
    ways.iter_mut().for_each(|way| way.log = (way.log + price).min(way.log.max(way.own_log + price)).min(0.0));
    // Or the way back of one of these, if its own pair is slow: what harms a cable mostly harms both.
    let is_found = |way: &OneWay| budget.allows(way.log);
    let found: Vec<(usize, usize)> = ways.iter().filter(|way| is_found(way)).map(|way| (way.from, way.to)).collect();
    let is_way_back =
        |way: &OneWay| found.contains(&(way.to, way.from)) && budget.allows(way.own_log + budget.price(1));
    ways.retain(|way| is_found(way) || is_way_back(way));
    let back_of = |way: &OneWay| {
        let is_back = |other: &&OneWay| (other.from, other.to) == (way.to, way.from);
        ways.iter().find(is_back).filter(|back| back.effect.min(way.effect) > back.effect.max(way.effect) / 2.0)
    };
    let suspect = |way: &OneWay| {
        let (direction, mut cells, mut log) = (Direction::Send, way.cells.clone(), way.log);
        let direction = match back_of(way) {
            Some(_) if way.from > way.to => return None,
            Some(back) => {
                cells.extend(&back.cells);
                log += back.log;
                Direction::Both
            }
            None => direction,
        };
        let place = Place { cells, ..Place::of(Kind::Cable, vec![way.from, way.to], direction) };
        Some(Suspect::new(place, way.effect, log, view))
    };
    ways.iter().filter_map(suspect).collect()
}

/// By how much pairs two hops apart take longer than neighbours; none where hosts are on no torus.
fn hop(view: &View, distances: &Distances) -> Option<f64> {
    let hosts = 1..view.fit.send.len();
    let level = |hops: u8| {
        let is_alike = |other: &usize| distances.kind[*other] == distances.kind[0];
        let mut others = hosts.clone().filter(|other| is_alike(other) && distances.hops(0, *other) == Some(hops));
        Some(view.fit.level(distances.class(0, others.next()?)))
    };
    Some(level(2)? - level(1)?)
}

/// The cable from one host to another, if its own pair is slow by so much at least.
fn one_way(view: &View, distances: &Distances, (from, to): (usize, usize), least: f64) -> Option<OneWay> {
    let fit = &view.fit;
    let own = fit.beyond_class(from, to);
    if own.is_nan() || own < least {
        return None;
    }
    let hosts = fit.send.len();
    // The same seconds are less of a longer time: were they asked of every pair, more of those far apart would be slow by
    // chance, of which more may cross.
    let least_slow = least_expected(fit, distances, (from, to)) / 2.0;
    let hops = |host: usize| distances.hops_from(host).unwrap_or_default();
    let (beyond_from, beyond_to) = (hops(from), hops(to));
    // Those that begin where the cable does, those that end where it does, and all others.
    let mut counts = [Counts::default(); 3];
    let (mut cells, mut effects) = (Vec::new(), Vec::new());
    for i in 0..hosts {
        let own = hops(i);
        for j in (0..hosts).filter(|j| *j != i) {
            // What a host adds is its own; but of the ends of a cable half of the pairs may cross it.
            let of_from = if i == from { fit.send[from] } else { 0.0 };
            let of_to = if j == to { fit.receive[to] } else { 0.0 };
            let value = fit.rest.at(i, j) + of_from + of_to;
            // What harms a cable mostly harms both ways: these pairs say nothing of how many are slow by chance.
            if value.is_nan() || is_on_way(own[to], beyond_from[j], own[j]) {
                continue;
            }
            let is_slow = value > least_slow;
            let may_cross = is_on_way(own[from], beyond_to[j], own[j]);
            if is_slow && may_cross {
                cells.push((i * hosts + j) as u32);
                effects.push(value);
            }
            if (i, j) == (from, to) {
                continue;
            }
            let counts = &mut counts[if i == from { 0 } else { 1 + usize::from(j != to) }];
            let (all, slow) = match may_cross {
                true => (&mut counts.may, &mut counts.slow),
                false => (&mut counts.others, &mut counts.slow_others),
            };
            *all += 1.0;
            *slow += f64::from(u8::from(is_slow));
        }
    }
    // Twice the gain is distributed as chi squared where all are alike, with a degree of freedom for each of the three rates
    // (Wilks 1938): beyond 2 g lies less than exp(-g) (1 + sqrt(4 g / pi)).
    let gain: f64 = counts.iter().map(|counts| counts.gain()).sum();
    let log = (4.0 * gain / std::f64::consts::PI).sqrt().ln_1p() - gain;
    // By what its ends add, it is as slow as their other pairs.
    let own_log = tail(fit.rest.at(from, to) / fit.noise, fit.freedom).max(f64::MIN_POSITIVE).ln();
    Some(OneWay { from, to, effect: centre(&mut effects, fit.noise), log, own_log, cells })
}

/// Whether one of the shortest routes of a pair takes this cable, in a direction in which it is slow.
pub fn may_cross(distances: &Distances, cable: &Place, pair: (usize, usize)) -> bool {
    let [a, b] = cable.hosts[..] else { return false };
    may_take(distances, (a, b), pair) || cable.direction == Direction::Both && may_take(distances, (b, a), pair)
}

/// The same of a cable one way.
fn may_take(distances: &Distances, (from, to): (usize, usize), (i, j): (usize, usize)) -> bool {
    let hops = |a: usize, b: usize| distances.hops(a, b).unwrap_or_default();
    is_on_way(hops(i, from), hops(to, j), hops(i, j))
}

/// Whether a cable is on a shortest route, by the hops before it, after it, and of the whole route.
fn is_on_way(before: u8, after: u8, all: u8) -> bool {
    u16::from(before) + 1 + u16::from(after) == u16::from(all)
}

/// The least that pairs of any class take more that cross a cable, from what its own pair takes more: as many seconds.
fn least_expected(fit: &Fit, distances: &Distances, (from, to): (usize, usize)) -> f64 {
    let own = fit.beyond_class(from, to);
    let level = fit.base[distances.class(from, to)];
    fit.base.iter().map(|base| (own.exp_m1() * (level - base).exp()).ln_1p()).fold(own, f64::min)
}

#[cfg(test)]
mod tests {
    use super::{super::Least, *};
    use crate::analysis::drawn::{self, generator, normal, square};

    const BUDGET: Budget = Budget { views: 1.0, error: -4.605, least: Least::OF_TIMES };
    const SIDES: [usize; 3] = [5, 4, 3];
    const HOSTS: usize = 60;

    fn route(from: usize, to: usize) -> Vec<usize> {
        drawn::route(SIDES, from, to)
    }

    fn found(excess: impl Fn(usize, usize) -> f64) -> Vec<Suspect> {
        found_where(0.0, excess)
    }

    /// The same where a hop takes so long.
    fn found_where(hop: f64, excess: impl Fn(usize, usize) -> f64) -> Vec<Suspect> {
        let hops = (0..HOSTS * HOSTS).map(|cell| (route(cell / HOSTS, cell % HOSTS).len() - 1) as u8).collect();
        let distances = Distances::of_hops(HOSTS, hops);
        let mut rng = generator(1);
        let far = |i: usize, j: usize| (route(i, j).len() - 1) as f64 * hop;
        let values = square(HOSTS, |i, j| far(i, j) + 0.01 * normal(&mut rng) + excess(i, j));
        let view = View::of_square(values, &distances, 0.01);
        slow(&view, &distances, BUDGET)
    }

    #[test]
    fn a_slow_cable_of_any_axis_is_named_with_the_pairs_that_cross_it() {
        for (u, v) in [(7, 8), (7, 12), (7, 27)] {
            let crosses = |i: usize, j: usize, a: usize, b: usize| route(i, j).windows(2).any(|step| step == [a, b]);
            let one = found(|i, j| if crosses(i, j, u, v) { 0.7 } else { 0.0 });
            let [one] = &one[..] else { panic!("{one:?}") };
            assert_eq!((&one.place.hosts, one.place.direction), (&vec![u, v], Direction::Send));
            let crossing = one.place.crossing(HOSTS);
            assert!((0..HOSTS * HOSTS).all(|cell| crossing[cell] == crosses(cell / HOSTS, cell % HOSTS, u, v)));
            let both = found(|i, j| if crosses(i, j, u, v) || crosses(i, j, v, u) { 0.7 } else { 0.0 });
            let [both] = &both[..] else { panic!("{both:?}") };
            assert_eq!((&both.place.hosts, both.place.direction), (&vec![u, v], Direction::Both));
        }
    }

    #[test]
    fn slow_hosts_hosts_that_are_slow_with_some_and_links_are_no_cables() {
        assert!(found(|i, j| if i == 7 || j == 7 { 0.7 } else { 0.0 }).is_empty());
        assert!(found(|i, j| if i == 7 && j % 3 == 2 { 0.7 } else { 0.0 }).is_empty());
        assert!(found(|i, j| if (i, j) == (7, 8) { 0.7 } else { 0.0 }).is_empty());
    }

    #[test]
    fn a_slow_link_is_no_cable_where_pairs_of_a_slow_host_may_cross_it() {
        for (u, v) in [(5, 6), (6, 7), (8, 7), (2, 7)] {
            let named = found(|i, j| if j == 7 || (i, j) == (u, v) { 1.0 } else { 0.0 });
            assert!(named.is_empty(), "{u} {v} {named:?}");
        }
    }

    #[test]
    fn a_cable_of_a_slow_host_needs_as_much_evidence_as_any() {
        // Three pairs of many that may cross it.
        let some = [(6, 13), (6, 3), (2, 9)];
        let named = found(|i, j| if i == 7 || some.contains(&(i, j)) { 0.5 } else { 0.0 });
        assert!(named.is_empty(), "{named:?}");
    }

    #[test]
    fn what_a_hop_more_takes_is_no_slow_cable() {
        let crosses = |i: usize, j: usize| route(i, j).windows(2).any(|step| step == [7, 12]);
        let count = |hop: f64| found_where(hop, |i, j| if crosses(i, j) { 0.15 } else { 0.0 }).len();
        assert_eq!((count(0.0), count(0.15), count(0.05)), (1, 0, 1));
    }

    #[test]
    fn healthy_cables_are_hardly_ever_slow_however_large_noise_and_hops_are() {
        for (hop, noise) in [(0.02, 0.1), (0.1, 0.07), (0.2, 0.1)] {
            let is_found = |seed: &u64| {
                let mut rng = generator(*seed);
                let hops = |i: usize, j: usize| (route(i, j).len() - 1) as f64;
                let values = square(HOSTS, |i, j| (1.0 + hop * hops(i, j)).ln() + noise * normal(&mut rng));
                let hops = (0..HOSTS * HOSTS).map(|cell| hops(cell / HOSTS, cell % HOSTS) as u8).collect();
                let distances = Distances::of_hops(HOSTS, hops);
                !slow(&View::of_square(values, &distances, noise), &distances, BUDGET).is_empty()
            };
            // One of a hundred may be.
            assert!((0..20).filter(is_found).count() < 2, "{hop} {noise}");
        }
    }

    #[test]
    fn a_slow_link_is_no_cable_where_the_same_seconds_are_less_of_far_pairs_times() {
        let is_found = |seed: &u64| {
            let mut rng = generator(*seed);
            let hops = |i: usize, j: usize| (route(i, j).len() - 1) as f64;
            let more = |i: usize, j: usize| if (i, j) == (7, 8) { 2.0 } else { 0.0 };
            let values = square(HOSTS, |i, j| (1.0 + hops(i, j) + more(i, j)).ln() + 0.1 * normal(&mut rng));
            let hops = (0..HOSTS * HOSTS).map(|cell| hops(cell / HOSTS, cell % HOSTS) as u8).collect();
            let distances = Distances::of_hops(HOSTS, hops);
            !slow(&View::of_square(values, &distances, 0.1), &distances, BUDGET).is_empty()
        };
        // One of a hundred may be.
        assert!((0..100).filter(is_found).count() < 4);
    }
}

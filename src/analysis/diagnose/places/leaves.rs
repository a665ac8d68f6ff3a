//! The ways of leaves and pods to everybody else, whole or some of their routes, and the ways between two of them.
//!
//! In: a [`View`] and [`Distances`]. Out: [`Suspect`]s. What a host adds, it adds inside its leaf too: the way out of a
//! leaf is what its hosts take longer outside than inside.

use super::{
    Budget, LEAST_WAY, Place, Suspect, View,
    distance::Distances,
    fit::centre,
    hosts::way,
    mixture::{Gains, Mixture, two_levels},
    spread::{Spread, tail},
};
use crate::analysis::diagnose::{Direction, Kind};

/// Share of the ways out that are slow where all are at fault: one of two cables slows half of them, and this is half way
/// from there.
pub const ALL: f64 = 0.75;

/// Hosts with a common way out, and the hosts between which it is not used.
pub struct Set {
    pub members: Vec<usize>,
    /// `[host]`.
    pub is_in: Vec<bool>,
}

impl Set {
    fn of(members: Vec<usize>, hosts: usize) -> Self {
        let mut is_in = vec![false; hosts];
        members.iter().for_each(|host| is_in[*host] = true);
        Self { members, is_in }
    }
}

/// The pods, then the leaves.
pub fn sets(distances: &Distances) -> [Vec<Set>; 2] {
    let hosts = distances.leaf.len();
    let pods = distances.pod.iter().max().map_or(0, |last| last + 1);
    let of_pod = |pod: usize| (0..hosts).filter(|host| distances.pod[distances.leaf[*host]] == pod).collect();
    let several = |sets: Vec<Set>| if sets.len() > 1 { sets } else { Vec::new() };
    [
        several((0..pods).map(|pod| Set::of(of_pod(pod), hosts)).collect()),
        several((0..distances.leaves()).map(|leaf| Set::of(distances.members(leaf), hosts)).collect()),
    ]
}

/// What a set takes more outside than inside.
struct Way {
    common: f64,
    side: f64,
    /// Cells inside, and outside one way.
    inside: usize,
    outside: usize,
}

fn measure(view: &View, distances: &Distances, set: &Set) -> Option<Way> {
    let fit = &view.fit;
    let hosts = set.is_in.len();
    let (mut out, mut into, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    for &member in &set.members {
        for other in (0..hosts).filter(|other| *other != member) {
            if set.is_in[other] {
                // Inside a pod: between its leaves.
                let is_way = distances.leaf[member] != distances.leaf[other]
                    || set.members.iter().all(|host| distances.leaf[*host] == distances.leaf[member]);
                if is_way {
                    inside.push(fit.beyond_class(member, other));
                }
            } else {
                out.push(fit.beyond_class(member, other) - fit.receive[other]);
                into.push(fit.beyond_class(other, member) - fit.send[other]);
            }
        }
    }
    let outside = out.len();
    let [out, into, inner] = [&mut out, &mut into, &mut inside].map(|cells| centre(cells, fit.noise));
    let count = inside.len();
    if out.is_nan() || into.is_nan() || inner.is_nan() {
        return None;
    }
    // Cores add, so that half of what is inside is of each end; of cards the slower one counts.
    let own = if view.is_short { inner / 2.0 } else { inner };
    let common = (out + into) / 2.0;
    // What is as slow inside is not the way out.
    if inner > common / 2.0 && common > 0.0 && inner > LEAST_WAY {
        return None;
    }
    Some(Way { common: common - own, side: (out - into) / 2.0, inside: count, outside })
}

/// Sets whose whole way out is slow.
pub fn whole(view: &View, distances: &Distances, sets: &[Set], budget: Budget) -> Vec<Suspect> {
    if sets.len() < 3 {
        return Vec::new();
    }
    let fit = &view.fit;
    let hosts = fit.send.len();
    let ways: Vec<Option<Way>> = sets.iter().map(|set| measure(view, distances, set)).collect();
    let Some(of_hosts) = Spread::of((0..hosts).map(|host| (fit.send[host] - fit.receive[host]) / 2.0)) else {
        return Vec::new();
    };
    let peers = Spread::of(ways.iter().flatten().map(|way| way.common));
    let suspect = |(set, own): (&Set, &Option<Way>)| {
        let own = own.as_ref()?;
        // Medians err by 1.25 standard deviations over the root of their numbers.
        let error_of_cells = 1.25 * fit.noise * (0.5 / own.outside as f64 + 0.25 / own.inside as f64).sqrt();
        let known = Spread { centre: 0.0, deviation: error_of_cells, count: own.inside + 1 };
        // Of few sets nothing is known but how far cells are apart.
        let of_common = match peers {
            Some(peers) if sets.len() > 4 => peers.at_least(error_of_cells),
            Some(peers) => Spread { centre: peers.centre, ..known },
            None => known,
        };
        let deviation = of_hosts.deviation / (set.members.len() as f64).sqrt();
        let of_side = Spread { centre: 0.0, deviation, count: of_hosts.count }.at_least(error_of_cells);
        let (direction, effect, log) = way(own.common - of_common.centre, own.side, &of_common, &of_side);
        let log = log + budget.price(3 * sets.len());
        let mut members = set.members.clone();
        members.sort_unstable();
        let place = Place::of(Kind::Group, members, direction);
        let is_found = effect >= LEAST_WAY && budget.allows(log) && share_of_slow(view, set, &place, effect) > ALL;
        is_found.then(|| Suspect::new(place, effect, log, view))
    };
    sets.iter().zip(&ways).filter_map(suspect).collect()
}

/// Share of the pairs on the way that are slow by half of the effect at least.
fn share_of_slow(view: &View, set: &Set, place: &Place, effect: f64) -> f64 {
    let fit = &view.fit;
    let (mut slow, mut all) = (0, 0);
    for &member in &set.members {
        for other in (0..set.is_in.len()).filter(|other| !set.is_in[*other]) {
            let out = fit.beyond_class(member, other) - fit.receive[other];
            let into = fit.beyond_class(other, member) - fit.send[other];
            let value = match place.direction {
                Direction::Both => (out + into) / 2.0,
                Direction::Send => out,
                Direction::Receive => into,
            };
            if !value.is_nan() {
                slow += usize::from(value > effect / 2.0);
                all += 1;
            }
        }
    }
    f64::from(slow as u32) / f64::from(all.max(1) as u32)
}

/// Two leaves: the way between them where it is slower one way than the other. What is slow both ways cannot be told from
/// what is far, and which leaf is to blame cannot be told at all.
pub fn between_two(view: &View, sets: &[Set], budget: Budget) -> Vec<Suspect> {
    let ([a, b], false) = (sets, view.is_short) else { return Vec::new() };
    let fit = &view.fit;
    let [there, back] = [cells(view, a, b), cells(view, b, a)];
    if there.len().min(back.len()) < 2 {
        return Vec::new();
    }
    let level = |cells: &[f64]| centre(&mut cells.to_vec(), fit.noise);
    let error_of = |cells: &[f64]| 1.25 * fit.noise / (cells.len() as f64).sqrt();
    let mut found = Vec::new();
    for (way, other, direction) in [(&there, &back, Direction::Send), (&back, &there, Direction::Receive)] {
        let usual = level(other);
        let effect = level(way) - usual;
        let deviation = error_of(way).hypot(error_of(other));
        let log = tail(effect / deviation, other.len() as f64).max(f64::MIN_POSITIVE).ln() + budget.price(2);
        let slow = way.iter().filter(|value| **value - usual > effect / 2.0).count() as f64;
        if effect >= LEAST_WAY && budget.allows(log) && slow > ALL * way.len() as f64 {
            found.push(Suspect::new(Place::of(Kind::Group, a.members.clone(), direction), effect, log, view));
        }
    }
    found
}

/// What pairs take from one set to another.
fn cells(view: &View, from: &Set, to: &Set) -> Vec<f64> {
    let pairs = from.members.iter().flat_map(|i| to.members.iter().filter(move |j| *j != i).map(move |j| (*i, *j)));
    pairs.map(|(i, j)| view.values.at(i, j)).filter(|value| !value.is_nan()).collect()
}

/// What the pairs of a leaf take toward each of some hosts, or from outside to each of its own.
struct Table {
    set: usize,
    direction: Direction,
    ends: Vec<usize>,
    values: Vec<f64>,
}

/// Leaves of which some routes are slow: outward, all their hosts toward some others; inward, some of their hosts from
/// everywhere outside (static routes: the destination chooses the cable).
pub fn routes(view: &View, distances: &Distances, sets: &[Set], budget: Budget) -> Vec<Suspect> {
    if sets.len() < 2 || !view.is_long {
        return Vec::new();
    }
    let fit = &view.fit;
    let hosts = fit.send.len();
    let mut tables: Vec<Table> = Vec::new();
    for (number, set) in sets.iter().enumerate().filter(|(_, set)| set.members.len() > 1) {
        let outside: Vec<usize> = (0..hosts).filter(|host| !set.is_in[*host]).collect();
        // From the faster half of the senders: of two slow cards the slower one counts, and says nothing of the way.
        let toward = |j: usize, from: &mut dyn Iterator<Item = usize>| {
            let mut senders: Vec<usize> = from.filter(|i| *i != j && !fit.rest.at(*i, j).is_nan()).collect();
            senders.sort_by(|a, b| fit.send[*a].total_cmp(&fit.send[*b]));
            senders.truncate(senders.len().div_ceil(2));
            let mut cells: Vec<f64> = senders.iter().map(|i| fit.beyond_class(*i, j) - fit.send[*i]).collect();
            centre(&mut cells, fit.noise)
        };
        let out = outside.iter().map(|&j| {
            let own = toward(j, &mut set.members.iter().copied());
            let others = toward(j, &mut (0..hosts).filter(|i| !set.is_in[*i]));
            own - others
        });
        tables.push(Table { set: number, direction: Direction::Send, ends: outside.clone(), values: out.collect() });
        let into = set.members.iter().map(|&j| {
            let own = toward(j, &mut outside.iter().copied());
            let others = toward(j, &mut set.members.iter().copied());
            own - others
        });
        tables.push(Table {
            set: number,
            direction: Direction::Receive,
            ends: set.members.clone(),
            values: into.collect(),
        });
    }
    let mut found = Vec::new();
    for direction in [Direction::Send, Direction::Receive] {
        let own = |table: &&Table| table.direction == direction;
        // How far destinations are apart that take the same cable, in leaves of which nothing is wrong.
        let rests = tables.iter().filter(own).flat_map(|table| {
            let mut known: Vec<f64> = table.values.iter().copied().filter(|value| !value.is_nan()).collect();
            let middle = crate::stats::median(&mut known);
            table.values.iter().map(move |value| value - middle)
        });
        let Some(spread) = Spread::of(rests) else { continue };
        let levels = |table: &Table| {
            let cells = match direction {
                Direction::Send => sets[table.set].members.len(),
                _ => sets[table.set].members.len() - 1,
            };
            let deviation = spread.deviation.max(1.25 * fit.noise / (cells as f64).sqrt());
            two_levels(&table.values, deviation)
        };
        let all: Vec<(&Table, Mixture)> =
            tables.iter().filter(own).filter_map(|table| Some((table, levels(table)?))).collect();
        let peers = Gains::of(all.iter().map(|(_, mixture)| mixture.gain), 0);
        for (table, mixture) in &all {
            let upper = table.ends.iter().zip(&mixture.is_upper).filter(|(_, slow)| **slow);
            let slow: Vec<usize> = upper.map(|(end, _)| *end).collect();
            let log = peers.log(mixture.gain) + budget.price(2 * sets.len());
            let is_some = slow.len() > 1 && (slow.len() as f64) < ALL * table.ends.len() as f64;
            // Inward: slower from outside than inside. Hosts that are fast inside only show that others are slow there.
            let is_slow = direction == Direction::Send || mixture.lower > -mixture.effect / 2.0;
            if is_slow && is_some && mixture.effect >= LEAST_WAY && budget.allows(log) {
                let place = Place { toward: slow, ..Place::of(Kind::Routes, distances.members(table.set), direction) };
                found.push(Suspect::new(place, mixture.effect, log, view));
            }
        }
    }
    found
}

/// Ways between two sets that are slow although both sets are not.
pub fn gates(view: &View, sets: &[Set], budget: Budget) -> Vec<Suspect> {
    let sets: Vec<&Set> = sets.iter().filter(|set| set.members.len() > 1).collect();
    if sets.len() < 3 || !view.is_long {
        return Vec::new();
    }
    let fit = &view.fit;
    let cells = |a: &Set, b: &Set| {
        let pairs = a.members.iter().flat_map(|i| b.members.iter().map(move |j| (*i, *j)));
        let rests: Vec<f64> = pairs.map(|(i, j)| fit.rest.at(i, j)).filter(|rest| !rest.is_nan()).collect();
        rests
    };
    let mut ways = Vec::new();
    for (a, b) in (0..sets.len()).flat_map(|a| (0..sets.len()).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        let mut rests = cells(sets[a], sets[b]);
        let count = rests.len();
        ways.push((a, b, centre(&mut rests, fit.noise), count, rests));
    }
    let Some(peers) = Spread::of(ways.iter().map(|way| way.2)) else { return Vec::new() };
    let one_way = |(a, b, value, count, rests): &(usize, usize, f64, usize, Vec<f64>)| {
        let peers = peers.at_least(1.25 * fit.noise / (*count.max(&1) as f64).sqrt());
        let effect = value - peers.centre;
        let log = peers.tail(effect).max(f64::MIN_POSITIVE).ln() + budget.price(ways.len());
        let slow = rests.iter().filter(|rest| **rest > effect / 2.0).count() as f64;
        (effect >= LEAST_WAY && budget.allows(log) && slow > ALL * *count as f64).then_some((*a, *b, effect, log))
    };
    let slow: Vec<(usize, usize, f64, f64)> = ways.iter().filter_map(one_way).collect();
    let suspect = |&(a, b, effect, log): &(usize, usize, f64, f64)| {
        let is_back = slow.iter().any(|other| (other.0, other.1) == (b, a));
        (!is_back || a < b).then(|| {
            let direction = if is_back { Direction::Both } else { Direction::Send };
            let place =
                Place { toward: sets[b].members.clone(), ..Place::of(Kind::Gate, sets[a].members.clone(), direction) };
            Suspect::new(place, effect, log, view)
        })
    };
    slow.iter().filter_map(suspect).collect()
}

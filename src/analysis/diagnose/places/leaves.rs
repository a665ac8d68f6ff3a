//! The ways of leaves and pods to everybody else, and the ways between two of them.
//!
//! In: a [`View`] and [`Distances`]. Out: [`Suspect`]s. What a host adds, it adds inside its leaf too: the way out of a
//! leaf is what the fastest of its pairs take longer outside than inside. It is found from the least effect of a host
//! on, though in short messages it is worth a word from its own on: what explains its pairs is no host's. Ways between two
//! sets may be longer than others, so that they are looked for from their own on.

use rayon::prelude::*;

use super::{
    Budget, COINCIDENCE, Place, Suspect, View,
    distance::Distances,
    fit::{USUAL, centre},
    hosts::{more_than_elsewhere, way},
    place::Set,
    rounds::distinct,
    spread::{Spread, expected, tail},
};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::{error_of_median, error_of_quantile, median, quantile},
};

/// Share of the ways out that are slow where all are at fault: one of two cables slows half of them, and this is half
/// way from there.
pub const ALL: f64 = 0.75;

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
    /// What it takes outward and inward.
    levels: [f64; 2],
    /// Cells inside, and outside one way.
    inside: usize,
    outside: usize,
}

/// `least`: the smallest effect of a way. `but`: a set to which nothing counts.
fn measure(
    view: &View,
    (distances, sets): (&Distances, &[Set]),
    number: usize,
    but: Option<usize>,
    least: f64,
) -> Option<Way> {
    let fit = &view.fit;
    let set = &sets[number];
    let mut inside = Vec::new();
    let is_pod = set.members.iter().any(|host| distances.leaf[*host] != distances.leaf[set.members[0]]);
    for (member, other) in set.members.iter().flat_map(|i| set.members.iter().map(move |j| (*i, *j))) {
        // Inside a pod: between its leaves.
        if member != other && is_pod == (distances.leaf[member] != distances.leaf[other]) {
            inside.push(fit.beyond_class(member, other));
        }
    }
    inside.retain(|value| !value.is_nan());
    let count = inside.len();
    // What is slow toward some others may be the way of these. Short messages show distances, and of three sets of
    // which two are near each other the third is far from both: there all others count as one.
    let others = (0..sets.len()).filter(|other| *other != number && Some(*other) != but);
    let mut others: Vec<Vec<usize>> = others.map(|other| sets[other].members.clone()).collect();
    if view.is_short {
        others = vec![others.concat()];
    }
    let (mut out, mut into, mut outside) = (Vec::new(), Vec::new(), 0);
    for other in &others {
        let pairs = || set.members.iter().flat_map(|i| other.iter().map(move |j| (*i, *j)));
        let mut there: Vec<f64> = pairs().map(|(i, j)| fit.beyond_class(i, j)).collect();
        let mut back: Vec<f64> = pairs().map(|(i, j)| fit.beyond_class(j, i)).collect();
        // Among others some meet others on their way: what the way itself takes is seen by the fastest.
        let levels = [quantile(&mut there, USUAL), quantile(&mut back, USUAL)];
        there.retain(|value| !value.is_nan());
        if levels.iter().all(|level| !level.is_nan()) {
            out.push(levels[0]);
            into.push(levels[1]);
            outside += there.len();
        }
    }
    // That all hosts of a leaf are slow takes more faults than that its way is: that decides where none have met.
    let have_none_met =
        inside.is_empty() && set.members.len() > 1 && set.members.iter().all(|host| view.is_left(*host));
    // Inside a pod some meet others too, on a switch none do.
    let inner = match have_none_met {
        true => 0.0,
        false if is_pod => quantile(&mut inside, USUAL),
        false => centre(&mut inside, fit.noise),
    };
    // Toward one other alone it may be the way of that one.
    if out.len() < others.len().min(2) || inner.is_nan() {
        return None;
    }
    let [out, into] = [&mut out, &mut into].map(|levels| quantile(levels, USUAL));
    // Cores add, so that half of what is inside is of each end; of cards the slower one counts.
    let own = if view.is_short { inner / 2.0 } else { inner };
    let common = (out + into) / 2.0;
    // What is as slow inside is not the way out.
    if inner > common / 2.0 && common > 0.0 && inner > least {
        return None;
    }
    Some(Way { common: common - own, side: (out - into) / 2.0, levels: [out, into], inside: count.max(1), outside })
}

/// Sets whose whole way out is slow.
pub fn whole(view: &View, distances: &Distances, sets: &[Set], budget: Budget) -> Vec<Suspect> {
    if sets.len() < 3 {
        return Vec::new();
    }
    let fit = &view.fit;
    let hosts = fit.send.len();
    let measured = |set: usize, but: Option<usize>| measure(view, (distances, sets), set, but, budget.least.way);
    let ways: Vec<Option<Way>> = (0..sets.len()).into_par_iter().map(|set| measured(set, None)).collect();
    let Some(of_hosts) = Spread::of((0..hosts).map(|host| (fit.send[host] - fit.receive[host]) / 2.0)) else {
        return Vec::new();
    };
    // The centre of a switch errs by less than a quartile: outside these are quartiles of quartiles, and of what is inside a
    // half is taken off. In long messages it is all of it, but there ways differ by whom their messages meet too: the more
    // noise were counted, the more of that would pass for noise.
    let of_quartile = error_of_quantile(USUAL, 1.0);
    let error_of_cells = |way: &Way| {
        let [outside, inside] = [of_quartile.powi(4), of_quartile.powi(2)];
        fit.noise * (outside * 0.5 / way.outside as f64 + inside * 0.25 / way.inside as f64).sqrt()
    };
    let usual = median(&mut ways.iter().flatten().map(error_of_cells).collect::<Vec<_>>());
    let (expected, freedom) = expected(usual, view.alike_ways(budget.least), fit.freedom);
    let peers_of = |ways: &[Option<Way>]| {
        let common = || ways.iter().flatten().map(|way| way.common);
        [Spread::of(common()), Spread::among(common(), expected, freedom)]
    };
    let of_all = peers_of(&ways);
    // The slowest is in what each of the others takes, of each another part: of few, that is how far they seem apart. It is
    // compared with what they take without it too.
    let levels = |set: &usize| ways[*set].as_ref().map_or(f64::NEG_INFINITY, |way| way.levels[0].max(way.levels[1]));
    let slowest = (0..sets.len()).max_by(|a, b| levels(a).total_cmp(&levels(b)));
    let without = |set: usize| if Some(set) == slowest { measured(set, None) } else { measured(set, slowest) };
    let of_others = peers_of(&(0..sets.len()).into_par_iter().map(without).collect::<Vec<_>>());
    let suspect = |(number, own): (usize, &Option<Way>)| {
        let (set, own) = (&sets[number], own.as_ref()?);
        let peers: Vec<&Spread> = match Some(number) == slowest {
            true => of_all.iter().chain(&of_others).flatten().collect(),
            false => of_all.iter().flatten().collect(),
        };
        let error_of_cells = error_of_cells(own);
        let deviation = of_hosts.deviation / (set.members.len() as f64).sqrt();
        let of_side = Spread { centre: 0.0, deviation, ..of_hosts }.at_least(error_of_cells);
        let judged = peers.iter().map(|peers| {
            let of_common = peers.at_least(error_of_cells);
            way(own.common - of_common.centre, own.side, &of_common, &of_side)
        });
        let (direction, effect, log) = judged.min_by(|a, b| a.2.total_cmp(&b.2))?;
        let log = log + budget.price(3 * peers.len() * sets.len());
        let mut members = set.members.clone();
        members.sort_unstable();
        let place = Place::of(Kind::Group, members, direction);
        let is_found = effect >= budget.least.host
            && budget.allows(log)
            && share_of_slow(view, set, own, (direction, effect)) > ALL;
        is_found.then(|| Suspect::new(place, effect, log, view))
    };
    ways.iter().enumerate().filter_map(suspect).collect()
}

/// Share of the ends of the way, on its two sides, whose pairs are slow by half of the effect at least: the smaller
/// one.
fn share_of_slow(view: &View, set: &Set, way: &Way, (direction, effect): (Direction, f64)) -> f64 {
    if direction == Direction::Both {
        // One of two cables slows half of the ends outward, and half of the others inward.
        let one_way = |direction| share_of_slow(view, set, way, (direction, effect));
        return one_way(Direction::Send).min(one_way(Direction::Receive));
    }
    let fit = &view.fit;
    let least = direction.of(way.levels[0], way.levels[1]) - effect / 2.0;
    let value =
        |member: usize, other: usize| direction.of(fit.beyond_class(member, other), fit.beyond_class(other, member));
    let share = |levels: &mut dyn Iterator<Item = f64>| {
        let known: Vec<f64> = levels.filter(|level| !level.is_nan()).collect();
        let slow = known.iter().filter(|level| **level > least).count();
        slow as f64 / known.len().max(1) as f64
    };
    let of_other =
        |other: usize| quantile(&mut set.members.iter().map(|i| value(*i, other)).collect::<Vec<_>>(), USUAL);
    let of_member =
        |member: &usize| quantile(&mut set.others().map(|other| value(*member, other)).collect::<Vec<_>>(), USUAL);
    share(&mut set.others().map(of_other)).min(share(&mut set.members.iter().map(of_member)))
}

/// Two leaves: the way between them where it is slower one way than the other. What is slow both ways is how the
/// machine was built, as far as times say, and which leaf is to blame cannot be said at all.
pub fn between_two(view: &View, sets: &[Set], budget: Budget) -> Vec<Suspect> {
    let ([a, b], false) = (sets, view.is_short) else { return Vec::new() };
    let fit = &view.fit;
    let [there, back] = [cells(view, a, b), cells(view, b, a)];
    if there.len().min(back.len()) < 2 {
        return Vec::new();
    }
    let level = |cells: &[f64]| centre(&mut cells.to_vec(), fit.noise);
    let error_of = |cells: &[f64]| fit.noise * error_of_median(cells.len() as f64);
    let mut found = Vec::new();
    for (way, other, direction) in [(&there, &back, Direction::Send), (&back, &there, Direction::Receive)] {
        let usual = level(other);
        let effect = level(way) - usual;
        let deviation = error_of(way).hypot(error_of(other));
        let log = tail(effect / deviation, other.len() as f64).max(f64::MIN_POSITIVE).ln() + budget.price(2);
        let slow = way.iter().filter(|value| **value - usual > effect / 2.0).count() as f64;
        if effect >= budget.least.host && budget.allows(log) && slow > ALL * way.len() as f64 {
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

/// Ways between two sets that are slow although both sets are not. `is_own(host, host)`: whether the way between the sets
/// of two hosts is no part of another one.
pub fn gates(view: &View, sets: &[Set], is_own: impl Fn(usize, usize) -> bool, budget: Budget) -> Vec<Suspect> {
    let sets: Vec<&Set> = sets.iter().filter(|set| set.members.len() > 1).collect();
    if sets.len() < 3 || !view.is_long {
        return Vec::new();
    }
    let fit = &view.fit;
    struct Between {
        ends: (usize, usize),
        rests: Vec<f64>,
        /// What half of the pairs take besides what hosts add, and what the fastest eighth takes with it, which is of hosts
        /// that add nothing: among many that are measured at the same time, pairs that meet no others show what the way
        /// itself takes.
        levels: [f64; 2],
        /// What even the fastest pairs take besides what hosts add.
        fastest: f64,
    }
    let all = (0..sets.len()).flat_map(|a| (0..sets.len()).map(move |b| (a, b)));
    let all = all.filter(|(a, b)| a != b && is_own(sets[*a].members[0], sets[*b].members[0]));
    let between = |ends: (usize, usize)| {
        let pairs = || sets[ends.0].members.iter().flat_map(|i| sets[ends.1].members.iter().map(move |j| (*i, *j)));
        let mut rests: Vec<f64> = pairs().map(|(i, j)| fit.rest.at(i, j)).collect();
        let mut whole: Vec<f64> = pairs().map(|(i, j)| fit.beyond_class(i, j)).collect();
        let levels = [centre(&mut rests, fit.noise), quantile(&mut whole, USUAL / 2.0)];
        let fastest = quantile(&mut rests, USUAL);
        Between { ends, rests, levels, fastest }
    };
    let ways: Vec<Between> = all.map(between).collect();
    let peers = [0, 1].map(|level| Spread::of(ways.iter().map(|way| way.levels[level])));
    let [Some(of_half), Some(of_eighth)] = peers else { return Vec::new() };
    let peers = [(of_half, 0.5), (of_eighth, USUAL / 2.0)];
    let mut rests: Vec<f64> = ways.iter().flat_map(|way| way.rests.iter().copied()).collect();
    rests.sort_by(f64::total_cmp);
    let usual = median(&mut ways.iter().map(|way| way.fastest).collect::<Vec<_>>());
    let distinct = |pairs: f64| distinct(pairs, fit.send.len());
    let one_way = |way: &Between| {
        let count = way.rests.len().max(1) as f64;
        let price = budget.price(6 * ways.len());
        // Ways between pods are looked at, and those between leaves; each by both levels, and by how many of its pairs are
        // slow.
        let judged = peers.iter().zip(way.levels).map(|((peers, share), level)| {
            let effect = level - peers.centre;
            let peers = peers.at_least(fit.noise * error_of_quantile(*share, count));
            (effect, peers.tail(effect).max(f64::MIN_POSITIVE).ln() + price)
        });
        let by_level = judged.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let half = (way.fastest + usual) / 2.0;
        let more = more_than_elsewhere(&way.rests, &[], &rests, half) * distinct(count) / count;
        let least = of_half.centre + (budget.least.way / 2.0).max(fit.noise);
        let slow = way.rests.iter().filter(|rest| **rest > least).count() as f64;
        // Where pairs meet others, levels of ways are far from normal: more of its pairs are slow at least than those of any
        // of so many ways would be by coincidence. And of three sets it may as well be the third one's ways that differ: too
        // few to say how many are slow usually.
        let is_level = slow > ALL * count && more > (ways.len() as f64 / COINCIDENCE).ln();
        let by_count = (sets.len() > 3).then_some((way.fastest - usual, price - more));
        let is_found = |(effect, log): &(f64, f64)| *effect >= budget.least.way && budget.allows(*log);
        let found = by_count.filter(is_found).or(is_level.then_some(by_level).filter(is_found));
        found.map(|(effect, log)| (way.ends.0, way.ends.1, effect, log))
    };
    let slow: Vec<(usize, usize, f64, f64)> = ways.iter().filter_map(one_way).collect();
    let is_slow = |a: usize, b: usize| slow.iter().any(|way| (way.0, way.1) == (a, b));
    let mut by_log: Vec<&(usize, usize, f64, f64)> = slow.iter().collect();
    by_log.sort_by(|a, b| a.3.total_cmp(&b.3));
    let mut found: Vec<Suspect> = Vec::new();
    let mut is_explained = vec![false; sets.len() * sets.len()];
    for &&(a, b, effect, log) in &by_log {
        if is_explained[a * sets.len() + b] {
            continue;
        }
        // Where sets are parts of larger ones that are not known, all of one side are slow with all of the other.
        let (mut from, mut to) = (vec![a], vec![b]);
        for other in 0..sets.len() {
            if from.contains(&other) || to.contains(&other) {
                continue;
            }
            if to.iter().all(|end| is_slow(other, *end)) {
                from.push(other);
            } else if from.iter().all(|end| is_slow(*end, other)) {
                to.push(other);
            }
        }
        let both = from.iter().all(|x| to.iter().all(|y| is_slow(*y, *x)));
        for (x, y) in from.iter().flat_map(|x| to.iter().map(move |y| (*x, *y))) {
            is_explained[x * sets.len() + y] = true;
            is_explained[y * sets.len() + x] |= both;
        }
        let members = |sides: &[usize]| sides.iter().flat_map(|side| sets[*side].members.iter().copied()).collect();
        let direction = if both { Direction::Both } else { Direction::Send };
        let place = Place { toward: members(&to), ..Place::of(Kind::Gate, members(&from), direction) };
        found.push(Suspect::new(place, effect, log, view));
    }
    found
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::{super::best, *};
    use crate::analysis::{
        diagnose::places::Least,
        drawn::{generator, normal, square},
    };

    const BUDGET: Budget = Budget { views: 1.0, error: -4.605, least: Least::OF_TIMES };

    /// Leaves of so many hosts each, and the rests that `fault` adds to noise of 1 %.
    fn view(leaves: usize, members: usize, fault: impl Fn(usize, usize) -> f64) -> (View, Vec<Set>) {
        let hosts = leaves * members;
        let mut rng = generator(1);
        let values = square(hosts, |i, j| 0.01 * normal(&mut rng) + fault(i / members, j / members));
        let sets = (0..leaves).map(|leaf| Set::of((leaf * members..(leaf + 1) * members).collect(), hosts)).collect();
        (View::of_square(values, &Distances::flat(hosts), 0.01), sets)
    }

    #[test]
    fn a_way_that_is_not_worth_a_word_is_found_all_the_same() {
        let (view, sets) = view(6, 8, |a, b| if (a == 2) != (b == 2) { 0.04 } else { 0.0 });
        let found = best(whole(&view, &Distances::flat(48), &sets, BUDGET));
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found.place.direction, &found.place.hosts), (Direction::Both, &sets[2].members));
        assert!(found.effect < BUDGET.least.way, "{}", found.effect);
    }

    #[test]
    fn the_way_of_a_small_leaf_is_found_in_noise() {
        let distances = Distances::of_leaves((0..24).map(|host| host / 3).collect());
        for seed in 0..8 {
            let mut rng = generator(seed);
            let is_way = |i: usize, j: usize| (i / 3 == 5) != (j / 3 == 5);
            let values = square(24, |i, j| if is_way(i, j) { 0.5 } else { 0.0 } + 0.07 * normal(&mut rng));
            let found =
                best(whole(&View::of_square(values, &distances, 0.07), &distances, &sets(&distances)[1], BUDGET));
            let found: Vec<_> = found.iter().map(|own| (&own.place.hosts[..], own.place.direction)).collect();
            assert_eq!(found, [(&[15, 16, 17][..], Direction::Both)], "{seed}");
        }
    }

    #[test]
    fn where_pairs_of_a_pod_meet_others_the_ways_out_of_the_other_pods_are_none_the_slower() {
        // Of three pods of two leaves, most pairs of two and fewer of the third one meet others inside.
        let leaf: Vec<usize> = (0..18).map(|host| host / 3).collect();
        let mut distances = Distances::of_leaves(leaf.clone());
        distances.pod = vec![0, 0, 1, 1, 2, 2];
        let mut rng = generator(4);
        let pod = |host: usize| host / 6;
        let values = square(18, |i, j| {
            let meets = (5 * i + 7 * j) % 10 < [7, 4, 7][pod(i)];
            let met = if leaf[i] != leaf[j] && pod(i) == pod(j) && meets { 0.7 } else { 0.0 };
            met + 0.01 * normal(&mut rng)
        });
        let view = View::of_square(values, &Distances::flat(18), 0.01);
        let found = best(whole(&view, &distances, &sets(&distances)[0], BUDGET));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn the_way_of_a_leaf_is_slow_rather_than_all_of_its_hosts_where_no_two_of_these_have_met() {
        let slow = |a: usize, b: usize| match (a == 2, b == 2) {
            (true, true) => f64::NAN,
            (false, false) => 0.0,
            _ => 0.5,
        };
        let (view, sets) = view(6, 8, slow);
        let found = |view: &View| best(whole(view, &Distances::flat(48), &sets, BUDGET));
        let [way] = &found(&view)[..] else { panic!("one finding") };
        assert_eq!((way.place.direction, &way.place.hosts), (Direction::Both, &sets[2].members));
        // Of hosts most of whose pairs are left out nothing is known any more.
        let met = vec![100; 48];
        assert!(found(&View { met, ..view }).is_empty());
    }

    #[test]
    fn of_few_leaves_of_very_different_sizes_the_slow_one_is_named_in_short_messages() {
        // How much of what a leaf takes goes to the slow one follows from its size.
        for (sizes, far, noise) in [(&[24, 12, 6, 6][..], 0.6, 0.04), (&[6, 3, 3], 0.2, 0.02)] {
            let leaf: Vec<usize> = sizes.iter().enumerate().flat_map(|(leaf, size)| vec![leaf; *size]).collect();
            let distances = Distances::of_leaves(leaf.clone());
            let named = |more: f64| {
                let is_named = |seed: &u64| {
                    let mut rng = generator(*seed);
                    let slow = |i: usize, j: usize| if (leaf[i] == 1) != (leaf[j] == 1) { more } else { 0.0 };
                    let far = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { far };
                    let values = square(leaf.len(), |i, j| noise * normal(&mut rng) + far(i, j) + slow(i, j));
                    let view = View { is_short: true, ..View::of_square(values, &distances, noise) };
                    let found = whole(&view, &distances, &sets(&distances)[1], BUDGET);
                    assert!(found.iter().all(|found| found.place.hosts == distances.members(1)));
                    !found.is_empty()
                };
                (0..20).filter(is_named).count()
            };
            let counts = (named(0.22), named(0.0));
            assert!(counts.0 >= 18 && counts.1 == 0, "{sizes:?}: {counts:?}");
        }
    }

    #[test]
    fn ways_between_leaves_of_two_pods_are_one_way_between_the_pods() {
        // Leaves 0 and 1 are a pod that is not known, and so are leaves 4 and 5.
        let is_gate = |a: usize, b: usize| a < 2 && (4..6).contains(&b);
        let (both, sets) = view(8, 2, |a, b| if is_gate(a, b) || is_gate(b, a) { 0.5 } else { 0.0 });
        let found = best(gates(&both, &sets, |_, _| true, BUDGET));
        let [found] = &found[..] else { panic!("{found:?}") };
        let mut ends = [found.place.hosts.clone(), found.place.toward.clone()];
        ends.iter_mut().for_each(|end| end.sort_unstable());
        ends.sort();
        assert_eq!((found.place.direction, ends), (Direction::Both, [vec![0, 1, 2, 3], vec![8, 9, 10, 11]]));

        let (one, sets) = view(8, 2, |a, b| if is_gate(a, b) && b == 4 { 0.5 } else { 0.0 });
        let found = best(gates(&one, &sets, |_, _| true, BUDGET));
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found.place.direction, &found.place.toward), (Direction::Send, &vec![8, 9]));
    }

    #[test]
    fn of_two_leaves_the_way_that_is_slower_than_the_other_is_named() {
        let directions = |fault: fn(usize, usize) -> f64| -> Vec<Direction> {
            let (view, sets) = view(2, 5, fault);
            best(between_two(&view, &sets, BUDGET)).iter().map(|found| found.place.direction).collect()
        };
        assert_eq!(directions(|a, b| if a != b { 0.5 } else { 0.0 }), []);
        assert_eq!(directions(|a, b| if a < b { 0.5 } else { 0.0 }), [Direction::Send]);
        assert_eq!(directions(|a, b| if a > b { 0.5 } else { 0.0 }), [Direction::Receive]);
    }

    #[test]
    fn a_way_all_of_whose_pairs_are_slow_is_no_gate_where_so_many_others_are_that_it_may_be_a_coincidence() {
        // Eight leaves of two hosts: of 56 ways one all of whose four pairs are slow, where so many others are.
        let slow_elsewhere = |share: f64| {
            let mut rng = generator(5);
            let rest = square(16, |i, j| {
                let is_slow = (i / 2, j / 2) == (0, 1) || rng.random_bool(share);
                0.01 * normal(&mut rng) + if is_slow { 0.4 } else { 0.0 }
            });
            let sets: Vec<Set> = (0..8).map(|leaf| Set::of((leaf * 2..leaf * 2 + 2).collect(), 16)).collect();
            let view = View::of_square(rest, &Distances::flat(16), 0.01);
            best(gates(&view, &sets, |_, _| true, BUDGET)).len()
        };
        assert_eq!((slow_elsewhere(0.0), slow_elsewhere(0.2)), (1, 0));
    }

    #[test]
    fn where_messages_meet_a_way_is_found_by_how_many_of_its_pairs_are_slow() {
        // Four leaves of eight hosts; up to three messages share a way, and levels of ways are far from normal.
        let found = |more: f64| {
            let mut rng = generator(5);
            let rest = square(32, |i, j| {
                let load = if i / 8 != j / 8 { f64::from(rng.random_range(1..=3)).ln() } else { 0.0 };
                load + 0.01 * normal(&mut rng) + if (i / 8, j / 8) == (0, 1) { more } else { 0.0 }
            });
            let sets: Vec<Set> = (0..4).map(|leaf| Set::of((leaf * 8..leaf * 8 + 8).collect(), 32)).collect();
            let view = View::of_square(rest, &Distances::flat(32), 0.01);
            best(gates(&view, &sets, |_, _| true, BUDGET)).len()
        };
        assert_eq!((found(0.8), found(0.0)), (1, 0));
    }
}

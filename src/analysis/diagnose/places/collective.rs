//! Hosts that are late in a collective.
//!
//! In: [`View`]s of all_to_all or bcast. Out: [`Suspect`]s. A cell is not its pair's own: what a host passes on late is late
//! at all that come after it.
//!
//! A host that receives slowly is late whoever is root, and one that sends slowly makes all others late where it is root.
//! One that comes after it is neither: it is not late where the slow host is root itself, unless that sends slowly; and where
//! it is root the slow host is not late, unless that receives slowly. So a whole line of the matrix has to be late, its least
//! cell too, and a host that is late both ways explains those that are so one way.
//!
//! In an all_to_all messages of all hosts meet, so that one host makes others late to some extent: those are named that are at
//! least half as late as the one that is so most.
//!
//! What it cannot distinguish: who sends slowly from who comes next and receives slowly, where messages pass from host to
//! host along a chain; hosts that are late all the same, of which each may make the others so (it says which they are); and
//! a second slow host of a broadcast.

use super::{
    Budget, Place, Suspect, View,
    distance::Distances,
    fit::Fit,
    hosts::Parts,
    view::{bands, medians},
};
use crate::{
    analysis::{
        diagnose::{Direction, Kind, folded::Folded},
        square::Square,
    },
    plan::Mode,
};

/// Whether times of a broadcast depend on how many numbers a host comes after the root: in a tree they do, of few hosts or where
/// messages pass along a chain hardly. What leaves less scatter for the numbers that it takes.
pub fn distances(folded: &Folded) -> Distances {
    let shapes = [Distances::flat(folded.hosts()), Distances::around(folded.hosts())];
    let bands = bands(&folded.level);
    let times: Vec<Square> = bands.iter().map(|band| medians(folded, std::slice::from_ref(band))).collect();
    let scatter = |shape: &Distances| times.iter().map(|times| Fit::of(times, shape).noise.ln()).sum::<f64>();
    let [flat, around] = shapes;
    if scatter(&around) < scatter(&flat) { around } else { flat }
}

/// The hosts that are late, besides those that are known `before`: those of the view that shows what is most improbable. In a
/// broadcast that is the one which is late alone at some view; or those that are so together.
pub fn late(views: &[View], mode: Mode, budget: Budget, before: &[Suspect]) -> Vec<Suspect> {
    // Who receives from a host that is late is late too, with or without its own cells.
    if mode == Mode::Bcast && !before.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Vec<Suspect>> = views.iter().map(|view| of_view(view, mode, budget)).collect();
    found.retain(|found| !found.is_empty());
    let least = |found: &Vec<Suspect>| found.iter().map(|own| own.log).fold(0.0, f64::min);
    found.sort_by(|a, b| least(a).total_cmp(&least(b)));
    if mode != Mode::Bcast {
        let mut first = found.into_iter().next().unwrap_or_default();
        let most = before.iter().chain(&first).map(|own| own.effect).fold(0.0, f64::max);
        first.retain(|own| own.effect >= most / 2.0);
        return first;
    }
    let mut alone = found.iter().filter(|found| found.len() == 1).flatten();
    let only = alone.next().filter(|first| alone.all(|other| other.place.hosts == first.place.hosts)).cloned();
    only.or_else(|| together(found.concat())).into_iter().collect()
}

/// Hosts that are late at one view. The least that one may be late by, of a message that is as quick as the shortest, is the
/// time of that: as long as it takes the last one to leave the barrier after the first, whose clock runs.
fn of_view(view: &View, mode: Mode, budget: Budget) -> Vec<Suspect> {
    let parts = Parts::of(view, budget);
    let least = if mode == Mode::AllToAll { view.latency.ln_1p() } else { 0.0 };
    let fit = &view.fit;
    let late = |values: &[f64], direction: Direction| -> Vec<Suspect> {
        let spreads = parts.spreads(|host| values[host]);
        let suspect = |host: usize| {
            let effect = values[host] - spreads.first()?.centre;
            if effect < least || least_of_line(view, host, direction) <= half(view, effect) {
                return None;
            }
            let tests = 2 * (spreads.len() + 1);
            let by_spreads = spreads.iter().map(|spread| spread.log(effect, 1.0));
            let by_ranks = parts.log_by_ranks(host, direction, &[&|other| values[other]], tests);
            parts.suspect(host, direction, effect, by_spreads.fold(by_ranks, f64::min), tests)
        };
        parts.hosts.iter().filter_map(|host| suspect(*host)).collect()
    };
    by_ways(late(&fit.send, Direction::Send), late(&fit.receive, Direction::Receive), mode)
}

/// The least that a message takes beyond what is usual, of those that a host sends, or receives.
fn least_of_line(view: &View, host: usize, direction: Direction) -> f64 {
    let others = (0..view.fit.send.len()).filter(|other| *other != host);
    let value = |other: usize| match direction {
        Direction::Receive => view.fit.beyond_class(other, host),
        _ => view.fit.beyond_class(host, other),
    };
    others.map(value).fold(f64::INFINITY, f64::min)
}

/// What the least cell takes more of a line that is late as a whole: half, or as much less as the least of so many is by chance;
/// of n normal numbers that is `sqrt(2 ln n)` deviations at most.
fn half(view: &View, effect: f64) -> f64 {
    let chance = (2.0 * (view.fit.send.len() as f64).ln()).sqrt() * view.fit.noise;
    (effect / 2.0).min(effect - chance)
}

/// Hosts that are late both ways are one suspect each. Where hosts pass on what they received, these explain all others, and
/// those that receive late explain who seems to send late.
fn by_ways(mut sends: Vec<Suspect>, mut receives: Vec<Suspect>, mode: Mode) -> Vec<Suspect> {
    let mut both = Vec::new();
    sends.retain(|send| {
        let Some(same) = receives.iter().position(|own| own.place.hosts == send.place.hosts) else { return true };
        let receive = receives.swap_remove(same);
        let place = Place { direction: Direction::Both, ..receive.place.clone() };
        let (effect, log) = ((send.effect + receive.effect) / 2.0, send.log.min(receive.log));
        both.push(Suspect { place, effect, log, ..receive });
        false
    });
    let all = [both, receives, sends];
    if mode == Mode::Bcast {
        return all.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
    }
    all.concat()
}

/// Hosts each of which may make the others late.
fn together(found: Vec<Suspect>) -> Option<Suspect> {
    let mut hosts: Vec<usize> = found.iter().flat_map(|own| own.place.hosts.clone()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let first = found.into_iter().next()?;
    Some(Suspect { place: Place::of(Kind::Fabric, hosts, first.place.direction), ..first })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Asked, Least, judge_with},
        *,
    };
    use crate::analysis::drawn::{generator, normal, square};

    /// Hosts of every drawn run, so that a binomial tree has four levels.
    const HOSTS: usize = 16;

    /// A broadcast along a binomial tree whose places are those after the root, `[root, host]`: a host sends to one after
    /// another once it has received. What a healthy host takes to send is one; `more` is what one takes more to send and to
    /// receive.
    fn broadcast(more: impl Fn(usize) -> [f64; 2]) -> Square {
        let mut rng = generator(5);
        let mut rows = Vec::new();
        for root in 0..HOSTS {
            let host = |place: usize| (root + place) % HOSTS;
            let (mut has, mut sent) = (vec![0.0; HOSTS], vec![0.0; HOSTS]);
            for place in 1..HOSTS {
                // Place 12 is sent to from 8, that from 0.
                let from = place & (place - 1);
                sent[from] += 1.0 + more(host(from))[0];
                has[place] = has[from] + sent[from] + 2.0 + more(host(place))[1];
            }
            rows.push((0..HOSTS).map(|host| has[(host + HOSTS - root) % HOSTS]).collect::<Vec<f64>>());
        }
        square(HOSTS, |root, host| rows[root][host].ln() + 0.01 * normal(&mut rng))
    }

    /// Kind, hosts and direction of what is found. `times`: of 8 bytes and of 1 MiB, or of these alone.
    fn found(times: Vec<Square>, mode: Mode) -> Vec<(Kind, Vec<usize>, Direction)> {
        let folded = Folded::of_logarithms(&[8, 1 << 20][2 - times.len()..], times);
        let distances = if mode == Mode::Bcast { distances(&folded) } else { Distances::flat(HOSTS) };
        let asked = Asked { mode, confidence: 0.99, least: Least::OF_TIMES };
        let suspects = judge_with(&folded, distances, asked, &[]).suspects;
        suspects.into_iter().map(|own| (own.place.kind, own.place.hosts, own.place.direction)).collect()
    }

    #[test]
    fn the_host_that_makes_others_late_in_a_broadcast_is_named_and_none_that_comes_after_it() {
        let named = |more: [f64; 2]| {
            let slow = |host: usize| if host == 5 { more } else { [0.0; 2] };
            found(vec![broadcast(slow)], Mode::Bcast)
        };
        assert_eq!(named([0.0; 2]), []);
        assert_eq!(named([0.0, 6.0]), [(Kind::Node, vec![5], Direction::Receive)]);
        assert_eq!(named([6.0, 0.0]), [(Kind::Node, vec![5], Direction::Send)]);
        assert_eq!(named([6.0, 6.0]), [(Kind::Node, vec![5], Direction::Both)]);
    }

    #[test]
    fn of_hosts_that_are_late_together_none_is_named_alone() {
        // They exchange what they have received: one of them is slow, and both are late whoever is root.
        let mut rng = generator(3);
        let times = square(HOSTS, |_, host| if host == 4 || host == 12 { 1.0 } else { 0.0 } + 0.01 * normal(&mut rng));
        assert_eq!(found(vec![times], Mode::Bcast), [(Kind::Fabric, vec![4, 12], Direction::Receive)]);
    }

    #[test]
    fn who_comes_after_a_slow_host_whoever_is_root_is_not_named() {
        let mut rng = generator(7);
        let slow = square(HOSTS, |root, host| {
            f64::from(u8::from(root == 5 || host == 5 || host == 6)) + 0.01 * normal(&mut rng)
        });
        assert_eq!(found(vec![slow], Mode::Bcast), [(Kind::Node, vec![5], Direction::Both)]);
        // Messages are cut into pieces, which pass from host to host: all are late whose way leads over the fifth.
        let chain = square(HOSTS, |root, host| {
            let place = |host: usize| (host + HOSTS - root) % HOSTS;
            f64::from(u8::from(root != 5 && place(5) <= place(host))) + 0.01 * normal(&mut rng)
        });
        assert_eq!(found(vec![chain], Mode::Bcast), [(Kind::Node, vec![5], Direction::Receive)]);
    }

    #[test]
    fn places_after_the_root_count_where_they_explain_the_times() {
        let classes = |times: Square| distances(&Folded::of_logarithms(&[1 << 20], vec![times])).classes;
        assert_eq!(classes(broadcast(|_| [0.0; 2])), HOSTS);
        let mut rng = generator(6);
        let is_around = |_: &u32| classes(square(6, |_, _| normal(&mut rng))) == 6;
        assert!((0..100).filter(is_around).count() < 50);
    }

    #[test]
    fn who_sends_and_receives_late_in_an_all_to_all_is_one_finding_and_who_left_the_barrier_first_is_none() {
        let mut rng = generator(4);
        let mut times = |level: f64, early: f64, more: [f64; 2]| {
            square(HOSTS, |i, j| {
                let late = level + if i == 2 { more[0] } else { 0.0 } + if j == 2 { more[1] } else { 0.0 };
                late + if j == 9 { early } else { 0.0 } + 0.01 * normal(&mut rng)
            })
        };
        // Its clock runs for half of a short message longer; of long ones that is nothing.
        let healthy = vec![times(0.0, 0.4, [0.0; 2]), times(4.0, 0.0, [0.0; 2])];
        assert_eq!(found(healthy, Mode::AllToAll), []);
        let slow = vec![times(0.0, 0.4, [0.0; 2]), times(4.0, 0.0, [0.5, 0.6])];
        assert_eq!(found(slow, Mode::AllToAll), [(Kind::Node, vec![2], Direction::Both)]);
    }

    #[test]
    fn in_an_all_to_all_others_are_named_that_are_half_as_late_as_the_latest() {
        let mut rng = generator(8);
        let mut hosts = |other: f64| {
            let mut times = |level: f64, more: [f64; 2]| {
                let late = |host: usize| [3, 9].iter().position(|own| *own == host).map_or(0.0, |own| more[own]);
                square(HOSTS, |i, _| level + late(i) + 0.01 * normal(&mut rng))
            };
            let mut found = found(vec![times(0.0, [0.0; 2]), times(4.0, [1.0, other])], Mode::AllToAll);
            found.sort_by_key(|(_, hosts, _)| hosts[0]);
            found.into_iter().flat_map(|(_, hosts, _)| hosts).collect::<Vec<_>>()
        };
        assert_eq!([hosts(0.7), hosts(0.2)], [vec![3, 9], vec![3]]);
    }
}

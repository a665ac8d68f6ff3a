//! Pods and leaves that are slow as soon as several of their messages are on the way: fewer cables are left than there should
//! be.
//!
//! In: times by hosts, what is usual, and in which round every pair was measured. Out: [`Suspect`]s. All pairs of a round
//! that leave a leaf, or a pod, share its cables: a healthy one is not slow in more rounds than others that have as many hosts
//! or more. Pairs that cross places which were found otherwise take no part.
//!
//! What it cannot see: single cables of a leaf ([`super::routes`]); which of two leaves it is, for all pairs cross both.

use rayon::prelude::*;

use super::{
    Asked, Distances, Place, Set, Suspect, Verdict, error,
    place::slow_lengths,
    rounds::{AtLength, lengths},
    sets,
};
use crate::{
    analysis::diagnose::{Agreement, Direction, Kind, folded::Folded},
    plan::Rounds,
    stats::median,
};

/// The pairs of a round that cross the way out of a leaf or a pod.
struct Crossing {
    set: usize,
    /// How many they are.
    count: usize,
    /// Those that cross no place which was found: the other set, and what they take beyond what is usual.
    beyond: Vec<(usize, f64)>,
}

impl Crossing {
    /// What half of them take, without those that cross another set; NaN where no others are known.
    fn level(&self, but: Option<usize>) -> f64 {
        median(&mut self.beyond.iter().filter(|(other, _)| Some(*other) != but).map(|own| own.1).collect::<Vec<_>>())
    }
}

/// The rounds of one length.
struct OfLength {
    crossings: Vec<Crossing>,
    /// What is slow.
    least: f64,
}

impl OfLength {
    fn of(at: &AtLength<'_>, set_of: &[usize], is_found: &[bool], least: f64) -> Self {
        let hosts = set_of.len();
        let sets = set_of.iter().max().map_or(0, |last| last + 1);
        let mut crossings = Vec::new();
        for pairs in at.by_rounds() {
            let of_set = |set| Crossing { set, count: 0, beyond: Vec::new() };
            let mut round: Vec<Crossing> = (0..sets).map(of_set).collect();
            for (i, j) in pairs.into_iter().filter(|(i, j)| set_of[*i] != set_of[*j]) {
                for (own, other) in [(set_of[i], set_of[j]), (set_of[j], set_of[i])] {
                    round[own].count += 1;
                    if !is_found[i * hosts + j] && !is_found[j * hosts + i] {
                        round[own].beyond.push((other, at.beyond_hosts(i, j)));
                    }
                }
            }
            crossings.extend(round.into_iter().filter(|own| !own.beyond.is_empty()));
        }
        // The slowest of n pairs that are usual is sqrt(2 ln n) deviations off, of both ways.
        let pairs = (hosts * hosts) as f64 / 2.0;
        Self { crossings, least: least.max(pairs.ln().sqrt() * at.noise) }
    }

    /// Rounds in which a set is slow, and in how many it would be if it were like the others that `is_peer`.
    fn of_set(&self, set: usize, is_peer: impl Fn(usize) -> bool) -> (f64, f64) {
        let is_slow = |level: f64| f64::from(u8::from(level > self.least));
        let sum = |levels: &mut dyn Iterator<Item = f64>| {
            levels.filter(|level| !level.is_nan()).fold((0.0, 0.0), |sum, level| (sum.0 + 1.0, sum.1 + is_slow(level)))
        };
        let of_others = self.crossings.iter().filter(|own| own.set != set && is_peer(own.set));
        let (all, slow) = sum(&mut of_others.map(|own| own.level(Some(set))));
        let (rounds, slow_rounds) =
            sum(&mut self.crossings.iter().filter(|own| own.set == set).map(|own| own.level(None)));
        // Every pair is of two sets. Half a round more: a rate that was never seen is not known to be zero (Jeffreys).
        (slow_rounds, rounds * (slow / 2.0 + 0.5) / (all / 2.0 + 1.0))
    }

    /// What a set takes in its slow rounds, `ln(ratio)`, and how many of the pairs that cross its way are of these.
    fn slow(&self, set: usize) -> (f64, Agreement) {
        let own = || self.crossings.iter().filter(|own| own.set == set);
        let slow: Vec<&Crossing> = own().filter(|own| own.level(None) > self.least).collect();
        let cells = Agreement { slow: slow.iter().map(|own| own.count).sum(), of: own().map(|own| own.count).sum() };
        let level = median(&mut slow.iter().map(|own| own.level(None)).collect::<Vec<_>>());
        (if slow.is_empty() { 0.0 } else { level }, cells)
    }
}

/// Bound on the logarithm of the probability of so many events or more where so many are expected (Chernoff 1952).
fn log_of_more(events: f64, expected: f64) -> f64 {
    if events <= expected { 0.0 } else { events - expected - events * (events / expected).ln() }
}

/// The pods and leaves that are slow under load. `rounds`: `[length]`, in which hosts meet.
pub fn find(folded: &Folded, verdict: &Verdict, rounds: &[Rounds<'_>], asked: Asked) -> Vec<Suspect> {
    if asked.mode.is_collective() {
        return Vec::new();
    }
    let lengths = lengths(folded, verdict, rounds, asked);
    let mut found = Vec::new();
    for sets in sets(&verdict.distances) {
        let crossed = verdict.suspects.iter().chain(&found).map(|suspect| &suspect.place);
        let is_found = Place::crossing_any(crossed, folded.hosts());
        found.extend(of_sets(&sets, &lengths, &is_found, (&verdict.distances, asked)));
    }
    found
}

/// Those of some sets of which each has a way of its own. `is_found`: the pairs that cross places which were found.
fn of_sets(
    sets: &[Set],
    lengths: &[AtLength<'_>],
    is_found: &[bool],
    (distances, asked): (&Distances, Asked),
) -> Vec<Suspect> {
    if sets.len() < 3 {
        return Vec::new();
    }
    let mut set_of = vec![0; distances.leaf.len()];
    sets.iter().enumerate().for_each(|(number, set)| set.members.iter().for_each(|host| set_of[*host] = number));
    let of_length = |at: &AtLength<'_>| OfLength::of(at, &set_of, is_found, asked.least.way);
    let lengths: Vec<OfLength> = lengths.par_iter().map(of_length).collect();
    let suspect = |own: usize| {
        // A set of fewer hosts shares its cables among fewer pairs.
        let is_peer = |other: usize| sets[other].members.len() >= sets[own].members.len();
        let of_lengths: Vec<_> = lengths.iter().map(|length| length.of_set(own, is_peer)).collect();
        // What is short of bandwidth is short of it from a length on.
        let from = |first: usize| {
            let (slow, expected) =
                of_lengths[first..].iter().fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
            log_of_more(slow, expected)
        };
        let looked_at = (sets.len() * lengths.len()) as f64;
        let log = (0..lengths.len()).map(from).fold(0.0, f64::min) + looked_at.ln();
        if log >= error(distances, asked) {
            return None;
        }
        let (effects, cells): (Vec<f64>, Vec<Agreement>) = lengths.iter().map(|length| length.slow(own)).unzip();
        let slow = slow_lengths(&effects);
        let range = (*slow.first()?, *slow.last()?);
        let meant = &cells[range.0..=range.1];
        let cells =
            Agreement { slow: meant.iter().map(|own| own.slow).sum(), of: meant.iter().map(|own| own.of).sum() };
        let place = Place::of(Kind::Group, sets[own].members.clone(), Direction::Both);
        let effect = median(&mut effects[range.0..=range.1].to_vec());
        Some(Suspect { effects, cells, ..Suspect::at(place, effect, log, range) })
    };
    (0..sets.len()).into_par_iter().filter_map(suspect).collect()
}

//! Hosts whose samples scatter although their medians are usual.
//!
//! In: the scatter of every pair's samples. Out: [`Scatterer`]s. On a healthy machine a cell's deviation is small or huge,
//! by whether it caught one of the rare disturbed samples: so cells are ranked, and a host is judged by the ranks of its
//! cells (normal scores, van der Waerden 1952). Of few cells the mean rank says less: it counts as many standard errors as
//! it would be from zero if cells were independent. Hosts are looked at one by one, the one first that scatters most, and
//! the others' cells without those that they share with it: the fewer partners hosts have, the more it makes of these.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{
    hosts::slow_way,
    place::slow_range,
    spread::{NORMAL, Spread},
};
use crate::{
    analysis::diagnose::{Agreement, Direction, folded::Folded},
    stats::median_of,
};

/// Least number of times, as a logarithm, that samples scatter as far as usual: below that a daemon is not worth a walk.
const LEAST: f64 = 0.35;

/// A host that scatters.
pub struct Scatterer {
    /// Its number among those that were looked at.
    pub host: usize,
    /// Which way.
    pub direction: Direction,
    /// Logarithm of the probability that a healthy run has such a host.
    pub log: f64,
    /// How many times as far its samples scatter, `ln(ratio)`, `[length]`.
    pub effects: Vec<f64>,
    /// First and last length at which they do, by number.
    pub range: (usize, usize),
    /// Its pairs this way, and how many of them scatter by half of that over the range.
    pub cells: Agreement,
}

/// A cell by its rank among those of its length.
struct Ranked {
    score: f64,
    from: usize,
    to: usize,
}

/// The hosts that scatter.
pub fn find(scatter: &Folded, confidence: f64) -> Vec<Scatterer> {
    let mut cells: Vec<Ranked> = (0..scatter.lengths.len()).flat_map(|length| ranked(scatter, length)).collect();
    let mut found = Vec::new();
    while let Some((host, direction, log)) = most(scatter.hosts(), &cells) {
        if log >= (1.0 - confidence).ln() {
            break;
        }
        found.extend(scatterer(scatter, host, direction, log));
        cells.retain(|cell| cell.from != host && cell.to != host);
    }
    found
}

/// Normal scores of the cells of a length.
fn ranked(scatter: &Folded, length: usize) -> Vec<Ranked> {
    let hosts = scatter.hosts();
    let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let values = pairs.map(|(from, to)| Ranked { score: scatter.from_to(length, from, to), from, to });
    let mut cells: Vec<Ranked> = values.filter(|cell| !cell.score.is_nan()).collect();
    cells.sort_by(|a, b| a.score.total_cmp(&b.score));
    let all = cells.len() as f64;
    let mut first = 0;
    // Cells that scatter alike share the mean of their ranks.
    for alike in cells.chunk_by_mut(|a, b| a.score == b.score) {
        let rank = first as f64 + alike.len() as f64 / 2.0;
        let score = Normal::standard().inverse_cdf(((rank + 0.5) / (all + 1.0)).min(1.0 - 0.5 / (all + 1.0)));
        first += alike.len();
        alike.iter_mut().for_each(|cell| cell.score = score);
    }
    cells
}

/// Sum of some cells' scores, and how many they are.
#[derive(Clone, Copy, Default)]
struct Sum {
    scores: f64,
    cells: f64,
}

impl Sum {
    /// In standard errors, as scores have a variance of 1; NaN of no cell.
    fn errors(self) -> f64 {
        self.scores / self.cells.sqrt()
    }
}

/// Of what hosts send and of what they receive, `[host]`.
fn sums<'a>(hosts: usize, cells: impl Iterator<Item = &'a Ranked>) -> Vec<[Sum; 2]> {
    let mut sums = vec![[Sum::default(); 2]; hosts];
    for cell in cells {
        for (host, way) in [(cell.from, 0), (cell.to, 1)] {
            let sum: &mut Sum = &mut sums[host][way];
            *sum = Sum { scores: sum.scores + cell.score, cells: sum.cells + 1.0 };
        }
    }
    sums
}

fn errors([send, receive]: [Sum; 2], direction: Direction) -> f64 {
    match direction {
        Direction::Both => Sum { scores: send.scores + receive.scores, cells: send.cells + receive.cells }.errors(),
        Direction::Send => send.errors(),
        Direction::Receive => receive.errors(),
    }
}

/// The host that scatters most, which way, and the logarithm of the probability that a healthy run has such a host.
fn most(hosts: usize, cells: &[Ranked]) -> Option<(usize, Direction, f64)> {
    let all = sums(hosts, cells.iter());
    let of_host = |host: usize| {
        let [send, receive] = all[host].map(|sum| sum.scores / sum.cells);
        let direction = slow_way((send + receive) / 2.0, (send - receive) / 2.0);
        (host, direction, errors(all[host], direction))
    };
    let known = (0..hosts).map(of_host).filter(|(.., errors)| !errors.is_nan());
    let (host, direction, own) = known.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let others = sums(hosts, cells.iter().filter(|cell| cell.from != host && cell.to != host));
    let spread = Spread::of((0..hosts).filter(|other| *other != host).map(|other| errors(others[other], direction)))?;
    let spread = spread.pooled(1.0, NORMAL).unwrap_or(spread);
    Some((host, direction, spread.log(own - spread.centre, 3.0 * hosts as f64)))
}

/// What is known of a host that scatters; none where that is too little for anybody to walk there.
fn scatterer(scatter: &Folded, host: usize, direction: Direction, log: f64) -> Option<Scatterer> {
    let others = (0..scatter.hosts()).filter(|other| *other != host);
    let out = others.clone().map(|other| (host, other)).filter(|_| direction != Direction::Receive);
    let into = others.map(|other| (other, host)).filter(|_| direction != Direction::Send);
    let pairs: Vec<(usize, usize)> = out.chain(into).collect();
    let at = |length: usize, (i, j): (usize, usize)| scatter.from_to(length, i, j);
    let of_pairs = |length: usize| median_of(pairs.iter().map(|pair| at(length, *pair)), &mut Vec::new());
    let effects: Vec<f64> = (0..scatter.lengths.len()).map(of_pairs).collect();
    let most = effects.iter().copied().fold(f64::MIN, f64::max);
    let range = slow_range(&effects)?;
    let of_range =
        |pair: &(usize, usize)| median_of((range.0..=range.1).map(|length| at(length, *pair)), &mut Vec::new());
    let known: Vec<f64> = pairs.iter().map(of_range).filter(|value| !value.is_nan()).collect();
    let slow = known.iter().filter(|value| **value >= most / 2.0).count();
    let cells = Agreement { slow, of: known.len() };
    (most >= LEAST).then_some(Scatterer { host, direction, log, effects, range, cells })
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::{
        analysis::drawn::{generator, square, symmetric},
        units::Bytes,
    };

    #[test]
    fn hosts_of_which_little_is_known_are_no_more_often_said_to_scatter() {
        // One cell of ten caught a disturbed sample. Every fourth host has two partners, and all others each other.
        let hosts = 32;
        let found = |seed: u64| {
            let mut rng = generator(seed);
            let mut folded = Folded::empty((0..hosts).map(|host| format!("n{host:02}")).collect());
            for length in [0, 64, 4096, 1 << 18] {
                let is_of_few = |i: usize| i.is_multiple_of(4);
                let is_known = |i: usize, j: usize| !is_of_few(i) && !is_of_few(j) || i.abs_diff(j) == 1;
                folded.times.push(symmetric(hosts, |i, j| match (is_known(i, j), rng.random_bool(0.1)) {
                    (false, _) => f64::NAN,
                    (true, is_disturbed) => 0.1 * rng.random::<f64>() + if is_disturbed { 2.0 } else { 0.0 },
                }));
                folded.level.push(1e-6);
                folded.lengths.push(Bytes(length));
            }
            !find(&folded, 0.99).is_empty()
        };
        // One of a hundred is promised: of forty, more than three have one with a probability of one in a thousand.
        assert!((0..40).filter(|seed| found(*seed)).count() <= 3);
    }

    #[test]
    fn of_hosts_with_few_partners_the_one_that_scatters_is_found_and_no_partner_of_it() {
        let hosts = 12;
        let mut rng = generator(7);
        let is_known = |i: usize, j: usize| matches!(i.abs_diff(j), 1 | 5 | 7 | 11);
        let mut logarithm = |i: usize, j: usize| match is_known(i, j) {
            true => 0.3 * rng.random::<f64>() + if j == 4 { 1.0 } else { 0.0 },
            false => f64::NAN,
        };
        let squares = (0..3).map(|_| square(hosts, &mut logarithm)).collect();
        let found = find(&Folded::of_logarithms(&[0, 64, 4096], squares), 0.99);
        let [found] = &found[..] else { panic!("{} hosts", found.len()) };
        assert_eq!((found.host, found.direction, found.range), (4, Direction::Receive, (0, 2)));
        assert_eq!((found.cells.slow, found.cells.of), (4, 4));
    }
}

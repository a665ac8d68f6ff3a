//! Hosts whose samples scatter although their medians are usual.
//!
//! In: the scatter of every pair's samples, and how far its hosts are apart. Out: [`Scatterer`]s. On a healthy machine a
//! cell's deviation is small or huge, by whether it caught one of the rare disturbed samples: so cells are ranked among those
//! of pairs as far apart, as the same disturbance is more of a shorter time, and a host is judged by the ranks of its cells
//! (normal scores, van der Waerden 1952). Of few cells the mean rank says less: it counts as many standard errors as
//! it would be if cells were drawn from all. The fewer partners hosts have, the more one that scatters makes of these, and
//! of a few hosts two hide each other: so the one that scatters most is left out with its cells and the others are ranked
//! again, and all are found up to the last one that stands out from who is left then (generalized extreme Studentized
//! deviate, Rosner 1983). Each is judged in the end without the cells that it shares with others that were found.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal};

use super::{
    COINCIDENCE,
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

/// Sum of some cells' scores, and how many they are.
#[derive(Clone, Copy, Default)]
struct Sum {
    scores: f64,
    cells: f64,
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self { scores: self.scores + other.scores, cells: self.cells + other.cells }
    }

    /// NaN of no cell.
    fn mean(self) -> f64 {
        self.scores / self.cells
    }

    /// How many standard errors its mean lies above that of `all`, of which it is a part, as scores have a variance of 1; NaN
    /// of no cell.
    fn errors(self, all: Self) -> f64 {
        (self.mean() - all.mean()) * (self.cells / (1.0 - self.cells / all.cells)).sqrt()
    }
}

/// The hosts that scatter. `class(source, destination)`: of pairs that are alike; none of those that say nothing.
pub fn find(scatter: &Folded, class: impl Fn(usize, usize) -> Option<usize>, confidence: f64) -> Vec<Scatterer> {
    let hosts = scatter.hosts();
    let cells = Cells::of(scatter, class);
    let is_beyond_chance = |own: &Judged| own.log < (1.0 - confidence).ln();
    let mut is_left = vec![true; hosts];
    let peel = |_| {
        let (host, own) = cells.scores(&is_left).most()?;
        is_left[host] = false;
        // What would be a coincidence of any single host hides no other one.
        (own.tail < COINCIDENCE).then_some((host, own))
    };
    // More than half of the hosts are alike.
    let peeled: Vec<(usize, Judged)> = (0..hosts / 2).map_while(peel).collect();
    let count = peeled.iter().rposition(|(_, own)| is_beyond_chance(own)).map_or(0, |last| last + 1);
    let mut is_left = vec![true; hosts];
    peeled[..count].iter().for_each(|(host, _)| is_left[*host] = false);
    let scatterer = |(host, _): &(usize, Judged)| {
        is_left[*host] = true;
        let own = cells.scores(&is_left).judged(*host).filter(is_beyond_chance);
        is_left[*host] = false;
        scatterer(&cells, *host, own?)
    };
    peeled[..count].iter().filter_map(scatterer).collect()
}

/// What is known of how far samples scatter.
struct Cells {
    hosts: usize,
    /// More than pairs as far apart, as a logarithm, `[length][source * hosts + destination]`; NaN of those that say nothing.
    more: Vec<Vec<f64>>,
    /// The known cells of a length and a class, the steadiest first: that, and the pair.
    alike: Vec<Vec<(f64, usize)>>,
}

impl Cells {
    fn of(scatter: &Folded, class: impl Fn(usize, usize) -> Option<usize>) -> Self {
        let hosts = scatter.hosts();
        let mut pairs_of = BTreeMap::<usize, Vec<usize>>::new();
        for pair in (0..hosts * hosts).filter(|pair| pair / hosts != pair % hosts) {
            if let Some(class) = class(pair / hosts, pair % hosts) {
                pairs_of.entry(class).or_default().push(pair);
            }
        }
        let mut cells =
            Self { hosts, more: vec![vec![f64::NAN; hosts * hosts]; scatter.lengths.len()], alike: Vec::new() };
        for (length, more) in cells.more.iter_mut().enumerate() {
            for pairs in pairs_of.values() {
                let value = |pair: &usize| (scatter.from_to(length, pair / hosts, pair % hosts), *pair);
                let mut alike: Vec<(f64, usize)> =
                    pairs.iter().map(value).filter(|(value, _)| !value.is_nan()).collect();
                alike.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                let usual = median_of(alike.iter().map(|(value, _)| *value), &mut Vec::new());
                alike.iter().for_each(|(value, pair)| more[*pair] = value - usual);
                cells.alike.push(alike);
            }
        }
        cells
    }

    /// Normal scores of the cells between hosts that are left.
    fn scores(&self, is_left: &[bool]) -> Scores {
        let mut pairs = vec![Sum::default(); self.hosts * self.hosts];
        for cells in &self.alike {
            let is_known = |(_, pair): &&(f64, usize)| is_left[pair / self.hosts] && is_left[pair % self.hosts];
            let cells: Vec<&(f64, usize)> = cells.iter().filter(is_known).collect();
            let all = cells.len() as f64;
            let mut first = 0;
            // Cells that scatter alike share the mean of their ranks.
            for alike in cells.chunk_by(|a, b| a.0 == b.0) {
                let rank = first as f64 + alike.len() as f64 / 2.0;
                let score = Normal::standard().inverse_cdf(((rank + 0.5) / (all + 1.0)).min(1.0 - 0.5 / (all + 1.0)));
                first += alike.len();
                let cell = Sum { scores: score, cells: 1.0 };
                alike.iter().for_each(|(_, pair)| pairs[*pair] = pairs[*pair].plus(cell));
            }
        }
        Scores { hosts: self.hosts, pairs }
    }
}

/// The scores of all lengths, `[from * hosts + to]`; of no cell where a host is not left.
struct Scores {
    hosts: usize,
    pairs: Vec<Sum>,
}

/// How a host scatters among others.
struct Judged {
    direction: Direction,
    /// Probability that one of them scatters so.
    tail: f64,
    /// Logarithm of the probability that a healthy run has such a host.
    log: f64,
}

impl Scores {
    /// Of what a host sends to others but one and receives from them.
    fn of_host(&self, host: usize, but: usize) -> [Sum; 2] {
        let others = || (0..self.hosts).filter(|other| *other != but);
        let sum = |sum: Sum, pair: usize| sum.plus(self.pairs[pair]);
        [
            others().map(|other| host * self.hosts + other).fold(Sum::default(), sum),
            others().map(|other| other * self.hosts + host).fold(Sum::default(), sum),
        ]
    }

    /// The host that scatters most.
    fn most(&self) -> Option<(usize, Judged)> {
        let sums: Vec<[Sum; 2]> = (0..self.hosts).map(|host| self.of_host(host, host)).collect();
        let all = sum_of(&sums);
        let errors = |(host, own): (usize, &[Sum; 2])| (host, errors(*own, way(*own, all), all));
        let known = sums.iter().enumerate().map(errors).filter(|(_, errors)| !errors.is_nan());
        let (host, _) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((host, self.judged(host)?))
    }

    fn judged(&self, host: usize) -> Option<Judged> {
        let own = self.of_host(host, host);
        let others = (0..self.hosts).filter(|other| *other != host);
        let sums: Vec<[Sum; 2]> = others.map(|other| self.of_host(other, host)).collect();
        let of_others = sum_of(&sums);
        let all = of_others.plus(own[0]).plus(own[1]);
        let direction = way(own, all);
        let spread = Spread::of(sums.iter().map(|sums| errors(*sums, direction, of_others)))?;
        let spread = spread.pooled(1.0, NORMAL).unwrap_or(spread);
        let more = errors(own, direction, all) - spread.centre;
        let (tail, log) = (spread.tail(more), spread.log(more, 3.0 * self.hosts as f64));
        (!log.is_nan()).then_some(Judged { direction, tail, log })
    }
}

/// Of the cells between some hosts, of which each is sent once.
fn sum_of(sums: &[[Sum; 2]]) -> Sum {
    sums.iter().map(|[send, _]| *send).fold(Sum::default(), Sum::plus)
}

fn errors([send, receive]: [Sum; 2], direction: Direction, all: Sum) -> f64 {
    match direction {
        Direction::Both => send.plus(receive).errors(all),
        Direction::Send => send.errors(all),
        Direction::Receive => receive.errors(all),
    }
}

/// Which way a host scatters more than all.
fn way(sums: [Sum; 2], all: Sum) -> Direction {
    let [send, receive] = sums.map(|sum| sum.mean() - all.mean());
    slow_way((send + receive) / 2.0, (send - receive) / 2.0)
}

/// What is known of a host that scatters; none where that is too little for anybody to walk there.
fn scatterer(
    Cells { hosts, more, .. }: &Cells,
    host: usize,
    Judged { direction, log, .. }: Judged,
) -> Option<Scatterer> {
    let others = (0..*hosts).filter(|other| *other != host);
    let out = others.clone().map(|other| host * hosts + other).filter(|_| direction != Direction::Receive);
    let into = others.map(|other| other * hosts + host).filter(|_| direction != Direction::Send);
    let pairs: Vec<usize> = out.chain(into).collect();
    let of_pairs = |more: &Vec<f64>| median_of(pairs.iter().map(|pair| more[*pair]), &mut Vec::new());
    let effects: Vec<f64> = more.iter().map(of_pairs).collect();
    let most = effects.iter().copied().fold(f64::MIN, f64::max);
    let range = slow_range(&effects)?;
    let of_range = |pair: &usize| median_of(more[range.0..=range.1].iter().map(|more| more[*pair]), &mut Vec::new());
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
            !find(&folded, |_, _| Some(0), 0.99).is_empty()
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
        let found = find(&Folded::of_logarithms(&[0, 64, 4096], squares), |_, _| Some(0), 0.99);
        let [found] = &found[..] else { panic!("{} hosts", found.len()) };
        assert_eq!((found.host, found.direction, found.range), (4, Direction::Receive, (0, 2)));
        assert_eq!((found.cells.slow, found.cells.of), (4, 4));
    }

    #[test]
    fn hosts_that_hide_each_other_are_all_found() {
        let hosts = 12;
        let mut rng = generator(8);
        let is_known = |i: usize, j: usize| matches!(i.abs_diff(j), 1 | 5 | 7 | 11);
        let mut logarithm = |i: usize, j: usize| match (is_known(i, j), [4, 9].contains(&i) || [4, 9].contains(&j)) {
            (true, is_bad) => 0.6 * rng.random::<f64>() + if is_bad { 1.5 } else { 0.0 },
            (false, _) => f64::NAN,
        };
        let squares = (0..3).map(|_| square(hosts, &mut logarithm)).collect();
        let found = find(&Folded::of_logarithms(&[0, 64, 4096], squares), |_, _| Some(0), 0.99);
        let mut named: Vec<_> = found.iter().map(|own| (own.host, own.direction)).collect();
        named.sort_by_key(|own| own.0);
        assert_eq!(named, [4, 9].map(|host| (host, Direction::Both)));
    }

    #[test]
    fn a_host_is_compared_with_pairs_as_far_apart_as_its_own_are() {
        // Samples inside leaves of six scatter more; of what leaves the first one nothing is known.
        let hosts = 36;
        let class = |i: usize, j: usize| match (i / 6 == j / 6, i / 6 == 0 || j / 6 == 0) {
            (true, _) => Some(0),
            (false, true) => None,
            (false, false) => Some(1),
        };
        let found = |bad: Option<usize>| {
            let mut rng = generator(9);
            let is_bad = |i: usize, j: usize| [i, j].map(Some).contains(&bad);
            let mut logarithm = |i: usize, j: usize| {
                let more = [i / 6 == j / 6, is_bad(i, j)].map(|is_more| if is_more { 1.0 } else { 0.0 });
                0.6 * rng.random::<f64>() + more.iter().sum::<f64>()
            };
            let squares = (0..3).map(|_| square(hosts, &mut logarithm)).collect();
            let found = find(&Folded::of_logarithms(&[0, 64, 4096], squares), class, 0.99);
            found.into_iter().map(|own| (own.host, own.effects)).collect::<Vec<_>>()
        };
        assert!(found(None).is_empty());
        let [(4, effects)] = &found(Some(4))[..] else { panic!("{:?}", found(Some(4))) };
        assert!(effects.iter().all(|effect| (effect - 1.0).abs() < 0.3), "{effects:?}");
    }
}

//! Hosts whose samples scatter although their medians are usual.
//!
//! In: the scatter of every pair's samples. Out: [`Scatterer`]s. On a healthy machine a cell's deviation is small or huge,
//! by whether it caught one of the rare disturbed samples: so cells are ranked, and a host is judged by the ranks of its
//! cells (normal scores, van der Waerden 1952), compared with the other hosts. Of few cells the mean rank says less: it
//! counts as many standard errors as it would be from zero if cells were independent.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{place::slow_lengths, spread::Spread};
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

/// The hosts that scatter.
pub fn find(scatter: &Folded, confidence: f64) -> Vec<Scatterer> {
    let hosts = scatter.hosts();
    // Of what hosts send and of what they receive.
    let mut sums = vec![[(0.0, 0.0); 2]; hosts];
    for length in 0..scatter.lengths.len() {
        let mut cells: Vec<(f64, usize, usize)> = Vec::new();
        for (i, j) in (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            let value = scatter.from_to(length, i, j);
            if !value.is_nan() {
                cells.push((value, i, j));
            }
        }
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = cells.len() as f64;
        let mut first = 0;
        while first < cells.len() {
            // Cells that scatter alike share the mean of their ranks.
            let last = first + cells[first..].iter().take_while(|cell| cell.0 == cells[first].0).count();
            let rank = (first + last) as f64 / 2.0;
            let score = Normal::standard().inverse_cdf(((rank + 0.5) / (all + 1.0)).min(1.0 - 0.5 / (all + 1.0)));
            for (_, i, j) in &cells[first..last] {
                for (host, side) in [(*i, 0), (*j, 1)] {
                    let own = &mut sums[host][side];
                    *own = (own.0 + score, own.1 + 1.0);
                }
            }
            first = last;
        }
    }
    // Scores have a variance of 1.
    let errors = |[(send, sent), (receive, received)]: &[(f64, f64); 2]| (send + receive) / (sent + received).sqrt();
    let errors: Vec<f64> = sums.iter().map(errors).collect();
    let Some(spread) = Spread::of(errors.iter().copied()) else { return Vec::new() };
    let spread = spread.at_least(1.0);
    let of_host = |host: usize| {
        let log = spread.log(errors[host] - spread.centre, hosts as f64);
        let cells: f64 = sums[host].iter().map(|side| side.1).sum();
        let [send, receive] = sums[host].map(|(sum, count)| sum / count - spread.centre / cells.sqrt());
        let direction = match (receive < send / 2.0, send < receive / 2.0) {
            (true, _) => Direction::Send,
            (_, true) => Direction::Receive,
            _ => Direction::Both,
        };
        if log >= (1.0 - confidence).ln() {
            return None;
        }
        let others = (0..hosts).filter(|other| *other != host);
        let out = others.clone().map(|other| (host, other)).filter(|_| direction != Direction::Receive);
        let into = others.map(|other| (other, host)).filter(|_| direction != Direction::Send);
        let pairs: Vec<(usize, usize)> = out.chain(into).collect();
        let at = |length: usize, (i, j): (usize, usize)| scatter.from_to(length, i, j);
        let of_pairs = |length: usize| median_of(pairs.iter().map(|pair| at(length, *pair)), &mut Vec::new());
        let effects: Vec<f64> = (0..scatter.lengths.len()).map(of_pairs).collect();
        let most = effects.iter().copied().fold(f64::MIN, f64::max);
        let meant = slow_lengths(&effects);
        let range = (*meant.first()?, *meant.last()?);
        let of_range =
            |pair: &(usize, usize)| median_of((range.0..=range.1).map(|length| at(length, *pair)), &mut Vec::new());
        let known: Vec<f64> = pairs.iter().map(of_range).filter(|value| !value.is_nan()).collect();
        let slow = known.iter().filter(|value| **value >= most / 2.0).count();
        let cells = Agreement { slow, of: known.len() };
        (most >= LEAST).then_some(Scatterer { host, direction, log, effects, range, cells })
    };
    (0..hosts).filter_map(of_host).collect()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::{
        analysis::{
            drawn::{generator, symmetric},
            square::Square,
        },
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
                folded.mean.push(symmetric(hosts, |i, j| match (is_known(i, j), rng.random_bool(0.1)) {
                    (false, _) => f64::NAN,
                    (true, is_disturbed) => 0.1 * rng.random::<f64>() + if is_disturbed { 2.0 } else { 0.0 },
                }));
                folded.half.push(Square::zero(hosts));
                folded.one_way.push(Vec::new());
                folded.level.push(1e-6);
                folded.lengths.push(Bytes(length));
            }
            !find(&folded, 0.99).is_empty()
        };
        // One of a hundred is promised: of forty, more than three have one with a probability of one in a thousand.
        assert!((0..40).filter(|seed| found(*seed)).count() <= 3);
    }
}

//! From what was found in the difference of two runs to what is told of it: size in ratio and seconds, and how many pairs
//! show it.

use rayon::prelude::*;

use super::{Change, Subject, Symptom};
use crate::{
    analysis::diagnose::{
        Direction,
        folded::{Folded, Square},
        model::Fit,
        robust::{median_of, scatter_about_zero},
    },
    record::Statistic,
    units::Bytes,
};

/// A pair shows a change that exceeds the noise by this many standard deviations.
const BEYOND_NOISE: f64 = 2.0;

/// What was found, hosts by number.
pub(super) struct Found<'a> {
    pub subject: Subject,
    /// One; source and destination; or members. None for all.
    pub hosts: &'a [usize],
    pub direction: Direction,
    /// `ln(new / base)`.
    pub effect: f64,
    /// First and last length, by number.
    pub range: (usize, usize),
    pub doubt: f64,
}

/// What findings are described with.
pub(super) struct Describer<'a> {
    /// The base run.
    pub base: &'a Folded,
    /// `ln(new / base)` of every pair.
    pub change: &'a Folded,
    /// The same without what many pairs have in common.
    pub rest: &'a Folded,
    /// What hosts explain of `rest`, and what is left.
    pub fit: &'a Fit,
    /// What all pairs have in common, `[length]`.
    pub shift: Vec<f64>,
    /// Of the base run, `[host]`.
    pub group: &'a [usize],
    pub statistic: Statistic,
}

impl Describer<'_> {
    /// In words of the runs.
    pub fn describe(&self, found: &Found) -> Change {
        let (first, last) = found.range;
        let sign = found.effect.signum();
        let pairs = self.pairs(found);
        let at = |length: usize, (i, j): (usize, usize)| match found.subject {
            Subject::Pairs(_) => self.change.from_to(length, i, j),
            Subject::Group => self.change.from_to(length, i, j) - self.shift[length],
            _ => self.rest.from_to(length, i, j),
        };
        let over = |range: std::ops::RangeInclusive<usize>, pair, scratch: &mut Vec<f64>| {
            median_of(range.map(|length| at(length, pair)), scratch)
        };
        let noise = self.noise(found.range);
        let of_pairs = pairs.par_iter().map_init(Vec::new, |scratch, pair| sign * over(first..=last, *pair, scratch));
        let of_pairs: Vec<f64> = of_pairs.filter(|value| !value.is_nan()).collect();
        let slow = of_pairs.iter().filter(|value| **value > BEYOND_NOISE * noise).count();
        let seconds = |pair: &(usize, usize)| self.base.level[last] * self.base.from_to(last, pair.0, pair.1).exp();
        let usual = median_of(pairs.iter().map(seconds), &mut Vec::new());
        let effect_at = |length: usize| sign * median_of(pairs.iter().map(|pair| at(length, *pair)), &mut Vec::new());
        let lengths = &self.change.lengths;
        Change {
            subject: found.subject,
            hosts: found.hosts.iter().map(|host| self.change.names[*host].clone()).collect(),
            direction: found.direction,
            is_slower: sign > 0.0,
            symptom: symptom(self.statistic, lengths, found.range, effect_at),
            lengths: (lengths[first], lengths[last]),
            ratio: found.effect.exp(),
            extra_seconds: usual * found.effect.exp_m1(),
            confidence: 1.0 - found.doubt,
            cells: (slow, of_pairs.len()),
        }
    }

    /// Whether a pair changed in the direction of `sign` by itself, not only beside its hosts: the pair of two slow hosts that
    /// are not slow toward each other has not become faster.
    pub fn has_changed(&self, (i, j): (usize, usize), (first, last): (usize, usize), sign: f64, floor: f64) -> bool {
        let change = |length: usize| sign * (self.change.from_to(length, i, j) - self.shift[length]);
        median_of((first..=last).map(change), &mut Vec::new()) > floor
    }

    /// The ordered pairs that a finding is about.
    fn pairs(&self, found: &Found) -> Vec<(usize, usize)> {
        let count = self.change.hosts();
        let mut is_in = vec![false; count];
        found.hosts.iter().for_each(|host| is_in[*host] = true);
        let is_meant = |i: usize, j: usize| match found.subject {
            Subject::Link => {
                let is_way = |a: usize, b: usize| found.hosts == [a, b];
                is_way(i, j) || found.direction == Direction::Both && is_way(j, i)
            }
            Subject::Pairs(pairs) => pairs.contains(self.group[i] == self.group[j]),
            Subject::Host | Subject::Group | Subject::Silent => match found.direction {
                Direction::Both => is_in[i] != is_in[j],
                Direction::Send => is_in[i] && !is_in[j],
                Direction::Receive => !is_in[i] && is_in[j],
            },
        };
        (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|&(i, j)| i != j && is_meant(i, j)).collect()
    }

    /// Standard deviation of what is left of a pair, one direction, in the middle of a range of lengths.
    fn noise(&self, (first, last): (usize, usize)) -> f64 {
        let hosts = self.fit.hosts();
        let of_row = |i: usize| {
            let mut scratch = Vec::new();
            let middle =
                |j: usize| median_of((first..=last).map(|length| self.fit.rest_from_to(length, i, j)), &mut scratch);
            (0..hosts).map(middle).filter(|value| !value.is_nan()).collect::<Vec<_>>()
        };
        scatter_about_zero(&mut (0..hosts).into_par_iter().flat_map_iter(of_row).collect::<Vec<_>>())
    }
}

/// What part of a time changed: what is left at the longest length if messages cost more each, what comes with length if
/// bytes do. A single length does not tell.
pub(super) fn symptom(
    statistic: Statistic,
    lengths: &[Bytes],
    range: (usize, usize),
    effect_at: impl Fn(usize) -> f64,
) -> Option<Symptom> {
    let last = lengths.len() - 1;
    match (statistic, range) {
        (Statistic::Deviation | Statistic::Max, _) => Some(Symptom::Jitter),
        _ if last == 0 => None,
        (_, (0, end)) if end < last => Some(Symptom::Latency),
        (_, (first, end)) if first > 0 && end == last => Some(Symptom::Bandwidth),
        // The extra seconds grow with the length unless the ratio falls about as fast as times grow.
        _ if effect_at(last) > effect_at(0) / 2.0 => Some(Symptom::Bandwidth),
        _ => Some(Symptom::Latency),
    }
}

/// A host that has no pairs left, at all lengths.
pub(super) fn silent(base: &Folded, host: usize) -> Change {
    let pairs = |mean: &Square| mean.row(host).iter().filter(|value| !value.is_nan()).count();
    let most = base.mean.iter().map(pairs).max().unwrap_or(0);
    Change {
        subject: Subject::Silent,
        hosts: vec![base.names[host].clone()],
        direction: Direction::Both,
        is_slower: true,
        symptom: None,
        lengths: (base.lengths[0], base.lengths[base.lengths.len() - 1]),
        ratio: f64::INFINITY,
        extra_seconds: f64::INFINITY,
        confidence: 1.0,
        cells: (2 * most, 2 * most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symptom_is_where_the_seconds_are() {
        let lengths = [0, 1024, 1 << 20].map(Bytes);
        let of = |statistic, range, effects: [f64; 3]| symptom(statistic, &lengths, range, |length| effects[length]);
        assert_eq!(of(Statistic::Median, (0, 1), [0.1, 0.1, 0.0]), Some(Symptom::Latency));
        assert_eq!(of(Statistic::Median, (1, 2), [0.0, 0.1, 0.1]), Some(Symptom::Bandwidth));
        assert_eq!(of(Statistic::Median, (0, 2), [0.1, 0.1, 0.1]), Some(Symptom::Bandwidth));
        assert_eq!(of(Statistic::Median, (0, 2), [0.5, 0.4, 0.1]), Some(Symptom::Latency));
        assert_eq!(of(Statistic::Deviation, (0, 2), [0.5, 0.4, 0.1]), Some(Symptom::Jitter));
        assert_eq!(symptom(Statistic::Min, &lengths[..1], (0, 0), |_| 0.1), None);
    }
}

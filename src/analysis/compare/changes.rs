//! From what was found in the difference of two runs to what is told of it: size in ratio and seconds, length by
//! length, and how many pairs show it.
//!
//! In: hosts by number, an effect and a range of lengths, and the difference. Out: [`Change`]s. Nothing is judged here.

use rayon::prelude::*;

use super::{Change, Subject};
use crate::{
    analysis::{
        diagnose::{Agreement, AtLength, Direction, Symptom, folded::Folded, symptom},
        square::Square,
    },
    record::Statistic,
    stats::median_of,
};

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
        let over_range = |scratch: &mut Vec<f64>, pair: &(usize, usize)| {
            sign * median_of((first..=last).map(|length| at(length, *pair)), scratch)
        };
        let of_pairs: Vec<f64> = pairs.par_iter().map_init(Vec::new, over_range).collect();
        let curve = (0..self.change.lengths.len()).map(|length| {
            let mut scratch = Vec::new();
            let usual = |pair: &(usize, usize)| self.base.from_to(length, pair.0, pair.1);
            let usual = self.base.level[length] * median_of(pairs.iter().map(usual), &mut scratch).exp();
            (usual, median_of(pairs.iter().map(|pair| at(length, *pair)), &mut scratch))
        });
        change(found, &self.change.names, self.statistic, self.curve(found.range, curve), agreement(found, &of_pairs))
    }

    /// A change of pairs inside hosts: usual seconds and effect, `[length]`, and the effect of every host.
    pub fn inside(&self, found: &Found, curve: impl Iterator<Item = (f64, f64)>, of_hosts: &[f64]) -> Change {
        change(found, &[], self.statistic, self.curve(found.range, curve), agreement(found, of_hosts))
    }

    /// From usual seconds and `ln(ratio)`, `[length]`.
    fn curve(&self, (first, last): (usize, usize), at: impl Iterator<Item = (f64, f64)>) -> Vec<AtLength> {
        let of_length = |(index, (usual_seconds, effect)): (usize, (f64, f64))| AtLength {
            length: self.change.lengths[index],
            ratio: effect.exp(),
            usual_seconds,
            extra_seconds: usual_seconds * effect.exp_m1(),
            is_meant: (first..=last).contains(&index),
        };
        at.enumerate().map(of_length).collect()
    }

    /// Whether a pair changed in the direction of `sign` by itself, not only beside its hosts: the pair of two slow
    /// hosts that are not slow toward each other has not become faster.
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
}

fn change(found: &Found, names: &[String], statistic: Statistic, curve: Vec<AtLength>, cells: Agreement) -> Change {
    let (first, last) = found.range;
    let meant = &curve[first..=last];
    let extra_seconds = meant.iter().map(|at| at.extra_seconds).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    // What became faster did so by a negative time.
    let sizes: Vec<AtLength> =
        meant.iter().map(|at| AtLength { extra_seconds: at.extra_seconds.abs(), ..*at }).collect();
    Change {
        subject: found.subject,
        hosts: found.hosts.iter().map(|host| names[*host].clone()).collect(),
        direction: found.direction,
        is_slower: found.effect > 0.0,
        symptom: Some(match statistic {
            Statistic::Deviation | Statistic::Max => Symptom::Jitter,
            _ => symptom(&sizes),
        }),
        lengths: (curve[first].length, curve[last].length),
        ratio: found.effect.exp(),
        extra_seconds: extra_seconds.unwrap_or(f64::NAN),
        confidence: 1.0 - found.doubt,
        cells,
        curve,
    }
}

/// How many show at least half of what was found. `effects`: `ln(ratio)` in the direction of the change.
fn agreement(found: &Found, effects: &[f64]) -> Agreement {
    Agreement {
        slow: effects.iter().filter(|effect| **effect > found.effect.abs() / 2.0).count(),
        of: effects.iter().filter(|effect| !effect.is_nan()).count(),
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
        cells: Agreement { slow: 2 * most, of: 2 * most },
        curve: Vec::new(),
    }
}

//! From what was found in the difference of two runs to what is said of it: size in ratio and seconds, length by
//! length, and how many pairs show it.
//!
//! In: places, or pairs, with an effect and a range of lengths, and the difference. Out: [`Change`]s. Nothing is judged
//! here.

use rayon::prelude::*;

use super::{Change, Pairs, Subject};
use crate::{
    analysis::{
        diagnose::{Agreement, AtLength, Direction, Symptom, folded::Folded, places::Suspect, symptom},
        square::Square,
    },
    record::Statistic,
    stats::median_of,
    units::hostlist,
};

/// What many pairs have in common.
pub(super) struct Common {
    /// Which pairs.
    pub pairs: Pairs,
    /// `ln(new / base)`.
    pub effect: f64,
    /// First and last length, by number.
    pub range: (usize, usize),
    /// Probability that two healthy runs have such a thing.
    pub p_value: f64,
}

/// What findings are described with.
pub(super) struct Describer<'a> {
    /// The base run.
    pub base: &'a Folded,
    /// `ln(new / base)` of every pair.
    pub change: &'a Folded,
    /// Of the base run, `[host]`.
    pub group: &'a [usize],
    pub statistic: Statistic,
}

impl Describer<'_> {
    /// A place that became slower (sign 1) or faster (sign -1).
    pub fn place(&self, sign: f64, suspect: &Suspect) -> Change {
        let (place, hosts) = (&suspect.place, self.base.hosts());
        let is_crossing = place.crossing(hosts);
        let pairs: Vec<_> = self.pairs(|i, j| is_crossing[i * hosts + j]);
        let curve =
            suspect.effects.iter().enumerate().map(|(length, effect)| (self.usual(length, &pairs), sign * effect));
        let names = |hosts: &mut dyn Iterator<Item = &usize>| {
            let mut names: Vec<String> = hosts.map(|host| self.base.names[*host].clone()).collect();
            if !place.kind.is_of_pair() {
                hostlist::sort(&mut names);
            }
            names
        };
        Change {
            subject: Subject::Place(place.kind),
            hosts: names(&mut place.named()),
            toward: names(&mut place.second_set()),
            direction: place.direction,
            confidence: 1.0 - suspect.log.exp(),
            cells: suspect.cells,
            share: place.share(hosts, |i, j| self.base.have_met(i, j)),
            ..self.sized(sign * suspect.effect, suspect.range, curve)
        }
    }

    /// A change of pairs of hosts.
    pub fn common(&self, found: &Common) -> Change {
        let pairs = self.pairs(|i, j| found.pairs.contains(self.group[i] == self.group[j]));
        let at = |length: usize, (i, j): (usize, usize)| self.change.from_to(length, i, j);
        let (first, last) = found.range;
        let over_range = |scratch: &mut Vec<f64>, pair: &(usize, usize)| {
            median_of((first..=last).map(|length| at(length, *pair)), scratch)
        };
        let of_pairs: Vec<f64> = pairs.par_iter().map_init(Vec::new, over_range).collect();
        let middle = |length: usize| median_of(pairs.iter().map(|pair| at(length, *pair)), &mut Vec::new());
        let curve = (0..self.change.lengths.len()).map(|length| (self.usual(length, &pairs), middle(length)));
        self.of_many(found, curve, &of_pairs)
    }

    /// A change of so many pairs: usual seconds and effect, `[length]`, and the effect of every pair, or host, over the
    /// range, `ln(ratio)`.
    pub fn of_many(&self, found: &Common, curve: impl Iterator<Item = (f64, f64)>, effects: &[f64]) -> Change {
        let is_half = |effect: &&f64| found.effect.signum() * **effect > found.effect.abs() / 2.0;
        Change {
            subject: Subject::Pairs(found.pairs),
            confidence: 1.0 - found.p_value,
            cells: Agreement {
                slow: effects.iter().filter(is_half).count(),
                of: effects.iter().filter(|effect| !effect.is_nan()).count(),
            },
            ..self.sized(found.effect, found.range, curve)
        }
    }

    /// The ordered pairs of hosts that are meant.
    fn pairs(&self, is_meant: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
        let hosts = self.base.hosts();
        (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|&(i, j)| i != j && is_meant(i, j)).collect()
    }

    /// Seconds in the base run, of the middle one of some pairs.
    fn usual(&self, length: usize, pairs: &[(usize, usize)]) -> f64 {
        let of_pairs = pairs.iter().map(|(i, j)| self.base.from_to(length, *i, *j));
        self.base.level[length] * median_of(of_pairs, &mut Vec::new()).exp()
    }

    /// A change of all pairs by `ln(new / base)` over a range of lengths; `curve`: usual seconds and effect,
    /// `[length]`.
    fn sized(&self, effect: f64, (first, last): (usize, usize), curve: impl Iterator<Item = (f64, f64)>) -> Change {
        let at = |(index, (usual_seconds, effect)): (usize, (f64, f64))| AtLength {
            length: self.change.lengths[index],
            ratio: effect.exp(),
            usual_seconds,
            extra_seconds: usual_seconds * effect.exp_m1(),
            is_meant: (first..=last).contains(&index),
        };
        let curve: Vec<AtLength> = curve.enumerate().map(at).collect();
        let meant = &curve[first..=last];
        let extra_seconds = meant.iter().map(|at| at.extra_seconds).max_by(|a, b| a.abs().total_cmp(&b.abs()));
        // What became faster did so by a negative time.
        let sizes: Vec<AtLength> =
            meant.iter().map(|at| AtLength { extra_seconds: at.extra_seconds.abs(), ..*at }).collect();
        Change {
            subject: Subject::Pairs(Pairs::All),
            hosts: Vec::new(),
            toward: Vec::new(),
            direction: Direction::Both,
            is_slower: effect > 0.0,
            symptom: Some(match self.statistic {
                Statistic::Deviation | Statistic::Max | Statistic::P90 | Statistic::P99 => Symptom::Jitter,
                _ => symptom(&sizes),
            }),
            lengths: (curve[first].length, curve[last].length),
            ratio: effect.exp(),
            extra_seconds: extra_seconds.unwrap_or(f64::NAN),
            confidence: 1.0,
            cells: Agreement { slow: 0, of: 0 },
            share: None,
            curve,
        }
    }
}

/// A host that has no pairs left, at all lengths.
pub(super) fn silent(base: &Folded, host: usize) -> Change {
    let pairs = |times: &Square| {
        let is_known = |other: &usize| !times.at(host, *other).is_nan() || !times.at(*other, host).is_nan();
        (0..times.side()).filter(is_known).count()
    };
    let most = base.times.iter().map(pairs).max().unwrap_or(0);
    Change {
        subject: Subject::Silent,
        hosts: vec![base.names[host].clone()],
        toward: Vec::new(),
        direction: Direction::Both,
        is_slower: true,
        symptom: None,
        lengths: (base.lengths[0], base.lengths[base.lengths.len() - 1]),
        ratio: f64::INFINITY,
        extra_seconds: f64::INFINITY,
        confidence: 1.0,
        cells: Agreement { slow: 2 * most, of: 2 * most },
        share: None,
        curve: Vec::new(),
    }
}

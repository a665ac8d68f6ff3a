//! Pairs of hosts that are slow although both hosts are not.
//!
//! In: what is left of every pair in a [`View`]. Out: [`Suspect`]s. A pair counts as improbable as both the scatter of all
//! pairs and the length of their tail say: the largest of many are fitted by an exponential (peaks over threshold, Pickands
//! 1975), which is longer than the tail of a normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Budget, Place, Suspect, View};
use crate::{
    analysis::diagnose::{Direction, Kind},
    stats::{median, scatter},
};

/// The pairs that are slow, without those of hosts for which `is_named`.
pub fn slow(view: &View, is_named: &[bool], budget: Budget) -> Vec<Suspect> {
    let rest = &view.fit.rest;
    let hosts = rest.side();
    let mut both = Vec::new();
    let mut single = Vec::new();
    for (i, j) in (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j))) {
        if is_named[i] || is_named[j] {
            continue;
        }
        let (there, back) = (rest.at(i, j), rest.at(j, i));
        both.push(((there + back) / 2.0, i, j, (there - back) / 2.0));
        single.extend([(there, i, j, back), (back, j, i, there)]);
    }
    let mut found = Vec::new();
    for (cells, is_both) in [(both, true), (single, false)] {
        let cells: Vec<_> = cells.into_iter().filter(|cell| !cell.0.is_nan()).collect();
        let Some(tail) = Tail::of(cells.iter().map(|cell| cell.0).collect(), hosts) else { continue };
        for &(value, i, j, other) in &cells {
            if value < budget.least.link {
                continue;
            }
            let log = tail.log(value) + budget.price(3 * cells.len());
            let is_own = if is_both { other.abs() < value / 2.0 } else { other.is_nan() || other < value / 2.0 };
            if budget.allows(log) && is_own {
                let direction = if is_both { Direction::Both } else { Direction::Send };
                found.push(Suspect::new(Place::of(Kind::Link, vec![i, j], direction), value, log, view));
            }
        }
    }
    found
}

/// How improbable large values are.
struct Tail {
    centre: f64,
    deviation: f64,
    /// From here on values are far out: so many of so many.
    from: f64,
    share: f64,
    excess: f64,
}

impl Tail {
    fn of(mut values: Vec<f64>, hosts: usize) -> Option<Self> {
        let count = values.len();
        if count < 6 {
            return None;
        }
        let centre = median(&mut values.clone());
        let far = (count as f64).sqrt().ceil() as usize;
        values.sort_by(|a, b| b.total_cmp(a));
        let from = values[far.min(count - 1)];
        let excess = median(&mut values[..far].iter().map(|value| value - from).collect::<Vec<_>>());
        // Each host's two numbers were taken from the values.
        let free =
            count as f64 - 2.0 * hosts as f64 / (count * 2 / (hosts * hosts.saturating_sub(1)).max(1)).max(1) as f64;
        let deviation = scatter(&mut values) * (count as f64 / free.max(count as f64 / 4.0)).sqrt();
        // The median of an exponential distribution is ln 2 of its mean.
        Some(Self { centre, deviation, from, share: far as f64 / count as f64, excess: excess / 2f64.ln() })
    }

    /// Logarithm of the probability of such a value.
    fn log(&self, value: f64) -> f64 {
        let score = (value - self.centre) / self.deviation.max(1e-9);
        let normal = Normal::standard().sf(score).max(f64::MIN_POSITIVE).ln();
        let far = self.share.ln() - (value - self.from).max(0.0) / self.excess.max(1e-9);
        normal.max(far)
    }
}

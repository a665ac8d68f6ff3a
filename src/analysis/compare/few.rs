//! Hosts of few pairs: what they do and what noise does is hard to tell apart.
//!
//! In: the difference of two runs that share few hosts, or few pairs of them, taken apart. Out: hosts that became
//! slower by more than noise. With `c` pairs each, `n` hosts have `n c / 2`, of which the effects of the hosts explain
//! as much as `n` numbers can, noise among it: what is left is less than the noise by the root of `c / (c - 2)`, which
//! is made up for here; the detector, made for many pairs, does not. Of fewer than five pairs, what is left says
//! nothing: a noise is assumed that is rather large, so that only large changes are told.

use crate::analysis::diagnose::{
    Kind,
    evidence::{self, Effects, Evidence},
    judgement::Suspicion,
    model::Fit,
};

/// From so many pairs of a host on, what hosts explain of the noise is less than a fifth, and the detector's margin
/// covers it.
pub(super) const MANY_PAIRS: usize = 7;

/// Pairs of a host from which on what hosts leave unexplained tells the noise.
pub(super) const TELLING_PAIRS: usize = 5;

/// Fewest pairs of a host whose middle says something: of two, it follows either.
pub(super) const LEAST_PAIRS: usize = 3;

/// Standard deviation of a pair's change that is assumed at least where it cannot be told, `ln(ratio)`: of two medians
/// that scatter by 3 % each.
const ASSUMED_NOISE: f64 = 0.04;

/// Hosts that are slower by more than `floor`, `ln(ratio)`.
pub(super) fn slower(fit: &Fit, confidence: f64, floor: f64) -> Vec<Suspicion> {
    let (hosts, lengths) = (fit.hosts(), fit.lengths.len());
    let effects: Vec<Effects> = (0..lengths).map(|length| effects(fit, length)).collect();
    let threshold = evidence::threshold(confidence, hosts, lengths);
    let is_slower = |evidence: &Evidence| evidence.effect > floor && evidence.score > threshold;
    let suspicion = |(host, evidence): (usize, Evidence)| Suspicion {
        kind: Kind::Node,
        hosts: vec![host],
        direction: evidence.direction,
        effect: evidence.effect,
        range: evidence.range,
        doubt: evidence::doubt(evidence.score, hosts, lengths),
    };
    evidence::weigh(&effects)
        .into_iter()
        .enumerate()
        .filter(|(_, evidence)| is_slower(evidence))
        .map(suspicion)
        .collect()
}

/// Effects of hosts at one length, with errors that hold among few.
fn effects(fit: &Fit, length: usize) -> Effects {
    let of = &fit.lengths[length];
    let errors = |noise: f64| -> Vec<f64> {
        let error = |pairs: &usize| match *pairs {
            0..LEAST_PAIRS => f64::INFINITY,
            pairs => {
                let own = noise * (pairs as f64 / (pairs - 2) as f64).sqrt();
                let own = if pairs < TELLING_PAIRS { own.max(ASSUMED_NOISE) } else { own };
                // Of a median of pairs, whose other hosts have effects that are no surer, and of the middle host, from
                // which it counts.
                1.2533 * own / (pairs as f64 - 1.57).sqrt() * (1.0 + 1.57 / fit.hosts() as f64).sqrt()
            }
        };
        fit.cells[length].iter().map(error).collect()
    };
    Effects {
        common: of.common.clone(),
        side: of.side.clone(),
        common_error: errors(of.noise),
        side_error: errors(of.side_noise),
    }
}

//! What many pairs have in common: the whole fabric, pairs inside or between groups of hosts.
//!
//! In: the difference of two runs, of the pairs that cross no place that changed by itself, and the groups of the base
//! run. Out: [`Shifts`]; the ranges of lengths in which these are more than noise.

use rayon::prelude::*;

use crate::{
    analysis::{
        diagnose::{
            folded::Folded,
            places::{EFFICIENCY, Least, tail},
        },
        square::Square,
    },
    stats::{error_of_median, median, median_of, scatter, scatter_about_zero},
};

/// Pairs of a host with those of a group that say how far it is from them. Of one a disturbed cell would say all of it; the
/// median of two is their mean, which it moves by half: what is slow is so by half of the effect at least, as anywhere.
pub(super) const LEAST_PAIRS: usize = 2;

/// By how much two healthy runs differ for a whole length, or for a host, where the runs do not show it: standard
/// deviation, `ln(ratio)`. By as much as healthy hosts of one run differ in long messages, which is half of the least that a
/// host is named for.
pub(super) const RUN_TO_RUN: f64 = Least::OF_TIMES.alike_long;

/// Lengths from which on their scatter says by how much a length differs from run to run.
const MANY_LENGTHS: usize = 4;

/// A common change, `ln(ratio)`, its standard error, and the degrees of freedom of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub value: f64,
    pub error: f64,
    pub freedom: f64,
}

impl Shift {
    /// The median of values of hosts, those that are there; its error follows from how hosts differ, and is infinite
    /// for fewer than three.
    pub fn of_hosts(mut values: Vec<f64>) -> Self {
        values.retain(|value| !value.is_nan());
        let value = median(&mut values);
        let error = match values.len() {
            0..=2 => f64::INFINITY,
            count => error_of_median(count as f64) * scatter(&mut values),
        };
        Self { value, error, freedom: EFFICIENCY * values.len() as f64 }
    }
}

/// A range of lengths over which a common change is more than noise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub first: usize,
    pub last: usize,
    /// Mean over the range, `ln(ratio)`.
    pub effect: f64,
    /// Probability that two healthy runs have such a range anywhere.
    pub p_value: f64,
}

/// Common changes at every length.
pub(super) struct Shifts {
    /// Of all pairs of hosts, `[length]`.
    pub all: Vec<Shift>,
    /// Of pairs inside groups, `[length]`; `None` where there is one group.
    pub inside: Option<Vec<Shift>>,
    /// Of pairs between groups, `[length]`.
    pub between: Option<Vec<Shift>>,
    /// By how much `between` differs from `inside`, `[length]`.
    pub contrast: Option<Vec<Shift>>,
}

impl Shifts {
    /// Of a difference; `group`: of every host.
    pub fn of(change: &Folded, group: &[usize]) -> Self {
        let has_groups = group.iter().any(|label| *label != group[0]);
        let means: Vec<Square> = change.times.iter().map(Square::both_ways).collect();
        let of = |keep: &(dyn Fn(usize, usize) -> bool + Sync)| -> Vec<Shift> {
            means.iter().map(|mean| shift(mean, keep)).collect()
        };
        Self {
            all: of(&|_, _| true),
            inside: has_groups.then(|| of(&|i, j| group[i] == group[j])),
            between: has_groups.then(|| of(&|i, j| group[i] != group[j])),
            contrast: has_groups.then(|| means.iter().map(|mean| contrast(mean, group)).collect()),
        }
    }
}

/// The median host's median pair among those for which `keep` is true: nearly half of the hosts can have changed by
/// themselves before it follows them; the median of all pairs follows less than a third of the hosts.
fn shift(mean: &Square, keep: &(dyn Fn(usize, usize) -> bool + Sync)) -> Shift {
    let of_host = |i: usize| {
        let row = mean.row(i).iter().enumerate().filter(|(j, value)| keep(i, *j) && !value.is_nan());
        median_of(row.map(|(_, value)| f64::from(*value)), &mut Vec::new())
    };
    Shift::of_hosts((0..mean.side()).into_par_iter().map(of_host).collect())
}

/// By how much the pairs between groups differ from those inside, host by host.
fn contrast(mean: &Square, group: &[usize]) -> Shift {
    let of_host = |i: usize| {
        let middle = |is_inside: bool| {
            let row =
                mean.row(i).iter().enumerate().filter(|(j, v)| (group[*j] == group[i]) == is_inside && !v.is_nan());
            let mut values: Vec<f64> = row.map(|(_, value)| f64::from(*value)).collect();
            if values.len() < LEAST_PAIRS { f64::NAN } else { median(&mut values) }
        };
        middle(false) - middle(true)
    };
    Shift::of_hosts((0..mean.side()).into_par_iter().map(of_host).collect())
}

/// By how much two healthy runs differ at a length, as far as lengths that follow each other show it.
pub(super) fn with_run_to_run(shifts: &[Shift]) -> Vec<Shift> {
    let mut steps: Vec<f64> = shifts.windows(2).map(|pair| pair[1].value - pair[0].value).collect();
    let seen = if shifts.len() < MANY_LENGTHS { 0.0 } else { scatter_about_zero(&mut steps) / 2.0f64.sqrt() };
    let own = seen.max(RUN_TO_RUN);
    shifts.iter().map(|shift| Shift { error: shift.error.hypot(own), ..*shift }).collect()
}

/// Ranges of lengths whose mean exceeds `floor`: the clearest first, then those next to it. `most`: probability that two
/// healthy runs have any.
pub(super) fn ranges(shifts: &[Shift], most: f64, floor: f64) -> Vec<Range> {
    // Of all ranges, and of those of slower and of faster runs.
    let looked_at = (shifts.len() * (shifts.len() + 1)) as f64;
    let mut found = Vec::new();
    search(shifts, 0, (most, looked_at), floor, &mut found);
    found.sort_by_key(|range| range.first);
    found
}

fn search(shifts: &[Shift], offset: usize, (most, looked_at): (f64, f64), floor: f64, found: &mut Vec<Range>) {
    // A range does not begin or end with a length that shows less than half of the least effect.
    let is_end = |length: usize| shifts[length].value > floor / 2.0;
    let mut best: Option<Range> = None;
    for first in (0..shifts.len()).filter(|length| is_end(*length)) {
        let (mut sum, mut variance, mut of_variance) = (0.0, 0.0, 0.0);
        for (last, shift) in shifts.iter().enumerate().skip(first) {
            if !shift.value.is_finite() || !shift.error.is_finite() {
                break;
            }
            sum += shift.value;
            variance += shift.error.powi(2);
            of_variance += shift.error.powi(4) / shift.freedom;
            let effect = sum / (last - first + 1) as f64;
            // Of a sum of variances (Welch and Satterthwaite).
            let p_value = (looked_at * tail(sum / variance.sqrt(), variance.powi(2) / of_variance)).min(1.0);
            let is_better = best.is_none_or(|best| p_value < best.p_value);
            if is_end(last) && effect > floor && p_value < most && is_better {
                best = Some(Range { first, last, effect, p_value });
            }
        }
    }
    if let Some(range) = best {
        let Range { first, last, .. } = range;
        search(&shifts[..first], offset, (most, looked_at), floor, found);
        found.push(Range { first: offset + first, last: offset + last, ..range });
        search(&shifts[last + 1..], offset + last + 1, (most, looked_at), floor, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::square;

    fn shifts(values: &[f64], error: f64) -> Vec<Shift> {
        values.iter().map(|value| Shift { value: *value, error, freedom: 24.0 }).collect()
    }

    #[test]
    fn a_range_is_where_the_change_is() {
        let found = ranges(&shifts(&[0.0, 0.01, 0.1, 0.12, 0.11], 0.01), 0.005, 0.05);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].first, found[0].last), (2, 4));
        assert!((found[0].effect - 0.11).abs() < 1e-9);
        assert!(ranges(&shifts(&[0.04; 5], 0.001), 0.005, 0.05).is_empty());
        assert!(ranges(&shifts(&[0.1; 2], 0.1), 0.005, 0.05).is_empty());
        assert!(ranges(&shifts(&[-0.1, f64::NAN], 0.01), 0.005, 0.05).is_empty());
    }

    #[test]
    fn two_ranges_are_two() {
        let found = ranges(&shifts(&[0.2, 0.2, -0.3, -0.3, 0.2], 0.01), 0.005, 0.05);
        let ends: Vec<_> = found.iter().map(|range| (range.first, range.last)).collect();
        assert_eq!(ends, [(0, 1), (4, 4)]);
    }

    #[test]
    fn pairs_between_groups_have_a_change_of_their_own() {
        // Twelve hosts in three groups.
        let group: Vec<usize> = (0..12).map(|host| host % 3).collect();
        let wobble = |i: usize, j: usize| 0.002 * ((7 * i * j + i + j) % 5) as f64;
        let change = square(12, |i, j| 0.02 + wobble(i, j) + if group[i] == group[j] { 0.0 } else { 0.14 });
        let shifts = Shifts::of(&Folded::of_logarithms(&[8], vec![change]), &group);
        assert!((shifts.contrast.unwrap()[0].value - 0.14).abs() < 0.02);
        let (inside, between) = (shifts.inside.unwrap()[0].value, shifts.between.unwrap()[0].value);
        assert!((between - inside - 0.14).abs() < 0.01);
    }
}

//! What many pairs have in common: the whole fabric, pairs inside or between groups of hosts, one group's way to all
//! others.
//!
//! In: the difference of two runs and the groups of the base run. Out: [`Shifts`], and the difference without them, in
//! which single hosts and pairs are then looked for. With `d = ln(new / base)` of a pair of hosts in groups `g` and
//! `h`:
//!
//! ```text
//! d = inside               where g = h
//! d = inside + u_g + u_h   else
//! ```
//!
//! One `u_g` above the others is that group's uplink; all of them alike are the switches above.

use rayon::prelude::*;

use super::difference::add;
use crate::{
    analysis::{
        diagnose::{
            Direction,
            evidence::{self, Effects, Evidence},
            folded::Folded,
            model::members,
        },
        square::Square,
    },
    stats::{median, median_of, scatter, scatter_about_zero},
};

/// Groups of fewer hosts are not told from hosts.
const LEAST_MEMBERS: usize = 3;

/// Pairs of a host, inside its group and with others, that say by how much these differ: of two, the middle follows
/// either.
const LEAST_PAIRS: usize = 3;

/// By how much two healthy runs differ for a whole length or a whole group: standard deviation, `ln(ratio)`.
const RUN_TO_RUN: f64 = 0.01;

/// Share of a group's hosts that must show at least half of the group's effect.
const AGREEING: f64 = 0.7;

/// The correction for few groups would ask for more than their blocks can show; they are many pairs each.
const MOST_SCORE_OF_GROUPS: f64 = 6.0;

/// Difference of the pairs between groups from those inside them, in standard errors, that is taken out of all pairs.
const NOTED: f64 = 3.0;

/// Lengths from which on their scatter says by how much a length differs from run to run.
const MANY_LENGTHS: usize = 4;

/// A common change, `ln(ratio)`, and its standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub value: f64,
    pub error: f64,
}

impl Shift {
    /// The median of values of hosts, those that are there; its error follows from how hosts differ, and is infinite
    /// for fewer than three.
    pub fn of_hosts(mut values: Vec<f64>) -> Self {
        values.retain(|value| !value.is_nan());
        let value = median(&mut values);
        let error = match values.len() {
            0..=2 => f64::INFINITY,
            count => 1.2533 * scatter(&mut values) / (count as f64).sqrt(),
        };
        Self { value, error }
    }
}

/// A range of lengths over which a common change is more than noise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub first: usize,
    pub last: usize,
    /// Mean over the range, `ln(ratio)`.
    pub effect: f64,
    /// In standard errors.
    pub score: f64,
}

/// A group whose way to the other groups changed.
pub(super) struct GroupShift {
    pub members: Vec<usize>,
    pub evidence: Evidence,
}

/// Common changes at every length.
pub(super) struct Shifts {
    /// Groups whose way to all others became slower, and those for which it became faster (negative effects).
    pub groups: Vec<GroupShift>,
    /// Of all pairs of hosts, without what those groups explain, `[length]`.
    pub all: Vec<Shift>,
    /// Of pairs inside groups, `[length]`; `None` where there is one group.
    pub inside: Option<Vec<Shift>>,
    /// Of pairs between groups, `[length]`.
    pub between: Option<Vec<Shift>>,
    /// By how much `between` differs from `inside`, `[length]`.
    pub contrast: Option<Vec<Shift>>,
}

impl Shifts {
    /// Finds common changes and takes them out of `change`. Least `ln(ratio)` of a group: `floor`.
    pub fn take(change: &mut Folded, group: &[usize], confidence: f64, floor: f64) -> Self {
        let groups = changed_groups(change, group, confidence, floor);
        let has_groups = group.iter().any(|label| *label != group[0]);
        let of = |keep: &(dyn Fn(usize, usize) -> bool + Sync)| -> Vec<Shift> {
            change.mean.iter().map(|mean| shift(mean, keep)).collect()
        };
        let all = of(&|_, _| true);
        let inside = has_groups.then(|| of(&|i, j| group[i] == group[j]));
        let between = has_groups.then(|| of(&|i, j| group[i] != group[j]));
        let contrast: Option<Vec<Shift>> =
            has_groups.then(|| change.mean.iter().map(|mean| contrast(mean, group)).collect());
        for (length, mean) in change.mean.iter_mut().enumerate() {
            let noted = contrast.as_ref().map(|contrast| contrast[length]).filter(|c| c.value.abs() > NOTED * c.error);
            match (noted, &inside, &between) {
                (Some(_), Some(inside), Some(between)) => {
                    let (inside, between) = (inside[length].value, between[length].value);
                    mean.rows_mut().enumerate().for_each(|(i, row)| {
                        for (j, value) in row.iter_mut().enumerate() {
                            *value -= if group[i] == group[j] { inside } else { between } as f32;
                        }
                    });
                }
                _ => add(mean, -all[length].value),
            }
        }
        Self { groups, all, inside, between, contrast }
    }
}

/// The middle host's middle pair among those for which `keep` is true: nearly half of the hosts can have changed by
/// themselves before it follows them, of the middle of all pairs less than a third.
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

/// By how much two healthy runs differ at a length, as far as lengths that follow each other tell.
pub(super) fn with_run_to_run(shifts: &[Shift]) -> Vec<Shift> {
    let mut steps: Vec<f64> = shifts.windows(2).map(|pair| pair[1].value - pair[0].value).collect();
    let seen = if shifts.len() < MANY_LENGTHS { 0.0 } else { scatter_about_zero(&mut steps) / 2.0f64.sqrt() };
    let own = seen.max(RUN_TO_RUN);
    shifts.iter().map(|shift| Shift { error: shift.error.hypot(own), ..*shift }).collect()
}

/// Ranges of lengths whose mean exceeds `floor`, by `threshold` standard errors: the clearest first, then those beside
/// it.
pub(super) fn ranges(shifts: &[Shift], threshold: f64, floor: f64) -> Vec<Range> {
    let mut found = Vec::new();
    search(shifts, 0, threshold, floor, &mut found);
    found.sort_by_key(|range| range.first);
    found
}

fn search(shifts: &[Shift], offset: usize, threshold: f64, floor: f64, found: &mut Vec<Range>) {
    // A range does not begin or end with a length that shows less than half of the least effect.
    let is_end = |length: usize| shifts[length].value > floor / 2.0;
    let mut best: Option<Range> = None;
    for first in (0..shifts.len()).filter(|length| is_end(*length)) {
        let (mut sum, mut variance) = (0.0, 0.0);
        for (last, shift) in shifts.iter().enumerate().skip(first) {
            if !shift.value.is_finite() || !shift.error.is_finite() {
                break;
            }
            sum += shift.value;
            variance += shift.error * shift.error;
            let count = (last - first + 1) as f64;
            let range = Range { first, last, effect: sum / count, score: sum / variance.sqrt() };
            let is_better = best.is_none_or(|best| range.score > best.score);
            if is_end(last) && range.effect > floor && range.score > threshold && is_better {
                best = Some(range);
            }
        }
    }
    if let Some(Range { first, last, effect, score }) = best {
        search(&shifts[..first], offset, threshold, floor, found);
        found.push(Range { first: offset + first, last: offset + last, effect, score });
        search(&shifts[last + 1..], offset + last + 1, threshold, floor, found);
    }
}

/// Groups whose way to the others changed by more than that of other groups; what they explain is taken out of
/// `change`.
fn changed_groups(change: &mut Folded, group: &[usize], confidence: f64, floor: f64) -> Vec<GroupShift> {
    let count = group.iter().max().map_or(0, |last| last + 1);
    let members: Vec<Vec<usize>> =
        members(group, count).into_iter().filter(|members| members.len() >= LEAST_MEMBERS).collect();
    // With two, a slow way of one is a slow way of the other.
    if members.len() < 3 {
        return Vec::new();
    }
    let uplinks: Vec<Uplinks> = (0..change.lengths.len()).map(|length| Uplinks::of(change, length, &members)).collect();
    let threshold = evidence::threshold(confidence / 2.0 + 0.5, members.len(), uplinks.len()).min(MOST_SCORE_OF_GROUPS);
    let mut found = Vec::new();
    for sign in [1.0, -1.0] {
        let effects: Vec<Effects> = uplinks.iter().map(|uplinks| uplinks.effects(sign)).collect();
        for (place, evidence) in evidence::weigh(&effects).into_iter().enumerate() {
            let lengths = evidence.range.0..=evidence.range.1;
            let own = lengths.clone().map(|length| sign * uplinks[length].common[place]);
            // A group that alone stayed as it was did not change.
            let is_own = evidence.direction != Direction::Both || median_of(own, &mut Vec::new()) > floor;
            if evidence.effect > floor && evidence.score > threshold && is_own {
                let agrees = |host: usize| {
                    let of_lengths =
                        lengths.clone().map(|length| sign * uplinks[length].of_host(host, evidence.direction));
                    median_of(of_lengths, &mut Vec::new()) > evidence.effect / 2.0
                };
                let agreeing = members[place].iter().filter(|host| agrees(**host)).count();
                if agreeing as f64 >= AGREEING * members[place].len() as f64 {
                    let evidence = Evidence { effect: sign * evidence.effect, ..evidence };
                    found.push((place, GroupShift { members: members[place].clone(), evidence }));
                }
            }
        }
    }
    for (length, uplinks) in uplinks.iter().enumerate() {
        for (place, shift) in &found {
            let is_member = |host: usize| shift.members.contains(&host);
            let (common, side) = (uplinks.common[*place], uplinks.side[*place]);
            let is_one_way = shift.evidence.direction != Direction::Both;
            let (is_in, hosts): (Vec<bool>, _) = ((0..group.len()).map(is_member).collect(), group.len());
            for (i, j) in
                (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| is_in[*i] != is_in[*j])
            {
                let mean = change.mean[length].at(i, j) - common;
                change.mean[length].set(i, j, mean);
                if is_one_way {
                    let half = change.half[length].at(i, j) - if is_in[i] { side } else { -side };
                    change.half[length].set(i, j, half);
                }
            }
        }
    }
    found.into_iter().map(|(_, shift)| shift).collect()
}

/// Ways of groups to the others at one length.
struct Uplinks {
    /// `u_g`, `[group]`.
    common: Vec<f64>,
    /// Half of what a group sends slower than it receives, `[group]`.
    side: Vec<f64>,
    /// Standard errors, `[group]`.
    common_error: Vec<f64>,
    side_error: Vec<f64>,
    /// Change of a host's pairs with other groups beyond those inside groups, both ways, and half of what it sends
    /// slower; `[host]`; NaN for hosts of small groups.
    of_host: Vec<(f64, f64)>,
}

impl Uplinks {
    fn of(change: &Folded, length: usize, members: &[Vec<usize>]) -> Self {
        let (mean, half) = (&change.mean[length], &change.half[length]);
        let groups = members.len();
        let block = |square: &Square, g: usize, h: usize| {
            let pairs = members[g].iter().flat_map(|i| members[h].iter().map(move |j| square.at(*i, *j)));
            median(&mut pairs.collect::<Vec<_>>())
        };
        let within = |hosts: &Vec<usize>| {
            let hosts = hosts.clone();
            (0..hosts.len()).flat_map(move |a| {
                let hosts = hosts.clone();
                (0..a).map(move |b| mean.at(hosts[a], hosts[b]))
            })
        };
        let inside = median(&mut members.iter().flat_map(within).collect::<Vec<_>>());
        let inside = if inside.is_nan() { 0.0 } else { inside };
        let others = |g: usize| (0..groups).filter(move |h| *h != g);
        let number = |value: f64| if value.is_nan() { 0.0 } else { value };
        // Least squares of block - inside = u_g + u_h over pairs of groups.
        let sums: Vec<f64> = (0..groups).map(|g| others(g).map(|h| number(block(mean, g, h) - inside)).sum()).collect();
        let total = sums.iter().sum::<f64>() / (2.0 * (groups - 1) as f64);
        let common: Vec<f64> = sums.iter().map(|sum| (sum - total) / (groups - 2) as f64).collect();
        let side: Vec<f64> = (0..groups)
            .map(|g| number(median(&mut others(g).map(|h| block(half, g, h)).collect::<Vec<_>>())))
            .collect();
        let mut of_host = vec![(f64::NAN, f64::NAN); mean.side()];
        let mut noise = (Vec::new(), Vec::new());
        for (g, hosts) in members.iter().enumerate() {
            for &host in hosts {
                let toward = |square: &Square, expected: &dyn Fn(usize) -> f64| {
                    let pairs = others(g).flat_map(|h| members[h].iter().map(move |j| (h, *j)));
                    median_of(pairs.map(|(h, j)| square.at(host, j) - expected(h)), &mut Vec::new())
                };
                of_host[host] = (toward(mean, &|h| inside + common[h]), toward(half, &|h| -side[h]));
                noise.0.push(of_host[host].0 - common[g]);
                noise.1.push(of_host[host].1 - side[g]);
            }
        }
        let smallest = members.iter().map(Vec::len).min().unwrap_or(1) as f64;
        let errors = |mut noise: Vec<f64>| -> Vec<f64> {
            let noise = scatter_about_zero(&mut noise);
            let error = |hosts: &Vec<usize>| 1.2533 * noise * (1.0 / hosts.len() as f64 + 1.0 / smallest).sqrt();
            members.iter().map(|hosts| error(hosts).hypot(RUN_TO_RUN)).collect()
        };
        Self { common, side, common_error: errors(noise.0), side_error: errors(noise.1), of_host }
    }

    /// As effects of hosts: by how much each group exceeds the middle of the others.
    fn effects(&self, sign: f64) -> Effects {
        let beyond = |values: &[f64]| -> Vec<f64> {
            let others = |g: usize| values.iter().enumerate().filter(move |(h, _)| *h != g).map(|(_, value)| *value);
            (0..values.len()).map(|g| sign * (values[g] - median_of(others(g), &mut Vec::new()))).collect()
        };
        Effects {
            common: beyond(&self.common),
            side: beyond(&self.side),
            common_error: self.common_error.clone(),
            side_error: self.side_error.clone(),
        }
    }

    fn of_host(&self, host: usize, direction: Direction) -> f64 {
        let (common, side) = self.of_host[host];
        direction.effect(common, side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn shifts(values: &[f64], error: f64) -> Vec<Shift> {
        values.iter().map(|value| Shift { value: *value, error }).collect()
    }

    #[test]
    fn a_range_is_where_the_change_is() {
        let found = ranges(&shifts(&[0.0, 0.01, 0.1, 0.12, 0.11], 0.01), 4.0, 0.05);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].first, found[0].last), (2, 4));
        assert!((found[0].effect - 0.11).abs() < 1e-9);
        assert!(ranges(&shifts(&[0.04; 5], 0.001), 4.0, 0.05).is_empty());
        assert!(ranges(&shifts(&[0.1; 2], 0.1), 4.0, 0.05).is_empty());
        assert!(ranges(&shifts(&[-0.1, f64::NAN], 0.01), 4.0, 0.05).is_empty());
    }

    #[test]
    fn two_ranges_are_two() {
        let found = ranges(&shifts(&[0.2, 0.2, -0.3, -0.3, 0.2], 0.01), 4.0, 0.05);
        let ends: Vec<_> = found.iter().map(|range| (range.first, range.last)).collect();
        assert_eq!(ends, [(0, 1), (4, 4)]);
    }

    /// Twelve hosts in three groups; pairs of group 1 with others changed by `slower`, pairs between any groups by
    /// `between`.
    fn change(slower: f64, between: f64) -> (Folded, Vec<usize>) {
        let group: Vec<usize> = (0..12).map(|host| host % 3).collect();
        let (mut mean, mut half) = (Square::missing(12), Square::missing(12));
        for (i, j) in (0..12).flat_map(|i| (0..12).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            let is_across = group[i] != group[j];
            let wobble = 0.002 * ((7 * i * j + i + j) % 5) as f64;
            let of_group = if is_across && (group[i] == 1 || group[j] == 1) { slower } else { 0.0 };
            mean.set(i, j, 0.02 + wobble + of_group + if is_across { between } else { 0.0 });
            half.set(i, j, 0.0);
        }
        let names = (0..12).map(|host| format!("n{host}")).collect();
        let lengths = vec![Bytes(8), Bytes(4096)];
        let change = Folded {
            names,
            lengths,
            level: vec![1e-6, 2e-6],
            mean: vec![mean; 2],
            half: vec![half; 2],
            one_way: vec![vec![]; 2],
        };
        (change, group)
    }

    #[test]
    fn one_slow_uplink_is_one_group() {
        for sign in [1.0, -1.0] {
            let (mut change, group) = change(sign * 0.14, 0.0);
            let shifts = Shifts::take(&mut change, &group, 0.99, 0.049);
            assert_eq!(shifts.groups.len(), 1);
            assert_eq!(shifts.groups[0].members, [1, 4, 7, 10]);
            assert!((shifts.groups[0].evidence.effect - sign * 0.14).abs() < 0.01);
            // It explains everything but the wobble.
            assert!(shifts.contrast.unwrap().iter().all(|shift| shift.value.abs() < 0.02));
            assert!(change.mean[0].upper().all(|value| value.abs() < 0.02));
        }
    }

    #[test]
    fn all_uplinks_alike_are_the_pairs_between_groups() {
        let (mut change, group) = change(0.0, 0.14);
        let shifts = Shifts::take(&mut change, &group, 0.99, 0.049);
        assert!(shifts.groups.is_empty());
        assert!(shifts.contrast.unwrap().iter().all(|shift| (shift.value - 0.14).abs() < 0.02));
        let (inside, between) = (shifts.inside.unwrap()[0].value, shifts.between.unwrap()[0].value);
        assert!((between - inside - 0.14).abs() < 0.01);
        assert!(change.mean[0].upper().all(|value| value.abs() < 0.02));
    }
}

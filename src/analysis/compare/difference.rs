//! By how much every pair of hosts changed.
//!
//! In: two runs as the detector sees them ([`Folded`]). Out: their difference in the same form, so that whoever names
//! what is slow in a run can name what became slow.

use rayon::prelude::*;

use crate::{
    analysis::{
        diagnose::folded::{Folded, middle},
        square::Square,
    },
    record::{BoxError, Run, State, Statistic},
    stats::median,
};

use super::join::Joined;

/// Both runs over the hosts and the lengths that they share, and their difference.
pub(super) struct Difference {
    /// The base run.
    pub base: Folded,
    /// The new run.
    pub new: Folded,
    /// `ln(new / base)`; its level is that of the base run, seconds; lengths are those of the base run.
    pub change: Folded,
}

impl Difference {
    pub fn of(base: &dyn Run, new: &dyn Run, statistic: Statistic, joined: &Joined) -> Result<Self, BoxError> {
        let read = |run: &dyn Run, hosts: &[usize], lengths: Vec<usize>| -> Result<Folded, BoxError> {
            let folded = Folded::read(run, statistic, &vec![false; run.ranks()])?;
            Ok(select(&folded, hosts, &lengths))
        };
        let base = read(base, &joined.in_base, joined.lengths.iter().map(|length| length.index.0).collect())?;
        let new = read(new, &joined.in_new, joined.lengths.iter().map(|length| length.index.1).collect())?;
        let change = subtract(&base, &new);
        Ok(Self { base, new, change })
    }

    /// What both runs say together: the base run, and half of the difference where both have a pair.
    pub fn both(&self) -> Folded {
        let mut both = self.base.clone();
        for (own, change) in both.times.iter_mut().zip(&self.change.times) {
            own.rows_mut().enumerate().for_each(|(i, row)| {
                let halves = change.row(i).iter().map(|change| change / 2.0);
                row.iter_mut().zip(halves).filter(|(_, half)| !half.is_nan()).for_each(|(value, half)| *value += half);
            });
        }
        both
    }

    /// Pairs of the middle host that are in both runs, at the length that has most.
    pub fn pairs(&self) -> f64 {
        let of_length =
            |square: &Square| median(&mut square.cells().iter().map(|pairs| *pairs as f64).collect::<Vec<_>>());
        self.change.times.iter().map(of_length).fold(0.0, f64::max)
    }

    /// Hosts that have pairs in the base run and none in the new one.
    pub fn silent(&self) -> Vec<usize> {
        let [before, now] = [&self.base, &self.new].map(Folded::unmeasured);
        let is_lost = |host: &usize| {
            let name = &self.base.names[*host];
            !before.contains(name) && now.contains(name)
        };
        (0..self.base.hosts()).filter(is_lost).collect()
    }

    /// Pairs and lengths with a value in the base run, one way at least, and none in the new one.
    pub fn lost_pairs(&self) -> usize {
        let lost = |(base, new): (&Square, &Square)| {
            let (base, new) = (base.both_ways(), new.both_ways());
            base.upper_pairs().filter(|&(i, j, _)| new.at(i, j).is_nan()).count()
        };
        self.base.times.iter().zip(&self.new.times).map(lost).sum()
    }
}

/// Whether the pairs of a host (by its number in the run) are missing because exchanges failed, not because nobody
/// tried.
pub(super) fn has_failed(run: &dyn Run, host: usize) -> Result<bool, BoxError> {
    let mut states = vec![State::Measured; run.ranks()];
    for length in 0..run.lengths().len() {
        for &rank in run.header().hosts.ranks_of(host) {
            run.read_states(length, rank..rank + 1, &mut states)?;
            if states.iter().any(|state| matches!(state, State::Failed | State::TimedOut)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// What an ordered pair of hosts may suffer from, whatever time it takes.
#[derive(Clone, Copy, Default)]
pub(super) struct Losses<T> {
    /// Exchanges fail.
    pub failed: T,
    /// Payloads arrive damaged.
    pub damaged: T,
}

/// What ordered pairs of hosts suffer from, `[host * hosts + host]` by the run's numbers, at one length.
fn losses(run: &dyn Run, length: usize) -> Result<Vec<Losses<bool>>, BoxError> {
    let (hosts, ranks) = (&run.header().hosts, run.ranks());
    let mut states = vec![State::Measured; ranks];
    let mut losses = vec![Losses::default(); hosts.count() * hosts.count()];
    for row in 0..ranks {
        run.read_states(length, row..row + 1, &mut states)?;
        for (column, state) in states.iter().enumerate() {
            let pair = hosts.host_of(row) * hosts.count() + hosts.host_of(column);
            losses[pair].failed |= matches!(state, State::Failed | State::TimedOut);
            losses[pair].damaged |= *state == State::Damaged;
        }
    }
    Ok(losses)
}

/// Numbers of ordered pairs of hosts that suffer from something in the new run at a length at which they did not in the
/// base run.
pub(super) fn new_losses(base: &dyn Run, new: &dyn Run, joined: &Joined) -> Result<Losses<usize>, BoxError> {
    let shared = joined.shared.len();
    let mut found = vec![Losses::default(); shared * shared];
    for length in &joined.lengths {
        let (before, now) = (losses(base, length.index.0)?, losses(new, length.index.1)?);
        let (of_base, of_new) = (base.header().hosts.count(), new.header().hosts.count());
        for (pair, found) in found.iter_mut().enumerate() {
            let (i, j) = (pair / shared, pair % shared);
            let before = before[joined.in_base[i] * of_base + joined.in_base[j]];
            let now = now[joined.in_new[i] * of_new + joined.in_new[j]];
            found.failed |= now.failed && !before.failed;
            found.damaged |= now.damaged && !before.damaged;
        }
    }
    let count = |is_lost: fn(&Losses<bool>) -> bool| found.iter().filter(|pair| is_lost(pair)).count();
    Ok(Losses { failed: count(|pair| pair.failed), damaged: count(|pair| pair.damaged) })
}

/// Some hosts and some lengths of a run, by number, in this order.
fn select(folded: &Folded, hosts: &[usize], lengths: &[usize]) -> Folded {
    let mut selected = folded.of_lengths(lengths).of_hosts(hosts);
    // The level was that of all hosts.
    for (level, times) in selected.level.iter_mut().zip(&mut selected.times) {
        let middle = middle(times);
        if !middle.is_nan() {
            *level *= f64::from(middle).exp();
            times.add(-middle);
        }
    }
    selected
}

fn subtract(base: &Folded, new: &Folded) -> Folded {
    let apart = base.apart + new.apart;
    let mut change = Folded { lengths: base.lengths.clone(), level: base.level.clone(), apart, ..new.clone() };
    for (length, times) in change.times.iter_mut().enumerate() {
        times.subtract(&base.times[length]);
        times.add((new.level[length] / base.level[length]).ln() as f32);
    }
    change
}

/// The same change seen from the other side: what became faster is slow in it.
pub(super) fn negated(change: &Folded) -> Folded {
    let mut other = change.clone();
    for square in &mut other.times {
        square.rows_mut().for_each(|row| row.iter_mut().for_each(|value| *value = -*value));
    }
    other
}

/// Leaves out pairs, both ways: they are missing afterwards.
pub(super) fn leave_out(change: &mut Folded, is_meant: impl Fn(usize, usize) -> bool + Sync) {
    for square in &mut change.times {
        square.rows_mut().enumerate().for_each(|(i, row)| {
            row.iter_mut().enumerate().filter(|(j, _)| is_meant(i, *j)).for_each(|(_, value)| *value = f32::NAN);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analysis::drawn::square, units::Bytes};

    fn folded(names: [&str; 3], seconds: [[f64; 3]; 3]) -> Folded {
        let times = vec![square(3, |i, j| seconds[i][j].ln())];
        let names = names.map(str::to_owned).to_vec();
        Folded { lengths: vec![Bytes(8)], level: vec![1.0], times, ..Folded::empty(names) }
    }

    #[test]
    fn a_pair_is_its_ratio_whatever_the_order_of_hosts() {
        let base =
            select(&folded(["a", "b", "c"], [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]), &[0, 1, 2], &[0]);
        let new = folded(["c", "a", "b"], [[0.0, 5.0, 6.0], [2.0, 0.0, 1.5], [4.0, 3.0, 0.0]]);
        let new = select(&new, &[1, 2, 0], &[0]);
        assert_eq!(new.names, ["a", "b", "c"]);
        let change = subtract(&base, &new);
        assert!((change.from_to(0, 0, 1) - 1.5f64.ln()).abs() < 1e-6);
        assert!(change.from_to(0, 1, 0).abs() < 1e-6 && change.from_to(0, 2, 1).abs() < 1e-6);
        let mut other = negated(&change);
        assert!((other.from_to(0, 0, 1) + 1.5f64.ln()).abs() < 1e-6);
        leave_out(&mut other, |i, j| i == 2 || j == 2);
        assert!((0..2).all(|i| other.from_to(0, i, 2).is_nan() && other.from_to(0, 2, i).is_nan()));
        assert!(other.from_to(0, 0, 1).is_finite());
    }

    #[test]
    fn a_direction_that_one_run_has_alone_is_not_compared() {
        let full = folded(["a", "b", "c"], [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]);
        let part = folded(["a", "b", "c"], [[0.0, f64::NAN, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]);
        let change = subtract(&full, &part);
        assert!(change.from_to(0, 0, 1).is_nan());
        assert!(change.from_to(0, 1, 0).abs() < 1e-6 && change.from_to(0, 0, 2).abs() < 1e-6);
    }
}

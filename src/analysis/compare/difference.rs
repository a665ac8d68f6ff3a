//! By how much every pair of hosts changed.
//!
//! In: two runs as the detector sees them ([`Folded`]). Out: their difference in the same form, so that whoever names
//! what is slow in a run can name what became slow.

use rayon::prelude::*;

use crate::{
    analysis::{diagnose::folded::Folded, square::Square},
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
        for (own, change) in both.mean.iter_mut().zip(&self.change.mean) {
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
        self.change.mean.iter().map(of_length).fold(0.0, f64::max)
    }

    /// Hosts that have pairs in the base run and none in the new one.
    pub fn silent(&self) -> Vec<usize> {
        let pairs = |squares: &[Square], host| squares.iter().map(|square| square.present(host)).sum::<usize>();
        (0..self.base.hosts())
            .filter(|&host| pairs(&self.base.mean, host) > 0 && pairs(&self.new.mean, host) == 0)
            .collect()
    }

    /// Ordered pairs and lengths with a value in the base run and none in the new one.
    pub fn lost_pairs(&self) -> usize {
        let lost = |(base, new): (&Square, &Square)| {
            let is_there = |square: &Square, i, j| !square.at(i, j).is_nan();
            base.upper_pairs().filter(|&(i, j, _)| !is_there(new, i, j)).count()
        };
        self.base.mean.iter().zip(&self.new.mean).map(lost).sum()
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
    let mut selected = folded.of_hosts(hosts);
    let of_lengths = |squares: &[Square]| lengths.iter().map(|length| squares[*length].clone()).collect();
    selected = Folded {
        lengths: lengths.iter().map(|length| folded.lengths[*length]).collect(),
        level: lengths.iter().map(|length| folded.level[*length]).collect(),
        mean: of_lengths(&selected.mean),
        half: of_lengths(&selected.half),
        one_way: lengths.iter().map(|length| selected.one_way[*length].clone()).collect(),
        ..selected
    };
    // The level was that of all hosts.
    for (level, mean) in selected.level.iter_mut().zip(&mut selected.mean) {
        let middle = median(&mut mean.upper().collect::<Vec<_>>());
        if !middle.is_nan() {
            *level *= middle.exp();
            add(mean, -middle);
        }
    }
    selected
}

fn subtract(base: &Folded, new: &Folded) -> Folded {
    let apart = base.apart + new.apart;
    let mut change = Folded { lengths: base.lengths.clone(), level: base.level.clone(), apart, ..new.clone() };
    for length in 0..base.lengths.len() {
        let (mean, half) = (&mut change.mean[length], &mut change.half[length]);
        mean.subtract(&base.mean[length]);
        add(mean, (new.level[length] / base.level[length]).ln());
        half.subtract(&base.half[length]);
        // Where one run has one direction only, its mean is that direction's: nothing to be compared with.
        let is_known = |run: &Folded, i, j| !run.half[length].at(i, j).is_nan();
        let pairs = mean.upper_pairs().map(|(i, j, _)| (i, j));
        let odd: Vec<_> = pairs.filter(|&(i, j)| is_known(base, i, j) != is_known(new, i, j)).collect();
        for (i, j) in odd {
            mean.set(i, j, f64::NAN);
            mean.set(j, i, f64::NAN);
        }
    }
    change
}

/// Adds a number to every value.
fn add(square: &mut Square, number: f64) {
    square.rows_mut().for_each(|row| row.iter_mut().for_each(|value| *value += number as f32));
}

/// The same change seen from the other side: what became faster is slow in it.
pub(super) fn negated(change: &Folded) -> Folded {
    let mut other = change.clone();
    for square in other.mean.iter_mut().chain(&mut other.half) {
        square.rows_mut().for_each(|row| row.iter_mut().for_each(|value| *value = -*value));
    }
    other
}

/// Leaves out pairs, both ways: they are missing afterwards.
pub(super) fn leave_out(change: &mut Folded, is_meant: impl Fn(usize, usize) -> bool + Sync) {
    for square in change.mean.iter_mut().chain(&mut change.half) {
        square.rows_mut().enumerate().for_each(|(i, row)| {
            row.iter_mut().enumerate().filter(|(j, _)| is_meant(i, *j)).for_each(|(_, value)| *value = f32::NAN);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn folded(names: [&str; 3], seconds: [[f64; 3]; 3]) -> Folded {
        let (mut mean, mut half) = (Square::missing(3), Square::missing(3));
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            let (there, back) = (seconds[i][j].ln(), seconds[j][i].ln());
            mean.set(
                i,
                j,
                if there.is_nan() {
                    back
                } else if back.is_nan() {
                    there
                } else {
                    (there + back) / 2.0
                },
            );
            half.set(i, j, (there - back) / 2.0);
        }
        let names = names.map(str::to_owned).to_vec();
        Folded {
            names,
            lengths: vec![Bytes(8)],
            level: vec![1.0],
            mean: vec![mean],
            half: vec![half],
            one_way: vec![vec![]],
            apart: 0.0,
        }
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
        assert!((0..2).all(|i| other.mean[0].at(i, 2).is_nan() && other.half[0].at(2, i).is_nan()));
        assert!(other.mean[0].at(0, 1).is_finite());
    }

    #[test]
    fn a_pair_that_has_one_direction_in_one_run_is_not_compared() {
        let full = folded(["a", "b", "c"], [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]);
        let part = folded(["a", "b", "c"], [[0.0, f64::NAN, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]);
        let change = subtract(&full, &part);
        assert!(change.mean[0].at(0, 1).is_nan() && change.mean[0].at(1, 0).is_nan());
        assert!(change.mean[0].at(0, 2).abs() < 1e-6);
    }
}

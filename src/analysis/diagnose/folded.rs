//! Runs as the detector sees them: hosts instead of ranks, logarithms instead of seconds.
//!
//! In: the median of every cell, read length by length. Out: [`Folded`]. A fault that multiplies a time becomes a term
//! of a sum here.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::{
    analysis::{square::Square, ticks::Unticked},
    record::{BoxError, Retest, Run, Statistic},
    stats::median,
    units::{Bytes, Hosts, Rank},
};

/// A number of some ordered pairs of hosts.
pub type OfPairs = HashMap<(usize, usize), f64>;

/// One mode of a run by hosts.
#[derive(Clone, Debug)]
pub struct Folded {
    /// Names, `[host]`.
    pub names: Vec<String>,
    /// From how many ranks its pairs are known, `[host]`.
    pub ranks: Vec<usize>,
    /// Message lengths, ascending.
    pub lengths: Vec<Bytes>,
    /// Median over all pairs of hosts, of very many over some, seconds, `[length]`.
    pub level: Vec<f64>,
    /// `ln(time / level)` of ordered pairs of hosts, `[length][source][destination]`.
    pub times: Vec<Square>,
    /// By how much equal pairs may be apart because clocks tick, seconds.
    pub apart: f64,
}

impl Folded {
    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.names.len()
    }

    /// Of a statistic of `run`, without the ranks for which `is_left_out` (their hosts keep the others).
    pub fn read(run: &dyn Run, statistic: Statistic, is_left_out: &[bool]) -> Result<Self, BoxError> {
        let hosts = &run.header().hosts;
        let run = &Unticked::of(run)?;
        let mut folded = Self { apart: run.apart(), ..Self::of_ranks(hosts, is_left_out) };
        let part = |[values]: [&[f64]; 1]| Part::of(|pair| values[pair], hosts, &all(hosts), is_left_out);
        read_lengths(run, [statistic], part, |length, part| folded.push(length, part))?;
        Ok(folded)
    }

    /// The medians of some lengths, by number, between ranks of the same place on their hosts, all of them. With several
    /// rails these are on one rail, and as near to each other as their hosts are.
    pub fn side_by_side(run: &dyn Run, lengths: &[usize]) -> Result<Self, BoxError> {
        let hosts = &run.header().hosts;
        let (ranks, run) = (run.ranks(), &Unticked::of(run)?);
        let mut folded = Self { apart: run.apart(), ..Self::empty(hosts.names().to_vec()) };
        let mut times = vec![f64::NAN; ranks * ranks];
        for &length in lengths {
            run.read_rows(Statistic::Median, length, 0..ranks, &mut times)?;
            let is_one = |pair: usize| hosts.place_of(pair / ranks) == hosts.place_of(pair % ranks);
            let time = |pair: usize| if is_one(pair) { times[pair] } else { f64::NAN };
            folded.push(run.lengths()[length], Part::of(time, hosts, &all(hosts), &vec![false; ranks]));
        }
        Ok(folded)
    }

    /// Of these hosts, without any length.
    pub(in crate::analysis) fn empty(names: Vec<String>) -> Self {
        Self { ranks: vec![1; names.len()], names, lengths: vec![], level: vec![], times: vec![], apart: 0.0 }
    }

    /// The same of the hosts of ranks of which some are left out.
    pub(super) fn of_ranks(hosts: &Hosts, is_left_out: &[bool]) -> Self {
        let left = |host| hosts.ranks_of(host).iter().filter(|rank| !is_left_out[**rank]).count();
        Self { ranks: (0..hosts.count()).map(left).collect(), ..Self::empty(hosts.names().to_vec()) }
    }

    /// Which hosts' pairs are known from fewer ranks than those of most others, `[host]`: the middle of fewer cells scatters
    /// more.
    pub fn are_of_fewer_ranks(&self) -> Vec<bool> {
        let usual = median(&mut self.ranks.iter().map(|ranks| *ranks as f64).collect::<Vec<_>>());
        self.ranks.iter().map(|ranks| (*ranks as f64) < usual).collect()
    }

    /// Adds a length.
    pub(super) fn push(&mut self, length: Bytes, part: Part) {
        self.lengths.push(length);
        self.level.push(part.level);
        self.times.push(part.times);
    }

    /// This run in units of another one of the same hosts, length by length; levels are this run's. `None` where they
    /// share no length.
    pub fn relative_to(&self, base: &Self) -> Option<Self> {
        let apart = self.apart + base.apart;
        let mut relative = Self { apart, ..self.of_lengths(&[]) };
        for (index, length) in self.lengths.iter().enumerate() {
            let Some(other) = base.lengths.iter().position(|other| other == length) else { continue };
            relative.lengths.push(*length);
            relative.level.push(self.level[index]);
            let mut times = self.times[index].clone();
            times.subtract(&base.times[other]);
            relative.times.push(times);
        }
        (!relative.lengths.is_empty()).then_some(relative)
    }

    /// Some lengths, by number.
    pub fn of_lengths(&self, lengths: &[usize]) -> Self {
        Self {
            lengths: lengths.iter().map(|length| self.lengths[*length]).collect(),
            level: lengths.iter().map(|length| self.level[*length]).collect(),
            times: lengths.iter().map(|length| self.times[*length].clone()).collect(),
            ..self.without_pairs()
        }
    }

    /// Leaves out what a pair takes at a length, both ways.
    pub fn leave_out(&mut self, length: usize, (a, b): (usize, usize)) {
        for (i, j) in [(a, b), (b, a)] {
            self.times[length].set(i, j, f64::NAN);
        }
    }

    /// What pairs of hosts took alone that were measured only again, `ln(time / level)`, `[length]`. `run`: the one that was
    /// read.
    pub(super) fn again(&self, run: &dyn Run, is_left_out: &[bool]) -> Result<Vec<OfPairs>, BoxError> {
        let hosts = &run.header().hosts;
        let of_length = |length: usize| {
            let time = |retest: Retest| {
                let ends = [retest.source, retest.destination];
                let [from, to] = ends.map(|rank| hosts.host_of(rank));
                let is_new = retest.first.is_nan() && from != to && self.from_to(length, from, to).is_nan();
                let is_of = is_new && !ends.iter().any(|rank| is_left_out[*rank]);
                Some(((from, to), logarithm(retest.alone / self.level[length]).filter(|_| is_of)?))
            };
            Ok(run.retests(length)?.into_iter().filter_map(time).collect())
        };
        (0..self.lengths.len()).map(of_length).collect()
    }

    /// All but the pairs.
    pub fn without_pairs(&self) -> Self {
        let (ranks, lengths, level) = (self.ranks.clone(), self.lengths.clone(), self.level.clone());
        Self { ranks, lengths, level, apart: self.apart, ..Self::empty(self.names.clone()) }
    }

    /// Share of the pairs that were measured, one way at least, at the length at which most were.
    pub fn measured(&self) -> f64 {
        self.share(|times| {
            let cells = times.cells();
            // Of two complete rows neither pair is missing.
            let is_complete = |row: usize| cells[row] + 1 == times.side();
            let one_way = (0..times.side()).into_par_iter().map(|i| {
                let known = times.row(i).iter().enumerate().filter(|(j, time)| !time.is_nan() && !is_complete(*j));
                known.filter(|(j, _)| times.at(*j, i).is_nan()).count()
            });
            cells.iter().sum::<usize>() + one_way.sum::<usize>()
        })
    }

    /// Share of the ordered pairs that were measured, at the length at which most were: a pair that was measured one
    /// way counts half.
    pub fn measured_ways(&self) -> f64 {
        self.share(|times| times.cells().iter().sum())
    }

    /// Whether anything is known of a pair, at any length, one way at least.
    pub fn have_met(&self, i: usize, j: usize) -> bool {
        self.times.iter().any(|times| !times.at(i, j).is_nan() || !times.at(j, i).is_nan())
    }

    /// Of so many ordered pairs of all, at the length at which these are most.
    fn share(&self, count: impl Fn(&Square) -> usize) -> f64 {
        let hosts = self.hosts();
        let most = self.times.iter().map(count).max().unwrap_or(0);
        most as f64 / (hosts * hosts.saturating_sub(1)).max(1) as f64
    }

    /// Names of the hosts of which no pair was measured at any length.
    pub fn unmeasured(&self) -> Vec<String> {
        let is_column_empty = |times: &Square, host| (0..times.side()).all(|other| times.at(other, host).is_nan());
        let is_empty =
            |host: &usize| self.times.iter().all(|times| times.present(*host) == 0 && is_column_empty(times, *host));
        (0..self.hosts()).filter(is_empty).map(|host| self.names[host].clone()).collect()
    }

    /// Some hosts, by number, in this order; levels stay those of all.
    pub fn of_hosts(&self, hosts: &[usize]) -> Self {
        Self {
            names: hosts.iter().map(|host| self.names[*host].clone()).collect(),
            ranks: hosts.iter().map(|host| self.ranks[*host]).collect(),
            lengths: self.lengths.clone(),
            level: self.level.clone(),
            times: self.times.par_iter().map(|times| times.of(hosts)).collect(),
            apart: self.apart,
        }
    }

    /// For tests: of `ln(time)` by hosts at every length.
    #[cfg(test)]
    pub fn of_logarithms(lengths: &[u64], logarithms: Vec<Square>) -> Self {
        let hosts = logarithms[0].side();
        let names = (0..hosts).map(|host| format!("node{host}")).collect();
        let mut folded = Self::empty(names);
        lengths
            .iter()
            .zip(logarithms)
            .for_each(|(length, square)| folded.push(Bytes(*length), Part::of_logarithms(square)));
        folded
    }

    /// `ln(time / level)` from one host to another.
    pub fn from_to(&self, length: usize, source: usize, destination: usize) -> f64 {
        self.times[length].at(source, destination)
    }
}

/// One length.
pub(super) struct Part {
    /// As in [`Folded`].
    pub level: f64,
    /// As in [`Folded`].
    pub times: Square,
}

impl Part {
    /// Of the hosts with these numbers, by the values of ordered pairs of ranks, `value(source * ranks + destination)`.
    pub fn of(value: impl Fn(usize) -> f64 + Sync, hosts: &Hosts, chosen: &[usize], is_left_out: &[bool]) -> Self {
        Self::of_logarithms(fold(value, hosts, chosen, is_left_out))
    }

    /// Of the logarithms of ordered pairs of hosts.
    fn of_logarithms(mut times: Square) -> Self {
        let middle = middle(&times);
        times.add(-middle);
        Self { level: f64::from(middle).exp(), times }
    }
}

/// Reads some statistics length by length; `work` is done on a length while the next one is read, `take` gets what
/// comes of it, in order.
pub(super) fn read_lengths<const N: usize, T: Send>(
    run: &dyn Run,
    statistics: [Statistic; N],
    work: impl Fn([&[f64]; N]) -> T + Sync,
    mut take: impl FnMut(Bytes, T),
) -> Result<(), BoxError> {
    let (ranks, lengths) = (run.ranks(), run.lengths());
    let empty = || statistics.map(|_| vec![f64::NAN; ranks * ranks]);
    let (mut ready, mut next) = (empty(), empty());
    for index in 0..=lengths.len() {
        let mut done = None;
        rayon::in_place_scope(|scope| {
            if index > 0 {
                scope.spawn(|_| done = Some(work(ready.each_ref().map(Vec::as_slice))));
            }
            if index < lengths.len() {
                let mut matrices = statistics.iter().zip(&mut next);
                matrices.try_for_each(|(statistic, values)| run.read_rows(*statistic, index, 0..ranks, values))?;
            }
            Ok::<_, BoxError>(())
        })?;
        done.into_iter().for_each(|done| take(lengths[index - 1], done));
        std::mem::swap(&mut ready, &mut next);
    }
    Ok(())
}

/// The numbers of all hosts.
pub(super) fn all(hosts: &Hosts) -> Vec<usize> {
    (0..hosts.count()).collect()
}

/// `ln(value)` of every ordered pair of the chosen hosts: the middle one of the pairs of their ranks.
fn fold(value: impl Fn(usize) -> f64 + Sync, hosts: &Hosts, chosen: &[usize], is_left_out: &[bool]) -> Square {
    let ranks = hosts.ranks();
    if !is_left_out.contains(&true) && (0..hosts.count()).all(|host| hosts.ranks_of(host) == [host]) {
        let mut square = Square::zero(chosen.len());
        square.rows_mut().with_min_len(ROWS).zip(chosen).enumerate().for_each(|(own, (row, source))| {
            let times = chosen.iter().map(|destination| value(source * ranks + destination));
            row.iter_mut().zip(times).for_each(|(cell, time)| *cell = logarithm(time).unwrap_or(f64::NAN) as f32);
            row[own] = f32::NAN;
        });
        return square;
    }
    let mut square = Square::missing(chosen.len());
    let is_there = |rank: &&Rank| !is_left_out[**rank];
    square.rows_mut().zip(chosen).for_each(|(row, &source)| {
        let mut cells = Vec::new();
        for (cell, &destination) in row.iter_mut().zip(chosen).filter(|(_, destination)| **destination != source) {
            cells.clear();
            for &from in hosts.ranks_of(source).iter().filter(is_there) {
                let times = hosts.ranks_of(destination).iter().filter(is_there).map(|&to| value(from * ranks + to));
                cells.extend(times.filter_map(logarithm));
            }
            *cell = if cells.len() == 1 { cells[0] as f32 } else { median(&mut cells) as f32 };
        }
    });
    square
}

/// `ln(time)`; none of what is no time: zero, negative, infinite, NaN.
fn logarithm(time: f64) -> Option<f64> {
    (time > 0.0 && time.is_finite()).then(|| time.ln())
}

/// Rows that are worth a task of their own.
const ROWS: usize = 32;

/// The middle of all logarithms, of very many of some of them, in other columns of every row; NaN where there is none.
pub fn middle(logarithms: &Square) -> f32 {
    let step = (logarithms.values().len() / ENOUGH_FOR_LEVEL).max(1);
    let of_row = |row: usize| logarithms.row(row).iter().skip(row * 5 % step).step_by(step);
    median(&mut (0..logarithms.side()).flat_map(of_row).copied().map(f64::from).collect::<Vec<_>>()) as f32
}

/// Values whose middle is that of all to a hundredth of their scatter.
const ENOUGH_FOR_LEVEL: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::drawn::square,
        plan::{Config, Plan},
        record::{Cell, Header, MemoryRun, Provenance, State},
        stats::Summary,
    };

    const EVERYBODY: [bool; 6] = [false; 6];

    /// Six ranks, two on each of three hosts in turn; `seconds(length, source, destination)`.
    fn run(lengths: &[u64], seconds: impl Fn(usize, usize, usize) -> f64) -> MemoryRun {
        let hosts = Hosts::new(["a", "b", "c", "a", "b", "c"]);
        let plan = Plan::all(&Config::default(), &hosts).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        for (index, length) in lengths.iter().enumerate() {
            let cell = |place: usize| match seconds(index, place / 6, place % 6) {
                _ if place / 6 == place % 6 => Cell::zero(),
                time if time.is_nan() => Cell::missing(State::TimedOut),
                median => Cell::measured(Summary::of(&mut [median]), 9, State::Measured),
            };
            run.push(Bytes(*length), (0..36).map(cell).collect());
        }
        run
    }

    fn read(run: &MemoryRun, is_left_out: &[bool]) -> Folded {
        Folded::read(run, Statistic::Median, is_left_out).unwrap()
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-5
    }

    #[test]
    fn a_pair_that_was_measured_one_way_is_half_measured() {
        let one_way = run(&[8], |_, from, to| if from % 3 == 0 && to % 3 == 1 { f64::NAN } else { 1.0 });
        let folded = read(&one_way, &EVERYBODY);
        assert!(is_near(folded.measured(), 1.0) && is_near(folded.measured_ways(), 5.0 / 6.0));
    }

    #[test]
    fn ranks_fold_to_the_median_of_their_hosts() {
        // From host 0, ranks 0 and 3, to host 1, ranks 1 and 4: 1, 2, 4 and 64; the middle of logarithms is that of 2
        // and 4.
        let special = |from, to| match (from, to) {
            (0, 1) => 1.0,
            (0, 4) => 2.0,
            (3, 1) => 4.0,
            (3, 4) => 64.0,
            _ => 1.0,
        };
        let folded = read(&run(&[8], |_, from, to| special(from, to)), &EVERYBODY);
        assert_eq!((&*folded.names, folded.hosts()), (&["a", "b", "c"].map(str::to_owned)[..], 3));
        assert!(is_near(folded.level[0], 1.0));
        assert!(is_near(folded.from_to(0, 0, 1), 8f64.sqrt().ln()));
        assert!(is_near(folded.from_to(0, 1, 0), 0.0));
    }

    #[test]
    fn ranks_that_are_left_out_have_no_say() {
        let run = run(&[8], |_, from, to| if from == 3 || to == 3 { 100.0 } else { 1.0 });
        let beyond = |is_left_out: &[bool]| {
            let folded = read(&run, is_left_out);
            folded.from_to(0, 0, 1) - folded.from_to(0, 1, 2)
        };
        assert!(is_near(beyond(&EVERYBODY), 10f64.ln()));
        assert!(is_near(beyond(&[false, false, false, true, false, false]), 0.0));
    }

    #[test]
    fn the_level_is_the_median_between_hosts() {
        // Two ranks of one host are much faster than any two hosts; from host a it takes longer.
        let seconds = |length: usize, from: usize, to: usize| match (from % 3, to % 3) {
            (a, b) if a == b => 1e-9,
            (0, _) => 50.0 * (length + 1) as f64,
            _ => 3.0 * (length + 1) as f64,
        };
        let folded = read(&run(&[8, 64], seconds), &EVERYBODY);
        assert!(is_near(folded.level[0], 3.0) && is_near(folded.level[1], 6.0));
        assert!(is_near(folded.from_to(1, 0, 2), (50.0f64 / 3.0).ln()));
    }

    #[test]
    fn a_direction_that_is_missing_says_nothing() {
        let of = |from: usize, to: usize| match (from % 3, to % 3) {
            (0, 1) => f64::NAN,
            (1, 0) => 2.0,
            _ => 1.0,
        };
        let folded = read(&run(&[8], |_, from, to| of(from, to)), &EVERYBODY);
        assert!(is_near(folded.from_to(0, 1, 0), 2f64.ln()) && folded.from_to(0, 0, 1).is_nan());
        assert!(folded.unmeasured().is_empty());
    }

    #[test]
    fn what_is_no_time_is_missing() {
        for wrong in [0.0, -1.0, f64::INFINITY] {
            let folded = read(&run(&[8], |_, from, to| if from % 3 == to % 3 { 1.0 } else { wrong }), &EVERYBODY);
            assert!(folded.level[0].is_nan() && folded.times[0].cells() == [0; 3], "{wrong}");
        }
    }

    #[test]
    fn runs_are_compared_at_the_lengths_that_both_have() {
        let seconds =
            |factor: f64| move |length: usize, _: usize, to: usize| factor * ((length + 1) * (to % 3 + 1)) as f64;
        let other = read(&run(&[64, 512], seconds(1.0)), &EVERYBODY);
        let own = read(
            &run(&[8, 64, 4096], |length, from, to| {
                seconds(5.0)(length, from, to) * [1.0, 2.0][usize::from(to.is_multiple_of(3))]
            }),
            &EVERYBODY,
        );
        let relative = own.relative_to(&other).unwrap();
        assert_eq!(relative.lengths, [Bytes(64)]);
        assert_eq!((relative.level[0], relative.times.len()), (own.level[1], 1));
        // To host a it takes twice as long as it did, besides what everything takes.
        let ratio = relative.from_to(0, 1, 0) - relative.from_to(0, 1, 2);
        assert!(is_near(ratio, 2f64.ln()), "{ratio}");
        assert!(own.relative_to(&read(&run(&[9], seconds(1.0)), &EVERYBODY)).is_none());
    }

    #[test]
    fn of_very_many_pairs_some_from_all_over_the_run_tell_the_level() {
        // Every third or twelfth column is looked at, and every third one is slow.
        for hosts in [444, 888] {
            let slow = |to: usize| if to.is_multiple_of(3) { 1.0 } else { 0.0 };
            let values =
                square(hosts, |from, to| slow(to) + 0.2 * ((from * 7919 + to * 104_729) % 1009) as f64 / 1009.0);
            let exact = median(&mut values.values().iter().map(|value| f64::from(*value)).collect::<Vec<_>>());
            assert!((f64::from(middle(&values)) - exact).abs() < 0.002, "{hosts} hosts: {} {exact}", middle(&values));
        }
    }
}

//! A matrix made small enough to look at: neighbouring ranks become groups, and a block of cells becomes one value.
//!
//! In: a run, row by row, so that no whole matrix is held. Out: [`Blocks`], at most as many per side as asked for.

use std::ops::Range;

use crate::{
    record::{BoxError, Run, State, Statistic},
    stats::median,
    units::{Hosts, Rank},
};

/// Which value stands for a block of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The largest: a single slow pair stays visible however small the picture is.
    Max,
    /// The median: what the block is like as a whole.
    Median,
    /// The smallest.
    Min,
}

impl Aggregate {
    /// Of the values of a block, which are reordered; `None` if there is none.
    fn of(self, values: &mut [f64]) -> Option<f64> {
        let value = match self {
            Self::Max => values.iter().copied().fold(f64::NAN, f64::max),
            Self::Median => median(values),
            Self::Min => values.iter().copied().fold(f64::NAN, f64::min),
        };
        (!value.is_nan()).then_some(value)
    }
}

/// A block of cells as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Block {
    /// The cells that have a value, aggregated.
    Value(f64),
    /// No cell has one; or, in [`Aggregate::Max`], some cell that was to be measured has none.
    Missing,
    /// Nothing was to be measured: the diagonal, or pairs that the schedule leaves out.
    Empty,
}

/// An ordered pair and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extreme {
    /// In the unit of the statistic.
    pub value: f64,
    /// Row.
    pub source: Rank,
    /// Column.
    pub destination: Rank,
}

/// A matrix in blocks. The diagonal takes no part.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// The ranks of each group, ascending; the same for rows and columns.
    pub groups: Vec<Range<Rank>>,
    /// `[source group][destination group]`.
    pub blocks: Vec<Vec<Block>>,
    /// Numbers of pairs without a value by the reason, no reason twice and no number 0.
    pub missing: Vec<(State, usize)>,
    /// Whether payloads of some cell of a block arrived damaged, `[source group][destination group]`.
    pub damaged: Vec<Vec<bool>>,
    /// Number of pairs of which payloads arrived damaged.
    pub damaged_pairs: usize,
    /// The cells with the smallest and with the largest value; the first ones, where there are several.
    pub extremes: Option<(Extreme, Extreme)>,
}

impl Blocks {
    /// At most `most` groups of ranks, or one, whichever is more.
    ///
    /// A missing cell counts as the slowest of all, so that it stays visible in [`Aggregate::Max`]; but not one that
    /// the schedule leaves out.
    pub fn of(
        run: &dyn Run,
        statistic: Statistic,
        length_index: usize,
        most: usize,
        aggregate: Aggregate,
    ) -> Result<Self, BoxError> {
        let ranks = run.ranks();
        let groups = groups(&run.header().hosts, most);
        let mut all = Self {
            blocks: Vec::with_capacity(groups.len()),
            groups,
            missing: Vec::new(),
            damaged: Vec::new(),
            damaged_pairs: 0,
            extremes: None,
        };
        let mut values = Vec::new();
        let mut states = Vec::new();
        for rows in all.groups.clone() {
            values.resize(rows.len() * ranks, f64::NAN);
            states.resize(values.len(), State::Measured);
            run.read_rows(statistic, length_index, rows.clone(), &mut values)?;
            run.read_states(length_index, rows.clone(), &mut states)?;
            let place = |i: Rank, j: Rank| (i - rows.start) * ranks + j;
            for (i, j) in pairs(&rows, &(0..ranks)) {
                all.look_at(i, j, values[place(i, j)], states[place(i, j)]);
            }
            let block = |columns: &Range<Rank>| {
                let cells = pairs(&rows, columns).map(|(i, j)| (values[place(i, j)], states[place(i, j)]));
                block(cells, aggregate)
            };
            all.blocks.push(all.groups.iter().map(block).collect());
            let is_damaged = |(i, j): (Rank, Rank)| states[place(i, j)] == State::Damaged;
            all.damaged.push(all.groups.iter().map(|columns| pairs(&rows, columns).any(is_damaged)).collect());
        }
        Ok(all)
    }

    /// Keeps what is said about the matrix as a whole.
    fn look_at(&mut self, source: Rank, destination: Rank, value: f64, state: State) {
        self.damaged_pairs += usize::from(state == State::Damaged);
        if value.is_nan() {
            match self.missing.iter_mut().find(|(known, _)| *known == state) {
                Some((_, count)) => *count += 1,
                None => self.missing.push((state, 1)),
            }
            return;
        }
        let cell = Extreme { value, source, destination };
        let (low, high) = self.extremes.get_or_insert((cell, cell));
        if value < low.value {
            *low = cell;
        }
        if value > high.value {
            *high = cell;
        }
    }

    /// Ranks in the largest group.
    pub fn group_size(&self) -> usize {
        self.groups.iter().map(Range::len).max().unwrap_or(1)
    }

    /// Smallest and largest value of all blocks; `None` where there is no value.
    pub fn span(&self) -> Option<(f64, f64)> {
        let values = self.blocks.iter().flatten().filter_map(|block| match block {
            Block::Value(value) => Some(*value),
            Block::Missing | Block::Empty => None,
        });
        values.fold(None, |span, value| {
            let (low, high) = span.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })
    }
}

/// The ordered pairs of different ranks.
fn pairs(rows: &Range<Rank>, columns: &Range<Rank>) -> impl Iterator<Item = (Rank, Rank)> + use<> {
    let (rows, columns) = (rows.clone(), columns.clone());
    rows.flat_map(move |i| columns.clone().map(move |j| (i, j))).filter(|(i, j)| i != j)
}

/// One block of these cells off the diagonal.
fn block(cells: impl Iterator<Item = (f64, State)>, aggregate: Aggregate) -> Block {
    let mut is_missing = false;
    let mut values = Vec::new();
    for (value, state) in cells {
        if !value.is_nan() {
            values.push(value);
        } else if state != State::NotScheduled {
            is_missing = true;
        }
    }
    match aggregate.of(&mut values) {
        Some(value) if !(is_missing && aggregate == Aggregate::Max) => Block::Value(value),
        _ if is_missing => Block::Missing,
        _ => Block::Empty,
    }
}

/// Neighbouring ranks in at most `most` groups of one size. Where every host has the same number of neighbouring
/// ranks, groups and hosts begin together, so that no group mixes parts of hosts.
fn groups(hosts: &Hosts, most: usize) -> Vec<Range<Rank>> {
    let ranks = hosts.ranks();
    let smallest = ranks.div_ceil(most.max(1)).max(1);
    let size = match ranks_per_host(hosts) {
        Some(on_host) if smallest >= on_host => smallest.next_multiple_of(on_host),
        Some(on_host) => (smallest..=on_host).find(|size| on_host % size == 0).unwrap_or(on_host),
        None => smallest,
    };
    (0..ranks).step_by(size).map(|first| first..(first + size).min(ranks)).collect()
}

/// How many ranks each host has, if it is the same for all and they are neighbours.
fn ranks_per_host(hosts: &Hosts) -> Option<usize> {
    let on_first = hosts.ranks_of(0).len();
    let is_even = (0..hosts.count()).all(|host| {
        let ranks = hosts.ranks_of(host);
        ranks.len() == on_first && ranks[on_first - 1] - ranks[0] == on_first - 1
    });
    is_even.then_some(on_first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Plan},
        record::{Cell, Header, MemoryRun, Provenance},
        stats::Summary,
        units::Bytes,
    };

    /// Ranks on hosts of their own; `value` of source and destination in seconds, NaN for a cell that failed, infinite
    /// for one that was left out.
    fn run(ranks: usize, value: impl Fn(Rank, Rank) -> f64) -> MemoryRun {
        let hosts = Hosts::new((0..ranks).map(|rank| format!("n{rank}")));
        let plan = Plan::all(&Config::default(), &hosts).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let cell = |seconds: f64| match seconds {
            _ if seconds.is_nan() => Cell::missing(State::Failed),
            f64::INFINITY => Cell::missing(State::NotScheduled),
            _ => Cell::measured(Summary::of(&mut [seconds]), 1, State::Measured),
        };
        run.push(Bytes(0), (0..ranks * ranks).map(|k| cell(value(k / ranks, k % ranks))).collect());
        run
    }

    fn blocks(run: &MemoryRun, most: usize, aggregate: Aggregate) -> Blocks {
        Blocks::of(run, Statistic::Median, 0, most, aggregate).unwrap()
    }

    #[test]
    fn what_fits_is_not_aggregated() {
        let run = run(3, |i, j| if (i, j) == (2, 0) { f64::NAN } else { (10 * i + j) as f64 });
        let blocks = blocks(&run, 3, Aggregate::Max);
        assert_eq!(blocks.groups, [0..1, 1..2, 2..3]);
        assert_eq!(blocks.blocks[0], [Block::Empty, Block::Value(1.0), Block::Value(2.0)]);
        assert_eq!(blocks.blocks[2], [Block::Missing, Block::Value(21.0), Block::Empty]);
        assert_eq!((blocks.span(), blocks.group_size()), (Some((1.0, 21.0)), 1));
        assert_eq!(blocks.missing, [(State::Failed, 1)]);
        let (low, high) = blocks.extremes.unwrap();
        assert_eq!((low.source, low.destination, high.source, high.destination), (0, 1, 2, 1));
    }

    #[test]
    fn one_slow_pair_stays_visible_in_the_maximum() {
        let run = run(10, |i, j| if (i, j) == (7, 2) { 5.0 } else { 1.0 });
        let max = blocks(&run, 5, Aggregate::Max);
        assert_eq!(max.blocks[3][1], Block::Value(5.0));
        assert_eq!(max.blocks.iter().flatten().filter(|block| **block == Block::Value(5.0)).count(), 1);
        assert_eq!(blocks(&run, 5, Aggregate::Median).span(), Some((1.0, 1.0)));
    }

    #[test]
    fn the_diagonal_does_not_reach_its_block() {
        let run = run(4, |i, j| if i == j { 0.0 } else { 2.0 });
        let min = blocks(&run, 2, Aggregate::Min);
        assert_eq!(min.blocks, vec![vec![Block::Value(2.0); 2]; 2]);
    }

    #[test]
    fn a_missing_cell_stays_visible_in_the_maximum() {
        let run = run(6, |i, j| if i == 5 || (i < 2 && j >= 4) { f64::NAN } else { 1.0 });
        let (one, none) = (Block::Value(1.0), Block::Missing);
        assert_eq!(blocks(&run, 3, Aggregate::Max).blocks, [[one, one, none], [one, one, one], [none; 3]]);
        assert_eq!(blocks(&run, 3, Aggregate::Median).blocks, [[one, one, none], [one, one, one], [one, one, one]]);
    }

    #[test]
    fn cells_that_were_left_out_on_purpose_hide_nothing() {
        let run = run(6, |i, j| if i < 2 && matches!(j, 2 | 4 | 5) { f64::INFINITY } else { 1.0 });
        let blocks = blocks(&run, 3, Aggregate::Max);
        assert_eq!(blocks.blocks[0], [Block::Value(1.0), Block::Value(1.0), Block::Empty]);
        assert_eq!(blocks.missing, [(State::NotScheduled, 6)]);
    }

    #[test]
    fn groups_do_not_cut_hosts() {
        let even = Hosts::new((0..64).map(|rank| format!("n{}", rank / 8)));
        let sizes = |most| groups(&even, most).iter().map(Range::len).max().unwrap();
        assert_eq!((sizes(64), sizes(40), sizes(20), sizes(8), sizes(5), sizes(0)), (1, 2, 4, 8, 16, 64));
        let round_robin = Hosts::new((0..6).map(|rank| format!("n{}", rank % 3)));
        assert_eq!(groups(&round_robin, 4), [0..2, 2..4, 4..6]);
        for most in 1..70 {
            let groups = groups(&even, most);
            assert!(groups.len() <= most, "{most}: {}", groups.len());
            assert_eq!((groups[0].start, groups.last().unwrap().end), (0, 64));
        }
    }
}

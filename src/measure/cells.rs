//! The cells of one length that a process has measured itself.

use std::ops::Range;

use crate::{
    plan::{Mode, Pair, Plan, Side},
    record::{Cell, State},
    units::Rank,
};

/// How much of the machine a process sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// One rank: it knows the cells that its own clock measured.
    Rank(Rank),
    /// All ranks at once: the synthetic machine.
    Whole,
}

/// The ranks whose clocks a process sees.
pub(super) fn seen(view: View, ranks: usize) -> Range<Rank> {
    match view {
        View::Rank(me) => me..me + 1,
        View::Whole => 0..ranks,
    }
}

/// Cells of one length: those of one rank, a row or a column of the matrix, or all of them.
///
/// They lie in *lines* of one cell per rank. Where all pairs are measured, a line is a row of the matrix; where most are
/// left out ([`Plan::partners`]), or single pairs are measured ([`Cells::of_pairs`]), line k holds for every source the cell
/// of the k-th partner, and nothing else is held.
#[derive(Clone, Debug)]
pub struct Cells {
    ranks: usize,
    view: View,
    timed_at: Side,
    collective: bool,
    /// There: whom this rank meets, `[line]`, or every rank, `[line][rank]`.
    partners: Option<Vec<Option<Rank>>>,
    cells: Vec<Cell>,
}

impl Cells {
    /// For `mode` among `ranks`, nothing measured yet.
    pub fn new(mode: Mode, ranks: usize, view: View) -> Self {
        Self::with(mode, ranks, view, None)
    }

    /// For what `plan` measures, nothing measured yet.
    pub fn of(plan: &Plan, view: View) -> Self {
        let rounds = plan.rounds(plan.shortest());
        let Some(lines) = rounds.lines() else { return Self::new(plan.mode, plan.ranks(), view) };
        let met = |line| seen(view, plan.ranks()).map(move |rank| (line, rank));
        let partners: Vec<_> = (0..lines).flat_map(met).map(|(line, rank)| rounds.partner(line, rank)).collect();
        Self::with(plan.mode, plan.ranks(), view, Some(partners))
    }

    /// For these pairs alone, whether the plan schedules them or not, nothing measured yet.
    pub fn of_pairs(plan: &Plan, view: View, pairs: &[Pair]) -> Self {
        let seen = seen(view, plan.ranks());
        let mut lists = vec![Vec::new(); seen.len()];
        for (rank, other) in pairs.iter().flat_map(|pair| [(pair.leader, pair.partner), (pair.partner, pair.leader)]) {
            if seen.contains(&rank) {
                lists[rank - seen.start].push(other);
            }
        }
        let lines = lists.iter().map(Vec::len).max().unwrap_or(0);
        let met = (0..lines).flat_map(|line| lists.iter().map(move |list| list.get(line).copied()));
        Self::with(plan.mode, plan.ranks(), view, Some(met.collect()))
    }

    fn with(mode: Mode, ranks: usize, view: View, partners: Option<Vec<Option<Rank>>>) -> Self {
        let lines = ranks * seen(view, ranks).len();
        let count = partners.as_ref().map_or(lines, Vec::len);
        let cells = vec![Cell::missing(State::NotScheduled); count];
        let (timed_at, collective) = (mode.timed_at(), mode.is_collective());
        let mut cells = Self { ranks, view, timed_at, collective, partners, cells };
        cells.clear();
        cells
    }

    /// Number of lines, each with a cell per rank.
    pub fn lines(&self) -> usize {
        match (&self.partners, self.view) {
            (None, _) => self.ranks,
            (Some(partners), View::Rank(_)) => partners.len(),
            (Some(partners), View::Whole) => partners.len() / self.ranks,
        }
    }

    /// Whether most pairs are left out, and lines are not rows of the matrix.
    pub fn is_sampled(&self) -> bool {
        self.partners.is_some()
    }

    /// Forgets everything; the diagonal is 0 where nobody sends to itself.
    pub fn clear(&mut self) {
        self.cells.fill(Cell::missing(State::NotScheduled));
        if !self.collective {
            for rank in 0..self.ranks {
                if let Some(place) = self.place(rank, rank) {
                    self.cells[place] = Cell::zero();
                }
            }
        }
    }

    /// Number of ranks of the matrix.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Whether this process owns whole rows (its clock is the source's) rather than columns.
    pub fn owns_rows(&self) -> bool {
        self.timed_at == Side::Source
    }

    fn place(&self, source: Rank, destination: Rank) -> Option<usize> {
        let owner = if self.timed_at == Side::Source { source } else { destination };
        let other = if self.timed_at == Side::Source { destination } else { source };
        match (&self.partners, self.view) {
            (None, View::Whole) => Some(source * self.ranks + destination),
            (None, View::Rank(me)) => (me == owner).then_some(other),
            (Some(partners), View::Whole) => {
                (source..partners.len()).step_by(self.ranks).find(|place| partners[*place] == Some(destination))
            }
            (Some(partners), View::Rank(me)) => {
                partners.iter().position(|partner| *partner == Some(other)).filter(|_| me == owner)
            }
        }
    }

    /// Keeps a cell; one that another rank's clock measures is not this process's to keep.
    pub fn set(&mut self, source: Rank, destination: Rank, cell: Cell) {
        if let Some(place) = self.place(source, destination) {
            self.cells[place] = cell;
        }
    }

    /// A cell, if this process owns it.
    pub fn get(&self, source: Rank, destination: Rank) -> Option<&Cell> {
        self.place(source, destination).map(|place| &self.cells[place])
    }

    /// Takes over both directions of a pair from cells of the same process.
    pub fn copy_pair(&mut self, from: &Self, pair: Pair) {
        for (source, destination) in [(pair.leader, pair.partner), (pair.partner, pair.leader)] {
            if let Some(cell) = from.get(source, destination) {
                self.set(source, destination, *cell);
            }
        }
    }

    /// The source and the destination of a cell of this process; `None` where a rank has nobody to meet in a line.
    fn ends(&self, place: usize) -> Option<(Rank, Rank)> {
        let other = match (&self.partners, self.view) {
            (None, View::Rank(_)) => place,
            (None, View::Whole) => place % self.ranks,
            (Some(partners), _) => partners[place]?,
        };
        Some(match (self.view, self.timed_at, self.is_sampled()) {
            (View::Whole, _, false) => (place / self.ranks, other),
            (View::Whole, _, true) => (place % self.ranks, other),
            (View::Rank(me), Side::Source, _) => (me, other),
            (View::Rank(me), Side::Destination, _) => (other, me),
        })
    }

    /// The cells of this process with their sources and destinations.
    pub fn iter(&self) -> impl Iterator<Item = (Rank, Rank, &Cell)> {
        self.cells.iter().enumerate().filter_map(|(place, cell)| {
            let (source, destination) = self.ends(place)?;
            Some((source, destination, cell))
        })
    }

    /// A cell of this rank in a line, with its source; a missing cell of no source where it meets nobody.
    pub fn in_line(&self, line: usize) -> (Option<Rank>, &Cell) {
        (self.ends(line).map(|ends| ends.0), &self.cells[line])
    }

    /// Payloads that arrived damaged in the cells of this process.
    pub fn damaged(&self) -> u64 {
        self.cells.iter().map(|cell| u64::from(cell.damaged)).sum()
    }

    /// All cells of this process: `[other rank]`, or `[source][destination]` with [`View::Whole`]; where most pairs are
    /// left out `[line]`, or `[line][source]`.
    pub fn all(&self) -> &[Cell] {
        &self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Schedule},
        stats::Summary,
        units::Hosts,
    };

    #[test]
    fn a_rank_keeps_what_its_clock_measures() {
        let cell = Cell::measured(Summary::of(&mut [1.0]), 1, State::Measured);
        let mut receiver = Cells::new(Mode::OneToOne, 3, View::Rank(1));
        receiver.set(0, 1, cell);
        receiver.set(1, 0, cell);
        assert_eq!(receiver.get(0, 1), Some(&cell));
        assert_eq!(receiver.get(1, 0), None);
        assert_eq!(receiver.get(1, 1), Some(&Cell::zero()));
        let mut origin = Cells::new(Mode::Put, 3, View::Rank(1));
        origin.set(1, 0, cell);
        assert_eq!(origin.get(1, 0), Some(&cell));
        assert!(origin.owns_rows() && !receiver.owns_rows());
        origin.clear();
        assert_eq!(origin.get(1, 0).unwrap().state, State::NotScheduled);
        assert_eq!(Cells::new(Mode::Bcast, 2, View::Whole).get(1, 1).unwrap().state, State::NotScheduled);
    }

    #[test]
    fn of_pairs_nothing_else_is_kept() {
        let cell = Cell::measured(Summary::of(&mut [1.0]), 1, State::Measured);
        let plan = Plan { mode: Mode::OneToOne, config: Config::default(), hosts: Hosts::new(["a", "b", "c", "d"]) };
        let pairs = [Pair::of(0, 2), Pair::of(2, 3)];
        for view in [View::Whole, View::Rank(0), View::Rank(1), View::Rank(2)] {
            let mut cells = Cells::of_pairs(&plan, view, &pairs);
            for (source, destination) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                cells.set(source, destination, cell);
                let is_of_pair = pairs.iter().any(|pair| pair.other(source) == Some(destination));
                // A message is timed where it arrives.
                let is_own = view == View::Whole || view == View::Rank(destination);
                let expected = (is_of_pair && is_own).then_some(&cell);
                assert_eq!(cells.get(source, destination), expected, "{view:?}: {source} {destination}");
            }
            assert_eq!(
                cells.iter().count(),
                match view {
                    View::Whole => 4,
                    View::Rank(2) => 2,
                    View::Rank(0) => 1,
                    _ => 0,
                }
            );
        }
    }

    #[test]
    fn only_partners_have_cells_where_most_pairs_are_left_out() {
        let cell = Cell::measured(Summary::of(&mut [1.0]), 1, State::Measured);
        let config = Config { schedule: Schedule::Disjoint, sample_rounds: Some(2), ..Config::default() };
        for mode in [Mode::OneToOne, Mode::Put] {
            let hosts = Hosts::new((0..9).map(|host| format!("n{host}")));
            let plan = Plan { mode, config: config.clone(), hosts };
            let partners = plan.partners().unwrap();
            let mut whole = Cells::of(&plan, View::Whole);
            assert_eq!((whole.lines(), whole.all().len()), (2, 18));
            for me in 0..9 {
                let mut own = Cells::of(&plan, View::Rank(me));
                assert_eq!((own.lines(), own.all().len()), (2, 2));
                for other in (0..9).filter(|other| *other != me) {
                    let (source, destination) = if own.owns_rows() { (me, other) } else { (other, me) };
                    let met = partners.line_of(source, destination);
                    for cells in [&mut own, &mut whole] {
                        cells.set(source, destination, cell);
                        assert_eq!(cells.get(source, destination).is_some(), met.is_some(), "{source} {destination}");
                    }
                    if let Some(line) = met {
                        assert_eq!(own.in_line(line), (Some(source), &cell));
                    }
                }
                assert!(own.iter().all(|(_, _, found)| *found == cell));
            }
            assert!(whole.iter().all(|(_, _, found)| *found == cell));
            assert_eq!(whole.iter().count(), 16, "somebody sits out each round");
        }
    }
}

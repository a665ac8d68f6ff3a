//! The cells of one length that a process has measured itself.

use crate::{
    plan::{Mode, Pair, Side},
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

/// Cells of one length: those of one rank, a row or a column of the matrix, or all of them.
#[derive(Clone, Debug)]
pub struct Cells {
    ranks: usize,
    view: View,
    timed_at: Side,
    collective: bool,
    cells: Vec<Cell>,
}

impl Cells {
    /// For `mode` among `ranks`, nothing measured yet.
    pub fn new(mode: Mode, ranks: usize, view: View) -> Self {
        let count = if view == View::Whole { ranks * ranks } else { ranks };
        let cells = vec![Cell::missing(State::NotScheduled); count];
        let mut cells = Self { ranks, view, timed_at: mode.timed_at(), collective: mode.is_collective(), cells };
        cells.clear();
        cells
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
        match (self.view, self.timed_at) {
            (View::Whole, _) => Some(source * self.ranks + destination),
            (View::Rank(me), Side::Source) => (me == source).then_some(destination),
            (View::Rank(me), Side::Destination) => (me == destination).then_some(source),
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

    /// The cells of this process with their sources and destinations.
    pub fn iter(&self) -> impl Iterator<Item = (Rank, Rank, &Cell)> {
        self.cells.iter().enumerate().map(|(place, cell)| {
            let (source, destination) = match (self.view, self.timed_at) {
                (View::Whole, _) => (place / self.ranks, place % self.ranks),
                (View::Rank(me), Side::Source) => (me, place),
                (View::Rank(me), Side::Destination) => (place, me),
            };
            (source, destination, cell)
        })
    }

    /// Payloads that arrived damaged in the cells of this process.
    pub fn damaged(&self) -> u64 {
        self.cells.iter().map(|cell| u64::from(cell.damaged)).sum()
    }

    /// All cells of this process: `[other rank]`, or `[source][destination]` with [`View::Whole`].
    pub fn all(&self) -> &[Cell] {
        &self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Summary;

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
}

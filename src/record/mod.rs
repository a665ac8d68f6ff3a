//! What a run is, in memory.
//!
//! The one form between measuring, storing and analysing: a [`Header`] says what was measured, where and how; a
//! [`Cell`] is one ordered pair at one length; a [`Matrix`] is one statistic of all cells at one length. A [`Sink`]
//! accepts a run while it is measured, row by row; a [`Run`] gives one back, matrix by matrix or in parts, so that
//! nobody has to hold a whole one. A [`Clustered`] run is one statistic reduced to sets of pairs; [`operations`] are
//! what P processes did together. This module opens no file and prints nothing.

mod cell;
mod clustered;
mod header;
mod matrix;
mod memory;
mod moments;
pub mod operations;
mod retest;
mod statistic;
pub(crate) mod stuck;

pub use cell::{Cell, Extra, State};
pub use clustered::{
    About, Clustered, DECODED_TOLERANCE, Exception, NO_SET, ParseToleranceError, Part, PartSink, Tolerance,
};
pub use header::{Header, MERGED, MIXED, Provenance};
pub use matrix::Matrix;
pub use memory::MemoryRun;
pub use moments::Moments;
pub use retest::Retest;
pub use statistic::Statistic;
pub use stuck::{Avoided, Phase, Stuck, StuckKind, StuckPlace, Wait, WaitOutcome};

use std::{error::Error, ops::Range};

use crate::{plan::Partners, units::Bytes};

/// Failure of a [`Sink`] or a [`Run`]; its text names the file and the cause.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Accepts a run while it is measured. Lengths come in ascending order, and the rows of a length in ascending order.
pub trait Sink {
    /// Most pairs are left out: rows are lines of this table from now on, `[line][source]`. Comes before the first row.
    fn begin_sampled(&mut self, _partners: &Partners) {}

    /// Takes `rows`, `[row][destination]`, of which the first is the matrix row `first_row`, of the length with number
    /// `length_index` in the planned sweep.
    fn write_rows(&mut self, length_index: usize, first_row: usize, rows: &[Cell]) -> Result<(), BoxError>;

    /// Takes the pairs of the length that were measured again, before the length is finished. Called only where the
    /// plan has [`crate::plan::Plan::retests`].
    fn write_retests(&mut self, _length_index: usize, _retests: &[Retest]) -> Result<(), BoxError> {
        Ok(())
    }

    /// Takes the samples of the pairs of [`Sink::write_retests`] alone, in seconds, `[retest][sample]`, right behind
    /// it. Called only where the plan has [`crate::plan::Plan::retest_samples`].
    fn write_retest_samples(&mut self, _length_index: usize, _samples: &[Vec<f64>]) -> Result<(), BoxError> {
        Ok(())
    }

    /// Takes when a length was measured, before the length is finished. NaN: not known.
    fn write_moments(&mut self, _length_index: usize, _moments: Moments) -> Result<(), BoxError> {
        Ok(())
    }

    /// Takes the time of the shortest length at the end of the run over that at its beginning, behind the last length.
    fn write_drift(&mut self, _ratio: f64) -> Result<(), BoxError> {
        Ok(())
    }

    /// How many rounds of a length an earlier run has kept before it ended.
    fn kept_rounds(&self, _length_index: usize) -> usize {
        0
    }

    /// The bytes that were kept with them, piece by piece.
    fn read_kept(&self, _each: &mut dyn FnMut(&[u8])) -> Result<(), BoxError> {
        Ok(())
    }

    /// Keeps bytes of a length that is not finished, until it is or [`Sink::seal_kept`] is called no more.
    fn keep(&mut self, _length_index: usize, _piece: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }

    /// So many rounds of the length are finished, with all that was kept so far: whatever happens later, a run that
    /// goes on begins behind them.
    fn seal_kept(&mut self, _length_index: usize, _rounds: usize) -> Result<(), BoxError> {
        Ok(())
    }

    /// All rows of the length have been written: whatever happens later, they must stay readable.
    fn finish_length(&mut self, length_index: usize) -> Result<(), BoxError>;

    /// No more lengths will come.
    fn close(&mut self) -> Result<(), BoxError>;
}

/// A finished or unfinished run that can be read in parts.
pub trait Run {
    /// What was measured, where and how.
    fn header(&self) -> &Header;

    /// The lengths that are finished, ascending: as many as `header().planned`, unless the run is unfinished.
    fn lengths(&self) -> &[Bytes];

    /// The statistics that are there.
    fn statistics(&self) -> &[Statistic];

    /// Whom every rank met, where the run left most pairs out and the others are known to be missing. Here: not known.
    fn partners(&self) -> Option<&Partners> {
        None
    }

    /// Reads the given rows of a matrix into `values`, `[row][destination]`; in seconds, or a number of samples for
    /// [`Statistic::MeasurementsAmount`]. Missing cells are NaN.
    fn read_rows(
        &self,
        statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError>;

    /// Reads why the cells of the given rows have the samples they have, `[row][destination]`.
    fn read_states(&self, length_index: usize, rows: Range<usize>, states: &mut [State]) -> Result<(), BoxError> {
        states_of_values(self, length_index, rows, states)
    }

    /// Adds to the cells of the given rows what is known besides statistics and states: the bounds of clocks, damaged
    /// payloads. Here: nothing.
    fn read_further(&self, _length_index: usize, _rows: Range<usize>, _cells: &mut [Cell]) -> Result<(), BoxError> {
        Ok(())
    }

    /// The pairs that were measured again at a length, in no particular order. Here: none.
    fn retests(&self, _length_index: usize) -> Result<Vec<Retest>, BoxError> {
        Ok(Vec::new())
    }

    /// The samples of the pairs of [`Run::retests`] alone, in seconds, `[retest][sample]`, in the order in which they
    /// were taken; empty where none were kept. Here: none.
    fn retest_samples(&self, _length_index: usize) -> Result<Vec<Vec<f64>>, BoxError> {
        Ok(Vec::new())
    }

    /// When a length was measured. Here: not known.
    fn moments(&self, _length_index: usize) -> Result<Option<Moments>, BoxError> {
        Ok(None)
    }

    /// From the beginning of the first length to the end of the last.
    fn all_moments(&self) -> Result<Option<Moments>, BoxError> {
        let last = self.lengths().len().saturating_sub(1);
        let ends = if self.lengths().is_empty() { [None; 2] } else { [self.moments(0)?, self.moments(last)?] };
        Ok(match ends {
            [Some(first), Some(last)] => Some(Moments { begin: first.begin, end: last.end }),
            _ => None,
        })
    }

    /// The time of the shortest length at the end of the run over that at its beginning. Here: not known.
    fn drift(&self) -> Result<Option<f64>, BoxError> {
        Ok(None)
    }

    /// Reads everything about the cells of the given rows, `[row][destination]`. Statistics that are not there are NaN.
    fn read_cells(&self, length_index: usize, rows: Range<usize>, cells: &mut Vec<Cell>) -> Result<(), BoxError> {
        let mut states = vec![State::Measured; rows.len() * self.ranks()];
        self.read_states(length_index, rows.clone(), &mut states)?;
        cells.clear();
        cells.extend(states.into_iter().map(Cell::missing));
        let mut values = vec![f64::NAN; cells.len()];
        for &statistic in self.statistics() {
            self.read_rows(statistic, length_index, rows.clone(), &mut values)?;
            for (cell, value) in cells.iter_mut().zip(&values) {
                cell.set(statistic, *value);
            }
        }
        self.read_further(length_index, rows, cells)
    }

    /// Number of ranks: matrices have as many rows and columns.
    fn ranks(&self) -> usize {
        self.header().hosts.ranks()
    }

    /// Whether every planned length is there.
    fn is_complete(&self) -> bool {
        self.lengths().len() == self.header().planned.len()
    }

    /// Reads a whole matrix.
    fn matrix(&self, statistic: Statistic, length_index: usize) -> Result<Matrix, BoxError> {
        let mut matrix = Matrix::missing(self.ranks());
        self.read_rows(statistic, length_index, 0..self.ranks(), matrix.values_mut())?;
        Ok(matrix)
    }
}

/// The states of the given rows, `[row][destination]`, as far as values tell them: for runs that keep no states.
pub fn states_of_values<R: Run + ?Sized>(
    run: &R,
    length_index: usize,
    rows: Range<usize>,
    states: &mut [State],
) -> Result<(), BoxError> {
    let mut values = vec![f64::NAN; states.len()];
    if let Some(&statistic) = run.statistics().first() {
        run.read_rows(statistic, length_index, rows, &mut values)?;
    }
    for (state, value) in states.iter_mut().zip(values) {
        *state = State::of_value(value);
    }
    Ok(())
}

//! A run that is held in memory as a whole: for synthetic runs, small text files and tests.

use std::ops::Range;

use super::{BoxError, Cell, Header, Moments, Retest, Run, Sink, State, Statistic};
use crate::{plan::Partners, units::Bytes};

/// A [`Sink`] that keeps what it is given, and the [`Run`] that comes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryRun {
    header: Header,
    statistics: Vec<Statistic>,
    lengths: Vec<Bytes>,
    /// `[length][source][destination]`.
    cells: Vec<Vec<Cell>>,
    /// `[length]`, any number per length.
    retests: Vec<Vec<Retest>>,
    retest_samples: Vec<Vec<Vec<f64>>>,
    /// `[length]`, as far as it is known.
    moments: Vec<Moments>,
    drift: Option<f64>,
    partners: Option<Partners>,
}

impl MemoryRun {
    /// Without any length yet; every statistic will be there, the optional ones if they were asked for.
    pub fn new(header: Header) -> Self {
        let asked = header.optional_statistics();
        let has = |statistic: &Statistic| !Statistic::OPTIONAL.contains(statistic) || asked.contains(statistic);
        Self::with_statistics(header, Statistic::listed().filter(has).collect())
    }

    /// Without any length yet, for cells of which only these statistics are known.
    pub fn with_statistics(header: Header, statistics: Vec<Statistic>) -> Self {
        Self {
            header,
            statistics,
            lengths: Vec::new(),
            cells: Vec::new(),
            retests: Vec::new(),
            retest_samples: Vec::new(),
            moments: Vec::new(),
            drift: None,
            partners: None,
        }
    }

    /// Finds out whom every rank met, where the run left most pairs out.
    pub fn find_partners(&mut self) {
        let ranks = self.header.hosts.ranks();
        let met = |source: usize, destination: usize| {
            let place = source * ranks + destination;
            source != destination && self.cells.iter().any(|cells| cells[place].state != State::NotScheduled)
        };
        let lists: Vec<Vec<usize>> =
            (0..ranks).map(|source| (0..ranks).filter(|destination| met(source, *destination)).collect()).collect();
        self.partners = Partners::of_lists(&lists);
    }

    /// All cells of a finished length, `[source][destination]`.
    pub fn cells(&self, length_index: usize) -> &[Cell] {
        &self.cells[length_index]
    }

    /// Appends a finished length.
    pub fn push(&mut self, length: Bytes, cells: Vec<Cell>) {
        self.lengths.push(length);
        self.cells.push(cells);
    }
}

/// Lines of a run that left most pairs out, `[line][source]`, as the matrix that they stand for. Nobody sent to itself.
fn expand(partners: &Partners, lines: &[Cell]) -> Vec<Cell> {
    let ranks = partners.ranks();
    let mut cells = vec![Cell::missing(State::NotScheduled); ranks * ranks];
    (0..ranks).for_each(|rank| cells[rank * ranks + rank] = Cell::zero());
    for (place, cell) in lines.iter().enumerate() {
        if let Some(destination) = partners.partner(place / ranks, place % ranks) {
            cells[place % ranks * ranks + destination] = *cell;
        }
    }
    cells
}

impl Sink for MemoryRun {
    fn begin_sampled(&mut self, partners: &Partners) {
        self.partners = Some(partners.clone());
    }

    fn write_rows(&mut self, length_index: usize, _first_row: usize, rows: &[Cell]) -> Result<(), BoxError> {
        self.cells.resize(length_index + 1, Vec::new());
        self.cells[length_index].extend_from_slice(rows);
        Ok(())
    }

    fn write_retests(&mut self, length_index: usize, retests: &[Retest]) -> Result<(), BoxError> {
        self.retests.resize(length_index + 1, Vec::new());
        self.retests[length_index].extend_from_slice(retests);
        Ok(())
    }

    fn write_retest_samples(&mut self, length_index: usize, samples: &[Vec<f64>]) -> Result<(), BoxError> {
        self.retest_samples.resize(length_index + 1, Vec::new());
        self.retest_samples[length_index].extend_from_slice(samples);
        Ok(())
    }

    fn write_moments(&mut self, length_index: usize, moments: Moments) -> Result<(), BoxError> {
        if moments.begin.is_finite() {
            self.moments.resize(length_index + 1, moments);
        }
        Ok(())
    }

    fn write_drift(&mut self, ratio: f64) -> Result<(), BoxError> {
        self.drift = Some(ratio).filter(|ratio| ratio.is_finite());
        Ok(())
    }

    fn finish_length(&mut self, length_index: usize) -> Result<(), BoxError> {
        self.lengths.push(self.header.planned[length_index]);
        if let Some(partners) = &self.partners {
            self.cells[length_index] = expand(partners, &self.cells[length_index]);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl Run for MemoryRun {
    fn header(&self) -> &Header {
        &self.header
    }

    fn lengths(&self) -> &[Bytes] {
        &self.lengths
    }

    fn statistics(&self) -> &[Statistic] {
        &self.statistics
    }

    fn partners(&self) -> Option<&Partners> {
        self.partners.as_ref()
    }

    fn read_rows(
        &self,
        statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        let ranks = self.ranks();
        let cells = &self.cells[length_index][rows.start * ranks..rows.end * ranks];
        for (value, cell) in values.iter_mut().zip(cells) {
            *value = statistic.in_cell(cell);
        }
        Ok(())
    }

    fn read_cells(&self, length_index: usize, rows: Range<usize>, cells: &mut Vec<Cell>) -> Result<(), BoxError> {
        let ranks = self.ranks();
        cells.clear();
        cells.extend_from_slice(&self.cells[length_index][rows.start * ranks..rows.end * ranks]);
        Ok(())
    }

    fn read_further(&self, length_index: usize, rows: Range<usize>, cells: &mut [Cell]) -> Result<(), BoxError> {
        let first = rows.start * self.ranks();
        for (cell, known) in cells.iter_mut().zip(&self.cells[length_index][first..]) {
            (cell.damaged, cell.clock_bound) = (known.damaged, known.clock_bound);
        }
        Ok(())
    }

    fn retests(&self, length_index: usize) -> Result<Vec<Retest>, BoxError> {
        Ok(self.retests.get(length_index).cloned().unwrap_or_default())
    }

    fn retest_samples(&self, length_index: usize) -> Result<Vec<Vec<f64>>, BoxError> {
        Ok(self.retest_samples.get(length_index).cloned().unwrap_or_default())
    }

    fn moments(&self, length_index: usize) -> Result<Option<Moments>, BoxError> {
        Ok(self.moments.get(length_index).copied().filter(|moments| moments.begin.is_finite()))
    }

    fn drift(&self) -> Result<Option<f64>, BoxError> {
        Ok(self.drift)
    }

    fn read_states(&self, length_index: usize, rows: Range<usize>, states: &mut [State]) -> Result<(), BoxError> {
        let ranks = self.ranks();
        let cells = &self.cells[length_index][rows.start * ranks..rows.end * ranks];
        for (state, cell) in states.iter_mut().zip(cells) {
            *state = cell.state;
        }
        Ok(())
    }
}

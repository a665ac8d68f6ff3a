//! Any run to a new result set.

use std::path::Path;

use super::{StoreError, create::create_with};
use crate::record::{BoxError, Cell, Run, Sink, State, Statistic};

/// Cells that are held at a time, unless a single row has more.
const CELLS_AT_A_TIME: usize = 1 << 15;

/// Copies a run to a new set of files with the statistics that the run has. An existing set is replaced with `force`.
pub fn write_run(run: &dyn Run, prefix: &Path, force: bool) -> Result<(), BoxError> {
    if !run.header().planned.starts_with(run.lengths()) {
        return Err(StoreError::Header("its message lengths are not those that were planned".to_owned()).into());
    }
    let mut writer = create_with(prefix, run.header(), force, run.statistics())?;
    let ranks = run.ranks();
    let at_a_time = (CELLS_AT_A_TIME / ranks).clamp(1, ranks);
    let mut cells = Vec::new();
    for length_index in 0..run.lengths().len() {
        for first in (0..ranks).step_by(at_a_time) {
            read_cells(run, length_index, first..(first + at_a_time).min(ranks), &mut cells)?;
            writer.write_rows(length_index, first, &cells)?;
        }
        writer.finish_length(length_index)?;
    }
    writer.close()
}

/// Reads the given rows as cells, of which the statistics that the run does not have are missing.
pub(super) fn read_cells(
    run: &dyn Run,
    length_index: usize,
    rows: std::ops::Range<usize>,
    cells: &mut Vec<Cell>,
) -> Result<(), BoxError> {
    let count = rows.len() * run.ranks();
    let mut states = vec![State::Measured; count];
    run.read_states(length_index, rows.clone(), &mut states)?;
    cells.clear();
    cells.extend(states.into_iter().map(Cell::missing));
    let mut values = vec![f64::NAN; count];
    for &statistic in run.statistics() {
        run.read_rows(statistic, length_index, rows.clone(), &mut values)?;
        for (cell, value) in cells.iter_mut().zip(&values) {
            set(cell, statistic, *value);
        }
    }
    Ok(())
}

/// Sets one statistic of a cell.
pub(super) fn set(cell: &mut Cell, statistic: Statistic, value: f64) {
    match statistic {
        Statistic::Min => cell.summary.min = value,
        Statistic::Average => cell.summary.average = value,
        Statistic::Median => cell.summary.median = value,
        Statistic::Max => cell.summary.max = value,
        Statistic::Deviation => cell.summary.deviation = value,
        // A number beyond u32 does not come from a run; NaN becomes 0: no samples.
        Statistic::MeasurementsAmount => cell.samples = value as u32,
    }
}

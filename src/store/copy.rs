//! Any run to a new result set.

use std::path::Path;

use super::{StoreError, create::create_with, output};
use crate::{
    plan::Partners,
    record::{BoxError, Cell, Run, Sink, State},
};

/// Cells that are held at a time, unless a single row has more.
const CELLS_AT_A_TIME: usize = 1 << 15;

/// Copies a run to a new set of files with the statistics that the run has. An existing set is replaced with `force`,
/// once the new one is whole.
pub fn write_run(run: &dyn Run, prefix: &Path, force: bool) -> Result<(), BoxError> {
    if !run.header().planned.starts_with(run.lengths()) {
        return Err(StoreError::Header("its message lengths are not those that were planned".to_owned()).into());
    }
    output::set(prefix, force, |prefix| write(run, prefix))
}

fn write(run: &dyn Run, prefix: &Path) -> Result<(), BoxError> {
    let mut writer = create_with(prefix, run.header(), run.partners(), false, run.statistics())?;
    let ranks = run.ranks();
    let at_a_time = (CELLS_AT_A_TIME / ranks).clamp(1, ranks);
    let mut cells = Vec::new();
    // Of a run that left most pairs out: what it measured, `[line][source]`.
    let mut lines = vec![Cell::missing(State::NotScheduled); run.partners().map_or(0, |all| all.lines() * ranks)];
    for length_index in 0..run.lengths().len() {
        for first in (0..ranks).step_by(at_a_time) {
            run.read_cells(length_index, first..(first + at_a_time).min(ranks), &mut cells)?;
            match run.partners() {
                Some(partners) => pick(partners, first, &cells, &mut lines),
                None => writer.write_rows(length_index, first, &cells)?,
            }
        }
        if run.partners().is_some() {
            writer.write_rows(length_index, 0, &lines)?;
        }
        writer.write_retests(length_index, &run.retests(length_index)?)?;
        writer.write_retest_samples(length_index, &run.retest_samples(length_index)?)?;
        if let Some(moments) = run.moments(length_index)? {
            writer.write_moments(length_index, moments)?;
        }
        writer.finish_length(length_index)?;
    }
    if let Some(drift) = run.drift()? {
        writer.write_drift(drift)?;
    }
    writer.close()
}

/// Takes the cells of partners out of rows of a matrix, of which the first has the number `first`.
fn pick(partners: &Partners, first: usize, rows: &[Cell], lines: &mut [Cell]) {
    let ranks = partners.ranks();
    for (number, row) in rows.chunks_exact(ranks).enumerate() {
        for line in 0..partners.lines() {
            if let Some(destination) = partners.partner(line, first + number) {
                lines[line * ranks + first + number] = row[destination];
            }
        }
    }
}

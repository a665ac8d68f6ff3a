//! Any run to a new result set.

use std::path::Path;

use super::{StoreError, create::create_with};
use crate::record::{BoxError, Run, Sink};

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
            run.read_cells(length_index, first..(first + at_a_time).min(ranks), &mut cells)?;
            writer.write_rows(length_index, first, &cells)?;
        }
        writer.write_retests(length_index, &run.retests(length_index)?)?;
        writer.finish_length(length_index)?;
    }
    writer.close()
}

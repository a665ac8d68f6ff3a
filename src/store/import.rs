//! Runs from text and CSV, length by length.

use super::StoreError;
use crate::{
    record::{Cell, Header, MemoryRun, Run, Statistic},
    units::Bytes,
};

/// Gives a run length by length, in the order of the plan.
pub(super) trait LengthReader {
    /// What was measured, where and how.
    fn header(&self) -> &Header;

    /// The statistics that are there.
    fn statistics(&self) -> &[Statistic];

    /// The next length and its cells, `[source][destination]`; `None` behind the last.
    fn next_length(&mut self) -> Result<Option<(Bytes, Vec<Cell>)>, StoreError>;
}

/// Reads all lengths into memory.
pub(super) fn collect(reader: &mut dyn LengthReader) -> Result<MemoryRun, StoreError> {
    let mut run = MemoryRun::with_statistics(reader.header().clone(), reader.statistics().to_vec());
    while let Some((length, cells)) = reader.next_length()? {
        run.push(length, cells);
    }
    // The rounds of a schedule are not in a text; whom every rank met is.
    if run.header().item("sample_rounds").is_some_and(|rounds| rounds != "all") {
        run.find_partners();
    }
    Ok(run)
}

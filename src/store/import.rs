//! Runs from text and CSV, length by length.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
};

use super::{StoreError, create::create_with, csv, lines::Lines, text};
use crate::{
    record::{BoxError, Cell, Header, MemoryRun, Sink, Statistic},
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
    Ok(run)
}

/// Turns text or CSV, which its first line tells, into a new set of files. `path` is what errors call the input. At
/// most one length is held at a time. Where the input turns out to be wrong, the set holds the lengths before.
pub fn import(input: impl BufRead, path: &Path, prefix: &Path, force: bool) -> Result<(), BoxError> {
    let mut reader = reader(input, path)?;
    let mut writer = create_with(prefix, reader.header(), force, reader.statistics())?;
    let mut index = 0;
    while let Some((_, cells)) = reader.next_length()? {
        writer.write_rows(index, 0, &cells)?;
        writer.finish_length(index)?;
        index += 1;
    }
    writer.close()
}

fn reader<'a>(input: impl BufRead + 'a, path: &Path) -> Result<Box<dyn LengthReader + 'a>, StoreError> {
    let mut lines = Lines::new(input, path);
    let first = lines.next()?.unwrap_or_default();
    let format = first.strip_prefix("# format: ").unwrap_or_default().to_owned();
    let error = lines.error(format!(
        "is not `# format: {}` or `# format: {}`: this is neither text nor CSV of network_analyze",
        text::FORMAT,
        csv::FORMAT
    ));
    lines.give_back(first);
    match format.as_str() {
        text::FORMAT => Ok(Box::new(text::Reader::new(lines)?)),
        csv::FORMAT => Ok(Box::new(csv::Reader::new(lines, PathBuf::from(path))?)),
        _ => Err(error),
    }
}

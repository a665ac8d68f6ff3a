//! What a form of files gives from which runs are read; and runs of texts, length by length.

use std::{fs::File, io::BufReader, path::Path};

use super::{StoreError, paths::prefix_of, regular};
use crate::{
    record::{Cell, Header, MemoryRun, Run, Statistic},
    units::Bytes,
};

/// A form in which runs stand in files.
pub(super) trait Format: Sync {
    /// Whether a path is of this form, by its name or by how the file begins; where there is no file, that is empty.
    fn has(&self, path: &Path, beginning: &[u8]) -> bool;

    /// Opens the run at a path of this form.
    fn open(&self, path: &Path) -> Result<OpenedRun, StoreError>;
}

/// A run that can be read.
pub struct OpenedRun {
    /// The run.
    pub run: Box<dyn Run>,
    /// What is unusual about it, in words.
    pub notices: Vec<String>,
}

impl OpenedRun {
    /// A run that is held in memory.
    pub(super) fn held(run: MemoryRun) -> Self {
        let (finished, planned) = (run.lengths().len(), run.header().planned.len());
        let unfinished = || format!("unfinished: {finished} message lengths of {planned} that were planned");
        let notices = (!run.is_complete()).then(unfinished).into_iter().collect();
        Self { run: Box::new(run), notices }
    }
}

/// A text that is a whole run: a form that is known by the end of a file's name.
pub(super) struct WholeText {
    pub(super) extension: &'static str,
    /// Reads the run from a text, which errors call by the path.
    pub(super) read: fn(BufReader<File>, &Path) -> Result<MemoryRun, StoreError>,
}

impl Format for WholeText {
    fn has(&self, path: &Path, _: &[u8]) -> bool {
        path.extension().is_some_and(|extension| extension == self.extension) && prefix_of(path).is_none()
    }

    fn open(&self, path: &Path) -> Result<OpenedRun, StoreError> {
        (self.read)(BufReader::new(regular::open(path)?), path).map(OpenedRun::held)
    }
}

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

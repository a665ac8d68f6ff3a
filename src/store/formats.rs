//! The forms in which runs stand in files: which of them a path is, and its run.
//!
//! In: a path. Out: an [`OpenedRun`]. A new form is one file with a [`Format`] in it, and one line of [`FORMATS`]. What is
//! written, and in which form, is for those who write.

use std::{io::Read, path::Path};

use super::{
    StoreError,
    archive::Archives,
    csv, foreign,
    import::{Format, OpenedRun},
    operations::OfOperations,
    reader::Sets,
    regular, text,
};

/// Bytes of a file by which its form is known.
const BEGINNING: u64 = 4096;

/// The first that knows a path as its own opens it; result sets take what is left.
const FORMATS: [&dyn Format; 8] =
    [&Archives, &OfOperations, &foreign::MpiGraph, &foreign::NxnLatBw, &foreign::Osu, &text::FORM, &csv::FORM, &Sets];

/// Opens a run in whatever form it stands: the prefix or any file of a result set, an archive, a text, CSV, or the printed
/// table of another program.
pub fn open_run(path: &Path) -> Result<OpenedRun, StoreError> {
    let mut beginning = Vec::new();
    if path.is_file() {
        let file = regular::open(path)?;
        file.take(BEGINNING).read_to_end(&mut beginning).map_err(StoreError::io("read", path))?;
    }
    let format = FORMATS.iter().find(|format| format.has(path, &beginning));
    format.unwrap_or(&(&Sets as _)).open(path)
}

//! Measured operations to a file and back: `<prefix>_operations.nc`.
//!
//! In: [`Operations`]. Out: one CDF-5 file, written as a whole, which takes its name when it is complete, so that a run
//! that is killed leaves the file of what it had finished. Dimensions: `operation`, `procs` (numbers of processes), `n`
//! (lengths), `statistic`, `process` (of the largest number of processes), `x` (ranks), `probe`, `program`, `strings`;
//! one that would be empty is not there, and neither is what has it.
//!
//! A file is believed as far as its bytes go: what it announces beyond [`layout::MOST_VALUES`], what it lacks and what its
//! contradicts itself in is an error that says so.

mod layout;
mod reader;
mod writer;

use std::path::{Path, PathBuf};

use self::layout::FORMAT_NAME;
use super::{
    error::StoreError,
    file::NcFile,
    import::{Format, OpenedRun},
    paths::{OPERATIONS, extended},
    regular,
    schema::FORMAT,
};
pub use reader::read_operations;
pub use writer::write_operations;

/// The file of operations of a prefix.
pub fn operations_path(prefix: &Path) -> PathBuf {
    extended(prefix, OPERATIONS)
}

/// Files of operations, which hold no run of pairs.
pub(super) struct OfOperations;

impl Format for OfOperations {
    fn has(&self, path: &Path, beginning: &[u8]) -> bool {
        !beginning.is_empty() && is_operations(path)
    }

    fn open(&self, path: &Path) -> Result<OpenedRun, StoreError> {
        let what = "holds operations of `network_test --operations`, no pairs: see it with `network_analyze info`";
        Err(StoreError::unusable(path, what))
    }
}

/// Whether a file is one of operations, sound or not. What cannot be opened is none.
pub fn is_operations(path: &Path) -> bool {
    regular::open(path).is_ok()
        && NcFile::open(path).is_ok_and(|file| {
            file.text(FORMAT).is_ok_and(|format| format.is_some_and(|format| format.starts_with(FORMAT_NAME)))
        })
}

#[cfg(test)]
#[path = "../tests/operations.rs"]
mod tests;

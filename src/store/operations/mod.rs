//! Measured operations to a file and back: `<prefix>_operations.nc`.
//!
//! In: [`Operations`]. Out: one CDF-5 file, written as a whole, which takes its name when it is complete, so that a run
//! that is killed leaves the file of what it had finished. Dimensions: `operation`, `procs` (numbers of processes), `n`
//! (lengths), `statistic`, `process` (of the largest number of processes), `x` (ranks), `probe`, `program`, `strings`;
//! one that would be empty is not there, and neither is what has it.
//!
//! A file is believed as far as its bytes go: what it announces beyond [`MOST_VALUES`], what it lacks and what its
//! contradicts itself in is an error that says so.

mod reader;
mod writer;

use std::path::{Path, PathBuf};

use super::{
    file::NcFile,
    paths::{OPERATIONS, extended},
    regular,
    schema::FORMAT,
};
use crate::record::Statistic;

pub use reader::read_operations;
pub use writer::write_operations;

/// Begin of the global attribute `format`.
const FORMAT_NAME: &str = "network_test.operations/";
/// Version of the format.
const FORMAT_VERSION: &str = "1";

/// Most values of a variable that is believed.
const MOST_VALUES: u64 = 1 << 24;

const OPERATION: &str = "operation";
const PROCS: &str = "procs";
const PROCESS: &str = "process";
const STATISTIC: &str = "statistic";
const PROBE: &str = "probe";
const PROGRAM: &str = "program";
/// Global attribute: whether all that was planned is there.
const COMPLETE: &str = "complete";

/// The statistics of all variables over the dimension `statistic`, in its order.
const STATISTICS: [Statistic; 6] = [
    Statistic::Min,
    Statistic::Average,
    Statistic::Median,
    Statistic::Max,
    Statistic::Deviation,
    Statistic::MeasurementsAmount,
];

/// In `member`: no rank.
const NOBODY: i32 = -1;

/// The file of operations of a prefix.
pub fn operations_path(prefix: &Path) -> PathBuf {
    extended(prefix, OPERATIONS)
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

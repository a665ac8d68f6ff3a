//! Runs to files and back.
//!
//! In: a [`Header`](crate::record::Header) and rows of cells, from a measurement or from another file. Out: a result
//! set, `<prefix>_{min,average,median,max,deviation}.nc`, `<prefix>_hosts.txt` and, where pairs are measured again,
//! `<prefix>_retest.csv`; and from such files a [`Run`](crate::record::Run) that is read in parts. Files of
//! network_tests2 are read as well, and turned our way round: row = source, column = destination.
//!
//! * [`check`], [`create`]: a new set, written row by row, safe length by length;
//! * [`open_run`]: a run in whatever form, printed tables of other programs among them;
//! * [`open`]: a set, from its prefix or any of its files;
//! * [`resume`]: a set that is not finished, to go on;
//! * [`write_run`]: any run to a new set;
//! * [`Output`]: any other file;
//! * [`read_stuck`]: which ranks of a run waited in vain, and for whom;
//! * [`text`], [`csv`]: runs to text and back;
//! * [`write_operations`], [`read_operations`]: measured operations, `<prefix>_operations.nc`;
//! * [`ArchiveWriter`], [`open_archive`]: one statistic of a run, reduced to sets of pairs.
//!
//! This is the only module that knows NetCDF, and the only one of the library that opens files. It computes nothing,
//! but for the statistics of files that hold every single delay; and it decides nothing about what is measured.

mod archive;
mod chars;
mod classic;
mod companion;
mod compare;
mod copy;
mod create;
pub mod csv;
mod definition;
mod description;
mod error;
mod field;
mod file;
mod foreign;
mod formats;
mod import;
mod legacy;
mod libraries;
mod lines;
mod lock;
mod moments;
mod one;
mod operations;
mod output;
mod part;
mod paths;
mod reader;
mod regular;
mod resume;
mod retests;
mod schema;
mod stuck;
pub mod text;
mod values;
mod writer;

pub use archive::{ArchiveWriter, is_archive, open_archive};
pub use copy::write_run;
pub use create::{create, create_sampled};
pub use error::StoreError;
pub use formats::open_run;
pub use import::OpenedRun;
pub use libraries::libraries;
pub use lock::{LOCK_HEADER, Lock};
pub use one::write as write_one;
pub use operations::{is_operations, operations_path, read_operations, write_operations};
pub use output::{FileIds, Output, check, remove_unfinished};
pub use paths::{exists, prefix_of};
pub use reader::{ResultSet, open};
pub use regular::open as open_file;
pub use resume::resume;
pub use stuck::{append_stuck, parse_stuck, read_stuck, stuck_line, stuck_path, stuck_text};
pub use writer::SetWriter;

#[cfg(test)]
mod tests;

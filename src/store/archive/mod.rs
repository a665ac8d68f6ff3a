//! Clustered archives: one statistic of a run, reduced to sets of pairs over ranges of lengths, in one CDF-5 file.
//!
//! The layout is network_tests2's with narrow numbers: `info` says for every range and pair which set the pair is in,
//! `length(n)` at which message length a range begins, `data` holds the values of the sets. A value is found in three
//! steps: the range by `length`, the set by `info`, and in the table of the range, `[set][length of the range]`, the
//! value. Exceptions override it: cells `x * ranks + y` of a length, and their values.
//!
//! Maps and values are blocks of bytes: the numbers, least significant byte first; of each range all first bytes, then
//! all second ones and so on (HDF5's "shuffle"), so that like bytes meet; then deflated (zlib). Attributes of each block
//! say so. A file of this kind can neither make a library read other files nor crash it, and how much memory a block
//! takes is known, and limited, before it is inflated.

mod block;
mod layout;
mod reader;
mod writer;

pub(super) use reader::Archives;
pub use reader::{is_archive, open_archive};
pub use writer::ArchiveWriter;

#[cfg(test)]
mod tests;

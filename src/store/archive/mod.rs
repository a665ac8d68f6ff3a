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
mod reader;
mod writer;

pub use reader::{is_archive, open_archive};
pub use writer::ArchiveWriter;

use std::collections::BTreeMap;

/// Value of the global attribute `format` up to the version.
const FORMAT_NAME: &str = "network_test.archive/";
/// Version of the schema. It changes when an older reader would misread a file. 1 was NetCDF-4.
const FORMAT_VERSION: u32 = 2;

/// Dimension of the finished message lengths, which were the matrices before clustering.
const I: &str = "i";
/// Dimension of the characters of the longest name of a host.
const NAME: &str = "name";

/// Block `[n][x][x]`: the set of a pair.
const INFO: &str = "info";
/// `[n]`: bytes of a number in the map of a range.
const INFO_WIDTH: &str = "info_width";
/// `[n]`: number of the sets of a range.
const SETS: &str = "sets";
/// `[i]`: message lengths.
const MES_LENGTH: &str = "mes_length";
/// `[i]`: number of the exceptions of a length.
const EXCEPTIONS: &str = "exceptions";
/// Block `[exception]`: source times ranks plus destination.
const EXCEPTION_CELL: &str = "exception_cell";
/// Block `[exception]`: the original value.
const EXCEPTION_VALUE: &str = "exception_value";
/// `[x]`: the ranks in an order that brings those together that behave alike; not there where it is their own.
const ORDER: &str = "order";

/// Global attribute: the bound, as it is typed.
const TOLERANCE: &str = "tolerance";
/// Global attribute: where the bound comes from, in words.
const REASON: &str = "tolerance_reason";
/// Global attribute: [`Origin`] in JSON.
const RUN: &str = "run";
/// Global attribute: the host of every rank in Slurm's notation, `node[001-016]`; where that would be long, there is
/// a variable `host(x, name)` instead.
const HOSTS: &str = "hosts";
/// Bytes that a list of hosts takes at most.
const HOSTS_ATTRIBUTE: usize = 4096;

/// What an archive keeps of the run's description besides the numbers.
#[derive(serde::Serialize, serde::Deserialize)]
struct Origin {
    /// Items of the plan but the hosts.
    plan: BTreeMap<String, String>,
    /// Where the run comes from, without what is not known.
    provenance: BTreeMap<String, String>,
    /// Message lengths that were planned, in bytes, where they are not those that were finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned: Option<Vec<u64>>,
}

/// In the map of a range: the pair is in no set. The largest number of its width.
fn no_set(width: usize) -> u32 {
    u32::MAX >> (32 - 8 * width)
}

/// Bytes of a number in the map of a range with so many sets: 1, 2 or 4.
fn width_of(sets: usize) -> usize {
    [1, 2].into_iter().find(|width| sets <= no_set(*width) as usize).unwrap_or(4)
}

#[cfg(test)]
mod tests;

//! Clustered archives: one statistic of a run, reduced to sets of pairs over ranges of lengths, in one NetCDF-4 file.
//!
//! The layout is network_tests2's: `info(n, x, x)` says for every range and pair where in `data(d)` the values of the
//! pair's set start, -1 where the pair is in no set; `length(n)` is the message length at which a range begins. A value
//! is found in three steps: the range by `length`, the start by `info`, `data[start + offset]`, where the offset counts
//! the lengths of the sweep (`mes_length(i)`) from the range's first. Exceptions override it: those of the length with
//! number i are `exception_start[i]..exception_start[i + 1]` (the last ends with the list), each a cell
//! `x * ranks + y` and its value; a file without exceptions has none of the three variables.
//!
//! Values of a set take a round number of places in `data` (the rest is filled): the starts then differ in few bits,
//! and `info`, most of a file, compresses better. Everything a reader needs beyond numbers is one attribute in JSON:
//! HDF5 keeps many small attributes in much room.

mod reader;
mod writer;

pub use reader::{is_archive, open_archive};
pub use writer::{ArchiveWriter, create_archive};

use std::collections::BTreeMap;

/// Value of the global attribute `format` up to the version.
const FORMAT_NAME: &str = "network_test.archive/";
/// Version of the schema. It changes when an older reader would misread a file.
const FORMAT_VERSION: u32 = 1;

/// Dimension of the finished message lengths, which were the matrices before clustering.
const I: &str = "i";
/// Dimension of the values, unlimited.
const D: &str = "d";
/// Dimension of the exceptions, unlimited.
const E: &str = "e";

/// `[n][x][x]`: where the values of a pair's set start in `data`.
const INFO: &str = "info";
/// `[i]`: message lengths.
const MES_LENGTH: &str = "mes_length";
/// `[i]`: number of the first exception of a length.
const EXCEPTION_START: &str = "exception_start";
/// `[e]`: source times ranks plus destination.
const EXCEPTION_CELL: &str = "exception_cell";
/// `[e]`: the original value.
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
/// a variable `host(x, strings)` instead, or an attribute `host_names` as in result sets.
const HOSTS: &str = "hosts";
/// Bytes that a list of hosts takes at most.
const HOSTS_ATTRIBUTE: usize = 4096;

/// In `info`: the pair is in no set.
const NO_START: i32 = -1;

/// What an archive keeps of the run's description beside the numbers.
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

#[cfg(test)]
mod tests;

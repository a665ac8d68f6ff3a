//! Names, versions and widths of an archive, which its reader and its writer share.

use std::collections::BTreeMap;

/// Value of the global attribute `format` up to the version.
pub(super) const FORMAT_NAME: &str = "network_test.archive/";
/// Version of the schema. It changes when an older reader would misread a file. 1 was NetCDF-4.
pub(super) const FORMAT_VERSION: u32 = 2;

/// Dimension of the finished message lengths, which were the matrices before clustering.
pub(super) const I: &str = "i";
/// Dimension of the characters of the longest name of a host.
pub(super) const NAME: &str = "name";

/// Block `[n][x][x]`: the set of a pair.
pub(super) const INFO: &str = "info";
/// `[n]`: bytes of a number in the map of a range.
pub(super) const INFO_WIDTH: &str = "info_width";
/// `[n]`: number of the sets of a range.
pub(super) const SETS: &str = "sets";
/// `[i]`: message lengths.
pub(super) const MES_LENGTH: &str = "mes_length";
/// `[i]`: number of the exceptions of a length.
pub(super) const EXCEPTIONS: &str = "exceptions";
/// Block `[exception]`: source times ranks plus destination.
pub(super) const EXCEPTION_CELL: &str = "exception_cell";
/// Block `[exception]`: the original value.
pub(super) const EXCEPTION_VALUE: &str = "exception_value";
/// `[x]`: the ranks in an order that brings those together that behave alike; not there where it is their own.
pub(super) const ORDER: &str = "order";

/// Global attribute: the bound, as it is typed.
pub(super) const TOLERANCE: &str = "tolerance";
/// Global attribute: where the bound comes from, in words.
pub(super) const REASON: &str = "tolerance_reason";
/// Global attribute: [`Origin`] in JSON.
pub(super) const RUN: &str = "run";
/// Global attribute: the host of every rank in Slurm's notation, `node[001-016]`; where that would be long, there is
/// a variable `host(x, name)` instead.
pub(super) const HOSTS: &str = "hosts";
/// Bytes that a list of hosts takes at most.
pub(super) const HOSTS_ATTRIBUTE: usize = 4096;

/// What an archive keeps of the run's description besides the numbers.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Origin {
    /// Items of the plan but the hosts.
    pub(super) plan: BTreeMap<String, String>,
    /// Where the run comes from, without what is not known.
    pub(super) provenance: BTreeMap<String, String>,
    /// Message lengths that were planned, in bytes, where they are not those that were finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) planned: Option<Vec<u64>>,
}

/// In the map of a range: the pair is in no set. The largest number of its width.
pub(super) fn no_set(width: usize) -> u32 {
    u32::MAX >> (32 - 8 * width)
}

/// Bytes of a number in the map of a range with so many sets: 1, 2 or 4.
pub(super) fn width_of(sets: usize) -> usize {
    [1, 2].into_iter().find(|width| sets <= no_set(*width) as usize).unwrap_or(4)
}

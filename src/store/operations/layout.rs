//! Names and versions of a file of operations, which its reader and its writer share.

use crate::record::Statistic;

/// Begin of the global attribute `format`.
pub(super) const FORMAT_NAME: &str = "network_test.operations/";
/// Version of the format.
pub(super) const FORMAT_VERSION: &str = "1";

/// Most values of a variable that is believed.
pub(super) const MOST_VALUES: u64 = 1 << 24;

pub(super) const OPERATION: &str = "operation";
pub(super) const PROCS: &str = "procs";
pub(super) const PROCESS: &str = "process";
pub(super) const STATISTIC: &str = "statistic";
pub(super) const PROBE: &str = "probe";
pub(super) const PROGRAM: &str = "program";
/// Global attribute: whether all that was planned is there.
pub(super) const COMPLETE: &str = "complete";

/// The statistics of all variables over the dimension `statistic`, in its order.
pub(super) const STATISTICS: [Statistic; 6] = [
    Statistic::Min,
    Statistic::Average,
    Statistic::Median,
    Statistic::Max,
    Statistic::Deviation,
    Statistic::MeasurementsAmount,
];

/// In `member`: no rank.
pub(super) const NO_RANK: i32 = -1;

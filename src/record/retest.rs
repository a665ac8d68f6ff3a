//! A suspicious pair that was measured again.

use crate::units::Rank;

/// Three medians of one ordered pair at one length, in seconds; NaN where there was no sample: the first one also of slow
/// hosts that do not meet in a run that leaves most pairs out.
///
/// The first and the second high, alone normal: contention or routing. The first high, the second normal: a transient,
/// or bad company. Alone high: something is wrong on this path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retest {
    /// Row.
    pub source: Rank,
    /// Column.
    pub destination: Rank,
    /// Among the pairs of its round: the value in the matrix.
    pub first: f64,
    /// Among other pairs, drawn at random.
    pub second: f64,
    /// With everybody else silent.
    pub alone: f64,
}

//! When a length was measured.

/// Seconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Its first exchange began.
    pub begin: f64,
    /// All of it was measured.
    pub end: f64,
}

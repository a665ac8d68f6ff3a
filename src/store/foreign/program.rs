//! What a program gives of whose tables runs are made.

use std::io::BufRead;

use crate::{
    store::{error::StoreError, lines::Lines},
    units::Bytes,
};

/// A program whose tables can be read.
pub(super) trait Program: Sync {
    /// Whether a text that begins like this is its.
    fn wrote(&self, beginning: &str) -> bool;

    /// Reads a text.
    fn read(&self, lines: &mut Lines<&mut dyn BufRead>) -> Result<Table, StoreError>;
}

/// What a program measured.
pub(super) struct Table {
    /// Name and version.
    pub(super) program: String,
    /// Host of every rank.
    pub(super) hosts: Vec<String>,
    /// Messages of a pair at a length.
    pub(super) iterations: u32,
    /// Lengths, ascending, each with the mean seconds of every pair, `[source][destination]`; not above 0: missing.
    pub(super) lengths: Vec<(Bytes, Vec<f64>)>,
}

/// The number behind one of these words, `Times  100` or `Iterations: 100`.
pub(super) fn number_behind(line: &str, words: &[&str]) -> Option<u64> {
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    rest.trim_start_matches([':', ' ', '\t']).split_whitespace().next()?.parse().ok()
}

/// Bytes and a rate in MB/s (10^6 bytes) to seconds; missing where there is no rate.
pub(super) fn seconds_at(bytes: u64, rate: f64) -> f64 {
    if rate > 0.0 { bytes as f64 / (rate * 1e6) } else { f64::NAN }
}

//! OSU Micro-Benchmarks between two processes: `osu_latency`, `osu_bw`, and with one pair `osu_multi_lat`, `osu_mbw_mr`.
//!
//! A title, `# OSU MPI ...`, comments, and lines with the size of a message and its latency (us) or bandwidth (MB/s).
//! It is the way from rank 0 to rank 1. With more than one pair, there and in collective programs, a line is one number
//! for all of them: no pair can be judged by it, and the table is refused.

use std::io::BufRead;

use super::program::{Program, Table, seconds_at};
use crate::{
    store::{error::StoreError, lines::Lines},
    units::Bytes,
};

pub(in crate::store) struct Osu;

/// What the second column is.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    /// us
    Latency,
    /// MB/s
    Bandwidth,
}

/// Titles of programs of one direction, and what they print.
const TITLES: [(&str, Column); 4] = [
    ("Latency Test", Column::Latency),
    ("Multi Latency Test", Column::Latency),
    ("Bandwidth Test", Column::Bandwidth),
    ("Multiple Bandwidth / Message Rate Test", Column::Bandwidth),
];

impl Program for Osu {
    fn wrote(&self, beginning: &str) -> bool {
        beginning.lines().any(|line| line.starts_with("# OSU MPI"))
    }

    fn read(&self, lines: &mut Lines<&mut dyn BufRead>) -> Result<Table, StoreError> {
        let mut column = None;
        let mut program = String::new();
        let mut lengths: Vec<(Bytes, Vec<f64>)> = Vec::new();
        while let Some(line) = lines.next()? {
            if let Some(title) = line.strip_prefix("# OSU MPI ") {
                let (name, version) = title.rsplit_once(" v").unwrap_or((title, ""));
                let known = TITLES.iter().find(|(known, _)| *known == name.trim()).map(|(_, column)| *column);
                let other = "is of a program that measures no single pair in one direction: no pair can be judged";
                column = Some(known.ok_or_else(|| lines.error(other))?);
                program = format!("OSU MPI {} {version}", name.trim()).trim().to_owned();
                if !lengths.is_empty() {
                    return Err(lines.error("begins a second table: give each a file of its own"));
                }
            } else if let Some(pairs) = pairs(&line).filter(|pairs| *pairs != 1) {
                let what = format!(
                    "says that {pairs} pairs ran at once: their sum or mean shows none of them alone; run it with one pair \
                     (two processes) for each two hosts, or measure with network_test"
                );
                return Err(lines.error(what));
            } else if let (Some(column), false) = (column, line.starts_with('#') || line.trim().is_empty()) {
                let numbers: Result<Vec<f64>, _> = line.split_whitespace().take(2).map(str::parse).collect();
                let Ok([size, value]) = <[f64; 2]>::try_from(numbers.unwrap_or_default()) else {
                    return Err(lines.error("is no line of a size and a value"));
                };
                let size = size as u64;
                if lengths.last().is_some_and(|(last, _)| last.0 >= size) {
                    return Err(lines.error("has a size that is not above the one before"));
                }
                let seconds = if column == Column::Latency { value * 1e-6 } else { seconds_at(size, value) };
                lengths.push((Bytes(size), vec![0.0, seconds, f64::NAN, 0.0]));
            }
        }
        if lengths.is_empty() {
            return Err(lines.error("ends, and there was no line of a size and a value"));
        }
        Ok(Table { program, hosts: vec!["rank0".to_owned(), "rank1".to_owned()], iterations: 1, lengths })
    }
}

/// `# [ pairs: 15 ] [ window size: 64 ]`.
fn pairs(line: &str) -> Option<u64> {
    line.strip_prefix('#')?.split_once("pairs:")?.1.split_whitespace().next()?.parse().ok()
}

//! `mpi_nxnlatbw` (PathScale, StackHPC): latency and bandwidth of every pair, one after the other.
//!
//! Lines `src,dst,lat,bandwidth`: ranks, half a round trip of empty messages in microseconds, and the rate of messages of
//! 4 MiB one behind the other in MB/s. It names no hosts: a rank is a host of its own, `rank0` and so on.

use std::{collections::HashMap, io::BufRead};

use super::program::{Program, Table, seconds_at};
use crate::{
    store::{error::StoreError, lines::Lines},
    units::Bytes,
};

pub(in crate::store) struct NxnLatBw;

/// Bytes of the messages whose rate it measures.
const LONG: u64 = 4 << 20;

/// Round trips, of which the latency is the mean.
const ITERATIONS: u32 = 10_000;

/// Pairs without a line that any table may have.
const ALWAYS: usize = 1 << 16;

impl Program for NxnLatBw {
    fn wrote(&self, beginning: &str) -> bool {
        beginning.lines().any(|line| line.starts_with("src,dst,lat"))
    }

    fn read(&self, lines: &mut Lines<&mut dyn BufRead>) -> Result<Table, StoreError> {
        let mut pairs: HashMap<(usize, usize), [f64; 2]> = HashMap::new();
        let mut is_table = false;
        while let Some(line) = lines.next()? {
            if line.starts_with("src,dst") {
                is_table = true;
                continue;
            }
            // Launchers print around the table, and blank lines are no lines of it.
            if !is_table || line.trim().is_empty() {
                continue;
            }
            let pair = pair(&line).ok_or_else(|| lines.error("is no `src,dst,latency,bandwidth`"))?;
            if pairs.insert(pair.0, pair.1).is_some() {
                return Err(lines.error("repeats a pair"));
            }
        }
        let ranks = pairs.keys().map(|(source, destination)| source.max(destination) + 1).max().unwrap_or(0);
        if ranks < 2 || ranks.saturating_mul(ranks) > ALWAYS.max(4 * pairs.len()) {
            return Err(lines.error(format!("ends after {} pairs, which are too few for {ranks} ranks", pairs.len())));
        }
        let of = |place: usize| pairs.get(&(place / ranks, place % ranks)).copied().unwrap_or([f64::NAN; 2]);
        let short = (0..ranks * ranks).map(|place| of(place)[0] * 1e-6).collect();
        let long = (0..ranks * ranks).map(|place| seconds_at(LONG, of(place)[1])).collect();
        Ok(Table {
            program: "mpi_nxnlatbw".to_owned(),
            hosts: (0..ranks).map(|rank| format!("rank{rank}")).collect(),
            iterations: ITERATIONS,
            lengths: vec![(Bytes(0), short), (Bytes(LONG), long)],
        })
    }
}

/// Source and destination, latency in microseconds and bandwidth in MB/s.
fn pair(line: &str) -> Option<((usize, usize), [f64; 2])> {
    let mut columns = line.split(',').map(str::trim);
    let ranks = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    let values = [columns.next()?.parse().ok()?, columns.next()?.parse().ok()?];
    columns.next().is_none().then_some((ranks, values))
}

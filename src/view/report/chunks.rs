//! The data of a report: pieces of bytes, deflated, as text in elements that no browser runs or shows.
//!
//! In: a run, matrix by matrix. Out: elements `<script type="text/plain" id="cN">`, which the page's script takes when
//! it needs them, and their numbers, for the description at the page's end. Holds some matrices of codes, never a run.

use std::io::{self, Write};

use base64::{engine::general_purpose::STANDARD, write::EncoderWriter};
use flate2::{Compression, write::DeflateEncoder};
use rayon::prelude::*;

use super::{
    codes::{self, Code, ERRORS, Grid, Residuals, Typical},
    description::Codes,
};
use crate::{
    analysis::distribution::spread,
    record::{BoxError, Clustered, NO_SET, Run, State, Statistic},
};

/// Lengths that are looked at to find out what is typical of a pair.
const TYPICAL_LENGTHS: usize = 9;

/// Cells of a matrix that are looked at to choose the error.
const SAMPLED_CELLS: usize = 1 << 16;

/// Cells of the matrices that are packed at the same time, unless a single one has more.
const CELLS_TOGETHER: usize = 1 << 25;

/// Bits that a value may take after compression when there are many; see [`bits_per_value`].
const FEWEST_BITS: f64 = 2.2;

/// Bytes that a small report may take anyway.
const FREE_BYTES: usize = 800_000;

/// How many bits each of so many values may take: few values may be exact, many must be small.
pub fn bits_per_value(values: usize) -> f64 {
    (8.0 * FREE_BYTES as f64 / values.max(1) as f64).max(FEWEST_BITS)
}

/// Writes numbered pieces of data.
pub struct Chunks<'a> {
    out: &'a mut dyn Write,
    count: usize,
}

impl<'a> Chunks<'a> {
    /// Into `out`, none yet.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, count: 0 }
    }

    /// Writes a piece, and returns its number.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_deflated(&deflated(bytes)?)
    }

    fn write_deflated(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write!(self.out, "<script type=\"text/plain\" id=\"c{}\">", self.count)?;
        let mut encoder = EncoderWriter::new(&mut *self.out, &STANDARD);
        encoder.write_all(bytes)?;
        writeln!(encoder.finish()?, "</script>")?;
        self.count += 1;
        Ok(self.count - 1)
    }

    /// All matrices of a statistic, in at most about `bits` per value.
    pub fn statistic(&mut self, run: &dyn Run, statistic: Statistic, bits: f64) -> Result<Codes, BoxError> {
        let ranks = run.ranks();
        let error = choose_error(run, statistic, bits)?;
        let grid = Grid::within(error);
        let read = |length| Ok::<_, BoxError>(encode(grid, run.matrix(statistic, length)?.values()));
        let looked_at: Result<Vec<_>, _> = spread(run.lengths().len(), TYPICAL_LENGTHS).into_iter().map(read).collect();
        let of_cell = Typical::of(&looked_at?).of_cell;
        let base = self.write(&shifted(&of_cell).into_bytes())?;
        let mut kept = Codes { base, ..Codes::new(statistic, grid.step, error) };
        let pack = |codes: &Vec<Code>| {
            let middle = codes::middle(codes);
            let mut residuals = Residuals::default();
            for (code, distance) in codes.iter().zip(&of_cell) {
                residuals.push(*code, i32::from(middle) + i32::from(*distance));
            }
            Ok((middle, codes::span(codes, ranks), deflated(&residuals.into_bytes())?))
        };
        // Deflating takes longer than everything else together. Files are read by one thread alone.
        let together = (CELLS_TOGETHER / (ranks * ranks)).clamp(1, rayon::current_num_threads());
        for first in (0..run.lengths().len()).step_by(together) {
            let last = (first + together).min(run.lengths().len());
            let codes = (first..last).map(read).collect::<Result<Vec<_>, _>>()?;
            let packed = codes.par_iter().map(pack).collect::<io::Result<Vec<_>>>()?;
            for (middle, span, bytes) in packed {
                kept.chunks.push(self.write_deflated(&bytes)?);
                kept.middles.push(middle);
                kept.spans.push(span);
            }
        }
        Ok(kept)
    }

    /// The states of the cells of every length, where they say more than that cells were measured.
    pub fn states(&mut self, run: &dyn Run) -> Result<Vec<Option<usize>>, BoxError> {
        let ranks = run.ranks();
        let mut states = vec![State::Measured; ranks * ranks];
        let write = |length| {
            run.read_states(length, 0..ranks, &mut states)?;
            if states.iter().all(|state| matches!(state, State::Measured | State::Precise)) {
                return Ok(None);
            }
            let bytes: Vec<u8> = states.iter().map(|state| state.id().unsigned_abs()).collect();
            Ok(Some(self.write(&bytes)?))
        };
        (0..run.lengths().len()).map(write).collect()
    }

    /// The set of every pair in every range of an archive: numbers of two bytes, low bytes before high ones; 0 is no
    /// set, and numbers that do not fit are taken modulo 65,535: only whether neighbours differ is looked at.
    pub fn sets(&mut self, archive: &Clustered) -> io::Result<Vec<usize>> {
        let number = |set: u32| if set == NO_SET { 0 } else { (set % 65_535 + 1) as u16 };
        let write = |part: &crate::record::Part| {
            let low = part.sets.iter().map(|set| number(*set).to_le_bytes()[0]);
            let high = part.sets.iter().map(|set| number(*set).to_le_bytes()[1]);
            self.write(&low.chain(high).collect::<Vec<u8>>())
        };
        archive.parts().iter().map(write).collect()
    }
}

/// Distances from what is typical, shifted so that they look like codes whose neighbourhood was to be expected.
fn shifted(distances: &[i16]) -> Residuals {
    let mut residuals = Residuals::default();
    distances.iter().for_each(|distance| residuals.push((i32::from(*distance) + SHIFT) as Code, SHIFT));
    residuals
}

fn deflated(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Makes distances of pairs positive. The script knows it, too.
pub const SHIFT: i32 = 32_770;

fn encode(grid: Grid, values: &[f64]) -> Vec<Code> {
    values.iter().map(|value| grid.code(*value)).collect()
}

/// The finest error at which a sample of the cells takes no more than `bits` per value; else the coarsest.
fn choose_error(run: &dyn Run, statistic: Statistic, bits: f64) -> Result<f64, BoxError> {
    let ranks = run.ranks();
    let rows = spread(ranks, (SAMPLED_CELLS / ranks.max(1)).clamp(2, ranks.max(2)));
    let mut sample = Vec::new();
    for length in spread(run.lengths().len(), TYPICAL_LENGTHS) {
        let mut values = vec![f64::NAN; rows.len() * ranks];
        for (row, part) in rows.iter().zip(values.chunks_mut(ranks)) {
            run.read_rows(statistic, length, *row..*row + 1, part)?;
        }
        sample.push(values);
    }
    let needs = |error: f64| {
        let codes: Vec<_> = sample.iter().map(|values| encode(Grid::within(error), values)).collect();
        let typical = Typical::of(&codes);
        let mut residuals = Residuals::default();
        for (codes, middle) in codes.iter().zip(&typical.of_length) {
            for (code, distance) in codes.iter().zip(&typical.of_cell) {
                residuals.push(*code, i32::from(*middle) + i32::from(*distance));
            }
        }
        // What is typical of a pair is kept once for all lengths: with a single one it is everything.
        residuals.entropy() + shifted(&typical.of_cell).entropy() / run.lengths().len() as f64
    };
    let coarsest = ERRORS[ERRORS.len() - 1];
    Ok(ERRORS.into_iter().find(|error| needs(*error) <= bits).unwrap_or(coarsest))
}

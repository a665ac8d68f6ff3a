//! Values of a variable to rows of our matrices.

use std::ops::Range;

use super::{
    StoreError,
    classic::Place,
    description::Values,
    file::NcFile,
    schema::{DATA, DELAY},
};
use crate::{plan::Partners, record::Statistic, stats::Summary};

/// What network_tests2 stores where there is no time.
const THEIR_MISSING: f64 = -1.0;

/// Reads rows of the matrix of `statistic` at a length into `out`, `[row][destination]`.
pub(super) fn read_rows(
    file: &NcFile,
    values: Values,
    statistic: Statistic,
    length_index: usize,
    rows: Range<usize>,
    out: &mut [f64],
) -> Result<(), StoreError> {
    if out.is_empty() {
        return Ok(());
    }
    let data = file.variable(DATA)?;
    let ranks = out.len() / rows.len();
    match values {
        Values::Ours => file.read(data, length_index, rows.start * ranks, out),
        Values::Theirs { turned: false, halved } => {
            file.read(data, length_index, rows.start * ranks, out)?;
            mark_missing(out);
            if halved {
                out.iter_mut().for_each(|value| *value *= 2.0);
            }
            Ok(())
        }
        // Halved is what is not turned: a round trip is timed where it begins.
        Values::Theirs { turned: true, .. } => {
            let mut columns = vec![f64::NAN; out.len()];
            for (destination, column) in columns.chunks_mut(rows.len()).enumerate() {
                file.read(data, length_index, destination * ranks + rows.start, column)?;
            }
            turn(&columns, rows.len(), out);
            mark_missing(out);
            Ok(())
        }
        Values::Delays { turned } => {
            let samples = file.dimension(DELAY)?;
            let mut delays = vec![f64::NAN; samples];
            for (row, out) in rows.zip(out.chunks_mut(ranks)) {
                for (column, value) in out.iter_mut().enumerate() {
                    let cell = if turned { column * ranks + row } else { row * ranks + column };
                    file.read(data, length_index, cell * samples, &mut delays)?;
                    *value = summarise(&mut delays, statistic);
                }
            }
            Ok(())
        }
    }
}

/// Fills rows of a matrix with what a cell is that was not measured, and with what a rank is to itself.
pub(super) fn blank(out: &mut [f64], rows: Range<usize>, missing: f64, itself: f64) {
    out.fill(missing);
    let ranks = out.len() / rows.len().max(1);
    rows.clone().for_each(|row| out[(row - rows.start) * ranks + row] = itself);
}

/// Reads the cells of partners out of a variable `[n][k][x]` into their places in rows of a matrix.
pub(super) fn read_partners(
    file: &NcFile,
    variable: &Place,
    partners: &Partners,
    length_index: usize,
    rows: Range<usize>,
    out: &mut [f64],
) -> Result<(), StoreError> {
    let ranks = partners.ranks();
    let mut cells = vec![f64::NAN; rows.len()];
    for line in 0..partners.lines() {
        file.read(variable, length_index, line * ranks + rows.start, &mut cells)?;
        for (number, cell) in cells.iter().enumerate() {
            if let Some(destination) = partners.partner(line, rows.start + number) {
                out[number * ranks + destination] = *cell;
            }
        }
    }
    Ok(())
}

/// `[destination][row]` to `[row][destination]`.
fn turn(columns: &[f64], rows: usize, out: &mut [f64]) {
    let ranks = columns.len() / rows;
    for (place, value) in out.iter_mut().enumerate() {
        *value = columns[place % ranks * rows + place / ranks];
    }
}

fn mark_missing(values: &mut [f64]) {
    for value in values.iter_mut().filter(|value| **value == THEIR_MISSING) {
        *value = f64::NAN;
    }
}

/// One statistic of a cell, from its single delays.
fn summarise(delays: &mut [f64], statistic: Statistic) -> f64 {
    mark_missing(delays);
    let samples = delays.iter().filter(|delay| !delay.is_nan()).count();
    statistic.of(&Summary::of(delays)).unwrap_or(samples as f64)
}

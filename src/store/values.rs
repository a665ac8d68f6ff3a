//! Values of a variable to rows of our matrices.

use std::ops::Range;

use netcdf::Variable;

use super::description::Values;
use crate::{record::Statistic, stats::Summary};

/// What network_tests2 stores where there is no time.
const THEIR_MISSING: f64 = -1.0;

/// Reads rows of the matrix of `statistic` at a length into `out`, `[row][destination]`.
pub(super) fn read_rows(
    variable: &Variable<'_>,
    values: Values,
    statistic: Statistic,
    length_index: usize,
    rows: Range<usize>,
    out: &mut [f64],
) -> netcdf::Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let length = length_index..length_index + 1;
    match values {
        Values::Ours => variable.get_values_into(out, (length, rows, ..))?,
        Values::Theirs { turned: false } => {
            variable.get_values_into(out, (length, rows, ..))?;
            mark_missing(out);
        }
        Values::Theirs { turned: true } => {
            let columns: Vec<f64> = variable.get_values((length, .., rows.clone()))?;
            turn(&columns, rows.len(), out);
            mark_missing(out);
        }
        Values::Delays { turned } => {
            let ranks = out.len() / rows.len();
            for (row, out) in rows.zip(out.chunks_mut(ranks)) {
                let source = row..row + 1;
                let mut delays: Vec<f64> = match turned {
                    true => variable.get_values((length.clone(), .., source, ..))?,
                    false => variable.get_values((length.clone(), source, .., ..))?,
                };
                summarise(&mut delays, statistic, out);
            }
        }
    }
    Ok(())
}

/// Reads rows of a variable `[n][x][y]` as they are, whatever their type.
pub(super) fn rows(variable: &Variable<'_>, length_index: usize, rows: Range<usize>) -> netcdf::Result<Vec<f64>> {
    if rows.is_empty() { Ok(Vec::new()) } else { variable.get_values((length_index..length_index + 1, rows, ..)) }
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

/// One statistic of every cell, from its single delays `[destination][delay]`.
fn summarise(delays: &mut [f64], statistic: Statistic, out: &mut [f64]) {
    mark_missing(delays);
    let per_cell = (delays.len() / out.len()).max(1);
    for (value, delays) in out.iter_mut().zip(delays.chunks_mut(per_cell)) {
        let samples = delays.iter().filter(|delay| !delay.is_nan()).count();
        *value = statistic.of(&Summary::of(delays)).unwrap_or(samples as f64);
    }
}

//! Squares of numbers over pairs of hosts: what analyses that look at whole matrices work on.
//!
//! It knows nothing of times or hosts; missing values are NaN.

use rayon::prelude::*;

/// A square of numbers over pairs of hosts, `[source][destination]`; missing ones and the diagonal are NaN.
#[derive(Clone, Debug)]
pub struct Square {
    side: usize,
    values: Vec<f32>,
}

impl Square {
    /// All missing.
    pub fn missing(side: usize) -> Self {
        Self { side, values: vec![f32::NAN; side * side] }
    }

    /// Number of rows and of columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The values of one row, `[column]`.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.side..][..self.side]
    }

    /// Subtracts another square.
    pub fn subtract(&mut self, other: &Self) {
        self.values.iter_mut().zip(&other.values).for_each(|(value, other)| *value -= other);
    }

    /// All rows, to be changed.
    pub fn rows_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [f32]> {
        self.values.par_chunks_mut(self.side.max(1))
    }

    /// One value.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.side + column].into()
    }

    /// Sets one value.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.side + column] = value as f32;
    }

    /// The values above the diagonal that are there.
    pub fn upper(&self) -> impl Iterator<Item = f64> {
        self.upper_pairs().map(|(_, _, value)| value)
    }

    /// The values above the diagonal that are there, with their row and column.
    pub fn upper_pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let of_row = |row: usize| {
            let values = self.row(row).iter().enumerate().skip(row + 1);
            values.filter(|(_, v)| !v.is_nan()).map(move |(column, v)| (row, column, f64::from(*v)))
        };
        (0..self.side).flat_map(of_row)
    }
}

//! One statistic of all cells at one length.

use std::ops::{Index, IndexMut};

use crate::units::Rank;

/// A square of values, `[source][destination]`; missing cells are NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    ranks: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// All cells missing.
    pub fn missing(ranks: usize) -> Self {
        Self { ranks, values: vec![f64::NAN; ranks * ranks] }
    }

    /// From values row by row; `None` where they are no square of `ranks` rows.
    pub fn from_values(ranks: usize, values: Vec<f64>) -> Option<Self> {
        (values.len() == ranks * ranks).then_some(Self { ranks, values })
    }

    /// Number of rows and of columns.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, row by row.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// The values with one source, `[destination]`.
    pub fn row(&self, source: Rank) -> &[f64] {
        &self.values[source * self.ranks..][..self.ranks]
    }

    /// The values with one destination, by source.
    pub fn column(&self, destination: Rank) -> impl Iterator<Item = f64> {
        (0..self.ranks).map(move |source| self[(source, destination)])
    }

    /// Values off the diagonal that are not missing.
    pub fn off_diagonal(&self) -> impl Iterator<Item = f64> {
        let place = |k: usize| (k / self.ranks, k % self.ranks);
        let off = move |(k, _): &(usize, &f64)| place(*k).0 != place(*k).1;
        self.values.iter().enumerate().filter(off).map(|(_, value)| *value).filter(|value| !value.is_nan())
    }
}

impl Index<(Rank, Rank)> for Matrix {
    type Output = f64;

    fn index(&self, (source, destination): (Rank, Rank)) -> &f64 {
        &self.values[source * self.ranks + destination]
    }
}

impl IndexMut<(Rank, Rank)> for Matrix {
    fn index_mut(&mut self, (source, destination): (Rank, Rank)) -> &mut f64 {
        &mut self.values[source * self.ranks + destination]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sources_and_columns_destinations() {
        let mut matrix = Matrix::missing(3);
        matrix[(1, 2)] = 5.0;
        matrix[(0, 0)] = 9.0;
        assert_eq!(matrix.row(1)[2], 5.0);
        assert_eq!(matrix.column(2).nth(1), Some(5.0));
        assert_eq!(matrix.off_diagonal().collect::<Vec<_>>(), [5.0]);
        assert!(Matrix::from_values(2, vec![0.0; 3]).is_none());
    }
}

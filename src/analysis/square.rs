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

    /// All zero, to be filled: that costs nothing before.
    pub fn zero(side: usize) -> Self {
        Self { side, values: vec![0.0; side * side] }
    }

    /// Number of rows and of columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The values of one row, `[column]`.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.side..][..self.side]
    }

    /// Number of values of one row that are there.
    pub fn present(&self, row: usize) -> usize {
        self.row(row).iter().map(|value| u32::from(!value.is_nan())).sum::<u32>() as usize
    }

    /// The same of every row, `[row]`.
    pub fn cells(&self) -> Vec<usize> {
        (0..self.side).into_par_iter().map(|row| self.present(row)).collect()
    }

    /// Adds a number to every value.
    pub fn add(&mut self, number: f32) {
        self.rows_mut().for_each(|row| row.iter_mut().for_each(|value| *value += number));
    }

    /// Rows for columns.
    pub fn turned(&self) -> Self {
        let mut turned = Self::zero(self.side);
        // As many columns at a time as stand together in memory.
        turned.rows_mut().chunks(16).enumerate().for_each(|(chunk, mut rows)| {
            for column in 0..self.side {
                let values = &self.row(column)[chunk * 16..];
                rows.iter_mut().zip(values).for_each(|(row, value)| row[column] = *value);
            }
        });
        turned
    }

    /// The same, where what is missing one way is taken from the other way.
    pub fn filled(&self) -> Self {
        self.with_back(|there, back| if there.is_nan() { back } else { there })
    }

    /// The mean of both directions of every pair; of one that is known one way only, this one.
    pub fn both_ways(&self) -> Self {
        self.with_back(|there, back| match (there.is_nan(), back.is_nan()) {
            (true, _) => back,
            (_, true) => there,
            _ => (there + back) / 2.0,
        })
    }

    /// `of(there, back)` of every pair.
    fn with_back(&self, of: impl Fn(f32, f32) -> f32 + Sync) -> Self {
        let mut all = self.turned();
        let of_row = |(i, row): (usize, &mut [f32])| {
            row.iter_mut().zip(self.row(i)).for_each(|(back, there)| *back = of(*there, *back));
        };
        all.rows_mut().enumerate().for_each(of_row);
        all
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

    /// Some rows and columns, by number, in this order.
    pub fn of(&self, places: &[usize]) -> Self {
        let mut picked = Self::missing(places.len());
        for (row, &from) in places.iter().enumerate() {
            let values = self.row(from);
            picked.values[row * places.len()..][..places.len()]
                .iter_mut()
                .zip(places)
                .for_each(|(value, place)| *value = values[*place]);
        }
        picked
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 x 3, of which `(0, 2)` and the diagonal are missing: values are `10 row + column`.
    fn square() -> Square {
        let mut square = Square::missing(3);
        for (i, j) in [(0, 1), (1, 0), (1, 2), (2, 0), (2, 1)] {
            square.set(i, j, (10 * i + j) as f64);
        }
        square
    }

    #[test]
    fn a_direction_that_is_missing_is_taken_from_the_other_one() {
        let (square, turned) = (square(), square().turned());
        assert!((0..3).all(|i| (0..3).all(|j| square.at(i, j).to_bits() == turned.at(j, i).to_bits())));
        let (filled, both) = (square.filled(), square.both_ways());
        assert_eq!([filled.at(0, 1), filled.at(1, 0), filled.at(0, 2)], [1.0, 10.0, 20.0]);
        assert_eq!([both.at(0, 1), both.at(1, 0), both.at(0, 2), both.at(2, 0)], [5.5, 5.5, 20.0, 20.0]);
        assert!((0..3).all(|i| filled.at(i, i).is_nan() && both.at(i, i).is_nan()));
    }

    #[test]
    fn rows_are_sources() {
        assert_eq!(square().row(1)[0], 10.0);
        assert_eq!(square().row(1)[2], 12.0);
        assert!(square().row(1)[1].is_nan());
        assert_eq!(square().at(2, 1), 21.0);
        assert_eq!(square().side(), 3);
    }

    #[test]
    fn the_upper_part_has_every_pair_once_and_nothing_that_is_missing() {
        assert_eq!(square().upper_pairs().collect::<Vec<_>>(), [(0, 1, 1.0), (1, 2, 12.0)]);
        assert_eq!(square().upper().collect::<Vec<_>>(), [1.0, 12.0]);
        assert_eq!(Square::missing(3).upper().count(), 0);
    }

    #[test]
    fn rows_are_changed_in_their_order() {
        let mut square = square();
        square.rows_mut().enumerate().for_each(|(i, row)| row.iter_mut().for_each(|value| *value -= 10.0 * i as f32));
        assert_eq!(square.upper_pairs().collect::<Vec<_>>(), [(0, 1, 1.0), (1, 2, 2.0)]);
        assert_eq!(square.at(2, 0), 0.0);
    }

    #[test]
    fn what_is_missing_in_either_is_missing_in_a_difference() {
        let mut other = Square::missing(3);
        other.set(0, 1, 0.25);
        other.set(0, 2, 1.0);
        let mut difference = square();
        difference.subtract(&other);
        assert_eq!(difference.at(0, 1), 0.75);
        assert!(difference.at(0, 2).is_nan() && difference.at(2, 1).is_nan());
    }

    #[test]
    fn no_host_is_no_value() {
        let mut square = Square::missing(0);
        assert_eq!((square.side(), square.upper().count(), square.rows_mut().count()), (0, 0, 0));
    }
}

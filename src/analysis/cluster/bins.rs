//! Sets of one length: neighbouring values, as few sets as the tolerance allows.

use rayon::slice::ParallelSliceMut;

use super::classes::NO_CLASS;
use crate::record::{Matrix, Tolerance};

/// Of the width that the bound would allow around a middle. The mean of a bin is not quite its middle: some room.
const ROOM: f64 = 0.8;

/// The number of the bin of every cell, ascending with the value. Missing and infinite cells have none, nor have
/// values that are alone in their bin.
pub(super) fn bins(matrix: &Matrix, tolerance: Tolerance) -> Vec<u32> {
    let values = matrix.values();
    let mut cells: Vec<u32> = (0..values.len() as u32).filter(|cell| values[*cell as usize].is_finite()).collect();
    let value = |cell: &u32| values[*cell as usize];
    cells.par_sort_unstable_by(|a, b| value(a).total_cmp(&value(b)));
    let mut bins = vec![NO_CLASS; values.len()];
    let (mut start, mut next) = (0, 0);
    while start < cells.len() {
        let lowest = value(&cells[start]);
        let reach = ROOM
            * 2.0
            * match tolerance {
                Tolerance::Relative(share) => share * lowest.abs(),
                Tolerance::Absolute(limit) => limit,
            };
        let end = start + cells[start..].partition_point(|cell| value(cell) <= lowest + reach);
        if end - start > 1 {
            cells[start..end].iter().for_each(|cell| bins[*cell as usize] = next);
            next += 1;
        }
        start = end;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_values_share_a_bin_and_lonely_ones_have_none() {
        let values = vec![1.0, 1.01, 5.0, f64::NAN, 1.2, 1.21, f64::INFINITY, -1.0, -1.0];
        let matrix = Matrix::from_values(3, values).unwrap();
        let expected = [1, 1, NO_CLASS, NO_CLASS, 2, 2, NO_CLASS, 0, 0];
        assert_eq!(bins(&matrix, Tolerance::Relative(0.05)), expected);
        let lossless = bins(&matrix, Tolerance::Absolute(0.0));
        assert_eq!(lossless.iter().filter(|bin| **bin != NO_CLASS).count(), 2);
    }
}

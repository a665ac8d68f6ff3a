//! What a pair does over a range of lengths, in a few numbers.
//!
//! The range is cut into up to eight segments; a pair's features are its mean values in them, on a [`Scale`] whose unit
//! is the tolerance. Noise shrinks by the root of the number of lengths averaged, and memory does not grow with them.

use std::ops::Range;

use super::{Error, scale::Scale};
use crate::record::{Matrix, Run, Statistic};

/// Most segments of a range.
const SEGMENTS: usize = 8;

/// Features of all pairs over a range.
#[derive(Debug)]
pub(super) struct Features {
    /// Number of features of a pair.
    pub(super) segments: usize,
    /// `[pair][segment]`; NaN in segments in which a pair has no place on the scale.
    values: Vec<f32>,
}

impl Features {
    /// Reads every matrix of the range once.
    pub(super) fn read(run: &dyn Run, statistic: Statistic, range: &Range<usize>, scale: Scale) -> Result<Self, Error> {
        let ranks = run.ranks();
        let segments = range.len().min(SEGMENTS);
        let mut values = vec![f32::NAN; ranks * ranks * segments];
        let mut matrix = Matrix::missing(ranks);
        for segment in 0..segments {
            let bound = |segment: usize| range.start + segment * range.len() / segments;
            let mut sums = vec![0.0f32; ranks * ranks];
            let mut counts = vec![0u32; ranks * ranks];
            for length in bound(segment)..bound(segment + 1) {
                run.read_rows(statistic, length, 0..ranks, matrix.values_mut())?;
                for ((sum, count), value) in sums.iter_mut().zip(&mut counts).zip(matrix.values()) {
                    let place = scale.of(*value);
                    if !place.is_nan() {
                        *sum += place as f32;
                        *count += 1;
                    }
                }
            }
            for (pair, (sum, count)) in sums.iter().zip(&counts).enumerate() {
                if *count > 0 {
                    values[pair * segments + segment] = sum / *count as f32;
                }
            }
        }
        Ok(Self { segments, values })
    }

    /// The features of a pair.
    pub(super) fn of(&self, pair: usize) -> &[f32] {
        &self.values[pair * self.segments..][..self.segments]
    }

    /// Number of pairs.
    pub(super) fn pairs(&self) -> usize {
        self.values.len() / self.segments
    }

    #[cfg(test)]
    pub(super) fn from_values(segments: usize, values: Vec<f32>) -> Self {
        Self { segments, values }
    }
}

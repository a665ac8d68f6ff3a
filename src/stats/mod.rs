//! Samples to numbers: slices in, values out.
//!
//! Every function is total: one sample, equal samples, zeros, infinities and NaN give a defined answer, and an empty
//! slice gives NaN. A NaN among the samples is a missing sample and takes no part. This module imports nothing of the
//! library and keeps nothing.

mod chance;
mod interval;
mod robust;

pub use chance::{gain_of_own_rate, gain_over_rest, most_by_chance};
pub use interval::MedianInterval;
pub use robust::{
    QUARTILE_DEVIATE, error_of_median, error_of_quantile, median_of, scatter, scatter_about_zero, weighted_quantile,
};

use statrs::statistics::{Data, OrderStatistics, Statistics};

/// The five statistics of one cell, in the unit of its samples. All NaN: there was no sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Smallest sample.
    pub min: f64,
    /// Arithmetic mean.
    pub average: f64,
    /// Middle sample; the mean of the two middle ones where their number is even.
    pub median: f64,
    /// Largest sample.
    pub max: f64,
    /// Population standard deviation: the root of the mean squared distance from the average.
    pub deviation: f64,
}

impl Summary {
    /// No sample.
    pub const MISSING: Self =
        Self { min: f64::NAN, average: f64::NAN, median: f64::NAN, max: f64::NAN, deviation: f64::NAN };

    /// All zero: a cell that is so by definition.
    pub const ZERO: Self = Self { min: 0.0, average: 0.0, median: 0.0, max: 0.0, deviation: 0.0 };

    /// Of `samples`, which are reordered (the median is selected in place: nothing is allocated).
    pub fn of(samples: &mut [f64]) -> Self {
        let samples = present(samples);
        if samples.is_empty() {
            return Self::MISSING;
        }
        let (min, max) = (Statistics::min(&*samples), Statistics::max(&*samples));
        // Rounding may carry the mean of equal samples out of their range by a last digit.
        let average = Statistics::mean(&*samples).clamp(min, max);
        let deviation = if min == max { 0.0 } else { Statistics::population_std_dev(&*samples) };
        Self { min, average, median: Data::new(samples).median(), max, deviation }
    }
}

/// Moves NaN behind the numbers and returns the numbers.
fn present(samples: &mut [f64]) -> &mut [f64] {
    let mut count = 0;
    for place in 0..samples.len() {
        if !samples[place].is_nan() {
            samples.swap(count, place);
            count += 1;
        }
    }
    &mut samples[..count]
}

/// Median of `samples`, which are reordered; NaN if there is none.
pub fn median(samples: &mut [f64]) -> f64 {
    let samples = present(samples);
    if samples.is_empty() { f64::NAN } else { Data::new(samples).median() }
}

/// Quantile `tau` in 0..=1 after definition 8 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996):
/// approximately median-unbiased, whatever the distribution. `samples` are reordered; NaN if there is none.
pub fn quantile(samples: &mut [f64], tau: f64) -> f64 {
    let samples = present(samples);
    if samples.is_empty() { f64::NAN } else { Data::new(samples).quantile(tau) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_case_by_hand() {
        let summary = Summary::of(&mut [4.0, 2.0, 9.0, 5.0]);
        let expected = Summary { min: 2.0, average: 5.0, median: 4.5, max: 9.0, deviation: (26.0f64 / 4.0).sqrt() };
        assert_eq!(summary, expected);
        assert_eq!(Summary::of(&mut [3.0, 1.0, 2.0]).median, 2.0);
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!(Summary::of(&mut [7.0]), Summary { min: 7.0, average: 7.0, median: 7.0, max: 7.0, deviation: 0.0 });
        assert_eq!(Summary::of(&mut [0.0; 5]), Summary::ZERO);
        assert_eq!(
            Summary::of(&mut [0.1; 7]),
            Summary { min: 0.1, average: 0.1, median: 0.1, max: 0.1, deviation: 0.0 }
        );
        assert!(Summary::of(&mut []).median.is_nan());
        assert!(Summary::of(&mut [f64::NAN; 2]).average.is_nan());
        assert_eq!(Summary::of(&mut [f64::NAN, 3.0, f64::NAN]).max, 3.0);
        assert_eq!(Summary::of(&mut [1.0, f64::INFINITY]).max, f64::INFINITY);
        assert!(quantile(&mut [], 0.5).is_nan() && median(&mut []).is_nan());
    }

    #[test]
    fn quantiles_follow_definition_8() {
        let mut samples = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(quantile(&mut samples, 0.0), 1.0);
        assert_eq!(quantile(&mut samples, 1.0), 5.0);
        assert_eq!(quantile(&mut samples, 0.5), 3.0);
        // h = (n + 1/3) tau + 1/3 = 1.6667: two thirds of the way from the first to the second.
        assert!((quantile(&mut samples, 0.25) - (1.0 + 2.0 / 3.0)).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_statistics_are_in_order(mut samples in proptest::collection::vec(0.0f64..1e3, 1..60)) {
            let Summary { min, average, median, max, deviation } = Summary::of(&mut samples);
            prop_assert!(min <= average && average <= max);
            prop_assert!(min <= median && median <= max);
            prop_assert!((0.0..=(max - min)).contains(&deviation));
        }
    }
}

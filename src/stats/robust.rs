//! Middles and scatters that a few outliers cannot move.

use std::f64::consts::FRAC_PI_2;

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use super::median;

/// Quartiles of a normal distribution are this many standard deviations from its mean, and so is the median of absolute
/// deviations.
pub const QUARTILE_DEVIATE: f64 = 0.674_489_75;

/// Median absolute deviation from 0 as an estimate of a normal distribution's standard deviation; 0 where there are no
/// values. `values` are changed.
pub fn scatter_about_zero(values: &mut [f64]) -> f64 {
    values.iter_mut().for_each(|value| *value = value.abs());
    let scatter = median(values) / QUARTILE_DEVIATE;
    if scatter.is_nan() { 0.0 } else { scatter }
}

/// Median absolute deviation from the median as an estimate of a normal distribution's standard deviation; 0 where
/// there are no values. `values` are changed.
pub fn scatter(values: &mut [f64]) -> f64 {
    let middle = median(values);
    values.iter_mut().for_each(|value| *value -= middle);
    scatter_about_zero(values)
}

/// The first of values with weights up to which this share of all weight is; NaN of none. `values` are reordered.
pub fn weighted_quantile(values: &mut [(f64, f64)], share: f64) -> f64 {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let most = share * values.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut below = 0.0;
    let reaches = |(_, weight): &&(f64, f64)| {
        below += weight;
        below >= most
    };
    values.iter().find(reaches).map_or(f64::NAN, |(value, _)| *value)
}

/// By how much the median of so many normal numbers errs, in standard deviations of these: [`error_of_quantile`] of a half.
pub fn error_of_median(count: f64) -> f64 {
    (FRAC_PI_2 / count).sqrt()
}

/// By how much the quantile at this share of so many normal numbers errs, in standard deviations of these:
/// `sqrt(p (1 - p) / n)` over the density there (Kendall and Stuart 1977).
pub fn error_of_quantile(share: f64, count: f64) -> f64 {
    let normal = Normal::standard();
    (share * (1.0 - share) / count).sqrt() / normal.pdf(normal.inverse_cdf(share))
}

/// Median of what an iterator yields; NaN if that is nothing. `scratch` is only there to be used again.
pub fn median_of(values: impl Iterator<Item = f64>, scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend(values);
    median(scratch)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::stats::quantile;

    #[test]
    fn cases_by_hand() {
        // Departures from the middle 3: 2, 1, 0, 1, 96.
        assert!((scatter(&mut [1.0, 2.0, 3.0, 4.0, 99.0]) - 1.482_602_219).abs() < 1e-9);
        // From 0: 1, 2, 3.
        assert!((scatter_about_zero(&mut [-2.0, 1.0, 3.0]) - 2.0 * 1.482_602_219).abs() < 1e-9);
    }

    #[test]
    fn a_quantile_errs_by_what_many_draws_show() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let normal = Normal::standard();
        let (count, draws) = (400, 4000);
        for share in [0.5, 0.125] {
            let mut squares = 0.0;
            for _ in 0..draws {
                let mut values: Vec<f64> = (0..count).map(|_| normal.inverse_cdf(rng.random_range(0.0..1.0))).collect();
                squares += (quantile(&mut values, share) - normal.inverse_cdf(share)).powi(2);
            }
            let seen = (squares / f64::from(draws)).sqrt();
            let expected = error_of_quantile(share, f64::from(count));
            assert!((seen / expected - 1.0).abs() < 0.05, "{share}: {seen} {expected}");
        }
        assert!((error_of_quantile(0.5, 7.0) - error_of_median(7.0)).abs() < 1e-12);
    }

    #[test]
    fn weights_decide_where_a_quantile_is() {
        let values = || vec![(3.0, 1.0), (1.0, 1.0), (2.0, 6.0)];
        assert_eq!(
            [0.1, 0.125, 0.2, 0.8, 0.9].map(|share| weighted_quantile(&mut values(), share)),
            [1.0, 1.0, 2.0, 2.0, 3.0]
        );
        assert!(weighted_quantile(&mut [], 0.5).is_nan());
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!((scatter(&mut []), scatter_about_zero(&mut [])), (0.0, 0.0));
        assert_eq!(scatter(&mut [f64::NAN; 3]), 0.0);
        assert_eq!(scatter(&mut [5.0]), 0.0);
        assert!((scatter_about_zero(&mut [-5.0]) - 5.0 * 1.482_602_219).abs() < 1e-9);
        assert_eq!(scatter(&mut [2.0; 4]), 0.0);
        assert!((scatter(&mut [f64::NAN, 1.0, 3.0, f64::NAN]) - 1.482_602_219).abs() < 1e-9);
    }

    #[test]
    fn of_normal_noise_it_is_the_standard_deviation() {
        // Quantiles of the standard normal distribution stand for draws.
        use statrs::distribution::{ContinuousCDF, Normal};
        let of = |k: u32| 7.0 + 0.3 * Normal::standard().inverse_cdf((f64::from(k) + 0.5) / 1001.0);
        let mut values: Vec<f64> = (0..1001).map(of).collect();
        assert!((scatter(&mut values) - 0.3).abs() < 0.001);
    }

    #[test]
    fn wild_values_do_not_move_it() {
        let mut values: Vec<f64> = (0..100).map(|k| f64::from(k % 10)).collect();
        let usual = scatter(&mut values.clone());
        values[..40].fill(1e300);
        assert!(scatter(&mut values.clone()) < 3.0 * usual);
        values[..40].fill(f64::INFINITY);
        assert!(scatter(&mut values) < 3.0 * usual);
    }

    #[test]
    fn medians_forget_what_the_scratch_was_used_for() {
        let mut scratch = vec![100.0; 7];
        assert_eq!(median_of([3.0, 1.0, f64::NAN, 2.0].into_iter(), &mut scratch), 2.0);
        assert!(median_of(std::iter::empty(), &mut scratch).is_nan());
    }
}

//! Middles and scatters that a few wild values cannot move.

use super::median;

/// Median absolute deviation from 0 as an estimate of a normal distribution's standard deviation; 0 where there are no
/// values. `values` are changed.
pub fn scatter_about_zero(values: &mut [f64]) -> f64 {
    values.iter_mut().for_each(|value| *value = value.abs());
    let scatter = 1.482_602 * median(values);
    if scatter.is_nan() { 0.0 } else { scatter }
}

/// Median absolute deviation from the median as an estimate of a normal distribution's standard deviation; 0 where there
/// are no values. `values` are changed.
pub fn scatter(values: &mut [f64]) -> f64 {
    let middle = median(values);
    values.iter_mut().for_each(|value| *value -= middle);
    scatter_about_zero(values)
}

/// Median of what an iterator yields; NaN if that is nothing. `scratch` is only there to be used again.
pub fn median_of(values: impl Iterator<Item = f64>, scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend(values);
    median(scratch)
}

//! The axis on which values are compared: one unit is the tolerance.

use crate::record::Tolerance;

/// A relative tolerance below this is compared as if it were this: features are kept with 24 bits. The bound itself
/// is always checked against the values.
const FINEST: f64 = 1e-4;

/// Maps values to numbers that differ by about 1 where the values differ by the tolerance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    logarithmic: bool,
    factor: f64,
}

impl Scale {
    /// Of values around `level`, which matters only for an absolute tolerance of nothing.
    pub(super) fn new(tolerance: Tolerance, level: f64) -> Self {
        match tolerance {
            Tolerance::Relative(share) => Self { logarithmic: true, factor: 1.0 / share.max(FINEST).ln_1p() },
            Tolerance::Absolute(limit) => {
                let floor = if level.abs() > 0.0 { level.abs() * FINEST } else { f64::MIN_POSITIVE };
                Self { logarithmic: false, factor: 1.0 / limit.max(floor) }
            }
        }
    }

    /// NaN for values that have no place on the axis: missing, infinite, and not positive where it is logarithmic.
    pub(super) fn of(self, value: f64) -> f64 {
        if !value.is_finite() || (self.logarithmic && value <= 0.0) {
            f64::NAN
        } else if self.logarithmic {
            value.ln() * self.factor
        } else {
            value * self.factor
        }
    }
}

/// A number near `value`, within a 16th of the tolerance, of which fewer bits are set: they compress. What was rounded
/// stays as it is when it is rounded again.
pub(super) fn round(value: f64, tolerance: Tolerance) -> f64 {
    let share = match tolerance {
        Tolerance::Relative(share) => share,
        Tolerance::Absolute(limit) => limit / value.abs(),
    };
    if !value.is_normal() || share.is_nan() || share <= 0.0 {
        return value;
    }
    // Rounding to b bits behind the leading one errs by at most 2^-(b+1).
    let bits = (3.0 - share.min(0.5).log2()).ceil().clamp(0.0, 52.0) as u32;
    let cut = 52 - bits;
    if cut == 0 {
        return value;
    }
    let raw = value.to_bits();
    let rounded = f64::from_bits(raw.wrapping_add(1 << (cut - 1)) >> cut << cut);
    if rounded.is_finite() { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_is_the_tolerance() {
        let relative = Scale::new(Tolerance::Relative(0.1), 1.0);
        assert!((relative.of(1.1e-6) - relative.of(1e-6) - 1.0).abs() < 1e-9);
        let absolute = Scale::new(Tolerance::Absolute(1e-7), 1e-6);
        assert!((absolute.of(1.1e-6) - absolute.of(1e-6) - 1.0).abs() < 1e-9);
        assert!(relative.of(0.0).is_nan() && relative.of(-1.0).is_nan() && absolute.of(f64::INFINITY).is_nan());
        assert_eq!(absolute.of(0.0), 0.0);
        assert!(Scale::new(Tolerance::Absolute(0.0), 0.0).of(1.0).is_finite());
    }

    #[test]
    fn rounding_costs_a_16th_of_the_tolerance_and_is_done_once() {
        for tolerance in [Tolerance::Relative(0.1), Tolerance::Relative(1e-3), Tolerance::Absolute(1e-8)] {
            for value in [1.0, 3.3e-6, 1.999_999e-6, 7.7e5, -2.5e-6, 1e-300] {
                let rounded = round(value, tolerance);
                let limit = match tolerance {
                    Tolerance::Relative(share) => share * value.abs(),
                    Tolerance::Absolute(limit) => limit,
                };
                assert!((rounded - value).abs() <= limit / 16.0, "{value} {rounded} {tolerance:?}");
                assert_eq!(round(rounded, tolerance), rounded);
            }
        }
        for value in [0.0, f64::NAN, f64::INFINITY, f64::MAX, 5e-324] {
            let rounded = round(value, Tolerance::Relative(0.1));
            assert!(rounded == value || value.is_nan() && rounded.is_nan(), "{value}");
        }
        assert_eq!(round(1.0 / 3.0, Tolerance::Relative(0.0)), 1.0 / 3.0);
    }
}

//! Times in seconds.

use std::fmt;

/// A time in seconds, printed with three significant digits and the unit that fits: `12.3 us`. NaN is "missing".
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_nan() {
            return f.pad("missing");
        }
        if self.0 == 0.0 || self.0.is_infinite() {
            return f.pad(&format!("{} s", self.0));
        }
        const UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
        let size = self.0.abs();
        // 999.96 us would print as "1000 us": the limit is where rounding to three digits reaches the next unit.
        let (scale, unit) = UNITS.into_iter().find(|(scale, _)| size >= scale * 0.9995).unwrap_or(UNITS[3]);
        let value = self.0 / scale;
        let decimals = match value.abs() {
            v if v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            _ => 2,
        };
        f.pad(&format!("{value:.decimals$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_three_digits_and_the_unit_that_fits() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (1.5, "1.50 s"),
            (123.0, "123 s"),
            (0.001, "1.00 ms"),
            (12.34e-6, "12.3 us"),
            (999.96e-6, "1.00 ms"),
            (99.96e-6, "100 us"),
            (4.0e-10, "0.40 ns"),
            (-2.0e-6, "-2.00 us"),
            (f64::NAN, "missing"),
        ] {
            assert_eq!(Seconds(seconds).to_string(), text);
        }
    }
}

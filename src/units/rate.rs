//! How fast bytes get somewhere.

use std::fmt;

/// Bytes per second. Prints three digits and a decimal unit, as networks are sold: `11.9 GB/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] = [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")];
        if !self.0.is_finite() {
            return f.pad("missing");
        }
        // What would be printed as 1000 belongs to the next unit.
        let (scale, unit) = UNITS.into_iter().find(|(scale, _)| self.0 >= 0.9995 * scale).unwrap_or((1.0, "B/s"));
        let value = self.0 / scale;
        let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_three_digits_and_the_unit_that_fits() {
        for (rate, text) in [
            (11.94e9, "11.9 GB/s"),
            (9.996e9, "10.0 GB/s"),
            (999.9e6, "1.00 GB/s"),
            (850e6, "850 MB/s"),
            (1500.0, "1.50 kB/s"),
            (0.0, "0.00 B/s"),
            (f64::NAN, "missing"),
            (f64::INFINITY, "missing"),
        ] {
            assert_eq!(Rate(rate).to_string(), text);
        }
    }
}

//! Times in seconds.

use std::{fmt, str::FromStr};

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

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: write 1.5us, 20 ms, 3e-6s or 3e-6 (units are s, ms, us and ns)")]
pub struct ParseSecondsError(String);

/// Reads what `Display` wrote, and a plain number as seconds.
impl FromStr for Seconds {
    type Err = ParseSecondsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const UNITS: [(&str, f64); 5] = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("s", 1.0)];
        let trimmed = text.trim();
        let with_unit = |(unit, scale): &(&'static str, f64)| Some((trimmed.strip_suffix(*unit)?, *scale));
        let (number, scale) = UNITS.iter().find_map(with_unit).unwrap_or((trimmed, 1.0));
        match number.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Self(number * scale)),
            _ => Err(ParseSecondsError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        for (text, seconds) in
            [("1.5us", 1.5e-6), ("20 ms", 20e-3), ("3e-6", 3e-6), ("3e-6s", 3e-6), ("0", 0.0), ("7ns", 7e-9)]
        {
            let read = text.parse::<Seconds>().unwrap().0;
            assert!((read - seconds).abs() <= 1e-12 * seconds, "{text}: {read}");
        }
        for text in ["", "us", "1.5 km", "NaN", "inf s", "1,5us"] {
            assert_eq!(text.parse::<Seconds>(), Err(ParseSecondsError(text.to_owned())));
        }
    }

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

//! Points in time for people.

/// A point in time, in seconds since 1970-01-01 00:00:00 UTC, as RFC 3339 writes it, to the second. Dates are those of the
/// Gregorian calendar, after Hinnant, "chrono-Compatible Low-Level Date Algorithms" (days_from_civil and its inverse).
pub fn utc(seconds: f64) -> String {
    if !seconds.is_finite() || seconds.abs() > 1e11 {
        return "unknown".to_owned();
    }
    let whole = seconds.floor() as i64;
    let (days, second) = (whole.div_euclid(86_400), whole.rem_euclid(86_400));
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_the_date_command_prints_them() {
        // date -u -d @N +%FT%TZ
        for (seconds, text) in [
            (0.0, "1970-01-01T00:00:00Z"),
            (951_782_399.9, "2000-02-28T23:59:59Z"),
            (951_782_400.0, "2000-02-29T00:00:00Z"),
            (4_107_542_400.0, "2100-03-01T00:00:00Z"),
            (-1.0, "1969-12-31T23:59:59Z"),
            (1_795_383_253.0, "2026-11-22T21:34:13Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
        assert_eq!(utc(f64::NAN), "unknown");
    }
}

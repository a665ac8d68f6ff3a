//! From seconds to logarithms, many at once.
//!
//! In: times of a matrix. Out: `ln(time)` in single precision, which is exact to a millionth: a hundredth of a percent
//! of a time is less than anybody asks for. The steps are the same for every number, so that the processor takes
//! several at once; the standard library's function takes them one by one.

/// `ln(time)` in place of every time; NaN for what is no time: zero, negative, infinite, NaN.
pub(super) fn of_times(times: &mut [f32]) {
    times.iter_mut().for_each(|time| *time = of_time(*time));
}

fn of_time(time: f32) -> f32 {
    // time = m * 2^e with m from sqrt(1/2) to sqrt(2).
    let exponent = (time.to_bits().wrapping_sub(ROOT_HALF) as i32) >> 23;
    let mantissa = f32::from_bits(time.to_bits().wrapping_sub((exponent as u32) << 23)) - 1.0;
    let square = mantissa * mantissa;
    let series = SERIES.iter().fold(0.0, |sum, factor| sum * mantissa + factor);
    let exponent = exponent as f32;
    let logarithm = series * mantissa * square + exponent * LN_2_REST - 0.5 * square + mantissa + exponent * LN_2;
    let is_time = (f32::MIN_POSITIVE..=f32::MAX).contains(&time);
    if is_time { logarithm } else { f32::NAN }
}

/// Bits of the root of one half.
const ROOT_HALF: u32 = 0x3f35_04f3;

/// `(ln(1 + x) - x + x^2 / 2) / x^3` between the roots of one half and of two, highest power first (S. L. Moshier,
/// Cephes library, `logf`).
const SERIES: [f32; 9] = [
    7.037_683_6e-2,
    -1.151_461e-1,
    1.167_699_9e-1,
    -1.242_014_1e-1,
    1.424_932_3e-1,
    -1.666_805_8e-1,
    2.000_071_5e-1,
    -2.499_999_4e-1,
    3.333_333e-1,
];

/// ln(2) in two parts, of which the larger one has few digits: its product with an exponent is exact.
const LN_2: f32 = 355.0 / 512.0;
const LN_2_REST: f32 = -2.121_944_4e-4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        // From a picosecond to a year.
        for step in -1200..750 {
            let time = 10f64.powf(f64::from(step) / 100.0);
            let (own, exact) = (f64::from(of_time(time as f32)), time.ln());
            assert!((own - exact).abs() < 1e-6 + 1e-7 * exact.abs(), "{time}: {own} {exact}");
        }
        assert_eq!(of_time(1.0), 0.0);
    }

    #[test]
    fn what_is_no_time_has_none() {
        let mut logarithms = [0.0, -1.0, f64::INFINITY, f64::NAN, 1e-300, 1e300, 2.0].map(|time| time as f32);
        of_times(&mut logarithms);
        assert!(logarithms[..6].iter().all(|logarithm| logarithm.is_nan()));
        assert!((logarithms[6] - std::f32::consts::LN_2).abs() < 1e-7);
    }
}

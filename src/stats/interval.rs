//! How well the median of a series of samples is known.

/// A confidence interval of the median that assumes no distribution: two order statistics.
///
/// The number of samples below the true median is binomial, so the interval between the order statistics
/// `n/2 -+ z sqrt(n)/2` covers it with the probability that belongs to `z` (Le Boudec, "Performance Evaluation of
/// Computer and Communication Systems", 2010, section 2.2). Samples that follow each other are alike, which makes such
/// an interval too narrow: with the lag-1 correlation `r` of "above the median" it is widened by
/// `sqrt((1 + r) / (1 - r))`. Looking again and again until it is narrow enough costs coverage; `z` of 99 % pays for
/// it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianInterval {
    /// The sample in the middle (the lower of the two where their number is even).
    pub median: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl MedianInterval {
    /// Fewer samples tell nothing about their own scatter.
    pub const FEWEST: usize = 20;

    /// 99 % of a normal distribution lie within this many deviations.
    const Z: f64 = 2.576;

    /// Of `samples` in the order in which they were taken; `scratch` is overwritten and has room for them. With fewer
    /// than [`MedianInterval::FEWEST`] samples, or with NaN among them, the interval is unbounded.
    pub fn of(samples: &[f64], scratch: &mut Vec<f64>) -> Self {
        let n = samples.len();
        if n < Self::FEWEST || samples.iter().any(|sample| sample.is_nan()) {
            return Self { median: f64::NAN, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        }
        scratch.clear();
        scratch.extend_from_slice(samples);
        let mut nth = |k: usize| *scratch.select_nth_unstable_by(k, f64::total_cmp).1;
        let median = nth((n - 1) / 2);
        let r = correlation(samples, median).clamp(0.0, 0.9);
        let half = Self::Z * (n as f64).sqrt() / 2.0 * ((1.0 + r) / (1.0 - r)).sqrt();
        let middle = n as f64 / 2.0;
        let lower = (middle - half).floor();
        let upper = (middle + half).ceil();
        if lower < 1.0 || upper > n as f64 {
            return Self { median, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        }
        Self { median, lower: nth(lower as usize - 1), upper: nth(upper as usize - 1) }
    }

    /// Half of the distance of its ends; infinite where the samples do not tell.
    pub fn half_width(&self) -> f64 {
        (self.upper - self.lower) / 2.0
    }

    /// Whether the half-width is at most this fraction of the median.
    pub fn is_within(&self, fraction: f64) -> bool {
        self.half_width() <= fraction * self.median
    }
}

/// Lag-1 correlation of "above the median", the series on which the median's scatter depends.
fn correlation(samples: &[f64], median: f64) -> f64 {
    let side = |sample: f64| if sample > median { 1.0 } else { -1.0 };
    let pairs = samples.len() - 1;
    samples.windows(2).map(|pair| side(pair[0]) * side(pair[1])).sum::<f64>() / pairs as f64
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn few_samples_tell_nothing() {
        let interval = MedianInterval::of(&[1.0; 19], &mut Vec::new());
        assert!(!interval.is_within(1e9));
        assert!(!MedianInterval::of(&[f64::NAN; 30], &mut Vec::new()).is_within(1e9));
    }

    #[test]
    fn equal_samples_are_known_exactly() {
        assert!(MedianInterval::of(&[2.0; 200], &mut Vec::new()).is_within(0.0));
    }

    #[test]
    fn a_case_by_hand() {
        // 1..=100 in an order that alternates sides: no positive correlation. 50 -+ 2.576 * 10 / 2 = 37.12 and 62.88.
        let samples: Vec<f64> = (1..=50).flat_map(|k| [f64::from(k), f64::from(k + 50)]).collect();
        let interval = MedianInterval::of(&samples, &mut Vec::new());
        assert_eq!((interval.lower, interval.median, interval.upper), (37.0, 50.0, 63.0));
    }

    #[test]
    fn it_covers_the_median_as_often_as_it_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut scratch = Vec::new();
        let covered = (0..2000)
            .filter(|_| {
                let samples: Vec<f64> = (0..60).map(|_| rng.random_range(0.0..1.0)).collect();
                let interval = MedianInterval::of(&samples, &mut scratch);
                interval.lower <= 0.5 && 0.5 <= interval.upper
            })
            .count();
        assert!(covered >= 1960, "{covered} of 2000");
    }

    #[test]
    fn samples_that_follow_each_other_widen_it() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let independent: Vec<f64> = (0..400).map(|_| rng.random_range(0.0..1.0)).collect();
        let sticky: Vec<f64> = independent.iter().step_by(8).flat_map(|sample| [*sample; 8]).collect();
        let width = |samples: &[f64]| {
            let interval = MedianInterval::of(samples, &mut Vec::new());
            interval.upper - interval.lower
        };
        assert!(width(&sticky) > 1.5 * width(&independent));
    }
}

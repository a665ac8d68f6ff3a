//! Whether some of several numbers are larger than the others by a common amount.
//!
//! In: numbers with a known standard deviation. Out: [`Mixture`]: which, by how much, and how much more likely that is than
//! that all are alike. Two normal distributions of one width, fitted by expectation maximisation (Dempster, Laird and Rubin
//! 1977).

use statrs::distribution::{ContinuousCDF, Normal};

use super::spread::Spread;

/// Most steps of the fit; it has settled once no number moves by more than this share of the width: the levels of a hundred
/// numbers err by a tenth of it, and this is a thousandth of that.
const STEPS: usize = 30;
const SETTLED: f64 = 1e-4;

/// Two levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// Which numbers are of the upper level.
    pub is_upper: Vec<bool>,
    /// By how much it is higher.
    pub effect: f64,
    /// The lower level.
    pub lower: f64,
    /// Logarithm of the likelihood ratio against a single level.
    pub gain: f64,
}

/// Fits two levels to numbers of this standard deviation, or of a larger one that they share; `None` where one level is
/// as good. Missing ones (NaN) are of neither.
pub fn two_levels(values: &[f64], deviation: f64) -> Option<Mixture> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let count = sorted.len();
    if count < 3 || deviation.is_nan() || deviation <= 0.0 {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    // Numbers that are nearer to each other than an eighth of the deviation are one, which counts as many times: that takes
    // less than (1 / 8)^2 / 12 of the variance, 0.13 %.
    let bin = |value: f64| (8.0 * value / deviation).floor();
    let numbers: Vec<(f64, f64)> = sorted
        .chunk_by(|a, b| bin(*a) == bin(*b))
        .map(|own| (own.iter().sum::<f64>() / own.len() as f64, own.len() as f64))
        .collect();
    let count = count as f64;
    let sum = |part: &[(f64, f64)], of: &dyn Fn(f64) -> f64| part.iter().map(|(value, times)| times * of(*value)).sum();
    let level = |part: &[(f64, f64)]| {
        let (all, weight): (f64, f64) = (sum(part, &|value| value), sum(part, &|_| 1.0));
        all / weight
    };
    let mean = level(&numbers);
    let density =
        |value: f64, level: f64, deviation: f64| -0.5 * ((value - level) / deviation).powi(2) - deviation.ln();
    let squares: f64 = sum(&numbers, &|value| (value - mean).powi(2));
    let own = (squares / count).sqrt().max(deviation);
    let single: f64 = sum(&numbers, &|value| density(value, mean, own));
    // From the widest gap: the fit finds its way from there, and from the middle it may not.
    let gap = |place: &usize| numbers[*place].0 - numbers[*place - 1].0;
    let cut = (1..numbers.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (mut lower, mut upper) = (level(&numbers[..cut]), level(&numbers[cut..]));
    let mut share = sum(&numbers[cut..], &|_| 1.0) / count;
    let mut width = deviation;
    // Of two normal densities of one width the logarithm of the odds is a straight line.
    let of_upper = |lower: f64, upper: f64, share: f64, width: f64| {
        let (slope, centre) = ((upper - lower) / width.powi(2), (lower + upper) / 2.0);
        let prior = (share / (1.0 - share)).ln();
        move |value: f64| 1.0 / (1.0 + (-prior - slope * (value - centre)).exp())
    };
    for _ in 0..STEPS {
        let probability = of_upper(lower, upper, share, width);
        let (mut weight, mut sum, mut rest, mut squares) = (0.0, 0.0, 0.0, 0.0);
        for (value, times) in &numbers {
            let own = probability(*value);
            weight += times * own;
            sum += times * own * value;
            rest += times * (1.0 - own) * value;
            squares += times * (own * (value - upper).powi(2) + (1.0 - own) * (value - lower).powi(2));
        }
        let before = [width, lower, upper, width * share];
        width = (squares / count).sqrt().max(deviation);
        // At least half of one number is of either level.
        share = (weight / count).clamp(0.5 / count, 1.0 - 0.5 / count);
        upper = if weight > 0.0 { sum / weight } else { upper };
        lower = if weight < count { rest / (count - weight) } else { lower };
        let is_settled = |(old, new): (f64, f64)| (old - new).abs() <= SETTLED * width;
        if before.into_iter().zip([width, lower, upper, width * share]).all(is_settled) {
            break;
        }
    }
    let of_both = |value: f64| {
        let (a, b) = ((1.0 - share).ln() + density(value, lower, width), share.ln() + density(value, upper, width));
        a.max(b) + (-(a - b).abs()).exp().ln_1p()
    };
    let both: f64 = sum(&numbers, &of_both);
    let probability = of_upper(lower, upper, share, width);
    let is_upper = values.iter().map(|value| probability(*value) > 0.5).collect();
    (upper > lower).then_some(Mixture { is_upper, effect: upper - lower, lower, gain: both - single })
}

/// Gains of all places of a kind: where healthy ones have two levels too, as pairs that are measured at the same time have
/// on a fabric that they share, a place must stand out from these.
pub struct Gains(Option<Spread>);

impl Gains {
    /// Of so many further places nothing was gained at all.
    pub fn of(gains: impl Iterator<Item = f64>, others: usize) -> Self {
        Self(Spread::of(gains.map(root).chain(std::iter::repeat_n(0.0, others))))
    }

    /// Logarithm of the probability of such a gain.
    pub fn log(&self, gain: f64) -> f64 {
        match self.0 {
            // The root of twice a logarithmic likelihood ratio scatters by 1 where the model holds.
            Some(spread) => {
                let score = (root(gain) - spread.centre) / spread.deviation.max(1.0);
                Normal::standard().sf(score).max(f64::MIN_POSITIVE).ln().max(-gain)
            }
            None => -gain,
        }
    }
}

fn root(gain: f64) -> f64 {
    (2.0 * gain.max(0.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal};

    #[test]
    fn every_third_number_is_found() {
        let mut rng = generator(1);
        let values: Vec<f64> = (0..24).map(|n| 0.01 * normal(&mut rng) + if n % 3 == 0 { 0.2 } else { 0.0 }).collect();
        let found = two_levels(&values, 0.01).unwrap();
        assert!((0..24).all(|n| found.is_upper[n] == (n % 3 == 0)), "{found:?}");
        assert!((found.effect - 0.2).abs() < 0.01 && found.gain > 30.0, "{found:?}");
    }

    #[test]
    fn one_level_is_hardly_ever_two() {
        let mut rng = generator(2);
        let is_two = |_: &u32| {
            let values: Vec<f64> = (0..24).map(|_| normal(&mut rng)).collect();
            two_levels(&values, 1.0).is_some_and(|found| found.gain > 7.0)
        };
        assert!((0..1000).filter(is_two).count() < 5);
        assert_eq!(two_levels(&[1.0, 2.0], 1.0), None);
        assert_eq!(two_levels(&[1.0; 5], 1.0), None);
    }
}

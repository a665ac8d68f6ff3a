//! Medians of many numbers in single precision, of which something is known before: about where they are.
//!
//! Selecting from all values costs some ten comparisons of each; counting those below a narrow interval costs one, and
//! leaves few to select from. The answers are exact either way.

/// Median of `values`, which are reordered; NaN are missing; NaN if there is none.
pub fn median_of_singles(values: &mut Vec<f32>) -> f32 {
    values.retain(|value| !value.is_nan());
    match values.len() {
        0 => f32::NAN,
        count => middle_of(values, (count - 1) / 2, count / 2),
    }
}

/// Median of `values`, which is likely to be no farther than `width` from `guess`; NaN are missing; NaN if there is
/// none. A wrong guess costs time only. `scratch` is there to be used again.
pub fn median_near(values: &[f32], guess: f32, width: f32, scratch: &mut Vec<f32>) -> f32 {
    let count = values.iter().map(|value| u32::from(!value.is_nan())).sum::<u32>() as usize;
    if count == 0 {
        return f32::NAN;
    }
    let (lower, upper) = ((count - 1) / 2, count / 2);
    let mut width = width;
    for _ in 0..TRIALS {
        let (below, kept) = keep_within(values, guess - width, guess + width, scratch);
        if (below..below + kept.len()).contains(&lower) && upper < below + kept.len() {
            return middle_of(kept, lower - below, upper - below);
        }
        width *= WIDER;
    }
    scratch.clear();
    scratch.extend_from_slice(values);
    median_of_singles(scratch)
}

/// Median of very many `values`: as [`median_near`], with a guess from some of them.
pub fn median_of_many(values: &[f32], scratch: &mut Vec<f32>) -> f32 {
    scratch.clear();
    scratch.extend(values.iter().step_by(values.len().div_ceil(SAMPLE).max(1)).filter(|value| !value.is_nan()));
    if scratch.len() < SAMPLE / 4 {
        return median_near(values, f32::NAN, 0.0, scratch);
    }
    // The rank of the median among so many of the values has a standard deviation of half their number's root.
    let (half, reach) = (scratch.len() / 2, (2.0 * (scratch.len() as f64).sqrt()) as usize);
    let high = *scratch.select_nth_unstable_by(half + reach, f32::total_cmp).1;
    let low = *scratch.select_nth_unstable_by(half - reach, f32::total_cmp).1;
    median_near(values, (low + high) / 2.0, (high - low) / 2.0, scratch)
}

/// Wider intervals that are tried before all values are looked at.
const TRIALS: usize = 3;

/// How many times as wide the next interval is.
const WIDER: f32 = 4.0;

/// Values from which the median of very many is guessed.
const SAMPLE: usize = 4096;

/// How many values are below those from `low` to `high`, and these, in `kept`. It does the same for every value,
/// whether it is kept or not, because the processor could not foresee which are.
fn keep_within<'a>(values: &[f32], low: f32, high: f32, kept: &'a mut Vec<f32>) -> (usize, &'a mut [f32]) {
    if kept.len() <= values.len() {
        kept.resize(values.len() + 1, 0.0);
    }
    let (mut below, mut count) = (0, 0);
    for &value in values {
        kept[count] = value;
        count += usize::from((low <= value) & (value <= high));
        below += usize::from(value < low);
    }
    (below, &mut kept[..count])
}

/// Mean of the values with these two neighbouring ranks.
fn middle_of(values: &mut [f32], lower: usize, upper: usize) -> f32 {
    let (smaller, middle, _) = values.select_nth_unstable_by(upper, f32::total_cmp);
    if lower == upper {
        return *middle;
    }
    let other = smaller.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    other / 2.0 + *middle / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::median, *};

    fn expected(values: &[f32]) -> f32 {
        median(&mut values.iter().copied().map(f64::from).collect::<Vec<_>>()) as f32
    }

    #[test]
    fn cases_by_hand() {
        let mut scratch = vec![9.0];
        let values = [4.0, f32::NAN, 1.0, 3.0, 2.0];
        assert_eq!(median_of_singles(&mut values.to_vec()), 2.5);
        // Right, off, far off, unknown.
        for (guess, width) in [(2.5, 1.0), (2.9, 0.2), (1e9, 1.0), (f32::NAN, 1.0)] {
            assert_eq!(median_near(&values, guess, width, &mut scratch), 2.5);
        }
        assert_eq!(median_near(&[7.0; 5], 7.0, 0.0, &mut scratch), 7.0);
        assert_eq!(median_near(&[1.0, f32::INFINITY, f32::INFINITY], 1.0, 9.0, &mut scratch), f32::INFINITY);
    }

    #[test]
    fn nothing_has_no_median() {
        let mut scratch = Vec::new();
        assert!(median_of_singles(&mut vec![f32::NAN]).is_nan());
        assert!(median_near(&[], 0.0, 1.0, &mut scratch).is_nan());
        assert!(median_of_many(&[f32::NAN; 9], &mut scratch).is_nan());
    }

    #[test]
    fn a_sample_says_where_to_look_but_not_what_the_median_is() {
        let mut scratch = Vec::new();
        let mixed: Vec<f32> = (0..200_000u64).map(|k| (k * 7919 % 200_000) as f32).collect();
        assert_eq!(median_of_many(&mixed, &mut scratch), 99_999.5);
        // Every value that the sample meets is wild.
        let step = mixed.len().div_ceil(SAMPLE);
        let trap: Vec<f32> = (0..mixed.len()).map(|k| if k.is_multiple_of(step) { 1e9 } else { mixed[k] }).collect();
        assert_eq!(median_of_many(&trap, &mut scratch), expected(&trap));
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_all_values(
            values in proptest::collection::vec(prop_oneof![4 => -9.0f32..9.0, 1 => Just(f32::NAN)], 1..60),
            guess in -9.0f32..9.0,
            width in 0.0f32..4.0,
        ) {
            let (near, expected) = (median_near(&values, guess, width, &mut Vec::new()), expected(&values));
            prop_assert!(near == expected || (near - expected).abs() < 1e-5 || near.is_nan() && expected.is_nan());
        }
    }
}

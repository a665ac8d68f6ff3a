//! Medians of many numbers in single precision, of which something may be known before: about where they are.
//!
//! Selecting from all values costs some ten comparisons of each; counting those below a narrow interval costs one, and
//! leaves few to select from. The answers are exact either way. Values are compared as whole numbers that are in the
//! same order, which costs the processor less.

/// Values that medians are taken of, one set after the other: the room for them is used again.
#[derive(Default)]
pub struct Singles {
    /// Of the values, in any order.
    keys: Vec<u32>,
    /// Of those in an interval; what is behind them has no meaning.
    kept: Vec<u32>,
}

impl Singles {
    /// Forgets what it had for these `values`; NaN are missing.
    pub fn of(&mut self, values: impl IntoIterator<Item = f32>) -> &mut Self {
        self.keys.clear();
        self.and(values)
    }

    /// These values as well.
    pub fn and(&mut self, values: impl IntoIterator<Item = f32>) -> &mut Self {
        self.keys.extend(values.into_iter().map(key));
        self
    }

    /// Their median; NaN if there is none.
    pub fn median(&mut self) -> f32 {
        match self.ranks_of_middle() {
            Some((lower, upper)) => middle_of(&mut self.keys, lower, upper),
            None => f32::NAN,
        }
    }

    /// Their median, which is likely to be no farther than `width` from `guess`; NaN if there is none. A wrong guess
    /// costs time only.
    pub fn median_near(&mut self, guess: f32, width: f32) -> f32 {
        let Some((lower, upper)) = self.ranks_of_middle() else { return f32::NAN };
        let mut width = width;
        for _ in 0..TRIALS {
            let (below, kept) = keep_within(&self.keys, key(guess - width), key(guess + width), &mut self.kept);
            if below <= lower && upper < below + kept.len() {
                return middle_of(kept, lower - below, upper - below);
            }
            width *= WIDER;
        }
        self.median()
    }

    /// The ranks of the two values in the middle, which are one if the number of values is odd.
    fn ranks_of_middle(&self) -> Option<(usize, usize)> {
        let count = self.keys.iter().map(|key| u32::from(*key != MISSING)).sum::<u32>() as usize;
        (count > 0).then(|| ((count - 1) / 2, count / 2))
    }
}

/// Wider intervals that are tried before all values are looked at.
const TRIALS: usize = 3;

/// How many times as wide the next interval is.
const WIDER: f32 = 4.0;

/// The key of what is missing: behind all others.
const MISSING: u32 = u32::MAX;

/// A whole number; they are in the order of the values (IEEE 754: the bits of positive numbers are, those of negative
/// ones are in the opposite order).
fn key(value: f32) -> u32 {
    let bits = value.to_bits();
    let flipped = ((bits as i32 >> 31) as u32) | (1 << 31);
    if value.is_nan() { MISSING } else { bits ^ flipped }
}

/// The value of a key.
fn value(key: u32) -> f32 {
    let flipped = ((!key as i32 >> 31) as u32) | (1 << 31);
    f32::from_bits(key ^ flipped)
}

/// How many keys are below those from `low` to `high`, and these, in `kept`. It does the same for every key, whether it
/// is kept or not, because the processor could not foresee which are.
fn keep_within<'a>(keys: &[u32], low: u32, high: u32, kept: &'a mut Vec<u32>) -> (usize, &'a mut [u32]) {
    if kept.len() <= keys.len() {
        kept.resize(keys.len() + 1, 0);
    }
    let below = keys.iter().map(|key| u32::from(*key < low)).sum::<u32>() as usize;
    let mut count = 0;
    for &key in keys {
        kept[count] = key;
        count += usize::from(key.wrapping_sub(low) <= high.wrapping_sub(low));
    }
    (below, &mut kept[..count])
}

/// Mean of the values with these two neighbouring ranks.
fn middle_of(keys: &mut [u32], lower: usize, upper: usize) -> f32 {
    let (smaller, middle, _) = keys.select_nth_unstable(upper);
    let middle = value(*middle);
    if lower == upper {
        return middle;
    }
    let other = smaller.iter().copied().fold(0, u32::max);
    value(other) / 2.0 + middle / 2.0
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
        let mut singles = Singles::default();
        let values = [4.0, f32::NAN, 1.0, 3.0, 2.0];
        assert_eq!(singles.of([9.0]).of(values).median(), 2.5);
        assert_eq!(singles.of([4.0, f32::NAN]).and([1.0, 3.0, 2.0]).median(), 2.5);
        // Right, off, far off, unknown.
        for (guess, width) in [(2.5, 1.0), (2.9, 0.2), (1e9, 1.0), (f32::NAN, 1.0)] {
            assert_eq!(singles.of(values).median_near(guess, width), 2.5);
        }
        assert_eq!(singles.of([7.0; 5]).median_near(7.0, 0.0), 7.0);
        assert_eq!(singles.of([1.0, f32::INFINITY, f32::INFINITY]).median_near(1.0, 9.0), f32::INFINITY);
        assert_eq!(singles.of([-3.0, -f32::NAN, -1.0, f32::NEG_INFINITY]).median_near(-2.0, 1.5), -3.0);
    }

    #[test]
    fn nothing_has_no_median() {
        assert!(Singles::default().of([f32::NAN]).median().is_nan());
        assert!(Singles::default().median_near(0.0, 1.0).is_nan());
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_all_values(
            values in proptest::collection::vec(prop_oneof![4 => -9.0f32..9.0, 1 => Just(f32::NAN)], 1..60),
            guess in -9.0f32..9.0,
            width in 0.0f32..4.0,
        ) {
            let (near, expected) = (Singles::default().of(values.iter().copied()).median_near(guess, width), expected(&values));
            prop_assert!(near == expected || (near - expected).abs() < 1e-5 || near.is_nan() && expected.is_nan());
        }
    }
}

//! How far numbers of one kind lie apart where a few of them may be faults.
//!
//! In: a number for every place of a kind. Out: [`Spread`]: centre and standard deviation of those that are alike, and
//! how improbable any number is among them. It knows nothing of places.
//!
//! Method: forward search (Atkinson and Riani 2000). It begins with the half of the numbers that lie closest together
//! and takes in the nearest of the others for as long as it is no outlier among those that are in. The standard
//! deviation of the closest numbers is corrected for their being the closest (as for the minimum covariance
//! determinant, Croux and Haesbroeck 1999), those that the search ends with too: an outlier among normal numbers then has
//! about half of its nominal probability, as healthy places of real machines have longer tails than a normal
//! distribution.

use statrs::distribution::{Continuous, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

use super::COINCIDENCE;

/// Degrees of freedom from which on Student's t is a normal distribution for all that is asked here: the value z that is
/// exceeded in one of a million cases is 0.6 % farther out, by `(z^3 + z) / 4 n` (Fisher 1925).
pub const NORMAL: f64 = 1000.0;

/// Level of the test of two deviations before they are pooled (Bozivich, Bancroft and Hartley 1956: at 25 % what
/// follows keeps nearly its own level).
const POOLED: f64 = 0.25;

/// Numbers that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Their mean.
    pub centre: f64,
    /// Their standard deviation, corrected for their being the closest.
    pub deviation: f64,
    /// The same without that.
    pub uncorrected: f64,
    /// How many they are.
    pub count: usize,
    /// Degrees of freedom of the deviation.
    pub freedom: f64,
}

/// Sums over the first numbers of a sorted row, less the one in its middle: of all that the search looks at, mean and
/// variance are found at once.
struct Sums {
    origin: f64,
    /// Of the numbers, and of their squares, `[number]`; the first ones are of none.
    before: Vec<[f64; 2]>,
}

impl Sums {
    fn of(sorted: &[f64]) -> Self {
        let origin = sorted[sorted.len() / 2];
        let mut sums = [0.0; 2];
        let and = |value: &f64| {
            let value = value - origin;
            sums = [sums[0] + value, sums[1] + value * value];
            sums
        };
        Self { origin, before: std::iter::once([0.0; 2]).chain(sorted.iter().map(and)).collect() }
    }

    fn all(&self) -> usize {
        self.before.len() - 1
    }

    fn between(&self, first: usize, last: usize) -> [f64; 2] {
        [0, 1].map(|of| self.before[last + 1][of] - self.before[first][of])
    }
}

impl Spread {
    /// Of numbers of which more than half are alike; missing ones (NaN) do not count. None of fewer than three.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::search(values, |spread| spread)
    }

    /// The same, of numbers that are expected to be so far apart, a deviation of so many degrees of freedom
    /// ([`Spread::pooled`]).
    pub fn among(values: impl IntoIterator<Item = f64>, expected: f64, freedom: f64) -> Option<Self> {
        Self::search(values, |spread| spread.pooled(expected, freedom).unwrap_or(spread))
    }

    fn search(values: impl IntoIterator<Item = f64>, known: impl Fn(Self) -> Self) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let all = sorted.len();
        if all < 3 {
            return None;
        }
        let half = all / 2 + 1;
        let sums = Sums::of(&sorted);
        let width = |first: &usize| sorted[first + half - 1] - sorted[*first];
        let mut first = (0..=all - half).min_by(|a, b| width(a).total_cmp(&width(b)))?;
        let mut last = first + half - 1;
        let mut spread = known(Self::between(&sums, first, last));
        while last - first + 1 < all {
            let below = if first > 0 { spread.centre - sorted[first - 1] } else { f64::INFINITY };
            let above = if last + 1 < all { sorted[last + 1] - spread.centre } else { f64::INFINITY };
            let distance = below.min(above);
            // To stop although all are alike is no error by itself: what is left out is judged afterwards, and the deviation
            // is corrected. What is taken in hides itself.
            if 2.0 * spread.tail(distance) * all as f64 <= COINCIDENCE {
                break;
            }
            if below <= above {
                first -= 1
            } else {
                last += 1
            }
            spread = known(Self::between(&sums, first, last));
        }
        Some(spread)
    }

    fn between(sums: &Sums, first: usize, last: usize) -> Self {
        let count = (last - first + 1) as f64;
        let [sum, squares] = sums.between(first, last);
        let variance = (squares - sum * sum / count).max(0.0) / (count - 1.0).max(1.0);
        let centre = sums.origin + sum / count;
        // Variance of the central share q of a normal distribution: 1 - 2 z phi(z) / q, with z its quantile at (1 + q)
        // / 2.
        let share = count / sums.all() as f64;
        let shrunk = if share < 1.0 {
            let z = Normal::standard().inverse_cdf((1.0 + share) / 2.0);
            1.0 - 2.0 * z * Normal::standard().pdf(z) / share
        } else {
            1.0
        };
        let [uncorrected, deviation] = [variance.sqrt(), (variance / shrunk).sqrt()];
        Self { centre, deviation, uncorrected, count: last - first + 1, freedom: count - 1.0 }
    }

    /// What is believed of how far healthy places are apart whose `values` are known with this `error`, a deviation of so many
    /// degrees of freedom, and that are expected to differ by `alike`: what they show, and that pooled with what is expected,
    /// where they are no farther apart.
    pub fn of_places(values: impl IntoIterator<Item = f64>, error: f64, alike: f64, freedom: f64) -> Vec<Self> {
        let Some(own) = Self::of(values) else { return Vec::new() };
        let (expected, freedom) = expected(error, alike, freedom);
        [own.at_least(error)].into_iter().chain(own.pooled(expected, freedom)).collect()
    }

    /// At least so far apart: what is known about single numbers from elsewhere.
    pub fn at_least(self, deviation: f64) -> Self {
        Self { deviation: self.deviation.max(deviation), ..self }
    }

    /// Pooled with a deviation that is expected of single numbers and has so many degrees of freedom, unless these
    /// numbers lie further apart than that: of a few, their own deviation is hardly known. The larger deviation counts. Whether
    /// they lie further apart is asked of them as they are: if the others are faults, these are not the closest of all, and of
    /// a few the correction makes much of what is chance.
    pub fn pooled(self, expected: f64, freedom: f64) -> Option<Self> {
        let ratio = FisherSnedecor::new(self.freedom, freedom).ok()?;
        let is_alike = self.uncorrected.powi(2) <= ratio.inverse_cdf(1.0 - POOLED) * expected.powi(2);
        is_alike.then(|| Self { freedom: self.freedom + freedom, ..self.at_least(expected) })
    }

    /// Logarithm of [`Spread::tail`], of so many that are looked at.
    pub fn log(&self, distance: f64, looked_at: f64) -> f64 {
        self.tail(distance).max(f64::MIN_POSITIVE).ln() + looked_at.ln()
    }

    /// Probability that another number of this kind lies so far above the centre.
    pub fn tail(&self, distance: f64) -> f64 {
        // The centre is known only as well as so many numbers say it.
        let count = self.count as f64;
        let score = distance / (self.deviation * (1.0 + 1.0 / count).sqrt());
        tail(score, self.freedom)
    }
}

/// How far healthy places are expected to be apart that differ by so much and of which each is known with this `error`, and
/// the degrees of freedom of that: of the sum of two variances of which one is known (Welch and Satterthwaite).
pub fn expected(error: f64, alike: f64, freedom: f64) -> (f64, f64) {
    let expected = error.hypot(alike);
    (expected, (freedom * (expected / error).powi(4)).min(NORMAL))
}

/// Probability that a Student's t of so many degrees of freedom exceeds `score`.
pub fn tail(score: f64, freedom: f64) -> f64 {
    // Of numbers that are the same to the last digit any other one is an outlier, and none is one itself.
    if !score.is_finite() {
        return if score > 0.0 { 0.0 } else { 1.0 };
    }
    let student = StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("a positive number of degrees of freedom");
    student.sf(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal};

    #[test]
    fn outliers_do_not_move_it() {
        let mut rng = generator(3);
        for (alike, outliers) in [(15, 1), (12, 4), (60, 20), (4, 1)] {
            let values: Vec<f64> = (0..alike).map(|_| 5.0 + normal(&mut rng)).collect();
            let others = (0..outliers).map(|number| 60.0 + f64::from(number));
            let plain = Spread::of(values.iter().copied()).unwrap();
            let spread = Spread::of(values.iter().copied().chain(others)).unwrap();
            assert!(spread.count <= values.len(), "{alike} {outliers}: {spread:?}");
            assert!((spread.centre - 5.0).abs() < 1.5, "{spread:?} {plain:?}");
            assert!((0.2..4.0).contains(&spread.deviation), "{alike} {outliers}: {spread:?} {plain:?}");
        }
    }

    #[test]
    fn numbers_that_are_alike_are_hardly_ever_outliers() {
        let mut rng = generator(4);
        for count in [4, 8, 16, 64] {
            let is_alarm = |_: &u32| {
                let values: Vec<f64> = (0..count).map(|_| normal(&mut rng)).collect();
                let spread = Spread::of(values.iter().copied()).unwrap();
                let worst = values.iter().copied().fold(f64::MIN, f64::max);
                spread.tail(worst - spread.centre) * f64::from(count) < 0.01
            };
            let alarms = (0..2000).filter(is_alarm).count();
            // One per cent of them, two where the search sometimes stops early.
            assert!(alarms < 60, "{count}: {alarms}");
        }
    }

    #[test]
    fn what_is_known_elsewhere_counts_unless_the_numbers_speak_against_it() {
        let few = Spread::of([0.9, 1.0, 1.1, 1.2, 0.8]).unwrap();
        let pooled = few.pooled(0.15, 20.0).unwrap();
        assert_eq!((few.freedom, pooled.freedom), (4.0, 24.0));
        assert!((pooled.deviation - few.deviation).abs() < 1e-12);
        assert!(pooled.tail(1.0) < few.tail(1.0) / 100.0);
        // The larger deviation counts.
        assert_eq!(few.pooled(0.5, 20.0).unwrap().deviation, 0.5);
        assert_eq!(few.pooled(0.05, 20.0), None);
        // Of four that are as far apart as expected and a fault none is the closest.
        let peers = Spread::among([-0.051, -0.050, -0.026, -0.014, 0.143], 0.017, 170.0).unwrap();
        assert!(peers.count == 4 && peers.tail(0.143 - peers.centre) < 1e-7, "{peers:?}");
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!(Spread::of([1.0, f64::NAN, 2.0]), None);
        let same = Spread::of([1.0; 5]).unwrap();
        assert_eq!((same.centre, same.deviation), (1.0, 0.0));
        assert_eq!((same.tail(0.1), same.tail(0.0)), (0.0, 1.0));
    }
}

//! Straight lines through times, and lines in pieces: where does a library change its protocol?
//!
//! In: lengths and times. Out: [`Line`]s with intervals, [`Piecewise`] lines whose change points an information
//! criterion has chosen. Departures count as shares of the time, so that microseconds weigh as much as seconds.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A fitted number and its 95 % interval; the ends are NaN where too few points tell it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Best value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// Known exactly, as far as anybody says.
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// A value and its standard error, with so many points more than parameters.
    pub fn new(value: f64, error: f64, freedom: usize) -> Self {
        let half = match StudentsT::new(0.0, 1.0, freedom as f64) {
            Ok(student) if freedom > 0 => student.inverse_cdf(0.975) * error,
            _ => f64::NAN,
        };
        Self { value, low: value - half, high: value + half }
    }

    /// Times a constant.
    pub fn scaled(self, by: f64) -> Self {
        Self { value: self.value * by, low: self.low * by, high: self.high * by }
    }
}

/// How much a point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Departures are shares of the time.
    Relative,
    /// Departures are seconds: long lengths decide.
    Equal,
}

/// t = start + per_byte * s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Seconds at length 0; may be below 0 where a piece does not begin there.
    pub start: Estimate,
    /// Seconds per byte.
    pub per_byte: Estimate,
    /// Root of the mean squared departure: as a share of the time, or in seconds, after the weights.
    pub departure: f64,
    /// Number of points.
    pub points: usize,
}

impl Line {
    /// Least squares through `(length, time)`; `None` with fewer than two lengths. Points that are NaN, and times that
    /// are not above 0 where departures are shares, take no part.
    pub fn fit(points: &[(f64, f64)], weights: Weights) -> Option<Self> {
        let mut sums = Sums::default();
        points.iter().for_each(|(length, time)| sums.add(*length, *time, weights));
        sums.line()
    }

    /// Seconds at a length.
    pub fn at(&self, length: f64) -> f64 {
        self.start.value + self.per_byte.value * length
    }
}

/// What a line needs of its points: they can be added and taken off again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    count: usize,
    w: f64,
    ws: f64,
    wt: f64,
    wss: f64,
    wst: f64,
    wtt: f64,
}

impl Sums {
    /// Adds a point, unless it takes no part.
    pub fn add(&mut self, length: f64, time: f64, weights: Weights) {
        let weight = match weights {
            Weights::Relative if time > 0.0 => 1.0 / (time * time),
            Weights::Equal => 1.0,
            Weights::Relative => return,
        };
        self.weigh(length, time, weight);
    }

    /// Adds a point with a weight of its own, unless it takes no part.
    pub fn weigh(&mut self, length: f64, time: f64, weight: f64) {
        if !time.is_finite() || !length.is_finite() {
            return;
        }
        self.count += 1;
        self.w += weight;
        self.ws += weight * length;
        self.wt += weight * time;
        self.wss += weight * length * length;
        self.wst += weight * length * time;
        self.wtt += weight * time * time;
    }

    /// Mean length and mean time.
    pub fn means(&self) -> (f64, f64) {
        (self.ws / self.w, self.wt / self.w)
    }

    fn minus(&self, other: &Self) -> Self {
        Self {
            count: self.count - other.count,
            w: self.w - other.w,
            ws: self.ws - other.ws,
            wt: self.wt - other.wt,
            wss: self.wss - other.wss,
            wst: self.wst - other.wst,
            wtt: self.wtt - other.wtt,
        }
    }

    /// Start, slope, sum of squared departures; `None` with fewer than two lengths.
    pub fn solve(&self) -> Option<(f64, f64, f64)> {
        let (mean_s, mean_t) = self.means();
        let (sss, sst) = (self.wss - self.ws * mean_s, self.wst - self.ws * mean_t);
        if self.count < 2 || sss.is_nan() || sss <= 1e-12 * self.wss {
            return None;
        }
        let slope = sst / sss;
        let rest = (self.wtt - self.wt * mean_t - slope * sst).max(0.0);
        Some((mean_t - slope * mean_s, slope, rest))
    }

    /// The line; `None` with fewer than two lengths.
    pub fn line(&self) -> Option<Line> {
        let (start, slope, rest) = self.solve()?;
        let freedom = self.count - 2;
        let variance = rest / freedom.max(1) as f64;
        let (mean, _) = self.means();
        let sss = self.wss - self.ws * mean;
        let start_error = (variance * (1.0 / self.w + mean * mean / sss)).sqrt();
        Some(Line {
            start: Estimate::new(start, start_error, freedom),
            per_byte: Estimate::new(slope, (variance / sss).sqrt(), freedom),
            departure: (rest / self.count as f64).sqrt(),
            points: self.count,
        })
    }
}

/// A line over a range of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// First length, bytes.
    pub first: u64,
    /// Last length, bytes.
    pub last: u64,
    /// The line.
    #[serde(flatten)]
    pub line: Line,
}

/// Lines one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Piecewise {
    /// Ascending; at least one.
    pub pieces: Vec<Piece>,
}

/// Fewer points than this make no piece.
const LEAST_POINTS: usize = 3;

/// Most pieces.
const MOST_PIECES: usize = 6;

/// Departures below this share are not distinguished: a curve that is exact is not cut into pieces for its last digits.
const FINEST: f64 = 0.002;

/// What a further piece costs: its two numbers, and the change point, which counts twice (Zhang and Siegmund, "A
/// modified Bayes information criterion", 2007, give a change point more than a parameter).
const PER_PIECE: f64 = 4.0;

/// Lengths up to which any may begin a piece; of more, every so many-th.
const MOST_POINTS: usize = 600;

impl Piecewise {
    /// Least lengths at which a step can be found.
    pub const LEAST_FOR_STEP: usize = 2 * LEAST_POINTS;

    /// Through `(length, time)`, ascending lengths: as few pieces as the Bayesian information criterion allows. `None`
    /// with fewer than two usable points.
    pub fn fit(points: &[(u64, f64)]) -> Option<Self> {
        let points: Vec<(u64, f64)> =
            points.iter().copied().filter(|(_, time)| time.is_finite() && *time > 0.0).collect();
        let count = points.len();
        let mut until = vec![Sums::default(); count + 1];
        for (number, (length, time)) in points.iter().enumerate() {
            until[number + 1] = until[number];
            until[number + 1].add(*length as f64, *time, Weights::Relative);
        }
        let whole = until[count].line()?;
        let ends = |from: usize, to: usize| (points[from].0, points[to - 1].0);
        let piece = |from: usize, to: usize| {
            let ((first, last), line) = (ends(from, to), until[to].minus(&until[from]).line()?);
            Some(Piece { first, last, line })
        };
        let cuts = best_cuts(&until, count);
        let pieces: Option<Vec<Piece>> = cuts.windows(2).map(|cut| piece(cut[0], cut[1])).collect();
        let single = || vec![Piece { first: ends(0, count).0, last: ends(0, count).1, line: whole }];
        Some(Self { pieces: pieces.filter(|pieces| !pieces.is_empty()).unwrap_or_else(single) })
    }

    /// A single line over all lengths.
    pub fn single(start: f64, per_byte: f64) -> Self {
        let (start, per_byte) = (Estimate::exact(start), Estimate::exact(per_byte));
        let line = Line { start, per_byte, departure: 0.0, points: 0 };
        Self { pieces: vec![Piece { first: 0, last: u64::MAX, line }] }
    }

    /// The piece that a length is in: the last one that begins at or below it.
    pub fn piece(&self, length: u64) -> &Piece {
        let number = self.pieces.iter().rposition(|piece| piece.first <= length).unwrap_or(0);
        &self.pieces[number]
    }

    /// Seconds at a length, never below 0.
    pub fn at(&self, length: u64) -> f64 {
        self.piece(length).line.at(length as f64).max(0.0)
    }

    /// Whether a length is at most twice the longest one: beyond, nothing is claimed.
    pub fn reaches(&self, length: u64) -> bool {
        self.pieces.last().is_some_and(|piece| length / 2 <= piece.last)
    }

    /// Where a piece begins that is not the first.
    pub fn steps(&self) -> impl Iterator<Item = u64> {
        self.pieces.iter().skip(1).map(|piece| piece.first)
    }
}

/// What was measured, and the line through it in pieces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// `(length, seconds)`, ascending.
    pub points: Vec<(u64, f64)>,
    /// The line.
    #[serde(flatten)]
    pub fit: Piecewise,
}

impl Curve {
    /// As [`Piecewise::fit`].
    pub fn fit(points: &[(u64, f64)]) -> Option<Self> {
        let fit = Piecewise::fit(points)?;
        let points = points.iter().copied().filter(|(_, seconds)| seconds.is_finite() && *seconds > 0.0).collect();
        Some(Self { points, fit })
    }

    /// As [`Piecewise::single`].
    pub fn single(start: f64, per_byte: f64) -> Self {
        Self { points: Vec::new(), fit: Piecewise::single(start, per_byte) }
    }

    /// Seconds at a length, never below 0: straight between two measured ones, beyond them the line's.
    pub fn at(&self, length: u64) -> f64 {
        let above = self.points.partition_point(|point| point.0 < length);
        match (above.checked_sub(1).and_then(|below| self.points.get(below)), self.points.get(above)) {
            (_, Some((known, seconds))) if *known == length => *seconds,
            (Some((low, from)), Some((high, to))) => from + (to - from) * (length - low) as f64 / (high - low) as f64,
            _ => self.fit.at(length),
        }
    }
}

/// The first points of the pieces and, last, the number of points. `until[k]`: sums of the first k points.
fn best_cuts(until: &[Sums], count: usize) -> Vec<usize> {
    let stride = count.div_ceil(MOST_POINTS).max(1);
    let mut places: Vec<usize> = (0..count).step_by(stride).collect();
    places.push(count);
    let rest = |from: usize, to: usize| {
        if to - from < LEAST_POINTS {
            return f64::INFINITY;
        }
        until[to].minus(&until[from]).solve().map_or(f64::INFINITY, |(_, _, rest)| rest)
    };
    let last = places.len() - 1;
    // `[place]`: least sum of departures of so many pieces up to there, and where the last of them begins.
    let mut best: Vec<Vec<(f64, usize)>> = vec![places.iter().map(|place| (rest(0, *place), 0)).collect()];
    for pieces in 1..MOST_PIECES.min(count / LEAST_POINTS) {
        let before = &best[pieces - 1];
        let of = |end: usize| {
            let all = (0..end).filter(|begin| before[*begin].0.is_finite());
            let sums = all.map(|begin| (before[begin].0 + rest(places[begin], places[end]), begin));
            sums.min_by(|left, right| left.0.total_cmp(&right.0)).unwrap_or((f64::INFINITY, 0))
        };
        let row = (0..=last).map(of).collect();
        best.push(row);
    }
    let n = count as f64;
    let criterion = |pieces: usize| {
        let variance = best[pieces][last].0 / n + FINEST * FINEST;
        n * variance.ln() + PER_PIECE * pieces as f64 * n.ln()
    };
    let chosen = (0..best.len()).min_by(|left, right| criterion(*left).total_cmp(&criterion(*right))).unwrap_or(0);
    if !best[chosen][last].0.is_finite() {
        return Vec::new();
    }
    let (mut cuts, mut end) = (vec![count], last);
    for row in best[..=chosen].iter().rev() {
        end = row[end].1;
        cuts.push(places[end]);
    }
    cuts.reverse();
    cuts
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn powers(last: u32, time: impl FnMut(u64) -> f64) -> Vec<(u64, f64)> {
        let mut time = time;
        (0..=last).map(|power| 1 << power).map(|length| (length, time(length))).collect()
    }

    #[test]
    fn a_case_by_hand() {
        // 1, 3, 2 at 0, 1, 2: start 1.5, slope 0.5, departures -0.5, 1, -0.5.
        let line = Line::fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)], Weights::Equal).unwrap();
        assert!((line.start.value - 1.5).abs() < 1e-12 && (line.per_byte.value - 0.5).abs() < 1e-12);
        assert!((line.departure - 0.5f64.sqrt()).abs() < 1e-12);
        // Standard error of the slope: sqrt(1.5 / 2); Student's quantile with one degree of freedom: 12.706.
        assert!((line.per_byte.high - 0.5 - 12.706 * 0.75f64.sqrt()).abs() < 0.001, "{line:?}");
        assert!(Line::fit(&[(4.0, 1.0), (4.0, 2.0)], Weights::Equal).is_none());
        assert!(Line::fit(&[(4.0, 1.0), (5.0, f64::NAN)], Weights::Relative).is_none());
        assert!(Line::fit(&[(4.0, 1.0), (5.0, 2.0)], Weights::Relative).unwrap().start.low.is_nan());
    }

    #[test]
    fn exact_lines_are_found_exactly_and_stay_whole() {
        let fitted = Piecewise::fit(&powers(24, |length| 1.5e-6 + 8e-11 * length as f64)).unwrap();
        assert_eq!(fitted.pieces.len(), 1);
        let line = fitted.pieces[0].line;
        assert!((line.start.value / 1.5e-6 - 1.0).abs() < 1e-6, "{line:?}");
        assert!((line.per_byte.value / 8e-11 - 1.0).abs() < 1e-6, "{line:?}");
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for noise in [0.0, 0.01, 0.03] {
            let fitted = Piecewise::fit(&powers(23, |length| {
                let (start, rate) = if length < 16_384 { (2e-6, 4e-10) } else { (9e-6, 1e-10) };
                (start + rate * length as f64) * (1.0 + noise * rng.random_range(-1.0..1.0))
            }));
            let fitted = fitted.unwrap();
            assert_eq!(fitted.steps().collect::<Vec<_>>(), [16_384], "{noise}: {fitted:?}");
            for (piece, start, rate) in [(0, 2e-6, 4e-10), (1, 9e-6, 1e-10)] {
                let line = &fitted.pieces[piece].line;
                assert!((line.start.value / start - 1.0).abs() <= 1e-3 + 2.0 * noise, "{noise}: {line:?}");
                assert!((line.per_byte.value / rate - 1.0).abs() <= 1e-3 + 2.0 * noise, "{noise}: {line:?}");
            }
        }
    }

    #[test]
    fn noise_is_no_step() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let cut = (0..200)
            .filter(|_| {
                let noisy =
                    powers(20, |length| (2e-6 + 4e-10 * length as f64) * (1.0 + 0.05 * rng.random_range(-1.0..1.0)));
                Piecewise::fit(&noisy).unwrap().pieces.len() > 1
            })
            .count();
        assert!(cut <= 10, "{cut} of 200 lines were cut");
    }

    #[test]
    fn intervals_cover_what_is_true_as_often_as_they_say() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let covered = (0..500)
            .filter(|_| {
                let points: Vec<(f64, f64)> = (0..12)
                    .map(|k| f64::from(k) * 1000.0)
                    .map(|s| {
                        (
                            s,
                            (5e-6 + 1e-9 * s)
                                * (1.0 + 0.02 * (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>()),
                        )
                    })
                    .collect();
                let line = Line::fit(&points, Weights::Relative).unwrap();
                (line.per_byte.low..=line.per_byte.high).contains(&1e-9)
            })
            .count();
        assert!((460..=490).contains(&covered), "{covered} of 500");
    }

    #[test]
    fn a_curve_is_what_was_measured_and_beyond_it_the_line() {
        let curve = Curve::fit(&[(10, 2.0), (20, 3.0), (40, 6.0), (80, f64::NAN)]).unwrap();
        assert_eq!([curve.at(10), curve.at(15), curve.at(20), curve.at(30)], [2.0, 2.5, 3.0, 4.5]);
        assert_eq!([curve.at(0), curve.at(50)], [0, 50].map(|length| curve.fit.at(length)));
        assert_eq!(Curve::single(1.0, 2.0).at(3), 7.0);
    }

    #[test]
    fn little_is_fitted_by_little() {
        assert!(Piecewise::fit(&[(1, 1.0)]).is_none() && Piecewise::fit(&[]).is_none());
        let two = Piecewise::fit(&[(0, 1.0), (10, 2.0)]).unwrap();
        assert_eq!((two.pieces.len(), two.at(20), two.reaches(20), two.reaches(22)), (1, 3.0, true, false));
        let many: Vec<(u64, f64)> = (0..3000).map(|k| (k, 1.0 + if k < 1500 { 0.0 } else { 1.0 } + k as f64)).collect();
        assert!(Piecewise::fit(&many).unwrap().pieces.len() <= MOST_PIECES);
    }
}

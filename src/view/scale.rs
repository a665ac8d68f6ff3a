//! From a value to its place between the ends of a range.

/// How values are spread between the ends of a [`Scale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleKind {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
}

/// A range of values, to which positions from 0 to 1 belong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Value at 0.
    pub low: f64,
    /// Value at 1.
    pub high: f64,
    /// How values between them are spread.
    pub kind: ScaleKind,
}

/// The least ratio of the ends of a scale that is made from values: the scatter of a healthy machine, spread over all
/// colours, would look like a fault.
const LEAST_RATIO: f64 = 1.25;

impl Scale {
    /// For values of this span. A logarithmic scale of a span that reaches 0 or less becomes linear.
    pub fn around((low, high): (f64, f64), kind: ScaleKind) -> Self {
        let high = if low > 0.0 { high.max(low * LEAST_RATIO) } else { high };
        Self::between(low, high, kind)
    }

    /// Between these values.
    pub fn between(low: f64, high: f64, kind: ScaleKind) -> Self {
        Self { low, high, kind: if low > 0.0 { kind } else { ScaleKind::Linear } }
    }

    /// Where `value` lies, from 0 to 1; beyond the ends: at the ends. NaN lies at 0.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.kind {
            ScaleKind::Linear => (value - self.low) / (self.high - self.low),
            ScaleKind::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        // Where both ends are one value there is no place but the low end, and a logarithm may be NaN or infinite.
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }
}

impl Scale {
    /// Round values between the ends, ascending, for the marks of an axis: at most `most`, and three or more if there
    /// are.
    pub fn round_values(&self, most: usize) -> Vec<f64> {
        let kinds: &[(i32, &[f64])] = match self.kind {
            ScaleKind::Log => {
                &[(1, &[1.0, 2.0, 5.0]), (1, &[1.0, 3.0]), (1, &[1.0]), (2, &[1.0]), (3, &[1.0]), (6, &[1.0])]
            }
            ScaleKind::Linear => &[],
        };
        let mut found: Vec<Vec<f64>> = kinds.iter().map(|(decades, heads)| self.powers(*decades, heads)).collect();
        if self.high > self.low {
            let finest = (self.high - self.low).log10().floor() as i32 - 1;
            let steps = (finest..finest + 3).flat_map(|power| [1.0, 2.0, 5.0].map(|head| head * 10f64.powi(power)));
            found.extend(steps.map(|step| self.multiples(step)));
        }
        let fitting = |least| found.iter().find(|values| (least..=most).contains(&values.len()));
        fitting(3).or_else(|| fitting(2)).cloned().unwrap_or_else(|| vec![self.low])
    }

    /// The heads times every so many powers of ten.
    fn powers(&self, decades: i32, heads: &[f64]) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let powers = (first..=last).filter(|power| power.rem_euclid(decades) == 0);
        let values = powers.flat_map(|power| heads.iter().map(move |head| head * 10f64.powi(power)));
        values.filter(|value| (self.low..=self.high).contains(value)).collect()
    }

    fn multiples(&self, step: f64) -> Vec<f64> {
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|number| number as f64 * step).collect()
    }

    /// The value at a place from 0 to 1; the inverse of [`Scale::place`] between the ends.
    pub fn at(&self, place: f64) -> f64 {
        match self.kind {
            ScaleKind::Linear => self.low + (self.high - self.low) * place,
            ScaleKind::Log => self.low * (self.high / self.low).powf(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_and_the_middle() {
        let linear = Scale::between(1.0, 9.0, ScaleKind::Linear);
        assert_eq!([1.0, 5.0, 9.0].map(|value| linear.place(value)), [0.0, 0.5, 1.0]);
        let log = Scale::between(1.0, 100.0, ScaleKind::Log);
        assert_eq!([1.0, 10.0, 100.0].map(|value| log.place(value)), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn places_lead_back_to_values() {
        for kind in [ScaleKind::Linear, ScaleKind::Log] {
            let scale = Scale::between(2.0, 32.0, kind);
            for value in [2.0, 5.0, 31.0] {
                assert!((scale.at(scale.place(value)) - value).abs() < 1e-12, "{kind:?}");
            }
        }
    }

    #[test]
    fn marks_of_an_axis_are_round() {
        let marks = |low, high, kind| {
            let values = Scale::between(low, high, kind).round_values(6);
            values.iter().map(|value| format!("{:.3}", value * 1e6)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(marks(1.2e-6, 59e-6, ScaleKind::Log), "2.000 5.000 10.000 20.000 50.000");
        assert_eq!(marks(1.2e-6, 900e-6, ScaleKind::Log), "3.000 10.000 30.000 100.000 300.000");
        assert_eq!(marks(1.01e-6, 1.31e-6, ScaleKind::Log), "1.050 1.100 1.150 1.200 1.250 1.300");
        assert_eq!(marks(1.1e-6, 6.7e-6, ScaleKind::Log), "2.000 3.000 4.000 5.000 6.000");
        assert_eq!(marks(0.0, 59e-6, ScaleKind::Linear), "0.000 10.000 20.000 30.000 40.000 50.000");
        assert_eq!(marks(3e-6, 3e-6, ScaleKind::Log), "3.000");
        assert_eq!(marks(0.0, 0.0, ScaleKind::Linear), "0.000");
        assert!(Scale::between(1e-12, 1e6, ScaleKind::Log).round_values(6).len() >= 2);
    }

    #[test]
    fn what_lies_beyond_is_at_the_ends() {
        for kind in [ScaleKind::Linear, ScaleKind::Log] {
            let scale = Scale::between(2.0, 4.0, kind);
            let places = [0.0, -1.0, 100.0, f64::INFINITY, f64::NAN].map(|value| scale.place(value));
            assert_eq!(places, [0.0, 0.0, 1.0, 1.0, 0.0], "{kind:?}");
        }
    }

    #[test]
    fn odd_spans_have_a_scale() {
        assert_eq!(Scale::around((0.0, 5.0), ScaleKind::Log).kind, ScaleKind::Linear);
        assert_eq!(Scale::around((0.0, 0.0), ScaleKind::Log).place(0.0), 0.0);
        assert_eq!(Scale::between(3.0, 3.0, ScaleKind::Log).place(3.0), 0.0);
        assert_eq!(Scale::around((1.0, 1.01), ScaleKind::Log).high, LEAST_RATIO);
    }
}

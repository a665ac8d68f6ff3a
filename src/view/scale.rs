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

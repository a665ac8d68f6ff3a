//! Curves and bars: one pair over all lengths, and how the values of a matrix are distributed.

use super::{
    ACCENT, Colouring, FAINT, Scene,
    scene::{Anchor, LARGE, SMALL, Shape},
};
use crate::{
    record::Statistic,
    units::Bytes,
    view::{Scale, amount},
};

/// Pixels next to the plot.
const LEFT: f64 = 90.0;
const TOP: f64 = 70.0;
const RIGHT: f64 = 30.0;
const BOTTOM: f64 = 70.0;

/// Most lines across the plot.
const MOST_LINES: usize = 8;

/// Every how many-th length is named.
const ROUND_STEPS: [usize; 10] = [1, 2, 3, 4, 5, 10, 20, 25, 50, 100];

/// Where the plot is: left, top, right, bottom.
fn frame(scene: &Scene) -> [f64; 4] {
    [LEFT, TOP, f64::from(scene.width) - RIGHT, f64::from(scene.height) - BOTTOM]
}

/// One pair at all lengths.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// What is shown.
    pub title: String,
    /// What the band is, in words; empty where there is none.
    pub band_name: &'a str,
    /// What the values are.
    pub statistic: Statistic,
    /// Ascending.
    pub lengths: &'a [Bytes],
    /// `[length]`; NaN is missing.
    pub values: &'a [f64],
    /// Lower and upper end, `[length]`.
    pub band: Option<(&'a [f64], &'a [f64])>,
    /// From bottom to top.
    pub scale: Scale,
}

impl Pair<'_> {
    /// Lays it out in so many pixels.
    pub fn scene(&self, width: u32, height: u32) -> Scene {
        let mut scene = Scene::new(width, height);
        let [left, top, right, bottom] = frame(&scene);
        let last = self.lengths.len().saturating_sub(1).max(1) as f64;
        let at = |number: usize, value: f64| {
            (left + (right - left) * number as f64 / last, bottom - (bottom - top) * self.scale.place(value))
        };
        scene.text(&self.title, (12.0, 20.0), LARGE, Anchor::Left);
        let band = if self.band_name.is_empty() { String::new() } else { format!("; band: {}", self.band_name) };
        scene.text(format!("line: {}{band}", self.statistic), (12.0, 42.0), SMALL, Anchor::Left);
        self.axes(&mut scene);
        for number in 1..self.lengths.len() {
            if let Some((low, high)) = self.band {
                let ends = [
                    (number - 1, low[number - 1]),
                    (number, low[number]),
                    (number, high[number]),
                    (number - 1, high[number - 1]),
                ];
                if ends.iter().all(|(_, value)| !value.is_nan()) {
                    scene.shapes.push(Shape::Veil(ends.map(|(number, value)| at(number, value)).into(), ACCENT));
                }
            }
            let [before, now] = [self.values[number - 1], self.values[number]];
            if !before.is_nan() && !now.is_nan() {
                scene.line([at(number - 1, before), at(number, now)], ACCENT, 2);
            }
        }
        for (number, value) in self.values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let (x, y) = at(number, *value);
            scene.rectangle([x - 2.0, y - 2.0, x + 3.0, y + 3.0], ACCENT);
        }
        scene
    }

    fn axes(&self, scene: &mut Scene) {
        let [left, top, right, bottom] = frame(scene);
        for value in self.scale.round_values(MOST_LINES) {
            let y = bottom - (bottom - top) * self.scale.place(value);
            scene.line([(left, y), (right, y)], FAINT, 1);
            scene.text(amount(self.statistic, value), (left - 6.0, y), SMALL, Anchor::Right);
        }
        scene.line([(left, top), (left, bottom), (right, bottom)], FAINT, 1);
        let most = ((right - left) / 60.0).max(1.0) as usize;
        let last = self.lengths.len().saturating_sub(1).max(1) as f64;
        let needed = self.lengths.len().div_ceil(most).max(1);
        let step = ROUND_STEPS.into_iter().find(|step| *step >= needed).unwrap_or(needed);
        for (number, length) in self.lengths.iter().enumerate().step_by(step) {
            let x = left + (right - left) * number as f64 / last;
            scene.text(length.to_string(), (x, bottom + 16.0), SMALL, Anchor::Middle);
        }
        scene.text("message length, bytes", ((left + right) / 2.0, bottom + 40.0), SMALL, Anchor::Middle);
    }
}

/// How many cells have which value.
#[derive(Clone, Debug)]
pub struct Histogram<'a> {
    /// What is shown.
    pub title: String,
    /// What the values are.
    pub statistic: Statistic,
    /// Numbers of cells in bins that are evenly spread over `scale`.
    pub counts: &'a [usize],
    /// From left to right.
    pub scale: Scale,
    /// The colours.
    pub colouring: Colouring,
}

impl Histogram<'_> {
    /// Lays it out in so many pixels. Heights are logarithmic: a few slow pairs among a million stay visible.
    pub fn scene(&self, width: u32, height: u32) -> Scene {
        let mut scene = Scene::new(width, height);
        let [left, top, right, bottom] = frame(&scene);
        scene.text(&self.title, (12.0, 20.0), LARGE, Anchor::Left);
        scene.text("number of pairs, logarithmic", (12.0, 42.0), SMALL, Anchor::Left);
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let tall =
            |count: usize| (bottom - top) * (count as f64).ln_1p() / (most as f64).ln_1p().max(f64::MIN_POSITIVE);
        for level in
            std::iter::successors(Some(1usize), |level| level.checked_mul(10)).take_while(|level| *level <= most)
        {
            let y = bottom - tall(level);
            scene.line([(left, y), (right, y)], FAINT, 1);
            scene.text(level.to_string(), (left - 6.0, y), SMALL, Anchor::Right);
        }
        let bins = self.counts.len().max(1) as f64;
        let x = |place: f64| left + (right - left) * place;
        for (bin, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let colour = self.colouring.of_place((bin as f64 + 0.5) / bins);
            let corners = [x(bin as f64 / bins), bottom - tall(*count), x((bin + 1) as f64 / bins) - 1.0, bottom];
            scene.rectangle(corners, colour);
            scene.frame(corners, FAINT);
        }
        for place in [0.0, 0.25, 0.5, 0.75, 1.0] {
            scene.text(amount(self.statistic, self.scale.at(place)), (x(place), bottom + 16.0), SMALL, Anchor::Middle);
        }
        scene
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::ScaleKind;

    fn lines(scene: &Scene) -> usize {
        scene.shapes.iter().filter(|shape| matches!(shape, Shape::Line(_, colour, _) if *colour == ACCENT)).count()
    }

    #[test]
    fn a_curve_has_gaps_where_values_are_missing() {
        let lengths = [0, 1, 2, 3, 4].map(Bytes);
        let values = [1e-6, 2e-6, f64::NAN, 3e-6, 4e-6];
        let mut pair = Pair {
            title: "a to b".into(),
            band_name: "min to max",
            statistic: Statistic::Median,
            lengths: &lengths,
            values: &values,
            band: Some((&values, &values)),
            scale: Scale::between(1e-6, 4e-6, ScaleKind::Log),
        };
        let scene = pair.scene(500, 400);
        assert_eq!(lines(&scene), 2);
        assert_eq!(scene.shapes.iter().filter(|shape| matches!(shape, Shape::Veil(..))).count(), 2);
        (pair.lengths, pair.values, pair.band) = (&lengths[..1], &values[..1], None);
        assert_eq!(lines(&pair.scene(500, 400)), 0);
    }

    #[test]
    fn single_cells_are_visible_beside_many() {
        let histogram = Histogram {
            title: "t".into(),
            statistic: Statistic::Median,
            counts: &[1_000_000, 0, 1],
            scale: Scale::between(1e-6, 4e-6, ScaleKind::Log),
            colouring: Colouring::Perceptual,
        };
        let heights = histogram.scene(500, 400).shapes.into_iter().filter_map(|shape| match shape {
            Shape::Rectangle([_, top, _, bottom], _) => Some(bottom - top),
            _ => None,
        });
        let heights: Vec<_> = heights.collect();
        assert_eq!(heights.len(), 2);
        assert!(heights[1] > 10.0 && heights[0] > 10.0 * heights[1], "{heights:?}");
        let empty = Histogram { counts: &[], ..histogram };
        assert!(!empty.scene(500, 400).shapes.is_empty());
    }
}

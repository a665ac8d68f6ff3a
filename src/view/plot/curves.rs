//! Several curves over the message length, both axes logarithmic: squares for what was measured, lines for models.

use super::{
    ACCENT, FAINT, Scene,
    scene::{Anchor, LARGE, SMALL},
};
use crate::{
    units::Bytes,
    view::{Scale, colour::Rgb},
};

const LEFT: f64 = 90.0;
const TOP: f64 = 70.0;
const RIGHT: f64 = 30.0;
const BOTTOM: f64 = 70.0;

/// Most lines across the plot.
const MOST_LINES: usize = 8;

/// Colours that differ in lightness, too.
const COLOURS: [Rgb; 6] =
    [ACCENT, Rgb(194, 24, 91), Rgb(0, 121, 107), Rgb(230, 126, 0), Rgb(94, 53, 177), Rgb(97, 97, 97)];

/// `(length, value)` in any number.
pub type Points = Vec<(u64, f64)>;

/// Curves with their names.
pub struct Curves<'a> {
    /// What is shown.
    pub title: String,
    /// What squares and lines are.
    pub subtitle: &'a str,
    /// Name, squares, lines.
    pub curves: &'a [(String, Points, Vec<Points>)],
    /// From bottom to top.
    pub scale: Scale,
    /// A mark of the axis as text.
    pub mark: &'a dyn Fn(f64) -> String,
}

/// Lengths are spread by their logarithm; 0 has a place.
fn position(length: u64) -> f64 {
    (length as f64).ln_1p()
}

impl Curves<'_> {
    /// Lays it out in so many pixels.
    pub fn scene(&self, width: u32, height: u32) -> Scene {
        let mut scene = Scene::new(width, height);
        let [left, top, right, bottom] = [LEFT, TOP, f64::from(width) - RIGHT, f64::from(height) - BOTTOM];
        let points = || self.curves.iter().flat_map(|(_, points, lines)| points.iter().chain(lines.iter().flatten()));
        let lengths = points().map(|point| position(point.0));
        let (first, last) = lengths.fold((f64::INFINITY, 0.0f64), |(low, high), at| (low.min(at), high.max(at)));
        let x = |length: u64| left + (right - left) * (position(length) - first) / (last - first).max(1e-9);
        let y = |value: f64| bottom - (bottom - top) * self.scale.place(value);
        scene.text(&self.title, (12.0, 20.0), LARGE, Anchor::Left);
        scene.text(self.subtitle, (12.0, 42.0), SMALL, Anchor::Left);
        for value in self.scale.round_values(MOST_LINES) {
            scene.line([(left, y(value)), (right, y(value))], FAINT, 1);
            scene.text((self.mark)(value), (left - 6.0, y(value)), SMALL, Anchor::Right);
        }
        scene.line([(left, top), (left, bottom), (right, bottom)], FAINT, 1);
        let powers =
            (0..40).step_by(2).map(|power| 1u64 << power).filter(|length| (first..=last).contains(&position(*length)));
        for length in powers.chain((first == 0.0).then_some(0)) {
            scene.text(Bytes(length).to_string(), (x(length), bottom + 16.0), SMALL, Anchor::Middle);
        }
        scene.text("message length, bytes", ((left + right) / 2.0, bottom + 40.0), SMALL, Anchor::Middle);
        for (number, (name, points, lines)) in self.curves.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            for line in lines.iter().filter(|line| line.len() > 1) {
                scene.line(line.iter().map(|(length, value)| (x(*length), y(*value))).collect::<Vec<_>>(), colour, 2);
            }
            for (length, value) in points {
                let (x, y) = (x(*length), y(*value));
                scene.rectangle([x - 2.0, y - 2.0, x + 3.0, y + 3.0], colour);
            }
            let at = top + 14.0 + 18.0 * number as f64;
            scene.rectangle([left + 12.0, at - 5.0, left + 22.0, at + 5.0], colour);
            scene.text(name, (left + 28.0, at), SMALL, Anchor::Left);
        }
        scene
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{ScaleKind, plot::scene::Shape};

    #[test]
    fn squares_and_lines_stay_inside() {
        let points: Points = vec![(0, 1e-6), (1, 1e-6), (1 << 20, 1e-3)];
        let curves = [("a".to_owned(), points.clone(), vec![points, vec![(5, 1e-6)]]), ("b".into(), vec![], vec![])];
        let scale = Scale::between(1e-6, 1e-3, ScaleKind::Log);
        let scene = Curves { title: "t".into(), subtitle: "s", curves: &curves, scale, mark: &|v| v.to_string() }
            .scene(600, 400);
        let squares = scene.shapes.iter().filter_map(|shape| match shape {
            Shape::Rectangle(corners, _) => Some(*corners),
            _ => None,
        });
        let squares: Vec<_> = squares.collect();
        assert_eq!(squares.len(), 3 + 2);
        assert!(squares.iter().all(|[a, b, c, d]| *a > 80.0 && *b > 60.0 && *c < 580.0 && *d < 340.0), "{squares:?}");
        let lines = |shape: &&Shape| matches!(shape, Shape::Line(_, _, 2));
        assert_eq!(scene.shapes.iter().filter(lines).count(), 1);
    }
}

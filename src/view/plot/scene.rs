//! What a picture consists of, before it is drawn: a few kinds of shapes, in pixels from the left upper corner.

use super::super::colour::Rgb;

/// Pixels between the lines of a hatching.
const HATCH: f64 = 6.0;

/// Pixels of a border.
const BORDER: f64 = 3.0;

/// Text of the pictures, by size in pixels.
pub(super) const SMALL: f64 = 12.0;
/// Headings.
pub(super) const LARGE: f64 = 16.0;

/// Where a text stands next to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The text begins at the point.
    Left,
    /// Its middle is there.
    Middle,
    /// It ends there.
    Right,
    /// It runs upwards and begins there.
    Upwards,
}

/// One shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A filled rectangle: left, top, right, bottom.
    Rectangle([f64; 4], Rgb),
    /// Straight lines from point to point, so many pixels wide.
    Line(Vec<(f64, f64)>, Rgb, u32),
    /// A filled area that lets shine through what is below.
    Veil(Vec<(f64, f64)>, Rgb),
    /// Text, its size, and where it stands next to its point; the point's height is the text's middle.
    Text(String, (f64, f64), f64, Anchor),
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Later ones lie on earlier ones.
    pub(super) shapes: Vec<Shape>,
}

impl Scene {
    /// An empty picture.
    pub(super) fn new(width: u32, height: u32) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    /// Appends a filled rectangle.
    pub(super) fn rectangle(&mut self, corners: [f64; 4], colour: Rgb) {
        self.shapes.push(Shape::Rectangle(corners, colour));
    }

    /// Appends a line.
    pub(super) fn line(&mut self, points: impl Into<Vec<(f64, f64)>>, colour: Rgb, width: u32) {
        self.shapes.push(Shape::Line(points.into(), colour, width));
    }

    /// Appends the outline of a rectangle.
    pub(super) fn frame(&mut self, [left, top, right, bottom]: [f64; 4], colour: Rgb) {
        self.line([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], colour, 1);
    }

    /// Appends a border inside a rectangle, which covers all of a small one.
    pub(super) fn border(&mut self, [left, top, right, bottom]: [f64; 4], colour: Rgb) {
        let (wide, high) = (BORDER.min(right - left), BORDER.min(bottom - top));
        self.rectangle([left, top, right, top + high], colour);
        self.rectangle([left, bottom - high, right, bottom], colour);
        self.rectangle([left, top, left + wide, bottom], colour);
        self.rectangle([right - wide, top, right, bottom], colour);
    }

    /// Appends a text.
    pub(super) fn text(&mut self, text: impl Into<String>, at: (f64, f64), size: f64, anchor: Anchor) {
        self.shapes.push(Shape::Text(text.into(), at, size, anchor));
    }

    /// Appends a rectangle that is filled with slanting lines.
    pub(super) fn hatching(&mut self, [left, top, right, bottom]: [f64; 4], ground: Rgb, colour: Rgb) {
        self.rectangle([left, top, right, bottom], ground);
        let first = ((left + top) / HATCH).ceil() as i64;
        let last = ((right + bottom) / HATCH).floor() as i64;
        for number in first..=last {
            // The points of a line have the same sum of coordinates.
            let sum = number as f64 * HATCH;
            let (from, to) = ((sum - bottom).max(left), (sum - top).min(right));
            if from < to {
                self.line([(from, sum - from), (to, sum - to)], colour, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hatching_stays_inside() {
        let mut scene = Scene::new(100, 100);
        scene.hatching([10.0, 20.0, 40.0, 33.0], Rgb(0, 0, 0), Rgb(9, 9, 9));
        let points = scene.shapes.iter().filter_map(|shape| match shape {
            Shape::Line(points, ..) => Some(points.clone()),
            _ => None,
        });
        let points: Vec<_> = points.flatten().collect();
        assert!(points.len() >= 8);
        assert!(points.iter().all(|(x, y)| (10.0..=40.0).contains(x) && (20.0..=33.0).contains(y)), "{points:?}");
    }
}

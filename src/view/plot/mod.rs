//! Pictures for tickets and papers, as PNG or SVG: a matrix, one row or column over all lengths, one pair, a histogram.
//!
//! In: finished values and what they mean. Out: the bytes of a picture. Shapes are laid out in a [`Scene`] ([`raster`],
//! [`chart`]) and drawn by plotters, with a typeface that is part of the program: no font of the machine is asked for.
//! Colours are those of the terminal and of the report; missing cells are hatched.

pub mod chart;
pub mod curves;
pub mod raster;
mod scene;

use std::sync::Once;

use plotters::{
    backend::{BitMapBackend, DrawingBackend, SVGBackend},
    element::{PathElement, Polygon, Rectangle, Text},
    prelude::IntoDrawingArea,
    style::{
        Color, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};

pub use self::scene::Scene;
use self::scene::{Anchor, Shape};
use super::{
    Scale,
    colour::{self, Rgb},
};
use crate::record::BoxError;

/// How places between the ends of a scale are painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colouring {
    /// Viridis: bright is slow.
    Perceptual,
    /// As in network_tests2: black is slow.
    Grey,
}

impl Colouring {
    fn of_place(self, place: f64) -> Rgb {
        match self {
            Self::Perceptual => colour::of_place(place),
            Self::Grey => {
                let level = (250.0 - 242.0 * place).round() as u8;
                Rgb(level, level, level)
            }
        }
    }
}

/// Form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Pixels.
    Png,
    /// Shapes that can be made larger.
    Svg,
}

/// Whatever stands between cells, and text.
static INK: RGBColor = RGBColor(27, 31, 36);
const FAINT: Rgb = Rgb(200, 205, 212);
const ACCENT: Rgb = Rgb(11, 98, 196);
const EMPTY: Rgb = Rgb(195, 200, 206);
const HATCH: Rgb = Rgb(194, 24, 91);
const HATCH_GROUND: Rgb = Rgb(251, 227, 236);

/// Pixels of a PNG are means of so many squared: letters are set to whole pixels, and would stand unevenly.
const FINENESS: u32 = 3;

/// Larger pictures have no need of that.
const MOST_FINE: u32 = 4_000_000;

/// Plotters' own name of the typeface in SVG files, which viewers replace by theirs.
const FONT: &str = "sans-serif";

impl Scene {
    /// The picture as the content of a file.
    pub fn encode(&self, form: Form) -> Result<Vec<u8>, BoxError> {
        static FONT_IS_KNOWN: Once = Once::new();
        FONT_IS_KNOWN.call_once(|| {
            // Cannot fail: the typeface is part of the program, and the tests draw with it.
            let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::HACK_REGULAR);
        });
        match form {
            Form::Svg => {
                let mut text = String::new();
                self.draw(SVGBackend::with_string(&mut text, (self.width, self.height)), 1)?;
                Ok(text.into_bytes())
            }
            Form::Png => {
                let fineness = if self.width * self.height <= MOST_FINE { FINENESS } else { 1 };
                let (width, height) = (self.width * fineness, self.height * fineness);
                let mut pixels = vec![0; 3 * (width * height) as usize];
                self.draw(BitMapBackend::with_buffer(&mut pixels, (width, height)), fineness)?;
                self.compress(&averaged(&pixels, width as usize, fineness as usize))
            }
        }
    }

    /// `pixels`: `[row][column][red, green, blue]`.
    fn compress(&self, pixels: &[u8]) -> Result<Vec<u8>, BoxError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels)?;
        writer.finish()?;
        Ok(bytes)
    }

    /// `fineness`: pixels of the backend in a row for one of the scene.
    fn draw<B: DrawingBackend>(&self, backend: B, fineness: u32) -> Result<(), BoxError>
    where
        B::ErrorType: 'static,
    {
        let area = backend.into_drawing_area();
        area.fill(&WHITE)?;
        let fine = f64::from(fineness);
        let pixel = |(x, y): (f64, f64)| ((x * fine).round() as i32, (y * fine).round() as i32);
        // Edges of cells lie between pixels, so that they stay sharp.
        let corner = |(x, y): (f64, f64)| pixel((x.round(), y.round()));
        let all = |points: &[(f64, f64)]| points.iter().map(|point| pixel(*point)).collect::<Vec<_>>();
        for shape in &self.shapes {
            match shape {
                Shape::Rectangle([left, top, right, bottom], colour) => {
                    let corners = [corner((*left, *top)), corner((*right, *bottom))];
                    area.draw(&Rectangle::new(corners, painted(*colour).filled()))?;
                }
                Shape::Line(points, colour, width) => {
                    area.draw(&PathElement::new(all(points), painted(*colour).stroke_width(*width * fineness)))?;
                }
                Shape::Veil(points, colour) => {
                    area.draw(&Polygon::new(all(points), ShapeStyle::from(painted(*colour).mix(0.2)).filled()))?;
                }
                Shape::Text(text, at, size, anchor) => {
                    area.draw(&Text::new(text.as_str(), pixel(*at), written(*size * fine, *anchor)))?;
                }
            }
        }
        area.present()?;
        Ok(())
    }
}

/// Means of squares of `fineness` x `fineness` pixels, `[row][column][red, green, blue]`, `width` pixels in a row.
fn averaged(pixels: &[u8], width: usize, fineness: usize) -> Vec<u8> {
    let rows = pixels.chunks_exact(3 * width * fineness);
    let mean = |rows: &[u8], at: usize, channel: usize| {
        let squares = rows.chunks_exact(3 * width).flat_map(|row| &row[3 * fineness * at..3 * fineness * (at + 1)]);
        let sum: usize = squares.skip(channel).step_by(3).map(|value| usize::from(*value)).sum();
        (sum / (fineness * fineness)) as u8
    };
    let columns = width / fineness;
    rows.flat_map(|rows| (0..3 * columns).map(move |at| mean(rows, at / 3, at % 3))).collect()
}

fn painted(Rgb(r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

fn written(size: f64, anchor: Anchor) -> TextStyle<'static> {
    let style = TextStyle::from((FONT, size)).color(&INK);
    let beside = |horizontal| style.pos(Pos::new(horizontal, VPos::Center));
    match anchor {
        Anchor::Left => beside(HPos::Left),
        Anchor::Middle => beside(HPos::Center),
        Anchor::Right => beside(HPos::Right),
        Anchor::Upwards => TextStyle::from((FONT, size).into_font().transform(FontTransform::Rotate270))
            .color(&INK)
            .pos(Pos::new(HPos::Left, VPos::Center)),
    }
}

/// The colours from left to right, and the values that some of them stand for.
fn legend(
    scene: &mut Scene,
    [left, top, right, bottom]: [f64; 4],
    scale: Scale,
    colouring: Colouring,
    value: &dyn Fn(f64) -> String,
) {
    const STEPS: usize = 200;
    let values = if scale.low < scale.high { (((right - left) / 80.0) as usize).clamp(2, 6) } else { 2 };
    let x = |place: f64| left + (right - left) * place;
    for step in 0..STEPS {
        let place = |step: usize| step as f64 / STEPS as f64;
        scene.rectangle(
            [x(place(step)), top, x(place(step + 1)), bottom],
            colouring.of_place(step as f64 / (STEPS - 1) as f64),
        );
    }
    scene.frame([left, top, right, bottom], FAINT);
    for number in 0..values {
        let place = number as f64 / (values - 1) as f64;
        let anchor = match number {
            0 => Anchor::Left,
            _ if number + 1 == values => Anchor::Right,
            _ => Anchor::Middle,
        };
        scene.text(value(scale.at(place)), (x(place), bottom + 12.0), scene::SMALL, anchor);
    }
}

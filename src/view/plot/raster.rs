//! Cells as a picture: a matrix, or one row or column over all lengths.

use super::{
    Colouring, EMPTY, FAINT, HATCH, HATCH_GROUND, Scene, legend,
    scene::{Anchor, LARGE, SMALL},
};
use crate::{
    analysis::blocks::Block,
    record::Statistic,
    view::{Scale, amount, names::shortened},
};

/// Pixels next to the cells.
const LEFT: f64 = 130.0;
const TOP: f64 = 150.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 84.0;

/// Longest label, in characters.
const LONGEST: usize = 14;

/// Cells and what they mean.
#[derive(Clone, Debug)]
pub struct Raster<'a> {
    /// What is shown.
    pub title: String,
    /// What rows and columns are.
    pub axes: &'a str,
    /// What the values are.
    pub statistic: Statistic,
    /// Names of the rows, from top to bottom.
    pub rows: Vec<String>,
    /// Names of the columns, from left to right.
    pub columns: Vec<String>,
    /// `[row][column]`.
    pub cells: &'a [Vec<Block>],
    /// Cells of which payloads arrived damaged, `[row][column]`: they are framed.
    pub damaged: &'a [Vec<bool>],
    /// What the colours mean.
    pub scale: Scale,
    /// The colours.
    pub colouring: Colouring,
}

impl Raster<'_> {
    /// Lays it out in so many pixels.
    pub fn scene(&self, width: u32, height: u32) -> Scene {
        let mut scene = Scene::new(width, height);
        let frame = [LEFT, TOP, f64::from(width) - RIGHT, f64::from(height) - BOTTOM];
        scene.text(&self.title, (12.0, 20.0), LARGE, Anchor::Left);
        scene.text(self.axes, (12.0, 42.0), SMALL, Anchor::Left);
        self.cells(&mut scene, frame);
        self.labels(&mut scene, frame);
        let [left, _, right, bottom] = frame;
        let value = |value| amount(self.statistic, value);
        if self.cells.iter().flatten().any(|block| matches!(block, Block::Value(_))) {
            legend(&mut scene, [left, bottom + 16.0, right, bottom + 32.0], self.scale, self.colouring, &value);
        }
        self.key(&mut scene, left, bottom + 68.0);
        scene
    }

    fn cells(&self, scene: &mut Scene, [left, top, right, bottom]: [f64; 4]) {
        // Below everything, so that it is of one piece.
        if self.has(Block::Missing) {
            scene.hatching([left, top, right, bottom], HATCH_GROUND, HATCH);
        }
        let y = |row: usize| top + (bottom - top) * row as f64 / self.rows.len() as f64;
        let x = |column: usize| left + (right - left) * column as f64 / self.columns.len() as f64;
        for (row, cells) in self.cells.iter().enumerate() {
            let mut column = 0;
            // Equal neighbours are one rectangle: files stay small.
            for run in cells.chunk_by(|a, b| self.colour(*a) == self.colour(*b)) {
                let corners = [x(column), y(row), x(column + run.len()), y(row + 1)];
                if let Some(colour) = self.colour(run[0]) {
                    scene.rectangle(corners, colour);
                }
                column += run.len();
            }
        }
        for (row, damaged) in self.damaged.iter().enumerate() {
            for column in (0..damaged.len()).filter(|column| damaged[*column]) {
                // Inside the cell, so that it covers no other one, and a small cell as a whole.
                scene.border([x(column), y(row), x(column + 1), y(row + 1)], HATCH);
            }
        }
        scene.frame([left, top, right, bottom], FAINT);
    }

    fn has(&self, wanted: Block) -> bool {
        self.cells.iter().flatten().any(|block| *block == wanted)
    }

    /// `None` is hatched.
    fn colour(&self, block: Block) -> Option<super::Rgb> {
        match block {
            Block::Value(value) => Some(self.colouring.of_place(self.scale.place(value))),
            Block::Empty => Some(EMPTY),
            Block::Missing => None,
        }
    }

    fn labels(&self, scene: &mut Scene, [left, top, right, bottom]: [f64; 4]) {
        for (row, label) in spaced(&self.rows, bottom - top) {
            let y = top + (bottom - top) * (row as f64 + 0.5) / self.rows.len() as f64;
            scene.text(shortened(label.clone(), LONGEST), (left - 6.0, y), SMALL, Anchor::Right);
        }
        for (column, label) in spaced(&self.columns, right - left) {
            let x = left + (right - left) * (column as f64 + 0.5) / self.columns.len() as f64;
            scene.text(shortened(label.clone(), LONGEST), (x, top - 6.0), SMALL, Anchor::Upwards);
        }
    }

    /// What has no colour of the legend.
    fn key(&self, scene: &mut Scene, left: f64, y: f64) {
        let mut x = left;
        for (block, text) in [(Block::Missing, "missing"), (Block::Empty, "diagonal, not scheduled")] {
            if !self.has(block) {
                continue;
            }
            let corners = [x, y - 6.0, x + 24.0, y + 6.0];
            match block {
                Block::Missing => scene.hatching(corners, HATCH_GROUND, HATCH),
                _ => scene.rectangle(corners, EMPTY),
            }
            scene.text(text, (x + 30.0, y), SMALL, Anchor::Left);
            x += 48.0 + 8.0 * text.len() as f64;
        }
        if self.damaged.iter().flatten().any(|is_damaged| *is_damaged) {
            scene.border([x, y - 6.0, x + 24.0, y + 6.0], HATCH);
            scene.text("payloads damaged", (x + 30.0, y), SMALL, Anchor::Left);
        }
    }
}

/// Labels at even distances, as many as there is room for.
fn spaced(labels: &[String], pixels: f64) -> impl Iterator<Item = (usize, &String)> {
    let most = (pixels / (SMALL + 3.0)).max(1.0) as usize;
    let needed = labels.len().div_ceil(most).max(1);
    let step = [1, 2, 5, 10, 20, 50, 100, 200, 500].into_iter().find(|step| *step >= needed).unwrap_or(needed);
    labels.iter().enumerate().step_by(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{
        ScaleKind,
        plot::{Form, scene::Shape},
    };

    fn scene(cells: &[Vec<Block>], damaged: &[Vec<bool>]) -> Scene {
        let names = |count: usize| (0..count).map(|k| format!("a-host-with-a-long-name-{k}")).collect::<Vec<_>>();
        let raster = Raster {
            title: "median of <one_to_one>".into(),
            axes: "row = source",
            statistic: Statistic::Median,
            rows: names(cells.len()),
            columns: names(cells[0].len()),
            cells,
            damaged,
            scale: Scale::between(1e-6, 4e-6, ScaleKind::Log),
            colouring: Colouring::Grey,
        };
        raster.scene(600, 500)
    }

    #[test]
    fn equal_neighbours_are_one_rectangle_and_missing_cells_are_hatched() {
        let value = Block::Value;
        let scene = scene(
            &[vec![value(1e-6), value(1e-6), Block::Missing], vec![value(4e-6), Block::Empty, Block::Empty]],
            &[],
        );
        let width = (600.0 - LEFT - RIGHT) / 3.0;
        let wide =
            |shape: &&Shape| matches!(shape, Shape::Rectangle([a, _, b, _], _) if (b - a - 2.0 * width).abs() < 1e-6);
        assert_eq!(scene.shapes.iter().filter(wide).count(), 2);
        let slanting = |shape: &&Shape| matches!(shape, Shape::Line(_, colour, _) if *colour == HATCH);
        assert!(scene.shapes.iter().filter(slanting).count() > 20);
        let texts: Vec<_> = scene
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Text(text, ..) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(
            texts.contains(&"missing") && texts.contains(&"1.00 us") && texts.contains(&"~a-long-name-0"),
            "{texts:?}"
        );
    }

    #[test]
    fn both_forms_are_files_of_their_kind() {
        let scene = scene(&[vec![Block::Value(1e-6), Block::Missing]], &[]);
        let svg = String::from_utf8(scene.encode(Form::Svg).unwrap()).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("&lt;one_to_one&gt;"), "{svg}");
        let png = scene.encode(Form::Png).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        assert_eq!((reader.info().width, reader.info().height), (600, 500));
    }

    #[test]
    fn pixels_have_the_colours_of_their_cells() {
        let cells = [vec![Block::Value(1e-6), Block::Value(4e-6)], vec![Block::Missing, Block::Empty]];
        let scene = scene(&cells, &[vec![false, true], vec![false, false]]);
        let png = scene.encode(Form::Png).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let (width, height) = ((600.0 - LEFT - RIGHT) / 2.0, (500.0 - TOP - BOTTOM) / 2.0);
        // `dx`, `dy`: pixels from the left upper corner of the cell.
        let pixel = |row: usize, column: usize, dx: f64, dy: f64| {
            let (x, y) = (LEFT + width * column as f64 + dx, TOP + height * row as f64 + dy);
            let at = 3 * (y as usize * 600 + x as usize);
            crate::view::colour::Rgb(pixels[at], pixels[at + 1], pixels[at + 2])
        };
        let middle = |row, column| pixel(row, column, width / 2.0, height / 2.0);
        assert_eq!(middle(0, 0), Colouring::Grey.of_place(0.0));
        assert_eq!(middle(0, 1), Colouring::Grey.of_place(1.0));
        assert_eq!(middle(1, 1), EMPTY);
        let hatched: Vec<_> = (0..40).map(|dx| pixel(1, 0, 50.0 + f64::from(dx), 50.0)).collect();
        assert!(hatched.contains(&HATCH_GROUND) && !hatched.contains(&EMPTY), "{hatched:?}");
        // The frame of damage lies in its own cell.
        assert_eq!([pixel(0, 1, 1.0, 60.0), pixel(0, 1, 60.0, 1.0)], [HATCH; 2]);
        assert_eq!(pixel(0, 0, width - 2.0, 60.0), Colouring::Grey.of_place(0.0));
    }

    #[test]
    fn labels_keep_their_distance() {
        let labels: Vec<String> = (0..100).map(|k| k.to_string()).collect();
        let places = |pixels| spaced(&labels, pixels).map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!(places(1500.0).len(), 100);
        assert_eq!(places(450.0), (0..100).step_by(5).collect::<Vec<_>>());
        assert_eq!(places(1.0), [0]);
    }
}

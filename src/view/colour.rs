//! Colours of a terminal, as far as it has them.
//!
//! Values are painted with viridis, which differs in lightness all along and can be read by people who do not see all
//! colours. What is no value is painted in colours that viridis does not have.

use std::{fmt::Write as _, io};

/// The colours that whoever looks at a text can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// None, and nothing beyond ASCII.
    None,
    /// The 256 colours of xterm.
    Palette,
    /// 24 bits.
    True,
}

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rgb(pub u8, pub u8, pub u8);

/// Cells without a value.
pub(super) const MISSING: Rgb = Rgb(230, 0, 50);

/// The diagonal.
pub(super) const NEUTRAL: Rgb = Rgb(118, 118, 118);

/// Colour of a place from 0 (dark) to 1 (bright).
pub(super) fn of_place(place: f64) -> Rgb {
    let colorous::Color { r, g, b } = colorous::VIRIDIS.eval_continuous(place);
    Rgb(r, g, b)
}

/// From low to high without colours: ever more ink. Blank is left for what is not painted.
const INK: &[u8] = b".:-=+*#%@";

/// Character of a place from 0 to 1.
pub(super) fn ink_of_place(place: f64) -> char {
    let last = INK.len() - 1;
    char::from(INK[((place * INK.len() as f64) as usize).min(last)])
}

/// The nearest of xterm's 6 x 6 x 6 cube and its greys.
fn palette(Rgb(r, g, b): Rgb) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = |value: u8| (0..6).min_by_key(|&k| STEPS[k].abs_diff(value)).unwrap_or(0);
    let [kr, kg, kb] = [r, g, b].map(nearest);
    let grey =
        (0..24u8).min_by_key(|k| (8 + 10 * k).abs_diff(((u16::from(r) + u16::from(g) + u16::from(b)) / 3) as u8));
    let grey = grey.unwrap_or(0);
    let distance = |x: u8, y: u8, z: u8| {
        [(x, r), (y, g), (z, b)].into_iter().map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum::<u32>()
    };
    let shade = 8 + 10 * grey;
    match distance(STEPS[kr], STEPS[kg], STEPS[kb]) <= distance(shade, shade, shade) {
        true => (16 + 36 * kr + 6 * kg + kb) as u8,
        false => 232 + grey,
    }
}

/// A line of text whose colours change; says so only where they do.
#[derive(Debug)]
pub(super) struct Line {
    colours: Colours,
    text: String,
    now: (Option<Rgb>, Option<Rgb>),
}

impl Line {
    /// An empty line.
    pub fn new(colours: Colours) -> Self {
        Self { colours, text: String::new(), now: (None, None) }
    }

    /// Appends `text`, written in one colour on another; `None` is the terminal's own.
    pub fn paint(&mut self, text: &str, ink: Option<Rgb>, ground: Option<Rgb>) {
        if self.colours != Colours::None && self.now != (ink, ground) {
            // Going back to the terminal's own colours needs a reset; then the other one has to be said again.
            if (self.now.0.is_some() && ink.is_none()) || (self.now.1.is_some() && ground.is_none()) {
                self.text += "\x1b[0m";
                self.now = (None, None);
            }
            for (code, old, new) in [(38, self.now.0, ink), (48, self.now.1, ground)] {
                if let (Some(colour), true) = (new, old != new) {
                    self.switch(code, colour);
                }
            }
            self.now = (ink, ground);
        }
        self.text += text;
    }

    fn switch(&mut self, code: u8, colour: Rgb) {
        let Rgb(r, g, b) = colour;
        let written = match self.colours {
            Colours::True => write!(self.text, "\x1b[{code};2;{r};{g};{b}m"),
            _ => write!(self.text, "\x1b[{code};5;{}m", palette(colour)),
        };
        written.expect("writing to a String cannot fail");
    }

    /// Appends text in the terminal's own colours.
    pub fn plain(&mut self, text: &str) {
        self.paint(text, None, None);
    }

    /// Ends the line and writes it.
    pub fn write(mut self, out: &mut dyn io::Write) -> io::Result<()> {
        self.plain("");
        writeln!(out, "{}", self.text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: Line) -> String {
        let mut text = Vec::new();
        line.write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn colours_are_said_where_they_change() {
        let mut line = Line::new(Colours::True);
        line.plain("a ");
        line.paint("b", None, Some(Rgb(1, 2, 3)));
        line.paint("c", None, Some(Rgb(1, 2, 3)));
        line.paint("d", Some(Rgb(4, 5, 6)), Some(Rgb(1, 2, 3)));
        line.paint("e", Some(Rgb(4, 5, 6)), None);
        assert_eq!(written(line), "a \x1b[48;2;1;2;3mbc\x1b[38;2;4;5;6md\x1b[0m\x1b[38;2;4;5;6me\x1b[0m\n");
    }

    #[test]
    fn without_colours_only_text_is_left() {
        let mut line = Line::new(Colours::None);
        line.paint("a", Some(MISSING), Some(NEUTRAL));
        line.plain("  ");
        assert_eq!(written(line), "a\n");
    }

    #[test]
    fn the_palette_has_the_nearest_colour() {
        assert_eq!(palette(Rgb(0, 0, 0)), 16);
        assert_eq!(palette(Rgb(255, 255, 255)), 231);
        assert_eq!(palette(Rgb(118, 118, 118)), 243);
        assert_eq!(palette(Rgb(95, 135, 175)), 67);
    }

    #[test]
    fn places_have_colours_and_ink() {
        assert_eq!(of_place(0.0), Rgb(68, 1, 84));
        assert_eq!([0.0, 0.5, 1.0].map(ink_of_place), ['.', '+', '@']);
    }
}

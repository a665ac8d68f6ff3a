//! What whoever looks at standard output can see.

use std::{
    env,
    io::{self, IsTerminal},
};

use netmatrix::view::Colours;
use supports_color::Stream;

/// Width of output that goes to no terminal.
const DEFAULT_WIDTH: usize = 100;

/// When to paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On terminals that have colours, unless NO_COLOR is set
    Auto,
    /// Even into files and pipes, such as `less -R`
    Always,
    /// ASCII characters only
    Never,
}

impl ColorChoice {
    /// The colours to use on standard output. 16 colours are too few to show a range of values: they count as none.
    pub fn colours(self) -> Colours {
        match self {
            Self::Never => Colours::None,
            Self::Auto => match supports_color::on(Stream::Stdout) {
                Some(level) if level.has_16m => Colours::True,
                Some(level) if level.has_256 => Colours::Palette,
                _ => Colours::None,
            },
            Self::Always => match env::var("COLORTERM").as_deref() {
                Ok("truecolor" | "24bit") => Colours::True,
                _ => Colours::Palette,
            },
        }
    }
}

/// Columns and lines of the terminal; of what is no terminal, a usual width and no limit of lines.
pub fn size() -> (usize, Option<usize>) {
    match terminal_size::terminal_size() {
        Some((width, height)) if io::stdout().is_terminal() => (width.0.into(), Some(height.0.into())),
        _ => (DEFAULT_WIDTH, None),
    }
}

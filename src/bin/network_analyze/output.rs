//! Where results and messages go: standard output and standard error.

use std::io::{self, BufWriter, Write};

use super::failure::Failure;

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs: one JSON document, nothing else
    Json,
}

/// Writes a result to standard output.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(Failure::stdout)
}

/// Writes a result to standard output as one JSON document.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::internal)?;
    print(|out| writeln!(out, "{text}"))
}

/// Says something about a result to whoever looks at standard error.
pub fn note(text: &str) {
    // Whoever closed standard error does not want to know.
    let _ = writeln!(io::stderr(), "note: {text}");
}

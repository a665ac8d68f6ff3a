//! Where results and messages go: standard output and standard error.

use std::io::{self, BufWriter, Write};

use netmatrix::record::BoxError;

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

/// A pipe that remembers whether its reader has gone away: errors on their way through other hands do not always tell.
pub struct Pipe<W> {
    out: W,
    is_closed: bool,
}

impl<W: Write> Pipe<W> {
    /// Into `out`.
    pub fn new(out: W) -> Self {
        Self { out, is_closed: false }
    }

    /// What it means that writing ended with `error`.
    pub fn failure(&self, error: BoxError, name: &str) -> Failure {
        match self.is_closed {
            true => Failure::ClosedPipe,
            false => Failure::Files(anyhow::Error::from_boxed(error).context(format!("cannot write to {name}"))),
        }
    }

    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.watch(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.watch(result)
    }
}

/// Says something about a result to whoever looks at standard error.
pub fn note(text: &str) {
    // Whoever closed standard error does not want to know.
    let _ = writeln!(io::stderr(), "note: {text}");
}

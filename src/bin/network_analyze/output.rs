//! Where results and messages go: standard output, standard error, files.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use anyhow::Context;
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

/// Writes a file beside `path` and renames it at the end: what bears its name is whole. `force` replaces an existing
/// one.
pub fn write_file(
    path: &Path,
    force: bool,
    write: impl Fn(&mut dyn Write) -> Result<(), BoxError>,
) -> Result<(), Failure> {
    let named = |action: &str| format!("cannot {action} `{}`", path.display());
    let target = match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(Failure::files(format!("`{}` is a folder: name a file in it", path.display())));
        }
        Ok(found) if !found.is_file() => return write_device(path, write),
        Ok(_) if !force => {
            let text = format!("`{}` exists: name another file, or replace it with --force", path.display());
            return Err(Failure::files(text));
        }
        // A link stays a link: what it leads to is replaced.
        Ok(_) => fs::canonicalize(path).with_context(|| named("find")).map_err(Failure::Files)?,
        Err(_) => path.to_owned(),
    };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let text = format!("the folder `{}` does not exist: create it, or choose another one", folder.display());
        return Err(Failure::files(text));
    }
    let new = tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
    let mut new = new.with_context(|| named("create")).map_err(Failure::Files)?;
    write(new.as_file_mut())
        .map_err(anyhow::Error::from_boxed)
        .with_context(|| named("write"))
        .map_err(Failure::Files)?;
    let kept = if force { new.persist(&target) } else { new.persist_noclobber(&target) };
    kept.map(drop).map_err(|error| error.error).with_context(|| named("write")).map_err(Failure::Files)
}

/// Writes into a pipe or a device that has a name.
fn write_device(path: &Path, write: impl Fn(&mut dyn Write) -> Result<(), BoxError>) -> Result<(), Failure> {
    let name = format!("`{}`", path.display());
    let device = OpenOptions::new().write(true).open(path);
    let device = device.with_context(|| format!("cannot open {name}")).map_err(Failure::Files)?;
    let mut pipe = Pipe::new(device);
    write(&mut pipe).map_err(|error| pipe.failure(error, &name))
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

//! Where results and messages go: standard output, standard error, files.
//!
//! Whatever came from outside passes here: characters that control a terminal or cannot be seen are written as
//! `\u{1b}`, in JSON as `\u001b`.

use std::{
    fmt::Write as _,
    io::{self, BufWriter, Write},
    path::Path,
    thread,
};

use netmatrix::{
    record::BoxError,
    store::{self, FileIds, Output},
    units::{is_hidden, shown},
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level,
};

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
    print_with(false, write)
}

/// As [`print()`], of pictures: with the colours that they have.
pub fn print_picture(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    print_with(true, write)
}

fn print_with(colours: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = Visible::new(BufWriter::new(io::stdout().lock()), colours);
    write(&mut out).and_then(|()| out.flush()).map_err(Failure::stdout)
}

/// As [`print()`], of what takes errors of other kinds on their way.
pub fn print_any(write: impl FnOnce(&mut dyn Write) -> Result<(), BoxError>) -> Result<(), Failure> {
    let mut out = Visible::new(BufWriter::new(io::stdout().lock()), false);
    write(&mut out).and_then(|()| Ok(out.flush()?)).map_err(|error| match error.downcast::<io::Error>() {
        Ok(error) => Failure::stdout(*error),
        Err(error) => Failure::files(error),
    })
}

/// Writes a result to standard output as one JSON document.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = json(value)?;
    print(|out| writeln!(out, "{text}"))
}

/// A JSON document in which everything can be seen.
pub fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::internal)?;
    let is_inside = |char: char| is_hidden(char) && char != '\n';
    if !text.contains(is_inside) {
        return Ok(text);
    }
    let mut visible = String::with_capacity(text.len());
    for char in text.chars() {
        if is_inside(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                // Such characters stand in texts alone. Writing to a string does not fail.
                let _ = write!(visible, "\\u{unit:04x}");
            }
        } else {
            visible.push(char);
        }
    }
    Ok(visible)
}

/// A file to write: found out to be writable before any work is done. `inputs` are never replaced.
pub fn begin(path: &Path, force: bool, inputs: &[&Path]) -> Result<Output, Failure> {
    remove_unfinished_on_signals();
    let inputs: Vec<FileIds> = inputs.iter().map(|path| FileIds::of(path)).collect();
    Output::new(path, force, &inputs).map_err(Failure::files)
}

/// Writes a file; how many bytes it has.
pub fn finish(output: Output, write: impl FnOnce(&mut dyn Write) -> Result<(), BoxError>) -> Result<u64, Failure> {
    let written = output.write(|out| {
        let mut out = BufWriter::new(out);
        write(&mut out)?;
        Ok(out.flush()?)
    });
    written.map_err(|error| match error.downcast_ref::<store::StoreError>() {
        Some(store::StoreError::Io { cause, .. }) if cause.kind() == io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::files(error),
    })
}

/// Writes a result set; `inputs` are never replaced.
pub fn write_set(
    run: &dyn netmatrix::record::Run,
    prefix: &Path,
    force: bool,
    inputs: &[&Path],
) -> Result<(), Failure> {
    remove_unfinished_on_signals();
    let own = FileIds::of(prefix);
    if inputs.iter().any(|input| FileIds::of(input).meet(&own)) {
        let text = format!("`{}` is read by this command: choose another prefix to write", prefix.display());
        return Err(Failure::files(text));
    }
    store::write_run(run, prefix, force).map_err(Failure::files)
}

/// Nothing unfinished stays when somebody ends the program: a thread waits for the signals by which that is done.
fn remove_unfinished_on_signals() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // Without it nothing is lost but the tidiness.
        let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
        let _ = thread::Builder::new().spawn(move || {
            for signal in signals.forever() {
                store::remove_unfinished();
                // Ends the program as the signal would have done.
                let _ = low_level::emulate_default_handler(signal);
            }
        });
    });
}

/// Text on its way to people: what could control their terminal is shown instead, but for line ends and, in pictures,
/// the colours of this program.
struct Visible<W> {
    out: W,
    colours: bool,
    /// Bytes of a character of which the rest has not come.
    begun: Vec<u8>,
}

impl<W: Write> Visible<W> {
    fn new(out: W, colours: bool) -> Self {
        Self { out, colours, begun: Vec::new() }
    }

    fn write_text(&mut self, mut text: &str) -> io::Result<()> {
        let is_control = |char: char| is_hidden(char) && char != '\n';
        while let Some(place) = text.find(is_control) {
            let (before, rest) = text.split_at(place);
            self.out.write_all(before.as_bytes())?;
            let own = colour(rest).filter(|_| self.colours);
            let end = own.unwrap_or_else(|| rest.chars().next().map_or(0, char::len_utf8));
            let (found, behind) = rest.split_at(end);
            let shown = if own.is_some() { found.into() } else { shown(found) };
            self.out.write_all(shown.as_bytes())?;
            text = behind;
        }
        self.out.write_all(text.as_bytes())
    }
}

/// Bytes of the colour that a text begins with: `ESC [ digits and semicolons m`.
fn colour(text: &str) -> Option<usize> {
    let (numbers, _) = text.strip_prefix("\x1b[")?.split_once('m')?;
    numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';').then_some(numbers.len() + 3)
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len();
        let joined = [std::mem::take(&mut self.begun), bytes.to_vec()].concat();
        for chunk in joined.utf8_chunks() {
            self.write_text(chunk.valid())?;
            // Part of a character at the end may go on with the next bytes.
            let is_end = joined.as_ptr_range().end == chunk.invalid().as_ptr_range().end;
            match chunk.invalid() {
                [] => {}
                begun
                    if is_end
                        && begun.len() < 4
                        && std::str::from_utf8(begun).is_err_and(|e| e.error_len().is_none()) =>
                {
                    self.begun = begun.to_vec();
                }
                other => other.iter().try_for_each(|byte| write!(self.out, "\\x{byte:02x}"))?,
            }
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Says something about a result to whoever looks at standard error.
pub fn note(text: &str) {
    say(&format!("network_analyze: note: {text}\n"));
}

/// Writes lines to standard error.
pub fn say(text: &str) {
    let mut out = Visible::new(io::stderr().lock(), false);
    // Whoever closed standard error does not want to know.
    let _ = out.write_text(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(parts: &[&[u8]], colours: bool) -> String {
        let mut out = Visible::new(Vec::new(), colours);
        parts.iter().for_each(|part| out.write_all(part).unwrap());
        String::from_utf8(out.out).unwrap()
    }

    #[test]
    fn only_line_ends_and_colours_control_a_terminal() {
        let coloured = b"a\x1b]0;own\x07\nb\x1b[31;1mc\x1b[0m";
        assert_eq!(visible(&[coloured], true), "a\\u{1b}]0;own\\u{7}\nb\x1b[31;1mc\x1b[0m");
        assert_eq!(visible(&[coloured], false), "a\\u{1b}]0;own\\u{7}\nb\\u{1b}[31;1mc\\u{1b}[0m");
        let other = ["\u{202e}\u{9b}31m".as_bytes(), b"\x1b[2J\r"];
        assert_eq!(visible(&other, true), "\\u{202e}\\u{9b}31m\\u{1b}[2J\\r");
        assert_eq!(visible(&[b"\xc3", b"\xb6", b"\xff!", b"\xe2\x96", b"\x80"], true), "ö\\xff!▀");
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a": "\u{9b}\u{202e}\u{1b}\n\u{e0041}"});
        let text = json(&value).unwrap();
        assert!(!text.contains(|char| is_hidden(char) && char != '\n'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}

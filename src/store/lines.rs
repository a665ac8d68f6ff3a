//! The header of a run as lines of text, `# key: value`, which the text form and CSV begin with.
//!
//! Every value stands in one line: a backslash, a line feed and a carriage return are written `\\`, `\n` and `\r`.

use std::{
    collections::BTreeMap,
    fmt::Display,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    schema::{HOSTS_ITEM, hosts_item},
};
use crate::{
    plan::Noise,
    record::{Header, Provenance, Run, Statistic},
    units::{Bytes, Hosts},
};

const PLAN: &str = "plan.";

/// Lines of a text, counted.
pub(super) struct Lines<R> {
    input: R,
    path: PathBuf,
    /// Number of the line that was read last, from 1.
    number: u64,
    /// A line that was read and given back.
    returned: Option<String>,
}

impl<R: BufRead> Lines<R> {
    /// Of `input`, which errors call `path`.
    pub(super) fn new(input: R, path: &Path) -> Self {
        Self { input, path: path.to_owned(), number: 0, returned: None }
    }

    /// The next line without its end; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<String>, StoreError> {
        self.number += 1;
        if let Some(line) = self.returned.take() {
            return Ok(Some(line));
        }
        let mut line = String::new();
        let count = self.input.read_line(&mut line).map_err(StoreError::io("read", &self.path))?;
        while line.ends_with(['\n', '\r']) {
            line.pop();
        }
        Ok((count > 0).then_some(line))
    }

    /// Gives back the line that was read last, to be read again.
    pub(super) fn give_back(&mut self, line: String) {
        self.number -= 1;
        self.returned = Some(line);
    }

    /// A complaint about the line that was read last.
    pub(super) fn error(&self, what: impl Into<String>) -> StoreError {
        StoreError::Line { path: self.path.clone(), line: self.number, what: what.into() }
    }

    /// What is not read yet, and the number of lines before it.
    pub(super) fn rest(self) -> (R, u64) {
        debug_assert!(self.returned.is_none(), "a line that was given back is not lost");
        (self.input, self.number)
    }

    /// Reads the lines `# key: value` up to an empty line, which is read as well.
    pub(super) fn entries(&mut self) -> Result<Vec<(String, String)>, StoreError> {
        let mut entries = Vec::new();
        while let Some(line) = self.next()?.filter(|line| !line.is_empty()) {
            entries.push(self.entry(&line)?);
        }
        Ok(entries)
    }

    /// Takes a line `# key: value` apart.
    pub(super) fn entry(&self, line: &str) -> Result<(String, String), StoreError> {
        let pair = line.strip_prefix("# ").and_then(|line| line.split_once(':'));
        let (key, value) = pair.ok_or_else(|| self.error("is no header line `# key: value`"))?;
        Ok((key.to_owned(), unescaped(value.strip_prefix(' ').unwrap_or(value))))
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => plain.push(match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            }),
            char => plain.push(char),
        }
    }
    plain
}

/// Writes one header line.
pub(super) fn write_entry(out: &mut dyn Write, key: &str, value: impl Display) -> io::Result<()> {
    match escaped(&value.to_string()) {
        value if value.is_empty() => writeln!(out, "# {key}:"),
        value => writeln!(out, "# {key}: {value}"),
    }
}

fn words<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

/// The statistics of a run in the order in which files list them.
pub(super) fn listed(statistics: &[Statistic]) -> Vec<Statistic> {
    let order = Statistic::OF_TIMES.into_iter().chain([Statistic::MeasurementsAmount]);
    order.filter(|statistic| statistics.contains(statistic)).collect()
}

/// Writes the header of a run, and an empty line behind it.
pub(super) fn write_header(run: &dyn Run, format: &str, out: &mut dyn Write) -> io::Result<()> {
    let header = run.header();
    let (begin, end, step) = header.begin_end_step;
    let Noise { length, messages, processes } = header.noise;
    write_entry(out, "format", format)?;
    write_entry(out, "mode", header.mode)?;
    write_entry(out, "statistics", words(listed(run.statistics())))?;
    write_entry(out, "orientation", super::definition::orientation(header))?;
    write_entry(out, "begin_end_step", words([begin.0, end.0, step.0]))?;
    write_entry(out, "lengths_planned", words(header.planned.iter().map(|length| length.0)))?;
    write_entry(out, "iterations", header.iterations)?;
    write_entry(out, "noise", words([length.0, messages.into(), processes as u64]))?;
    for (name, value) in &header.plan {
        // The hosts follow, one by one.
        let value = if name == HOSTS_ITEM { "" } else { value };
        write_entry(out, &format!("{PLAN}{name}"), value)?;
    }
    for (name, value) in header.provenance.entries().into_iter().filter(|entry| !entry.1.is_empty()) {
        write_entry(out, name, value)?;
    }
    for host in header.hosts.name_of_every_rank() {
        write_entry(out, "host", host)?;
    }
    writeln!(out)
}

/// The inverse of [`write_header`]. The error says what is wrong with the header as a whole.
pub(super) fn header_of(entries: Vec<(String, String)>, format: &str) -> Result<(Header, Vec<Statistic>), String> {
    let mut known = BTreeMap::new();
    let mut plan = BTreeMap::new();
    let mut hosts = Vec::new();
    for (key, value) in entries {
        if key == "host" {
            hosts.push(value);
        } else if let Some(name) = key.strip_prefix(PLAN) {
            plan.insert(name.to_owned(), value);
        } else if known.insert(key.clone(), value).is_some() {
            return Err(format!("`# {key}:` stands there twice"));
        }
    }
    let mut take = |key: &str| known.remove(key);
    let found = take("format").unwrap_or_default();
    if found != format {
        return Err(format!("its first line should be `# format: {format}`, but its format is `{found}`"));
    }
    let mut needed = |key: &str| take(key).ok_or_else(|| format!("there is no line `# {key}:`"));
    let mode = needed("mode")?.parse().map_err(|error| format!("{error}"))?;
    let names = needed("statistics")?;
    let statistics: Result<Vec<Statistic>, _> = names.split_whitespace().map(str::parse).collect();
    let statistics = listed(&statistics.map_err(|error| error.to_string())?);
    needed("orientation")?;
    let [begin, end, step] = three("begin_end_step", &needed("begin_end_step")?)?;
    let planned = numbers("lengths_planned", &needed("lengths_planned")?)?.into_iter().map(Bytes).collect();
    let [iterations] = numbers("iterations", &needed("iterations")?)?[..] else {
        return Err("`# iterations:` is not one number".to_owned());
    };
    let [length, messages, processes] = three("noise", &needed("noise")?)?;
    let narrow = |key, number: u64| u32::try_from(number).map_err(|_| format!("`# {key}:` is too large: {number}"));
    let mut header = Header {
        mode,
        hosts: Hosts::new(hosts),
        planned,
        begin_end_step: (Bytes(begin), Bytes(end), Bytes(step)),
        iterations: narrow("iterations", iterations)?,
        noise: Noise { length: Bytes(length), messages: narrow("noise", messages)?, processes: processes as usize },
        plan,
        provenance: Provenance::from_entries(&mut take),
    };
    if header.plan.contains_key(HOSTS_ITEM) {
        header.plan.insert(HOSTS_ITEM.to_owned(), hosts_item(&header));
    }
    match known.keys().next() {
        Some(key) => Err(format!("`# {key}:` is not known to this version")),
        None => super::schema::check_header(&header).map(|()| (header, statistics)),
    }
}

fn numbers(key: &str, text: &str) -> Result<Vec<u64>, String> {
    let numbers: Result<_, _> = text.split_whitespace().map(str::parse).collect();
    numbers.map_err(|_| format!("`# {key}:` is not a list of numbers"))
}

fn three(key: &str, text: &str) -> Result<[u64; 3], String> {
    numbers(key, text)?.try_into().map_err(|_| format!("`# {key}:` is not three numbers"))
}

/// Reads a value of `statistic`; `None` where the text is none.
pub(super) fn value_of(statistic: Statistic, text: &str) -> Option<f64> {
    match statistic {
        Statistic::MeasurementsAmount => text.parse::<u32>().ok().map(f64::from),
        _ => text.parse().ok(),
    }
}

/// A value as text: the shortest that reads back as the same number.
pub(super) struct Exact(pub(super) f64);

impl Display for Exact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.0;
        // Numbers of samples, and zeros, need no exponent.
        let whole = value.fract() == 0.0 && value.abs() < 1e10;
        if whole || !value.is_finite() { write!(f, "{value}") } else { write!(f, "{value:e}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_in_its_line() {
        for text in ["", " a: b ", "line\nline\r\n", "back\\slash\\n", "\\"] {
            let mut line = Vec::new();
            write_entry(&mut line, "key", text).unwrap();
            let line = String::from_utf8(line).unwrap();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            let lines = Lines::new(io::empty(), Path::new("x"));
            assert_eq!(lines.entry(line.trim_end_matches('\n')).unwrap(), ("key".to_owned(), text.to_owned()));
        }
    }

    #[test]
    fn values_are_exact_and_short() {
        for (value, text) in [(1.5e-6, "1.5e-6"), (0.0, "0"), (-0.0, "-0"), (200.0, "200"), (f64::NAN, "NaN")] {
            assert_eq!(Exact(value).to_string(), text);
        }
        assert_eq!(Exact(0.1 + 0.2).to_string().parse(), Ok(0.1 + 0.2));
    }
}

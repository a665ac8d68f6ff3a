//! The header of a run as lines of text, `# key: value`, which the text form and CSV begin with.
//!
//! Every value stands in one line and can be seen: a backslash, a line feed and a carriage return are written `\\`, `\n`
//! and `\r`, other control characters and invisible ones `\u{1b}`.

use std::{
    collections::BTreeMap,
    fmt::Display,
    io::{self, BufRead, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    classic::sound,
    schema::{HOSTS_ITEM, MODE, ORIENTATION, PLANNED, STATISTICS, check_header, hosts_item, orientation},
};
use crate::{
    plan::{Mode, Noise},
    record::{Header, Provenance, Run, Statistic},
    units::{Bytes, Hosts, shown},
};

const PLAN: &str = "plan.";

/// Most bytes of a line: a row of 20,000 values, a list of a million lengths and one of hosts have room in it.
const MOST_OF_A_LINE: usize = 1 << 24;

/// A text of which no line is longer than [`MOST_OF_A_LINE`]: a file without line ends is an error, not a full memory.
pub(super) struct Bounded<R> {
    input: R,
    /// Bytes since the last end of a line.
    since_end: usize,
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.since_end = match buffer[..count].iter().rposition(|byte| *byte == b'\n') {
            Some(place) => count - place - 1,
            None => self.since_end + count,
        };
        self.input.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.since_end > MOST_OF_A_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
        }
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // Whoever reads lines consumes one at most at a time.
        let ends_line = count > 0 && self.input.fill_buf().is_ok_and(|bytes| bytes.get(count - 1) == Some(&b'\n'));
        self.since_end = if ends_line { 0 } else { self.since_end + count };
        self.input.consume(count);
    }
}

/// Lines of a text, counted.
pub(super) struct Lines<R> {
    input: Bounded<R>,
    path: PathBuf,
    /// Number of the line that was read last, from 1.
    number: u64,
    /// A line that was read and given back.
    returned: Option<String>,
}

impl<R: BufRead> Lines<R> {
    /// Of `input`, which errors call `path`.
    pub(super) fn new(input: R, path: &Path) -> Self {
        Self { input: Bounded { input, since_end: 0 }, path: path.to_owned(), number: 0, returned: None }
    }

    /// The next line without its end; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<String>, StoreError> {
        self.number += 1;
        if let Some(line) = self.returned.take() {
            return Ok(Some(line));
        }
        let mut line = String::new();
        let count = self.input.read_line(&mut line).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => self.error("is no text (UTF-8), or longer than any line should be"),
            _ => StoreError::io("read", &self.path)(error),
        })?;
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

    /// What is not read yet: a line that was given back, the rest, and the number of lines before both.
    pub(super) fn rest(self) -> (Option<String>, Bounded<R>, u64) {
        (self.returned, self.input, self.number)
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
    shown(&text.replace('\\', "\\\\")).into_owned()
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => plain.push(match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => match code_point(chars.as_str()) {
                    Some((char, bytes)) => {
                        chars = chars.as_str()[bytes..].chars();
                        char
                    }
                    None => 'u',
                },
                Some(other) => other,
                None => '\\',
            }),
            char => plain.push(char),
        }
    }
    plain
}

/// The character of `{1b}`, and the number of bytes up to the end of the bracket.
fn code_point(text: &str) -> Option<(char, usize)> {
    let (digits, _) = text.strip_prefix('{')?.split_once('}')?;
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, digits.len() + 2))
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
    Statistic::listed().filter(|statistic| statistics.contains(statistic)).collect()
}

/// Writes the header of a run, and an empty line behind it.
pub(super) fn write_header(run: &dyn Run, format: &str, out: &mut dyn Write) -> io::Result<()> {
    header_entries(run, format).into_iter().try_for_each(|(key, value)| write_entry(out, &key, value))?;
    writeln!(out)
}

/// The header of a run in one line, as a JSON list of keys and values.
pub(super) fn header_line(run: &dyn Run, format: &str) -> String {
    let entries: Vec<_> = header_entries(run, format).into_iter().map(|(key, value)| [key, escaped(&value)]).collect();
    // Texts alone: there is nothing that could fail.
    serde_json::to_string(&entries).unwrap_or_default()
}

/// The inverse of [`header_line`].
pub(super) fn entries_of(line: &str) -> Option<Vec<(String, String)>> {
    let entries: Vec<[String; 2]> = serde_json::from_str(line).ok()?;
    Some(entries.into_iter().map(|[key, value]| (key, unescaped(&value))).collect())
}

/// What a header says of a run, while it is read.
struct Described {
    header: Header,
    statistics: Vec<Statistic>,
}

/// A line of the header: its key, what stands there, and how that is read.
struct Item {
    key: &'static str,
    text: fn(&dyn Run) -> String,
    read: fn(&str, &mut Described) -> Result<(), String>,
}

/// First line of a header.
const FORMAT: &str = "format";

/// Line of the host of a rank; there is one for every rank.
const HOST: &str = "host";

/// Every header has these. What was decided before the run, where it comes from, and hosts have lines as well, by their
/// own names.
const ITEMS: [Item; 7] = [
    Item {
        key: MODE,
        text: |run| run.header().mode.to_string(),
        read: |text, found| text.parse().map(|mode| found.header.mode = mode).map_err(|error| format!("{error}")),
    },
    Item {
        key: STATISTICS,
        text: |run| words(listed(run.statistics())),
        read: |text, found| {
            let statistics: Result<Vec<Statistic>, _> = text.split_whitespace().map(str::parse).collect();
            found.statistics = listed(&statistics.map_err(|error| error.to_string())?);
            Ok(())
        },
    },
    // For people: there is one orientation.
    Item { key: ORIENTATION, text: |run| orientation(run.header()), read: |_, _| Ok(()) },
    Item {
        key: "begin_end_step",
        text: |run| {
            let (begin, end, step) = run.header().begin_end_step;
            words([begin.0, end.0, step.0])
        },
        read: |text, found| {
            let [begin, end, step] = three("begin_end_step", text)?;
            found.header.begin_end_step = (Bytes(begin), Bytes(end), Bytes(step));
            Ok(())
        },
    },
    Item {
        key: PLANNED,
        text: |run| words(run.header().planned.iter().map(|length| length.0)),
        read: |text, found| {
            found.header.planned = numbers(PLANNED, text)?.into_iter().map(Bytes).collect();
            Ok(())
        },
    },
    Item {
        key: "iterations",
        text: |run| run.header().iterations.to_string(),
        read: |text, found| match numbers("iterations", text)?[..] {
            [iterations] => narrow("iterations", iterations).map(|iterations| found.header.iterations = iterations),
            _ => Err("`# iterations:` is not one number".to_owned()),
        },
    },
    Item {
        key: "noise",
        text: |run| {
            let Noise { length, messages, processes } = run.header().noise;
            words([length.0, messages.into(), processes as u64])
        },
        read: |text, found| {
            let [length, messages, processes] = three("noise", text)?;
            let (length, messages) = (Bytes(length), narrow("noise", messages)?);
            found.header.noise = Noise { length, messages, processes: processes as usize };
            Ok(())
        },
    },
];

/// Keys and values of the header of a run.
fn header_entries(run: &dyn Run, format: &str) -> Vec<(String, String)> {
    let header = run.header();
    let mut entries = vec![(FORMAT.to_owned(), format.to_owned())];
    entries.extend(ITEMS.iter().map(|item| (item.key.to_owned(), (item.text)(run))));
    // The hosts follow, one by one.
    let value = |(name, value): (&String, &String)| if name == HOSTS_ITEM { String::new() } else { value.clone() };
    entries.extend(header.plan.iter().map(|item| (format!("{PLAN}{}", item.0), value(item))));
    let known = header.provenance.entries().into_iter().filter(|entry| !entry.1.is_empty());
    entries.extend(known.map(|(name, value)| (name.to_owned(), value.to_owned())));
    entries.extend(header.hosts.name_of_every_rank().map(|host| (HOST.to_owned(), host.to_owned())));
    entries
}

/// The inverse of [`write_header`]. The error says what is wrong with the header as a whole.
pub(super) fn header_of(entries: Vec<(String, String)>, format: &str) -> Result<(Header, Vec<Statistic>), String> {
    let mut known = BTreeMap::new();
    let mut plan = BTreeMap::new();
    let mut hosts = Vec::new();
    for (key, value) in entries {
        if key == HOST {
            hosts.push(value);
        } else if let Some(name) = key.strip_prefix(PLAN) {
            plan.insert(name.to_owned(), value);
        } else if known.insert(key.clone(), value).is_some() {
            return Err(format!("`# {key}:` stands there twice"));
        }
    }
    let found = known.remove(FORMAT).unwrap_or_default();
    if found != format {
        return Err(format!("its first line should be `# format: {format}`, but its format is `{found}`"));
    }
    let header = Header {
        mode: Mode::OneToOne,
        hosts: Hosts::new(hosts),
        planned: Vec::new(),
        begin_end_step: Default::default(),
        iterations: 0,
        noise: Noise { length: Bytes(0), messages: 0, processes: 0 },
        plan,
        provenance: Provenance::from_entries(|key| known.remove(key)),
    };
    let mut found = Described { header, statistics: Vec::new() };
    for Item { key, read, .. } in &ITEMS {
        let text = known.remove(*key).ok_or_else(|| format!("there is no line `# {key}:`"))?;
        read(&text, &mut found)?;
    }
    let Described { mut header, statistics } = found;
    if header.plan.contains_key(HOSTS_ITEM) {
        header.plan.insert(HOSTS_ITEM.to_owned(), hosts_item(&header));
    }
    match known.keys().next() {
        Some(key) => Err(format!("`# {key}:` is not known to this version")),
        None => check_header(&header).map(|()| (header, statistics)),
    }
}

fn narrow(key: &str, number: u64) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("`# {key}:` is too large: {number}"))
}

fn numbers(key: &str, text: &str) -> Result<Vec<u64>, String> {
    let numbers: Result<_, _> = text.split_whitespace().map(str::parse).collect();
    numbers.map_err(|_| format!("`# {key}:` is not a list of numbers"))
}

fn three(key: &str, text: &str) -> Result<[u64; 3], String> {
    numbers(key, text)?.try_into().map_err(|_| format!("`# {key}:` is not three numbers"))
}

/// Reads a value of `statistic`; `None` where the text is none. What is not finite is missing.
pub(super) fn value_of(statistic: Statistic, text: &str) -> Option<f64> {
    match statistic {
        Statistic::MeasurementsAmount => text.parse::<u32>().ok().map(f64::from),
        _ => text.parse().ok().map(sound),
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
        for text in ["\x1b[31m\u{202e}\t", "\\u{1b}", "\\", "", " a: b ", "line\nline\r\n", "back\\slash\\n", "\\"] {
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

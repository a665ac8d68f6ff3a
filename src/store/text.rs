//! A run as text for people: one table per statistic and length.
//!
//! ```text
//! # format: network_test.text/1
//! # mode: one_to_one
//! ...                                  every other item of the header, one per line; hosts in rank order
//!
//! # length: 64
//! # statistic: median
//! # unit: s
//! 0 1.5e-6                             one line per source, one value per destination, NaN where missing
//! 1.6e-6 0
//! ```
//!
//! Lengths are in bytes, values shortest so that they read back as the same number: text to NetCDF to text is the
//! identity. Further tables follow where the values do not tell it: `state` says why cells have the samples they have
//! (numbers as in the NetCDF files), `clock_bound` how far off the clocks may have been, in seconds, and `damaged` how
//! many payloads arrived damaged. Pairs that were measured again are left out. On reading, any white space may stand
//! between values.

use std::{
    io::{BufRead, Write},
    path::Path,
};

use super::{
    StoreError,
    companion::Companion,
    import::{LengthReader, WholeText, collect},
    lines::{Exact, Lines, header_of, listed, value_of, write_entry, write_header},
    schema::LENGTH,
};
use crate::{
    record::{BoxError, Cell, Header, MemoryRun, Run, State, Statistic},
    units::Bytes,
};

/// First line of the header.
pub(super) const FORMAT: &str = "network_test.text/1";

/// What stands above every table: its length, its name and its unit.
const HEAD: [&str; 3] = [LENGTH, "statistic", "unit"];

/// Rows that are held at a time: one, so that a run of any size can be written.
const ROW: usize = 1;

/// Writes a run as text.
pub fn write(run: &dyn Run, out: &mut dyn Write) -> Result<(), BoxError> {
    write_header(run, FORMAT, out)?;
    let statistics = listed(run.statistics());
    let ranks = run.ranks();
    let mut values = vec![f64::NAN; ranks * ROW];
    for (index, length) in run.lengths().iter().enumerate() {
        for &statistic in &statistics {
            write_table_header(out, *length, statistic.name(), statistic.unit())?;
            for row in 0..ranks {
                run.read_rows(statistic, index, row..row + ROW, &mut values)?;
                write_row(out, values.iter().map(|value| Exact(*value)))?;
            }
            writeln!(out)?;
        }
        for companion in Companion::of_run(run.header()) {
            write_companion(run, companion, &statistics, index, out)?;
        }
    }
    Ok(out.flush()?)
}

fn write_table_header(out: &mut dyn Write, length: Bytes, name: &str, unit: &str) -> Result<(), BoxError> {
    let values = [length.0.to_string(), name.to_owned(), unit.to_owned()];
    Ok(HEAD.into_iter().zip(values).try_for_each(|(key, value)| write_entry(out, key, value))?)
}

fn write_row(out: &mut dyn Write, values: impl Iterator<Item = impl std::fmt::Display>) -> Result<(), BoxError> {
    for (place, value) in values.enumerate() {
        if place > 0 {
            write!(out, " ")?;
        }
        write!(out, "{value}")?;
    }
    Ok(writeln!(out)?)
}

/// Writes the table of a companion, if there is a cell of which the statistics do not tell it.
fn write_companion(
    run: &dyn Run,
    companion: Companion,
    statistics: &[Statistic],
    index: usize,
    out: &mut dyn Write,
) -> Result<(), BoxError> {
    let ranks = run.ranks();
    let mut cells = Vec::new();
    let mut telling = false;
    for row in 0..ranks {
        run.read_cells(index, row..row + ROW, &mut cells)?;
        let bits = |cell: &Cell| (companion.of(cell).to_bits(), companion.implied(cell, statistics).to_bits());
        telling |= cells.iter().map(bits).any(|(value, implied)| value != implied);
    }
    if !telling {
        return Ok(());
    }
    write_table_header(out, run.lengths()[index], companion.name(), companion.unit())?;
    for row in 0..ranks {
        run.read_cells(index, row..row + ROW, &mut cells)?;
        write_row(out, cells.iter().map(|cell| Exact(companion.of(cell))))?;
    }
    Ok(writeln!(out)?)
}

/// Text as a form of runs.
pub(super) const FORM: WholeText = WholeText { extension: "txt", read: |input, path| read(input, path) };

/// Reads a run from text, which errors call `path`.
pub fn read(input: impl BufRead, path: &Path) -> Result<MemoryRun, StoreError> {
    collect(&mut Reader::new(Lines::new(input, path))?)
}

/// Reads a text length by length.
pub(super) struct Reader<R> {
    lines: Lines<R>,
    header: Header,
    statistics: Vec<Statistic>,
    /// Number of the next length.
    index: usize,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(mut lines: Lines<R>) -> Result<Self, StoreError> {
        let entries = lines.entries()?;
        let (header, statistics) = header_of(entries, FORMAT).map_err(|what| lines.error(what))?;
        Ok(Self { lines, header, statistics, index: 0 })
    }

    /// The next line that is not empty.
    fn content(&mut self) -> Result<Option<String>, StoreError> {
        loop {
            match self.lines.next()? {
                Some(line) if line.trim().is_empty() => {}
                line => return Ok(line),
            }
        }
    }

    /// The value of a header line that has to be the next line.
    fn expect(&mut self, key: &str) -> Result<String, StoreError> {
        let line = self.content()?.ok_or_else(|| self.lines.error(format!("ends where `# {key}:` should be")))?;
        match self.lines.entry(&line)? {
            (found, value) if found == key => Ok(value),
            (found, _) => Err(self.lines.error(format!("has `# {found}:` where `# {key}:` should be"))),
        }
    }

    /// Reads the rows of a table, and gives every value to `take` with its cell.
    fn rows(
        &mut self,
        cells: &mut Vec<Cell>,
        mut take: impl FnMut(&mut Cell, &str) -> Option<()>,
    ) -> Result<(), StoreError> {
        let ranks = self.header.hosts.ranks();
        for row in 0..ranks {
            let line = self.lines.next()?.ok_or_else(|| self.lines.error("ends in the middle of a table"))?;
            if cells.len() <= row * ranks {
                // Not before there is a row for them.
                cells.resize(row * ranks + line.split_whitespace().take(ranks).count(), Cell::missing(State::Failed));
            }
            let mut count = 0;
            for word in line.split_whitespace() {
                let taken = if count < ranks { take(&mut cells[row * ranks + count], word) } else { Some(()) };
                taken.ok_or_else(|| self.lines.error(format!("has `{word}` where a value should be")))?;
                count += 1;
            }
            if count != ranks {
                return Err(self.lines.error(format!("has {count} values instead of {ranks}")));
            }
        }
        Ok(())
    }

    /// Reads one table into `cells`; its name.
    fn table(&mut self, cells: &mut Vec<Cell>) -> Result<String, StoreError> {
        let (name, unit) = (self.expect(HEAD[1])?, self.expect(HEAD[2])?);
        let check = |expected: &str| match unit == expected {
            true => Ok(()),
            false => Err(self.lines.error(format!("has the unit `{unit}`: write the {name} in `{expected}`"))),
        };
        let companion = Companion::of_run(&self.header).find(|companion| companion.name() == name);
        if let Some(companion) = companion {
            check(companion.unit())?;
            self.rows(cells, |cell, word| companion.set(cell, word.parse().ok()?))?;
            return Ok(name);
        }
        let statistic: Statistic = name.parse().map_err(|error| self.lines.error(format!("{error}")))?;
        check(statistic.unit())?;
        self.rows(cells, |cell, word| {
            cell.set(statistic, value_of(statistic, word)?);
            Some(())
        })?;
        Ok(name)
    }
}

impl<R: BufRead> LengthReader for Reader<R> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn statistics(&self) -> &[Statistic] {
        &self.statistics
    }

    fn next_length(&mut self) -> Result<Option<(Bytes, Vec<Cell>)>, StoreError> {
        let Some(&length) = self.header.planned.get(self.index) else {
            return match self.content()? {
                Some(_) => Err(self.lines.error("has more tables than `# lengths_planned:` has lengths")),
                None => Ok(None),
            };
        };
        let mut cells = Vec::new();
        let mut names = Vec::new();
        while let Some(line) = self.content()? {
            let (key, value) = self.lines.entry(&line)?;
            if key != HEAD[0] || value != length.0.to_string() {
                if names.is_empty() {
                    return Err(self.lines.error(format!("has `{line}` where `# length: {}` should be", length.0)));
                }
                self.lines.give_back(line);
                break;
            }
            let name = self.table(&mut cells)?;
            if names.contains(&name) {
                return Err(self.lines.error(format!("ends a second table of {name} at length {}", length.0)));
            }
            names.push(name);
        }
        if names.is_empty() {
            return Ok(None);
        }
        for statistic in self.statistics.iter().map(|statistic| statistic.name()) {
            if !names.iter().any(|name| name == statistic) {
                return Err(self.lines.error(format!("comes before any table of {statistic} at length {}", length.0)));
            }
        }
        // The other companions of a missing cell are what is implied already.
        if !names.iter().any(|name| name == Companion::State.name()) {
            for cell in &mut cells {
                Companion::State.set(cell, Companion::State.implied(cell, &self.statistics));
            }
        }
        self.index += 1;
        Ok(Some((length, cells)))
    }
}

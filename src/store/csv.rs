//! A run as long CSV for programs: one line per cell and length, the names of the columns in the first.
//!
//! ```text
//! length,source,destination,source_host,destination_host,min,average,median,max,deviation,state,run
//! 64,0,0,node1,node1,0,0,0,0,0,measured,"[[""format"",""network_test.csv/2""],[""mode"",""one_to_one""],..."
//! 64,0,1,node1,node2,1.4e-6,1.5e-6,1.5e-6,2e-6,1e-7,measured,
//! ```
//!
//! Lengths are in bytes, times in seconds; a run with numbers of samples has a column `measurements_amount`; a
//! statistic that the run does not have has no column; missing values are `NaN`. What the run is stands in the column
//! `run` of the first line, so that any program reads the table (`pandas.read_csv`, DuckDB), and what it writes comes
//! back. On reading, columns may stand in any order and `state` and the hosts' names may be left out (as may
//! `clock_bound` and `damaged`, which runs on synchronised clocks and with checked payloads have); cells without a line
//! are missing. Pairs that were measured again are left out: their table stands with the NetCDF files,
//! `<prefix>_retest.csv`. Files of the form before, with comment lines `# key: value` above the table and no column
//! `run`, are read as well.

use std::{
    io::{self, BufRead, Chain, Cursor, Read, Write},
    path::{Path, PathBuf},
};

use csv::{ReaderBuilder, StringRecord, WriterBuilder};

use super::{
    StoreError,
    companion::Companion,
    import::{LengthReader, collect},
    lines::{Bounded, Exact, Lines, entries_of, header_line, header_of, listed, value_of},
};
use crate::{
    record::{BoxError, Cell, Header, MemoryRun, Run, State, Statistic},
    units::Bytes,
};

/// First line of the header.
pub(super) const FORMAT: &str = "network_test.csv/2";

/// The form before, with the header in lines of its own.
const WITH_COMMENTS: &str = "network_test.csv/1";

/// Column of what the run is.
const RUN: &str = "run";

const LENGTH: &str = "length";
const SOURCE: &str = "source";
const DESTINATION: &str = "destination";
const HOSTS: [&str; 2] = ["source_host", "destination_host"];
const STATE: &str = "state";

/// Writes a run as long CSV.
pub fn write(run: &dyn Run, out: &mut dyn Write) -> Result<(), BoxError> {
    let mut header = header_line(run, FORMAT);
    let statistics = listed(run.statistics());
    let mut out = WriterBuilder::new().from_writer(out);
    let further = further(run.header());
    let names = statistics.iter().map(|statistic| statistic.name()).chain(further.iter().map(|one| one.name()));
    out.write_record([LENGTH, SOURCE, DESTINATION].into_iter().chain(HOSTS).chain(names).chain([STATE, RUN]))?;
    let hosts = &run.header().hosts;
    let mut cells = Vec::new();
    for (index, length) in run.lengths().iter().enumerate() {
        for source in 0..run.ranks() {
            run.read_cells(index, source..source + 1, &mut cells)?;
            for (destination, cell) in cells.iter().enumerate() {
                for number in [length.0, source as u64, destination as u64] {
                    out.write_field(number.to_string())?;
                }
                out.write_field(hosts.name_of(source))?;
                out.write_field(hosts.name_of(destination))?;
                for statistic in &statistics {
                    let value = statistic.of(&cell.summary).unwrap_or(f64::from(cell.samples));
                    out.write_field(Exact(value).to_string())?;
                }
                for companion in &further {
                    out.write_field(Exact(companion.of(cell)).to_string())?;
                }
                out.write_field(cell.state.name())?;
                out.write_field(std::mem::take(&mut header))?;
                out.write_record(None::<&[u8]>)?;
            }
        }
    }
    if !header.is_empty() {
        // Nothing was measured yet: a line that says what the run is, and no more.
        let empty = 5 + statistics.len() + further.len() + 1;
        out.write_record(std::iter::repeat_n("", empty).chain([&*header]))?;
    }
    Ok(out.flush()?)
}

/// The companions that are numbers; the state is a word.
fn further(header: &Header) -> Vec<Companion> {
    Companion::of_run(header).filter(|companion| *companion != Companion::State).collect()
}

/// Reads a run from long CSV, which errors call `path`.
pub fn read(input: impl BufRead, path: &Path) -> Result<MemoryRun, StoreError> {
    collect(&mut Reader::new(Lines::new(input, path), path.to_owned())?)
}

/// Reads CSV length by length.
pub(super) struct Reader<R> {
    input: csv::Reader<Chain<Cursor<Vec<u8>>, Bounded<R>>>,
    path: PathBuf,
    /// Lines before the table.
    lines_before: u64,
    header: Header,
    columns: Columns,
    /// Number of the next length.
    index: usize,
    /// Cells of all lengths so far, whether they have a line or not.
    cells: u64,
    /// A line that belongs to the next length.
    pending: Option<Line>,
}

/// Cells without a line that any table may have: those of 1,024 ranks at four lengths.
const ALWAYS: u64 = 1 << 22;

/// Cells that a line may stand for: of 2,048 ranks that met eight others each.
const PER_LINE: u64 = 256;

/// Where the columns stand.
struct Columns {
    length: usize,
    source: usize,
    destination: usize,
    state: Option<usize>,
    statistics: Vec<Statistic>,
    /// `[statistic]`
    values: Vec<usize>,
    further: Vec<(Companion, usize)>,
}

/// One line.
struct Line {
    number: u64,
    length: Bytes,
    /// Number of the cell, source by source.
    place: usize,
    cell: Cell,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(mut lines: Lines<R>, path: PathBuf) -> Result<Self, StoreError> {
        let first = lines.next()?.unwrap_or_default();
        let has_comments = first.starts_with('#');
        lines.give_back(first);
        let entries = if has_comments { Some(lines.entries()?) } else { None };
        let (returned, input, lines_before) = lines.rest();
        let input = Cursor::new(returned.map(|line| line + "\n").unwrap_or_default().into_bytes()).chain(input);
        let mut input = ReaderBuilder::new().from_reader(input);
        let error = |what| StoreError::Line { path: path.clone(), line: lines_before + 1, what };
        let names =
            input.headers().map_err(|cause| error(format!("has no names of columns: {}", reason(cause.kind()))));
        let names = names?.clone();
        let mut first = None;
        let (entries, format) = match entries {
            Some(entries) => (entries, WITH_COMMENTS),
            None => {
                let mut record = StringRecord::new();
                let read = input.read_record(&mut record).map_err(|cause| error(reason(cause.kind())))?;
                let column = names.iter().position(|name| name.trim() == RUN);
                let text = column.and_then(|column| record.get(column)).filter(|_| read).unwrap_or_default();
                let missing = "is no CSV of network_analyze: its first line has nothing in a column `run`; see what `network_analyze \
                               convert RUN -o x.csv` writes";
                let entries = entries_of(text).ok_or_else(|| error(missing.to_owned()))?;
                first = Some(record);
                (entries, FORMAT)
            }
        };
        let (header, statistics) = header_of(entries, format).map_err(error)?;
        let columns = Columns::find(&names, statistics, further(&header)).map_err(error)?;
        let mut reader = Self { input, path, lines_before, header, columns, index: 0, cells: 0, pending: None };
        // A line without a length says what the run is, and no more.
        if let Some(record) =
            first.filter(|record| record.get(reader.columns.length).is_some_and(|text| !text.is_empty()))
        {
            let ranks = reader.header.hosts.ranks();
            let line = reader.columns.line(&record, lines_before + 2, ranks);
            reader.pending = Some(line.map_err(|what| reader.error(lines_before + 2, what))?);
        }
        Ok(reader)
    }

    fn error(&self, number: u64, what: impl Into<String>) -> StoreError {
        StoreError::Line { path: self.path.clone(), line: number, what: what.into() }
    }

    /// A length without cells. Only as many hosts are believed as lines come for: `number` is that of the line at hand.
    fn room(&mut self, number: u64) -> Result<Vec<Option<Cell>>, StoreError> {
        let count = self.header.hosts.ranks().saturating_pow(2);
        self.cells = self.cells.saturating_add(count as u64);
        if self.cells > ALWAYS.saturating_add(number.saturating_mul(PER_LINE)) {
            let ranks = self.header.hosts.ranks();
            return Err(self.error(number, format!("belongs to a table of {ranks} ranks, but there are too few lines")));
        }
        let mut cells = Vec::new();
        let reserved = cells.try_reserve_exact(count);
        reserved.map_err(|_| StoreError::NoMemory { path: self.path.clone() })?;
        cells.resize(count, None);
        Ok(cells)
    }

    fn next_line(&mut self) -> Result<Option<Line>, StoreError> {
        if let Some(line) = self.pending.take() {
            return Ok(Some(line));
        }
        let mut record = StringRecord::new();
        let number = self.lines_before + self.input.position().line();
        match self.input.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(cause) => {
                return Err(match cause.into_kind() {
                    csv::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                        self.error(number, "is longer than any line should be")
                    }
                    csv::ErrorKind::Io(cause) => StoreError::io("read", &self.path)(cause),
                    kind => self.error(number, format!("is no line of this table: {}", reason(&kind))),
                });
            }
        }
        let number = record.position().map_or(number, |position| self.lines_before + position.line());
        let ranks = self.header.hosts.ranks();
        self.columns.line(&record, number, ranks).map(Some).map_err(|what| self.error(number, what))
    }
}

/// What is wrong with a line, for people.
fn reason(kind: &csv::ErrorKind) -> String {
    match kind {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} columns, and the table has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is no text (UTF-8)".to_owned(),
        csv::ErrorKind::Io(cause) => cause.to_string(),
        _ => "it cannot be read".to_owned(),
    }
}

impl Columns {
    fn find(names: &StringRecord, statistics: Vec<Statistic>, further: Vec<Companion>) -> Result<Self, String> {
        let column = |name: &str| names.iter().position(|found| found.trim() == name);
        let needed = |name: &str| column(name).ok_or_else(|| format!("has no column `{name}`"));
        let values: Result<_, _> = statistics.iter().map(|statistic| needed(statistic.name())).collect();
        let known = |name: &str| {
            let others = [LENGTH, SOURCE, DESTINATION, STATE, RUN].into_iter().chain(HOSTS);
            let others = others.chain(further.iter().map(|companion| companion.name()));
            others.chain(statistics.iter().map(|statistic| statistic.name())).any(|known| known == name.trim())
        };
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(format!("has a column `{unknown}`, which the header does not announce"));
        }
        Ok(Self {
            length: needed(LENGTH)?,
            source: needed(SOURCE)?,
            destination: needed(DESTINATION)?,
            state: column(STATE),
            values: values?,
            further: further.iter().filter_map(|one| Some((*one, column(one.name())?))).collect(),
            statistics,
        })
    }

    fn line(&self, record: &StringRecord, number: u64, ranks: usize) -> Result<Line, String> {
        let text = |column: usize| record.get(column).unwrap_or_default().trim();
        let whole = |column: usize, name: &str| {
            text(column).parse::<u64>().map_err(|_| format!("has `{}` as its {name}", text(column)))
        };
        let rank = |column: usize, name: &str| match whole(column, name)? {
            rank if rank < ranks as u64 => Ok(rank as usize),
            rank => Err(format!("has the {name} {rank}, but there are {ranks} ranks")),
        };
        let mut cell = Cell::missing(State::Failed);
        for (statistic, &column) in self.statistics.iter().zip(&self.values) {
            let value = value_of(*statistic, text(column));
            cell.set(*statistic, value.ok_or_else(|| format!("has `{}` as its {statistic}", text(column)))?);
        }
        for (companion, column) in &self.further {
            let set = text(*column).parse().ok().and_then(|value| companion.set(&mut cell, value));
            set.ok_or_else(|| format!("has `{}` as its {}", text(*column), companion.name()))?;
        }
        let first = self.statistics.first().and_then(|statistic| statistic.of(&cell.summary));
        cell.state = match self.state.map(text) {
            None => State::of_value(first.unwrap_or(0.0)),
            Some(name) => State::all().find(|state| state.name() == name).ok_or(format!("has the state `{name}`"))?,
        };
        let place = rank(self.source, SOURCE)? * ranks + rank(self.destination, DESTINATION)?;
        Ok(Line { number, length: Bytes(whole(self.length, LENGTH)?), place, cell })
    }
}

impl<R: BufRead> LengthReader for Reader<R> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn statistics(&self) -> &[Statistic] {
        &self.columns.statistics
    }

    fn next_length(&mut self) -> Result<Option<(Bytes, Vec<Cell>)>, StoreError> {
        let planned = self.header.planned.get(self.index).copied();
        let mut cells: Vec<Option<Cell>> = Vec::new();
        while let Some(line) = self.next_line()? {
            if planned != Some(line.length) {
                if !cells.is_empty() {
                    self.pending = Some(line);
                    break;
                }
                let expected = planned.map_or("no more lines".to_owned(), |length| format!("length {}", length.0));
                return Err(self.error(line.number, format!("has length {}, but {expected} is due", line.length.0)));
            }
            if cells.is_empty() {
                cells = self.room(line.number)?;
            }
            if cells[line.place].replace(line.cell).is_some() {
                return Err(self.error(line.number, "repeats a cell"));
            }
        }
        let Some(length) = planned.filter(|_| !cells.is_empty()) else {
            return Ok(None);
        };
        self.index += 1;
        Ok(Some((length, cells.into_iter().map(|cell| cell.unwrap_or(Cell::missing(State::Failed))).collect())))
    }
}

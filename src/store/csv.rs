//! A run as long CSV for programs: one line per cell and length, the names of the columns in the first.
//!
//! ```text
//! length,source,destination,source_host,destination_host,min,average,median,max,deviation,state,run
//! 64,0,0,node1,node1,0,0,0,0,0,measured,"[[""format"",""network_test.csv/2""],[""mode"",""one_to_one""],..."
//! 64,0,1,node1,node2,1.4e-6,1.5e-6,1.5e-6,2e-6,1e-7,measured,
//! ```
//!
//! Lengths are in bytes, times in seconds; a run with numbers of samples has a column `measurements_amount`; a
//! statistic that the run does not have has no column; missing values are `NaN`. A host whose name a spreadsheet would run
//! as a formula (`=x`, `-1`) is written with an apostrophe before it, see [`harmless`]; in what the run is, it has its own
//! name. What the run is stands in the column `run` of the first line, so that any program reads the table (`pandas.read_csv`, DuckDB), and what it writes comes
//! back. On reading, columns may stand in any order and `state` and the hosts' names may be left out (as may
//! `clock_bound` and `damaged`, which runs on synchronised clocks and with checked payloads have); cells without a line
//! are missing. Pairs that were measured again are left out: their table stands with the NetCDF files,
//! `<prefix>_retest.csv`. Files of the form before, with comment lines `# key: value` above the table and no column
//! `run`, are read as well.

use std::{
    borrow::Cow,
    io::{self, BufRead, Chain, Cursor, Read, Write},
    path::{Path, PathBuf},
};

use csv::{ReaderBuilder, StringRecord, WriterBuilder};

use super::{
    StoreError,
    companion::Companion,
    import::{LengthReader, WholeText, collect},
    lines::{Bounded, Exact, Lines, entries_of, header_line, header_of, listed, value_of},
    schema::{ENDS, HOSTS_OF_ENDS, LENGTH},
};
use crate::{
    record::{BoxError, Cell, Header, MemoryRun, Run, State, Statistic},
    units::{Bytes, Hosts, counted, harmless},
};

/// First line of the header.
pub(super) const FORMAT: &str = "network_test.csv/2";

/// The form before, with the header in lines of its own.
const WITH_COMMENTS: &str = "network_test.csv/1";

/// Column of what the run is.
const RUN: &str = "run";

/// A column: its name, what stands there of a cell, and how that is read. The number of an end is 0 for the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Length,
    Rank(usize),
    Host(usize),
    Statistic(Statistic),
    Companion(Companion),
    /// In the first line what the run is, then nothing.
    Run,
}

impl Column {
    /// All columns of a run, in the order in which they are written.
    fn all(header: &Header, statistics: &[Statistic]) -> Vec<Self> {
        let place = [Self::Length, Self::Rank(0), Self::Rank(1), Self::Host(0), Self::Host(1)].into_iter();
        // The word behind the numbers.
        let (state, numbers): (Vec<_>, Vec<_>) =
            Companion::of_run(header).partition(|companion| *companion == Companion::State);
        let values = statistics.iter().copied().map(Self::Statistic);
        place.chain(values).chain(numbers.into_iter().chain(state).map(Self::Companion)).chain([Self::Run]).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Length => LENGTH,
            Self::Rank(end) => ENDS[end],
            Self::Host(end) => HOSTS_OF_ENDS[end],
            Self::Statistic(statistic) => statistic.name(),
            Self::Companion(companion) => companion.name(),
            Self::Run => RUN,
        }
    }

    /// Whether a table may be without it.
    fn may_lack(self) -> bool {
        matches!(self, Self::Host(_) | Self::Companion(_) | Self::Run)
    }

    fn text<'a>(self, line: &Line, hosts: &'a Hosts) -> Cow<'a, str> {
        let Line { length, ends, ref cell, .. } = *line;
        match self {
            Self::Length => length.0.to_string().into(),
            Self::Rank(end) => ends[end].to_string().into(),
            Self::Host(end) => harmless(hosts.name_of(ends[end])),
            Self::Statistic(statistic) => Exact(statistic.in_cell(cell)).to_string().into(),
            Self::Companion(Companion::State) => cell.state.name().into(),
            Self::Companion(companion) => Exact(companion.of(cell)).to_string().into(),
            Self::Run => "".into(),
        }
    }

    /// The inverse of [`Column::text`]; ends come before their hosts.
    fn read(self, text: &str, hosts: &Hosts, line: &mut Line) -> Result<(), String> {
        let bad = || format!("has `{text}` as its {}", self.name());
        match self {
            Self::Length => line.length = Bytes(text.parse().map_err(|_| bad())?),
            Self::Rank(end) => match text.parse::<u64>().map_err(|_| bad())? {
                rank if rank < hosts.ranks() as u64 => line.ends[end] = rank as usize,
                rank => {
                    return Err(format!(
                        "has the {} {rank}, but the table has {}",
                        self.name(),
                        counted(hosts.ranks(), "rank")
                    ));
                }
            },
            Self::Host(end) => {
                let (rank, known) = (line.ends[end], hosts.name_of(line.ends[end]));
                // Files of older programs have every name as it is.
                if text != known.trim() && text != harmless(known).trim() {
                    return Err(format!("{}, but rank {rank} is on `{known}`, says the header", bad()));
                }
            }
            Self::Statistic(statistic) => {
                line.cell.set(statistic, value_of(statistic, text).ok_or_else(bad)?);
            }
            Self::Companion(Companion::State) => {
                let state = State::all().find(|state| state.name() == text);
                line.cell.state = state.ok_or_else(|| format!("has the state `{text}`"))?;
            }
            Self::Companion(companion) => {
                let set = text.parse().ok().and_then(|value| companion.set(&mut line.cell, value));
                set.ok_or_else(bad)?;
            }
            Self::Run => {}
        }
        Ok(())
    }
}

/// Writes a run as long CSV.
pub fn write(run: &dyn Run, out: &mut dyn Write) -> Result<(), BoxError> {
    let mut header = header_line(run, FORMAT);
    let hosts = &run.header().hosts;
    let columns = Column::all(run.header(), &listed(run.statistics()));
    let mut out = WriterBuilder::new().from_writer(out);
    out.write_record(columns.iter().map(|column| column.name()))?;
    let mut cells = Vec::new();
    for (index, &length) in run.lengths().iter().enumerate() {
        for source in 0..run.ranks() {
            run.read_cells(index, source..source + 1, &mut cells)?;
            for (destination, &cell) in cells.iter().enumerate() {
                let line = Line { number: 0, length, ends: [source, destination], cell };
                for column in &columns {
                    match column {
                        Column::Run => out.write_field(std::mem::take(&mut header))?,
                        column => out.write_field(&*column.text(&line, hosts))?,
                    }
                }
                out.write_record(None::<&[u8]>)?;
            }
        }
    }
    if !header.is_empty() {
        // Nothing was measured yet: a line that says what the run is, and no more.
        let text = |column: &Column| if *column == Column::Run { &*header } else { "" };
        out.write_record(columns.iter().map(text))?;
    }
    Ok(out.flush()?)
}

/// CSV as a form of runs.
pub(super) const FORM: WholeText = WholeText { extension: "csv", read: |input, path| read(input, path) };

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
    /// In the order of [`Column::all`].
    places: Vec<(Column, usize)>,
    statistics: Vec<Statistic>,
}

/// One line.
struct Line {
    number: u64,
    length: Bytes,
    /// Ranks of source and destination.
    ends: [usize; 2],
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
        let columns = Columns::find(&names, &header, statistics).map_err(error)?;
        let mut reader = Self { input, path, lines_before, header, columns, index: 0, cells: 0, pending: None };
        // A line without a length says what the run is, and no more.
        if let Some(record) = first.filter(|record| !reader.columns.is_without_length(record)) {
            let line = reader.columns.line(&record, lines_before + 2, &reader.header.hosts);
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
            let ranks = counted(self.header.hosts.ranks(), "rank");
            return Err(self.error(number, format!("belongs to a table of {ranks}, but there are too few lines")));
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
        self.columns.line(&record, number, &self.header.hosts).map(Some).map_err(|what| self.error(number, what))
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
    fn find(names: &StringRecord, header: &Header, statistics: Vec<Statistic>) -> Result<Self, String> {
        let all = Column::all(header, &statistics);
        if let Some(unknown) = names.iter().find(|name| all.iter().all(|column| column.name() != name.trim())) {
            return Err(format!("has a column `{unknown}`, which the header does not announce"));
        }
        let place = |column: &Column| names.iter().position(|found| found.trim() == column.name());
        match all.iter().find(|column| !column.may_lack() && place(column).is_none()) {
            Some(missing) => Err(format!("has no column `{}`", missing.name())),
            None => Ok(Self { places: all.iter().filter_map(|one| Some((*one, place(one)?))).collect(), statistics }),
        }
    }

    fn is_without_length(&self, record: &StringRecord) -> bool {
        let text = |(_, place): &(Column, usize)| record.get(*place).unwrap_or_default();
        self.places.iter().find(|(column, _)| *column == Column::Length).map(text).is_none_or(str::is_empty)
    }

    fn line(&self, record: &StringRecord, number: u64, hosts: &Hosts) -> Result<Line, String> {
        let mut line = Line { number, length: Bytes(0), ends: [0; 2], cell: Cell::missing(State::Failed) };
        for (column, place) in &self.places {
            column.read(record.get(*place).unwrap_or_default().trim(), hosts, &mut line)?;
        }
        if self.places.iter().all(|(column, _)| *column != Column::Companion(Companion::State)) {
            let implied = Companion::State.implied(&line.cell, &self.statistics);
            Companion::State.set(&mut line.cell, implied);
        }
        Ok(line)
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
            let place = line.ends[0] * self.header.hosts.ranks() + line.ends[1];
            if cells[place].replace(line.cell).is_some() {
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

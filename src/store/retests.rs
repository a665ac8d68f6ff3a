//! Pairs that were measured again: variables in one file of a set, and a table for people, `<prefix>_retest.csv`.
//!
//! In: the [`Retest`]s of a length. Out: one value of each variable per retest, in the file that has the companions
//! too, and one line per retest of
//!
//! ```text
//! length,source,destination,source_host,destination_host,first,second,alone
//! 65536,2,9,node003,node010,4.1e-5,4.2e-5,4.2e-5
//! ```
//!
//! Lengths are in bytes, times in seconds, `NaN` where there was no sample. The variables have places for as many
//! retests as the plan asks for, the table has a line for those that there were. The variables count: the table is
//! made from them anew when a run is resumed.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use netcdf::FileMut;

use super::{StoreError, create::STAGED, file::NcFile, lines::Exact, paths::extended, reader::ResultSet, schema::N};
use crate::{
    record::{Header, Retest, Run},
    units::{Bytes, Hosts, Rank},
};

/// Dimension of the retests of a length.
const RETESTS: &str = "retests";

/// Item of the plan: how many pairs of a length are measured again.
const ITEM: &str = "retest";

/// A rank in a place that no retest takes.
const NOBODY: i32 = -1;

/// First line of the table.
const HEADING: [&str; 8] =
    ["length", "source", "destination", "source_host", "destination_host", "first", "second", "alone"];

/// How many retests a length can have: both directions of as many pairs as the plan asks for. 0: the run has neither
/// variables nor a table.
pub(super) fn places(header: &Header) -> usize {
    let ranks = header.hosts.ranks();
    let pairs = header.item(ITEM).and_then(|text| text.parse().ok()).unwrap_or(0);
    2 * (ranks * ranks.saturating_sub(1) / 2).min(pairs)
}

/// A variable `[n][retests]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Source,
    Destination,
    First,
    Second,
    Alone,
}

impl Field {
    /// All fields of a retest.
    pub(super) const ALL: [Self; 5] = [Self::Source, Self::Destination, Self::First, Self::Second, Self::Alone];

    /// Name in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Source => "retest_source",
            Self::Destination => "retest_destination",
            Self::First => "retest_first",
            Self::Second => "retest_second",
            Self::Alone => "retest_alone",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Source => "source of a pair that was measured again",
            Self::Destination => "destination of a pair that was measured again",
            Self::First => "median among the pairs of its round",
            Self::Second => "median among other pairs, drawn at random",
            Self::Alone => "median with everybody else silent",
        }
    }

    fn is_rank(self) -> bool {
        matches!(self, Self::Source | Self::Destination)
    }

    /// Appends its values in `retests`, and in places that are left over, as they stand in a NetCDF file.
    pub(super) fn encode(self, retests: &[Retest], places: usize, bytes: &mut Vec<u8>) {
        let left = places.saturating_sub(retests.len());
        let rank = |rank: Rank| i32::try_from(rank).unwrap_or(i32::MAX);
        let ranks = |value: fn(&Retest) -> Rank| {
            let values = retests.iter().map(move |retest| rank(value(retest)));
            values.chain(std::iter::repeat_n(NOBODY, left)).flat_map(i32::to_be_bytes)
        };
        let times = |value: fn(&Retest) -> f64| {
            retests.iter().map(value).chain(std::iter::repeat_n(f64::NAN, left)).flat_map(f64::to_be_bytes)
        };
        match self {
            Self::Source => bytes.extend(ranks(|retest| retest.source)),
            Self::Destination => bytes.extend(ranks(|retest| retest.destination)),
            Self::First => bytes.extend(times(|retest| retest.first)),
            Self::Second => bytes.extend(times(|retest| retest.second)),
            Self::Alone => bytes.extend(times(|retest| retest.alone)),
        }
    }
}

/// Adds the variables for `places` retests to a new file; none where there are no places.
pub(super) fn define(file: &mut FileMut, places: usize) -> netcdf::Result<()> {
    if places == 0 {
        return Ok(());
    }
    file.add_dimension(RETESTS, places)?;
    for field in Field::ALL {
        let (name, dimensions) = (field.name(), [N, RETESTS]);
        let mut variable = match field.is_rank() {
            true => file.add_variable::<i32>(name, &dimensions)?,
            false => file.add_variable::<f64>(name, &dimensions)?,
        };
        variable.put_attribute("long_name", field.meaning())?;
        if field.is_rank() {
            variable.put_attribute("units", "1")?;
            variable.put_attribute("description", format!("{name}[n][retest]: a rank; {NOBODY}: no retest"))?;
            variable.put_attribute("_FillValue", NOBODY)?;
        } else {
            variable.put_attribute("units", "s")?;
            let text = format!(
                "{name}[n][retest]: from {}[n][retest] to {}[n][retest]; NaN: missing",
                Field::Source.name(),
                Field::Destination.name()
            );
            variable.put_attribute("description", text)?;
            variable.put_attribute("_FillValue", f64::NAN)?;
        }
    }
    Ok(())
}

/// Whether a file has the variables.
pub(super) fn are_in(file: &NcFile) -> bool {
    file.has(Field::Source.name())
}

/// Reads the retests of a length.
pub(super) fn read(file: &NcFile, length_index: usize, ranks: usize) -> Result<Vec<Retest>, StoreError> {
    let values = |field: Field| -> Result<Vec<f64>, StoreError> {
        let variable = file.variable_over(field.name(), &[N, RETESTS])?;
        let mut values = vec![f64::NAN; file.dimension(RETESTS)?];
        file.read(variable, length_index, 0, &mut values)?;
        Ok(values)
    };
    let rank = |value: f64| match value as usize {
        rank if value >= 0.0 && rank < ranks => Ok(rank),
        _ => Err(file.unusable(format!("has measured rank {value} again, but there are {ranks} ranks"))),
    };
    let [sources, destinations] = [values(Field::Source)?, values(Field::Destination)?];
    let [first, second, alone] = [values(Field::First)?, values(Field::Second)?, values(Field::Alone)?];
    let taken = (0..sources.len()).filter(|place| sources[*place] != f64::from(NOBODY));
    taken
        .map(|place| {
            Ok(Retest {
                source: rank(sources[place])?,
                destination: rank(destinations[place])?,
                first: first[place],
                second: second[place],
                alone: alone[place],
            })
        })
        .collect()
}

/// The table in writing.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    file: File,
    hosts: Hosts,
}

impl Table {
    /// Begins the table in the file `staged`, which errors call `path`.
    pub(super) fn begin(staged: &Path, path: &Path, header: &Header) -> Result<Self, StoreError> {
        let file = File::create(staged).map_err(StoreError::io("create", path))?;
        let mut table = Self { path: path.to_owned(), file, hosts: header.hosts.clone() };
        table.write(lines(|out| out.write_record(HEADING)))?;
        Ok(table)
    }

    /// Replaces the table by one of the finished lengths of a set, to go on behind them.
    pub(super) fn renew(path: &Path, header: &Header, set: &ResultSet) -> Result<Self, StoreError> {
        let staged = extended(path, STAGED);
        let mut table = Self::begin(&staged, path, header)?;
        for (index, length) in set.lengths().iter().enumerate() {
            table.append(*length, &set.read_retests(index)?)?;
        }
        fs::rename(&staged, path).map_err(StoreError::io("replace", path))?;
        Ok(table)
    }

    /// Writes the lines of a length.
    pub(super) fn append(&mut self, length: Bytes, retests: &[Retest]) -> Result<(), StoreError> {
        let hosts = &self.hosts;
        self.write(lines(|out| {
            for Retest { source, destination, first, second, alone } in retests {
                for number in [length.0, *source as u64, *destination as u64] {
                    out.write_field(number.to_string())?;
                }
                out.write_field(hosts.name_of(*source))?;
                out.write_field(hosts.name_of(*destination))?;
                for value in [first, second, alone] {
                    out.write_field(Exact(*value).to_string())?;
                }
                out.write_record(None::<&[u8]>)?;
            }
            Ok(())
        }))
    }

    /// Writes lines at once, so that no reader meets a part of one unless the disk is full.
    fn write(&mut self, lines: io::Result<Vec<u8>>) -> Result<(), StoreError> {
        lines.and_then(|lines| self.file.write_all(&lines)).map_err(StoreError::io("write", &self.path))
    }

    /// Brings the table to the disk.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(StoreError::io("write", &self.path))
    }
}

/// Lines of CSV as bytes.
fn lines(fill: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>) -> io::Result<Vec<u8>> {
    let mut out = csv::Writer::from_writer(Vec::new());
    fill(&mut out)?;
    out.into_inner().map_err(|error| error.into_error())
}

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
//! Lengths are in bytes, times in seconds, `NaN` where there was no sample; names of hosts as in [`super::csv`]. The
//! variables have places for as many retests as the plan asks for, the table has a line for those that there were. The
//! variables count: the table is made from them anew when a run is resumed.
//!
//! Where the plan keeps samples, those of the pairs alone stand in a variable of their own,
//! `retest_samples[n][retests][samples]`.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use netcdf::FileMut;

use super::{
    StoreError,
    classic::Kind,
    field::Field as Variable,
    file::NcFile,
    lines::Exact,
    paths::{STAGED, extended},
    schema::{ENDS, HOSTS_OF_ENDS, LENGTH, N},
};
use crate::{
    plan::RETEST_SAMPLES,
    record::{Header, Retest},
    units::{Bytes, Hosts, counted, harmless},
};

/// Dimension of the retests of a length.
const RETESTS: &str = "retests";

/// Variable of the samples of pairs alone.
pub(super) const SAMPLES: &str = "retest_samples";

/// Its last dimension.
const SAMPLE: &str = "samples";

/// Item of the plan: how many pairs of a length are measured again.
const ITEM: &str = "retest";

/// A rank in a place that no retest takes.
const NO_RANK: i32 = -1;

/// How many retests a length can have: both directions of as many pairs as the plan asks for. 0: the run has neither
/// variables nor a table.
pub(super) fn places(header: &Header) -> usize {
    let ranks = header.hosts.ranks();
    let pairs = header.item(ITEM).and_then(|text| text.parse().ok()).unwrap_or(0);
    2 * (ranks * ranks.saturating_sub(1) / 2).min(pairs)
}

/// How many samples of a retest are kept at most: as many as the plan says, 0 where it keeps none.
pub(super) fn samples(header: &Header) -> usize {
    let most = header.item(RETEST_SAMPLES).and_then(|text| text.parse().ok()).unwrap_or(0);
    if places(header) > 0 { most } else { 0 }
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

    /// Those that are times: the last columns of the table.
    const TIMES: [Self; 3] = [Self::First, Self::Second, Self::Alone];

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

    /// Name in the table, which has nothing but retests.
    fn column(self) -> &'static str {
        self.name().trim_start_matches("retest_")
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Source => "source of a pair that was measured again",
            Self::Destination => "destination of a pair that was measured again",
            Self::First => "median among the pairs of its round, missing where it has none",
            Self::Second => "median among other pairs, drawn at random",
            Self::Alone => "median with everybody else silent",
        }
    }

    fn is_rank(self) -> bool {
        matches!(self, Self::Source | Self::Destination)
    }

    /// Its value in a retest: a rank, or seconds.
    fn of(self, retest: &Retest) -> f64 {
        match self {
            Self::Source => retest.source as f64,
            Self::Destination => retest.destination as f64,
            Self::First => retest.first,
            Self::Second => retest.second,
            Self::Alone => retest.alone,
        }
    }

    /// Appends its values in `retests`, and in places that are left over, as they stand in a NetCDF file.
    pub(super) fn encode(self, retests: &[Retest], places: usize, bytes: &mut Vec<u8>) {
        let left = places.saturating_sub(retests.len());
        let values = retests.iter().map(|retest| self.of(retest));
        if self.is_rank() {
            // Ranks fit: there are files of them.
            let ranks = values.map(|rank| rank as i32).chain(std::iter::repeat_n(NO_RANK, left));
            bytes.extend(ranks.flat_map(i32::to_be_bytes));
        } else {
            bytes.extend(values.chain(std::iter::repeat_n(f64::NAN, left)).flat_map(f64::to_be_bytes));
        }
    }
}

/// Adds the variables for `places` retests to a new file, with so many `samples` of each; none where there are none.
pub(super) fn define(file: &mut FileMut, places: usize, samples: usize) -> netcdf::Result<()> {
    if places == 0 {
        return Ok(());
    }
    if samples > 0 {
        file.add_dimension(SAMPLE, samples)?;
    }
    file.add_dimension(RETESTS, places)?;
    for field in Field::ALL {
        let (name, dimensions) = (field.name(), [N, RETESTS]);
        let (kind, unit, description) = if field.is_rank() {
            (Kind::Int, "1", format!("{name}[n][retest]: a rank; {NO_RANK}: no retest"))
        } else {
            let [source, destination] = [Field::Source, Field::Destination].map(Field::name);
            let text = format!("from {source}[n][retest] to {destination}[n][retest]");
            (Kind::Double, "s", format!("{name}[n][retest]: {text}; NaN: missing"))
        };
        let variable = Variable::new(name, kind, unit, [field.meaning().into(), description.into()]);
        let variable = if field.is_rank() { variable.filled_with(NO_RANK) } else { variable.filled() };
        variable.define(file, &dimensions)?;
    }
    if samples > 0 {
        let [source, destination] = [Field::Source, Field::Destination].map(Field::name);
        let text = format!(
            "{SAMPLES}[n][retest][sample]: from {source}[n][retest] to {destination}[n][retest], in the order in which they \
             were taken; their median is {}[n][retest]; NaN: no further sample",
            Field::Alone.name()
        );
        let meaning = "samples with everybody else silent";
        Variable::new(SAMPLES, Kind::Double, "s", [meaning.into(), text.into()])
            .filled()
            .define(file, &[N, RETESTS, SAMPLE])?;
    }
    Ok(())
}

/// The samples of retests, `[retest][sample]`, and nothing in places that are left over, as they stand in a NetCDF
/// file.
pub(super) fn encode_samples(samples: &[Vec<f64>], places: usize, most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(places * most * size_of::<f64>());
    for place in 0..places {
        let own = samples.get(place).into_iter().flatten().copied();
        bytes.extend(own.chain(std::iter::repeat(f64::NAN)).take(most).flat_map(f64::to_be_bytes));
    }
    bytes
}

/// Whether a file has the samples of retests.
pub(super) fn samples_are_in(file: &NcFile) -> bool {
    file.has(SAMPLES)
}

/// Reads the samples of the retests of a length, in the order of [`read`].
pub(super) fn read_samples(file: &NcFile, length_index: usize) -> Result<Vec<Vec<f64>>, StoreError> {
    let places = file.dimension(RETESTS)?;
    let mut sources = vec![f64::NAN; places];
    file.read(file.variable_over(Field::Source.name(), &[N, RETESTS])?, length_index, 0, &mut sources)?;
    let variable = file.variable_over(SAMPLES, &[N, RETESTS, SAMPLE])?;
    let most = file.dimension(SAMPLE)?;
    let taken = (0..places).filter(|place| sources[*place] != f64::from(NO_RANK));
    taken
        .map(|place| {
            let mut samples = vec![f64::NAN; most];
            file.read(variable, length_index, place * most, &mut samples)?;
            samples.retain(|sample| !sample.is_nan());
            Ok(samples)
        })
        .collect()
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
        _ => Err(file.unusable(format!("has measured rank {value} again, but the run has {}", counted(ranks, "rank")))),
    };
    let [sources, destinations] = [values(Field::Source)?, values(Field::Destination)?];
    let [first, second, alone] = [values(Field::First)?, values(Field::Second)?, values(Field::Alone)?];
    let taken = (0..sources.len()).filter(|place| sources[*place] != f64::from(NO_RANK));
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
        let place = [LENGTH].into_iter().chain(ENDS).chain(HOSTS_OF_ENDS);
        let heading = place.chain(Field::TIMES.map(Field::column));
        table.write(lines(|out| out.write_record(heading)))?;
        Ok(table)
    }

    /// Replaces the table by one of the finished lengths, to go on behind them.
    pub(super) fn renew(
        path: &Path,
        header: &Header,
        finished: impl Iterator<Item = Result<(Bytes, Vec<Retest>), StoreError>>,
    ) -> Result<Self, StoreError> {
        let staged = extended(path, STAGED);
        let mut table = Self::begin(&staged, path, header)?;
        for length in finished {
            let (length, retests) = length?;
            table.append(length, &retests)?;
        }
        fs::rename(&staged, path).map_err(StoreError::io("replace", path))?;
        Ok(table)
    }

    /// Writes the lines of a length.
    pub(super) fn append(&mut self, length: Bytes, retests: &[Retest]) -> Result<(), StoreError> {
        let hosts = &self.hosts;
        self.write(lines(|out| {
            for retest in retests {
                let ends = [retest.source, retest.destination];
                out.write_field(length.0.to_string())?;
                ends.iter().try_for_each(|rank| out.write_field(rank.to_string()))?;
                ends.iter().try_for_each(|rank| out.write_field(&*harmless(hosts.name_of(*rank))))?;
                Field::TIMES.iter().try_for_each(|field| out.write_field(Exact(field.of(retest)).to_string()))?;
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

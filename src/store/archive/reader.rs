//! Opens an archive: the inverse of [`super::writer`], and the checks that make a damaged file a clear error.

use std::path::Path;

use super::*;
use crate::{
    plan::{Mode, Noise},
    record::{About, Clustered, Exception, Header, NO_SET, Part, PartSink, Provenance, Statistic, Tolerance},
    store::{
        StoreError,
        description::{exact, three},
        file::NcFile,
        schema::{
            BEGIN_END_STEP, DATA, DATA_TYPE, FORMAT, HOST, HOST_NAMES, HOSTS_ITEM, LENGTH, N, NOISE, PROC_NUM, REPEATS,
            TEST_TYPE, X, hosts_item,
        },
    },
    units::{Bytes, Hosts, Rank, hostlist},
};

/// Whether a file is an archive of ours, sound or not. What cannot be opened is none.
pub fn is_archive(path: &Path) -> bool {
    // Result sets are classic files: only HDF5 has to be opened to be told apart.
    let starts_as_hdf5 = || {
        use std::io::Read;
        let mut magic = [0; 4];
        std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"\x89HDF"
    };
    if !path.is_file() || !starts_as_hdf5() {
        return false;
    }
    let format = NcFile::open(path).and_then(|file| file.text(FORMAT));
    // HDF5 that cannot be opened is more likely a damaged archive than anything else of ours.
    format.map_or(true, |format| format.is_some_and(|format| format.starts_with(FORMAT_NAME)))
}

/// Reads an archive. Sets, their values and the exceptions are in memory afterwards, matrices are not.
pub fn open_archive(path: &Path) -> Result<Clustered, StoreError> {
    let file = NcFile::open(path).map_err(|error| match error {
        StoreError::NetCdf { cause, .. } => {
            StoreError::unusable(path, format!("is cut off or damaged ({cause}): copy it again from where it was made"))
        }
        other => other,
    })?;
    check_version(&file)?;
    let about = about(&file)?;
    let starts = range_starts(&file, &about.lengths)?;
    let exceptions = Exceptions::read(&file, &about)?;
    let values = all::<f64>(&file, DATA, &[D])?;
    let ranks = about.header.hosts.ranks();
    let mut clustered = Clustered::new(about);
    for (n, range) in starts.iter().zip(starts.iter().skip(1)).map(|(a, b)| *a..*b).enumerate() {
        let info = file.variable_over(INFO, &[N, X, X])?;
        let info: Vec<i32> = info.get_values((n..n + 1, .., ..)).map_err(StoreError::netcdf("read", &file.path))?;
        let (sets, set_values) = sets(&file, &info, range.len(), &values)?;
        let exceptions = exceptions.of(&file, range.clone(), ranks * ranks)?;
        let part = Part { lengths: range, sets, values: set_values, exceptions };
        clustered.write_part(part).map_err(|error| file.unusable(error.to_string()))?;
    }
    Ok(clustered)
}

fn check_version(file: &NcFile) -> Result<(), StoreError> {
    let format = file.text(FORMAT)?.unwrap_or_default();
    match format.strip_prefix(FORMAT_NAME).map(str::parse::<u32>) {
        Some(Ok(1..=FORMAT_VERSION)) => Ok(()),
        Some(_) => Err(file.unusable(format!(
            "has the format `{format}`, which is newer than this program: use a newer network_analyze"
        ))),
        None => Err(file.unusable("is NetCDF, but no archive of `network_analyze cluster`")),
    }
}

/// All values of a variable over the given dimensions.
fn all<T: netcdf::NcTypeDescriptor + Copy>(
    file: &NcFile,
    name: &str,
    dimensions: &[&str],
) -> Result<Vec<T>, StoreError> {
    let variable = file.variable_over(name, dimensions)?;
    if variable.len() == 0 {
        return Ok(Vec::new());
    }
    variable.get_values(..).map_err(StoreError::netcdf("read", &file.path))
}

fn about(file: &NcFile) -> Result<About, StoreError> {
    let ranks = file.dimension(X)?;
    if exact(file, PROC_NUM)? != ranks as u64 || ranks == 0 || ranks > usize::from(u16::MAX) {
        return Err(file.unusable("contradicts itself: its dimension `x` and its `proc_num` differ"));
    }
    let mode = Mode::from_id(file.narrow(TEST_TYPE, exact(file, TEST_TYPE)?)?);
    let statistic = Statistic::from_id(file.narrow(DATA_TYPE, exact(file, DATA_TYPE)?)?);
    let needed = |name: &str| file.text(name)?.ok_or_else(|| file.unusable(format!("lacks the attribute `{name}`")));
    let tolerance: Tolerance = needed(TOLERANCE)?.parse().map_err(|error| file.unusable(format!("{error}")))?;
    let origin: Origin = serde_json::from_str(&needed(RUN)?)
        .map_err(|error| file.unusable(format!("has a damaged attribute `{RUN}`: {error}")))?;
    let lengths = lengths(file, all::<i64>(file, MES_LENGTH, &[I])?)?;
    let [begin, end, step] = three(file, BEGIN_END_STEP)?;
    let [noise_length, noise_messages, noise_processes] = three(file, NOISE)?;
    let mut header = Header {
        mode: mode.ok_or_else(|| file.unusable("has a `test_type` that no mode has"))?,
        hosts: hosts(file, ranks)?,
        planned: origin.planned.map_or_else(|| lengths.clone(), |planned| planned.into_iter().map(Bytes).collect()),
        begin_end_step: (Bytes(begin), Bytes(end), Bytes(step)),
        iterations: file.narrow(REPEATS, exact(file, REPEATS)?)?,
        noise: Noise {
            length: Bytes(noise_length),
            messages: file.narrow(NOISE[1], noise_messages)?,
            processes: file.narrow(NOISE[2], noise_processes)?,
        },
        plan: origin.plan,
        provenance: Provenance::from_entries(|name| origin.provenance.get(name).cloned()),
    };
    if !header.plan.is_empty() {
        header.plan.insert(HOSTS_ITEM.to_owned(), hosts_item(&header));
    }
    Ok(About {
        header,
        statistic: statistic.ok_or_else(|| file.unusable("has a `data_type` that no statistic has"))?,
        lengths,
        tolerance,
        reason: file.text(REASON)?.unwrap_or_default(),
        order: order(file, ranks)?,
    })
}

fn lengths(file: &NcFile, values: Vec<i64>) -> Result<Vec<Bytes>, StoreError> {
    let lengths: Result<Vec<u64>, _> = values.into_iter().map(u64::try_from).collect();
    match lengths {
        Ok(lengths) if !lengths.is_empty() && lengths.is_sorted_by(|a, b| a < b) => {
            Ok(lengths.into_iter().map(Bytes).collect())
        }
        _ => Err(file.unusable("has message lengths that do not ascend")),
    }
}

fn hosts(file: &NcFile, ranks: usize) -> Result<Hosts, StoreError> {
    let names: Vec<String> = match (file.text(HOSTS)?, file.text(HOST_NAMES)?) {
        (Some(list), _) => {
            hostlist::expand(&list).map_err(|error| file.unusable(format!("names its hosts so: {error}")))?
        }
        (None, Some(names)) => names.lines().map(str::to_owned).collect(),
        (None, None) => file.texts(HOST)?,
    };
    if names.len() != ranks {
        return Err(file.unusable(format!("names {} hosts for {ranks} ranks", names.len())));
    }
    Ok(Hosts::new(names))
}

fn order(file: &NcFile, ranks: usize) -> Result<Vec<Rank>, StoreError> {
    if file.file.variable(ORDER).is_none() {
        return Ok((0..ranks).collect());
    }
    let order: Vec<Rank> = all::<i32>(file, ORDER, &[X])?.into_iter().map(|rank| rank as Rank).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.into_iter().eq(0..ranks) {
        Ok(order)
    } else {
        Err(file.unusable("has an `order` that is no order of its ranks"))
    }
}

/// The numbers of the lengths at which ranges begin, and behind them that of the end.
fn range_starts(file: &NcFile, lengths: &[Bytes]) -> Result<Vec<usize>, StoreError> {
    let first_lengths = all::<i64>(file, LENGTH, &[N])?;
    let place = |length: &i64| lengths.binary_search(&Bytes(u64::try_from(*length).ok()?)).ok();
    let starts: Option<Vec<usize>> = first_lengths.iter().map(place).chain([Some(lengths.len())]).collect();
    match starts {
        Some(starts) if starts[0] == 0 && starts.is_sorted_by(|a, b| a < b) => Ok(starts),
        _ => Err(file.unusable("has ranges that do not begin at ascending lengths of its sweep")),
    }
}

/// From where values start to numbers of sets, and the values by set.
fn sets(file: &NcFile, info: &[i32], lengths: usize, values: &[f64]) -> Result<(Vec<u32>, Vec<f64>), StoreError> {
    let mut starts: Vec<i32> = info.iter().copied().filter(|start| *start != NO_START).collect();
    starts.sort_unstable();
    starts.dedup();
    let inside = |start: i32| usize::try_from(start).is_ok_and(|start| start + lengths <= values.len());
    if let Some(start) = starts.iter().find(|start| !inside(**start)) {
        return Err(file.unusable(format!("is cut off or damaged: values start at {start} of {}", values.len())));
    }
    let number = |start: &i32| starts.binary_search(start).map_or(NO_SET, |set| set as u32);
    let set_values = starts.iter().flat_map(|start| &values[*start as usize..][..lengths]).copied().collect();
    Ok((info.iter().map(number).collect(), set_values))
}

/// All exceptions of a file.
struct Exceptions {
    /// For every length the number of its first exception, and behind them that of the end.
    starts: Vec<usize>,
    cells: Vec<u32>,
    values: Vec<f64>,
}

impl Exceptions {
    fn read(file: &NcFile, about: &About) -> Result<Self, StoreError> {
        let none = Self { starts: vec![0; about.lengths.len() + 1], cells: Vec::new(), values: Vec::new() };
        if file.file.variable(EXCEPTION_CELL).is_none() {
            return Ok(none);
        }
        let cells = all::<u32>(file, EXCEPTION_CELL, &[E])?;
        let values = all::<f64>(file, EXCEPTION_VALUE, &[E])?;
        let mut starts: Vec<usize> =
            all::<i32>(file, EXCEPTION_START, &[I])?.into_iter().map(|start| start as usize).collect();
        starts.push(cells.len());
        if starts.is_sorted() && values.len() == cells.len() {
            return Ok(Self { starts, cells, values });
        }
        Err(file.unusable("has exceptions out of order"))
    }

    /// Those of a range, numbered from its first length.
    fn of(&self, file: &NcFile, range: std::ops::Range<usize>, cells: usize) -> Result<Vec<Exception>, StoreError> {
        let mut exceptions = Vec::with_capacity(self.starts[range.end] - self.starts[range.start]);
        for (length, place) in range.enumerate() {
            let places = self.starts[place]..self.starts[place + 1];
            let ascending = self.cells[places.clone()].is_sorted_by(|a, b| a < b);
            if !ascending || self.cells[places.clone()].last().is_some_and(|cell| *cell as usize >= cells) {
                return Err(file.unusable("has exceptions out of order"));
            }
            let exception = |k: usize| Exception { length: length as u32, cell: self.cells[k], value: self.values[k] };
            exceptions.extend(places.map(exception));
        }
        Ok(exceptions)
    }
}

//! Opens an archive: the inverse of [`super::writer`], and the checks that make a damaged file a clear error.

use std::{
    io::{BufReader, Read},
    path::Path,
};

use super::{block::Inflating, layout::*};
use crate::{
    plan::{Mode, Noise},
    record::{About, Clustered, Exception, Header, NO_SET, Part, PartSink, Provenance, Statistic, Tolerance},
    store::{
        classic::{Layout, Value, sound},
        description::{checked_hosts, exact, three},
        error::StoreError,
        file::{MOST_HEADER, NcFile},
        import::{Format, OpenedRun},
        regular,
        schema::{
            BEGIN_END_STEP, DATA, DATA_TYPE, FORMAT, HOST, HOSTS_ITEM, LENGTH, N, NOISE, PROC_NUM, REPEATS, TEST_TYPE,
            X, check_header, hosts_item,
        },
    },
    units::{Bytes, Hosts, Rank, hostlist},
};

/// Archives as a form of runs.
pub(in crate::store) struct Archives;

impl Format for Archives {
    fn has(&self, path: &Path, beginning: &[u8]) -> bool {
        !beginning.is_empty() && is_archive(path)
    }

    fn open(&self, path: &Path) -> Result<OpenedRun, StoreError> {
        let run = open_archive(path)?;
        let notice = format!(
            "an archive: every value is within {} of the one that was measured",
            run.about().tolerance.describe()
        );
        Ok(OpenedRun { run: Box::new(run), notices: vec![notice] })
    }
}

/// Whether a file is an archive of ours, sound or not. What cannot be opened is none.
pub fn is_archive(path: &Path) -> bool {
    let Ok(file) = regular::open(path) else { return false };
    let layout = Layout::read(BufReader::new(file.take(MOST_HEADER)));
    let Ok(layout) = layout else { return false };
    matches!(layout.attribute(FORMAT), Some(Value::Text(format)) if format.starts_with(FORMAT_NAME))
}

/// Reads an archive. Sets, their values and the exceptions are in memory afterwards, matrices are not.
pub fn open_archive(path: &Path) -> Result<Clustered, StoreError> {
    let file = NcFile::open(path)?;
    check_version(&file)?;
    let about = about(&file)?;
    let ranges = ranges(&file, &about.lengths)?;
    let mut budget = Budget::of(&file);
    let block = |name: &str| file.bytes(file.variable(name)?);
    let [info, data] = [block(INFO)?, block(DATA)?];
    let [exception_cells, exception_values] = [block(EXCEPTION_CELL)?, block(EXCEPTION_VALUE)?];
    let [mut info, mut data] = [&info, &data].map(|bytes| Inflating::new(bytes));
    let [mut cells, mut values] = [&exception_cells, &exception_values].map(|bytes| Inflating::new(bytes));
    let counts = exception_counts(&file, &about)?;
    let pairs = about.header.hosts.ranks().pow(2);
    let mut clustered = Clustered::new(about);
    for Range { lengths, sets, width } in ranges {
        budget.take(&file, [(pairs, size_of::<u32>() + width), (sets * lengths.len(), 2 * size_of::<f64>())])?;
        let sets_of_pairs = sets_of_pairs(&mut info, pairs, sets, width).map_err(|error| damaged(&file, &error))?;
        let set_values = data.take(sets * lengths.len()).map_err(|error| damaged(&file, &error))?;
        let counts = &counts[lengths.clone()];
        let count = counts.iter().sum();
        budget.take(&file, [(count, size_of::<Exception>()), (count, size_of::<f64>())])?;
        let cells = cells.take(count).map_err(|error| damaged(&file, &error))?;
        let values = values.take(count).map_err(|error| damaged(&file, &error))?;
        let part = Part {
            lengths,
            sets: sets_of_pairs,
            values: set_values.into_iter().map(|value| sound(f64::from_le_bytes(value))).collect(),
            exceptions: exceptions(&file, counts, &cells, &values, pairs)?,
        };
        clustered.write_part(part).map_err(|error| file.unusable(error.to_string()))?;
    }
    if [&mut info, &mut data, &mut cells, &mut values].into_iter().all(Inflating::is_at_end) {
        return Ok(clustered);
    }
    Err(file.unusable("is damaged: there is more in it than it announces; copy it again from where it was made"))
}

fn damaged(file: &NcFile, error: &std::io::Error) -> StoreError {
    match error.kind() {
        std::io::ErrorKind::OutOfMemory => StoreError::NoMemory { path: file.path.clone() },
        _ => file.unusable("is damaged: its blocks cannot be inflated; copy it again from where it was made"),
    }
}

/// Bytes that may still be taken for what a file announces. Deflated bytes can announce a thousand times as many: a file
/// that does is believed up to [`ALWAYS`], beyond that where it is not small itself.
struct Budget(u64);

/// What any file may take: sets of 4,000 hosts in four ranges.
const ALWAYS: u64 = 1 << 28;

/// What every byte of a file may take: 64 times is what maps of leaf-spine clusters without noise reach.
const PER_BYTE: u64 = 64;

impl Budget {
    fn of(file: &NcFile) -> Self {
        Self(ALWAYS.saturating_add(file.size().saturating_mul(PER_BYTE)))
    }

    /// Takes room for so many numbers of so many bytes, twice.
    fn take(&mut self, file: &NcFile, wanted: [(usize, usize); 2]) -> Result<(), StoreError> {
        let bytes = |(count, size): (usize, usize)| (count as u64).saturating_mul(size as u64);
        let wanted = wanted.into_iter().map(bytes).fold(0, u64::saturating_add);
        match self.0.checked_sub(wanted) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                let size = file.size();
                Err(file.unusable(format!("is damaged: its {size} bytes announce more than {ALWAYS} bytes of sets")))
            }
        }
    }
}

fn check_version(file: &NcFile) -> Result<(), StoreError> {
    let format = file.text(FORMAT)?.unwrap_or_default();
    match format.strip_prefix(FORMAT_NAME).map(str::parse::<u32>) {
        Some(Ok(FORMAT_VERSION)) => Ok(()),
        Some(_) => Err(file.unusable(format!(
            "has the format `{format}`, which is newer than this program: use a newer network_analyze"
        ))),
        None => Err(file.unusable("is NetCDF, but no archive of `network_analyze cluster`")),
    }
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
    let lengths = lengths(file, file.integers(file.variable_over(MES_LENGTH, &[I])?)?)?;
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
    check_header(&header).map_err(|what| file.unusable(format!("contradicts itself: {what}")))?;
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
    let names: Vec<String> = match file.text(HOSTS)? {
        Some(list) => hostlist::expand_up_to(&list, ranks)
            .map_err(|error| file.unusable(format!("names its hosts in a way that cannot be read: {error}")))?,
        None => file.texts(HOST)?,
    };
    checked_hosts(file, names, ranks)
}

fn order(file: &NcFile, ranks: usize) -> Result<Vec<Rank>, StoreError> {
    if !file.has(ORDER) {
        return Ok((0..ranks).collect());
    }
    let order = file.integers(file.variable_over(ORDER, &[X])?)?;
    let order: Vec<Rank> = order.into_iter().map(|rank| rank as Rank).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.into_iter().eq(0..ranks) {
        Ok(order)
    } else {
        Err(file.unusable("has an `order` that is no order of its ranks"))
    }
}

/// A range of lengths, of which the sets are numbers of `width` bytes.
struct Range {
    lengths: std::ops::Range<usize>,
    sets: usize,
    width: usize,
}

fn ranges(file: &NcFile, lengths: &[Bytes]) -> Result<Vec<Range>, StoreError> {
    let numbers = |name: &str| file.integers(file.variable_over(name, &[N])?);
    let [first_lengths, sets, widths] = [numbers(LENGTH)?, numbers(SETS)?, numbers(INFO_WIDTH)?];
    let place = |length: &i64| lengths.binary_search(&Bytes(u64::try_from(*length).ok()?)).ok();
    let starts: Option<Vec<usize>> = first_lengths.iter().map(place).chain([Some(lengths.len())]).collect();
    let Some(starts) = starts.filter(|starts| starts[0] == 0 && starts.is_sorted_by(|a, b| a < b)) else {
        return Err(file.unusable("has ranges that do not begin at ascending lengths of its sweep"));
    };
    let range = |k: usize| {
        let sets = usize::try_from(sets[k]).ok()?;
        let width = usize::try_from(widths[k]).ok().filter(|width| *width == width_of(sets))?;
        Some(Range { lengths: starts[k]..starts[k + 1], sets, width })
    };
    let ranges: Option<_> = (0..first_lengths.len()).map(range).collect();
    ranges.ok_or_else(|| file.unusable("is damaged: the sets of its ranges and the width of their numbers differ"))
}

/// The set of every pair in the next range.
fn sets_of_pairs(info: &mut Inflating, pairs: usize, sets: usize, width: usize) -> std::io::Result<Vec<u32>> {
    let numbers: Vec<u32> = match width {
        1 => info.take::<1>(pairs)?.into_iter().map(|number| u32::from(number[0])).collect(),
        2 => info.take::<2>(pairs)?.into_iter().map(|number| u32::from(u16::from_le_bytes(number))).collect(),
        _ => info.take::<4>(pairs)?.into_iter().map(u32::from_le_bytes).collect(),
    };
    let set = |number: u32| match number {
        number if number == no_set(width) => Some(NO_SET),
        number => Some(number).filter(|number| (*number as usize) < sets),
    };
    let numbers: Option<Vec<u32>> = numbers.into_iter().map(set).collect();
    numbers.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// `[length]`: number of exceptions.
fn exception_counts(file: &NcFile, about: &About) -> Result<Vec<usize>, StoreError> {
    let counts = file.integers(file.variable_over(EXCEPTIONS, &[I])?)?;
    let cells = about.header.hosts.ranks().pow(2);
    let count = |count: i64| usize::try_from(count).ok().filter(|count| *count <= cells);
    let counts: Option<Vec<usize>> = counts.into_iter().map(count).collect();
    counts.ok_or_else(|| file.unusable("has more exceptions at a length than cells"))
}

/// The exceptions of a range, of which every length has so many.
fn exceptions(
    file: &NcFile,
    counts: &[usize],
    cells: &[[u8; 4]],
    values: &[[u8; 8]],
    pairs: usize,
) -> Result<Vec<Exception>, StoreError> {
    let mut exceptions: Vec<Exception> = Vec::with_capacity(cells.len());
    let mut first = 0;
    for (length, count) in counts.iter().enumerate() {
        let places = first..first + count;
        let cells: Vec<u32> = cells[places.clone()].iter().map(|cell| u32::from_le_bytes(*cell)).collect();
        if !cells.is_sorted_by(|a, b| a < b) || cells.last().is_some_and(|cell| *cell as usize >= pairs) {
            return Err(file.unusable("has exceptions out of order"));
        }
        let exception = |(cell, value): (u32, &[u8; 8])| {
            let value = sound(f64::from_le_bytes(*value));
            Exception { length: length as u32, cell, value }
        };
        exceptions.extend(cells.into_iter().zip(&values[places]).map(exception));
        first += count;
    }
    Ok(exceptions)
}

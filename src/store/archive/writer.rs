//! Writes an archive part by part.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netcdf::{AttributeValue, FileMut, Options, types::NcVariableType};

use super::{super::definition::scalars, *};
use crate::{
    record::{About, BoxError, NO_SET, Part, PartSink},
    store::{
        StoreError, chars,
        schema::{DATA, EXACT, FORMAT, HOST, HOST_NAMES, HOSTS_ITEM, LENGTH, N, STRINGS, STRINGS_LEN, X, check_header},
    },
    units::{Bytes, Rank, hostlist},
};

/// Create flags of NetCDF 4.9 (earlier ones ignore them): variables do not refer to the scales of their dimensions, and
/// the order in which attributes were made is not kept. Both take several KiB and tell nothing.
const SMALLER: i32 = 0x40000 | 0x20000;

/// The most: there is little to deflate, and it is worth it.
const DEFLATE: i32 = 9;

/// Most values in a chunk of `data` and of the exceptions, and most numbers in one of `info`.
const CHUNK: usize = 1 << 13;
const INFO_CHUNK: usize = 1 << 20;

/// An archive that is being written, beside its place: [`ArchiveWriter::close`] moves it there.
#[derive(Debug)]
pub struct ArchiveWriter {
    path: PathBuf,
    force: bool,
    place: tempfile::NamedTempFile,
    file: FileMut,
    about: About,
    parts: usize,
    values: usize,
    /// For every length so far the number of its first exception.
    exception_starts: Vec<i32>,
    exceptions: usize,
}

/// Creates an archive at `path`; an existing file is replaced with `force`, at the end.
pub fn create_archive(path: &Path, about: About, force: bool) -> Result<ArchiveWriter, StoreError> {
    check_header(&about.header).map_err(StoreError::Header)?;
    if path.is_dir() {
        return Err(StoreError::unusable(path, "is a folder: name a file in it"));
    }
    if path.exists() && !force {
        return Err(StoreError::unusable(path, "exists: name another file, or replace it with --force"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(StoreError::NoFolder { folder: folder.to_owned() });
    }
    let place = tempfile::Builder::new().suffix(".nc").tempfile_in(folder).map_err(StoreError::io("create", path))?;
    let file = define(place.path(), &about).map_err(StoreError::netcdf("create", path))?;
    Ok(ArchiveWriter {
        path: path.to_owned(),
        force,
        place,
        file,
        about,
        parts: 0,
        values: 0,
        exception_starts: Vec::new(),
        exceptions: 0,
    })
}

fn define(path: &Path, about: &About) -> netcdf::Result<FileMut> {
    let options = Options::NETCDF4 | Options::from_bits_retain(SMALLER as _);
    let mut file = netcdf::create_with(path, options)?;
    let ranks = about.header.hosts.ranks();
    file.add_dimension(X, ranks)?;
    file.add_dimension(I, about.lengths.len())?;
    file.add_unlimited_dimension(N)?;
    file.add_unlimited_dimension(D)?;
    let scalars = scalars(&about.header, about.statistic);
    for scalar in &scalars {
        let mut variable = file.add_variable::<i32>(scalar.name, &[])?;
        if scalar.fitting() as u64 != scalar.value {
            variable.put_attribute(EXACT, scalar.value.to_string())?;
        }
    }
    let mut info = file.add_variable::<i32>(INFO, &[N, X, X])?;
    info.set_chunking(&[1, (INFO_CHUNK / ranks).clamp(1, ranks), ranks])?;
    info.set_compression(DEFLATE, true)?;
    let mut length = length_variable(&mut file, LENGTH, N, &about.lengths)?;
    length.set_chunking(&[16])?;
    let mut data = file.add_variable::<f64>(DATA, &[D])?;
    data.set_chunking(&[CHUNK])?;
    data.set_compression(DEFLATE, true)?;
    data.put_attribute("units", about.statistic.unit())?;
    let mut lengths = length_variable(&mut file, MES_LENGTH, I, &about.lengths)?;
    lengths.put_attribute("units", "byte")?;
    define_hosts(&mut file, about)?;
    define_attributes(&mut file, about)?;
    file.enddef()?;
    for scalar in &scalars {
        scalar.put(&mut file)?;
    }
    put_lengths(&mut file, MES_LENGTH, 0, &about.lengths)?;
    if file.variable(HOST).is_some() {
        let mut hosts = variable(&mut file, HOST)?;
        chars::write(&mut hosts, STRINGS_LEN, about.header.hosts.name_of_every_rank())?;
    }
    Ok(file)
}

/// A variable of message lengths: ints where they fit, as in result sets.
fn length_variable<'f>(
    file: &'f mut FileMut,
    name: &str,
    dimension: &str,
    lengths: &[Bytes],
) -> netcdf::Result<netcdf::VariableMut<'f>> {
    if fits_int(lengths) {
        file.add_variable::<i32>(name, &[dimension])
    } else {
        file.add_variable::<i64>(name, &[dimension])
    }
}

fn fits_int(lengths: &[Bytes]) -> bool {
    lengths.iter().all(|length| i32::try_from(length.0).is_ok())
}

fn put_lengths(file: &mut FileMut, name: &str, first: usize, lengths: &[Bytes]) -> netcdf::Result<()> {
    let values: Vec<i64> = lengths.iter().map(|length| length.0 as i64).collect();
    let mut variable = variable(file, name)?;
    if variable.vartype() == NcVariableType::Int(netcdf::types::IntType::I32) {
        let values: Vec<i32> = values.into_iter().map(|value| value as i32).collect();
        return variable.put_values(&values, first..first + values.len());
    }
    variable.put_values(&values, first..first + values.len())
}

/// A list in Slurm's notation where that says it all, else a variable, or lines where names are too long for that.
fn define_hosts(file: &mut FileMut, about: &About) -> netcdf::Result<()> {
    let names: Vec<&str> = about.header.hosts.name_of_every_rank().collect();
    let list = hostlist::compress(&names);
    if list.len() <= HOSTS_ATTRIBUTE && hostlist::expand(&list).is_ok_and(|expanded| expanded == names) {
        return file.add_attribute(HOSTS, list).map(drop);
    }
    if names.iter().any(|name| name.len() > STRINGS_LEN) {
        return file.add_attribute(HOST_NAMES, names.join("\n")).map(drop);
    }
    file.add_dimension(STRINGS, STRINGS_LEN)?;
    let mut host = file.add_variable_with_type(HOST, &[X, STRINGS], &NcVariableType::Char)?;
    host.set_compression(DEFLATE, false)
}

fn define_attributes(file: &mut FileMut, about: &About) -> netcdf::Result<()> {
    let header = &about.header;
    let known = header.provenance.entries().into_iter().filter(|(_, value)| !value.is_empty());
    let origin = Origin {
        plan: header.plan.iter().filter(|(name, _)| *name != HOSTS_ITEM).map(|(a, b)| (a.clone(), b.clone())).collect(),
        provenance: known.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>(),
        planned: (header.planned != about.lengths).then(|| header.planned.iter().map(|length| length.0).collect()),
    };
    let origin = serde_json::to_string(&origin).unwrap_or_default();
    let mut put = |name: &str, value: String| file.add_attribute(name, value).map(drop);
    put(FORMAT, format!("{FORMAT_NAME}{FORMAT_VERSION}"))?;
    put(TOLERANCE, about.tolerance.to_string())?;
    put(REASON, about.reason.clone())?;
    put(RUN, origin)
}

fn variable<'f>(file: &'f mut FileMut, name: &str) -> netcdf::Result<netcdf::VariableMut<'f>> {
    file.variable_mut(name).ok_or_else(|| netcdf::Error::NotFound(name.to_owned()))
}

impl ArchiveWriter {
    /// What the archive is about.
    pub fn about(&self) -> &About {
        &self.about
    }

    fn put_part(&mut self, part: &Part, first: usize, stride: usize) -> netcdf::Result<()> {
        let start = |set: u32| if set == NO_SET { NO_START } else { (first + set as usize * stride) as i32 };
        let info: Vec<i32> = part.sets.iter().map(|set| start(*set)).collect();
        let n = self.parts;
        variable(&mut self.file, INFO)?.put_values(&info, (n..n + 1, .., ..))?;
        put_lengths(&mut self.file, LENGTH, n, &self.about.lengths[part.lengths.start..part.lengths.start + 1])?;
        if part.set_count() > 0 {
            let mut values = vec![f64::NAN; part.set_count() * stride];
            for set in 0..part.set_count() {
                let curve = part.curve(set);
                let place = &mut values[set * stride..][..stride];
                place.fill(curve[curve.len() - 1]);
                place[..curve.len()].copy_from_slice(curve);
            }
            variable(&mut self.file, DATA)?.put_values(&values, first..first + values.len())?;
        }
        if !part.exceptions.is_empty() {
            self.put_exceptions(part)?;
        }
        Ok(())
    }

    fn put_exceptions(&mut self, part: &Part) -> netcdf::Result<()> {
        if self.file.variable(EXCEPTION_CELL).is_none() {
            self.file.redef()?;
            self.file.add_unlimited_dimension(E)?;
            let mut cells = self.file.add_variable::<u32>(EXCEPTION_CELL, &[E])?;
            cells.set_chunking(&[CHUNK])?;
            cells.set_compression(DEFLATE, true)?;
            let mut values = self.file.add_variable::<f64>(EXCEPTION_VALUE, &[E])?;
            values.set_chunking(&[CHUNK])?;
            values.set_compression(DEFLATE, true)?;
            self.file.add_variable::<i32>(EXCEPTION_START, &[I])?;
            self.file.enddef()?;
        }
        let place = self.exceptions..self.exceptions + part.exceptions.len();
        let cells: Vec<u32> = part.exceptions.iter().map(|exception| exception.cell).collect();
        let values: Vec<f64> = part.exceptions.iter().map(|exception| exception.value).collect();
        variable(&mut self.file, EXCEPTION_CELL)?.put_values(&cells, place.clone())?;
        variable(&mut self.file, EXCEPTION_VALUE)?.put_values(&values, place)
    }

    /// Ends the archive and moves it to its place. `order`: all ranks, those that behave alike beside each other.
    pub fn close(mut self, order: &[Rank]) -> Result<(), StoreError> {
        let path = self.path.clone();
        self.end(order).map_err(StoreError::netcdf("write", &path))?;
        let Self { file, place, force, .. } = self;
        file.close().map_err(StoreError::netcdf("write", &path))?;
        readable_as_others(place.path()).map_err(StoreError::io("write", &path))?;
        let kept = if force { place.persist(&path) } else { place.persist_noclobber(&path) };
        kept.map(drop).map_err(|error| StoreError::io("write", &path)(error.error))
    }

    fn end(&mut self, order: &[Rank]) -> netcdf::Result<()> {
        if self.exceptions > 0 {
            variable(&mut self.file, EXCEPTION_START)?.put_values(&self.exception_starts, ..)?;
        }
        if !order.iter().copied().eq(0..order.len()) {
            self.file.redef()?;
            let mut variable = self.file.add_variable::<i32>(ORDER, &[X])?;
            variable.put_attribute("long_name", AttributeValue::from("ranks, those that behave alike side by side"))?;
            let order: Vec<i32> = order.iter().map(|rank| *rank as i32).collect();
            variable.put_values(&order, ..)?;
        }
        Ok(())
    }
}

/// Temporary files are for their owner alone; results are for whom the folder's other new files are.
fn readable_as_others(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let probe = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    std::fs::set_permissions(path, probe.as_file().metadata()?.permissions())
}

/// Places that a set's values take: starts then differ in one byte only where there are few sets and many lengths, and
/// in few bits otherwise.
fn stride(sets: usize, lengths: usize) -> usize {
    const BYTE: usize = 256;
    if sets <= BYTE && lengths > BYTE / 4 { lengths.next_multiple_of(BYTE) } else { lengths.next_power_of_two() }
}

impl PartSink for ArchiveWriter {
    fn write_part(&mut self, part: Part) -> Result<(), BoxError> {
        let stride = stride(part.set_count(), part.lengths.len());
        let first = self.values.next_multiple_of(stride);
        let (values, exceptions) = (first + part.set_count() * stride, self.exceptions + part.exceptions.len());
        if i32::try_from(values).is_err() || i32::try_from(exceptions).is_err() {
            let what = "would have more than 2147483647 values: a larger tolerance makes fewer";
            return Err(StoreError::unusable(&self.path, what).into());
        }
        self.put_part(&part, first, stride).map_err(StoreError::netcdf("write", &self.path))?;
        let mut next = self.exceptions;
        for length in 0..part.lengths.len() {
            self.exception_starts.push(next as i32);
            next += part.exceptions_at(length).len();
        }
        self.parts += 1;
        self.values = values;
        self.exceptions = exceptions;
        Ok(())
    }
}

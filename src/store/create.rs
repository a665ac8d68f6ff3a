//! Makes a new result set, or none: what was made is taken back when a later file cannot be.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    definition::define,
    output::check,
    part::Part,
    paths::{self, HOSTS, RETESTS, STAGED, extended, file_of},
    retests::{self, Table},
    schema::check_header,
    stuck::stuck_path,
    writer::{Made, SetWriter},
};
use crate::{
    plan::Partners,
    record::{Header, Statistic},
};

/// Makes the files of a new set: the five statistics of times, the number of samples if asked for (`with_amount`), the
/// optional statistics if the header asks for them, the
/// host of every rank, and the table of pairs that are measured again if the plan has any. With `force` older files are
/// replaced, but not before all the new ones are made.
pub fn create(prefix: &Path, header: &Header, force: bool, with_amount: bool) -> Result<SetWriter, StoreError> {
    create_with(prefix, header, None, force, &statistics(header, with_amount))
}

/// As [`create`], for a run that leaves most pairs out: the files have places for the cells of `partners` alone, and
/// rows are lines of this table.
pub fn create_sampled(
    prefix: &Path,
    header: &Header,
    partners: &Partners,
    force: bool,
    with_amount: bool,
) -> Result<SetWriter, StoreError> {
    create_with(prefix, header, Some(partners), force, &statistics(header, with_amount))
}

fn statistics(header: &Header, with_amount: bool) -> Vec<Statistic> {
    let amount = with_amount.then_some(Statistic::MeasurementsAmount);
    Statistic::OF_TIMES.into_iter().chain(amount).chain(header.optional_statistics()).collect()
}

/// As [`create`], with the given statistics.
pub(super) fn create_with(
    prefix: &Path,
    header: &Header,
    partners: Option<&Partners>,
    force: bool,
    statistics: &[Statistic],
) -> Result<SetWriter, StoreError> {
    check(prefix, force)?;
    let force = force || paths::is_unfilled(prefix);
    check_header(header).map_err(StoreError::Header)?;
    if statistics.is_empty() {
        return Err(StoreError::Header("it has no statistics".to_owned()));
    }
    let mut created = Created::default();
    let mut made = Vec::new();
    for &statistic in statistics {
        let path = file_of(prefix, statistic);
        let staged = created.file(&path, force)?;
        define(&staged, header, partners, statistic, statistics)?;
        made.push(Made { staged, path, statistic });
    }
    let hosts = extended(prefix, HOSTS);
    let staged_hosts = created.file(&hosts, force)?;
    write_hosts(&staged_hosts, header)?;
    let retests = extended(prefix, RETESTS);
    let staged_retests = (retests::places(header) > 0).then(|| created.file(&retests, force)).transpose()?;
    let table = staged_retests.as_ref().map(|staged| Table::begin(staged, &retests, header)).transpose()?;
    let writer = SetWriter::open(&made, header, partners, 0, table, Part::anew(prefix, header)?)?;
    if force {
        let others = [Some((&*staged_hosts, &*hosts)), staged_retests.as_deref().map(|staged| (staged, &*retests))];
        replace(prefix, made.iter().map(|made| (&*made.staged, &*made.path)).chain(others.into_iter().flatten()))?;
    }
    created.keep();
    // What was stuck in the run that is replaced says nothing about this one.
    match fs::remove_file(stuck_path(prefix)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io("remove", &stuck_path(prefix))(error)),
        _ => Ok(writer),
    }
}

/// Writes the host of every rank, one per line.
pub(super) fn write_hosts(path: &Path, header: &Header) -> Result<(), StoreError> {
    let text: String = header.hosts.name_of_every_rank().flat_map(|name| [name, "\n"]).collect();
    let write = || File::create(path)?.write_all(text.as_bytes());
    write().map_err(StoreError::io("write", path))
}

/// Puts the new files in the place of the old ones, and removes old ones that the new set does not have.
fn replace<'a>(prefix: &Path, files: impl Iterator<Item = (&'a Path, &'a Path)>) -> Result<(), StoreError> {
    let mut stale: Vec<_> = paths::set_files(prefix).collect();
    for (staged, path) in files {
        fs::rename(staged, path).map_err(StoreError::io("replace", path))?;
        stale.retain(|file| file != path);
    }
    for path in stale.iter().filter(|path| path.exists()) {
        fs::remove_file(path).map_err(StoreError::io("remove", path))?;
    }
    Ok(())
}

/// Files that are taken back unless [`Created::keep`] is called.
#[derive(Default)]
struct Created(Vec<PathBuf>);

impl Created {
    /// Makes an empty file for `path`, under another name where it will replace one; nobody else's file is touched.
    fn file(&mut self, path: &Path, force: bool) -> Result<PathBuf, StoreError> {
        let staged = if force { extended(path, STAGED) } else { path.to_owned() };
        let mut options = OpenOptions::new();
        let options = if force { options.create(true).truncate(true) } else { options.create_new(true) };
        options.write(true).open(&staged).map_err(StoreError::io("create", &staged))?;
        self.0.push(staged.clone());
        Ok(staged)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        for path in &self.0 {
            // There is an error under way already, and it says more than this one would.
            let _ = fs::remove_file(path);
        }
    }
}

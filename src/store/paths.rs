//! The names of a set's files, and what is there of them.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::BufReader,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{StoreError, classic::Layout};
use crate::record::Statistic;

/// What follows the prefix in the name of the file with the host of every rank.
pub(super) const HOSTS: &str = "_hosts.txt";

/// What follows the prefix in the name of the table of pairs that were measured again.
pub(super) const RETESTS: &str = "_retest.csv";

/// What follows the prefix in the name of the file in which ranks say that they wait in vain.
pub(super) const STUCK: &str = "_stuck.txt";

/// What follows the prefix in the name of the file of operations.
pub(super) const OPERATIONS: &str = "_operations.nc";

/// What follows the prefix in the name of network_tests2's file with every single delay.
pub(super) const DELAYS: &str = "_all.nc";

/// What follows the prefix in the name of the file with the finished rounds of an unfinished length.
pub(super) const PART: &str = "_part.bin";

/// What follows the name of a file that will replace an older one once all of them are made.
pub(super) const STAGED: &str = ".new";

/// `path` with `suffix` behind its name.
pub(super) fn extended(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn suffix(statistic: Statistic) -> String {
    format!("_{}.nc", statistic.name())
}

/// The file that holds `statistic`.
pub(super) fn file_of(prefix: &Path, statistic: Statistic) -> PathBuf {
    extended(prefix, &suffix(statistic))
}

/// The file with the finished rounds of an unfinished length.
pub(super) fn part_path(prefix: &Path) -> PathBuf {
    extended(prefix, PART)
}

/// Every file that a set can have.
pub(super) fn set_files(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    Statistic::all()
        .map(move |statistic| file_of(prefix, statistic))
        .chain([HOSTS, RETESTS, PART].map(|suffix| extended(prefix, suffix)))
}

/// The prefix of the set to which a file of this name belongs, if the name is that of a set's file.
pub fn prefix_of(file: &Path) -> Option<PathBuf> {
    let text = file.as_os_str().as_bytes();
    let suffixes =
        Statistic::all().map(suffix).chain([HOSTS, RETESTS, DELAYS, STUCK, PART, OPERATIONS].map(str::to_owned));
    let prefix = suffixes.into_iter().find_map(|suffix| text.strip_suffix(suffix.as_bytes()))?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(prefix)))
}

/// Whether a prefix names files in a folder that is there.
pub(super) fn check_place(prefix: &Path) -> Result<(), StoreError> {
    if prefix.as_os_str().is_empty() {
        return Err(StoreError::EmptyPrefix);
    }
    if prefix.is_dir() || prefix.as_os_str().as_bytes().ends_with(b"/") || prefix.file_name().is_none() {
        return Err(StoreError::PrefixIsFolder { prefix: prefix.to_owned() });
    }
    if fs::metadata(prefix).is_ok_and(|found| !found.is_file()) {
        return Err(StoreError::unusable(prefix, "is a device or a pipe: name a prefix in a folder for results"));
    }
    let folder = folder_of(prefix);
    if !folder.is_dir() {
        return Err(StoreError::NoFolder { folder });
    }
    Ok(())
}

/// Whether all that is there of a set was made before a run began, and never filled: it may be replaced.
pub(super) fn is_unfilled(prefix: &Path) -> bool {
    let files: Vec<_> =
        Statistic::all().map(|statistic| file_of(prefix, statistic)).filter(|path| path.exists()).collect();
    let is_empty = |path: &PathBuf| {
        let Ok(file) = File::open(path) else { return false };
        let is_empty = file.metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
        is_empty || Layout::read(BufReader::new(file)).is_ok_and(|layout| layout.records == Some(0))
    };
    !files.is_empty() && files.iter().all(is_empty) && !part_path(prefix).exists()
}

/// Whether any file of a set is there.
pub fn exists(prefix: &Path) -> bool {
    set_files(prefix).any(|path| path.exists())
}

pub(super) fn folder_of(prefix: &Path) -> PathBuf {
    match prefix.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_set_leads_to_its_prefix() {
        let prefix = Path::new("a_median.nc/run_min");
        for file in set_files(prefix).chain([DELAYS, STUCK, OPERATIONS].map(|suffix| extended(prefix, suffix))) {
            assert_eq!(prefix_of(&file).as_deref(), Some(prefix));
        }
        assert_eq!(prefix_of(Path::new("lomonosov.nc")), None);
    }
}

//! The run that a subcommand works on: a result set by its prefix or any of its files, an archive, a text or a CSV
//! file.
//!
//! Every subcommand opens its input here, so that all of them take the same files and say the same about bad ones.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use anyhow::anyhow;

use netmatrix::{
    record::{Clustered, Run, Statistic, Stuck},
    store::{self, FileIds, OpenedRun, StoreError},
    units::Bytes,
};

use super::{failure::Failure, memory, output};

/// How a run is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FileFormat {
    /// One table per message length, for people and simple programs
    Text,
    /// One line per message length and pair
    Csv,
    /// The set of NetCDF files that network_test writes
    Netcdf,
    /// All statistics in one NetCDF file with labelled axes, for xarray, R or Julia; it is written only
    NetcdfOne,
}

impl FileFormat {
    /// What the name of a file says: `.txt` is text, `.csv` is CSV, everything else is a NetCDF set or a file of one.
    pub fn of(path: &Path) -> Self {
        if store::prefix_of(path).is_some() {
            return Self::Netcdf;
        }
        match path.extension().and_then(OsStr::to_str) {
            Some("txt") => Self::Text,
            Some("csv") => Self::Csv,
            _ => Self::Netcdf,
        }
    }
}

/// An opened run.
pub struct Input {
    /// What was asked for.
    pub path: PathBuf,
    /// The run.
    pub run: Box<dyn Run>,
    /// What is unusual about its files.
    pub notices: Vec<String>,
    /// Which of its ranks waited in vain.
    pub stuck: Stuck,
}

/// Most names of runs that an error lists.
const MOST_NAMES: usize = 8;

/// Least similarity (Jaro-Winkler) of a name that may have been meant.
const SIMILAR: f64 = 0.8;

impl Input {
    /// Opens a run, and notes on standard error what is unusual about it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let input = Self::open_quietly(path)?;
        input.notices.iter().for_each(|notice| output::note(notice));
        Ok(input)
    }

    /// Opens a run for a subcommand that tells the notices itself.
    pub fn open_quietly(path: &Path) -> Result<Self, Failure> {
        let OpenedRun { run, mut notices } = store::open_run(path).map_err(|error| explained(error, path))?;
        memory::check(path, run.ranks())?;
        let stuck = store::read_stuck(&prefix(path)).map_err(Failure::files)?;
        notices.extend(notice_of_drift(run.drift().ok().flatten()));
        notices.extend((!stuck.is_empty()).then(|| notice_of_stuck(&stuck, path, &*run)));
        Ok(Self { path: path.to_owned(), run, notices, stuck })
    }

    /// Opens an archive of `cluster`, and nothing else.
    pub fn open_archive(path: &Path) -> Result<Clustered, Failure> {
        if path.is_file() {
            return store::open_archive(path).map_err(Failure::files);
        }
        Err(Failure::files(format!("`{}` is no file: give an archive of `network_analyze cluster`", path.display())))
    }

    /// What it is called, without its folder and what its files are called beyond that.
    pub fn name(&self) -> String {
        let prefix = store::prefix_of(&self.path);
        let name = match &prefix {
            Some(prefix) => prefix.file_name(),
            None if self.path.is_file() => self.path.file_stem(),
            None => self.path.file_name(),
        };
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The file that says which ranks waited in vain.
    pub fn stuck_file(&self) -> PathBuf {
        stuck_file(&self.path)
    }

    /// Fails unless the run has a statistic.
    pub fn require(&self, statistic: Statistic) -> Result<(), Failure> {
        let there = self.run.statistics();
        if there.contains(&statistic) {
            return Ok(());
        }
        let names: Vec<_> = there.iter().map(|statistic| statistic.name()).collect();
        let names = names.join(", ");
        Err(Failure::files(format!("`{}` has no {statistic}: it has {names}", self.path.display())))
    }

    /// Number of the finished length nearest to `wanted`, else of the longest. Notes on standard error where it is
    /// another than the wanted one.
    pub fn length_index(&self, wanted: Option<Bytes>) -> Result<usize, Failure> {
        let lengths = self.run.lengths();
        let Some(last) = lengths.len().checked_sub(1) else {
            let path = self.path.display();
            return Err(Failure::files(format!(
                "`{path}` has no finished message length yet: there is nothing to show"
            )));
        };
        let Some(wanted) = wanted else { return Ok(last) };
        let index = (0..=last).min_by_key(|&index| lengths[index].0.abs_diff(wanted.0)).unwrap_or(last);
        if lengths[index] != wanted {
            output::note(&format!(
                "{} {} not measured; the nearest length is {}",
                wanted.counted(),
                if wanted == Bytes(1) { "was" } else { "were" },
                lengths[index]
            ));
        }
        Ok(index)
    }
}

/// Most bytes of a text that is read as a whole: topology files of the largest machines take some of them.
const MOST_TEXT: u64 = 1 << 28;

/// Reads a text that is no run.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let cannot = |what: String| Failure::files(format!("cannot read `{}`: {what}", path.display()));
    let file = store::open_file(path).map_err(|error| match error {
        StoreError::NotFound { .. } => cannot("there is no such file".to_owned()),
        other => Failure::files(other),
    })?;
    let mut bytes = Vec::new();
    file.take(MOST_TEXT + 1).read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > MOST_TEXT {
        return Err(cannot(format!("it has more than {MOST_TEXT} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| cannot("it is no text (UTF-8)".to_owned()))
}

/// Refuses a run that is named twice, whatever its names are: it would count twice, or be compared with itself.
pub fn refuse_twice(paths: &[impl AsRef<Path>]) -> Result<(), Failure> {
    let ids: Vec<FileIds> = paths.iter().map(|path| FileIds::of(path.as_ref())).collect();
    for (number, own) in ids.iter().enumerate() {
        if let Some(first) = ids[..number].iter().position(|other| other.meet(own)) {
            return Err(same_run(paths[number].as_ref(), paths[first].as_ref()));
        }
    }
    Ok(())
}

/// As [`refuse_twice`], of runs in files of their own, such as a result set and the CSV that was made of it.
pub fn refuse_copies(inputs: &[Input]) -> Result<(), Failure> {
    for (number, own) in inputs.iter().enumerate() {
        let header = own.run.header();
        if let Some(first) = inputs[..number].iter().find(|other| other.run.header().is_of_same_run(header)) {
            return Err(same_run(&own.path, &first.path));
        }
    }
    Ok(())
}

fn same_run(again: &Path, first: &Path) -> Failure {
    let [again, first] = [again, first].map(Path::display);
    Failure::usage(format!("`{again}` and `{first}` are the same run, which would count twice: name it once"))
}

/// The prefix of the set to which a path leads.
fn prefix(path: &Path) -> PathBuf {
    store::prefix_of(path).unwrap_or_else(|| path.to_owned())
}

fn stuck_file(path: &Path) -> PathBuf {
    store::stuck_path(&prefix(path))
}

fn notice_of_stuck(stuck: &Stuck, path: &Path, run: &dyn Run) -> String {
    // Ranks of one host that wait for each other name no host.
    let sentence = stuck.summary().into_iter().next().unwrap_or_else(|| "ranks waited in vain".to_owned());
    let file = stuck_file(path);
    let when = if run.is_complete() { "an earlier try was stuck" } else { "the run was stuck" };
    format!("{when}: {sentence}; see `{}`", file.display())
}

/// A machine that changes by this factor while it is measured is worth a word.
const DRIFT: f64 = 1.1;

/// What is said of a machine that was not the same at the end.
fn notice_of_drift(ratio: Option<f64>) -> Option<String> {
    let ratio = ratio.filter(|ratio| !(1.0 / DRIFT..=DRIFT).contains(ratio))?;
    Some(format!(
        "the machine changed while it was measured: at the end the shortest length took {ratio:.2} times as long as at the \
         beginning; look for other jobs, heat or throttling, and compare lengths with care"
    ))
}

/// A failure to open, with the runs that are there instead if there is none of this name.
fn explained(error: StoreError, path: &Path) -> Failure {
    let is_missing = matches!(error, StoreError::NotFound { .. } | StoreError::PrefixIsFolder { .. });
    let error = anyhow::Error::new(error);
    // A job that is stuck before it has measured anything leaves nothing but this.
    if let (true, Some(sentence)) = (is_missing, store::read_stuck(&prefix(path)).unwrap_or_default().summary().first())
    {
        let file = stuck_file(path);
        return Failure::Files(anyhow!("{error}; its job was stuck: {sentence}; see `{}`", file.display()));
    }
    Failure::Files(match nearby(path) {
        Some(advice) if is_missing => anyhow!("{error}; {advice}"),
        _ => error,
    })
}

/// What could have been meant by a name that leads to no run.
fn nearby(path: &Path) -> Option<String> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = folder.read_dir() else {
        return Some(format!("there is no folder `{}` that can be read", folder.display()));
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let runs: BTreeSet<String> = names.filter_map(|name| run_of(&name)).collect();
    if runs.is_empty() {
        return Some(format!("there is no run in `{}` at all", folder.display()));
    }
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let similarity = |name: &String| strsim::jaro_winkler(name, &wanted);
    let best = runs.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    if !path.is_dir() && similarity(best) >= SIMILAR {
        return Some(format!("is `{}` meant?", path.with_file_name(best).display()));
    }
    let mut list = runs.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if runs.len() > MOST_NAMES {
        list += ", ...";
    }
    Some(format!("the runs in `{}` are {list}", folder.display()))
}

/// The prefix of the run to which a file of this name seems to belong, or a file that is a run by itself.
fn run_of(name: &str) -> Option<String> {
    let prefix = Statistic::all().find_map(|statistic| name.strip_suffix(&format!("_{statistic}.nc")));
    let alone = || {
        ((name.ends_with(".csv") || name.ends_with(".txt")) && store::prefix_of(Path::new(name)).is_none())
            .then_some(name)
    };
    prefix.or_else(alone).map(str::to_owned)
}

/// Time since 1970 at a moment in RFC 3339, which runs say of themselves.
pub fn since_1970(moment: &str) -> Option<Duration> {
    humantime::parse_rfc3339_weak(moment).ok()?.duration_since(UNIX_EPOCH).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, format) in [
            ("a.txt", FileFormat::Text),
            ("a.csv", FileFormat::Csv),
            ("a_hosts.txt", FileFormat::Netcdf),
            ("a_retest.csv", FileFormat::Netcdf),
            ("a_stuck.txt", FileFormat::Netcdf),
            ("a_median.nc", FileFormat::Netcdf),
            ("a", FileFormat::Netcdf),
            ("a.v2", FileFormat::Netcdf),
        ] {
            assert_eq!(FileFormat::of(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn what_may_have_been_meant_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let advice = |name: &str| nearby(&folder.path().join(name)).unwrap();
        assert!(advice("network").contains("no run in"), "{}", advice("network"));
        for file in
            ["network_median.nc", "network_min.nc", "network_hosts.txt", "network_retest.csv", "old.csv", "README.md"]
        {
            fs::write(folder.path().join(file), "").unwrap();
        }
        assert!(advice("netwrok").ends_with("network` meant?"), "{}", advice("netwrok"));
        assert!(advice("xyz").ends_with("are `network`, `old.csv`"), "{}", advice("xyz"));
        assert!(advice("none/network").contains("no folder"), "{}", advice("none/network"));
        let of_folder = nearby(folder.path()).unwrap();
        assert!(of_folder.ends_with("are `network`, `old.csv`"), "{of_folder}");
    }
}

//! What can go wrong with files, in words for whoever has to put it right.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::record::Statistic;

/// A run that cannot be stored or read. Every text names the file and says what is wrong with it; the cause is part of
/// the text, so that nothing is lost where only the text is shown.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum StoreError {
    #[error("the prefix of the result files is empty: name one, for example `results/network`")]
    EmptyPrefix,
    #[error("`{}` is a folder: name a prefix in it, for example `{}`", prefix.display(), prefix.join("network").display())]
    PrefixIsFolder { prefix: PathBuf },
    #[error("the folder `{}` of the result files does not exist: create it, or choose another prefix", folder.display())]
    NoFolder { folder: PathBuf },
    #[error("`{}` exists: choose another prefix, or replace the old results with --force", path.display())]
    Exists { path: PathBuf },
    #[error(
        "these results are being written by {holder}: wait until it has ended, or end it (`{}` is its lock)",
        path.display()
    )]
    Locked { path: PathBuf, holder: String },
    #[error("cannot {action} `{}`: {cause}", path.display())]
    Io { action: &'static str, path: PathBuf, cause: io::Error },
    #[error("cannot {action} `{}`: {cause}", path.display())]
    NetCdf { action: &'static str, path: PathBuf, cause: netcdf::Error },
    #[error("no results at `{}`: give the prefix of a result set, or any file of it", path.display())]
    NotFound { path: PathBuf },
    #[error("`{}` {what}", path.display())]
    Unusable { path: PathBuf, what: String },
    #[error("`{}` is missing: the {statistic} of this run cannot be read", path.display())]
    NoStatistic { path: PathBuf, statistic: Statistic },
    #[error("`{}` belongs to another run: its {item} is `{stored}`, not `{expected}`", path.display())]
    Differs { path: PathBuf, item: String, stored: String, expected: String },
    #[error("this run cannot be stored: {0}")]
    Header(String),
    #[error("rows out of turn: {0}")]
    Turn(String),
    #[error("`{}` asks for more memory than there is: read it on a machine with more, or raise the limit (ulimit -v)", path.display())]
    NoMemory { path: PathBuf },
    #[error("`{}`, line {line}: {what}", path.display())]
    Line { path: PathBuf, line: u64, what: String },
}

impl StoreError {
    /// Turns the system's error into one that names the file.
    pub(super) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |cause| Self::Io { action, path: path.to_owned(), cause }
    }

    /// Turns NetCDF's error into one that names the file.
    pub(super) fn netcdf<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(netcdf::Error) -> Self + use<'a> {
        move |cause| Self::NetCdf { action, path: path.to_owned(), cause }
    }

    /// The same error where files of the folder `from` will be found in the folder `to`.
    pub(super) fn moved(mut self, from: &Path, to: &Path) -> Self {
        use StoreError::*;
        match &mut self {
            PrefixIsFolder { prefix: path }
            | NoFolder { folder: path }
            | Exists { path }
            | Io { path, .. }
            | NetCdf { path, .. }
            | NotFound { path }
            | Unusable { path, .. }
            | NoStatistic { path, .. }
            | Differs { path, .. }
            | Locked { path, .. }
            | NoMemory { path }
            | Line { path, .. } => {
                if let Ok(name) = path.strip_prefix(from) {
                    *path = to.join(name);
                }
            }
            EmptyPrefix | Header(_) | Turn(_) => {}
        }
        self
    }

    /// A file that is not what it should be.
    pub(super) fn unusable(path: &Path, what: impl Into<String>) -> Self {
        Self::Unusable { path: path.to_owned(), what: what.into() }
    }
}

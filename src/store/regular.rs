//! Opens files that are read: regular ones alone.
//!
//! In: a path. Out: an open file, or why it is none. A pipe would wait for a writer, a device never ends, and a folder
//! gives an error that nobody understands.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use super::StoreError;

/// Opens a file for reading.
pub fn open(path: &Path) -> Result<File, StoreError> {
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::NotFound { path: path.to_owned() },
        _ => StoreError::io("read", path)(error),
    })?;
    if found.is_dir() {
        return Err(StoreError::PrefixIsFolder { prefix: path.to_owned() });
    }
    if !found.is_file() {
        return Err(StoreError::unusable(path, "is a pipe or a device: save what it gives in a file, and name that"));
    }
    File::open(path).map_err(StoreError::io("read", path))
}

//! One writer per prefix: `<prefix>.lock`, held for as long as its process lives.
//!
//! In: a prefix. Out: a [`Lock`], or who holds it. The lock is the kernel's, on an open file: it ends with the process,
//! however that ends. The file is removed with the lock; one that is left behind by a killed job locks nobody out.
//!
//! The file begins with [`LOCK_HEADER`] bytes that say who holds it; what follows is the ranks' own.

use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::{
    StoreError,
    paths::{check_place, extended},
};

/// What follows the prefix in the name of the lock.
const LOCK: &str = ".lock";

/// Bytes of the text that says who holds a lock, padded with blanks, the last one a line end.
pub const LOCK_HEADER: usize = 256;

/// How often a lock is tried whose file goes away meanwhile.
const TRIES: usize = 10;

/// A prefix that nobody else may write to.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Open for as long as the lock is held.
    _file: File,
}

impl Lock {
    /// Takes the lock of `prefix`. `holder` is who asks, for others to read; one line.
    pub fn take(prefix: &Path, holder: &str) -> Result<Self, StoreError> {
        check_place(prefix)?;
        let path = extended(prefix, LOCK);
        for _ in 0..TRIES {
            let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let file = open.map_err(StoreError::io("create", &path))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Err(StoreError::Locked { holder: holder_in(&file), path }),
                // A file system without locks: the run is not refused for that, and nobody can be kept out.
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) | Ok(()) => {}
                Err(error) => return Err(StoreError::io("lock", &path)(error.into())),
            }
            // The one who had the lock before may have removed the file since it was opened.
            let opened = file.metadata().map_err(StoreError::io("look at", &path))?;
            if fs::metadata(&path).is_ok_and(|found| (found.dev(), found.ino()) == (opened.dev(), opened.ino())) {
                file.set_len(0).map_err(StoreError::io("write", &path))?;
                let holder: String = holder.chars().filter(|letter| !letter.is_control()).collect();
                let mut header = format!("{holder:<width$}", width = LOCK_HEADER - 1).into_bytes();
                header.truncate(LOCK_HEADER - 1);
                header.push(b'\n');
                file.write_all_at(&header, 0).map_err(StoreError::io("write", &path))?;
                return Ok(Self { path, _file: file });
            }
        }
        Err(StoreError::unusable(&path, "is made and removed all the time by others"))
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked, so nobody else's. One that stays behind harms nobody.
        let _ = fs::remove_file(&self.path);
    }
}

fn holder_in(file: &File) -> String {
    let mut text = String::new();
    let read = file.take(LOCK_HEADER as u64).read_to_string(&mut text);
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_refused_and_learns_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        let lock = Lock::take(&prefix, "n0, process 12").unwrap();
        let refused = Lock::take(&prefix, "n1, process 13").unwrap_err().to_string();
        assert!(refused.contains("n0, process 12") && refused.contains("run.lock"), "{refused}");
        Lock::take(&folder.path().join("other"), "n1").unwrap();
        drop(lock);
        assert!(!extended(&prefix, LOCK).exists());
        Lock::take(&prefix, "n1").unwrap();
    }

    #[test]
    fn a_file_that_a_killed_job_left_locks_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        fs::write(extended(&prefix, LOCK), "n0, process 12, and much more".repeat(100)).unwrap();
        let lock = Lock::take(&prefix, &"long\n".repeat(100)).unwrap();
        assert_eq!(fs::metadata(lock.path()).unwrap().len(), LOCK_HEADER as u64);
    }
}

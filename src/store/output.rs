//! Outputs: the one way in which files and result sets come to be, so that what bears a name is whole.
//!
//! In: a path, and what to write. Out: a file, or a set of them. It is written aside, brought to the disk, and takes its
//! name at the end; the permissions are those that the user's umask gives, a symbolic link stays one, and what a file
//! that is read stands in is never replaced. What was not finished is removed: at once, or by [`remove_unfinished`]
//! when a signal ends the program. Sets that are measured are made elsewhere: they must be readable while they grow.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    StoreError,
    paths::{self, check_place, folder_of, is_unfilled, set_files},
};
use crate::record::BoxError;

/// Files and folders that are being written, under names that nobody asked for.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what is not finished, and lets nothing new begin: for programs that are about to end before their time.
pub fn remove_unfinished() {
    let mut unfinished = unfinished();
    for path in unfinished.drain(..) {
        // Whoever writes into a folder goes on meanwhile, and finds it no more under another name.
        let moved = path.with_extension("end");
        let path = if fs::rename(&path, &moved).is_ok() { moved } else { path };
        // The program ends anyway, and there is nobody to say it to.
        let _ = remove(&path);
    }
    std::mem::forget(unfinished);
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// What is unfinished; while it is held, nothing is removed by [`remove_unfinished`].
fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file can be made in a folder. What is made has no name, or has one no longer when a signal may end the
/// program.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let _unfinished = unfinished();
    tempfile::tempfile_in(folder).map(drop).map_err(plain)
}

/// Whether a result set can be written to `prefix`: its folder is there and can be written (which is tried, and leaves
/// nothing behind), and none of the set's files exists, unless they may be replaced (`force`). To be asked before
/// anything is measured.
pub fn check(prefix: &Path, force: bool) -> Result<(), StoreError> {
    check_place(prefix)?;
    let replaced = force || is_unfilled(prefix);
    for path in set_files(prefix) {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => return Err(StoreError::PrefixIsFolder { prefix: path }),
            Ok(_) if !replaced => return Err(StoreError::Exists { path }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("look at", &path)(error));
            }
            _ => {}
        }
    }
    try_to_write(&folder_of(prefix)).map_err(StoreError::io("write", prefix))
}

/// Something unfinished, which goes when it is dropped.
#[derive(Debug)]
struct Aside(PathBuf);

impl Aside {
    /// What `make` makes, and says where. A signal does not come between that and the list of what is unfinished.
    fn make<T>(make: impl FnOnce() -> io::Result<(T, PathBuf)>) -> io::Result<(T, Self)> {
        let mut unfinished = unfinished();
        let (made, path) = make()?;
        unfinished.push(path.clone());
        Ok((made, Self(path)))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // It is not there any more where it took its name.
        let _ = remove(&self.0);
        unfinished().retain(|path| *path != self.0);
    }
}

/// What files are, whatever they are called: device and number on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileIds(HashSet<(u64, u64)>);

impl FileIds {
    /// Of the file, or of all files of the set, that a path stands for.
    pub fn of(path: &Path) -> Self {
        let prefixes = [Some(path.to_owned()), paths::prefix_of(path)];
        let files = prefixes.into_iter().flatten().flat_map(|prefix| set_files(&prefix).collect::<Vec<_>>());
        let found = files.chain([path.to_owned()]).filter_map(|file| fs::metadata(file).ok());
        Self(found.filter(|file| file.is_file()).map(|file| (file.dev(), file.ino())).collect())
    }

    /// Whether a file is in both.
    pub fn meet(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }
}

/// A file that can be written.
#[derive(Debug)]
pub struct Output {
    /// As it was asked for.
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A file that becomes `target`.
    Aside { file: File, aside: Aside, target: PathBuf, force: bool },
    /// A pipe that has a name.
    Pipe,
}

impl Output {
    /// Finds out whether `path` can be written, and begins. `force`: an existing file may be replaced, unless it is one
    /// of `inputs`.
    pub fn new(path: &Path, force: bool, inputs: &[FileIds]) -> Result<Self, StoreError> {
        let unusable = |what: &str| Err(StoreError::unusable(path, what));
        // Where it stands for standard output, no file is asked for.
        if path.as_os_str() == "-" {
            return unusable("is no file, and standard output cannot take this: name a file");
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return unusable("is a folder: name a file in it"),
            Ok(found) if found.file_type().is_fifo() => {
                return Ok(Self { path: path.to_owned(), place: Place::Pipe });
            }
            Ok(found) if !found.is_file() => return unusable("is a device: name a file, or - for standard output"),
            Ok(_) => {
                let own = FileIds::of_file(path);
                if inputs.iter().any(|input| input.meet(&own)) {
                    return unusable("is read by this command: name another file to write");
                }
                if !force {
                    return unusable("exists: name another file, or replace it with --force");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("write", path)(error)),
        }
        let target = behind_links(path);
        let folder = folder_of(&target);
        if !folder.is_dir() {
            let folder = folder.display();
            return unusable(&format!(
                "cannot be written: the folder `{folder}` does not exist: create it, or choose another"
            ));
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let made = Aside::make(|| {
            let made = tempfile::Builder::new()
                .prefix(&format!(".{}.", short(&name)))
                .suffix(".part")
                .permissions(Permissions::from_mode(0o666))
                .tempfile_in(folder)?;
            made.keep().map_err(|error| error.error)
        });
        let (file, aside) = made.map_err(|error| StoreError::io("create", path)(plain(error)))?;
        let place = Place::Aside { file, aside, target, force };
        Ok(Self { path: path.to_owned(), place })
    }

    /// Writes the file and gives it its name; how many bytes it has.
    pub fn write(self, write: impl FnOnce(&mut dyn Write) -> Result<(), BoxError>) -> Result<u64, BoxError> {
        let Self { path, place } = self;
        let named = |error: io::Error| StoreError::io("write", &path)(plain(error));
        match place {
            Place::Pipe => {
                let mut pipe = OpenOptions::new().write(true).open(&path).map_err(named)?;
                write(&mut pipe).map_err(|error| renamed(error, &path))?;
                Ok(0)
            }
            Place::Aside { mut file, aside, target, force } => {
                write(&mut file).map_err(|error| renamed(error, &path))?;
                file.sync_all().map_err(named)?;
                let bytes = file.metadata().map_err(named)?.len();
                if force {
                    fs::rename(&aside.0, &target).map_err(named)?;
                } else {
                    // A link is not made where something stands by now.
                    fs::hard_link(&aside.0, &target)
                        .or_else(|error| match error.kind() {
                            io::ErrorKind::AlreadyExists => Err(error),
                            _ if target.exists() => Err(io::ErrorKind::AlreadyExists.into()),
                            // Some file systems have no links.
                            _ => fs::rename(&aside.0, &target),
                        })
                        .map_err(named)?;
                }
                drop(aside);
                // The name is on the disk as well where the system can do that.
                let _ = File::open(folder_of(&target)).and_then(|folder| folder.sync_all());
                Ok(bytes)
            }
        }
    }
}

impl FileIds {
    fn of_file(path: &Path) -> Self {
        Self(fs::metadata(path).map(|file| (file.dev(), file.ino())).into_iter().collect())
    }
}

/// Makes a set of files with `work`, which is given a prefix to write to; the files take their names at the end.
pub(super) fn set(
    prefix: &Path,
    force: bool,
    work: impl FnOnce(&Path) -> Result<(), BoxError>,
) -> Result<(), BoxError> {
    check(prefix, force)?;
    let name = prefix.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made = Aside::make(|| {
        let made = tempfile::Builder::new()
            .prefix(&format!(".{}.", short(&name)))
            .suffix(".part")
            .tempdir_in(folder_of(prefix))?;
        Ok(((), made.keep()))
    });
    let ((), aside) = made.map_err(|error| StoreError::io("create", prefix)(plain(error)))?;
    let staged = aside.0.join(prefix.file_name().unwrap_or_default());
    work(&staged).map_err(|error| match error.downcast::<StoreError>() {
        Ok(error) => error.moved(&aside.0, &folder_of(prefix)).into(),
        Err(error) => error,
    })?;
    // What came to be there meanwhile is not replaced.
    check(prefix, force)?;
    // A set that has some of its names gets all of them.
    let _unfinished = unfinished();
    for (from, to) in set_files(&staged).zip(set_files(prefix)) {
        if from.exists() {
            fs::rename(&from, behind_links(&to)).map_err(StoreError::io("write", &to))?;
        } else if to.exists() {
            fs::remove_file(&to).map_err(StoreError::io("remove", &to))?;
        }
    }
    Ok(())
}

/// What a link leads to at last, whether it is there or not; the path itself where it is no link.
fn behind_links(path: &Path) -> PathBuf {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

/// The beginning of a name, so that more fits behind it.
fn short(name: &str) -> &str {
    super::chars::cut(name, 100)
}

/// Without the path of a file that nobody asked for, which tempfile's errors name.
fn plain(error: io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// An error of writing, with the name of the file unless it has one.
fn renamed(error: BoxError, path: &Path) -> BoxError {
    // The writer of tables wraps what the system says.
    let error = match error.downcast::<csv::Error>() {
        Ok(table) => match table.into_kind() {
            csv::ErrorKind::Io(cause) => cause.into(),
            _ => StoreError::unusable(path, "cannot be written as a table").into(),
        },
        Err(error) => error,
    };
    match error.downcast::<io::Error>() {
        Ok(error) => StoreError::io("write", path)(*error).into(),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::paths::extended;

    fn error(prefix: &Path) -> String {
        check(prefix, false).unwrap_err().to_string()
    }

    #[test]
    fn a_prefix_that_can_be_written_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        check(&folder.path().join("run"), false).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_become_a_result_set_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(error(Path::new("")).contains("empty"));
        assert!(error(folder.path()).contains("is a folder"));
        assert!(error(&extended(&folder.path().join("run"), "/")).contains("is a folder"));
        let missing = error(&folder.path().join("no/run"));
        assert!(missing.contains("/no` ") && missing.contains("does not exist"), "{missing}");
    }

    #[test]
    fn existing_results_need_force() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        for file in set_files(&prefix) {
            fs::write(&file, "kept").unwrap();
            let error = error(&prefix);
            assert!(error.contains(&*file.to_string_lossy()) && error.contains("--force"), "{error}");
            check(&prefix, true).unwrap();
            assert_eq!(fs::read(&file).unwrap(), b"kept");
            fs::remove_file(&file).unwrap();
        }
    }
}

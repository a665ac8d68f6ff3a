//! One NetCDF file, opened for reading and found whole.
//!
//! In: a path. Out: its numbers, texts and values, or an error that says what is wrong with the file and what to do.
//! Nothing here knows whose file it is.

use std::{
    fs::File,
    io::{BufReader, Read, Seek},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use netcdf::{AttributeValue, Variable};

use super::{StoreError, chars, classic::Layout};

/// An open file and its name.
#[derive(Debug)]
pub(super) struct NcFile {
    pub(super) path: PathBuf,
    pub(super) file: netcdf::File,
    /// The file itself and its layout, where it is classic.
    classic: Option<(File, Layout)>,
}

/// Bytes that are read at a time: few enough to stay in the cache until they are numbers.
const BYTES_AT_A_TIME: usize = 1 << 15;

impl NcFile {
    /// Opens a file, and checks that it has all the bytes that it promises.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let classic = check_whole(path)?;
        let file = netcdf::open(path).map_err(StoreError::netcdf("open", path))?;
        Ok(Self { path: path.to_owned(), file, classic })
    }

    /// A complaint about this file.
    pub(super) fn unusable(&self, what: impl Into<String>) -> StoreError {
        StoreError::unusable(&self.path, what)
    }

    /// A complaint that this file is NetCDF, but neither ours nor network_tests2's.
    pub(super) fn foreign(&self, what: &str) -> StoreError {
        self.unusable(format!("is NetCDF, but no result of network_test or network_tests2: {what}"))
    }

    /// The length of a dimension.
    pub(super) fn dimension(&self, name: &str) -> Result<usize, StoreError> {
        self.file.dimension_len(name).ok_or_else(|| self.foreign(&format!("it has no dimension `{name}`")))
    }

    /// A variable that must be there.
    pub(super) fn variable(&self, name: &str) -> Result<Variable<'_>, StoreError> {
        self.file.variable(name).ok_or_else(|| self.foreign(&format!("it has no variable `{name}`")))
    }

    /// The variable `name`, which must have the dimensions `names`.
    pub(super) fn variable_over(&self, name: &str, names: &[&str]) -> Result<Variable<'_>, StoreError> {
        let variable = self.variable(name)?;
        let found: Vec<_> = variable.dimensions().iter().map(netcdf::Dimension::name).collect();
        if found == names {
            return Ok(variable);
        }
        let text = |names: &[&str]| names.join(", ");
        let found: Vec<_> = found.iter().map(String::as_str).collect();
        Err(self.foreign(&format!("`{name}({})` should be `{name}({})`", text(&found), text(names))))
    }

    /// A scalar number that is not negative; `None` where there is none of this name.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let Some(variable) = self.file.variable(name) else {
            return Ok(None);
        };
        let value = variable.get_value::<i64, _>(()).map_err(StoreError::netcdf("read", &self.path))?;
        let value = u64::try_from(value).map_err(|_| self.unusable(format!("says that `{name}` is {value}")))?;
        Ok(Some(value))
    }

    /// As [`NcFile::number`], for a number that must be there.
    pub(super) fn needed_number(&self, name: &str) -> Result<u64, StoreError> {
        self.number(name)?.ok_or_else(|| self.foreign(&format!("it has no variable `{name}`")))
    }

    /// Narrows a number down to what it counts.
    pub(super) fn narrow<T: TryFrom<u64>>(&self, name: &str, value: u64) -> Result<T, StoreError> {
        T::try_from(value).map_err(|_| self.unusable(format!("says that `{name}` is {value}")))
    }

    /// A global attribute that is a text; `None` where there is none of this name.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, StoreError> {
        match self.attribute(name)? {
            None => Ok(None),
            Some(AttributeValue::Str(text)) => Ok(Some(text)),
            Some(_) => Err(self.unusable(format!("has an attribute `{name}` that is no text"))),
        }
    }

    /// A global attribute.
    pub(super) fn attribute(&self, name: &str) -> Result<Option<AttributeValue>, StoreError> {
        let value = self.file.attribute(name).map(|attribute| attribute.value()).transpose();
        value.map_err(StoreError::netcdf("read", &self.path))
    }

    /// Reads doubles of one record of the variable `name`, from number `first` on, without the library, which takes
    /// half as long again. `false`: this variable has to be read with the library.
    pub(super) fn read_record(
        &self,
        name: &str,
        record: usize,
        first: usize,
        values: &mut [f64],
    ) -> Result<bool, StoreError> {
        const SIZE: usize = size_of::<f64>();
        let Some((file, layout)) = &self.classic else {
            return Ok(false);
        };
        let Some(place) = layout.place(name).filter(|place| place.has_doubles()) else {
            return Ok(false);
        };
        let mut at = place.begin + record as u64 * layout.record_size + (first * SIZE) as u64;
        let mut bytes = [0; BYTES_AT_A_TIME];
        for values in values.chunks_mut(BYTES_AT_A_TIME / SIZE) {
            let bytes = &mut bytes[..values.len() * SIZE];
            file.read_exact_at(bytes, at).map_err(StoreError::io("read", &self.path))?;
            at += bytes.len() as u64;
            for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(SIZE)) {
                let mut array = [0; SIZE];
                array.copy_from_slice(bytes);
                *value = f64::from_be_bytes(array);
            }
        }
        Ok(true)
    }

    /// The texts of a variable of characters.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let variable = self.variable(name)?;
        if variable.vartype() != netcdf::types::NcVariableType::Char {
            return Err(self.foreign(&format!("its variable `{name}` is no text")));
        }
        chars::read(&variable).map_err(StoreError::netcdf("read", &self.path))
    }
}

/// Checks that the file is NetCDF, and that nothing of it was cut off. Gives the layout of a classic file.
fn check_whole(path: &Path) -> Result<Option<(File, Layout)>, StoreError> {
    let io = |error| StoreError::io("read", path)(error);
    let mut file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    if path.is_dir() {
        return Err(StoreError::PrefixIsFolder { prefix: path.to_owned() });
    }
    if size == 0 {
        return Err(StoreError::unusable(path, "is empty: the program that made it was stopped at once; delete it"));
    }
    let mut magic = [0; 4];
    let known = file.read_exact(&mut magic).is_ok() && (&magic[..3] == b"CDF" || &magic == b"\x89HDF");
    if !known {
        return Err(StoreError::unusable(
            path,
            "is not a NetCDF file; text and CSV files are turned into NetCDF by `network_analyze convert`",
        ));
    }
    if &magic == b"\x89HDF" {
        return Ok(None);
    }
    file.rewind().map_err(io)?;
    let layout = Layout::read(BufReader::new(&file)).map_err(|what| StoreError::unusable(path, what))?;
    if size < layout.needed() {
        let what =
            format!("is cut off: it has {size} bytes of {}; copy it again from where it was made", layout.needed());
        return Err(StoreError::unusable(path, what));
    }
    Ok(Some((file, layout)))
}

//! One NetCDF file, opened for reading and found whole.
//!
//! In: a path. Out: its numbers, texts and values, or an error that says what is wrong with the file and what to do.
//! Whose file it is matters only where its end is missing. What is not finite is missing from here on.

use std::{
    fs::File,
    io::{BufReader, Read, Seek},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    classic::{Kind, Layout, Place, Value, sound},
    regular,
    schema::{FORMAT, FORMAT_NAME},
};

/// An open file and its name.
#[derive(Debug)]
pub(super) struct NcFile {
    pub(super) path: PathBuf,
    file: File,
    layout: Layout,
    /// Bytes that it had when it was opened.
    size: u64,
    /// What is to be said about a file that ends before its last record.
    cut: Option<String>,
}

/// Bytes that are read at a time: few enough to stay in the cache until they are numbers.
const BYTES_AT_A_TIME: usize = 1 << 15;

/// Most bytes of a header: a list of a million lengths and one of a million hosts have room in it many times.
pub(super) const MOST_HEADER: u64 = 1 << 26;

impl NcFile {
    /// Opens a file, and checks that it has all the bytes that it promises. Of ours only whole records count: after a
    /// crash of the machine their number may be on the disk, and the last of them not.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let mut file = regular::open(path)?;
        let size = file.metadata().map_err(StoreError::io("read", path))?.len();
        check_kind(&mut file, size).map_err(|what| StoreError::unusable(path, what))?;
        file.rewind().map_err(StoreError::io("read", path))?;
        let layout = Layout::read(BufReader::new((&file).take(MOST_HEADER)));
        let mut layout = layout.map_err(|what| StoreError::unusable(path, what))?;
        let (needed, promised) = (layout.needed(), layout.records.unwrap_or(0));
        let is_ours = matches!(layout.attribute(FORMAT), Some(Value::Text(format)) if format.starts_with(FORMAT_NAME));
        if is_ours && size < needed {
            layout.shorten(size);
        }
        let cut = (layout.records.unwrap_or(0) < promised).then(|| {
            let whole = layout.records.unwrap_or(0);
            format!(
                "`{}` is cut off: it has {size} bytes of {needed}, and {whole} of {promised} lengths",
                path.display()
            )
        });
        if size < layout.needed() {
            let what = format!("is cut off: it has {size} bytes of {needed}; copy it again from where it was made");
            return Err(StoreError::unusable(path, what));
        }
        Ok(Self { path: path.to_owned(), file, layout, size, cut })
    }

    /// A complaint about this file.
    pub(super) fn unusable(&self, what: impl Into<String>) -> StoreError {
        StoreError::unusable(&self.path, what)
    }

    /// A complaint that this file is NetCDF, but neither ours nor network_tests2's.
    pub(super) fn foreign(&self, what: &str) -> StoreError {
        self.unusable(format!("is NetCDF, but no result of network_test or network_tests2: {what}"))
    }

    /// What is to be said about a file that ends before its last record.
    pub(super) fn cut(&self) -> Option<&String> {
        self.cut.as_ref()
    }

    /// Bytes of the file.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether there is a variable of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.layout.place(name).is_some()
    }

    /// Whether there is a dimension of this name.
    pub(super) fn has_dimension(&self, name: &str) -> bool {
        self.layout.dimension(name, self.size).is_some()
    }

    /// The length of a dimension.
    pub(super) fn dimension(&self, name: &str) -> Result<usize, StoreError> {
        let length = self.layout.dimension(name, self.size);
        let length = length.ok_or_else(|| self.foreign(&format!("it has no dimension `{name}`")))?;
        self.narrow(name, length)
    }

    /// The number of ranks, which is the length of `name`: at least one, and no more than there are bytes, so that a
    /// list of them fits into memory wherever the file fits onto a disk.
    pub(super) fn ranks(&self, name: &str) -> Result<usize, StoreError> {
        match self.dimension(name)? {
            0 => Err(self.unusable("has no ranks")),
            ranks if ranks as u64 > self.size => {
                let size = self.size;
                Err(self.unusable(format!("is damaged: it announces {ranks} ranks, but has only {size} bytes")))
            }
            ranks => Ok(ranks),
        }
    }

    /// A variable that must be there.
    pub(super) fn variable(&self, name: &str) -> Result<&Place, StoreError> {
        self.layout.place(name).ok_or_else(|| self.foreign(&format!("it has no variable `{name}`")))
    }

    /// The variable `name`, which must have the dimensions `names`.
    pub(super) fn variable_over(&self, name: &str, names: &[&str]) -> Result<&Place, StoreError> {
        let variable = self.variable(name)?;
        let found = self.layout.dimensions_of(variable);
        if found == names {
            return Ok(variable);
        }
        let (found, names) = (found.join(", "), names.join(", "));
        Err(self.foreign(&format!("`{name}({found})` should be `{name}({names})`")))
    }

    /// A scalar number that is not negative; `None` where there is none of this name.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, StoreError> {
        if !self.has(name) {
            return Ok(None);
        }
        let place = self.variable(name)?;
        if !self.layout.dimensions_of(place).is_empty() {
            return Err(self.foreign(&format!("its variable `{name}` is no single number")));
        }
        match self.integers(place)?[..] {
            [value] => match u64::try_from(value) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(self.unusable(format!("says that `{name}` is {value}"))),
            },
            _ => Err(self.foreign(&format!("its variable `{name}` is no single number"))),
        }
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
        match self.attribute(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.unusable(format!("has an attribute `{name}` that is no text"))),
        }
    }

    /// A global attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&Value> {
        self.layout.attribute(name)
    }

    /// All values of a variable, which have to be whole numbers. There are no more of them than the file has bytes.
    pub(super) fn integers(&self, place: &Place) -> Result<Vec<i64>, StoreError> {
        let mut values = Vec::new();
        let mut bytes = vec![0; BYTES_AT_A_TIME];
        self.parts(place, &mut bytes, |kind, bytes| {
            for bytes in bytes.chunks_exact(kind.size()) {
                let value = kind.integer(bytes);
                values.push(value.ok_or_else(|| self.unusable("has a number that is not whole where one has to be"))?);
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// All bytes of a variable of bytes without records.
    pub(super) fn bytes(&self, place: &Place) -> Result<Vec<u8>, StoreError> {
        let mut all = Vec::new();
        let mut bytes = vec![0; BYTES_AT_A_TIME];
        self.parts(place, &mut bytes, |_, bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }

    /// Gives all bytes of a variable to `take`, whole values at a time.
    fn parts(
        &self,
        place: &Place,
        buffer: &mut [u8],
        mut take: impl FnMut(Kind, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let size = place.kind.size() as u64;
        let per_part = (place.bytes / size).max(1);
        for part in 0..self.layout.count(place, self.size) / per_part {
            let begin = self.begin(place, if per_part == 0 { 0 } else { part as usize })?;
            let (mut at, end) = (begin, begin.saturating_add(place.bytes));
            while at < end {
                let count = (end - at).min(buffer.len() as u64) as usize;
                self.read_bytes(at, &mut buffer[..count])?;
                take(place.kind, &buffer[..count])?;
                at += count as u64;
            }
        }
        Ok(())
    }

    /// Reads numbers of the part `outer` along the first dimension of a variable, from the one with number `first` on.
    /// What is not finite, and what no clock and no counter can have given, is NaN.
    pub(super) fn read(&self, place: &Place, outer: usize, first: usize, values: &mut [f64]) -> Result<(), StoreError> {
        let (kind, size) = (place.kind, place.kind.size());
        let mut at = self.begin(place, outer)?.saturating_add((first as u64).saturating_mul(size as u64));
        let mut bytes = [0; BYTES_AT_A_TIME];
        for values in values.chunks_mut(BYTES_AT_A_TIME / size) {
            let bytes = &mut bytes[..values.len() * size];
            self.read_bytes(at, bytes)?;
            at += bytes.len() as u64;
            if kind == Kind::Double {
                let numbers = bytes.as_chunks().0.iter().map(|bytes| sound(f64::from_be_bytes(*bytes)));
                values.iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
            } else {
                let numbers = bytes.chunks_exact(size).map(|bytes| sound(kind.real(bytes)));
                values.iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
            }
        }
        Ok(())
    }

    fn begin(&self, place: &Place, outer: usize) -> Result<u64, StoreError> {
        self.layout.part(place, outer).ok_or_else(|| self.unusable("is damaged: its parts lie beyond 64 bits"))
    }

    fn read_bytes(&self, at: u64, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.file.read_exact_at(bytes, at).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.unusable("is cut off: copy it again from where it was made"),
            _ => StoreError::io("read", &self.path)(error),
        })
    }

    /// The texts of a variable of characters, `[text][width]`; a variable `[width]` has one.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let place = self.variable(name)?;
        if place.kind != Kind::Char {
            return Err(self.foreign(&format!("its variable `{name}` is no text")));
        }
        let bytes = self.bytes(place)?;
        let text = |row: &[u8]| {
            let end = row.iter().position(|&byte| byte == 0).unwrap_or(row.len());
            String::from_utf8_lossy(&row[..end]).into_owned()
        };
        let width = usize::try_from(self.layout.width(place)).unwrap_or(usize::MAX);
        Ok(bytes.chunks(width).map(text).collect())
    }
}

/// Checks that the file is classic NetCDF. The error says what it is instead.
fn check_kind(file: &mut File, size: u64) -> Result<(), &'static str> {
    if size == 0 {
        return Err("is empty: the program that made it was stopped at once; delete it");
    }
    let mut magic = [0; 4];
    match file.read_exact(&mut magic) {
        Ok(()) if &magic == b"\x89HDF" => {
            Err("is NetCDF-4 (HDF5), which can make its readers crash or read other files: turn it into \
             classic NetCDF where it comes from, with `nccopy -k cdf5 OLD NEW`")
        }
        Ok(()) if &magic[..3] == b"CDF" => Ok(()),
        _ => Err("is not a NetCDF file; text and CSV files are turned into NetCDF by `network_analyze convert`"),
    }
}

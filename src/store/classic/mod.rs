//! What a NetCDF classic file holds and where, as its header says: dimensions, attributes, places of variables.
//!
//! In: the first bytes of a file. Out: a [`Layout`], and how many bytes the file must have. No value of a variable is
//! read here. Files are read with this and without the C library: its parser opens a file whose end is missing without
//! complaint and gives zeros for what is not there, believes any length that a header claims, and reads formats (HDF5)
//! in which a file can do harm. Memory is taken for bytes that are there, never for what a number announces.
//!
//! The format is that of the appendix "File Format Specifications" of the NetCDF User's Guide: CDF-1, 2 and 5.

mod kind;
mod new;

use std::io::{self, Read};

pub(super) use kind::{Kind, Value, sound};
pub(super) use new::{NewFile, NewValue, NewVariable};

/// Number of records that a file in writing may claim: "not counted".
const STREAMING: u64 = u32::MAX as u64;

/// Longest name that NetCDF allows, in bytes.
const MAX_NAME: u64 = 256;

/// The header of a file.
#[derive(Debug)]
pub(super) struct Layout {
    /// Whether counts and offsets are those of CDF-5.
    pub(super) cdf5: bool,
    /// Number of records; `None` where the file does not say.
    pub(super) records: Option<u64>,
    /// Bytes from one record to the next.
    pub(super) record_size: u64,
    dimensions: Vec<Dimension>,
    attributes: Vec<(String, Value)>,
    variables: Vec<Place>,
}

#[derive(Debug)]
struct Dimension {
    name: String,
    /// 0: that of the records.
    length: u64,
}

/// Place of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    name: String,
    /// Offset of its first byte.
    pub(super) begin: u64,
    /// Bytes of one record of it, or of all of it where it has no records; without padding.
    pub(super) bytes: u64,
    in_records: bool,
    /// Type of its values.
    pub(super) kind: Kind,
    /// Numbers of its dimensions.
    dimensions: Vec<usize>,
    attributes: Vec<(String, Value)>,
}

impl Place {
    /// Whether every record has values of it, and these are doubles. Other programs make copies in which all
    /// dimensions are fixed, or values are floats.
    pub(super) fn has_doubles(&self) -> bool {
        self.in_records && self.kind == Kind::Double
    }

    /// Whether it is one double next to the records.
    pub(super) fn is_one_double(&self) -> bool {
        !self.in_records && self.kind == Kind::Double && self.bytes == size_of::<f64>() as u64
    }

    /// Whether every record has this many bytes of it.
    pub(super) fn has_records_of(&self, bytes: u64) -> bool {
        self.in_records && self.bytes == bytes
    }

    /// An attribute of the variable.
    pub(super) fn attribute(&self, name: &str) -> Option<&Value> {
        find(&self.attributes, name)
    }
}

fn find<'a>(attributes: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    attributes.iter().find(|attribute| attribute.0 == name).map(|attribute| &attribute.1)
}

impl Layout {
    /// Reads a header. The error says what is wrong with the file.
    pub(super) fn read(input: impl Read) -> Result<Self, String> {
        Parser { input, cdf5: false, wide_offsets: false }.layout().map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "ends in the middle of its header".to_owned(),
            io::ErrorKind::InvalidData => format!("has a damaged header: {error}"),
            _ => format!("cannot be read: {error}"),
        })
    }

    /// The place of the variable with this name.
    pub(super) fn place(&self, name: &str) -> Option<&Place> {
        self.variables.iter().find(|place| place.name == name)
    }

    /// A global attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&Value> {
        find(&self.attributes, name)
    }

    /// Length of a dimension in a file of `size` bytes; `None` where there is none of this name.
    pub(super) fn dimension(&self, name: &str, size: u64) -> Option<u64> {
        let dimension = self.dimensions.iter().find(|dimension| dimension.name == name)?;
        Some(if dimension.length == 0 { self.records_in(size) } else { dimension.length })
    }

    /// Names of the dimensions of a variable.
    pub(super) fn dimensions_of(&self, place: &Place) -> Vec<&str> {
        place.dimensions.iter().map(|id| self.dimensions[*id].name.as_str()).collect()
    }

    /// Length of the last dimension of a variable; 1 where it has none.
    pub(super) fn width(&self, place: &Place) -> u64 {
        place.dimensions.last().map_or(1, |id| self.dimensions[*id].length.max(1))
    }

    /// Offset of the part with number `outer` along the first dimension of a variable; `None`: beyond 64 bits.
    pub(super) fn part(&self, place: &Place, outer: usize) -> Option<u64> {
        let step = match place.dimensions.first() {
            Some(_) if place.in_records => self.record_size,
            Some(id) => place.bytes / self.dimensions[*id].length.max(1),
            None => 0,
        };
        step.checked_mul(outer as u64)?.checked_add(place.begin)
    }

    /// Number of values of a variable, in all of a file of `size` bytes.
    pub(super) fn count(&self, place: &Place, size: u64) -> u64 {
        let parts = if place.in_records { self.records_in(size) } else { 1 };
        parts.saturating_mul(place.bytes / place.kind.size() as u64)
    }

    /// Number of records: what the header says, else as many as are whole in a file of `size` bytes.
    fn records_in(&self, size: u64) -> u64 {
        let whole = |place: &Place| match size.checked_sub(place.begin.saturating_add(place.bytes)) {
            Some(rest) => rest / self.record_size.max(1) + 1,
            None => 0,
        };
        let in_records = self.variables.iter().filter(|place| place.in_records);
        self.records.unwrap_or_else(|| in_records.map(whole).min().unwrap_or(0))
    }

    /// Promises no more records than are whole in a file of `size` bytes.
    pub(super) fn shorten(&mut self, size: u64) {
        let promised = self.records.take();
        let whole = self.records_in(size);
        self.records = promised.map(|promised| promised.min(whole));
    }

    /// Bytes that a file must have to hold everything that its header promises.
    pub(super) fn needed(&self) -> u64 {
        let end = |place: &Place| match (place.in_records, self.records) {
            (false, _) => Some(place.begin.saturating_add(place.bytes)),
            (true, Some(records @ 1..)) => {
                let before = (records - 1).saturating_mul(self.record_size);
                Some(place.begin.saturating_add(before).saturating_add(place.bytes))
            }
            (true, _) => None,
        };
        self.variables.iter().filter_map(end).max().unwrap_or(0)
    }
}

struct Parser<R> {
    input: R,
    cdf5: bool,
    wide_offsets: bool,
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn padded(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(4)
}

impl<R: Read> Parser<R> {
    fn layout(mut self) -> io::Result<Layout> {
        match self.take::<4>()? {
            [b'C', b'D', b'F', version @ (1 | 2 | 5)] => {
                self.cdf5 = version == 5;
                self.wide_offsets = version != 1;
            }
            _ => return Err(invalid("it does not begin as NetCDF")),
        }
        let records = self.count()?;
        let records = (records != STREAMING && records != u64::MAX).then_some(records);
        let dimensions = self.list(10, |parser| Ok(Dimension { name: parser.name()?, length: parser.count()? }))?;
        let mut names: Vec<&str> = dimensions.iter().map(|dimension| &*dimension.name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(invalid(format!("two of its dimensions are called `{}`", pair[0])));
        }
        let attributes = self.attributes()?;
        let variables = self.list(11, |parser| parser.variable(&dimensions))?;
        let record_size = record_size(&variables).ok_or_else(|| invalid("its records are beyond 64 bits"))?;
        Ok(Layout { cdf5: self.cdf5, records, record_size, dimensions, attributes, variables })
    }

    fn variable(&mut self, known: &[Dimension]) -> io::Result<Place> {
        let name = self.name()?;
        let mut dimensions = Vec::new();
        for _ in 0..self.count()? {
            let id = usize::try_from(self.count()?).ok().filter(|id| *id < known.len());
            dimensions.push(id.ok_or_else(|| invalid(format!("`{name}` has an unknown dimension")))?);
        }
        let attributes = self.attributes()?;
        let kind = self.kind()?;
        self.count()?;
        let begin = if self.wide_offsets { self.number::<8>()? } else { self.number::<4>()? };
        let in_records = dimensions.first().is_some_and(|id| known[*id].length == 0);
        let mut sizes = dimensions[usize::from(in_records)..].iter().map(|id| known[*id].length);
        let bytes = sizes.try_fold(kind.size() as u64, |bytes: u64, size| bytes.checked_mul(size));
        let bytes = bytes.ok_or_else(|| invalid(format!("`{name}` is beyond 64 bits")))?;
        Ok(Place { name, begin, bytes, in_records, kind, dimensions, attributes })
    }

    fn attributes(&mut self) -> io::Result<Vec<(String, Value)>> {
        self.list(12, |parser| {
            let name = parser.name()?;
            let kind = parser.kind()?;
            let bytes = parser.count()?.checked_mul(kind.size() as u64);
            let bytes = parser.bytes(bytes.ok_or_else(|| invalid("an attribute is beyond 64 bits"))?)?;
            Ok((name, Value::of(kind, &bytes)))
        })
    }

    fn kind(&mut self) -> io::Result<Kind> {
        let number = self.number::<4>()?;
        Kind::of(number).ok_or_else(|| invalid(format!("no type has the number {number}")))
    }

    /// A list with the given tag: nothing at all, or as many elements as it says.
    fn list<T>(&mut self, tag: u64, mut element: impl FnMut(&mut Self) -> io::Result<T>) -> io::Result<Vec<T>> {
        let found = self.number::<4>()?;
        let count = self.count()?;
        if found != tag && (found, count) != (0, 0) {
            return Err(invalid(format!("a list begins with {found} instead of {tag}")));
        }
        (0..count).map(|_| element(self)).collect()
    }

    fn name(&mut self) -> io::Result<String> {
        let length = self.count()?;
        if length > MAX_NAME {
            return Err(invalid(format!("a name has {length} bytes")));
        }
        String::from_utf8(self.bytes(length)?).map_err(|_| invalid("a name is not UTF-8"))
    }

    /// As many bytes, and those behind them that only fill up. Takes no more memory than there are bytes.
    fn bytes(&mut self, count: u64) -> io::Result<Vec<u8>> {
        let filled = padded(count).ok_or_else(|| invalid("a text is beyond 64 bits"))?;
        let mut bytes = Vec::new();
        self.input.by_ref().take(filled).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != filled {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.truncate(count as usize);
        Ok(bytes)
    }

    fn count(&mut self) -> io::Result<u64> {
        if self.cdf5 { self.number::<8>() } else { self.number::<4>() }
    }

    fn number<const BYTES: usize>(&mut self) -> io::Result<u64> {
        Ok(self.take::<BYTES>()?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn take<const BYTES: usize>(&mut self) -> io::Result<[u8; BYTES]> {
        let mut bytes = [0; BYTES];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Every variable of a record is padded, unless there is but one.
fn record_size(variables: &[Place]) -> Option<u64> {
    let in_records: Vec<_> = variables.iter().filter(|place| place.in_records).collect();
    match in_records[..] {
        [only] => Some(only.bytes),
        _ => in_records.iter().try_fold(0, |sum: u64, place| sum.checked_add(padded(place.bytes)?)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_layout_is_the_librarys() {
        let folder = tempfile::tempdir().unwrap();
        for options in [netcdf::Options::empty(), netcdf::Options::_64BIT_OFFSET, netcdf::Options::_64BIT_DATA] {
            let path = folder.path().join("file.nc");
            let mut file = netcdf::create_with(&path, options).unwrap();
            file.add_dimension("x", 3).unwrap();
            file.add_unlimited_dimension("n").unwrap();
            file.add_attribute("odd", "seven b").unwrap();
            file.add_variable::<i32>("scalar", &[]).unwrap();
            file.add_variable::<f64>("data", &["n", "x", "x"]).unwrap();
            file.add_variable::<i8>("state", &["n", "x", "x"]).unwrap();
            file.enddef().unwrap();
            file.variable_mut("scalar").unwrap().put_value(77_i32, ()).unwrap();
            file.variable_mut("data").unwrap().put_value(0.5, [1, 2, 1]).unwrap();
            file.variable_mut("state").unwrap().put_value(5_i8, [1, 1, 1]).unwrap();
            file.close().unwrap();

            let bytes = fs::read(&path).unwrap();
            let layout = Layout::read(&bytes[..]).unwrap();
            assert_eq!((layout.records, layout.record_size), (Some(2), 72 + 12));
            let at = |name: &str, offset: u64| (layout.place(name).unwrap().begin + offset) as usize;
            assert_eq!(bytes[at("scalar", 0)..][..4], 77_i32.to_be_bytes());
            assert_eq!(bytes[at("data", 84 + 7 * 8)..][..8], 0.5_f64.to_be_bytes());
            assert_eq!(bytes[at("state", 84 + 4)], 5);
            let doubles = ["scalar", "data", "state"].map(|name| layout.place(name).unwrap().has_doubles());
            assert_eq!(doubles, [false, true, false]);
            assert!((bytes.len() as u64 - layout.needed()) < 4, "only padding may follow");
        }
    }

    #[test]
    fn every_cut_of_a_header_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.nc");
        let mut file = netcdf::create_with(&path, netcdf::Options::_64BIT_OFFSET).unwrap();
        file.add_dimension("x", 3).unwrap();
        file.add_attribute("text", "abc").unwrap();
        file.add_variable::<f64>("data", &["x"]).unwrap();
        file.close().unwrap();
        let bytes = fs::read(&path).unwrap();
        let begin = Layout::read(&bytes[..]).unwrap().place("data").unwrap().begin as usize;
        for end in 0..begin {
            assert!(Layout::read(&bytes[..end]).is_err(), "{end} of {begin} bytes");
        }
    }

    #[test]
    fn nonsense_is_no_layout_and_takes_no_memory() {
        assert!(Layout::read(&b"CDF\x03"[..]).unwrap_err().contains("damaged"));
        let huge = [b"CDF\x05".as_slice(), &[0; 8], &[0, 0, 0, 10], &[0xff; 8], &[0xff; 64]].concat();
        assert!(Layout::read(&huge[..]).is_err());
    }
}

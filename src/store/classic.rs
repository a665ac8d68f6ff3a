//! Where the values of a NetCDF classic file lie, told from its header.
//!
//! In: the first bytes of a file. Out: the places of its variables, and how many bytes the file must have. This is what
//! the netcdf crate does not tell: the C library opens a file whose end is missing without complaint, and gives
//! zeros for what is not there. No value is read here.
//!
//! The format is that of the appendix "File Format Specifications" of the NetCDF User's Guide.

use std::io::{self, Read};

/// Number of records that a file in writing may claim: "not counted".
const STREAMING: u64 = u32::MAX as u64;

/// Longest name that NetCDF allows, in bytes.
const MAX_NAME: u64 = 256;

/// Places of all variables.
#[derive(Debug)]
pub(super) struct Layout {
    /// Whether counts and offsets are those of CDF-5.
    pub(super) cdf5: bool,
    /// Number of records; `None` where the file does not tell.
    pub(super) records: Option<u64>,
    /// Bytes from one record to the next.
    pub(super) record_size: u64,
    variables: Vec<Place>,
}

/// Place of a variable.
#[derive(Clone, Debug)]
pub(super) struct Place {
    name: String,
    /// Offset of its first byte.
    pub(super) begin: u64,
    /// Bytes of one record of it, or of all of it where it has no records; without padding.
    pub(super) bytes: u64,
    in_records: bool,
    /// Number of its type, as the format has it.
    kind: u64,
}

/// Number of the type `double`.
const DOUBLE: u64 = 6;

impl Place {
    /// Whether every record has values of it, and these are doubles. Other programs make copies in which all
    /// dimensions are fixed, or values are floats.
    pub(super) fn has_doubles(&self) -> bool {
        self.in_records && self.kind == DOUBLE
    }

    /// Whether every record has this many bytes of it.
    pub(super) fn has_records_of(&self, bytes: u64) -> bool {
        self.in_records && self.bytes == bytes
    }
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
        let dimensions = self.list(10, |parser| {
            parser.name()?;
            parser.count()
        })?;
        self.attributes()?;
        let variables = self.list(11, |parser| parser.variable(&dimensions))?;
        let record_size = record_size(&variables).ok_or_else(|| invalid("its records are beyond 64 bits"))?;
        Ok(Layout { cdf5: self.cdf5, records, record_size, variables })
    }

    fn variable(&mut self, dimensions: &[u64]) -> io::Result<Place> {
        let name = self.name()?;
        let mut sizes = Vec::new();
        for _ in 0..self.count()? {
            let dimension = usize::try_from(self.count()?).ok().and_then(|id| dimensions.get(id));
            sizes.push(*dimension.ok_or_else(|| invalid(format!("`{name}` has an unknown dimension")))?);
        }
        self.attributes()?;
        let kind = self.number::<4>()?;
        let item = size_of_type(kind)?;
        self.count()?;
        let begin = if self.wide_offsets { self.number::<8>()? } else { self.number::<4>()? };
        let in_records = sizes.first() == Some(&0);
        let bytes = sizes[usize::from(in_records)..].iter().try_fold(item, |bytes, size| bytes.checked_mul(*size));
        let bytes = bytes.ok_or_else(|| invalid(format!("`{name}` is beyond 64 bits")))?;
        Ok(Place { name, begin, bytes, in_records, kind })
    }

    fn attributes(&mut self) -> io::Result<()> {
        self.list(12, |parser| {
            parser.name()?;
            let item = size_of_type(parser.number::<4>()?)?;
            let bytes = parser.count()?.checked_mul(item).and_then(padded);
            parser.skip(bytes.ok_or_else(|| invalid("an attribute is beyond 64 bits"))?)
        })?;
        Ok(())
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
        let mut name = vec![0; length as usize];
        self.input.read_exact(&mut name)?;
        self.skip(length.next_multiple_of(4) - length)?;
        String::from_utf8(name).map_err(|_| invalid("a name is not UTF-8"))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink())?;
        if skipped == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
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

/// Bytes of a value of the type with this number.
fn size_of_type(kind: u64) -> io::Result<u64> {
    match kind {
        1 | 2 | 7 => Ok(1),
        3 | 8 => Ok(2),
        4 | 5 | 9 => Ok(4),
        DOUBLE | 10 | 11 => Ok(8),
        other => Err(invalid(format!("no type has the number {other}"))),
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

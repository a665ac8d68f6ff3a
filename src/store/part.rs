//! Finished rounds of a length that is not finished: `<prefix>_part.bin`.
//!
//! In: bytes that the measuring half makes and understands, piece by piece. Out: the same bytes, as far as they were
//! sealed. The file is there only while a length is longer than some seconds, and goes when it is finished.
//!
//! ```text
//! "NTPART2\n"  checksum of the plan: u32  number of the length: u32
//! then any number of:  length of a piece: u32 (not 0), piece
//! sealed by:           0: u32, rounds that are finished: u64, CRC-32 of all before: u32
//! ```
//!
//! Little endian. What stands behind the last seal was cut off when the job ended, and does not count.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use super::{StoreError, paths::part_path, regular};
use crate::record::Header;

const MAGIC: &[u8; 8] = b"NTPART2\n";

/// Longest piece that is believed: a row of cells of the largest run, with room.
const LONGEST: u32 = 1 << 28;

/// A part file in writing.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    plan: u32,
    /// Open once there is something to keep: the file, the number of the length, the checksum so far.
    open: Option<(File, usize, crc32fast::Hasher)>,
    /// What was found: the number of the length, its finished rounds, where the last seal ends.
    found: Option<Found>,
}

#[derive(Clone, Debug)]
struct Found {
    length_index: usize,
    rounds: usize,
    end: u64,
    hasher: crc32fast::Hasher,
}

impl Part {
    /// Of the set at `prefix`; what is there is believed if it belongs to the same plan.
    pub(super) fn open(prefix: &Path, header: &Header) -> Result<Self, StoreError> {
        let path = part_path(prefix);
        let plan = digest(header);
        let found = match regular::open(&path) {
            Ok(file) => sealed(&file, plan, |_| ()).map_err(StoreError::io("read", &path))?,
            Err(StoreError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { path, plan, open: None, found })
    }

    /// Of a new set: what is there belongs to an older one.
    pub(super) fn anew(prefix: &Path, header: &Header) -> Result<Self, StoreError> {
        let part = Self { path: part_path(prefix), plan: digest(header), open: None, found: None };
        part.remove()?;
        Ok(part)
    }

    /// How many rounds of a length are in the file.
    pub(super) fn rounds(&self, length_index: usize) -> usize {
        self.found.as_ref().filter(|found| found.length_index == length_index).map_or(0, |found| found.rounds)
    }

    /// The pieces of these rounds, one after the other.
    pub(super) fn read(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), StoreError> {
        let io = || -> io::Result<()> { sealed(&File::open(&self.path)?, self.plan, each).map(drop) };
        io().map_err(StoreError::io("read", &self.path))
    }

    /// Adds a piece.
    pub(super) fn add(&mut self, length_index: usize, piece: &[u8]) -> Result<(), StoreError> {
        if piece.is_empty() {
            return Ok(());
        }
        let path = self.path.clone();
        let mut io = || -> io::Result<()> {
            self.begin(length_index)?;
            self.put(&(piece.len() as u32).to_le_bytes())?;
            self.put(piece)
        };
        io().map_err(StoreError::io("write", &path))
    }

    /// So many rounds are finished, with all pieces so far.
    pub(super) fn seal(&mut self, length_index: usize, rounds: usize) -> Result<(), StoreError> {
        let path = self.path.clone();
        let mut io = || -> io::Result<()> {
            self.begin(length_index)?;
            self.put(&0u32.to_le_bytes())?;
            self.put(&(rounds as u64).to_le_bytes())?;
            let Some((file, _, hasher)) = &mut self.open else { return Ok(()) };
            file.write_all(&hasher.clone().finalize().to_le_bytes())?;
            file.sync_data()
        };
        io().map_err(StoreError::io("write", &path))
    }

    /// The length is in the files: the rounds are not needed any more.
    pub(super) fn finish(&mut self) -> Result<(), StoreError> {
        if self.open.take().is_some() || self.found.take().is_some() {
            self.remove()?;
        }
        Ok(())
    }

    fn remove(&self) -> Result<(), StoreError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io("remove", &self.path)(error)),
            _ => Ok(()),
        }
    }

    /// Opens the file behind what is found of this length, or anew.
    fn begin(&mut self, length_index: usize) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|(_, of, _)| *of == length_index) {
            return Ok(());
        }
        if let Some(found) = self.found.as_ref().filter(|found| found.length_index == length_index) {
            let file = OpenOptions::new().append(true).open(&self.path)?;
            file.set_len(found.end)?;
            self.open = Some((file, length_index, found.hasher.clone()));
            return Ok(());
        }
        self.found = None;
        self.open = Some((File::create(&self.path)?, length_index, crc32fast::Hasher::new()));
        self.put(MAGIC)?;
        let plan = self.plan;
        self.put(&plan.to_le_bytes())?;
        self.put(&(length_index as u32).to_le_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some((file, _, hasher)) = &mut self.open else { return Ok(()) };
        hasher.update(bytes);
        file.write_all(bytes)
    }
}

/// Checksum over what makes a plan.
fn digest(header: &Header) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    header.plan.iter().for_each(|(name, value)| hasher.update(format!("{name}={value}\n").as_bytes()));
    hasher.finalize()
}

/// Reads a file up to its last seal, and gives its pieces to `each` as far as they are sealed. `None`: nothing is, or
/// it belongs to another plan.
fn sealed(file: &File, plan: u32, mut each: impl FnMut(&[u8])) -> io::Result<Option<Found>> {
    let mut reader = Hashing { reader: BufReader::new(file), hasher: crc32fast::Hasher::new(), read: 0 };
    let mut found = None;
    let mut walk = || -> io::Result<()> {
        if reader.array::<8>()? != *MAGIC || u32::from_le_bytes(reader.array()?) != plan {
            return Ok(());
        }
        let length_index = u32::from_le_bytes(reader.array()?) as usize;
        let mut pieces = Vec::new();
        loop {
            match u32::from_le_bytes(reader.array()?) {
                0 => {
                    let rounds = u64::from_le_bytes(reader.array()?) as usize;
                    let expected = reader.hasher.clone().finalize();
                    let hasher = reader.hasher.clone();
                    if u32::from_le_bytes(reader.array()?) != expected {
                        return Ok(());
                    }
                    // Seals are not part of what they seal.
                    reader.hasher = hasher.clone();
                    pieces.drain(..).for_each(|piece: Vec<u8>| each(&piece));
                    found = Some(Found { length_index, rounds, end: reader.read, hasher });
                }
                LONGEST.. => return Ok(()),
                length => pieces.push(reader.bytes(length as usize)?),
            }
        }
    };
    match walk() {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(found),
    }
}

/// Keeps a checksum of what it reads, and counts it.
struct Hashing<R> {
    reader: R,
    hasher: crc32fast::Hasher,
    read: u64,
}

impl<R: Read> Hashing<R> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.hasher.update(&bytes);
        self.read += N as u64;
        Ok(bytes)
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // Not more memory than there is file, whatever the number says.
        (&mut self.reader).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.hasher.update(&bytes);
        self.read += length as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        plan::{Config, Mode, Plan},
        record::Provenance,
        units::Hosts,
    };

    fn header() -> Header {
        let plan = Plan { mode: Mode::OneToOne, config: Config::default(), hosts: Hosts::new(["a", "b"]) };
        Header::of(&plan, Provenance::default())
    }

    fn pieces(prefix: &Path) -> (usize, Vec<Vec<u8>>) {
        let part = Part::open(prefix, &header()).unwrap();
        let mut pieces = Vec::new();
        if part.rounds(2) > 0 {
            part.read(&mut |piece| pieces.push(piece.to_vec())).unwrap();
        }
        (part.rounds(2), pieces)
    }

    #[test]
    fn what_is_sealed_is_found_wherever_the_job_ended() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        let path = part_path(&prefix);
        let mut part = Part::open(&prefix, &header()).unwrap();
        assert_eq!(part.rounds(2), 0);
        part.add(2, b"first").unwrap();
        part.add(2, b"").unwrap();
        part.seal(2, 3).unwrap();
        let one = fs::metadata(&path).unwrap().len() as usize;
        part.add(2, b"second").unwrap();
        part.seal(2, 5).unwrap();
        let whole = fs::read(&path).unwrap();
        for end in 0..=whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let expected = match end {
                end if end < one => (0, vec![]),
                end if end < whole.len() => (3, vec![b"first".to_vec()]),
                _ => (5, vec![b"first".to_vec(), b"second".to_vec()]),
            };
            assert_eq!(pieces(&prefix), expected, "cut off behind {end} of {} bytes", whole.len());
        }
        // Goes on behind the last seal, also where something stands behind it.
        fs::write(&path, &whole[..one + 6]).unwrap();
        let mut part = Part::open(&prefix, &header()).unwrap();
        part.add(2, b"again").unwrap();
        part.seal(2, 4).unwrap();
        assert_eq!(pieces(&prefix), (4, vec![b"first".to_vec(), b"again".to_vec()]));
        part.finish().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn damage_and_other_plans_are_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        let mut part = Part::open(&prefix, &header()).unwrap();
        part.add(2, b"first").unwrap();
        part.seal(2, 3).unwrap();
        let whole = fs::read(part_path(&prefix)).unwrap();
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x40;
            fs::write(part_path(&prefix), damaged).unwrap();
            assert_eq!(pieces(&prefix).0, 0, "byte {place}");
        }
        fs::write(part_path(&prefix), &whole).unwrap();
        let other = Header { plan: BTreeMap::new(), ..header() };
        assert_eq!(Part::open(&prefix, &other).unwrap().rounds(2), 0);
        assert_eq!(Part::open(&prefix, &header()).unwrap().rounds(1), 0, "another length");
        Part::anew(&prefix, &header()).unwrap();
        assert!(!part_path(&prefix).exists());
    }
}

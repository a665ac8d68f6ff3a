//! Numbers as shuffled and deflated bytes, and back.

use std::io::{self, Read, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

/// A block in writing.
#[derive(Debug)]
pub(super) struct Deflating(ZlibEncoder<Vec<u8>>);

impl Deflating {
    /// An empty block.
    pub(super) fn new() -> Self {
        // The most: there is little to deflate, and it is worth it.
        Self(ZlibEncoder::new(Vec::new(), Compression::best()))
    }

    /// Appends numbers of `WIDTH` bytes, shuffled.
    pub(super) fn append<const WIDTH: usize>(&mut self, numbers: &[[u8; WIDTH]]) -> io::Result<()> {
        for place in 0..WIDTH {
            let bytes: Vec<u8> = numbers.iter().map(|number| number[place]).collect();
            self.0.write_all(&bytes)?;
        }
        Ok(())
    }

    /// The deflated bytes.
    pub(super) fn end(self) -> io::Result<Vec<u8>> {
        self.0.finish()
    }
}

/// A block in reading.
pub(super) struct Inflating<'a>(ZlibDecoder<&'a [u8]>);

impl<'a> Inflating<'a> {
    /// Of deflated bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(ZlibDecoder::new(bytes))
    }

    /// The next numbers, of `WIDTH` bytes each. The caller knows that there is memory for them.
    pub(super) fn take<const WIDTH: usize>(&mut self, count: usize) -> io::Result<Vec<[u8; WIDTH]>> {
        let mut numbers = Vec::new();
        let mut bytes = Vec::new();
        let room = |error: std::collections::TryReserveError| io::Error::new(io::ErrorKind::OutOfMemory, error);
        numbers.try_reserve_exact(count).map_err(room)?;
        bytes.try_reserve_exact(count).map_err(room)?;
        numbers.resize(count, [0; WIDTH]);
        bytes.resize(count, 0);
        for place in 0..WIDTH {
            self.0.read_exact(&mut bytes)?;
            numbers.iter_mut().zip(&bytes).for_each(|(number, byte): (&mut [u8; WIDTH], _)| number[place] = *byte);
        }
        Ok(numbers)
    }

    /// Whether everything was taken, and the checksum behind it is right.
    pub(super) fn is_at_end(&mut self) -> bool {
        matches!(self.0.read(&mut [0]), Ok(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_their_parts() {
        let mut block = Deflating::new();
        let first: Vec<[u8; 4]> = (0_u32..1000).map(|k| (k * 77).to_le_bytes()).collect();
        let second: Vec<[u8; 8]> = (0_u64..10).map(|k| (k << 40).to_le_bytes()).collect();
        block.append(&first).unwrap();
        block.append(&second).unwrap();
        let bytes = block.end().unwrap();
        let mut block = Inflating::new(&bytes);
        assert_eq!(block.take::<4>(1000).unwrap(), first);
        assert_eq!(block.take::<8>(10).unwrap(), second);
        assert!(block.is_at_end());
        let mut cut = Inflating::new(&bytes[..bytes.len() - 1]);
        assert!(cut.take::<4>(1020).is_err() || !cut.is_at_end());
    }
}

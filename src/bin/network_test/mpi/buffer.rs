//! Memory for messages and samples: made and touched before anything is timed.
//!
//! The errors of this module are the number of bytes that are not there.

use std::ops::{Deref, DerefMut};

/// Memory pages of all machines that we know of are a multiple of this many bytes, or as many.
const PAGE: usize = 4096;

/// Bytes that begin at a page, so that copying them does not depend on where an allocator has put them.
pub(super) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// `length` bytes, all of this value. Not 0, if the memory is to be really there: what was never written may be one
    /// shared page of zeros.
    pub(super) fn touched(length: usize, value: u8) -> Result<Self, u64> {
        let memory = touched(length.saturating_add(PAGE), value)?;
        let start = memory.as_ptr().align_offset(PAGE).min(PAGE);
        Ok(Self { memory, start, length })
    }

    /// Never gives the memory back.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.memory));
        (self.start, self.length) = (0, 0);
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..][..self.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.length]
    }
}

/// A vector whose memory is really there.
pub(super) fn touched<T: Copy>(length: usize, value: T) -> Result<Vec<T>, u64> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).map_err(|_| (length as u64).saturating_mul(size_of::<T>() as u64))?;
    vector.resize(length, value);
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_told_in_bytes() {
        assert_eq!(touched(usize::MAX / 16, 0.0f64).unwrap_err(), (usize::MAX / 16 * 8) as u64);
        assert!(Buffer::touched(usize::MAX, 1).is_err());
    }

    #[test]
    fn a_buffer_begins_at_a_page() {
        for length in [0, 1, 5000] {
            let buffer = Buffer::touched(length, 7).unwrap();
            assert_eq!(buffer.as_ptr() as usize % PAGE, 0);
            assert_eq!(&buffer[..], vec![7; length]);
        }
    }
}

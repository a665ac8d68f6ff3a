//! One-sided access: memory of a rank that others read and write.
//!
//! In: memory, and what is written to it. Out: what was read; every access is complete when its call returns.

use mpi::ffi;
use netmatrix::units::Rank;

use super::{MpiError, Wire, check, count, rank};
use crate::mpi::buffer::Buffer;

/// Memory of every rank that every other rank may read and write without its help.
///
/// The window is open for passive access from its creation to [`Window::close`].
pub struct Window {
    raw: ffi::MPI_Win,
    byte: ffi::MPI_Datatype,
    memory: Buffer,
    closed: bool,
}

impl Window {
    /// Exposes `memory` of this rank. Collective.
    pub fn over(wire: &Wire, mut memory: Buffer) -> Result<Self, MpiError> {
        // SAFETY: the memory is owned by the window, is never moved or resized (a buffer's heap block stays where it is
        // when the buffer moves), and is freed after the window is. The window's error handler is set before anything
        // is sent.
        unsafe {
            let mut raw = ffi::RSMPI_WIN_NULL;
            let size = ffi::MPI_Aint::try_from(memory.len()).expect("no memory is longer than isize::MAX");
            let code =
                ffi::MPI_Win_create(memory.as_mut_ptr().cast(), size, 1, ffi::RSMPI_INFO_NULL, wire.raw, &mut raw);
            check("MPI_Win_create", code)?;
            check("MPI_Win_set_errhandler", ffi::MPI_Win_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN))?;
            check("MPI_Win_lock_all", ffi::MPI_Win_lock_all(0, raw))?;
            Ok(Self { raw, byte: wire.byte, memory, closed: false })
        }
    }

    /// Writes `data` to the beginning of the other rank's memory; it is complete there on return.
    #[inline]
    pub fn put(&self, data: &[u8], to: Rank) -> Result<(), MpiError> {
        let (length, to) = (count(data.len()), rank(to));
        // SAFETY: `data` is borrowed until the flush has completed the operation; MPI checks the target's bounds.
        unsafe {
            let pointer = data.as_ptr().cast();
            check("MPI_Put", ffi::MPI_Put(pointer, length, self.byte, to, 0, length, self.byte, self.raw))?;
            check("MPI_Win_flush", ffi::MPI_Win_flush(to, self.raw))
        }
    }

    /// Reads from the beginning of the other rank's memory into `data`; it is complete on return.
    #[inline]
    pub fn get(&self, data: &mut [u8], from: Rank) -> Result<(), MpiError> {
        self.get_at(data, from, 0)
    }

    /// Reads from `offset` bytes behind the beginning of the other rank's memory; `data` is complete on return.
    #[inline]
    pub fn get_at(&self, data: &mut [u8], from: Rank, offset: usize) -> Result<(), MpiError> {
        let (length, from) = (count(data.len()), rank(from));
        // SAFETY: `data` is borrowed mutably until the flush has completed the operation; MPI checks the bounds.
        unsafe {
            let (pointer, offset) = (data.as_mut_ptr().cast(), offset as ffi::MPI_Aint);
            check("MPI_Get", ffi::MPI_Get(pointer, length, self.byte, from, offset, length, self.byte, self.raw))?;
            check("MPI_Win_flush", ffi::MPI_Win_flush(from, self.raw))
        }
    }

    /// Makes `data` what others read from the beginning of this rank's memory. No access to it may be under way.
    pub fn expose(&mut self, data: &[u8]) -> Result<(), MpiError> {
        self.sync()?;
        self.memory[..data.len()].copy_from_slice(data);
        self.sync()
    }

    fn sync(&self) -> Result<(), MpiError> {
        // SAFETY: the window is live and open.
        check("MPI_Win_sync", unsafe { ffi::MPI_Win_sync(self.raw) })
    }

    /// Ends all access. Collective.
    pub fn close(mut self) -> Result<(), MpiError> {
        // SAFETY: the window is live and open; nothing is under way, because every access flushes. The memory is freed
        // when `self` goes, after the window.
        unsafe {
            check("MPI_Win_unlock_all", ffi::MPI_Win_unlock_all(self.raw))?;
            check("MPI_Win_free", ffi::MPI_Win_free(&mut self.raw))?;
        }
        self.closed = true;
        Ok(())
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Others may still write into memory that is exposed: it is not given back.
        if !self.closed {
            self.memory.leak();
        }
    }
}

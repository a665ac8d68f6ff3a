//! Exchanges with several ranks at once: requests that are made once and used again.
//!
//! In: messages, and memory for what comes. Out: the same, complete; after an error memory that MPI may still write to is
//! never given back.

use std::{ffi::c_int, ops::Range};

use mpi::ffi;
use netmatrix::units::Rank;

use super::{MpiError, Tag, Wire, check, count, rank};
use crate::mpi::buffer::Buffer;

/// Exchanges with everybody: requests and the memory of what comes in, made once and used again.
pub struct Crowd {
    /// `[source]`.
    receives: Vec<ffi::MPI_Request>,
    sends: Vec<ffi::MPI_Request>,
    /// Places of the requests that a call has completed.
    done: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
    /// `[source][byte]`, with room for the longest message from every rank.
    memory: Buffer,
    /// Bytes of the messages that are awaited.
    length: usize,
    /// Whether MPI may be writing to the memory.
    open: bool,
}

impl Crowd {
    /// Among `ranks`, with memory for one of the longest messages of each.
    pub fn new(ranks: usize, memory: Buffer) -> Self {
        // SAFETY: reads a constant of the MPI library; all zeros is a valid MPI_Status, which is only written to.
        let (null, status) = unsafe { (ffi::RSMPI_REQUEST_NULL, std::mem::zeroed()) };
        let (receives, sends, statuses) = (vec![null; ranks], vec![null; ranks], vec![status; ranks]);
        Self { receives, sends, done: vec![0; ranks], statuses, memory, length: 0, open: false }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.receives.len()
    }

    /// Begins to receive a message of `length` bytes from every rank, oneself included.
    pub fn open(&mut self, wire: &Wire, length: usize, tag: Tag) -> Result<(), MpiError> {
        assert!(
            !self.open && length * self.ranks() <= self.memory.len(),
            "one message per rank, one exchange at a time"
        );
        self.open = true;
        self.length = length;
        for (source, request) in self.receives.iter_mut().enumerate() {
            // SAFETY: the pieces do not overlap and lie inside the memory (asserted above), which is owned, never moves
            // (a buffer's heap block stays where it is) and no one else sees it before `swap` has completed all requests.
            // After an error it is never freed (`Drop`).
            let code = unsafe {
                let piece = self.memory.as_mut_ptr().add(source * length).cast();
                ffi::MPI_Irecv(piece, count(length), wire.byte, rank(source), tag, wire.raw, request)
            };
            check("MPI_Irecv", code)?;
        }
        Ok(())
    }

    /// Sends `out` to every rank, to the one after `me` first, and takes what comes from every rank since
    /// [`Crowd::open`]. `arrived` gets the sources of all messages that were found complete at a time, as C integers. The
    /// sends are completed after the last message has come.
    pub fn swap(
        &mut self,
        wire: &Wire,
        me: Rank,
        out: &[u8],
        tag: Tag,
        mut arrived: impl FnMut(&[c_int]),
    ) -> Result<(), MpiError> {
        assert!(self.open && out.len() == self.length, "what is sent is as long as what is awaited");
        let ranks = self.ranks();
        let all = count(ranks);
        // SAFETY: `out` may be read by several sends (MPI 3.0, section 3.7) and is borrowed until all of them are
        // complete, which is so before each return that follows successful starts; the arrays are as long as
        // the calls say. After an error MPI promises nothing: the whole job is ended at once (`Ensemble::round`).
        unsafe {
            for step in 1..=ranks {
                let destination = (me + step) % ranks;
                let request = &mut self.sends[destination];
                let (pointer, length) = (out.as_ptr().cast(), count(out.len()));
                let code = ffi::MPI_Isend(pointer, length, wire.byte, rank(destination), tag, wire.raw, request);
                check("MPI_Isend", code)?;
            }
            let mut left = ranks;
            while left > 0 {
                let mut found: c_int = 0;
                let (requests, done) = (self.receives.as_mut_ptr(), self.done.as_mut_ptr());
                let code = ffi::MPI_Waitsome(all, requests, &mut found, done, self.statuses.as_mut_ptr());
                check("MPI_Waitsome", code)?;
                // MPI_UNDEFINED, which is negative, would mean that nothing is awaited any more.
                let found = usize::try_from(found).unwrap_or(left).min(left);
                arrived(&self.done[..found]);
                left -= found;
            }
            let code = ffi::MPI_Waitall(all, self.sends.as_mut_ptr(), self.statuses.as_mut_ptr());
            check("MPI_Waitall", code)?;
        }
        self.open = false;
        Ok(())
    }

    /// The message that came from `source` in the last exchange.
    pub fn come_from(&mut self, source: Rank) -> &mut [u8] {
        assert!(!self.open, "messages may still be coming");
        &mut self.memory[source * self.length..][..self.length]
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // MPI may still write into memory that is awaited: it is not given back.
        if self.open {
            self.memory.leak();
        }
    }
}

/// Exchanges with some others at once: requests and the memory of what comes in, made once and used again.
pub struct Few {
    requests: Vec<ffi::MPI_Request>,
    statuses: Vec<ffi::MPI_Status>,
    memory: Buffer,
    /// Whether MPI may be writing to the memory.
    open: bool,
}

impl Few {
    /// With at most `others`, with memory for a message of each.
    pub fn new(others: usize, memory: Buffer) -> Self {
        // SAFETY: reads a constant of the MPI library; all zeros is a valid MPI_Status, which is only written to.
        let (null, status) = unsafe { (ffi::RSMPI_REQUEST_NULL, std::mem::zeroed()) };
        Self { requests: vec![null; 2 * others], statuses: vec![status; 2 * others], memory, open: false }
    }

    /// Sends `out` to each of `others` and receives as much from each, all at once.
    pub fn swap(
        &mut self,
        wire: &Wire,
        others: impl Iterator<Item = Rank> + Clone,
        out: &[u8],
        tag: Tag,
    ) -> Result<(), MpiError> {
        let number = others.clone().count();
        assert!(
            2 * number <= self.requests.len() && number * out.len() <= self.memory.len(),
            "as many as it was made for"
        );
        self.open = true;
        // SAFETY: the pieces of the memory do not overlap and lie inside it (asserted above); `out` may be read by several
        // sends (MPI 3.0, section 3.7). Both last until all requests are complete, which is so before each return that
        // follows successful starts; after an error the memory is never freed (`Drop`), and the job ends.
        unsafe {
            let (length, pointer) = (count(out.len()), out.as_ptr().cast());
            for (place, other) in others.clone().enumerate() {
                let piece = self.memory.as_mut_ptr().add(place * out.len()).cast();
                let request = &mut self.requests[place];
                let code = ffi::MPI_Irecv(piece, length, wire.byte, rank(other), tag, wire.raw, request);
                check("MPI_Irecv", code)?;
            }
            for (place, other) in others.enumerate() {
                let request = &mut self.requests[number + place];
                let code = ffi::MPI_Isend(pointer, length, wire.byte, rank(other), tag, wire.raw, request);
                check("MPI_Isend", code)?;
            }
            let code = ffi::MPI_Waitall(count(2 * number), self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
            check("MPI_Waitall", code)?;
        }
        self.open = false;
        Ok(())
    }
}

impl Drop for Few {
    fn drop(&mut self) {
        if self.open {
            self.memory.leak();
        }
    }
}

/// Messages to and from several others at once, of different lengths: requests made once and used again.
pub struct Many {
    /// Others, and where in the memory the message is.
    sends: Vec<(Rank, Range<usize>)>,
    receives: Vec<(Rank, Range<usize>)>,
    requests: Vec<ffi::MPI_Request>,
    statuses: Vec<ffi::MPI_Status>,
    /// Bytes that the memory of what is sent, and of what comes, has at least.
    needed: [usize; 2],
}

impl Many {
    /// Of these messages. What comes must not overlap: its pieces are in ascending order.
    pub fn new(sends: Vec<(Rank, Range<usize>)>, receives: Vec<(Rank, Range<usize>)>) -> Self {
        assert!(
            receives.windows(2).all(|pair| pair[0].1.end <= pair[1].1.start),
            "the pieces of what comes are one behind the other"
        );
        let end = |pieces: &[(Rank, Range<usize>)]| pieces.iter().map(|piece| piece.1.end).max().unwrap_or(0);
        let needed = [end(&sends), end(&receives)];
        // SAFETY: reads a constant of the MPI library; all zeros is a valid MPI_Status, which is only written to.
        let (null, status) = unsafe { (ffi::RSMPI_REQUEST_NULL, std::mem::zeroed()) };
        let number = sends.len() + receives.len();
        Self { sends, receives, requests: vec![null; number], statuses: vec![status; number], needed }
    }

    /// Sends pieces of `out` and receives into pieces of `into`, all at once.
    #[inline]
    pub fn exchange(&mut self, wire: &Wire, out: &[u8], into: &mut [u8], tag: Tag) -> Result<(), MpiError> {
        assert!(out.len() >= self.needed[0] && into.len() >= self.needed[1], "as much memory as it was made for");
        let memory = into.as_mut_ptr();
        // SAFETY: the pieces lie inside `out` and `into` (asserted above), those of `into` do not overlap (asserted when
        // this was made), and both are borrowed until all requests are complete, which is so before each return that
        // follows successful starts. After an error MPI promises nothing: the whole job is ended at once.
        unsafe {
            let mut requests = self.requests.iter_mut();
            for ((other, piece), request) in self.receives.iter().zip(&mut requests) {
                let (pointer, length) = (memory.add(piece.start).cast(), count(piece.len()));
                let code = ffi::MPI_Irecv(pointer, length, wire.byte, rank(*other), tag, wire.raw, request);
                check("MPI_Irecv", code)?;
            }
            for ((other, piece), request) in self.sends.iter().zip(&mut requests) {
                let (pointer, length) = (out.as_ptr().add(piece.start).cast(), count(piece.len()));
                let code = ffi::MPI_Isend(pointer, length, wire.byte, rank(*other), tag, wire.raw, request);
                check("MPI_Isend", code)?;
            }
            let all = count(self.requests.len());
            check("MPI_Waitall", ffi::MPI_Waitall(all, self.requests.as_mut_ptr(), self.statuses.as_mut_ptr()))
        }
    }
}

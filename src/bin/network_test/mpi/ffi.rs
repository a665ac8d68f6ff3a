//! The only unsafe code of the program: MPI calls whose return codes are checked.
//!
//! rsmpi's own calls drop the return code, because errors end the program by default. On the communicator of a
//! [`Wire`] they do not: a failed exchange becomes a missing cell. What is timed goes through here, control messages
//! between exchanges included; collective bookkeeping uses rsmpi and still ends the program on errors.
//!
//! Every function blocks until MPI has let go of the buffers that it was given, so no borrow outlives a call; what that
//! means after an error is said where it matters.

#![allow(unsafe_code)]

use std::{ffi::c_int, ops::Range};

use mpi::{
    ffi,
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::{Communicator, Equivalence},
};
use netmatrix::units::Rank;

use super::buffer::Buffer;
use crate::watchdog::Watch;

/// A call to MPI that returned an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {text}")]
pub struct MpiError {
    /// Name of the MPI function.
    pub call: &'static str,
    /// What MPI says.
    pub text: String,
}

/// Message tag.
pub type Tag = i32;

/// A communicator on which errors return, and the type of its messages: bytes.
pub struct Wire {
    /// Owns the communicator; `raw` is its handle.
    _communicator: SimpleCommunicator,
    raw: ffi::MPI_Comm,
    byte: ffi::MPI_Datatype,
    /// Where this rank notes for whom it waits; nothing here does.
    pub watch: Watch,
}

fn check(call: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == 0 { Ok(()) } else { Err(error(call, code)) }
}

#[cold]
fn error(call: &'static str, code: c_int) -> MpiError {
    // MPI_MAX_ERROR_STRING is 256 in Open MPI and 512 or 1024 in MPICH and its descendants.
    let mut text = [0u8; 4096];
    let mut length: c_int = 0;
    // SAFETY: the buffer is longer than any implementation's MPI_MAX_ERROR_STRING, and MPI is initialised.
    let known = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) } == 0;
    let text = match usize::try_from(length) {
        Ok(length) if known && length <= text.len() => String::from_utf8_lossy(&text[..length]).into_owned(),
        _ => format!("error code {code}"),
    };
    MpiError { call, text }
}

fn count(bytes: usize) -> c_int {
    c_int::try_from(bytes).expect("the plan allows no message beyond a C int")
}

fn rank(rank: Rank) -> c_int {
    c_int::try_from(rank).expect("MPI numbers ranks with a C int")
}

impl Wire {
    /// A communicator of its own over the ranks of `world`. Collective.
    pub fn over(world: &SimpleCommunicator, watch: Watch) -> Result<Self, MpiError> {
        let communicator = world.duplicate();
        let raw = communicator.as_raw();
        // SAFETY: `raw` is the live communicator that was made above; the handler is MPI's own constant.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN) };
        check("MPI_Comm_set_errhandler", code)?;
        Ok(Self { _communicator: communicator, raw, byte: u8::equivalent_datatype().as_raw(), watch })
    }

    /// Blocking send.
    #[inline]
    pub fn send(&self, data: &[u8], to: Rank, tag: Tag) -> Result<(), MpiError> {
        // SAFETY: pointer and count describe `data`, which is borrowed until the call returns.
        let code =
            unsafe { ffi::MPI_Send(data.as_ptr().cast(), count(data.len()), self.byte, rank(to), tag, self.raw) };
        check("MPI_Send", code)
    }

    /// Blocking receive of at most `data.len()` bytes; a longer message is an error.
    #[inline]
    pub fn receive(&self, data: &mut [u8], from: Rank, tag: Tag) -> Result<(), MpiError> {
        // SAFETY: pointer and count describe `data`, which is borrowed mutably until the call returns; the status is
        // MPI's own constant for "not wanted".
        let code = unsafe {
            ffi::MPI_Recv(
                data.as_mut_ptr().cast(),
                count(data.len()),
                self.byte,
                rank(from),
                tag,
                self.raw,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        check("MPI_Recv", code)
    }

    /// As [`Wire::send`], of doubles as bytes.
    #[inline]
    pub fn send_doubles(&self, data: &[f64], to: Rank, tag: Tag) -> Result<(), MpiError> {
        let bytes = count(size_of_val(data));
        // SAFETY: pointer and count describe `data`, which is borrowed until the call returns.
        let code = unsafe { ffi::MPI_Send(data.as_ptr().cast(), bytes, self.byte, rank(to), tag, self.raw) };
        check("MPI_Send", code)
    }

    /// As [`Wire::receive`], of doubles as bytes.
    #[inline]
    pub fn receive_doubles(&self, data: &mut [f64], from: Rank, tag: Tag) -> Result<(), MpiError> {
        let bytes = count(size_of_val(data));
        // SAFETY: pointer and count describe `data`, which is borrowed mutably until the call returns, and of which any
        // bytes are valid; the status is MPI's own constant for "not wanted".
        let code = unsafe {
            let (pointer, ignored) = (data.as_mut_ptr().cast(), ffi::RSMPI_STATUS_IGNORE);
            ffi::MPI_Recv(pointer, bytes, self.byte, rank(from), tag, self.raw, ignored)
        };
        check("MPI_Recv", code)
    }

    /// Begins to send without blocking, calls `begun`, and waits until it is done.
    #[inline]
    pub fn send_and_then(&self, data: &[u8], to: Rank, tag: Tag, begun: impl FnOnce()) -> Result<(), MpiError> {
        // SAFETY: `data` is borrowed until the request is complete, which is so on return; after an error the job ends.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (pointer, length) = (data.as_ptr().cast(), count(data.len()));
            let code = ffi::MPI_Isend(pointer, length, self.byte, rank(to), tag, self.raw, &mut request);
            begun();
            check("MPI_Isend", code)?;
            check("MPI_Wait", ffi::MPI_Wait(&mut request, ffi::RSMPI_STATUS_IGNORE))
        }
    }

    /// Whether a message has come that could be received.
    pub fn is_there(&self, from: Rank, tag: Tag) -> Result<bool, MpiError> {
        let mut come: c_int = 0;
        // SAFETY: the flag lives on this stack frame; the status is MPI's own constant for "not wanted".
        let code = unsafe { ffi::MPI_Iprobe(rank(from), tag, self.raw, &mut come, ffi::RSMPI_STATUS_IGNORE) };
        check("MPI_Iprobe", code)?;
        Ok(come != 0)
    }

    /// Waits for an empty message while `go_on` says so; `Ok(false)` where it gave up and none will be taken any more.
    pub fn receive_while(&self, from: Rank, tag: Tag, mut go_on: impl FnMut() -> bool) -> Result<bool, MpiError> {
        // SAFETY: an empty message is received into no memory, so that even a request that an error leaves behind harms
        // nobody; handle, flags and status live on this stack frame, and all zeros is a valid MPI_Status.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let code = ffi::MPI_Irecv(std::ptr::null_mut(), 0, self.byte, rank(from), tag, self.raw, &mut request);
            check("MPI_Irecv", code)?;
            loop {
                let mut done: c_int = 0;
                check("MPI_Test", ffi::MPI_Test(&mut request, &mut done, ffi::RSMPI_STATUS_IGNORE))?;
                if done != 0 {
                    return Ok(true);
                }
                if !go_on() {
                    break;
                }
            }
            check("MPI_Cancel", ffi::MPI_Cancel(&mut request))?;
            let mut status: ffi::MPI_Status = std::mem::zeroed();
            check("MPI_Wait", ffi::MPI_Wait(&mut request, &mut status))?;
            // A message that came in between has been received all the same.
            let mut cancelled: c_int = 0;
            check("MPI_Test_cancelled", ffi::MPI_Test_cancelled(&status, &mut cancelled))?;
            Ok(cancelled == 0)
        }
    }

    /// Sends to one rank while receiving as much from another.
    #[inline]
    pub fn shift(&self, out: &[u8], to: Rank, into: &mut [u8], from: Rank, tag: Tag) -> Result<(), MpiError> {
        // SAFETY: pointers and counts describe `out` and `into`, which are borrowed until the call returns.
        let code = unsafe {
            ffi::MPI_Sendrecv(
                out.as_ptr().cast(),
                count(out.len()),
                self.byte,
                rank(to),
                tag,
                into.as_mut_ptr().cast(),
                count(into.len()),
                self.byte,
                rank(from),
                tag,
                self.raw,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        check("MPI_Sendrecv", code)
    }

    /// Exchanges empty messages: when it returns, the other has come here too.
    pub fn meet(&self, other: Rank, tag: Tag) -> Result<(), MpiError> {
        self.shift(&[], other, &mut [], other, tag)
    }

    /// Takes an empty message if one has come.
    pub fn try_receive(&self, from: Rank, tag: Tag) -> Result<bool, MpiError> {
        let come = self.is_there(from, tag)?;
        if come {
            self.receive(&mut [], from, tag)?;
        }
        Ok(come)
    }

    /// Sends and receives at once without blocking; `received` is called as soon as `into` is complete, and the
    /// function returns when `out` is, too.
    #[inline]
    pub fn swap(
        &self,
        out: &[u8],
        into: &mut [u8],
        other: Rank,
        tag: Tag,
        received: impl FnOnce(),
    ) -> Result<(), MpiError> {
        // SAFETY: `out` and `into` are borrowed until both requests are complete, which is so before each return that
        // follows a successful start. After an error MPI promises nothing: the caller never frees them
        // (`Traffic::close`).
        unsafe {
            let (mut incoming, mut outgoing) = (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_REQUEST_NULL);
            let (pointer, length) = (into.as_mut_ptr().cast(), count(into.len()));
            let code = ffi::MPI_Irecv(pointer, length, self.byte, rank(other), tag, self.raw, &mut incoming);
            check("MPI_Irecv", code)?;
            let (pointer, length) = (out.as_ptr().cast(), count(out.len()));
            let code = ffi::MPI_Isend(pointer, length, self.byte, rank(other), tag, self.raw, &mut outgoing);
            check("MPI_Isend", code)?;
            check("MPI_Wait", ffi::MPI_Wait(&mut incoming, ffi::RSMPI_STATUS_IGNORE))?;
            received();
            check("MPI_Wait", ffi::MPI_Wait(&mut outgoing, ffi::RSMPI_STATUS_IGNORE))
        }
    }

    /// Broadcasts `data` from `root`. Collective.
    #[inline]
    pub fn broadcast(&self, data: &mut [u8], root: Rank) -> Result<(), MpiError> {
        // SAFETY: pointer and count describe `data`, which is borrowed mutably until the call returns.
        let code =
            unsafe { ffi::MPI_Bcast(data.as_mut_ptr().cast(), count(data.len()), self.byte, rank(root), self.raw) };
        check("MPI_Bcast", code)
    }

    /// Returns when all ranks have come here. Collective.
    pub fn barrier(&self) -> Result<(), MpiError> {
        // SAFETY: `raw` is a live communicator.
        check("MPI_Barrier", unsafe { ffi::MPI_Barrier(self.raw) })
    }
}

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
            // (a buffer's heap block stays where it is) and is shown to nobody before `swap` has completed all requests.
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
        // complete, which is so before each return that follows successful starts; the arrays are as long as the calls
        // are told. After an error MPI promises nothing: the whole job is ended at once (`Ensemble::round`).
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
        let (length, from) = (count(data.len()), rank(from));
        // SAFETY: `data` is borrowed mutably until the flush has completed the operation; MPI checks the bounds.
        unsafe {
            let pointer = data.as_mut_ptr().cast();
            check("MPI_Get", ffi::MPI_Get(pointer, length, self.byte, from, 0, length, self.byte, self.raw))?;
            check("MPI_Win_flush", ffi::MPI_Win_flush(from, self.raw))
        }
    }

    /// Reads from `offset` bytes behind the beginning of the other rank's memory; `data` is complete on return.
    #[inline]
    pub fn get_at(&self, data: &mut [u8], from: Rank, offset: usize) -> Result<(), MpiError> {
        let (length, from) = (count(data.len()), rank(from));
        // SAFETY: as for `get`.
        unsafe {
            let (pointer, offset) = (data.as_mut_ptr().cast(), offset as ffi::MPI_Aint);
            check("MPI_Get", ffi::MPI_Get(pointer, length, self.byte, from, offset, length, self.byte, self.raw))?;
            check("MPI_Win_flush", ffi::MPI_Win_flush(from, self.raw))
        }
    }

    /// Makes `data` what others read from the beginning of this rank's memory. Nobody may be accessing it.
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

/// Exports a C `main` that hands its arguments to `$run` and returns its exit code: SimGrid, which loads the program as
/// a library, calls it for every rank. `std::env::args` would show the simulator's own arguments there.
#[allow(unused_macros, reason = "an ordinary program has its main from Rust")]
macro_rules! export_main {
    ($run:path) => {
        use std::{
            ffi::{CStr, OsStr, OsString, c_char, c_int},
            os::unix::ffi::OsStrExt,
        };

        // SAFETY: nothing else in this library is called `main`.
        #[unsafe(no_mangle)]
        extern "C" fn main(count: c_int, values: *const *const c_char) -> c_int {
            let argument = |place: usize| -> OsString {
                // SAFETY: C promises `count` strings, each ended by a zero, which nobody changes meanwhile.
                let bytes = unsafe { CStr::from_ptr(*values.add(place)) }.to_bytes();
                OsStr::from_bytes(bytes).to_owned()
            };
            let arguments: Vec<_> = (0..usize::try_from(count).unwrap_or(0)).map(argument).collect();
            c_int::from($run(&arguments))
        }
    };
}
#[allow(unused_imports, reason = "as above")]
pub(crate) use export_main;

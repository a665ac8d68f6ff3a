//! The only unsafe code of the program: MPI calls whose return codes are checked.
//!
//! rsmpi's own calls drop the return code, because errors end the program by default. On the communicator of a
//! [`Wire`] they do not: a failed exchange becomes a missing cell. What is timed goes through here, control messages
//! between exchanges included; collective bookkeeping uses rsmpi and still ends the program on errors.
//!
//! Here: messages between two ranks, and collective calls. `requests` has exchanges with several ranks at once,
//! `window` one-sided access. Every function blocks until MPI has let go of the buffers that it was given, so no borrow
//! outlives a call; what that means after an error is said where it matters.

#![allow(unsafe_code)]

mod requests;
mod window;

use std::ffi::c_int;

use mpi::{
    ffi,
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::{Communicator, Equivalence},
};
use netmatrix::units::Rank;

pub use self::{
    requests::{Crowd, Few, Many},
    window::Window,
};
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

/// Exports a clock of MPI that this library uses instead of the simulator's own, which is one for all ranks, and how
/// its time passes: that of each rank is three seconds ahead of the one before, and those of odd ranks gain as many
/// seconds per second as `$variable`, an environment variable, says. Where it is not set, the clock is the simulator's.
#[allow(unused_macros, reason = "as above")]
macro_rules! export_clock {
    ($variable:literal) => {
        #[unsafe(no_mangle)]
        // SAFETY: it takes the place of MPI's function of this name, and has its signature.
        extern "C" fn MPI_Wtime() -> f64 {
            // Every rank has its own copy of the library.
            static CLOCK: std::sync::OnceLock<(f64, f64)> = std::sync::OnceLock::new();
            let (ahead, gain) = *CLOCK.get_or_init(|| {
                let gain = std::env::var($variable).ok().and_then(|text| text.parse::<f64>().ok());
                let Some(gain) = gain else { return (0.0, 0.0) };
                let mut me = 0;
                // SAFETY: reads a constant of the MPI library and writes one integer; the clock is read while MPI runs.
                unsafe { ::mpi::ffi::PMPI_Comm_rank(::mpi::ffi::RSMPI_COMM_WORLD, &mut me) };
                (3.0 * f64::from(me), if me % 2 == 1 { gain } else { 0.0 })
            });
            // SAFETY: takes nothing, and MPI runs.
            let time = unsafe { ::mpi::ffi::PMPI_Wtime() };
            time + gain * time + ahead
        }

        /// Seconds that pass for this rank: each reading of a clock that nothing else waits for is an event to
        /// simulate.
        fn pass(seconds: f64) {
            unsafe extern "C" {
                fn sg_actor_sleep_for(seconds: f64);
            }
            // SAFETY: takes a number of seconds above 0; its caller is a rank, which the simulator calls an actor.
            unsafe { sg_actor_sleep_for(seconds) }
        }
    };
}
#[allow(unused_imports, reason = "as above")]
pub(crate) use export_clock;

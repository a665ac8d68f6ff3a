//! all_to_all: every rank sends to every rank, itself included, without blocking, and takes what comes first.
//!
//! A cell is the time from the destination's first send to the arrival from the source. Receives are posted before all
//! meet, so that no message is unexpected. Every rank begins with the one after it, so that no rank is everybody's
//! first; messages that are found complete at the same time have the same time.

use netmatrix::units::Rank;

use crate::watchdog::Arrivals;

use super::{
    buffer::Buffer,
    collective::{Collective, Meeting, Message},
    ffi::{Crowd, MpiError, Wire},
    pair::MESSAGE,
};

/// The exchange of the mode all_to_all.
pub(super) struct AllToAll(Crowd);

impl AllToAll {
    /// With room for a message of `longest` bytes from every rank. The error is the number of bytes that are not there.
    pub(super) fn new(ranks: usize, longest: usize) -> Result<Self, u64> {
        Ok(Self(Crowd::new(ranks, Buffer::touched(ranks.saturating_mul(longest), 0xaa)?)))
    }
}

impl Collective for AllToAll {
    fn before(&mut self, wire: &Wire, length: usize) -> Result<(), MpiError> {
        self.0.open(wire, length, MESSAGE)
    }

    fn exchange(&mut self, wire: &Wire, message: &mut Message<'_>, arrivals: &Arrivals) -> Result<(), MpiError> {
        let start = mpi::time();
        self.0.swap(wire, message.me, message.data, MESSAGE, |sources| {
            let time = mpi::time() - start;
            sources.iter().for_each(|source| arrivals.set(*source as usize, time));
        })
    }

    fn come_from<'a>(&'a mut self, _message: &'a mut Message<'_>, source: Rank) -> &'a mut [u8] {
        self.0.come_from(source)
    }

    fn meeting(&self) -> Meeting {
        Meeting::Barrier
    }
}

//! all_to_all: every rank sends to every rank, itself included, without blocking, and takes what comes first.
//!
//! A cell is the time from the destination's first send to the arrival from the source.

use netmatrix::units::Rank;

use super::{
    buffer::Buffer,
    collective::{Collective, Message},
    ffi::{MpiError, Requests, Wire},
    pair::MESSAGE,
};

/// The exchange of the mode all_to_all.
pub(super) struct AllToAll {
    requests: Requests,
    /// `[source][byte]`, with room for the longest message from every rank.
    into: Buffer,
}

impl AllToAll {
    /// With room for a message of `longest` bytes from every rank. The error is the number of bytes that are not there.
    pub(super) fn new(ranks: usize, longest: usize) -> Result<Self, u64> {
        Ok(Self { requests: Requests::new(ranks), into: Buffer::touched(ranks.saturating_mul(longest), 0xaa)? })
    }
}

impl Collective for AllToAll {
    fn exchange(&mut self, wire: &Wire, message: &mut Message<'_>, arrivals: &mut [f64]) -> Result<(), MpiError> {
        let into = &mut self.into[..message.data.len() * self.requests.ranks()];
        let start = mpi::time();
        self.requests.swap_with_all(wire, message.data, into, MESSAGE, |source| arrivals[source] = mpi::time() - start)
    }

    fn come_from<'a>(&'a mut self, message: &'a mut Message<'_>, source: Rank) -> &'a mut [u8] {
        let length = message.data.len();
        &mut self.into[source * length..][..length]
    }

    fn barriers(&self) -> usize {
        1
    }
}

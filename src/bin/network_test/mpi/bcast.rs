//! bcast: one rank broadcasts to all.
//!
//! A cell is the time from the common start to the return at the destination; that of the root to itself is the time
//! after which the root goes on. How the common start comes about, and how well it is known, is said in `collective`.

use netmatrix::units::Rank;

use crate::watchdog::Arrivals;

use super::{
    collective::{Collective, Meeting, Message},
    ffi::{MpiError, Wire},
};

/// The exchange of the mode bcast.
pub(super) struct Bcast;

impl Collective for Bcast {
    fn exchange(&mut self, wire: &Wire, message: &mut Message<'_>, arrivals: &Arrivals) -> Result<(), MpiError> {
        let root = message.root.unwrap_or(message.me);
        let start = mpi::time();
        wire.broadcast(message.data, root)?;
        arrivals.set(root, mpi::time() - start);
        message.began = start;
        Ok(())
    }

    fn come_from<'a>(&'a mut self, message: &'a mut Message<'_>, _source: Rank) -> &'a mut [u8] {
        message.data
    }

    fn meeting(&self) -> Meeting {
        Meeting::Together
    }
}

//! get: the source reads from the destination's memory; the destination's program does nothing.
//!
//! The window lasts for the run and is open all the time, so that neither its creation nor an epoch is in the time.

use super::{
    ffi::{MpiError, Window},
    pair::{DONE, Exchange, Link},
};

/// The exchange of the mode get.
pub(super) struct Get(pub(super) Window);

impl Exchange for Get {
    fn timed(&mut self, link: &mut Link<'_>, count: usize, times: &mut Vec<f64>) -> Result<(), MpiError> {
        for _ in 0..count {
            let start = mpi::time();
            self.0.get(link.into, link.other)?;
            times.push(mpi::time() - start);
        }
        link.wire.send(&[], link.other, DONE)
    }

    /// Stays out of the way until the other is done: its own turn would disturb.
    fn answering(&mut self, link: &mut Link<'_>, _count: usize) -> Result<(), MpiError> {
        link.wire.receive(&mut [], link.other, DONE)
    }

    /// What can be read is what would be sent.
    fn before_checked(&mut self, link: &mut Link<'_>) -> Result<(), MpiError> {
        self.0.expose(link.out)
    }

    fn close(self: Box<Self>) -> Result<(), MpiError> {
        self.0.close()
    }
}

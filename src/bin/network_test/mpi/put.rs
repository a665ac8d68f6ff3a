//! put: the source writes into the destination's memory and waits until it is complete there; the destination's
//! program does nothing.
//!
//! The window lasts for the run and is open all the time, so that neither its creation nor an epoch is in the time.

use super::{
    ffi::{MpiError, Window},
    pair::{DONE, Exchange, Link, Sender},
};

/// The exchange of the mode put.
pub(super) struct Put(pub(super) Window);

impl Exchange for Put {
    fn timed(&mut self, link: &mut Link<'_>, count: usize, times: &mut Vec<f64>) -> Result<(), MpiError> {
        for _ in 0..count {
            let start = mpi::time();
            self.0.put(link.out, link.other)?;
            times.push(mpi::time() - start);
        }
        link.wire.send(&[], link.other, DONE)
    }

    /// Stays out of the way until the other is done: its own turn would disturb.
    fn answering(&mut self, link: &mut Link<'_>, _count: usize) -> Result<(), MpiError> {
        link.wire.receive(&mut [], link.other, DONE)
    }

    /// What was written is read back.
    fn after_checked(&mut self, link: &mut Link<'_>) -> Result<(), MpiError> {
        self.0.get(link.into, link.other)
    }

    fn arrives_from(&self) -> Sender {
        Sender::Me
    }

    fn close(self: Box<Self>) -> Result<(), MpiError> {
        self.0.close()
    }
}

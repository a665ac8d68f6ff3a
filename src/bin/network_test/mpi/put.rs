//! put: the source writes into the destination's memory and waits until it is complete there; the destination's
//! program does nothing.
//!
//! The window lasts for the run and is open all the time, so that neither its creation nor an epoch is in the time.

use super::{
    ffi::{MpiError, Window},
    pair::{Exchange, Link, Sender},
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
        Ok(())
    }

    fn answering(&mut self, _link: &mut Link<'_>, _count: usize) -> Result<(), MpiError> {
        Ok(())
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

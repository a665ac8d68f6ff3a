//! one_to_one: the source sends, the destination receives, both blocking.
//!
//! The receiver announces that it is ready and clocks until the message is complete. The announcement's way is inside
//! this time; `--timing transfer` takes it off afterwards. On synchronised clocks the source's start counts instead.

use super::{
    ffi::MpiError,
    pair::{ANNOUNCEMENT, Exchange, Link, MESSAGE},
};

/// The exchange of the mode one_to_one.
pub(super) struct OneToOne;

impl Exchange for OneToOne {
    fn timed(&mut self, link: &mut Link<'_>, count: usize, times: &mut Vec<f64>) -> Result<(), MpiError> {
        for _ in 0..count {
            let start = mpi::time();
            link.wire.send(&[], link.other, ANNOUNCEMENT)?;
            link.wire.receive(link.into, link.other, MESSAGE)?;
            times.push(mpi::time() - start);
        }
        Ok(())
    }

    fn answering(&mut self, link: &mut Link<'_>, count: usize) -> Result<(), MpiError> {
        for _ in 0..count {
            link.wire.receive(&mut [], link.other, ANNOUNCEMENT)?;
            link.wire.send(link.out, link.other, MESSAGE)?;
        }
        Ok(())
    }

    fn arriving(&mut self, link: &mut Link<'_>, count: usize, ends: &mut Vec<f64>) -> Result<(), MpiError> {
        for _ in 0..count {
            link.wire.send(&[], link.other, ANNOUNCEMENT)?;
            link.wire.receive(link.into, link.other, MESSAGE)?;
            ends.push(mpi::time());
        }
        Ok(())
    }

    fn starting(&mut self, link: &mut Link<'_>, count: usize, starts: &mut Vec<f64>) -> Result<(), MpiError> {
        for _ in 0..count {
            link.wire.receive(&mut [], link.other, ANNOUNCEMENT)?;
            starts.push(mpi::time());
            link.wire.send(link.out, link.other, MESSAGE)?;
        }
        Ok(())
    }
}

//! async_one_to_one: both ranks send to each other at once, without blocking.
//!
//! Both meet before the clock is read: who comes to an exchange has the other's message of the one before, so without
//! it one direction's slowness would be in the time of the other. Then each announces that it is ready, and sends once
//! it knows that the other is; each clocks until it has the other's message. One exchange gives the cells of both
//! directions, so their errors are correlated.

use super::{
    ffi::MpiError,
    pair::{ANNOUNCEMENT, Exchange, Link, MEETING, MESSAGE},
};

/// The exchange of the mode async_one_to_one.
pub(super) struct AsyncOneToOne;

impl Exchange for AsyncOneToOne {
    fn timed(&mut self, link: &mut Link<'_>, count: usize, times: &mut Vec<f64>) -> Result<(), MpiError> {
        for _ in 0..count {
            link.wire.meet(link.other, MEETING)?;
            let start = mpi::time();
            link.wire.meet(link.other, ANNOUNCEMENT)?;
            link.wire.swap(link.out, link.into, link.other, MESSAGE, || times.push(mpi::time() - start))?;
        }
        Ok(())
    }

    fn arriving_and_starting(
        &mut self,
        link: &mut Link<'_>,
        count: usize,
        starts: &mut Vec<f64>,
        ends: &mut Vec<f64>,
    ) -> Result<(), MpiError> {
        for _ in 0..count {
            link.wire.meet(link.other, ANNOUNCEMENT)?;
            starts.push(mpi::time());
            link.wire.swap(link.out, link.into, link.other, MESSAGE, || ends.push(mpi::time()))?;
        }
        Ok(())
    }
}

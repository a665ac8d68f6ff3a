//! send_recv_and_recv_send: a round trip. The source sends, the destination returns it, both blocking.

use super::{
    ffi::MpiError,
    pair::{Exchange, Link, MESSAGE, Sender},
};

/// The exchange of the mode send_recv_and_recv_send.
pub(super) struct RoundTrip;

impl Exchange for RoundTrip {
    fn timed(&mut self, link: &mut Link<'_>, count: usize, times: &mut Vec<f64>) -> Result<(), MpiError> {
        for _ in 0..count {
            let start = mpi::time();
            link.wire.send(link.out, link.other, MESSAGE)?;
            link.wire.receive(link.into, link.other, MESSAGE)?;
            times.push(mpi::time() - start);
        }
        Ok(())
    }

    fn answering(&mut self, link: &mut Link<'_>, count: usize) -> Result<(), MpiError> {
        for _ in 0..count {
            link.wire.receive(link.into, link.other, MESSAGE)?;
            link.wire.send(link.into, link.other, MESSAGE)?;
        }
        Ok(())
    }

    fn arrives_from(&self) -> Sender {
        Sender::Me
    }
}

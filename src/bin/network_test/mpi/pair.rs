//! What two ranks exchange: the trait that each pair mode implements in a file of its own.

use super::ffi::{MpiError, Tag, Wire};
use netmatrix::units::Rank;

/// "I am ready."
pub(super) const ANNOUNCEMENT: Tag = 16;
/// The message itself.
pub(super) const MESSAGE: Tag = 17;

/// Both have come, and nothing of an earlier exchange is under way.
pub(super) const MEETING: Tag = 15;

/// "I have finished my exchanges", where the other side would not notice.
pub(super) const DONE: Tag = 29;

/// The way to the other rank of a pair, with messages of one length.
pub(super) struct Link<'a> {
    pub(super) wire: &'a Wire,
    pub(super) other: Rank,
    /// What is sent, as long as the message.
    pub(super) out: &'a [u8],
    /// Where it is received, as long as the message.
    pub(super) into: &'a mut [u8],
}

/// Who has made the payload that arrives at the side whose clock measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// The other rank.
    Other,
    /// This rank: it gets back what it sent.
    Me,
}

/// What is exchanged in a mode between the two ranks of a pair. The loops are inside, so that nothing but MPI calls
/// stands between two readings of the clock; vectors have room for what is appended to them.
pub(super) trait Exchange {
    /// Carries out `count` exchanges on the side whose clock measures, and appends the time of each, in seconds.
    /// Symmetric modes are measured on both sides at once.
    fn timed(&mut self, link: &mut Link<'_>, count: usize, times: &mut Vec<f64>) -> Result<(), MpiError>;

    /// The other side's part of `count` exchanges.
    fn answering(&mut self, _link: &mut Link<'_>, _count: usize) -> Result<(), MpiError> {
        unreachable!("symmetric modes have no answering side")
    }

    /// As `timed`, but appends when each message was complete on this rank's clock.
    fn arriving(&mut self, _link: &mut Link<'_>, _count: usize, _ends: &mut Vec<f64>) -> Result<(), MpiError> {
        unreachable!("only one-way modes are timed on synchronised clocks")
    }

    /// As `answering`, but appends when each message was sent on this rank's clock.
    fn starting(&mut self, _link: &mut Link<'_>, _count: usize, _starts: &mut Vec<f64>) -> Result<(), MpiError> {
        unreachable!("only one-way modes are timed on synchronised clocks")
    }

    /// `arriving` and `starting` of symmetric modes.
    fn arriving_and_starting(
        &mut self,
        _link: &mut Link<'_>,
        _count: usize,
        _starts: &mut Vec<f64>,
        _ends: &mut Vec<f64>,
    ) -> Result<(), MpiError> {
        unreachable!("only symmetric modes send and receive at once")
    }

    /// Called on both sides before an exchange whose payload is checked.
    fn before_checked(&mut self, _link: &mut Link<'_>) -> Result<(), MpiError> {
        Ok(())
    }

    /// Called on the side whose clock measures after an exchange whose payload is checked.
    fn after_checked(&mut self, _link: &mut Link<'_>) -> Result<(), MpiError> {
        Ok(())
    }

    /// Whose payload is in `into` after an exchange.
    fn arrives_from(&self) -> Sender {
        Sender::Other
    }

    /// Gives back what lasts for a run. Collective.
    fn close(self: Box<Self>) -> Result<(), MpiError> {
        Ok(())
    }
}

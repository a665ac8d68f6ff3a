//! Broadcasts over send and receive: from process 0 to one after the other, or along the dimensions of a hypercube.

use netmatrix::plan::operation::steps;

use super::{
    super::{
        buffer::Buffer,
        ffi::{MpiError, Tag},
    },
    Carried, Stage, mark,
};

const TAG: Tag = 43;

/// A broadcast of one length.
pub(super) struct Broadcast {
    from: Option<usize>,
    to: Vec<usize>,
    data: Buffer,
}

impl Broadcast {
    /// The error is the number of bytes that are not there.
    pub(super) fn new(naive: bool, stage: &Stage<'_>, length: usize) -> Result<Self, u64> {
        let (from, to) = steps::broadcast(stage.procs, stage.me, naive);
        Ok(Self { from, to, data: Buffer::touched(length, 0)? })
    }
}

impl Carried for Broadcast {
    fn before(&mut self, _stage: &Stage<'_>) -> Result<(), MpiError> {
        self.data.fill(if self.from.is_none() { mark(0, 0) } else { 0 });
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        if let Some(from) = self.from {
            stage.wire.receive(&mut self.data, from, TAG)?;
        }
        self.to.iter().try_for_each(|to| stage.wire.send(&self.data, *to, TAG))
    }

    fn is_right(&mut self, _stage: &Stage<'_>) -> bool {
        self.data.iter().all(|byte| *byte == mark(0, 0))
    }
}

//! Circular shift: every process sends a block to the process q further, and receives one from the process q before.

use super::{
    super::{
        buffer::Buffer,
        ffi::{MpiError, Tag},
    },
    Carried, Stage, mark,
};

const TAG: Tag = 41;

/// A shift by `distance` of blocks of one length.
pub(super) struct Shift {
    distance: usize,
    out: Buffer,
    into: Buffer,
}

impl Shift {
    /// The error is the number of bytes that are not there.
    pub(super) fn new(distance: usize, stage: &Stage<'_>, length: usize) -> Result<Self, u64> {
        let out = Buffer::touched(length, mark(stage.me, 0))?;
        Ok(Self { distance: distance % stage.procs, out, into: Buffer::touched(length, 0)? })
    }

    fn source(&self, stage: &Stage<'_>) -> usize {
        (stage.me + stage.procs - self.distance) % stage.procs
    }
}

impl Carried for Shift {
    fn before(&mut self, _stage: &Stage<'_>) -> Result<(), MpiError> {
        self.into.fill(0);
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        let (to, from) = ((stage.me + self.distance) % stage.procs, self.source(stage));
        stage.wire.shift(&self.out, to, &mut self.into, from, TAG)
    }

    fn is_right(&mut self, stage: &Stage<'_>) -> bool {
        let expected = mark(self.source(stage), 0);
        self.into.iter().all(|byte| *byte == expected)
    }
}

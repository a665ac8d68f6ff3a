//! All-to-all in rounds: in round r process i exchanges its block with process i xor r.

use netmatrix::plan::operation::steps;

use super::{
    super::{
        buffer::Buffer,
        ffi::{MpiError, Tag},
    },
    Carried, Stage, mark,
};

const TAG: Tag = 42;

/// An exchange of blocks of one length.
pub(super) struct Pairwise {
    length: usize,
    others: Vec<usize>,
    /// `[destination][byte]`.
    out: Buffer,
    /// `[source][byte]`.
    into: Buffer,
}

impl Pairwise {
    /// The error is the number of bytes that are not there.
    pub(super) fn new(stage: &Stage<'_>, length: usize) -> Result<Self, u64> {
        let mut out = Buffer::touched(stage.procs * length, 0)?;
        out.chunks_mut(length.max(1)).enumerate().for_each(|(to, block)| block.fill(mark(stage.me, to)));
        let others = steps::pairwise(stage.procs, stage.me).collect();
        Ok(Self { length, others, out, into: Buffer::touched(stage.procs * length, 0)? })
    }
}

impl Carried for Pairwise {
    fn before(&mut self, _stage: &Stage<'_>) -> Result<(), MpiError> {
        self.into.fill(0);
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        let block = |process: usize| process * self.length..(process + 1) * self.length;
        self.into[block(stage.me)].copy_from_slice(&self.out[block(stage.me)]);
        for &other in &self.others {
            stage.wire.shift(&self.out[block(other)], other, &mut self.into[block(other)], other, TAG)?;
        }
        Ok(())
    }

    fn is_right(&mut self, stage: &Stage<'_>) -> bool {
        let blocks = self.into.chunks(self.length.max(1)).enumerate();
        blocks.into_iter().all(|(from, block)| block.iter().all(|byte| *byte == mark(from, stage.me)))
    }
}

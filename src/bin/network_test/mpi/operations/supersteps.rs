//! A program of supersteps: work as loops that last as long as it says, and real messages.
//!
//! A process begins its next step when it has what others send it in this one, and what it sends itself is on its way;
//! there is no barrier between steps.

use std::ops::Range;

use netmatrix::plan::program::Program;

use super::{
    super::{
        buffer::Buffer,
        clock::wait_until,
        ffi::{Many, MpiError, Tag},
    },
    Carried, Stage, mark,
};

/// Tag of the first step; the others follow, and begin again before MPI's least upper bound.
const FIRST_TAG: Tag = 1000;
const TAGS: usize = 16_384;

/// One process's part of a program.
pub(super) struct Supersteps {
    steps: Vec<OwnStep>,
    out: Buffer,
    into: Buffer,
}

struct OwnStep {
    /// Seconds.
    work: f64,
    /// Process and its piece of `into`.
    receives: Vec<(usize, Range<usize>)>,
    many: Many,
}

impl Supersteps {
    /// The error is the number of bytes that are not there.
    pub(super) fn new(program: &Program, stage: &Stage<'_>) -> Result<Self, u64> {
        let (mut steps, mut longest, mut room) = (Vec::new(), 0, 0_usize);
        for step in &program.steps {
            let (mut sends, mut receives) = (Vec::new(), Vec::new());
            for message in &step.messages {
                let bytes = usize::try_from(message.packets.saturating_mul(program.packet.0)).unwrap_or(usize::MAX);
                if message.source == stage.me {
                    longest = longest.max(bytes);
                    sends.push((message.destination, 0..bytes));
                }
                if message.destination == stage.me {
                    receives.push((message.source, room..room.saturating_add(bytes)));
                    room = room.saturating_add(bytes);
                }
            }
            let many = Many::new(sends, receives.clone());
            steps.push(OwnStep { work: step.work[stage.me], receives, many });
        }
        Ok(Self { steps, out: Buffer::touched(longest, mark(stage.me, 0))?, into: Buffer::touched(room, 0)? })
    }
}

impl Carried for Supersteps {
    fn before(&mut self, _stage: &Stage<'_>) -> Result<(), MpiError> {
        self.into.fill(0);
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        for (number, step) in self.steps.iter_mut().enumerate() {
            wait_until(mpi::time() + step.work);
            let tag = FIRST_TAG + (number % TAGS) as Tag;
            step.many.exchange(stage.wire, &self.out, &mut self.into, tag)?;
        }
        Ok(())
    }

    fn is_right(&mut self, _stage: &Stage<'_>) -> bool {
        let all =
            |(from, piece): &(usize, Range<usize>)| self.into[piece.clone()].iter().all(|byte| *byte == mark(*from, 0));
        self.steps.iter().flat_map(|step| &step.receives).all(all)
    }
}

//! Noise: messages among ranks that are not in the pair, before, during and after its whole measurement.
//!
//! In each step every noise rank sends m messages of length l to each of the others, all at once, as in network_tests2,
//! or with `--noise-pattern ring` to the next one only. The noise ranks stand in a ring: the pair's leader starts them,
//! waits until each has finished a step, lets the pair be measured, ends them, and waits until all are silent. The end
//! travels round the ring in a flag next to the noise: who hears of it knows from its place how many more steps
//! everybody makes, so nobody waits for a message that does not come. A single noise rank sends to itself.

use netmatrix::{
    plan::{NoisePattern, Plan},
    record::Phase,
    units::Rank,
};

use super::{
    buffer::Buffer,
    ffi::{Few, MpiError, Tag, Wire},
};

/// Noise rank to leader: a step is done.
const NOISY: Tag = 24;
/// Leader to the first noise rank: enough.
const HUSH: Tag = 25;
/// Noise rank to leader: silent.
const SILENT: Tag = 26;
/// The noise itself.
const NOISE: Tag = 27;
/// Whether the end has been announced.
const FLAG: Tag = 28;

/// Noise messages and their buffers, which last for a run.
pub(super) struct NoiseMaker {
    messages: u32,
    out: Buffer,
    into: Buffer,
    /// For the pattern in which everybody sends to everybody.
    few: Option<Few>,
}

impl NoiseMaker {
    /// With buffers, touched. The error is the number of bytes that are not there.
    pub(super) fn new(plan: &Plan) -> Result<Self, u64> {
        let noise = plan.config.noise;
        let length = if plan.mode.has_noise() { noise.length.0 as usize } else { 0 };
        let all = plan.mode.has_noise() && plan.config.noise_pattern == NoisePattern::All && noise.processes > 1;
        let few = || -> Result<Few, u64> {
            Ok(Few::new(noise.processes - 1, Buffer::touched((noise.processes - 1).saturating_mul(length), 0xaa)?))
        };
        Ok(Self {
            messages: noise.messages,
            out: Buffer::touched(length, 0x55)?,
            into: Buffer::touched(length, 0xaa)?,
            few: all.then(few).transpose()?,
        })
    }

    /// Makes noise among `ring`, of which `me` is one, until `leader` has enough.
    pub(super) fn make(&mut self, wire: &Wire, me: Rank, ring: &[Rank], leader: Rank) -> Result<(), MpiError> {
        let place = ring.iter().position(|rank| *rank == me).expect("only noise ranks make noise");
        let next = ring[(place + 1) % ring.len()];
        let previous = ring[(place + ring.len() - 1) % ring.len()];
        let mut announced = false;
        // Steps to go once the end is known: the flag needs one step per rank to go round.
        let mut left = None;
        let mut first = true;
        while left != Some(0) {
            wire.watch.enter(Phase::Noise, Some(previous));
            for _ in 0..self.messages {
                match &mut self.few {
                    Some(few) => few.swap(wire, ring.iter().copied().filter(|rank| *rank != me), &self.out, NOISE)?,
                    None => wire.shift(&self.out, next, &mut self.into, previous, NOISE)?,
                }
            }
            if place == 0 && !announced && !first && wire.try_receive(leader, HUSH)? {
                announced = true;
                left = Some(ring.len());
            }
            let mut heard = [0];
            wire.shift(&[u8::from(announced)], next, &mut heard, previous, FLAG)?;
            left = left.map(|left| left - 1);
            if heard[0] == 1 && !announced {
                announced = true;
                left = Some(ring.len() - place);
            }
            if first {
                wire.send(&[], leader, NOISY)?;
                first = false;
            }
        }
        wire.send(&[], leader, SILENT)
    }
}

/// The leader's part before the measurement: returns when everybody in `ring` makes noise.
pub(super) fn wait_until_noisy(wire: &Wire, ring: &[Rank]) -> Result<(), MpiError> {
    ring.iter().try_for_each(|rank| {
        wire.watch.enter(Phase::Noise, Some(*rank));
        wire.receive(&mut [], *rank, NOISY)
    })
}

/// The leader's part after the measurement: returns when everybody in `ring` is silent.
pub(super) fn hush(wire: &Wire, ring: &[Rank]) -> Result<(), MpiError> {
    if let Some(first) = ring.first() {
        wire.send(&[], *first, HUSH)?;
    }
    ring.iter().try_for_each(|rank| {
        wire.watch.enter(Phase::Noise, Some(*rank));
        wire.receive(&mut [], *rank, SILENT)
    })
}

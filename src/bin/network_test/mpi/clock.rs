//! Common time among ranks, after HCA3 (Hunold and Carpen-Amarie, "Hierarchical clock synchronization in MPI", 2018).
//!
//! In `log2(ranks)` steps ranks that know common time teach others, twice as many in each step. A teacher answers in
//! common time, so what is learned refers to the root directly, and the bounds of the teachers add up.

use std::{ops::Range, thread, time::Duration};

use mpi::{topology::SimpleCommunicator, traits::CommunicatorCollectives};
use netmatrix::{
    measure::{Bracket, ClockModel, Sync, smallest_step},
    units::Rank,
};

use super::{
    ROOT,
    ffi::{MpiError, Tag, Wire},
};

const PING: Tag = 21;
const PONG: Tag = 22;
const LESSON: Tag = 23;

/// Exchanges per lesson: the tightest of them decide, so more do not help for long.
const EXCHANGES: usize = 30;

/// Time between the first two synchronisations: the drift is known to about a microsecond per second after it.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Seconds between two synchronisations of a length, about: what drifts change meanwhile (1e-8 per second at most, see
/// [`ClockModel`]) moves a clock by 0.1 us from the line between them, less than any synchronisation is precise.
const PERIOD: f64 = 10.0;

/// This rank's clock.
///
/// Within a length the ranks synchronise again between two rounds whose numbers the root has chosen, so that nobody has
/// to be asked: whoever comes to a later round joins first. See [`Clock::keep_until`]. How fast rounds pass is known
/// from the parts of the length, at whose ends all meet: a rank that joins has often done its own rounds long before
/// the others.
#[derive(Debug, Default)]
pub(super) struct Clock {
    model: ClockModel,
    /// The first of the synchronisations that matter for the length at hand.
    first: usize,
    /// The round before which the ranks synchronise next.
    next: usize,
    /// The first round of the length, once there is one.
    start: Option<usize>,
    /// First round and time at the beginning of the part at hand.
    part: (usize, f64),
    /// Seconds that a round of the part before took, if there was one in this length.
    round: Option<f64>,
}

impl Clock {
    /// Common time at a reading of `mpi::time()`, in seconds.
    pub(super) fn global(&self, reading: f64) -> f64 {
        self.model.global(reading)
    }

    /// What `mpi::time()` gives at a common time, in seconds.
    pub(super) fn reading(&self, global: f64) -> f64 {
        self.model.reading(global)
    }

    /// By how much this clock is ahead of common time at a reading of it, in seconds.
    pub(super) fn offset(&self, reading: f64) -> f64 {
        self.model.offset(reading)
    }

    /// How far off common time may be on this rank now, in seconds.
    pub(super) fn bound(&self) -> f64 {
        self.bound_at(mpi::time())
    }

    /// How far off common time may be at a reading, in seconds.
    pub(super) fn bound_at(&self, reading: f64) -> f64 {
        self.model.bound(reading)
    }

    /// Learns common time twice, some time apart, so that the drift is known. Collective.
    pub(super) fn first_synchronise(&mut self, wire: &Wire, me: Rank, ranks: usize) -> Result<(), MpiError> {
        self.synchronise(wire, me, ranks)?;
        // Who learns waits for its teacher, and all lessons begin at the root.
        if me == ROOT {
            thread::sleep(FIRST_WAIT);
        }
        self.synchronise(wire, me, ranks)
    }

    /// Synchronises for a length. Collective.
    pub(super) fn begin_length(&mut self, wire: &Wire, me: Rank, ranks: usize) -> Result<(), MpiError> {
        // Until the first part begins there are no rounds.
        (self.start, self.next, self.round) = (None, 0, None);
        self.synchronise(wire, me, ranks)?;
        self.first = self.model.syncs().len().saturating_sub(1);
        self.model.forget_before(self.first);
        self.first = self.model.syncs().len().saturating_sub(1);
        Ok(())
    }

    /// These rounds of the length come next, and all ranks begin with them together. Behind the first of such parts all
    /// synchronise.
    pub(super) fn begin_part(&mut self, rounds: &Range<usize>) {
        let now = mpi::time();
        match self.start {
            None => (self.start, self.next) = (Some(rounds.start), rounds.end),
            Some(_) => self.round = Some((now - self.part.1).max(1e-9) / (rounds.start - self.part.0).max(1) as f64),
        }
        self.part = (rounds.start, now);
    }

    /// Joins in all synchronisations that are due before round number `round`. Every rank calls this before each of its
    /// rounds and at the end of the length, so all join in all of them, in the same order, and nobody has an earlier
    /// round left for which another one waits.
    pub(super) fn keep_until(&mut self, wire: &Wire, me: Rank, ranks: usize, round: usize) -> Result<(), MpiError> {
        while self.next <= round {
            if me == ROOT {
                let passed = (self.next - self.start.unwrap_or(0)).max(1);
                let wanted = self.round.map_or(passed, |round| (PERIOD / round) as usize);
                // The first rounds may have been quick ones.
                self.next += wanted.clamp(1, 8 * passed);
            }
            self.synchronise(wire, me, ranks)?;
        }
        Ok(())
    }

    /// The clocks of all ranks in the length that ends, with what is learned at its end. Collective.
    pub(super) fn end_length(
        &mut self,
        world: &SimpleCommunicator,
        wire: &Wire,
        me: Rank,
        ranks: usize,
        rounds: usize,
    ) -> Result<Vec<ClockModel>, MpiError> {
        self.keep_until(wire, me, ranks, rounds)?;
        self.synchronise(wire, me, ranks)?;
        let own = &self.model.syncs()[self.first..];
        // As many on all ranks but the root, which needs none.
        let count = super::largest(world, own.len() as u64) as usize;
        let mut numbers: Vec<f64> = own.iter().flat_map(|sync| [sync.at, sync.offset, sync.bound]).collect();
        numbers.resize(3 * count, 0.0);
        let mut all = vec![0.0; numbers.len() * ranks];
        world.all_gather_into(&numbers[..], &mut all[..]);
        let sync = |&[at, offset, bound]: &[f64; 3]| Sync { at, offset, bound };
        let model = |(rank, numbers): (Rank, &[f64])| match rank {
            ROOT => ClockModel::default(),
            _ => ClockModel::of(numbers.as_chunks().0.iter().map(sync).collect()),
        };
        Ok(all.chunks_exact(3 * count).enumerate().map(model).collect())
    }

    /// Learns common time, and when to do so next. Collective.
    fn synchronise(&mut self, wire: &Wire, me: Rank, ranks: usize) -> Result<(), MpiError> {
        for lesson in lessons(me, ranks) {
            wire.watch.moved();
            match lesson {
                Lesson::Teach(pupil) => self.teach(wire, pupil)?,
                Lesson::LearnFrom(teacher) => {
                    let (sync, next) = attend(wire, teacher)?;
                    self.model.learn(sync);
                    self.next = next;
                }
            }
        }
        Ok(())
    }

    /// Exchanges messages with `pupil` and tells it what its clock's offset is, and which round comes behind the next
    /// synchronisation.
    pub(super) fn teach(&self, wire: &Wire, pupil: Rank) -> Result<(), MpiError> {
        let mut bracket = Bracket::default();
        let mut reading = [0; 8];
        for _ in 0..EXCHANGES {
            let sent = self.global(mpi::time());
            wire.send(&[], pupil, PING)?;
            wire.receive(&mut reading, pupil, PONG)?;
            let received = self.global(mpi::time());
            bracket.narrow(sent, f64::from_le_bytes(reading), received);
        }
        let bound = bracket.half_width() + self.bound();
        let mut lesson = [0; 24];
        lesson[..8].copy_from_slice(&bracket.offset().to_le_bytes());
        lesson[8..16].copy_from_slice(&bound.to_le_bytes());
        lesson[16..].copy_from_slice(&(self.next as u64).to_le_bytes());
        wire.send(&lesson, pupil, LESSON)
    }
}

/// The pupil's part: what it has learned, and the number of the round behind the next synchronisation.
pub(super) fn attend(wire: &Wire, teacher: Rank) -> Result<(Sync, usize), MpiError> {
    let mut begin = 0.0;
    for number in 0..EXCHANGES {
        wire.receive(&mut [], teacher, PING)?;
        let now = mpi::time();
        wire.send(&now.to_le_bytes(), teacher, PONG)?;
        // The offset holds in the middle of the exchanges: waiting for the teacher is no part of them.
        if number == 0 {
            begin = now;
        }
    }
    let at = f64::midpoint(begin, mpi::time());
    let mut lesson = [0; 24];
    wire.receive(&mut lesson, teacher, LESSON)?;
    let bytes = |from: usize| <[u8; 8]>::try_from(&lesson[from..from + 8]).expect("8 bytes");
    let (offset, bound) = (f64::from_le_bytes(bytes(0)), f64::from_le_bytes(bytes(8)));
    Ok((Sync { at, offset, bound }, u64::from_le_bytes(bytes(16)) as usize))
}

/// Waits until `mpi::time()` gives `reading`, awake.
pub(super) fn wait_until(reading: f64) {
    loop {
        let left = reading - mpi::time();
        if left.is_nan() || left <= 0.0 {
            break;
        }
        crate::pass(left);
    }
}

/// The smallest step of this rank's `mpi::time()`, in seconds.
pub(super) fn step() -> f64 {
    // Enough for steps of some nanoseconds; clocks that tick seldom are read until they have ticked, which takes 0.2 s
    // at most, with the 20 ns that a reading takes at least.
    const READINGS: usize = 1000;
    const MOST: usize = 10_000_000;
    let mut readings = Vec::with_capacity(READINGS);
    for _ in 0..MOST {
        let now = mpi::time();
        if readings.last() != Some(&now) {
            readings.push(now);
        }
        if readings.len() == READINGS || (readings.len() > 3 && now - readings[0] > 1e-3) {
            break;
        }
    }
    smallest_step(&readings)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lesson {
    Teach(Rank),
    LearnFrom(Rank),
}

/// Whom a rank teaches and learns from, in order. Ranks beyond the last power of two learn last.
fn lessons(me: Rank, ranks: usize) -> Vec<Lesson> {
    let power = 1 << ranks.ilog2();
    let mut lessons = Vec::new();
    if me >= power {
        lessons.push(Lesson::LearnFrom(me - power));
        return lessons;
    }
    let mut distance = power / 2;
    while distance > 0 {
        match me % (2 * distance) {
            0 => lessons.push(Lesson::Teach(me + distance)),
            rest if rest == distance => lessons.push(Lesson::LearnFrom(me - distance)),
            _ => {}
        }
        distance /= 2;
    }
    if me + power < ranks {
        lessons.push(Lesson::Teach(me + power));
    }
    lessons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_but_the_root_learns_once_and_teaches_only_afterwards() {
        for ranks in 1..=70 {
            for me in 0..ranks {
                let lessons = lessons(me, ranks);
                let learned = lessons.iter().position(|lesson| matches!(lesson, Lesson::LearnFrom(_)));
                assert_eq!(learned, if me == 0 { None } else { Some(0) }, "rank {me} of {ranks}");
                for lesson in &lessons {
                    let (other, reply) = match *lesson {
                        Lesson::Teach(pupil) => (pupil, Lesson::LearnFrom(me)),
                        Lesson::LearnFrom(teacher) => (teacher, Lesson::Teach(me)),
                    };
                    assert!(super::lessons(other, ranks).contains(&reply), "{me} and {other} of {ranks}");
                }
            }
        }
    }
}

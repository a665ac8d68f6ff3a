//! Common time among ranks, after HCA3 (Hunold and Carpen-Amarie, "Hierarchical clock synchronization in MPI", 2018).
//!
//! In `log2(ranks)` steps ranks that know common time teach others, twice as many in each step. A teacher answers in
//! common time, so what is learned refers to the root directly, and the bounds of the teachers add up.

use std::{thread, time::Duration};

use netmatrix::{
    measure::{Bracket, ClockModel},
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

/// This rank's clock.
#[derive(Debug, Default)]
pub(super) struct Clock {
    model: ClockModel,
}

impl Clock {
    /// Common time at a reading of `mpi::time()`, in seconds.
    pub(super) fn global(&self, reading: f64) -> f64 {
        self.model.global(reading)
    }

    /// How far off common time may be on this rank now, in seconds.
    pub(super) fn bound(&self) -> f64 {
        self.model.bound(mpi::time())
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

    /// Learns common time anew. Collective.
    pub(super) fn synchronise(&mut self, wire: &Wire, me: Rank, ranks: usize) -> Result<(), MpiError> {
        for lesson in lessons(me, ranks) {
            match lesson {
                Lesson::Teach(pupil) => self.teach(wire, pupil)?,
                Lesson::LearnFrom(teacher) => {
                    let (at, offset, bound) = attend(wire, teacher)?;
                    self.model.learn(at, offset, bound);
                }
            }
        }
        Ok(())
    }

    /// Exchanges messages with `pupil` and tells it what its clock's offset is.
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
        let mut lesson = [0; 16];
        lesson[..8].copy_from_slice(&bracket.offset().to_le_bytes());
        lesson[8..].copy_from_slice(&bound.to_le_bytes());
        wire.send(&lesson, pupil, LESSON)
    }
}

/// The pupil's part: when the offset held on its clock, the offset and its bound, in seconds.
pub(super) fn attend(wire: &Wire, teacher: Rank) -> Result<(f64, f64, f64), MpiError> {
    let begin = mpi::time();
    for _ in 0..EXCHANGES {
        wire.receive(&mut [], teacher, PING)?;
        wire.send(&mpi::time().to_le_bytes(), teacher, PONG)?;
    }
    let at = f64::midpoint(begin, mpi::time());
    let mut lesson = [0; 16];
    wire.receive(&mut lesson, teacher, LESSON)?;
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    Ok((at, number(&lesson[..8]), number(&lesson[8..])))
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

//! What fits of models need besides operations, between two ranks while all others wait: how long calls keep a process
//! busy, and round trips of trains of messages (PRTT, methods.md 6.11).
//!
//! Rank 0 is the source of every probe, and decides how many samples there are.

use netmatrix::{
    plan::operation::{FEWEST_SAMPLES, ProbeKind},
    record::operations::Measured,
    stats::{Summary, median},
    units::Rank,
};

use super::super::{
    clock::wait_until,
    ffi::{MpiError, Tag, Wire},
};

const COUNT: Tag = 60;
const READY: Tag = 61;
const DATA: Tag = 62;
const ANSWER: Tag = 63;
const TIMES: Tag = 64;

/// Messages of a train.
pub(super) const TRAIN: u32 = 16;

/// Seconds for which a source lets a destination enter its receive.
const PAUSE: f64 = 2e-5;

/// Samples of one probe at one length.
pub(super) struct Limits {
    pub(super) samples: usize,
    pub(super) warmup: usize,
    /// Seconds that the samples take at most, once there are a few.
    pub(super) time: f64,
}

/// The two ends of a probe.
pub(super) struct Ends<'a> {
    pub(super) wire: &'a Wire,
    pub(super) me: Rank,
    pub(super) source: Rank,
    pub(super) destination: Rank,
}

fn wait(seconds: f64) {
    wait_until(mpi::time() + seconds);
}

impl Ends<'_> {
    fn is_source(&self) -> bool {
        self.me == self.source
    }

    fn other(&self) -> Rank {
        if self.is_source() { self.destination } else { self.source }
    }

    /// Measures messages as long as `data`, with a pause of `delay` seconds between those of a train. Both ends call
    /// it; the result is right at the source.
    pub(super) fn measure(
        &self,
        kind: ProbeKind,
        data: &mut [u8],
        delay: f64,
        limits: &Limits,
    ) -> Result<Measured, MpiError> {
        let mut times = Vec::new();
        self.batch(kind, data, delay, limits.warmup, &mut times)?;
        times.clear();
        let begin = mpi::time();
        let mut next = FEWEST_SAMPLES.min(limits.samples);
        while next > 0 {
            self.batch(kind, data, delay, next, &mut times)?;
            let (done, elapsed) = (times.len(), mpi::time() - begin);
            let fits = (limits.time - elapsed) * done as f64 / elapsed.max(f64::MIN_POSITIVE);
            let mut bytes = (if fits < 1.0 { 0 } else { (fits as usize).min(limits.samples - done) }).to_le_bytes();
            match self.is_source() {
                true => self.wire.send(&bytes, self.destination, COUNT)?,
                false => self.wire.receive(&mut bytes, self.source, COUNT)?,
            }
            next = usize::from_le_bytes(bytes);
        }
        if kind == ProbeKind::Recv {
            match self.is_source() {
                true => self.wire.receive_doubles(&mut times, self.destination, TIMES)?,
                false => self.wire.send_doubles(&times, self.source, TIMES)?,
            }
        }
        let samples = times.len() as u32;
        Ok(Measured { summary: Summary::of(&mut times), samples, ..Measured::NOTHING })
    }

    fn batch(
        &self,
        kind: ProbeKind,
        data: &mut [u8],
        delay: f64,
        count: usize,
        times: &mut Vec<f64>,
    ) -> Result<(), MpiError> {
        times.reserve(count);
        for _ in 0..count {
            self.wire.watch.at(times.len());
            let time = match kind {
                ProbeKind::Recv => self.receive_what_is_there(data)?,
                ProbeKind::Send | ProbeKind::Isend => self.send_to_who_waits(kind, data)?,
                ProbeKind::Prtt1 => self.round_trip(data, 1, 0.0)?,
                ProbeKind::PrttTrain => self.round_trip(data, TRAIN, 0.0)?,
                _ => self.round_trip(data, TRAIN, delay)?,
            };
            times.push(time);
        }
        Ok(())
    }

    fn send_to_who_waits(&self, kind: ProbeKind, data: &mut [u8]) -> Result<f64, MpiError> {
        let (wire, other) = (self.wire, self.other());
        if !self.is_source() {
            wire.send(&[], other, READY)?;
            wire.receive(data, other, DATA)?;
            return Ok(0.0);
        }
        wire.receive(&mut [], other, READY)?;
        wait(PAUSE);
        let begin = mpi::time();
        let mut end = begin;
        if kind == ProbeKind::Isend {
            wire.send_and_then(data, other, DATA, || end = mpi::time())?;
        } else {
            wire.send(data, other, DATA)?;
            end = mpi::time();
        }
        Ok(end - begin)
    }

    fn receive_what_is_there(&self, data: &mut [u8]) -> Result<f64, MpiError> {
        let (wire, other) = (self.wire, self.other());
        if self.is_source() {
            wire.receive(&mut [], other, READY)?;
            wire.send(data, other, DATA)?;
            return Ok(0.0);
        }
        let asked = mpi::time();
        wire.send(&[], other, READY)?;
        while !wire.is_there(other, DATA)? {}
        // Its envelope is there; as long again for the rest of a message that is sent at once.
        let end = mpi::time() + PAUSE + (mpi::time() - asked);
        while mpi::time() < end {
            wire.is_there(other, DATA)?;
        }
        let begin = mpi::time();
        wire.receive(data, other, DATA)?;
        Ok(mpi::time() - begin)
    }

    fn round_trip(&self, data: &mut [u8], messages: u32, delay: f64) -> Result<f64, MpiError> {
        let (wire, other) = (self.wire, self.other());
        if !self.is_source() {
            for _ in 0..messages {
                wire.receive(data, other, DATA)?;
            }
            wire.send(&[], other, ANSWER)?;
            return Ok(0.0);
        }
        // The destination waits for the first message already: it has answered the one before.
        let begin = mpi::time();
        for number in 0..messages {
            wire.send(data, other, DATA)?;
            if delay > 0.0 && number + 1 < messages {
                wait(delay);
            }
        }
        wire.receive(&mut [], other, ANSWER)?;
        Ok(mpi::time() - begin)
    }

    /// PRTT(1, 0, s), as a pause, on both ends.
    pub(super) fn pause(&self, data: &mut [u8], limits: &Limits) -> Result<f64, MpiError> {
        let mut times = Vec::new();
        self.batch(ProbeKind::Prtt1, data, 0.0, limits.warmup + FEWEST_SAMPLES, &mut times)?;
        Ok(median(&mut times[limits.warmup..]))
    }
}

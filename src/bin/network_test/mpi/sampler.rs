//! Takes the samples of a pair at one length: warm-up, zero-byte exchanges, batches of samples, statistics.
//!
//! In: an [`Exchange`] and the other rank. Out: cells, kept by the rank whose clock measured them. All buffers are made
//! and touched before the run. The two ranks of a pair take the same steps without telling each other, except that
//! with adaptive stopping the rank that measures says after each batch whether that was enough.

use std::time::Instant;

use netmatrix::{
    measure::{Cells, Shares, Stopping},
    plan::{Mode, Pair, Plan, Side, Timing},
    record::{Cell, State},
    stats::{Summary, median},
    units::{Bytes, Rank},
};

use super::{
    buffer::{Buffer, touched},
    clock::Clock,
    ffi::{MpiError, Tag, Wire},
    pair::{Exchange, Link, Sender},
    payload::Payload,
};

/// Whether a batch was the last.
const ENOUGH: Tag = 18;
/// Both are ready for a checked exchange, or done with it.
const CHECKED: Tag = 19;
/// When messages were sent, on synchronised clocks.
const STAMPS: Tag = 20;

/// Exchanges of a probe.
const PROBES: usize = 5;

/// What a rank does in a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Timed,
    Answering,
    /// Symmetric modes: both ranks measure what they receive.
    Both,
}

/// Samples, buffers and settings that last for a run.
pub(super) struct Sampler {
    mode: Mode,
    seed: u64,
    stopping: Stopping,
    warmup: usize,
    /// Zero-byte exchanges that tell the announcement's way; 0 where it is not taken off.
    baseline: usize,
    on_clocks: bool,
    verify: bool,
    damage: bool,
    out: Buffer,
    into: Buffer,
    /// Samples, seconds; on synchronised clocks first the ends of the messages.
    times: Vec<f64>,
    /// When this rank's messages were sent.
    starts: Vec<f64>,
    /// The other rank's starts and the bound of its clock, as they travel.
    stamps: Vec<u8>,
    /// Whether an exchange has failed.
    failed: bool,
    shares: Shares,
}

/// Whom a direction is measured with.
struct Way<'a> {
    wire: &'a Wire,
    clock: &'a Clock,
    me: Rank,
    other: Rank,
    length: usize,
    role: Role,
}

/// What is known of a direction beside its samples.
#[derive(Default)]
struct Findings {
    damaged: u32,
    precise: bool,
    clock_bound: Option<f64>,
}

impl Sampler {
    /// With buffers for the longest message of `plan`, touched. The error is the number of bytes that are not there.
    /// With `damage`, one byte of every payload is spoilt before it is checked.
    pub(super) fn new(plan: &Plan, damage: bool) -> Result<Self, u64> {
        let config = &plan.config;
        let baseline = if plan.timing() == Some(Timing::Transfer) { config.baseline_exchanges() as usize } else { 0 };
        let (iterations, warmup) = (config.iterations as usize, config.warmup as usize);
        let most = iterations.max(warmup).max(baseline).max(PROBES);
        let longest = config.longest().0 as usize;
        let on_clocks = plan.timing() == Some(Timing::Clock);
        let stamped = if on_clocks { most } else { 0 };
        Ok(Self {
            mode: plan.mode,
            seed: config.seed,
            stopping: Stopping::of(config),
            warmup,
            baseline,
            on_clocks,
            verify: config.verify,
            damage,
            out: Buffer::touched(longest, 0x55)?,
            into: Buffer::touched(longest, 0xaa)?,
            times: touched(most, 0.0)?,
            starts: touched(stamped, 0.0)?,
            stamps: touched(2 * 8 * (stamped + 1), 0)?,
            failed: false,
            shares: Shares::default(),
        })
    }

    /// Time spent since the beginning of the run on this rank's clock.
    pub(super) fn shares(&self) -> Shares {
        self.shares
    }

    /// Whether an exchange has failed: messages may still be under way from and to the buffers.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Measures a pair both ways. The leader's clock measures last, so that its turn ends when the pair is done.
    #[expect(clippy::too_many_arguments, reason = "the pair, its surroundings and where the result goes")]
    pub(super) fn both_directions(
        &mut self,
        wire: &Wire,
        clock: &Clock,
        exchange: &mut dyn Exchange,
        pair: Pair,
        me: Rank,
        length: Bytes,
        cells: &mut Cells,
    ) {
        let other = if me == pair.leader { pair.partner } else { pair.leader };
        let way = |role| Way { wire, clock, me, other, length: length.0 as usize, role };
        let roles: &[Role] = match (self.mode.is_symmetric(), me == pair.leader) {
            (true, _) => &[Role::Both],
            (false, true) => &[Role::Answering, Role::Timed],
            (false, false) => &[Role::Timed, Role::Answering],
        };
        for &role in roles {
            let outcome = self.direction(&way(role), exchange);
            self.failed |= outcome.is_err();
            // The answering side gets the same error, or will: the cell is the other's to mark.
            if role != Role::Answering {
                let cell = self.reduce(outcome);
                match self.mode.timed_at() {
                    Side::Source => cells.set(me, other, cell),
                    Side::Destination => cells.set(other, me, cell),
                }
            }
        }
    }

    /// Seconds that an exchange takes, roughly: between two ranks, a few exchanges after the first ones.
    pub(super) fn probe(
        &mut self,
        wire: &Wire,
        clock: &Clock,
        exchange: &mut dyn Exchange,
        pair: Pair,
        me: Rank,
        length: Bytes,
    ) -> Result<f64, MpiError> {
        let (other, role) = match (self.mode.is_symmetric(), me == pair.leader) {
            (true, leads) => (if leads { pair.partner } else { pair.leader }, Role::Both),
            (false, true) => (pair.partner, Role::Timed),
            (false, false) => (pair.leader, Role::Answering),
        };
        let way = Way { wire, clock, me, other, length: length.0 as usize, role };
        self.exchanges(&way, exchange, way.length, PROBES)?;
        let start = Instant::now();
        self.exchanges(&way, exchange, way.length, PROBES)?;
        Ok(start.elapsed().as_secs_f64() / PROBES as f64)
    }

    /// Turns the samples of a direction into a cell.
    fn reduce(&mut self, outcome: Result<Findings, MpiError>) -> Cell {
        let Ok(findings) = outcome else { return Cell::missing(State::Failed) };
        let reducing = Instant::now();
        let samples = self.times.len() as u32;
        let summary = Summary::of(&mut self.times);
        let state = match findings {
            Findings { damaged: 1.., .. } => State::Damaged,
            Findings { clock_bound: Some(bound), .. } if bound > summary.median => State::ClockBound,
            Findings { precise, .. } => self.stopping.state(precise),
        };
        self.shares.reducing += reducing.elapsed();
        Cell { summary, samples, state, damaged: findings.damaged, clock_bound: findings.clock_bound }
    }

    /// Carries out all exchanges of a direction. Where this rank measures, the samples are in `self.times` afterwards.
    fn direction(&mut self, way: &Way<'_>, exchange: &mut dyn Exchange) -> Result<Findings, MpiError> {
        let begin = Instant::now();
        self.exchanges(way, exchange, way.length, self.warmup)?;
        let warm = Instant::now();
        self.exchanges(way, exchange, 0, self.baseline)?;
        let announcement = if self.baseline > 0 { median(&mut self.times) / 2.0 } else { 0.0 };
        self.times.clear();
        let findings = self.samples(way, exchange, announcement)?;
        // A symmetric exchange is measured on both sides: the leader's half is enough for the sum over all ranks.
        if way.role == Role::Timed || (way.role == Role::Both && way.me < way.other) {
            self.shares.warmup += warm - begin;
            self.shares.timed += warm.elapsed();
        }
        Ok(findings)
    }

    /// `count` exchanges; `self.times` holds their times and nothing else afterwards.
    fn exchanges(
        &mut self,
        way: &Way<'_>,
        exchange: &mut dyn Exchange,
        length: usize,
        count: usize,
    ) -> Result<(), MpiError> {
        self.times.clear();
        let mut link =
            Link { wire: way.wire, other: way.other, out: &self.out[..length], into: &mut self.into[..length] };
        match way.role {
            Role::Answering => exchange.answering(&mut link, count),
            Role::Timed | Role::Both => exchange.timed(&mut link, count, &mut self.times),
        }
    }

    /// The exchanges that count, in batches. The announcement's way, in seconds, is taken off them.
    fn samples(&mut self, way: &Way<'_>, exchange: &mut dyn Exchange, announcement: f64) -> Result<Findings, MpiError> {
        let mut findings = Findings::default();
        let mut done = 0;
        loop {
            let batch = self.stopping.next_batch(done);
            if batch == 0 || findings.precise {
                break Ok(findings);
            }
            self.starts.clear();
            if self.verify {
                for number in done..done + batch {
                    findings.damaged += u32::from(!self.checked(way, exchange, number as u64)?);
                }
            } else {
                self.batch(way, exchange, batch)?;
            }
            if self.on_clocks {
                findings.clock_bound = Some(self.settle_clocks(way, done, batch)?);
            }
            if way.role != Role::Answering {
                // Before the precision is looked at: it is promised of what is stored.
                take_off(announcement, &mut self.times[done..]);
            }
            done += batch;
            if self.stopping.is_adaptive() {
                findings.precise = self.enough(way)?;
            }
        }
    }

    fn batch(&mut self, way: &Way<'_>, exchange: &mut dyn Exchange, count: usize) -> Result<(), MpiError> {
        let Self { out, into, times, starts, .. } = self;
        let (out, into) = (&out[..way.length], &mut into[..way.length]);
        let mut link = Link { wire: way.wire, other: way.other, out, into };
        match (way.role, self.on_clocks) {
            (Role::Answering, false) => exchange.answering(&mut link, count),
            (Role::Timed | Role::Both, false) => exchange.timed(&mut link, count, times),
            (Role::Answering, true) => exchange.starting(&mut link, count, starts),
            (Role::Timed, true) => exchange.arriving(&mut link, count, times),
            (Role::Both, true) => exchange.arriving_and_starting(&mut link, count, starts, times),
        }
    }

    /// One exchange whose payload is checked; whether it was undamaged. Making and checking it is not in its time:
    /// both ranks wait for each other before and after.
    fn checked(&mut self, way: &Way<'_>, exchange: &mut dyn Exchange, number: u64) -> Result<bool, MpiError> {
        let length = way.length;
        let payload = |from, to| Payload { seed: self.seed, from, to, length, exchange: number };
        let (mine, others) = (payload(way.me, way.other), payload(way.other, way.me));
        mine.fill(&mut self.out[..length]);
        self.into[..length].fill(0);
        {
            let (out, into) = (&self.out[..length], &mut self.into[..length]);
            exchange.before_checked(&mut Link { wire: way.wire, other: way.other, out, into })?;
        }
        way.wire.meet(way.other, CHECKED)?;
        self.batch(way, exchange, 1)?;
        if way.role != Role::Answering {
            let (out, into) = (&self.out[..length], &mut self.into[..length]);
            exchange.after_checked(&mut Link { wire: way.wire, other: way.other, out, into })?;
        }
        way.wire.meet(way.other, CHECKED)?;
        if let (true, Some(byte)) = (self.damage, self.into[..length].first_mut()) {
            *byte ^= 1;
        }
        let arrived = match exchange.arrives_from() {
            Sender::Other => others,
            Sender::Me => mine,
        };
        Ok(way.role == Role::Answering || arrived.is(&self.into[..length]))
    }

    /// Whether the rank that measures (both, in symmetric modes) has seen enough.
    fn enough(&mut self, way: &Way<'_>) -> Result<bool, MpiError> {
        let precise = way.role != Role::Answering && self.stopping.is_precise(&self.times);
        let (mine, mut others) = ([u8::from(precise)], [1]);
        match way.role {
            Role::Timed => way.wire.send(&mine, way.other, ENOUGH)?,
            Role::Answering => way.wire.receive(&mut others, way.other, ENOUGH)?,
            Role::Both => way.wire.shift(&mine, way.other, &mut others, way.other, ENOUGH)?,
        }
        Ok((precise || way.role == Role::Answering) && others[0] == 1)
    }

    /// Tells the other rank when this one's messages started, and turns the ends of those that came (from `first` on in
    /// `self.times`) into times. Returns the bound of the error that the clocks bring in, in seconds.
    fn settle_clocks(&mut self, way: &Way<'_>, first: usize, count: usize) -> Result<f64, MpiError> {
        let size = 8 * (count + 1);
        let (mine, others) = self.stamps.split_at_mut(size);
        let others = &mut others[..size];
        let global = self.starts.iter().map(|start| way.clock.global(*start));
        for (bytes, number) in mine.chunks_exact_mut(8).zip(std::iter::once(way.clock.bound()).chain(global)) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        match way.role {
            Role::Timed => way.wire.receive(others, way.other, STAMPS)?,
            Role::Answering => way.wire.send(mine, way.other, STAMPS)?,
            Role::Both => way.wire.shift(mine, way.other, others, way.other, STAMPS)?,
        }
        if way.role == Role::Answering {
            return Ok(f64::NAN);
        }
        let mut numbers = others.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        let bound = numbers.next().expect("the bound comes first") + way.clock.bound();
        for (time, start) in self.times[first..].iter_mut().zip(numbers) {
            *time = way.clock.global(*time) - start;
        }
        Ok(bound)
    }
}

/// Takes the announcement's way off every sample. An announcement is an empty message, and no message is faster than
/// one, so it never takes more than half of a sample: a disturbed zero-byte exchange cannot make a time negative. A
/// time that is negative already, as between synchronised clocks, stays as it is.
fn take_off(announcement: f64, times: &mut [f64]) {
    for time in times {
        *time -= announcement.min((*time / 2.0).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_never_makes_a_time_negative() {
        let mut times = [4.0, 10.0, 1.0];
        take_off(2.0, &mut times);
        assert_eq!(times, [2.0, 8.0, 0.5]);
    }

    #[test]
    fn without_an_announcement_times_stay_as_they_are() {
        let mut times = [4.0, 0.0, -3.0];
        take_off(0.0, &mut times);
        assert_eq!(times, [4.0, 0.0, -3.0]);
    }
}

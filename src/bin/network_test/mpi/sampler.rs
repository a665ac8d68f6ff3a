//! Takes the samples of a pair at one length: warm-up, zero-byte exchanges, batches of samples, statistics.
//!
//! In: an [`Exchange`] and the other rank. Out: cells, kept by the rank whose clock measured them. All buffers are made
//! and touched before the run. The two ranks of a pair take the same steps; what they have to say to each other is in
//! `words`, and what they know of each other's clock in `stamps`.

mod stamps;
mod words;

use std::time::Instant;

use netmatrix::{
    measure::{Cells, Shares, Stop, StopRequest, Stopping, WarmUp},
    plan::{Mode, Optional, Pair, Plan, Side, Timing},
    record::{Cell, Extra, Phase, State},
    stats::{Summary, quantile},
    units::{Bytes, Rank},
};

use self::stamps::{BEFORE_STAMPS, Moment};
use super::{
    buffer::{Buffer, touched},
    clock::Clock,
    ffi::{MpiError, Tag, Wire},
    pair::{Exchange, Link, Sender},
    payload::Payload,
};

/// Both are ready for a checked exchange, or done with it.
const CHECKED: Tag = 19;

/// Exchanges and bytes between two notes for the watchdog, at most: an exchange that takes a sixteenth of the timeout
/// is as good as stuck. Both ranks of a pair know the number from the length.
const PORTION: usize = 16;
const PORTION_BYTES: usize = 1 << 16;

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
    warmup: WarmUp,
    /// How many empty exchanges tell the announcement's way, where it is taken off.
    baseline: Option<Stopping>,
    /// The announcement's way of the pair at hand, once it is known.
    announcement: Option<Announcement>,
    on_clocks: bool,
    verify: bool,
    damage: bool,
    out: Buffer,
    into: Buffer,
    /// Samples, seconds; on synchronised clocks first the ends of the messages.
    times: Vec<f64>,
    /// When this rank's messages were sent.
    starts: Vec<f64>,
    /// The other rank's starts and what is known of its clock, as they travel.
    stamps: Vec<u8>,
    /// When this rank's cells were measured, `[other rank]`, on synchronised clocks.
    moments: Vec<Option<Moment>>,
    /// Smallest step of all ranks' clocks, in seconds.
    clock_step: f64,
    /// What is kept besides the usual statistics.
    optional: Vec<Optional>,
    /// Seconds of the handshake with the other rank.
    handshake: f64,
    /// Seconds of the first exchange of the direction at hand.
    first: Option<f64>,
    /// Where samples are kept: of which cell, and the samples in the order in which they were taken.
    kept: Option<Vec<(Rank, Rank, Vec<f64>)>>,
    /// Whether an exchange has failed.
    failed: bool,
    shares: Shares,
    request: StopRequest,
}

/// The way of an empty message, in seconds, and half of the interval in which it lies.
#[derive(Clone, Copy, Debug, Default)]
struct Announcement {
    way: f64,
    error: f64,
}

/// A cell whose median is shorter than this many steps of the clock is known to worse than a hundredth.
const STEPS: f64 = 100.0;

/// Whom a direction is measured with.
struct Way<'a> {
    wire: &'a Wire,
    clock: &'a Clock,
    me: Rank,
    other: Rank,
    length: usize,
    role: Role,
}

/// What is known of a direction besides its samples.
#[derive(Default)]
struct Findings {
    damaged: u32,
    precise: bool,
    clock_bound: Option<f64>,
    /// Why it was given up before its last exchange.
    stopped: Option<Stop>,
}

impl Sampler {
    /// With buffers for the longest message of `plan`, touched. The error is the number of bytes that are not there.
    /// With `damage`, one byte of every payload is spoilt before it is checked.
    pub(super) fn new(plan: &Plan, damage: bool, clock_step: f64, request: StopRequest) -> Result<Self, u64> {
        let config = &plan.config;
        let baseline = (plan.timing() == Some(Timing::Transfer)).then(|| Stopping::of_baseline(config));
        let warmup = WarmUp::of(config);
        let most = (config.iterations as usize).max(warmup.most()).max(PROBES);
        let longest = config.longest().0 as usize;
        let on_clocks = plan.timing() == Some(Timing::Clock);
        let stamped = if on_clocks { most } else { 0 };
        Ok(Self {
            mode: plan.mode,
            seed: config.seed,
            stopping: Stopping::of(config),
            warmup,
            baseline,
            announcement: None,
            on_clocks,
            verify: config.verify,
            damage,
            out: Buffer::touched(longest, 0x55)?,
            into: Buffer::touched(longest, 0xaa)?,
            times: touched(most, 0.0)?,
            starts: touched(stamped, 0.0)?,
            stamps: touched(2 * 8 * (stamped + BEFORE_STAMPS), 0)?,
            moments: vec![None; if on_clocks { plan.ranks() } else { 0 }],
            clock_step,
            optional: config.optional.clone(),
            handshake: 0.0,
            first: None,
            kept: None,
            failed: false,
            shares: Shares::default(),
            request,
        })
    }

    /// Time spent since the beginning of the run on this rank's clock.
    pub(super) fn shares(&self) -> Shares {
        self.shares
    }

    /// What the handshake before the next pair took, in seconds.
    pub(super) fn know_handshake(&mut self, seconds: f64) {
        self.handshake = seconds;
    }

    /// Keeps the samples of the pair that comes next, until [`Sampler::take_samples`], or keeps none.
    pub(super) fn keep_samples(&mut self, keep: bool) {
        self.kept = keep.then(Vec::new);
    }

    /// The samples that were kept: source, destination, samples.
    pub(super) fn take_samples(&mut self) -> Vec<(Rank, Rank, Vec<f64>)> {
        self.kept.take().unwrap_or_default()
    }

    /// Whether an exchange has failed: messages may still be under way from and to the buffers.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Measures a pair both ways; the result is why it was given up half-way, if it was. The leader's clock measures
    /// last, so that its turn ends when the pair is done.
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
    ) -> Option<Stop> {
        let other = if me == pair.leader { pair.partner } else { pair.leader };
        let way = |role| Way { wire, clock, me, other, length: length.0 as usize, role };
        let roles: &[Role] = match (self.mode.is_symmetric(), me == pair.leader) {
            (true, _) => &[Role::Both],
            (false, true) => &[Role::Answering, Role::Timed],
            (false, false) => &[Role::Timed, Role::Answering],
        };
        self.announcement = None;
        let two = roles.len() == 2;
        for (number, &role) in roles.iter().enumerate() {
            wire.watch.enter(Phase::Exchange, Some(other));
            let outcome = self.direction(&way(role), exchange, number == 0);
            self.failed |= outcome.is_err();
            if let Ok(Findings { stopped: stopped @ Some(_), .. }) = outcome {
                return stopped;
            }
            // The answering side gets the same error, or will: the cell is the other's to mark.
            if role != Role::Answering {
                let (source, destination) = match self.mode.timed_at() {
                    Side::Source => (me, other),
                    Side::Destination => (other, me),
                };
                // Statistics need them in ascending order.
                let samples = self.kept.is_some().then(|| self.times.clone());
                let cell = self.reduce(outcome);
                if let (Some(kept), Some(samples), true) = (&mut self.kept, samples, cell.samples > 0) {
                    kept.push((source, destination, samples));
                }
                cells.set(source, destination, cell);
            }
            if two && number == 0 {
                wire.watch.enter(Phase::Exchange, Some(other));
                self.failed |= self.hand_over(&way(role)).is_err();
            }
        }
        None
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
        if self.baseline.is_some() && self.announcement.is_none() {
            return Cell::missing(State::Failed);
        }
        let reducing = Instant::now();
        let samples = self.times.len() as u32;
        let first = self.first.or(self.times.first().copied()).map_or(f64::NAN, |first| self.handshake + first);
        let summary = Summary::of(&mut self.times);
        let extra = Extra::of(&self.optional, |tau| quantile(&mut self.times, tau), first);
        let state = match findings {
            Findings { damaged: 1.., .. } => State::Damaged,
            // The bound is at least the latency, so most short messages are below it: only what cannot be is flagged.
            Findings { clock_bound: Some(bound), .. } if summary.median < -bound => State::ClockBound,
            _ if summary.median < STEPS * self.clock_step => State::CoarseClock,
            Findings { precise, .. } => self.stopping.state(precise),
        };
        self.shares.reducing += reducing.elapsed();
        Cell { summary, samples, state, damaged: findings.damaged, clock_bound: findings.clock_bound, extra }
    }

    /// Carries out all exchanges of a direction. Where this rank measures, the samples are in `self.times` afterwards.
    /// The first direction warms the pair up, and tells what an empty exchange takes.
    fn direction(&mut self, way: &Way<'_>, exchange: &mut dyn Exchange, is_first: bool) -> Result<Findings, MpiError> {
        let begin = Instant::now();
        self.first = None;
        self.warm_up(way, exchange, is_first)?;
        let warm = Instant::now();
        if is_first && let Some(mut rule) = self.baseline.take() {
            let known = self.measure_announcement(way, exchange, &mut rule);
            self.baseline = Some(rule);
            self.announcement = known?;
        }
        self.times.clear();
        let findings = self.samples(way, exchange, self.announcement.unwrap_or_default())?;
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
        self.more_exchanges(way, exchange, length, count)
    }

    /// `count` exchanges, whose times are added to `self.times`.
    fn more_exchanges(
        &mut self,
        way: &Way<'_>,
        exchange: &mut dyn Exchange,
        length: usize,
        count: usize,
    ) -> Result<(), MpiError> {
        let mut link =
            Link { wire: way.wire, other: way.other, out: &self.out[..length], into: &mut self.into[..length] };
        for portion in portions(count, length) {
            match way.role {
                Role::Answering => exchange.answering(&mut link, portion)?,
                Role::Timed | Role::Both => exchange.timed(&mut link, portion, &mut self.times)?,
            }
            way.wire.watch.moved();
        }
        Ok(())
    }

    /// The exchanges that count, in batches. The announcement's way is taken off them.
    fn samples(
        &mut self,
        way: &Way<'_>,
        exchange: &mut dyn Exchange,
        announcement: Announcement,
    ) -> Result<Findings, MpiError> {
        let mut findings = Findings::default();
        let mut done = 0;
        let (mut granted, mut since) = (portion(way.length), (mpi::time(), 0));
        loop {
            let batch = self.stopping.next_batch(done);
            if batch == 0 || findings.precise {
                break Ok(findings);
            }
            let end = done + batch;
            while done < end {
                if granted == 0 {
                    match self.grant(way, mpi::time() - since.0, done - since.1)? {
                        Ok(more) => (granted, since) = (more, (mpi::time(), done)),
                        Err(stop) => return Ok(Findings { stopped: Some(stop), ..findings }),
                    }
                }
                let count = portion(way.length).min(end - done).min(granted);
                self.counted(way, exchange, done, count, announcement, &mut findings)?;
                done += count;
                granted -= count;
                way.wire.watch.at(done);
            }
            if self.stopping.is_adaptive() {
                let precise =
                    way.role != Role::Answering && self.stopping.is_precise_with(&self.times, announcement.error);
                findings.precise = self.enough(way, precise)?;
            }
        }
    }

    /// Exchanges that count, from number `done` on.
    fn counted(
        &mut self,
        way: &Way<'_>,
        exchange: &mut dyn Exchange,
        done: usize,
        count: usize,
        announcement: Announcement,
        findings: &mut Findings,
    ) -> Result<(), MpiError> {
        self.starts.clear();
        if self.verify {
            for number in done..done + count {
                findings.damaged += u32::from(!self.checked(way, exchange, number as u64)?);
            }
        } else {
            self.batch(way, exchange, count)?;
        }
        if self.on_clocks {
            let bound = self.settle_clocks(way, done, count)?;
            findings.clock_bound = Some(findings.clock_bound.map_or(bound, |before| before.max(bound)));
        }
        if way.role != Role::Answering {
            // Before the precision is looked at: it is promised of what is stored.
            take_off(announcement.way, &mut self.times[done..]);
        }
        Ok(())
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
}

/// How many exchanges of this length there are between two notes for the watchdog, at most.
fn portion(length: usize) -> usize {
    (PORTION_BYTES / length.max(1)).clamp(1, PORTION)
}

/// `count` exchanges in portions.
fn portions(count: usize, length: usize) -> impl Iterator<Item = usize> {
    let portion = portion(length);
    (0..count).step_by(portion).map(move |done| portion.min(count - done))
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

//! Takes the samples of a pair at one length: warm-up, zero-byte exchanges, batches of samples, statistics.
//!
//! In: an [`Exchange`] and the other rank. Out: cells, kept by the rank whose clock measured them. All buffers are made
//! and touched before the run. The two ranks of a pair take the same steps without telling each other, except that
//! with adaptive stopping the rank that measures says after each batch whether that was enough.

use std::time::{Duration, Instant};

use netmatrix::{
    measure::{Cells, ClockModel, Shares, Stop, StopRequest, Stopping, WarmUp},
    plan::{Mode, Pair, Plan, Side, Timing},
    record::{Cell, Phase, State},
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
/// How many more exchanges the warm-up has.
const WARM: Tag = 30;
/// What an empty exchange takes.
const EMPTY: Tag = 31;

/// Numbers that travel before the stamps: the bound of the clock, when it held, by how much the clock was ahead.
const BEFORE_STAMPS: usize = 3;

/// How many exchanges are still to be made before the next word, or why there will be none.
const GRANT: Tag = 40;

/// Exchanges and bytes between two notes for the watchdog, at most: an exchange that takes a sixteenth of the timeout is
/// as good as stuck. Both ranks of a pair know the number from the length.
const PORTION: usize = 16;
const PORTION_BYTES: usize = 1 << 16;

/// How often one of a pair looks whether it is to stop, roughly.
const LOOK_UP_EVERY: Duration = Duration::from_millis(250);

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

/// When a cell was measured: what both clocks read, and by how much they were thought to be ahead of common time.
#[derive(Clone, Copy, Debug)]
struct Moment {
    own: (f64, f64),
    other: (f64, f64),
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

/// What is known of a direction beside its samples.
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
            failed: false,
            shares: Shares::default(),
            request,
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
        for (number, &role) in roles.iter().enumerate() {
            wire.watch.enter(Phase::Exchange, Some(other));
            let outcome = self.direction(&way(role), exchange, number == 0);
            self.failed |= outcome.is_err();
            if let Ok(Findings { stopped: stopped @ Some(_), .. }) = outcome {
                return stopped;
            }
            // The answering side gets the same error, or will: the cell is the other's to mark.
            if role != Role::Answering {
                let cell = self.reduce(outcome);
                match self.mode.timed_at() {
                    Side::Source => cells.set(me, other, cell),
                    Side::Destination => cells.set(other, me, cell),
                }
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
        let summary = Summary::of(&mut self.times);
        let state = match findings {
            Findings { damaged: 1.., .. } => State::Damaged,
            // The bound is at least the latency, so most short messages are below it: only what cannot be is flagged.
            Findings { clock_bound: Some(bound), .. } if summary.median < -bound => State::ClockBound,
            _ if summary.median < STEPS * self.clock_step => State::CoarseClock,
            Findings { precise, .. } => self.stopping.state(precise),
        };
        self.shares.reducing += reducing.elapsed();
        Cell { summary, samples, state, damaged: findings.damaged, clock_bound: findings.clock_bound }
    }

    /// Carries out all exchanges of a direction. Where this rank measures, the samples are in `self.times` afterwards.
    /// The first direction warms the pair up, and tells what an empty exchange takes.
    fn direction(&mut self, way: &Way<'_>, exchange: &mut dyn Exchange, is_first: bool) -> Result<Findings, MpiError> {
        let begin = Instant::now();
        self.warm_up(way, exchange, is_first)?;
        let warm = Instant::now();
        if is_first && let Some(mut rule) = self.baseline.take() {
            let known = self.measure_announcement(way, exchange, &mut rule);
            self.baseline = Some(rule);
            self.announcement = Some(known?);
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

    /// Exchanges that do not count. In the first direction of a pair they last as long as was asked for: the lower rank
    /// looks at its clock and says how many more there are.
    fn warm_up(&mut self, way: &Way<'_>, exchange: &mut dyn Exchange, is_first: bool) -> Result<(), MpiError> {
        let begin = mpi::time();
        let mut done = 0;
        let mut next = self.warmup.first();
        while next > 0 {
            self.exchanges(way, exchange, way.length, next)?;
            done += next;
            if !is_first || !self.warmup.has_time() {
                break;
            }
            let mut number = (self.warmup.next(done, mpi::time() - begin) as u32).to_le_bytes();
            if way.me < way.other {
                way.wire.send(&number, way.other, WARM)?;
            } else {
                way.wire.receive(&mut number, way.other, WARM)?;
            }
            next = u32::from_le_bytes(number) as usize;
        }
        Ok(())
    }

    /// What an announcement takes: half of an empty exchange of the pair. Where both ranks measure, each has its own,
    /// else the one that does says it to the other.
    fn measure_announcement(
        &mut self,
        way: &Way<'_>,
        exchange: &mut dyn Exchange,
        rule: &mut Stopping,
    ) -> Result<Announcement, MpiError> {
        self.times.clear();
        let mut done = 0;
        let mut precise = false;
        while !precise && rule.next_batch(done) > 0 {
            let batch = rule.next_batch(done);
            self.more_exchanges(way, exchange, 0, batch)?;
            done += batch;
            if rule.is_adaptive() {
                precise = self.enough(way, rule.is_precise(&self.times))?;
            }
        }
        let error = rule.error(&self.times) / 2.0;
        let own = Announcement { way: median(&mut self.times) / 2.0, error };
        let mut bytes = [0; 16];
        match way.role {
            Role::Both => return Ok(own),
            Role::Timed => {
                bytes[..8].copy_from_slice(&own.way.to_le_bytes());
                bytes[8..].copy_from_slice(&own.error.to_le_bytes());
                way.wire.send(&bytes, way.other, EMPTY)?;
            }
            Role::Answering => way.wire.receive(&mut bytes, way.other, EMPTY)?,
        }
        let number = |from: usize| f64::from_le_bytes(bytes[from..from + 8].try_into().expect("8 bytes"));
        Ok(Announcement { way: number(0), error: number(8) })
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
        let (mut granted, mut since) = (portion(way.length), (Instant::now(), 0));
        loop {
            let batch = self.stopping.next_batch(done);
            if batch == 0 || findings.precise {
                break Ok(findings);
            }
            let end = done + batch;
            while done < end {
                if granted == 0 {
                    match self.grant(way, since.0.elapsed(), done - since.1)? {
                        Ok(more) => (granted, since) = (more, (Instant::now(), done)),
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

    /// How many more exchanges there are before the next word, or why the pair is given up. The lower rank decides, from
    /// what the exchanges before have taken; nothing is exchanged in pairs that are done before.
    fn grant(&self, way: &Way<'_>, spent: Duration, exchanges: usize) -> Result<Result<usize, Stop>, MpiError> {
        let mut word = [0; 5];
        if way.me < way.other {
            let one = spent.as_secs_f64().max(1e-9) / exchanges.max(1) as f64;
            let more = (LOOK_UP_EVERY.as_secs_f64() / one) as u32;
            word[0] = Stop::code(self.request.wish());
            word[1..].copy_from_slice(&more.max(1).to_le_bytes());
            way.wire.send(&word, way.other, GRANT)?;
        } else {
            way.wire.receive(&mut word, way.other, GRANT)?;
        }
        let more = u32::from_le_bytes([word[1], word[2], word[3], word[4]]);
        Ok(Stop::from_code(word[0]).map_or(Ok(more as usize), Err))
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

    /// Whether the rank that measures (both, in symmetric modes) has seen enough; `precise`: whether this one has.
    fn enough(&self, way: &Way<'_>, precise: bool) -> Result<bool, MpiError> {
        let (mine, mut others) = ([u8::from(precise)], [1]);
        match way.role {
            Role::Timed => way.wire.send(&mine, way.other, ENOUGH)?,
            Role::Answering => way.wire.receive(&mut others, way.other, ENOUGH)?,
            Role::Both => way.wire.shift(&mine, way.other, &mut others, way.other, ENOUGH)?,
        }
        Ok((precise || way.role == Role::Answering) && others[0] == 1)
    }

    /// Takes what the ranks have learned of all clocks, `[rank]`, since this rank's cells of a length were measured into
    /// account: they were measured with what was known then.
    pub(super) fn look_back(&mut self, clocks: &[ClockModel], me: Rank, cells: &mut Cells) {
        for (other, moment) in self.moments.iter_mut().enumerate() {
            let Some(Moment { own, other: others }) = moment.take() else { continue };
            let Some(&(mut cell)) = cells.get(other, me) else { continue };
            let moved = |rank: Rank, (at, offset): (f64, f64)| clocks[rank].offset(at) - offset;
            let later = moved(other, others) - moved(me, own);
            let Summary { min, average, median, max, .. } = &mut cell.summary;
            [min, average, median, max].into_iter().for_each(|time| *time += later);
            cell.clock_bound = Some(clocks[me].bound(own.0) + clocks[other].bound(others.0));
            cells.set(other, me, cell);
        }
    }

    /// Tells the other rank when this one's messages started, and turns the ends of those that came (from `first` on in
    /// `self.times`) into times. Returns the bound of the error that the clocks bring in, in seconds.
    fn settle_clocks(&mut self, way: &Way<'_>, first: usize, count: usize) -> Result<f64, MpiError> {
        let size = 8 * (count + BEFORE_STAMPS);
        let now = mpi::time();
        let own = (now, way.clock.offset(now));
        let known = [way.clock.bound_at(now), own.0, own.1];
        let (mine, others) = self.stamps.split_at_mut(size);
        let others = &mut others[..size];
        let global = self.starts.iter().map(|start| way.clock.global(*start));
        for (bytes, number) in mine.chunks_exact_mut(8).zip(known.into_iter().chain(global)) {
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
        let mut known = || numbers.next().expect("what is known of the clock comes first");
        let bound = known() + way.clock.bound_at(now);
        let other = (known(), known());
        self.moments[way.other] = Some(Moment { own, other });
        for (time, start) in self.times[first..].iter_mut().zip(numbers) {
            *time = way.clock.global(*time) - start;
        }
        Ok(bound)
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

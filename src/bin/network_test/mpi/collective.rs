//! Collective modes: all ranks take part in each exchange, and every rank's clock measures what reaches it.
//!
//! In: a [`Collective`], one small file per mode. Out: this rank's column of the matrix, or one cell of it.
//!
//! Where one start counts for all ([`Meeting::Together`]), it is agreed on synchronised clocks, and what the root was
//! late is taken off. Without them two barriers stand before the exchange, and how long a rank is in the second one
//! bounds the skew: everybody leaves it after the last one has entered, so a rank leaves it later than the first one
//! by no more than it was inside. The larger of the root's and the rank's own (medians) is kept as the bound of the
//! cell, and a cell that is shorter than its bound is flagged.

use std::{ops::Range, time::Instant};

use netmatrix::{
    measure::{Cells, Shares, Stop, StopRequest, Stopping, WarmUp},
    plan::{Circle, Mode, Optional, Plan, Timing},
    record::{Cell, Extra, Phase, State},
    stats::{Summary, median, quantile},
    units::{Bytes, Rank},
};

use crate::watchdog::Arrivals;

use super::{
    ROOT,
    buffer::{Buffer, touched},
    clock::{Clock, wait_until},
    ffi::{MpiError, Wire},
    payload::Payload,
    tree::Tree,
};

/// How all come together before an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Behind a barrier; every rank clocks from its own start.
    Barrier,
    /// One start counts for all: that of the root.
    Together,
}

/// What is exchanged in a collective mode.
pub(super) trait Collective {
    /// What has to be done before all come together, for messages of `length` bytes.
    fn before(&mut self, _wire: &Wire, _length: usize) -> Result<(), MpiError> {
        Ok(())
    }

    /// One exchange, begun by all at once. For each source whose message reaches this rank, its slot of `arrivals`
    /// becomes the seconds since this rank's start: a slot to store into, so that nothing is called between clock
    /// readings.
    fn exchange(&mut self, wire: &Wire, message: &mut Message<'_>, arrivals: &Arrivals) -> Result<(), MpiError>;

    /// The message that has come from `source`, in the exchange before.
    fn come_from<'a>(&'a mut self, message: &'a mut Message<'_>, source: Rank) -> &'a mut [u8];

    /// How all come together.
    fn meeting(&self) -> Meeting;
}

/// The message of a rank.
pub(super) struct Message<'a> {
    pub(super) me: Rank,
    /// Whose message it is, if only one rank sends.
    pub(super) root: Option<Rank>,
    pub(super) data: &'a mut [u8],
    /// When this rank began, on its clock; where one start counts for all, the exchange sets it.
    pub(super) began: f64,
}

/// How often all look whether they are to stop, roughly, in seconds.
const LOOK_UP_EVERY: f64 = 0.25;

/// Exchanges of a probe.
const PROBES: usize = 3;

/// The number that stands for "all ranks" in payloads.
const ALL: Rank = Rank::MAX;

/// Samples, buffers and settings of collective modes, which last for a run.
pub(super) struct Ensemble {
    me: Rank,
    ranks: usize,
    seed: u64,
    stopping: Stopping,
    warmup: WarmUp,
    on_clocks: bool,
    verify: bool,
    damage: bool,
    data: Buffer,
    /// Seconds, `[source][sample]`, for those sources that a round has: all, or the root alone.
    times: Vec<Vec<f64>>,
    /// Where one start counts for all: how late this rank was (on synchronised clocks), or how long in a barrier.
    skews: Vec<f64>,
    /// The same in ascending order.
    sorted: Vec<f64>,
    /// The root's, as they travel.
    travelling: Vec<u8>,
    /// The ranks' places in barriers.
    circle: Circle,
    /// Seconds of the exchange under way, `[source]`.
    arrivals: Arrivals,
    /// What is kept besides the usual statistics.
    optional: Vec<Optional>,
    /// Seconds of the first exchange, warm-up included, for the sources of `times`.
    first: Vec<f64>,
    /// Damaged payloads, `[source]`.
    damaged: Vec<u32>,
    shares: Shares,
    request: StopRequest,
}

impl Ensemble {
    /// With buffers, touched. With `damage`, one byte of every payload is spoilt before it is checked. The error is the
    /// number of bytes that are not there.
    pub(super) fn new(plan: &Plan, me: Rank, damage: bool, request: StopRequest) -> Result<Self, u64> {
        let config = &plan.config;
        let iterations = config.iterations as usize;
        let ranks = plan.ranks();
        let warmup = WarmUp::of(config);
        let room = iterations.max(warmup.most()).max(2 * PROBES);
        let sources = if plan.mode == Mode::Bcast { 1 } else { ranks };
        Ok(Self {
            me,
            ranks,
            seed: config.seed,
            stopping: Stopping::of(config),
            warmup,
            on_clocks: plan.timing() == Some(Timing::Clock),
            verify: config.verify,
            damage,
            data: Buffer::touched(config.longest().0 as usize, 0x55)?,
            times: (0..sources).map(|_| touched(room, 0.0)).collect::<Result<_, _>>()?,
            skews: touched(room, 0.0)?,
            sorted: touched(room, 0.0)?,
            travelling: touched(8 * (room + 1), 0)?,
            circle: Circle::drawn(config.seed, ranks),
            arrivals: Arrivals::new(ranks),
            optional: config.optional.clone(),
            first: vec![f64::NAN; sources],
            damaged: vec![0; ranks],
            shares: Shares::default(),
            request,
        })
    }

    /// Time spent since the beginning of the run. All ranks measure at once: one of them stands for all.
    pub(super) fn shares(&self) -> Shares {
        if self.me == 0 { self.shares } else { Shares::default() }
    }

    /// Measures one round: all roots at once, or the given one; the result is why it was given up half-way, if it was,
    /// the same on all ranks. Collective: after an error on one rank the others wait for it in vain, so it cannot cost
    /// a cell only.
    pub(super) fn round(
        &mut self,
        wire: &Wire,
        clock: &Clock,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<Option<Stop>, MpiError> {
        let (precise, bound) = match self.samples(wire, clock, mode, root, length.0 as usize)? {
            Ok(known) => known,
            Err(stop) => return Ok(Some(stop)),
        };
        let reducing = Instant::now();
        for (place, source) in sources(root, self.ranks).enumerate() {
            let cell = self.cell(place, precise, bound);
            cells.set(source, self.me, cell);
        }
        self.shares.reducing += reducing.elapsed();
        Ok(None)
    }

    /// Where it is noted what has come.
    pub(super) fn arrivals(&self) -> Arrivals {
        self.arrivals.clone()
    }

    /// Seconds that an exchange takes, roughly: a few exchanges after the first ones. Collective.
    pub(super) fn probe(
        &mut self,
        wire: &Wire,
        clock: &Clock,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: Bytes,
    ) -> Result<f64, MpiError> {
        self.clear();
        self.exchanges(wire, clock, mode, root, length.0 as usize, 0..PROBES, false)?;
        let start = Instant::now();
        self.exchanges(wire, clock, mode, root, length.0 as usize, 0..PROBES, false)?;
        self.clear();
        Ok(start.elapsed().as_secs_f64() / PROBES as f64)
    }

    fn clear(&mut self) {
        self.times.iter_mut().for_each(Vec::clear);
        self.skews.clear();
    }

    fn cell(&mut self, place: usize, precise: bool, clock_bound: Option<f64>) -> Cell {
        let samples = self.times[place].len() as u32;
        if self.first[place].is_nan() {
            self.first[place] = self.times[place].first().copied().unwrap_or(f64::NAN);
        }
        let summary = Summary::of(&mut self.times[place]);
        let times = &mut self.times[place];
        let extra = Extra::of(&self.optional, |tau| quantile(times, tau), self.first[place]);
        let damaged = self.damaged[place];
        // Synchronised clocks bound what is left of the skew far more loosely than it is: only an impossible time is
        // flagged. The bound of a barrier is as large as the skew.
        let below = clock_bound.is_some_and(|bound| summary.median < if self.on_clocks { -bound } else { bound });
        let state = match (damaged, below) {
            (1.., _) => State::Damaged,
            (0, true) => State::ClockBound,
            (0, false) => self.stopping.state(precise),
        };
        Cell { damaged, clock_bound, extra, ..Cell::measured(summary, samples, state) }
    }

    /// Leaves the samples in `self.times`; whether all of them are as precise as asked for, and how far off their start
    /// may be, in seconds, or why they were given up. Collective.
    fn samples(
        &mut self,
        wire: &Wire,
        clock: &Clock,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: usize,
    ) -> Result<Result<(bool, Option<f64>), Stop>, MpiError> {
        let begin = Instant::now();
        self.warm_up(wire, clock, mode, root, length)?;
        self.damaged.fill(0);
        let warm = Instant::now();
        self.shares.warmup += warm - begin;
        let mut done = 0;
        let mut precise = false;
        let mut bound = None;
        let (mut granted, mut since) = (1, (mpi::time(), 0));
        loop {
            let batch = self.stopping.next_batch(done);
            if batch == 0 || precise {
                break;
            }
            let end = done + batch;
            while done < end {
                if granted == 0 {
                    match self.grant(wire, mpi::time() - since.0, done - since.1)? {
                        Ok(more) => (granted, since) = (more, (mpi::time(), done)),
                        Err(stop) => return Ok(Err(stop)),
                    }
                }
                let next = end.min(done + granted);
                self.exchanges(wire, clock, mode, root, length, done..next, self.verify)?;
                if let (Meeting::Together, Some(root)) = (mode.meeting(), root) {
                    bound = Some(self.settle_start(wire, clock, root, done)?);
                }
                granted -= next - done;
                done = next;
            }
            if self.stopping.is_adaptive() {
                let Self { times, stopping, .. } = self;
                let imprecise = times.iter().filter(|times| !times.is_empty()).any(|times| !stopping.is_precise(times));
                precise = self.tree(wire).largest(Phase::Agreement, u64::from(imprecise))? == 0;
                wire.watch.enter(Phase::Collective, None);
            }
        }
        self.shares.timed += warm.elapsed();
        Ok(Ok((precise, bound)))
    }

    fn tree<'w>(&self, wire: &'w Wire) -> Tree<'w> {
        Tree { wire, me: self.me, ranks: self.ranks }
    }

    /// How many more exchanges there are before all ask again whether to stop, or why to stop now. The root says it,
    /// from what the exchanges before have taken; anybody may want to stop. Collective.
    fn grant(&self, wire: &Wire, spent: f64, exchanges: usize) -> Result<Result<usize, Stop>, MpiError> {
        let one = spent.max(1e-9) / exchanges.max(1) as f64;
        let more = if self.me == ROOT { (LOOK_UP_EVERY / one) as u64 } else { 0 };
        let own = (u64::from(Stop::code(self.request.wish())) << 32) | more.clamp(1, u64::from(u32::MAX));
        let agreed = self.tree(wire).largest(Phase::Agreement, own)?;
        wire.watch.enter(Phase::Collective, None);
        let more = (agreed & u64::from(u32::MAX)) as usize;
        Ok(Stop::from_code((agreed >> 32) as u8).map_or(Ok(more), Err))
    }

    /// Exchanges that do not count, until there were enough of them and they have lasted long enough: the first rank's
    /// clock decides.
    fn warm_up(
        &mut self,
        wire: &Wire,
        clock: &Clock,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: usize,
    ) -> Result<(), MpiError> {
        let begin = mpi::time();
        let mut done = 0;
        let mut next = self.warmup.first();
        self.first.fill(f64::NAN);
        while next > 0 {
            self.clear();
            self.exchanges(wire, clock, mode, root, length, 0..next, false)?;
            for (first, times) in self.first.iter_mut().zip(&self.times).filter(|(first, _)| first.is_nan()) {
                *first = times.first().copied().unwrap_or(f64::NAN);
            }
            done += next;
            let mut number = (self.warmup.next(done, mpi::time() - begin) as u32).to_le_bytes();
            if self.warmup.has_time() {
                self.tree(wire).pass_on(&mut number, ROOT)?;
                next = u32::from_le_bytes(number) as usize;
            } else {
                next = 0;
            }
        }
        self.clear();
        Ok(())
    }

    /// Takes what the root was late off the samples from number `first` on, where clocks are synchronised. Returns how
    /// far off their start may be, in seconds. Collective.
    fn settle_start(&mut self, wire: &Wire, clock: &Clock, root: Rank, first: usize) -> Result<f64, MpiError> {
        let tree = self.tree(wire);
        let late = &self.skews[first..];
        self.sorted.clone_from(&self.skews);
        let own = if self.on_clocks { clock.bound() } else { median(&mut self.sorted) };
        let travelling = &mut self.travelling[..8 * (late.len() + 1)];
        for (bytes, number) in travelling.as_chunks_mut::<8>().0.iter_mut().zip(std::iter::once(&own).chain(late)) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        tree.pass_on(travelling, root)?;
        let mut numbers = travelling.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let others = numbers.next().expect("the bound comes first");
        if !self.on_clocks {
            return Ok(own.max(others));
        }
        if self.me != root {
            self.times[0][first..].iter_mut().zip(numbers).for_each(|(time, late)| *time -= late);
        }
        Ok(own + others)
    }

    /// The exchanges of these numbers; their times are added to `self.times`.
    #[expect(clippy::too_many_arguments, reason = "the exchanges and their surroundings")]
    fn exchanges(
        &mut self,
        wire: &Wire,
        clock: &Clock,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: usize,
        numbers: Range<usize>,
        verify: bool,
    ) -> Result<(), MpiError> {
        let Self { me, ranks, seed, damage, data, times, skews, circle, arrivals, damaged, on_clocks, .. } = self;
        let (me, seed, ranks) = (*me, *seed, *ranks);
        let data = &mut data[..length];
        let tree = Tree { wire, me, ranks };
        for number in numbers {
            wire.watch.at(number);
            let payload = |from| Payload { seed, from, to: ALL, length, exchange: number as u64 };
            if verify {
                if root.is_none_or(|root| root == me) { payload(me).fill(data) } else { data.fill(0) }
            }
            arrivals.clear(sources(root, ranks));
            mode.before(wire, length)?;
            let mut agreed = None;
            circle.shuffle();
            match (mode.meeting(), root) {
                (Meeting::Together, Some(root)) if *on_clocks => {
                    agreed = Some(common_start(&tree, circle, clock, root)?)
                }
                (Meeting::Together, _) => skews.push(two_barriers(&tree, circle)?),
                (Meeting::Barrier, _) => tree.meet(circle)?,
            }
            let mut message = Message { me, root, data: &mut *data, began: 0.0 };
            arrivals.begin(sources(root, ranks));
            mode.exchange(wire, &mut message, arrivals)?;
            arrivals.end();
            wire.watch.stepped(1);
            if let Some(start) = agreed {
                let late = message.began - start;
                skews.push(late);
                if root != Some(me) {
                    sources(root, ranks).for_each(|source| arrivals.set(source, arrivals.get(source) + late));
                }
            }
            for (times, source) in times.iter_mut().zip(sources(root, ranks)) {
                times.push(arrivals.get(source));
            }
            if verify {
                for (place, source) in sources(root, ranks).enumerate() {
                    let come = mode.come_from(&mut message, source);
                    if let (true, Some(byte)) = (*damage, come.first_mut()) {
                        *byte ^= 1;
                    }
                    damaged[place] += u32::from(!payload(source).is(come));
                }
            }
        }
        Ok(())
    }
}

/// Two barriers, the second right behind the first, so that few are late; how long this rank was in the second one.
/// Collective.
pub(super) fn two_barriers(tree: &Tree<'_>, circle: &Circle) -> Result<f64, MpiError> {
    tree.meet(circle)?;
    let entered = mpi::time();
    tree.meet(circle)?;
    Ok(mpi::time() - entered)
}

/// Waits for a moment that the root chooses; its reading on this rank's clock. Word of it takes less time than a
/// barrier, which brings word from everybody to everybody; as much again for those who hear of it last. Collective.
pub(super) fn common_start(tree: &Tree<'_>, circle: &Circle, clock: &Clock, root: Rank) -> Result<f64, MpiError> {
    let barrier = two_barriers(tree, circle)?;
    let mut bytes = [0; 8];
    if tree.me == root {
        bytes = clock.global(mpi::time() + 2.0 * barrier).to_le_bytes();
    }
    tree.pass_on(&mut bytes, root)?;
    let start = clock.reading(f64::from_le_bytes(bytes));
    wait_until(start);
    Ok(start)
}

/// Whose messages reach a rank: all ranks', or the root's.
fn sources(root: Option<Rank>, ranks: usize) -> Range<Rank> {
    root.map_or(0..ranks, |root| root..root + 1)
}

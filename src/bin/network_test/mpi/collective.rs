//! Collective modes: all ranks take part in each exchange, and every rank's clock measures what reaches it.
//!
//! In: a [`Collective`], one small file per mode. Out: this rank's column of the matrix, or one cell of it.

use std::{ops::Range, time::Instant};

use mpi::topology::SimpleCommunicator;
use netmatrix::{
    measure::{Cells, Shares, Stopping},
    plan::Plan,
    record::{Cell, State},
    stats::Summary,
    units::{Bytes, Rank},
};

use super::{
    buffer::{Buffer, touched},
    ffi::{MpiError, Wire},
    largest,
    payload::Payload,
};

/// What is exchanged in a collective mode.
pub(super) trait Collective {
    /// One exchange, begun by all at once. For each source whose message reaches this rank, `arrivals[source]` becomes
    /// the seconds since this rank's start: a slot to store into, so that nothing is called between clock readings.
    fn exchange(&mut self, wire: &Wire, message: &mut Message<'_>, arrivals: &mut [f64]) -> Result<(), MpiError>;

    /// The message that has come from `source`, in the exchange before.
    fn come_from<'a>(&'a mut self, message: &'a mut Message<'_>, source: Rank) -> &'a mut [u8];

    /// Barriers before an exchange. The last ones to leave a barrier are late; where the common start is part of the
    /// time, a second one right behind the first makes that less.
    fn barriers(&self) -> usize;
}

/// The message of a rank.
pub(super) struct Message<'a> {
    pub(super) me: Rank,
    /// Whose message it is, if only one rank sends.
    pub(super) root: Option<Rank>,
    pub(super) data: &'a mut [u8],
}

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
    warmup: usize,
    verify: bool,
    damage: bool,
    data: Buffer,
    /// Seconds, `[source][sample]`.
    times: Vec<Vec<f64>>,
    /// Seconds of the exchange under way, `[source]`.
    arrivals: Vec<f64>,
    /// Damaged payloads, `[source]`.
    damaged: Vec<u32>,
    shares: Shares,
}

impl Ensemble {
    /// With buffers, touched. With `damage`, one byte of every payload is spoilt before it is checked. The error is the
    /// number of bytes that are not there.
    pub(super) fn new(plan: &Plan, me: Rank, damage: bool) -> Result<Self, u64> {
        let config = &plan.config;
        let iterations = config.iterations as usize;
        let ranks = plan.ranks();
        let room = iterations.max(config.warmup as usize).max(2 * PROBES);
        Ok(Self {
            me,
            ranks,
            seed: config.seed,
            stopping: Stopping::of(config),
            warmup: config.warmup as usize,
            verify: config.verify,
            damage,
            data: Buffer::touched(config.longest().0 as usize, 0x55)?,
            times: (0..ranks).map(|_| touched(room, 0.0)).collect::<Result<_, _>>()?,
            arrivals: touched(ranks, 0.0)?,
            damaged: vec![0; ranks],
            shares: Shares::default(),
        })
    }

    /// Time spent since the beginning of the run. All ranks measure at once: one of them stands for all.
    pub(super) fn shares(&self) -> Shares {
        if self.me == 0 { self.shares } else { Shares::default() }
    }

    /// Measures one round: all roots at once, or the given one. Collective: after an error on one rank the others wait
    /// for it in vain, so it cannot cost a cell only.
    pub(super) fn round(
        &mut self,
        world: &SimpleCommunicator,
        wire: &Wire,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
        let precise = self.samples(world, wire, mode, root, length.0 as usize)?;
        let reducing = Instant::now();
        for source in sources(root, self.ranks) {
            let cell = self.cell(source, precise);
            cells.set(source, self.me, cell);
        }
        self.shares.reducing += reducing.elapsed();
        Ok(())
    }

    /// Seconds that an exchange takes, roughly: a few exchanges after the first ones. Collective.
    pub(super) fn probe(
        &mut self,
        wire: &Wire,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: Bytes,
    ) -> Result<f64, MpiError> {
        self.times.iter_mut().for_each(Vec::clear);
        self.exchanges(wire, mode, root, length.0 as usize, 0..PROBES, false)?;
        let start = Instant::now();
        self.exchanges(wire, mode, root, length.0 as usize, 0..PROBES, false)?;
        self.times.iter_mut().for_each(Vec::clear);
        Ok(start.elapsed().as_secs_f64() / PROBES as f64)
    }

    fn cell(&mut self, source: Rank, precise: bool) -> Cell {
        let samples = self.times[source].len() as u32;
        let summary = Summary::of(&mut self.times[source]);
        let damaged = self.damaged[source];
        let state = if damaged > 0 { State::Damaged } else { self.stopping.state(precise) };
        Cell { damaged, ..Cell::measured(summary, samples, state) }
    }

    /// Leaves the samples in `self.times`; whether all of them are as precise as asked for.
    fn samples(
        &mut self,
        world: &SimpleCommunicator,
        wire: &Wire,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: usize,
    ) -> Result<bool, MpiError> {
        let begin = Instant::now();
        self.times.iter_mut().for_each(Vec::clear);
        self.exchanges(wire, mode, root, length, 0..self.warmup, false)?;
        self.times.iter_mut().for_each(Vec::clear);
        self.damaged.fill(0);
        let warm = Instant::now();
        self.shares.warmup += warm - begin;
        let mut done = 0;
        let mut precise = false;
        loop {
            let batch = self.stopping.next_batch(done);
            if batch == 0 || precise {
                break;
            }
            self.exchanges(wire, mode, root, length, done..done + batch, self.verify)?;
            done += batch;
            if self.stopping.is_adaptive() {
                let Self { times, stopping, .. } = self;
                let imprecise = times.iter().filter(|times| !times.is_empty()).any(|times| !stopping.is_precise(times));
                precise = largest(world, u64::from(imprecise)) == 0;
            }
        }
        self.shares.timed += warm.elapsed();
        Ok(precise)
    }

    /// The exchanges of these numbers; their times are added to `self.times`.
    fn exchanges(
        &mut self,
        wire: &Wire,
        mode: &mut dyn Collective,
        root: Option<Rank>,
        length: usize,
        numbers: Range<usize>,
        verify: bool,
    ) -> Result<(), MpiError> {
        let Self { me, ranks, seed, damage, data, times, arrivals, damaged, .. } = self;
        let (me, seed, ranks) = (*me, *seed, *ranks);
        let data = &mut data[..length];
        for number in numbers {
            let payload = |from| Payload { seed, from, to: ALL, length, exchange: number as u64 };
            if verify {
                if root.is_none_or(|root| root == me) { payload(me).fill(data) } else { data.fill(0) }
            }
            for _ in 0..mode.barriers() {
                wire.barrier()?;
            }
            let mut message = Message { me, root, data: &mut *data };
            mode.exchange(wire, &mut message, arrivals)?;
            for source in sources(root, ranks) {
                times[source].push(arrivals[source]);
            }
            if verify {
                for source in sources(root, ranks) {
                    let come = mode.come_from(&mut message, source);
                    if let (true, Some(byte)) = (*damage, come.first_mut()) {
                        *byte ^= 1;
                    }
                    damaged[source] += u32::from(!payload(source).is(come));
                }
            }
        }
        Ok(())
    }
}

/// Whose messages reach a rank: all ranks', or the root's.
fn sources(root: Option<Rank>, ranks: usize) -> Range<Rank> {
    root.map_or(0..ranks, |root| root..root + 1)
}

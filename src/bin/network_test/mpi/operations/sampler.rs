//! Samples of one operation: warm-up, a common start, the check of every result, and the slowest process of each
//! sample.
//!
//! The start is handled as in the mode bcast (see `collective`): without synchronised clocks two barriers stand before
//! the operation, every process clocks from its own start, and the time in the second barrier bounds the skew; on
//! synchronised clocks all begin at an agreed time, and the bound is that of the clocks and of what a process was late.

use mpi::{
    collective::SystemOperation,
    traits::{Communicator, CommunicatorCollectives, Root},
};
use netmatrix::{
    measure::{Stopping, WarmUp},
    plan::{
        Circle,
        operation::{FEWEST_SAMPLES, OperationPlan},
    },
    record::operations::Measured,
    stats::{Summary, median},
};

use super::{
    super::{
        clock::Clock,
        collective::{common_start, two_barriers},
        ffi::MpiError,
    },
    Carried, Stage,
};

/// Settings and memory of samples, which last for a run.
pub(super) struct Sampler {
    iterations: usize,
    /// Seconds that the samples of a cell take at most, once there are a few.
    cell_time: f64,
    warmup: WarmUp,
    stopping: Stopping,
    on_clocks: bool,
    seed: u64,
    /// Of the processes of the cell.
    circle: Circle,
    /// Whether every result of this process counts as wrong, for tests.
    damage: bool,
    /// Seconds, `[sample]`.
    times: Vec<f64>,
    /// 1 where the result was wrong, `[sample]`.
    wrong: Vec<f64>,
    /// Seconds, `[sample]`.
    skews: Vec<f64>,
}

/// What came of a cell, on every process.
pub(super) struct Sampled {
    /// Of the slowest process.
    pub(super) measured: Measured,
    /// This process's own median time, in seconds.
    pub(super) own: f64,
}

impl Sampler {
    pub(super) fn new(plan: &OperationPlan, damage: bool) -> Self {
        Self {
            iterations: plan.config.iterations as usize,
            cell_time: plan.typed.cell_time.as_secs_f64(),
            warmup: WarmUp::of(&plan.config),
            stopping: Stopping::of(&plan.config),
            on_clocks: plan.on_clocks(),
            seed: plan.config.seed,
            circle: Circle::default(),
            damage,
            times: Vec::new(),
            wrong: Vec::new(),
            skews: Vec::new(),
        }
    }

    /// Whether clocks have to be synchronised.
    pub(super) fn on_clocks(&self) -> bool {
        self.on_clocks
    }

    /// Measures one cell. Collective.
    pub(super) fn cell(
        &mut self,
        stage: &Stage<'_>,
        clock: &Clock,
        carried: &mut dyn Carried,
    ) -> Result<Sampled, MpiError> {
        self.circle = Circle::drawn(self.seed, stage.procs);
        self.warm_up(stage, clock, carried)?;
        let begin = mpi::time();
        let mut batch = FEWEST_SAMPLES.min(self.iterations);
        let mut slowest = Vec::new();
        while batch > 0 {
            self.take(stage, clock, carried, batch)?;
            slowest.clone_from(&self.times);
            stage.comm.all_reduce_into(&self.times[..], &mut slowest[..], SystemOperation::max());
            let precise = self.stopping.is_precise(&slowest);
            batch = self.next_batch(stage, mpi::time() - begin, precise)?;
        }
        let samples = slowest.len() as u32;
        let mut wrong = self.wrong.clone();
        stage.comm.all_reduce_into(&self.wrong[..], &mut wrong[..], SystemOperation::max());
        let own_skew = median(&mut self.skews) + if self.on_clocks { clock.bound() } else { 0.0 };
        let mut skew = own_skew;
        stage.comm.all_reduce_into(&own_skew, &mut skew, SystemOperation::max());
        let damaged = wrong.iter().filter(|wrong| **wrong > 0.0).count() as u32;
        let measured = Measured { summary: Summary::of(&mut slowest), samples, damaged, skew };
        Ok(Sampled { measured, own: median(&mut self.times) })
    }

    /// How many samples come next; process 0 decides. 0 at the end.
    fn next_batch(&self, stage: &Stage<'_>, elapsed: f64, precise: bool) -> Result<usize, MpiError> {
        let done = self.times.len();
        let next = match self.stopping.is_adaptive() {
            true if precise => 0,
            true => self.stopping.next_batch(done),
            false => {
                // At least one more, unless the time is over: a clock may not have moved.
                let fits = (self.cell_time - elapsed) * done as f64 / elapsed.max(f64::MIN_POSITIVE);
                if fits < 1.0 { 0 } else { (fits as usize).min(self.iterations - done) }
            }
        };
        let mut bytes = (next as u64).to_le_bytes();
        stage.tree().pass_on(&mut bytes, 0)?;
        Ok(u64::from_le_bytes(bytes) as usize)
    }

    /// Exchanges that do not count, until there were enough of them and they have lasted long enough: process 0's clock
    /// decides.
    fn warm_up(&mut self, stage: &Stage<'_>, clock: &Clock, carried: &mut dyn Carried) -> Result<(), MpiError> {
        self.clear();
        let begin = mpi::time();
        let (mut done, mut next) = (0, self.warmup.first());
        while next > 0 {
            self.take(stage, clock, carried, next)?;
            done += next;
            let mut bytes = (self.warmup.next(done, mpi::time() - begin) as u32).to_le_bytes();
            next = 0;
            if self.warmup.has_time() {
                stage.tree().pass_on(&mut bytes, 0)?;
                next = u32::from_le_bytes(bytes) as usize;
            }
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.times.clear();
        self.wrong.clear();
        self.skews.clear();
    }

    /// So many samples more.
    fn take(
        &mut self,
        stage: &Stage<'_>,
        clock: &Clock,
        carried: &mut dyn Carried,
        count: usize,
    ) -> Result<(), MpiError> {
        for list in [&mut self.times, &mut self.wrong, &mut self.skews] {
            list.reserve(count);
        }
        for _ in 0..count {
            stage.wire.watch.at(self.times.len());
            carried.before(stage)?;
            self.circle.shuffle();
            let (start, end) = if self.on_clocks {
                let start = common_start(&stage.tree(), &self.circle, clock, 0)?;
                let began = mpi::time();
                carried.carry_out(stage)?;
                let end = mpi::time();
                self.skews.push(began - start);
                (start, end)
            } else {
                self.skews.push(two_barriers(&stage.tree(), &self.circle)?);
                let start = mpi::time();
                carried.carry_out(stage)?;
                (start, mpi::time())
            };
            stage.wire.watch.stepped(1);
            self.times.push(end - start);
            let right = carried.is_right(stage) && !self.damage;
            self.wrong.push(if right { 0.0 } else { 1.0 });
        }
        Ok(())
    }
}

/// The medians of all processes, at process 0; empty elsewhere. Collective.
pub(super) fn gathered(stage: &Stage<'_>, own: f64) -> Vec<f64> {
    let first = stage.comm.process_at_rank(0);
    if stage.me != 0 {
        first.gather_into(&own);
        return Vec::new();
    }
    let mut all = vec![f64::NAN; stage.procs];
    first.gather_into_root(&own, &mut all[..]);
    all
}

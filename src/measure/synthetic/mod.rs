//! A cluster that exists only as numbers, with faults that are known because they were planted.
//!
//! In: a [`Machine`] (hosts on leaf switches, latency and bandwidth, noise, [`Fault`]s) and a plan. Out: through the
//! same driver as a real run, the matrices that such a machine would give, and the time that it would have taken.
//! It proves logic and statistics; it says nothing about what real networks do.

mod fault;
mod machine;

pub use fault::{Direction, Fault, Symptom};
pub use machine::{Machine, NoiseModel};

use std::time::Duration;

use rand_distr::{Distribution, LogNormal};

use super::{Cells, Fabric, FabricError, Shares, Stop, StopRequest, Stopping};
use crate::{
    plan::{Mode, Pair, Plan, Round, RoundKind, Timing},
    record::{Cell, Extra, State},
    stats::{Summary, median, quantile},
    units::{Bytes, Rank},
};

/// A [`Fabric`] over a [`Machine`]: all ranks in one process.
#[derive(Clone, Debug)]
pub struct Synthetic {
    machine: Machine,
    request: StopRequest,
    stopped: Option<Stop>,
    /// First round of the length that was not carried out.
    skipped: usize,
    plan: Option<Plan>,
    length_index: usize,
    /// How often a length was begun.
    begun: usize,
    /// 0, or the number of the repetition of suspicious pairs.
    attempt: usize,
    simulated: f64,
    samples: Vec<f64>,
    /// What [`Fabric::take_samples`] gives.
    kept: Vec<(Rank, Rank, Vec<f64>)>,
}

impl Synthetic {
    /// Over `machine`.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            request: StopRequest::default(),
            stopped: None,
            skipped: usize::MAX,
            plan: None,
            length_index: 0,
            begun: 0,
            attempt: 0,
            simulated: 0.0,
            samples: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Stops when `request` says so.
    pub fn stopping_on(mut self, request: StopRequest) -> Self {
        self.request = request;
        self
    }

    /// Time that the rounds so far would have taken, in seconds: the pairs of a round at once, rounds in turn.
    pub fn simulated_seconds(&self) -> f64 {
        self.simulated
    }

    /// Fills `self.samples` with what the clock of the timing rank would read; returns the time that passes in all, and
    /// why it was not more.
    fn sample(&mut self, plan: &Plan, source: Rank, destination: Rank, length: Bytes, share: f64) -> (f64, State) {
        let warmup = plan.config.warmup;
        let machine = &self.machine;
        let mut rng = machine.rng(plan.config.seed, plan.mode, self.length_index, self.attempt, (source, destination));
        let sigma = machine.sigma_between(source, destination);
        let scatter = LogNormal::new(0.0, sigma).expect("a standard deviation is finite and not negative");
        let passed = self.begun.saturating_sub(1) as f64 / plan.lengths().len() as f64;
        let disturbance = machine.disturbance(&mut rng) * machine.drift.powf(passed);
        let one_way = |from, to, length| machine.seconds(from, to, length, share) * disturbance;
        let (forth, back, answer) = match plan.mode {
            Mode::SendRecvAndRecvSend => {
                (one_way(source, destination, length), one_way(destination, source, length), true)
            }
            Mode::Put => (one_way(source, destination, length), one_way(destination, source, Bytes(0)), true),
            Mode::Get => (one_way(source, destination, Bytes(0)), one_way(destination, source, length), true),
            _ => (one_way(source, destination, length), one_way(destination, source, Bytes(0)), false),
        };
        let clean = forth + if answer { back } else { 0.0 };
        let clean = clean * machine.mode_factor(plan.mode, plan.config.noise.processes);
        let announcement = if plan.timing() == Some(Timing::Clock) || plan.timing().is_none() { 0.0 } else { back };
        let mut draw = |clean: f64| clean * scatter.sample(&mut rng) * machine.tail(&mut rng);
        self.samples.clear();
        let mut passed = 0.0;
        let mut stopping = Stopping::of(&plan.config);
        let mut precise = false;
        while !precise && stopping.next_batch(self.samples.len()) > 0 {
            for _ in 0..stopping.next_batch(self.samples.len()) {
                let sample = draw(announcement + clean);
                passed += sample;
                self.samples.push(sample);
            }
            precise = stopping.is_precise(&self.samples);
        }
        if plan.timing() == Some(Timing::Transfer) {
            let zero = one_way(source, destination, Bytes(0)) + back;
            let mut zeros: Vec<f64> = (0..plan.config.baseline_exchanges()).map(|_| draw(zero)).collect();
            passed += zeros.iter().sum::<f64>() / 2.0;
            let half = median(&mut zeros) / 2.0;
            self.samples.iter_mut().for_each(|sample| *sample -= half.min(*sample / 2.0));
        }
        (passed + f64::from(warmup) * (clean + announcement), stopping.state(precise))
    }

    /// Measures pairs at the same time; returns the time that passes.
    fn pairs(&mut self, plan: &Plan, pairs: &[Pair], length: Bytes, cells: &mut Cells) -> f64 {
        let shares = self.machine.uplink_shares(pairs);
        let mut longest = 0.0f64;
        for (&Pair { leader, partner }, share) in pairs.iter().zip(shares) {
            let forth = self.cell(plan, cells, leader, partner, length, share);
            let back = self.cell(plan, cells, partner, leader, length, share);
            longest = longest.max(if plan.mode.is_symmetric() { forth.max(back) } else { forth + back });
        }
        longest
    }

    /// Measures one cell; returns the time that passes.
    fn cell(&mut self, plan: &Plan, cells: &mut Cells, from: Rank, to: Rank, length: Bytes, share: f64) -> f64 {
        if self.machine.is_dead(from, to) {
            cells.set(from, to, Cell::missing(State::TimedOut));
            return 0.0;
        }
        let (passed, state) = self.sample(plan, from, to, length, share);
        let mut clock_bound = None;
        if plan.timing() == Some(Timing::Clock) && from != to {
            let ahead = |rank| self.machine.clock_ahead(plan.config.seed, self.length_index, rank);
            let apart = ahead(to) - ahead(from);
            self.samples.iter_mut().for_each(|sample| *sample += apart);
            clock_bound = Some(self.machine.clock_bound());
        }
        let count = self.samples.len() as u32;
        let first = self.samples.first().copied().unwrap_or(f64::NAN);
        if self.attempt > 0 && plan.retest_samples() > 0 {
            self.kept.push((from, to, self.samples.clone()));
        }
        let cell = Cell::measured(Summary::of(&mut self.samples), count, state);
        let extra = Extra::of(&plan.config.optional, |tau| quantile(&mut self.samples, tau), first);
        cells.set(from, to, Cell { clock_bound, extra, ..cell });
        passed
    }
}

impl Fabric for Synthetic {
    fn prepare(&mut self, plan: &Plan) -> Result<(), FabricError> {
        self.plan = Some(plan.clone());
        Ok(())
    }

    fn begin_length(&mut self, _plan: &Plan, length_index: usize) -> Result<(), FabricError> {
        // Other random numbers than at the first time.
        self.attempt = if length_index < self.length_index { usize::MAX } else { 0 };
        self.length_index = length_index;
        self.begun += 1;
        self.skipped = usize::MAX;
        Ok(())
    }

    fn finished(&mut self) -> Result<usize, FabricError> {
        Ok(self.skipped)
    }

    fn run(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), FabricError> {
        self.stopped = self.stopped.or_else(|| self.request.wish());
        if self.stopped.is_some() {
            self.skipped = self.skipped.min(round.index());
            return Ok(());
        }
        let plan = self.plan.take().expect("prepare comes before run");
        let ranks = plan.ranks();
        let passed = match round.kind() {
            RoundKind::Pairs => self.pairs(&plan, &round.pairs(), length, cells),
            RoundKind::Root(root) => {
                (0..ranks).map(|to| self.cell(&plan, cells, root, to, length, 1.0)).fold(0.0, f64::max)
            }
            RoundKind::Everyone => {
                let share = 1.0 / (ranks.max(2) - 1) as f64;
                let mut longest = 0.0f64;
                for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
                    longest = longest.max(self.cell(&plan, cells, from, to, length, share));
                }
                longest
            }
        };
        self.simulated += passed;
        self.plan = Some(plan);
        Ok(())
    }

    fn probe(&mut self, length: Bytes) -> Result<Option<f64>, FabricError> {
        Ok(Some(self.machine.seconds(0, self.machine.hosts.ranks() - 1, length, 1.0)))
    }

    fn run_pairs(
        &mut self,
        pairs: &[Pair],
        number: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), FabricError> {
        let plan = self.plan.take().expect("prepare comes before run_pairs");
        // Other random numbers than at the first time.
        self.attempt = number + 1;
        self.kept.clear();
        self.simulated += self.pairs(&plan, pairs, length, cells);
        self.attempt = 0;
        self.plan = Some(plan);
        Ok(())
    }

    fn take_samples(&mut self) -> Vec<(Rank, Rank, Vec<f64>)> {
        std::mem::take(&mut self.kept)
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn shares(&mut self) -> Result<Shares, FabricError> {
        Ok(Shares { timed: Duration::try_from_secs_f64(self.simulated).unwrap_or(Duration::MAX), ..Shares::default() })
    }
}

#[cfg(test)]
mod tests;

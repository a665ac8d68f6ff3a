//! Goes through a plan: every operation on every number of processes at every length, then probes, then programs.
//!
//! All ranks call [`Tour::run`]. Those that are not among the processes wait until the others have finished a number of
//! processes; then all agree whether to go on. The root keeps what is measured, and saves it now and then.

use std::time::{Duration, Instant};

use mpi::{
    topology::{Color, SimpleCommunicator},
    traits::{Communicator, Root},
};
use netmatrix::{
    measure::{FabricError, Stop, StopRequest},
    plan::operation::{NamedProgram, Operation, OperationPlan, ProbeKind},
    record::{
        Phase,
        operations::{Measured, Operations, Probe, ProgramRun},
    },
    stats::Summary,
    units::{Bytes, Rank},
};

use super::{
    super::{ROOT, TrafficError, buffer::Buffer, clock::Clock, fatal, ffi::Wire, largest, slack},
    Carried, Stage, local, make, places, probes,
    probes::Ends,
    sampler::{Sampler, gathered},
    supersteps::Supersteps,
};
use crate::watchdog::Watchdog;

/// Makes what is carried out on a stage. Collective.
type Maker<'a> = dyn Fn(&Stage<'_>) -> Result<Box<dyn Carried>, TrafficError> + 'a;

/// How often the root saves at most, but for the end.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// How a tour ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TourEnd {
    /// All is measured.
    Complete,
    /// What is measured is saved.
    Stopped(Stop),
}

/// What the root may show.
#[derive(Clone, Copy, Debug)]
pub enum TourEvent<'a> {
    /// An operation is measured on a further number of processes.
    Cells(Operation),
    /// A probe is measured.
    Probe(ProbeKind),
    /// A program has run.
    Program(&'a str),
}

/// The root's part: what is measured, and how it is saved.
pub struct Keeper<'a> {
    /// What is measured.
    pub run: &'a mut Operations,
    /// Saves it, or says why it cannot.
    pub save: &'a mut dyn FnMut(&Operations) -> bool,
    /// Shows how far it is.
    pub show: &'a mut dyn FnMut(TourEvent<'_>),
}

/// The processes of one number, on a rank that is one of them.
struct Group {
    comm: SimpleCommunicator,
    wire: Wire,
    me: usize,
    places: Vec<Vec<usize>>,
    clock: Clock,
}

/// One rank's way through a plan.
pub struct Tour<'w> {
    world: &'w SimpleCommunicator,
    wire: Wire,
    me: Rank,
    plan: &'w OperationPlan,
    request: StopRequest,
    sampler: Sampler,
    /// `[procs]`, behind those of the plan those of its programs.
    groups: Vec<Option<Group>>,
    saved: Instant,
}

impl<'w> Tour<'w> {
    /// Makes the communicators. With `damage` every result of this rank counts as wrong. Collective.
    pub fn new(
        world: &'w SimpleCommunicator,
        plan: &'w OperationPlan,
        request: StopRequest,
        watchdog: &Watchdog,
        damage: bool,
    ) -> Result<Self, FabricError> {
        let me = world.rank() as Rank;
        let error = |error| fatal(me, plan.hosts.name_of(me), error);
        let watch = watchdog.watch();
        watch.queue(Phase::Setup, None);
        let wire = Wire::over(world, watch.clone()).map_err(error)?;
        let mut groups = Vec::new();
        for members in plan.members.iter().chain(&plan.program_members()) {
            let place = members.iter().position(|rank| *rank == me);
            let color = place.map_or(Color::undefined(), |_| Color::with_value(0));
            let comm = world.split_by_color_with_key(color, place.unwrap_or(0) as i32);
            groups.push(match (place, comm) {
                (Some(me), Some(comm)) => {
                    let wire = Wire::over(&comm, watch.among(members)).map_err(error)?;
                    Some(Group { comm, wire, me, places: places(&plan.hosts, members), clock: Clock::default() })
                }
                _ => None,
            });
        }
        watch.rest();
        let sampler = Sampler::new(plan, damage);
        Ok(Self { world, wire, me, plan, request, sampler, groups, saved: Instant::now() })
    }

    /// Measures what `keeper`, which the root alone has, lacks. Collective.
    pub fn run(&mut self, mut keeper: Option<Keeper<'_>>) -> Result<TourEnd, FabricError> {
        let plan = self.plan;
        for (number, operation) in plan.operations.iter().enumerate() {
            for procs in 0..plan.members.len() {
                self.block(number, *operation, procs, &mut keeper)?;
                if let Some(stop) = self.settle(&mut keeper, false) {
                    return Ok(self.end(&mut keeper, stop));
                }
            }
        }
        for kind in &plan.probes {
            self.probe(*kind, &mut keeper)?;
            if let Some(stop) = self.settle(&mut keeper, false) {
                return Ok(self.end(&mut keeper, stop));
            }
        }
        for number in 0..plan.programs.len() {
            self.program(number, &mut keeper)?;
            if let Some(stop) = self.settle(&mut keeper, false) {
                return Ok(self.end(&mut keeper, stop));
            }
        }
        if let Some(keeper) = &mut keeper {
            keeper.run.complete = true;
        }
        Ok(self.settle(&mut keeper, true).map_or(TourEnd::Complete, |stop| match stop {
            // All is there.
            Stop::TimeLimit | Stop::Signal => TourEnd::Complete,
            Stop::Output => TourEnd::Stopped(stop),
        }))
    }

    /// Saves what there is, and ends.
    fn end(&mut self, keeper: &mut Option<Keeper<'_>>, stop: Stop) -> TourEnd {
        let output = self.settle(keeper, true) == Some(Stop::Output);
        TourEnd::Stopped(if output { Stop::Output } else { stop })
    }

    /// Saves, if it is time or `now`; whether to stop. Collective.
    fn settle(&mut self, keeper: &mut Option<Keeper<'_>>, now: bool) -> Option<Stop> {
        let mut own = self.request.wish();
        if let Some(Keeper { run, save, .. }) = keeper
            && (now || self.saved.elapsed() >= SAVE_EVERY)
        {
            self.saved = Instant::now();
            self.wire.watch.enter(Phase::Writing, None);
            if !save(run) {
                own = Some(Stop::Output);
            }
        }
        self.wire.watch.queue(Phase::Agreement, None);
        let stop = Stop::from_code(largest(self.world, u64::from(Stop::code(own))) as u8);
        self.wire.watch.rest();
        stop
    }

    /// The root's number, on all ranks. Collective.
    fn told(&self, mut number: u64) -> u64 {
        self.wire.watch.queue(Phase::Agreement, None);
        self.world.process_at_rank(ROOT as i32).broadcast_into(&mut number);
        self.wire.watch.rest();
        number
    }

    fn failed(&self, error: TrafficError) -> FabricError {
        let host = self.plan.hosts.name_of(self.me);
        match error {
            TrafficError::Mpi(error) => fatal(self.me, host, error),
            TrafficError::Memory(bytes) => {
                FabricError::Memory { bytes, purpose: "blocks and results", rank: self.me, host: host.to_owned() }
            }
        }
    }

    /// One operation on one number of processes, at all lengths that are not there yet.
    fn block(
        &mut self,
        number: usize,
        operation: Operation,
        procs: usize,
        keeper: &mut Option<Keeper<'_>>,
    ) -> Result<(), FabricError> {
        let plan = self.plan;
        let lengths = plan.lengths_of(operation, plan.members[procs].len());
        let place = |length: &Bytes| plan.lengths.binary_search(length).unwrap_or(0);
        let there = |run: &Operations| {
            lengths.iter().take_while(|length| run.measured(number, procs, place(length)).is_there()).count()
        };
        let first = self.told(keeper.as_ref().map_or(0, |keeper| there(keeper.run)) as u64) as usize;
        if first == lengths.len() {
            return Ok(());
        }
        if let Some(keeper) = keeper {
            (keeper.show)(TourEvent::Cells(operation));
        }
        self.wire.watch.operation(Some(operation.algorithm));
        for length in &lengths[first..] {
            let measured = self.cell(procs, *length, &|stage| make(operation, stage, length.0 as usize));
            let Some((measured, own)) = measured.map_err(|error| self.failed(error))? else { continue };
            if let Some(Keeper { run, .. }) = keeper {
                *run.measured_mut(number, procs, place(length)) = measured;
                if procs + 1 == plan.members.len() {
                    run.own_mut(number, place(length)).copy_from_slice(&own);
                }
            }
            if self.group_stops(procs) {
                break;
            }
        }
        self.wire.watch.operation(None);
        Ok(())
    }

    /// Whether one of the processes wants to stop. Collective among them.
    fn group_stops(&self, procs: usize) -> bool {
        let own = u64::from(Stop::code(self.request.wish()));
        let Some(group) = &self.groups[procs] else { return false };
        self.wire.watch.queue(Phase::Agreement, None);
        let stops = largest(&group.comm, own) > 0;
        self.wire.watch.rest();
        stops
    }

    /// Measures one cell, if this rank is one of the processes: the slowest process, and at the root every process's
    /// time.
    fn cell(
        &mut self,
        procs: usize,
        length: Bytes,
        make: &Maker<'_>,
    ) -> Result<Option<(Measured, Vec<f64>)>, TrafficError> {
        let Some(group) = &mut self.groups[procs] else { return Ok(None) };
        let Group { comm, wire, me, places, clock } = group;
        let count = comm.size() as usize;
        let stage = Stage { wire, comm, me: *me, procs: count, places, compute: self.plan.typed.compute };
        wire.watch.length(length, slack(length, 2 * count));
        wire.watch.queue(Phase::Window, None);
        let mut carried = make(&stage)?;
        if self.sampler.on_clocks() {
            wire.watch.queue(Phase::Clock, None);
            clock.begin_length(wire, *me, count)?;
        }
        // Whoever's part is short waits for the others' parts.
        wire.watch.queue(Phase::Exchange, None);
        let sampled = self.sampler.cell(&stage, clock, &mut *carried)?;
        let own = gathered(&stage, sampled.own);
        wire.watch.queue(Phase::Window, None);
        carried.close()?;
        wire.watch.rest();
        Ok(Some((sampled.measured, own)))
    }

    fn program(&mut self, number: usize, keeper: &mut Option<Keeper<'_>>) -> Result<(), FabricError> {
        let NamedProgram { name, text, program } = &self.plan.programs[number];
        let is_there = keeper.as_ref().is_some_and(|keeper| keeper.run.programs.len() > number);
        if self.told(u64::from(is_there)) == 1 {
            return Ok(());
        }
        if let Some(keeper) = keeper {
            (keeper.show)(TourEvent::Program(name));
        }
        let longest = program.steps.iter().flat_map(|step| &step.messages).map(|message| message.packets).max();
        let length = Bytes(longest.unwrap_or(0).saturating_mul(program.packet.0));
        let make = |stage: &Stage<'_>| -> Result<Box<dyn Carried>, TrafficError> {
            Ok(Box::new(Supersteps::new(program, stage)?))
        };
        let measured = self.cell(self.plan.members.len() + number, length, &make);
        let measured = measured.map_err(|error| self.failed(error))?;
        if let (Some(Keeper { run, .. }), Some((measured, own))) = (keeper, measured) {
            let (name, text) = (name.clone(), text.clone());
            run.programs.push(ProgramRun { name, text, procs: program.processes, measured, own });
        }
        Ok(())
    }

    fn probe(&mut self, kind: ProbeKind, keeper: &mut Option<Keeper<'_>>) -> Result<(), FabricError> {
        let is_there = keeper.as_ref().is_some_and(|keeper| keeper.run.probes.iter().any(|probe| probe.kind == kind));
        if self.told(u64::from(is_there)) == 1 {
            return Ok(());
        }
        if let Some(keeper) = keeper {
            (keeper.show)(TourEvent::Probe(kind));
        }
        let probes = if kind.is_local() { self.alone(kind) } else { self.between(kind) };
        let probes = probes.map_err(|error| self.failed(error))?;
        if let Some(keeper) = keeper {
            keeper.run.probes.extend(probes);
        }
        Ok(())
    }

    /// The first rank of every host by itself; all at once. Right at the root.
    fn alone(&self, kind: ProbeKind) -> Result<Vec<Probe>, TrafficError> {
        let plan = self.plan;
        let limits = local::Limits {
            samples: plan.config.iterations as usize,
            time: plan.typed.cell_time.as_secs_f64(),
            compute: plan.typed.compute,
        };
        let wanted = plan.lengths_of_probes();
        let mut own = Vec::new();
        for length in &plan.lengths {
            let works = plan.hosts.place_of(self.me) == 0 && wanted.contains(length);
            let measured = if works { local::measure(kind, length.0 as usize, &limits)? } else { None };
            let Measured { summary: Summary { min, average, median, max, deviation }, samples, .. } =
                measured.unwrap_or(Measured::NOTHING);
            own.extend([min, average, median, max, deviation, f64::from(samples)]);
        }
        self.wire.watch.queue(Phase::Gathering, None);
        let root = self.world.process_at_rank(ROOT as i32);
        let mut all = Vec::new();
        if self.me == ROOT {
            all.resize(own.len() * self.world.size() as usize, 0.0);
            root.gather_into_root(&own[..], &mut all[..]);
        } else {
            root.gather_into(&own[..]);
        }
        self.wire.watch.rest();
        let measured = |&[min, average, median, max, deviation, samples]: &[f64; 6]| {
            let summary = Summary { min, average, median, max, deviation };
            Measured { summary, samples: samples as u32, ..Measured::NOTHING }
        };
        let of_rank = |(rank, values): (Rank, &[f64])| Probe {
            kind,
            source: rank,
            destination: rank,
            messages: 1,
            delays: vec![0.0; plan.lengths.len()],
            measured: values.as_chunks().0.iter().map(measured).collect(),
        };
        let ranks = all.chunks_exact(own.len().max(1)).enumerate();
        Ok(ranks.filter(|(rank, _)| plan.hosts.place_of(*rank) == 0).map(of_rank).collect())
    }

    /// Between the root and another rank, one pair after the other. Right at the root.
    fn between(&self, kind: ProbeKind) -> Result<Vec<Probe>, TrafficError> {
        let plan = self.plan;
        let limits = probes::Limits {
            samples: plan.config.iterations as usize,
            warmup: plan.config.warmup as usize,
            time: plan.typed.cell_time.as_secs_f64(),
        };
        let wanted = plan.lengths_of_probes();
        let mut probes = Vec::new();
        for (source, destination) in plan.probe_pairs().into_iter().filter(|pair| [pair.0, pair.1].contains(&self.me)) {
            let ends = Ends { wire: &self.wire, me: self.me, source, destination };
            let other = if self.me == source { destination } else { source };
            let train = matches!(kind, ProbeKind::PrttTrain | ProbeKind::PrttDelayed);
            let messages = if train { probes::TRAIN } else { 1 };
            let (mut delays, mut measured) = (Vec::new(), Vec::new());
            for length in &plan.lengths {
                if !wanted.contains(length) {
                    delays.push(0.0);
                    measured.push(Measured::NOTHING);
                    continue;
                }
                let mut data = Buffer::touched(length.0 as usize, 0x55)?;
                self.wire.watch.length(*length, slack(*length, 2 * messages as usize));
                self.wire.watch.enter(Phase::Exchange, Some(other));
                let delay = if kind == ProbeKind::PrttDelayed { ends.pause(&mut data, &limits)? } else { 0.0 };
                delays.push(delay);
                measured.push(ends.measure(kind, &mut data, delay, &limits)?);
            }
            self.wire.watch.rest();
            probes.push(Probe { kind, source, destination, messages, delays, measured });
        }
        Ok(probes)
    }
}

//! The [`Fabric`] over MPI: carries out rounds between real processes.
//!
//! In: rounds of a plan. Out: the cells that this rank's clock measured, and at the root the rows of all ranks.
//! What is exchanged is one small file per mode ([`Traffic::of`] is the list of them); `sampler` takes the samples of
//! pairs, `collective` those of collective modes. `turn` says when a pair may begin, `clock` keeps common time,
//! `noise` disturbs, `gather` brings rows to the root. Only `ffi` is unsafe.

mod all_to_all;
mod async_one_to_one;
mod bcast;
mod buffer;
mod clock;
mod clock_check;
mod collective;
mod ffi;
mod gather;
mod get;
mod noise;
mod one_to_one;
pub mod operations;
mod pair;
mod payload;
mod put;
mod sampler;
mod send_recv_and_recv_send;
mod traffic;
mod tree;
mod turn;

use std::{ops::Range, time::Duration};

use mpi::{
    collective::SystemOperation,
    topology::SimpleCommunicator,
    traits::{Communicator, CommunicatorCollectives},
};
use netmatrix::{
    measure::{Cells, Fabric, FabricError, Shares, Stop, StopRequest, Suspect, View},
    plan::{Mode, Pair, Plan, Round, RoundKind, Timing},
    record::{Avoided, Cell, Phase},
    units::{Bytes, Hosts, Rank},
};

use crate::watchdog::Watchdog;

use self::{
    clock::Clock,
    ffi::{MpiError, Wire},
    traffic::{Traffic, TrafficError},
    tree::Tree,
};

#[allow(unused_imports, reason = "only the library that a simulator loads has its main from there")]
pub(crate) use self::ffi::{export_clock, export_main};

pub use self::gather::spread;

/// Longest host name that travels between ranks, in bytes: what result files can hold.
const HOST_NAME: usize = 100;

/// The rank that gathers and writes.
pub const ROOT: Rank = 0;

/// Host names of all ranks. Collective.
pub fn hosts(world: &SimpleCommunicator) -> Hosts {
    let name = mpi::environment::processor_name().unwrap_or_default();
    let mut own = [0u8; HOST_NAME];
    let mut length = name.len().min(HOST_NAME);
    while !name.is_char_boundary(length) {
        length -= 1;
    }
    own[..length].copy_from_slice(&name.as_bytes()[..length]);
    let mut all = vec![0u8; HOST_NAME * world.size() as usize];
    world.all_gather_into(&own[..], &mut all[..]);
    Hosts::new(all.as_chunks::<HOST_NAME>().0.iter().map(|name| {
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(HOST_NAME);
        String::from_utf8_lossy(&name[..end]).into_owned()
    }))
}

/// Smallest step of `MPI_Wtime`, in seconds: that of the rank where it is largest. Collective.
pub fn clock_step(world: &SimpleCommunicator) -> f64 {
    let mut step = 0.0;
    world.all_reduce_into(&clock::step(), &mut step, SystemOperation::max());
    step
}

/// A rank whose host has ranks with which it shares no memory: several hosts, or containers, are called alike. Collective.
pub fn called_alike(world: &SimpleCommunicator, hosts: &Hosts) -> Option<Rank> {
    let me = world.rank() as Rank;
    let together = world.split_shared(me as i32).size() as usize;
    let is_alike = hosts.ranks_of(hosts.host_of(me)).len() > together;
    usize::try_from(largest(world, if is_alike { me as u64 + 1 } else { 0 })).ok()?.checked_sub(1)
}

/// The largest of all ranks' values. Collective.
pub fn largest(world: &SimpleCommunicator, own: u64) -> u64 {
    let mut largest = own;
    world.all_reduce_into(&own, &mut largest, SystemOperation::max());
    largest
}

/// Whether a number is the same on all ranks. Collective.
pub fn all_have(world: &SimpleCommunicator, number: u64) -> bool {
    let (high, low) = (largest(world, number), !largest(world, !number));
    high == low
}

/// Whether all ranks follow the same plans, as they do if they were started with the same command line. Collective.
pub fn plans_agree(world: &SimpleCommunicator, plans: &[Plan]) -> bool {
    // Rotated, so that the order counts and equal plans do not cancel out.
    let digest = plans.iter().fold(plans.len() as u64, |sum, plan| sum.rotate_left(7) ^ u64::from(plan.digest()));
    all_have(world, digest)
}

/// One rank's end of the machine.
pub struct MpiFabric<'w> {
    world: &'w SimpleCommunicator,
    wire: Wire,
    me: Rank,
    host: String,
    request: StopRequest,
    watchdog: Watchdog,
    /// What an earlier try is known to have been stuck in.
    avoided: Avoided,
    damage: bool,
    silent: bool,
    /// Smallest step of all ranks' clocks, in seconds.
    clock_step: f64,
    /// Why this rank skips exchanges: others may have still to learn it.
    stopped: Option<Stop>,
    /// Number of probes so far, which tells their handshakes apart.
    probes: usize,
    /// First round of the part at hand that was not, or not wholly, carried out.
    skipped: Option<usize>,
    run: Option<RunState>,
}

/// What lasts for one run.
struct RunState {
    plan: Plan,
    traffic: Traffic,
    clock: Clock,
    length_index: usize,
    /// Rounds of the current length that are carried out before all agree again.
    part: Range<usize>,
    /// Turns of the lengths before the current one, which number the handshakes.
    turns_before: usize,
    /// How often a length was begun: one is measured again at the end.
    begun: usize,
    /// Turns of the current length's schedule; repetitions of suspicious pairs are numbered after them.
    turns: usize,
}

impl<'w> MpiFabric<'w> {
    /// Over all ranks of `world`; stops when `request` says so. Collective.
    pub fn new(
        world: &'w SimpleCommunicator,
        host: &str,
        request: StopRequest,
        watchdog: &Watchdog,
    ) -> Result<Self, FabricError> {
        let me = world.rank() as Rank;
        let host = host.to_owned();
        let wire = Wire::over(world, watchdog.watch().clone()).map_err(|error| fatal(me, &host, error))?;
        Ok(Self {
            world,
            wire,
            me,
            host,
            request,
            watchdog: watchdog.clone(),
            avoided: Avoided::default(),
            damage: false,
            silent: false,
            clock_step: clock_step(world),
            stopped: None,
            probes: 0,
            skipped: None,
            run: None,
        })
    }

    /// Smallest step of `MPI_Wtime`, in seconds: that of the rank where it is largest.
    pub fn clock_step(&self) -> f64 {
        self.clock_step
    }

    /// Leaves out what is known to be stuck; the same on all ranks.
    pub fn avoid(&mut self, avoided: Avoided) {
        self.avoided = avoided;
    }

    /// Answers too late whenever another rank asks this one to begin.
    pub fn fall_silent(&mut self) {
        self.silent = true;
    }

    /// Spoils payloads that this rank has received before they are checked.
    pub fn damage_payloads(&mut self) {
        self.damage = true;
    }

    /// A failure that leaves no way to go on: the ranks no longer know of each other where they are.
    fn fatal(&self, error: MpiError) -> FabricError {
        fatal(self.me, &self.host, error)
    }

    /// Times a few exchanges between the root and a rank on another host, if there is one.
    fn probe_traffic(&mut self, length: Bytes) -> Result<Option<f64>, MpiError> {
        let run = self.run.as_ref().expect("prepare comes before probe");
        let (hosts, mode) = (&run.plan.hosts, run.plan.mode);
        let usable = |rank: &Rank| !self.avoided.pair(hosts, mode, (ROOT, *rank), length);
        let elsewhere = |rank: &Rank| hosts.host_of(*rank) != hosts.host_of(ROOT);
        let far = (1..hosts.ranks()).filter(usable).find(elsewhere).or_else(|| (1..hosts.ranks()).find(usable));
        let pair = far.map(|far| Pair { leader: ROOT, partner: far });
        self.wire.watch.length(length, slack(length, 1));
        self.probes += 1;
        let met = match pair.filter(|pair| !mode.is_collective() && pair.other(self.me).is_some()) {
            Some(pair) => self.meet_for_probe(pair)?,
            None => mode.is_collective() && !self.avoided.round(mode, Some(ROOT), length),
        };
        let (true, Some(pair)) = (met, pair) else { return Ok(None) };
        self.wire.watch.enter(Phase::Probe, pair.other(self.me));
        let run = self.run.as_mut().expect("prepare comes before probe");
        match &mut run.traffic {
            Traffic::Pairs { exchange, sampler, .. } => {
                sampler.probe(&self.wire, &run.clock, exchange.as_mut(), pair, self.me, length).map(Some)
            }
            Traffic::Collective { exchange, ensemble } => ensemble
                .probe(
                    &self.wire,
                    &run.clock,
                    exchange.as_mut(),
                    (run.plan.mode == Mode::Bcast).then_some(ROOT),
                    length,
                )
                .map(Some),
        }
    }

    /// Synchronises clocks as often as is due before round number `index`.
    fn keep_time(&mut self, index: usize) -> Result<(), MpiError> {
        match &mut self.run {
            Some(run) if run.plan.timing() == Some(Timing::Clock) => {
                self.wire.watch.queue(Phase::Clock, None);
                run.clock.keep_until(&self.wire, self.me, run.plan.ranks(), index)
            }
            _ => Ok(()),
        }
    }

    fn tree(&self) -> Tree<'_> {
        Tree { wire: &self.wire, me: self.me, ranks: self.world.size() as usize }
    }

    /// Returns when all have come here. Collective.
    fn barrier(&self) -> Result<(), FabricError> {
        self.tree().largest(Phase::Barrier, 0).map(drop).map_err(|error| self.fatal(error))
    }
}

/// The slowest network that anybody would measure, bytes per second: Fast Ethernet. A message may take as long as there
/// before its exchange counts as stuck.
const SLOWEST: f64 = 12.5e6;

/// What an exchange of messages of `length` may take besides the timeout: both ways, one message from each of `senders`.
fn slack(length: Bytes, senders: usize) -> Duration {
    Duration::from_secs_f64(2.0 * length.0 as f64 * senders as f64 / SLOWEST)
}

fn fatal(rank: Rank, host: &str, error: MpiError) -> FabricError {
    FabricError::Mpi { call: error.call, rank, host: host.to_owned(), reason: error.text }
}

impl Fabric for MpiFabric<'_> {
    fn view(&self) -> View {
        View::Rank(self.me)
    }

    fn prepare(&mut self, plan: &Plan) -> Result<(), FabricError> {
        // Memory that is being touched is no wait.
        self.wire.watch.mode(Some(plan.mode));
        self.wire.watch.rest();
        let traffic =
            Traffic::of(plan, &self.wire, self.me, self.damage, self.clock_step, &self.request).map_err(|error| {
                match error {
                    TrafficError::Memory(bytes) => FabricError::Memory {
                        bytes,
                        purpose: "messages and samples",
                        rank: self.me,
                        host: self.host.clone(),
                    },
                    TrafficError::Mpi(error) => self.fatal(error),
                }
            })?;
        let mut clock = Clock::default();
        if plan.timing() == Some(Timing::Clock) {
            self.wire.watch.queue(Phase::Clock, None);
            clock.first_synchronise(&self.wire, self.me, plan.ranks()).map_err(|error| self.fatal(error))?;
        }
        self.wire.watch.rest();
        let plan = plan.clone();
        self.run =
            Some(RunState { plan, traffic, clock, length_index: 0, part: 0..0, turns_before: 0, begun: 0, turns: 0 });
        Ok(())
    }

    fn begin_length(&mut self, plan: &Plan, length_index: usize) -> Result<(), FabricError> {
        self.stopped = None;
        self.skipped = None;
        let run = self.run.as_mut().expect("prepare comes before begin_length");
        run.length_index = length_index;
        run.turns = plan.rounds(length_index).len();
        run.turns_before = run.begun * (run.turns + 2 * plan.retests());
        run.begun += 1;
        let senders = if plan.mode.is_collective() { plan.ranks() } else { 1 };
        self.wire.watch.length(plan.lengths()[length_index], slack(plan.lengths()[length_index], senders));
        if plan.timing() == Some(Timing::Clock) {
            self.wire.watch.queue(Phase::Clock, None);
            let synchronised = run.clock.begin_length(&self.wire, self.me, plan.ranks());
            synchronised.map_err(|error| self.fatal(error))?;
        }
        // Nobody measures while others still probe, or learn the time.
        self.barrier()
    }

    fn seconds(&self) -> f64 {
        mpi::time()
    }

    fn time_of_day(&self) -> f64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(f64::NAN, |since| since.as_secs_f64())
    }

    fn begin_part(&mut self, rounds: Range<usize>) {
        self.skipped = None;
        if let Some(run) = &mut self.run {
            if run.plan.timing() == Some(Timing::Clock) {
                run.clock.begin_part(&rounds);
            }
            run.part = rounds;
        }
    }

    fn end_part(&mut self) -> Result<(), FabricError> {
        // Whoever has rounds left would wait for the others to learn the time.
        let end = self.run.as_ref().map_or(0, |run| run.part.end);
        self.keep_time(end).map_err(|error| self.fatal(error))
    }

    fn finished(&mut self) -> Result<usize, FabricError> {
        let skipped = self.skipped.map_or(u64::MAX, |round| round as u64);
        let finished = !self.tree().largest(Phase::Agreement, !skipped).map_err(|error| self.fatal(error))?;
        Ok(usize::try_from(finished).unwrap_or(usize::MAX))
    }

    fn collect(&mut self, own: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), FabricError> {
        gather::bytes(self.tree(), own, each).map_err(|error| self.fatal(error))
    }

    fn spread(&mut self, bytes: &mut Vec<u8>) -> Result<(), FabricError> {
        self.tree().spread(bytes).map_err(|error| self.fatal(error))
    }

    fn run(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), FabricError> {
        self.keep_time(round.index()).map_err(|error| self.fatal(error))?;
        match round.kind() {
            RoundKind::Pairs if round.is_turn() => self.take_turn(round, length, cells),
            RoundKind::Pairs => self.meet(round, length, cells),
            RoundKind::Root(root) => self.gather_round(Some(root), round.index(), length, cells),
            RoundKind::Everyone => self.gather_round(None, round.index(), length, cells),
        }
        .map_err(|error| self.fatal(error))
    }

    fn end_length(&mut self, cells: &mut Cells) -> Result<(), FabricError> {
        let run = self.run.as_mut().expect("prepare comes before end_length");
        if run.plan.timing() != Some(Timing::Clock) {
            return Ok(());
        }
        let learned = run.clock.end_length(self.world, &self.wire, self.me, run.plan.ranks(), run.turns);
        if let (Ok(clocks), Traffic::Pairs { sampler, .. }) = (&learned, &mut run.traffic) {
            sampler.look_back(clocks, self.me, cells);
        }
        learned.map(drop).map_err(|error| self.fatal(error))
    }

    fn probe(&mut self, length: Bytes) -> Result<Option<f64>, FabricError> {
        let seconds = self.probe_traffic(length).map_err(|error| self.fatal(error));
        self.wire.watch.rest();
        seconds
    }

    fn run_pairs(
        &mut self,
        pairs: &[Pair],
        number: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), FabricError> {
        // Nobody begins before the pairs of the call before are done.
        self.barrier()?;
        if let Some(RunState { plan, traffic: Traffic::Pairs { sampler, .. }, .. }) = &mut self.run {
            sampler.keep_samples(plan.retest_samples() > 0);
        }
        let turn = self.run.as_ref().map_or(0, |run| run.turns) + number;
        match pairs.iter().find(|pair| pair.other(self.me).is_some()) {
            Some(pair) => {
                let measured = self.measure_pair(*pair, turn, mpi::time(), length, cells);
                measured.map_err(|error| self.fatal(error))
            }
            None => Ok(()),
        }
    }

    fn take_samples(&mut self) -> Vec<(Rank, Rank, Vec<f64>)> {
        match &mut self.run {
            Some(RunState { traffic: Traffic::Pairs { sampler, .. }, .. }) => sampler.take_samples(),
            _ => Vec::new(),
        }
    }

    fn all_gather(&mut self, own: &[f64]) -> Result<Vec<f64>, FabricError> {
        let mut all = vec![0.0; own.len() * self.world.size() as usize];
        self.wire.watch.queue(Phase::Agreement, None);
        self.world.all_gather_into(own, &mut all[..]);
        self.wire.watch.rest();
        Ok(all)
    }

    fn sum(&mut self, numbers: &mut [f64]) -> Result<(), FabricError> {
        // As many everywhere, so all or nobody: SimGrid divides by their size.
        if numbers.is_empty() {
            return Ok(());
        }
        let own = numbers.to_vec();
        self.wire.watch.queue(Phase::Agreement, None);
        self.world.all_reduce_into(&own[..], numbers, SystemOperation::sum());
        self.wire.watch.rest();
        Ok(())
    }

    fn worst(&mut self, own: Vec<Suspect>, most: usize) -> Result<Vec<Suspect>, FabricError> {
        let hosts = &self.run.as_ref().expect("prepare comes before worst").plan.hosts;
        gather::worst(self.tree(), hosts, own, most).map_err(|error| self.fatal(error))
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn agree(&mut self, own: Option<Stop>, number: u64) -> Result<(Option<Stop>, u64), FabricError> {
        let own = (u64::from(Stop::code(own)) << 56) | number;
        let agreed = self.tree().largest(Phase::Agreement, own).map_err(|error| self.fatal(error))?;
        Ok((Stop::from_code((agreed >> 56) as u8), agreed & ((1 << 56) - 1)))
    }

    fn gather(&mut self, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) -> Result<(), FabricError> {
        gather::rows(self.tree(), cells, rows, block).map_err(|error| self.fatal(error))
    }

    fn shares(&mut self) -> Result<Shares, FabricError> {
        let own = self.run.as_ref().map(|run| run.traffic.shares()).unwrap_or_default();
        let mut spent = [own.timed, own.warmup, own.reducing].map(|time| time.as_secs_f64());
        self.sum(&mut spent)?;
        let [timed, warmup, reducing] = spent.map(|time| Duration::try_from_secs_f64(time).unwrap_or_default());
        Ok(Shares { timed, warmup, reducing })
    }

    fn finish(&mut self) -> Result<(), FabricError> {
        let Some(run) = self.run.take() else { return Ok(()) };
        self.wire.watch.queue(Phase::Window, None);
        self.wire.watch.arrivals(None);
        let closed = run.traffic.close().map_err(|error| self.fatal(error));
        self.wire.watch.mode(None);
        self.wire.watch.rest();
        closed
    }
}

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
mod pair;
mod payload;
mod put;
mod sampler;
mod send_recv_and_recv_send;
mod turn;

use std::{mem, ops::Range, time::Duration};

use mpi::{
    collective::SystemOperation,
    topology::SimpleCommunicator,
    traits::{Communicator, CommunicatorCollectives},
};
use netmatrix::{
    measure::{Cells, Fabric, FabricError, Shares, Stop, StopRequest, Suspect, View},
    plan::{Mode, Pair, Plan, Round, RoundKind, Timing},
    record::Cell,
    units::{Bytes, Hosts, Rank},
};

use self::{
    buffer::Buffer,
    clock::Clock,
    collective::{Collective, Ensemble},
    ffi::{MpiError, Window, Wire},
    noise::NoiseMaker,
    pair::Exchange,
    sampler::Sampler,
};

#[allow(unused_imports, reason = "only the library that a simulator loads has its main from there")]
pub(crate) use self::ffi::export_main;

/// Longest host name that travels between ranks, in bytes: what result files can hold.
const HOST_NAME: usize = 100;

/// The rank that gathers and writes.
pub const ROOT: Rank = 0;

/// What is exchanged in a run, and what that needs for as long as the run lasts.
enum Traffic {
    Pairs { exchange: Box<dyn Exchange>, sampler: Box<Sampler>, noise: NoiseMaker },
    Collective { exchange: Box<dyn Collective>, ensemble: Box<Ensemble> },
}

/// Memory that is not there, or a call that failed.
enum TrafficError {
    Memory(u64),
    Mpi(MpiError),
}

impl From<u64> for TrafficError {
    fn from(bytes: u64) -> Self {
        Self::Memory(bytes)
    }
}

impl From<MpiError> for TrafficError {
    fn from(error: MpiError) -> Self {
        Self::Mpi(error)
    }
}

impl Traffic {
    /// The list of modes: what each exchanges. Collective.
    fn of(plan: &Plan, wire: &Wire, me: Rank, damage: bool) -> Result<Self, TrafficError> {
        let longest = plan.config.longest().0 as usize;
        let window = || -> Result<Window, TrafficError> {
            let hint = "Open MPI 4 over TCP needs OMPI_MCA_osc=pt2pt in the environment";
            let memory = Buffer::touched(longest, 0x33)?;
            let window = Window::over(wire, memory);
            Ok(window.map_err(|error| MpiError { text: format!("{} ({hint})", error.text), ..error })?)
        };
        let exchange: Box<dyn Exchange> = match plan.mode {
            Mode::OneToOne | Mode::NoiseBlocking => Box::new(one_to_one::OneToOne),
            Mode::AsyncOneToOne | Mode::Noise => Box::new(async_one_to_one::AsyncOneToOne),
            Mode::SendRecvAndRecvSend => Box::new(send_recv_and_recv_send::RoundTrip),
            Mode::Put => Box::new(put::Put(window()?)),
            Mode::Get => Box::new(get::Get(window()?)),
            Mode::AllToAll => {
                let exchange = all_to_all::AllToAll::new(plan.ranks(), longest)?;
                let ensemble = Box::new(Ensemble::new(plan, me, damage)?);
                return Ok(Self::Collective { exchange: Box::new(exchange), ensemble });
            }
            Mode::Bcast => {
                let ensemble = Box::new(Ensemble::new(plan, me, damage)?);
                return Ok(Self::Collective { exchange: Box::new(bcast::Bcast), ensemble });
            }
        };
        let noise = NoiseMaker::new(plan.config.noise)?;
        Ok(Self::Pairs { exchange, sampler: Box::new(Sampler::new(plan, damage)?), noise })
    }

    fn shares(&self) -> Shares {
        match self {
            Self::Pairs { sampler, .. } => sampler.shares(),
            Self::Collective { ensemble, .. } => ensemble.shares(),
        }
    }

    /// Gives back what lasts for a run, but no memory to which a failed exchange may still write. Collective.
    fn close(self) -> Result<(), MpiError> {
        match self {
            Self::Pairs { exchange, sampler, .. } => {
                if sampler.has_failed() {
                    mem::forget(sampler);
                }
                exchange.close()
            }
            Self::Collective { .. } => Ok(()),
        }
    }
}

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
    Hosts::new(all.chunks_exact(HOST_NAME).map(|name| {
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(HOST_NAME);
        String::from_utf8_lossy(&name[..end]).into_owned()
    }))
}

/// The largest of all ranks' values. Collective.
pub fn largest(world: &SimpleCommunicator, own: u64) -> u64 {
    let mut largest = own;
    world.all_reduce_into(&own, &mut largest, SystemOperation::max());
    largest
}

/// Whether all ranks follow the same plans, as they do if they were started with the same command line. Collective.
pub fn plans_agree(world: &SimpleCommunicator, plans: &[Plan]) -> bool {
    // Rotated, so that the order counts and equal plans do not cancel out.
    let digest = plans.iter().fold(plans.len() as u64, |sum, plan| sum.rotate_left(7) ^ u64::from(plan.digest()));
    let (high, low) = (largest(world, digest), !largest(world, !digest));
    high == low
}

/// One rank's end of the machine.
pub struct MpiFabric<'w> {
    world: &'w SimpleCommunicator,
    wire: Wire,
    me: Rank,
    host: String,
    request: StopRequest,
    damage: bool,
    silent: bool,
    stopped: Option<Stop>,
    run: Option<RunState>,
}

/// What lasts for one run.
struct RunState {
    plan: Plan,
    traffic: Traffic,
    clock: Clock,
    length_index: usize,
    /// Turns of the lengths before the current one, which number the handshakes.
    turns_before: usize,
    /// Turns of the current length's schedule; repetitions of suspicious pairs are numbered after them.
    turns: usize,
}

impl<'w> MpiFabric<'w> {
    /// Over all ranks of `world`; stops when `request` says so. Collective.
    pub fn new(world: &'w SimpleCommunicator, host: &str, request: StopRequest) -> Result<Self, FabricError> {
        let me = world.rank() as Rank;
        let host = host.to_owned();
        let wire = Wire::over(world).map_err(|error| fatal(me, &host, error))?;
        Ok(Self { world, wire, me, host, request, damage: false, silent: false, stopped: None, run: None })
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
        let run = self.run.as_mut().expect("prepare comes before probe");
        let hosts = &run.plan.hosts;
        let far = (1..hosts.ranks()).find(|rank| hosts.host_of(*rank) != hosts.host_of(ROOT)).unwrap_or(1);
        let pair = Pair { leader: ROOT, partner: far };
        match &mut run.traffic {
            Traffic::Pairs { exchange, sampler, .. } if pair.other(self.me).is_some() => {
                sampler.probe(&self.wire, &run.clock, exchange.as_mut(), pair, self.me, length).map(Some)
            }
            Traffic::Pairs { .. } => Ok(None),
            Traffic::Collective { exchange, ensemble } => ensemble
                .probe(&self.wire, exchange.as_mut(), (run.plan.mode == Mode::Bcast).then_some(ROOT), length)
                .map(Some),
        }
    }

    fn all_agree(&self, own: Option<Stop>) -> Option<Stop> {
        Stop::from_code(largest(self.world, u64::from(Stop::code(own))) as u8)
    }
}

fn fatal(rank: Rank, host: &str, error: MpiError) -> FabricError {
    FabricError::Mpi { call: error.call, rank, host: host.to_owned(), reason: error.text }
}

impl Fabric for MpiFabric<'_> {
    fn view(&self) -> View {
        View::Rank(self.me)
    }

    fn prepare(&mut self, plan: &Plan) -> Result<(), FabricError> {
        let traffic = Traffic::of(plan, &self.wire, self.me, self.damage).map_err(|error| match error {
            TrafficError::Memory(bytes) => {
                FabricError::Memory { bytes, purpose: "messages and samples", rank: self.me, host: self.host.clone() }
            }
            TrafficError::Mpi(error) => self.fatal(error),
        })?;
        let mut clock = Clock::default();
        if plan.timing() == Some(Timing::Clock) {
            clock.first_synchronise(&self.wire, self.me, plan.ranks()).map_err(|error| self.fatal(error))?;
        }
        self.run = Some(RunState { plan: plan.clone(), traffic, clock, length_index: 0, turns_before: 0, turns: 0 });
        Ok(())
    }

    fn begin_length(&mut self, plan: &Plan, length_index: usize) -> Result<(), FabricError> {
        self.stopped = None;
        let run = self.run.as_mut().expect("prepare comes before begin_length");
        run.length_index = length_index;
        run.turns = plan.rounds(length_index).len();
        run.turns_before = length_index * (run.turns + 2 * plan.retests());
        if plan.timing() == Some(Timing::Clock) {
            let synchronised = run.clock.synchronise(&self.wire, self.me, plan.ranks());
            synchronised.map_err(|error| self.fatal(error))?;
        }
        // Nobody measures while others still probe, or learn the time.
        self.wire.barrier().map_err(|error| self.fatal(error))
    }

    fn run(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), FabricError> {
        match round.kind() {
            RoundKind::Pairs if round.is_turn() => self.take_turn(round, length, cells),
            RoundKind::Pairs => self.meet(round, length, cells),
            RoundKind::Root(root) => self.gather_round(Some(root), length, cells),
            RoundKind::Everyone => self.gather_round(None, length, cells),
        }
        .map_err(|error| self.fatal(error))
    }

    fn probe(&mut self, length: Bytes) -> Result<Option<f64>, FabricError> {
        self.probe_traffic(length).map_err(|error| self.fatal(error))
    }

    fn run_pairs(
        &mut self,
        pairs: &[Pair],
        number: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), FabricError> {
        // Nobody begins before the pairs of the call before are done.
        self.wire.barrier().map_err(|error| self.fatal(error))?;
        match pairs.iter().find(|pair| pair.other(self.me).is_some()) {
            Some(pair) => self
                .measure_pair(*pair, self.run.as_ref().map_or(0, |run| run.turns) + number, length, cells)
                .map_err(|error| self.fatal(error)),
            None => Ok(()),
        }
    }

    fn all_gather(&mut self, own: &[f64]) -> Result<Vec<f64>, FabricError> {
        let mut all = vec![0.0; own.len() * self.world.size() as usize];
        self.world.all_gather_into(own, &mut all[..]);
        Ok(all)
    }

    fn sum(&mut self, numbers: &mut [f64]) -> Result<(), FabricError> {
        // As many everywhere, so all or nobody: SimGrid divides by their size.
        if numbers.is_empty() {
            return Ok(());
        }
        let own = numbers.to_vec();
        self.world.all_reduce_into(&own[..], numbers, SystemOperation::sum());
        Ok(())
    }

    fn worst(&mut self, own: Vec<Suspect>, most: usize) -> Result<Vec<Suspect>, FabricError> {
        Ok(gather::worst(self.world, own, most))
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn agree(&mut self, own: Option<Stop>) -> Result<Option<Stop>, FabricError> {
        Ok(self.all_agree(own))
    }

    fn gather(&mut self, cells: &Cells, rows: Range<usize>, block: &mut Vec<Cell>) -> Result<(), FabricError> {
        gather::rows(self.world, cells, rows, block);
        Ok(())
    }

    fn shares(&mut self) -> Result<Shares, FabricError> {
        let own = self.run.as_ref().map(|run| run.traffic.shares()).unwrap_or_default();
        let mut spent = [own.timed, own.warmup, own.reducing].map(|time| time.as_secs_f64());
        self.sum(&mut spent)?;
        let [timed, warmup, reducing] = spent.map(|time| Duration::try_from_secs_f64(time).unwrap_or_default());
        Ok(Shares { timed, warmup, reducing })
    }

    fn finish(&mut self) -> Result<(), FabricError> {
        match self.run.take() {
            Some(run) => run.traffic.close().map_err(|error| self.fatal(error)),
            None => Ok(()),
        }
    }
}

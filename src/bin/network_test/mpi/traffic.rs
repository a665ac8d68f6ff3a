//! What is exchanged in a run: the list of modes, and the memory that each needs.

use std::mem;

use netmatrix::{
    measure::{Shares, StopRequest},
    plan::{Mode, Plan},
    record::Phase,
    units::Rank,
};

use super::{
    all_to_all, async_one_to_one, bcast,
    buffer::Buffer,
    collective::{Collective, Ensemble},
    ffi::{MpiError, Window, Wire},
    get,
    noise::NoiseMaker,
    one_to_one,
    pair::Exchange,
    put,
    sampler::Sampler,
    send_recv_and_recv_send,
};

/// What is exchanged in a run, and what that needs for as long as the run lasts.
pub(super) enum Traffic {
    Pairs { exchange: Box<dyn Exchange>, sampler: Box<Sampler>, noise: NoiseMaker },
    Collective { exchange: Box<dyn Collective>, ensemble: Box<Ensemble> },
}

/// Memory that is not there, or a call that failed.
pub(super) enum TrafficError {
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
    pub(super) fn of(
        plan: &Plan,
        wire: &Wire,
        me: Rank,
        damage: bool,
        clock_step: f64,
        request: &StopRequest,
    ) -> Result<Self, TrafficError> {
        let longest = plan.config.longest().0 as usize;
        let window = || -> Result<Window, TrafficError> {
            let hint = "Open MPI 4 over TCP needs OMPI_MCA_osc=pt2pt in the environment";
            let memory = Buffer::touched(longest, 0x33)?;
            wire.watch.queue(Phase::Window, None);
            let window = Window::over(wire, memory);
            wire.watch.rest();
            Ok(window.map_err(|error| MpiError { text: format!("{} ({hint})", error.text), ..error })?)
        };
        let ensemble = || -> Result<Box<Ensemble>, TrafficError> {
            let ensemble = Ensemble::new(plan, me, damage, request.clone())?;
            wire.watch.arrivals(Some(ensemble.arrivals()));
            Ok(Box::new(ensemble))
        };
        let exchange: Box<dyn Exchange> = match plan.mode {
            Mode::OneToOne | Mode::NoiseBlocking => Box::new(one_to_one::OneToOne),
            Mode::AsyncOneToOne | Mode::Noise => Box::new(async_one_to_one::AsyncOneToOne),
            Mode::SendRecvAndRecvSend => Box::new(send_recv_and_recv_send::RoundTrip),
            Mode::Put => Box::new(put::Put(window()?)),
            Mode::Get => Box::new(get::Get(window()?)),
            Mode::AllToAll => {
                let exchange = all_to_all::AllToAll::new(plan.ranks(), longest)?;
                return Ok(Self::Collective { exchange: Box::new(exchange), ensemble: ensemble()? });
            }
            Mode::Bcast => {
                return Ok(Self::Collective { exchange: Box::new(bcast::Bcast), ensemble: ensemble()? });
            }
        };
        let noise = NoiseMaker::new(plan)?;
        Ok(Self::Pairs { exchange, sampler: Box::new(Sampler::new(plan, damage, clock_step, request.clone())?), noise })
    }

    pub(super) fn shares(&self) -> Shares {
        match self {
            Self::Pairs { sampler, .. } => sampler.shares(),
            Self::Collective { ensemble, .. } => ensemble.shares(),
        }
    }

    /// Gives back what lasts for a run, but no memory to which a failed exchange may still write. Collective.
    pub(super) fn close(self) -> Result<(), MpiError> {
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

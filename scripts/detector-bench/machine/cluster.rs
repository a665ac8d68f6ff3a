//! A machine of parts that is measured, and what is known about it besides its times.

use netmatrix::{
    measure::{Cells, MeasureError},
    plan::{Pair, Plan},
    record::{Cell, MemoryRun, State},
    stats,
    units::{Bytes, Rank},
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{
    fault::{Fault, Harm},
    noise::{self, Exchange, Noise},
    parts::{Load, Message, Parts, View},
    walk::{Machine, Moment, walk},
};
use crate::network::Route;

/// A cell, and a number about it.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub from: u32,
    pub to: u32,
    pub value: f32,
}

/// What only somebody who made the machine can know.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Logarithm of the median over what it would be if healthy parts did not differ: `[length]`, cells between hosts.
    pub residuals: Vec<Vec<At>>,
    /// Logarithm of the time with a fault over that without: `[fault][length]`, all cells that cross its place.
    pub effects: Vec<Vec<Vec<At>>>,
    /// Exchanges that a fault has lost or damaged, of so many that cross its place: `[fault]`.
    pub losses: Vec<(usize, usize)>,
    /// Mean seconds of an undisturbed cell between hosts: `[length]`.
    pub seconds: Vec<f64>,
    /// Seconds between two ticks of the clock, where samples do not scatter enough to hide them; otherwise 0.
    pub tick: f64,
}

struct Cluster<'a> {
    parts: &'a Parts,
    faults: &'a [Fault],
    noise: &'a Noise,
    rng: &'a mut ChaCha8Rng,
    plan: &'a Plan,
    now: Moment,
    samples: Vec<f64>,
    known: Known,
}

/// Measures a machine.
pub fn run(
    parts: &Parts,
    faults: &[Fault],
    noise: &Noise,
    plan: &Plan,
    rng: &mut ChaCha8Rng,
) -> Result<(MemoryRun, Known), MeasureError> {
    let lengths = plan.lengths().len();
    let known = Known {
        residuals: vec![Vec::new(); lengths],
        effects: vec![vec![Vec::new(); lengths]; faults.len()],
        losses: vec![(0, 0); faults.len()],
        seconds: vec![0.0; lengths],
        tick: 0.0,
    };
    let mut cluster = Cluster { parts, faults, noise, rng, plan, now: Moment::default(), samples: Vec::new(), known };
    let run = walk(plan, &mut cluster, noise.tick)?;
    let mut known = cluster.known;
    for (seconds, cells) in known.seconds.iter_mut().zip(&known.residuals) {
        *seconds /= cells.len().max(1) as f64;
    }
    Ok((run, known))
}

impl Cluster<'_> {
    /// What crosses every cable. Adaptive routes spread: they share nothing as long as there is another cable.
    fn load(&self, ways: &[(Rank, Rank)]) -> Load {
        let mut load = vec![0; self.parts.network.cables()];
        if !self.parts.is_adaptive {
            for &(from, to) in ways {
                if self.parts.hosts.host_of(from) != self.parts.hosts.host_of(to) {
                    self.parts.routes(from, to)[0].cables.iter().for_each(|cable| load[*cable] += 1);
                }
            }
        }
        load
    }

    /// How an exchange ends that fails; payloads that arrive damaged, otherwise.
    fn failure(&mut self, message: &Message<'_>) -> (Option<State>, u32) {
        let (mut end, mut damaged) = (None, 0);
        for (number, fault) in self.faults.iter().enumerate() {
            let &Message { from, to, length, moment, routes, .. } = message;
            let (Harm::Lose { share, .. } | Harm::Damage { share }) = fault.harm else { continue };
            if fault.scope.covers(&self.parts.hosts, from, to, &routes[0].cables) == 0
                || !fault.is_on(&self.parts.hosts, from, to, length, moment)
            {
                continue;
            }
            let is_hit = self.rng.random_bool(share);
            match fault.harm {
                Harm::Lose { state, .. } if is_hit => end = Some(state),
                // Of the exchanges of a cell, some.
                Harm::Damage { .. } if is_hit => damaged += self.rng.random_range(1..=self.plan.config.iterations),
                _ => {}
            }
            if !self.now.is_again {
                let losses = &mut self.known.losses[number];
                *losses = (losses.0 + usize::from(is_hit), losses.1 + 1);
            }
        }
        (end, damaged.min(self.plan.config.iterations))
    }

    fn cell(&mut self, from: Rank, to: Rank, length: Bytes, load: Option<&Load>) -> Cell {
        let parts = self.parts;
        let (routes, opposite) = (parts.routes(from, to), parts.routes(to, from));
        let there = Message { from, to, length: length.0, moment: self.now.share, routes: &routes, load };
        let back = Message { from: to, to: from, length: 0, moment: self.now.share, routes: &opposite, load: None };
        let (end, damaged) = self.failure(&there);
        if let Some(state) = end {
            return Cell::missing(state);
        }
        let exchange = |faults: &[Fault], without: Option<usize>, is_varied: bool| {
            let view = View { faults, without, is_varied };
            let round_trip = parts.latency(&there, &view) + parts.latency(&back, &view);
            let mut exchange = Exchange { round_trip, factor: 1.0, ..Exchange::default() };
            parts.transfers(&there, round_trip, &view, &mut exchange.transfers);
            exchange
        };
        let mut real = exchange(self.faults, None, true);
        for fault in self.faults {
            if let Harm::Scatter { factor, probability } = fault.harm
                && fault.scope.covers(&parts.hosts, from, to, &routes[0].cables) > 0
                && fault.is_on(&parts.hosts, from, to, length.0, self.now.share)
            {
                real.factor *= factor;
                real.probability = real.probability.max(probability);
            }
        }
        let mut cell = noise::cell(self.noise, &real, &self.plan.config, &mut self.samples, self.rng);
        if damaged > 0 {
            cell.state = State::Damaged;
            cell.damaged = damaged;
        }
        if !self.now.is_again && parts.hosts.host_of(from) != parts.hosts.host_of(to) {
            let at = |value: f64| At { from: from as u32, to: to as u32, value: value as f32 };
            let index = self.now.length_index;
            let even = Message { load: None, ..there };
            let view = View { faults: self.faults, without: None, is_varied: false };
            let round_trip = parts.latency(&even, &view) + parts.latency(&back, &view);
            let mut transfers = Vec::new();
            parts.transfers(&even, round_trip, &view, &mut transfers);
            let nominal = seconds(&Exchange { round_trip, transfers, ..Exchange::default() });
            // A quarter of a tick as standard deviation spreads most samples over two ticks or three.
            if 4.0 * self.noise.latency * round_trip < self.noise.tick {
                self.known.tick = self.noise.tick;
            }
            self.known.seconds[index] += nominal;
            self.known.residuals[index].push(at((cell.summary.median / nominal).ln()));
            for (number, fault) in self.faults.iter().enumerate() {
                let covers = |from, to, routes: &[Route]| {
                    routes.iter().any(|route| fault.scope.covers(&parts.hosts, from, to, &route.cables) > 0)
                };
                let is_crossed = covers(from, to, &routes) || fault.shows_both_ways() && covers(to, from, &opposite);
                if is_crossed {
                    let without = exchange(self.faults, Some(number), true);
                    let effect = (seconds(&real) / seconds(&without)).ln();
                    self.known.effects[number][index].push(at(effect));
                }
            }
        }
        cell
    }
}

/// What the program makes of an exchange without noise.
fn seconds(exchange: &Exchange) -> f64 {
    let mut transfers = exchange.transfers.clone();
    exchange.round_trip / 2.0 + if transfers.len() == 1 { transfers[0] } else { stats::median(&mut transfers) }
}

impl Machine for Cluster<'_> {
    /// First all leaders send, then all partners.
    fn pairs(&mut self, pairs: &[Pair], length: Bytes, now: Moment, cells: &mut Cells) {
        self.now = now;
        let there: Vec<_> = pairs.iter().map(|pair| (pair.leader, pair.partner)).collect();
        let back: Vec<_> = pairs.iter().map(|pair| (pair.partner, pair.leader)).collect();
        for ways in [there, back] {
            let load = (ways.len() > 1).then(|| self.load(&ways));
            for (from, to) in ways {
                let cell = self.cell(from, to, length, load.as_ref());
                cells.set(from, to, cell);
            }
        }
    }
}

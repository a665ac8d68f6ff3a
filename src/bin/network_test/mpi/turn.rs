//! When a pair may begin.
//!
//! With one pair at a time, a token of one byte passes from the leader of a pair to the leader of the next, and a
//! leader wakes its partner: nobody else hears of it. With disjoint pairs all ranks agree before each round whether to
//! go on, which is a barrier at the same time. The byte is the reason to stop, if there is one.
//!
//! A partner that does not answer in time costs the pair's cells, not the run: leader and partner shake hands three
//! ways (go, ready, start or not), so that both know whether the pair is measured.

use std::{
    thread,
    time::{Duration, Instant},
};

use netmatrix::{
    measure::{Cells, Stop},
    plan::{Pair, Round},
    record::{Cell, State},
    units::{Bytes, Rank},
};

use super::{
    MpiFabric, Traffic,
    ffi::{MpiError, Tag, Wire},
    noise::{hush, wait_until_noisy},
};

/// From the leader of a pair to the leader of the next.
const TOKEN: Tag = 1;
/// Leader to partner: our turn has come.
const GO: Tag = 2;
/// Leader to partner: now, or never.
const START: Tag = 3;
/// Partner to leader: here I am. The number of the turn is added, so that an answer that comes after the leader has
/// given up is not taken for the answer of a later turn; MPI guarantees tags up to 32767.
const READY: Tag = 1 << 14;
const TURNS: usize = 1 << 14;

impl MpiFabric<'_> {
    /// Takes part in a round of one pair: as its leader, its partner, or one of those that make noise meanwhile.
    pub(super) fn take_turn(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), MpiError> {
        let Some(pair) = round.turn() else { return Ok(()) };
        let run = self.run.as_mut().expect("prepare comes before run");
        let ring = run.plan.noise_ranks(run.length_index, pair);
        if pair.leader == self.me {
            self.lead(pair, &ring, round, length, cells)
        } else if pair.partner == self.me {
            if self.is_called(pair.leader)? { self.measure_pair(pair, round.index(), length, cells) } else { Ok(()) }
        } else if ring.contains(&self.me) && self.is_called(pair.leader)? {
            let run = self.run.as_mut().expect("prepare comes before run");
            match &mut run.traffic {
                Traffic::Pairs { noise, .. } => noise.make(&self.wire, self.me, &ring, pair.leader),
                Traffic::Collective { .. } => Ok(()),
            }
        } else {
            Ok(())
        }
    }

    /// Waits for a leader's word whether the turn takes place.
    fn is_called(&mut self, leader: Rank) -> Result<bool, MpiError> {
        let mut code = [0];
        self.wire.receive(&mut code, leader, GO)?;
        self.note(Stop::from_code(code[0]));
        Ok(self.stopped.is_none())
    }

    /// Receives the token, wakes the others, measures, and passes the token on.
    fn lead(
        &mut self,
        pair: Pair,
        ring: &[Rank],
        round: &Round<'_>,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
        let leader_of = |round: Option<Round<'_>>| round.and_then(|round| round.turn()).map(|pair| pair.leader);
        let me = self.me;
        if let Some(before) = leader_of(round.previous()).filter(|before| *before != me) {
            let mut code = [0];
            self.wire.receive(&mut code, before, TOKEN)?;
            self.note(Stop::from_code(code[0]));
        }
        self.note(self.request.wish());
        let word = [Stop::code(self.stopped)];
        for other in ring.iter().chain([&pair.partner]) {
            self.wire.send(&word, *other, GO)?;
        }
        if self.stopped.is_none() {
            wait_until_noisy(&self.wire, ring)?;
            self.measure_pair(pair, round.index(), length, cells)?;
            hush(&self.wire, ring)?;
        }
        match leader_of(round.next()).filter(|next| *next != me) {
            Some(next) => self.wire.send(&[Stop::code(self.stopped)], next, TOKEN),
            None => Ok(()),
        }
    }

    /// Takes part in a round of disjoint pairs, if all agree to go on.
    pub(super) fn meet(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), MpiError> {
        self.agree_to_go_on();
        match round.pair_of(self.me) {
            Some(pair) if self.stopped.is_none() => self.measure_pair(pair, round.index(), length, cells),
            _ => Ok(()),
        }
    }

    fn note(&mut self, stop: Option<Stop>) {
        self.stopped = self.stopped.max(stop);
    }

    /// Shakes hands and measures both directions. The number of the turn is the same on both sides. An error means that the handshake itself broke down.
    pub(super) fn measure_pair(
        &mut self,
        pair: Pair,
        turn: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
        let run = self.run.as_mut().expect("prepare comes before run");
        let ready = READY + ((run.turns_before + turn) % TURNS) as Tag;
        let met = if pair.leader == self.me {
            invite(&self.wire, pair.partner, ready, run.plan.config.patience)?
        } else {
            if self.silent {
                thread::sleep(2 * run.plan.config.patience);
            }
            accept(&self.wire, pair.leader, ready)?
        };
        match &mut run.traffic {
            Traffic::Pairs { exchange, sampler, .. } if met => {
                sampler.both_directions(&self.wire, &run.clock, exchange.as_mut(), pair, self.me, length, cells);
            }
            _ => {
                for (source, destination) in [(pair.leader, pair.partner), (pair.partner, pair.leader)] {
                    cells.set(source, destination, Cell::missing(State::TimedOut));
                }
            }
        }
        Ok(())
    }

    /// Takes part in a collective round, if all agree to go on.
    pub(super) fn gather_round(
        &mut self,
        root: Option<Rank>,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
        self.agree_to_go_on();
        let run = self.run.as_mut().expect("prepare comes before run");
        if let (Traffic::Collective { exchange, ensemble }, None) = (&mut run.traffic, self.stopped) {
            ensemble.round(self.world, &self.wire, exchange.as_mut(), root, length, cells);
        }
        Ok(())
    }

    /// Notes whether anybody wants to stop. Collective, until somebody does.
    fn agree_to_go_on(&mut self) {
        if self.stopped.is_none() {
            let stop = self.all_agree(self.request.wish());
            self.note(stop);
        }
    }
}

/// The leader's part of the handshake: whether the partner has answered in time.
fn invite(wire: &Wire, partner: Rank, ready: Tag, patience: Duration) -> Result<bool, MpiError> {
    let start = Instant::now();
    let answered = wire.receive_while(partner, ready, || start.elapsed() < patience)?;
    wire.send(&[u8::from(answered)], partner, START)?;
    Ok(answered)
}

/// The partner's part of the handshake: whether the leader is still there.
fn accept(wire: &Wire, leader: Rank, ready: Tag) -> Result<bool, MpiError> {
    wire.send(&[], leader, ready)?;
    let mut start = [0];
    wire.receive(&mut start, leader, START)?;
    Ok(start[0] == 1)
}

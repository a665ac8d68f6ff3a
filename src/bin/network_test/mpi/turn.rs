//! When a pair may begin.
//!
//! With one pair at a time, a token of one byte passes from the leader of a pair to the leader of the next, and a
//! leader wakes its partner: nobody else hears of it. With disjoint pairs all ranks agree before each round whether to
//! go on, which is a barrier at the same time. The byte is the reason to stop, if there is one.
//!
//! A partner or a noise rank that does not answer in time costs the pair's cells, not the run: the leader shakes hands
//! with each of them three ways (go, ready, start or not), so that all know whether the pair is measured.

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
    ffi::{MpiError, Tag},
    noise::{hush, wait_until_noisy},
};

/// From the leader of a pair to the leader of the next.
const TOKEN: Tag = 1;
/// Leader to partner and noise ranks: our turn has come.
const GO: Tag = 2;
/// Leader to partner and noise ranks: now, or never.
const START: Tag = 3;
/// Partner and noise ranks to leader: here I am. The number of the turn is added, so that an answer that comes after
/// the leader has given up is not taken for the answer of a later turn; MPI guarantees tags up to 32767.
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
        } else if ring.contains(&self.me)
            && self.is_called(pair.leader)?
            && self.accept(pair.leader, self.ready(round.index()))?
        {
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
            if self.invite(ring, self.ready(round.index()))? {
                wait_until_noisy(&self.wire, ring)?;
                self.measure_pair(pair, round.index(), length, cells)?;
                hush(&self.wire, ring)?;
            } else {
                self.wire.send(&[0], pair.partner, START)?;
                time_out(pair, cells);
            }
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

    /// Shakes hands and measures both directions. The number of the turn is the same on both sides. An error means that
    /// the handshake itself broke down.
    pub(super) fn measure_pair(
        &mut self,
        pair: Pair,
        turn: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
        let ready = self.ready(turn);
        let met = if pair.leader == self.me {
            self.invite(&[pair.partner], ready)?
        } else {
            self.accept(pair.leader, ready)?
        };
        let run = self.run.as_mut().expect("prepare comes before run");
        match &mut run.traffic {
            Traffic::Pairs { exchange, sampler, .. } if met => {
                sampler.both_directions(&self.wire, &run.clock, exchange.as_mut(), pair, self.me, length, cells);
            }
            _ => time_out(pair, cells),
        }
        Ok(())
    }

    /// The tag with which the others answer in a turn.
    fn ready(&self, turn: usize) -> Tag {
        let before = self.run.as_ref().map_or(0, |run| run.turns_before);
        READY + ((before + turn) % TURNS) as Tag
    }

    /// How long a leader waits for answers.
    fn patience(&self) -> Duration {
        self.run.as_ref().map_or(Duration::ZERO, |run| run.plan.config.patience)
    }

    /// The leader's part of a handshake: whether all the others have answered in time, which they learn from it.
    fn invite(&self, others: &[Rank], ready: Tag) -> Result<bool, MpiError> {
        let (start, patience) = (Instant::now(), self.patience());
        let mut answered = true;
        for other in others {
            answered &= self.wire.receive_while(*other, ready, || start.elapsed() < patience)?;
        }
        others.iter().try_for_each(|other| self.wire.send(&[u8::from(answered)], *other, START))?;
        Ok(answered)
    }

    /// The others' part of a handshake: whether the leader is still there, and has found everybody.
    fn accept(&self, leader: Rank, ready: Tag) -> Result<bool, MpiError> {
        if self.silent {
            thread::sleep(2 * self.patience());
        }
        self.wire.send(&[], leader, ready)?;
        let mut start = [0];
        self.wire.receive(&mut start, leader, START)?;
        Ok(start[0] == 1)
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
            ensemble.round(self.world, &self.wire, exchange.as_mut(), root, length, cells)?;
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

/// Both directions of a pair get no samples, because somebody has not come in time.
fn time_out(pair: Pair, cells: &mut Cells) {
    for (source, destination) in [(pair.leader, pair.partner), (pair.partner, pair.leader)] {
        cells.set(source, destination, Cell::missing(State::TimedOut));
    }
}

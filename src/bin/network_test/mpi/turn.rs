//! When a pair may begin.
//!
//! With one pair at a time, a token of one byte passes from the leader of a pair to the leader of the next, and a
//! leader wakes its partner: nobody else hears of it. With disjoint pairs all ranks agree before each round whether to
//! go on, which is a barrier at the same time. The byte is the reason to stop, if there is one. A token begins anew with
//! every part of a length: between two parts all ranks agree on how to go on.
//!
//! A partner or a noise rank that does not answer in time costs the pair's cells, not the run: the leader shakes hands
//! with each of them three ways (go, ready, start or not), so that all know whether the pair is measured. Pairs that are
//! known to be stuck are left out on both sides without a word.

use std::{
    thread,
    time::{Duration, Instant},
};

use netmatrix::{
    measure::{Cells, Stop},
    plan::{Pair, Round},
    record::{Cell, Phase, State},
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

/// What came of a handshake, and the byte that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// Somebody has not answered in time.
    GivenUp = 0,
    /// All are there.
    Go = 1,
    /// The leader was asked to stop meanwhile.
    Stopped = 2,
}

impl Met {
    fn from_byte(byte: u8) -> Self {
        [Self::Go, Self::Stopped].into_iter().find(|met| *met as u8 == byte).unwrap_or(Self::GivenUp)
    }
}

impl MpiFabric<'_> {
    /// Takes part in a round of one pair: as its leader, its partner, or one of those that make noise meanwhile.
    pub(super) fn take_turn(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), MpiError> {
        let Some(pair) = round.turn() else { return Ok(()) };
        let stuck = self.is_stuck(pair, length);
        let run = self.run.as_mut().expect("prepare comes before run");
        let ring = if stuck { Vec::new() } else { run.plan.noise_ranks(run.length_index, pair) };
        if pair.leader == self.me {
            self.lead(pair, &ring, round, length, cells)
        } else if pair.partner == self.me {
            if stuck {
                time_out(pair, cells);
                return Ok(());
            }
            if self.is_called(pair.leader)? {
                self.measure_pair(pair, round.index(), length, cells)
            } else {
                self.skip_from(round.index());
                Ok(())
            }
        } else if ring.contains(&self.me)
            && self.is_called(pair.leader)?
            && self.accept(pair.leader, self.ready(round.index()))? == Met::Go
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
        self.wire.watch.queue(Phase::Token, Some(leader));
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
        let part = self.run.as_ref().expect("prepare comes before run").part.clone();
        let before = leader_of(round.previous()).filter(|before| *before != me && round.index() > part.start);
        if let Some(before) = before {
            let mut code = [0];
            self.wire.watch.queue(Phase::Token, Some(before));
            self.wire.receive(&mut code, before, TOKEN)?;
            self.note(Stop::from_code(code[0]));
        }
        self.note(self.request.wish());
        if self.is_stuck(pair, length) {
            time_out(pair, cells);
        } else {
            self.lead_exchanges(pair, ring, round.index(), length, cells)?;
        }
        self.note(self.wish);
        if self.stopped.is_some() {
            self.skip_from(round.index() + 1);
        }
        let next = leader_of(round.next()).filter(|next| *next != me && round.index() + 1 < part.end);
        match next {
            Some(next) => {
                self.wire.watch.queue(Phase::Token, Some(next));
                self.wire.send(&[Stop::code(self.stopped)], next, TOKEN)
            }
            None => Ok(()),
        }
    }

    /// Wakes the others and measures, or says that nothing will be.
    fn lead_exchanges(
        &mut self,
        pair: Pair,
        ring: &[Rank],
        turn: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
        let word = [Stop::code(self.stopped)];
        for other in ring.iter().chain([&pair.partner]) {
            self.wire.watch.enter_bounded(Phase::Handshake, Some(*other));
            self.wire.send(&word, *other, GO)?;
        }
        if self.stopped.is_some() {
            self.skip_from(turn);
            return Ok(());
        }
        match self.invite(ring, self.ready(turn))? {
            Met::Go => {
                wait_until_noisy(&self.wire, ring)?;
                self.measure_pair(pair, turn, length, cells)?;
                hush(&self.wire, ring)
            }
            met => {
                self.wire.send(&[met as u8], pair.partner, START)?;
                self.leave_out(met, pair, turn, cells);
                Ok(())
            }
        }
    }

    /// Takes part in a round of disjoint pairs, if all agree to go on.
    pub(super) fn meet(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), MpiError> {
        self.agree_to_go_on();
        if self.stopped.is_some() {
            self.skip_from(round.index());
            return Ok(());
        }
        match round.pair_of(self.me) {
            Some(pair) => self.measure_pair(pair, round.index(), length, cells),
            None => Ok(()),
        }
    }

    fn note(&mut self, stop: Option<Stop>) {
        self.stopped = self.stopped.max(stop);
    }

    /// Rounds from this one on are not, or not wholly, carried out.
    fn skip_from(&mut self, round: usize) {
        self.skipped = Some(self.skipped.map_or(round, |skipped| skipped.min(round)));
    }

    /// A pair that is not measured: because somebody has not come in time, or because the run stops.
    fn leave_out(&mut self, met: Met, pair: Pair, turn: usize, cells: &mut Cells) {
        if met == Met::Stopped {
            self.wish = self.wish.max(self.request.wish());
            self.skip_from(turn);
        } else {
            time_out(pair, cells);
        }
    }

    /// Whether messages of this length are known not to get through between the two.
    fn is_stuck(&self, pair: Pair, length: Bytes) -> bool {
        let run = self.run.as_ref().expect("prepare comes before run");
        self.avoided.pair(&run.plan.hosts, run.plan.mode, (pair.leader, pair.partner), length)
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
        if self.is_stuck(pair, length) {
            time_out(pair, cells);
            return Ok(());
        }
        let ready = self.ready(turn);
        self.wire.watch.round(turn);
        let met = if pair.leader == self.me {
            self.invite(&[pair.partner], ready)?
        } else {
            self.accept(pair.leader, ready)?
        };
        let run = self.run.as_mut().expect("prepare comes before run");
        let stop = match &mut run.traffic {
            Traffic::Pairs { exchange, sampler, .. } if met == Met::Go => {
                sampler.both_directions(&self.wire, &run.clock, exchange.as_mut(), pair, self.me, length, cells)
            }
            _ => {
                self.leave_out(met, pair, turn, cells);
                None
            }
        };
        if stop.is_some() {
            self.wish = self.wish.max(stop);
            self.skip_from(turn);
        }
        self.wire.watch.rest();
        Ok(())
    }

    /// Shakes hands before the probe, in which there are no turns yet.
    pub(super) fn meet_for_probe(&self, pair: Pair) -> Result<bool, MpiError> {
        let ready = READY + (TURNS - 1 - self.probes % TURNS) as Tag;
        let met = if pair.leader == self.me {
            self.invite(&[pair.partner], ready)?
        } else {
            self.accept(pair.leader, ready)?
        };
        Ok(met == Met::Go)
    }

    /// The tag with which the others answer in a turn.
    fn ready(&self, turn: usize) -> Tag {
        let before = self.run.as_ref().map_or(0, |run| run.turns_before);
        READY + ((before + turn) % TURNS) as Tag
    }

    /// The leader's part of a handshake: whether all the others have answered in time, which they learn from it.
    fn invite(&self, others: &[Rank], ready: Tag) -> Result<Met, MpiError> {
        let (start, limit) = (Instant::now(), self.watchdog.handshake());
        let mut met = Met::Go;
        for other in others {
            self.wire.watch.enter_bounded(Phase::Handshake, Some(*other));
            let go_on = || start.elapsed() < limit && self.request.wish().is_none();
            if !self.wire.receive_while(*other, ready, go_on)? {
                met = if self.request.wish().is_some() { Met::Stopped } else { Met::GivenUp };
                if met == Met::GivenUp {
                    self.watchdog.skip(*other, start.elapsed());
                }
            }
        }
        others.iter().try_for_each(|other| self.wire.send(&[met as u8], *other, START))?;
        Ok(met)
    }

    /// The others' part of a handshake: whether the leader is still there, and has found everybody.
    fn accept(&self, leader: Rank, ready: Tag) -> Result<Met, MpiError> {
        if self.silent {
            self.wire.watch.rest();
            thread::sleep(self.watchdog.handshake() + Duration::from_secs(1));
        }
        self.wire.watch.enter_bounded(Phase::Handshake, Some(leader));
        self.wire.send(&[], leader, ready)?;
        let mut start = [0];
        self.wire.receive(&mut start, leader, START)?;
        Ok(Met::from_byte(start[0]))
    }

    /// Takes part in a collective round, if all agree to go on.
    pub(super) fn gather_round(
        &mut self,
        root: Option<Rank>,
        round: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
        self.agree_to_go_on();
        if self.stopped.is_some() {
            self.skip_from(round);
            return Ok(());
        }
        let run = self.run.as_mut().expect("prepare comes before run");
        if self.avoided.round(run.plan.mode, root, length) {
            let sources = root.map_or(0..run.plan.ranks(), |root| root..root + 1);
            sources.for_each(|source| cells.set(source, self.me, Cell::missing(State::TimedOut)));
            return Ok(());
        }
        self.wire.watch.round(round);
        self.wire.watch.enter(Phase::Collective, root.filter(|root| *root != self.me));
        if let Traffic::Collective { exchange, ensemble } = &mut run.traffic {
            ensemble.round(self.world, &self.wire, &run.clock, exchange.as_mut(), root, length, cells)?;
        }
        self.wire.watch.rest();
        Ok(())
    }

    /// Notes whether anybody wants to stop. Collective, until somebody does.
    fn agree_to_go_on(&mut self) {
        if self.stopped.is_none() {
            let stop = self.all_agree(self.wish.max(self.request.wish()));
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

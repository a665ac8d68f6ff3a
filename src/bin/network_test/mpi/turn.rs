//! When a pair may begin.
//!
//! With one pair at a time, a token of one byte passes from the leader of a pair to the leader of the next, and a
//! leader wakes its partner: nobody else hears of it. The byte is the reason to stop, if there is one. With disjoint
//! pairs a rank begins as soon as its own pair before is done, and that of any other rank of its host; who wants to stop
//! says so in the handshake of its next pair. Between two parts of a length, which take about a second, all ranks agree
//! on how to go on; a token begins anew with every part.
//!
//! A partner or a noise rank that does not answer in time costs the pair's cells, not the run: the leader shakes hands
//! with each of them three ways (go, ready, start or not), so that all know whether the pair is measured. Pairs that are
//! known to be stuck are left out on both sides without a word.

use std::{thread, time::Duration};

use netmatrix::{
    measure::{Cells, Stop},
    plan::{Pair, Round, Schedule},
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
/// From the rank of a host whose pair is done to the one whose pair is next.
const HOST: Tag = 46;
/// Leader to partner and noise ranks: now, or never.
const START: Tag = 3;
/// Partner and noise ranks to leader: here I am. The number of the turn is added, so that an answer that comes after
/// the leader has given up is not taken for the answer of a later turn; MPI guarantees tags up to 32767.
const READY: Tag = 1 << 14;
const TURNS: usize = 1 << 14;

/// What came of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// All are there.
    Go,
    /// Somebody has not answered in time.
    GivenUp,
    /// The leader has a reason to stop.
    Stopped(Stop),
}

/// Added to the number of a reason to stop in the byte that says what came of a handshake.
const STOPPED: u8 = 2;

impl Met {
    fn byte(self) -> u8 {
        match self {
            Self::GivenUp => 0,
            Self::Go => 1,
            Self::Stopped(stop) => STOPPED + Stop::code(Some(stop)),
        }
    }

    fn from_byte(byte: u8) -> Self {
        match (byte, byte.checked_sub(STOPPED).and_then(Stop::from_code)) {
            (1, _) => Self::Go,
            (_, Some(stop)) => Self::Stopped(stop),
            _ => Self::GivenUp,
        }
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
                self.measure_pair(pair, round.index(), mpi::time(), length, cells)
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
        let begun = mpi::time();
        for other in ring.iter().chain([&pair.partner]) {
            self.wire.watch.enter_bounded(Phase::Handshake, Some(*other));
            self.wire.send(&word, *other, GO)?;
        }
        if self.stopped.is_some() {
            self.skip_from(turn);
            return Ok(());
        }
        match self.invite(ring, self.ready(turn), self.limit(turn))? {
            Met::Go => {
                wait_until_noisy(&self.wire, ring)?;
                self.measure_pair(pair, turn, begun, length, cells)?;
                hush(&self.wire, ring)
            }
            met => {
                self.wire.send(&[met.byte()], pair.partner, START)?;
                self.leave_out(met, pair, turn, cells);
                Ok(())
            }
        }
    }

    /// Takes part in a round of disjoint pairs, if all agree to go on.
    pub(super) fn meet(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), MpiError> {
        let Some(pair) = round.pair_of(self.me) else { return Ok(()) };
        self.take_host(round)?;
        self.measure_pair(pair, round.index(), mpi::time(), length, cells)?;
        self.pass_host_on(pair, round)
    }

    /// A host takes part in one pair at a time: waits until the pair of another rank of this host that comes before
    /// this one is done.
    fn take_host(&mut self, round: &Round<'_>) -> Result<(), MpiError> {
        let run = self.run.as_ref().expect("prepare comes before run");
        let first = run.part.start;
        let before = std::iter::successors(round.previous(), Round::previous)
            .take_while(|round| round.index() >= first)
            .find_map(|round| self.last_of_host(&round));
        match before.filter(|before| *before != self.me) {
            None => Ok(()),
            Some(before) => {
                self.wire.watch.queue(Phase::Token, Some(before));
                self.wire.receive(&mut [], before, HOST)
            }
        }
    }

    /// Lets the ranks of this host go on that come next.
    fn pass_host_on(&mut self, pair: Pair, round: &Round<'_>) -> Result<(), MpiError> {
        if self.last_of_host(round) != Some(self.me) {
            return Ok(());
        }
        debug_assert!(pair.other(self.me).is_some(), "only who measures has the host");
        let run = self.run.as_ref().expect("prepare comes before run");
        let end = run.part.end;
        let next = std::iter::successors(round.next(), Round::next)
            .take_while(|round| round.index() < end)
            .map(|round| self.of_host(&round))
            .find(|ranks| !ranks.is_empty())
            .unwrap_or_default();
        self.wire.watch.queue(Phase::Token, None);
        let sent = next.into_iter().filter(|next| *next != self.me);
        sent.into_iter().try_for_each(|next| self.wire.send(&[], next, HOST))?;
        self.wire.watch.rest();
        Ok(())
    }

    /// The ranks of this host that are in a pair of the round: one, or two of the same pair.
    fn of_host(&self, round: &Round<'_>) -> Vec<Rank> {
        let hosts = &self.run.as_ref().expect("prepare comes before run").plan.hosts;
        let own = hosts.ranks_of(hosts.host_of(self.me));
        if let [_] = own {
            return round.pair_of(self.me).map(|_| self.me).into_iter().collect();
        }
        own.iter().copied().filter(|rank| round.pair_of(*rank).is_some()).collect()
    }

    /// The one of them that is done last.
    fn last_of_host(&self, round: &Round<'_>) -> Option<Rank> {
        match self.of_host(round)[..] {
            [] => None,
            [only] => Some(only),
            [first, ..] => round.pair_of(first).map(|pair| pair.leader),
        }
    }

    /// Why this rank does not begin any more.
    fn stops(&self) -> Option<Stop> {
        self.stopped.max(self.request.wish())
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
        if let Met::Stopped(stop) = met {
            self.note(Some(stop));
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

    /// Shakes hands and measures both directions. The number of the turn is the same on both sides; this rank has `begun` to
    /// call for the other one at this moment of its clock. An error means that the handshake itself broke down.
    pub(super) fn measure_pair(
        &mut self,
        pair: Pair,
        turn: usize,
        begun: f64,
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
            self.invite(&[pair.partner], ready, self.limit(turn))?
        } else {
            self.accept(pair.leader, ready)?
        };
        let run = self.run.as_mut().expect("prepare comes before run");
        let stop = match &mut run.traffic {
            Traffic::Pairs { exchange, sampler, .. } if met == Met::Go => {
                sampler.know_handshake(mpi::time() - begun);
                sampler.both_directions(&self.wire, &run.clock, exchange.as_mut(), pair, self.me, length, cells)
            }
            _ => {
                self.leave_out(met, pair, turn, cells);
                None
            }
        };
        if stop.is_some() {
            self.note(stop);
            self.skip_from(turn);
        }
        self.wire.watch.rest();
        Ok(())
    }

    /// Shakes hands before the probe, in which there are no turns yet.
    pub(super) fn meet_for_probe(&self, pair: Pair) -> Result<bool, MpiError> {
        let ready = READY + (TURNS - 1 - self.probes % TURNS) as Tag;
        let met = if pair.leader == self.me {
            self.invite(&[pair.partner], ready, self.watchdog.handshake().as_secs_f64())?
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
    fn invite(&self, others: &[Rank], ready: Tag, limit: f64) -> Result<Met, MpiError> {
        let start = mpi::time();
        let mut met = self.stops().map_or(Met::Go, Met::Stopped);
        for other in others {
            self.wire.watch.enter_bounded(Phase::Handshake, Some(*other));
            let go_on = || mpi::time() - start < limit && self.stops().is_none();
            if !self.wire.receive_while(*other, ready, go_on)? {
                met = self.stops().map_or(Met::GivenUp, Met::Stopped);
                if met == Met::GivenUp {
                    self.watchdog.skip(*other, Duration::from_secs_f64((mpi::time() - start).max(0.0)));
                }
            }
        }
        others.iter().try_for_each(|other| self.wire.send(&[met.byte()], *other, START))?;
        Ok(met)
    }

    /// How long a leader waits for answers in this turn, in seconds. Twice as long where others may still be in an earlier
    /// round of the same part, and wait there for somebody else.
    fn limit(&self, turn: usize) -> f64 {
        let run = self.run.as_ref().expect("prepare comes before run");
        let is_alone = run.plan.schedule() == Schedule::Isolated || turn <= run.part.start || turn >= run.turns;
        self.watchdog.handshake().as_secs_f64() * if is_alone { 1.0 } else { 2.0 }
    }

    /// The others' part of a handshake: whether the leader is still there, and has found everybody.
    fn accept(&self, leader: Rank, ready: Tag) -> Result<Met, MpiError> {
        if self.silent {
            self.wire.watch.rest();
            thread::sleep(2 * self.watchdog.handshake() + Duration::from_secs(1));
        }
        self.wire.watch.enter_bounded(Phase::Handshake, Some(leader));
        self.wire.send(&[], leader, ready)?;
        let mut start = [0];
        self.wire.receive(&mut start, leader, START)?;
        Ok(Met::from_byte(start[0]))
    }

    /// Takes part in a collective round, unless all have agreed in an earlier one to stop.
    pub(super) fn gather_round(
        &mut self,
        root: Option<Rank>,
        round: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), MpiError> {
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
        self.wire.watch.enter(Phase::Collective, None);
        let mut stop = None;
        if let Traffic::Collective { exchange, ensemble } = &mut run.traffic {
            stop = ensemble.round(&self.wire, &run.clock, exchange.as_mut(), root, length, cells)?;
        }
        self.wire.watch.rest();
        if stop.is_some() {
            self.note(stop);
            self.skip_from(round);
        }
        Ok(())
    }
}

/// Both directions of a pair get no samples, because somebody has not come in time.
fn time_out(pair: Pair, cells: &mut Cells) {
    for (source, destination) in [(pair.leader, pair.partner), (pair.partner, pair.leader)] {
        cells.set(source, destination, Cell::missing(State::TimedOut));
    }
}

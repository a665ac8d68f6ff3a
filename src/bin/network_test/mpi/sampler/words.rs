//! What the two ranks of a pair say to each other between exchanges.
//!
//! No word may be under way to the answering side when the other's clock begins to run: it would be taken, and paid for,
//! before the announcement. So the answering side decides what has to be decided, and what only the other can know is
//! answered.

use netmatrix::{
    measure::{Stop, Stopping},
    stats::median,
};

use super::{Announcement, Exchange, MpiError, Role, Sampler, Tag, Way};

/// Whether a batch was the last.
const ENOUGH: Tag = 18;
/// How many more exchanges the warm-up has.
const WARM: Tag = 30;
/// The first direction is done, and an announcement takes so long.
const HAND_OVER: Tag = 31;
/// How many exchanges are still to be made before the next word, or why there will be none.
const GRANT: Tag = 40;

/// How often one of a pair looks whether it is to stop, roughly, in seconds.
const LOOK_UP_EVERY: f64 = 0.25;

impl Way<'_> {
    /// Whether this rank decides for both. Symmetric exchanges meet before a clock runs: it may be either.
    fn decides(&self) -> bool {
        self.role == Role::Answering || self.role == Role::Both && self.me < self.other
    }
}

impl Sampler {
    /// Exchanges that do not count. In the first direction of a pair they last as long as was asked for: one rank looks
    /// at its clock and says how many more there are.
    pub(super) fn warm_up(
        &mut self,
        way: &Way<'_>,
        exchange: &mut dyn Exchange,
        is_first: bool,
    ) -> Result<(), MpiError> {
        let begin = mpi::time();
        let mut done = 0;
        let mut next = self.warmup.first();
        while next > 0 {
            self.exchanges(way, exchange, way.length, next)?;
            self.first = self.first.or(self.times.first().copied());
            done += next;
            if !is_first || !self.warmup.has_time() {
                break;
            }
            let mut number = (self.warmup.next(done, mpi::time() - begin) as u32).to_le_bytes();
            if way.decides() {
                way.wire.send(&number, way.other, WARM)?;
            } else {
                way.wire.receive(&mut number, way.other, WARM)?;
            }
            next = u32::from_le_bytes(number) as usize;
        }
        Ok(())
    }

    /// What an announcement takes: half of an empty exchange of the pair. Only who measures knows it.
    pub(super) fn measure_announcement(
        &mut self,
        way: &Way<'_>,
        exchange: &mut dyn Exchange,
        rule: &mut Stopping,
    ) -> Result<Option<Announcement>, MpiError> {
        self.times.clear();
        let mut done = 0;
        let mut precise = false;
        while !precise && rule.next_batch(done) > 0 {
            let batch = rule.next_batch(done);
            self.more_exchanges(way, exchange, 0, batch)?;
            done += batch;
            if rule.is_adaptive() {
                precise = self.enough(way, rule.is_precise(&self.times))?;
            }
        }
        let error = rule.error(&self.times) / 2.0;
        let own = Announcement { way: median(&mut self.times) / 2.0, error };
        Ok((way.role != Role::Answering).then_some(own))
    }

    /// The first direction is done: the rank that has measured says so when it has time for the other one, and what an
    /// announcement takes, if that is known.
    pub(super) fn hand_over(&mut self, way: &Way<'_>) -> Result<(), MpiError> {
        let mut bytes = [0; 16];
        if way.role == Role::Timed {
            let known = self.announcement.unwrap_or(Announcement { way: f64::NAN, error: f64::NAN });
            bytes[..8].copy_from_slice(&known.way.to_le_bytes());
            bytes[8..].copy_from_slice(&known.error.to_le_bytes());
            return way.wire.send(&bytes, way.other, HAND_OVER);
        }
        way.wire.receive(&mut bytes, way.other, HAND_OVER)?;
        let number = |from: usize| f64::from_le_bytes(bytes[from..from + 8].try_into().expect("8 bytes"));
        self.announcement = Some(Announcement { way: number(0), error: number(8) }).filter(|known| !known.way.is_nan());
        Ok(())
    }

    /// How many more exchanges there are before the next word, or why the pair is given up. Who decides does so from
    /// what the exchanges before have taken; nothing is said in pairs that are done before.
    pub(super) fn grant(&self, way: &Way<'_>, spent: f64, exchanges: usize) -> Result<Result<usize, Stop>, MpiError> {
        let mut word = [0; 5];
        if way.decides() {
            let one = spent.max(1e-9) / exchanges.max(1) as f64;
            let more = (LOOK_UP_EVERY / one) as u32;
            word[0] = Stop::code(self.request.wish());
            word[1..].copy_from_slice(&more.max(1).to_le_bytes());
            way.wire.send(&word, way.other, GRANT)?;
        } else {
            way.wire.receive(&mut word, way.other, GRANT)?;
        }
        let more = u32::from_le_bytes([word[1], word[2], word[3], word[4]]);
        Ok(Stop::from_code(word[0]).map_or(Ok(more as usize), Err))
    }

    /// Whether the rank that measures (both, in symmetric modes) has seen enough; `precise`: whether this one has.
    pub(super) fn enough(&self, way: &Way<'_>, precise: bool) -> Result<bool, MpiError> {
        let (mine, mut others) = ([u8::from(precise)], [1]);
        match way.role {
            // The clock runs again only when the word has arrived.
            Role::Timed => {
                way.wire.send(&mine, way.other, ENOUGH)?;
                way.wire.receive(&mut [], way.other, ENOUGH)?;
            }
            Role::Answering => {
                way.wire.receive(&mut others, way.other, ENOUGH)?;
                way.wire.send(&[], way.other, ENOUGH)?;
            }
            Role::Both => way.wire.shift(&mine, way.other, &mut others, way.other, ENOUGH)?,
        }
        Ok((precise || way.role == Role::Answering) && others[0] == 1)
    }
}

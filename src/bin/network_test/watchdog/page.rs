//! What a rank is doing, noted by the thread that measures and read by its watchdog.
//!
//! Plain relaxed stores, and none of them between two readings of the clock: nobody waits for anybody, and what the
//! watchdog reads is exact only while nothing moves, which is when it matters.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use netmatrix::{
    plan::{Mode, operation::Algorithm},
    record::Phase,
    units::{Bytes, Rank},
};

use super::arrivals::Arrivals;

/// A number that is not there.
const NONE: u64 = u64::MAX;

/// How long a rank may wait where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// For the very ranks that it names: as long as `--timeout`.
    Direct,
    /// As before, but the wait ends by itself, or the others have one of their own first: twice as long.
    Bounded,
    /// For others to finish their work: as long as anybody moves.
    Queue,
}

/// The page of one rank.
#[derive(Debug)]
struct Page {
    /// Raised with each entry.
    moves: AtomicU64,
    /// 0: not waiting; else the place in `Phase::ALL`, plus 1.
    phase: AtomicU8,
    kind: AtomicU8,
    other: AtomicU64,
    /// 0: none; else the place in `Mode::all`, plus 1.
    mode: AtomicU8,
    /// 0: none; else the place in `Algorithm::all`, plus 1.
    operation: AtomicU8,
    length: AtomicU64,
    round: AtomicU64,
    sample: AtomicU64,
    /// Steps that all ranks take together, and are behind the rank; `step`: the same while it is in one or behind one.
    steps: AtomicU64,
    step: AtomicU64,
    /// What a message of this length may take besides, milliseconds.
    slack: AtomicU64,
    /// What has come in the exchange of many that is under way.
    arrivals: Mutex<Option<Arrivals>>,
}

/// The two ends of a page.
#[derive(Clone, Debug)]
pub struct Watch {
    page: Arc<Page>,
    /// Ranks by the numbers that this end knows them by; `None`: the same.
    names: Option<Arc<[Rank]>>,
}

impl Default for Watch {
    fn default() -> Self {
        let none = || AtomicU64::new(NONE);
        let page = Page {
            moves: AtomicU64::new(0),
            phase: AtomicU8::new(0),
            kind: AtomicU8::new(0),
            other: none(),
            mode: AtomicU8::new(0),
            operation: AtomicU8::new(0),
            length: none(),
            round: none(),
            sample: none(),
            steps: AtomicU64::new(0),
            step: none(),
            slack: AtomicU64::new(0),
            arrivals: Mutex::new(None),
        };
        Self { page: Arc::new(page), names: None }
    }
}

/// What the watchdog has read.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// Changes with every entry.
    pub moves: u64,
    /// In what the rank waits, and how; `None`: it works by itself.
    pub wait: Option<(Phase, Kind)>,
    /// For whom, as far as it knows.
    pub others: Vec<Rank>,
    /// In which mode.
    pub mode: Option<Mode>,
    /// In which operation.
    pub operation: Option<Algorithm>,
    /// At which length.
    pub length: Option<Bytes>,
    /// In which round.
    pub round: Option<usize>,
    /// Behind how many exchanges.
    pub sample: Option<u64>,
    /// How many steps that all ranks take together it has behind it, where it is among them.
    pub step: Option<u64>,
    /// What a message of this length may take besides.
    pub slack: Duration,
}

/// A phase on the page.
fn mark(phase: Phase) -> u8 {
    Phase::ALL.iter().position(|known| *known == phase).map_or(0, |place| place as u8 + 1)
}

impl Watch {
    /// The same page for a communicator of these ranks alone, in its order.
    pub fn among(&self, members: &[Rank]) -> Self {
        Self { page: Arc::clone(&self.page), names: Some(members.into()) }
    }

    fn name(&self, other: Rank) -> u64 {
        self.names.as_ref().and_then(|names| names.get(other).copied()).unwrap_or(other) as u64
    }

    /// The rank is about to wait for the very ranks that it names.
    pub fn enter(&self, phase: Phase, other: Option<Rank>) {
        self.note(phase, Kind::Direct, other);
    }

    /// As [`Watch::enter`], where the wait ends by itself.
    pub fn enter_bounded(&self, phase: Phase, other: Option<Rank>) {
        self.note(phase, Kind::Bounded, other);
    }

    /// The rank is about to wait for others to finish their work; `other` is whose message it waits for, if it knows.
    pub fn queue(&self, phase: Phase, other: Option<Rank>) {
        self.note(phase, Kind::Queue, other);
    }

    fn note(&self, phase: Phase, kind: Kind, other: Option<Rank>) {
        let page = &*self.page;
        page.kind.store(kind as u8, Relaxed);
        page.other.store(other.map_or(NONE, |rank| self.name(rank)), Relaxed);
        page.sample.store(NONE, Relaxed);
        // All have the same steps behind them when they agree.
        let steps = Some(page.steps.load(Relaxed)).filter(|steps| phase == Phase::Agreement && *steps > 0);
        page.step.store(steps.unwrap_or(NONE), Relaxed);
        page.phase.store(mark(phase), Relaxed);
        self.moved();
    }

    /// The rank has finished `samples` exchanges of its pair.
    pub fn at(&self, samples: usize) {
        self.page.sample.store(samples as u64, Relaxed);
        self.moved();
    }

    /// The rank is about to wait for the message of `other` in a step that all ranks take together.
    pub fn step(&self, other: Rank) {
        self.page.other.store(self.name(other), Relaxed);
        self.page.step.store(self.page.steps.load(Relaxed), Relaxed);
        self.page.phase.store(mark(Phase::Barrier), Relaxed);
        self.moved();
    }

    /// So many more steps that all ranks take together are behind the rank, and it is about to take another.
    pub fn stepped(&self, steps: u64) {
        let steps = self.page.steps.load(Relaxed) + steps;
        self.page.steps.store(steps, Relaxed);
        self.page.step.store(steps, Relaxed);
        self.page.phase.store(mark(Phase::Collective), Relaxed);
        self.moved();
    }

    /// Exchanges of many note here what has come; `None`: no more.
    pub fn arrivals(&self, arrivals: Option<Arrivals>) {
        *self.page.arrivals.lock().unwrap_or_else(PoisonError::into_inner) = arrivals;
    }

    /// Something has been done.
    pub fn moved(&self) {
        // Only one thread writes: no locked instruction is needed.
        self.page.moves.store(self.page.moves.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The rank waits for nobody.
    pub fn rest(&self) {
        self.page.phase.store(0, Relaxed);
        self.moved();
    }

    /// An operation begins, or has ended.
    pub fn operation(&self, algorithm: Option<Algorithm>) {
        let place = algorithm.and_then(|algorithm| Algorithm::all().position(|known| known == algorithm));
        self.page.operation.store(place.map_or(0, |place| place as u8 + 1), Relaxed);
        // Not all ranks have a part in all operations.
        self.page.steps.store(0, Relaxed);
    }

    /// A run of `mode` begins, or has ended.
    pub fn mode(&self, mode: Option<Mode>) {
        let place = mode.and_then(|mode| Mode::all().position(|known| known == mode));
        self.page.mode.store(place.map_or(0, |place| place as u8 + 1), Relaxed);
        self.page.length.store(NONE, Relaxed);
        self.page.round.store(NONE, Relaxed);
        self.moved();
    }

    /// Messages have this length from now on, and an exchange of them may take `slack` besides.
    pub fn length(&self, length: Bytes, slack: Duration) {
        self.page.length.store(length.0, Relaxed);
        self.page.slack.store(slack.as_millis() as u64, Relaxed);
        self.page.round.store(NONE, Relaxed);
    }

    /// The round of this number begins.
    pub fn round(&self, round: usize) {
        self.page.round.store(round as u64, Relaxed);
    }

    /// What is noted now.
    pub fn noted(&self) -> Noted {
        let page = &*self.page;
        let number = |number: &AtomicU64| Some(number.load(Relaxed)).filter(|number| *number != NONE);
        let kind = match page.kind.load(Relaxed) {
            kind if kind == Kind::Direct as u8 => Kind::Direct,
            kind if kind == Kind::Bounded as u8 => Kind::Bounded,
            _ => Kind::Queue,
        };
        let phase = usize::from(page.phase.load(Relaxed)).checked_sub(1).and_then(|place| Phase::ALL.get(place));
        let missing = || page.arrivals.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Arrivals::missing);
        let others = match phase {
            Some(Phase::Collective) => missing().unwrap_or_default(),
            _ => number(&page.other).map(|rank| rank as Rank).into_iter().collect(),
        };
        let mode = usize::from(page.mode.load(Relaxed)).checked_sub(1).and_then(|place| Mode::all().nth(place));
        Noted {
            moves: page.moves.load(Relaxed),
            wait: phase.map(|phase| (*phase, kind)),
            others,
            mode,
            operation: usize::from(page.operation.load(Relaxed))
                .checked_sub(1)
                .and_then(|place| Algorithm::all().nth(place)),
            length: number(&page.length).map(Bytes),
            round: number(&page.round).map(|round| round as usize),
            sample: number(&page.sample),
            step: number(&page.step),
            slack: Duration::from_millis(page.slack.load(Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read() {
        let watch = Watch::default();
        let before = watch.noted();
        assert_eq!((before.wait, &before.others[..], before.mode, before.length), (None, &[][..], None, None));
        watch.mode(Some(Mode::Bcast));
        watch.operation(Some(Algorithm::Scan));
        assert_eq!(watch.noted().operation, Some(Algorithm::Scan));
        watch.length(Bytes(64), Duration::from_millis(5));
        watch.round(3);
        watch.enter(Phase::Exchange, Some(0));
        watch.at(16);
        let noted = watch.clone().noted();
        assert_eq!(noted.wait, Some((Phase::Exchange, Kind::Direct)));
        assert_eq!((&noted.others[..], noted.mode, noted.length), (&[0][..], Some(Mode::Bcast), Some(Bytes(64))));
        assert_eq!((noted.round, noted.sample, noted.slack), (Some(3), Some(16), Duration::from_millis(5)));
        assert_ne!(noted.moves, before.moves);
        watch.queue(Phase::Token, None);
        assert_eq!((watch.noted().wait, watch.noted().sample), (Some((Phase::Token, Kind::Queue)), None));
        let arrivals = Arrivals::new(4);
        watch.arrivals(Some(arrivals.clone()));
        watch.enter(Phase::Collective, None);
        assert!(watch.noted().others.is_empty());
        arrivals.begin(2..4);
        assert_eq!((watch.noted().others, watch.noted().step), (vec![2, 3], None));
        watch.at(7);
        watch.stepped(1);
        assert_eq!((watch.noted().others, watch.noted().step), (vec![2, 3], Some(1)));
        watch.step(1);
        let noted = watch.noted();
        assert_eq!((noted.wait, noted.others.clone()), (Some((Phase::Barrier, Kind::Direct)), vec![1]));
        assert_eq!((noted.step, noted.sample), (Some(1), Some(7)));
        watch.among(&[4, 9]).step(1);
        assert_eq!(watch.noted().others, [9]);
        watch.queue(Phase::Agreement, Some(0));
        assert_eq!(watch.noted().step, Some(1));
        watch.rest();
        assert_eq!(watch.noted().wait, None);
    }
}

//! Work inside a length: how many rounds are carried out before all agree again, and the cells of finished rounds as
//! they travel and are kept.
//!
//! A length is walked in parts of about a second. Behind each all ranks know how far they are, whether to go on, and with
//! how many rounds: the root measures what a round takes and decides for all. From time to time the cells of the rounds
//! that are finished are brought to the sink, so that a run that ends inside a length goes on behind them.

use std::time::Duration;

use super::{Cells, View};
use crate::{
    plan::{Round, RoundKind},
    record::{Cell, Extra, State},
    stats::Summary,
    units::Rank,
};

/// What a part should take: as long as nobody minds to wait.
const PART: f64 = 1.0;

/// By how much a part may be longer than the one before: a first round may have been fast by accident.
const GROWTH: usize = 8;

/// Finished rounds are brought to the sink this often at most,
const KEEP_EVERY: Duration = Duration::from_secs(5);
/// and so that it takes no more than one part in so many of the time.
const KEEP_SHARE: u32 = 20;

/// Where the wish to keep stands in the number on which all agree; the rounds of the next part are below it.
const KEEP: u64 = 1 << 40;

/// What all do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Rounds of the next part; 0: it would not end in time.
    pub(super) rounds: usize,
    /// Whether finished rounds are brought to the sink first.
    pub(super) keep: bool,
}

impl Order {
    /// For the first part of a run, of which nothing is known.
    pub(super) const FIRST: Self = Self { rounds: 1, keep: false };

    /// The number on which all agree.
    pub(super) fn number(self) -> u64 {
        (self.rounds as u64).min(KEEP - 1) | if self.keep { KEEP } else { 0 }
    }

    pub(super) fn from_number(number: u64) -> Self {
        Self { rounds: (number & (KEEP - 1)) as usize, keep: number & KEEP != 0 }
    }
}

/// The root's decisions.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    rounds: usize,
    /// Seconds of a round, as last measured.
    round: f64,
    since_kept: Duration,
    keeping: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { rounds: Order::FIRST.rounds, round: 0.0, since_kept: Duration::ZERO, keeping: Duration::ZERO }
    }

    /// A part of so many rounds took `spent`.
    pub(super) fn measured(&mut self, rounds: usize, spent: Duration) {
        self.since_kept += spent;
        self.rounds = self.rounds.max(rounds);
        self.round = spent.as_secs_f64() / rounds.max(1) as f64;
    }

    /// What comes next, where a round will take `factor` times as long and there is `left` until the run has to end.
    pub(super) fn order(&mut self, factor: f64, left: Option<Duration>) -> Order {
        let round = (self.round * factor).max(1e-9);
        let wanted = (PART / round) as usize;
        self.rounds = wanted.clamp(1, self.rounds.saturating_mul(GROWTH));
        let fitting = left.map_or(usize::MAX, |left| (left.as_secs_f64() / round) as usize);
        let keep = self.since_kept >= KEEP_EVERY.max(self.keeping * KEEP_SHARE);
        Order { rounds: self.rounds.min(fitting), keep }
    }

    /// Finished rounds were brought to the sink, which took so long.
    pub(super) fn kept(&mut self, spent: Duration) {
        (self.since_kept, self.keeping) = (Duration::ZERO, spent);
    }
}

/// The cells that this process may have measured in a round. A round of all with all is never divided.
pub(super) fn cells_of(round: &Round<'_>, view: View, ranks: usize) -> Vec<(Rank, Rank)> {
    let both = |(a, b)| [(a, b), (b, a)];
    match (round.kind(), view) {
        (RoundKind::Pairs, View::Rank(me)) => {
            round.pair_of(me).into_iter().flat_map(|pair| both((pair.leader, pair.partner))).collect()
        }
        (RoundKind::Pairs, View::Whole) => {
            round.pairs().into_iter().flat_map(|pair| both((pair.leader, pair.partner))).collect()
        }
        (RoundKind::Root(root), View::Rank(me)) => vec![(root, me)],
        (RoundKind::Root(root), View::Whole) => (0..ranks).map(|to| (root, to)).collect(),
        (RoundKind::Everyone, _) => Vec::new(),
    }
}

/// Bytes of a cell with its source and destination: two ranks, five statistics, samples, damaged payloads, the clock's
/// bound, three optional statistics, the state; little endian.
const WIDTH: usize = 4 + 4 + 5 * 8 + 4 + 4 + 8 + 3 * 8 + 1;

/// Appends a cell.
pub(super) fn encode(source: Rank, destination: Rank, cell: &Cell, bytes: &mut Vec<u8>) {
    let Summary { min, average, median, max, deviation } = cell.summary;
    for rank in [source, destination] {
        bytes.extend((rank as u32).to_le_bytes());
    }
    bytes.extend([min, average, median, max, deviation].into_iter().flat_map(f64::to_le_bytes));
    bytes.extend([cell.samples, cell.damaged].into_iter().flat_map(u32::to_le_bytes));
    bytes.extend(cell.clock_bound.unwrap_or(f64::NAN).to_le_bytes());
    bytes.extend(cell.extra.numbers().into_iter().flat_map(f64::to_le_bytes));
    bytes.extend(cell.state.id().to_le_bytes());
}

/// Takes over the cells of this process from bytes; what is no cell among `ranks` is left out.
pub(super) fn decode(bytes: &[u8], ranks: usize, cells: &mut Cells) {
    for bytes in bytes.as_chunks::<WIDTH>().0 {
        let (integers, rest) = bytes.split_at(8);
        let rank = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let (source, destination) = (rank(integers) as usize, rank(&integers[4..]) as usize);
        let number = |place: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&rest[place..place + 8]);
            f64::from_le_bytes(number)
        };
        let [min, average, median, max, deviation] = [0, 8, 16, 24, 32].map(number);
        let Some(state) = State::from_id(rest[80] as i8) else { continue };
        if source < ranks && destination < ranks {
            let clock_bound = Some(number(48)).filter(|bound| !bound.is_nan());
            let summary = Summary { min, average, median, max, deviation };
            let extra = Extra::of_numbers([56, 64, 72].map(number));
            let (samples, damaged) = (rank(&rest[40..]), rank(&rest[44..]));
            cells.set(source, destination, Cell { summary, samples, state, damaged, clock_bound, extra });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Mode;

    #[test]
    fn a_cell_survives_its_bytes() {
        let cell = Cell::measured(Summary::of(&mut [1.0, 2.0, 4.0]), 3, State::Damaged);
        let extra = Extra { p99: 4.0, ..Extra::NONE };
        let cell = Cell { damaged: 2, clock_bound: Some(1e-6), extra, ..cell };
        let mut bytes = Vec::new();
        encode(1, 0, &cell, &mut bytes);
        encode(2, 1, &Cell::missing(State::TimedOut), &mut bytes);
        encode(9, 1, &cell, &mut bytes);
        assert_eq!(bytes.len(), 3 * WIDTH);
        let mut cells = Cells::new(Mode::OneToOne, 3, View::Whole);
        decode(&bytes, 3, &mut cells);
        assert_eq!(cells.get(1, 0), Some(&cell));
        assert_eq!(cells.get(2, 1).unwrap().state, State::TimedOut);
        assert_eq!(cells.get(0, 1).unwrap().state, State::NotScheduled);
    }

    #[test]
    fn orders_survive_their_number() {
        for order in [Order::FIRST, Order { rounds: 0, keep: true }, Order { rounds: 1 << 30, keep: true }] {
            assert_eq!(Order::from_number(order.number()), order);
        }
    }

    #[test]
    fn parts_become_a_second_long_and_end_in_time() {
        let (second, millisecond) = (Duration::from_secs(1), Duration::from_millis(1));
        let mut pace = Pace::new();
        let mut rounds = 1;
        let mut after = |rounds: usize, spent, factor, left| {
            pace.measured(rounds, spent);
            pace.order(factor, left).rounds
        };
        for expected in [8, 64, 512, 1000, 1000] {
            rounds = after(rounds, rounds as u32 * millisecond, 1.0, None);
            assert_eq!(rounds, expected);
        }
        assert_eq!(after(1000, second, 2.0, None), 500, "longer messages");
        assert_eq!(after(1000, second, 1.0, Some(100 * millisecond)), 100);
        assert_eq!(after(1, second, 1.0, Some(999 * millisecond)), 0, "it would not end in time");
        assert_eq!(after(1, 90 * second, 1.0, None), 1, "a round that is longer is not divided");
    }

    #[test]
    fn rounds_are_kept_at_a_bounded_rate() {
        let mut pace = Pace::new();
        let keeps = |pace: &mut Pace, seconds| {
            pace.measured(1, Duration::from_secs(seconds));
            pace.order(1.0, None).keep
        };
        assert_eq!([keeps(&mut pace, 4), keeps(&mut pace, 1)], [false, true]);
        pace.kept(Duration::from_secs(1));
        assert_eq!([keeps(&mut pace, 19), keeps(&mut pace, 1)], [false, true], "one twentieth of the time");
    }
}

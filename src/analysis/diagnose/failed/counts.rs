//! What was tried and what came of it: states in, counts by pairs of hosts out.

use super::Symptom;
use crate::record::{BoxError, Cell, Run, State};

/// Counts of one ordered pair of hosts at one length; of a host with itself: of the pairs of its ranks.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) tried: u16,
    pub(super) bad: u16,
}

/// What was tried and what came of it, `[length][host * hosts + host]`.
pub(super) struct Cells {
    pub(super) hosts: usize,
    pub(super) counts: Vec<Vec<Count>>,
    pub(super) symptom: Symptom,
}

/// Cells that failed, and cells of which payloads arrived damaged; `None` where there are none of them.
pub(super) fn read(run: &dyn Run) -> Result<[Option<Cells>; 2], BoxError> {
    let (hosts, ranks) = (&run.header().hosts, run.ranks());
    let count = hosts.count();
    let mut both =
        [Symptom::Lossy, Symptom::Damaged].map(|symptom| Cells { hosts: count, counts: Vec::new(), symptom });
    let mut any = [false; 2];
    let mut states = vec![State::Measured; ranks * ranks];
    for length in 0..run.lengths().len() {
        run.read_states(length, 0..ranks, &mut states)?;
        let mut damaged = states.contains(&State::Damaged);
        let mut cells: Vec<Cell> = Vec::new();
        if run.header().is_verified() {
            cells = states.iter().map(|state| Cell::missing(*state)).collect();
            run.read_further(length, 0..ranks, &mut cells)?;
            damaged |= cells.iter().any(|cell| cell.damaged > 0);
        }
        let is_bad = |number: usize, place: usize, state: State| match number {
            0 => matches!(state, State::Failed | State::TimedOut),
            _ => damaged && (state == State::Damaged || cells.get(place).is_some_and(|cell| cell.damaged > 0)),
        };
        for (number, own) in both.iter_mut().enumerate() {
            let has_any = (0..states.len()).any(|place| is_bad(number, place, states[place]));
            any[number] |= has_any;
            let mut counts = vec![Count::default(); count * count];
            for (place, state) in states.iter().enumerate().filter(|(_, state)| **state != State::NotScheduled) {
                let (from, to) = (hosts.host_of(place / ranks), hosts.host_of(place % ranks));
                if place / ranks != place % ranks {
                    let cell = &mut counts[from * count + to];
                    cell.tried = cell.tried.saturating_add(1);
                    cell.bad = cell.bad.saturating_add(u16::from(has_any && is_bad(number, place, *state)));
                }
            }
            own.counts.push(counts);
        }
    }
    let [lost, damaged] = both;
    Ok([any[0].then_some(lost), any[1].then_some(damaged)])
}

#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) bad: f64,
    pub(super) tried: f64,
}

impl Tally {
    pub(super) fn add(&mut self, count: Count) {
        self.bad += f64::from(count.bad);
        self.tried += f64::from(count.tried);
    }

    pub(super) fn less(self, other: Self) -> Self {
        Self { bad: self.bad - other.bad, tried: self.tried - other.tried }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { bad: self.bad + other.bad, tried: self.tried + other.tried }
    }

    /// Logarithm of the likelihood ratio of its own rate against that of the rest, where it is higher.
    pub(super) fn gain(self, rest: Self) -> f64 {
        // Half a failure more: a rate that was never seen is not known to be zero (Jeffreys).
        let usual = (rest.bad + 0.5) / (rest.tried + 1.0);
        let own = self.bad / self.tried.max(1.0);
        if self.bad == 0.0 || own <= usual {
            return 0.0;
        }
        let good = self.tried - self.bad;
        self.bad * (own / usual).ln() + if good > 0.0 { good * ((1.0 - own) / (1.0 - usual)).ln() } else { 0.0 }
    }
}

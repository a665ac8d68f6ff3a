//! What was tried and what came of it: states in, counts by pairs of hosts out.

use super::Symptom;
use crate::{
    record::{BoxError, Cell, Run, State},
    stats::gain_over_rest,
};

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

/// Rows are read together that have so many cells: 16 MiB of values and 2 MiB of states. Rows that are turned cost a pass
/// over their matrix, and up to 1,448 ranks these are all.
const CELLS_AT_A_TIME: usize = 1 << 21;

/// Cells that failed, and cells of which payloads arrived damaged; `None` where there are none of them.
pub(super) fn read(run: &dyn Run) -> Result<[Option<Cells>; 2], BoxError> {
    let hosts = &run.header().hosts;
    let (count, ranks) = (hosts.count(), run.ranks());
    let is_bad = |symptom: Symptom, (state, damaged): (State, bool)| match symptom {
        Symptom::Lossy => matches!(state, State::Failed | State::TimedOut),
        _ => state == State::Damaged || damaged,
    };
    let mut any = [false; 2];
    each_cell(run, |_, _, cell| {
        any.iter_mut().zip(SYMPTOMS).for_each(|(any, symptom)| *any |= is_bad(symptom, cell));
    })?;
    let of_symptom = |(any, symptom): (bool, Symptom)| {
        let counts = || vec![vec![Count::default(); count * count]; run.lengths().len()];
        any.then(|| Cells { hosts: count, counts: counts(), symptom })
    };
    let mut both = [0, 1].map(|number| of_symptom((any[number], SYMPTOMS[number])));
    // Mostly there is nothing to be counted.
    if any.contains(&true) {
        each_cell(run, |length, place, cell| {
            let (from, to) = (place / ranks, place % ranks);
            if cell.0 == State::NotScheduled || from == to {
                return;
            }
            let pair = hosts.host_of(from) * count + hosts.host_of(to);
            for own in both.iter_mut().flatten() {
                let count = &mut own.counts[length][pair];
                count.tried = count.tried.saturating_add(1);
                count.bad = count.bad.saturating_add(u16::from(is_bad(own.symptom, cell)));
            }
        })?;
    }
    Ok(both)
}

const SYMPTOMS: [Symptom; 2] = [Symptom::Lossy, Symptom::Damaged];

/// Gives `take` every cell of a run: the number of its length, its place in the matrix, its state and whether payloads of it
/// arrived damaged.
fn each_cell(run: &dyn Run, mut take: impl FnMut(usize, usize, (State, bool))) -> Result<(), BoxError> {
    let ranks = run.ranks();
    let rows = (CELLS_AT_A_TIME / ranks).clamp(1, ranks);
    let parts = || (0..ranks).step_by(rows).map(|first| first..(first + rows).min(ranks));
    let (mut states, mut cells) = (Vec::new(), Vec::new());
    for (length, part) in (0..run.lengths().len()).flat_map(|length| parts().map(move |part| (length, part))) {
        states.resize(part.len() * ranks, State::Measured);
        run.read_states(length, part.clone(), &mut states)?;
        let first = part.start * ranks;
        if run.header().is_verified() {
            cells.clear();
            cells.extend(states.iter().map(|state| Cell::missing(*state)));
            run.read_further(length, part, &mut cells)?;
        }
        let is_damaged = |place: usize| cells.get(place).is_some_and(|cell: &Cell| cell.damaged > 0);
        let of_cells = states.iter().enumerate().map(|(place, state)| (first + place, (*state, is_damaged(place))));
        of_cells.for_each(|(place, cell)| take(length, place, cell));
    }
    Ok(())
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
        gain_over_rest([self.bad, self.tried], [rest.bad, rest.tried])
    }
}

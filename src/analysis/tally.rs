//! How many cells of a run were measured, and why others were not.
//!
//! In: a run, of which states and one statistic are read, some rows at a time. Out: a [`Tally`]. The diagonal takes no
//! part: it is no way through the network.

use crate::record::{BoxError, Run, State, Statistic};

/// Cells that are held at a time, unless a single row has more.
const CELLS_AT_A_TIME: usize = 1 << 16;

/// Numbers of cells by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// No state twice and no number 0, in the order of [`State::all`].
    counts: Vec<(State, u64)>,
}

impl Tally {
    /// Of all finished lengths.
    pub fn of(run: &dyn Run) -> Result<Self, BoxError> {
        let mut tally = Self::default();
        for length in 0..run.lengths().len() {
            tally.add(run, length)?;
        }
        Ok(tally)
    }

    /// Of one length.
    pub fn at(run: &dyn Run, length_index: usize) -> Result<Self, BoxError> {
        let mut tally = Self::default();
        tally.add(run, length_index)?;
        Ok(tally)
    }

    fn add(&mut self, run: &dyn Run, length_index: usize) -> Result<(), BoxError> {
        let ranks = run.ranks();
        let at_a_time = (CELLS_AT_A_TIME / ranks.max(1)).clamp(1, ranks.max(1));
        let statistics = run.statistics();
        let statistic = statistics.iter().find(|one| **one == Statistic::Median).or(statistics.first()).copied();
        let mut states = Vec::new();
        let mut values = Vec::new();
        let mut counts = vec![0; State::all().count()];
        for first in (0..ranks).step_by(at_a_time) {
            let rows = first..(first + at_a_time).min(ranks);
            states.resize(rows.len() * ranks, State::Measured);
            values.resize(states.len(), f64::NAN);
            run.read_states(length_index, rows.clone(), &mut states)?;
            if let Some(statistic) = statistic {
                run.read_rows(statistic, length_index, rows, &mut values)?;
            }
            for (place, (state, value)) in states.iter().zip(&values).enumerate() {
                if place / ranks + first != place % ranks {
                    counts[usize::try_from(what_came_of(*state, *value).id()).unwrap_or(0)] += 1;
                }
            }
        }
        let counts = State::all().zip(counts).filter(|(_, count)| *count > 0);
        for (state, count) in counts {
            match self.counts.iter_mut().find(|known| known.0 == state) {
                Some(known) => known.1 += count,
                None => self.counts.push((state, count)),
            }
        }
        self.counts.sort_unstable_by_key(|known| known.0.id());
        Ok(())
    }

    /// Numbers of cells by what became of them, no number 0.
    pub fn counts(&self) -> &[(State, u64)] {
        &self.counts
    }

    /// Number of cells of a state.
    pub fn of_state(&self, state: State) -> u64 {
        self.counts.iter().find(|known| known.0 == state).map_or(0, |known| known.1)
    }

    /// Cells that have a value that can be used: damaged payloads took their time as well, but say nothing good.
    pub fn measured(&self) -> u64 {
        let good = [State::Measured, State::Precise, State::Imprecise, State::ClockBound];
        good.into_iter().map(|state| self.of_state(state)).sum()
    }

    /// Cells that were tried and came to nothing.
    pub fn failed(&self) -> u64 {
        self.of_state(State::Failed) + self.of_state(State::TimedOut)
    }

    /// Cells of which payloads arrived damaged.
    pub fn damaged(&self) -> u64 {
        self.of_state(State::Damaged)
    }

    /// Cells that nobody tried.
    pub fn left_out(&self) -> u64 {
        self.of_state(State::NotScheduled)
    }
}

/// What is said to have been measured and has no value has failed.
fn what_came_of(state: State, value: f64) -> State {
    let has_value = !matches!(state, State::NotScheduled | State::Failed | State::TimedOut);
    if has_value && value.is_nan() { State::Failed } else { state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Plan},
        record::{Cell, Header, MemoryRun, Provenance},
        stats::Summary,
        units::{Bytes, Hosts},
    };

    #[test]
    fn every_pair_is_counted_once_by_what_became_of_it() {
        let plan = Plan::all(&Config::default(), &Hosts::new(["a", "b", "c"])).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let cell = |seconds: f64, state| Cell::measured(Summary::of(&mut [seconds]), 1, state);
        let cells = vec![
            Cell::zero(),
            cell(1.0, State::Measured),
            cell(1.0, State::Damaged),
            Cell::missing(State::TimedOut),
            Cell::zero(),
            Cell::missing(State::Failed),
            Cell::missing(State::NotScheduled),
            Cell { summary: Summary::MISSING, ..cell(1.0, State::Precise) },
            Cell::missing(State::TimedOut),
        ];
        run.push(Bytes(0), cells.clone());
        run.push(Bytes(64), cells);
        let (one, all) = (Tally::at(&run, 1).unwrap(), Tally::of(&run).unwrap());
        assert_eq!((one.measured(), one.failed(), one.damaged(), one.left_out()), (1, 3, 1, 1));
        assert_eq!((all.measured(), all.failed(), all.damaged(), all.left_out()), (2, 6, 2, 2));
        assert_eq!(one.of_state(State::TimedOut), 1);
    }
}

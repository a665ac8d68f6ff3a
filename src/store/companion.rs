//! What stands next to the statistics of a cell, in one file of a set: why it has the samples it has, how far off the
//! clocks may have been, how many payloads arrived damaged.

use super::classic::Kind;
use crate::{
    plan::{Mode, Timing},
    record::{Cell, Header, State, Statistic},
};

/// A further variable `[n][x][y]`, column of CSV or table of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Companion {
    /// `byte`: [`Cell::state`]; in every run.
    State,
    /// `double`, seconds: [`Cell::clock_bound`]; where synchronised clocks take the time, and of broadcasts.
    ClockBound,
    /// `int`: [`Cell::damaged`]; where payloads are checked, if only in some of the runs that were merged.
    Damaged,
}

impl Companion {
    const ALL: [Self; 3] = [Self::State, Self::ClockBound, Self::Damaged];

    /// Those of a run.
    pub(super) fn of_run(header: &Header) -> impl Iterator<Item = Self> {
        // Plans of the first version did not bound the skew of broadcasts.
        let newer = header.item("plan_version").is_some_and(|version| version != "1");
        let clocks = header.item("timing") == Some(Timing::Clock.name()) || (header.mode == Mode::Bcast && newer);
        Self::ALL.into_iter().filter(move |companion| match companion {
            Self::State => true,
            Self::ClockBound => clocks,
            Self::Damaged => header.is_verified(),
        })
    }

    /// The statistic of a set in whose file they stand.
    pub(super) fn beside(statistics: &[Statistic]) -> Option<Statistic> {
        let median = statistics.iter().find(|statistic| **statistic == Statistic::Median);
        median.or(statistics.first()).copied()
    }

    /// Name in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::ClockBound => "clock_bound",
            Self::Damaged => "damaged",
        }
    }

    /// What it says, in words.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::State => "why a cell has the samples it has, or none",
            Self::ClockBound => "how far off the start may be: bound of the synchronised clocks, or skew of a barrier",
            Self::Damaged => "number of payloads that arrived damaged",
        }
    }

    /// Unit of its values.
    pub(super) fn unit(self) -> &'static str {
        if self == Self::ClockBound { "s" } else { "1" }
    }

    /// Its value in a cell.
    pub(super) fn of(self, cell: &Cell) -> f64 {
        match self {
            Self::State => f64::from(cell.state.id()),
            Self::ClockBound => cell.clock_bound.unwrap_or(f64::NAN),
            Self::Damaged => f64::from(cell.damaged),
        }
    }

    /// Sets its value in a cell; `None` where it has no such value.
    pub(super) fn set(self, cell: &mut Cell, value: f64) -> Option<()> {
        let whole = value.fract() == 0.0;
        match self {
            Self::State if whole && (0.0..=127.0).contains(&value) => cell.state = State::from_id(value as i8)?,
            Self::ClockBound => cell.clock_bound = value.is_finite().then_some(value),
            Self::Damaged if whole && (0.0..=f64::from(i32::MAX)).contains(&value) => cell.damaged = value as u32,
            Self::State | Self::Damaged => return None,
        }
        Some(())
    }

    /// Type of its values in a NetCDF file.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::State => Kind::Byte,
            Self::ClockBound => Kind::Double,
            Self::Damaged => Kind::Int,
        }
    }

    /// Bytes of one value in a NetCDF file.
    pub(super) fn size(self) -> u64 {
        self.kind().size() as u64
    }

    /// Appends its values in `cells` as they stand in a NetCDF file.
    pub(super) fn encode(self, cells: &[Cell], bytes: &mut Vec<u8>) {
        match self {
            Self::State => bytes.extend(cells.iter().map(|cell| cell.state.id() as u8)),
            Self::ClockBound => bytes.extend(cells.iter().flat_map(|cell| self.of(cell).to_be_bytes())),
            Self::Damaged => {
                let number = |cell: &Cell| i32::try_from(cell.damaged).unwrap_or(i32::MAX);
                bytes.extend(cells.iter().flat_map(|cell| number(cell).to_be_bytes()));
            }
        }
    }

    /// The value that a cell has of which nothing is recorded.
    pub(super) fn implied(self, cell: &Cell, statistics: &[Statistic]) -> f64 {
        match self {
            Self::State => {
                let value = statistics.first().and_then(|statistic| statistic.of(&cell.summary));
                f64::from(State::of_value(value.unwrap_or(0.0)).id())
            }
            Self::ClockBound => f64::NAN,
            Self::Damaged => 0.0,
        }
    }
}

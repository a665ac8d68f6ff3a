//! One ordered pair at one length.

use super::Statistic;
use crate::{plan::Optional, stats::Summary};

/// Why a cell has the samples it has, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// All asked-for samples were taken.
    Measured,
    /// The asked-for precision was reached before the samples ran out.
    Precise,
    /// The samples ran out before the asked-for precision was reached.
    Imprecise,
    /// The value cannot be distinguished from the error of its start: the skew of a barrier exceeds it, or on
    /// synchronised clocks it is further below 0 than their bound allows.
    ClockBound,
    /// Payloads arrived damaged; the times are those of all exchanges.
    Damaged,
    /// Missing: the schedule leaves this pair out.
    NotScheduled,
    /// Missing: the exchange failed, says MPI.
    Failed,
    /// Missing: the partner did not answer in time.
    TimedOut,
    /// The median is below 100 steps of the clock.
    CoarseClock,
}

/// One line per state: itself, its number in files, its name in files and reports.
const TABLE: [(State, i8, &str); 9] = [
    (State::Measured, 0, "measured"),
    (State::Precise, 1, "precision_reached"),
    (State::Imprecise, 2, "samples_exhausted"),
    (State::ClockBound, 3, "clock_bound_exceeds_value"),
    (State::Damaged, 4, "payload_damaged"),
    (State::NotScheduled, 5, "not_scheduled"),
    (State::Failed, 6, "exchange_failed"),
    (State::TimedOut, 7, "timed_out"),
    (State::CoarseClock, 8, "clock_too_coarse"),
];

impl State {
    /// All states.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|line| line.0)
    }

    fn line(self) -> &'static (Self, i8, &'static str) {
        TABLE.iter().find(|line| line.0 == self).expect("the table has a line for every state")
    }

    /// Number in files.
    pub fn id(self) -> i8 {
        self.line().1
    }

    /// The state with this number, if there is one.
    pub fn from_id(id: i8) -> Option<Self> {
        TABLE.iter().find(|line| line.1 == id).map(|line| line.0)
    }

    /// What a value alone tells: it is there, or it is missing for a reason that nobody kept.
    pub fn of_value(value: f64) -> Self {
        if value.is_nan() { Self::Failed } else { Self::Measured }
    }

    /// Name in files and reports, one word.
    pub fn name(self) -> &'static str {
        self.line().2
    }
}

/// Statistics of one ordered pair at one length, how many samples they rest on, and why no more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// In seconds; all NaN where the cell is missing.
    pub summary: Summary,
    /// Number of samples.
    pub samples: u32,
    /// Why so many, or none.
    pub state: State,
    /// How many payloads arrived damaged; 0 where they were not checked.
    pub damaged: u32,
    /// How far off the start may be, in seconds: on synchronised clocks the bound of their offset, of a broadcast
    /// without them the skew of its barrier.
    pub clock_bound: Option<f64>,
    /// What is kept only where it is asked for.
    pub extra: Extra,
}

/// The optional statistics of a cell ([`Statistic::OPTIONAL`]), in seconds; NaN: not asked for, or missing.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    /// Quantile 0.90 of the samples.
    pub p90: f64,
    /// Quantile 0.99 of the samples.
    pub p99: f64,
    /// Handshake and first exchange.
    pub first: f64,
}

impl Extra {
    /// Nothing is kept.
    pub const NONE: Self = Self { p90: f64::NAN, p99: f64::NAN, first: f64::NAN };

    /// Those that are asked for, of samples: their quantiles, and the time of the first exchange.
    pub fn of(asked: &[Optional], mut quantile: impl FnMut(f64) -> f64, first: f64) -> Self {
        let mut extra = Self::NONE;
        for one in asked {
            match one {
                Optional::P90 => extra.p90 = quantile(0.9),
                Optional::P99 => extra.p99 = quantile(0.99),
                Optional::First => extra.first = first,
                Optional::Samples => {}
            }
        }
        extra
    }

    /// The three numbers, in the order of [`Statistic::OPTIONAL`].
    pub fn numbers(self) -> [f64; 3] {
        [self.p90, self.p99, self.first]
    }

    /// The inverse of [`Extra::numbers`].
    pub fn of_numbers([p90, p99, first]: [f64; 3]) -> Self {
        Self { p90, p99, first }
    }
}

/// What is missing is equal.
impl PartialEq for Extra {
    fn eq(&self, other: &Self) -> bool {
        self.numbers().iter().zip(other.numbers()).all(|(a, b)| *a == b || (a.is_nan() && b.is_nan()))
    }
}

impl Cell {
    /// A cell that was measured.
    pub fn measured(summary: Summary, samples: u32, state: State) -> Self {
        Self { summary, samples, state, damaged: 0, clock_bound: None, extra: Extra::NONE }
    }

    /// Sets one statistic, or the number of samples.
    pub fn set(&mut self, statistic: Statistic, value: f64) {
        match statistic {
            Statistic::Min => self.summary.min = value,
            Statistic::Average => self.summary.average = value,
            Statistic::Median => self.summary.median = value,
            Statistic::Max => self.summary.max = value,
            Statistic::Deviation => self.summary.deviation = value,
            // NaN becomes 0: no samples.
            Statistic::MeasurementsAmount => self.samples = value as u32,
            Statistic::P90 => self.extra.p90 = value,
            Statistic::P99 => self.extra.p99 = value,
            Statistic::First => self.extra.first = value,
        }
    }

    /// A cell without samples.
    pub fn missing(state: State) -> Self {
        Self::measured(Summary::MISSING, 0, state)
    }

    /// A cell that is 0 by definition: the diagonal where nothing is sent to oneself.
    pub fn zero() -> Self {
        Self { extra: Extra { p90: 0.0, p99: 0.0, first: 0.0 }, ..Self::measured(Summary::ZERO, 0, State::Measured) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_the_state() {
        assert!(State::all().all(|state| State::from_id(state.id()) == Some(state)));
        assert_eq!(State::from_id(99), None);
    }
}

//! The statistics of which a run has a matrix per length.

use std::{fmt, str::FromStr};

use super::Cell;
use crate::{
    stats::Summary,
    units::{ParseNameError, by_name},
};

/// What a matrix says about the samples of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Statistic {
    /// Arithmetic mean, seconds.
    Average,
    /// Median, seconds.
    Median,
    /// Population standard deviation, seconds.
    Deviation,
    /// Smallest sample, seconds.
    Min,
    /// Largest sample, seconds.
    Max,
    /// Number of samples.
    MeasurementsAmount,
    /// Nine tenths of the samples are below it, seconds.
    P90,
    /// 99 of a hundred samples are below it, seconds.
    P99,
    /// The first exchange of the length with the handshake before it, seconds.
    First,
}

/// One line per statistic: itself, its name everywhere, network_tests2's number, what it says.
const TABLE: [(Statistic, &str, i32, &str); 9] = [
    (Statistic::Average, "average", 1, "arithmetic mean of the samples"),
    (Statistic::Median, "median", 2, "median of the samples"),
    (Statistic::Deviation, "deviation", 3, "population standard deviation of the samples"),
    (Statistic::Min, "min", 4, "smallest sample"),
    (Statistic::Max, "max", 5, "largest sample"),
    (Statistic::MeasurementsAmount, "measurements_amount", 6, "number of samples"),
    (Statistic::P90, "p90", 7, "quantile 0.90 of the samples"),
    (Statistic::P99, "p99", 8, "quantile 0.99 of the samples"),
    (
        Statistic::First,
        "first",
        9,
        "handshake and first exchange of the pair, warm-up included: its connection is made there",
    ),
];

impl Statistic {
    /// The five statistics of every run, in seconds.
    pub const OF_TIMES: [Self; 5] = [Self::Min, Self::Average, Self::Median, Self::Max, Self::Deviation];

    /// Those that a run has only where they are asked for; in seconds.
    pub const OPTIONAL: [Self; 3] = [Self::P90, Self::P99, Self::First];

    /// All statistics in the order in which tables list them.
    pub fn listed() -> impl Iterator<Item = Self> {
        Self::OF_TIMES.into_iter().chain([Self::MeasurementsAmount]).chain(Self::OPTIONAL)
    }

    /// All statistics.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|line| line.0)
    }

    fn line(self) -> &'static (Self, &'static str, i32, &'static str) {
        TABLE.iter().find(|line| line.0 == self).expect("the table has a line for every statistic")
    }

    /// Name on the command line, in file names and in reports.
    pub fn name(self) -> &'static str {
        self.line().1
    }

    /// network_tests2's `data_type`, continued.
    pub fn id(self) -> i32 {
        self.line().2
    }

    /// The statistic with this `data_type`, if there is one.
    pub fn from_id(id: i32) -> Option<Self> {
        TABLE.iter().find(|line| line.2 == id).map(|line| line.0)
    }

    /// What it says, in words.
    pub fn meaning(self) -> &'static str {
        self.line().3
    }

    /// Unit of its values.
    pub fn unit(self) -> &'static str {
        if self == Self::MeasurementsAmount { "1" } else { "s" }
    }

    /// Its value in a cell; NaN where the cell has none.
    pub fn in_cell(self, cell: &Cell) -> f64 {
        match self {
            Self::MeasurementsAmount => f64::from(cell.samples),
            Self::P90 => cell.extra.p90,
            Self::P99 => cell.extra.p99,
            Self::First => cell.extra.first,
            _ => self.of(&cell.summary).unwrap_or(f64::NAN),
        }
    }

    /// Its value in a summary of times, if it is one of the five there.
    pub fn of(self, summary: &Summary) -> Option<f64> {
        match self {
            Self::Average => Some(summary.average),
            Self::Median => Some(summary.median),
            Self::Deviation => Some(summary.deviation),
            Self::Min => Some(summary.min),
            Self::Max => Some(summary.max),
            Self::MeasurementsAmount | Self::P90 | Self::P99 | Self::First => None,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What else they are called.
const SYNONYMS: [(&str, &str); 6] = [
    ("mean", "average"),
    ("avg", "average"),
    ("std", "deviation"),
    ("stddev", "deviation"),
    ("minimum", "min"),
    ("maximum", "max"),
];

impl FromStr for Statistic {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        by_name("statistic", text, Self::all(), Self::name, &SYNONYMS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_the_statistic() {
        for statistic in Statistic::all() {
            assert_eq!(statistic.name().parse(), Ok(statistic));
            assert_eq!(Statistic::from_id(statistic.id()), Some(statistic));
        }
        assert!("mean".parse::<Statistic>().unwrap_err().to_string().contains("did you mean `average`?"));
    }
}

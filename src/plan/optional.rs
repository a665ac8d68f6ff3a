//! What a run keeps only where it is asked for: statistics of every cell, and samples of a few.

use std::str::FromStr;

use crate::units::{ParseNameError, by_name};

/// Something that is kept only where it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optional {
    /// Quantile 0.90 of the samples.
    P90,
    /// Quantile 0.99 of the samples.
    P99,
    /// Handshake and first exchange of a pair.
    First,
    /// The samples themselves of pairs that are measured again alone: no statistic.
    Samples,
}

impl Optional {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::P90, Self::P99, Self::First, Self::Samples];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::First => "first",
            Self::Samples => "samples",
        }
    }

    /// Whether it is a statistic, which every cell has.
    pub fn is_statistic(self) -> bool {
        self != Self::Samples
    }

    /// Reads names with commas between; in the order of [`Optional::ALL`], each once.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ParseNameError> {
        let mut list = text.split(',').map(|name| name.trim().parse()).collect::<Result<Vec<Self>, _>>()?;
        list.sort_unstable();
        list.dedup();
        Ok(list)
    }
}

impl FromStr for Optional {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        by_name("optional statistic", text, Self::ALL, Self::name, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_and_names_what_it_does_not_know() {
        assert_eq!(Optional::parse_list("first, p90,first"), Ok(vec![Optional::P90, Optional::First]));
        let error = Optional::parse_list("p90,p50").unwrap_err().to_string();
        assert!(error.contains("`p50`") && error.contains("p90, p99, first, samples"), "{error}");
    }
}

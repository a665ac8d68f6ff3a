//! How the cells of one length are distributed: quantiles over all pairs, and how many pairs are missing.

use super::tally::Tally;
use crate::{
    record::{BoxError, Run, Statistic},
    stats::quantile,
    units::Bytes,
};

/// The quantiles of a [`Distribution`], as parts of 1.
pub const LEVELS: [f64; 7] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];

/// One statistic of all pairs at one length. The diagonal takes no part: it is no way through the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Message length.
    pub length: Bytes,
    /// In the unit of the statistic, `[level]` as in [`LEVELS`]; NaN where there is no cell.
    pub quantiles: [f64; 7],
    /// Pairs that have a value.
    pub present: usize,
    /// Pairs that have none.
    pub missing: usize,
    /// What became of all pairs.
    pub tally: Tally,
}

impl Distribution {
    /// Of a statistic at the length with this number. Holds one matrix.
    pub fn of(run: &dyn Run, statistic: Statistic, length_index: usize) -> Result<Self, BoxError> {
        let mut values: Vec<f64> = run.matrix(statistic, length_index)?.off_diagonal().collect();
        // Selecting a quantile from sorted values touches little, and there are seven to select.
        values.sort_unstable_by(f64::total_cmp);
        let (ranks, present) = (run.ranks(), values.len());
        Ok(Self {
            length: run.lengths()[length_index],
            quantiles: LEVELS.map(|level| quantile(&mut values, level)),
            present,
            missing: ranks * ranks.saturating_sub(1) - present,
            tally: Tally::at(run, length_index)?,
        })
    }
}

/// Numbers of values in `bins` bins; `place` says where between 0 and 1 a value lies. NaN is in none.
pub fn histogram(values: impl Iterator<Item = f64>, bins: usize, place: impl Fn(f64) -> f64) -> Vec<usize> {
    let mut counts = vec![0; bins];
    for value in values.filter(|value| !value.is_nan()) {
        let bin = (place(value) * bins as f64) as usize;
        if let Some(count) = counts.get_mut(bin.min(bins.saturating_sub(1))) {
            *count += 1;
        }
    }
    counts
}

/// Numbers of at most `most` of `count` lengths, evenly spread, with the first and the last: for tables that people
/// read. All where `most` is not below `count`.
pub fn spread(count: usize, most: usize) -> Vec<usize> {
    if count <= most || most < 2 {
        return (0..count).collect();
    }
    (0..most).map(|k| (k * (count - 1) + (most - 1) / 2) / (most - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Plan},
        record::{Cell, Header, MemoryRun, Provenance, State},
        stats::Summary,
        units::Hosts,
    };

    #[test]
    fn the_diagonal_and_missing_cells_take_no_part() {
        let plan = Plan::all(&Config::default(), &Hosts::new(["a", "b", "c"])).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let cell = |seconds: f64| Cell::measured(Summary::of(&mut [seconds]), 1, State::Measured);
        let lost = Cell::missing(State::Failed);
        run.push(
            Bytes(0),
            vec![cell(99.0), cell(1.0), cell(2.0), cell(3.0), cell(99.0), cell(4.0), cell(5.0), lost, lost],
        );
        let distribution = Distribution::of(&run, Statistic::Median, 0).unwrap();
        assert_eq!((distribution.present, distribution.missing), (5, 1));
        assert_eq!(distribution.quantiles[0], 1.0);
        assert_eq!(distribution.quantiles[3], 3.0);
        assert_eq!(distribution.quantiles[6], 5.0);
    }

    #[test]
    fn a_run_without_pairs_has_no_quantiles() {
        let plan = Plan::all(&Config::default(), &Hosts::new(["a", "b"])).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        run.push(Bytes(0), vec![Cell::missing(State::Failed); 4]);
        let distribution = Distribution::of(&run, Statistic::Min, 0).unwrap();
        assert_eq!((distribution.present, distribution.missing), (0, 2));
        assert!(distribution.quantiles.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn a_histogram_has_every_value_once() {
        let values = [0.0, 0.1, 0.49, 0.5, 1.0, f64::NAN];
        assert_eq!(histogram(values.into_iter(), 2, |value| value), [3, 2]);
        assert_eq!(histogram(values.into_iter(), 0, |value| value), [0; 0]);
    }

    #[test]
    fn a_spread_has_the_ends_and_no_repetition() {
        assert_eq!(spread(3, 10), [0, 1, 2]);
        assert_eq!(spread(0, 10), [0; 0]);
        for (count, most) in [(100, 12), (13, 12), (1000, 2), (25, 24)] {
            let numbers = spread(count, most);
            assert_eq!((numbers.len(), numbers[0], numbers[most - 1]), (most, 0, count - 1));
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        }
    }
}

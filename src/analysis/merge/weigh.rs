//! Cells of one pair from several runs to one cell.
//!
//! With n samples in one run and m in the other, as if all of them had been taken in one:
//!
//! * min, max: the smallest and the largest of both;
//! * average: (n a + m b) / (n + m);
//! * deviation: the root of (n s^2 + m t^2) / (n + m) + n m (a - b)^2 / (n + m)^2, exact for population deviations;
//! * median: (n p + m q) / (n + m), which is not the median of all samples, for those are gone, but lies between both.
//!
//! A cell that one run alone measured is kept as it is.

use crate::{
    record::{Cell, Extra, State},
    stats::Summary,
};

/// The cells of one pair so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weighed(Option<Cell>);

/// States of cells with values, from the one that says least against them on.
const WORSE: [State; 6] =
    [State::Precise, State::Measured, State::Imprecise, State::CoarseClock, State::ClockBound, State::Damaged];

/// Whether a cell has no value.
pub(super) fn is_missing(cell: &Cell) -> bool {
    let Summary { min, average, median, max, deviation } = cell.summary;
    [min, average, median, max, deviation].iter().all(|value| value.is_nan())
}

impl Weighed {
    /// Adds what a further run found. Its number of samples is its weight.
    pub(super) fn add(&mut self, cell: &Cell) {
        self.0 = Some(match &self.0 {
            None => *cell,
            Some(own) => joined(own, cell),
        });
    }

    /// What all runs found together.
    pub(super) fn cell(self) -> Cell {
        self.0.unwrap_or(Cell::missing(State::NotScheduled))
    }
}

fn joined(a: &Cell, b: &Cell) -> Cell {
    let cell = match (is_missing(a), is_missing(b)) {
        (false, true) => *a,
        (true, false) => *b,
        // A reason why it failed says more than that it was left out.
        (true, true) => *if a.state == State::NotScheduled { b } else { a },
        (false, false) => Cell {
            summary: pooled(&a.summary, a.samples, &b.summary, b.samples),
            samples: a.samples.saturating_add(b.samples),
            state: worse(a.state, b.state),
            damaged: 0,
            clock_bound: larger(a.clock_bound, b.clock_bound),
            // Quantiles cannot be joined.
            extra: if a.extra == b.extra { a.extra } else { Extra::NONE },
        },
    };
    Cell { damaged: a.damaged.saturating_add(b.damaged), ..cell }
}

fn worse(a: State, b: State) -> State {
    let place = |state: State| WORSE.iter().position(|other| *other == state);
    if place(b) > place(a) { b } else { a }
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

/// The summary of `n` and `m` samples that were summarised apart. A statistic that one side lacks is the other's.
fn pooled(a: &Summary, n: u32, b: &Summary, m: u32) -> Summary {
    // Cells that are 0 by definition have no samples, and are equal.
    let [n, m] = [n, m].map(|samples| f64::from(samples.max(1)));
    let share = m / (n + m);
    // In this form the mean of equal values is that value.
    let mean = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ => a + (b - a) * share,
    };
    let (min, max) = (a.min.min(b.min), a.max.max(b.max));
    let within = |value: f64| if value.is_nan() { value } else { value.max(min).min(max) };
    let variance = mean(a.deviation.powi(2), b.deviation.powi(2));
    let between = share * (1.0 - share) * (a.average - b.average).powi(2);
    Summary {
        min,
        average: within(mean(a.average, b.average)),
        median: within(mean(a.median, b.median)),
        max,
        deviation: (variance + between).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell(samples: &mut [f64]) -> Cell {
        Cell::measured(Summary::of(samples), samples.len() as u32, State::Measured)
    }

    fn weighed(cells: &[Cell]) -> Cell {
        let mut weighed = Weighed::default();
        cells.iter().for_each(|cell| weighed.add(cell));
        weighed.cell()
    }

    #[test]
    fn a_case_by_hand() {
        // 1 and 3: average 2, deviation 1. 5, 5, 5, 9: average 6, deviation root of 3. Together 28/6; the squares of
        // the distances add up to 1 + 9 + 3 * 25 + 81 - 6 * (28/6)^2 = 166 - 784/6.
        let both = weighed(&[cell(&mut [1.0, 3.0]), cell(&mut [5.0, 5.0, 5.0, 9.0])]);
        assert_eq!((both.summary.min, both.summary.max, both.samples), (1.0, 9.0, 6));
        assert!((both.summary.average - 28.0 / 6.0).abs() < 1e-12);
        assert!((both.summary.median - (2.0 * 2.0 + 4.0 * 5.0) / 6.0).abs() < 1e-12);
        assert!((both.summary.deviation - ((166.0 - 784.0 / 6.0) / 6.0_f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_one_run_alone_measured_is_kept() {
        let mut alone = cell(&mut [1.0, 3.0]);
        alone.state = State::Imprecise;
        alone.clock_bound = Some(0.5);
        for cells in [
            vec![alone],
            vec![Cell::missing(State::TimedOut), alone],
            vec![alone, Cell::missing(State::NotScheduled), Cell::missing(State::Failed)],
        ] {
            assert_eq!(weighed(&cells), alone);
        }
    }

    #[test]
    fn a_missing_cell_keeps_its_best_reason() {
        let reason =
            |states: &[State]| weighed(&states.iter().map(|state| Cell::missing(*state)).collect::<Vec<_>>()).state;
        assert_eq!(reason(&[]), State::NotScheduled);
        assert_eq!(reason(&[State::NotScheduled, State::TimedOut]), State::TimedOut);
        assert_eq!(reason(&[State::Failed, State::NotScheduled]), State::Failed);
    }

    #[test]
    fn the_worse_state_and_all_damage_stay() {
        let with = |state, damaged, clock_bound| Cell { state, damaged, clock_bound, ..cell(&mut [1.0, 2.0]) };
        let both = weighed(&[with(State::Damaged, 2, Some(0.5)), with(State::Precise, 0, Some(0.7))]);
        assert_eq!((both.state, both.damaged, both.clock_bound), (State::Damaged, 2, Some(0.7)));
        let both = weighed(&[with(State::Precise, 0, None), with(State::Imprecise, 0, None)]);
        assert_eq!((both.state, both.damaged, both.clock_bound), (State::Imprecise, 0, None));
        let lost = Cell { damaged: 3, ..Cell::missing(State::Failed) };
        assert_eq!(weighed(&[lost, with(State::Measured, 1, None)]).damaged, 4);
    }

    #[test]
    fn zeros_stay_zero_and_statistics_that_are_not_there_stay_away() {
        assert_eq!(weighed(&[Cell::zero(), Cell::zero(), Cell::zero()]), Cell::zero());
        let only = |median: f64| Cell::measured(Summary { median, ..Summary::MISSING }, 1, State::Measured);
        let both = weighed(&[only(1.0), only(3.0)]);
        assert_eq!(both.summary.median, 2.0);
        assert!(both.summary.min.is_nan() && both.summary.average.is_nan() && both.summary.deviation.is_nan());
    }

    proptest! {
        #[test]
        fn all_but_the_median_is_that_of_all_samples(
            mut runs in proptest::collection::vec(proptest::collection::vec(1e-6f64..1e-3, 1..20), 1..5),
        ) {
            let cells: Vec<_> = runs.iter_mut().map(|samples| cell(samples)).collect();
            let merged = weighed(&cells);
            let expected = cell(&mut runs.concat());
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs() + 1e-15;
            prop_assert_eq!(merged.samples, expected.samples);
            prop_assert_eq!((merged.summary.min, merged.summary.max), (expected.summary.min, expected.summary.max));
            prop_assert!(near(merged.summary.average, expected.summary.average));
            prop_assert!(near(merged.summary.deviation, expected.summary.deviation), "{merged:?} {expected:?}");
            let medians = cells.iter().map(|cell| cell.summary.median);
            let (low, high) = medians.fold((f64::MAX, 0.0_f64), |(low, high), m| (low.min(m), high.max(m)));
            prop_assert!(near(merged.summary.median.clamp(low, high), merged.summary.median));
        }
    }
}

//! Times between the ticks of a clock.
//!
//! In: a run whose clock advances in steps that are not small compared with its times. Out: [`Unticked`], the same run
//! with medians between the steps. The median of samples that are whole steps is one step or the next, on whichever
//! side of the middle most of them are; their average is where their share on both sides puts it. So a median becomes
//! the average where that is no further away than a median can be, half a step: otherwise samples were disturbed, which
//! moves averages and not medians.

use std::ops::Range;

use crate::{
    plan::Partners,
    record::{BoxError, Cell, Header, Moments, Retest, Run, State, Statistic},
    stats::median,
    units::{Bytes, Seconds},
};

/// Where a clock ticks, at least so many pairs have each value.
const MOST_DISTINCT: usize = 5;

/// Steps of the clock by which the medians of equal pairs may be apart: one of the exchange, and, where what an empty
/// one takes was subtracted, half a step of that.
const APART: f64 = 1.5;

/// What of them is left where medians are between the steps: that of the empty exchange.
const STILL_APART: f64 = 0.5;

/// A step that is so small compared with the time of a pair changes no verdict: it is less than the
/// least effect that is worth a word.
const SMALL: f64 = 0.01;

/// Values of the shortest length by which a clock is judged.
const ENOUGH: usize = 1 << 16;

/// A run with medians between the steps of its clock.
pub struct Unticked<'a> {
    run: &'a dyn Run,
    /// Steps that matter, seconds; 0 where none do.
    step: f64,
    has_averages: bool,
}

impl<'a> Unticked<'a> {
    /// Finds out how large the steps are: the run says so, or most of its times are the same as others.
    pub fn of(run: &'a dyn Run) -> Result<Self, BoxError> {
        let (ranks, mut times) = (run.ranks(), Vec::new());
        if !run.lengths().is_empty() && run.statistics().contains(&Statistic::Median) {
            times = vec![f64::NAN; ranks * ranks.min(ENOUGH.div_ceil(ranks))];
            run.read_rows(Statistic::Median, 0, 0..times.len() / ranks, &mut times)?;
            times.retain(|time| *time > 0.0 && time.is_finite());
        }
        let step = match run.header().provenance.clock_step.parse::<Seconds>() {
            Ok(Seconds(step)) if step > 0.0 => step,
            _ => step_of(&mut times),
        };
        let step = if step > SMALL * median(&mut times) { step } else { 0.0 };
        Ok(Self { run, step, has_averages: run.statistics().contains(&Statistic::Average) })
    }

    /// By how much equal pairs may be apart because the clock ticks, seconds.
    pub fn apart(&self) -> f64 {
        if self.has_averages { STILL_APART * self.step } else { self.apart_again() }
    }

    /// The same of medians as the clock gave them: of pairs that were measured again.
    pub fn apart_again(&self) -> f64 {
        APART * self.step
    }
}

/// The step of a clock by the times that it gave; 0 where it does not show. Halves of a step are the least that is
/// between two times: of a median of two, or of half an empty exchange.
fn step_of(times: &mut [f64]) -> f64 {
    let count = times.len();
    times.sort_by(f64::total_cmp);
    let mut distinct = times.to_vec();
    // Times may have been kept as single numbers of seven digits.
    distinct.dedup_by(|a, b| *a - *b < 1e-5 * *b);
    if distinct.len() < 2 || distinct.len() * MOST_DISTINCT > count {
        return 0.0;
    }
    2.0 * distinct.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
}

impl Run for Unticked<'_> {
    fn read_rows(
        &self,
        statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        self.run.read_rows(statistic, length_index, rows.clone(), values)?;
        if statistic == Statistic::Median && self.has_averages && self.step > 0.0 {
            let mut averages = vec![f64::NAN; values.len()];
            self.run.read_rows(Statistic::Average, length_index, rows, &mut averages)?;
            for (median, average) in values.iter_mut().zip(averages) {
                if (average - *median).abs() <= self.step / 2.0 {
                    *median = average;
                }
            }
        }
        Ok(())
    }

    fn header(&self) -> &Header {
        self.run.header()
    }

    fn lengths(&self) -> &[Bytes] {
        self.run.lengths()
    }

    fn statistics(&self) -> &[Statistic] {
        self.run.statistics()
    }

    fn partners(&self) -> Option<&Partners> {
        self.run.partners()
    }

    fn read_states(&self, length_index: usize, rows: Range<usize>, states: &mut [State]) -> Result<(), BoxError> {
        self.run.read_states(length_index, rows, states)
    }

    fn read_further(&self, length_index: usize, rows: Range<usize>, cells: &mut [Cell]) -> Result<(), BoxError> {
        self.run.read_further(length_index, rows, cells)
    }

    fn retests(&self, length_index: usize) -> Result<Vec<Retest>, BoxError> {
        self.run.retests(length_index)
    }

    fn retest_samples(&self, length_index: usize) -> Result<Vec<Vec<f64>>, BoxError> {
        self.run.retest_samples(length_index)
    }

    fn moments(&self, length_index: usize) -> Result<Option<Moments>, BoxError> {
        self.run.moments(length_index)
    }

    fn drift(&self) -> Result<Option<f64>, BoxError> {
        self.run.drift()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Plan},
        record::{MemoryRun, Provenance},
        stats::Summary,
        units::Hosts,
    };

    /// Twelve ranks on as many hosts; the share of the samples of a pair that were one step longer than 20.
    fn run(step: &str, share: impl Fn(usize, usize) -> f64) -> MemoryRun {
        let hosts = Hosts::new((0..12).map(|host| format!("n{host}")));
        let plan = Plan::all(&Config::default(), &hosts).unwrap().remove(0);
        let provenance = Provenance { clock_step: step.to_owned(), ..Provenance::default() };
        let mut run = MemoryRun::with_statistics(Header::of(&plan, provenance), Statistic::OF_TIMES.to_vec());
        let cell = |from: usize, to: usize| {
            let longer = (share(from, to) * 100.0) as usize;
            let mut samples: Vec<f64> = (0..100).map(|n| if n < longer { 2.1e-6 } else { 2e-6 }).collect();
            if (from, to) == (3, 4) {
                samples[99] = 1e-3;
            }
            Cell::measured(Summary::of(&mut samples), 100, State::Measured)
        };
        let pairs = (0..12).flat_map(|from| (0..12).map(move |to| (from, to)));
        run.push(Bytes(0), pairs.map(|(from, to)| if from == to { Cell::zero() } else { cell(from, to) }).collect());
        run
    }

    #[test]
    fn medians_lie_between_steps_where_nothing_disturbed_a_sample() {
        for step in ["100 ns", ""] {
            let ticking = run(step, |from, _| 0.05 * from as f64);
            let unticked = Unticked::of(&ticking).unwrap();
            assert!((unticked.apart() - 0.5e-7).abs() < 1e-10, "{}", unticked.apart());
            let matrix = unticked.matrix(Statistic::Median, 0).unwrap();
            for from in 0..12 {
                let expected = 2e-6 + 0.05 * from as f64 * 1e-7;
                let found = matrix[(from, (from + 5) % 12)];
                assert!((found - expected).abs() < 2e-9, "{from}: {found}");
            }
            assert!((matrix[(3, 4)] - 2e-6).abs() < 1e-12, "the median of disturbed samples stands");
        }
    }

    #[test]
    fn a_fine_clock_changes_nothing() {
        let fine = run("1 ns", |from, _| 0.05 * from as f64);
        let unticked = Unticked::of(&fine).unwrap();
        assert_eq!(unticked.apart(), 0.0);
        let medians = |run: &dyn Run| run.matrix(Statistic::Median, 0).unwrap();
        assert_eq!(medians(&unticked).values(), medians(&fine).values());
    }
}

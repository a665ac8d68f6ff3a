//! When a cell has been measured often enough.
//!
//! In: the samples so far. Out: how many come next, and whether they were enough. Who tells the partner is the fabric's
//! business.

use crate::{plan::Config, record::State, stats::MedianInterval};

/// The rule by which the sampling of a cell ends.
#[derive(Clone, Debug)]
pub struct Stopping {
    most: usize,
    /// Half-width of the median's confidence interval over the median; without it all samples are taken.
    fraction: Option<f64>,
    scratch: Vec<f64>,
}

impl Stopping {
    /// The rule that `config` asks for.
    pub fn of(config: &Config) -> Self {
        let most = config.iterations as usize;
        let fraction = config.precision.map(|precision| precision.percent / 100.0);
        Self { most, fraction, scratch: Vec::with_capacity(if fraction.is_some() { most } else { 0 }) }
    }

    /// Whether a cell may end before it has the most samples.
    pub fn is_adaptive(&self) -> bool {
        self.fraction.is_some()
    }

    /// How many samples to take after `done` of them: with adaptive stopping few at first, then a tenth more each time,
    /// so that looking costs little and nothing much is measured in vain. 0 at the end.
    pub fn next_batch(&self, done: usize) -> usize {
        let left = self.most.saturating_sub(done);
        match self.fraction {
            None => left,
            Some(_) if done == 0 => MedianInterval::FEWEST.min(left),
            Some(_) => (done / 10).max(10).min(left),
        }
    }

    /// Whether the median of `samples` is known as precisely as asked for. Nothing is allocated.
    pub fn is_precise(&mut self, samples: &[f64]) -> bool {
        let Self { fraction, scratch, .. } = self;
        fraction.is_some_and(|fraction| MedianInterval::of(samples, scratch).is_within(fraction))
    }

    /// The state of a cell that ended with or without the precision.
    pub fn state(&self, precise: bool) -> State {
        match (self.is_adaptive(), precise) {
            (false, _) => State::Measured,
            (true, true) => State::Precise,
            (true, false) => State::Imprecise,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Precision;

    fn batches(config: &Config) -> Vec<usize> {
        let stopping = Stopping::of(config);
        let mut done = 0;
        let next = || {
            let batch = stopping.next_batch(done);
            done += batch;
            (batch > 0).then_some(batch)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn without_a_precision_there_is_one_batch() {
        assert_eq!(batches(&Config { iterations: 70, ..Config::default() }), [70]);
    }

    #[test]
    fn batches_grow_and_add_up_to_the_most() {
        let precision = Some(Precision { percent: 1.0 });
        let batches = batches(&Config { iterations: 500, precision, ..Config::default() });
        assert_eq!(batches[..3], [20, 10, 10]);
        assert_eq!(batches.iter().sum::<usize>(), 500);
        assert!(batches.len() < 32, "{batches:?}");
    }
}

//! When a cell has been measured often enough, and when a pair is warm.
//!
//! In: the samples so far, the time that has passed. Out: how many exchanges come next, and whether they were enough.
//! Who tells the partner is the fabric's business.

use crate::{plan::Config, record::State, stats::MedianInterval};

/// The exchanges that do not count: at least a number of them, and for at least a time, after which links that sleep
/// have woken, connections stand and windows have grown. None at all if none are asked for.
#[derive(Clone, Copy, Debug)]
pub struct WarmUp {
    exchanges: usize,
    /// Seconds.
    time: f64,
}

impl WarmUp {
    /// Exchanges at a time, at most: what a rank has room for whatever it measures.
    const AT_A_TIME: usize = 256;

    /// What `config` asks for.
    pub fn of(config: &Config) -> Self {
        Self { exchanges: config.warmup as usize, time: config.warmup_time.as_secs_f64() }
    }

    /// The exchanges to begin with.
    pub fn first(&self) -> usize {
        self.exchanges
    }

    /// Whether it may last longer than [`WarmUp::first`] exchanges.
    pub fn has_time(&self) -> bool {
        self.exchanges > 0 && self.time > 0.0
    }

    /// How many more there are to be after `done` of them have taken `elapsed` seconds; 0 at the end.
    pub fn next(&self, done: usize, elapsed: f64) -> usize {
        if !self.has_time() || elapsed >= self.time {
            return 0;
        }
        let missing = (self.time - elapsed) * done as f64 / elapsed;
        // A clock that has not moved says nothing: infinitely many become as many as fit.
        (missing.ceil() as usize).clamp(1, self.most())
    }

    /// The most exchanges at a time.
    pub fn most(&self) -> usize {
        self.exchanges.max(if self.has_time() { Self::AT_A_TIME } else { 0 })
    }
}

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

    /// The rule for the empty exchanges that are taken off all samples of a pair, see [`crate::plan::Timing::Transfer`].
    /// Where a precision is asked for they are known to half of it, so that they bring at most a quarter of the
    /// variance that a cell may have: the message's time is no shorter than half of an empty exchange.
    pub fn of_baseline(config: &Config) -> Self {
        let fraction = config.precision.map(|precision| precision.percent / 200.0);
        let most = if fraction.is_some() { config.iterations } else { config.baseline_exchanges() } as usize;
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
        self.is_precise_with(samples, 0.0)
    }

    /// As [`Stopping::is_precise`], where all samples have an unknown `error` (half of an interval) in common.
    pub fn is_precise_with(&mut self, samples: &[f64], error: f64) -> bool {
        let Self { fraction, scratch, .. } = self;
        fraction.is_some_and(|fraction| {
            let interval = MedianInterval::of(samples, scratch);
            interval.half_width().hypot(error) <= fraction * interval.median
        })
    }

    /// Half of the interval in which the median of `samples` lies; infinite where they do not tell, 0 where nobody asks.
    pub fn error(&mut self, samples: &[f64]) -> f64 {
        if self.is_adaptive() { MedianInterval::of(samples, &mut self.scratch).half_width() } else { 0.0 }
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
    fn a_warm_up_lasts_for_its_exchanges_and_its_time() {
        let config = |warmup, micros| Config {
            warmup,
            warmup_time: std::time::Duration::from_micros(micros),
            ..Config::default()
        };
        let warm = WarmUp::of(&config(3, 1000));
        assert_eq!((warm.first(), warm.next(3, 6e-6), warm.next(259, 520e-6)), (3, 256, 240));
        assert_eq!((warm.next(500, 1e-3), warm.next(3, 0.0), warm.next(3, 0.5e-3)), (0, 256, 3));
        let none = WarmUp::of(&config(0, 1000));
        assert_eq!((none.first(), none.next(0, 0.0), none.most()), (0, 0, 0));
        let counted = WarmUp::of(&config(7, 0));
        assert_eq!((counted.first(), counted.next(7, 1e-6), counted.most()), (7, 0, 7));
    }

    /// Samples that are known exactly are of no use while what is taken off them is not.
    #[test]
    fn an_error_in_common_counts_like_the_samples_own() {
        let precision = Some(Precision { percent: 2.0 });
        let mut stopping = Stopping::of(&Config { precision, ..Config::default() });
        // Equal samples count as correlated: it takes as many for an interval of one value.
        let samples = [1.0; 200];
        assert!(stopping.is_precise_with(&samples, 0.019));
        assert!(!stopping.is_precise_with(&samples, 0.021));
    }

    #[test]
    fn an_empty_exchange_is_measured_as_precisely_as_the_cell() {
        let base = Config { iterations: 1000, ..Config::default() };
        assert_eq!(Stopping::of_baseline(&base).next_batch(0), 25);
        let mut baseline = Stopping::of_baseline(&Config { precision: Some(Precision { percent: 2.0 }), ..base });
        assert!(baseline.is_adaptive() && baseline.next_batch(900) > 0);
        // 2.5 % of the median on either side are enough for 5 %, not for 2.
        let scattered: Vec<f64> = (0..400).map(|k| 1.0 + 0.15 * (f64::from(k % 20) / 19.0 - 0.5)).collect();
        let error = baseline.error(&scattered);
        assert!(error > 0.01 && !baseline.is_precise(&scattered), "{error}");
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

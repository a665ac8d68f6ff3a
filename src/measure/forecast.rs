//! How long a run will take, from a few exchanges at its shortest and longest length and from its own progress.

use std::time::Duration;

use crate::plan::{Estimate, Plan};

/// Expected cost of each length of a run. Between the probed lengths the time of an exchange is taken to be linear.
#[derive(Clone, Debug)]
pub(super) struct Forecast {
    /// Expected seconds of all lengths before this one, `[length]`, and of all of them at the end.
    before: Vec<f64>,
    first: usize,
    /// Expected seconds of what was done before this run began.
    done: f64,
}

impl Forecast {
    /// For `plan` from length number `first` on; exchanges of its shortest and longest length take `shortest` and
    /// `longest` seconds.
    pub(super) fn new(plan: &Plan, first: usize, shortest: f64, longest: f64) -> Self {
        let lengths = plan.lengths();
        let [begin, end] = [lengths[0], plan.config.longest()].map(|length| length.0 as f64);
        // Exchanges of one length, all pairs; with disjoint pairs as many at a time as a round has.
        let estimate = Estimate::of(plan);
        let at_a_time = (estimate.pairs as f64 / estimate.rounds.max(1) as f64).max(1.0);
        let exchanges = estimate.exchanges as f64 / lengths.len() as f64 / at_a_time;
        let mut sum = 0.0;
        let mut before = vec![0.0];
        for length in lengths {
            let part = if end > begin { (length.0 as f64 - begin) / (end - begin) } else { 0.0 };
            sum += exchanges * (shortest + part * (longest - shortest).max(0.0));
            before.push(sum);
        }
        let done = before[first];
        Self { before, first, done }
    }

    /// An earlier run has done this part of length number `index`, the first of this one.
    pub(super) fn done(&mut self, index: usize, part: f64) {
        self.done = self.until(index, part);
    }

    /// Expected seconds of everything before this part of length number `index`.
    fn until(&self, index: usize, part: f64) -> f64 {
        self.before[index] + part * (self.before[index + 1] - self.before[index])
    }

    /// Of the whole run, before it begins.
    pub(super) fn whole(&self) -> Duration {
        duration(self.before[self.before.len() - 1] - self.before[self.first])
    }

    /// What is left behind this part of length number `index`, if the rest keeps the ratio of `elapsed` to what was
    /// expected.
    pub(super) fn left(&self, index: usize, part: f64, elapsed: Duration) -> Duration {
        let until = self.until(index, part);
        let expected = until - self.done;
        let left = self.before[self.before.len() - 1] - until;
        duration(left * if expected > 0.0 { elapsed.as_secs_f64() / expected } else { 1.0 })
    }

    /// How many times as long the length behind number `index` is expected to take; 1 where that is not known.
    pub(super) fn growth(&self, index: usize) -> f64 {
        let of = |index: usize| Some(self.before.get(index + 1)? - self.before.get(index)?);
        let growth = of(index + 1).zip(of(index)).map_or(1.0, |(next, this)| next / this);
        if growth.is_finite() && growth > 0.0 { growth } else { 1.0 }
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Mode, Sweep, Timing},
        units::{Bytes, Hosts},
    };

    #[test]
    fn long_messages_weigh_more_and_progress_corrects() {
        let sweep = Sweep::list(&[Bytes(0), Bytes(100), Bytes(200)]).unwrap();
        let config =
            Config { sweep, iterations: 10, warmup: 0, retest: 0, timing: Timing::Receive, ..Config::default() };
        let plan = Plan { mode: Mode::OneToOne, config, hosts: Hosts::new(["a", "b"]) };
        // 2 directions x 10 exchanges of 1, 2 and 3 s.
        let forecast = Forecast::new(&plan, 0, 1.0, 3.0);
        assert_eq!(forecast.whole(), Duration::from_secs(120));
        // The first third of a sixth took twice as long as expected: so will the rest.
        assert_eq!(forecast.left(0, 1.0, Duration::from_secs(40)), Duration::from_secs(200));
        assert_eq!(forecast.left(1, 0.5, Duration::from_secs(40)), Duration::from_secs(80));
        assert_eq!([forecast.growth(0), forecast.growth(1), forecast.growth(2)], [2.0, 1.5, 1.0]);
        let mut resumed = Forecast::new(&plan, 1, 1.0, 3.0);
        assert_eq!(resumed.whole(), Duration::from_secs(100));
        resumed.done(1, 0.5);
        assert_eq!(resumed.left(1, 1.0, Duration::from_secs(20)), Duration::from_secs(60));
        assert_eq!(Forecast::new(&plan, 0, f64::NAN, f64::NAN).whole(), Duration::ZERO);
    }
}

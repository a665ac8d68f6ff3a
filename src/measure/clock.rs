//! Clocks of different ranks: what is known of their offset, and how well.
//!
//! In: clock readings around an exchange of messages. Out: a common time with a bound of its error that holds as long
//! as drifts change slowly. Who exchanges messages with whom is the fabric's business.
//!
//! After SKaMPI: a client's reading `t` lies between the reference's readings `sent` and `received`, so the offset
//! `client - reference` lies between `t - received` and `t - sent`, and many exchanges narrow that down. The drift
//! comes from two such brackets some time apart.

/// Bounds of the offset of a client's clock, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    lower: f64,
    upper: f64,
}

impl Default for Bracket {
    fn default() -> Self {
        Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY }
    }
}

impl Bracket {
    /// Takes in an exchange: the client read `client` after the reference had read `sent` and before it read
    /// `received`.
    pub fn narrow(&mut self, sent: f64, client: f64, received: f64) {
        self.lower = self.lower.max(client - received);
        self.upper = self.upper.min(client - sent);
    }

    /// Middle of the bounds.
    pub fn offset(self) -> f64 {
        f64::midpoint(self.lower, self.upper)
    }

    /// Half the distance of the bounds. Where a clock jumped between two exchanges the bounds have crossed, and the
    /// bound is as wide as the jump.
    pub fn half_width(self) -> f64 {
        ((self.upper - self.lower) / 2.0).abs()
    }
}

/// What was learned of a clock at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sync {
    /// On the clock itself, in seconds.
    pub at: f64,
    /// By how much it was ahead of the reference, in seconds.
    pub offset: f64,
    /// How far off `offset` may be, in seconds.
    pub bound: f64,
}

/// Turns readings of one clock into common time, that of the reference.
///
/// Between two synchronisations the offset is interpolated, behind the last one it goes on with the drift of the last
/// minute. The bound grows with what the drift may have changed meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockModel {
    /// Ascending in time.
    syncs: Vec<Sync>,
}

/// How long a drift is looked at, in seconds.
const DRIFT_WINDOW: f64 = 60.0;

/// By how much a clock's drift may change, per second: the crystals of computers (AT cut) change by up to 1e-6 per
/// degree, and rooms of computers by up to 20 degrees an hour (ASHRAE TC 9.9, 2021), which is 6e-9 per second.
const DRIFT_CHANGE: f64 = 1e-8;

impl ClockModel {
    /// Of synchronisations that another process knows of, ascending in time.
    pub fn of(syncs: Vec<Sync>) -> Self {
        Self { syncs }
    }

    /// Takes in what was learned last.
    pub fn learn(&mut self, sync: Sync) {
        self.syncs.push(sync);
    }

    /// What was learned, ascending in time.
    pub fn syncs(&self) -> &[Sync] {
        &self.syncs
    }

    /// Forgets what lies so far back that neither the drift nor anything after number `first` depends on it.
    pub fn forget_before(&mut self, first: usize) {
        if let Some(kept) = self.syncs.get(first) {
            let window = kept.at - DRIFT_WINDOW;
            let old = self.syncs.iter().take(first).take_while(|sync| sync.at < window).count();
            // Of those that are older than the window, one is enough.
            self.syncs.drain(..old.saturating_sub(1));
        }
    }

    /// Seconds per second that the clock gains at the end, the bound of this, and the time over which it was seen.
    fn drift(&self) -> (f64, f64, f64) {
        let Some((last, before)) = self.syncs.split_last() else { return (0.0, 0.0, 0.0) };
        let inside = before.iter().position(|sync| sync.at >= last.at - DRIFT_WINDOW).unwrap_or(before.len());
        match before.get(inside.saturating_sub(1)).filter(|first| last.at > first.at) {
            Some(first) => {
                let apart = last.at - first.at;
                ((last.offset - first.offset) / apart, (last.bound + first.bound) / apart, apart)
            }
            None => (0.0, 0.0, 0.0),
        }
    }

    /// By how much the clock is ahead of common time when it reads `reading`, and how far off this may be. The
    /// reference's own model has learned nothing: its time is common.
    fn offset_and_bound(&self, reading: f64) -> (f64, f64) {
        let next = self.syncs.partition_point(|sync| sync.at <= reading);
        match (next.checked_sub(1).map(|before| &self.syncs[before]), self.syncs.get(next)) {
            (Some(before), Some(after)) => {
                let apart = after.at - before.at;
                let (left, right) = (reading - before.at, after.at - reading);
                let between = |before: f64, after: f64| (before * right + after * left) / apart;
                let changed = DRIFT_CHANGE * left * right / 2.0;
                (between(before.offset, after.offset), between(before.bound, after.bound) + changed)
            }
            (Some(last), None) => {
                let (drift, drift_bound, apart) = self.drift();
                let since = reading - last.at;
                let changed = DRIFT_CHANGE * since * (since + apart) / 2.0;
                (last.offset + drift * since, last.bound + drift_bound * since + changed)
            }
            // Before the first one nothing is known of the drift; nobody measures then.
            (None, Some(first)) => (first.offset, first.bound),
            (None, None) => (0.0, 0.0),
        }
    }

    /// By how much the clock is ahead of common time when it reads `reading`, in seconds.
    pub fn offset(&self, reading: f64) -> f64 {
        self.offset_and_bound(reading).0
    }

    /// Common time when the clock reads `reading`.
    pub fn global(&self, reading: f64) -> f64 {
        reading - self.offset(reading)
    }

    /// What the clock reads at a common time. Clocks drift by parts in ten thousand at most, so that each of the two
    /// steps brings four digits more than the offset itself.
    pub fn reading(&self, global: f64) -> f64 {
        let once = global + self.offset(global + self.syncs.last().map_or(0.0, |last| last.offset));
        global + self.offset(once)
    }

    /// How far off [`ClockModel::global`] may be, in seconds.
    pub fn bound(&self, reading: f64) -> f64 {
        self.offset_and_bound(reading).1
    }
}

/// The step in which a clock advances, from different readings in the order in which they were taken, in seconds. A
/// clock that is finer than a reading takes is known from the differences between the times that readings take.
pub fn smallest_step(readings: &[f64]) -> f64 {
    let mut passed: Vec<f64> = readings.windows(2).map(|pair| pair[1] - pair[0]).filter(|time| *time > 0.0).collect();
    passed.sort_unstable_by(f64::total_cmp);
    // Differences of doubles are off by some of their own last digits.
    let rounding = 4.0 * f64::EPSILON * readings.last().map_or(0.0, |last| last.abs());
    let finer = passed.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > rounding);
    finer.chain(passed.first().copied()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn exchanges_narrow_the_offset_down() {
        let mut bracket = Bracket::default();
        bracket.narrow(10.0, 110.5, 12.0);
        assert_eq!((bracket.offset(), bracket.half_width()), (99.5, 1.0));
        bracket.narrow(20.0, 120.0, 20.5);
        assert_eq!((bracket.offset(), bracket.half_width()), (99.75, 0.25));
    }

    #[test]
    fn a_clock_that_jumps_gets_a_bound_as_wide_as_the_jump() {
        let mut bracket = Bracket::default();
        bracket.narrow(10.0, 10.0, 10.1);
        bracket.narrow(20.0, 25.0, 20.1);
        assert!(bracket.half_width() > 2.4);
    }

    #[test]
    fn a_clocks_step_is_seen_through_the_time_that_readings_take() {
        let clock = |step: f64| {
            let mut readings: Vec<f64> =
                (0..2000).map(|k| 86_400.0 + step * (f64::from(k) * 23.4e-9 / step).floor()).collect();
            readings.dedup();
            smallest_step(&readings)
        };
        for step in [1e-9, 40e-9, 238e-9, 1e-6] {
            assert!((clock(step) / step - 1.0).abs() < 0.1, "{step} {}", clock(step));
        }
        assert_eq!(smallest_step(&[1.0]), f64::INFINITY);
    }

    #[test]
    fn the_reference_tells_common_time() {
        let model = ClockModel::default();
        assert_eq!((model.global(5.0), model.bound(5.0)), (5.0, 0.0));
    }

    /// A drifting clock behind a jittery network: the common time is never further off than the bound.
    #[test]
    fn the_bound_holds() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..200 {
            let (offset, drift) = (rng.random_range(-1e3..1e3), rng.random_range(-5e-5..5e-5));
            let client = |time: f64| time * (1.0 + drift) + offset;
            let mut model = ClockModel::default();
            for start in [0.0, 1.0, 3.5, 9.0, 80.0] {
                let mut bracket = Bracket::default();
                let mut now = start;
                for _ in 0..20 {
                    let (forth, back) = (rng.random_range(1e-6..1e-5), rng.random_range(1e-6..1e-5));
                    bracket.narrow(now, client(now + forth), now + forth + back);
                    now += forth + back;
                }
                model.learn(Sync {
                    at: client(f64::midpoint(start, now)),
                    offset: bracket.offset(),
                    bound: bracket.half_width(),
                });
                if start > 0.0 {
                    for later in [0.0, 0.1, 2.0] {
                        let time = now + later;
                        let error = (model.global(client(time)) - time).abs();
                        // Within one synchronisation the clock drifts, too: 20 exchanges of at most 20 us.
                        let slack = 400e-6 * 5e-5 * 2.0 + 1e-9;
                        assert!(error <= model.bound(client(time)) + slack, "{error} {}", model.bound(client(time)));
                    }
                }
            }
        }
    }

    /// A crystal that is 20 ppm fast and follows the temperature, behind a network that takes 3 to 5 us each way and is
    /// asked every 10 s: looked at afterwards, common time is within its bound for ten minutes, and the bound is one
    /// that tells something.
    #[test]
    fn ten_minutes_of_a_fast_and_wandering_clock_are_known_to_microseconds() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        // The drift swings by 0.3 ppm in ten minutes: at most 3e-9 per second.
        let rate = std::f64::consts::TAU / 600.0;
        let client = |time: f64| time * (1.0 + 20e-6) - 0.3e-6 * (rate * time).cos() / rate + 12.5;
        let mut model = ClockModel::default();
        for k in 0..=60 {
            let start = 10.0 * f64::from(k);
            let mut bracket = Bracket::default();
            let mut now = start;
            for _ in 0..30 {
                let (forth, back) = (rng.random_range(3e-6..5e-6), rng.random_range(3e-6..5e-6));
                bracket.narrow(now, client(now + forth), now + forth + back);
                now += forth + back;
            }
            model.learn(Sync {
                at: client(f64::midpoint(start, now)),
                offset: bracket.offset(),
                bound: bracket.half_width(),
            });
        }
        for k in 1..6000 {
            let time = 0.1 * f64::from(k);
            let (error, bound) = ((model.global(client(time)) - time).abs(), model.bound(client(time)));
            // The clock drifts within a synchronisation, too: 30 exchanges of at most 10 us.
            assert!(error <= bound + 300e-6 * 20e-6 && bound < 6e-6, "{time} s: {error} {bound}");
            assert!((model.reading(model.global(client(time))) - client(time)).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_old_is_forgotten_without_changing_the_drift() {
        let sync = |at: f64| Sync { at, offset: 1.0 + at * 1e-5, bound: 1e-6 };
        let mut model = ClockModel::of((0..20).map(|k| sync(10.0 * f64::from(k))).collect());
        let whole = model.clone();
        model.forget_before(18);
        assert!(model.syncs().len() < 10 && model.syncs()[0].at < 120.0, "{:?}", model.syncs());
        assert_eq!((model.offset(195.0), model.bound(195.0)), (whole.offset(195.0), whole.bound(195.0)));
    }
}

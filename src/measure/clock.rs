//! Clocks of different ranks: what is known of their offset, and how well.
//!
//! In: clock readings around an exchange of messages. Out: a common time with a bound of its error that holds as long
//! as clocks drift evenly. Who exchanges messages with whom is the fabric's business.
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
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sync {
    /// On the clock itself.
    at: f64,
    offset: f64,
    bound: f64,
}

/// Turns readings of one clock into common time, that of the reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockModel {
    syncs: Vec<Sync>,
}

/// How long a drift is trusted to be even, in seconds. Crystals follow the temperature, which takes minutes.
const EVEN_DRIFT: f64 = 60.0;

impl ClockModel {
    /// Takes in that the clock was `offset` ahead of the reference, give or take `bound`, when it read `at`.
    pub fn learn(&mut self, at: f64, offset: f64, bound: f64) {
        self.syncs.push(Sync { at, offset, bound });
        // Of those that are older than the drift is even, one is enough.
        while self.syncs.len() > 2 && self.syncs[1].at < at - EVEN_DRIFT {
            self.syncs.remove(0);
        }
    }

    /// Seconds per second that the clock gains, and the bound of this.
    fn drift(&self) -> (f64, f64) {
        match self.syncs[..] {
            [first, .., last] if last.at > first.at => {
                let apart = last.at - first.at;
                ((last.offset - first.offset) / apart, (last.bound + first.bound) / apart)
            }
            _ => (0.0, 0.0),
        }
    }

    /// Common time when the clock reads `reading`. The reference's own model has learned nothing: its time is common.
    pub fn global(&self, reading: f64) -> f64 {
        match self.syncs.last() {
            Some(last) => reading - (last.offset + self.drift().0 * (reading - last.at)),
            None => reading,
        }
    }

    /// How far off [`ClockModel::global`] may be: the latest bound, and what the drift may have been misjudged since.
    pub fn bound(&self, reading: f64) -> f64 {
        match self.syncs.last() {
            Some(last) => last.bound + self.drift().1 * (reading - last.at).abs(),
            None => 0.0,
        }
    }
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
                model.learn(client(f64::midpoint(start, now)), bracket.offset(), bracket.half_width());
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
}

//! How often something that is rare may happen by chance, and how much likelier it is than that.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Largest number of `draws` in which something may happen that happens in each with probability `rate`: that it is more has
/// at most the probability `chance`. A test with this limit fails what keeps its rate in that share of all sets of draws.
pub fn most_by_chance(draws: u64, rate: f64, chance: f64) -> u64 {
    let counts = Binomial::new(rate.clamp(0.0, 1.0), draws).expect("a probability is one");
    (0..draws).find(|count| counts.sf(*count) <= chance).unwrap_or(draws)
}

/// Logarithm of the likelihood ratio of something that happens `count` of `of` times at a rate of its own, against a rate of
/// one for all; Chernoff's bound of a binomial tail too, where it happens more often than at that rate.
pub fn gain_of_own_rate(count: f64, of: f64, rate: f64) -> f64 {
    let term = |part: f64, rate: f64| if part > 0.0 { part * (part / of / rate).ln() } else { 0.0 };
    term(count, rate) + term(of - count, 1.0 - rate)
}

/// The same against the rate of the rest, where its own is higher; else 0. Both as how often it happens, of how many times.
pub fn gain_over_rest([count, of]: [f64; 2], [rest, of_rest]: [f64; 2]) -> f64 {
    // Half of one more: a rate that was never seen is not known to be zero (Jeffreys).
    let usual = (rest + 0.5) / (of_rest + 1.0);
    if count > usual * of { gain_of_own_rate(count, of, usual) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_likelier_by_its_divergence_from_the_usual_one() {
        // Three of four against one of two: 4 ln 2 + 3 ln (3 / 4) + ln (1 / 4).
        let expected = 4.0 * 2f64.ln() + 3.0 * 0.75f64.ln() + 0.25f64.ln();
        assert!((gain_of_own_rate(3.0, 4.0, 0.5) - expected).abs() < 1e-12);
        assert!((gain_over_rest([3.0, 4.0], [4.0, 8.0]) - expected).abs() < 1e-12);
        assert!((gain_of_own_rate(4.0, 4.0, 0.5) - 4.0 * 2f64.ln()).abs() < 1e-12);
        // No more often than the rest, and never.
        assert_eq!([1.0, 0.0].map(|count| gain_over_rest([count, 4.0], [4.0, 8.0])), [0.0, 0.0]);
        assert_eq!(gain_over_rest([0.0, 0.0], [0.0, 0.0]), 0.0);
        // What the binomial tail is bounded by: at least 9 of 10 at one half has probability 11 / 1024.
        assert!((-gain_of_own_rate(9.0, 10.0, 0.5)).exp() > 11.0 / 1024.0);
    }

    #[test]
    fn the_limit_is_that_of_tables() {
        // Of ten coins more than 8 show heads with probability 11 / 1024, more than 7 with 56 / 1024.
        assert_eq!([0.054, 0.055].map(|chance| most_by_chance(10, 0.5, chance)), [8, 7]);
        assert_eq!(most_by_chance(1000, 0.0, 0.01), 0);
        assert_eq!(most_by_chance(1000, 1.0, 0.01), 1000);
        assert_eq!(most_by_chance(0, 0.01, 0.01), 0);
    }
}

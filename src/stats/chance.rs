//! How often something that is rare may happen by chance.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Largest number of `draws` in which something may happen that happens in each with probability `rate`: that it is more has
/// at most the probability `chance`. A test with this limit fails what keeps its rate in that share of all sets of draws.
pub fn most_by_chance(draws: u64, rate: f64, chance: f64) -> u64 {
    let counts = Binomial::new(rate.clamp(0.0, 1.0), draws).expect("a probability is one");
    (0..draws).find(|count| counts.sf(*count) <= chance).unwrap_or(draws)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_tables() {
        // Of ten coins more than 8 show heads with probability 11 / 1024, more than 7 with 56 / 1024.
        assert_eq!([0.054, 0.055].map(|chance| most_by_chance(10, 0.5, chance)), [8, 7]);
        assert_eq!(most_by_chance(1000, 0.0, 0.01), 0);
        assert_eq!(most_by_chance(1000, 1.0, 0.01), 1000);
        assert_eq!(most_by_chance(0, 0.01, 0.01), 0);
    }
}

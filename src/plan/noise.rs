//! Which ranks make noise while a pair is measured.

use rand::seq::index;

use super::{Pair, Plan, schedule::rng};
use crate::units::Rank;

impl Plan {
    /// The ranks that make noise while `pair` is measured at a length: drawn anew for every pair and length from the
    /// seed, in random order, never the pair itself. Empty in modes without noise.
    pub fn noise_ranks(&self, length_index: usize, pair: Pair) -> Vec<Rank> {
        if !self.mode.has_noise() {
            return Vec::new();
        }
        let ranks = self.ranks();
        let (low, high) = (pair.leader.min(pair.partner), pair.leader.max(pair.partner));
        let mut rng = rng(self.config.seed, 2, (length_index * ranks + low) * ranks + high);
        let others = index::sample(&mut rng, ranks - 2, self.config.noise.processes);
        // Numbers among all ranks but the two of the pair become ranks by stepping over those.
        let step_over = |number: usize| number + usize::from(number >= low);
        others.into_iter().map(step_over).map(|number| number + usize::from(number >= high)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{
        plan::{Config, Mode, Noise},
        units::Hosts,
    };

    fn plan(ranks: usize, processes: usize) -> Plan {
        let noise = Noise { processes, ..Config::default().noise };
        let hosts = Hosts::new((0..ranks).map(|rank| format!("n{rank}")));
        Plan { mode: Mode::Noise, config: Config { noise, ..Config::default() }, hosts }
    }

    #[test]
    fn noise_never_comes_from_the_pair_and_everybody_has_his_turn() {
        let plan = plan(9, 3);
        let mut noisy = HashSet::new();
        for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let drawn = plan.noise_ranks(0, Pair::of(a, b));
            let distinct: HashSet<_> = drawn.iter().copied().collect();
            assert_eq!((drawn.len(), distinct.len()), (3, 3));
            assert!(drawn.iter().all(|rank| ![a, b].contains(rank) && *rank < 9), "{drawn:?}");
            noisy.extend(distinct);
        }
        assert_eq!(noisy.len(), 9);
    }

    #[test]
    fn noise_follows_from_seed_length_and_pair() {
        let plan = plan(30, 5);
        let pair = Pair::of(3, 7);
        assert_eq!(plan.noise_ranks(0, pair), plan.noise_ranks(0, Pair::of(7, 3)));
        assert_ne!(plan.noise_ranks(0, pair), plan.noise_ranks(1, pair));
        assert_eq!(Plan { mode: Mode::OneToOne, ..plan }.noise_ranks(0, pair), Vec::<usize>::new());
    }

    #[test]
    fn all_other_ranks_can_make_noise() {
        let mut drawn = plan(6, 4).noise_ranks(0, Pair::of(1, 4));
        drawn.sort_unstable();
        assert_eq!(drawn, [0, 2, 3, 5]);
    }
}

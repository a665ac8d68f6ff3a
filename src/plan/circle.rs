//! The places of ranks in a barrier.
//!
//! In: a seed and how many ranks there are. Out: a circle of ranks, the same on all of them, and another one every time.
//!
//! In a dissemination barrier a rank goes on when it has heard of the one that came last, which takes as many messages as
//! the distance between their places has binary ones: none for the last one itself. With the same places every time the
//! same ranks would always begin early and wait for the others, in a time that belongs to their numbers alone.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::schedule::rng;
use crate::units::Rank;

/// Who stands where.
#[derive(Clone, Debug, Default)]
pub struct Circle {
    /// `[place]`; empty: every rank at the place of its number.
    order: Vec<Rank>,
    rng: Option<ChaCha8Rng>,
}

impl Circle {
    /// Of so many ranks, whose places are drawn at every [`Circle::shuffle`]: the same on all ranks that shuffle as often.
    pub fn drawn(seed: u64, ranks: usize) -> Self {
        Self { order: (0..ranks).collect(), rng: Some(rng(seed, 6, 0)) }
    }

    /// Draws all places anew; the circle by number ([`Circle::default`]) stays as it is.
    pub fn shuffle(&mut self) {
        if let Some(rng) = &mut self.rng {
            self.order.shuffle(rng);
        }
    }

    /// The place of a rank.
    pub fn place_of(&self, rank: Rank) -> usize {
        self.order.iter().position(|other| *other == rank).unwrap_or(rank)
    }

    /// The rank at a place.
    pub fn at(&self, place: usize) -> Rank {
        self.order.get(place).copied().unwrap_or(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_place_and_gets_another_one() {
        let (mut circle, mut same) = (Circle::drawn(7, 64), Circle::drawn(7, 64));
        let mut before = Vec::new();
        for _ in 0..20 {
            [&mut circle, &mut same].into_iter().for_each(Circle::shuffle);
            assert!((0..64).all(|rank| circle.at(circle.place_of(rank)) == rank));
            let places: Vec<usize> = (0..64).map(|rank| circle.place_of(rank)).collect();
            assert_eq!(places, (0..64).map(|rank| same.place_of(rank)).collect::<Vec<_>>());
            assert_ne!(places, before);
            before = places;
        }
    }

    #[test]
    fn a_circle_by_number_stays() {
        let mut circle = Circle::default();
        circle.shuffle();
        assert_eq!((circle.place_of(5), circle.at(9)), (5, 9));
    }
}

//! Two different faults on one machine.

use rand::{RngExt, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    bed::{Bed, Needs, TREES},
    fabric::{plant_cable, plant_link, plant_uplink},
    failures::plant_lossy,
    hosts::{plant_card, plant_core, plant_jitter},
};

/// On a tree: a host, another host, the way of a leaf, some of its routes, a link; never two of one kind.
pub fn two(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { shapes: TREES, hosts: &[24, 32, 48, 64, 96], ..Needs::default() });
    let mut kinds = [0, 1, 2, 3, 4, 5, 6];
    kinds.shuffle(&mut bed.rng);
    // What takes a whole leaf comes first, so that no host in it has a fault of its own.
    let mut two = [kinds[0], kinds[1]];
    two.sort_unstable();
    let mut leaves: Vec<usize> = (0..bed.tree().leaves()).collect();
    leaves.shuffle(&mut bed.rng);
    for (kind, leaf) in two.into_iter().zip(leaves) {
        match kind {
            0 => plant_uplink(&mut bed, leaf),
            1 => plant_cable(&mut bed, leaf),
            2 => plant_link(&mut bed),
            _ => {
                let host = bed.take();
                match kind {
                    3 => {
                        let (factor, ways) = (bed.magnitude(1.05, 4.0), bed.ways());
                        plant_card(&mut bed, host, factor, ways);
                    }
                    4 => {
                        let seconds = bed.rng.random_range(0.1e-6..2e-6);
                        plant_core(&mut bed, host, seconds);
                    }
                    5 => plant_jitter(&mut bed, host),
                    _ => plant_lossy(&mut bed, host),
                }
            }
        }
    }
    bed
}

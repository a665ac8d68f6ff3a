//! Large machines of which every rank meets a few partners.

use netmatrix::plan::Schedule;
use rand::{RngExt, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    bed::{Bed, Needs, Shape, TREES},
    fabric::{plant_pod, plant_uplink},
    hosts::{plant_card, plant_core},
};

/// A few hosts of many.
pub fn sampled(mut rng: ChaCha8Rng) -> Bed {
    let needs = Needs {
        shapes: &[Shape::Flat, Shape::Leaves, Shape::Pods],
        hosts: &[64, 128, 128, 256, 256, 512, 1024],
        ranks: &[1],
        schedule: Some(Schedule::Disjoint),
        rounds: Some(*[4, 6, 8, 12, 16].choose(&mut rng).unwrap()),
        capacity: &[4.0, 8.0],
        spines: &[4],
        is_small: true,
        ..Needs::default()
    };
    let mut bed = Bed::draw(rng, &needs);
    for _ in 0..bed.rng.random_range(1..5) {
        let host = bed.take();
        if bed.rng.random_bool(0.5) {
            let (factor, ways) = (bed.magnitude(1.1, 4.0), bed.ways());
            plant_card(&mut bed, host, factor, ways);
        } else {
            let seconds = bed.magnitude(0.1e-6, 4e-6);
            plant_core(&mut bed, host, seconds);
        }
    }
    bed
}

/// The uplink of a leaf or a pod. Few of its hosts have met each other.
pub fn uplink(mut rng: ChaCha8Rng) -> Bed {
    let rounds = Some(rng.random_range(4..17));
    let needs = Needs { shapes: TREES, hosts: &[32, 48, 64, 96, 128], ranks: &[1], rounds, ..Needs::default() };
    let mut bed = Bed::draw(rng, &needs);
    if bed.shape == Shape::Pods && bed.rng.random_bool(0.5) {
        plant_pod(&mut bed);
    } else {
        let leaf = bed.rng.random_range(0..bed.tree().leaves());
        plant_uplink(&mut bed, leaf);
    }
    bed
}

/// 512 hosts, 8 partners each, three hosts at twice the time.
pub fn three_of_512(rng: ChaCha8Rng) -> Bed {
    let needs = Needs {
        shapes: &[Shape::Flat],
        hosts: &[512],
        ranks: &[1],
        schedule: Some(Schedule::Disjoint),
        rounds: Some(8),
        is_small: true,
        ..Needs::default()
    };
    let mut bed = Bed::draw(rng, &needs);
    for _ in 0..3 {
        let host = bed.take();
        if bed.rng.random_bool(0.5) {
            plant_card(&mut bed, host, 2.0, (true, true));
        } else {
            // A message takes as long again as it usually does.
            let seconds = 2.0 * bed.parts.core[0] + bed.parts.hop;
            plant_core(&mut bed, host, seconds);
        }
    }
    bed
}

//! Healthy machines of every kind: nothing may be found.

use netmatrix::plan::Schedule;
use rand::{RngExt, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::bed::{ALL_SHAPES, Bed, Needs, Shape, TREES};

pub fn plain(rng: ChaCha8Rng) -> Bed {
    Bed::draw(rng, &Needs { hosts: &[4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128], ..Needs::default() })
}

/// Two generations of hosts: by CPU, by card, or by both; whole leaves, or any hosts.
pub fn kinds(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { hosts: &[12, 16, 24, 32, 48, 64], ..Needs::default() });
    let count = bed.count();
    let newer = (bed.rng.random_range(0.33..0.67) * count as f64) as usize;
    let mut order: Vec<usize> = (0..count).collect();
    if bed.rng.random_bool(0.5) {
        order.shuffle(&mut bed.rng);
    } else {
        order.sort_by_key(|host| bed.parts.place[*host]);
    }
    let (is_cpu, is_card) = [(true, false), (false, true), (true, true)][bed.rng.random_range(0..3)];
    let (core, card) = (bed.rng.random_range(1.1..2.0), bed.rng.random_range(1.2..2.5));
    for &host in &order[..newer.clamp(3, count - 3)] {
        if is_cpu {
            for rank in bed.parts.hosts.ranks_of(host).to_vec() {
                bed.parts.core[rank] *= core;
            }
        }
        if is_card {
            for rail in 0..bed.parts.rails {
                bed.parts.card[host * bed.parts.rails + rail] *= card;
            }
        }
    }
    bed
}

/// Some local ranks are far from the card, on every host.
pub fn far_ranks(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { hosts: &[8, 12, 16, 24, 32], ranks: &[2, 2, 4], ..Needs::default() });
    let more = bed.magnitude(0.05e-6, 0.6e-6);
    for rank in 0..bed.hosts().ranks() {
        let place = bed.hosts().place_of(rank);
        let width = bed.hosts().ranks_of(bed.hosts().host_of(rank)).len();
        if place >= width / 2 {
            bed.parts.core[rank] += more;
        }
    }
    bed
}

/// More hosts than cables, and all of them talk at the same time.
pub fn thin_tree(rng: ChaCha8Rng) -> Bed {
    let needs = Needs {
        shapes: TREES,
        hosts: &[16, 24, 32, 48, 64, 96],
        schedule: Some(Schedule::Disjoint),
        capacity: &[1.0],
        spines: &[1, 2],
        ..Needs::default()
    };
    Bed::draw(rng, &needs)
}

/// Another job uses the fabric for some minutes.
pub fn busy(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { capacity: &[1.0, 2.0], ..Needs::default() });
    for _ in 0..bed.rng.random_range(1..4) {
        let (start, minutes) = (bed.rng.random_range(0.0..0.9), bed.rng.random_range(0.02..0.15));
        let factor = bed.rng.random_range(1.2..3.0);
        bed.parts.busy.push((start, start + minutes, factor));
    }
    bed
}

/// Every message takes any of the cables.
pub fn adaptive(rng: ChaCha8Rng) -> Bed {
    Bed::draw(rng, &Needs { shapes: TREES, hosts: &[16, 24, 32, 48, 64], is_adaptive: true, ..Needs::default() })
}

/// A few hosts are faster than the rest.
pub fn faster(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { hosts: &[12, 16, 24, 32, 48, 64], ..Needs::default() });
    let (core, card) = (bed.rng.random_range(0.5..0.95), bed.rng.random_range(0.5..1.0));
    for _ in 0..bed.rng.random_range(1..=(bed.count() / 10).max(2)) {
        let host = bed.take();
        for rank in bed.parts.hosts.ranks_of(host).to_vec() {
            bed.parts.core[rank] *= core;
        }
        for rail in 0..bed.parts.rails {
            bed.parts.card[host * bed.parts.rails + rail] *= card;
        }
    }
    bed
}

/// It gets warmer.
pub fn drift(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    bed.parts.drift = bed.rng.random_range(0.02..0.3);
    bed
}

/// As many disturbances as there are at all.
pub fn tails(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { shapes: ALL_SHAPES, ..Needs::default() });
    bed.noise.probability = bed.rng.random_range(0.01..0.02);
    bed
}

/// Few partners each.
pub fn sampled(mut rng: ChaCha8Rng) -> Bed {
    let rounds = Some(rng.random_range(4..17));
    let shapes = &[Shape::Flat, Shape::Leaves, Shape::Pods];
    Bed::draw(rng, &Needs { shapes, hosts: &[32, 64, 128, 256], ranks: &[1], rounds, ..Needs::default() })
}

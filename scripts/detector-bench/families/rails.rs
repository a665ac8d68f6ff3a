//! Hosts with several ranks and cards: one rank's core, one card, the switch of one rail.

use rand::{RngExt, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use super::bed::{Bed, Needs, Shape};
use crate::{
    machine::fault::{Fault, Harm, Scope},
    planted::{Answer, BOTH, GROUP_RAIL, Planted, RAIL, RANK, Sign, direction},
};

const RAILED: &[Shape] = &[Shape::Flat, Shape::Leaves, Shape::Leaves];

fn several_rails(rng: &mut ChaCha8Rng, shapes: &'static [Shape], hosts: &'static [usize]) -> Needs {
    if rng.random_bool(0.7) {
        Needs { shapes, hosts, rails: 2, ranks: &[2, 2, 4], ..Needs::default() }
    } else {
        Needs { shapes, hosts, rails: 4, ranks: &[4], ..Needs::default() }
    }
}

pub fn card(mut rng: ChaCha8Rng) -> Bed {
    let needs = several_rails(&mut rng, RAILED, &[8, 12, 16, 24, 32]);
    let mut bed = Bed::draw(rng, &needs);
    let host = bed.take();
    let rail = bed.rng.random_range(0..bed.parts.rails);
    let (factor, (out, into)) = (bed.magnitude(1.05, 4.0), bed.ways());
    let ranks: Vec<usize> =
        bed.hosts().ranks_of(host).iter().copied().filter(|rank| bed.parts.rail_of(*rank) == rail).collect();
    let has = (0..bed.hosts().ranks()).map(|rank| ranks.contains(&rank)).collect();
    let fault = bed.plant(Fault::always(Scope::Ends { ranks: has, out, into }, Harm::Slow(factor)));
    let words = format!("card {rail} of {} (ranks {ranks:?}) {} x{factor:.2}", bed.name(host), direction(out, into)[0]);
    let answer = |kinds, ranks| Answer { kinds, hosts: vec![bed.name(host)], ranks, directions: direction(out, into) };
    let answers = vec![answer(RANK, ranks), answer(RAIL, Vec::new())];
    bed.planted.push(Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers));
    bed
}

pub fn switch(mut rng: ChaCha8Rng) -> Bed {
    let needs = several_rails(&mut rng, &[Shape::Leaves], &[16, 24, 32]);
    let mut bed = Bed::draw(rng, &needs);
    let rails = bed.parts.rails;
    let tree = bed.tree().clone();
    let (place, rail) = (bed.rng.random_range(0..tree.leaves() / rails), bed.rng.random_range(0..rails));
    let leaf = place * rails + rail;
    let members = bed.leaf(place);
    let (ways, factor) = (bed.ways(), bed.magnitude(1.05, 5.0));
    let mut bad = vec![false; tree.cables()];
    tree.uplink_of_leaf(leaf)
        .filter(|cable| if cable % 2 == 0 { ways.0 } else { ways.1 })
        .for_each(|cable| bad[cable] = true);
    let fault = bed.plant(Fault::always(Scope::Cables(bad), Harm::Slow(bed.capacity * factor)));
    let directions = direction(ways.0, ways.1);
    let words =
        format!("uplink of rail {rail} of leaf {place} ({} hosts) {} x{factor:.2}", members.len(), directions[0]);
    let answers = vec![Answer { kinds: GROUP_RAIL, hosts: bed.names(&members), ranks: Vec::new(), directions }];
    bed.planted.push(Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers));
    bed
}

/// A rank on a slow core.
pub fn core(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { ranks: &[2, 2, 4], hosts: &[8, 12, 16, 24, 32], ..Needs::default() });
    for _ in 0..*[1, 1, 2].choose(&mut bed.rng).unwrap() {
        let host = bed.take();
        let rank = *bed.parts.hosts.ranks_of(host).choose(&mut bed.rng).unwrap();
        let seconds = bed.magnitude(0.05e-6, 2e-6);
        let ranks = (0..bed.hosts().ranks()).map(|other| other == rank).collect();
        let scope = Scope::Ends { ranks, out: true, into: true };
        let fault = bed.plant(Fault::always(scope, Harm::Latency(seconds)));
        let words = format!("core of rank {rank} on {} +{:.2} us", bed.name(host), 1e6 * seconds);
        let answers = vec![Answer { kinds: RANK, hosts: vec![bed.name(host)], ranks: vec![rank], directions: BOTH }];
        bed.planted.push(Planted::new(words, Sign::Slow("latency"), vec![fault], answers));
    }
    bed
}

//! Hosts that are slow: their cards, their cores, for a part of the time, with a part of the others; hosts that scatter.

use rand::{
    RngExt,
    seq::{IndexedRandom, SliceRandom},
};
use rand_chacha::ChaCha8Rng;

use super::bed::{Bed, Needs, Shape, TREES};
use crate::{
    machine::fault::{Fault, Harm, Window},
    planted::{ANY, Answer, BOTH, NODE, Planted, Sign, direction},
};

/// A finding of one host.
pub fn node(bed: &Bed, host: usize, directions: &'static [&'static str]) -> Answer {
    Answer { kinds: NODE, hosts: vec![bed.name(host)], ranks: Vec::new(), directions }
}

/// One, two, or a tenth of the hosts.
fn several(bed: &mut Bed) -> usize {
    let tenth = (bed.count() / 10).max(1);
    *[1, 1, 2.min(bed.count() / 4).max(1), tenth].choose(&mut bed.rng).unwrap()
}

/// A card that takes so many times as long for a byte.
pub fn plant_card(bed: &mut Bed, host: usize, factor: f64, (out, into): (bool, bool)) {
    let scope = bed.ends(&[host], out, into);
    let fault = bed.plant(Fault::always(scope, Harm::Slow(factor)));
    let words = format!("card of {} {} x{factor:.2}", bed.name(host), direction(out, into)[0]);
    let answers = vec![node(bed, host, direction(out, into))];
    bed.planted.push(Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers));
}

/// Cores that take more seconds. A message out is late both ways: the announcement of the other direction is its way.
pub fn plant_core(bed: &mut Bed, host: usize, seconds: f64) {
    let scope = bed.ends(&[host], true, true);
    let fault = bed.plant(Fault::always(scope, Harm::Latency(seconds)));
    let words = format!("cores of {} +{:.2} us", bed.name(host), 1e6 * seconds);
    let answers = vec![node(bed, host, BOTH)];
    bed.planted.push(Planted::new(words, Sign::Slow("latency"), vec![fault], answers));
}

pub fn cards(rng: ChaCha8Rng) -> Bed {
    let mut bed =
        Bed::draw(rng, &Needs { hosts: &[4, 8, 12, 16, 16, 24, 32, 34, 48, 64, 96, 128], ..Needs::default() });
    let count = several(&mut bed);
    let is_alike = bed.rng.random_bool(0.5);
    let (mut factor, mut ways) = (bed.magnitude(1.03, 4.0), bed.ways());
    for _ in 0..count {
        if !is_alike {
            (factor, ways) = (bed.magnitude(1.03, 4.0), bed.ways());
        }
        let host = bed.take();
        plant_card(&mut bed, host, factor, ways);
    }
    bed
}

pub fn cores(rng: ChaCha8Rng) -> Bed {
    let mut bed =
        Bed::draw(rng, &Needs { hosts: &[4, 8, 12, 16, 16, 24, 32, 34, 48, 64, 96, 128], ..Needs::default() });
    for _ in 0..several(&mut bed) {
        let (host, seconds) = (bed.take(), bed.magnitude(0.03e-6, 2e-6));
        plant_core(&mut bed, host, seconds);
    }
    bed
}

pub fn most_of_a_leaf(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { shapes: TREES, hosts: &[24, 32, 48, 64], ..Needs::default() });
    let leaf = bed.rng.random_range(0..bed.tree().leaves());
    let mut hosts = bed.leaf(leaf);
    hosts.shuffle(&mut bed.rng);
    let bad = bed.rng.random_range(hosts.len() / 2 + 1..=(hosts.len() - 1).max(hosts.len() / 2 + 1));
    hosts.truncate(bad);
    let is_card = bed.rng.random_bool(0.7);
    let (factor, seconds) = (bed.magnitude(1.1, 4.0), bed.magnitude(0.1e-6, 2e-6));
    for host in hosts {
        if is_card { plant_card(&mut bed, host, factor, (true, true)) } else { plant_core(&mut bed, host, seconds) }
    }
    bed
}

/// What makes a host slow at times.
fn burden(bed: &mut Bed, host: usize, window: Window, words: &str) {
    let is_card = bed.rng.random_bool(0.5);
    let (factor, seconds) = (bed.magnitude(1.3, 5.0), bed.magnitude(0.3e-6, 5e-6));
    let (harm, sign) = if is_card { (Harm::Slow(factor), "bandwidth") } else { (Harm::Latency(seconds), "latency") };
    let scope = bed.ends(&[host], true, true);
    let fault = bed.plant(Fault { scope, harm: harm.clone(), window });
    let words = format!("{} {words}: {harm:?}", bed.name(host));
    let mut planted = Planted::new(words, Sign::Slow(sign), vec![fault], vec![node(bed, host, BOTH)]);
    planted.tolerated.push(node(bed, host, ANY));
    bed.planted.push(planted);
}

pub fn part_of_the_time(rng: ChaCha8Rng) -> Bed {
    let shapes = &[Shape::Flat, Shape::Leaves, Shape::Pods];
    let mut bed = Bed::draw(rng, &Needs { shapes, hosts: &[12, 16, 24, 32, 48, 64], ..Needs::default() });
    // A burst of heat or another job in every length, or one long one in the run.
    let share = bed.rng.random_range(0.25..0.5);
    let lengths = bed.plan.lengths().len() as f64;
    let moments = if bed.rng.random_bool(0.6) {
        let starts: Vec<f64> = (0..lengths as usize).map(|_| bed.rng.random_range(0.0..1.0 - share)).collect();
        let range = |(length, start): (usize, &f64)| {
            (length as f64 + start) / lengths..(length as f64 + start + share) / lengths
        };
        starts.iter().enumerate().map(range).collect()
    } else {
        let start = bed.rng.random_range(0.0..1.0 - share);
        vec![start..start + share]
    };
    let host = bed.take();
    burden(&mut bed, host, Window { moments, ..Window::default() }, &format!("{:.0} % of the time", 100.0 * share));
    bed
}

pub fn part_of_the_partners(rng: ChaCha8Rng) -> Bed {
    let shapes = &[Shape::Flat, Shape::Leaves, Shape::Pods];
    let mut bed = Bed::draw(rng, &Needs { shapes, hosts: &[12, 16, 24, 32, 48, 64], ..Needs::default() });
    let share = bed.rng.random_range(0.25..0.5);
    let mut partners = vec![false; bed.count()];
    let mut order: Vec<usize> = (0..bed.count()).collect();
    order.shuffle(&mut bed.rng);
    order.iter().take((share * bed.count() as f64).ceil() as usize).for_each(|host| partners[*host] = true);
    let host = bed.take();
    burden(
        &mut bed,
        host,
        Window { partners, ..Window::default() },
        &format!("with {:.0} % of the others", 100.0 * share),
    );
    bed
}

/// A host whose samples scatter: a daemon that wakes up, or a core that changes its frequency.
pub fn plant_jitter(bed: &mut Bed, host: usize) {
    let harm = if bed.rng.random_bool(0.5) {
        Harm::Scatter { factor: bed.magnitude(2.0, 8.0), probability: 0.0 }
    } else {
        Harm::Scatter { factor: 1.0, probability: bed.magnitude(0.03, 0.3) }
    };
    let scope = bed.ends(&[host], true, true);
    let words = format!("{} scatters: {harm:?}", bed.name(host));
    let fault = bed.plant(Fault::always(scope, harm));
    // Scatter of cells moves their medians too, by chance and either way.
    let planted = Planted::new(words, Sign::Jitter, vec![fault], vec![node(bed, host, BOTH)]);
    bed.planted.push(planted);
}

pub fn jitter(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    for _ in 0..*[1, 1, 2].choose(&mut bed.rng).unwrap() {
        let host = bed.take();
        plant_jitter(&mut bed, host);
    }
    bed
}

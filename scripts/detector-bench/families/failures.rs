//! Exchanges that fail, time out, or arrive damaged.

use netmatrix::record::State;
use rand::{RngExt, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    bed::{Bed, Needs, Shape},
    hosts::{node, plant_card, plant_core},
};
use crate::{
    machine::fault::{Fault, Harm, Scope, Window},
    planted::{ANY, Answer, BOTH, HALVES, LINK, Planted, SEND, Sign, direction},
};

fn failure(bed: &mut Bed) -> State {
    *[State::TimedOut, State::TimedOut, State::Failed].choose(&mut bed.rng).unwrap()
}

/// A port that flaps.
pub fn plant_lossy(bed: &mut Bed, host: usize) {
    let (share, state) = (bed.magnitude(0.02, 0.6), failure(bed));
    let scope = bed.ends(&[host], true, true);
    let fault = bed.plant(Fault::always(scope, Harm::Lose { share, state }));
    let words = format!("{} loses {:.0} %: {}", bed.name(host), 100.0 * share, state.name());
    let planted = Planted::new(words, Sign::Lost, vec![fault], vec![node(bed, host, BOTH)]);
    bed.planted.push(planted);
}

pub fn lossy(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    let host = bed.take();
    plant_lossy(&mut bed, host);
    bed
}

/// A host that answers nobody: at all, one way, or from some length on; another may be slow.
pub fn silent(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    for _ in 0..*[1, 1, 2].choose(&mut bed.rng).unwrap() {
        let (host, state) = (bed.take(), failure(&mut bed));
        let lengths = bed.lengths();
        let first = *[0, 0, lengths[lengths.len() / 2], lengths[lengths.len() - 1]].choose(&mut bed.rng).unwrap();
        let (out, into) = bed.ways();
        let scope = bed.ends(&[host], out, into);
        let window = Window { lengths: first..u64::MAX, ..Window::default() };
        let fault = bed.plant(Fault { scope, harm: Harm::Lose { share: 1.0, state }, window });
        let words = format!("{} {} nothing from {first} on", bed.name(host), direction(out, into)[0]);
        let answers = vec![node(&bed, host, direction(out, into))];
        bed.planted.push(Planted::new(words, Sign::Lost, vec![fault], answers));
    }
    if bed.rng.random_bool(0.3) {
        let host = bed.take();
        if bed.rng.random_bool(0.5) {
            let factor = bed.magnitude(1.3, 4.0);
            plant_card(&mut bed, host, factor, (true, true));
        } else {
            let seconds = bed.magnitude(0.3e-6, 2e-6);
            plant_core(&mut bed, host, seconds);
        }
    }
    bed
}

/// Two hosts, or two halves of a machine, that cannot reach each other.
pub fn cut_off(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { shapes: &[Shape::Flat, Shape::Leaves, Shape::Pods], ..Needs::default() });
    let state = failure(&mut bed);
    let harm = Harm::Lose { share: 1.0, state };
    if bed.shape == Shape::Flat || bed.rng.random_bool(0.5) {
        let (from, to, both) = (bed.take(), bed.take(), bed.rng.random_bool(0.7));
        let fault = bed.plant(Fault::always(Scope::Pair { from, to, both }, harm));
        let words = format!("{} and {} are cut off, both {both}", bed.name(from), bed.name(to));
        let directions = if both { BOTH } else { SEND };
        let answers = vec![Answer { kinds: LINK, hosts: bed.names(&[from, to]), ranks: Vec::new(), directions }];
        bed.planted.push(Planted::new(words, Sign::Lost, vec![fault], answers));
    } else {
        let leaf = bed.rng.random_range(0..bed.tree().leaves());
        let members = bed.leaf(leaf);
        let others: Vec<usize> = (0..bed.count()).filter(|host| !members.contains(host)).collect();
        let half = (0..bed.count()).map(|host| members.contains(&host)).collect();
        let fault = bed.plant(Fault::always(Scope::Across(half), harm));
        let words = format!("leaf {leaf} ({} hosts) is cut off", members.len());
        let answer = |hosts: Vec<String>| Answer { kinds: HALVES, hosts, ranks: Vec::new(), directions: ANY };
        let all: Vec<usize> = (0..bed.count()).collect();
        let answers =
            [members, others, all].map(|hosts| answer(bed.names(&hosts))).into_iter().chain([answer(Vec::new())]);
        let answers = answers.collect();
        bed.planted.push(Planted::new(words, Sign::Lost, vec![fault], answers));
    }
    bed
}

/// Payloads that arrive changed.
pub fn damaged(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    bed.plan.config.verify = true;
    let (host, share) = (bed.take(), bed.magnitude(0.02, 1.0));
    let (out, into) = bed.ways();
    let first = *[0u64, 0, 1 << 12, 1 << 18].choose(&mut bed.rng).unwrap();
    let scope = bed.ends(&[host], out, into);
    let window = Window { lengths: first.max(1)..u64::MAX, ..Window::default() };
    let fault = bed.plant(Fault { scope, harm: Harm::Damage { share }, window });
    let words =
        format!("{} {} damages {:.0} % from {first} on", bed.name(host), direction(out, into)[0], 100.0 * share);
    let answers = vec![node(&bed, host, direction(out, into))];
    bed.planted.push(Planted::new(words, Sign::Damaged, vec![fault], answers));
    bed
}

//! What is between hosts: uplinks, single cables of one, pods, links, the cables of tori and the gates of dragonflies.

use netmatrix::plan::Schedule;
use rand::{RngExt, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use super::bed::{Bed, Needs, Shape, TREES};
use crate::{
    machine::fault::{Fault, Harm, Scope},
    network::{Cable, Network},
    planted::{ANY, Answer, BOTH, CABLE, GATE, GROUP, LINK, POD, Planted, RECEIVE, ROUTES, SEND, Sign, direction},
};

/// A finding of several hosts.
fn of_hosts(bed: &Bed, kinds: &'static [&'static str], hosts: &[usize], directions: &'static [&'static str]) -> Answer {
    Answer { kinds, hosts: bed.names(hosts), ranks: Vec::new(), directions }
}

/// Those of up and down cables by turns that are one way or both.
fn one_way(cables: impl Iterator<Item = Cable>, all: usize, (out, into): (bool, bool)) -> Scope {
    let mut bad = vec![false; all];
    cables.filter(|cable| if cable % 2 == 0 { out } else { into }).for_each(|cable| bad[cable] = true);
    Scope::Cables(bad)
}

/// What is out of one of two halves comes into the other.
fn opposite((out, into): (bool, bool)) -> &'static [&'static str] {
    direction(into, out)
}

/// Cables that take so many times as long as a card.
fn slower(bed: &mut Bed) -> Harm {
    Harm::Slow(bed.capacity * bed.rng.random_range(1.05f64.ln()..5.0f64.ln()).exp())
}

/// The whole uplink of a leaf.
pub fn plant_uplink(bed: &mut Bed, leaf: usize) {
    let ways = bed.ways();
    let tree = bed.tree().clone();
    let members = bed.leaf(leaf);
    let is_late = bed.rng.random_bool(0.2);
    let harm = if is_late { Harm::Latency(bed.magnitude(0.05e-6, 3e-6)) } else { slower(bed) };
    let ways = if is_late { (true, true) } else { ways };
    let scope = one_way(tree.uplink_of_leaf(leaf), tree.cables(), ways);
    let words = format!("uplink of leaf {leaf} ({} hosts) {}: {harm:?}", members.len(), direction(ways.0, ways.1)[0]);
    let fault = bed.plant(Fault::always(scope, harm));
    let mut answers = vec![of_hosts(bed, GROUP, &members, direction(ways.0, ways.1))];
    if tree.leaves() == 2 {
        let others = bed.leaf(1 - leaf);
        answers.push(of_hosts(bed, GROUP, &others, opposite(ways)));
    }
    let sign = Sign::Slow(if is_late { "latency" } else { "bandwidth" });
    bed.planted.push(Planted::new(words, sign, vec![fault], answers));
    bed.free.retain(|host| !members.contains(host));
}

pub fn uplink(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { shapes: TREES, hosts: &[12, 16, 24, 32, 48, 64, 96], ..Needs::default() });
    let leaf = bed.rng.random_range(0..bed.tree().leaves());
    plant_uplink(&mut bed, leaf);
    bed
}

/// The whole uplink of a pod.
pub fn plant_pod(bed: &mut Bed) {
    let tree = bed.tree().clone();
    let pod = bed.rng.random_range(0..tree.pods());
    let members: Vec<usize> =
        (0..tree.leaves()).filter(|leaf| tree.pod_of[*leaf] == pod).flat_map(|leaf| bed.leaf(leaf)).collect();
    let (ways, harm) = (bed.ways(), slower(bed));
    let scope = one_way(tree.uplink_of_pod(pod), tree.cables(), ways);
    let words = format!("uplink of pod {pod} ({} hosts) {}: {harm:?}", members.len(), direction(ways.0, ways.1)[0]);
    let fault = bed.plant(Fault::always(scope, harm));
    let answers = vec![of_hosts(bed, POD, &members, direction(ways.0, ways.1))];
    bed.planted.push(Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers));
}

pub fn pod(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { shapes: &[Shape::Pods], hosts: &[24, 36, 48, 64, 96], ..Needs::default() });
    plant_pod(&mut bed);
    bed
}

/// One of the cables between a leaf and the spines.
pub fn plant_cable(bed: &mut Bed, leaf: usize) {
    let tree = bed.tree().clone();
    let spine = bed.rng.random_range(0..tree.spines);
    let (ways, harm) = (bed.ways(), slower(bed));
    let members = bed.leaf(leaf);
    let scope = one_way(tree.leaf_cable(leaf, spine).into_iter(), tree.cables(), ways);
    let words = format!(
        "cable {spine} of {} of leaf {leaf} ({} hosts) {}: {harm:?}",
        tree.spines,
        members.len(),
        direction(ways.0, ways.1)[0]
    );
    let fault = bed.plant(Fault::always(scope, harm));
    // The destination chooses the cable: one that leads to no host of the leaf, or to none of others, carries nothing that way.
    let is_on = |host: &usize| tree.table(bed.parts.place[*host] * bed.parts.rails) % tree.spines == spine;
    let (here, elsewhere): (Vec<usize>, Vec<usize>) =
        (0..bed.hosts().count()).filter(is_on).partition(|host| members.contains(host));
    let used = match (ways.0 && !elsewhere.is_empty(), ways.1 && !here.is_empty()) {
        (false, false) => ways,
        used => used,
    };
    let mut answers = vec![of_hosts(bed, ROUTES, &members, direction(used.0, used.1))];
    if tree.leaves() == 2 {
        answers.push(of_hosts(bed, ROUTES, &bed.leaf(1 - leaf), opposite(used)));
    }
    let mut planted = Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers);
    // The hosts of a leaf that the cable leads to receive slowly from outside. Where that is a single one, only the few
    // cells inside the leaf tell it from a host that receives slowly.
    if let ([only], true) = (&here[..], ways.1) {
        let one = super::hosts::node(bed, *only, RECEIVE);
        if ways.0 { planted.tolerated.push(one) } else { planted.answers.push(one) }
    }
    bed.planted.push(planted);
    bed.free.retain(|host| !members.contains(host));
}

pub fn cable(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs { shapes: TREES, hosts: &[24, 32, 32, 48, 64, 96], ..Needs::default() });
    let leaf = bed.rng.random_range(0..bed.tree().leaves());
    plant_cable(&mut bed, leaf);
    bed
}

/// Some of a leaf's cables are gone. Alone, nobody notices.
pub fn load(rng: ChaCha8Rng) -> Bed {
    let needs = Needs {
        shapes: &[Shape::Leaves],
        hosts: &[24, 32, 48, 64],
        schedule: Some(Schedule::Disjoint),
        capacity: &[2.0, 4.0],
        spines: &[3, 4],
        ..Needs::default()
    };
    let mut bed = Bed::draw(rng, &needs);
    let tree = bed.tree().clone();
    let leaf = bed.rng.random_range(0..tree.leaves());
    let left = bed.rng.random_range(1..tree.spines);
    let members = bed.leaf(leaf);
    let scope = one_way(tree.uplink_of_leaf(leaf), tree.cables(), (true, true));
    let fault = bed.plant(Fault::always(scope, Harm::Fewer { leaf, left: left as f64 }));
    let words = format!("leaf {leaf} ({} hosts) has {left} of {} cables left, under load", members.len(), tree.spines);
    let mut answers = vec![of_hosts(&bed, GROUP, &members, ANY)];
    if tree.leaves() == 2 {
        answers.push(of_hosts(&bed, GROUP, &bed.leaf(1 - leaf), ANY));
    }
    let mut planted = Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers);
    planted.may_be_remark = true;
    bed.planted.push(planted);
    bed
}

/// The way between two hosts.
pub fn plant_link(bed: &mut Bed) {
    let (from, to) = (bed.take(), bed.take());
    let both = bed.rng.random_bool(0.5);
    let harm = if both && bed.rng.random_bool(0.3) {
        Harm::Latency(bed.magnitude(0.1e-6, 10e-6))
    } else {
        Harm::Slow(bed.magnitude(1.1, 10.0))
    };
    let words = format!("link {} {} {}: {harm:?}", bed.name(from), bed.name(to), if both { "both" } else { "send" });
    let sign = Sign::Slow(if matches!(harm, Harm::Latency(_)) { "latency" } else { "bandwidth" });
    let fault = bed.plant(Fault::always(Scope::Pair { from, to, both }, harm));
    let answers = vec![of_hosts(bed, LINK, &[from, to], if both { BOTH } else { SEND })];
    let mut planted = Planted::new(words, sign, vec![fault], answers);
    // Without a re-test a link is something to measure again.
    planted.may_be_remark = true;
    bed.planted.push(planted);
}

pub fn link(rng: ChaCha8Rng) -> Bed {
    let mut bed = Bed::draw(rng, &Needs::default());
    for _ in 0..*[1, 1, 2].choose(&mut bed.rng).unwrap() {
        plant_link(&mut bed);
    }
    bed
}

pub fn torus_cable(rng: ChaCha8Rng) -> Bed {
    let needs = Needs { shapes: &[Shape::Torus], hosts: &[16, 27, 48, 64, 96], ranks: &[1], ..Needs::default() };
    let mut bed = Bed::draw(rng, &needs);
    let Network::Torus(torus) = bed.parts.network.clone() else { unreachable!("the family asks for tori") };
    let (router, axis) = (bed.rng.random_range(0..torus.routers()), bed.rng.random_range(0..torus.sides.len()));
    let other = torus.neighbour(router, axis, true);
    let (both, harm) = (bed.rng.random_bool(0.7), slower(&mut bed));
    let mut bad = vec![false; torus.cables()];
    bad[torus.cable(router, axis, true)] = true;
    bad[torus.cable(other, axis, false)] = both;
    let host =
        |router: usize| bed.parts.place.iter().position(|place| *place == router).expect("every router has a host");
    let ends = [host(router), host(other)];
    let words = format!("torus cable {} {}, axis {axis}, both {both}: {harm:?}", bed.name(ends[0]), bed.name(ends[1]));
    let answers = vec![of_hosts(&bed, CABLE, &ends, if both { BOTH } else { SEND })];
    let fault = bed.plant(Fault::always(Scope::Cables(bad), harm));
    bed.planted.push(Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers));
    bed
}

pub fn gate(rng: ChaCha8Rng) -> Bed {
    let needs = Needs { shapes: &[Shape::Dragonfly], hosts: &[16, 24, 32, 48, 64], ranks: &[1], ..Needs::default() };
    let mut bed = Bed::draw(rng, &needs);
    let Network::Dragonfly(dragonfly) = bed.parts.network.clone() else { unreachable!("the family asks for them") };
    let a = bed.rng.random_range(0..dragonfly.groups);
    let b = (a + bed.rng.random_range(1..dragonfly.groups)) % dragonfly.groups;
    let (both, harm) = (bed.rng.random_bool(0.7), slower(&mut bed));
    let mut bad = vec![false; dragonfly.cables()];
    bad[dragonfly.gate(a, b)] = true;
    bad[dragonfly.gate(b, a)] = both;
    let of_group = |group: usize| -> Vec<usize> {
        (0..bed.count()).filter(|host| dragonfly.group_of(bed.parts.place[*host]) == group).collect()
    };
    let (of_a, of_b) = (of_group(a), of_group(b));
    let words = format!("gate from group {a} to group {b}, both {both}: {harm:?}");
    let whole: Vec<usize> = of_a.iter().chain(&of_b).copied().collect();
    let (there, back) = if both { (BOTH, BOTH) } else { (SEND, RECEIVE) };
    let answers =
        vec![of_hosts(&bed, GATE, &whole, ANY), of_hosts(&bed, GATE, &of_a, there), of_hosts(&bed, GATE, &of_b, back)];
    let fault = bed.plant(Fault::always(Scope::Cables(bad), harm));
    bed.planted.push(Planted::new(words, Sign::Slow("bandwidth"), vec![fault], answers));
    bed
}

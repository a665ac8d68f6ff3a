//! Machines on which something is slow and nobody can say what: two hosts, two halves.

use netmatrix::plan::Schedule;
use rand_chacha::ChaCha8Rng;

use super::{
    bed::{Bed, Needs, Shape},
    fabric::plant_uplink,
    hosts::plant_card,
};
use crate::planted::{ANY, Answer, BOTH, GROUP, LINK};

/// One of two equal halves has a slow uplink: its own, or that of the other; both are right. What is slow both ways may
/// have been built so: that nobody can tell, and which halves, is all that there is to say.
pub fn two_halves(rng: ChaCha8Rng) -> Bed {
    let needs =
        Needs { shapes: &[Shape::Halves], hosts: &[8, 12, 16], schedule: Some(Schedule::Isolated), ..Needs::default() };
    let mut bed = Bed::draw(rng, &needs);
    plant_uplink(&mut bed, 1);
    let planted = bed.planted.last_mut().expect("an uplink was planted");
    planted.may_be_remark = planted.answers[0].directions == BOTH;
    bed
}

/// Two hosts, one of which is slow: that the way between them is, is all that there would be to say, and without any
/// other way to compare it with not even that.
pub fn two_hosts(rng: ChaCha8Rng) -> Bed {
    let needs = Needs { shapes: &[Shape::Flat], hosts: &[2], ranks: &[1, 2, 4], ..Needs::default() };
    let mut bed = Bed::draw(rng, &needs);
    let (host, factor) = (bed.take(), bed.magnitude(1.2, 4.0));
    plant_card(&mut bed, host, factor, (true, true));
    let both = bed.names(&[0, 1]);
    let planted = bed.planted.last_mut().expect("a card was planted");
    planted.answers = vec![Answer { kinds: LINK, hosts: both, ranks: Vec::new(), directions: ANY }];
    planted.tolerated = vec![Answer { kinds: GROUP, ..planted.answers[0].clone() }];
    planted.may_be_silent = true;
    bed.may_be_invalid = true;
    bed
}

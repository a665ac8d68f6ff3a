//! Families of cases: the rows of "what the verdict must be", healthy ones too, and mixtures of two.
//!
//! In: a name and a seed. Out: a [`Case`]. Faults are planted as they happen, whether they can be seen or not: how far
//! each stands out is part of the case.

pub mod bed;
mod fabric;
mod failures;
mod few;
mod healthy;
mod hosts;
mod mixtures;
mod rails;
mod ranges;
mod sampled;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::planted::Case;

/// A row of the table.
pub struct Family {
    pub name: &'static str,
    draw: fn(ChaCha8Rng) -> bed::Bed,
}

const fn row(name: &'static str, draw: fn(ChaCha8Rng) -> bed::Bed) -> Family {
    Family { name, draw }
}

/// All rows, in the order in which they are printed. A new one goes to the end, or seeds would mean other cases.
pub const FAMILIES: &[Family] = &[
    row("cards", hosts::cards),
    row("cores", hosts::cores),
    row("leaf-hosts", hosts::most_of_a_leaf),
    row("uplink", fabric::uplink),
    row("pod", fabric::pod),
    row("cable", fabric::cable),
    row("load", fabric::load),
    row("link", fabric::link),
    row("torus-cable", fabric::torus_cable),
    row("gate", fabric::gate),
    row("rail-card", rails::card),
    row("rail-switch", rails::switch),
    row("rank", rails::core),
    row("part-of-time", hosts::part_of_the_time),
    row("part-of-hosts", hosts::part_of_the_partners),
    row("lossy", failures::lossy),
    row("silent", failures::silent),
    row("cut-off", failures::cut_off),
    row("damaged", failures::damaged),
    row("jitter", hosts::jitter),
    row("mtu", ranges::mtu),
    row("eager", ranges::eager),
    row("pcie", ranges::pcie),
    row("socket", ranges::socket),
    row("sampled", sampled::sampled),
    row("sampled-512", sampled::three_of_512),
    row("two-halves", few::two_halves),
    row("two-hosts", few::two_hosts),
    row("mixture", mixtures::two),
    row("plain", healthy::plain),
    row("kinds", healthy::kinds),
    row("far-ranks", healthy::far_ranks),
    row("thin-tree", healthy::thin_tree),
    row("busy", healthy::busy),
    row("adaptive", healthy::adaptive),
    row("faster", healthy::faster),
    row("drift", healthy::drift),
    row("tails", healthy::tails),
    row("sampled-plain", healthy::sampled),
    row("sampled-uplink", sampled::uplink),
];

impl Family {
    /// Number among the families.
    fn number(&self) -> u64 {
        FAMILIES.iter().position(|family| family.name == self.name).expect("a family is one of them") as u64
    }

    /// The case of a seed.
    pub fn case(&self, seed: u64) -> Case {
        self.bed(seed).case()
    }

    /// The machine of a seed, before it is measured.
    pub fn bed(&self, seed: u64) -> bed::Bed {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1000 + self.number());
        (self.draw)(rng)
    }

    /// A family by its name.
    pub fn of(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}

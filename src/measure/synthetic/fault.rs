//! Faults that can be planted into a [`super::Machine`].

use crate::units::Bytes;

/// Which way a host or a pair is affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both ways.
    Both,
    /// What the host sends; from the first host of a pair to the second.
    Send,
    /// What the host receives; from the second host of a pair to the first.
    Receive,
}

impl Direction {
    pub(super) fn sends(self) -> bool {
        self != Self::Receive
    }

    pub(super) fn receives(self) -> bool {
        self != Self::Send
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symptom {
    /// Everything takes this many times as long.
    Slower(f64),
    /// Every message takes this many seconds more.
    Latency(f64),
    /// The bandwidth is this fraction of what it should be.
    Bandwidth(f64),
    /// The scatter is this many times as large; the median stays.
    Jitter(f64),
    /// Messages from this length on take `factor` times as long: a protocol that switches at the wrong place.
    StepAt {
        /// First length that is affected.
        length: Bytes,
        /// How many times as long it takes.
        factor: f64,
    },
    /// No answer at all.
    Dead,
}

/// Where something is wrong, and what. Hosts are numbered as in [`crate::units::Hosts`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A host's card, cable or slot.
    Host {
        /// Which host.
        host: usize,
        /// Which way.
        direction: Direction,
        /// What.
        symptom: Symptom,
    },
    /// One rank of a host: its core.
    Rank {
        /// Which rank.
        rank: usize,
        /// Which way.
        direction: Direction,
        /// What.
        symptom: Symptom,
    },
    /// The path between two hosts.
    Link {
        /// From the first to the second is [`Direction::Send`].
        hosts: (usize, usize),
        /// Which way.
        direction: Direction,
        /// What.
        symptom: Symptom,
    },
    /// The uplink of a leaf switch: all pairs with exactly one end on it.
    Leaf {
        /// Which leaf.
        leaf: usize,
        /// Which way, seen from the leaf.
        direction: Direction,
        /// What.
        symptom: Symptom,
    },
}

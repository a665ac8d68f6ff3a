//! What can be wrong: where it is, what it does, and when it does it.

use std::ops::Range;

use netmatrix::{
    record::State,
    units::{Hosts, Rank},
};

use crate::network::Cable;

/// Which messages meet it.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Those of these ranks, `[rank]`, to and from other hosts.
    Ends { ranks: Vec<bool>, out: bool, into: bool },
    /// Those that cross one of these cables, `[cable]`.
    Cables(Vec<bool>),
    /// Those from one host to another, and those back.
    Pair { from: usize, to: usize, both: bool },
    /// Those between hosts of two halves, `[host]`.
    Across(Vec<bool>),
}

/// What it does to them.
#[derive(Clone, Debug)]
pub enum Harm {
    /// Seconds more for every message, at each end that has it.
    Latency(f64),
    /// A card, cable or route that takes so many times as long for a byte.
    Slow(f64),
    /// Seconds more for every message with a payload.
    Extra(f64),
    /// Samples scatter so many times as far, and so many more of them are disturbed.
    Scatter { factor: f64, probability: f64 },
    /// A share of the exchanges ends like this instead.
    Lose { share: f64, state: State },
    /// A share of the payloads arrives damaged.
    Damage { share: f64 },
    /// A leaf has only so many cables left for all that its hosts send at the same time.
    Fewer { leaf: usize, left: f64 },
}

/// When it does so.
#[derive(Clone, Debug)]
pub struct Window {
    /// At these message lengths.
    pub lengths: Range<u64>,
    /// At these shares of the run's time; empty: always.
    pub moments: Vec<Range<f64>>,
    /// With these hosts at the other end, `[host]`; empty: with all.
    pub partners: Vec<bool>,
}

impl Default for Window {
    fn default() -> Self {
        Self { lengths: 0..u64::MAX, moments: Vec::new(), partners: Vec::new() }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    pub scope: Scope,
    pub harm: Harm,
    pub window: Window,
}

impl Scope {
    /// How many of a message's ends, or of the parts on its route, have it.
    pub fn covers(&self, hosts: &Hosts, from: Rank, to: Rank, cables: &[Cable]) -> usize {
        let (a, b) = (hosts.host_of(from), hosts.host_of(to));
        if a == b {
            return 0;
        }
        match self {
            Self::Ends { ranks, out, into } => usize::from(*out && ranks[from]) + usize::from(*into && ranks[to]),
            Self::Cables(bad) => usize::from(cables.iter().any(|cable| bad[*cable])),
            Self::Pair { from, to, both } => usize::from((a, b) == (*from, *to) || *both && (b, a) == (*from, *to)),
            Self::Across(half) => usize::from(half[a] != half[b]),
        }
    }
}

impl Fault {
    /// A fault that is always there.
    pub fn always(scope: Scope, harm: Harm) -> Self {
        Self { scope, harm, window: Window::default() }
    }

    /// Whether it does anything at this length and moment with this partner.
    pub fn is_on(&self, hosts: &Hosts, from: Rank, to: Rank, length: u64, moment: f64) -> bool {
        let Window { lengths, moments, partners } = &self.window;
        let meets = |rank: Rank| partners[hosts.host_of(rank)];
        let is_met = match (&self.scope, partners.is_empty()) {
            (_, true) => true,
            (Scope::Ends { ranks, out, into }, false) => {
                (*out && ranks[from] && meets(to)) || (*into && ranks[to] && meets(from))
            }
            (_, false) => meets(from) || meets(to),
        };
        is_met
            && lengths.contains(&length)
            && (moments.is_empty() || moments.iter().any(|range| range.contains(&moment)))
    }

    /// Whether it is one of latency: half of it shows in the opposite direction, whose announcement it delays.
    pub fn shows_both_ways(&self) -> bool {
        matches!(self.harm, Harm::Latency(_))
    }
}

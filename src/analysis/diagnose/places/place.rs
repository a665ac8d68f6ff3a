//! Places: what messages cross, and what of it is slow.
//!
//! In: hosts by number. Out: [`Place`]s and the pairs that cross them, [`Suspect`]s. Nothing is judged here.

use super::view::View;
use crate::analysis::diagnose::{Agreement, Direction, Kind};

/// Something that messages cross.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// What it is.
    pub kind: Kind,
    /// One host; source and destination of a link or a cable; or members.
    pub hosts: Vec<usize>,
    /// Which way.
    pub direction: Direction,
    /// Of some routes, of a way between two sets, and of a host that is slow with some: the other ends. Else none.
    pub toward: Vec<usize>,
    /// Of a cable: the pairs that cross it, `source * hosts + destination`.
    pub cells: Vec<u32>,
}

impl Place {
    /// A place that all pairs cross which leave its hosts this way.
    pub fn of(kind: Kind, hosts: Vec<usize>, direction: Direction) -> Self {
        Self { kind, hosts, direction, toward: Vec::new(), cells: Vec::new() }
    }

    /// The hosts that name it: of a way between two sets, those of both.
    pub fn named(&self) -> impl Iterator<Item = &usize> {
        self.hosts.iter().chain(self.second_set())
    }

    /// Of a way between two sets, the second one; of any other place none.
    pub fn second_set(&self) -> impl Iterator<Item = &usize> {
        self.toward.iter().filter(|_| self.kind == Kind::Gate)
    }

    /// Whether only some of the pairs cross it that leave its hosts.
    pub fn is_of_some(&self) -> bool {
        !self.toward.is_empty()
    }

    /// The share of the other ends that are slow, of those that its hosts have met, where these are some only.
    pub fn share(&self, hosts: usize, have_met: impl Fn(usize, usize) -> bool) -> Option<f64> {
        let is_other =
            |other: &usize| !self.hosts.contains(other) && self.hosts.iter().any(|host| have_met(*host, *other));
        let of = match (self.kind, self.direction) {
            (Kind::Routes, Direction::Receive) => self.hosts.len(),
            _ => (0..hosts).filter(is_other).count(),
        };
        let is_some = matches!(self.kind, Kind::Node | Kind::Routes) && !self.toward.is_empty();
        is_some.then(|| self.toward.len() as f64 / of.max(1) as f64)
    }

    /// The pairs that cross it, `[source * hosts + destination]`.
    pub fn crossing(&self, hosts: usize) -> Vec<bool> {
        Self::crossing_any(std::iter::once(self), hosts)
    }

    /// The pairs that cross any of some places, `[source * hosts + destination]`.
    pub fn crossing_any<'a>(places: impl Iterator<Item = &'a Self>, hosts: usize) -> Vec<bool> {
        let mut is_crossing = vec![false; hosts * hosts];
        places.for_each(|place| place.mark(hosts, &mut is_crossing));
        is_crossing
    }

    /// Marks the pairs that cross it.
    fn mark(&self, side: usize, is_crossing: &mut [bool]) {
        self.cells.iter().for_each(|cell| is_crossing[*cell as usize] = true);
        if self.kind == Kind::Cable {
            return;
        }
        let table = |hosts: &[usize]| {
            let mut is_in = vec![false; side];
            hosts.iter().for_each(|host| is_in[*host] = true);
            is_in
        };
        let (is_in, is_toward) = (table(&self.hosts), table(&self.toward));
        let (sends, receives) = (self.direction != Direction::Receive, self.direction != Direction::Send);
        let mut mark = |i: usize, j: usize| {
            if i != j {
                is_crossing[i * side + j] = true;
            }
        };
        if self.kind == Kind::Link {
            mark(self.hosts[0], self.hosts[1]);
            if receives {
                mark(self.hosts[1], self.hosts[0]);
            }
            return;
        }
        // Hosts of which it is not known which one is slow share no way.
        let is_between = |other: &usize| !is_in[*other] || self.kind == Kind::Fabric;
        for &host in &self.hosts {
            for other in (0..side).filter(is_between) {
                match self.kind {
                    // Out to some; in from everywhere to some of its own.
                    Kind::Routes => {
                        if sends && is_toward[other] {
                            mark(host, other);
                        }
                        if receives && is_toward[host] {
                            mark(other, host);
                        }
                    }
                    _ if self.toward.is_empty() || is_toward[other] => {
                        if sends {
                            mark(host, other);
                        }
                        if receives {
                            mark(other, host);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Hosts with a common way out, and the hosts between which it is not used.
pub struct Set {
    pub members: Vec<usize>,
    /// `[host]`.
    pub is_in: Vec<bool>,
}

impl Set {
    pub fn of(members: Vec<usize>, hosts: usize) -> Self {
        let mut is_in = vec![false; hosts];
        members.iter().for_each(|host| is_in[*host] = true);
        Self { members, is_in }
    }

    /// All other hosts, ascending.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.is_in.len()).filter(|host| !self.is_in[*host])
    }
}

/// A place that is slow.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// Where.
    pub place: Place,
    /// By how much, `ln(ratio)`, over its range.
    pub effect: f64,
    /// Logarithm of the probability that a healthy run has such a thing anywhere.
    pub log: f64,
    /// First and last length of its range, by number.
    pub range: (usize, usize),
    /// By how much at every length, `[length]`; NaN where nothing was measured.
    pub effects: Vec<f64>,
    /// Cells that agree.
    pub cells: Agreement,
    /// By how much each of them is slow, over the range.
    pub excesses: Vec<f64>,
    /// First and last length at which it is known to be as fast as its peers alone: these are none of its range.
    pub refuted: Option<(usize, usize)>,
}

/// The lengths at which something is slow, by number: by half at least of what it is where that is most. `effects`:
/// `[length]`.
pub(super) fn slow_lengths(effects: &[f64]) -> Vec<usize> {
    let most = effects.iter().copied().fold(0.0, f64::max);
    (0..effects.len()).filter(|length| effects[*length] >= most / 2.0).collect()
}

/// The first and the last of them.
pub(super) fn slow_range(effects: &[f64]) -> Option<(usize, usize)> {
    let slow = slow_lengths(effects);
    Some((*slow.first()?, *slow.last()?))
}

/// The same of what was found in a range: there, and next to it without a gap.
pub(super) fn slow_around(effects: &[f64], (first, last): (usize, usize)) -> Option<(usize, usize)> {
    let slow = slow_lengths(effects);
    let inside = || slow.iter().copied().filter(|length| (first..=last).contains(length));
    let (mut low, mut high) = (inside().min()?, inside().max()?);
    while low > 0 && slow.contains(&(low - 1)) {
        low -= 1;
    }
    while slow.contains(&(high + 1)) {
        high += 1;
    }
    Some((low, high))
}

impl Suspect {
    /// Cells that are slow by so much.
    pub fn agreement(&self, least: f64) -> Agreement {
        let slow = self.excesses.iter().filter(|excess| **excess >= least).count();
        Agreement { slow, of: self.excesses.len() }
    }

    pub(super) fn new(place: Place, effect: f64, log: f64, view: &View) -> Self {
        Self::at(place, effect, log, (view.lengths[0], view.lengths[view.lengths.len() - 1]))
    }

    pub fn at(place: Place, effect: f64, log: f64, range: (usize, usize)) -> Self {
        let (effects, excesses, cells) = (Vec::new(), Vec::new(), Agreement::default());
        Self { place, effect, log, range, effects, cells, excesses, refuted: None }
    }
}

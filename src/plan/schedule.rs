//! The schedule: which pairs are measured at the same time, and in what order.
//!
//! In: a plan and the number of a message length. Out: [`Rounds`], computed rather than stored: whom a rank meets in a
//! round takes constant time, and the memory is one permutation, never a table of all pairs.
//!
//! * Isolated: the circle method over ranks, its pairs one after the other.
//! * Disjoint: the circle method over *hosts*, so that a host takes part in one pair only and no two pairs share a
//!   network card. Where hosts have several ranks, a round of host pairs is played in groups, in each of which a rank
//!   meets at most one partner, and a group slot by slot. Pairs inside a host follow as a phase of their own, again
//!   one at a time on each host.
//!
//! Labels are dealt out anew from the seed at every length, so that a pair does not always run with the same others.
//! With `sample_rounds` they stay, so that the same cells are measured at every length. Which direction of a pair comes
//! first is drawn at every length, and so is the order of the roots of broadcasts. A length at which nothing travels
//! has no rounds.

use std::{fmt, str::FromStr};

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{Mode, Plan, pairing::Pairing};
use crate::units::{Hosts, ParseNameError, Rank, by_name};

/// Which pairs run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// One pair at a time, all other ranks silent.
    Isolated,
    /// As many pairs at a time as there are pairs of hosts, each host in one pair only.
    Disjoint,
}

impl Schedule {
    /// All schedules.
    pub const ALL: [Self; 2] = [Self::Isolated, Self::Disjoint];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Disjoint => "disjoint",
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Schedule {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        by_name("schedule", text, Self::ALL, Self::name, &[])
    }
}

/// Two ranks that are measured against each other in both directions. The leader begins the pair's turn and ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Begins and ends.
    pub leader: Rank,
    /// Follows.
    pub partner: Rank,
}

impl Pair {
    /// The pair of two different ranks, in either order. Every rank leads about half of its pairs.
    pub fn of(a: Rank, b: Rank) -> Self {
        Self::drawn(a, b, 0)
    }

    /// The pair of two different ranks, in either order; the leader is drawn with `key` for every pair.
    fn drawn(a: Rank, b: Rank, key: u64) -> Self {
        let (low, high) = (a.min(b), a.max(b));
        // SplitMix64 (Steele, Lea and Flood 2014): every bit of the answer depends on every bit of the ranks.
        let mut x = key ^ ((low as u64) << 32 | high as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        if (x ^ (x >> 31)) & 1 == 0 { Self { leader: low, partner: high } } else { Self { leader: high, partner: low } }
    }

    /// The other rank of the pair, if `rank` is in it.
    pub fn other(self, rank: Rank) -> Option<Rank> {
        match rank {
            rank if rank == self.leader => Some(self.partner),
            rank if rank == self.partner => Some(self.leader),
            _ => None,
        }
    }
}

/// What happens in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundKind {
    /// Pairs exchange messages.
    Pairs,
    /// This rank broadcasts.
    Root(Rank),
    /// All exchange with all.
    Everyone,
}

/// The rounds of one message length.
#[derive(Clone, Debug)]
pub struct Rounds<'a> {
    hosts: &'a Hosts,
    order: Order,
    /// Whether ranks that are not in a pair take part in its turn.
    noise: bool,
    /// With which the leaders of pairs are drawn.
    key: u64,
}

#[derive(Clone, Debug)]
enum Order {
    Isolated { pairing: Pairing, labels: Labels, between: Groups },
    Disjoint { pairing: Pairing, labels: Labels, between: Groups, within: Groups, widest: usize },
    Roots { labels: Labels },
    Everyone,
    Nothing,
}

/// What the labels of the circle method stand for, and back.
#[derive(Clone, Debug)]
struct Labels {
    member: Vec<usize>,
    label: Vec<usize>,
}

impl Labels {
    fn shuffled(count: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut member: Vec<_> = (0..count).collect();
        member.shuffle(rng);
        let mut label = vec![0; count];
        for (place, &who) in member.iter().enumerate() {
            label[who] = place;
        }
        Self { member, label }
    }
}

/// Groups of rounds, each group with the same number of slots; all of them, or those that were drawn.
#[derive(Clone, Debug)]
struct Groups {
    drawn: Option<Vec<usize>>,
    count: usize,
    slots: usize,
}

impl Groups {
    fn rounds(&self) -> usize {
        self.count * self.slots
    }

    /// Group and slot of a round.
    fn at(&self, index: usize) -> (usize, usize) {
        (self.group(index / self.slots), index % self.slots)
    }

    /// The group that stands at a place of the order.
    fn group(&self, place: usize) -> usize {
        self.drawn.as_ref().map_or(place, |drawn| drawn[place])
    }
}

/// Random numbers for one purpose, independent of those for any other.
pub(crate) fn rng(seed: u64, purpose: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose << 48) | index as u64);
    rng
}

impl<'a> Rounds<'a> {
    pub(super) fn new(plan: &'a Plan, length_index: usize) -> Self {
        let config = &plan.config;
        let drawn = (config.seed, config.sample_rounds);
        let rounds = Self::drawn(&plan.hosts, (plan.mode, plan.schedule()), drawn, length_index);
        if plan.travels(length_index) { rounds } else { Self { order: Order::Nothing, ..rounds } }
    }

    /// Of a length at which messages travel; what the order follows from is all that is asked for.
    pub(crate) fn drawn(
        hosts: &'a Hosts,
        (mode, schedule): (Mode, Schedule),
        (seed, sample_rounds): (u64, Option<usize>),
        length_index: usize,
    ) -> Self {
        let deal = if sample_rounds.is_some() { 0 } else { length_index };
        let key = rng(seed, 4, length_index).random();
        let mut rng = rng(seed, 1, deal);
        let order = match (mode, schedule) {
            (Mode::AllToAll, _) => Order::Everyone,
            (Mode::Bcast, _) => Order::Roots { labels: Labels::shuffled(hosts.ranks(), &mut rng) },
            (_, Schedule::Isolated) => {
                let pairing = Pairing::new(hosts.ranks());
                let labels = Labels::shuffled(hosts.ranks(), &mut rng);
                let all = pairing.rounds();
                let (between, _) = draw(sample_rounds, (all, pairing.pairs_per_round()), (0, 1), &mut rng);
                Order::Isolated { pairing, labels, between }
            }
            (_, Schedule::Disjoint) => {
                let pairing = Pairing::new(hosts.count());
                let labels = Labels::shuffled(hosts.count(), &mut rng);
                let (widest, second) = two_widest(hosts);
                let inside = Pairing::new(widest);
                let all_between = (pairing.rounds() * widest, second.max(1));
                let all_within = (inside.rounds(), inside.pairs_per_round().max(1));
                let (between, within) = draw(sample_rounds, all_between, all_within, &mut rng);
                Order::Disjoint { pairing, labels, between, within, widest }
            }
        };
        Self { hosts, order, noise: mode.has_noise(), key }
    }

    /// Number of rounds. In some of them a rank, or on uneven hosts everybody, may have nothing to do.
    pub fn len(&self) -> usize {
        match &self.order {
            Order::Isolated { between, .. } => between.rounds(),
            Order::Disjoint { between, within, .. } => between.rounds() + within.rounds(),
            Order::Roots { .. } => self.hosts.ranks(),
            Order::Everyone => 1,
            Order::Nothing => 0,
        }
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unordered pairs in all rounds together. Where all pairs meet, or one in each round, none is looked at.
    pub fn pairs(&self) -> usize {
        let ranks = self.hosts.ranks();
        match &self.order {
            Order::Isolated { .. } => self.len(),
            Order::Disjoint { between: Groups { drawn: None, .. }, .. } => ranks * (ranks - 1) / 2,
            Order::Disjoint { .. } => self.iter().map(|round| round.pairs().len()).sum(),
            Order::Roots { .. } | Order::Everyone | Order::Nothing => 0,
        }
    }

    /// How many partners a rank has at most, where they were drawn; `None` where all pairs meet.
    pub fn lines(&self) -> Option<usize> {
        match &self.order {
            Order::Isolated { between, .. } => between.drawn.as_ref().map(|_| between.count),
            Order::Disjoint { between, within, .. } => between.drawn.as_ref().map(|_| between.count + within.count),
            Order::Roots { .. } | Order::Everyone | Order::Nothing => None,
        }
    }

    /// Whom `rank` meets in the drawn group of rounds with number `line`, in constant time.
    pub fn partner(&self, line: usize, rank: Rank) -> Option<Rank> {
        let hosts = self.hosts;
        match &self.order {
            Order::Isolated { pairing, labels, between } => {
                let (other, _) = pairing.meets(between.group(line), labels.label[rank])?;
                Some(labels.member[other])
            }
            Order::Disjoint { pairing, labels, between, within, widest } => {
                let host = hosts.host_of(rank);
                if line < between.count {
                    let group = between.group(line);
                    let (other, _) = pairing.meets(group / widest, labels.label[host])?;
                    partner_between(hosts, rank, labels.member[other], group % widest)
                } else {
                    let inside = Pairing::new(hosts.ranks_of(host).len());
                    let group = within.group(line - between.count);
                    let (other, _) = (group < inside.rounds()).then(|| inside.meets(group, hosts.place_of(rank)))??;
                    Some(hosts.ranks_of(host)[other])
                }
            }
            Order::Roots { .. } | Order::Everyone | Order::Nothing => None,
        }
    }

    /// When two hosts meet, all their ranks: in a round of the circle, by number, that lasts until every host has met
    /// one other. `None` where their ranks meet here and there, where rounds were drawn, or where no pairs meet.
    pub fn meeting(&self, a: usize, b: usize) -> Option<usize> {
        match &self.order {
            Order::Isolated { pairing, labels, between: Groups { drawn: None, .. } }
                if self.hosts.ranks() == self.hosts.count() =>
            {
                let [a, b] = [a, b].map(|host| labels.label[self.hosts.ranks_of(host)[0]]);
                Some(pairing.round_of(a, b))
            }
            Order::Disjoint { pairing, labels, between: Groups { drawn: None, .. }, .. } => {
                Some(pairing.round_of(labels.label[a], labels.label[b]))
            }
            _ => None,
        }
    }

    /// In which of all rounds two hosts meet, where pairs of hosts are measured one after another; `None` as in
    /// [`Rounds::meeting`], and where several pairs are measured at the same time.
    pub fn turn(&self, a: usize, b: usize) -> Option<usize> {
        let Order::Isolated { pairing, labels, between } = &self.order else { return None };
        let round = self.meeting(a, b)?;
        let (_, slot) = pairing.meets(round, labels.label[self.hosts.ranks_of(a)[0]])?;
        Some(round * between.slots + slot)
    }

    /// The `index`-th round.
    pub fn get(&self, index: usize) -> Option<Round<'_>> {
        (index < self.len()).then_some(Round { rounds: self, index })
    }

    /// The rounds, in order, in which `rank` may have something to do: with one silent pair at a time those of its own
    /// pairs, found without looking at the others; else all.
    pub fn concerning(&self, rank: Rank) -> Box<dyn Iterator<Item = Round<'_>> + '_> {
        match &self.order {
            Order::Isolated { pairing, labels, between } if !self.noise => {
                Box::new((0..between.count).filter_map(move |place| {
                    let (_, slot) = pairing.meets(between.group(place), labels.label[rank])?;
                    Some(Round { rounds: self, index: place * between.slots + slot })
                }))
            }
            _ => Box::new(self.iter()),
        }
    }

    /// All rounds in order.
    pub fn iter(&self) -> impl Iterator<Item = Round<'_>> {
        (0..self.len()).map(|index| Round { rounds: self, index })
    }
}

/// Sizes of the two hosts with most ranks.
fn two_widest(hosts: &Hosts) -> (usize, usize) {
    (0..hosts.count())
        .map(|host| hosts.ranks_of(host).len())
        .fold((0, 0), |(first, second), size| if size > first { (size, first) } else { (first, second.max(size)) })
}

/// All groups (number, slots of each) of both phases, or `sample` of them in random order.
fn draw(
    sample: Option<usize>,
    between: (usize, usize),
    within: (usize, usize),
    rng: &mut ChaCha8Rng,
) -> (Groups, Groups) {
    let groups = |drawn: Option<Vec<usize>>, (all, slots): (usize, usize)| {
        let count = drawn.as_ref().map_or(all, Vec::len);
        Groups { drawn, count, slots }
    };
    match sample {
        Some(sample) if sample < between.0 + within.0 => {
            let mut all: Vec<_> = (0..between.0 + within.0).collect();
            let (chosen, _) = all.partial_shuffle(rng, sample);
            let (first, second): (Vec<_>, Vec<_>) = chosen.iter().partition(|group| **group < between.0);
            let second = second.into_iter().map(|group| group - between.0).collect();
            (groups(Some(first), between), groups(Some(second), within))
        }
        _ => (groups(None, between), groups(None, within)),
    }
}

/// Pairs that are measured at the same time, or one collective exchange.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    rounds: &'a Rounds<'a>,
    index: usize,
}

impl<'a> Round<'a> {
    /// Its place among the rounds of its length.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The round after this one.
    pub fn next(&self) -> Option<Self> {
        self.rounds.get(self.index + 1)
    }

    /// The round before this one.
    pub fn previous(&self) -> Option<Self> {
        self.index.checked_sub(1).map(|index| Self { index, ..*self })
    }

    /// What happens in it.
    pub fn kind(&self) -> RoundKind {
        match &self.rounds.order {
            Order::Isolated { .. } | Order::Disjoint { .. } | Order::Nothing => RoundKind::Pairs,
            Order::Roots { labels } => RoundKind::Root(labels.member[self.index]),
            Order::Everyone => RoundKind::Everyone,
        }
    }

    /// Whether only one pair is measured and the turn passes from pair to pair.
    pub fn is_turn(&self) -> bool {
        matches!(self.rounds.order, Order::Isolated { .. })
    }

    /// The only pair of a turn.
    pub fn turn(&self) -> Option<Pair> {
        match &self.rounds.order {
            Order::Isolated { pairing, labels, between } => {
                let (round, slot) = between.at(self.index);
                let (a, b) = pairing.pair(round, slot);
                Some(Pair::drawn(labels.member[a], labels.member[b], self.rounds.key))
            }
            _ => None,
        }
    }

    /// The pair that `rank` is in.
    pub fn pair_of(&self, rank: Rank) -> Option<Pair> {
        let hosts = self.rounds.hosts;
        match &self.rounds.order {
            Order::Isolated { .. } => self.turn().filter(|pair| pair.other(rank).is_some()),
            Order::Disjoint { pairing, labels, between, within, widest } => {
                let host = hosts.host_of(rank);
                let pair = if self.index < between.rounds() {
                    let (group, slot) = between.at(self.index);
                    let (other, _) = pairing.meets(group / widest, labels.label[host])?;
                    self.pair_between(host, labels.member[other], group % widest, slot)
                } else {
                    let (group, slot) = within.at(self.index - between.rounds());
                    self.pair_within(host, group, slot)
                };
                pair.filter(|pair| pair.other(rank).is_some())
            }
            Order::Roots { .. } | Order::Everyone | Order::Nothing => None,
        }
    }

    /// All pairs of the round.
    pub fn pairs(&self) -> Vec<Pair> {
        let hosts = self.rounds.hosts;
        match &self.rounds.order {
            Order::Isolated { .. } => self.turn().into_iter().collect(),
            Order::Disjoint { pairing, labels, between, within, widest } => {
                if self.index < between.rounds() {
                    let (group, slot) = between.at(self.index);
                    let host_pairs = (0..pairing.pairs_per_round()).map(|k| pairing.pair(group / widest, k));
                    host_pairs
                        .filter_map(|(a, b)| {
                            self.pair_between(labels.member[a], labels.member[b], group % widest, slot)
                        })
                        .collect()
                } else {
                    let (group, slot) = within.at(self.index - between.rounds());
                    (0..hosts.count()).filter_map(|host| self.pair_within(host, group, slot)).collect()
                }
            }
            Order::Roots { .. } | Order::Everyone | Order::Nothing => Vec::new(),
        }
    }

    fn pair_between(&self, a: usize, b: usize, group: usize, slot: usize) -> Option<Pair> {
        let (a, b) = ranks_between(self.rounds.hosts, a, b, group, slot)?;
        Some(Pair::drawn(a, b, self.rounds.key))
    }

    fn pair_within(&self, host: usize, group: usize, slot: usize) -> Option<Pair> {
        let (a, b) = ranks_within(self.rounds.hosts, host, group, slot)?;
        Some(Pair::drawn(a, b, self.rounds.key))
    }
}

/// The pair that two hosts measure in a slot of a group: in group g the t-th rank of the smaller host meets rank
/// t + g (round the end) of the larger one, in slot t. Over all groups every rank meets every rank of the other host.
fn ranks_between(hosts: &Hosts, a: usize, b: usize, group: usize, slot: usize) -> Option<(Rank, Rank)> {
    let smaller_first = (hosts.ranks_of(a).len(), a) <= (hosts.ranks_of(b).len(), b);
    let (small, large) = if smaller_first { (a, b) } else { (b, a) };
    let (small, large) = (hosts.ranks_of(small), hosts.ranks_of(large));
    (group < large.len() && slot < small.len()).then(|| (small[slot], large[(slot + group) % large.len()]))
}

/// Whom a rank meets of another host in all slots of a group: the inverse of [`pair_between`].
fn partner_between(hosts: &Hosts, rank: Rank, other: usize, group: usize) -> Option<Rank> {
    let (host, place) = (hosts.host_of(rank), hosts.place_of(rank));
    let (own, others) = (hosts.ranks_of(host), hosts.ranks_of(other));
    if (own.len(), host) <= (others.len(), other) {
        (group < others.len()).then(|| others[(place + group) % others.len()])
    } else {
        let slot = (place + own.len() - group % own.len()) % own.len();
        (group < own.len() && slot < others.len()).then(|| others[slot])
    }
}

/// The pair that a host measures inside itself in a slot of a group.
fn ranks_within(hosts: &Hosts, host: usize, group: usize, slot: usize) -> Option<(Rank, Rank)> {
    let ranks = hosts.ranks_of(host);
    let pairing = Pairing::new(ranks.len());
    (group < pairing.rounds() && slot < pairing.pairs_per_round()).then(|| {
        let (a, b) = pairing.pair(group, slot);
        (ranks[a], ranks[b])
    })
}

#[cfg(test)]
mod tests;

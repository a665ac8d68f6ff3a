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
//! Labels are dealt out anew from the seed at every length, so that a pair does not always run beside the same others.
//! With `sample_rounds` they stay, so that the same cells are measured at every length.

use std::{fmt, str::FromStr};

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{Plan, config::ParseNameError, pairing::Pairing};
use crate::units::{Hosts, Rank};

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
        Self::ALL.into_iter().find(|schedule| schedule.name() == text).ok_or_else(|| ParseNameError {
            what: "schedule",
            text: text.to_owned(),
            expected: Self::ALL.map(Self::name).join(", "),
        })
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
        let (low, high) = (a.min(b), a.max(b));
        if (low + high) % 2 == 0 { Self { leader: low, partner: high } } else { Self { leader: high, partner: low } }
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
}

#[derive(Clone, Debug)]
enum Order {
    Isolated { pairing: Pairing, labels: Labels, between: Groups },
    Disjoint { pairing: Pairing, labels: Labels, between: Groups, within: Groups, widest: usize },
    Roots,
    Everyone,
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
        let group = index / self.slots;
        (self.drawn.as_ref().map_or(group, |drawn| drawn[group]), index % self.slots)
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
        let hosts = &plan.hosts;
        let config = &plan.config;
        let deal = if config.sample_rounds.is_some() { 0 } else { length_index };
        let mut rng = rng(config.seed, 1, deal);
        let order = match (plan.mode, plan.schedule()) {
            (super::Mode::AllToAll, _) => Order::Everyone,
            (super::Mode::Bcast, _) => Order::Roots,
            (_, Schedule::Isolated) => {
                let pairing = Pairing::new(hosts.ranks());
                let labels = Labels::shuffled(hosts.ranks(), &mut rng);
                let all = pairing.rounds();
                let (between, _) = draw(config.sample_rounds, (all, pairing.pairs_per_round()), (0, 1), &mut rng);
                Order::Isolated { pairing, labels, between }
            }
            (_, Schedule::Disjoint) => {
                let pairing = Pairing::new(hosts.count());
                let labels = Labels::shuffled(hosts.count(), &mut rng);
                let (widest, second) = two_widest(hosts);
                let inside = Pairing::new(widest);
                let all_between = (pairing.rounds() * widest, second.max(1));
                let all_within = (inside.rounds(), inside.pairs_per_round().max(1));
                let (between, within) = draw(config.sample_rounds, all_between, all_within, &mut rng);
                Order::Disjoint { pairing, labels, between, within, widest }
            }
        };
        Self { hosts, order, noise: plan.mode.has_noise() }
    }

    /// Number of rounds. In some of them a rank, or on uneven hosts everybody, may have nothing to do.
    pub fn len(&self) -> usize {
        match &self.order {
            Order::Isolated { between, .. } => between.rounds(),
            Order::Disjoint { between, within, .. } => between.rounds() + within.rounds(),
            Order::Roots => self.hosts.ranks(),
            Order::Everyone => 1,
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
            Order::Roots | Order::Everyone => 0,
        }
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
                let group_of = |group: usize| between.drawn.as_ref().map_or(group, |drawn| drawn[group]);
                Box::new((0..between.count).filter_map(move |group| {
                    let (_, slot) = pairing.meets(group_of(group), labels.label[rank])?;
                    Some(Round { rounds: self, index: group * between.slots + slot })
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
        match self.rounds.order {
            Order::Isolated { .. } | Order::Disjoint { .. } => RoundKind::Pairs,
            Order::Roots => RoundKind::Root(self.index),
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
                Some(Pair::of(labels.member[a], labels.member[b]))
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
                    pair_between(hosts, host, labels.member[other], group % widest, slot)
                } else {
                    let (group, slot) = within.at(self.index - between.rounds());
                    pair_within(hosts, host, group, slot)
                };
                pair.filter(|pair| pair.other(rank).is_some())
            }
            Order::Roots | Order::Everyone => None,
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
                            pair_between(hosts, labels.member[a], labels.member[b], group % widest, slot)
                        })
                        .collect()
                } else {
                    let (group, slot) = within.at(self.index - between.rounds());
                    (0..hosts.count()).filter_map(|host| pair_within(hosts, host, group, slot)).collect()
                }
            }
            Order::Roots | Order::Everyone => Vec::new(),
        }
    }
}

/// The pair that two hosts measure in a slot of a group: in group g the t-th rank of the smaller host meets rank
/// t + g (round the end) of the larger one, in slot t. Over all groups every rank meets every rank of the other host.
fn pair_between(hosts: &Hosts, a: usize, b: usize, group: usize, slot: usize) -> Option<Pair> {
    let smaller_first = (hosts.ranks_of(a).len(), a) <= (hosts.ranks_of(b).len(), b);
    let (small, large) = if smaller_first { (a, b) } else { (b, a) };
    let (small, large) = (hosts.ranks_of(small), hosts.ranks_of(large));
    (group < large.len() && slot < small.len()).then(|| Pair::of(small[slot], large[(slot + group) % large.len()]))
}

/// The pair that a host measures inside itself in a slot of a group.
fn pair_within(hosts: &Hosts, host: usize, group: usize, slot: usize) -> Option<Pair> {
    let ranks = hosts.ranks_of(host);
    let pairing = Pairing::new(ranks.len());
    (group < pairing.rounds() && slot < pairing.pairs_per_round()).then(|| {
        let (a, b) = pairing.pair(group, slot);
        Pair::of(ranks[a], ranks[b])
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::plan::{Config, Mode};

    fn plan(schedule: Schedule, sizes: &[usize], sample_rounds: Option<usize>, seed: u64) -> Plan {
        // Ranks of a host are not neighbours: dealt out round robin, as some launchers do.
        let widest = sizes.iter().max().copied().unwrap_or(0);
        let names = (0..widest).flat_map(|place| {
            sizes.iter().enumerate().filter(move |(_, size)| place < **size).map(|(host, _)| format!("n{host}"))
        });
        let config = Config { schedule, sample_rounds, seed, ..Config::default() };
        Plan { mode: Mode::OneToOne, config, hosts: Hosts::new(names) }
    }

    /// Every ordered pair once; no rank, and no host between hosts, twice in a round; all three views agree.
    fn check(plan: &Plan) -> Result<(), TestCaseError> {
        let ranks = plan.ranks();
        for length in 0..2 {
            let rounds = plan.rounds(length);
            let mut met = HashSet::new();
            for round in rounds.iter() {
                let pairs = round.pairs();
                let mut busy_ranks = HashSet::new();
                let mut busy_hosts = HashSet::new();
                for pair in &pairs {
                    let hosts = [plan.hosts.host_of(pair.leader), plan.hosts.host_of(pair.partner)];
                    prop_assert!(busy_hosts.insert(hosts[0]), "host in two pairs");
                    prop_assert!(hosts[0] == hosts[1] || busy_hosts.insert(hosts[1]), "host in two pairs");
                    for rank in [pair.leader, pair.partner] {
                        prop_assert!(busy_ranks.insert(rank), "rank in two pairs");
                        prop_assert_eq!(round.pair_of(rank), Some(*pair));
                        prop_assert!(met.insert((rank, pair.other(rank).unwrap())), "pair measured twice");
                    }
                }
                let idle = (0..ranks).filter(|rank| !busy_ranks.contains(rank));
                for rank in idle {
                    prop_assert_eq!(round.pair_of(rank), None);
                }
            }
            prop_assert_eq!(met.len(), ranks * (ranks - 1), "every ordered pair is measured");
            for rank in [0, ranks / 2, ranks - 1] {
                let own = |round: Round<'_>| round.pair_of(rank).map(|pair| (round.index(), pair));
                let concerning: Vec<_> = rounds.concerning(rank).filter_map(own).collect();
                prop_assert_eq!(concerning, rounds.iter().filter_map(own).collect::<Vec<_>>());
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn isolated_measures_every_ordered_pair_once(ranks in 2usize..=130, seed: u64) {
            check(&plan(Schedule::Isolated, &vec![1; ranks], None, seed))?;
        }

        #[test]
        fn disjoint_measures_every_ordered_pair_once(hosts in 2usize..=130, seed: u64) {
            check(&plan(Schedule::Disjoint, &vec![1; hosts], None, seed))?;
        }

        #[test]
        fn disjoint_keeps_its_rules_on_uneven_hosts(
            sizes in proptest::collection::vec(1usize..=8, 1..=16), seed: u64,
        ) {
            prop_assume!(sizes.iter().sum::<usize>() >= 2);
            check(&plan(Schedule::Disjoint, &sizes, None, seed))?;
        }

        #[test]
        fn sampling_gives_no_rank_more_partners_than_asked_and_the_same_at_every_length(
            hosts in 2usize..=40, width in 1usize..=4, sample in 1usize..=20, seed: u64, isolated: bool,
        ) {
            let schedule = if isolated { Schedule::Isolated } else { Schedule::Disjoint };
            let plan = plan(schedule, &vec![width; hosts], Some(sample), seed);
            let pairs_of = |length| -> HashSet<(Rank, Rank)> {
                let rounds = plan.rounds(length);
                let pairs: Vec<_> = rounds.iter().flat_map(|round| round.pairs()).collect();
                pairs.iter().flat_map(|pair| [(pair.leader, pair.partner), (pair.partner, pair.leader)]).collect()
            };
            let met = pairs_of(0);
            prop_assert_eq!(&met, &pairs_of(1));
            for rank in 0..plan.ranks() {
                let partners = met.iter().filter(|pair| pair.0 == rank).count();
                prop_assert!(partners <= sample);
                if plan.ranks().is_multiple_of(2) && hosts.is_multiple_of(2) && width.is_multiple_of(2) {
                    prop_assert_eq!(partners, sample.min(plan.ranks() - 1));
                }
            }
        }
    }

    #[test]
    fn labels_follow_from_seed_and_length_alone() {
        let order = |seed, length| {
            let plan = plan(Schedule::Disjoint, &[1; 20], None, seed);
            let pairs: Vec<_> = plan.rounds(length).iter().map(|round| round.pairs()).collect();
            pairs
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
    }

    #[test]
    fn disjoint_takes_as_many_rounds_as_a_host_has_partners() {
        assert_eq!(plan(Schedule::Disjoint, &[1; 128], None, 1).rounds(0).len(), 127);
        assert_eq!(plan(Schedule::Disjoint, &[2; 4], None, 1).rounds(0).len(), 3 * 2 * 2 + 1);
    }

    #[test]
    fn collectives_have_rounds_of_their_own() {
        let all = |mode| Plan { mode, ..plan(Schedule::Disjoint, &[1; 5], None, 1) };
        let bcast = all(Mode::Bcast);
        let kinds: Vec<_> = bcast.rounds(0).iter().map(|round| round.kind()).collect();
        assert_eq!(kinds, [0, 1, 2, 3, 4].map(RoundKind::Root));
        assert_eq!(all(Mode::AllToAll).rounds(0).get(0).unwrap().kind(), RoundKind::Everyone);
    }
}

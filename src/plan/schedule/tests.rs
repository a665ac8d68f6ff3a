//! That schedules measure what they promise.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::{
    plan::{Config, Mode},
    units::Bytes,
};

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
        let mut last_meeting = 0;
        for round in rounds.iter() {
            let pairs = round.pairs();
            let mut busy_ranks = HashSet::new();
            let mut busy_hosts = HashSet::new();
            for pair in &pairs {
                let hosts = [plan.hosts.host_of(pair.leader), plan.hosts.host_of(pair.partner)];
                if let (true, Some(meeting)) = (hosts[0] != hosts[1], rounds.meeting(hosts[0], hosts[1])) {
                    prop_assert_eq!(rounds.meeting(hosts[1], hosts[0]), Some(meeting));
                    prop_assert!(meeting >= last_meeting, "hosts meet later than they are measured");
                    last_meeting = meeting;
                }
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
    fn isolated_measures_every_ordered_pair_once(ranks in 2usize..=70, seed: u64) {
        check(&plan(Schedule::Isolated, &vec![1; ranks], None, seed))?;
    }

    #[test]
    fn the_turn_of_two_hosts_is_that_of_their_round(hosts in 2usize..=40, seed: u64) {
        let isolated = plan(Schedule::Isolated, &vec![1; hosts], None, seed);
        let rounds = isolated.rounds(0);
        for (index, round) in rounds.iter().enumerate() {
            for pair in round.pairs() {
                prop_assert_eq!(rounds.turn(pair.leader, pair.partner), Some(index));
                prop_assert_eq!(rounds.turn(pair.partner, pair.leader), Some(index));
            }
        }
        let disjoint = plan(Schedule::Disjoint, &vec![1; hosts], None, seed);
        prop_assert_eq!(disjoint.rounds(0).turn(0, 1), None);
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
            let table = plan.partners();
            let listed = table.as_ref().map(|table| (0..table.lines()).filter_map(|line| table.partner(line, rank)));
            if let Some(listed) = listed {
                let met: HashSet<_> = met.iter().filter(|pair| pair.0 == rank).map(|pair| pair.1).collect();
                prop_assert_eq!(listed.collect::<HashSet<_>>(), met);
            }
            if plan.ranks().is_multiple_of(2) && hosts.is_multiple_of(2) && width.is_multiple_of(2) {
                prop_assert_eq!(partners, sample.min(plan.ranks() - 1));
            }
        }
    }
}

#[test]
fn partners_of_uneven_hosts_are_those_of_the_rounds() {
    for seed in 0..20 {
        let plan = plan(Schedule::Disjoint, &[1, 4, 2, 3, 4, 1, 7], Some(9), seed);
        let table = plan.partners().unwrap();
        let rounds = plan.rounds(3);
        let mut met: Vec<_> =
            rounds.iter().flat_map(|round| round.pairs()).map(|pair| Pair::of(pair.leader, pair.partner)).collect();
        let mut listed: Vec<_> = (0..table.lines())
            .flat_map(|line| (0..plan.ranks()).map(move |rank| (line, rank)))
            .filter_map(|(line, rank)| table.partner(line, rank).map(|other| Pair::of(rank, other)))
            .collect();
        met.sort_by_key(|pair| (pair.leader, pair.partner));
        listed.sort_by_key(|pair| (pair.leader, pair.partner));
        assert_eq!(listed.iter().step_by(2).collect::<Vec<_>>(), met.iter().collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(listed.iter().skip(1).step_by(2).collect::<Vec<_>>(), met.iter().collect::<Vec<_>>());
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

/// The parity of ranks would make a checkerboard of what comes first.
#[test]
fn which_direction_comes_first_is_drawn_for_every_pair_and_length() {
    let plan = plan(Schedule::Disjoint, &[1; 64], None, 1);
    let leads = |length| -> HashSet<(Rank, Rank)> {
        let rounds = plan.rounds(length);
        rounds.iter().flat_map(|round| round.pairs()).map(|pair| (pair.leader, pair.partner)).collect()
    };
    let (first, second) = (leads(0), leads(1));
    // Fair coins: each bound is some 5 standard deviations of 2016 (or half as many) of them.
    let share = |hits: usize, of: usize| hits as f64 / of as f64;
    let same = share(first.intersection(&second).count(), first.len());
    assert!((same - 0.5).abs() < 0.06, "{same}");
    for parity in 0..2 {
        let of_parity: Vec<_> = first.iter().filter(|(a, b)| (a + b) % 2 == parity).collect();
        let low = share(of_parity.iter().filter(|(leader, partner)| leader < partner).count(), of_parity.len());
        assert!((low - 0.5).abs() < 0.08, "{parity}: {low}");
    }
}

#[test]
fn where_nothing_travels_nothing_is_scheduled() {
    for mode in Mode::all() {
        let config = Config { sweep: crate::plan::Sweep::list(&[Bytes(0), Bytes(1)]).unwrap(), ..Config::default() };
        let plan = Plan { mode, config, ..plan(Schedule::Isolated, &[1; 5], None, 1) };
        let silent = matches!(mode, Mode::Put | Mode::Get | Mode::Bcast);
        assert_eq!((plan.rounds(0).is_empty(), plan.rounds(1).is_empty()), (silent, false), "{mode}");
    }
}

#[test]
fn collectives_have_rounds_of_their_own() {
    let sweep = crate::plan::Sweep::list(&[Bytes(8)]).unwrap();
    let plan = |schedule, sizes: &[usize], sample, seed| {
        let plan = plan(schedule, sizes, sample, seed);
        Plan { config: Config { sweep: sweep.clone(), ..plan.config }, ..plan }
    };
    let all = |mode| Plan { mode, ..plan(Schedule::Disjoint, &[1; 5], None, 1) };
    let bcast = all(Mode::Bcast);
    let kinds: Vec<_> = bcast.rounds(0).iter().map(|round| round.kind()).collect();
    let mut roots: Vec<_> = (0..5).collect();
    roots.sort_by_key(|root| kinds.iter().position(|kind| *kind == RoundKind::Root(*root)));
    assert!(roots != [0, 1, 2, 3, 4] && kinds == roots.iter().map(|root| RoundKind::Root(*root)).collect::<Vec<_>>());
    assert_eq!(all(Mode::AllToAll).rounds(0).get(0).unwrap().kind(), RoundKind::Everyone);
}

/// A walk over all rounds of so many ranks would take hours: 550 thousand million of them.
#[test]
fn the_rounds_of_a_rank_are_found_without_looking_at_those_of_others() {
    let plan = plan(Schedule::Isolated, &vec![1; crate::plan::MAX_RANKS], None, 1);
    let rounds = plan.rounds(0);
    assert_eq!(rounds.len(), crate::plan::MAX_RANKS * (crate::plan::MAX_RANKS - 1) / 2);
    let mut partners = HashSet::new();
    for round in rounds.concerning(77).take(1000) {
        let pair = round.pair_of(77).expect("the round concerns the rank");
        assert!(partners.insert(pair.other(77)), "a partner is met once");
        assert_eq!(round.turn(), Some(pair));
    }
    assert_eq!(rounds.concerning(77).count(), crate::plan::MAX_RANKS - 1);
}

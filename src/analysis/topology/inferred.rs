//! Groups of hosts as the data show them.
//!
//! In: a run. Out: [`Inferred`]: who is near whom, what is typical inside and between groups, and hosts that are near no
//! other.

use rayon::prelude::*;

use crate::{
    analysis::{
        diagnose::{
            LEAST_HOSTS,
            folded::Folded,
            places::{self, Distances},
        },
        groups::members,
        square::Square,
    },
    record::{BoxError, Run, Statistic},
    stats::median,
    units::Bytes,
};

/// Hosts that see the network alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// By number, ascending.
    pub hosts: Vec<usize>,
    /// Typical seconds between two of them at the shortest and the longest length; NaN where nothing was measured.
    pub inside: [f64; 2],
}

/// Two groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Their numbers, the smaller one first.
    pub groups: [usize; 2],
    /// Typical seconds between a host of the one and a host of the other at the shortest and the longest length.
    pub seconds: [f64; 2],
}

/// What the data say about who is near whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// The shortest and the longest length.
    pub lengths: [Bytes; 2],
    /// The largest first.
    pub groups: Vec<Found>,
    /// All pairs of groups.
    pub between: Vec<Between>,
    /// Hosts that are near no other, ascending; they are in no group.
    pub unplaced: Vec<usize>,
    /// Whether so few pairs were measured that nothing says who is near whom: all hosts are in one group.
    pub are_pairs_few: bool,
}

impl Inferred {
    /// From the medians of a run; `None` if it has no finished length.
    pub fn of(run: &dyn Run) -> Result<Option<Self>, BoxError> {
        let folded = Folded::read(run, Statistic::Median, &vec![false; run.ranks()])?;
        let hosts = folded.hosts();
        let (Some(&shortest), Some(&longest)) = (folded.lengths.first(), folded.lengths.last()) else {
            return Ok(None);
        };
        let mean: Vec<Square> = folded.times.iter().map(Square::both_ways).collect();
        let level = folded.level.clone();
        let near = places::near(run, &folded)?;
        let distances = match hosts < LEAST_HOSTS {
            true => Distances::flat(hosts),
            false => places::distances(near.as_ref().unwrap_or(&folded), run.header().mode, None),
        };
        let (are_pairs_few, group) = (!distances.are_known(&folded), distances.leaf);
        let count = group.iter().max().map_or(0, |last| last + 1);
        let mut groups = members(&group, count);
        // A leaf has several hosts.
        let is_alone = |hosts: &mut Vec<usize>| count > 1 && hosts.len() == 1;
        let mut unplaced: Vec<usize> = groups.extract_if(.., is_alone).flatten().collect();
        unplaced.sort_unstable();
        groups.sort_by_key(|hosts| (std::cmp::Reverse(hosts.len()), hosts[0]));
        let ends = [0, mean.len() - 1];
        let typical = |a: &[usize], b: &[usize]| {
            ends.map(|length| level[length] * middle(&mean[length], a, b, &mut Vec::new()).exp())
        };
        let pairs: Vec<[usize; 2]> =
            (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| [a, b])).collect();
        let between =
            pairs.par_iter().map(|&[a, b]| Between { groups: [a, b], seconds: typical(&groups[a], &groups[b]) });
        let between = between.collect();
        let groups =
            groups.par_iter().map(|hosts| Found { inside: typical(hosts, hosts), hosts: hosts.clone() }).collect();
        Ok(Some(Self { lengths: [shortest, longest], groups, between, unplaced, are_pairs_few }))
    }

    /// The group that a host is in, `[host]`.
    pub fn group_of(&self, hosts: usize) -> Vec<Option<usize>> {
        let mut of = vec![None; hosts];
        for (number, group) in self.groups.iter().enumerate() {
            group.hosts.iter().for_each(|host| of[*host] = Some(number));
        }
        of
    }
}

/// Middle of the values from hosts of `a` to other hosts, of `b`; NaN if there is none.
fn middle(square: &Square, a: &[usize], b: &[usize], scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    let pairs = a.iter().flat_map(|i| b.iter().map(move |j| (*i, *j)));
    scratch.extend(pairs.map(|(i, j)| square.at(i, j)).filter(|value| !value.is_nan()));
    median(scratch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        measure::{
            StopRequest, measure,
            synthetic::{Direction, Fault, Machine, Symptom, Synthetic},
        },
        plan::{Config, Plan, Sweep},
        record::{Cell, Header, MemoryRun, Provenance, State},
        stats::Summary,
    };

    fn inferred(machine: &Machine) -> Inferred {
        let sweep = Sweep::list(&[0, 4096, 1 << 20].map(Bytes)).unwrap();
        let config = Config { iterations: 20, sweep, ..Config::default() };
        let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        measure(&plan, &mut Synthetic::new(machine.clone()), Some(&mut run), 0, &StopRequest::default(), &mut |_| {})
            .unwrap();
        Inferred::of(&run).unwrap().unwrap()
    }

    #[test]
    fn leaves_are_found_with_their_times() {
        let found = inferred(&Machine::leaf_spine(16, 2, 2));
        let hosts: Vec<_> = found.groups.iter().map(|group| group.hosts.clone()).collect();
        assert_eq!(hosts, [(0..8).collect::<Vec<_>>(), (8..16).collect()]);
        assert_eq!((found.lengths, &*found.unplaced), ([Bytes(0), Bytes(1 << 20)], &[][..]));
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.05;
        assert!(near(found.groups[0].inside[0], 1.2e-6) && near(found.between[0].seconds[0], 1.8e-6), "{found:?}");
        assert_eq!((found.between.len(), found.between[0].groups), (1, [0, 1]));
        assert_eq!((found.group_of(16)[8], found.are_pairs_few), (Some(1), false));
    }

    #[test]
    fn a_host_on_a_leaf_of_its_own_fits_nowhere() {
        let mut machine = Machine::leaf_spine(17, 2, 1);
        machine.leaf_of_host[5] = 2;
        let found = inferred(&machine);
        assert_eq!(found.unplaced, [5]);
        assert!(found.groups.iter().all(|group| !group.hosts.contains(&5)));
    }

    #[test]
    fn a_host_whose_long_messages_meet_no_others_on_their_way_still_fits() {
        // Three leaves of three hosts. Among others long messages to another leaf take twice as long, but those between the
        // first host and one of the other leaves.
        let seconds = |length: u64, i: usize, j: usize| match (i / 3 == j / 3, length) {
            (true, 0) => 1.2e-6,
            (false, 0) => 1.8e-6,
            (false, _) if (i.min(j), i.max(j) / 3) != (0, 2) => 200e-6,
            _ => 100e-6,
        };
        let plan = Plan::all(&Config::default(), &Machine::leaf_spine(9, 3, 1).hosts).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        for length in [0, 1 << 20] {
            let cell = |pair: usize| match (pair / 9, pair % 9) {
                (i, j) if i == j => Cell::zero(),
                (i, j) => Cell::measured(Summary::of(&mut [seconds(length, i, j)]), 9, State::Measured),
            };
            run.push(Bytes(length), (0..81).map(cell).collect());
        }
        let found = Inferred::of(&run).unwrap().unwrap();
        let hosts: Vec<_> = found.groups.iter().map(|group| group.hosts.clone()).collect();
        assert_eq!((hosts, found.unplaced), (vec![vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8]], Vec::new()));
    }

    #[test]
    fn a_slow_host_still_fits() {
        for symptom in [Symptom::Slower(3.0), Symptom::Latency(5e-6), Symptom::Bandwidth(0.2)] {
            let machine =
                Machine::leaf_spine(16, 2, 1).with(Fault::Host { host: 3, direction: Direction::Both, symptom });
            let found = inferred(&machine);
            assert_eq!((found.groups.len(), &*found.unplaced), (2, &[][..]), "{symptom:?}");
        }
    }

    #[test]
    fn few_hosts_are_one_group() {
        for hosts in 1..4 {
            let found = inferred(&Machine::leaf_spine(hosts, 1, 2));
            assert_eq!((found.groups.len(), found.groups[0].hosts.len()), (1, hosts));
            assert_eq!(found.groups[0].inside[0].is_nan(), hosts == 1);
        }
    }

    #[test]
    fn a_dead_machine_has_no_times() {
        let dead = |host| Fault::Host { host, direction: Direction::Both, symptom: Symptom::Dead };
        let machine = (0..6).fold(Machine::leaf_spine(6, 2, 1), |machine, host| machine.with(dead(host)));
        let found = inferred(&machine);
        assert_eq!(found.groups.iter().map(|group| group.hosts.len()).sum::<usize>() + found.unplaced.len(), 6);
        assert!(found.groups.iter().all(|group| group.inside[0].is_nan()) && found.are_pairs_few);
    }
}

//! Measuring suspicious pairs again, to tell contention from faults.
//!
//! In: the cells of a length. Out: for the worst pairs three numbers, see [`Retest`], and the samples behind the last one
//! where the plan keeps them. Where most pairs are left out, up to a third of the places are for pairs that were not
//! measured before: a pair of two slow hosts, which says whether they share what slows them. Who is worst, and who is slow:
//! [`super::suspects`].

use rand::{RngExt, seq::SliceRandom};

use super::{
    Cells, Fabric, FabricError,
    suspects::{Before, Suspect, Usual, worst_of},
};
use crate::{
    plan::{Pair, Plan, rng},
    record::Retest,
    units::{Bytes, Rank},
};

/// What came of measuring pairs again.
#[derive(Default)]
pub(super) struct Retested {
    /// The same everywhere.
    pub(super) retests: Vec<Retest>,
    /// Of the pairs alone, the same everywhere, `[retest][sample]`; empty where the plan keeps none.
    pub(super) samples: Vec<Vec<f64>>,
    /// Payloads that arrived damaged meanwhile, of this process.
    pub(super) damaged: u64,
}

/// Measures the worst pairs of a length again: among others, then alone. `before`: the suspects of the length before, then
/// those of this one. Collective.
pub(super) fn retest(
    plan: &Plan,
    fabric: &mut dyn Fabric,
    (index, length): (usize, Bytes),
    cells: &Cells,
    before: &mut Before,
) -> Result<Retested, FabricError> {
    let usual = Usual::of(plan, fabric, cells)?;
    let own = worst_of(usual.suspects(plan, cells, before), plan.retests(), &plan.hosts);
    let mut worst = fabric.worst(own, plan.retests())?;
    let unmet = usual.unmet(plan, fabric, (index, cells), plan.retests() / 3)?;
    worst.truncate(plan.retests() - unmet.len());
    let ends = |suspect: &Suspect| Pair::of(suspect.source, suspect.destination);
    let pairs: Vec<Pair> = worst.iter().map(ends).chain(unmet).collect();
    let mut number = 0;
    let mut damaged = 0;
    let mut again = Cells::of_pairs(plan, fabric.view(), &pairs);
    for company in companies(plan, index, &pairs) {
        // The suspects of a company come first: what its other pairs measure is of no use.
        let mut whole = Cells::of_pairs(plan, fabric.view(), &company.pairs);
        fabric.run_pairs(&company.pairs, number, length, &mut whole)?;
        damaged += whole.damaged();
        for pair in &company.pairs[..company.suspects] {
            again.copy_pair(&whole, *pair);
        }
        number += 1;
    }
    let mut alone = Cells::of_pairs(plan, fabric.view(), &pairs);
    let mut samples = Vec::new();
    for pair in &pairs {
        fabric.run_pairs(&[*pair], number, length, &mut alone)?;
        samples.extend(fabric.take_samples());
        number += 1;
    }
    damaged += alone.damaged();
    let retests = collect(fabric, &pairs, [cells, &again, &alone])?;
    let samples = collect_samples(fabric, plan.retest_samples(), &retests, &alone, &samples)?;
    Ok(Retested { retests, samples, damaged })
}

/// Pairs that are measured at the same time, of which the first are suspects.
struct Company {
    pairs: Vec<Pair>,
    suspects: usize,
}

/// Rounds in which every suspect pair meets new company: as many suspects at a time as there are on different hosts,
/// the other hosts paired at random, a random rank of each.
fn companies(plan: &Plan, index: usize, suspects: &[Pair]) -> Vec<Company> {
    let hosts = &plan.hosts;
    let mut rng = rng(plan.config.seed, 3, index);
    let mut waiting = suspects.to_vec();
    let mut companies = Vec::new();
    while !waiting.is_empty() {
        let mut busy = vec![false; hosts.count()];
        let mut pairs = Vec::new();
        waiting.retain(|pair| {
            let ends = [hosts.host_of(pair.leader), hosts.host_of(pair.partner)];
            let free = ends.iter().all(|host| !busy[*host]);
            if free {
                ends.iter().for_each(|host| busy[*host] = true);
                pairs.push(*pair);
            }
            !free
        });
        let suspects = pairs.len();
        let mut idle: Vec<_> = (0..hosts.count()).filter(|host| !busy[*host]).collect();
        idle.shuffle(&mut rng);
        for two in idle.as_chunks::<2>().0 {
            let mut any = |host: usize| hosts.ranks_of(host)[rng.random_range(0..hosts.ranks_of(host).len())];
            pairs.push(Pair::of(any(two[0]), any(two[1])));
        }
        companies.push(Company { pairs, suspects });
    }
    companies
}

/// The three medians of both directions of each pair. Every number is known to one process, and 0 is added by the rest.
fn collect(fabric: &mut dyn Fabric, pairs: &[Pair], three: [&Cells; 3]) -> Result<Vec<Retest>, FabricError> {
    let both = |pair: &Pair| [(pair.leader, pair.partner), (pair.partner, pair.leader)];
    let directions: Vec<_> = pairs.iter().flat_map(both).collect();
    // Who owns the last one knows as well that there is no first.
    let is_own = |(source, destination)| three[2].get(source, destination).is_some();
    let median_in = |cells: &Cells, (source, destination)| {
        cells.get(source, destination).map_or(f64::NAN, |cell| cell.summary.median)
    };
    let of_direction =
        |direction: &_| three.map(|cells| if is_own(*direction) { median_in(cells, *direction) } else { 0.0 });
    let mut numbers: Vec<f64> = directions.iter().flat_map(of_direction).collect();
    fabric.sum(&mut numbers)?;
    let retests = directions
        .iter()
        .zip(numbers.as_chunks().0)
        .map(|(&(source, destination), &[first, second, alone])| Retest { source, destination, first, second, alone });
    Ok(retests.collect())
}

/// The samples of each retest, at most so many, `[retest][sample]`. Every sample is known to one process, and 0 is added by
/// the rest.
fn collect_samples(
    fabric: &mut dyn Fabric,
    most: usize,
    retests: &[Retest],
    alone: &Cells,
    own: &[(Rank, Rank, Vec<f64>)],
) -> Result<Vec<Vec<f64>>, FabricError> {
    if most == 0 {
        return Ok(Vec::new());
    }
    let mut numbers = vec![0.0; retests.len() * most];
    for (retest, numbers) in retests.iter().zip(numbers.chunks_exact_mut(most)) {
        // Who owns the cell knows as well that there is no sample.
        if alone.get(retest.source, retest.destination).is_some() {
            numbers.fill(f64::NAN);
        }
        let here = own.iter().find(|one| (one.0, one.1) == (retest.source, retest.destination));
        numbers.iter_mut().zip(here.into_iter().flat_map(|one| &one.2)).for_each(|(number, sample)| *number = *sample);
    }
    fabric.sum(&mut numbers)?;
    let there = |samples: &[f64]| samples.iter().copied().filter(|sample| !sample.is_nan()).collect();
    Ok(numbers.chunks_exact(most).map(there).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{
        measure::{
            StopRequest, measure,
            synthetic::{Direction, Fault, Machine, Symptom, Synthetic},
        },
        plan::{Config, Mode, Optional, Partners, Round, Schedule, Sweep, Timing},
        record::{Cell, Header, MemoryRun, Provenance, Run, State},
        stats::{Summary, median},
        units::Hosts,
    };

    /// The pairs that are measured again at each length, on hosts with these faults.
    fn retested(machine: &Machine, schedule: Schedule) -> Vec<HashSet<(Rank, Rank)>> {
        retested_at(machine, schedule, &[Bytes(0), Bytes(65536)])
    }

    fn retested_at(machine: &Machine, schedule: Schedule, lengths: &[Bytes]) -> Vec<HashSet<(Rank, Rank)>> {
        let lengths = Sweep::list(lengths).unwrap();
        let config = Config { schedule, sweep: lengths, iterations: 20, ..Config::default() };
        let plan = Plan { mode: Mode::OneToOne, config, hosts: machine.hosts.clone() };
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let mut fabric = Synthetic::new(machine.clone());
        measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
        let ends = |retest: Retest| (retest.source.min(retest.destination), retest.source.max(retest.destination));
        (0..2).map(|index| run.retests(index).unwrap().into_iter().map(ends).collect()).collect()
    }

    #[test]
    fn a_slow_host_does_not_hide_a_slow_link_and_is_measured_again_itself() {
        let slow = |host| Fault::Host { host, direction: Direction::Both, symptom: Symptom::Slower(3.0) };
        let link = Fault::Link { hosts: (3, 21), direction: Direction::Both, symptom: Symptom::Slower(1.6) };
        let machine = Machine::leaf_spine(32, 4, 1).with(slow(9)).with(link);
        for schedule in Schedule::ALL {
            for pairs in retested(&machine, schedule) {
                assert!(pairs.contains(&(3, 21)), "{schedule}: {pairs:?}");
                let of_host = pairs.iter().filter(|(a, b)| *a == 9 || *b == 9).count();
                assert!((1..=2).contains(&of_host), "{schedule}: {pairs:?}");
            }
        }
    }

    #[test]
    fn a_link_between_hosts_that_are_near_is_measured_again_though_it_takes_no_longer_than_ways_to_others() {
        // As long as a way across the spine.
        let link = Fault::Link { hosts: (3, 5), direction: Direction::Both, symptom: Symptom::Slower(1.5) };
        let machine = Machine::leaf_spine(32, 4, 2).with(link);
        for schedule in Schedule::ALL {
            let pairs = &retested(&machine, schedule)[0];
            let hosts = |pair: &(Rank, Rank)| (machine.hosts.host_of(pair.0), machine.hosts.host_of(pair.1));
            assert!(pairs.iter().any(|pair| hosts(pair) == (3, 5)), "{schedule}: {pairs:?}");
        }
    }

    #[test]
    fn far_pairs_of_hosts_most_of_whose_pairs_are_near_leave_places_for_a_link_that_lasts() {
        // 18 and 14 hosts: across the spine it takes longer than over the link.
        let link = Fault::Link { hosts: (3, 5), direction: Direction::Both, symptom: Symptom::Slower(1.3) };
        let mut machine = Machine::leaf_spine(32, 2, 1).with(link);
        [30, 31].into_iter().for_each(|host| machine.leaf_of_host[host] = 0);
        for schedule in Schedule::ALL {
            let pairs = &retested_at(&machine, schedule, &[Bytes(0), Bytes(8)])[1];
            assert!(pairs.contains(&(3, 5)), "{schedule}: {pairs:?}");
        }
    }

    #[test]
    fn where_most_pairs_are_left_out_slow_hosts_that_have_not_met_are_measured_with_each_other() {
        let unmet = |machine: &Machine, schedule, sample_rounds| {
            let sweep = Sweep::list(&[0, 64, 4096, 65536].map(Bytes)).unwrap();
            // One way at a time.
            let timing = Timing::Clock;
            let config = Config { schedule, sweep, sample_rounds, timing, iterations: 20, ..Config::default() };
            let plan = Plan { mode: Mode::OneToOne, config, hosts: machine.hosts.clone() };
            let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
            let mut fabric = Synthetic::new(machine.clone());
            measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
            let mut all = Vec::new();
            for index in 0..4 {
                let retests = run.retests(index).unwrap();
                assert!(retests.len() <= 20, "no more than were asked for");
                let is_new = |retest: &&Retest| retest.first.is_nan();
                let new: Vec<Retest> = retests.iter().filter(is_new).copied().collect();
                assert!(new.iter().all(|one| one.second > 0.0 && one.alone > 0.0), "{new:?}");
                all.extend(new.into_iter().map(|one| (one.source, one.destination)));
            }
            let met = plan.partners().unwrap_or_else(|| Partners::new(plan.ranks(), 0, |_, _| None));
            assert!(all.iter().all(|(a, b)| met.line_of(*a, *b).is_none()), "{all:?}");
            all
        };
        let healthy = Machine::leaf_spine(40, 5, 1);
        for schedule in Schedule::ALL {
            for direction in [Direction::Send, Direction::Receive] {
                let way = Fault::Leaf { leaf: 1, direction, symptom: Symptom::Slower(3.0) };
                let machine = healthy.clone().with(way);
                let pairs = unmet(&machine, schedule, Some(4));
                // Three at each of four lengths, both ways. Hosts of other leaves may have met hardly any others.
                assert_eq!(pairs.len(), 24, "{pairs:?}");
                let is_inside = |(a, b): &&(Rank, Rank)| [a, b].iter().all(|rank| machine.leaf_of_host[**rank] == 1);
                assert!(pairs.iter().filter(is_inside).count() > 12, "{pairs:?}");
                assert!(pairs.iter().collect::<HashSet<_>>().len() > 12, "others at other lengths: {pairs:?}");
                assert!(unmet(&machine, schedule, None).is_empty());
                // Most other hosts are slow a little, as among others.
                let little = |host| Fault::Host { host, direction: Direction::Both, symptom: Symptom::Slower(1.3) };
                let others = (0..40).filter(|host| machine.leaf_of_host[*host] != 1 && host % 3 > 0).map(little);
                let pairs = unmet(&others.fold(machine.clone(), Machine::with), schedule, Some(4));
                assert!(pairs.iter().filter(is_inside).count() > 12, "{pairs:?}");
            }
            assert!(unmet(&healthy, schedule, Some(4)).is_empty());
        }
    }

    #[test]
    fn of_a_leaf_whose_way_out_is_slow_pairs_that_take_it_are_measured_again() {
        let way = Fault::Leaf { leaf: 1, direction: Direction::Both, symptom: Symptom::Slower(3.0) };
        let machine = Machine::leaf_spine(24, 6, 1).with(way);
        for pairs in retested(&machine, Schedule::Disjoint) {
            let leaf = |host: Rank| machine.leaf_of_host[host];
            let on_way = pairs.iter().filter(|(a, b)| (leaf(*a) == 1) != (leaf(*b) == 1)).count();
            assert!(on_way > 2, "{pairs:?}");
        }
    }

    /// Pairs that chance disturbs, others at every length, and a link that is slow at all of them, by less.
    struct Disturbed {
        length_index: usize,
    }

    impl Disturbed {
        const LINK: (Rank, Rank) = (3, 21);

        fn pairs(&self, pairs: &[Pair], cells: &mut Cells) {
            let usual = Summary { min: 1.0, average: 1.0, median: 1.0, max: 1.0, deviation: 0.0 };
            for pair in pairs {
                let ends = (pair.leader.min(pair.partner), pair.leader.max(pair.partner));
                let median = match ends {
                    Self::LINK => 1.5,
                    // Sixteen pairs of two hosts each: more than there are places.
                    (a, b) if b == a ^ (1 << self.length_index) => 3.0,
                    _ => 1.0,
                };
                for (from, to) in [ends, (ends.1, ends.0)] {
                    cells.set(from, to, Cell::measured(Summary { median, ..usual }, 10, State::Measured));
                }
            }
        }
    }

    impl Fabric for Disturbed {
        fn begin_length(&mut self, _plan: &Plan, length_index: usize) -> Result<(), FabricError> {
            self.length_index = length_index;
            Ok(())
        }

        fn run(&mut self, round: &Round<'_>, _length: Bytes, cells: &mut Cells) -> Result<(), FabricError> {
            self.pairs(&round.pairs(), cells);
            Ok(())
        }

        fn run_pairs(&mut self, pairs: &[Pair], _: usize, _: Bytes, cells: &mut Cells) -> Result<(), FabricError> {
            self.pairs(pairs, cells);
            Ok(())
        }
    }

    #[test]
    fn a_link_that_is_slow_twice_is_measured_again_though_chance_makes_more_pairs_slower() {
        let sweep = Sweep::list(&[0, 64, 4096].map(Bytes)).unwrap();
        let plan = Plan {
            mode: Mode::OneToOne,
            config: Config { sweep, retest: 10, ..Config::default() },
            hosts: Hosts::new((0..32).map(|host| format!("n{host}"))),
        };
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let fabric = &mut Disturbed { length_index: 0 };
        measure(&plan, fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
        let is_among = |length: usize| {
            let retests = run.retests(length).unwrap();
            assert_eq!(retests.len(), 20, "both directions of ten pairs");
            retests.iter().any(|retest| (retest.source, retest.destination) == Disturbed::LINK)
        };
        assert_eq!([0, 1, 2].map(is_among), [false, true, true]);
    }

    #[test]
    fn samples_are_those_behind_the_median_of_a_pair_alone() {
        let dead = Fault::Link { hosts: (1, 5), direction: Direction::Both, symptom: Symptom::Dead };
        let slow = Fault::Link { hosts: (0, 3), direction: Direction::Both, symptom: Symptom::Slower(2.0) };
        let machine = Machine::leaf_spine(8, 2, 1).with(dead).with(slow);
        for optional in [vec![], vec![Optional::P90, Optional::Samples]] {
            let config = Config { iterations: 20, optional, schedule: Schedule::Disjoint, ..Config::default() };
            let plan = Plan { mode: Mode::OneToOne, config, hosts: machine.hosts.clone() };
            let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
            let mut fabric = Synthetic::new(machine.clone());
            measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
            let (retests, samples) = (run.retests(0).unwrap(), run.retest_samples(0).unwrap());
            assert!(
                retests.iter().any(|retest| retest.alone.is_nan()) && retests.iter().any(|retest| retest.alone > 0.0)
            );
            assert_eq!(samples.len(), if plan.retest_samples() > 0 { retests.len() } else { 0 });
            for (retest, mut samples) in retests.iter().zip(samples) {
                assert_eq!(samples.len(), if retest.alone.is_nan() { 0 } else { 20 });
                assert!(samples.is_empty() || !samples.is_sorted(), "in the order in which they were taken");
                assert_eq!(median(&mut samples).to_bits(), retest.alone.to_bits());
            }
        }
    }

    #[test]
    fn pairs_without_a_sample_come_first() {
        let slow = Fault::Host { host: 9, direction: Direction::Both, symptom: Symptom::Slower(3.0) };
        let dead = Fault::Link { hosts: (3, 21), direction: Direction::Both, symptom: Symptom::Dead };
        for pairs in retested(&Machine::leaf_spine(32, 4, 1).with(slow).with(dead), Schedule::Disjoint) {
            assert!(pairs.contains(&(3, 21)), "{pairs:?}");
        }
    }

    #[test]
    fn every_suspect_gets_new_company_once_and_no_host_is_in_two_pairs() {
        let hosts = Hosts::new((0..24).map(|rank| format!("n{}", rank / 2)));
        let config = Config { schedule: Schedule::Disjoint, ..Config::default() };
        let plan = Plan { mode: Mode::OneToOne, config, hosts };
        let suspects = [Pair::of(0, 5), Pair::of(1, 9), Pair::of(10, 20), Pair::of(2, 3)];
        let companies = companies(&plan, 0, &suspects);
        let retested: Vec<_> = companies.iter().flat_map(|company| &company.pairs[..company.suspects]).collect();
        assert_eq!(retested.len(), suspects.len());
        assert!(suspects.iter().all(|pair| retested.contains(&pair)));
        for company in &companies {
            let mut busy = HashSet::new();
            for pair in &company.pairs {
                let ends = [pair.leader, pair.partner].map(|rank| plan.hosts.host_of(rank));
                assert!(busy.insert(ends[0]) && (ends[0] == ends[1] || busy.insert(ends[1])));
            }
            assert!(busy.len() + 1 >= plan.hosts.count(), "hosts are left idle");
        }
    }
}

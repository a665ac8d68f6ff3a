//! Measuring suspicious pairs again, to tell contention from faults.
//!
//! In: the cells of a length that were measured among others. Out: for the worst pairs three numbers, see [`Retest`].
//! No process ever sees all cells: each keeps the worst of its own, and the lists are merged.

use rand::{RngExt, seq::SliceRandom};

use super::{Cells, Fabric, FabricError};
use crate::{
    plan::{Pair, Plan, rng},
    record::Retest,
    stats::median,
    units::{Bytes, Rank},
};

/// A cell is suspicious from this many times the centre of its class on.
const SUSPICIOUS: f64 = 1.1;

/// An ordered pair that is slower than its class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// Row.
    pub source: Rank,
    /// Column.
    pub destination: Rank,
    /// Median over the centre of the class.
    pub ratio: f64,
}

/// The worst suspects, at most `most` unordered pairs, worst first. Both directions of a pair count as one, the worse.
pub fn worst_of(mut suspects: Vec<Suspect>, most: usize) -> Vec<Suspect> {
    let pair = |suspect: &Suspect| Pair::of(suspect.source, suspect.destination);
    suspects
        .sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then((a.source, a.destination).cmp(&(b.source, b.destination))));
    let mut worst: Vec<Suspect> = Vec::new();
    for suspect in suspects {
        if worst.len() == most {
            break;
        }
        if !worst.iter().any(|other| pair(other) == pair(&suspect)) {
            worst.push(suspect);
        }
    }
    worst
}

/// Measures the worst pairs of a length again: among others, then alone. Collective; the re-tests are the same
/// everywhere, the number of payloads that arrived damaged meanwhile is that of this process.
pub(super) fn retest(
    plan: &Plan,
    fabric: &mut dyn Fabric,
    index: usize,
    length: Bytes,
    cells: &Cells,
) -> Result<(Vec<Retest>, u64), FabricError> {
    let centres = centres(plan, fabric, cells)?;
    let own = worst_of(suspects(plan, cells, centres), plan.retests());
    let worst = fabric.worst(own, plan.retests())?;
    let pairs: Vec<Pair> = worst.iter().map(|suspect| Pair::of(suspect.source, suspect.destination)).collect();
    let mut number = 0;
    let mut damaged = 0;
    let mut again = Cells::new(plan.mode, plan.ranks(), fabric.view());
    for company in companies(plan, index, &pairs) {
        // The suspects of a company come first: what its other pairs measure is of no use.
        let mut whole = Cells::new(plan.mode, plan.ranks(), fabric.view());
        fabric.run_pairs(&company.pairs, number, length, &mut whole)?;
        damaged += whole.damaged();
        for pair in &company.pairs[..company.suspects] {
            again.copy_pair(&whole, *pair);
        }
        number += 1;
    }
    let mut alone = Cells::new(plan.mode, plan.ranks(), fabric.view());
    for pair in &pairs {
        fabric.run_pairs(&[*pair], number, length, &mut alone)?;
        number += 1;
    }
    damaged += alone.damaged();
    Ok((collect(fabric, &pairs, [cells, &again, &alone])?, damaged))
}

/// Whether a cell is inside a host (0) or between hosts (1).
fn class(plan: &Plan, source: Rank, destination: Rank) -> usize {
    usize::from(plan.hosts.host_of(source) != plan.hosts.host_of(destination))
}

/// Cells that this process owns and has samples of, with their medians, off the diagonal.
fn measured(cells: &Cells) -> impl Iterator<Item = (Rank, Rank, f64)> {
    cells.iter().filter(|(source, destination, _)| source != destination).filter_map(|(source, destination, cell)| {
        (!cell.summary.median.is_nan()).then_some((source, destination, cell.summary.median))
    })
}

/// The centre of each class: the median over all processes of the medians of their cells.
fn centres(plan: &Plan, fabric: &mut dyn Fabric, cells: &Cells) -> Result<[f64; 2], FabricError> {
    let mut by_class = [Vec::new(), Vec::new()];
    for (source, destination, value) in measured(cells) {
        by_class[class(plan, source, destination)].push(value);
    }
    let own = by_class.map(|mut values| median(&mut values));
    let all = fabric.all_gather(&own)?;
    Ok([0, 1].map(|class| median(&mut all.iter().skip(class).step_by(2).copied().collect::<Vec<_>>())))
}

fn suspects(plan: &Plan, cells: &Cells, centres: [f64; 2]) -> Vec<Suspect> {
    measured(cells)
        .map(|(source, destination, value)| {
            let ratio = value / centres[class(plan, source, destination)];
            Suspect { source, destination, ratio }
        })
        .filter(|suspect| suspect.ratio >= SUSPICIOUS)
        .collect()
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
        for two in idle.chunks_exact(2) {
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
    let median_in =
        |cells: &Cells, (source, destination)| cells.get(source, destination).map_or(0.0, |cell| cell.summary.median);
    let mut numbers: Vec<f64> =
        directions.iter().flat_map(|direction| three.map(|cells| median_in(cells, *direction))).collect();
    fabric.sum(&mut numbers)?;
    let retests = directions.iter().zip(numbers.chunks_exact(3)).map(|(&(source, destination), three)| Retest {
        source,
        destination,
        first: three[0],
        second: three[1],
        alone: three[2],
    });
    Ok(retests.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{
        plan::{Config, Mode, Schedule},
        units::Hosts,
    };

    fn suspect(source: Rank, destination: Rank, ratio: f64) -> Suspect {
        Suspect { source, destination, ratio }
    }

    #[test]
    fn both_directions_of_a_pair_are_one_suspect() {
        let all = vec![suspect(1, 2, 1.5), suspect(2, 1, 3.0), suspect(0, 3, 2.0), suspect(4, 5, 1.2)];
        assert_eq!(worst_of(all, 2), [suspect(2, 1, 3.0), suspect(0, 3, 2.0)]);
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

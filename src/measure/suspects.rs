//! Which pairs of a length are suspicious.
//!
//! In: the cells of a length that every process has. Out: [`Suspect`]s, and the worst of many. First come pairs that failed or
//! timed out, then those that are slower than both of their hosts are to others, those that take longer than the ways to
//! hosts that are near, and pairs of hosts that are slow to everybody, by how many times. Half of the places are for pairs
//! that were suspicious by themselves at the length before as well: on a large machine some pairs are disturbed by chance at
//! every length, by more than a bad link is slow, but hardly ever the same ones twice. At most two pairs of a host, so that one
//! bad host does not take all places. No process ever sees all cells: each keeps the worst of its own, and the lists are
//! merged. Where most pairs are left out, also which of the slowest hosts have not met. Nothing is measured here.

use std::collections::HashMap;

use super::{Cells, Fabric, FabricError, cells::seen};
use crate::{
    plan::{Pair, Plan},
    record::State,
    stats::median,
    units::{Hosts, Rank},
};

/// A cell is suspicious from this many times the median of the slower of its hosts on, and a host from this many times
/// the median host on: three times the scatter of a median of 16 samples that scatter by 10 % (1.25 x 10 % / 4).
const SUSPICIOUS: f64 = 1.1;

/// Most pairs of one host that are measured again.
const OF_A_HOST: usize = 2;

/// How many nearest hosts every rank names to all others: two are to say how long a pair takes at most, and as many may have
/// a slow pair of their own.
const NEAR: usize = 4;

/// An ordered pair that is slower than it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// Row.
    pub source: Rank,
    /// Column.
    pub destination: Rank,
    /// The larger, the worse: infinite without a sample, else the median over that of the slower of its hosts, or over the
    /// longer one of the ways to hosts that are near, or, where that host is slow, over that of the median host.
    pub weight: f64,
    /// The smaller of what the pair weighs by itself and what it did at the length before; 0 where it was not suspicious
    /// there. By itself: where ways to near hosts are known, over these alone, for hosts of two leaves are far from each other.
    pub lasting: f64,
}

/// The worst suspects, at most `most` unordered pairs and two of any host: up to half of them those that last, worst
/// first, then the others, worst first. Both directions of a pair count as one, the worse.
pub fn worst_of(mut suspects: Vec<Suspect>, most: usize, hosts: &Hosts) -> Vec<Suspect> {
    let mut worst: Vec<Suspect> = Vec::new();
    let mut pairs_of_host = vec![0; hosts.count()];
    let mut take = |suspects: &[Suspect], most: usize| {
        for suspect in suspects {
            let pair = |suspect: &Suspect| Pair::of(suspect.source, suspect.destination);
            let mut ends = vec![hosts.host_of(suspect.source), hosts.host_of(suspect.destination)];
            ends.dedup();
            if worst.len() >= most {
                break;
            }
            let is_new = !worst.iter().any(|other| pair(other) == pair(suspect));
            if is_new && ends.iter().all(|host| pairs_of_host[*host] < OF_A_HOST) {
                ends.iter().for_each(|host| pairs_of_host[*host] += 1);
                worst.push(*suspect);
            }
        }
    };
    let by = |suspects: &mut [Suspect], weight: fn(&Suspect) -> f64| {
        let place = |suspect: &Suspect| (suspect.source, suspect.destination);
        suspects.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(place(a).cmp(&place(b))));
    };
    by(&mut suspects, |suspect| suspect.lasting);
    let lasting = suspects.partition_point(|suspect| suspect.lasting > 0.0);
    take(&suspects[..lasting], most.div_ceil(2));
    by(&mut suspects, |suspect| suspect.weight);
    take(&suspects, most);
    worst
}

/// The suspects of a length among a process's own cells, for the next length: what each weighs by itself.
pub(super) type Before = HashMap<(Rank, Rank), f64>;

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

/// The rank whose clock measures a cell, and the other one.
fn ends_of(cells: &Cells, source: Rank, destination: Rank) -> [Rank; 2] {
    if cells.owns_rows() { [source, destination] } else { [destination, source] }
}

/// The nearest of these ranks, one of a host, each with how far away it is, number by number; NaN where there are fewer.
fn nearest(mut ways: Vec<(Rank, f64)>, hosts: &Hosts) -> [f64; 2 * NEAR] {
    let mut near = [f64::NAN; 2 * NEAR];
    let mut known = Vec::new();
    ways.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (rank, beyond) in ways {
        let host = hosts.host_of(rank);
        if known.len() < NEAR && !known.contains(&host) {
            near[2 * known.len()] = rank as f64;
            near[2 * known.len() + 1] = beyond;
            known.push(host);
        }
    }
    near
}

/// What is usual: for each host the medians of its own cells, and for each pair what its ranks take to the ranks near it.
pub(super) struct Usual {
    /// Inside and between hosts, `[host][class]`, NaN where nothing was measured.
    of_host: Vec<[f64; 2]>,
    /// The median host.
    centre: [f64; 2],
    /// For each rank the nearest one of each of the nearest other hosts, and how far away it is ([`Usual::beyond`]), `[rank]`.
    near: Vec<Vec<(Rank, f64)>>,
}

impl Usual {
    /// Gathers the medians of all ranks' own cells. Collective.
    pub(super) fn of(plan: &Plan, fabric: &mut dyn Fabric, cells: &Cells) -> Result<Self, FabricError> {
        let owner = |source, destination| ends_of(cells, source, destination)[0];
        let mut values = vec![[Vec::new(), Vec::new()]; plan.ranks()];
        for (source, destination, value) in measured(cells) {
            values[owner(source, destination)][class(plan, source, destination)].push(value);
        }
        let medians = |rank: Rank| [0, 1].map(|class| median(&mut values[rank][class]));
        let here = seen(fabric.view(), plan.ranks());
        let own: Vec<f64> = here.clone().flat_map(medians).collect();
        let of_rank = fabric.all_gather(&own)?;
        let known = |values: &mut dyn Iterator<Item = f64>| {
            median(&mut values.filter(|value| !value.is_nan()).collect::<Vec<_>>())
        };
        let of_host: Vec<_> = (0..plan.hosts.count())
            .map(|host| {
                let ranks = plan.hosts.ranks_of(host);
                [0, 1].map(|class| known(&mut ranks.iter().map(|rank| of_rank[2 * rank + class])))
            })
            .collect();
        let centre = [0, 1].map(|class| known(&mut of_host.iter().map(|host: &[f64; 2]| host[class])));
        let mut usual = Self { of_host, centre, near: Vec::new() };
        let mut ways = vec![Vec::new(); here.len()];
        for (source, destination, value) in measured(cells).filter(|cell| class(plan, cell.0, cell.1) == 1) {
            let [me, other] = ends_of(cells, source, destination);
            ways[me - here.start].push((other, usual.beyond(plan, [me, other], value)));
        }
        let own: Vec<f64> = ways.into_iter().flat_map(|ways| nearest(ways, &plan.hosts)).collect();
        let all = fabric.all_gather(&own)?;
        let known = |numbers: &[f64]| {
            let known = numbers.as_chunks().0.iter().filter(|[rank, _]| !rank.is_nan());
            known.map(|&[rank, beyond]| (rank as Rank, beyond)).collect()
        };
        usual.near = all.chunks_exact(2 * NEAR).map(known).collect();
        Ok(usual)
    }

    /// Where most pairs are left out: pairs of the hosts that are slowest one way to most, and that do not meet, at most so
    /// many, others at the next length. Whether these hosts share what slows them shows in no other pair. Collective.
    pub(super) fn unmet(
        &self,
        plan: &Plan,
        fabric: &mut dyn Fabric,
        (index, cells): (usize, &Cells),
        most: usize,
    ) -> Result<Vec<Pair>, FabricError> {
        let (rounds, hosts) = (plan.rounds(index), &plan.hosts);
        let Some(lines) = rounds.lines() else { return Ok(Vec::new()) };
        let partner = |rank: Rank, line: usize| rounds.partner(line, rank);
        let time = |rank: Rank, line: usize| {
            let [source, destination] = ends_of(cells, rank, partner(rank, line)?);
            Some(cells.get(source, destination)?.summary.median)
        };
        let here = seen(fabric.view(), plan.ranks());
        let own = here.flat_map(|rank| (0..lines).map(move |line| (rank, line)));
        let own: Vec<f64> = own.map(|(rank, line)| time(rank, line).unwrap_or(f64::NAN)).collect();
        let times = fabric.all_gather(&own)?;
        // Whom a host meets in which line of which of its ranks.
        let met = |host: usize| {
            let ranks = hosts.ranks_of(host).iter();
            let all = ranks.flat_map(move |rank| (0..lines).map(move |line| (*rank, line)));
            all.filter_map(move |(rank, line)| Some((rank, line, partner(rank, line)?)))
                .filter(move |(_, _, other)| hosts.host_of(*other) != host)
        };
        // By how much a host is slower than the median one to most, out of it or into it.
        let slower = |host: usize| {
            let of_way = |times: &mut dyn Iterator<Item = f64>| {
                median(&mut times.filter(|time| !time.is_nan()).collect::<Vec<_>>()) / self.centre[1]
            };
            let out = of_way(&mut met(host).map(|(rank, line, _)| times[rank * lines + line]));
            out.max(of_way(&mut met(host).map(|(_, line, other)| times[other * lines + line])))
        };
        let slower = (0..hosts.count()).map(|host| (slower(host), host));
        let mut slow: Vec<(f64, usize)> = slower.filter(|(slower, _)| *slower >= SUSPICIOUS).collect();
        // Among others many are slow a little, for those they met on their way: what is at fault is slower.
        slow.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        slow.truncate(2 * most);
        let mut slow: Vec<usize> = slow.into_iter().map(|(_, host)| host).collect();
        slow.sort_unstable();
        // Each with the next one, then with the one behind that: neighbours by number are often of one leaf.
        let all = slow.len() * slow.len().saturating_sub(1) / 2;
        let two = |number: usize| {
            let (first, step) = (number % slow.len(), 1 + number / slow.len());
            (slow[first], slow[(first + step) % slow.len()])
        };
        let numbers = (0..all).map(|number| (index * most + number) % all);
        let have_met = |(a, b): &(usize, usize)| met(*a).any(|(_, _, other)| hosts.host_of(other) == *b);
        let unmet = numbers.map(two).filter(|pair| !have_met(pair)).take(most);
        Ok(unmet.map(|(a, b)| Pair::of(hosts.ranks_of(a)[0], hosts.ranks_of(b)[0])).collect())
    }

    /// How many times as long a pair of hosts takes as these hosts usually take.
    fn beyond(&self, plan: &Plan, ranks: [Rank; 2], value: f64) -> f64 {
        ranks.iter().fold(value * self.centre[1], |value, rank| value / self.of_host[plan.hosts.host_of(*rank)][1])
    }

    /// How many times as long a pair of hosts takes as it may take at most: in a tree no way is longer than the longer of
    /// the ways from both ends to a third host. Two thirds have to say so; NaN where they do not.
    fn detour(&self, plan: &Plan, cells: &Cells, [me, other]: [Rank; 2], value: f64) -> f64 {
        let hosts = &plan.hosts;
        let by_third = |&(third, beyond): &(Rank, f64)| {
            let [source, destination] = if cells.owns_rows() { [me, third] } else { [third, me] };
            let way = cells.get(source, destination)?.summary.median;
            let is_third = hosts.host_of(third) != hosts.host_of(me) && !way.is_nan();
            is_third.then(|| beyond.max(self.beyond(plan, [me, third], way)))
        };
        let mut by_thirds: Vec<f64> = self.near[other].iter().filter_map(by_third).collect();
        by_thirds.sort_by(f64::total_cmp);
        by_thirds.get(1).map_or(f64::NAN, |most| self.beyond(plan, [me, other], value) / most)
    }

    /// The suspects among the cells of this process. `before`: those of the length before, then those of this one.
    pub(super) fn suspects(&self, plan: &Plan, cells: &Cells, before: &mut Before) -> Vec<Suspect> {
        let tried = cells
            .iter()
            .filter(|(source, destination, cell)| source != destination && cell.state != State::NotScheduled);
        let mut now = Before::new();
        let suspects = tried
            .map(|(source, destination, cell)| {
                let class = class(plan, source, destination);
                let ends = [source, destination].map(|rank| self.of_host[plan.hosts.host_of(rank)][class]);
                // Other than NaN where one of them is known.
                let usual = ends[0].max(ends[1]);
                let (residual, host) = (cell.summary.median / usual, usual / self.centre[class]);
                // Of a host that is slow to most, a pair that is slow; other than NaN where one of both is known.
                let of_host = if host >= SUSPICIOUS { residual * host } else { f64::NAN };
                let ranks = ends_of(cells, source, destination);
                let detour = if class == 1 { self.detour(plan, cells, ranks, cell.summary.median) } else { f64::NAN };
                let weight = |by: f64| match cell.state {
                    State::Failed | State::TimedOut => f64::INFINITY,
                    _ if by >= SUSPICIOUS => by,
                    _ => 0.0,
                };
                let by_itself = weight(if detour.is_nan() { residual.max(of_host) } else { detour });
                if by_itself > 0.0 {
                    now.insert((source, destination), by_itself);
                }
                let lasting = before.get(&(source, destination)).map_or(0.0, |before| before.min(by_itself));
                Suspect { source, destination, weight: weight(residual.max(of_host).max(detour)), lasting }
            })
            .filter(|suspect| suspect.weight > 0.0)
            .collect();
        *before = now;
        suspects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect(source: Rank, destination: Rank, weight: f64) -> Suspect {
        Suspect { source, destination, weight, lasting: 0.0 }
    }

    fn hosts(count: usize) -> Hosts {
        Hosts::new((0..count).map(|host| format!("n{host}")))
    }

    #[test]
    fn both_directions_of_a_pair_are_one_suspect() {
        let all = vec![suspect(1, 2, 1.5), suspect(2, 1, 3.0), suspect(0, 3, 2.0), suspect(4, 5, 1.2)];
        assert_eq!(worst_of(all, 2, &hosts(6)), [suspect(2, 1, 3.0), suspect(0, 3, 2.0)]);
    }

    #[test]
    fn no_host_takes_more_than_two_places() {
        let mut all: Vec<_> = (1..9).map(|other| suspect(0, other, 9.0 + other as f64)).collect();
        all.push(suspect(3, 4, 1.2));
        assert_eq!(worst_of(all, 10, &hosts(9)), [suspect(0, 8, 17.0), suspect(0, 7, 16.0), suspect(3, 4, 1.2)]);
        // Inside a host both ranks are its own, and a pair counts once.
        let one_host = Hosts::new(["a"; 6]);
        let inside = vec![suspect(0, 1, 3.0), suspect(2, 3, 2.0), suspect(4, 5, 1.5)];
        assert_eq!(worst_of(inside.clone(), 10, &one_host), inside[..2]);
    }

    #[test]
    fn half_of_the_places_are_for_pairs_that_were_suspicious_before() {
        let lasting =
            |source, destination, weight, lasting| Suspect { lasting, ..suspect(source, destination, weight) };
        let mut all: Vec<_> = (0..4).map(|pair| suspect(2 * pair, 2 * pair + 1, 3.0 + pair as f64)).collect();
        all.extend([lasting(8, 9, 1.5, 1.4), lasting(10, 11, 1.6, 1.2), lasting(12, 13, 9.0, 1.3)]);
        let pairs = |most| worst_of(all.clone(), most, &hosts(14)).iter().map(|one| one.source).collect::<Vec<_>>();
        assert_eq!(pairs(4), [8, 12, 6, 4]);
        assert_eq!(pairs(1), [8]);
        assert_eq!(pairs(9), [8, 12, 10, 6, 4, 2, 0]);
    }
}

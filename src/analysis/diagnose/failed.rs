//! Where exchanges fail: what was tried and did not succeed is evidence, not absence.
//!
//! In: the states of all cells of a run. Out: [`Failure`]s: hosts, pairs, groups that cannot be reached, lose a share
//! of their exchanges, or damage payloads. A place is blamed by the likelihood ratio of its failures against the rate
//! elsewhere, at the price of choosing it among all places of its kind; the best is taken with what crosses it, and
//! again. What no place explains is the fabric's.

mod counts;

use super::{Agreement, Direction, Finding, Kind, Symptom, places::COINCIDENCE};
use crate::record::{BoxError, Run};
use counts::{Cells, Count, Tally, read};

/// One finding for each place. `leaf`: the group of every host, `[host]`; `error`: the probability with which chance
/// may bring one.
pub(super) fn find(run: &dyn Run, leaf: &[usize], error: f64) -> Result<Vec<Finding>, BoxError> {
    let cells = read(run)?;
    let failures = cells.iter().flatten().flat_map(|cells| cells.find(leaf, error));
    Ok(failures.map(|failure| failure.finding(run)).collect())
}

/// What is at fault.
#[derive(Clone, Debug, PartialEq)]
enum Failing {
    /// Hosts that have some way to the rest, which fails: of a leaf, of a half.
    Group(Vec<usize>),
    Host(usize),
    Link(usize, usize),
    /// No place.
    Fabric,
}

/// One finding.
#[derive(Clone, Debug)]
struct Failure {
    place: Failing,
    direction: Direction,
    symptom: Symptom,
    /// First and last length at which it shows.
    range: (usize, usize),
    /// Cells that failed, of so many that were tried at these lengths.
    failed: usize,
    of: usize,
    /// Share of the cells elsewhere that failed.
    elsewhere: f64,
    /// Probability that chance brings as much anywhere.
    p: f64,
}

impl Failure {
    fn finding(&self, run: &dyn Run) -> Finding {
        let header = run.header();
        let (kind, hosts) = match &self.place {
            Failing::Group(members) => (Kind::Group, members.clone()),
            Failing::Host(host) => (Kind::Node, vec![*host]),
            Failing::Link(from, to) => (Kind::Link, vec![*from, *to]),
            Failing::Fabric => (Kind::Fabric, Vec::new()),
        };
        Finding {
            kind,
            hosts: hosts.into_iter().map(|host| header.hosts.names()[host].clone()).collect(),
            toward: Vec::new(),
            rank: None,
            direction: self.direction,
            symptom: self.symptom,
            modes: vec![header.mode],
            lengths: (run.lengths()[self.range.0], run.lengths()[self.range.1]),
            ratio: f64::INFINITY,
            extra_seconds: f64::INFINITY,
            confidence: 1.0 - self.p,
            cells: Agreement { slow: self.failed, of: self.of },
            share: None,
            share_of_time: None,
            elsewhere: Some(self.elsewhere),
            waited: None,
            retest: None,
            curve: Vec::new(),
        }
    }
}

/// From this share of failures on nothing gets through: that one exchange does is less probable than [`COINCIDENCE`].
const SILENT: f64 = 1.0 - COINCIDENCE;

impl Cells {
    /// The places that fail.
    fn find(&self, leaf: &[usize], error: f64) -> Vec<Failure> {
        let hosts = self.hosts;
        let mut is_explained = vec![false; hosts * hosts];
        let mut found = Vec::new();
        if self.symptom == Symptom::Lossy {
            for members in self.halves() {
                let is_in: Vec<bool> = (0..hosts).map(|host| members.contains(&host)).collect();
                let crosses = |i: usize, j: usize| is_in[i] != is_in[j];
                found.push(self.failure(Failing::Group(members), Direction::Both, 0.0, &is_explained, crosses));
                mark(&mut is_explained, hosts, crosses);
            }
        }
        while hosts > 2 && found.len() < hosts {
            let Some((place, way, p)) = self.best(leaf, &is_explained, error) else { break };
            let crosses = |i: usize, j: usize| crosses(&place, way, i, j);
            found.push(self.failure(place.clone(), way, p, &is_explained, crosses));
            mark(&mut is_explained, hosts, crosses);
        }
        // What fails between ranks of one host has nothing to do with any other.
        for host in 0..hosts {
            let is_inside = |i: usize, j: usize| i == host && j == host;
            if self.failure(Failing::Host(host), Direction::Both, 0.0, &is_explained, is_inside).failed > 0 {
                let crosses = |i: usize, j: usize| i == host || j == host;
                found.push(self.failure(Failing::Host(host), Direction::Both, 0.0, &is_explained, crosses));
                mark(&mut is_explained, hosts, crosses);
            }
        }
        let fails = |i: usize, j: usize| self.counts.iter().any(|counts| counts[i * hosts + j].bad > 0);
        // Two hosts have one path, whichever of them is at fault.
        let (place, way) = match hosts {
            2 if fails(0, 1) && fails(1, 0) => (Failing::Link(0, 1), Direction::Both),
            2 if fails(0, 1) => (Failing::Link(0, 1), Direction::Send),
            2 => (Failing::Link(1, 0), Direction::Send),
            _ => (Failing::Fabric, Direction::Both),
        };
        let rest = self.failure(place.clone(), way, 0.0, &is_explained, |i, j| crosses(&place, way, i, j));
        if rest.failed > 0 {
            found.push(rest);
        }
        found
    }

    /// Sum of everything over lengths, `[host * hosts + host]`, without what is explained.
    fn sums(&self, is_explained: &[bool]) -> Vec<Tally> {
        let mut sums = vec![Tally::default(); self.hosts * self.hosts];
        for counts in &self.counts {
            sums.iter_mut().zip(counts).zip(is_explained).filter(|(_, done)| !**done).for_each(|((sum, count), _)| {
                sum.add(*count);
            });
        }
        sums
    }

    fn best(&self, leaf: &[usize], is_explained: &[bool], error: f64) -> Option<(Failing, Direction, f64)> {
        let hosts = self.hosts;
        let sums = self.sums(is_explained);
        let all = sums.iter().fold(Tally::default(), |all, one| all.plus(*one));
        if all.bad == 0.0 {
            return None;
        }
        let mut best: Option<(f64, Failing, Direction, f64)> = None;
        let mut offer = |own: Tally, price: f64, place: &dyn Fn() -> Failing, way: Direction| {
            let gain = own.gain(all.less(own)) - price;
            // Twice the logarithm of a likelihood ratio is a chi squared: its tail is below exp(-gain).
            if gain > -error.ln() && best.as_ref().is_none_or(|best| gain > best.0) {
                best = Some((gain, place(), way, (-gain).exp()));
            }
        };
        let per_host = (3.0 * hosts as f64).ln();
        for host in 0..hosts {
            let inside = sums[host * hosts + host];
            let out = (0..hosts).fold(Tally::default(), |sum, other| sum.plus(sums[host * hosts + other]));
            let into = (0..hosts).fold(Tally::default(), |sum, other| sum.plus(sums[other * hosts + host]));
            let [out, into] = [out, into].map(|sum| sum.less(inside));
            let both = out.plus(into).plus(inside);
            for (own, way) in [(both, Direction::Both), (out, Direction::Send), (into, Direction::Receive)] {
                offer(own, per_host, &|| Failing::Host(host), way);
            }
        }
        // Two ends are chosen: a pair costs twice what a host does.
        for (i, j) in (0..hosts).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let (there, back) = (sums[i * hosts + j], sums[j * hosts + i]);
            if there.bad + back.bad > 0.0 {
                offer(there.plus(back), 2.0 * per_host, &|| Failing::Link(i, j), Direction::Both);
                offer(there, 2.0 * per_host, &|| Failing::Link(i, j), Direction::Send);
                offer(back, 2.0 * per_host, &|| Failing::Link(j, i), Direction::Send);
            }
        }
        let leaves = leaf.iter().max().map_or(0, |last| last + 1);
        for own_leaf in (0..leaves).filter(|_| leaves > 1) {
            let (mut out, mut into) = (Tally::default(), Tally::default());
            for (i, j) in (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))) {
                match (leaf[i] == own_leaf, leaf[j] == own_leaf) {
                    (true, false) => out = out.plus(sums[i * hosts + j]),
                    (false, true) => into = into.plus(sums[i * hosts + j]),
                    _ => {}
                }
            }
            let members: Vec<usize> = (0..hosts).filter(|host| leaf[*host] == own_leaf).collect();
            // One host is a host, and offered above.
            if members.len() < 2 {
                continue;
            }
            for (own, way) in [(out.plus(into), Direction::Both), (out, Direction::Send), (into, Direction::Receive)] {
                offer(own, (3.0 * leaves as f64).ln(), &|| Failing::Group(members.clone()), way);
            }
        }
        best.map(|(_, place, way, p)| (place, way, p))
    }

    /// Parts of the machine that exchange nothing with each other, but the largest; parts of one host are hosts.
    fn halves(&self) -> Vec<Vec<usize>> {
        let hosts = self.hosts;
        let mut part: Vec<usize> = (0..hosts).collect();
        fn root(part: &mut [usize], mut host: usize) -> usize {
            while part[host] != host {
                part[host] = part[part[host]];
                host = part[host];
            }
            host
        }
        // At the shortest length: what fails at long ones only is something else.
        for (i, j) in (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))) {
            let is_good = |counts: &Vec<Count>| counts[i * hosts + j].tried > counts[i * hosts + j].bad;
            if i != j && self.counts.iter().any(is_good) {
                let (a, b) = (root(&mut part, i), root(&mut part, j));
                part[a] = b;
            }
        }
        let roots: Vec<usize> = (0..hosts).map(|host| root(&mut part, host)).collect();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for own in 0..hosts {
            let members: Vec<usize> = (0..hosts).filter(|host| roots[*host] == own).collect();
            // Hosts that nobody was asked to exchange anything with are in no part.
            let is_tried = |host: &usize| {
                self.counts.iter().any(|counts| (0..hosts).any(|other| counts[host * hosts + other].tried > 0))
            };
            if members.len() > 1 && members.iter().any(is_tried) {
                parts.push(members);
            }
        }
        parts.sort_by_key(|members| std::cmp::Reverse(members.len()));
        let tried_across = |members: &[usize]| {
            members.iter().any(|i| {
                (0..hosts).filter(|j| !members.contains(j)).any(|j| {
                    self.counts.iter().any(|counts| counts[i * hosts + j].bad > 0 || counts[j * hosts + i].bad > 0)
                })
            })
        };
        parts.into_iter().skip(1).filter(|members| tried_across(members)).collect()
    }

    fn failure(
        &self,
        place: Failing,
        direction: Direction,
        p: f64,
        is_explained: &[bool],
        crosses: impl Fn(usize, usize) -> bool,
    ) -> Failure {
        let hosts = self.hosts;
        let mut at: Vec<Tally> = Vec::new();
        let mut rest = Tally::default();
        for counts in &self.counts {
            let mut own = Tally::default();
            for (cell, count) in counts.iter().enumerate() {
                match crosses(cell / hosts, cell % hosts) {
                    true if !is_explained[cell] => own.add(*count),
                    true => {}
                    false => rest.add(*count),
                }
            }
            at.push(own);
        }
        let rate = |at: &Tally| at.bad / at.tried.max(1.0);
        let most = at.iter().map(rate).fold(0.0, f64::max);
        let is_shown = |length: &usize| rate(&at[*length]) > most / 3.0;
        let first = (0..at.len()).find(is_shown).unwrap_or(0);
        let last = (0..at.len()).rev().find(is_shown).unwrap_or(0);
        let own = at[first..=last].iter().fold(Tally::default(), |sum, one| sum.plus(*one));
        let symptom = match self.symptom {
            Symptom::Lossy if rate(&own) >= SILENT && place != Failing::Fabric && hosts > 1 => Symptom::Silent,
            symptom => symptom,
        };
        Failure {
            place,
            direction,
            symptom,
            range: (first, last),
            failed: own.bad as usize,
            of: own.tried as usize,
            elsewhere: rest.bad / rest.tried.max(1.0),
            p,
        }
    }
}

fn crosses(place: &Failing, way: Direction, i: usize, j: usize) -> bool {
    let ends = |first: bool, second: bool| match way {
        Direction::Both => first != second,
        Direction::Send => first && !second,
        Direction::Receive => second && !first,
    };
    match place {
        Failing::Group(members) => ends(members.contains(&i), members.contains(&j)),
        Failing::Host(host) if way == Direction::Both => i == *host || j == *host,
        Failing::Host(host) => ends(i == *host, j == *host),
        Failing::Link(a, b) => (i, j) == (*a, *b) || way == Direction::Both && (j, i) == (*a, *b),
        Failing::Fabric => true,
    }
}

fn mark(is_explained: &mut [bool], hosts: usize, crosses: impl Fn(usize, usize) -> bool) {
    for (cell, is_explained) in is_explained.iter_mut().enumerate() {
        *is_explained |= crosses(cell / hosts, cell % hosts);
    }
}

#[cfg(test)]
mod tests;

//! Where exchanges fail: what was tried and did not succeed is evidence, not absence.
//!
//! In: the states of all cells of a run. Out: [`Failure`]s: hosts, pairs, groups that cannot be reached, lose a share of
//! their exchanges, or damage payloads. A place is blamed by the likelihood ratio of its failures against the rate
//! elsewhere, at the price of choosing it among all places of its kind; the best is taken with what crosses it, and again.
//! What no place explains is the fabric's.

use super::{Agreement, Direction, Finding, Kind, Symptom};
use crate::record::{BoxError, Cell, Run, State};

/// One finding for each place. `leaf`: the group of every host, `[host]`; `error`: the probability with which chance may
/// bring one.
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

/// Counts of one ordered pair of hosts at one length; of a host with itself: of the pairs of its ranks.
#[derive(Clone, Copy, Default)]
struct Count {
    tried: u16,
    bad: u16,
}

/// What was tried and what came of it, `[length][host * hosts + host]`.
struct Cells {
    hosts: usize,
    counts: Vec<Vec<Count>>,
    symptom: Symptom,
}

/// From this share of failures on nothing gets through.
const SILENT: f64 = 0.95;

/// Cells that failed, and cells of which payloads arrived damaged; `None` where there are none of them.
fn read(run: &dyn Run) -> Result<[Option<Cells>; 2], BoxError> {
    let (hosts, ranks) = (&run.header().hosts, run.ranks());
    let count = hosts.count();
    let mut both =
        [Symptom::Lossy, Symptom::Damaged].map(|symptom| Cells { hosts: count, counts: Vec::new(), symptom });
    let mut any = [false; 2];
    let mut states = vec![State::Measured; ranks * ranks];
    for length in 0..run.lengths().len() {
        run.read_states(length, 0..ranks, &mut states)?;
        let mut damaged = states.contains(&State::Damaged);
        let mut cells: Vec<Cell> = Vec::new();
        if run.header().is_verified() {
            cells = states.iter().map(|state| Cell::missing(*state)).collect();
            run.read_further(length, 0..ranks, &mut cells)?;
            damaged |= cells.iter().any(|cell| cell.damaged > 0);
        }
        let is_bad = |number: usize, place: usize, state: State| match number {
            0 => matches!(state, State::Failed | State::TimedOut),
            _ => damaged && (state == State::Damaged || cells.get(place).is_some_and(|cell| cell.damaged > 0)),
        };
        for (number, own) in both.iter_mut().enumerate() {
            let has_any = (0..states.len()).any(|place| is_bad(number, place, states[place]));
            any[number] |= has_any;
            let mut counts = vec![Count::default(); count * count];
            for (place, state) in states.iter().enumerate().filter(|(_, state)| **state != State::NotScheduled) {
                let (from, to) = (hosts.host_of(place / ranks), hosts.host_of(place % ranks));
                if place / ranks != place % ranks {
                    let cell = &mut counts[from * count + to];
                    cell.tried = cell.tried.saturating_add(1);
                    cell.bad = cell.bad.saturating_add(u16::from(has_any && is_bad(number, place, *state)));
                }
            }
            own.counts.push(counts);
        }
    }
    let [lost, damaged] = both;
    Ok([any[0].then_some(lost), any[1].then_some(damaged)])
}

#[derive(Clone, Copy, Default)]
struct Tally {
    bad: f64,
    tried: f64,
}

impl Tally {
    fn add(&mut self, count: Count) {
        self.bad += f64::from(count.bad);
        self.tried += f64::from(count.tried);
    }

    fn less(self, other: Self) -> Self {
        Self { bad: self.bad - other.bad, tried: self.tried - other.tried }
    }

    fn plus(self, other: Self) -> Self {
        Self { bad: self.bad + other.bad, tried: self.tried + other.tried }
    }

    /// Logarithm of the likelihood ratio of its own rate against that of the rest, where it is higher.
    fn gain(self, rest: Self) -> f64 {
        // Half a failure more: a rate that was never seen is not known to be zero (Jeffreys).
        let usual = (rest.bad + 0.5) / (rest.tried + 1.0);
        let own = self.bad / self.tried.max(1.0);
        if self.bad == 0.0 || own <= usual {
            return 0.0;
        }
        let good = self.tried - self.bad;
        self.bad * (own / usual).ln() + if good > 0.0 { good * ((1.0 - own) / (1.0 - usual)).ln() } else { 0.0 }
    }
}

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
mod tests {
    use super::*;
    use crate::{
        analysis::diagnose::{Options, diagnose},
        plan::{Config, Mode, Plan, Sweep},
        record::{Cell, Header, MemoryRun, Provenance, Statistic},
        stats::Summary,
        units::{Bytes, Hosts},
    };

    /// Six hosts; `of_pair` says what came of every ordered pair at a length.
    fn run(of_pair: impl Fn(usize, usize, u64) -> State) -> MemoryRun {
        run_on(&["n0", "n1", "n2", "n3", "n4", "n5"], of_pair)
    }

    /// The same of ranks on these hosts.
    fn run_on(names: &[&str], of_pair: impl Fn(usize, usize, u64) -> State) -> MemoryRun {
        let ranks = names.len();
        let sweep = Sweep::list(&[Bytes(0), Bytes(1024)]).unwrap();
        let config = Config { modes: vec![Mode::OneToOne], sweep, ..Config::default() };
        let hosts = Hosts::new(names.iter().copied());
        let plan = Plan::all(&config, &hosts).unwrap().remove(0);
        let header = Header::of(&plan, Provenance::default());
        let mut run = MemoryRun::with_statistics(header, vec![Statistic::Median]);
        let time = |a: usize, b: usize| {
            let time = 1e-6 * (1.0 + 0.01 * ((7 * a + 3 * b) % 5) as f64);
            let summary = Summary { min: time, average: time, median: time, max: time, deviation: 0.0 };
            Cell::measured(summary, 10, State::Measured)
        };
        for length in [0, 1024] {
            let cell = |place: usize| match (place / ranks, place % ranks) {
                (a, b) if a == b => Cell::zero(),
                (a, b) if of_pair(a, b, length) == State::Damaged => {
                    Cell { state: State::Damaged, damaged: 1, ..time(a, b) }
                }
                (a, b) if of_pair(a, b, length) != State::Measured => Cell::missing(of_pair(a, b, length)),
                (a, b) => time(a, b),
            };
            run.push(Bytes(length), (0..ranks * ranks).map(cell).collect());
        }
        run
    }

    /// Kind, hosts, direction, symptom and first length of what is found.
    fn found(run: &MemoryRun) -> Vec<(Kind, String, Direction, Symptom, u64)> {
        let diagnosis = diagnose(&[run], &Options { confidence: 0.99, ..Options::default() }).unwrap();
        assert_ne!(diagnosis.verdict(), "healthy", "a pair that was tried has failed");
        let of =
            |found: Finding| (found.kind, found.hosts.join(" "), found.direction, found.symptom, found.lengths.0.0);
        diagnosis.findings.into_iter().map(of).collect()
    }

    fn failing(is_bad: impl Fn(usize, usize, u64) -> bool, state: State) -> MemoryRun {
        run(|a, b, length| if is_bad(a, b, length) { state } else { State::Measured })
    }

    fn node(direction: Direction, symptom: Symptom, from: u64) -> Vec<(Kind, String, Direction, Symptom, u64)> {
        vec![(Kind::Node, "n2".to_owned(), direction, symptom, from)]
    }

    #[test]
    fn a_host_that_answers_nobody_is_named_with_its_direction() {
        let dead = failing(|a, b, _| a == 2 || b == 2, State::TimedOut);
        assert_eq!(found(&dead), node(Direction::Both, Symptom::Silent, 0));
        let mute = failing(|a, _, _| a == 2, State::Failed);
        assert_eq!(found(&mute), node(Direction::Send, Symptom::Silent, 0));
        let deaf = failing(|_, b, _| b == 2, State::TimedOut);
        assert_eq!(found(&deaf), node(Direction::Receive, Symptom::Silent, 0));
    }

    #[test]
    fn a_host_that_is_dead_for_long_messages_is_named_from_there_on() {
        let jumbo = failing(|a, b, length| (a == 2 || b == 2) && length > 0, State::TimedOut);
        assert_eq!(found(&jumbo), node(Direction::Both, Symptom::Silent, 1024));
    }

    #[test]
    fn a_host_that_loses_some_of_its_exchanges_is_lossy() {
        let flaps = failing(|a, b, _| (a == 2 || b == 2) && (a + b) % 2 == 1, State::Failed);
        assert_eq!(found(&flaps), node(Direction::Both, Symptom::Lossy, 0));
    }

    #[test]
    fn a_pair_that_is_cut_off_is_a_link_and_two_halves_are_a_group() {
        let cut = failing(|a, b, _| (a, b) == (2, 5) || (a, b) == (5, 2), State::TimedOut);
        let [(Kind::Link, hosts, Direction::Both, Symptom::Silent, 0)] = &found(&cut)[..] else {
            panic!("{:?}", found(&cut))
        };
        assert!(hosts == "n2 n5" || hosts == "n5 n2", "{hosts}");
        let halves = failing(|a, b, _| (a < 3) != (b < 3), State::TimedOut);
        let all = found(&halves);
        assert!(all.iter().any(|one| one.0 == Kind::Group && one.3 == Symptom::Silent), "{all:?}");
    }

    #[test]
    fn damage_is_a_finding_of_its_own() {
        let damaged = run(|a, _, _| if a == 2 { State::Damaged } else { State::Measured });
        assert_eq!(found(&damaged), node(Direction::Send, Symptom::Damaged, 0));
        let both = run(|a, b, _| match (a, b) {
            (2, 0..2) => State::Failed,
            (2, _) | (_, 2) => State::Damaged,
            _ => State::Measured,
        });
        let symptoms: Vec<_> = found(&both).iter().filter(|one| one.1 == "n2").map(|one| one.3).collect();
        assert!(symptoms.contains(&Symptom::Damaged) && symptoms.contains(&Symptom::Lossy), "{symptoms:?}");
    }

    #[test]
    fn few_hosts_are_judged_by_what_fails() {
        let bad = |is_bad: bool, state| if is_bad { state } else { State::Measured };
        let two = run_on(&["n0", "n1"], |a, _, _| bad(a == 0, State::TimedOut));
        assert_eq!(found(&two), [(Kind::Link, "n0 n1".to_owned(), Direction::Send, Symptom::Silent, 0)]);
        let three = run_on(&["n0", "n1", "n2"], |a, b, _| bad(a == 2 || b == 2, State::Damaged));
        assert_eq!(found(&three), node(Direction::Both, Symptom::Damaged, 0));
        let few = run_on(&["n0", "n1", "n2"], |_, _, _| State::Measured);
        let diagnosis = diagnose(&[&few], &Options { confidence: 0.99, ..Options::default() }).unwrap();
        assert_eq!(diagnosis.verdict(), "invalid");
    }

    #[test]
    fn what_fails_between_ranks_of_a_host_is_that_hosts() {
        let names: Vec<_> = ["n0", "n1", "n2", "n3", "n4"].into_iter().flat_map(|name| [name, name]).collect();
        let bad = |a: usize, b: usize, _| if (a, b) == (4, 5) { State::Damaged } else { State::Measured };
        assert_eq!(found(&run_on(&names, bad)), node(Direction::Both, Symptom::Damaged, 0));
        let alone = run_on(&["n2", "n2"], |_, _, length| if length > 0 { State::Damaged } else { State::Measured });
        assert_eq!(found(&alone), node(Direction::Both, Symptom::Damaged, 1024));
    }

    #[test]
    fn what_was_not_asked_for_is_no_finding() {
        let absent = run(|a, b, _| if a == 2 || b == 2 { State::NotScheduled } else { State::Measured });
        let diagnosis = diagnose(&[&absent], &Options { confidence: 0.99, ..Options::default() }).unwrap();
        assert!(diagnosis.findings.is_empty(), "{:?}", diagnosis.findings);
    }
}

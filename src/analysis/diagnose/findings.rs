//! What a finding is, its symptom, and the order of several.
//!
//! In: findings of runs. Out: [`Finding`]s in order, those of several modes together.

use std::cmp::Ordering;

use super::{Direction, Kind, Symptom};
use crate::{
    plan::Mode,
    stats::median,
    units::{Bytes, Rank, hostlist},
};

/// What pairs that were measured again say about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetestVerdict {
    /// As slow when measured alone: a fault on this path.
    Confirmed,
    /// Usual when measured alone, slow among others: contention or routing.
    Contention,
    /// Usual when measured again.
    Transient,
}

impl RetestVerdict {
    /// Name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Contention => "contention",
            Self::Transient => "transient",
        }
    }
}

/// How many of the cells that should be slow are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Ordered pairs that are slow over its lengths by at least half of the finding's size, or, where that was confirmed and
    /// is less, of what it takes alone.
    pub slow: usize,
    /// All that were measured.
    pub of: usize,
}

/// A finding at one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtLength {
    /// The message length.
    pub length: Bytes,
    /// How many times as long it takes.
    pub ratio: f64,
    /// The usual time, seconds.
    pub usual_seconds: f64,
    /// What it takes more, seconds.
    pub extra_seconds: f64,
    /// Whether the finding is about this length.
    pub is_meant: bool,
}

/// A diagnosed fault.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is slow.
    pub kind: Kind,
    /// Names: one host; source and destination of a link; members of a group; of both sets of a way between two. In the
    /// order of their numbers, but for source and destination.
    pub hosts: Vec<String>,
    /// Of a way between two sets: those of the second one.
    pub toward: Vec<String>,
    /// Of [`Kind::Rank`]: which.
    pub rank: Option<Rank>,
    /// Which way.
    pub direction: Direction,
    /// How.
    pub symptom: Symptom,
    /// The modes in which it shows.
    pub modes: Vec<Mode>,
    /// First and last length at which it shows.
    pub lengths: (Bytes, Bytes),
    /// How many times as long it takes there, the middle; of jitter: how many times as far samples scatter.
    pub ratio: f64,
    /// The largest extra time at one of these lengths, seconds; of jitter: the largest usual deviation's excess.
    pub extra_seconds: f64,
    /// Probability that a healthy run has nothing like this anywhere.
    pub confidence: f64,
    /// Cells that agree.
    pub cells: Agreement,
    /// Of what is slow with some partners or on some routes only: the share of them.
    pub share: Option<f64>,
    /// Of what is slow for a part of the time only: the share of it.
    pub share_of_time: Option<f64>,
    /// Of exchanges that fail or damage payloads: the share of them elsewhere.
    pub elsewhere: Option<f64>,
    /// Of hosts for which ranks waited in vain: who did, and where it stands.
    pub waited: Option<Waited>,
    /// What pairs that were measured again say; `None` where there are none of them.
    pub retest: Option<RetestVerdict>,
    /// At every length.
    pub curve: Vec<AtLength>,
}

impl Finding {
    /// Brings the names of hosts into the order of their numbers: that of ranks says nothing to a reader.
    pub(super) fn sort_names(&mut self) {
        if !self.kind.is_of_pair() {
            hostlist::sort(&mut self.hosts);
            hostlist::sort(&mut self.toward);
        }
    }
}

/// What a finding shows in a run, of no place as yet.
pub(super) struct Shown<'a> {
    pub mode: Mode,
    /// `[length]`.
    pub lengths: &'a [Bytes],
    /// What is usual, seconds, `[length]`.
    pub level: &'a [f64],
    /// How slow it is at every length, `ln(ratio)`, `[length]`.
    pub effects: &'a [f64],
    /// The same over its range.
    pub effect: f64,
    /// First and last length of its range, by number.
    pub range: (usize, usize),
    pub direction: Direction,
    /// Logarithm of the probability that a healthy run has such a thing anywhere.
    pub log: f64,
}

impl Shown<'_> {
    /// A finding of this kind about `hosts`, with the cells that agree.
    pub fn finding(&self, kind: Kind, hosts: Vec<String>, cells: Agreement) -> Finding {
        let (first, last) = self.range;
        let at = |index: usize| {
            let (ratio, usual_seconds) = (self.effects[index].exp(), self.level[index]);
            let extra_seconds = (ratio - 1.0) * usual_seconds;
            let is_meant = (first..=last).contains(&index);
            AtLength { length: self.lengths[index], ratio, usual_seconds, extra_seconds, is_meant }
        };
        let curve: Vec<AtLength> = (0..self.effects.len()).map(at).collect();
        Finding {
            kind,
            hosts,
            toward: Vec::new(),
            rank: None,
            direction: self.direction,
            symptom: symptom_of(&curve, self.range),
            modes: vec![self.mode],
            lengths: (self.lengths[first], self.lengths[last]),
            ratio: self.effect.exp(),
            extra_seconds: curve[first..=last].iter().map(|at| at.extra_seconds).fold(f64::NAN, f64::max),
            confidence: 1.0 - self.log.exp(),
            cells,
            share: None,
            share_of_time: None,
            elsewhere: None,
            waited: None,
            retest: None,
            curve,
        }
    }
}

impl Finding {
    /// At the shortest length and at the longest; `None` of what has no times.
    pub fn ends(&self) -> Option<[&AtLength; 2]> {
        Some([self.curve.first()?, self.curve.last()?])
    }

    /// Whether it is of hosts of a broadcast of which one makes the others late.
    pub fn is_of_broadcast(&self) -> bool {
        self.kind == Kind::Fabric && !self.hosts.is_empty() && self.modes == [Mode::Bcast]
    }
}

/// Ranks that waited in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// How many.
    pub ranks: usize,
    /// The file that says so.
    pub file: String,
}

/// Length up to which a single length says more about latency than about bandwidth.
const SHORT: Bytes = Bytes(8 * 1024);

/// A constant extra time is latency; one that grows with the length is bandwidth.
pub(in crate::analysis) fn symptom(meant: &[AtLength]) -> Symptom {
    let (Some(first), Some(last)) = (meant.first(), meant.last()) else { return Symptom::Latency };
    if meant.len() == 1 {
        return if first.length <= SHORT { Symptom::Latency } else { Symptom::Bandwidth };
    }
    // Neighbouring lengths differ by little, and so does what grows with them.
    let longer = last.length.0 as f64 / (first.length.0 as f64).max(1.0);
    let grows = last.extra_seconds > longer.sqrt().min(2.0) * first.extra_seconds;
    if grows { Symptom::Bandwidth } else { Symptom::Latency }
}

/// The same of a range of a whole curve, whose longer lengths speak of it too.
fn symptom_of(curve: &[AtLength], (first, last): (usize, usize)) -> Symptom {
    if fades(curve, first, last) { Symptom::Latency } else { symptom(&curve[first..=last]) }
}

/// Whether the ratio fades away as messages grow longer, up to the longest that was measured, as no lack of bandwidth
/// does: a latency that long messages pay several times, because they ask first, grows with the length as well.
fn fades(curve: &[AtLength], first: usize, last: usize) -> bool {
    let effect = |at: &AtLength| at.ratio.ln();
    let longest = curve.last().map_or(f64::NAN, effect);
    first < last && curve[first].length <= SHORT && longest < effect(&curve[first]) / 2.0
}

/// Brings findings into the order of their weight, and puts those that several modes agree on together: with the size
/// of the largest, unless two modes say together what one says alone. `modes`: in the order of the runs.
pub(super) fn order(findings: &mut Vec<Finding>, modes: &[Mode]) {
    let is_of_two = |finding: &Finding| matches!(finding.symptom, Symptom::Duplex | Symptom::Noise);
    // What else is wrong with a place neither explains these nor is explained by them.
    let apart = |symptom| Some(symptom).filter(|symptom| matches!(symptom, Symptom::Jitter | Symptom::Damaged));
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings.drain(..) {
        let is_same = |other: &&mut Finding| {
            (other.kind, other.rank, &other.hosts, &other.toward, apart(other.symptom))
                == (finding.kind, finding.rank, &finding.hosts, &finding.toward, apart(finding.symptom))
        };
        match merged.iter_mut().find(is_same) {
            None => merged.push(finding),
            Some(other) => {
                let of_both = [other.modes.clone(), finding.modes.clone()].concat();
                if let Some(both) = both_ways(other, &finding) {
                    *other = both;
                } else if (is_of_two(&finding), finding.ratio) > (is_of_two(other), other.ratio) {
                    *other = finding;
                }
                other.modes = modes.iter().copied().filter(|mode| of_both.contains(mode)).collect();
            }
        }
    }
    merged.sort_by(|a, b| by_weight((a.kind, a.cells, a.ratio), (b.kind, b.cells, b.ratio)));
    *findings = merged;
}

/// The two ways of a place, each of which was found by itself in one run. Twice as slow one way, or more: that way, unless
/// both are slow alone, where messages that meet others say nothing of size.
fn both_ways(a: &Finding, b: &Finding) -> Option<Finding> {
    let are_ways = a.direction != Direction::Both && a.direction == b.direction.reversed();
    let is_slow = matches!(a.symptom, Symptom::Latency | Symptom::Bandwidth);
    if !are_ways || !is_slow || (a.symptom, &a.modes) != (b.symptom, &b.modes) {
        return None;
    }
    let are_confirmed = [a, b].iter().all(|own| own.retest == Some(RetestVerdict::Confirmed));
    let [less, more] = [a.ratio.min(b.ratio), a.ratio.max(b.ratio)].map(f64::ln);
    let both = joined(&[a.clone(), b.clone()]).filter(|_| are_confirmed || less >= more / 2.0)?;
    Some(Finding { direction: Direction::Both, rank: a.rank, ..both })
}

/// Which of two findings comes first: links last, else by how many pairs are affected, times how much.
pub(in crate::analysis) fn by_weight(a: (Kind, Agreement, f64), b: (Kind, Agreement, f64)) -> Ordering {
    let weight = |(_, cells, ratio): (Kind, Agreement, f64)| cells.of.max(1) as f64 * ratio.ln().abs();
    (a.0 == Kind::Link).cmp(&(b.0 == Kind::Link)).then(weight(b).total_cmp(&weight(a)))
}

/// The size that several findings have together; what else they say is that of the largest.
pub(super) fn joined(findings: &[Finding]) -> Option<Finding> {
    let most = findings.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    let mut ratios: Vec<f64> = findings.iter().map(|finding| finding.ratio).collect();
    let cells = Agreement {
        slow: findings.iter().map(|finding| finding.cells.slow).sum(),
        of: findings.iter().map(|finding| finding.cells.of).sum(),
    };
    let retest = findings.iter().find_map(|finding| finding.retest);
    let first = findings.iter().map(|finding| finding.lengths.0).min()?;
    let last = findings.iter().map(|finding| finding.lengths.1).max()?;
    let at = |number: usize| {
        let own = &most.curve[number];
        let curves = findings.iter().map(|finding| &finding.curve[number]);
        let slowest = curves.max_by(|a, b| a.ratio.total_cmp(&b.ratio)).unwrap_or(own);
        AtLength { is_meant: (first..=last).contains(&own.length), ..*slowest }
    };
    let curve = (0..most.curve.len()).map(at).collect();
    let ratio = median(&mut ratios);
    Some(Finding { rank: None, ratio, cells, retest, lengths: (first, last), curve, ..most.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(length: u64, extra_seconds: f64) -> AtLength {
        AtLength { length: Bytes(length), ratio: 1.5, usual_seconds: 1e-6, extra_seconds, is_meant: true }
    }

    fn of(kind: Kind, host: &str, symptom: Symptom, mode: Mode, ratio: f64) -> Finding {
        Finding {
            kind,
            hosts: vec![host.to_owned()],
            toward: Vec::new(),
            rank: None,
            direction: Direction::Both,
            symptom,
            modes: vec![mode],
            lengths: (Bytes(0), Bytes(64)),
            ratio,
            extra_seconds: 1e-6,
            confidence: 0.999,
            cells: Agreement { slow: 10, of: 10 },
            share: None,
            share_of_time: None,
            elsewhere: None,
            waited: None,
            retest: None,
            curve: vec![],
        }
    }

    #[test]
    fn time_that_grows_with_the_length_is_bandwidth() {
        assert_eq!(symptom(&[at(0, 1e-6), at(64, 1e-6), at(1 << 20, 1.9e-6)]), Symptom::Latency);
        assert_eq!(symptom(&[at(0, 1e-6), at(64, 1e-6), at(1 << 20, 2.1e-6)]), Symptom::Bandwidth);
        // As a slow cable shows it at neighbouring lengths: 1.76 times as much at twice the length.
        assert_eq!(symptom(&[at(256 << 10, 18.3e-3), at(512 << 10, 32.1e-3)]), Symptom::Bandwidth);
        assert_eq!(symptom(&[at(256 << 10, 18.3e-3), at(512 << 10, 19.1e-3)]), Symptom::Latency);
        assert_eq!(symptom(&[at(8192, 1e-6)]), Symptom::Latency);
        assert_eq!(symptom(&[at(8193, 1e-6)]), Symptom::Bandwidth);
        assert_eq!(symptom(&[]), Symptom::Latency);
    }

    #[test]
    fn what_fades_as_messages_grow_is_no_lack_of_bandwidth() {
        let curve = |ratios: [f64; 4]| -> Vec<AtLength> {
            let lengths = [0, 4096, 1 << 16, 1 << 20];
            lengths.into_iter().zip(ratios).map(|(length, ratio)| AtLength { ratio, ..at(length, 1e-6) }).collect()
        };
        assert!(fades(&curve([5.7, 5.3, 4.7, 1.8]), 0, 2));
        // A rate that is lost slows the longest messages most, a slow host all of them.
        assert!(!fades(&curve([1.0, 1.1, 1.2, 1.8]), 2, 3));
        assert!(!fades(&curve([1.3, 1.3, 1.3, 1.3]), 0, 3));
        // Nor is anything said of a single length, or of long ones alone.
        assert!(!fades(&curve([5.7, 1.0, 1.0, 1.0]), 0, 0));
        assert!(!fades(&curve([1.0, 1.0, 2.0, 1.1]), 2, 3));
        assert!(!fades(&curve([2.0, 2.0, 2.0, f64::NAN]), 0, 2));
    }

    #[test]
    fn modes_that_agree_are_one_finding_in_the_order_of_the_runs() {
        let modes = [Mode::OneToOne, Mode::AsyncOneToOne, Mode::Noise];
        let merged = |mut findings: Vec<Finding>| {
            order(&mut findings, &modes);
            findings
                .into_iter()
                .map(|found| (found.hosts[0].clone(), found.symptom, found.modes, found.ratio))
                .collect::<Vec<_>>()
        };
        let node = |symptom, mode, ratio| of(Kind::Node, "a", symptom, mode, ratio);
        // The size of the largest.
        assert_eq!(
            merged(vec![node(Symptom::Latency, Mode::Noise, 1.5), node(Symptom::Bandwidth, Mode::OneToOne, 2.0)]),
            [("a".to_owned(), Symptom::Bandwidth, vec![Mode::OneToOne, Mode::Noise], 2.0)]
        );
        // What two modes say together stays, whichever comes first.
        let [plain, duplex] =
            [node(Symptom::Bandwidth, Mode::Noise, 2.0), node(Symptom::Duplex, Mode::AsyncOneToOne, 1.5)];
        for both in [vec![plain.clone(), duplex.clone()], vec![duplex, plain.clone()]] {
            let expected = ("a".to_owned(), Symptom::Duplex, vec![Mode::AsyncOneToOne, Mode::Noise], 1.5);
            assert_eq!(merged(both), [expected]);
        }
        // Scatter is something else, and so is another host.
        let jitter = node(Symptom::Jitter, Mode::OneToOne, 3.0);
        let other = of(Kind::Node, "b", Symptom::Bandwidth, Mode::OneToOne, 1.1);
        assert_eq!(merged(vec![jitter, plain, other]).len(), 3);
    }

    #[test]
    fn a_place_that_was_found_each_way_by_itself_is_slow_both_ways() {
        let way = |direction, ratio, retest| Finding {
            direction,
            retest,
            rank: Some(3),
            ..of(Kind::Rank, "a", Symptom::Bandwidth, Mode::OneToOne, ratio)
        };
        let confirmed = Some(RetestVerdict::Confirmed);
        let merged = |ratio: f64, retest| {
            let mut findings = vec![way(Direction::Receive, 3.0, confirmed), way(Direction::Send, ratio, retest)];
            order(&mut findings, &[Mode::OneToOne]);
            findings.iter().map(|own| (own.direction, own.rank, own.cells.of)).collect::<Vec<_>>()
        };
        assert_eq!(merged(2.0, None), [(Direction::Both, Some(3), 20)]);
        assert_eq!(merged(1.5, confirmed), [(Direction::Both, Some(3), 20)]);
        assert_eq!(merged(1.5, None), [(Direction::Receive, Some(3), 10)]);
    }

    #[test]
    fn what_slows_more_comes_first_and_links_come_last() {
        let mut findings = vec![
            of(Kind::Link, "link", Symptom::Latency, Mode::Put, 9.0),
            of(Kind::Node, "little", Symptom::Latency, Mode::Put, 1.1),
            of(Kind::Group, "much", Symptom::Latency, Mode::Put, 1.5),
        ];
        // As large, but of more pairs.
        findings.push(Finding {
            cells: Agreement { slow: 30, of: 30 },
            ..of(Kind::Node, "many", Symptom::Latency, Mode::Put, 1.5)
        });
        order(&mut findings, &[Mode::Put]);
        let names: Vec<&str> = findings.iter().map(|found| &*found.hosts[0]).collect();
        assert_eq!(names, ["many", "much", "little", "link"]);
    }
}

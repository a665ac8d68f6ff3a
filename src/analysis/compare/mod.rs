//! What changed between two runs.
//!
//! In: two runs of one mode. Out: a [`Comparison`]: hosts, groups, pairs and the whole fabric that became slower or faster,
//! hosts that came, went or moved. Hosts are joined by name, whatever their ranks; lengths by size. What a run is slow in
//! on both days is no change: only the difference, `ln(new / base)` of every pair of hosts, is taken apart, in the way in
//! which [`super::diagnose`] takes a run apart. What all pairs share comes first ([`shifts`]), then hosts and pairs.
//!
//! A change counts if it exceeds the threshold and the noise: with the probability `confidence`, two runs of a healthy
//! machine differ in nothing.

mod changes;
mod classes;
mod difference;
mod join;
mod moved;
mod shifts;

pub use classes::{ClassChange, LEVELS};
pub use join::JoinedLength;

use crate::{
    analysis::diagnose::{
        Direction, Kind,
        accuse::{self, Floors, Judgement},
        evidence,
        folded::Folded,
        model::Fit,
    },
    plan::Mode,
    record::{BoxError, Run, Statistic},
    units::Bytes,
};
use changes::{Describer, Found};
use classes::InsideHosts;
use difference::Difference;
use join::{Joined, count_of_hosts};
use shifts::{Shift, Shifts};

/// What counts as a change.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Statistic of every pair, in seconds.
    pub statistic: Statistic,
    /// Least change, as a share: 0.05 is 5 %.
    pub threshold: f64,
    /// Probability with which two runs of a healthy machine differ in nothing.
    pub confidence: f64,
}

/// Why two runs are not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// They measured different things; says what to do.
    #[error("{0}")]
    Incompatible(String),
    /// One of them cannot be read.
    #[error(transparent)]
    Read(#[from] BoxError),
}

/// Which pairs changed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// All pairs of hosts.
    All,
    /// Hosts of one group.
    InsideGroups,
    /// Hosts of different groups.
    BetweenGroups,
    /// Ranks of one host.
    InsideHosts,
}

impl Pairs {
    /// Whether pairs of hosts in the same group are meant, or in different ones.
    fn contains(self, is_same_group: bool) -> bool {
        match self {
            Self::All => true,
            Self::InsideGroups => is_same_group,
            Self::BetweenGroups => !is_same_group,
            Self::InsideHosts => false,
        }
    }
}

/// Who or what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A host.
    Host,
    /// A host of which no exchange succeeds any more.
    Silent,
    /// The path between two hosts.
    Link,
    /// Several hosts' common way to all others.
    Group,
    /// Many pairs alike.
    Pairs(Pairs),
}

/// What became slower, or faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// Every message, by about the same time.
    Latency,
    /// By a time that grows with the length.
    Bandwidth,
    /// The scatter of times.
    Jitter,
}

/// One finding: what changed, by how much, and how sure that is.
#[derive(Clone, Debug)]
pub struct Change {
    /// Who or what.
    pub subject: Subject,
    /// Names: one host; source and destination; members of a group; none for many pairs alike.
    pub hosts: Vec<String>,
    /// Which way.
    pub direction: Direction,
    /// Else it is faster.
    pub is_slower: bool,
    /// What part of the time; `None` where that cannot be told.
    pub symptom: Option<Symptom>,
    /// First and last length, bytes in the base run.
    pub lengths: (Bytes, Bytes),
    /// New time in units of the base run's; infinite for a host that is silent.
    pub ratio: f64,
    /// New time minus base time at the last of the lengths, seconds, for the middle one of the pairs that are meant.
    pub extra_seconds: f64,
    /// 1 minus the probability that two healthy runs differ like this somewhere.
    pub confidence: f64,
    /// Ordered pairs of hosts that changed by more than noise, and all that are meant; hosts for pairs inside hosts.
    pub cells: (usize, usize),
}

/// What all pairs have in common at one length.
#[derive(Clone, Debug)]
pub struct FabricChange {
    /// In both runs.
    pub length: JoinedLength,
    /// Median over pairs of hosts, seconds.
    pub base_seconds: f64,
    /// Median over pairs of hosts, seconds.
    pub new_seconds: f64,
    /// Median of the pairs' ratios, new in units of base, without what a group's way explains.
    pub ratio: f64,
    /// Ratios of parts of the pairs, where both runs have them.
    pub parts: Vec<(Pairs, f64)>,
    /// Whether the change of all pairs, or of a part, is more than noise and more than the threshold.
    pub is_significant: bool,
}

/// A host that is near others than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its name.
    pub host: String,
    /// Its group in the base run, without itself.
    pub from: Vec<String>,
    /// Its group in the new run, without itself.
    pub to: Vec<String>,
}

/// The answer in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing differs by more than the threshold and noise.
    Unchanged,
    /// Something became slower.
    Regression,
    /// Something became faster, nothing slower.
    Improvement,
    /// Too few hosts or pairs are in both runs.
    Incomparable,
}

/// What changed between two runs.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Mode of both.
    pub mode: Mode,
    /// What was asked for.
    pub settings: Settings,
    /// The answer in a word.
    pub verdict: Verdict,
    /// Lengths that both runs have, ascending.
    pub lengths: Vec<JoinedLength>,
    /// Hosts of both runs, in the order of the base run.
    pub shared: Vec<String>,
    /// Hosts of the new run only.
    pub new_hosts: Vec<String>,
    /// Hosts of the base run only.
    pub lost_hosts: Vec<String>,
    /// Hosts that are near others than they were.
    pub moved: Vec<Moved>,
    /// `[length]`; empty where the runs are incomparable.
    pub fabric: Vec<FabricChange>,
    /// What became slower by weight, then what became faster.
    pub findings: Vec<Change>,
    /// Classes of pairs, where single hosts cannot be compared; else empty.
    pub classes: Vec<ClassChange>,
    /// What a reader should know.
    pub notices: Vec<String>,
}

/// Hosts from which on single ones can be told apart.
const LEAST_HOSTS: usize = 4;

/// Pairs of a host, in both runs, from which on it can be judged.
const LEAST_PAIRS: f64 = 3.0;

/// Compares two runs; fails where they measured different things.
pub fn compare(base: &dyn Run, new: &dyn Run, settings: Settings) -> Result<Comparison, CompareError> {
    let mut joined = Joined::of(base, new)?;
    let mut notices = std::mem::take(&mut joined.notices);
    let difference = match joined.shared.len() {
        0..LEAST_HOSTS => {
            let shared = match joined.shared.len() {
                0 => "no host".to_owned(),
                _ => format!("only {}", count_of_hosts(&joined.shared)),
            };
            notices.push(format!(
                "the runs share {shared}: single hosts cannot be compared, only how pairs of each class are distributed"
            ));
            None
        }
        _ => Some(Difference::of(base, new, settings.statistic, &joined)?),
    };
    let difference = difference.filter(|difference| {
        let is_enough = difference.usual_pairs() >= LEAST_PAIRS;
        if !is_enough {
            notices.push(
                "the runs measured different pairs: too few are in both for single hosts to be compared, only how pairs of \
                 each class are distributed"
                    .to_owned(),
            );
        }
        is_enough
    });
    let mut comparison = Comparison {
        mode: base.header().mode,
        settings,
        verdict: Verdict::Incomparable,
        lengths: joined.lengths.clone(),
        shared: joined.shared.clone(),
        new_hosts: joined.new.clone(),
        lost_hosts: joined.lost.clone(),
        moved: Vec::new(),
        fabric: Vec::new(),
        findings: Vec::new(),
        classes: Vec::new(),
        notices,
    };
    match difference {
        None => comparison.classes = classes::compare(base, new, settings.statistic, &joined)?,
        Some(difference) => Comparing { base, new, joined: &joined, settings, difference }.fill(&mut comparison)?,
    }
    Ok(comparison)
}

/// Two runs whose hosts can be compared.
struct Comparing<'a> {
    base: &'a dyn Run,
    new: &'a dyn Run,
    joined: &'a Joined,
    settings: Settings,
    difference: Difference,
}

impl Comparing<'_> {
    fn fill(mut self, comparison: &mut Comparison) -> Result<(), CompareError> {
        let silent = self.silent()?;
        let lost = self.difference.lost_pairs();
        if lost > 0 {
            let times = if lost == 1 { "1 pair" } else { &*format!("{lost} pairs") };
            comparison.notices.push(format!(
                "{times} of hosts (lengths counted apart) {} measured in the base run and missing in the new one",
                if lost == 1 { "was" } else { "were" }
            ));
        }
        let group = Fit::of(self.difference.base.clone(), None).group;
        let new_group = Fit::of(self.difference.new.clone(), None).group;
        let moves = moved::find(&group, &new_group, &self.difference.change);
        // What is near others than it was became slower toward some and faster toward others: that is told already.
        moved::mask(&mut self.difference.change, &moves.iter().map(|found| found.host).collect::<Vec<_>>());
        let names = |hosts: &[usize]| hosts.iter().map(|host| self.joined.shared[*host].clone()).collect::<Vec<_>>();
        comparison.moved = moves
            .iter()
            .map(|found| Moved {
                host: self.joined.shared[found.host].clone(),
                from: names(&found.from),
                to: names(&found.to),
            })
            .collect();
        let inside = InsideHosts::of(self.base, self.new, self.settings.statistic, self.joined)?;
        let mut rest = self.difference.change.clone();
        let shifts = Shifts::take(&mut rest, &group, self.share(), self.floor());
        let judgements = self.judge(&rest);
        let describer = Describer {
            fit: &judgements[0].1.fit,
            base: &self.difference.base,
            change: &self.difference.change,
            rest: &rest,
            shift: shifts.all.iter().map(|shift| shift.value).collect(),
            group: &group,
            statistic: self.settings.statistic,
        };
        let of_pairs = self.of_pairs(&shifts, &describer);
        comparison.fabric = self.fabric(&shifts, inside.as_ref(), &of_pairs);
        let mut findings: Vec<Change> =
            silent.iter().map(|host| changes::silent(&self.difference.base, *host)).collect();
        findings.extend(of_pairs);
        findings.extend(inside.iter().flat_map(|inside| self.of_inside(inside)));
        findings.extend(self.of_hosts(&shifts, &judgements, &describer));
        // The sort is stable: what explains more stays first.
        findings.sort_by_key(|change| !change.is_slower);
        comparison.verdict = match findings.first() {
            None => Verdict::Unchanged,
            Some(change) if change.is_slower => Verdict::Regression,
            Some(_) => Verdict::Improvement,
        };
        comparison.findings = findings;
        Ok(())
    }

    /// The probability that one of the four parts of the search errs in nothing.
    fn share(&self) -> f64 {
        1.0 - (1.0 - self.settings.confidence) / 4.0
    }

    /// Least `ln(ratio)`.
    fn floor(&self) -> f64 {
        self.settings.threshold.ln_1p()
    }

    /// Hosts of which no exchange succeeds any more.
    fn silent(&self) -> Result<Vec<usize>, BoxError> {
        let mut silent = Vec::new();
        for host in self.difference.silent() {
            if difference::has_failed(self.new, self.joined.in_new[host])? {
                silent.push(host);
            }
        }
        Ok(silent)
    }

    /// Where a common change is more than noise: `ln(ratio)`, the range of lengths, and the doubt.
    fn ranges(&self, series: &[Shift], hosts: usize) -> Vec<(f64, (usize, usize), f64)> {
        let threshold = evidence::threshold(self.share(), hosts, series.len());
        let is_same = |length: usize| self.joined.lengths[length].is_same();
        let mut found = Vec::new();
        for sign in [1.0, -1.0] {
            // At lengths that are only near each other times differ for no fault of anybody.
            let value = |(length, shift): (usize, &Shift)| Shift {
                value: if is_same(length) { sign * shift.value } else { f64::NAN },
                ..*shift
            };
            let series: Vec<Shift> = series.iter().enumerate().map(value).collect();
            for range in shifts::ranges(&shifts::with_run_to_run(&series), threshold, self.floor()) {
                let doubt = evidence::doubt(range.score, hosts, series.len());
                found.push((sign * range.effect, (range.first, range.last), doubt));
            }
        }
        found
    }

    /// The whole fabric, or pairs inside and between groups where they changed by different amounts.
    fn of_pairs(&self, shifts: &Shifts, describer: &Describer) -> Vec<Change> {
        let hosts = self.joined.shared.len();
        let is_split = shifts.contrast.as_ref().is_some_and(|contrast| !self.ranges(contrast, hosts).is_empty());
        let parts: Vec<(Pairs, &[Shift])> = match (&shifts.inside, &shifts.between) {
            (Some(inside), Some(between)) if is_split => {
                vec![(Pairs::InsideGroups, inside), (Pairs::BetweenGroups, between)]
            }
            _ => vec![(Pairs::All, &shifts.all)],
        };
        let describe = |pairs: Pairs, (effect, range, doubt): (f64, (usize, usize), f64)| {
            let direction = Direction::Both;
            describer.describe(&Found { subject: Subject::Pairs(pairs), hosts: &[], direction, effect, range, doubt })
        };
        let of_part = |(pairs, series): &(Pairs, &[Shift])| {
            let found = self.ranges(series, hosts);
            found.into_iter().map(|found| describe(*pairs, found)).collect::<Vec<_>>()
        };
        parts.iter().flat_map(of_part).collect()
    }

    /// Pairs inside hosts.
    fn of_inside(&self, inside: &InsideHosts) -> Vec<Change> {
        let lengths = &self.difference.change.lengths;
        let describe = |(effect, range, doubt): (f64, (usize, usize), f64)| {
            let at = |length: usize| effect.signum() * inside.shift[length].value;
            Change {
                subject: Subject::Pairs(Pairs::InsideHosts),
                hosts: Vec::new(),
                direction: Direction::Both,
                is_slower: effect > 0.0,
                symptom: changes::symptom(self.settings.statistic, lengths, range, at),
                lengths: (lengths[range.0], lengths[range.1]),
                ratio: effect.exp(),
                extra_seconds: inside.base[range.1] * effect.exp_m1(),
                confidence: 1.0 - doubt,
                cells: inside.beyond(effect, range),
            }
        };
        self.ranges(&inside.shift, self.joined.shared.len()).into_iter().map(describe).collect()
    }

    /// Who is to blame for what became slower (sign 1), and for what became faster (sign -1).
    fn judge(&self, rest: &Folded) -> [(f64, Judgement); 2] {
        let floor = self.floor();
        let usual = Floors::OF_TIMES;
        let floors = Floors { node: floor, group: floor, link: usual.link.max(floor) };
        // Common changes are taken out, so that a difference has no structure.
        let one_group = vec![0; self.joined.shared.len()];
        let judge = |seen: Folded| accuse::judge(seen, Some(&one_group), self.share(), floors);
        [(1.0, judge(rest.clone())), (-1.0, judge(difference::negated(rest, &self.difference.new.level)))]
    }

    /// Groups, hosts and links.
    fn of_hosts(&self, shifts: &Shifts, judgements: &[(f64, Judgement)], describer: &Describer) -> Vec<Change> {
        let groups = shifts.groups.iter().map(|group| {
            let evidence = &group.evidence;
            describer.describe(&Found {
                subject: Subject::Group,
                hosts: &group.members,
                direction: evidence.direction,
                effect: evidence.effect,
                range: evidence.range,
                doubt: evidence::doubt(evidence.score, shifts.groups.len().max(1), shifts.all.len()),
            })
        });
        let mut changes: Vec<Change> = groups.collect();
        for (sign, judgement) in judgements {
            for found in &judgement.suspicions {
                let subject = match found.kind {
                    Kind::Link => Subject::Link,
                    Kind::Group => Subject::Group,
                    Kind::Node | Kind::Rank | Kind::Fabric => Subject::Host,
                };
                if let (Subject::Link, &[i, j]) = (subject, &found.hosts[..])
                    && !describer.has_changed((i, j), found.range, *sign, self.floor())
                {
                    continue;
                }
                changes.push(describer.describe(&Found {
                    subject,
                    hosts: &found.hosts,
                    direction: found.direction,
                    effect: sign * found.effect,
                    range: found.range,
                    doubt: found.doubt,
                }));
            }
        }
        changes
    }

    fn fabric(&self, shifts: &Shifts, inside: Option<&InsideHosts>, of_pairs: &[Change]) -> Vec<FabricChange> {
        let change = |(index, length): (usize, &JoinedLength)| {
            let within = |change: &Change| change.lengths.0 <= length.base && length.base <= change.lengths.1;
            let of = |series: &Option<Vec<Shift>>| series.as_ref().map(|series| series[index].value.exp());
            let parts = [
                (Pairs::InsideGroups, of(&shifts.inside)),
                (Pairs::BetweenGroups, of(&shifts.between)),
                (Pairs::InsideHosts, inside.map(|inside| inside.shift[index].value.exp())),
            ];
            FabricChange {
                length: *length,
                base_seconds: self.difference.base.level[index],
                new_seconds: self.difference.new.level[index],
                ratio: shifts.all[index].value.exp(),
                parts: parts.into_iter().filter_map(|(pairs, ratio)| Some((pairs, ratio?))).collect(),
                is_significant: of_pairs.iter().any(within),
            }
        };
        self.joined.lengths.iter().enumerate().map(change).collect()
    }
}

//! What changed between two runs.
//!
//! In: two runs of one mode. Out: a [`Comparison`]: hosts, groups, pairs and the whole fabric that became slower or
//! faster, hosts that came, went or moved. Hosts are joined by name, whatever their ranks; lengths by size. What a run
//! is slow in on both days is no change: only the difference, `ln(new / base)` of every pair of hosts, is taken apart,
//! in the way in which [`super::diagnose`] takes a run apart. What all pairs share comes first (`shifts`), then hosts
//! and pairs.
//!
//! A change counts if it exceeds the threshold and the noise: with the probability `confidence`, two runs of a healthy
//! machine differ in nothing.

mod changes;
mod classes;
mod comparison;
mod difference;
mod few;
mod join;
mod moved;
mod shifts;

pub use classes::{ClassChange, LEVELS};
pub use comparison::{Change, Comparison, FabricChange, Moved, Pairs, Settings, Subject, Verdict};
pub use join::JoinedLength;

use crate::{
    analysis::diagnose::{
        Direction, Kind,
        accuse::{self, Floors},
        evidence,
        folded::Folded,
        judgement::Judgement,
        model::Fit,
    },
    record::{BoxError, Run},
    units::counted,
};
use changes::{Describer, Found};
use classes::InsideHosts;
use difference::Difference;
use join::{Joined, count_of_hosts};
use shifts::{Shift, Shifts};

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

/// Hosts from which on single ones can be told apart.
const LEAST_HOSTS: usize = 4;

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
        let (usual, _) = difference.pairs();
        let is_enough = usual >= few::LEAST_PAIRS as f64;
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
        failed_pairs: difference::newly_failed(base, new, &joined)?,
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
        Some(difference) => {
            let (_, least_pairs) = difference.pairs();
            Comparing { base, new, joined: &joined, settings, difference, least_pairs }.fill(&mut comparison)?;
        }
    }
    // What worked and fails is worse than whatever became faster, and no absence.
    if comparison.failed_pairs > 0 {
        comparison.verdict = Verdict::Regression;
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
    /// Pairs of the host that has fewest in both runs.
    least_pairs: usize,
}

impl Comparing<'_> {
    fn fill(mut self, comparison: &mut Comparison) -> Result<(), CompareError> {
        let silent = self.silent()?;
        let lost = self.difference.lost_pairs();
        if lost > 0 {
            comparison.notices.push(format!(
                "measured in the base run and missing in the new one: {} of hosts, lengths counted apart",
                counted(lost, "pair")
            ));
        }
        if self.least_pairs < few::TELLING_PAIRS {
            comparison.notices.push(format!(
                "some hosts have only {} in both runs, too few to tell noise by: of these hosts only changes by about a half \
                 or more are found",
                counted(self.least_pairs, "pair")
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
        findings.extend(inside.iter().flat_map(|inside| self.of_inside(inside, &describer)));
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
    fn of_inside(&self, inside: &InsideHosts, describer: &Describer) -> Vec<Change> {
        let describe = |(effect, range, doubt): (f64, (usize, usize), f64)| {
            let (subject, direction) = (Subject::Pairs(Pairs::InsideHosts), Direction::Both);
            let curve = inside.base.iter().zip(&inside.shift).map(|(seconds, shift)| (*seconds, shift.value));
            let of_hosts: Vec<f64> = inside.of_hosts(range).iter().map(|value| effect.signum() * value).collect();
            describer.inside(&Found { subject, hosts: &[], direction, effect, range, doubt }, curve, &of_hosts)
        };
        self.ranges(&inside.shift, self.joined.shared.len()).into_iter().map(describe).collect()
    }

    /// Who is to blame for what became slower (sign 1), and for what became faster (sign -1).
    fn judge(&self, rest: &Folded) -> [(f64, Judgement); 2] {
        let floor = self.floor();
        let usual = Floors::OF_TIMES;
        let floors = Floors { node: floor, group: floor, link: usual.link.max(floor), ..usual };
        // Common changes are taken out, so that a difference has no structure.
        let one_group = vec![0; self.joined.shared.len()];
        let judge = |seen: Folded| {
            let mut judgement = accuse::judge(seen, Some(&one_group), self.share(), floors);
            if self.least_pairs < few::MANY_PAIRS {
                judgement.suspicions.retain(|found| found.kind == Kind::Link);
                judgement.suspicions.splice(0..0, few::slower(&judgement.fit, self.share(), floor));
            }
            judgement
        };
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
                    Kind::Node | Kind::Rank | Kind::Fabric | Kind::Routes | Kind::Gate | Kind::Rail => Subject::Host,
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

//! What changed between two runs.
//!
//! In: two runs of one mode. Out: a [`Comparison`]: hosts, groups, pairs and the whole fabric that became slower or
//! faster, hosts that came, went or moved. Hosts are joined by name, whatever their ranks; lengths by size. What a run
//! is slow in on both days is no change: only the difference, `ln(new / base)` of every pair of hosts, is judged, by
//! the model that judges a run (`places`), with the distances that both runs show. What became faster is what is slow
//! in the negated difference. What crosses no place that changed says what all pairs share (`shifts`).
//!
//! A change counts if it exceeds the threshold and the noise: with the probability `confidence`, two runs of a healthy
//! machine differ in nothing. The error is divided evenly among what became slower, what became faster, what pairs of
//! hosts share and what pairs inside hosts share.

mod changes;
mod classes;
mod comparison;
mod difference;
mod join;
mod links;
mod moved;
mod shifts;

pub use classes::{ClassChange, LEVELS};
pub use comparison::{Change, Comparison, FabricChange, Moved, Pairs, Settings, Subject, Verdict};
pub use join::JoinedLength;

use crate::{
    analysis::diagnose::{
        Kind, LEAST_HOSTS, by_weight,
        folded::Folded,
        places::{self, Asked, Distances, Least, Suspect},
    },
    plan::Schedule,
    record::{BoxError, Run},
    units::counted,
};
use changes::{Common, Describer};
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

/// Fewest pairs of a host whose median is not moved by one of them alone.
const LEAST_PAIRS: f64 = 3.0;

/// What became slower and what became faster, what pairs of hosts and what pairs inside hosts have in common.
const PARTS: f64 = 4.0;

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
        let is_enough = difference.pairs() >= LEAST_PAIRS;
        if !is_enough {
            notices.push(
                "the runs measured different pairs: too few are in both for single hosts to be compared, only how pairs of \
                 each class are distributed"
                    .to_owned(),
            );
        }
        is_enough
    });
    let losses = difference::new_losses(base, new, &joined)?;
    let mut comparison = Comparison {
        mode: base.header().mode,
        settings,
        verdict: Verdict::Incomparable,
        lengths: joined.lengths.clone(),
        shared: joined.shared.clone(),
        failed_pairs: losses.failed,
        damaged_pairs: losses.damaged,
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
            Comparing { base, new, joined: &joined, settings, difference }.fill(&mut comparison)?;
        }
    }
    // What worked and fails, or spoils what it carries, is worse than whatever became faster, and no absence.
    if comparison.failed_pairs + comparison.damaged_pairs > 0 {
        comparison.verdict = Verdict::Regression;
    }
    // Nothing is known about most of the machine.
    if comparison.verdict != Verdict::Regression && joined.lost.len() > joined.shared.len() {
        comparison.verdict = Verdict::Incomparable;
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
            comparison.notices.push(format!(
                "measured in the base run and missing in the new one: {} of hosts, lengths counted apart",
                counted(lost, "pair")
            ));
        }
        let mode = self.base.header().mode;
        let Difference { base, new, .. } = &self.difference;
        let [old_group, new_group] = [base, new].map(|run| places::distances(run, mode, None).leaf);
        // Who is near whom is known best from both runs.
        let distances = places::distances(&self.difference.both(), mode, None);
        let group = distances.leaf.clone();
        let moves = moved::find(&old_group, &new_group, &self.difference.change);
        // What is near others than it was became slower toward some and faster toward others: that is said already.
        moves.iter().for_each(|found| {
            difference::leave_out(&mut self.difference.change, |i, j| found.host == i || found.host == j)
        });
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
        let (suspects, rest) = self.of_places(&distances);
        let shifts = Shifts::of(&rest, &group);
        let describer = Describer {
            base: &self.difference.base,
            change: &self.difference.change,
            group: &group,
            statistic: self.settings.statistic,
        };
        let of_pairs = self.of_pairs(&shifts, &describer);
        comparison.fabric = self.fabric(&shifts, inside.as_ref(), &of_pairs);
        let mut findings: Vec<Change> =
            silent.iter().map(|host| changes::silent(&self.difference.base, *host)).collect();
        findings.extend(of_pairs);
        findings.extend(inside.iter().flat_map(|inside| self.of_inside(inside, &describer)));
        findings.extend(suspects.iter().map(|(sign, suspect)| describer.place(*sign, suspect)));
        let weighed = |change: &Change| (change.subject.kind(), change.cells, change.ratio);
        findings.sort_by(|a, b| b.is_slower.cmp(&a.is_slower).then_with(|| by_weight(weighed(a), weighed(b))));
        comparison.verdict = match findings.first() {
            None => Verdict::Unchanged,
            Some(change) if change.is_slower => Verdict::Regression,
            Some(_) => Verdict::Improvement,
        };
        comparison.findings = findings;
        Ok(())
    }

    /// The probability that one part of the search errs in nothing.
    fn share(&self) -> f64 {
        1.0 - (1.0 - self.settings.confidence) / PARTS
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

    /// Where a common change is more than noise: `ln(ratio)`, the range of lengths, and its p-value.
    fn ranges(&self, series: &[Shift]) -> Vec<(f64, (usize, usize), f64)> {
        let is_same = |length: usize| self.joined.lengths[length].is_same();
        let mut found = Vec::new();
        for sign in [1.0, -1.0] {
            // At lengths that are only near each other times differ for no fault of anybody.
            let value = |(length, shift): (usize, &Shift)| Shift {
                value: if is_same(length) { sign * shift.value } else { f64::NAN },
                ..*shift
            };
            let series: Vec<Shift> = series.iter().enumerate().map(value).collect();
            for range in shifts::ranges(&shifts::with_run_to_run(&series), 1.0 - self.share(), self.floor()) {
                found.push((sign * range.effect, (range.first, range.last), range.p_value));
            }
        }
        found
    }

    /// The whole fabric, or pairs inside and between groups where they changed by different amounts.
    fn of_pairs(&self, shifts: &Shifts, describer: &Describer) -> Vec<Change> {
        let is_split = shifts.contrast.as_ref().is_some_and(|contrast| !self.ranges(contrast).is_empty());
        let parts: Vec<(Pairs, &[Shift])> = match (&shifts.inside, &shifts.between) {
            (Some(inside), Some(between)) if is_split => {
                vec![(Pairs::InsideGroups, inside), (Pairs::BetweenGroups, between)]
            }
            _ => vec![(Pairs::All, &shifts.all)],
        };
        let of_part = |(pairs, series): &(Pairs, &[Shift])| {
            let found = self.ranges(series).into_iter();
            let common = |(effect, range, p_value)| describer.common(&Common { pairs: *pairs, effect, range, p_value });
            found.map(common).collect::<Vec<_>>()
        };
        parts.iter().flat_map(of_part).collect()
    }

    /// Pairs inside hosts.
    fn of_inside(&self, inside: &InsideHosts, describer: &Describer) -> Vec<Change> {
        let describe = |(effect, range, p_value): (f64, (usize, usize), f64)| {
            let curve = inside.base.iter().zip(&inside.shift).map(|(seconds, shift)| (*seconds, shift.value));
            let found = Common { pairs: Pairs::InsideHosts, effect, range, p_value };
            describer.of_many(&found, curve, &inside.of_hosts(range))
        };
        self.ranges(&inside.shift).into_iter().map(describe).collect()
    }

    /// The places that became slower (sign 1) and those that became faster (sign -1), and the difference of the pairs
    /// that cross none of them.
    fn of_places(&self, distances: &Distances) -> (Vec<(f64, Suspect)>, Folded) {
        let floor = self.floor();
        let (alike, link) = (shifts::RUN_TO_RUN, floor.max(Least::OF_TIMES.link));
        let least = Least { alike, alike_long: alike, host: floor, way: floor, link };
        let asked = Asked { mode: self.base.header().mode, confidence: self.share(), least };
        // Among others that communicate, some of a place's pairs meet them on their way, and in another run other ones
        // do.
        let is_alone = [self.base, self.new].iter().all(|run| run.header().schedule() == Schedule::Isolated);
        let mut rest = self.difference.change.clone();
        let judge = |rest: &Folded, sign: f64| {
            let seen = if sign > 0.0 { rest.clone() } else { difference::negated(rest) };
            let mut verdict = places::judge_with(&seen, distances.clone(), asked, &[]);
            let mut suspects = std::mem::take(&mut verdict.suspects);
            let cells = links::Cells::of(&seen, &verdict, &suspects);
            for suspect in suspects.iter_mut().filter(|suspect| suspect.place.kind == Kind::Link) {
                suspect.log = cells.as_ref().map_or(0.0, |cells| cells.log(suspect).max(suspect.log));
            }
            let is_clear = |suspect: &Suspect| suspect.log < (1.0 - asked.confidence).ln();
            suspects.retain(|suspect| is_clear(suspect) && (is_alone || !suspect.place.is_of_some()));
            suspects
        };
        // Where one leaf's way became faster, those of all others look slower: what is clearer comes first, and takes
        // its pairs away.
        let clearest = |suspects: &[Suspect]| suspects.iter().map(|suspect| suspect.log).fold(0.0, f64::min);
        let [slower, faster] = [1.0, -1.0].map(|sign| judge(&rest, sign));
        let (sign, first, mut second) =
            if clearest(&slower) <= clearest(&faster) { (1.0, slower, faster) } else { (-1.0, faster, slower) };
        let leave_out = |rest: &mut Folded, suspects: &[Suspect]| {
            for suspect in suspects {
                let (hosts, is_crossing) = (rest.hosts(), suspect.place.crossing(rest.hosts()));
                difference::leave_out(rest, |i, j| is_crossing[i * hosts + j] || is_crossing[j * hosts + i]);
            }
        };
        leave_out(&mut rest, &first);
        if !first.is_empty() && !second.is_empty() {
            second = judge(&rest, -sign);
        }
        leave_out(&mut rest, &second);
        let signed = |sign: f64, suspects: Vec<Suspect>| suspects.into_iter().map(move |suspect| (sign, suspect));
        let found = signed(sign, first).chain(signed(-sign, second)).collect();
        (found, rest)
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

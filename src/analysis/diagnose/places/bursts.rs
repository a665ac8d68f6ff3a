//! Hosts that are slow for a part of the time, and a fabric that is: heat, another job.
//!
//! In: times by hosts, what is usual, and when every pair was measured. Out: [`Burst`]s, [`Busy`]. At one length a host
//! meets every other one once, in an order that is drawn anew for every length. So whatever else makes some of its pairs
//! slow, a bad partner, a cable, load, these come in random order; only what begins and ends stands together in time.
//! How probable so few runs of slow pairs are in random order is known exactly (Wald and Wolfowitz 1940), however times
//! are distributed. What the others of its leaf show at the same moments is the network's; what most pairs of a round
//! show is the fabric's.
//!
//! What it cannot see: pairs of hosts with several ranks that are measured one at a time, here and there; drawn rounds,
//! whose order is the same at every length; a burst that lasts for whole lengths only, which looks like any other slow
//! host.

use rayon::prelude::*;
use statrs::{
    distribution::{ChiSquared, ContinuousCDF},
    function::factorial::ln_binomial,
};

use super::{
    Asked, Place, Suspect, Verdict, error,
    mixture::{Mixture, two_levels},
    place::slow_lengths,
    rounds::{AtLength, Pairs},
};
use crate::{
    analysis::diagnose::{Agreement, Direction, Kind, folded::Folded},
    stats::{error_of_median, median},
};

/// A host that is slow for a part of the time.
pub struct Burst {
    /// The host, at all lengths together.
    pub suspect: Suspect,
    /// The others that it met while it was slow, `[length]`.
    pub met: Vec<Vec<usize>>,
}

impl Burst {
    /// Leaves out what was measured meanwhile.
    pub fn leave_out(&self, folded: &mut Folded) {
        let host = self.suspect.place.hosts[0];
        for (length, met) in self.met.iter().enumerate() {
            met.iter().for_each(|other| folded.leave_out(length, (host, *other)));
        }
    }
}

/// A fabric that is slow for a part of the time.
pub struct Busy {
    /// By how much, `ln(ratio)`: the median over the lengths at which it is.
    pub effect: f64,
    /// First and last length at which it is, by number.
    pub range: (usize, usize),
    /// Share of the rounds of these lengths.
    pub share: f64,
    /// The pairs that were measured meanwhile, `[length]`: in slow rounds, and in those next to them, for what is slow
    /// begins and ends inside of a round.
    met: Vec<Pairs>,
}

impl Busy {
    /// Leaves out what was measured meanwhile.
    pub fn leave_out(&self, folded: &mut Folded) {
        for (length, met) in self.met.iter().enumerate() {
            met.iter().for_each(|pair| folded.leave_out(length, *pair));
        }
    }
}

/// The pairs of a host at one length, in the order in which they were measured.
struct Sequence {
    others: Vec<usize>,
    moments: Vec<usize>,
    /// What they take beyond their class and what the others add.
    values: Vec<f64>,
}

impl Sequence {
    /// When it was slow, and whom it met then.
    fn slow(&self, levels: &Mixture) -> impl Iterator<Item = (usize, usize)> {
        let met = self.moments.iter().copied().zip(self.others.iter().copied());
        met.zip(&levels.is_upper).filter(|(_, is_slow)| **is_slow).map(|(met, _)| met)
    }

    /// `[moment]`, of which there are no more than hosts.
    fn slow_moments(&self, levels: &Mixture, hosts: usize) -> Vec<bool> {
        let mut is_slow = vec![false; hosts];
        self.slow(levels).for_each(|(moment, _)| is_slow[moment] = true);
        is_slow
    }
}

impl AtLength<'_> {
    fn sequence(&self, host: usize) -> Sequence {
        let known = (0..self.beyond.side()).filter(|other| !self.beyond.at(host, *other).is_nan());
        let mut met: Vec<(usize, usize)> =
            known.filter_map(|other| Some((self.rounds.meeting(host, other)?, other))).collect();
        met.sort_unstable();
        let values = met.iter().map(|(_, other)| self.beyond.at(host, *other)).collect();
        let (moments, others) = met.into_iter().unzip();
        Sequence { others, moments, values }
    }

    /// The two levels of rounds, each the median over its pairs, where they are apart by enough.
    fn levels_of_fabric(&self, rounds: &[Pairs]) -> Option<Mixture> {
        let of_pairs =
            |pairs: &Pairs| median(&mut pairs.iter().map(|(i, j)| self.beyond_hosts(*i, *j)).collect::<Vec<_>>());
        let values: Vec<f64> = rounds.iter().map(of_pairs).collect();
        let pairs = rounds.iter().map(Vec::len).min()?;
        // Of both ways.
        let found = two_levels(&values, self.noise * error_of_median(2.0 * pairs as f64))?;
        (found.effect >= self.least && found.is_upper.contains(&true)).then_some(found)
    }

    /// The two levels of a host's pairs, where they are apart by enough.
    fn levels(&self, sequence: &Sequence) -> Option<Mixture> {
        let (low, high) =
            sequence.values.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
        let levels = || two_levels(&sequence.values, self.noise);
        let are_two = |found: &Mixture| found.effect >= self.least && found.is_upper.contains(&true);
        if high - low < self.least { None } else { levels().filter(are_two) }
    }

    /// Whether others took longer too at these moments, `[moment]`, by half of the effect at least.
    fn is_shared(&self, others: &[usize], is_slow: &[bool], effect: f64) -> bool {
        let (mut during, mut before_or_after) = (Vec::new(), Vec::new());
        for host in others {
            let Sequence { moments, values, .. } = self.sequence(*host);
            for (moment, value) in moments.into_iter().zip(values) {
                if is_slow[moment] { during.push(value) } else { before_or_after.push(value) }
            }
        }
        median(&mut during) - median(&mut before_or_after) > effect / 2.0
    }
}

/// Logarithm of the probability that so many slow ones of several stand in so few runs, in random order.
fn log_of_runs(is_slow: &[bool]) -> f64 {
    let slow = is_slow.iter().filter(|slow| **slow).count() as u64;
    let all = is_slow.len() as u64;
    let runs = (0..is_slow.len()).filter(|at| is_slow[*at] && (*at == 0 || !is_slow[at - 1])).count() as u64;
    if slow == 0 {
        return 0.0;
    }
    // Slow ones in r runs: where these are cut, and between which of the others they stand.
    let ways = |runs: u64| ln_binomial(slow - 1, runs - 1) + ln_binomial(all - slow + 1, runs);
    let possible = (1..=runs).filter(|runs| *runs <= all - slow + 1);
    possible.map(|runs| (ways(runs) - ln_binomial(all, slow)).exp()).sum::<f64>().clamp(f64::MIN_POSITIVE, 1.0).ln()
}

/// Logarithm of the probability that at all these lengths slow pairs stand together so well by chance: the order is
/// drawn at every length, so that what each says is its own (Fisher 1925).
fn log_of<'a>(lengths: impl Iterator<Item = &'a [bool]>) -> f64 {
    let logs: Vec<f64> = lengths.map(log_of_runs).collect();
    let fisher = ChiSquared::new(2.0 * logs.len() as f64);
    fisher.map_or(0.0, |fisher| fisher.sf(-2.0 * logs.iter().sum::<f64>()).max(f64::MIN_POSITIVE).ln())
}

/// Whether most pairs are slow for a part of the time: of rounds, or, where pairs are measured one after another, of a round.
pub fn busy(lengths: &[AtLength<'_>], verdict: &Verdict, asked: Asked) -> Option<Busy> {
    let error = error(&verdict.distances, asked);
    let of_rounds = |at: &AtLength| {
        let rounds = at.by_rounds();
        let slow = at.levels_of_fabric(&rounds).map(|levels| (levels.is_upper, levels.effect));
        (rounds, slow)
    };
    busy_in(lengths.par_iter().map(of_rounds).collect(), error)
        .or_else(|| busy_in(turns_of_links(lengths, &verdict.suspects), error))
}

/// The turns of pairs that are measured one after another, of which those of links that were found are slow: they are one
/// moment where they stand together in time.
fn turns_of_links(lengths: &[AtLength], suspects: &[Suspect]) -> Vec<Moments> {
    let links: Vec<&Suspect> = suspects.iter().filter(|suspect| suspect.place.kind == Kind::Link).collect();
    if links.is_empty() {
        return Vec::new();
    }
    let of_length = |(length, at): (usize, &AtLength)| {
        let is_of = |link: &Suspect, (i, j): (usize, usize)| link.place.hosts == [i, j] || link.place.hosts == [j, i];
        let slow_link = |pairs: &Pairs| {
            let link = links.iter().find(|link| pairs.iter().any(|pair| is_of(link, *pair)))?;
            slow_lengths(&link.effects).contains(&length).then_some(link.effects[length])
        };
        let turns = at.by_turns();
        let slow: Vec<Option<f64>> = turns.iter().map(slow_link).collect();
        let mut effects: Vec<f64> = slow.iter().flatten().copied().collect();
        let is_slow = || (slow.iter().map(Option::is_some).collect(), median(&mut effects));
        (turns, (!slow.iter().all(Option::is_none)).then(is_slow))
    };
    lengths.iter().enumerate().map(of_length).collect()
}

/// The pairs of every moment in order; which moments are slow, and by how much, where any are.
type Moments = (Vec<Pairs>, Option<(Vec<bool>, f64)>);

/// `moments`: `[length]`.
fn busy_in(moments: Vec<Moments>, error: f64) -> Option<Busy> {
    let slow = || moments.iter().filter_map(|(_, slow)| slow.as_ref());
    if log_of(slow().map(|(is_slow, _)| &is_slow[..])) >= error {
        return None;
    }
    let is_slow = || slow().flat_map(|(is_slow, _)| is_slow);
    let count = is_slow().filter(|slow| **slow).count();
    // What is so for half of the time is usual.
    if 2 * count >= moments.iter().map(|(pairs, _)| pairs.len()).sum() {
        return None;
    }
    let effect = median(&mut slow().map(|(_, effect)| *effect).collect::<Vec<_>>());
    let share = count as f64 / is_slow().count() as f64;
    let busy: Vec<usize> = (0..moments.len()).filter(|length| moments[*length].1.is_some()).collect();
    let met = |(pairs, slow): (Vec<Pairs>, Option<(Vec<bool>, f64)>)| {
        let is_slow = slow.map_or(Vec::new(), |(is_slow, _)| is_slow);
        let is_near = |at: usize| (at.saturating_sub(1)..=at + 1).any(|near| is_slow.get(near) == Some(&true));
        let met = pairs.into_iter().enumerate().filter(|(at, _)| is_near(*at));
        met.flat_map(|(_, pairs)| pairs).collect()
    };
    let range = (*busy.first()?, *busy.last()?);
    Some(Busy { effect, range, share, met: moments.into_iter().map(met).collect() })
}

/// The hosts that are slow for a part of the time.
pub fn find(lengths: &[AtLength<'_>], verdict: &Verdict, asked: Asked) -> Vec<Burst> {
    let hosts = verdict.distances.leaf.len();
    if lengths.is_empty() {
        return Vec::new();
    }
    let (error, price) = (error(&verdict.distances, asked), (hosts as f64).ln());
    let log_of =
        |levels: &[Option<Mixture>]| log_of(levels.iter().flatten().map(|levels| &levels.is_upper[..])) + price;
    let burst = |host: usize| {
        let sequences: Vec<Sequence> = lengths.iter().map(|at| at.sequence(host)).collect();
        let mut levels: Vec<Option<Mixture>> = lengths.iter().zip(&sequences).map(|(at, own)| at.levels(own)).collect();
        if log_of(&levels) >= error {
            return None;
        }
        let leaf = verdict.distances.members(verdict.distances.leaf[host]);
        let near: Vec<usize> = leaf.into_iter().filter(|other| *other != host).collect();
        let near = if near.is_empty() { (0..hosts).filter(|other| *other != host).collect() } else { near };
        for ((at, own), found) in lengths.iter().zip(&sequences).zip(&mut levels) {
            found.take_if(|found| at.is_shared(&near, &own.slow_moments(found, hosts), found.effect));
        }
        let log = log_of(&levels);
        if log >= error {
            return None;
        }
        // By how much longer it takes meanwhile, and whom it met then; at some lengths that is all the time.
        let at = |(own, levels): (&Sequence, &Option<Mixture>)| match levels {
            Some(levels) => (levels.effect, own.slow(levels).map(|met| met.1).collect()),
            None => (median(&mut own.values.clone()), own.others.clone()),
        };
        let (effects, mut met): (Vec<f64>, Vec<Vec<usize>>) = sequences.iter().zip(&levels).map(at).unzip();
        let slow = slow_lengths(&effects);
        let range = (*slow.first()?, *slow.last()?);
        // What is too little for the range of lengths is of the same burst, unless it is no part of the time.
        for (length, met) in met.iter_mut().enumerate().filter(|(length, _)| !slow.contains(length)) {
            levels[length].is_none().then(|| met.clear());
        }
        let count = |of: &dyn Fn(usize) -> usize| slow.iter().map(|length| of(*length)).sum::<usize>();
        let cells =
            Agreement { slow: count(&|length| met[length].len()), of: count(&|length| sequences[length].others.len()) };
        let place = Place::of(Kind::Node, vec![host], Direction::Both);
        let effect = median(&mut slow.iter().map(|length| effects[*length]).collect::<Vec<_>>());
        (effect >= asked.least.host && cells.slow < cells.of)
            .then_some(Burst { suspect: Suspect { effects, cells, ..Suspect::at(place, effect, log, range) }, met })
    };
    (0..hosts).into_par_iter().filter_map(burst).collect()
}

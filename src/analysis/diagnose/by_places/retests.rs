//! What measuring pairs again says of places that are slow, and what becomes of these.
//!
//! In: places of a run, ranks that were found before, and the re-tests of the run. Out: [`Finding`]s with what re-tests say
//! ([`tested`]), and whether each is one ([`fate`]). Nothing is looked for here.

use std::cell::LazyCell;

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Finding, RetestVerdict, finding};
use crate::{
    analysis::{
        diagnose::{
            Direction, Kind, Symptom,
            folded::Folded,
            places::{self, Least, Place, Slow, Suspect, Verdict},
            ranks::OfRanks,
        },
        ticks::Unticked,
    },
    plan::Schedule,
    record::{BoxError, Run},
    stats::{median, quantile},
};

/// Places of a run, and ranks that were found before, with what re-tests say of them, in this order.
pub(super) fn tested(
    run: &dyn Run,
    is_left_out: &[bool],
    (folded, verdict): (&Folded, &Verdict),
    (suspects, of_ranks): (&[Suspect], &[OfRanks]),
) -> Result<Vec<Finding>, BoxError> {
    let mode = run.header().mode;
    let of_places = suspects.iter().map(|suspect| finding(mode, folded, suspect));
    let found: Vec<Finding> = of_places.chain(of_ranks.iter().map(|own| own.finding.clone())).collect();
    let pairs = again(run, is_left_out, (folded, verdict), (suspects, of_ranks, &found))?;
    let is_isolated = run.header().schedule() == Schedule::Isolated;
    let retests = retests(&pairs, verdict.noise, &found, is_isolated);
    let with = |(number, finding): (usize, Finding)| {
        let Some((retest, alone)) = retests[number] else { return finding };
        // Among others those that meet them are slower still: how slow a way makes any pair is seen alone.
        let cells = match (finding.kind, retest) {
            (Kind::Group | Kind::Routes, RetestVerdict::Confirmed) => {
                let suspect = &suspects[number];
                suspect.agreement(alone.min(suspect.effect) / 2.0)
            }
            _ => finding.cells,
        };
        Finding { retest: Some(retest), cells, ..finding }
    };
    Ok(found.into_iter().enumerate().map(with).collect())
}

/// By how much pairs of hosts were slow both times that they were measured again, `[length]`; where clocks tick, at least.
pub(super) fn slow_again(
    run: &dyn Run,
    is_left_out: &[bool],
    (folded, verdict): (&Folded, &Verdict),
) -> Result<Vec<Slow>, BoxError> {
    let hosts = &run.header().hosts;
    let apart = Unticked::of(run)?.apart_again();
    let of_length = |length: usize| {
        let mut slow = Slow::new();
        for retest in run.retests(length)? {
            let [from, to] = [retest.source, retest.destination].map(|rank| hosts.host_of(rank));
            let least = retest.second.min(retest.alone) - apart;
            let is_twice = (retest.second + retest.alone).is_finite() && least > 0.0;
            if is_twice && from != to && !is_left_out[retest.source] && !is_left_out[retest.destination] {
                // Of several ranks the fastest pair says what all take.
                let more = (least / folded.level[length]).ln() - verdict.usual(length, from, to);
                slow.entry((from, to)).and_modify(|least| *least = more.min(*least)).or_insert(more);
            }
        }
        // A moment at which all pairs take longer says nothing of any.
        let all = from_faster(&mut slow.values().copied().collect::<Vec<_>>());
        slow.values_mut().for_each(|more| *more -= all.max(0.0));
        Ok(slow)
    };
    (0..folded.lengths.len()).map(of_length).collect()
}

/// Whether messages of several hosts meet there.
pub(super) fn is_shared(kind: Kind) -> bool {
    matches!(kind, Kind::Group | Kind::Routes | Kind::Gate | Kind::Cable | Kind::Rail)
}

/// The pairs that were measured again and cross any place. `found`: of suspects in their order, then of ranks.
fn again(
    run: &dyn Run,
    is_left_out: &[bool],
    (folded, places): (&Folded, &Verdict),
    (suspects, of_ranks, found): (&[Suspect], &[OfRanks], &[Finding]),
) -> Result<Vec<Again>, BoxError> {
    let hosts = &run.header().hosts;
    let crossing: Vec<Vec<bool>> = suspects.iter().map(|suspect| suspect.place.crossing(hosts.count())).collect();
    let is_crossed = LazyCell::new(|| Place::crossing_any(suspects.iter().map(|own| &own.place), hosts.count()));
    let is_isolated = run.header().schedule() == Schedule::Isolated;
    let mut pairs = Vec::new();
    for length in 0..run.lengths().len() {
        let level = folded.level[length];
        let is_short = places::shortest(folded).contains(&length);
        let again = run.retests(length)?;
        // What is at fault is not slower alone than among others. Where most are, all were measured again at a busy moment; and
        // in short messages, which are seldom measured again but where they are slow, nothing else says what that takes.
        let more = again.iter().map(|retest| (retest.alone / retest.first).ln()).filter(|more| !more.is_nan());
        if !is_isolated && is_short && median(&mut more.collect::<Vec<_>>()) >= Least::OF_TIMES.link {
            continue;
        }
        // What its hosts add to a pair; alone that is less than among others.
        let added = |from: usize, to: usize| if is_isolated { places.added(length, from, to) } else { 0.0 };
        // Of pairs that cross no place: what they take alone besides, by class of distance; among others that says nothing of
        // it.
        let mut usual_alone = vec![Vec::new(); places.distances.classes];
        let mut of_length = Vec::new();
        for retest in again {
            let (source, destination) = (retest.source, retest.destination);
            let (from, to) = (hosts.host_of(source), hosts.host_of(destination));
            if from == to {
                continue;
            }
            let is_out = is_left_out[source] || is_left_out[destination];
            let crosses = |number: usize, (source, destination): (usize, usize)| {
                let finding = &found[number];
                let (from, to) = (hosts.host_of(source), hosts.host_of(destination));
                match number.checked_sub(suspects.len()).map(|number| &of_ranks[number].ranks) {
                    None => !is_out && crossing[number][from * hosts.count() + to],
                    Some(ranks) => {
                        let is_sent = ranks.contains(&source) && !is_left_out[destination];
                        let is_received = ranks.contains(&destination) && !is_left_out[source];
                        let is_way = finding.direction != Direction::Receive && is_sent
                            || finding.direction != Direction::Send && is_received;
                        // A rail is slow toward other leaves.
                        let is_of = |host: usize| ranks.iter().any(|rank| hosts.host_of(*rank) == host);
                        is_way && !(is_of(from) && is_of(to))
                    }
                }
            };
            let is_on =
                |number: usize, pair: (usize, usize)| found[number].curve[length].is_meant && crosses(number, pair);
            // Less slow than where it is meant, but slow.
            let is_partly_on = |number: usize| {
                found[number].curve[length].ratio.ln() >= Least::OF_TIMES.host && crosses(number, (source, destination))
            };
            // What was slow and is slow alone, as the other direction is in which a place was found, is of that place too.
            let beyond = (retest.first.min(retest.alone) / level).ln() - places.usual(length, from, to);
            let is_other_way =
                |number: usize| is_on(number, (destination, source)) && beyond > found[number].ratio.ln() / 2.0;
            let on: Vec<usize> = (0..found.len()).filter(|number| is_on(*number, (source, destination))).collect();
            if !on.is_empty() {
                of_length.push((retest, on));
            } else if !is_out && !(0..found.len()).any(|number| is_other_way(number) || is_partly_on(number)) {
                let alone = (retest.alone / level).ln() - added(from, to);
                usual_alone[places.distances.class(from, to)].push(alone);
            }
        }
        let of_class = if is_isolated { from_faster } else { healthy };
        let usual_alone: Vec<f64> = usual_alone.iter_mut().map(|times| of_class(times)).collect();
        // Where only slow ones of a class were measured alone, its others take no more alone than the fastest among others.
        let least = LazyCell::new(|| fastest(folded, places, length, &is_crossed));
        pairs.extend(of_length.into_iter().map(|(retest, on)| {
            let (from, to) = (hosts.host_of(retest.source), hosts.host_of(retest.destination));
            let usual = places.usual(length, from, to);
            let class = places.distances.class(from, to);
            let known = usual_alone[class] + added(from, to);
            // A moment at which all pairs take longer says nothing of any. Short messages hardly make a way busy, and are seldom
            // measured again but where they are slow: there one pair alone may have met such a moment, not all of a place.
            let is_link = on.iter().all(|number| found[*number].kind == Kind::Link);
            let usual_alone = match is_isolated || is_short && is_link {
                true => usual.max(known),
                false if is_short => usual.min(known),
                false if known.is_nan() => usual.min(least[class]),
                false => known,
            };
            let [second, alone] = [retest.second, retest.alone].map(|time| (time / level).ln());
            // Where pairs are measured one after another, both times.
            let usual_second = if is_isolated { usual_alone } else { usual };
            let (second, alone) = (second - usual_second, alone - usual_alone);
            // A pair of neighbours takes their cable and no other.
            let is_own = places.distances.hops(from, to) == Some(1);
            let cables = suspects.iter().enumerate().filter(|(_, own)| own.place.kind == Kind::Cable);
            let may_cross = |own: &Suspect| places::may_cross(&places.distances, &own.place, (from, to));
            let is_slow =
                |number: usize| found[number].curve[length].is_meant && alone > found[number].ratio.ln() / 2.0;
            let cables = cables.filter(|(number, own)| is_slow(*number) && may_cross(own)).map(|(number, _)| number);
            Again { length, on, cables: cables.collect(), is_own, second, alone }
        }));
    }
    Ok(pairs)
}

/// What the fastest pair takes that crosses no place, `ln(time / level)`, `[class]`, and as much more as the fastest of n
/// takes less by chance, where no other is on its way: of normal numbers the largest is expected below `sqrt(2 ln n)`.
/// `is_crossed`: `[source * hosts + destination]`.
pub(super) fn fastest(folded: &Folded, places: &Verdict, length: usize, is_crossed: &[bool]) -> Vec<f64> {
    let hosts = folded.hosts();
    let mut times = vec![Vec::new(); places.distances.classes];
    for cell in (0..hosts * hosts).filter(|cell| !is_crossed[*cell]) {
        let (from, to) = (cell / hosts, cell % hosts);
        let time = folded.from_to(length, from, to);
        if from != to && !time.is_nan() {
            times[places.distances.class(from, to)].push(time);
        }
    }
    let of_class = |times: &Vec<f64>| {
        let by_chance = (2.0 * (times.len() as f64).ln()).sqrt() * places.least_noise();
        times.iter().copied().fold(f64::NAN, f64::min) + by_chance
    };
    times.iter().map(of_class).collect()
}

/// What the re-tests of the pairs that cross each place say, and by how much these are slow alone, `ln(ratio)`,
/// `[finding]`; `None` where there are none. Pairs that cross no other place say most; where there are none of these, those
/// that cross none which these have confirmed.
fn retests(pairs: &[Again], noise: f64, found: &[Finding], is_isolated: bool) -> Vec<Option<(RetestVerdict, f64)>> {
    let own = |number: usize, is_of: &dyn Fn(&Again) -> bool| -> Vec<&Again> {
        pairs.iter().filter(|pair| pair.on.contains(&number) && is_of(pair)).collect()
    };
    // What else it may be slow for: which of the cables that it may take does that is not known.
    let others = |pair: &Again, number: usize| -> Vec<usize> {
        let cables = pair.cables.iter().filter(|_| found[number].kind == Kind::Cable);
        let all = pair.on.iter().chain(cables).copied();
        all.filter(|other| *other != number).collect()
    };
    let by_single = |number: usize| {
        let single = certain(own(number, &|pair| others(pair, number).is_empty()), noise, &found[number])?;
        retest(&single, noise, &found[number], is_isolated)
    };
    let mut verdicts: Vec<_> = (0..found.len()).map(by_single).collect();
    let confirmed: Vec<bool> =
        verdicts.iter().map(|verdict| matches!(verdict, Some((RetestVerdict::Confirmed, _)))).collect();
    for (number, unknown) in verdicts.iter_mut().enumerate().filter(|(_, verdict)| verdict.is_none()) {
        let is_of = |pair: &Again| !others(pair, number).iter().any(|place| confirmed[*place]);
        let all = own(number, &is_of);
        let all = certain(all.clone(), noise, &found[number]).unwrap_or(all);
        *unknown = retest(&all, noise, &found[number], is_isolated);
    }
    verdicts
}

/// What healthy pairs take, of those that were measured again, `ln(time)`: slow ones are, and some of these may be slow alone
/// too, at a place that was not found, or all of them at a moment. So the median is estimated from the faster ones.
fn from_faster(times: &mut [f64]) -> f64 {
    quantile(times, places::USUAL) - Normal::standard().inverse_cdf(places::USUAL) * spread(times)
}

/// The same where no moment is expected at which all take longer: no more than the median.
pub(super) fn healthy(times: &mut [f64]) -> f64 {
    from_faster(times).min(quantile(times, 0.5))
}

/// By how much such pairs differ, as a standard deviation; by the faster ones too: how far two of their quantiles are apart,
/// of how far these are in a normal distribution.
pub(super) fn spread(times: &mut [f64]) -> f64 {
    let [low, high] = [places::USUAL / 2.0, places::USUAL];
    let normal = Normal::standard();
    (quantile(times, high) - quantile(times, low)) / (normal.inverse_cdf(high) - normal.inverse_cdf(low))
}

/// A pair that was measured again: at which length, by number, which findings are about it, which cables may make it slow,
/// whether it takes one for certain, and what it took, `ln(time / usual)`.
struct Again {
    length: usize,
    on: Vec<usize>,
    cables: Vec<usize>,
    is_own: bool,
    second: f64,
    alone: f64,
}

/// Of pairs that may cross a place those that do; `None` where these are not known. Of a cable they are its own pair, or two
/// that are slow, though one pair in a hundred is by so much: another one that is as fast as usual may go another way.
fn certain<'a>(pairs: Vec<&'a Again>, noise: f64, finding: &Finding) -> Option<Vec<&'a Again>> {
    if finding.kind != Kind::Cable {
        return Some(pairs);
    }
    let (own, others): (Vec<&Again>, Vec<&Again>) = pairs.into_iter().partition(|pair| pair.is_own);
    if !own.is_empty() {
        return Some(own);
    }
    let least = (finding.ratio.ln() / 2.0).max(places::most_error_of_median(noise, 1));
    let slow: Vec<&Again> = others.into_iter().filter(|pair| pair.alone > least).collect();
    (slow.len() > 1).then_some(slow)
}

/// `noise`: of a pair.
fn retest(pairs: &[&Again], noise: f64, finding: &Finding, is_isolated: bool) -> Option<(RetestVerdict, f64)> {
    // Latency is a smaller part of longer messages: at every length the size is compared with that of the place there.
    let there = |pair: &&&Again| finding.curve[pair.length].ratio.ln() / finding.ratio.ln();
    let half = finding.ratio.ln() / 2.0;
    let meant = || pairs.iter().filter(|pair| there(pair) >= 0.5);
    let mut alone: Vec<f64> = meant().map(|pair| pair.alone / there(&pair)).collect();
    let mut second: Vec<f64> = meant().map(|pair| pair.second / there(&pair)).collect();
    // Where pairs are measured one after another, both are measured alone. A single pair that was not slow every time
    // may have met a busy moment.
    match finding.kind {
        Kind::Link if is_isolated => {
            alone.iter_mut().zip(&second).for_each(|(alone, second)| *alone = alone.min(*second))
        }
        _ if is_isolated => alone.append(&mut second),
        _ => {}
    }
    // Messages that share a way slow each other down: alone it is faster, even where it is at fault.
    let least = match is_shared(finding.kind) {
        true => Least::OF_TIMES.way.max(places::most_error_of_median(noise, alone.len())).min(half),
        false => half,
    };
    let (second, alone) = (median(&mut second), median(&mut alone));
    let verdict = match (alone > least, second > half) {
        (true, _) => RetestVerdict::Confirmed,
        (false, true) => RetestVerdict::Contention,
        (false, false) => RetestVerdict::Transient,
    };
    (!alone.is_nan()).then_some((verdict, alone))
}

/// What becomes of something slow.
pub(super) enum Fate {
    /// It is a finding.
    Finding,
    /// It may have met others on its way: a remark.
    Met,
    /// It was slow once.
    Gone,
}

/// What becomes of something slow in a run of this schedule: single pairs, and among others also what some pairs of a
/// host show and what many share, may have met others on their way.
pub(super) fn fate(finding: &Finding, schedule: Schedule) -> Fate {
    let is_met = finding.share.is_some() || is_shared(finding.kind);
    // A rank is compared with those next to it by the median pair, and half of its pairs may take a busier way. Short
    // messages do not make a way busy.
    let is_rank = finding.kind == Kind::Rank && finding.symptom == Symptom::Bandwidth;
    let may_be_load = finding.kind == Kind::Link || (is_met || is_rank) && schedule == Schedule::Disjoint;
    // Whatever crosses a slow way is slow, and among others no less than alone. Of hosts with few partners not all that share a
    // way may be known, and pairs with these are fast: what is slow alone says more.
    let is_confirmed = finding.kind == Kind::Group && finding.retest == Some(RetestVerdict::Confirmed);
    let is_way =
        matches!(finding.kind, Kind::Group | Kind::Routes) && !(is_confirmed && schedule == Schedule::Isolated);
    let are_too_few = is_way && finding.cells.slow as f64 <= places::ALL * finding.cells.of as f64;
    match (finding.retest, may_be_load) {
        (Some(RetestVerdict::Contention), _) => Fate::Met,
        (Some(RetestVerdict::Confirmed), _) | (_, false) if are_too_few => Fate::Gone,
        (Some(RetestVerdict::Confirmed), _) | (_, false) => Fate::Finding,
        (Some(RetestVerdict::Transient), true) => Fate::Gone,
        (None, true) => Fate::Met,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::{diagnose::Agreement, drawn::square},
        plan::Mode,
    };

    #[test]
    fn a_way_that_is_confirmed_is_dropped_for_pairs_that_are_fast_among_others_alone() {
        let folded = Folded::of_logarithms(&[8], vec![square(4, |_, _| 0.0)]);
        let place = Place::of(Kind::Group, vec![0, 1], Direction::Receive);
        let suspect = Suspect { effects: vec![0.3], ..Suspect::at(place, 0.3, -20.0, (0, 0)) };
        let way = finding(Mode::OneToOne, &folded, &suspect);
        let fate = |slow: usize, schedule: Schedule| {
            let cells = Agreement { slow, of: 100 };
            let way = Finding { retest: Some(RetestVerdict::Confirmed), cells, ..way.clone() };
            matches!(fate(&way, schedule), Fate::Finding)
        };
        assert_eq!([60, 90].map(|slow| fate(slow, Schedule::Disjoint)), [false, true]);
        assert_eq!([60, 90].map(|slow| fate(slow, Schedule::Isolated)), [true, true]);
    }

    #[test]
    fn healthy_pairs_take_what_the_faster_ones_say_and_no_more_than_the_median() {
        let spread: Vec<f64> = (-8..=8).map(|step| f64::from(step) / 100.0).collect();
        // Six of 23 are slow.
        let usual = healthy(&mut [&spread[..], &[0.7; 6]].concat());
        assert!(usual.abs() < 0.02, "{usual}");
        // Where a clock ticks, most take the same.
        assert_eq!(healthy(&mut [-0.02, -0.01, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.0);
    }
}

//! A run judged by places ([`places`]).
//!
//! In: a run. Out: findings and remarks of a [`Diagnosis`]. Here suspects become findings: symptom, size in seconds,
//! what re-tests say, what is a remark only, and what was slow once is a host that is slow for a part of the time.

mod alone;
mod load;
mod retests;

use std::collections::HashMap;

use load::{under_load, without_refuted};
use rayon::prelude::*;
use retests::{Fate, fate, slow_again, tested};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::{
    Agreement, Diagnosis, Direction, Finding, Judged, Kind, MOST_NOISE, Remark, RetestVerdict, Symptom, failed,
    findings::{Shown, joined},
    folded::Folded,
    places::{self, Asked, Burst, COINCIDENCE, Least, Place, Scatterer, Suspect, Verdict},
    rails,
    ranks::{self, OfRanks},
    scatter,
};
use crate::{
    analysis::groups,
    plan::{Mode, Schedule},
    record::{BoxError, Run},
    stats::median,
    units::{Hosts, hostlist},
};

/// Judges ranks, times and scatter of one run; returns its times by hosts, with pairs if that `is_contrasted`, and the
/// group of every host.
pub(super) fn judge_run(
    run: &dyn Run,
    (known, is_contrasted): (Option<&[usize]>, bool),
    confidence: f64,
    diagnosis: &mut Diagnosis,
) -> Result<(Folded, Vec<usize>), BoxError> {
    let mode = run.header().mode;
    // What is found here is joined and measured again by itself.
    let before = std::mem::take(&mut diagnosis.findings);
    let mut of_ranks = ranks::judge(run, confidence)?;
    let left_out = |of_ranks: &[OfRanks]| {
        let mut is_out = vec![false; run.ranks()];
        of_ranks.iter().flat_map(|own| &own.ranks).for_each(|rank| is_out[*rank] = true);
        is_out
    };
    let mut is_left_out = left_out(&of_ranks);
    let (mut folded, mut scatter) = scatter::read_with_times(run, &is_left_out)?;
    let (hosts, measured, unmeasured) = (folded.hosts(), folded.measured_ways(), folded.unmeasured());
    // Who would be healthy is not known of most.
    if 2 * unmeasured.len() > hosts {
        let most = hostlist::compress(&unmeasured);
        diagnosis.invalid.push(format!("{mode}: nothing is measured of {} of {hosts} hosts: {most}", unmeasured.len()));
    }
    let schedule = run.header().schedule();
    let asked = Asked { mode, confidence, least: Least::OF_TIMES };
    let near = places::near(run, &folded)?;
    let judge =
        |folded: &Folded| places::judge(folded, places::distances(near.as_ref().unwrap_or(folded), mode, known), asked);
    let mut verdict = judge(&folded);
    let rails = rails::judge(run, &verdict.distances.leaf, confidence, &of_ranks)?;
    if !rails.is_empty() {
        of_ranks.retain(|own| !rails.iter().any(|rail| rail.ranks.contains(&own.ranks[0])));
        of_ranks.extend(rails);
        is_left_out = left_out(&of_ranks);
        (folded, scatter) = scatter::read_with_times(run, &is_left_out)?;
        verdict = judge(&folded);
    }
    // Where the run says when every pair was measured.
    let rounds: Option<Vec<_>> = folded.lengths.iter().map(|length| run.header().rounds(*length)).collect();
    let rounds = rounds.unwrap_or_default();
    let mut in_rounds = places::lengths(&folded, &verdict, &rounds, asked);
    let mut busy = Vec::new();
    while let Some(found) = places::busy(&in_rounds, &verdict, asked) {
        found.leave_out(&mut folded);
        verdict = judge(&folded);
        in_rounds = places::lengths(&folded, &verdict, &rounds, asked);
        busy.push(found);
    }
    let bursts = places::bursts(&in_rounds, &verdict, asked);
    drop(in_rounds);
    if !bursts.is_empty() {
        bursts.iter().for_each(|burst| burst.leave_out(&mut folded));
        verdict = judge(&folded);
    }
    // Where most pairs are left out.
    let again = if run.partners().is_some() { folded.again(run, &is_left_out)? } else { Vec::new() };
    verdict = verdict.joined((&folded, &again), asked.least);
    let (mut met, mut loaded, mut of_retests) = (Vec::new(), Vec::new(), None);
    let mut among_others = Vec::new();
    if schedule == Schedule::Disjoint {
        among_others = verdict.suspects.clone();
        (verdict, met) = without_refuted(run, &is_left_out, &mut folded, verdict, asked)?;
        verdict = verdict.joined((&folded, &again), asked.least);
        loaded = places::loaded(&folded, &verdict, &rounds, asked);
    } else {
        let again = slow_again(run, &is_left_out, (&folded, &verdict))?;
        let links = places::again(&folded, &verdict, again, asked);
        verdict = verdict.with(&folded, links, asked.least);
    }
    let (noise, ranks) = (verdict.noise, run.ranks());
    diagnosis.runs.push(Judged { mode, hosts, ranks, lengths: folded.lengths.clone(), noise, measured, unmeasured });
    // What stands out of such noise is beyond chance all the same.
    if noise > MOST_NOISE && verdict.suspects.is_empty() && bursts.is_empty() {
        let percent = (100.0 * noise).round();
        diagnosis.invalid.push(format!("{mode}: pairs scatter by {percent} %: too noisy to be judged"));
        diagnosis.findings.extend(of_ranks.into_iter().map(|own| own.finding));
    } else {
        diagnosis.findings.extend(bursts.iter().map(|Burst { suspect, .. }| {
            let share = suspect.cells.slow as f64 / suspect.cells.of as f64;
            Finding { share_of_time: Some(share), ..finding(mode, &folded, suspect) }
        }));
        let found = tested(run, &is_left_out, (&folded, &verdict), (&verdict.suspects, &of_ranks))?;
        let mut explained = Vec::new();
        let has_passed = |finding: &&Finding| {
            finding.kind == Kind::Link && finding.retest.is_some_and(|retest| retest != RetestVerdict::Confirmed)
        };
        let passed = found.iter().filter(has_passed).count();
        // Where pairs are measured one after another, or all hosts are on one switch, no others are on the way.
        let distances = &verdict.distances;
        let is_one_switch = distances.leaves() == 1 && !distances.is_torus() && distances.are_known(&folded);
        let is_alone = schedule == Schedule::Isolated || is_one_switch;
        let is_once = |finding: &Finding| {
            let is_part = finding.kind == Kind::Link || finding.kind == Kind::Node && finding.share.is_some();
            is_alone && is_part && finding.retest == Some(RetestVerdict::Transient)
        };
        let mut once = Vec::new();
        for (number, finding) in found.into_iter().enumerate() {
            match fate(&finding, schedule) {
                _ if is_once(&finding) => once.push(finding),
                Fate::Finding => {
                    // A link may be one of the pairs that show what it crosses.
                    let place = verdict.suspects.get(number).map(|suspect| &suspect.place);
                    explained.extend(place.filter(|place| place.kind != Kind::Link));
                    diagnosis.findings.push(finding);
                }
                Fate::Met => met.push(finding),
                Fate::Gone => {}
            }
        }
        let once = slow_once(&folded.names, &distances.leaf, once, 1.0 - confidence);
        met.retain(|link| link.kind != Kind::Link || !once.iter().any(|host| link.hosts.contains(&host.hosts[0])));
        diagnosis.findings.extend(once);
        if schedule == Schedule::Disjoint {
            let is_explained = Place::crossing_any(explained.into_iter(), hosts);
            of_retests = alone::find(run, &is_left_out, (&folded, &verdict), &is_explained, asked)?;
            if let Some(suspect) = &of_retests {
                let finding = finding(mode, &folded, suspect);
                // What was to be measured again, or seemed to be load, is this.
                met.retain(|other| other.hosts != finding.hosts);
                leave_out_links(&mut diagnosis.findings, &suspect.place, &folded.names);
                diagnosis.findings.push(Finding { retest: Some(RetestVerdict::Confirmed), ..finding });
            }
        }
        if schedule == Schedule::Isolated {
            // Nothing is on the way: what one of them is confirmed to be, those with an end in common that are as slow are too,
            // unless most that were measured again were as fast as usual.
            let is_link = |finding: &mut Finding| finding.kind == Kind::Link;
            let mut links: Vec<Finding> = diagnosis.findings.extract_if(.., is_link).collect();
            if links.len() > passed {
                let is_as_slow = |link: &mut Finding| {
                    let is_one = |known: &Finding| {
                        let is_shared = link.hosts.iter().any(|host| known.hosts.contains(host));
                        is_shared && link.ratio.ln() >= known.ratio.ln() / 2.0
                    };
                    link.kind == Kind::Link && links.iter().any(is_one)
                };
                let as_slow: Vec<Finding> = met.extract_if(.., is_as_slow).collect();
                links.extend(as_slow);
            }
            join_links(&folded.names, &verdict.distances.leaf, &mut links);
            let is_confirmed = |link: &Finding| link.retest == Some(RetestVerdict::Confirmed);
            let (confirmed, again): (Vec<_>, Vec<_>) = links.into_iter().partition(is_confirmed);
            diagnosis.findings.extend(confirmed);
            met.extend(again);
        }
        under_load(run, &is_left_out, (&folded, &verdict), &loaded, &mut met)?;
        join_links(&folded.names, &verdict.distances.leaf, &mut met);
        let is_load = |finding: &mut Finding| finding.retest == Some(RetestVerdict::Contention);
        diagnosis.remarks.extend(met.extract_if(.., is_load).map(Remark::Load));
        if !met.is_empty() {
            diagnosis.remarks.push(Remark::Again(met));
        }
        diagnosis.remarks.extend(busy.iter().map(|busy| Remark::Busy {
            mode,
            lengths: (folded.lengths[busy.range.0], folded.lengths[busy.range.1]),
            ratio: busy.effect.exp(),
            share: busy.share,
        }));
        diagnosis.remarks.extend(halves(&folded, &verdict, mode));
        diagnosis.remarks.extend(verdict.kinds.as_ref().map(|(hosts, ratio)| {
            let mut hosts: Vec<String> = hosts.iter().map(|host| folded.names[*host].clone()).collect();
            hostlist::sort(&mut hosts);
            Remark::Kinds { mode, hosts, ratio: *ratio }
        }));
    }
    if verdict.distances.leaves() == 1 {
        join_rails(&run.header().hosts, &mut diagnosis.findings);
    }
    join_links(&folded.names, &verdict.distances.leaf, &mut diagnosis.findings);
    if known.is_none() && !verdict.distances.are_known(&folded) {
        join_unnamed(verdict.noise, &mut diagnosis.findings);
    }
    let group = groups::by_size(&verdict.distances.leaf);
    diagnosis.findings.extend(failed::find(run, &group, 1.0 - confidence)?);
    diagnosis.findings.splice(0..0, before);
    let of_time = bursts.iter().map(|burst| &burst.suspect);
    let slow = verdict.suspects.iter().chain(&among_others).chain(of_time).chain(&loaded);
    let slow: Vec<Place> = slow.map(|suspect| suspect.place.clone()).chain(of_retests.map(whole_way)).collect();
    let is_crossed = Place::crossing_any(slow.iter(), folded.hosts());
    let number: HashMap<&str, usize> = folded.names.iter().map(String::as_str).zip(0..).collect();
    let confidence = 1.0 - (1.0 - confidence) / scatter.len().max(1) as f64;
    // Where several messages meet on a slow way, samples scatter, and that is no host's.
    let judge = |panel: Folded| {
        let hosts: Vec<usize> = panel.names.iter().map(|name| number[name.as_str()]).collect();
        let class = |i: usize, j: usize| {
            let (i, j) = (hosts[i], hosts[j]);
            (!is_crossed[i * folded.hosts() + j]).then(|| verdict.distances.class(i, j))
        };
        (places::jitter(&panel, class, confidence), panel.without_pairs())
    };
    let judged: Vec<_> = scatter.into_par_iter().map(judge).collect();
    judged.iter().for_each(|(found, levels)| add_scatterers(mode, levels, found, diagnosis));
    let times = if is_contrasted { folded } else { folded.without_pairs() };
    Ok((times, group))
}

/// Where hosts are in two groups, and neither way between them is slower than the other: how much longer messages take
/// there, at the length at which that is most.
fn halves(folded: &Folded, verdict: &Verdict, mode: Mode) -> Option<Remark> {
    if verdict.suspects.iter().any(|suspect| suspect.place.kind == Kind::Group) {
        return None;
    }
    let excess = (0..folded.lengths.len()).map(|length| verdict.between_two(length)).collect::<Option<Vec<f64>>>()?;
    let known = (0..excess.len()).filter(|length| !excess[*length].is_nan());
    let most = known.max_by(|a, b| excess[*a].total_cmp(&excess[*b]))?;
    let of_leaf = |leaf: usize| {
        let members = verdict.distances.members(leaf);
        let mut names: Vec<String> = members.iter().map(|host| folded.names[*host].clone()).collect();
        hostlist::sort(&mut names);
        names
    };
    let mut hosts = [of_leaf(0), of_leaf(1)];
    hosts.sort();
    (excess[most] >= Least::OF_TIMES.way).then(|| Remark::Halves {
        mode,
        hosts,
        length: folded.lengths[most],
        ratio: excess[most].exp(),
    })
}

/// What one suspect comes to. `folded`: the times that sizes in seconds refer to.
pub(super) fn finding(mode: Mode, folded: &Folded, suspect: &Suspect) -> Finding {
    let Suspect { place, effect, log, range, effects, cells, .. } = suspect;
    let name = |host: &usize| folded.names[*host].clone();
    let (hosts, toward) = (place.named().map(name).collect(), place.second_set().map(name).collect());
    let (lengths, level) = (&folded.lengths[..], &folded.level[..]);
    let (direction, effect, range, log) = (place.direction, *effect, *range, *log);
    let shown = Shown { mode, lengths, level, effects, effect, range, direction, log };
    let share = place.share(folded.hosts(), |i, j| folded.have_met(i, j));
    Finding { share, toward, ..shown.finding(place.kind, hosts, *cells) }
}

/// Leaves out links that cross a place: they are of the pairs that show it. `names`: `[host]`.
fn leave_out_links(findings: &mut Vec<Finding>, place: &Place, names: &[String]) {
    let is_crossing = place.crossing(names.len());
    let number = |name: &String| names.iter().position(|own| own == name);
    let crosses = |link: &Finding| match &link.hosts[..] {
        [from, to] => number(from).zip(number(to)).is_some_and(|(from, to)| is_crossing[from * names.len() + to]),
        _ => false,
    };
    findings.retain(|found| found.kind != Kind::Link || !crosses(found));
}

/// Puts the findings about ranks of one place on several hosts together, where no leaves are known: what these share is
/// their rail's switch. So many that faults of their own would hardly all be on one rail.
fn join_rails(hosts: &Hosts, findings: &mut Vec<Finding>) {
    let places = (0..hosts.ranks()).map(|rank| hosts.place_of(rank)).max().map_or(0, |last| last + 1);
    for place in 0..places {
        let is_of = |finding: &Finding| finding.rank.is_some_and(|rank| hosts.place_of(rank) == place);
        let slow = findings.iter().filter(|finding| is_of(finding)).count();
        if slow < 2 || !rails::is_one(slow, places) {
            continue;
        }
        let of_rail: Vec<Finding> = findings.extract_if(.., |finding| is_of(finding)).collect();
        let names: Vec<String> = of_rail.iter().flat_map(|finding| finding.hosts.clone()).collect();
        let cells = Agreement { slow, of: slow };
        findings.extend(joined(&of_rail).map(|rail| Finding { kind: Kind::Rail, hosts: names, cells, ..rail }));
    }
}

/// Puts the findings about links that have an end in common together: that is a host which is slow with some others, or,
/// where these ends are of one leaf and the others are not, some of that leaf's routes; what is the least likely to come
/// of links that are anywhere first. `names` and `leaf`: `[host]`.
fn join_links(names: &[String], leaf: &[usize], findings: &mut Vec<Finding>) {
    let hosts = names.len();
    let pairs = (hosts * hosts.saturating_sub(1) / 2) as f64;
    let leaves = leaf.iter().max().map_or(0, |last| last + 1);
    let number: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let ends = |finding: &Finding| match &finding.hosts[..] {
        [from, to] if finding.kind == Kind::Link => Some((*number.get(&**from)?, *number.get(&**to)?)),
        _ => None,
    };
    // By number: every host, then every leaf.
    let is_in = |place: usize, host: usize| if place < hosts { host == place } else { leaf[host] == place - hosts };
    let members = |place: usize| (0..hosts).filter(|host| is_in(place, *host)).collect::<Vec<_>>();
    let sizes: Vec<usize> = (0..hosts + leaves).map(|place| members(place).len()).collect();
    // Which end of a link is in a place, where one is, and the other one.
    let way = |place: usize, (from, to): (usize, usize)| match (is_in(place, from), is_in(place, to)) {
        (true, false) => Some((from, to)),
        (false, true) => Some((to, from)),
        _ => None,
    };
    let is_one = |ends: &mut dyn Iterator<Item = usize>| {
        let first = ends.next();
        ends.map(Some).all(|end| end == first)
    };
    // How likely so many links of all are there by chance, where one is.
    let chance = |place: usize, links: &[(usize, usize)]| {
        let ways: Vec<_> = links.iter().filter_map(|ends| way(place, *ends)).collect();
        // All those of one leaf toward a host: these are routes of the leaf.
        let is_of_others = match place < hosts {
            true => {
                let others = || ways.iter().map(|way| leaf[way.1]);
                is_one(&mut others().chain([leaf[place]])) || !is_one(&mut others())
            }
            false => !is_one(&mut ways.iter().map(|way| way.0)),
        };
        if ways.len() < 2 || !is_of_others {
            return 1.0;
        }
        let share = (sizes[place] * (hosts - sizes[place])) as f64 / pairs;
        Binomial::new(share, links.len() as u64 - 1).map_or(1.0, |links| links.sf(ways.len() as u64 - 2))
    };
    loop {
        let links: Vec<(usize, usize)> = findings.iter().filter_map(ends).collect();
        let likely = (0..hosts + leaves).map(|place| (chance(place, &links), place));
        let least = likely.filter(|(chance, _)| *chance < COINCIDENCE).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, place)) = least else { break };
        let is_there = |finding: &mut Finding| ends(finding).is_some_and(|ends| way(place, ends).is_some());
        let links: Vec<Finding> = findings.extract_if(.., is_there).collect();
        let mut ways = links.iter().map(|link| match ends(link).is_some_and(|(from, _)| is_in(place, from)) {
            true => link.direction,
            false => link.direction.reversed(),
        });
        let direction = ways.next().filter(|first| ways.all(|way| way == *first)).unwrap_or(Direction::Both);
        let kind = if place < hosts { Kind::Node } else { Kind::Routes };
        let own: Vec<String> = members(place).into_iter().map(|host| names[host].clone()).collect();
        // Some of its routes may be known already, those the other way for example.
        let known = findings.iter_mut().find(|found| found.kind == kind && found.share.is_some() && found.hosts == own);
        if let Some(known) = known {
            known.direction = if known.direction == direction { direction } else { Direction::Both };
            continue;
        }
        let share = Some(links.len() as f64 / (sizes[place] * (hosts - sizes[place])) as f64);
        findings.extend(joined(&links).map(|one| Finding { kind, hosts: own, direction, share, ..one }));
    }
}

/// Hosts that were slow with some others, and not any more when these pairs were measured again: they are slow for a part of
/// the time, which is the share of their cells, at the lengths of their range, that were. `found`: such hosts, and links;
/// `names` and `leaf`: `[host]`; `error`: probability with which so many of the links may be of any one host by chance.
fn slow_once(names: &[String], leaf: &[usize], mut found: Vec<Finding>, error: f64) -> Vec<Finding> {
    let hosts = names.len() as f64;
    let meant = |finding: &Finding| finding.curve.iter().filter(|at| at.is_meant).count() as f64;
    let of_link = |finding: &Finding| (finding.hosts.clone(), meant(finding));
    let links: Vec<(Vec<String>, f64)> =
        found.iter().filter(|finding| finding.kind == Kind::Link).map(of_link).collect();
    join_links(names, leaf, &mut found);
    let of_time = |finding: Finding| {
        let of_host: Vec<f64> =
            links.iter().filter(|(ends, _)| ends.contains(&finding.hosts[0])).map(|(_, lengths)| *lengths).collect();
        let share = match of_host.len().checked_sub(1) {
            Some(fewer) => {
                let chance = Binomial::new(2.0 / hosts, links.len() as u64).map_or(1.0, |links| links.sf(fewer as u64));
                let share = of_host.iter().sum::<f64>() / meant(&finding) / (hosts - 1.0);
                (hosts * chance < error).then_some(share.min(1.0))?
            }
            None => finding.share?,
        };
        Some(Finding { share: None, share_of_time: Some(share), ..finding })
    };
    found.into_iter().filter(|finding| finding.kind == Kind::Node).filter_map(of_time).collect()
}

/// Puts links and hosts that are slow with some others together where too few pairs were measured to say who is near whom:
/// that several take as much more is one cable that they share. `noise`: of a pair, so that two differ by twice the root
/// of two times that in one of twenty cases.
fn join_unnamed(noise: f64, findings: &mut Vec<Finding>) {
    let is_part = |finding: &mut Finding| match finding.kind {
        Kind::Link => true,
        Kind::Node => finding.share.is_some(),
        _ => false,
    };
    let mut parts: Vec<Finding> = findings.extract_if(.., is_part).collect();
    parts.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    for alike in parts.chunk_by(|a, b| (a.ratio / b.ratio).ln() <= 2.0 * 2f64.sqrt() * noise) {
        if let [only] = alike {
            findings.push(only.clone());
            continue;
        }
        let mut hosts: Vec<String> = alike.iter().flat_map(|finding| finding.hosts.clone()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let fabric = |one| Finding { kind: Kind::Fabric, hosts, direction: Direction::Both, share: None, ..one };
        findings.extend(joined(alike).map(fabric));
    }
}

/// All pairs that may cross what re-tests alone have found: which destinations choose a slow cable is known of those that
/// were measured again.
fn whole_way(Suspect { place, .. }: Suspect) -> Place {
    if place.kind == Kind::Routes { Place::of(Kind::Group, place.hosts, place.direction) } else { place }
}

/// Adds hosts whose samples scatter although their medians are usual. `scatter`: of a panel.
fn add_scatterers(mode: Mode, scatter: &Folded, found: &[Scatterer], diagnosis: &mut Diagnosis) {
    for Scatterer { host, direction, log, effects, range, cells } in found {
        let name = &scatter.names[*host];
        let is_named =
            |finding: &Finding| matches!(finding.kind, Kind::Node | Kind::Rank) && finding.hosts.contains(name);
        if diagnosis.findings.iter().any(is_named) {
            continue;
        }
        let mut known = effects[range.0..=range.1].to_vec();
        let shown = Shown {
            mode,
            lengths: &scatter.lengths,
            level: &scatter.level,
            effects,
            effect: median(&mut known),
            range: *range,
            direction: *direction,
            log: *log,
        };
        let finding = shown.finding(Kind::Node, vec![name.clone()], *cells);
        diagnosis.findings.push(Finding { symptom: Symptom::Jitter, ..finding });
    }
}

#[cfg(test)]
mod tests;

//! What is slow alone though others on the way hide it.
//!
//! In: a run among whose pairs several are measured at the same time, and what was found in it. Out: [`Suspect`]s. The
//! slowest pairs of a run are measured again alone: nothing meets there, and noise is small. A place that several of them
//! cross, which are slow, and hardly any that are not, explains them; and what its pairs take among others is no less than
//! that. What is slow alone without such a place is left to [`super::retests`].
//!
//! What it cannot see: cables of a torus; short messages, of which ways differ.

use statrs::{
    distribution::{ContinuousCDF, Normal},
    function::factorial::ln_binomial,
};

use super::retests::{healthy, spread};
use crate::{
    analysis::diagnose::{
        Agreement, Direction, Kind,
        folded::Folded,
        places::{self, Asked, Least, Place, Suspect, Verdict},
        ranks::LEAST_NOISE,
    },
    record::{BoxError, Run},
    stats::{median, quantile},
};

/// A pair of hosts that was measured again alone.
struct Pair {
    from: usize,
    to: usize,
    /// What it takes more than healthy ones, `ln(ratio)`, `[length]`; NaN where it was not measured again.
    more: Vec<f64>,
    is_slow: bool,
    /// Places of its ranks on their hosts, of those that were slow: sources and destinations.
    ranks: [Vec<usize>; 2],
}

/// What healthy pairs take alone, `ln(time / level)`, and what is slow, `[length]`; NaN where nothing says so.
struct Usual {
    level: Vec<f64>,
    least: Vec<f64>,
}

/// The places that are slow alone. `is_explained`: pairs that cross what was found, `[source * hosts + destination]`.
pub(super) fn find(
    run: &dyn Run,
    is_left_out: &[bool],
    (folded, verdict): (&Folded, &Verdict),
    is_explained: &[bool],
    asked: Asked,
) -> Result<Vec<Suspect>, BoxError> {
    let distances = &verdict.distances;
    if distances.is_torus() || distances.leaves() < 2 || verdict.kinds.is_some() {
        return Ok(Vec::new());
    }
    let (mut pairs, usual) = measured_alone(run, is_left_out, folded, is_explained, asked)?;
    let places = candidates(verdict);
    let hosts = &run.header().hosts;
    let per_host = (0..hosts.ranks()).map(|rank| hosts.place_of(rank) + 1).max().unwrap_or(1);
    let error = (1.0 - asked.confidence).ln();
    let slow = pairs.iter().filter(|pair| pair.is_slow).count();
    let mut found: Vec<Suspect> = Vec::new();
    loop {
        let explained =
            places.iter().filter_map(|place| explains(place, (&pairs, per_host), (folded, &usual), (verdict, error)));
        let Some((_, suspect)) = explained.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        let crossing = suspect.place.crossing(folded.hosts());
        pairs.retain(|pair| !crossing[pair.from * folded.hosts() + pair.to]);
        match found.iter_mut().find(|known| is_other_way(&known.place, &suspect.place)) {
            Some(known) => {
                known.place.direction = Direction::Both;
                if known.place.kind != Kind::Gate {
                    known.place.toward.extend(suspect.place.toward);
                }
                if suspect.place.kind == Kind::Group || known.place.kind == Kind::Group {
                    (known.place.kind, known.place.toward) = (Kind::Group, Vec::new());
                }
            }
            None => found.push(suspect),
        }
    }
    // Several places fail at once less often than there is one that is not known: groups of leaves that were not found.
    let left = pairs.iter().filter(|pair| pair.is_slow).count();
    if found.len() > 1 || left as f64 > (1.0 - places::ALL) * slow as f64 {
        found.clear();
    }
    Ok(found)
}

/// Whether what is slow one way is slow the other way too: hosts, gates, and leaves, be it all of their routes or some.
fn is_other_way(known: &Place, new: &Place) -> bool {
    let is_leaf = |place: &Place| matches!(place.kind, Kind::Group | Kind::Routes);
    let is_reverse = known.hosts == new.toward && known.toward == new.hosts;
    match known.kind {
        Kind::Gate => new.kind == Kind::Gate && is_reverse && known.direction == new.direction,
        _ => {
            (known.kind == new.kind || is_leaf(known) && is_leaf(new))
                && known.hosts == new.hosts
                && known.direction == new.direction.reversed()
                && known.direction != Direction::Both
        }
    }
}

/// The pairs that were measured again and cross nothing that was found, in long messages; and what is usual of these.
fn measured_alone(
    run: &dyn Run,
    is_left_out: &[bool],
    folded: &Folded,
    is_explained: &[bool],
    asked: Asked,
) -> Result<(Vec<Pair>, Usual), BoxError> {
    let (hosts, lengths) = (&run.header().hosts, folded.lengths.len());
    let mut pairs: Vec<Pair> = Vec::new();
    let mut usual = Usual { level: vec![f64::NAN; lengths], least: vec![f64::NAN; lengths] };
    for length in (0..lengths).filter(|length| folded.level[*length] >= places::LONG * folded.level[0]) {
        let mut again = run.retests(length)?;
        again.retain(|retest| {
            let [from, to] = [retest.source, retest.destination].map(|rank| hosts.host_of(rank));
            let is_out = is_left_out[retest.source] || is_left_out[retest.destination];
            from != to && !is_out && !is_explained[from * hosts.count() + to]
        });
        let alone = |retest: &crate::record::Retest| (retest.alone / folded.level[length]).ln();
        let mut times: Vec<f64> = again.iter().map(alone).filter(|time| time.is_finite()).collect();
        let level = healthy(&mut times);
        let most = Normal::standard().inverse_cdf(1.0 - (1.0 - asked.confidence) / times.len().max(1) as f64);
        let tick = folded.apart / folded.level[length];
        let least = Least::OF_TIMES.link.max(most * spread(&mut times).max(LEAST_NOISE)).max(tick);
        (usual.level[length], usual.least[length]) = (level, least);
        for retest in &again {
            let [from, to] = [retest.source, retest.destination].map(|rank| hosts.host_of(rank));
            let more = alone(retest) - level;
            let number = pairs.iter().position(|pair| (pair.from, pair.to) == (from, to)).unwrap_or_else(|| {
                pairs.push(Pair {
                    from,
                    to,
                    more: vec![f64::NAN; lengths],
                    is_slow: false,
                    ranks: [Vec::new(), Vec::new()],
                });
                pairs.len() - 1
            });
            pairs[number].more[length] = more;
            if more > least {
                pairs[number].is_slow = true;
                let ends = [retest.source, retest.destination].map(|rank| hosts.place_of(rank));
                pairs[number].ranks.iter_mut().zip(ends).for_each(|(own, end)| own.push(end));
            }
        }
    }
    Ok((pairs, usual))
}

/// What may explain several slow pairs: kinds of places whose messages meet, and hosts; of some routes, all of them.
fn candidates(verdict: &Verdict) -> Vec<Place> {
    let distances = &verdict.distances;
    let hosts = distances.leaf.len();
    let leaves: Vec<Vec<usize>> = (0..distances.leaves()).map(|leaf| distances.members(leaf)).collect();
    let pods = distances.pod.iter().max().map_or(0, |last| last + 1);
    let of_pod = |pod: usize| (0..hosts).filter(|host| distances.pod[distances.leaf[*host]] == pod).collect();
    let pods: Vec<Vec<usize>> = (0..if pods > 1 { pods } else { 0 }).map(of_pod).collect();
    let place = |kind, hosts: &[usize], direction, toward: &[usize]| Place {
        kind,
        hosts: hosts.to_vec(),
        direction,
        toward: toward.to_vec(),
        cells: Vec::new(),
    };
    let mut all = Vec::new();
    for direction in [Direction::Send, Direction::Receive] {
        all.extend((0..hosts).map(|host| place(Kind::Node, &[host], direction, &[])));
        all.extend(leaves.iter().chain(&pods).map(|members| place(Kind::Group, members, direction, &[])));
        let several = leaves.iter().filter(|members| members.len() > 1);
        all.extend(several.map(|members| place(Kind::Routes, members, direction, &[])));
    }
    for sets in [&leaves, &pods] {
        let others = |own: usize| (0..sets.len()).filter(move |other| *other != own);
        let ways = (0..sets.len()).flat_map(|own| others(own).map(move |other| (own, other)));
        all.extend(ways.map(|(own, other)| place(Kind::Gate, &sets[own], Direction::Send, &sets[other])));
    }
    all
}

/// By how much a place explains slow pairs better than each of these by itself, and what it is then.
fn explains(
    place: &Place,
    (pairs, per_host): (&[Pair], usize),
    (folded, usual): (&Folded, &Usual),
    (verdict, error): (&Verdict, f64),
) -> Option<(f64, Suspect)> {
    let hosts = folded.hosts();
    // Most places are far from all of them, and which pairs cross a place takes time to find.
    let is_near = |pair: &&Pair| match place.kind {
        Kind::Gate => place.hosts.contains(&pair.from) && place.toward.contains(&pair.to),
        _ => place.hosts.contains(&pair.from) != place.hosts.contains(&pair.to),
    };
    if pairs.iter().filter(|pair| pair.is_slow).filter(is_near).count() < 2 {
        return None;
    }
    let mut place = place.clone();
    if place.kind == Kind::Routes {
        // The destination chooses.
        let is_own = |host: usize| place.hosts.contains(&host);
        let is_there = |pair: &&Pair| match place.direction {
            Direction::Send => is_own(pair.from) && !is_own(pair.to),
            _ => is_own(pair.to) && !is_own(pair.from),
        };
        place.toward = pairs.iter().filter(|pair| pair.is_slow).filter(is_there).map(|pair| pair.to).collect();
        place.toward.sort_unstable();
        place.toward.dedup();
        if place.toward.is_empty() {
            return None;
        }
    }
    let crossing = place.crossing(hosts);
    let own: Vec<&Pair> = pairs.iter().filter(|pair| crossing[pair.from * hosts + pair.to]).collect();
    let slow: Vec<&Pair> = own.iter().copied().filter(|pair| pair.is_slow).collect();
    if slow.len() < 2 || slow.len() as f64 <= places::ALL * own.len() as f64 {
        return None;
    }
    // A way between two sets is slow where hardly anything else is from the one and to the other.
    if place.kind == Kind::Gate {
        let is_of_one = |pair: &&Pair| place.hosts.contains(&pair.from) != place.toward.contains(&pair.to);
        let is_between = |pair: &&Pair| place.hosts.contains(&pair.to) || place.toward.contains(&pair.from);
        let of_one = pairs.iter().filter(|pair| pair.is_slow && is_of_one(pair) && !is_between(pair)).count();
        if of_one as f64 > (1.0 - places::ALL) * slow.len() as f64 {
            return None;
        }
    }
    if (0..2).any(|end| is_of_rail(&slow, end, per_host)) {
        return None;
    }
    let of = |length: usize| {
        let known = slow.iter().map(|pair| pair.more[length]).filter(|more| !more.is_nan());
        median(&mut known.collect::<Vec<_>>())
    };
    let effects: Vec<f64> = (0..folded.lengths.len()).map(of).collect();
    let is_slow = |length: &usize| effects[*length] > usual.least[*length];
    let lengths: Vec<usize> = (0..effects.len()).filter(is_slow).collect();
    let range = (*lengths.first()?, *lengths.last()?);
    let effect = median(&mut lengths.iter().map(|length| effects[*length]).collect::<Vec<_>>());
    // Among others nothing is faster than alone.
    let is_borne_out = |cells: &mut dyn Iterator<Item = usize>| {
        let excess = |cell: usize| {
            let of_length = |length: &usize| folded.from_to(*length, cell / hosts, cell % hosts) - usual.level[*length];
            median(&mut lengths.iter().map(of_length).filter(|value| !value.is_nan()).collect::<Vec<_>>())
        };
        let values: Vec<f64> = cells.map(excess).filter(|value| !value.is_nan()).collect();
        let slow = values.iter().filter(|value| **value >= effect / 2.0).count();
        (slow as f64 > places::ALL * values.len() as f64 || values.is_empty(), Agreement { slow, of: values.len() })
    };
    let (is_so, cells) = is_borne_out(&mut (0..hosts * hosts).filter(|cell| crossing[*cell]));
    // A host is slow inside of its leaf too.
    let leaf = &verdict.distances.leaf;
    let is_inside = |cell: &usize| crossing[*cell] && leaf[cell / hosts] == leaf[cell % hosts];
    let is_everywhere = place.kind != Kind::Node || is_borne_out(&mut (0..hosts * hosts).filter(is_inside)).0;
    let is_whole = place.kind != Kind::Group || is_slow_elsewhere(&place, &slow, (folded, &lengths), leaf, effect);
    let leaves = verdict.distances.leaves() as f64;
    let number = hosts as f64;
    let price = match place.kind {
        Kind::Node => (2.0 * number).ln(),
        Kind::Gate => (leaves * (leaves - 1.0)).ln(),
        Kind::Routes => (2.0 * leaves).ln() + place.toward.len() as f64 * number.ln(),
        _ => (2.0 * leaves).ln(),
    };
    let score = slow.len() as f64 * (number * (number - 1.0)).ln() - price;
    (is_so && is_everywhere && is_whole && score > -error).then(|| {
        let suspect = Suspect { place, effect, log: -score, range, effects, cells, excesses: Vec::new() };
        (score, suspect)
    })
}

/// Whether the ranks at one end of slow pairs are not of most places that hosts have: what is slow may be a rail of theirs.
fn is_of_rail(slow: &[&Pair], end: usize, per_host: usize) -> bool {
    let mut places: Vec<usize> = slow.iter().flat_map(|pair| pair.ranks[end].iter().copied()).collect();
    places.sort_unstable();
    places.dedup();
    2 * places.len() <= per_host
}

/// Whether a whole way is as slow where no pair was measured again: those that were are the slowest. Toward destinations,
/// which choose among its routes, and inward from other leaves, as the way from one of them may be slow. Of a way on which
/// messages meet the fastest pairs say so.
fn is_slow_elsewhere(
    place: &Place,
    slow: &[&Pair],
    (folded, lengths): (&Folded, &[usize]),
    leaf: &[usize],
    effect: f64,
) -> bool {
    let hosts = folded.hosts();
    let is_in = |host: usize| place.hosts.contains(&host);
    let is_sent = place.direction == Direction::Send;
    let crossing = |cell: &(usize, usize)| is_in(cell.0) == is_sent && is_in(cell.1) != is_sent;
    let level = |(from, to): (usize, usize)| {
        let times = lengths.iter().map(|length| folded.from_to(*length, from, to));
        median(&mut times.filter(|time| !time.is_nan()).collect::<Vec<_>>())
    };
    // How much more the fastest pairs take with ends that are known to be slow than with others.
    let more = |end: &dyn Fn((usize, usize)) -> usize, is_known: &dyn Fn(usize) -> bool| {
        let mut of_end = vec![Vec::new(); hosts];
        let cells = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(crossing);
        cells.for_each(|cell| of_end[end(cell)].push(level(cell)));
        let (mut known, mut others) = (Vec::new(), Vec::new());
        for (end, times) in of_end.iter_mut().enumerate().filter(|(_, times)| !times.is_empty()) {
            times.retain(|time| !time.is_nan());
            if is_known(end) { &mut known } else { &mut others }.push(quantile(times, places::USUAL));
        }
        median(&mut known) - median(&mut others)
    };
    // Said with fewer words as any of all destinations than as some of them, and each of these.
    let ends = (if is_sent { hosts - place.hosts.len() } else { place.hosts.len() }) as f64;
    let mut to: Vec<usize> = slow.iter().map(|pair| pair.to).collect();
    to.sort_unstable();
    to.dedup();
    let (some, count) = (to.len() as f64, slow.len() as f64);
    if ln_binomial(ends as u64, to.len() as u64) + count * some.ln() < count * ends.ln() {
        return false;
    }
    let of_destinations = more(&|cell| cell.1, &|to| slow.iter().any(|pair| pair.to == to));
    let of_sources = more(&|cell| cell.0, &|from| slow.iter().any(|pair| leaf[pair.from] == leaf[from]));
    [of_destinations, of_sources].iter().all(|more| more.is_nan() || *more <= effect / 2.0)
}

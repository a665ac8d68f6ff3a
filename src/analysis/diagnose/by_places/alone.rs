//! What is slow alone though others on the way hide it.
//!
//! In: a run among whose pairs several are measured at the same time, and what was found in it. Out: a [`Suspect`], if any.
//! The slowest pairs of a run are measured again alone: nothing meets there, and noise is small. A place explains those that
//! are slow and cross it, where hardly any cross it that are not; and what its pairs take among others is no less than that.
//! How many of its other pairs are slow among others, beyond chance, counts for it too: one pair that was measured again is
//! then enough. What is slow alone without such a place is left to [`super::retests`].
//!
//! What it cannot see: more than one place; rails; cables of a torus; whatever short messages show, of which ways differ;
//! ways between hosts of two kinds.

use statrs::{
    distribution::{ContinuousCDF, Normal},
    function::factorial::ln_binomial,
};

use super::retests::{fastest, healthy, spread};
use crate::{
    analysis::diagnose::{
        Agreement, Direction, Kind,
        folded::Folded,
        places::{self, Asked, Least, Place, Set, Suspect, Verdict},
    },
    record::{BoxError, Retest, Run},
    stats::{gain_over_rest, median, quantile},
};

/// A pair of hosts that was measured again alone.
struct Pair {
    from: usize,
    to: usize,
    /// What it takes more than healthy ones, `ln(ratio)`, `[length]`; NaN where it was not measured again.
    more: Vec<f64>,
    is_slow: bool,
}

/// What healthy pairs take alone, `ln(time / level)`, `[length][class]`, and what is slow, `[length]`; NaN where that is not
/// known.
struct Usual {
    level: Vec<Vec<f64>>,
    least: Vec<f64>,
}

/// What pairs take among others and alone.
struct Times<'a> {
    folded: &'a Folded,
    verdict: &'a Verdict,
    usual: Usual,
    /// Logarithm of the probability of a finding on a healthy machine.
    error: f64,
}

/// The place that is slow alone. `is_explained`: pairs that cross what was found, `[source * hosts + destination]`.
pub(super) fn find(
    run: &dyn Run,
    is_left_out: &[bool],
    (folded, verdict): (&Folded, &Verdict),
    is_explained: &[bool],
    asked: Asked,
) -> Result<Option<Suspect>, BoxError> {
    let distances = &verdict.distances;
    if distances.is_torus() || distances.leaves() < 2 || verdict.kinds.is_some() {
        return Ok(None);
    }
    let (pairs, usual) = measured_alone(run, is_left_out, (folded, verdict), is_explained, asked)?;
    let times = Times { folded, verdict, usual, error: (1.0 - asked.confidence).ln() };
    let explained = candidates(verdict).into_iter().filter_map(|place| times.explains(place, &pairs));
    let found = explained.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, suspect)| suspect);
    // Several places fail at once less often than there is one that is not known: groups of leaves that were not found.
    let are_nearly_all = |suspect: &Suspect| {
        let crossing = suspect.place.crossing(folded.hosts());
        let slow = || pairs.iter().filter(|pair| pair.is_slow);
        let own = slow().filter(|pair| crossing[pair.from * folded.hosts() + pair.to]).count();
        own as f64 >= places::ALL * slow().count() as f64
    };
    Ok(found.filter(are_nearly_all))
}

/// The pairs that were measured again and cross nothing that was found, in long messages; and what is usual of these.
fn measured_alone(
    run: &dyn Run,
    is_left_out: &[bool],
    (folded, verdict): (&Folded, &Verdict),
    is_explained: &[bool],
    asked: Asked,
) -> Result<(Vec<Pair>, Usual), BoxError> {
    let (hosts, lengths, distances) = (&run.header().hosts, folded.lengths.len(), &verdict.distances);
    let mut pairs: Vec<Pair> = Vec::new();
    let mut usual = Usual { level: vec![vec![f64::NAN; distances.classes]; lengths], least: vec![f64::NAN; lengths] };
    for length in (0..lengths).filter(|length| places::is_long(folded, *length)) {
        let mut again = run.retests(length)?;
        again.retain(|retest| {
            let [from, to] = [retest.source, retest.destination].map(|rank| hosts.host_of(rank));
            let is_out = is_left_out[retest.source] || is_left_out[retest.destination];
            from != to && !is_out && !is_explained[from * hosts.count() + to]
        });
        let pair = |retest: &Retest| (hosts.host_of(retest.source), hosts.host_of(retest.destination));
        let class = |(from, to): (usize, usize)| distances.class(from, to);
        let alone = |retest: &Retest| (retest.alone / folded.level[length]).ln();
        let times = again.iter().map(|retest| (class(pair(retest)), alone(retest)));
        let times: Vec<(usize, f64)> = times.filter(|(_, time)| time.is_finite()).collect();
        let most = Normal::standard().inverse_cdf(1.0 - (1.0 - asked.confidence) / times.len().max(1) as f64);
        let apart = |level: &[f64]| {
            most * spread(&mut times.iter().map(|(class, time)| time - level[*class]).collect::<Vec<_>>())
        };
        // Alone nothing takes longer than among others, however many of those that were measured again are slow.
        let among_others = fastest(folded, verdict, length, is_explained);
        let all = healthy(&mut times.iter().map(|(_, time)| *time).collect::<Vec<_>>());
        let mut level: Vec<f64> = among_others.iter().map(|least| all.min(*least)).collect();
        // Where pairs of different distance are so far apart that what is slow would not stand out, those of each are compared
        // with each other.
        if apart(&level) > Least::OF_TIMES.link {
            let mut of_class = vec![Vec::new(); distances.classes];
            times.iter().for_each(|(class, time)| of_class[*class].push(*time));
            level = of_class.iter_mut().zip(among_others).map(|(own, least)| healthy(own).min(least)).collect();
        }
        let tick = folded.apart / folded.level[length];
        usual.least[length] = Least::OF_TIMES.link.max(apart(&level)).max(tick);
        for retest in &again {
            let (from, to) = pair(retest);
            let more = alone(retest) - level[class((from, to))];
            let number = pairs.iter().position(|pair| (pair.from, pair.to) == (from, to)).unwrap_or_else(|| {
                pairs.push(Pair { from, to, more: vec![f64::NAN; lengths], is_slow: false });
                pairs.len() - 1
            });
            pairs[number].more[length] = more;
            pairs[number].is_slow |= more > usual.least[length];
        }
        usual.level[length] = level;
    }
    Ok((pairs, usual))
}

/// What may explain several slow pairs: kinds of places whose messages meet, and hosts; of some routes, all of them.
fn candidates(verdict: &Verdict) -> Vec<Place> {
    let [pods, leaves] = places::sets(&verdict.distances);
    let hosts = verdict.distances.leaf.len();
    let mut all = Vec::new();
    for direction in [Direction::Send, Direction::Receive, Direction::Both] {
        all.extend((0..hosts).map(|host| Place::of(Kind::Node, vec![host], direction)));
        let of_set = |kind| move |set: &Set| Place::of(kind, set.members.clone(), direction);
        // A leaf of one host is that host.
        let are_several = |set: &&Set| set.members.len() > 1;
        all.extend(leaves.iter().chain(&pods).filter(are_several).map(of_set(Kind::Group)));
        all.extend(leaves.iter().filter(are_several).map(of_set(Kind::Routes)));
    }
    for sets in [&leaves, &pods] {
        let ways = (0..sets.len()).flat_map(|own| (0..sets.len()).map(move |other| (own, other)));
        for (own, other) in ways.filter(|(own, other)| own != other) {
            let way = |direction| Place {
                toward: sets[other].members.clone(),
                ..Place::of(Kind::Gate, sets[own].members.clone(), direction)
            };
            all.push(way(Direction::Send));
            all.extend((own < other).then(|| way(Direction::Both)));
        }
    }
    all
}

impl Times<'_> {
    /// By how much a place explains slow pairs better than each of these by itself, and what it is then.
    fn explains(&self, mut place: Place, pairs: &[Pair]) -> Option<(f64, Suspect)> {
        let hosts = self.folded.hosts();
        // Which pairs cross a place takes time to find, and most places are far from all slow ones.
        let near: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_slow && is_near(&place, pair)).collect();
        if near.is_empty() {
            return None;
        }
        if place.kind == Kind::Routes {
            // The destination chooses.
            let ways = near.iter().filter(|pair| place.direction.ways().contains(&way(&place, pair)));
            place.toward = ways.map(|pair| pair.to).collect();
            place.toward.sort_unstable();
            place.toward.dedup();
        }
        let crossing = place.crossing(hosts);
        let is_crossing = |pair: &&Pair| crossing[pair.from * hosts + pair.to];
        let slow: Vec<&Pair> = near.into_iter().filter(|pair| is_crossing(pair)).collect();
        let ways = place.direction.ways();
        let is_this = |pair: &Pair, direction: Direction| way(&place, pair) == direction;
        let slow_of = |direction| slow.iter().copied().filter(|pair| is_this(pair, direction)).collect::<Vec<_>>();
        // At lengths at which none but these were measured again, nothing says what is usual.
        let mut is_known = vec![false; self.folded.lengths.len()];
        for other in pairs.iter().filter(|pair| !is_crossing(pair)) {
            is_known.iter_mut().zip(&other.more).for_each(|(is_known, more)| *is_known |= !more.is_nan());
        }
        let has_peers = |pair: &&Pair| pair.more.iter().zip(&is_known).any(|(more, known)| *known && !more.is_nan());
        let are_slow = |direction: &Direction| {
            let own = pairs.iter().filter(is_crossing).filter(|pair| is_this(pair, *direction));
            let own = own.filter(has_peers).count();
            let slow = slow_of(*direction).len();
            slow > 0 && slow as f64 > places::ALL * own as f64
        };
        // What makes a pair slow by itself mostly does both ways.
        let mut apart: Vec<(usize, usize)> =
            slow.iter().map(|pair| (pair.from.min(pair.to), pair.from.max(pair.to))).collect();
        apart.sort_unstable();
        apart.dedup();
        if !ways.iter().all(are_slow) {
            return None;
        }
        let of = |length: usize| {
            let known = slow.iter().map(|pair| pair.more[length]).filter(|more| !more.is_nan());
            median(&mut known.collect::<Vec<_>>())
        };
        let effects: Vec<f64> = (0..self.folded.lengths.len()).map(of).collect();
        let lengths: Vec<usize> =
            (0..effects.len()).filter(|length| effects[*length] > self.usual.least[*length]).collect();
        let range = (*lengths.first()?, *lengths.last()?);
        let effect = median(&mut lengths.iter().map(|length| effects[*length]).collect::<Vec<_>>());
        // Alone noise is small, and all that leaves or reaches a group crosses the whole of its way: none is fast there.
        let is_fast = |pair: &Pair| {
            let known = lengths.iter().filter(|length| is_known[**length]).map(|length| pair.more[*length]);
            median(&mut known.filter(|more| !more.is_nan()).collect::<Vec<_>>()) <= effect / 2.0
        };
        let mut of_ways = pairs.iter().filter(is_crossing).filter(|pair| ways.contains(&way(&place, pair)));
        if place.kind == Kind::Group && of_ways.any(is_fast) {
            return None;
        }
        // Among others nothing is faster than alone, and a host is slow inside of its leaf too.
        let cells = || (0..hosts * hosts).filter(|cell| crossing[*cell]);
        let of_place = self.borne_out(&mut cells(), &lengths, effect);
        let leaf = &self.verdict.distances.leaf;
        let inside = &mut cells().filter(|cell| leaf[cell / hosts] == leaf[cell % hosts]);
        let is_so = are_all(of_place)
            && (place.kind != Kind::Node || are_all(self.borne_out(inside, &lengths, effect)))
            && (place.kind != Kind::Group
                || ways.iter().all(|way| self.is_slow_elsewhere((&place, *way), &slow_of(*way), &lengths, effect)));
        if !is_so {
            return None;
        }
        let leaves = self.verdict.distances.leaves() as f64;
        let number = hosts as f64;
        // As many are looked at: one way, the other way and both. Of some routes also as many choices of so many destinations,
        // and these numbers.
        let price = match place.kind {
            Kind::Node => (3.0 * number).ln(),
            Kind::Gate => (1.5 * leaves * (leaves - 1.0)).ln(),
            Kind::Routes => (3.0 * leaves).ln() + number.ln() + ln_binomial(hosts as u64, place.toward.len() as u64),
            _ => (3.0 * leaves).ln(),
        };
        let all_pairs = (number * (number - 1.0)).ln();
        let others = self.beyond_pairs(&apart, &crossing, &lengths, effect);
        // A pair that is slow both ways is one fact.
        let count = if apart.len() == 1 { 1 } else { slow.len() };
        let score = count as f64 * all_pairs + others - price;
        (score > -self.error).then(|| {
            let suspect = Suspect { effects, cells: of_place, ..Suspect::at(place, effect, -score, range) };
            (score, suspect)
        })
    }

    /// How many of these cells take among others at least what is slow alone at these lengths, as far as a pair is known; by
    /// half of the effect at least.
    fn borne_out(&self, cells: &mut dyn Iterator<Item = usize>, lengths: &[usize], effect: f64) -> Agreement {
        let hosts = self.folded.hosts();
        let excess = |cell: usize| {
            let (from, to) = (cell / hosts, cell % hosts);
            let class = self.verdict.distances.class(from, to);
            let more = |length: &usize| self.folded.from_to(*length, from, to) - self.usual.level[*length][class];
            median(&mut lengths.iter().map(more).filter(|value| !value.is_nan()).collect::<Vec<_>>())
        };
        let values: Vec<f64> = cells.map(excess).filter(|value| !value.is_nan()).collect();
        let error = lengths.iter().map(|length| self.usual.least[*length]).fold(0.0, f64::max);
        let least = (effect - error).max(effect / 2.0);
        Agreement { slow: values.iter().filter(|value| **value >= least).count(), of: values.len() }
    }

    /// Logarithm of how much likelier it is that so many pairs of a place but these are slow among others than that they meet
    /// others there by chance, as pairs of different leaves do elsewhere. `apart`: pairs of hosts, the smaller number first.
    fn beyond_pairs(&self, apart: &[(usize, usize)], crossing: &[bool], lengths: &[usize], effect: f64) -> f64 {
        let (hosts, leaf) = (self.folded.hosts(), &self.verdict.distances.leaf);
        let is_apart = |from: usize, to: usize| apart.contains(&(from.min(to), from.max(to)));
        let of = |is_counted: &dyn Fn(usize) -> bool| {
            self.borne_out(&mut (0..hosts * hosts).filter(|cell| is_counted(*cell)), lengths, effect)
        };
        let own = of(&|cell| crossing[cell] && !is_apart(cell / hosts, cell % hosts));
        let elsewhere = of(&|cell| !crossing[cell] && leaf[cell / hosts] != leaf[cell % hosts]);
        let counts = |cells: Agreement| [cells.slow as f64, cells.of as f64];
        let count = own.of.max(1) as f64;
        gain_over_rest(counts(own), counts(elsewhere)) * places::distinct(count, hosts) / count
    }

    /// Whether a whole way is as slow where no pair was measured again: those that were are the slowest. Toward destinations,
    /// which choose among its routes, and inward from other leaves, as the way from one of them may be slow. Of a way on which
    /// messages meet the fastest pairs say so.
    fn is_slow_elsewhere(
        &self,
        (place, way): (&Place, Direction),
        slow: &[&Pair],
        lengths: &[usize],
        effect: f64,
    ) -> bool {
        let (hosts, leaf) = (self.folded.hosts(), &self.verdict.distances.leaf);
        let is_in = |host: usize| place.hosts.contains(&host);
        let is_sent = way == Direction::Send;
        let crossing = |cell: &(usize, usize)| is_in(cell.0) == is_sent && is_in(cell.1) != is_sent;
        let level = |(from, to): (usize, usize)| {
            let times = lengths.iter().map(|length| self.folded.from_to(*length, from, to));
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
        // Said with fewer words as any of all destinations than as some of them, and each of these; or nearly all of them: one
        // of two cables carries half of them.
        let ends = (if is_sent { hosts - place.hosts.len() } else { place.hosts.len() }) as f64;
        let mut to: Vec<usize> = slow.iter().map(|pair| pair.to).collect();
        to.sort_unstable();
        to.dedup();
        let (some, count) = (to.len() as f64, slow.len() as f64);
        let are_fewer = ln_binomial(ends as u64, to.len() as u64) + count * some.ln() < count * ends.ln();
        if are_fewer && some <= places::ALL * ends {
            return false;
        }
        let of_destinations = more(&|cell| cell.1, &|to| slow.iter().any(|pair| pair.to == to));
        let of_sources = more(&|cell| cell.0, &|from| slow.iter().any(|pair| leaf[pair.from] == leaf[from]));
        [of_destinations, of_sources].iter().all(|more| more.is_nan() || *more <= effect / 2.0)
    }
}

/// Whether a pair may cross a place.
fn is_near(place: &Place, pair: &Pair) -> bool {
    let is_between = |from, to| place.hosts.contains(from) && place.toward.contains(to);
    match place.kind {
        Kind::Gate => is_between(&pair.from, &pair.to) || is_between(&pair.to, &pair.from),
        _ => place.hosts.contains(&pair.from) != place.hosts.contains(&pair.to),
    }
}

/// Which way a pair crosses a place.
fn way(place: &Place, pair: &Pair) -> Direction {
    if place.hosts.contains(&pair.from) { Direction::Send } else { Direction::Receive }
}

/// Whether nearly all of these cells are slow; nothing speaks against it where none are known.
fn are_all(cells: Agreement) -> bool {
    cells.of == 0 || cells.slow as f64 > places::ALL * cells.of as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::{diagnose::places::Distances, drawn::square},
        plan::Mode,
    };

    #[test]
    fn a_leaf_of_one_host_is_that_host() {
        let folded = Folded::of_logarithms(&[8], vec![square(5, |_, _| 0.0)]);
        let distances = Distances::of_leaves(vec![0, 0, 1, 1, 2]);
        let verdict = places::judge_with(
            &folded,
            distances,
            Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES },
            &[],
        );
        let all = candidates(&verdict);
        let of = |kind: Kind| all.iter().filter(move |place| place.kind == kind);
        assert!(of(Kind::Group).chain(of(Kind::Routes)).all(|place| place.hosts.len() == 2));
        assert_eq!((of(Kind::Group).count(), of(Kind::Node).count()), (6, 15));
    }

    #[test]
    fn what_takes_less_among_others_than_it_would_alone_bears_nothing_out() {
        // Between two leaves messages meet, and take twice as long as alone.
        let is_way = |i: usize, j: usize| i / 4 != j / 4;
        let folded = Folded::of_logarithms(&[8], vec![square(8, |i, j| if is_way(i, j) { 2f64.ln() } else { 0.0 })]);
        let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
        let verdict = places::judge_with(&folded, Distances::flat(8), asked, &[]);
        let usual = Usual { level: vec![vec![folded.from_to(0, 0, 1)]], least: vec![0.1] };
        let times = Times { folded: &folded, verdict: &verdict, usual, error: -4.6 };
        let slow = |ratio: f64| {
            let mut cells = (0..64).filter(|cell| is_way(cell / 8, cell % 8));
            times.borne_out(&mut cells, &[0], ratio.ln()).slow
        };
        assert_eq!([2.0, 3.0].map(slow), [32, 0]);
    }

    /// Whether the way out of the first of four leaves, which is slow, is named by these pairs and what they take more alone.
    fn is_way_out_named(pairs: &[((usize, usize), [f64; 2])]) -> bool {
        let is_way = |i: usize, j: usize| (i / 4 == 0) != (j / 4 == 0);
        let slow = || square(16, |i, j| if is_way(i, j) { 2f64.ln() } else { 0.0 });
        let folded = Folded::of_logarithms(&[8, 16], vec![slow(), slow()]);
        let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
        let distances = Distances::of_leaves((0..16).map(|host| host / 4).collect());
        let verdict = places::judge_with(&folded, distances, asked, &[]);
        let level = |length: usize| vec![folded.from_to(length, 0, 1); 2];
        let usual = Usual { level: vec![level(0), level(1)], least: vec![0.1; 2] };
        let times = Times { folded: &folded, verdict: &verdict, usual, error: -4.6 };
        let pair = |&((from, to), more): &((usize, usize), [f64; 2])| {
            let is_slow = more.iter().any(|more| *more > 0.1);
            Pair { from, to, more: more.to_vec(), is_slow }
        };
        let pairs: Vec<Pair> = pairs.iter().map(pair).collect();
        times.explains(Place::of(Kind::Group, vec![0, 1, 2, 3], Direction::Send), &pairs).is_some()
    }

    #[test]
    fn where_none_but_pairs_of_a_leaf_were_measured_again_that_they_are_alike_says_nothing() {
        // At the first length none but pairs of the leaf were measured again.
        let slow = [(0, 5), (1, 10), (2, 13), (3, 7)].map(|ends| (ends, [f64::NAN, 2f64.ln()]));
        let alike = [(0, 9), (1, 14), (2, 6), (3, 12)].map(|ends| (ends, [0.0, f64::NAN]));
        let with = |other: [f64; 2]| [&slow[..], &alike, &[((5, 9), other)]].concat();
        assert!(is_way_out_named(&with([f64::NAN, 0.0])));
        // Another one at that length says that these are as fast as usual.
        assert!(!is_way_out_named(&with([0.0, 0.0])));
    }

    #[test]
    fn of_a_whole_way_no_pair_is_as_fast_alone_as_others() {
        let slow = [(0, 5), (1, 10), (2, 13), (3, 7)].map(|ends| (ends, [2f64.ln(); 2]));
        let with = |fifth: f64| [&slow[..], &[((0, 9), [fifth; 2]), ((5, 9), [0.0; 2])]].concat();
        assert!(is_way_out_named(&with(2f64.ln())));
        // Four of five are nearly all, but not of what all of them cross.
        assert!(!is_way_out_named(&with(0.0)));
    }

    #[test]
    fn the_others_that_cross_a_place_say_more_of_it_the_fewer_pairs_are_slow_elsewhere() {
        // All pairs toward one of 16 hosts from other leaves are slow, but for so many.
        let beyond = |every: usize, fast: usize| {
            let is_own = |i: usize, j: usize| j == 5 && i / 4 != 1;
            let is_slow =
                |i: usize, j: usize| if is_own(i, j) { i >= fast } else { (i * 7 + j * 3).is_multiple_of(every) };
            let folded =
                Folded::of_logarithms(&[8], vec![square(16, |i, j| if is_slow(i, j) { 2f64.ln() } else { 0.0 })]);
            let asked = Asked { mode: Mode::OneToOne, confidence: 0.99, least: Least::OF_TIMES };
            let distances = Distances::of_leaves((0..16).map(|host| host / 4).collect());
            let verdict = places::judge_with(&folded, distances, asked, &[]);
            let usual = Usual { level: vec![vec![folded.from_to(0, 0, 3); 2]], least: vec![0.1] };
            let times = Times { folded: &folded, verdict: &verdict, usual, error: -4.6 };
            let crossing: Vec<bool> = (0..256).map(|cell| is_own(cell / 16, cell % 16)).collect();
            times.beyond_pairs(&[(5, 9)], &crossing, &[0], 2f64.ln())
        };
        // Eleven more pairs in fifteen rounds count as 7.8; about one of two and of eight others are slow.
        assert!((beyond(2, 0) / 7.8 / 2f64.ln() - 1.0).abs() < 0.15, "{}", beyond(2, 0));
        assert!((beyond(8, 0) / 7.8 / 8f64.ln() - 1.0).abs() < 0.15, "{}", beyond(8, 0));
        // Where one of twelve is fast it is less, and nothing where no more of them are slow than of others.
        let term = |share: f64, usual: f64| share * (share / usual).ln();
        let of_eleven = term(11.0 / 12.0, 1.0 / 8.0) + term(1.0 / 12.0, 7.0 / 8.0);
        assert!((beyond(8, 1) / 7.8 / of_eleven - 1.0).abs() < 0.15, "{}", beyond(8, 1));
        assert_eq!(beyond(2, 12), 0.0);
    }
}

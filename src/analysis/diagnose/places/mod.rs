//! Which places of a machine are slow: the model of times, and how places are chosen.
//!
//! In: times by hosts ([`Folded`]). Out: [`Verdict`]: [`Suspect`]s with size, range of lengths and cells that agree.
//!
//! The model. A message from i to j takes the cores of both ends and the hops between them (short messages: parts add),
//! and for every byte the time of the slowest of both cards and all cables (long messages: the slowest counts, once).
//! So
//!
//! * *distance classes* are found in short messages alone ([`distance`]): same leaf, same pod, elsewhere; or hops
//!   of a torus, steps between the routers of a dragonfly;
//! * whole *kinds* of hosts that differ make classes of their own, and no finding;
//! * in each [`View`], lengths that are looked at together because what they share must count once, hosts add their part to
//!   the class's time ([`fit`]), and every pair has a rest;
//! * a *place* is slow if the pairs that cross it are slower than its peers' pairs, by more than peers differ ([`spread`]).
//!
//! Places are looked for from the large ones to the small ones, as only then each is compared with what is left:
//!
//! ```text
//! ways of pods, of leaves -> ways between two pods -> some routes of leaves -> ways between two leaves
//!     -> ways of leaves that are not known -> cables of a torus -> hosts -> hosts with some others -> links
//! ```
//!
//! Hosts that are slow toward all others and not with each other share a way: where so few pairs were measured that leaves are
//! not known, or not all of them, sets of hosts are looked for that explain the pairs ([`unknown`]); and hosts that were found
//! are put together ([`common`]).
//! In a collective, whose cells are not their pairs' own, hosts alone are looked for, with rules of their own ([`collective`]).
//! Ranks and rails are numbers that are compared with each other in the same way ([`peers`]).
//!
//! Where a run says when every pair was measured, hosts that are slow for a part of the time are named by that
//! ([`bursts`]), and a fabric that is ([`busy`]) is a remark; what was measured meanwhile is left out, and the places are
//! judged again. Pods and leaves that are slow as soon as several of their messages are on the way are looked for last
//! ([`loaded`]): they are a remark, and take nothing of the errors that follow. What is as fast as its peers once it is
//! measured again alone hides nothing: the others are judged once more without it.
//!
//! Where one pair at a time is measured, links are also found by what pairs take when they are measured again ([`again`]).
//!
//! What crosses a place that was found is left out from there on. A new kind of place is a function that takes a view
//! and yields suspects, and a line in [`search`].
//!
//! Errors: of the probability that a healthy run has any finding, half is for whole hosts, which is what mostly fails,
//! and the rest is divided evenly among the other kinds of places; within a kind, every place that is looked at has its
//! share, and every view, as far as views say different things ([`Budget`]). The number that decides is the one that is
//! printed ([`Suspect::log`]).
//!
//! What it cannot distinguish: which of two leaves has the slow way (it says so); a leaf whose hosts all have slow
//! cards from a slow leaf switch, where hosts of the leaf were not measured among each other (it says the leaf if that is
//! known, and its hosts otherwise); which cable it is that some pairs share where no leaves are known (it says so); a kind
//! of hosts from very many faults; faults on more than half of the peers. A host most of whose pairs cross what was found is
//! not judged as a whole, and one of which fewer ranks are known than of most not by some of its pairs.

mod again;
mod bursts;
mod cables;
mod collective;
mod common;
mod distance;
mod fit;
mod hosts;
mod jitter;
mod kinds;
mod leaves;
mod links;
mod load;
mod mixture;
pub mod peers;
mod place;
mod rounds;
mod routes;
mod spread;
mod steps;
mod torus;
mod tree;
mod unknown;
mod verdict;
mod view;

use rayon::prelude::*;

pub use again::{Slow, find as again};
pub use bursts::{Burst, busy, find as bursts};
pub use cables::may_cross;
pub use distance::Distances;
pub use fit::{EFFICIENCY, PRECISION, USUAL, most_error_of_median};
pub use jitter::{Scatterer, find as jitter};
pub use leaves::{ALL, sets};
pub use load::find as loaded;
pub use place::{Place, Set, Suspect};
pub use rounds::{distinct, lengths};
pub use spread::tail;
pub use verdict::Verdict;
pub use view::is_long;
use view::{View, bands, independent_views, medians, together};

use super::{Direction, Kind, folded::Folded};
use crate::{
    plan::Mode,
    record::{BoxError, Run},
};

/// What is known of healthy machines beforehand, and least effects, `ln(ratio)`, that are worth a word: what is
/// significant may still be too small for anybody to walk there.
#[derive(Clone, Copy, Debug)]
pub struct Least {
    /// Standard deviation by which healthy hosts are expected to differ in latency.
    pub alike: f64,
    /// The same of long messages.
    pub alike_long: f64,
    /// Of a host.
    pub host: f64,
    /// Of the way of a leaf, of some of its routes, of a way between two sets.
    pub way: f64,
    /// Of a link.
    pub link: f64,
}

impl Least {
    /// Of the times of a run: healthy hosts differ by 1 to 3 % in latency, and in long messages so that two deviations are
    /// the least of a host; 2 % for a host; more for a way, as healthy cables differ in latency; more for a link, as the
    /// routes of healthy pairs differ.
    pub const OF_TIMES: Self = {
        let host = 0.02;
        Self { alike: 0.03, alike_long: host / 2.0, host, way: 0.05, link: 0.1 }
    };

    /// Standard deviation by which healthy hosts are expected to differ in messages of which latency is such a share.
    fn alike_at(self, latency: f64) -> f64 {
        (self.alike * latency).max(self.alike_long)
    }

    /// Of a place. What some pairs of a host share may be a way.
    fn of_place(self, place: &Place, is_long: bool) -> f64 {
        let is_part = place.kind == Kind::Node && !place.toward.is_empty();
        if is_part { self.way } else { self.of(place.kind, is_long) }
    }

    /// Of a place of a kind. Healthy ways differ in latency, and in long messages no more than hosts.
    fn of(self, kind: Kind, is_long: bool) -> f64 {
        match kind {
            Kind::Node | Kind::Rank | Kind::Fabric => self.host,
            Kind::Group | Kind::Rail if is_long => self.host,
            Kind::Group | Kind::Routes | Kind::Gate | Kind::Cable | Kind::Rail => self.way,
            Kind::Link => self.link,
        }
    }
}

/// Passes over all searches: what is found first may hide something else.
const PASSES: usize = 3;

/// Probability below which something is no coincidence, where that chooses between two ways to say what is slow, guards what
/// another test has found, or ends a search whose rest is judged afterwards: an error costs little, so that it has the level
/// of one in twenty (Fisher 1925).
pub const COINCIDENCE: f64 = 0.05;

/// Share of the pairs that show distances, however few hosts there are: a leaf of two hosts shows in one pair, which was then
/// measured more often than not.
const LEAST_MEASURED: f64 = 0.5;

/// Or others that two hosts have both met, in the mean. Others of their leaves show that two hosts are of different ones: they
/// differ by 58 % more than of one leaf ([`tree`]). The mean over n others errs by `sqrt((pi / 2 - 1) / n)`; of five, 1.64
/// times that, which is exceeded in one of twenty cases, is less: 55 %.
const LEAST_SHARED: f64 = 5.0;

/// How much somebody looks at, and what may come of chance.
#[derive(Clone, Copy)]
struct Budget {
    /// As how many of them the views count that are looked at ([`view::independent_views`]).
    views: f64,
    /// Logarithm of the probability of any finding of a kind on a healthy machine.
    error: f64,
    least: Least,
}

impl Budget {
    /// Logarithm of how many places of a kind are looked at, in all views.
    fn price(self, places: usize) -> f64 {
        (places.max(1) as f64 * self.views).ln()
    }

    /// Whether something of this logarithmic probability, its price included, is beyond chance.
    fn allows(self, log: f64) -> bool {
        log < self.error
    }
}

/// Looks for places of one kind.
type Search<'a> = &'a (dyn Fn(&View) -> Vec<Suspect> + Sync);

/// What is asked of the search.
#[derive(Clone, Copy)]
pub struct Asked {
    /// How times were measured.
    pub mode: Mode,
    /// Probability with which a healthy run has no finding.
    pub confidence: f64,
    /// What is too small to be found.
    pub least: Least,
}

/// The shortest messages of a run, by number: those that show where hosts are.
pub fn shortest(folded: &Folded) -> Vec<usize> {
    bands(&folded.level).into_iter().next().unwrap_or_default()
}

/// What distances are seen in where hosts have several ranks: the shortest messages between ranks of the same place
/// ([`Folded::side_by_side`]).
pub fn near(run: &dyn Run, folded: &Folded) -> Result<Option<Folded>, BoxError> {
    let is_several = run.ranks() > folded.hosts();
    is_several.then(|| Folded::side_by_side(run, &shortest(folded))).transpose()
}

/// Whether so many pairs were measured that these show who is near whom, and that no leaves are found means that there are none.
fn shows_distances(folded: &Folded) -> bool {
    let share = folded.measured();
    share >= LEAST_MEASURED || share.powi(2) * folded.hosts() as f64 >= LEAST_SHARED
}

/// Who is near whom in a run, by its shortest messages. `known`: groups that somebody knows, `[host]`.
pub fn distances(folded: &Folded, mode: Mode, known: Option<&[usize]>) -> Distances {
    if mode == Mode::Bcast {
        return collective::distances(folded);
    }
    let shortest = shortest(folded);
    if mode.is_collective() || shortest.is_empty() {
        return Distances::flat(folded.hosts());
    }
    let mut short = folded.of_lengths(&shortest);
    short.times.iter_mut().for_each(|times| *times = times.filled());
    let all = (0..shortest.len()).collect();
    Distances::find(&short, &medians(&short, &[all]), known)
}

/// Finds the places that are slow in a run, and which hosts are of which kind.
pub fn judge(folded: &Folded, mut distances: Distances, asked: Asked) -> Verdict {
    let mut kinds = None;
    if !asked.mode.is_collective() {
        let bands = bands(&folded.level);
        // Where it is not known who is near whom, those hosts are quick in short messages that have met a near one.
        let are_known = distances.are_known(folded);
        let shows = |band: &&Vec<usize>| are_known || is_long(folded, band[0]);
        let ends = [bands.first(), bands.last()].map(|band| band.filter(shows));
        kinds = distances.find_kinds(ends.map(|band| Some(medians(folded, std::slice::from_ref(band?)).filled())));
    }
    let mut verdict = judge_with(folded, distances, asked, &[]);
    verdict.kinds = kinds;
    verdict
}

/// Finds the places that are slow where distances are known. `folded` may be the difference of two runs, `ln(new /
/// base)` with the levels of one of them: distances are then those of a run, as a fault must not hide in a class of its
/// own. `known`: ways that are not slow at the lengths of their range, whatever they seem.
pub fn judge_with(folded: &Folded, distances: Distances, asked: Asked, known: &[Suspect]) -> Verdict {
    let bands = bands(&folded.level);
    let Some(shortest) = bands.first().map(|band| folded.level[band[0]]) else {
        return Verdict::of(folded, Vec::new(), distances, asked.least);
    };
    let mut views: Vec<View> =
        together(&bands).into_par_iter().map(|lengths| View::of(folded, lengths, shortest, &distances)).collect();
    let is_fewer = folded.are_of_fewer_ranks();
    let mut suspects = Vec::new();
    let error = error(&distances, asked);
    let budget = Budget { views: independent_views(&views), error, least: asked.least };
    for _ in 0..PASSES {
        let before = suspects.len();
        search((&mut views, bands.len()), (&distances, known, &is_fewer), asked, budget, &mut suspects);
        if suspects.len() == before {
            break;
        }
    }
    Verdict::of(folded, suspects, distances, asked.least).joined((folded, &[]), asked.least)
}

/// Logarithm of the probability of any finding of a kind on a healthy machine; of whole hosts, see [`error_of_hosts`].
fn error(distances: &Distances, asked: Asked) -> f64 {
    ((1.0 - asked.confidence) / 2.0 / other_kinds(distances)).ln()
}

/// The same of whole hosts; in a collective nothing else is looked for.
fn error_of_hosts(asked: Asked) -> f64 {
    let share = if asked.mode.is_collective() { 1.0 } else { 2.0 };
    ((1.0 - asked.confidence) / share).ln()
}

/// How many kinds of places are looked for besides whole hosts: hosts with some others, hosts for a part of the time, and
/// links; on a torus, cables; elsewhere, ways of leaves that are not known; where there are leaves, these, some of their
/// routes, and ways between two; pods.
fn other_kinds(distances: &Distances) -> f64 {
    match leaves::sets(distances) {
        _ if distances.is_torus() => 4.0,
        [_, leaves] if leaves.is_empty() => 4.0,
        [pods, _] if pods.is_empty() => 7.0,
        _ => 8.0,
    }
}

/// `bands`: how many of the views, the first ones, are of one band each; then come those from a band on, of which the first
/// is of all lengths; and those of single lengths, in which hosts alone are looked for. `is_fewer`: hosts whose pairs are known
/// from fewer ranks than others' ([`Folded::are_of_fewer_ranks`]), of which a few more are slow by chance, `[host]`.
fn search(
    (views, bands): (&mut [View], usize),
    (distances, known, is_fewer): (&Distances, &[Suspect], &[bool]),
    asked: Asked,
    budget: Budget,
    suspects: &mut Vec<Suspect>,
) {
    let hosts = distances.leaf.len();
    let wide = 2 * bands - 1;
    let of_hosts = Budget { error: error_of_hosts(asked), ..budget };
    if asked.mode.is_collective() {
        let found = collective::late(&views[..wide], asked.mode, of_hosts, suspects);
        take(views, (distances, budget), found, suspects);
        return;
    }
    let [pods, leaves] = leaves::sets(distances);
    let searches: [Search; 7] = [
        &|view| leaves::whole(view, distances, &pods, budget),
        &|view| leaves::whole(view, distances, &leaves, budget),
        &|view| leaves::between_two(view, &leaves, budget),
        &|view| leaves::gates(view, &pods, |_, _| true, budget),
        &|view| routes::slow(view, &leaves, budget),
        &|view| leaves::gates(view, &leaves, |i, j| !distances.has_gate(i, j), budget),
        &|view| unknown::ways(view, distances, budget),
    ];
    for search in searches {
        // What was found may have hidden another one of its kind.
        for _ in 0..PASSES {
            let mut found: Vec<Suspect> = views[..wide].par_iter().flat_map_iter(search).collect();
            found.retain_mut(|own| {
                let is_this = |known: &&Suspect| known.place.kind == own.place.kind && is_one(&known.place, &own.place);
                own.refuted = known.iter().find(is_this).map(|known| known.range);
                own.refuted.is_none_or(|(first, last)| own.range.1 < first || own.range.0 > last)
            });
            let found = best(found);
            if found.is_empty() {
                break;
            }
            take(views, (distances, budget), found, suspects);
        }
    }
    loop {
        let of_view = |view: &View| cables::slow(view, distances, budget);
        let cables = best(views[..wide].par_iter().flat_map_iter(of_view).collect());
        let before = suspects.len();
        take(views, (distances, budget), cables::apart(cables, hosts), suspects);
        if suspects.len() == before {
            break;
        }
    }
    cables::join(suspects);
    let whole = views.par_iter().flat_map_iter(|view| hosts::whole(view, distances, of_hosts)).collect();
    let whole = common::ways(best(whole), views, distances.leaves() > 1);
    take(views, (distances, budget), whole, suspects);
    for _ in 0..PASSES {
        let is_named = named(suspects, hosts);
        let is_left_out: Vec<bool> = is_named.iter().zip(is_fewer).map(|(named, fewer)| *named || *fewer).collect();
        let of_view = |view: &View| hosts::in_part(view, distances, &is_left_out, budget);
        let part = best(views[..wide].par_iter().flat_map_iter(of_view).collect());
        if part.is_empty() {
            break;
        }
        take(views, (distances, budget), part, suspects);
    }
    // Hosts of a leaf are found in several passes.
    let is_part = |own: &Suspect| own.place.kind == Kind::Node && own.place.is_of_some();
    let (parts, others): (Vec<Suspect>, _) = std::mem::take(suspects).into_iter().partition(is_part);
    let (parts, routes): (Vec<Suspect>, _) = routes::of_parts(parts, &leaves).into_iter().partition(is_part);
    *suspects = [others, parts].concat();
    take(views, (distances, budget), routes, suspects);
    let is_named = named(suspects, hosts);
    let (of_one, together) = views[..wide].split_at(bands);
    let of_bands = |(first, view)| links::slow(&of_one[first..], view, &is_named, budget);
    let of_band = |view: &View| links::slow(std::slice::from_ref(view), view, &is_named, budget);
    let alone = of_one.par_iter().flat_map_iter(of_band);
    let pairs = alone.chain(together.par_iter().enumerate().flat_map_iter(of_bands)).collect();
    take(views, (distances, budget), best(pairs), suspects);
}

/// Which hosts are slow as a whole or with some others, `[host]`.
fn named(suspects: &[Suspect], hosts: usize) -> Vec<bool> {
    let mut is_named = vec![false; hosts];
    suspects.iter().filter(|own| own.place.kind == Kind::Node).for_each(|own| is_named[own.place.hosts[0]] = true);
    is_named
}

/// Whether two places have the same members; of gates, members on both sides.
fn is_one(a: &Place, b: &Place) -> bool {
    if a.kind != Kind::Gate || b.kind != Kind::Gate {
        return a.hosts == b.hosts;
    }
    let share = |some: &[usize], others: &[usize]| some.iter().any(|host| others.contains(host));
    share(&a.hosts, &b.hosts) && share(&a.toward, &b.toward) || share(&a.hosts, &b.toward) && share(&a.toward, &b.hosts)
}

/// Of what several views show, what is most improbable; both ways where one shows one way and another the other. Twice as
/// slow one way as the other, or more: that way.
fn best(mut found: Vec<Suspect>) -> Vec<Suspect> {
    // Of gates, one between larger sets explains those between their parts.
    let parts =
        |own: &Suspect| if own.place.kind == Kind::Gate { own.place.hosts.len() * own.place.toward.len() } else { 0 };
    found.sort_by(|a, b| parts(b).cmp(&parts(a)).then(a.log.total_cmp(&b.log)));
    let mut best: Vec<Suspect> = Vec::new();
    for suspect in found {
        let is_same = |other: &&mut Suspect| {
            let (a, b) = (&other.place, &suspect.place);
            let mut pair = b.hosts.clone();
            pair.reverse();
            // Ways with hosts in common may be one: what is slow still without the likeliest is found in the next pass.
            let share = || a.kind == Kind::Group && a.hosts.iter().any(|host| b.hosts.contains(host));
            let is_pair = || a.kind.is_of_pair() && a.hosts == pair;
            a.kind == b.kind && (is_one(a, b) || share() || is_pair())
        };
        match best.iter_mut().find(is_same) {
            None => best.push(suspect),
            Some(other) if other.place.kind == Kind::Routes && other.place.direction != suspect.place.direction => {
                if other.effect < suspect.effect / 2.0 {
                    *other = suspect;
                } else if suspect.effect >= other.effect / 2.0 {
                    let ends = suspect.place.toward.iter().filter(|end| !other.place.toward.contains(end));
                    let ends: Vec<usize> = ends.copied().collect();
                    other.place.toward.extend(ends);
                    other.place.direction = Direction::Both;
                }
            }
            Some(_) => {}
        }
    }
    best
}

/// Adds suspects, and leaves out what crosses them.
fn take(
    views: &mut [View],
    (distances, budget): (&Distances, Budget),
    found: Vec<Suspect>,
    suspects: &mut Vec<Suspect>,
) {
    if found.is_empty() {
        return;
    }
    let side = distances.leaf.len();
    // A cable that carries some of what leaves carries all, or some, of what comes, and one way may hide the other until it is
    // left out; twice as slow one way, or more: that way.
    let is_rest = |old: &Suspect, new: &Suspect| {
        matches!((old.place.kind, new.place.kind), (Kind::Group | Kind::Routes, Kind::Routes))
            && old.place.hosts == new.place.hosts
            && old.place.direction == new.place.direction.reversed()
            && old.place.direction != Direction::Both
            && new.effect >= old.effect / 2.0
    };
    // Where two messages share its cable they take longer still: these routes are found first, then the others.
    let is_more = |old: &Suspect, new: &Suspect| {
        let is_of = |suspect: &Suspect| (suspect.place.kind == Kind::Routes).then_some(suspect.place.direction);
        is_of(new).is_some() && is_of(old) == is_of(new) && old.place.hosts == new.place.hosts
    };
    let joins = |old: &Suspect, new: &Suspect| is_rest(old, new) || is_more(old, new);
    let is_new = |new: &Suspect| !suspects.iter().any(|old| is_one(&old.place, &new.place) && !joins(old, new));
    let mut found: Vec<Suspect> = found.into_iter().filter(is_new).collect();
    let cells = |suspect: &Suspect| -> Vec<u32> {
        let is_crossing = suspect.place.crossing(side);
        (0..is_crossing.len()).filter(|cell| is_crossing[*cell]).map(|cell| cell as u32).collect()
    };
    let places: Vec<Vec<u32>> = found.iter().map(cells).collect();
    views.par_iter_mut().for_each(|view| view.explain(&places, distances, budget.least));
    for old in suspects.iter_mut() {
        if let Some(more) = found.iter().position(|new| is_more(old, new)) {
            let ends = found.swap_remove(more).place.toward;
            old.place.toward.extend(ends.into_iter().filter(|end| !old.place.toward.contains(end)).collect::<Vec<_>>());
        }
        let Some(rest) = found.iter().position(|new| is_rest(old, new)) else { continue };
        let Place { hosts, toward, .. } = found.swap_remove(rest).place;
        // In from everywhere means toward all members; out from all of them means toward all others.
        let ends = match (old.place.kind, old.place.direction) {
            (Kind::Routes, _) => old.place.toward.iter().copied().chain(toward).collect(),
            (_, Direction::Receive) => hosts.iter().copied().chain(toward).collect(),
            _ => (0..side).filter(|host| !hosts.contains(host)).chain(toward).collect(),
        };
        old.place = Place { toward: ends, ..Place::of(Kind::Routes, hosts, Direction::Both) };
    }
    suspects.extend(found);
}

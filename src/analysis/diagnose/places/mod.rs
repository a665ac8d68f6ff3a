//! Which places of a machine are slow: the model of times, and how places are chosen.
//!
//! In: times by hosts ([`Folded`]). Out: [`Verdict`]: [`Suspect`]s with size, range of lengths and cells that agree.
//!
//! The model. A message from i to j takes the cores of both ends and the hops between them (short messages: parts add),
//! and for every byte the time of the slowest of both cards and all cables (long messages: the slowest counts, once). So
//!
//! * *distance classes* are told by short messages alone ([`distance`]): same leaf, same pod, elsewhere; or hops;
//! * whole *kinds* of hosts that differ make classes of their own, and no finding;
//! * in each [`View`], lengths that are looked at together because what they share must count once, hosts add their part to
//!   the class's time ([`fit`]), and every pair has a rest;
//! * a *place* is slow if the pairs that cross it are slower than its peers' pairs, by more than peers differ ([`spread`]).
//!
//! Places are looked for from the large ones to the small ones, as only then each is compared with what is left:
//!
//! ```text
//! ways of pods, of leaves -> some routes of leaves -> ways between two sets -> hosts -> hosts with some others -> links
//! ```
//!
//! What crosses a place that was found is left out from there on. A new kind of place is a function that takes a view and
//! yields suspects, and a line in [`search`].
//!
//! Errors: the probability that a healthy run has any finding is divided evenly among the kinds of places; within a kind,
//! every place and every view that is looked at has its share ([`Budget`]). The number that decides is the one that is
//! printed ([`Suspect::log`]).
//!
//! What it cannot tell apart: which of two leaves has the slow way (it says so); a leaf whose hosts all have slow cards
//! from a slow leaf switch, where hosts of the leaf were not measured among each other; a kind of hosts from very many
//! faults; faults on more than half of the peers.

mod distance;
mod fit;
mod hosts;
mod jitter;
mod leaves;
mod links;
mod mixture;
mod spread;
mod tree;

use rayon::prelude::*;

pub use distance::Distances;
use fit::{Fit, centre};
pub use jitter::{Scatterer, find as jitter};
pub use leaves::ALL;

use super::{Agreement, Direction, Kind, folded::Folded};
use crate::{
    analysis::square::Square,
    plan::Mode,
    stats::{median, scatter_about_zero},
};

/// What is looked for separately.
const SEARCHES: f64 = 6.0;

/// Least effect, `ln(ratio)`, for which somebody walks to a host: 2 %.
const LEAST_HOST: f64 = 0.02;

/// The same for the way of a leaf: healthy cables differ.
const LEAST_WAY: f64 = 0.05;

/// The same for a link: routes of healthy pairs differ.
const LEAST_LINK: f64 = 0.1;

/// Level of long messages over that of the shortest from which on a hop more or less, of four and paid three times beyond
/// the eager limit, is less than [`LEAST_WAY`]: 3 / 4 / 0.05.
const LONG: f64 = 15.0;

/// Where a clock ticks, at least so many pairs have each value.
const MOST_DISTINCT: usize = 5;

/// Passes over all searches: what is found first may hide something else.
const PASSES: usize = 3;

/// Least share of the pairs from which distances are told.
const LEAST_MEASURED: f64 = 0.5;

/// How much somebody looks at, and what may come of chance.
#[derive(Clone, Copy)]
struct Budget {
    views: usize,
    /// Logarithm of the probability of any finding of a kind on a healthy machine.
    error: f64,
}

impl Budget {
    /// Logarithm of how many places of a kind are looked at, in all views.
    fn price(self, places: usize) -> f64 {
        ((places.max(1) * self.views.max(1)) as f64).ln()
    }

    /// Whether something of this logarithmic probability, its price included, is beyond chance.
    fn allows(self, log: f64) -> bool {
        log < self.error
    }
}

/// Something that messages cross.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// What it is.
    pub kind: Kind,
    /// One host; source and destination; or members.
    pub hosts: Vec<usize>,
    /// Which way.
    pub direction: Direction,
    /// Of some routes, of a way between two sets, and of a host that is slow with some: the other ends. Else none.
    pub toward: Vec<usize>,
}

impl Place {
    fn of(kind: Kind, hosts: Vec<usize>, direction: Direction) -> Self {
        Self { kind, hosts, direction, toward: Vec::new() }
    }

    /// The share of the other ends that are slow, where these are some only.
    pub fn share(&self, hosts: usize) -> Option<f64> {
        let others = hosts - self.hosts.len();
        let of =
            if self.kind == Kind::Routes && self.direction == Direction::Receive { self.hosts.len() } else { others };
        let is_some = matches!(self.kind, Kind::Node | Kind::Routes) && !self.toward.is_empty();
        is_some.then(|| self.toward.len() as f64 / of.max(1) as f64)
    }

    /// The pairs that cross it, `[source * hosts + destination]`.
    pub fn crossing(&self, hosts: usize) -> Vec<bool> {
        let mut is_crossing = vec![false; hosts * hosts];
        self.mark(hosts, &mut is_crossing);
        is_crossing
    }

    /// Marks the pairs that cross it.
    fn mark(&self, side: usize, is_crossing: &mut [bool]) {
        let table = |hosts: &[usize]| {
            let mut is_in = vec![false; side];
            hosts.iter().for_each(|host| is_in[*host] = true);
            is_in
        };
        let (is_in, is_toward) = (table(&self.hosts), table(&self.toward));
        let (sends, receives) = (self.direction != Direction::Receive, self.direction != Direction::Send);
        let mut mark = |i: usize, j: usize| {
            if i != j {
                is_crossing[i * side + j] = true;
            }
        };
        if self.kind == Kind::Link {
            mark(self.hosts[0], self.hosts[1]);
            if receives {
                mark(self.hosts[1], self.hosts[0]);
            }
            return;
        }
        for &host in &self.hosts {
            for other in (0..side).filter(|other| !is_in[*other]) {
                match self.kind {
                    // Out to some; in from everywhere to some of its own.
                    Kind::Routes => {
                        if sends && is_toward[other] {
                            mark(host, other);
                        }
                        if receives && is_toward[host] {
                            mark(other, host);
                        }
                    }
                    _ if self.toward.is_empty() || is_toward[other] => {
                        if sends {
                            mark(host, other);
                        }
                        if receives {
                            mark(other, host);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// A place that is slow.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// Where.
    pub place: Place,
    /// By how much, `ln(ratio)`, over its range.
    pub effect: f64,
    /// Logarithm of the probability that a healthy run has such a thing anywhere.
    pub log: f64,
    /// First and last length of its range, by number.
    pub range: (usize, usize),
    /// By how much at every length, `[length]`; NaN where nothing was measured.
    pub effects: Vec<f64>,
    /// Cells that agree.
    pub cells: Agreement,
}

impl Suspect {
    fn new(place: Place, effect: f64, log: f64, view: &View) -> Self {
        let range = (view.lengths[0], view.lengths[view.lengths.len() - 1]);
        Self { place, effect, log, range, effects: Vec::new(), cells: Agreement { slow: 0, of: 0 } }
    }
}

/// Lengths that are looked at together.
pub struct View {
    /// By number, ascending.
    lengths: Vec<usize>,
    /// Whether they show where hosts are: the times are hardly longer than that of the shortest message.
    is_short: bool,
    /// Whether distances hardly matter any more.
    is_long: bool,
    /// Largest step of a clock that ticks, `ln(ratio)`; 0 where it does not show.
    tick: f64,
    /// Mean of `ln(time / level)` over the lengths.
    values: Square,
    fit: Fit,
    /// Scatter of the mean of both directions of a pair's rest.
    pair_noise: f64,
}

impl View {
    fn of(folded: &Folded, lengths: Vec<Vec<usize>>, shortest: f64, distances: &Distances) -> Self {
        let level = |band: &Vec<usize>| folded.level[band[0]] / shortest;
        let is_short = lengths.len() == 1 && level(&lengths[0]) <= 2.0;
        let is_long = lengths.iter().all(|band| level(band) >= LONG);
        let tick = lengths.iter().flatten().map(|length| tick(folded, *length)).fold(0.0, f64::max);
        let values = mean(folded, &lengths);
        let mut view = Self {
            lengths: lengths.concat(),
            is_short,
            is_long,
            tick,
            fit: Fit::of(&values, distances),
            values,
            pair_noise: 0.0,
        };
        view.find_noise();
        view
    }

    fn find_noise(&mut self) {
        let rest = &self.fit.rest;
        let hosts = rest.side();
        let pairs = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j)));
        let means = pairs.map(|(i, j)| (rest.at(i, j) + rest.at(j, i)) / 2.0).filter(|mean| !mean.is_nan());
        let mut means: Vec<f64> = means.collect();
        // A host's own number was taken from its pairs.
        let (count, free) = (means.len() as f64, means.len() as f64 - hosts as f64);
        self.pair_noise = scatter_about_zero(&mut means) * (count / free.max(count / 4.0).max(1.0)).sqrt().max(1.0);
    }

    /// Leaves out what crosses the places that are slow here. `places`: the pairs that cross each, in a row of all pairs.
    fn explain(&mut self, places: &[Vec<u32>], distances: &Distances) {
        let hosts = self.values.side();
        let (mut values, mut fit) = self.without(places.iter(), distances);
        let is_slow = |crossing: &&Vec<u32>| {
            let beyond = |cell: &u32| {
                let (i, j) = (*cell as usize / hosts, *cell as usize % hosts);
                self.values.at(i, j) - fit.usual(i, j, distances)
            };
            centre(&mut crossing.iter().map(beyond).collect(), fit.noise) >= LEAST_HOST
        };
        let slow: Vec<&Vec<u32>> = places.iter().filter(is_slow).collect();
        if slow.is_empty() {
            return;
        }
        if slow.len() < places.len() {
            (values, fit) = self.without(slow.into_iter(), distances);
        }
        (self.values, self.fit) = (values, fit);
        self.find_noise();
    }

    fn without<'a>(&self, places: impl Iterator<Item = &'a Vec<u32>>, distances: &Distances) -> (Square, Fit) {
        let hosts = self.values.side();
        let mut values = self.values.clone();
        for cell in places.flatten() {
            values.set(*cell as usize / hosts, *cell as usize % hosts, f64::NAN);
        }
        let fit = Fit::of(&values, distances);
        (values, fit)
    }
}

fn leave_out(values: &mut Square, is_crossing: &[bool]) {
    let side = values.side();
    values.rows_mut().zip(is_crossing.par_chunks(side.max(1))).for_each(|(row, crosses)| {
        row.iter_mut().zip(crosses).filter(|(_, crosses)| **crosses).for_each(|(value, _)| *value = f32::NAN);
    });
}

/// The step of a clock that ticks, over the usual time: most values are the same as others then. 0 where it does not show.
fn tick(folded: &Folded, length: usize) -> f64 {
    let hosts = folded.hosts();
    let all = (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j);
    let mut times: Vec<f64> =
        all.map(|(i, j)| folded.from_to(length, i, j).exp()).filter(|time| !time.is_nan()).collect();
    let count = times.len();
    times.sort_by(f64::total_cmp);
    // Times are kept as single numbers of seven digits.
    times.dedup_by(|a, b| *a - *b < 1e-5 * *b);
    if times.len() * MOST_DISTINCT > count {
        return 0.0;
    }
    times.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min).min(1.0)
}

/// Mean over bands of the mean over a band's lengths; of a pair, those that are there.
fn mean(folded: &Folded, bands: &[Vec<usize>]) -> Square {
    let mut square = Square::missing(folded.hosts());
    square.rows_mut().enumerate().for_each(|(i, row)| {
        for (j, value) in row.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let (mut sum, mut count) = (0.0, 0.0);
            for band in bands {
                let (mut own, mut known) = (0.0, 0.0);
                for &length in band {
                    let time = folded.from_to(length, i, j);
                    if !time.is_nan() {
                        (own, known) = (own + time, known + 1.0);
                    }
                }
                if known > 0.0 {
                    (sum, count) = (sum + own / known, count + 1.0);
                }
            }
            *value = (sum / count) as f32;
        }
    });
    square
}

/// Runs of lengths whose times differ by less than a factor of two: what shows at one shows by half at least at the next.
fn bands(level: &[f64]) -> Vec<Vec<usize>> {
    let mut bands: Vec<Vec<usize>> = Vec::new();
    for (length, own) in level.iter().enumerate().filter(|(_, own)| !own.is_nan()) {
        match bands.last_mut() {
            Some(band) if *own <= 2.0 * level[band[0]] => band.push(length),
            _ => bands.push(vec![length]),
        }
    }
    bands
}

/// What was found.
pub struct Verdict {
    /// By probability.
    pub suspects: Vec<Suspect>,
    /// Who is near whom.
    pub distances: Distances,
    /// The hosts of a slower kind, and how many times as long these take, where there are kinds.
    pub kinds: Option<(Vec<usize>, f64)>,
    /// Scatter of a pair about what its hosts and classes explain, the middle over lengths.
    pub noise: f64,
    fits: Vec<Fit>,
}

impl Verdict {
    /// The time that a pair would take if the place were as good as its peers, `ln(time / level)`.
    pub fn usual(&self, length: usize, source: usize, destination: usize) -> f64 {
        self.fits[length].usual(source, destination, &self.distances)
    }
}

/// Looks for places of one kind.
type Search<'a> = &'a dyn Fn(&View) -> Vec<Suspect>;

/// How a run was measured.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Its mode.
    pub mode: Mode,
    /// Groups that somebody knows, `[host]`.
    pub groups: Option<&'a [usize]>,
    /// Probability with which a healthy run has no finding.
    pub confidence: f64,
}

/// Finds the places that are slow.
pub fn judge(folded: &Folded, asked: Asked<'_>) -> Verdict {
    let hosts = folded.hosts();
    let bands = bands(&folded.level);
    let shortest = bands.first().cloned().unwrap_or_default();
    let mut distances = match asked.groups {
        None if folded.measured() < LEAST_MEASURED || asked.mode.is_collective() => Distances::flat(hosts),
        groups => {
            Distances::find(&folded.of_lengths(&shortest), &mean(folded, std::slice::from_ref(&shortest)), groups)
        }
    };
    let mut kinds = None;
    if !asked.mode.is_collective() {
        let ends = [bands.first(), bands.last()].into_iter().flatten();
        let fits: Vec<Fit> = ends.map(|band| Fit::of(&mean(folded, std::slice::from_ref(band)), &distances)).collect();
        kinds = distances.find_kinds(&fits.iter().collect::<Vec<_>>());
    }
    // Every band alone, and from every band on to the longest length: bandwidth that is short of is short of from there on.
    let mut chosen: Vec<Vec<Vec<usize>>> = bands.iter().map(|band| vec![band.clone()]).collect();
    chosen.extend((0..bands.len().saturating_sub(1)).map(|first| bands[first..].to_vec()));
    let mut views: Vec<View> = chosen
        .into_par_iter()
        .map(|lengths| View::of(folded, lengths, folded.level[shortest[0]], &distances))
        .collect();
    let mut suspects = Vec::new();
    let budget = Budget { views: views.len(), error: ((1.0 - asked.confidence) / SEARCHES).ln() };
    for _ in 0..PASSES {
        let before = suspects.len();
        search(&mut views, &distances, asked, budget, &mut suspects);
        if suspects.len() == before {
            break;
        }
    }
    let mut verdict = read_off(folded, suspects, distances);
    verdict.kinds = kinds;
    verdict
}

fn search(views: &mut [View], distances: &Distances, asked: Asked<'_>, budget: Budget, suspects: &mut Vec<Suspect>) {
    let hosts = distances.leaf.len();
    if asked.mode.is_collective() {
        // A cell of a collective is not its pair's own: only who is late whoever is the root can be told.
        let late = views.iter().flat_map(|view| hosts::whole(view, budget, true)).collect();
        let most = best(late).into_iter().max_by(|a, b| a.effect.total_cmp(&b.effect));
        take(views, distances, most.into_iter().collect(), suspects);
        return;
    }
    let [pods, leaves] = leaves::sets(distances);
    let searches: [Search; 5] = [
        &|view| leaves::whole(view, distances, &pods, budget),
        &|view| leaves::whole(view, distances, &leaves, budget),
        &|view| leaves::between_two(view, &leaves, budget),
        &|view| leaves::routes(view, distances, &leaves, budget),
        &|view| leaves::gates(view, if pods.is_empty() { &leaves } else { &pods }, budget),
    ];
    for search in searches {
        let found = views.iter().flat_map(search).collect();
        take(views, distances, best(found), suspects);
    }
    let whole = views.iter().flat_map(|view| hosts::whole(view, budget, false)).collect();
    take(views, distances, best(whole), suspects);
    let named = |suspects: &[Suspect]| {
        let mut is_named = vec![false; hosts];
        suspects.iter().filter(|own| own.place.kind == Kind::Node).for_each(|own| is_named[own.place.hosts[0]] = true);
        is_named
    };
    for _ in 0..PASSES {
        let is_named = named(suspects);
        let part = best(views.iter().flat_map(|view| hosts::in_part(view, &is_named, budget)).collect());
        // Of two hosts that are slow with each other, the one that is slow with more others explains it.
        let mut chosen: Vec<Suspect> = Vec::new();
        for suspect in part {
            let is_new = |end: &&usize| {
                chosen
                    .iter()
                    .all(|other| !other.place.toward.contains(&suspect.place.hosts[0]) || other.place.hosts[0] != **end)
            };
            if suspect.place.toward.iter().filter(is_new).count() > 1 {
                chosen.push(suspect);
            }
        }
        if chosen.is_empty() {
            break;
        }
        take(views, distances, chosen, suspects);
    }
    let is_named = named(suspects);
    let pairs = views.iter().flat_map(|view| links::slow(view, &is_named, budget)).collect();
    take(views, distances, best(pairs), suspects);
}

/// Of what several views show, what is most improbable; both ways where one shows one way and another the other.
fn best(mut found: Vec<Suspect>) -> Vec<Suspect> {
    found.sort_by(|a, b| a.log.total_cmp(&b.log));
    let mut best: Vec<Suspect> = Vec::new();
    for suspect in found {
        let is_same = |other: &&mut Suspect| {
            let (a, b) = (&other.place, &suspect.place);
            let mut pair = b.hosts.clone();
            pair.reverse();
            a.kind == b.kind && (a.hosts == b.hosts || a.kind == Kind::Link && a.hosts == pair)
        };
        match best.iter_mut().find(is_same) {
            None => best.push(suspect),
            Some(other) if other.place.kind == Kind::Routes && other.place.direction != suspect.place.direction => {
                let ends = suspect.place.toward.iter().filter(|end| !other.place.toward.contains(end));
                let ends: Vec<usize> = ends.copied().collect();
                other.place.toward.extend(ends);
                other.place.direction = Direction::Both;
            }
            Some(_) => {}
        }
    }
    best
}

/// Adds suspects, and leaves out what crosses them.
fn take(views: &mut [View], distances: &Distances, found: Vec<Suspect>, suspects: &mut Vec<Suspect>) {
    if found.is_empty() {
        return;
    }
    let side = distances.leaf.len();
    let found: Vec<Suspect> =
        found.into_iter().filter(|new| suspects.iter().all(|old| old.place.hosts != new.place.hosts)).collect();
    let cells = |suspect: &Suspect| -> Vec<u32> {
        let is_crossing = suspect.place.crossing(side);
        (0..is_crossing.len()).filter(|cell| is_crossing[*cell]).map(|cell| cell as u32).collect()
    };
    let places: Vec<Vec<u32>> = found.iter().map(cells).collect();
    views.par_iter_mut().for_each(|view| view.explain(&places, distances));
    suspects.extend(found);
}

/// Reads sizes off every length by itself: what crosses no place says what is usual.
fn read_off(folded: &Folded, mut suspects: Vec<Suspect>, distances: Distances) -> Verdict {
    let side = folded.hosts();
    let tables: Vec<Vec<bool>> = suspects.par_iter().map(|suspect| suspect.place.crossing(side)).collect();
    let mut crossed = vec![0u16; side * side];
    tables.iter().for_each(|own| crossed.iter_mut().zip(own).for_each(|(sum, own)| *sum += u16::from(*own)));
    let is_any: Vec<bool> = crossed.iter().map(|count| *count > 0).collect();
    let lengths: Vec<(Square, Fit)> = (0..folded.lengths.len())
        .into_par_iter()
        .map(|length| {
            let values = mean(folded, &[vec![length]]);
            let mut rest = values.clone();
            leave_out(&mut rest, &is_any);
            (values, Fit::of(&rest, &distances))
        })
        .collect();
    for (suspect, own) in suspects.iter_mut().zip(&tables) {
        let cells: Vec<usize> = (0..side * side).filter(|cell| own[*cell]).collect();
        let alone: Vec<usize> = cells.iter().copied().filter(|cell| crossed[*cell] == 1).collect();
        let cells = if alone.is_empty() { cells } else { alone };
        let excess = |length: usize, cell: usize| {
            let (values, fit) = &lengths[length];
            values.at(cell / side, cell % side) - fit.usual(cell / side, cell % side, &distances)
        };
        let at = |length: usize| {
            centre(&mut cells.iter().map(|cell| excess(length, *cell)).collect(), lengths[length].1.noise)
        };
        suspect.effects = (0..lengths.len()).map(at).collect();
        let most = suspect.effects.iter().copied().fold(0.0, f64::max);
        let is_slow = |length: &usize| suspect.effects[*length] >= most / 2.0;
        let slow: Vec<usize> = (0..lengths.len()).filter(is_slow).collect();
        if let (Some(&first), Some(&last), true) = (slow.first(), slow.last(), most > 0.0) {
            suspect.range = (first, last);
            suspect.effect = median(&mut suspect.effects[first..=last].to_vec());
        }
        let (first, last) = suspect.range;
        let mean_of = |cell: usize| {
            let known = (first..=last).map(|length| excess(length, cell)).filter(|value| !value.is_nan());
            let known: Vec<f64> = known.collect();
            known.iter().sum::<f64>() / known.len() as f64
        };
        let means: Vec<f64> = cells.iter().map(|cell| mean_of(*cell)).filter(|mean| !mean.is_nan()).collect();
        let slow = means.iter().filter(|mean| **mean >= suspect.effect / 2.0).count();
        suspect.cells = Agreement { slow, of: means.len() };
    }
    suspects.sort_by(|a, b| a.log.total_cmp(&b.log));
    let noise = median(&mut lengths.iter().map(|(_, fit)| fit.noise).collect::<Vec<_>>());
    let fits = lengths.into_iter().map(|(_, fit)| fit).collect();
    Verdict { suspects, distances, kinds: None, noise, fits }
}

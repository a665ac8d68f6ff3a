//! Lengths that are looked at together, and what is left of them once slow places are known.
//!
//! In: times by hosts. Out: [`View`]s; [`bands`] of lengths. Nothing is judged here.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::{
    Least,
    distance::{Distances, LEAST_STEP},
    fit::{self, Fit, HUBER, PRECISION, centre, most_error_of_median},
};
use crate::{
    analysis::{
        diagnose::{Direction, folded::Folded},
        square::Square,
    },
    stats::{median, median_of, scatter_about_zero},
};

/// Level of long messages over that of the shortest from which on a hop more or less says less than the least effect of a
/// way: a hop is a quarter of the shortest messages' time, four being on most ways, and paid three times beyond the eager
/// limit, so that it is 3 / 4 of that time.
const LONG: f64 = 3.0 / 4.0 / Least::OF_TIMES.way;

/// Whether distances hardly matter at a length, by number.
pub fn is_long(folded: &Folded, length: usize) -> bool {
    let shortest = folded.level.iter().find(|level| !level.is_nan());
    shortest.is_some_and(|shortest| is_long_over(folded.level[length], *shortest))
}

/// The same of a time, and of that of the shortest message.
pub(super) fn is_long_over(level: f64, shortest: f64) -> bool {
    level >= LONG * shortest
}

/// Pairs of which views are compared: a correlation errs by less than a sixtieth.
const ENOUGH: usize = 1 << 12;

/// Lengths that are looked at together.
pub(super) struct View {
    /// By number, ascending.
    pub lengths: Vec<usize>,
    /// Whether they show where hosts are: the times are hardly longer than that of the shortest message.
    pub is_short: bool,
    /// Whether distances hardly matter any more.
    pub is_long: bool,
    /// Share of the times that short messages take as well.
    pub latency: f64,
    /// By how much equal hosts may be apart because of clocks that tick, `ln(ratio)`.
    pub tick: f64,
    /// The median of `ln(time / level)` over the lengths.
    pub values: Square,
    /// With how many others a host's pairs are known before anything is left out, `[host]`.
    pub met: Vec<usize>,
    pub fit: Fit,
    /// Scatter of the mean of both directions of a pair's rest.
    pub pair_noise: f64,
}

impl View {
    pub fn of(folded: &Folded, lengths: Vec<Vec<usize>>, shortest: f64, distances: &Distances) -> Self {
        let level = |band: &Vec<usize>| folded.level[band[0]] / shortest;
        let is_short = lengths.len() == 1 && level(&lengths[0]) <= 2.0;
        let is_long = lengths.iter().all(|band| is_long_over(folded.level[band[0]], shortest));
        let tick = lengths.iter().flatten().map(|length| folded.apart / folded.level[*length]).fold(0.0, f64::max);
        let values = medians(folded, &lengths);
        let fit = Fit::of(&values, distances);
        let mut view = Self {
            lengths: lengths.concat(),
            is_short,
            is_long,
            latency: 1.0 / level(&lengths[0]),
            tick,
            values,
            met: fit.partners.clone(),
            fit,
            pair_noise: 0.0,
        };
        view.find_noise();
        view
    }

    /// For tests: one long length.
    #[cfg(test)]
    pub fn of_square(values: Square, distances: &Distances, pair_noise: f64) -> Self {
        let fit = Fit::of(&values, distances);
        let (lengths, met) = (vec![0], fit.partners.clone());
        Self { lengths, is_short: false, is_long: true, latency: 1.0, tick: 0.0, values, met, fit, pair_noise }
    }

    /// Whether most pairs of a host cross no place that was found: else too little is left of it.
    pub fn is_left(&self, host: usize) -> bool {
        2 * self.fit.partners[host] > self.met[host]
    }

    fn find_noise(&mut self) {
        let rest = &self.fit.rest;
        let hosts = rest.side();
        // Of very many pairs so many, of all hosts alike.
        let step = (hosts * hosts / 2 / fit::ENOUGH).max(1);
        let shifts = (1..=hosts / 2).step_by(step);
        let pairs = shifts.flat_map(|shift| (0..hosts).map(move |i| (i, shift)));
        let once = pairs.filter(|(i, shift)| 2 * shift < hosts || i < shift);
        let means = once
            .map(|(i, shift)| (i, (i + shift) % hosts))
            .map(|(i, j)| Direction::Both.of(rest.at(i, j), rest.at(j, i)))
            .filter(|mean| !mean.is_nan());
        let mut means: Vec<f64> = means.collect();
        // A host's own number was taken from its pairs.
        let count = (step * means.len()) as f64;
        let free = count - hosts as f64;
        let noise = scatter_about_zero(&mut means) * (count / free.max(count / 4.0).max(1.0)).sqrt().max(1.0);
        self.pair_noise = noise.max(PRECISION);
    }

    /// Standard deviation by which healthy hosts are expected to differ: in latency by so many seconds whatever the length.
    pub fn alike(&self, least: Least) -> f64 {
        least.alike_at(self.latency)
    }

    /// The same of ways, on which hosts have no part: two deviations of latency are less than a level of a tree.
    pub fn alike_ways(&self, least: Least) -> f64 {
        Least { alike: least.alike.min(LEAST_STEP / 2.0), ..least }.alike_at(self.latency)
    }

    /// Leaves out what crosses the places that are slow here. `places`: the pairs that cross each, in a row of all
    /// pairs.
    pub fn explain(&mut self, places: &[Vec<u32>], distances: &Distances, least: Least) {
        let hosts = self.values.side();
        let (mut values, mut fit) = self.without(places.iter(), distances);
        let is_slow = |crossing: &&Vec<u32>| {
            let beyond = |cell: &u32| {
                let (i, j) = (*cell as usize / hosts, *cell as usize % hosts);
                self.values.at(i, j) - fit.usual(i, j, distances)
            };
            let mut beyond: Vec<f64> = crossing.iter().map(beyond).collect();
            let centre = centre(&mut beyond, fit.noise);
            // What is more than the error of a median, in all but one of a hundred cases: else what is left of it may
            // look like something of one of its hosts.
            centre >= least.host.min(most_error_of_median(fit.noise, beyond.len()))
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

/// As how many views these count where every one is tested ([`independent`]): what pairs take beyond their class.
pub(super) fn independent_views(views: &[View]) -> f64 {
    let Some(hosts) = views.first().map(|view| view.values.side()) else { return 1.0 };
    let step = (hosts * hosts / ENOUGH).clamp(1, (hosts / 2).max(1));
    let pairs = || (1..hosts).step_by(step).flat_map(|shift| (0..hosts).map(move |i| (i, (i + shift) % hosts)));
    independent(views.iter().map(|view| pairs().map(|(i, j)| view.fit.beyond_class(i, j)).collect()).collect())
}

/// As how many tests these count, of each of which the same numbers are known: those that show the same ones large say
/// the same. It is the number of Li and Ji (2005), from the eigenvalues of the correlations between tests.
pub(super) fn independent(mut columns: Vec<Vec<f64>>) -> f64 {
    // Single numbers that are far out are the faults that are looked for.
    columns.par_iter_mut().for_each(|column| {
        let known = column.iter().copied().filter(|value| !value.is_nan());
        let scatter = scatter_about_zero(&mut known.collect::<Vec<_>>()).max(f64::MIN_POSITIVE);
        column.iter_mut().for_each(|value| *value = (*value / scatter).clamp(-HUBER, HUBER));
    });
    let count = columns.len();
    let correlations = DMatrix::from_fn(count, count, |a, b| correlation(&columns[a], &columns[b]));
    let eigenvalues = correlations.symmetric_eigenvalues();
    let counts = eigenvalues.iter().map(|value| match value {
        1.0.. => 1.0 + value.fract(),
        _ => value.max(0.0),
    });
    counts.sum::<f64>().clamp(1.0, count.max(1) as f64)
}

/// Of those that are known in both; 0 where nothing is.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let known = || a.iter().zip(b).filter(|(a, b)| !a.is_nan() && !b.is_nan());
    let mean = |of: &dyn Fn((&f64, &f64)) -> f64| known().map(of).sum::<f64>() / known().count() as f64;
    let (of_a, of_b) = (mean(&|(a, _)| *a), mean(&|(_, b)| *b));
    let product = |of: &dyn Fn(f64, f64) -> f64| mean(&|(a, b)| of(a - of_a, b - of_b));
    let covariance = product(&|a, b| a * b) / (product(&|a, _| a * a) * product(&|_, b| b * b)).sqrt();
    if covariance.is_finite() { covariance } else { 0.0 }
}

pub(super) fn leave_out(values: &mut Square, is_crossing: &[bool]) {
    let side = values.side();
    values.rows_mut().zip(is_crossing.par_chunks(side.max(1))).for_each(|(row, crosses)| {
        row.iter_mut().zip(crosses).filter(|(_, crosses)| **crosses).for_each(|(value, _)| *value = f32::NAN);
    });
}

/// The median over bands of the median over a band's lengths; of a pair, those that are there. What disturbed a pair at
/// one length is none of the others'.
pub(super) fn medians(folded: &Folded, bands: &[Vec<usize>]) -> Square {
    let mut square = Square::missing(folded.hosts());
    if let [band] = bands
        && let [length] = band[..]
    {
        let of_row = |(i, row): (usize, &mut [f32])| {
            row.iter_mut().enumerate().for_each(|(j, value)| *value = folded.from_to(length, i, j) as f32);
        };
        square.rows_mut().enumerate().for_each(of_row);
        return square;
    }
    square.rows_mut().enumerate().for_each(|(i, row)| {
        let (mut of_bands, mut of_lengths) = (Vec::new(), Vec::new());
        for (j, value) in row.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            of_bands.clear();
            for band in bands {
                let times = band.iter().map(|length| folded.from_to(*length, i, j));
                of_bands.push(median_of(times.filter(|time| !time.is_nan()), &mut of_lengths));
            }
            of_bands.retain(|time| !time.is_nan());
            *value = median(&mut of_bands) as f32;
        }
    });
    square
}

/// Runs of lengths whose times differ by less than a factor of two: what shows at one shows by half at least at the
/// next.
pub(super) fn bands(level: &[f64]) -> Vec<Vec<usize>> {
    let mut bands: Vec<Vec<usize>> = Vec::new();
    for (length, own) in level.iter().enumerate().filter(|(_, own)| !own.is_nan()) {
        match bands.last_mut() {
            Some(band) if *own <= 2.0 * level[band[0]] => band.push(length),
            _ => bands.push(vec![length]),
        }
    }
    bands
}

/// The lengths that are looked at together, each as bands.
pub(super) fn together(bands: &[Vec<usize>]) -> Vec<Vec<Vec<usize>>> {
    // Every band alone, and from every band on to the longest length: bandwidth that is short of is short of from there
    // on.
    let mut chosen: Vec<Vec<Vec<usize>>> = bands.iter().map(|band| vec![band.clone()]).collect();
    chosen.extend((0..bands.len().saturating_sub(1)).map(|first| bands[first..].to_vec()));
    // A host whose eager limit is another one may be slow at a single length, which is lost among those of its band.
    chosen.extend(bands.iter().filter(|band| band.len() > 2).flatten().map(|length| vec![vec![*length]]));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal, square};

    #[test]
    fn what_is_hardly_slow_in_a_view_is_left_out_as_soon_as_it_is_more_than_noise() {
        let hosts = 16;
        let distances = Distances::flat(hosts);
        let crossing: Vec<u32> = (0..8u32).flat_map(|i| (8..16u32).map(move |j| i * 16 + j)).collect();
        let left_out = |excess: f64| {
            let mut rng = generator(3);
            let is_crossing = |i: usize, j: usize| i < 8 && j >= 8;
            let values = square(hosts, |i, j| 0.01 * normal(&mut rng) + if is_crossing(i, j) { excess } else { 0.0 });
            let mut view = View::of_square(values, &distances, 0.01);
            view.explain(std::slice::from_ref(&crossing), &distances, Least::OF_TIMES);
            view.values.at(0, 8).is_nan()
        };
        assert_eq!([-0.01, 0.012, 0.05].map(left_out), [false, true, true]);
    }

    #[test]
    fn views_that_say_the_same_count_once_and_others_each() {
        let distances = Distances::flat(16);
        let counted = |shared: f64| {
            let mut rng = generator(5);
            let common = square(16, |_, _| shared * normal(&mut rng));
            let view = |_| {
                let values = square(16, |i, j| common.at(i, j) + 0.01 * normal(&mut rng));
                View::of_square(values, &distances, 0.01)
            };
            independent_views(&(0..8).map(view).collect::<Vec<_>>())
        };
        assert!((7.0..=8.0).contains(&counted(0.0)), "{}", counted(0.0));
        assert!((1.0..2.5).contains(&counted(0.1)), "{}", counted(0.1));
        assert_eq!(independent_views(&[]), 1.0);
    }
}

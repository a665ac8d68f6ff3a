//! What hosts add to the times of a run, and what is left of every pair.
//!
//! In: logarithms of times over pairs of hosts, and the distance class of every pair. Out: [`Fit`]:
//!
//! ```text
//! y_ij = base(class of ij) + send_i + receive_j + rest_ij
//! ```
//!
//! by turns, with locations that a few pairs cannot move (Huber's M-estimate from the median).

use rayon::prelude::*;

use super::distance::Distances;
use crate::{
    analysis::square::Square,
    stats::{error_of_median, median, scatter_about_zero, weighted_quantile},
};

/// Turns: rows and columns of a complete square are orthogonal, of which a few cells are missing nearly so.
const TURNS: usize = 4;

/// Huber's constant: 95 % efficient where there are no outliers (Huber 1964).
pub(super) const HUBER: f64 = 1.345;

/// The usual time of a class is the quantile at this share of its pairs, every way between two leaves counted alike:
/// the slow way of one leaf of three is that of two thirds of them. What hosts add is not taken off before, but on a
/// torus: it is not known where ways are slow.
pub const USUAL: f64 = 0.25;

/// Cells of a class that its base is found from, and pairs that their scatter is: of so many a median errs by a two
/// hundredth of the scatter ([`error_of_median`]), and the scatter by half a percent of itself (`1 / sqrt(2 n)` with
/// [`EFFICIENCY`] times as many).
pub const ENOUGH: usize = 1 << 16;

/// Of so many normal values in every one, the median absolute deviation knows as much as the standard deviation does
/// (Rousseeuw and Croux 1993).
pub const EFFICIENCY: f64 = 0.37;

/// What is simulated has no noise but this: times are kept in single precision.
pub const PRECISION: f64 = f32::EPSILON as f64;

/// A square taken apart.
#[derive(Clone)]
pub struct Fit {
    /// `[class]`.
    pub base: Vec<f64>,
    /// `[host]`; their medians are 0 where all hosts have met, by way of others too.
    pub send: Vec<f64>,
    /// `[host]`.
    pub receive: Vec<f64>,
    /// `[source][destination]`.
    pub rest: Square,
    /// Standard deviation of the rest.
    pub noise: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
    /// Partners of every host, `[host]`: the fewer of both directions.
    pub partners: Vec<usize>,
}

/// Location of values that scatter by `noise`; NaN where there are none. They are reordered.
pub fn centre(values: &mut Vec<f64>, noise: f64) -> f64 {
    values.retain(|value| !value.is_nan());
    centre_from(median(values), values, noise)
}

/// The same from their median; of values that are all there.
fn centre_from(median: f64, values: &[f64], noise: f64) -> f64 {
    if values.len() < 3 || noise <= 0.0 {
        return median;
    }
    let (mut centre, most) = (median, HUBER * noise);
    for _ in 0..2 {
        centre += values.iter().map(|value| (value - centre).clamp(-most, most)).sum::<f64>() / values.len() as f64;
    }
    centre
}

/// By how much the median of so many values errs in one of a hundred cases: by 2.33 standard deviations.
pub fn most_error_of_median(noise: f64, values: usize) -> f64 {
    2.33 * noise * error_of_median(values as f64)
}

impl Fit {
    /// Takes logarithms of times apart. Missing pairs are NaN.
    pub fn of(values: &Square, distances: &Distances) -> Self {
        // Hosts of a torus share no way with others, so that what they add is theirs, and pairs are compared without it: of
        // a kind of hosts that stand together, near pairs would be usual, and far ones too.
        Self::by_turns(values, distances, distances.is_torus())
    }

    /// The same where no way is slow: pairs of a class are compared without what their hosts add.
    pub fn of_hosts_alone(values: &Square, distances: &Distances) -> Self {
        Self::by_turns(values, distances, true)
    }

    fn by_turns(values: &Square, distances: &Distances, are_ways_alike: bool) -> Self {
        let hosts = values.side();
        let mut fit = Self {
            base: vec![0.0; distances.classes],
            send: vec![0.0; hosts],
            receive: vec![0.0; hosts],
            rest: values.clone(),
            noise: 0.0,
            freedom: 1.0,
            partners: vec![0; hosts],
        };
        fit.find_base(values, distances);
        let (mut beyond, mut turned) = fit.beyond_base(values, distances);
        // By how much the base has moved since.
        let mut moved = 0.0;
        // Medians of rows, and of columns.
        let (mut of_rows, mut of_columns) = (vec![0.0; hosts], vec![0.0; hosts]);
        for turn in 0..TURNS {
            // After two turns what the other side adds is nearly known.
            let is_near = turn > 1;
            fit.send = fit.of_rows(&beyond, (&mut of_rows, is_near), &fit.receive, moved);
            fit.receive = fit.of_rows(&turned, (&mut of_columns, is_near), &fit.send, moved);
            for (side, medians) in [(&mut fit.send, &mut of_rows), (&mut fit.receive, &mut of_columns)] {
                let middle = median(&mut side.clone());
                side.iter_mut().chain(medians).for_each(|value| *value -= middle);
                fit.base.iter_mut().for_each(|base| *base += middle);
                moved += middle;
            }
            if are_ways_alike {
                fit.find_base(values, distances);
                ((beyond, turned), moved) = (fit.beyond_base(values, distances), 0.0);
            }
            if turn == 0 || turn + 1 == TURNS {
                fit.find_rest(&beyond, moved);
            }
        }
        let known = |row: usize| beyond.present(row).min(turned.present(row));
        fit.partners = (0..hosts).into_par_iter().map(known).collect();
        fit.level_sides();
        fit
    }

    /// Where some hosts have met each other alone, no pair says how much of what all of them add is sending, and how much
    /// receiving: half of it each.
    fn level_sides(&mut self) {
        let hosts = self.send.len();
        // Two hosts that met half of the others each have met each other, or a third one.
        if self.partners.iter().all(|partners| 2 * partners >= hosts) {
            return;
        }
        let mut is_seen = vec![false; hosts];
        for first in 0..hosts {
            let mut part = Vec::new();
            let mut next = vec![first];
            while let Some(host) = next.pop() {
                if !std::mem::replace(&mut is_seen[host], true) {
                    part.push(host);
                    let have_met = |other: usize| !self.rest.at(host, other).min(self.rest.at(other, host)).is_nan();
                    next.extend((0..hosts).filter(|other| !is_seen[*other] && have_met(*other)));
                }
            }
            if part.len() == hosts {
                return;
            }
            let side = |host: &usize| (self.send[*host] - self.receive[*host]) / 2.0;
            let usual = median(&mut part.iter().map(side).collect::<Vec<_>>());
            for host in part {
                self.send[host] -= usual;
                self.receive[host] += usual;
            }
        }
    }

    /// What pairs take beyond the base of their class, and the same with rows for columns.
    fn beyond_base(&self, values: &Square, distances: &Distances) -> (Square, Square) {
        let mut beyond = values.clone();
        beyond.rows_mut().enumerate().for_each(|(i, row)| {
            let class = distances.class_from(i);
            row.iter_mut().enumerate().for_each(|(j, value)| *value -= self.base[class(j)] as f32);
        });
        let turned = beyond.turned();
        (beyond, turned)
    }

    fn find_base(&mut self, values: &Square, distances: &Distances) {
        let hosts = values.side();
        // Values, each with its way between leaves.
        let mut cells: Vec<Vec<(f64, usize)>> = vec![Vec::new(); distances.classes];
        let step = (hosts * hosts / ENOUGH).max(1);
        // Every so many-th diagonal: all hosts take part alike.
        for shift in (1..hosts).step_by(step.min(hosts / 2).max(1)) {
            for i in 0..hosts {
                let j = (i + shift) % hosts;
                let value = values.at(i, j) - self.send[i] - self.receive[j];
                if !value.is_nan() {
                    cells[distances.class(i, j)].push((value, distances.way(i, j)));
                }
            }
        }
        let ways = distances.leaves() * distances.leaves() + 1;
        for (base, cells) in self.base.iter_mut().zip(&cells) {
            *base = usual(cells, ways);
        }
    }

    /// Location of what rows have beyond the base, which has `moved`, and the other side. `medians`: of the turn before,
    /// `[row]`, and whether those of complete rows hardly move any more.
    fn of_rows(&self, beyond: &Square, (medians, is_near): (&mut [f64], bool), other: &[f64], moved: f64) -> Vec<f64> {
        let other: Vec<f64> = other.iter().map(|other| other + moved).collect();
        let of_row = |rests: &mut Vec<f64>, (i, known): (usize, &mut f64)| {
            rests.clear();
            rests.extend(beyond.row(i).iter().zip(&other).map(|(value, other)| f64::from(*value) - other));
            rests.retain(|rest| !rest.is_nan());
            if !is_near || rests.len() + 1 < other.len() {
                *known = median(rests);
            }
            if known.is_nan() { 0.0 } else { centre_from(*known, rests, self.noise) }
        };
        medians.par_iter_mut().enumerate().map_init(Vec::new, of_row).collect()
    }

    fn find_rest(&mut self, beyond: &Square, moved: f64) {
        let send = &self.send;
        let receive: Vec<f32> = self.receive.iter().map(|receive| (receive + moved) as f32).collect();
        self.rest.rows_mut().enumerate().for_each(|(i, rest)| {
            let send = send[i] as f32;
            let row = beyond.row(i).iter().zip(&receive);
            rest.iter_mut().zip(row).for_each(|(rest, (value, receive))| *rest = value - receive - send);
        });
        let step = (beyond.values().len() / ENOUGH).max(1) | 1;
        let some = self.rest.values().iter().step_by(step).copied().map(f64::from);
        let mut some: Vec<f64> = some.filter(|value| !value.is_nan()).collect();
        // As many numbers were taken from the cells as there are hosts, twice, and classes.
        let cells = self.rest.cells().iter().sum::<usize>() as f64;
        let free = cells - (2 * receive.len() + self.base.len()) as f64 + 1.0;
        self.freedom = (EFFICIENCY * free).max(1.0);
        let noise = scatter_about_zero(&mut some) * (cells / free.max(cells / 4.0)).max(1.0).sqrt();
        self.noise = noise.max(PRECISION);
    }

    /// What a healthy pair takes.
    pub fn usual(&self, source: usize, destination: usize, distances: &Distances) -> f64 {
        self.level(distances.class(source, destination)) + self.send[source] + self.receive[destination]
    }

    /// What pairs of a class take besides what hosts add. Of a class of which nothing is known, what the first one takes.
    pub fn level(&self, class: usize) -> f64 {
        let known = || self.base.iter().copied().find(|base| !base.is_nan());
        if self.base[class].is_nan() { known().unwrap_or(0.0) } else { self.base[class] }
    }

    /// What a pair takes beyond its class.
    pub fn beyond_class(&self, source: usize, destination: usize) -> f64 {
        self.rest.at(source, destination) + self.send[source] + self.receive[destination]
    }
}

/// The quantile at [`USUAL`] of values with their ways, of which each weighs the same; NaN of none.
fn usual(cells: &[(f64, usize)], ways: usize) -> f64 {
    let mut counts = vec![0.0; ways];
    cells.iter().for_each(|(_, way)| counts[*way] += 1.0);
    weighted_quantile(&mut cells.iter().map(|(value, way)| (*value, 1.0 / counts[*way])).collect::<Vec<_>>(), USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal, square};

    #[test]
    fn what_hosts_that_met_each_other_alone_add_is_as_much_sending_as_receiving() {
        // Eight of 24 hosts are cut off; messages between them take a tenth longer.
        let mut rng = generator(3);
        let mut values = square(24, |i, j| if i < 8 && j < 8 { 0.1 } else { 0.0 } + 0.001 * normal(&mut rng));
        let pairs = || (0..8).flat_map(|i| (8..24).map(move |j| (i, j)));
        pairs().for_each(|(i, j)| values.set(i, j, f64::NAN));
        // What they receive from others says that it is sending.
        let one_way = Fit::of(&values, &Distances::flat(24));
        assert!((one_way.send[3] - 0.1).abs() < 0.005 && one_way.receive[3].abs() < 0.005, "{}", one_way.send[3]);
        pairs().for_each(|(i, j)| values.set(j, i, f64::NAN));
        let fit = Fit::of(&values, &Distances::flat(24));
        for host in 0..8 {
            assert!((fit.send[host] - 0.05).abs() < 0.005 && (fit.receive[host] - 0.05).abs() < 0.005, "{host}");
        }
        assert!((8..24).all(|host| fit.send[host].abs() < 0.005 && fit.receive[host].abs() < 0.005));
    }
}

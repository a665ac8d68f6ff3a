//! What explains the known cells of a band, and what that costs.
//!
//! In: a [`Band`], and places for its hosts ([`Places`]). Out: [`Numbers`]: how far places are from each other, what
//! hosts add, and bad uplinks; their cost, besides that of cells and of saying where hosts are. It moves nobody: that
//! is [`super::tree`]'s and [`super::torus`]'s.

use super::{Band, blocks::LEAST_DIFFERENCE, count, sizes};
use crate::stats::median;

/// Places of hosts, some of which are equally far from each other.
pub trait Places {
    /// Whether places are switches that may have a bad uplink.
    const HAVE_UPLINKS: bool;

    /// The place of every host, `[host]`; numbered from 0.
    fn of_hosts(&self) -> &[usize];

    /// Number of kinds of ways.
    fn kinds(&self) -> usize;

    /// The kind of the way from one place to another one.
    fn kind(&self, place: usize, other: usize) -> usize;

    /// Takes back what no network does to the middles of ways, `[kind]`.
    fn repair(&self, _middles: &mut [f64]) {}
}

/// Groups with a middle of its own for every two of them.
pub struct Groups<'a> {
    /// `[host]`.
    group: &'a [usize],
    groups: usize,
}

impl<'a> Groups<'a> {
    pub fn of(group: &'a [usize]) -> Self {
        Self { group, groups: count(group) }
    }
}

impl Places for Groups<'_> {
    const HAVE_UPLINKS: bool = false;

    fn of_hosts(&self) -> &[usize] {
        self.group
    }

    fn kinds(&self) -> usize {
        self.groups * self.groups
    }

    fn kind(&self, place: usize, other: usize) -> usize {
        place.min(other) * self.groups + place.max(other)
    }
}

/// Largest part of a cell in a cost, as a square in units of noise: one outlier must not decide.
const MOST_OF_CELL: f64 = 9.0;

/// What a host adds that costs 1, `ln(ratio)`: most hosts add little.
const USUAL_HOST: f64 = 0.05;

/// Largest part of what a host adds in a cost: whoever is slow may be so by any amount.
const MOST_OF_HOST: f64 = 8.0;

/// What a place costs.
pub const LEAF: f64 = 10.0;

/// What a bad uplink costs.
const UPLINK: f64 = 8.0;

/// What the middle of each kind of ways costs.
const MIDDLE: f64 = 3.0;

/// Least of an uplink that is bad, `ln(ratio)`, and in standard errors.
const LEAST_UPLINK: f64 = 0.05;
const UPLINK_ERRORS: f64 = 5.0;

/// How often all numbers are fitted anew.
const STEPS: usize = 4;

/// A known pair, from the row of one of its hosts.
pub struct Cell {
    pub other: usize,
    pub value: f64,
    /// One over its variance.
    pub weight: f64,
}

/// What is known of one band.
pub struct Known {
    /// `[host]`.
    pub rows: Vec<Vec<Cell>>,
    /// Standard deviation of a value.
    pub noise: f64,
}

impl Known {
    pub fn of(band: &Band) -> Self {
        let hosts = band.first.side();
        let variance = |cells: f64| band.noise * band.noise / cells + LEAST_DIFFERENCE * LEAST_DIFFERENCE;
        let of_pair = |i: usize, other: usize| {
            let (first, second) = (band.first.at(i, other), band.second.at(i, other));
            let (value, cells) = match (first.is_nan(), second.is_nan()) {
                (true, true) => return None,
                (true, _) => (second, 1.0),
                (_, true) => (first, 1.0),
                _ => ((first + second) / 2.0, 2.0),
            };
            Some(Cell { other, value, weight: 1.0 / variance(cells) })
        };
        let row = |i: usize| (0..hosts).filter(|j| *j != i).filter_map(|j| of_pair(i, j)).collect();
        Self { rows: (0..hosts).map(row).collect(), noise: band.noise }
    }

    pub fn pairs(&self) -> impl Iterator<Item = (usize, &Cell)> {
        let of_row = |i: usize| self.rows[i].iter().filter(move |cell| cell.other > i).map(move |cell| (i, cell));
        (0..self.rows.len()).flat_map(of_row)
    }
}

/// What explains one band.
#[derive(Clone)]
pub struct Numbers {
    /// The middle of every kind of ways, `[kind]`; NaN where there is no cell.
    pub level: Vec<f64>,
    /// What hosts add, `[host]`.
    pub host: Vec<f64>,
    /// What places add to whatever leaves them, `[place]`.
    pub uplink: Vec<f64>,
}

impl Numbers {
    pub fn none(hosts: usize) -> Self {
        Self { level: Vec::new(), host: vec![0.0; hosts], uplink: Vec::new() }
    }

    /// The numbers that explain most.
    pub fn of(known: &Known, places: &impl Places) -> Self {
        let mut numbers = Self::none(places.of_hosts().len());
        numbers.find(known, places);
        numbers
    }

    /// What two hosts of these places should take but for what they add.
    pub fn way(&self, places: &impl Places, place: usize, other: usize) -> f64 {
        let of = |place: usize| self.uplink.get(place).copied().unwrap_or(0.0);
        let uplinks = if place == other { 0.0 } else { of(place) + of(other) };
        self.level[places.kind(place, other)] + uplinks
    }

    pub fn find_levels(&mut self, known: &Known, places: &impl Places) {
        let place = places.of_hosts();
        let mut rests = vec![Vec::new(); places.kinds()];
        self.level = vec![0.0; places.kinds()];
        for (i, cell) in known.pairs() {
            let (own, other) = (place[i], place[cell.other]);
            let rest = cell.value - self.way(places, own, other) - self.host[i] - self.host[cell.other];
            rests[places.kind(own, other)].push(rest);
        }
        self.level.iter_mut().zip(&mut rests).for_each(|(level, rests)| *level = median(rests));
        places.repair(&mut self.level);
    }

    fn find_hosts(&mut self, known: &Known, places: &impl Places) {
        let place = places.of_hosts();
        let mut rests = Vec::new();
        let of_host = |(i, row): (usize, &Vec<Cell>)| {
            let rest = |cell: &Cell| cell.value - self.way(places, place[i], place[cell.other]) - self.host[cell.other];
            rests.clear();
            rests.extend(row.iter().map(rest));
            zero_if_missing(median(&mut rests))
        };
        let next: Vec<f64> = known.rows.iter().enumerate().map(of_host).collect();
        let middle = median(&mut next.clone());
        self.host = next.into_iter().map(|value| value - middle).collect();
    }

    fn find_uplinks(&mut self, known: &Known, places: &impl Places) {
        let place = places.of_hosts();
        let count = count(place);
        self.uplink.resize(count, 0.0);
        let mut rests = vec![Vec::new(); count];
        let size = sizes(place, count);
        for (i, cell) in known.pairs() {
            let (own, other) = (place[i], place[cell.other]);
            if own != other {
                let rest = cell.value - self.way(places, own, other) - self.host[i] - self.host[cell.other];
                rests[own].push(rest + self.uplink[own]);
                rests[other].push(rest + self.uplink[other]);
            }
        }
        for (place, rests) in rests.iter_mut().enumerate() {
            let error = 1.2533 * known.noise / (rests.len() as f64).sqrt();
            let middle = if size[place] < 3 || count < 3 { 0.0 } else { median(rests) };
            self.uplink[place] = if middle > LEAST_UPLINK.max(UPLINK_ERRORS * error) { middle } else { 0.0 };
        }
    }

    pub fn find<P: Places>(&mut self, known: &Known, places: &P) {
        for _ in 0..STEPS {
            self.find_levels(known, places);
            if P::HAVE_UPLINKS {
                self.find_uplinks(known, places);
            }
            self.find_hosts(known, places);
        }
        self.find_levels(known, places);
    }

    /// As a sum of squares in units of noise.
    pub fn cost(&self, known: &Known, places: &impl Places) -> f64 {
        self.cost_of_cells(known, places) + self.of_numbers()
    }

    fn of_numbers(&self) -> f64 {
        let uplinks = self.uplink.iter().filter(|uplink| **uplink > 0.0).count() as f64;
        let levels = self.level.iter().filter(|level| !level.is_nan()).count() as f64;
        self.host.iter().map(|host| of_host(*host)).sum::<f64>() + UPLINK * uplinks + MIDDLE * levels
    }

    pub fn cost_of_cells(&self, known: &Known, places: &impl Places) -> f64 {
        let place = places.of_hosts();
        let of_cell = |(i, cell): (usize, &Cell)| {
            let way = self.way(places, place[i], place[cell.other]);
            of_rest(cell.value - way - self.host[i] - self.host[cell.other], cell.weight)
        };
        known.pairs().map(of_cell).sum()
    }

    /// What the cells of a host cost at a place, and what it adds there. `rests` is scratch.
    pub fn cost_at(
        &self,
        known: &Known,
        places: &impl Places,
        (host, at): (usize, usize),
        rests: &mut Vec<(f64, f64)>,
    ) -> (f64, f64) {
        let place = places.of_hosts();
        rests.clear();
        rests.extend(known.rows[host].iter().map(|cell| {
            let way = self.way(places, at, place[cell.other]);
            (cell.value - way - self.host[cell.other], cell.weight)
        }));
        let middle = zero_if_missing(median(&mut rests.iter().map(|(rest, _)| *rest).collect::<Vec<_>>()));
        let cells: f64 = rests.iter().map(|(rest, weight)| of_rest(rest - middle, *weight)).sum();
        (cells + of_host(middle), middle)
    }
}

/// What is not known adds nothing.
fn zero_if_missing(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

/// What is left of a cell, as a cost.
pub fn of_rest(rest: f64, weight: f64) -> f64 {
    // Also where nothing is known of such cells.
    if rest.is_nan() { MOST_OF_CELL } else { (rest * rest * weight).min(MOST_OF_CELL) }
}

fn of_host(host: f64) -> f64 {
    (host / USUAL_HOST).powi(2).min(MOST_OF_HOST)
}

/// What it costs to say that so many of all hosts are together: twice the logarithm of how likely that would be.
pub fn of_label(members: usize, all: usize) -> f64 {
    if members == 0 { 0.0 } else { 2.0 * members as f64 * (all as f64 / members as f64).ln() }
}

/// What it costs to have these places, and to say which hosts are at them.
pub fn of_places(place: &[usize]) -> f64 {
    let size = sizes(place, count(place));
    LEAF * size.len() as f64 + size.into_iter().map(|members| of_label(members, place.len())).sum::<f64>()
}

/// The cost of groups with a middle of its own for every two of them.
pub fn cost_of_groups(bands: &[Band], group: &[usize]) -> f64 {
    let groups = Groups::of(group);
    let of_band = |known: Known| Numbers::of(&known, &groups).cost(&known, &groups);
    bands.iter().map(|band| of_band(Known::of(band))).sum::<f64>() + of_places(group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::symmetric;

    #[test]
    fn groups_cost_what_their_numbers_do() {
        // Without noise, cells and hosts cost nothing: two bands of six groups, of which every host is named at 1 in 6.
        let group: Vec<usize> = (0..36).map(|host| host / 6).collect();
        let way = |i: usize, j: usize| 0.1 * (group[i] * group[j]) as f64;
        let square = symmetric(36, way);
        let band = Band { first: square.clone(), second: square, noise: 0.03 };
        let middles = 6.0 * 7.0 / 2.0;
        let usual = 2.0 * 3.0 * middles + 6.0 * 10.0 + 2.0 * 36.0 * 6.0_f64.ln();
        let found = cost_of_groups(&[band.clone(), band], &group);
        assert!((found - usual).abs() < 1e-3, "{found} {usual}");
    }
}

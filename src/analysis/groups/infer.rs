//! Finds groups of hosts that see the rest of the network alike.
//!
//! In: what both directions of every pair have in common ([`Square`]), for one or more bands of message lengths, with
//! the noise of each. Out: the group of every host.
//!
//! Two hosts are compared by the *shape* of their rows: the scatter, over all third hosts, of the difference of their
//! values. A host that is slow as a whole has the same shape as its healthy neighbours, and another order of the ranks
//! changes nothing. Shapes are joined to many small parts (Ward's linkage); parts are then joined for as long as the
//! difference of the *average* shapes of two parts can be explained by noise.

use kodama::{Dendrogram, Method, linkage};
use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use super::spectral;
use crate::{analysis::diagnose::folded::Square, stats::median};

/// One band of message lengths: every pair's value, as far as it is known without the effects of single hosts; symmetric.
///
/// A pair was measured in two directions. One of them, chosen at random, makes the first square and the other one the
/// second: what is found in the one can be tested on the other, whose noise knows nothing of it.
pub struct Band {
    /// For finding parts.
    pub first: Square,
    /// For testing whether they differ.
    pub second: Square,
    /// Standard deviation of the noise of a value.
    pub noise: f64,
}

/// Third hosts that shapes of many hosts are compared on.
const MOST_COLUMNS: usize = 256;

/// Parts that are made at first.
const MOST_PARTS: usize = 72;

/// Parts whose difference exceeds its expectation by this many standard deviations are not joined.
const LIMIT: f64 = 6.0;

/// Least gain, as a sum of squares in units of noise, for which a host moves to another group.
const LEAST_GAIN: f64 = 8.0;

/// The group of every host, `[host]`; groups are numbered from 0, the largest first.
pub fn infer(bands: &[Band]) -> Vec<usize> {
    let hosts = bands[0].first.side();
    if hosts < 4 {
        return vec![0; hosts];
    }
    refine(bands, parts(bands, hosts))
}

/// Joins groups that do not differ and moves hosts that are in the wrong one.
pub fn refine(bands: &[Band], mut label: Vec<usize>) -> Vec<usize> {
    for _ in 0..3 {
        let next = settle(&squares(bands), join(bands, label.clone()));
        if next == label {
            break;
        }
        label = next;
    }
    label
}

/// Puts hosts that are alone into the group whose shape is most like theirs, if there is any group: a host that is far
/// from everybody, or slow in a way that differs from group to group, is no group.
pub fn absorb(bands: &[Band], label: &[usize]) -> Vec<usize> {
    let (all, size) = (all_blocks(&squares(bands), label), sizes(label));
    let place = |host: usize| {
        if size[label[host]] > 1 {
            return label[host];
        }
        let mut cost = vec![0.0; size.len()];
        all.iter().for_each(|(square, blocks)| add_misfit(square, blocks, label, host, &mut cost));
        let groups = (0..size.len()).filter(|group| size[*group] > 1);
        groups.min_by(|a, b| cost[*a].total_cmp(&cost[*b])).unwrap_or(0)
    };
    by_size(&(0..label.len()).into_par_iter().map(place).collect::<Vec<_>>())
}

/// Number of hosts of every group.
fn sizes(label: &[usize]) -> Vec<usize> {
    let mut size = vec![0; label.iter().max().map_or(0, |last| last + 1)];
    label.iter().for_each(|group| size[*group] += 1);
    size
}

/// All squares, with their noise.
fn squares(bands: &[Band]) -> Vec<(&Square, f64)> {
    bands.iter().flat_map(|band| [(&band.first, band.noise), (&band.second, band.noise)]).collect()
}

/// The blocks of some squares.
fn all_blocks<'a>(squares: &[(&'a Square, f64)], label: &[usize]) -> Vec<(&'a Square, Blocks)> {
    squares.iter().map(|(square, noise)| (*square, Blocks::of(square, *noise, label))).collect()
}

/// Numbers groups by size, the largest first.
fn by_size(label: &[usize]) -> Vec<usize> {
    let count = label.iter().max().map_or(0, |last| last + 1);
    let mut sizes: Vec<(usize, usize)> = (0..count).map(|g| (label.iter().filter(|l| **l == g).count(), g)).collect();
    sizes.retain(|(size, _)| *size > 0);
    sizes.sort_by_key(|(size, group)| (std::cmp::Reverse(*size), *group));
    let mut rank = vec![0; count];
    sizes.iter().enumerate().for_each(|(place, (_, group))| rank[*group] = place);
    label.iter().map(|group| rank[*group]).collect()
}

/// Partitions of different coarseness: hosts whose rows have similar shapes, then moved to where they fit.
pub fn candidates(bands: &[Band]) -> Vec<Vec<usize>> {
    let hosts = bands[0].first.side();
    let places: Vec<DMatrix<f64>> = bands.par_iter().map(|band| spectral::patterns(band).places() / band.noise).collect();
    let pairs = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |k| (i, k)));
    let apart = |(i, k)| {
        let squares = places.iter().map(|places| (places.row(i) - places.row(k)).norm_squared());
        squares.sum::<f64>().sqrt()
    };
    let mut distances: Vec<f64> = pairs.map(apart).collect();
    let tree = linkage(&mut distances, hosts, Method::Ward);
    let first: Vec<(&Square, f64)> = bands.iter().map(|band| (&band.first, band.noise)).collect();
    let counts = COARSENESS.into_iter().take_while(|count| *count <= hosts / 3);
    counts.map(|count| settle(&first, by_size(&cut(&tree, hosts, count)))).collect()
}

/// Moves every host to where all squares say that it fits.
pub fn settled(bands: &[Band], label: Vec<usize>) -> Vec<usize> {
    settle(&squares(bands), label)
}

/// Splits groups that are two, and sorts the hosts of two groups anew where they are mixed up. Hosts of one leaf are near
/// each other; how far they are from others says nothing about which of two neighbouring leaves they belong to.
pub fn sorted(bands: &[Band], mut label: Vec<usize>) -> Vec<usize> {
    let mut count = label.iter().max().map_or(0, |last| last + 1);
    let mut is_changed = vec![true; count];
    for _ in 0..3 {
        let mut next = vec![false; count];
        for g in 0..count {
            for h in g..count {
                if !(is_changed[g] || is_changed[h]) {
                    continue;
                }
                let pool: Vec<usize> = (0..label.len()).filter(|host| [g, h].contains(&label[*host])).collect();
                let sides: Vec<bool> = pool.iter().map(|host| label[*host] == g).collect();
                let Some((split, contrast)) = bisect(bands, &pool) else { continue };
                let needed = if g == h { SPLIT } else { contrast_of(bands, &pool, &sides).max(0.0) + BETTER };
                if contrast < needed {
                    continue;
                }
                let other = if g == h { count } else { h };
                pool.iter().zip(split).for_each(|(host, is_first)| label[*host] = if is_first { g } else { other });
                if g == h {
                    count += 1;
                    next.push(true);
                    is_changed.push(true);
                }
                next[g] = true;
                next[h] = true;
            }
        }
        if !next.contains(&true) {
            break;
        }
        is_changed = next;
    }
    by_size(&label)
}

/// Contrast, in standard errors, from which on a group is two.
const SPLIT: f64 = 5.0;

/// By how much more contrast a new division of two groups must have.
const BETTER: f64 = 2.0;

/// The division of some hosts into two halves that are near each other, as the first squares show it; and how much nearer
/// they are in the second ones, in standard errors. `None` if there are too few hosts.
fn bisect(bands: &[Band], pool: &[usize]) -> Option<(Vec<bool>, f64)> {
    if pool.len() < 4 {
        return None;
    }
    let count = pool.len();
    let mut nearness: DMatrix<f64> = DMatrix::zeros(count, count);
    for band in bands {
        let at = |n: usize, m: usize| band.first.at(pool[n], pool[m]);
        let pairs = || (0..count).flat_map(|n| (0..count).map(move |m| (n, m)));
        let known: Vec<f64> = pairs().map(|(n, m)| at(n, m)).filter(|value| !value.is_nan()).collect();
        let middle = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let limit = 3.0 * crate::analysis::diagnose::scatter_for_groups(&mut known.iter().map(|value| value - middle).collect::<Vec<_>>()).max(band.noise);
        for (n, m) in pairs().filter(|(n, m)| !at(*n, *m).is_nan()) {
            nearness[(n, m)] += (middle - at(n, m)).clamp(-limit, limit) / (band.noise * band.noise);
        }
    }
    let eigen = SymmetricEigen::new(nearness);
    let largest = eigen.eigenvalues.imax();
    let split: Vec<bool> = eigen.eigenvectors.column(largest).iter().map(|part| *part > 0.0).collect();
    let contrast = contrast_of(bands, pool, &split);
    Some((split, contrast))
}

/// By how much hosts of the same side are nearer to each other than those of different sides, in the second squares, in
/// standard errors.
fn contrast_of(bands: &[Band], pool: &[usize], sides: &[bool]) -> f64 {
    let mut total = 0.0;
    for band in bands {
        let (mut within, mut between) = (Vec::new(), Vec::new());
        for n in 0..pool.len() {
            for m in n + 1..pool.len() {
                let value = band.second.at(pool[n], pool[m]);
                if !value.is_nan() {
                    if sides[n] == sides[m] { within.push(value as f32) } else { between.push(value as f32) }
                }
            }
        }
        if within.is_empty() || between.is_empty() {
            continue;
        }
        let error = band.noise * (1.0 / within.len() as f64 + 1.0 / between.len() as f64).sqrt();
        total += (middle(&between, band.noise) - middle(&within, band.noise)) / error.hypot(LEAST_DIFFERENCE);
    }
    total / (bands.len() as f64).sqrt()
}

/// Numbers of groups that are tried.
const COARSENESS: [usize; 12] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32];

/// Many small parts of hosts whose rows have similar shapes.
fn parts(bands: &[Band], hosts: usize) -> Vec<usize> {
    cut(&tree(bands, hosts), hosts, (hosts / 2).clamp(1, MOST_PARTS))
}

/// Joins hosts whose rows have similar shapes.
fn tree(bands: &[Band], hosts: usize) -> Dendrogram<f64> {
    let step = hosts.div_ceil(MOST_COLUMNS).max(1);
    let columns: Vec<usize> = (0..hosts).step_by(step).collect();
    let pairs: Vec<(usize, usize)> = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |k| (i, k))).collect();
    let mut distances: Vec<f64> = pairs.par_iter().map(|&(i, k)| distance(bands, &columns, i, k)).collect();
    let mut known: Vec<f64> = distances.iter().copied().filter(|d| d.is_finite()).collect();
    let usual = median(&mut known);
    let usual = if usual.is_nan() { 1.0 } else { usual };
    distances.iter_mut().filter(|d| !d.is_finite()).for_each(|d| *d = usual);
    linkage(&mut distances, hosts, Method::Ward)
}

/// The part of every host once the first joins have left this many parts.
fn cut(tree: &Dendrogram<f64>, hosts: usize, count: usize) -> Vec<usize> {
    let mut label: Vec<usize> = (0..hosts).collect();
    // A step joins two clusters; cluster `hosts + n` is what step n made.
    let mut members: Vec<Vec<usize>> = (0..hosts).map(|host| vec![host]).collect();
    for step in tree.steps().iter().take(hosts - count) {
        let joined =
            [std::mem::take(&mut members[step.cluster1]), std::mem::take(&mut members[step.cluster2])].concat();
        members.push(joined);
    }
    for (part, members) in members.iter().filter(|members| !members.is_empty()).enumerate() {
        members.iter().for_each(|host| label[*host] = part);
    }
    label
}

/// Scatter of the difference of two rows over third hosts, in units of its noise; infinite where nothing is known.
fn distance(bands: &[Band], columns: &[usize], i: usize, k: usize) -> f64 {
    let mut sum = 0.0;
    let mut known = 0.0;
    for band in bands {
        let (a, b) = (band.first.row(i), band.first.row(k));
        let (mut count, mut total, mut squares) = (0.0f32, 0.0f32, 0.0f32);
        for &column in columns {
            let difference = a[column] - b[column];
            // The diagonal is missing: neither host is compared with itself.
            if !difference.is_nan() {
                count += 1.0;
                total += difference;
                squares += difference * difference;
            }
        }
        if count >= 3.0 {
            let variance = f64::from((squares - total * total / count) / (count - 1.0)).max(0.0);
            sum += variance / (2.0 * band.noise * band.noise);
            known += 1.0;
        }
    }
    if known > 0.0 { (sum / known).sqrt() } else { f64::INFINITY }
}

/// The blocks between parts of one square: their cells and a middle that a few wild ones cannot move.
struct Blocks {
    count: usize,
    noise: f64,
    /// `[part * count + part]`; only where the first part is not the larger number.
    cells: Vec<Vec<f32>>,
    /// `[part * count + part]`.
    middle: Vec<f64>,
}

impl Blocks {
    fn of(square: &Square, noise: f64, label: &[usize]) -> Self {
        let count = label.iter().max().map_or(0, |last| last + 1);
        let mut blocks =
            Self { count, noise, cells: vec![Vec::new(); count * count], middle: vec![f64::NAN; count * count] };
        for (i, j, value) in square.upper_pairs() {
            let (g, h) = (label[i].min(label[j]), label[i].max(label[j]));
            blocks.cells[g * count + h].push(value as f32);
        }
        for (g, h) in (0..count).flat_map(|g| (g..count).map(move |h| (g, h))) {
            blocks.update(g, h);
        }
        blocks
    }

    fn update(&mut self, g: usize, h: usize) {
        let place = g.min(h) * self.count + g.max(h);
        let middle = middle(&self.cells[place], self.noise);
        self.middle[g * self.count + h] = middle;
        self.middle[h * self.count + g] = middle;
    }

    fn cells(&self, g: usize, h: usize) -> f64 {
        self.cells[g.min(h) * self.count + g.max(h)].len() as f64
    }

    fn middle(&self, g: usize, h: usize) -> f64 {
        self.middle[g * self.count + h]
    }

    /// Makes `b` a part of `a`; `alive` are all parts that there are.
    fn join(&mut self, alive: &[usize], a: usize, b: usize) {
        let n = self.count;
        for &c in alive {
            let moved = std::mem::take(&mut self.cells[b.min(c) * n + b.max(c)]);
            let other = if c == b { a } else { c };
            self.cells[a.min(other) * n + a.max(other)].extend(moved);
        }
        alive.iter().filter(|c| **c != b).for_each(|&c| self.update(a, c));
    }
}

/// Mean of values after wild ones were taken back to three times the noise; NaN if there are none.
fn middle(values: &[f32], noise: f64) -> f64 {
    let count = values.len() as f64;
    if values.len() < 3 {
        return values.iter().copied().map(f64::from).sum::<f64>() / count;
    }
    let mut sorted = values.to_vec();
    let place = values.len() / 2;
    let centre = f64::from(*sorted.select_nth_unstable_by(place, f32::total_cmp).1);
    values.iter().map(|value| f64::from(*value).clamp(centre - 3.0 * noise, centre + 3.0 * noise)).sum::<f64>() / count
}

/// By how much the values of two parts may differ for no reason of structure: standard deviation, `ln(ratio)`.
const LEAST_DIFFERENCE: f64 = 0.01;

/// Largest share of a column of two cells or less in a sum of squares: one wild cell must not decide.
const MOST_OF_FEW: f64 = 2.0;

/// Sum of squared differences of two shapes in units of noise. Each column has a difference, its weight, and whether it
/// rests on few cells: then it has no say in where the others are, unless there is nothing else.
fn misfit(columns: &[(f64, f64, bool)]) -> f64 {
    let has_many = columns.iter().any(|(_, _, is_few)| !is_few);
    let counted = || columns.iter().filter(|(_, _, is_few)| !has_many || !is_few);
    let total: f64 = counted().map(|(_, weight, _)| weight).sum();
    if total == 0.0 {
        return 0.0;
    }
    let shift = counted().map(|(value, weight, _)| value * weight).sum::<f64>() / total;
    let squares = columns.iter().map(|&(value, weight, is_few)| {
        let square = weight * (value - shift).powi(2);
        if is_few { square.min(MOST_OF_FEW) } else { square }
    });
    squares.sum()
}

/// How unlikely it is that two parts have the same shape, in standard deviations.
fn difference(all: &[Blocks], alive: &[usize], a: usize, b: usize) -> f64 {
    let (mut excess, mut degrees) = (0.0, 0.0);
    let (mut own, mut own_precision) = (0.0, 0.0);
    let mut columns: Vec<(f64, f64, bool)> = Vec::with_capacity(alive.len());
    for blocks in all {
        let variance = blocks.noise * blocks.noise;
        columns.clear();
        let mut inner = [None; 2];
        for &c in alive {
            let (left, right) = (blocks.cells(a, c), blocks.cells(b, c));
            if left > 0.0 && right > 0.0 {
                let weight = 1.0 / (variance * (1.0 / left + 1.0 / right) + LEAST_DIFFERENCE * LEAST_DIFFERENCE);
                let value = blocks.middle(a, c) - blocks.middle(b, c);
                let is_few = left.min(right) < 3.0;
                columns.push((value, weight, is_few));
                let limit = if is_few { (MOST_OF_FEW / weight).sqrt() } else { f64::INFINITY };
                if c == a {
                    inner[0] = Some((-value.clamp(-limit, limit), weight));
                } else if c == b {
                    inner[1] = Some((value.clamp(-limit, limit), weight));
                }
            }
        }
        if columns.len() >= 2 {
            excess += misfit(&columns);
            degrees += (columns.len() - 1) as f64;
        }
        // Two leaves: fast within each, slow between them.
        if let [Some((x, v)), Some((y, w))] = inner {
            let precision = 4.0 / (1.0 / v + 1.0 / w);
            own += (x + y) / 2.0 * precision;
            own_precision += precision;
        }
    }
    let whole = if degrees > 0.0 { (excess - degrees) / (2.0 * degrees).sqrt() } else { 0.0 };
    let apart = if own_precision > 0.0 { own / own_precision.sqrt() } else { 0.0 };
    whole.max(apart)
}

/// Joins parts for as long as noise explains their difference.
///
/// The first squares say which parts are most alike, the second ones whether they differ after all: parts that were
/// chosen for being alike in some values always differ too much in the others of the same values.
fn join(bands: &[Band], label: Vec<usize>) -> Vec<usize> {
    let mut label = by_size(&label);
    let blocks = |square: fn(&Band) -> &Square| -> Vec<Blocks> {
        bands.iter().map(|band| Blocks::of(square(band), band.noise, &label)).collect()
    };
    let (mut first, mut second) = (blocks(|band| &band.first), blocks(|band| &band.second));
    let count = first[0].count;
    let mut alive: Vec<usize> = (0..count).collect();
    let mut differ = vec![false; count * count];
    loop {
        let pairs: Vec<(usize, usize)> = alive
            .iter()
            .enumerate()
            .flat_map(|(n, &a)| alive[n + 1..].iter().map(move |&b| (a, b)))
            .filter(|(a, b)| !differ[a * count + b])
            .collect();
        let alike = pairs.par_iter().map(|&(a, b)| (difference(&first, &alive, a, b), a, b));
        let Some((_, a, b)) = alike.min_by(|x, y| x.0.total_cmp(&y.0)) else { break };
        if difference(&second, &alive, a, b) > LIMIT {
            differ[a * count + b] = true;
            continue;
        }
        first.iter_mut().chain(&mut second).for_each(|blocks| blocks.join(&alive, a, b));
        alive.retain(|part| *part != b);
        label.iter_mut().filter(|part| **part == b).for_each(|part| *part = a);
        // The larger part may be told from the others where the smaller ones could not, and the other way round.
        (0..count).for_each(|c| (differ[a * count + c], differ[c * count + a]) = (false, false));
    }
    by_size(&label)
}

/// Moves single hosts to the group whose shape is theirs.
fn settle(squares: &[(&Square, f64)], mut label: Vec<usize>) -> Vec<usize> {
    for _ in 0..4 {
        let (all, size) = (all_blocks(squares, &label), sizes(&label));
        let count = size.len();
        let moved: Vec<usize> = (0..label.len())
            .into_par_iter()
            .map(|host| {
                let mut cost = vec![0.0; count];
                all.iter().for_each(|(square, blocks)| add_misfit(square, blocks, &label, host, &mut cost));
                // A host alone has no own shape to be compared with: it goes where it fits well enough.
                let degrees = (count.saturating_sub(2) * all.len()).max(1) as f64;
                let is_alone = size[label[host]] == 1;
                let own = if is_alone { degrees + LIMIT * (2.0 * degrees).sqrt() } else { cost[label[host]] };
                let others = (0..count).filter(|group| *group != label[host]);
                match others.min_by(|a, b| cost[*a].total_cmp(&cost[*b])) {
                    Some(group) if cost[group] + LEAST_GAIN < own => group,
                    _ => label[host],
                }
            })
            .collect();
        let moved = by_size(&moved);
        if moved == label {
            break;
        }
        label = moved;
    }
    label
}

/// Adds to `cost`, `[group]`, how badly the shape of a host's row fits that of each group, as a sum of squares in units of
/// noise.
fn add_misfit(square: &Square, blocks: &Blocks, label: &[usize], host: usize, cost: &mut [f64]) {
    let count = blocks.count;
    let mut cells: Vec<Vec<f32>> = vec![Vec::new(); count];
    for (other, value) in square.row(host).iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        cells[label[other]].push(*value);
    }
    let own: Vec<(f64, f64)> = cells.iter().map(|cells| (middle(cells, blocks.noise), cells.len() as f64)).collect();
    for (group, cost) in cost.iter_mut().enumerate() {
        let columns: Vec<(f64, f64, bool)> = (0..count)
            .filter_map(|c| {
                let (value, cells) = own[c];
                // The host's own cells are no evidence for their own block.
                let others = blocks.cells(group, c) - if label[host] == group { cells } else { 0.0 };
                if cells == 0.0 || others < 1.0 {
                    return None;
                }
                let share = others / blocks.cells(group, c);
                let variance = blocks.noise * blocks.noise * (1.0 / cells + 1.0 / others);
                let weight = 1.0 / (variance + LEAST_DIFFERENCE * LEAST_DIFFERENCE);
                Some(((value - blocks.middle(group, c)) / share, weight, cells.min(others) < 3.0))
            })
            .collect();
        *cost += misfit(&columns);
    }
}

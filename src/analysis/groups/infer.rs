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
use nalgebra::DMatrix;
use rayon::prelude::*;

use super::{
    Band,
    blocks::{Blocks, MOST_OF_FEW, add_misfit, all_blocks, misfit, squares, weight},
    by_size, count, sizes,
    spectral::{self, Judge},
};
use crate::{analysis::square::Square, stats::median};

/// Third hosts that shapes of many hosts are compared on.
const MOST_COLUMNS: usize = 256;

/// Parts that are made at first.
const MOST_PARTS: usize = 72;

/// Parts whose difference exceeds its expectation by this many standard deviations are not joined.
pub(super) const LIMIT: f64 = 6.0;

/// Difference that need not be known exactly: such parts are not joined.
const FAR: f64 = 4.0 * LIMIT;

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
    let (all, size) = (all_blocks(&squares(bands), label), sizes(label, count(label)));
    let place = |host: usize| {
        if size[label[host]] > 1 {
            return label[host];
        }
        let mut cost = vec![0.0; size.len()];
        all.iter()
            .for_each(|(square, blocks)| add_misfit(square.row(host), blocks, label, Some(label[host]), &mut cost));
        let groups = (0..size.len()).filter(|group| size[*group] > 1);
        groups.min_by(|a, b| cost[*a].total_cmp(&cost[*b])).unwrap_or(0)
    };
    by_size(&(0..label.len()).into_par_iter().map(place).collect::<Vec<_>>())
}

/// Partitions of different coarseness: hosts whose rows have similar shapes, then moved to where they fit.
pub fn candidates(bands: &[Band]) -> Vec<Vec<usize>> {
    let hosts = bands[0].first.side();
    let first: Vec<(&Square, f64)> = bands.iter().map(|band| (&band.first, band.noise)).collect();
    let trees = [Judge::KnownPairs, Judge::HeldOutPairs].map(|judge| tree_of_places(bands, judge));
    let counts = COARSENESS.into_iter().take_while(|count| *count <= hosts / 3);
    let cuts = counts.flat_map(|count| trees.iter().map(move |tree| by_size(&cut(tree, hosts, count))));
    cuts.map(|label| settle(&first, label)).collect()
}

/// Joins hosts that are in places near each other.
fn tree_of_places(bands: &[Band], judge: Judge) -> Dendrogram<f64> {
    let hosts = bands[0].first.side();
    let places: Vec<DMatrix<f64>> =
        bands.par_iter().map(|band| spectral::patterns(band, judge).places() / band.noise).collect();
    let pairs = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |k| (i, k)));
    let apart = |(i, k)| {
        let squares = places.iter().map(|places| (places.row(i) - places.row(k)).norm_squared());
        squares.sum::<f64>().sqrt()
    };
    let mut distances: Vec<f64> = pairs.map(apart).collect();
    linkage(&mut distances, hosts, Method::Ward)
}

/// Moves every host to where all squares say that it fits.
pub fn settled(bands: &[Band], label: Vec<usize>) -> Vec<usize> {
    settle(&squares(bands), label)
}

/// Numbers of groups that are tried.
const COARSENESS: [usize; 12] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32];

/// Many small parts of hosts whose rows have similar shapes.
fn parts(bands: &[Band], hosts: usize) -> Vec<usize> {
    cut(&tree(bands, hosts), hosts, (hosts / 2).clamp(1, MOST_PARTS))
}

/// Joins hosts whose rows have similar shapes.
fn tree(bands: &[Band], hosts: usize) -> Dendrogram<f64> {
    let rows: Vec<Rows> = bands.iter().map(|band| Rows::of(band, hosts)).collect();
    let of_host = |i: usize| (i + 1..hosts).map(move |k| (i, k));
    let distances = (0..hosts).into_par_iter().flat_map_iter(of_host).map(|(i, k)| distance(&rows, i, k));
    let mut distances: Vec<f64> = distances.collect();
    let mut known: Vec<f64> = distances.iter().copied().filter(|d| d.is_finite()).collect();
    let usual = median(&mut known);
    let usual = if usual.is_nan() { 1.0 } else { usual };
    distances.iter_mut().filter(|d| !d.is_finite()).for_each(|d| *d = usual);
    linkage(&mut distances, hosts, Method::Ward)
}

/// The part of every host once the first joins have left this many parts.
pub(super) fn cut(tree: &Dendrogram<f64>, hosts: usize, count: usize) -> Vec<usize> {
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

/// Rows of a band's first square at the third hosts on which shapes are compared, one after the other; each is filled
/// up to a multiple of [`LANES`] with missing ones.
struct Rows {
    values: Vec<f32>,
    columns: usize,
    noise: f64,
}

impl Rows {
    fn of(band: &Band, hosts: usize) -> Self {
        let step = hosts.div_ceil(MOST_COLUMNS).max(1);
        let columns = hosts.div_ceil(step).next_multiple_of(LANES);
        let mut values = vec![f32::NAN; hosts * columns];
        for (host, row) in values.chunks_mut(columns).enumerate() {
            row.iter_mut().zip(band.first.row(host).iter().step_by(step)).for_each(|(value, of)| *value = *of);
        }
        Self { values, columns, noise: band.noise }
    }

    fn row(&self, host: usize) -> &[f32] {
        &self.values[host * self.columns..][..self.columns]
    }
}

/// Sums that are kept side by side, so that the processor can add several at once.
const LANES: usize = 8;

/// Scatter of the difference of two rows over third hosts, in units of its noise; infinite where nothing is known.
fn distance(bands: &[Rows], i: usize, k: usize) -> f64 {
    let mut sum = 0.0;
    let mut known = 0.0;
    for band in bands {
        let (mut count, mut total, mut squares) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
        for (a, b) in band.row(i).as_chunks::<LANES>().0.iter().zip(band.row(k).as_chunks::<LANES>().0) {
            for (lane, (a, b)) in a.iter().zip(b).enumerate() {
                let difference = a - b;
                // The diagonal is missing: neither host is compared with itself.
                let (one, difference) = if difference.is_nan() { (0.0, 0.0) } else { (1.0, difference) };
                count[lane] += one;
                total[lane] += difference;
                squares[lane] += difference * difference;
            }
        }
        let [count, total, squares] = [count, total, squares].map(|lanes| lanes.iter().sum::<f32>());
        if count >= 3.0 {
            let variance = f64::from((squares - total * total / count) / (count - 1.0)).max(0.0);
            sum += variance / (2.0 * band.noise * band.noise);
            known += 1.0;
        }
    }
    if known > 0.0 { (sum / known).sqrt() } else { f64::INFINITY }
}

/// How unlikely it is that two parts have the same shape, in standard deviations; at least that, where it is [`FAR`].
fn difference(all: &[Blocks], alive: &[usize], a: usize, b: usize) -> f64 {
    let (mut excess, mut degrees) = (0.0, 0.0);
    let (mut own, mut own_precision) = (0.0, 0.0);
    let most_degrees = ((alive.len() - 1) * all.len()) as f64;
    let mut columns: Vec<(f64, f64, bool)> = Vec::with_capacity(alive.len());
    for blocks in all {
        // What has been seen is enough, whatever the others say.
        let at_least = (excess - most_degrees) / (2.0 * most_degrees).sqrt();
        if at_least > FAR {
            return at_least;
        }
        let variance = blocks.noise * blocks.noise;
        columns.clear();
        let mut inner = [None; 2];
        let ((middle, cells), (other_middle, other_cells)) = (blocks.row(a), blocks.row(b));
        for &c in alive {
            let (left, right) = (cells[c], other_cells[c]);
            if left > 0.0 && right > 0.0 {
                let weight = weight(variance, left, right);
                let value = middle[c] - other_middle[c];
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
    let mut alike = most_alike(&first, &alive, &differ);
    while let Some((_, a, b)) = alike.pop() {
        if difference(&second, &alive, a, b) > LIMIT {
            differ[a * count + b] = true;
            continue;
        }
        first.iter_mut().chain(&mut second).for_each(|blocks| blocks.join(&alive, a, b));
        alive.retain(|part| *part != b);
        label.iter_mut().filter(|part| **part == b).for_each(|part| *part = a);
        // The larger part may be told from the others where the smaller ones could not, and the other way round.
        (0..count).for_each(|c| (differ[a * count + c], differ[c * count + a]) = (false, false));
        alike = most_alike(&first, &alive, &differ);
    }
    by_size(&label)
}

/// Pairs of parts that are not known to differ, with their difference; the most alike last.
fn most_alike(blocks: &[Blocks], alive: &[usize], differ: &[bool]) -> Vec<(f64, usize, usize)> {
    let count = blocks[0].count;
    let pairs = alive.iter().enumerate().flat_map(|(n, &a)| alive[n + 1..].iter().map(move |&b| (a, b)));
    let pairs: Vec<(usize, usize)> = pairs.filter(|(a, b)| !differ[a * count + b]).collect();
    let differences = pairs.par_iter().with_min_len(PAIRS).map(|&(a, b)| (difference(blocks, alive, a, b), a, b));
    let mut alike: Vec<(f64, usize, usize)> = differences.collect();
    // Of equals, the first one is last.
    alike.reverse();
    alike.sort_by(|x, y| y.0.total_cmp(&x.0));
    alike
}

/// Pairs that are worth a task of their own.
const PAIRS: usize = 64;

/// Moves single hosts to the group whose shape is theirs.
fn settle(squares: &[(&Square, f64)], mut label: Vec<usize>) -> Vec<usize> {
    for _ in 0..4 {
        let (all, size) = (all_blocks(squares, &label), sizes(&label, count(&label)));
        let count = size.len();
        let moved: Vec<usize> = (0..label.len())
            .into_par_iter()
            .map(|host| {
                let mut cost = vec![0.0; count];
                all.iter().for_each(|(square, blocks)| {
                    add_misfit(square.row(host), blocks, &label, Some(label[host]), &mut cost)
                });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{band, generator, is_same_partition, leaves, lose_pairs};

    /// Two bands of leaves: the way between them takes longer by `step` in the first and by half of it in the second.
    fn bands(leaf: &[usize], step: f64, noise: f64, host: impl Fn(usize) -> f64, seed: u64) -> Vec<Band> {
        let mut rng = generator(seed);
        [1.0, 0.5]
            .map(|share| {
                let way = |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { share * step };
                band(leaf.len(), noise, &mut rng, |i, j| way(i, j) + host(i) + host(j))
            })
            .into()
    }

    #[test]
    fn leaves_are_found_whatever_the_order_of_the_hosts() {
        for (seed, sizes) in [&[8, 8][..], &[20, 5], &[10, 8, 6], &[7, 7, 7, 7], &[30, 4, 4, 4]].into_iter().enumerate()
        {
            let leaf = leaves(sizes, &mut generator(seed as u64));
            let found = infer(&bands(&leaf, 0.3, 0.04, |_| 0.0, seed as u64));
            assert!(is_same_partition(&found, &leaf), "{sizes:?} {leaf:?} {found:?}");
            // The largest group is the first one.
            let size = super::sizes(&found, super::count(&found));
            assert!(size.is_sorted_by(|a, b| a >= b), "{size:?}");
        }
    }

    #[test]
    fn a_slow_host_has_the_shape_of_its_neighbours() {
        let leaf = leaves(&[9, 9, 9], &mut generator(2));
        let found = infer(&bands(&leaf, 0.3, 0.04, |host| if host == 5 { 0.4 } else { 0.0 }, 3));
        assert!(is_same_partition(&found, &leaf), "{leaf:?} {found:?}");
    }

    #[test]
    fn noise_is_one_group() {
        for hosts in [3, 4, 8, 24] {
            for seed in 0..10 {
                assert_eq!(infer(&bands(&vec![0; hosts], 0.0, 0.05, |_| 0.0, seed)), vec![0; hosts], "seed {seed}");
            }
        }
    }

    #[test]
    fn parts_of_one_group_are_joined_and_a_host_in_the_wrong_one_moves() {
        let leaf = leaves(&[10, 10], &mut generator(4));
        let bands = bands(&leaf, 0.3, 0.04, |_| 0.0, 5);
        let split: Vec<usize> = leaf.iter().enumerate().map(|(host, leaf)| 2 * leaf + host % 2).collect();
        assert!(is_same_partition(&refine(&bands, split), &leaf));
        let mut wrong = leaf.clone();
        wrong[3] = 1 - wrong[3];
        assert!(is_same_partition(&refine(&bands, wrong.clone()), &leaf));
        assert!(is_same_partition(&settled(&bands, wrong), &leaf));
    }

    #[test]
    fn a_host_alone_goes_to_the_group_that_it_is_most_like() {
        let leaf = leaves(&[9, 7], &mut generator(6));
        let mut alone = leaf.clone();
        alone[2] = 2;
        let bands = bands(&leaf, 0.3, 0.04, |host| if host == 2 { 1.0 } else { 0.0 }, 7);
        assert!(is_same_partition(&absorb(&bands, &alone), &leaf));
        // Where everybody is alone, all are one group.
        assert_eq!(absorb(&bands, &(0..16).collect::<Vec<_>>()), [0; 16]);
    }

    #[test]
    fn among_the_candidates_is_the_right_one_where_half_of_the_pairs_are_missing() {
        for sizes in [&[16, 16][..], &[12, 12, 12]] {
            let leaf = leaves(sizes, &mut generator(8));
            let mut bands = bands(&leaf, 0.4, 0.04, |_| 0.0, 9);
            let mut squares: Vec<&mut Square> =
                bands.iter_mut().flat_map(|band| [&mut band.first, &mut band.second]).collect();
            lose_pairs(&mut squares, 0.5, &mut generator(10));
            let found = candidates(&bands);
            assert!(found.iter().any(|found| is_same_partition(found, &leaf)), "{leaf:?} {found:?}");
            // None is finer than three hosts a group.
            assert!(found.iter().all(|found| found.iter().max().unwrap() < &(leaf.len() / 3)));
        }
    }

    #[test]
    fn a_tree_is_cut_into_as_many_parts_as_were_asked_for() {
        let leaf = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2];
        let tree = tree(&bands(&leaf, 0.5, 0.01, |_| 0.0, 11), 12);
        for count in 1..=12 {
            let label = cut(&tree, 12, count);
            assert_eq!(label.iter().collect::<std::collections::HashSet<_>>().len(), count);
        }
        assert!(is_same_partition(&cut(&tree, 12, 3), &leaf));
    }

    #[test]
    fn rows_without_common_columns_are_of_unknown_distance() {
        let missing = || Square::missing(5);
        let bands = [Band { first: missing(), second: missing(), noise: 0.1 }];
        assert_eq!(
            distance(&bands.iter().map(|band| Rows::of(band, band.first.side())).collect::<Vec<_>>(), 0, 1),
            f64::INFINITY
        );
        assert_eq!(infer(&bands).len(), 5);
    }
}

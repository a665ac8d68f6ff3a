//! What a healthy network of this structure would show, and how every host and pair departs from it.
//!
//! In: [`Folded`]. Out: [`Fit`]: at every length, with `y = ln(time / level)`,
//!
//! ```text
//! (y_ij + y_ji) / 2 = block(group of i, group of j) + common_i + common_j + rest_ij
//! (y_ij - y_ji) / 2 = side_i - side_j + rest of the difference
//! ```
//!
//! so that host `i` sends `common_i + side_i` slower than others and receives `common_i - side_i` slower. Structure is in
//! the first line only. Both are fitted by alternating medians (Tukey's median polish), with the blocks beside rows and
//! columns.

use std::collections::HashSet;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::{
    folded::{Folded, Square},
    robust::{median_of, scatter, scatter_about_zero},
};
use crate::{
    analysis::groups::{self, Band, spectral},
    stats::median,
};

/// Least standard deviation of noise that is believed, as a share of a time: clocks and medians are no finer.
const LEAST_NOISE: f64 = 0.004;

/// Bands of neighbouring lengths that structure is looked for in.
const BANDS: usize = 3;

/// One length.
pub struct LengthFit {
    /// Middle of `common` form of every pair of groups, `[group * groups + group]`; symmetric; NaN where there is no
    /// cell.
    pub block: Vec<f64>,
    /// By how much a host is slower both ways, `[host]`.
    pub common: Vec<f64>,
    /// Half of what a host sends slower than it receives, `[host]`.
    pub side: Vec<f64>,
    /// Scatter of the rest of the mean of both directions.
    pub noise: f64,
    /// Scatter of the rest of half the difference.
    pub side_noise: f64,
}

/// A run taken apart.
pub struct Fit {
    /// The group of every host, `[host]`.
    pub group: Vec<usize>,
    /// Number of groups.
    pub groups: usize,
    /// Whether the structure is understood: if not, what is slow both ways may be far rather than at fault.
    pub is_understood: bool,
    /// `[length]`.
    pub lengths: Vec<LengthFit>,
    /// Rest of the mean of both directions, `[length]`.
    pub rest: Vec<Square>,
    /// Rest of half the difference, row minus column, `[length]`.
    pub side_rest: Vec<Square>,
    /// Cells of every host at every length, `[length][host]`: partners for which the mean is there.
    pub cells: Vec<Vec<usize>>,
    /// Partners for which both directions are there, `[length][host]`.
    pub side_cells: Vec<Vec<usize>>,
    /// Source and destination of pairs that were measured in this direction only, at any length.
    pub one_way: HashSet<(usize, usize)>,
}

impl Fit {
    /// Takes a run apart; `known` are groups that somebody names, else they are found in the data.
    pub fn of(mut folded: Folded, known: Option<&[usize]>) -> Self {
        let sides: Vec<Side> = folded.half.par_iter().map(|half| fit_sides(half.clone())).collect();
        for ((mean, side), one_way) in folded.mean.iter_mut().zip(&sides).zip(&folded.one_way) {
            // What a host sends slower than it receives cancels out where both directions are there.
            for &(from, to) in one_way {
                let value = mean.at(from, to) - (side.effect[from] - side.effect[to]);
                mean.set(from, to, value);
                mean.set(to, from, value);
            }
        }
        let Structure { group, patterns, is_understood } = match known {
            Some(known) => {
                Structure { group: known.to_vec(), patterns: vec![DMatrix::zeros(known.len(), 0)], is_understood: true }
            }
            None => infer(&folded),
        };
        let one_way: HashSet<(usize, usize)> = folded.one_way.iter().flatten().copied().collect();
        let groups = group.iter().max().map_or(1, |last| last + 1);
        let hosts = group.len();
        let lengths = folded.mean.len();
        let of_length = |length: usize| &patterns[length * patterns.len() / lengths];
        let fitted = folded.mean.into_par_iter().enumerate();
        let fitted: Vec<_> = fitted.map(|(length, mean)| fit_blocks(mean, &group, groups, of_length(length))).collect();
        let mut fit = Self {
            group,
            groups,
            is_understood,
            lengths: Vec::new(),
            rest: Vec::new(),
            side_rest: Vec::new(),
            cells: Vec::new(),
            side_cells: Vec::new(),
            one_way,
        };
        for (common, side) in fitted.into_iter().zip(sides) {
            let count = |square: &Square, host| square.row(host).iter().filter(|value| !value.is_nan()).count();
            fit.cells.push((0..hosts).map(|host| count(&common.rest, host)).collect());
            fit.side_cells.push((0..hosts).map(|host| count(&side.rest, host)).collect());
            fit.lengths.push(LengthFit {
                block: common.block,
                common: common.effect,
                side: side.effect,
                noise: common.noise,
                side_noise: side.noise,
            });
            fit.rest.push(common.rest);
            fit.side_rest.push(side.rest);
        }
        fit
    }

    /// What a healthy pair of these hosts would take, `ln(time / level)`.
    pub fn usual(&self, length: usize, source: usize, destination: usize) -> f64 {
        let of = &self.lengths[length];
        let block = of.block[self.group[source] * self.groups + self.group[destination]];
        block + of.common[source] + of.common[destination] + of.side[source] - of.side[destination]
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.group.len()
    }

    /// The rest of one ordered pair: mean and difference together.
    pub fn rest_from_to(&self, length: usize, source: usize, destination: usize) -> f64 {
        let side = self.side_rest[length].at(source, destination);
        self.rest[length].at(source, destination) + if side.is_nan() { 0.0 } else { side }
    }
}

/// The antisymmetric part of one length.
struct Side {
    effect: Vec<f64>,
    noise: f64,
    rest: Square,
}

fn fit_sides(mut half: Square) -> Side {
    let hosts = half.side();
    let mut effect = vec![0.0; hosts];
    for _ in 0..4 {
        let next: Vec<f64> = (0..hosts)
            .into_par_iter()
            .map_init(Vec::new, |scratch, i| {
                let row = half.row(i).iter().zip(&effect).filter(|(value, _)| !value.is_nan());
                median_of(row.map(|(value, effect)| f64::from(*value) + effect), scratch)
            })
            .map(|value| if value.is_nan() { 0.0 } else { value })
            .collect();
        let middle = median(&mut next.clone());
        effect = next.into_iter().map(|value| value - middle).collect();
    }
    half.rows_mut().enumerate().for_each(|(i, row)| {
        row.iter_mut().zip(&effect).for_each(|(value, other)| *value -= (effect[i] - other) as f32);
    });
    let noise = noise_of(&half, hosts);
    Side { effect, noise, rest: half }
}

/// The symmetric part of one length.
struct Common {
    block: Vec<f64>,
    effect: Vec<f64>,
    noise: f64,
    rest: Square,
}

/// Members of every group.
pub fn members(group: &[usize], groups: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); groups];
    group.iter().enumerate().for_each(|(host, group)| members[*group].push(host));
    members
}

fn fit_blocks(mean: Square, group: &[usize], groups: usize, patterns: &DMatrix<f64>) -> Common {
    let mut fitted = fit_groups(mean, group, groups);
    if patterns.ncols() > 0 {
        for _ in 0..3 {
            take_patterns(&mut fitted, patterns);
            let Common { block, effect, rest, .. } = fitted;
            let more = fit_groups(rest, group, groups);
            fitted = Common {
                block: block.iter().zip(&more.block).map(|(a, b)| a + b).collect(),
                effect: effect.iter().zip(&more.effect).map(|(a, b)| a + b).collect(),
                ..more
            };
        }
    }
    fitted
}

/// Takes from the rest what the patterns explain of it.
fn take_patterns(fitted: &mut Common, patterns: &DMatrix<f64>) {
    let hosts = patterns.nrows();
    let mut explained: DMatrix<f64> = DMatrix::zeros(hosts, hosts);
    // What is missing, the diagonal among it, and what is wild is filled in with what has been explained so far.
    for _ in 0..FILLINGS {
        let mut departures: Vec<f64> =
            fitted.rest.upper_pairs().map(|(i, j, value)| value - explained[(i, j)]).collect();
        let limit = WILD_DEPARTURE * scatter_about_zero(&mut departures);
        let filled = DMatrix::from_fn(hosts, hosts, |i, j| {
            let value = fitted.rest.at(i, j);
            let is_usual = (value - explained[(i, j)]).abs() <= limit;
            if is_usual { value } else { explained[(i, j)] }
        });
        explained = patterns * (patterns.transpose() * filled * patterns) * patterns.transpose();
    }
    fitted.rest.rows_mut().enumerate().for_each(|(i, row)| {
        row.iter_mut().enumerate().for_each(|(j, value)| *value -= explained[(i, j)] as f32);
    });
}

/// Standard deviation of the noise, from a rest that was left by taking so many numbers from it.
fn noise_of(rest: &Square, taken: usize) -> f64 {
    let mut values: Vec<f64> = rest.upper().collect();
    let count = values.len() as f64;
    let free = (count - taken as f64).max(LEAST_FREE * count).max(1.0);
    (scatter_about_zero(&mut values) * (count / free).sqrt()).max(LEAST_NOISE)
}

/// Share of the values that say something about noise at least, however many numbers were taken from them.
const LEAST_FREE: f64 = 0.2;

/// How often missing and wild values are filled in before patterns are believed.
const FILLINGS: usize = 8;

/// Departure from what patterns explain, in units of the usual one, from which on a value is wild.
const WILD_DEPARTURE: f64 = 4.0;

fn fit_groups(mut mean: Square, group: &[usize], groups: usize) -> Common {
    let hosts = group.len();
    let members = members(group, groups);
    let mut effect = vec![0.0; hosts];
    let mut block = vec![f64::NAN; groups * groups];
    let places: Vec<(usize, usize)> = (0..groups).flat_map(|g| (g..groups).map(move |h| (g, h))).collect();
    for _ in 0..3 {
        let middles: Vec<f64> = places
            .par_iter()
            .map_init(Vec::new, |scratch, &(g, h)| {
                let (mean, effect) = (&mean, &effect);
                let cells = members[g].iter().flat_map(|&i| {
                    let others = members[h].iter().filter(move |j| g != h || **j > i);
                    others.map(move |&j| mean.at(i, j) - effect[i] - effect[j])
                });
                median_of(cells, scratch)
            })
            .collect();
        for (&(g, h), &middle) in places.iter().zip(&middles) {
            block[g * groups + h] = middle;
            block[h * groups + g] = middle;
        }
        for _ in 0..2 {
            effect = (0..hosts)
                .into_par_iter()
                .map_init(Vec::new, |scratch, i| {
                    let row = mean.row(i).iter().enumerate().filter(|(_, value)| !value.is_nan());
                    let rest =
                        row.map(|(j, value)| f64::from(*value) - block[group[i] * groups + group[j]] - effect[j]);
                    median_of(rest, scratch)
                })
                .map(|value| if value.is_nan() { 0.0 } else { value })
                .collect();
            // What all hosts of a group share belongs to its blocks.
            for members in &members {
                let middle = median(&mut members.iter().map(|&host| effect[host]).collect::<Vec<_>>());
                members.iter().for_each(|&host| effect[host] -= middle);
            }
        }
    }
    mean.rows_mut().enumerate().for_each(|(i, row)| {
        for (j, value) in row.iter_mut().enumerate() {
            *value -= (block[group[i] * groups + group[j]] + effect[i] + effect[j]) as f32;
        }
    });
    let noise = noise_of(&mean, hosts + block.iter().filter(|block| !block.is_nan()).count() / 2);
    Common { block, effect, noise, rest: mean }
}

/// What a network's structure is like: groups of hosts, or else patterns.
struct Structure {
    /// `[host]`.
    group: Vec<usize>,
    /// For each band of lengths, one pattern in each column, `[host, pattern]`.
    patterns: Vec<DMatrix<f64>>,
    /// Whether it predicts one direction of pairs from the other one about as well as noise allows.
    is_understood: bool,
}

/// Finds groups of hosts, or patterns where groups do not explain what there is.
fn infer(folded: &Folded) -> Structure {
    let bands_given = |group: &[usize]| -> Vec<Band> {
        let half: Vec<Square> = folded.half.par_iter().map(|half| without_sides(half.clone(), group)).collect();
        bands(&folded.mean, &half)
    };
    let everybody = vec![0; folded.hosts()];
    let mut group = groups::infer(&bands_given(&everybody));
    for _ in 0..3 {
        // Once groups are known, the effects of single hosts are, and without these groups are seen better.
        let mut bands = bands_given(&group);
        bands.iter_mut().for_each(|band| without_common(band, &group));
        let next = groups::refine(&bands, group.clone());
        if next == group {
            break;
        }
        group = next;
    }
    let bands = bands_given(&group);
    let mut group = groups::absorb(&bands, &group);
    let hosts = folded.hosts() as f64;
    let cells = bands[0].first.upper().count() as f64 / (hosts * (hosts - 1.0) / 2.0);
    if cells < MOST_MISSING {
        let mut bands = bands_given(&group);
        bands.iter_mut().for_each(|band| without_common(band, &group));
        let all = groups::candidates(&bands).into_iter().chain([everybody.clone(), group.clone()]);
        let costs = all.map(|group| (cost(&bands, &group), group));
        if let Some((_, best)) = costs.min_by(|a, b| a.0.total_cmp(&b.0)) {
            group = groups::settled(&bands, best);
            let sorted = groups::sorted(&bands, group.clone());
            if cost(&bands, &sorted) < cost(&bands, &group) {
                group = sorted;
            }
        }
    }
    // A model that is right still errs by the noise in its own numbers: one per host and one per block.
    let groups = group.iter().max().map_or(0, |last| last + 1) as f64;
    let own = (1.0 + 1.57 * (2.0 / hosts + groups * (groups + 1.0) / (hosts * (hosts - 1.0)))).sqrt();
    let errors: Vec<f64> = bands.iter().map(|band| error_of_groups(band, &group) / (own * band.noise)).collect();
    let by_groups = errors.iter().sum::<f64>() / errors.len() as f64;
    let not_understood = if cells < MOST_MISSING { NOT_UNDERSTOOD_WITH_FEW } else { NOT_UNDERSTOOD };
    let none = || vec![DMatrix::zeros(folded.hosts(), 0); bands.len()];
    if by_groups < UNEXPLAINED {
        let is_understood = cells >= MOST_MISSING || !has_shortcuts(&bands, &group);
        return Structure { group, patterns: none(), is_understood };
    }
    let patterns: Vec<spectral::Patterns> = bands.iter().map(spectral::patterns).collect();
    let errors = patterns.iter().zip(&bands).map(|(patterns, band)| patterns.error / band.noise);
    let by_patterns = errors.sum::<f64>() / bands.len() as f64;
    if folded.hosts() >= LEAST_HOSTS && by_patterns < CLEARLY_BETTER * by_groups {
        let patterns = patterns.into_iter().map(|patterns| patterns.vectors).collect();
        return Structure { group: everybody, patterns, is_understood: by_patterns < not_understood };
    }
    Structure { group, patterns: none(), is_understood: by_groups < not_understood }
}

/// The mean of both directions.
fn mean_of(band: &Band) -> Square {
    let mut mean = band.first.clone();
    mean.rows_mut().enumerate().for_each(|(i, row)| {
        for (value, other) in row.iter_mut().zip(band.second.row(i)) {
            *value = match (value.is_nan(), other.is_nan()) {
                (true, _) => *other,
                (_, true) => *value,
                _ => (*value + other) / 2.0,
            };
        }
    });
    mean
}

/// Takes the effects of hosts, given their groups, from both squares of a band.
fn without_common(band: &mut Band, group: &[usize]) {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let effect = fit_groups(mean_of(band), group, groups).effect;
    for square in [&mut band.first, &mut band.second] {
        square.rows_mut().enumerate().for_each(|(i, row)| {
            row.iter_mut().zip(&effect).for_each(|(value, other)| *value -= (effect[i] + other) as f32);
        });
    }
}

/// Whether several pairs are faster, both ways, than their groups and hosts explain: no fault does that.
fn has_shortcuts(bands: &[Band], group: &[usize]) -> bool {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let is_many = |band: &Band| {
        let fit = fit_groups(mean_of(band), group, groups);
        let departs = |i: usize, j: usize, value: f64| {
            let usual = fit.block[group[i] * groups + group[j]] + fit.effect[i] + fit.effect[j];
            value - usual < -SHORTCUT * band.noise
        };
        let (mut faster, mut all) = (0, 0);
        for (i, j, value) in band.first.upper_pairs().filter(|(i, j, _)| !band.second.at(*i, *j).is_nan()) {
            all += 1;
            faster += usize::from(departs(i, j, value) && departs(i, j, band.second.at(i, j)));
        }
        faster as f64 > 1.0 + SHORTCUTS * f64::from(all)
    };
    bands.iter().any(is_many)
}

/// Departure, in units of noise, of a pair that is faster than others for a reason.
const SHORTCUT: f64 = 4.0;

/// Share of pairs that may be.
const SHORTCUTS: f64 = 0.002;

/// How badly groups predict one direction from the other: mean square in units of noise, wild ones taken back.
fn cost(bands: &[Band], group: &[usize]) -> f64 {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let of_band = |band: &Band| {
        let of = |own: &Square, other: &Square| {
            let fit = fit_groups(own.clone(), group, groups);
            let (mut sum, mut count) = (0.0, 0.0);
            for (i, j, value) in other.upper_pairs() {
                let error = value - fit.block[group[i] * groups + group[j]] - fit.effect[i] - fit.effect[j];
                sum += (error / band.noise).abs().min(6.0).powi(2);
                count += 1.0;
            }
            sum / count
        };
        of(&band.first, &band.second)
    };
    bands.iter().map(of_band).sum()
}

/// Middle error of groups that were fitted to a band's first square in predicting its second one.
fn error_of_groups(band: &Band, group: &[usize]) -> f64 {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let first = fit_groups(band.first.clone(), group, groups);
    let errors = band
        .second
        .upper_pairs()
        .map(|(i, j, value)| value - first.block[group[i] * groups + group[j]] - first.effect[i] - first.effect[j]);
    scatter_about_zero(&mut errors.collect::<Vec<_>>())
}

/// Error, in units of noise, from which on structure is not understood.
const NOT_UNDERSTOOD: f64 = 4.0;

/// The same where many pairs are missing: hosts then have different partners, at different distances, and what is not
/// understood does not cancel out.
const NOT_UNDERSTOOD_WITH_FEW: f64 = 1.35;

/// Share of pairs below which many are missing.
const MOST_MISSING: f64 = 0.8;

/// Least hosts in which patterns are looked for.
const LEAST_HOSTS: usize = 16;

/// Error of groups in predicting one direction from the other, in units of noise, from which on something else is tried.
const UNEXPLAINED: f64 = 1.25;

/// What patterns must make of the error of groups to be believed instead.
const CLEARLY_BETTER: f64 = 0.8;

/// Least members of a group toward which a host has an effect of its own.
const LEAST_MEMBERS: usize = 4;

/// Takes from half the difference of directions what hosts send slower than they receive: toward each group its own
/// amount, because what slows the long way by a tenth may slow the short way by a fifth.
fn without_sides(mut half: Square, group: &[usize]) -> Square {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let members = members(group, groups);
    let hosts = half.side();
    for _ in 0..3 {
        let effects: Vec<Vec<f64>> = (0..hosts)
            .into_par_iter()
            .map_init(Vec::new, |scratch, i| {
                let row = half.row(i);
                let all = median_of(row.iter().map(|value| f64::from(*value)), scratch);
                let toward = members.iter().map(|members| {
                    let own = median_of(members.iter().map(|j| f64::from(row[*j])), scratch);
                    if members.len() < LEAST_MEMBERS || own.is_nan() { all } else { own }
                });
                toward.map(|effect| if effect.is_nan() { 0.0 } else { effect }).collect()
            })
            .collect();
        half.rows_mut().enumerate().for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate() {
                *value -= (effects[i][group[j]] - effects[j][group[i]]) as f32;
            }
        });
    }
    half
}

/// Neighbouring lengths together, without wild values.
fn bands(mean: &[Square], half: &[Square]) -> Vec<Band> {
    let count = mean.len().min(BANDS);
    let hosts = mean[0].side();
    (0..count)
        .into_par_iter()
        .map(|band| {
            let lengths = band * mean.len() / count..(band + 1) * mean.len() / count;
            // Of each pair, one direction: the same at all lengths. A pair of which only one was measured has it here or there.
            let pick = |sign: f64| {
                let mut values = Square::missing(hosts);
                values.rows_mut().enumerate().for_each(|(i, row)| {
                    let mut scratch = Vec::new();
                    for (j, value) in row.iter_mut().enumerate().filter(|(j, _)| *j != i) {
                        let is_one_way = lengths.clone().all(|length| half[length].at(i, j).is_nan());
                        if is_one_way && sign * coin(i.min(j), i.max(j)) < 0.0 {
                            continue;
                        }
                        let sign = sign * coin(i, j);
                        let cells = lengths.clone().map(|length| {
                            let half = half[length].at(i, j);
                            mean[length].at(i, j) + if half.is_nan() { 0.0 } else { sign * half }
                        });
                        *value = middle_of_few(cells, &mut scratch) as f32;
                    }
                });
                tame(&mut values);
                values
            };
            let (first, second) = (pick(1.0), pick(-1.0));
            let differences = first.upper_pairs().map(|(i, j, value)| value - second.at(i, j));
            let mut differences: Vec<f64> = differences.filter(|difference| !difference.is_nan()).collect();
            let noise = if differences.len() < LEAST_DIFFERENCES {
                scatter(&mut first.upper().collect::<Vec<_>>())
            } else {
                clipped_scatter(&mut differences) / 2.0f64.sqrt()
            };
            Band { first, second, noise: noise.max(LEAST_NOISE) }
        })
        .collect()
}

/// Pairs that were measured in both directions from which on their differences say how large the noise is.
const LEAST_DIFFERENCES: usize = 8;

/// 1 or -1 by a hash of a pair, with opposite signs for `(i, j)` and `(j, i)`.
fn coin(i: usize, j: usize) -> f64 {
    let (low, high) = (i.min(j) as u64, i.max(j) as u64);
    // SplitMix64's mixing (Steele, Lea and Flood, 2014).
    let mut z = low.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(high).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^= z >> 29;
    z = z.wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 32;
    if (z & 1 == 0) == (i < j) { 1.0 } else { -1.0 }
}

/// Standard deviation about zero after wild values were taken back to four times the usual scatter.
fn clipped_scatter(values: &mut [f64]) -> f64 {
    let usual = scatter_about_zero(&mut values.to_vec());
    let squares: f64 = values.iter().map(|value| value.abs().min(4.0 * usual).powi(2)).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

/// The mean of one or two values, else of those nearer to the middle.
fn middle_of_few(values: impl Iterator<Item = f64>, scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend(values.filter(|value| !value.is_nan()));
    scratch.sort_unstable_by(f64::total_cmp);
    let cut = scratch.len() / 4;
    let kept = &scratch[cut..scratch.len() - cut];
    if kept.is_empty() { f64::NAN } else { kept.iter().sum::<f64>() / kept.len() as f64 }
}

/// Share of a row's cells that may be wild.
const WILD: f64 = 0.03;

/// Takes wild values back to the largest usual one of their row or of their column, whichever is larger: what is slow as
/// a whole stays slow.
fn tame(values: &mut Square) {
    let hosts = values.side();
    let largest: Vec<f32> = (0..hosts)
        .into_par_iter()
        .map(|i| {
            let mut row: Vec<f32> = values.row(i).iter().copied().filter(|value| !value.is_nan()).collect();
            let wild = (row.len() as f64 * WILD).ceil() as usize;
            if row.len() <= wild {
                return f32::INFINITY;
            }
            let place = row.len() - 1 - wild;
            *row.select_nth_unstable_by(place, f32::total_cmp).1
        })
        .collect();
    values.rows_mut().enumerate().for_each(|(i, row)| {
        for (value, limit) in row.iter_mut().zip(&largest).filter(|(value, _)| !value.is_nan()) {
            *value = value.min(limit.max(largest[i]));
        }
    });
}

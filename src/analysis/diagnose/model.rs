//! What a healthy network of this structure would show, and how every host and pair departs from it.
//!
//! In: [`Folded`]. Out: [`Fit`]: at every length, with `y = ln(time / level)`,
//!
//! ```text
//! (y_ij + y_ji) / 2 = block(group of i, group of j) + common_i + common_j + rest_ij
//! (y_ij - y_ji) / 2 = side_i - side_j + rest of the difference
//! ```
//!
//! so that host `i` sends `common_i + side_i` slower than others and receives `common_i - side_i` slower. Structure is
//! in the first line only. Both are fitted by alternating medians (Tukey's median polish), with the blocks beside rows
//! and columns.

use std::collections::HashSet;

use rayon::prelude::*;

use super::{
    folded::Folded,
    one_way,
    polish::{Common, Grouping, Side, fit_blocks, fit_sides},
    sample,
    structure::Structure,
};
use crate::analysis::square::Square;

pub use super::polish::members;

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
    /// Whether there are enough cells to tell the structure: if not, what hosts add to it cannot be told either.
    pub is_determined: bool,
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
    /// Share of the pairs that were measured, at the length at which most were.
    pub measured: f64,
    /// Source and destination of pairs that were measured in this direction only, at any length.
    pub one_way: HashSet<(usize, usize)>,
}

impl Fit {
    /// Takes a run apart; `known` are groups that somebody names, else they are found in the data.
    pub fn of(folded: Folded, known: Option<&[usize]>) -> Self {
        let structure = match known {
            Some(known) => Structure::of_groups(known.to_vec(), true, true),
            None => sample::infer(&folded),
        };
        let (lengths, measured) = (folded.mean.len(), folded.measured());
        let groups = structure.group.iter().max().map_or(1, |last| last + 1);
        let grouping = Grouping { group: &structure.group, groups, alike: structure.alike.as_deref() };
        let fit_mean =
            |length: usize, mean: Square| fit_blocks(mean, grouping, structure.neighbourhood(length, lengths));
        let directions = folded.mean.into_par_iter().zip(folded.half).zip(&folded.one_way).enumerate();
        let fitted: Vec<(Common, Side)> = directions
            .map(|(length, ((mean, half), pairs))| match pairs.is_empty() {
                true => (fit_mean(length, mean), fit_sides(half)),
                false => one_way::fit(&mean, &half, pairs, |mean| fit_mean(length, mean)),
            })
            .collect();
        let one_way: HashSet<(usize, usize)> = folded.one_way.iter().flatten().copied().collect();
        let mut fit = Self {
            groups,
            is_determined: structure.is_determined,
            is_understood: structure.is_understood,
            group: structure.group,
            lengths: Vec::new(),
            rest: Vec::new(),
            side_rest: Vec::new(),
            cells: Vec::new(),
            side_cells: Vec::new(),
            measured,
            one_way,
        };
        for (common, side) in fitted {
            fit.cells.push(common.cells);
            fit.side_cells.push(side.cells);
            fit.lengths.push(LengthFit {
                block: common.block,
                common: common.effect,
                side: side.effect,
                noise: common.noise,
                side_noise: side.noise,
            });
            fit.rest.push(common.rest);
            fit.side_rest.push(side.rest);
            // The one value of such a pair is in the rest of its mean.
            for &(from, to) in &fit.one_way {
                fit.side_rest.last_mut().into_iter().for_each(|rest| {
                    rest.set(from, to, f64::NAN);
                    rest.set(to, from, f64::NAN);
                });
            }
        }
        fit
    }

    /// For tests: of `groups` groups of four hosts without noise, where what goes from one group to another takes `way`.
    #[cfg(test)]
    pub fn of_ways(groups: usize, way: impl Fn(usize, usize) -> f64) -> Self {
        let group: Vec<usize> = (0..4 * groups).map(|host| host % groups).collect();
        let of_pair = |i: usize, j: usize| if group[i] == group[j] { 0.0 } else { way(group[i], group[j]) };
        let logarithms = crate::analysis::drawn::square(4 * groups, of_pair);
        Self::of(Folded::of_logarithms(&[8], vec![logarithms]), Some(&group))
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

//! Which hosts are near each other, found in the data.
//!
//! In: what both directions of every pair have in common, in few bands of message lengths ([`Band`]). Out: the group of
//! every host ([`infer`], [`candidates`] where many pairs are missing, [`place`] where groups are known from some
//! hosts), leaves under pods ([`mod@tree`], for runs of few pairs), or, where structure is no groups, hops on a torus
//! ([`torus`]) or patterns ([`spectral`]). It knows nothing of faults: who is slow is [`super::diagnose`]'s.

mod blocks;
mod infer;
mod numbers;
mod place;
mod pools;
pub mod spectral;
pub mod torus;
pub mod tree;

pub use infer::{absorb, candidates, infer, refine, settled};
pub use numbers::cost_of_groups;
pub use place::{Toward, place};
pub use pools::sorted;

use crate::analysis::square::Square;

/// One band of message lengths: every pair's value, as far as it is known without the effects of single hosts;
/// symmetric.
///
/// A pair was measured in two directions. One of them, chosen at random, makes the first square and the other one the
/// second: what is found in the one can be tested on the other, whose noise knows nothing of it.
#[derive(Clone)]
pub struct Band {
    /// For finding parts.
    pub first: Square,
    /// For testing whether they differ.
    pub second: Square,
    /// Standard deviation of the noise of a value.
    pub noise: f64,
}

/// Number of groups.
fn count(label: &[usize]) -> usize {
    label.iter().max().map_or(0, |last| last + 1)
}

/// Number of hosts of every group, of which there are so many.
fn sizes(label: &[usize], count: usize) -> Vec<usize> {
    let mut size = vec![0; count];
    label.iter().for_each(|group| size[*group] += 1);
    size
}

/// Members of every group.
pub fn members(group: &[usize], groups: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); groups];
    group.iter().enumerate().for_each(|(host, group)| members[*group].push(host));
    members
}

/// Numbers groups by size, the largest first.
pub fn by_size(label: &[usize]) -> Vec<usize> {
    let count = count(label);
    let mut sizes: Vec<(usize, usize)> = sizes(label, count).into_iter().zip(0..).collect();
    sizes.retain(|(size, _)| *size > 0);
    sizes.sort_by_key(|(size, group)| (std::cmp::Reverse(*size), *group));
    let mut rank = vec![0; count];
    sizes.iter().enumerate().for_each(|(place, (_, group))| rank[*group] = place);
    label.iter().map(|group| rank[*group]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_hosts_of_every_group() {
        assert_eq!(members(&[1, 0, 1, 3], 4), [vec![1], vec![0, 2], vec![], vec![3]]);
    }

    #[test]
    fn groups_are_numbered_by_size() {
        assert_eq!(by_size(&[4, 2, 2, 0, 2, 0]), [2, 0, 0, 1, 0, 1]);
        // Of equal ones, the first number first; numbers without hosts vanish.
        assert_eq!(by_size(&[7, 3, 7, 3]), [1, 0, 1, 0]);
        assert_eq!(by_size(&[]), [0; 0]);
    }
}

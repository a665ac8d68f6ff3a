//! Which cells several parts share, without looking at any cell.

use std::collections::HashMap;

use super::Joined;

/// How the hosts of the parts overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overlap {
    /// Whether a cell can have values of several parts.
    pub(super) is_shared: bool,
    /// Whether all parts took the same number of samples for every cell.
    pub(super) is_uniform: bool,
    /// Most samples that a cell can have.
    pub(super) most_samples: u32,
}

impl Overlap {
    /// Ranks that are in the same parts behave alike: it is enough to look at one pair of each two kinds.
    pub(super) fn of(parts: &[Joined<'_>]) -> Self {
        let mut kinds: HashMap<Vec<bool>, usize> = HashMap::new();
        for rank in 0..parts.first().map_or(0, |part| part.own.len()) {
            *kinds.entry(parts.iter().map(|part| part.own[rank].is_some()).collect()).or_default() += 1;
        }
        let headers: Vec<_> = parts.iter().map(|part| part.run.header()).collect();
        let iterations: Vec<_> = headers.iter().map(|header| header.iterations).collect();
        let is_measured_alone = headers.iter().any(|header| header.mode.is_collective());
        let mut most = iterations.iter().copied().max().unwrap_or(0);
        let mut is_shared = false;
        for (a, count) in &kinds {
            for b in kinds.keys().filter(|b| *b != a || *count > 1 || is_measured_alone) {
                let both = || (0..parts.len()).filter(|part| a[*part] && b[*part]);
                is_shared |= both().nth(1).is_some();
                most = most.max(both().fold(0, |sum, part| iterations[part].saturating_add(sum)));
            }
        }
        let is_uniform = parts.iter().all(|part| !part.counts) && iterations.windows(2).all(|two| two[0] == two[1]);
        Self { is_shared, is_uniform, most_samples: most }
    }
}

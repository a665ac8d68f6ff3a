//! Whether a pair changed, or single cells of it were disturbed while they were measured.
//!
//! In: the difference of two runs, and what was found in it. Out: the links of which so many cells are slow as chance
//! does not put together. In a run it is the re-test of a pair that distinguishes the one from the other; two runs have
//! none that are about their difference.

use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::analysis::diagnose::{
    Direction, Kind,
    folded::Folded,
    places::{Suspect, Verdict},
};

/// What single cells are slower by than their pair's hosts and class explain.
pub(super) struct Cells<'a> {
    seen: &'a Folded,
    verdict: &'a Verdict,
    /// Of all cells, ascending.
    all: Vec<f32>,
}

impl<'a> Cells<'a> {
    /// `None` where no link was found.
    pub fn of(seen: &'a Folded, verdict: &'a Verdict, suspects: &[Suspect]) -> Option<Self> {
        suspects.iter().any(|suspect| suspect.place.kind == Kind::Link).then(|| {
            let mut cells = Self { seen, verdict, all: Vec::new() };
            let (hosts, lengths) = (seen.hosts(), 0..seen.lengths.len());
            let of_row = |row: usize| {
                let (length, i) = (row / hosts, row % hosts);
                let others = (0..hosts).filter(move |j| *j != i);
                let excesses = others.map(|j| cells.excess(length, i, j) as f32);
                excesses.filter(|excess| !excess.is_nan()).collect::<Vec<_>>()
            };
            let mut all: Vec<f32> = (0..lengths.len() * hosts).into_par_iter().flat_map_iter(of_row).collect();
            all.par_sort_unstable_by(f32::total_cmp);
            cells.all = all;
            cells
        })
    }

    fn excess(&self, length: usize, source: usize, destination: usize) -> f64 {
        self.seen.from_to(length, source, destination) - self.verdict.usual(length, source, destination)
    }

    /// Logarithm of the probability that a healthy run has a pair of which so many cells, of all lengths and of both
    /// directions if the link is slow both ways, are slow by half of the link's size: cells are disturbed one by one,
    /// as often at a pair as anywhere.
    pub fn log(&self, link: &Suspect) -> f64 {
        let &[i, j] = &link.place.hosts[..] else { return 0.0 };
        let ways = if link.place.direction == Direction::Both { &[(i, j), (j, i)][..] } else { &[(i, j)] };
        let lengths = 0..self.seen.lengths.len();
        let own = lengths.flat_map(|length| ways.iter().map(move |(i, j)| self.excess(length, *i, *j)));
        let own: Vec<f64> = own.filter(|excess| !excess.is_nan()).collect();
        let half = link.effect / 2.0;
        let slow = own.iter().filter(|excess| **excess >= half).count() as u64;
        let slow_of_all = self.all.len() - self.all.partition_point(|excess| f64::from(*excess) < half);
        // Half a cell more: a rate that was never seen is not known to be zero (Jeffreys).
        let others = (slow_of_all as f64 - slow as f64 + 0.5) / ((self.all.len() - own.len()) as f64 + 1.0);
        let Some(fewer) = slow.checked_sub(1) else { return 0.0 };
        let hosts = self.seen.hosts() as f64;
        // Both ways, and each of two ways.
        let pairs = 3.0 * hosts * (hosts - 1.0) / 2.0;
        let chance = Binomial::new(others.min(1.0), own.len() as u64).map_or(1.0, |cells| cells.sf(fewer));
        (pairs * chance).max(f64::MIN_POSITIVE).ln()
    }
}

//! The sets of an archive as a person names them: who with whom, at which lengths, how long it takes.
//!
//! In: a [`Clustered`] run. Out: for every range its sets, each with its level per length and the rectangles (sources
//! by destinations) that it consists of. Rectangles are found in the stored order of ranks: ranks that are in the same
//! sets with everybody are one group; where a pair is odd, or is a rank with itself, any set is taken to hold.

use std::{collections::BTreeMap, ops::Range};

use super::{Error, ranges};
use crate::{
    record::{Clustered, Matrix, NO_SET, Part, Run},
    units::{Bytes, Rank},
};

/// Sets of fewer pairs than one in so many ranks are odd: they do not split the rectangles of others.
const ODD: usize = 16;

/// Ranks that are named for a set.
const BUSIEST: usize = 4;

/// A jump or kink of a set's times of this size is worth telling.
const CHANGE: f64 = 0.05;

/// All sources with all destinations, but for pairs that another set describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// Ranks in the archive's order.
    pub sources: Vec<Rank>,
    /// Ranks in the archive's order.
    pub destinations: Vec<Rank>,
}

/// A set of pairs over a range of lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Number of ordered pairs.
    pub pairs: usize,
    /// What its cells decode to, by length, in the unit of the statistic.
    pub levels: Vec<f64>,
    /// Standard deviation of the original cells around the level, as a share of it; known only next to the original.
    pub spread: Option<f64>,
    /// Cells of its pairs that are kept exactly.
    pub exceptions: usize,
    /// Where its times jump or begin to grow differently.
    pub changes: Vec<Bytes>,
    /// Who with whom; larger rectangles first.
    pub rectangles: Vec<Rectangle>,
    /// The ranks that most of its pairs begin or end at.
    pub busiest: Vec<Busy>,
}

/// A rank and its part in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Which.
    pub rank: Rank,
    /// Pairs of the set that begin at it.
    pub sends: usize,
    /// Pairs of the set that end at it.
    pub receives: usize,
}

/// The regions of a range of lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeRegions {
    /// The lengths.
    pub lengths: Vec<Bytes>,
    /// Larger sets first.
    pub regions: Vec<Region>,
    /// Ordered pairs that are in no set and have values: all of those are exceptions.
    pub lonely_pairs: usize,
    /// Ordered pairs without any value.
    pub missing_pairs: usize,
    /// Exceptions of all sets together, and of lonely pairs.
    pub exceptions: usize,
}

/// The regions of every range. `original` is the run that was clustered, if it is at hand: it tells the spread.
pub fn regions(clustered: &Clustered, original: Option<&dyn Run>) -> Result<Vec<RangeRegions>, Error> {
    clustered.parts().iter().map(|part| range_regions(clustered, part, original)).collect()
}

fn range_regions(clustered: &Clustered, part: &Part, original: Option<&dyn Run>) -> Result<RangeRegions, Error> {
    let ranks = clustered.ranks();
    let order = &clustered.about().order;
    let lengths = clustered.lengths()[part.lengths.clone()].to_vec();
    let sets = part.set_count();
    let mut pairs = vec![0usize; sets];
    part.sets.iter().filter(|set| **set != NO_SET).for_each(|set| pairs[*set as usize] += 1);
    let (exceptions, lonely_pairs) = count_exceptions(part);
    let spreads = original.map(|run| spreads(run, clustered, part)).transpose()?;
    let mut rectangles = rectangles(&part.sets, &pairs, ranks, order);
    let mut busiest = busiest(&part.sets, sets, ranks);
    let x: Vec<f64> = lengths.iter().map(|length| length.0 as f64).collect();
    let regions = (0..sets)
        .map(|set| Region {
            pairs: pairs[set],
            levels: part.curve(set).to_vec(),
            spread: spreads.as_ref().map(|spreads| spreads[set]),
            exceptions: exceptions[set],
            changes: changes(&x, part.curve(set)).map(|place| lengths[place]).collect(),
            rectangles: rectangles.remove(&(set as u32)).unwrap_or_default(),
            busiest: std::mem::take(&mut busiest[set]),
        })
        .collect();
    let unset = part.sets.iter().filter(|set| **set == NO_SET).count();
    Ok(RangeRegions {
        lengths,
        regions,
        lonely_pairs,
        missing_pairs: unset - lonely_pairs,
        exceptions: part.exceptions.len(),
    })
}

/// Exceptions of every set, and the number of pairs in no set that have some.
fn count_exceptions(part: &Part) -> (Vec<usize>, usize) {
    let mut counts = vec![0; part.set_count()];
    let mut lonely = Vec::new();
    for exception in &part.exceptions {
        match part.sets[exception.cell as usize] {
            NO_SET => lonely.push(exception.cell),
            set => counts[set as usize] += 1,
        }
    }
    lonely.sort_unstable();
    lonely.dedup();
    (counts, lonely.len())
}

/// The busiest ranks of every set, `[set]`, the busiest first.
fn busiest(sets: &[u32], count: usize, ranks: usize) -> Vec<Vec<Busy>> {
    let mut all = vec![BTreeMap::<Rank, (usize, usize)>::new(); count];
    for (cell, set) in sets.iter().enumerate().filter(|(_, set)| **set != NO_SET) {
        all[*set as usize].entry(cell / ranks).or_default().0 += 1;
        all[*set as usize].entry(cell % ranks).or_default().1 += 1;
    }
    let sorted = |ends: BTreeMap<Rank, (usize, usize)>| {
        let mut ends: Vec<Busy> =
            ends.into_iter().map(|(rank, (sends, receives))| Busy { rank, sends, receives }).collect();
        ends.sort_by_key(|end| std::cmp::Reverse(end.sends.max(end.receives)));
        ends.truncate(BUSIEST);
        ends
    };
    all.into_iter().map(sorted).collect()
}

/// Numbers of the lengths at which a curve stops to be one straight line.
fn changes<'a>(x: &[f64], curve: &[f64]) -> impl Iterator<Item = usize> + use<'a> {
    let ranges: Vec<Range<usize>> = ranges::find(x, &[curve.to_vec()], CHANGE, 3, 8);
    ranges.into_iter().skip(1).map(|range| range.start)
}

/// Standard deviation of the original cells around the level of their set, as a share of it, over the whole range.
fn spreads(original: &dyn Run, clustered: &Clustered, part: &Part) -> Result<Vec<f64>, Error> {
    let ranks = original.ranks();
    let mut sums = vec![(0.0f64, 0usize); part.set_count()];
    let mut matrix = Matrix::missing(ranks);
    for (place, length) in part.lengths.clone().enumerate() {
        original.read_rows(clustered.about().statistic, length, 0..ranks, matrix.values_mut())?;
        let mut exceptions = part.exceptions_at(place).iter().peekable();
        for (cell, (value, &set)) in matrix.values().iter().zip(&part.sets).enumerate() {
            let excepted = exceptions.next_if(|exception| exception.cell as usize == cell).is_some();
            if set == NO_SET || excepted {
                continue;
            }
            let level = part.curve(set as usize)[place];
            let off = if level == 0.0 { 0.0 } else { value / level - 1.0 };
            let sum = &mut sums[set as usize];
            *sum = (sum.0 + off * off, sum.1 + 1);
        }
    }
    Ok(sums.into_iter().map(|(sum, n)| (sum / n.max(1) as f64).sqrt()).collect())
}

/// Rectangles by set, larger ones first.
fn rectangles(sets: &[u32], pairs: &[usize], ranks: usize, order: &[Rank]) -> BTreeMap<u32, Vec<Rectangle>> {
    let odd = |set: u32| set == NO_SET || pairs[set as usize] <= (ranks / ODD).max(1);
    let mut found: BTreeMap<u32, BTreeMap<Vec<Rank>, Vec<Rank>>> = BTreeMap::new();
    for (sources, pattern) in row_groups(sets, ranks, order, odd) {
        let mut columns: BTreeMap<u32, Vec<Rank>> = BTreeMap::new();
        for &destination in order.iter().filter(|destination| pattern[**destination] != NO_SET) {
            columns.entry(pattern[destination]).or_default().push(destination);
        }
        for (set, destinations) in columns {
            found.entry(set).or_default().entry(destinations).or_default().extend(&sources);
        }
    }
    odd_rectangles(sets, ranks, order, odd, &mut found);
    let rectangle = |(destinations, sources)| Rectangle { sources, destinations };
    let sorted = |rectangles: BTreeMap<Vec<Rank>, Vec<Rank>>| {
        let mut rectangles: Vec<Rectangle> = rectangles.into_iter().map(rectangle).collect();
        rectangles.sort_by_key(|r| std::cmp::Reverse(r.sources.len() * r.destinations.len()));
        rectangles
    };
    found.into_iter().map(|(set, rectangles)| (set, sorted(rectangles))).collect()
}

/// Sources that are in the same sets with every destination, and those sets; [`NO_SET`] where they do not say.
fn row_groups(sets: &[u32], ranks: usize, order: &[Rank], odd: impl Fn(u32) -> bool) -> Vec<(Vec<Rank>, Vec<u32>)> {
    let mut groups: Vec<(Vec<Rank>, Vec<u32>)> = Vec::new();
    for &source in order {
        let mut row: Vec<u32> = sets[source * ranks..][..ranks].to_vec();
        row.iter_mut().filter(|set| odd(**set)).for_each(|set| *set = NO_SET);
        row[source] = NO_SET;
        let agree = |pattern: &[u32]| pattern.iter().zip(&row).all(|(a, b)| a == b || *a == NO_SET || *b == NO_SET);
        match groups.iter_mut().find(|(_, pattern)| agree(pattern)) {
            Some((sources, pattern)) => {
                sources.push(source);
                pattern.iter_mut().zip(&row).filter(|(a, _)| **a == NO_SET).for_each(|(a, b)| *a = *b);
            }
            None => groups.push((vec![source], row)),
        }
    }
    groups
}

/// What the groups of sources left out: odd pairs, and the diagonal where it is a set of its own.
fn odd_rectangles(
    sets: &[u32],
    ranks: usize,
    order: &[Rank],
    odd: impl Fn(u32) -> bool,
    found: &mut BTreeMap<u32, BTreeMap<Vec<Rank>, Vec<Rank>>>,
) {
    let mut left: BTreeMap<u32, BTreeMap<Rank, Vec<Rank>>> = BTreeMap::new();
    let mut diagonal_alone: BTreeMap<u32, bool> = BTreeMap::new();
    for &source in order {
        for &destination in order {
            let set = sets[source * ranks + destination];
            if set != NO_SET {
                *diagonal_alone.entry(set).or_insert(true) &= source == destination;
                if odd(set) {
                    left.entry(set).or_default().entry(source).or_default().push(destination);
                }
            }
        }
    }
    for (set, rows) in left {
        rows.into_iter().for_each(|(source, destinations)| {
            found.entry(set).or_default().entry(destinations).or_default().push(source);
        });
    }
    for (set, _) in diagonal_alone.into_iter().filter(|(_, alone)| *alone) {
        let on_it = order.iter().filter(|rank| sets[**rank * ranks + **rank] == set);
        found.insert(set, on_it.map(|rank| (vec![*rank], vec![*rank])).collect());
    }
}

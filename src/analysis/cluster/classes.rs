//! Pairs that behave alike over a range: few balls that cover their features.
//!
//! In: [`Features`] and the radius within which a pair's cells keep the tolerance. Out: the number of a class for every
//! pair. Large classes are found greedily: of some candidates the one whose ball covers most of a sample becomes a
//! centre; what it covers is taken away; so on until little is left. What is left over and like nothing else becomes a
//! class of its own. Nothing depends on the number of classes being known, and everything is deterministic.

use rayon::prelude::*;

use super::features::Features;

/// Class of a pair without features: missing, zero or otherwise without a place on the scale.
pub(super) const NO_CLASS: u32 = u32::MAX;

/// Candidates for a centre, and pairs on which they are tried.
const CANDIDATES: usize = 32;
const TRIED_ON: usize = 1024;

/// Most classes that are found by cover, and among the pairs left over.
const LARGE: usize = 96;
const SMALL: usize = 256;

/// A large class has at least this share of the pairs.
const SHARE: usize = 2000;

/// A segment in which this share of a class is off on one side is no noise but another class.
const COMMON: f64 = 0.02;

/// A pair further off than this many radii is not in a ball, even if it is so in one segment only.
const FAR: f32 = 1.5;

/// How far a pair may be off and in how many segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ball {
    /// Radius in every segment, in units of the scale.
    pub(super) radius: f32,
}

type Centre = Vec<f32>;

/// The number of the class of every pair, or [`NO_CLASS`].
pub(super) fn classes(features: &Features, ball: Ball) -> Vec<u32> {
    let usable: Vec<u32> = (0..features.pairs() as u32)
        .filter(|pair| features.of(*pair as usize).iter().any(|value| !value.is_nan()))
        .collect();
    let threshold = (usable.len() / SHARE).max(8);
    let mut centres = Vec::new();
    cover(features, ball, usable.clone(), threshold, &mut centres);
    let overlooked = common_deviations(features, ball, &usable, &centres, threshold);
    cover(features, ball, overlooked, threshold, &mut centres);
    if !centres.is_empty() {
        // One step of k-means: a centre that was found among what others left belongs in the middle of its class.
        let nearest = assign(features, ball, &usable, &centres);
        centres = means(features, &usable, &nearest, centres);
    }
    let leftover: Vec<u32> = usable
        .par_iter()
        .copied()
        .filter(|pair| centres.iter().all(|centre| misfit(features.of(*pair as usize), centre, ball).serious))
        .collect();
    lead(features, ball, &leftover, &mut centres);
    let mut classes = vec![NO_CLASS; features.pairs()];
    for (pair, class) in usable.iter().zip(assign(features, ball, &usable, &centres)) {
        classes[*pair as usize] = class;
    }
    classes
}

/// How badly a pair fits a centre.
#[derive(Clone, Copy)]
struct Misfit {
    /// Segments in which it is outside the ball.
    bad: u32,
    /// Squared distance over the segments in which it has a place.
    distance: f32,
    /// Whether it does not belong there, not even with exceptions.
    serious: bool,
}

fn misfit(pair: &[f32], centre: &[f32], ball: Ball) -> Misfit {
    let (mut bad, mut distance, mut farthest) = (0, 0.0f32, 0.0f32);
    for (a, b) in pair.iter().zip(centre) {
        let off = (a - b).abs();
        // NaN: nothing to compare.
        if off >= 0.0 {
            bad += u32::from(off > ball.radius);
            distance += off * off;
            farthest = farthest.max(off);
        }
    }
    let few_segments = pair.len() < 8;
    let serious = if few_segments { farthest > FAR * ball.radius } else { bad > 1 };
    Misfit { bad, distance, serious }
}

fn fits(pair: &[f32], centre: &[f32], radius: f32) -> bool {
    // Written so that NaN fits.
    !pair.iter().zip(centre).any(|(a, b)| (a - b).abs() > radius)
}

/// About `count` elements at even distances.
fn spread(elements: &[u32], count: usize) -> impl Iterator<Item = u32> + '_ {
    elements.iter().step_by((elements.len() / count).max(1)).copied()
}

/// Adds centres until what is left of `open` has no large class any more.
fn cover(features: &Features, ball: Ball, mut open: Vec<u32>, threshold: usize, centres: &mut Vec<Centre>) {
    open.retain(|pair| centres.iter().all(|centre| !fits(features.of(*pair as usize), centre, ball.radius)));
    while open.len() >= threshold && centres.len() < LARGE {
        let tried_on: Vec<u32> = spread(&open, TRIED_ON).collect();
        let covered = |centre: &[f32]| {
            tried_on.iter().filter(|pair| fits(features.of(**pair as usize), centre, ball.radius)).count()
        };
        let best = spread(&tried_on, CANDIDATES).max_by_key(|pair| covered(features.of(*pair as usize)));
        let Some(best) = best else { break };
        let mut centre = features.of(best as usize).to_vec();
        for _ in 0..3 {
            let inside = tried_on.iter().filter(|pair| fits(features.of(**pair as usize), &centre, ball.radius));
            let moved = mean(features, inside.copied(), &centre);
            if covered(&moved) < covered(&centre) {
                break;
            }
            centre = moved;
        }
        let inside = open.par_iter().filter(|pair| fits(features.of(**pair as usize), &centre, ball.radius)).count();
        if inside < threshold {
            break;
        }
        let before = open.len();
        open = open.into_par_iter().filter(|pair| misfit(features.of(*pair as usize), &centre, ball).serious).collect();
        centres.push(centre);
        debug_assert!(open.len() < before);
    }
}

/// Mean features of `pairs`; where none has a place, that of `centre`.
fn mean(features: &Features, pairs: impl Iterator<Item = u32>, centre: &[f32]) -> Centre {
    let mut sums = vec![(0.0f64, 0u32); features.segments];
    for pair in pairs {
        for (sum, value) in sums.iter_mut().zip(features.of(pair as usize)) {
            if !value.is_nan() {
                *sum = (sum.0 + f64::from(*value), sum.1 + 1);
            }
        }
    }
    sums.iter().zip(centre).map(|((sum, n), old)| if *n > 0 { (sum / f64::from(*n)) as f32 } else { *old }).collect()
}

/// Pairs that are off their nearest centre in one segment, together with many others in the same way: noise does not
/// agree with itself.
fn common_deviations(
    features: &Features,
    ball: Ball,
    usable: &[u32],
    centres: &[Centre],
    threshold: usize,
) -> Vec<u32> {
    if centres.is_empty() {
        return Vec::new();
    }
    let nearest = assign(features, ball, usable, centres);
    let mut members = vec![0usize; centres.len()];
    let mut off = vec![Vec::new(); centres.len() * features.segments * 2];
    for (pair, class) in usable.iter().zip(&nearest) {
        members[*class as usize] += 1;
        for (segment, value) in features.of(*pair as usize).iter().enumerate() {
            let distance = value - centres[*class as usize][segment];
            if distance.abs() > ball.radius {
                off[(*class as usize * features.segments + segment) * 2 + usize::from(distance > 0.0)].push(*pair);
            }
        }
    }
    let per_class = features.segments * 2;
    let common = |(k, pairs): &(usize, &Vec<u32>)| {
        pairs.len() >= threshold && pairs.len() as f64 > COMMON * members[k / per_class] as f64
    };
    let mut overlooked: Vec<u32> =
        off.iter().enumerate().filter(common).flat_map(|(_, pairs)| pairs).copied().collect();
    overlooked.sort_unstable();
    overlooked.dedup();
    overlooked
}

/// The nearest centre of each of `pairs`: fewest segments outside the ball, then the least distance.
fn assign(features: &Features, ball: Ball, pairs: &[u32], centres: &[Centre]) -> Vec<u32> {
    let nearest = |pair: &u32| {
        let pair = features.of(*pair as usize);
        let mut best = (u32::MAX, f32::INFINITY, 0);
        for (k, centre) in centres.iter().enumerate() {
            let Misfit { bad, distance, .. } = misfit(pair, centre, ball);
            if (bad, distance) < (best.0, best.1) {
                best = (bad, distance, k as u32);
            }
        }
        best.2
    };
    pairs.par_iter().map(nearest).collect()
}

/// Each centre moved to the mean of what is nearest to it, as far as it is in its ball.
fn means(features: &Features, pairs: &[u32], nearest: &[u32], centres: Vec<Centre>) -> Vec<Centre> {
    let mut sums = vec![(0.0f64, 0u32); centres.len() * features.segments];
    for (pair, class) in pairs.iter().zip(nearest) {
        let first = *class as usize * features.segments;
        for (sum, value) in sums[first..].iter_mut().zip(features.of(*pair as usize)) {
            if !value.is_nan() {
                *sum = (sum.0 + f64::from(*value), sum.1 + 1);
            }
        }
    }
    let moved = |(sum, n): (f64, u32), old: f32| if n > 0 { (sum / f64::from(n)) as f32 } else { old };
    let sums = sums.chunks(features.segments);
    centres
        .into_iter()
        .zip(sums)
        .map(|(centre, sums)| centre.iter().zip(sums).map(|(old, sum)| moved(*sum, *old)).collect())
        .collect()
}

/// Adds a centre for each pair that fits none of the new ones.
fn lead(features: &Features, ball: Ball, pairs: &[u32], centres: &mut Vec<Centre>) {
    let first = centres.len();
    for pair in pairs {
        let pair = features.of(*pair as usize);
        if centres.len() - first < SMALL && !centres[first..].iter().any(|centre| fits(pair, centre, ball.radius)) {
            centres.push(pair.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs on the given levels in two segments, with a little ripple.
    fn features(levels: &[(f32, f32)]) -> Features {
        let ripple = |k: usize| (k % 7) as f32 * 0.05 - 0.15;
        let values = levels.iter().enumerate().flat_map(|(k, (a, b))| [a + ripple(k), b + ripple(k + 3)]).collect();
        Features::from_values(2, values)
    }

    #[test]
    fn levels_that_differ_are_classes_and_one_odd_pair_is_too() {
        let mut levels: Vec<(f32, f32)> = (0..600).map(|k| if k % 3 == 0 { (5.0, 5.0) } else { (9.0, 5.0) }).collect();
        levels[77] = (30.0, 30.0);
        let classes = classes(&features(&levels), Ball { radius: 1.0 });
        for (k, level) in levels.iter().enumerate() {
            let like = levels.iter().position(|other| other == level).unwrap();
            assert_eq!(classes[k], classes[like], "{k}");
        }
        assert!(classes[0] != classes[1] && classes[77] != classes[0] && classes[77] != classes[1]);
    }

    #[test]
    fn pairs_without_a_place_have_no_class() {
        let values = vec![1.0, 1.0, f32::NAN, f32::NAN, f32::NAN, 1.0];
        let classes = classes(&Features::from_values(2, values), Ball { radius: 1.0 });
        assert_eq!(classes, [0, NO_CLASS, 0]);
    }
}

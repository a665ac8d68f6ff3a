//! Leaves that are one after all.
//!
//! In: leaves that were found, and what pairs take at short lengths. Out: the leaf of every host, by size. Nothing is split
//! here but hosts whose own leaf says nothing of them.

use super::{LEAST_STEP, Pairs, way};
use crate::{
    analysis::{groups::by_size, square::Square},
    stats::{median, scatter_about_zero},
};

/// Joins leaves again that are not apart in the shortest messages: a switch takes its time of every message, and what
/// seems a leaf among longer ones may be hosts with slow cards, for of two such cards the slower one counts, once.
/// `shortest`: times of these messages.
pub fn apart(leaf: &[usize], shortest: &Square) -> Vec<usize> {
    let leaves = leaf.iter().max().map_or(0, |last| last + 1);
    let pairs = Pairs::of(shortest);
    let (_, level, _) = pairs.cost(|i, j| way(leaf, leaves, i, j), leaves * leaves);
    let usual = median(&mut pairs.known.iter().map(|pair| pair.2).collect::<Vec<_>>());
    let of = |a: usize, b: usize| level[way(&[a, b], leaves, 0, 1)];
    let is_single = |own: usize| leaf.iter().filter(|label| **label == own).count() == 1;
    // What a host adds that is a leaf by itself is in the levels of all of its ways.
    let of_single = |single: usize| {
        let beyond = |other: usize| {
            let others = (0..leaves).filter(|third| *third != single && *third != other);
            of(single, other) - median(&mut others.map(|third| of(other, third)).collect::<Vec<_>>())
        };
        let others = (0..leaves).filter(|other| is_single(single) && *other != single);
        // A fault adds: less than nothing is seen where most of the others are of the same leaf.
        median(&mut others.map(beyond).collect::<Vec<_>>()).max(0.0)
    };
    let own: Vec<f64> = (0..leaves).map(of_single).collect();
    let ways = || (0..leaves).flat_map(|low| (low + 1..leaves).map(move |high| (low, high)));
    let apart = |&(low, high): &(usize, usize)| of(low, high) - level[0] - own[low] - own[high];
    // Half way to the least step that there is; healthy hosts differ by more, so that of a host that is a leaf by itself
    // half way to the least step between others.
    let least = LEAST_STEP / 2.0 * usual;
    let of_several = ways().filter(|(low, high)| !is_single(*low) && !is_single(*high));
    let step = of_several.map(|way| apart(&way)).filter(|step| *step >= least).fold(f64::INFINITY, f64::min);
    let of_hosts = if step.is_finite() { (step / 2.0).max(least) } else { least };
    let is_near =
        |way: &(usize, usize)| apart(way) < if is_single(way.0) || is_single(way.1) { of_hosts } else { least };
    let mut joined: Vec<usize> = (0..leaves).collect();
    for (low, high) in ways().filter(is_near) {
        let [old, new] = [joined[high], joined[low]];
        joined.iter_mut().filter(|own| **own == old).for_each(|own| *own = new);
    }
    by_size(&leaf.iter().map(|own| joined[*own]).collect::<Vec<_>>())
}

/// Joins leaves of which hosts are as near to each other as hosts of a leaf are: a fault makes no pair nearer, so that
/// these are of one leaf, and one of them is slow with some of it. As many pairs as the smaller leaf has hosts. So is a
/// single host that is near none of its own leaf and several of another one. A host that met its own leaf alone and is as
/// far from it as other leaves are is in any of those, for all that its pairs say: it is a leaf by itself, and adds nothing.
/// So are hosts that have met none of their leaf, or none that is nearer than others.
pub fn rejoined(leaf: &[usize], times: &Square) -> Vec<usize> {
    let pairs = Pairs::of(times);
    let leaves = leaf.iter().max().map_or(0, |last| last + 1);
    let mut of_way = vec![Vec::new(); leaves * leaves];
    pairs.known.iter().for_each(|(i, j, time)| of_way[way(leaf, leaves, *i, *j)].push(*time));
    let level: Vec<f64> = of_way.iter_mut().map(|times| median(times)).collect();
    let of = |a: usize, b: usize| level[way(&[a, b], leaves, 0, 1)];
    // Leaves of a pod are nearer to each other than others.
    let others = |own: usize| (0..leaves).filter(move |other| *other != own).map(move |other| of(own, other));
    let nearest = (0..leaves).map(|own| others(own).fold(f64::INFINITY, f64::min));
    let (inside, between) = (level[0], median(&mut nearest.collect::<Vec<_>>()));
    let noise = scatter_about_zero(&mut of_way[0].iter().map(|time| time - inside).collect::<Vec<_>>());
    // Nearer than any of all n pairs of two leaves is by chance, and no farther than any inside, with a probability of 1 / n
    // at most: switches of two groups may be next to each other.
    let chance = 2.0 * (pairs.known.len() as f64).ln().sqrt() * noise;
    // No farther than inside both of the two leaves either: a third one may be several that were not found, and hosts of these
    // are as far from each other as leaves are.
    let mut of_leaf = vec![Vec::new(); leaves];
    let same = pairs.known.iter().filter(|(i, j, _)| leaf[*i] == leaf[*j]);
    same.for_each(|(i, _, time)| of_leaf[leaf[*i]].push(*time));
    let of_leaf: Vec<f64> = of_leaf.iter_mut().map(|times| median(times)).collect();
    let most = |i: usize, j: usize| {
        let inside = of_leaf[leaf[i]].max(of_leaf[leaf[j]]).min(inside);
        (between - chance).min(inside + chance).min((inside + between) / 2.0)
    };
    let near = pairs.known.iter().filter(|(i, j, time)| *time < most(*i, *j));
    let near: Vec<(usize, usize)> = near.map(|(i, j, _)| (*i, *j)).collect();
    let mut of_both = vec![0; leaves * leaves];
    near.iter().for_each(|(i, j)| of_both[way(leaf, leaves, *i, *j)] += 1);
    let size = |own: usize| leaf.iter().filter(|label| **label == own).count();
    let mut joined: Vec<usize> = (0..leaves).collect();
    for (low, high) in (0..leaves).flat_map(|low| (low + 1..leaves).map(move |high| (low, high))) {
        if of_both[way(&[low, high], leaves, 0, 1)] >= size(low).min(size(high)) {
            let [old, new] = [joined[high], joined[low]];
            joined.iter_mut().filter(|own| **own == old).for_each(|own| *own = new);
        }
    }
    let leaf: Vec<usize> = leaf.iter().map(|own| joined[*own]).collect();
    let mut of_host = vec![0; leaf.len() * leaves];
    near.iter().flat_map(|(i, j)| [(*i, *j), (*j, *i)]).for_each(|(i, j)| of_host[i * leaves + leaf[j]] += 1);
    // What a slow way of a leaf adds, or most of its hosts, is in all of its pairs with others.
    let of_ways = pairs.misfit_between(&by_size(&leaf)).1;
    let (.., of_hosts) = pairs.cost(|i, j| usize::from(leaf[i] != leaf[j]), 2);
    let (mut usual, mut nearest_of) = (Vec::new(), vec![f64::INFINITY; leaves]);
    let mut met = vec![[vec![], vec![]]; leaf.len()];
    for (i, j, time) in &pairs.known {
        [i, j].into_iter().for_each(|host| met[*host][usize::from(leaf[*i] != leaf[*j])].push(*time));
        if leaf[*i] == leaf[*j] {
            let [as_way, as_hosts] = [&of_ways, &of_hosts].map(|added| time - added[*i] - added[*j]);
            usual.push(as_way);
            let nearest = &mut nearest_of[leaf[*i]];
            *nearest = nearest.min(as_way).min(as_hosts);
        }
    }
    let far = median(&mut usual) + (between - inside) / 2.0;
    let has_near = |leaf: usize| nearest_of[leaf] <= far;
    let are_several = leaf.iter().any(|own| *own != leaf[0]);
    let mut nearest = |host: usize| {
        let of_leaf = |other: &usize| of_host[host * leaves + other];
        let other = (0..leaves).max_by_key(of_leaf).filter(|other| of_leaf(other) > 1);
        let [own, others] = &mut met[host];
        match other {
            Some(other) if of_leaf(&leaf[host]) == 0 => other,
            _ if are_several && others.is_empty() && median(own) > (inside + between) / 2.0 => leaves + host,
            _ if are_several && (own.is_empty() || !has_near(leaf[host])) => leaves + host,
            _ => leaf[host],
        }
    };
    by_size(&(0..leaf.len()).map(&mut nearest).collect::<Vec<_>>())
}

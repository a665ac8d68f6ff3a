//! Kinds of hosts: many of them are slower than the others, and all alike.
//!
//! In: what hosts take, and where they are. Out: the kind of every host, which makes distance classes of their own and no
//! finding. A site that buys new hosts buys many; what is slow toward other leaves alone is no kind.

use rayon::prelude::*;

use super::{
    Least,
    distance::{Distances, LEAST_STEP},
    fit::{Fit, USUAL},
    leaves::ALL,
};
use crate::{
    analysis::square::Square,
    stats::{median, quantile},
};

impl Distances {
    /// Divides hosts by what even their fastest pairs take, or by what they add to all of them, at short and at long lengths,
    /// where many hosts are alike in it; at long ones also by what the fastest pairs inside leaves take. `values`: of short
    /// lengths, then of long ones, of which these show it. Returns the slower ones and how many times as long these take, if
    /// there are kinds.
    pub fn find_kinds(&mut self, values: [Option<Square>; 2]) -> Option<(Vec<usize>, f64)> {
        let of_values = |(number, values): (usize, &Square)| {
            let fit = Fit::of(values, self);
            let alike = [Least::OF_TIMES.alike, Least::OF_TIMES.alike_long][number];
            // Where a kind stands together, what its pairs take may be usual for their distance. Long messages hardly take
            // longer over a longer way.
            let whole = |i: usize, j: usize| fit.base[self.class(i, j)] + fit.beyond_class(i, j);
            // Where several messages share the ways of leaves, only pairs inside one show it.
            let mut members = vec![0; self.leaf.len()];
            self.leaf.iter().for_each(|leaf| members[*leaf] += 1);
            let is_alone = |host: usize| members[self.leaf[host]] == 1;
            let is_seen = |i: usize, j: usize| self.leaf[i] == self.leaf[j] || is_alone(i) || is_alone(j);
            let inside = |i: usize, j: usize| if is_seen(i, j) { whole(i, j) } else { f64::NAN };
            let beyond = |i: usize, j: usize| fit.beyond_class(i, j);
            let fastest = |value: &(dyn Fn(usize, usize) -> f64 + Sync)| self.of_hosts(value, USUAL);
            // The fastest pairs of one host may be of another class than those of the next, of which another kind is usual.
            let by_hosts = || {
                let fit = Fit::of_hosts_alone(values, self);
                let both = fit.send.iter().zip(&fit.receive);
                let added = both.map(|(send, receive)| (send + receive) / 2.0).collect();
                self.two_kinds(added, &beyond, (fit.noise, alike))
            };
            let by_class = self.two_kinds(fastest(&beyond), &beyond, (fit.noise, alike));
            let of_long = |value: &(dyn Fn(usize, usize) -> f64 + Sync)| {
                if number > 0 { self.two_kinds(fastest(value), &whole, (fit.noise, alike)) } else { None }
            };
            // Among slow hosts of its leaf one that is not is taken for one of them: these may be slow, and no kind.
            let by_leaf = || of_long(&inside).filter(|(is_slow, _)| !self.are_of_one(is_slow));
            by_class.or_else(by_hosts).or_else(|| of_long(&whole)).or_else(by_leaf)
        };
        let values = values.iter().enumerate().filter_map(|(number, values)| Some((number, values.as_ref()?)));
        let found: Vec<(Vec<bool>, f64)> = values.filter_map(of_values).collect();
        for (is_slow, _) in &found {
            let before = self.kind.iter().max().map_or(1, |last| last + 1);
            let both: Vec<usize> =
                self.kind.iter().zip(is_slow).map(|(kind, slow)| kind + before * usize::from(*slow)).collect();
            let mut numbers = both.clone();
            numbers.sort_unstable();
            numbers.dedup();
            self.kind = both.iter().map(|own| numbers.binary_search(own).unwrap_or(0)).collect();
        }
        self.count();
        let (is_slow, ratio) = found.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(((0..is_slow.len()).filter(|host| is_slow[*host]).collect(), ratio))
    }

    /// The quantile at `share` of the pairs of every host, `[host]`.
    fn of_hosts(&self, value: &(dyn Fn(usize, usize) -> f64 + Sync), share: f64) -> Vec<f64> {
        let hosts = self.leaf.len();
        let of_host = |host: usize| {
            let others = (0..hosts).filter(|other| *other != host);
            let pairs = others.flat_map(|other| [value(host, other), value(other, host)]);
            let mut values: Vec<f64> = pairs.filter(|value| !value.is_nan()).collect();
            if values.is_empty() { f64::NAN } else { quantile(&mut values, share) }
        };
        (0..hosts).into_par_iter().map(of_host).collect()
    }

    /// `own`: what a host takes, `[host]`; `value(i, j)`: what a pair takes, which scatters by `noise`. Healthy hosts differ by
    /// `alike`, as a standard deviation.
    fn two_kinds(
        &self,
        own: Vec<f64>,
        value: &(dyn Fn(usize, usize) -> f64 + Sync),
        (noise, alike): (f64, f64),
    ) -> Option<(Vec<bool>, f64)> {
        let hosts = self.leaf.len();
        let mut sorted: Vec<f64> = own.iter().copied().filter(|value| !value.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        // Fewer hosts, quick or slow, do not move what is usual: the others are judged right without a kind.
        let least = ((USUAL * count as f64).ceil() as usize).max(3);
        // The widest gap that leaves enough hosts on either side.
        let cut = (least..=count.checked_sub(least)?)
            .max_by(|a, b| (sorted[*a] - sorted[*a - 1]).total_cmp(&(sorted[*b] - sorted[*b - 1])))?;
        let (low, high) = sorted.split_at(cut);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let ratio = mean(high) - mean(low);
        let gap = high[0] - low[low.len() - 1];
        // Wider than either kind is in itself.
        let widest = (low[low.len() - 1] - low[0]).max(high[high.len() - 1] - high[0]);
        if gap <= widest || ratio < LEAST_STEP {
            return None;
        }
        // Most of a kind are alike: of n normal numbers the largest is about sqrt(2 ln n) deviations off.
        let most = (2.0 * (count as f64).ln()).sqrt() * Least::OF_TIMES.alike.hypot(noise);
        let are_alike = |values: &[f64]| {
            let middle = values[values.len() / 2];
            values.iter().filter(|value| (*value - middle).abs() <= most).count() as f64 > ALL * values.len() as f64
        };
        if !are_alike(low) || !are_alike(high) {
            return None;
        }
        let is_slow: Vec<bool> = own.iter().map(|value| *value >= high[0]).collect();
        // With a host of the other kind they take half of what they take more with their own. Of a leaf whose way out
        // is slow, the fastest pairs take nothing more; this is half way from there.
        let middle = self.of_hosts(value, 0.5);
        let usual = |slow: bool| {
            let hosts = (0..hosts).filter(|host| is_slow[*host] == slow);
            median(&mut hosts.map(|host| middle[host]).collect::<Vec<_>>())
        };
        if ratio < (usual(true) - usual(false)) / 4.0 {
            return None;
        }
        // Hosts of a kind are slow among each other too: else it is the way out of their leaves that is slow. Of a leaf of more
        // than a quarter of the hosts the fastest pairs are those inside.
        let inside = |slow: bool| {
            let pairs = (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j);
            let near = pairs
                .filter(|(i, j)| [*i, *j].map(|host| is_slow[host]) == [slow; 2] && self.leaf[*i] == self.leaf[*j]);
            let values = near.map(|(i, j)| value(i, j)).filter(|value| !value.is_nan());
            median(&mut values.collect::<Vec<_>>())
        };
        if inside(true) - inside(false) < ratio / 2.0 {
            return None;
        }
        // Most hosts of one leaf are no kind: a leaf is maintained as a whole. Nor are all of them that differ as healthy hosts
        // do: what is usual for a kind hides the way out of its leaf.
        let of_leaf = |host: usize| self.members(self.leaf[host]).iter().all(|member| is_slow[*member]);
        let is_whole = || is_slow.iter().position(|slow| *slow).is_some_and(of_leaf) && ratio >= 2.0 * alike;
        (!self.are_of_one(&is_slow) || is_whole()).then_some((is_slow, ratio.exp()))
    }

    /// Whether these are of one leaf, of several.
    fn are_of_one(&self, is_this: &[bool]) -> bool {
        let mut leaves = self.leaf.iter().zip(is_this).filter(|(_, is_this)| **is_this).map(|(leaf, _)| leaf);
        let first = leaves.next();
        self.leaves() > 1 && leaves.all(|leaf| Some(leaf) == first)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::distance::Shape, *};
    use crate::analysis::drawn::{generator, normal, square};

    #[test]
    fn a_kind_that_fills_a_leaf_and_some_of_the_next_is_one_and_a_slow_way_is_none() {
        let leaf: Vec<usize> = (0..24).map(|host| host / 8).collect();
        let kinds = |time: &dyn Fn(usize, usize) -> f64| {
            let mut rng = generator(12);
            let times = square(24, |i, j| (time(i, j) * (1.0 + 0.005 * normal(&mut rng))).ln());
            let mut distances = Distances::of(leaf.clone(), Shape::Tree);
            distances.find_kinds([Some(times), None]).map(|(hosts, _)| hosts)
        };
        let way = |i: usize, j: usize| if leaf[i] == leaf[j] { 1.3 } else { 1.6 };
        let core = |host: usize| if host < 11 { 0.5 } else { 0.0 };
        assert_eq!(kinds(&|i, j| way(i, j) + core(i) + core(j)), Some((0..11).collect()));
        let slow = |i: usize, j: usize| if (leaf[i] == 0) != (leaf[j] == 0) { 0.5 } else { 0.0 };
        assert_eq!(kinds(&|i, j| way(i, j) + slow(i, j)), None);
        // A whole leaf is a kind where it differs by more than healthy hosts do.
        let of_leaf =
            |more: f64| move |i: usize, j: usize| more * (f64::from(u8::from(i < 8)) + f64::from(u8::from(j < 8)));
        let leaf_kinds = |more: f64| kinds(&|i, j| way(i, j) + of_leaf(more)(i, j));
        assert_eq!((leaf_kinds(0.06), leaf_kinds(0.3)), (None, Some((0..8).collect())));
    }

    #[test]
    fn a_leaf_of_more_than_a_quarter_of_the_hosts_whose_way_out_is_slow_is_no_kind() {
        let leaf: Vec<usize> = (0..96).map(|host| usize::from(host >= 29) + usize::from(host >= 61)).collect();
        let way = |i: usize, j: usize| match (leaf[i] == leaf[j], leaf[i] == 0 || leaf[j] == 0) {
            (true, _) => 0.0,
            (_, false) => 0.28,
            (_, true) => 0.42,
        };
        let are_kinds = |seed: &u64| {
            let mut rng = generator(*seed);
            let times = square(96, |i, j| way(i, j) + 0.03 * normal(&mut rng));
            Distances::of(leaf.clone(), Shape::Tree).find_kinds([Some(times), None]).is_some()
        };
        assert_eq!((0..20).filter(are_kinds).count(), 0);
    }

    #[test]
    fn cards_of_two_kinds_are_seen_inside_leaves_where_ways_out_are_shared() {
        let leaf: Vec<usize> = (0..54).map(|host| host / 6).collect();
        let card = |host: usize| if host < 28 { 0.0f64 } else { 0.7 };
        // Over a way out go two to five times as many messages as its cables carry.
        let load =
            |i: usize, j: usize| if leaf[i] == leaf[j] { 0.0 } else { (2.0 + ((7 * i + 5 * j) % 4) as f64).ln() };
        let mut rng = generator(5);
        let times = square(54, |i, j| card(i).max(card(j)).max(load(i, j)) + 0.01 * normal(&mut rng));
        let kinds = Distances::of(leaf.clone(), Shape::Tree).find_kinds([None, Some(times)]);
        assert_eq!(kinds.expect("two kinds").0, (28..54).collect::<Vec<_>>());
    }

    #[test]
    fn slow_hosts_of_a_leaf_are_no_kind_with_the_one_that_shares_their_switch() {
        let leaf: Vec<usize> = (0..24).map(|host| host / 6).collect();
        let card = |host: usize| if host < 5 { 1.0f64 } else { 0.0 };
        let mut rng = generator(5);
        let times = square(24, |i, j| card(i).max(card(j)) + 0.01 * normal(&mut rng));
        assert!(Distances::of(leaf.clone(), Shape::Tree).find_kinds([None, Some(times)]).is_none());
    }
}

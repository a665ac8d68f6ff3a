//! The arithmetic of taking a square apart: Tukey's median polish, with blocks of groups next to rows and columns.
//!
//! In: one length's means or half differences of both directions, and groups of hosts. Out: effects, noise.

use rayon::prelude::*;

use super::middles::{self, Columns, Guess};
use crate::{
    analysis::{groups::members, square::Square},
    stats::{Singles, median},
};

/// Least standard deviation of noise that is believed, as a share of a time: clocks and medians are no finer.
pub(super) const LEAST_NOISE: f64 = 0.004;

/// Takes apart half the differences of both directions: half of what a host sends slower than it receives, `[host]`.
pub(super) fn fit_sides(half: &Square) -> Vec<f64> {
    let (some, most) = (Columns::some(half), Columns::most(half));
    let mut effect = vec![0.0; half.side()];
    let mut reach = None;
    for columns in [some, some, some, most] {
        let expected: Vec<f32> = effect.iter().map(|effect| -effect as f32).collect();
        let guess = reach.map(|reach| Guess { middles: &effect, reach });
        let next = zero_where_missing(middles::of_rows(half, columns, guess, |_| &expected));
        reach.get_or_insert_with(|| middles::reach(half, &next, |_| &expected));
        let middle = median(&mut next.clone());
        effect = next.into_iter().map(|value| value - middle).collect();
    }
    effect
}

/// What is not known is no effect.
fn zero_where_missing(mut effect: Vec<f64>) -> Vec<f64> {
    effect.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
    effect
}

/// The symmetric part of one length.
pub(super) struct Common {
    /// Middle of every pair of groups, `[group * groups + group]`; NaN where there is no cell.
    pub block: Vec<f64>,
    /// By how much a host is slower, `[host]`.
    pub effect: Vec<f64>,
    /// Standard deviation of the rest.
    pub noise: f64,
}

/// Standard deviation of the noise, from a rest that was left by taking so many numbers from it.
fn noise_of(rest: &Square, taken: usize) -> f64 {
    let side = rest.side();
    let count = rest.cells().iter().sum::<usize>() as f64 / 2.0;
    let free = (count - taken as f64).max(LEAST_FREE * count).max(1.0);
    // So many cells give the scatter to a hundredth.
    let columns = Columns::with(side.pow(2) / 2, ENOUGH_FOR_NOISE);
    let mut values = Singles::default();
    for row in 0..side {
        values.and(columns.of(row, &rest.row(row)[row + 1..]).map(|value| value.abs()));
    }
    let scatter = OF_NORMAL * f64::from(values.median());
    // Of nothing, the scatter is NaN, and the noise is the least.
    (scatter * (count / free).sqrt()).max(LEAST_NOISE)
}

/// What a normal distribution's median distance from its middle is multiplied by to be its standard deviation.
const OF_NORMAL: f64 = 1.482_602;

/// Cells from which the noise of a square is taken.
const ENOUGH_FOR_NOISE: usize = 16_384;

/// Share of the values that say something about noise at least, however many numbers were taken from them.
const LEAST_FREE: f64 = 0.2;

/// Takes apart the means of both directions: groups and hosts.
pub(super) fn fit_groups(mut mean: Square, group: &[usize], groups: usize) -> Common {
    let (some, most) = (Columns::some(&mean), Columns::most(&mean));
    let mut parts = Parts::new(group, groups);
    for columns in [some, some, most] {
        parts.find_blocks(&mean, columns);
        parts.find_effects(&mean, some);
        parts.find_effects(&mean, columns);
    }
    let Parts { block, effect, .. } = &parts;
    let of_group = parts.expected();
    mean.rows_mut().enumerate().for_each(|(i, row)| {
        let own = effect[i] as f32;
        row.iter_mut().zip(&of_group[group[i]]).for_each(|(value, expected)| *value -= expected + own);
    });
    let taken = group.len() + block.iter().filter(|block| !block.is_nan()).count() / 2;
    let noise = noise_of(&mean, taken);
    Common { block: parts.block, effect: parts.effect, noise }
}

/// Groups and hosts while they are being fitted.
struct Parts<'a> {
    group: &'a [usize],
    groups: usize,
    members: Vec<Vec<usize>>,
    /// Pairs of groups, each once.
    places: Vec<(usize, usize)>,
    /// As in [`Common`].
    block: Vec<f64>,
    /// As in [`Common`].
    effect: Vec<f64>,
    /// By how much effects may be wrong, once something is known of them.
    reach: Option<f32>,
}

impl<'a> Parts<'a> {
    fn new(group: &'a [usize], groups: usize) -> Self {
        Self {
            group,
            groups,
            members: members(group, groups),
            places: (0..groups).flat_map(|g| (g..groups).map(move |h| (g, h))).collect(),
            block: vec![f64::NAN; groups * groups],
            effect: vec![0.0; group.len()],
            reach: None,
        }
    }

    fn find_blocks(&mut self, mean: &Square, columns: Columns) {
        let groups = self.groups;
        let effect: Vec<f32> = self.effect.iter().map(|effect| *effect as f32).collect();
        let known: Vec<f64> = self.places.iter().map(|&(g, h)| self.block[g * groups + h]).collect();
        let guess = Guess { middles: &known, reach: self.reach.unwrap_or_default() };
        let middles = middles::of_blocks(mean, columns, &guess, (&self.members, &self.places), &effect);
        for (&(g, h), &middle) in self.places.iter().zip(&middles) {
            self.block[g * groups + h] = middle;
            self.block[h * groups + g] = middle;
        }
    }

    /// What the cells of a row of each group should be but for the row's host, `[group][column]`.
    fn expected(&self) -> Vec<Vec<f32>> {
        let of_column = |g: usize, j: usize| (self.block[g * self.groups + self.group[j]] + self.effect[j]) as f32;
        (0..self.groups).map(|g| (0..self.group.len()).map(|j| of_column(g, j)).collect()).collect()
    }

    fn find_effects(&mut self, mean: &Square, columns: Columns) {
        let expected = self.expected();
        let of_row = |i: usize| &expected[self.group[i]][..];
        let guess = self.reach.map(|reach| Guess { middles: &self.effect, reach });
        let next = zero_where_missing(middles::of_rows(mean, columns, guess, of_row));
        self.reach = self.reach.or_else(|| Some(middles::reach(mean, &next, of_row)));
        self.effect = next;
        // What all hosts of a group share belongs to its blocks.
        for members in &self.members {
            let mut own: Vec<f64> = members.iter().map(|&host| self.effect[host]).collect();
            let middle = match own[..] {
                // The middle of two is half way to the slow one.
                [a, b] => a.min(b),
                _ => median(&mut own),
            };
            members.iter().for_each(|&host| self.effect[host] -= middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::drawn::{generator, leaves, normal, square, symmetric};

    const TOLERANCE: f64 = 1e-5;

    /// Effects of hosts whose middle is 0 in each of two groups of five, `[host]`.
    const EFFECT: [f64; 10] = [0.0, -0.1, 0.3, 0.0, -0.02, 0.5, 0.0, 0.1, -0.2, -0.3];
    const GROUP: [usize; 10] = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1];

    fn block(i: usize, j: usize) -> f64 {
        [[-0.4, 0.9], [0.9, -0.1]][GROUP[i]][GROUP[j]]
    }

    fn exact() -> Square {
        symmetric(10, |i, j| block(i, j) + EFFECT[i] + EFFECT[j])
    }

    fn are_near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < tolerance)
    }

    #[test]
    fn blocks_and_effects_without_noise_are_found_exactly() {
        let fitted = fit_groups(exact(), &GROUP, 2);
        assert!(are_near(&fitted.effect, &EFFECT, TOLERANCE), "{:?}", fitted.effect);
        assert!(are_near(&fitted.block, &[-0.4, 0.9, 0.9, -0.1], TOLERANCE), "{:?}", fitted.block);
        assert_eq!(fitted.noise, LEAST_NOISE);
    }

    #[test]
    fn a_slow_pair_moves_nothing() {
        let mut mean = exact();
        mean.set(2, 7, mean.at(2, 7) + 5.0);
        mean.set(7, 2, mean.at(7, 2) + 5.0);
        let fitted = fit_groups(mean, &GROUP, 2);
        assert!(are_near(&fitted.effect, &EFFECT, TOLERANCE), "{:?}", fitted.effect);
        assert_eq!(fitted.noise, LEAST_NOISE);
    }

    #[test]
    fn groups_between_which_nothing_was_measured_have_no_block() {
        let mut mean = exact();
        for (i, j) in (0..5).flat_map(|i| (5..10).map(move |j| (i, j))) {
            mean.set(i, j, f64::NAN);
            mean.set(j, i, f64::NAN);
        }
        let fitted = fit_groups(mean, &GROUP, 2);
        assert!(fitted.block[1].is_nan() && fitted.block[2].is_nan());
        // Of four partners each, the alternating medians are not at their end yet.
        assert!((fitted.block[0] + 0.4).abs() < 0.01 && are_near(&fitted.effect, &EFFECT, 0.01));
    }

    #[test]
    fn nothing_measured_is_no_effect() {
        let fitted = fit_groups(Square::missing(4), &[0, 0, 1, 1], 2);
        assert_eq!((fitted.effect, fitted.noise), (vec![0.0; 4], LEAST_NOISE));
        assert_eq!(fit_sides(&Square::missing(4)), [0.0; 4]);
    }

    #[test]
    fn sides_without_noise_are_found_exactly() {
        let mut half = square(10, |i, j| EFFECT[i] - EFFECT[j]);
        half.set(1, 4, half.at(1, 4) + 2.0);
        half.set(4, 1, half.at(4, 1) - 2.0);
        let sides = fit_sides(&half);
        assert!(are_near(&sides, &EFFECT, TOLERANCE), "{sides:?}");
    }

    /// Mean over draws of the noise that is found, where the true one is 1.
    fn noise_found(draws: u32, mut of: impl FnMut(&mut ChaCha8Rng) -> f64) -> f64 {
        let mut rng = generator(11);
        (0..draws).map(|_| of(&mut rng)).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn noise_is_found_although_few_hosts_have_many_effects() {
        // Alternating medians leave many rests next to 0: with few hosts they say too little noise still.
        for (hosts, draws, least) in [(5, 100, 0.55), (8, 100, 0.7), (16, 40, 0.85), (40, 10, 0.93)] {
            let common = noise_found(draws, |rng| {
                let mean = symmetric(hosts, |_, _| normal(rng));
                fit_groups(mean, &vec![0; hosts], 1).noise
            });
            assert!((least..1.1).contains(&common), "{hosts} hosts: {common}");
        }
    }

    #[test]
    fn noise_in_leaves_is_about_what_was_drawn() {
        let mut rng = generator(3);
        let leaf = leaves(&[6, 6, 6, 6], &mut rng);
        let found = noise_found(20, |rng| fit_groups(symmetric(24, |_, _| normal(rng)), &leaf, 4).noise);
        assert!((0.85..1.15).contains(&found), "{found}");
    }
}

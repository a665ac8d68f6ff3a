//! The arithmetic of taking a square apart: Tukey's median polish, with blocks of groups beside rows and columns, and
//! with patterns where structure is no groups.
//!
//! In: one length's means or half differences of both directions, and a structure. Out: effects, noise, rests.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::middles::{self, Columns, Guess};
use crate::{
    analysis::square::Square,
    stats::{Singles, median, scatter_about_zero},
};

/// Least standard deviation of noise that is believed, as a share of a time: clocks and medians are no finer.
pub(super) const LEAST_NOISE: f64 = 0.004;

/// The antisymmetric part of one length.
pub(super) struct Side {
    /// Half of what a host sends slower than it receives, `[host]`.
    pub effect: Vec<f64>,
    /// Standard deviation of the rest.
    pub noise: f64,
    /// Partners of every host, `[host]`.
    pub cells: Vec<usize>,
    /// Row minus column.
    pub rest: Square,
}

/// Takes apart half the differences of both directions.
pub(super) fn fit_sides(half: Square) -> Side {
    let (some, most) = (Columns::some(&half), Columns::most(&half));
    let mut effect = vec![0.0; half.side()];
    let mut reach = None;
    for columns in [some, some, some, most] {
        let expected: Vec<f32> = effect.iter().map(|effect| -effect as f32).collect();
        let guess = reach.map(|reach| Guess { middles: &effect, reach });
        let next = zero_where_missing(middles::of_rows(&half, columns, guess, |_| &expected));
        reach.get_or_insert_with(|| middles::reach(&half, &next, |_| &expected));
        let middle = median(&mut next.clone());
        effect = next.into_iter().map(|value| value - middle).collect();
    }
    let rest = less_differences(half, &effect);
    let cells = rest.cells();
    Side { effect, noise: noise_of(&rest, &cells, rest.side()), cells, rest }
}

/// Half differences without what hosts send slower than they receive, `[host]`.
pub(super) fn less_differences(mut half: Square, effect: &[f64]) -> Square {
    half.rows_mut().enumerate().for_each(|(i, row)| {
        row.iter_mut().zip(effect).for_each(|(value, other)| *value -= (effect[i] - other) as f32);
    });
    half
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
    /// Partners of every host, `[host]`.
    pub cells: Vec<usize>,
    /// Symmetric.
    pub rest: Square,
}

/// Members of every group.
pub fn members(group: &[usize], groups: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); groups];
    group.iter().enumerate().for_each(|(host, group)| members[*group].push(host));
    members
}

/// Groups of hosts, and what is known of the ways between them.
#[derive(Clone, Copy)]
pub(super) struct Grouping<'a> {
    /// The group of every host, `[host]`.
    pub group: &'a [usize],
    /// Number of groups.
    pub groups: usize,
    /// As in [`super::structure::Structure`].
    pub alike: Option<&'a [usize]>,
}

/// What is known of every host's neighbourhood, as in [`super::structure::Neighbourhoods`].
#[derive(Clone, Copy)]
pub(super) enum Neighbourhood<'a> {
    Patterns(&'a DMatrix<f64>),
    Hops(&'a [u8]),
}

/// Takes apart the means of both directions: groups, hosts, and neighbourhoods where there are any.
pub(super) fn fit_blocks(mean: Square, grouping: Grouping, neighbourhood: Option<Neighbourhood>) -> Common {
    let mut fitted = fit_grouping(mean, grouping);
    if let Some(neighbourhood) = neighbourhood {
        for _ in 0..3 {
            match neighbourhood {
                Neighbourhood::Patterns(patterns) => take_patterns(&mut fitted, patterns),
                Neighbourhood::Hops(hops) => take_hops(&mut fitted.rest, hops),
            }
            let Common { block, effect, rest, .. } = fitted;
            let more = fit_grouping(rest, grouping);
            fitted = Common {
                block: block.iter().zip(&more.block).map(|(a, b)| a + b).collect(),
                effect: effect.iter().zip(&more.effect).map(|(a, b)| a + b).collect(),
                ..more
            };
        }
    }
    fitted
}

/// Takes from the rest what all pairs with as many hops have in common.
fn take_hops(rest: &mut Square, hops: &[u8]) {
    let hosts = rest.side();
    let mut rests = vec![Vec::new(); hops.iter().max().map_or(0, |most| usize::from(*most) + 1)];
    rest.upper_pairs().for_each(|(i, j, value)| rests[usize::from(hops[i * hosts + j])].push(value));
    let middles: Vec<f32> = rests.iter_mut().map(|rests| median(rests) as f32).collect();
    rest.rows_mut().zip(hops.par_chunks(hosts)).for_each(|(row, hops)| {
        row.iter_mut().zip(hops).for_each(|(value, hops)| *value -= middles[usize::from(*hops)]);
    });
}

/// Takes from the rest what the patterns, unit vectors orthogonal to the constant, explain of it: of the times, because
/// hops add up in these.
fn take_patterns(fitted: &mut Common, patterns: &DMatrix<f64>) {
    let hosts = patterns.nrows();
    let mut explained: DMatrix<f64> = DMatrix::from_element(hosts, hosts, 1.0);
    // What is missing, the diagonal among it, and what is wild is filled in with what has been explained so far.
    for _ in 0..FILLINGS {
        let logarithms = explained.map(f64::ln);
        let mut departures: Vec<f64> =
            fitted.rest.upper_pairs().map(|(i, j, value)| value - logarithms[(i, j)]).collect();
        let limit = WILD_DEPARTURE * scatter_about_zero(&mut departures);
        let filled = DMatrix::from_fn(hosts, hosts, |i, j| {
            let value = fitted.rest.at(i, j);
            let is_usual = (value - logarithms[(i, j)]).abs() <= limit;
            if is_usual { value.exp() } else { explained[(i, j)] }
        });
        let mean = filled.mean();
        explained = patterns * (patterns.transpose() * filled * patterns) * patterns.transpose();
        explained.apply(|factor| *factor = (*factor + mean).max(LEAST_FACTOR));
    }
    fitted.rest.rows_mut().enumerate().for_each(|(i, row)| {
        row.iter_mut().enumerate().for_each(|(j, value)| *value -= explained[(i, j)].ln() as f32);
    });
}

/// Least part of a usual time that patterns may leave of it.
const LEAST_FACTOR: f64 = 0.05;

/// Standard deviation of the noise, from a rest with these `cells`, `[row]`, that was left by taking so many numbers
/// from it.
pub(super) fn noise_of(rest: &Square, cells: &[usize], taken: usize) -> f64 {
    let side = rest.side();
    let count = cells.iter().sum::<usize>() as f64 / 2.0;
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

/// How often missing and wild values are filled in before patterns are believed.
const FILLINGS: usize = 8;

/// Departure from what patterns explain, in units of the usual one, from which on a value is wild.
const WILD_DEPARTURE: f64 = 4.0;

/// Takes apart the means of both directions: groups and hosts.
pub(super) fn fit_groups(mean: Square, group: &[usize], groups: usize) -> Common {
    fit_grouping(mean, Grouping { group, groups, alike: None })
}

fn fit_grouping(mut mean: Square, grouping: Grouping) -> Common {
    let (some, most) = (Columns::some(&mean), Columns::most(&mean));
    let group = grouping.group;
    let mut parts = Parts::new(&mean, grouping);
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
    let cells = mean.cells();
    let noise = noise_of(&mean, &cells, group.len() + block.iter().filter(|block| !block.is_nan()).count() / 2);
    Common { block: parts.block, effect: parts.effect, noise, cells, rest: mean }
}

/// Pairs of two groups whose middle is believed although others are alike.
const ENOUGH_OF_ALIKE: usize = 4;

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
    alike: Option<Alike<'a>>,
}

/// Pairs of groups that are equally far from each other.
struct Alike<'a> {
    /// The class of every pair of groups, `[group * groups + group]`.
    class: &'a [usize],
    /// Number of its pairs of hosts, `[group * groups + group]`.
    cells: Vec<usize>,
}

impl<'a> Alike<'a> {
    fn of(mean: &Square, class: &'a [usize], group: &[usize], groups: usize) -> Self {
        let mut cells = vec![0; groups * groups];
        for (i, j, _) in mean.upper_pairs() {
            cells[group[i] * groups + group[j]] += 1;
            if group[i] != group[j] {
                cells[group[j] * groups + group[i]] += 1;
            }
        }
        Self { class, cells }
    }
}

impl<'a> Parts<'a> {
    fn new(mean: &Square, Grouping { group, groups, alike }: Grouping<'a>) -> Self {
        Self {
            group,
            groups,
            members: members(group, groups),
            places: (0..groups).flat_map(|g| (g..groups).map(move |h| (g, h))).collect(),
            block: vec![f64::NAN; groups * groups],
            effect: vec![0.0; group.len()],
            reach: None,
            alike: alike.map(|class| Alike::of(mean, class, group, groups)),
        }
    }

    /// Where a middle rests on few pairs, those of the pairs of groups that are alike say more.
    fn pool_blocks(&mut self) {
        let Some(Alike { class, cells }) = &self.alike else { return };
        let groups = self.groups;
        let is_few = |g: usize, h: usize| {
            cells[g * groups + h] < ENOUGH_OF_ALIKE || self.members[g].len() == 1 || self.members[h].len() == 1
        };
        for own in 0..=class.iter().max().map_or(0, |last| *last) {
            let places = || self.places.iter().filter(|(g, h)| class[g * groups + h] == own);
            let (mut known, mut all) = (Vec::new(), Vec::new());
            for &(g, h) in places() {
                let place = g * groups + h;
                let values = std::iter::repeat_n(self.block[place], cells[place]);
                if !is_few(g, h) {
                    known.extend(values.clone());
                }
                all.extend(values);
            }
            let middle = median(if known.is_empty() { &mut all } else { &mut known });
            for &(g, h) in places().filter(|(g, h)| is_few(*g, *h) && !middle.is_nan()) {
                self.block[g * groups + h] = middle;
                self.block[h * groups + g] = middle;
            }
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
        self.pool_blocks();
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
        for members in self.members.iter().filter(|members| self.alike.is_none() || members.len() > 1) {
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
    use crate::analysis::drawn::{generator, leaves, lose_pairs, normal, square, symmetric, torus};

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
        assert!(fitted.rest.upper().all(|rest| rest.abs() < TOLERANCE));
        assert_eq!(fitted.noise, LEAST_NOISE);
    }

    #[test]
    fn a_slow_pair_stays_in_the_rest_and_moves_nothing() {
        let mut mean = exact();
        mean.set(2, 7, mean.at(2, 7) + 5.0);
        mean.set(7, 2, mean.at(7, 2) + 5.0);
        let fitted = fit_groups(mean, &GROUP, 2);
        assert!(are_near(&fitted.effect, &EFFECT, TOLERANCE), "{:?}", fitted.effect);
        assert!((fitted.rest.at(2, 7) - 5.0).abs() < TOLERANCE && (fitted.rest.at(7, 2) - 5.0).abs() < TOLERANCE);
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
        assert!(fitted.rest.at(0, 9).is_nan());
    }

    #[test]
    fn groups_of_which_few_pairs_are_known_are_as_far_as_those_that_are_alike() {
        // Four groups of four, all equally far; of the first two, one pair is known, and it is slow.
        let group: Vec<usize> = (0..16).map(|host| host / 4).collect();
        let is_lost = |i: usize, j: usize| i < 4 && (4..8).contains(&j) && (i, j) != (1, 6);
        let mean = symmetric(16, |i, j| match (group[i], group[j]) {
            _ if is_lost(i, j) => f64::NAN,
            _ if (i, j) == (1, 6) => 2.0,
            (g, h) => {
                if g == h {
                    0.0
                } else {
                    0.5
                }
            }
        });
        let alike: Vec<usize> = (0..16).map(|place| usize::from(place / 4 != place % 4)).collect();
        let slow = |alike| fit_grouping(mean.clone(), Grouping { group: &group, groups: 4, alike }).rest.at(1, 6);
        assert!(slow(None).abs() < TOLERANCE && (slow(Some(&alike)) - 1.5).abs() < TOLERANCE);
    }

    #[test]
    fn a_host_alone_keeps_what_it_adds_where_others_are_alike() {
        let group: Vec<usize> = (0..13).map(|host| host / 4).collect();
        let slow = |host: usize| if host == 12 { 0.3 } else { 0.0 };
        let mean = symmetric(13, |i, j| slow(i) + slow(j) + if group[i] == group[j] { 0.0 } else { 0.5 });
        let alike: Vec<usize> = (0..16).map(|place| usize::from(place / 4 != place % 4)).collect();
        let of = |alike| fit_grouping(mean.clone(), Grouping { group: &group, groups: 4, alike }).effect[12];
        assert!(of(None).abs() < TOLERANCE && (of(Some(&alike)) - 0.3).abs() < TOLERANCE);
    }

    #[test]
    fn nothing_measured_is_no_effect() {
        let fitted = fit_groups(Square::missing(4), &[0, 0, 1, 1], 2);
        assert_eq!((fitted.effect, fitted.noise), (vec![0.0; 4], LEAST_NOISE));
        let sides = fit_sides(Square::missing(4));
        assert_eq!((sides.effect, sides.noise), (vec![0.0; 4], LEAST_NOISE));
    }

    #[test]
    fn sides_without_noise_are_found_exactly() {
        let mut half = square(10, |i, j| EFFECT[i] - EFFECT[j]);
        half.set(1, 4, half.at(1, 4) + 2.0);
        half.set(4, 1, half.at(4, 1) - 2.0);
        let sides = fit_sides(half);
        assert!(are_near(&sides.effect, &EFFECT, TOLERANCE), "{:?}", sides.effect);
        assert!((sides.rest.at(1, 4) - 2.0).abs() < TOLERANCE && (sides.rest.at(4, 1) + 2.0).abs() < TOLERANCE);
        assert!(sides.rest.at(1, 5).abs() < TOLERANCE && sides.noise == LEAST_NOISE);
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
            let side = noise_found(draws, |rng| {
                let drawn = symmetric(hosts, |_, _| normal(rng));
                fit_sides(square(hosts, |i, j| if i < j { drawn.at(i, j) } else { -drawn.at(i, j) })).noise
            });
            assert!((0.8..1.1).contains(&side), "{hosts} hosts: {side}");
        }
    }

    #[test]
    fn noise_in_leaves_is_about_what_was_drawn() {
        let mut rng = generator(3);
        let leaf = leaves(&[6, 6, 6, 6], &mut rng);
        let found = noise_found(20, |rng| fit_groups(symmetric(24, |_, _| normal(rng)), &leaf, 4).noise);
        assert!((0.85..1.15).contains(&found), "{found}");
    }

    /// Eigenvectors of a torus: what a host sees of it does not depend on which host it is.
    fn patterns_of_torus(hops: &[Vec<f64>], count: usize) -> DMatrix<f64> {
        let hosts = hops.len();
        let mean = hops[0].iter().sum::<f64>() / hosts as f64;
        let matrix = DMatrix::from_fn(hosts, hosts, |i, j| hops[i][j] - mean);
        let eigen = nalgebra::SymmetricEigen::new(matrix);
        let mut order: Vec<usize> = (0..hosts).collect();
        order.sort_by(|a, b| eigen.eigenvalues[*b].abs().total_cmp(&eigen.eigenvalues[*a].abs()));
        DMatrix::from_columns(&order[..count].iter().map(|k| eigen.eigenvectors.column(*k)).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_explain_a_torus_and_leave_a_slow_pair() {
        let mut rng = generator(5);
        let hops = torus([4, 4, 2], &mut rng);
        let patterns = patterns_of_torus(&hops, 5);
        let slow = |i: usize, j: usize| if (i, j) == (3, 17) { 0.8 } else { 0.0 };
        let host = |i: usize| if i == 9 { 0.5 } else { 0.0 };
        let way = |i: usize, j: usize| (1.0 + 0.2 * hops[i][j]).ln();
        let mean = symmetric(32, |i, j| way(i, j) + slow(i, j) + host(i) + host(j) + 0.01 * normal(&mut rng));
        let one = Grouping { group: &[0; 32], groups: 1, alike: None };
        let without = fit_groups(mean.clone(), one.group, 1);
        let fitted = fit_blocks(mean.clone(), one, Some(Neighbourhood::Patterns(&patterns)));
        assert!(without.noise > 0.1 && fitted.noise < 0.015, "{} {}", without.noise, fitted.noise);
        assert!((fitted.rest.at(3, 17) - 0.8).abs() < 0.06, "{}", fitted.rest.at(3, 17));
        assert!((fitted.effect[9] - 0.5).abs() < 0.03, "{}", fitted.effect[9]);
        let largest = fitted.rest.upper_pairs().filter(|(i, j, _)| (*i, *j) != (3, 17)).map(|(_, _, rest)| rest.abs());
        assert!(largest.fold(0.0, f64::max) < 0.1);
        // The same with a third of the pairs missing.
        let mut few = mean;
        lose_pairs(&mut [&mut few], 0.3, &mut rng);
        few.set(3, 17, way(3, 17) + 0.8);
        few.set(17, 3, way(3, 17) + 0.8);
        let fitted = fit_blocks(few, one, Some(Neighbourhood::Patterns(&patterns)));
        assert!(fitted.noise < 0.025 && (fitted.rest.at(3, 17) - 0.8).abs() < 0.1, "{}", fitted.noise);
    }

    #[test]
    fn hops_explain_a_torus_and_leave_a_slow_host_and_a_slow_pair() {
        let mut rng = generator(5);
        let hops = torus([4, 4, 2], &mut rng);
        let slow = |i: usize, j: usize| if (i, j) == (3, 17) { 0.8 } else { 0.0 };
        let host = |i: usize| if i == 9 { 0.5 } else { 0.0 };
        let way = |i: usize, j: usize| (1.0 + 0.2 * hops[i][j]).ln() + slow(i, j) + host(i) + host(j);
        let mut mean = symmetric(32, |i, j| way(i, j) + 0.01 * normal(&mut rng));
        lose_pairs(&mut [&mut mean], 0.6, &mut rng);
        mean.set(3, 17, way(3, 17));
        mean.set(17, 3, way(3, 17));
        let one = Grouping { group: &[0; 32], groups: 1, alike: None };
        let hops: Vec<u8> = hops.into_iter().flatten().map(|hops| hops as u8).collect();
        let fitted = fit_blocks(mean, one, Some(Neighbourhood::Hops(&hops)));
        assert!(fitted.noise < 0.015 && (fitted.rest.at(3, 17) - 0.8).abs() < 0.04, "{}", fitted.noise);
        assert!((fitted.effect[9] - 0.5).abs() < 0.02, "{}", fitted.effect[9]);
    }

    #[test]
    fn members_are_the_hosts_of_every_group() {
        assert_eq!(members(&[1, 0, 1, 3], 4), [vec![1], vec![0, 2], vec![], vec![3]]);
    }
}

//! Middles of the rows of a square and of its blocks, less what is known of every cell.
//!
//! In: a [`Square`] and what is expected of its cells. Out: one median for each row or block. Median polish goes over
//! all cells again and again; until its last step, [`Columns::some`] of them say enough, of very many hosts
//! [`Columns::most`] of them then, and every step begins with what the one before said.

use rayon::prelude::*;

use crate::{
    analysis::square::Square,
    stats::{Singles, scatter_about_zero},
};

/// Cells of a row that say enough until the last step: their median errs by a ninth of the noise of one cell. That is
/// noise of other hosts in the last step, which it widens by less than a hundredth.
const ENOUGH: usize = 128;

/// Cells of a row that say enough in the end: their median errs by a twentieth of the noise of one cell.
const ENOUGH_AT_LAST: usize = 400;

/// Cells of a block that always say enough: its middle is then known ten times as well as that of a row of them.
const ENOUGH_OF_BLOCK: usize = 16_384;

/// Cells of a block of which there must be as many, or it is looked at whole.
const FEWEST_OF_BLOCK: usize = 64;

/// Cells that the scatter is taken of when only its size matters.
const FEW: usize = 2048;

/// Rows that are worth a task of their own.
const ROWS: usize = 32;

/// Which columns of every row are looked at: every `step`-th one, beginning elsewhere in every row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    step: usize,
}

impl Columns {
    /// As many as say enough until the last step; all where rows are short or hold little.
    pub fn some(square: &Square) -> Self {
        Self::with(usual_cells(square), ENOUGH)
    }

    /// As many as say enough in the last step.
    pub fn most(square: &Square) -> Self {
        Self::with(usual_cells(square), ENOUGH_AT_LAST)
    }

    /// So many that of `cells` at least `enough` are looked at; all of fewer.
    pub fn with(cells: usize, enough: usize) -> Self {
        Self { step: (cells / enough).max(1) }
    }

    /// What a row has in these columns, or what is known of them.
    pub fn of<T>(self, row: usize, values: &[T]) -> impl Iterator<Item = &T> {
        values.get(self.first(row)..).unwrap_or_default().chunks(self.step).map(|values| &values[0])
    }

    /// Place of the first column that is looked at in a row. Neighbouring rows have different ones, and so have those
    /// whose distance is a power of two.
    fn first(self, row: usize) -> usize {
        row * 5 % self.step
    }
}

/// How many cells rows have, about.
fn usual_cells(square: &Square) -> usize {
    let rows = || (0..square.side()).step_by(square.side().div_ceil(ROWS).max(1));
    rows().map(|row| square.present(row)).sum::<usize>() / rows().count().max(1)
}

/// What earlier steps said.
pub(super) struct Guess<'a> {
    /// The middles.
    pub middles: &'a [f64],
    /// By how much they may be wrong; if they are more wrong than that, it takes longer.
    pub reach: f32,
}

/// Medians of the rows, NaN where there is nothing. `expected`: what is taken off the cells of a row, `[column]`.
pub(super) fn of_rows<'a>(
    square: &Square,
    columns: Columns,
    guess: Option<Guess<'_>>,
    expected: impl Fn(usize) -> &'a [f32] + Sync,
) -> Vec<f64> {
    let of_row = |rest: &mut Singles, row: usize| {
        let (values, expected) = (square.row(row), expected(row));
        // The processor takes several of them at once where they are side by side.
        match columns.step {
            1 => rest.of(values.iter().zip(expected).map(|(value, expected)| value - expected)),
            _ => rest
                .of(columns.of(row, values).zip(columns.of(row, expected)).map(|(value, expected)| value - expected)),
        };
        match &guess {
            Some(guess) => rest.median_near(guess.middles[row] as f32, guess.reach),
            None => rest.median(),
        }
    };
    let rows = (0..square.side()).into_par_iter().with_min_len(ROWS);
    rows.map_init(Default::default, of_row).map(f64::from).collect()
}

/// Medians of a row toward each group, `[group]`; of the whole row where there is nothing, or where a group has fewer
/// than `least` members; 0 where the row is empty.
pub(super) fn toward_groups(row: &[f32], members: &[Vec<usize>], least: usize) -> Vec<f32> {
    let mut rest = Singles::default();
    let own: Vec<f32> = members
        .iter()
        .map(|members| match members.len() < least {
            true => f32::NAN,
            false => rest.of(members.iter().map(|column| row[*column])).median(),
        })
        .collect();
    if own.iter().all(|middle| !middle.is_nan()) {
        return own;
    }
    let all = rest.of(row.iter().copied()).median();
    let all = if all.is_nan() { 0.0 } else { all };
    own.into_iter().map(|middle| if middle.is_nan() { all } else { middle }).collect()
}

/// Medians of the blocks of a symmetric square, of `places`, NaN where there is nothing. `effect`: what is taken off
/// the cells of every host, `[host]`.
pub(super) fn of_blocks(
    square: &Square,
    columns: Columns,
    guess: &Guess<'_>,
    (members, places): (&[Vec<usize>], &[(usize, usize)]),
    effect: &[f32],
) -> Vec<f64> {
    let of_block = |rest: &mut Singles, (place, &(g, h)): (usize, &(usize, usize))| {
        let (rows, others) = (&members[g], &members[h]);
        let cells = rows.len() * others.len();
        let most = Columns::with(cells, FEWEST_OF_BLOCK).step;
        let columns = Columns { step: columns.step.clamp(Columns::with(cells, ENOUGH_OF_BLOCK).step, most) };
        rest.of([]);
        for (n, &i) in rows.iter().enumerate() {
            let (values, own) = (square.row(i), effect[i]);
            // Inside a group, each pair once: members ascend.
            let others = if g == h { &others[n + 1..] } else { others };
            rest.and(columns.of(i, others).map(|&j| values[j] - own - effect[j]));
        }
        match guess.middles[place] {
            unknown if unknown.is_nan() => rest.median(),
            middle => rest.median_near(middle as f32, guess.reach),
        }
    };
    places.par_iter().enumerate().map_init(Default::default, of_block).map(f64::from).collect()
}

/// By how much middles of rows may be wrong that were taken of some columns. `expected`: as in [`of_rows`]; `middles`:
/// of the rows.
pub(super) fn reach<'a>(square: &Square, middles: &[f64], expected: impl Fn(usize) -> &'a [f32]) -> f32 {
    let side = square.side();
    let columns = Columns::with(side, FEW / ROWS);
    let mut rests = Vec::with_capacity(2 * FEW);
    for row in (0..side).step_by(side.div_ceil(ROWS).max(1)) {
        let cells = columns.of(row, square.row(row)).zip(columns.of(row, expected(row)));
        rests.extend(cells.map(|(value, expected)| f64::from(value - expected) - middles[row]));
    }
    // Of a normal distribution, one in eighty is farther off.
    (2.5 * 1.25 * scatter_about_zero(&mut rests) / (ENOUGH as f64).sqrt()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal, symmetric};

    const ALL: Columns = Columns { step: 1 };

    /// What hosts differ by, `[host]`, and a square of it with noise.
    fn drawn(hosts: usize) -> (Vec<f32>, Square) {
        let mut rng = generator(5);
        let effect: Vec<f32> = (0..hosts).map(|_| normal(&mut rng) as f32).collect();
        let square = symmetric(hosts, |i, j| f64::from(effect[i] + effect[j]) + 0.1 * normal(&mut rng));
        (effect, square)
    }

    fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn short_rows_and_rows_with_little_are_looked_at_whole() {
        let (_, mut square) = drawn(600);
        assert_eq!(Columns::some(&square).step, 4);
        for (i, j) in (0..600).flat_map(|i| (0..600).map(move |j| (i, j))).filter(|(i, j)| (i + j) % 4 > 0) {
            square.set(i, j, f64::NAN);
        }
        assert_eq!(Columns::some(&square).step, 1);
        assert_eq!(Columns::some(&drawn(40).1).step, 1);
        assert_eq!(Columns::some(&Square::missing(0)).step, 1);
    }

    #[test]
    fn some_columns_say_about_what_all_say_and_a_guess_changes_nothing() {
        let (effect, square) = drawn(600);
        let of = |columns, guess| of_rows(&square, columns, guess, |_| &effect);
        let (all, some) = (of(ALL, None), of(Columns::some(&square), None));
        let reach = reach(&square, &some, |_| &effect);
        let apart = largest_difference(&all, &some);
        assert!((0.01..0.06).contains(&apart), "{apart}");
        assert!((0.02..0.04).contains(&reach), "{reach}");
        for (middles, reach) in [(&some, reach), (&all, 0.0), (&vec![1e6; 600], 1.0)] {
            assert_eq!(of(ALL, Some(Guess { middles, reach })), all);
        }
    }

    #[test]
    fn in_the_end_at_least_so_many_cells_are_looked_at() {
        for (hosts, step) in [(700, 1), (810, 2)] {
            assert_eq!(Columns::most(&Square::zero(hosts)).step, step);
        }
        for cells in [1, 399, 400, 799, 800, 1023, 4095] {
            let looked_at = cells / Columns::with(cells, ENOUGH_AT_LAST).step;
            assert!(looked_at <= cells && looked_at >= cells.min(ENOUGH_AT_LAST) && looked_at < 2 * ENOUGH_AT_LAST);
        }
    }

    #[test]
    fn blocks_are_told_from_some_of_their_cells() {
        let (effect, square) = drawn(600);
        let members: Vec<Vec<usize>> = vec![(0..200).collect(), (200..599).collect(), vec![599]];
        let places = [(0, 0), (0, 1), (1, 1), (2, 2)];
        // However few columns are looked at, small blocks are known.
        let small: Vec<Vec<usize>> = (0..300).map(|group| vec![2 * group, 2 * group + 1]).collect();
        let pairs: Vec<(usize, usize)> = (0..300).flat_map(|g| (g..300).map(move |h| (g, h))).collect();
        let guess = Guess { middles: &vec![f64::NAN; pairs.len()], reach: 0.0 };
        let middles = of_blocks(&square, Columns { step: 7 }, &guess, (&small, &pairs), &effect);
        assert!(middles.iter().all(|middle| middle.abs() < 0.6));
        let unknown = Guess { middles: &[f64::NAN; 4], reach: 0.0 };
        let all = of_blocks(&square, ALL, &unknown, (&members, &places), &effect);
        let some = of_blocks(&square, Columns::some(&square), &unknown, (&members, &places), &effect);
        assert!(all[..3].iter().chain(&some[..3]).all(|middle| middle.abs() < 0.004), "{all:?} {some:?}");
        assert!(all[3].is_nan() && some[3].is_nan());
        let known = Guess { middles: &some, reach: 0.01 };
        let again = of_blocks(&square, ALL, &known, (&members, &places), &effect);
        assert_eq!(again[..3], all[..3]);
    }

    #[test]
    fn a_row_is_told_toward_each_group_that_is_large_enough() {
        let row = [1.0, 2.0, 9.0, 4.0, f32::NAN, 5.0, f32::NAN];
        let members = [vec![0, 1, 2], vec![3], vec![4, 6]];
        // Group 1 is too small, nothing is known of group 2: the middle of all.
        assert_eq!(toward_groups(&row, &members, 2), [2.0, 4.0, 4.0]);
        assert_eq!(toward_groups(&row, &members[..1], 3), [2.0]);
        assert_eq!(toward_groups(&[f32::NAN; 7], &members, 2), [0.0; 3]);
    }

    #[test]
    fn nothing_has_no_middle() {
        let rows = of_rows(&Square::missing(3), ALL, None, |_| &[0.0; 3]);
        assert!(rows.len() == 3 && rows.iter().all(|middle| middle.is_nan()));
        assert_eq!(reach(&Square::missing(3), &rows, |_| &[0.0; 3]), 0.0);
    }
}

//! Middles of the rows of a square and of its blocks, less what is known of every cell.
//!
//! In: a [`Square`] and what is expected of its cells. Out: one median for each row or block. Median polish goes over
//! all cells again and again; until its last step, [`Columns::some`] of them say enough, and the last one begins with
//! what they said.

use rayon::prelude::*;

use crate::{
    analysis::square::Square,
    stats::{median_near, median_of_singles, scatter_about_zero},
};

/// Cells of a row that say enough until the last step: their median errs by a ninth of the noise of one cell. That is
/// noise of other hosts in the last step, which it widens by less than a hundredth.
const ENOUGH: usize = 128;

/// Cells of a block that always say enough: its middle is then known ten times as well as that of a row of them.
const ENOUGH_OF_BLOCK: usize = 16_384;

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
    pub const ALL: Self = Self { step: 1 };

    /// As many as say enough; all where rows are short or hold little.
    pub fn some(square: &Square) -> Self {
        let rows = || (0..square.side()).step_by(square.side().div_ceil(ROWS).max(1));
        let cells: usize = rows().map(|row| square.present(row)).sum();
        Self { step: (cells / rows().count().max(1) / ENOUGH).max(1) }
    }

    /// Place of the first column that is looked at in a row. Neighbouring rows have different ones, and so have those
    /// whose distance is a power of two.
    fn first(self, row: usize) -> usize {
        row * 5 % self.step
    }
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
    let of_row = |(rest, scratch): &mut (Vec<f32>, Vec<f32>), row: usize| {
        let (values, expected) = (square.row(row), expected(row));
        rest.clear();
        if columns.step > 1 {
            let places = (columns.first(row)..values.len()).step_by(columns.step);
            rest.extend(places.map(|column| values[column] - expected[column]));
            return median_of_singles(rest);
        }
        rest.extend(values.iter().zip(expected).map(|(value, expected)| value - expected));
        match &guess {
            Some(guess) => median_near(rest, guess.middles[row] as f32, guess.reach, scratch),
            None => median_of_singles(rest),
        }
    };
    let rows = (0..square.side()).into_par_iter().with_min_len(ROWS);
    rows.map_init(Default::default, of_row).map(f64::from).collect()
}

/// Medians of a row toward each group, `[group]`; of the whole row where there is nothing, or where a group has fewer
/// than `least` members; 0 where the row is empty.
pub(super) fn toward_groups(row: &[f32], members: &[Vec<usize>], least: usize) -> Vec<f32> {
    let mut scratch = Vec::with_capacity(row.len());
    let mut median = |values: &mut dyn Iterator<Item = f32>| {
        scratch.clear();
        scratch.extend(values);
        median_of_singles(&mut scratch)
    };
    let own: Vec<f32> = members
        .iter()
        .map(|members| match members.len() < least {
            true => f32::NAN,
            false => median(&mut members.iter().map(|column| row[*column])),
        })
        .collect();
    if own.iter().all(|middle| !middle.is_nan()) {
        return own;
    }
    let all = median(&mut row.iter().copied());
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
    let of_block = |(rest, scratch): &mut (Vec<f32>, Vec<f32>), (place, &(g, h)): (usize, &(usize, usize))| {
        let (rows, others) = (&members[g], &members[h]);
        let step = columns.step.max(rows.len() * others.len() / ENOUGH_OF_BLOCK);
        let columns = Columns { step };
        rest.clear();
        for &i in rows {
            let values = square.row(i);
            let others = others.iter().skip(columns.first(i)).step_by(step).filter(|j| g != h || **j > i);
            rest.extend(others.map(|&j| values[j] - effect[i] - effect[j]));
        }
        match guess.middles[place] {
            unknown if unknown.is_nan() => median_of_singles(rest),
            middle => median_near(rest, middle as f32, guess.reach, scratch),
        }
    };
    places.par_iter().enumerate().map_init(Default::default, of_block).map(f64::from).collect()
}

/// By how much middles of rows may be wrong that were taken of some columns. `expected`: as in [`of_rows`]; `middles`:
/// of the rows.
pub(super) fn reach<'a>(square: &Square, middles: &[f64], expected: impl Fn(usize) -> &'a [f32]) -> f32 {
    let side = square.side();
    let step = side.div_ceil(FEW / ROWS).max(1);
    let mut rests = Vec::with_capacity(FEW);
    for row in (0..side).step_by(side.div_ceil(ROWS).max(1)) {
        let (values, expected) = (square.row(row), expected(row));
        let places = (row % step..side).step_by(step);
        rests.extend(places.map(|column| f64::from(values[column] - expected[column]) - middles[row]));
    }
    // Of a normal distribution, one in eighty is farther off.
    (2.5 * 1.25 * scatter_about_zero(&mut rests) / (ENOUGH as f64).sqrt()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::{generator, normal, symmetric};

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
        let (all, some) = (of(Columns::ALL, None), of(Columns::some(&square), None));
        let reach = reach(&square, &some, |_| &effect);
        let apart = largest_difference(&all, &some);
        assert!((0.01..0.06).contains(&apart), "{apart}");
        assert!((0.02..0.04).contains(&reach), "{reach}");
        for (middles, reach) in [(&some, reach), (&all, 0.0), (&vec![1e6; 600], 1.0)] {
            assert_eq!(of(Columns::ALL, Some(Guess { middles, reach })), all);
        }
    }

    #[test]
    fn blocks_are_told_from_some_of_their_cells() {
        let (effect, square) = drawn(600);
        let members: Vec<Vec<usize>> = vec![(0..200).collect(), (200..599).collect(), vec![599]];
        let places = [(0, 0), (0, 1), (1, 1), (2, 2)];
        let unknown = Guess { middles: &[f64::NAN; 4], reach: 0.0 };
        let all = of_blocks(&square, Columns::ALL, &unknown, (&members, &places), &effect);
        let some = of_blocks(&square, Columns::some(&square), &unknown, (&members, &places), &effect);
        assert!(all[..3].iter().chain(&some[..3]).all(|middle| middle.abs() < 0.004), "{all:?} {some:?}");
        assert!(all[3].is_nan() && some[3].is_nan());
        let known = Guess { middles: &some, reach: 0.01 };
        let again = of_blocks(&square, Columns::ALL, &known, (&members, &places), &effect);
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
        let rows = of_rows(&Square::missing(3), Columns::ALL, None, |_| &[0.0; 3]);
        assert!(rows.len() == 3 && rows.iter().all(|middle| middle.is_nan()));
        assert_eq!(reach(&Square::missing(3), &rows, |_| &[0.0; 3]), 0.0);
    }
}

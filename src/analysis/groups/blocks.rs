//! Middles of blocks of cells between groups, and how well a shape fits them.
//!
//! In: a [`Square`] and the group of every host. Out: [`Blocks`], sums of squares in units of noise.

use super::Band;
use crate::analysis::square::Square;

/// The blocks between parts of one square: their cells and a middle that a few wild ones cannot move.
pub(super) struct Blocks {
    pub count: usize,
    pub noise: f64,
    /// `[part * count + part]`; only where the first part is not the larger number.
    cells: Vec<Vec<f32>>,
    /// `[part * count + part]`.
    middle: Vec<f64>,
}

impl Blocks {
    pub fn of(square: &Square, noise: f64, label: &[usize]) -> Self {
        let count = label.iter().max().map_or(0, |last| last + 1);
        let mut blocks =
            Self { count, noise, cells: vec![Vec::new(); count * count], middle: vec![f64::NAN; count * count] };
        for (i, j, value) in square.upper_pairs() {
            let (g, h) = (label[i].min(label[j]), label[i].max(label[j]));
            blocks.cells[g * count + h].push(value as f32);
        }
        for (g, h) in (0..count).flat_map(|g| (g..count).map(move |h| (g, h))) {
            blocks.update(g, h);
        }
        blocks
    }

    fn update(&mut self, g: usize, h: usize) {
        let place = g.min(h) * self.count + g.max(h);
        let middle = middle(&self.cells[place], self.noise);
        self.middle[g * self.count + h] = middle;
        self.middle[h * self.count + g] = middle;
    }

    pub fn cells(&self, g: usize, h: usize) -> f64 {
        self.cells[g.min(h) * self.count + g.max(h)].len() as f64
    }

    pub fn middle(&self, g: usize, h: usize) -> f64 {
        self.middle[g * self.count + h]
    }

    /// Makes `b` a part of `a`; `alive` are all parts that there are.
    pub fn join(&mut self, alive: &[usize], a: usize, b: usize) {
        let n = self.count;
        for &c in alive {
            let moved = std::mem::take(&mut self.cells[b.min(c) * n + b.max(c)]);
            let other = if c == b { a } else { c };
            self.cells[a.min(other) * n + a.max(other)].extend(moved);
        }
        alive.iter().filter(|c| **c != b).for_each(|&c| self.update(a, c));
    }
}

/// Mean of values after wild ones were taken back to three times the noise; NaN if there are none.
pub(super) fn middle(values: &[f32], noise: f64) -> f64 {
    let count = values.len() as f64;
    if values.len() < 3 {
        return values.iter().copied().map(f64::from).sum::<f64>() / count;
    }
    let mut sorted = values.to_vec();
    let place = values.len() / 2;
    let centre = f64::from(*sorted.select_nth_unstable_by(place, f32::total_cmp).1);
    values.iter().map(|value| f64::from(*value).clamp(centre - 3.0 * noise, centre + 3.0 * noise)).sum::<f64>() / count
}

/// By how much the values of two parts may differ for no reason of structure: standard deviation, `ln(ratio)`.
pub(super) const LEAST_DIFFERENCE: f64 = 0.01;

/// Largest share of a column of two cells or less in a sum of squares: one wild cell must not decide.
pub(super) const MOST_OF_FEW: f64 = 2.0;

/// Sum of squared differences of two shapes in units of noise. Each column has a difference, its weight, and whether it
/// rests on few cells: then it has no say in where the others are, unless there is nothing else.
pub(super) fn misfit(columns: &[(f64, f64, bool)]) -> f64 {
    let has_many = columns.iter().any(|(_, _, is_few)| !is_few);
    let counted = || columns.iter().filter(|(_, _, is_few)| !has_many || !is_few);
    let total: f64 = counted().map(|(_, weight, _)| weight).sum();
    if total == 0.0 {
        return 0.0;
    }
    let shift = counted().map(|(value, weight, _)| value * weight).sum::<f64>() / total;
    let squares = columns.iter().map(|&(value, weight, is_few)| {
        let square = weight * (value - shift).powi(2);
        if is_few { square.min(MOST_OF_FEW) } else { square }
    });
    squares.sum()
}

/// All squares, with their noise.
pub(super) fn squares(bands: &[Band]) -> Vec<(&Square, f64)> {
    bands.iter().flat_map(|band| [(&band.first, band.noise), (&band.second, band.noise)]).collect()
}

/// The blocks of some squares.
pub(super) fn all_blocks<'a>(squares: &[(&'a Square, f64)], label: &[usize]) -> Vec<(&'a Square, Blocks)> {
    squares.iter().map(|(square, noise)| (*square, Blocks::of(square, *noise, label))).collect()
}

/// Adds to `cost`, `[group]`, how badly the shape of a host's `row` fits that of each group, as a sum of squares in
/// units of noise. `label`: the group of every column; `own`: the group whose blocks have these cells, if any.
pub(super) fn add_misfit(row: &[f32], blocks: &Blocks, label: &[usize], own: Option<usize>, cost: &mut [f64]) {
    let count = blocks.count;
    let mut cells: Vec<Vec<f32>> = vec![Vec::new(); count];
    for (other, value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        cells[label[other]].push(*value);
    }
    let middles: Vec<(f64, f64)> =
        cells.iter().map(|cells| (middle(cells, blocks.noise), cells.len() as f64)).collect();
    let mut columns: Vec<(f64, f64, bool)> = Vec::with_capacity(count);
    for (group, cost) in cost.iter_mut().enumerate() {
        columns.clear();
        columns.extend((0..count).filter_map(|c| {
            let (value, cells) = middles[c];
            // The host's own cells are no evidence for their own block.
            let others = blocks.cells(group, c) - if own == Some(group) { cells } else { 0.0 };
            if cells == 0.0 || others < 1.0 {
                return None;
            }
            let share = others / blocks.cells(group, c);
            let variance = blocks.noise * blocks.noise * (1.0 / cells + 1.0 / others);
            let weight = 1.0 / (variance + LEAST_DIFFERENCE * LEAST_DIFFERENCE);
            Some(((value - blocks.middle(group, c)) / share, weight, cells.min(others) < 3.0))
        }));
        *cost += misfit(&columns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::symmetric;

    #[test]
    fn a_middle_is_a_mean_that_wild_values_cannot_move() {
        assert_eq!(middle(&[1.0, 2.0], 0.1), 1.5);
        assert_eq!(middle(&[1.0, 2.0, 3.0], 10.0), 2.0);
        // The wild one is taken back to three times the noise above the median.
        let values = [0.0, 0.0, 0.0, 0.0, 1e9];
        assert!((middle(&values, 0.1) - 0.3 / 5.0).abs() < 1e-9);
        assert!(middle(&[], 0.1).is_nan());
    }

    #[test]
    fn blocks_are_the_pairs_of_their_groups() {
        let label = [0, 0, 1, 1, 1];
        let mut square = symmetric(5, |i, j| [[1.0, 5.0], [5.0, 3.0]][label[i]][label[j]]);
        square.set(0, 2, f64::NAN);
        let blocks = Blocks::of(&square, 0.1, &label);
        assert_eq!((blocks.count, blocks.cells(0, 0), blocks.cells(0, 1), blocks.cells(1, 1)), (2, 1.0, 5.0, 3.0));
        assert_eq!((blocks.cells(1, 0), blocks.middle(1, 0)), (5.0, blocks.middle(0, 1)));
        assert_eq!((blocks.middle(0, 0), blocks.middle(0, 1), blocks.middle(1, 1)), (1.0, 5.0, 3.0));
    }

    #[test]
    fn parts_that_are_joined_are_as_if_they_had_been_one() {
        let value = |i: usize, j: usize| ((i * 7 + j * 13) % 11) as f64;
        let square = symmetric(9, value);
        let mut joined = Blocks::of(&square, 1.0, &[0, 0, 1, 1, 2, 2, 3, 3, 3]);
        joined.join(&[0, 1, 2, 3], 0, 2);
        joined.join(&[0, 1, 3], 3, 1);
        let whole = Blocks::of(&square, 1.0, &[0, 0, 1, 1, 0, 0, 1, 1, 1]);
        for ((a, b), (g, h)) in [((0, 0), (0, 0)), ((0, 3), (0, 1)), ((3, 3), (1, 1))] {
            assert_eq!(joined.cells(a, b), whole.cells(g, h));
            assert!((joined.middle(a, b) - whole.middle(g, h)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_misfit_is_of_the_shape_alone() {
        let alike = [(5.0, 1.0, false), (5.0, 2.0, false), (5.0, 3.0, false)];
        assert!(misfit(&alike) < 1e-12);
        // About the mean 2: 1, 0 and 1, each of weight 4.
        assert!((misfit(&[(1.0, 4.0, false), (2.0, 4.0, false), (3.0, 4.0, false)]) - 8.0).abs() < 1e-12);
        assert_eq!(misfit(&[]), 0.0);
    }

    #[test]
    fn few_cells_do_not_decide() {
        let few = misfit(&[(1.0, 100.0, false), (1.0, 100.0, false), (9.0, 100.0, true)]);
        assert!((few - MOST_OF_FEW).abs() < 1e-12);
        // Unless there is nothing else: then they say where the shape is, but no more.
        let only = misfit(&[(0.0, 1.0, true), (1.0, 1.0, true)]);
        assert!((only - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_host_fits_its_own_group_best() {
        let label: Vec<usize> = (0..24).map(|host| host / 12).collect();
        let mut wrong = label.clone();
        wrong[3] = 1;
        // Host 3 is slow as a whole, which is no matter of shape.
        let slow = |host: usize| if host == 3 { 2.0 } else { 0.0 };
        let square = symmetric(24, |i, j| if label[i] == label[j] { 0.0 } else { 1.0 } + slow(i) + slow(j));
        for labels in [label, wrong] {
            let mut cost = [0.0; 2];
            let blocks = Blocks::of(&square, 0.05, &labels);
            add_misfit(square.row(3), &blocks, &labels, Some(labels[3]), &mut cost);
            assert!(cost[0] + 50.0 < cost[1], "{labels:?} {cost:?}");
        }
    }
}

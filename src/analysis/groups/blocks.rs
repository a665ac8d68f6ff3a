//! Middles of blocks of cells between groups, and how well a shape fits them.
//!
//! In: a [`Square`] and the group of every host. Out: [`Blocks`], sums of squares in units of noise.

use super::Band;
use crate::analysis::square::Square;

/// The blocks between parts of one square: their cells and a middle that a few outliers cannot move.
pub(super) struct Blocks {
    pub count: usize,
    pub noise: f64,
    /// `[part * count + part]`; only where the first part is not the larger number.
    cells: Vec<Vec<f32>>,
    /// How many they are, `[part * count + part]`.
    number: Vec<f64>,
    /// `[part * count + part]`.
    middle: Vec<f64>,
}

impl Blocks {
    pub fn of(square: &Square, noise: f64, label: &[usize]) -> Self {
        let count = label.iter().max().map_or(0, |last| last + 1);
        let (cells, number) = (vec![Vec::new(); count * count], vec![0.0; count * count]);
        let mut blocks = Self { count, noise, cells, number, middle: vec![f64::NAN; count * count] };
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
        let cells = &mut self.cells[g.min(h) * self.count + g.max(h)];
        let (middle, number) = (middle(cells, self.noise), cells.len() as f64);
        for place in [g * self.count + h, h * self.count + g] {
            (self.middle[place], self.number[place]) = (middle, number);
        }
    }

    /// Middles toward every part, and numbers of cells, `[part]`.
    pub fn row(&self, part: usize) -> (&[f64], &[f64]) {
        let of_part = part * self.count..(part + 1) * self.count;
        (&self.middle[of_part.clone()], &self.number[of_part])
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

/// Mean of values after outliers were taken back to three times the noise; NaN if there are none. They are reordered.
pub(super) fn middle(values: &mut [f32], noise: f64) -> f64 {
    let count = values.len() as f64;
    if values.len() < 3 {
        return values.iter().copied().map(f64::from).sum::<f64>() / count;
    }
    let place = values.len() / 2;
    let centre = f64::from(*values.select_nth_unstable_by(place, f32::total_cmp).1);
    values.iter().map(|value| f64::from(*value).clamp(centre - 3.0 * noise, centre + 3.0 * noise)).sum::<f64>() / count
}

/// By how much the values of two parts may differ for no reason of structure: standard deviation, `ln(ratio)`.
pub(super) const LEAST_DIFFERENCE: f64 = 0.01;

/// Weight of the difference of the means of so many cells with this variance: one over its own variance.
pub(super) fn weight(variance: f64, cells: f64, others: f64) -> f64 {
    let both = cells * others;
    both / (variance * (cells + others) + LEAST_DIFFERENCE * LEAST_DIFFERENCE * both)
}

/// Largest share of a column of two cells or less in a sum of squares: one outlier must not decide.
pub(super) const MOST_OF_FEW: f64 = 2.0;

/// Sum of squared differences of two shapes in units of noise. Each column has a difference, its weight, and whether it
/// rests on few cells: then it has no say in where the others are, unless there is nothing else.
pub(super) fn misfit(columns: &[(f64, f64, bool)]) -> f64 {
    let ((mut weight_of_few, mut sum_of_few), (mut weight_of_many, mut sum_of_many)) = ((0.0, 0.0), (0.0, 0.0));
    for &(value, weight, is_few) in columns {
        let few = if is_few { weight } else { 0.0 };
        let many = weight - few;
        (weight_of_few, sum_of_few) = (weight_of_few + few, sum_of_few + few * value);
        (weight_of_many, sum_of_many) = (weight_of_many + many, sum_of_many + many * value);
    }
    let shift = match weight_of_many > 0.0 {
        true => sum_of_many / weight_of_many,
        false if weight_of_few > 0.0 => sum_of_few / weight_of_few,
        false => return 0.0,
    };
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
    let of_host = toward_parts(row, label, blocks);
    let variance = blocks.noise * blocks.noise;
    let mut columns: Vec<(f64, f64, bool)> = Vec::with_capacity(count);
    for (group, cost) in cost.iter_mut().enumerate() {
        let (middles, numbers) = blocks.row(group);
        let known = middles.iter().zip(numbers);
        columns.clear();
        columns.extend(of_host.iter().zip(known).filter_map(|(&(value, cells), (middle, number))| {
            // The host's own cells are no evidence for their own block.
            let (others, share) = match own == Some(group) {
                true => (number - cells, (number - cells) / number),
                false => (*number, 1.0),
            };
            if cells == 0.0 || others < 1.0 {
                return None;
            }
            Some(((value - middle) / share, weight(variance, cells, others), cells.min(others) < 3.0))
        }));
        *cost += misfit(&columns);
    }
}

/// Middle of a host's row toward each part, and the number of its cells there, `[part]`.
fn toward_parts(row: &[f32], label: &[usize], blocks: &Blocks) -> Vec<(f64, f64)> {
    let known = || row.iter().zip(label).filter(|(value, _)| !value.is_nan());
    // Sorted by part: where each one ends, and then, when all its cells are in their places, where it begins.
    let mut ends = vec![0; blocks.count + 1];
    known().for_each(|(_, part)| ends[*part] += 1);
    (0..blocks.count).for_each(|part| ends[part + 1] += ends[part]);
    let mut cells = vec![0.0; ends[blocks.count]];
    for (value, part) in known() {
        ends[*part] -= 1;
        cells[ends[*part]] = *value;
    }
    let of_part = |bounds: &[usize]| {
        let cells = &mut cells[bounds[0]..bounds[1]];
        (middle(cells, blocks.noise), cells.len() as f64)
    };
    ends.windows(2).map(of_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::drawn::symmetric;

    #[test]
    fn a_middle_is_a_mean_that_wild_values_cannot_move() {
        assert_eq!(middle(&mut [1.0, 2.0], 0.1), 1.5);
        assert_eq!(middle(&mut [1.0, 2.0, 3.0], 10.0), 2.0);
        // The outlier is taken back to three times the noise above the median.
        let mut values = [0.0, 0.0, 0.0, 0.0, 1e9];
        assert!((middle(&mut values, 0.1) - 0.3 / 5.0).abs() < 1e-9);
        assert!(middle(&mut [], 0.1).is_nan());
    }

    #[test]
    fn blocks_are_the_pairs_of_their_groups() {
        let label = [0, 0, 1, 1, 1];
        let mut square = symmetric(5, |i, j| [[1.0, 5.0], [5.0, 3.0]][label[i]][label[j]]);
        square.set(0, 2, f64::NAN);
        let blocks = Blocks::of(&square, 0.1, &label);
        assert_eq!(blocks.count, 2);
        assert_eq!(blocks.row(0), (&[1.0, 5.0][..], &[1.0, 5.0][..]));
        assert_eq!(blocks.row(1), (&[5.0, 3.0][..], &[5.0, 3.0][..]));
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
            let ((middle, cells), (expected, expected_cells)) = (joined.row(a), whole.row(g));
            assert_eq!(cells[b], expected_cells[h]);
            assert!((middle[b] - expected[h]).abs() < 1e-9);
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

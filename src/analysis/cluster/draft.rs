//! From classes of pairs to values: every class becomes one value per length, what it does not fit an exception.

use std::ops::Range;

use super::{Error, classes::NO_CLASS, scale};
use crate::record::{Exception, Matrix, NO_SET, Part, Run, Statistic, Tolerance};

/// Members of a class from which its median is estimated before the mean is taken.
const MIDDLE_OF: usize = 255;

/// A range is cut where it has this many exceptions: they are in memory until it ends.
const MOST_EXCEPTIONS: usize = 1 << 21;

/// How values become the values of classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) tolerance: Tolerance,
    /// Pairs of smaller classes keep their values.
    pub(super) min_cluster: usize,
}

/// Reads every matrix of the range once and hands over one part, or several where there are too many exceptions.
pub(super) fn draft(
    run: &dyn Run,
    statistic: Statistic,
    range: &Range<usize>,
    classes: Vec<u32>,
    rule: Rule,
    emit: &mut dyn FnMut(Part) -> Result<(), Error>,
) -> Result<(), Error> {
    let ranks = run.ranks();
    let mut matrix = Matrix::missing(ranks);
    let mut drafting: Option<Drafting> = None;
    let mut classes = Some(classes);
    for length in range.clone() {
        run.read_rows(statistic, length, 0..ranks, matrix.values_mut())?;
        let drafting = drafting.get_or_insert_with(|| {
            let classes = with_unplaced(classes.take().unwrap_or_default(), &matrix);
            Drafting::new(without_small(classes, rule.min_cluster), length)
        });
        drafting.add(matrix.values(), rule);
        if drafting.exceptions.len() > MOST_EXCEPTIONS && length + 1 < range.end {
            emit(drafting.part())?;
        }
    }
    drafting.map_or(Ok(()), |mut drafting| if drafting.count > 0 { emit(drafting.part()) } else { Ok(()) })
}

/// Pairs of no class that are there become one, in which zeros meet; those that are missing stay without.
fn with_unplaced(mut classes: Vec<u32>, first: &Matrix) -> Vec<u32> {
    let next = class_count(&classes) as u32;
    for (class, value) in classes.iter_mut().zip(first.values()) {
        if *class == NO_CLASS {
            *class = if value.is_nan() { NO_SET } else { next };
        }
    }
    classes
}

/// Pairs of classes with fewer than `min_cluster` pairs are in none.
fn without_small(mut classes: Vec<u32>, min_cluster: usize) -> Vec<u32> {
    let mut sizes = vec![0usize; class_count(&classes)];
    classes.iter().filter(|class| **class != NO_SET).for_each(|class| sizes[*class as usize] += 1);
    let small = |class: u32| class != NO_SET && sizes[class as usize] < min_cluster;
    classes.iter_mut().filter(|class| small(**class)).for_each(|class| *class = NO_SET);
    classes
}

fn class_count(classes: &[u32]) -> usize {
    classes.iter().filter(|class| **class != NO_SET).max().map_or(0, |last| *last as usize + 1)
}

struct Drafting {
    classes: Vec<u32>,
    /// Cells from which the median of every class is estimated, `[class]`.
    looks: Vec<Vec<u32>>,
    first: usize,
    count: usize,
    /// `[length][class]`.
    values: Vec<f64>,
    exceptions: Vec<Exception>,
}

impl Drafting {
    fn new(classes: Vec<u32>, first: usize) -> Self {
        let count = class_count(&classes);
        let mut members = vec![0usize; count];
        classes.iter().filter(|class| **class != NO_SET).for_each(|class| members[*class as usize] += 1);
        let mut looks = vec![Vec::new(); count];
        let mut seen = vec![0usize; count];
        for (cell, &class) in classes.iter().enumerate().filter(|(_, class)| **class != NO_SET) {
            let class = class as usize;
            if seen[class].is_multiple_of(members[class].div_ceil(MIDDLE_OF)) {
                looks[class].push(cell as u32);
            }
            seen[class] += 1;
        }
        Self { classes, looks, first, count: 0, values: Vec::new(), exceptions: Vec::new() }
    }

    /// Takes the matrix of the next length.
    fn add(&mut self, matrix: &[f64], rule: Rule) {
        let tolerance = rule.tolerance;
        let middles: Vec<f64> = self.looks.iter().map(|cells| middle(cells, matrix)).collect();
        // Summing distances from the middle keeps the mean of equal values exact.
        let mut sums = vec![(0.0f64, 0u32); middles.len()];
        for (&class, &value) in self.classes.iter().zip(matrix).filter(|(class, _)| **class != NO_SET) {
            let middle = middles[class as usize];
            if tolerance.accepts(value, middle) && middle.is_finite() {
                let sum = &mut sums[class as usize];
                *sum = (sum.0 + (value - middle), sum.1 + 1);
            }
        }
        let means: Vec<f64> = middles
            .iter()
            .zip(&sums)
            .map(|(middle, (sum, n))| if *n > 1 { middle + sum / f64::from(*n) } else { *middle })
            .map(|mean| scale::round(mean, rule.tolerance))
            .collect();
        for (cell, (&class, &value)) in self.classes.iter().zip(matrix).enumerate() {
            let decoded = if class == NO_SET { f64::NAN } else { means[class as usize] };
            if !tolerance.accepts(value, decoded) {
                self.exceptions.push(Exception { length: self.count as u32, cell: cell as u32, value });
            }
        }
        self.values.extend(means);
        self.count += 1;
    }

    /// What was taken so far; drafting goes on behind it.
    fn part(&mut self) -> Part {
        let classes = self.looks.len();
        let transposed = (0..classes).flat_map(|class| (0..self.count).map(move |length| length * classes + class));
        let part = Part {
            lengths: self.first..self.first + self.count,
            sets: self.classes.clone(),
            values: transposed.map(|place| self.values[place]).collect(),
            exceptions: std::mem::take(&mut self.exceptions),
        };
        self.first += self.count;
        self.count = 0;
        self.values.clear();
        part
    }
}

/// The lower median of some cells, a value that one of them has; NaN where all are missing.
fn middle(cells: &[u32], matrix: &[f64]) -> f64 {
    let mut values: Vec<f64> =
        cells.iter().map(|cell| matrix[*cell as usize]).filter(|value| !value.is_nan()).collect();
    if values.is_empty() {
        return f64::NAN;
    }
    let place = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

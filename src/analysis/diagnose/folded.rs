//! Runs as the detector sees them: hosts instead of ranks, logarithms instead of seconds, and each pair of hosts split
//! into what both directions have in common and what tells them apart.
//!
//! In: the median of every cell, read length by length. Out: [`Folded`]. A fault that multiplies a time becomes a term
//! of a sum here; whatever the network's structure does to both directions alike is in one half only.

use rayon::prelude::*;

use crate::{
    analysis::square::Square,
    record::{BoxError, Run, Statistic},
    stats::median,
    units::{Bytes, Hosts, Rank},
};

/// One mode of a run by hosts.
#[derive(Clone, Debug)]
pub struct Folded {
    /// Names, `[host]`.
    pub names: Vec<String>,
    /// Message lengths, ascending.
    pub lengths: Vec<Bytes>,
    /// Median over all pairs of hosts, seconds, `[length]`.
    pub level: Vec<f64>,
    /// What both directions of a pair have in common: the mean of their `ln(time / level)`; symmetric; `[length]`.
    pub mean: Vec<Square>,
    /// What tells them apart: half the difference of their `ln(time / level)`, row minus column; antisymmetric;
    /// `[length]`. Missing where one direction is.
    pub half: Vec<Square>,
    /// Source and destination of pairs that were measured in this direction only, whose mean is no mean; `[length]`.
    pub one_way: Vec<Vec<(usize, usize)>>,
}

impl Folded {
    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.names.len()
    }

    /// Of the scatter of samples: deviation in units of the median, its logarithm. `None` where the run has no deviations
    /// or all are 0.
    pub fn read_scatter(run: &dyn Run, is_left_out: &[bool]) -> Result<Option<Self>, BoxError> {
        if ![Statistic::Median, Statistic::Deviation].iter().all(|statistic| run.statistics().contains(statistic)) {
            return Ok(None);
        }
        let mut folded = Self::read(run, Statistic::Deviation, is_left_out)?;
        let median = Self::read(run, Statistic::Median, is_left_out)?;
        for (scatter, time) in folded.mean.iter_mut().zip(&median.mean).chain(folded.half.iter_mut().zip(&median.half))
        {
            scatter.subtract(time);
        }
        let cells: usize = folded.mean.iter().map(|mean| mean.upper().count()).sum();
        Ok((cells > 0).then_some(folded))
    }

    /// Of a statistic of `run`, without the ranks for which `is_left_out` (their hosts keep the others).
    pub fn read(run: &dyn Run, statistic: Statistic, is_left_out: &[bool]) -> Result<Self, BoxError> {
        let hosts = &run.header().hosts;
        let count = hosts.count();
        let (mut level, mut mean, mut half, mut one_way) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut values = vec![f64::NAN; run.ranks() * run.ranks()];
        for index in 0..run.lengths().len() {
            run.read_rows(statistic, index, 0..run.ranks(), &mut values)?;
            let (middle, logarithms) = fold(&values, hosts, is_left_out);
            let (of_both, of_one) = split(&logarithms, count);
            level.push(middle);
            mean.push(of_both);
            half.push(of_one);
            one_way.push(measured_one_way(&logarithms));
        }
        Ok(Self { names: hosts.names().to_vec(), lengths: run.lengths().to_vec(), level, mean, half, one_way })
    }

    /// This run in units of another one of the same hosts, length by length; levels are this run's. `None` where they share
    /// no length.
    pub fn relative_to(&self, base: &Self) -> Option<Self> {
        let mut relative = Self {
            names: self.names.clone(),
            lengths: vec![],
            level: vec![],
            mean: vec![],
            half: vec![],
            one_way: vec![],
        };
        for (index, length) in self.lengths.iter().enumerate() {
            let Some(other) = base.lengths.iter().position(|other| other == length) else { continue };
            relative.lengths.push(*length);
            relative.level.push(self.level[index]);
            let difference = |own: &Square, base: &Square| {
                let mut square = own.clone();
                square.subtract(base);
                square
            };
            relative.mean.push(difference(&self.mean[index], &base.mean[other]));
            relative.half.push(difference(&self.half[index], &base.half[other]));
            relative.one_way.push(self.one_way[index].clone());
        }
        (!relative.lengths.is_empty()).then_some(relative)
    }

    /// `ln(time / level)` from one host to another.
    pub fn from_to(&self, length: usize, source: usize, destination: usize) -> f64 {
        let half = self.half[length].at(source, destination);
        self.mean[length].at(source, destination) + if half.is_nan() { 0.0 } else { half }
    }
}

/// The median time between hosts, and `ln(time / median)` of every ordered pair of hosts: the middle one of the pairs of
/// their ranks.
fn fold(values: &[f64], hosts: &Hosts, is_left_out: &[bool]) -> (f64, Square) {
    let (ranks, count) = (hosts.ranks(), hosts.count());
    let mut square = Square::missing(count);
    let is_there = |rank: &&Rank| !is_left_out[**rank];
    square.rows_mut().enumerate().for_each(|(source, row)| {
        let mut cells = Vec::new();
        for (destination, value) in row.iter_mut().enumerate().filter(|(destination, _)| *destination != source) {
            cells.clear();
            for &from in hosts.ranks_of(source).iter().filter(is_there) {
                let times = hosts.ranks_of(destination).iter().filter(is_there).map(|&to| values[from * ranks + to]);
                cells.extend(times.filter(|time| *time > 0.0 && time.is_finite()).map(f64::ln));
            }
            *value = if cells.len() == 1 { cells[0] as f32 } else { median(&mut cells) as f32 };
        }
    });
    let mut present: Vec<f32> =
        (0..count).flat_map(|host| square.row(host)).copied().filter(|value| !value.is_nan()).collect();
    if present.is_empty() {
        return (f64::NAN, square);
    }
    let half = present.len() / 2;
    let middle = *present.select_nth_unstable_by(half, f32::total_cmp).1;
    square.rows_mut().for_each(|row| row.iter_mut().for_each(|value| *value -= middle));
    (f64::from(middle).exp(), square)
}

/// Pairs that were measured in this direction only.
fn measured_one_way(logarithms: &Square) -> Vec<(usize, usize)> {
    let pairs = (0..logarithms.side()).flat_map(|i| (0..logarithms.side()).map(move |j| (i, j)));
    pairs.filter(|&(i, j)| !logarithms.at(i, j).is_nan() && logarithms.at(j, i).is_nan()).collect()
}

/// What both directions have in common, and what tells them apart.
fn split(logarithms: &Square, count: usize) -> (Square, Square) {
    let (mut mean, mut half) = (Square::missing(count), Square::missing(count));
    mean.rows_mut().zip(half.rows_mut()).enumerate().for_each(|(i, (mean, half))| {
        for j in (0..count).filter(|j| *j != i) {
            let (there, back) = (logarithms.row(i)[j], logarithms.row(j)[i]);
            half[j] = (there - back) / 2.0;
            mean[j] = match (there.is_nan(), back.is_nan()) {
                (false, false) => (there + back) / 2.0,
                (true, _) => back,
                (_, true) => there,
            };
        }
    });
    (mean, half)
}

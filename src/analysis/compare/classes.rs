//! Pairs by where their ends are: on one host, or on two.
//!
//! In: two runs. Out: how long pairs of each class take in both ([`ClassChange`]), for runs whose hosts are not the
//! same, and by how much pairs inside hosts changed, host by host.

use super::{join::Joined, shifts::Shift};
use crate::{
    record::{BoxError, Run, Statistic},
    stats::{median, median_of, quantile},
    units::Bytes,
};

/// The quantiles of a [`ClassChange`], as parts of 1.
pub const LEVELS: [f64; 3] = [0.05, 0.5, 0.95];

/// How long pairs of a class take in both runs at one length.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassChange {
    /// Whether both ranks of a pair are on one host, or on different ones.
    pub is_inside_hosts: bool,
    /// In the base run.
    pub length: Bytes,
    /// Seconds in the base run, `[level]` as in [`LEVELS`].
    pub base: [f64; 3],
    /// Seconds in the new run, `[level]`.
    pub new: [f64; 3],
}

/// All classes that both runs have, by class and length.
pub(super) fn compare(
    base: &dyn Run,
    new: &dyn Run,
    statistic: Statistic,
    joined: &Joined,
) -> Result<Vec<ClassChange>, BoxError> {
    let mut changes = Vec::new();
    for length in &joined.lengths {
        let base = quantiles(base, statistic, length.index.0)?;
        let new = quantiles(new, statistic, length.index.1)?;
        for (class, is_inside_hosts) in [(0, true), (1, false)] {
            let (base, new) = (base[class], new[class]);
            if !base[1].is_nan() && !new[1].is_nan() {
                changes.push(ClassChange { is_inside_hosts, length: length.base, base, new });
            }
        }
    }
    changes.sort_by_key(|change| (change.is_inside_hosts, change.length));
    Ok(changes)
}

/// Quantiles of pairs inside hosts and of those between them; NaN where there is none.
fn quantiles(run: &dyn Run, statistic: Statistic, length: usize) -> Result<[[f64; 3]; 2], BoxError> {
    let hosts = &run.header().hosts;
    let matrix = run.matrix(statistic, length)?;
    let mut classes = [Vec::new(), Vec::new()];
    for source in 0..run.ranks() {
        for (destination, value) in matrix.row(source).iter().enumerate().filter(|(other, _)| *other != source) {
            classes[usize::from(hosts.host_of(source) != hosts.host_of(destination))].push(*value);
        }
    }
    Ok(classes.map(|mut values| LEVELS.map(|level| quantile(&mut values, level))))
}

/// Pairs inside hosts, over the hosts that the runs share.
pub(super) struct InsideHosts {
    /// Medians in the base run, seconds, `[length]`.
    pub base: Vec<f64>,
    /// `[length]`.
    pub shift: Vec<Shift>,
    /// `ln(new / base)`, `[length][host]`; NaN where a host has none.
    of_host: Vec<Vec<f64>>,
}

impl InsideHosts {
    /// `None` where hosts have one rank each, or nothing was measured inside.
    pub fn of(base: &dyn Run, new: &dyn Run, statistic: Statistic, joined: &Joined) -> Result<Option<Self>, BoxError> {
        let is_several = |run: &dyn Run| run.ranks() > run.header().hosts.count();
        if !is_several(base) || !is_several(new) {
            return Ok(None);
        }
        let mut inside = Self { base: Vec::new(), shift: Vec::new(), of_host: Vec::new() };
        for length in &joined.lengths {
            let mut base = medians(base, statistic, length.index.0, &joined.in_base)?;
            let new = medians(new, statistic, length.index.1, &joined.in_new)?;
            let of_host: Vec<f64> = base.iter().zip(&new).map(|(base, new)| (new / base).ln()).collect();
            inside.shift.push(Shift::of_hosts(of_host.clone()));
            inside.of_host.push(of_host);
            inside.base.push(median(&mut base));
        }
        let is_known = inside.shift.iter().any(|shift| shift.error.is_finite());
        Ok(is_known.then_some(inside))
    }

    /// `ln(new / base)` of every host in the middle of a range of lengths; NaN for hosts without pairs inside.
    pub fn of_hosts(&self, (first, last): (usize, usize)) -> Vec<f64> {
        let hosts = self.of_host.first().map_or(0, Vec::len);
        let middle = |host| median_of((first..=last).map(|length| self.of_host[length][host]), &mut Vec::new());
        (0..hosts).map(middle).collect()
    }
}

/// Median of the pairs inside each of `hosts`, seconds; NaN where there is none.
fn medians(run: &dyn Run, statistic: Statistic, length: usize, hosts: &[usize]) -> Result<Vec<f64>, BoxError> {
    let of_run = &run.header().hosts;
    let ranks = run.ranks();
    let mut row = vec![f64::NAN; ranks];
    let mut of_hosts = Vec::with_capacity(hosts.len());
    for &host in hosts {
        let mut values = Vec::new();
        for &source in of_run.ranks_of(host) {
            run.read_rows(statistic, length, source..source + 1, &mut row)?;
            let others = of_run.ranks_of(host).iter().filter(|other| **other != source);
            values.extend(others.map(|other| row[*other]).filter(|value| *value > 0.0));
        }
        of_hosts.push(median(&mut values));
    }
    Ok(of_hosts)
}

//! Compresses a run by stable regions: sets of pairs that behave alike over ranges of message lengths.
//!
//! In: one statistic of a [`Run`], read matrix by matrix, three times. Out: [`Part`]s of an archive, handed over as
//! they are finished, and the [`regions`] that people read. The rules are network_tests2's: at every length of a range
//! the values of a set lie within a tolerance; a pair leaves its set at a limited number of lengths; the set is
//! represented at each length by the mean of its members. Three things are added: the bound holds (what does not fit is
//! kept exactly), the tolerance is chosen from the run's own noise, and ranges begin where behaviour changes.
//!
//! 1. `survey`: noise, and curves of typical pairs; from these the tolerance and the ranges.
//! 2. For each range, `features` of all pairs, and `classes` of pairs with like features.
//! 3. `draft`: classes to values and exceptions, checked against the tolerance cell by cell.
//! 4. `encode`: the same values in few words.
//!
//! Where the tolerance is too fine for the noise, sets do not last over lengths: then every length is a range of its
//! own and sets are `bins` of values. Memory: some numbers per pair, whatever the number of lengths.

mod automatic;
mod bins;
mod classes;
mod draft;
mod encode;
mod features;
mod order;
mod ranges;
pub mod regions;
mod scale;
mod survey;

use std::ops::Range;

use crate::{
    record::{About, BoxError, Part, PartSink, Run, Statistic, Tolerance},
    units::Rank,
};

use self::{
    classes::Ball, draft::Rule, encode::Limits, features::Features, order::Alike, scale::Scale, survey::Survey,
};

/// Where nothing else is asked for, ranges have at least so many lengths: a line is fitted to each.
const MIN_RANGE: usize = 4;

/// Most ranges where sets last.
const MAX_RANGES: usize = 32;

/// The maps of the ranges take at most this share of the matrices (but 4 KiB at least): where pairs are mixed without
/// any order, each range costs a map.
const MAPS_SHARE: f64 = 1e-3;
const MAPS_LEAST: f64 = 4096.0;

/// Lengths at which maps are looked at beforehand.
const MAP_LOOKS: usize = 5;

/// Smaller changes of the times do not begin a range.
const CHANGE: f64 = 0.05;

/// With a tolerance of fewer standard deviations, exceptions would take more than values do.
const LASTING: f64 = 2.2;

/// Lengths differ in what is missing by more than this: sets of pairs do not last.
const PATCHY: f64 = 0.02;

/// Standard deviations of the noise of single cells that have to fit between a pair's level and the bound.
const MARGIN: f64 = 2.5;

/// What a set is.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How far decoded values may lie from the originals; `None`: chosen from the run's noise.
    pub tolerance: Option<Tolerance>,
    /// At so many lengths of a range a pair may leave its set; `None`: a quarter of them.
    pub max_exceptions: Option<usize>,
    /// The fewest lengths of a range; `None`: 4, or single lengths where sets do not last longer.
    pub min_range: Option<usize>,
    /// The fewest pairs of a set; other pairs are kept exactly.
    pub min_cluster: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: None, max_exceptions: None, min_range: None, min_cluster: 1 }
    }
}

/// A run that cannot be clustered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to cluster.
    #[error("no message length is finished: there is nothing to cluster")]
    NoLength,
    /// The statistic is not in the run.
    #[error("the run has no {asked}; it has {there}")]
    NoStatistic {
        /// What was asked for.
        asked: Statistic,
        /// What there is.
        there: String,
    },
    /// Cells cannot be numbered.
    #[error("{ranks} ranks are more than the 65535 that can be clustered")]
    TooManyRanks {
        /// Ranks of the run.
        ranks: usize,
    },
    /// The tolerance cannot be held.
    #[error("a tolerance of {0} cannot be held: it must be a number, 0 or more")]
    Tolerance(f64),
    /// The run cannot be read or the archive not be written.
    #[error(transparent)]
    Files(#[from] BoxError),
}

/// What was decided before the first part: all of the archive that does not depend on cells.
struct Decisions {
    tolerance: Tolerance,
    reason: String,
    ranges: Vec<Range<usize>>,
    /// Standard deviation of the noise of single cells, in tolerances.
    noise: f64,
    level: f64,
    /// Sets do not last: each range is one length, and sets are bins of values.
    bins: bool,
}

/// Clusters one statistic of a run. `begin` gets what the archive is about (its order of ranks is not known yet) and
/// returns what takes the parts; the order of ranks comes last, together with that.
pub fn cluster<S: PartSink>(
    run: &dyn Run,
    statistic: Statistic,
    options: &Options,
    begin: impl FnOnce(About) -> Result<S, BoxError>,
) -> Result<(S, Vec<Rank>), Error> {
    check(run, statistic, options)?;
    let decisions = decide(run, statistic, options)?;
    let about = About {
        header: run.header().clone(),
        statistic,
        lengths: run.lengths().to_vec(),
        tolerance: decisions.tolerance,
        reason: decisions.reason.clone(),
        order: (0..run.ranks()).collect(),
    };
    let mut sink = begin(about)?;
    let limits = Limits { max_exceptions: options.max_exceptions, min_cluster: options.min_cluster.max(1) };
    let rule = Rule { tolerance: decisions.tolerance, min_cluster: limits.min_cluster };
    let mut alike = Alike::new(run.ranks());
    let mut emit = |draft: Part| {
        let part = encode::encode(&draft, limits);
        drop(draft);
        alike.add(&part);
        Ok(sink.write_part(part)?)
    };
    for range in &decisions.ranges {
        let classes = classes_of(run, statistic, range, &decisions)?;
        draft::draft(run, statistic, range, classes, rule, &mut emit)?;
    }
    let order = alike.order();
    Ok((sink, order))
}

fn check(run: &dyn Run, statistic: Statistic, options: &Options) -> Result<(), Error> {
    if run.lengths().is_empty() || run.ranks() == 0 {
        return Err(Error::NoLength);
    }
    if !run.statistics().contains(&statistic) {
        let there: Vec<&str> = run.statistics().iter().map(|statistic| statistic.name()).collect();
        return Err(Error::NoStatistic { asked: statistic, there: there.join(", ") });
    }
    if run.ranks() > usize::from(u16::MAX) {
        return Err(Error::TooManyRanks { ranks: run.ranks() });
    }
    match options.tolerance {
        Some(tolerance) if !tolerance.is_valid() => Err(Error::Tolerance(tolerance.size())),
        _ => Ok(()),
    }
}

/// Tolerance and ranges.
fn decide(run: &dyn Run, statistic: Statistic, options: &Options) -> Result<Decisions, Error> {
    let relative = !matches!(options.tolerance, Some(Tolerance::Absolute(_)));
    let survey = survey::survey(run, statistic, relative)?;
    let (tolerance, reason) = match options.tolerance {
        Some(tolerance) => (tolerance, "asked for".to_owned()),
        None => automatic::choose(run, statistic, &survey)?,
    };
    let noise = noise(&survey, tolerance);
    let single_lengths = options.min_range.is_none_or(|min| min <= 1);
    let bins = single_lengths && (noise * LASTING > 1.0 || survey.missing_now_and_then > PATCHY);
    let ranges = if bins {
        (0..run.lengths().len()).map(|length| length..length + 1).collect()
    } else {
        let max_ranges = most_ranges(run, statistic, tolerance, noise, &survey)?;
        let lengths: Vec<f64> = run.lengths().iter().map(|length| length.0 as f64).collect();
        let unit = match tolerance {
            Tolerance::Relative(share) => share.max(CHANGE),
            Tolerance::Absolute(limit) => (limit / survey.level.abs()).clamp(CHANGE, 1.0),
        };
        ranges::find(&lengths, &survey.curves, unit, options.min_range.unwrap_or(MIN_RANGE), max_ranges)
    };
    Ok(Decisions { tolerance, reason, ranges, noise, level: survey.level, bins })
}

/// Standard deviation of single cells' noise, in tolerances.
fn noise(survey: &Survey, tolerance: Tolerance) -> f64 {
    let scatter = survey.noise();
    let unit = match tolerance {
        Tolerance::Relative(share) => share.ln_1p(),
        Tolerance::Absolute(limit) => limit,
    };
    if scatter > 0.0 { scatter / unit } else { 0.0 }
}

/// How many ranges' maps are worth their place: a map takes about a byte for each cell that neither its neighbour above
/// nor the one to the left announces.
fn most_ranges(
    run: &dyn Run,
    statistic: Statistic,
    tolerance: Tolerance,
    noise: f64,
    survey: &Survey,
) -> Result<usize, Error> {
    let (ranks, lengths) = (run.ranks(), run.lengths().len());
    let scale = Scale::new(tolerance, survey.level);
    let differ = |a: f64, b: f64| (scale.of(a) - scale.of(b)).abs() > 1.0f64.max(4.0 * noise);
    let mut map_bytes = ranks as f64 / 8.0;
    for look in 0..MAP_LOOKS.min(lengths) {
        let matrix = run.matrix(statistic, look * lengths / MAP_LOOKS.min(lengths))?;
        let unexpected = |i: usize, j: usize| {
            let here = matrix[(i, j)];
            differ(here, matrix[(i - 1, j)]) && differ(here, matrix[(i, j - 1)])
        };
        let count: usize = (1..ranks).map(|i| (1..ranks).filter(|j| unexpected(i, *j)).count()).sum();
        map_bytes = map_bytes.max(count as f64);
    }
    let all_bytes = 8.0 * (ranks * ranks * lengths) as f64;
    Ok(((all_bytes * MAPS_SHARE).max(MAPS_LEAST) / map_bytes).clamp(1.0, MAX_RANGES as f64) as usize)
}

/// The class of every pair over a range.
fn classes_of(
    run: &dyn Run,
    statistic: Statistic,
    range: &Range<usize>,
    decisions: &Decisions,
) -> Result<Vec<u32>, Error> {
    if decisions.bins {
        return Ok(bins::bins(&run.matrix(statistic, range.start)?, decisions.tolerance));
    }
    let scale = Scale::new(decisions.tolerance, decisions.level);
    let features = Features::read(run, statistic, range, scale)?;
    // Noise that averaging over a segment has taken away from the features is still in the cells.
    let averaged = (range.len() / features.segments).max(1) as f64;
    let hidden = decisions.noise * (1.0 - 1.0 / averaged).sqrt();
    let radius = (1.0 - MARGIN * hidden).max(0.4) as f32;
    Ok(classes::classes(&features, Ball { radius }))
}

#[cfg(test)]
mod tests;

//! Hockney's model, t = alpha + beta s, per pair and per distance class, in pieces where the library changes its protocol.
//!
//! In: a run of pairs, whose medians are read twice, some rows at a time, and the groups that its hosts form. Out: per
//! class a curve of medians and the line through it in pieces; the pairs' own numbers go to the caller, piece by piece,
//! and their scatter is kept. Which hosts and pairs depart from it is what [`crate::analysis::diagnose`] finds. Round
//! trips count half.

use std::ops::Range;

use serde::Serialize;

use super::line::{Piecewise, Sums, Weights};
use crate::{
    analysis::topology::inferred::Inferred,
    plan::Mode,
    record::{BoxError, Run, Statistic},
    stats::{median, quantile},
    units::{Bytes, Rank, counted},
};

/// Cells that are held at a time, unless a single row has more.
const CELLS_AT_A_TIME: usize = 1 << 16;

/// Pairs that are equally far apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Class {
    /// Such as `inside a host`.
    pub name: &'static str,
    /// Ordered pairs.
    pub pairs: usize,
    /// `[length]`: median over its pairs in seconds; NaN where none was measured.
    pub seconds: Vec<f64>,
    /// The line through them.
    pub fit: Piecewise,
    /// Of the pairs' own alpha and beta, per piece: 5 %, 50 % and 95 % of the pairs.
    pub spread: Vec<Spread>,
}

/// How the numbers of pairs differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// 5 %, 50 %, 95 %, seconds.
    pub alpha: [f64; 3],
    /// 5 %, 50 %, 95 %, seconds per byte.
    pub beta: [f64; 3],
}

/// A pair's own line on one piece of its class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairLine {
    /// Source.
    pub source: Rank,
    /// Destination.
    pub destination: Rank,
    /// Number of its class.
    pub class: usize,
    /// Number of the piece.
    pub piece: usize,
    /// Seconds.
    pub alpha: f64,
    /// Seconds per byte.
    pub beta: f64,
}

/// The fit of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hockney {
    /// Finished lengths, bytes.
    pub lengths: Vec<u64>,
    /// Those that have pairs, the nearest first.
    pub classes: Vec<Class>,
}

/// Why a run has no such fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HockneyError {
    /// The mode is none of pairs.
    #[error(
        "the run's mode is {0}, in which all ranks take part at once: fits take a mode of pairs, such as one_to_one"
    )]
    Collective(Mode),
    /// One length gives no line.
    #[error(
        "the run has {} at which pairs were measured, and a line needs two: measure more, such as with --geometric 1:4M:2",
        counted(*_0, "finished length")
    )]
    Lengths(usize),
}

/// Who is how far from whom: `[0]` inside a host, `[1]` inside a group, `[2]` between groups.
pub struct Distances {
    host: Vec<usize>,
    group: Vec<Option<usize>>,
    several: bool,
}

const NAMES: [&str; 3] = ["inside a host", "inside a group", "between groups"];

impl Distances {
    /// As the data show them. Hosts that are near no group are far from all.
    pub fn of(run: &dyn Run) -> Result<Self, BoxError> {
        let hosts = &run.header().hosts;
        let inferred = Inferred::of(run)?;
        let group =
            inferred.as_ref().map_or_else(|| vec![Some(0); hosts.count()], |found| found.group_of(hosts.count()));
        let several = group.iter().any(|own| *own != group[0]);
        Ok(Self { host: (0..hosts.ranks()).map(|rank| hosts.host_of(rank)).collect(), group, several })
    }

    /// Number of a pair's class.
    pub fn class(&self, source: Rank, destination: Rank) -> usize {
        self.class_of_hosts(self.host[source], self.host[destination])
    }

    /// Number of a host's group; `None` where it is near no group.
    pub fn group_of(&self, host: usize) -> Option<usize> {
        self.group[host]
    }

    /// Number of the class of two hosts.
    pub fn class_of_hosts(&self, a: usize, b: usize) -> usize {
        match a == b {
            true => 0,
            false if !self.several => 1,
            false => 1 + usize::from(self.group[a].is_none() || self.group[a] != self.group[b]),
        }
    }

    /// Name of a class.
    pub fn name(&self, class: usize) -> &'static str {
        if class == 1 && !self.several { "between hosts" } else { NAMES[class] }
    }
}

impl Hockney {
    /// Fits the medians of a run; `each` takes the pairs' own lines.
    pub fn of(
        run: &dyn Run,
        distances: &Distances,
        mut each: impl FnMut(&PairLine) -> Result<(), BoxError>,
    ) -> Result<Self, BoxError> {
        let mode = run.header().mode;
        if mode.is_collective() {
            return Err(HockneyError::Collective(mode).into());
        }
        let share = if mode == Mode::SendRecvAndRecvSend { 0.5 } else { 1.0 };
        let lengths: Vec<u64> = run.lengths().iter().map(|length| length.0).collect();
        let curves = curves(run, distances, share)?;
        let measured = (0..lengths.len()).filter(|k| curves.iter().any(|curve| curve[*k] > 0.0)).count();
        if measured < 2 {
            return Err(HockneyError::Lengths(measured).into());
        }
        let fits = curves
            .each_ref()
            .map(|curve| Piecewise::fit(&lengths.iter().copied().zip(curve.iter().copied()).collect::<Vec<_>>()));
        let pairs = pair_lines(run, distances, share, &fits, &mut each)?;
        let mut classes = Vec::new();
        for (number, (fit, (seconds, (pairs, spread)))) in
            fits.into_iter().zip(curves.into_iter().zip(pairs)).enumerate()
        {
            if let Some(fit) = fit {
                classes.push(Class { name: distances.name(number), pairs, seconds, fit, spread });
            }
        }
        Ok(Self { lengths, classes })
    }

    /// The class of pairs that are farthest apart: what an operation over all hosts waits for.
    pub fn farthest(&self) -> Option<&Class> {
        self.classes.last()
    }
}

/// Calls `each` with source, destination and seconds of every pair of some rows of a length that was measured.
fn for_each_pair_of(
    run: &dyn Run,
    length: usize,
    rows: Range<Rank>,
    share: f64,
    mut each: impl FnMut(Rank, Rank, f64),
) -> Result<(), BoxError> {
    let ranks = run.ranks();
    let mut values = vec![f64::NAN; rows.len() * ranks];
    run.read_rows(Statistic::Median, length, rows.clone(), &mut values)?;
    for (place, value) in values.iter().enumerate() {
        let (source, destination) = (rows.start + place / ranks, place % ranks);
        if source != destination && *value > 0.0 {
            each(source, destination, share * value);
        }
    }
    Ok(())
}

/// All rows, some at a time.
fn chunks(ranks: usize) -> impl Iterator<Item = Range<Rank>> {
    let at_a_time = (CELLS_AT_A_TIME / ranks.max(1)).clamp(1, ranks.max(1));
    (0..ranks).step_by(at_a_time).map(move |first| first..(first + at_a_time).min(ranks))
}

/// Calls `each` with source, destination and seconds of every pair of a length that was measured.
pub fn for_each_pair(
    run: &dyn Run,
    length: usize,
    share: f64,
    mut each: impl FnMut(Rank, Rank, f64),
) -> Result<(), BoxError> {
    chunks(run.ranks()).try_for_each(|rows| for_each_pair_of(run, length, rows, share, &mut each))
}

/// `[class][length]`: medians.
fn curves(run: &dyn Run, distances: &Distances, share: f64) -> Result<[Vec<f64>; 3], BoxError> {
    let mut curves = [const { Vec::new() }; 3];
    for length in 0..run.lengths().len() {
        let mut values = [const { Vec::new() }; 3];
        for_each_pair(run, length, share, |i, j, value| values[distances.class(i, j)].push(value))?;
        curves.iter_mut().zip(&mut values).for_each(|(curve, values)| curve.push(median(values)));
    }
    Ok(curves)
}

type Pairs = (usize, Vec<Spread>);

/// Fits every pair on the pieces of its class. Per class: number of pairs, and how their numbers differ.
fn pair_lines(
    run: &dyn Run,
    distances: &Distances,
    share: f64,
    fits: &[Option<Piecewise>; 3],
    each: &mut dyn FnMut(&PairLine) -> Result<(), BoxError>,
) -> Result<[Pairs; 3], BoxError> {
    let ranks = run.ranks();
    // `[class][piece][alpha, beta]`.
    let mut found = fits.each_ref().map(|fit| {
        let pieces = fit.as_ref().map_or(0, |fit| fit.pieces.len());
        vec![[const { Vec::<f64>::new() }; 2]; pieces]
    });
    for rows in chunks(ranks) {
        let mut sums = vec![Sums::default(); rows.len() * ranks];
        for (length, Bytes(bytes)) in run.lengths().iter().enumerate() {
            let first = rows.start * ranks;
            for_each_pair_of(run, length, rows.clone(), share, |i, j, value| {
                sums[i * ranks + j - first].add(*bytes as f64, value, Weights::Relative);
            })?;
            let ended = |fit: &Piecewise| fit.pieces.iter().position(|piece| piece.last == *bytes);
            let ended = fits.each_ref().map(|fit| fit.as_ref().and_then(ended));
            for (place, sums) in sums.iter_mut().enumerate() {
                let (source, destination) = (rows.start + place / ranks, place % ranks);
                let class = distances.class(source, destination);
                let Some(piece) = ended[class].filter(|_| source != destination) else { continue };
                if let Some(line) = std::mem::take(sums).line() {
                    let (alpha, beta) = (line.start.value, line.per_byte.value);
                    each(&PairLine { source, destination, class, piece, alpha, beta })?;
                    let [alphas, betas] = &mut found[class][piece];
                    alphas.push(alpha);
                    betas.push(beta);
                }
            }
        }
    }
    Ok(found.map(|pieces| {
        let pairs = pieces.iter().map(|[alpha, _]| alpha.len()).max().unwrap_or(0);
        let three = |mut values: Vec<f64>| [0.05, 0.5, 0.95].map(|tau| quantile(&mut values, tau));
        let spread = pieces.into_iter().map(|[alpha, beta]| Spread { alpha: three(alpha), beta: three(beta) });
        (pairs, spread.collect())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Config, Plan, Sweep},
        record::{Cell, Header, MemoryRun, Provenance, State},
        stats::Summary,
        units::Hosts,
    };

    const LENGTHS: [u64; 14] =
        [0, 1, 16, 64, 256, 1024, 4096, 8192, 16_384, 65_536, 131_072, 262_144, 524_288, 1 << 20];

    /// A run of `mode` whose cells are what `seconds` says.
    fn run(hosts: &[&str], mode: Mode, seconds: impl Fn(Rank, Rank, u64) -> f64) -> MemoryRun {
        let config =
            Config { modes: vec![mode], sweep: Sweep::list(&LENGTHS.map(Bytes)).unwrap(), ..Config::default() };
        let plan = Plan::all(&config, &Hosts::new(hosts.iter().copied())).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let ranks = hosts.len();
        for length in LENGTHS {
            let cell = |k: usize| match (k / ranks, k % ranks) {
                (i, j) if i == j => Cell::zero(),
                (i, j) => Cell::measured(Summary::of(&mut [seconds(i, j, length)]), 1, State::Measured),
            };
            run.push(Bytes(length), (0..ranks * ranks).map(cell).collect());
        }
        run
    }

    fn fit(run: &MemoryRun) -> (Hockney, Vec<PairLine>) {
        let mut pairs = Vec::new();
        let distances = Distances::of(run).unwrap();
        let fitted = Hockney::of(run, &distances, |pair| {
            pairs.push(*pair);
            Ok(())
        });
        (fitted.unwrap(), pairs)
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 0.01
    }

    #[test]
    fn known_parameters_come_back_per_class_and_per_pair() {
        // Two ranks on each of six hosts; from 16 KiB on by rendezvous; one host at half of the bandwidth.
        let hosts = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"];
        let seconds = |i: usize, j: usize, s: u64| {
            let slow = if i / 2 != j / 2 && (i / 2 == 3 || j / 2 == 3) { 2.0 } else { 1.0 };
            match (i / 2 == j / 2, s < 16_384) {
                (true, _) => 3e-7 + 1e-10 * s as f64,
                (false, true) => 2e-6 + 4e-10 * slow * s as f64,
                (false, false) => 6e-6 + 1e-10 * slow * s as f64,
            }
        };
        let (fitted, pairs) = fit(&run(&hosts, Mode::OneToOne, seconds));
        let names: Vec<_> = fitted.classes.iter().map(|class| (class.name, class.pairs)).collect();
        assert_eq!(names, [("inside a host", 12), ("between hosts", 120)]);
        let inside = &fitted.classes[0].fit.pieces;
        assert!(inside.len() == 1 && is_near(inside[0].line.start.value, 3e-7), "{inside:?}");
        let between = &fitted.classes[1];
        assert_eq!(between.fit.steps().collect::<Vec<_>>(), [16_384], "{between:?}");
        assert!(pairs.len() == 12 + 2 * 120);
        for pair in pairs.iter().filter(|pair| pair.class == 1 && pair.piece == 1) {
            let slow = if pair.source / 2 == 3 || pair.destination / 2 == 3 { 2.0 } else { 1.0 };
            assert!(is_near(pair.alpha, 6e-6) && is_near(pair.beta, 1e-10 * slow), "{pair:?}");
        }
    }

    #[test]
    fn a_round_trip_counts_half_and_collective_modes_are_refused() {
        let (fitted, _) = fit(&run(&["a", "b", "c"], Mode::SendRecvAndRecvSend, |_, _, s| 4e-6 + 2e-10 * s as f64));
        let line = fitted.classes[0].fit.pieces[0].line;
        assert!(is_near(line.start.value, 2e-6) && is_near(line.per_byte.value, 1e-10), "{line:?}");
        let bcast = run(&["a", "b"], Mode::Bcast, |_, _, _| 1e-6);
        let error = Hockney::of(&bcast, &Distances::of(&bcast).unwrap(), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("one_to_one"), "{error}");
    }

    #[test]
    fn what_was_not_measured_is_not_fitted() {
        let one = run(&["a", "b"], Mode::OneToOne, |_, _, s| if s == 64 { 1e-6 } else { f64::NAN });
        let error = Hockney::of(&one, &Distances::of(&one).unwrap(), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("--geometric"), "{error}");
        let (fitted, pairs) =
            fit(&run(
                &["a", "b", "c"],
                Mode::OneToOne,
                |i, _, s| {
                    if i == 2 { f64::NAN } else { 1e-6 + 1e-9 * s as f64 }
                },
            ));
        assert_eq!((fitted.classes[0].pairs, pairs.len()), (4, 4));
    }
}

//! Predicted against measured: how far off, and what it would cost to believe the prediction.
//!
//! In: a model and a run of operations that its fit has not seen, but for patterns of an h-relation, of which every other
//! length and the largest P are held out. Out: [`Row`]s, their errors by operation, and the regret of the algorithm that
//! the model would choose.

use serde::Serialize;

use super::{logp::slowest, predict::Model, reduce::best_chains_by, relation::RelationFit};
use crate::{
    plan::operation::{Algorithm, Group, Operation},
    record::operations::Operations,
    stats::quantile,
    units::Rank,
};

/// One operation, number of processes and length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// As it is written.
    pub operation: String,
    /// P.
    pub procs: usize,
    /// Bytes.
    pub length: u64,
    /// What predicts it; empty where nothing does.
    pub model: &'static str,
    /// Seconds of the slowest process.
    pub predicted: Option<f64>,
    /// Seconds of the slowest process, median.
    pub measured: Option<f64>,
    /// How far off the common start may have been, seconds.
    pub skew: Option<f64>,
    /// Barnat's costs on a ring, a mesh, a hypercube; a reference only.
    pub references: [Option<f64>; 3],
    /// Kurnosov's formula as printed.
    pub printed: Option<f64>,
}

impl Row {
    /// ln(predicted / measured).
    pub fn error(&self) -> Option<f64> {
        Some((self.predicted? / self.measured?).ln()).filter(|error| error.is_finite())
    }

    /// Whether the start may have been as far off as the prediction is.
    pub fn may_be_skew(&self) -> bool {
        let (Some(predicted), Some(measured), Some(skew)) = (self.predicted, self.measured, self.skew) else {
            return false;
        };
        (predicted - measured).abs() <= skew
    }

    /// 100 (measured - predicted) / measured, as the papers print it.
    pub fn percent(&self) -> Option<f64> {
        Some(100.0 * (1.0 - self.predicted? / self.measured?))
    }
}

/// How far off the rows of one operation and model are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// As it is written; `all` for all together.
    pub operation: String,
    /// What predicts it.
    pub model: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Median of |ln(predicted / measured)|.
    pub median: f64,
    /// 90 % of it.
    pub ninety: f64,
    /// Largest.
    pub largest: f64,
    /// Median of the percent with their sign.
    pub percent: f64,
    /// Rows whose start may have been as far off as the prediction is.
    pub within_skew: usize,
}

/// What a choice by prediction costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regret {
    /// What is to be done: `reduce`, `bcast`, `alltoall`.
    pub task: &'static str,
    /// P.
    pub procs: usize,
    /// Bytes.
    pub length: u64,
    /// What the model chooses.
    pub chosen: String,
    /// What was fastest.
    pub best: String,
    /// Time of the chosen one over that of the fastest, less 1.
    pub regret: f64,
    /// Over that of the library, less 1; below 0: a gain.
    pub against_library: Option<f64>,
}

/// Numbers of chains of one P and length: the default 4, k* = ceil(sqrt(P-1)), and the predicted best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainChoice {
    /// P.
    pub procs: usize,
    /// Bytes.
    pub length: u64,
    /// k*.
    pub square_root: usize,
    /// k_opt by simulation.
    pub best: usize,
    /// Predicted seconds with 4, k*, k_opt.
    pub predicted: [f64; 3],
    /// Measured k with the least time, among those that were.
    pub measured_best: Option<usize>,
    /// Measured seconds with 4 and k*, over the least; `None` where that k was not measured.
    pub measured_over_best: [Option<f64>; 2],
}

/// How every process of the largest P was predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// As it is written.
    pub operation: String,
    /// P.
    pub procs: usize,
    /// Bytes.
    pub length: u64,
    /// Seconds, `[process]`.
    pub predicted: Vec<f64>,
    /// Seconds, `[process]`.
    pub measured: Vec<f64>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Accuracy {
    /// Every cell.
    pub rows: Vec<Row>,
    /// By operation and model, all together last.
    pub errors: Vec<Errors>,
    /// By task, P, length.
    pub regrets: Vec<Regret>,
    /// By P, length.
    pub chains: Vec<ChainChoice>,
    /// At the longest length.
    pub loads: Vec<Load>,
}

/// Most chains that are tried by simulation for one P and length.
const MOST_CHAINS: usize = 64;

/// Whether a length and a number of processes are kept from the fit of an h-relation.
fn is_held_out(run: &Operations, procs: usize, length: usize) -> bool {
    let largest = run.procs.len() > 1 && procs + 1 == run.procs.len();
    largest || length % 2 == 1
}

impl Accuracy {
    /// Of all operations of a run.
    pub fn of(run: &Operations, model: &Model) -> Self {
        let relation = RelationFit::of(run, |procs, length| !is_held_out(run, procs, length));
        let mut all = Self::default();
        for (number, operation) in run.operations.iter().enumerate() {
            for (procs, members) in run.members.iter().enumerate() {
                for (length, bytes) in run.lengths.iter().enumerate() {
                    let measured = run.measured(number, procs, length);
                    if !measured.is_there() {
                        continue;
                    }
                    let seconds = Some(measured.summary.median);
                    let skew = Some(measured.skew).filter(|skew| skew.is_finite());
                    let row = Row { measured: seconds, skew, ..predicted_row(model, *operation, members, bytes.0) };
                    let of_relation = relation
                        .as_ref()
                        .filter(|_| operation.algorithm.group() == Group::Relations)
                        .filter(|_| is_held_out(run, procs, length));
                    if let Some(relation) = of_relation {
                        let predicted = Some(relation.line.at(bytes.0 as f64).max(0.0));
                        all.rows.push(Row { model: "BSPWB", predicted, ..row.clone() });
                    }
                    all.rows.push(row);
                }
            }
        }
        all.errors = errors(&all.rows);
        all.regrets = regrets(run, model);
        all.chains = chains(run, model);
        all.loads = loads(run, model);
        all
    }
}

/// A row without anything measured.
pub fn predicted_row(model: &Model, operation: Operation, members: &[Rank], length: u64) -> Row {
    let predicted = model.times(operation, members, length).map(|times| slowest(&times));
    Row {
        operation: operation.to_string(),
        procs: members.len(),
        length,
        model: if predicted.is_some() { "LogGP" } else { "" },
        predicted,
        measured: None,
        skew: None,
        references: model.references(operation, members, length),
        printed: printed(model, operation, members, length),
    }
}

/// Kurnosov's formula with the mean overhead.
fn printed(model: &Model, operation: Operation, members: &[Rank], length: u64) -> Option<f64> {
    let (costs, way) = model.costs(members, length, false)?;
    let logp = super::reduce::Logp {
        overhead: (costs.send + costs.receive) / 2.0,
        latency: if members.len() > 1 { way(members.len() - 1, 0).latency } else { 0.0 },
        gap: costs.gap,
        reduce: costs.reduce,
        copy: costs.copy,
    };
    logp.printed(operation, members.len())
}

fn errors(rows: &[Row]) -> Vec<Errors> {
    let mut keys: Vec<(&str, &'static str)> = Vec::new();
    for row in rows.iter().filter(|row| row.error().is_some()) {
        let key = (row.operation.as_str(), row.model);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut models: Vec<&'static str> = keys.iter().map(|key| key.1).collect();
    models.sort_unstable();
    models.dedup();
    let of = |name: &str, model: &'static str, is_meant: &dyn Fn(&Row) -> bool| {
        let rows = || rows.iter().filter(|row| row.model == model && is_meant(row));
        let mut off: Vec<f64> = rows().filter_map(Row::error).map(f64::abs).collect();
        let mut percent: Vec<f64> = rows().filter_map(Row::percent).collect();
        Errors {
            operation: name.to_owned(),
            model,
            rows: off.len(),
            median: quantile(&mut off, 0.5),
            ninety: quantile(&mut off, 0.9),
            largest: quantile(&mut off, 1.0),
            percent: quantile(&mut percent, 0.5),
            within_skew: rows().filter(|row| row.may_be_skew()).count(),
        }
    };
    let single = keys.iter().map(|(name, model)| of(name, model, &|row| row.operation == *name));
    single.chain(models.iter().map(|model| of("all", model, &|_| true))).collect()
}

/// Algorithms that do the same.
const TASKS: [(&str, Algorithm, &[Algorithm]); 3] = [
    (
        "reduce",
        Algorithm::Reduce,
        &[
            Algorithm::ReduceBinomial,
            Algorithm::ReduceOrderedFirst,
            Algorithm::ReduceBinaryFirst,
            Algorithm::ReduceChainsShortFirst,
            Algorithm::ReduceChainsLongFirst,
        ],
    ),
    ("bcast", Algorithm::Bcast, &[Algorithm::BcastNaive, Algorithm::BcastHypercube]),
    ("alltoall", Algorithm::Alltoall, &[Algorithm::AlltoallPairwise]),
];

fn regrets(run: &Operations, model: &Model) -> Vec<Regret> {
    let mut found = Vec::new();
    for (task, library, algorithms) in TASKS {
        for (procs, members) in run.members.iter().enumerate() {
            for (length, bytes) in run.lengths.iter().enumerate() {
                let time = |number: usize| {
                    let measured = run.measured(number, procs, length);
                    measured.is_there().then_some(measured.summary.median)
                };
                let of_library = run.find(Operation::plain(library)).and_then(time);
                let own = run.operations.iter().enumerate().filter(|(_, own)| algorithms.contains(&own.algorithm));
                let own: Vec<(Operation, f64, f64)> = own
                    .filter_map(|(number, operation)| {
                        let predicted = slowest(&model.times(*operation, members, bytes.0)?);
                        Some((*operation, predicted, time(number)?))
                    })
                    .collect();
                // A choice is one among several.
                let Some(chosen) = own.iter().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| own.len() > 1) else {
                    continue;
                };
                let measured = own.iter().map(|(operation, _, time)| (operation.to_string(), *time));
                let all = measured.chain(of_library.map(|time| (Operation::plain(library).to_string(), time)));
                let Some((best, least)) = all.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
                found.push(Regret {
                    task,
                    procs: members.len(),
                    length: bytes.0,
                    chosen: chosen.0.to_string(),
                    best,
                    regret: chosen.2 / least - 1.0,
                    against_library: of_library.map(|time| chosen.2 / time - 1.0),
                });
            }
        }
    }
    found
}

fn chains(run: &Operations, model: &Model) -> Vec<ChainChoice> {
    let algorithm = Algorithm::ReduceChainsShortFirst;
    let measured: Vec<(usize, Operation)> =
        run.operations.iter().copied().enumerate().filter(|(_, own)| own.algorithm == algorithm).collect();
    let mut found = Vec::new();
    for (procs, members) in run.members.iter().enumerate() {
        for (length, bytes) in run.lengths.iter().enumerate() {
            let count = members.len();
            let times: Vec<(usize, f64)> = measured
                .iter()
                .map(|(number, operation)| (operation.chains(count), run.measured(*number, procs, length)))
                .filter(|(_, measured)| measured.is_there())
                .map(|(chains, measured)| (chains, measured.summary.median))
                .collect();
            if times.is_empty() {
                continue;
            }
            let Some(choice) = chain_choice(model, members, bytes.0) else { continue };
            let best = times.iter().min_by(|a, b| a.1.total_cmp(&b.1)).copied();
            let over = |wanted: usize| {
                let time = times.iter().find(|(chains, _)| *chains == wanted.min(count - 1).max(1))?.1;
                Some(time / best?.1)
            };
            found.push(ChainChoice {
                measured_best: best.filter(|_| times.len() > 1).map(|best| best.0),
                measured_over_best: [4, choice.square_root].map(over),
                ..choice
            });
        }
    }
    found
}

/// Numbers of chains without anything measured; `None` where nothing can be predicted.
pub fn chain_choice(model: &Model, members: &[Rank], length: u64) -> Option<ChainChoice> {
    let algorithm = Algorithm::ReduceChainsShortFirst;
    let procs = members.len();
    let (costs, way) = model.costs(members, length, false)?;
    let operation = |count: u32| Operation { algorithm, parameter: count };
    let time = |count: u32| Some(slowest(&model.times(operation(count), members, length)?));
    let (best, least) = best_chains_by(procs, MOST_CHAINS, algorithm, &costs, way);
    Some(ChainChoice {
        procs,
        length,
        square_root: operation(0).chains(procs),
        best,
        predicted: [time(4)?, time(0)?, least],
        measured_best: None,
        measured_over_best: [None; 2],
    })
}

fn loads(run: &Operations, model: &Model) -> Vec<Load> {
    let Some((procs, members)) = run.members.iter().enumerate().next_back() else { return Vec::new() };
    let of = |(number, operation): (usize, &Operation)| {
        if operation.algorithm.group() != Group::Reductions {
            return None;
        }
        let length = (0..run.lengths.len()).rfind(|length| run.measured(number, procs, *length).is_there())?;
        let bytes = run.lengths[length].0;
        let (predicted, measured) = (model.times(*operation, members, bytes)?, run.own(number, length).to_vec());
        Some(Load { operation: operation.to_string(), procs: members.len(), length: bytes, predicted, measured })
    };
    run.operations.iter().enumerate().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        analysis::model::loggp::{LogGp, tests::measured},
        record::Provenance,
        units::{Bytes, Hosts},
    };

    /// A run in which everything takes `factor` times what the model says, but for the library, which takes 1 s.
    fn case(factor: f64) -> (Operations, Model) {
        let fit = LogGp::from_parameters("L=6us,o=2us,g=4us,G=1e-9,gamma=1e-9".parse().unwrap());
        let hosts = Hosts::new((0..8).map(|host| format!("n{host}")));
        let model = Model { hosts: hosts.clone(), near: None, far: Some(fit), ways: None };
        let names = [
            "reduce",
            "reduce_binomial",
            "reduce_chains_short_first:k=1",
            "reduce_chains_short_first:k=4",
            "reduce_chains_short_first:k=sqrt",
            "exchange",
        ];
        let operations = names.iter().map(|name| name.parse().unwrap()).collect();
        let members = vec![vec![0, 1, 2, 3], (0..8).collect()];
        let lengths = vec![Bytes(8), Bytes(1024), Bytes(65_536), Bytes(1 << 20)];
        let mut run = Operations::new(hosts, operations, members, lengths, BTreeMap::new(), Provenance::default());
        for number in 0..run.operations.len() {
            for (procs, length) in (0..2).flat_map(|procs| (0..4).map(move |length| (procs, length))) {
                let times = model.times(run.operations[number], &run.members[procs], run.lengths[length].0);
                let seconds = times.map_or(1.0, |times| factor * slowest(&times));
                *run.measured_mut(number, procs, length) = measured(seconds);
            }
        }
        (run, model)
    }

    #[test]
    fn errors_are_those_of_logarithms() {
        let (run, model) = case(1.25);
        let found = Accuracy::of(&run, &model);
        let of = |name: &str, model: &str| {
            found.errors.iter().find(|errors| errors.operation == name && errors.model == model).unwrap()
        };
        let binomial = of("reduce_binomial", "LogGP");
        assert_eq!(binomial.rows, 8);
        assert!((binomial.median - 1.25f64.ln()).abs() < 1e-9 && (binomial.largest - 1.25f64.ln()).abs() < 1e-9);
        assert!((binomial.percent - 20.0).abs() < 1e-9);
        assert_eq!(of("all", "LogGP").rows, 5 * 8);
        // An exchange takes 1/2 h G + constants: fitted exactly by a line, at lengths and P that it has not seen.
        let relation = of("exchange", "BSPWB");
        assert!(relation.rows == 6 && relation.largest < 1e-6, "{relation:?}");
        assert!(!found.errors.iter().any(|errors| errors.operation == "reduce"));
    }

    #[test]
    fn a_right_choice_has_no_regret_and_gains_over_the_library() {
        let (mut run, model) = case(2.0);
        let regrets = Accuracy::of(&run, &model).regrets;
        assert_eq!(regrets.len(), 8);
        assert!(regrets.iter().all(|regret| regret.regret == 0.0 && regret.chosen == regret.best), "{regrets:?}");
        assert!(regrets.iter().all(|regret| regret.against_library.unwrap() < 0.0));
        // The pipeline becomes the fastest of all, and nobody could know.
        *run.measured_mut(2, 1, 3) = measured(1e-6);
        let worst =
            Accuracy::of(&run, &model).regrets.into_iter().max_by(|a, b| a.regret.total_cmp(&b.regret)).unwrap();
        assert_eq!((worst.best.as_str(), worst.procs, worst.length), ("reduce_chains_short_first:k=1", 8, 1 << 20));
        assert!(worst.regret > 1.0);
    }

    #[test]
    fn three_numbers_of_chains_are_compared() {
        let (run, model) = case(1.0);
        let chains = Accuracy::of(&run, &model).chains;
        assert_eq!(chains.len(), 8);
        let last = chains.last().unwrap();
        assert_eq!((last.procs, last.length, last.square_root), (8, 1 << 20, 3));
        assert!(last.predicted[2] <= last.predicted[0] && last.predicted[2] <= last.predicted[1], "{last:?}");
        assert!(last.measured_best.is_some() && last.measured_over_best.iter().all(Option::is_some), "{last:?}");
    }
}

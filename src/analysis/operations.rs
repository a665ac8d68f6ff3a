//! What measured operations say about choices: how many chains are best, what a tree over hosts saves, what reading an
//! array at once gains.
//!
//! In: a run of operations. Out: ratios of medians. Nothing is fitted or predicted here.

use crate::{
    plan::operation::{Algorithm, Operation, SQUARE_ROOT},
    record::operations::Operations,
    units::Bytes,
};

/// Kurnosov's choice against the best number of chains that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainSweep {
    /// Which order of chains.
    pub algorithm: Algorithm,
    /// Number of processes.
    pub procs: usize,
    /// Length of the vector.
    pub length: Bytes,
    /// Numbers of chains that were measured.
    pub measured: usize,
    /// k* = ceil(sqrt(P - 1)).
    pub square_root: usize,
    /// The k of the shortest time.
    pub best: usize,
    /// t(k*) / min over k of t(k).
    pub ratio: f64,
}

/// One operation against another one that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The operation.
    pub operation: Operation,
    /// What it is compared with.
    pub baseline: Operation,
    /// Number of processes.
    pub procs: usize,
    /// Length of the array.
    pub length: Bytes,
    /// The baseline's time over the operation's: above 1 where the operation is faster.
    pub speed_up: f64,
}

fn median(run: &Operations, operation: Operation, procs: usize, length: usize) -> Option<f64> {
    let median = run.measured(run.find(operation)?, procs, length).summary.median;
    (median > 0.0).then_some(median)
}

fn places(run: &Operations) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (procs, lengths) = (run.procs.len(), run.lengths.len());
    (0..procs).flat_map(move |procs| (0..lengths).map(move |length| (procs, length)))
}

/// The sweeps over numbers of chains in which k* and at least one other number were measured.
pub fn chain_sweeps(run: &Operations) -> Vec<ChainSweep> {
    let mut sweeps = Vec::new();
    for algorithm in [Algorithm::ReduceChainsShortFirst, Algorithm::ReduceChainsLongFirst] {
        let star = Operation { algorithm, parameter: SQUARE_ROOT };
        for (procs, length) in places(run) {
            let count = run.procs[procs];
            let of_algorithm = run.operations.iter().filter(|operation| operation.algorithm == algorithm);
            let mut times: Vec<(usize, f64)> = of_algorithm
                .filter_map(|operation| Some((operation.chains(count), median(run, *operation, procs, length)?)))
                .collect();
            // The same number may have been measured under two names.
            times.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            times.dedup_by_key(|(chains, _)| *chains);
            let own = times.iter().find(|(chains, _)| *chains == star.chains(count));
            let best = times.iter().min_by(|a, b| a.1.total_cmp(&b.1));
            if let (Some(own), Some(best), 2..) = (own, best, times.len()) {
                sweeps.push(ChainSweep {
                    algorithm,
                    procs: count,
                    length: run.lengths[length],
                    measured: times.len(),
                    square_root: own.0,
                    best: best.0,
                    ratio: own.1 / best.1,
                });
            }
        }
    }
    sweeps
}

/// Kulagin's claims: the tree over hosts against the linear reduction, element and preload against the whole array. For
/// comparison the tree also stands against a binomial tree over all processes, of one number, which adds nothing up
/// before.
pub fn comparisons(run: &Operations) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for &operation in &run.operations {
        let baseline = match operation.algorithm {
            Algorithm::BlockReduceCentral | Algorithm::BlockReduceDissemination => {
                Operation::plain(Algorithm::LinearReduce)
            }
            Algorithm::AccessElement | Algorithm::AccessPreload => {
                Operation { algorithm: Algorithm::AccessWhole, ..operation }
            }
            _ => continue,
        };
        for (procs, length) in places(run) {
            let times = (median(run, operation, procs, length), median(run, baseline, procs, length));
            if let (Some(own), Some(other)) = times {
                let (procs, length) = (run.procs[procs], run.lengths[length]);
                comparisons.push(Comparison { operation, baseline, procs, length, speed_up: other / own });
            }
        }
    }
    let binomial = Operation::plain(Algorithm::ReduceBinomial);
    let number = run.lengths.iter().position(|length| length.0 == size_of::<f64>() as u64);
    let operation = Operation::plain(Algorithm::BlockReduceDissemination);
    for (procs, length) in places(run).filter(|_| run.find(operation).is_some()) {
        let other = number.and_then(|number| median(run, binomial, procs, number));
        if let (Some(own), Some(other)) = (median(run, operation, procs, length), other) {
            let (procs, length) = (run.procs[procs], run.lengths[length]);
            comparisons.push(Comparison { operation, baseline: binomial, procs, length, speed_up: other / own });
        }
    }
    comparisons
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        record::{Provenance, operations::Measured},
        stats::Summary,
        units::Hosts,
    };

    /// Medians of operations on 5 processes at one length.
    fn run(times: &[(&str, f64)]) -> Operations {
        let hosts = Hosts::new(["a", "b", "c", "d", "e"]);
        let operations = times.iter().map(|(name, _)| name.parse().unwrap()).collect();
        let (members, lengths) = (vec![(0..5).collect()], vec![Bytes(8)]);
        let mut run = Operations::new(hosts, operations, members, lengths, BTreeMap::new(), Provenance::default());
        for (number, (_, median)) in times.iter().enumerate() {
            let summary = Summary { median: *median, ..Summary::ZERO };
            *run.measured_mut(number, 0, 0) = Measured { summary, samples: 1, damaged: 0, skew: 0.0 };
        }
        run
    }

    #[test]
    fn the_square_root_is_compared_with_the_best() {
        let names = ["sqrt", "1", "2", "4"].map(|k| format!("reduce_chains_short_first:k={k}"));
        let times: Vec<_> = names.iter().map(String::as_str).zip([3.0, 9.0, 3.5, 2.0]).collect();
        let sweeps = chain_sweeps(&run(&times));
        let expected = ChainSweep {
            algorithm: Algorithm::ReduceChainsShortFirst,
            procs: 5,
            length: Bytes(8),
            measured: 3,
            square_root: 2,
            best: 4,
            ratio: 1.5,
        };
        assert_eq!(sweeps, [expected]);
        assert_eq!(chain_sweeps(&run(&times[..1])), [], "nothing to compare with");
    }

    #[test]
    fn speed_ups_are_over_the_papers_baselines() {
        let run = run(&[
            ("linear_reduce", 4.0),
            ("block_reduce_dissemination", 2.0),
            ("access_whole:iterations=16", 9.0),
            ("access_preload:iterations=16", 3.0),
            ("access_preload:iterations=8", 1.0),
            ("reduce_binomial", 1.0),
        ]);
        let found: Vec<f64> = comparisons(&run).iter().map(|comparison| comparison.speed_up).collect();
        assert_eq!(found, [2.0, 3.0, 0.5], "there is no whole array with 8 iterations");
    }
}

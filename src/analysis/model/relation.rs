//! g and L of BSPWB and MPM, from the six patterns of an h-relation.
//!
//! In: a run of operations. Out: the line through T_avg(h), the mean over patterns of the mean over P (a mean of means),
//! and a slope per pattern and P: that all are alike is the hypothesis of the h-relation, and their spread says how far it
//! holds. Source: Roda, Rodriguez, Morales, Almeida; least squares in seconds, as there.

use serde::Serialize;

use super::{
    bsp::Relation,
    line::{Line, Weights},
};
use crate::{plan::operation::Group, record::operations::Operations};

/// One pattern with one number of processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pattern {
    /// Its operation.
    pub name: String,
    /// P.
    pub procs: usize,
    /// Seconds over bytes of h.
    pub line: Line,
}

/// The fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelationFit {
    /// Seconds over bytes of h.
    pub line: Line,
    /// Lengths h in bytes, the same for all patterns.
    pub lengths: Vec<u64>,
    /// By pattern, then P.
    pub patterns: Vec<Pattern>,
    /// Largest slope over smallest.
    pub spread: f64,
}

impl RelationFit {
    /// Of the lengths and numbers of processes that `keep` takes, by number. `None` where less than two lengths were
    /// measured with all patterns.
    pub fn of(run: &Operations, keep: impl Fn(usize, usize) -> bool) -> Option<Self> {
        let patterns: Vec<usize> = (0..run.operations.len())
            .filter(|number| run.operations[*number].algorithm.group() == Group::Relations)
            .collect();
        let time = |operation: usize, procs: usize, length: usize| {
            let measured = run.measured(operation, procs, length);
            (measured.is_there() && keep(procs, length)).then_some(measured.summary.median)
        };
        let all = 0..run.lengths.len();
        let of_pattern = |operation: usize| -> Vec<usize> {
            let has = |procs: &usize| all.clone().any(|length| time(operation, *procs, length).is_some());
            (0..run.procs.len()).filter(has).collect()
        };
        let patterns: Vec<(usize, Vec<usize>)> =
            patterns.into_iter().map(|operation| (operation, of_pattern(operation))).collect();
        let patterns: Vec<_> = patterns.into_iter().filter(|(_, procs)| !procs.is_empty()).collect();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let average = |length: usize| -> Option<f64> {
            let of = |(operation, procs): &(usize, Vec<usize>)| {
                let times: Option<Vec<f64>> = procs.iter().map(|procs| time(*operation, *procs, length)).collect();
                times.map(mean)
            };
            let means: Option<Vec<f64>> = patterns.iter().map(of).collect();
            means.filter(|means| !means.is_empty()).map(mean)
        };
        let points: Vec<(u64, f64)> =
            all.clone().filter_map(|length| Some((run.lengths[length].0, average(length)?))).collect();
        let floats: Vec<(f64, f64)> = points.iter().map(|(length, time)| (*length as f64, *time)).collect();
        let line = Line::fit(&floats, Weights::Equal)?;
        let slope = |operation: usize, procs: usize| {
            let points: Vec<(f64, f64)> = all
                .clone()
                .filter_map(|length| Some((run.lengths[length].0 as f64, time(operation, procs, length)?)))
                .collect();
            let line = Line::fit(&points, Weights::Equal)?;
            Some(Pattern { name: run.operations[operation].to_string(), procs: run.procs[procs], line })
        };
        let found: Vec<Pattern> = patterns
            .iter()
            .flat_map(|(operation, procs)| procs.iter().map(move |procs| (*operation, *procs)))
            .filter_map(|(operation, procs)| slope(operation, procs))
            .collect();
        let slopes = found.iter().map(|pattern| pattern.line.per_byte.value);
        let spread = slopes.clone().fold(f64::NAN, f64::max) / slopes.fold(f64::NAN, f64::min);
        let lengths = points.into_iter().map(|point| point.0).collect();
        Some(Self { line, lengths, patterns: found, spread })
    }

    /// g and L for packets of so many bytes.
    pub fn relation(&self, packet: u64) -> Relation {
        Relation { per_packet: self.line.per_byte.value * packet as f64, per_step: self.line.start.value }
    }

    /// Why L is below 0, if it is.
    pub fn cause_of_negative(&self) -> Option<&'static str> {
        let cause =
            "L is below 0: seconds are fitted, so that the longest h decide and the start is what their line leaves";
        (self.line.start.value < 0.0).then_some(cause)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        analysis::model::loggp::tests::measured,
        record::Provenance,
        units::{Bytes, Hosts},
    };

    /// `exchange` with slopes 2 and 4 for two numbers of processes, `ping_pong` with slope 9 for one; starts as given.
    fn run(start: f64) -> Operations {
        let operations = ["exchange", "ping_pong", "bcast"].map(|name| name.parse().unwrap()).to_vec();
        let lengths = vec![Bytes(10), Bytes(20), Bytes(40)];
        let hosts = Hosts::new((0..4).map(|host| format!("n{host}")));
        let members = vec![vec![0, 1], vec![0, 1, 2, 3]];
        let mut run = Operations::new(hosts, operations, members, lengths, BTreeMap::new(), Provenance::default());
        for (operation, procs, slope) in [(0, 0, 2.0), (0, 1, 4.0), (1, 1, 9.0), (2, 1, 100.0)] {
            for length in 0..3 {
                let h = run.lengths[length].0 as f64;
                *run.measured_mut(operation, procs, length) = measured(start + slope * h);
            }
        }
        run
    }

    #[test]
    fn the_average_is_one_of_averages() {
        let fit = RelationFit::of(&run(7.0), |_, _| true).unwrap();
        assert!((fit.line.per_byte.value - 6.0).abs() < 1e-9 && (fit.line.start.value - 7.0).abs() < 1e-9);
        assert!((fit.spread - 4.5).abs() < 1e-9 && (fit.patterns.len(), fit.lengths.len()) == (3, 3));
        assert_eq!(fit.relation(4).per_packet, 4.0 * fit.line.per_byte.value);
        assert_eq!(fit.cause_of_negative(), None);
    }

    #[test]
    fn what_is_held_out_takes_no_part() {
        let fit = RelationFit::of(&run(-50.0), |procs, length| procs == 0 && length != 1).unwrap();
        assert!((fit.line.per_byte.value - 2.0).abs() < 1e-9, "{fit:?}");
        assert!(fit.cause_of_negative().is_some() && fit.lengths == [10, 40]);
        assert_eq!(RelationFit::of(&run(1.0), |_, length| length == 0), None);
    }
}

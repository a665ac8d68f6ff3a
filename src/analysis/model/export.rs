//! What other programs need of a fit: a SimGrid platform with SMPI's factors, LogGOPSim's parameters, Open MPI's rules for
//! reductions, an order of hosts.
//!
//! In: fits, and the run they come from. Out: plain numbers; [`crate::view::model::export`] writes them as files.

use super::{
    accuracy::chain_choice,
    hockney::{Distances, Hockney},
    line::{Curve, Piece, Piecewise},
    loggp::LogGp,
    predict::Model,
};
use crate::{
    analysis::diagnose::{Direction, Finding, Kind, Symptom},
    plan::operation::{Algorithm, Operation},
    record::operations::Operations,
    units::Hosts,
};

/// Largest number of hosts of a platform: every route is written down.
pub const MOST_HOSTS: usize = 512;

/// A host of a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLink {
    /// Its name.
    pub name: String,
    /// Bytes per second of its cable, out and in.
    pub bandwidth: [f64; 2],
    /// Seconds that its cable adds to those of the class, out and in.
    pub latency: [f64; 2],
}

/// A platform and the factors that make it as fast as what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SimGrid {
    /// By number.
    pub hosts: Vec<HostLink>,
    /// `[class]`: name and seconds, of classes between hosts that there are.
    pub classes: Vec<(usize, &'static str, f64)>,
    /// Inside a host: bytes per second, seconds.
    pub memory: (f64, f64),
    /// From which length on latencies are multiplied by what.
    pub latency_factors: Vec<(u64, f64)>,
    /// From which length on bandwidths are multiplied by what; at most 1.
    pub bandwidth_factors: Vec<(u64, f64)>,
    /// `smpi/os` (and `ois`), `smpi/or`: first length, seconds, seconds per byte; empty where there are no overheads.
    pub overheads: [Vec<(u64, f64, f64)>; 2],
    /// Length from which on a send waits for its receive, where it is known.
    pub rendezvous: Option<u64>,
}

/// Whether a call of so many seconds waits for the other side.
fn waits(fit: &LogGp, (length, seconds): (u64, f64)) -> bool {
    LogGp::holds(seconds, fit.transit.at(length))
}

/// Shortest probed length from which on a send waits for its receive.
pub fn rendezvous(fit: &LogGp) -> Option<u64> {
    let points = &fit.send.points;
    let first = points.iter().rposition(|point| !waits(fit, *point)).map_or(0, |last| last + 1);
    points.get(first).map(|point| point.0)
}

/// The lengths at which a call does not wait, in pieces.
fn overheads(fit: Option<&LogGp>, of: impl Fn(&LogGp) -> &Curve) -> Vec<(u64, f64, f64)> {
    let Some(fit) = fit else { return Vec::new() };
    let own: Vec<(u64, f64)> = of(fit).points.iter().copied().take_while(|point| !waits(fit, *point)).collect();
    let pieces = Piecewise::fit(&own).map(|fitted| fitted.pieces).unwrap_or_default();
    let own = pieces.iter().map(|piece| {
        let [start, slope] = [piece.line.start.value, piece.line.per_byte.value].map(|value| value.max(0.0));
        (piece.first, start, slope)
    });
    let end = of(fit).points.iter().find(|point| waits(fit, **point)).map(|point| (point.0, 0.0, 0.0));
    if pieces.is_empty() { Vec::new() } else { own.chain(end).collect() }
}

/// Seconds of an overhead at a length.
fn overhead_at(overheads: &[(u64, f64, f64)], length: u64) -> (f64, f64) {
    let found = overheads.iter().rfind(|piece| piece.0 <= length).or(overheads.first());
    found.map_or((0.0, 0.0), |(_, start, slope)| (*start, *slope))
}

/// How many times as long a host's cable takes in one direction, at the shortest length and at the longest.
fn slow_cable(findings: &[Finding], host: &str, direction: Direction) -> [f64; 2] {
    let is_meant = |found: &&Finding| {
        (found.kind, &found.hosts[..]) == (Kind::Node, &[host.to_owned()])
            && matches!(found.symptom, Symptom::Latency | Symptom::Bandwidth)
            && (found.direction == Direction::Both || found.direction == direction)
    };
    let found = findings.iter().find(is_meant).and_then(Finding::ends);
    found.map_or([1.0; 2], |ends| ends.map(|at| at.ratio))
}

impl SimGrid {
    /// Of a fit of pairs, of overheads where there are some, and of what was found to be slow: hosts have slow cables.
    /// `None` where no pairs are on two hosts.
    pub fn of(
        hosts: &Hosts,
        distances: &Distances,
        hockney: &Hockney,
        fits: &[LogGp],
        findings: &[Finding],
    ) -> Option<Self> {
        let between = |class: &&super::hockney::Class| class.name != distances.name(0);
        let far = hockney.classes.iter().rev().find(between)?;
        let fit = fits.iter().find(|fit| fit.name == "between hosts");
        let overheads = [overheads(fit, |fit| &fit.send), overheads(fit, |fit| &fit.receive)];
        // What of a piece's line is spent in the network.
        let network = |piece: &Piece| {
            let [send, receive] = overheads.each_ref().map(|pieces| overhead_at(pieces, piece.first.max(1)));
            let line = piece.line;
            (line.start.value - send.0 - receive.0, line.per_byte.value - send.1 - receive.1)
        };
        let rate = |piece: &Piece| Some(1.0 / network(piece).1).filter(|rate| *rate > 0.0 && rate.is_finite());
        let bandwidth = far.fit.pieces.iter().filter_map(rate).fold(f64::NAN, f64::max);
        let latency = network(&far.fit.pieces[0]).0.max(1e-9);
        if bandwidth.is_nan() {
            return None;
        }
        let factors = far.fit.pieces.iter();
        let latency_factors =
            factors.clone().map(|piece| (piece.first, (network(piece).0 / latency).max(1e-6))).collect();
        let bandwidth_factors =
            factors.map(|piece| (piece.first, rate(piece).map_or(1.0, |rate| rate / bandwidth))).collect();
        let link = |host: usize| {
            let name = hosts.names()[host].clone();
            let ratios = [Direction::Send, Direction::Receive].map(|way| slow_cable(findings, &name, way));
            HostLink {
                name,
                bandwidth: ratios.map(|[_, long]| bandwidth / long),
                latency: ratios.map(|[short, _]| latency * (short - 1.0).max(0.0)),
            }
        };
        let classes = hockney.classes.iter().filter(between).map(|class| {
            let number = (1..3).find(|number| distances.name(*number) == class.name).unwrap_or(1);
            (
                number,
                class.name,
                (class.fit.pieces[0].line.start.value - (far.fit.pieces[0].line.start.value - latency)),
            )
        });
        let classes = classes.map(|(number, name, seconds)| (number, name, seconds.max(1e-9))).collect();
        // The factors are those between hosts: taken off the numbers of memory, as far as they can be.
        let inside = hockney.classes.iter().find(|class| class.name == distances.name(0));
        let memory = inside.map_or((bandwidth, latency), |class| {
            let last = class.fit.pieces[class.fit.pieces.len() - 1].line.per_byte.value;
            (1.0 / last.max(1e-13), class.fit.pieces[0].line.start.value.max(1e-9))
        });
        Some(Self {
            hosts: (0..hosts.count()).map(link).collect(),
            classes,
            memory,
            latency_factors,
            bandwidth_factors,
            overheads,
            rendezvous: fit.and_then(rendezvous),
        })
    }
}

/// LogGOPSim's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGops {
    /// L, o, g in seconds.
    pub seconds: [f64; 3],
    /// G, O in seconds per byte.
    pub per_byte: [f64; 2],
    /// S: from this length on a send waits for its receive.
    pub rendezvous: Option<u64>,
}

impl LogGops {
    /// Of a fit; o is the mean of both overheads.
    pub fn of(fit: &LogGp) -> Self {
        let parameters = &fit.parameters;
        let o = (parameters.send.value + parameters.receive.value) / 2.0;
        let own = fit.send.fit.pieces[0].line.per_byte.value.max(0.0);
        Self {
            seconds: [parameters.latency.value, o, parameters.gap.value],
            per_byte: [parameters.gap_per_byte.value, own],
            rendezvous: rendezvous(fit),
        }
    }
}

/// A rule of Open MPI for `MPI_Reduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// From this length on.
    pub from: u64,
    /// Open MPI's number: 2 chain, 5 binomial, 6 in-order binary.
    pub algorithm: u32,
    /// Number of chains; 0 for others.
    pub fanout: usize,
}

/// Rules by number of processes, ascending.
pub type Rules = Vec<(usize, Vec<Rule>)>;

/// The fastest measured algorithm of a reduction by P and length, of those that Open MPI has, too. Where chains are fastest
/// and only one number of them was measured, the predicted best number stands for it.
pub fn reduce_rules(run: &Operations, model: Option<&Model>) -> Rules {
    let number = |operation: &Operation| match operation.algorithm {
        Algorithm::ReduceChainsShortFirst | Algorithm::ReduceChainsLongFirst => Some(2),
        Algorithm::ReduceBinomial => Some(5),
        Algorithm::ReduceBinaryFirst => Some(6),
        _ => None,
    };
    let known: Vec<(usize, Operation, u32)> = run
        .operations
        .iter()
        .enumerate()
        .filter_map(|(place, operation)| Some((place, *operation, number(operation)?)))
        .collect();
    let mut rules = Vec::new();
    for (procs, members) in run.members.iter().enumerate() {
        let mut of: Vec<Rule> = Vec::new();
        for (length, bytes) in run.lengths.iter().enumerate() {
            let times = known.iter().filter_map(|(place, operation, algorithm)| {
                let measured = run.measured(*place, procs, length);
                measured.is_there().then_some((*operation, *algorithm, measured.summary.median))
            });
            let Some((operation, algorithm, _)) = times.min_by(|a, b| a.2.total_cmp(&b.2)) else { continue };
            let counts = known.iter().filter(|own| own.2 == 2).map(|own| own.1.chains(members.len()));
            let several = counts.clone().min() != counts.max();
            let fanout = match (algorithm, several, model) {
                (2, false, Some(model)) => chain_choice(model, members, bytes.0).map(|choice| choice.best),
                (2, ..) => Some(operation.chains(members.len())),
                _ => None,
            };
            let rule = Rule { from: bytes.0, algorithm, fanout: fanout.unwrap_or(0) };
            let same = |last: &Rule| (last.algorithm, last.fanout) == (rule.algorithm, rule.fanout);
            if !of.last().is_some_and(same) {
                of.push(rule);
            }
        }
        // The first line of a number of processes must hold from 0 on.
        if let Some(first) = of.first_mut() {
            first.from = 0;
            rules.push((members.len(), of));
        }
    }
    rules
}

/// Hosts, one entry per rank, those of a group next to each other.
pub fn ordered_hosts(hosts: &Hosts, distances: &Distances) -> Vec<String> {
    let mut order: Vec<usize> = (0..hosts.count()).collect();
    order.sort_by_key(|host| (distances.group_of(*host).unwrap_or(usize::MAX), *host));
    let entries = order.into_iter().flat_map(|host| vec![hosts.names()[host].clone(); hosts.ranks_of(host).len()]);
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::model::loggp::tests::{TRUE, run};

    #[test]
    fn overheads_that_wait_are_none() {
        let mut fit = LogGp::all(&run()).unwrap().remove(0);
        assert_eq!(rendezvous(&fit), None);
        let own = overheads(Some(&fit), |fit| &fit.receive);
        assert!(own.len() == 1 && (own[0].1 / TRUE[2] - 1.0).abs() < 0.01, "{own:?}");
        // From 64 KiB on a send takes as long as the message.
        let points: Vec<(u64, f64)> = (0..22)
            .map(|power| 1u64 << power)
            .map(|length| (length, if length < 65_536 { 3e-7 } else { fit.transit.at(length) }))
            .collect();
        fit.send = Curve::fit(&points).unwrap();
        assert_eq!(rendezvous(&fit), Some(65_536));
        let sends = overheads(Some(&fit), |fit| &fit.send);
        // What waits is none.
        assert_eq!((sends.len(), sends[1]), (2, (65_536, 0.0, 0.0)));
        let line = LogGops::of(&fit);
        assert!((line.seconds[1] / 3.5e-7 - 1.0).abs() < 0.01 && line.rendezvous == Some(65_536), "{line:?}");
    }

    #[test]
    fn rules_are_the_fastest_measured() {
        use crate::{analysis::model::loggp::tests::measured, record::Provenance, units::Bytes};
        let names = ["reduce_binomial", "reduce_chains_short_first:k=4", "reduce_chains_long_first:k=2", "reduce"];
        let lengths = vec![Bytes(8), Bytes(64), Bytes(512)];
        let members = vec![vec![0, 1, 2], (0..6).collect()];
        let operations = names.iter().map(|name| name.parse().unwrap()).collect();
        let hosts = Hosts::new((0..6).map(|host| format!("n{host}")));
        let mut run = Operations::new(hosts, operations, members, lengths, Default::default(), Provenance::default());
        for (procs, times) in [(0, [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [9.0; 3]]), (1, [[1.0; 3], [2.0; 3], [3.0; 3]])] {
            for (operation, times) in times.into_iter().enumerate() {
                for (length, time) in times.into_iter().enumerate() {
                    *run.measured_mut(operation, procs, length) = measured(time);
                }
            }
        }
        let rule = |from, algorithm, fanout| Rule { from, algorithm, fanout };
        assert_eq!(reduce_rules(&run, None), [(3, vec![rule(0, 5, 0), rule(64, 2, 2)]), (6, vec![rule(0, 5, 0)])]);
    }
}

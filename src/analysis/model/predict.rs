//! How long operations and programs will take.
//!
//! In: fitted models, who is on which host, and for single ways a measured matrix. Out: the time of every process. What
//! cannot be predicted is `None`: calls of a library, lengths beyond twice those that were fitted.

use super::{
    barnat::{Network, Primitive},
    hockney::for_each_pair,
    loggp::LogGp,
    logp::{Costs, GapRule, Way, simulate_ways},
    schedule::Schedule,
};
use crate::{
    plan::{
        Mode,
        operation::{Algorithm, Group, Operation, steps},
    },
    record::{BoxError, Matrix, Run},
    units::{Hosts, Rank},
};

/// Most ranks of which all ways are held.
const MOST_RANKS: usize = 1024;

/// Bytes of a double.
const DOUBLE: u64 = 8;

/// One way between any two ranks, as it was measured.
#[derive(Clone, Debug)]
pub struct Ways {
    lengths: Vec<u64>,
    /// `[length]`, seconds.
    matrices: Vec<Matrix>,
}

impl Ways {
    /// Medians of a run of pairs.
    pub fn of(run: &dyn Run) -> Result<Self, BoxError> {
        let ranks = run.ranks();
        if !Self::takes(ranks) {
            return Err(format!("the ways of {ranks} ranks are too many: at most {MOST_RANKS} are taken").into());
        }
        let share = if run.header().mode == Mode::SendRecvAndRecvSend { 0.5 } else { 1.0 };
        let matrix = |length| {
            let mut matrix = Matrix::missing(ranks);
            for_each_pair(run, length, share, |i, j, value| matrix[(i, j)] = value)?;
            Ok::<_, BoxError>(matrix)
        };
        let matrices: Result<Vec<_>, _> = (0..run.lengths().len()).map(matrix).collect();
        Ok(Self { lengths: run.lengths().iter().map(|length| length.0).collect(), matrices: matrices? })
    }

    /// Whether the ways of so many ranks are held.
    pub fn takes(ranks: usize) -> bool {
        ranks <= MOST_RANKS
    }

    /// Seconds, straight between two measured lengths and up to twice the longest; `None` where nothing was measured.
    pub fn seconds(&self, source: Rank, destination: Rank, length: u64) -> Option<f64> {
        let last = self.lengths.len().checked_sub(1)?;
        if length / 2 > self.lengths[last] {
            return None;
        }
        let value = |number: usize| self.matrices[number][(source, destination)];
        let above = self.lengths.partition_point(|known| *known < length);
        if above == 0 || self.lengths.get(above) == Some(&length) || last == 0 {
            return Some(value(above.min(last))).filter(|seconds| *seconds > 0.0);
        }
        let (low, high) = if above > last { (last - 1, last) } else { (above - 1, above) };
        let [from, to] = [low, high].map(|number| self.lengths[number] as f64);
        let place = (length as f64 - from) / (to - from);
        Some(value(low) + (value(high) - value(low)) * place).filter(|seconds| *seconds > 0.0)
    }
}

/// What predictions are made of.
#[derive(Clone, Debug)]
pub struct Model {
    /// Who is on which host.
    pub hosts: Hosts,
    /// Between ranks of a host, where they were probed.
    pub near: Option<LogGp>,
    /// Between hosts, where they were probed.
    pub far: Option<LogGp>,
    /// Instead of one time for all ways.
    pub ways: Option<Ways>,
}

impl Model {
    /// From fits as [`LogGp::all`] gives them.
    pub fn new(hosts: Hosts, fits: Vec<LogGp>) -> Self {
        let (mut near, mut far) = (None, None);
        for fit in fits {
            if fit.name == "inside a host" { near = Some(fit) } else { far = Some(fit) }
        }
        Self { hosts, near, far, ways: None }
    }

    /// From given parameters, on so many hosts.
    pub fn given(fit: LogGp, hosts: usize) -> Self {
        Self { hosts: Hosts::new((0..hosts).map(|host| host.to_string())), near: None, far: Some(fit), ways: None }
    }

    fn fit(&self, i: Rank, j: Rank) -> Option<&LogGp> {
        let is_near = self.hosts.host_of(i) == self.hosts.host_of(j);
        if is_near { self.near.as_ref().or(self.far.as_ref()) } else { self.far.as_ref().or(self.near.as_ref()) }
    }

    /// Where all processes are on one host its numbers count, else those between hosts.
    fn fit_of(&self, members: &[Rank]) -> Option<&LogGp> {
        let first = *members.first()?;
        let other = members.iter().find(|rank| self.hosts.host_of(**rank) != self.hosts.host_of(first));
        self.fit(first, other.copied().unwrap_or(first))
    }

    /// Costs of messages between the members (`together`: see [`Schedule::together`]), and what differs from way to way, `(process, process)`.
    pub fn costs(&self, members: &[Rank], bytes: u64, together: bool) -> Option<(Costs, impl Fn(usize, usize) -> Way)> {
        let fit = self.fit_of(members).filter(|fit| fit.reaches(bytes))?;
        let transit = fit.transit.at(bytes);
        let (costs, latency) =
            if together { fit.costs_together(bytes, transit) } else { fit.costs_within(bytes, transit) };
        // A receive that waits for the whole way waits longer for a longer one.
        let waits = !together && LogGp::is_waiting(latency, transit);
        let way = move |i: usize, j: usize| {
            let (i, j) = (members[i], members[j]);
            let measured = self.ways.as_ref().and_then(|ways| ways.seconds(i, j, bytes));
            let transit = measured.or_else(|| Some(self.fit(i, j)?.transit.at(bytes))).unwrap_or(f64::NAN);
            let rest = (transit - costs.send).max(0.0);
            match waits {
                true => Way { latency: 0.0, receive: rest },
                false => Way { latency: (rest - costs.receive).max(0.0), receive: costs.receive },
            }
        };
        Some((costs, way))
    }

    /// Seconds of every process, `[process]`; `None` for what cannot be predicted.
    pub fn times(&self, operation: Operation, members: &[Rank], length: u64) -> Option<Vec<f64>> {
        if let Some(schedule) = Schedule::of(operation, members.len(), length) {
            let (costs, way) = self.costs(members, schedule.bytes, schedule.together)?;
            return Some(simulate_ways(&schedule.actions, &costs, way, GapRule::Separate));
        }
        let whole = match operation.algorithm.group() {
            Group::Blocks => self.block_reduce(operation.algorithm, members, length)?,
            Group::Accesses => self.access(operation, members, length)?,
            _ => return None,
        };
        Some(vec![whole])
    }

    /// Ranks of each host; where all are on one, each is a host of its own.
    fn places(&self, members: &[Rank]) -> Vec<Vec<Rank>> {
        let mut places: Vec<Vec<Rank>> = Vec::new();
        for &rank in members {
            let same = |place: &&mut Vec<Rank>| self.hosts.host_of(place[0]) == self.hosts.host_of(rank);
            match places.iter_mut().find(same) {
                Some(place) => place.push(rank),
                None => places.push(vec![rank]),
            }
        }
        if places.len() == 1 { members.iter().map(|rank| vec![*rank]).collect() } else { places }
    }

    /// Kulagin's reduction of an array to one number. A fetch is an empty message there and a number back.
    fn block_reduce(&self, algorithm: Algorithm, members: &[Rank], length: u64) -> Option<f64> {
        let places = self.places(members);
        let fit = self.fit_of(members)?;
        let (costs, latency) = fit.costs(DOUBLE);
        let message = costs.send + latency + costs.receive;
        let (add, fetch) = (costs.reduce, fit.transit.at(0) + fit.transit.at(DOUBLE));
        let part = length / members.len() as u64;
        let own = fit.add.as_ref().map_or(0.0, |add| add.at(part));
        let inside = |place: &Vec<Rank>| {
            let near = self.near.as_ref().unwrap_or(fit);
            let ((costs, latency), others) = (near.costs(DOUBLE), place.len() - 1);
            let interval = (costs.receive + add).max(costs.gap);
            if others == 0 { 0.0 } else { costs.send + latency + costs.receive + add + (others - 1) as f64 * interval }
        };
        let inside = places.iter().map(inside).fold(0.0, f64::max);
        // Of so many hosts, at least two.
        let barrier = |hosts: usize| match algorithm {
            // All to one, one to all.
            Algorithm::BlockReduceCentral => {
                2.0 * message + (hosts - 2) as f64 * (costs.receive.max(costs.gap) + costs.send.max(costs.gap))
            }
            _ => (steps::levels(hosts).len() - 1) as f64 * message.max(costs.gap) + message,
        };
        // Those that still have a number wait for each other before each level.
        let levels = steps::levels(places.len());
        let level = |number: usize| fetch + add + barrier(places.len().div_ceil(1 << number));
        Some(match algorithm {
            _ if levels.is_empty() => own + inside,
            Algorithm::LinearReduce => own + inside + barrier(places.len()) + (places.len() - 1) as f64 * (fetch + add),
            _ => own + inside + (0..levels.len()).map(level).sum::<f64>(),
        })
    }

    /// Kulagin's loop over an array on the first host: hosts in turn, which an empty message hands on.
    fn access(&self, operation: Operation, members: &[Rank], length: u64) -> Option<f64> {
        let hosts = self.places(members).len() as u64;
        let fit = self.fit_of(members).filter(|fit| fit.reaches(length))?;
        let fetch = |bytes: u64| fit.transit.at(0) + fit.transit.at(bytes);
        let iterations = u64::from(operation.parameter);
        let far = iterations - iterations.div_ceil(hosts);
        let turns = (hosts - 1) as f64 * fit.transit.at(0);
        Some(
            turns
                + match operation.algorithm {
                    Algorithm::AccessWhole => far as f64 * fetch(length),
                    Algorithm::AccessElement => far as f64 * fetch(DOUBLE),
                    _ => (hosts - 1).min(far) as f64 * fetch(length),
                },
        )
    }

    /// Barnat's costs on a ring, a mesh and a hypercube, with ts and tw of the length; `None`: not given.
    pub fn references(&self, operation: Operation, members: &[Rank], length: u64) -> [Option<f64>; 3] {
        let primitive = match operation.algorithm {
            Algorithm::Bcast | Algorithm::Reduce | Algorithm::BcastHypercube | Algorithm::ReduceBinomial => {
                Primitive::OneToAll
            }
            Algorithm::Allgather | Algorithm::ReduceScatter => Primitive::AllToAllBroadcast,
            Algorithm::Alltoall => Primitive::AllToAll,
            Algorithm::AlltoallPairwise => Primitive::AllToAllPairwise,
            Algorithm::Allreduce | Algorithm::Scan => Primitive::Allreduce,
            Algorithm::Scatter | Algorithm::Gather => Primitive::Scatter,
            Algorithm::Shift => Primitive::Shift(operation.parameter as usize),
            Algorithm::Barrier => Primitive::Barrier,
            Algorithm::BcastNaive => Primitive::NaiveOneToAll,
            _ => return [None; 3],
        };
        let Some(fit) = self.fit_of(members).filter(|fit| fit.reaches(length)) else { return [None; 3] };
        let line = fit.transit.fit.piece(length).line;
        let (ts, block) = (line.start.value, line.per_byte.value * length as f64);
        Network::ALL.map(|network| primitive.cost(network, members.len(), ts, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::model::logp::slowest;

    /// o = 2, L = 6, g = 4, nothing per byte; hosts as named.
    fn model(hosts: &[&str]) -> Model {
        let fit = LogGp::from_parameters("L=6,o=2,g=4,G=0,gamma=0.375".parse().unwrap());
        Model { hosts: Hosts::new(hosts.iter().copied()), near: None, far: Some(fit), ways: None }
    }

    fn operation(text: &str) -> Operation {
        text.parse().unwrap()
    }

    #[test]
    fn reductions_take_what_the_simulation_says() {
        let members: Vec<usize> = (0..22).collect();
        let hosts: Vec<String> = members.iter().map(usize::to_string).collect();
        let model = model(&hosts.iter().map(String::as_str).collect::<Vec<_>>());
        // Set A of the reference without its copy: m gamma = 3 at 8 bytes.
        let times = model.times(operation("reduce_binomial"), &members, 8).unwrap();
        assert!((slowest(&times) - 57.0).abs() < 1e-9 && times.len() == 22);
        assert_eq!(model.times(operation("bcast"), &members, 8), None);
        let references = model.references(operation("bcast"), &members[..16], 8);
        assert_eq!(references, [Some(40.0); 3]);
        assert_eq!(model.references(operation("allreduce"), &members[..16], 8), [None, None, Some(40.0)]);
    }

    #[test]
    fn loops_over_an_array_take_their_closed_forms() {
        // One way 10 s, a fetch 20, a turn 10; 9 iterations on 4 hosts: 3 on the owner, 6 elsewhere.
        let model = model(&["a", "b", "c", "d"]);
        let time = |text| model.times(operation(text), &[0, 1, 2, 3], 4000).unwrap()[0];
        assert_eq!(time("access_whole:iterations=9"), 30.0 + 6.0 * 20.0);
        assert_eq!(time("access_element:iterations=9"), 30.0 + 6.0 * 20.0);
        assert_eq!(time("access_preload:iterations=9"), 30.0 + 3.0 * 20.0);
        assert_eq!(time("access_preload:iterations=2"), 30.0 + 20.0);
    }

    #[test]
    fn trees_over_hosts_take_less_time_than_one_after_the_other() {
        let names: Vec<String> = (0..64).map(|rank| format!("h{}", rank / 4)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let members: Vec<usize> = (0..64).collect();
        let time = |text| model(&names).times(operation(text), &members, 16_000).unwrap()[0];
        assert!(time("block_reduce_dissemination") < time("linear_reduce"));
        // 16 hosts: 4 levels of a fetch (20) and an addition (3), barriers of 16, 8, 4 and 2 hosts (40, 30, 20, 10).
        let own = 0.375 * 250.0;
        assert!((time("block_reduce_dissemination") - own - (13.0 + 2.0 * 5.0) - 4.0 * 23.0 - 100.0).abs() < 1e-9);
    }

    #[test]
    fn measured_ways_are_straight_between_lengths_and_end_at_twice_the_longest() {
        let matrix = |seconds: f64| Matrix::from_values(2, vec![0.0, seconds, f64::NAN, 0.0]).unwrap();
        let ways = Ways { lengths: vec![0, 100, 200], matrices: vec![matrix(1.0), matrix(2.0), matrix(4.0)] };
        let at = |length| ways.seconds(0, 1, length);
        assert_eq!([at(0), at(50), at(100), at(150)], [Some(1.0), Some(1.5), Some(2.0), Some(3.0)]);
        assert_eq!((at(300), at(400), at(402), ways.seconds(1, 0, 50)), (Some(6.0), Some(8.0), None, None));
    }
}

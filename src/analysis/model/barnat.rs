//! Costs of collective primitives by network, after Barnat's lecture (IB109, Masaryk University).
//!
//! A message of m words costs ts + tw m, whatever its way; no link is shared, a process sends and receives at once over
//! one port, local work is free. m is one block: the message of a broadcast, one process's part of an allgather or a
//! scatter, one of p blocks of an all-to-all, what one is left with of a reduce-scatter. Where the lecture has no cost there
//! is none here. A reference, not a fit.

/// A primitive of the lecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// One to all, and all to one: broadcast, reduce.
    OneToAll,
    /// All-to-all broadcast and reduction: allgather, reduce_scatter.
    AllToAllBroadcast,
    /// All-to-all personalised: alltoall.
    AllToAll,
    /// The same in rounds, partner id xor i.
    AllToAllPairwise,
    /// Complete reduction, prefix sum.
    Allreduce,
    /// Scatter, gather.
    Scatter,
    /// Circular shift by q.
    Shift(usize),
    /// Barrier.
    Barrier,
    /// One to all, one after the other.
    NaiveOneToAll,
}

/// How processes are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Ring.
    Ring,
    /// Square mesh with wrapped rows and columns.
    Mesh,
    /// Hypercube.
    Hypercube,
}

impl Network {
    /// All, in the lecture's order.
    pub const ALL: [Self; 3] = [Self::Ring, Self::Mesh, Self::Hypercube];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Mesh => "mesh",
            Self::Hypercube => "hypercube",
        }
    }

    /// Whether so many processes form one.
    fn has(self, procs: usize) -> bool {
        match self {
            Self::Ring => procs > 1,
            Self::Mesh => procs > 1 && procs.isqrt().pow(2) == procs,
            Self::Hypercube => procs > 1 && procs.is_power_of_two(),
        }
    }
}

impl Primitive {
    /// Seconds with p = `procs`, start-up `ts`, and `block` = tw m; `None` where the lecture gives no cost, or the network
    /// has no such number of processes. Shifts: the bound on a mesh and a hypercube.
    pub fn cost(self, network: Network, procs: usize, ts: f64, block: f64) -> Option<f64> {
        use Network::{Hypercube, Mesh, Ring};
        if !network.has(procs) {
            return None;
        }
        let (p, message) = (procs as f64, ts + block);
        let (log, root, others) = (p.log2(), p.sqrt(), p - 1.0);
        Some(match (self, network) {
            (Self::OneToAll, Ring | Hypercube) => log.ceil() * message,
            (Self::OneToAll, Mesh) => 2.0 * root.log2().ceil() * message,
            (Self::AllToAllBroadcast, Ring) => message * others,
            (Self::AllToAllBroadcast, Mesh) => 2.0 * ts * (root - 1.0) + block * others,
            (Self::AllToAllBroadcast | Self::Scatter, Hypercube) => ts * log + block * others,
            (Self::AllToAll, Ring) => (ts + block * p / 2.0) * others,
            (Self::AllToAll, Mesh) => (2.0 * ts + block * p) * (root - 1.0),
            (Self::AllToAll, Hypercube) => (ts + block * p / 2.0) * log,
            (Self::AllToAllPairwise, Hypercube) => message * others,
            (Self::Allreduce, Hypercube) => message * log,
            (Self::Barrier, Hypercube) => ts * log,
            (Self::Shift(by), Ring) => by.rem_euclid(procs).min(procs - by.rem_euclid(procs)) as f64 * message,
            (Self::Shift(_), Mesh) => root * message,
            (Self::Shift(_), Hypercube) => 2.0 * log * message,
            (Self::NaiveOneToAll, Ring) => others * message,
            _ => return None,
        })
    }
}

/// Steps of a circular shift by `by` on a square mesh: rows, then every column by itself, the shorter way round.
pub fn mesh_shift_steps(procs: usize, by: usize) -> Option<usize> {
    if !Network::Mesh.has(procs) {
        return None;
    }
    let side = procs.isqrt();
    let shorter = |steps: usize| (steps % side).min(side - steps % side);
    let (x, y) = (by % side, by / side % side);
    // A row that wraps round leaves its columns one more to go.
    let wrapped = if x == 0 { shorter(y) } else { shorter(y).max(shorter(y + 1)) };
    Some(shorter(x) + wrapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_lecture() {
        use Primitive::*;
        // p = 16, ts = 10, tw = 1, m = 4.
        let costs = |primitive: Primitive| Network::ALL.map(|network| primitive.cost(network, 16, 10.0, 4.0));
        for (primitive, expected) in [
            (OneToAll, [Some(56.0), Some(56.0), Some(56.0)]),
            (AllToAllBroadcast, [Some(210.0), Some(120.0), Some(100.0)]),
            (AllToAll, [Some(630.0), Some(252.0), Some(168.0)]),
            (AllToAllPairwise, [None, None, Some(210.0)]),
            (Allreduce, [None, None, Some(56.0)]),
            (Scatter, [None, None, Some(100.0)]),
            (Shift(5), [Some(70.0), Some(56.0), Some(112.0)]),
            (Barrier, [None, None, Some(40.0)]),
            (NaiveOneToAll, [Some(210.0), None, None]),
        ] {
            assert_eq!(costs(primitive), expected, "{primitive:?}");
        }
        assert_eq!(OneToAll.cost(Network::Mesh, 12, 10.0, 4.0), None);
        assert_eq!(OneToAll.cost(Network::Hypercube, 12, 10.0, 4.0), None);
    }

    #[test]
    fn a_shift_on_a_mesh_takes_at_most_its_side() {
        assert_eq!(mesh_shift_steps(16, 5), Some(3));
        for side in 2usize..12 {
            let most = (0..side * side).filter_map(|by| mesh_shift_steps(side * side, by)).max();
            assert!(most <= Some(side), "{side}: {most:?}");
        }
        assert_eq!(mesh_shift_steps(12, 1), None);
    }

    #[test]
    fn both_ways_of_an_all_to_all_cost_the_same_at_the_crossover() {
        // ts (p - 1 - log p) = tw m ((p/2) log p - p + 1).
        let (p, ts) = (16.0, 10.0);
        let block = ts * (p - 1.0 - 4.0) / (p / 2.0 * 4.0 - p + 1.0);
        let cost = |primitive: Primitive| primitive.cost(Network::Hypercube, 16, ts, block).unwrap();
        assert!((cost(Primitive::AllToAll) - cost(Primitive::AllToAllPairwise)).abs() < 1e-9);
    }
}

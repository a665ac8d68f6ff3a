//! Fat trees of one, two or three levels with static routes: the destination chooses the cable (d-mod-k).

use std::ops::Range;

use super::{Cable, Port, Route};

/// Leaf switches, in pods or not. Every leaf has `spines` cables upwards, one to each spine (or, in pods, to each
/// switch of its pod's second level); every second-level switch has `cores` cables to the third level.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Leaf of every port.
    pub leaf_of: Vec<usize>,
    /// Pod of every leaf; all 0 with two levels.
    pub pod_of: Vec<usize>,
    /// Cables of a leaf upwards.
    pub spines: usize,
    /// Cables of a second-level switch upwards; 0 with two levels.
    pub cores: usize,
    /// What a port's number is to the routing tables: its place, or dealt out at random.
    pub address: Vec<usize>,
}

impl Tree {
    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.pod_of.len()
    }

    /// Number of pods.
    pub fn pods(&self) -> usize {
        self.pod_of.iter().max().map_or(0, |last| last + 1)
    }

    pub fn cables(&self) -> usize {
        2 * (self.leaves() * self.spines + self.pods() * self.spines * self.cores)
    }

    pub fn choices(&self) -> usize {
        self.spines * self.cores.max(1)
    }

    /// The cable of a leaf to a spine, and the one back.
    pub fn leaf_cable(&self, leaf: usize, spine: usize) -> [Cable; 2] {
        let up = 2 * (leaf * self.spines + spine);
        [up, up + 1]
    }

    /// The cable of a second-level switch of a pod to its `core`-th core switch, and the one back.
    pub fn pod_cable(&self, pod: usize, spine: usize, core: usize) -> [Cable; 2] {
        let up = 2 * (self.leaves() * self.spines + (pod * self.spines + spine) * self.cores + core);
        [up, up + 1]
    }

    /// All cables of a leaf upwards: up and down by turns.
    pub fn uplink_of_leaf(&self, leaf: usize) -> Range<Cable> {
        2 * leaf * self.spines..2 * (leaf + 1) * self.spines
    }

    /// All cables of a pod upwards: up and down by turns.
    pub fn uplink_of_pod(&self, pod: usize) -> Range<Cable> {
        let first = self.pod_cable(pod, 0, 0)[0];
        first..first + 2 * self.spines * self.cores
    }

    /// Which of `self.choices()` ways the routing tables take to a port.
    pub fn table(&self, to: Port) -> usize {
        self.address[to] % self.choices().max(1)
    }

    pub fn route(&self, from: Port, to: Port, choice: Option<usize>) -> Route {
        let (a, b) = (self.leaf_of[from], self.leaf_of[to]);
        if a == b {
            return Route { cables: vec![], switches: 1 };
        }
        let way = choice.unwrap_or_else(|| self.table(to));
        let (spine, core) = (way % self.spines, way / self.spines);
        let (up, down) = (self.leaf_cable(a, spine)[0], self.leaf_cable(b, spine)[1]);
        let (pod_a, pod_b) = (self.pod_of[a], self.pod_of[b]);
        if pod_a == pod_b {
            return Route { cables: vec![up, down], switches: 3 };
        }
        let (out, into) = (self.pod_cable(pod_a, spine, core)[0], self.pod_cable(pod_b, spine, core)[1]);
        Route { cables: vec![up, out, into, down], switches: 5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(cores: usize) -> Tree {
        Tree {
            leaf_of: (0..16).map(|port| port / 4).collect(),
            pod_of: if cores > 0 { vec![0, 0, 1, 1] } else { vec![0; 4] },
            spines: 2,
            cores,
            address: (0..16).collect(),
        }
    }

    #[test]
    fn the_destination_chooses_the_cable() {
        let tree = tree(0);
        let up = |from, to| tree.route(from, to, None).cables[0];
        assert_eq!(up(0, 4), up(3, 4));
        assert_eq!(up(0, 4), up(0, 6));
        assert_ne!(up(0, 4), up(0, 5));
        assert_eq!(tree.route(0, 5, None).cables[1], tree.leaf_cable(1, 1)[1]);
        assert_eq!(tree.route(0, 1, None), Route { cables: vec![], switches: 1 });
    }

    #[test]
    fn ways_between_pods_cross_four_cables_of_their_own() {
        let tree = tree(2);
        let route = tree.route(0, 15, None);
        assert_eq!(route.switches, 5);
        assert!(tree.uplink_of_leaf(0).contains(&route.cables[0]) && tree.uplink_of_pod(0).contains(&route.cables[1]));
        assert!(tree.uplink_of_pod(1).contains(&route.cables[2]) && tree.uplink_of_leaf(3).contains(&route.cables[3]));
        assert!(route.cables.iter().all(|cable| *cable < tree.cables()));
    }
}

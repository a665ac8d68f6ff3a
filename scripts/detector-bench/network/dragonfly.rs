//! Dragonflies with minimal routes: to the router with the cable to the other group (its gate), across, to the router of
//! the destination.

use super::{Cable, Port, Route};

/// Groups of routers. Inside a group every router has a cable to every other; between two groups there is one.
#[derive(Clone, Debug)]
pub struct Dragonfly {
    /// Groups.
    pub groups: usize,
    /// Routers of a group.
    pub routers: usize,
    /// Ports of a router.
    pub ports: usize,
}

impl Dragonfly {
    pub fn cables(&self) -> usize {
        self.groups * self.routers * self.routers + self.groups * self.groups
    }

    /// Group of a port.
    pub fn group_of(&self, port: Port) -> usize {
        port / (self.ports * self.routers)
    }

    /// The cable from one group to another.
    pub fn gate(&self, from: usize, to: usize) -> Cable {
        self.groups * self.routers * self.routers + from * self.groups + to
    }

    /// The router, counted inside its group, at which the cable to another group ends.
    fn gate_router(&self, group: usize, other: usize) -> usize {
        (other + self.groups - group - 1) % self.groups % self.routers
    }

    /// Every cable with the routers that it leads from and to, counted over all groups.
    pub fn ends(&self) -> Vec<(Cable, usize, usize)> {
        let mut ends = Vec::new();
        for (group, a) in (0..self.groups).flat_map(|group| (0..self.routers).map(move |a| (group, a))) {
            let router = group * self.routers + a;
            ends.extend((0..self.routers).filter(|b| *b != a).map(|b| {
                let cable = router * self.routers + b;
                (cable, router, group * self.routers + b)
            }));
        }
        for (a, b) in (0..self.groups).flat_map(|a| (0..self.groups).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let [from, to] = [(a, b), (b, a)].map(|(own, other)| own * self.routers + self.gate_router(own, other));
            ends.push((self.gate(a, b), from, to));
        }
        ends
    }

    pub fn route(&self, from: Port, to: Port) -> Route {
        let (a, b) = (from / self.ports, to / self.ports);
        let (group_a, group_b) = (a / self.routers, b / self.routers);
        let mut route = Route { cables: Vec::new(), switches: 1 };
        let mut step = |group: usize, from: usize, to: usize| {
            if from != to {
                route.cables.push((group * self.routers + from) * self.routers + to);
                route.switches += 1;
            }
        };
        let (inside_a, inside_b) = (a % self.routers, b % self.routers);
        if group_a == group_b {
            step(group_a, inside_a, inside_b);
            return route;
        }
        step(group_a, inside_a, self.gate_router(group_a, group_b));
        step(group_b, self.gate_router(group_b, group_a), inside_b);
        route.cables.push(self.gate(group_a, group_b));
        route.switches += 1;
        route
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_between_two_groups_cross_their_one_gate() {
        let dragonfly = Dragonfly { groups: 4, routers: 3, ports: 2 };
        for (from, to) in (0..6).flat_map(|from| (18..24).map(move |to| (from, to))) {
            let route = dragonfly.route(from, to);
            assert!(route.cables.contains(&dragonfly.gate(0, 3)) && (2..=4).contains(&route.switches), "{route:?}");
        }
        assert_eq!(dragonfly.route(0, 1), Route { cables: vec![], switches: 1 });
    }
}

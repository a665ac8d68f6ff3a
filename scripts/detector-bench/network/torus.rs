//! Tori with dimension-order routes: all steps along the first axis, then along the second, and so on, each the shorter
//! way round.

use super::{Cable, Port, Route};

/// A box of routers with one port each, closed at its ends.
#[derive(Clone, Debug)]
pub struct Torus {
    /// Routers along every axis, 2 or more.
    pub sides: Vec<usize>,
}

impl Torus {
    /// Number of routers, and of ports.
    pub fn routers(&self) -> usize {
        self.sides.iter().product()
    }

    pub fn cables(&self) -> usize {
        2 * self.sides.len() * self.routers()
    }

    fn stride(&self, axis: usize) -> usize {
        self.sides[..axis].iter().product()
    }

    /// The neighbour of a router along an axis.
    pub fn neighbour(&self, router: usize, axis: usize, is_up: bool) -> usize {
        let (side, stride) = (self.sides[axis], self.stride(axis));
        let place = router / stride % side;
        let next = if is_up { (place + 1) % side } else { (place + side - 1) % side };
        router - place * stride + next * stride
    }

    /// The cable from a router to its neighbour along an axis.
    pub fn cable(&self, router: usize, axis: usize, is_up: bool) -> Cable {
        2 * (router * self.sides.len() + axis) + usize::from(is_up)
    }

    pub fn route(&self, from: Port, to: Port) -> Route {
        let mut route = Route { cables: Vec::new(), switches: 1 };
        let mut here = from;
        for (axis, &side) in self.sides.iter().enumerate() {
            let place = |router: usize| router / self.stride(axis) % side;
            let steps = (place(to) + side - place(from)) % side;
            let is_up = 2 * steps <= side;
            for _ in 0..steps.min(side - steps) {
                route.cables.push(self.cable(here, axis, is_up));
                route.switches += 1;
                here = self.neighbour(here, axis, is_up);
            }
        }
        route
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_go_axis_by_axis_the_shorter_way_round() {
        let torus = Torus { sides: vec![4, 3] };
        assert_eq!(torus.route(0, 3).cables, [torus.cable(0, 0, false)]);
        assert_eq!(torus.route(0, 6).switches, 4);
        assert_eq!(torus.route(0, 5).cables, [torus.cable(0, 0, true), torus.cable(1, 1, true)]);
        assert_eq!(torus.neighbour(8, 1, true), 0);
    }
}

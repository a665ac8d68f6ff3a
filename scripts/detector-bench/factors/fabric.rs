//! Networks whose structure the detector is not told: how far every two hosts are from each other.
//!
//! In: random numbers. Out: a [`Fabric`]. Distances are counted in levels or hops and say nothing about time.

use rand::{RngExt, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

/// What joins the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// One switch.
    Flat,
    /// Leaf switches under a spine.
    Leaves,
    /// Leaf switches in pods under a core.
    ThreeLevels,
    /// A three-dimensional torus.
    Torus,
    /// Routers in groups, each group joined to every other by one link.
    Dragonfly,
}

/// How far hosts are from each other, and who shares a switch.
pub struct Fabric {
    /// Its kind.
    pub shape: Shape,
    /// Levels or hops, `[host][host]`.
    pub distance: Vec<Vec<f64>>,
    /// Leaf switch of every host, `[host]`; all 0 where there are none.
    pub leaf: Vec<usize>,
}

impl Fabric {
    /// Of about `hosts` hosts, whose order says nothing about their place.
    pub fn draw(shape: Shape, hosts: usize, rng: &mut ChaCha8Rng) -> Self {
        let (mut leaf, position): (Vec<usize>, Vec<Vec<usize>>) = match shape {
            Shape::Flat => (vec![0; hosts], vec![vec![]; hosts]),
            Shape::Leaves => {
                let leaf = leaves(hosts, rng);
                let position = leaf.iter().map(|leaf| vec![*leaf]).collect();
                (leaf, position)
            }
            Shape::ThreeLevels => {
                let size = (hosts / rng.random_range(6..10)).max(3);
                let leaf: Vec<usize> = (0..hosts).map(|host| (host / size).min((hosts / size).max(1) - 1)).collect();
                let per_pod = rng.random_range(2..4);
                // A leaf that is alone in one of two pods is as far from all others as one with a bad uplink.
                let leaves = leaf[hosts - 1] + 1;
                let pods = if leaves == per_pod + 1 { 1 } else { leaves.div_ceil(per_pod) };
                let position = leaf.iter().map(|leaf| vec![*leaf, (leaf / per_pod).min(pods - 1)]).collect();
                (leaf, position)
            }
            Shape::Torus => {
                let sides = torus_sides(hosts);
                let count = sides.iter().product();
                let place = |k: usize| vec![k % sides[0], k / sides[0] % sides[1], k / sides[0] / sides[1]];
                (vec![0; count], (0..count).map(place).chain([sides.to_vec()]).collect())
            }
            Shape::Dragonfly => {
                let (per_router, routers) = (2, 4);
                let count = (hosts / (per_router * routers)).max(2) * per_router * routers;
                let place = |k: usize| vec![k / per_router, k / per_router / routers];
                (vec![0; count], (0..count).map(place).collect())
            }
        };
        let count = leaf.len();
        let sides = (shape == Shape::Torus).then(|| position[count].clone());
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(rng);
        let steps = |a: usize, b: usize| steps(shape, &position[a], &position[b], sides.as_deref());
        let distance = order.iter().map(|&a| order.iter().map(|&b| steps(a, b)).collect()).collect();
        leaf = order.iter().map(|host| leaf[*host]).collect();
        Self { shape, distance, leaf }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.leaf.len()
    }

    /// The leaves whose uplink can be distinguished from all others': there are at least three, and each has at least
    /// three hosts.
    pub fn uplinks(&self) -> Vec<Vec<usize>> {
        let count = self.leaf.iter().max().map_or(0, |last| last + 1);
        let members = |leaf| (0..self.hosts()).filter(|host| self.leaf[*host] == leaf).collect::<Vec<_>>();
        if count < 3 { Vec::new() } else { (0..count).map(members).filter(|members| members.len() >= 3).collect() }
    }
}

/// Two to four leaves of at least three hosts, of equal or very different sizes.
fn leaves(hosts: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let count = rng.random_range(2..5usize).min(hosts / 4).max(1);
    let is_balanced = rng.random_bool(0.5);
    let mut weight: Vec<f64> =
        (0..count).map(|_| if is_balanced { 1.0 } else { -rng.random_range(0.02f64..1.0).ln() }).collect();
    let total: f64 = weight.iter().sum();
    weight.iter_mut().for_each(|weight| *weight /= total);
    let mut leaf: Vec<usize> = (0..count).flat_map(|leaf| [leaf; 3]).collect();
    while leaf.len() < hosts {
        let mut point = rng.random_range(0.0..1.0);
        let chosen = weight.iter().position(|weight| {
            point -= weight;
            point < 0.0
        });
        leaf.push(chosen.unwrap_or(count - 1));
    }
    leaf
}

fn torus_sides(hosts: usize) -> [usize; 3] {
    let sides = [
        [2, 2, 2],
        [3, 2, 2],
        [4, 2, 2],
        [3, 3, 3],
        [4, 4, 2],
        [4, 4, 3],
        [4, 4, 4],
        [5, 5, 4],
        [8, 4, 4],
        [6, 6, 6],
        [8, 8, 4],
    ];
    sides.into_iter().rfind(|sides| sides.iter().product::<usize>() <= hosts).unwrap_or(sides[0])
}

fn steps(shape: Shape, a: &[usize], b: &[usize], sides: Option<&[usize]>) -> f64 {
    let differing = || a.iter().zip(b).filter(|(a, b)| a != b).count();
    match (shape, sides) {
        (Shape::Torus, Some(sides)) => {
            let hops = a.iter().zip(b).zip(sides).map(|((a, b), side)| a.abs_diff(*b).min(side - a.abs_diff(*b)));
            hops.sum::<usize>() as f64
        }
        (Shape::Dragonfly, _) if a[1] != b[1] => {
            // The router of each group at which the link to the other group ends.
            let is_gate = |from: &[usize], to: &[usize]| from[0] % 4 == (to[1] + from[1]) % 4;
            1.0 + f64::from(u8::from(!is_gate(a, b))) + f64::from(u8::from(!is_gate(b, a)))
        }
        _ => differing() as f64,
    }
}

//! Numbers drawn from a seed, for tests of what looks at squares of hosts. It is compiled for tests only.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::square::Square;

/// The same numbers every time.
pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A number of the standard normal distribution.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A value for every ordered pair of hosts.
pub fn square(hosts: usize, mut value: impl FnMut(usize, usize) -> f64) -> Square {
    let mut square = Square::missing(hosts);
    for (i, j) in (0..hosts).flat_map(|i| (0..hosts).map(move |j| (i, j))).filter(|(i, j)| i != j) {
        square.set(i, j, value(i, j));
    }
    square
}

/// A value for every pair of hosts, both ways.
pub fn symmetric(hosts: usize, mut value: impl FnMut(usize, usize) -> f64) -> Square {
    let mut square = Square::missing(hosts);
    for (i, j) in (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j))) {
        let value = value(i, j);
        square.set(i, j, value);
        square.set(j, i, value);
    }
    square
}

/// The leaf of every host, of leaves of these sizes; the order of the hosts says nothing.
pub fn leaves(sizes: &[usize], rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut leaf: Vec<usize> = sizes.iter().enumerate().flat_map(|(leaf, size)| vec![leaf; *size]).collect();
    leaf.shuffle(rng);
    leaf
}

/// Hops between every two hosts of a torus, `[host][host]`; the order of the hosts says nothing.
pub fn torus(sides: [usize; 3], rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut places: Vec<[usize; 3]> = (0..sides.iter().product())
        .map(|host: usize| [host % sides[0], host / sides[0] % sides[1], host / sides[0] / sides[1]])
        .collect();
    places.shuffle(rng);
    let hops = |a: &[usize; 3], b: &[usize; 3]| {
        let along = |axis: usize| {
            let steps = a[axis].abs_diff(b[axis]);
            steps.min(sides[axis] - steps)
        };
        (0..3).map(along).sum::<usize>() as f64
    };
    places.iter().map(|a| places.iter().map(|b| hops(a, b)).collect()).collect()
}

/// The routers on the way between two of a torus whose numbers run along the first axis first, as the way does, the shorter
/// way round.
pub fn route(sides: [usize; 3], from: usize, to: usize) -> Vec<usize> {
    let at = |host: usize| [host % sides[0], host / sides[0] % sides[1], host / sides[0] / sides[1]];
    let (mut here, end) = (at(from), at(to));
    let mut route = vec![from];
    for axis in 0..3 {
        let side = sides[axis];
        while here[axis] != end[axis] {
            let up = 2 * ((end[axis] + side - here[axis]) % side) <= side;
            here[axis] = (here[axis] + if up { 1 } else { side - 1 }) % side;
            route.push(here[0] + sides[0] * (here[1] + sides[1] * here[2]));
        }
    }
    route
}

/// Takes out each pair, both ways, with a probability.
pub fn lose_pairs(squares: &mut [&mut Square], share: f64, rng: &mut ChaCha8Rng) {
    let hosts = squares[0].side();
    for (i, j) in (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j))) {
        if rng.random_bool(share) {
            for square in &mut *squares {
                square.set(i, j, f64::NAN);
                square.set(j, i, f64::NAN);
            }
        }
    }
}

/// Whether two partitions are the same one, whatever its parts are called.
pub fn is_same_partition(a: &[usize], b: &[usize]) -> bool {
    let pairs = (0..a.len()).flat_map(|i| (i + 1..a.len()).map(move |k| (i, k)));
    a.len() == b.len() && pairs.into_iter().all(|(i, k)| (a[i] == a[k]) == (b[i] == b[k]))
}

//! Dragonflies, and networks that are none, of which the steps are known.

use super::*;
use crate::analysis::{
    diagnose::places::tree::near,
    drawn::{generator, is_same_partition, normal, symmetric},
    square::Square,
};

/// Hosts of a router.
const PORTS: usize = 3;

/// A dragonfly of groups of so many routers: the router of every host, its group, and the steps between routers.
struct Dragonfly {
    router: Vec<usize>,
    routers: usize,
    groups: usize,
}

impl Dragonfly {
    fn of(groups: usize, routers: usize) -> Self {
        Self { router: (0..groups * routers * PORTS).map(|host| host / PORTS).collect(), routers, groups }
    }

    fn group(&self, router: usize) -> usize {
        router / self.routers
    }

    fn steps(&self, a: usize, b: usize) -> u8 {
        if self.group(a) == self.group(b) {
            return u8::from(a != b);
        }
        let gate = |own: usize, other: usize| {
            own * self.routers + (other + self.groups - own - 1) % self.groups % self.routers
        };
        let [one, other] = [self.group(a), self.group(b)];
        1 + u8::from(a != gate(one, other)) + u8::from(b != gate(other, one))
    }

    /// What pairs take: every step a tenth of a microsecond; and what else some take.
    fn times(&self, more: impl Fn(usize, usize) -> f64) -> Pairs {
        Pairs::of(&self.square(more))
    }

    fn square(&self, more: impl Fn(usize, usize) -> f64) -> Square {
        let mut rng = generator(3);
        let own: Vec<f64> = self.router.iter().map(|_| 0.01 * normal(&mut rng)).collect();
        symmetric(self.router.len(), |i, j| {
            let (a, b) = (self.router[i], self.router[j]);
            1.0 + own[i] + own[j] + 0.1 * f64::from(self.steps(a, b)) + more(a, b) + 0.005 * normal(&mut rng)
        })
    }

    fn assert_steps(&self, found: &Explained) {
        let hosts = self.router.len();
        for (i, j) in pairs(hosts) {
            let steps = self.steps(self.router[i], self.router[j]);
            assert_eq!(found.between[i * hosts + j], steps, "{i} {j}");
        }
    }

    fn explain(&self, times: &Pairs, leaf: &[usize]) -> Option<Explained> {
        let (of_one_leaf, _, _) = times.cost(|_, _| 0, 1);
        explain(times, || vec![leaf.to_vec()], 0.005, of_one_leaf)
    }
}

#[test]
fn groups_and_steps_of_a_dragonfly_are_found_and_leaves_put_right() {
    let dragonfly = Dragonfly::of(4, 3);
    // One host is alone, and two leaves have a host of each other.
    let mut leaf = dragonfly.router.clone();
    leaf[4] = 12;
    leaf.swap(10, 20);
    let found = dragonfly.explain(&dragonfly.times(|_, _| 0.0), &leaf).unwrap();
    assert!(is_same_partition(&found.leaf, &dragonfly.router), "{:?}", found.leaf);
    let group: Vec<usize> = found.leaf.iter().map(|leaf| found.group[*leaf]).collect();
    let planted: Vec<usize> = dragonfly.router.iter().map(|router| dragonfly.group(*router)).collect();
    assert!(is_same_partition(&group, &planted), "{group:?}");
    dragonfly.assert_steps(&found);
}

#[test]
fn switches_are_found_where_groups_seem_to_be_leaves() {
    let dragonfly = Dragonfly::of(4, 4);
    let square = dragonfly.square(|_, _| 0.0);
    let groups: Vec<usize> = dragonfly.router.iter().map(|router| dragonfly.group(*router)).collect();
    let times = Pairs::of(&square);
    assert!(dragonfly.explain(&times, &groups).is_none());
    let starts = near(48, |i, j| square.at(i, j));
    let found = starts.iter().find_map(|leaf| dragonfly.explain(&times, leaf)).unwrap();
    assert!(is_same_partition(&found.leaf, &dragonfly.router), "{:?}", found.leaf);
    dragonfly.assert_steps(&found);
}

#[test]
fn a_slow_gate_is_no_distance() {
    let dragonfly = Dragonfly::of(4, 3);
    let is_of = |a: usize, b: usize| (dragonfly.group(a), dragonfly.group(b)) == (0, 2);
    let times = dragonfly.times(|a, b| if is_of(a, b) || is_of(b, a) { 0.1 } else { 0.0 });
    let found = dragonfly.explain(&times, &dragonfly.router).unwrap();
    dragonfly.assert_steps(&found);
}

#[test]
fn where_steps_say_the_same_of_several_groupings_every_leaf_is_by_itself() {
    // Routers of five groups of two are Petersen's graph, all of whose six pairings look alike.
    let dragonfly = Dragonfly::of(5, 2);
    let found = dragonfly.explain(&dragonfly.times(|_, _| 0.0), &dragonfly.router).unwrap();
    assert_eq!(found.group, (0..10).collect::<Vec<_>>());
    dragonfly.assert_steps(&found);
}

#[test]
fn a_host_that_is_a_leaf_by_itself_is_no_farther_away_than_steps_lead() {
    // As above; one host of a router of three takes as long as eight steps.
    let dragonfly = Dragonfly::of(5, 2);
    let mut square = dragonfly.square(|_, _| 0.0);
    for other in 1..square.side() {
        [(0, other), (other, 0)].iter().for_each(|(i, j)| square.set(*i, *j, square.at(*i, *j) + 0.8));
    }
    let mut leaf = dragonfly.router.clone();
    leaf[0] = 10;
    let steps = Steps::of(&Pairs::of(&square), leaf).unwrap();
    assert!(steps.between.iter().any(|steps| *steps > MOST_STEPS));
    let (_, between) = Groups::of(&steps).unwrap();
    assert_eq!(between.iter().max(), Some(&MOST_STEPS));
}

#[test]
fn very_many_leaves_near_each_other_are_one_clique() {
    let leaves = 40;
    let between = (0..leaves * leaves).map(|cell| u8::from(cell / leaves != cell % leaves)).collect();
    let leaf = (0..leaves).collect();
    let steps = Steps { leaf, leaves, between, inside: 1.0, step: 0.1, own: vec![0.0; leaves] };
    let groups = Groups { steps: &steps, group: vec![None; leaves], looked_at: 0, are_several: false, best: None };
    let mut cliques = Vec::new();
    groups.cliques(vec![0], &(1..leaves).collect::<Vec<_>>(), &[], &mut cliques);
    assert!(matches!(&cliques[..], [all] if all.len() == leaves), "{cliques:?}");
}

#[test]
fn pods_of_a_tree_have_no_gates() {
    let tree = Dragonfly::of(4, 3);
    let far = |a: usize, b: usize| if tree.group(a) == tree.group(b) { 1 } else { 2 };
    let times =
        tree.times(|a, b| if a == b { 0.0 } else { 0.1 * (f64::from(far(a, b)) - f64::from(tree.steps(a, b))) });
    assert!(tree.explain(&times, &tree.router).is_none());
}

#[test]
fn two_groups_have_a_gate() {
    let dragonfly = Dragonfly::of(2, 4);
    let found = dragonfly.explain(&dragonfly.times(|_, _| 0.0), &dragonfly.router).unwrap();
    assert_eq!(found.group.iter().max(), Some(&1));
    dragonfly.assert_steps(&found);
}

#[test]
fn a_host_that_takes_several_times_as_long_and_a_slow_way_break_no_group() {
    let dragonfly = Dragonfly::of(4, 4);
    let mut square = dragonfly.square(|a, b| if (a, b) == (0, 2) { 0.1 } else { 0.0 });
    for other in 0..square.side() {
        [(20, other), (other, 20)].iter().for_each(|(i, j)| square.set(*i, *j, 3.0 * square.at(*i, *j)));
    }
    // Its times are none that hosts and steps add up to.
    let starts = near(square.side(), |i, j| square.at(i, j));
    let times = Pairs::of(&square);
    let found = explain(&times, || starts, 0.005, times.cost(|_, _| 0, 1).0).unwrap();
    assert!(is_same_partition(&found.leaf, &dragonfly.router), "{:?}", found.leaf);
    dragonfly.assert_steps(&found);
}

#[test]
fn hosts_of_a_leaf_of_two_stay_in_it_though_one_is_late_or_their_link_is() {
    let router: Vec<usize> = (0..24).map(|host| host / 2).collect();
    let dragonfly = Dragonfly { router, routers: 4, groups: 3 };
    let healthy = dragonfly.square(|_, _| 0.0);
    let late = |times_as: &dyn Fn(usize, usize) -> f64| {
        let square = symmetric(24, |i, j| healthy.at(i, j) * times_as(i, j));
        let times = Pairs::of(&square);
        let starts = near(24, |i, j| square.at(i, j));
        explain(&times, || starts, 0.005, times.cost(|_, _| 0, 1).0).unwrap()
    };
    let host = late(&|i, j| if i == 5 || j == 5 { 1.5 } else { 1.0 });
    let link = late(&|i, j| if (i, j) == (4, 5) { 2.0 } else { 1.0 });
    for found in [host, link] {
        assert!(is_same_partition(&found.leaf, &dragonfly.router), "{:?}", found.leaf);
        dragonfly.assert_steps(&found);
    }
}

#[test]
fn steps_that_are_smaller_than_those_of_switches_describe_noise() {
    // One switch; hosts that noise makes near each other, and every host by itself.
    let mut rng = generator(5);
    let times = symmetric(96, |_, _| 1.0 + 0.005 * normal(&mut rng));
    let pairs = Pairs::of(&times);
    let starts = near(96, |i, j| times.at(i, j)).into_iter().chain([(0..96).collect()]);
    assert!(starts.into_iter().all(|leaf| Steps::of(&pairs, leaf).is_none()));
}

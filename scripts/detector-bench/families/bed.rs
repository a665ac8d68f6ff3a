//! A machine to plant faults in, and how it is measured, both drawn.
//!
//! In: random numbers, and what a family needs. Out: a [`Bed`] that collects faults and the truth about them, and makes a
//! [`Case`] in the end.

use netmatrix::{
    plan::{Config, Mode, Plan, Schedule, Sweep},
    units::{Bytes, Hosts},
};
use rand::{
    RngExt,
    seq::{IndexedRandom, SliceRandom},
};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::{
    machine::{
        cluster,
        fault::{Fault, Scope},
        noise::Noise,
        parts::{Parts, Variation},
    },
    network::{Dragonfly, Network, Torus, Tree},
    planted::{Case, Planted, Truth},
    stand_out,
};

/// What joins the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One switch.
    Flat,
    /// Two leaves of one size.
    Halves,
    /// Leaves under spines.
    Leaves,
    /// Leaves in pods.
    Pods,
    Torus,
    Dragonfly,
}

/// What a family needs of a machine; what it leaves open is drawn.
#[derive(Clone)]
pub struct Needs {
    pub shapes: &'static [Shape],
    pub hosts: &'static [usize],
    pub ranks: &'static [usize],
    /// Cards of every host that has as many ranks.
    pub rails: usize,
    pub schedule: Option<Schedule>,
    /// Partners of every rank.
    pub rounds: Option<usize>,
    pub is_adaptive: bool,
    /// How many times as fast as a card a cable between switches is.
    pub capacity: &'static [f64],
    /// Cables of a leaf upwards.
    pub spines: &'static [usize],
    pub is_small: bool,
}

/// Sizes that most runs have.
pub const USUAL: &[usize] = &[8, 12, 16, 16, 24, 24, 32, 32, 48, 64, 96];
pub const ALL_SHAPES: &[Shape] =
    &[Shape::Flat, Shape::Flat, Shape::Leaves, Shape::Leaves, Shape::Pods, Shape::Torus, Shape::Dragonfly];
pub const TREES: &[Shape] = &[Shape::Leaves, Shape::Leaves, Shape::Pods];

impl Default for Needs {
    fn default() -> Self {
        Self {
            shapes: ALL_SHAPES,
            hosts: USUAL,
            ranks: &[1, 1, 1, 2],
            rails: 1,
            schedule: None,
            rounds: None,
            is_adaptive: false,
            capacity: &[1.0, 2.0, 4.0],
            spines: &[2, 3, 4],
            is_small: false,
        }
    }
}

/// A machine that is being made.
pub struct Bed {
    pub rng: ChaCha8Rng,
    pub parts: Parts,
    pub noise: Noise,
    pub plan: Plan,
    pub faults: Vec<Fault>,
    pub planted: Vec<Planted>,
    /// Hosts without a fault.
    pub free: Vec<usize>,
    pub capacity: f64,
    pub shape: Shape,
    pub may_be_invalid: bool,
}

impl Bed {
    pub fn draw(mut rng: ChaCha8Rng, needs: &Needs) -> Self {
        let shape = *needs.shapes.choose(&mut rng).unwrap();
        let asked = *needs.hosts.choose(&mut rng).unwrap();
        let spines = *needs.spines.choose(&mut rng).unwrap();
        let (network, count) = network(shape, asked, needs.rails, spines, &mut rng);
        let ranks_per_host = if count > 64 { needs.rails } else { *needs.ranks.choose(&mut rng).unwrap() };
        let hosts = hosts(count, ranks_per_host, &mut rng);
        let mut place: Vec<usize> = (0..count).collect();
        if rng.random_bool(0.5) {
            place.shuffle(&mut rng);
        }
        let capacity = *needs.capacity.choose(&mut rng).unwrap();
        let schedule = needs.schedule.unwrap_or(*Schedule::ALL.choose(&mut rng).unwrap());
        let plan = plan(hosts.clone(), schedule, needs, &mut rng);
        let card = 1.0 / (12.5e9 * *[1.0, 2.0].choose(&mut rng).unwrap());
        let parts = parts(hosts, network, place, needs, card, capacity, &mut rng);
        let noise = noise(&mut rng);
        let mut free: Vec<usize> = (0..count).collect();
        free.shuffle(&mut rng);
        Self {
            rng,
            parts,
            noise,
            plan,
            faults: Vec::new(),
            planted: Vec::new(),
            free,
            capacity,
            shape,
            may_be_invalid: false,
        }
    }

    pub fn hosts(&self) -> &Hosts {
        &self.parts.hosts
    }

    pub fn count(&self) -> usize {
        self.parts.hosts.count()
    }

    pub fn name(&self, host: usize) -> String {
        self.hosts().names()[host].clone()
    }

    pub fn names(&self, hosts: &[usize]) -> Vec<String> {
        hosts.iter().map(|host| self.name(*host)).collect()
    }

    /// A host that nothing is wrong with, which is used up; the network is large enough for all that is planted.
    pub fn take(&mut self) -> usize {
        self.free.pop().expect("a machine has more hosts than faults")
    }

    /// The hosts of a leaf, ascending.
    pub fn leaf(&self, leaf: usize) -> Vec<usize> {
        let tree = self.tree();
        (0..self.count())
            .filter(|host| tree.leaf_of[self.parts.place[*host] * self.parts.rails] / self.leaves_per_place() == leaf)
            .collect()
    }

    /// With several rails every place has a leaf switch for each of them.
    pub fn leaves_per_place(&self) -> usize {
        self.parts.rails
    }

    pub fn tree(&self) -> &Tree {
        self.parts.network.tree().expect("the family asks for trees")
    }

    /// All ranks of a host.
    pub fn ranks_of(&self, hosts: &[usize]) -> Vec<bool> {
        (0..self.hosts().ranks()).map(|rank| hosts.contains(&self.hosts().host_of(rank))).collect()
    }

    /// The ends of hosts.
    pub fn ends(&self, hosts: &[usize], out: bool, into: bool) -> Scope {
        Scope::Ends { ranks: self.ranks_of(hosts), out, into }
    }

    pub fn plant(&mut self, fault: Fault) -> usize {
        self.faults.push(fault);
        self.faults.len() - 1
    }

    /// Out, in or both: half of the faults of a cable show one way.
    pub fn ways(&mut self) -> (bool, bool) {
        *[(true, true), (true, true), (true, false), (false, true)].choose(&mut self.rng).unwrap()
    }

    /// Between two numbers, all magnitudes alike.
    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.rng.random_range(low.ln()..high.ln()).exp()
    }

    /// The longest length is long enough that cards count.
    pub fn lengths(&self) -> Vec<u64> {
        self.plan.lengths().iter().map(|length| length.0).collect()
    }

    /// Measures.
    pub fn case(mut self) -> Case {
        let (run, known) = cluster::run(&self.parts, &self.faults, &self.noise, &self.plan, &mut self.rng)
            .expect("nothing fails in memory");
        stand_out::judge(&mut self.planted, &self.faults, &known, &run);
        let config = &self.plan.config;
        let context = format!(
            "{:?}, {} hosts, {} ranks, {} rails, capacity {}, {}, rounds {}, {} lengths, -n {}, tail {:.4}",
            self.shape,
            self.count(),
            self.hosts().ranks(),
            self.parts.rails,
            self.capacity,
            config.schedule,
            config.sample_rounds.map_or("all".to_owned(), |rounds| rounds.to_string()),
            self.plan.lengths().len(),
            config.iterations,
            self.noise.probability,
        );
        let (lengths, may_be_invalid) = (self.lengths(), self.may_be_invalid);
        Case { truth: Truth { planted: self.planted, context, lengths, may_be_invalid }, run }
    }
}

fn network(shape: Shape, asked: usize, rails: usize, spines: usize, rng: &mut ChaCha8Rng) -> (Network, usize) {
    let tree = |leaf_of: Vec<usize>, pod_of: Vec<usize>, cores: usize, rng: &mut ChaCha8Rng| {
        // With several rails every place has a leaf for each of them, and all leaves have the same spines.
        let leaf_of: Vec<usize> =
            leaf_of.iter().flat_map(|leaf| (0..rails).map(move |rail| leaf * rails + rail)).collect();
        let pod_of = pod_of.iter().flat_map(|pod| vec![*pod; rails]).collect();
        let mut address: Vec<usize> = (0..leaf_of.len()).map(|port| port / rails).collect();
        if rng.random_bool(0.3) {
            address.shuffle(rng);
        }
        Network::Tree(Tree { leaf_of, pod_of, spines, cores, address })
    };
    match shape {
        Shape::Flat => (tree(vec![0; asked], vec![0], 0, rng), asked),
        Shape::Halves => (tree((0..asked).map(|host| 2 * host / asked).collect(), vec![0; 2], 0, rng), asked),
        Shape::Leaves => {
            let size = (*[4usize, 6, 8, 12, 16].choose(rng).unwrap()).min(asked / 3).max(3);
            let leaves = (asked / size).max(2);
            // The last leaf may be half full.
            let count = leaves * size - if leaves > 3 && rng.random_bool(0.3) { size / 2 } else { 0 };
            (tree((0..count).map(|host| host / size).collect(), vec![0; leaves], 0, rng), count)
        }
        Shape::Pods => {
            let size = if asked >= 48 { 6 } else { 3.max(asked / 9) };
            let per_pod = if asked >= 36 { 3 } else { 2 };
            let pods = (asked / size / per_pod).max(3);
            let count = pods * per_pod * size;
            let pod_of = (0..pods * per_pod).map(|leaf| leaf / per_pod).collect();
            (tree((0..count).map(|host| host / size).collect(), pod_of, 2, rng), count)
        }
        Shape::Torus => {
            let sides = match asked {
                ..16 => vec![4, 3],
                16..27 => vec![4, 4],
                27..48 => vec![3, 3, 3],
                48..64 => vec![4, 4, 3],
                64..96 => vec![4, 4, 4],
                _ => vec![5, 5, 4],
            };
            let torus = Torus { sides };
            let count = torus.routers();
            (Network::Torus(torus), count)
        }
        Shape::Dragonfly => {
            let (routers, ports) = (if asked >= 48 { 4 } else { 2 }, if asked >= 24 { 3 } else { 2 });
            let groups = (asked / routers / ports).max(3);
            (Network::Dragonfly(Dragonfly { groups, routers, ports }), groups * routers * ports)
        }
    }
}

/// Names in order or not, ranks by host or round robin.
fn hosts(count: usize, ranks_per_host: usize, rng: &mut ChaCha8Rng) -> Hosts {
    let names: Vec<String> = (1..=count).map(|host| format!("node{host:04}")).collect();
    if rng.random_bool(0.7) {
        Hosts::new(names.iter().flat_map(|name| vec![name.clone(); ranks_per_host]))
    } else {
        Hosts::new(vec![names; ranks_per_host].concat())
    }
}

fn plan(hosts: Hosts, schedule: Schedule, needs: &Needs, rng: &mut ChaCha8Rng) -> Plan {
    let is_large = hosts.ranks() > 100;
    let lengths: &[u64] = match rng.random_range(0..4) {
        _ if needs.is_small || hosts.ranks() > 300 => &[0, 4096, 1 << 18, 1 << 20],
        0 => &[0, 1 << 10, 1 << 14, 1 << 18, 1 << 20],
        1 => &[8, 4096, 1 << 16, 1 << 18, 1 << 20],
        2 => &[0, 64, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22],
        _ => &[0, 256, 4096, 1 << 16, 1 << 20, 1 << 22],
    };
    let lengths: Vec<Bytes> = lengths.iter().map(|length| Bytes(*length)).collect();
    let config = Config {
        sweep: Sweep::list(&lengths).expect("ascending lengths"),
        iterations: if is_large { 10 } else { *[20, 40, 40, 100].choose(rng).unwrap() },
        schedule,
        sample_rounds: needs.rounds,
        seed: rng.random_range(1..1 << 40),
        ..Config::default()
    };
    Plan { mode: Mode::OneToOne, config, hosts }
}

fn parts(
    hosts: Hosts,
    network: Network,
    place: Vec<usize>,
    needs: &Needs,
    card: f64,
    capacity: f64,
    rng: &mut ChaCha8Rng,
) -> Parts {
    let core = rng.random_range(0.35e-6..0.7e-6);
    let hop = rng.random_range(0.08e-6..0.25e-6);
    let usual = 2.0 * core + 2.0 * hop;
    // "Healthy hosts differ by 1 to 3 % in latency": nearly all of them by less than that.
    let (of_hosts, of_cards) = (usual * rng.random_range(0.01..0.03) / 2.0, rng.random_range(0.0005..0.003));
    let of_pairs = usual * rng.random_range(0.001..0.01);
    let mut normal = |deviation: f64| {
        let normal: f64 = StandardNormal.sample(rng);
        deviation * normal.clamp(-2.0, 2.0)
    };
    let count = hosts.count();
    let variation = Variation {
        core: (0..count).map(|_| normal(of_hosts)).collect(),
        card: (0..count * needs.rails).map(|_| 1.0 + normal(of_cards)).collect(),
        cable: (0..network.cables()).map(|_| normal(0.03 * hop)).collect(),
        pair: (0..count * count).map(|_| normal(of_pairs) as f32).collect(),
    };
    Parts {
        core: vec![core; hosts.ranks()],
        card: vec![card; count * needs.rails],
        hosts,
        network,
        is_adaptive: needs.is_adaptive,
        place,
        rails: needs.rails,
        hop,
        cable: card / capacity,
        eager: *[1 << 13, 1 << 14, 1 << 15].choose(rng).unwrap(),
        memory: (0.3e-6, 1.0 / 20e9),
        variation,
        drift: 0.0,
        busy: Vec::new(),
    }
}

fn noise(rng: &mut ChaCha8Rng) -> Noise {
    Noise {
        latency: rng.random_range(0.01..0.05),
        transfer: rng.random_range(0.003..0.02),
        probability: rng.random_range(0.001f64.ln()..0.02f64.ln()).exp(),
        size: (1e-6, 100e-6),
        tick: if rng.random_bool(0.5) { 0.0 } else { rng.random_range(40e-9..240e-9) },
    }
}

//! Simulated platforms: command lines of `scripts/simgrid/run`, and what is true about them.

use rand::{
    RngExt, SeedableRng,
    seq::{IndexedRandom, SliceRandom},
};
use rand_chacha::ChaCha8Rng;

use crate::{
    network::Dragonfly,
    planted::{ANY, Answer, BOTH, CABLE, GATE, GROUP, LINK, NODE, POD, Planted, RECEIVE, ROUTES, SEND, Sign},
};

/// A row of the table.
pub struct Kind {
    pub name: &'static str,
    draw: fn(&mut Draft),
}

/// A platform.
pub struct Platform {
    /// Arguments.
    pub cluster: Vec<String>,
    pub planted: Vec<Planted>,
}

/// Everything stands out: nothing scatters.
const SIGMA: f64 = 100.0;

pub const KINDS: [Kind; 17] = [
    Kind { name: "healthy", draw: |draft| draft.leaves(&[4.0]) },
    Kind { name: "thin", draw: thin },
    Kind { name: "host", draw: |draft| hosts(draft, 1) },
    Kind { name: "late-host", draw: late_host },
    Kind { name: "several", draw: |draft| hosts(draft, 3) },
    Kind { name: "most-of-leaf", draw: most_of_leaf },
    Kind { name: "cable", draw: cable },
    Kind { name: "uplink", draw: uplink },
    Kind { name: "pair", draw: pair },
    Kind { name: "host-and-cable", draw: host_and_cable },
    Kind { name: "pods-healthy", draw: |draft| draft.pods() },
    Kind { name: "pods-uplink", draw: pods_uplink },
    Kind { name: "pod", draw: pod },
    Kind { name: "torus-healthy", draw: |draft| draft.torus() },
    Kind { name: "torus-cable", draw: torus_cable },
    Kind { name: "dragonfly", draw: |draft| draft.dragonfly() },
    Kind { name: "gate", draw: gate },
];

impl Kind {
    /// The platform of a seed.
    pub fn platform(&self, seed: u64) -> Platform {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let number = KINDS.iter().position(|kind| kind.name == self.name).expect("a kind is one of them");
        rng.set_stream(2000 + number as u64);
        let mut draft = Draft { rng, hosts: 0, leaf: 0, spines: 0, cluster: Vec::new(), planted: Vec::new() };
        (self.draw)(&mut draft);
        Platform { cluster: draft.cluster, planted: draft.planted }
    }
}

/// A platform that is being made.
struct Draft {
    rng: ChaCha8Rng,
    hosts: usize,
    leaf: usize,
    spines: usize,
    cluster: Vec<String>,
    planted: Vec<Planted>,
}

fn name(host: usize) -> String {
    format!("node{host:03}")
}

impl Draft {
    fn say(&mut self, words: &str) {
        self.cluster.extend(words.split_whitespace().map(str::to_owned));
    }

    fn fault(&mut self, words: &str) {
        self.say(&format!("--fault {words}"));
    }

    fn leaves(&mut self, capacity: &[f64]) {
        self.leaf = *[6, 8].choose(&mut self.rng).unwrap();
        self.hosts = self.leaf * *[3, 4, 5].choose(&mut self.rng).unwrap();
        self.spines = *[2, 3, 4].choose(&mut self.rng).unwrap();
        let capacity = *capacity.choose(&mut self.rng).unwrap();
        let words = format!("--topology leaves --hosts {} --leaf-hosts {}", self.hosts, self.leaf);
        self.say(&format!("{words} --spines {} --capacity {capacity}", self.spines));
    }

    fn pods(&mut self) {
        (self.leaf, self.spines, self.hosts) = (4, 2, *[24, 32].choose(&mut self.rng).unwrap());
        self.say(&format!("--topology pods --hosts {} --leaf-hosts 4 --spines 2 --capacity 2", self.hosts));
    }

    fn torus(&mut self) {
        self.hosts = *[27, 32, 48].choose(&mut self.rng).unwrap();
        self.say(&format!("--topology routed-torus --hosts {}", self.hosts));
    }

    fn dragonfly(&mut self) {
        self.hosts = *[24, 32, 40].choose(&mut self.rng).unwrap();
        self.say(&format!("--topology dragonfly --hosts {} --capacity 2", self.hosts));
    }

    fn members(&self, leaf: usize) -> Vec<String> {
        (leaf * self.leaf..(leaf + 1) * self.leaf).map(name).collect()
    }

    fn one_leaf(&mut self) -> usize {
        self.rng.random_range(0..self.hosts / self.leaf)
    }

    /// Both ways, or one of them: with the suffix that faults of a cable have.
    fn way(&mut self) -> (&'static str, &'static [&'static str]) {
        *[("", BOTH), ("", BOTH), (".send", SEND), (".receive", RECEIVE)].choose(&mut self.rng).unwrap()
    }

    fn plant(
        &mut self,
        words: String,
        kinds: &'static [&'static str],
        hosts: Vec<String>,
        directions: &'static [&'static str],
    ) {
        self.plant_any(words, vec![Answer { kinds, hosts, ranks: Vec::new(), directions }], "bandwidth");
    }

    fn plant_any(&mut self, words: String, answers: Vec<Answer>, part: &'static str) {
        let mut planted = Planted::new(words, Sign::Slow(part), Vec::new(), answers);
        planted.sigma = SIGMA;
        self.planted.push(planted);
    }

    fn slow_host(&mut self, host: usize, factor: f64, (suffix, directions): (&'static str, &'static [&'static str])) {
        let words = format!("{}{suffix}:bandwidth={factor:.2}", name(host));
        self.fault(&words);
        self.plant(words, NODE, vec![name(host)], directions);
    }
}

/// Eight hosts share the bandwidth of two.
fn thin(draft: &mut Draft) {
    draft.hosts = *[24, 32, 40].choose(&mut draft.rng).unwrap();
    draft.say(&format!("--topology leaves --hosts {} --leaf-hosts 8 --spines 2 --capacity 1", draft.hosts));
}

fn hosts(draft: &mut Draft, count: usize) {
    draft.leaves(&[4.0]);
    let (factor, way) = (draft.rng.random_range(0.25..0.8), draft.way());
    let first = draft.one_leaf() * draft.leaf;
    let mut all: Vec<usize> = (first..first + draft.leaf).collect();
    all.shuffle(&mut draft.rng);
    all.truncate(count);
    all.into_iter().for_each(|host| draft.slow_host(host, factor, way));
}

fn late_host(draft: &mut Draft) {
    draft.leaves(&[4.0]);
    let (host, factor) = (draft.rng.random_range(0..draft.hosts), draft.rng.random_range(2.0..20.0));
    let words = format!("{}:latency={factor:.1}", name(host));
    draft.fault(&words);
    let answers = vec![Answer { kinds: NODE, hosts: vec![name(host)], ranks: Vec::new(), directions: BOTH }];
    draft.plant_any(words, answers, "latency");
}

fn most_of_leaf(draft: &mut Draft) {
    draft.leaves(&[4.0]);
    let count = draft.leaf / 2 + 1;
    let first = draft.one_leaf() * draft.leaf;
    (first..first + count).for_each(|host| draft.slow_host(host, 0.5, ("", BOTH)));
}

fn plant_cable(draft: &mut Draft) {
    let (leaf, spine) = (draft.one_leaf(), draft.rng.random_range(0..draft.spines));
    let (factor, (_, directions)) = (draft.rng.random_range(0.2..0.7), draft.way());
    let (up, down) = (format!("leaf{leaf}/spine{spine}"), format!("spine{spine}/leaf{leaf}"));
    if directions != RECEIVE {
        draft.fault(&format!("{up}:bandwidth={factor:.2}"));
    }
    if directions != SEND {
        draft.fault(&format!("{down}:bandwidth={factor:.2}"));
    }
    let words = format!("one of {} cables of leaf {leaf} {} x{factor:.2}", draft.spines, directions[0]);
    draft.plant(words, ROUTES, draft.members(leaf), directions);
    let first = leaf * draft.leaf;
    let reached: Vec<usize> = (first..first + draft.leaf).filter(|host| host % draft.spines == spine).collect();
    if let ([only], true) = (&reached[..], directions != SEND) {
        let one = Answer { kinds: NODE, hosts: vec![name(*only)], ranks: Vec::new(), directions: RECEIVE };
        let planted = draft.planted.last_mut().expect("a cable was planted");
        if directions == RECEIVE { planted.answers.push(one) } else { planted.tolerated.push(one) }
    }
}

fn cable(draft: &mut Draft) {
    draft.leaves(&[1.0]);
    plant_cable(draft);
}

fn host_and_cable(draft: &mut Draft) {
    draft.leaves(&[1.0]);
    plant_cable(draft);
    let members = draft.planted[0].answers[0].hosts.clone();
    let others: Vec<usize> = (0..draft.hosts).filter(|host| !members.contains(&name(*host))).collect();
    let (host, way) = (*others.choose(&mut draft.rng).unwrap(), draft.way());
    let factor = draft.rng.random_range(0.2..0.6);
    draft.slow_host(host, factor, way);
}

fn uplink(draft: &mut Draft) {
    draft.leaves(&[1.0]);
    let (leaf, factor, (suffix, directions)) = (draft.one_leaf(), draft.rng.random_range(0.2..0.7), draft.way());
    let words = format!("leaf{leaf}{suffix}:bandwidth={factor:.2}");
    draft.fault(&words);
    draft.plant(words, GROUP, draft.members(leaf), directions);
}

fn pair(draft: &mut Draft) {
    draft.leaves(&[4.0]);
    let from = draft.rng.random_range(0..draft.hosts);
    let to = (from + draft.rng.random_range(1..draft.hosts)) % draft.hosts;
    let (both, factor) = (draft.rng.random_bool(0.5), draft.rng.random_range(0.1..0.6));
    draft.fault(&format!("{}/{}:bandwidth={factor:.2}", name(from), name(to)));
    if both {
        draft.fault(&format!("{}/{}:bandwidth={factor:.2}", name(to), name(from)));
    }
    let words = format!("{} to {} x{factor:.2}, both {both}", name(from), name(to));
    draft.plant(words, LINK, vec![name(from), name(to)], if both { BOTH } else { SEND });
    draft.planted[0].may_be_remark = true;
}

fn pods_uplink(draft: &mut Draft) {
    draft.pods();
    let (leaf, factor, (suffix, directions)) = (draft.one_leaf(), draft.rng.random_range(0.1..0.3), draft.way());
    let words = format!("leaf{leaf}{suffix}:bandwidth={factor:.2}");
    draft.fault(&words);
    draft.plant(words, GROUP, draft.members(leaf), directions);
}

fn pod(draft: &mut Draft) {
    draft.pods();
    let (pod, factor) = (draft.rng.random_range(0..draft.hosts / 8), draft.rng.random_range(0.1..0.3));
    (0..2).for_each(|spine| draft.fault(&format!("pod{pod}-{spine}:bandwidth={factor:.2}")));
    let words = format!("pod {pod} x{factor:.2}");
    draft.plant(words, POD, (8 * pod..8 * (pod + 1)).map(name).collect(), BOTH);
}

fn torus_cable(draft: &mut Draft) {
    draft.torus();
    let (from, factor) = (draft.rng.random_range(0..draft.hosts), draft.rng.random_range(0.2..0.6));
    // Along the first axis, whose side the number of hosts gives: 3 x 3 x 3, 2 x 4 x 4, 3 x 4 x 4.
    let side = if draft.hosts == 32 { 2 } else { 3 };
    let to = from - from % side + (from + 1) % side;
    for (a, b) in [(from, to), (to, from)] {
        draft.fault(&format!("switch{a}/switch{b}:bandwidth={factor:.2}"));
    }
    draft.plant(format!("torus cable {from} {to} x{factor:.2}"), CABLE, vec![name(from), name(to)], BOTH);
}

fn gate(draft: &mut Draft) {
    draft.dragonfly();
    let groups = draft.hosts / 8;
    let dragonfly = Dragonfly { groups, routers: 4, ports: 2 };
    let a = draft.rng.random_range(0..groups);
    let b = (a + draft.rng.random_range(1..groups)) % groups;
    let factor = draft.rng.random_range(0.1..0.3);
    for (cable, from, to) in dragonfly.ends() {
        if cable == dragonfly.gate(a, b) || cable == dragonfly.gate(b, a) {
            draft.fault(&format!("router{from}/router{to}:bandwidth={factor:.2}"));
        }
    }
    let group = |group: usize| (8 * group..8 * (group + 1)).map(name);
    let answer = |hosts: Vec<String>| Answer { kinds: GATE, hosts, ranks: Vec::new(), directions: ANY };
    let answers =
        vec![answer(group(a).chain(group(b)).collect()), answer(group(a).collect()), answer(group(b).collect())];
    draft.plant_any(format!("gate between groups {a} and {b} x{factor:.2}"), answers, "bandwidth");
}

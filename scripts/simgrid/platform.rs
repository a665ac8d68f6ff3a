//! Simulated clusters: hosts, switches and cables, planted faults, and the files that SimGrid reads.
//!
//! In: a topology, numbers of hosts, faults. Out: the texts of `platform.xml` and of the host file. Nothing is started
//! here, and no file is written.
//!
//! Every cable is two one-way links, so that one direction can be slowed alone. Where a topology has one way between two
//! hosts, SimGrid finds it by itself (routing `DijkstraCache`); where it has several, every route is written down
//! ([`routed`]).

use std::{collections::BTreeMap, fmt::Write, str::FromStr};

use clap::ValueEnum;

use crate::{network::Network, routed};

/// Seconds that a message takes through a host's cable.
const LATENCY: f64 = 400e-9;
/// Bytes per second of a host's cable: 100 Gbit/s.
const BANDWIDTH: f64 = 12.5e9;
/// Between ranks of one host: through memory.
const MEMORY: (f64, f64) = (10e9, 200e-9);

/// How the switches are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// Leaf switches of 16 hosts under one spine that carries whatever the leaves send
    LeafSpine,
    /// Leaf switches of 8 hosts, pods of 4 leaves, one core; every switch has half the bandwidth upwards that it has
    /// downwards
    FatTree,
    /// A 3-D torus: every host has a switch with six neighbours
    Torus,
    /// Leaf switches (--leaf-hosts) with a cable to each of some spines (--spines): the destination chooses the cable
    Leaves,
    /// The same in pods of two leaves, whose second level has two cables each to the third
    Pods,
    /// A torus with routes in the order of its dimensions
    RoutedTorus,
    /// A dragonfly of groups of 4 routers with 2 hosts each, with minimal routes
    Dragonfly,
}

/// Sizes that a topology with several ways between two hosts is made of.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Hosts of a leaf switch.
    pub leaf: usize,
    /// Cables of a leaf switch upwards.
    pub spines: usize,
    /// Bandwidth of a cable between switches over that of a host's.
    pub capacity: f64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { leaf: 8, spines: 4, capacity: 1.0 }
    }
}

/// A one-way link: its bandwidth in bytes per second, its latency in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Link {
    bandwidth: f64,
    latency: f64,
}

/// A simulated cluster.
#[derive(Clone, Debug)]
pub struct Platform {
    hosts: Vec<String>,
    switches: Vec<String>,
    /// One-way links by the names of the two ends.
    links: BTreeMap<(String, String), Link>,
    /// Where the cables of a host or switch towards the core end.
    above: BTreeMap<String, Vec<String>>,
    /// What chooses the cables, where there are several.
    network: Option<Network>,
    /// Pairs of hosts whose way has a bad part that no other way has: bandwidth and latency.
    pairs: BTreeMap<(String, String), Link>,
}

/// What is wrong with a cable, or with one direction of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    place: Place,
    /// Factor.
    bandwidth: f64,
    /// Factor.
    latency: f64,
}

/// Which link has a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// The cables of a host or switch towards the core: out of it, into it, or both.
    Above { name: String, out: bool, into: bool },
    /// The link from one neighbour to the other, or the way from one host to another.
    Between { from: String, to: String },
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "{why}; write for example node017:bandwidth=0.25, node017.send:latency=20 or switch1/switch2:bandwidth=0.5"
            )
        };
        let (place, factors) = text.split_once(':').ok_or_else(|| wrong("there is no `:` before the factors"))?;
        let mut fault = Self { place: place.parse().map_err(|why: &str| wrong(why))?, bandwidth: 1.0, latency: 1.0 };
        for factor in factors.split(',') {
            let (what, value) = factor.split_once('=').ok_or_else(|| wrong("a factor has no `=`"))?;
            let value: f64 = value.parse().map_err(|_| wrong(&format!("`{value}` is not a number")))?;
            if !(value.is_finite() && value > 0.0) {
                return Err(wrong("a factor must be above 0"));
            }
            match what {
                "bandwidth" => fault.bandwidth = value,
                "latency" => fault.latency = value,
                _ => return Err(wrong(&format!("`{what}` is neither bandwidth nor latency"))),
            }
        }
        Ok(fault)
    }
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if let Some((from, to)) = text.split_once('/') {
            return Ok(Self::Between { from: from.to_owned(), to: to.to_owned() });
        }
        let (name, direction) = text.split_once('.').unwrap_or((text, "both"));
        let (out, into) = match direction {
            "both" => (true, true),
            "send" => (true, false),
            "receive" => (false, true),
            _ => return Err("a direction is send or receive"),
        };
        Ok(Self::Above { name: name.to_owned(), out, into })
    }
}

impl Platform {
    /// A healthy cluster. The error says which numbers of hosts the topology allows.
    pub fn new(topology: Topology, hosts: usize, sizes: Sizes) -> Result<Self, String> {
        let mut platform = Self {
            hosts: (0..hosts).map(|number| format!("node{number:03}")).collect(),
            switches: Vec::new(),
            links: BTreeMap::new(),
            above: BTreeMap::new(),
            network: None,
            pairs: BTreeMap::new(),
        };
        match topology {
            Topology::LeafSpine => platform.grow(&[(16, 1.0)], "spine"),
            Topology::FatTree => platform.grow(&[(8, 0.5), (4, 0.5)], "core"),
            Topology::Torus => platform.wrap(hosts)?,
            Topology::Leaves | Topology::Pods | Topology::RoutedTorus | Topology::Dragonfly => {
                platform.weave(routed::network(topology, hosts, sizes)?, sizes.capacity);
            }
        }
        Ok(platform)
    }

    /// A tree: for every level of switches how many they join, and how much bandwidth they have upwards for each unit
    /// downwards.
    fn grow(&mut self, levels: &[(usize, f64)], root: &str) {
        let mut below: Vec<(String, f64)> = self.hosts.iter().map(|host| (host.clone(), BANDWIDTH)).collect();
        for ((size, share), kind) in levels.iter().zip(["leaf", "pod"]) {
            let groups: Vec<_> = below.chunks(*size).map(<[_]>::to_vec).collect();
            below = groups
                .iter()
                .enumerate()
                .map(|(number, group)| {
                    let switch = format!("{kind}{number}");
                    self.switches.push(switch.clone());
                    for (name, bandwidth) in group {
                        self.hang(name, &switch, *bandwidth);
                    }
                    (switch, size.to_owned() as f64 * group[0].1 * share)
                })
                .collect();
        }
        self.switches.push(root.to_owned());
        for (name, bandwidth) in &below {
            self.hang(name, root, *bandwidth);
        }
    }

    /// A network with several ways between two hosts.
    fn weave(&mut self, network: Network, capacity: f64) {
        for (host, name) in self.hosts.clone().into_iter().enumerate() {
            let switch = routed::switch_of(&network, host);
            self.hang(&name, &switch, BANDWIDTH);
        }
        for (from, to) in routed::cables(&network).into_iter().flatten() {
            if routed::is_upward(&from, &to) {
                self.above.entry(from.clone()).or_default().push(to.clone());
            }
            self.links.insert((from, to), Link { bandwidth: capacity * BANDWIDTH, latency: LATENCY });
        }
        let mut switches: Vec<String> =
            self.links.keys().map(|(from, _)| from.clone()).filter(|name| !self.hosts.contains(name)).collect();
        switches.dedup();
        self.switches = switches;
        self.network = Some(network);
    }

    /// A 3-D torus as near to a cube as the number of hosts allows.
    fn wrap(&mut self, hosts: usize) -> Result<(), String> {
        let sides = sides(hosts)?;
        let number = |[x, y, z]: [usize; 3]| x + sides[0] * (y + sides[1] * z);
        for place in 0..hosts {
            let at = [place % sides[0], place / sides[0] % sides[1], place / sides[0] / sides[1]];
            let switch = format!("switch{place}");
            self.switches.push(switch.clone());
            let host = self.hosts[place].clone();
            self.hang(&host, &switch, BANDWIDTH);
            for axis in 0..3 {
                let mut next = at;
                next[axis] = (at[axis] + 1) % sides[axis];
                self.join(&switch, &format!("switch{}", number(next)), BANDWIDTH);
            }
        }
        Ok(())
    }

    fn hang(&mut self, name: &str, switch: &str, bandwidth: f64) {
        self.join(name, switch, bandwidth);
        self.above.insert(name.to_owned(), vec![switch.to_owned()]);
    }

    fn join(&mut self, a: &str, b: &str, bandwidth: f64) {
        for (from, to) in [(a, b), (b, a)] {
            self.links.insert((from.to_owned(), to.to_owned()), Link { bandwidth, latency: LATENCY });
        }
    }

    /// Makes links slow. The error names what the cluster does not have.
    pub fn plant(&mut self, fault: &Fault) -> Result<(), String> {
        let places: Vec<(String, String)> = match &fault.place {
            Place::Between { from, to }
                if self.network.is_some() && self.hosts.contains(from) && self.hosts.contains(to) =>
            {
                let link = Link { bandwidth: BANDWIDTH * fault.bandwidth, latency: LATENCY * (fault.latency - 1.0) };
                self.pairs.insert((from.clone(), to.clone()), link);
                return Ok(());
            }
            Place::Between { from, to } => vec![(from.clone(), to.clone())],
            Place::Above { name, out, into } => {
                let above = self.above.get(name).ok_or_else(|| self.unknown(name))?;
                let both = |end: &String| [(name.clone(), end.clone()), (end.clone(), name.clone())];
                let wanted = |end| both(end).into_iter().zip([*out, *into]);
                above.iter().flat_map(wanted).filter_map(|(place, wanted)| wanted.then_some(place)).collect()
            }
        };
        for place in places {
            let Some(link) = self.links.get_mut(&place) else {
                return Err(format!("there is no cable between `{}` and `{}`", place.0, place.1));
            };
            link.bandwidth *= fault.bandwidth;
            link.latency *= fault.latency;
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> String {
        let known = |names: &[String]| match names {
            [first, .., last] => format!("{first} to {last}"),
            _ => names.join(", "),
        };
        let switches: Vec<_> = self.switches.iter().filter(|name| self.above.contains_key(*name)).cloned().collect();
        format!("no cable leads from `{name}` towards the core: there are {} {}", known(&self.hosts), known(&switches))
            .trim_end()
            .to_owned()
    }

    /// What SimGrid reads as its platform.
    pub fn xml(&self) -> String {
        let mut xml = String::from(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\">\n",
        );
        let routing = if self.network.is_some() { "Full" } else { "DijkstraCache" };
        let mut line = |text: String| writeln!(xml, "{text}").expect("a string takes everything");
        line(format!("<zone id=\"cluster\" routing=\"{routing}\">"));
        self.hosts.iter().for_each(|host| line(format!("<host id=\"{host}\" speed=\"1Gf\"/>")));
        self.switches.iter().for_each(|switch| line(format!("<router id=\"{switch}\"/>")));
        let link = |id: &str, bandwidth: f64, latency: f64, policy: &str| {
            format!("<link id=\"{id}\" bandwidth=\"{bandwidth:.0}Bps\" latency=\"{latency:.3e}s\"{policy}/>")
        };
        for ((from, to), Link { bandwidth, latency }) in &self.links {
            line(link(&format!("{from}_{to}"), *bandwidth, *latency, ""));
        }
        for host in &self.hosts {
            line(link(&format!("memory_{host}"), MEMORY.0, MEMORY.1, " sharing_policy=\"FATPIPE\""));
        }
        for ((from, to), Link { bandwidth, latency }) in &self.pairs {
            line(link(&format!("pair_{from}_{to}"), *bandwidth, *latency, ""));
        }
        let route = |from: &str, to: &str, links: &[String]| {
            let links: String = links.iter().map(|link| format!("<link_ctn id=\"{link}\"/>")).collect();
            format!("<route src=\"{from}\" dst=\"{to}\" symmetrical=\"NO\">{links}</route>")
        };
        match &self.network {
            None => self.links.keys().for_each(|(from, to)| line(route(from, to, &[format!("{from}_{to}")]))),
            Some(network) => self.routes(network).for_each(|(from, to, links)| line(route(from, to, &links))),
        }
        self.hosts.iter().for_each(|host| line(route(host, host, &[format!("memory_{host}")])));
        xml + "</zone>\n</platform>\n"
    }

    /// Every route between two hosts: its ends and its links.
    fn routes<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (&'a str, &'a str, Vec<String>)> {
        let cables = routed::cables(network);
        let count = self.hosts.len();
        let pairs = (0..count).flat_map(move |a| (0..count).filter(move |b| *b != a).map(move |b| (a, b)));
        pairs.map(move |(a, b)| {
            let (from, to) = (&self.hosts[a], &self.hosts[b]);
            let name = |cable: usize| {
                let (from, to) = cables[cable].as_ref().expect("a route crosses cables that are there");
                format!("{from}_{to}")
            };
            let between = network.route(a, b, None).cables.into_iter().map(name);
            let mut links = vec![format!("{from}_{}", self.above[from][0])];
            links.extend(between);
            links.push(format!("{}_{to}", self.above[to][0]));
            if self.pairs.contains_key(&(from.clone(), to.clone())) {
                links.push(format!("pair_{from}_{to}"));
            }
            (from.as_str(), to.as_str(), links)
        })
    }

    /// The host of every rank, a line each: the ranks of a host follow one another.
    pub fn host_file(&self, ranks_per_host: usize) -> String {
        self.hosts
            .iter()
            .flat_map(|host| std::iter::repeat_n(host, ranks_per_host))
            .map(|host| format!("{host}\n"))
            .collect()
    }
}

/// The three sides of the box of `hosts` that is nearest to a cube. The error says that there is none.
pub fn sides(hosts: usize) -> Result<[usize; 3], String> {
    let divisors = |number: usize| (2..=number).filter(move |side| number.is_multiple_of(*side));
    let boxes = divisors(hosts).flat_map(|x| {
        divisors(hosts / x).filter_map(move |y| {
            let z = hosts / x / y;
            (x <= y && y <= z).then_some([x, y, z])
        })
    });
    boxes.min_by_key(|[x, y, z]| x + y + z).ok_or_else(|| {
        format!("a torus needs three sides of 2 or more: {hosts} hosts make none, 64 (4 x 4 x 4) or 128 (4 x 4 x 8) do")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(topology: Topology, hosts: usize, fault: &str) -> Result<Platform, String> {
        let mut platform = Platform::new(topology, hosts, Sizes::default())?;
        platform.plant(&fault.parse()?)?;
        Ok(platform)
    }

    fn slowed(platform: &Platform, healthy: &Platform) -> Vec<(String, f64, f64)> {
        let both = platform.links.iter().zip(&healthy.links);
        let factors = both.map(|((name, link), (_, before))| {
            (format!("{} {}", name.0, name.1), link.bandwidth / before.bandwidth, link.latency / before.latency)
        });
        factors.filter(|(_, bandwidth, latency)| (*bandwidth, *latency) != (1.0, 1.0)).collect()
    }

    #[test]
    fn a_fault_slows_the_links_it_names_and_no_other() {
        let healthy = Platform::new(Topology::LeafSpine, 64, Sizes::default()).unwrap();
        for (fault, links) in [
            ("node017:bandwidth=0.25", vec![("leaf1 node017", 0.25, 1.0), ("node017 leaf1", 0.25, 1.0)]),
            ("node017.send:latency=4,bandwidth=0.5", vec![("node017 leaf1", 0.5, 4.0)]),
            ("leaf2.receive:bandwidth=0.5", vec![("spine leaf2", 0.5, 1.0)]),
            ("leaf2/spine:latency=2", vec![("leaf2 spine", 1.0, 2.0)]),
        ] {
            let platform = with(Topology::LeafSpine, 64, fault).unwrap();
            let expected: Vec<_> = links.into_iter().map(|(name, b, l)| (name.to_owned(), b, l)).collect();
            assert_eq!(slowed(&platform, &healthy), expected, "{fault}");
        }
    }

    #[test]
    fn a_fault_that_cannot_be_is_refused() {
        for (fault, part) in [
            ("node017", "no `:`"),
            ("node017:bandwidth=0", "above 0"),
            ("node017:bandwidth=x", "`x` is not a number"),
            ("node017:width=2", "neither"),
            ("node017.up:latency=2", "send or receive"),
            ("node064:latency=2", "node000 to node063 leaf0 to leaf3"),
            ("leaf0/leaf1:latency=2", "no cable between `leaf0` and `leaf1`"),
        ] {
            let error = with(Topology::LeafSpine, 64, fault).unwrap_err();
            assert!(error.contains(part), "{fault}: {error}");
        }
        assert!(with(Topology::Torus, 62, "node000:latency=2").unwrap_err().contains("62 hosts"));
    }

    #[test]
    fn routes_that_are_written_down_cross_the_cable_that_the_destination_chooses() {
        let xml = with(Topology::Leaves, 24, "leaf1:bandwidth=0.5").unwrap().xml();
        let route = |from: usize, to: usize| {
            let start = format!("<route src=\"node{from:03}\" dst=\"node{to:03}\"");
            xml.lines().find(|line| line.starts_with(&start)).unwrap().to_owned()
        };
        assert!(
            route(0, 9).contains("\"leaf0_spine1\"") && route(0, 9).contains("\"spine1_leaf1\""),
            "{}",
            route(0, 9)
        );
        assert!(route(0, 12).contains("\"leaf0_spine0\""), "{}", route(0, 12));
        assert!(!route(0, 1).contains("spine"), "{}", route(0, 1));
        assert_eq!(xml.matches("bandwidth=\"6250000000Bps\"").count(), 2 * 4, "the whole uplink is slow");
    }

    #[test]
    fn a_pair_of_hosts_has_a_way_of_its_own_where_routes_are_written_down() {
        let xml = with(Topology::Leaves, 24, "node003/node017:bandwidth=0.25").unwrap().xml();
        assert_eq!(xml.matches("<link_ctn id=\"pair_node003_node017\"/>").count(), 1);
        for topology in [Topology::Pods, Topology::RoutedTorus, Topology::Dragonfly] {
            let xml = with(topology, 24, "node003:latency=2").unwrap().xml();
            assert_eq!(xml.matches("<route ").count(), 24 * 24, "{topology:?}");
        }
    }

    #[test]
    fn a_fat_tree_halves_its_bandwidth_at_every_switch() {
        let tree = Platform::new(Topology::FatTree, 64, Sizes::default()).unwrap();
        let bandwidth = |from: &str, to: &str| tree.links[&(from.to_owned(), to.to_owned())].bandwidth / BANDWIDTH;
        assert_eq!(
            (bandwidth("node000", "leaf0"), bandwidth("leaf0", "pod0"), bandwidth("pod1", "core")),
            (1.0, 4.0, 8.0)
        );
    }

    #[test]
    fn a_torus_joins_every_switch_to_six_others() {
        assert_eq!((sides(64), sides(128), sides(62).ok()), (Ok([4, 4, 4]), Ok([4, 4, 8]), None));
        let torus = Platform::new(Topology::Torus, 64, Sizes::default()).unwrap();
        for switch in &torus.switches {
            let neighbours = torus.links.keys().filter(|(from, to)| from == switch && to.starts_with("switch"));
            assert_eq!(neighbours.count(), 6, "{switch}");
        }
    }
}

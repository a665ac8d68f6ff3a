//! Which hosts are near each other: as somebody has written it down, and as the data show it.
//!
//! In: the text of a file (Slurm's `topology.yaml` or `topology.conf`, the output of `scontrol show topology` or of
//! `ibnetdiscover`, a DOT graph) and the hosts of a run. Out: [`Topology`], groups of hosts by level. What the data say
//! is in [`inferred`]; where the two disagree, in [`contradiction`].
//!
//! ```text
//! text -> slurm, yaml -> switches    -+-> groups as they are written -> Topology (every level covers all hosts)
//!      -> dot, infiniband -> graph   -+
//! ```

pub mod contradiction;
mod dot;
mod graph;
pub mod inferred;
mod infiniband;
mod slurm;
mod switches;
mod yaml;

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::units::{Hosts, hostlist, shown};

/// Hosts that share a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The switch.
    pub name: String,
    /// Hosts by number, ascending.
    pub hosts: Vec<usize>,
}

/// Groups of the hosts of a run, as a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// `[level][group]`, innermost level first, in the order of the file; every host is in at least one group of every
    /// level. A host on several switches is in several groups.
    pub levels: Vec<Vec<Group>>,
    /// Hosts of the run that the file does not place: each is a group of its own.
    pub missing: Vec<usize>,
}

/// Why a text tells no groups.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A line that cannot be understood.
    #[error("line {line}: {reason}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// A switch hangs on itself.
    #[error("switch `{0}` hangs on itself, directly or through others: correct its Switches=")]
    Circle(String),
    /// What is one thing is written down as two.
    #[error("{0}")]
    Contradiction(String),
    /// No switch has a host of the run.
    #[error("no host of the run is on any of its switches: the run's hosts are {0}; are names spelled as there?")]
    Unknown(String),
}

/// Longest name of several switches.
const LONGEST_NAME: usize = 60;

impl Topology {
    /// From a text, whose kind its content tells.
    pub fn read(text: &str, hosts: &Hosts) -> Result<Self, TopologyError> {
        let names = Names::of(hosts);
        let levels = if dot::is_graph(text) {
            graph::levels(&dot::parse(text)?, &names)
        } else if infiniband::is_discovered(text) {
            graph::levels(&infiniband::parse(text), &names)
        } else if yaml::is_yaml(text) {
            yaml::levels(text, &names)?
        } else {
            slurm::levels(text, &names)?
        };
        let unplaced = || TopologyError::Unknown(hostlist::compress(hosts.names()));
        let mut topology = covering(levels, hosts).ok_or_else(unplaced)?;
        for group in topology.levels.iter_mut().flatten() {
            group.name = shown(&group.name).into_owned();
        }
        Ok(topology)
    }

    /// The innermost groups as parts without common hosts, but for hosts that the file does not place: hosts that are
    /// on several switches are a part of their own.
    pub fn leaves(&self) -> Vec<Group> {
        let mut of_host: HashMap<usize, Vec<usize>> = HashMap::new();
        for (number, group) in self.levels[0].iter().enumerate() {
            group.hosts.iter().for_each(|host| of_host.entry(*host).or_default().push(number));
        }
        self.missing.iter().for_each(|host| drop(of_host.remove(host)));
        let mut parts: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
        of_host.into_iter().for_each(|(host, groups)| parts.entry(groups).or_default().push(host));
        let mut parts: Vec<_> = parts.into_iter().collect();
        parts.sort_unstable();
        let named = parts.into_iter().map(|(groups, mut hosts)| {
            hosts.sort_unstable();
            let names = groups.iter().map(|group| self.levels[0][*group].name.clone()).collect();
            Group { name: joined(names), hosts }
        });
        named.collect()
    }
}

/// Finds hosts of the run by the names of a file.
struct Names<'a> {
    exact: HashMap<&'a str, usize>,
    /// By the name without its domain, where it is one host's alone.
    short: HashMap<&'a str, Option<usize>>,
}

impl<'a> Names<'a> {
    fn of(hosts: &'a Hosts) -> Self {
        let mut names = Self { exact: HashMap::new(), short: HashMap::new() };
        for (host, name) in hosts.names().iter().enumerate() {
            names.exact.insert(name, host);
            if let Some((short, _)) = name.split_once('.') {
                names.short.entry(short).and_modify(|known| *known = None).or_insert(Some(host));
            }
        }
        names
    }

    /// A host; with a domain on one side only, the rest of the name decides.
    fn find(&self, name: &str) -> Option<usize> {
        let without_domain = || match name.split_once('.') {
            Some((short, _)) => self.exact.get(short).copied(),
            None => self.short.get(name).copied().flatten(),
        };
        self.exact.get(name).copied().or_else(without_domain)
    }
}

/// Levels of which each holds every host, without groups that tell nothing new. `None` if no host is in any group.
fn covering(written: Vec<Vec<Group>>, hosts: &Hosts) -> Option<Topology> {
    let mut levels: Vec<Vec<Group>> = written.into_iter().map(merged).filter(|level| !level.is_empty()).collect();
    let placed: HashSet<usize> = levels.iter().flatten().flat_map(|group| group.hosts.iter().copied()).collect();
    let missing: Vec<usize> = (0..hosts.count()).filter(|host| !placed.contains(host)).collect();
    if levels.is_empty() {
        return None;
    }
    // Hosts that hang on a switch of a higher level are a group of the lowest one, too.
    let (lowest, above) = levels.split_at_mut(1);
    let mut covered: HashSet<usize> = lowest[0].iter().flat_map(|group| group.hosts.iter().copied()).collect();
    for group in above.iter().flatten() {
        let direct: Vec<usize> = group.hosts.iter().copied().filter(|host| !covered.contains(host)).collect();
        covered.extend(&direct);
        if !direct.is_empty() {
            lowest[0].push(Group { name: group.name.clone(), hosts: direct });
        }
    }
    let alone = missing.iter().map(|host| Group { name: hosts.names()[*host].clone(), hosts: vec![*host] });
    lowest[0].extend(alone);
    // The only leaf in use below a switch says all that the switch does.
    let mut known: HashSet<Vec<usize>> = HashSet::new();
    for level in &mut levels {
        level.retain(|group| !known.contains(&group.hosts));
        known.extend(level.iter().map(|group| group.hosts.clone()));
    }
    levels.retain(|level| !level.is_empty());
    for level in 1..levels.len() {
        let covered: HashSet<usize> = levels[level].iter().flat_map(|group| group.hosts.iter().copied()).collect();
        let rest = levels[level - 1].iter().map(|group| Group {
            name: group.name.clone(),
            hosts: group.hosts.iter().copied().filter(|host| !covered.contains(host)).collect(),
        });
        let rest: Vec<Group> = rest.filter(|group| !group.hosts.is_empty()).collect();
        levels[level].extend(rest);
    }
    // Adapters drawn as nodes, or hosts none of which share a leaf: who is near whom is seen one level higher.
    while levels.len() > 1 && levels[0].iter().all(|group| group.hosts.len() == 1) {
        levels.remove(0);
    }
    Some(Topology { levels, missing })
}

/// Groups of the same hosts as one: many spines lead to the same leaves.
fn merged(level: Vec<Group>) -> Vec<Group> {
    let mut place: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut groups: Vec<(Vec<usize>, Vec<String>)> = Vec::new();
    for Group { name, mut hosts } in level {
        hosts.sort_unstable();
        hosts.dedup();
        let number = *place.entry(hosts.clone()).or_insert(groups.len());
        match groups.get_mut(number) {
            Some((_, names)) => names.push(name),
            None => groups.push((hosts, vec![name])),
        }
    }
    groups.retain(|(hosts, _)| !hosts.is_empty());
    groups.into_iter().map(|(hosts, names)| Group { name: joined(names), hosts }).collect()
}

/// One name of several: as a list where it is short, else the first one and how many more.
fn joined(mut names: Vec<String>) -> String {
    let is_plain = |name: &String| !name.contains([',', '[', ']']);
    if names.len() == 1 {
        return names.remove(0);
    }
    let list = if names.iter().all(is_plain) { hostlist::compress(&names) } else { names.join(", ") };
    if list.chars().count() <= LONGEST_NAME { list } else { format!("{} and {} more", names[0], names.len() - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::new((1..=6).map(|number| format!("n{number}")))
    }

    fn read(text: &str) -> Topology {
        Topology::read(text, &hosts()).unwrap()
    }

    /// Levels as text: groups with their hosts.
    fn levels(topology: &Topology) -> Vec<String> {
        let group = |group: &Group| format!("{}:{:?}", group.name, group.hosts);
        topology.levels.iter().map(|level| level.iter().map(group).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn both_kinds_of_file_say_the_same() {
        let slurm = "SwitchName=leaf1 Nodes=n[1-3]\nSwitchName=leaf2 Nodes=n[4-6]\nSwitchName=spine Switches=leaf[1-2]";
        let dot = "graph { leaf1 -- {n1 n2 n3}; leaf2 -- {n4 n5 n6}; spine -- {leaf1 leaf2} }";
        assert_eq!(read(slurm), read(dot));
        assert_eq!(levels(&read(slurm)), ["leaf1:[0, 1, 2] leaf2:[3, 4, 5]", "spine:[0, 1, 2, 3, 4, 5]"]);
    }

    #[test]
    fn missing_hosts_are_alone_on_every_level() {
        let topology = read("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=c Switches=a,b");
        assert_eq!(topology.missing, [4, 5]);
        assert_eq!(levels(&topology), ["a:[0, 1] b:[2, 3] n5:[4] n6:[5]", "c:[0, 1, 2, 3] n5:[4] n6:[5]"]);
        let leaves: Vec<_> = topology.leaves().into_iter().map(|group| group.name).collect();
        assert_eq!(leaves, ["a", "b"]);
    }

    #[test]
    fn every_level_holds_every_host() {
        // A host on the spine, a branch that is less deep, and one with a single leaf in use.
        let text = "SwitchName=a Nodes=n1,n2\nSwitchName=b Nodes=n3\nSwitchName=c Nodes=n4,n5\nSwitchName=p Switches=a,b\n\
                    SwitchName=q Switches=c,x\nSwitchName=x Nodes=z\nSwitchName=top Switches=p,q Nodes=n6";
        let expected = ["a:[0, 1] b:[2] c:[3, 4] top:[5]", "p:[0, 1, 2] c:[3, 4] top:[5]", "top:[0, 1, 2, 3, 4, 5]"];
        assert_eq!(levels(&read(text)), expected);
    }

    #[test]
    fn spines_to_the_same_leaves_are_one() {
        let text = "graph { n1--a n2--a n3--a n4--b n5--b n6--b  s1--{a b} s2--{a b} s3--{a b} }";
        assert_eq!(levels(&read(text)), ["a:[0, 1, 2] b:[3, 4, 5]", "s[1-3]:[0, 1, 2, 3, 4, 5]"]);
        assert_eq!(joined(["a,b", "c"].map(String::from).to_vec()), "a,b, c");
        let long: Vec<String> = ('a'..='i').map(|letter| format!("S-{letter}{}", "x".repeat(30))).collect();
        assert!(joined(long).ends_with("and 8 more"));
    }

    #[test]
    fn hosts_on_several_switches_are_a_part_by_their_set() {
        let text = "graph { {n1 n2 n3} -- {r1 r2}; {n4 n5} -- {r3 r4}; n6 -- r4 }";
        let topology = read(text);
        let leaves: Vec<_> = topology.leaves().into_iter().map(|group| (group.name, group.hosts)).collect();
        let expected = [("r[1-2]", vec![0, 1, 2]), ("r[3-4]", vec![3, 4]), ("r4", vec![5])];
        assert_eq!(leaves, expected.map(|(name, hosts)| (name.to_owned(), hosts)));
    }

    #[test]
    fn a_domain_on_one_side_does_no_harm() {
        let run = Hosts::new(["n1.site.org", "n2.site.org", "x.a.org", "x.b.org", "m1", "10.0.0.1"]);
        let names = Names::of(&run);
        let find = |name: &str| names.find(name);
        assert_eq!((find("n1"), find("n1.site.org"), find("n1.other.org")), (Some(0), Some(0), None));
        assert_eq!((find("x"), find("m1.site.org"), find("10.0.0.2"), find("m2")), (None, Some(4), None, None));
    }

    #[test]
    fn strangers_are_told_apart_from_mistakes() {
        for text in ["", "# nothing\n", "SwitchName=a Nodes=x", "graph { a -- b }", "digraph {}"] {
            let error = Topology::read(text, &hosts()).unwrap_err();
            assert_eq!(error, TopologyError::Unknown("n[1-6]".into()), "{text}");
        }
    }
}

//! Switches as Slurm's files list them: hosts and further switches by name.
//!
//! In: [`Switch`]es from a reader of a file. Out: groups of every level.

use std::collections::{HashMap, HashSet};

use super::{Group, Names, TopologyError};
use crate::units::hostlist::{self, HostListError, MAX_HOSTS};

/// Most names in all lists of a file, as of one list: a larger file is a typing error that would fill the memory.
const MOST_NAMES: usize = MAX_HOSTS;

/// Most connections between switches, each of which may carry a list of hosts upwards: a tree has fewer
/// switches than hosts.
const MOST_CONNECTIONS: usize = MAX_HOSTS;

/// A switch, a block or a ring.
#[derive(Debug, Default)]
pub(super) struct Switch {
    pub name: String,
    pub nodes: Vec<String>,
    pub switches: Vec<String>,
}

/// Reads the lists of one file, which must not name too much in all.
pub(super) struct Lists(usize);

impl Lists {
    /// Nothing is read yet.
    pub(super) fn new() -> Self {
        Self(MOST_NAMES)
    }

    /// The names of a list.
    pub(super) fn expand(&mut self, list: &str) -> Result<Vec<String>, String> {
        let names = hostlist::expand_up_to(list, self.0).map_err(|error| match error {
            HostListError::TooMany { text, .. } => {
                format!("with `{text}` the lists of this file name more than {MOST_NAMES} hosts and switches")
            }
            other => other.to_string(),
        })?;
        self.0 -= names.len();
        Ok(names)
    }
}

/// The groups of every level, innermost first, in the order of the file.
pub(super) fn levels(switches: Vec<Switch>, names: &Names) -> Result<Vec<Vec<Group>>, TopologyError> {
    check(&switches, names)?;
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, switch) in switches.iter().enumerate() {
        by_name.entry(&switch.name).or_default().push(number);
    }
    let below = |switch: &Switch| -> Vec<usize> {
        switch.switches.iter().filter_map(|name| by_name.get(name.as_str())).flatten().copied().collect()
    };
    let connections: usize = switches.iter().map(|switch| switch.switches.len()).sum();
    if connections > MOST_CONNECTIONS {
        return Err(TopologyError::Contradiction(format!("it has more than {MOST_CONNECTIONS} connections")));
    }
    let mut above: Vec<Vec<usize>> = vec![Vec::new(); switches.len()];
    let mut waits_for: Vec<usize> = vec![0; switches.len()];
    for (number, switch) in switches.iter().enumerate() {
        for child in below(switch) {
            above[child].push(number);
            waits_for[number] += 1;
        }
    }
    let found = |switch: &Switch| switch.nodes.iter().filter_map(|name| names.find(name)).collect();
    let mut hosts: Vec<Vec<usize>> = switches.iter().map(found).collect();
    let mut level = vec![0; switches.len()];
    let mut ready: Vec<usize> = (0..switches.len()).filter(|number| waits_for[*number] == 0).collect();
    while let Some(number) = ready.pop() {
        hosts[number].sort_unstable();
        hosts[number].dedup();
        for &parent in &above[number] {
            let more = hosts[number].clone();
            hosts[parent].extend(more);
            level[parent] = level[parent].max(level[number] + 1);
            waits_for[parent] -= 1;
            if waits_for[parent] == 0 {
                ready.push(parent);
            }
        }
    }
    if let Some(number) = waits_for.iter().position(|count| *count > 0) {
        return Err(TopologyError::Circle(switches[number].name.clone()));
    }
    let mut levels: Vec<Vec<Group>> = vec![Vec::new(); level.iter().max().map_or(0, |top| top + 1)];
    for ((switch, hosts), level) in switches.into_iter().zip(hosts).zip(level) {
        levels[level].push(Group { name: switch.name, hosts });
    }
    Ok(levels)
}

/// Refuses two switches of one name, and a host on two leaves: both are mistakes, and what is meant cannot be known.
fn check(switches: &[Switch], names: &Names) -> Result<(), TopologyError> {
    let mut known = HashSet::new();
    if let Some(switch) = switches.iter().find(|switch| !known.insert(&*switch.name)) {
        let text =
            format!("two lines name the switch `{}`: give every switch a name and a line of its own", switch.name);
        return Err(TopologyError::Contradiction(text));
    }
    let mut leaf_of: HashMap<usize, &str> = HashMap::new();
    for switch in switches.iter().filter(|switch| switch.switches.is_empty()) {
        for (name, host) in switch.nodes.iter().filter_map(|name| Some((name, names.find(name)?))) {
            if let Some(other) = leaf_of.insert(host, &switch.name).filter(|other| *other != switch.name) {
                let text = format!("the host `{name}` is on two leaves, `{other}` and `{}`", switch.name);
                return Err(TopologyError::Contradiction(text));
            }
        }
    }
    Ok(())
}

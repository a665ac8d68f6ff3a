//! Which hosts share a switch, as a machine's administrators have written it down for Slurm.
//!
//! In: the text of a `topology.conf` and the hosts of a run. Out: groups of hosts by level, from the switches that hosts
//! hang on to those that switches hang on. Hosts of the file that are not in the run are left out, and so are switches
//! without any host of the run.

use serde::Serialize;

use crate::units::{Hosts, hostlist};

/// Hosts that share a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The switch.
    pub name: String,
    /// Hosts by number, ascending.
    pub hosts: Vec<usize>,
}

/// Why a text tells no groups.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A line that cannot be understood.
    #[error("line {line}: {reason} (expected SwitchName=NAME with Nodes=LIST or Switches=LIST)")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A switch hangs on itself.
    #[error("switch `{0}` hangs on itself, directly or through others")]
    Circle(String),
    /// No switch has a host of the run.
    #[error("no host of the run is on any of its switches")]
    Strangers,
}

/// A line of the file.
struct Switch {
    name: String,
    nodes: Vec<String>,
    switches: Vec<String>,
}

/// The groups of every level, innermost first, in the order of the file.
pub fn groups(text: &str, hosts: &Hosts) -> Result<Vec<Vec<Group>>, TopologyError> {
    let mut switches = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let switch = read(line).map_err(|reason| TopologyError::Line { line: number + 1, reason })?;
            switches.push(switch);
        }
    }
    let mut levels: Vec<Vec<Group>> = Vec::new();
    for switch in &switches {
        let (level, mut below) = reach(switch, &switches, hosts, switches.len())?;
        below.sort_unstable();
        below.dedup();
        if !below.is_empty() {
            levels.resize_with(levels.len().max(level + 1), Vec::new);
            levels[level].push(Group { name: switch.name.clone(), hosts: below });
        }
    }
    levels.retain(|level| !level.is_empty());
    if levels.is_empty() { Err(TopologyError::Strangers) } else { Ok(levels) }
}

/// How many switches lie below one, and the hosts that it leads to. `limit`: longer ways than this go in circles.
fn reach(switch: &Switch, all: &[Switch], hosts: &Hosts, limit: usize) -> Result<(usize, Vec<usize>), TopologyError> {
    let number = |name: &String| hosts.names().iter().position(|host| host == name);
    let mut found: Vec<usize> = switch.nodes.iter().filter_map(number).collect();
    let mut level = 0;
    for below in all.iter().filter(|below| switch.switches.contains(&below.name)) {
        let limit = limit.checked_sub(1).ok_or_else(|| TopologyError::Circle(switch.name.clone()))?;
        let (depth, more) = reach(below, all, hosts, limit)?;
        level = level.max(depth + 1);
        found.extend(more);
    }
    Ok((level, found))
}

fn read(line: &str) -> Result<Switch, String> {
    let mut switch = Switch { name: String::new(), nodes: Vec::new(), switches: Vec::new() };
    for word in line.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` has no `=`"))?;
        let list = || hostlist::expand(value).map_err(|error| format!("`{value}`: {error}"));
        match key.to_ascii_lowercase().as_str() {
            "switchname" => switch.name = value.to_owned(),
            "nodes" => switch.nodes = list()?,
            "switches" => switch.switches = list()?,
            // Slurm's own: it says nothing about who hangs on whom.
            "linkspeed" => {}
            _ => return Err(format!("unknown word `{key}`")),
        }
    }
    if switch.name.is_empty() { Err("it names no switch".to_owned()) } else { Ok(switch) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::new((1..=6).map(|number| format!("n{number}")))
    }

    #[test]
    fn levels_go_from_leaves_to_the_spine() {
        let text = "# leaves\nSwitchName=leaf1 Nodes=n[1-3]\nSwitchName=leaf2 Nodes=n[4-6],n99 LinkSpeed=100\n\
                    SwitchName=leaf3 Nodes=other[1-9]\nSwitchName=spine Switches=leaf[1-3]\n";
        let levels = groups(text, &hosts()).unwrap();
        let group = |name: &str, hosts: &[usize]| Group { name: name.into(), hosts: hosts.to_vec() };
        assert_eq!(
            levels,
            [vec![group("leaf1", &[0, 1, 2]), group("leaf2", &[3, 4, 5])], vec![group("spine", &[0, 1, 2, 3, 4, 5])]]
        );
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_line() {
        let error = |text: &str| groups(text, &hosts()).unwrap_err().to_string();
        assert!(
            error("\nSwitchName=a Nodes=n[1-").starts_with("line 2: `n[1-`"),
            "{}",
            error("\nSwitchName=a Nodes=n[1-")
        );
        assert!(error("Nodes=n1").contains("names no switch"));
        assert!(error("SwitchName=a Colour=red").contains("unknown word `Colour`"));
        assert!(error("SwitchName=a Nodes=x").contains("no host of the run"));
        assert!(error("SwitchName=a Switches=b\nSwitchName=b Switches=a").contains("hangs on itself"));
        assert!(error("").contains("no host of the run"));
    }
}

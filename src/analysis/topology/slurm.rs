//! Slurm's `topology.conf`, and what `scontrol show topology` prints.
//!
//! Takes `SwitchName=NAME` (or `BlockName=NAME`) with `Nodes=LIST` and `Switches=LIST`, in lines that a `\` at the end
//! continues; whatever follows `#` is a comment. Other words with `=` (`Level`, `LinkSpeed`, what later versions add)
//! say nothing about who hangs on whom. Lines with `SwitchName=DEFAULT` and `include` are refused: what they stand for
//! is not in this file.

use std::collections::{HashMap, HashSet};

use super::{Group, Names, TopologyError};
use crate::units::hostlist;

const EXPECTED: &str =
    "expected SwitchName=NAME with Nodes=LIST or Switches=LIST, or a DOT graph, which begins with `graph` or `digraph`";

/// Most names in all lists of a file: a larger file is a typing error that would fill the memory.
const MOST_NAMES: usize = 1 << 20;

/// Most connections between switches, each of which may carry a list of hosts upwards.
const MOST_CONNECTIONS: usize = 1 << 20;

/// A line of the file.
#[derive(Default)]
struct Switch {
    name: String,
    nodes: Vec<String>,
    switches: Vec<String>,
}

/// The groups of every level, innermost first, in the order of the file.
pub(super) fn levels(text: &str, names: &Names) -> Result<Vec<Vec<Group>>, TopologyError> {
    let mut switches = Vec::new();
    let mut left = MOST_NAMES;
    for (line, content) in lines(text) {
        let read = read(&content, left).map_err(|reason| TopologyError::Line { line, reason })?;
        if let Some(mut switch) = read {
            left -= switch.nodes.len() + switch.switches.len();
            // Other nodes are of no interest, and many.
            switch.nodes.retain(|name| names.find(name).is_some());
            switches.push(switch);
        }
    }
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

/// Refuses two switches of one name, and a host on two leaves: both are mistakes, and nobody could tell what is meant.
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

/// Lines without comments and blanks, continued ones as one, each with the number of its first.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut is_continued = false;
    for (number, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        let (content, continues) = match content.strip_suffix('\\') {
            Some(before) => (before, true),
            None => (content, false),
        };
        match lines.last_mut() {
            Some((_, last)) if is_continued => *last += content,
            _ => lines.push((number + 1, content.to_owned())),
        }
        is_continued = continues;
    }
    lines.retain(|(_, content)| !content.trim().is_empty());
    lines
}

/// The switch that a line describes; none where it describes something else that is of no interest.
fn read(line: &str, most: usize) -> Result<Option<Switch>, String> {
    if line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("include")) {
        let instead = "give that file, or the output of `scontrol show topology`";
        return Err(format!("`{line}`: other files are not read: {instead}"));
    }
    let mut switch = Switch::default();
    let mut has_members = false;
    let mut other = None;
    for word in line.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` has no `=` ({EXPECTED})"))?;
        let list = || match value {
            "(null)" => Ok(Vec::new()),
            _ => hostlist::expand_up_to(value, most)
                .map_err(|error| format!("{error}; a file may name {MOST_NAMES} in all its lists")),
        };
        match key.to_ascii_lowercase().as_str() {
            "switchname" | "blockname" => switch.name = value.to_owned(),
            "nodes" => (switch.nodes, has_members) = (list()?, true),
            "switches" => (switch.switches, has_members) = (list()?, true),
            "level" | "linkspeed" | "blocksizes" | "blocksize" | "blockindex" => {}
            _ => other = Some(key),
        }
    }
    match other {
        _ if switch.name.eq_ignore_ascii_case("default") => {
            let instead = "give the output of `scontrol show topology`, where every switch has its own values";
            Err(format!("values for the lines that follow (`{}`) are not understood: {instead}", line.trim()))
        }
        Some(key) if !has_members => Err(format!("unknown word `{key}` ({EXPECTED})")),
        _ if switch.name.is_empty() && has_members => Err(format!("it names no switch ({EXPECTED})")),
        _ => Ok(Some(switch).filter(|switch| !switch.name.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Hosts;

    fn read_levels(text: &str) -> Result<Vec<Vec<Group>>, TopologyError> {
        levels(text, &Names::of(&Hosts::new((1..=6).map(|number| format!("n{number}")))))
    }

    fn group(name: &str, hosts: &[usize]) -> Group {
        Group { name: name.into(), hosts: hosts.to_vec() }
    }

    #[test]
    fn levels_go_from_leaves_to_the_spine() {
        let text = "# leaves\nSwitchName=leaf1 Nodes=n[1-3]\nSwitchName=leaf2 Nodes=n[4-6],n99 LinkSpeed=100\n\
                    SwitchName=leaf3 Nodes=other[1-9]\nSwitchName=spine Switches=leaf[1-3]\n";
        let leaves = vec![group("leaf1", &[0, 1, 2]), group("leaf2", &[3, 4, 5]), group("leaf3", &[])];
        assert_eq!(read_levels(text).unwrap(), [leaves, vec![group("spine", &[0, 1, 2, 3, 4, 5])]]);
    }

    #[test]
    fn what_scontrol_prints_is_read() {
        let text = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2] \nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-6]\n\
                    SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[1-6] Switches=s[0-1] Later=x\n\
                    SwitchName=s3 Level=0 LinkSpeed=1 Nodes=(null)\n";
        let leaves = vec![group("s0", &[0, 1]), group("s1", &[2, 3, 4, 5]), group("s3", &[])];
        assert_eq!(read_levels(text).unwrap(), [leaves, vec![group("s2", &[0, 1, 2, 3, 4, 5])]]);
    }

    #[test]
    fn blocks_and_continued_lines_are_read() {
        let text = "BlockName=b1 Nodes=n[1-2]\nblockname=b2 \\\n  nodes=n[3-4],\\\nn5 # half\nBlockSizes=4,16\n";
        assert_eq!(read_levels(text).unwrap(), [vec![group("b1", &[0, 1]), group("b2", &[2, 3, 4])]]);
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_line() {
        for (text, words) in [
            ("\nSwitchName=a Nodes=n[1-", ["line 2", "`n[1-`"]),
            ("Nodes=n1", ["line 1", "names no switch"]),
            ("SwitchName=a Colour=red", ["line 1", "unknown word `Colour`"]),
            ("Switch 36 \"S-1\"", ["`Switch` has no `=`", "DOT graph"]),
            ("SwitchName=a Nodes=n1\nInclude more.conf", ["line 2", "scontrol show topology"]),
            ("SwitchName=DEFAULT LinkSpeed=10", ["line 1", "scontrol show topology"]),
            ("SwitchName=a Switches=b\nSwitchName=b Switches=a", ["`a`", "hangs on itself"]),
            ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", ["`a`", "two lines"]),
            ("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[2-3]", ["`n2`", "two leaves, `a` and `b`"]),
            ("SwitchName=a Nodes=n[1-600000]\nSwitchName=b Nodes=x[1-600000]", ["line 2", "more than 448576"]),
        ] {
            let error = read_levels(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
    }

    #[test]
    fn deep_and_meshed_files_end_in_time() {
        let chain: String = (1..50_000).map(|k| format!("SwitchName=s{k} Switches=s{}\n", k - 1)).collect();
        let levels = read_levels(&format!("SwitchName=s0 Nodes=n1\n{chain}")).unwrap();
        assert_eq!(levels.len(), 50_000);
        let meshed =
            (1..40).map(|k| format!("SwitchName=a{k} Switches=a{0},b{0}\nSwitchName=b{k} Switches=a{0},b{0}\n", k - 1));
        let levels =
            read_levels(&format!("SwitchName=a0 Nodes=n1\nSwitchName=b0 Nodes=n2\n{}", meshed.collect::<String>()));
        assert_eq!(levels.unwrap()[39], [group("a39", &[0, 1]), group("b39", &[0, 1])]);
    }
}

//! Slurm's `topology.conf`, and what `scontrol show topology` prints.
//!
//! Takes `SwitchName=NAME`, `BlockName=NAME` or `RingName=NAME` with `Nodes=LIST` and `Switches=LIST`, in lines that a
//! `\` at the end continues; whatever follows `#` is a comment. Other words with `=` (`Level`, `LinkSpeed`, what later
//! versions add) say nothing about who hangs on whom. Lines with `SwitchName=DEFAULT` and `include` are refused: what
//! they stand for is not in this file.

use super::{
    Group, Names, TopologyError,
    switches::{self, Lists, Switch},
};

const EXPECTED: &str = "expected SwitchName=NAME with Nodes=LIST or Switches=LIST, Slurm's topology.yaml, the output of \
                        ibnetdiscover, or a DOT graph, which begins with `graph` or `digraph`";

/// The groups of every level, innermost first, in the order of the file.
pub(super) fn levels(text: &str, names: &Names) -> Result<Vec<Vec<Group>>, TopologyError> {
    let mut lists = Lists::new();
    let mut found = Vec::new();
    for (line, content) in lines(text) {
        let switch = read(&content, &mut lists).map_err(|reason| TopologyError::Line { line, reason })?;
        found.extend(switch.map(|mut switch| {
            // Other nodes are of no interest, and many.
            switch.nodes.retain(|name| names.find(name).is_some());
            switch
        }));
    }
    switches::levels(found, names)
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
fn read(line: &str, lists: &mut Lists) -> Result<Option<Switch>, String> {
    if line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("include")) {
        let instead = "give that file, or the output of `scontrol show topology`";
        return Err(format!("`{line}`: other files are not read: {instead}"));
    }
    let mut switch = Switch::default();
    let mut has_members = false;
    let mut other = None;
    for word in line.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` has no `=` ({EXPECTED})"))?;
        let mut list = || if value == "(null)" { Ok(Vec::new()) } else { lists.expand(value) };
        match key.to_ascii_lowercase().as_str() {
            "switchname" | "blockname" | "ringname" => switch.name = value.to_owned(),
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
            ("Switch S-1", ["`Switch` has no `=`", "DOT graph"]),
            ("SwitchName=a Nodes=n1\nInclude more.conf", ["line 2", "scontrol show topology"]),
            ("SwitchName=DEFAULT LinkSpeed=10", ["line 1", "scontrol show topology"]),
            ("SwitchName=a Switches=b\nSwitchName=b Switches=a", ["`a`", "hangs on itself"]),
            ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", ["`a`", "two lines"]),
            ("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[2-3]", ["`n2`", "two leaves, `a` and `b`"]),
            ("SwitchName=a Nodes=n[1-600000]\nSwitchName=b Nodes=x[1-600000]", ["line 2", "with `x[1-600000]`"]),
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

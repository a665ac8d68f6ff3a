//! Slurm's `topology.yaml`, which Slurm takes instead of `topology.conf` where both are there.
//!
//! Takes the topologies of the file, each a `tree` of `switch`es with `nodes` and `children`, a `block` of `block`s or a
//! `ring` of `ring`s with `nodes`. The one that is `cluster_default` counts, else the first that is not `flat`. Aliases
//! are refused: no such file needs them, and they can blow up a small one.

use saphyr_parser::{Event, Parser};

use super::{
    Group, Names, TopologyError,
    switches::{self, Lists, Switch},
};

/// Mappings and lists inside each other that are followed: Slurm's file has five, and each costs a part of the stack.
const MOST_NESTED: usize = 32;

/// Fields of a switch, a block or a ring whose value is its name.
const NAMES: [&str; 3] = ["switch", "block", "ring"];

/// Whether a text is meant to be such a file: its first line of content begins a list or a document.
pub(super) fn is_yaml(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line == "---" || line.starts_with("- ") || line.starts_with("%YAML"))
}

/// What is open: a mapping with its fields so far, or a list.
enum Open {
    Mapping { line: usize, key: Option<String>, fields: Vec<(String, String)> },
    List,
}

/// A topology of the file.
#[derive(Default)]
struct Part {
    switches: Vec<Switch>,
    is_default: bool,
    is_flat: bool,
}

/// The groups of every level, innermost first, in the order of the file.
pub(super) fn levels(text: &str, names: &Names) -> Result<Vec<Vec<Group>>, TopologyError> {
    let mut lists = Lists::new();
    let mut open: Vec<Open> = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    let mut part = Part::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| TopologyError::Line {
            line: error.marker().line(),
            reason: format!("it is no YAML: {}", error.info()),
        })?;
        let line = span.start.line();
        let wrong = |reason: String| TopologyError::Line { line, reason };
        if open.len() > MOST_NESTED {
            return Err(wrong(format!("it has more than {MOST_NESTED} lists inside each other")));
        }
        match event {
            Event::Alias(_) => {
                return Err(wrong("it refers to another place (`*`): write the value itself".to_owned()));
            }
            Event::SequenceStart(..) => {
                take_value(&mut open);
                open.push(Open::List);
            }
            Event::MappingStart(..) => {
                take_value(&mut open);
                open.push(Open::Mapping { line, key: None, fields: Vec::new() });
            }
            Event::SequenceEnd => drop(open.pop()),
            Event::MappingEnd => {
                let Some(Open::Mapping { line, fields, .. }) = open.pop() else { continue };
                let switch = switch(&fields, &mut lists).map_err(|reason| TopologyError::Line { line, reason })?;
                part.switches.extend(switch.map(|mut switch| {
                    // Other nodes are of no interest, and many.
                    switch.nodes.retain(|name| names.find(name).is_some());
                    switch
                }));
                let is = |name: &str| fields.iter().any(|(key, value)| key == name && value == "true");
                if fields.iter().any(|(key, _)| key == "topology") {
                    part.is_default = is("cluster_default");
                    part.is_flat = is("flat");
                    parts.push(std::mem::take(&mut part));
                }
            }
            Event::Scalar(text, ..) => {
                if let Some(Open::Mapping { key, fields, .. }) = open.last_mut() {
                    match key.take() {
                        None => *key = Some(text.into_owned()),
                        Some(key) => fields.push((key, text.into_owned())),
                    }
                }
            }
            _ => {}
        }
    }
    let default = parts.iter().position(|part| part.is_default);
    let chosen = default.or_else(|| parts.iter().position(|part| !part.is_flat));
    let Some(chosen) = chosen else {
        let reason = "it has no topology: expected a list of `topology: NAME` with `tree`, `block` or `ring`, as Slurm's \
                      topology.yaml has it";
        return Err(TopologyError::Contradiction(reason.to_owned()));
    };
    if parts[chosen].is_flat {
        let reason = "its default topology is flat: it says nothing about who shares a switch".to_owned();
        return Err(TopologyError::Contradiction(reason));
    }
    switches::levels(parts.swap_remove(chosen).switches, names)
}

/// A list or a mapping is the value of the key before it.
fn take_value(open: &mut [Open]) {
    if let Some(Open::Mapping { key, .. }) = open.last_mut() {
        *key = None;
    }
}

/// The switch, block or ring that these fields describe, if they do.
fn switch(fields: &[(String, String)], lists: &mut Lists) -> Result<Option<Switch>, String> {
    let Some((_, name)) = fields.iter().find(|(key, _)| NAMES.contains(&&**key)) else { return Ok(None) };
    let mut list = |wanted: &str| match fields.iter().find(|(key, _)| key == wanted) {
        Some((_, value)) if !matches!(&**value, "" | "~" | "null") => lists.expand(value),
        _ => Ok(Vec::new()),
    };
    Ok(Some(Switch { name: name.clone(), nodes: list("nodes")?, switches: list("children")? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Hosts;

    fn read(text: &str) -> Result<Vec<String>, String> {
        assert!(is_yaml(text), "{text}");
        let hosts = Hosts::new((1..=6).map(|number| format!("n{number}")));
        let levels = levels(text, &Names::of(&hosts)).map_err(|error| error.to_string())?;
        let group = |group: &Group| format!("{}:{:?}", group.name, group.hosts);
        Ok(levels.iter().map(|level| level.iter().map(group).collect::<Vec<_>>().join(" ")).collect())
    }

    const TREE: &str = "# of this cluster\n---\n- topology: flat one\n  flat: true\n- topology: fabric\n  tree:\n    switches:\n      \
                        - switch: top\n        children: leaf[1-2]\n      - switch: leaf1\n        nodes: n[1-3]\n      \
                        - switch: leaf2\n        nodes: n[4-6],x[1-100]\n";
    const BLOCKS: &str = "- topology: racks\n  cluster_default: true\n  block:\n    block_sizes:\n      - 2\n      - 4\n    \
                          blocks:\n      - block: b1\n        nodes: n[1-2]\n      - {block: b2, nodes: 'n[3-6]'}\n";

    #[test]
    fn trees_blocks_and_rings_are_read() {
        assert_eq!(read(TREE).unwrap(), ["leaf1:[0, 1, 2] leaf2:[3, 4, 5]", "top:[0, 1, 2, 3, 4, 5]"]);
        assert_eq!(read(BLOCKS).unwrap(), ["b1:[0, 1] b2:[2, 3, 4, 5]"]);
        let ring = "- topology: r\n  ring:\n    rings:\n      - ring: r1\n        nodes: n[1-4]\n";
        assert_eq!(read(ring).unwrap(), ["r1:[0, 1, 2, 3]"]);
    }

    #[test]
    fn the_default_of_the_cluster_counts() {
        assert_eq!(read(&format!("{TREE}{BLOCKS}")).unwrap(), ["b1:[0, 1] b2:[2, 3, 4, 5]"]);
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        let deep = "- topology: x\n  tree: ".to_owned() + &"[".repeat(60);
        let deeper = deep.clone() + &"[".repeat(100_000);
        for (text, words) in [
            ("- topology: a\n  cluster_default: true\n  flat: true\n", "flat"),
            ("- switch: a\n  nodes: n1\n", "it has no topology"),
            ("- topology: a\n  tree:\n    switches: [{switch: s, nodes: 'n[1-'}]\n", "line 3: `n[1-`"),
            (
                "- topology: a\n  tree:\n    switches: [{switch: s, nodes: 'n[1-9999999]'}]\n",
                "the lists of this file name more than",
            ),
            (
                "- topology: a\n  tree:\n   switches: [{switch: s, nodes: n1}, {switch: s, nodes: n2}]\n",
                "two lines name",
            ),
            (
                "- topology: a\n  tree:\n   switches: [{switch: s, nodes: n1}, {switch: t, nodes: n1}]\n",
                "on two leaves",
            ),
            ("- topology: &a a\n  tree: *a\n", "line 2: it refers to another place"),
            ("- topology: {\n", "it is no YAML"),
            (&deep, "inside each other"),
            (&deeper, "line 2"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{}: {error}", &text[..text.len().min(100)]);
        }
    }
}

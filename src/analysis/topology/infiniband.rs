//! What `ibnetdiscover` prints: every switch and every card of an InfiniBand fabric, with their cables.
//!
//! Takes the lines `Switch PORTS "S-GUID" # "DESCRIPTION" ..`, `Ca PORTS "H-GUID" # "DESCRIPTION"` and, below them,
//! `[PORT] "GUID"[PORT] # ..`. The first word of a card's description is its host. Two cables between the same nodes are
//! one. Everything else says nothing about who hangs on whom.

use std::collections::HashMap;

use super::dot::{Graph, Node};

/// Whether a text is such a print: a line in it begins with what a switch or a card begins with.
pub(super) fn is_discovered(text: &str) -> bool {
    text.lines().any(|line| header(line).is_some())
}

/// A switch or a card: its GUID, and its description.
fn header(line: &str) -> Option<(&str, Option<&str>)> {
    let rest = ["Switch", "Ca", "Rt"].iter().find_map(|kind| line.strip_prefix(kind))?;
    let rest = rest.starts_with([' ', '\t']).then_some(rest)?;
    let (id, rest) = quoted(rest)?;
    id.starts_with(['S', 'H', 'R']).then_some((id, quoted(rest).map(|(description, _)| description)))
}

/// What stands between the next two quotes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Graph {
    let mut graph = Graph::default();
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    let mut node = |graph: &mut Graph, id| {
        *by_id.entry(id).or_insert_with(|| {
            graph.nodes.push(Node { name: str::to_owned(id), label: None });
            graph.nodes.len() - 1
        })
    };
    let mut own = None;
    for line in text.lines() {
        if let Some((id, description)) = header(line) {
            let number = node(&mut graph, id);
            graph.nodes[number].label = description.map(str::to_owned);
            own = Some(number);
        } else if let (Some(own), true) = (own, line.starts_with('[')) {
            if let Some((id, _)) = quoted(line) {
                let other = node(&mut graph, id);
                graph.edges.push((own.min(other), own.max(other)));
            }
        } else if line.trim().is_empty() {
            own = None;
        }
    }
    graph.edges.sort_unstable();
    graph.edges.dedup();
    name_switches(&mut graph.nodes);
    graph
}

/// A switch is called what its description says where no other switch is called so.
fn name_switches(nodes: &mut [Node]) {
    let mut count: HashMap<String, usize> = HashMap::new();
    let is_switch = |node: &Node| node.name.starts_with('S');
    for label in nodes.iter().filter(|node| is_switch(node)).filter_map(|node| node.label.clone()) {
        *count.entry(label).or_default() += 1;
    }
    for node in nodes.iter_mut().filter(|node| is_switch(node)) {
        // A description is no name of a host.
        if let Some(label) = node.label.take() {
            node.name = if count[&label] == 1 { label } else { format!("{label} {}", node.name) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use crate::units::Hosts;

    /// Two leaves of three hosts below two spines; one host is down.
    fn discovered() -> String {
        let mut text = "#\n# Topology file: generated on Mon Jan  5 10:00:00 2026\n#\n".to_owned();
        for leaf in 1..=2 {
            text += &format!("\nvendid=0x2c9\ndevid=0xcb20\nswitchguid=0xa{leaf}(a{leaf})\n");
            text += &format!(
                "Switch\t36 \"S-00a{leaf}\"\t\t# \"MF0;leaf{leaf}:SB7800/U1\" enhanced port 0 lid {leaf} lmc 0\n"
            );
            for port in 1..=3 {
                let host = 3 * (leaf - 1) + port;
                text += &format!("[{port}]\t\"H-00b{host}\"[1](b{host}) \t\t# \"n{host} mlx5_0\" lid 1{host} 4xEDR\n");
            }
            for spine in 1..=2 {
                text += &format!("[{}]\t\"S-00c{spine}\"[{leaf}]\t\t# \"spine\" lid 2{spine} 4xEDR\n", 30 + spine);
            }
        }
        for spine in 1..=2 {
            text += &format!("\nSwitch\t36 \"S-00c{spine}\"\t\t# \"spine\" enhanced port 0 lid 2{spine} lmc 0\n");
            for leaf in 1..=2 {
                text += &format!(
                    "[{leaf}]\t\"S-00a{leaf}\"[{}]\t\t# \"MF0;leaf{leaf}:SB7800/U1\" lid {leaf} 4xEDR\n",
                    30 + spine
                );
            }
        }
        for host in (1..=6).filter(|host| *host != 5) {
            let leaf = (host - 1) / 3 + 1;
            text += &format!("\ncaguid=0xb{host}\nCa\t1 \"H-00b{host}\"\t\t# \"n{host} mlx5_0\"\n");
            text += &format!(
                "[1](b{host}) \t\"S-00a{leaf}\"[1]\t\t# lid 1{host} lmc 0 \"MF0;leaf{leaf}:SB7800/U1\" lid {leaf} 4xEDR\n"
            );
        }
        text
    }

    #[test]
    fn hosts_hang_on_leaves_and_leaves_on_spines() {
        let hosts = Hosts::new((1..=6).map(|number| format!("n{number}")));
        let topology = Topology::read(&discovered(), &hosts).unwrap();
        let group = |group: &super::super::Group| format!("{}:{:?}", group.name, group.hosts);
        let levels: Vec<String> =
            topology.levels.iter().map(|level| level.iter().map(group).collect::<Vec<_>>().join(" ")).collect();
        // Only the leaf sees n5, by its GUID: nothing says that it is a host of the run.
        assert_eq!(topology.missing, [4]);
        assert!(levels[0].starts_with("MF0;leaf1:SB7800/U1:[0, 1, 2] MF0;leaf2:SB7800/U1:[3, 5]"), "{levels:?}");
        assert!(levels[1].starts_with("spine S-00c[1-2]:[0, 1, 2, 3, 5]"), "{levels:?}");
    }
}

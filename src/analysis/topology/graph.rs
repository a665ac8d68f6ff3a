//! Who shares a switch in a graph of hosts and switches.
//!
//! Nodes whose name, or the first word of whose label, is a host of the run are hosts; all others are switches. A
//! switch next to a host is a leaf; the others' level is their distance from the leaves, and below them are the
//! switches of the level before that they are joined to. Where no host has a switch next to it, clusters are the
//! groups: so this program's own graphs are drawn.

use std::collections::{HashSet, VecDeque};

use super::{
    Group, Names,
    dot::{Cluster, Graph, Node},
};

/// The groups of every level, innermost first, in the order of the graph.
pub(super) fn levels(graph: &Graph, names: &Names) -> Vec<Vec<Group>> {
    let host = |node: &Node| {
        let of_label = || names.find(node.label.as_deref()?.split([' ', '\t', '\n', '\\', '|', '/']).next()?);
        names.find(&node.name).or_else(of_label)
    };
    let hosts: Vec<Option<usize>> = graph.nodes.iter().map(host).collect();
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    // Hosts that are joined to each other say nothing about switches.
    for &(a, b) in graph.edges.iter().filter(|(a, b)| a != b && (hosts[*a].is_none() || hosts[*b].is_none())) {
        near[a].push(b);
        near[b].push(a);
    }
    near.iter_mut().for_each(|near| {
        near.sort_unstable();
        near.dedup();
    });
    let is_leaf = |node: usize| hosts[node].is_none() && near[node].iter().any(|other| hosts[*other].is_some());
    let leaves: Vec<usize> = (0..graph.nodes.len()).filter(|node| is_leaf(*node)).collect();
    if leaves.is_empty() {
        return of_clusters(&graph.clusters, &hosts);
    }
    let like_host: HashSet<&[usize]> =
        (0..graph.nodes.len()).filter(|node| hosts[*node].is_some()).map(|node| &*near[node]).collect();
    let mut level: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    leaves.iter().for_each(|leaf| level[*leaf] = Some(0));
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    let mut levels: Vec<Vec<Group>> = Vec::new();
    let mut queue: VecDeque<usize> = leaves.into();
    while let Some(node) = queue.pop_front() {
        let own = level[node].unwrap_or_default();
        found[node] = match own {
            0 => near[node].iter().filter_map(|other| hosts[*other]).collect(),
            _ => near[node]
                .iter()
                .filter(|other| level[**other] == Some(own - 1))
                .flat_map(|o| found[*o].clone())
                .collect(),
        };
        found[node].sort_unstable();
        found[node].dedup();
        levels.resize_with(levels.len().max(own + 1), Vec::new);
        levels[own].push(Group { name: graph.nodes[node].name.clone(), hosts: found[node].clone() });
        for &next in &near[node] {
            // At the end of a single cable, or on the very switches of some host: a host that is not in the run.
            let is_host = hosts[next].is_some() || near[next].len() == 1 || like_host.contains(&*near[next]);
            if level[next].is_none() && !is_host {
                level[next] = Some(own + 1);
                queue.push_back(next);
            }
        }
    }
    levels
}

/// Clusters as groups: those without another one in them are the innermost.
fn of_clusters(clusters: &[Cluster], hosts: &[Option<usize>]) -> Vec<Vec<Group>> {
    let mut level = vec![0; clusters.len()];
    // Each stands behind the one that it lies in.
    for (number, cluster) in clusters.iter().enumerate().rev() {
        if let Some(parent) = cluster.parent {
            level[parent] = level[parent].max(level[number] + 1);
        }
    }
    let mut levels: Vec<Vec<Group>> = vec![Vec::new(); level.iter().max().map_or(0, |top| top + 1)];
    for (cluster, level) in clusters.iter().zip(level) {
        let hosts = cluster.nodes.iter().filter_map(|node| hosts[*node]).collect();
        levels[level].push(Group { name: cluster.name.clone(), hosts });
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use crate::units::Hosts;

    /// Levels as text: groups with their hosts.
    fn levels(text: &str) -> Vec<String> {
        let hosts = Hosts::new((1..=8).map(|number| format!("n{number}")));
        let levels = Topology::read(text, &hosts).unwrap().levels;
        let group = |group: &super::Group| format!("{}:{:?}", group.name, group.hosts);
        levels.iter().map(|level| level.iter().map(group).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn levels_are_distances_from_hosts() {
        let text = "digraph { a -> {n1 n2}; b -> {n3 n4}; c -> {n5 n6}; d -> {n7 n8}; {p q} -> {a b}; {r s} -> {c d};\n\
                    top -> {p q r s}; a -> n1; n1 -> a }";
        let expected = [
            "a:[0, 1] b:[2, 3] c:[4, 5] d:[6, 7]",
            "p,q:[0, 1, 2, 3] r,s:[4, 5, 6, 7]",
            "top:[0, 1, 2, 3, 4, 5, 6, 7]",
        ];
        assert_eq!(levels(text), expected);
    }

    #[test]
    fn the_rest_of_the_machine_is_left_out() {
        // Leaf c has no host of the run; x is a host on leaf a, y one on leaf c.
        let text = "graph { a -- {n1 n2 n3 n4 x}; b -- {n5 n6 n7 n8}; c -- {y z}; {s t} -- {a b c} }";
        assert_eq!(levels(text), ["a:[0, 1, 2, 3] b:[4, 5, 6, 7]", "s,t:[0, 1, 2, 3, 4, 5, 6, 7]"]);
        let rails = "graph { {n1 n2 n3 n4 x} -- {a b}; {n5 n6 n7 n8} -- {c d}; s -- {a b c d} }";
        assert_eq!(levels(rails), ["a,b:[0, 1, 2, 3] c,d:[4, 5, 6, 7]", "s:[0, 1, 2, 3, 4, 5, 6, 7]"]);
    }

    #[test]
    fn infiniband_graphs_name_hosts_in_labels() {
        let text = "graph ib { \"H-0002c9030001\" [label=\"n1 HCA-1\"]; \"H-02\" [label=\"n2 mlx5_0\"]; \"H-03\" [label=\"n3\\nx\"];\n\
                    \"S-f1\" [label=\"leaf 1\" shape=box]; \"S-f1\":1 -- \"H-0002c9030001\":1; \"S-f1\":2 -- \"H-02\":1;\n\
                    \"S-f2\" -- \"H-03\"; \"S-f2\" -- {n4 n5 n6 n7 n8} }";
        assert_eq!(levels(text), ["S-f1:[0, 1] S-f2:[2, 3, 4, 5, 6, 7]"]);
    }

    #[test]
    fn adapters_between_hosts_and_leaves_are_looked_through() {
        let adapters: String = (1..=8).map(|k| format!("n{k} -- hca{k}; hca{k} -- leaf{};", k % 2)).collect();
        assert_eq!(levels(&format!("graph {{ {adapters} }}"))[0], "leaf1:[0, 2, 4, 6] leaf0:[1, 3, 5, 7]");
    }

    #[test]
    fn clusters_count_where_there_are_no_switches() {
        let text = "graph { subgraph cluster_x { label=pod; subgraph cluster_1 { label=\"rack 1\"; n1 n2 }\n\
                    subgraph cluster_2 { n3; n4; n3 -- n4 } } subgraph cluster_3 { n5 n6 n7 } }";
        let expected = [
            "rack 1:[0, 1] cluster_2:[2, 3] cluster_3:[4, 5, 6] n8:[7]",
            "pod:[0, 1, 2, 3] cluster_3:[4, 5, 6] n8:[7]",
        ];
        assert_eq!(levels(text), expected);
    }
}

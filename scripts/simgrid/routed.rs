//! Topologies with several ways between two hosts: which network they are, and what its cables are called.
//!
//! In: a topology and its sizes. Out: a [`Network`], whose routes are those of the bench of the detector
//! (`scripts/detector-bench/network`), and names: `leaf3` to `spine1`, `pod0-1` (the second switch of pod 0) to `core1-0`,
//! `switch5` to `switch6`, `router2` to `router9`.

use crate::{
    network::{Dragonfly, Network, Torus, Tree},
    platform::{Sizes, Topology, sides},
};

/// Leaves of a pod.
const LEAVES: usize = 2;
/// Cables of a pod's switch upwards.
const CORES: usize = 2;
/// Routers of a dragonfly's group, and hosts of a router.
const GROUP: (usize, usize) = (4, 2);

/// The network of a topology. The error says which numbers of hosts it allows.
pub fn network(topology: Topology, hosts: usize, sizes: Sizes) -> Result<Network, String> {
    let Sizes { leaf, spines, .. } = sizes;
    let leaves = hosts.div_ceil(leaf);
    let tree = |pod_of, cores| Tree {
        leaf_of: (0..hosts).map(|host| host / leaf).collect(),
        pod_of,
        spines,
        cores,
        address: (0..hosts).collect(),
    };
    Ok(match topology {
        Topology::Pods => Network::Tree(tree((0..leaves).map(|leaf| leaf / LEAVES).collect(), CORES)),
        Topology::RoutedTorus => Network::Torus(Torus { sides: sides(hosts)?.to_vec() }),
        Topology::Dragonfly => {
            let (routers, ports) = GROUP;
            if !hosts.is_multiple_of(routers * ports) || hosts < 2 * routers * ports {
                return Err(format!("a dragonfly has groups of {} hosts: {hosts} hosts make none", routers * ports));
            }
            Network::Dragonfly(Dragonfly { groups: hosts / routers / ports, routers, ports })
        }
        _ => Network::Tree(tree(vec![0; leaves], 0)),
    })
}

/// The switch of a host.
pub fn switch_of(network: &Network, host: usize) -> String {
    match network {
        Network::Tree(tree) => format!("leaf{}", tree.leaf_of[host]),
        Network::Torus(_) => format!("switch{host}"),
        Network::Dragonfly(dragonfly) => format!("router{}", host / dragonfly.ports),
    }
}

/// Whether a cable leads towards the core of a tree.
pub fn is_upward(from: &str, to: &str) -> bool {
    from.starts_with("leaf") || to.starts_with("core")
}

/// Both ends of every cable, by its number; none where the network has none of this number.
pub fn cables(network: &Network) -> Vec<Option<(String, String)>> {
    let mut cables = vec![None; network.cables()];
    let mut both = |[up, down]: [usize; 2], low: String, high: String| {
        cables[up] = Some((low.clone(), high.clone()));
        cables[down] = Some((high, low));
    };
    match network {
        Network::Tree(tree) => {
            for (leaf, spine) in (0..tree.leaves()).flat_map(|leaf| (0..tree.spines).map(move |spine| (leaf, spine))) {
                let high =
                    if tree.cores == 0 { format!("spine{spine}") } else { format!("pod{}-{spine}", tree.pod_of[leaf]) };
                both(tree.leaf_cable(leaf, spine), format!("leaf{leaf}"), high);
            }
            for pod in 0..tree.pods() {
                for (spine, core) in (0..tree.spines).flat_map(|spine| (0..tree.cores).map(move |core| (spine, core))) {
                    both(tree.pod_cable(pod, spine, core), format!("pod{pod}-{spine}"), format!("core{spine}-{core}"));
                }
            }
        }
        Network::Torus(torus) => {
            for (router, axis) in (0..torus.routers()).flat_map(|router| (0..3).map(move |axis| (router, axis))) {
                for is_up in [true, false] {
                    let other = torus.neighbour(router, axis, is_up);
                    cables[torus.cable(router, axis, is_up)] =
                        Some((format!("switch{router}"), format!("switch{other}")));
                }
            }
        }
        Network::Dragonfly(dragonfly) => {
            for (cable, from, to) in dragonfly.ends() {
                cables[cable] = Some((format!("router{from}"), format!("router{to}")));
            }
        }
    }
    cables
}

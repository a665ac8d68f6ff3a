//! What somebody looks at next who reads of a finding.
//!
//! In: a [`Finding`], or what kind of place is slow in which way. Out: a few words. Whoever adds a kind or a symptom says here
//! where to begin.

use crate::analysis::diagnose::{Direction, Finding, Kind, RetestVerdict, Symptom};

/// Where hosts make each other late.
pub(in crate::view) const OF_BROADCAST: &str = "one_to_one, put or get: there a host's times are its own";

/// What to look at next.
pub fn next_check(finding: &Finding) -> &'static str {
    if finding.retest == Some(RetestVerdict::Contention) {
        return "routing tables and what shares this path; the cable itself is fine";
    }
    if finding.share_of_time.is_some() {
        return "what else the host did in that time: other jobs, daemons, backups; temperature and CPU frequency";
    }
    if finding.is_of_broadcast() {
        return OF_BROADCAST;
    }
    usual_check(finding.kind, finding.symptom, finding.direction)
}

/// What to look at where something of this kind is slow in this way.
pub(in crate::view) fn usual_check(kind: Kind, symptom: Symptom, direction: Direction) -> &'static str {
    match (kind, symptom) {
        (Kind::Fabric, Symptom::Damaged) => {
            "which cells are damaged (network_analyze view); memory, card and cable of their hosts; measure again"
        }
        (_, Symptom::Damaged) => "memory, card and cable: data arrive changed; take the host out of use",
        (Kind::Group | Kind::Link, Symptom::Silent | Symptom::Lossy) => {
            "cables, routes and partitions between these hosts; the MTU if only long messages fail"
        }
        (Kind::Fabric, Symptom::Silent | Symptom::Lossy) => {
            "which cells fail (network_analyze view); error counters of all ports; the subnet manager's log"
        }
        (Kind::Fabric, _) => {
            "the cables between the switches of these hosts; a run with more partners, or --topology, may name the cable"
        }
        (_, Symptom::Lossy) => "error counters and link-down events of the host's port; its cable; the MTU of its path",
        (Kind::Group, Symptom::Latency) => "the switch of these hosts: its uplinks, firmware and routes to the others",
        (Kind::Group, _) => "the uplinks of these hosts' switch: error counters, speed, width, a missing cable",
        (Kind::Rail, _) => "the switch of this rail and its uplinks; the cards that are cabled to it",
        (Kind::Routes | Kind::Gate, _) => {
            "error counters, speed and width of each cable between these hosts' switch and the next ones: one of several"
        }
        (Kind::Cable, _) => "error counters, speed and width of this cable, at both of its ends",
        (Kind::Link, Symptom::Latency) => "the route between the two: a detour, one port or one inter-switch cable",
        (Kind::Link, _) => "error counters along the route between the two: one port or one inter-switch cable",
        (Kind::Rank, _) => {
            "the core that this rank is bound to: binding, frequency, who else runs there, NUMA distance to the card"
        }
        (_, Symptom::Silent) => "whether the host is up; its cable, its switch port, its MPI daemon",
        (_, Symptom::Jitter) => {
            "what else runs on the host: daemons, interrupts, power management; then error counters of its port"
        }
        (_, Symptom::Duplex) => {
            "PCIe width and speed of the card, duplex setting of its port, memory bandwidth of the host"
        }
        (_, Symptom::Noise) => {
            "what shares the host's switch port and its route; buffers and flow control of the switch"
        }
        (_, Symptom::Latency) => {
            "BIOS and power settings, CPU frequency, interrupt binding; compare with a healthy host"
        }
        (_, Symptom::Bandwidth) => match direction {
            Direction::Both => "speed and width of the host's port and of its PCIe slot, then cable and error counters",
            _ => "cable and transceiver of the host's port: error counters in this direction, then the switch port",
        },
    }
}

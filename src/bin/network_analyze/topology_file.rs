//! The file that says which hosts share a switch.

use std::path::{Path, PathBuf};

use netmatrix::{
    analysis::topology::Topology,
    units::{Hosts, counted, hostlist},
};

use super::{failure::Failure, input::read_text, output};

/// The innermost group of every host, `[host]`, as the detector takes it. Hosts that the file does not place are alone.
pub fn group_of_host(topology: &Topology, hosts: &Hosts) -> Vec<usize> {
    let leaves = topology.leaves();
    let alone = leaves.len()..;
    let mut group = vec![0; hosts.count()];
    for (number, leaf) in leaves.iter().enumerate() {
        leaf.hosts.iter().for_each(|host| group[*host] = number);
    }
    topology.missing.iter().zip(alone).for_each(|(host, number)| group[*host] = number);
    group
}

/// A file that was read, of whatever kind its content tells.
pub struct TopologyFile {
    path: PathBuf,
    text: String,
}

impl TopologyFile {
    /// Reads it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let newer = path.with_file_name("topology.yaml");
        if path.file_name().is_some_and(|name| name == "topology.conf") && newer.is_file() {
            let (path, newer) = (path.display(), newer.display());
            output::note(&format!("Slurm reads `{newer}` instead of `{path}`: give that one"));
        }
        Ok(Self { path: path.to_owned(), text: read_text(path)? })
    }

    /// What it says about these hosts. Notes on standard error which of them it does not place.
    pub fn of(&self, hosts: &Hosts) -> Result<Topology, Failure> {
        let path = self.path.display();
        let topology =
            Topology::read(&self.text, hosts).map_err(|error| Failure::files(format!("`{path}`: {error}")))?;
        if !topology.missing.is_empty() {
            let names: Vec<_> = topology.missing.iter().map(|host| hosts.names()[*host].as_str()).collect();
            let (count, list) = (counted(names.len(), "host"), hostlist::compress(&names));
            output::note(&format!("`{path}` does not place {count} of the run: {list}; each is a group of its own"));
        }
        Ok(topology)
    }
}

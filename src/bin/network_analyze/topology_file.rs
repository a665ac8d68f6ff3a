//! The file that says which hosts share a switch.

use std::{
    fs,
    path::{Path, PathBuf},
};

use netmatrix::{
    analysis::topology::Topology,
    units::{Hosts, counted, hostlist},
};

use super::{failure::Failure, output};

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
        let context = || format!("cannot read `{}`", path.display());
        let text =
            fs::read_to_string(path).map_err(|error| Failure::Files(anyhow::Error::new(error).context(context())))?;
        Ok(Self { path: path.to_owned(), text })
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

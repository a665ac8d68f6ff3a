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

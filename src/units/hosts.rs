//! The host of every rank.

use std::collections::HashMap;

use super::Rank;

/// Which rank runs on which host.
///
/// Hosts are numbered in the order in which ranks meet them. Ranks of one host need not be neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    names: Vec<String>,
    host_of_rank: Vec<usize>,
    ranks_of_host: Vec<Vec<Rank>>,
    place_on_host: Vec<usize>,
}

impl Hosts {
    /// From the host name of every rank, in rank order.
    pub fn new<S: Into<String>>(name_of_rank: impl IntoIterator<Item = S>) -> Self {
        let mut hosts = Self::default();
        let mut known = HashMap::new();
        for (rank, name) in name_of_rank.into_iter().enumerate() {
            let name = name.into();
            let host = *known.entry(name.clone()).or_insert_with(|| {
                hosts.names.push(name);
                hosts.ranks_of_host.push(Vec::new());
                hosts.names.len() - 1
            });
            hosts.host_of_rank.push(host);
            hosts.place_on_host.push(hosts.ranks_of_host[host].len());
            hosts.ranks_of_host[host].push(rank);
        }
        hosts
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.host_of_rank.len()
    }

    /// Number of different hosts.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Names of the different hosts, `[host]`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of the host that `rank` runs on.
    pub fn host_of(&self, rank: Rank) -> usize {
        self.host_of_rank[rank]
    }

    /// How many ranks of its host come before `rank`.
    pub fn place_of(&self, rank: Rank) -> usize {
        self.place_on_host[rank]
    }

    /// The ranks of a host, ascending.
    pub fn ranks_of(&self, host: usize) -> &[Rank] {
        &self.ranks_of_host[host]
    }

    /// Name of the host that `rank` runs on.
    pub fn name_of(&self, rank: Rank) -> &str {
        &self.names[self.host_of_rank[rank]]
    }

    /// Host name of every rank, `[rank]`.
    pub fn name_of_every_rank(&self) -> impl Iterator<Item = &str> {
        (0..self.ranks()).map(|rank| self.name_of(rank))
    }

    /// What tells a rank from all others: its host's name alone where the host has one rank, else `host:place`.
    pub fn label_of(&self, rank: Rank) -> String {
        match self.ranks_of(self.host_of(rank)) {
            [_] => self.name_of(rank).to_owned(),
            _ => format!("{}:{}", self.name_of(rank), self.place_of(rank)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_host_need_not_be_neighbours() {
        let hosts = Hosts::new(["a", "b", "a", "c"]);
        assert_eq!((hosts.ranks(), hosts.count()), (4, 3));
        assert_eq!(hosts.ranks_of(hosts.host_of(0)), [0, 2]);
        assert_eq!((hosts.place_of(0), hosts.place_of(2), hosts.place_of(3)), (0, 1, 0));
        assert_eq!(hosts.label_of(2), "a:1");
        assert_eq!(hosts.label_of(3), "c");
        assert_eq!(hosts.name_of_every_rank().collect::<Vec<_>>(), ["a", "b", "a", "c"]);
    }
}

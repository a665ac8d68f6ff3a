//! Where the data contradict what a file says about who is near whom.
//!
//! In: the file's leaves and [`Inferred`]. Out: [`Contradiction`]s. A leaf is where most of its hosts are: that group
//! of the data is its home. Names of groups do not matter, who is with whom does.

use std::collections::BTreeMap;

use super::{Group, inferred::Inferred};

/// Something on which the file and the data disagree. Leaves and groups are numbers, hosts as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// Hosts are near the hosts of other leaves than their own.
    Elsewhere {
        /// Who.
        hosts: Vec<usize>,
        /// Where the file has them.
        leaf: usize,
        /// Where they seem to be: one leaf, or several that cannot be distinguished.
        seems: Vec<usize>,
    },
    /// The hosts of these leaves are one group in the data.
    Alike {
        /// Two or more.
        leaves: Vec<usize>,
    },
    /// A group of the data is no leaf of the file.
    Unknown {
        /// The group.
        group: usize,
        /// The leaves that its hosts are on.
        leaves: Vec<usize>,
    },
    /// Hosts that the file does not place seem to be on these leaves.
    Unplaced {
        /// Who.
        hosts: Vec<usize>,
        /// One leaf, or several that cannot be distinguished.
        seems: Vec<usize>,
    },
}

/// All of them; none if the data agree with the file. `hosts`: of the run; `missing`: not placed by the file.
pub fn contradictions(leaves: &[Group], missing: &[usize], inferred: &Inferred, hosts: usize) -> Vec<Contradiction> {
    let group_of = inferred.group_of(hosts);
    let homes: Vec<Option<usize>> = leaves.iter().map(|leaf| home(leaf, &group_of, inferred)).collect();
    let at_home =
        |group: usize| -> Vec<usize> { (0..leaves.len()).filter(|leaf| homes[*leaf] == Some(group)).collect() };
    let mut elsewhere: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut unknown: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, leaf) in leaves.iter().enumerate() {
        for &host in &leaf.hosts {
            let Some(group) = group_of[host].filter(|group| homes[number] != Some(*group)) else { continue };
            if at_home(group).is_empty() {
                unknown.entry(group).or_default().push(number);
            } else {
                elsewhere.entry((number, group)).or_default().push(host);
            }
        }
    }
    let elsewhere = elsewhere.into_iter().map(|((leaf, group), hosts)| Contradiction::Elsewhere {
        hosts,
        leaf,
        seems: at_home(group),
    });
    let alike = (0..inferred.groups.len())
        .map(at_home)
        .filter(|leaves| leaves.len() > 1)
        .map(|leaves| Contradiction::Alike { leaves });
    let unknown = unknown.into_iter().map(|(group, mut leaves)| {
        leaves.dedup();
        Contradiction::Unknown { group, leaves }
    });
    let mut unplaced: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &host in missing {
        if let Some(group) = group_of[host].filter(|group| homes.contains(&Some(*group))) {
            unplaced.entry(group).or_default().push(host);
        }
    }
    let unplaced = unplaced.into_iter().map(|(group, hosts)| Contradiction::Unplaced { hosts, seems: at_home(group) });
    elsewhere.chain(unknown).chain(alike).chain(unplaced).collect()
}

/// The group of the data that most hosts of a leaf are in; of several, the one of which they are the larger part.
fn home(leaf: &Group, group_of: &[Option<usize>], inferred: &Inferred) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    leaf.hosts.iter().filter_map(|host| group_of[*host]).for_each(|group| *counts.entry(group).or_default() += 1);
    let size = |group: usize| inferred.groups[group].hosts.len();
    counts.into_iter().min_by_key(|(group, count)| (std::cmp::Reverse(*count), size(*group))).map(|(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::{super::inferred::Found, *};
    use crate::units::Bytes;

    /// Hosts by group.
    fn inferred(groups: &[&[usize]], unplaced: &[usize]) -> Inferred {
        let found = |hosts: &&[usize]| Found { hosts: hosts.to_vec(), inside: [1e-6, 1e-4] };
        Inferred {
            are_pairs_few: false,
            lengths: [Bytes(0), Bytes(1 << 20)],
            groups: groups.iter().map(found).collect(),
            between: Vec::new(),
            unplaced: unplaced.to_vec(),
        }
    }

    fn leaves(hosts: &[&[usize]]) -> Vec<Group> {
        let leaf = |(number, hosts): (usize, &&[usize])| Group { name: format!("leaf{number}"), hosts: hosts.to_vec() };
        hosts.iter().enumerate().map(leaf).collect()
    }

    #[test]
    fn nothing_is_said_where_both_agree() {
        let file = leaves(&[&[3, 4, 5], &[0, 1, 2]]);
        assert_eq!(contradictions(&file, &[], &inferred(&[&[0, 1, 2], &[3, 4, 5]], &[]), 6), []);
        assert_eq!(contradictions(&file, &[], &inferred(&[&[0, 1], &[3, 4]], &[2, 5]), 6), []);
    }

    #[test]
    fn a_host_in_the_wrong_place_is_named() {
        let file = leaves(&[&[0, 1, 2, 3], &[4, 5, 6, 7]]);
        let data = inferred(&[&[0, 1, 2, 3, 4], &[5, 6, 7]], &[]);
        let expected = Contradiction::Elsewhere { hosts: vec![4], leaf: 1, seems: vec![0] };
        assert_eq!(contradictions(&file, &[], &data, 8), [expected]);
        // Two that were swapped.
        let data = inferred(&[&[0, 1, 2, 4], &[3, 5, 6, 7]], &[]);
        let swapped = [(vec![3], 0, vec![1]), (vec![4], 1, vec![0])];
        let expected = swapped.map(|(hosts, leaf, seems)| Contradiction::Elsewhere { hosts, leaf, seems });
        assert_eq!(contradictions(&file, &[], &data, 8), expected);
    }

    #[test]
    fn leaves_that_look_alike_and_leaves_that_fall_apart_are_named() {
        let file = leaves(&[&[0, 1], &[2, 3], &[4, 5, 6, 7]]);
        let data = inferred(&[&[0, 1, 2, 3], &[4, 5], &[6, 7]], &[]);
        let expected =
            [Contradiction::Unknown { group: 2, leaves: vec![2] }, Contradiction::Alike { leaves: vec![0, 1] }];
        assert_eq!(contradictions(&file, &[], &data, 8), expected);
    }

    #[test]
    fn hosts_that_the_file_forgot_are_placed() {
        let file = leaves(&[&[0, 1, 2], &[3, 4, 5]]);
        let data = inferred(&[&[0, 1, 2], &[3, 4, 5, 6]], &[7]);
        let expected = Contradiction::Unplaced { hosts: vec![6], seems: vec![1] };
        assert_eq!(contradictions(&file, &[6, 7], &data, 8), [expected]);
    }
}

//! Partitions of hosts: the number of every host's group.

/// Members of every group.
pub fn members(group: &[usize], groups: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); groups];
    group.iter().enumerate().for_each(|(host, group)| members[*group].push(host));
    members
}

/// Numbers groups by size, the largest first.
pub fn by_size(label: &[usize]) -> Vec<usize> {
    let count = label.iter().max().map_or(0, |last| last + 1);
    let mut groups: Vec<Vec<usize>> = members(label, count);
    groups.retain(|members| !members.is_empty());
    groups.sort_by_key(|members| std::cmp::Reverse(members.len()));
    let mut ranked = vec![0; label.len()];
    groups.iter().enumerate().for_each(|(rank, members)| members.iter().for_each(|host| ranked[*host] = rank));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_hosts_of_every_group() {
        assert_eq!(members(&[1, 0, 1, 3], 4), [vec![1], vec![0, 2], vec![], vec![3]]);
    }

    #[test]
    fn groups_are_numbered_by_size() {
        assert_eq!(by_size(&[4, 2, 2, 0, 2, 0]), [2, 0, 0, 1, 0, 1]);
        // Of equal ones, the first number first; numbers without hosts vanish.
        assert_eq!(by_size(&[7, 3, 7, 3]), [1, 0, 1, 0]);
        assert_eq!(by_size(&[]), [0; 0]);
    }
}

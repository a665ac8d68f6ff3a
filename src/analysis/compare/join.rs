//! What two runs have in common: hosts by name, message lengths by size.
//!
//! In: the descriptions of two runs. Out: [`Joined`], or why they cannot be compared.

use std::collections::HashMap;

use super::CompareError;
use crate::{
    record::{Header, Run},
    units::{Bytes, hostlist},
};

/// A message length that both runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinedLength {
    /// In the base run.
    pub base: Bytes,
    /// In the new run: the same, or the nearest one within a factor of 1.25.
    pub new: Bytes,
    /// Their numbers in the base and in the new run.
    pub(super) index: (usize, usize),
}

impl JoinedLength {
    /// Whether both runs have this very length: if not, a longer message takes longer for no fault of anybody.
    pub fn is_same(&self) -> bool {
        self.base == self.new
    }
}

/// Hosts and lengths of two runs, joined.
pub(super) struct Joined {
    /// Names of the hosts of both, in the order of the base run.
    pub shared: Vec<String>,
    /// Their numbers in the base run, `[shared host]`.
    pub in_base: Vec<usize>,
    /// Their numbers in the new run, `[shared host]`.
    pub in_new: Vec<usize>,
    /// Hosts of the new run only.
    pub new: Vec<String>,
    /// Hosts of the base run only.
    pub lost: Vec<String>,
    /// Ascending.
    pub lengths: Vec<JoinedLength>,
    /// What a reader of the comparison should know.
    pub notices: Vec<String>,
}

/// Largest ratio of two lengths that are compared with each other.
const NEAR: f64 = 1.25;

/// Most lengths that an error lists.
const MOST_LENGTHS: usize = 12;

impl Joined {
    pub fn of(base: &dyn Run, new: &dyn Run) -> Result<Self, CompareError> {
        let mut notices = check(base.header(), new.header())?;
        let (base_hosts, new_hosts) = (&base.header().hosts, &new.header().hosts);
        let number: HashMap<&str, usize> = new_hosts.names().iter().map(String::as_str).zip(0..).collect();
        let numbers = base_hosts.names().iter().enumerate().map(|(n, name)| (n, name, number.get(name.as_str())));
        let (mut shared, mut in_base, mut in_new, mut lost) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (host, name, other) in numbers {
            match other {
                Some(&other) => {
                    shared.push(name.clone());
                    in_base.push(host);
                    in_new.push(other);
                }
                None => lost.push(name.clone()),
            }
        }
        let is_shared: Vec<bool> = {
            let mut is_shared = vec![false; new_hosts.count()];
            in_new.iter().for_each(|host| is_shared[*host] = true);
            is_shared
        };
        let only_new = new_hosts.names().iter().zip(is_shared).filter(|(_, is_shared)| !is_shared);
        let lengths = join_lengths(base.lengths(), new.lengths())?;
        let near = lengths.iter().filter(|length| !length.is_same()).count();
        if near > 0 {
            notices.push(format!(
                "{near} of {} lengths are not the same in both runs but near each other: at these only differences \
                 between hosts count, not what all hosts share",
                lengths.len()
            ));
        }
        let is_other = |(a, b): (&usize, &usize)| base_hosts.ranks_of(*a).len() != new_hosts.ranks_of(*b).len();
        let other = in_base.iter().zip(&in_new).filter(|pair| is_other(*pair)).count();
        if other > 0 {
            notices.push(format!(
                "{other} of {} hosts have another number of ranks: hosts are compared by the median over their ranks",
                shared.len()
            ));
        }
        let new = only_new.map(|(name, _)| name.clone()).collect();
        Ok(Self { shared, in_base, in_new, new, lost, lengths, notices })
    }
}

/// Refuses runs that measured different things; says what else differs and may explain a change.
fn check(base: &Header, new: &Header) -> Result<Vec<String>, CompareError> {
    let refuse = |text: String| Err(CompareError::Incompatible(text));
    if base.mode != new.mode {
        return refuse(format!(
            "the base run is of mode {}, the new one of {}: compare runs of the same mode, named by a file of theirs or by \
             their prefix, as PREFIX_{} for both",
            base.mode, new.mode, base.mode
        ));
    }
    if base.mode.has_noise() && base.noise != new.noise {
        return refuse(
            "the runs were measured under different noise, which would be taken for a change: measure both with the same \
             -l, -m and -p"
                .to_owned(),
        );
    }
    let mut notices = Vec::new();
    match (base.item("timing"), new.item("timing")) {
        (Some(old), Some(new)) if old != new && base.mode.is_one_way() => {
            return refuse(format!(
                "the base run was timed by `{old}`, the new one by `{new}`: these are different times; measure both with the \
                 same --timing"
            ));
        }
        (None, Some(_)) | (Some(_), None) if base.mode.is_one_way() => {
            notices.push(
                "one of the runs does not say how it was timed: the other one may have been timed differently".into(),
            );
        }
        _ => {}
    }
    if let (Some(old), Some(new)) = (base.item("schedule"), new.item("schedule"))
        && old != new
    {
        notices.push(format!("the schedule was `{old}` and is `{new}`: pairs may disturb each other differently"));
    }
    let (old, now) = (&base.provenance, &new.provenance);
    for (what, old, now) in
        [("MPI library", &old.mpi_library, &now.mpi_library), ("program", &old.program_version, &now.program_version)]
    {
        if !old.is_empty() && !now.is_empty() && old != now {
            notices.push(format!("the {what} was `{}` and is `{}`", first_line(old), first_line(now)));
        }
    }
    Ok(notices)
}

/// MPI libraries describe themselves in many lines.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end_matches([',', ' '])
}

/// The same lengths, else the nearest ones; every length at most once.
fn join_lengths(base: &[Bytes], new: &[Bytes]) -> Result<Vec<JoinedLength>, CompareError> {
    let ratio = |a: Bytes, b: Bytes| match (a.0.min(b.0), a.0.max(b.0)) {
        (low, high) if low == high => 1.0,
        (0, _) => f64::INFINITY,
        (low, high) => high as f64 / low as f64,
    };
    let nearest = |wanted: Bytes, among: &[Bytes]| {
        (0..among.len()).min_by(|a, b| ratio(wanted, among[*a]).total_cmp(&ratio(wanted, among[*b])))
    };
    let joined: Vec<JoinedLength> = (0..base.len())
        .filter_map(|n| {
            let other = nearest(base[n], new)?;
            // Two lengths are joined if neither has a nearer one.
            let is_mutual = nearest(new[other], base) == Some(n);
            let is_near = ratio(base[n], new[other]) <= NEAR;
            (is_mutual && is_near).then_some(JoinedLength { base: base[n], new: new[other], index: (n, other) })
        })
        .collect();
    if joined.is_empty() {
        return Err(CompareError::Incompatible(format!(
            "the runs have no message length in common, nor two within a factor of {NEAR}: the base run has {}, the new one {}",
            list(base),
            list(new)
        )));
    }
    Ok(joined)
}

fn list(lengths: &[Bytes]) -> String {
    let shown = lengths.iter().take(MOST_LENGTHS).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match lengths.len() {
        0 => "none that is finished".to_owned(),
        count if count > MOST_LENGTHS => {
            format!("{shown} and {} more up to {}", count - MOST_LENGTHS, lengths[count - 1])
        }
        _ => shown,
    }
}

/// `2 hosts (node[001-002])`.
pub(super) fn count_of_hosts(names: &[String]) -> String {
    match names {
        [one] => format!("1 host ({one})"),
        many => format!("{} hosts ({})", many.len(), hostlist::compress(many)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &[u64], new: &[u64]) -> Result<Vec<(u64, u64)>, String> {
        let bytes = |lengths: &[u64]| lengths.iter().copied().map(Bytes).collect::<Vec<_>>();
        let joined = join_lengths(&bytes(base), &bytes(new)).map_err(|error| error.to_string())?;
        Ok(joined.iter().map(|length| (length.base.0, length.new.0)).collect())
    }

    #[test]
    fn the_same_lengths_come_first_then_near_ones() {
        assert_eq!(joined(&[0, 64, 4096], &[0, 4096, 8192]).unwrap(), [(0, 0), (4096, 4096)]);
        assert_eq!(joined(&[1000, 2000], &[1024, 2100]).unwrap(), [(1000, 1024), (2000, 2100)]);
        // 1000 is as near to 1100 as nothing else, but 1100 itself is there.
        assert_eq!(joined(&[1000, 1100], &[1100]).unwrap(), [(1100, 1100)]);
        assert_eq!(joined(&[1000, 1300], &[1100, 1000]).unwrap(), [(1000, 1000)]);
    }

    #[test]
    fn lengths_without_a_partner_are_listed() {
        let error = joined(&[0, 64], &[1, 4096]).unwrap_err();
        assert!(error.contains("base run has 0, 64, the new one 1, 4K"), "{error}");
        let many: Vec<u64> = (0..100).map(|n| (1 << 20) + n).collect();
        let error = joined(&[], &many).unwrap_err();
        assert!(error.contains("none that is finished") && error.contains("88 more"), "{error}");
    }

    #[test]
    fn descriptions_are_their_first_line() {
        assert_eq!(first_line("Open MPI v4.1.4, package: Debian\nmore"), "Open MPI v4.1.4, package: Debian");
        assert_eq!(first_line(""), "");
    }
}

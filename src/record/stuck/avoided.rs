//! What a run that goes on leaves out because an earlier try was stuck in it.

use std::collections::BTreeSet;

use super::{Phase, Stuck, Wait, WaitOutcome};
use crate::{
    plan::Mode,
    units::{Bytes, Hosts, Rank},
};

impl Stuck {
    /// What a run that goes on leaves out: pairs that were stuck in their exchange, or that did not answer, although the
    /// other's process was alive; hosts that were in several of them; collective exchanges. A process that gave no sign
    /// of life says nothing about its cables: its pairs are measured again.
    pub fn avoided(&self) -> Avoided {
        let mut avoided = Avoided::default();
        let mut met: Vec<(Mode, &str, &str, Bytes)> = Vec::new();
        // All of a job are in one collective exchange: whoever only says so, because another one has given up, is in it too.
        let counts = |wait: &&Wait| wait.outcome != WaitOutcome::Joined || wait.step.is_some();
        for wait in self.waits.iter().filter(counts) {
            let (Some(mode), Some(length)) = (wait.mode, wait.length) else { continue };
            match (wait.phase, &wait.waits_for[..]) {
                (Phase::Exchange | Phase::Handshake | Phase::Probe, [(other, host)])
                    if wait.silent.iter().all(|(silent, _)| silent != other) =>
                {
                    avoided.pairs.push((mode, wait.rank, *other, length));
                    met.push((mode, host, &wait.host, length));
                    met.push((mode, &wait.host, host, length));
                }
                // The root of a broadcast waits for others, and they for it: they say whose it was.
                (Phase::Collective, root) if wait.silent.is_empty() && (mode != Mode::Bcast || !root.is_empty()) => {
                    let root = root.first().filter(|_| mode == Mode::Bcast);
                    avoided.rounds.push((mode, root.map(|(root, _)| *root), length));
                }
                _ => {}
            }
        }
        for (mode, host, _, _) in &met {
            let of_host = || met.iter().filter(|(of, one, other, _)| (of, one) == (mode, host) && one != other);
            let others: BTreeSet<_> = of_host().map(|(_, _, other, _)| other).collect();
            let from = of_host().map(|(_, _, _, length)| *length).min();
            if let (2.., Some(from)) = (others.len(), from)
                && !avoided.hosts.iter().any(|(of, known, _)| (of, known.as_str()) == (mode, host))
            {
                avoided.hosts.push((*mode, (*host).to_owned(), from));
            }
        }
        avoided
    }
}

/// What a run leaves out because an earlier try was stuck in it. [`Default`]: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Avoided {
    /// Two ranks between which messages from this length on do not get through.
    pairs: Vec<(Mode, Rank, Rank, Bytes)>,
    /// Hosts that cannot exchange such messages with several others.
    hosts: Vec<(Mode, String, Bytes)>,
    /// Collective exchanges, with their root.
    rounds: Vec<(Mode, Option<Rank>, Bytes)>,
}

impl Avoided {
    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.rounds.is_empty()
    }

    /// Whether a pair is left out at a length.
    pub fn pair(&self, hosts: &Hosts, mode: Mode, pair: (Rank, Rank), length: Bytes) -> bool {
        let is_pair = |a: Rank, b: Rank| pair == (a, b) || pair == (b, a);
        let names = [pair.0, pair.1].map(|rank| hosts.name_of(rank));
        let between_hosts = names[0] != names[1];
        self.pairs.iter().any(|(of, a, b, from)| *of == mode && is_pair(*a, *b) && length >= *from)
            || self.hosts.iter().any(|(of, host, from)| {
                *of == mode && between_hosts && names.contains(&host.as_str()) && length >= *from
            })
    }

    /// Whether a collective exchange is left out at a length: that of its root, or all where several were stuck.
    pub fn round(&self, mode: Mode, root: Option<Rank>, length: Bytes) -> bool {
        let stuck: Vec<_> = self.rounds.iter().filter(|(of, _, from)| *of == mode && length >= *from).collect();
        let roots: BTreeSet<_> = stuck.iter().map(|(_, root, _)| *root).collect();
        roots.len() > 1 || roots.contains(&root)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::wait, *};

    #[test]
    fn a_pair_that_was_stuck_is_left_out_and_a_host_that_was_stuck_with_several() {
        let hosts = Hosts::new(["n0", "n1", "n2", "n3", "n3"]);
        let mode = Mode::OneToOne;
        let with = |rank: Rank, other: Rank| Wait {
            rank,
            host: hosts.name_of(rank).to_owned(),
            waits_for: vec![(other, hosts.name_of(other).to_owned())],
            ..wait()
        };
        let avoided = Stuck { waits: vec![with(0, 2), with(2, 0)] }.avoided();
        assert!(avoided.pair(&hosts, mode, (2, 0), Bytes(1024)) && avoided.pair(&hosts, mode, (0, 2), Bytes(9999)));
        assert!(
            !avoided.pair(&hosts, mode, (0, 2), Bytes(1023)) && !avoided.pair(&hosts, Mode::Put, (0, 2), Bytes(1024))
        );
        assert!(!avoided.pair(&hosts, mode, (1, 2), Bytes(1024)));
        let avoided = Stuck { waits: vec![with(0, 3), with(1, 4)] }.avoided();
        assert!(avoided.pair(&hosts, mode, (2, 4), Bytes(1024)), "n3 has no long messages with n0 and n1");
        assert!(!avoided.pair(&hosts, mode, (3, 4), Bytes(1024)), "inside a host nothing was stuck");
        assert!(!avoided.pair(&hosts, mode, (0, 1), Bytes(1024)));
        let silent = vec![(2, "n2".to_owned())];
        let dead =
            Stuck { waits: vec![Wait { silent, ..with(0, 2) }, Wait { outcome: WaitOutcome::Joined, ..with(1, 0) }] };
        assert!(dead.avoided().is_empty());
    }

    #[test]
    fn a_root_whose_broadcast_was_stuck_is_left_out() {
        let root = |rank, root: Rank| Wait {
            rank,
            phase: Phase::Collective,
            mode: Some(Mode::Bcast),
            waits_for: vec![(root, "n".to_owned())],
            ..wait()
        };
        let one = Stuck { waits: vec![root(0, 2), root(1, 2)] }.avoided();
        assert!(one.round(Mode::Bcast, Some(2), Bytes(1024)) && !one.round(Mode::Bcast, Some(1), Bytes(1024)));
        assert!(!one.round(Mode::AllToAll, None, Bytes(1024)));
        let several = Stuck { waits: vec![root(0, 2), root(0, 3)] }.avoided();
        assert!(several.round(Mode::Bcast, Some(1), Bytes(1024)) && !several.round(Mode::Bcast, Some(2), Bytes(1)));
        for waits_for in [vec![], vec![(1, "n".to_owned())]] {
            let joined = Wait { outcome: WaitOutcome::Joined, step: Some(9), ..root(0, 1) };
            let everyone = Stuck { waits: vec![Wait { mode: Some(Mode::AllToAll), waits_for, ..joined }] };
            assert!(everyone.avoided().round(Mode::AllToAll, None, Bytes(4096)));
        }
    }
}

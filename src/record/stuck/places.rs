//! What a run waited for in vain: from the lines of all ranks to the hosts and pairs that are to blame.

use std::collections::{BTreeMap, BTreeSet};

use super::{Phase, Stuck, Wait, WaitOutcome};
use crate::{
    plan::Mode,
    units::{Bytes, Rank},
};

impl Stuck {
    /// What others wait for in vain, the place most waited for first. Hosts whose processes give no sign of life stand
    /// alone: what waits for others waits for them in the end. Else it is what pairs, or all with all, wait for in the
    /// midst of an exchange; else the end of the chain in which some wait for others to finish.
    pub fn places(&self) -> Vec<StuckPlace> {
        // A rank that has said before what it waits for has ended by itself. What a frozen one says afterwards, when a
        // launcher wakes it to end it, is no evidence.
        let spoke = |rank: Rank, before: usize| {
            let own = |wait: &&Wait| wait.rank == rank && wait.outcome != WaitOutcome::Skipped;
            self.waits[..before].iter().filter(own).any(|wait| is_of_one_try(wait, &self.waits[before]))
        };
        let is_silent = |place: usize, rank: Rank| !spoke(rank, place);
        let woken = |place: usize| {
            let wait = &self.waits[place];
            let names = |other: usize| self.waits[other].silent.iter().any(|(silent, _)| *silent == wait.rank);
            (0..place)
                .any(|other| names(other) && is_silent(other, wait.rank) && is_of_one_try(&self.waits[other], wait))
        };
        // What a rank that is behind has not come to, it has not sent.
        let is_sent = |place: usize, rank: Rank| {
            let wait = &self.waits[place];
            let own = |other: &&Wait| other.rank == rank && is_of_one_try(other, wait);
            // With as many steps behind it, it still agrees with the others on whether there is a next one.
            let agrees = |other: &Wait| (other.phase, wait.phase) == (Phase::Agreement, Phase::Barrier);
            let behind = |other: &Wait| {
                other.step.zip(wait.step).is_some_and(|(step, own)| step < own || step == own && agrees(other))
            };
            !self.waits.iter().filter(own).any(behind)
        };
        let sound = |place: usize| {
            let mut wait = self.waits[place].clone();
            wait.silent.retain(|(rank, _)| is_silent(place, *rank));
            wait.waits_for.retain(|(rank, _)| is_sent(place, *rank));
            wait
        };
        let sound: Vec<Wait> = (0..self.waits.len()).filter(|place| !woken(*place)).map(sound).collect();
        let waits: Vec<&Wait> = sound.iter().collect();
        let dead = dead(&waits);
        if !dead.is_empty() {
            return dead;
        }
        // Whoever waits in a barrier for a message that was sent knows where one is lost; what is behind it waits for that.
        let lost = edges(waits.iter().copied().filter(|wait| wait.phase == Phase::Barrier && wait.step.is_some()));
        if !lost.is_empty() {
            return cover(lost);
        }
        let mut places = unbroadcast(&waits);
        let is_evidence = |wait: &Wait| match wait.phase {
            Phase::Collective => wait.mode != Some(Mode::Bcast),
            phase => phase.is_direct() && wait.outcome != WaitOutcome::Joined,
        };
        let edges = edges(waits.iter().copied().filter(|wait| is_evidence(wait)));
        if edges.is_empty() && places.is_empty() {
            let chain: Vec<&Wait> = waits.iter().copied().filter(|wait| !wait.phase.is_direct()).collect();
            let ends = self::edges(ends_of_chains(&chain).into_iter());
            return cover(if ends.is_empty() { self::edges(chain.into_iter()) } else { ends });
        }
        places.extend(cover(edges));
        places
    }

    /// One sentence per place: what a person wants to know first.
    pub fn summary(&self) -> Vec<String> {
        self.places().iter().map(StuckPlace::sentence).collect()
    }
}

/// What others wait for in vain.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckPlace {
    /// One host, or two between which nothing gets through; several where it is one of them.
    pub hosts: Vec<String>,
    /// What of them.
    pub kind: StuckKind,
    /// Who waits for it, or is part of it and waits.
    pub ranks: Vec<Rank>,
    /// The mode and the message lengths of these waits, where one had begun.
    pub mode: Option<Mode>,
    /// Shortest and longest.
    pub lengths: Option<(Bytes, Bytes)>,
}

/// What of some hosts is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StuckKind {
    /// Its processes give no sign of life; or this one, while others on the host do.
    Dead(Option<Rank>),
    /// The host's processes are alive, and several others wait for it or it waits for them.
    Host,
    /// The way between two hosts.
    Pair,
    /// Hosts that a broadcast does not reach: one of them, or a way to it.
    Unreached,
}

impl StuckPlace {
    fn new(hosts: Vec<String>, kind: StuckKind) -> Self {
        Self { hosts, kind, ranks: Vec::new(), mode: None, lengths: None }
    }

    fn take(&mut self, wait: &Wait) {
        if !self.ranks.contains(&wait.rank) {
            self.ranks.push(wait.rank);
        }
        self.mode = self.mode.or(wait.mode);
        if let Some(length) = wait.length {
            let (shortest, longest) = self.lengths.unwrap_or((length, length));
            self.lengths = Some((shortest.min(length), longest.max(length)));
        }
    }

    /// For people.
    pub fn sentence(&self) -> String {
        let ranks = crate::units::counted(self.ranks.len(), "rank");
        let verb = if self.ranks.len() == 1 { "waits" } else { "wait" };
        let what = match self.lengths {
            None => "messages".to_owned(),
            Some((a, b)) if a == b => format!("messages of {}", a.counted()),
            Some((a, b)) => format!("messages of {a} to {}", b.counted()),
        };
        let hosts = self.hosts.join(" and ");
        match self.kind {
            StuckKind::Dead(None) => format!("{hosts} answers nobody: {ranks} {verb} for it"),
            StuckKind::Dead(Some(rank)) => format!("rank {rank} on {hosts} answers nobody: {ranks} {verb} for it"),
            StuckKind::Host => format!("{hosts} and several others wait for each other with {what}: {ranks} {verb}"),
            StuckKind::Pair => format!("nothing gets through between {hosts} with {what}: {ranks} {verb}"),
            StuckKind::Unreached => format!("a broadcast does not reach {hosts} with {what}: {ranks} {verb}"),
        }
    }
}

/// Whether two lines may be of the same try: all of a try are written within a short time.
fn is_of_one_try(one: &Wait, other: &Wait) -> bool {
    match (humantime::parse_rfc3339(&one.time), humantime::parse_rfc3339(&other.time)) {
        (Ok(one), Ok(other)) => {
            let apart = one.duration_since(other).or_else(|_| other.duration_since(one));
            apart.is_ok_and(|apart| apart.as_secs() < 60)
        }
        _ => true,
    }
}

/// Hosts of which a process gives no sign of life, with all who wait for it or say so.
fn dead(waits: &[&Wait]) -> Vec<StuckPlace> {
    let mut places: Vec<StuckPlace> = Vec::new();
    for (rank, host) in waits.iter().flat_map(|wait| &wait.silent) {
        let lives = waits.iter().any(|wait| wait.host == *host);
        let kind = StuckKind::Dead(lives.then_some(*rank));
        if places.iter().all(|place| place.hosts[0] != *host || place.kind != kind) {
            places.push(StuckPlace::new(vec![host.clone()], kind));
        }
    }
    for place in &mut places {
        let host = place.hosts[0].clone();
        let is_meant = |rank: Rank, other: &str| match place.kind {
            StuckKind::Dead(Some(own)) => rank == own,
            _ => other == host,
        };
        let names =
            |wait: &&&Wait| wait.waits_for.iter().chain(&wait.silent).any(|(rank, other)| is_meant(*rank, other));
        let meant: Vec<_> = waits.iter().filter(names).collect();
        meant.into_iter().for_each(|wait| place.take(wait));
    }
    places.sort_by_key(|place| std::cmp::Reverse(place.ranks.len()));
    places
}

/// Hosts that wait inside a broadcast: the root's, if nobody has come out of it; else those that have not, because a
/// message travels from one to the next.
fn unbroadcast(waits: &[&Wait]) -> Vec<StuckPlace> {
    let of = |wait: &&&Wait| {
        matches!(wait.phase, Phase::Collective | Phase::Barrier | Phase::Agreement) && wait.mode == Some(Mode::Bcast)
    };
    let (inside, outside): (Vec<&Wait>, Vec<&Wait>) = waits
        .iter()
        .filter(of)
        .copied()
        .partition(|wait| wait.phase == Phase::Collective && !wait.waits_for.is_empty());
    let mut places: Vec<StuckPlace> = Vec::new();
    for wait in &inside {
        let root = &wait.waits_for[0].1;
        let of_round = |other: &&&Wait| {
            let is_collective = other.phase == Phase::Collective;
            // Barriers and agreements come before a broadcast as well as behind it.
            let is_behind = |step| step >= wait.step.unwrap_or(0) + u64::from(!is_collective);
            (other.length, other.round) == (wait.length, wait.round) && other.step.map_or(is_collective, is_behind)
        };
        // The root may come out of its own broadcast before anybody else has got anything.
        let reached = outside.iter().filter(of_round).any(|other| other.host != *root);
        let hosts = if reached || *root == wait.host { vec![wait.host.clone()] } else { vec![root.clone()] };
        let kind = if reached { StuckKind::Unreached } else { StuckKind::Host };
        match places.iter_mut().find(|place| place.kind == kind) {
            Some(place) => {
                let new: Vec<_> = hosts.into_iter().filter(|host| !place.hosts.contains(host)).collect();
                place.hosts.extend(new);
                place.take(wait);
            }
            None => {
                places.push(StuckPlace::new(hosts, kind));
                places.last_mut().into_iter().for_each(|place| place.take(wait));
            }
        }
    }
    places
}

/// Somebody waits for somebody on another host.
#[derive(Clone, Debug)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    wait: &'a Wait,
}

/// The waits in which chains end: for a rank that waits for nobody, or in a ring of ranks that wait for each other.
fn ends_of_chains<'a>(waits: &[&'a Wait]) -> Vec<&'a Wait> {
    let next: BTreeMap<Rank, &Wait> =
        waits.iter().filter(|wait| wait.waits_for.len() == 1).map(|wait| (wait.rank, *wait)).collect();
    let mut ends: BTreeMap<Rank, &Wait> = BTreeMap::new();
    for &first in next.values() {
        let mut path = vec![first];
        let last = loop {
            let other = path[path.len() - 1].waits_for[0].0;
            match (path.iter().position(|wait| wait.rank == other), next.get(&other)) {
                (Some(ring), _) => break ring,
                (None, Some(wait)) => path.push(wait),
                (None, None) => break path.len() - 1,
            }
        };
        ends.extend(path[last..].iter().map(|wait| (wait.rank, *wait)));
    }
    ends.into_values().collect()
}

fn edges<'a>(waits: impl Iterator<Item = &'a Wait>) -> Vec<Edge<'a>> {
    let of_wait = |wait: &'a Wait| {
        let others = wait.waits_for.iter().filter(|(_, host)| *host != wait.host);
        others.map(move |(_, host)| Edge { from: &wait.host, to: host, wait })
    };
    waits.flat_map(of_wait).collect()
}

/// The fewest hosts that have a part in all of this, but no fewer than two others each; then the pairs that are left.
fn cover(mut edges: Vec<Edge<'_>>) -> Vec<StuckPlace> {
    let mut places = Vec::new();
    let has = |edge: &Edge<'_>, host: &str| edge.from == host || edge.to == host;
    while let Some(first) = edges.first().cloned() {
        let mut others: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for edge in &edges {
            others.entry(edge.from).or_default().insert(edge.to);
            others.entry(edge.to).or_default().insert(edge.from);
        }
        let most = others.iter().max_by_key(|(_, others)| others.len());
        let (mut hosts, kind) = match most {
            Some((host, others)) if others.len() > 1 => (vec![(*host).to_owned()], StuckKind::Host),
            _ => (vec![first.from.to_owned(), first.to.to_owned()], StuckKind::Pair),
        };
        hosts.sort();
        let mut place = StuckPlace::new(hosts, kind);
        edges.retain(|edge| {
            let own = place.hosts.iter().all(|host| has(edge, host));
            if own {
                place.take(edge.wait);
            }
            !own
        });
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{super::tests::wait, *};

    /// A wait of the rank of this number, on the host of this number, for another.
    fn waits_for(rank: Rank, others: &[Rank]) -> Wait {
        let name = |rank: Rank| format!("n{rank}");
        Wait {
            rank,
            host: name(rank),
            waits_for: others.iter().map(|other| (*other, name(*other))).collect(),
            ..wait()
        }
    }

    fn summary(waits: Vec<Wait>) -> Vec<String> {
        Stuck { waits }.summary()
    }

    #[test]
    fn a_silent_host_stands_alone() {
        let mut waits = vec![waits_for(0, &[2]), waits_for(1, &[2]), waits_for(3, &[0])];
        waits[2].silent = vec![(2, "n2".to_owned())];
        // What it says when the launcher wakes it is no evidence.
        waits.push(waits_for(2, &[0]));
        assert_eq!(summary(waits.clone()), ["n2 answers nobody: 3 ranks wait for it"]);
        // Whoever ends late sees the silence of those that have ended.
        waits.push(Wait { silent: vec![(1, "n1".to_owned())], ..waits_for(5, &[1]) });
        assert_eq!(summary(waits.clone()), ["n2 answers nobody: 3 ranks wait for it"]);
        waits.pop();
        // Its neighbour on the host is alive, and waits for it too.
        waits.push(Wait { host: "n2".to_owned(), ..waits_for(7, &[2]) });
        assert_eq!(summary(waits), ["rank 2 on n2 answers nobody: 4 ranks wait for it"]);
    }

    #[test]
    fn a_host_that_several_wait_for_is_named_before_pairs() {
        let several = vec![waits_for(0, &[2]), waits_for(1, &[2]), waits_for(2, &[0]), waits_for(3, &[4])];
        assert_eq!(
            summary(several),
            [
                "n2 and several others wait for each other with messages of 1K bytes: 3 ranks wait",
                "nothing gets through between n3 and n4 with messages of 1K bytes: 1 rank waits"
            ]
        );
        // A rank that waits for another one on its own host says nothing about the host.
        assert!(summary(vec![Wait { host: "n5".to_owned(), ..waits_for(4, &[5]) }]).is_empty());
    }

    #[test]
    fn whoever_waits_for_all_others_at_once_is_to_blame() {
        let of_all = |rank: Rank, others: &[Rank]| Wait {
            phase: Phase::Collective,
            mode: Some(Mode::AllToAll),
            outcome: WaitOutcome::Joined,
            ..waits_for(rank, others)
        };
        let [place] = &(Stuck { waits: vec![of_all(0, &[2]), of_all(2, &[0, 1, 3]), of_all(1, &[])] }).places()[..]
        else {
            panic!("one place")
        };
        assert_eq!((&place.hosts[..], place.kind), (&["n2".to_owned()][..], StuckKind::Host));
    }

    #[test]
    fn the_end_of_a_chain_is_named() {
        let later = |rank, others: &[Rank]| Wait { phase: Phase::Gathering, ..waits_for(rank, others) };
        let chain = vec![later(0, &[4]), later(4, &[6]), later(6, &[])];
        let of_4_and_6 = "nothing gets through between n4 and n6 with messages of 1K bytes: ";
        assert_eq!(summary(chain), [format!("{of_4_and_6}1 rank waits")]);
        let ring = vec![later(0, &[4]), later(4, &[6]), later(6, &[4]), later(7, &[0])];
        assert_eq!(summary(ring), [format!("{of_4_and_6}2 ranks wait")]);
    }

    #[test]
    fn a_broadcast_is_stuck_at_its_root_or_where_it_does_not_arrive() {
        let of_root =
            |rank, root: &[Rank]| Wait { phase: Phase::Collective, mode: Some(Mode::Bcast), ..waits_for(rank, root) };
        let [root] = &(Stuck { waits: vec![of_root(0, &[3]), of_root(1, &[3]), of_root(3, &[])] }).places()[..] else {
            panic!("one place")
        };
        assert_eq!(
            (&root.hosts[..], root.kind, &root.ranks[..]),
            (&["n3".to_owned()][..], StuckKind::Host, &[0, 1][..])
        );
        let some = vec![of_root(0, &[]), of_root(1, &[]), of_root(2, &[0]), of_root(3, &[0])];
        assert_eq!(summary(some), ["a broadcast does not reach n2 and n3 with messages of 1K bytes: 2 ranks wait"]);
    }

    #[test]
    fn a_host_whose_cable_is_pulled_within_a_barrier_is_named() {
        // Eight ranks on four hosts: what the ranks 2 and 6 on n2 send to other hosts, and what others send to them, is lost.
        let waits = |steps: u64| {
            let of_barrier = |rank: Rank, from: Rank, step: u64| Wait {
                rank,
                phase: Phase::Barrier,
                host: format!("n{}", rank % 4),
                waits_for: vec![(from, format!("n{}", from % 4))],
                step: Some(steps + step),
                mode: Some(Mode::AllToAll),
                ..wait()
            };
            let first = [(2, 1), (6, 5), (3, 2), (7, 6)].map(|(rank, from)| of_barrier(rank, from, 0));
            let second = [(4, 2), (0, 6), (1, 7), (5, 3)].map(|(rank, from)| of_barrier(rank, from, 1));
            [second, first].concat()
        };
        let n2 = "n2 and several others wait for each other with messages of 1K bytes: 4 ranks wait";
        assert_eq!(summary(waits(17)), [n2]);
        // Whoever has come through before waits in the exchange, for those that have not begun it.
        let mut waits = waits(17);
        let exchange = |wait: &mut Wait| {
            wait.waits_for = [1, 2, 3, 5, 6, 7].map(|rank| (rank, format!("n{}", rank % 4))).to_vec();
            (wait.phase, wait.step) = (Phase::Collective, Some(20));
        };
        waits[..2].iter_mut().for_each(exchange);
        assert_eq!(summary(waits.clone()), [n2]);
        // A rank that has not come to the barrier is no evidence against its neighbours.
        waits.retain(|wait| wait.rank != 3);
        waits.push(Wait { rank: 3, host: "n3".to_owned(), step: Some(16), waits_for: vec![], ..waits[0].clone() });
        assert_eq!(Stuck { waits }.places()[0].hosts, ["n2"]);
    }

    #[test]
    fn a_rank_that_still_agrees_has_not_sent_what_others_wait_for_in_the_barrier_behind() {
        // The word of rank 0 to go on is lost on its way to ranks 2 and 6, on n2, and never gets to 3 and 7.
        let of = |phase| {
            move |(rank, from): (Rank, Rank)| Wait {
                rank,
                phase,
                host: format!("n{}", rank % 4),
                waits_for: vec![(from, format!("n{}", from % 4))],
                step: Some(7),
                mode: Some(Mode::Bcast),
                ..wait()
            }
        };
        let gone_on = [(4, 7), (1, 6), (0, 2), (5, 6)].map(of(Phase::Barrier));
        let agree = [(3, 2), (7, 6), (2, 0), (6, 4)].map(of(Phase::Agreement));
        assert_eq!(
            summary([gone_on, agree].concat()),
            ["nothing gets through between n0 and n2 with messages of 1K bytes: 2 ranks wait"]
        );
    }

    #[test]
    fn a_broadcast_that_others_have_left_is_stuck_where_it_has_not_arrived() {
        let of = |rank, phase, others: &[Rank], step| Wait {
            phase,
            mode: Some(Mode::Bcast),
            step: Some(step),
            ..waits_for(rank, others)
        };
        // n3 has not got the message of n0; n0 and n1 are in the barrier behind it, and n2 waits for n3 there.
        let some = vec![
            of(0, Phase::Collective, &[], 8),
            of(1, Phase::Barrier, &[3], 9),
            of(2, Phase::Barrier, &[3], 8 + 1),
            of(3, Phase::Collective, &[0], 8),
        ];
        let n3 = "a broadcast does not reach n3 with messages of 1K bytes: 1 rank waits";
        assert_eq!(summary(some), [n3]);
        // Behind the last exchange of a batch all agree whether to go on; an agreement before the broadcast says nothing.
        let last = |steps| {
            vec![
                of(1, Phase::Agreement, &[0], steps),
                of(0, Phase::Agreement, &[3], steps),
                of(3, Phase::Collective, &[2], 8),
                of(2, Phase::Agreement, &[3], steps),
            ]
        };
        assert_eq!(summary(last(9)), [n3]);
        assert_eq!(Stuck { waits: last(8) }.places()[0].hosts, ["n2"]);
    }
}

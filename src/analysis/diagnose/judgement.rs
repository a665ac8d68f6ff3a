//! Who is to blame, beside the run taken apart: what each suspicion is about, and by how much.
//!
//! In: [`Suspicion`]s with the effects that led to them. Out: sizes, pairs and agreement of cells at every length. Who
//! is suspected is decided in [`super::accuse`].

use super::{Direction, Kind, evidence::Effects, model::Fit, uplinks::Level};
use crate::stats::median_of;

/// Somebody who is to blame.
#[derive(Clone, Debug)]
pub struct Suspicion {
    /// What it is.
    pub kind: Kind,
    /// Hosts by number: one; source and destination; or members.
    pub hosts: Vec<usize>,
    /// Which way.
    pub direction: Direction,
    /// By how much, `ln(ratio)`, over the range.
    pub effect: f64,
    /// First and last length of the range, by number.
    pub range: (usize, usize),
    /// The probability that a healthy run has something like this somewhere.
    pub doubt: f64,
}

/// How many of the cells that should be slow are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Ordered pairs that are slow by at least half of the finding's size over its lengths; of a link: cells.
    pub slow: usize,
    /// All that were measured.
    pub of: usize,
}

impl Agreement {
    /// Whether more than this share is slow.
    pub(super) fn is_most(self, share: f64) -> bool {
        self.slow as f64 > share * self.of as f64
    }
}

/// What a run looks like, and who is to blame.
pub struct Judgement {
    /// The run taken apart.
    pub fit: Fit,
    /// Groups and pods, where there are enough to have effects.
    pub(super) levels: Vec<Level>,
    /// Effects of hosts at every length, with those of a group that is too small to be at fault.
    pub(super) hosts: Vec<Effects>,
    /// Groups, hosts, links.
    pub suspicions: Vec<Suspicion>,
}

impl Judgement {
    /// The effect of what is suspected at one length, `ln(ratio)`.
    pub fn effect_at(&self, suspicion: &Suspicion, length: usize) -> f64 {
        match suspicion.kind {
            Kind::Link => {
                let (from, to) = (suspicion.hosts[0], suspicion.hosts[1]);
                let rests = [self.fit.rest_from_to(length, from, to), self.fit.rest_from_to(length, to, from)];
                let sides = if suspicion.direction == Direction::Both { &rests[..] } else { &rests[..1] };
                median_of(sides.iter().copied(), &mut Vec::new())
            }
            _ => match self.set_of(suspicion) {
                Some((level, set)) => {
                    let of = &level.effects[length];
                    suspicion.direction.effect(of.common[set], of.side[set])
                }
                None => {
                    let of = &self.hosts[length];
                    let of_host = |host: &usize| suspicion.direction.effect(of.common[*host], of.side[*host]);
                    median_of(suspicion.hosts.iter().map(of_host), &mut Vec::new())
                }
            },
        }
    }

    /// The group or pod that a suspicion is about; `None` for hosts, or where some were found to be slow together.
    fn set_of(&self, suspicion: &Suspicion) -> Option<(&Level, usize)> {
        let is_meant = |members: &Vec<usize>| *members == suspicion.hosts;
        let of_level = |level: &'_ Level| level.members.iter().position(is_meant);
        let mut levels = self.levels.iter().filter(|_| suspicion.kind == Kind::Group);
        levels.find_map(|level| Some((level, of_level(level)?)))
    }

    /// Whether a suspicion is about what goes from one host to another.
    pub fn is_meant(&self, suspicion: &Suspicion, from: usize, to: usize) -> bool {
        let (sends, receives) = (suspicion.direction != Direction::Receive, suspicion.direction != Direction::Send);
        let (is_from, is_to) = (suspicion.hosts.contains(&from), suspicion.hosts.contains(&to));
        match suspicion.kind {
            Kind::Link => suspicion.hosts == [from, to] || (receives && sends && suspicion.hosts == [to, from]),
            _ => is_from != is_to && (is_from && sends || is_to && receives),
        }
    }

    /// The ordered pairs that a suspicion is about.
    pub fn pairs(&self, suspicion: &Suspicion) -> Vec<(usize, usize)> {
        let hosts = self.fit.hosts();
        let all = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        all.filter(|(from, to)| from != to && self.is_meant(suspicion, *from, *to)).collect()
    }

    /// Counts the cells that should be slow, and those that are.
    pub fn agreement(&self, suspicion: &Suspicion) -> Agreement {
        let lengths = suspicion.range.0..=suspicion.range.1;
        let mut agreement = Agreement { slow: 0, of: 0 };
        let mut scratch = Vec::new();
        let mut count = |excess: f64| {
            if !excess.is_nan() {
                agreement.of += 1;
                agreement.slow += usize::from(excess > 0.5 * suspicion.effect);
            }
        };
        for (from, to) in self.pairs(suspicion) {
            let excess = lengths.clone().map(|length| self.excess(suspicion, length, from, to));
            if suspicion.kind == Kind::Link {
                excess.for_each(&mut count);
            } else {
                count(median_of(excess, &mut scratch));
            }
        }
        agreement
    }

    /// What a pair would take without what is suspected, `ln(time / level)`.
    pub fn usual_without(&self, suspicion: &Suspicion, length: usize, from: usize, to: usize) -> f64 {
        let own = match (suspicion.kind, self.set_of(suspicion)) {
            (Kind::Link, _) => 0.0,
            (_, Some((level, set))) => {
                let (member, partner) = if suspicion.hosts.contains(&from) { (from, to) } else { (to, from) };
                let common = level.beyond(length, set, partner) + self.fit.lengths[length].common[member];
                suspicion.direction.effect(common, level.effects[length].side[set])
            }
            (_, None) => self.effect_at(suspicion, length),
        };
        self.fit.usual(length, from, to) - own
    }

    /// By how much a pair is slower than it would be without what is suspected, `ln(ratio)`.
    pub fn excess(&self, suspicion: &Suspicion, length: usize, from: usize, to: usize) -> f64 {
        self.fit.rest_from_to(length, from, to) + self.fit.usual(length, from, to)
            - self.usual_without(suspicion, length, from, to)
    }
}

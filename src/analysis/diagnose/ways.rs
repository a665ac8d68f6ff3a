//! Whether a group's way to all others is slow, or some of its hosts are; and what hosts add to that.
//!
//! In: a [`Fit`] and the effects of its groups and pods. Out: the [`Way`] of every group, slow pods, and the effects of
//! hosts.

use super::{
    Kind,
    accuse::{Floors, of_evidence},
    evidence::{self, Effects, Evidence},
    judgement::Suspicion,
    middles,
    model::Fit,
    uplinks::{self, Level},
};
use crate::stats::median_of;

/// What a group's way to the others is like.
#[derive(Clone)]
pub(super) enum Way {
    /// As others are, or of fewer than three hosts.
    Usual,
    /// Slow for all hosts of the group.
    Slow(Suspicion),
    /// Slow for some hosts of the group: they are at fault, and not their way.
    SlowForSome,
}

/// The way of every group, `[group]`.
pub(super) fn ways(fit: &Fit, groups: &Level, confidence: f64, floors: Floors) -> Vec<Way> {
    let several = groups.members.iter().filter(|members| members.len() > 1).count();
    let judge = |(members, (evidence, slow)): (&Vec<usize>, (Evidence, Option<Suspicion>))| {
        // Two others are needed that have a way between them.
        let slow = slow.filter(|_| members.len() >= 3 && several > 2);
        match (slow, are_all_slow(fit, members, &evidence)) {
            (None, _) => Way::Usual,
            (Some(found), true) => Way::Slow(found),
            (Some(_), false) => Way::SlowForSome,
        }
    };
    groups.members.iter().zip(weighed(fit, groups, confidence, floors)).map(judge).collect()
}

/// Pods whose way to the others is slow for all of their groups.
pub(super) fn of_pods(fit: &Fit, pods: &Level, confidence: f64, floors: Floors) -> Vec<Suspicion> {
    weighed(fit, pods, confidence, floors).filter_map(|(_, slow)| slow).collect()
}

/// What is known of every set of a level, and who is suspected for it.
fn weighed(
    fit: &Fit,
    level: &Level,
    confidence: f64,
    floors: Floors,
) -> impl Iterator<Item = (Evidence, Option<Suspicion>)> {
    let (sets, lengths) = (level.members.len(), fit.lengths.len());
    let threshold = evidence::threshold(confidence, sets, lengths).min(MOST_SCORE_OF_GROUPS);
    let evidence = evidence::weigh(&without_near(&level.effects)).into_iter();
    evidence.zip(&level.members).map(move |(evidence, members)| {
        let is_slow = evidence.effect > floors.group && evidence.score > threshold;
        let found = || of_evidence(Kind::Group, members.clone(), &evidence, sets, lengths);
        (evidence, is_slow.then(found))
    })
}

/// Effects of groups, in which one that is nearer to others than they are to each other is like the others: whoever is
/// compared with a slow group is near, which is no scatter.
fn without_near(effects: &[Effects]) -> Vec<Effects> {
    let of = |effects: &Effects| Effects {
        common: effects.common.iter().map(|effect| effect.max(0.0)).collect(),
        ..effects.clone()
    };
    effects.iter().map(of).collect()
}

/// Whether the members of a group are slow, all but few: else some of them are, and the group's middle is among those.
fn are_all_slow(fit: &Fit, members: &[usize], evidence: &Evidence) -> bool {
    let (first, last) = evidence.range;
    let mut scratch = Vec::new();
    let is_slow = |host: &&usize| {
        let own = median_of(fit.lengths[first..=last].iter().map(|of| of.common[**host]), &mut scratch);
        own > -0.5 * evidence.effect
    };
    members.iter().filter(is_slow).count() as f64 >= ALL_BUT_FEW * members.len() as f64
}

/// Share of a group's members that must be slow for the group to be.
const ALL_BUT_FEW: f64 = 0.8;

/// The correction for few groups would ask for more than their blocks can show; they are many cells each.
const MOST_SCORE_OF_GROUPS: f64 = 6.0;

/// Effects of hosts, without what their groups explain, `[length]`.
pub(super) fn host_effects(
    fit: &Fit,
    groups: Option<&Level>,
    ways: &[Way],
    members: &[Vec<usize>],
    floors: Floors,
) -> Vec<Effects> {
    let least = floors.partners.min(fit.hosts() - 1);
    let small = uplinks::polished(fit);
    let of_length = |length: usize| {
        let of = &fit.lengths[length];
        let error = |noise: f64, cells: &[usize], host: usize| match cells[host] {
            0 => f64::INFINITY,
            _ if fit.cells[length][host] < least => f64::INFINITY,
            // The variance of a median; that of the group's middle, from which an effect counts, comes to it. Of two,
            // it counts from the other one.
            cells => {
                let of_middle = match members[fit.group[host]].len() {
                    2 => 1.0,
                    hosts => 1.57 / hosts as f64,
                };
                1.2533 * noise / (middles::looked_at(cells) as f64).sqrt() * (1.0 + of_middle).sqrt()
            }
        };
        let (mut common, mut side) = (of.common.clone(), of.side.clone());
        for (group, hosts) in members.iter().enumerate() {
            let Some(groups) = groups else { break };
            let effects = &groups.effects[length];
            let (of_group, side_of_group) = (effects.common[group], effects.side[group]);
            match &ways[group] {
                Way::Slow(_) => hosts.iter().for_each(|host| side[*host] -= side_of_group),
                Way::SlowForSome => hosts.iter().for_each(|host| common[*host] += of_group),
                // Too few to be a group that is at fault: then its hosts are. Of many pairs, what both hosts take more
                // may be their place.
                Way::Usual if hosts.len() == 1 || hosts.len() == 2 && small.is_none() => {
                    let shared = small.as_ref().map_or(of_group, |small| small[length][group]);
                    hosts.iter().for_each(|host| common[*host] += shared);
                }
                Way::Usual => {}
            }
        }
        Effects {
            common,
            side,
            common_error: (0..fit.hosts()).map(|host| error(of.noise, &fit.cells[length], host)).collect(),
            side_error: (0..fit.hosts()).map(|host| error(of.side_noise, &fit.side_cells[length], host)).collect(),
        }
    };
    (0..fit.lengths.len()).map(of_length).collect()
}

//! Whether a group's way to all others is slow, or some of its hosts are; and what hosts add to that.
//!
//! In: a [`Fit`] and the effects of its groups. Out: the [`Way`] of every group, and the effects of hosts.

use super::{
    Kind,
    accuse::{Floors, Suspicion, of_evidence},
    evidence::{self, Effects, Evidence},
    model::Fit,
    uplinks::{self, Pods},
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
pub(super) fn ways(
    fit: &Fit,
    effects: Option<&[Effects]>,
    members: &[Vec<usize>],
    confidence: f64,
    floors: Floors,
) -> Vec<Way> {
    let Some(effects) = effects else { return vec![Way::Usual; fit.groups] };
    let lengths = fit.lengths.len();
    let threshold = evidence::threshold(confidence, fit.groups, lengths).min(MOST_SCORE_OF_GROUPS);
    let evidence = evidence::weigh(&without_near(effects));
    let several = members.iter().filter(|members| members.len() > 1).count();
    let judge = |(members, evidence): (&Vec<usize>, &Evidence)| {
        // Two others are needed that have a way between them.
        let is_slow = members.len() >= 3 && several > 2 && evidence.effect > floors.group && evidence.score > threshold;
        match (is_slow, are_all_slow(fit, members, evidence)) {
            (false, _) => Way::Usual,
            (true, true) => Way::Slow(of_evidence(Kind::Group, members.clone(), evidence, fit.groups, lengths)),
            (true, false) => Way::SlowForSome,
        }
    };
    members.iter().zip(&evidence).map(judge).collect()
}

/// Pods whose way to the others is slow for all of their groups.
pub(super) fn of_pods(fit: &Fit, pods: &Pods, confidence: f64, floors: Floors) -> Vec<Suspicion> {
    let (count, lengths) = (pods.members.len(), fit.lengths.len());
    let threshold = evidence::threshold(confidence, count, lengths).min(MOST_SCORE_OF_GROUPS);
    let evidence = evidence::weigh(&without_near(&pods.effects));
    let is_slow = |pod: &usize| {
        let evidence = &evidence[*pod];
        evidence.effect > floors.group && evidence.score > threshold
    };
    let slow = (0..count).filter(is_slow);
    slow.map(|pod| of_evidence(Kind::Group, pods.members[pod].clone(), &evidence[pod], count, lengths)).collect()
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
    groups: Option<&[Effects]>,
    ways: &[Way],
    members: &[Vec<usize>],
    floors: Floors,
) -> Vec<Effects> {
    let least = floors.partners.min(fit.hosts() - 1);
    let small = uplinks::polished(fit);
    let of_length = |length: usize| {
        let of = &fit.lengths[length];
        let error = |noise: f64, cells: &[usize], host: usize| match cells[host] {
            cells if cells < least => f64::INFINITY,
            // The variance of a median; that of the group's middle, from which an effect counts, comes to it. Of two, it
            // counts from the other one.
            cells => {
                let of_middle = match members[fit.group[host]].len() {
                    2 => 1.0,
                    hosts => 1.57 / hosts as f64,
                };
                1.2533 * noise / (cells as f64).sqrt() * (1.0 + of_middle).sqrt()
            }
        };
        let (mut common, mut side) = (of.common.clone(), of.side.clone());
        for (group, hosts) in members.iter().enumerate() {
            let Some(groups) = groups else { break };
            let (of_group, side_of_group) = (groups[length].common[group], groups[length].side[group]);
            match &ways[group] {
                Way::Slow(_) => hosts.iter().for_each(|host| side[*host] -= side_of_group),
                Way::SlowForSome => hosts.iter().for_each(|host| common[*host] += of_group),
                // Too few to be a group that is at fault: then its hosts are. Of many pairs, what both hosts take more may
                // be their place.
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

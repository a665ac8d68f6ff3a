//! Which structure of a network explains a run: groups of hosts, or else a torus or patterns; and whether it is
//! understood.
//!
//! In: [`Folded`]. Out: [`Structure`]. How groups are found is said in [`groups`]; here it is decided between what
//! could be, by how well one direction of every pair predicts the other one. Where many pairs are missing, most have
//! one direction alone: there it is decided by how well all is explained, with what the numbers for it cost.

use rayon::prelude::*;

use super::{bands::bands, folded::Folded, middles::toward_groups, polish::fit_groups};
use crate::{
    analysis::{
        groups::{self, Band, members, spectral, torus, tree},
        square::Square,
    },
    stats::scatter_about_zero,
};

/// Where every host has its own neighbourhood, what is known of these.
pub enum Neighbourhoods {
    /// They do not matter: groups are all that there is.
    None,
    /// They are no hops of a torus.
    Patterns,
    /// Number of hops between hosts, `[host * hosts + host]`.
    Hops(Vec<u8>),
}

/// What a network's structure is like: groups of hosts, or else neighbourhoods.
pub struct Structure {
    /// `[host]`.
    pub group: Vec<usize>,
    /// Where groups are not all.
    pub neighbourhoods: Neighbourhoods,
    /// Whether it predicts one direction of pairs from the other one about as well as noise allows.
    pub is_understood: bool,
}

impl Structure {
    /// Groups that are all that there is.
    pub fn of_groups(group: Vec<usize>, is_understood: bool) -> Self {
        Self { group, neighbourhoods: Neighbourhoods::None, is_understood }
    }

    fn of_neighbourhoods(hosts: usize, neighbourhoods: Neighbourhoods, is_understood: bool) -> Self {
        Self { neighbourhoods, ..Self::of_groups(vec![0; hosts], is_understood) }
    }
}

/// Finds groups of hosts, or patterns where groups do not explain what there is.
pub(super) fn infer(folded: &Folded) -> Structure {
    let bands_given = |group: &[usize]| -> Vec<Band> {
        let half: Vec<Square> = folded.half.par_iter().map(|half| without_sides(half.clone(), group)).collect();
        bands(&folded.mean, &half)
    };
    let everybody = vec![0; folded.hosts()];
    let mut bands = bands_given(&everybody);
    let hosts = folded.hosts() as f64;
    let cells = bands[0].first.upper().count() as f64 / (hosts * (hosts - 1.0) / 2.0);
    let mut group = groups::infer(&bands);
    bands = bands_given(&group);
    for _ in 0..3 {
        // Once groups are known, the effects of single hosts are, and without these groups are seen better.
        let mut refined = bands.clone();
        refined.iter_mut().for_each(|band| without_common(band, &group));
        let next = groups::refine(&refined, group.clone());
        if next == group {
            break;
        }
        group = next;
        bands = bands_given(&group);
    }
    let mut group = groups::absorb(&bands, &group);
    if cells >= MOST_MISSING {
        group = joined_to_pairs(&bands, group);
    } else {
        let mut bands = bands_given(&group);
        bands.iter_mut().for_each(|band| without_common(band, &group));
        let all: Vec<Vec<usize>> =
            groups::candidates(&bands).into_iter().chain([everybody.clone(), group.clone()]).collect();
        let mut starts = all.clone();
        let costs = all.into_iter().map(|group| (cost(&bands, &group), group));
        if let Some((_, best)) = costs.min_by(|a, b| a.0.total_cmp(&b.0)) {
            group = groups::settled(&bands, best);
            let sorted = groups::sorted(&bands, group.clone());
            if cost(&bands, &sorted) < cost(&bands, &group) {
                group = sorted;
            }
        }
        starts.push(group.clone());
        if let Some(structure) = of_few(&bands_given(&everybody), &starts, &group) {
            return structure;
        }
    }
    // A model that is right still errs by the noise in its own numbers: one per host and one per block.
    let groups = group.iter().max().map_or(0, |last| last + 1) as f64;
    let known = bands[0].first.upper().count() as f64;
    let own = (1.0 + 1.57 * (hosts + groups * (groups + 1.0) / 2.0) / known.max(1.0)).sqrt();
    let errors: Vec<f64> = bands.iter().map(|band| error_of_groups(band, &group) / (own * band.noise)).collect();
    let by_groups = errors.iter().sum::<f64>() / errors.len() as f64;
    // Numbers that are nearly as many as the cells explain whatever there is.
    let is_determined = |numbers: f64| cells >= MOST_MISSING || LEAST_CELLS * numbers <= known;
    let not_understood = if cells < MOST_MISSING { NOT_UNDERSTOOD_WITH_FEW } else { NOT_UNDERSTOOD };
    let of_groups = |group: Vec<usize>, is_understood: bool| {
        let is_determined = is_determined(hosts + groups * (groups + 1.0) / 2.0);
        let group = if is_determined { group } else { everybody.clone() };
        Structure::of_groups(group, is_determined && is_understood)
    };
    if by_groups < UNEXPLAINED {
        let is_understood = cells >= MOST_MISSING || !has_shortcuts(&bands, &group);
        return of_groups(group, is_understood);
    }
    if cells >= MOST_MISSING {
        let bands = bands_given(&everybody);
        let torus = of_torus(&bands, (MOST_MISFIT, UNDERSTOOD_MISFIT));
        if let Some(torus) = torus.filter(|torus| torus.cost < groups::cost_of_groups(&bands, &group)) {
            return torus.structure;
        }
    }
    let patterns: Vec<spectral::Patterns> =
        bands.iter().map(|band| spectral::patterns(band, spectral::Judge::HeldOutPairs)).collect();
    let errors = patterns.iter().zip(&bands).map(|(patterns, band)| patterns.error / band.noise);
    let by_patterns = errors.sum::<f64>() / bands.len() as f64;
    if folded.hosts() >= LEAST_HOSTS && by_patterns < CLEARLY_BETTER * by_groups {
        let most = patterns.iter().map(|patterns| patterns.strengths.len()).max().unwrap_or(0);
        let is_determined = is_determined(hosts * (1 + most) as f64);
        let is_understood = is_determined && by_patterns < not_understood;
        return Structure::of_neighbourhoods(folded.hosts(), Neighbourhoods::Patterns, is_understood);
    }
    of_groups(group, by_groups < not_understood)
}

/// What explains a run.
struct Explained {
    structure: Structure,
    /// As a sum of squares in units of noise, with what its own numbers cost.
    cost: f64,
}

/// Leaves under pods, or a torus, where these explain a run of few pairs better than `group`. `starts`: partitions to
/// begin with.
fn of_few(bands: &[Band], starts: &[Vec<usize>], group: &[usize]) -> Option<Structure> {
    if (bands[0].first.upper().count() as f64) < LEAST_CELLS * group.len() as f64 {
        return None;
    }
    let tree = of_tree(bands, starts);
    let is_understood = tree.as_ref().is_some_and(|tree| tree.structure.is_understood);
    let torus = if is_understood { None } else { of_torus(bands, (UNDERSTOOD_MISFIT, UNDERSTOOD_MISFIT_OF_FEW)) };
    let best = tree.into_iter().chain(torus).min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    (best.cost < groups::cost_of_groups(bands, group)).then_some(best.structure)
}

fn of_tree(bands: &[Band], starts: &[Vec<usize>]) -> Option<Explained> {
    if bands[0].first.side() > MOST_HOSTS_OF_TREES {
        return None;
    }
    let tree::Explained { tree, cost, misfit } = tree::explain(bands, starts)?;
    let structure = Structure::of_groups(tree.leaf, misfit <= UNDERSTOOD_MISFIT);
    (misfit <= MOST_MISFIT).then_some(Explained { structure, cost })
}

/// `most` and `understood`: misfits up to which a torus is believed, and is understood.
fn of_torus(bands: &[Band], (most, understood): (f64, f64)) -> Option<Explained> {
    let hosts = bands[0].first.side();
    if !(LEAST_HOSTS..=MOST_HOSTS_OF_TORI).contains(&hosts) {
        return None;
    }
    let torus::Explained { hops, cost, misfit } = torus::explain(bands)?;
    let hops = Neighbourhoods::Hops(hops);
    let structure = Structure::of_neighbourhoods(hosts, hops, misfit <= understood);
    (misfit <= most).then_some(Explained { structure, cost })
}

/// The mean of both directions.
fn mean_of(band: &Band) -> Square {
    let mut mean = band.first.clone();
    mean.rows_mut().enumerate().for_each(|(i, row)| {
        for (value, other) in row.iter_mut().zip(band.second.row(i)) {
            *value = match (value.is_nan(), other.is_nan()) {
                (true, _) => *other,
                (_, true) => *value,
                _ => (*value + other) / 2.0,
            };
        }
    });
    mean
}

/// Takes the effects of hosts, given their groups, from both squares of a band.
fn without_common(band: &mut Band, group: &[usize]) {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let effect = fit_groups(mean_of(band), group, groups).effect;
    for square in [&mut band.first, &mut band.second] {
        square.rows_mut().enumerate().for_each(|(i, row)| {
            row.iter_mut().zip(&effect).for_each(|(value, other)| *value -= (effect[i] + other) as f32);
        });
    }
}

/// Whether several pairs are faster, both ways, than their groups and hosts explain: no fault does that.
fn has_shortcuts(bands: &[Band], group: &[usize]) -> bool {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let is_many = |band: &Band| {
        let fit = fit_groups(mean_of(band), group, groups);
        let departs = |i: usize, j: usize, value: f64| {
            let usual = fit.block[group[i] * groups + group[j]] + fit.effect[i] + fit.effect[j];
            value - usual < -SHORTCUT * band.noise
        };
        let (mut faster, mut all) = (0, 0);
        for (i, j, value) in band.first.upper_pairs().filter(|(i, j, _)| !band.second.at(*i, *j).is_nan()) {
            all += 1;
            faster += usize::from(departs(i, j, value) && departs(i, j, band.second.at(i, j)));
        }
        faster as f64 > 1.0 + SHORTCUTS * f64::from(all)
    };
    bands.iter().any(is_many)
}

/// Departure, in units of noise, of a pair that is faster than others for a reason.
const SHORTCUT: f64 = 4.0;

/// Share of pairs that may be.
const SHORTCUTS: f64 = 0.002;

/// How badly groups predict one direction from the other: mean square in units of noise, outliers taken back.
fn cost(bands: &[Band], group: &[usize]) -> f64 {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let of_band = |band: &Band| {
        let of = |own: &Square, other: &Square| {
            let fit = fit_groups(own.clone(), group, groups);
            let (mut sum, mut count) = (0.0, 0.0);
            for (i, j, value) in other.upper_pairs() {
                let error = value - fit.block[group[i] * groups + group[j]] - fit.effect[i] - fit.effect[j];
                sum += (error / band.noise).abs().min(6.0).powi(2);
                count += 1.0;
            }
            sum / count
        };
        of(&band.first, &band.second)
    };
    bands.iter().map(of_band).sum()
}

/// Moves hosts into groups of two where that explains a run of few hosts, and much better. Two cells of a host are few,
/// so that shapes do not say that it belongs there; but a host that is left out looks slow toward those that it was
/// left with, and is faster toward the two than any fault would make it.
fn joined_to_pairs(bands: &[Band], group: Vec<usize>) -> Vec<usize> {
    let hosts = group.len();
    if hosts > MOST_HOSTS_TO_MOVE {
        return group;
    }
    let cells = (hosts * (hosts - 1) / 2) as f64;
    let (mut least, mut moved) = (cost(bands, &group), group.clone());
    loop {
        let sizes = |group: &usize| moved.iter().filter(|other| *other == group).count();
        let pairs: Vec<usize> = (0..hosts).filter(|group| sizes(group) == 2).collect();
        let moves = (0..hosts).flat_map(|host| pairs.iter().map(move |pair| (host, *pair)));
        let tried = moves.filter(|(host, pair)| moved[*host] != *pair).map(|(host, pair)| {
            let mut next = moved.clone();
            next[host] = pair;
            let next = groups::by_size(&next);
            (cost(bands, &next), next)
        });
        match tried.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((next, better)) if cells * (least - next) >= LEAST_GAIN => (least, moved) = (next, better),
            _ => break,
        }
    }
    // Where groups are not what the network is made of, they explain nothing wherever hosts go.
    if least < MOST_COST * (2 * bands.len()) as f64 { moved } else { group }
}

/// Middle error of groups that were fitted to a band's first square in predicting its second one.
fn error_of_groups(band: &Band, group: &[usize]) -> f64 {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let first = fit_groups(band.first.clone(), group, groups);
    let errors = band
        .second
        .upper_pairs()
        .map(|(i, j, value)| value - first.block[group[i] * groups + group[j]] - first.effect[i] - first.effect[j]);
    scatter_about_zero(&mut errors.collect::<Vec<_>>())
}

/// Error, in units of noise, from which on structure is not understood.
const NOT_UNDERSTOOD: f64 = 4.0;

/// The same where many pairs are missing: hosts then have different partners, at different distances, and what is not
/// understood does not cancel out.
const NOT_UNDERSTOOD_WITH_FEW: f64 = 1.35;

/// Cells for each number that is taken from them, below which nothing is known about structure.
const LEAST_CELLS: f64 = 1.5;

/// Most hosts of which few pairs are explained by a tree: the search takes as long as the cube of their number.
const MOST_HOSTS_OF_TREES: usize = 128;

/// Most hosts that are placed on a torus.
const MOST_HOSTS_OF_TORI: usize = 256;

/// Mean square of what a tree or a torus leaves of a cell, in units of noise, outliers taken back, up to which it
/// explains a run.
const MOST_MISFIT: f64 = 2.2;

/// The same up to which a run is understood: of what is right, nearly all is noise.
const UNDERSTOOD_MISFIT: f64 = 1.4;

/// The same of a torus where many pairs are missing: single hosts at wrong places cost little there.
const UNDERSTOOD_MISFIT_OF_FEW: f64 = 1.15;

/// Share of pairs below which many are missing.
const MOST_MISSING: f64 = 0.8;

/// Most hosts that are moved one by one.
const MOST_HOSTS_TO_MOVE: usize = 32;

/// Least gain, as a sum of squares in units of noise, for which a host joins two others: nearly two cells that are
/// outliers both ways.
const LEAST_GAIN: f64 = 60.0;

/// The cost of groups, for each square that they predict, up to which they explain a run.
const MOST_COST: f64 = 2.5;

/// Least hosts in which patterns are looked for.
const LEAST_HOSTS: usize = 12;

/// Error of groups in predicting one direction from the other, in units of noise, from which on something else is
/// tried.
const UNEXPLAINED: f64 = 1.25;

/// What patterns must make of the error of groups to be believed instead.
const CLEARLY_BETTER: f64 = 0.8;

/// Least members of a group toward which a host has an effect of its own.
const LEAST_MEMBERS: usize = 4;

/// Takes from half the difference of directions what hosts send slower than they receive: toward each group its own
/// amount, because what slows the long way by a tenth may slow the short way by a fifth.
fn without_sides(mut half: Square, group: &[usize]) -> Square {
    let groups = group.iter().max().map_or(1, |last| last + 1);
    let members = members(group, groups);
    let hosts = half.side();
    for _ in 0..3 {
        let effects: Vec<Vec<f32>> =
            (0..hosts).into_par_iter().map(|i| toward_groups(half.row(i), &members, LEAST_MEMBERS)).collect();
        half.rows_mut().enumerate().for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate() {
                *value -= effects[i][group[j]] - effects[j][group[i]];
            }
        });
    }
    half
}

#[cfg(test)]
mod tests;

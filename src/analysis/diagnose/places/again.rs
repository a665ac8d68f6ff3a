//! Pairs of hosts that are slow whenever they are measured.
//!
//! In: a run in which one pair at a time is measured, what was found in it, and what pairs took when they were measured
//! again. Out: [`Suspect`]s. What several lengths have in common does not show a link that is slow at few of them, and at
//! one length disturbed cells are as slow as bad links. But these are as fast as usual when they are measured again
//! ([`Again::by_moments`]); and what healthy pairs keep from one time to the next, as their ways are longer, they keep at
//! another length too.

use std::collections::HashMap;

use rayon::prelude::*;
use statrs::function::factorial::ln_binomial;

use super::{Asked, Budget, Place, Suspect, Verdict, best, error, links::stand_out, named, view::leave_out};
use crate::analysis::{
    diagnose::{Direction, folded::Folded},
    square::Square,
};

/// By how much pairs were slow each time that they were measured again: two hosts, and `ln(time / usual)` of the fastest.
pub type Slow = HashMap<(usize, usize), f64>;

/// What was measured again.
struct Again<'a> {
    folded: &'a Folded,
    verdict: &'a Verdict,
    /// By how much a pair was slow every time, `[length]`; the first time too, or it is dropped ([`Verdict::of`]).
    least: Vec<Slow>,
    /// Pairs that cross what was found, `[source * hosts + destination]`.
    is_crossed: Vec<bool>,
}

/// The pairs that are slow again and are no part of what was found. `again`: `[length]`.
pub fn find(folded: &Folded, verdict: &Verdict, mut again: Vec<Slow>, asked: Asked) -> Vec<Suspect> {
    let (hosts, lengths) = (folded.hosts(), folded.lengths.len());
    let is_named = named(&verdict.suspects, hosts);
    let is_crossed = Place::crossing_any(verdict.suspects.iter().map(|suspect| &suspect.place), hosts);
    again.iter_mut().for_each(|own| own.retain(|(i, j), _| !is_crossed[i * hosts + j]));
    let again = Again { folded, verdict, least: again, is_crossed };
    let budget = Budget { views: lengths as f64, error: error(&verdict.distances, asked), least: asked.least };
    let of_length = |length: usize| {
        if !again.least[length].values().any(|more| *more >= asked.least.link) {
            return Vec::new();
        }
        let rests = again.with_another(length);
        let mut least = Square::missing(hosts);
        again.least[length].iter().for_each(|((i, j), more)| least.set(*i, *j, *more));
        let found = stand_out(&rests.iter().collect::<Vec<_>>(), &least, |_, again| again, &is_named, budget);
        found.into_iter().map(|(place, effect, log)| Suspect::at(place, effect, log, (length, length))).collect()
    };
    let mut found = best((0..lengths).flat_map(of_length).collect());
    found.iter_mut().for_each(|own| own.log = own.log.max(again.by_moments(&own.place)));
    found.retain(|own| budget.allows(own.log));
    found
}

impl Again<'_> {
    /// By how much all pairs that cross nothing are slow at a length.
    fn rest(&self, length: usize) -> Square {
        let mut rest = self.folded.times[length].clone();
        leave_out(&mut rest, &self.is_crossed);
        let of_row = |(i, row): (usize, &mut [f32])| {
            row.iter_mut().enumerate().for_each(|(j, time)| *time -= self.verdict.usual(length, i, j) as f32);
        };
        rest.rows_mut().enumerate().for_each(of_row);
        rest
    }

    /// The same at a length and at that one next to it which takes most nearly as long, if there is one.
    fn with_another(&self, length: usize) -> Vec<Square> {
        let apart = |other: &usize| (self.folded.level[*other] / self.folded.level[length]).ln().abs();
        let next = [length.checked_sub(1), Some(length + 1).filter(|next| *next < self.least.len())];
        let nearest = next.into_iter().flatten().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        std::iter::once(length).chain(nearest).map(|length| self.rest(length)).collect()
    }

    /// Logarithm of the probability that the moments at which a pair was measured again were all bad ones, by how many cells of
    /// a length are as slow: of as many lengths as make that least, each time twice.
    fn by_moments(&self, place: &Place) -> f64 {
        let (from, to) = (place.hosts[0], place.hosts[1]);
        let ways = if place.direction == Direction::Both { vec![(from, to), (to, from)] } else { vec![(from, to)] };
        let of_length = |(length, least): (usize, &Slow)| {
            let least = ways.iter().map(|way| least.get(way).copied()).collect::<Option<Vec<f64>>>()?;
            let least = least.into_iter().fold(f64::INFINITY, f64::min);
            let rest = self.rest(length);
            let known = || rest.values().iter().filter(|more| !more.is_nan());
            let slow = known().filter(|more| f64::from(**more) >= least).count();
            Some(2.0 * ways.len() as f64 * ((1 + slow) as f64 / (1 + known().count()) as f64).ln())
        };
        let mut logs: Vec<f64> = self.least.iter().enumerate().filter_map(of_length).collect();
        logs.sort_by(f64::total_cmp);
        let of_some = |(number, log): (usize, &f64)| {
            let count = number + 1;
            count as f64 * log + ln_binomial(logs.len() as u64, count as u64)
        };
        let least = logs.iter().enumerate().map(of_some).fold(0.0, f64::min);
        let mut pairs: Vec<_> =
            self.least.iter().flat_map(|own| own.keys().map(|(i, j)| (i.min(j), i.max(j)))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        // As many numbers of lengths, pairs, and ways of each.
        least + (3.0 * (pairs.len() * logs.len()) as f64).ln()
    }
}

//! What pairs take in the rounds in which they are measured.
//!
//! In: times by hosts, what is usual, and in which round two hosts meet. Out: [`AtLength`] for every length of a run. At one
//! length a host meets every other one once, in an order that is drawn anew for every length. Nothing is judged here.

use rayon::prelude::*;

use super::{Asked, Verdict};
use crate::{
    analysis::{diagnose::folded::Folded, square::Square},
    plan::Rounds,
};

/// Pairs of hosts.
pub type Pairs = Vec<(usize, usize)>;

/// As how many so many pairs count, of so many hosts, that are on the same way: those of a round may meet each other there. So
/// many different rounds are expected among as many drawn ones.
pub fn distinct(pairs: f64, hosts: usize) -> f64 {
    let rounds = (hosts - 1) as f64;
    rounds * (1.0 - (-pairs / rounds).exp())
}

/// A length.
pub struct AtLength<'a> {
    /// What pairs take both ways beyond their class and what the other host adds, `[host][other]`, `ln(ratio)`.
    pub beyond: Square,
    /// What hosts add, `[host]`.
    own: Vec<f64>,
    pub rounds: &'a Rounds<'a>,
    /// Standard deviation of a pair.
    pub noise: f64,
    /// The least effect of a host, `ln(ratio)`.
    pub least: f64,
}

impl<'a> AtLength<'a> {
    fn of(folded: &Folded, verdict: &Verdict, (length, rounds): (usize, &'a Rounds<'a>), least: f64) -> Self {
        let fit = &verdict.fits[length];
        let own: Vec<f64> = fit.send.iter().zip(&fit.receive).map(|(send, receive)| (send + receive) / 2.0).collect();
        let mut beyond = folded.times[length].both_ways();
        beyond.rows_mut().enumerate().for_each(|(i, row)| {
            let class = verdict.distances.class_from(i);
            row.iter_mut()
                .zip(&own)
                .enumerate()
                .for_each(|(j, (value, other))| *value = (f64::from(*value) - fit.level(class(j)) - other) as f32);
        });
        let least = least.max(folded.apart / folded.level[length]);
        Self { beyond, own, rounds, noise: fit.noise, least }
    }

    /// What a pair takes beyond its class and its hosts.
    pub fn beyond_hosts(&self, i: usize, j: usize) -> f64 {
        self.beyond.at(i, j) - self.own[i]
    }

    /// The pairs of hosts, in the rounds in which they are measured.
    pub fn by_rounds(&self) -> Vec<Pairs> {
        self.in_order(|i, j| self.rounds.meeting(i, j))
    }

    /// The same pair by pair, where these are measured one after another; else nothing.
    pub fn by_turns(&self) -> Vec<Pairs> {
        self.in_order(|i, j| self.rounds.turn(i, j))
    }

    fn in_order(&self, moment: impl Fn(usize, usize) -> Option<usize>) -> Vec<Pairs> {
        let hosts = self.own.len();
        let known = |(i, j): &(usize, usize)| !self.beyond.at(*i, *j).is_nan();
        let mut moments: Vec<Pairs> = Vec::new();
        for (i, j) in (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j))).filter(known) {
            let Some(moment) = moment(i, j) else { continue };
            moments.resize_with(moments.len().max(moment + 1), Pairs::new);
            moments[moment].push((i, j));
        }
        moments.retain(|pairs| !pairs.is_empty());
        moments
    }
}

/// The lengths of a run in whose rounds every host meets others one after another; none where it does not.
pub fn lengths<'a>(folded: &Folded, verdict: &Verdict, rounds: &'a [Rounds<'a>], asked: Asked) -> Vec<AtLength<'a>> {
    if rounds.iter().all(|rounds| rounds.meeting(0, 1).is_none()) {
        return Vec::new();
    }
    let of_length = |own| AtLength::of(folded, verdict, own, asked.least.host);
    rounds.iter().enumerate().map(of_length).collect()
}

//! Roda's patterns of one h-relation: the busiest process sends and receives h bytes in each of them. The broadcast is
//! the library's, and stands in `library`.
//!
//! Process i is paired with i + P/2, so that pairs cross hosts where there are several.

use std::ops::Range;

use netmatrix::plan::operation::Algorithm;

use super::{
    super::{
        buffer::Buffer,
        ffi::{Many, MpiError, Tag},
    },
    Carried, Stage, mark,
};

const TAG: Tag = 45;

/// Bytes of a word, the unit of messages.
const WORD: usize = 4;

/// A pattern whose busiest process has `h` bytes.
pub(super) struct Relation {
    /// Process and its piece of `into`.
    receives: Vec<(usize, Range<usize>)>,
    out: Buffer,
    into: Buffer,
    many: Many,
}

/// Bytes of a message, and with whom process `me` exchanges: to whom it sends, from whom it receives.
pub(super) fn partners(algorithm: Algorithm, procs: usize, me: usize, h: usize) -> (usize, Vec<usize>, Vec<usize>) {
    let others = || (1..procs).map(|step| (me + step) % procs).collect::<Vec<_>>();
    let words = |parts: usize| h / WORD / parts * WORD;
    let half = procs / 2;
    match algorithm {
        Algorithm::Exchange => {
            let other = vec![(me + half) % procs];
            (words(2), other.clone(), other)
        }
        Algorithm::PingPong if me < half => (words(1), vec![me + half], vec![]),
        Algorithm::PingPong => (words(1), vec![], vec![me - half]),
        Algorithm::OneToAll if me == 0 => (words(procs - 1), others(), vec![]),
        Algorithm::OneToAll => (words(procs - 1), vec![], vec![0]),
        Algorithm::AllToOne if me == 0 => (words(procs - 1), vec![], others()),
        Algorithm::AllToOne => (words(procs - 1), vec![0], vec![]),
        _ => (words(2 * (procs - 1)), others(), others()),
    }
}

/// Pieces of equal length, one behind the other.
fn pieces(others: Vec<usize>, length: usize) -> Vec<(usize, Range<usize>)> {
    others.into_iter().enumerate().map(|(place, other)| (other, place * length..(place + 1) * length)).collect()
}

impl Relation {
    /// The error is the number of bytes that are not there.
    pub(super) fn new(algorithm: Algorithm, stage: &Stage<'_>, h: usize) -> Result<Self, u64> {
        let (length, to, from) = partners(algorithm, stage.procs, stage.me, h);
        let (sends, receives) = (pieces(to, length), pieces(from, length));
        let mut out = Buffer::touched(sends.len() * length, 0)?;
        for (to, piece) in &sends {
            out[piece.clone()].fill(mark(stage.me, *to));
        }
        let into = Buffer::touched(receives.len() * length, 0)?;
        let many = Many::new(sends, receives.clone());
        Ok(Self { receives, out, into, many })
    }
}

impl Carried for Relation {
    fn before(&mut self, _stage: &Stage<'_>) -> Result<(), MpiError> {
        self.into.fill(0);
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        self.many.exchange(stage.wire, &self.out, &mut self.into, TAG)
    }

    fn is_right(&mut self, stage: &Stage<'_>) -> bool {
        let all = |(from, piece): &(usize, Range<usize>)| {
            self.into[piece.clone()].iter().all(|byte| *byte == mark(*from, stage.me))
        };
        self.receives.iter().all(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_process_has_h_bytes_and_everybody_is_answered() {
        for algorithm in
            [Algorithm::Exchange, Algorithm::PingPong, Algorithm::OneToAll, Algorithm::AllToOne, Algorithm::AllToAll]
        {
            for procs in [4, 6, 8, 16, 24] {
                let h = 4 * 4830;
                let all: Vec<_> = (0..procs).map(|me| partners(algorithm, procs, me, h)).collect();
                let busiest = all.iter().map(|(length, to, from)| length * (to.len() + from.len())).max();
                assert_eq!(busiest, Some(h), "{algorithm:?} on {procs}");
                for (me, (length, to, _)) in all.iter().enumerate() {
                    assert!(to.iter().all(|to| all[*to].2.contains(&me) && all[*to].0 == *length));
                }
                let [sent, received] = [0, 1].map(|side| -> usize {
                    all.iter().map(|(_, to, from)| if side == 0 { to.len() } else { from.len() }).sum()
                });
                assert_eq!(sent, received);
            }
        }
    }
}

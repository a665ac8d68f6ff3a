//! What all ranks do together between measurements: agree, meet, bring bytes to the root and from it.
//!
//! In: a [`Wire`] and this rank's part. Out: the same on all ranks, or everybody's at the root. Messages go up and down a
//! binomial tree, in which a rank receives from its children or its parent one after the other. MPI has all of this, but
//! a rank that is stuck inside MPI cannot say for whom it waits; here the watchdog reads it.

use netmatrix::{plan::Circle, record::Phase, units::Rank};

use super::{
    ROOT,
    ffi::{MpiError, Tag, Wire},
};

/// Up the tree.
const UP: Tag = 41;
/// Down the tree.
const DOWN: Tag = 42;
/// Around, in a barrier.
const AROUND: Tag = 43;

/// Above a rank; the root has none.
fn parent(me: Rank) -> Option<Rank> {
    (me != ROOT).then(|| me & (me - 1))
}

/// Below a rank, each with the number of ranks in its part of the tree, which are the next ones; the smallest first.
fn children(me: Rank, ranks: usize) -> impl DoubleEndedIterator<Item = (Rank, usize)> {
    let bits = if me == ROOT { usize::BITS - (ranks - 1).leading_zeros() } else { me.trailing_zeros() };
    (0..bits)
        .map(|bit| 1 << bit)
        .filter(move |distance| me + distance < ranks)
        .map(move |distance: usize| (me + distance, distance.min(ranks - me - distance)))
}

/// All ranks, as one of them sees them.
#[derive(Clone, Copy)]
pub(super) struct Tree<'w> {
    pub(super) wire: &'w Wire,
    pub(super) me: Rank,
    pub(super) ranks: usize,
}

impl Tree<'_> {
    fn wait_for(&self, phase: Phase, other: Option<Rank>) {
        self.wire.watch.queue(phase, other);
    }

    /// The largest of all ranks' numbers. Returns when all have come here. Collective.
    pub(super) fn largest(&self, phase: Phase, own: u64) -> Result<u64, MpiError> {
        let mut largest = own;
        let mut bytes = [0; 8];
        for (child, _) in children(self.me, self.ranks) {
            self.wait_for(phase, Some(child));
            self.wire.receive(&mut bytes, child, UP)?;
            largest = largest.max(u64::from_le_bytes(bytes));
        }
        if let Some(parent) = parent(self.me) {
            self.wait_for(phase, None);
            self.wire.send(&largest.to_le_bytes(), parent, UP)?;
        }
        bytes = largest.to_le_bytes();
        self.down(phase, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The root's bytes, as many on all ranks, to all of them. Collective.
    pub(super) fn down(&self, phase: Phase, bytes: &mut [u8]) -> Result<(), MpiError> {
        if let Some(parent) = parent(self.me) {
            self.wait_for(phase, Some(parent));
            self.wire.receive(bytes, parent, DOWN)?;
        }
        self.wait_for(phase, None);
        for (child, _) in children(self.me, self.ranks).rev() {
            self.wire.send(bytes, child, DOWN)?;
        }
        self.wire.watch.rest();
        Ok(())
    }

    /// The bytes of `root`, as many on all ranks, to all of them, in the midst of exchanges of all. The tree hangs from
    /// `root`; a rank counts a step more than its parent while it waits. Collective.
    pub(super) fn pass_on(&self, bytes: &mut [u8], root: Rank) -> Result<(), MpiError> {
        let place = (self.me + self.ranks - root) % self.ranks;
        let at = |place: Rank| (place + root) % self.ranks;
        let above = u64::from(place.count_ones());
        self.wire.watch.stepped(above);
        if let Some(parent) = parent(place) {
            self.wire.watch.step(at(parent));
            self.wire.receive(bytes, at(parent), DOWN)?;
        }
        children(place, self.ranks).rev().try_for_each(|(child, _)| self.wire.send(bytes, at(child), DOWN))?;
        self.wire.watch.stepped(u64::from(usize::BITS) - above);
        Ok(())
    }

    /// Returns when all have come here, at nearly the same time: in each step every rank hears from the rank that is twice
    /// as far away in the circle as in the step before (Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988).
    /// For the midst of exchanges of all. Collective.
    pub(super) fn meet(&self, circle: &Circle) -> Result<(), MpiError> {
        let place = circle.place_of(self.me);
        let mut distance = 1;
        while distance < self.ranks {
            let (to, from) = ((place + distance) % self.ranks, (place + self.ranks - distance) % self.ranks);
            let (to, from) = (circle.at(to), circle.at(from));
            self.wire.watch.step(from);
            self.wire.shift(&[], to, &mut [], from, AROUND)?;
            self.wire.watch.stepped(1);
            distance *= 2;
        }
        Ok(())
    }

    /// The root's bytes, however many, to all ranks. Collective.
    pub(super) fn spread(&self, bytes: &mut Vec<u8>) -> Result<(), MpiError> {
        let mut length = (bytes.len() as u64).to_le_bytes();
        self.down(Phase::Gathering, &mut length)?;
        bytes.resize(u64::from_le_bytes(length) as usize, 0);
        if bytes.is_empty() { Ok(()) } else { self.down(Phase::Gathering, bytes) }
    }

    /// As many bytes of every rank to the root, which gets them all, `[rank][byte]`; others get nothing. Collective.
    pub(super) fn gather(&self, own: &[u8]) -> Result<Vec<u8>, MpiError> {
        let mut all = own.to_vec();
        for (child, below) in children(self.me, self.ranks) {
            let known = all.len();
            all.resize(known + below * own.len(), 0);
            self.wait_for(Phase::Gathering, Some(child));
            self.wire.receive(&mut all[known..], child, UP)?;
        }
        if let Some(parent) = parent(self.me) {
            self.wait_for(Phase::Gathering, None);
            self.wire.send(&all, parent, UP)?;
            all.clear();
        }
        self.wire.watch.rest();
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_in_one_part_of_the_tree() {
        for ranks in 1..70 {
            let mut above = vec![None; ranks];
            for me in 0..ranks {
                // What is below comes in the order of ranks, without gaps.
                let mut next = me + 1;
                for (child, below) in children(me, ranks) {
                    assert_eq!((child, parent(child)), (next, Some(me)));
                    next += below;
                    above[child] = Some(me);
                }
                assert!(next <= ranks && (me != ROOT || next == ranks));
            }
            assert!(above[0].is_none() && above[1..].iter().all(Option::is_some), "{ranks}");
        }
    }
}

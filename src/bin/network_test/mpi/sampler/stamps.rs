//! Pairs on synchronised clocks: when messages started, and what is learned of the clocks later.

use netmatrix::{
    measure::{Cells, ClockModel},
    stats::Summary,
    units::Rank,
};

use super::{MpiError, Role, Sampler, Tag, Way};

/// When messages were sent.
const STAMPS: Tag = 20;

/// Numbers that travel before the stamps: the bound of the clock, when it held, by how much the clock was ahead.
pub(super) const BEFORE_STAMPS: usize = 3;

/// When a cell was measured: what both clocks read, and by how much they were thought to be ahead of common time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    own: (f64, f64),
    other: (f64, f64),
}

impl Sampler {
    /// Takes what the ranks have learned of all clocks, `[rank]`, since this rank's cells of a length were measured into
    /// account: they were measured with what was known then.
    pub(in crate::mpi) fn look_back(&mut self, clocks: &[ClockModel], me: Rank, cells: &mut Cells) {
        for (other, moment) in self.moments.iter_mut().enumerate() {
            let Some(Moment { own, other: others }) = moment.take() else { continue };
            let Some(&(mut cell)) = cells.get(other, me) else { continue };
            let moved = |rank: Rank, (at, offset): (f64, f64)| clocks[rank].offset(at) - offset;
            let later = moved(other, others) - moved(me, own);
            [&mut cell.extra.p90, &mut cell.extra.p99].into_iter().for_each(|time| *time += later);
            let Summary { min, average, median, max, .. } = &mut cell.summary;
            [min, average, median, max].into_iter().for_each(|time| *time += later);
            cell.clock_bound = Some(clocks[me].bound(own.0) + clocks[other].bound(others.0));
            cells.set(other, me, cell);
        }
    }

    /// Tells the other rank when this one's messages started, and turns the ends of those that came (from `first` on in
    /// `self.times`) into times. Returns the bound of the error that the clocks bring in, in seconds.
    pub(super) fn settle_clocks(&mut self, way: &Way<'_>, first: usize, count: usize) -> Result<f64, MpiError> {
        let size = 8 * (count + BEFORE_STAMPS);
        let now = mpi::time();
        let own = (now, way.clock.offset(now));
        let known = [way.clock.bound_at(now), own.0, own.1];
        let (mine, others) = self.stamps.split_at_mut(size);
        let others = &mut others[..size];
        let global = self.starts.iter().map(|start| way.clock.global(*start));
        let places = mine.as_chunks_mut().0.iter_mut();
        places.zip(known.into_iter().chain(global)).for_each(|(bytes, number)| *bytes = number.to_le_bytes());
        match way.role {
            Role::Timed => way.wire.receive(others, way.other, STAMPS)?,
            Role::Answering => way.wire.send(mine, way.other, STAMPS)?,
            Role::Both => way.wire.shift(mine, way.other, others, way.other, STAMPS)?,
        }
        if way.role == Role::Answering {
            return Ok(f64::NAN);
        }
        let mut numbers = others.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let mut known = || numbers.next().expect("what is known of the clock comes first");
        let bound = known() + way.clock.bound_at(now);
        let other = (known(), known());
        self.moments[way.other] = Some(Moment { own, other });
        for (time, start) in self.times[first..].iter_mut().zip(numbers) {
            *time = way.clock.global(*time) - start;
        }
        Ok(bound)
    }
}

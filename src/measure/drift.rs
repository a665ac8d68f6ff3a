//! Whether the machine was still the same at the end of a run: some pairs are measured again at the shortest length.
//!
//! In: the cells of that length, as they are first measured. Out: one ratio, the median over these pairs. A machine that
//! heats up, throttles, or is shared with a job that has begun meanwhile shows itself here.

use std::convert::Infallible;

use super::{Cells, Fabric, FabricError, View, part::cells_of};
use crate::{
    plan::{Plan, Round, RoundKind},
    stats::median,
    units::Rank,
};

/// Fewest rounds that are repeated, where there are as many.
const ROUNDS: usize = 4;

/// What was measured first, by this process, in the rounds that will be repeated.
#[derive(Debug)]
pub(super) struct Drift {
    index: usize,
    rounds: usize,
    /// Source, destination, median in seconds.
    before: Vec<(Rank, Rank, f64)>,
}

impl Drift {
    /// For a run that begins with the length number `first`. `None`: it has one length only, or another run has measured
    /// the shortest.
    pub(super) fn of(plan: &Plan, first: usize) -> Option<Self> {
        let index = plan.shortest();
        if index + 1 >= plan.lengths().len() || first > index {
            return None;
        }
        let rounds = plan.rounds(index);
        // As many pairs as there are ranks, about.
        let pairs = rounds.pairs().div_ceil(rounds.len().max(1)).max(1);
        let wanted = plan.ranks().div_ceil(pairs).max(ROUNDS);
        Some(Self { index, rounds: wanted.min(rounds.len()), before: Vec::new() })
    }

    /// Calls `each` with every round of those that are repeated in which this process may have something to do.
    fn each_own<E>(&self, plan: &Plan, view: View, mut each: impl FnMut(&Round<'_>) -> Result<(), E>) -> Result<(), E> {
        let rounds = plan.rounds(self.index);
        let own: Box<dyn Iterator<Item = Round<'_>>> = match view {
            View::Whole => Box::new(rounds.iter()),
            View::Rank(me) => rounds.concerning(me),
        };
        own.filter(|round| round.index() < self.rounds).try_for_each(|round| each(&round))
    }

    /// Keeps what is needed of the cells of a length.
    pub(super) fn keep(&mut self, plan: &Plan, index: usize, view: View, cells: &Cells) {
        if index != self.index {
            return;
        }
        let mut ends = Vec::new();
        let each = |round: &Round<'_>| -> Result<(), Infallible> {
            match round.kind() {
                RoundKind::Everyone => ends.extend(cells.iter().map(|(source, destination, _)| (source, destination))),
                _ => ends.extend(cells_of(round, view, plan.ranks())),
            }
            Ok(())
        };
        let Ok(()) = self.each_own(plan, view, each);
        let median =
            |(source, destination)| Some((source, destination, cells.get(source, destination)?.summary.median));
        self.before = ends.into_iter().filter_map(median).collect();
    }

    /// Repeats the rounds. Collective. The ratio of the times now to those before, the same on all processes; NaN where
    /// nothing can be compared.
    pub(super) fn measure(self, plan: &Plan, fabric: &mut dyn Fabric) -> Result<f64, FabricError> {
        let length = plan.lengths()[self.index];
        let mut cells = Cells::of(plan, fabric.view());
        fabric.begin_length(plan, self.index)?;
        fabric.begin_part(0..self.rounds);
        self.each_own(plan, fabric.view(), |round| fabric.run(round, length, &mut cells))?;
        fabric.end_part()?;
        fabric.end_length(&mut cells)?;
        let ratio = |(source, destination, before): &(Rank, Rank, f64)| {
            Some(cells.get(*source, *destination)?.summary.median / before)
        };
        let usable = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        let mut own: Vec<f64> = self.before.iter().filter_map(ratio).filter(usable).collect();
        let mut all = fabric.all_gather(&[median(&mut own)])?;
        Ok(median(&mut all))
    }
}

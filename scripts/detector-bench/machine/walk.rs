//! Any machine under the program's own driver: it walks the plan, reduces, and measures suspicious pairs again, as in a
//! real run.
//!
//! In: a plan, and a [`Machine`] that says what pairs take. Out: the run. When anything happens is not its own matter: a
//! [`Moment`] is where in the plan the driver is.

use netmatrix::{
    measure::{Cells, Fabric, FabricError, MeasureError, StopRequest, measure},
    plan::{Pair, Plan, Round},
    record::{Header, MemoryRun, Provenance, Statistic},
    units::{Bytes, Seconds},
};

/// Where in the plan a measurement is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    pub length_index: usize,
    /// Share of the run that is over.
    pub share: f64,
    /// What was suspicious is measured again.
    pub is_again: bool,
}

/// What takes time.
pub trait Machine {
    /// Measures pairs at the same time.
    fn pairs(&mut self, pairs: &[Pair], length: Bytes, now: Moment, cells: &mut Cells);
}

struct Walk<'a, M> {
    machine: &'a mut M,
    plan: &'a Plan,
    now: Moment,
}

/// Measures a machine whose clock ticks each so many seconds; 0: more often than anybody sees.
pub fn walk<M: Machine>(plan: &Plan, machine: &mut M, tick: f64) -> Result<MemoryRun, MeasureError> {
    let clock_step = if tick > 0.0 { Seconds(tick).to_string() } else { String::new() };
    let header = Header::of(plan, Provenance { clock_step, ..Provenance::default() });
    let mut run = MemoryRun::with_statistics(header, Statistic::OF_TIMES.to_vec());
    let mut fabric = Walk { machine, plan, now: Moment::default() };
    measure(plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {})?;
    Ok(run)
}

impl<M: Machine> Fabric for Walk<'_, M> {
    fn begin_length(&mut self, _plan: &Plan, length_index: usize) -> Result<(), FabricError> {
        self.now.length_index = length_index;
        Ok(())
    }

    fn run(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), FabricError> {
        let rounds = self.plan.rounds(self.now.length_index).len();
        let share = (round.index() as f64 + 0.5) / rounds as f64;
        self.now.share = (self.now.length_index as f64 + share) / self.plan.lengths().len() as f64;
        self.machine.pairs(&round.pairs(), length, self.now, cells);
        Ok(())
    }

    fn run_pairs(
        &mut self,
        pairs: &[Pair],
        _number: usize,
        length: Bytes,
        cells: &mut Cells,
    ) -> Result<(), FabricError> {
        self.now.share = (self.now.length_index + 1) as f64 / self.plan.lengths().len() as f64;
        self.machine.pairs(pairs, length, Moment { is_again: true, ..self.now }, cells);
        Ok(())
    }
}

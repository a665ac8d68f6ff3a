//! The one trait through which the driver sees a machine. Its unit is a round: no virtual call, allocation or log line
//! stands between two clock readings, because all repetitions of an exchange happen behind one call.

use std::{
    ops::Range,
    sync::LazyLock,
    time::{Duration, Instant},
};

use super::{Cells, Stop, Suspect, View};
use crate::{
    plan::{Pair, Plan, Round},
    record::Cell,
    units::{Bytes, Rank},
};

/// A machine that carries out rounds.
///
/// Every method is collective: all ranks call the same methods in the same order. A pair that fails is a cell that
/// says so; an error means that the run cannot go on. What most methods do here is right for one process that sees the
/// whole machine; of several each has to say how they come together.
pub trait Fabric {
    /// How much of the machine this process sees. Here: all of it.
    fn view(&self) -> View {
        View::Whole
    }

    /// Seconds since some moment, on the machine's own clock: a simulated one may have a time of its own. Here: real time.
    fn seconds(&self) -> f64 {
        static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGUN.elapsed().as_secs_f64()
    }

    /// Seconds since 1970-01-01 00:00:00 UTC, by the clock of this process's host. Here: NaN, not known.
    fn time_of_day(&self) -> f64 {
        f64::NAN
    }

    /// Makes ready for a run: buffers, windows, clocks. Here: there are none.
    fn prepare(&mut self, _plan: &Plan) -> Result<(), FabricError> {
        Ok(())
    }

    /// Makes ready for the rounds of one length.
    fn begin_length(&mut self, plan: &Plan, length_index: usize) -> Result<(), FabricError>;

    /// The rounds with these numbers come next; behind them all agree ([`Fabric::agree`]) before any other begins.
    fn begin_part(&mut self, _rounds: Range<usize>) {}

    /// This process has nothing more to do in the rounds of [`Fabric::begin_part`].
    fn end_part(&mut self) -> Result<(), FabricError> {
        Ok(())
    }

    /// How many rounds of the length all processes have carried out to their ends, where one has skipped any. Here: none
    /// that is known of.
    fn finished(&mut self) -> Result<usize, FabricError> {
        Ok(0)
    }

    /// Brings bytes of every process to the root, which gets them one process after the other. Here: there is one.
    fn collect(&mut self, own: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), FabricError> {
        each(own);
        Ok(())
    }

    /// Gives the root's bytes to all. Here: there is one process.
    fn spread(&mut self, _bytes: &mut Vec<u8>) -> Result<(), FabricError> {
        Ok(())
    }

    /// Carries out all exchanges of a round with messages of `length`, and keeps what this process measured. Once it
    /// knows of a wish to stop it only does what keeps the ranks in step.
    fn run(&mut self, round: &Round<'_>, length: Bytes, cells: &mut Cells) -> Result<(), FabricError>;

    /// All rounds of the length are done: corrects what this process measured by what is known only now.
    fn end_length(&mut self, _cells: &mut Cells) -> Result<(), FabricError> {
        Ok(())
    }

    /// Seconds that an exchange with messages of `length` takes, measured with a few of them between two ranks; `None`
    /// on processes that did not take part. The root takes part. Here: nobody knows.
    fn probe(&mut self, _length: Bytes) -> Result<Option<f64>, FabricError> {
        Ok(None)
    }

    /// Measures these pairs at the same time, outside the schedule; everybody else is silent. `number` tells the calls
    /// for one length apart.
    fn run_pairs(&mut self, pairs: &[Pair], number: usize, length: Bytes, cells: &mut Cells)
    -> Result<(), FabricError>;

    /// The samples of what this process measured in the last [`Fabric::run_pairs`], in seconds and in the order in which
    /// they were taken, where the plan keeps them: source, destination, samples. Here: none.
    fn take_samples(&mut self) -> Vec<(Rank, Rank, Vec<f64>)> {
        Vec::new()
    }

    /// The given numbers of all processes, `[process][number]`, on all of them. Here: there is one process.
    fn all_gather(&mut self, own: &[f64]) -> Result<Vec<f64>, FabricError> {
        Ok(own.to_vec())
    }

    /// Adds up numbers over all processes, on all of them. Here: there is one process.
    fn sum(&mut self, _numbers: &mut [f64]) -> Result<(), FabricError> {
        Ok(())
    }

    /// The worst of all processes' suspects, at most `most` pairs, on all of them. Here: there is one process.
    fn worst(&mut self, own: Vec<Suspect>, _most: usize) -> Result<Vec<Suspect>, FabricError> {
        Ok(own)
    }

    /// Why this process has skipped exchanges of the current length, if it has. Here: it never does.
    fn stopped(&self) -> Option<Stop> {
        None
    }

    /// Asks all ranks whether to stop, and for the largest of their numbers, which are below 2^56. `own` is this
    /// process's wish; the answer is the same on all ranks. Where there is a wish, the number has no meaning. Here: there is
    /// one process.
    fn agree(&mut self, own: Option<Stop>, number: u64) -> Result<(Option<Stop>, u64), FabricError> {
        Ok((own, number))
    }

    /// Brings lines of [`Cells`] to the root: `block` becomes `[row][destination]` there, or `[line][source]` where most
    /// pairs are left out, and empty elsewhere. Here: the only process is the root.
    fn gather(&mut self, cells: &Cells, lines: Range<usize>, block: &mut Vec<Cell>) -> Result<(), FabricError> {
        let ranks = cells.ranks();
        block.clear();
        block.extend_from_slice(&cells.all()[lines.start * ranks..lines.end * ranks]);
        Ok(())
    }

    /// What the time since [`Fabric::prepare`] was spent on, over all ranks; meaningful at the root. Here: not known.
    fn shares(&mut self) -> Result<Shares, FabricError> {
        Ok(Shares::default())
    }

    /// Gives back what [`Fabric::prepare`] made. Here: nothing.
    fn finish(&mut self) -> Result<(), FabricError> {
        Ok(())
    }
}

/// Time spent, by purpose, added up over all ranks. With one pair at a time the sum is comparable with the wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// In timed exchanges, with the zero-byte exchanges that belong to them.
    pub timed: Duration,
    /// In exchanges that are not counted.
    pub warmup: Duration,
    /// In turning samples into statistics.
    pub reducing: Duration,
}

/// A run that cannot go on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum FabricError {
    #[error("cannot allocate {bytes} bytes for {purpose} on rank {rank} ({host}): use shorter messages or fewer ranks")]
    Memory { bytes: u64, purpose: &'static str, rank: usize, host: String },
    #[error("{call} failed on rank {rank} ({host}): {reason}")]
    Mpi { call: &'static str, rank: usize, host: String, reason: String },
}

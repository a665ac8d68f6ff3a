//! The driver: length by length, round by round, row by row.

use std::time::{Duration, Instant};

use super::{Cells, Fabric, FabricError, Shares, Stop, StopRequest, View, forecast::Forecast, retest::retest};
use crate::{
    plan::Plan,
    record::{BoxError, Cell, Retest, Sink},
    units::Bytes,
};

/// Cells that the root holds at a time, at most, unless a single row is longer: 1 MiB of them.
const CELLS_AT_A_TIME: usize = (1 << 20) / size_of::<Cell>();

/// What happens while a run is measured, for whoever shows progress.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum Event<'a> {
    /// A run begins; lengths before `first` are finished already. It is expected to take this long.
    Begin { plan: &'a Plan, first: usize, expected: Duration },
    /// A length is measured and safe in the files; the rest is expected to take `left`.
    LengthFinished { index: usize, length: Bytes, elapsed: Duration, left: Duration },
    /// The run ends.
    End { ending: Ending, elapsed: Duration, times: Times },
}

/// What the wall time of a run was spent on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Measuring, added up over all ranks.
    pub shares: Shares,
    /// Bringing the rows to the root.
    pub gathering: Duration,
    /// Writing them.
    pub writing: Duration,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every planned length is measured.
    Complete,
    /// Stopped early; the finished lengths are safe.
    Stopped(Stop),
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Payloads that arrived damaged, over all ranks.
    pub damaged: u64,
}

/// A run that did not end well.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The machine cannot go on.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// The results cannot be written. Only the root knows why; on other ranks the run ends with [`Stop::Output`].
    #[error(transparent)]
    Sink(BoxError),
}

/// Measures the lengths of `plan` from number `first` on. `sink` is the root's and nobody else's.
pub fn measure(
    plan: &Plan,
    fabric: &mut dyn Fabric,
    mut sink: Option<&mut dyn Sink>,
    first: usize,
    request: &StopRequest,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome, MeasureError> {
    fabric.prepare(plan)?;
    let [shortest, longest] = [plan.lengths()[0], plan.config.longest()].map(|length| fabric.probe(length));
    let forecast = Forecast::new(plan, first, shortest?.unwrap_or(f64::NAN), longest?.unwrap_or(f64::NAN));
    events(Event::Begin { plan, first, expected: forecast.whole() });
    let start = Instant::now();
    let mut damaged = 0;
    let mut cells = Cells::new(plan.mode, plan.ranks(), fabric.view());
    let mut times = Times::default();
    let mut ending = Ending::Complete;
    let mut failure = None;
    for (index, &length) in plan.lengths().iter().enumerate().skip(first) {
        cells.clear();
        fabric.begin_length(plan, index)?;
        let rounds = plan.rounds(index);
        match fabric.view() {
            View::Whole => rounds.iter().try_for_each(|round| fabric.run(&round, length, &mut cells))?,
            View::Rank(me) => rounds.concerning(me).try_for_each(|round| fabric.run(&round, length, &mut cells))?,
        }
        // A length of which a round was skipped is given up; a wish that comes later waits until the length is safe.
        if let Some(stop) = fabric.agree(fabric.stopped())? {
            ending = Ending::Stopped(stop);
            break;
        }
        let (retests, damaged_again) = match plan.retests() {
            0 => (Vec::new(), 0),
            _ => retest(plan, fabric, index, length, &cells)?,
        };
        damaged += cells.damaged() + damaged_again;
        failure = save(plan, fabric, &cells, &retests, &mut sink, index, &mut times)?.err();
        let wish = if failure.is_some() { Some(Stop::Output) } else { request.wish() };
        let agreed = fabric.agree(wish)?;
        if agreed != Some(Stop::Output) {
            let elapsed = start.elapsed();
            events(Event::LengthFinished { index, length, elapsed, left: forecast.left(index, elapsed) });
        }
        if let Some(stop) = agreed {
            ending =
                if index + 1 == plan.lengths().len() && stop != Stop::Output { ending } else { Ending::Stopped(stop) };
            break;
        }
    }
    if let (Some(sink), None) = (sink, &failure) {
        failure = sink.close().err();
    }
    if fabric.agree(failure.is_some().then_some(Stop::Output))?.is_some() {
        ending = Ending::Stopped(Stop::Output);
    }
    times.shares = fabric.shares()?;
    let mut sum = [damaged as f64];
    fabric.sum(&mut sum)?;
    let damaged = sum[0] as u64;
    fabric.finish()?;
    events(Event::End { ending, elapsed: start.elapsed(), times });
    failure.map_or(Ok(Outcome { ending, damaged }), |error| Err(MeasureError::Sink(error)))
}

/// Brings the matrix of a length to the root and into its sink, some rows at a time. A sink that fails is not asked
/// again, but the rows are gathered to the end, so that the ranks stay in step.
fn save(
    plan: &Plan,
    fabric: &mut dyn Fabric,
    cells: &Cells,
    retests: &[Retest],
    sink: &mut Option<&mut dyn Sink>,
    index: usize,
    times: &mut Times,
) -> Result<Result<(), BoxError>, FabricError> {
    let ranks = plan.ranks();
    let at_a_time = (CELLS_AT_A_TIME / ranks).clamp(1, ranks);
    let mut block = Vec::new();
    let mut written = Ok(());
    for first_row in (0..ranks).step_by(at_a_time) {
        let gathering = Instant::now();
        fabric.gather(cells, first_row..(first_row + at_a_time).min(ranks), &mut block)?;
        times.gathering += gathering.elapsed();
        if let (Some(sink), Ok(())) = (sink.as_deref_mut(), &written) {
            let writing = Instant::now();
            written = sink.write_rows(index, first_row, &block);
            times.writing += writing.elapsed();
        }
    }
    if let (Some(sink), Ok(())) = (sink.as_deref_mut(), &written) {
        let writing = Instant::now();
        written = sink.write_retests(index, retests).and_then(|()| sink.finish_length(index));
        times.writing += writing.elapsed();
    }
    Ok(written)
}

//! The driver: length by length, round by round, row by row.

use std::time::{Duration, Instant};

use super::{
    Cells, Fabric, FabricError, Shares, Stop, StopRequest, View,
    drift::Drift,
    forecast::Forecast,
    part::{Order, Pace, cells_of, decode, encode},
    retest::{Retested, retest},
    suspects::Before,
};
use crate::{
    plan::{Plan, Round},
    record::{BoxError, Cell, Moments, Sink},
    units::{Bytes, Rank},
};

/// Cells that the root holds at a time, at most, unless a single row is longer: 1 MiB of them.
const CELLS_AT_A_TIME: usize = (1 << 20) / size_of::<Cell>();

/// What happens while a run is measured, for whoever shows progress.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum Event<'a> {
    /// A run begins; lengths before `first` are finished already. It is expected to take this long.
    Begin { plan: &'a Plan, first: usize, expected: Duration },
    /// Some rounds of a length are measured; the rest of the run is expected to take `left`.
    Part { index: usize, length: Bytes, rounds: usize, of: usize, elapsed: Duration, left: Duration },
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
    let [shortest, longest] =
        [plan.lengths()[plan.shortest()], plan.config.longest()].map(|length| fabric.probe(length));
    let mut forecast = Forecast::new(plan, first, shortest?.unwrap_or(f64::NAN), longest?.unwrap_or(f64::NAN));
    events(Event::Begin { plan, first, expected: forecast.whole() });
    if let (Some(sink), Some(partners)) = (sink.as_deref_mut(), plan.partners()) {
        sink.begin_sampled(&partners);
    }
    let start = Instant::now();
    let mut damaged = 0;
    let mut cells = Cells::of(plan, fabric.view());
    let mut times = Times::default();
    let mut ending = Ending::Complete;
    let mut failure = None;
    let mut drift = Drift::of(plan, first);
    let mut suspects = Before::new();
    let mut walk = Walk {
        plan,
        request,
        first,
        forecast: &mut forecast,
        start,
        pace: Pace::new(),
        order: Order::FIRST,
        failure: None,
    };
    for (index, &length) in plan.lengths().iter().enumerate().skip(first) {
        cells.clear();
        let begin = fabric.time_of_day();
        fabric.begin_length(plan, index)?;
        // A length that is not walked to its end is given up; what is finished of it is kept.
        if let Some(stop) = walk.length(fabric, &mut sink, index, &mut cells, events)? {
            ending = Ending::Stopped(stop);
            failure = walk.failure.take();
            break;
        }
        fabric.end_length(&mut cells)?;
        if let Some(drift) = &mut drift {
            drift.keep(plan, index, fabric.view(), &cells);
        }
        let retested = match plan.retests() {
            0 => Retested::default(),
            _ => retest(plan, fabric, (index, length), &cells, &mut suspects)?,
        };
        damaged += cells.damaged() + retested.damaged;
        let moments = Moments { begin, end: fabric.time_of_day() };
        failure = save(plan, fabric, &cells, &retested, moments, &mut sink, index, &mut times)?.err();
        let wish = if failure.is_some() { Some(Stop::Output) } else { request.wish() };
        let (agreed, order) = fabric.agree(wish, walk.order_behind(index).number())?;
        walk.order = Order::from_number(order);
        if agreed != Some(Stop::Output) {
            let elapsed = start.elapsed();
            events(Event::LengthFinished { index, length, elapsed, left: walk.forecast.left(index, 1.0, elapsed) });
        }
        let last = index + 1 == plan.lengths().len();
        // A length that would not end in time is not begun.
        let late = (walk.order.rounds == 0 && !last).then_some(Stop::TimeLimit);
        if let Some(stop) = agreed.or(late) {
            ending = if last && stop != Stop::Output { ending } else { Ending::Stopped(stop) };
            // Whoever is to stop does not look back.
            drift = None;
            break;
        }
    }
    if let (Some(drift), Ending::Complete) = (drift, ending) {
        let ratio = drift.measure(plan, fabric)?;
        if let Some(sink) = sink.as_deref_mut() {
            failure = sink.write_drift(ratio).err();
        }
    }
    if let (Some(sink), None) = (sink, &failure) {
        failure = sink.close().err();
    }
    if fabric.agree(failure.is_some().then_some(Stop::Output), 0)?.0.is_some() {
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

/// The walk over the rounds of a length, part by part.
struct Walk<'a> {
    plan: &'a Plan,
    request: &'a StopRequest,
    /// The first length of this run: only of this one an earlier run may have kept rounds.
    first: usize,
    forecast: &'a mut Forecast,
    start: Instant,
    /// The root's; what others decide does not count.
    pace: Pace,
    /// What all do next.
    order: Order,
    /// The root's: why finished rounds could not be kept.
    failure: Option<BoxError>,
}

impl Walk<'_> {
    /// Carries out the rounds of a length, behind those that an earlier run has kept. Returns why it ended before the
    /// last one, if it did: the same on all ranks.
    fn length(
        &mut self,
        fabric: &mut dyn Fabric,
        sink: &mut Option<&mut dyn Sink>,
        index: usize,
        cells: &mut Cells,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Stop>, FabricError> {
        let rounds = self.plan.rounds(index);
        let length = self.plan.lengths()[index];
        let mut done = 0;
        if index == self.first {
            done = restore(fabric, sink, index, self.plan.ranks(), cells)?.min(rounds.len());
            self.forecast.done(index, done as f64 / rounds.len().max(1) as f64);
        }
        let mut own: Box<dyn Iterator<Item = Round<'_>>> = match fabric.view() {
            View::Whole => Box::new(rounds.iter()),
            View::Rank(me) => rounds.concerning(me),
        };
        let mut next = own.find(|round| round.index() >= done);
        let mut measured = Vec::new();
        while done < rounds.len() {
            let begun = fabric.seconds();
            let part = done..rounds.len().min(done + self.order.rounds.max(1));
            fabric.begin_part(part.clone());
            while let Some(round) = next.take_if(|round| round.index() < part.end) {
                fabric.run(&round, length, cells)?;
                let ends = cells_of(&round, fabric.view(), self.plan.ranks());
                measured.extend(ends.into_iter().map(|ends| (round.index(), ends)));
                next = own.next();
            }
            fabric.end_part()?;
            let order = self.order_behind_part(part.len(), passed(fabric, begun));
            // Rounds that cannot be kept are a reason to stop.
            let unkept = self.failure.as_ref().map(|_| Stop::Output);
            let own = fabric.stopped().max(self.request.wish()).max(unkept);
            let (stop, order) = fabric.agree(own, order.number())?;
            self.order = Order::from_number(order);
            done = if stop.is_some() { fabric.finished()?.clamp(part.start, part.end) } else { part.end };
            if done == rounds.len() {
                break;
            }
            let late = (self.order.rounds == 0).then_some(Stop::TimeLimit);
            if stop.or(late).is_some() || self.order.keep {
                let begun = Instant::now();
                let written = keep(fabric, sink, index, done, cells, &mut measured)?;
                self.failure = self.failure.take().or(written.err());
                self.pace.kept(begun.elapsed());
            }
            if let Some(stop) = stop.or(late) {
                return Ok(Some(stop));
            }
            let (elapsed, of) = (self.start.elapsed(), rounds.len());
            let left = self.forecast.left(index, done as f64 / of as f64, elapsed);
            events(Event::Part { index, length, rounds: done, of, elapsed, left });
        }
        Ok(None)
    }

    /// What comes behind a part.
    fn order_behind_part(&mut self, rounds: usize, spent: Duration) -> Order {
        self.pace.measured(rounds, spent);
        self.pace.order(1.0, self.request.left())
    }

    /// What comes behind a length: messages get longer.
    fn order_behind(&mut self, index: usize) -> Order {
        self.pace.order(self.forecast.growth(index), self.request.left())
    }
}

/// Time since a moment of the machine's clock.
fn passed(fabric: &dyn Fabric, since: f64) -> Duration {
    Duration::try_from_secs_f64(fabric.seconds() - since).unwrap_or_default()
}

/// Takes over the cells of rounds that an earlier run has kept. Returns their number, the same on all ranks.
fn restore(
    fabric: &mut dyn Fabric,
    sink: &mut Option<&mut dyn Sink>,
    index: usize,
    ranks: usize,
    cells: &mut Cells,
) -> Result<usize, FabricError> {
    let own = sink.as_deref().map_or(0, |sink| sink.kept_rounds(index));
    let (_, rounds) = fabric.agree(None, own as u64)?;
    if rounds == 0 {
        return Ok(0);
    }
    let mut pieces = Vec::new();
    if let Some(sink) = sink.as_deref() {
        // What cannot be read any more is found missing: the rounds are carried out again.
        if sink.read_kept(&mut |piece| pieces.push(piece.to_vec())).is_err() {
            pieces.clear();
        }
    }
    let found = !pieces.is_empty();
    let mut pieces = pieces.into_iter();
    loop {
        let mut piece = pieces.next().unwrap_or_default();
        fabric.spread(&mut piece)?;
        if piece.is_empty() {
            break;
        }
        decode(&piece, ranks, cells);
    }
    let (_, rounds) = fabric.agree(None, if found { rounds } else { 0 })?;
    Ok(rounds as usize)
}

/// Brings the cells of finished rounds to the sink.
fn keep(
    fabric: &mut dyn Fabric,
    sink: &mut Option<&mut dyn Sink>,
    index: usize,
    done: usize,
    cells: &Cells,
    measured: &mut Vec<(usize, (Rank, Rank))>,
) -> Result<Result<(), BoxError>, FabricError> {
    let mut bytes = Vec::new();
    for (_, (source, destination)) in measured.drain(..).filter(|(round, _)| *round < done) {
        if let Some(cell) = cells.get(source, destination) {
            encode(source, destination, cell, &mut bytes);
        }
    }
    let mut written = Ok(());
    fabric.collect(&bytes, &mut |piece| {
        if let (Some(sink), Ok(())) = (sink.as_deref_mut(), &written) {
            written = sink.keep(index, piece);
        }
    })?;
    if let (Some(sink), Ok(())) = (sink.as_deref_mut(), &written) {
        written = sink.seal_kept(index, done);
    }
    Ok(written)
}

/// Brings the matrix of a length to the root and into its sink, some lines at a time. A sink that fails is not asked
/// again, but the rows are gathered to the end, so that the ranks stay in step.
#[expect(clippy::too_many_arguments, reason = "what is saved, from where and to where")]
fn save(
    plan: &Plan,
    fabric: &mut dyn Fabric,
    cells: &Cells,
    retested: &Retested,
    moments: Moments,
    sink: &mut Option<&mut dyn Sink>,
    index: usize,
    times: &mut Times,
) -> Result<Result<(), BoxError>, FabricError> {
    let ranks = plan.ranks();
    let lines = cells.lines();
    let at_a_time = (CELLS_AT_A_TIME / ranks).clamp(1, ranks);
    let mut block = Vec::new();
    let mut written = Ok(());
    for first_row in (0..lines).step_by(at_a_time) {
        let gathering = Instant::now();
        fabric.gather(cells, first_row..(first_row + at_a_time).min(lines), &mut block)?;
        times.gathering += gathering.elapsed();
        if let (Some(sink), Ok(())) = (sink.as_deref_mut(), &written) {
            let writing = Instant::now();
            written = sink.write_rows(index, first_row, &block);
            times.writing += writing.elapsed();
        }
    }
    if let (Some(sink), Ok(())) = (sink.as_deref_mut(), &written) {
        let writing = Instant::now();
        written = sink.write_retests(index, &retested.retests);
        if plan.retest_samples() > 0 {
            written = written.and_then(|()| sink.write_retest_samples(index, &retested.samples));
        }
        written = written.and_then(|()| sink.write_moments(index, moments));
        written = written.and_then(|()| sink.finish_length(index));
        times.writing += writing.elapsed();
    }
    Ok(written)
}

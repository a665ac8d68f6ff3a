//! A run as verdicts read it: what a rank sends stands in its row, what it receives in its column, and times are those
//! of paths.
//!
//! In: any run. Out: the same run in which data flow from row to column (in `get` they flow the other way, and the
//! matrices are turned), without the lengths at which nothing travels, and with what the clocks of one-way times on
//! synchronised clocks are apart by taken off ([`Clocks`]).
//!
//! Rows of turned matrices cost a pass over the whole matrix for each call, so callers read them all at once.

use std::{ops::Range, sync::OnceLock};

use super::asymmetry::Clocks;
use crate::{
    plan::{Partners, Timing},
    record::{BoxError, Cell, Header, Retest, Run, State, Statistic},
    stats::median_of,
    units::Bytes,
};

/// See the module.
pub struct Directed<'a> {
    run: &'a dyn Run,
    /// The lengths at which something travels.
    lengths: Vec<Bytes>,
    /// Their numbers in the run.
    places: Vec<usize>,
    is_turned: bool,
    /// `[length]`, where one-way times are taken by synchronised clocks; made when they are needed.
    clocks: Option<OnceLock<Vec<Clocks>>>,
}

impl<'a> Directed<'a> {
    /// A view of `run`. Nothing is read yet.
    pub fn new(run: &'a dyn Run) -> Self {
        let header = run.header();
        let travels = |length: &Bytes| length.0 > 0 || header.mode.empty_messages_travel();
        let (places, lengths): (Vec<_>, Vec<_>) =
            run.lengths().iter().copied().enumerate().filter(|(_, length)| travels(length)).unzip();
        let on_clocks = header.mode.is_one_way() && header.item("timing") == Some(Timing::Clock.name());
        let clocks = on_clocks.then(OnceLock::new);
        Self { run, lengths, places, is_turned: header.mode.data_flows_from_column(), clocks }
    }

    /// The clocks at a length, where one-way times are taken by synchronised ones.
    pub fn clocks(&self, length_index: usize) -> Result<Option<&Clocks>, BoxError> {
        let Some(place) = &self.clocks else { return Ok(None) };
        if let Some(clocks) = place.get() {
            return Ok(Some(&clocks[length_index]));
        }
        let mut clocks = Vec::new();
        let mut bounds = Vec::new();
        for &index in &self.places {
            clocks.push(Clocks::of(&self.run.matrix(Statistic::Median, index)?));
            bounds.push(self.bounds(index)?);
        }
        Clocks::limit(&mut clocks, &bounds);
        Ok(Some(&place.get_or_init(|| clocks)[length_index]))
    }

    /// How far off each rank's clock may be at a length of the run, in seconds, `[rank]`: the median over its pairs.
    fn bounds(&self, index: usize) -> Result<Vec<f64>, BoxError> {
        let ranks = self.ranks();
        let mut row = Vec::new();
        let mut scratch = Vec::new();
        let of_rank = |rank: usize| {
            row.clear();
            row.resize(ranks, Cell::missing(State::NotScheduled));
            self.run.read_further(index, rank..rank + 1, &mut row)?;
            Ok(median_of(row.iter().filter_map(|cell| cell.clock_bound), &mut scratch))
        };
        (0..ranks).map(of_rank).collect()
    }

    /// Fills rows `[row][column]` from the columns of the run: `read` gives one of its rows.
    fn turn<T: Copy>(
        &self,
        rows: Range<usize>,
        target: &mut [T],
        mut read: impl FnMut(usize, &mut Vec<T>) -> Result<(), BoxError>,
    ) -> Result<(), BoxError> {
        let ranks = self.ranks();
        let mut row = Vec::new();
        for source in 0..ranks {
            read(source, &mut row)?;
            for (place, destination) in rows.clone().enumerate() {
                target[place * ranks + source] = row[destination];
            }
        }
        Ok(())
    }
}

impl Run for Directed<'_> {
    fn header(&self) -> &Header {
        self.run.header()
    }

    fn lengths(&self) -> &[Bytes] {
        &self.lengths
    }

    fn statistics(&self) -> &[Statistic] {
        self.run.statistics()
    }

    fn partners(&self) -> Option<&Partners> {
        self.run.partners()
    }

    fn is_complete(&self) -> bool {
        self.run.is_complete()
    }

    fn read_rows(
        &self,
        statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        let index = self.places[length_index];
        if self.is_turned {
            let ranks = self.ranks();
            return self.turn(rows, values, |source, row| {
                row.resize(ranks, f64::NAN);
                self.run.read_rows(statistic, index, source..source + 1, row)
            });
        }
        self.run.read_rows(statistic, index, rows.clone(), values)?;
        let moves = matches!(statistic, Statistic::Min | Statistic::Average | Statistic::Median | Statistic::Max);
        if let (true, Some(clocks)) = (moves, self.clocks(length_index)?) {
            for (source, row) in rows.zip(values.chunks_exact_mut(self.ranks())) {
                for (destination, value) in row.iter_mut().enumerate().filter(|(destination, _)| *destination != source)
                {
                    *value -= clocks.between(source, destination);
                }
            }
        }
        Ok(())
    }

    fn read_states(&self, length_index: usize, rows: Range<usize>, states: &mut [State]) -> Result<(), BoxError> {
        let index = self.places[length_index];
        if !self.is_turned {
            return self.run.read_states(index, rows, states);
        }
        let ranks = self.ranks();
        self.turn(rows, states, |source, row| {
            row.resize(ranks, State::NotScheduled);
            self.run.read_states(index, source..source + 1, row)
        })
    }

    fn read_further(&self, length_index: usize, rows: Range<usize>, cells: &mut [Cell]) -> Result<(), BoxError> {
        let index = self.places[length_index];
        if !self.is_turned {
            return self.run.read_further(index, rows, cells);
        }
        let ranks = self.ranks();
        let mut found = vec![Cell::missing(State::NotScheduled); cells.len()];
        self.turn(rows, &mut found, |source, row| {
            row.clear();
            row.resize(ranks, Cell::missing(State::NotScheduled));
            self.run.read_further(index, source..source + 1, row)
        })?;
        for (cell, found) in cells.iter_mut().zip(found) {
            (cell.damaged, cell.clock_bound) = (found.damaged, found.clock_bound);
        }
        Ok(())
    }

    fn retests(&self, length_index: usize) -> Result<Vec<Retest>, BoxError> {
        let mut retests = self.run.retests(self.places[length_index])?;
        let clocks = self.clocks(length_index)?;
        for retest in &mut retests {
            if self.is_turned {
                (retest.source, retest.destination) = (retest.destination, retest.source);
            }
            if let Some(clocks) = clocks {
                let apart = clocks.between(retest.source, retest.destination);
                [&mut retest.first, &mut retest.second, &mut retest.alone].into_iter().for_each(|time| *time -= apart);
            }
        }
        Ok(retests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::diagnose::{Direction, Kind, Options, Symptom, diagnose},
        measure::{
            StopRequest, measure,
            synthetic::{self, Fault, Machine, Synthetic},
        },
        plan::{Config, Mode, Plan, Sweep},
        record::{MemoryRun, Provenance},
    };

    fn run(machine: &Machine, mode: Mode, lengths: &[u64], timing: Timing) -> MemoryRun {
        let sweep = Sweep::list(&lengths.iter().copied().map(Bytes).collect::<Vec<_>>()).unwrap();
        let config = Config { modes: vec![mode], iterations: 20, sweep, timing, ..Config::default() };
        let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
        let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
        let mut fabric = Synthetic::new(machine.clone());
        measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
        run
    }

    fn options() -> Options {
        Options { confidence: 0.99, ..Options::default() }
    }

    /// The receiving side of a card is slow: every mode that can tell directions names it so, alone and with another one.
    #[test]
    fn a_slow_receiver_is_one_in_get_as_well() {
        for (planted, expected) in
            [(synthetic::Direction::Receive, Direction::Receive), (synthetic::Direction::Send, Direction::Send)]
        {
            let symptom = synthetic::Symptom::Bandwidth(0.125);
            let machine = Machine::leaf_spine(8, 1, 1).with(Fault::Host { host: 2, direction: planted, symptom });
            let lengths = [0, 1 << 16, 1 << 20];
            let of = |mode| run(&machine, mode, &lengths, Timing::Transfer);
            let (one_to_one, get, put) = (of(Mode::OneToOne), of(Mode::Get), of(Mode::Put));
            for runs in [vec![&one_to_one], vec![&get], vec![&put], vec![&one_to_one, &get]] {
                let runs: Vec<&dyn Run> = runs.into_iter().map(|run| run as &dyn Run).collect();
                let diagnosis = diagnose(&runs, &options()).unwrap();
                let modes: Vec<_> = runs.iter().map(|run| run.header().mode.name()).collect();
                assert!(!diagnosis.findings.is_empty(), "{modes:?}");
                for finding in &diagnosis.findings {
                    assert_eq!((finding.kind, finding.direction), (Kind::Node, expected), "{modes:?}: {finding:?}");
                    assert_eq!(
                        (finding.symptom, &finding.hosts[..]),
                        (Symptom::Bandwidth, &["node003".to_owned()][..])
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_sent_is_not_judged() {
        let machine = Machine::leaf_spine(6, 1, 1);
        let whole = run(&machine, Mode::Put, &[0, 4096], Timing::Transfer);
        assert_eq!(whole.lengths().len(), 2);
        assert!(whole.cells(0).iter().enumerate().all(|(place, cell)| match place % 7 {
            0 => cell.summary.median == 0.0,
            _ => cell.state == State::NotScheduled && cell.summary.median.is_nan(),
        }));
        let judged = Directed::new(&whole);
        assert_eq!(judged.lengths(), [Bytes(4096)]);
        assert_eq!(judged.matrix(Statistic::Median, 0).unwrap(), whole.matrix(Statistic::Median, 1).unwrap());
        assert_eq!(Directed::new(&run(&machine, Mode::OneToOne, &[0, 1], Timing::Clock)).lengths().len(), 2);
    }

    #[test]
    fn turned_rows_and_cells_are_the_columns() {
        let machine = Machine::leaf_spine(4, 2, 1);
        let get = run(&machine, Mode::Get, &[64], Timing::Transfer);
        let turned = Directed::new(&get);
        let (before, after) = (get.matrix(Statistic::Max, 0).unwrap(), turned.matrix(Statistic::Max, 0).unwrap());
        let mut cells = Vec::new();
        turned.read_cells(0, 1..3, &mut cells).unwrap();
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            assert_eq!(after[(i, j)], before[(j, i)]);
            if (1..3).contains(&i) {
                assert_eq!(cells[(i - 1) * 4 + j].summary.max, before[(j, i)]);
            }
        }
    }

    /// Clocks that are off by more than a message takes are no disease, and hide none.
    #[test]
    fn clocks_that_are_apart_make_no_finding_and_a_path_that_is_late_one_way_does() {
        let healthy = Machine { clock_error: 0.5e-6, ..Machine::leaf_spine(24, 3, 1) };
        let lengths = [0, 64, 1024];
        let measured = run(&healthy, Mode::OneToOne, &lengths, Timing::Clock);
        let cells = || measured.cells(0).iter().enumerate().filter(|(place, _)| place % 25 != 0).map(|(_, cell)| cell);
        let below = cells().filter(|cell| cell.clock_bound.unwrap() > cell.summary.median).count();
        assert!(2 * below > cells().count(), "bounds like those of real runs: {below}");
        let diagnosis = diagnose(&[&measured], &options()).unwrap();
        assert_eq!(diagnosis.verdict(), "healthy", "{:?} {:?}", diagnosis.invalid, diagnosis.findings);

        let late = Fault::Link {
            hosts: (2, 9),
            direction: synthetic::Direction::Send,
            symptom: synthetic::Symptom::Latency(4e-6),
        };
        let measured = run(&healthy.with(late), Mode::OneToOne, &lengths, Timing::Clock);
        let diagnosis = diagnose(&[&measured], &options()).unwrap();
        let [finding] = &diagnosis.findings[..] else { panic!("{:?}", diagnosis.findings) };
        assert_eq!((finding.kind, finding.direction), (Kind::Link, Direction::Send), "{finding:?}");
        assert_eq!(finding.hosts, ["node003", "node010"]);
    }
}

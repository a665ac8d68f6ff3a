//! Runs from the printed tables of other programs, so that old data get a verdict.
//!
//! In: a text whose beginning says which program wrote it. Out: a run, and what its reader should know. Each program is one
//! file behind [`program::Program`]. What such a table has is one mean per pair; it stands as the average and, so that it can
//! be judged, as the median.

mod mpigraph;
mod nxnlatbw;
mod osu;
mod program;

use std::{
    io::{BufRead, BufReader},
    path::Path,
};

use self::program::{Program, Table};
pub(super) use self::{mpigraph::MpiGraph, nxnlatbw::NxnLatBw, osu::Osu};
use super::{
    error::StoreError,
    import::{Format, OpenedRun},
    lines::Lines,
    regular,
};
use crate::{
    plan::{Mode, Noise},
    record::{Cell, Header, MemoryRun, Provenance, State, Statistic},
    stats::Summary,
    units::{Bytes, Hosts, check_host_name},
};

impl<P: Program> Format for P {
    fn has(&self, _: &Path, beginning: &[u8]) -> bool {
        self.wrote(&String::from_utf8_lossy(beginning))
    }

    fn open(&self, path: &Path) -> Result<OpenedRun, StoreError> {
        let mut input = BufReader::new(regular::open(path)?);
        let table = self.read(&mut Lines::new(&mut input as &mut dyn BufRead, path))?;
        match table.hosts.iter().find_map(|name| check_host_name(name).err()) {
            Some(error) => Err(StoreError::unusable(path, format!("has a bad header: {error}"))),
            None => Ok(table.into_run()),
        }
    }
}

impl Table {
    fn into_run(self) -> OpenedRun {
        let notice = format!(
            "measured by {}: one mean per pair, which stands for the median; samples and their scatter are not known",
            self.program
        );
        let ranks = self.hosts.len();
        let ends = [self.lengths.first(), self.lengths.last()].map(|length| length.map_or(0, |(length, _)| length.0));
        let header = Header {
            mode: Mode::OneToOne,
            hosts: Hosts::new(self.hosts),
            planned: self.lengths.iter().map(|(length, _)| *length).collect(),
            begin_end_step: (Bytes(ends[0]), Bytes(ends[1].saturating_add(1)), Bytes(0)),
            iterations: self.iterations,
            noise: Noise { length: Bytes(0), messages: 0, processes: 0 },
            plan: Default::default(),
            provenance: Provenance { program_version: self.program, ..Provenance::default() },
        };
        let mut run = MemoryRun::with_statistics(header, vec![Statistic::Average, Statistic::Median]);
        for (length, seconds) in self.lengths {
            let cell = |(place, seconds): (usize, f64)| {
                if place / ranks == place % ranks {
                    return Cell::zero();
                }
                if !(seconds > 0.0 && seconds.is_finite()) {
                    return Cell::missing(State::Failed);
                }
                let mut cell = Cell::measured(Summary::MISSING, self.iterations, State::Measured);
                cell.set(Statistic::Average, seconds);
                cell.set(Statistic::Median, seconds);
                cell
            };
            run.push(length, seconds.into_iter().enumerate().map(cell).collect());
        }
        OpenedRun { run: Box::new(run), notices: vec![notice] }
    }
}

#[cfg(test)]
mod tests;

//! Runs over different hosts, joined into one.
//!
//! In: runs of one mode, sweep and timing ([`Part`]), each over its own hosts, which may overlap. Out: [`Merged`], the
//! [`Run`] over all of these hosts: it reads its parts when it is read, some rows at a time, and holds no matrix.
//!
//! Ranks are the same where they have the same place on a host of the same name. Hosts stand in the order in which the
//! parts name them, the ranks of a host side by side, as many as the part with most of them has. A cell that no part
//! measured is missing; where several did, its statistics are those of all their samples, but for the median, which is
//! the mean of their medians, weighted by numbers of samples. Nothing is measured, stored or printed here.

mod header;
mod overlap;
mod weigh;

pub use header::MergeError;

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use crate::{
    plan::Partners,
    record::{BoxError, Cell, Header, Retest, Run, State, Statistic},
    stats::Summary,
    units::{Bytes, Hosts, Rank},
};
use overlap::Overlap;
use weigh::Weighed;

/// A run that is to become part of another, and what messages call it.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// Such as its prefix.
    pub name: &'a str,
    /// What was measured.
    pub run: &'a dyn Run,
}

/// Several runs as one.
pub struct Merged<'a> {
    header: Header,
    lengths: Vec<Bytes>,
    statistics: Vec<Statistic>,
    notices: Vec<String>,
    parts: Vec<Joined<'a>>,
    partners: Option<Partners>,
}

/// A part and where its ranks are.
struct Joined<'a> {
    run: &'a dyn Run,
    /// Rank in the merged run, `[rank in the part]`.
    merged: Vec<Rank>,
    /// Rank in the part, `[rank in the merged run]`.
    own: Vec<Option<Rank>>,
    /// Whether the part knows the number of samples of every cell.
    counts: bool,
}

impl<'a> Merged<'a> {
    /// Of one part or more. `command` and `created` tell where and when they were merged.
    pub fn new(parts: &[Part<'a>], command: &str, created: &str) -> Result<Self, MergeError> {
        header::check(parts)?;
        let hosts = all_hosts(parts);
        let joined: Vec<_> = parts.iter().map(|part| Joined::new(part.run, &hosts)).collect();
        let overlap = Overlap::of(&joined);
        let (statistics, mut notices) = statistics(parts, &overlap);
        if statistics.is_empty() {
            return Err(MergeError::NoStatistics);
        }
        let shortest = parts.iter().min_by_key(|part| part.run.lengths().len()).ok_or(MergeError::Nothing)?;
        let lengths = shortest.run.lengths().to_vec();
        let (Some(last), planned) = (lengths.last(), shortest.run.header().planned.len()) else {
            return Err(MergeError::NothingFinished { name: shortest.name.to_owned() });
        };
        if lengths.len() < planned {
            let finished = lengths.len();
            let name = shortest.name;
            notices.push(format!(
                "merged up to {} ({finished} of {planned} message lengths): `{name}` has no more",
                last.counted()
            ));
        }
        let header = header::merged(parts, hosts, overlap.most_samples, command, created);
        let partners = all_partners(&joined, header.hosts.ranks());
        Ok(Self { header, lengths, statistics, notices, parts: joined, partners })
    }

    /// What of the parts is not in the merged run, in words.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// Whom every rank of the merged run met, where all parts left most pairs out, and most are still left out.
fn all_partners(parts: &[Joined<'_>], ranks: usize) -> Option<Partners> {
    let mut met = vec![BTreeSet::new(); ranks];
    for part in parts {
        for (rank, others) in part.run.partners()?.lists().into_iter().enumerate() {
            met[part.merged[rank]].extend(others.into_iter().map(|other| part.merged[other]));
        }
    }
    Partners::of_lists(&met.into_iter().map(|others| others.into_iter().collect()).collect::<Vec<_>>())
}

/// All hosts in the order in which the parts name them, each with as many ranks as the part with most of them has.
fn all_hosts(parts: &[Part<'_>]) -> Hosts {
    let mut known = HashMap::new();
    let mut all: Vec<(&str, usize)> = Vec::new();
    for part in parts {
        let hosts = &part.run.header().hosts;
        for (host, name) in hosts.names().iter().enumerate() {
            let number = *known.entry(name.as_str()).or_insert(all.len());
            if number == all.len() {
                all.push((name, 0));
            }
            all[number].1 = all[number].1.max(hosts.ranks_of(host).len());
        }
    }
    Hosts::new(all.into_iter().flat_map(|(name, ranks)| std::iter::repeat_n(name, ranks)))
}

/// The statistics that every part has, the number of samples where cells may differ in it, and what is left out.
fn statistics(parts: &[Part<'_>], overlap: &Overlap) -> (Vec<Statistic>, Vec<String>) {
    let lacks = |part: &&Part<'_>, statistic| !part.run.statistics().contains(&statistic);
    let mut notices = Vec::new();
    let mut kept = Vec::new();
    for statistic in Statistic::OF_TIMES {
        let without = parts.iter().find(|part| lacks(part, statistic));
        let pooled = statistic == Statistic::Deviation && overlap.is_shared;
        let without_average = parts.iter().find(|part| pooled && lacks(part, Statistic::Average));
        match (without, without_average) {
            (None, None) => kept.push(statistic),
            (Some(part), _) if parts.iter().any(|part| !lacks(&part, statistic)) => {
                notices.push(format!("the {statistic} is left out: `{}` has none", part.name));
            }
            (None, Some(part)) => notices.push(format!(
                "the {statistic} is left out: it cannot be joined without the average, which `{}` has not",
                part.name
            )),
            (Some(_), _) => {}
        }
    }
    for statistic in Statistic::OPTIONAL {
        let has_it = parts.iter().filter(|part| !lacks(part, statistic)).count();
        match has_it {
            0 => {}
            _ if has_it == parts.len() && !overlap.is_shared => kept.push(statistic),
            _ if overlap.is_shared => {
                notices.push(format!("the {statistic} is left out: it cannot be joined where parts share pairs"));
            }
            _ => notices.push(format!("the {statistic} is left out: not all parts have it")),
        }
    }
    if overlap.is_shared || !overlap.is_uniform {
        kept.extend((!kept.is_empty()).then_some(Statistic::MeasurementsAmount));
    }
    (kept, notices)
}

impl<'a> Joined<'a> {
    fn new(run: &'a dyn Run, all: &Hosts) -> Self {
        let hosts = &run.header().hosts;
        let numbers: HashMap<_, _> = all.names().iter().enumerate().map(|(host, name)| (name, host)).collect();
        let merged: Vec<Rank> = (0..hosts.ranks())
            .map(|rank| all.ranks_of(numbers[&hosts.names()[hosts.host_of(rank)]])[hosts.place_of(rank)])
            .collect();
        let mut own = vec![None; all.ranks()];
        merged.iter().enumerate().for_each(|(rank, place)| own[*place] = Some(rank));
        Self { run, merged, own, counts: run.statistics().contains(&Statistic::MeasurementsAmount) }
    }

    /// Rows of the part that stand among `rows` of the merged run: the first of those, and as many as are neighbours in
    /// both.
    fn blocks(&self, rows: Range<Rank>) -> Vec<(Rank, Range<Rank>)> {
        let mut blocks: Vec<(Rank, Range<Rank>)> = Vec::new();
        for row in rows {
            let Some(own) = self.own[row] else { continue };
            match blocks.last_mut() {
                Some((first, block)) if block.end == own && *first + block.len() == row => block.end += 1,
                _ => blocks.push((row, own..own + 1)),
            }
        }
        blocks
    }

    /// A cell with its number of samples, which not every run keeps: the others took as many for all.
    fn counted(&self, source: Rank, destination: Rank, cell: &Cell) -> Cell {
        let header = self.run.header();
        let is_nothing = source == destination && !header.mode.is_collective();
        if self.counts || is_nothing || weigh::is_missing(cell) {
            return *cell;
        }
        Cell { samples: header.iterations, ..*cell }
    }
}

impl Run for Merged<'_> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn lengths(&self) -> &[Bytes] {
        &self.lengths
    }

    fn statistics(&self) -> &[Statistic] {
        &self.statistics
    }

    fn partners(&self) -> Option<&Partners> {
        self.partners.as_ref()
    }

    fn read_rows(
        &self,
        statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        let mut cells = Vec::new();
        self.read_cells(length_index, rows, &mut cells)?;
        for (value, cell) in values.iter_mut().zip(&cells) {
            *value = statistic.in_cell(cell);
        }
        Ok(())
    }

    fn read_states(&self, length_index: usize, rows: Range<usize>, states: &mut [State]) -> Result<(), BoxError> {
        let mut cells = Vec::new();
        self.read_cells(length_index, rows, &mut cells)?;
        states.iter_mut().zip(&cells).for_each(|(state, cell)| *state = cell.state);
        Ok(())
    }

    fn read_cells(&self, length_index: usize, rows: Range<usize>, cells: &mut Vec<Cell>) -> Result<(), BoxError> {
        let ranks = self.ranks();
        let mut weighed = vec![Weighed::default(); rows.len() * ranks];
        let mut found = Vec::new();
        for part in &self.parts {
            for (first, block) in part.blocks(rows.clone()) {
                part.run.read_cells(length_index, block.clone(), &mut found)?;
                for (place, cell) in found.iter().enumerate() {
                    let (row, destination) = (place / part.merged.len(), place % part.merged.len());
                    let to = (first - rows.start + row) * ranks + part.merged[destination];
                    weighed[to].add(&part.counted(block.start + row, destination, cell));
                }
            }
        }
        cells.clear();
        cells.extend(weighed.into_iter().map(Weighed::cell));
        Ok(())
    }

    /// A pair that several parts measured again has the means of what they found.
    fn retests(&self, length_index: usize) -> Result<Vec<Retest>, BoxError> {
        let mut all = Vec::new();
        for part in &self.parts {
            let retests = part.run.retests(length_index)?.into_iter();
            all.extend(retests.map(|retest| Retest {
                source: part.merged[retest.source],
                destination: part.merged[retest.destination],
                ..retest
            }));
        }
        let pair = |retest: &Retest| (retest.source, retest.destination);
        all.sort_by_key(pair);
        Ok(all.chunk_by(|a, b| pair(a) == pair(b)).map(mean_retest).collect())
    }
}

/// The means of retests of one pair.
fn mean_retest(same: &[Retest]) -> Retest {
    let mean = |value: fn(&Retest) -> f64| Summary::of(&mut same.iter().map(value).collect::<Vec<_>>()).average;
    Retest {
        first: mean(|retest| retest.first),
        second: mean(|retest| retest.second),
        alone: mean(|retest| retest.alone),
        ..same[0]
    }
}

#[cfg(test)]
mod tests;

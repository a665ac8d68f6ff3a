//! Opens a result set and reads it in parts.
//!
//! In: a prefix or a file. Out: a [`ResultSet`], which is a [`Run`]. Nothing is kept but the header and the list
//! of lengths; values are read when they are asked for.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    companion::Companion,
    compare::difference,
    description::{self, Description, Values},
    field,
    file::NcFile,
    import::{Format, OpenedRun},
    legacy,
    lines::listed,
    moments,
    paths::{DELAYS, HOSTS, extended, file_of, prefix_of},
    retests,
    schema::{DATA, FORMAT, FORMAT_NAME, FORMAT_VERSION, LENGTH, ORIENTATION},
    values,
};
use crate::{
    plan::Partners,
    record::{BoxError, Cell, Header, Moments, Retest, Run, State, Statistic, states_of_values},
    units::{Bytes, shown},
};

/// A run in files: ours, or network_tests2's turned our way round.
#[derive(Debug)]
pub struct ResultSet {
    header: Header,
    lengths: Vec<Bytes>,
    statistics: Vec<Statistic>,
    /// Whose cells the files hold, where most pairs were left out.
    partners: Option<Partners>,
    sources: Vec<Source>,
    /// The statistics that the set should have; `None`: network_tests2's.
    promised: Option<Vec<Statistic>>,
    notices: Vec<String>,
    /// Where a statistic that is not there would be.
    prefix: PathBuf,
}

/// An open file and what it holds.
#[derive(Debug)]
struct Source {
    file: NcFile,
    statistic: Statistic,
    values: Values,
    /// Finished lengths in this file, of which the set may have fewer.
    records: usize,
}

/// The files that a path stands for.
struct Located {
    prefix: PathBuf,
    /// File, and the statistic that its name promises.
    files: Vec<(PathBuf, Option<Statistic>)>,
}

/// Result sets as a form of runs: what has no other.
pub(super) struct Sets;

impl Format for Sets {
    fn has(&self, _: &Path, _: &[u8]) -> bool {
        true
    }

    fn open(&self, path: &Path) -> Result<OpenedRun, StoreError> {
        let set = open(path)?;
        let notices = set.notices().to_vec();
        Ok(OpenedRun { run: Box::new(set), notices })
    }
}

/// Opens the set with the given prefix, or the set to which the given file belongs.
pub fn open(path: &Path) -> Result<ResultSet, StoreError> {
    let Located { prefix, files } = locate(path)?;
    let mut header = None::<(Header, Option<Partners>, PathBuf)>;
    let mut promised = None;
    let mut sources = Vec::new();
    let mut common = None::<Vec<Bytes>>;
    for (path, statistic) in files {
        let file = NcFile::open(&path)?;
        let Description { header: found, partners, statistic: held, statistics, lengths, values } = describe(&file)?;
        if statistic.is_some_and(|statistic| statistic != held) && !matches!(values, Values::Delays { .. }) {
            return Err(file.unusable(format!("holds the {held}, which its name does not say: give it its name back")));
        }
        match &header {
            Some((header, table, first)) => {
                same_run(&found, &path, header, first)?;
                if partners != *table {
                    return Err(file.unusable(format!("has other pairs than `{}`", first.display())));
                }
            }
            None => header = Some((found, partners, path)),
        }
        promised = promised.or(statistics);
        let records = lengths.len();
        common = Some(match common {
            Some(common) if common.len() <= records => common,
            _ => lengths,
        });
        sources.push(Source { file, statistic: held, values, records });
    }
    let Some((header, partners, first)) = header else {
        return Err(StoreError::NotFound { path: path.to_owned() });
    };
    let mut set = ResultSet {
        header,
        lengths: common.unwrap_or_default(),
        statistics: Vec::new(),
        partners,
        notices: Vec::new(),
        promised,
        sources,
        prefix,
    };
    set.find_hosts(&first);
    set.list_statistics();
    set.note_unfinished();
    Ok(set)
}

fn describe(file: &NcFile) -> Result<Description, StoreError> {
    match file.attribute(FORMAT) {
        Some(_) => description::describe(file),
        // Its axes are not network_tests2's, and its lengths do not follow from begin and step.
        None if file.has(LENGTH) || file.attribute(ORIENTATION).is_some() => Err(file.unusable(format!(
            "has the variables of network_test, but the attribute `{FORMAT}` is lost, so that nobody knows what its axes \
             are; if nothing else was changed, put it back: ncatted -a {FORMAT},global,c,c,{FORMAT_NAME}{FORMAT_VERSION}"
        ))),
        None => legacy::describe(file),
    }
}

/// Complains when two files of a set are not of one run.
fn same_run(found: &Header, path: &Path, expected: &Header, first: &Path) -> Result<(), StoreError> {
    let mut differs = difference(found, expected);
    if differs.is_none() && found.provenance != expected.provenance {
        let entries = found.provenance.entries().into_iter().zip(expected.provenance.entries());
        differs = entries
            .into_iter()
            .find(|((_, own), (_, other))| own != other)
            .map(|((name, own), (_, other))| (name.to_owned(), shown(own).into_owned(), shown(other).into_owned()));
    }
    match differs {
        None => Ok(()),
        Some((item, stored, expected)) => Err(StoreError::Differs {
            path: path.to_owned(),
            item,
            stored,
            expected: format!("{expected}`, as in `{}", first.display()),
        }),
    }
}

fn locate(path: &Path) -> Result<Located, StoreError> {
    let set = |prefix: &Path| -> Vec<_> {
        let files = Statistic::all().map(|statistic| (file_of(prefix, statistic), Some(statistic)));
        files.filter(|(file, _)| file.exists()).collect()
    };
    let delays = |prefix: &Path| Some(extended(prefix, DELAYS)).filter(|file| file.is_file());
    let named = prefix_of(path);
    if let Some(prefix) = &named
        && delays(prefix).as_deref() == Some(path)
    {
        return Ok(Located { prefix: prefix.clone(), files: vec![(path.to_owned(), None)] });
    }
    if named.is_none() && path.is_file() {
        let prefix = path.with_extension("");
        return Ok(Located { prefix, files: vec![(path.to_owned(), None)] });
    }
    for prefix in [Some(path.to_owned()), named].into_iter().flatten() {
        let mut files = set(&prefix);
        if files.is_empty() {
            files.extend(delays(&prefix).map(|file| (file, None)));
        }
        if !files.is_empty() {
            return Ok(Located { prefix, files });
        }
    }
    if path.is_dir() {
        return Err(StoreError::PrefixIsFolder { prefix: path.to_owned() });
    }
    Err(StoreError::NotFound { path: path.to_owned() })
}

impl ResultSet {
    /// What is wrong with the files, in words, apart from what makes them unusable: lengths that are not finished,
    /// files that are missing, files that are ahead of others.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether network_test made the files, and not network_tests2.
    pub fn is_ours(&self) -> bool {
        self.promised.is_some()
    }

    /// The statistics that the set should have; `None` for network_tests2's, which do not tell.
    pub(super) fn promised(&self) -> Option<&[Statistic]> {
        self.promised.as_deref()
    }

    /// Finished lengths of every file, by path. The set has as many as the shortest.
    pub fn files(&self) -> impl Iterator<Item = (&Path, usize)> {
        self.sources.iter().map(|source| (source.file.path.as_path(), source.records))
    }

    /// Replaces the hosts of network_tests2's runs, which stand in a file of their own.
    fn find_hosts(&mut self, first: &Path) {
        let path = extended(&self.prefix, HOSTS);
        if self.is_ours() {
            let known = "the hosts are known from the other files";
            if !path.exists() && prefix_of(first).is_some() {
                self.notices.push(format!("`{}` is missing; {known}", path.display()));
            } else if path.exists() {
                match legacy::hosts(&path, self.header.hosts.ranks()) {
                    Ok(hosts) if hosts == self.header.hosts => {}
                    Ok(_) => self.notices.push(format!("`{}` names other hosts; {known}", path.display())),
                    Err(why) => self.notices.push(format!("{why}; {known}")),
                }
            }
            return;
        }
        match legacy::hosts(&path, self.header.hosts.ranks()) {
            Ok(hosts) => self.header.hosts = hosts,
            Err(why) => self.notices.push(format!("the hosts are not known, every rank stands for one: {why}")),
        }
    }

    fn list_statistics(&mut self) {
        let delays = self.sources.iter().any(|source| matches!(source.values, Values::Delays { .. }));
        let has = |statistic| {
            delays && !Statistic::OPTIONAL.contains(&statistic)
                || self.sources.iter().any(|source| source.statistic == statistic)
        };
        self.statistics = listed(&Statistic::all().filter(|statistic| has(*statistic)).collect::<Vec<_>>());
        let promised = self.promised.iter().flatten();
        for &statistic in promised.filter(|statistic| !self.statistics.contains(statistic)) {
            let path = file_of(&self.prefix, statistic);
            self.notices.push(format!("`{}` is missing: the {statistic} cannot be read", path.display()));
        }
    }

    fn note_unfinished(&mut self) {
        self.notices.extend(self.sources.iter().filter_map(|source| source.file.cut().cloned()));
        let shared = self.lengths.len();
        for source in self.sources.iter().filter(|source| source.records > shared) {
            self.notices.push(format!(
                "`{}` has {} finished lengths, of which other files of the set have {shared}",
                source.file.path.display(),
                source.records
            ));
        }
        if shared < self.header.planned.len() {
            let promise = if self.is_ours() { "planned" } else { "announced by network_tests2, which may be wrong" };
            self.notices.push(format!(
                "unfinished: {shared} message lengths of {} that were {promise}",
                self.header.planned.len()
            ));
        }
    }

    fn source(&self, statistic: Statistic) -> Result<&Source, StoreError> {
        let holds = |source: &&Source| source.statistic == statistic || matches!(source.values, Values::Delays { .. });
        self.sources
            .iter()
            .find(holds)
            .ok_or_else(|| StoreError::NoStatistic { path: file_of(&self.prefix, statistic), statistic })
    }

    /// Gives `take` the number of every cell of these rows, of which the first is 0, and its value; says whether there
    /// are such values.
    fn read_companion(
        &self,
        companion: Companion,
        length_index: usize,
        rows: Range<usize>,
        mut take: impl FnMut(usize, &Cell),
    ) -> Result<bool, StoreError> {
        let has_it = |source: &&Source| source.file.has(companion.name());
        let Some(source) = self.sources.iter().find(has_it) else {
            return Ok(false);
        };
        let file = &source.file;
        let variable = file.variable_over(companion.name(), &field::cells(self.partners.as_ref()))?;
        let mut values = vec![f64::NAN; rows.len() * self.ranks()];
        match &self.partners {
            None => file.read(variable, length_index, rows.start * self.ranks(), &mut values)?,
            Some(partners) => {
                let blank = |cell: Cell| companion.of(&cell);
                let missing = blank(Cell::missing(State::NotScheduled));
                values::blank(&mut values, rows.clone(), missing, blank(Cell::zero()));
                values::read_partners(file, variable, partners, length_index, rows, &mut values)?;
            }
        }
        let mut cell = Cell::missing(State::Failed);
        for (place, value) in values.into_iter().enumerate() {
            companion
                .set(&mut cell, value)
                .ok_or_else(|| file.unusable(format!("has a cell with the impossible {} {value}", companion.name())))?;
            take(place, &cell);
        }
        Ok(true)
    }

    /// Rows of a matrix of which only the cells of partners are in the file.
    fn read_partners(
        &self,
        partners: &Partners,
        statistic: Statistic,
        length_index: usize,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), StoreError> {
        let file = &self.source(statistic)?.file;
        let value = |cell: Cell| statistic.in_cell(&cell);
        values::blank(values, rows.clone(), value(Cell::missing(State::NotScheduled)), value(Cell::zero()));
        values::read_partners(file, file.variable(DATA)?, partners, length_index, rows, values)
    }

    /// The pairs that were measured again at a length.
    pub(super) fn read_retests(&self, length_index: usize) -> Result<Vec<Retest>, StoreError> {
        self.check_part(length_index, &(0..0), 0)?;
        let source = self.sources.iter().find(|source| retests::are_in(&source.file));
        source.map_or(Ok(Vec::new()), |source| retests::read(&source.file, length_index, self.ranks()))
    }

    /// The samples of these pairs alone, where they were kept.
    fn read_retest_samples(&self, length_index: usize) -> Result<Vec<Vec<f64>>, StoreError> {
        self.check_part(length_index, &(0..0), 0)?;
        let source = self.sources.iter().find(|source| retests::samples_are_in(&source.file));
        source.map_or(Ok(Vec::new()), |source| retests::read_samples(&source.file, length_index))
    }

    fn check_part(&self, length_index: usize, rows: &Range<usize>, cells: usize) -> Result<(), StoreError> {
        let inside = length_index < self.lengths.len() && rows.end <= self.ranks();
        if inside && rows.len() * self.ranks() == cells {
            return Ok(());
        }
        Err(StoreError::Turn(format!(
            "{cells} cells of rows {rows:?} at length {length_index} were asked for, but there are {} lengths of {} rows",
            self.lengths.len(),
            self.ranks()
        )))
    }
}

impl Run for ResultSet {
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
        self.check_part(length_index, &rows, values.len())?;
        if let Some(partners) = &self.partners {
            return Ok(self.read_partners(partners, statistic, length_index, rows, values)?);
        }
        let source = self.source(statistic)?;
        Ok(values::read_rows(&source.file, source.values, statistic, length_index, rows, values)?)
    }

    fn read_states(&self, length_index: usize, rows: Range<usize>, states: &mut [State]) -> Result<(), BoxError> {
        self.check_part(length_index, &rows, states.len())?;
        let take = |place: usize, cell: &Cell| states[place] = cell.state;
        match self.read_companion(Companion::State, length_index, rows.clone(), take)? {
            true => Ok(()),
            false => states_of_values(self, length_index, rows, states),
        }
    }

    fn retests(&self, length_index: usize) -> Result<Vec<Retest>, BoxError> {
        Ok(self.read_retests(length_index)?)
    }

    fn retest_samples(&self, length_index: usize) -> Result<Vec<Vec<f64>>, BoxError> {
        Ok(self.read_retest_samples(length_index)?)
    }

    fn moments(&self, length_index: usize) -> Result<Option<Moments>, BoxError> {
        let found = self.sources.iter().map(|source| moments::read(&source.file, length_index));
        Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().next())
    }

    fn drift(&self) -> Result<Option<f64>, BoxError> {
        let found = self.sources.iter().map(|source| moments::read_drift(&source.file));
        Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().next())
    }

    fn read_further(&self, length_index: usize, rows: Range<usize>, cells: &mut [Cell]) -> Result<(), BoxError> {
        self.check_part(length_index, &rows, cells.len())?;
        for companion in Companion::of_run(&self.header).filter(|companion| *companion != Companion::State) {
            self.read_companion(companion, length_index, rows.clone(), |place, found| {
                companion.set(&mut cells[place], companion.of(found));
            })?;
        }
        Ok(())
    }
}

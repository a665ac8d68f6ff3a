//! Writes a result set while it is measured.
//!
//! In: a header, then rows of cells, through [`record::Sink`](crate::record::Sink). Out: the files. Nothing is held
//! but the rows at hand.
//!
//! The netcdf crate makes the files ([`super::definition`]); the matrices are appended to them here, at the places that
//! their headers tell ([`super::classic`]). The library would write every record twice, first filled with "nothing"
//! and then with its values, and its number of records with the next flush; here the number is raised when the
//! record is complete and not before, so that a reader never meets an unfinished length, however the writer ended.

use std::{
    fs::{File, OpenOptions},
    io::BufReader,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    StoreError,
    classic::{Layout, Place},
    companion::Companion,
    moments,
    part::Part,
    retests::{self, Field, Table},
    schema::{DATA, LENGTH},
};
use crate::{
    plan::Partners,
    record::{BoxError, Cell, Header, Moments, Retest, Sink, Statistic},
    units::Bytes,
};

/// A finished length is with the system at once, and safe from the end of the job. To be safe from a crash of the
/// machine as well it has to reach the disk, for which the ranks would wait: this often at most.
const TO_DISK_EVERY: Duration = Duration::from_secs(5);

/// Cells that are turned into bytes for one file after the other: few enough to stay in the cache meanwhile, and enough
/// for the system to take them in its stride.
const CELLS_AT_A_TIME: usize = 8192;

/// Bytes of a value.
const SIZE: usize = size_of::<f64>();

/// What is wrong with a file that was found whole, but is not as [`super::definition`] makes it.
const ANOTHER_SHAPE: &str = "is a copy of another shape than network_test gives its files: resume the original, or start \
                             anew with --force";

/// The files of a set in writing. Dropping it early leaves files that hold the finished lengths.
#[derive(Debug)]
pub struct SetWriter {
    planned: Vec<Bytes>,
    ranks: usize,
    /// Rows of a matrix: as many as ranks, or as a rank has partners where most pairs are left out.
    lines: usize,
    outputs: Vec<Output>,
    /// Number of the length that is being written.
    length_index: usize,
    /// First row of it that has not come yet.
    next_row: usize,
    /// Where the plan has retests.
    retests: Option<Retests>,
    /// When the length that is being written was measured.
    moments: Option<Moments>,
    /// Finished rounds of a length that is not finished.
    part: Part,
    to_disk: Instant,
}

/// Where the retests of a length go, and those of the length that is being written.
#[derive(Debug)]
struct Retests {
    table: Table,
    /// Number of the output that has their variables.
    output: usize,
    variables: Vec<(Field, Place)>,
    /// How many there can be.
    places: usize,
    waiting: Vec<Retest>,
    /// Where their samples go, and how many of each there can be.
    samples: Option<(Place, usize)>,
    /// `[retest][sample]`.
    waiting_samples: Vec<Vec<f64>>,
}

/// One file.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: File,
    statistic: Statistic,
    cdf5: bool,
    record_size: u64,
    data: Place,
    length: Place,
    /// What stands next to the values.
    companions: Vec<(Companion, Place)>,
    /// Where beginning and end of a length go; empty in all files but one.
    moments: Vec<Place>,
    /// Where the drift of the run goes, in the same file.
    drift: Option<Place>,
    /// The bytes of the cells at hand.
    buffer: Vec<u8>,
}

/// A file that is made already, and where it will be found.
pub(super) struct Made {
    /// Where the file is now.
    pub(super) staged: PathBuf,
    /// Where it will be, and what errors call it.
    pub(super) path: PathBuf,
    /// What it holds.
    pub(super) statistic: Statistic,
}

impl SetWriter {
    /// Opens files that are made already, to write the length with number `first` next. `table` is there where the
    /// plan has retests.
    pub(super) fn open(
        made: &[Made],
        header: &Header,
        partners: Option<&Partners>,
        first: usize,
        table: Option<Table>,
        part: Part,
    ) -> Result<Self, StoreError> {
        let lines = partners.map_or(header.hosts.ranks(), Partners::lines);
        let outputs: Result<_, _> = made.iter().map(|made| Output::open(made, header, lines, first)).collect();
        Ok(Self {
            retests: table.map(|table| Retests::open(table, made, header)).transpose()?,
            moments: None,
            part,
            planned: header.planned.clone(),
            ranks: header.hosts.ranks(),
            lines,
            outputs: outputs?,
            length_index: first,
            next_row: 0,
            to_disk: Instant::now(),
        })
    }

    fn check_turn(&self, length_index: usize, first_row: usize, cells: usize) -> Result<(), StoreError> {
        let rows = cells / self.ranks;
        let in_turn = (length_index, first_row) == (self.length_index, self.next_row);
        let fitting = cells.is_multiple_of(self.ranks) && self.next_row + rows <= self.lines;
        if in_turn && fitting && length_index < self.planned.len() {
            return Ok(());
        }
        Err(StoreError::Turn(format!(
            "{cells} cells came for length {length_index} from row {first_row} on, but length {} of {} was at row {} of {}",
            self.length_index,
            self.planned.len(),
            self.next_row,
            self.lines
        )))
    }

    fn append(&mut self, length_index: usize, first_row: usize, rows: &[Cell]) -> Result<(), StoreError> {
        self.check_turn(length_index, first_row, rows.len())?;
        for (number, cells) in rows.chunks(CELLS_AT_A_TIME).enumerate() {
            let first = first_row * self.ranks + number * CELLS_AT_A_TIME;
            self.outputs.iter_mut().try_for_each(|output| output.write(length_index, first, cells))?;
        }
        self.next_row += rows.len() / self.ranks;
        Ok(())
    }

    /// Keeps the retests of the length at hand until it is finished.
    fn keep_retests(&mut self, length_index: usize, retests: &[Retest]) -> Result<(), StoreError> {
        if retests.is_empty() {
            return Ok(());
        }
        let (waiting, places) = self.retests.as_ref().map_or((0, 0), |kept| (kept.waiting.len(), kept.places));
        let known = retests.iter().all(|retest| retest.source.max(retest.destination) < self.ranks);
        if length_index != self.length_index || waiting + retests.len() > places || !known {
            return Err(StoreError::Turn(format!(
                "{} retests came for length {length_index}, but length {} of {} ranks is due and has places for {}",
                retests.len(),
                self.length_index,
                self.ranks,
                places - waiting
            )));
        }
        if let Some(kept) = &mut self.retests {
            kept.waiting.extend_from_slice(retests);
        }
        Ok(())
    }

    /// Keeps the samples of the retests of the length at hand until it is finished.
    fn keep_retest_samples(&mut self, length_index: usize, samples: &[Vec<f64>]) -> Result<(), StoreError> {
        if samples.is_empty() {
            return Ok(());
        }
        let kept = self.retests.as_mut().filter(|kept| length_index == self.length_index && kept.fits(samples));
        let Some(kept) = kept else {
            return Err(StoreError::Turn(format!(
                "samples of {} retests came for length {length_index}, of more or longer ones than there are places",
                samples.len()
            )));
        };
        kept.waiting_samples.extend_from_slice(samples);
        Ok(())
    }

    fn write_kept_retests(&mut self, length_index: usize) -> Result<(), StoreError> {
        let Some(kept) = &mut self.retests else {
            return Ok(());
        };
        let Retests { table, output, variables, places, waiting, samples, waiting_samples } = kept;
        for (field, place) in variables {
            let mut bytes = Vec::new();
            field.encode(waiting, *places, &mut bytes);
            self.outputs[*output].put(place, length_index, 0, &bytes)?;
        }
        if let Some((place, most)) = samples {
            let bytes = retests::encode_samples(waiting_samples, *places, *most);
            self.outputs[*output].put(place, length_index, 0, &bytes)?;
            waiting_samples.clear();
        }
        table.append(self.planned[length_index], waiting)?;
        waiting.clear();
        Ok(())
    }

    fn finish(&mut self, length_index: usize) -> Result<(), StoreError> {
        if (length_index, self.next_row) != (self.length_index, self.lines) {
            return Err(StoreError::Turn(format!(
                "length {length_index} cannot be finished: length {} is at row {} of {}",
                self.length_index, self.next_row, self.lines
            )));
        }
        self.write_kept_retests(length_index)?;
        let moments = self.moments.take().unwrap_or(Moments { begin: f64::NAN, end: f64::NAN });
        for output in &self.outputs {
            for (place, value) in output.moments.iter().zip([moments.begin, moments.end]) {
                output.put(place, length_index, 0, &value.to_be_bytes())?;
            }
        }
        let length = self.planned[length_index].0;
        for output in &self.outputs {
            let bytes =
                if output.cdf5 { length.to_be_bytes().to_vec() } else { (length as u32).to_be_bytes().to_vec() };
            output.put(&output.length, length_index, 0, &bytes)?;
        }
        let to_disk = self.to_disk.elapsed() >= TO_DISK_EVERY;
        if to_disk {
            self.sync()?;
        }
        for output in &self.outputs {
            output.set_records(length_index + 1)?;
        }
        if to_disk {
            self.sync()?;
            self.to_disk = Instant::now();
        }
        self.part.finish()?;
        self.length_index += 1;
        self.next_row = 0;
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.outputs
            .iter()
            .try_for_each(|output| output.file.sync_data().map_err(StoreError::io("write", &output.path)))?;
        self.retests.as_ref().map_or(Ok(()), |retests| retests.table.sync())
    }
}

impl Retests {
    /// Finds the variables in the files that are made.
    fn open(table: Table, made: &[Made], header: &Header) -> Result<Self, StoreError> {
        let statistics: Vec<_> = made.iter().map(|made| made.statistic).collect();
        let beside = Companion::beside(&statistics);
        let output = statistics.iter().position(|statistic| Some(*statistic) == beside).unwrap_or(0);
        let (_, layout) = made[output].open()?;
        let place = |field: Field| Ok((field, needed(&layout, field.name(), &made[output].path)?));
        let variables: Result<_, StoreError> = Field::ALL.into_iter().map(place).collect();
        let most = retests::samples(header);
        let samples = match most {
            0 => None,
            _ => Some((needed(&layout, retests::SAMPLES, &made[output].path)?, most)),
        };
        Ok(Self {
            table,
            output,
            variables: variables?,
            places: retests::places(header),
            waiting: Vec::new(),
            samples,
            waiting_samples: Vec::new(),
        })
    }

    /// Whether there are places for the samples of so many retests more, and no more retests of them than there are.
    fn fits(&self, samples: &[Vec<f64>]) -> bool {
        let most = self.samples.as_ref().map_or(0, |(_, most)| *most);
        self.waiting_samples.len() + samples.len() <= self.waiting.len() && samples.iter().all(|one| one.len() <= most)
    }
}

impl Made {
    /// Opens the file to write, and reads where its variables lie.
    fn open(&self) -> Result<(File, Layout), StoreError> {
        let open = || OpenOptions::new().read(true).write(true).open(&self.staged);
        let file = open().map_err(StoreError::io("write", &self.path))?;
        let layout = Layout::read(BufReader::new(&file));
        let layout = layout.map_err(|_| StoreError::unusable(&self.path, ANOTHER_SHAPE))?;
        Ok((file, layout))
    }
}

/// The place of a variable that must be there.
fn needed(layout: &Layout, name: &str, path: &Path) -> Result<Place, StoreError> {
    let missing = || StoreError::unusable(path, format!("has no variable `{name}`"));
    layout.place(name).cloned().ok_or_else(missing)
}

impl Output {
    fn open(made: &Made, header: &Header, lines: usize, first: usize) -> Result<Self, StoreError> {
        let Made { path, statistic, .. } = made;
        let (file, layout) = made.open()?;
        let companions = Companion::of_run(header);
        let beside = |companion: Companion| Some((companion, layout.place(companion.name())?.clone()));
        let output = Self {
            path: path.clone(),
            statistic: *statistic,
            cdf5: layout.cdf5,
            record_size: layout.record_size,
            data: needed(&layout, DATA, path)?,
            length: needed(&layout, LENGTH, path)?,
            companions: companions.filter_map(beside).collect(),
            moments: [moments::BEGIN, moments::END].iter().filter_map(|name| layout.place(name).cloned()).collect(),
            drift: layout.place(moments::DRIFT).cloned(),
            buffer: Vec::new(),
            file,
        };
        output.check((header.hosts.ranks() * lines) as u64)?;
        if layout.records != Some(first as u64) {
            output.set_records(first)?;
        }
        Ok(output)
    }

    /// Refuses a file that another program copied into another shape: writing would damage it.
    fn check(&self, cells: u64) -> Result<(), StoreError> {
        let is_as_made = self.data.has_doubles()
            && self.data.has_records_of(cells * SIZE as u64)
            && self.length.has_records_of(if self.cdf5 { 8 } else { 4 })
            && self.moments.iter().all(|place| place.has_doubles() && place.has_records_of(SIZE as u64))
            && self.companions.iter().all(|(companion, place)| place.has_records_of(cells * companion.size()));
        if is_as_made {
            return Ok(());
        }
        Err(StoreError::unusable(&self.path, ANOTHER_SHAPE))
    }

    /// Writes cells, of which the first has the number `first`, into a record.
    fn write(&mut self, record: usize, first: usize, cells: &[Cell]) -> Result<(), StoreError> {
        encode(self.statistic, cells, &mut self.buffer);
        self.put(&self.data, record, (first * SIZE) as u64, &self.buffer)?;
        for (companion, place) in &self.companions {
            self.buffer.clear();
            companion.encode(cells, &mut self.buffer);
            self.put(place, record, first as u64 * companion.size(), &self.buffer)?;
        }
        Ok(())
    }

    /// Writes `bytes` into a record, `offset` bytes behind the beginning of a variable.
    fn put(&self, place: &Place, record: usize, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let at = place.begin + record as u64 * self.record_size + offset;
        self.file.write_all_at(bytes, at).map_err(StoreError::io("write", &self.path))
    }

    /// Tells readers how many records there are.
    fn set_records(&self, records: usize) -> Result<(), StoreError> {
        let bytes =
            if self.cdf5 { (records as u64).to_be_bytes().to_vec() } else { (records as u32).to_be_bytes().to_vec() };
        self.file.write_all_at(&bytes, b"CDF_".len() as u64).map_err(StoreError::io("write", &self.path))
    }
}

/// The values of one statistic as they stand in a file. Which statistic it is, is decided once, not for every cell.
fn encode(statistic: Statistic, cells: &[Cell], bytes: &mut Vec<u8>) {
    fn with(cells: &[Cell], bytes: &mut Vec<u8>, value: impl Fn(&Cell) -> f64) {
        bytes.resize(cells.len() * SIZE, 0);
        let places = bytes.as_chunks_mut().0.iter_mut();
        places.zip(cells).for_each(|(bytes, cell)| *bytes = value(cell).to_be_bytes());
    }
    match statistic {
        Statistic::Min => with(cells, bytes, |cell| cell.summary.min),
        Statistic::Average => with(cells, bytes, |cell| cell.summary.average),
        Statistic::Median => with(cells, bytes, |cell| cell.summary.median),
        Statistic::Max => with(cells, bytes, |cell| cell.summary.max),
        Statistic::Deviation => with(cells, bytes, |cell| cell.summary.deviation),
        Statistic::MeasurementsAmount => with(cells, bytes, |cell| f64::from(cell.samples)),
        Statistic::P90 => with(cells, bytes, |cell| cell.extra.p90),
        Statistic::P99 => with(cells, bytes, |cell| cell.extra.p99),
        Statistic::First => with(cells, bytes, |cell| cell.extra.first),
    }
}

impl Sink for SetWriter {
    fn write_rows(&mut self, length_index: usize, first_row: usize, rows: &[Cell]) -> Result<(), BoxError> {
        Ok(self.append(length_index, first_row, rows)?)
    }

    fn write_retests(&mut self, length_index: usize, retests: &[Retest]) -> Result<(), BoxError> {
        Ok(self.keep_retests(length_index, retests)?)
    }

    fn write_retest_samples(&mut self, length_index: usize, samples: &[Vec<f64>]) -> Result<(), BoxError> {
        Ok(self.keep_retest_samples(length_index, samples)?)
    }

    fn write_moments(&mut self, _length_index: usize, moments: Moments) -> Result<(), BoxError> {
        self.moments = Some(moments);
        Ok(())
    }

    fn write_drift(&mut self, ratio: f64) -> Result<(), BoxError> {
        for output in &self.outputs {
            if let Some(place) = output.drift.as_ref().filter(|place| place.is_one_double()) {
                output.put(place, 0, 0, &ratio.to_be_bytes())?;
            }
        }
        Ok(())
    }

    fn kept_rounds(&self, length_index: usize) -> usize {
        self.part.rounds(length_index)
    }

    fn read_kept(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), BoxError> {
        Ok(self.part.read(each)?)
    }

    fn keep(&mut self, length_index: usize, piece: &[u8]) -> Result<(), BoxError> {
        Ok(self.part.add(length_index, piece)?)
    }

    fn seal_kept(&mut self, length_index: usize, rounds: usize) -> Result<(), BoxError> {
        Ok(self.part.seal(length_index, rounds)?)
    }

    fn finish_length(&mut self, length_index: usize) -> Result<(), BoxError> {
        Ok(self.finish(length_index)?)
    }

    fn close(&mut self) -> Result<(), BoxError> {
        Ok(self.sync()?)
    }
}

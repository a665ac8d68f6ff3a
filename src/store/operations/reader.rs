//! Reads a file of operations, and checks what makes a damaged file a clear error.

use std::path::Path;

use super::layout::*;
use crate::{
    plan::operation::Operation,
    record::{
        Statistic,
        operations::{Measured, Operations, Probe, ProbeKind, ProgramRun},
    },
    stats::Summary,
    store::{
        description::{checked_hosts, provenance},
        error::StoreError,
        file::NcFile,
        schema::{FORMAT, HOST, LENGTH, N, PLAN_ITEMS, X},
    },
    units::{Bytes, Rank},
};

/// Reads a file of operations.
pub fn read_operations(path: &Path) -> Result<Operations, StoreError> {
    let file = NcFile::open(path)?;
    let format = file.text(FORMAT)?.unwrap_or_default();
    match format.strip_prefix(FORMAT_NAME) {
        Some(FORMAT_VERSION) => {}
        Some(_) => {
            return Err(file.unusable(format!(
                "has the format `{format}`, which is newer than this program: use a newer network_analyze"
            )));
        }
        None => return Err(file.unusable("is NetCDF, but holds no operations of `network_test --operations`")),
    }
    let reader = Reader { file: &file };
    let ranks = file.ranks(X)?;
    let hosts = checked_hosts(&file, file.texts(HOST)?, ranks)?;
    let operations: Result<Vec<Operation>, _> = reader.texts(OPERATION)?.iter().map(|name| name.parse()).collect();
    let operations =
        operations.map_err(|error| file.unusable(format!("has an operation of another program: {error}")))?;
    let lengths: Vec<Bytes> = reader.counts(LENGTH, &[N])?.into_iter().map(Bytes).collect();
    let members = reader.members(ranks)?;
    if !lengths.is_sorted_by(|a, b| a < b) || !members.is_sorted_by(|a, b| a.len() < b.len()) {
        return Err(file.unusable("has lengths, or numbers of processes, that do not ascend"));
    }
    let names = file.text(PLAN_ITEMS)?.unwrap_or_default();
    let plan = names.split_whitespace().map(|name| {
        let value = file.text(name)?;
        let value = value.ok_or_else(|| file.unusable(format!("lacks the attribute `{name}` of its plan")))?;
        Ok((name.to_owned(), value))
    });
    let plan = plan.collect::<Result<_, StoreError>>()?;
    let product =
        |numbers: [usize; 3]| numbers.into_iter().fold(1, |product: u64, number| product.saturating_mul(number as u64));
    let largest = members.last().map_or(0, Vec::len);
    for third in [members.len(), largest] {
        reader.few("time", product([operations.len(), lengths.len(), third]))?;
    }
    let mut run = Operations::new(hosts, operations, members, lengths, plan, provenance(&file)?);
    run.complete = file.text(COMPLETE)?.as_deref() == Some("true");
    reader.measured(&mut run)?;
    run.probes = reader.probes(&run, ranks)?;
    run.programs = reader.programs(ranks)?;
    Ok(run)
}

struct Reader<'f> {
    file: &'f NcFile,
}

impl Reader<'_> {
    /// The texts of a variable; none where it is not there.
    fn texts(&self, name: &str) -> Result<Vec<String>, StoreError> {
        if self.file.has(name) { self.file.texts(name) } else { Ok(Vec::new()) }
    }

    /// All values of a variable over these dimensions, how many there are besides; none where it is not there.
    fn doubles(&self, name: &str, dimensions: &[&str]) -> Result<Vec<f64>, StoreError> {
        if !self.file.has(name) {
            return Ok(Vec::new());
        }
        let place = self.file.variable_over(name, dimensions)?;
        let lengths = dimensions.iter().map(|name| self.file.dimension(name));
        let count = lengths.into_iter().try_fold(1u64, |count, length| Ok(count.saturating_mul(length? as u64)))?;
        let mut values = vec![f64::NAN; self.few(name, count)?];
        self.file.read(place, 0, 0, &mut values)?;
        Ok(values)
    }

    fn few(&self, name: &str, count: u64) -> Result<usize, StoreError> {
        match usize::try_from(count) {
            Ok(few) if count <= MOST_VALUES => Ok(few),
            _ => Err(self.file.unusable(format!("announces {count} values of `{name}`, more than any run has"))),
        }
    }

    /// As [`Reader::doubles`], for what counts.
    fn counts(&self, name: &str, dimensions: &[&str]) -> Result<Vec<u64>, StoreError> {
        if !self.file.has(name) {
            return Ok(Vec::new());
        }
        let place = self.file.variable_over(name, dimensions)?;
        let count = |value: i64| {
            u64::try_from(value).map_err(|_| self.file.unusable(format!("has a negative number in `{name}`")))
        };
        self.file.integers(place)?.into_iter().map(count).collect()
    }

    fn members(&self, ranks: usize) -> Result<Vec<Vec<Rank>>, StoreError> {
        let numbers = self.counts(PROCS, &[PROCS])?;
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.file.integers(self.file.variable_over("member", &[PROCS, PROCESS])?)?;
        let largest = self.file.dimension(PROCESS)?.max(1);
        if numbers.last() != Some(&(largest as u64)) {
            return Err(self.file.unusable("contradicts itself: its `process` is not its largest number of processes"));
        }
        let members = numbers.iter().zip(all.chunks(largest)).map(|(procs, members)| {
            let members = members.iter().map(|rank| usize::try_from(*rank).ok().filter(|rank| *rank < ranks));
            let members: Vec<Rank> = members.map_while(|rank| rank).collect();
            if members.len() as u64 == *procs { Some(members) } else { None }
        });
        let members: Option<Vec<_>> = members.collect();
        members.ok_or_else(|| self.file.unusable("is damaged: it does not say which ranks its processes are"))
    }

    fn measured(&self, run: &mut Operations) -> Result<(), StoreError> {
        let place = [OPERATION, PROCS, N];
        let times = self.doubles("time", &[OPERATION, PROCS, N, STATISTIC])?;
        let (skews, damaged) = (self.doubles("skew", &place)?, self.counts("damaged", &place)?);
        let own = self.doubles("own", &[OPERATION, N, PROCESS])?;
        let (operations, procs, lengths) = (run.operations.len(), run.procs.len(), run.lengths.len());
        let count = operations * procs * lengths;
        if count == 0 {
            return Ok(());
        }
        let statistics = self.statistics()?;
        if times.len() != count * statistics || skews.len() != count || damaged.len() != count {
            return Err(self.file.unusable("is damaged: it lacks times of its operations"));
        }
        for cell in 0..count {
            let (operation, procs, length) = (cell / lengths / procs, cell / lengths % procs, cell % lengths);
            let mut measured = measured(&times[cell * statistics..][..statistics]);
            (measured.skew, measured.damaged) = (skews[cell], clamped(damaged[cell]));
            *run.measured_mut(operation, procs, length) = measured;
        }
        let largest = run.largest();
        if own.len() != operations * lengths * largest {
            return Err(self.file.unusable("is damaged: it lacks times of its processes"));
        }
        for (number, own) in own.chunks(largest).enumerate() {
            run.own_mut(number / lengths, number % lengths).copy_from_slice(own);
        }
        Ok(())
    }

    /// The number of statistics, which have to be those of this program in their order.
    fn statistics(&self) -> Result<usize, StoreError> {
        let found = self.texts(STATISTIC)?;
        if found.iter().map(String::as_str).eq(STATISTICS.map(Statistic::name)) {
            return Ok(STATISTICS.len());
        }
        Err(self.file.unusable(format!("has other statistics than this program: {}", found.join(", "))))
    }

    fn probes(&self, run: &Operations, ranks: usize) -> Result<Vec<Probe>, StoreError> {
        let kinds = self.texts(PROBE)?;
        let column = |name: &str| self.counts(name, &[PROBE]);
        let [sources, destinations, messages] =
            [column("probe_source")?, column("probe_destination")?, column("probe_messages")?];
        let delays = self.doubles("probe_delay", &[PROBE, N])?;
        let times = self.doubles("probe_time", &[PROBE, N, STATISTIC])?;
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let (lengths, statistics) = (run.lengths.len(), self.statistics()?);
        let lacking = || self.file.unusable("is damaged: it lacks something of its probes");
        let columns = [&sources, &destinations, &messages];
        if columns.iter().any(|column| column.len() != kinds.len())
            || delays.len() != kinds.len() * lengths
            || times.len() != delays.len() * statistics
        {
            return Err(lacking());
        }
        let rank = |value: u64| usize::try_from(value).ok().filter(|rank| *rank < ranks).ok_or_else(lacking);
        let probe = |(number, kind): (usize, &String)| {
            let kind: ProbeKind =
                kind.parse().map_err(|()| self.file.unusable(format!("has a probe of another program: `{kind}`")))?;
            let times = &times[number * lengths * statistics..][..lengths * statistics];
            Ok(Probe {
                kind,
                source: rank(sources[number])?,
                destination: rank(destinations[number])?,
                messages: clamped(messages[number]),
                delays: delays[number * lengths..][..lengths].to_vec(),
                measured: times.chunks(statistics).map(measured).collect(),
            })
        };
        kinds.iter().enumerate().map(probe).collect()
    }

    fn programs(&self, ranks: usize) -> Result<Vec<ProgramRun>, StoreError> {
        let names = self.texts(PROGRAM)?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let texts = self.texts("program_text")?;
        let column = |name: &str| self.counts(name, &[PROGRAM]);
        let [procs, damaged] = [column("program_procs")?, column("program_damaged")?];
        let skews = self.doubles("program_skew", &[PROGRAM])?;
        let times = self.doubles("program_time", &[PROGRAM, STATISTIC])?;
        let own = self.doubles("program_own", &[PROGRAM, X])?;
        let (count, statistics) = (names.len(), self.statistics()?);
        let sizes = [texts.len(), procs.len(), damaged.len(), skews.len(), times.len() / statistics, own.len() / ranks];
        if sizes != [count; 6] || procs.iter().any(|procs| *procs > ranks as u64) {
            return Err(self.file.unusable("is damaged: it lacks something of its programs"));
        }
        let program = |(number, (name, text)): (usize, (String, String))| {
            let mut measured = measured(&times[number * statistics..][..statistics]);
            (measured.skew, measured.damaged) = (skews[number], clamped(damaged[number]));
            let procs = procs[number] as usize;
            ProgramRun { name, text, procs, measured, own: own[number * ranks..][..procs].to_vec() }
        };
        Ok(names.into_iter().zip(texts).enumerate().map(program).collect())
    }
}

fn clamped(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// From `[statistic]`, in the order of [`STATISTICS`].
fn measured(values: &[f64]) -> Measured {
    let samples = values[5];
    if samples.is_nan() || samples < 1.0 {
        return Measured::NOTHING;
    }
    let summary =
        Summary { min: values[0], average: values[1], median: values[2], max: values[3], deviation: values[4] };
    Measured { summary, samples: samples as u32, ..Measured::NOTHING }
}

//! What a file of ours says about its run: the inverse of [`super::definition`].

use super::{StoreError, classic::Value, field::cells, file::NcFile, schema::*};
use crate::{
    plan::{Mode, Noise, Partners},
    record::{Header, Provenance, Statistic},
    units::{Bytes, Hosts, check_host_name, counted},
};

/// A file's account of its run and of itself.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) header: Header,
    /// Whose cells are there, where most pairs were left out.
    pub(super) partners: Option<Partners>,
    /// What `data` holds.
    pub(super) statistic: Statistic,
    /// Statistics that the set has; `None` where the file does not know.
    pub(super) statistics: Option<Vec<Statistic>>,
    /// The lengths of the records, as far as they are finished.
    pub(super) lengths: Vec<Bytes>,
    /// How values are read.
    pub(super) values: Values,
}

/// How the values of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// `data[n][source][destination]`, NaN where missing.
    Ours,
    /// network_tests2's: -1 where missing. `turned`: `data[n][destination][source]`. `halved`: half of the time.
    Theirs { turned: bool, halved: bool },
    /// network_tests2's single delays: a further axis `z`.
    Delays { turned: bool },
}

/// Reads the description of a file of ours.
pub(super) fn describe(file: &NcFile) -> Result<Description, StoreError> {
    check_version(file)?;
    let ranks = file.ranks(X)?;
    let partners = partners(file, ranks)?;
    file.variable_over(DATA, &cells(partners.as_ref()))?;
    if file.dimension(Y)? != ranks || exact(file, PROC_NUM)? != ranks as u64 {
        return Err(file.unusable("contradicts itself: its dimensions `x` and `y` and its `proc_num` differ"));
    }
    let mode = Mode::from_id(file.narrow(TEST_TYPE, exact(file, TEST_TYPE)?)?);
    let mode = mode.ok_or_else(|| file.unusable("has a `test_type` that no mode has"))?;
    let statistic = Statistic::from_id(file.narrow(DATA_TYPE, exact(file, DATA_TYPE)?)?);
    let statistic = statistic.ok_or_else(|| file.unusable("has a `data_type` that no statistic has"))?;
    let [begin, end, step] = three(file, BEGIN_END_STEP)?;
    let [noise_length, noise_messages, noise_processes] = three(file, NOISE)?;
    let planned = planned(file)?;
    let mut header = Header {
        mode,
        hosts: hosts(file, ranks)?,
        begin_end_step: (Bytes(begin), Bytes(end), Bytes(step)),
        iterations: file.narrow(REPEATS, exact(file, REPEATS)?)?,
        noise: Noise {
            length: Bytes(noise_length),
            messages: file.narrow(NOISE[1], noise_messages)?,
            processes: file.narrow(NOISE[2], noise_processes)?,
        },
        planned,
        plan: Default::default(),
        provenance: provenance(file)?,
    };
    header.plan = plan(file, &header)?;
    let lengths = finished(file, &header.planned)?;
    Ok(Description { header, partners, statistic, statistics: Some(statistics(file)?), lengths, values: Values::Ours })
}

/// The table of partners, if most pairs were left out.
fn partners(file: &NcFile, ranks: usize) -> Result<Option<Partners>, StoreError> {
    if !file.has(PARTNER) {
        return Ok(None);
    }
    let numbers = file.integers(file.variable_over(PARTNER, &[K, X])?)?;
    let numbers: Vec<i32> = numbers.into_iter().map(|number| i32::try_from(number).unwrap_or(i32::MAX)).collect();
    let partners = Partners::from_numbers(ranks, &numbers);
    let nonsense = || file.unusable(format!("has a `{PARTNER}` that is no other rank"));
    partners.ok_or_else(nonsense).map(Some)
}

fn check_version(file: &NcFile) -> Result<(), StoreError> {
    let format = file.text(FORMAT)?.unwrap_or_default();
    let version = format.strip_prefix(FORMAT_NAME).and_then(|version| version.parse::<u32>().ok());
    match version {
        Some(1..=FORMAT_VERSION) => Ok(()),
        Some(_) => Err(file.unusable(format!(
            "has the format `{format}`, which is newer than this program: use the version of network_analyze that \
             belongs to the network_test that wrote it"
        ))),
        None => Err(file.foreign(&format!("its format is `{format}`"))),
    }
}

/// A scalar, or the number that it could not hold.
pub(super) fn exact(file: &NcFile, name: &str) -> Result<u64, StoreError> {
    let value = file.needed_number(name)?;
    match file.variable(name)?.attribute(EXACT) {
        Some(Value::Text(text)) => text.parse().map_err(|_| file.unusable(format!("says that `{name}` is `{text}`"))),
        _ => Ok(value),
    }
}

pub(super) fn three(file: &NcFile, names: [&str; 3]) -> Result<[u64; 3], StoreError> {
    Ok([exact(file, names[0])?, exact(file, names[1])?, exact(file, names[2])?])
}

fn hosts(file: &NcFile, ranks: usize) -> Result<Hosts, StoreError> {
    let names = match file.text(HOST_NAMES)? {
        Some(names) => names.lines().map(str::to_owned).collect(),
        None => file.texts(HOST)?,
    };
    checked_hosts(file, names, ranks)
}

/// One host for every rank, each with a name that can be shown.
pub(super) fn checked_hosts(file: &NcFile, names: Vec<String>, ranks: usize) -> Result<Hosts, StoreError> {
    if let Some(error) = names.iter().find_map(|name| check_host_name(name).err()) {
        return Err(file.unusable(format!("cannot be used: {error}")));
    }
    if names.len() != ranks {
        return Err(file.unusable(format!("names {} for {}", counted(names.len(), "host"), counted(ranks, "rank"))));
    }
    Ok(Hosts::new(names))
}

fn planned(file: &NcFile) -> Result<Vec<Bytes>, StoreError> {
    let values = match file.attribute(PLANNED) {
        None => Vec::new(),
        Some(Value::Integers(values)) => values.clone(),
        Some(_) => return Err(file.unusable(format!("has an attribute `{PLANNED}` that is no list of integers"))),
    };
    let lengths: Result<_, _> = values.into_iter().map(|value| u64::try_from(value).map(Bytes)).collect();
    lengths.map_err(|_| file.unusable(format!("has a negative length in its attribute `{PLANNED}`")))
}

pub(super) fn provenance(file: &NcFile) -> Result<Provenance, StoreError> {
    let mut failure = None;
    let provenance = Provenance::from_entries(|name| {
        file.text(name).unwrap_or_else(|error| {
            failure = Some(error);
            None
        })
    });
    failure.map_or(Ok(provenance), Err)
}

fn plan(file: &NcFile, header: &Header) -> Result<std::collections::BTreeMap<String, String>, StoreError> {
    let names = file.text(PLAN_ITEMS)?.unwrap_or_default();
    let item = |name: &str| -> Result<_, StoreError> {
        let value = match name {
            HOSTS_ITEM => Some(hosts_item(header)),
            _ => file.text(name)?,
        };
        let value = value.ok_or_else(|| file.unusable(format!("lacks the attribute `{name}` of its plan")))?;
        Ok((name.to_owned(), value))
    };
    names.split_whitespace().map(item).collect()
}

fn statistics(file: &NcFile) -> Result<Vec<Statistic>, StoreError> {
    let names = file.text(STATISTICS)?.unwrap_or_default();
    let statistics: Result<_, _> = names.split_whitespace().map(str::parse::<Statistic>).collect();
    statistics.map_err(|error| file.unusable(format!("lists an {error}")))
}

/// The lengths of the records, as long as they are those of the plan: a record that never reached the disk before its
/// machine crashed is not counted.
fn finished(file: &NcFile, planned: &[Bytes]) -> Result<Vec<Bytes>, StoreError> {
    let lengths = file.integers(file.variable_over(LENGTH, &[N])?)?;
    let same = |(length, planned): &(i64, &Bytes)| u64::try_from(*length) == Ok(planned.0);
    Ok(lengths.into_iter().zip(planned).take_while(same).map(|(_, planned)| *planned).collect())
}

//! Makes the files of a set, as yet without any matrix: dimensions, variables, attributes, scalars, hosts.

use std::path::Path;

use netcdf::{AttributeValue, FileMut, Options};

use super::{StoreError, chars, companion::Companion, retests, schema::*};
use crate::{
    plan::{Mode, Partners, Side},
    record::{Header, State, Statistic},
    units::Bytes,
};

/// Makes the file of `statistic` at `path`, replacing what is there. `statistics` is what the set will have. With
/// `partners` only the cells of these have places.
pub(super) fn define(
    path: &Path,
    header: &Header,
    partners: Option<&Partners>,
    statistic: Statistic,
    statistics: &[Statistic],
) -> Result<(), StoreError> {
    let cdf5 = needs_cdf5(header, partners.map_or(header.hosts.ranks(), Partners::lines));
    let cells = cells(partners);
    let format = if cdf5 { Options::_64BIT_DATA } else { Options::_64BIT_OFFSET };
    let work = || -> netcdf::Result<()> {
        let mut file = netcdf::create_with(path, format)?;
        let ranks = header.hosts.ranks();
        file.add_dimension(X, ranks)?;
        file.add_dimension(Y, ranks)?;
        file.add_unlimited_dimension(N)?;
        let strings = width(header, partners);
        file.add_dimension(STRINGS, strings)?;
        if let Some(partners) = partners {
            define_partners(&mut file, partners)?;
        }
        let scalars = scalars(header, statistic);
        for scalar in &scalars {
            scalar.define(&mut file)?;
        }
        define_hosts(&mut file, partners.is_none())?;
        define_data(&mut file, header, cells, statistic)?;
        let is_beside = Companion::beside(statistics) == Some(statistic);
        for companion in Companion::of_run(header).filter(|_| is_beside) {
            define_companion(&mut file, companion, cells)?;
        }
        if is_beside {
            retests::define(&mut file, retests::places(header))?;
        }
        // Last, so that a record ends with a value, not with the padding of a companion.
        define_length(&mut file, cdf5)?;
        define_attributes(&mut file, header, partners, statistic, statistics, cdf5)?;
        file.enddef()?;
        for scalar in &scalars {
            scalar.put(&mut file)?;
        }
        if let Some(mut hosts) = file.variable_mut(HOST) {
            chars::write(&mut hosts, strings, header.hosts.name_of_every_rank())?;
        }
        let labels: Vec<String> = (0..ranks).map(|rank| header.hosts.label_of(rank)).collect();
        for name in [SOURCE, DESTINATION] {
            if let Some(mut variable) = file.variable_mut(name) {
                chars::write(&mut variable, strings, labels.iter().map(String::as_str))?;
            }
        }
        if let (Some(partners), Some(mut table)) = (partners, file.variable_mut(PARTNER)) {
            table.put_values(&partners.numbers(), ..)?;
        }
        file.close()
    };
    work().map_err(StoreError::netcdf("create", path))
}

/// Dimensions of a variable with a value per cell.
pub(super) fn cells(partners: Option<&Partners>) -> [&'static str; 3] {
    if partners.is_some() { [N, K, X] } else { [N, X, Y] }
}

/// Characters of a text: network_tests2's number of them, which its programs expect. Where most pairs are left out they
/// cannot read the file anyway, and the names would take more room than the cells.
fn width(header: &Header, partners: Option<&Partners>) -> usize {
    let labels = (0..header.hosts.ranks()).map(|rank| header.hosts.label_of(rank).len());
    let longest = labels.max().unwrap_or(0);
    if partners.is_some() { longest.clamp(1, STRINGS_LEN) } else { STRINGS_LEN }
}

fn define_partners(file: &mut FileMut, partners: &Partners) -> netcdf::Result<()> {
    file.add_dimension(K, partners.lines())?;
    let mut table = file.add_variable::<i32>(PARTNER, &[K, X])?;
    table.put_attribute("long_name", "whom every rank meets")?;
    table.put_attribute("units", "1")?;
    table.put_attribute(
        "description",
        "partner[k][x]: the rank y of the cell (x, y) that data[n][k][x] holds; -1: rank x sits out, and the cell means \
         nothing. All other pairs were not scheduled: they have no cell, and a matrix data[n][x][y] has NaN there and 0 \
         at (x, x)",
    )?;
    Ok(())
}

/// Names of the variables that label cells of these dimensions.
fn coordinates(cells: [&str; 3]) -> String {
    if cells == [N, X, Y] { format!("{LENGTH} {SOURCE} {DESTINATION}") } else { format!("{LENGTH} {HOST}") }
}

/// One of network_tests2's numbers.
pub(super) struct Scalar {
    pub(super) name: &'static str,
    pub(super) value: u64,
    pub(super) unit: &'static str,
    pub(super) meaning: &'static str,
}

pub(super) fn scalars(header: &Header, statistic: Statistic) -> [Scalar; 10] {
    let (begin, end, step) = header.begin_end_step;
    let noise = &header.noise;
    let scalar = |name, value, unit, meaning| Scalar { name, value, unit, meaning };
    let count = |value: usize| value as u64;
    [
        scalar(PROC_NUM, count(header.hosts.ranks()), "1", "number of ranks"),
        scalar(TEST_TYPE, header.mode.id() as u64, "1", header.mode.name()),
        scalar(DATA_TYPE, statistic.id() as u64, "1", statistic.name()),
        scalar(BEGIN_END_STEP[0], begin.0, "byte", "first message length"),
        scalar(BEGIN_END_STEP[1], end.0, "byte", "end of the message lengths, exclusive"),
        scalar(BEGIN_END_STEP[2], step.0, "byte", "step of the message lengths; 0: the steps differ, see length"),
        scalar(NOISE[0], noise.length.0, "byte", "length of a noise message"),
        scalar(NOISE[1], u64::from(noise.messages), "1", "noise messages per exchange"),
        scalar(NOISE[2], count(noise.processes), "1", "ranks that make noise while a pair is measured"),
        scalar(REPEATS, u64::from(header.iterations), "1", "samples per cell, or the most of them"),
    ]
}

impl Scalar {
    fn define(&self, file: &mut FileMut) -> netcdf::Result<()> {
        let mut variable = file.add_variable::<i32>(self.name, &[])?;
        variable.put_attribute("long_name", self.meaning)?;
        variable.put_attribute("units", self.unit)?;
        if self.fitting() as u64 != self.value {
            variable.put_attribute(EXACT, self.value.to_string())?;
        }
        let flags: Option<(Vec<i32>, Vec<&str>)> = match self.name {
            TEST_TYPE => Some(Mode::all().map(|mode| (mode.id(), mode.name())).unzip()),
            DATA_TYPE => Some(Statistic::all().map(|statistic| (statistic.id(), statistic.name())).unzip()),
            _ => None,
        };
        if let Some((values, meanings)) = flags {
            variable.put_attribute("flag_values", AttributeValue::Ints(values))?;
            variable.put_attribute("flag_meanings", meanings.join(" "))?;
        }
        Ok(())
    }

    pub(super) fn put(&self, file: &mut FileMut) -> netcdf::Result<()> {
        match file.variable_mut(self.name) {
            Some(mut variable) => variable.put_value(self.fitting(), ()),
            None => Err(netcdf::Error::NotFound(self.name.to_owned())),
        }
    }

    /// The value, or the largest int, which is what network_tests2's programs read.
    pub(super) fn fitting(&self) -> i32 {
        i32::try_from(self.value).unwrap_or(i32::MAX)
    }
}

/// `labels`: also what rows and columns belong to, which a file of partners has not.
fn define_hosts(file: &mut FileMut, labels: bool) -> netcdf::Result<()> {
    let mut host = file.add_variable_with_type(HOST, &[X, STRINGS], &netcdf::types::NcVariableType::Char)?;
    host.put_attribute("long_name", "host of every rank")?;
    host.put_attribute("description", "host[rank]; the same for rows (x) and columns (y)")?;
    host.put_attribute("_Encoding", "utf-8")?;
    for (name, dimension, text) in
        [(SOURCE, X, "who sends, or begins: the rank of a row"), (DESTINATION, Y, "who receives: the rank of a column")]
            .into_iter()
            .filter(|_| labels)
    {
        let mut label =
            file.add_variable_with_type(name, &[dimension, STRINGS], &netcdf::types::NcVariableType::Char)?;
        label.put_attribute("long_name", text)?;
        label.put_attribute("description", "a host, or host:0 for the first rank of a host with several")?;
        label.put_attribute("_Encoding", "utf-8")?;
    }
    Ok(())
}

fn define_length(file: &mut FileMut, cdf5: bool) -> netcdf::Result<()> {
    let mut length =
        if cdf5 { file.add_variable::<i64>(LENGTH, &[N])? } else { file.add_variable::<i32>(LENGTH, &[N])? };
    length.put_attribute("long_name", "message length")?;
    length.put_attribute("units", "byte")?;
    length.put_attribute("description", "length[n]: bytes of the messages of matrix n")?;
    Ok(())
}

fn define_data(file: &mut FileMut, header: &Header, cells: [&str; 3], statistic: Statistic) -> netcdf::Result<()> {
    let (place, to) = if cells[1] == K { ("data[n][k][x]", "rank partner[k][x]") } else { ("data[n][x][y]", "rank y") };
    let mut data = file.add_variable::<f64>(DATA, &cells)?;
    data.put_attribute("long_name", format!("{}: {}", statistic.name(), header.mode.meaning()))?;
    data.put_attribute("units", statistic.unit())?;
    data.put_attribute(
        "description",
        format!("{place}: {}, from rank x to {to}, at message length length[n]; NaN: missing", statistic.meaning()),
    )?;
    data.put_attribute("_FillValue", f64::NAN)?;
    data.put_attribute("coordinates", coordinates(cells))?;
    Ok(())
}

fn define_companion(file: &mut FileMut, companion: Companion, dimensions: [&str; 3]) -> netcdf::Result<()> {
    let name = companion.name();
    let mut variable = match companion {
        Companion::State => file.add_variable::<i8>(name, &dimensions)?,
        Companion::ClockBound => file.add_variable::<f64>(name, &dimensions)?,
        Companion::Damaged => file.add_variable::<i32>(name, &dimensions)?,
    };
    variable.put_attribute("long_name", companion.meaning())?;
    variable.put_attribute("units", companion.unit())?;
    variable.put_attribute("description", format!("of the cell of data at the same place: {}", companion.meaning()))?;
    if companion == Companion::State {
        variable.put_attribute("flag_values", AttributeValue::Schars(State::all().map(State::id).collect()))?;
        variable.put_attribute("flag_meanings", State::all().map(State::name).collect::<Vec<_>>().join(" "))?;
    }
    variable.put_attribute("coordinates", coordinates(dimensions))?;
    Ok(())
}

/// Where a row and a column of this run's matrices come from, in words.
pub(super) fn orientation(header: &Header) -> String {
    let clock = match header.mode.timed_at() {
        Side::Source => "source",
        Side::Destination => "destination",
    };
    format!("row x: source, column y: destination, timed at the {clock}")
}

fn define_attributes(
    file: &mut FileMut,
    header: &Header,
    partners: Option<&Partners>,
    statistic: Statistic,
    statistics: &[Statistic],
    cdf5: bool,
) -> netcdf::Result<()> {
    let mut put = |name: &str, value: &str| file.add_attribute(name, value).map(drop);
    let version = if partners.is_some() { FORMAT_VERSION } else { WHOLE_VERSION };
    put(FORMAT, &format!("{FORMAT_NAME}{version}"))?;
    put(CONVENTIONS, CONVENTIONS_FOLLOWED)?;
    put(TITLE, &format!("{} between every two of {} MPI processes", header.mode, header.hosts.ranks()))?;
    put(MODE, header.mode.name())?;
    put(STATISTIC, statistic.name())?;
    put(STATISTICS, &statistics.iter().map(|statistic| statistic.name()).collect::<Vec<_>>().join(" "))?;
    put(ORIENTATION, &orientation(header))?;
    for (name, value) in header.plan.iter().filter(|item| item.0 != HOSTS_ITEM && item.0 != MODE) {
        put(name, value)?;
    }
    put(PLAN_ITEMS, &header.plan.keys().map(String::as_str).collect::<Vec<_>>().join(" "))?;
    for (name, value) in header.provenance.entries().into_iter().filter(|entry| !entry.1.is_empty()) {
        put(name, value)?;
    }
    if header.hosts.names().iter().any(|name| name.len() > STRINGS_LEN) {
        put(HOST_NAMES, &header.hosts.name_of_every_rank().collect::<Vec<_>>().join("\n"))?;
    }
    if !header.planned.is_empty() {
        file.add_attribute(PLANNED, lengths(&header.planned, cdf5))?;
    }
    Ok(())
}

fn lengths(lengths: &[Bytes], cdf5: bool) -> AttributeValue {
    if cdf5 {
        AttributeValue::Longlongs(lengths.iter().map(|length| length.0 as i64).collect())
    } else {
        AttributeValue::Ints(lengths.iter().map(|length| length.0 as i32).collect())
    }
}

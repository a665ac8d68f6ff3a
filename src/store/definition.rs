//! Makes the files of a set, as yet without any matrix: dimensions, variables, attributes, scalars, hosts.

use std::path::Path;

use netcdf::{AttributeValue, FileMut, Options};

use super::{
    StoreError, chars,
    classic::Kind,
    companion::Companion,
    field::{Field, cells, scalars},
    moments, retests,
    schema::*,
};
use crate::{
    plan::Partners,
    record::{Header, Statistic},
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
            file.add_dimension(K, partners.lines())?;
            Field::partner().define(&mut file, &[K, X])?;
        }
        let scalars = scalars(header, statistic);
        for scalar in &scalars {
            scalar.field(Kind::Int).define(&mut file, &[])?;
        }
        Field::host().define(&mut file, &[X, STRINGS])?;
        // What rows and columns belong to; a file of partners has no columns.
        for (name, dimension) in [(SOURCE, X), (DESTINATION, Y)].into_iter().filter(|_| partners.is_none()) {
            Field::label(name).define(&mut file, &[dimension, STRINGS])?;
        }
        Field::data(header, statistic, cells).define(&mut file, &cells)?;
        let is_beside = Companion::beside(statistics) == Some(statistic);
        for companion in Companion::of_run(header).filter(|_| is_beside) {
            Field::companion(companion, companion.kind(), Some(cells)).define(&mut file, &cells)?;
        }
        if is_beside {
            retests::define(&mut file, retests::places(header), retests::samples(header))?;
            moments::define(&mut file)?;
        }
        // Last, so that a record ends with a value, not with the padding of a companion.
        let kind = if cdf5 { Kind::Int64 } else { Kind::Int };
        Field::length(kind, "length[n]: bytes of the messages of matrix n").define(&mut file, &[N])?;
        define_attributes(&mut file, header, partners, statistic, statistics, cdf5)?;
        file.enddef()?;
        for scalar in &scalars {
            if let Some(mut variable) = file.variable_mut(scalar.name) {
                variable.put_value(scalar.fitting(), ())?;
            }
        }
        moments::begin(&mut file)?;
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

/// Characters of a text: network_tests2's number of them, which its programs expect. Where most pairs are left out they
/// cannot read the file anyway, and the names would take more room than the cells.
fn width(header: &Header, partners: Option<&Partners>) -> usize {
    let labels = (0..header.hosts.ranks()).map(|rank| header.hosts.label_of(rank).len());
    let longest = labels.max().unwrap_or(0);
    if partners.is_some() { longest.clamp(1, STRINGS_LEN) } else { STRINGS_LEN }
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

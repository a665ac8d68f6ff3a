//! Continues an unfinished set.

use std::path::Path;

use super::{
    StoreError,
    compare::difference,
    create::write_hosts,
    part::Part,
    paths::{HOSTS, RETESTS, extended, file_of},
    reader::open,
    retests::{self, Table},
    writer::{Made, SetWriter},
};
use crate::record::{Header, Run, Statistic};

/// Opens an unfinished set to go on with the same run: the writer, and the number of the first length to measure, which
/// stands behind the last one that all files share. Lengths that only some files have are written anew, and
/// so is the table of pairs that were measured again. Refuses another run, with the name of the item that differs.
pub fn resume(prefix: &Path, header: &Header) -> Result<(SetWriter, usize), StoreError> {
    let set = open(prefix)?;
    let path = file_of(prefix, Statistic::Median);
    let Some(promised) = set.promised() else {
        return Err(StoreError::unusable(&path, "was made by network_tests2, whose runs cannot be resumed"));
    };
    if let Some((item, stored, expected)) = difference(set.header(), header) {
        return Err(StoreError::Differs { path, item, stored, expected });
    }
    let made = |&statistic| {
        let path = file_of(prefix, statistic);
        Made { staged: path.clone(), path, statistic }
    };
    let made: Vec<_> = promised.iter().map(made).collect();
    if let Some(missing) = made.iter().find(|made| !made.path.exists()) {
        let what = "is missing, without which the run cannot be resumed: put it back, or start anew with --force";
        return Err(StoreError::unusable(&missing.path, what));
    }
    let first = set.lengths().len();
    let table = match retests::places(header) {
        0 => None,
        _ => {
            let finished = set.lengths().iter().enumerate();
            let finished = finished.map(|(index, length)| Ok((*length, set.read_retests(index)?)));
            Some(Table::renew(&extended(prefix, RETESTS), header, finished)?)
        }
    };
    let partners = set.partners().cloned();
    drop(set);
    let hosts = extended(prefix, HOSTS);
    if !hosts.exists() {
        write_hosts(&hosts, header)?;
    }
    Ok((SetWriter::open(&made, header, partners.as_ref(), first, table, Part::open(prefix, header)?)?, first))
}

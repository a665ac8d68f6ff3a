//! mpiGraph (Lawrence Livermore): bandwidth of every pair at one length, in a ring of all ranks that is shifted.
//!
//! Behind a header, `START mpiGraph`, stand two tables, columns separated by tabs: `Send` (row to column, timed at the
//! sender) and `Recv` (row from column, timed at the receiver), in MB/s per message of a window. The second one is
//! taken, turned round, as in this program's `one_to_one`; the first one where the text ends before it.

use std::io::BufRead;

use super::program::{Program, Table, number_behind, seconds_at};
use crate::{
    store::{error::StoreError, lines::Lines},
    units::Bytes,
};

pub(in crate::store) struct MpiGraph;

/// A table of rates, `[row][column]`.
struct Rates {
    hosts: Vec<String>,
    rates: Vec<f64>,
}

impl Program for MpiGraph {
    fn wrote(&self, beginning: &str) -> bool {
        beginning.lines().any(|line| line.starts_with("START mpiGraph"))
    }

    fn read(&self, lines: &mut Lines<&mut dyn BufRead>) -> Result<Table, StoreError> {
        let (mut program, mut bytes, mut iterations) = ("mpiGraph".to_owned(), None, 1);
        let (mut sent, mut received) = (None, None);
        while let Some(line) = lines.next()? {
            if let Some(version) = line.strip_prefix("START ") {
                program = version.trim().to_owned();
            } else if let Some(number) = number_behind(&line, &["Msg Size", "MsgSize"]) {
                bytes = Some(number);
            } else if let Some(number) = number_behind(&line, &["Iterations", "Times"]) {
                iterations = u32::try_from(number).unwrap_or(u32::MAX);
            } else if let Some(names) = line.strip_prefix("Send").filter(|rest| is_heading(rest)) {
                sent = Some(rates(names, "to", lines)?);
            } else if let Some(names) = line.strip_prefix("Recv").filter(|rest| is_heading(rest)) {
                received = Some(rates(names, "from", lines)?);
            }
        }
        let bytes = bytes.filter(|bytes| *bytes > 0);
        let bytes =
            bytes.ok_or_else(|| lines.error("ends, and no line has said the size of a message (`Msg Size`)"))?;
        let ended = "ends before its tables `Send` and `Recv`: the run was not finished";
        let turned = received.map(|found: Rates| found.turned());
        let Rates { hosts, rates } = turned.or(sent).ok_or_else(|| lines.error(ended))?;
        let seconds = rates.into_iter().map(|rate| seconds_at(bytes, rate)).collect();
        Ok(Table { program, hosts, iterations, lengths: vec![(Bytes(bytes), seconds)] })
    }
}

/// Behind `Send` and `Recv` stand names, in lines of statistics a word and a number.
fn is_heading(rest: &str) -> bool {
    rest.trim_end_matches(' ').contains('\t') && rest.contains(':') && rest.trim_start_matches([' ', '\t']).len() > 1
}

/// A rank's name, `host:rank`.
fn host_of(name: &str, rank: usize) -> Option<&str> {
    let (host, number) = name.trim().rsplit_once(':')?;
    (number.trim().parse() == Ok(rank)).then_some(host)
}

fn rates(names: &str, word: &str, lines: &mut Lines<&mut dyn BufRead>) -> Result<Rates, StoreError> {
    let names = names.split('\t').map(str::trim).filter(|name| !name.is_empty()).enumerate();
    let hosts: Option<Vec<String>> = names.map(|(rank, name)| Some(host_of(name, rank)?.to_owned())).collect();
    let hosts = hosts.ok_or_else(|| lines.error("has no names `HOST:RANK` in the order of ranks"))?;
    let mut rates = Vec::new();
    for (row, host) in hosts.iter().enumerate() {
        let line = lines.next()?.unwrap_or_default();
        let mut columns = line.split('\t').map(str::trim);
        let name = columns.next().and_then(|name| name.strip_suffix(word));
        if name.and_then(|name| host_of(name.trim(), row)) != Some(host) {
            return Err(lines.error(format!("is not the row of `{host}:{row}`, which is due")));
        }
        let values: Result<Vec<f64>, _> = columns.filter(|text| !text.is_empty()).map(str::parse).collect();
        let values = values.map_err(|_| lines.error("has a value that is no number"))?;
        if values.len() != hosts.len() {
            return Err(lines.error(format!("has {} values, and the table has {} ranks", values.len(), hosts.len())));
        }
        rates.extend(values);
    }
    Ok(Rates { hosts, rates })
}

impl Rates {
    /// `[column][row]`.
    fn turned(self) -> Self {
        let ranks = self.hosts.len();
        let rates = (0..ranks * ranks).map(|place| self.rates[place % ranks * ranks + place / ranks]).collect();
        Self { rates, ..self }
    }
}

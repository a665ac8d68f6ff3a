//! All statistics of a run in one CDF-5 file, for programs that label axes (xarray, R, Julia).
//!
//! In: a run. Out: bytes of a file with the dimensions `length`, `source` and `destination`, each with a variable of its
//! own name, so that `dataset.sel(length=65536, source="node1", destination="node8")` works in any version of xarray;
//! one variable per statistic, and the companions. The file is for others: this program reads result sets.

use std::{
    io::{self, Write},
    ops::Range,
};

use super::{
    StoreError,
    classic::{Kind, NewFile},
    companion::Companion,
    field::{Field, scalars},
    lines::listed,
    schema::{
        CONVENTIONS, CONVENTIONS_FOLLOWED, DESTINATION, FORMAT, LENGTH, ORIENTATION, SOURCE, STRINGS, TITLE,
        orientation,
    },
};
use crate::record::{BoxError, Cell, Run, Statistic};

/// Value of the global attribute `format`.
const FORMAT_NAME: &str = "network_test.one/1";

/// Writes a run. Rows are read one after the other, once for every variable.
pub fn write(run: &dyn Run, out: &mut dyn Write) -> Result<(), BoxError> {
    if run.lengths().is_empty() {
        return Err(StoreError::Header("no message length is finished".to_owned()).into());
    }
    let (header, ranks) = (run.header(), run.ranks());
    let statistics = listed(run.statistics());
    let companions: Vec<Companion> = Companion::of_run(header).collect();
    let labels: Vec<String> = (0..ranks).map(|rank| header.hosts.label_of(rank)).collect();
    let width = labels.iter().map(String::len).max().unwrap_or(1).max(1);
    let mut file = NewFile::default();
    let length = file.dimension(LENGTH, run.lengths().len());
    let [source, destination] = [SOURCE, DESTINATION].map(|name| file.dimension(name, ranks));
    let strings = file.dimension(STRINGS, width);
    attributes(&mut file, run);
    let scalars = scalars(header, statistics.first().copied().unwrap_or(Statistic::Median));
    // What belongs to one statistic alone says nothing here.
    let scalars: Vec<_> = scalars.into_iter().filter(|scalar| scalar.name != super::schema::DATA_TYPE).collect();
    for scalar in &scalars {
        scalar.field(Kind::Int64).announce(&mut file, &[]);
    }
    Field::length(Kind::Int64, "bytes of the messages of a matrix").announce(&mut file, &[length]);
    for (name, dimension) in [(SOURCE, source), (DESTINATION, destination)] {
        Field::label(name).announce(&mut file, &[dimension, strings]);
    }
    let cells = [length, source, destination];
    for statistic in &statistics {
        Field::statistic(header, *statistic).announce(&mut file, &cells);
    }
    for companion in &companions {
        let kind = if companion.size() == 1 { Kind::Byte } else { Kind::Double };
        Field::companion(*companion, kind, None).announce(&mut file, &cells);
    }
    out.write_all(&file.header())?;
    scalars.iter().try_for_each(|scalar| out.write_all(&(scalar.value as i64).to_be_bytes()))?;
    run.lengths().iter().try_for_each(|length| out.write_all(&length.0.to_be_bytes()))?;
    for _ in 0..2 {
        let filled =
            |label: &String| label.bytes().chain(std::iter::repeat_n(0, width - label.len())).collect::<Vec<_>>();
        fill(labels.iter().flat_map(filled).collect(), out)?;
    }
    for statistic in statistics {
        each_row(run, |index, rows| {
            let mut values = vec![f64::NAN; ranks];
            run.read_rows(statistic, index, rows, &mut values)?;
            Ok(out.write_all(&values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>())?)
        })?;
    }
    for companion in companions {
        let mut all: Vec<u8> = Vec::new();
        let mut cells: Vec<Cell> = Vec::new();
        each_row(run, |index, rows| {
            run.read_cells(index, rows, &mut cells)?;
            let values = cells.iter().map(|cell| companion.of(cell));
            match companion.size() {
                1 => all.extend(values.map(|value| value as i8 as u8)),
                _ => out.write_all(&values.flat_map(f64::to_be_bytes).collect::<Vec<_>>())?,
            }
            Ok(())
        })?;
        fill(all, out)?;
    }
    Ok(out.flush()?)
}

/// Every row of every matrix in turn.
fn each_row(run: &dyn Run, mut take: impl FnMut(usize, Range<usize>) -> Result<(), BoxError>) -> Result<(), BoxError> {
    let places = (0..run.lengths().len()).flat_map(|index| (0..run.ranks()).map(move |row| (index, row)));
    places.into_iter().try_for_each(|(index, row)| take(index, row..row + 1))
}

/// Writes bytes, filled up to a multiple of four.
fn fill(mut bytes: Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    out.write_all(&bytes)
}

fn attributes(file: &mut NewFile, run: &dyn Run) {
    let header = run.header();
    file.attribute(FORMAT, FORMAT_NAME);
    file.attribute(CONVENTIONS, CONVENTIONS_FOLLOWED);
    file.attribute(TITLE, format!("{} between every two of {} MPI processes", header.mode, header.hosts.ranks()));
    file.attribute("mode", header.mode.name());
    file.attribute(ORIENTATION, orientation(header));
    for (name, value) in &header.plan {
        file.attribute(&format!("plan_{name}"), value.clone());
    }
    for (name, value) in header.provenance.entries().into_iter().filter(|entry| !entry.1.is_empty()) {
        file.attribute(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan,
        record::{self, State},
        stats::Summary,
        units,
    };

    #[test]
    fn the_library_finds_every_value_at_its_labels() {
        let lengths = [units::Bytes(0), units::Bytes(65536)];
        let config = plan::Config { sweep: plan::Sweep::list(&lengths).unwrap(), ..plan::Config::default() };
        let hosts = units::Hosts::new(["node1", "n2", "n2"]);
        let plan = plan::Plan::all(&config, &hosts).unwrap().remove(0);
        let mut run = record::MemoryRun::new(record::Header::of(&plan, record::Provenance::default()));
        for (k, length) in lengths.into_iter().enumerate() {
            let cell = |place: usize| match place {
                1 => Cell::missing(State::TimedOut),
                place => Cell::measured(Summary::of(&mut [(10 * k + place) as f64]), 1, State::Measured),
            };
            run.push(length, (0..9).map(cell).collect());
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.nc");
        write(&run, &mut std::fs::File::create(&path).unwrap()).unwrap();
        let file = netcdf::open(&path).unwrap();
        let values = |name: &str| file.variable(name).unwrap().get_values::<f64, _>(..).unwrap();
        assert_eq!(values("length"), [0.0, 65536.0]);
        assert_eq!((values("median")[9 + 2 * 3 + 1], values("max")[5]), (17.0, 5.0));
        assert!(values("median")[1].is_nan());
        assert_eq!((values("state")[1], values("state")[2]), (f64::from(State::TimedOut.id()), 0.0));
        for variable in file.variables() {
            for name in ["long_name", "description"] {
                assert!(variable.attribute(name).is_some(), "{} of {}", name, variable.name());
            }
        }
        let names: Vec<_> = file.variable("median").unwrap().dimensions().iter().map(|d| d.name()).collect();
        assert_eq!(names, ["length", "source", "destination"]);
        let found = super::super::file::NcFile::open(&path).unwrap();
        assert_eq!(found.texts("source").unwrap(), ["node1", "n2:0", "n2:1"]);
    }
}

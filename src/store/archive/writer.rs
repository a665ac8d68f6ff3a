//! Writes an archive part by part; the file at the end.
//!
//! In: parts. Out: the bytes of a file, into whatever [`std::io::Write`] the caller has. Until then its deflated blocks
//! are in memory, which are what the file will have.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, Write},
};

use super::{block::Deflating, layout::*};
use crate::{
    record::{About, BoxError, Header, NO_SET, Part, PartSink},
    store::{
        classic::{Kind, NewFile, NewValue},
        error::StoreError,
        field::{Field, scalars},
        schema::{CONVENTIONS, CONVENTIONS_FOLLOWED, DATA, FORMAT, HOSTS_ITEM, LENGTH, N, TITLE, X, check_header},
    },
    units::{Rank, hostlist},
};

/// An archive in writing.
#[derive(Debug)]
pub struct ArchiveWriter {
    about: About,
    info: Deflating,
    data: Deflating,
    cells: Deflating,
    values: Deflating,
    /// `[range]`: first length, sets, width.
    ranges: Vec<(u64, u32, u8)>,
    /// `[length]`
    exceptions: Vec<u32>,
}

impl ArchiveWriter {
    /// Begins an archive.
    pub fn new(about: About) -> Result<Self, StoreError> {
        check_header(&about.header).map_err(StoreError::Header)?;
        let [info, data, cells, values] = std::array::from_fn(|_| Deflating::new());
        Ok(Self { about, info, data, cells, values, ranges: Vec::new(), exceptions: Vec::new() })
    }

    /// What the archive is about.
    pub fn about(&self) -> &About {
        &self.about
    }

    fn add(&mut self, part: &Part) -> io::Result<()> {
        let sets = part.set_count();
        let width = width_of(sets);
        let number = |set: &u32| if *set == NO_SET { no_set(width) } else { *set };
        match width {
            1 => self.info.append(&part.sets.iter().map(|set| [number(set) as u8]).collect::<Vec<_>>())?,
            2 => {
                self.info.append(&part.sets.iter().map(|set| (number(set) as u16).to_le_bytes()).collect::<Vec<_>>())?
            }
            _ => self.info.append(&part.sets.iter().map(|set| number(set).to_le_bytes()).collect::<Vec<_>>())?,
        }
        self.data.append(&part.values.iter().map(|value| value.to_le_bytes()).collect::<Vec<_>>())?;
        let cells: Vec<_> = part.exceptions.iter().map(|exception| exception.cell.to_le_bytes()).collect();
        let values: Vec<_> = part.exceptions.iter().map(|exception| exception.value.to_le_bytes()).collect();
        self.cells.append(&cells)?;
        self.values.append(&values)?;
        let first = self.about.lengths[part.lengths.start].0;
        self.ranges.push((first, sets as u32, width as u8));
        self.exceptions.extend((0..part.lengths.len()).map(|length| part.exceptions_at(length).len() as u32));
        Ok(())
    }

    /// Ends the archive and gives its bytes to `out`. `order`: all ranks, those that behave alike side by side.
    pub fn finish(self, order: &[Rank], out: &mut dyn Write) -> io::Result<()> {
        let About { header, lengths, .. } = &self.about;
        let mut file = NewFile::default();
        let x = file.dimension(X, header.hosts.ranks());
        let i = file.dimension(I, lengths.len());
        let n = file.dimension(N, self.ranges.len().max(1));
        let mut values: Vec<Vec<u8>> = Vec::new();
        attributes(&mut file, &self.about);
        for scalar in scalars(header, self.about.statistic) {
            scalar.field(Kind::Int).announce(&mut file, &[]);
            values.push(scalar.fitting().to_be_bytes().to_vec());
        }
        let int64s = |numbers: &mut dyn Iterator<Item = u64>| numbers.flat_map(u64::to_be_bytes).collect::<Vec<u8>>();
        let text = "mes_length[i]: the lengths of all ranges, one after the other";
        Field::new(MES_LENGTH, Kind::Int64, "byte", ["message length", text].map(Cow::from)).announce(&mut file, &[i]);
        values.push(int64s(&mut lengths.iter().map(|length| length.0)));
        let text = "length[n]: range n reaches to the length before the next range";
        Field::new(LENGTH, Kind::Int64, "byte", ["message length at which a range begins", text].map(Cow::from))
            .announce(&mut file, &[n]);
        values.push(int64s(&mut self.ranges.iter().map(|range| range.0)));
        let text = "sets[n]: how many; each has a value at each length of the range";
        Field::new(SETS, Kind::UInt, "1", ["sets of pairs of a range", text].map(Cow::from)).announce(&mut file, &[n]);
        values.push(self.ranges.iter().flat_map(|range| range.1.to_be_bytes()).collect());
        let text = "info_width[n]: 1, 2 or 4; the largest number of that width: the pair is in no set";
        Field::new(INFO_WIDTH, Kind::UByte, "byte", ["bytes of a number of info in a range", text].map(Cow::from))
            .announce(&mut file, &[n]);
        values.push(self.ranges.iter().map(|range| range.2).collect());
        let text = "exceptions[i]: how many; they override their sets";
        Field::new(EXCEPTIONS, Kind::UInt, "1", ["cells of a length that are kept exactly", text].map(Cow::from))
            .announce(&mut file, &[i]);
        values.push(self.exceptions.iter().flat_map(|count| count.to_be_bytes()).collect());
        if !order.iter().copied().eq(0..order.len()) {
            let text = "order[x]: those that behave alike side by side";
            Field::new(ORDER, Kind::Int, "1", ["ranks in an order for pictures", text].map(Cow::from))
                .announce(&mut file, &[x]);
            values.push(order.iter().flat_map(|rank| (*rank as i32).to_be_bytes()).collect());
        }
        hosts(&mut file, x, header, &mut values);
        let unit = self.about.statistic.unit();
        for (name, block, shape, kind, unit, text) in [
            (INFO, self.info, "n x x", "unsigned, info_width[n] bytes", "1", "number of the set of a pair in a range"),
            (DATA, self.data, "n sets[n] lengths_of_range", "double", unit, "value of a set at a length"),
            (EXCEPTION_CELL, self.cells, "exception", "uint", "1", "source * proc_num + destination"),
            (EXCEPTION_VALUE, self.values, "exception", "double", unit, "value of a cell that is kept exactly"),
        ] {
            let bytes = block.end()?;
            let dimension = file.dimension(&format!("{name}_bytes"), bytes.len());
            let description = "bytes of a zlib stream of numbers: see shape, type, byte_order and filters";
            let field = Field::new(name, Kind::UByte, unit, [text, description].map(Cow::from));
            let variable = field.announce(&mut file, &[dimension]);
            variable.with("shape", shape).with("type", kind);
            variable.with("byte_order", "little").with("filters", "shuffle (for each range), zlib");
            values.push(bytes);
        }
        out.write_all(&file.header())?;
        values.iter_mut().try_for_each(|bytes| {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            out.write_all(bytes)
        })?;
        out.flush()
    }
}

/// A list in Slurm's notation where that says it all, else a variable.
fn hosts(file: &mut NewFile, x: usize, header: &Header, values: &mut Vec<Vec<u8>>) {
    let names: Vec<&str> = header.hosts.name_of_every_rank().collect();
    let list = hostlist::compress(&names);
    if list.len() <= HOSTS_ATTRIBUTE && hostlist::expand(&list).is_ok_and(|expanded| expanded == names) {
        return file.attribute(HOSTS, list);
    }
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(1);
    let width = file.dimension(NAME, longest);
    Field::host().announce(file, &[x, width]);
    let filled = |name: &&str| name.bytes().chain(std::iter::repeat_n(0, longest - name.len())).collect::<Vec<_>>();
    values.push(names.iter().flat_map(filled).collect());
}

fn attributes(file: &mut NewFile, about: &About) {
    let header = &about.header;
    let known = header.provenance.entries().into_iter().filter(|(_, value)| !value.is_empty());
    let origin = Origin {
        plan: header.plan.iter().filter(|(name, _)| *name != HOSTS_ITEM).map(|(a, b)| (a.clone(), b.clone())).collect(),
        provenance: known.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>(),
        planned: (header.planned != about.lengths).then(|| header.planned.iter().map(|length| length.0).collect()),
    };
    let (mode, statistic) = (header.mode, about.statistic);
    file.attribute(FORMAT, format!("{FORMAT_NAME}{FORMAT_VERSION}"));
    file.attribute(CONVENTIONS, CONVENTIONS_FOLLOWED);
    file.attribute(TITLE, format!("{statistic} of {mode} between {} MPI processes, clustered", header.hosts.ranks()));
    let bound = about.tolerance.describe();
    let text = format!(
        "row x: source, column y: destination. A value: the range by length, the pair's set by info, its value by data; \
         an exception overrides it. No value is further than {bound} from the one that was measured"
    );
    file.attribute("description", text);
    file.attribute(TOLERANCE, about.tolerance.to_string());
    file.attribute(REASON, about.reason.clone());
    // Strings and numbers alone: there is nothing that could fail.
    file.attribute(RUN, NewValue::Text(serde_json::to_string(&origin).unwrap_or_default()));
}

impl PartSink for ArchiveWriter {
    fn write_part(&mut self, part: Part) -> Result<(), BoxError> {
        Ok(self.add(&part)?)
    }
}

//! One self-contained HTML page that shows runs to people.
//!
//! In: finished runs, and what was found out about them. Out: a page that asks nothing of any network: style and script
//! (the files next to this one) are embedded, and the page's own policy forbids everything else. Values are kept on a
//! grid that is as fine as the page's size allows (`codes.rs`), in pieces that the script takes when it needs them
//! (`chunks.rs`). Every text that comes from a file is data in a JSON document and never markup.
//!
//! ```text
//! run -> codes -> chunks --+
//! run, archive, diagnosis -+-> description (JSON) -> page -> script in the browser
//! ```

mod chunks;
mod codes;
mod description;

use std::io::{self, Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{
    Serializer, Value,
    ser::{CharEscape, CompactFormatter, Formatter},
};
use sha2::{Digest, Sha256};

use self::{
    chunks::{Chunks, bits_per_value},
    description::{Description, PartDescription, RunDescription},
};
use super::{colour, info::Info, model::fit::Fit, names};
use crate::{
    analysis::{tally::Tally, topology::Group},
    record::{BoxError, Clustered, Run, State, Statistic},
    units::{is_hidden, shown},
};

/// The page's script, in the order in which its parts use each other.
const SCRIPT: [&str; 17] = [
    include_str!("script/data.js"),
    include_str!("script/format.js"),
    include_str!("script/colour.js"),
    include_str!("script/state.js"),
    include_str!("script/layer.js"),
    include_str!("script/grid.js"),
    include_str!("script/matrix.js"),
    include_str!("script/line.js"),
    include_str!("script/charts.js"),
    include_str!("script/pair.js"),
    include_str!("script/histogram.js"),
    include_str!("script/findings.js"),
    include_str!("script/topology.js"),
    include_str!("script/export.js"),
    include_str!("script/search.js"),
    include_str!("script/controls.js"),
    include_str!("script/main.js"),
];

const STYLE: &str = include_str!("style.css");
const BODY: &str = include_str!("body.html");

/// A run of a report, and what is known about it.
pub struct Section<'a> {
    /// What it is called in the choice of runs.
    pub name: String,
    /// The values.
    pub run: &'a dyn Run,
    /// The statistics that the page is to have; those that the run has not are left out.
    pub statistics: &'a [Statistic],
    /// What is unusual about its files.
    pub notices: &'a [String],
    /// The archive, if the run is one: its regions are outlined.
    pub archive: Option<&'a Clustered>,
    /// What is wrong: a number in [`Page::diagnoses`]. Runs that were judged together have the same one.
    pub diagnosis: Option<usize>,
    /// Hosts that are near each other, `[level][group]`, innermost level first; empty where it is not known.
    pub groups: &'a [Vec<Group>],
    /// Whether the groups were found in the data; else somebody knows that they share a switch.
    pub is_inferred: bool,
    /// The run to compare it with: its number in [`Page::sections`].
    pub base: Option<usize>,
    /// The models that were fitted to it and to operations of the same prefix.
    pub models: &'a Fit<'a>,
    /// Whether it is there only to be compared with.
    pub is_base: bool,
}

/// A report.
pub struct Page<'a> {
    /// Heading.
    pub title: String,
    /// What is wrong with them, in the form of `network_test.diagnosis/1`.
    pub diagnoses: Vec<Value>,
    /// The runs; the first one is shown first.
    pub sections: Vec<Section<'a>>,
}

impl Page<'_> {
    /// Writes the page. Holds some matrices at a time, one for each thread or ten.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), BoxError> {
        let script = SCRIPT.concat();
        let script = format!("\"use strict\";\n(() => {{\n{script}}})();\n");
        write_head(&script, out)?;
        let values: usize = self.sections.iter().map(Section::values).sum();
        let mut chunks = Chunks::new(out);
        let bits = bits_per_value(values);
        let runs: Result<Vec<_>, _> = self.sections.iter().map(|section| section.describe(&mut chunks, bits)).collect();
        let description = Description {
            schema: "network_test.report/1",
            title: self.title.clone(),
            program: format!("network_analyze {}", crate::VERSION),
            diagnoses: &self.diagnoses,
            runs: runs?,
            states: state_names(),
            perceptual: (0..256)
                .map(|place| colour::of_place(f64::from(place) / 255.0))
                .map(|c| [c.0, c.1, c.2])
                .collect(),
        };
        write!(out, "<script type=\"application/json\" id=\"description\">")?;
        description.serialize(&mut Serializer::with_formatter(&mut *out, Embedded))?;
        writeln!(out, "</script>")?;
        write!(out, "<script>{script}</script>\n</body>\n</html>\n")?;
        Ok(())
    }
}

impl Section<'_> {
    /// The statistics that the page will have.
    fn statistics(&self) -> impl Iterator<Item = Statistic> {
        self.statistics.iter().copied().filter(|statistic| self.run.statistics().contains(statistic))
    }

    /// Number of values that the page will have.
    fn values(&self) -> usize {
        self.run.ranks().pow(2) * self.run.lengths().len() * self.statistics().count()
    }

    fn describe(&self, chunks: &mut Chunks, bits: f64) -> Result<RunDescription, BoxError> {
        let (run, header) = (self.run, self.run.header());
        let is_empty = run.lengths().is_empty() || run.ranks() == 0;
        let kept = self.statistics().filter(|_| !is_empty).map(|statistic| chunks.statistic(run, statistic, bits));
        let statistics = kept.collect::<Result<Vec<_>, _>>()?;
        let state_chunks = if is_empty { Vec::new() } else { chunks.states(run)? };
        let sets = self.archive.map(|archive| chunks.sets(archive)).transpose()?.unwrap_or_default();
        let parts = self.archive.map_or(&[][..], Clustered::parts).iter().zip(sets);
        Ok(RunDescription {
            name: self.name.clone(),
            mode: header.mode.name(),
            hosts: header.hosts.names().to_vec(),
            brief: names::without_domain(&header.hosts),
            host_of_rank: (0..run.ranks()).map(|rank| header.hosts.host_of(rank)).collect(),
            lengths: run.lengths().iter().map(|length| length.0).collect(),
            planned: header.planned.len(),
            notices: self.notices.to_vec(),
            facts: self.facts()?,
            statistics,
            state_chunks,
            order: self.archive.map(|archive| archive.about().order.clone()),
            parts: parts
                .map(|(part, sets)| PartDescription { lengths: [part.lengths.start, part.lengths.end], sets })
                .collect(),
            groups: self.groups.to_vec(),
            is_inferred: self.is_inferred,
            diagnosis: self.diagnosis,
            base: self.base,
            is_base: self.is_base,
        })
    }

    /// What `info` says, but for its table.
    fn facts(&self) -> Result<Vec<(String, String)>, BoxError> {
        let run = self.run;
        let info = Info {
            header: run.header(),
            lengths: run.lengths(),
            statistics: run.statistics(),
            notices: &[],
            moments: run.all_moments()?,
            drift: run.drift()?,
            tally: &Tally::of(run)?,
            statistic: Statistic::Median,
            table: &[],
        };
        let models = self.models.sentences().into_iter().map(|sentence| ("model", sentence));
        let lines = info.lines().into_iter().chain(models);
        Ok(lines.map(|(name, text)| (name.to_owned(), text)).collect())
    }
}

/// Everything in front of the data. The policy names the very style and script that are allowed, so that nothing else
/// runs, whatever may have got into the page.
fn write_head(script: &str, out: &mut dyn Write) -> io::Result<()> {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(script)
    );
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>network_test report</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{BODY}"
    )
}

/// How JSON is written into an element of a page: nothing in its texts can end the element, and whoever copies one of
/// them copies what can be seen.
struct Embedded;

impl Formatter for Embedded {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        // What is shown begins with a backslash, which JSON escapes.
        let hidden = |text: &str| shown(text).replace('\\', "\\\\");
        for part in fragment.split_inclusive(|char| char == '<' || is_hidden(char)) {
            let last = part.char_indices().next_back().filter(|last| last.1 == '<' || is_hidden(last.1));
            let (begin, end) = part.split_at(last.map_or(part.len(), |last| last.0));
            let end = if end == "<" { "\\u003c".to_owned() } else { hidden(end) };
            out.write_all(begin.as_bytes())?;
            out.write_all(end.as_bytes())?;
        }
        Ok(())
    }

    fn write_char_escape<W: Write + ?Sized>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::Backspace => self.write_string_fragment(out, "\u{8}"),
            CharEscape::FormFeed => self.write_string_fragment(out, "\u{c}"),
            CharEscape::CarriageReturn => self.write_string_fragment(out, "\r"),
            CharEscape::AsciiControl(byte) => {
                self.write_string_fragment(out, char::from(byte).encode_utf8(&mut [0; 4]))
            }
            escape => CompactFormatter.write_char_escape(out, escape),
        }
    }
}

/// `[number]`.
fn state_names() -> Vec<&'static str> {
    (0..=i8::MAX).map_while(State::from_id).map(State::name).collect()
}

#[cfg(test)]
mod tests;

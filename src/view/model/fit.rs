//! Fitted models of a run: as text for people, as JSON for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::{interval, per_byte, time};
use crate::{
    analysis::diagnose::Diagnosis,
    analysis::model::{
        hockney::{Class, Hockney, PairLine},
        line::{Estimate, Piece, Piecewise},
        loggp::LogGp,
        relation::RelationFit,
    },
    record::{BoxError, Header},
    units::{Bytes, Rate, Seconds, counted, harmless, shown},
    view::{
        Table,
        diagnosis::{self, FindingDocument, finding_documents},
    },
};

/// What could be fitted, and why the rest could not.
#[derive(Clone, Debug, Default)]
pub struct Fit<'a> {
    /// Description of the run of pairs, if there is one.
    pub header: Option<&'a Header>,
    /// Of the run of pairs.
    pub hockney: Option<Hockney>,
    /// What the detector says of the run of pairs: who departs from the fit.
    pub diagnosis: Option<Diagnosis>,
    /// Of probes, the near pairs first.
    pub loggp: Vec<LogGp>,
    /// Of patterns.
    pub relation: Option<RelationFit>,
    /// Bytes of a packet of BSPWB and MPM.
    pub packet: u64,
    /// What is missing, and what measures it.
    pub missing: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: Option<RunPart<'a>>,
    hockney: &'a Option<Hockney>,
    /// As `network_test.diagnosis/1` has them.
    departures: Vec<FindingDocument>,
    loggp: &'a [LogGp],
    relation: Option<RelationPart<'a>>,
    missing: &'a [String],
}

#[derive(Serialize)]
struct RunPart<'a> {
    mode: &'a str,
    hosts: usize,
    ranks: usize,
    lengths: usize,
}

#[derive(Serialize)]
struct RelationPart<'a> {
    packet: u64,
    /// g, seconds per packet.
    per_packet: Estimate,
    /// L, seconds per step.
    per_step: Estimate,
    negative_because: Option<&'static str>,
    #[serde(flatten)]
    fit: &'a RelationFit,
}

/// A share in percent, with as many digits as tell something.
fn percent(share: f64) -> String {
    format!("{:.*} %", usize::from(share < 0.0995), 100.0 * share)
}

/// From the first length to the last.
fn range(first: u64, last: u64) -> String {
    format!("{} to {}", Bytes(first), Bytes(last))
}

impl Fit<'_> {
    /// For programs: the document that `--format json` prints. Times are in seconds, lengths in bytes; null is "not known".
    pub fn document(&self) -> impl Serialize {
        let run = self.header.map(|header| RunPart {
            mode: header.mode.name(),
            hosts: header.hosts.count(),
            ranks: header.hosts.ranks(),
            lengths: self.hockney.as_ref().map_or(0, |hockney| hockney.lengths.len()),
        });
        let relation = self.relation.as_ref().map(|fit| RelationPart {
            packet: self.packet,
            per_packet: fit.line.per_byte.scaled(self.packet as f64),
            per_step: fit.line.start,
            negative_because: fit.cause_of_negative(),
            fit,
        });
        let (hockney, loggp, missing) = (&self.hockney, &self.loggp[..], &self.missing[..]);
        let departures = self.diagnosis.as_ref().map(finding_documents).unwrap_or_default();
        Document { schema: "network_test.fit/1", run, hockney, departures, loggp, relation, missing }
    }

    /// In sentences, without what is missing and without the diagnosis.
    pub fn sentences(&self) -> Vec<String> {
        let relation = |fit: &RelationFit| {
            let [g, of_g] = per_byte(fit.line.per_byte.scaled(self.packet as f64));
            let [l, of_l] = time(fit.line.start);
            format!(
                "BSPWB and MPM, packets of {} bytes: g {g} (95 %: {of_g}), L {l} (95 %: {of_l}); largest g of a pattern \
                 over the smallest {:.2}",
                Bytes(self.packet),
                fit.spread
            )
        };
        let hockney = self.hockney.as_ref().map(of_hockney).unwrap_or_default().into_iter();
        hockney.chain(self.loggp.iter().map(of_loggp)).chain(self.relation.as_ref().map(relation)).collect()
    }

    /// For people.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut parts = 0;
        let mut gap = |out: &mut dyn Write| {
            parts += 1;
            if parts > 1 { writeln!(out) } else { Ok(()) }
        };
        if let (Some(header), Some(hockney)) = (self.header, &self.hockney) {
            gap(out)?;
            write_hockney(header, hockney, out)?;
            self.diagnosis.as_ref().map_or(Ok(()), |diagnosis| write_departures(diagnosis, out))?;
        }
        if !self.loggp.is_empty() {
            gap(out)?;
            write_loggp(&self.loggp, out)?;
        }
        if let Some(relation) = &self.relation {
            gap(out)?;
            self.write_relation(relation, out)?;
        }
        if !self.missing.is_empty() {
            gap(out)?;
        }
        self.missing.iter().try_for_each(|text| writeln!(out, "not fitted: {}", shown(text)))
    }

    fn write_relation(&self, relation: &RelationFit, out: &mut dyn Write) -> io::Result<()> {
        let packet = Bytes(self.packet);
        writeln!(out, "BSPWB and MPM, T = g h + L, packets of {packet} bytes, mean over patterns of the mean over P")?;
        let mut table = Table::new(["", "", "95 %"]).left(0).left(2);
        let [g, of_g] = per_byte(relation.line.per_byte.scaled(self.packet as f64));
        table.push(["g, per packet", &g, &of_g]);
        let [l, of_l] = time(relation.line.start);
        table.push(["L, per step", &l, &of_l]);
        table.write("  ", out)?;
        if let Some(cause) = relation.cause_of_negative() {
            writeln!(out, "  {cause}")?;
        }
        let mut table = Table::new(["pattern", "P", "g", "95 %"]).left(0).left(3);
        for pattern in &relation.patterns {
            let [g, of_g] = per_byte(pattern.line.per_byte.scaled(self.packet as f64));
            table.push([pattern.name.clone(), pattern.procs.to_string(), g, of_g]);
        }
        table.write("  ", out)?;
        writeln!(
            out,
            "  largest g over smallest: {:.2}; 1 is what the hypothesis of the h-relation says",
            relation.spread
        )
    }
}

fn write_hockney(header: &Header, hockney: &Hockney, out: &mut dyn Write) -> io::Result<()> {
    let (mode, lengths) = (header.mode, counted(hockney.lengths.len(), "length"));
    let hosts = counted(header.hosts.count(), "host");
    writeln!(out, "{mode}, {hosts}, {lengths}: t = alpha + s / bandwidth, medians of all pairs of a class")?;
    let headings = ["class", "pairs", "bytes", "alpha", "95 %", "bandwidth", "95 %", "off by", "5 to 95 % of pairs"];
    let mut table = Table::new(headings).left(0).left(2).left(4).left(6).left(8);
    for class in &hockney.classes {
        for (number, piece) in class.fit.pieces.iter().enumerate() {
            let (name, pairs) = if number == 0 { (class.name, class.pairs.to_string()) } else { ("", String::new()) };
            let [alpha, of_alpha] = time(piece.line.start);
            let beta = piece.line.per_byte;
            // The larger the time per byte, the smaller the bandwidth.
            let inverse = Estimate { value: 1.0 / beta.value, low: 1.0 / beta.high, high: 1.0 / beta.low };
            let spread = class.spread.get(number).map_or_else(String::new, |spread| {
                let [slow, fast] = [spread.beta[2], spread.beta[0]].map(|beta| rate(1.0 / beta));
                format!("{slow} to {fast}")
            });
            table.push([
                name.to_owned(),
                pairs,
                range(piece.first, piece.last),
                alpha,
                of_alpha,
                rate(inverse.value),
                interval(inverse, rate),
                percent(piece.line.departure),
                spread,
            ]);
        }
    }
    table.write("  ", out)?;
    for class in &hockney.classes {
        write_steps(class, hockney, out)?;
    }
    Ok(())
}

/// Who departs from the fit, as `diagnose` says it, and how far at its ends.
fn write_departures(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    for reason in &diagnosis.invalid {
        writeln!(out, "  who departs cannot be judged: {}", shown(reason))?;
    }
    for (number, finding) in diagnosis.findings.iter().enumerate() {
        let ends =
            finding.ends().map(|ends| ends.map(|at| format!("{:.2} times at {}", at.ratio, at.length.counted())));
        let ends = ends.map_or_else(String::new, |ends| format!("; {}", ends.join(", ")));
        writeln!(out, "  departs, {} of diagnose: {}{ends}", diagnosis::id(number), diagnosis::sentence(finding))?;
    }
    Ok(())
}

/// Of a class of distance: its seven parameters.
fn of_loggp(fit: &LogGp) -> String {
    let one = |(name, estimate, of_bytes): (&str, Estimate, bool)| {
        let [value, of_value] = if of_bytes { per_byte(estimate) } else { time(estimate) };
        if estimate.value == 0.0 { format!("{name} 0") } else { format!("{name} {value} (95 %: {of_value})") }
    };
    let entries: Vec<String> = fit.parameters.entries().into_iter().map(one).collect();
    format!("LogGP, {}, probes of {}: {}", fit.name, counted(fit.pairs, "pair"), entries.join(", "))
}

/// One for each piece of a class: what it predicts, and how far off what was measured is.
fn of_hockney(hockney: &Hockney) -> Vec<String> {
    let pieces = hockney.classes.iter().flat_map(|class| class.fit.pieces.iter().map(move |piece| (class, piece)));
    let sentence = |(class, piece): (&Class, &Piece)| {
        let [alpha, of_alpha] = time(piece.line.start);
        let beta = piece.line.per_byte;
        let inverse = Estimate { value: 1.0 / beta.value, low: 1.0 / beta.high, high: 1.0 / beta.low };
        format!(
            "{}, {}: predicted {alpha} + bytes / {} (95 %: {of_alpha}, {}); measured medians of {} are {} off",
            class.name,
            range(piece.first, piece.last),
            rate(inverse.value),
            interval(inverse, rate),
            counted(class.pairs, "pair"),
            percent(piece.line.departure),
        )
    };
    pieces.map(sentence).collect()
}

/// A bandwidth; pieces on which times do not grow have none.
fn rate(value: f64) -> String {
    if value > 0.0 && value.is_finite() { Rate(value).to_string() } else { "none".to_owned() }
}

fn write_steps(class: &Class, hockney: &Hockney, out: &mut dyn Write) -> io::Result<()> {
    let points = class.seconds.iter().filter(|seconds| **seconds > 0.0).count();
    if points < Piecewise::LEAST_FOR_STEP {
        let least = Piecewise::LEAST_FOR_STEP;
        return writeln!(
            out,
            "  {}: {} {} too few to find a step of the protocol: it takes {least}",
            class.name,
            counted(points, "length"),
            if points == 1 { "is" } else { "are" }
        );
    }
    for step in class.fit.steps() {
        let before = hockney.lengths.iter().rev().find(|length| **length < step).copied().unwrap_or(0);
        writeln!(out, "  {}: the protocol changes between {} and {} bytes", class.name, Bytes(before), Bytes(step))?;
    }
    Ok(())
}

fn write_loggp(fits: &[LogGp], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "LogGP, of probes between single pairs")?;
    let mut table = Table::new(["class", "pairs", "", "", "95 %", "is"]).left(0).left(2).left(4).left(5);
    for fit in fits {
        for (number, (name, estimate, of_bytes)) in fit.parameters.entries().into_iter().enumerate() {
            let (class, pairs) = if number == 0 { (fit.name, fit.pairs.to_string()) } else { ("", String::new()) };
            let [value, of_value] = if of_bytes { per_byte(estimate) } else { time(estimate) };
            let unknown = estimate.value == 0.0 && of_bytes;
            let (value, of_value) = if unknown { ("0".to_owned(), String::new()) } else { (value, of_value) };
            table.push([class.to_owned(), pairs, name.to_owned(), value, of_value, meaning(name).to_owned()]);
        }
    }
    table.write("  ", out)?;
    for fit in fits {
        if let Some(delayed) = fit.parameters.delayed {
            writeln!(out, "  {}: o by delayed trains {}", fit.name, Seconds(delayed))?;
        }
    }
    Ok(())
}

fn meaning(name: &str) -> &'static str {
    match name {
        "L" => "in the network",
        "o_s" => "a send keeps its process busy",
        "o_r" => "a receive keeps its process busy",
        "g" => "between two messages",
        "G" => "per further byte",
        "lambda" => "to copy a byte",
        _ => "to combine a byte",
    }
}

/// The pairs' own lines as CSV.
pub struct PairTable<'a, 'b> {
    out: &'a mut (dyn Write + 'b),
    labels: Vec<String>,
}

impl<'a, 'b> PairTable<'a, 'b> {
    /// Begins with the headings.
    pub fn new(out: &'a mut (dyn Write + 'b), header: &Header) -> io::Result<Self> {
        let headings =
            "source,destination,source_host,destination_host,class,piece,alpha_seconds,beta_seconds_per_byte";
        writeln!(out, "{headings}")?;
        let label = |rank| harmless(header.hosts.name_of(rank)).replace('"', "\"\"");
        let labels = (0..header.hosts.ranks()).map(label).collect();
        Ok(Self { out, labels })
    }

    /// Appends a pair.
    pub fn push(&mut self, pair: &PairLine, class: &str) -> Result<(), BoxError> {
        let PairLine { source, destination, piece, alpha, beta, .. } = pair;
        let [from, to] = [&self.labels[*source], &self.labels[*destination]];
        Ok(writeln!(self.out, "{source},{destination},\"{from}\",\"{to}\",{class},{},{alpha:e},{beta:e}", piece + 1)?)
    }
}

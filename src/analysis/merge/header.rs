//! Which runs can be merged, and what the merged run says of itself.

use std::collections::BTreeMap;

use super::Part;
use crate::{
    plan::{Noise, RETEST_SAMPLES},
    record::{Header, MERGED, MIXED, Provenance},
    units::{Bytes, Hosts, counted},
};

/// Created time of a part that does not tell it.
const UNKNOWN: &str = "unknown";

/// Runs that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's text says it")]
pub enum MergeError {
    #[error("there is no run to merge: name one or more")]
    Nothing,
    #[error("`{name}` cannot be merged with `{first}`: its {item} is `{value}`, not `{expected}`")]
    Differs { name: String, first: String, item: String, value: String, expected: String },
    #[error("`{name}` and `{first}` are the same run: its samples would count twice, name it once")]
    SameRun { name: String, first: String },
    #[error("`{name}` has no finished message length yet: there is nothing to merge, leave it out or wait for it")]
    NothingFinished { name: String },
    #[error("the runs cannot be merged: there is no statistic of times that all of them have")]
    NoStatistics,
}

/// Refuses runs that did not measure the same, and runs that are there twice.
pub(super) fn check(parts: &[Part<'_>]) -> Result<(), MergeError> {
    let (first, others) = parts.split_first().ok_or(MergeError::Nothing)?;
    for part in others {
        if let Some((item, value, expected)) = difference(part.run.header(), first.run.header()) {
            let [name, first] = [part, first].map(|part| part.name.to_owned());
            return Err(MergeError::Differs { name, first, item, value, expected });
        }
    }
    for (number, part) in parts.iter().enumerate() {
        let same = |other: &&Part<'_>| part.run.header().is_of_same_run(other.run.header());
        if let Some(first) = parts[..number].iter().find(same) {
            return Err(MergeError::SameRun { name: part.name.to_owned(), first: first.name.to_owned() });
        }
    }
    Ok(())
}

/// The first item that must agree and does not: its name, what `a` and what `b` says.
fn difference(a: &Header, b: &Header) -> Option<(String, String, String)> {
    let timing = |header: &Header| header.item("timing").unwrap_or("not recorded").to_owned();
    let mut items = vec![
        ("mode".to_owned(), a.mode.to_string(), b.mode.to_string()),
        ("timing".to_owned(), timing(a), timing(b)),
        ("sweep (number of lengths)".to_owned(), a.planned.len().to_string(), b.planned.len().to_string()),
    ];
    let lengths = a.planned.iter().zip(&b.planned).enumerate().find(|(_, (a, b))| a != b);
    items.extend(
        lengths.map(|(index, (a, b))| (format!("sweep (length number {})", index + 1), a.to_string(), b.to_string())),
    );
    if a.mode.has_noise() {
        let text = |Noise { length, messages, processes }| {
            let [ranks, messages] =
                [(processes, "rank"), (messages as usize, "message")].map(|(count, thing)| counted(count, thing));
            format!("{ranks}, {messages} of {}", counted(length.0 as usize, "byte"))
        };
        items.push(("noise".to_owned(), text(a.noise), text(b.noise)));
    }
    items.into_iter().find(|(_, a, b)| a != b)
}

/// The header of the merged run.
pub(super) fn merged(parts: &[Part<'_>], hosts: Hosts, iterations: u32, command: &str, created: &str) -> Header {
    let headers: Vec<&Header> = parts.iter().map(|part| part.run.header()).collect();
    let first = headers[0];
    let end = first.planned.last().map_or(0, |last| last.0.saturating_add(1));
    let whole = (first.planned.first().copied().unwrap_or_default(), Bytes(end), Bytes(0));
    let silence = Noise { length: Bytes(0), messages: 1, processes: 0 };
    Header {
        mode: first.mode,
        planned: first.planned.clone(),
        begin_end_step: agreed(&headers, |header| header.begin_end_step).unwrap_or(whole),
        iterations,
        noise: agreed(&headers, |header| header.noise).unwrap_or(silence),
        plan: plan(&headers, &hosts),
        provenance: provenance(&headers, command, created),
        hosts,
    }
}

/// What all headers say alike.
fn agreed<T: PartialEq>(headers: &[&Header], value: impl Fn(&Header) -> T) -> Option<T> {
    let first = value(headers[0]);
    headers.iter().all(|header| value(header) == first).then_some(first)
}

/// Items that agree are kept, others are [`MIXED`]; but hosts are those of all, retests add up, and the times at which
/// the parts were created are listed.
fn plan(headers: &[&Header], hosts: &Hosts) -> BTreeMap<String, String> {
    let item = |name: &String| {
        let value = agreed(headers, |header| header.plan.get(name).cloned()).flatten();
        (name.clone(), value.unwrap_or_else(|| MIXED.to_owned()))
    };
    let mut plan: BTreeMap<_, _> = headers.iter().flat_map(|header| header.plan.keys()).map(item).collect();
    if let Some(list) = plan.get_mut("hosts") {
        *list = hosts.name_of_every_rank().collect::<Vec<_>>().join(",");
    }
    if let Some(sum) = plan.get_mut("retest") {
        let numbers = headers.iter().filter_map(|header| header.item("retest")?.parse::<u64>().ok());
        *sum = numbers.fold(0, u64::saturating_add).to_string();
    }
    // What several parts found of a pair becomes one; the samples behind it stay in the parts.
    plan.remove(RETEST_SAMPLES);
    let created: Vec<_> = headers.iter().map(|header| created(header)).collect();
    plan.insert(MERGED.to_owned(), created.join(" "));
    plan
}

/// When a run was created; one that was merged itself tells when its parts were.
fn created(header: &Header) -> &str {
    match (header.item(MERGED), header.provenance.created.as_str()) {
        (Some(parts), _) => parts,
        (None, "") => UNKNOWN,
        (None, created) => created,
    }
}

/// Where it was merged, and what its parts say about the rest, each text once.
fn provenance(headers: &[&Header], command: &str, created: &str) -> Provenance {
    let entries: Vec<_> = headers.iter().map(|header| header.provenance.entries()).collect();
    let all = Provenance::from_entries(|name| {
        let mut texts: Vec<&str> = Vec::new();
        for (_, text) in entries.iter().flatten().filter(|entry| entry.0 == name && !entry.1.is_empty()) {
            if !texts.contains(text) {
                texts.push(text);
            }
        }
        Some(texts.join("; "))
    });
    Provenance { command: command.to_owned(), created: created.to_owned(), ..all }
}

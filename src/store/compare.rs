//! Whether two headers describe the same run, and if not, which item differs.

use crate::record::Header;

/// Longest text of an item that an error repeats.
const SHOWN: usize = 80;

/// The first item in which the headers differ: its name, what `a` and what `b` says. Where a run comes from does not
/// count.
pub(super) fn difference(a: &Header, b: &Header) -> Option<(String, String, String)> {
    let texts = |header: &Header| {
        let (begin, end, step) = header.begin_end_step;
        let noise = header.noise;
        [
            ("mode", header.mode.to_string()),
            ("number of ranks", header.hosts.ranks().to_string()),
            ("samples per cell", header.iterations.to_string()),
            ("begin, end and step", format!("{begin}, {end}, {step}")),
            ("noise", format!("{} messages of {}, {} ranks", noise.messages, noise.length, noise.processes)),
        ]
    };
    for ((name, a), (_, b)) in texts(a).into_iter().zip(texts(b)) {
        if a != b {
            return Some((name.to_owned(), a, b));
        }
    }
    different_host(a, b).or_else(|| different_item(a, b)).or_else(|| different_length(a, b))
}

fn different_host(a: &Header, b: &Header) -> Option<(String, String, String)> {
    let names = a.hosts.name_of_every_rank().zip(b.hosts.name_of_every_rank());
    let (rank, (a, b)) = names.enumerate().find(|(_, (a, b))| a != b)?;
    Some((format!("host of rank {rank}"), a.to_owned(), b.to_owned()))
}

fn different_item(a: &Header, b: &Header) -> Option<(String, String, String)> {
    let name = a.plan.keys().chain(b.plan.keys()).find(|name| a.plan.get(*name) != b.plan.get(*name))?;
    let text = |header: &Header| match header.plan.get(name).map(|value| (value, value.char_indices().nth(SHOWN))) {
        None => "not recorded".to_owned(),
        Some((value, None)) => value.clone(),
        Some((value, Some((end, _)))) => format!("{}...", &value[..end]),
    };
    Some((name.clone(), text(a), text(b)))
}

fn different_length(a: &Header, b: &Header) -> Option<(String, String, String)> {
    if a.planned.len() != b.planned.len() {
        return Some(("number of lengths".to_owned(), a.planned.len().to_string(), b.planned.len().to_string()));
    }
    let (index, (a, b)) = a.planned.iter().zip(&b.planned).enumerate().find(|(_, (a, b))| a != b)?;
    Some((format!("length number {index}"), a.to_string(), b.to_string()))
}

//! Which hosts are near each other: as text for people, as JSON for programs, as a graph for Graphviz (`dot.rs`).

mod dot;

use std::io::{self, Write};

use serde::Serialize;

use super::{Table, names::without_domain};
use crate::{
    analysis::{
        diagnose::LEAST_HOSTS,
        topology::{
            Group, Topology,
            contradiction::Contradiction,
            inferred::{Between, Found, Inferred},
        },
    },
    record::Header,
    units::{Bytes, Rate, Seconds, counted, hostlist},
};

/// Groups up to which every pair of them has a line of its own; of more, each group has its nearest and its farthest.
const MOST_PAIRED: usize = 8;

/// What a file says, and where the data contradict it.
pub struct Written<'a> {
    /// Of the file.
    pub name: String,
    /// What it says.
    pub topology: &'a Topology,
    /// Its innermost groups, without common hosts.
    pub leaves: &'a [Group],
    /// Where the data say something else.
    pub contradictions: &'a [Contradiction],
}

/// What is known about who is near whom.
pub struct Structure<'a> {
    /// The run's own description.
    pub header: &'a Header,
    /// Number of lengths that are finished.
    pub lengths: usize,
    /// What the data say.
    pub inferred: &'a Inferred,
    /// What a file says.
    pub written: Option<Written<'a>>,
}

/// What a group of the data is called.
fn name_of(group: usize) -> String {
    format!("group {}", group + 1)
}

/// Several things in a sentence: `a, b and c`.
fn enumerated(mut names: Vec<String>) -> String {
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

impl Structure<'_> {
    /// Names in the order of their numbers, without the domain that all share.
    fn list(&self, hosts: &[usize]) -> String {
        let names = without_domain(&self.header.hosts);
        let mut names: Vec<&str> = hosts.iter().map(|host| names[*host].as_str()).collect();
        hostlist::sort(&mut names);
        hostlist::compress(&names)
    }

    /// `one_to_one, 8 hosts, 5 lengths`.
    fn title(&self) -> String {
        let (hosts, lengths) = (counted(self.header.hosts.count(), "host"), counted(self.lengths, "length"));
        format!("{}, {hosts}, {lengths}", self.header.mode)
    }

    /// The one or two lengths that times are told at.
    fn ends(&self) -> &[Bytes] {
        match &self.inferred.lengths {
            [first, last] if first == last => &self.inferred.lengths[..1],
            both => both,
        }
    }

    /// Times at these lengths, for a table.
    fn times(&self, seconds: &[f64; 2]) -> impl Iterator<Item = String> {
        let shown = |time: &f64| if time.is_nan() { "-".to_owned() } else { Seconds(*time).to_string() };
        seconds[..self.ends().len()].iter().map(shown)
    }

    /// Bytes per second at the longest length.
    fn rate(&self, seconds: &[f64; 2]) -> Option<Rate> {
        let bytes = self.inferred.lengths[1].0;
        (bytes > 0).then(|| Rate(bytes as f64 / seconds[1]))
    }

    /// For people.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Inferred { groups, unplaced, .. } = self.inferred;
        writeln!(out, "{}: {} in the data", self.title(), counted(groups.len(), "group"))?;
        if self.header.hosts.count() < LEAST_HOSTS {
            writeln!(out, "(fewer than {LEAST_HOSTS} hosts are not divided into groups)")?;
        } else if self.inferred.are_pairs_few {
            writeln!(out, "(too few pairs were measured to say who is near whom)")?;
        } else if groups.len() == 1 {
            writeln!(out, "(a flat network, a single switch, or a structure that is no groups, such as a torus)")?;
        }
        writeln!(out, "\ntypical time between two hosts of a group")?;
        self.members(out)?;
        if groups.len() > 1 {
            writeln!(out, "\ntypical time between hosts of two groups")?;
            if groups.len() <= MOST_PAIRED { self.pairs(out)? } else { self.neighbours(out)? }
        }
        if !unplaced.is_empty() {
            let (list, fit) = (self.list(unplaced), if unplaced.len() == 1 { "fits" } else { "fit" });
            writeln!(out, "\n{fit} nowhere: {list} (near no other host)")?;
        }
        self.written.as_ref().map_or(Ok(()), |written| self.compare(written, out))
    }

    fn lengths(&self) -> impl Iterator<Item = String> {
        self.ends().iter().map(|length| format!("at {}", length.counted()))
    }

    fn members(&self, out: &mut dyn Write) -> io::Result<()> {
        let headings = ["group", "hosts"].map(String::from).into_iter().chain(self.lengths());
        let mut table = Table::new(headings.chain(["members".to_owned()])).left(2 + self.ends().len());
        for (number, Found { hosts, inside }) in self.inferred.groups.iter().enumerate() {
            let row = [(number + 1).to_string(), hosts.len().to_string()].into_iter().chain(self.times(inside));
            table.push(row.chain([self.list(hosts)]));
        }
        table.write("  ", out)
    }

    fn pairs(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(["groups".to_owned()].into_iter().chain(self.lengths()));
        for Between { groups: [a, b], seconds } in &self.inferred.between {
            table.push([format!("{}, {}", a + 1, b + 1)].into_iter().chain(self.times(seconds)));
        }
        table.write("  ", out)
    }

    /// For each group the nearest and the farthest other one at each of the lengths.
    fn neighbours(&self, out: &mut dyn Write) -> io::Result<()> {
        let headings = self.lengths().flat_map(|at| [format!("nearest {at}"), format!("farthest {at}")]);
        let mut table = Table::new(["group".to_owned()].into_iter().chain(headings));
        for group in 0..self.inferred.groups.len() {
            let others = || self.inferred.between.iter().filter(|pair| pair.groups.contains(&group));
            let shown = |found: Option<&Between>, end: usize| match found {
                Some(Between { groups: [a, b], seconds }) => {
                    format!("{}: {}", if *a == group { b + 1 } else { a + 1 }, Seconds(seconds[end]))
                }
                None => "-".to_owned(),
            };
            let of_end = |end: usize| {
                let measured = || others().filter(move |pair| !pair.seconds[end].is_nan());
                let order = |a: &&Between, b: &&Between| a.seconds[end].total_cmp(&b.seconds[end]);
                [shown(measured().min_by(order), end), shown(measured().max_by(order), end)]
            };
            let entries = (0..self.ends().len()).flat_map(of_end);
            table.push([(group + 1).to_string()].into_iter().chain(entries));
        }
        table.write("  ", out)?;
        writeln!(out, "(--format json has all pairs)")
    }

    /// What the file says, and where it is contradicted.
    fn compare(&self, written: &Written, out: &mut dyn Write) -> io::Result<()> {
        let Topology { levels, missing } = written.topology;
        writeln!(out, "\n{}: {}", written.name, counted(levels.len(), "level"))?;
        let is_placed = |group: &&Group| !group.hosts.iter().all(|host| missing.contains(host));
        for (number, level) in levels.iter().enumerate() {
            let groups = level.iter().filter(is_placed);
            if number > 0 {
                let names: Vec<_> = groups.map(|group| format!("{} ({})", group.name, group.hosts.len())).collect();
                writeln!(out, "  above: {}", names.join(", "))?;
                continue;
            }
            let mut table = Table::new(["leaf", "hosts", "members"]).left(0).left(2);
            for Group { name, hosts } in groups {
                table.push([name.clone(), hosts.len().to_string(), self.list(hosts)]);
            }
            table.write("  ", out)?;
        }
        if !missing.is_empty() {
            writeln!(out, "  not placed: {}", self.list(missing))?;
        }
        if written.contradictions.is_empty() {
            return writeln!(out, "\nthe data agree with {}", written.name);
        }
        writeln!(out, "\nthe data disagree with {}:", written.name)?;
        for contradiction in written.contradictions {
            writeln!(out, "  {}", self.sentence(written, contradiction))?;
        }
        Ok(())
    }

    fn sentence(&self, written: &Written, contradiction: &Contradiction) -> String {
        let leaves =
            |leaves: &[usize]| enumerated(leaves.iter().map(|leaf| written.leaves[*leaf].name.clone()).collect());
        let seem = |count: usize| if count == 1 { "seems" } else { "seem" };
        match contradiction {
            Contradiction::Elsewhere { hosts, leaf, seems } => {
                let (list, leaf) = (self.list(hosts), &written.leaves[*leaf].name);
                format!("{list} {} to be on {}, not on {leaf}", seem(hosts.len()), leaves(seems))
            }
            Contradiction::Alike { leaves: alike } => format!("{} cannot be distinguished", leaves(alike)),
            Contradiction::Unknown { group, leaves: of } => {
                let list = self.list(&self.inferred.groups[*group].hosts);
                format!(
                    "{} ({list}) stands apart, and the file does not know it: its hosts are on {}",
                    name_of(*group),
                    leaves(of)
                )
            }
            Contradiction::Unplaced { hosts, seems } => {
                let (list, count) = (self.list(hosts), hosts.len());
                format!("{list}, not placed by the file, {} to be on {}", seem(count), leaves(seems))
            }
        }
    }

    /// For programs: the document that `--format json` prints. Times are in seconds; null is "missing".
    pub fn document(&self) -> impl Serialize {
        let names = |hosts: &[usize]| -> Vec<String> {
            hosts.iter().map(|host| self.header.hosts.names()[*host].clone()).collect()
        };
        let groups = self.inferred.groups.iter().enumerate();
        let groups = groups.map(|(number, Found { hosts, inside })| GroupDocument {
            name: name_of(number),
            hosts: names(hosts),
            inside: TimesDocument::of(inside),
        });
        let between = self.inferred.between.iter().map(|Between { groups, seconds }| BetweenDocument {
            groups: groups.map(name_of),
            seconds: TimesDocument::of(seconds),
        });
        let level = |level: &Vec<Group>| -> Vec<LeafDocument> {
            level.iter().map(|group| LeafDocument { name: group.name.clone(), hosts: names(&group.hosts) }).collect()
        };
        let file = self.written.as_ref().map(|written| FileDocument {
            name: written.name.clone(),
            levels: written.topology.levels.iter().map(level).collect(),
            missing: names(&written.topology.missing),
            contradictions: written.contradictions.iter().map(|c| self.contradiction(written, c)).collect(),
        });
        Document {
            schema: "network_test.topology/1",
            run: RunDocument {
                mode: self.header.mode.name(),
                hosts: self.header.hosts.count(),
                ranks: self.header.hosts.ranks(),
                lengths: self.lengths,
                statistic: "median",
            },
            shortest: self.inferred.lengths[0].0,
            longest: self.inferred.lengths[1].0,
            groups: groups.collect(),
            between: between.collect(),
            fit_nowhere: names(&self.inferred.unplaced),
            file,
        }
    }

    fn contradiction(&self, written: &Written, contradiction: &Contradiction) -> ContradictionDocument {
        let names = |hosts: &[usize]| hosts.iter().map(|host| self.header.hosts.names()[*host].clone()).collect();
        let leaves = |leaves: &[usize]| leaves.iter().map(|leaf| written.leaves[*leaf].name.clone()).collect();
        let explanation = self.sentence(written, contradiction);
        let (kind, hosts, told, seems) = match contradiction {
            Contradiction::Elsewhere { hosts, leaf, seems } => {
                ("elsewhere", names(hosts), leaves(&[*leaf]), leaves(seems))
            }
            Contradiction::Alike { leaves: alike } => ("alike", Vec::new(), leaves(alike), Vec::new()),
            Contradiction::Unknown { group, leaves: of } => {
                ("unknown", names(&self.inferred.groups[*group].hosts), leaves(of), vec![name_of(*group)])
            }
            Contradiction::Unplaced { hosts, seems } => ("unplaced", names(hosts), Vec::new(), leaves(seems)),
        };
        ContradictionDocument { kind, hosts, file: told, data: seems, explanation }
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    run: RunDocument,
    /// Bytes.
    shortest: u64,
    /// Bytes.
    longest: u64,
    groups: Vec<GroupDocument>,
    between: Vec<BetweenDocument>,
    fit_nowhere: Vec<String>,
    file: Option<FileDocument>,
}

#[derive(Serialize)]
struct RunDocument {
    mode: &'static str,
    hosts: usize,
    ranks: usize,
    lengths: usize,
    statistic: &'static str,
}

/// Typical seconds.
#[derive(Serialize)]
struct TimesDocument {
    shortest: f64,
    longest: f64,
}

impl TimesDocument {
    fn of(&[shortest, longest]: &[f64; 2]) -> Self {
        Self { shortest, longest }
    }
}

#[derive(Serialize)]
struct GroupDocument {
    name: String,
    hosts: Vec<String>,
    inside: TimesDocument,
}

#[derive(Serialize)]
struct BetweenDocument {
    groups: [String; 2],
    seconds: TimesDocument,
}

#[derive(Serialize)]
struct FileDocument {
    name: String,
    /// `[level][group]`, innermost level first.
    levels: Vec<Vec<LeafDocument>>,
    missing: Vec<String>,
    contradictions: Vec<ContradictionDocument>,
}

#[derive(Serialize)]
struct LeafDocument {
    name: String,
    hosts: Vec<String>,
}

#[derive(Serialize)]
struct ContradictionDocument {
    kind: &'static str,
    hosts: Vec<String>,
    /// Leaves that the file names.
    file: Vec<String>,
    /// Leaves or groups that the data show instead.
    data: Vec<String>,
    explanation: String,
}

#[cfg(test)]
mod tests;

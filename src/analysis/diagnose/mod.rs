//! Names what is slow: hosts, ranks, links and groups, with direction, symptom, size and confidence.
//!
//! In: one [`Run`], or several of the same hosts in different modes. Out: a [`Diagnosis`]. It opens nothing and prints
//! nothing; [`crate::view`] writes what it says.
//!
//! ```text
//! run -> ranks (compared with those beside them) -> folded (hosts, logarithms) -> model (structure, effects, rests)
//!     -> accuse (pods, groups, hosts, links beyond chance) -> judgement (how much, which cells agree)
//!     -> findings (symptom, size in seconds, re-tests)
//! ```
//!
//! * [`folded`], [`model`], [`evidence`]: what the numbers say;
//! * [`accuse`], [`judgement`]: who is to blame for it; the same for times, for their scatter, and for differences of
//!   two runs. A new kind of fault is a file beside `links` and `pods`, and its place in [`accuse::judge`].
//!
//! Time: in proportion to the number of cells. What needs all pairs of hosts again and again, the search for structure
//! (`sample`), and the decomposition (`middles`), looks at some of the cells where there are many; how samples scatter
//! is asked of some partners of every host (`scatter`). Single links are looked for in all cells.
//!
//! Method: robust two-way decomposition in logarithms, per length, against a structure that is found in the data.
//! Contract: a healthy run has a finding with a probability of at most `1 - confidence`, as far as its noise is like
//! the noise seen in it; the sum is split evenly among what is judged separately. Of what is found, the share of false
//! findings is kept as low. Beside it a least size applies ([`accuse::Floors`]), so that a finding is never just
//! significant.

pub mod accuse;
mod bands;
mod by_places;
mod contrast;
pub mod evidence;
mod failed;
mod findings;
pub mod folded;
pub mod judgement;
mod links;
mod logarithms;
mod middles;
pub mod model;
mod one_way;
mod places;
mod pods;
mod polish;
mod ranks;
mod retests;
mod routes;
mod sample;
mod scatter;
mod split;
mod structure;
pub mod stuck;
mod uplinks;
mod ways;

pub(super) use findings::symptom;
pub use findings::{AtLength, Finding, RetestVerdict, Waited};
pub use judgement::Agreement;

use rayon::prelude::*;

use accuse::Floors;
use folded::Folded;
use scatter::Panel;

use super::{directed::Directed, groups};
use crate::{
    plan::Mode,
    record::{BoxError, Run, Statistic},
    stats::median_of,
    units::{Bytes, counted, hostlist},
};

/// What is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Everything, compared with another run.
    Fabric,
    /// Several hosts' common way to all others.
    Group,
    /// A host.
    Node,
    /// One of several ranks of a host.
    Rank,
    /// The path between two hosts.
    Link,
    /// Some of the routes between several hosts and all others.
    Routes,
    /// The way between two groups of hosts.
    Gate,
    /// One rail of several hosts that share its switch.
    Rail,
}

impl Kind {
    /// Name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fabric => "fabric",
            Self::Group => "group",
            Self::Node => "node",
            Self::Rank => "rank",
            Self::Link => "link",
            Self::Routes => "routes",
            Self::Gate => "gate",
            Self::Rail => "rail",
        }
    }
}

/// Which way something is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both ways.
    Both,
    /// What it sends; of a link: from the first host to the second.
    Send,
    /// What it receives.
    Receive,
}

impl Direction {
    /// Name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    /// The effect this way, of which `common` is what both ways have and `side` is what sending has more and receiving
    /// less.
    pub(super) fn effect(self, common: f64, side: f64) -> f64 {
        match self {
            Self::Both => common,
            Self::Send => common + side,
            Self::Receive => common - side,
        }
    }
}

/// How it is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symptom {
    /// About the same time more, whatever the length.
    Latency,
    /// More time the longer the message.
    Bandwidth,
    /// The median is usual, but samples scatter.
    Jitter,
    /// Slow only while it sends and receives at once.
    Duplex,
    /// Slow only while others communicate.
    Noise,
    /// No exchange succeeds.
    Silent,
    /// A share of the exchanges fails or times out.
    Lossy,
    /// Payloads arrive changed.
    Damaged,
}

impl Symptom {
    /// Name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Jitter => "jitter",
            Self::Duplex => "duplex",
            Self::Noise => "noise",
            Self::Silent => "silent",
            Self::Lossy => "lossy",
            Self::Damaged => "damaged",
        }
    }
}

/// What times are taken to be made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Factors of hosts, groups and pairs that multiply.
    #[default]
    Factors,
    /// Distances and places, of which the slowest counts.
    Places,
}

/// What the detector is asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What times are taken to be made of.
    pub model: Model,
    /// Probability with which a healthy run has no finding.
    pub confidence: f64,
    /// The group of every host of the first run, `[host]`, where somebody knows them; else they are found in the data.
    pub groups: Option<Vec<usize>>,
}

/// A run that was judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its mode.
    pub mode: Mode,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of ranks.
    pub ranks: usize,
    /// Its message lengths.
    pub lengths: Vec<Bytes>,
    /// Scatter of a pair's median about what its hosts and groups explain, a share of the time; the middle over
    /// lengths.
    pub noise: f64,
    /// Share of the pairs of hosts that were measured.
    pub measured: f64,
}

/// What is worth knowing and no fault.
#[derive(Clone, Debug)]
pub enum Remark {
    /// Slow only while others communicate: these share a way, or fewer cables are left than there should be.
    Load(Finding),
    /// Slow, but by what a single measurement cannot tell from others on the same way.
    Again(Vec<Finding>),
    /// Hosts differ by design: those that take longer, and how many times as long.
    Kinds {
        /// The mode in which it shows.
        mode: Mode,
        /// Names.
        hosts: Vec<String>,
        /// How many times as long.
        ratio: f64,
    },
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The runs, in the order in which they were given.
    pub runs: Vec<Judged>,
    /// Names of hosts, `[host]`, of the first run.
    pub hosts: Vec<String>,
    /// The group of every host, `[host]`; the largest group first, unless somebody named them.
    pub group: Vec<usize>,
    /// By weight.
    pub findings: Vec<Finding>,
    /// What is worth knowing and no fault.
    pub remarks: Vec<Remark>,
    /// Why the measurement cannot be judged, or not in full; empty where it can.
    pub invalid: Vec<String>,
    /// The confidence that was asked for.
    pub confidence: f64,
}

impl Diagnosis {
    /// `healthy`, `findings` or `invalid`: findings count although a part of the measurement cannot be judged.
    pub fn verdict(&self) -> &'static str {
        match (self.findings.is_empty(), self.invalid.is_empty()) {
            (false, _) => "findings",
            (true, true) => "healthy",
            (true, false) => "invalid",
        }
    }
}

/// Fewest hosts that can be compared: of three, nobody could say which one is different.
const LEAST_HOSTS: usize = 4;

/// Noise beyond which a run is too disturbed to be judged.
const MOST_NOISE: f64 = 0.35;

/// Why a diagnosis cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiagnoseError {
    /// Runs of different hosts.
    #[error(
        "the runs are not of the same hosts in the same order: {0}, and {1}; diagnose them one by one, or use `compare`"
    )]
    DifferentHosts(String, String),
    /// No median.
    #[error("the run has no median")]
    NoMedian,
}

/// Judges runs of the same hosts together.
pub fn diagnose(runs: &[&dyn Run], options: &Options) -> Result<Diagnosis, BoxError> {
    let directed: Vec<_> = runs.iter().map(|run| Directed::new(*run)).collect();
    let runs: &[&dyn Run] = &directed.iter().map(|run| run as &dyn Run).collect::<Vec<_>>();
    runs.iter().try_for_each(|run| same_hosts(runs[0], *run))?;
    let names = runs[0].header().hosts.names().to_vec();
    let mut diagnosis = Diagnosis {
        runs: Vec::new(),
        group: vec![0; names.len()],
        hosts: names,
        findings: Vec::new(),
        remarks: Vec::new(),
        invalid: Vec::new(),
        confidence: options.confidence,
    };
    // The times and the scatter of every run, its ranks, and what two modes say together, are judged by themselves.
    let judged: usize = runs.iter().map(|run| 2 + usize::from(run.ranks() > run.header().hosts.count())).sum();
    let confidence = 1.0 - (1.0 - options.confidence) / (judged + contrast::twins(runs).count()) as f64;
    let is_twin = contrast::twins(runs).next().is_some();
    let mut known = options.groups.clone();
    let mut times = Vec::new();
    for run in runs {
        if !run.statistics().contains(&Statistic::Median) {
            return Err(DiagnoseError::NoMedian.into());
        }
        if let Some(reason) = unusable(*run)? {
            diagnosis.invalid.push(reason);
            times.push(None);
            continue;
        }
        let judge = match options.model {
            Model::Factors => judge_run,
            Model::Places => by_places::judge_run,
        };
        let (folded, group) = judge(*run, (known.as_deref(), is_twin), confidence, &mut diagnosis)?;
        known.get_or_insert(group);
        times.push(Some(folded));
    }
    if let Some(group) = known {
        contrast::judge(runs, &times, &group, confidence, &mut diagnosis);
        diagnosis.group = group;
    }
    let modes: Vec<Mode> = runs.iter().map(|run| run.header().mode).collect();
    findings::order(&mut diagnosis.findings, &modes);
    Ok(diagnosis)
}

fn same_hosts(first: &dyn Run, other: &dyn Run) -> Result<(), DiagnoseError> {
    let name = |run: &dyn Run| {
        let hosts = &run.header().hosts;
        let mut names = hosts.names().to_vec();
        names.sort_unstable();
        let names = hostlist::compress(&names);
        format!("{} on {names} ({})", run.header().mode, counted(hosts.count(), "host"))
    };
    match first.header().hosts.names() == other.header().hosts.names() {
        true => Ok(()),
        false => Err(DiagnoseError::DifferentHosts(name(first), name(other))),
    }
}

/// Why a run cannot be judged at all.
fn unusable(run: &dyn Run) -> Result<Option<String>, BoxError> {
    let (mode, hosts) = (run.header().mode, run.header().hosts.count());
    if run.lengths().is_empty() {
        return Ok(Some(format!("{mode}: no message length is finished yet")));
    }
    if hosts < LEAST_HOSTS {
        let hosts = counted(hosts, "host");
        return Ok(Some(format!("{mode}: {hosts}; it takes {LEAST_HOSTS} to say which one is different")));
    }
    Ok(None)
}

/// Why hosts and links that are slow both ways cannot be told. `measured`: the share of the pairs.
fn not_understood(mode: Mode, measured: f64) -> String {
    let what = "what is slow both ways cannot be told from what is far";
    match (100.0 * measured).round() {
        100.0 => format!("{mode}: no groups of hosts explain the times: {what}; name the switches with --topology"),
        percent => format!(
            "{mode}: only {percent} % of the pairs were measured: {what}; measure more rounds, or name the switches with \
             --topology"
        ),
    }
}

/// Judges ranks, times and scatter of one run; returns its times by hosts, with pairs if that `is_twin`, and the group
/// of every host.
fn judge_run(
    run: &dyn Run,
    (known, is_twin): (Option<&[usize]>, bool),
    confidence: f64,
    diagnosis: &mut Diagnosis,
) -> Result<(Folded, Vec<usize>), BoxError> {
    let mode = run.header().mode;
    let is_left_out = ranks::judge(run, confidence, diagnosis)?;
    let (folded, scatter) = scatter::read_with_times(run, &is_left_out)?;
    let (hosts, measured) = (folded.hosts(), folded.measured());
    // Taking a run apart needs the room that its pairs have.
    let times = if is_twin { folded.clone() } else { folded.without_pairs() };
    let mut judgement = accuse::judge(folded, known, confidence, Floors::OF_TIMES);
    let many_links = routes::set_aside(mode, &mut judgement, &times.names);
    let fit = &judgement.fit;
    let noise = median_of(fit.lengths.iter().map(|length| length.noise.hypot(length.side_noise)), &mut vec![]);
    diagnosis.runs.push(Judged { mode, hosts, ranks: run.ranks(), lengths: times.lengths.clone(), noise, measured });
    if noise > MOST_NOISE {
        let percent = (100.0 * noise).round();
        diagnosis.invalid.push(format!("{mode}: pairs scatter by {percent} %: too noisy to be judged"));
    } else {
        if !fit.is_understood {
            diagnosis.invalid.push(not_understood(mode, measured));
        }
        diagnosis.invalid.extend(many_links);
        diagnosis.findings.extend(findings::of_times(run, &times, &judgement)?);
    }
    let group = judgement.fit.group.clone();
    drop(judgement);
    diagnosis.findings.extend(failed::find(run, &group, 1.0 - confidence)?);
    let confidence = 1.0 - (1.0 - confidence) / scatter.len().max(1) as f64;
    let judge = |Panel { hosts, folded }: Panel| {
        let levels = folded.without_pairs();
        let of_panel = groups::by_size(&hosts.iter().map(|host| group[*host]).collect::<Vec<_>>());
        (levels, accuse::judge(folded, Some(&of_panel), confidence, Floors::OF_SCATTER))
    };
    let judged: Vec<_> = scatter.into_par_iter().map(judge).collect();
    judged.iter().for_each(|(levels, judgement)| findings::add_jitter(mode, levels, judgement, diagnosis));
    Ok((times, group))
}

#[cfg(test)]
mod tests;

//! Names what is slow: hosts, ranks, links and groups, with direction, symptom, size and confidence.
//!
//! In: one [`Run`], or several of the same hosts in different modes. Out: a [`Diagnosis`]. It opens nothing and prints
//! nothing; [`crate::view`] writes what it says.
//!
//! ```text
//! run -> ranks (compared with those of their host) -> folded (hosts, logarithms)
//!     -> places (distances, places that are slow beyond chance) -> rails (ranks of one place, leaf by leaf)
//!     -> by_places (symptom, size in seconds, re-tests)
//! ```
//!
//! * [`folded`]: what the numbers say; `places`: the model of times, and which places are slow; `failed`, `stuck`: what
//!   never arrived. A new place is a function there and a line in its search.
//! * `contrast`: the difference of two modes, judged by the same model, as [`super::compare`] judges that of two runs.
//!
//! Time: in proportion to the number of cells; how samples scatter is asked of some partners of every host (`scatter`).
//!
//! Contract: a healthy run has a finding with a probability of at most `1 - confidence`, as far as its noise is like
//! the noise seen in it; the sum is split evenly among what is judged separately. A least size applies as well, so that
//! a finding is never just significant.

mod by_places;
mod contrast;
mod failed;
mod findings;
pub mod folded;
pub(super) mod places;
mod rails;
mod ranks;
mod scatter;
pub mod stuck;

pub use findings::{Agreement, AtLength, Finding, RetestVerdict, Waited};
pub(super) use findings::{by_weight, symptom};

use super::directed::Directed;
use crate::{
    plan::Mode,
    record::{BoxError, Run, Statistic},
    units::{Bytes, counted, hostlist},
};

/// What is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Everything, compared with another run; what is at no place that can be named; a way that some pairs share and that
    /// cannot be named; hosts of a broadcast of which one makes the others late.
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
    /// The cable between two neighbours on a torus, which other pairs' routes take too.
    Cable,
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
            Self::Cable => "cable",
            Self::Rail => "rail",
        }
    }

    /// Whether its hosts are a source and a destination: their order says something.
    pub fn is_of_pair(self) -> bool {
        matches!(self, Self::Link | Self::Cable)
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

    /// The same seen from the other end.
    pub(super) fn reversed(self) -> Self {
        match self {
            Self::Both => Self::Both,
            Self::Send => Self::Receive,
            Self::Receive => Self::Send,
        }
    }

    /// Of both ways each, else the one that it is.
    pub(super) fn ways(self) -> Vec<Self> {
        if self == Self::Both { vec![Self::Send, Self::Receive] } else { vec![self] }
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

    /// What counts this way of what is seen outward and inward; of both ways the one that is known.
    pub(super) fn of(self, out: f64, into: f64) -> f64 {
        match self {
            Self::Send => out,
            Self::Receive => into,
            Self::Both if out.is_nan() => into,
            Self::Both if into.is_nan() => out,
            Self::Both => (out + into) / 2.0,
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

/// What the detector is asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
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
    /// Hosts of which no pair was measured, whatever the reason.
    pub unmeasured: Vec<String>,
}

/// What is worth knowing and no fault.
#[derive(Clone, Debug)]
pub enum Remark {
    /// Slow only while others communicate: these share a way, or fewer cables are left than there should be.
    Load(Finding),
    /// Slow, but by what a single measurement cannot distinguish from others on the same way.
    Again(Vec<Finding>),
    /// Most pairs took longer for a part of the time, which is left out.
    Busy {
        /// The mode in which it shows.
        mode: Mode,
        /// First and last length at which it shows.
        lengths: (Bytes, Bytes),
        /// How many times as long.
        ratio: f64,
        /// Share of the time of these lengths.
        share: f64,
    },
    /// Hosts are in two groups, between which messages take longer: nobody can say whether they should.
    Halves {
        /// The mode in which it shows.
        mode: Mode,
        /// Names of the hosts of both.
        hosts: [Vec<String>; 2],
        /// The length at which it shows most.
        length: Bytes,
        /// How many times as long as inside them.
        ratio: f64,
    },
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

/// Fewest hosts that can be compared: three have three pairs, as many as there are numbers that hosts add, and nothing is
/// left that could say which one is different; four have six.
pub const LEAST_HOSTS: usize = 4;

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
    let confidence = 1.0 - (1.0 - options.confidence) / (judged + contrast::contrasts(runs).count()) as f64;
    let is_contrasted = contrast::contrasts(runs).next().is_some();
    let mut known = options.groups.clone();
    let mut times = Vec::new();
    for run in runs {
        if !run.statistics().contains(&Statistic::Median) {
            return Err(DiagnoseError::NoMedian.into());
        }
        if let Some(reason) = unusable(*run)? {
            diagnosis.invalid.push(reason);
            // What was tried and failed needs no peers to be compared with.
            diagnosis.findings.extend(failed::find(*run, &diagnosis.group, 1.0 - confidence)?);
            times.push(None);
            continue;
        }
        let (folded, group) =
            by_places::judge_run(*run, (known.as_deref(), is_contrasted), confidence, &mut diagnosis)?;
        known.get_or_insert(group);
        times.push(Some(folded));
    }
    if let Some(group) = known {
        contrast::judge(runs, &times, &group, confidence, &mut diagnosis);
        diagnosis.group = group;
    }
    let of_remarks = diagnosis.remarks.iter_mut().flat_map(|remark| match remark {
        Remark::Load(finding) => std::slice::from_mut(finding),
        Remark::Again(findings) => findings,
        _ => &mut [],
    });
    diagnosis.findings.iter_mut().chain(of_remarks).for_each(Finding::sort_names);
    let modes: Vec<Mode> = runs.iter().map(|run| run.header().mode).collect();
    findings::order(&mut diagnosis.findings, &modes);
    leave_out_found(&mut diagnosis);
    Ok(diagnosis)
}

/// Leaves out of what is to be measured again what is a finding by other lengths, routes or modes.
fn leave_out_found(diagnosis: &mut Diagnosis) {
    let Diagnosis { findings, remarks, .. } = diagnosis;
    let is_found = |place: &Finding| {
        let is_this =
            |found: &Finding| (found.kind, &found.hosts, &found.toward) == (place.kind, &place.hosts, &place.toward);
        let is_way = |found: &Finding| [place.direction, Direction::Both].contains(&found.direction);
        findings.iter().any(|found| is_this(found) && is_way(found))
    };
    remarks.retain_mut(|remark| match remark {
        Remark::Again(places) => {
            places.retain(|place| !is_found(place));
            !places.is_empty()
        }
        _ => true,
    });
}

fn same_hosts(first: &dyn Run, other: &dyn Run) -> Result<(), DiagnoseError> {
    let name = |run: &dyn Run| {
        let hosts = &run.header().hosts;
        let mut names = hosts.names().to_vec();
        hostlist::sort(&mut names);
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

#[cfg(test)]
mod tests;

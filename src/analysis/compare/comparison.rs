//! What comes out of comparing two runs: values only.

use super::{classes::ClassChange, join::JoinedLength};
use crate::{
    analysis::diagnose::{Agreement, AtLength, Direction, Kind, Symptom},
    plan::Mode,
    record::Statistic,
    units::Bytes,
};

/// What counts as a change.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Statistic of every pair, in seconds.
    pub statistic: Statistic,
    /// Least change, as a share: 0.05 is 5 %.
    pub threshold: f64,
    /// Probability with which two runs of a healthy machine differ in nothing.
    pub confidence: f64,
}

/// Which pairs changed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// All pairs of hosts.
    All,
    /// Hosts of one group.
    InsideGroups,
    /// Hosts of different groups.
    BetweenGroups,
    /// Ranks of one host.
    InsideHosts,
}

impl Pairs {
    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::InsideGroups => "inside_groups",
            Self::BetweenGroups => "between_groups",
            Self::InsideHosts => "inside_hosts",
        }
    }

    /// Whether pairs of hosts in the same group are meant, or in different ones.
    pub(super) fn contains(self, is_same_group: bool) -> bool {
        match self {
            Self::All => true,
            Self::InsideGroups => is_same_group,
            Self::BetweenGroups => !is_same_group,
            Self::InsideHosts => false,
        }
    }
}

/// Who or what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A place of the machine.
    Place(Kind),
    /// A host of which no exchange succeeds any more.
    Silent,
    /// Many pairs alike.
    Pairs(Pairs),
}

impl Subject {
    /// In the words of the diagnosis of one run.
    pub fn kind(self) -> Kind {
        match self {
            Self::Place(kind) => kind,
            Self::Silent => Kind::Node,
            Self::Pairs(_) => Kind::Fabric,
        }
    }
}

/// One finding: what changed, by how much, and how sure that is.
#[derive(Clone, Debug)]
pub struct Change {
    /// Who or what.
    pub subject: Subject,
    /// Names: one host; source and destination; members of a group; of both groups of a way between two; none for many
    /// pairs alike.
    pub hosts: Vec<String>,
    /// Of a way between two sets: those of the second one.
    pub toward: Vec<String>,
    /// Which way.
    pub direction: Direction,
    /// Else it is faster.
    pub is_slower: bool,
    /// What part of the time; `None` for a host that is silent.
    pub symptom: Option<Symptom>,
    /// First and last length, bytes in the base run.
    pub lengths: (Bytes, Bytes),
    /// New time in units of the base run's; infinite for a host that is silent.
    pub ratio: f64,
    /// The largest difference at one of these lengths, new time minus base time, seconds, for the middle one of the
    /// pairs that are meant.
    pub extra_seconds: f64,
    /// 1 minus the probability that two healthy runs differ like this somewhere.
    pub confidence: f64,
    /// Ordered pairs of hosts that changed by at least half as much, of all that are meant; hosts for pairs inside
    /// hosts.
    pub cells: Agreement,
    /// Of what changed with some partners or on some routes only: the share of them.
    pub share: Option<f64>,
    /// At every length: the usual time is that of the base run. Empty for a host that is silent.
    pub curve: Vec<AtLength>,
}

/// What all pairs have in common at one length.
#[derive(Clone, Debug)]
pub struct FabricChange {
    /// In both runs.
    pub length: JoinedLength,
    /// Median over pairs of hosts, seconds.
    pub base_seconds: f64,
    /// Median over pairs of hosts, seconds.
    pub new_seconds: f64,
    /// Median of the pairs' ratios, new in units of base, without what a group's way explains.
    pub ratio: f64,
    /// Ratios of parts of the pairs, where both runs have them.
    pub parts: Vec<(Pairs, f64)>,
    /// Whether the change of all pairs, or of a part, is more than noise and more than the threshold.
    pub is_significant: bool,
}

/// A host that is near others than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its name.
    pub host: String,
    /// Its group in the base run, without itself.
    pub from: Vec<String>,
    /// Its group in the new run, without itself.
    pub to: Vec<String>,
}

/// The answer in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing differs by more than the threshold and noise.
    Unchanged,
    /// Something became slower.
    Regression,
    /// Something became faster, nothing slower.
    Improvement,
    /// Too few hosts or pairs are in both runs, or most hosts of the base run are not in the new one and nothing became
    /// slower.
    Incomparable,
}

impl Verdict {
    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Regression => "regression",
            Self::Improvement => "improvement",
            Self::Incomparable => "incomparable",
        }
    }
}

/// What changed between two runs.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Mode of both.
    pub mode: Mode,
    /// What was asked for.
    pub settings: Settings,
    /// The answer in a word.
    pub verdict: Verdict,
    /// Lengths that both runs have, ascending.
    pub lengths: Vec<JoinedLength>,
    /// Hosts of both runs, in the order of the base run.
    pub shared: Vec<String>,
    /// Ordered pairs of hosts of which an exchange fails in the new run, and none failed in the base run.
    pub failed_pairs: usize,
    /// Ordered pairs of hosts of which payloads arrive damaged at a length at which none did in the base run.
    pub damaged_pairs: usize,
    /// Hosts of the new run only.
    pub new_hosts: Vec<String>,
    /// Hosts of the base run only.
    pub lost_hosts: Vec<String>,
    /// Hosts that are near others than they were.
    pub moved: Vec<Moved>,
    /// `[length]`; empty where the runs are incomparable.
    pub fabric: Vec<FabricChange>,
    /// What became slower by weight, then what became faster.
    pub findings: Vec<Change>,
    /// Classes of pairs, where single hosts cannot be compared; else empty.
    pub classes: Vec<ClassChange>,
    /// What a reader should know.
    pub notices: Vec<String>,
}

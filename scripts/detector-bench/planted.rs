//! The truth about a case: what was planted, and which words about it are right.

use netmatrix::units::Rank;

/// What a finding may say.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Any of these kinds.
    pub kinds: &'static [&'static str],
    /// Exactly these hosts, in any order; of a link that is slow one way: source, destination.
    pub hosts: Vec<String>,
    /// Any of these ranks, where it is about ranks.
    pub ranks: Vec<Rank>,
    /// Any of these directions; the first is the one that was planted.
    pub directions: &'static [&'static str],
}

/// What shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Messages take longer: latency or bandwidth.
    Slow(&'static str),
    /// Samples scatter.
    Jitter,
    /// Exchanges fail.
    Lost,
    /// Payloads arrive damaged.
    Damaged,
}

impl Sign {
    /// Whether a finding with this symptom is about the same thing.
    pub fn is_of(self, symptom: &str) -> bool {
        let is_failure = matches!(symptom, "silent" | "lossy" | "damaged");
        match self {
            Self::Slow(_) => !is_failure && symptom != "jitter",
            Self::Jitter => symptom == "jitter",
            Self::Lost => matches!(symptom, "silent" | "lossy"),
            Self::Damaged => symptom == "damaged",
        }
    }
}

/// Something that was planted, at a place of its own.
#[derive(Clone, Debug)]
pub struct Planted {
    /// For people.
    pub words: String,
    pub sign: Sign,
    /// Numbers of the faults that make it up.
    pub faults: Vec<usize>,
    /// Words that name it.
    pub answers: Vec<Answer>,
    /// Words that are not wrong, but do not name it either.
    pub tolerated: Vec<Answer>,
    /// A remark names it as well as a finding.
    pub may_be_remark: bool,
    /// Nobody could name it: no finding is right too.
    pub may_be_silent: bool,
    /// By how many standard errors it stands out.
    pub sigma: f64,
    /// Numbers of lengths at which its range may begin, and may end; none where nobody can say.
    pub range: Option<[(usize, usize); 2]>,
}

impl Planted {
    pub fn new(words: String, sign: Sign, faults: Vec<usize>, answers: Vec<Answer>) -> Self {
        Self {
            words,
            sign,
            faults,
            answers,
            tolerated: Vec::new(),
            may_be_remark: false,
            may_be_silent: false,
            sigma: 0.0,
            range: None,
        }
    }
}

/// A host.
pub const NODE: &[&str] = &["node", "host"];
/// A rank; its host, and its number in `rank` or `ranks`.
pub const RANK: &[&str] = &["rank"];
/// The way between two hosts: source, destination.
pub const LINK: &[&str] = &["link"];
/// The uplink of a leaf: its hosts.
pub const GROUP: &[&str] = &["group", "leaf", "uplink"];
/// The uplink of a pod: its hosts.
pub const POD: &[&str] = &["pod", "group"];
/// Some routes of a leaf: the hosts of the leaf.
pub const ROUTES: &[&str] = &["routes"];
/// A card of a host with several: the host.
pub const RAIL: &[&str] = &["rail"];
/// The switch of a rail: the hosts on it.
pub const GROUP_RAIL: &[&str] = &["rail", "group"];
/// A cable of a torus: the hosts at its ends.
pub const CABLE: &[&str] = &["cable"];
/// The cable between two groups of a dragonfly: the hosts of one of them, or of both.
pub const GATE: &[&str] = &["gate", "cable"];
/// One of two parts that cannot reach each other, or all.
pub const HALVES: &[&str] = &["group", "fabric", "pod", "leaf", "uplink"];

pub const BOTH: &[&str] = &["both"];
pub const SEND: &[&str] = &["send"];
pub const RECEIVE: &[&str] = &["receive"];
pub const ANY: &[&str] = &["both", "send", "receive"];

/// The words for what goes out, comes in, or both.
pub fn direction(out: bool, into: bool) -> &'static [&'static str] {
    match (out, into) {
        (true, false) => SEND,
        (false, true) => RECEIVE,
        _ => BOTH,
    }
}

/// What is true about a run.
pub struct Truth {
    pub planted: Vec<Planted>,
    /// For people: what kind of machine, how it was measured.
    pub context: String,
    /// Bytes of its messages, ascending.
    pub lengths: Vec<u64>,
    /// A run that cannot be judged is as right as one that is healthy.
    pub may_be_invalid: bool,
}

/// A run, and the truth about it.
pub struct Case {
    pub truth: Truth,
    pub run: netmatrix::record::MemoryRun,
}

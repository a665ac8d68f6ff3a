//! What ranks say when they wait in vain: `<prefix>_stuck.txt`, written line by line, and read back.
//!
//! In: a [`Wait`] of one rank. Out: one line of `key=value` words, appended in one piece, because the rank that writes
//! it can rely on nobody else any more; and from such a file a [`Stuck`]. Nothing here decides what is stuck.
//!
//! ```text
//! # network_test.stuck/1
//! time=2026-11-22T12:03:53Z rank=0 host=n0 phase=exchange waits_for=2 hosts=n2 silent= silent_hosts= mode=one_to_one length=1024 round=3 sample=16 seconds=10.3 outcome=ended
//! # n2 answers nobody: 3 ranks wait for it
//! ```
//!
//! `waits_for` and `hosts` have one word per rank, with commas between; they are empty where a rank waits for all others
//! or cannot know for whom. `silent` are the ranks whose process gives no sign of life at all. `length` is in bytes;
//! `mode`, `length`, `round` and `sample` are missing where they have no meaning. `outcome` is `ended` where the job was
//! ended, `skipped` where the pair's cells were given up and the run went on, `joined` where a rank says what it waits for
//! because another one has found that the job is stuck. Bytes of host names that would end a word
//! are written as `%` and two hexadecimal digits. Lines that begin with `#` are for people. Unknown keys are left out,
//! and so is a line that was cut off.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    paths::{STUCK, extended},
};
use crate::{
    plan::Mode,
    units::{Bytes, Hosts, Rank},
};

/// First line of a file.
const HEADING: &str = "# network_test.stuck/1\n";

/// Most of a file that is read: some hundred bytes for each rank of the largest run.
const LONGEST: u64 = 64 << 20;

/// What a rank waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A few exchanges before a run, from which its time is forecast.
    Probe,
    /// For its turn, while other pairs are measured.
    Token,
    /// For the other rank of its pair, or for those that make noise, before the pair is measured.
    Handshake,
    /// The exchanges of a pair.
    Exchange,
    /// The exchanges of all ranks with all.
    Collective,
    /// Messages that disturb a pair.
    Noise,
    /// Until all ranks have come to one place.
    Barrier,
    /// Until all ranks have said whether they want to go on.
    Agreement,
    /// Bringing results to the root.
    Gathering,
    /// The root writes files.
    Writing,
    /// Learning common time.
    Clock,
    /// Making or giving back memory that others may access.
    Window,
    /// Anything else at the beginning or the end of a run.
    Setup,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 13] = [
        Self::Probe,
        Self::Token,
        Self::Handshake,
        Self::Exchange,
        Self::Collective,
        Self::Noise,
        Self::Barrier,
        Self::Agreement,
        Self::Gathering,
        Self::Writing,
        Self::Clock,
        Self::Window,
        Self::Setup,
    ];

    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Token => "token",
            Self::Handshake => "handshake",
            Self::Exchange => "exchange",
            Self::Collective => "collective",
            Self::Noise => "noise",
            Self::Barrier => "barrier",
            Self::Agreement => "agreement",
            Self::Gathering => "gathering",
            Self::Writing => "writing",
            Self::Clock => "clock",
            Self::Window => "window",
            Self::Setup => "setup",
        }
    }

    /// Whether a rank waits here for the very ranks that it names, and for nobody else's work.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Probe | Self::Handshake | Self::Exchange | Self::Noise | Self::Clock)
    }
}

/// What became of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitOutcome {
    /// The job was ended.
    Ended,
    /// The pair's cells were given up, and the run went on.
    Skipped,
    /// Nothing was wrong with this wait, but another rank had found that the job was stuck.
    Joined,
}

impl WaitOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Skipped => "skipped",
            Self::Joined => "joined",
        }
    }
}

/// A rank that has waited for too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// When it was written: UTC, RFC 3339.
    pub time: String,
    /// Who waits.
    pub rank: Rank,
    /// Where.
    pub host: String,
    /// In what.
    pub phase: Phase,
    /// For whom, with their hosts; empty: all others, or unknown.
    pub waits_for: Vec<(Rank, String)>,
    /// Ranks whose processes give no sign of life, with their hosts.
    pub silent: Vec<(Rank, String)>,
    /// In which mode, once one has begun.
    pub mode: Option<Mode>,
    /// At which message length.
    pub length: Option<Bytes>,
    /// In which round of the length.
    pub round: Option<usize>,
    /// Behind how many exchanges of the pair.
    pub sample: Option<u64>,
    /// For how long, seconds.
    pub seconds: f64,
    /// What became of it.
    pub outcome: WaitOutcome,
}

impl Wait {
    /// The line of the file, with its end.
    pub fn line(&self) -> String {
        let mut words = vec![
            format!("time={}", self.time),
            format!("rank={}", self.rank),
            format!("host={}", escaped(&self.host)),
            format!("phase={}", self.phase.name()),
        ];
        words.extend(listed("waits_for", "hosts", &self.waits_for));
        words.extend(listed("silent", "silent_hosts", &self.silent));
        words.extend(self.mode.map(|mode| format!("mode={mode}")));
        words.extend(self.length.map(|length| format!("length={}", length.0)));
        words.extend(self.round.map(|round| format!("round={round}")));
        words.extend(self.sample.map(|sample| format!("sample={sample}")));
        words.push(format!("seconds={:.1}", self.seconds));
        words.push(format!("outcome={}", self.outcome.name()));
        words.join(" ") + "\n"
    }

    fn from_line(line: &str) -> Option<Self> {
        let word = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        Some(Self {
            time: word("time").filter(|time| humantime::parse_rfc3339(time).is_ok())?.to_owned(),
            rank: word("rank")?.parse().ok()?,
            host: unescaped(word("host")?),
            phase: Phase::ALL.into_iter().find(|phase| Some(phase.name()) == word("phase"))?,
            waits_for: list(word("waits_for")?, word("hosts")?)?,
            silent: list(word("silent")?, word("silent_hosts")?)?,
            mode: word("mode").and_then(|mode| mode.parse().ok()),
            length: word("length").and_then(|length| length.parse().ok()).map(Bytes),
            round: word("round").and_then(|round| round.parse().ok()),
            sample: word("sample").and_then(|sample| sample.parse().ok()),
            seconds: word("seconds")?.parse().ok().filter(|seconds: &f64| seconds.is_finite())?,
            outcome: [WaitOutcome::Ended, WaitOutcome::Skipped, WaitOutcome::Joined]
                .into_iter()
                .find(|outcome| Some(outcome.name()) == word("outcome"))?,
        })
    }
}

fn listed(ranks: &str, hosts: &str, list: &[(Rank, String)]) -> [String; 2] {
    let numbers: Vec<_> = list.iter().map(|(rank, _)| rank.to_string()).collect();
    let names: Vec<_> = list.iter().map(|(_, host)| escaped(host)).collect();
    [format!("{ranks}={}", numbers.join(",")), format!("{hosts}={}", names.join(","))]
}

fn list(ranks: &str, hosts: &str) -> Option<Vec<(Rank, String)>> {
    if ranks.is_empty() {
        return Some(Vec::new());
    }
    let ranks: Vec<Rank> = ranks.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    let hosts: Vec<_> = hosts.split(',').map(unescaped).collect();
    (ranks.len() == hosts.len()).then(|| ranks.into_iter().zip(hosts).collect())
}

/// A name that is one word of a line, whatever it contains.
fn escaped(name: &str) -> String {
    name.chars()
        .map(|letter| match letter {
            '%' | ',' | '=' => format!("%{:02x}", u32::from(letter)),
            letter if letter.is_whitespace() || letter.is_control() => {
                letter.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02x}")).collect()
            }
            letter => letter.to_string(),
        })
        .collect()
}

fn unescaped(word: &str) -> String {
    let bytes = word.as_bytes();
    let mut name = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| word.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                name.push(byte);
                at += 3;
            }
            None => {
                name.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&name).into_owned()
}

/// The waits of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stuck {
    /// In the order in which they were written.
    pub waits: Vec<Wait>,
}

impl Stuck {
    /// Reads the text of a file. Lines that are none of ours are left out.
    pub fn parse(text: &str) -> Self {
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        Self { waits: lines.filter_map(Wait::from_line).collect() }
    }

    /// Its lines, as [`Stuck::parse`] reads them.
    pub fn text(&self) -> String {
        self.waits.iter().map(Wait::line).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// What a run that goes on leaves out: pairs that were stuck in their exchange, or that did not answer, although the
    /// other's process was alive; hosts that were in several of them; collective exchanges. A process that gave no sign
    /// of life says nothing about its cables: its pairs are measured again.
    pub fn avoided(&self) -> Avoided {
        let mut avoided = Avoided::default();
        let mut met: Vec<(Mode, &str, &str, Bytes)> = Vec::new();
        for wait in self.waits.iter().filter(|wait| wait.outcome != WaitOutcome::Joined) {
            let (Some(mode), Some(length)) = (wait.mode, wait.length) else { continue };
            match (wait.phase, &wait.waits_for[..]) {
                (Phase::Exchange | Phase::Handshake | Phase::Probe, [(other, host)])
                    if wait.silent.iter().all(|(silent, _)| silent != other) =>
                {
                    avoided.pairs.push((mode, wait.rank, *other, length));
                    met.push((mode, host, &wait.host, length));
                    met.push((mode, &wait.host, host, length));
                }
                // The root of a broadcast waits for others, and they for it: they say whose it was.
                (Phase::Collective, root) if wait.silent.is_empty() && (mode != Mode::Bcast || !root.is_empty()) => {
                    avoided.rounds.push((mode, root.first().map(|(root, _)| *root), length));
                }
                _ => {}
            }
        }
        for (mode, host, _, _) in &met {
            let of_host = || met.iter().filter(|(of, one, other, _)| (of, one) == (mode, host) && one != other);
            let others: BTreeSet<_> = of_host().map(|(_, _, other, _)| other).collect();
            let from = of_host().map(|(_, _, _, length)| *length).min();
            if let (2.., Some(from)) = (others.len(), from)
                && !avoided.hosts.iter().any(|(of, known, _)| (of, known.as_str()) == (mode, host))
            {
                avoided.hosts.push((*mode, (*host).to_owned(), from));
            }
        }
        avoided
    }

    /// For which hosts ranks of other hosts wait, or of which no process gives a sign of life; the one most waited for
    /// first. With each of them the ranks that wait for it.
    pub fn hosts(&self) -> Vec<(String, Vec<Rank>)> {
        let mut hosts: Vec<(String, Vec<Rank>)> = Vec::new();
        // A launcher wakes what was frozen, to end it: what such a rank says then is no evidence.
        let woken = |rank: Rank| self.waits.iter().any(|wait| wait.silent.iter().any(|(silent, _)| *silent == rank));
        for wait in self.waits.iter().filter(|wait| !woken(wait.rank)) {
            for (_, host) in wait.waits_for.iter().chain(&wait.silent).filter(|(_, host)| *host != wait.host) {
                let place = hosts.iter().position(|(name, _)| name == host).unwrap_or_else(|| {
                    hosts.push((host.clone(), Vec::new()));
                    hosts.len() - 1
                });
                if !hosts[place].1.contains(&wait.rank) {
                    hosts[place].1.push(wait.rank);
                }
            }
        }
        hosts.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
        hosts
    }

    /// One sentence per host that others wait for: what a person wants to know first. A host that is silent, or that
    /// most wait for, stands alone: what waits for others waits for it in the end.
    pub fn summary(&self) -> Vec<String> {
        let ranks = |ranks: &[Rank]| crate::units::counted(ranks.len(), "rank");
        let verb = |ranks: &[Rank]| if ranks.len() == 1 { "waits" } else { "wait" };
        let silent = |name: &str| self.waits.iter().any(|wait| wait.silent.iter().any(|(_, host)| host == name));
        let hosts = self.hosts();
        let dead: Vec<_> = hosts.iter().filter(|(host, _)| silent(host)).collect();
        if !dead.is_empty() {
            let sentence = |(host, waiting): &&(String, Vec<Rank>)| {
                format!("{host} answers nobody: {} {} for it", ranks(waiting), verb(waiting))
            };
            return dead.iter().map(sentence).collect();
        }
        let sentence =
            |(host, waiting): &(String, Vec<Rank>)| format!("{} {} for {host}", ranks(waiting), verb(waiting));
        hosts.iter().map(sentence).collect()
    }
}

/// What a run leaves out because an earlier try was stuck in it. [`Default`]: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Avoided {
    /// Two ranks between which messages from this length on do not get through.
    pairs: Vec<(Mode, Rank, Rank, Bytes)>,
    /// Hosts that cannot exchange such messages with several others.
    hosts: Vec<(Mode, String, Bytes)>,
    /// Collective exchanges, with their root.
    rounds: Vec<(Mode, Option<Rank>, Bytes)>,
}

impl Avoided {
    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.rounds.is_empty()
    }

    /// Whether a pair is left out at a length.
    pub fn pair(&self, hosts: &Hosts, mode: Mode, pair: (Rank, Rank), length: Bytes) -> bool {
        let is_pair = |a: Rank, b: Rank| pair == (a, b) || pair == (b, a);
        let names = [pair.0, pair.1].map(|rank| hosts.name_of(rank));
        let between_hosts = names[0] != names[1];
        self.pairs.iter().any(|(of, a, b, from)| *of == mode && is_pair(*a, *b) && length >= *from)
            || self.hosts.iter().any(|(of, host, from)| {
                *of == mode && between_hosts && names.contains(&host.as_str()) && length >= *from
            })
    }

    /// Whether a collective exchange is left out at a length: that of its root, or all where several were stuck.
    pub fn round(&self, mode: Mode, root: Option<Rank>, length: Bytes) -> bool {
        let stuck: Vec<_> = self.rounds.iter().filter(|(of, _, from)| *of == mode && length >= *from).collect();
        let roots: BTreeSet<_> = stuck.iter().map(|(_, root, _)| *root).collect();
        roots.len() > 1 || roots.contains(&root)
    }
}

/// Where the waits of the runs with this prefix stand.
pub fn stuck_path(prefix: &Path) -> PathBuf {
    extended(prefix, STUCK)
}

/// The waits of the runs with this prefix; none where there is no file.
pub fn read_stuck(prefix: &Path) -> Result<Stuck, StoreError> {
    let path = stuck_path(prefix);
    match fs::metadata(&path) {
        Ok(found) if found.len() > LONGEST => {
            return Err(StoreError::unusable(&path, format!("has {} bytes: no run writes so many", found.len())));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stuck::default()),
        Err(error) => return Err(StoreError::io("read", &path)(error)),
    }
    let mut bytes = Vec::new();
    let read = super::regular::open(&path)?.take(LONGEST).read_to_end(&mut bytes);
    read.map_err(StoreError::io("read", &path))?;
    Ok(Stuck::parse(&String::from_utf8_lossy(&bytes)))
}

/// Appends a line in one piece, and the heading before the first one. Many ranks may do so at once.
pub fn append_stuck(path: &Path, line: &str) -> io::Result<()> {
    let heading = if path.exists() { "" } else { HEADING };
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{heading}{line}").as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait() -> Wait {
        Wait {
            time: "2023-11-14T22:13:20Z".to_owned(),
            rank: 0,
            host: "n0".to_owned(),
            phase: Phase::Exchange,
            waits_for: vec![(2, "n2".to_owned())],
            silent: vec![],
            mode: Some(Mode::OneToOne),
            length: Some(Bytes(1024)),
            round: Some(3),
            sample: Some(16),
            seconds: 10.5,
            outcome: WaitOutcome::Ended,
        }
    }

    #[test]
    fn a_line_is_what_the_format_says() {
        let line = "time=2023-11-14T22:13:20Z rank=0 host=n0 phase=exchange waits_for=2 hosts=n2 silent= \
                    silent_hosts= mode=one_to_one length=1024 round=3 sample=16 seconds=10.5 outcome=ended\n";
        assert_eq!(wait().line(), line);
    }

    #[test]
    fn every_wait_survives_its_line() {
        for phase in Phase::ALL {
            let strange = "a b=c,d%\n\u{85}e\u{e9}".to_owned();
            let bare = Wait {
                phase,
                host: strange.clone(),
                waits_for: vec![],
                silent: vec![(7, strange), (8, "n3".to_owned())],
                mode: None,
                length: None,
                round: None,
                sample: None,
                outcome: WaitOutcome::Skipped,
                ..wait()
            };
            let text = format!("{HEADING}{}{}# n2 answers nobody\n", wait().line(), bare.line());
            assert_eq!(Stuck::parse(&text).waits, [wait(), bare]);
        }
    }

    #[test]
    fn what_is_no_line_of_ours_is_left_out() {
        let whole = wait().line();
        let cut = &whole[..whole.len() - 1];
        let changed = |from: &str, to: &str| whole.replace(from, to);
        let text = [
            "nonsense\n".to_owned(),
            changed("rank=0", "rank=-1"),
            changed("phase=exchange", "phase=lunch"),
            changed("hosts=n2", "hosts=n2,n3"),
            changed("seconds=10.5", "seconds=inf"),
            changed("time=2023", "time=x"),
            changed("outcome=ended", "outcome=ended new=1"),
            cut.to_owned(),
        ]
        .concat();
        assert_eq!(Stuck::parse(&text).waits, [wait()]);
    }

    #[test]
    fn the_silent_host_is_summed_up_alone() {
        let waits_for = |rank, host: &str, other: (Rank, &str)| Wait {
            rank,
            host: host.to_owned(),
            waits_for: vec![(other.0, other.1.to_owned())],
            ..wait()
        };
        let mut stuck = Stuck {
            waits: vec![waits_for(0, "n0", (2, "n2")), waits_for(1, "n1", (2, "n2")), waits_for(3, "n3", (0, "n0"))],
        };
        assert_eq!(stuck.summary(), ["2 ranks wait for n2", "1 rank waits for n0"]);
        stuck.waits[2].silent = vec![(2, "n2".to_owned())];
        stuck.waits.push(waits_for(2, "n2", (0, "n0")));
        assert_eq!(stuck.summary(), ["n2 answers nobody: 3 ranks wait for it"]);
        // A rank that waits for another one on its own host says nothing about the host.
        stuck.waits = vec![waits_for(4, "n2", (5, "n2"))];
        assert!(stuck.hosts().is_empty());
    }

    #[test]
    fn a_pair_that_was_stuck_is_left_out_and_a_host_that_was_stuck_with_several() {
        let hosts = Hosts::new(["n0", "n1", "n2", "n3", "n3"]);
        let mode = Mode::OneToOne;
        let with = |rank: Rank, other: Rank| Wait {
            rank,
            host: hosts.name_of(rank).to_owned(),
            waits_for: vec![(other, hosts.name_of(other).to_owned())],
            ..wait()
        };
        let avoided = Stuck { waits: vec![with(0, 2), with(2, 0)] }.avoided();
        assert!(avoided.pair(&hosts, mode, (2, 0), Bytes(1024)) && avoided.pair(&hosts, mode, (0, 2), Bytes(9999)));
        assert!(
            !avoided.pair(&hosts, mode, (0, 2), Bytes(1023)) && !avoided.pair(&hosts, Mode::Put, (0, 2), Bytes(1024))
        );
        assert!(!avoided.pair(&hosts, mode, (1, 2), Bytes(1024)));
        let avoided = Stuck { waits: vec![with(0, 3), with(1, 4)] }.avoided();
        assert!(avoided.pair(&hosts, mode, (2, 4), Bytes(1024)), "n3 has no long messages with n0 and n1");
        assert!(!avoided.pair(&hosts, mode, (3, 4), Bytes(1024)), "inside a host nothing was stuck");
        assert!(!avoided.pair(&hosts, mode, (0, 1), Bytes(1024)));
        let silent = vec![(2, "n2".to_owned())];
        let dead =
            Stuck { waits: vec![Wait { silent, ..with(0, 2) }, Wait { outcome: WaitOutcome::Joined, ..with(1, 0) }] };
        assert!(dead.avoided().is_empty());
    }

    #[test]
    fn a_root_whose_broadcast_was_stuck_is_left_out() {
        let root = |rank, root: Rank| Wait {
            rank,
            phase: Phase::Collective,
            mode: Some(Mode::Bcast),
            waits_for: vec![(root, "n".to_owned())],
            ..wait()
        };
        let one = Stuck { waits: vec![root(0, 2), root(1, 2)] }.avoided();
        assert!(one.round(Mode::Bcast, Some(2), Bytes(1024)) && !one.round(Mode::Bcast, Some(1), Bytes(1024)));
        assert!(!one.round(Mode::AllToAll, None, Bytes(1024)));
        let several = Stuck { waits: vec![root(0, 2), root(0, 3)] }.avoided();
        assert!(several.round(Mode::Bcast, Some(1), Bytes(1024)) && !several.round(Mode::Bcast, Some(2), Bytes(1)));
        let everyone = Stuck { waits: vec![Wait { mode: Some(Mode::AllToAll), waits_for: vec![], ..root(0, 1) }] };
        assert!(everyone.avoided().round(Mode::AllToAll, None, Bytes(4096)));
    }

    #[test]
    fn lines_are_appended_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        assert!(read_stuck(&prefix).unwrap().is_empty());
        for _ in 0..2 {
            append_stuck(&stuck_path(&prefix), &wait().line()).unwrap();
        }
        assert_eq!(fs::read_to_string(stuck_path(&prefix)).unwrap().matches(HEADING).count(), 1);
        assert_eq!(read_stuck(&prefix).unwrap().waits, [wait(), wait()]);
    }
}

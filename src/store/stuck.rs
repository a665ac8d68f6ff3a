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
//! `mode`, `operation` (where operations are measured), `length`, `round`, `sample` and `step` are missing where they have
//! no meaning. `step` counts what all ranks do together: who waits in a step for a rank that has fewer behind it waits for
//! no message yet. `outcome` is `ended` where the job was ended, `skipped` where the pair's cells were given up and the run went on, `joined` where a rank says what it waits for
//! because another one has found that the job is stuck. Bytes of host names that would end a word
//! are written as `%` and two hexadecimal digits. Lines that begin with `#` are for people. Unknown keys are left out,
//! and so is a line that was cut off.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    paths::{STUCK, extended},
};
use crate::{
    plan::operation::Algorithm,
    record::{Phase, Stuck, Wait, WaitOutcome},
    units::{Bytes, Rank},
};

/// First line of a file.
const HEADING: &str = "# network_test.stuck/1\n";

/// Most of a file that is read: some hundred bytes for each rank of the largest run.
const LONGEST: u64 = 64 << 20;

/// The line of the file, with its end.
pub fn stuck_line(wait: &Wait) -> String {
    let mut words = vec![
        format!("time={}", wait.time),
        format!("rank={}", wait.rank),
        format!("host={}", escaped(&wait.host)),
        format!("phase={}", wait.phase.name()),
    ];
    words.extend(listed("waits_for", "hosts", &wait.waits_for));
    words.extend(listed("silent", "silent_hosts", &wait.silent));
    words.extend(wait.mode.map(|mode| format!("mode={mode}")));
    words.extend(wait.operation.map(|operation| format!("operation={}", operation.name())));
    words.extend(wait.length.map(|length| format!("length={}", length.0)));
    words.extend(wait.round.map(|round| format!("round={round}")));
    words.extend(wait.sample.map(|sample| format!("sample={sample}")));
    words.extend(wait.step.map(|step| format!("step={step}")));
    words.push(format!("seconds={:.1}", wait.seconds));
    words.push(format!("outcome={}", wait.outcome.name()));
    words.join(" ") + "\n"
}

/// The wait that a line says.
fn from_line(line: &str) -> Option<Wait> {
    let word = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Some(Wait {
        time: word("time").filter(|time| humantime::parse_rfc3339(time).is_ok())?.to_owned(),
        rank: word("rank")?.parse().ok()?,
        host: unescaped(word("host")?),
        phase: Phase::ALL.into_iter().find(|phase| Some(phase.name()) == word("phase"))?,
        waits_for: list(word("waits_for")?, word("hosts")?)?,
        silent: list(word("silent")?, word("silent_hosts")?)?,
        mode: word("mode").and_then(|mode| mode.parse().ok()),
        operation: word("operation").and_then(|name| Algorithm::all().find(|known| known.name() == name)),
        length: word("length").and_then(|length| length.parse().ok()).map(Bytes),
        round: word("round").and_then(|round| round.parse().ok()),
        sample: word("sample").and_then(|sample| sample.parse().ok()),
        step: word("step").and_then(|step| step.parse().ok()),
        seconds: word("seconds")?.parse().ok().filter(|seconds: &f64| seconds.is_finite())?,
        outcome: [WaitOutcome::Ended, WaitOutcome::Skipped, WaitOutcome::Joined]
            .into_iter()
            .find(|outcome| Some(outcome.name()) == word("outcome"))?,
    })
}

/// The text of these waits, as [`parse_stuck`] reads it.
pub fn stuck_text(stuck: &Stuck) -> String {
    stuck.waits.iter().map(stuck_line).collect()
}

/// Reads the text of a file. Lines that are none of ours are left out.
pub fn parse_stuck(text: &str) -> Stuck {
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    Stuck { waits: lines.filter_map(from_line).collect() }
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
    Ok(parse_stuck(&String::from_utf8_lossy(&bytes)))
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
    use crate::record::stuck::tests::wait;

    #[test]
    fn a_line_is_what_the_format_says() {
        let line = "time=2023-11-14T22:13:20Z rank=0 host=n0 phase=exchange waits_for=2 hosts=n2 silent= \
                    silent_hosts= mode=one_to_one length=1024 round=3 sample=16 seconds=10.5 outcome=ended\n";
        assert_eq!(stuck_line(&wait()), line);
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
                operation: Some(Algorithm::Scan),
                length: None,
                round: None,
                sample: None,
                outcome: WaitOutcome::Skipped,
                ..wait()
            };
            let text = format!("{HEADING}{}{}# n2 answers nobody\n", stuck_line(&wait()), stuck_line(&bare));
            assert_eq!(parse_stuck(&text).waits, [wait(), bare]);
        }
    }

    #[test]
    fn what_is_no_line_of_ours_is_left_out() {
        let whole = stuck_line(&wait());
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
        assert_eq!(parse_stuck(&text).waits, [wait()]);
    }

    #[test]
    fn lines_are_appended_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        assert!(read_stuck(&prefix).unwrap().is_empty());
        for _ in 0..2 {
            append_stuck(&stuck_path(&prefix), &stuck_line(&wait())).unwrap();
        }
        assert_eq!(fs::read_to_string(stuck_path(&prefix)).unwrap().matches(HEADING).count(), 1);
        assert_eq!(read_stuck(&prefix).unwrap().waits, [wait(), wait()]);
    }
}

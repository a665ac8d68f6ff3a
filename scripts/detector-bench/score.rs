//! Counts what of the planted a diagnosis names, and what it says that is wrong.
//!
//! In: a [`Truth`] and what was said. Out: a [`Score`], and remarks for people. A finding is right if it matches an answer
//! of something planted: kind, exactly its hosts, a symptom of its sort. It may be given as one of the finding's
//! alternatives where those are few.

use netmatrix::units::hostlist;

use crate::{
    found::{Found, Said},
    planted::{Answer, BOTH, LINK, Planted, Sign, Truth},
};

/// Faults that stand out alike: below 3 standard errors, 3 to 5, above.
pub const BANDS: usize = 3;
/// A finding that names more alternatives than this names nothing.
const MOST_ALTERNATIVES: usize = 4;

/// What came of planted faults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recall {
    pub planted: usize,
    pub named: usize,
    /// Not named, and something else was.
    pub blamed: usize,
    pub directed: usize,
    /// Named, with a range that can be judged; and right.
    pub ranged: usize,
    pub range_right: usize,
}

/// What came of some cases.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub bands: [Recall; BANDS],
    pub findings: usize,
    pub right: usize,
    pub cases: usize,
    /// Cases without a wrong finding.
    pub clean: usize,
    /// Cases in which nothing is wrong, and those of them without a finding.
    pub healthy: usize,
    pub quiet: usize,
    pub seconds: f64,
}

impl Recall {
    fn plus(self, other: Self) -> Self {
        Self {
            planted: self.planted + other.planted,
            named: self.named + other.named,
            blamed: self.blamed + other.blamed,
            directed: self.directed + other.directed,
            ranged: self.ranged + other.ranged,
            range_right: self.range_right + other.range_right,
        }
    }
}

impl Score {
    pub fn plus(mut self, other: &Self) -> Self {
        for (own, other) in self.bands.iter_mut().zip(other.bands) {
            *own = own.plus(other);
        }
        self.findings += other.findings;
        self.right += other.right;
        self.cases += other.cases;
        self.clean += other.clean;
        self.healthy += other.healthy;
        self.quiet += other.quiet;
        self.seconds += other.seconds;
        self
    }

    /// All bands together.
    pub fn all(&self) -> Recall {
        self.bands.iter().copied().fold(Recall::default(), Recall::plus)
    }
}

fn sorted(hosts: &[String]) -> Vec<&String> {
    let mut hosts: Vec<_> = hosts.iter().collect();
    hosts.sort();
    hosts
}

fn is_place(answer: &Answer, kind: &str, hosts: &[String], ranks: &[usize]) -> bool {
    answer.kinds.contains(&kind)
        && sorted(&answer.hosts) == sorted(hosts)
        && (answer.ranks.is_empty() || ranks.is_empty() || ranks.iter().all(|rank| answer.ranks.contains(rank)))
}

fn matches(answer: &Answer, found: &Found) -> bool {
    let is_alternative = || {
        found.alternatives.len() <= MOST_ALTERNATIVES
            && found.alternatives.iter().any(|(kind, hosts)| is_place(answer, kind, hosts, &[]))
    };
    is_place(answer, &found.kind, &found.hosts, &found.ranks) || is_alternative()
}

/// Whether the direction is right: of an answer that matches.
fn is_directed(planted: &Planted, found: &Found) -> bool {
    planted.answers.iter().filter(|answer| matches(answer, found)).any(|answer| {
        let is_ordered = answer.kinds != LINK || answer.directions == BOTH || answer.hosts == found.hosts;
        answer.directions.contains(&found.direction.as_str()) && is_ordered
    })
}

/// Whether both ends of the range are within a step of where they may be; none where nobody can say.
fn is_range_right(planted: &Planted, found: &Found, lengths: &[u64]) -> Option<bool> {
    let ([first, last], found) = (planted.range?, found.lengths?);
    let place = |length: u64| lengths.iter().position(|other| *other == length);
    let is_near = |place: Option<usize>, (low, high): (usize, usize)| {
        place.is_some_and(|place| place + 1 >= low && place <= high + 1)
    };
    Some(is_near(place(found.0), first) && is_near(place(found.1), last))
}

fn is_in_remark(planted: &Planted, said: &Said) -> bool {
    said.remarks.iter().any(|remark| {
        let text = remark.to_string();
        planted.answers.iter().any(|answer| {
            let hosts: Vec<&str> = sorted(&answer.hosts).into_iter().map(String::as_str).collect();
            text.contains(&hostlist::compress(&hosts)) || hosts.iter().all(|host| text.contains(host))
        })
    })
}

/// The band of a fault.
pub fn band(sigma: f64) -> usize {
    match sigma {
        ..3.0 => 0,
        3.0..5.0 => 1,
        _ => 2,
    }
}

/// Counts, and says what was missed and what is wrong.
pub fn score(case: &Truth, said: &Said) -> (Score, Vec<String>) {
    let lengths = &case.lengths;
    let (mut score, mut remarks) = (Score { cases: 1, ..Score::default() }, Vec::new());
    let is_about = |planted: &Planted, found: &Found| {
        planted.sign.is_of(&found.symptom) && planted.answers.iter().any(|answer| matches(answer, found))
    };
    // That exchanges fail somewhere, too few to name a place, is not wrong where some do.
    let is_of_fabric = |planted: &Planted, found: &Found| {
        let is_failure = matches!(planted.sign, Sign::Lost | Sign::Damaged);
        is_failure && found.kind == "fabric" && planted.sign.is_of(&found.symptom)
    };
    let is_tolerated = |found: &Found| {
        let is_of = |planted: &Planted| {
            planted.tolerated.iter().any(|answer| matches(answer, found)) || is_of_fabric(planted, found)
        };
        case.planted.iter().any(is_of)
    };
    let wrong: Vec<&Found> = said
        .findings
        .iter()
        .filter(|found| !is_tolerated(found) && !case.planted.iter().any(|planted| is_about(planted, found)))
        .collect();
    for planted in &case.planted {
        let recall = &mut score.bands[band(planted.sigma)];
        let found: Vec<&Found> = said.findings.iter().filter(|found| is_about(planted, found)).collect();
        let is_silent = planted.may_be_silent && said.findings.is_empty();
        let is_remark = planted.may_be_remark && found.is_empty() && is_in_remark(planted, said);
        recall.planted += 1;
        let words = format!("{} ({:.1} sigma)", planted.words, planted.sigma);
        if is_silent || is_remark {
            recall.named += 1;
            recall.directed += 1;
        } else if found.is_empty() {
            recall.blamed += usize::from(!wrong.is_empty());
            remarks.push(format!("missed: {words}"));
        } else {
            recall.named += 1;
            let is_right = found.iter().any(|found| is_directed(planted, found));
            recall.directed += usize::from(is_right);
            if !is_right {
                remarks.push(format!("wrong direction {}: {words}", found[0].direction));
            }
            let ranges: Vec<bool> = found.iter().filter_map(|found| is_range_right(planted, found, lengths)).collect();
            recall.ranged += usize::from(!ranges.is_empty());
            recall.range_right += usize::from(ranges.contains(&true));
            if !ranges.is_empty() && !ranges.contains(&true) {
                let expected = planted.range.map(|ends| ends.map(|(low, high)| lengths[low]..=lengths[high]));
                remarks.push(format!("wrong range {:?}, expected {expected:?}: {words}", found[0].lengths));
            }
        }
    }
    remarks.extend(wrong.iter().map(|found| format!("made up: {} {}", found.kind, found.words)));
    score.findings = said.findings.len();
    score.right = score.findings - wrong.len();
    score.clean = usize::from(wrong.is_empty());
    if case.planted.is_empty() {
        score.healthy = 1;
        let is_quiet = said.findings.is_empty() && !said.is_invalid;
        score.quiet = usize::from(is_quiet);
        if said.is_invalid {
            remarks.push("cannot be judged, although it is healthy".to_owned());
        }
    } else if said.is_invalid && !case.may_be_invalid && !remarks.is_empty() {
        remarks.push("said to be invalid".to_owned());
    }
    (score, remarks)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::planted::{GROUP, NODE, SEND};

    fn truth(planted: Planted) -> Truth {
        Truth { planted: vec![planted], context: String::new(), lengths: vec![0, 64, 4096], may_be_invalid: false }
    }

    fn answer(kinds: &'static [&'static str], hosts: &[&str]) -> Answer {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Answer { kinds, hosts, ranks: Vec::new(), directions: SEND }
    }

    fn of(truth: &Truth, findings: serde_json::Value) -> Score {
        score(truth, &Said::of(&json!({"verdict": "findings", "findings": findings}))).0
    }

    #[test]
    fn a_finding_is_right_with_kind_hosts_and_symptom_and_wrong_otherwise() {
        let mut planted = Planted::new(String::new(), Sign::Slow("latency"), vec![], vec![answer(NODE, &["a"])]);
        (planted.sigma, planted.range) = (9.0, Some([(0, 0), (1, 1)]));
        let truth = truth(planted);
        let one = |kind: &str, host: &str, symptom: &str, lengths: [u64; 2]| json!([{"kind": kind, "hosts": [host], "direction": "send", "symptom": symptom, "lengths": lengths}]);
        let right = of(&truth, one("node", "a", "latency", [0, 4096]));
        assert_eq!(
            (right.bands[2].named, right.bands[2].directed, right.bands[2].range_right, right.clean),
            (1, 1, 1, 1)
        );
        for findings in [
            one("rank", "a", "latency", [0, 64]),
            one("node", "b", "latency", [0, 64]),
            one("node", "a", "jitter", [0, 64]),
        ] {
            let wrong = of(&truth, findings);
            assert_eq!((wrong.bands[2].named, wrong.bands[2].blamed, wrong.clean), (0, 1, 0));
        }
        assert_eq!(of(&truth, one("node", "a", "latency", [4096, 4096])).bands[2].range_right, 0);
        let silent = of(&truth, json!([]));
        assert_eq!((silent.bands[2].named, silent.bands[2].blamed, silent.clean), (0, 0, 1));
    }

    #[test]
    fn that_exchanges_fail_somewhere_names_no_host_and_is_not_wrong_where_some_do() {
        let scored = |sign: Sign| {
            let mut planted = Planted::new(String::new(), sign, vec![], vec![answer(NODE, &["a"])]);
            planted.sigma = 4.0;
            let found = json!([{"kind": "fabric", "hosts": [], "symptom": "damaged"}]);
            let scored = of(&truth(planted), found);
            (scored.bands[1].named, scored.bands[1].blamed, scored.right, scored.clean)
        };
        assert_eq!([scored(Sign::Damaged), scored(Sign::Lost)], [(0, 0, 1, 1), (0, 1, 0, 0)]);
    }

    #[test]
    fn an_alternative_of_a_finding_names_a_place_and_several_nodes_are_several_findings() {
        let mut planted = Planted::new(String::new(), Sign::Slow("any"), vec![], vec![answer(GROUP, &["a", "b"])]);
        planted.sigma = 4.0;
        let truth = truth(planted);
        let finding = json!([{"kind": "group", "hosts": ["c", "d"], "symptom": "bandwidth", "direction": "send",
            "alternatives": [{"kind": "group", "hosts": ["b", "a"]}]}]);
        assert_eq!(of(&truth, finding).bands[1].named, 1);
        let nodes = of(&truth, json!([{"kind": "node", "hosts": ["a", "b"], "symptom": "bandwidth"}]));
        assert_eq!((nodes.findings, nodes.right), (2, 0));
    }
}

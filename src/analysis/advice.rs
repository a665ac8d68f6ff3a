//! What to do about findings: which hosts to drain, which pairs of hosts to reserve for a closer look.
//!
//! In: findings of one or more diagnoses, and a [`Policy`]. Out: a [`Plan`], which nobody carries out here. The rules are
//! those that other tools learned from accidents: a finding about a link drains nobody, because either end may be
//! innocent; a measurement that could not decide drains nobody; and where more than a share of the machine would be
//! drained, something else is wrong than these hosts, and the plan is empty.

use std::collections::{BTreeMap, BTreeSet};

/// What is known of a finding, in the words of the document `network_test.diagnosis/1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The diagnosis that it comes from, and when that was measured.
    pub run: String,
    /// Its name there, for example `F1`.
    pub id: String,
    /// `node`, `link`, `group` and so on.
    pub kind: String,
    /// A link: source and destination.
    pub hosts: Vec<String>,
    /// `both`, `send` or `receive`.
    pub direction: String,
    /// `latency`, `bandwidth` and so on.
    pub symptom: String,
    /// How many times as long as usual.
    pub ratio: f64,
    /// Whether its re-test has confirmed it.
    pub is_retested: bool,
}

impl Named {
    /// Whether both speak of the same fault.
    fn is_same(&self, other: &Self) -> bool {
        (&self.kind, &self.hosts, &self.symptom) == (&other.kind, &other.hosts, &other.symptom)
    }

    /// Whether a host alone is at fault.
    fn is_of_one_host(&self) -> bool {
        matches!(self.kind.as_str(), "node" | "rank") && self.hosts.len() == 1
    }
}

/// A finding that is known already: its hosts, and its symptom unless any is meant.
pub type Known = (BTreeSet<String>, Option<String>);

/// What may be done.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Largest share of all hosts that a plan may drain, 0 to 1.
    pub at_most: f64,
    /// Whether findings that nothing has confirmed count.
    pub unconfirmed: bool,
    /// Findings that lead to nothing.
    pub known: Vec<Known>,
}

/// A host to drain, and the weightiest finding about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Drain {
    /// The host.
    pub host: String,
    /// Why.
    pub why: Named,
}

/// Why a finding leads to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It is known already.
    Known,
    /// No re-test and no second diagnosis has confirmed it.
    Unconfirmed,
    /// It is about more than one host or a pair of them.
    Shared,
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Hosts to drain, by name.
    pub drain: Vec<Drain>,
    /// Pairs of hosts to reserve for a closer look.
    pub reserve: Vec<Named>,
    /// Findings that lead to nothing.
    pub left_out: Vec<(Named, LeftOut)>,
    /// Hosts that no finding of any diagnosis names: what this tool drained earlier may come back. Hosts whose findings are
    /// left out are neither drained nor healthy.
    pub healthy: Vec<String>,
    /// Where more hosts than the policy allows would be drained: how many. The plan is empty then.
    pub breaker: Option<Breaker>,
}

/// Why a plan is empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breaker {
    /// Hosts that would be drained.
    pub hosts: usize,
    /// All hosts.
    pub of: usize,
    /// The largest share that is allowed.
    pub at_most: f64,
}

/// Makes a plan. `diagnoses`: the findings of each; `hosts`: all that they are about, each once.
pub fn plan(diagnoses: &[Vec<Named>], hosts: &BTreeSet<String>, policy: &Policy) -> Plan {
    let in_all = |finding: &Named| {
        let has_it = |findings: &Vec<Named>| findings.iter().any(|other| other.is_same(finding));
        diagnoses.len() > 1 && diagnoses.iter().all(has_it)
    };
    let mut plan = Plan::default();
    let mut drain: BTreeMap<String, Named> = BTreeMap::new();
    for finding in diagnoses.iter().flatten() {
        if is_known(finding, &policy.known) {
            plan.left_out.push((finding.clone(), LeftOut::Known));
        } else if !(finding.is_retested || policy.unconfirmed || in_all(finding)) {
            plan.left_out.push((finding.clone(), LeftOut::Unconfirmed));
        } else if finding.is_of_one_host() {
            let why = drain.entry(finding.hosts[0].clone()).or_insert_with(|| finding.clone());
            if finding.ratio > why.ratio {
                *why = finding.clone();
            }
        } else if finding.kind == "link" {
            if !plan.reserve.iter().any(|other| other.is_same(finding)) {
                plan.reserve.push(finding.clone());
            }
        } else {
            plan.left_out.push((finding.clone(), LeftOut::Shared));
        }
    }
    if drain.len() as f64 > policy.at_most * hosts.len() as f64 {
        let breaker = Breaker { hosts: drain.len(), of: hosts.len(), at_most: policy.at_most };
        return Plan { breaker: Some(breaker), left_out: plan.left_out, ..Plan::default() };
    }
    let is_named = |host: &String| diagnoses.iter().flatten().any(|finding| finding.hosts.contains(host));
    plan.healthy = hosts.iter().filter(|host| !is_named(host)).cloned().collect();
    plan.drain = drain.into_iter().map(|(host, why)| Drain { host, why }).collect();
    plan
}

fn is_known(finding: &Named, known: &[Known]) -> bool {
    let hosts: BTreeSet<_> = finding.hosts.iter().cloned().collect();
    known.iter().any(|(of, symptom)| *of == hosts && symptom.as_ref().is_none_or(|it| *it == finding.symptom))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(run: &str, kind: &str, hosts: &[&str], ratio: f64, is_retested: bool) -> Named {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let [run, kind, id, direction, symptom] = [run, kind, "F1", "receive", "bandwidth"].map(str::to_owned);
        Named { run, id, kind, hosts, direction, symptom, ratio, is_retested }
    }

    fn hosts(count: usize) -> BTreeSet<String> {
        (0..count).map(|host| format!("n{host}")).collect()
    }

    const POLICY: Policy = Policy { at_most: 0.1, unconfirmed: false, known: vec![] };

    fn drained(plan: &Plan) -> Vec<&str> {
        plan.drain.iter().map(|drain| drain.host.as_str()).collect()
    }

    #[test]
    fn confirmed_hosts_are_drained_for_their_weightiest_finding_and_links_are_reserved() {
        let night = vec![
            finding("a", "node", &["n3"], 1.5, true),
            finding("a", "node", &["n3"], 2.5, true),
            finding("a", "link", &["n1", "n2"], 3.0, true),
            finding("a", "node", &["n5"], 2.0, false),
            finding("a", "group", &["n6", "n7"], 2.0, true),
        ];
        let plan = plan(&[night], &hosts(20), &POLICY);
        assert_eq!(drained(&plan), ["n3"]);
        assert_eq!(plan.drain[0].why.ratio, 2.5);
        assert_eq!(plan.reserve.len(), 1);
        let why: Vec<_> = plan.left_out.iter().map(|(finding, why)| (finding.hosts[0].as_str(), *why)).collect();
        assert_eq!(why, [("n5", LeftOut::Unconfirmed), ("n6", LeftOut::Shared)]);
        let named = ["n1", "n2", "n3", "n5", "n6", "n7"].map(str::to_owned);
        assert!(plan.healthy.len() == 14 && named.iter().all(|host| !plan.healthy.contains(host)), "{plan:?}");
    }

    #[test]
    fn what_every_night_names_is_confirmed() {
        let nights = ["a", "b"].map(|run| vec![finding(run, "node", &["n3"], 1.5, false)]);
        assert_eq!(drained(&plan(&nights, &hosts(20), &POLICY)), ["n3"]);
        let once = [nights[0].clone(), vec![]];
        assert!(plan(&once, &hosts(20), &POLICY).drain.is_empty());
        assert_eq!(drained(&plan(&once, &hosts(20), &Policy { unconfirmed: true, ..POLICY })), ["n3"]);
    }

    #[test]
    fn beyond_its_share_the_plan_is_empty() {
        let night: Vec<_> = ["n1", "n2", "n3"].iter().map(|host| finding("a", "node", &[host], 2.0, true)).collect();
        let broken = plan(std::slice::from_ref(&night), &hosts(20), &POLICY);
        let breaker = Breaker { hosts: 3, of: 20, at_most: 0.1 };
        assert_eq!((broken.breaker, broken.drain.len(), broken.healthy.len()), (Some(breaker), 0, 0));
        assert_eq!(plan(&[night], &hosts(30), &POLICY).drain.len(), 3);
    }

    #[test]
    fn known_findings_lead_to_nothing() {
        let night = vec![finding("a", "node", &["n3"], 2.0, true), finding("a", "node", &["n4"], 2.0, true)];
        let known = |host: &str, symptom: Option<&str>| (BTreeSet::from([host.to_owned()]), symptom.map(str::to_owned));
        let policy = Policy { known: vec![known("n3", None), known("n4", Some("latency"))], ..POLICY };
        let plan = plan(&[night], &hosts(20), &policy);
        assert_eq!(drained(&plan), ["n4"]);
        assert!(!plan.healthy.contains(&"n3".to_owned()), "it waits for its repair");
    }
}

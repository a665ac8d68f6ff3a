//! `compare`: how well it names planted changes, how seldom it makes them up, and the real program.
//!
//! Pairs of runs are drawn by a generator of their own: a detector should not be judged by the model it was made with.

#[path = "common/golden.rs"]
mod golden;

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
};

use netmatrix::{
    analysis::{
        compare::{Change, Comparison, Pairs, Settings, Subject, Verdict, compare},
        diagnose::Direction,
    },
    exit,
    plan::{Mode, Noise},
    record::{Cell, Header, MemoryRun, Provenance, Run, State, Statistic},
    stats::Summary,
    store,
    units::{Bytes, Hosts},
};
use rand::{
    RngExt, SeedableRng,
    seq::{IndexedRandom, SliceRandom},
};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};
use rayon::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

// The generator

/// A machine: how far its hosts are from each other is the same on both days.
#[derive(Clone)]
struct Machine {
    names: Vec<String>,
    /// Leaf switch, `[host]`.
    leaf: Vec<usize>,
    /// Factor of what a host takes longer than others, on both days: no change.
    own: Vec<f64>,
    lengths: Vec<u64>,
    /// Standard deviation of a cell's noise, as a share of its time.
    noise: f64,
    /// Share of cells that are disturbed for a while.
    disturbed: f64,
    is_heavy: bool,
    ranks_per_host: usize,
    /// What an additional switch costs, as a share of latency and of transfer.
    step: (f64, f64),
    /// By how much pairs, and hosts, differ from day to day at all lengths alike, because of routes and other jobs: standard
    /// deviations, as shares.
    of_day: (f64, f64),
}

/// A planted change; hosts by number in the machine.
#[derive(Clone, Debug)]
enum Planted {
    Node(usize, Direction, f64),
    Link(usize, usize, f64),
    Uplink(usize, f64),
    Fabric(f64),
}

impl Machine {
    fn draw(rng: &mut ChaCha8Rng, leaves: &[usize]) -> Self {
        let hosts = *[16, 24, 32, 48, 64].choose(rng).unwrap();
        let leaves = *leaves.choose(rng).unwrap();
        let mut leaf: Vec<usize> = (0..hosts).map(|host| host % leaves).collect();
        if rng.random_bool(0.5) {
            // Unbalanced: some hosts go to the first leaf, but every leaf keeps four.
            for host in 4 * leaves..hosts {
                if rng.random_bool(0.4) {
                    leaf[host] = 0;
                }
            }
        }
        leaf.shuffle(rng);
        let lengths: &[&[u64]] = &[
            &[0, 1 << 10, 1 << 14, 1 << 18, 1 << 20],
            &[64, 4096, 1 << 18],
            &[0, 64, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22],
            &[0, 256, 4096, 1 << 16, 1 << 20, 1 << 22],
        ];
        Self {
            names: (1..=hosts).map(|host| format!("node{host:03}")).collect(),
            leaf,
            own: (0..hosts).map(|_| if rng.random_bool(0.03) { rng.random_range(1.1..1.8) } else { 1.0 }).collect(),
            lengths: lengths.choose(rng).unwrap().to_vec(),
            noise: rng.random_range(0.01..0.05),
            disturbed: *[0.0, 0.003, 0.01].choose(rng).unwrap(),
            is_heavy: rng.random_bool(0.4),
            ranks_per_host: if hosts <= 32 && rng.random_bool(0.2) { 2 } else { 1 },
            step: (rng.random_range(0.1..0.8), rng.random_range(0.0..0.4)),
            of_day: *[(0.0, 0.0), (0.01, 0.0), (0.02, 0.005)].choose(rng).unwrap(),
        }
    }

    /// A day's run: ranks in another order, a level of its own at every length (two days are up to 4 % apart),
    /// switches that are more or less busy (up to 2 %), routes and hosts of the day, noise.
    fn measure(&self, rng: &mut ChaCha8Rng, planted: Option<&Planted>) -> MemoryRun {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.shuffle(rng);
        let order: Vec<usize> = order.into_iter().flat_map(|host| vec![host; self.ranks_per_host]).collect();
        let hosts = Hosts::new(order.iter().map(|host| self.names[*host].clone()));
        let mut run = MemoryRun::with_statistics(header(hosts, &self.lengths), vec![Statistic::Median]);
        let of_day = rng.random_range(-0.01..0.01f64);
        let across = rng.random_range(-0.01..0.01f64);
        let count = self.names.len();
        let usual = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let of_host: Vec<f64> = (0..count).map(|_| self.of_day.1 * usual(rng)).collect();
        let of_pair: Vec<f64> = (0..count * count).map(|_| self.of_day.0 * usual(rng)).collect();
        for &length in &self.lengths {
            let level = (of_day + rng.random_range(-0.01..0.01f64)).exp();
            let cells = order.iter().enumerate().flat_map(|(n, &from)| {
                order.iter().enumerate().map(move |(m, &to)| (n == m, from, to)).collect::<Vec<_>>()
            });
            let cells = cells.map(|(is_self, from, to)| match is_self {
                true => Cell::zero(),
                false => {
                    let mut time = level * self.usual(length, from, to) * slowdown(planted, &self.leaf, from, to);
                    time *= (of_host[from] + of_host[to] + of_pair[from * count + to]).exp();
                    time *= if self.leaf[from] == self.leaf[to] { 1.0 } else { across.exp() };
                    time *= (self.noise * self.normal(rng)).exp();
                    if rng.random_bool(self.disturbed) {
                        time *= rng.random_range(1.3..3.0);
                    }
                    Cell::measured(Summary::of(&mut [time]), 100, State::Measured)
                }
            });
            let cells = cells.collect();
            run.push(Bytes(length), cells);
        }
        run
    }

    fn usual(&self, length: u64, from: usize, to: usize) -> f64 {
        if from == to {
            return 0.4e-6 + length as f64 / 20e9;
        }
        let steps = f64::from(u8::from(self.leaf[from] != self.leaf[to]));
        let latency = 1.5e-6 * (1.0 + self.step.0 * steps);
        let transfer = length as f64 / 10e9 * (1.0 + self.step.1 * steps);
        (latency + transfer) * self.own[from] * self.own[to]
    }

    fn normal(&self, rng: &mut ChaCha8Rng) -> f64 {
        if self.is_heavy {
            // Student's distribution with 5 degrees of freedom has the variance 5/3.
            StudentT::new(5.0).unwrap().sample(rng) / (5.0f64 / 3.0).sqrt()
        } else {
            StandardNormal.sample(rng)
        }
    }
}

fn slowdown(planted: Option<&Planted>, leaf: &[usize], from: usize, to: usize) -> f64 {
    if from == to {
        return 1.0;
    }
    let (is_hit, factor) = match *planted.unwrap_or(&Planted::Fabric(1.0)) {
        Planted::Node(host, direction, factor) => {
            (from == host && direction != Direction::Receive || to == host && direction != Direction::Send, factor)
        }
        Planted::Link(a, b, factor) => ((from, to) == (a, b) || (from, to) == (b, a), factor),
        Planted::Uplink(of, factor) => ((leaf[from] == of) != (leaf[to] == of), factor),
        Planted::Fabric(factor) => (true, factor),
    };
    if is_hit { factor } else { 1.0 }
}

fn header(hosts: Hosts, lengths: &[u64]) -> Header {
    Header {
        mode: Mode::OneToOne,
        hosts,
        planned: lengths.iter().map(|length| Bytes(*length)).collect(),
        begin_end_step: (Bytes(lengths[0]), Bytes(lengths[lengths.len() - 1] + 1), Bytes(0)),
        iterations: 100,
        noise: Noise { length: Bytes(0), messages: 0, processes: 0 },
        plan: BTreeMap::from([("timing".to_owned(), "transfer".to_owned())]),
        provenance: Provenance { created: "2026-01-02T03:04:05Z".into(), ..Provenance::default() },
    }
}

const SETTINGS: Settings = Settings { statistic: Statistic::Median, threshold: 0.05, confidence: 0.99 };

/// Two days of a machine; the second with the change.
fn compared(seed: u64, leaves: &[usize], plant: impl Fn(&Machine, &mut ChaCha8Rng) -> Option<Planted>) -> Case {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let machine = Machine::draw(&mut rng, leaves);
    let planted = plant(&machine, &mut rng);
    let base = machine.measure(&mut rng, None);
    let new = machine.measure(&mut rng, planted.as_ref());
    let comparison = compare(&base, &new, SETTINGS).unwrap();
    Case { seed, machine, planted, comparison }
}

struct Case {
    seed: u64,
    machine: Machine,
    planted: Option<Planted>,
    comparison: Comparison,
}

impl Case {
    /// Whether the finding has the kind and the hosts of what was planted.
    fn is_it(&self, found: &Change) -> bool {
        let mut hosts: Vec<usize> =
            found.hosts.iter().map(|name| self.machine.names.iter().position(|own| own == name).unwrap()).collect();
        hosts.sort_unstable();
        found.is_slower
            && match self.planted {
                None => false,
                Some(Planted::Node(host, ..)) => found.subject == Subject::Host && hosts == [host],
                Some(Planted::Link(a, b, _)) => found.subject == Subject::Link && hosts == [a.min(b), a.max(b)],
                Some(Planted::Uplink(leaf, _)) => {
                    let members = (0..self.machine.names.len()).filter(|host| self.machine.leaf[*host] == leaf);
                    found.subject == Subject::Group && hosts == members.collect::<Vec<_>>()
                }
                Some(Planted::Fabric(_)) => found.subject == Subject::Pairs(Pairs::All),
            }
    }

    fn is_directed(&self, found: &Change) -> bool {
        match self.planted {
            Some(Planted::Node(_, direction, _)) => found.direction == direction,
            _ => found.direction == Direction::Both,
        }
    }

    fn told(&self) -> String {
        let Machine { names, leaf, noise, lengths, ranks_per_host, disturbed, .. } = &self.machine;
        let leaves = leaf.iter().max().unwrap() + 1;
        let findings: Vec<_> = self
            .comparison
            .findings
            .iter()
            .map(|f| (f.subject, &f.hosts, f.direction, f.is_slower, f.ratio, f.lengths, f.cells))
            .collect();
        format!(
            "{}: {:?} among {} hosts on {leaves} leaves, noise {noise:.3}, disturbed {disturbed}, {} lengths, {ranks_per_host} ranks: {findings:?}",
            self.seed,
            self.planted,
            names.len(),
            lengths.len()
        )
    }
}

// How good it is

#[test]
fn two_healthy_days_differ_in_nothing() {
    let cases: Vec<Case> = (0..64).into_par_iter().map(|seed| compared(seed, &[1, 2, 3, 4], |_, _| None)).collect();
    let loud: Vec<String> = cases
        .iter()
        .filter(|case| case.comparison.verdict != Verdict::Unchanged || !case.comparison.moved.is_empty())
        .map(|case| format!("{} moved {:?}", case.told(), case.comparison.moved))
        .collect();
    println!("healthy pairs of runs with a finding: {} of {}", loud.len(), cases.len());
    assert!(loud.len() <= 1, "{loud:#?}");
}

/// Recall, precision and direction over cases; prints them.
fn score(name: &str, cases: &[Case], least_recall: f64, least_precision: f64) {
    let named = |case: &&Case| case.comparison.findings.iter().any(|found| case.is_it(found));
    let recall = cases.iter().filter(named).count();
    let directed =
        |case: &&Case| case.comparison.findings.iter().any(|found| case.is_it(found) && case.is_directed(found));
    let direction = cases.iter().filter(directed).count();
    let findings: usize = cases.iter().map(|case| case.comparison.findings.len()).sum();
    let right: usize =
        cases.iter().map(|case| case.comparison.findings.iter().filter(|found| case.is_it(found)).count()).sum();
    println!("{name}: recall {recall}/{}, precision {right}/{findings}, direction {direction}/{recall}", cases.len());
    let odd = |case: &&Case| {
        let findings = &case.comparison.findings;
        findings.len() != 1 || !findings.iter().all(|found| case.is_it(found) && case.is_directed(found))
    };
    let odd: Vec<String> = cases.iter().filter(odd).map(Case::told).collect();
    assert!(recall as f64 >= least_recall * cases.len() as f64, "{name}: {odd:#?}");
    assert!(right as f64 >= least_precision * findings as f64, "{name}: {odd:#?}");
    assert!(direction as f64 >= 0.95 * recall as f64, "{name}: {odd:#?}");
    assert!(cases.iter().filter(named).all(|case| case.comparison.verdict == Verdict::Regression));
}

fn cases(
    seeds: std::ops::Range<u64>,
    leaves: &[usize],
    plant: impl Fn(&Machine, &mut ChaCha8Rng) -> Planted + Sync,
) -> Vec<Case> {
    seeds.into_par_iter().map(|seed| compared(seed, leaves, |machine, rng| Some(plant(machine, rng)))).collect()
}

fn any_host(machine: &Machine, rng: &mut ChaCha8Rng) -> usize {
    rng.random_range(0..machine.names.len())
}

#[test]
fn a_node_that_became_slower_is_named() {
    let plant = |machine: &Machine, rng: &mut ChaCha8Rng| Planted::Node(any_host(machine, rng), Direction::Both, 1.08);
    score("node +8 %", &cases(1000..1020, &[1, 2, 3, 4], plant), 0.95, 0.95);
}

#[test]
fn a_node_that_receives_slower_is_named() {
    let plant =
        |machine: &Machine, rng: &mut ChaCha8Rng| Planted::Node(any_host(machine, rng), Direction::Receive, 1.10);
    score("receive +10 %", &cases(2000..2020, &[1, 2, 3, 4], plant), 0.95, 0.95);
}

#[test]
fn a_link_that_became_slower_is_named() {
    let plant = |machine: &Machine, rng: &mut ChaCha8Rng| {
        let a = any_host(machine, rng);
        let b = (a + rng.random_range(1..machine.names.len())) % machine.names.len();
        Planted::Link(a, b, 1.3)
    };
    score("link x1.3", &cases(3000..3020, &[1, 2, 3, 4], plant), 0.8, 0.95);
}

#[test]
fn an_uplink_that_became_slower_is_named() {
    let plant = |machine: &Machine, rng: &mut ChaCha8Rng| {
        Planted::Uplink(rng.random_range(0..=*machine.leaf.iter().max().unwrap()), 1.15)
    };
    score("uplink +15 %", &cases(4000..4020, &[3, 4], plant), 0.9, 0.95);
}

#[test]
fn a_fabric_that_became_slower_is_told() {
    let plant = |_: &Machine, _: &mut ChaCha8Rng| Planted::Fabric(1.10);
    score("fabric +10 %", &cases(5000..5020, &[1, 2, 3, 4], plant), 0.95, 0.95);
}

#[test]
fn what_became_faster_is_an_improvement() {
    let cases: Vec<Case> = (6000..6010)
        .into_par_iter()
        .map(|seed| {
            compared(seed, &[1, 2, 3], |machine, rng| {
                Some(Planted::Node(any_host(machine, rng), Direction::Both, 0.88))
            })
        })
        .collect();
    for case in &cases {
        let [found] = &case.comparison.findings[..] else { panic!("{}", case.told()) };
        assert!(!found.is_slower && found.subject == Subject::Host && found.extra_seconds < 0.0, "{}", case.told());
        assert_eq!(case.comparison.verdict, Verdict::Improvement);
    }
}

#[test]
fn less_than_the_threshold_is_no_regression() {
    let plant = |machine: &Machine, rng: &mut ChaCha8Rng| Planted::Node(any_host(machine, rng), Direction::Both, 1.03);
    let loud = cases(7000..7020, &[1, 2, 3], plant).iter().filter(|case| !case.comparison.findings.is_empty()).count();
    assert!(loud <= 1, "{loud}");
}

// The program

/// Sixteen hosts on two leaves, one of which is always slow.
fn small() -> Machine {
    Machine {
        names: (1..=16).map(|host| format!("node{host:03}")).collect(),
        leaf: (0..16).map(|host| host / 8).collect(),
        own: (0..16).map(|host| if host == 4 { 1.5 } else { 1.0 }).collect(),
        lengths: vec![0, 4096, 1 << 20],
        noise: 0.02,
        disturbed: 0.0,
        is_heavy: false,
        ranks_per_host: 1,
        step: (0.5, 0.2),
        of_day: (0.0, 0.0),
    }
}

fn day(machine: &Machine, seed: u64, planted: Option<Planted>) -> MemoryRun {
    machine.measure(&mut ChaCha8Rng::seed_from_u64(seed), planted.as_ref())
}

/// A folder with runs, in which the program is called.
struct Place(TempDir);

/// What a call of the program came to.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn with(runs: &[(&str, &dyn Run)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, run) in runs {
            store::write_run(*run, &folder.path().join(name), false).unwrap();
        }
        Self(folder)
    }

    fn compare(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_network_analyze"));
        let command = command.arg("compare").args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Ended { code: output.status.code().expect("the program ended by itself"), stdout, stderr }
    }
}

impl Ended {
    /// The result of a call that ends with this code without a word on standard error.
    #[track_caller]
    fn ends(self, code: u8) -> String {
        assert_eq!((self.code, &*self.stderr), (i32::from(code), ""), "{}", self.stdout);
        self.stdout
    }

    #[track_caller]
    fn document(self, code: u8) -> Value {
        serde_json::from_str(&self.ends(code)).unwrap()
    }

    /// The call must fail with this code, say all of `words`, and print no result.
    #[track_caller]
    fn fails(self, code: u8, words: &[&str]) {
        assert_eq!((self.code, &*self.stdout), (i32::from(code), ""), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("internal fault"), "{}", self.stderr);
    }
}

#[test]
fn a_regression_is_told_and_ends_with_1() {
    let base = day(&small(), 1, None);
    let new = day(&small(), 2, Some(Planted::Node(9, Direction::Receive, 1.2)));
    let place = Place::with(&[("monday", &base), ("tuesday", &new)]);
    let text = place.compare(&["monday", "tuesday"]).ends(exit::FINDINGS);
    golden::check("compare.txt", &text);
    assert!(text.starts_with("REGRESSION: node010 receives "), "{text}");
    // The other way round the host has been repaired.
    let text = place.compare(&["tuesday", "monday"]).ends(exit::SUCCESS);
    assert!(text.starts_with("IMPROVEMENT: node010 receives "), "{text}");
    // Less than was asked for is no regression.
    let text = place.compare(&["monday", "tuesday_median.nc", "--threshold", "40%"]).ends(exit::SUCCESS);
    assert!(text.starts_with("UNCHANGED: nothing differs by more than 40 % "), "{text}");
    assert!(place.compare(&["monday", "monday"]).ends(exit::SUCCESS).starts_with("UNCHANGED"));
}

#[test]
fn the_document_has_everything_in_seconds_and_bytes() {
    let base = day(&small(), 1, None);
    let new = day(&small(), 2, Some(Planted::Node(9, Direction::Receive, 1.2)));
    let place = Place::with(&[("monday", &base), ("tuesday", &new)]);
    let document = place.compare(&["monday", "tuesday", "--format", "json"]).document(exit::FINDINGS);
    assert_eq!(document["schema"], "network_test.comparison/1");
    assert_eq!(document["verdict"], "regression");
    assert_eq!(document["threshold"], 0.05);
    assert_eq!(document["lengths"], serde_json::json!([0, 4096, 1 << 20]));
    assert_eq!((&document["base"]["run"], &document["new"]["hosts"]), (&Value::from("monday"), &Value::from(16)));
    let [finding] = &document["findings"].as_array().unwrap()[..] else { panic!("{document:#}") };
    assert_eq!((&finding["kind"], &finding["change"]), (&Value::from("node"), &Value::from("slower")));
    assert_eq!((&finding["hosts"], &finding["direction"]), (&serde_json::json!(["node010"]), &Value::from("receive")));
    let ratio = finding["ratio"].as_f64().unwrap();
    assert!((1.17..1.23).contains(&ratio), "{ratio}");
    // 20 % of 100 us and what the other leaf costs.
    let extra = finding["extra_seconds"].as_f64().unwrap();
    assert!((18e-6..30e-6).contains(&extra), "{extra}");
    assert_eq!(finding["cells"]["of"], 15);
    assert!(finding["cells"]["slow"].as_u64().unwrap() >= 14, "{finding:#}");
    assert!(finding["confidence"].as_f64().unwrap() > 0.99);
    let fabric = document["fabric"].as_array().unwrap();
    assert_eq!(fabric.len(), 3);
    assert!(fabric.iter().all(|row| row["significant"] == false && row["inside_hosts_ratio"].is_null()), "{fabric:#?}");
    assert_eq!(document["hosts"], serde_json::json!({"shared": 16, "new": [], "lost": [], "moved": []}));
}

/// The run of some of its ranks, in the order given.
fn part(run: &MemoryRun, ranks: &[usize]) -> MemoryRun {
    let hosts = Hosts::new(ranks.iter().map(|rank| run.header().hosts.name_of(*rank)));
    let mut kept = MemoryRun::with_statistics(Header { hosts, ..run.header().clone() }, run.statistics().to_vec());
    for (index, length) in run.lengths().iter().enumerate() {
        let cells = run.cells(index);
        let pairs = ranks.iter().flat_map(|from| ranks.iter().map(move |to| (from, to)));
        kept.push(*length, pairs.map(|(from, to)| cells[from * run.ranks() + to]).collect());
    }
    kept
}

/// The ranks of these hosts, by their numbers in the machine.
fn ranks_of(run: &MemoryRun, hosts: std::ops::Range<usize>) -> Vec<usize> {
    let number = |name: &str| name["node".len()..].parse::<usize>().unwrap() - 1;
    (0..run.ranks()).filter(|rank| hosts.contains(&number(run.header().hosts.name_of(*rank)))).collect()
}

#[test]
fn runs_on_different_hosts_are_compared_where_they_meet() {
    let base = day(&small(), 1, None);
    let new = day(&small(), 2, Some(Planted::Node(9, Direction::Both, 1.2)));
    let base = part(&base, &ranks_of(&base, 0..14));
    let new = part(&new, &ranks_of(&new, 3..16));
    let place = Place::with(&[("monday", &base), ("tuesday", &new)]);
    let document = place.compare(&["monday", "tuesday", "--format", "json"]).document(exit::FINDINGS);
    assert_eq!(document["findings"].as_array().unwrap().len(), 1, "{document:#}");
    assert_eq!(document["findings"][0]["hosts"], serde_json::json!(["node010"]));
    assert_eq!(document["hosts"]["shared"], 11);
    let sorted = |names: &Value| {
        let mut names: Vec<String> = serde_json::from_value(names.clone()).unwrap();
        names.sort();
        names
    };
    assert_eq!(sorted(&document["hosts"]["new"]), ["node015", "node016"]);
    assert_eq!(sorted(&document["hosts"]["lost"]), ["node001", "node002", "node003"]);
    assert!(place.compare(&["monday", "tuesday"]).ends(exit::FINDINGS).contains("lost      3: node"));
}

#[test]
fn runs_that_share_hardly_a_host_are_compared_by_class() {
    let base = day(&small(), 1, None);
    let new = day(&small(), 2, None);
    for (shared, words) in [(10, "no host is in both runs"), (8, "2 hosts are in both runs")] {
        let base = part(&base, &ranks_of(&base, 0..10));
        let new = part(&new, &ranks_of(&new, shared..16));
        let place = Place::with(&[("old", &base), ("other", &new)]);
        let text = place.compare(&["old", "other"]).ends(exit::SUCCESS);
        assert!(text.starts_with(&format!("INCOMPARABLE: {words}")), "{text}");
        assert!(text.contains("single hosts cannot be compared") && text.contains("pairs between hosts"), "{text}");
        let document = place.compare(&["old", "other", "--format", "json"]).document(exit::SUCCESS);
        assert_eq!(document["verdict"], "incomparable");
        let rows = document["classes"]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 3);
        let times: Vec<f64> = serde_json::from_value(rows[2]["new"].clone()).unwrap();
        assert!(times[0] < times[1] && times[1] < times[2] && times[2] < 1e-3, "{times:?}");
    }
}

#[test]
fn a_host_that_was_plugged_in_elsewhere_is_told_as_moved() {
    let mut machine = small();
    let base = day(&machine, 1, None);
    machine.leaf[3] = 1;
    let place = Place::with(&[("before", &base), ("after", &day(&machine, 2, None))]);
    let document = place.compare(&["before", "after", "--format", "json"]).document(exit::SUCCESS);
    let moved = &document["hosts"]["moved"];
    assert_eq!((moved.as_array().unwrap().len(), &moved[0]["host"]), (1, &Value::from("node004")), "{document:#}");
    assert_eq!((moved[0]["from"].as_array().unwrap().len(), moved[0]["to"].as_array().unwrap().len()), (7, 8));
    assert!(place.compare(&["before", "after"]).ends(exit::SUCCESS).contains("moved     node004 was near "));
}

#[test]
fn a_host_that_went_silent_is_a_regression() {
    let base = day(&small(), 1, None);
    let new = day(&small(), 2, None);
    let mut dead = MemoryRun::with_statistics(new.header().clone(), new.statistics().to_vec());
    let ranks = new.ranks();
    let rank = ranks_of(&new, 6..7)[0];
    for (index, length) in new.lengths().iter().enumerate() {
        let mut cells = new.cells(index).to_vec();
        for other in (0..ranks).filter(|other| *other != rank) {
            cells[rank * ranks + other] = Cell::missing(State::TimedOut);
            cells[other * ranks + rank] = Cell::missing(State::TimedOut);
        }
        dead.push(*length, cells);
    }
    let place = Place::with(&[("before", &base), ("after", &dead)]);
    let text = place.compare(&["before", "after"]).ends(exit::FINDINGS);
    assert!(text.starts_with("REGRESSION: node007 no longer exchanges anything"), "{text}");
    let document = place.compare(&["before", "after", "--format", "json"]).document(exit::FINDINGS);
    let findings = document["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &findings[0]["kind"], &findings[0]["ratio"]), (1, &Value::from("node"), &Value::Null));
}

#[test]
fn slower_pairs_inside_hosts_are_told() {
    let machine = Machine { ranks_per_host: 2, ..small() };
    let base = day(&machine, 1, None);
    let new = day(&machine, 2, None);
    let mut slower = MemoryRun::with_statistics(new.header().clone(), new.statistics().to_vec());
    let hosts = &new.header().hosts;
    for (index, length) in new.lengths().iter().enumerate() {
        let mut cells = new.cells(index).to_vec();
        for (n, cell) in cells.iter_mut().enumerate() {
            if hosts.host_of(n / new.ranks()) == hosts.host_of(n % new.ranks()) {
                cell.summary.median *= 1.5;
            }
        }
        slower.push(*length, cells);
    }
    let place = Place::with(&[("before", &base), ("after", &slower)]);
    let document = place.compare(&["before", "after", "--format", "json"]).document(exit::FINDINGS);
    let [finding] = &document["findings"].as_array().unwrap()[..] else { panic!("{document:#}") };
    assert_eq!((&finding["kind"], &finding["pairs"]), (&Value::from("fabric"), &Value::from("inside_hosts")));
    assert_eq!(finding["cells"], serde_json::json!({"slow": 16, "of": 16}));
}

#[test]
fn two_slow_hosts_do_not_make_their_own_pair_faster() {
    let mut machine = small();
    machine.leaf = (0..16).map(|host| if host < 2 { 1 } else { 0 }).collect();
    let new = day(&machine, 2, Some(Planted::Uplink(1, 1.3)));
    let place = Place::with(&[("before", &day(&machine, 1, None)), ("after", &new)]);
    let document = place.compare(&["before", "after", "--format", "json"]).document(exit::FINDINGS);
    let findings = document["findings"].as_array().unwrap();
    assert!(!findings.is_empty() && findings.iter().all(|finding| finding["change"] == "slower"), "{document:#}");
}

#[test]
fn missing_cells_are_nobodys_fault() {
    let sampled = |seed: u64, planted| {
        let full = day(&small(), seed, planted);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut run = MemoryRun::with_statistics(full.header().clone(), full.statistics().to_vec());
        let ranks = full.ranks();
        for (index, length) in full.lengths().iter().enumerate() {
            let mut cells = full.cells(index).to_vec();
            for (a, b) in (0..ranks).flat_map(|a| (0..a).map(move |b| (a, b))) {
                // Of one length nothing is there.
                if index == 1 || rng.random_bool(0.3) {
                    cells[a * ranks + b] = Cell::missing(State::NotScheduled);
                    cells[b * ranks + a] = Cell::missing(State::NotScheduled);
                }
            }
            run.push(*length, cells);
        }
        run
    };
    let slow = sampled(3, Some(Planted::Node(9, Direction::Both, 1.2)));
    let place = Place::with(&[("base", &sampled(1, None)), ("same", &sampled(2, None)), ("slow", &slow)]);
    assert!(place.compare(&["base", "same"]).ends(exit::SUCCESS).starts_with("UNCHANGED"));
    let document = place.compare(&["base", "slow", "--format", "json"]).document(exit::FINDINGS);
    assert_eq!(document["findings"].as_array().unwrap().len(), 1, "{document:#}");
    assert_eq!(document["findings"][0]["hosts"], serde_json::json!(["node010"]));
}

#[test]
fn lengths_that_are_near_each_other_are_joined_and_others_are_refused() {
    let machine = small();
    let place = |new: &[u64], planted| {
        let new = day(&Machine { lengths: new.to_vec(), ..machine.clone() }, 2, planted);
        Place::with(&[("old", &day(&machine, 1, None)), ("new", &new)])
    };
    // A tenth longer messages take longer, but that is nobody's fault.
    let near = place(&[0, 4500, 1_150_000], None);
    let text = near.compare(&["old", "new"]).ends(exit::SUCCESS);
    assert!(text.starts_with("UNCHANGED") && text.contains("2 of 3 lengths are not the same"), "{text}");
    let near = place(&[4500, 1_150_000], Some(Planted::Node(9, Direction::Both, 1.2)));
    let document = near.compare(&["old", "new", "--format", "json"]).document(exit::FINDINGS);
    assert_eq!(document["findings"][0]["hosts"], serde_json::json!(["node010"]), "{document:#}");
    assert_eq!((&document["fabric"][0]["length"], &document["fabric"][0]["new_length"]), (&4096.into(), &4500.into()));
    let other = place(&[1, 64, 65_536], None).compare(&["old", "new"]);
    other.fails(exit::USAGE, &["no message length in common", "0, 4K, 1M", "1, 64, 64K"]);
}

#[test]
fn what_cannot_be_compared_is_refused_with_advice() {
    let run = day(&small(), 1, None);
    let other = |change: &dyn Fn(&mut Header)| {
        let mut header = run.header().clone();
        change(&mut header);
        let mut other = MemoryRun::with_statistics(header, run.statistics().to_vec());
        run.lengths().iter().enumerate().for_each(|(n, length)| other.push(*length, run.cells(n).to_vec()));
        other
    };
    let put = other(&|header| header.mode = Mode::Put);
    let receive = other(&|header| {
        header.plan.insert("timing".into(), "receive".into());
    });
    let unfinished = other(&|header| header.planned.push(Bytes(1 << 22)));
    let place = Place::with(&[("base", &run), ("put", &put), ("receive", &receive), ("unfinished", &unfinished)]);
    place.compare(&["base", "put"]).fails(exit::USAGE, &["one_to_one", "put", "same mode"]);
    place.compare(&["base", "receive"]).fails(exit::USAGE, &["transfer", "receive", "--timing"]);
    place
        .compare(&["base", "unfinished"])
        .ends(exit::SUCCESS)
        .lines()
        .find(|line| line.contains("unfinished"))
        .unwrap();
    place.compare(&["base", "base", "--statistic", "min"]).fails(exit::FILES, &["has no min", "median"]);
    place.compare(&["base", "base", "--statistic", "measurements_amount"]).fails(exit::USAGE, &["no time"]);
    place.compare(&["base", "bsae"]).fails(exit::FILES, &["bsae", "`base` meant?"]);
    place.compare(&["base"]).fails(exit::USAGE, &["<NEW>"]);
    for (option, value) in
        [("--threshold", "0"), ("--threshold", "five"), ("--confidence", "1"), ("--statistic", "mean")]
    {
        place.compare(&["base", "base", option, value]).fails(exit::USAGE, &[option, value]);
    }
    std::fs::write(place.0.path().join("broken_median.nc"), "CDF?").unwrap();
    place.compare(&["base", "broken"]).fails(exit::FILES, &["broken_median.nc"]);
}

//! The program itself: what it prints, how it ends, what it refuses.

use std::process::{Command, Stdio};

use netmatrix::{
    analysis::diagnose::Direction,
    exit,
    plan::Mode,
    record::{Cell, Header, MemoryRun, Run, State},
    store,
    units::{Bytes, Hosts},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    golden,
    machine::{Machine, Planted},
};

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
        step: 0.5,
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
    let place = Place::with(&[("monday", &base), ("again", &base), ("tuesday", &new)]);
    let text = place.compare(&["monday", "tuesday"]).ends(exit::FINDINGS);
    golden::check("compare.txt", &text);
    assert!(text.starts_with("REGRESSION: node010 receives "), "{text}");
    // The other way round the host has been repaired.
    let text = place.compare(&["tuesday", "monday"]).ends(exit::SUCCESS);
    assert!(text.starts_with("IMPROVEMENT: node010 receives "), "{text}");
    // Less than was asked for is no regression.
    let text = place.compare(&["monday", "tuesday_median.nc", "--threshold", "40%"]).ends(exit::SUCCESS);
    assert!(text.starts_with("UNCHANGED: nothing differs by more than 40 % "), "{text}");
    assert!(place.compare(&["monday", "again"]).ends(exit::SUCCESS).starts_with("UNCHANGED"));
    place.compare(&["monday", "./monday_min.nc"]).fails(exit::USAGE, &["are the same run"]);
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
    assert!(place.compare(&["monday", "tuesday"]).ends(exit::FINDINGS).contains("lost hosts: node[001-003] (3 hosts)"));
}

#[test]
fn runs_that_share_hardly_a_host_are_compared_by_class() {
    let base = day(&small(), 1, None);
    let new = day(&small(), 2, None);
    for (shared, words) in [(10, "no host is in both runs"), (8, "2 hosts are in both runs")] {
        let base = part(&base, &ranks_of(&base, 0..10));
        let new = part(&new, &ranks_of(&new, shared..16));
        let place = Place::with(&[("old", &base), ("other", &new)]);
        let text = place.compare(&["old", "other"]).ends(exit::UNJUDGED);
        assert!(text.starts_with(&format!("INCOMPARABLE: {words}")), "{text}");
        assert!(text.contains("single hosts cannot be") && text.contains("pairs between hosts"), "{text}");
        let document = place.compare(&["old", "other", "--format", "json"]).document(exit::UNJUDGED);
        assert_eq!(document["verdict"], "incomparable");
        let rows = document["classes"]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 3);
        let times: Vec<f64> = serde_json::from_value(rows[2]["new"].clone()).unwrap();
        assert!(times[0] < times[1] && times[1] < times[2] && times[2] < 1e-3, "{times:?}");
    }
}

#[test]
fn a_run_that_lost_most_hosts_is_no_good_news() {
    let base = day(&small(), 1, None);
    let first_six = |run: MemoryRun| part(&run, &ranks_of(&run, 0..6));
    let few = first_six(day(&small(), 2, None));
    let slow = first_six(day(&small(), 2, Some(Planted::Node(3, Direction::Both, 1.5))));
    let place = Place::with(&[("base", &base), ("few", &few), ("slow", &slow)]);
    let text = place.compare(&["base", "few"]).ends(exit::UNJUDGED);
    assert!(text.starts_with("INCOMPARABLE: 6 hosts are in both runs; 10 hosts are lost"), "{text}");
    assert!(text.contains("RESULT verdict=incomparable findings=0 hosts=6"), "{text}");
    assert!(place.compare(&["base", "slow"]).ends(exit::FINDINGS).starts_with("REGRESSION: node004"));
    assert!(place.compare(&["few", "base"]).ends(exit::SUCCESS).starts_with("UNCHANGED"));
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
    let near = |when: &str| serde_json::from_value::<Vec<String>>(moved[0][when].clone()).unwrap();
    let (from, to) = (near("from"), near("to"));
    assert!(from.len() >= 4 && from.iter().all(|host| machine.names[..8].contains(host)), "{from:?}");
    assert!(to.len() >= 7 && to.iter().all(|host| machine.names[8..].contains(host)), "{to:?}");
    assert!(place.compare(&["before", "after"]).ends(exit::SUCCESS).contains("moved: node004 was near "));
}

#[test]
fn a_pair_that_worked_before_and_fails_is_a_regression() {
    let base = day(&small(), 1, None);
    let new = day(&small(), 2, None);
    let mut cut = MemoryRun::with_statistics(new.header().clone(), new.statistics().to_vec());
    for (index, length) in new.lengths().iter().enumerate() {
        let mut cells = new.cells(index).to_vec();
        cells[2 * new.ranks() + 5] = Cell::missing(State::TimedOut);
        cut.push(*length, cells);
    }
    let place = Place::with(&[("base", &base), ("new", &cut)]);
    let text = place.compare(&["base", "new"]).ends(exit::FINDINGS);
    assert!(text.starts_with("REGRESSION: exchanges of 1 pair of hosts fail that worked before"), "{text}");
    let document = place.compare(&["base", "new", "--format", "json"]).document(exit::FINDINGS);
    assert_eq!((&document["verdict"], &document["failed_pairs"]), (&"regression".into(), &1.into()));
    // It failed before as well: nothing has changed.
    let place = Place::with(&[("base", &cut), ("new", &cut)]);
    let text = place.compare(&["base", "new"]).ends(exit::SUCCESS);
    assert!(text.starts_with("UNCHANGED"), "{text}");
}

#[test]
fn payloads_that_arrive_damaged_now_are_a_regression() {
    let (base, new) = (day(&small(), 1, None), day(&small(), 2, None));
    let mut damaged = MemoryRun::with_statistics(new.header().clone(), new.statistics().to_vec());
    for (index, length) in new.lengths().iter().enumerate() {
        let mut cells = new.cells(index).to_vec();
        for place in [2 * new.ranks() + 5, 2 * new.ranks() + 6] {
            cells[place].state = State::Damaged;
        }
        damaged.push(*length, cells);
    }
    let place = Place::with(&[("base", &base), ("new", &damaged)]);
    let text = place.compare(&["base", "new"]).ends(exit::FINDINGS);
    assert!(text.starts_with("REGRESSION: payloads of 2 pairs of hosts arrive damaged that did not before"), "{text}");
    let last = text.lines().last().unwrap();
    assert_eq!(last, "RESULT verdict=regression findings=0 hosts=16 failed_pairs=0 damaged_pairs=2 lost_hosts=0");
    let document = place.compare(&["base", "new", "--format", "json"]).document(exit::FINDINGS);
    assert_eq!((&document["verdict"], &document["damaged_pairs"]), (&"regression".into(), &2.into()));
    let place = Place::with(&[("base", &damaged), ("new", &damaged)]);
    assert!(place.compare(&["base", "new"]).ends(exit::SUCCESS).starts_with("UNCHANGED"));
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
    // No host has a slow card: that would hide the slow uplink from its pairs, which are no faster for it.
    let leaf = (0..16).map(|host| if host < 2 { 1 } else { 0 }).collect();
    let machine = Machine { leaf, own: vec![1.0; 16], ..small() };
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
    // A tenth longer messages take longer, but that is no fault.
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
    let place = Place::with(&[
        ("base", &run),
        ("new", &run),
        ("put", &put),
        ("receive", &receive),
        ("unfinished", &unfinished),
    ]);
    place.compare(&["base", "put"]).fails(exit::USAGE, &["one_to_one", "put", "same mode"]);
    place.compare(&["base", "receive"]).fails(exit::USAGE, &["transfer", "receive", "--timing"]);
    place
        .compare(&["base", "unfinished"])
        .ends(exit::SUCCESS)
        .lines()
        .find(|line| line.contains("unfinished"))
        .unwrap();
    place.compare(&["base", "new", "--statistic", "min"]).fails(exit::FILES, &["has no min", "median"]);
    place.compare(&["base", "base", "--statistic", "measurements_amount"]).fails(exit::USAGE, &["no time"]);
    place.compare(&["base", "bsae"]).fails(exit::FILES, &["bsae", "`base` meant?"]);
    place.compare(&["base"]).fails(exit::USAGE, &["<NEW>"]);
    for (option, value) in
        [("--threshold", "0"), ("--threshold", "five"), ("--confidence", "1"), ("--statistic", "mean")]
    {
        place.compare(&["base", "new", option, value]).fails(exit::USAGE, &[option, value]);
    }
    std::fs::write(place.0.path().join("broken_median.nc"), "CDF?").unwrap();
    place.compare(&["base", "broken"]).fails(exit::FILES, &["broken_median.nc"]);
}

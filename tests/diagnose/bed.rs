//! Synthetic machines to runs in a folder, in which the program is called.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use netmatrix::{
    measure::{
        StopRequest, measure,
        synthetic::{Machine, Synthetic},
    },
    plan::{Config, Mode, Plan, Sweep, Timing},
    record::{Cell, Header, MemoryRun, Provenance, Run},
    store,
    units::{Bytes, Hosts},
};
use serde_json::Value;
use tempfile::TempDir;

pub const LENGTHS: [u64; 5] = [0, 256, 4096, 1 << 16, 1 << 20];

/// Five lengths, synchronised clocks: both directions of a message are seen as they are.
pub fn config() -> Config {
    let sweep = Sweep::list(&LENGTHS.map(Bytes)).unwrap();
    // What re-tests say is tested by itself.
    Config { iterations: 15, timing: Timing::Clock, retest: 0, sweep, ..Config::default() }
}

/// One length of this many bytes.
pub fn single(length: u64) -> Config {
    Config { sweep: Sweep::list(&[Bytes(length)]).unwrap(), ..config() }
}

/// What the machine gives in this mode.
pub fn run_of(machine: &Machine, config: &Config, mode: Mode) -> MemoryRun {
    let config = Config { modes: vec![mode], ..config.clone() };
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    let mut fabric = Synthetic::new(machine.clone());
    measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    run
}

/// What the machine gives with [`config`] and one_to_one.
pub fn run(machine: &Machine) -> MemoryRun {
    run_of(machine, &config(), Mode::OneToOne)
}

/// The same with pairs that are measured again: without, a slow link is no finding.
pub fn run_with_retests(machine: &Machine) -> MemoryRun {
    run_of(machine, &Config { retest: 4, ..config() }, Mode::OneToOne)
}

/// Hosts on leaf switches, with the ranks in another order than the names: host `n` of the machine is the `7 n`th name.
pub fn shuffled(hosts: usize, leaves: usize) -> Machine {
    let mut machine = Machine::leaf_spine(hosts, leaves, 1);
    assert!(!hosts.is_multiple_of(7), "7 leads to every host");
    let order = || (0..hosts).map(|host| 7 * host % hosts);
    machine.hosts = Hosts::new(order().map(|host| format!("node{:03}", host + 1)));
    machine.leaf_of_host = order().map(|host| host / hosts.div_ceil(leaves)).collect();
    machine
}

/// The number in the machine of the host of this name.
pub fn number(machine: &Machine, name: &str) -> usize {
    machine.hosts.names().iter().position(|own| own == name).unwrap()
}

/// The run with other cells; `change` is called with length, source and destination by number.
pub fn changed(run: &MemoryRun, change: impl Fn(usize, usize, usize, &mut Cell)) -> MemoryRun {
    let mut other = MemoryRun::with_statistics(run.header().clone(), run.statistics().to_vec());
    for (index, length) in run.lengths().iter().enumerate() {
        let mut cells = run.cells(index).to_vec();
        for (place, cell) in cells.iter_mut().enumerate() {
            change(index, place / run.ranks(), place % run.ranks(), cell);
        }
        other.push(*length, cells);
    }
    other
}

/// A folder with runs, in which the program is called.
pub struct Place(TempDir);

/// What a call of the program came to.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn with(runs: &[(&str, &MemoryRun)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, run) in runs {
            store::write_run(*run, &folder.path().join(name), false).unwrap();
        }
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Words separated by spaces.
    pub fn call(&self, arguments: &str) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_network_analyze"));
        let command = command.args(arguments.split(' ')).current_dir(self.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Ended { code: output.status.code().expect("the program ended by itself"), stdout, stderr }
    }

    pub fn diagnose(&self, arguments: &str) -> Ended {
        self.call(&format!("diagnose {arguments}"))
    }
}

impl Ended {
    /// The result of a call that ends with this code without a word on standard error.
    #[track_caller]
    pub fn ends(self, code: u8) -> String {
        assert_eq!((self.code, &*self.stderr), (i32::from(code), ""), "{}", self.stdout);
        self.stdout
    }

    #[track_caller]
    pub fn document(self, code: u8) -> Value {
        serde_json::from_str(&self.ends(code)).unwrap()
    }

    /// The call must fail with this code, say all of `words`, and print no result.
    #[track_caller]
    pub fn fails(self, code: u8, words: &[&str]) {
        assert_eq!((self.code, &*self.stdout), (i32::from(code), ""), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("internal fault"), "{}", self.stderr);
    }
}

/// The document about one run.
#[track_caller]
pub fn diagnosed(run: &MemoryRun, code: u8) -> Value {
    Place::with(&[("network", run)]).diagnose("network --format json").document(code)
}

#[track_caller]
pub fn findings(document: &Value) -> &[Value] {
    document["findings"].as_array().unwrap_or_else(|| panic!("no findings: {document:#}"))
}

/// The only finding.
#[track_caller]
pub fn only(document: &Value) -> &Value {
    let [finding] = findings(document) else { panic!("not one finding: {document:#}") };
    finding
}

/// Kind, hosts, direction and symptom in one line.
pub fn named(finding: &Value) -> String {
    let text = |name: &str| finding[name].as_str().unwrap().to_owned();
    let hosts: Vec<_> = finding["hosts"].as_array().unwrap().iter().map(|host| host.as_str().unwrap()).collect();
    format!("{} {} {} {}", text("kind"), hosts.join(" "), text("direction"), text("symptom"))
}

/// Within 10 %.
#[track_caller]
pub fn is_near(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value / expected - 1.0).abs() < 0.1, "{value} instead of {expected}");
}

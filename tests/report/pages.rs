//! Runs to report on, in a folder of their own, and the program that makes pages of them.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use netmatrix::{
    measure::{
        StopRequest, measure,
        synthetic::{Direction, Fault, Machine, Symptom, Synthetic},
    },
    plan::{Config, Plan, Sweep},
    record::{Header, MemoryRun, Provenance, Run},
    store,
    units::Bytes,
    view::report::{Page, Section},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{large::Large, lomonosov::lomonosov};

/// A folder that is removed with the value.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Stores a run, and returns its prefix.
    pub fn store(&self, name: &str, run: &dyn Run) -> PathBuf {
        let prefix = self.path(name);
        store::write_run(run, &prefix, false).unwrap();
        prefix
    }

    /// Sixteen hosts with two ranks each on four leaves: node003 sends slowly, the way from node010 to node014 is slow,
    /// nothing reaches or leaves node006.
    pub fn faults(&self) -> PathBuf {
        self.store("faults", &measured(&broken(), &[0, 64, 1024, 4096, 16_384, 65_536, 262_144, 1 << 20], 20))
    }

    pub fn lomonosov(&self) -> PathBuf {
        self.store("lomonosov", &lomonosov(0.02))
    }

    /// A page of a [`Large`] run, which no file has to hold.
    pub fn large(&self, ranks: usize, lengths: u64) -> PathBuf {
        let run = Large::new(ranks, lengths);
        let section = Section {
            name: "large".into(),
            run: &run,
            statistics: run.statistics(),
            notices: &[],
            archive: None,
            diagnosis: None,
            groups: None,
            base: None,
            is_base: false,
        };
        let path = self.path(&format!("large{ranks}.html"));
        let mut out = BufWriter::new(File::create(&path).unwrap());
        Page { title: "large".into(), sections: vec![section] }.write(&mut out).unwrap();
        out.flush().unwrap();
        path
    }

    /// Writes a page, and returns where it is.
    pub fn report(&self, name: &str, runs: &[&Path], arguments: &[&str]) -> PathBuf {
        let page = self.path(&format!("{name}.html"));
        let output = Command::new(env!("CARGO_BIN_EXE_network_analyze"))
            .arg("report")
            .args(runs)
            .arg("-o")
            .arg(&page)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        page
    }

    /// A diagnosis as `network_analyze diagnose --format json` writes it, in a file.
    pub fn diagnosis(&self, findings: &Value) -> PathBuf {
        let path = self.path("diagnosis.json");
        let document = json!({
            "schema": "network_test.diagnosis/1",
            "verdict": "findings",
            "run": {"mode": "one_to_one", "hosts": 16, "ranks": 32, "lengths": 8, "statistic": "median"},
            "findings": findings,
        });
        fs::write(&path, document.to_string()).unwrap();
        path
    }
}

/// The machine of [`Folder::faults`].
pub fn broken() -> Machine {
    let node003 = Fault::Host { host: 2, direction: Direction::Send, symptom: Symptom::Bandwidth(0.25) };
    let link = Fault::Link { hosts: (9, 13), direction: Direction::Send, symptom: Symptom::Bandwidth(0.1) };
    let node006 = Fault::Host { host: 5, direction: Direction::Both, symptom: Symptom::Dead };
    Machine::leaf_spine(16, 4, 2).with(node003).with(link).with(node006)
}

/// What such a machine would give.
pub fn measured(machine: &Machine, lengths: &[u64], iterations: u32) -> MemoryRun {
    let sweep = Sweep::list(&lengths.iter().copied().map(Bytes).collect::<Vec<_>>()).unwrap();
    let config = Config { iterations, sweep, ..Config::default() };
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let provenance = Provenance {
        command: "network_test -t one_to_one".into(),
        program_version: "network_test 0.1.0".into(),
        created: "2026-01-02T03:04:05Z".into(),
        ..Provenance::default()
    };
    let mut run = MemoryRun::new(Header::of(&plan, provenance));
    let mut fabric = Synthetic::new(machine.clone());
    measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    run
}

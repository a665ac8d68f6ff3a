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
    plan::{Config, Mode, Plan, Sweep},
    record::{Cell, Header, MemoryRun, Provenance, Run, State, Statistic},
    stats::Summary,
    store,
    units::Bytes,
    view::{
        model::fit::Fit,
        report::{Page, Section},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{large::Large, lomonosov::lomonosov};

/// The message lengths of [`Folder::faults`].
pub const LENGTHS: [u64; 8] = [0, 64, 1024, 4096, 16_384, 65_536, 262_144, 1 << 20];

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
        self.store("faults", &measured(&broken(), &LENGTHS, 20))
    }

    pub fn lomonosov(&self) -> PathBuf {
        self.store("lomonosov", &lomonosov(0.02))
    }

    /// A page of a [`Large`] run, which no file has to hold.
    pub fn large(&self, ranks: usize, lengths: u64, statistics: &[Statistic]) -> PathBuf {
        let (run, models) = (Large::new(ranks, lengths), Fit::default());
        let section = Section {
            name: "large".into(),
            run: &run,
            statistics,
            notices: &[],
            archive: None,
            diagnosis: None,
            groups: &[],
            is_inferred: false,
            base: None,
            models: &models,
            is_base: false,
        };
        let path = self.path(&format!("large{ranks}.html"));
        let mut out = BufWriter::new(File::create(&path).unwrap());
        Page { title: "large".into(), diagnoses: Vec::new(), sections: vec![section] }.write(&mut out).unwrap();
        out.flush().unwrap();
        path
    }

    /// Writes a page, and returns where it is.
    pub fn report(&self, name: &str, runs: &[&Path], arguments: &[&str]) -> PathBuf {
        let page = self.path(&format!("{name}.html"));
        analyze(Command::new(PROGRAM).arg("report").args(runs).arg("-o").arg(&page).args(arguments));
        page
    }

    /// Makes an archive of a run, and returns where it is.
    pub fn cluster(&self, run: &Path, name: &str, tolerance: &str) -> PathBuf {
        let archive = self.path(name);
        let mut command = Command::new(PROGRAM);
        analyze(command.arg("cluster").arg(run).arg("-o").arg(&archive).args(["--tolerance", tolerance]));
        archive
    }

    /// A diagnosis as `network_analyze diagnose --format json` writes it, in a file.
    pub fn diagnosis(&self, ranks: usize, findings: &Value) -> PathBuf {
        let path = self.path("diagnosis.json");
        let document = json!({
            "schema": "network_test.diagnosis/1",
            "verdict": "findings",
            "run": {"mode": "one_to_one", "hosts": 16, "ranks": ranks, "lengths": 8, "statistic": "median"},
            "findings": findings,
        });
        fs::write(&path, document.to_string()).unwrap();
        path
    }
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_analyze");

#[track_caller]
fn analyze(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What a diagnosis would say about [`broken`].
pub fn findings() -> Value {
    let finding = |kind: &str, hosts: &[&str], direction: &str, ratio: f64, explanation: &str| {
        json!({"kind": kind, "hosts": hosts, "direction": direction, "symptom": "bandwidth", "lengths": [65_536, 1 << 20],
            "ratio": ratio, "extra_seconds": 1e-5, "confidence": 0.9999, "cells": {"slow": 60, "of": 62},
            "explanation": explanation})
    };
    json!([
        finding(
            "node",
            &["node003"],
            "send",
            3.9,
            "node003 sends at a quarter of the bandwidth, and receives as fast as the others."
        ),
        finding("link", &["node010", "node014"], "send", 9.7, "Only the way from node010 to node014 is slow."),
        finding("node", &["node006"], "both", 0.0, "node006 does not answer."),
    ])
}

/// The machine of [`Folder::faults`] before anything was wrong with it.
pub fn healthy() -> Machine {
    Machine::leaf_spine(16, 4, 2)
}

/// The machine of [`Folder::faults`].
pub fn broken() -> Machine {
    let node003 = Fault::Host { host: 2, direction: Direction::Send, symptom: Symptom::Bandwidth(0.25) };
    let link = Fault::Link { hosts: (9, 13), direction: Direction::Send, symptom: Symptom::Bandwidth(0.1) };
    let node006 = Fault::Host { host: 5, direction: Direction::Both, symptom: Symptom::Dead };
    healthy().with(node003).with(link).with(node006)
}

/// What such a machine would give.
pub fn measured(machine: &Machine, lengths: &[u64], iterations: u32) -> MemoryRun {
    measured_as(Mode::OneToOne, machine, lengths, iterations)
}

/// What such a machine would give in a mode.
pub fn measured_as(mode: Mode, machine: &Machine, lengths: &[u64], iterations: u32) -> MemoryRun {
    let sweep = Sweep::list(&lengths.iter().copied().map(Bytes).collect::<Vec<_>>()).unwrap();
    let config = Config { modes: vec![mode], iterations, sweep, ..Config::default() };
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let provenance = Provenance {
        command: format!("network_test -t {mode}"),
        program_version: "network_test 0.1.0".into(),
        created: "2026-01-02T03:04:05Z".into(),
        ..Provenance::default()
    };
    let mut run = MemoryRun::new(Header::of(&plan, provenance));
    let mut fabric = Synthetic::new(machine.clone());
    measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    run
}

/// A cell of its own value.
fn varied(cell: usize) -> Cell {
    Cell::measured(Summary::of(&mut [1e-6 * (1.0 + cell as f64)]), 1, State::Measured)
}

/// Runs that have little or nothing to show, by name.
pub fn odd_runs() -> Vec<(&'static str, MemoryRun)> {
    let header = |ranks: usize, planned: u64| {
        let machine = Machine::leaf_spine(ranks, 1, 1);
        let sweep = Sweep::list(&(0..planned).map(|k| Bytes(64 * k)).collect::<Vec<_>>()).unwrap();
        let plan = Plan::all(&Config { sweep, ..Config::default() }, &machine.hosts).unwrap().remove(0);
        Header::of(&plan, Provenance::default())
    };
    let run = |ranks: usize, planned: u64, finished: u64, cell: fn(usize) -> Cell| {
        let mut run = MemoryRun::new(header(ranks, planned));
        for length in 0..finished {
            let cells = (0..ranks * ranks).map(|k| if k % (ranks + 1) == 0 { Cell::zero() } else { cell(k) });
            run.push(Bytes(64 * length), cells.collect());
        }
        run
    };
    vec![
        ("unfinished", run(4, 5, 2, varied)),
        ("nothing", run(4, 5, 0, varied)),
        ("pair", run(2, 1, 1, varied)),
        ("equal", run(4, 2, 2, |_| Cell::measured(Summary::of(&mut [1e-6]), 1, State::Measured))),
        ("zeros", run(4, 2, 2, |_| Cell::zero())),
        ("lost", run(4, 2, 2, |_| Cell::missing(State::TimedOut))),
    ]
}

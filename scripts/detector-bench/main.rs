//! How good is the detector? Draws clusters with planted faults, runs `network_analyze diagnose` on each, counts.
//!
//! In: a number of seeded cases and the program. Out: a table of recall, precision, direction and false alarms.

mod case;
mod fabric;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use case::{Case, Planted};
use clap::Parser;
use netmatrix::store;
use rayon::prelude::*;
use serde_json::Value;

/// Measures how well `network_analyze diagnose` names planted faults.
#[derive(Parser)]
struct Args {
    /// The program
    #[arg(long)]
    program: PathBuf,

    /// Number of plain cases, and of hard ones
    #[arg(long, default_value_t = 300)]
    cases: u64,

    /// First seed
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Say what was missed and what was made up
    #[arg(long)]
    verbose: bool,

    /// Folder for cases, kept
    #[arg(long)]
    keep: Option<PathBuf>,

    /// Only these: plain, hard
    #[arg(long)]
    only: Option<String>,
}

#[derive(Default, Clone)]
struct Tally {
    planted: usize,
    named: usize,
    directed: usize,
    findings: usize,
    true_findings: usize,
    healthy: usize,
    quiet: usize,
    by: BTreeMap<String, (usize, usize)>,
    made_up: BTreeMap<String, usize>,
}

impl Tally {
    fn add(mut self, other: Self) -> Self {
        self.planted += other.planted;
        self.named += other.named;
        self.directed += other.directed;
        self.findings += other.findings;
        self.true_findings += other.true_findings;
        self.healthy += other.healthy;
        self.quiet += other.quiet;
        for (key, (named, of)) in other.by {
            let entry = self.by.entry(key).or_default();
            entry.0 += named;
            entry.1 += of;
        }
        for (key, count) in other.made_up {
            *self.made_up.entry(key).or_default() += count;
        }
        self
    }
}

fn names(finding: &Value) -> Vec<String> {
    let hosts = finding["hosts"].as_array().map(Vec::as_slice).unwrap_or_default();
    hosts.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_same(planted: &Planted, finding: &Value) -> bool {
    let (mut a, mut b) = (planted.hosts.clone(), names(finding));
    a.sort();
    b.sort();
    finding["kind"] == planted.kind && a == b
}

fn is_directed(planted: &Planted, finding: &Value) -> bool {
    finding["direction"] == planted.direction
        && (planted.kind != "link" || planted.direction == "both" || planted.hosts == names(finding))
}

fn score(case: &Case, seed: u64, document: &Value, verbose: bool) -> Tally {
    let empty = Vec::new();
    let findings = document["findings"].as_array().unwrap_or(&empty);
    let mut tally = Tally { findings: findings.len(), ..Tally::default() };
    if verbose {
        println!("{seed} planted {:?}", case.planted);
        let group: Vec<u64> = netmatrix::record::Run::header(&case.run)
            .hosts
            .names()
            .iter()
            .map(|name| {
                document["groups"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .position(|g| g.as_array().unwrap().iter().any(|n| n == name))
                    .unwrap() as u64
            })
            .collect();
        let pairs: std::collections::BTreeMap<(usize, u64), usize> =
            case.leaf.iter().zip(&group).fold(Default::default(), |mut m, (l, g)| {
                *m.entry((*l, *g)).or_default() += 1;
                m
            });
        let leaves = case.leaf.iter().max().unwrap() + 1;
        let groups = group.iter().max().unwrap() + 1;
        let right = pairs.len() == leaves && groups as usize == leaves;
        println!(
            "{seed} groups {} {:?} {} hosts noise {:.3} lengths {} {pairs:?}",
            if right { "right" } else { "wrong" },
            case.shape,
            case.hosts,
            case.noise,
            netmatrix::record::Run::lengths(&case.run).len()
        );
    }
    let lengths = netmatrix::record::Run::lengths(&case.run).len();
    let class = format!(
        "CLASS {} {}",
        if case.missing > 0.3 { "missing" } else { "whole" },
        if lengths == 1 { "single" } else { "several" }
    );
    let what = format!(
        "{:?} {} hosts noise {:.3} missing {:.2} lengths {lengths}",
        case.shape, case.hosts, case.noise, case.missing
    );
    for planted in &case.planted {
        tally.planted += 1;
        let found = findings.iter().find(|finding| is_same(planted, finding));
        let entry = |key: String| (key, (usize::from(found.is_some()), 1));
        tally.by.entry(class.clone()).or_default().1 += 1;
        tally.by.entry(class.clone()).or_default().0 += usize::from(found.is_some());
        tally.by.extend([
            entry(format!("{:?} {}", case.shape, planted.kind)),
            entry(format!("{} {} x{:.2}", planted.kind, planted.part, planted.factor)),
        ]);
        if let Some(finding) = found {
            tally.named += 1;
            let right = is_directed(planted, finding);
            tally.directed += usize::from(right);
            if verbose && !right {
                println!("{seed} direction: {planted:?} {finding} ({what})");
            }
        } else if verbose {
            println!("{seed} missed: {planted:?} ({what})");
        }
    }
    for finding in findings {
        if case.planted.iter().any(|planted| is_same(planted, finding)) {
            tally.true_findings += 1;
        } else {
            let kind = finding["kind"].as_str().unwrap_or_default();
            *tally.made_up.entry(format!("{:?} {kind}", case.shape)).or_default() += 1;
            *tally.made_up.entry(class.clone()).or_default() += 1;
            if verbose {
                println!("{seed} made up: {finding} ({what})");
            }
        }
    }
    if case.planted.is_empty() {
        tally.healthy += 1;
        tally.quiet += usize::from(findings.is_empty());
    }
    tally
}

fn run(args: &Args, folder: &Path, seed: u64, is_hard: bool) -> Tally {
    let case = case::draw(seed, is_hard);
    let prefix = folder.join(format!("{}{seed}", if is_hard { "hard" } else { "plain" }));
    if !store::exists(&prefix) {
        store::write_run(&case.run, &prefix, false).unwrap();
    }
    let output = Command::new(&args.program).arg("diagnose").arg(&prefix).args(["--format", "json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{seed}: {error}: {}", String::from_utf8_lossy(&output.stderr)));
    score(&case, seed, &document, args.verbose)
}

fn main() -> ExitCode {
    let args = Args::parse();
    let temporary = tempfile::tempdir().unwrap();
    let folder = args.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).unwrap();
    for is_hard in [false, true] {
        let name = if is_hard { "hard" } else { "plain" };
        if args.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let seeds: Vec<u64> = (args.seed..args.seed + args.cases).collect();
        let tally = seeds.par_iter().map(|seed| run(&args, folder, *seed, is_hard)).reduce(Tally::default, Tally::add);
        let percent = |a: usize, b: usize| 100.0 * a as f64 / b.max(1) as f64;
        println!(
            "{name}: recall {:.1} ({}/{}) precision {:.1} ({}/{}) healthy {:.1} ({}/{}) direction {:.1}",
            percent(tally.named, tally.planted),
            tally.named,
            tally.planted,
            percent(tally.true_findings, tally.findings),
            tally.true_findings,
            tally.findings,
            percent(tally.quiet, tally.healthy),
            tally.quiet,
            tally.healthy,
            percent(tally.directed, tally.named),
        );
        for (key, (named, of)) in &tally.by {
            if named < of {
                println!("  {key}: {named}/{of}");
            }
        }
        println!("  made up: {:?}", tally.made_up);
    }
    ExitCode::SUCCESS
}

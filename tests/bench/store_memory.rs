//! The peak memory of a process that does nothing but write a run, row by row: 64 ranks and 512 ranks.
//!
//! A matrix of 512 ranks is 64 times as large as one of 64; a row is 8 times as large. The peaks must not show the
//! matrix. Every size is written by a process of its own, which reports its VmHWM.

use std::{env, fs, process::Command};

use netmatrix::{
    plan::{Config, Plan, Sweep},
    record::{Cell, Header, Provenance, Sink},
    store,
    units::{Bytes, Hosts},
};

const LENGTHS: u64 = 4;

fn write(ranks: usize) {
    let sweep = Sweep::linear(Bytes(0), Bytes(LENGTHS), Bytes(1)).expect("the sweep is valid");
    let config = Config { sweep, ..Config::default() };
    let hosts = Hosts::new((0..ranks).map(|rank| format!("node{rank:03}")));
    let plan = Plan::all(&config, &hosts).expect("the plan is valid").remove(0);
    let header = Header::of(&plan, Provenance::default());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut writer = store::create(&folder.path().join("run"), &header, false, true).expect("the set can be made");
    let row = vec![Cell::zero(); ranks];
    for index in 0..header.planned.len() {
        for first in 0..ranks {
            writer.write_rows(index, first, &row).expect("a row can be written");
        }
        writer.finish_length(index).expect("the length can be finished");
    }
    writer.close().expect("the set can be closed");
}

/// Peak resident memory of this process in KiB, as the kernel counts it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel tells the peak");
    line.trim().trim_end_matches(" kB").parse().expect("the peak is a number")
}

fn peak_of(ranks: usize) -> u64 {
    let program = env::current_exe().expect("this program has a path");
    let output = Command::new(program).args(["--ranks", &ranks.to_string()]).output().expect("it can be started");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("it reports a number")
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let [_, flag, ranks] = &arguments[..]
        && flag == "--ranks"
    {
        write(ranks.parse().expect("a number of ranks"));
        println!("{}", peak());
        return;
    }
    let (small, large) = (peak_of(64), peak_of(512));
    let matrix = |ranks: u64| ranks * ranks * 8 / 1024;
    println!("64 ranks:  peak {small} KiB; one matrix has {} KiB, a set has six", matrix(64));
    println!("512 ranks: peak {large} KiB; one matrix has {} KiB, a set has six", matrix(512));
    assert!(large < small + matrix(512) / 2, "the peak grows with the matrix");
}

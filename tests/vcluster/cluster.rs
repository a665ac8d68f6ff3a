//! A cluster of virtual hosts: made, asked, spoilt and taken down.

use std::{
    cell::RefCell,
    ffi::OsString,
    fs,
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use netmatrix::{
    record::{Matrix, Run, Statistic},
    store,
};
use tempfile::TempDir;

use crate::{
    PROGRAM, SAMPLES, VCLUSTER, WARMUP,
    common::launcher::{Job, Outcome},
    quiet_enough, slow_alone,
};

/// A cluster of a name of its own, taken down when dropped.
pub struct Cluster {
    pub name: String,
    pub folder: TempDir,
}

impl Cluster {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}x{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { name, folder: tempfile::tempdir().unwrap() }
    }

    pub fn up(options: &str) -> Self {
        let cluster = Self::new();
        cluster.done(&format!("up {options}"));
        cluster
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(VCLUSTER);
        command.args(line.split_whitespace()).envs(self.environment()).stdout(Stdio::null());
        command
    }

    pub fn job(&self, line: &str) -> Job {
        let job = Job::alone(VCLUSTER).directory(self.folder.path()).args(line.split_whitespace());
        self.environment().into_iter().fold(job, |job, (name, value)| job.env(name, value))
    }

    pub fn environment(&self) -> [(&str, OsString); 2] {
        [("VC_NAME", self.name.clone().into()), ("VC_RUN", self.folder.path().join("state").into())]
    }

    /// Any command that starts no ranks.
    pub fn run(&self, line: &str) -> Outcome {
        self.job(line).beside_others().run()
    }

    /// What a command prints that has to succeed.
    #[track_caller]
    pub fn done(&self, line: &str) -> String {
        let outcome = self.run(line);
        assert_eq!(outcome.code, Some(0), "vcluster {line}:\n{}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    /// What a command complains about that has to end with `code`.
    #[track_caller]
    pub fn refused(&self, line: &str, code: i32) -> String {
        let outcome = self.run(line);
        assert_eq!((outcome.code, outcome.timed_out), (Some(code), false), "vcluster {line}: {outcome:?}");
        outcome.stderr
    }

    pub fn shell(&self, host: &str, script: &str) -> Outcome {
        self.job(&format!("exec {host} bash -c")).args([script]).beside_others().run()
    }

    /// A complete run of one rank on every host.
    pub fn run_of(&self, options: &str) -> Box<dyn Run> {
        let outcome = self.job(&format!("mpirun {PROGRAM} {options} -f set --force")).run();
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let run = store::open(&self.folder.path().join("set")).unwrap();
        assert!(run.is_complete());
        Box::new(run)
    }

    /// Medians of all pairs, by number of the host; one message length.
    pub fn measure(&self, length: u64, options: &str) -> Matrix {
        let exchanges = format!("-n {SAMPLES} --warmup {WARMUP} --retest 0");
        let run = self.run_of(&format!("--lengths {length} {exchanges} {options}"));
        self.by_host(&*run, Statistic::Median)
    }

    /// A statistic of the only length of a run, by number of the host.
    pub fn by_host(&self, run: &dyn Run, statistic: Statistic) -> Matrix {
        let mut hosts: Vec<String> = run.header().hosts.name_of_every_rank().map(str::to_owned).collect();
        hosts.sort();
        assert_eq!(hosts.join(","), self.done("hosts").trim(), "every rank says the name of its virtual host");
        let number = |rank| run.header().hosts.name_of(rank)[1..].parse::<usize>().unwrap();
        let ranks = run.ranks();
        let mut values = vec![f64::NAN; ranks * ranks];
        run.read_rows(statistic, 0, 0..ranks, &mut values).unwrap();
        let mut by_host = Matrix::missing(ranks);
        for (k, value) in values.into_iter().enumerate() {
            by_host[(number(k / ranks), number(k % ranks))] = value;
        }
        by_host
    }

    /// Measures until exactly the pairs (source, destination) that `slow` names are slow; their medians.
    #[track_caller]
    pub fn assert_slow(&self, length: u64, options: &str, slow: impl Fn(usize, usize) -> bool) -> Matrix {
        let medians = RefCell::new(None);
        quiet_enough(|| slow_alone(medians.borrow_mut().insert(self.measure(length, options)), &slow));
        medians.into_inner().expect("it was measured once or more")
    }

    /// Measures until every pair takes less time than any pair of `host` did while its cable was at fault.
    #[track_caller]
    pub fn assert_healthier(&self, length: u64, options: &str, host: usize, at_fault: &Matrix) {
        let others = || (0..at_fault.ranks()).filter(|other| *other != host);
        let of_host = others().flat_map(|other| [at_fault[(host, other)], at_fault[(other, host)]]);
        let fastest = of_host.fold(f64::INFINITY, f64::min);
        quiet_enough(|| {
            let healthy = self.measure(length, options);
            let is_healthier = healthy.off_diagonal().all(|time| time < fastest);
            if is_healthier { Ok(()) } else { Err(format!("{healthy:?} after {fastest} s")) }
        });
    }

    /// States of the ranks on a host, from Linux's /proc.
    pub fn rank_states(&self, host: &str) -> Vec<char> {
        let name = format!("{}-{host}", self.name);
        let output = Command::new("ip").args(["netns", "pids", &name]).output().unwrap();
        let pids = String::from_utf8_lossy(&output.stdout).into_owned();
        let stats = pids.lines().filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        stats.filter_map(|stat| stat.split_once("(network_test) ")?.1.chars().next()).collect()
    }

    /// What has crossed each host's cable, `head` last.
    pub fn counters(&self) -> Vec<Traffic> {
        let hosts = self.done("hosts").split(',').count();
        let text = self.done("counters");
        let numbers = |line: &str| line.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect::<Vec<u64>>();
        let traffic = |line: &str| match numbers(line)[..] {
            [sent_bytes, sent_packets, received_bytes, received_packets] => {
                Traffic { sent_bytes, sent_packets, received_bytes, received_packets }
            }
            _ => panic!("{line}"),
        };
        text.lines().skip(1).take(hosts + 1).map(traffic).collect()
    }

    /// Everything on this machine that carries the name of this cluster.
    pub fn traces(&self) -> Vec<String> {
        let mut traces = self.of_output("ps", &["-eo", "args="]);
        traces.extend(self.lasting_traces());
        traces
    }

    /// Those that do not end with a process.
    pub fn lasting_traces(&self) -> Vec<String> {
        let mut traces = self.of_output("ip", &["netns", "list"]);
        traces.extend(self.of_output("ip", &["link"]));
        let state = self.folder.path().join("state").join(&self.name);
        traces.extend(state.exists().then(|| state.display().to_string()));
        traces
    }

    /// The lines of what a command prints that name this cluster.
    fn of_output(&self, command: &str, arguments: &[&str]) -> Vec<String> {
        let output = Command::new(command).args(arguments).output().unwrap().stdout;
        String::from_utf8_lossy(&output).lines().filter(|line| line.contains(&self.name)).map(str::to_owned).collect()
    }

    #[track_caller]
    pub fn assert_gone(&self) {
        assert_eq!(self.traces(), [""; 0], "nothing is left");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let outcome = self.run("down");
        if !thread::panicking() {
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
            self.assert_gone();
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub sent_bytes: u64,
    pub sent_packets: u64,
    pub received_bytes: u64,
    pub received_packets: u64,
}

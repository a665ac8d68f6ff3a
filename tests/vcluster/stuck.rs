//! Where a host or its cable is lost while the program runs: the ranks end in time, the host is named, what was
//! finished stays, and the run goes on from there.

use std::{
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use netmatrix::{record::Run, store};

use crate::{
    PROGRAM,
    cluster::Cluster,
    common::launcher::{Outcome, Running},
};

const ANALYZE: &str = env!("CARGO_BIN_EXE_network_analyze");

/// What every run here has.
const TIMEOUT: Duration = Duration::from_secs(2);
/// What the contract allows beyond the timeout.
const BEYOND: Duration = Duration::from_secs(10);
/// What a machine may take that is busy with other things.
const BUSY: Duration = Duration::from_secs(240);

/// What happens to n2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// One of its ranks is suspended; the launcher's daemon lives.
    Freeze,
    /// All of its processes are suspended.
    FreezeHost,
    /// All of its processes are killed.
    Crash,
    /// Its cable is pulled.
    Unplug,
    /// Its switch port drops long packets.
    BlackHole,
}

impl Cluster {
    /// Packets beyond this many bytes are lost on the way to and from a host, as where its switch port knows no others.
    fn longest_packet(&self, host: usize, bytes: usize) {
        let ip = |arguments: &str| {
            let status = Command::new("ip").args(arguments.split_whitespace()).status().unwrap();
            assert!(status.success(), "ip {arguments}");
        };
        ip(&format!("-n {}-switch link set p{host} mtu {bytes}", self.name));
    }

    /// Every packet is one of the wire: the kernel sends none in one piece that the cable would have to cut.
    fn short_packets(&self, hosts: usize) {
        for host in 0..hosts {
            let name = format!("{}-n{host}", self.name);
            let set = ["-n", &name, "link", "set", "eth0", "gso_max_segs", "1"];
            assert!(Command::new("ip").args(set).status().unwrap().success());
        }
    }

    fn lose(&self, loss: Loss) {
        match loss {
            Loss::Freeze => {
                let pids = Command::new("ip").args(["netns", "pids", &format!("{}-n2", self.name)]).output().unwrap();
                let pids = String::from_utf8_lossy(&pids.stdout).into_owned();
                let is_rank = |pid: &&str| {
                    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "network_test")
                };
                let rank = pids.lines().find(is_rank).expect("n2 has a rank");
                assert!(Command::new("kill").args(["-STOP", rank]).status().unwrap().success());
            }
            Loss::FreezeHost => drop(self.done("fault freeze n2")),
            Loss::Crash => drop(self.done("fault crash n2")),
            Loss::Unplug => drop(self.done("fault unplug n2")),
            Loss::BlackHole => self.longest_packet(2, 1200),
        }
    }

    fn repair(&self, loss: Loss) {
        match loss {
            Loss::Freeze | Loss::Crash => {}
            Loss::FreezeHost => drop(self.done("fault thaw n2")),
            Loss::Unplug => drop(self.done("fault plug n2")),
            Loss::BlackHole => self.longest_packet(2, 1500),
        }
    }

    /// Waits until no rank is left on hosts that are not frozen.
    #[track_caller]
    fn wait_until_gone(&self, loss: Loss, running: &Running) {
        let since = Instant::now();
        let hosts = ["n0", "n1", "n3", "n2"];
        let hosts = if loss == Loss::FreezeHost { &hosts[..3] } else { &hosts[..] };
        while hosts.iter().any(|host| !self.rank_states(host).is_empty()) {
            let states: Vec<_> = hosts.iter().map(|host| self.rank_states(host)).collect();
            let stderr = running.stderr();
            assert!(since.elapsed() < BUSY, "{:?} later: {states:?}\n{stderr}", since.elapsed());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn finished(prefix: &Path) -> usize {
    store::open(prefix).map_or(0, |run| run.lengths().len())
}

/// A run in the midst of which n2 is lost.
struct Case<'a> {
    loss: Loss,
    ranks: usize,
    arguments: &'a str,
    /// Lengths that are finished before.
    before: usize,
}

/// Loses n2 in the midst of a run, and gives it back when all ranks are gone; what came of it, and how many lengths
/// were in the files. The launcher needs the host again to end.
#[track_caller]
fn run_and_lose(cluster: &Cluster, name: &str, case: &Case<'_>) -> (Outcome, usize) {
    let Case { loss, ranks, arguments, before } = *case;
    let prefix = cluster.folder.path().join(name);
    let line = format!("mpirun -n {ranks} {PROGRAM} {arguments} --retest 0 --timeout 2s -f {name} --resume");
    let running = cluster.job(&line).sharing().limit(2 * BUSY).start();
    let start = Instant::now();
    while finished(&prefix) < before || !running.stderr().contains("expected") {
        assert!(start.elapsed() < BUSY, "{}", running.stderr());
        thread::sleep(Duration::from_millis(5));
    }
    cluster.lose(loss);
    cluster.wait_until_gone(loss, &running);
    let kept = finished(&prefix);
    cluster.repair(loss);
    (running.wait(), kept)
}

/// Checks what comes of a run in which n2 is lost. `name`: its prefix.
#[track_caller]
fn lose(cluster: &Cluster, name: &str, case: &Case<'_>) {
    let Case { loss, arguments, before, .. } = *case;
    let prefix = cluster.folder.path().join(name);
    let (outcome, kept) = run_and_lose(cluster, name, case);
    assert!(!outcome.timed_out && outcome.code != Some(0), "{loss:?} {arguments}: {outcome:?}");
    assert!(kept >= before, "{loss:?} {arguments}: what was finished stays");
    if loss != Loss::Crash {
        let stuck = store::read_stuck(&prefix).unwrap();
        // By the ranks' own count, which other work on the machine does not lengthen.
        let longest = stuck.waits.iter().map(|wait| wait.seconds).fold(0.0, f64::max);
        assert!(longest < (TIMEOUT + BEYOND).as_secs_f64(), "{loss:?} {arguments}: {longest} s: {}", outcome.stderr);
        let places = stuck.places();
        let is_named = places.iter().any(|place| place.hosts.iter().any(|host| host == "n2"));
        assert!(is_named && places.len() == 1, "{loss:?} {arguments}: {places:?}\n{}", outcome.stderr);
        assert!(outcome.stderr.contains(" n2 "), "{loss:?} {arguments}: {outcome:?}");
        let verdict = Command::new(ANALYZE).arg("diagnose").arg(&prefix).output().unwrap();
        let text = String::from_utf8_lossy(&verdict.stdout).into_owned();
        assert_eq!(verdict.status.code(), Some(1), "{loss:?} {arguments}: {verdict:?}");
        assert!(text.contains("n2") && text.contains(&format!("see {name}_stuck.txt")), "{text}");
    }
    if matches!(loss, Loss::Freeze | Loss::BlackHole) {
        assert_eq!(outcome.code, Some(75), "{loss:?} {arguments}: {outcome:?}");
    }
}

/// Goes on with a run until it is complete; with how many further tries.
#[track_caller]
fn go_on(cluster: &Cluster, name: &str, case: &Case<'_>, most: usize) -> usize {
    let Case { ranks, arguments, .. } = *case;
    let line = format!("mpirun -n {ranks} {PROGRAM} {arguments} --retest 0 --timeout 2s -f {name} --resume");
    for tries in 1..=most {
        let outcome = cluster.job(&line).sharing().limit(BUSY).run();
        match outcome.code {
            Some(0) => return tries,
            Some(75) => {}
            _ => panic!("{line}: {outcome:?}"),
        }
    }
    panic!("{line}: not complete after {most} tries");
}

const SWEEP: &str = "-b 1K -e 6K -s 1K -n 300";

#[test]
fn a_host_that_is_lost_in_any_mode_is_named_and_everything_else_ends_and_goes_on() {
    let cluster = Cluster::up("-n 4");
    let case = |loss, ranks, arguments, before| Case { loss, ranks, arguments, before };
    let sweep = |mode: &str| format!("{mode} {SWEEP}");
    let (isolated, disjoint) = (sweep("-t one_to_one"), sweep("-t one_to_one --schedule disjoint"));
    let (all, put) = (sweep("-t all_to_all"), sweep("-t put"));
    // Long pairs and rounds: the loss meets an exchange, or a rank that waits for its turn.
    let cases = [
        case(Loss::Freeze, 4, &isolated, 1),
        case(Loss::Freeze, 8, "-t async_one_to_one --schedule disjoint --lengths 1K -n 3000000", 0),
        case(Loss::Freeze, 4, "-t bcast --lengths 1K -n 3000000", 0),
        case(Loss::Freeze, 4, "-t noise -p 2 --lengths 1K -n 3000000", 0),
        case(Loss::FreezeHost, 4, &put, 1),
        case(Loss::Crash, 4, &disjoint, 1),
        case(Loss::Unplug, 4, "-t one_to_one --schedule disjoint --lengths 1K -n 3000000", 0),
        case(Loss::Unplug, 8, &all, 1),
        case(Loss::Unplug, 8, "-t bcast -b 1K -e 4K -s 1K -n 100", 1),
    ];
    for (number, case) in cases.iter().enumerate() {
        let (name, start) = (format!("w{number}"), Instant::now());
        lose(&cluster, &name, case);
        // What was not frozen in the midst of an exchange is whole; else one pair may be left out.
        if case.before > 0 {
            go_on(&cluster, &name, case, 3);
        }
        eprintln!("{:?} {}: {:.1?}", case.loss, case.arguments, start.elapsed());
    }
}

#[test]
fn a_host_that_loses_long_messages_is_named_and_the_others_are_measured() {
    let cluster = Cluster::up("-n 4");
    cluster.short_packets(4);
    let case = |ranks, arguments| Case { loss: Loss::BlackHole, ranks, arguments, before: 0 };
    for (number, case) in [
        case(4, "-t all_to_all --lengths 4K -n 3000000"),
        case(4, "-t bcast --lengths 4K -n 3000000"),
        // Short messages: only what is gathered is long.
        case(8, "-t one_to_one --lengths 8 -n 200"),
    ]
    .iter()
    .enumerate()
    {
        let (name, start) = (format!("w{number}"), Instant::now());
        lose(&cluster, &name, case);
        eprintln!("{}: {:.1?}", case.arguments, start.elapsed());
    }
    // Two pairs are found stuck, then the host is left out; all others are measured at all lengths.
    let pairs = case(4, "-t one_to_one --schedule isolated --lengths 8,4K -n 500");
    lose(&cluster, "pairs", &pairs);
    let tries =
        (2..6).find(|_| run_and_lose(&cluster, "pairs", &pairs).0.code == Some(0)).expect("the run is complete");
    let run = store::open(&cluster.folder.path().join("pairs")).unwrap();
    let lost = |index: usize, host: usize| {
        let median = run.matrix(netmatrix::record::Statistic::Median, index).unwrap();
        (0..4).filter(|other| *other != host && median[(host, *other)].is_nan()).count()
    };
    let n2 = (0..4).find(|rank| run.header().hosts.name_of(*rank) == "n2").unwrap();
    assert_eq!((lost(0, n2), lost(1, n2)), (0, 3), "{tries} tries");
    assert!((0..4).filter(|rank| *rank != n2).all(|rank| lost(1, rank) == 1));
    let verdict = Command::new(ANALYZE).arg("diagnose").arg(cluster.folder.path().join("pairs")).output().unwrap();
    let text = String::from_utf8_lossy(&verdict.stdout).into_owned();
    assert_eq!(verdict.status.code(), Some(1), "{verdict:?}");
    assert!(text.contains("n2 exchanges nothing with any other host"), "{text}");
}

//! The job files of `slurm/` under a real Slurm, whose daemons run on virtual hosts of this machine.
//!
//! Each test copies a file, edits its marked block as a sysadmin would, submits it, and reads what is left. Needs root.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use common::{
    readme::{commands_below, run_in_order_with},
    slurm::{LIMIT, Lab, text},
};
use netmatrix::{
    record::{Run, State, Statistic},
    store,
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_test");
const ANALYZE: &str = env!("CARGO_BIN_EXE_network_analyze");

/// A job file with its block edited, in a folder of its own.
struct JobFile {
    folder: TempDir,
    name: &'static str,
}

impl JobFile {
    /// Replaces whole lines of the marked block: `("#SBATCH --time=", "00:01:00")`.
    fn edited(name: &'static str, edits: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("slurm").join(name)).unwrap();
        let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
        let mark = |start: &str| lines.iter().position(|line| line.starts_with(start)).expect("the block is marked");
        let block = mark("# ==== edit from here")..mark("# ==== to here");
        let programs = [("network_test=", PROGRAM), ("network_analyze=", ANALYZE), ("results=", "results")];
        let nodes = name.ends_with(".sbatch").then_some(("#SBATCH --nodes=", "2"));
        for (key, value) in programs.iter().chain(&nodes).chain(edits) {
            let line = lines[block.clone()].iter_mut().find(|line| line.starts_with(key));
            *line.unwrap_or_else(|| panic!("{name} has no line `{key}` in its block")) = format!("{key}{value}");
        }
        let path = folder.path().join(name);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder, name }
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    fn submit(&self, lab: &Lab) -> String {
        self.submit_with(lab, &[])
    }

    fn submit_with(&self, lab: &Lab, options: &[&str]) -> String {
        let command = [&["sbatch", "--parsable"], options, &[self.name]].concat();
        lab.run(self.folder.path(), &command).trim().to_owned()
    }

    /// What all jobs have printed, for failures.
    fn logs(&self) -> String {
        let logs = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"))
            .map(|path| text(&path))
            .collect()
    }
}

/// The verdict in a job's folder, which is in the job's own output as well, and has its page.
fn verdict(folder: &Path, output: &str) -> String {
    let told = text(&folder.join("network.diagnosis.txt"));
    assert!(output.contains(&told), "{told} is not in {output}");
    let document: serde_json::Value = serde_json::from_str(&text(&folder.join("network.diagnosis.json"))).unwrap();
    assert!(told.starts_with(&document["verdict"].as_str().unwrap().to_uppercase()), "{told} {document}");
    assert!(text(&folder.join("report.html")).contains("network_test.diagnosis/1"));
    told
}

/// Opens a set that must be complete and from these hosts and this job.
fn complete(prefix: &Path, hosts: &[&str], job: &str) -> Box<dyn Run> {
    let run = store::open(prefix).unwrap_or_else(|error| panic!("{error}"));
    assert!(run.is_complete(), "{}: {:?}", prefix.display(), run.notices());
    let mut names = run.header().hosts.names().to_vec();
    names.sort();
    assert_eq!(names, hosts);
    assert_eq!(run.header().provenance.slurm_job_id, job);
    Box::new(run)
}

#[test]
fn a_sweep_leaves_complete_sets_of_all_modes_under_both_launchers() {
    let lab = Lab::up(3);
    for launcher in ["mpirun", "srun"] {
        let file = JobFile::edited(
            "sweep.sbatch",
            &[
                ("#SBATCH --nodes=", "3"),
                ("launcher=", launcher),
                ("measure=", "(-t one_to_one,put --lengths 0,1K -n 5)"),
            ],
        );
        let job = file.submit(&lab);
        assert_eq!(lab.end_of(&job), "COMPLETED", "{launcher}: {}", file.logs());
        let folder = file.results().join(&job);
        for mode in ["one_to_one", "put"] {
            complete(&folder.join(format!("network_{mode}")), &["n0", "n1", "n2"], &job);
        }
        let told = verdict(&folder, &file.logs());
        assert!(told.contains("one_to_one, put: 3 hosts; it takes 4"), "{told}");
        let report = text(&folder.join("report.txt"));
        assert!(report.contains("== network_put") && report.contains("2 of 2 lengths: complete"), "{report}");
    }
}

#[test]
fn the_nightly_check_submits_itself_over_the_idle_nodes_and_keeps_results_by_date() {
    let lab = Lab::up(3);
    let mail = "admin; mail() { { echo \"$@\"; cat; } >\"$results/mail.txt\"; }";
    let edits = [("measure=", "(--schedule disjoint --lengths 64 -n 5)"), ("mail_to=", mail), ("least_nodes=", "2")];
    let file = JobFile::edited("nightly.sh", &edits);
    // One node is busy.
    let blocker =
        lab.run(file.folder.path(), &["sbatch", "--parsable", "--nodelist=n1", "--exclusive", "--wrap=sleep 100"]);
    lab.wait_until_running(blocker.trim());
    let old = file.results().join("2001-01-01-7");
    fs::create_dir_all(&old).unwrap();
    fs::File::open(&old).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let told = lab.run(file.folder.path(), &["./nightly.sh"]);
    let job = told.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(lab.end_of(&job), "COMPLETED", "{told} {}", file.logs());
    let mail = file.results().join("mail.txt");
    let mailed = text(&mail);
    fs::remove_file(mail).unwrap();
    let kept: Vec<_> = fs::read_dir(file.results()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [folder] = &kept[..] else { panic!("one night is kept, and the old one is not: {kept:?}") };
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("20") && name.ends_with(&format!("-{job}")), "{name}");
    complete(&folder.join("network"), &["n0", "n2"], &job);
    let log = text(&folder.join("job.log"));
    assert!(log.contains("complete after"), "the job's own words are kept");
    let told = verdict(folder, &log);
    let subject = "-s network_test: INVALID: this measurement of 2 hosts cannot be judged admin\n";
    assert_eq!(mailed, format!("{subject}{told}"));
    // The next night: two hosts are too few to say of one that it became slower.
    let told = lab.run(file.folder.path(), &["./nightly.sh"]);
    let next = told.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(lab.end_of(&next), "COMPLETED", "{told} {}", file.logs());
    let mut kept = fs::read_dir(file.results()).unwrap().map(|entry| entry.unwrap().path());
    let folder = kept.find(|path| path.to_string_lossy().ends_with(&format!("-{next}"))).unwrap();
    let told = text(&folder.join("network.comparison.txt"));
    assert!(told.starts_with("INCOMPARABLE: 2 hosts") && told.contains(&format!("-{job}/network, ")), "{told}");
    assert!(text(&folder.join("job.log")).contains(&told));
}

#[test]
fn a_long_run_stops_before_its_time_is_up_and_continues_by_itself_under_both_launchers() {
    let lab = Lab::up(4);
    lab.slow_down("500us");
    // Side by side: most of the time they wait for Slurm, which looks every 30 seconds whose time is up.
    let jobs = [("mpirun", "--nodelist=n[0-1]"), ("srun", "--nodelist=n[2-3]")].map(|(launcher, nodes)| {
        let file = long_job(launcher);
        let job = file.submit_with(&lab, &[nodes]);
        (launcher, file, job)
    });
    for (launcher, file, job) in jobs {
        assert_eq!(lab.end_of(&job), "COMPLETED", "{launcher}: {} {}", file.logs(), lab.story(&job));
        let log = file.logs();
        for part in ["stopped early", "network_test has stopped with 75", "resumed behind"] {
            assert!(log.contains(part), "{launcher}: no `{part}` in {log}");
        }
        let run = store::open(&file.results().join(&job).join("network")).unwrap_or_else(|error| panic!("{error}"));
        assert!(run.is_complete() && run.header().hosts.count() == 2, "{launcher}: {:?}", run.notices());
        assert!(verdict(&file.results().join(&job), &log).contains("2 hosts; it takes 4"));
        assert_eq!(run.header().provenance.slurm_job_id, job);
        for index in 0..run.lengths().len() {
            assert!(run.matrix(Statistic::Median, index).unwrap()[(0, 1)] > 0.0, "{launcher}");
        }
    }
}

/// Takes about a minute, however fast the machine is: 36 lengths, 2 directions, 400 samples, each of which waits for
/// an announcement and a message that are 1 ms late; and ends lengths before every stop, however slow it is.
fn long_job(launcher: &str) -> JobFile {
    JobFile::edited(
        "long.sbatch",
        &[
            ("#SBATCH --time=", "00:02:00"),
            // Slurm looks every 30 seconds and signals up to 30 seconds early: between 15 and 45 seconds after a start,
            // which is after the first length and before the last.
            ("#SBATCH --signal=", "B:USR1@75"),
            ("launcher=", launcher),
            ("measure=", "(--timing receive --begin 0 --end 36 --step 1 -n 400)"),
        ],
    )
}

#[test]
fn a_long_run_that_comes_back_on_other_nodes_asks_for_the_first_ones() {
    let lab = Lab::up(3);
    let folder = tempfile::tempdir().unwrap();
    let blocker = lab.run(folder.path(), &["sbatch", "--parsable", "--nodelist=n0", "--exclusive", "--wrap=sleep 200"]);
    lab.wait_until_running(blocker.trim());
    // Lengths of a second or so each: the first ends soon, and there are some left when the signal arrives.
    let measure = "(--timing receive --begin 0 --end 12 --step 1 -n 20000)";
    let file = JobFile::edited("long.sbatch", &[("measure=", measure)]);
    let job = file.submit(&lab);
    let prefix = file.results().join(&job).join("network");
    let started = Instant::now();
    while store::open(&prefix).map_or(0, |run| run.lengths().len()) < 1 {
        assert!(started.elapsed() < LIMIT, "{}", file.logs());
        thread::sleep(Duration::from_millis(50));
    }
    // What the end of its time would send; then the first nodes of the list are free.
    lab.run(folder.path(), &["scancel", "--batch", "--signal=USR1", &job]);
    lab.run(folder.path(), &["scancel", blocker.trim()]);
    assert_eq!((lab.end_of(&job), lab.field(&job, "ExitCode")), ("FAILED".to_owned(), "75:0".to_owned()));
    let log = file.logs();
    let successor = log.split("Submitted batch job ").nth(1).unwrap_or_else(|| panic!("no successor: {log}"));
    let successor = successor.split_whitespace().next().unwrap();
    assert_eq!(lab.end_of(successor), "COMPLETED", "{}", file.logs());
    complete(&prefix, &["n1", "n2"], &job);
}

#[test]
fn a_job_that_finishes_nothing_in_its_time_is_not_queued_for_ever() {
    let lab = Lab::up(3);
    // Three pairs, each of which would take a minute or more: the signal comes in the first, and ends it.
    let measure = "(--timing receive --warmup 0 --lengths 4M -n 10000)";
    let file = JobFile::edited("long.sbatch", &[("#SBATCH --nodes=", "3"), ("measure=", measure)]);
    let job = file.submit(&lab);
    let started = Instant::now();
    while !file.results().join(&job).join("network_median.nc").exists() {
        assert!(started.elapsed() < LIMIT, "{}", file.logs());
        thread::sleep(Duration::from_millis(20));
    }
    // What the end of its time would send.
    lab.run(file.folder.path(), &["scancel", "--batch", "--signal=USR1", &job]);
    assert_eq!(lab.end_of(&job), "FAILED", "{}", file.logs());
    assert_eq!((lab.field(&job, "ExitCode"), lab.field(&job, "Restarts")), ("75:0".to_owned(), "0".to_owned()));
    assert!(file.logs().contains("not one message length was finished"), "{}", file.logs());
}

#[test]
fn a_cancelled_job_leaves_readable_files() {
    let lab = Lab::up(2);
    let file = JobFile::edited("sweep.sbatch", &[("measure=", "(--timing receive -e 10000 -s 1 -n 500)")]);
    let job = file.submit(&lab);
    let prefix = file.results().join(&job).join("network");
    let started = Instant::now();
    while store::open(&prefix).map_or(0, |run| run.lengths().len()) < 3 {
        assert!(started.elapsed() < LIMIT, "{}", file.logs());
        thread::sleep(Duration::from_millis(100));
    }
    lab.run(file.folder.path(), &["scancel", &job]);
    assert_eq!(lab.end_of(&job), "CANCELLED", "{}", file.logs());
    let run = store::open(&prefix).unwrap_or_else(|error| panic!("{error}"));
    let finished = run.lengths().len();
    assert!(finished >= 3 && !run.is_complete(), "{finished}");
    let mut states = [State::NotScheduled; 4];
    run.read_states(finished - 1, 0..2, &mut states).unwrap();
    assert_eq!((states[1], states[2]), (State::Measured, State::Measured));
}

#[test]
fn half_blocks_cover_all_pairs_and_become_one_set() {
    let lab = Lab::up(4);
    let file = JobFile::edited(
        "cover.sh",
        &[("nodes=", "'n[0-3]'"), ("half_block=", "1"), ("measure=", "(--schedule disjoint --lengths 0,1K -n 5)")],
    );
    let told = lab.run(file.folder.path(), &["./cover.sh"]);
    let merging = told.split("and job ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let array = told.split("as job ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    assert_eq!(lab.end_of(&merging), "COMPLETED", "{told} {}", file.logs());
    let folder = file.results().join(format!("cover-{array}"));
    let run = store::open(&folder.join("network")).unwrap_or_else(|error| panic!("{error}"));
    assert!(run.is_complete());
    assert_eq!(run.ranks(), 4);
    for index in 0..2 {
        let median = run.matrix(Statistic::Median, index).unwrap();
        assert!(median.values().iter().all(|value| !value.is_nan()), "length {index}: {median:?}");
    }
    // Four hosts are enough to be judged.
    let told = verdict(&folder, &text(&folder.join("merge.log")));
    assert!(told.contains("one_to_one: 4 hosts, 2 lengths from 0 to 1K"), "{told}");
    // A task that failed is named by the next merging, and nothing of it is in the set.
    fs::remove_dir_all(folder.join("0")).unwrap();
    let output = lab.output(file.folder.path(), &["./cover.sh", "--merge", folder.to_str().unwrap()]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout.contains("task 0 is not complete, pairs among n[0-1] may be missing"), "{stdout}");
    let run = store::open(&folder.join("network")).unwrap();
    let median = run.matrix(Statistic::Median, 0).unwrap();
    let rank = |host: &str| run.header().hosts.name_of_every_rank().position(|name| name == host).unwrap();
    for (source, destination) in [("n0", "n1"), ("n1", "n0"), ("n1", "n2")] {
        let missing = median[(rank(source), rank(destination))].is_nan();
        assert_eq!(missing, destination != "n2", "{source} {destination}: {median:?}");
    }
}

#[test]
fn half_blocks_of_any_size_let_all_nodes_meet() {
    let lab = Lab::up(2);
    for (nodes, half_block) in [(2, 1), (4, 2), (5, 2), (7, 3), (9, 2), (16, 4), (17, 4)] {
        let list = format!("'m[1-{nodes}]'");
        let file = JobFile::edited("cover.sh", &[("nodes=", &list), ("half_block=", &half_block.to_string())]);
        let tasks = lab.run(file.folder.path(), &["./cover.sh", "--dry-run"]);
        let tasks: Vec<Vec<&str>> =
            tasks.lines().map(|line| line.split_once(": ").unwrap().1.split(',').collect()).collect();
        for task in &tasks {
            let distinct: std::collections::HashSet<_> = task.iter().collect();
            assert_eq!(
                (task.len(), distinct.len()),
                (2 * half_block, 2 * half_block),
                "{nodes} {half_block}: {task:?}"
            );
        }
        for a in 1..=nodes {
            for b in 1..a {
                let names = [format!("m{a}"), format!("m{b}")];
                let meet = tasks.iter().any(|task| names.iter().all(|name| task.contains(&name.as_str())));
                assert!(meet, "{names:?} of {nodes} in half-blocks of {half_block}");
            }
        }
    }
}

#[test]
fn the_lab_leaves_nothing_behind() {
    let lab = Lab::up(2);
    let state = lab.state().to_owned();
    lab.run(Path::new("/"), &["sbatch", "--parsable", "--output=/dev/null", "--wrap=sleep 300"]);
    drop(lab);
    assert!(!state.exists(), "{} is left", state.display());
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        assert!(!words.contains(state.to_str().unwrap()), "{words} still runs");
    }
}

#[test]
fn a_plan_for_a_finding_is_accepted_the_reasons_of_others_stay_and_the_breaker_holds() {
    let lab = Lab::up(4);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // Carries out the plan for findings at these nodes; returns it, and all nodes with their states and reasons.
    let plan = |at_most: &str, nodes: &[&str]| {
        let finding = |node: &&str| {
            serde_json::json!({
                "id": "F1", "kind": "node", "hosts": [node], "direction": "receive", "symptom": "bandwidth",
                "ratio": 2.55, "retest": "confirmed",
            })
        };
        let document = serde_json::json!({
            "schema": "network_test.diagnosis/1", "verdict": if nodes.is_empty() { "healthy" } else { "findings" },
            "run": {}, "groups": [["n0", "n1", "n2", "n3"]], "findings": nodes.iter().map(finding).collect::<Vec<_>>(),
        });
        fs::write(path("night.json"), document.to_string()).unwrap();
        let advise = [ANALYZE, "advise", "--at-most", at_most, &path("night.json")];
        let plan = lab.run(folder.path(), &advise);
        fs::write(path("plan.sh"), &plan).unwrap();
        lab.run(folder.path(), &["sh", "-eu", "plan.sh"]);
        // A star says that a node has not answered yet.
        (plan, lab.run(folder.path(), &["sinfo", "--Node", "--noheader", "--format=%n %T %E"]).replace('*', ""))
    };
    lab.run(folder.path(), &["scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=disk"]);
    let (plan_before, before) = plan("50%", &["n1", "n2"]);
    assert!(before.contains("n1 drained network_test: receive bandwidth x2.55 (F1 of night)"), "{before}");
    assert!(before.contains("n2 drained disk"), "{before}");
    // Of four hosts one is more than 5 %: n0 is not drained, and n1, which has no finding any more, does not come back.
    let (refused, after) = plan("5%", &["n0"]);
    assert!(
        refused.contains("# Nothing is drained: 1 of 4 hosts would be, more than --at-most 5% allows"),
        "{refused}"
    );
    let is_done = |line: &str| line.starts_with("drain ") || line.starts_with("resume ");
    assert!(!refused.lines().any(is_done) && plan_before.lines().any(is_done), "it does nothing: {refused}");
    assert_eq!(after, before);
    let (_, after) = plan("50%", &[]);
    assert!(after.contains("n0 idle none\nn1 idle none\nn2 drained disk\nn3 idle none"), "{after}");
}

#[test]
fn the_commands_of_the_manual_run() {
    let lab = Lab::new();
    let commands = commands_below("scripts/README.md", "## A real Slurm");
    assert!(commands.iter().any(|command| command.contains("sbatch")), "{commands:?}");
    run_in_order_with(&commands, &lab.environment(), |_| 0);
}

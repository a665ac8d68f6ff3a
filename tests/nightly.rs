//! What `slurm/nightly.sh` makes of a night once it is measured: it is compared with the night before and told by mail.
//!
//! The job file runs as it would in a job, but without Slurm: a drawn night stands for what `mpirun` would measure.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use netmatrix::{record::MemoryRun, store};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

#[path = "common/drawn.rs"]
#[allow(dead_code, reason = "other tests draw other machines and plant other changes")]
mod drawn;

use drawn::{Machine, Planted};

/// Nights of one machine.
struct Nights {
    folder: TempDir,
    machine: Machine,
}

/// What a night has left.
struct Night {
    comparison: Option<String>,
    log: String,
    mail: Option<String>,
}

impl Nights {
    fn new() -> Self {
        let machine = Machine {
            names: (1..=12).map(|host| format!("node{host:03}")).collect(),
            leaf: vec![0; 12],
            own: vec![1.0; 12],
            lengths: vec![0, 4096, 1 << 20],
            noise: 0.01,
            disturbed: 0.0,
            is_heavy: false,
            ranks_per_host: 1,
            step: 0.5,
            of_day: (0.0, 0.0),
        };
        Self { folder: tempfile::tempdir().unwrap(), machine }
    }

    fn draw(&self, seed: u64, planted: Option<Planted>) -> MemoryRun {
        self.machine.measure(&mut ChaCha8Rng::seed_from_u64(seed), planted.as_ref())
    }

    /// The job of this number, in which `run` is measured.
    #[track_caller]
    fn pass(&self, job: u32, run: &MemoryRun) -> Night {
        let folder = self.folder.path();
        let measured = folder.join(format!("measured{job}"));
        fs::create_dir(&measured).unwrap();
        store::write_run(run, &measured.join("network"), false).unwrap();
        fs::create_dir_all(folder.join("results")).unwrap();
        let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("slurm/nightly.sh")).unwrap();
        let edits = [
            ("launcher=", format!("mpirun; mpirun() {{ cp {}/* \"$folder\"; }}", measured.display())),
            ("network_analyze=", env!("CARGO_BIN_EXE_network_analyze").to_owned()),
            ("results=", "results".to_owned()),
            ("metrics=", "network_test.prom".to_owned()),
            ("mail_to=", "admin; mail() { { echo \"$@\"; cat; } >mail.txt; }".to_owned()),
        ];
        let edited = |line: &str| match edits.iter().find(|(key, _)| line.starts_with(key)) {
            Some((key, value)) => format!("{key}{value}\n"),
            None => format!("{line}\n"),
        };
        fs::write(folder.join("nightly.sh"), source.lines().map(edited).collect::<String>()).unwrap();
        let log = fs::File::create(folder.join(format!("results/{job}.log"))).unwrap();
        let mut command = Command::new("bash");
        command.arg("nightly.sh").current_dir(folder).env("SLURM_JOB_ID", job.to_string()).stdin(Stdio::null());
        let status = command.stdout(log.try_clone().unwrap()).stderr(log).status().unwrap();
        let night = self.folder_of(job).unwrap_or_else(|| panic!("job {job} has left no folder"));
        let read = |path: &Path| fs::read_to_string(path).ok();
        let log = read(&night.join("job.log")).expect("the job's words are kept");
        assert_eq!(status.code(), Some(0), "whatever is found, a night that was measured is no failure: {log}");
        let mail = read(&folder.join("mail.txt"));
        let _ = fs::remove_file(folder.join("mail.txt"));
        Night { comparison: read(&night.join("network.comparison.txt")), log, mail }
    }

    fn folder_of(&self, job: u32) -> Option<std::path::PathBuf> {
        let nights = fs::read_dir(self.folder.path().join("results")).unwrap().map(|entry| entry.unwrap().path());
        nights.into_iter().find(|path| path.to_string_lossy().ends_with(&format!("-{job}")))
    }
}

#[test]
fn a_night_is_compared_with_the_one_before_it_and_what_became_slower_is_mailed() {
    let nights = Nights::new();
    let first = nights.pass(9, &nights.draw(1, None));
    assert_eq!((first.comparison, first.mail), (None, None), "there is nothing to compare with");
    // Jobs are in the order of their numbers, not of their letters.
    let second = nights.pass(10, &nights.draw(2, None));
    let told = second.comparison.expect("the night before is there");
    assert!(told.contains("-9/network") && second.log.contains(&told), "{told} {}", second.log);
    assert!(!told.starts_with("REGRESSION") && second.mail.is_none(), "{told} {:?}", second.mail);
    let metrics = fs::read_to_string(nights.folder.path().join("network_test.prom")).unwrap();
    assert!(metrics.contains("network_test_verdict{run=\"network\",verdict=\"healthy\"} 1"), "{metrics}");
    // All pairs alike: nobody is slower than the others.
    let third = nights.pass(11, &nights.draw(3, Some(Planted::Fabric(1.5))));
    let told = third.comparison.expect("the night before is there");
    assert!(told.starts_with("REGRESSION") && told.contains("-10/network"), "{told}");
    assert!(third.log.contains("HEALTHY") && third.log.contains(&told), "{}", third.log);
    let mail = third.mail.expect("what became slower is mailed");
    let subject = format!("-s network_test: {} admin\n", told.lines().next().unwrap());
    assert!(mail.starts_with(&subject) && mail.contains("HEALTHY") && mail.ends_with(&told), "{mail}");
}

#[test]
fn with_fewer_idle_nodes_than_a_verdict_takes_nothing_is_submitted() {
    for (idle, expected) in [
        (3, "no job tonight: idle nodes: 3, needed: 4\n"),
        (4, "submitted --nodes=4 --nodelist=node1,node2,node3,node4\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        // What stands for Slurm.
        let stand_ins = format!(
            "sinfo() {{ printf 'node%d\\n' {{1..{idle}}}; }}; sbatch() {{ echo submitted \"$1 $2\"; }}; \
             export -f sinfo sbatch; exec bash \"$0\""
        );
        let mut command = Command::new("bash");
        command.args(["-c", &stand_ins]).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("slurm/nightly.sh"));
        let output = command.env("HOME", folder.path()).env_remove("SLURM_JOB_ID").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}

#[test]
fn a_slow_host_is_mailed_under_its_own_verdict_with_what_changed_behind_it() {
    let nights = Nights::new();
    nights.pass(1, &nights.draw(1, None));
    let slow = nights.draw(2, Some(Planted::Node(4, netmatrix::analysis::diagnose::Direction::Both, 1.5)));
    let night = nights.pass(2, &slow);
    let (mail, told) = (night.mail.expect("a finding is mailed"), night.comparison.unwrap());
    assert!(mail.starts_with("-s network_test: FINDINGS: 1 finding on 12 hosts admin\n"), "{mail}");
    assert!(told.starts_with("REGRESSION: node005") && mail.ends_with(&format!("\n\n{told}")), "{told} {mail}");
}

#[test]
fn a_night_before_that_cannot_be_compared_is_told_and_fails_nothing() {
    let mut nights = Nights::new();
    let run = nights.draw(1, None);
    nights.pass(1, &run);
    // Other hosts.
    nights.machine.names.iter_mut().for_each(|name| name.insert_str(0, "other"));
    let others = nights.pass(2, &nights.draw(2, None));
    let told = others.comparison.expect("it is told that nothing can be compared");
    assert!(told.contains("no host") && others.log.contains(&told), "{told}");
    assert_eq!(others.mail, None);
    // Files that are damaged.
    fs::write(nights.folder_of(2).unwrap().join("network_median.nc"), "not a result").unwrap();
    let after = nights.pass(3, &nights.draw(3, None));
    let told = after.comparison.expect("it is told that nothing can be compared");
    assert!(told.contains("network cannot be compared with that of results/") && told.contains("-2"), "{told}");
    assert!(after.log.contains(&told) && after.mail.is_none(), "{}", after.log);
    // A night that was not judged, because it is being measured or its job was killed, is passed over.
    fs::remove_file(nights.folder_of(3).unwrap().join("network.diagnosis.txt")).unwrap();
    fs::remove_dir_all(nights.folder_of(2).unwrap()).unwrap();
    let last = nights.pass(4, &run);
    assert!(last.comparison.as_ref().is_some_and(|told| told.contains("-1/network")), "{:?}", last.comparison);
}

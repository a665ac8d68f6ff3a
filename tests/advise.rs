//! `advise` as it is used: diagnoses in, a plan out, and what the plan does under a scheduler that is played by scripts.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::json;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_analyze");

/// When the diagnosed runs were measured.
const CREATED: &str = "2026-11-24T02:00:00Z";

/// A diagnosis of the hosts n0 to n19 with these findings: host, ratio, whether its re-test has confirmed it.
fn diagnosis(folder: &Path, name: &str, findings: &[(&str, f64, bool)]) -> PathBuf {
    let hosts: Vec<_> = (0..20).map(|host| format!("n{host}")).collect();
    let findings: Vec<_> = findings
        .iter()
        .enumerate()
        .map(|(number, (host, ratio, confirmed))| {
            json!({
                "id": format!("F{}", number + 1), "kind": "node", "hosts": [host], "direction": "both",
                "symptom": "bandwidth", "ratio": ratio, "retest": if *confirmed { "confirmed" } else { "transient" },
            })
        })
        .collect();
    let verdict = if findings.is_empty() { "healthy" } else { "findings" };
    let document = json!({
        "schema": "network_test.diagnosis/1", "verdict": verdict, "groups": [hosts], "findings": findings,
        "run": {"mode": "one_to_one"}, "judged": [{"path": name, "created": CREATED, "program_version": "network_test 1"}],
    });
    let path = folder.join(format!("{name}.diagnosis.json"));
    fs::write(&path, document.to_string()).unwrap();
    path
}

fn advise(arguments: &[&str], diagnoses: &[PathBuf]) -> Output {
    Command::new(PROGRAM).arg("advise").args(arguments).args(diagnoses).output().unwrap()
}

fn plan(arguments: &[&str], diagnoses: &[PathBuf]) -> String {
    let output = advise(arguments, diagnoses);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a plan for Slurm where `sinfo` says these reasons, and returns what `scontrol` was asked for.
fn carried_out(plan: &str, reasons: &[(&str, &str)]) -> String {
    let folder = TempDir::new().unwrap();
    let reasons: String =
        reasons.iter().map(|(host, reason)| format!("--nodes={host}) echo '{reason}' ;;\n")).collect();
    let tool = |name: &str, script: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    tool("sinfo", &format!("case $2 in\n{reasons}*.*) ;;\n*) echo none ;;\nesac"));
    tool("scontrol", "echo \"$@\" >>asked");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-euc", plan]).current_dir(&folder).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    fs::read_to_string(folder.path().join("asked")).unwrap_or_default()
}

#[test]
fn a_plan_drains_what_is_confirmed_and_keeps_the_reasons_of_others() {
    let folder = TempDir::new().unwrap();
    let night = diagnosis(folder.path(), "night", &[("n3", 2.5, true), ("n4", 2.0, false), ("n5", 1.5, true)]);
    let plan = plan(&["--at-most", "10%"], &[night]);
    assert!(plan.contains("# Left out (not confirmed"), "{plan}");
    let reasons = [("n5", "disk: broken"), ("n7", "network_test: both bandwidth x1.70 (F1 of monday)"), ("n8", "disk")];
    let asked = carried_out(&plan, &reasons);
    let expected = "update NodeName=n3 State=DRAIN Reason=network_test: bandwidth x2.50 (F1 of night, 2026-11-24T02:00:00Z)\n\
                    update NodeName=n7 State=RESUME\n";
    assert_eq!(asked, expected, "n5 has another tool's reason, n8 was not drained by this one");
}

#[test]
fn a_plan_that_would_drain_too_much_drains_nothing() {
    let folder = TempDir::new().unwrap();
    let night = diagnosis(folder.path(), "night", &[("n3", 2.5, true), ("n4", 2.0, true)]);
    let plan = plan(&[], &[night]);
    assert!(plan.contains("# Nothing is drained: 2 of 20 hosts would be, more than --at-most 5% allows"), "{plan}");
    assert_eq!(carried_out(&plan, &[("n9", "network_test: old")]), "", "nothing comes back either");
}

#[test]
fn several_nights_confirm_and_known_findings_are_left_out() {
    let folder = TempDir::new().unwrap();
    let nights =
        ["monday", "tuesday"].map(|name| diagnosis(folder.path(), name, &[("n3", 2.5, false), ("n4", 2.0, false)]));
    let known = folder.path().join("known");
    fs::write(&known, "# waits for a cable\nn4 bandwidth\n").unwrap();
    let arguments = ["--for", "nhc", "--known", known.to_str().unwrap()];
    let list = plan(&arguments, &nights);
    let drained: Vec<_> = list.lines().filter(|line| line.contains(" drain ")).collect();
    assert!(matches!(drained[..], [line] if line.starts_with("n3 ")), "{list}");
    assert_eq!(list.lines().filter(|line| line.ends_with(" ok")).count(), 18, "{list}");
    assert!(!list.lines().any(|line| line.starts_with("n4 ")), "what waits for its repair has no verdict: {list}");
}

#[test]
fn hosts_with_findings_that_are_left_out_do_not_come_back() {
    let folder = TempDir::new().unwrap();
    let night = diagnosis(folder.path(), "night", &[("n3", 2.5, true), ("n4", 2.0, false)]);
    let known = folder.path().join("known");
    fs::write(&known, "n3\n").unwrap();
    let plan = plan(&["--known", known.to_str().unwrap()], &[night]);
    let ours = "network_test: both bandwidth x1.70 (F1 of monday)";
    let asked = carried_out(&plan, &[("n3", ours), ("n4", ours), ("n5", ours)]);
    assert_eq!(asked, "update NodeName=n5 State=RESUME\n");
}

#[test]
fn of_a_known_host_with_a_misspelt_symptom_nothing_is_drained() {
    let folder = TempDir::new().unwrap();
    let night = diagnosis(folder.path(), "night", &[("n3", 2.5, true)]);
    let known = folder.path().join("known");
    fs::write(&known, "# first\nn3 bandwith\n").unwrap();
    let output = advise(&["--known", known.to_str().unwrap()], &[night]);
    let [plan, notes] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success() && !plan.contains("drain 'n3'"), "{plan}");
    assert!(notes.contains("line 2: `bandwith` is neither a host of these diagnoses nor a symptom"), "{notes}");
}

#[test]
fn a_node_is_called_what_slurm_calls_it() {
    let folder = TempDir::new().unwrap();
    let night = diagnosis(folder.path(), "night", &[("n3.cluster", 2.5, true)]);
    let asked = carried_out(&plan(&[], &[night]), &[]);
    assert!(asked.starts_with("update NodeName=n3 State=DRAIN"), "{asked}");
}

#[test]
fn bad_input_is_named() {
    let folder = TempDir::new().unwrap();
    let broken = folder.path().join("broken.json");
    fs::write(&broken, "{").unwrap();
    let binary = folder.path().join("run_median.nc");
    fs::write(&binary, b"CDF\x02\xff").unwrap();
    let hostile = diagnosis(folder.path(), "hostile", &[("n3\n rm", 2.0, true)]);
    let hint = "give what `network_analyze diagnose --json FILE` wrote";
    for (path, named, why) in [
        (folder.path().join("absent.json"), "absent.json", hint),
        (broken, "broken.json", hint),
        (binary, "run_median.nc", hint),
        (hostile, "hostile", "names a host"),
    ] {
        let output = advise(&[], &[path]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains(named) && error.contains(why), "{error}");
    }
    let output = advise(&["--at-most", "5"], &[folder.path().join("x.json")]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn nobody_comes_back_because_of_times_that_nobody_judged() {
    let folder = TempDir::new().unwrap();
    let night = diagnosis(folder.path(), "night", &[("n3", 2.5, true)]);
    assert!(plan(&["--for", "slurm"], std::slice::from_ref(&night)).contains("resume 'n4'\n"));
    let mut document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&night).unwrap()).unwrap();
    document["run"] = serde_json::Value::Null;
    fs::write(&night, document.to_string()).unwrap();
    let script = plan(&["--for", "slurm"], &[night]);
    assert!(script.contains("drain 'n3'") && !script.contains("resume 'n"), "{script}");
}

#[test]
fn the_check_of_nhc_reads_the_list() {
    let folder = TempDir::new().unwrap();
    let night = diagnosis(folder.path(), "night", &[("n3", 2.5, true), ("n5.cluster", 2.0, true)]);
    let list = folder.path().join("verdicts");
    fs::write(&list, plan(&["--for", "nhc", "--at-most", "10%"], &[night])).unwrap();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/packages/nhc/network_test.nhc");
    // What NHC gives its checks: the host's name, and `die`, which marks the host.
    let asked = |host: &str, arguments: &str| {
        let script = format!(
            "HOSTNAME_S={host}; die() {{ echo \"$2\"; exit $1; }}; source {}; check_network_verdict {} {arguments}",
            check.display(),
            list.display()
        );
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    // The verdicts are as old as the run is, whenever it was diagnosed.
    let created = humantime::parse_rfc3339(CREATED).unwrap();
    let days = |days: u64| format!("{}d", created.elapsed().unwrap().as_secs() / 86_400 + days);
    let (enough, too_few) = (days(2), days(0));
    assert_eq!(asked("n4", &enough), (Some(0), String::new()));
    let (code, reason) = asked("n3", &enough);
    assert!(code == Some(1) && reason.contains("network_test: bandwidth x2.50"), "{code:?} {reason}");
    assert_eq!(asked("n5", &enough).0, Some(1), "its name in the list has a domain");
    assert_eq!(asked("n3", &too_few).0, Some(0), "a verdict that is too old decides nothing");
    assert_eq!(asked("absent", &enough).0, Some(0), "nor does one about other hosts");
}

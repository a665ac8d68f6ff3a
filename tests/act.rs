//! What others do with a verdict: Prometheus collects it, ReFrame judges by it. Both are the real programs, which
//! scripts/test.sh installs below the target folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::json;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_analyze");

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A program that scripts/test.sh has put below the target folder, else the one on PATH.
fn tool(place: &str) -> PathBuf {
    let target = Path::new(PROGRAM).parent().and_then(Path::parent).unwrap();
    let installed = target.join("tools").join(place);
    if installed.exists() { installed } else { installed.file_name().unwrap().into() }
}

fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output();
    output.unwrap_or_else(|error| panic!("{:?}: {error}; scripts/test.sh installs it", command.get_program()))
}

/// The metrics of runs of the recorded data, and the code that `diagnose` ended with.
fn metrics(runs: &[&str]) -> (Option<i32>, String) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("network.prom");
    let paths = runs.iter().map(|run| project().join("tests/data").join(run));
    let mut command = Command::new(PROGRAM);
    command.arg("diagnose").args(paths).arg("--prometheus").arg(&file);
    let code = run(&mut command).status.code();
    let text = fs::read_to_string(&file).unwrap();
    // The next night replaces it.
    assert_eq!(run(&mut command).status.code(), code);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    (code, text)
}

/// Values by series. Fails unless a metric's help, type and series come one after the other, and none twice.
fn series(text: &str) -> BTreeMap<&str, f64> {
    let mut values = BTreeMap::new();
    let mut opened: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let name = help.split(' ').next().unwrap();
            assert!(!opened.contains(&name), "{name} is opened twice");
            assert_eq!(lines.next(), Some(&*format!("# TYPE {name} gauge")));
            opened.push(name);
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap();
        assert_eq!(Some(&name), opened.last(), "{line}");
        assert_eq!(labels.matches("host=").count() + labels.matches("pair").count(), labels.matches("host=").count());
        assert!(values.insert(series, value.parse().unwrap()).is_none(), "{series} comes twice");
    }
    values
}

#[test]
fn metrics_say_of_every_host_how_slow_it_is() {
    let (code, text) = metrics(&["example/tuesday"]);
    assert_eq!(code, Some(1));
    let values = series(&text);
    let slowdown = |host: &str, direction: &str| {
        values
            [&*format!("network_test_host_slowdown_ratio{{run=\"tuesday\",host=\"{host}\",direction=\"{direction}\"}}")]
    };
    // What is planted: node011 is late both ways, node006 receives at a quarter of its bandwidth.
    assert!(slowdown("node011", "send") > 1.5 && slowdown("node011", "receive") > 1.5, "{text}");
    assert!(slowdown("node006", "receive") > 1.5, "{text}");
    assert_eq!([slowdown("node006", "send"), slowdown("node001", "send"), slowdown("node001", "receive")], [1.0; 3]);
    assert_eq!(values["network_test_verdict{run=\"tuesday\",verdict=\"findings\"}"], 1.0);
    assert_eq!(values["network_test_verdict{run=\"tuesday\",verdict=\"healthy\"}"], 0.0);
    assert!(values["network_test_run_timestamp_seconds{run=\"tuesday\"}"] > 1.7e9, "{text}");
    let of_hosts = values.keys().filter(|series| series.contains("host=")).count();
    assert_eq!(of_hosts, 4 * 16, "as many as hosts, none for pairs");
}

#[test]
fn a_run_that_cannot_be_judged_has_metrics_too_and_a_mode_comes_once() {
    let (code, text) = metrics(&["laptop4/network"]);
    assert_eq!(code, Some(5), "{text}");
    assert_eq!(series(&text)["network_test_verdict{run=\"network\",verdict=\"invalid\"}"], 1.0);
    // Two runs of one mode: what would be two series of one name is the worse of them.
    let (_, text) = metrics(&["example/monday", "example/tuesday"]);
    assert_eq!(series(&text).keys().filter(|series| series.starts_with("network_test_noise_ratio")).count(), 1);
}

#[test]
fn promtool_accepts_metrics_and_rules() {
    let promtool = tool("usr/bin/promtool");
    let (_, text) = metrics(&["example/tuesday"]);
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("network.prom"), text).unwrap();
    let script = "\"$0\" check metrics <network.prom";
    let checked = run(Command::new("sh").args(["-c", script]).arg(&promtool).current_dir(folder.path()));
    // Metrics that are only doubtful are named on standard error.
    assert!(checked.status.success() && checked.stderr.is_empty() && checked.stdout.is_empty(), "{checked:?}");
    let rules = project().join("scripts/packages/prometheus");
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]] {
        let checked = run(Command::new(&promtool).args(arguments).current_dir(&rules));
        assert!(checked.status.success(), "{checked:?}");
    }
}

#[test]
fn rules_and_dashboard_ask_for_metrics_that_are_there() {
    let (_, text) = metrics(&["example/tuesday"]);
    let there: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    for name in ["alerts.yml", "dashboard.json"] {
        let file = fs::read_to_string(project().join("scripts/packages/prometheus").join(name)).unwrap();
        let is_name = |char: char| char.is_ascii_lowercase() || char == '_';
        let asked: BTreeSet<&str> =
            file.split(|char| !is_name(char)).filter(|word| word.starts_with("network_test_")).collect();
        assert!(asked.len() >= 5 && asked.is_subset(&there), "{name}: {asked:?} of {there:?}");
    }
    let dashboard = fs::read_to_string(project().join("scripts/packages/prometheus/dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    // As rules, for promtool reads no dashboards.
    let targets = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap());
    let rules: Vec<_> = expressions.map(|expr| json!({"record": "a:b", "expr": expr, "labels": {"n": expr}})).collect();
    assert!(rules.len() >= 5);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rules.yml");
    fs::write(&file, json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string()).unwrap();
    let checked = run(Command::new(tool("usr/bin/promtool")).args(["check", "rules"]).arg(&file));
    assert!(checked.status.success(), "{checked:?}");
}

/// What ReFrame says of the check where the program leaves this run.
fn reframe(run_of: &str) -> (bool, String) {
    let folder = TempDir::new().unwrap();
    let stand_in = folder.path().join("network_test");
    let example = project().join("tests/data").join(run_of);
    let script =
        format!("#!/bin/sh\nfor file in {0}_*; do cp \"$file\" \"night_${{file#{0}_}}\"; done\n", example.display());
    fs::write(&stand_in, script).unwrap();
    fs::set_permissions(&stand_in, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let programs = Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:{}:{}", folder.path().display(), programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(tool("reframe/bin/reframe"));
    command.args(["--nocolor", "-r", "-S", "num_tasks=4", "-c"]);
    command.arg(project().join("scripts/packages/reframe/network_test.py"));
    command
        .arg("--prefix")
        .arg(folder.path())
        .current_dir(folder.path())
        .env("PATH", path)
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path());
    let output = run(&mut command);
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn reframe_names_the_slow_nodes_and_logs_figures() {
    let (passed, text) = reframe("example/tuesday");
    assert!(!passed, "{text}");
    // A failure of performance, so that figures are there; sanity holds.
    for part in ["Failing phase: performance", "P: hosts: 16", "P: findings: 2", "node011 sends"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The example is simulated: nothing is left of its pairs but the precision of its numbers.
    let noise = text.split_once("P: noise: ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(noise.is_some_and(|noise| noise <= f64::from(f32::EPSILON)), "{noise:?}: {text}");
    let (passed, text) = reframe("laptop4/network");
    assert!(!passed && text.contains("Failing phase: sanity") && text.contains("cannot be judged"), "{text}");
}

//! `network_analyze fit` and `predict` as they are called: what they print, write and refuse.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use netmatrix::{
    record::{
        Provenance,
        operations::{Measured, Operations, Probe, ProbeKind, ProgramRun},
    },
    stats::Summary,
    store,
    units::{Bytes, Hosts},
};
use serde_json::Value;

fn analyze(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_network_analyze")).args(arguments).output().unwrap()
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn example(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/example").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_recorded_run_is_fitted_in_two_pieces() {
    let output = analyze(&["fit", &example("monday")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for part in ["between hosts", "0 to 16K", "64K to 1M", "changes between 16K and 64K", "--operations all"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let json = analyze(&["fit", &example("monday_median.nc"), "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["schema"], &json["run"]["hosts"]), (&"network_test.fit/1".into(), &16.into()));
    let pieces = json["hockney"]["classes"][0]["fit"]["pieces"].as_array().unwrap();
    assert_eq!(pieces.len(), 2);
    let bandwidth = 1.0 / pieces[1]["per_byte"]["value"].as_f64().unwrap();
    assert!((11e9..13e9).contains(&bandwidth), "{bandwidth}");
    assert!(json["loggp"].as_array().unwrap().is_empty() && json["relation"].is_null());
}

#[test]
fn pairs_and_a_picture_are_written_and_nothing_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, picture) = (file("pairs.csv"), file("fit.png"));
    let arguments = ["fit", &example("monday"), "--pairs", &table, "--plot", &picture];
    let output = analyze(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = std::fs::read_to_string(&table).unwrap();
    // 240 pairs on two pieces each.
    assert_eq!(lines.lines().count(), 1 + 2 * 240);
    assert!(lines.lines().nth(1).unwrap().starts_with("0,1,\"node000\",\"node001\",between hosts,1,"), "{lines}");
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(analyze(&arguments).status.code(), Some(3));
}

#[test]
fn who_departs_from_a_fit_is_what_diagnose_finds_with_the_same_numbers() {
    let run = example("tuesday");
    let json =
        |command| -> Value { serde_json::from_slice(&analyze(&[command, &run, "--format", "json"]).stdout).unwrap() };
    let (fitted, judged) = (json("fit"), json("diagnose"));
    let departures = fitted["departures"].as_array().unwrap();
    assert_eq!((departures.len(), &fitted["departures"]), (2, &judged["findings"]));
    let printed = text(&analyze(&["fit", &run]).stdout);
    for (name, found) in ["F1", "F2"].iter().zip(departures) {
        let (host, ratio) = (found["hosts"][0].as_str().unwrap(), found["curve"][5]["ratio"].as_f64().unwrap());
        let line = printed.lines().find(|line| line.contains(&format!("{name} of diagnose: {host}"))).unwrap();
        assert!(line.ends_with(&format!("{ratio:.2} times at 1M bytes")), "{line}");
    }
    // What node006 receives is slow on the exported cable, what it sends is not.
    let platform = text(&analyze(&["fit", &run, "--export", "simgrid"]).stdout);
    let bandwidth = |link: &str| -> f64 {
        let after = platform.split_once(&format!("id=\"{link}\" bandwidth=\"")).unwrap().1;
        after.split_once("Bps").unwrap().0.parse().unwrap()
    };
    let received = departures.iter().find(|found| found["hosts"][0] == "node006").unwrap();
    let slow = received["curve"][5]["ratio"].as_f64().unwrap();
    assert!((bandwidth("out_6") / bandwidth("in_6") / slow - 1.0).abs() < 1e-4, "{platform}");
}

#[test]
fn the_page_of_a_run_has_the_parameters_of_its_operations() {
    let folder = tempfile::tempdir().unwrap();
    let (prefix, page) = (folder.path().join("night"), folder.path().join("night.html"));
    let [prefix, page] = [&prefix, &page].map(|path| path.to_str().unwrap());
    assert!(analyze(&["convert", &example("monday"), "--output", prefix]).status.success());
    write_operations(Path::new(prefix));
    let written = analyze(&["report", prefix, "--output", page]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    let page = std::fs::read_to_string(page).unwrap();
    let parts =
        ["LogGP, between hosts, probes of 1 pair: L 2.00 us", "G 0.100 ns", "BSPWB and MPM, packets of 4 bytes"];
    assert!(parts.iter().all(|part| page.contains(part)), "{}", &page[page.find("\"facts\"").unwrap()..]);
}

#[test]
fn what_cannot_be_fitted_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none");
    for (arguments, code, part) in [
        (vec!["fit", missing.to_str().unwrap()], 3, "there is no run"),
        (vec!["fit", &example("monday"), "--packet", "0"], 2, "at least one byte"),
        (vec!["fit", &example("monday"), "--plot", "fit.jpg"], 2, ".png or .svg"),
    ] {
        let output = analyze(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
    // All ranks at once are no pairs.
    let csv = folder.path().join("bcast.csv");
    let set = analyze(&["convert", &example("monday"), "--output", csv.to_str().unwrap()]);
    assert!(set.status.success(), "{}", text(&set.stderr));
    let own = std::fs::read_to_string(&csv).unwrap().replace("one_to_one", "bcast");
    std::fs::write(&csv, own).unwrap();
    let output = analyze(&["fit", csv.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("mode of pairs"), "{}", text(&output.stderr));
}

/// L, o_s = o_r, g, G, lambda, gamma of the run below, in seconds.
const KNOWN: [f64; 6] = [2e-6, 3e-7, 6e-7, 1e-10, 5e-11, 2e-10];

/// Operations on 8 hosts whose probes and reductions take what LogGP says, and whose patterns are an h-relation's.
fn write_operations(prefix: &Path) {
    let [l, o, g, rate, lambda, gamma] = KNOWN;
    let way = |s: f64| 2.0 * o + l + (s - 1.0) * rate;
    let names = ["exchange", "ping_pong", "reduce", "reduce_binomial", "reduce_chains_short_first:k=4"];
    let lengths: Vec<Bytes> = (3..22).map(|power| Bytes(1 << power)).collect();
    let members = vec![(0..4).collect(), (0..8).collect()];
    let hosts = Hosts::new((0..8).map(|host| format!("n{host}")));
    let operations = names.iter().map(|name| name.parse().unwrap()).collect();
    let mut run = Operations::new(hosts, operations, members, lengths.clone(), BTreeMap::new(), Provenance::default());
    let measured = |seconds: f64| Measured { summary: Summary::of(&mut [seconds]), samples: 1, damaged: 0, skew: 0.0 };
    for kind in ProbeKind::ALL {
        let messages = if matches!(kind, ProbeKind::PrttTrain | ProbeKind::PrttDelayed) { 17 } else { 1 };
        let seconds = |s: f64| match kind {
            ProbeKind::Send | ProbeKind::Isend | ProbeKind::Recv => o,
            ProbeKind::Prtt1 => way(s) + way(8.0),
            ProbeKind::PrttTrain => way(s) + way(8.0) + 16.0 * (g + (s - 1.0) * rate),
            ProbeKind::PrttDelayed => way(s) + way(8.0) + 16.0 * (1e-3 + o),
            ProbeKind::Copy => lambda * s,
            ProbeKind::Add => gamma * s,
        };
        let delay = if kind == ProbeKind::PrttDelayed { 1e-3 } else { 0.0 };
        run.probes.push(Probe {
            kind,
            source: 0,
            destination: if kind.is_local() { 0 } else { 1 },
            messages,
            delays: vec![delay; lengths.len()],
            measured: lengths.iter().map(|length| measured(seconds(length.0 as f64))).collect(),
        });
    }
    for (number, name) in names.iter().enumerate() {
        for (procs, length) in (0..2).flat_map(|procs| (0..lengths.len()).map(move |length| (procs, length))) {
            let s = lengths[length].0 as f64;
            let (levels, count) = [(2.0, 4), (3.0, 8)][procs];
            let seconds = match *name {
                "exchange" | "ping_pong" => 1e-6 + 3e-10 * s,
                "reduce" => 1.0,
                // F of a power of two (models), g below o + m gamma or not.
                "reduce_binomial" => {
                    let a = way(s) + gamma * s;
                    lambda * s + (levels - 1.0) * a.max(g + (s - 1.0) * rate) + a
                }
                _ => {
                    let a = way(s) + gamma * s;
                    let busy = (o + gamma * s).max(g + (s - 1.0) * rate);
                    // 3 chains of one, or 4 chains of which 3 have two.
                    if count == 4 {
                        (lambda * s).max(way(s) - o) + 2.0 * busy + o + gamma * s
                    } else {
                        let short = (lambda * s).max(way(s) - o) + busy;
                        short.max(a + way(s) - o) + 2.0 * busy + o + gamma * s
                    }
                }
            };
            *run.measured_mut(number, procs, length) = measured(seconds);
        }
    }
    let text = "processes 2\nstep\nwork 0 1ms\nmessage 0 -> 1 1000\n";
    run.programs.push(ProgramRun {
        name: "two.txt".into(),
        text: text.into(),
        procs: 2,
        measured: measured(1e-3 + 1e-6 + 3e-10 * 4000.0),
        own: vec![1e-3, 1e-3],
    });
    // Half of 64 words, as the skeleton's text says.
    run.programs.push(ProgramRun {
        name: "fft:N=64".into(),
        text: "fft:N=64,D=0,F=0,R=0".into(),
        procs: 2,
        measured: measured(1e-6 + 3e-10 * 128.0),
        own: vec![0.0, 0.0],
    });
    run.complete = true;
    store::write_operations(&store::operations_path(prefix), &run).unwrap();
}

#[test]
fn operations_are_fitted_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("ops");
    write_operations(&prefix);
    let prefix = prefix.to_str().unwrap();
    let fitted = analyze(&["fit", prefix, "--format", "json"]);
    assert_eq!(fitted.status.code(), Some(0), "{}", text(&fitted.stderr));
    let fitted: Value = serde_json::from_slice(&fitted.stdout).unwrap();
    let parameters = &fitted["loggp"][0]["parameters"];
    for (name, expected) in ["latency", "send", "gap", "gap_per_byte", "copy", "add"].into_iter().zip(KNOWN) {
        let found = parameters[name]["value"].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 0.01, "{name}: {found} is not {expected}");
    }
    let relation = &fitted["relation"];
    assert!((relation["per_packet"]["value"].as_f64().unwrap() / 1.2e-9 - 1.0).abs() < 0.01, "{relation}");
    assert!((relation["per_step"]["value"].as_f64().unwrap() / 1e-6 - 1.0).abs() < 0.01, "{relation}");

    let predicted = analyze(&["predict", &format!("{prefix}_operations.nc"), "--format", "json"]);
    assert_eq!(predicted.status.code(), Some(0), "{}", text(&predicted.stderr));
    let predicted: Value = serde_json::from_slice(&predicted.stdout).unwrap();
    assert_eq!(predicted["schema"], "network_test.prediction/1");
    let errors = predicted["accuracy"]["errors"].as_array().unwrap();
    for name in ["reduce_binomial", "reduce_chains_short_first:k=4"] {
        let error = errors.iter().find(|error| error["operation"] == name).unwrap();
        assert!(error["rows"] == 38 && error["largest"].as_f64().unwrap() < 0.01, "{error}");
    }
    let relation = errors.iter().find(|error| error["model"] == "BSPWB" && error["operation"] == "all").unwrap();
    assert!(relation["largest"].as_f64().unwrap() < 0.01, "{relation}");
    assert!((predicted["programs"][0]["mpm"].as_f64().unwrap() / 1.0022e-3 - 1.0).abs() < 0.01, "{predicted}");

    assert!((predicted["programs"][1]["bspwb"].as_f64().unwrap() / 1.0384e-6 - 1.0).abs() < 0.01, "{predicted}");

    let printed = text(&analyze(&["predict", prefix, "--details"]).stdout);
    for part in ["off: median", "regret", "k_opt", "every cell", "two.txt"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let picture = folder.path().join("reductions.svg");
    let drawn = analyze(&["predict", prefix, "--plot", picture.to_str().unwrap()]);
    assert_eq!(drawn.status.code(), Some(0), "{}", text(&drawn.stderr));
    let picture = std::fs::read_to_string(&picture).unwrap();
    assert!(picture.contains("reductions with 8 processes") && picture.contains("reduce_binomial"), "{picture}");
    let further = text(&analyze(&["predict", prefix, "--procs", "16", "--lengths", "1M"]).stdout);
    assert!(further.contains("reduce_binomial") && further.contains("hypercube"), "{further}");
    for (arguments, code, part) in [
        (vec!["--procs", "17", "--lengths", "8"], 2, "twice"),
        (vec!["--procs", "4"], 2, "belong together"),
        (vec!["--from", "matrix"], 3, "one_to_one"),
        (vec!["--program", "fft"], 2, "--procs"),
        (vec!["--program", "fft:Q=1"], 2, "`Q=1`"),
    ] {
        let output = analyze(&[vec!["predict", prefix], arguments.clone()].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

#[test]
fn programs_and_parameters_are_predicted_without_a_run() {
    let fft = ["predict", "--relation", "g=4.88e-8,L=0", "--program", "fft", "--procs", "1,2,4,8", "--format", "json"];
    let fft: Value = serde_json::from_slice(&analyze(&fft).stdout).unwrap();
    let last = fft["programs"][3]["bspwb"].as_f64().unwrap();
    // The table of the reference, whose L of -15.3 us counts three times.
    assert!((last - 0.747104 - 3.0 * 1.53e-5).abs() < 1e-6, "{last}");
    let set_a =
        ["predict", "--parameters", "L=6,o=2,g=4,G=0,gamma=0.375,lambda=0.125", "--procs", "22", "--lengths", "8"];
    let output = analyze(&[&set_a[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let binomial = rows.iter().find(|row| row["operation"] == "reduce_binomial").unwrap();
    assert!((binomial["predicted"].as_f64().unwrap() - 58.0).abs() < 1e-9, "{binomial}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.txt");
    std::fs::write(&file, "processes 2\nstep\nmessage 0 -> 5 1\n").unwrap();
    let bad = analyze(&["predict", "--relation", "g=1e-9", "--program", file.to_str().unwrap()]);
    let said = text(&bad.stderr);
    assert!(bad.status.code() == Some(3) && said.contains("bad.txt`, line 3: there is no process 5"), "{said}");
    let lacking = analyze(&["predict", &example("monday")]);
    assert!(lacking.status.code() == Some(3) && text(&lacking.stderr).contains("--operations"), "{lacking:?}");
}

#[test]
fn fits_are_exported_for_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("export");
    let to = target.to_str().unwrap();
    let exported = analyze(&["fit", &example("monday"), "--export", to]);
    let said = text(&exported.stderr);
    assert_eq!(exported.status.code(), Some(0), "{said}");
    assert!(said.contains("no loggopsim.txt") && said.contains("--operations"), "{said}");
    let read = |name: &str| std::fs::read_to_string(target.join(name)).unwrap();
    let platform = read("platform.xml");
    assert_eq!(platform.matches("<route ").count(), 16 * 16);
    assert_eq!(read("hosts.txt").lines().count(), 16);
    // 1 / 11.8 GB/s from 64 KiB on; below, less than half of it.
    let older = read("simgrid_3.32.cfg");
    assert!(older.contains("smpi/lat-factor:0:1.000000;65535:") && older.contains(";65535:1.000000"), "{older}");
    assert!(read("simgrid_3.34.cfg").contains("network/bandwidth-factor:0:0.4"));
    assert_eq!(analyze(&["fit", &example("monday"), "--export", to]).status.code(), Some(3), "nothing is replaced");
    let wrong = analyze(&["fit", &example("monday"), "--export", "simgird"]);
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("loggopsim"), "{wrong:?}");

    let prefix = folder.path().join("ops");
    write_operations(&prefix);
    let kind = |kind| text(&analyze(&["fit", prefix.to_str().unwrap(), "--export", kind]).stdout);
    // Picoseconds.
    assert!(
        kind("loggopsim").contains("LogGOPSim -L 2000000 -o 300000 -g 600000 -G 100 -O 0"),
        "{}",
        kind("loggopsim")
    );
    let rules = kind("openmpi");
    let numbers: Vec<&str> =
        rules.lines().map(|line| line.split('#').next().unwrap().trim()).filter(|line| !line.is_empty()).collect();
    assert_eq!(&numbers[..4], ["1", "11", "2", "4"], "{rules}");
    assert!(numbers.iter().all(|line| matches!(line.split(' ').count(), 1 | 4)), "{rules}");
}

//! What an analyst loads elsewhere: documents against their schemas, labels and tables in xarray and pandas, of Debian 12
//! and the newest. Python's packages are installed into `python` in the target folder, once.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use netmatrix::{
    exit,
    plan::{Config, Plan, Sweep},
    record::{
        Cell, Header, MemoryRun, Provenance, State,
        operations::{Measured, Operations, Probe, ProbeKind, ProgramRun},
    },
    stats::Summary,
    store,
    units::{Bytes, Hosts},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_network_analyze");

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo builds: the program is in a folder for the profile.
fn target() -> &'static Path {
    Path::new(PROGRAM).ancestors().nth(2).unwrap()
}

/// The Python that has the packages of `tests/analyst/NAME.txt`.
fn python(name: &str) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let packages = project().join("tests/analyst").join(name).with_extension("txt");
    let (folder, done) = (target().join("python").join(name), "packages.txt");
    let wanted = fs::read(&packages).unwrap();
    let python = folder.join("bin/python");
    // A copy of the list says that all of it was installed.
    if fs::read(folder.join(done)).ok().as_ref() != Some(&wanted) {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder), &[0]);
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&packages), &[0]);
        fs::write(folder.join(done), wanted).unwrap();
    }
    python
}

/// Runs a command that ends with one of these codes, and gives what it printed.
fn run(command: &mut Command, codes: &[i32]) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{command:?}: {out}{err}");
    out
}

/// Runs the program, whatever its verdict is.
fn analyze(folder: &Path, arguments: &str) -> String {
    let verdicts = [exit::SUCCESS, exit::FINDINGS].map(i32::from);
    run(Command::new(PROGRAM).args(arguments.split_whitespace()).current_dir(folder), &verdicts)
}

/// A folder with the runs of the example, `monday` and `run`.
fn example() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in project().join("tests/data/example").read_dir().unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap().replace("tuesday", "run");
        fs::copy(file.path(), folder.path().join(name)).unwrap();
    }
    folder
}

/// A run between hosts of these names.
fn spelled(names: &[&str]) -> MemoryRun {
    let config = Config { sweep: Sweep::list(&[Bytes(64)]).unwrap(), ..Config::default() };
    let plan = Plan::all(&config, &Hosts::new(names.iter().copied())).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    let cell = |place: usize| Cell::measured(Summary::of(&mut [1e-6 * place as f64]), 1, State::Measured);
    run.push(Bytes(64), (0..names.len().pow(2)).map(cell).collect());
    run
}

/// Operations of which everything that a document can say is there.
fn write_operations(path: &Path) {
    let names = [
        "bcast",
        "reduce",
        "linear_reduce",
        "reduce_chains_short_first:k=1",
        "reduce_chains_short_first:k=2",
        "block_reduce_central",
        "block_reduce_dissemination",
        "exchange",
        "ping_pong",
        "one_to_all",
        "one_to_all_broadcast",
        "all_to_one",
        "all_to_all",
    ];
    let operations = names.map(|name| name.parse().unwrap()).to_vec();
    let hosts = Hosts::new(["n1", "n2", "n3", "n4"]);
    let members = vec![vec![0, 1], vec![0, 1, 2, 3]];
    let lengths: Vec<Bytes> = [8, 1024, 65536].map(Bytes).to_vec();
    let mut found =
        Operations::new(hosts, operations, members, lengths.clone(), Default::default(), Provenance::default());
    let measured = |number: usize, length: usize| Measured {
        summary: Summary::of(&mut [(1 + number) as f64 * (1e-6 + lengths[length].0 as f64 / 1e10)]),
        samples: 1,
        damaged: 0,
        skew: 1e-7,
    };
    for (number, procs, length) in (0..names.len() * 6).map(|k| (k / 6, k / 3 % 2, k % 3)) {
        *found.measured_mut(number, procs, length) = measured(number, length);
    }
    let kinds = [ProbeKind::Send, ProbeKind::Isend, ProbeKind::Recv, ProbeKind::Prtt1, ProbeKind::PrttTrain];
    for kind in kinds.into_iter().chain([ProbeKind::Copy, ProbeKind::Add]) {
        let slowness = if kind == ProbeKind::PrttTrain { 7 } else { 1 };
        let of_lengths = (0..3).map(|length| measured(slowness, length)).collect();
        let (source, destination) = (0, 1);
        found.probes.push(Probe { kind, source, destination, messages: 4, delays: vec![0.0; 3], measured: of_lengths });
    }
    let text = "processes 2\nstep\n".to_owned();
    found.programs.push(ProgramRun {
        name: "a.steps".into(),
        text,
        procs: 2,
        measured: measured(0, 0),
        own: vec![1e-6; 2],
    });
    store::write_operations(path, &found).unwrap();
}

#[test]
fn every_document_keeps_to_its_schema() {
    let folder = example();
    let path = folder.path();
    write_operations(&path.join("ops_operations.nc"));
    fs::write(path.join("leaves.conf"), "SwitchName=a Nodes=node[000-007]\nSwitchName=b Nodes=node[008-014]\n")
        .unwrap();
    let commands = [
        "diagnose run",
        "diagnose monday",
        "compare monday run",
        "compare run monday",
        "info run --all",
        "info ops_operations.nc",
        "topology run --topology leaves.conf",
        "topology monday",
        "cluster run --list",
        "view run",
        "view monday --row node001 --column node002",
        "merge run -o merged",
        "fit run",
        "fit ops_operations.nc",
        "predict ops_operations.nc",
        "predict --relation g=4.88e-8,L=0 --program fft:N=524288 --procs 1,2,4,8",
    ];
    let documents: Vec<PathBuf> = commands
        .iter()
        .enumerate()
        .map(|(number, command)| {
            let document = path.join(format!("{number}.json"));
            fs::write(&document, analyze(path, &format!("{command} --format json"))).unwrap();
            document
        })
        .collect();
    analyze(path, "generate schemas schemas");
    let script = project().join("tests/analyst/schemas.py");
    run(Command::new(python("newest")).arg(script).arg(path.join("schemas")).args(documents), &[0]);
}

#[test]
fn labels_and_tables_are_found_in_python() {
    let folder = example();
    let path = folder.path();
    write_operations(&path.join("ops_operations.nc"));
    analyze(path, "convert run -o one.nc --to netcdf-one");
    analyze(path, "cluster run -o run.cluster.nc --tolerance 5%");
    let names = ["=HYPERLINK(1)", "+cmd", "@x", "-1", "'x", "n#8", "a,b", "\"q\""];
    store::write_run(&spelled(&names), &path.join("odd"), false).unwrap();
    analyze(path, "convert odd -o odd.csv");
    // The recorded files are as old as the programs that wrote them; these are written now.
    analyze(path, "convert run -o again");
    let entries: Vec<PathBuf> = path.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let (old, new): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| !entry.file_name().unwrap().to_string_lossy().starts_with("again"));
    for entry in old.into_iter().chain(new) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("run_") || name.starts_with("monday_") {
            fs::remove_file(&entry).unwrap();
        } else if let Some(rest) = name.strip_prefix("again") {
            fs::rename(&entry, path.join(format!("run{rest}"))).unwrap();
        }
    }
    for name in ["oldest", "newest"] {
        analyze(path, "convert run -o run.csv --force");
        let _ = fs::remove_file(path.join("back.csv"));
        let script = project().join("tests/analyst/labels.py");
        run(Command::new(python(name)).arg(script).current_dir(path), &[0]);
        let compared = analyze(path, "compare run back.csv --format json");
        let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
        assert_eq!(compared["verdict"], "unchanged", "{compared}");
        let odd = analyze(path, "info odd_back.csv --format json");
        let odd: serde_json::Value = serde_json::from_str(&odd).unwrap();
        assert_eq!(odd["hosts"]["of_rank"], serde_json::json!(names));
        fs::remove_file(path.join("odd_back.csv")).unwrap();
    }
}

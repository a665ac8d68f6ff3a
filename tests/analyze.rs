//! `network_analyze` as its users meet it: the real binary, on runs of the synthetic machine.

#[path = "common/golden.rs"]
mod golden;
#[path = "analyze/view.rs"]
mod view;

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use netmatrix::{
    exit,
    measure::{
        StopRequest, measure,
        synthetic::{Direction, Fault, Machine, Symptom, Synthetic},
    },
    plan::{Config, Mode, Plan, Sweep},
    record::{Header, MemoryRun, Provenance, Run},
    store,
    units::Bytes,
};
use serde_json::Value;
use tempfile::TempDir;

/// What a call of the program came to.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// The results of a call that must succeed without a word on standard error.
    #[track_caller]
    fn silently(self) -> String {
        assert_eq!((self.code, &*self.stderr), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// The message of a call that must fail with this code, say all of `words`, and print no result.
    #[track_caller]
    fn fails(self, code: u8, words: &[&str]) -> String {
        assert_eq!((self.code, &*self.stdout), (i32::from(code), ""), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("internal fault,"), "{}", self.stderr);
        self.stderr
    }
}

/// The program, in an environment that says nothing about colours.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_network_analyze"));
    for variable in ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm-256color");
    command
}

fn analyze<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Ended {
    ended(program().args(arguments))
}

fn ended(command: &mut Command) -> Ended {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Ended { code: output.status.code().expect("the program ended by itself"), stdout, stderr }
}

/// Eight hosts on two leaves: node003 sends slowly, nothing reaches or leaves node006.
fn machine() -> Machine {
    let slow = Fault::Host { host: 2, direction: Direction::Send, symptom: Symptom::Bandwidth(0.25) };
    let dead = Fault::Host { host: 5, direction: Direction::Both, symptom: Symptom::Dead };
    Machine::leaf_spine(8, 2, 1).with(slow).with(dead)
}

fn measured(machine: &Machine, change: impl FnOnce(&mut Config)) -> MemoryRun {
    let sweep = Sweep::list(&[0, 64, 4096, 65_536, 1 << 20].map(Bytes)).unwrap();
    let mut config = Config { iterations: 20, sweep, ..Config::default() };
    change(&mut config);
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let provenance = Provenance {
        command: "network_test -t one_to_one".into(),
        program_version: "network_test 0.1.0".into(),
        mpi_library: "no MPI, a synthetic machine".into(),
        created: "2026-01-02T03:04:05Z".into(),
        slurm_job_id: "4711".into(),
        slurm_job_nodelist: "node[001-008]".into(),
        ..Provenance::default()
    };
    let mut run = MemoryRun::new(Header::of(&plan, provenance));
    let mut fabric = Synthetic::new(machine.clone());
    measure(&plan, &mut fabric, Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    run
}

/// A folder with a result set, and its prefix.
fn stored(run: &dyn Run) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("network");
    store::write_run(run, &prefix, false).unwrap();
    (folder, prefix)
}

fn typical() -> (TempDir, PathBuf) {
    stored(&measured(&machine(), |_| {}))
}

fn file(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

// info

#[test]
fn info_tells_what_a_run_is() {
    let (_folder, prefix) = typical();
    golden::check("info.txt", &analyze(["info", text(&prefix)]).silently());
    let max = analyze(["info", text(&prefix), "--statistic", "max"]).silently();
    assert!(max.contains("max over 56 ordered pairs"), "{max}");
}

#[test]
fn any_file_of_a_set_is_its_name() {
    let (_folder, prefix) = typical();
    let by_prefix = analyze(["info", text(&prefix)]).silently();
    for suffix in ["_median.nc", "_min.nc", "_hosts.txt"] {
        assert_eq!(analyze(["info", text(&file(&prefix, suffix))]).silently(), by_prefix);
    }
}

#[test]
fn info_tells_programs_the_same() {
    let (_folder, prefix) = typical();
    let json: Value = serde_json::from_str(&analyze(["info", text(&prefix), "--format", "json"]).silently()).unwrap();
    assert_eq!(json["schema"], "network_test.info/1");
    assert_eq!((&json["mode"], &json["ranks"], &json["complete"]), (&"one_to_one".into(), &8.into(), &true.into()));
    assert_eq!((&json["hosts"]["list"], &json["hosts"]["of_rank"][7]), (&"node[001-008]".into(), &"node008".into()));
    assert_eq!(json["lengths"], Value::from(vec![0, 64, 4096, 65_536, 1 << 20]));
    assert_eq!((&json["provenance"]["slurm_job_id"], &json["noise"]), (&"4711".into(), &Value::Null));
    let plan = &json["plan"];
    assert_eq!((&plan["seed"], &plan["noise_messages"], &plan["warmup"]), (&1.into(), &1.into(), &3.into()), "{plan}");
    assert_eq!((&plan["sample_rounds"], &plan["verify"]), (&"all".into(), &false.into()), "{plan}");
    let longest = &json["table"]["rows"][4];
    assert_eq!((&longest["pairs"], &longest["missing"]), (&42.into(), &14.into()));
    let quantiles: Vec<f64> = serde_json::from_value(longest["quantiles"].clone()).unwrap();
    assert!(quantiles.is_sorted() && quantiles[0] > 8e-5 && quantiles[6] < 5e-4, "{quantiles:?}");
}

#[test]
fn missing_values_are_null_in_json() {
    let all_dead =
        Machine::leaf_spine(2, 1, 1).with(Fault::Host { host: 0, direction: Direction::Both, symptom: Symptom::Dead });
    let (_folder, prefix) = stored(&measured(&all_dead, |_| {}));
    let printed = analyze(["info", text(&prefix), "--format", "json"]).silently();
    assert!(!printed.contains("NaN"), "{printed}");
    let json: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(json["table"]["rows"][0]["quantiles"][3], Value::Null);
    let shown = analyze(["view", text(&prefix)]).silently();
    assert!(shown.contains("missing: 2 of 2 pairs"), "{shown}");
}

#[test]
fn a_long_sweep_is_thinned_unless_all_is_asked_for() {
    let long = |config: &mut Config| config.sweep = Sweep::linear(Bytes(0), Bytes(1000), Bytes(10)).unwrap();
    let (_folder, prefix) = stored(&measured(&Machine::leaf_spine(2, 1, 1), long));
    let thinned = analyze(["info", text(&prefix)]).silently();
    assert!(thinned.contains("16 of 100 lengths are shown; --all shows all"), "{thinned}");
    let all = analyze(["info", text(&prefix), "--all"]).silently();
    assert_eq!(all.lines().count(), thinned.lines().count() - 1 + 84);
    let json: Value = serde_json::from_str(&analyze(["info", text(&prefix), "--format", "json"]).silently()).unwrap();
    assert_eq!(json["table"]["rows"].as_array().unwrap().len(), 100);
}

#[test]
fn an_unfinished_run_is_announced_everywhere() {
    let (_folder, prefix) = stored(&unfinished(2));
    let info = analyze(["info", text(&prefix)]);
    assert!(info.stdout.contains("2 of 5 lengths: unfinished (0 to 64 bytes)"), "{}", info.stdout);
    for arguments in [vec!["view", text(&prefix)], vec!["convert", text(&prefix), "-o", "-"]] {
        let ended = analyze(arguments);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stderr.contains("unfinished"), "{}", ended.stderr);
    }
}

/// The typical run, of which only the first lengths are there.
fn unfinished(lengths: usize) -> MemoryRun {
    let whole = measured(&machine(), |_| {});
    let mut run = MemoryRun::new(whole.header().clone());
    (0..lengths).for_each(|index| run.push(whole.lengths()[index], whole.cells(index).to_vec()));
    run
}

#[test]
fn a_run_without_a_finished_length_has_nothing_to_show() {
    let (_folder, prefix) = stored(&unfinished(0));
    let info = analyze(["info", text(&prefix)]);
    assert!(info.code == 0 && info.stdout.contains("0 of 5 lengths: unfinished"), "{}", info.stderr);
    let view = analyze(["view", text(&prefix)]);
    assert_eq!(view.code, i32::from(exit::FILES));
    assert!(view.stderr.contains("no finished message length"), "{}", view.stderr);
}

#[test]
fn modes_with_noise_and_several_ranks_per_host_are_described() {
    let noise = |config: &mut Config| {
        config.modes = vec![Mode::Noise];
        config.noise.processes = 2;
        config.noise.length = Bytes(1024);
        config.sample_rounds = Some(3);
    };
    let (_folder, prefix) = stored(&measured(&Machine::leaf_spine(4, 2, 2), noise));
    golden::check("info-noise.txt", &analyze(["info", text(&prefix)]).silently());
}

// convert

#[test]
fn text_to_netcdf_to_text_is_the_identity() {
    let (folder, prefix) = typical();
    let [first, second, again] = ["first.txt", "second.txt", "again"].map(|name| folder.path().join(name));
    analyze(["convert", text(&prefix), "-o", text(&first)]).silently();
    analyze(["convert", text(&first), "-o", text(&again)]).silently();
    analyze(["convert", text(&again), "-o", text(&second)]).silently();
    let first = fs::read_to_string(first).unwrap();
    assert!(first.contains("NaN") && first.contains("node003"), "{first}");
    assert_eq!(first, fs::read_to_string(second).unwrap());
    assert_eq!(first, analyze(["convert", text(&prefix), "-o", "-"]).silently());
}

#[test]
fn csv_comes_back_too() {
    let (folder, prefix) = typical();
    let [csv, again] = ["run.csv", "again.v2"].map(|name| folder.path().join(name));
    analyze(["convert", text(&prefix), "-o", text(&csv)]).silently();
    let lines = fs::read_to_string(&csv).unwrap();
    let values: Vec<_> = lines.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(values.len(), 1 + 5 * 8 * 8, "a heading and every cell");
    assert!(values[0].starts_with("length,source,destination,"), "{}", values[0]);
    analyze(["convert", text(&csv), "-o", text(&again), "--to", "netcdf"]).silently();
    let to_csv = |path: &Path| analyze(["convert", text(path), "-o", "-", "--to", "csv"]).silently();
    assert_eq!(to_csv(&prefix), lines);
    assert_eq!(to_csv(&again), lines);
}

#[test]
fn info_and_view_read_text_and_csv() {
    let (folder, prefix) = typical();
    let picture = analyze(["view", text(&prefix)]).silently();
    for name in ["run.txt", "run.csv"] {
        let path = folder.path().join(name);
        analyze(["convert", text(&prefix), "-o", text(&path)]).silently();
        assert_eq!(analyze(["view", text(&path)]).silently(), picture, "{name}");
        analyze(["info", text(&path)]).silently();
    }
}

#[test]
fn nothing_is_overwritten_without_force() {
    let (folder, prefix) = typical();
    let [text_file, other] = ["kept.txt", "other"].map(|name| folder.path().join(name));
    fs::write(&text_file, "kept").unwrap();
    analyze(["convert", text(&prefix), "-o", text(&text_file)]).fails(exit::FILES, &["kept.txt` exists", "--force"]);
    assert_eq!(fs::read_to_string(&text_file).unwrap(), "kept");
    analyze(["convert", text(&prefix), "-o", text(&other)]).silently();
    analyze(["convert", text(&prefix), "-o", text(&other)]).fails(exit::FILES, &["exists", "--force"]);
    analyze(["convert", text(&prefix), "-o", text(&text_file), "--force"]).silently();
    analyze(["convert", text(&text_file), "-o", text(&other), "--force"]).silently();
    assert_eq!(analyze(["view", text(&other)]).silently(), analyze(["view", text(&prefix)]).silently());
    let beside = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(
        beside.into_iter().all(|name| ["network_", "other_", "kept.txt"].iter().any(|known| name.starts_with(known)))
    );
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    let (folder, prefix) = typical();
    let convert = |arguments: &[&str]| analyze([&["convert", text(&prefix)], arguments].concat());
    let inside = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    convert(&["-o", "-", "--to", "netcdf"]).fails(exit::USAGE, &["prefix instead of -"]);
    convert(&["-o", &inside("x.nc")]).fails(exit::USAGE, &["set", "x`"]);
    convert(&["-o", &inside("x.json")]).fails(exit::USAGE, &["--to text"]);
    convert(&["-o", &inside("no/x.txt")]).fails(exit::FILES, &["/no` does not exist"]);
    convert(&["-o", &inside("no/x")]).fails(exit::FILES, &["/no`"]);
    convert(&["-o", text(folder.path()), "--to", "csv"]).fails(exit::FILES, &["is a folder"]);
}

#[test]
fn neither_what_is_read_nor_a_device_is_replaced() {
    let (folder, prefix) = typical();
    let csv = folder.path().join("run.csv");
    let link = folder.path().join("link.csv");
    analyze(["convert", text(&prefix), "-o", text(&csv)]).silently();
    std::os::unix::fs::symlink(&csv, &link).unwrap();
    let before = analyze(["convert", text(&prefix), "-o", "-"]).silently();
    let median = format!("{}_median.nc", text(&prefix));
    for arguments in [
        ["convert", text(&prefix), "-o", text(&prefix)],
        ["convert", text(&csv), "-o", text(&link)],
        ["cluster", text(&prefix), "-o", &median],
        ["report", text(&prefix), "-o", &median],
    ] {
        analyze([&arguments[..], &["--force"]].concat()).fails(exit::FILES, &["is read by this command"]);
    }
    for arguments in
        [["convert", "/dev/null", "netcdf"], ["convert", "/dev/null", "csv"], ["convert", "/dev/zero", "text"]]
    {
        let [command, output, form] = arguments;
        analyze([command, text(&prefix), "-o", output, "--to", form, "--force"]).fails(exit::FILES, &["is a device"]);
    }
    // No file of that name comes to be either.
    for [command, option] in [["diagnose", "--json"], ["report", "-o"]] {
        analyze([command, text(&prefix), option, "-", "--force"]).fails(exit::FILES, &["`-` is no file"]);
    }
    assert_eq!(analyze(["convert", text(&prefix), "-o", "-"]).silently(), before);
    assert!(!fs::metadata("/dev/null").unwrap().is_file() && !std::path::Path::new("/dev/null_median.nc").exists());
    // A link stays one, whether what it leads to is there or not.
    let dangling = folder.path().join("dangling.csv");
    std::os::unix::fs::symlink("late.csv", &dangling).unwrap();
    analyze(["convert", text(&prefix), "-o", text(&dangling)]).silently();
    assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink() && folder.path().join("late.csv").is_file());
    fs::remove_file(&csv).unwrap();
    analyze(["convert", text(&prefix), "-o", text(&link)]).silently();
    assert!(csv.is_file() && fs::symlink_metadata(&link).unwrap().is_symlink());
}

// bad input and bad command lines

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let (folder, prefix) = typical();
    for command in ["info", "view"] {
        let typing_error = folder.path().join("netwrok");
        analyze([command, text(&typing_error)]).fails(exit::FILES, &["netwrok", "network` meant?"]);
        analyze([command, text(&folder.path().join("xyz"))]).fails(exit::FILES, &["xyz", "are `network`"]);
        analyze([command, text(folder.path())]).fails(exit::FILES, &["`network`"]);
        analyze([command, text(&folder.path().join("no/run"))]).fails(exit::FILES, &["no folder", "/no`"]);
        analyze([command, text(&file(&prefix, ".txt"))]).fails(exit::FILES, &["network.txt"]);
    }
    let empty = tempfile::tempdir().unwrap();
    analyze(["info", text(&empty.path().join("network"))]).fails(exit::FILES, &["no run in"]);
}

#[test]
fn damaged_files_are_named() {
    let (_folder, prefix) = typical();
    let median = file(&prefix, "_median.nc");
    let whole = fs::read(&median).unwrap();
    for (damaged, what) in [(&whole[..whole.len() / 2], "cut"), (&whole[..40], "header"), (b"hello".as_slice(), "text")]
    {
        fs::write(&median, damaged).unwrap();
        let message = analyze(["info", text(&median)]);
        assert_eq!(message.code, i32::from(exit::FILES), "{what}: {}", message.stderr);
        assert!(message.stderr.contains("network_median.nc"), "{what}: {}", message.stderr);
        assert!(!message.stderr.contains("panicked"), "{what}: {}", message.stderr);
    }
}

#[test]
fn a_missing_file_of_the_set_is_named() {
    let (_folder, prefix) = typical();
    fs::remove_file(file(&prefix, "_max.nc")).unwrap();
    let info = analyze(["info", text(&prefix)]);
    assert!(info.code == 0 && info.stdout.contains("_max.nc"), "{}{}", info.stdout, info.stderr);
    let view = analyze(["view", text(&prefix), "--statistic", "max"]);
    assert_eq!(view.code, i32::from(exit::FILES));
    assert!(view.stderr.contains("max"), "{}", view.stderr);
}

#[test]
fn texts_that_are_no_runs_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", "a.csv"] {
        let path = folder.path().join(name);
        for content in ["", "hello\n", "# format: something else\n"] {
            fs::write(&path, content).unwrap();
            analyze(["info", text(&path)]).fails(exit::FILES, &[name]);
        }
        fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
        analyze(["info", text(&path)]).fails(exit::FILES, &[name]);
    }
}

#[test]
fn wrong_command_lines_are_told_what_is_right() {
    let (_folder, prefix) = typical();
    let view = |arguments: &[&str], words: &[&str]| {
        analyze([&["view", text(&prefix)], arguments].concat()).fails(exit::USAGE, words)
    };
    view(&["--statistic", "mean"], &["mean", "min", "average", "median", "max", "deviation"]);
    view(&["--length", "ten"], &["ten", "64K"]);
    view(&["--range", "5us"], &["LOW:HIGH"]);
    view(&["--range", "5us:1us"], &["below"]);
    view(&["--color", "sometimes"], &["auto", "always", "never"]);
    view(&["--row", "node009"], &["node009", "node[001-008]"]);
    view(&["--row", "8"], &["0 to 7"]);
    view(&["--collumn", "1"], &["--column"]);
    let refused = view(&["--json"], &["--json"]);
    assert!(refused.starts_with("network_analyze: unexpected argument '--json' found"), "{refused}");
    assert!(!refused.contains("as a value"), "no file is called so: {refused}");
    analyze(["plot", "run", "--color", "grey"]).fails(exit::USAGE, &["--color", "'--palette'"]);
    analyze(["veiw"]).fails(exit::USAGE, &["veiw", "view"]);
    analyze(["info"]).fails(exit::USAGE, &["<RUN>"]);
    analyze([""; 0]).fails(exit::USAGE, &["Usage:", "info", "view", "convert"]);
}

#[test]
fn help_and_version_are_results() {
    let help = analyze(["--help"]).silently();
    assert!(help.contains("Exit codes") && help.contains("convert"), "{help}");
    assert!(analyze(["--version"]).silently().starts_with("network_analyze "));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let mut commands: Vec<&str> = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    commands.retain(|command| !["", "help"].contains(command));
    assert!(commands.len() >= 14, "{commands:?}");
    for (command, columns) in commands.iter().flat_map(|command| [(command, 80), (command, 40)]) {
        let help = ended(program().args([command, "--help"]).env("COLUMNS", columns.to_string())).silently();
        assert!(help.contains("Usage:"), "{help}");
        // A single word cannot be wrapped, and a usage is one line for copying.
        let too_long = |line: &&str| line.chars().count() > columns && line.trim().contains(' ');
        let too_long = help.lines().filter(|line| !line.starts_with("Usage:")).find(too_long);
        assert_eq!(too_long, None, "{command}, {columns} columns");
    }
}

// standard output

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let (_folder, prefix) = typical();
    for arguments in [vec!["view"], vec!["info"], vec!["convert", "-o", "-"]] {
        let mut child = program()
            .args(&arguments[..1])
            .arg(&prefix)
            .args(&arguments[1..])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments:?}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let (_folder, prefix) = typical();
    for arguments in [vec!["view"], vec!["info"], vec!["convert", "-o", "-"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = program();
        command.args(&arguments[..1]).arg(&prefix).args(&arguments[1..]).stdout(full);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(i32::from(exit::FILES)), "{arguments:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("No space left on device"), "{arguments:?}: {message}");
    }
}

//! `network_analyze merge` as its users meet it: the real binary, on parts of one run of the synthetic machine.

#[path = "common/golden.rs"]
mod golden;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use netmatrix::{
    analysis::tally::Tally,
    exit,
    measure::{
        StopRequest, measure,
        synthetic::{Machine, Synthetic},
    },
    plan::{Config, Mode, Optional, Plan, Schedule, Sweep, Timing},
    record::{Cell, Header, MemoryRun, Provenance, Retest, Run, Sink, State, Statistic},
    store,
    units::{Bytes, Hosts},
};
use tempfile::TempDir;

/// What a call of the program came to.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// What a call that must succeed and print no result says on standard error.
    #[track_caller]
    fn succeeds(self) -> String {
        assert_eq!((self.code, &*self.stdout), (0, ""), "{}", self.stderr);
        self.stderr
    }

    /// The call must fail with this code and say all of `words`.
    #[track_caller]
    fn fails(self, code: u8, words: &[&str]) {
        assert_eq!((self.code, &*self.stdout), (i32::from(code), ""), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("internal fault,"), "{}", self.stderr);
    }
}

/// A folder with runs, in which the program is called.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, name: &str, run: &dyn Run) -> Self {
        store::write_run(run, &self.path(name), false).unwrap();
        self
    }

    fn analyze<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Ended {
        let program = env!("CARGO_BIN_EXE_network_analyze");
        let mut command = Command::new(program);
        let output = command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Ended { code: output.status.code().expect("the program ended by itself"), stdout, stderr }
    }

    /// Merges these runs into `all`.
    fn merge(&self, runs: &[&str]) -> Ended {
        self.analyze([&["merge", "-o", "all"], runs].concat())
    }

    fn open(&self, name: &str) -> store::ResultSet {
        store::open(&self.path(name)).unwrap()
    }
}

fn sweep(lengths: &[u64]) -> Sweep {
    Sweep::list(&lengths.iter().copied().map(Bytes).collect::<Vec<_>>()).unwrap()
}

/// A run of eight hosts with two ranks each.
fn whole(change: impl FnOnce(&mut Config)) -> MemoryRun {
    let mut config = Config { iterations: 5, sweep: sweep(&[0, 64, 4096]), ..Config::default() };
    change(&mut config);
    let machine = Machine::leaf_spine(8, 2, 2);
    let plan = Plan::all(&config, &machine.hosts).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    measure(&plan, &mut Synthetic::new(machine), Some(&mut run), 0, &StopRequest::default(), &mut |_| {}).unwrap();
    run
}

/// What a run over some of the hosts (1 to 8), in this order, would have been, up to a number of lengths.
fn part(whole: &MemoryRun, hosts: &[usize], lengths: usize) -> MemoryRun {
    let all = &whole.header().hosts;
    let ranks: Vec<_> = hosts.iter().flat_map(|host| all.ranks_of(host - 1)).copied().collect();
    let mut header =
        Header { hosts: Hosts::new(ranks.iter().map(|rank| all.name_of(*rank))), ..whole.header().clone() };
    header.plan.insert("hosts".to_owned(), header.hosts.name_of_every_rank().collect::<Vec<_>>().join(","));
    header.provenance = Provenance {
        program_version: "network_test 0.1.0".to_owned(),
        created: format!("2026-01-0{}T00:00:00Z", hosts[0]),
        slurm_job_id: format!("471{}", hosts[0]),
        ..Provenance::default()
    };
    let mut part = MemoryRun::new(header);
    for index in 0..lengths {
        let cell = |i: &usize, j: &usize| whole.cells(index)[i * all.ranks() + j];
        part.push(whole.lengths()[index], ranks.iter().flat_map(|i| ranks.iter().map(move |j| cell(i, j))).collect());
    }
    part
}

/// Runs `a` on hosts 1 to 5 and `b` on hosts 4 to 8.
fn two_parts() -> (Place, MemoryRun) {
    let whole = whole(|_| {});
    let place =
        Place::new().with("a", &part(&whole, &[1, 2, 3, 4, 5], 3)).with("b", &part(&whole, &[4, 5, 6, 7, 8], 3));
    (place, whole)
}

fn cells(run: &dyn Run, index: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    run.read_cells(index, 0..run.ranks(), &mut cells).unwrap();
    cells
}

#[test]
fn parts_give_the_cells_of_the_whole_run_back() {
    let (place, whole) = two_parts();
    assert_eq!(place.merge(&["a", "b_median.nc"]).succeeds(), "");
    let all = place.open("all");
    assert!(all.is_complete() && all.notices().is_empty(), "{:?}", all.notices());
    assert_eq!(all.header().hosts, whole.header().hosts);
    let (mut alone, mut shared) = (0, 0);
    for index in 0..3 {
        for (k, (found, expected)) in cells(&all, index).iter().zip(whole.cells(index)).enumerate() {
            let hosts = [k / 16 / 2 + 1, k % 16 / 2 + 1];
            let runs = [1..6, 4..9].iter().filter(|run| hosts.iter().all(|host| run.contains(host))).count() as u32;
            assert_eq!(found.samples, runs * expected.samples, "{hosts:?}");
            match runs {
                0 => assert!(found.summary.median.is_nan() && found.state == State::NotScheduled, "{found:?}"),
                1 => {
                    // Statistics that no file was asked for are not known.
                    assert_eq!(*found, Cell { extra: found.extra, ..*expected });
                    alone += 1;
                }
                _ => {
                    assert_eq!(found.summary.median, expected.summary.median);
                    assert!((found.summary.deviation - expected.summary.deviation).abs() < 1e-15);
                    shared += 1;
                }
            }
        }
    }
    assert_eq!((alone, shared), (3 * 2 * (100 - 16), 3 * 16));
}

#[test]
fn a_merged_run_tells_what_it_is_made_of() {
    let (place, _) = two_parts();
    place.merge(&["a", "b"]).succeeds();
    let info = place.analyze(["info", "all"]).stdout;
    let (own, rest): (Vec<_>, Vec<_>) =
        info.lines().partition(|line| line.starts_with("command") || line.starts_with("created"));
    golden::check("merge-info.txt", &(rest.join("\n") + "\n"));
    assert!(own[0].starts_with("created    20") && own[1].ends_with("network_analyze merge -o all a b"), "{own:?}");
    let picture = place.analyze(["view", "all", "--length", "64"]).stdout;
    assert!(picture.contains("72 of 240 pairs that the schedule leaves out"), "{picture}");
}

#[test]
fn what_came_of_it_is_a_document() {
    let (place, _) = two_parts();
    let ended = place.analyze(["merge", "-o", "all", "a", "b", "--format", "json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&document["schema"], &document["output"]), (&"network_test.merge/1".into(), &"all".into()));
    let run = place.open("all");
    let parts = document["parts"].as_array().unwrap();
    let names: Vec<_> = parts.iter().map(|part| part["run"].as_str().unwrap()).collect();
    assert_eq!((&names[..], &document["ranks"]), (&["a", "b"][..], &run.ranks().into()));
    let tally = Tally::of(&run).unwrap();
    let cells = &document["cells"];
    assert_eq!((&cells["measured"], &cells["not_scheduled"]), (&tally.measured().into(), &tally.left_out().into()));
    assert!(tally.left_out() > 0, "pairs that no part measured");
}

#[test]
fn settings_that_differ_are_mixed() {
    let disjoint = whole(|config| config.schedule = Schedule::Disjoint);
    let place = Place::new().with("a", &part(&whole(|_| {}), &[1, 2], 3)).with("b", &part(&disjoint, &[3, 4], 3));
    place.merge(&["a", "b"]).succeeds();
    let header = place.open("all").header().clone();
    assert_eq!((header.item("schedule"), header.item("timing")), (Some("mixed"), Some("transfer")));
    assert_eq!(header.item("merged_created"), Some("2026-01-01T00:00:00Z 2026-01-03T00:00:00Z"));
    assert_eq!(header.provenance.slurm_job_id, "4711; 4713");
}

#[test]
fn unfinished_runs_are_merged_as_far_as_all_are_and_it_is_said() {
    let whole = whole(|_| {});
    let place = Place::new().with("a", &part(&whole, &[1, 2], 3)).with("b", &part(&whole, &[3, 4], 2));
    let said = place.merge(&["a", "b"]).succeeds();
    golden::check("merge-unfinished.txt", &said);
    assert_eq!(place.open("all").lengths(), [Bytes(0), Bytes(64)]);
    let again = place.analyze(["info", "all"]).stdout;
    assert!(again.contains("2 of 3 lengths: unfinished"), "{again}");
}

#[test]
fn a_single_run_is_copied_and_texts_are_runs_too() {
    let (place, _) = two_parts();
    place.merge(&["a"]).succeeds();
    assert_eq!(cells(&place.open("all"), 2), cells(&place.open("a"), 2));
    for name in ["b.txt", "b.csv"] {
        assert_eq!(place.analyze(["convert", "b", "-o", name]).code, 0);
        place.analyze(["merge", "a", name, "-o", "texts", "--force"]).succeeds();
        place.analyze(["merge", "a", "b", "-o", "sets", "--force"]).succeeds();
        assert_eq!(format!("{:?}", cells(&place.open("texts"), 1)), format!("{:?}", cells(&place.open("sets"), 1)));
    }
}

#[test]
fn retests_come_along() {
    let disjoint = whole(|config| {
        config.schedule = Schedule::Disjoint;
        config.retest = 1;
        config.optional = vec![Optional::Samples];
    });
    let mut b = part(&disjoint, &[3, 4], 3);
    b.write_retests(1, &[Retest { source: 2, destination: 0, first: 3e-6, second: 2e-6, alone: 1e-6 }]).unwrap();
    b.write_retest_samples(1, &[vec![1e-6]]).unwrap();
    let place = Place::new().with("a", &part(&disjoint, &[1, 2], 3)).with("b", &b);
    assert_eq!(place.open("b").retest_samples(1).unwrap(), [[1e-6]]);
    place.merge(&["a", "b"]).succeeds();
    // Samples of several parts are no samples of one measurement.
    assert!(place.open("all").retest_samples(1).unwrap().is_empty());
    let table = fs::read_to_string(place.path("all_retest.csv")).unwrap();
    assert_eq!(table.lines().skip(1).collect::<Vec<_>>(), ["64,6,4,node004,node003,3e-6,2e-6,1e-6"]);
    assert_eq!(place.open("all").retests(1).unwrap().len(), 1);
}

#[test]
fn runs_that_did_not_measure_the_same_are_refused_by_name() {
    let noisy = |config: &mut Config, messages: u32| {
        config.modes = vec![Mode::Noise];
        config.noise.processes = 2;
        config.noise.messages = messages;
    };
    let usual = part(&whole(|_| {}), &[1, 2, 3], 3);
    type Change = fn(&mut Config);
    let others: [(&str, Change, &str); 4] = [
        ("mode", |config| config.modes = vec![Mode::Put], "its mode is `put`, not `one_to_one`"),
        ("timing", |config| config.timing = Timing::Receive, "its timing is `receive`, not `transfer`"),
        ("other", |config| config.sweep = sweep(&[0, 64, 5000]), "its sweep (length number 3) is `5000`, not `4K`"),
        ("longer", |config| config.sweep = sweep(&[0, 1, 2, 3]), "its sweep (number of lengths) is `4`, not `3`"),
    ];
    let place = Place::new()
        .with("usual", &usual)
        .with("noise1", &part(&whole(|config| noisy(config, 1)), &[1, 2], 3))
        .with("noise2", &part(&whole(|config| noisy(config, 2)), &[3, 4], 3));
    for (name, change, said) in others {
        let place =
            Place(tempfile::tempdir().unwrap()).with("usual", &usual).with(name, &part(&whole(change), &[4, 5], 3));
        let named = format!("`{name}` cannot be merged with `usual`");
        place.merge(&["usual", name]).fails(exit::FILES, &[said, &named]);
        assert!(!store::exists(&place.path("all")), "nothing is left behind");
    }
    place.merge(&["noise1", "noise2"]).fails(exit::FILES, &["`noise2`", "noise is", "2 messages", "1 message of"]);
}

#[test]
fn a_run_that_is_named_twice_is_refused() {
    let (place, whole) = two_parts();
    let place = place.with("copy", &part(&whole, &[1, 2, 3, 4, 5], 3));
    place.merge(&["a", "b", "a"]).fails(exit::USAGE, &["`a` and `a` are the same run", "count twice"]);
    place.merge(&["a", "./a_max.nc"]).fails(exit::USAGE, &["`./a_max.nc` and `a`"]);
    place.merge(&["a", "b", "copy"]).fails(exit::FILES, &["`copy` and `a` are the same run", "count twice"]);
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    let (place, _) = two_parts();
    let before = fs::read(place.path("a_median.nc")).unwrap();
    let merge = |arguments: &[&str]| place.analyze([&["merge", "a", "b"], arguments].concat());
    merge(&["-o", "a", "--force"]).fails(exit::USAGE, &["`a` is to be merged itself"]);
    merge(&["-o", "./b_min.nc", "--force"]).fails(exit::USAGE, &["`./b_min.nc` is one file"]);
    merge(&["-o", "all.csv"]).fails(exit::USAGE, &["`all.csv`", "prefix, `all`"]);
    merge(&["-o", "no/all"]).fails(exit::FILES, &["`no`", "does not exist"]);
    merge(&[]).fails(exit::USAGE, &["--output"]);
    place.analyze(["merge", "-o", "all"]).fails(exit::USAGE, &["RUN"]);
    merge(&["-o", "all"]).succeeds();
    merge(&["-o", "all"]).fails(exit::FILES, &["all_", "exists", "--force"]);
    merge(&["-o", "all", "--force"]).succeeds();
    assert_eq!(fs::read(place.path("a_median.nc")).unwrap(), before);
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let (place, whole) = two_parts();
    let place = place.with("empty", &part(&whole, &[6, 7], 0));
    place.merge(&["a", "c"]).fails(exit::FILES, &["`c`"]);
    place.merge(&["a", "empty"]).fails(exit::FILES, &["`empty` has no finished message length"]);
    let median = place.path("b_median.nc");
    let bytes = fs::read(&median).unwrap();
    fs::write(&median, &bytes[..bytes.len() / 2]).unwrap();
    place.merge(&["a", "b"]).fails(exit::FILES, &["b_median.nc", "cut off"]);
    assert!(!store::exists(Path::new(&place.path("all"))));
}

#[test]
fn a_statistic_that_a_run_lacks_is_left_out_and_said() {
    let (place, _) = two_parts();
    fs::remove_file(place.path("b_max.nc")).unwrap();
    let said = place.merge(&["a", "b"]).succeeds();
    assert!(said.contains("the max is left out: `b` has none") && said.contains("b_max.nc"), "{said}");
    assert!(!place.open("all").statistics().contains(&Statistic::Max));
}

#[test]
fn help_tells_how_cells_are_weighed() {
    let help = Place::new().analyze(["merge", "--help"]).stdout;
    assert!(help.contains("weighted by numbers of samples") && help.contains("--output"), "{help}");
}

/// `1 bytes` or `1 of 1 lengths`, if a text has it: a 1 that no digit, sign or point is part of, and a plural behind it.
fn plural_of_one(text: &str) -> Option<String> {
    let things = "bytes cells classes exceptions exchanges findings groups hosts lengths levels matrices measurements messages \
                  pairs places processes processs ranges ranks rectangles rounds runs samples sets switches";
    let is_plural =
        |word: &str| things.split(' ').any(|thing| thing == word.trim_matches(|sign: char| !sign.is_alphabetic()));
    let words: Vec<&str> = text.split_whitespace().collect();
    let of_one = |two: &&[&str]| two[0].trim_start_matches(['(', '"', '\'', '>']) == "1" && is_plural(two[1]);
    words.windows(2).find(of_one).map(|two| two.join(" "))
}

#[test]
fn one_of_a_thing_is_no_plural() {
    assert_eq!(plural_of_one("(1 lengths), 11 bytes").as_deref(), Some("(1 lengths),"));
    assert_eq!(plural_of_one("1 byte, 2.1 bytes, -1 bytes, 1 of 2 pairs, 21 hosts"), None);
    let one_length = whole(|config| config.sweep = sweep(&[1]));
    let place = Place::new().with("one", &part(&one_length, &[1], 1)).with("two", &part(&one_length, &[1, 2], 1));
    for run in ["one", "two"] {
        let picture = format!("{run}.svg");
        for arguments in [
            &["info", run][..],
            &["cluster", run, "--list"],
            &["cluster", run, "--output", "archive.nc", "--force", "--tolerance", "0"],
            &["topology", run],
            &["view", run],
            &["view", run, "--row", "0"],
            &["topology", run, "--format", "dot"],
            &["fit", run],
            &["diagnose", run],
            &["compare", run, if run == "one" { "two" } else { "one" }],
            &["plot", run, "--output", &picture, "--force"],
            &["merge", "one", "two", "-o", &format!("all of {run}")],
        ] {
            let Ended { code, stdout, stderr } = place.analyze(arguments);
            // One length gives no line, and few hosts no verdict.
            let is_answered = [exit::SUCCESS, exit::UNJUDGED].map(i32::from).contains(&code) || arguments[0] == "fit";
            assert!(is_answered, "{arguments:?}: {code}: {stderr}");
            let drawn = fs::read_to_string(place.path(&picture)).unwrap_or_default();
            for text in [stdout, stderr, drawn] {
                assert_eq!(plural_of_one(&text), None, "{arguments:?}: {text}");
            }
        }
    }
}

//! Files that somebody spoilt, by accident or on purpose: no reader may crash, hang, take much memory or let through what
//! controls a terminal.
//!
//! 20,000 mutations with fixed seeds go through the library's readers in this process, whose memory is limited, some
//! hundreds through what goes on with an unfinished set, and some hundreds through the real program, with limits of its
//! own. FUZZ_MUTATIONS=1000000 tries more, FUZZ_SEED=7 others.

#[path = "common/mutation.rs"]
mod mutation;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use mutation::mutate;
use netmatrix::{
    analysis::{cluster, distribution::Distribution, tally::Tally, topology::Topology},
    plan::{Config, Plan, Schedule, Sweep},
    record::{
        BoxError, Cell, Header, MemoryRun, Provenance, Retest, Run, Sink, State, Statistic,
        operations::{Measured, Operations, Probe, ProbeKind, ProgramRun},
    },
    stats::Summary,
    store,
    units::{Bytes, Hosts, is_hidden},
    view,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Mutations through the library.
const MUTATIONS: u64 = 20_000;

/// Mutations through the program.
const PROGRAM_MUTATIONS: u64 = 240;

/// Address space of this process and of the program: what a file of some KiB asks for has room in it many times.
const MOST_MEMORY: u64 = 3 << 30;

/// The program ends much earlier; a hang is longer, however busy the machine is.
const MOST_TIME: Duration = Duration::from_secs(60);

/// How a file is read, which its name says as well.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Set,
    Archive,
    Text,
    Csv,
    Topology,
    Operations,
    Foreign,
}

/// A sound file.
struct Seed {
    name: &'static str,
    kind: Kind,
    bytes: Vec<u8>,
}

/// A run of three ranks in which every state occurs.
fn run(longest: u64) -> MemoryRun {
    let lengths = [Bytes(0), Bytes(1024), Bytes(longest)];
    let config = Config { sweep: Sweep::list(&lengths[..2]).unwrap(), ..Config::default() };
    let plan = Plan::all(&config, &Hosts::new(["node1", "node2", "node2"])).unwrap().remove(0);
    let provenance = Provenance { command: "network_test".into(), ..Default::default() };
    // Lengths beyond 32 bits make CDF-5 of a set.
    let mut run = MemoryRun::new(Header { planned: lengths.to_vec(), ..Header::of(&plan, provenance) });
    for length in lengths {
        let cell = |place: usize| match place {
            0 | 4 | 8 => Cell::zero(),
            5 => Cell::missing(State::TimedOut),
            7 => Cell::missing(State::NotScheduled),
            place => {
                let mut times = [1e-6 * place as f64, 2e-6 * place as f64 + length.0 as f64 / 1e10];
                Cell::measured(Summary::of(&mut times), 2, State::Measured)
            }
        };
        run.push(length, (0..9).map(cell).collect());
    }
    run
}

/// Operations of which some were measured.
fn operations() -> Operations {
    let names = ["bcast", "linear_reduce", "block_reduce_central", "reduce_chains_short_first:k=sqrt"];
    let operations = names.map(|name| name.parse().unwrap()).to_vec();
    let (hosts, members) = (Hosts::new(["node1", "node2", "node2"]), vec![vec![0, 1], vec![0, 1, 2]]);
    let lengths = vec![Bytes(8), Bytes(4096)];
    let mut run = Operations::new(hosts, operations, members, lengths, Default::default(), Provenance::default());
    let measured = Measured { summary: Summary::of(&mut [1e-6, 2e-6]), samples: 2, damaged: 0, skew: 1e-7 };
    (0..4).for_each(|number| *run.measured_mut(number, 1, 1) = measured);
    let (delays, both) = (vec![0.0; 2], vec![measured; 2]);
    run.probes.push(Probe { kind: ProbeKind::Recv, source: 0, destination: 1, messages: 1, delays, measured: both });
    let (name, text) = ("a.steps".to_owned(), "processes 2\nstep\n".to_owned());
    run.programs.push(ProgramRun { name, text, procs: 2, measured, own: vec![1e-6; 2] });
    run
}

fn seeds(folder: &Path) -> Vec<Seed> {
    let file = |name, kind, path: PathBuf| Seed { name, kind, bytes: fs::read(path).unwrap() };
    let text = |name, kind, text: &str| Seed { name, kind, bytes: text.as_bytes().to_vec() };
    let written = |write: fn(&dyn Run, &mut dyn std::io::Write) -> Result<(), BoxError>| {
        let mut bytes = Vec::new();
        write(&run(4096), &mut bytes).unwrap();
        bytes
    };
    store::write_run(&run(4096), &folder.join("small"), false).unwrap();
    store::write_run(&run(1 << 40), &folder.join("large"), false).unwrap();
    let options = cluster::Options { tolerance: Some("5%".parse().unwrap()), ..Default::default() };
    let begin = |about| Ok(store::ArchiveWriter::new(about)?);
    let (archive, order) = cluster::cluster(&run(4096), Statistic::Median, &options, begin).unwrap();
    let mut archived = Vec::new();
    archive.finish(&order, &mut archived).unwrap();
    let measured = folder.join("ops_operations.nc");
    store::write_operations(&measured, &operations()).unwrap();
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/laptop4");
    vec![
        file("a.nc", Kind::Set, folder.join("small_median.nc")),
        file("b.nc", Kind::Set, folder.join("small_max.nc")),
        file("c.nc", Kind::Set, folder.join("large_median.nc")),
        file("d.nc", Kind::Set, theirs.join("network_median.nc")),
        file("e.nc", Kind::Set, theirs.join("network_all.nc")),
        Seed { name: "f.nc", kind: Kind::Archive, bytes: archived },
        Seed { name: "g.txt", kind: Kind::Text, bytes: written(store::text::write) },
        Seed { name: "h.csv", kind: Kind::Csv, bytes: written(store::csv::write) },
        file("k_operations.nc", Kind::Operations, measured),
        text(
            "i.conf",
            Kind::Topology,
            "SwitchName=l1 Nodes=node[1-2]\nSwitchName=l2 Nodes=x[1-9]\nSwitchName=s Switches=l[1-2]\n",
        ),
        text(
            "l.yaml",
            Kind::Topology,
            "- topology: t\n  cluster_default: true\n  tree:\n    switches:\n      - {switch: s, children: 'l[1-2]'}\n      \
             - switch: l1\n        nodes: node[1-2]\n      - switch: l2\n        nodes: node3\n",
        ),
        text(
            "m.topo",
            Kind::Topology,
            "vendid=0x2c9\nSwitch\t36 \"S-a1\"\t# \"leaf1\" base port 0 lid 1 lmc 0\n[1]\t\"H-b1\"[1](b1)\t# \"node1 x\" lid 2\n[2]\t\
             \"H-b2\"[1](b2)\t# \"node2 x\" lid 3\n\nCa\t1 \"H-b1\"\t# \"node1 x\"\n[1](b1)\t\"S-a1\"[1]\nCa\t1 \"H-b2\"\t# \"node2 x\"\n",
        ),
        text(
            "n.out",
            Kind::Foreign,
            "START mpiGraph v1.5\nMsg Size: 4096 Bytes\nIterations: 9\n\nRecv\ta:0\tb:1\na:0 from\t0.000\t10.5\nb:1 from\t9.5\t0.0\n",
        ),
        text("o.out", Kind::Foreign, "src,dst,lat(us),bandwidth((Mbytes/sec)\n0,1,1.50,900.0 \n1,0,1.50,950.0 \n"),
        text("p.out", Kind::Foreign, "# OSU MPI Latency Test v5.9\n# Size   Latency (us)\n0   1.25\n8   1.50\n"),
        text(
            "j.dot",
            Kind::Topology,
            "graph { l1 [label=\"a\\nb\"]; l1 -- {node1 node2}; subgraph cluster_1 { label=x; l1 } }",
        ),
    ]
}

/// Reads a file as a subcommand does; whatever is wrong with it is an error with a text that can be shown.
fn read(kind: Kind, path: &Path, bytes: &[u8]) -> Result<(), BoxError> {
    let everything = |run: &dyn Run| -> Result<(), BoxError> {
        assert!(!run.header().hosts.names().iter().any(|name| name.contains(is_hidden)), "a name of a host");
        let mut cells = Vec::new();
        // The first and the last: whatever is wrong with lengths is wrong with these, and each takes its time.
        let last = run.lengths().len().saturating_sub(1);
        for length in (0..run.lengths().len()).filter(|length| [0, last].contains(length)) {
            Tally::at(run, length)?;
            for &statistic in run.statistics().iter().take(2) {
                let values = Distribution::of(run, statistic, length)?.quantiles;
                assert!(!values.iter().any(|value| value.is_infinite()), "a value that is not finite");
            }
            run.read_cells(length, 0..run.ranks(), &mut cells)?;
            run.retests(length)?;
        }
        Ok(())
    };
    match kind {
        Kind::Set => everything(&store::open(path)?),
        Kind::Archive => everything(&store::open_archive(path)?),
        Kind::Text => everything(&store::text::read(bytes, path)?),
        Kind::Csv => everything(&store::csv::read(bytes, path)?),
        Kind::Operations => {
            let run = store::read_operations(path)?;
            let mut shown = Vec::new();
            view::operations::write(&run, &mut shown)?;
            let shown = String::from_utf8(shown)?;
            assert!(!shown.contains(|char| char != '\n' && is_hidden(char)), "a name: {shown:?}");
            Ok(())
        }
        Kind::Foreign => everything(&*store::open_run(path)?.run),
        Kind::Topology => {
            let text = String::from_utf8_lossy(bytes);
            let topology = Topology::read(&text, &Hosts::new(["node1", "node2", "node3"]))?;
            let leaves = topology.leaves();
            assert!(!leaves.iter().any(|leaf| leaf.name.contains(is_hidden)), "a name of a switch");
            Ok(())
        }
    }
}

/// A number that the environment may change.
fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_mutation_harms_the_readers() {
    setrlimit(Resource::As, Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let seeds = seeds(folder.path());
    for seed in &seeds {
        let path = folder.path().join(seed.name);
        fs::write(&path, &seed.bytes).unwrap();
        read(seed.kind, &path, &seed.bytes).unwrap_or_else(|error| panic!("{} itself: {error}", seed.name));
    }
    let (mut refused, mut slowest) = (0, (Duration::ZERO, 0));
    let first = number("FUZZ_SEED", 0) << 40;
    for mutation in first..first + number("FUZZ_MUTATIONS", MUTATIONS) {
        let mut rng = ChaCha8Rng::seed_from_u64(mutation);
        let seed = &seeds[rng.random_range(0..seeds.len())];
        let bytes = mutate(&seed.bytes, &mut rng);
        let path = folder.path().join(seed.name);
        fs::write(&path, &bytes).unwrap();
        let start = Instant::now();
        let outcome = std::panic::catch_unwind(|| read(seed.kind, &path, &bytes));
        let Ok(outcome) = outcome else { panic!("mutation {mutation} of {} is no error but a panic", seed.name) };
        let time = start.elapsed();
        assert!(time < MOST_TIME, "mutation {mutation} of {} takes {time:?}", seed.name);
        slowest = slowest.max((time, mutation));
        refused += u64::from(outcome.is_err());
    }
    println!("{refused} mutations refused; the slowest, {}, took {:?}", slowest.1, slowest.0);
    assert!(refused > 0);
}

/// Mutations of an unfinished set.
const RESUMES: u64 = 600;

/// An unfinished set: a length is whole, of the next one some rounds are kept. Its description.
fn unfinished(prefix: &Path) -> Header {
    let sweep = Sweep::list(&[Bytes(0), Bytes(1024), Bytes(4096)]).unwrap();
    let config = Config { sweep, schedule: Schedule::Disjoint, retest: 2, ..Config::default() };
    let plan = Plan::all(&config, &Hosts::new(["node1", "node2", "node3", "node4"])).unwrap().remove(0);
    let header = Header::of(&plan, Provenance { command: "network_test".into(), ..Default::default() });
    let mut writer = store::create(prefix, &header, false, true).unwrap();
    write_length(&mut writer, 0).unwrap();
    for round in 1..4 {
        writer.keep(1, &[round as u8; 100]).unwrap();
        writer.seal_kept(1, round).unwrap();
    }
    header
}

/// Writes a length of four ranks.
fn write_length(writer: &mut store::SetWriter, index: usize) -> Result<(), BoxError> {
    let cell = |place: usize| {
        let mut times = [1e-6 * (place + index) as f64, 2e-6];
        if place.is_multiple_of(5) { Cell::zero() } else { Cell::measured(Summary::of(&mut times), 2, State::Measured) }
    };
    writer.write_rows(index, 0, &(0..16).map(cell).collect::<Vec<_>>())?;
    writer.write_retests(index, &[Retest { source: 1, destination: 2, first: 2e-6, second: 2e-6, alone: 1e-6 }])?;
    writer.finish_length(index)
}

#[test]
fn no_mutation_harms_a_run_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let header = unfinished(&folder.path().join("run"));
    let files: Vec<(String, Vec<u8>)> = folder
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .filter(|(name, _)| !name.ends_with(".lock"))
        .collect();
    assert!(files.len() >= 9, "six matrices, hosts, retests, rounds: {files:?}");
    let (mut went_on, mut refused) = (0, 0);
    for mutation in 0..number("FUZZ_RESUMES", RESUMES) {
        let mut rng = ChaCha8Rng::seed_from_u64(mutation | 1 << 61);
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        let spoilt = mutation as usize % files.len();
        for (number, (name, bytes)) in files.iter().enumerate() {
            let bytes = if number == spoilt { mutate(bytes, &mut rng) } else { bytes.clone() };
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let go_on = || -> Result<(), BoxError> {
            let (mut writer, first) = store::resume(&prefix, &header)?;
            assert!(first <= 1, "a length that was never finished");
            let mut kept = 0;
            writer.read_kept(&mut |piece| kept += piece.len())?;
            assert!(kept.is_multiple_of(100), "{kept}");
            (first..3).try_for_each(|index| write_length(&mut writer, index))?;
            writer.close()?;
            drop(writer);
            let set = store::open(&prefix)?;
            assert!(set.is_complete());
            Ok(())
        };
        let start = Instant::now();
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(go_on)) {
            Err(_) => panic!("mutation {mutation} of {} is no error but a panic", files[spoilt].0),
            Ok(Ok(())) => went_on += 1,
            Ok(Err(error)) => {
                let text = error.to_string();
                // The program escapes what it prints; a path that it says is of this test.
                assert!(text.contains("run"), "mutation {mutation} of {}: no file in `{text}`", files[spoilt].0);
                refused += 1;
            }
        }
        assert!(start.elapsed() < MOST_TIME, "mutation {mutation} of {}", files[spoilt].0);
    }
    println!("{went_on} went on, {refused} were refused");
    assert!(went_on > 0 && refused > 0);
}

#[test]
fn no_mutation_harms_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = seeds(folder.path());
    let count = number("FUZZ_PROGRAM", PROGRAM_MUTATIONS);
    for mutation in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(mutation | 1 << 62);
        let seed = &seeds[mutation as usize % seeds.len()];
        fs::write(folder.path().join(seed.name), mutate(&seed.bytes, &mut rng)).unwrap();
        let commands = [
            "info RUN",
            "view RUN",
            "diagnose RUN",
            "convert RUN -o -",
            "cluster RUN --list",
            "compare small RUN",
            "plot RUN --row 0 --column 1 -o p.svg --force",
            "convert RUN -o x.csv --force",
            "topology RUN --format json",
            "info RUN --format json",
        ];
        let command = match seed.kind {
            Kind::Topology => "topology small --topology RUN",
            _ => commands[rng.random_range(0..commands.len())],
        };
        check_program(folder.path(), &command.replace("RUN", seed.name), mutation);
    }
}

/// Runs the program within limits, and looks at how it ends and what it says.
fn check_program(folder: &Path, arguments: &str, mutation: u64) {
    let script = format!("ulimit -v {}; exec \"$0\" {arguments}", MOST_MEMORY / 1024);
    let output = folder.join("output");
    fs::write(&output, "").unwrap();
    let appending = || fs::OpenOptions::new().append(true).open(&output).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_network_analyze")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(appending())
        .stderr(appending())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > MOST_TIME {
            child.kill().unwrap();
            panic!("mutation {mutation}: `{arguments}` hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = fs::read(&output).unwrap();
    let text = String::from_utf8_lossy(&said);
    assert!(matches!(status.code(), Some(0..=3 | 5)), "mutation {mutation}: `{arguments}`: {status}\n{text}");
    let control = text.chars().find(|char| is_hidden(*char) && *char != '\n');
    assert_eq!(control, None, "mutation {mutation}: `{arguments}`\n{text:?}");
    assert!(!text.contains("/.small.") && !text.contains("panicked"), "mutation {mutation}: `{arguments}`\n{text}");
}

//! Files that somebody spoilt, by accident or on purpose: no reader may crash, hang, take much memory or let through what
//! controls a terminal.
//!
//! 20,000 mutations with fixed seeds go through the library's readers in this process, whose memory is limited, and some
//! hundreds through the real program, with limits of its own. FUZZ_MUTATIONS=1000000 tries more, FUZZ_SEED=7 others.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use netmatrix::{
    analysis::{cluster, distribution::Distribution, tally::Tally, topology::Topology},
    plan::{Config, Plan, Sweep},
    record::{
        BoxError, Cell, Header, MemoryRun, Provenance, Run, State, Statistic,
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
            "j.dot",
            Kind::Topology,
            "graph { l1 [label=\"a\\nb\"]; l1 -- {node1 node2}; subgraph cluster_1 { label=x; l1 } }",
        ),
    ]
}

/// Changes some bytes. Texts that a terminal obeys come in often, and numbers that are too large.
fn mutate(bytes: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    const TOKENS: [&[u8]; 14] = [
        b"\x1b[31m",
        b"\x07",
        "\u{202e}".as_bytes(),
        "\u{9b}".as_bytes(),
        b"\r\n",
        b"\0",
        b"inf",
        b"NaN",
        b"-1",
        b"1e308",
        b"[1-65536]",
        b"99999999999999999999",
        b"\xff\xfe",
        b"\"",
    ];
    const NUMBERS: [u32; 8] = [0, 1, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, 0x10_0000, 0x7ff0_0000, 12];
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.random_range(1..4) {
        let place = rng.random_range(0..=bytes.len());
        let behind = (place + rng.random_range(1..64)).min(bytes.len());
        match rng.random_range(0..7) {
            0 if place < bytes.len() => bytes[place] = rng.random(),
            1 if place < bytes.len() => bytes[place] ^= 1 << rng.random_range(0..8),
            2 if place + 4 <= bytes.len() => {
                let place = place / 4 * 4;
                bytes[place..place + 4].copy_from_slice(&NUMBERS[rng.random_range(0..NUMBERS.len())].to_be_bytes());
            }
            3 => drop(bytes.splice(place..place, TOKENS[rng.random_range(0..TOKENS.len())].iter().copied())),
            4 => drop(bytes.drain(place..behind)),
            5 => {
                let copied = bytes[place..behind].to_vec();
                let to = rng.random_range(0..=bytes.len());
                drop(bytes.splice(to..to, copied));
            }
            6 if rng.random_range(0..4) == 0 => bytes.truncate(place),
            _ => {}
        }
    }
    bytes
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

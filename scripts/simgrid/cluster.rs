//! Runs network_test on a simulated cluster: writes SimGrid's files, starts `smpirun`, leaves an ordinary result set.
//!
//! In: a command line. Out: a folder with the platform, the host file, and whatever network_test writes there. It is
//! built and started by `scripts/simgrid/run`, which also builds the library that is simulated.

#[path = "../detector-bench/network/mod.rs"]
#[allow(dead_code, reason = "the bench of the detector draws adaptive routes, too")]
mod network;
#[path = "platform.rs"]
mod platform;
#[path = "routed.rs"]
mod routed;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Parser;
use netmatrix::exit;

use platform::{Fault, Platform, Sizes, Topology};

/// Ranks beyond which the simulator fails: each takes one of the C library's 1,024 keys for thread-local storage.
const MOST_RANKS: usize = 900;

/// Runs network_test on a simulated cluster whose faults are known.
///
/// Everything but the network is real: the program is the one that runs under mpirun, and what it leaves in the folder
/// is an ordinary result set. Time passes in communication only, so that two runs give the same figures.
#[derive(Debug, Parser)]
#[command(
    name = "scripts/simgrid/run",
    max_term_width = 100,
    after_help = "A fault is CABLE:bandwidth=FACTOR,latency=FACTOR. A cable is that of a host or switch towards the core\n\
                  (node017, leaf2, pod1; all of them where there are several), one direction of it (node017.send,\n\
                  node017.receive), or one from a neighbour to the other (switch1/switch2, leaf2/spine1). With topologies\n\
                  that have several ways node003/node017 is the way from one host to another. Example:\n\n  \
                  scripts/simgrid/run --fault node017.send:bandwidth=0.25 -o results/slow -- --schedule disjoint -n 3\n\n\
                  Exit codes: those of network_test; 2 usage, 3 files, 4 the simulator failed."
)]
struct Args {
    /// How the switches are joined
    #[arg(long, value_enum, default_value = "leaf-spine")]
    topology: Topology,

    /// Number of hosts
    #[arg(long, default_value_t = 64, value_name = "N")]
    hosts: usize,

    /// Of leaves and pods: hosts of a leaf switch
    #[arg(long, default_value_t = Sizes::default().leaf, value_name = "N")]
    leaf_hosts: usize,

    /// Of leaves and pods: cables of a leaf switch upwards
    #[arg(long, default_value_t = Sizes::default().spines, value_name = "N")]
    spines: usize,

    /// Of topologies with several ways: bandwidth of a cable between switches over that of a host's
    #[arg(long, default_value_t = Sizes::default().capacity, value_name = "FACTOR")]
    capacity: f64,

    /// Ranks on every host
    #[arg(long, default_value_t = 1, value_name = "N")]
    ranks_per_host: usize,

    /// Clocks of the ranks differ by seconds, and those of odd ranks are fast by so many millionths
    #[arg(long, value_name = "MILLIONTHS")]
    clock_drift: Option<f64>,

    /// A slow cable, or one direction of it; can be given several times
    #[arg(long = "fault", value_name = "CABLE:FACTORS")]
    faults: Vec<Fault>,

    /// Folder for the platform and the results; made if it is not there
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,

    /// Arguments of network_test; its result set is `network` in the folder unless -f says otherwise
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,

    /// The library that is simulated
    #[arg(long, hide = true)]
    library: PathBuf,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (code, message) = match simulate(&args) {
        Ok(code) => return ExitCode::from(code),
        Err(failure) => failure,
    };
    eprintln!("error: {message}");
    ExitCode::from(code)
}

type Failure = (u8, String);

fn simulate(args: &Args) -> Result<u8, Failure> {
    let usage = |message: String| (exit::USAGE, message);
    let ranks = args.hosts * args.ranks_per_host;
    if !(2..=MOST_RANKS).contains(&ranks) {
        return Err(usage(format!("{ranks} ranks cannot be simulated: 2 to {MOST_RANKS} can")));
    }
    let sizes = Sizes { leaf: args.leaf_hosts, spines: args.spines, capacity: args.capacity };
    if sizes.leaf == 0 || sizes.spines == 0 || !(sizes.capacity.is_finite() && sizes.capacity > 0.0) {
        return Err(usage("--leaf-hosts, --spines and --capacity must be above 0".to_owned()));
    }
    let mut platform = Platform::new(args.topology, args.hosts, sizes).map_err(usage)?;
    args.faults.iter().try_for_each(|fault| platform.plant(fault)).map_err(usage)?;
    let write = |name: &str, text: String| {
        let path = args.output.join(name);
        fs::write(&path, text).map_err(|error| (exit::FILES, format!("cannot write `{}`: {error}", path.display())))
    };
    fs::create_dir_all(&args.output)
        .map_err(|error| (exit::FILES, format!("cannot make `{}`: {error}", args.output.display())))?;
    write("platform.xml", platform.xml())?;
    write("hosts.txt", platform.host_file(args.ranks_per_host))?;
    let mut command = smpirun(ranks, &args.output, &args.library, &args.arguments);
    if let Some(drift) = args.clock_drift {
        command.env("SIMULATED_CLOCK_DRIFT", (drift * 1e-6).to_string());
    }
    let status = command
        .status()
        .map_err(|error| (exit::FILES, format!("cannot start smpirun: {error}; install libsimgrid-dev")))?;
    // smpirun hands the first rank's code on; a simulator that fails gives one above 128 or none.
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) if code < 128 => Ok(code),
        _ => Err((exit::INTERNAL, format!("the simulator failed: {status}"))),
    }
}

fn smpirun(ranks: usize, folder: &Path, library: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new("smpirun");
    command
        .current_dir(folder)
        .args(["-np", &ranks.to_string(), "-platform", "platform.xml", "-hostfile", "hosts.txt"])
        // As Open MPI chooses them; the simulator's own default is linear in the number of ranks.
        .arg("--cfg=smpi/coll-selector:ompi")
        // Time passes in communication only: the machine that simulates has no part in the figures.
        .arg("--cfg=smpi/simulate-computation:no")
        // Messages one way take nothing from the other way.
        .arg("--cfg=network/crosstraffic:0")
        // Seconds that a call of MPI_Test takes; the simulator's own 100 us are longer than most exchanges.
        .arg("--cfg=smpi/test:1e-7")
        // KiB. The default of 8 MiB for each rank is far more than any needs.
        .arg("--cfg=contexts/stack-size:512")
        .args(["--cfg=smpi/display-timing:yes", "--log=root.thres:warning"])
        .args(["--log=smpi_utils.thres:info", "--log=smpi_utils.fmt:%m%n"])
        .arg(library)
        .args(arguments);
    command
}

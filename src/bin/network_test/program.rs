//! The story of `network_test`, from its arguments to its exit code.
//!
//! Command line, MPI, hosts, plans; the results' places are checked before anything moves; then each mode is measured
//! over the MPI fabric into its result set. Only the root rank prints, reads and writes.

use std::{
    ffi::OsString,
    io::Write,
    time::{Duration, Instant},
};

use ::mpi::{
    Threading,
    topology::SimpleCommunicator,
    traits::{Communicator, Equivalence, Root},
};
use netmatrix::{
    exit,
    measure::{Ending, Event, MeasureError, Outcome, Stop, StopRequest, measure},
    plan::{Config, Estimate, Plan},
    record::{Header, Provenance, Sink},
    store::{self, SetWriter, StoreError},
    units::{Hosts, hostlist},
};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};

use crate::{
    cli::Args,
    mpi::{MpiFabric, ROOT, hosts, plans_agree},
    progress::Progress,
};

/// Runs the program with what was typed, its own name first. Returns the exit code.
pub fn run(arguments: &[OsString]) -> u8 {
    let start = Instant::now();
    let args = match Args::read(arguments) {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    let config = match args.config() {
        Ok(config) => config,
        Err(error) => return refuse(&clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))),
    };
    // A limit beyond what the clock can count is none.
    let request = StopRequest::with_deadline(config.time_limit.and_then(|limit| start.checked_add(limit)));
    if let Err(error) = listen_for_signals(&request) {
        eprintln!("network_test: cannot listen for signals: {error}");
        return exit::INTERNAL;
    }
    // Only this thread calls MPI, but it is not the only one: the progress bar ticks in one of its own.
    let Some((universe, _)) = ::mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("network_test: MPI is initialised already");
        return exit::INTERNAL;
    };
    end_the_job_on_panic();
    let code = measure_all(&args, &config, &universe.world(), &request);
    drop(universe);
    code
}

/// Prints a usage error or the help once, though every rank has read the same command line. MPI is not running yet, so
/// the launchers' variables tell which rank this is; started by hand there is none, and the message is printed.
fn refuse(error: &clap::Error) -> u8 {
    let variables = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    let rank = variables.into_iter().find_map(|name| std::env::var(name).ok());
    let prints = rank.is_none_or(|rank| rank == "0");
    if prints {
        // A closed pipe is no reason to fail.
        let _ = error.print();
    }
    // A launcher ends a job as soon as one rank fails: it must not be one that has printed nothing.
    if error.use_stderr() && prints { exit::USAGE } else { exit::SUCCESS }
}

/// A rank that panics would leave the others waiting for ever: it says who it is and ends the whole job. In one piece
/// and with a pause, because a launcher may drop what it has not read when the job aborts.
fn end_the_job_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let world = SimpleCommunicator::world();
        let host = ::mpi::environment::processor_name().unwrap_or_default();
        let trace = std::backtrace::Backtrace::capture();
        let message = format!("network_test: rank {} on {host}: {panic}; the job ends\n{trace}\n", world.rank());
        // There is nobody left to tell that this has failed.
        let _ = std::io::stderr().write_all(message.as_bytes());
        std::thread::sleep(Duration::from_millis(300));
        world.abort(i32::from(exit::INTERNAL));
    }));
}

/// Everything between the start and the end of MPI. Returns the exit code, the same on all ranks.
fn measure_all(args: &Args, config: &Config, world: &SimpleCommunicator, request: &StopRequest) -> u8 {
    let me = world.rank() as usize;
    let hosts = hosts(world);
    let plans = match Plan::all(config, &hosts) {
        Ok(plans) => plans,
        Err(error) => {
            if me == ROOT {
                eprintln!("network_test: {error}");
            }
            return exit::USAGE;
        }
    };
    if !plans_agree(world, &plans) {
        if me == ROOT {
            eprintln!("network_test: the ranks do not follow the same plan: start all with the same command line");
        }
        return exit::USAGE;
    }
    if args.dry_run {
        return say(me, &forecast(&plans));
    }
    let mut fabric = match MpiFabric::new(world, hosts.name_of(me), request.clone()) {
        Ok(fabric) => fabric,
        Err(error) => abort(world, &error.into()),
    };
    if args.check_clocks {
        return match fabric.check_clocks() {
            Ok(report) => say(me, &report),
            Err(error) => abort(world, &error.into()),
        };
    }
    if args.inject_damage == Some(me) {
        fabric.damage_payloads();
    }
    if args.inject_silence == Some(me) {
        fabric.fall_silent();
    }
    let mut code = exit::SUCCESS;
    if me == ROOT
        && let Err(error) = plans.iter().try_for_each(|plan| check_results(args, plan))
    {
        eprintln!("network_test: {error}");
        code = exit::FILES;
    }
    code = told_by_root(world, code);
    for plan in &plans {
        // Damaged payloads are a finding, and no reason to leave the other modes out.
        if code == exit::SUCCESS || code == exit::FINDINGS {
            code = code.max(measure_into_files(args, plan, &mut fabric, request, world));
        }
    }
    code
}

/// Prints a text that was asked for, on the root.
fn say(me: usize, text: &str) -> u8 {
    if me == ROOT {
        // A closed pipe is no reason to fail.
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
    exit::SUCCESS
}

/// The signals with which people and batch systems end jobs ask the run to stop at the next round.
fn listen_for_signals(request: &StopRequest) -> std::io::Result<()> {
    for signal in [SIGTERM, SIGINT, SIGUSR1] {
        signal_hook::flag::register(signal, request.signal_flag())?;
    }
    Ok(())
}

/// Measures one mode into its result set.
fn measure_into_files(
    args: &Args,
    plan: &Plan,
    fabric: &mut MpiFabric<'_>,
    request: &StopRequest,
    world: &SimpleCommunicator,
) -> u8 {
    let root = world.rank() as usize == ROOT;
    let opened = root.then(|| open_results(args, plan)).transpose();
    let (code, first) = match &opened {
        Ok(opened) => (exit::SUCCESS, opened.as_ref().map_or(0, |(_, first)| *first as u64)),
        Err(error) => {
            eprintln!("network_test: {error}");
            (exit::FILES, 0)
        }
    };
    let (code, first) = (told_by_root(world, code), told_by_root(world, first) as usize);
    if code != exit::SUCCESS {
        return code;
    }
    let mut writer = opened.ok().flatten().map(|(writer, _)| writer);
    if first == plan.lengths().len() {
        if root && !args.quiet {
            eprintln!("{}: all {first} lengths are in {}_*.nc already", plan.mode, plan.prefix().display());
        }
        return exit::SUCCESS;
    }
    let mut progress = Progress::new(root, args.quiet);
    let mut show = |event: Event<'_>| {
        progress.show(&event);
        if matches!(event, Event::LengthFinished { .. }) && args.inject_panic == Some(world.rank() as usize) {
            panic!("as asked for by --inject-panic");
        }
    };
    let sink = writer.as_mut().map(|writer| writer as &mut dyn Sink);
    match measure(plan, fabric, sink, first, request, &mut show) {
        Ok(Outcome { ending: Ending::Stopped(Stop::Output), .. }) => exit::FILES,
        Ok(Outcome { damaged: 1.., ending }) => {
            if root {
                eprintln!("network_test: {}: payloads arrived damaged, see the cells marked so", plan.mode);
            }
            if ending == Ending::Complete { exit::FINDINGS } else { exit::RESUMABLE }
        }
        Ok(Outcome { ending: Ending::Complete, .. }) => exit::SUCCESS,
        Ok(Outcome { ending: Ending::Stopped(Stop::TimeLimit | Stop::Signal), .. }) => exit::RESUMABLE,
        Err(MeasureError::Sink(error)) => {
            eprintln!("network_test: {error}");
            exit::FILES
        }
        Err(error) => abort(world, &error),
    }
}

/// The root's word, on all ranks. Collective.
fn told_by_root<T: Equivalence>(world: &SimpleCommunicator, mut word: T) -> T {
    world.process_at_rank(ROOT as i32).broadcast_into(&mut word);
    word
}

/// Whether this run goes on with files that are there. Nothing there is a run that has just begun: a job that is queued
/// again and again can have the same command line each time.
fn continues(plan: &Plan) -> bool {
    plan.config.resume && store::exists(&plan.prefix())
}

/// Before anything moves: whether the results can be written, or the existing ones continued.
fn check_results(args: &Args, plan: &Plan) -> Result<(), StoreError> {
    if continues(plan) {
        store::resume(&plan.prefix(), &Header::of(plan, provenance(args))).map(|_| ())
    } else {
        store::check(&plan.prefix(), plan.config.force)
    }
}

/// The root's result set, new or continued, and the number of the first length to measure.
fn open_results(args: &Args, plan: &Plan) -> Result<(SetWriter, usize), StoreError> {
    let header = Header::of(plan, provenance(args));
    if continues(plan) {
        store::resume(&plan.prefix(), &header)
    } else {
        let with_amount = plan.config.precision.is_some();
        Ok((store::create(&plan.prefix(), &header, plan.config.force, with_amount)?, 0))
    }
}

/// Ends the job: the ranks no longer know of each other where they are, so none of them could end by itself.
fn abort(world: &SimpleCommunicator, error: &MeasureError) -> ! {
    // In one piece: all ranks may have something to say.
    let message = format!("network_test: rank {}: {error}\n", world.rank());
    let _ = std::io::stderr().write_all(message.as_bytes());
    world.abort(i32::from(exit::INTERNAL))
}

fn provenance(args: &Args) -> Provenance {
    let library = ::mpi::environment::library_version().unwrap_or_default();
    let environment = |name: &str| std::env::var(name).unwrap_or_default();
    Provenance {
        command: args.command.clone(),
        program_version: concat!("network_test ", env!("CARGO_PKG_VERSION")).to_owned(),
        mpi_library: library.trim_end_matches('\0').lines().next().unwrap_or_default().trim().to_owned(),
        created: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        slurm_job_id: environment("SLURM_JOB_ID"),
        slurm_job_nodelist: environment("SLURM_JOB_NODELIST"),
    }
}

/// What the plans will take, for `--dry-run`.
fn forecast(plans: &[Plan]) -> String {
    let Some(first) = plans.first() else { return String::new() };
    let hosts: &Hosts = &first.hosts;
    let lengths = first.lengths();
    let mut text = format!(
        "hosts     {} ({})\nranks     {}\nlengths   {} ({})\n",
        hosts.count(),
        hostlist::compress(hosts.names()),
        hosts.ranks(),
        lengths.len(),
        first.config.sweep,
    );
    for plan in plans {
        let estimate = Estimate::of(plan);
        text += &format!(
            "\n{} ({}) -> {}_*.nc\n  rounds     {} per length\n  pairs      {} per length\n  exchanges  {}\n  \
             on disk    {}\n  memory     {} per rank\n",
            plan.mode,
            plan.schedule(),
            plan.prefix().display(),
            estimate.rounds,
            estimate.pairs,
            estimate.exchanges,
            estimate.disk.approximate(),
            estimate.memory.approximate(),
        );
    }
    text
}

//! `network_test`: measures every pair of MPI processes and writes matrices of statistics to NetCDF.
//!
//! The story: command line, MPI, hosts, plans; the results' places are checked before anything moves; then each mode is
//! measured over the MPI fabric into its result set. Only the root rank prints, reads and writes.

mod cli;
mod mpi;
mod progress;

use std::process::ExitCode;

use ::mpi::{
    topology::SimpleCommunicator,
    traits::{Communicator, Root},
};
use clap::Parser;
use netmatrix::{
    exit,
    measure::{Ending, Event, MeasureError, Stop, StopRequest, measure},
    plan::{Config, Estimate, Plan},
    record::{Header, Provenance, Sink},
    store,
    units::Hosts,
};

use self::{
    cli::Args,
    mpi::{MpiFabric, ROOT, hosts},
    progress::Progress,
};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    let config = match args.config() {
        Ok(config) => config,
        Err(error) => return refuse(&clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))),
    };
    let Some(universe) = ::mpi::initialize() else {
        eprintln!("network_test: MPI is initialised already");
        return ExitCode::from(exit::INTERNAL);
    };
    end_the_job_on_panic();
    let code = run(&args, &config, &universe.world());
    drop(universe);
    ExitCode::from(code)
}

/// Prints a usage error or the help once, though every rank has read the same command line. MPI is not running yet, so
/// the launchers' variables tell which rank this is; started by hand there is none, and the message is printed.
fn refuse(error: &clap::Error) -> ExitCode {
    let variables = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    let rank = variables.into_iter().find_map(|name| std::env::var(name).ok());
    if rank.is_none_or(|rank| rank == "0") {
        // A closed pipe is no reason to fail.
        let _ = error.print();
    }
    ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::SUCCESS })
}

/// A rank that panics would leave the others waiting for ever: it says who it is and ends the whole job.
fn end_the_job_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        let world = SimpleCommunicator::world();
        let host = ::mpi::environment::processor_name().unwrap_or_default();
        eprintln!("network_test: rank {} on {host} panicked; the job ends", world.rank());
        world.abort(i32::from(exit::INTERNAL));
    }));
}

/// Everything between the start and the end of MPI. Returns the exit code, the same on all ranks.
fn run(args: &Args, config: &Config, world: &SimpleCommunicator) -> u8 {
    let root = world.rank() as usize == ROOT;
    let hosts = hosts(world);
    let plans = match Plan::all(config, &hosts) {
        Ok(plans) => plans,
        Err(error) => {
            if root {
                eprintln!("network_test: {error}");
            }
            return exit::USAGE;
        }
    };
    if args.dry_run {
        if root {
            print!("{}", forecast(&plans));
        }
        return exit::SUCCESS;
    }
    let mut code = exit::SUCCESS;
    if root && let Err(error) = plans.iter().try_for_each(|plan| store::check(&plan.prefix(), config.force)) {
        eprintln!("network_test: {error}");
        code = exit::FILES;
    }
    code = told_by_root(world, code);
    if code != exit::SUCCESS {
        return code;
    }
    let request = StopRequest::default();
    let host = hosts.name_of(world.rank() as usize);
    let mut fabric = match MpiFabric::new(world, host, request.clone()) {
        Ok(fabric) => fabric,
        Err(error) => abort(world, &error.into()),
    };
    for plan in &plans {
        code = measure_into_files(args, plan, &mut fabric, &request, world);
        if code != exit::SUCCESS {
            break;
        }
    }
    code
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
    let mut writer = None;
    let mut code = exit::SUCCESS;
    if root {
        match store::create(&plan.prefix(), &Header::of(plan, provenance()), plan.config.force, false) {
            Ok(created) => writer = Some(created),
            Err(error) => {
                eprintln!("network_test: {error}");
                code = exit::FILES;
            }
        }
    }
    code = told_by_root(world, code);
    if code != exit::SUCCESS {
        return code;
    }
    let mut progress = Progress::new(root, args.quiet);
    let mut show = |event: Event<'_>| {
        progress.show(&event);
        if matches!(event, Event::LengthFinished { .. }) && args.inject_panic == Some(world.rank() as usize) {
            panic!("as asked for by --inject-panic");
        }
    };
    let sink = writer.as_mut().map(|writer| writer as &mut dyn Sink);
    match measure(plan, fabric, sink, 0, request, &mut show) {
        Ok(Ending::Complete) => exit::SUCCESS,
        Ok(Ending::Stopped(Stop::Output)) => exit::FILES,
        Ok(Ending::Stopped(Stop::TimeLimit | Stop::Signal)) => exit::RESUMABLE,
        Err(MeasureError::Sink(error)) => {
            eprintln!("network_test: {error}");
            exit::FILES
        }
        Err(error) => abort(world, &error),
    }
}

/// The root's word, on all ranks. Collective.
fn told_by_root(world: &SimpleCommunicator, mut code: u8) -> u8 {
    world.process_at_rank(ROOT as i32).broadcast_into(&mut code);
    code
}

/// Ends the job: the ranks no longer know of each other where they are, so none of them could end by itself.
fn abort(world: &SimpleCommunicator, error: &MeasureError) -> ! {
    eprintln!("network_test: rank {}: {error}", world.rank());
    world.abort(i32::from(exit::INTERNAL))
}

fn provenance() -> Provenance {
    let library = ::mpi::environment::library_version().unwrap_or_default();
    let environment = |name: &str| std::env::var(name).unwrap_or_default();
    Provenance {
        command: std::env::args().collect::<Vec<_>>().join(" "),
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
        hosts.names().join(", "),
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

//! The story of a run of operations: plan, memory, the file, the tour over MPI, what is said at the end.
//!
//! As for pairs only the root prints, reads and writes; the file is written anew as a whole now and then, so that a job
//! that is killed leaves what it had finished, behind which `--resume` goes on.

use std::{path::Path, time::Duration};

use ::mpi::topology::SimpleCommunicator;
use netmatrix::{
    exit,
    measure::{Stop, StopRequest},
    plan::{
        Config,
        operation::{FEWEST_SAMPLES, Operation, OperationConfig, OperationError, OperationPlan},
    },
    record::{Phase, Provenance, operations::Operations},
    store::{self, Lock, StoreError},
    units::{Bytes, Hosts, Seconds, counted},
};

use crate::{
    about::{other_launcher, provenance},
    cli::Args,
    dry_run, memory,
    mpi::{
        ROOT, all_have, clock_step, largest,
        operations::{Keeper, Tour, TourEnd, TourEvent},
    },
    program::{abort, call_the_roll, print, say, told_by_root},
    watchdog::Watchdog,
};

/// What `--dry-run` says.
pub fn dry_run(config: &Config, typed: &OperationConfig, hosts: &Hosts) -> Result<String, String> {
    let plan = OperationPlan::new(config, typed, hosts).map_err(|error| error.to_string())?;
    let procs: Vec<String> = plan.members.iter().map(|members| members.len().to_string()).collect();
    let cells = plan.cells();
    let fewest = FEWEST_SAMPLES.min(config.iterations as usize);
    let seconds = cells as f64 * (typed.cell_time.as_secs_f64() + config.warmup_time.as_secs_f64());
    let refusal = dry_run::refusal(store::check(&config.prefix, true));
    let mut text = format!(
        "hosts      {}\nranks      {}\nprocesses  {}\noperations {}\nlengths    {}\ncells      {cells}, {fewest} to {} \
         samples each\nprobes     {}\nprograms   {}\nmemory     {} per rank, at most\ntime       about {} for operations, \
         longer where {fewest} samples last longer\nfile       {}{refusal}\n\n",
        hosts.count(),
        hosts.ranks(),
        procs.join(", "),
        plan.operations.len(),
        plan.lengths.len(),
        config.iterations,
        plan.probes.len(),
        plan.programs.len(),
        plan.memory().approximate(),
        humantime::format_duration(Duration::from_secs(seconds.ceil() as u64)),
        store::operations_path(&config.prefix).display(),
    );
    for operation in &plan.operations {
        text += &format!("  {operation}: {}\n", operation.algorithm.meaning());
    }
    plan.probes.iter().for_each(|kind| text += &format!("  {kind}: {}\n", kind.meaning()));
    plan.programs.iter().for_each(|named| text += &format!("  program {}\n", named.name));
    Ok(text)
}

/// Measures. Returns the exit code, the same on all ranks. Collective.
pub fn run(
    args: &Args,
    config: &Config,
    typed: &OperationConfig,
    world: &SimpleCommunicator,
    hosts: &Hosts,
    request: &StopRequest,
    watchdog: &Watchdog,
) -> u8 {
    let me = ::mpi::traits::Communicator::rank(world) as usize;
    if args.dry_run {
        return match self::dry_run(config, typed, hosts) {
            Ok(text) => say(me, &text),
            Err(error) => refuse(me, &error),
        };
    }
    let plan = match OperationPlan::new(config, typed, hosts) {
        Ok(plan) => plan,
        Err(error @ OperationError::TooFewRanks) => return refuse(me, &format!("{error}; {}", other_launcher())),
        Err(error) => return refuse(me, &error.to_string()),
    };
    if !all_have(world, u64::from(plan.digest())) {
        return refuse(
            me,
            "the ranks do not follow the same plan: start all with the same command line, and programs that all hosts see",
        );
    }
    if lacks_memory(world, &plan, me) {
        return exit::USAGE;
    }
    let step = clock_step(world);
    if me == ROOT && !args.quiet && step > 1e-8 {
        print(&format!("network_test: note: MPI's clock advances in steps of {}\n", Seconds(step)));
    }
    let path = store::operations_path(&config.prefix);
    let prepared = (me == ROOT).then(|| prepare(&path, config, &plan, provenance(args, step), hosts.name_of(me)));
    let mut code = exit::SUCCESS;
    if let Some(Err(error)) = &prepared {
        print(&format!("network_test: {error}\n"));
        code = exit::FILES;
    }
    watchdog.watch().queue(Phase::Setup, None);
    code = told_by_root(world, code);
    if code != exit::SUCCESS {
        return code;
    }
    let (lock, mut kept) = match prepared {
        Some(Ok((lock, run))) => (Some(lock), Some(run)),
        _ => (None, None),
    };
    call_the_roll(world, watchdog, lock.as_ref());
    watchdog.know_prefix(&config.prefix);
    let is_complete = told_by_root(world, u8::from(kept.as_ref().is_some_and(|run| run.complete)));
    if is_complete == 1 {
        if me == ROOT && !args.quiet {
            print(&format!("operations: all are in {} already\n", path.display()));
        }
        return exit::SUCCESS;
    }
    let mut tour = match Tour::new(world, &plan, request.clone(), watchdog, args.inject_damage == Some(me)) {
        Ok(tour) => tour,
        Err(error) => abort(world, &error.into()),
    };
    let mut save = |run: &Operations| match store::write_operations(&path, run) {
        Ok(_) => true,
        Err(error) => {
            print(&format!("network_test: {error}\n"));
            false
        }
    };
    let mut shown = None::<Operation>;
    let mut show = |event: TourEvent<'_>| {
        if !args.quiet {
            show(&plan, &mut shown, event);
        }
    };
    let keeper = kept.as_mut().map(|run| Keeper { run, save: &mut save, show: &mut show });
    let end = match tour.run(keeper) {
        Ok(end) => end,
        Err(error) => abort(world, &error.into()),
    };
    let code = match end {
        TourEnd::Complete => exit::SUCCESS,
        TourEnd::Stopped(Stop::Output) => exit::FILES,
        TourEnd::Stopped(Stop::TimeLimit | Stop::Signal) => exit::RESUMABLE,
    };
    let damaged = told_by_root(world, kept.as_ref().map_or(0, Operations::damaged));
    if let Some(run) = &kept {
        say_the_end(args, run, end, damaged, &path);
    }
    if code == exit::SUCCESS && damaged > 0 { exit::FINDINGS } else { code }
}

fn refuse(me: usize, error: &str) -> u8 {
    if me == ROOT {
        print(&format!("network_test: {error}\n"));
    }
    exit::USAGE
}

/// Whether a host lacks memory, which one of its ranks says. Collective.
fn lacks_memory(world: &SimpleCommunicator, plan: &OperationPlan, me: usize) -> bool {
    let here = plan.hosts.ranks_of(plan.hosts.host_of(me)).len() as u64;
    let needed = Bytes(plan.memory().0.saturating_mul(here));
    let available = memory::available().filter(|available| needed > *available);
    let speaker = largest(world, available.map_or(0, |_| me as u64 + 1));
    if let Some(available) = available.filter(|_| speaker == me as u64 + 1) {
        print(&format!(
            "network_test: {}: operations need {} ({}), of which {} are free: use shorter lengths or fewer ranks \
             per host\n",
            plan.hosts.name_of(me),
            needed.approximate(),
            counted(here as usize, "rank"),
            available.approximate(),
        ));
    }
    ::mpi::traits::CommunicatorCollectives::barrier(world);
    speaker > 0
}

/// The root's lock, and what is to be filled: nothing yet, or an earlier run of the same plan.
fn prepare(
    path: &Path,
    config: &Config,
    plan: &OperationPlan,
    provenance: Provenance,
    host: &str,
) -> Result<(Lock, Operations), StoreError> {
    let since = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    let holder = format!("network_test on {host}, process {}, since {since}", std::process::id());
    let lock = Lock::take(&config.prefix, &holder)?;
    let items = plan.items().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let (operations, members) = (plan.operations.clone(), plan.members.clone());
    let fresh = Operations::new(plan.hosts.clone(), operations, members, plan.lengths.clone(), items, provenance);
    if !path.exists() {
        return Ok((lock, fresh));
    }
    if config.resume {
        let mut found = store::read_operations(path)?;
        for (name, expected) in &fresh.plan {
            let stored = found.plan.get(name).cloned().unwrap_or_default();
            if stored != *expected {
                let (item, expected) = (name.clone(), expected.clone());
                return Err(StoreError::Differs { path: path.to_owned(), item, stored, expected });
            }
        }
        if found.hosts != fresh.hosts || found.members != fresh.members {
            let (item, stored, expected) = ("hosts".to_owned(), names(&found.hosts), names(&fresh.hosts));
            return Err(StoreError::Differs { path: path.to_owned(), item, stored, expected });
        }
        found.provenance = fresh.provenance;
        return Ok((lock, found));
    }
    if config.force {
        return Ok((lock, fresh));
    }
    Err(StoreError::Exists { path: path.to_owned() })
}

fn names(hosts: &Hosts) -> String {
    hosts.name_of_every_rank().collect::<Vec<_>>().join(",")
}

/// One line per operation.
fn show(plan: &OperationPlan, shown: &mut Option<Operation>, event: TourEvent<'_>) {
    match event {
        TourEvent::Cells(operation) if *shown == Some(operation) => {}
        TourEvent::Cells(operation) => {
            *shown = Some(operation);
            let number = plan.operations.iter().position(|found| *found == operation).unwrap_or(0) + 1;
            print(&format!("operations: {number}/{} {operation}\n", plan.operations.len()));
        }
        TourEvent::Probe(kind) => print(&format!("operations: probe {kind}\n")),
        TourEvent::Program(name) => print(&format!("operations: program {name}\n")),
    }
}

fn say_the_end(args: &Args, run: &Operations, end: TourEnd, damaged: u64, path: &Path) {
    if damaged > 0 {
        print(&format!(
            "network_test: {} of operations had a wrong result, see `damaged` in the file\n",
            counted(damaged as usize, "sample")
        ));
    }
    if args.quiet {
        return;
    }
    let (cells, path) = (counted(run.cells(), "cell"), path.display());
    let state = match end {
        TourEnd::Complete => "complete".to_owned(),
        TourEnd::Stopped(stop) => format!("{stop}, --resume goes on"),
    };
    print(&format!("operations: {state}: {cells} in {path}\nread them with: network_analyze info {path}\n"));
}

//! The story of `network_test`, from its arguments to its exit code.
//!
//! Command line, MPI, hosts, plans; the results' places are checked before anything moves; then each mode is measured
//! over the MPI fabric into its result set. Only the root rank prints, reads and writes.
//!
//! MPI is asked for `MPI_THREAD_SINGLE`, as a plain C program with `MPI_Init` asks: under Open MPI 4.1 the locks of
//! `MPI_THREAD_FUNNELED` cost 0.17 us of 0.75 us in each exchange. While MPI runs this program starts no thread that
//! could enter MPI: signals set flags in their handlers (no thread of signal-hook's), progress is drawn by the thread
//! that measures, and no parallel iterator runs on a rank that measures. What the two levels differ in is that below
//! `MPI_THREAD_FUNNELED` the MPI library may call routines of C that are not safe among threads (MPI 4.1, 11.6.2,
//! advice to implementors). A thread that calls nothing but the kernel, or routines that the C library makes safe, so
//! does no harm; none may ever call MPI, or share memory that MPI is using.

use std::{
    ffi::OsString,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use ::mpi::{
    Threading,
    topology::SimpleCommunicator,
    traits::{Communicator, CommunicatorCollectives, Equivalence, Root},
};
use clap::{CommandFactory, ValueEnum};
use netmatrix::{
    exit,
    measure::{Ending, Event, MeasureError, Outcome, Stop, StopRequest, measure},
    plan::{Config, ConfigError, Plan, operation::OperationConfig},
    record::{Avoided, Header, Phase, Run, Sink, State},
    store::{self, Lock, SetWriter, StoreError},
    units::{Hosts, Seconds},
};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};

use crate::{
    about::{other_launcher, provenance},
    cli::Args,
    dry_run, memory,
    mpi::{MpiFabric, ROOT, called_alike, hosts, largest, plans_agree, spread},
    operations,
    pages::{self, What, completions, pages},
    progress::Progress,
    refusal,
    watchdog::{Roll, Watchdog},
};

/// Runs the program with what was typed, its own name first. Returns the exit code.
pub fn run(arguments: &[OsString]) -> u8 {
    let start = Instant::now();
    let args = match Args::read(arguments) {
        Ok(args) => args,
        Err(error) => return refuse(error),
    };
    let config = match args.config() {
        Ok(config) => config,
        Err(error) => return refuse(clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))),
    };
    let typed = match args.operations() {
        Ok(typed) => typed,
        Err(error) => return refuse(clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))),
    };
    if let [what, folder] = &args.generate[..] {
        return generate(what, Path::new(folder));
    }
    if let Some(hosts) = args.planned_hosts() {
        // On a login node: no MPI is there, and none is needed.
        if let Some(typed) = &typed {
            return match operations::dry_run(&config, typed, &hosts) {
                Ok(text) => say(ROOT, &text),
                Err(error) => {
                    eprintln!("network_test: {error}");
                    exit::USAGE
                }
            };
        }
        return plan_without_mpi(&args, &config, &hosts);
    }
    // A limit beyond what the clock can count is none.
    let request = StopRequest::with_deadline(config.time_limit.and_then(|limit| start.checked_add(limit)));
    if let Err(error) = listen_for_signals(&request) {
        print(&format!("network_test: cannot listen for signals: {error}\n"));
        return exit::INTERNAL;
    }
    let Some((universe, _)) = ::mpi::initialize_with_threading(Threading::Single) else {
        print("network_test: MPI is initialised already\n");
        return exit::INTERNAL;
    };
    end_the_job_on_panic();
    let world = universe.world();
    let (me, ranks) = (world.rank() as usize, world.size() as usize);
    let watchdog = Watchdog::new(me, ranks, config.timeout, &config.prefix, request.clone());
    if !crate::SIMULATED
        && let Err(error) = watchdog.start()
    {
        print(&format!("network_test: rank {me}: nobody will notice if it is stuck: {error}\n"));
    }
    let code = measure_all(&args, &config, typed.as_ref(), &world, &request, &watchdog);
    watchdog.watch().enter(Phase::Setup, None);
    drop(universe);
    watchdog.watch().rest();
    code
}

/// Writes manual pages or completions.
fn generate(what: &str, folder: &Path) -> u8 {
    let files = match What::from_str(what, false) {
        Ok(What::Man) => pages(Args::command()),
        Ok(What::Completions) => Ok(completions(Args::command())),
        _ => {
            eprintln!("network_test: --generate {what}: write man or completions");
            return exit::USAGE;
        }
    };
    let write = |files: Vec<pages::File>| {
        std::fs::create_dir_all(folder)?;
        files.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    };
    match files.and_then(write) {
        Ok(()) => exit::SUCCESS,
        Err(error) => {
            eprintln!("network_test: --generate: `{}`: {error}", folder.display());
            exit::FILES
        }
    }
}

/// What a run on these hosts would take, without starting MPI.
fn plan_without_mpi(args: &Args, config: &Config, hosts: &Hosts) -> u8 {
    match Plan::all(config, hosts) {
        Ok(plans) => {
            warn(args, config, 0.0, ROOT);
            say(ROOT, &dry_run::report(&plans, &args.network()))
        }
        Err(error) => {
            eprintln!("network_test: {error}");
            exit::USAGE
        }
    }
}

/// Prints a usage error or the help once, though every rank has read the same command line. MPI is not running yet, so
/// the launchers' variables tell which rank this is; started by hand there is none, and the message is printed.
fn refuse(error: clap::Error) -> u8 {
    let variables = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    let rank = variables.into_iter().find_map(|name| std::env::var(name).ok());
    let prints = rank.is_none_or(|rank| rank == "0");
    // A launcher ends a job as soon as one rank fails: it must not be one that has printed nothing.
    let code = if error.use_stderr() && prints { exit::USAGE } else { exit::SUCCESS };
    if prints {
        refusal::print(Args::command(), error);
    }
    code
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
fn measure_all(
    args: &Args,
    config: &Config,
    typed: Option<&OperationConfig>,
    world: &SimpleCommunicator,
    request: &StopRequest,
    watchdog: &Watchdog,
) -> u8 {
    let me = world.rank() as usize;
    watchdog.watch().enter(Phase::Setup, None);
    let hosts = hosts(world);
    watchdog.know_hosts(&hosts);
    if let Some(typed) = typed {
        return operations::run(args, config, typed, world, &hosts, request, watchdog);
    }
    let plans = match Plan::all(config, &hosts) {
        Ok(plans) => plans,
        Err(error) => {
            let alone = matches!(error, ConfigError::TooFewRanks { .. });
            let hint = if alone { format!("; {}", other_launcher()) } else { String::new() };
            if me == ROOT {
                print(&format!("network_test: {error}{hint}\n"));
            }
            return exit::USAGE;
        }
    };
    if !plans_agree(world, &plans) {
        if me == ROOT {
            print("network_test: the ranks do not follow the same plan: start all with the same command line\n");
        }
        return exit::USAGE;
    }
    if let (Some(rank), true) = (called_alike(world, &hosts), me == ROOT && !args.quiet) {
        print(&format!(
            "network_test: note: several hosts seem to be called {}: their ranks share no memory, but count as one host; give \
             containers names of their own\n",
            hosts.name_of(rank)
        ));
    }
    watchdog.watch().rest();
    if args.dry_run {
        warn(args, config, 0.0, me);
        return say(me, &dry_run::report(&plans, &args.network()));
    }
    if let Err(code) = check_memory(world, &plans) {
        return code;
    }
    let mut fabric = match MpiFabric::new(world, hosts.name_of(me), request.clone(), watchdog) {
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
    warn(args, config, fabric.clock_step(), me);
    let step = fabric.clock_step();
    let lock = (me == ROOT).then(|| lock_results(args, config, &plans, hosts.name_of(me), step)).transpose();
    let mut code = exit::SUCCESS;
    if let Err(error) = &lock {
        print(&format!("network_test: {error}\n"));
        code = exit::FILES;
    }
    watchdog.watch().queue(Phase::Setup, None);
    code = told_by_root(world, code);
    if code == exit::SUCCESS {
        call_the_roll(world, watchdog, lock.as_ref().ok().and_then(Option::as_ref));
    }
    let mut progress = Progress::new(me == ROOT, args.quiet, &plans);
    for plan in &plans {
        // Damaged payloads are a finding, and no reason to leave the other modes out.
        if code == exit::SUCCESS || code == exit::FINDINGS {
            code = code.max(measure_into_files(args, plan, &mut fabric, request, world, watchdog, &mut progress));
        }
    }
    code
}

/// Refuses what a host has no memory for, before any of it is touched: touched memory that is not there ends in the
/// kernel's choice of a victim, not in an error. Collective.
fn check_memory(world: &SimpleCommunicator, plans: &[Plan]) -> Result<(), u8> {
    let me = world.rank() as usize;
    let lacking = memory::lacking(plans, me, memory::available());
    // The last rank that lacks memory speaks for all.
    let speaker = largest(world, lacking.as_ref().map_or(0, |_| me as u64 + 1));
    if let Some(text) = lacking.filter(|_| speaker == me as u64 + 1) {
        print(&format!("network_test: {text}\n"));
    }
    world.barrier();
    if speaker > 0 { Err(exit::USAGE) } else { Ok(()) }
}

/// Says on the root what the results will not be, though the command line may suggest it.
fn warn(args: &Args, config: &Config, clock_step: f64, me: usize) {
    if me != ROOT || args.quiet {
        return;
    }
    let mut notes = config.notes();
    // A hundredth of a microsecond-long message.
    if clock_step > 1e-8 {
        notes.push(format!(
            "MPI's clock advances in steps of {}: cells below 100 of them are marked",
            Seconds(clock_step)
        ));
    }
    for note in notes {
        print(&format!("network_test: note: {note}\n"));
    }
}

/// Keeps all others from writing to the results, and checks that they can be written, or continued.
fn lock_results(args: &Args, config: &Config, plans: &[Plan], host: &str, clock_step: f64) -> Result<Lock, StoreError> {
    let since = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    let holder = format!("network_test on {host}, process {}, since {since}", std::process::id());
    let lock = Lock::take(&config.prefix, &holder)?;
    plans.iter().try_for_each(|plan| check_results(args, plan, clock_step))?;
    Ok(lock)
}

/// Lets the watchdogs of all ranks see each other in the lock's file, if all hosts share its folder. Collective.
pub fn call_the_roll(world: &SimpleCommunicator, watchdog: &Watchdog, lock: Option<&Lock>) {
    let path = told_text(world, lock.map(|lock| lock.path().to_string_lossy().into_owned()).unwrap_or_default());
    let roll = Roll::new(path.into(), world.rank() as usize, world.size() as usize);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut mark = (now.as_nanos() as u64) | 1;
    if lock.is_some() && roll.begin(mark).is_err() {
        mark = 0;
    }
    let mark = told_by_root(world, mark);
    let seen = mark != 0 && roll.is_marked(mark);
    if largest(world, u64::from(!seen)) == 0 {
        watchdog.know_roll(roll);
    }
    watchdog.watch().rest();
}

/// The root's text, on all ranks. Collective.
fn told_text(world: &SimpleCommunicator, text: String) -> String {
    let mut bytes = text.into_bytes();
    spread(world, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What this run leaves out because it was stuck in it before. Collective.
fn what_was_stuck(args: &Args, plan: &Plan, world: &SimpleCommunicator) -> Avoided {
    let root = world.rank() as usize == ROOT;
    let mut text = String::new();
    if root && continues(plan) && !args.retry_stuck {
        // A file that cannot be read is no reason not to measure: what is stuck will be found again.
        text = store::read_stuck(&plan.prefix()).map(|stuck| store::stuck_text(&stuck)).unwrap_or_default();
    }
    let avoided = store::parse_stuck(&told_text(world, text)).avoided();
    if root && !avoided.is_empty() && !args.quiet {
        let path = store::stuck_path(&plan.prefix());
        print(&format!(
            "{}: what was stuck before is left out ({}); --retry-stuck tries it again\n",
            plan.mode,
            path.display()
        ));
    }
    avoided
}

/// In one piece; where stderr is closed there is nobody to read it.
pub fn print(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints a text that was asked for, on the root.
pub fn say(me: usize, text: &str) -> u8 {
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
    watchdog: &Watchdog,
    progress: &mut Progress,
) -> u8 {
    let root = world.rank() as usize == ROOT;
    watchdog.know_prefix(&plan.prefix());
    fabric.avoid(what_was_stuck(args, plan, world));
    watchdog.watch().rest();
    let opened = root.then(|| open_results(args, plan, fabric.clock_step())).transpose();
    let (code, first) = match &opened {
        Ok(opened) => (exit::SUCCESS, opened.as_ref().map_or(0, |(_, first)| *first as u64)),
        Err(error) => {
            print(&format!("network_test: {error}\n"));
            (exit::FILES, 0)
        }
    };
    watchdog.watch().queue(Phase::Setup, None);
    let (code, first) = (told_by_root(world, code), told_by_root(world, first) as usize);
    // Of the lengths that are there already: damage is a finding of the whole run.
    let damaged_before = told_by_root(world, u8::from(root && first > 0 && has_damage(plan)));
    watchdog.watch().rest();
    if code != exit::SUCCESS {
        return code;
    }
    let mut writer = opened.ok().flatten().map(|(writer, _)| writer);
    if first == plan.lengths().len() {
        if root && !args.quiet {
            let all = if first == 1 { "its only length is".to_owned() } else { format!("all {first} lengths are") };
            print(&format!("{}: {all} in {}_*.nc already\n", plan.mode, plan.prefix().display()));
        }
        return if damaged_before > 0 { exit::FINDINGS } else { exit::SUCCESS };
    }
    let mut show = |event: Event<'_>| {
        progress.show(&event);
        if matches!(event, Event::LengthFinished { .. }) && args.inject_panic == Some(world.rank() as usize) {
            panic!("as asked for by --inject-panic");
        }
    };
    let sink = writer.as_mut().map(|writer| writer as &mut dyn Sink);
    match measure(plan, fabric, sink, first, request, &mut show) {
        Ok(Outcome { ending: Ending::Stopped(Stop::Output), .. }) => exit::FILES,
        Ok(Outcome { damaged, ending }) if damaged + u64::from(damaged_before) > 0 => {
            if root {
                print(&format!("network_test: {}: payloads arrived damaged, see the cells marked so\n", plan.mode));
            }
            if ending == Ending::Complete { exit::FINDINGS } else { exit::RESUMABLE }
        }
        Ok(Outcome { ending: Ending::Complete, .. }) => exit::SUCCESS,
        Ok(Outcome { ending: Ending::Stopped(Stop::TimeLimit | Stop::Signal), .. }) => exit::RESUMABLE,
        Err(MeasureError::Sink(error)) => {
            print(&format!("network_test: {error}\n"));
            exit::FILES
        }
        Err(error) => abort(world, &error),
    }
}

/// Whether payloads of the lengths that are in the files arrived damaged.
fn has_damage(plan: &Plan) -> bool {
    let Ok(run) = store::open(&plan.prefix()) else { return false };
    let ranks = run.ranks();
    let mut states = vec![State::Measured; ranks];
    let mut is_damaged = |index: usize, row: usize| {
        run.read_states(index, row..row + 1, &mut states).is_ok() && states.contains(&State::Damaged)
    };
    plan.config.verify && (0..run.lengths().len()).any(|index| (0..ranks).any(|row| is_damaged(index, row)))
}

/// The root's word, on all ranks. Collective.
pub fn told_by_root<T: Equivalence>(world: &SimpleCommunicator, mut word: T) -> T {
    world.process_at_rank(ROOT as i32).broadcast_into(&mut word);
    word
}

/// Whether this run goes on with files that are there. Nothing there is a run that has just begun: a job that is queued
/// again and again can have the same command line each time.
fn continues(plan: &Plan) -> bool {
    plan.config.resume && store::exists(&plan.prefix())
}

/// Before anything moves: whether the results can be written, or the existing ones continued.
fn check_results(args: &Args, plan: &Plan, clock_step: f64) -> Result<(), StoreError> {
    if continues(plan) {
        store::resume(&plan.prefix(), &Header::of(plan, provenance(args, clock_step))).map(|_| ())
    } else {
        store::check(&plan.prefix(), plan.config.force)
    }
}

/// The root's result set, new or continued, and the number of the first length to measure.
fn open_results(args: &Args, plan: &Plan, clock_step: f64) -> Result<(SetWriter, usize), StoreError> {
    let header = Header::of(plan, provenance(args, clock_step));
    if continues(plan) {
        store::resume(&plan.prefix(), &header)
    } else {
        let with_amount = plan.config.precision.is_some();
        let writer = match plan.partners() {
            Some(partners) => store::create_sampled(&plan.prefix(), &header, &partners, plan.config.force, with_amount),
            None => store::create(&plan.prefix(), &header, plan.config.force, with_amount),
        };
        Ok((writer?, 0))
    }
}

/// Ends the job: the ranks no longer know of each other where they are, so none of them could end by itself.
pub fn abort(world: &SimpleCommunicator, error: &MeasureError) -> ! {
    // In one piece: all ranks may have something to say.
    let message = format!("network_test: rank {}: {error}\n", world.rank());
    let _ = std::io::stderr().write_all(message.as_bytes());
    world.abort(i32::from(exit::INTERNAL))
}

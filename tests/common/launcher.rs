//! The one place where tests start MPI programs.
//!
//! In: a program, a number of ranks, arguments, a time limit. Out: an [`Outcome`]: exit code, output, duration. MPI is
//! started in a child process, never in the test itself, which may do so only once. Nothing is skipped: a launcher that
//! is missing is a panic that says what to install. What is known about launchers comes from [`super::launchers`].
//!
//! Jobs of one test process run one after the other, because ranks that wait for a message keep a core busy; where the MPI
//! library lets them hand it on, side by side.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    os::unix::{fs::FileExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, kill_process, kill_process_group};

use super::launchers::Section;

pub use rustix::process::Signal;

/// Time that a job has unless told otherwise. Far beyond what a healthy job takes on two busy cores.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(120);

/// What a launcher that was told to end may take before it is killed: it has ranks to end itself.
const GRACE: Duration = Duration::from_secs(3);

/// How often a running job is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Who shares the machine.
static MACHINE: RwLock<()> = RwLock::new(());

/// How the ranks of one MPI library are started.
#[derive(Clone, Copy, Debug)]
pub struct Launcher {
    library: &'static Section,
}

impl Launcher {
    /// The launcher of the MPI library that `program` is linked with. Under another one every rank would believe to be
    /// alone.
    ///
    /// # Panics
    /// If the program is linked with none that is known.
    pub fn of(program: &Path) -> Self {
        let ldd =
            Command::new("ldd").arg(program).output().expect("ldd, which comes with the C library, can be started");
        let libraries = String::from_utf8_lossy(&ldd.stdout);
        let library = Section::library_in(&libraries).unwrap_or_else(|| {
            panic!(
                "{} is not linked with an MPI library that scripts/lib/launchers.ini knows:\n{libraries}",
                program.display()
            )
        });
        Self { library }
    }

    /// A launcher with everything that comes before the program.
    ///
    /// # Panics
    /// If it is not on PATH: a test that cannot start its ranks has not passed.
    pub fn command(self, ranks: usize) -> Command {
        let (launcher, name) = self.library.launcher().unwrap_or_else(|| {
            panic!("no command on PATH is the launcher of {}: install it (scripts/test.sh does)", self.library.name)
        });
        let mut command = Command::new(name);
        command.args(["here", "root", "crowd", "bind", "ranks"].into_iter().flat_map(|key| launcher.words(key)));
        let environment = self.library.words("yield").filter_map(|setting| setting.split_once('='));
        command.arg(ranks.to_string()).envs(environment);
        command
    }

    /// Whether ranks that wait hand their core to others.
    fn yields(self) -> bool {
        self.library.words("yield").next().is_some()
    }
}

/// A job that can be started: ranks of one program, or a program that starts ranks itself.
#[derive(Clone, Debug)]
pub struct Job {
    /// None: the program needs none.
    launcher: Option<(Launcher, usize)>,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    limit: Duration,
    company: Company,
}

/// Which jobs of the same test process may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// Any.
    Any,
    /// Those that share the machine, too.
    Sharing,
    /// None.
    Alone,
}

impl Job {
    /// `ranks` processes of `program`, under the launcher of the MPI it is linked with.
    pub fn new(program: impl AsRef<Path>, ranks: usize) -> Self {
        Self::under(Launcher::of(program.as_ref()), program, ranks)
    }

    /// `ranks` processes of a program that need not be linked with any MPI.
    pub fn under(launcher: Launcher, program: impl AsRef<Path>, ranks: usize) -> Self {
        let company = if launcher.yields() { Company::Sharing } else { Company::Alone };
        Self { launcher: Some((launcher, ranks)), company, ..Self::alone(program) }
    }

    /// A program that starts ranks itself, or none.
    pub fn alone(program: impl AsRef<Path>) -> Self {
        Self {
            launcher: None,
            program: program.as_ref().to_owned(),
            arguments: vec![],
            environment: vec![],
            directory: None,
            limit: DEFAULT_LIMIT,
            company: Company::Alone,
        }
    }

    /// Adds arguments for the program.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable of the launcher; on one machine the ranks inherit it.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Starts in `directory`.
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Ends the job after `limit`, see [`Outcome::timed_out`].
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Starts it without waiting for the end of other jobs. For programs that start no ranks.
    pub fn beside_others(mut self) -> Self {
        self.company = Company::Any;
        self
    }

    /// Lets it run at the same time as others that do so. For ranks that yield, and tests that measure no time.
    pub fn sharing(mut self) -> Self {
        self.company = Company::Sharing;
        self
    }

    /// Runs the job to its end, or to the end of its time.
    pub fn run(self) -> Outcome {
        self.start().wait()
    }

    /// Starts the job and leaves it running, so that the test can meddle with it.
    pub fn start(self) -> Running {
        let turn = match self.company {
            Company::Any => Turn::Any,
            Company::Sharing => Turn::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner)),
            Company::Alone => Turn::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner)),
        };
        // Files rather than pipes: a rank that outlives its launcher would hold a pipe open, and the test with it.
        let [stdout, stderr] = [(), ()].map(|()| tempfile::tempfile().expect("a temporary file can be made"));
        let mut command = match self.launcher {
            Some((launcher, ranks)) => {
                let mut command = launcher.command(ranks);
                command.arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        command.args(&self.arguments);
        command.envs(self.environment).stdin(Stdio::null()).stdout(copy(&stdout)).stderr(copy(&stderr));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        // A group of its own, so that launcher and ranks can be ended without ending the test.
        let child =
            command.process_group(0).spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Running { child, stdout, stderr, started: Instant::now(), limit: self.limit, ended: None, _turn: turn }
    }
}

fn copy(file: &File) -> File {
    file.try_clone().expect("an open file can be cloned")
}

/// A job under way. Dropped, it is ended.
pub struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    started: Instant,
    limit: Duration,
    ended: Option<ExitStatus>,
    _turn: Turn,
}

/// Held while a job runs.
#[expect(dead_code, reason = "guards are there to be dropped")]
enum Turn {
    Any,
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

/// What became of a job.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The launcher's exit code; None if the launcher itself was killed, or the job ended because its time was up: then
    /// MPICH's launcher ends with 0 at times, as if the job had.
    ///
    /// If all ranks end with the same code, this is it. If not, Open MPI gives one of those that are not 0, MPICH the
    /// bitwise or of all. A rank killed by signal s gives 128 + s under Open MPI and s under MPICH.
    pub code: Option<i32>,
    /// What the ranks have printed. MPICH's launcher adds its own complaint about a rank that was killed.
    pub stdout: String,
    /// What the ranks have complained about. Open MPI's launcher adds its own complaint about any code but 0.
    pub stderr: String,
    /// From the start of the launcher to its end.
    pub duration: Duration,
    /// The job was ended because its time was up.
    pub timed_out: bool,
}

impl Running {
    /// Sends `signal` to the launcher, which hands SIGUSR1 and SIGTERM on to the ranks.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("a running launcher can be signalled");
    }

    /// Kills launcher and ranks at once, as a node does that loses its power.
    pub fn kill(mut self) {
        let family = Process::descendants(self.pid());
        // A process that has ended meanwhile is as dead as it can be.
        let _ = self.child.kill();
        for process in family.into_iter().filter(Process::is_alive) {
            let _ = kill_process(process.pid, Signal::KILL);
        }
        self.wait_for(GRACE);
    }

    /// Sends `signal` to one of the processes that run `program`, in the order of their numbers.
    pub fn signal_one(&self, program: &Path, place: usize, signal: Signal) {
        let runs = |process: &Process| {
            let running = fs::read_link(format!("/proc/{}/exe", process.pid.as_raw_nonzero()));
            running.is_ok_and(|running| running == program)
        };
        let mut ranks: Vec<_> =
            Process::descendants(self.pid()).into_iter().filter(runs).map(|rank| rank.pid).collect();
        ranks.sort_by_key(|pid| pid.as_raw_nonzero());
        kill_process(ranks[place], signal).expect("a running rank can be signalled");
    }

    /// What the ranks have printed so far.
    pub fn stdout(&self) -> String {
        content(&self.stdout)
    }

    /// What the ranks have complained about so far.
    pub fn stderr(&self) -> String {
        content(&self.stderr)
    }

    /// Waits for the end of the job, or of its time.
    pub fn wait(mut self) -> Outcome {
        let left = self.limit.saturating_sub(self.started.elapsed());
        let in_time = self.wait_for(left);
        if !in_time {
            self.end();
        }
        Outcome {
            code: self.ended.filter(|_| in_time).and_then(|status| status.code()),
            stdout: self.stdout(),
            stderr: self.stderr(),
            duration: self.started.elapsed(),
            timed_out: !in_time,
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// True if the launcher has ended within `time`.
    fn wait_for(&mut self, time: Duration) -> bool {
        let start = Instant::now();
        while self.ended.is_none() {
            self.ended = self.child.try_wait().expect("an own child can be waited for");
            if self.ended.is_none() {
                if start.elapsed() >= time {
                    return false;
                }
                thread::sleep(POLL);
            }
        }
        true
    }

    /// Ends launcher and ranks. Politely first: Open MPI and MPICH put every rank into a process group of its own, so
    /// that only the launcher can end them all. Whatever is left then, is killed one by one.
    fn end(&mut self) {
        let family = Process::descendants(self.pid());
        for (signal, time) in [(Signal::TERM, GRACE), (Signal::KILL, GRACE)] {
            // No group any more: it has ended by itself meanwhile.
            let _ = kill_process_group(self.pid(), signal);
            if self.wait_for(time) {
                break;
            }
        }
        for process in family.into_iter().filter(Process::is_alive) {
            let _ = kill_process(process.pid, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.end();
        }
    }
}

/// What is in a file that the job may be writing to: read without moving the place where it writes.
fn content(file: &File) -> String {
    let mut bytes = vec![];
    let mut part = [0; 4096];
    loop {
        match file.read_at(&mut part, bytes.len() as u64).expect("a temporary file can be read") {
            0 => return String::from_utf8_lossy(&bytes).into_owned(),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
}

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: i32,
    /// Clock ticks since boot.
    started: u64,
}

impl Process {
    /// From Linux's /proc.
    fn of(pid: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name, in parentheses, may contain anything. Fields 4 and 22 of proc(5) are the 2nd and 20th behind it.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        Some(Self { pid, parent, started: fields.nth(17)?.parse().ok()? })
    }

    fn is_alive(&self) -> bool {
        // A process whose parent has died gets another one.
        Self::of(self.pid).is_some_and(|now| now.started == self.started)
    }

    /// Children of `root`, their children and so on.
    fn descendants(root: Pid) -> Vec<Self> {
        let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = numbers.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        let all: Vec<Self> = pids.filter_map(Self::of).collect();
        let mut family: Vec<Self> = vec![];
        let mut generation = vec![root];
        while !generation.is_empty() {
            let is_child = |process: &&Self| generation.iter().any(|pid| pid.as_raw_nonzero().get() == process.parent);
            let children: Vec<Self> = all.iter().filter(is_child).copied().collect();
            generation = children.iter().map(|child| child.pid).collect();
            family.extend(children);
        }
        family
    }
}

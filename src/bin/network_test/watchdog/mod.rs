//! Nobody waits for ever: a thread of every rank that notices when the rank waits for too long, says for whom, and ends
//! the job.
//!
//! In: what the measuring thread notes on its page ([`Watch`]), and what the other ranks' watchdogs show on the roll.
//! Out: one line on stderr and one in `<prefix>_stuck.txt` for each rank that waits; then the rank ends with 75, and
//! the launcher ends the others: `mpirun` and `mpiexec` end with that code. What is in the files is finished and stays.
//!
//! * A rank that waits for the very rank that it names may do so for `--timeout`, or until that rank is silent.
//! * A rank that waits for others to finish their work (its turn, a barrier) may do so for as long as anybody moves.
//!   That needs the roll; where the hosts share no folder, the time limit is all that ends such a wait.
//! * Whoever sees the alarm while it waits says so too: all waits of a job stand in one file.
//! * A wish to stop (a signal, `--time-limit`) has to be granted within [`GRACE`].
//!
//! The thread calls no MPI and touches no memory that MPI uses, so that MPI may be initialised for a single thread: it
//! sleeps, reads atomics, and reads and writes a few bytes of a file. It hands no large memory back to the system,
//! which MPI libraries intercept. It wakes up often enough to be exact to a twentieth of the timeout, and costs some
//! microseconds each time, on any core. A process that was suspended has not waited: time is counted in steps.

mod arrivals;
mod page;
mod roll;

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

use netmatrix::{
    exit,
    measure::StopRequest,
    record::{Phase, Wait, WaitOutcome},
    store::{self, append_stuck, read_stuck, stuck_line},
    units::{Hosts, Rank, counted},
};

pub use self::{
    arrivals::Arrivals,
    page::{Noted, Watch},
    roll::Roll,
};
use self::{page::Kind, roll::Seen};

/// Time in which a run ends once it was asked to. Slurm kills 30 s (its KillWait) after it has asked.
const GRACE: Duration = Duration::from_secs(10);

/// A rank is not taken for dead earlier than this, unless another one needs it.
const SURE: Duration = Duration::from_secs(5);

/// Time that a launcher gets to read what a rank has printed before the rank ends.
const TO_BE_READ: Duration = Duration::from_millis(300);

/// The roll is opened at most this often by all ranks together, in a second: what any file server stands.
const LOOKS_PER_SECOND: u32 = 500;

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    timeout: Duration,
    /// Time between two looks at the roll.
    look: Duration,
}

impl Limits {
    fn new(timeout: Duration, ranks: usize) -> Self {
        let fair = Duration::from_secs(ranks as u64) / LOOKS_PER_SECOND;
        Self { timeout, look: (timeout / 10).clamp(Duration::from_millis(200), Duration::from_secs(2)).max(fair) }
    }

    /// Time between two looks at the page.
    fn tick(self) -> Duration {
        (self.timeout / 20).clamp(Duration::from_millis(20), Duration::from_millis(500))
    }

    /// How long a leader waits for answers before it gives up the pair: long enough to know whether the other's process
    /// is alive.
    fn handshake(self) -> Duration {
        self.timeout + 3 * self.look
    }

    /// How long a rank may be silent before it is given up although nobody needs it yet: a busy machine may keep a
    /// thread waiting for seconds.
    fn sure(self) -> Duration {
        self.timeout.max(SURE) + 3 * self.look
    }

    /// Whether a rank that has waited so long hears that another one has found the job stuck.
    fn joins(self, noted: &Noted, waited: Duration, seen: Option<&Seen>) -> bool {
        noted.wait.is_some() && waited >= 2 * self.look && seen.is_some_and(Seen::is_alarmed)
    }

    /// The ranks that are silent, if a rank that has waited so long waits in vain.
    fn in_vain(self, noted: &Noted, waited: Duration, seen: Option<&Seen>) -> Option<Vec<Rank>> {
        let (_, kind) = noted.wait?;
        let silent = seen.map(|seen| seen.silent(self.timeout)).unwrap_or_default();
        let looked = waited >= 2 * self.look;
        let allowed = self.timeout + noted.slack;
        let other_is_silent = looked && noted.others.iter().any(|other| silent.contains(other));
        let in_vain = match kind {
            Kind::Direct => {
                // Somebody seems to be silent: a moment later it is known who.
                let settles = silent.is_empty() && seen.is_some_and(|seen| !seen.silent(2 * self.look).is_empty());
                waited >= allowed + if settles { 4 * self.look } else { Duration::ZERO } || other_is_silent
            }
            Kind::Bounded => {
                let quiet = seen.map_or(Duration::ZERO, Seen::quiet).min(waited);
                let nobody_moves = quiet >= self.handshake() + 2 * self.look + noted.slack;
                waited >= 3 * self.handshake() + noted.slack || other_is_silent || nobody_moves
            }
            Kind::Queue => seen.is_some_and(|seen| {
                let quiet = seen.quiet().min(waited);
                !seen.silent(self.sure()).is_empty()
                    || quiet >= allowed
                    || (!silent.is_empty() && quiet >= 2 * self.look)
            }),
        };
        in_vain.then_some(silent)
    }
}

/// What the measuring thread and the watchdog share besides the page.
#[derive(Debug)]
struct Shared {
    me: Rank,
    limits: Limits,
    request: StopRequest,
    watch: Watch,
    known: Mutex<Known>,
}

/// What becomes known while the program starts.
#[derive(Debug)]
struct Known {
    hosts: Option<Hosts>,
    prefix: PathBuf,
    roll: Option<Roll>,
}

/// The measuring thread's end.
#[derive(Clone, Debug)]
pub struct Watchdog(Arc<Shared>);

impl Watchdog {
    /// For rank `me` of `ranks`, whose results go to `prefix`. It watches nothing before [`Watchdog::start`].
    pub fn new(me: Rank, ranks: usize, timeout: Duration, prefix: &Path, request: StopRequest) -> Self {
        let known = Mutex::new(Known { hosts: None, prefix: prefix.to_owned(), roll: None });
        let limits = Limits::new(timeout, ranks);
        Self(Arc::new(Shared { me, limits, request, watch: Watch::default(), known }))
    }

    /// Starts the thread.
    pub fn start(&self) -> std::io::Result<()> {
        let shared = Arc::clone(&self.0);
        thread::Builder::new().name("watchdog".to_owned()).spawn(move || shared.guard()).map(drop)
    }

    /// The page to note on.
    pub fn watch(&self) -> &Watch {
        &self.0.watch
    }

    /// How long a leader waits for answers before it gives up a pair.
    pub fn handshake(&self) -> Duration {
        self.0.limits.handshake()
    }

    /// Where the ranks are.
    pub fn know_hosts(&self, hosts: &Hosts) {
        self.0.known().hosts = Some(hosts.clone());
    }

    /// Where results go from now on.
    pub fn know_prefix(&self, prefix: &Path) {
        self.0.known().prefix = prefix.to_owned();
    }

    /// On which roll all ranks show that they are alive.
    pub fn know_roll(&self, roll: Roll) {
        self.0.known().roll = Some(roll);
    }

    /// Says that a pair is given up because the other rank did not answer, while the run goes on.
    pub fn skip(&self, other: Rank, waited: Duration) {
        let noted = Noted { others: vec![other], ..self.0.watch.noted() };
        self.0.say(&noted, Phase::Handshake, waited, &[], WaitOutcome::Skipped);
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn guard(&self) {
        let tick = self.limits.tick();
        let begun = now();
        let (mut moves, mut waited) = (self.watch.noted().moves, Duration::ZERO);
        let (mut beats, mut idle) = (0u32, 0u32);
        let mut seen = None::<Seen>;
        let mut until_look = Duration::ZERO;
        let mut wished = None::<Duration>;
        loop {
            let slept = Instant::now();
            thread::sleep(tick);
            // A process that was suspended has not waited.
            let step = slept.elapsed().min(2 * tick);
            let noted = self.watch.noted();
            waited = if noted.moves == moves { waited + step } else { Duration::ZERO };
            moves = noted.moves;
            until_look = until_look.saturating_sub(step);
            let roll = self.known().roll.clone();
            if let Some(roll) = roll.filter(|_| until_look.is_zero()) {
                until_look = self.limits.look;
                beats = beats.wrapping_add(1).max(1);
                // Who waits for nobody moves.
                idle = idle.wrapping_add(u32::from(noted.wait.is_none()));
                // Where the file has gone, the run is about to end, or the disk is of no use: nothing is known then.
                let look = roll.beat(beats, (moves as u32).wrapping_add(idle)).and_then(|()| roll.look());
                seen = look.ok().map(|look| {
                    let mut seen = seen.take().unwrap_or_default();
                    seen.take(look, self.limits.look);
                    seen
                });
            }
            if let Some(silent) = self.limits.in_vain(&noted, waited, seen.as_ref()) {
                self.end(&noted, waited, &silent, WaitOutcome::Ended, &begun);
            }
            if self.limits.joins(&noted, waited, seen.as_ref()) {
                let silent = seen.as_ref().map(|seen| seen.silent(self.limits.timeout)).unwrap_or_default();
                self.end(&noted, waited, &silent, WaitOutcome::Joined, &begun);
            }
            wished = self.request.wish().map(|_| wished.unwrap_or_default() + step);
            if wished.is_some_and(|wished| is_overdue(&noted, wished)) {
                self.end(&noted, waited, &[], WaitOutcome::Joined, &begun);
            }
        }
    }

    /// Says what is stuck, lets the others say so too, sums up, and ends this rank.
    fn end(&self, noted: &Noted, waited: Duration, silent: &[Rank], outcome: WaitOutcome, begun: &str) -> ! {
        let phase = noted.wait.map_or(Phase::Setup, |(phase, _)| phase);
        self.say(noted, phase, waited, silent, outcome);
        let roll = self.known().roll.clone();
        if let Some(roll) = roll
            && roll.raise_alarm().is_ok()
        {
            thread::sleep(3 * self.limits.look + 2 * self.limits.tick());
        }
        let prefix = self.known().prefix.clone();
        let mut stuck = read_stuck(&prefix).unwrap_or_default();
        stuck.waits.retain(|wait| wait.time.as_str() >= begun && wait.outcome != WaitOutcome::Skipped);
        if stuck.waits.iter().all(|wait| wait.rank >= self.me) {
            for sentence in stuck.summary() {
                print(&format!("network_test: {sentence}\n"));
                let _ = append_stuck(&store::stuck_path(&prefix), &format!("# {sentence}\n"));
            }
        }
        thread::sleep(TO_BE_READ);
        signal_hook::low_level::exit(i32::from(exit::RESUMABLE))
    }

    /// One line for people and one for the file.
    fn say(&self, noted: &Noted, phase: Phase, waited: Duration, silent: &[Rank], outcome: WaitOutcome) {
        let known = self.known();
        let name = |rank: Rank| known.hosts.as_ref().map_or_else(String::new, |hosts| hosts.name_of(rank).to_owned());
        let named = |ranks: &[Rank]| ranks.iter().map(|rank| (*rank, name(*rank))).collect::<Vec<_>>();
        let own = |other: &&Rank| **other != self.me;
        let others: Vec<Rank> = noted.others.iter().filter(own).copied().collect();
        let wait = Wait {
            time: now(),
            rank: self.me,
            host: name(self.me),
            phase,
            waits_for: named(&others),
            silent: named(silent),
            mode: noted.mode,
            operation: noted.operation,
            length: noted.length,
            round: noted.round,
            sample: noted.sample,
            step: noted.step,
            seconds: waited.as_secs_f64(),
            outcome,
        };
        let path = store::stuck_path(&known.prefix);
        drop(known);
        print(&sentence(&wait));
        if let Err(error) = append_stuck(&path, &stuck_line(&wait)) {
            print(&format!("network_test: rank {}: cannot write `{}`: {error}\n", wait.rank, path.display()));
        }
    }
}

/// Whether a rank that was asked to stop so long ago should have. Bringing what is finished to the files may take
/// longer, but not for ever.
fn is_overdue(noted: &Noted, wished: Duration) -> bool {
    let saves = matches!(noted.wait, None | Some((Phase::Gathering | Phase::Writing, _)));
    wished >= if saves { 3 * GRACE } else { GRACE }
}

/// In one piece; where stderr is closed there is nobody to read it.
fn print(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// A wait as people read it.
fn sentence(wait: &Wait) -> String {
    let ranks = |ranks: &[(Rank, String)]| {
        let words: Vec<_> = ranks.iter().map(|(rank, host)| format!("rank {rank} on {host}")).collect();
        words.join(", ")
    };
    let mut where_it_was = vec![wait.phase.name().to_owned()];
    where_it_was.extend(wait.mode.map(|mode| mode.to_string()));
    where_it_was.extend(wait.operation.map(|algorithm| algorithm.name().to_owned()));
    where_it_was.extend(wait.length.map(|length| counted(length.0 as usize, "byte")));
    where_it_was.extend(wait.round.map(|round| format!("round {round}")));
    where_it_was.extend(wait.sample.map(|sample| format!("behind {}", counted(sample as usize, "exchange"))));
    let others = if wait.waits_for.is_empty() { "others".to_owned() } else { ranks(&wait.waits_for) };
    let silent = match &wait.silent[..] {
        [] => String::new(),
        silent => format!("; no sign of life from {}", ranks(silent)),
    };
    let outcome = match wait.outcome {
        WaitOutcome::Ended | WaitOutcome::Joined => {
            "the job ends, what is finished is safe, --resume goes on from there"
        }
        WaitOutcome::Skipped => "the pair is left out, the run goes on",
    };
    format!(
        "network_test: rank {} on {} has waited {:.1} s for {others} ({}){silent}: {outcome}\n",
        wait.rank,
        wait.host,
        wait.seconds,
        where_it_was.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use netmatrix::units::Bytes;

    use super::{roll::Look, *};

    const SECOND: Duration = Duration::from_secs(1);

    fn limits() -> Limits {
        Limits { timeout: 10 * SECOND, look: SECOND }
    }

    fn noted(kind: Kind, other: Option<Rank>) -> Noted {
        let others = other.into_iter().collect();
        Noted { wait: Some((Phase::Exchange, kind)), others, ..Watch::default().noted() }
    }

    /// What is seen after so many looks of a second each, in which the ranks do as `moves` and `beats` say.
    fn seen(looks: u32, beats: impl Fn(u32, u32) -> u32, moves: impl Fn(u32, u32) -> u32) -> Seen {
        let mut seen = Seen::default();
        for look in 0..looks {
            let places = (0..4).map(|rank| (beats(rank, look), moves(rank, look))).collect();
            seen.take(Look { alarm: false, places }, SECOND);
        }
        seen
    }

    #[test]
    fn whoever_waits_for_a_rank_that_it_names_does_so_for_the_timeout() {
        let alive = seen(9, |_, look| look + 1, |_, _| 1);
        for seen in [None, Some(&alive)] {
            let direct = |waited| limits().in_vain(&noted(Kind::Direct, Some(2)), waited, seen);
            assert_eq!((direct(9 * SECOND), direct(10 * SECOND)), (None, Some(vec![])));
            let slack = Noted { slack: 5 * SECOND, length: Some(Bytes(1)), ..noted(Kind::Direct, Some(2)) };
            assert_eq!(limits().in_vain(&slack, 14 * SECOND, seen), None);
            assert_eq!(limits().in_vain(&noted(Kind::Bounded, Some(2)), 20 * SECOND, seen), None);
        }
        assert_eq!(limits().in_vain(&Noted { wait: None, ..noted(Kind::Direct, None) }, 99 * SECOND, None), None);
    }

    #[test]
    fn a_silent_rank_is_found_at_once_by_whoever_needs_it() {
        let frozen =
            seen(12, |rank, look| if rank == 2 { 1 } else { look + 1 }, |rank, look| if rank < 2 { look } else { 1 });
        assert_eq!(limits().in_vain(&noted(Kind::Direct, Some(2)), 2 * SECOND, Some(&frozen)), Some(vec![2]));
        assert_eq!(limits().in_vain(&noted(Kind::Bounded, Some(2)), 2 * SECOND, Some(&frozen)), Some(vec![2]));
        // A rank that is about to count as silent is waited for, so that it can be named.
        let still = seen(5, |rank, look| if rank == 2 { 1 } else { look + 1 }, |_, _| 1);
        assert_eq!(limits().in_vain(&noted(Kind::Direct, None), 10 * SECOND, Some(&still)), None);
        assert_eq!(limits().in_vain(&noted(Kind::Direct, None), 14 * SECOND, Some(&still)), Some(vec![]));
        // Others still work: who needs nothing of it yet goes on.
        assert_eq!(limits().in_vain(&noted(Kind::Direct, Some(1)), 2 * SECOND, Some(&frozen)), None);
        assert_eq!(limits().in_vain(&noted(Kind::Queue, Some(1)), 99 * SECOND, Some(&frozen)), None);
        let nobody_moves = seen(12, |rank, look| if rank == 2 { 1 } else { look + 1 }, |_, _| 1);
        assert_eq!(limits().in_vain(&noted(Kind::Queue, Some(1)), 3 * SECOND, Some(&nobody_moves)), Some(vec![2]));
    }

    #[test]
    fn an_hour_in_the_queue_is_no_wait_in_vain_while_anybody_moves() {
        let hour = 3600 * SECOND;
        let one_moves = seen(3600, |_, look| look + 1, |rank, look| if rank == 3 { look / 9 } else { 1 });
        assert_eq!(limits().in_vain(&noted(Kind::Queue, None), hour, Some(&one_moves)), None);
        assert_eq!(limits().in_vain(&noted(Kind::Queue, None), hour, None), None, "without a roll nobody can know");
        let quiet = seen(12, |_, look| look + 1, |_, _| 1);
        assert_eq!(limits().in_vain(&noted(Kind::Queue, None), hour, Some(&quiet)), Some(vec![]));
        // A rank that has just begun to wait may be the one that moved last.
        assert_eq!(limits().in_vain(&noted(Kind::Queue, None), 3 * SECOND, Some(&quiet)), None);
    }

    #[test]
    fn whoever_waits_hears_the_alarm() {
        let mut seen = seen(3, |_, look| look + 1, |_, look| look);
        seen.take(Look { alarm: true, places: vec![(9, 9); 4] }, SECOND);
        assert!(limits().joins(&noted(Kind::Queue, None), 2 * SECOND, Some(&seen)));
        assert!(!limits().joins(&noted(Kind::Direct, Some(1)), SECOND, Some(&seen)));
    }

    #[test]
    fn all_ranks_together_do_not_flood_a_file_server() {
        assert_eq!(Limits::new(60 * SECOND, 64).look, 2 * SECOND);
        assert_eq!(Limits::new(60 * SECOND, 20_000).look, 40 * SECOND);
        assert_eq!(Limits::new(SECOND / 10, 2).look, Duration::from_millis(200));
    }

    #[test]
    fn a_wish_to_stop_is_granted_or_else() {
        let waits = noted(Kind::Queue, None);
        assert!(!is_overdue(&waits, GRACE - SECOND) && is_overdue(&waits, GRACE));
        let saves = Noted { wait: Some((Phase::Gathering, Kind::Queue)), ..waits };
        assert!(!is_overdue(&saves, GRACE) && is_overdue(&saves, 3 * GRACE));
    }
}

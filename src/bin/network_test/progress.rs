//! What a person sees while a run goes on: a bar where there is a terminal, else a plain line now and then.
//!
//! In: the driver's events. Out: text on stderr: what is done, what is left, at what time it ends. It measures nothing
//! and decides nothing, and starts no thread: what is drawn is drawn when something happens.

use std::{
    fmt::Display,
    io::{IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use netmatrix::{
    measure::{Ending, Event, Times},
    plan::{Estimate, Mode, Plan},
    units::{Bytes, counted},
};

/// Lines in a log file come this often at most.
const A_LINE_EVERY: Duration = Duration::from_secs(10);

/// What ends later has no date: a thousand years.
const FAR_AWAY: Duration = Duration::from_secs(1000 * 365 * 86_400);

/// Steps of a bar.
const STEPS: u64 = 1000;

/// Shows events, in one way or not at all.
pub struct Progress {
    way: Way,
    /// Exchanges in turn of each mode of the launch: what they are expected to cost, compared with each other.
    weights: Vec<(Mode, f64)>,
    run: Option<Run>,
    last_line: Option<Instant>,
}

enum Way {
    /// Nothing is shown.
    Silent,
    /// Lines: for log files.
    Lines,
    /// A bar that is drawn over itself.
    Bar(Box<ProgressBar>),
}

/// The run at hand.
struct Run {
    mode: Mode,
    first: usize,
    lengths: usize,
    expected: Duration,
    files: String,
}

impl Progress {
    /// For the root alone, unless it is to be quiet.
    pub fn new(root: bool, quiet: bool, plans: &[Plan]) -> Self {
        let way = if !root || quiet {
            Way::Silent
        } else if std::io::stderr().is_terminal() {
            Way::Bar(Box::new(ProgressBar::hidden()))
        } else {
            Way::Lines
        };
        let weight = |plan: &Plan| {
            let estimate = Estimate::of(plan);
            // Pairs of a round are measured at the same time.
            estimate.exchanges as f64 * estimate.rounds as f64 / estimate.pairs.max(1) as f64
        };
        let weights = match way {
            Way::Silent => Vec::new(),
            _ => plans.iter().map(|plan| (plan.mode, weight(plan))).collect(),
        };
        Self { way, weights, run: None, last_line: None }
    }

    /// Shows what happened.
    pub fn show(&mut self, event: &Event<'_>) {
        if matches!(self.way, Way::Silent) {
            return;
        }
        match event {
            Event::Begin { plan, first, expected } => self.begin(plan, *first, *expected),
            Event::Part { index, length, rounds, of, elapsed, left } => {
                let inside = *rounds as f64 / (*of).max(1) as f64;
                self.step(*index, inside, *length, *elapsed, *left, Some((*rounds, *of)));
            }
            Event::LengthFinished { index, length, elapsed, left } => {
                self.step(*index, 1.0, *length, *elapsed, *left, None);
            }
            Event::End { ending, elapsed, times } => {
                if let Way::Bar(bar) = &self.way {
                    bar.finish_and_clear();
                }
                say(summary(*ending, *elapsed, times));
                if let Some(run) = &self.run {
                    say(&run.files);
                }
            }
        }
    }

    fn begin(&mut self, plan: &Plan, first: usize, expected: Duration) {
        let mode = plan.mode;
        let all = self.whole(mode, expected);
        let all = if self.weights.len() > 1 { format!(", {} for all modes", about(all)) } else { String::new() };
        say(format!("{}{all}", announcement(plan, first, expected)));
        if let Way::Bar(bar) = &mut self.way {
            **bar = new_bar(mode);
        }
        let (prefix, first_to_judge) = (plan.prefix(), first_to_judge(plan));
        let files = format!(
            "{mode}: results in {}_*.nc; next: network_analyze diagnose {}",
            prefix.display(),
            first_to_judge.display()
        );
        self.run = Some(Run { mode, first, lengths: plan.lengths().len(), expected, files });
        self.last_line.get_or_insert_with(Instant::now);
    }

    /// The time that this mode and those behind it take, if this one takes `own`.
    fn whole(&self, mode: Mode, own: Duration) -> Duration {
        let Some(place) = self.weights.iter().position(|(of, _)| *of == mode) else { return own };
        let behind: f64 = self.weights[place + 1..].iter().map(|(_, weight)| weight).sum();
        let factor = behind / self.weights[place].1.max(1.0);
        own + Duration::try_from_secs_f64(own.as_secs_f64() * factor).unwrap_or_default()
    }

    fn step(
        &mut self,
        index: usize,
        inside: f64,
        length: Bytes,
        elapsed: Duration,
        left: Duration,
        rounds: Option<(usize, usize)>,
    ) {
        let Some(Run { mode, first, lengths, expected, .. }) = &self.run else { return };
        // The other modes are expected to be as far off as this one.
        let whole = (elapsed + left).max(Duration::from_nanos(1));
        let left_of_all = left + (self.whole(*mode, *expected) - *expected).mul_f64(ratio(whole, *expected));
        let done = 100.0 * elapsed.as_secs_f64() / (elapsed + left_of_all).as_secs_f64().max(1e-9);
        let at = match rounds {
            Some((rounds, of)) => {
                format!("length {} of {lengths} ({}), round {rounds} of {of}", index + 1, length.counted())
            }
            None => format!("length {} of {lengths} ({}) done", index + 1, length.counted()),
        };
        let ends = format!("{done:.0} % of the time, {} left, ends {}", about(left_of_all), clock_in(left_of_all));
        match &self.way {
            Way::Silent => {}
            Way::Bar(bar) => {
                let lengths_done = (index - first) as f64 + inside;
                bar.set_position((STEPS as f64 * lengths_done / (lengths - first).max(1) as f64) as u64);
                bar.set_message(format!("{at}, {ends}"));
            }
            Way::Lines if self.last_line.is_none_or(|last| last.elapsed() >= A_LINE_EVERY) => {
                say(format!("{mode}: {at}, {ends}"));
                self.last_line = Some(Instant::now());
            }
            Way::Lines => {}
        }
    }
}

/// One time over another, 1 where the other is none.
fn ratio(time: Duration, other: Duration) -> f64 {
    if other.is_zero() { 1.0 } else { time.as_secs_f64() / other.as_secs_f64() }
}

/// Prefix of the run that is to be judged first, of those that this mode is the last of: `one_to_one`, else a mode of
/// pairs. In a collective mode a cell depends on other hosts as well, and its findings are a hint only.
fn first_to_judge(plan: &Plan) -> PathBuf {
    let modes = || plan.config.modes.iter().copied().take_while(|mode| *mode != plan.mode).chain([plan.mode]);
    let quiet = modes().find(|mode| !mode.is_collective() && !mode.has_noise());
    let pairs = quiet.or_else(|| modes().find(|mode| !mode.is_collective()));
    let one_to_one = modes().find(|mode| *mode == Mode::OneToOne);
    let mode = one_to_one.or(pairs).unwrap_or(plan.mode);
    Plan { mode, ..plan.clone() }.prefix()
}

/// A line on stderr; where that is closed there is nobody to read it.
fn say(text: impl Display) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

fn new_bar(mode: Mode) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix}: {bar:30} {msg}").expect("the template is valid");
    ProgressBar::new(STEPS).with_style(style).with_prefix(mode.name())
}

/// What begins, and how long it is expected to take.
fn announcement(plan: &Plan, first: usize, expected: Duration) -> String {
    let resumed = if first > 0 { format!(", resumed behind {first} of them") } else { String::new() };
    format!(
        "{}: {} on {}, {}{resumed}, {} expected",
        plan.mode,
        counted(plan.ranks(), "rank"),
        counted(plan.hosts.count(), "host"),
        counted(plan.lengths().len(), "length"),
        about(expected),
    )
}

/// A time that is only roughly known.
fn about(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        "less than a second".to_owned()
    } else {
        format!("about {}", HumanDuration(time))
    }
}

/// When it is so much later: today's time, or with the date.
fn clock_in(left: Duration) -> String {
    let now = SystemTime::now();
    // Times beyond the year 9999 cannot be written.
    let sensible = Some(left).filter(|left| *left < FAR_AWAY);
    let Some(end) = sensible.and_then(|left| now.checked_add(left)) else { return "some day".to_owned() };
    let [now, end] = [now, end].map(|time| humantime::format_rfc3339_seconds(time).to_string());
    match (now.split_once('T'), end.split_once('T')) {
        (Some((today, _)), Some((day, time))) if day == today => format!("at {} UTC", &time[..5]),
        (_, Some((day, time))) => format!("on {day} at {} UTC", &time[..5]),
        _ => "some day".to_owned(),
    }
}

/// How the run ended, and what its time was spent on.
fn summary(ending: Ending, elapsed: Duration, times: &Times) -> String {
    let (ending, kept) = match ending {
        Ending::Complete => ("complete".to_owned(), ""),
        Ending::Stopped(stop) => {
            (format!("stopped early ({stop})"), "; what is finished is safe, --resume goes on from there")
        }
    };
    let share = |time: Duration| 100.0 * time.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
    let spent = [
        ("timed exchanges", times.shares.timed),
        ("warm-up", times.shares.warmup),
        ("statistics", times.shares.reducing),
        ("gathering", times.gathering),
        ("writing", times.writing),
    ];
    let known: Duration = spent.iter().map(|(_, time)| *time).sum();
    let mut parts: Vec<_> = spent.iter().map(|(what, time)| format!("{what} {:.1} %", share(*time))).collect();
    // With disjoint pairs the ranks' times add up to more than the wall time, and nothing can be said of the rest.
    if known <= elapsed {
        parts.push(format!("turns and waiting {:.1} %", share(elapsed - known)));
    }
    format!("{ending} after {:.1} s: {}{kept}", elapsed.as_secs_f64(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use netmatrix::{plan::Config, units::Hosts};

    use super::*;

    #[test]
    fn what_is_left_is_that_of_all_modes() {
        let config = Config { modes: vec![Mode::OneToOne, Mode::AsyncOneToOne, Mode::Put], ..Config::default() };
        let plans = Plan::all(&config, &Hosts::new(["a", "b", "c"])).unwrap();
        let mut progress = Progress::new(true, false, &plans);
        progress.weights = vec![(Mode::OneToOne, 10.0), (Mode::AsyncOneToOne, 5.0), (Mode::Put, 20.0)];
        let minute = Duration::from_secs(60);
        assert_eq!(progress.whole(Mode::OneToOne, minute), Duration::from_secs(210));
        assert_eq!(progress.whole(Mode::Put, minute), minute);
    }

    #[test]
    fn the_mode_without_influence_of_others_is_judged_first() {
        let last = |modes: &[Mode]| {
            let config = Config { modes: modes.to_vec(), ..Config::default() };
            let plans = Plan::all(&config, &Hosts::new(["a", "b", "c"])).unwrap();
            first_to_judge(plans.last().unwrap()).display().to_string()
        };
        assert_eq!(last(&Mode::all().collect::<Vec<_>>()), "network_one_to_one");
        assert_eq!(last(&[Mode::Put, Mode::OneToOne, Mode::Bcast]), "network_one_to_one");
        assert_eq!(last(&[Mode::AllToAll, Mode::NoiseBlocking, Mode::Get, Mode::Bcast]), "network_get");
        assert_eq!(last(&[Mode::Bcast, Mode::NoiseBlocking]), "network_noise_blocking");
        assert_eq!(last(&[Mode::AllToAll, Mode::Bcast]), "network_bcast");
        assert_eq!(last(&[Mode::Bcast]), "network");
    }

    #[test]
    fn the_end_has_a_time_and_where_it_is_far_a_date() {
        assert!(clock_in(Duration::from_secs(400 * 86_400)).starts_with("on 2"));
        assert_eq!(clock_in(Duration::MAX), "some day");
    }
}

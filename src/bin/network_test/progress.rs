//! What a person sees while a run goes on: a bar where there is a terminal, else a plain line per length.
//!
//! In: the driver's events. Out: text on stderr. It measures nothing and decides nothing.

use std::{io::IsTerminal, time::Duration};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use netmatrix::{
    measure::{Ending, Event, Times},
    plan::{Mode, Plan},
    units::counted,
};

/// Shows events, in one way or not at all.
pub enum Progress {
    /// Nothing is shown.
    Silent,
    /// One line per length: for log files.
    Lines(Count),
    /// A bar that is drawn over itself.
    Bar(Box<ProgressBar>),
}

/// How far a run is.
pub struct Count {
    mode: Mode,
    first: usize,
    all: usize,
}

impl Progress {
    /// For rank `root` alone, unless it is to be quiet.
    pub fn new(root: bool, quiet: bool) -> Self {
        if !root || quiet {
            Self::Silent
        } else if std::io::stderr().is_terminal() {
            Self::Bar(Box::new(ProgressBar::hidden()))
        } else {
            Self::Lines(Count { mode: Mode::OneToOne, first: 0, all: 0 })
        }
    }

    /// Shows what happened.
    pub fn show(&mut self, event: &Event<'_>) {
        match (self, event) {
            (Self::Silent, _) => {}
            (Self::Lines(count), Event::Begin { plan, first, expected }) => {
                eprintln!("{}", announcement(plan, *first, *expected));
                *count = Count { mode: plan.mode, first: *first, all: plan.lengths().len() };
            }
            (Self::Lines(count), Event::LengthFinished { index, length, elapsed, left }) => {
                let done = index + 1 - count.first;
                eprintln!(
                    "{}: {length} bytes done, length {} of {}, {:.3} lengths/s, {} left",
                    count.mode,
                    index + 1,
                    count.all,
                    done as f64 / elapsed.as_secs_f64().max(1e-9),
                    about(*left),
                );
            }
            (Self::Bar(bar), Event::Begin { plan, first, expected }) => {
                eprintln!("{}", announcement(plan, *first, *expected));
                **bar = new_bar(plan, *first);
            }
            (Self::Bar(bar), Event::LengthFinished { index, length, left, .. }) => {
                bar.set_message(format!("{length} bytes, {} left", about(*left)));
                bar.set_position(*index as u64 + 1);
            }
            (Self::Bar(bar), Event::End { ending, elapsed, times }) => {
                bar.finish_and_clear();
                eprintln!("{}", summary(*ending, *elapsed, times));
            }
            (Self::Lines(_), Event::End { ending, elapsed, times }) => {
                eprintln!("{}", summary(*ending, *elapsed, times))
            }
        }
    }
}

fn new_bar(plan: &Plan, first: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix}: {bar:30} length {pos} of {len} ({msg}), {per_sec}")
        .expect("the template is valid");
    let bar = ProgressBar::new(plan.lengths().len() as u64).with_style(style).with_prefix(plan.mode.name());
    bar.set_position(first as u64);
    // Pairs may be silent for long: the bar shows that the program is alive all the same.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
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

/// How the run ended, and what its time was spent on.
fn summary(ending: Ending, elapsed: Duration, times: &Times) -> String {
    let ending = match ending {
        Ending::Complete => "complete".to_owned(),
        Ending::Stopped(stop) => format!("stopped early ({stop}); the finished lengths are safe"),
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
    format!("{ending} after {:.1} s: {}", elapsed.as_secs_f64(), parts.join(", "))
}

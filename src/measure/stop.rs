//! Why a run ends early, and who may ask for it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Why a run ends before its last length. The finished lengths stay; the run can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stop {
    /// The time limit is reached.
    TimeLimit = 1,
    /// A signal asked for it.
    Signal = 2,
    /// The results cannot be written.
    Output = 3,
}

impl Stop {
    /// From the number that travels between ranks; 0 is "go on".
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::TimeLimit, Self::Signal, Self::Output].into_iter().find(|stop| *stop as u8 == code)
    }

    /// The number that travels between ranks; of two wishes the larger wins.
    pub fn code(stop: Option<Self>) -> u8 {
        stop.map_or(0, |stop| stop as u8)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TimeLimit => "time limit reached",
            Self::Signal => "asked to stop by a signal",
            Self::Output => "results cannot be written",
        })
    }
}

/// Where one process's wish to stop is noted: by a signal handler, or by the clock.
#[derive(Clone, Debug, Default)]
pub struct StopRequest {
    signalled: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl StopRequest {
    /// With a time at which to stop.
    pub fn with_deadline(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// The flag that a signal handler sets.
    pub fn signal_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.signalled)
    }

    /// How much time there is until the deadline, if there is one.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// This process's wish.
    pub fn wish(&self) -> Option<Stop> {
        if self.signalled.load(Ordering::Relaxed) {
            return Some(Stop::Signal);
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        late.then_some(Stop::TimeLimit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_heard_by_every_holder() {
        let request = StopRequest::default();
        let handler = request.clone();
        assert_eq!(request.wish(), None);
        handler.signal_flag().store(true, Ordering::Relaxed);
        assert_eq!(request.wish(), Some(Stop::Signal));
    }

    #[test]
    fn the_deadline_asks_by_itself() {
        let past = StopRequest::with_deadline(Some(Instant::now()));
        assert_eq!(past.wish(), Some(Stop::TimeLimit));
        let future = StopRequest::with_deadline(Some(Instant::now() + Duration::from_secs(3600)));
        assert_eq!(future.wish(), None);
    }

    #[test]
    fn codes_lead_back_to_the_wish() {
        for stop in [None, Some(Stop::TimeLimit), Some(Stop::Signal), Some(Stop::Output)] {
            assert_eq!(Stop::from_code(Stop::code(stop)), stop);
        }
    }
}

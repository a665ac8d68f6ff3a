//! Ranks that waited in vain, as a run knows them: who waits for whom, in what, and what became of it.
//!
//! In: a [`Wait`] of one rank each. Out: which hosts others wait for, in a sentence ([`Stuck::summary`]) or as evidence
//! ([`Stuck::places`]); what a run that goes on leaves out is in [`avoided`](Stuck::avoided). Nothing here decides what
//! is stuck, and no file is read.

mod avoided;
mod places;

pub use avoided::Avoided;
pub use places::{StuckKind, StuckPlace};

use crate::{
    plan::{Mode, operation::Algorithm},
    units::{Bytes, Rank},
};

/// What a rank waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A few exchanges before a run, from which its time is forecast.
    Probe,
    /// For its turn, while other pairs are measured.
    Token,
    /// For the other rank of its pair, or for those that make noise, before the pair is measured.
    Handshake,
    /// The exchanges of a pair.
    Exchange,
    /// The exchanges of all ranks with all.
    Collective,
    /// Messages that disturb a pair.
    Noise,
    /// Until all ranks have come to one place.
    Barrier,
    /// Until all ranks have said whether they want to go on.
    Agreement,
    /// Bringing results to the root.
    Gathering,
    /// The root writes files.
    Writing,
    /// Learning common time.
    Clock,
    /// Making or giving back memory that others may access.
    Window,
    /// Anything else at the beginning or the end of a run.
    Setup,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 13] = [
        Self::Probe,
        Self::Token,
        Self::Handshake,
        Self::Exchange,
        Self::Collective,
        Self::Noise,
        Self::Barrier,
        Self::Agreement,
        Self::Gathering,
        Self::Writing,
        Self::Clock,
        Self::Window,
        Self::Setup,
    ];

    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Token => "token",
            Self::Handshake => "handshake",
            Self::Exchange => "exchange",
            Self::Collective => "collective",
            Self::Noise => "noise",
            Self::Barrier => "barrier",
            Self::Agreement => "agreement",
            Self::Gathering => "gathering",
            Self::Writing => "writing",
            Self::Clock => "clock",
            Self::Window => "window",
            Self::Setup => "setup",
        }
    }

    /// Whether a rank waits here for the very ranks that it names, and for nobody else's work.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Probe | Self::Handshake | Self::Exchange | Self::Noise | Self::Clock)
    }
}

/// What became of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitOutcome {
    /// The job was ended.
    Ended,
    /// The pair's cells were given up, and the run went on.
    Skipped,
    /// Nothing was wrong with this wait, but another rank had found that the job was stuck.
    Joined,
}

impl WaitOutcome {
    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Skipped => "skipped",
            Self::Joined => "joined",
        }
    }
}

/// A rank that has waited for too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// When it was written: UTC, RFC 3339.
    pub time: String,
    /// Who waits.
    pub rank: Rank,
    /// Where.
    pub host: String,
    /// In what.
    pub phase: Phase,
    /// For whom, with their hosts; empty: all others, or unknown.
    pub waits_for: Vec<(Rank, String)>,
    /// Ranks whose processes give no sign of life, with their hosts.
    pub silent: Vec<(Rank, String)>,
    /// In which mode, once one has begun.
    pub mode: Option<Mode>,
    /// In which operation, where operations are measured.
    pub operation: Option<Algorithm>,
    /// At which message length.
    pub length: Option<Bytes>,
    /// In which round of the length.
    pub round: Option<usize>,
    /// Behind how many exchanges of the pair.
    pub sample: Option<u64>,
    /// Behind how many steps that all ranks take together, where it waits in such a step or in an agreement behind them.
    pub step: Option<u64>,
    /// For how long, seconds.
    pub seconds: f64,
    /// What became of it.
    pub outcome: WaitOutcome,
}

/// The waits of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stuck {
    /// In the order in which they were written.
    pub waits: Vec<Wait>,
}

impl Stuck {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A wait of rank 0 on n0 for rank 2 on n2.
    pub(crate) fn wait() -> Wait {
        Wait {
            time: "2023-11-14T22:13:20Z".to_owned(),
            rank: 0,
            host: "n0".to_owned(),
            phase: Phase::Exchange,
            waits_for: vec![(2, "n2".to_owned())],
            silent: vec![],
            mode: Some(Mode::OneToOne),
            operation: None,
            length: Some(Bytes(1024)),
            round: Some(3),
            sample: Some(16),
            step: None,
            seconds: 10.5,
            outcome: WaitOutcome::Ended,
        }
    }
}

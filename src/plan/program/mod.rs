//! Programs of supersteps: what every process computes and whom it then sends to.
//!
//! In: a text (read by `parse`) or a [`Skeleton`] of a known program. Out: a [`Program`], which `network_test` runs and
//! `analysis::model` predicts. Nothing here opens a file; errors name the file that the caller names.
//!
//! ```text
//! # Two exchanges. A line is a word and what belongs to it; `#` begins a comment.
//! processes 4
//! packet 4                     # bytes of a packet, 4 where nothing is said
//! step first                   # what follows belongs to this step; its name may be left out
//! work 0,1 4s                  # seconds before the messages of the step are sent
//! work 2-3 2s
//! message 0 <-> 1 1000         # packets, both ways
//! message 2 <-> 3 1000
//! step
//! message 0 -> all 500         # to each of the others
//! message all -> 0 500
//! message 0-1 -> 2,3 10        # each of the left to each of the right
//! ```

mod parse;
mod skeleton;

pub use parse::ProgramError;
pub use skeleton::{Skeleton, SkeletonError};

use crate::units::{Bytes, Rank};

/// Most processes of a program.
pub const MOST_PROCESSES: usize = 65_536;

/// Most messages of all steps together, and most entries of work.
pub const MOST_MESSAGES: usize = 1 << 22;

/// One message of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sends.
    pub source: Rank,
    /// Who receives; never the sender.
    pub destination: Rank,
    /// Packets, at least 1.
    pub packets: u64,
}

/// Work, then messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// May be empty.
    pub name: String,
    /// Seconds, `[process]`.
    pub work: Vec<f64>,
    /// Sent after the sender's work, in this order.
    pub messages: Vec<Message>,
}

impl Step {
    /// Without work and messages.
    pub fn new(name: impl Into<String>, processes: usize) -> Self {
        Self { name: name.into(), work: vec![0.0; processes], messages: Vec::new() }
    }

    /// Packets that every process receives and sends, `[process]`.
    pub fn packets(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut received, mut sent) = (vec![0; self.work.len()], vec![0; self.work.len()]);
        for message in &self.messages {
            sent[message.source] += message.packets;
            received[message.destination] += message.packets;
        }
        (received, sent)
    }
}

/// Supersteps on a number of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// At least 1.
    pub processes: usize,
    /// Length of a packet, at least 1.
    pub packet: Bytes,
    /// In order.
    pub steps: Vec<Step>,
}

impl Program {
    /// Reads a text; `name` is what errors call it, such as the path of the file.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProgramError> {
        parse::parse(text).map_err(|(line, reason)| ProgramError { name: name.to_owned(), line, reason })
    }
}

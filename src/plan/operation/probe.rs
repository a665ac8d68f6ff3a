//! What fits of models need besides operations.

use std::{fmt, str::FromStr};

/// What is measured for fits of models besides operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProbeKind {
    /// How long `MPI_Send` keeps the source busy while the destination waits in its receive: o_s for short messages.
    Send,
    /// How long `MPI_Isend` keeps the source busy; the request is completed outside.
    Isend,
    /// How long `MPI_Recv` keeps the destination busy when the message is there already: o_r.
    Recv,
    /// PRTT(1, 0, s): a message of s bytes there, an empty one back.
    Prtt1,
    /// PRTT(n, 0, s): n messages of s bytes there without pause, an empty one back.
    PrttTrain,
    /// PRTT(n, d, s): as before, with a pause of d = PRTT(1, 0, s) behind each message but the last.
    PrttDelayed,
    /// Copies s bytes from one buffer to another: s lambda.
    Copy,
    /// Adds s bytes of doubles to a buffer: s gamma.
    Add,
}

/// Name in files, and what it says.
const KINDS: [(ProbeKind, &str, &str); 8] = [
    (ProbeKind::Send, "send", "MPI_Send, while the destination waits for it"),
    (ProbeKind::Isend, "isend", "MPI_Isend, without its completion"),
    (ProbeKind::Recv, "recv", "MPI_Recv of a message that is there already"),
    (ProbeKind::Prtt1, "prtt_1", "one message there, an empty one back"),
    (ProbeKind::PrttTrain, "prtt_train", "several messages there without pause, an empty one back"),
    (ProbeKind::PrttDelayed, "prtt_delayed", "several messages there with a pause between, an empty one back"),
    (ProbeKind::Copy, "copy", "copy from one buffer to another"),
    (ProbeKind::Add, "add", "sum of doubles into a buffer"),
];

impl ProbeKind {
    /// All kinds, in the order in which they are measured.
    pub const ALL: [Self; 8] =
        [Self::Send, Self::Isend, Self::Recv, Self::Prtt1, Self::PrttTrain, Self::PrttDelayed, Self::Copy, Self::Add];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// What it says, in words.
    pub fn meaning(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// Whether one rank does it alone.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Copy | Self::Add)
    }
}

impl FromStr for ProbeKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or(())
    }
}

impl fmt::Display for ProbeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_probes_is_in_order() {
        for kind in ProbeKind::ALL {
            assert_eq!((KINDS[kind as usize].0, kind.name().parse()), (kind, Ok(kind)));
        }
    }
}

//! The nine modes: what is exchanged, and which side's clock says how long it took.

use std::{fmt, str::FromStr};

use crate::units::{ParseNameError, by_name};

/// A kind of exchange. In every mode row i of a matrix is the source (origin, root), column j the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// i sends, j receives, both blocking; all others are silent.
    OneToOne,
    /// i and j send to each other at once, without blocking.
    AsyncOneToOne,
    /// i sends, j returns it, blocking: a round trip.
    SendRecvAndRecvSend,
    /// Everybody sends to everybody, itself included, at once.
    AllToAll,
    /// [`Mode::AsyncOneToOne`] while other ranks exchange noise messages.
    Noise,
    /// [`Mode::OneToOne`] while other ranks exchange noise messages.
    NoiseBlocking,
    /// i writes into j's memory; j does nothing.
    Put,
    /// i reads from j's memory; j does nothing.
    Get,
    /// i broadcasts to all.
    Bcast,
}

/// The end of a pair whose clock measures a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Row i.
    Source,
    /// Column j.
    Destination,
}

/// One line per mode: the mode, its name everywhere, network_tests2's number, who times it, what a cell is.
const TABLE: [(Mode, &str, i32, Side, &str); 9] = [
    (Mode::OneToOne, "one_to_one", 1, Side::Destination, "transfer from source to destination, all others silent"),
    (
        Mode::AsyncOneToOne,
        "async_one_to_one",
        3,
        Side::Destination,
        "transfer while the destination sends back as much",
    ),
    (Mode::SendRecvAndRecvSend, "send_recv_and_recv_send", 4, Side::Source, "round trip started by the source"),
    (Mode::AllToAll, "all_to_all", 2, Side::Destination, "from the destination's first send to the arrival"),
    (Mode::Noise, "noise", 5, Side::Destination, "async_one_to_one while other ranks exchange noise"),
    (Mode::NoiseBlocking, "noise_blocking", 6, Side::Destination, "one_to_one while other ranks exchange noise"),
    (Mode::Put, "put", 8, Side::Source, "remote write, complete in the destination's memory"),
    (Mode::Get, "get", 9, Side::Source, "remote read from the destination's memory"),
    (Mode::Bcast, "bcast", 7, Side::Destination, "broadcast by the source, from the common start to the return"),
];

impl Mode {
    /// All modes, in the order in which `-t all` measures them.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|line| line.0)
    }

    fn line(self) -> &'static (Self, &'static str, i32, Side, &'static str) {
        TABLE.iter().find(|line| line.0 == self).expect("the table has a line for every mode")
    }

    /// Name on the command line, in files and in reports.
    pub fn name(self) -> &'static str {
        self.line().1
    }

    /// network_tests2's `test_type`.
    pub fn id(self) -> i32 {
        self.line().2
    }

    /// The mode with network_tests2's `test_type`, if there is one.
    pub fn from_id(id: i32) -> Option<Self> {
        TABLE.iter().find(|line| line.2 == id).map(|line| line.0)
    }

    /// Whose clock measures a cell.
    pub fn timed_at(self) -> Side {
        self.line().3
    }

    /// Whether data flow from the column's rank to the row's: what is sent slowly is a slow column then.
    pub fn data_flows_from_column(self) -> bool {
        self == Self::Get
    }

    /// Whether something travels in a message of no bytes. Writing, reading and broadcasting nothing is done by doing
    /// nothing.
    pub fn empty_messages_travel(self) -> bool {
        !matches!(self, Self::Put | Self::Get | Self::Bcast)
    }

    /// What a cell of this mode says, in words.
    pub fn meaning(self) -> &'static str {
        self.line().4
    }

    /// Whether a cell is one way of a message, so that sender and timer are different ranks and `Timing` matters. Of a
    /// broadcast only the start on synchronised clocks does.
    pub fn is_one_way(self) -> bool {
        matches!(self, Self::OneToOne | Self::AsyncOneToOne | Self::Noise | Self::NoiseBlocking)
    }

    /// Whether one exchange yields the cells of both directions.
    pub fn is_symmetric(self) -> bool {
        matches!(self, Self::AsyncOneToOne | Self::Noise)
    }

    /// Whether other ranks make noise while a pair is measured.
    pub fn has_noise(self) -> bool {
        matches!(self, Self::Noise | Self::NoiseBlocking)
    }

    /// Whether all ranks take part in each exchange; the diagonal is measured then, else it is 0.
    pub fn is_collective(self) -> bool {
        matches!(self, Self::AllToAll | Self::Bcast)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What other benchmarks call them.
const SYNONYMS: [(&str, &str); 3] =
    [("pingpong", "send_recv_and_recv_send"), ("ping_pong", "send_recv_and_recv_send"), ("alltoall", "all_to_all")];

impl FromStr for Mode {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        by_name("mode", text, Self::all(), Self::name, &SYNONYMS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_the_mode() {
        for mode in Mode::all() {
            assert_eq!(mode.name().parse(), Ok(mode));
            assert_eq!(Mode::from_id(mode.id()), Some(mode));
        }
        assert_eq!(Mode::all().count(), 9);
    }

    #[test]
    fn an_unknown_mode_is_told_all_modes() {
        let error = "one_to_two".parse::<Mode>().unwrap_err().to_string();
        assert!(error.contains("`one_to_two`"), "{error}");
        assert!(Mode::all().all(|mode| error.contains(mode.name())), "{error}");
        for typed in ["one-to-one", "One_To_One", "one_to_onne"] {
            let error = typed.parse::<Mode>().unwrap_err().to_string();
            assert!(error.contains("did you mean `one_to_one`?"), "{error}");
        }
    }
}

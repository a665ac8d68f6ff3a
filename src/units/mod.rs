//! Quantities with a unit, and the hosts that ranks live on.
//!
//! In: plain numbers and texts from command lines and files. Out: typed values and their one way of being printed.
//! This module imports nothing else of the library and decides nothing.

mod bytes;
pub mod hostlist;
mod hosts;
mod nearest;
mod rate;
mod text;
mod time;
mod utc;
mod whole;

pub use bytes::{Bytes, ParseBytesError};
pub use hosts::Hosts;
pub use nearest::{ParseNameError, by_name, did_you_mean, nearest};
pub use rate::Rate;
pub use text::{check_host_name, harmless, is_hidden, shown};
pub use time::{ParseSecondsError, Seconds};
pub use utc::utc;
pub use whole::whole;

/// Number of an MPI process in the world communicator, from 0.
pub type Rank = usize;

/// A number of things for people: `1 host`, `2 hosts`, `2 processes`.
pub fn counted(count: usize, thing: &str) -> String {
    let plural = if thing.ends_with('s') { "es" } else { "s" };
    format!("{count} {thing}{}", if count == 1 { "" } else { plural })
}

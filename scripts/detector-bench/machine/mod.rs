//! Machines whose times come about from parts.
//!
//! * [`parts`]: cores that add, cards and cables of which the slowest counts once;
//! * [`fault`]: what can be wrong, where, and when;
//! * [`noise`]: samples, one by one;
//! * [`cluster`]: carries out the rounds of a plan under the program's own driver, so that everything is reduced, and
//!   measured again, as in a real run; and keeps what only somebody who made the machine can know.

pub mod cluster;
pub mod fault;
pub mod noise;
pub mod parts;

#[cfg(test)]
mod tests;

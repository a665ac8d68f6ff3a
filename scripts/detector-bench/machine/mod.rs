//! Machines whose times come about from parts.
//!
//! * [`parts`]: cores that add, cards and cables of which the slowest counts once;
//! * [`fault`]: what can be wrong, where, and when;
//! * [`noise`]: samples, one by one;
//! * [`cluster`]: what pairs take in their rounds; and keeps what only somebody who made the machine can know;
//! * [`walk`]: any machine under the program's own driver, so that everything is reduced, and measured again, as in a
//!   real run.

pub mod cluster;
pub mod fault;
pub mod noise;
pub mod parts;
pub mod walk;

#[cfg(test)]
mod tests;

//! Records in, values out: what a run means.
//!
//! Nothing in here opens a file or prints: callers hand over a [`crate::record::Run`] and get plain values, which
//! [`crate::view`] turns into text and pictures.

pub mod advice;
pub mod asymmetry;
pub mod blocks;
pub mod cluster;
pub mod compare;
pub mod diagnose;
pub mod directed;
pub mod distribution;
#[cfg(test)]
mod drawn;
pub mod groups;
pub mod merge;
pub mod model;
pub mod operations;
pub mod square;
pub mod tally;
mod ticks;
pub mod topology;

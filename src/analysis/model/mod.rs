//! Models of communication: fitted to a run, compared with it, and used to predict.
//!
//! In: a run of pairs, measured operations, programs of supersteps. Out: parameters with intervals, and times in seconds.
//!
//! ```text
//! plan::operation --> schedule --actions-> logp (max-plus simulation, time of every process)
//!                                          reduce (closed forms of reductions, number of chains)
//! plan::program   --steps---> bsp (BSPWB, MPM)
//! a run of pairs  ----------> hockney -+-> line (least squares, pieces, intervals)
//! operations      --probes--> loggp   -+
//!                 --patterns> relation-+
//! ```
//!
//! Formulas, their corrections and their sources are in the manual page network_test-models(7). Nothing in here measures,
//! and nothing is claimed beyond twice the number of processes that were measured.

pub mod accuracy;
pub mod barnat;
pub mod bsp;
pub mod export;
pub mod hockney;
pub mod line;
pub mod loggp;
pub mod logp;
pub mod predict;
pub mod reduce;
pub mod relation;
pub mod schedule;

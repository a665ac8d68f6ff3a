//! The family in which factors multiply: times from a formula, noise drawn for whole cells, faults that multiply or add.
//!
//! In: a seed. Out: a [`case::Case`], and what a diagnosis makes of it. It is kept as it was, with its own scoring, so
//! that its figures can be compared with earlier ones; nothing of it is used by the other families.

pub mod case;
pub mod fabric;
pub mod score;

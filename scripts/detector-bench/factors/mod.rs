//! The family in which factors multiply: times from a formula, noise drawn for whole cells, faults that multiply or add.
//!
//! In: a seed. Out: a [`case::Case`], and what a diagnosis makes of it. What is drawn and how it is scored stay as they
//! were, so that figures can be compared with earlier ones, though noise comes in the order of the rounds; nothing of it is
//! used by the other families.

pub mod case;
pub mod fabric;
pub mod score;

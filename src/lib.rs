//! The MPI-free library behind `network_test` (measures) and `network_analyze` (analyses).
//!
//! A run goes through it from left to right; nothing flows back:
//!
//! ```text
//! plan  ->  measure (over a Fabric)  ->  record  ->  store  ->  record  ->  analysis  ->  view
//! ```
//!
//! * [`units`]: message lengths, times and host lists, so that they cannot be mixed up;
//! * [`plan`]: everything that is decided before anything runs: configuration, sweep, schedule;
//! * [`stats`]: samples to numbers;
//! * [`record`]: what a run is, in memory, and the [`record::Sink`] that accepts one;
//! * [`measure`]: walks a plan over a [`measure::Fabric`]; a synthetic machine stands next to the trait;
//! * [`store`]: runs to NetCDF files and back;
//! * [`analysis`]: records in, values out;
//! * [`view`]: finished values to text and pictures; computes nothing;
//! * [`exit`]: the exit codes of both programs.
//!
//! Who may import whom is checked by `tests/layers.rs`. Nothing in here knows MPI, parses a command line or prints.

#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod analysis;
pub mod exit;
pub mod measure;
pub mod plan;
pub mod record;
pub mod stats;
pub mod store;
pub mod units;
pub mod view;

/// Version of the package, and in release builds the commit that was built.
pub const VERSION: &str = env!("NETWORK_TEST_VERSION");

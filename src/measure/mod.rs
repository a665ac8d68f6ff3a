//! Measuring: walks a plan over a [`Fabric`], feeds a [`crate::record::Sink`], tells what happens through events.
//!
//! Every rank runs the same driver over its own end of the fabric; the rank with the sink is the root. The driver
//! knows neither MPI nor files nor a terminal. The [`synthetic`] machine stands next to the trait: a cluster with known
//! faults that is driven by the same code.

mod cells;
mod clock;
mod drift;
mod driver;
mod fabric;
mod forecast;
mod part;
mod retest;
mod stop;
mod stopping;
mod suspects;
pub mod synthetic;

pub use cells::{Cells, View};
pub use clock::{Bracket, ClockModel, Sync, smallest_step};
pub use driver::{Ending, Event, MeasureError, Outcome, Times, measure};
pub use fabric::{Fabric, FabricError, Shares};
pub use stop::{Stop, StopRequest};
pub use stopping::{Stopping, WarmUp};
pub use suspects::{Suspect, worst_of};

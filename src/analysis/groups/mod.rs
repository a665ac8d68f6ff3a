//! Which hosts are near each other, found in the data.

mod infer;
pub mod spectral;

pub use infer::{Band, absorb, candidates, infer, refine, settled, sorted};

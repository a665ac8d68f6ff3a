//! Models of communication: fits and predictions as text for people, as JSON for programs, as a picture, and as files for
//! other programs.

pub mod export;
pub mod fit;
pub mod picture;
pub mod prediction;

use crate::{analysis::model::line::Estimate, units::Seconds};

/// A time with its interval, in two columns.
fn time(estimate: Estimate) -> [String; 2] {
    [Seconds(estimate.value).to_string(), interval(estimate, |value| Seconds(value).to_string())]
}

/// The ends of an interval; `?` where it is not known.
fn interval(estimate: Estimate, text: impl Fn(f64) -> String) -> String {
    let Estimate { low, high, .. } = estimate;
    if low.is_nan() || high.is_nan() { "?".to_owned() } else { format!("{} to {}", text(low), text(high)) }
}

/// Seconds per byte, in two columns.
fn per_byte(estimate: Estimate) -> [String; 2] {
    let text = |value: f64| format!("{:.3} ns", value * 1e9);
    [text(estimate.value), interval(estimate, text)]
}

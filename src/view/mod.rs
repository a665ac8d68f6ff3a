//! Finished values to text and pictures, into any [`std::io::Write`].
//!
//! Views compute nothing but layout: every number comes from [`crate::record`] or [`crate::analysis`]. They open no
//! file and know no terminal beyond the width and the colours they are given.

pub mod advice;
pub mod bars;
pub mod cells;
mod colour;
pub mod comparison;
pub mod diagnosis;
pub mod heatmap;
pub mod info;
pub mod merge;
pub mod model;
mod names;
pub mod operations;
pub mod plot;
pub mod prometheus;
pub mod regions;
pub mod report;
mod scale;
mod table;
pub mod topology;

pub use colour::Colours;
pub use names::brief_labels;
pub use scale::{Scale, ScaleKind};
pub use table::Table;

use crate::{record::Statistic, units::Seconds};

/// A value of a statistic for people: a time with its unit, or a number of samples.
pub fn amount(statistic: Statistic, value: f64) -> String {
    match statistic {
        Statistic::MeasurementsAmount if value.is_nan() => Seconds(value).to_string(),
        Statistic::MeasurementsAmount => value.to_string(),
        _ => Seconds(value).to_string(),
    }
}

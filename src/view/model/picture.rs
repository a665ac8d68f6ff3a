//! Times over message lengths, both logarithmic: what was measured as squares, what a model says as lines.

use crate::view::{
    Scale, ScaleKind, amount,
    plot::{
        Scene,
        curves::{Curves, Points},
    },
};
use crate::{
    analysis::model::{
        accuracy::{Accuracy, Row},
        hockney::Hockney,
    },
    record::Statistic,
};

/// The medians of the classes and the lines through them.
pub fn of_hockney(hockney: &Hockney, title: String, width: u32) -> Scene {
    let curves = hockney.classes.iter().map(|class| {
        let measured = hockney.lengths.iter().copied().zip(class.seconds.iter().copied());
        let measured: Points = measured.filter(|(_, seconds)| *seconds > 0.0).collect();
        let lines = class.fit.pieces.iter().map(|piece| {
            let points = between(piece.first, piece.last).into_iter();
            points.map(|length| (length, piece.line.at(length as f64))).filter(|(_, value)| *value > 0.0).collect()
        });
        (class.name.to_owned(), measured, lines.collect())
    });
    scene(title, "squares: medians of all pairs; lines: alpha + beta s", curves.collect(), width)
}

/// Most curves of a picture.
const MOST_CURVES: usize = 6;

/// Measured and predicted times of reductions with the most processes; `None` where none was measured.
pub fn of_accuracy(accuracy: &Accuracy, width: u32) -> Option<Scene> {
    let is_meant = |row: &&Row| row.operation.starts_with("reduce_") && row.predicted.is_some();
    let procs = accuracy.rows.iter().filter(is_meant).map(|row| row.procs).max()?;
    let rows = || accuracy.rows.iter().filter(is_meant).filter(|row| row.procs == procs);
    let mut names: Vec<&str> = rows().map(|row| row.operation.as_str()).collect();
    names.dedup();
    let curves = names.into_iter().take(MOST_CURVES).map(|name| {
        let of = |value: &dyn Fn(&Row) -> Option<f64>| -> Points {
            rows().filter(|row| row.operation == name).filter_map(|row| Some((row.length, value(row)?))).collect()
        };
        (name.to_owned(), of(&|row| row.measured), vec![of(&|row| row.predicted)])
    });
    let title = format!("reductions with {procs} processes");
    Some(scene(title, "squares: measured; lines: predicted from LogGP", curves.collect(), width))
}

/// Lengths from the first to the last, evenly spread on the axis: a straight line is bent there.
fn between(first: u64, last: u64) -> Vec<u64> {
    const STEPS: u32 = 32;
    let [low, high] = [first, last].map(|length| (length as f64).ln_1p());
    let at = |step: u32| (low + (high - low) * f64::from(step) / f64::from(STEPS)).exp_m1().round() as u64;
    let mut lengths: Vec<u64> = (0..=STEPS).map(at).collect();
    lengths.dedup();
    lengths
}

/// A name, what was measured, and pieces of lines: `(length, seconds)`.
pub type Curve = (String, Points, Vec<Points>);

/// A picture of curves.
pub fn scene(title: String, subtitle: &str, curves: Vec<Curve>, width: u32) -> Scene {
    let values = curves.iter().flat_map(|(_, points, lines)| points.iter().chain(lines.iter().flatten()));
    let span =
        values.map(|point| point.1).filter(|value| *value > 0.0).fold(None, |span: Option<(f64, f64)>, value| {
            Some(span.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
    let scale = Scale::around(span.unwrap_or((0.0, 0.0)), ScaleKind::Log);
    let marks = |value: f64| amount(Statistic::Median, value);
    Curves { title, subtitle, curves: &curves, scale, mark: &marks }.scene(width, width * 6 / 10)
}

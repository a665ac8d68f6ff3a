//! The tolerance that a run's own noise suggests, and why.

use super::{Error, survey::Survey};
use crate::{
    record::{Run, Statistic, Tolerance},
    stats::{error_of_median, median},
};

/// So many standard deviations of equal cells: one in two million normal ones lies outside.
const SCATTERS: f64 = 5.0;

/// Smaller differences say nothing about a network.
const LEAST: f64 = 0.01;

/// With more noise than this a region has no level that would be worth a name.
const MOST: f64 = 0.5;

/// Neighbours scatter more than noise where they are of different kinds: then they are not asked.
const SAME_KIND: f64 = 1.5;

/// Lengths at which deviations are looked at.
const LOOKS: usize = 8;

/// A deviation of fewer samples says nothing, and none at all is the clock's.
const FEWEST_SAMPLES: f64 = 5.0;

/// Cells of each that are looked at, about.
const CELLS: usize = 1 << 14;

/// The tolerance and, in words, where it comes from.
pub(super) fn choose(run: &dyn Run, statistic: Statistic, survey: &Survey) -> Result<(Tolerance, String), Error> {
    let uncertainty = uncertainty(run, statistic)?;
    // Either may be too large (asymmetric modes; samples with a tail); neither is too small. NaN counts as absent.
    let noise = survey.reverse.min(survey.same_level).min(uncertainty.unwrap_or(f64::NAN));
    let neighbours = survey.neighbours;
    let scatter =
        if noise.is_nan() || neighbours < SAME_KIND * noise.max(LEAST / SCATTERS) { neighbours } else { noise };
    let scatter = if scatter.is_nan() { 0.0 } else { scatter.max(if noise.is_nan() { 0.0 } else { noise }) };
    let share = (SCATTERS * scatter).clamp(LEAST, MOST);
    // Two digits are as good as the estimate.
    let digit = 10f64.powf(share.log10().floor() - 1.0);
    let share = ((share / digit).ceil() * digit * 1e6).round() / 1e6;
    let mut reason = format!(
        "automatic: {SCATTERS} times the scatter of {} between pairs that should agree (on one level over all lengths: \
         {}; there and back: {}; neighbours in the matrix: {}",
        percent(scatter),
        percent(survey.same_level),
        percent(survey.reverse),
        percent(neighbours)
    );
    if let Some(uncertainty) = uncertainty {
        reason += &format!("; from deviation and number of samples: {}", percent(uncertainty));
    }
    reason += ")";
    if SCATTERS * scatter < LEAST {
        reason += &format!(", but not below {}", percent(LEAST));
    }
    if SCATTERS * scatter > MOST {
        reason += &format!(", but not above {}", percent(MOST));
    }
    Ok((Tolerance::Relative(share), reason))
}

fn percent(share: f64) -> String {
    if share.is_nan() { "unknown".to_owned() } else { format!("{:.2} %", 100.0 * share) }
}

/// How uncertain a typical value is, as a share of it: from the deviation of the samples and their number. `None`
/// where the run does not have them or the statistic is not a middle of samples.
fn uncertainty(run: &dyn Run, statistic: Statistic) -> Result<Option<f64>, Error> {
    let of_mean = match statistic {
        Statistic::Average => 1.0,
        Statistic::Median => error_of_median(1.0),
        _ => return Ok(None),
    };
    if !run.statistics().contains(&Statistic::Deviation) {
        return Ok(None);
    }
    let counted = run.statistics().contains(&Statistic::MeasurementsAmount);
    let mut shares = Vec::new();
    for length in (0..run.lengths().len()).step_by(run.lengths().len().div_ceil(LOOKS)) {
        let values = run.matrix(statistic, length)?;
        let deviations = run.matrix(Statistic::Deviation, length)?;
        let samples = if counted { Some(run.matrix(Statistic::MeasurementsAmount, length)?) } else { None };
        // An odd stride meets all columns of the usual even matrices.
        let stride = values.values().len().div_ceil(CELLS) | 1;
        for cell in (0..values.values().len()).step_by(stride) {
            let (value, deviation) = (values.values()[cell], deviations.values()[cell]);
            let number = samples.as_ref().map_or(f64::from(run.header().iterations), |samples| samples.values()[cell]);
            if value > 0.0 && deviation > 0.0 && number >= FEWEST_SAMPLES {
                shares.push(of_mean * deviation / number.sqrt() / value);
            }
        }
    }
    let share = median(&mut shares);
    Ok((share.is_finite()).then_some(share))
}

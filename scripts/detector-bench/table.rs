//! The table: a line for each family, and what they come to together.

use std::fmt;

use crate::score::{BANDS, Score};

/// Scores by family, in order.
pub struct Table(pub Vec<(&'static str, Score)>);

/// Percentages that can be required of all families together.
pub struct Aggregate {
    /// Faults above 5 standard errors that are named.
    pub recall: f64,
    /// Of those, not named while something else was.
    pub blamed: f64,
    /// Findings that are right.
    pub precision: f64,
    /// Healthy machines without a finding.
    pub quiet: f64,
    pub direction: f64,
    pub range: f64,
    /// Cases without a wrong word.
    pub clean: f64,
}

/// Of nothing, everything is right.
fn percent(part: usize, of: usize) -> f64 {
    if of == 0 { 100.0 } else { 100.0 * part as f64 / of as f64 }
}

/// `12/14`, or nothing of nothing.
fn share(part: usize, of: usize) -> String {
    if of == 0 { "-".to_owned() } else { format!("{part}/{of}") }
}

impl Table {
    pub fn aggregate(&self) -> Aggregate {
        let sum = self.0.iter().fold(Score::default(), |sum, (_, score)| sum.plus(score));
        let (far, all) = (sum.bands[BANDS - 1], sum.all());
        Aggregate {
            recall: percent(far.named, far.planted),
            blamed: if far.planted == 0 { 0.0 } else { percent(far.blamed, far.planted) },
            precision: percent(sum.right, sum.findings),
            quiet: percent(sum.quiet, sum.healthy),
            direction: percent(all.directed, all.named),
            range: percent(all.range_right, all.ranged),
            clean: percent(sum.clean, sum.cases),
        }
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, score: &Score) -> fmt::Result {
    let (far, all) = (score.bands[BANDS - 1], score.all());
    let [below, between, above] = score.bands.map(|band| share(band.named, band.planted));
    let blamed = if far.planted == 0 { "-".to_owned() } else { far.blamed.to_string() };
    writeln!(
        f,
        "{name:<14} {below:>9} {between:>9} {above:>9} {blamed:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7.0}",
        share(score.right, score.findings),
        share(score.quiet, score.healthy),
        share(all.directed, all.named),
        share(all.range_right, all.ranged),
        share(score.clean, score.cases),
        1e3 * score.seconds / score.cases.max(1) as f64,
    )
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<14} {:>9} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
            "named of",
            "<3 sigma",
            "3 to 5",
            ">5",
            "blamed",
            "findings",
            "quiet",
            "direction",
            "range",
            "no wrong",
            "ms"
        )?;
        for (name, score) in &self.0 {
            line(f, name, score)?;
        }
        let sum = self.0.iter().fold(Score::default(), |sum, (_, score)| sum.plus(score));
        line(f, "all", &sum)?;
        let all = self.aggregate();
        writeln!(f)?;
        writeln!(f, "faults above 5 standard errors named {:6.1} %", all.recall)?;
        writeln!(f, "  not named, another place was        {:6.1} %", all.blamed)?;
        writeln!(f, "findings that are right              {:6.1} %", all.precision)?;
        writeln!(f, "healthy machines without finding     {:6.1} %", all.quiet)?;
        writeln!(f, "direction right, where named         {:6.1} %", all.direction)?;
        writeln!(f, "range right, where named             {:6.1} %", all.range)?;
        write!(f, "cases without a wrong finding        {:6.1} %", all.clean)
    }
}

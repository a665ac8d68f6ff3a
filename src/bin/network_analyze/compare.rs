//! `compare`: what changed between two runs?

use std::path::PathBuf;

use netmatrix::{
    analysis::compare::{self, CompareError, Settings, Verdict},
    exit,
    record::Statistic,
    view::comparison::{Side, View},
};

use super::{
    failure::{Failure, Outcome},
    input::{Input, refuse_twice},
    output::{self, Format},
    typed::confidence,
};

/// Largest change, in per cent, that can be asked for.
const MOST_PERCENT: f64 = 10_000.0;

/// Say what became slower or faster since an earlier run
#[derive(clap::Args)]
#[command(after_help = RULES)]
pub struct Compare {
    /// The run to compare with: prefix of a result set, any file of it, an archive, or a .txt or .csv file
    base: PathBuf,

    /// The run to look at
    new: PathBuf,

    /// Statistic that is compared
    #[arg(long, short, default_value_t = Statistic::Median)]
    statistic: Statistic,

    /// Least change that counts, in per cent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = share)]
    threshold: f64,

    /// Probability with which two runs of a healthy machine differ in nothing
    #[arg(long, default_value = "0.99", value_parser = confidence)]
    confidence: f64,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const RULES: &str = "\
Hosts are joined by name, whatever their ranks; lengths are the same, else the nearest within a factor of 1.25. What was \
slow in both runs is no change. \"8 % slower\" is 1.08 times the time, \"8 % faster\" 0.92 times.

Exit code 1 if something became slower by at least the threshold and by more than noise; improvements, new, lost and \
moved hosts do not count. Exit code 5 if too little is in both runs, or if most hosts of the first are not in the second \
and nothing became slower.";

impl Compare {
    /// Prints the comparison.
    pub fn run(self) -> Outcome {
        if self.statistic == Statistic::MeasurementsAmount {
            return Err(Failure::usage(format!("{} is no time: choose another --statistic", self.statistic)));
        }
        refuse_twice(&[&self.base, &self.new])?;
        let open = |path| -> Result<Input, Failure> {
            let input = Input::open_quietly(path)?;
            input.require(self.statistic)?;
            // Says so itself where there is none.
            input.length_index(None)?;
            Ok(input)
        };
        let (base, new) = (open(&self.base)?, open(&self.new)?);
        let settings = Settings { statistic: self.statistic, threshold: self.threshold, confidence: self.confidence };
        let mut comparison = compare::compare(&*base.run, &*new.run, settings).map_err(|error| match error {
            CompareError::Incompatible(text) => Failure::usage(text),
            CompareError::Read(error) => Failure::files(error),
        })?;
        let names = [&self.base, &self.new].map(|path| path.display().to_string());
        for (input, name) in [(&base, &names[0]), (&new, &names[1])] {
            comparison.notices.extend(input.notices.iter().map(|notice| format!("`{name}`: {notice}")));
        }
        let view = View {
            comparison: &comparison,
            base: Side { name: &names[0], header: base.run.header() },
            new: Side { name: &names[1], header: new.run.header() },
        };
        match self.format {
            Format::Text => output::print(|out| view.write(out))?,
            Format::Json => output::print_json(&view.document())?,
        }
        Ok(match comparison.verdict {
            Verdict::Regression => exit::FINDINGS,
            Verdict::Incomparable => exit::UNJUDGED,
            _ => exit::SUCCESS,
        })
    }
}

/// `5` or `5%` as a share.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= MOST_PERCENT => Ok(percent / 100.0),
        _ => Err(format!("not a number of per cent above 0 and up to {MOST_PERCENT}: write 5 for 5 %")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_number_of_per_cent() {
        assert_eq!((share("5"), share("2.5%"), share(" 10 % ")), (Ok(0.05), Ok(0.025), Ok(0.1)));
        for text in ["0", "-1", "five", "", "NaN", "inf", "%", "1e9"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}

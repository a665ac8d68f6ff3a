//! `merge`: runs over different hosts to one.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::SystemTime,
};

use netmatrix::{
    analysis::{
        merge::{Merged, Part},
        tally::Tally,
    },
    exit,
    store::{self, FileIds},
    view::merge::Joined,
};

use super::{
    failure::{Failure, Outcome},
    input::{Input, refuse_twice},
    output::{self, Format},
};

/// Join runs over different hosts into one result set
#[derive(clap::Args)]
#[command(after_help = RULES)]
pub struct Merge {
    /// Prefixes of result sets, any files of them, or .txt or .csv files
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Prefix of the new result set
    #[arg(long, short, value_name = "PREFIX")]
    output: PathBuf,

    /// Replace existing files
    #[arg(long)]
    force: bool,

    /// What to print: nothing, or what was joined and what came of it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const RULES: &str = "\
Ranks are the same where they have the same place on a host of the same name. Hosts stand in the order in which the runs \
name them, with their ranks side by side; a host has as many ranks as the run with most of them gives it.

The runs must agree in mode, message lengths and timing, and in the noise where the mode has it. Other settings that \
differ, such as the schedule, become `mixed` in the new set. Unfinished runs are merged up to the last length that all \
have. A single run is copied; one that is named twice is refused.

A pair that no run measured is missing (not_scheduled). A pair that one run measured is kept as it is. Where several did, \
min and max are those of all samples, the average is weighted by numbers of samples, and the deviation is pooled from \
numbers, averages and deviations: exactly what all samples together would have given. The median is the mean of the \
medians, weighted by numbers of samples: near the median of all samples, which are not kept, but not the same. Samples \
add up in measurements_amount. Pairs that were measured again come along.";

impl Merge {
    /// Reads the runs side by side and writes the new set.
    pub fn run(self) -> Outcome {
        self.check_names()?;
        let mut inputs = Vec::new();
        let mut notices = Vec::new();
        for path in &self.runs {
            let input = Input::open_quietly(path)?;
            notices.extend(input.notices.iter().map(|notice| format!("`{}`: {notice}", path.display())));
            inputs.push((path.display().to_string(), input));
        }
        let parts: Vec<_> = inputs.iter().map(|(name, input)| Part { name, run: &*input.run }).collect();
        let command = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        let created = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let merged = Merged::new(&parts, &command, &created).map_err(Failure::files)?;
        notices.extend_from_slice(merged.notices());
        notices.iter().for_each(|notice| output::note(notice));
        let read: Vec<&Path> = self.runs.iter().map(PathBuf::as_path).collect();
        output::write_set(&merged, &self.output, self.force, &read)?;
        if self.format == Format::Json {
            let parts: Vec<_> = parts.iter().map(|part| (part.name, part.run)).collect();
            let (output, tally) = (self.output.display().to_string(), Tally::of(&merged).map_err(Failure::files)?);
            let joined = Joined { output: &output, parts: &parts, run: &merged, tally: &tally, notices: &notices };
            output::print_json(&joined.document())?;
        }
        Ok(exit::SUCCESS)
    }

    /// Refuses names that cannot be meant, before any file is touched.
    fn check_names(&self) -> Result<(), Failure> {
        let output = self.output.display();
        if let Some("nc" | "txt" | "csv") = self.output.extension().and_then(OsStr::to_str) {
            let prefix = self.output.with_extension("");
            let text =
                format!("`{output}` is one file, a result set has many: give their prefix, `{}`", prefix.display());
            return Err(Failure::usage(text));
        }
        for run in &self.runs {
            if store::prefix_of(run).as_ref().unwrap_or(run)
                == store::prefix_of(&self.output).as_ref().unwrap_or(&self.output)
                || FileIds::of(run).meet(&FileIds::of(&self.output))
            {
                return Err(Failure::usage(format!("`{output}` is to be merged itself: choose another output")));
            }
        }
        refuse_twice(&self.runs)
    }
}

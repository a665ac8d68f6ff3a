//! `diagnose`: what is slow, and who is to blame?

use std::path::PathBuf;

use netmatrix::{
    analysis::diagnose::{self, DiagnoseError, Diagnosis, Options},
    exit,
    record::Run,
    view,
};

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output::{self, Format},
};

/// Name the hosts, links, groups and ranks that are slower than their peers
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 healthy, 1 findings, 2 wrong command line, 3 unusable input or a measurement that\n\
    cannot be judged, 4 internal fault."
)]
pub struct Diagnose {
    /// Prefixes of result sets of the same hosts in different modes, any file of each, or .txt or .csv files
    #[arg(required = true)]
    runs: Vec<PathBuf>,

    /// Probability with which a healthy run has no finding at all
    #[arg(long, default_value_t = 0.99, value_name = "P")]
    confidence: f64,

    /// Show the evidence for one finding, by its name in the list
    #[arg(long, value_name = "FINDING")]
    explain: Option<String>,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Diagnose {
    /// Prints the diagnosis.
    pub fn run(self) -> Outcome {
        if !(0.5..1.0).contains(&self.confidence) {
            let value = self.confidence;
            return Err(Failure::usage(format!("--confidence {value}: give a probability from 0.5 to below 1")));
        }
        let inputs: Vec<Input> = self.runs.iter().map(|path| Input::open(path)).collect::<Result<_, _>>()?;
        let runs: Vec<&dyn Run> = inputs.iter().map(|input| &*input.run).collect();
        let options = Options { confidence: self.confidence, groups: None };
        let diagnosis = diagnose::diagnose(&runs, &options).map_err(|error| match error.downcast_ref() {
            Some(DiagnoseError::DifferentHosts(..)) => Failure::usage(error),
            _ => Failure::files(error),
        })?;
        let explained = self.explain.as_deref().map(|name| number(&diagnosis, name)).transpose()?;
        match (self.format, explained) {
            (Format::Json, _) => output::print_json(&view::diagnosis::document(&diagnosis))?,
            (Format::Text, None) => output::print(|out| view::diagnosis::write(&diagnosis, out))?,
            (Format::Text, Some(number)) => {
                output::print(|out| view::diagnosis::write_evidence(&diagnosis, number, out))?;
            }
        }
        Ok(match diagnosis.verdict() {
            "healthy" => exit::SUCCESS,
            "findings" => exit::FINDINGS,
            _ => exit::FILES,
        })
    }
}

/// The number of the finding that has this name.
fn number(diagnosis: &Diagnosis, name: &str) -> Result<usize, Failure> {
    let count = diagnosis.findings.len();
    (0..count).find(|number| view::diagnosis::id(*number).eq_ignore_ascii_case(name)).ok_or_else(|| {
        let all: Vec<_> = (0..count).map(view::diagnosis::id).collect();
        let there =
            if all.is_empty() { "there are no findings".to_owned() } else { format!("there are {}", all.join(", ")) };
        Failure::usage(format!("--explain {name}: no such finding; {there}"))
    })
}

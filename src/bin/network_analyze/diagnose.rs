//! `diagnose`: what is slow, and who is to blame?

use std::path::{Path, PathBuf};

use netmatrix::{
    analysis::diagnose::{self, DiagnoseError, Diagnosis, Options, stuck},
    exit,
    record::{Run, Statistic},
    view::{self, prometheus::Source},
};
use serde::Serialize;

use super::{
    failure::{Failure, Outcome},
    input::{Input, refuse_copies, refuse_twice, since_1970},
    output::{self, Format},
    topology_file::{TopologyFile, group_of_host},
    typed::confidence,
};

/// Probability with which a healthy run has no finding, unless somebody asks for another one.
pub const CONFIDENCE: f64 = 0.99;

/// Name the hosts, links, groups and ranks that are slower than their peers
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 healthy; 1 findings; 2 wrong command line; 3 unusable input or output file; 4 internal fault; \
                  5 a measurement that cannot be judged."
)]
pub struct Diagnose {
    /// Prefixes of result sets of the same hosts in different modes, any file of each, or .txt or .csv files
    #[arg(required = true)]
    runs: Vec<PathBuf>,

    /// Probability with which a healthy run has no finding at all
    #[arg(long, default_value_t = CONFIDENCE, value_name = "P", value_parser = confidence)]
    confidence: f64,

    /// Which hosts share a switch: Slurm's topology.yaml or topology.conf, what `scontrol show topology` or
    /// `ibnetdiscover` prints, or a DOT graph
    /// [default: the groups that the data show]
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,

    /// Show the evidence for one finding, by its name in the list
    #[arg(long, value_name = "FINDING")]
    explain: Option<String>,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write the JSON document into a file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write metrics for the text-file collector of Prometheus' node exporter as well: the verdict, and what findings
    /// say about every host; an existing file is replaced, for it is always the newest measurement's
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,

    /// Replace an existing file of --json
    #[arg(long, requires = "json")]
    force: bool,
}

impl Diagnose {
    /// Prints the diagnosis.
    pub fn run(self) -> Outcome {
        let file = self.topology.as_deref().map(TopologyFile::open).transpose()?;
        refuse_twice(&self.runs)?;
        let inputs: Vec<Input> = self.runs.iter().map(|path| Input::open(path)).collect::<Result<_, _>>()?;
        refuse_copies(&inputs)?;
        inputs.iter().try_for_each(|input| input.require(Statistic::Median))?;
        let hosts = &inputs[0].run.header().hosts;
        let groups = file.map(|file| Ok(group_of_host(&file.of(hosts)?, hosts))).transpose()?;
        let inputs: Vec<&Input> = inputs.iter().collect();
        let diagnosis = judge(&inputs, self.confidence, groups)?;
        let explained = self.explain.as_deref().map(|name| number(&diagnosis, name)).transpose()?;
        let read: Vec<&Path> = self.runs.iter().chain(&self.topology).map(PathBuf::as_path).collect();
        if let Some(path) = &self.json {
            let document = document(&diagnosis, &inputs);
            let text = output::json(&document)?;
            output::finish(output::begin(path, self.force, &read)?, |out| Ok(writeln!(out, "{text}")?))?;
        }
        if let Some(path) = &self.prometheus {
            let (run, sources) = (inputs[0].name(), inputs.iter().map(|input| source(input)).collect::<Vec<_>>());
            let output = output::begin(path, true, &read)?;
            output::finish(output, |out| Ok(view::prometheus::write(&diagnosis, &run, &sources, out)?))?;
        }
        match (self.format, explained) {
            (Format::Json, _) => output::print_json(&document(&diagnosis, &inputs))?,
            (Format::Text, None) => output::print(|out| view::diagnosis::write(&diagnosis, out))?,
            (Format::Text, Some(number)) => {
                output::print(|out| view::diagnosis::write_evidence(&diagnosis, number, out))?;
            }
        }
        Ok(match diagnosis.verdict() {
            "healthy" => exit::SUCCESS,
            "findings" => exit::FINDINGS,
            _ => exit::UNJUDGED,
        })
    }
}

/// A diagnosis, and which runs it is about.
#[derive(Serialize)]
struct Named {
    #[serde(flatten)]
    document: view::diagnosis::Document,
    judged: Vec<Judged>,
}

/// A run as it was named, and where it comes from; null: not known.
#[derive(Serialize)]
struct Judged {
    path: String,
    created: Option<String>,
    program_version: Option<String>,
}

/// The document of a diagnosis, which says which runs were judged.
pub fn document(diagnosis: &Diagnosis, inputs: &[&Input]) -> impl Serialize + use<> {
    let judged = |input: &&Input| {
        let provenance = &input.run.header().provenance;
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Judged {
            path: input.path.display().to_string(),
            created: known(&provenance.created),
            program_version: known(&provenance.program_version),
        }
    };
    Named { document: view::diagnosis::document(diagnosis), judged: inputs.iter().map(judged).collect() }
}

/// Where a run comes from, for metrics.
fn source(input: &Input) -> Source {
    let header = input.run.header();
    let seconds = since_1970(&header.provenance.created).map(|since| since.as_secs_f64());
    Source { mode: header.mode.name(), version: header.provenance.program_version.clone(), created: seconds }
}

/// Judges runs of the same hosts together. `groups`: of every host, `[host]`, where somebody knows them. What an
/// unfinished run waited for in vain is evidence; what an earlier try of a finished one did is not.
pub fn judge(inputs: &[&Input], confidence: f64, groups: Option<Vec<usize>>) -> Result<Diagnosis, Failure> {
    let runs: Vec<&dyn Run> = inputs.iter().map(|input| &*input.run).collect();
    let judged = diagnose::diagnose(&runs, &Options { confidence, groups });
    let mut diagnosis = judged.map_err(|error| match error.downcast_ref() {
        Some(DiagnoseError::DifferentHosts(..)) => Failure::usage(error),
        _ => Failure::files(error),
    })?;
    for input in inputs.iter().filter(|input| !input.run.is_complete()) {
        let file = input.stuck_file();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        stuck::add(&mut diagnosis, input.run.header(), &input.stuck, &name);
    }
    Ok(diagnosis)
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

//! `diagnose`: what is slow, and where?

use std::path::PathBuf;

use netmatrix::{
    analysis::diagnose::{self, Direction, Kind},
    exit,
};

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output::{self, Format},
};

/// Name slow hosts, links and groups
#[derive(clap::Args)]
pub struct Diagnose {
    /// Prefix of a result set, any file of it, or a .txt or .csv file
    run: PathBuf,

    /// Probability with which a healthy run has no finding
    #[arg(long, default_value_t = 0.99)]
    confidence: f64,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Diagnose {
    /// Prints the diagnosis.
    pub fn run(self) -> Outcome {
        let input = Input::open_quietly(&self.run)?;
        let diagnosis = diagnose::diagnose(&*input.run, self.confidence).map_err(Failure::files)?;
        let findings: Vec<_> = diagnosis
            .findings
            .iter()
            .map(|finding| {
                serde_json::json!({
                    "kind": match finding.kind { Kind::Node => "node", Kind::Rank => "rank", Kind::Link => "link", Kind::Group => "group" },
                    "hosts": finding.hosts.iter().map(|host| &diagnosis.names[*host]).collect::<Vec<_>>(),
                    "direction": match finding.direction { Direction::Both => "both", Direction::Send => "send", Direction::Receive => "receive" },
                    "ratio": finding.effect.exp(),
                    "lengths": [finding.range.0.0, finding.range.1.0],
                    "doubt": finding.doubt,
                    "score": finding.score,
                })
            })
            .collect();
        let is_healthy = findings.is_empty();
        let groups = diagnosis.group.iter().max().map_or(0, |g| g + 1);
        output::print_json(&serde_json::json!({ "findings": findings, "groups": groups, "group": diagnosis.group }))?;
        Ok(if is_healthy { exit::SUCCESS } else { exit::FINDINGS })
    }
}

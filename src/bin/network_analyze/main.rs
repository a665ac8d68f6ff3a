//! `network_analyze`: looks at what `network_test` measured. Needs no MPI.
//!
//! One file per subcommand: a clap `Args` struct named as the subcommand, with `run(self) -> Outcome`. Results go to
//! standard output, everything said about them to standard error; the exit codes are those of [`netmatrix::exit`].

mod advise;
mod cluster;
mod compare;
mod convert;
mod diagnose;
mod expand;
mod export;
mod failure;
mod fit;
mod generate;
mod info;
mod input;
mod memory;
mod merge;
mod output;
mod plot;
mod predict;
mod report;
mod terminal;
mod topology;
mod topology_file;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Outcome;

/// Looks at what network_test measured: matrices of all pairs of MPI processes over message lengths
#[derive(Parser)]
#[command(name = "network_analyze", version, max_term_width = 100, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "A run is named by its prefix, or by any file of its set.
Exit codes: 0 fine; 1 findings (diagnose, compare); 2 wrong command line; 3 unusable input or output
file; 4 internal fault; 5 cannot be judged or compared (diagnose, compare).";

/// From `module::Subcommand`: the enum that clap reads, and what carries it out.
macro_rules! subcommands {
    ($($module:ident::$name:ident),* $(,)?) => {
        #[derive(Subcommand)]
        enum Command {
            $($name($module::$name)),*
        }

        impl Command {
            fn run(self) -> Outcome {
                match self {
                    $(Self::$name(command) => command.run()),*
                }
            }
        }
    };
}

subcommands! {
    diagnose::Diagnose,
    report::Report,
    compare::Compare,
    info::Info,
    view::View,
    plot::Plot,
    advise::Advise,
    topology::Topology,
    merge::Merge,
    convert::Convert,
    cluster::Cluster,
    expand::Expand,
    fit::Fit,
    predict::Predict,
    generate::Generate,
}

fn main() -> ExitCode {
    failure::report_panics();
    let outcome = CommandLine::parse().command.run();
    ExitCode::from(outcome.unwrap_or_else(|failure| failure.report()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_defined() {
        CommandLine::command().debug_assert();
    }
}

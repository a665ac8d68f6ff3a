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
mod pages;
mod plot;
mod predict;
mod refusal;
mod report;
mod terminal;
mod threads;
mod topology;
mod topology_file;
mod typed;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use netmatrix::{VERSION, exit, store};

use failure::Outcome;

/// Looks at what network_test measured: matrices of all pairs of MPI processes over message lengths
#[derive(Parser)]
#[command(name = "network_analyze", version = VERSION, max_term_width = 100, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "A run is named by its prefix, or by any file of its set.
Exit codes: 0 fine; 1 findings (diagnose, compare); 2 wrong command line; 3 unusable input or output file; \
4 internal fault; 5 cannot be judged or compared (diagnose, compare).";

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
    let mut program = CommandLine::command();
    // The libraries are asked only if somebody wants to know.
    if std::env::args_os().any(|word| word == "--version") {
        program = program.long_version(&*format!("{VERSION}\nfiles: {}", store::libraries()).leak());
    }
    let typed = program.try_get_matches().and_then(|matches| CommandLine::from_arg_matches(&matches));
    let CommandLine { command } = match typed {
        Ok(typed) => typed,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::SUCCESS };
            refusal::print(CommandLine::command(), error);
            return ExitCode::from(code);
        }
    };
    let outcome = threads::on_all(|| command.run());
    ExitCode::from(outcome.unwrap_or_else(|failure| failure.report()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_defined() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn what_is_wrong_is_said_in_words_of_people() {
        for subcommand in CommandLine::command().get_subcommands() {
            for argument in subcommand.get_arguments() {
                let Some(long) = argument.get_long().filter(|_| argument.get_action().takes_values()) else { continue };
                let words = ["network_analyze", subcommand.get_name(), &format!("--{long}=?")].map(str::to_owned);
                let refusal = CommandLine::command().try_get_matches_from(words);
                let text = refusal.err().map(|error| error.to_string()).unwrap_or_default();
                assert!(!text.contains("digit") && !text.contains("literal") && !text.contains("parse"), "{text}");
            }
        }
    }
}

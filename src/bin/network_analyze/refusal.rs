//! What clap says of a command line, in the form of all messages of these programs: their name comes first. In a job's log
//! they stand among those of MPI, of Slurm and of each other.

use std::io::Write;

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use supports_color::Stream;

/// What clap says of a subcommand that it does not know, with the one that may be meant: asked for help on it, clap names
/// none.
fn with_tip(error: Error, mut program: Command) -> Error {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let words = [program.get_name().to_owned(), unknown.clone()];
    program.try_get_matches_from_mut(words).err().unwrap_or(error)
}

/// Prints a refusal, or the help or the version that was asked for.
pub fn print(program: Command, error: Error) {
    let name = program.get_name().to_owned();
    let error = with_tip(error, program);
    // A closed pipe is no reason to fail.
    let _ = match error.use_stderr() {
        false => error.print(),
        true => {
            std::io::stderr().write_all(text(&name, error, supports_color::on(Stream::Stderr).is_some()).as_bytes())
        }
    };
}

fn text(program: &str, mut error: Error, has_colours: bool) -> String {
    // Of a flag that does not exist, clap also says how to name a file like it: that is never meant.
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    let rendered = error.render();
    let text = if has_colours { rendered.ansi().to_string() } else { rendered.to_string() };
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => text,
        _ => text.replacen("error:", &format!("{program}:"), 1),
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn refused(words: &[&str], has_colours: bool) -> String {
        let run = Arg::new("run").num_args(1..);
        let command = Command::new("it").arg(run).arg(Arg::new("length").long("length"));
        text("it", command.try_get_matches_from(words).unwrap_err(), has_colours)
    }

    #[test]
    fn a_refusal_begins_with_the_name_of_the_program() {
        assert!(refused(&["it", "--other"], false).starts_with("it: unexpected argument '--other' found\n\nUsage"));
        let coloured = refused(&["it", "--other"], true);
        assert!(
            coloured.starts_with('\u{1b}') && coloured.contains("it:") && !coloured.contains("error"),
            "{coloured}"
        );
    }

    #[test]
    fn whoever_asks_for_help_on_a_subcommand_that_is_not_there_reads_which_is_meant() {
        let program = || Command::new("it").subcommand(Command::new("diagnose"));
        let refusal = |words: &[&str]| {
            let error = program().try_get_matches_from(words).unwrap_err();
            text("it", with_tip(error, program()), false)
        };
        for words in [&["it", "help", "diagnos"][..], &["it", "diagnos"]] {
            assert!(refusal(words).contains("a similar subcommand exists: 'diagnose'"), "{}", refusal(words));
        }
        assert!(refusal(&["it", "--other"]).contains("unexpected argument '--other'"));
    }

    #[test]
    fn only_tips_that_can_be_meant_are_given() {
        let text = refused(&["it", "--lenght=5"], false);
        assert!(text.contains("tip: a similar argument exists: '--length'"), "{text}");
        assert!(!refused(&["it", "--other"], false).contains("tip"));
    }
}

//! What clap says of a command line, in the form of all messages of these programs: their name comes first. In a job's log
//! they stand among those of MPI, of Slurm and of each other.

use std::io::Write;

use clap::{
    Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use supports_color::Stream;

/// Prints a refusal, or the help or the version that was asked for.
pub fn print(program: &str, error: Error) {
    // A closed pipe is no reason to fail.
    let _ = match error.use_stderr() {
        false => error.print(),
        true => {
            std::io::stderr().write_all(text(program, error, supports_color::on(Stream::Stderr).is_some()).as_bytes())
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
    use clap::{Arg, Command};

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
    fn only_tips_that_can_be_meant_are_given() {
        let text = refused(&["it", "--lenght=5"], false);
        assert!(text.contains("tip: a similar argument exists: '--length'"), "{text}");
        assert!(!refused(&["it", "--other"], false).contains("tip"));
    }
}

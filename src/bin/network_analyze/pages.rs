//! Manual pages and completions made of a command line, for both programs.

use clap_complete::Shell;
use netmatrix::VERSION;

/// What can be generated.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum What {
    /// Manual pages
    Man,
    /// Completions for bash, zsh and fish
    Completions,
    /// JSON schemas of the documents that --format json prints
    Schemas,
}

/// Name and content.
pub type File = (String, Vec<u8>);

/// A page for the program, and one for each subcommand that is not hidden.
pub fn pages(program: clap::Command) -> std::io::Result<Vec<File>> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    std::iter::once(program.clone())
        .chain(commands)
        .map(|command| {
            let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
            let mut text = Vec::new();
            // A blank date, which keeps its place: the same sources make the same page on every day.
            clap_mangen::Man::new(command)
                .title(name.to_uppercase())
                .date(" ")
                .source(format!("network_test {VERSION}"))
                .manual("User commands")
                .render(&mut text)?;
            Ok((format!("{name}.1"), text))
        })
        .collect()
}

/// A file for each shell.
pub fn completions(program: clap::Command) -> Vec<File> {
    let name = program.get_name().to_owned();
    [Shell::Bash, Shell::Zsh, Shell::Fish]
        .map(|shell| {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut program.clone(), name.clone(), &mut text);
            (format!("{name}.{shell}"), text)
        })
        .into_iter()
        .collect()
}

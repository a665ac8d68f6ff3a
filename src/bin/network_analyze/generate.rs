//! `generate`: manual pages and completions, for packages. Hidden: nobody who looks at results needs it.
//!
//! Pages of commands are made from their command lines; those on file formats, methods and models are text beside this
//! file.

use std::path::PathBuf;

use anyhow::Context;
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use netmatrix::exit;

use super::{
    CommandLine,
    failure::{Failure, Outcome},
    output,
};

/// Pages that are no command's: name and text.
const PAGES: [(&str, &str); 3] = [
    ("network_test-files.5", include_str!("manual/network_test-files.5")),
    ("network_test-methods.7", include_str!("manual/network_test-methods.7")),
    ("network_test-models.7", include_str!("manual/network_test-models.7")),
];

/// What can be generated.
#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Manual pages
    Man,
    /// Completions for bash, zsh and fish
    Completions,
}

/// Write manual pages or completions into a folder
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Generate {
    /// What to write
    what: What,

    /// Folder, made if it is not there
    folder: PathBuf,
}

impl Generate {
    /// Writes the files.
    pub fn run(self) -> Outcome {
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make the folder `{}`", self.folder.display()))
            .map_err(Failure::Files)?;
        let files = match self.what {
            What::Man => pages(CommandLine::command()).map_err(Failure::internal)?,
            What::Completions => completions(CommandLine::command()),
        };
        for (name, text) in files {
            let output = output::begin(&self.folder.join(name), true, &[])?;
            output::finish(output, |out| Ok(out.write_all(&text)?))?;
        }
        Ok(exit::SUCCESS)
    }
}

type File = (String, Vec<u8>);

/// A page for the program, one for each subcommand that is not hidden, and those of [`PAGES`].
fn pages(program: clap::Command) -> std::io::Result<Vec<File>> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut files: Vec<File> =
        PAGES.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into_iter().collect();
    for command in std::iter::once(program.clone()).chain(commands) {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let mut text = Vec::new();
        clap_mangen::Man::new(command).title(name.to_uppercase()).render(&mut text)?;
        files.push((format!("{name}.1"), text));
    }
    Ok(files)
}

fn completions(program: clap::Command) -> Vec<File> {
    [Shell::Bash, Shell::Zsh, Shell::Fish]
        .map(|shell| {
            let mut text = Vec::new();
            let name = program.get_name().to_owned();
            clap_complete::generate(shell, &mut program.clone(), name, &mut text);
            (format!("network_analyze.{shell}"), text)
        })
        .into_iter()
        .collect()
}

//! `generate`: manual pages, completions and JSON schemas, for packages. Hidden: looking at results does not need it.
//!
//! Pages of commands are made from their command lines; those on file formats, methods and models are text next to this
//! file. Schemas stand next to the views that print the documents.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;
use netmatrix::exit;

use super::{
    CommandLine,
    failure::{Failure, Outcome},
    output,
    pages::{File, What, completions, pages},
};

/// Pages that are no command's: name and text.
const PAGES: [(&str, &str); 3] = [
    ("network_test-files.5", include_str!("manual/network_test-files.5")),
    ("network_test-methods.7", include_str!("manual/network_test-methods.7")),
    ("network_test-models.7", include_str!("manual/network_test-models.7")),
];

/// Schemas of the documents that `--format json` prints: name and text.
const SCHEMAS: [(&str, &str); 10] = [
    ("cells-1.json", include_str!("../../view/schema/cells-1.json")),
    ("comparison-1.json", include_str!("../../view/schema/comparison-1.json")),
    ("diagnosis-1.json", include_str!("../../view/schema/diagnosis-1.json")),
    ("fit-1.json", include_str!("../../view/schema/fit-1.json")),
    ("info-1.json", include_str!("../../view/schema/info-1.json")),
    ("merge-1.json", include_str!("../../view/schema/merge-1.json")),
    ("operations-1.json", include_str!("../../view/schema/operations-1.json")),
    ("prediction-1.json", include_str!("../../view/schema/prediction-1.json")),
    ("regions-1.json", include_str!("../../view/schema/regions-1.json")),
    ("topology-1.json", include_str!("../../view/schema/topology-1.json")),
];

/// Write manual pages, completions or JSON schemas into a folder
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
            What::Man => pages(CommandLine::command()).map(|files| [files, texts(&PAGES)].concat()),
            What::Completions => Ok(completions(CommandLine::command())),
            What::Schemas => Ok(texts(&SCHEMAS)),
        };
        let files = files.map_err(Failure::internal)?;
        for (name, text) in files {
            let output = output::begin(&self.folder.join(name), true, &[])?;
            output::finish(output, |out| Ok(out.write_all(&text)?))?;
        }
        Ok(exit::SUCCESS)
    }
}

fn texts(texts: &[(&str, &str)]) -> Vec<File> {
    texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

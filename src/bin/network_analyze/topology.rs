//! `topology`: which hosts are near each other, and is that what a file says?

use std::{
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
};

use netmatrix::{
    analysis::topology::{contradiction::contradictions, inferred::Inferred},
    exit,
    record::{BoxError, Statistic},
    view::topology::{Structure, Written},
};

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output,
    topology_file::TopologyFile,
};

/// Find the groups of hosts that are near each other, as the data show them; check a topology file; draw a graph
#[derive(clap::Args)]
pub struct Topology {
    /// Prefix of a result set, any file of it, an archive of `cluster`, or a .txt or .csv file
    run: PathBuf,

    /// Compare with Slurm's topology.yaml or topology.conf, what `scontrol show topology` or `ibnetdiscover` prints, or a
    /// DOT graph
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,

    /// Form of the result [default: what the output's name says, else text]
    #[arg(long, value_enum)]
    format: Option<Form>,

    /// Write into a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// For people
    Text,
    /// For programs: one JSON document
    Json,
    /// For Graphviz: hosts in groups, edges between groups with typical latency and bandwidth
    Dot,
}

impl Form {
    /// What the name of a file says.
    fn of(path: &Path) -> Self {
        match path.extension().and_then(OsStr::to_str) {
            Some("dot" | "gv") => Self::Dot,
            Some("json") => Self::Json,
            _ => Self::Text,
        }
    }
}

impl Topology {
    /// Prints the groups.
    pub fn run(self) -> Outcome {
        let file = self.topology.as_deref().map(TopologyFile::open).transpose()?;
        let input = Input::open(&self.run)?;
        input.require(Statistic::Median)?;
        let run = &*input.run;
        let hosts = &run.header().hosts;
        let topology = file.map(|file| file.of(hosts)).transpose()?;
        // Says that there is nothing to show where no length is finished.
        input.length_index(None)?;
        let inferred = Inferred::of(run).map_err(Failure::files)?;
        let inferred = inferred.ok_or_else(|| Failure::internal("a run with lengths has no groups"))?;
        let leaves = topology.as_ref().map(|topology| topology.leaves()).unwrap_or_default();
        let differences = topology.as_ref().map(|t| contradictions(&leaves, &t.missing, &inferred, hosts.count()));
        let written = topology.as_ref().zip(self.topology.as_deref()).map(|(topology, path)| Written {
            name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            topology,
            leaves: &leaves,
            contradictions: differences.as_deref().unwrap_or_default(),
        });
        let structure = Structure { header: run.header(), lengths: run.lengths().len(), inferred: &inferred, written };
        self.write(&structure)?;
        Ok(exit::SUCCESS)
    }

    fn write(&self, structure: &Structure) -> Result<(), Failure> {
        let path = self.output.as_deref().filter(|path| path.as_os_str() != "-");
        let form = self.format.unwrap_or_else(|| path.map_or(Form::Text, Form::of));
        let json = if form == Form::Json { output::json(&structure.document())? } else { String::new() };
        let write = |out: &mut dyn Write| -> Result<(), BoxError> {
            match form {
                Form::Text => structure.write(out)?,
                Form::Json => writeln!(out, "{json}")?,
                Form::Dot => structure.write_dot(out)?,
            }
            Ok(())
        };
        match path {
            Some(path) => {
                let read = [Some(self.run.as_path()), self.topology.as_deref()];
                let read: Vec<&Path> = read.into_iter().flatten().collect();
                output::finish(output::begin(path, self.force, &read)?, write).map(drop)
            }
            None => output::print_any(write),
        }
    }
}

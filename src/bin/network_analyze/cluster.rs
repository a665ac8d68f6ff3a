//! `cluster`: a run by its stable regions, as an archive and as a table.

use std::path::{Path, PathBuf};

use netmatrix::{
    analysis::cluster::{self, Error, Options, regions},
    exit,
    record::{BoxError, Clustered, DECODED_TOLERANCE, PartSink, Run, Statistic, Tolerance},
    store,
    units::{counted, whole},
    view::regions::Regions,
};

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output::{self, Format},
};

/// Find the sets of pairs that behave alike over ranges of lengths; keep them in an archive, or list them
#[derive(clap::Args)]
pub struct Cluster {
    /// Prefix of a result set, any file of it, or an archive that is to be listed
    run: PathBuf,

    /// Archive to write, for example run.cluster.nc
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the regions: who with whom, at which lengths, how long it takes
    #[arg(long)]
    list: bool,

    /// List every set and rectangle, however many there are (json always does)
    #[arg(long, requires = "list")]
    all: bool,

    /// Statistic to keep
    #[arg(long, short, default_value_t = Statistic::Median)]
    statistic: Statistic,

    /// How far a decoded value may lie from its original: 5%, 200ns; 0 loses nothing [default: by the run's own noise]
    #[arg(long, allow_hyphen_values = true)]
    tolerance: Option<Tolerance>,

    /// At how many lengths of a range a pair may leave its set; such cells are kept exactly [default: a quarter]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=u64::MAX))]
    max_exceptions: Option<usize>,

    /// The fewest lengths of a range [default: 4, or 1 where noise exceeds the tolerance]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::MAX))]
    min_range: Option<u32>,

    /// The fewest pairs of a set; pairs of smaller ones are kept exactly
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>(1..=u64::MAX))]
    min_cluster: u32,

    /// Form of the list
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "list")]
    format: Format,

    /// Replace an existing archive
    #[arg(long)]
    force: bool,
}

impl Cluster {
    /// Clusters, writes and lists.
    pub fn run(self) -> Outcome {
        if self.output.is_none() && !self.list {
            return Err(Failure::usage(
                "nothing is asked for: write an archive with `--output FILE`, print the sets with `--list`, or both",
            ));
        }
        if store::is_archive(&self.run) {
            return self.list_archive();
        }
        let input = Input::open(&self.run)?;
        input.require(self.statistic)?;
        if let Some(tolerance) = input.run.header().item(DECODED_TOLERANCE) {
            let path = self.run.display();
            return Err(Failure::files(format!(
                "`{path}` was expanded from an archive, with errors up to {tolerance}: keep that archive, or cluster the \
                 original run; errors of a second archive would come on top"
            )));
        }
        let options = Options {
            tolerance: self.tolerance,
            max_exceptions: self.max_exceptions,
            min_range: self.min_range.map(|min| min as usize),
            min_cluster: self.min_cluster as usize,
        };
        if let Some(output) = &self.output {
            self.archive(&*input.run, &options, output)?;
            if self.list {
                let archive = Input::open_archive(output)?;
                self.print(&archive, Some(&*input.run))?;
            }
            return Ok(exit::SUCCESS);
        }
        let begin = |about| Ok(Clustered::new(about));
        let (mut clustered, order) = cluster::cluster(&*input.run, self.statistic, &options, begin)
            .map_err(|error| failure(error, &self.run))?;
        clustered.set_order(order);
        self.print(&clustered, Some(&*input.run))?;
        Ok(exit::SUCCESS)
    }

    fn list_archive(&self) -> Outcome {
        let path = self.run.display();
        if self.output.is_some() {
            return Err(Failure::usage(format!(
                "`{path}` is an archive already: `network_analyze expand` makes a result set of it"
            )));
        }
        self.print(&Input::open_archive(&self.run)?, None)?;
        Ok(exit::SUCCESS)
    }

    /// Writes the archive, and says what came of it.
    fn archive(&self, run: &dyn Run, options: &Options, output: &Path) -> Result<(), Failure> {
        let inputs = [self.run.as_path()];
        let file = output::begin(output, self.force, &inputs)?;
        let matrices = 8.0 * (run.ranks() * run.ranks() * run.lengths().len()) as f64;
        let begin = |about| -> Result<Counted, BoxError> {
            Ok(Counted { writer: store::ArchiveWriter::new(about)?, ranges: 0, exceptions: 0 })
        };
        let clustered = cluster::cluster(run, self.statistic, options, begin);
        let (archive, order) = clustered.map_err(|error| failure(error, &self.run))?;
        let Counted { writer, ranges, exceptions } = archive;
        let (tolerance, reason) = (writer.about().tolerance.describe(), writer.about().reason.clone());
        let bytes = output::finish(file, |out| Ok(writer.finish(&order, out)?))?;
        output::note(&format!("tolerance {tolerance}: {reason}"));
        // The frame of an archive alone takes some KiB: more than small matrices do.
        let times = matrices / bytes.max(1) as f64;
        let size = if times < 1.0 {
            format!("larger than the {matrices} bytes of the matrices")
        } else {
            format!("{times:.1} times smaller than the matrices")
        };
        let path = output.display();
        output::note(&format!(
            "`{path}`: {bytes} bytes, {size}; {}, {} kept exactly",
            counted(ranges, "range"),
            counted(exceptions, "cell")
        ));
        Ok(())
    }

    fn print(&self, clustered: &Clustered, original: Option<&dyn Run>) -> Result<(), Failure> {
        let ranges = regions::regions(clustered, original).map_err(|error| failure(error, &self.run))?;
        let regions = Regions { about: clustered.about(), ranges: &ranges, all: self.all };
        match self.format {
            Format::Json => output::print_json(&regions.document()),
            Format::Text => output::print(|out| regions.write(out)),
        }
    }
}

fn failure(error: Error, path: &Path) -> Failure {
    match error {
        Error::Tolerance(_) => Failure::usage(error),
        Error::Files(error) => Failure::files(error),
        other => Failure::files(format!("`{}`: {other}", path.display())),
    }
}

/// Counts what goes into an archive.
struct Counted {
    writer: store::ArchiveWriter,
    ranges: usize,
    exceptions: usize,
}

impl PartSink for Counted {
    fn write_part(&mut self, part: netmatrix::record::Part) -> Result<(), BoxError> {
        self.ranges += 1;
        self.exceptions += part.exceptions.len();
        self.writer.write_part(part)
    }
}

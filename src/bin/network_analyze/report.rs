//! `report`: one HTML page with everything that is known about some runs.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use netmatrix::{
    analysis::topology::Group,
    exit,
    record::{Clustered, Run, Statistic},
    store,
    view::report::{Page, Section},
};
use serde_json::Value;

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output,
    topology_file::TopologyFile,
};

/// Write one self-contained HTML page that shows the matrices, opens anywhere and asks nothing of any network
#[derive(clap::Args)]
pub struct Report {
    /// Prefixes of result sets, any file of each, archives of `cluster`, or .txt or .csv files
    #[arg(required = true)]
    runs: Vec<PathBuf>,

    /// Page to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Run to compare the others with: what became slower is red, what became faster green
    #[arg(long, value_name = "BASE")]
    compare: Option<PathBuf>,

    /// Statistics to keep [default: all five; of large runs median and deviation]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    statistics: Vec<Statistic>,

    /// What `network_analyze diagnose --format json` said about the first run; once more for the second, and so on
    #[arg(long, value_name = "FILE")]
    diagnosis: Vec<PathBuf>,

    /// Slurm's topology.conf, what `scontrol show topology` prints, or a DOT graph: which hosts share a switch, as a
    /// picture and as an order of the matrix
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,

    /// Heading of the page [default: the names of the runs]
    #[arg(long)]
    title: Option<String>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Values of all five statistics beyond which only two are kept unless others are asked for.
const MANY_VALUES: usize = 40_000_000;

/// A run of the page.
struct Opened {
    name: String,
    input: Input,
    archive: Option<Clustered>,
    groups: Vec<Vec<Group>>,
}

impl Opened {
    fn open(path: &Path, topology: Option<&TopologyFile>) -> Result<Self, Failure> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let archive = store::is_archive(path).then(|| Input::open_archive(path)).transpose()?;
        let input = Input::open_quietly(path)?;
        let topology = topology.map(|file| file.of(&input.run.header().hosts)).transpose()?;
        Ok(Self { name, groups: topology.map(|topology| topology.levels).unwrap_or_default(), input, archive })
    }

    fn run(&self) -> &dyn Run {
        &*self.input.run
    }
}

impl Report {
    /// Writes the page.
    pub fn run(self) -> Outcome {
        if self.output.exists() && !self.force {
            let path = self.output.display();
            return Err(Failure::files(format!("`{path}` exists already: give --force to replace it")));
        }
        let paths = self.runs.iter().chain(&self.compare);
        let topology = self.topology.as_deref().map(TopologyFile::open).transpose()?;
        let opened: Vec<_> = paths.map(|path| Opened::open(path, topology.as_ref())).collect::<Result<_, _>>()?;
        let statistics = self.statistics(&opened)?;
        let diagnoses = self.diagnoses(&opened)?;
        let base = self.compare.is_some().then_some(self.runs.len());
        let diagnoses = diagnoses.into_iter().map(Some).chain(std::iter::repeat(None));
        let sections = opened.iter().zip(diagnoses).enumerate().map(|(number, (opened, diagnosis))| Section {
            name: opened.name.clone(),
            run: opened.run(),
            statistics: &statistics,
            notices: &opened.input.notices,
            archive: opened.archive.as_ref(),
            diagnosis,
            groups: &opened.groups,
            base: base.filter(|base| *base != number),
            is_base: base == Some(number),
        });
        let page = Page { title: self.title(&opened), sections: sections.collect() };
        self.write(&page)?;
        Ok(exit::SUCCESS)
    }

    fn title(&self, opened: &[Opened]) -> String {
        let names: Vec<_> = opened[..self.runs.len()].iter().map(|opened| opened.name.as_str()).collect();
        self.title.clone().unwrap_or_else(|| format!("network_test: {}", names.join(", ")))
    }

    /// The files' content, checked against the runs that they are given for.
    fn diagnoses(&self, opened: &[Opened]) -> Result<Vec<Value>, Failure> {
        let (given, runs) = (self.diagnosis.len(), self.runs.len());
        if given > runs {
            return Err(Failure::usage(format!("--diagnosis is given {given} times, and there are {runs} runs")));
        }
        self.diagnosis.iter().zip(opened).map(|(path, opened)| read_diagnosis(path, opened)).collect()
    }

    /// Those that were asked for, else as many as a page of reasonable size has room for.
    fn statistics(&self, opened: &[Opened]) -> Result<Vec<Statistic>, Failure> {
        if !self.statistics.is_empty() {
            let missing = |statistic: &&Statistic| !opened.iter().any(|run| run.run().statistics().contains(statistic));
            return match self.statistics.iter().find(missing) {
                None => Ok(self.statistics.clone()),
                Some(statistic) => opened[0].input.require(*statistic).map(|()| Vec::new()),
            };
        }
        let values = |opened: &Opened| opened.run().ranks().pow(2) * opened.run().lengths().len();
        let of_all: usize = opened.iter().map(values).sum::<usize>() * Statistic::OF_TIMES.len();
        let two = [Statistic::Median, Statistic::Deviation];
        if of_all > MANY_VALUES && opened.iter().all(|run| run.run().statistics().contains(&Statistic::Median)) {
            output::note("a large run: the page has median and deviation; --statistics chooses others");
            return Ok(two.to_vec());
        }
        Ok(Statistic::all().collect())
    }

    /// Into a file beside the wanted one, which takes its name when it is complete.
    fn write(&self, page: &Page) -> Result<(), Failure> {
        let path = &self.output;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let cannot = |error: io::Error| {
            Failure::Files(anyhow::Error::new(error).context(format!("cannot write `{}`", path.display())))
        };
        let mut file = tempfile::Builder::new().suffix(".html.part").tempfile_in(folder).map_err(cannot)?;
        let mut out = BufWriter::new(file.as_file_mut());
        page.write(&mut out).map_err(Failure::files)?;
        out.flush().map_err(cannot)?;
        drop(out);
        make_readable(file.as_file()).map_err(cannot)?;
        let bytes = file.as_file().metadata().map_err(cannot)?.len();
        let kept = if self.force { file.persist(path) } else { file.persist_noclobber(path) };
        kept.map_err(|error| cannot(error.error))?;
        let size = netmatrix::units::Bytes(bytes).approximate();
        output::note(&format!("`{}`: {size}; open it in a browser", path.display()));
        Ok(())
    }
}

/// Temporary files are their owner's alone; a report is for others.
fn make_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

fn read(path: &Path) -> Result<String, Failure> {
    let context = || format!("cannot read `{}`", path.display());
    fs::read_to_string(path).map_err(|error| Failure::Files(anyhow::Error::new(error).context(context())))
}

fn read_diagnosis(path: &Path, opened: &Opened) -> Result<Value, Failure> {
    let name = path.display();
    let value: Value = serde_json::from_str(&read(path)?)
        .map_err(|error| Failure::Files(anyhow!("`{name}` is no JSON document: {error}")))?;
    if value["schema"] != "network_test.diagnosis/1" || !value["findings"].is_array() {
        let what = "is no diagnosis: write it with `network_analyze diagnose --format json`";
        return Err(Failure::files(format!("`{name}` {what}")));
    }
    let (judged, run) = (&value["run"], opened.run());
    let is_other = |told: &Value, own: Value| !told.is_null() && *told != own;
    if is_other(&judged["mode"], run.header().mode.name().into()) || is_other(&judged["ranks"], run.ranks().into()) {
        let own = format!("{} with {} ranks", run.header().mode, run.ranks());
        let other = format!("{} with {} ranks", judged["mode"].as_str().unwrap_or("a run"), judged["ranks"]);
        return Err(Failure::files(format!("`{name}` is about {other}, `{}` is {own}", opened.name)));
    }
    Ok(value)
}

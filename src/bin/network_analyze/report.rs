//! `report`: one HTML page with everything that is known about some runs, the detector's verdict first.

mod verdicts;

use std::path::{Path, PathBuf};

use netmatrix::{
    analysis::topology::Topology,
    exit,
    record::{Clustered, Run, Statistic},
    store::{self, Output},
    view::{
        model::fit::Fit,
        report::{Page, Section},
    },
};

use super::{
    failure::{Failure, Outcome},
    fit::{PACKET, add_operations, hockney_of, operations_of},
    input::Input,
    output,
    topology_file::{TopologyFile, group_of_host},
};
use verdicts::Verdicts;

/// Write one self-contained HTML page that shows the matrices, opens anywhere and asks nothing of any network
///
/// It opens with what `diagnose` says of the runs; those of the same hosts are judged together
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 the page is written, whatever the verdict; 2 wrong command line; 3 unusable input or output file; \
                  4 internal fault."
)]
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

    /// Show what `network_analyze diagnose --json` wrote, instead of judging again: about the first run, and those that
    /// it was judged with; once more for the next run that it does not judge, and so on
    #[arg(long, value_name = "FILE")]
    diagnosis: Vec<PathBuf>,

    /// Judge nothing: the page shows what was measured
    #[arg(long, conflicts_with = "diagnosis")]
    no_diagnosis: bool,

    /// Which hosts share a switch, as a picture, as an order of the matrix, and for the diagnosis: Slurm's topology.yaml
    /// or topology.conf, what `scontrol show topology` or `ibnetdiscover` prints, or a DOT graph [default: the groups
    /// that the data show]
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

/// Most runs that the heading names.
const MOST_NAMES: usize = 4;

/// A run of the page.
struct Opened {
    name: String,
    input: Input,
    archive: Option<Clustered>,
    topology: Option<Topology>,
}

impl Opened {
    fn open(path: &Path, topology: Option<&TopologyFile>) -> Result<Self, Failure> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let archive = store::is_archive(path).then(|| Input::open_archive(path)).transpose()?;
        let input = Input::open_quietly(path)?;
        let topology = topology.map(|file| file.of(&input.run.header().hosts)).transpose()?;
        Ok(Self { name, topology, input, archive })
    }

    fn run(&self) -> &dyn Run {
        &*self.input.run
    }

    fn has_median(&self) -> bool {
        self.run().statistics().contains(&Statistic::Median)
    }

    /// The group of every host, `[host]`, where a file says it.
    fn group_of_host(&self) -> Option<Vec<usize>> {
        self.topology.as_ref().map(|topology| group_of_host(topology, &self.run().header().hosts))
    }
}

/// Hockney's model of a run, where it has what that takes, and those of operations of the same prefix. What cannot be
/// fitted is said by `fit`.
fn models_of(opened: &mut Opened) -> Result<Fit<'static>, Failure> {
    let mut models = Fit { packet: PACKET.0, ..Fit::default() };
    if opened.archive.is_some() {
        return Ok(models);
    }
    if opened.has_median() && opened.run().lengths().len() > 1 {
        models.hockney = hockney_of(opened.run(), |_| Ok(())).map_err(Failure::files)?.ok();
    }
    match operations_of(&opened.input.path) {
        Ok(Some(operations)) => add_operations(&operations, &mut models),
        Ok(None) => {}
        Err(error) => opened.input.notices.push(format!("its operations cannot be read: {error}")),
    }
    Ok(models)
}

impl Report {
    /// Writes the page.
    pub fn run(self) -> Outcome {
        let paths = self.runs.iter().chain(&self.compare);
        // Judging may take a while: whether the page can be written is known before.
        let read = paths.clone().chain(&self.diagnosis).chain(&self.topology);
        let file = output::begin(&self.output, self.force, &read.map(PathBuf::as_path).collect::<Vec<_>>())?;
        let topology = self.topology.as_deref().map(TopologyFile::open).transpose()?;
        let mut opened: Vec<_> = paths.map(|path| Opened::open(path, topology.as_ref())).collect::<Result<_, _>>()?;
        let statistics = self.statistics(&opened)?;
        let verdicts = self.verdicts(&mut opened)?;
        let inferred: Vec<_> = (0..opened.len()).map(|number| verdicts.groups(number, &opened[number])).collect();
        let models: Vec<_> = opened.iter_mut().map(models_of).collect::<Result<_, _>>()?;
        let base = self.compare.is_some().then_some(self.runs.len());
        let sections = opened.iter().zip(&inferred).enumerate().map(|(number, (opened, inferred))| Section {
            name: opened.name.clone(),
            run: opened.run(),
            statistics: &statistics,
            notices: &opened.input.notices,
            archive: opened.archive.as_ref(),
            diagnosis: verdicts.of_run.get(number).copied().flatten(),
            groups: opened.topology.as_ref().map_or(inferred, |topology| &topology.levels),
            is_inferred: opened.topology.is_none(),
            base: base.filter(|base| *base != number),
            models: &models[number],
            is_base: base == Some(number),
        });
        let sections = sections.collect();
        let page = Page { title: self.title(&opened), diagnoses: verdicts.documents, sections };
        self.write(&page, file)?;
        Ok(exit::SUCCESS)
    }

    /// What is wrong with the runs, unless nobody wants to know. A run that cannot be judged says so itself.
    fn verdicts(&self, opened: &mut [Opened]) -> Result<Verdicts, Failure> {
        let runs = &mut opened[..self.runs.len()];
        match (self.no_diagnosis, self.diagnosis.is_empty()) {
            (true, _) => Ok(Verdicts::none()),
            (false, false) => Verdicts::told(&self.diagnosis, runs),
            (false, true) => {
                let unjudged = runs.iter_mut().filter(|run| !run.has_median());
                unjudged
                    .for_each(|run| run.input.notices.push("the run has no median, which the detector takes".into()));
                Verdicts::found(runs)
            }
        }
    }

    fn title(&self, opened: &[Opened]) -> String {
        let names: Vec<_> = opened[..self.runs.len()].iter().map(|opened| opened.name.as_str()).collect();
        let (told, rest) = names.split_at(names.len().min(MOST_NAMES));
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        self.title.clone().unwrap_or_else(|| format!("network_test: {}{more}", told.join(", ")))
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

    fn write(&self, page: &Page, file: Output) -> Result<(), Failure> {
        let bytes = output::finish(file, |out| page.write(out))?;
        let size = netmatrix::units::Bytes(bytes).approximate();
        output::note(&format!("`{}`: {size}; open it in a browser", self.output.display()));
        Ok(())
    }
}

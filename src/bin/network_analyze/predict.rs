//! `predict`: how long operations and programs take, and how right that was.

use std::path::{Path, PathBuf};

use netmatrix::{
    analysis::model::{
        accuracy::{self, Accuracy},
        bsp::{self, Relation},
        loggp::{LogGp, Parameters},
        predict::{Model, Ways},
        relation::RelationFit,
        schedule::Schedule,
    },
    exit,
    plan::{
        operation::{Algorithm, Group, Operation, Parameter},
        program::{Program, Skeleton},
    },
    record::operations::{Operations, ProgramRun},
    units::{Bytes, Hosts, Rank, Seconds, whole},
    view::model::{
        picture,
        prediction::{Prediction, ProgramTimes},
    },
};

use super::{
    failure::{Failure, Outcome},
    fit::{Measured, NO_OPERATIONS, WIDTH},
    input::{Input, read_text},
    output::{self, Format},
    plot::form_of,
};

/// Predict how long operations and programs take; with a run of operations: compare with what was measured
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// Prefix of a run of operations (PREFIX_operations.nc), or that file
    #[arg(required_unless_present_any = ["parameters", "relation"])]
    run: Option<PathBuf>,

    /// LogGP instead of a run: L=1.2us,o=0.3us,g=0.5us,G=8e-11,lambda=5e-11,gamma=1e-10 (per byte: seconds)
    #[arg(long, value_name = "LIST", conflicts_with = "run", requires = "procs", requires = "lengths")]
    parameters: Option<Parameters>,

    /// BSPWB and MPM instead of a run: g=5e-8,L=1e-5 (seconds per packet, per step), or a machine of the paper, such as
    /// "UTP LAN"
    #[arg(long, value_name = "LIST", conflicts_with = "run", requires = "program")]
    relation: Option<RelationArgument>,

    /// Numbers of processes to predict; at most twice what was measured
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = whole::<usize>(0..=u64::MAX))]
    procs: Vec<usize>,

    /// Lengths to predict, in bytes; at most twice what was measured
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    lengths: Vec<Bytes>,

    /// Predict a program of work and messages: a file, or fft[:N=524288,D=..,F=..,R=..] or psrs[:N=..,B=..] with --procs
    #[arg(long, value_name = "FILE|SKELETON")]
    program: Vec<String>,

    /// What a way between two ranks takes [default: matrix, where pairs of the same prefix and ranks were measured]
    #[arg(long, value_enum)]
    from: Option<Source>,

    /// Draw reductions with the most processes, measured and predicted; the name ends in .png or .svg
    #[arg(long, value_name = "FILE", requires = "run")]
    plot: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long, requires = "plot")]
    force: bool,

    /// Show every cell
    #[arg(long)]
    details: bool,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "Examples:
  network_analyze predict results/night
  network_analyze predict results/night --procs 96,128 --lengths 1K,1M
  network_analyze predict --parameters L=6us,o=2us,g=4us,G=1e-10,gamma=3e-10 --procs 48 --lengths 8
  network_analyze predict --relation g=4.88e-8,L=0 --program fft:N=524288 --procs 1,2,4,8";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// The fitted line of its distance
    Parameters,
    /// What was measured between these two (needs a run of pairs of the same prefix)
    Matrix,
}

/// g and L as typed: seconds per packet, and per step.
#[derive(Clone, Copy, Debug)]
struct RelationArgument(Relation);

impl std::str::FromStr for RelationArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, relation)) = bsp::MACHINES.iter().find(|machine| machine.0.eq_ignore_ascii_case(text)) {
            return Ok(Self(*relation));
        }
        let machines = bsp::MACHINES.map(|machine| machine.0).join(", ");
        let wrong = || {
            format!(
                "`{text}` is not understood: write g=5e-8,L=1e-5 (seconds per packet, per step) or one of {machines}"
            )
        };
        let (mut g, mut l) = (None, 0.0);
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value = value.parse::<Seconds>().map_err(|error| error.to_string())?.0;
            match name {
                "g" if value >= 0.0 => g = Some(value),
                "L" => l = value,
                _ => return Err(wrong()),
            }
        }
        Ok(Self(Relation { per_packet: g.ok_or_else(wrong)?, per_step: l }))
    }
}

impl Predict {
    /// Predicts and prints.
    pub fn run(self) -> Outcome {
        let form = self.plot.as_deref().map(form_of).transpose()?;
        let inputs: Vec<&Path> = self.run.as_deref().into_iter().collect();
        let plot = self.plot.as_deref().map(|path| output::begin(path, self.force, &inputs)).transpose()?;
        let measured = self.run.as_deref().map(Measured::open).transpose()?;
        let mut found = Prediction { from: "parameters", ..Prediction::default() };
        let operations = measured.as_ref().and_then(|measured| measured.operations.as_ref());
        if measured.is_some() && operations.is_none() {
            return Err(Failure::files(NO_OPERATIONS));
        }
        let asks_for_cells = !self.procs.is_empty() && !self.lengths.is_empty();
        if self.program.is_empty() && self.procs.is_empty() != self.lengths.is_empty() {
            return Err(Failure::usage("--procs and --lengths belong together: give both"));
        }
        if let Some(run) = operations {
            self.add_cells(run, measured.as_ref(), asks_for_cells, &mut found)?;
        } else if let Some(parameters) = self.parameters {
            let most = self.procs.iter().copied().max().unwrap_or(1);
            let model = Model::given(LogGp::from_parameters(parameters), most);
            self.predict_cells(&model, |procs| (0..procs).collect(), usize::MAX, &mut found)?;
        }
        self.add_programs(operations, &mut found)?;
        if let (Some(file), Some(form)) = (plot, form) {
            let nothing =
                || Failure::usage("--plot draws what was measured: leave out --procs, --lengths and --program");
            let scene = found.accuracy.as_ref().and_then(|accuracy| picture::of_accuracy(accuracy, WIDTH));
            let bytes = scene.ok_or_else(nothing)?.encode(form).map_err(Failure::internal)?;
            output::finish(file, |out| Ok(out.write_all(&bytes)?))?;
        }
        match self.format {
            Format::Text => output::print(|out| found.write(self.details, out))?,
            Format::Json => output::print_json(&found.document())?,
        }
        Ok(exit::SUCCESS)
    }

    fn add_cells(
        &self,
        run: &Operations,
        measured: Option<&Measured>,
        asks_for_cells: bool,
        found: &mut Prediction,
    ) -> Result<(), Failure> {
        let fits = match LogGp::all(run) {
            Ok(fits) => fits,
            Err(error) if self.program.is_empty() => return Err(Failure::files(error)),
            Err(error) => {
                found.missing.push(error.to_string());
                return Ok(());
            }
        };
        let mut model = Model::new(run.hosts.clone(), fits);
        let pairs = measured.and_then(|measured| measured.pairs.as_ref());
        let same = pairs.filter(|pairs| pairs.run.header().hosts == run.hosts);
        let needs_further = self.procs.iter().any(|procs| *procs > run.hosts.ranks());
        let takes_pairs = |pairs: &&Input| !pairs.run.header().mode.is_collective() && Ways::takes(pairs.run.ranks());
        let ways = match self.from {
            Some(Source::Parameters) => None,
            Some(Source::Matrix) if pairs.is_some() && same.is_none() => {
                return Err(Failure::files(
                    "--from matrix: the pairs were measured with other ranks than the operations",
                ));
            }
            Some(Source::Matrix) => {
                let advice = "--from matrix needs pairs of the same prefix: `network_test -t one_to_one` measures them";
                Some(same.ok_or_else(|| Failure::files(advice))?)
            }
            None => same.filter(|_| !needs_further).filter(takes_pairs),
        };
        if let Some(pairs) = ways {
            model.ways = Some(Ways::of(&*pairs.run).map_err(Failure::files)?);
            found.from = "matrix";
        }
        if !asks_for_cells {
            if self.program.is_empty() {
                found.accuracy = Some(Accuracy::of(run, &model));
            }
            return Ok(());
        }
        let largest = run.largest();
        let most = self.procs.iter().copied().max().unwrap_or(1);
        if most > run.hosts.ranks() {
            if model.ways.is_some() {
                let ranks = run.hosts.ranks();
                return Err(Failure::usage(format!("--procs {most}: the matrix has ways between {ranks} ranks only")));
            }
            // More processes than there were: as many per host as there were at most.
            let per_host = run.hosts.ranks().div_ceil(run.hosts.count());
            model.hosts = Hosts::new((0..most).map(|rank| format!("{}", rank / per_host)));
        }
        let known = model.hosts == run.hosts;
        let members = |procs: usize| -> Vec<Rank> {
            let same = run.members.iter().find(|members| known && members.len() == procs);
            same.cloned().unwrap_or_else(|| (0..procs).collect())
        };
        self.predict_cells(&model, members, 2 * largest, found)
    }

    /// Everything that is made of messages, and Barnat's primitives.
    fn predict_cells(
        &self,
        model: &Model,
        members: impl Fn(usize) -> Vec<Rank>,
        most: usize,
        found: &mut Prediction,
    ) -> Result<(), Failure> {
        for &procs in &self.procs {
            if procs < 2 {
                return Err(Failure::usage(format!("--procs {procs}: an operation needs at least 2 processes")));
            }
            if procs > most {
                let text = "nothing is claimed beyond twice the processes that were measured";
                return Err(Failure::usage(format!("--procs {procs}: {text}; here at most {most}")));
            }
            let members = members(procs);
            for length in &self.lengths {
                for operation in operations(procs) {
                    let row = accuracy::predicted_row(model, operation, &members, length.0);
                    if row.predicted.is_some() || row.references.iter().any(Option::is_some) {
                        found.rows.push(row);
                    } else if Schedule::of(operation, procs, length.0).is_some() {
                        let text = format!(
                            "{operation} at {}: nothing is claimed beyond twice the longest length probed",
                            length.counted()
                        );
                        found.missing.push(text);
                    }
                }
                found.chains.extend(accuracy::chain_choice(model, &members, length.0));
            }
        }
        Ok(())
    }

    fn add_programs(&self, run: Option<&Operations>, found: &mut Prediction) -> Result<(), Failure> {
        let fitted = run.and_then(|run| RelationFit::of(run, |_, _| true));
        found.relation = fitted.as_ref().map(|fit| fit.relation(1));
        let relation = |packet: Bytes| match self.relation {
            Some(RelationArgument(relation)) => Some(relation),
            None => fitted.as_ref().map(|fit| fit.relation(packet.0)),
        };
        let mut programs: Vec<(String, Program, Option<f64>)> = Vec::new();
        for name in &self.program {
            for program in self.programs(name)? {
                let same = |own: &&ProgramRun| carried_out(own).is_ok_and(|own| own == program);
                let measured = run.and_then(|run| run.programs.iter().find(same));
                programs.push((name.clone(), program, measured.map(|own| own.measured.summary.median)));
            }
        }
        for own in run.iter().flat_map(|run| &run.programs).filter(|_| self.program.is_empty()) {
            let program = carried_out(own)?;
            let seconds = own.measured.is_there().then_some(own.measured.summary.median);
            programs.push((own.name.clone(), program, seconds));
        }
        for (name, program, measured) in programs {
            let Some(relation) = relation(program.packet) else {
                let advice = "BSPWB and MPM need g and L: `network_test --operations relations` measures them, --relation \
                              gives them";
                return Err(Failure::files(format!("program {name}: {advice}")));
            };
            let times = bsp::times(&program, relation, true);
            found.programs.push(ProgramTimes {
                name,
                procs: program.processes,
                bspwb: times.bspwb,
                mpm: times.mpm,
                measured,
                clamped: relation.clamps(&program),
            });
        }
        Ok(())
    }

    /// A skeleton on every asked number of processes, or a file.
    fn programs(&self, name: &str) -> Result<Vec<Program>, Failure> {
        let kind = name.split(':').next().unwrap_or_default();
        if matches!(kind, "fft" | "psrs") {
            let skeleton: Skeleton = name.parse().map_err(|error| Failure::usage(format!("--program: {error}")))?;
            if self.procs.is_empty() {
                return Err(Failure::usage(format!(
                    "--program {name}: give the numbers of processes by --procs 1,2,4,8"
                )));
            }
            let program = |procs: &usize| skeleton.program(*procs).map_err(Failure::usage);
            return self.procs.iter().map(program).collect();
        }
        let text = read_text(name.as_ref())?;
        Ok(vec![Program::parse(name, &text).map_err(Failure::files)?])
    }
}

/// A program that was measured: its file's text, or a skeleton.
fn carried_out(run: &ProgramRun) -> Result<Program, Failure> {
    match run.text.parse::<Skeleton>() {
        Ok(skeleton) => skeleton.program(run.procs).map_err(Failure::files),
        Err(_) => Program::parse(&run.name, &run.text).map_err(Failure::files),
    }
}

/// What is predicted where nothing was measured.
fn operations(procs: usize) -> Vec<Operation> {
    let all = Algorithm::all().filter(|algorithm| algorithm.suits(procs));
    let all = all.filter(|algorithm| matches!(algorithm.group(), Group::Primitives | Group::Reductions));
    let with = |algorithm: Algorithm| {
        let parameters: &[u32] = match algorithm.parameter() {
            Some(Parameter::Chains) => &[4, 0],
            Some(_) => &[1],
            None => &[0],
        };
        parameters.iter().map(move |parameter| Operation { algorithm, parameter: *parameter }).collect::<Vec<_>>()
    };
    all.flat_map(with).collect()
}

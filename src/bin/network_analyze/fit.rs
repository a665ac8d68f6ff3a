//! `fit`: the parameters of models of communication.

use std::path::{Path, PathBuf};

use netmatrix::{
    analysis::model::{
        hockney::{Distances, Hockney, HockneyError},
        loggp::LogGp,
        relation::RelationFit,
    },
    exit,
    record::{BoxError, Run, Statistic, operations::Operations},
    store,
    units::{Bytes, counted},
    view::model::{
        fit::{Fit as Fitted, PairTable},
        picture,
    },
};

use super::{
    diagnose::{CONFIDENCE, judge},
    export::Export,
    failure::{Failure, Outcome},
    input::Input,
    output::{self, Format},
    plot::form_of,
};

/// Fit models to a run: Hockney per distance and pair, LogGP, BSPWB and MPM, each number with its interval
#[derive(clap::Args)]
pub struct Fit {
    /// Prefix of a result set, of operations (PREFIX_operations.nc), or of both; any file of them
    run: PathBuf,

    /// Bytes of a packet of BSPWB and MPM
    #[arg(long, value_name = "BYTES", default_value_t = PACKET)]
    packet: Bytes,

    /// Write alpha and beta of every pair into a CSV file
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,

    /// Draw medians and lines; the name ends in .png or .svg
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Write what other programs need instead: a folder for all, or to standard output simgrid, loggopsim, openmpi or
    /// hosts
    #[arg(long, value_name = "DIR|KIND", conflicts_with_all = ["format", "plot", "pairs"])]
    export: Option<String>,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Replace existing files
    #[arg(long)]
    force: bool,
}

/// Bytes of a packet unless others are asked for: a word, as in the paper.
pub const PACKET: Bytes = Bytes(4);

/// Width of pictures, pixels.
pub const WIDTH: u32 = 900;

/// What a prefix or a file stands for: pairs, operations, or both.
pub struct Measured {
    /// Of pairs.
    pub pairs: Option<Input>,
    /// Of operations.
    pub operations: Option<Operations>,
}

fn prefix_of(path: &Path) -> PathBuf {
    store::prefix_of(path).filter(|_| path.is_file()).unwrap_or_else(|| path.to_owned())
}

/// The operations of a prefix, or of a file of it, if there are some.
pub fn operations_of(path: &Path) -> Result<Option<Operations>, store::StoreError> {
    let file = if store::is_operations(path) { path.to_owned() } else { store::operations_path(&prefix_of(path)) };
    file.is_file().then(|| store::read_operations(&file)).transpose()
}

impl Measured {
    /// Opens what there is.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let is_file = store::is_operations(path);
        let prefix = prefix_of(path);
        let operations = operations_of(path).map_err(Failure::files)?;
        let wants_pairs = if is_file { store::exists(&prefix) } else { operations.is_none() || store::exists(&prefix) };
        let pairs = if wants_pairs { Some(Input::open(if is_file { &prefix } else { path })?) } else { None };
        if let Some(pairs) = &pairs {
            pairs.require(Statistic::Median)?;
        }
        Ok(Self { pairs, operations })
    }
}

/// Said where there are no operations.
pub const NO_OPERATIONS: &str =
    "LogGP, BSPWB and MPM: there are no operations; `network_test --operations all` measures them";

impl Fit {
    /// Fits and prints.
    pub fn run(self) -> Outcome {
        if self.packet.0 == 0 {
            return Err(Failure::usage("--packet: a packet has at least one byte"));
        }
        if let Some(target) = &self.export {
            return Export { run: &self.run, force: self.force }.run(target);
        }
        let picture = self.plot.as_deref().map(form_of).transpose()?;
        let inputs = [self.run.as_path()];
        let begin =
            |path: &Option<PathBuf>| path.as_deref().map(|path| output::begin(path, self.force, &inputs)).transpose();
        let (plot, table) = (begin(&self.plot)?, begin(&self.pairs)?);
        let measured = Measured::open(&self.run)?;
        let mut fitted = Fitted { packet: self.packet.0, ..Fitted::default() };
        match &measured.pairs {
            Some(input) => {
                let run = &*input.run;
                input.length_index(None)?;
                let written = match table {
                    Some(file) => {
                        let mut hockney = None;
                        output::finish(file, |out| {
                            let mut table = PairTable::new(out, run.header())?;
                            let distances = Distances::of(run)?;
                            hockney = Some(hockney_of(run, |pair| table.push(pair, distances.name(pair.class)))?);
                            Ok(())
                        })?;
                        hockney.ok_or_else(|| Failure::internal("a table without a fit"))?
                    }
                    None => hockney_of(run, |_| Ok(())).map_err(Failure::files)?,
                };
                match written {
                    Ok(hockney) => {
                        fitted.hockney = Some(hockney);
                        fitted.diagnosis = Some(judge(&[input], CONFIDENCE, None)?);
                    }
                    Err(error) if measured.operations.is_some() => fitted.missing.push(format!("Hockney: {error}")),
                    Err(error) => return Err(Failure::files(error)),
                }
                fitted.header = Some(run.header());
            }
            None if table.is_some() || plot.is_some() => {
                return Err(Failure::usage(
                    "--pairs and --plot need a run of pairs: `network_test -t one_to_one -f PREFIX` measures it",
                ));
            }
            None => {
                let advice = "there are no pairs; `network_test -t one_to_one -f PREFIX` measures them";
                fitted.missing.push(format!("Hockney: {advice}"));
            }
        }
        match &measured.operations {
            Some(run) => add_operations(run, &mut fitted),
            None => fitted.missing.push(NO_OPERATIONS.to_owned()),
        }
        if let (Some(file), Some(form), Some(hockney), Some(header)) = (plot, picture, &fitted.hockney, fitted.header) {
            let title = format!("{}, {}", header.mode, counted(header.hosts.count(), "host"));
            let bytes = picture::of_hockney(hockney, title, WIDTH).encode(form).map_err(Failure::internal)?;
            output::finish(file, |out| Ok(out.write_all(&bytes)?))?;
        }
        match self.format {
            Format::Text => output::print(|out| fitted.write(out))?,
            Format::Json => output::print_json(&fitted.document())?,
        }
        Ok(exit::SUCCESS)
    }
}

/// The fit, or why this run has none; files that cannot be read are the outer error.
pub fn hockney_of(
    run: &dyn Run,
    each: impl FnMut(&netmatrix::analysis::model::hockney::PairLine) -> Result<(), BoxError>,
) -> Result<Result<Hockney, HockneyError>, BoxError> {
    match Hockney::of(run, &Distances::of(run)?, each) {
        Ok(hockney) => Ok(Ok(hockney)),
        Err(error) => error.downcast::<HockneyError>().map(|error| Err(*error)),
    }
}

/// Fits what operations tell.
pub fn add_operations(run: &Operations, fitted: &mut Fitted) {
    match LogGp::all(run) {
        Ok(fits) => fitted.loggp = fits,
        Err(error) => fitted.missing.push(format!("LogGP: {error}")),
    }
    fitted.relation = RelationFit::of(run, |_, _| true);
    if fitted.relation.is_none() {
        let advice = "less than two lengths at which all patterns were measured; \
                      `network_test --operations relations` measures them";
        fitted.missing.push(format!("BSPWB and MPM: {advice}"));
    }
}

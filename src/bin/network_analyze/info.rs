//! `info`: what is in a run, and is it complete?

use std::path::{Path, PathBuf};

use netmatrix::{
    analysis::{
        distribution::{self, Distribution},
        tally::Tally,
    },
    exit,
    record::Statistic,
    store, view,
};

use super::{
    failure::{Failure, Outcome},
    input::Input,
    output::{self, Format},
};

/// Lengths in the table of a long sweep.
const MOST_LENGTHS: usize = 16;

/// Say what was measured, where and how, whether it is complete, how values are distributed
#[derive(clap::Args)]
pub struct Info {
    /// Prefix of a result set, any file of it, a .txt or .csv file, or operations (PREFIX_operations.nc)
    run: PathBuf,

    /// Statistic whose distribution over all pairs is shown
    #[arg(long, short, default_value_t = Statistic::Median)]
    statistic: Statistic,

    /// Show every message length, however many there are (json always does)
    #[arg(long)]
    all: bool,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Info {
    /// Prints the description.
    pub fn run(self) -> Outcome {
        if let Some(path) = operations_of(&self.run) {
            return self.show_operations(&path);
        }
        let input = Input::open_quietly(&self.run)?;
        let run = &*input.run;
        input.require(self.statistic)?;
        let count = run.lengths().len();
        let most = if self.all || self.format == Format::Json { count } else { MOST_LENGTHS };
        let table = distribution::spread(count, most).into_iter();
        let table: Result<Vec<_>, _> = table.map(|index| Distribution::of(run, self.statistic, index)).collect();
        let info = view::info::Info {
            header: run.header(),
            lengths: run.lengths(),
            statistics: run.statistics(),
            moments: run.all_moments().map_err(Failure::files)?,
            drift: run.drift().map_err(Failure::files)?,
            tally: &Tally::of(run).map_err(Failure::files)?,
            notices: &input.notices,
            statistic: self.statistic,
            table: &table.map_err(Failure::files)?,
        };
        match self.format {
            Format::Text => output::print(|out| info.write(out))?,
            Format::Json => output::print_json(&info.document())?,
        }
        Ok(exit::SUCCESS)
    }

    fn show_operations(&self, path: &Path) -> Outcome {
        let run = store::read_operations(path).map_err(Failure::files)?;
        match self.format {
            Format::Text => output::print(|out| view::operations::write(&run, out))?,
            Format::Json => output::print_json(&view::operations::document(&run))?,
        }
        Ok(exit::SUCCESS)
    }
}

/// The file of operations that a path names: itself, or that of a prefix without a result set.
fn operations_of(path: &Path) -> Option<PathBuf> {
    let own = path.to_string_lossy().ends_with("_operations.nc") || store::is_operations(path);
    if own {
        return path.exists().then(|| path.to_owned());
    }
    let file = store::operations_path(path);
    (file.exists() && !store::exists(path) && !path.exists()).then_some(file)
}

//! `expand`: an archive back to a result set.

use std::path::PathBuf;

use netmatrix::{
    exit,
    record::{About, BoxError, Clustered, Header, Run, Statistic},
    units::Bytes,
};

use super::{failure::Outcome, input::Input, output};

/// Turn an archive of `cluster` back into a result set, within the archive's tolerance of the original
#[derive(clap::Args)]
pub struct Expand {
    /// An archive that `cluster` made
    archive: PathBuf,

    /// Prefix of the new result set
    #[arg(long, short, value_name = "PREFIX")]
    output: PathBuf,

    /// Replace existing files
    #[arg(long)]
    force: bool,
}

impl Expand {
    /// Reads and writes, a matrix at a time.
    pub fn run(self) -> Outcome {
        let archive = Input::open_archive(&self.archive)?;
        let decoded = Decoded { header: archive.decoded_header(), archive };
        output::write_set(&decoded, &self.output, self.force, &[&self.archive])?;
        Ok(exit::SUCCESS)
    }
}

/// An archive as a run that says that it was decoded.
struct Decoded {
    header: Header,
    archive: Clustered,
}

impl Decoded {
    fn about(&self) -> &About {
        self.archive.about()
    }
}

impl Run for Decoded {
    fn header(&self) -> &Header {
        &self.header
    }

    fn lengths(&self) -> &[Bytes] {
        &self.about().lengths
    }

    fn statistics(&self) -> &[Statistic] {
        std::slice::from_ref(&self.about().statistic)
    }

    fn read_rows(
        &self,
        statistic: Statistic,
        length_index: usize,
        rows: std::ops::Range<usize>,
        values: &mut [f64],
    ) -> Result<(), BoxError> {
        self.archive.read_rows(statistic, length_index, rows, values)
    }
}

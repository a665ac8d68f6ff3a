//! `convert`: a run from one form into another.

use std::{
    ffi::OsStr,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use netmatrix::{
    exit,
    record::{BoxError, Run},
    store,
};

use super::{
    failure::{Failure, Outcome},
    input::{FileFormat, Input},
    output::{self, Pipe},
};

/// Convert a run between NetCDF, text and CSV, both ways
#[derive(clap::Args)]
pub struct Convert {
    /// Prefix of a result set, any file of it, or a .txt or .csv file
    run: PathBuf,

    /// A .txt or .csv file, the prefix of a new NetCDF set, or - for standard output
    #[arg(long, short)]
    output: PathBuf,

    /// Form of the output [default: what its name says, text on standard output]
    #[arg(long, value_enum)]
    to: Option<FileFormat>,

    /// Replace existing files
    #[arg(long)]
    force: bool,
}

impl Convert {
    /// Reads and writes.
    pub fn run(self) -> Outcome {
        let is_stdout = self.output.as_os_str() == "-";
        let format = self.format(is_stdout)?;
        let input = Input::open(&self.run)?;
        match format {
            FileFormat::Netcdf if is_stdout => {
                return Err(Failure::usage("NetCDF is a set of files: give their prefix instead of -"));
            }
            FileFormat::Netcdf => {
                store::write_run(&*input.run, &self.output, self.force).map_err(Failure::files)?;
            }
            FileFormat::Text | FileFormat::Csv if is_stdout => {
                let mut pipe = Pipe::new(io::stdout().lock());
                write(&*input.run, format, &mut pipe).map_err(|error| pipe.failure(error, "standard output"))?;
            }
            FileFormat::Text | FileFormat::Csv => {
                output::write_file(&self.output, self.force, |out| write(&*input.run, format, out))?;
            }
        }
        Ok(exit::SUCCESS)
    }

    /// The form that is asked for, or that the output's name says.
    fn format(&self, is_stdout: bool) -> Result<FileFormat, Failure> {
        let format = match self.to {
            Some(format) => format,
            None if is_stdout => FileFormat::Text,
            None => FileFormat::of(&self.output),
        };
        let path = self.output.display();
        let extension = self.output.extension().and_then(OsStr::to_str).unwrap_or_default();
        if format != FileFormat::Netcdf {
            return Ok(format);
        }
        if extension == "nc" {
            let prefix = self.output.with_extension("");
            let text =
                format!("`{path}` is one file, NetCDF is a set of them: give their prefix, `{}`", prefix.display());
            return Err(Failure::usage(text));
        }
        let is_other = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_alphabetic());
        if self.to.is_none() && is_other {
            let text =
                format!("`{path}` does not tell its form: say --to text, --to csv, or --to netcdf if it is a prefix");
            return Err(Failure::usage(text));
        }
        Ok(format)
    }
}

fn write(run: &dyn Run, format: FileFormat, out: &mut dyn Write) -> Result<(), BoxError> {
    let mut out = BufWriter::new(out);
    match format {
        FileFormat::Csv => store::csv::write(run, &mut out)?,
        _ => store::text::write(run, &mut out)?,
    }
    Ok(out.flush()?)
}

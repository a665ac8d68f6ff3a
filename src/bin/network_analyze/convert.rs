//! `convert`: a run from one form into another.

use std::{ffi::OsStr, io::Write, path::PathBuf};

use netmatrix::{
    exit,
    record::{BoxError, Run},
    store,
};

use super::{
    failure::{Failure, Outcome},
    input::{FileFormat, Input},
    output,
};

/// Convert a run between NetCDF, text and CSV, both ways
#[derive(clap::Args)]
pub struct Convert {
    /// Prefix of a result set, any file of it, or a .txt or .csv file
    run: PathBuf,

    /// A .txt or .csv file, the prefix of a new NetCDF set, or - for standard output
    #[arg(long, short, value_name = "FILE|PREFIX")]
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
            FileFormat::Netcdf | FileFormat::NetcdfOne if is_stdout => {
                return Err(Failure::usage("NetCDF is written to files: give their prefix instead of -"));
            }
            FileFormat::Netcdf => output::write_set(&*input.run, &self.output, self.force, &[&self.run])?,
            FileFormat::Text | FileFormat::Csv if is_stdout => {
                output::print_any(|out| write(&*input.run, format, out))?;
            }
            FileFormat::Text | FileFormat::Csv | FileFormat::NetcdfOne => {
                let output = output::begin(&self.output, self.force, &[&self.run])?;
                output::finish(output, |out| write(&*input.run, format, out))?;
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
    match format {
        FileFormat::Csv => store::csv::write(run, out),
        FileFormat::NetcdfOne => store::write_one(run, out),
        _ => store::text::write(run, out),
    }
}

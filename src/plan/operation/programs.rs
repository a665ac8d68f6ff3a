//! Programs of supersteps that are carried out besides operations.

use super::OperationError;
use crate::plan::program::{Program, Skeleton};

/// Where a program comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramSource {
    /// Its file.
    File {
        /// Without folders.
        name: String,
        /// As it was read.
        text: String,
        /// What it says.
        program: Program,
    },
    /// A known program, which runs on every number of processes that suits it.
    Skeleton(Skeleton),
}

impl ProgramSource {
    /// The programs on these numbers of processes.
    pub(super) fn programs(&self, procs: &[usize]) -> Result<Vec<NamedProgram>, OperationError> {
        match self {
            Self::File { name, text, program } => {
                Ok(vec![NamedProgram { name: name.clone(), text: text.clone(), program: program.clone() }])
            }
            Self::Skeleton(skeleton) => {
                let mut error = None;
                let made = procs.iter().filter_map(|procs| skeleton.program(*procs).map_err(|e| error = Some(e)).ok());
                let named = made.map(|program| NamedProgram {
                    name: skeleton.to_string(),
                    text: skeleton.to_string(),
                    program,
                });
                let named: Vec<_> = named.collect();
                match error {
                    Some(error) if named.is_empty() => Err(OperationError::Skeleton(error)),
                    _ => Ok(named),
                }
            }
        }
    }
}

/// A program that is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedProgram {
    /// Name of its file, or what the skeleton is called.
    pub name: String,
    /// The text of its file, or what the skeleton is called.
    pub text: String,
    /// What it does.
    pub program: Program,
}

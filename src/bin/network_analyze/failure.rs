//! How a subcommand ends, and the one place that prints why it did not end well.
//!
//! In: an error with its whole chain of causes. Out: a few lines on standard error and the exit code.

use std::{
    any::Any,
    io::{self, Write},
    panic, process,
    sync::{Arc, atomic::AtomicBool},
};

use netmatrix::{exit, record::BoxError};
use rustix::io::Errno;
use signal_hook::{consts::SIGABRT, flag};

use super::output;

/// The exit code of a subcommand that did its work, or why it could not.
pub type Outcome = Result<u8, Failure>;

/// Why a subcommand could not do its work; each kind has its exit code.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for makes no sense.
    Usage(anyhow::Error),
    /// A file cannot be read or written, or is not what it should be.
    Files(anyhow::Error),
    /// A fault of this program.
    Internal(anyhow::Error),
    /// Nobody reads standard output any more (`| head`): no failure at all.
    ClosedPipe,
}

impl Failure {
    /// The command line is wrong.
    pub fn usage(error: impl Into<BoxError>) -> Self {
        Self::Usage(anyhow::Error::from_boxed(error.into()))
    }

    /// A file is unusable.
    pub fn files(error: impl Into<BoxError>) -> Self {
        Self::Files(anyhow::Error::from_boxed(error.into()))
    }

    /// This program is at fault.
    pub fn internal(error: impl Into<BoxError>) -> Self {
        Self::Internal(anyhow::Error::from_boxed(error.into()))
    }

    /// Standard output cannot be written.
    pub fn stdout(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Files(anyhow::Error::new(error).context("cannot write to standard output"))
    }

    /// Prints the failure, with everything that led to it, and returns its exit code.
    pub fn report(&self) -> u8 {
        let (code, error) = match self {
            Self::ClosedPipe => return exit::SUCCESS,
            Self::Usage(error) => (exit::USAGE, error),
            Self::Files(error) => (exit::FILES, error),
            Self::Internal(error) => (exit::INTERNAL, error),
        };
        output::say(&chain(error));
        code
    }
}

/// An error and its causes, one per line; a cause that the line before tells already is left out.
fn chain(error: &anyhow::Error) -> String {
    let mut text = format!("network_analyze: {error}\n");
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            text += &format!("  because: {cause}\n");
            told = cause;
        }
    }
    text
}

/// A panic is a fault of this program, and so is an abort: an allocation that fails, of which the standard library says how
/// large it was, or a library that gives up. One line, the exit code for it, and no backtrace for people who cannot use it.
pub fn report_panics() {
    let always = Arc::new(AtomicBool::new(true));
    // Without it such an end is a signal's.
    let _ = flag::register_conditional_shutdown(SIGABRT, exit::INTERNAL.into(), always);
    panic::set_hook(Box::new(|panic| {
        let _ = match no_memory(panic.payload()) {
            Some(said) => {
                let advice = "raise the limit (ulimit -v), or free memory";
                writeln!(io::stderr(), "network_analyze: out of memory: {said}; {advice}")
            }
            None => writeln!(io::stderr(), "network_analyze: internal fault, please report it: {panic}"),
        };
        process::exit(exit::INTERNAL.into());
    }));
}

/// What a panic says, if the system's refusal of memory is its cause: so the standard library ends a thread that has no room
/// for its signal stack.
fn no_memory(payload: &dyn Any) -> Option<&str> {
    let said =
        payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str))?;
    said.contains(&io::Error::from(Errno::NOMEM).to_string()).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_exit_code() {
        assert_eq!(Failure::usage("x").report(), exit::USAGE);
        assert_eq!(Failure::files("x").report(), exit::FILES);
        assert_eq!(Failure::internal("x").report(), exit::INTERNAL);
        assert_eq!(Failure::stdout(io::ErrorKind::BrokenPipe.into()).report(), exit::SUCCESS);
        assert_eq!(Failure::stdout(io::ErrorKind::StorageFull.into()).report(), exit::FILES);
    }

    #[test]
    fn memory_that_is_refused_is_no_fault_of_the_program() {
        let refused = format!("failed to allocate an alternative stack: {}", io::Error::from(Errno::NOMEM));
        assert_eq!(no_memory(&refused), Some(refused.as_str()));
        assert_eq!(no_memory(&"index out of bounds"), None);
        assert_eq!(no_memory(&12), None);
    }

    #[test]
    fn the_chain_is_told_once() {
        let cause = io::Error::other("no space left");
        let error = anyhow::Error::new(cause).context("cannot write x: no space left").context("conversion failed");
        let expected = "network_analyze: conversion failed\n  because: cannot write x: no space left\n";
        assert_eq!(chain(&error), expected);
    }
}
